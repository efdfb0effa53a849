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
from unigrad.array_api._dtypes import array as array
from unigrad.array_api._dtypes import kind as kind
from unigrad.array_api._dtypes import promoted as promoted

def max(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """The greatest element over these axes or all; NaN where one is."""
    ...
def min(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """The least element over these axes or all; NaN where one is."""
    ...
def sum(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, keepdims: builtins.bool=False) -> Tensor:
    """The sum over these axes or all; of integers in int64 or uint64 without ``dtype``."""
    ...
def prod(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, keepdims: builtins.bool=False) -> Tensor:
    """The product over these axes or all; of integers in int64 or uint64 without ``dtype``."""
    ...
def mean(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """The mean over these axes or all."""
    ...
def var(x: Tensor, /, *, axis: Any=None, correction: builtins.float=0.0, keepdims: builtins.bool=False) -> Tensor:
    """The variance over these axes or all: the sum of squared distances from the mean, over the number of elements less ``correction``."""
    ...
def std(x: Tensor, /, *, axis: Any=None, correction: builtins.float=0.0, keepdims: builtins.bool=False) -> Tensor:
    """The standard deviation: the root of `var`."""
    ...
def cumulative_sum(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, include_initial: builtins.bool=False) -> Tensor:
    """Sums of the elements up to each along an axis; from 0 on with ``include_initial``."""
    ...
def cumulative_prod(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, include_initial: builtins.bool=False) -> Tensor:
    """Products of the elements up to each along an axis; from 1 on with ``include_initial``."""
    ...
def all(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Whether all elements over these axes, or all, are not 0."""
    ...
def any(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Whether any element over these axes, or of all, is not 0."""
    ...
def diff(x: Tensor, /, n: builtins.int=1, axis: builtins.int=-1, *, prepend: Any=None, append: Any=None) -> Tensor:
    """Differences of neighbours along an axis, ``n`` times; with other arrays put before and after first."""
    ...
