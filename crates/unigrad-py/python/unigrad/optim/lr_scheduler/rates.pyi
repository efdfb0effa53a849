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
