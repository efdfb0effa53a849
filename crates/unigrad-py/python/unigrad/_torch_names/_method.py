"""How a function becomes a method of tensors, and what several of them ask of their arguments."""

from .. import _check
from .._unigrad import Tensor

# Methods of the same names that the crates have.
_NATIVE = {}


def _method(function):
    """Makes a function a method of tensors."""
    name = function.__name__
    if hasattr(Tensor, name):
        _NATIVE[name] = getattr(Tensor, name)
        function.__doc__ = function.__doc__ or _NATIVE[name].__doc__
    setattr(Tensor, name, function)
    return function


def _one_of(first, second, **given):
    """The one of two names of an argument that is given."""
    values = [(name, value) for name, value in given.items() if value is not None]
    if len(values) > 1:
        raise TypeError(f"`{first}` and `{second}` are one argument: give one of them")
    if not values:
        raise TypeError(f"argument '{first}' is missing")
    return values[0][1]


def _dims(name, positional, keyword):
    """Dims that may be given one by one, as a list, or by keyword."""
    if not keyword:
        return positional
    if set(keyword) != {name}:
        raise TypeError(f"got an unexpected keyword argument '{next(one for one in keyword if one != name)}', beside '{name}'")
    if positional:
        raise TypeError(f"argument '{name}' is given twice")
    return (keyword[name],)


def _scale(alpha, x):
    """``alpha * x``; ``x`` itself for 1."""
    if isinstance(alpha, Tensor):
        return x * alpha
    return x if _check.number("alpha", alpha) == 1 else x * alpha
