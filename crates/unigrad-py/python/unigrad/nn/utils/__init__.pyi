# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad.autograd import checkpoint as checkpoint
from unigrad.nn.utils._old_norms import remove_spectral_norm as remove_spectral_norm
from unigrad.nn.utils._old_norms import remove_weight_norm as remove_weight_norm
from unigrad.nn.utils._old_norms import spectral_norm as spectral_norm
from unigrad.nn.utils._old_norms import weight_norm as weight_norm
from unigrad.nn.utils.parametrizations import remove_parametrizations as remove_parametrizations

from . import parametrizations as parametrizations
from . import parametrize as parametrize
from . import rnn as rnn
from . import recompute as recompute
def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: builtins.float, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Tensor:
    """Scales gradients down together so that their norm is at most ``max_norm``. Returns the norm before. Reads nothing, unless
    ``error_if_nonfinite``.

    >>> import unigrad as ug
    >>> w = ug.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> ug.nn.utils.clip_grad_norm_([w], 1.0).item()
    10.0"""
    ...
def get_total_norm(tensors: Any, norm_type: builtins.float=2.0, error_if_nonfinite: builtins.bool=False, foreach: builtins.bool | None=None) -> Any:
    """The norm of all tensors together.

    >>> import unigrad as ug
    >>> ug.nn.utils.get_total_norm([ug.tensor([3.0]), ug.tensor([4.0])])
    tensor(5.)"""
    ...
def clip_grads_with_norm_(parameters: Any, max_norm: builtins.float, total_norm: Any, foreach: builtins.bool | None=None) -> Any:
    """Scales gradients down together, as ``clip_grad_norm_``, where their norm is known: ``get_total_norm`` of them.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.tensor([3.0, 4.0]))
    >>> w.square().sum().backward()
    >>> ug.nn.utils.clip_grads_with_norm_([w], 1.0, ug.nn.utils.get_total_norm([w.grad]))
    >>> w.grad
    tensor([0.6000, 0.8000])"""
    ...
def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: builtins.bool=False) -> Any:
    """A convolution and the batch norm after it as one convolution, for use.

    >>> import unigrad as ug
    >>> conv, norm, x = ug.nn.Conv2d(2, 3, 1).eval(), ug.nn.BatchNorm2d(3).eval(), ug.rand(1, 2, 4, 4)
    >>> ug.nn.utils.fuse_conv_bn_eval(conv, norm)(x).allclose(norm(conv(x)), atol=1e-5)
    True"""
    ...
def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """A module as its class makes it: initial values that are replaced are never computed.

    >>> import unigrad as ug
    >>> ug.nn.utils.skip_init(ug.nn.Linear, 3, 4).weight.shape
    (4, 3)"""
    ...
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: builtins.float, foreach: builtins.bool | None=None) -> Any:
    """Limits every element of gradients to ``-clip_value..clip_value``.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> (w * 100.0).sum().backward()
    >>> ug.nn.utils.clip_grad_value_([w], 0.5)
    >>> w.grad
    tensor([0.5000, 0.5000])"""
    ...
def clip_grad_adaptively_(parameters: Any, clip_factor: builtins.float=0.01, eps: builtins.float=0.001) -> Any:
    """Each unit's gradient has a norm of at most ``clip_factor`` times that of its weights (Brock et al., 2021).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(1, 2))
    >>> (w * 100.0).sum().backward()
    >>> ug.nn.utils.clip_grad_adaptively_([w], 0.01)
    >>> w.grad.abs().max().item() < 1.0
    True"""
    ...
def parameters_to_vector(parameters: Any) -> Any:
    """All elements one after another, in one vector.

    >>> import unigrad as ug
    >>> ug.nn.utils.parameters_to_vector([ug.ones(2), ug.zeros(1, 2)])
    tensor([1., 1., 0., 0.])"""
    ...
def vector_to_parameters(vec: Tensor, parameters: Any) -> Any:
    """Gives parameters the elements of a vector, one after another.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.zeros(2))
    >>> ug.nn.utils.vector_to_parameters(ug.tensor([1.0, 2.0]), [w])
    >>> w.tolist()
    [1.0, 2.0]"""
    ...
