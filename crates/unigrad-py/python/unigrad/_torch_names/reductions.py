"""Reductions, searches, and questions with one answer."""

import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, concat, get_default_dtype
from ._method import _NATIVE, _method, _method_named


def _with_mean(of, doc):
    @_method_named(f"{of}_mean", doc)
    def both(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
        spread = getattr(self, of)(dim, unbiased, keepdim, correction=correction)
        # A bool in the place of `dim` is `unbiased`, as in PyTorch.
        return spread, self.mean(None if isinstance(dim, bool) else dim, keepdim)

    return both


std_mean, var_mean = _with_mean("std", "The standard deviation and the mean."), _with_mean("var", "The variance and the mean.")


def _quantiles(name):
    @_method_named(name, f"{getattr(Tensor, name).__doc__}\n\nSeveral ``q`` give a first axis.")
    def of_several(self, q, dim=None, keepdim=False, *, interpolation="linear", axis=None, keepdims=None):
        keepdim = keepdim if keepdims is None else keepdims
        dim = dim if axis is None else axis

        def at(one, how=interpolation):
            return _NATIVE[name](self, one, dim, keepdim, interpolation=how)

        if not isinstance(q, (Tensor, list, tuple)):
            return at(q)
        numbers = [q.item()] if isinstance(q, Tensor) and q.ndim == 0 else list(q.tolist() if isinstance(q, Tensor) else q)
        if not numbers:
            raise ArgumentError("argument 'q' is empty\n help: give at least one quantile")
        found = [at(one) for one in numbers]
        if isinstance(q, Tensor) and q.requires_grad:
            # 0, whose gradient is 1: the numbers stay, and get the slope between neighbours. Where it is infinite there is none.
            moves = (q - q.detach()).reshape(-1)
            known = self.isnan().logical_not() if name == "nanquantile" else self.isnan().logical_or(True)
            last = known.sum(dim, keepdim) - 1
            for i, one in enumerate(numbers if interpolation == "linear" else []):
                slope = (at(one, "higher") - at(one, "lower")) * last
                found[i] = found[i] + slope.isfinite().where_(slope, 0.0) * moves[i]
        return found[0] if isinstance(q, Tensor) and q.ndim == 0 else concat([one.unsqueeze(0) for one in found])

    return of_several


quantile, nanquantile = _quantiles("quantile"), _quantiles("nanquantile")


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


@_method
def isposinf(self):
    """Whether each element is positive infinity."""
    return self == math.inf if self.is_floating_point() else self.isinf()


@_method
def isneginf(self):
    """Whether each element is negative infinity."""
    return self == -math.inf if self.is_floating_point() else self.isinf()


@_method
def isreal(self):
    """Whether each element is a real number: there are no others here."""
    return (self == self).logical_or(True)


@_method
def angle(self):
    """0 of what is not negative, pi of what is; NaN of NaN."""
    x = self if self.is_floating_point() else self.to(get_default_dtype())
    sign = x.sign()
    return x.isnan().where_(x.detach(), (sign * sign - sign) * (math.pi / 2))


@_method
def msort(self):
    """Sorted along the first axis."""
    return self.sort(0)[0]


@_method
def is_complex(self):
    """Whether the dtype is one of complex numbers: none is."""
    return False
