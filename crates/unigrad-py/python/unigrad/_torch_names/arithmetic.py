"""Arithmetic, element by element and over axes."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, concat
from ._method import _NATIVE, _method, _scale

# What a call without a factor has.
_ONE = 1


def _scaled(name):
    def with_alpha(self, other, *, alpha=1):
        return _NATIVE[name](self, other if alpha is _ONE else _scale(alpha, other))

    with_alpha.__name__ = with_alpha.__qualname__ = name
    with_alpha.__doc__ = f"``{'x + alpha * other' if name == 'add' else 'x - alpha * other'}``, element by element."
    return _method(with_alpha)


add, sub = _scaled("add"), _scaled("sub")
Tensor.subtract = sub


@_method
def addcmul(self, tensor1, tensor2, value=1):
    """``x + value * tensor1 * tensor2``."""
    return _NATIVE["addcmul"](self, _check.tensor("tensor1", tensor1), _check.tensor("tensor2", tensor2), value)


@_method
def addcdiv(self, tensor1, tensor2, value=1):
    """``x + value * tensor1 / tensor2``."""
    return _NATIVE["addcdiv"](self, _check.tensor("tensor1", tensor1), _check.tensor("tensor2", tensor2), value)


@_method
def addr(self, vec1, vec2, beta=1.0, alpha=1.0):
    """``beta * x + alpha * outer(vec1, vec2)``."""
    return _NATIVE["addr"](self, _check.tensor("vec1", vec1), _check.tensor("vec2", vec2), beta, alpha)


@_method
def addmv(self, mat, vec, beta=1.0, alpha=1.0):
    """``beta * x + alpha * mat @ vec``."""
    return _NATIVE["addmv"](self, _check.tensor("mat", mat), _check.tensor("vec", vec), beta, alpha)


@_method
def baddbmm(self, batch1, batch2, beta=1.0, alpha=1.0):
    """``beta * x + alpha * batch1 @ batch2``."""
    return _NATIVE["baddbmm"](self, _check.tensor("batch1", batch1), _check.tensor("batch2", batch2), beta, alpha)


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
def rsub(self, other, *, alpha=1):
    """``other - alpha * x``."""
    if not isinstance(other, (int, float, Tensor)):
        raise TypeError(f"argument 'other': a tensor or a number is wanted, not {_check._kind(other)}")
    return other - _scale(alpha, self)


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

    def by_name(self, *args, **kwargs):
        if len(args) + len(kwargs) != 1 or (kwargs and second not in kwargs):
            raise TypeError(f"{name}() takes one argument, '{second}'")
        return product(self, *args, *kwargs.values())

    by_name.__name__ = by_name.__qualname__ = name
    by_name.__doc__ = f"The matrix product of {ranks}."
    return _method(by_name)


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


@_method
def trapezoid(self, x=None, *, dx=1.0, dim=-1, axis=None):
    """The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``."""
    dim = dim if axis is None else axis
    if x is None or not isinstance(x, Tensor):
        return _NATIVE["trapezoid"](self, dx if x is None else x, dim)
    return _pairs(self, x, dim).sum(dim)


@_method
def cumulative_trapezoid(self, x=None, *, dx=1.0, dim=-1, axis=None):
    """Integrals up to each point by the trapezoidal rule."""
    dim = dim if axis is None else axis
    if x is None or not isinstance(x, Tensor):
        return _NATIVE["cumulative_trapezoid"](self, dx if x is None else x, dim)
    return _pairs(self, x, dim).cumsum(dim)


@_method
def diff(self, n=1, dim=-1, prepend=None, append=None, *, axis=None):
    """Differences of neighbours along ``dim``, ``n`` times."""
    dim = dim if axis is None else axis
    if prepend is None and append is None:
        return _NATIVE["diff"](self, n, dim)
    around = {"prepend": prepend, "append": append}
    prepend, append = (value if value is None else _check.tensor(name, value) for name, value in around.items())
    return _NATIVE["diff"](concat([part for part in (prepend, self, append) if part is not None], dim), n, dim)


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
