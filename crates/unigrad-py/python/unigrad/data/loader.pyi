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
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad.data.datasets import IterableDataset as IterableDataset
from unigrad.data.samplers import BatchSampler as BatchSampler
from unigrad.data.samplers import RandomSampler as RandomSampler
from unigrad.data.samplers import SequentialSampler as SequentialSampler

def default_collate(batch: Any) -> Any:
    """Items as a batch: tensors and arrays are stacked, numbers become tensors, tuples, lists and dicts are taken apart.

    >>> import unigrad as ug
    >>> [part.tolist() for part in ug.data.default_collate([(1, 2.0), (3, 4.0)])]
    [[1, 3], [2.0, 4.0]]"""
    ...
def default_convert(data: Any) -> Any:
    """Arrays of NumPy become tensors, wherever they are in tuples, lists and dicts; all else stays: what a ``DataLoader`` without batches does.

    >>> import unigrad as ug, numpy
    >>> ug.data.default_convert([numpy.ones(2), "a"])
    [tensor([1., 1.], dtype=unigrad.float64), 'a']"""
    ...
class WorkerInfo:
    """Which worker of a ``DataLoader`` this thread is: ``id`` of ``num_workers``, and its ``dataset``.

    >>> import unigrad as ug
    >>> ug.data.WorkerInfo(0, 2, 7, [1, 2]).num_workers
    2"""
    id: Any
    num_workers: Any
    seed: builtins.int
    dataset: Any
    def __init__(self, id: Any, num_workers: Any, seed: builtins.int, dataset: Any) -> None: ...
def get_worker_info() -> Any:
    """Which worker of a ``DataLoader`` calls, or ``None`` outside of one.

    >>> import unigrad as ug
    >>> ug.data.get_worker_info() is None
    True"""
    ...
class DataLoader:
    """Batches of a dataset, in order or shuffled, made by threads ahead of time with ``num_workers``.

    A dataset is anything with ``__getitem__`` and ``__len__``, or something to iterate over. ``generator`` (or ``seed``) is a seed or a ``random.Random``;
    without one the order follows ``unigrad.manual_seed``. With ``device`` batches are there.

    >>> import unigrad as ug
    >>> x = ug.arange(5)
    >>> [batch.tolist() for (batch,) in ug.data.DataLoader(ug.data.TensorDataset(x), batch_size=2)]
    [[0, 1], [2, 3], [4]]"""
    dataset: Any
    device: Any
    num_workers: builtins.int
    drop_last: builtins.bool
    prefetch_factor: Any
    worker_init_fn: Any
    pin_memory: builtins.bool
    timeout: builtins.int
    persistent_workers: builtins.bool
    collate_fn: Any
    batch_size: builtins.int
    sampler: Any
    batch_sampler: Any
    def __init__(self, dataset: Any, batch_size: builtins.int=1, shuffle: builtins.bool | None=None, sampler: Any=None, batch_sampler: Any=None, num_workers: builtins.int=0, collate_fn: Callable[..., Any] | None=None, pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.int=0, worker_init_fn: Callable[..., Any] | None=None, generator: Any=None, *, multiprocessing_context: Any=None, prefetch_factor: Any=None, persistent_workers: builtins.bool=False, pin_memory_device: builtins.str='', in_order: builtins.bool=True, seed: builtins.int | None=None, device: Device | builtins.str | None=None) -> None: ...
    def set_epoch(self, epoch: builtins.int) -> Any:
        """The order is that of this epoch, if the sampler has one for each."""
        ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Any]: ...
