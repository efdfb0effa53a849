"""Where the time of a program goes: kernels, copies and compilations on every device.

>>> import unigrad as ug
>>> with ug.profile.Profile() as profile:
...     _ = (ug.ones(100) * 2).sum().item()
>>> profile.seconds > 0
True
"""

import os

from . import _check
from ._unigrad import _train

__all__ = ["Profile"]


class Profile:
    """Profiles what devices do inside of ``with``; afterwards ``print(profile.summary())``, ``profile.save("profile.html")``. One at a time in a process.

    >>> import unigrad as ug
    >>> with ug.profile.Profile() as seen:
    ...     _ = (ug.rand(10) + 1).sum().item()
    >>> len(seen.events) > 0
    True
    """

    def __init__(self):
        self._inner = _train.Profiler()

    def __enter__(self):
        self._inner.__enter__()
        return self

    def __exit__(self, *raised):
        self._inner.__exit__(*raised)

    @property
    def seconds(self):
        """How long it took."""
        return self._inner.seconds()

    @property
    def events(self):
        """Each piece of work: a dict of name, kind, start and duration in microseconds, bytes and floating-point operations."""
        names = ("name", "kind", "start_us", "duration_us", "bytes", "flops")
        return [dict(zip(names, event)) for event in self._inner.events()]

    def summary(self):
        """A table of kernels by time."""
        return self._inner.summary()

    def save(self, path):
        """A page with a timeline; a trace for Perfetto where the name ends in ``.json``."""
        try:
            self._inner.save(os.fspath(path))
        except TypeError:
            raise TypeError(f"argument 'path': a path is wanted, not {_check._kind(path)}") from None

    def __repr__(self):
        return f"{type(self).__name__}()"
