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

class Dataset:
    """Items by number: a class of one's own has ``__getitem__`` and ``__len__``."""
    def __getitem__(self, index: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
class IterableDataset(Dataset):
    """Items one after another: a class of one's own has ``__iter__``."""
    def __iter__(self) -> Iterator[Any]: ...
class TensorDataset(Dataset):
    """Tensors or NumPy arrays whose first axes count the same items. A loader takes whole batches from it at once."""
    tensors: Any
    def __init__(self, *tensors: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class StackDataset(Dataset):
    """Several datasets side by side: an item has one of each, as a tuple, or by name."""
    datasets: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class ConcatDataset(Dataset):
    """Datasets one after another."""
    datasets: Any
    cumulative_sizes: Any
    def __init__(self, datasets: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class ChainDataset(IterableDataset):
    """Iterable datasets one after another."""
    datasets: Any
    def __init__(self, datasets: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
class Subset(Dataset):
    """Some items of a dataset."""
    dataset: Any
    indices: Tensor
    def __init__(self, dataset: Any, indices: Tensor) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
def random_split(dataset: Any, lengths: builtins.int | Sequence[builtins.int], generator: Any=None) -> Any:
    """A dataset in parts, of lengths or shares that sum to 1, at random: by ``generator``, a seed or a ``random.Random``.

    >>> import unigrad as ug
    >>> train, test = ug.data.random_split(list(range(10)), [0.8, 0.2], generator=0)
    >>> len(train), len(test)
    (8, 2)"""
    ...
class Sampler:
    """Which items come, in which order: a class of one's own has ``__iter__`` (numbers) and ``__len__``."""
    def __init__(self, data_source: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
class SequentialSampler(Sampler):
    """All items in order."""
    data_source: Any
    def __init__(self, data_source: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class RandomSampler(Sampler):
    """Items at random: each once, or with ``replacement`` any number of times. By a seed, each epoch (``set_epoch``) has an order of its own."""
    data_source: Any
    replacement: builtins.bool
    num_samples: Any
    generator: Any
    epoch: Any
    def __init__(self, data_source: Any, replacement: builtins.bool=False, num_samples: builtins.int | None=None, generator: Any=None) -> None: ...
    def set_epoch(self, epoch: builtins.int) -> Any:
        """The order is that of this epoch."""
        ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class SubsetRandomSampler(Sampler):
    """Some items, at random."""
    indices: Tensor
    generator: Any
    def __init__(self, indices: Tensor, generator: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class WeightedRandomSampler(Sampler):
    """Items at random, by weights."""
    weights: Any
    num_samples: builtins.int
    replacement: builtins.bool
    generator: Any
    def __init__(self, weights: Any, num_samples: builtins.int, replacement: builtins.bool=True, generator: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class BatchSampler(Sampler):
    """Batches of the numbers that another sampler gives."""
    sampler: Any
    batch_size: builtins.int
    drop_last: builtins.bool
    def __init__(self, sampler: Any, batch_size: builtins.int, drop_last: builtins.bool=False) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
def digits(device: Device | builtins.str | None=None) -> Any:
    """The handwritten digits that ship with the library: two datasets, for training and for tests, of images ``[1, 8, 8]`` and labels.

    >>> import unigrad as ug
    >>> train, test = ug.data.digits()
    >>> train.tensors[0].shape[1:], len(train) > len(test) > 100
    ((1, 8, 8), True)"""
    ...
def default_collate(batch: Any) -> Any:
    """Items as a batch: tensors and arrays are stacked, numbers become tensors, tuples, lists and dicts are taken apart."""
    ...
class DataLoader:
    """Batches of a dataset, in order or shuffled, made by threads ahead of time with ``num_workers``.

        A dataset is anything with ``__getitem__`` and ``__len__``, or something to iterate over. ``generator`` (or ``seed``) is a seed or a ``random.Random``;
        without one the order follows ``unigrad.manual_seed``. With ``device`` batches are there."""
    dataset: Any
    device: Any
    num_workers: builtins.int
    drop_last: builtins.bool
    prefetch_factor: builtins.int
    collate_fn: Any
    batch_size: builtins.int
    sampler: Any
    batch_sampler: Any
    def __init__(self, dataset: Any, batch_size: builtins.int=1, shuffle: builtins.bool | None=None, sampler: Any=None, batch_sampler: Any=None, num_workers: builtins.int=0, collate_fn: Callable[..., Any] | None=None, pin_memory: builtins.bool=False, drop_last: builtins.bool=False, timeout: builtins.int=0, worker_init_fn: Callable[..., Any] | None=None, generator: Any=None, *, prefetch_factor: builtins.int=2, persistent_workers: builtins.bool=False, seed: builtins.int | None=None, device: Device | builtins.str | None=None) -> None: ...
    def set_epoch(self, epoch: builtins.int) -> Any:
        """The order is that of this epoch, if the sampler has one for each."""
        ...
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Any]: ...
