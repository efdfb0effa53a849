"""Axes and shapes."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor
from ._method import _NATIVE, _dims, _method, _one_of


@_method
def flip(self, *dims, axis=None, **keyword):
    """Reversed along these dims; along all without."""
    return _NATIVE["flip"](self, *_dims("dims", dims, keyword), **({} if axis is None else {"axis": axis}))


@_method
def permute(self, *dims, **keyword):
    """Its axes in this order."""
    return _NATIVE["permute"](self, *_dims("dims", dims, keyword))


@_method
def tile(self, *repeats, **keyword):
    """Repeated so often along each axis."""
    return _NATIVE["tile"](self, *_dims("dims", repeats, keyword))


@_method
def transpose(self, *dims, dim0=None, dim1=None):
    """Two axes exchanged; NumPy's order of all axes if there are not two."""
    named = [_check.whole(name, dim) for name, dim in (("dim0", dim0), ("dim1", dim1)) if dim is not None]
    return _NATIVE["transpose"](self, *dims, *named)


@_method
def split(self, split_size=None, dim=0, *, axis=None, split_size_or_sections=None):
    """Parts of this size, or of these sizes, along ``dim``."""
    size = _one_of("split_size", "split_size_or_sections", split_size=split_size, split_size_or_sections=split_size_or_sections)
    return _NATIVE["split"](self, size, dim, **({} if axis is None else {"axis": axis}))


@_method
def tensor_split(self, indices_or_sections=None, dim=0, *, axis=None, indices=None, sections=None):
    """So many parts along ``dim``, or parts that end at these indices."""
    given = [value for value in (indices_or_sections, indices, sections) if value is not None]
    if len(given) != 1:
        raise TypeError("argument 'indices_or_sections': give it once")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    return _NATIVE["tensor_split"](self, where, dim, **({} if axis is None else {"axis": axis}))


def _splitting(name, least, dim_of):
    def split_along(self, indices_or_sections):
        if self.ndim < least:
            raise ArgumentError(f"{name}: {least} axes and more are wanted, not {self.ndim}")
        return self.tensor_split(indices_or_sections, dim_of(self))

    split_along.__name__ = split_along.__qualname__ = name
    split_along.__doc__ = f"``tensor_split`` along the axis that ``{name}`` names."
    return _method(split_along)


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
    """With one axis at least."""
    return _atleast(1, tensors)


def atleast_2d(*tensors):
    """With two axes at least: those that are missing come first."""
    return _atleast(2, tensors)


def atleast_3d(*tensors):
    """With three axes at least."""
    return _atleast(3, tensors)
