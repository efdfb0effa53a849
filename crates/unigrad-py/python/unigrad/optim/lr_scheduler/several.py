"""Several schedulers as one."""

from bisect import bisect_right

from ... import _check
from ..._errors import ArgumentError
from .plateau import ReduceLROnPlateau
from .scheduler import LRScheduler, _optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


def _several(schedulers):
    if isinstance(schedulers, (str, LRScheduler)) or not hasattr(schedulers, "__iter__"):
        raise TypeError(f"argument 'schedulers': schedulers are wanted, not {_check._kind(schedulers)}")
    schedulers = list(schedulers)
    for scheduler in schedulers:
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"argument 'schedulers': schedulers are wanted, not {_check._kind(scheduler)}")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ArgumentError("argument 'schedulers' has a ReduceLROnPlateau, whose step takes a metric\n help: step it by itself")
    if not schedulers or any(scheduler.optimizer is not schedulers[0].optimizer for scheduler in schedulers):
        raise ArgumentError("argument 'schedulers' is empty, or of several optimizers\n help: give schedulers of one optimizer")
    return schedulers


def _no_epoch(epoch):
    if epoch is not None:
        raise ArgumentError(f"argument 'epoch' is {epoch}, and several schedulers count their own\n help: call `step()`")


def _undo(schedulers):
    for scheduler in schedulers:
        if hasattr(scheduler, "_schedulers"):
            _undo(scheduler._schedulers)
        else:
            scheduler.last_epoch -= 1


class _Several(LRScheduler):
    """The state of several has the states of all."""

    def state_dict(self):
        """What goes on: of each of the schedulers too."""
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        own = self._schedulers
        super().load_state_dict(state_dict)
        self._schedulers = own
        for scheduler, state in zip(own, state_dict.get("_schedulers", ())):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One scheduler after the other: the second begins, at its step 0, at the first milestone, and so on.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> parts = [ug.optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2), ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> schedule = ug.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._schedulers, self._milestones = _several(schedulers), list(_check.shape("milestones", milestones))
        if len(self._milestones) != len(self._schedulers) - 1 or self._milestones != sorted(self._milestones):
            raise ArgumentError(f"argument 'milestones' is {self._milestones}\n help: give one fewer than schedulers, in order")
        if _optimizer(optimizer) is not self._schedulers[0].optimizer:
            raise ArgumentError("argument 'schedulers' is of another optimizer\n help: give schedulers of `optimizer`")
        self.optimizer, self.last_epoch = optimizer, _check.whole("last_epoch", last_epoch, -1) + 1
        # Each has begun when it was made: that did not happen, apart from the one whose turn it is.
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        _undo(self._schedulers)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self, epoch=None):
        """One step further, of the one whose turn it is."""
        _no_epoch(epoch)
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Several schedulers, which all take each step, one after the other.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> parts = [ug.optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2), ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> schedule = ug.optim.lr_scheduler.ChainedScheduler(parts)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers, optimizer=None):
        self._schedulers = _several(schedulers)
        own = self._schedulers[0].optimizer
        if optimizer is not None and optimizer is not own:
            raise ArgumentError("argument 'optimizer' is not that of the schedulers\n help: leave it out")
        self.optimizer = own
        self._last_lr = self._rates()

    def _initial_step(self):
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = self._rates()

    def _update_lr(self, epoch=None):
        for scheduler in self._schedulers:
            scheduler._update_lr(epoch)
        self._last_lr = self._rates()

    def step(self, epoch=None):
        """One step further, of all of them."""
        _no_epoch(epoch)
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = self._rates()
