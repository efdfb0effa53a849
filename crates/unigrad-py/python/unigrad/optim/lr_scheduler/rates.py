"""Rates that are one formula of the step."""

import math
from bisect import bisect_right

from ... import _check
from ..._errors import ArgumentError
from .scheduler import LRScheduler, _optimizer

__all__ = ["ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "StepLR"]


class LambdaLR(LRScheduler):
    """The base rate times a function of the step, or of a list of functions, one for each group.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        n = len(_optimizer(optimizer).param_groups)
        given = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        self.lr_lambdas = [_check.call("lr_lambda", one) for one in given]
        if len(given) != n:
            raise ArgumentError(f"argument 'lr_lambda' has {len(given)} functions, for {n} groups\n help: give one for each")
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * self.lr_lambdas[group](step)

    def state_dict(self):
        return {name: value for name, value in super().state_dict().items() if name != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The rate times a function of the step, each time.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def rate(self, base_lr, step, group):
        return base_lr * math.prod(self.lr_lambdas[group](at) for at in range(1, step + 1))


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
        self.milestones = sorted(_check.shape("milestones", milestones))
        self.gamma = _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma ** bisect_right(self.milestones, step)


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

    def rate(self, base_lr, step, group):
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * step / self.T_max)) / 2
