"""What is read and written by index."""

from .. import _check
from .._errors import ArgumentError, DTypeError, ShapeError
from .._unigrad import Tensor, arange, full
from ._method import _NATIVE, _method


@_method
def gather(self, dim, index):
    """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]
    """
    dim, x = _check.whole("dim", dim), _check.tensor("self", self)
    if _check.tensor("index", index).ndim != x.ndim and index.numel() == 0:
        # What gathers nothing may have any shape.
        _check.axis("dim", dim, x.ndim)
        return x.flatten()[:0].reshape(index.shape)
    if _check.tensor("index", index).ndim == x.ndim and -x.ndim <= dim < x.ndim:
        for axis, (own, wanted) in enumerate(zip(x.shape, index.shape)):
            if axis == dim % x.ndim:
                continue
            if wanted > own:
                raise ShapeError(
                    f"gather: argument 'index' is {list(index.shape)}, for {list(self.shape)}: axis {axis} is longer\n"
                    " help: beside `dim` it may only be shorter; `take_along_dim` broadcasts"
                )
            x = x if wanted == own else x.narrow(axis, 0, wanted)
    return x.take_along(dim, index)


@_method
def scatter(self, dim, index, src=None, *, value=None, reduce=None):
    """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there."""
    if src is not None and value is not None:
        raise TypeError("`src` and `value` are one argument: give one of them")
    src = value if src is None else src
    if src is None:
        raise TypeError("argument 'src' is missing")
    if not isinstance(src, Tensor):
        src = full(_check.tensor("index", index).shape, _check.element("src", src), dtype=self.dtype, device=self.device)
    if reduce is None:
        return _NATIVE["scatter"](self, dim, index, src)
    mode = {"add": "sum", "multiply": "prod"}.get(reduce)
    if mode is None:
        raise ArgumentError(f"argument 'reduce' is {reduce!r}\n help: choose from add, multiply")
    return self.scatter_reduce(dim, index, src, mode)


@_method
def argwhere(self):
    """The indices of what is not 0: ``[n, ndim]``."""
    return self.nonzero()


def _part_set(self, places, src, name):
    """A copy with ``src`` where a view by the same index has these places: ``places`` picks them from the elements' numbers."""
    numbers = arange(self.numel(), device=self.device).reshape(self.shape)
    part = places(numbers)
    if tuple(_check.tensor("src", src).shape) != tuple(part.shape):
        raise ArgumentError(f"{name}: argument 'src' is {list(src.shape)}, for {list(part.shape)}")
    return self.flatten().index_copy(0, part.flatten(), src.to(self.dtype).flatten()).reshape(self.shape)


@_method
def select_scatter(self, src, dim, index):
    """A copy with ``src`` as element ``index`` along ``dim``."""
    return _part_set(self, lambda x: x.select(dim, index), src, "select_scatter")


@_method
def slice_scatter(self, src, dim=0, start=None, end=None, step=1):
    """A copy with ``src`` as the elements from ``start`` to ``end`` along ``dim``, every ``step``-th of them.

    >>> import unigrad
    >>> unigrad.zeros(4).slice_scatter(unigrad.ones(2), 0, 1, 4, 2).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    dim = _check.whole("dim", dim)
    if not -self.ndim <= dim < self.ndim:
        raise ArgumentError(f"argument 'dim' is {dim}, for {self.ndim} axes")
    bounds = [None if one is None else _check.whole(name, one) for name, one in (("start", start), ("end", end))]
    index = (slice(None),) * (dim % self.ndim) + (slice(*bounds, _check.whole("step", step, 1)),)
    return _part_set(self, lambda x: x[index], src, "slice_scatter")


@_method
def diagonal_scatter(self, src, offset=0, dim1=0, dim2=1):
    """A copy with ``src`` as its diagonal."""
    return _part_set(self, lambda x: x.diagonal(offset, dim1, dim2), src, "diagonal_scatter")


@_method
def unravel_index(self, shape):
    """Row-major numbers of elements as indices of a tensor of this shape: a tensor for each axis.

    >>> import unigrad
    >>> [axis.tolist() for axis in unigrad.tensor([1, 5]).unravel_index((2, 3))]
    [[0, 1], [1, 2]]
    """
    if isinstance(shape, (str, bytes, Tensor)) or not hasattr(shape, "__iter__"):
        shape = [shape]
    # No tensor of this shape is made: any 64-bit sizes will do.
    shape = [_check.whole("shape", size, 0) for size in shape]
    if self.is_floating_point() or "int" not in str(self.dtype):
        raise DTypeError(f"unravel_index: numbers of elements are integers, not {self.dtype}\n help: cast them")
    rest, found = self.to("int64"), []
    for size in reversed(shape):
        found.append(rest % size)
        rest = rest.floor_divide(size)
    return tuple(reversed(found))
