"""Arguments of constructors: what does not fit is a ``TypeError`` or an ``ArgumentError`` that names the argument."""

import math
import numbers

from ._errors import ArgumentError, AxisError
from ._unigrad import Tensor


def _kind(value):
    return "None" if value is None else type(value).__name__


def whole(name, value, least=None):
    """An integer, at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        # NumPy's integers are Integral; tensors and floats are not.
        raise TypeError(f"argument '{name}': an integer is wanted, not {_kind(value)}")
    value = int(value)
    if least is not None and value < least:
        raise ArgumentError(f"argument '{name}' is {value}\n help: use an integer, {least} or more")
    if not -(2**63) <= value < 2**63:
        raise ArgumentError(f"argument '{name}' is {value}\n help: use an integer of 64 bits")
    return value


def size(name, value):
    """A size: 0 or more, and not so large that a tensor of it could not be."""
    value = whole(name, value, 0)
    if value >= 2**40:
        raise ArgumentError(f"argument '{name}' is {value}\n help: no memory holds a tensor of this size: use a smaller one")
    return value


def positive(name, value):
    """A size above 0."""
    value = size(name, value)
    if value == 0:
        raise ArgumentError(f"argument '{name}' is 0\n help: use an integer, 1 or more")
    return value


def number(name, value, least=None, most=None, above=None):
    """A number within limits."""
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, numbers.Real)):
        raise TypeError(f"argument '{name}': a number is wanted, not {_kind(value)}")
    value = float(value)
    limits = (
        (least is not None and not value >= least) or (most is not None and not value <= most) or (above is not None and not value > above)
    )
    if math.isnan(value) or limits:
        wanted = [f"{word} {limit}" for word, limit in [("at least", least), ("above", above), ("at most", most)] if limit is not None]
        raise ArgumentError(f"argument '{name}' is {value}\n help: use a number {' and '.join(wanted) or 'that is one'}")
    return value


def element(name, value):
    """A number as a tensor's element: of any value, NaN as well, and an integer of 64 bits as it is, which a float may be too coarse for."""
    if isinstance(value, bool) or _is_numpy_bool(value):
        return bool(value)
    if isinstance(value, numbers.Integral) and -(2**63) <= value < 2**64:
        return int(value)
    if not isinstance(value, numbers.Real):
        raise TypeError(f"argument '{name}': a number is wanted, not {_kind(value)}")
    return float(value)


def probability(name, value):
    """A number from 0 to 1."""
    return number(name, value, 0.0, 1.0)


def flag(name, value):
    """True or false."""
    if not isinstance(value, (bool, numbers.Integral)) and not _is_numpy_bool(value):
        raise TypeError(f"argument '{name}': a bool is wanted, not {_kind(value)}")
    return bool(value)


def _is_numpy_bool(value):
    return type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_")


def one_of(name, value, names):
    """One of some names."""
    if not isinstance(value, str):
        raise TypeError(f"argument '{name}': a name is wanted, not {_kind(value)}")
    if value not in names:
        known = ", ".join(map(repr, names))
        raise ArgumentError(f"argument '{name}' is {value!r}\n help: choose one of {known}")
    return value


def sizes(name, value, n, least=0):
    """``n`` sizes: given as one for all, or as a sequence."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return (whole(name, value, least),) * n
    if isinstance(value, (str, bytes, Tensor)) or not hasattr(value, "__iter__"):
        raise TypeError(f"argument '{name}': an integer or {n} integers are wanted, not {_kind(value)}")
    value = tuple(whole(name, item, least) for item in value)
    if len(value) != n:
        raise ArgumentError(f"argument '{name}' has {len(value)} sizes\n help: give one, or {n}")
    return value


def axis(name, value, ndim):
    """An axis of a tensor that has ``ndim`` of them, counted from the first; a number without axes has one."""
    value, most = whole(name, value), max(ndim, 1)
    if not -most <= value < most:
        raise AxisError(f"argument '{name}' is {value}, for {ndim} axes\n help: use {-most} to {most - 1}")
    return value % most


def shape(name, value):
    """Sizes of any number of axes."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return (size(name, value),)
    if isinstance(value, (str, bytes, Tensor)) or not hasattr(value, "__iter__"):
        raise TypeError(f"argument '{name}': integers are wanted, not {_kind(value)}")
    return tuple(size(name, item) for item in value)


def tensor(name, value, optional=False):
    """A tensor."""
    if isinstance(value, Tensor) or (optional and value is None):
        return value
    raise TypeError(f"argument '{name}': a tensor is wanted, not {_kind(value)}")


def call(name, value):
    """Something to call."""
    if not callable(value):
        raise TypeError(f"argument '{name}': a function is wanted, not {_kind(value)}")
    return value
