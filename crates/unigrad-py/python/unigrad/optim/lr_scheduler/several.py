"""Several schedulers as one."""

import math
from bisect import bisect_right

from ... import _check
from ..._errors import ArgumentError
from .scheduler import LRScheduler, _optimizer

__all__ = ["ChainedScheduler", "SequentialLR"]


def _several(schedulers):
    if isinstance(schedulers, (str, LRScheduler)) or not hasattr(schedulers, "__iter__"):
        raise TypeError(f"argument 'schedulers': schedulers are wanted, not {_check._kind(schedulers)}")
    schedulers = list(schedulers)
    for scheduler in schedulers:
        if not isinstance(scheduler, LRScheduler):
            raise TypeError(f"argument 'schedulers': schedulers are wanted, not {_check._kind(scheduler)}")
    if not schedulers or any(scheduler.optimizer is not schedulers[0].optimizer for scheduler in schedulers):
        raise ArgumentError("argument 'schedulers' is empty, or of several optimizers\n help: give schedulers of one optimizer")
    return schedulers


class SequentialLR(LRScheduler):
    """One scheduler after the other: the second begins, at its step 0, at the first milestone, and so on.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> parts = [ug.optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2), ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> schedule = ug.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        self._schedulers, self.milestones = _several(schedulers), list(_check.shape("milestones", milestones))
        if len(self.milestones) != len(self._schedulers) - 1 or self.milestones != sorted(self.milestones):
            raise ArgumentError(f"argument 'milestones' is {self.milestones}\n help: give one fewer than schedulers, in order")
        if _optimizer(optimizer) is not self._schedulers[0].optimizer:
            raise ArgumentError("argument 'schedulers' is of another optimizer\n help: give schedulers of `optimizer`")
        for group, base in zip(optimizer.param_groups, self._schedulers[0].base_lrs):
            group["lr"] = base
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        at = bisect_right(self.milestones, step)
        start = self.milestones[at - 1] if at else 0
        return self._schedulers[at].rate(base_lr, step - start, group)


class ChainedScheduler(LRScheduler):
    """The factors of several schedulers together.

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
        for group, base in zip(own.param_groups, self._schedulers[0].base_lrs):
            group["lr"] = base
        super().__init__(own)

    def rate(self, base_lr, step, group):
        if base_lr == 0.0:
            return 0.0
        return base_lr * math.prod(scheduler.rate(base_lr, step, group) / base_lr for scheduler in self._schedulers)
