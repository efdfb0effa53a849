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
from unigrad.array_api._dtypes import promoted as promoted

class UniqueAll(builtins.tuple[Any, ...]):
    """UniqueAll(values, indices, inverse_indices, counts)"""
    def __repr__(self) -> builtins.str:
        """Return a nicely formatted representation string"""
        ...
    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any
class UniqueCounts(builtins.tuple[Any, ...]):
    """UniqueCounts(values, counts)"""
    def __repr__(self) -> builtins.str:
        """Return a nicely formatted representation string"""
        ...
    values: Any
    counts: Any
class UniqueInverse(builtins.tuple[Any, ...]):
    """UniqueInverse(values, inverse_indices)"""
    def __repr__(self) -> builtins.str:
        """Return a nicely formatted representation string"""
        ...
    values: Any
    inverse_indices: Any
def argmax(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Where the greatest element is, the first of several; in the flattened array without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.argmax(xp.asarray([1.0, 3.0, 2.0]))
    tensor(1)"""
    ...
def argmin(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """Where the least element is, the first of several; in the flattened array without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.argmin(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0)"""
    ...
def count_nonzero(x: Tensor, /, *, axis: Any=None, keepdims: builtins.bool=False) -> Tensor:
    """How many elements are not 0, over these axes or all; int64.

    >>> import unigrad.array_api as xp
    >>> xp.count_nonzero(xp.asarray([1.0, 3.0, 2.0]))
    tensor(3)"""
    ...
def nonzero(x: Tensor, /) -> Any:
    """Where elements are not 0: an array of indices for each axis.

    >>> import unigrad.array_api as xp
    >>> xp.nonzero(xp.asarray([1.0, 3.0, 2.0]))
    (tensor([0, 1, 2]),)"""
    ...
def searchsorted(x1: Tensor, x2: Tensor, /, *, side: builtins.str='left', sorter: Any=None) -> Tensor:
    """Where the elements of ``x2`` go into the sorted ``x1``; before equal ones (left) or after them (right).

    >>> import unigrad.array_api as xp
    >>> xp.searchsorted(xp.asarray([1.0, 3.0]), xp.asarray([2.0]))
    tensor([1])"""
    ...
def where(condition: Any, x1: Tensor | None=None, x2: Tensor | None=None, /) -> Tensor:
    """``x1`` where the condition is true, else ``x2``; of numbers at most one... or both with float32, int64 or bool. Without
    both, as in NumPy, where it is true: an array of indices for each axis.

    >>> import unigrad
    >>> unigrad.array_api.where(unigrad.tensor([True, False]), unigrad.tensor([1, 2]), 0).tolist()
    [1, 0]"""
    ...
def sort(x: Tensor, /, *, axis: builtins.int=-1, descending: builtins.bool=False, stable: builtins.bool=True) -> Tensor:
    """Sorted along an axis.

    >>> import unigrad.array_api as xp
    >>> xp.sort(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 2., 3.])"""
    ...
def argsort(x: Tensor, /, *, axis: builtins.int=-1, descending: builtins.bool=False, stable: builtins.bool=True) -> Tensor:
    """The indices that sort along an axis; equal elements keep their order.

    >>> import unigrad.array_api as xp
    >>> xp.argsort(xp.asarray([1.0, 3.0, 2.0]))
    tensor([0, 2, 1])"""
    ...
def unique_all(x: Tensor, /) -> Any:
    """The distinct values, sorted; where each is first; which of them each element is, in ``x``'s shape; how often each is there. NaNs are distinct.

    >>> import unigrad.array_api as xp
    >>> xp.unique_all(xp.asarray([2, 1, 2])).values
    tensor([1, 2])"""
    ...
def unique_counts(x: Tensor, /) -> Any:
    """The distinct values, sorted, and how often each is there.

    >>> import unigrad.array_api as xp
    >>> xp.unique_counts(xp.asarray([2, 1, 2])).counts
    tensor([1, 2])"""
    ...
def unique_inverse(x: Tensor, /) -> Any:
    """The distinct values, sorted, and which of them each element is.

    >>> import unigrad.array_api as xp
    >>> xp.unique_inverse(xp.asarray([2, 1, 2])).inverse_indices
    tensor([1, 0, 1])"""
    ...
def unique_values(x: Tensor, /) -> Tensor:
    """The distinct values, sorted.

    >>> import unigrad.array_api as xp
    >>> xp.unique_values(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 2., 3.])"""
    ...
