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
from unigrad import Tensor as Tensor
from unigrad.array_api._creation import filled as filled
from unigrad.array_api._dtypes import array as array
from unigrad.array_api._dtypes import kind as kind
from unigrad.array_api._dtypes import promoted as promoted

def acos(x: Tensor, /) -> Tensor:
    """The angle with this cosine, in radians."""
    ...
def acosh(x: Tensor, /) -> Tensor:
    """The inverse of `cosh`."""
    ...
def asin(x: Tensor, /) -> Tensor:
    """The angle with this sine, in radians."""
    ...
def asinh(x: Tensor, /) -> Tensor:
    """The inverse of `sinh`."""
    ...
def atan(x: Tensor, /) -> Tensor:
    """The angle with this tangent, in radians."""
    ...
def atanh(x: Tensor, /) -> Tensor:
    """The inverse of `tanh`."""
    ...
def cos(x: Tensor, /) -> Tensor:
    """The cosine of an angle in radians."""
    ...
def cosh(x: Tensor, /) -> Tensor:
    """The hyperbolic cosine."""
    ...
def exp(x: Tensor, /) -> Tensor:
    """e to the power of each element."""
    ...
def expm1(x: Tensor, /) -> Tensor:
    """``exp(x) - 1``, exact for small elements."""
    ...
def log(x: Tensor, /) -> Tensor:
    """The natural logarithm."""
    ...
def log1p(x: Tensor, /) -> Tensor:
    """``log(1 + x)``, exact for small elements."""
    ...
def log2(x: Tensor, /) -> Tensor:
    """The logarithm to base 2."""
    ...
def log10(x: Tensor, /) -> Tensor:
    """The logarithm to base 10."""
    ...
def reciprocal(x: Tensor, /) -> Tensor:
    """``1 / x``."""
    ...
def sin(x: Tensor, /) -> Tensor:
    """The sine of an angle in radians."""
    ...
def sinh(x: Tensor, /) -> Tensor:
    """The hyperbolic sine."""
    ...
def sqrt(x: Tensor, /) -> Tensor:
    """The square root."""
    ...
def tan(x: Tensor, /) -> Tensor:
    """The tangent of an angle in radians."""
    ...
def tanh(x: Tensor, /) -> Tensor:
    """The hyperbolic tangent."""
    ...
def signbit(x: Tensor, /) -> Tensor:
    """Whether the sign bit is set: of negative numbers, -0 and some NaNs."""
    ...
def abs(x: Tensor, /) -> Tensor:
    """The absolute value."""
    ...
def ceil(x: Tensor, /) -> Tensor:
    """The least integer that is not below each element."""
    ...
def floor(x: Tensor, /) -> Tensor:
    """The greatest integer that is not above each element."""
    ...
def trunc(x: Tensor, /) -> Tensor:
    """Without what is after the point."""
    ...
def round(x: Tensor, /) -> Tensor:
    """The nearest integer; of two the even one."""
    ...
def negative(x: Tensor, /) -> Tensor:
    """``-x``."""
    ...
def positive(x: Tensor, /) -> Tensor:
    """``+x``: a copy."""
    ...
def sign(x: Tensor, /) -> Tensor:
    """-1, 0 or 1, as each element is below, at or above 0; NaN for NaN."""
    ...
def square(x: Tensor, /) -> Tensor:
    """``x * x``."""
    ...
def conj(x: Tensor, /) -> Tensor:
    """The complex conjugate: of real numbers themselves."""
    ...
def real(x: Tensor, /) -> Tensor:
    """The real part: of real numbers themselves."""
    ...
def imag(x: Tensor, /) -> Tensor:
    """The imaginary part: of real numbers zeros."""
    ...
def isfinite(x: Tensor, /) -> Tensor:
    """Whether each element is neither infinite nor NaN."""
    ...
def isinf(x: Tensor, /) -> Tensor:
    """Whether each element is infinite."""
    ...
def isnan(x: Tensor, /) -> Tensor:
    """Whether each element is NaN."""
    ...
def logical_not(x: Tensor, /) -> Tensor:
    """Not."""
    ...
def bitwise_invert(x: Tensor, /) -> Tensor:
    """Each bit inverted."""
    ...
def add(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 + x2``."""
    ...
def atan2(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The angle of the point ``(x2, x1)``, in radians."""
    ...
def bitwise_and(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 & x2``."""
    ...
def bitwise_left_shift(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 << x2``."""
    ...
def bitwise_or(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 | x2``."""
    ...
def bitwise_right_shift(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 >> x2``."""
    ...
def bitwise_xor(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 ^ x2``."""
    ...
def copysign(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The size of ``x1`` with the sign of ``x2``."""
    ...
def divide(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 / x2``."""
    ...
def equal(x1: Tensor, x2: Tensor, /) -> builtins.bool:
    """``x1 == x2``."""
    ...
def floor_divide(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 // x2``; by infinity a zero of the quotient's sign."""
    ...
def greater(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 > x2``."""
    ...
def greater_equal(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 >= x2``."""
    ...
def hypot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``sqrt(x1 * x1 + x2 * x2)`` without overflow."""
    ...
def less(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 < x2``."""
    ...
def less_equal(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 <= x2``."""
    ...
def logaddexp(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``log(exp(x1) + exp(x2))`` without overflow."""
    ...
def logical_and(x1: Tensor, x2: Tensor, /) -> Tensor:
    """And."""
    ...
def logical_or(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Or."""
    ...
def logical_xor(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Either, but not both."""
    ...
def maximum(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The greater one; NaN where either is."""
    ...
def minimum(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The lesser one; NaN where either is."""
    ...
def multiply(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 * x2``."""
    ...
def nextafter(x1: Tensor, x2: Tensor, /) -> Tensor:
    """The float next to ``x1`` in the direction of ``x2``."""
    ...
def not_equal(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 != x2``."""
    ...
def pow(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 ** x2``."""
    ...
def remainder(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 % x2``, with the sign of ``x2``."""
    ...
def subtract(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 - x2``."""
    ...
def clip(x: Tensor, /, min: Any=None, max: Any=None) -> Tensor:
    """Each element, or the bound that it is beyond; bounds are numbers or arrays that broadcast. The dtype stays.

    >>> import unigrad
    >>> unigrad.array_api.clip(unigrad.tensor([1, 5, 9]), 2, 6).tolist()
    [2, 5, 6]"""
    ...
