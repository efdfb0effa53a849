"""Axes and shapes."""

import itertools
import math

from .. import _check
from .._errors import ArgumentError, AxisError, ShapeError
from .._unigrad import Tensor, _lies, full, meshgrid, stack
from ._method import _NATIVE, _method, _method_named


def _splitting(name, least, dim_of):
    @_method_named(name, f"``tensor_split`` along the axis that ``{name}`` names.")
    def split_along(self, indices_or_sections):
        if self.ndim < least:
            raise ArgumentError(f"{name}: {least} axes and more are wanted, not {self.ndim}")
        return self.tensor_split(indices_or_sections, dim_of(self))

    return split_along


hsplit = _splitting("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
vsplit = _splitting("vsplit", 2, lambda x: 0)
dsplit = _splitting("dsplit", 3, lambda x: 2)


@_method
def fliplr(self):
    """Reversed along the second axis."""
    return self.flip(1)


@_method
def flipud(self):
    """Reversed along the first axis."""
    if self.ndim == 0:
        raise ArgumentError("flipud: one axis and more are wanted, not 0")
    return self.flip(0)


@_method
def view_as(self, other):
    """In another tensor's shape."""
    return self.reshape(_check.tensor("other", other).shape)


@_method
def type_as(self, other):
    """In another tensor's dtype."""
    return self.to(_check.tensor("other", other).dtype)


def broadcast_tensors(*tensors):
    """Tensors expanded to the shape that they have together.

    >>> import unigrad
    >>> [tuple(x.shape) for x in unigrad.broadcast_tensors(unigrad.ones(2, 1), unigrad.ones(3))]
    [(2, 3), (2, 3)]
    """
    from ..array_api import broadcast_arrays

    return tuple(broadcast_arrays(*(_check.tensor("tensors", one) for one in tensors)))


def _atleast(n, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    out = []
    for x in tensors:
        x = _check.tensor("tensors", x)
        if n == 3 and x.ndim < 3:
            x = x.reshape({0: (1, 1, 1), 1: (1, -1, 1), 2: (*x.shape, 1)}[x.ndim])
        out.append(x if x.ndim >= n else x.reshape((1,) * (n - x.ndim) + tuple(x.shape)))
    return out[0] if len(out) == 1 else tuple(out)


def atleast_1d(*tensors):
    """With one axis at least.

    >>> import unigrad
    >>> unigrad.atleast_1d(unigrad.tensor(1.0)).shape
    (1,)
    """
    return _atleast(1, tensors)


def atleast_2d(*tensors):
    """With two axes at least: those that are missing come first.

    >>> import unigrad
    >>> unigrad.atleast_2d(unigrad.ones(3)).shape
    (1, 3)
    """
    return _atleast(2, tensors)


def atleast_3d(*tensors):
    """With three axes at least.

    >>> import unigrad
    >>> unigrad.atleast_3d(unigrad.ones(3)).shape
    (1, 3, 1)
    """
    return _atleast(3, tensors)


@_method
def split_with_sizes(self, split_sizes, dim=0):
    """Parts of these sizes along ``dim``."""
    return self.split(list(_check.shape("split_sizes", split_sizes)), dim)


@_method
def sum_to_size(self, *size):
    """The sum over axes that broadcasting from ``size`` would add or stretch: of that shape.

    >>> import unigrad
    >>> unigrad.ones(2, 3).sum_to_size(1, 3).tolist()
    [[2.0, 2.0, 2.0]]
    """
    size = _check.shape("size", size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    more = self.ndim - len(size)
    if more < 0 or any(wanted not in (1, own) for own, wanted in zip(self.shape[more:], size)):
        raise ArgumentError(f"argument 'size' is {list(size)}, which does not broadcast to {list(self.shape)}")
    if not size:
        return self.sum()
    axes = [axis for axis in range(self.ndim) if axis < more or (size[axis - more] == 1 and self.shape[axis] != 1)]
    return (self.sum(axes, keepdim=True) if axes else self).reshape(size)


def cartesian_prod(*tensors):
    """All combinations of an element of each vector, as rows, the last one changing first.

    >>> import unigrad
    >>> unigrad.cartesian_prod(unigrad.tensor([1, 2]), unigrad.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]
    """
    tensors = [_check.tensor("tensors", one) for one in tensors]
    if not tensors or any(one.ndim != 1 for one in tensors):
        raise ArgumentError("cartesian_prod: vectors are wanted, at least one")
    if len(tensors) == 1:
        return tensors[0]
    return stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], dim=1)


@_method
def combinations(self, r=2, with_replacement=False):
    """All choices of ``r`` elements of a vector, in its order, as rows.

    >>> import unigrad
    >>> unigrad.tensor([1, 2, 3]).combinations().tolist()
    [[1, 2], [1, 3], [2, 3]]
    """
    if self.ndim != 1:
        raise ArgumentError(f"combinations: a vector is wanted, not {self.ndim} axes")
    r = _check.size("r", r)
    choose = itertools.combinations_with_replacement if _check.flag("with_replacement", with_replacement) else itertools.combinations
    places = list(choose(range(self.shape[0]), r)) if r else []
    if not places:
        return self[:0] if r == 0 else self[:0].reshape(0, r)
    return self[Tensor(places, device=self.device)]


@_method
def nelement(self):
    """The number of elements."""
    return self.numel()


@_method
def ndimension(self):
    """The number of axes."""
    return self.ndim


@_method
def element_size(self):
    """The bytes of an element."""
    return self.dtype.itemsize


@_method
def is_contiguous(self, memory_format=None):
    """True: a tensor is a value, whose elements are in order wherever it is read."""
    if memory_format is not None:
        _lies(memory_format=memory_format)
    return True


@_method
def contiguous(self, memory_format=None):
    """The tensor itself: a tensor is a value, whose elements are in order wherever it is read."""
    if memory_format is not None:
        _lies(memory_format=memory_format)
    return _NATIVE["contiguous"](self)


@_method
def stride(self, dim=None):
    """How many elements lie between neighbours along each axis, or along ``dim``: those of a row-major order, in which a value is read."""
    steps, step = [], 1
    for size in reversed(self.shape):
        steps.insert(0, step)
        step *= max(size, 1)
    if dim is None:
        return tuple(steps)
    if not steps:
        raise AxisError("argument 'dim' is given, for a tensor without axes")
    return steps[_check.axis("dim", dim, self.ndim)]


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes have together.

    >>> import unigrad
    >>> unigrad.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    shapes = [_check.shape("shapes", one) for one in shapes]
    out = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for axis, size in enumerate(shape, len(out) - len(shape)):
            if size != 1 and out[axis] not in (1, size):
                raise ShapeError(
                    f"argument 'shapes': {', '.join(str(list(one)) for one in shapes)} do not broadcast: {out[axis]} against {size}\n"
                    " help: sizes match from the last axis back, or are 1"
                )
            out[axis] = size if out[axis] == 1 else out[axis]
    return tuple(out)


@_method
def resize_(self, *size, memory_format=None):
    """The same elements in another shape, for all holders of this tensor. Another number of elements is an error, but for none: there is no memory to grow
    into."""
    if memory_format is not None:
        _lies(memory_format=memory_format)
    shape = _check.shape("size", size[0] if len(size) == 1 and not isinstance(size[0], int) else size)
    if math.prod(shape) == 0:
        return self._become(full(shape, 0, dtype=self.dtype, device=self.device))
    if math.prod(shape) != self.numel():
        raise ShapeError(
            f"resize_: argument 'size' is {list(shape)}, for {list(self.shape)}: {math.prod(shape)} elements of {self.numel()}\n"
            " help: a tensor is a value; slice it, `concat` it, or make a new one"
        )
    return self._become(self.reshape(shape))


@_method
def is_same_size(self, other):
    """Whether both have the same shape."""
    return self.shape == _check.tensor("other", other).shape


@_method
def is_nonzero(self):
    """Whether the only element is not 0; a read."""
    if self.numel() != 1:
        raise ArgumentError(f"is_nonzero: one element is wanted, not {list(self.shape)}")
    return bool(self.item())


@_method
def pin_memory(self, device=None):
    """The tensor itself: memory is pinned where a copy needs it."""
    return self


@_method
def share_memory_(self):
    """The tensor itself: threads of one process share all memory."""
    return self
