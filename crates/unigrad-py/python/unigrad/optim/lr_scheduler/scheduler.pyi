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

class _Schedule:
    """What all of them have, those of metrics too."""
    def get_last_lr(self) -> Any:
        """The rates of the groups."""
        ...
    def state_dict(self) -> Any:
        """What goes on: all but the optimizer, and functions."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        ...
class LRScheduler(_Schedule):
    """What schedulers are: a class of one's own has ``rate(base_lr, step, group)``, or PyTorch's ``get_lr()``, which reads ``last_epoch`` and ``base_lrs``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> isinstance(ug.optim.lr_scheduler.StepLR(optimizer, 2), ug.optim.lr_scheduler.LRScheduler)
    True"""
    optimizer: _Optimizer
    base_lrs: Any
    last_epoch: builtins.int
    def __init__(self, optimizer: _Optimizer, last_epoch: builtins.int=-1) -> None: ...
    def rate(self, base_lr: Any, step: Any, group: Any) -> Any:
        """The learning rate after ``step`` steps, for a group with this base rate."""
        ...
    def get_lr(self) -> Any:
        """The rates that a step sets: by ``rate``, unless a class says otherwise."""
        ...
    def step(self, epoch: builtins.int | None=None) -> None:
        """One step further; or to that of a number."""
        ...
_LRScheduler = LRScheduler
