"""Searching, sorting and sets."""

from collections import namedtuple

import unigrad as _u
from unigrad import Tensor

from ._creation import filled
from ._dtypes import array, promoted

UniqueAll = namedtuple("UniqueAll", "values indices inverse_indices counts")
UniqueCounts = namedtuple("UniqueCounts", "values counts")
UniqueInverse = namedtuple("UniqueInverse", "values inverse_indices")


def argmax(x, /, *, axis=None, keepdims=False):
    """Where the greatest element is, the first of several; in the flattened array without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.argmax(xp.asarray([1.0, 3.0, 2.0]))
    tensor(1)
    """
    return Tensor.argmax(array("x", x), axis, keepdims)


def argmin(x, /, *, axis=None, keepdims=False):
    """Where the least element is, the first of several; in the flattened array without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.argmin(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0)
    """
    return Tensor.argmin(array("x", x), axis, keepdims)


def count_nonzero(x, /, *, axis=None, keepdims=False):
    """How many elements are not 0, over these axes or all; int64.

    >>> import unigrad.array_api as xp
    >>> xp.count_nonzero(xp.asarray([1.0, 3.0, 2.0]))
    tensor(3)
    """
    return (array("x", x) != 0).to(_u.int64).sum(axis=axis, keepdims=keepdims, dtype=_u.int64)


def nonzero(x, /):
    """Where elements are not 0: an array of indices for each axis.

    >>> import unigrad.array_api as xp
    >>> xp.nonzero(xp.asarray([1.0, 3.0, 2.0]))
    (tensor([0, 1, 2]),)
    """
    if array("x", x).ndim == 0:
        raise ValueError("nonzero: `x` has at least one axis")
    return tuple(x.nonzero(as_tuple=True))


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where the elements of ``x2`` go into the sorted ``x1``; before equal ones (left) or after them (right).

    >>> import unigrad.array_api as xp
    >>> xp.searchsorted(xp.asarray([1.0, 3.0]), xp.asarray([2.0]))
    tensor([1])
    """
    array("x1", x1), array("x2", x2)
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: `side` is 'left' or 'right', not {side!r}")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: `x1` has one axis, not {x1.ndim}")
    if sorter is not None:
        x1 = x1[sorter]
    dtype = promoted(x1.dtype, x2.dtype)
    return x1.to(dtype).searchsorted(x2.to(dtype), side == "right")


def where(condition, x1=None, x2=None, /):
    """``x1`` where the condition is true, else ``x2``; of numbers at most one... or both with float32, int64 or bool. Without
    both, as in NumPy, where it is true: an array of indices for each axis.

    >>> import unigrad
    >>> unigrad.array_api.where(unigrad.tensor([True, False]), unigrad.tensor([1, 2]), 0).tolist()
    [1, 0]
    """
    if x1 is None and x2 is None:
        return nonzero(array("condition", condition))
    if x1 is None or x2 is None:
        raise TypeError(f"where: `{'x1' if x1 is None else 'x2'}` is None\n help: give both, or neither")
    if array("condition", condition).dtype != _u.bool:
        raise TypeError(f"where: `condition` is an array of bools, not of {condition.dtype}")
    if not isinstance(x1, Tensor):
        x1 = filled(x1, x2) if isinstance(x2, Tensor) else _u.asarray(x1, device=condition.device)
    if not isinstance(x2, Tensor):
        x2 = filled(x2, x1)
    dtype = promoted(x1.dtype, x2.dtype)
    return condition.where_(x1.to(dtype), x2.to(dtype))


def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Sorted along an axis.

    >>> import unigrad.array_api as xp
    >>> xp.sort(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return Tensor.sort(array("x", x), axis, descending, stable=stable).values


def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """The indices that sort along an axis; equal elements keep their order.

    >>> import unigrad.array_api as xp
    >>> xp.argsort(xp.asarray([1.0, 3.0, 2.0]))
    tensor([0, 2, 1])
    """
    return Tensor.argsort(array("x", x), axis, descending, stable=stable)


def unique_all(x, /):
    """The distinct values, sorted; where each is first; which of them each element is, in ``x``'s shape; how often each is there. NaNs are distinct.

    >>> import unigrad.array_api as xp
    >>> xp.unique_all(xp.asarray([2, 1, 2])).values
    tensor([1, 2])
    """
    flat = array("x", x).reshape((x.numel(),))
    values, inverse, counts = flat.unique(return_inverse=True, return_counts=True)
    order = _u.argsort(inverse, 0, stable=True)
    firsts = order[counts.cumsum(0) - counts] if values.numel() else counts
    return UniqueAll(values, firsts, inverse.reshape(x.shape), counts)


def unique_counts(x, /):
    """The distinct values, sorted, and how often each is there.

    >>> import unigrad.array_api as xp
    >>> xp.unique_counts(xp.asarray([2, 1, 2])).counts
    tensor([1, 2])
    """
    every = unique_all(x)
    return UniqueCounts(every.values, every.counts)


def unique_inverse(x, /):
    """The distinct values, sorted, and which of them each element is.

    >>> import unigrad.array_api as xp
    >>> xp.unique_inverse(xp.asarray([2, 1, 2])).inverse_indices
    tensor([1, 0, 1])
    """
    every = unique_all(x)
    return UniqueInverse(every.values, every.inverse_indices)


def unique_values(x, /):
    """The distinct values, sorted.

    >>> import unigrad.array_api as xp
    >>> xp.unique_values(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return unique_all(x).values
