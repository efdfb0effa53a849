"""Axes and shapes."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor
from ._method import _method, _method_named


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
