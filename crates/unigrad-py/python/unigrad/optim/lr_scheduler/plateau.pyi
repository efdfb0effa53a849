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
from unigrad.optim.lr_scheduler.scheduler import _Schedule as _Schedule

class ReduceLROnPlateau(_Schedule):
    """Times ``factor`` when a metric has not become better for ``patience`` calls of ``step(metric)``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    >>> for loss in (1.0, 1.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.5]"""
    optimizer: _Optimizer
    mode: builtins.str
    factor: builtins.float
    patience: builtins.int
    threshold: builtins.float
    threshold_mode: builtins.str
    cooldown: builtins.int
    eps: builtins.float
    min_lrs: Any
    default_min_lr: Any
    last_epoch: Any
    def __init__(self, optimizer: _Optimizer, mode: builtins.str='min', factor: builtins.float=0.1, patience: builtins.int=10, threshold: builtins.float=0.0001, threshold_mode: builtins.str='rel', cooldown: builtins.int=0, min_lr: builtins.float=0.0, eps: builtins.float=1e-08) -> None: ...
    @property
    def in_cooldown(self) -> Any:
        """Whether it waits after a change, and counts no bad values."""
        ...
    def step(self, metrics: Any, epoch: builtins.int | None=None) -> Any:
        """Looks at a value of the metric: a number, or a tensor of one element."""
        ...
