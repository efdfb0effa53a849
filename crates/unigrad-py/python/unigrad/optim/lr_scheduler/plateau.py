"""Rates that follow a metric."""

import math

from ... import _check
from ..._errors import ArgumentError
from .scheduler import _each, _optimizer

__all__ = ["ReduceLROnPlateau"]


class ReduceLROnPlateau:
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
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs, self.cooldown_counter, self.last_epoch = 0, 0, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def _is_better(self, value):
        if self.threshold_mode == "rel":
            limit = self.best * (1 - self.threshold if self.mode == "min" else 1 + self.threshold)
            limit = self.best if math.isinf(self.best) else limit
        else:
            limit = self.best - self.threshold if self.mode == "min" else self.best + self.threshold
        return value < limit if self.mode == "min" else value > limit

    def step(self, metrics, epoch=None):
        """Looks at a value of the metric: a number, or a tensor of one element."""
        value = metrics.item() if hasattr(metrics, "item") else metrics
        value = float(value) if isinstance(value, (int, float)) else _check.number("metrics", value)
        self.last_epoch += 1
        if self._is_better(value):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                rate = max(group["lr"] * self.factor, least)
                if group["lr"] - rate > self.eps:
                    group["lr"] = rate
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self):
        """The rates of the groups."""
        return list(self._last_lr)

    def state_dict(self):
        """What goes on."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"argument 'state_dict': a dict is wanted, not {_check._kind(state_dict)}")
        self.__dict__.update(state_dict)
