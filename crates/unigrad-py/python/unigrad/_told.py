"""What an exception tells of the arguments of a public function: which one does not fit, by its name.

In: the exception, the function, what it was given. Out: a note on the exception, as the native functions have one.
Always: an exception that names an argument stays as it is, and a call that raises nothing pays for nothing. Not for functions that call a user's: what
these raise arrives as it is.
"""

import functools
import inspect
import re

from ._unigrad import Tensor

_NAMED = "_names_its_arguments"


def _kind(value):
    return "None" if value is None else type(value).__name__


def _shown(value):
    """An argument in a word or two."""
    if isinstance(value, Tensor):
        return f"a tensor {list(value.shape)} of {str(value.dtype).removeprefix('unigrad.')}"
    return repr(value)[:60] if isinstance(value, (str, bool, int, float, tuple, list)) or value is None else f"of class {_kind(value)}"


def _is_meant(value, text):
    """How surely a message is about a value: 0 for not at all."""
    if isinstance(value, Tensor):
        return 2 if f"{list(value.shape)}" in text else 1 if re.search(r"[Tt]ensor\b", text) else 0
    if isinstance(value, (str, int, float)) and not isinstance(value, bool) and str(value) and re.search(rf"(?<!\w){re.escape(str(value))}(?!\w)", text):
        return 3
    words = "None|NoneType" if value is None else re.escape(_kind(value))
    return 3 if re.search(rf"(?<!\w)({words})(?!\w)", text) else 0


def tell(error, function, args, kwargs, first=None, numbers=False):
    """Notes on an exception which argument of the function it is about; where that is not certain, all of them. ``first`` is another name of
    the first, which is a tensor, or with ``numbers`` may be a number."""
    try:
        given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        # Too many arguments, or unknown ones: Python's message says so.
        return
    given = {first if first is not None and at == 0 else name: value for at, (name, value) in enumerate(given.items())}
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    if first in given and not isinstance(given[first], (Tensor, int, float) if numbers else Tensor):
        error.add_note(f"while processing '{first}': a tensor is wanted, not {_shown(given[first])}")
        return
    if not given or any(re.search(rf"['`]{re.escape(name)}['`]", text) for name in given):
        return
    sure = {name: _is_meant(value, str(error)) for name, value in given.items() if name != "self"}
    most = max(sure.values(), default=0)
    where = getattr(function, "__qualname__", "a function").removesuffix(".__init__").rpartition("<locals>.")[2]
    named = [name for name, how in sure.items() if how == most]
    if most > 1 and len(named) == 1:
        error.add_note(f"while processing '{named[0]}' of {where}: {_shown(given[named[0]])}")
    else:
        error.add_note(f"in {where}, where {', '.join(f'`{name}` is {_shown(value)}' for name, value in given.items() if name != 'self')}")


def named(function):
    """A function whose exceptions name the argument that they are about."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            tell(error, function, args, kwargs)
            raise

    setattr(call, _NAMED, True)
    return call


def name_arguments(members, names, without=()):
    """Makes the functions of these names tell of their arguments, in a module's dict of members; for those that call a user's function it is not: ``without``."""
    for name in names:
        value = members[name]
        if inspect.isfunction(value) and name not in without and not hasattr(value, _NAMED):
            members[name] = named(value)
