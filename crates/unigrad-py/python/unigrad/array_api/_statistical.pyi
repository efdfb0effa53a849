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
    """The greatest element over these axes or all; NaN where one is.

    >>> import unigrad.array_api as xp
    >>> xp.max(xp.asarray([1.0, 3.0, 2.0]))
    tensor(3.)"""
    ...
def min(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """The least element over these axes or all; NaN where one is.

    >>> import unigrad.array_api as xp
    >>> xp.min(xp.asarray([1.0, 3.0, 2.0]))
    tensor(1.)"""
    ...
def sum(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, keepdims: builtins.bool=False) -> Tensor:
    """The sum over these axes or all; of integers in int64 or uint64 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.sum(xp.asarray([1.0, 3.0, 2.0]))
    tensor(6.)"""
    ...
def prod(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, keepdims: builtins.bool=False) -> Tensor:
    """The product over these axes or all; of integers in int64 or uint64 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.prod(xp.asarray([1.0, 3.0, 2.0]))
    tensor(6.)"""
    ...
def mean(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """The mean over these axes or all.

    >>> import unigrad.array_api as xp
    >>> xp.mean(xp.asarray([1.0, 3.0, 2.0]))
    tensor(2.)"""
    ...
def var(x: Tensor, /, *, axis: Any=None, correction: builtins.float=0.0, keepdims: builtins.bool=False) -> Tensor:
    """The variance over these axes or all: the sum of squared distances from the mean, over the number of elements less ``correction``.

    >>> import unigrad.array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0.6667)"""
    ...
def std(x: Tensor, /, *, axis: Any=None, correction: builtins.float=0.0, keepdims: builtins.bool=False) -> Tensor:
    """The standard deviation: the root of `var`.

    >>> import unigrad.array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0.8165)"""
    ...
def cumulative_sum(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, include_initial: builtins.bool=False) -> Tensor:
    """Sums of the elements up to each along an axis; from 0 on with ``include_initial``.

    >>> import unigrad.array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 4., 6.])"""
    ...
def cumulative_prod(x: Tensor, /, *, axis: Any=None, dtype: DType | builtins.str | builtins.type | None=None, include_initial: builtins.bool=False) -> Tensor:
    """Products of the elements up to each along an axis; from 1 on with ``include_initial``.

    >>> import unigrad.array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 3., 6.])"""
    ...
def all(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Whether all elements over these axes, or all, are not 0.

    >>> import unigrad.array_api as xp
    >>> xp.all(xp.asarray([True, False]))
    tensor(False)"""
    ...
def any(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Whether any element over these axes, or of all, is not 0.

    >>> import unigrad.array_api as xp
    >>> xp.any(xp.asarray([True, False]))
    tensor(True)"""
    ...
def diff(x: Tensor, /, n: builtins.int=1, axis: builtins.int=-1, *, prepend: Any=None, append: Any=None) -> Tensor:
    """Differences of neighbours along an axis, ``n`` times; with other arrays put before and after first.

    >>> import unigrad.array_api as xp
    >>> xp.diff(xp.asarray([1.0, 3.0, 2.0]))
    tensor([ 2., -1.])"""
    ...
