"""Arithmetic, element by element and over axes."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor
from ._method import _NATIVE, _method, _method_named


@_method
def clamp_min(self, min):
    """At least this."""
    return self.clamp(min=min)


@_method
def clamp_max(self, max):
    """At most this."""
    return self.clamp(max=max)


@_method
def positive(self):
    """The tensor itself."""
    return self


@_method
def dist(self, other, p=2.0):
    """The norm of the difference."""
    return (self - _check.tensor("other", other)).norm(p)


def _product(name, n, second, ranks):
    def product(self, other):
        for argument, value in (("self", self), (second, other)):
            if _check.tensor(argument, value).ndim != (1 if argument == "vec" else n):
                raise ArgumentError(f"{name}: argument '{argument}' has the shape {tuple(value.shape)}\n help: give {ranks}, or use `matmul`")
        return self.matmul(other)

    @_method_named(name, f"The matrix product of {ranks}.")
    def by_name(self, *args, **kwargs):
        if len(args) + len(kwargs) != 1 or (kwargs and second not in kwargs):
            raise TypeError(f"{name}() takes one argument, '{second}'")
        return product(self, *args, *kwargs.values())

    return by_name


mm, bmm, mv = _product("mm", 2, "mat2", "matrices"), _product("bmm", 3, "mat2", "batches of matrices"), _product("mv", 2, "vec", "a matrix and a vector")


@_method
def vdot(self, other):
    """The dot product of two vectors."""
    return self.dot(_check.tensor("other", other))


@_method
def trapz(self, x=None, *, dx=1.0, dim=-1):
    """``trapezoid`` by its older name."""
    return self.trapezoid(x, dx=dx, dim=dim)


def _between(x, y, dim):
    """Distances of neighbouring points, so that they meet the pairs of ``y`` along ``dim``."""
    x = _check.tensor("x", x)
    if x.ndim == 1:
        return x.diff().reshape((-1,) + (1,) * ((-dim - 1) if dim < 0 else (y.ndim - 1 - dim)))
    return x.diff(dim=dim)


def _pairs(y, x, dim):
    n = y.shape[dim]
    return (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) * _between(x, y, dim) / 2


def _integral(name, doc, added):
    @_method_named(name, doc)
    def integral(self, x=None, *, dx=1.0, dim=-1, axis=None):
        dim = dim if axis is None else axis
        if not isinstance(x, Tensor):
            return _NATIVE[name](self, dx if x is None else x, dim)
        return added(_pairs(self, x, dim), dim)

    return integral


trapezoid = _integral("trapezoid", "The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``.", Tensor.sum)
cumulative_trapezoid = _integral("cumulative_trapezoid", "Integrals up to each point by the trapezoidal rule.", Tensor.cumsum)


@_method
def tensordot(self, other, dims=2, other_axes=None, *, dim=None):
    """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)
    """
    dims = dims if dim is None else dim
    if other_axes is None and isinstance(dims, int) and not isinstance(dims, bool):
        if not 0 <= dims <= min(self.ndim, _check.tensor("other", other).ndim):
            raise ArgumentError(f"argument 'dims' is {dims}, for {self.ndim} and {other.ndim} axes\n help: use at most the fewer of them")
        dims, other_axes = list(range(self.ndim - dims, self.ndim)), list(range(dims))
    elif other_axes is None:
        if isinstance(dims, (str, bytes)) or not hasattr(dims, "__len__") or len(dims) != 2:
            raise TypeError(f"argument 'dims': a number, or axes of both tensors, are wanted, not {_check._kind(dims)}")
        dims, other_axes = ([one] if isinstance(one, int) else one for one in dims)
    return _NATIVE["tensordot"](self, other, dims, other_axes)
