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

grad: Any
class FunctionContext:
    """What :class:`Function` keeps from forward to backward.

    >>> import unigrad as ug
    >>> class Square(ug.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (x,) = ctx.saved_tensors
    ...         return gradient * 2 * x
    >>> x = ug.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad
    tensor([6.])"""
    needs_input_grad: Any
    def __init__(self, needs_input_grad: Any) -> None: ...
    def save_for_backward(self, *tensors: Any) -> Any:
        """Keeps tensors (or ``None``) for ``saved_tensors``."""
        ...
    @property
    def saved_tensors(self) -> Any:
        """What was saved, as a tuple."""
        ...
    def mark_non_differentiable(self, *outputs: Any) -> Any:
        """No gradient comes from these results."""
        ...
    def set_materialize_grads(self, value: builtins.float) -> Any:
        """Whether a result that no gradient arrives at has zeros for it (as it is), or ``None``."""
        ...
class Function:
    """A function with its own gradient, as ``torch.autograd.Function``: ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``, both static.

    ``backward`` gets a gradient for each result and gives one, or ``None``, for each argument. Call it by ``apply``.

    >>> import unigrad as ug
    >>> class Double(ug.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 2
    >>> x = ug.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])"""
    @staticmethod
    def forward(ctx: Any, *args: Any) -> Any:
        """The results: a tensor, or a tuple of them. Its ops are not differentiated."""
        ...
    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """A gradient, or ``None``, for each argument."""
        ...
    @classmethod
    def apply(cls, *args: Any) -> Any:
        """What the function gives for arguments: tensors, and values of any other kind."""
        ...
class Node:
    """What computed a tensor, as ``Tensor.grad_fn`` gives it.

    >>> import unigrad as ug
    >>> (ug.ones(2, requires_grad=True) * 2).grad_fn.name()
    'MulBackward0'"""
    def __init__(self, op: Any) -> None: ...
    def name(self) -> Any:
        """The name of the tensor's last op: ``MulBackward0`` of ``mul``. What the package composes of others has the last one's."""
        ...
    @property
    def next_functions(self) -> Any:
        """Where gradients go from here, for each input of the op: a pair of what computed it (``AccumulateGrad`` of a leaf, ``None`` where no gradient
        flows) and 0, since an op has one result. Nothing after a backward pass that let the graph go.

        >>> import unigrad as ug
        >>> x = ug.ones(2, requires_grad=True)
        >>> (x * 2).exp().grad_fn.next_functions
        ((<MulBackward0>, 0),)"""
        ...
    def __repr__(self) -> builtins.str: ...
class AccumulateGrad(Node):
    """Where gradients of a leaf add up: the last node of a gradient's graph.

    >>> import unigrad as ug
    >>> x = ug.ones(2, requires_grad=True)
    >>> node = (x * 2).grad_fn.next_functions[0][0]
    >>> node, node.variable is x
    (<AccumulateGrad>, True)"""
    @property
    def variable(self) -> Any:
        """The leaf, whose ``grad`` they add up in; ``None`` where it is gone."""
        ...
    def name(self) -> Any:
        """``torch::autograd::AccumulateGrad``, which programs written for PyTorch look for."""
        ...
    def __repr__(self) -> builtins.str: ...
class CustomFunction:
    """See :func:`custom_function`.

    >>> import unigrad as ug
    >>> double = ug.custom_function(lambda x: x * 2, lambda inputs, output, dy: dy * 2)
    >>> isinstance(double, ug.autograd.CustomFunction), double(ug.ones(2)).tolist()
    (True, [2.0, 2.0])"""
    def __init__(self, forward: Callable[..., Any], backward: Any=None) -> None: ...
    def backward(self, function: Callable[..., Any]) -> Any:
        """Sets the gradient; a decorator."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
def custom_function(forward: Callable[..., Any], backward: Any=None) -> Any:
    """A function with its own gradient: ``backward(inputs, output, dy)`` gives a gradient, or ``None``, for each argument of ``forward``.

    Of several results ``output`` and ``dy`` are tuples. A decorator without ``backward``.

    >>> import unigrad
    >>> @unigrad.custom_function
    ... def rounded(x):
    ...     return x.round()
    >>> @rounded.backward
    ... def rounded_backward(inputs, output, dy):
    ...     return dy
    >>> x = unigrad.tensor([0.4, 1.6], requires_grad=True)
    >>> rounded(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]"""
    ...
def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: builtins.bool | None=None, **kwargs: Any) -> Any:
    """What ``function(*args, **kwargs)`` gives, without keeping what it computes: backward computes it again. Less memory for more work.

    The function must compute the same each time (random numbers are drawn again equally) and read no values. Gradients arrive at the arguments and at
    whatever else it uses. Running statistics of a module move once. ``use_reentrant`` is PyTorch's, and changes nothing.

    >>> import unigrad
    >>> w = unigrad.tensor([2.0, 3.0], requires_grad=True)
    >>> unigrad.checkpoint(lambda x: x * w, unigrad.ones(2)).sum().backward()
    >>> w.grad.tolist()
    [1.0, 1.0]"""
    ...
