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
from unigrad import DType as DType
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError

def std(self: Any, dim: Any=None, unbiased: Any=None, keepdim: Any=None, *, correction: Any=None, axis: Any=None, keepdims: Any=None) -> Tensor:
    """Standard deviation over axes, or over all; see `var`."""
    ...
def var(self: Any, dim: Any=None, unbiased: Any=None, keepdim: Any=None, *, correction: Any=None, axis: Any=None, keepdims: Any=None) -> Tensor:
    """Variance over axes, or over all, divided by the number of elements less `correction`."""
    ...
def std_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The standard deviation and the mean."""
    ...
def var_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The variance and the mean."""
    ...
def quantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.

    Several ``q`` give a first axis."""
    ...
def nanquantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """As `quantile`, of what is not NaN.

    Several ``q`` give a first axis."""
    ...
def softmax(self: Any, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: Any=None) -> Tensor:
    """`exp(x) / sum(exp(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself."""
    ...
def log_softmax(self: Any, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: Any=None) -> Tensor:
    """`log(softmax(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more."""
    ...
def unique(self: Any, sorted: builtins.bool=True, return_inverse: builtins.bool=False, return_counts: builtins.bool=False, dim: Any=None) -> Any:
    """The different elements of all axes, with the place of each element among them and how often they are there, if asked."""
    ...
def histc(self: Any, bins: builtins.int=100, min: builtins.float=0.0, max: builtins.float=0.0, *, low: Any=None, high: Any=None) -> Tensor:
    """How many elements are in each of ``bins`` bins between ``min`` and ``max``; between the least and the greatest where both are 0."""
    ...
def searchsorted(self: Any, values: Any, *args: Any, out_int32: builtins.bool=False, right: builtins.bool=False, side: Any=None, sorter: Any=None) -> Tensor:
    """Where ``values`` belong in a sorted tensor: before what is equal, or behind it with ``right=True`` (``side="right"``)."""
    ...
def bucketize(self: Any, boundaries: Any, right: builtins.bool=False, *, out_int32: builtins.bool=False) -> Tensor:
    """The number of the bucket between ``boundaries`` that each element is in."""
    ...
def allclose(self: Any, other: Any, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan: builtins.bool=False) -> builtins.bool:
    """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True"""
    ...
def equal(self: Any, other: Any) -> builtins.bool:
    """Whether another tensor has the same shape and the same elements."""
    ...
def is_floating_point(self: Any) -> builtins.bool:
    """Whether the dtype is one of floats."""
    ...
