"""How a function becomes a method of tensors."""

from .._unigrad import Tensor

# Methods of the same names that the crates have.
_NATIVE = {}


def _method(function):
    """Makes a function a method of tensors."""
    name = function.__name__
    if hasattr(Tensor, name):
        _NATIVE[name] = getattr(Tensor, name)
    setattr(Tensor, name, function)
    return function


def _method_named(name, doc):
    """As ``_method``, of a function that is made: one of several that differ by their name."""

    def named(function):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return _method(function)

    return named
