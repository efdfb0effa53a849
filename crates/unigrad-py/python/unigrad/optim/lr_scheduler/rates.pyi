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

class _ByFunctions(LRScheduler):
    lr_lambdas: Any
    def __init__(self, optimizer: _Optimizer, lr_lambda: Any, last_epoch: builtins.int=-1) -> None: ...
    def state_dict(self) -> builtins.dict[builtins.str, Any]: ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any: ...
class LambdaLR(_ByFunctions):
    """The base rate times a function of the step, or of a list of functions, one for each group.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class MultiplicativeLR(_ByFunctions):
    """The rate times a function of the step, each time.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
class StepLR(LRScheduler):
    """Times ``gamma`` every ``step_size`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    step_size: builtins.int
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, step_size: builtins.int, gamma: builtins.float=0.1, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class MultiStepLR(LRScheduler):
    """Times ``gamma`` at each milestone.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    milestones: Sequence[builtins.int]
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, milestones: Sequence[builtins.int], gamma: builtins.float=0.1, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any: ...
class ConstantLR(LRScheduler):
    """Times ``factor`` for the first ``total_iters`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    factor: builtins.float
    total_iters: builtins.int
    def __init__(self, optimizer: _Optimizer, factor: builtins.float=0.3333333333333333, total_iters: builtins.int=5, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class LinearLR(LRScheduler):
    """A line from one factor to another over ``total_iters`` steps.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]"""
    start_factor: builtins.float
    end_factor: builtins.float
    total_iters: builtins.int
    def __init__(self, optimizer: _Optimizer, start_factor: builtins.float=0.3333333333333333, end_factor: builtins.float=1.0, total_iters: builtins.int=5, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class ExponentialLR(LRScheduler):
    """Times ``gamma`` each time.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    gamma: builtins.float
    def __init__(self, optimizer: _Optimizer, gamma: builtins.float, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class PolynomialLR(LRScheduler):
    """``(1 - step / total_iters)^power``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]"""
    total_iters: builtins.int
    power: builtins.float
    def __init__(self, optimizer: _Optimizer, total_iters: builtins.int=5, power: builtins.float=1.0, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the base rate to ``eta_min`` over ``T_max`` steps, and back, again and again.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.8535533905932737]"""
    T_max: builtins.int
    eta_min: builtins.float
    def __init__(self, optimizer: _Optimizer, T_max: builtins.int, eta_min: builtins.float=0.0, last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets."""
        ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any: ...
