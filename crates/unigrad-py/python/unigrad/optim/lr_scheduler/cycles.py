"""Rates that rise and fall: restarts, cycles, and warm-ups."""

import math

from ... import _check
from ..._errors import ArgumentError
from .scheduler import LRScheduler, _each, _optimizer

__all__ = ["CosineAnnealingWarmRestarts", "CyclicLR", "OneCycleLR", "WarmupCosineLR", "WarmupStableDecayLR"]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the base rate to ``eta_min``: the first takes ``T_0`` steps, each further one ``T_mult`` times as many.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, T_0, T_mult=1, eta_min=0.0, last_epoch=-1):
        self.T_0, self.T_mult = _check.positive("T_0", T_0), _check.positive("T_mult", T_mult)
        self.eta_min = _check.number("eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        if self.T_mult == 1:
            length, at = self.T_0, step % self.T_0
        else:
            n = int(math.log(step / self.T_0 * (self.T_mult - 1) + 1, self.T_mult) + 1e-12)
            length, at = self.T_0 * self.T_mult**n, step - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * at / length)) / 2


class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, again and again (Smith, 2017). ``mode`` is triangular, triangular2 or exp_range.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.30000000000000004]
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=False,
        last_epoch=-1,
    ):
        n = len(_optimizer(optimizer).param_groups)
        self.lows, self.max_lrs = _each("base_lr", base_lr, n), _each("max_lr", max_lr, n)
        self.up = float(_check.positive("step_size_up", step_size_up))
        self.down = self.up if step_size_down is None else float(_check.positive("step_size_down", step_size_down))
        self.mode, self.gamma = _check.one_of("mode", mode, ("triangular", "triangular2", "exp_range")), _check.number("gamma", gamma)
        self.scale_fn = None if scale_fn is None else _check.call("scale_fn", scale_fn)
        self.scale_mode = _check.one_of("scale_mode", scale_mode, ("cycle", "iterations"))
        if cycle_momentum:
            raise ArgumentError("argument 'cycle_momentum' is true\n help: change the groups' `momentum` in a loop of your own")
        for group, low in zip(optimizer.param_groups, self.lows):
            group["lr"] = low
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        total = self.up + self.down
        cycle = math.floor(1 + step / total)
        x = 1.0 + step / total - cycle
        ratio = self.up / total
        scale = x / ratio if x <= ratio else (x - 1) / (ratio - 1)
        low = self.lows[group]
        if self.scale_fn is not None:
            factor = self.scale_fn(cycle if self.scale_mode == "cycle" else step)
        elif self.mode == "triangular2":
            factor = 1 / (2.0 ** (cycle - 1))
        else:
            factor = self.gamma**step if self.mode == "exp_range" else 1.0
        return low + (self.max_lrs[group] - low) * scale * factor


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr``, and one fall far below (Smith and Topin, 2018).

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, cycle_momentum=False)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.811745653949763]
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=False,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        n = len(_optimizer(optimizer).param_groups)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ArgumentError(
                    "arguments 'total_steps', or 'epochs' and 'steps_per_epoch', are missing\n help: say how long the run is"
                )
            total_steps = _check.positive("epochs", epochs) * _check.positive("steps_per_epoch", steps_per_epoch)
        self.total_steps = _check.positive("total_steps", total_steps)
        self.pct_start = _check.probability("pct_start", pct_start)
        self.anneal_strategy = _check.one_of("anneal_strategy", anneal_strategy, ("cos", "linear"))
        if cycle_momentum:
            raise ArgumentError("argument 'cycle_momentum' is true\n help: change the groups' `momentum` in a loop of your own")
        self.max_lrs = _each("max_lr", max_lr, n)
        div, final = _check.number("div_factor", div_factor, above=0.0), _check.number("final_div_factor", final_div_factor, above=0.0)
        self.first = [high / div for high in self.max_lrs]
        self.last = [low / final for low in self.first]
        self.three_phase = _check.flag("three_phase", three_phase)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        if step > self.total_steps:
            raise ArgumentError(f"step {step} of a schedule of {self.total_steps}\n help: make it longer: `total_steps`")
        high, first, last = self.max_lrs[group], self.first[group], self.last[group]
        rise = self.pct_start * self.total_steps - 1
        if self.three_phase:
            phases = [(rise, first, high), (2 * rise + 0.0, high, first), (self.total_steps - 1, first, last)]
            phases[1] = (2 * self.pct_start * self.total_steps - 2, high, first)
        else:
            phases = [(rise, first, high), (self.total_steps - 1, high, last)]
        start = 0.0
        for at, (end, low, top) in enumerate(phases):
            if step <= end or at == len(phases) - 1:
                part = (step - start) / (end - start) if end > start else 1.0
                if self.anneal_strategy == "cos":
                    return top + (low - top) / 2.0 * (math.cos(math.pi * part) + 1)
                return low + (top - low) * part
            start = end
        return last


class WarmupCosineLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, then half a cosine to ``eta_min`` in step ``total_steps``, which stays.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.WarmupCosineLR(optimizer, warmup_steps=2, total_steps=6)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer, total_steps, warmup_steps=0, eta_min=0.0, last_epoch=-1):
        self.total_steps, self.warmup_steps = _check.positive("total_steps", total_steps), _check.size("warmup_steps", warmup_steps)
        self.eta_min = _check.number("eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        if step < self.warmup_steps:
            return base_lr * (step + 1) / self.warmup_steps
        part = min((step - self.warmup_steps) / max(self.total_steps - self.warmup_steps, 1), 1.0)
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * part)) / 2


class WarmupStableDecayLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, the base rate for ``stable_steps``, and a fall to ``eta_min`` in ``decay_steps`` (Hu et al., 2024).

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.WarmupStableDecayLR(optimizer, warmup_steps=2, stable_steps=2, decay_steps=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    def __init__(self, optimizer, warmup_steps, stable_steps, decay_steps, eta_min=0.0, anneal_strategy="cos", last_epoch=-1):
        self.warmup_steps, self.stable_steps = _check.size("warmup_steps", warmup_steps), _check.size("stable_steps", stable_steps)
        self.decay_steps, self.eta_min = _check.positive("decay_steps", decay_steps), _check.number("eta_min", eta_min)
        self.anneal_strategy = _check.one_of("anneal_strategy", anneal_strategy, ("cos", "linear"))
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        if step < self.warmup_steps:
            return base_lr * (step + 1) / self.warmup_steps
        part = min(max(step - self.warmup_steps - self.stable_steps, 0) / self.decay_steps, 1.0)
        share = (1 + math.cos(math.pi * part)) / 2 if self.anneal_strategy == "cos" else 1.0 - part
        return self.eta_min + (base_lr - self.eta_min) * share
