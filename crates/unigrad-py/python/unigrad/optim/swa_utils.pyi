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
from unigrad.nn.module import Module as Module
from unigrad.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler

def get_swa_avg_fn() -> Any:
    """The mean over all updates, as ``avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> ug.optim.swa_utils.get_swa_avg_fn()(ug.tensor([1.0]), ug.tensor([3.0]), 1)
    tensor([2.])"""
    ...
def get_ema_avg_fn(decay: builtins.float=0.999) -> Any:
    """An exponential average, as ``avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> ug.optim.swa_utils.get_ema_avg_fn(0.5)(ug.tensor([1.0]), ug.tensor([3.0]), 1)
    tensor([2.])"""
    ...
def get_ema_multi_avg_fn(decay: builtins.float=0.999) -> Any:
    """An exponential average of lists of tensors, as ``multi_avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> averages = [ug.tensor([1.0])]
    >>> ug.optim.swa_utils.get_ema_multi_avg_fn(0.5)(averages, [ug.tensor([3.0])], 1)
    >>> averages
    [tensor([2.])]"""
    ...
def get_swa_multi_avg_fn() -> Any:
    """The mean over all updates of lists of tensors, as ``multi_avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> averages = [ug.tensor([1.0])]
    >>> ug.optim.swa_utils.get_swa_multi_avg_fn()(averages, [ug.tensor([3.0])], 1)
    >>> averages
    [tensor([2.])]"""
    ...
class AveragedModel(Module):
    """A copy of a model whose weights are averages of the model's at each ``update_parameters``.

    >>> import unigrad as ug
    >>> model = ug.nn.Linear(1, 1)
    >>> averaged = ug.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged.item()
    1"""
    module: Any
    avg_fn: Any
    multi_avg_fn: Any
    use_buffers: builtins.bool
    def __init__(self, model: _Module, device: Device | builtins.str | None=None, avg_fn: Callable[..., Any] | None=None, multi_avg_fn: Callable[..., Any] | None=None, use_buffers: builtins.bool=False) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the averaged model computes."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def update_parameters(self, model: _Module) -> Any:
        """Takes the model's weights into the averages."""
        ...
def update_bn(loader: Any, model: _Module, device: Device | builtins.str | None=None) -> Any:
    """Running statistics of batch norms anew, as means over the batches of a loader.

    >>> import unigrad as ug
    >>> model = ug.nn.BatchNorm1d(2)
    >>> ug.optim.swa_utils.update_bn([ug.ones(4, 2)], model)
    >>> model.running_mean.tolist()
    [1.0, 1.0]"""
    ...
class SWALR(LRScheduler):
    """From the rate that there is to ``swa_lr`` over ``anneal_epochs`` steps, and that from there on.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=1)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]"""
    anneal_epochs: builtins.int
    def __init__(self, optimizer: _Optimizer, swa_lr: builtins.float, anneal_epochs: builtins.int=10, anneal_strategy: builtins.str='cos', last_epoch: builtins.int=-1) -> None: ...
    def get_lr(self) -> Any:
        """The rates that a step sets: from those that there are, whichever scheduler has set them."""
        ...
