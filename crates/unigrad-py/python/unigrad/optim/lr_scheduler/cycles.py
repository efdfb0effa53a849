"""Rates that rise and fall: restarts, cycles, and warm-ups."""

import math
from types import FunctionType

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
        # The length of the cosine that is under way, and how far it is.
        self.T_i, self.T_cur = self.T_0, last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        """The rates that a step sets."""
        return [self.rate(base, self.last_epoch, at) for at, base in enumerate(self.base_lrs)]

    def rate(self, base_lr, step, group):
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch=None):
        """One step further; or to that of a number, which may be a fraction: ``epoch + batch / batches``."""
        if epoch is None and self.last_epoch >= 0:
            epoch, self.T_cur = self.last_epoch + 1, self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur, self.T_i = self.T_cur % self.T_i, self.T_i * self.T_mult
        else:
            epoch = 0 if epoch is None else epoch if isinstance(epoch, int) else _check.number("epoch", epoch, 0.0)
            if epoch < 0:
                raise ArgumentError(f"argument 'epoch' is {epoch}\n help: use 0 or more")
            if epoch < self.T_0:
                self.T_i, self.T_cur = self.T_0, epoch
            elif self.T_mult == 1:
                self.T_i, self.T_cur = self.T_0, epoch % self.T_0
            else:
                # A little more, where rounding makes a whole number less.
                n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult) + 1e-12)
                self.T_i = self.T_0 * self.T_mult**n
                self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        self._step_count += 1
        self.last_epoch = math.floor(epoch)
        self._set(self.get_lr())


def _momenta(scheduler, optimizer, base_momentum, max_momentum, last_epoch):
    """Begins with the greatest momentum; what it is called depends on the rule."""
    n = len(optimizer.param_groups)
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ArgumentError(
            f"argument 'cycle_momentum' is true, and a {type(optimizer).__name__} has no momentum\n help: use `cycle_momentum=False`"
        )
    scheduler.use_beta1 = "betas" in optimizer.defaults
    scheduler.base_momentums, scheduler.max_momentums = _each("base_momentum", base_momentum, n), _each("max_momentum", max_momentum, n)
    if last_epoch == -1:
        for group, low, high in zip(optimizer.param_groups, scheduler.base_momentums, scheduler.max_momentums):
            group["base_momentum"], group["max_momentum"] = low, high
        _set_momenta(scheduler, scheduler.max_momentums)


def _set_momenta(scheduler, momenta):
    for group, momentum in zip(scheduler.optimizer.param_groups, momenta):
        if scheduler.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, again and again (Smith, 2017). ``mode`` is triangular, triangular2 or exp_range.

    With ``cycle_momentum`` the momentum (or the first beta) goes from ``max_momentum`` to ``base_momentum`` meanwhile.

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
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        n = len(_optimizer(optimizer).param_groups)
        self.optimizer, lows, self.max_lrs = optimizer, _each("base_lr", base_lr, n), _each("max_lr", max_lr, n)
        up = float(_check.positive("step_size_up", step_size_up))
        down = up if step_size_down is None else float(_check.positive("step_size_down", step_size_down))
        self.total_size, self.step_ratio = up + down, up / (up + down)
        # A function of one's own takes the place of the mode.
        self.mode = mode if scale_fn is not None else _check.one_of("mode", mode, ("triangular", "triangular2", "exp_range"))
        self.gamma, self._scale_fn_custom = _check.number("gamma", gamma), None if scale_fn is None else _check.call("scale_fn", scale_fn)
        self.scale_mode = _check.one_of("scale_mode", scale_mode, ("cycle", "iterations"))
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = _check.flag("cycle_momentum", cycle_momentum)
        if last_epoch == -1:
            for group, low in zip(optimizer.param_groups, lows):
                group["lr"] = low
        if self.cycle_momentum:
            _momenta(self, optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = lows

    def scale_fn(self, x):
        """The share of the height in a cycle, or at a step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return self.gamma**x if self.mode == "exp_range" else 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else 1.0

    def _height(self, step):
        cycle = math.floor(1 + step / self.total_size)
        x = 1.0 + step / self.total_size - cycle
        scale = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        return scale * self.scale_fn(cycle if self.scale_mode == "cycle" else step)

    def get_lr(self):
        """The rates that a step sets; sets the momenta."""
        if self.cycle_momentum:
            height = self._height(self.last_epoch)
            _set_momenta(self, [high - (high - low) * height for low, high in zip(self.base_momentums, self.max_momentums)])
        return self._get_closed_form_lr()

    def rate(self, base_lr, step, group):
        return base_lr + (self.max_lrs[group] - base_lr) * self._height(step)

    def state_dict(self):
        """What goes on: all but the optimizer, and functions."""
        kept = None if self._scale_fn_custom is None or isinstance(self._scale_fn_custom, FunctionType) else dict(vars(self._scale_fn_custom))
        return {**super().state_dict(), "_scale_fn_custom": kept}

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        own = self._scale_fn_custom
        super().load_state_dict(state_dict)
        self._scale_fn_custom = own
        if state_dict.get("_scale_fn_custom"):
            vars(own).update(state_dict["_scale_fn_custom"])


class OneCycleLR(LRScheduler):
    """One rise to ``max_lr``, and one fall far below (Smith and Topin, 2018).

    With ``cycle_momentum`` the momentum (or the first beta) falls to ``base_momentum`` and rises again meanwhile.

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
        cycle_momentum=True,
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
        self._anneal_func_type = _check.one_of("anneal_strategy", anneal_strategy, ("cos", "linear"))
        highs, self.optimizer = _each("max_lr", max_lr, n), optimizer
        div, final = _check.number("div_factor", div_factor, above=0.0), _check.number("final_div_factor", final_div_factor, above=0.0)
        self._schedule_phases = self._phases(_check.flag("three_phase", three_phase))
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highs):
                group["initial_lr"], group["max_lr"] = high / div, high
                group["min_lr"] = group["initial_lr"] / final
        self.cycle_momentum = _check.flag("cycle_momentum", cycle_momentum)
        if self.cycle_momentum:
            _momenta(self, optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, three_phase):
        # Ends of phases, and between which of a group's settings they go: PyTorch's form, and that of its states.
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        rise = float(self.pct_start * self.total_steps) - 1
        rows = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            rows.append((float(2 * self.pct_start * self.total_steps) - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"))
            rows.append((self.total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"))
        else:
            rows.append((self.total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"))
        return [dict(zip(names, row)) for row in rows]

    def _between(self, start, end, part):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)
        return (end - start) * part + start

    def get_lr(self):
        """The rates that a step sets; sets the momenta."""
        step, start = self.last_epoch, 0.0
        if step > self.total_steps:
            raise ArgumentError(f"step {step} of a schedule of {self.total_steps}\n help: make it longer: `total_steps`")
        for at, phase in enumerate(self._schedule_phases):
            if step <= phase["end_step"] or at == len(self._schedule_phases) - 1:
                break
            start = phase["end_step"]
        length = phase["end_step"] - start
        part = (step - start) / length if length else 1.0
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            _set_momenta(self, [self._between(group[phase["start_momentum"]], group[phase["end_momentum"]], part) for group in groups])
        return [self._between(group[phase["start_lr"]], group[phase["end_lr"]], part) for group in groups]

    def _get_closed_form_lr(self):
        return self.get_lr()


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
