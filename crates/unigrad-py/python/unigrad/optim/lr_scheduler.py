"""Learning rates that change, with PyTorch's names: ``scheduler.step()`` after each epoch, or step, sets ``lr`` in the optimizer's groups.

Always: a rate is a function of the base rate and of how often ``step`` was called (PyTorch's closed forms); a state can be saved.

>>> import unigrad as ug
>>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.zeros(1))], lr=1.0)
>>> scheduler = ug.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(4):
...     optimizer.step()
...     scheduler.step()
...     rates.append(scheduler.get_last_lr()[0])
>>> rates
[1.0, 0.5, 0.5, 0.25]
"""

import math
from bisect import bisect_right

from .. import _check
from .._errors import ArgumentError
from .optimizer import Optimizer

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
    "WarmupCosineLR", "WarmupStableDecayLR",
]  # fmt: skip


def _optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"argument 'optimizer': an optimizer is wanted, not {_check._kind(optimizer)}")
    return optimizer


class LRScheduler:
    """What schedulers are: a class of one's own has ``rate(base_lr, step, group)``."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = _optimizer(optimizer)
        last_epoch = _check.whole("last_epoch", last_epoch, -1)
        for group in optimizer.param_groups:
            if last_epoch == -1:
                group["initial_lr"] = float(group["lr"])
            elif "initial_lr" not in group:
                raise ArgumentError("argument 'last_epoch' goes on with an optimizer that no scheduler has begun with\n help: leave it out")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._begin()
        self.step()

    def _begin(self):
        pass

    def rate(self, base_lr, step, group):
        """The learning rate after ``step`` steps, for a group with this base rate."""
        raise NotImplementedError(f"{type(self).__name__} has no `rate`")

    def get_last_lr(self):
        """The rates of the groups."""
        return list(self._last_lr)

    def get_lr(self):
        """The rates of the groups after as many steps as were taken."""
        return [self.rate(base, self.last_epoch, at) for at, base in enumerate(self.base_lrs)]

    def step(self, epoch=None):
        """One step further; or to that of a number."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else _check.whole("epoch", epoch, 0)
        self._set(self.get_lr())

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = rates

    def state_dict(self):
        """What goes on: all but the optimizer, and functions."""
        return {
            name: value for name, value in self.__dict__.items() if name != "optimizer" and not callable(value) and name != "_schedulers"
        }

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"argument 'state_dict': a dict is wanted, not {_check._kind(state_dict)}")
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The base rate times a function of the step, or of a list of functions, one for each group."""

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
    """The rate times a function of the step, each time."""

    def rate(self, base_lr, step, group):
        return base_lr * math.prod(self.lr_lambdas[group](at) for at in range(1, step + 1))


class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = _check.positive("step_size", step_size), _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones = sorted(_check.shape("milestones", milestones))
        self.gamma = _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma ** bisect_right(self.milestones, step)


class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` steps."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        self.factor, self.total_iters = _check.number("factor", factor, 0.0, 1.0), _check.size("total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * (self.factor if step < self.total_iters else 1.0)


class LinearLR(LRScheduler):
    """A line from one factor to another over ``total_iters`` steps."""

    def __init__(self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1):
        self.start_factor = _check.number("start_factor", start_factor, most=1.0, above=0.0)
        self.end_factor, self.total_iters = _check.number("end_factor", end_factor, 0.0, 1.0), _check.positive("total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        part = min(step, self.total_iters) / self.total_iters
        return base_lr * (self.start_factor + (self.end_factor - self.start_factor) * part)


class ExponentialLR(LRScheduler):
    """Times ``gamma`` each time."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = _check.number("gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * self.gamma**step


class PolynomialLR(LRScheduler):
    """``(1 - step / total_iters)^power``."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = _check.positive("total_iters", total_iters), _check.number("power", power, 0.0)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return base_lr * (1.0 - min(step, self.total_iters) / self.total_iters) ** self.power


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` over ``T_max`` steps, and back, again and again."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = _check.positive("T_max", T_max), _check.number("eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        return self.eta_min + (base_lr - self.eta_min) * (1 + math.cos(math.pi * step / self.T_max)) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the base rate to ``eta_min``: the first takes ``T_0`` steps, each further one ``T_mult`` times as many."""

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


def _each(name, value, n):
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise ArgumentError(f"argument '{name}' has {len(value)} numbers, for {n} groups\n help: give one, or one for each")
        return [_check.number(name, item) for item in value]
    return [_check.number(name, value)] * n


class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, again and again (Smith, 2017). ``mode`` is triangular, triangular2 or exp_range."""

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
    """One rise to ``max_lr``, and one fall far below (Smith and Topin, 2018)."""

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
    """A rise over ``warmup_steps`` steps, then half a cosine to ``eta_min`` in step ``total_steps``, which stays."""

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
    """A rise over ``warmup_steps`` steps, the base rate for ``stable_steps``, and a fall to ``eta_min`` in ``decay_steps`` (Hu et al., 2024)."""

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
    """One scheduler after the other: the second begins, at its step 0, at the first milestone, and so on."""

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
    """The factors of several schedulers together."""

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


class ReduceLROnPlateau:
    """Times ``factor`` when a metric has not become better for ``patience`` calls of ``step(metric)``."""

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
