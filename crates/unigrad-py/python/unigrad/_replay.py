"""Functions that are recorded once and then run again without being called."""

import threading

from . import _noted, _tree
from ._unigrad import Replayed

__all__ = ["Replay", "replay"]

#: Kinds of arguments (structure, shapes, dtypes, devices) that a function is remembered for.
_REMEMBERED = 16


class Replay:
    """A function that runs again as it was recorded: what :func:`replay` gives."""

    def __init__(self, function):
        if not callable(function):
            raise TypeError(f"`function` is to be a function, not {type(function).__name__}")
        self._function = function
        self._known = {}
        self._n_forgotten = 0
        # So that two threads do not both let the same kind go.
        self._changes = threading.Lock()
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.__doc__ = getattr(function, "__doc__", None)

    def __repr__(self):
        return f"<replay of {self.__name__}: {self.n_replayed} calls replayed>"

    def __call__(self, *args, **kwargs):
        leaves, build = _tree.only_tensors((args, kwargs), "the arguments of a replayed function")
        kind = (repr(build(list(range(len(leaves))))), tuple((x.shape, x.dtype, str(x.device)) for x in leaves))
        known = self._known.get(kind)
        if known is None:
            known = self._record(kind, build)
        native, results, optimizers = known
        for optimizer in optimizers:
            optimizer._update_settings()
        flat = native.call(leaves)
        return results[0](flat)

    def _record(self, kind, build):
        results, optimizers = [], []

        def function(*tensors):
            args, kwargs = build(tensors)
            with _noted.listening() as noted:
                given = self._function(*args, **kwargs)
            optimizers[:] = noted
            flat, rebuild = _tree.only_tensors(given, "the result of a replayed function")
            results[:] = [rebuild]
            return flat

        with self._changes:
            if kind not in self._known and len(self._known) == _REMEMBERED:
                native, _, _ = self._known.pop(next(iter(self._known)))
                self._n_forgotten += native.n_replayed
            return self._known.setdefault(kind, (Replayed(function), results, optimizers))

    @property
    def n_replayed(self):
        """Calls that ran without calling the function."""
        return self._n_forgotten + sum(native.n_replayed for native, _, _ in list(self._known.values()))

    def record_again(self):
        """Forgets what was recorded: the function is called again. For a function that reads what has changed outside of it."""
        for native, _, _ in list(self._known.values()):
            native.record_again()


def replay(function):
    """``function``, which is called until two calls have done the same with the device, and from then on is not called any more.

    The launches of the last call run with the new arguments, with what the tensors that it assigns hold now (parameters, state of optimizers, running
    statistics) and with new random numbers. For steps whose recording takes longer than their work, such as a small network's on a GPU. Also a
    decorator.

    Arguments and results are tensors, and tuples, lists and dicts of them. What the function decides itself, and numbers that it uses, stay as they were
    recorded. It is recorded again where a setting of an optimizer changes (a learning rate), where a tensor that it only reads is given another value, and
    for arguments of other shapes, dtypes, devices or structure. Gradients do not flow through the results. Refused with a ``ValueError`` (an
    ``unigrad.Error``) that says what to do: a function that reads a value, makes a tensor of the host's data, uses a number that differs from call to call,
    copies between devices, or leaves gradients behind (call ``optimizer.zero_grad()`` after ``step()``).

    >>> import unigrad
    >>> w = unigrad.zeros(2, requires_grad=True)
    >>> optimizer = unigrad.optim.SGD([w], lr=0.1)
    >>> @unigrad.replay
    ... def step(x, y):
    ...     loss = (x @ w - y).square().mean()
    ...     loss.backward()
    ...     optimizer.step()
    ...     optimizer.zero_grad()
    ...     return loss
    >>> for _ in range(100):
    ...     x = unigrad.randn(16, 2)
    ...     loss = step(x, x @ unigrad.tensor([2.0, -1.0]))
    >>> bool(loss < 1e-3), step.n_replayed > 90
    (True, True)
    """
    return Replay(function)
