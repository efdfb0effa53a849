# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer

class LRScheduler:
    """What schedulers are: a class of one's own has ``rate(base_lr, step, group)``."""
    optimizer: _Optimizer
    base_lrs: Any
    last_epoch: builtins.int
    def __init__(self, optimizer: _Optimizer, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any:
        """The learning rate after ``step`` steps, for a group with this base rate."""
        ...
    def get_last_lr(self) -> builtins.list[builtins.float]:
        """The rates of the groups."""
        ...
    def get_lr(self) -> Any:
        """The rates of the groups after as many steps as were taken."""
        ...
    def step(self, epoch: builtins.int | None=None) -> None:
        """One step further; or to that of a number."""
        ...
    def state_dict(self) -> builtins.dict[builtins.str, Any]:
        """What goes on: all but the optimizer, and functions."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``."""
        ...
class LambdaLR(LRScheduler):
    """The base rate times a function of the step, or of a list of functions, one for each group."""
    lr_lambdas: Any
    def __init__(self, optimizer: _Optimizer, lr_lambda: Callable[[builtins.int], builtins.float] | Sequence[Callable[[builtins.int], builtins.float]], last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
    def state_dict(self) -> builtins.dict[builtins.str, Any]: ...
class MultiplicativeLR(LambdaLR):
    """The rate times a function of the step, each time."""
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` steps."""
    step_size: builtins.int
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, step_size: builtins.int, gamma: builtins.float=0.1, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each milestone."""
    milestones: Sequence[builtins.int]
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, milestones: Sequence[builtins.int], gamma: builtins.float=0.1, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` steps."""
    factor: builtins.float
    total_iters: builtins.int
    def __init__(self, optimizer: _Optimizer, factor: builtins.float=0.3333333333333333, total_iters: builtins.int=5, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class LinearLR(LRScheduler):
    """A line from one factor to another over ``total_iters`` steps."""
    start_factor: builtins.float
    end_factor: builtins.float
    total_iters: builtins.int
    def __init__(self, optimizer: _Optimizer, start_factor: builtins.float=0.3333333333333333, end_factor: builtins.float=1.0, total_iters: builtins.int=5, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class ExponentialLR(LRScheduler):
    """Times ``gamma`` each time."""
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, gamma: builtins.float, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class PolynomialLR(LRScheduler):
    """``(1 - step / total_iters)^power``."""
    total_iters: builtins.int
    power: builtins.float
    def __init__(self, optimizer: _Optimizer, total_iters: builtins.int=5, power: builtins.float=1.0, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` over ``T_max`` steps, and back, again and again."""
    T_max: builtins.int
    eta_min: builtins.float
    def __init__(self, optimizer: _Optimizer, T_max: builtins.int, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the base rate to ``eta_min``: the first takes ``T_0`` steps, each further one ``T_mult`` times as many."""
    T_0: builtins.int
    T_mult: builtins.int
    eta_min: builtins.float
    def __init__(self, optimizer: _Optimizer, T_0: builtins.int, T_mult: builtins.int=1, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, again and again (Smith, 2017). ``mode`` is triangular, triangular2 or exp_range."""
    lows: Any
    max_lrs: Any
    up: Any
    down: Any
    mode: builtins.str
    gamma: builtins.float
    scale_fn: Any
    scale_mode: builtins.str
    def __init__(self, optimizer: _Optimizer, base_lr: Any, max_lr: Any, step_size_up: builtins.int=2000, step_size_down: builtins.int | None=None, mode: builtins.str='triangular', gamma: builtins.float=1.0, scale_fn: Callable[..., Any] | None=None, scale_mode: builtins.str='cycle', cycle_momentum: builtins.bool=False, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class OneCycleLR(LRScheduler):
    """One rise to ``max_lr``, and one fall far below (Smith and Topin, 2018)."""
    total_steps: Any
    pct_start: builtins.float
    anneal_strategy: builtins.str
    max_lrs: Any
    first: Any
    last: Any
    three_phase: builtins.bool
    def __init__(self, optimizer: _Optimizer, max_lr: Any, total_steps: builtins.int | None=None, epochs: builtins.int | None=None, steps_per_epoch: builtins.int | None=None, pct_start: builtins.float=0.3, anneal_strategy: builtins.str='cos', cycle_momentum: builtins.bool=False, base_momentum: builtins.float=0.85, max_momentum: builtins.float=0.95, div_factor: builtins.float=25.0, final_div_factor: builtins.float=10000.0, three_phase: builtins.bool=False, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class WarmupCosineLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, then half a cosine to ``eta_min`` in step ``total_steps``, which stays."""
    total_steps: builtins.int
    warmup_steps: builtins.int
    eta_min: builtins.float
    def __init__(self, optimizer: _Optimizer, total_steps: builtins.int, warmup_steps: builtins.int=0, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class WarmupStableDecayLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, the base rate for ``stable_steps``, and a fall to ``eta_min`` in ``decay_steps`` (Hu et al., 2024)."""
    warmup_steps: builtins.int
    stable_steps: builtins.int
    decay_steps: builtins.int
    eta_min: builtins.float
    anneal_strategy: builtins.str
    def __init__(self, optimizer: _Optimizer, warmup_steps: builtins.int, stable_steps: builtins.int, decay_steps: builtins.int, eta_min: builtins.float=0.0, anneal_strategy: builtins.str='cos', last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class SequentialLR(LRScheduler):
    """One scheduler after the other: the second begins, at its step 0, at the first milestone, and so on."""
    milestones: Sequence[builtins.int]
    def __init__(self, optimizer: _Optimizer, schedulers: Any, milestones: Sequence[builtins.int], last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class ChainedScheduler(LRScheduler):
    """The factors of several schedulers together."""
    def __init__(self, schedulers: Any, optimizer: _Optimizer | None=None) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class ReduceLROnPlateau:
    """Times ``factor`` when a metric has not become better for ``patience`` calls of ``step(metric)``."""
    optimizer: _Optimizer
    mode: builtins.str
    factor: builtins.float
    patience: builtins.int
    threshold: builtins.float
    threshold_mode: builtins.str
    cooldown: builtins.int
    eps: builtins.float
    min_lrs: Any
    best: Any
    num_bad_epochs: Any
    cooldown_counter: Any
    last_epoch: Any
    def __init__(self, optimizer: _Optimizer, mode: builtins.str='min', factor: builtins.float=0.1, patience: builtins.int=10, threshold: builtins.float=0.0001, threshold_mode: builtins.str='rel', cooldown: builtins.int=0, min_lr: builtins.float=0.0, eps: builtins.float=1e-08) -> None: ...
    def step(self, metrics: Any, epoch: builtins.int | None=None) -> Any:
        """Looks at a value of the metric: a number, or a tensor of one element."""
        ...
    def get_last_lr(self) -> Any:
        """The rates of the groups."""
        ...
    def state_dict(self) -> Any:
        """What goes on."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``."""
        ...
