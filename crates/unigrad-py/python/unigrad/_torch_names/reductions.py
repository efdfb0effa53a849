"""Reductions, searches, and questions with one answer."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import DType, Tensor, concat
from ._method import _NATIVE, _method


def _spread(name):
    def with_unbiased(self, dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return _NATIVE[name](self, dim, unbiased, keepdim, correction=correction, axis=axis, keepdims=keepdims)

    with_unbiased.__name__ = with_unbiased.__qualname__ = name
    with_unbiased.__doc__ = getattr(Tensor, name).__doc__
    return _method(with_unbiased)


std, var = _spread("std"), _spread("var")


@_method
def std_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation and the mean."""
    self_dim = None if isinstance(dim, bool) else dim
    return self.std(dim, unbiased, keepdim, correction=correction), self.mean(self_dim, keepdim)


@_method
def var_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance and the mean."""
    self_dim = None if isinstance(dim, bool) else dim
    return self.var(dim, unbiased, keepdim, correction=correction), self.mean(self_dim, keepdim)


def _quantiles(name):
    def of_several(self, q, dim=None, keepdim=False, *, interpolation="linear", axis=None, keepdims=None):
        keepdim = keepdim if keepdims is None else keepdims
        dim = dim if axis is None else axis
        if not isinstance(q, (Tensor, list, tuple)) or (isinstance(q, Tensor) and q.ndim == 0):
            return _NATIVE[name](self, q, dim, keepdim, interpolation=interpolation)
        numbers = q.tolist() if isinstance(q, Tensor) else list(q)
        if not numbers:
            raise ArgumentError("argument 'q' is empty\n help: give at least one quantile")
        return concat([_NATIVE[name](self, one, dim, keepdim, interpolation=interpolation).unsqueeze(0) for one in numbers])

    of_several.__name__ = of_several.__qualname__ = name
    of_several.__doc__ = f"{getattr(Tensor, name).__doc__ or ''}\n\nSeveral ``q`` give a first axis."
    return _method(of_several)


quantile, nanquantile = _quantiles("quantile"), _quantiles("nanquantile")


def _typed(name):
    def with_dtype(self, dim=None, dtype=None, *, axis=None):
        if dtype is not None and not isinstance(dtype, (DType, str, type)):
            raise TypeError(f"argument 'dtype': a dtype is wanted, not {_check._kind(dtype)}")
        x = self if dtype is None else self.cast(dtype)
        return _NATIVE[name](x, dim) if axis is None else _NATIVE[name](x, dim, axis=axis)

    with_dtype.__name__ = with_dtype.__qualname__ = name
    with_dtype.__doc__ = getattr(Tensor, name).__doc__
    return _method(with_dtype)


softmax, log_softmax = _typed("softmax"), _typed("log_softmax")


@_method
def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements of all axes, with the place of each element among them and how often they are there, if asked."""
    if dim is not None and self.ndim > 1:
        raise ArgumentError(f"argument 'dim' is {dim}: slices are not compared\n help: leave `dim` out")
    return _NATIVE["unique"](self, sorted, return_inverse, return_counts)


@_method
def histc(self, bins=100, min=0.0, max=0.0, *, low=None, high=None):
    """How many elements are in each of ``bins`` bins between ``min`` and ``max``; between the least and the greatest where both are 0."""
    return _NATIVE["histc"](self, bins, min if low is None else low, max if high is None else high)


@_method
def searchsorted(self, values, *args, out_int32=False, right=False, side=None, sorter=None):
    """Where ``values`` belong in a sorted tensor: before what is equal, or behind it with ``right=True`` (``side="right"``)."""
    if args:
        (right,) = args
    if side is not None and side not in ("left", "right"):
        raise ArgumentError(f"argument 'side' is {side!r}\n help: choose from left, right")
    x = self if sorter is None else self.take_along(-1, _check.tensor("sorter", sorter))
    found = _NATIVE["searchsorted"](x, values, _check.flag("right", right) or side == "right")
    return found.to("int32") if _check.flag("out_int32", out_int32) else found


@_method
def bucketize(self, boundaries, right=False, *, out_int32=False):
    """The number of the bucket between ``boundaries`` that each element is in."""
    found = _NATIVE["bucketize"](self, boundaries, right)
    return found.to("int32") if _check.flag("out_int32", out_int32) else found


@_method
def allclose(self, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True
    """
    return bool(self.isclose(other, rtol, atol, equal_nan).all())


@_method
def equal(self, other):
    """Whether another tensor has the same shape and the same elements."""
    return tuple(self.shape) == tuple(_check.tensor("other", other).shape) and bool((self == other).all())


@_method
def is_floating_point(self):
    """Whether the dtype is one of floats."""
    return "float" in str(self.dtype)
