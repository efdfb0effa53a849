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
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula."""
    ...
def leaky_relu(input: Tensor, negative_slope: builtins.float=0.01, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``negative_slope * x`` below."""
    ...
def elu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    ...
def celu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""
    ...
def hardtanh(input: Tensor, min_val: builtins.float=-1.0, max_val: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``min(max(x, min_val), max_val)``."""
    ...
def hardshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """0 within ``lambd`` of 0, else ``x``."""
    ...
def softshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """Toward 0 by ``lambd``, and 0 within it."""
    ...
def softplus(input: Tensor, beta: builtins.float=1.0, threshold: builtins.float=20.0) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``."""
    ...
def threshold(input: Tensor, threshold: builtins.float, value: builtins.float, inplace: builtins.bool=False) -> Tensor:
    """``x`` above ``threshold``, else ``value``."""
    ...
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one for each channel (axis 1)."""
    ...
def rrelu(input: Tensor, lower: builtins.float=0.125, upper: builtins.float=0.3333333333333333, training: builtins.bool=False, inplace: builtins.bool=False) -> Tensor:
    """Leaky ReLU whose slopes are drawn from ``lower..upper`` while training."""
    ...
def glu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the sigmoid of the other."""
    ...
def swiglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's SiLU: ``silu(first) * second``."""
    ...
def geglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's GELU: ``gelu(first) * second``."""
    ...
def softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis."""
    ...
def softmin(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """``exp(-x) / sum(exp(-x))`` along an axis."""
    ...
def log_softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """The logarithm of ``softmax``."""
    ...
def gumbel_softmax(logits: Tensor, tau: builtins.float=1.0, hard: builtins.bool=False, eps: builtins.float=1e-10, dim: builtins.int=-1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; with ``hard`` one-hot, differentiated as if it were not."""
    ...
