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
from unigrad.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler

class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the base rate to ``eta_min``: the first takes ``T_0`` steps, each further one ``T_mult`` times as many.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    T_0: builtins.int
    T_mult: builtins.int
    eta_min: builtins.float
    T_i: Any
    T_cur: Any
    def __init__(self, optimizer: _Optimizer, T_0: builtins.int, T_mult: builtins.int=1, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
    def step(self, epoch: builtins.int | None=None) -> None:
        """One step further; or to that of a number, which may be a fraction: ``epoch + batch / batches``."""
        ...
class CyclicLR(LRScheduler):
    """From ``base_lr`` to ``max_lr`` and back, again and again (Smith, 2017). ``mode`` is triangular, triangular2 or exp_range.

    With ``cycle_momentum`` the momentum (or the first beta) goes from ``max_momentum`` to ``base_momentum`` meanwhile.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2, cycle_momentum=False)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.30000000000000004]"""
    max_lrs: Any
    total_size: Any
    step_ratio: Any
    mode: builtins.str
    gamma: builtins.float
    scale_mode: builtins.str
    cycle_momentum: builtins.bool
    def __init__(self, optimizer: _Optimizer, base_lr: Any, max_lr: Any, step_size_up: builtins.int=2000, step_size_down: builtins.int | None=None, mode: builtins.str='triangular', gamma: builtins.float=1.0, scale_fn: Callable[..., Any] | None=None, scale_mode: builtins.str='cycle', cycle_momentum: builtins.bool=True, base_momentum: builtins.float=0.8, max_momentum: builtins.float=0.9, last_epoch: builtins.int=-1) -> None: ...
    def scale_fn(self, x: Tensor) -> Any:
        """The share of the height in a cycle, or at a step."""
        ...
    def get_lr(self) -> Any:
        """The rates that a step sets; sets the momenta."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
    def state_dict(self) -> builtins.dict[builtins.str, Any]:
        """What goes on: all but the optimizer, and functions."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        ...
class OneCycleLR(LRScheduler):
    """One rise to ``max_lr``, and one fall far below (Smith and Topin, 2018).

    With ``cycle_momentum`` the momentum (or the first beta) falls to ``base_momentum`` and rises again meanwhile.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=4, cycle_momentum=False)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.811745653949763]"""
    total_steps: Any
    pct_start: builtins.float
    cycle_momentum: builtins.bool
    def __init__(self, optimizer: _Optimizer, max_lr: Any, total_steps: builtins.int | None=None, epochs: builtins.int | None=None, steps_per_epoch: builtins.int | None=None, pct_start: builtins.float=0.3, anneal_strategy: builtins.str='cos', cycle_momentum: builtins.bool=True, base_momentum: builtins.float=0.85, max_momentum: builtins.float=0.95, div_factor: builtins.float=25.0, final_div_factor: builtins.float=10000.0, three_phase: builtins.bool=False, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets; sets the momenta."""
        ...
class WarmupCosineLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, then half a cosine to ``eta_min`` in step ``total_steps``, which stays.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.WarmupCosineLR(optimizer, warmup_steps=2, total_steps=6)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]"""
    total_steps: builtins.int
    warmup_steps: builtins.int
    eta_min: builtins.float
    def __init__(self, optimizer: _Optimizer, total_steps: builtins.int, warmup_steps: builtins.int=0, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class WarmupStableDecayLR(LRScheduler):
    """A rise over ``warmup_steps`` steps, the base rate for ``stable_steps``, and a fall to ``eta_min`` in ``decay_steps`` (Hu et al., 2024).

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.WarmupStableDecayLR(optimizer, warmup_steps=2, stable_steps=2, decay_steps=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]"""
    warmup_steps: builtins.int
    stable_steps: builtins.int
    decay_steps: builtins.int
    eta_min: builtins.float
    anneal_strategy: builtins.str
    def __init__(self, optimizer: _Optimizer, warmup_steps: builtins.int, stable_steps: builtins.int, decay_steps: builtins.int, eta_min: builtins.float=0.0, anneal_strategy: builtins.str='cos', last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
