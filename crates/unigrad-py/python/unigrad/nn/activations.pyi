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
from unigrad.nn.module import Module as Module

class ReLU(Module):
    """`max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.

    >>> import unigrad as ug
    >>> ug.nn.ReLU()(ug.tensor([-1.0, 2.0]))
    tensor([0., 2.])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class ReLU6(Module):
    """`min(max(x, 0), 6)`.

    >>> import unigrad as ug
    >>> ug.nn.ReLU6()(ug.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class SELU(Module):
    """`scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).

    >>> import unigrad as ug
    >>> ug.nn.SELU()(ug.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class SiLU(Module):
    """`x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).

    >>> import unigrad as ug
    >>> ug.nn.SiLU()(ug.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Mish(Module):
    """`x * tanh(softplus(x))`.

    >>> import unigrad as ug
    >>> ug.nn.Mish()(ug.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Hardswish(Module):
    """`x * relu6(x + 3) / 6`.

    >>> import unigrad as ug
    >>> ug.nn.Hardswish()(ug.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Hardsigmoid(Module):
    """`relu6(x + 3) / 6`.

    >>> import unigrad as ug
    >>> ug.nn.Hardsigmoid()(ug.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])"""
    def __init__(self, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Sigmoid(Module):
    """`1 / (1 + e^-x)`.

    >>> import unigrad as ug
    >>> ug.nn.Sigmoid()(ug.tensor([-1.0, 0.0]))
    tensor([0.2689, 0.5000])"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Tanh(Module):
    """Hyperbolic tangent.

    >>> import unigrad as ug
    >>> ug.nn.Tanh()(ug.tensor([-1.0, 0.0]))
    tensor([-0.7616,  0.0000])"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Tanhshrink(Module):
    """`x - tanh(x)`.

    >>> import unigrad as ug
    >>> ug.nn.Tanhshrink()(ug.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softsign(Module):
    """`x / (1 + |x|)`.

    >>> import unigrad as ug
    >>> ug.nn.Softsign()(ug.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LogSigmoid(Module):
    """`log(sigmoid(x))`, without overflow.

    >>> import unigrad as ug
    >>> ug.nn.LogSigmoid()(ug.tensor([-1.0, 0.0]))
    tensor([-1.3133, -0.6931])"""
    def __init__(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class GELU(Module):
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula.

    >>> import unigrad as ug
    >>> ug.nn.GELU()(ug.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])"""
    def __init__(self, approximate: builtins.str='none') -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LeakyReLU(Module):
    """``x`` above 0, ``negative_slope * x`` below.

    >>> import unigrad as ug
    >>> ug.nn.LeakyReLU(0.1)(ug.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])"""
    def __init__(self, negative_slope: builtins.float=0.01, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class ELU(Module):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.ELU()(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])"""
    def __init__(self, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class CELU(Module):
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.CELU()(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])"""
    def __init__(self, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softplus(Module):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``.

    >>> import unigrad as ug
    >>> ug.nn.Softplus()(ug.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])"""
    def __init__(self, beta: builtins.float=1.0, threshold: builtins.float=20.0) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softshrink(Module):
    """Toward 0 by ``lambd``, and 0 within it.

    >>> import unigrad as ug
    >>> ug.nn.Softshrink()(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])"""
    def __init__(self, lambd: builtins.float=0.5) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Hardshrink(Module):
    """0 within ``lambd`` of 0, else ``x``.

    >>> import unigrad as ug
    >>> ug.nn.Hardshrink()(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])"""
    def __init__(self, lambd: builtins.float=0.5) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Hardtanh(Module):
    """``min(max(x, min_val), max_val)``.

    >>> import unigrad as ug
    >>> ug.nn.Hardtanh()(ug.tensor([-3.0, 0.25, 2.0]))
    tensor([-1.0000,  0.2500,  1.0000])"""
    def __init__(self, min_val: builtins.float=-1.0, max_val: builtins.float=1.0, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Threshold(Module):
    """``x`` above ``threshold``, else ``value``.

    >>> import unigrad as ug
    >>> ug.nn.Threshold(0.1, 20.0)(ug.tensor([-1.0, 2.0]))
    tensor([20.,  2.])"""
    def __init__(self, threshold: builtins.float, value: builtins.float, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softmax(Module):
    """``exp(x) / sum(exp(x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.Softmax(dim=-1)(ug.tensor([[1.0, 1.0, 1.0, 1.0]]))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])"""
    def __init__(self, dim: Any=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softmin(Module):
    """``exp(-x) / sum(exp(-x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.Softmin(dim=-1)(ug.tensor([[1.0, 1.0]]))
    tensor([[0.5000, 0.5000]])"""
    def __init__(self, dim: Any=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LogSoftmax(Module):
    """The logarithm of ``softmax``.

    >>> import unigrad as ug
    >>> ug.nn.LogSoftmax(dim=-1)(ug.tensor([[1.0, 1.0]]))
    tensor([[-0.6931, -0.6931]])"""
    def __init__(self, dim: Any=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class GLU(Module):
    """One half of an axis times the sigmoid of the other.

    >>> import unigrad as ug
    >>> ug.nn.GLU()(ug.tensor([[3.0, 0.0]]))
    tensor([[1.5000]])"""
    def __init__(self, dim: builtins.int=-1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class SwiGLU(Module):
    """One half of an axis times the other's SiLU: ``silu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.SwiGLU()(ug.ones(2, 6)).shape
    (2, 3)"""
    def __init__(self, dim: builtins.int=-1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class GEGLU(Module):
    """One half of an axis times the other's GELU: ``gelu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.GEGLU()(ug.ones(2, 6)).shape
    (2, 3)"""
    def __init__(self, dim: builtins.int=-1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class Softmax2d(Module):
    """``softmax`` over the channels of ``[n, c, h, w]`` or ``[c, h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.Softmax2d()(ug.zeros(1, 4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])"""
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class PReLU(Module):
    """``x`` above 0, ``weight * x`` below; the weight is learned: one, or one for each channel (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.PReLU()(ug.tensor([-4.0, 1.0])).tolist()
    [-1.0, 1.0]"""
    num_parameters: builtins.int
    init: builtins.float
    weight: Any
    def __init__(self, num_parameters: builtins.int=1, init: builtins.float=0.25, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class RReLU(Module):
    """Leaky ReLU whose slope is drawn for each element while training, and the middle of the range in use.

    >>> import unigrad as ug
    >>> ug.nn.RReLU(0.25, 0.25).eval()(ug.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000])"""
    lower: builtins.float
    upper: builtins.float
    inplace: builtins.bool
    def __init__(self, lower: builtins.float=0.125, upper: builtins.float=0.3333333333333333, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
