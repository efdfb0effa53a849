"""Rates that are one formula of the step.

Always: a step changes the rate that a group has, as in PyTorch: what the loop or another scheduler has set meanwhile stays in it. ``rate`` is the formula
of the step alone, which ``step(epoch)`` uses.
"""

import math
from bisect import bisect_right
from collections import Counter
from types import FunctionType

from ... import _check
from ..._errors import ArgumentError
from .scheduler import LRScheduler, _optimizer

__all__ = ["ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR"]


class _ByFunctions(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        n = len(_optimizer(optimizer).param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        self.lr_lambdas = [_check.call("lr_lambda", one) for one in given]
        if len(given) != n:
            raise ArgumentError(f"argument 'lr_lambda' has {len(given)} functions, for {n} groups\n help: give one for each")
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        # A function is not kept; what an object that is called has, is.
        kept = [None if isinstance(one, FunctionType) else dict(getattr(one, "__dict__", {})) for one in self.lr_lambdas]
        return {**super().state_dict(), "lr_lambdas": kept}

    def load_state_dict(self, state_dict):
        functions = self.lr_lambdas
        super().load_state_dict(state_dict)
        self.lr_lambdas = functions
        for own, kept in zip(functions, state_dict.get("lr_lambdas", ())):
            if kept:
                own.__dict__.update(kept)


class LambdaLR(_ByFunctions):
    """The base rate times a function of the step, or of a list of functions, one for each group.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def rate(self, base_lr, step, group):
        return base_lr * self.lr_lambdas[group](step)


class MultiplicativeLR(_ByFunctions):
    """The rate times a function of the step, each time.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def get_lr(self):
        """The rates that a step sets."""
        if self._is_initial:
            return self._rates()
        return [lr * function(self.last_epoch) for lr, function in zip(self._rates(), self.lr_lambdas)]

    def _get_closed_form_lr(self):
        # There is none.
        return self.get_lr()


class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = _check.positive("step_size", step_size), _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        factor = 1.0 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma
        return [lr * factor for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each milestone.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        # How often each is named: PyTorch's form, and that of its states.
        self.milestones = Counter(_check.shape("milestones", milestones))
        self.gamma = _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        times = self.milestones.get(self.last_epoch, 0)
        return [lr * self.gamma**times if times else lr for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma ** bisect_right(sorted(Counter(self.milestones).elements()), step)

    def load_state_dict(self, state_dict):
        super().load_state_dict(state_dict)
        # Names of a JSON file are texts.
        self.milestones = Counter({int(at): times for at, times in Counter(self.milestones).items()})


class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        self.factor, self.total_iters = _check.number("factor", factor, 0.0, 1.0), _check.size("total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        if self.last_epoch == 0:
            return [lr * self.factor for lr in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        if self.factor == 0.0:
            # Nothing is left to go back from.
            return list(self.base_lrs)
        return [lr * (1.0 / self.factor) for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return base_lr * (self.factor if step < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """A line from one factor to another over ``total_iters`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor = _check.number("start_factor", start_factor, most=1.0, above=0.0)
        self.end_factor, self.total_iters = _check.number("end_factor", end_factor, 0.0, 1.0), _check.positive("total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        if self.last_epoch == 0:
            return [lr * self.start_factor for lr in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return [lr * (1.0 + rise / before) for lr in self._rates()]

    def rate(self, base_lr, step, group):
        part = min(step, self.total_iters) / self.total_iters
        return base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)


class ExponentialLR(LRScheduler):
    """Times ``gamma`` each time.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        return self._rates() if self._is_initial else [lr * self.gamma for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma**step


class PolynomialLR(LRScheduler):
    """``(1 - step / total_iters)^power``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = _check.positive("total_iters", total_iters), _check.number("power", power, 0.0)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        factor = (1.0 - self.last_epoch / self.total_iters) / (1.0 - (self.last_epoch - 1) / self.total_iters)
        return [lr * factor**self.power for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return base_lr * (1.0 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` over ``T_max`` steps, and back, again and again.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.8535533905932737]
    """

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = _check.positive("T_max", T_max), _check.number("eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        if self._is_initial:
            return self._rates()
        at, half = self.last_epoch, math.pi / self.T_max
        if self._step_count == 1 and at > 0:
            return self._get_closed_form_lr()
        if (at - 1 - self.T_max) % (2 * self.T_max) == 0:
            # From the lowest point, where there is nothing to multiply.
            return [lr + (base - self.eta_min) * (1 - math.cos(half)) / 2 for lr, base in zip(self._rates(), self.base_lrs)]
        factor = (1 + math.cos(half * at)) / (1 + math.cos(half * (at - 1)))
        return [factor * (lr - self.eta_min) + self.eta_min for lr in self._rates()]

    def rate(self, base_lr, step, group):
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * step / self.T_max)) / 2
