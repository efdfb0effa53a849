"""Rates that follow a metric."""

import math

from ... import _check
from ..._errors import ArgumentError
from .scheduler import LRScheduler, _each, _optimizer, _Schedule

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau(_Schedule):
    """Times ``factor`` when a metric has not become better for ``patience`` calls of ``step(metric)``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    >>> for loss in (1.0, 1.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer,
        mode="min",
        factor=0.1,
        patience=10,
        threshold=1e-4,
        threshold_mode="rel",
        cooldown=0,
        min_lr=0.0,
        eps=1e-8,
    ):
        self.optimizer = _optimizer(optimizer)
        self.mode, self.factor = _check.one_of("mode", mode, ("min", "max")), _check.number("factor", factor, 0.0)
        if self.factor >= 1.0:
            raise ArgumentError(f"argument 'factor' is {factor}\n help: use a number below 1")
        self.patience, self.threshold = _check.size("patience", patience), _check.number("threshold", threshold)
        self.threshold_mode = _check.one_of("threshold_mode", threshold_mode, ("rel", "abs"))
        self.cooldown, self.eps = _check.size("cooldown", cooldown), _check.number("eps", eps, 0.0)
        self.min_lrs = _each("min_lr", min_lr, len(optimizer.param_groups))
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else self.min_lrs[0]
        self.last_epoch = 0
        self._reset()
        self._last_lr = self._rates()

    def _reset(self):
        """Forgets the best value, and counts anew."""
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.best, self.num_bad_epochs, self.cooldown_counter = self.mode_worse, 0, 0

    @property
    def in_cooldown(self):
        """Whether it waits after a change, and counts no bad values."""
        return self.cooldown_counter > 0

    def _is_better(self, value, best):
        if self.threshold_mode == "rel":
            limit = best * (1 - self.threshold if self.mode == "min" else 1 + self.threshold)
            limit = best if math.isinf(best) else limit
        else:
            limit = best - self.threshold if self.mode == "min" else best + self.threshold
        return value < limit if self.mode == "min" else value > limit

    def step(self, metrics, epoch=None):
        """Looks at a value of the metric: a number, or a tensor of one element."""
        value = metrics.item() if hasattr(metrics, "item") else metrics
        value = float(value) if isinstance(value, (int, float)) else _check.number("metrics", value)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr(self.last_epoch)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = self._rates()

    def _reduce_lr(self, epoch):
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise ArgumentError(f"`min_lrs` has {len(self.min_lrs)} numbers, for {len(groups)} groups\n help: set it anew when a group is added")
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            rate = max(float(group["lr"]) * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate


# One of them, as in PyTorch; not a class of theirs, for its step takes another argument.
LRScheduler.register(ReduceLROnPlateau)
