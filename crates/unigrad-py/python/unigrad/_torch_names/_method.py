"""How a function becomes a method of tensors."""

import inspect

from .._unigrad import Tensor
from ._examples import EXAMPLES

# Methods of the same names that the crates have.
_NATIVE = {}


def _method(function):
    """Makes a function a method of tensors."""
    name = function.__name__
    if hasattr(Tensor, name):
        _NATIVE[name] = getattr(Tensor, name)
    if name in EXAMPLES and ">>>" not in (function.__doc__ or ""):
        call, result = EXAMPLES[name]
        function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n>>> import unigrad\n>>> {call}\n{result}"
    setattr(Tensor, name, function)
    return function


def _method_named(name, doc):
    """As ``_method``, of a function that is made: one of several that differ by their name."""

    def named(function):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return _method(function)

    return named
