"""Arithmetic, element by element and over axes."""

from .. import _check
from .._errors import ArgumentError, ShapeError
from .._unigrad import Tensor, bfloat16, concat, float16, float32, float64, int64, ones
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


@_method
def ldexp(self, other):
    """``x * 2**other``."""
    if not _check.tensor("other", other).is_floating_point():
        # In three steps: a power of two may be beyond the numbers whose product with it is none.
        least, most = (-2100, 2100) if self.dtype == float64 else (-300, 300)
        whole = other.to(int64).clamp(least, most)
        third = whole.floor_divide(3)
        parts = [third, third, whole - third * 2]
        parts = [part.to(float64) for part in parts] if self.dtype == float64 else parts
    else:
        parts = [other]
    y = _check.tensor("self", self)
    for part in parts:
        # By the method, for which a tensor without axes weighs less, as PyTorch has it.
        y = y.mul(2.0**part)
    # The powers of 16-bit floats' partners are float32, so that those in between do not overflow.
    return y.to(self.dtype) if self.is_floating_point() and not other.is_floating_point() else y


@_method
def addbmm(self, batch1, batch2, *, beta=1, alpha=1):
    """``beta x + alpha`` times the sum of the products of two batches of matrices."""
    ranks = [_check.tensor(name, one).ndim for name, one in (("batch1", batch1), ("batch2", batch2))]
    if ranks != [3, 3]:
        raise ArgumentError(f"addbmm: batches of matrices are wanted, not {list(batch1.shape)} and {list(batch2.shape)}")
    if batch1.shape[0] != batch2.shape[0] or batch1.shape[2] != batch2.shape[1]:
        raise ShapeError(f"addbmm: batches of {list(batch1.shape)} and {list(batch2.shape)} have no products\n help: give [b, n, k] and [b, k, m]")
    # One product, whose sums run over batches as well.
    b, n, k = batch1.shape
    return self.addmm(batch1.transpose(0, 1).reshape(n, b * k), batch2.reshape(b * k, batch2.shape[2]), beta=beta, alpha=alpha)


@_method
def renorm(self, p, dim, maxnorm):
    """Slices along ``dim`` whose ``p``-norm is greater than ``maxnorm`` are scaled to have it.

    >>> import unigrad
    >>> unigrad.tensor([[3.0, 4.0], [0.0, 1.0]]).renorm(2, 0, 2.5).round(decimals=3).tolist()
    [[1.5, 2.0], [0.0, 1.0]]
    """
    p, limit = _check.number("p", p, above=0.0), _check.number("maxnorm", maxnorm, 0.0)
    dim = _check.axis("dim", dim, self.ndim)
    others = [axis for axis in range(self.ndim) if axis != dim]
    if not others:
        raise ArgumentError(f"renorm: two axes and more are wanted, not {self.ndim}")
    # Norms of halves may be beyond them.
    wide = self.to(float32) if self.dtype in (float16, bfloat16) else self
    lengths = wide.norm(p, others, keepdim=True)
    return (lengths > limit).where_((wide * (limit / (lengths + 1e-7))).to(self.dtype), self)


@_method
def gradient(self, *, spacing=None, dim=None, edge_order=1):
    """Derivatives of what is sampled on a grid, by differences of second order inside and of ``edge_order`` at the ends: one for each axis.

    ``spacing`` is the distance of samples, 1 without, or for each axis a distance or a vector of places.

    >>> import unigrad
    >>> unigrad.gradient(unigrad.tensor([0.0, 1.0, 4.0, 9.0]))[0].tolist()
    [1.0, 2.0, 4.0, 5.0]
    """
    order = _check.whole("edge_order", edge_order, 1)
    axes = range(self.ndim) if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    axes = [_check.axis("dim", axis, self.ndim) for axis in axes]
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [1 if spacing is None else spacing] * len(axes)
    spacings = [one if isinstance(one, Tensor) else _check.number("spacing", one) for one in spacings]
    if len(set(axes)) != len(axes):
        raise ArgumentError(f"argument 'dim' names an axis twice: {dim}")
    if len(spacings) != len(axes) or order > 2:
        raise ArgumentError(f"gradient: {len(spacings)} spacings for {len(axes)} axes, and an edge_order of {order}\n help: the latter is 1 or 2")
    for axis in axes:
        if self.shape[axis] <= order:
            raise ArgumentError(f"gradient: axis {axis} has {self.shape[axis]} elements\n help: give at least {order + 1}")
    return tuple(_slopes(self, axis, space, order) for axis, space in zip(axes, spacings))


def _slopes(y, axis, space, order):
    n = y.shape[axis]
    if isinstance(space, Tensor) and space.ndim == 1:
        steps = space.diff().reshape([-1] + [1] * (y.ndim - 1 - axis))
    else:
        steps = ones([n - 1] + [1] * (y.ndim - 1 - axis), dtype=y.dtype if y.is_floating_point() else None, device=y.device) * space

    def at(x, start, length, of=axis):
        return x.narrow(of, start, length)

    rises = y.diff(dim=axis) / steps
    # A parabola through three neighbours; of equal steps it is the mean of both rises.
    a, b = at(steps, 0, n - 2, 0), at(steps, 1, n - 2, 0)
    left, right = at(rises, 0, n - 2), at(rises, 1, n - 2)
    inner = (left * b + right * a) / (a + b)
    first, last = at(rises, 0, 1), at(rises, n - 2, 1)
    if order == 2:
        first, last = (
            first + (first - at(rises, 1, 1)) * at(steps, 0, 1, 0) / (at(steps, 0, 1, 0) + at(steps, 1, 1, 0)),
            last + (last - at(rises, n - 3, 1)) * at(steps, n - 2, 1, 0) / (at(steps, n - 3, 1, 0) + at(steps, n - 2, 1, 0)),
        )
    return concat([first, inner, last], axis)
