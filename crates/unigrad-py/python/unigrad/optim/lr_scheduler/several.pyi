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

class _Several(LRScheduler):
    """The state of several has the states of all."""
    def state_dict(self) -> builtins.dict[builtins.str, Any]:
        """What goes on: of each of the schedulers too."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        ...
class SequentialLR(_Several):
    """One scheduler after the other: the second begins, at its step 0, at the first milestone, and so on.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> parts = [ug.optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2), ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> schedule = ug.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])
    >>> schedule.get_last_lr()
    [0.5]"""
    def __init__(self, optimizer: _Optimizer, schedulers: Any, milestones: Sequence[builtins.int], last_epoch: builtins.int=-1) -> None: ...
    def step(self, epoch: builtins.int | None=None) -> None:
        """One step further, of the one whose turn it is."""
        ...
class ChainedScheduler(_Several):
    """Several schedulers, which all take each step, one after the other.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> parts = [ug.optim.lr_scheduler.ConstantLR(optimizer, 0.5, 2), ug.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    >>> schedule = ug.optim.lr_scheduler.ChainedScheduler(parts)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.25]"""
    def __init__(self, schedulers: Any, optimizer: _Optimizer | None=None) -> None: ...
    def step(self, epoch: builtins.int | None=None) -> None:
        """One step further, of all of them."""
        ...
