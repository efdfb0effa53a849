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

def relu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.

    >>> import unigrad
    >>> unigrad.tensor([-2.0, 3.0]).relu()
    tensor([0., 3.])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def relu6(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`min(max(x, 0), 6)`.

    >>> import unigrad
    >>> unigrad.tensor([True, False]).relu6()
    tensor([1, 0])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def selu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).selu()
    tensor([0.5254, 2.1014])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def silu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).silu()
    tensor([0.3112, 1.7616])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def mish(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * tanh(softplus(x))`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).mish()
    tensor([0.3752, 1.9440])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def hardswish(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * relu6(x + 3) / 6`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).hardswish()
    tensor([0.2917, 1.6667])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def hardsigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`relu6(x + 3) / 6`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).hardsigmoid()
    tensor([0.5833, 0.8333])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def sigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`1 / (1 + e^-x)`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).sigmoid()
    tensor([0.6225, 0.8808])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def tanh(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """Hyperbolic tangent.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).tanh()
    tensor([0.4621, 0.9640])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def tanhshrink(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x - tanh(x)`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).tanhshrink()
    tensor([0.0379, 1.0360])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def softsign(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x / (1 + |x|)`.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).softsign()
    tensor([0.3333, 0.6667])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def logsigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`log(sigmoid(x))`, without overflow.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).log_sigmoid()
    tensor([-0.4741, -0.1269])

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def gelu(input: Tensor, approximate: builtins.str='none') -> Tensor:
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula.

    >>> import unigrad as ug
    >>> ug.nn.functional.gelu(ug.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])"""
    ...
def leaky_relu(input: Tensor, negative_slope: builtins.float=0.01, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``negative_slope * x`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.leaky_relu(ug.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])"""
    ...
def elu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.elu(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])"""
    ...
def celu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.celu(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])"""
    ...
def hardtanh(input: Tensor, min_val: builtins.float=-1.0, max_val: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``min(max(x, min_val), max_val)``.

    >>> import unigrad as ug
    >>> ug.nn.functional.hardtanh(ug.tensor([-3.0, 0.25, 2.0]))
    tensor([-1.0000,  0.2500,  1.0000])"""
    ...
def hardshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """0 within ``lambd`` of 0, else ``x``.

    >>> import unigrad as ug
    >>> ug.nn.functional.hardshrink(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])"""
    ...
def softshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """Toward 0 by ``lambd``, and 0 within it.

    >>> import unigrad as ug
    >>> ug.nn.functional.softshrink(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])"""
    ...
def softplus(input: Tensor, beta: builtins.float=1.0, threshold: builtins.float=20.0) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``.

    >>> import unigrad as ug
    >>> ug.nn.functional.softplus(ug.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])"""
    ...
def threshold(input: Tensor, threshold: builtins.float, value: builtins.float, inplace: builtins.bool=False) -> Tensor:
    """``x`` above ``threshold``, else ``value``.

    >>> import unigrad as ug
    >>> ug.nn.functional.threshold(ug.tensor([-1.0, 2.0]), 0.1, 20.0)
    tensor([20.,  2.])"""
    ...
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one for each channel (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.functional.prelu(ug.tensor([-1.0, 2.0]), ug.tensor([0.25]))
    tensor([-0.2500,  2.0000])"""
    ...
def rrelu(input: Tensor, lower: builtins.float=0.125, upper: builtins.float=0.3333333333333333, training: builtins.bool=False, inplace: builtins.bool=False) -> Tensor:
    """Leaky ReLU whose slopes are drawn from ``lower..upper`` while training.

    >>> import unigrad as ug
    >>> ug.nn.functional.rrelu(ug.tensor([-1.0, 2.0]), 0.25, 0.25)
    tensor([-0.2500,  2.0000])"""
    ...
def glu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the sigmoid of the other.

    >>> import unigrad as ug
    >>> ug.nn.functional.glu(ug.tensor([[3.0, 0.0]]))
    tensor([[1.5000]])"""
    ...
def swiglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's SiLU: ``silu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.functional.swiglu(ug.ones(2, 6)).shape
    (2, 3)"""
    ...
def geglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's GELU: ``gelu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.functional.geglu(ug.ones(2, 6)).shape
    (2, 3)"""
    ...
def softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, _stacklevel: builtins.int=3) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.softmax(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[0.5000, 0.5000]])"""
    ...
def softmin(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, _stacklevel: builtins.int=3) -> Tensor:
    """``exp(-x) / sum(exp(-x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.softmin(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[0.5000, 0.5000]])"""
    ...
def log_softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, _stacklevel: builtins.int=3) -> Tensor:
    """The logarithm of ``softmax``.

    >>> import unigrad as ug
    >>> ug.nn.functional.log_softmax(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[-0.6931, -0.6931]])"""
    ...
def celu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``celu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.celu_(ug.tensor([2.0, 3.0]))
    tensor([2., 3.])"""
    ...
def elu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``elu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.elu_(ug.tensor([2.0, 3.0]))
    tensor([2., 3.])"""
    ...
def hardtanh_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``hardtanh`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.hardtanh_(ug.tensor([2.0, 3.0]))
    tensor([1., 1.])"""
    ...
def leaky_relu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``leaky_relu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.leaky_relu_(ug.tensor([2.0, 3.0]))
    tensor([2., 3.])"""
    ...
def relu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``relu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.relu_(ug.tensor([2.0, 3.0]))
    tensor([2., 3.])"""
    ...
def rrelu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``rrelu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.rrelu_(ug.tensor([2.0, 3.0]))
    tensor([2., 3.])"""
    ...
def selu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``selu`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.selu_(ug.tensor([0.0, 1.0]))
    tensor([0.0000, 1.0507])"""
    ...
def threshold_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``threshold`` in place: for all holders of the tensor.

    >>> import unigrad as ug
    >>> ug.nn.functional.threshold_(ug.tensor([2.0, 3.0]), 0.5, 0.0)
    tensor([2., 3.])"""
    ...
def gumbel_softmax(logits: Tensor, tau: builtins.float=1.0, hard: builtins.bool=False, eps: builtins.float=1e-10, dim: builtins.int=-1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; with ``hard`` one-hot, differentiated as if it were not.

    >>> import unigrad as ug
    >>> ug.nn.functional.gumbel_softmax(ug.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])"""
    ...
