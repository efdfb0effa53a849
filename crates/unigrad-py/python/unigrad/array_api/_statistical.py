"""Statistics, running sums, tests of all elements, differences."""

import builtins

import unigrad as _u
from unigrad import Tensor

from ._dtypes import UNSIGNED, array, kind, promoted


def _axes(x, axis):
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, builtins.int) else tuple(axis)
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"`axis` {one} is not one of {tuple(x.shape)}")
    axes = tuple(one % x.ndim for one in axes)
    if len(set(axes)) != len(axes):
        raise ValueError(f"`axis` names an axis twice: {axis}")
    return axes


def _reduced(x, axis, keepdims, op):
    array("x", x)
    axes = _axes(x, axis)
    if not axes:
        # Of each element alone: a new last axis.
        return op(x.unsqueeze(-1), (x.ndim,), False)
    return op(x, axes, keepdims)


def _numbers(name, x, kinds=("int", "float")):
    if kind(array("x", x).dtype) not in kinds:
        raise TypeError(f"{name}: `x` is an array of {'floats' if kinds == ('float',) else 'numbers'}, not of {x.dtype}")


def _wide(x, dtype):
    """The dtype of sums."""
    if dtype is not None:
        return _u.DType(dtype)
    if kind(x.dtype) == "int":
        return _u.uint64 if x.dtype in UNSIGNED else _u.int64
    return x.dtype


def max(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """The greatest element over these axes or all; NaN where one is.

    >>> import unigrad.array_api as xp
    >>> xp.max(xp.asarray([1.0, 3.0, 2.0]))
    tensor(3.)
    """
    _numbers("max", x)
    return _reduced(x, axis, keepdims, lambda x, axes, keeps: x.amax(dim=axes, keepdim=keeps))


def min(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """The least element over these axes or all; NaN where one is.

    >>> import unigrad.array_api as xp
    >>> xp.min(xp.asarray([1.0, 3.0, 2.0]))
    tensor(1.)
    """
    _numbers("min", x)
    return _reduced(x, axis, keepdims, lambda x, axes, keeps: x.amin(dim=axes, keepdim=keeps))


def sum(x, /, *, axis=None, dtype=None, keepdims=False):  # noqa: A001
    """The sum over these axes or all; of integers in int64 or uint64 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.sum(xp.asarray([1.0, 3.0, 2.0]))
    tensor(6.)
    """
    _numbers("sum", x)
    wide = _wide(x, dtype)
    return _reduced(x.to(wide), axis, keepdims, lambda x, axes, keeps: x.sum(dim=axes, keepdim=keeps, dtype=wide))


def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """The product over these axes or all; of integers in int64 or uint64 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.prod(xp.asarray([1.0, 3.0, 2.0]))
    tensor(6.)
    """
    _numbers("prod", x)
    wide = _wide(x, dtype)
    return _reduced(x.to(wide), axis, keepdims, lambda x, axes, keeps: x.prod(dim=axes, keepdim=keeps, dtype=wide))


def mean(x, /, *, axis=None, keepdims=False):
    """The mean over these axes or all.

    >>> import unigrad.array_api as xp
    >>> xp.mean(xp.asarray([1.0, 3.0, 2.0]))
    tensor(2.)
    """
    _numbers("mean", x, ("float",))
    return _reduced(x, axis, keepdims, lambda x, axes, keeps: x.mean(dim=axes, keepdim=keeps))


def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The variance over these axes or all: the sum of squared distances from the mean, over the number of elements less ``correction``.

    >>> import unigrad.array_api as xp
    >>> xp.var(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0.6667)
    """
    _numbers("var", x, ("float",))
    return _reduced(x, axis, keepdims, lambda x, axes, keeps: x.var(dim=axes, keepdim=keeps, correction=correction))


def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """The standard deviation: the root of `var`.

    >>> import unigrad.array_api as xp
    >>> xp.std(xp.asarray([1.0, 3.0, 2.0]))
    tensor(0.8165)
    """
    _numbers("std", x, ("float",))
    return _reduced(x, axis, keepdims, lambda x, axes, keeps: x.std(dim=axes, keepdim=keeps, correction=correction))


def _running(name, x, axis, dtype, include_initial, op, initial):
    _numbers(name, x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: `axis` is needed for an array of {x.ndim} axes")
        axis = 0
    (axis,) = _axes(x, axis)
    wide = _wide(x, dtype)
    result = op(x.to(wide), axis, dtype=wide)
    if include_initial:
        shape = tuple(1 if at == axis else size for at, size in enumerate(x.shape))
        result = _u.concat([_u.full(shape, initial, dtype=wide, device=x.device), result], axis)
    return result


def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of the elements up to each along an axis; from 0 on with ``include_initial``.

    >>> import unigrad.array_api as xp
    >>> xp.cumulative_sum(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 4., 6.])
    """
    return _running("cumulative_sum", x, axis, dtype, include_initial, Tensor.cumsum, 0)


def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of the elements up to each along an axis; from 1 on with ``include_initial``.

    >>> import unigrad.array_api as xp
    >>> xp.cumulative_prod(xp.asarray([1.0, 3.0, 2.0]))
    tensor([1., 3., 6.])
    """
    return _running("cumulative_prod", x, axis, dtype, include_initial, Tensor.cumprod, 1)


def all(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """Whether all elements over these axes, or all, are not 0.

    >>> import unigrad.array_api as xp
    >>> xp.all(xp.asarray([True, False]))
    tensor(False)
    """
    return _reduced(array("x", x) != 0, axis, keepdims, lambda x, axes, keeps: x.all(dim=axes, keepdim=keeps))


def any(x, /, *, axis=None, keepdims=False):  # noqa: A001
    """Whether any element over these axes, or of all, is not 0.

    >>> import unigrad.array_api as xp
    >>> xp.any(xp.asarray([True, False]))
    tensor(True)
    """
    return _reduced(array("x", x) != 0, axis, keepdims, lambda x, axes, keeps: x.any(dim=axes, keepdim=keeps))


def diff(x, /, n=1, axis=-1, *, prepend=None, append=None):
    """Differences of neighbours along an axis, ``n`` times; with other arrays put before and after first.

    >>> import unigrad.array_api as xp
    >>> xp.diff(xp.asarray([1.0, 3.0, 2.0]))
    tensor([ 2., -1.])
    """
    _numbers("diff", x)
    (axis,) = _axes(x, axis)
    if n < 0:
        raise ValueError(f"diff: `n` is 0 or more, not {n}")
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1:
        dtype = x.dtype
        for part in parts:
            dtype = promoted(dtype, part.dtype)
        x = _u.concat([part.to(dtype) for part in parts], axis)
    for _ in range(n):
        size = x.shape[axis]
        if size == 0:
            break
        before = (slice(None),) * axis
        x = x[before + (slice(1, None),)] - x[before + (slice(None, size - 1),)]
    return x
