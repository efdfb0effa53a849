"""Which optimizers took a step while a function was recorded: what a replay passes their settings on for, since their ``step`` is not called then."""

import contextlib
import threading

_here = threading.local()


def note(optimizer):
    """Notes an optimizer, if this thread has a list for it."""
    noted = getattr(_here, "noted", None)
    if noted is not None and all(known is not optimizer for known in noted):
        noted.append(optimizer)


@contextlib.contextmanager
def listening():
    """The list that optimizers are noted in from now on."""
    before = getattr(_here, "noted", None)
    _here.noted = []
    try:
        yield _here.noted
    finally:
        _here.noted = before
