"""Exceptions: each is a ``unigrad.Error``, and of the class that Python's programs expect."""

import builtins


class Error(Exception):
    """Anything that can go wrong here. The message names the cause, the place and the remedy."""


class ShapeError(Error, ValueError):
    """Shapes that do not fit."""


class DTypeError(Error, TypeError):
    """A dtype that an op does not take."""


class AxisError(Error, ValueError, builtins.IndexError):
    """An axis that a tensor does not have."""


class IndexError(Error, builtins.IndexError):  # noqa: A001
    """An index out of range."""


class AutogradError(Error, RuntimeError):
    """A gradient that does not exist."""


class ArgumentError(Error, ValueError):
    """An argument that makes no sense."""


class DeviceError(Error, ValueError):
    """Tensors of different devices in one op."""


class NotAvailableError(Error, RuntimeError):
    """A device that is not there."""


class OutOfMemoryError(Error, MemoryError):
    """No memory on a device."""


class DeviceLostError(Error, RuntimeError):
    """A device that is gone."""


class CompileError(Error, RuntimeError):
    """A kernel that cannot be compiled."""


class LaunchError(Error, RuntimeError):
    """A kernel that failed, or a copy."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""


class FormatError(Error, ValueError):
    """A file whose content is not what its format says."""


class StateDictError(Error, KeyError, RuntimeError):
    """A checkpoint for another model."""

    # A KeyError shows its message as a literal.
    __str__ = Exception.__str__


class NotFiniteError(Error, ArithmeticError):
    """A loss that is no number any more."""


class CancelledError(Error, RuntimeError):
    """Work that was asked to end."""


class InternalError(Error, RuntimeError):
    """A mistake of this library."""
