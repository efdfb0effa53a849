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
from unigrad import Generator as Generator
from unigrad._errors import ArgumentError as ArgumentError

class Sampler:
    """Which items come, in which order: a class of one's own has ``__iter__`` (numbers) and ``__len__``.

    >>> import unigrad as ug
    >>> class Backwards(ug.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    ...     def __len__(self):
    ...         return 3
    >>> [batch.tolist() for batch in ug.data.DataLoader([5, 6, 7], batch_size=3, sampler=Backwards())]
    [[7, 6, 5]]"""
    def __init__(self, data_source: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
class SequentialSampler(Sampler):
    """All items in order.

    >>> import unigrad as ug
    >>> list(ug.data.SequentialSampler([10, 20, 30]))
    [0, 1, 2]"""
    data_source: Any
    def __init__(self, data_source: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class RandomSampler(Sampler):
    """Items at random: each once, or with ``replacement`` any number of times. By a seed, each epoch (``set_epoch``) has an order of its own.

    >>> import unigrad as ug
    >>> sorted(ug.data.RandomSampler([10, 20, 30]))
    [0, 1, 2]"""
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
    """Some items, at random.

    >>> import unigrad as ug
    >>> sorted(ug.data.SubsetRandomSampler([4, 2, 7]))
    [2, 4, 7]"""
    indices: Tensor
    generator: Any
    def __init__(self, indices: Tensor, generator: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class WeightedRandomSampler(Sampler):
    """Items at random, by weights.

    >>> import unigrad as ug
    >>> set(ug.data.WeightedRandomSampler([0.0, 1.0, 1.0], 20)) <= {1, 2}
    True"""
    weights: Any
    num_samples: builtins.int
    replacement: builtins.bool
    generator: Any
    def __init__(self, weights: Any, num_samples: builtins.int, replacement: builtins.bool=True, generator: Any=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class BatchSampler(Sampler):
    """Batches of the numbers that another sampler gives.

    >>> import unigrad as ug
    >>> list(ug.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]"""
    sampler: Any
    batch_size: builtins.int
    drop_last: builtins.bool
    def __init__(self, sampler: Any, batch_size: builtins.int, drop_last: builtins.bool=False) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class _OfEpochs(Sampler):
    """An order by seed and epoch (``set_epoch``); without a seed one of the library's own generator."""
    seed: builtins.int
    epoch: Any
    def __init__(self, seed: builtins.int) -> None: ...
    def set_epoch(self, epoch: builtins.int) -> Any:
        """The order is that of this epoch."""
        ...
class StratifiedSampler(_OfEpochs):
    """Each item once, in an order in which every stretch of an epoch has the classes in about the shares of the whole.

    >>> import unigrad as ug
    >>> labels = [0] * 4 + [1] * 4
    >>> order = list(ug.data.StratifiedSampler(labels, seed=1))
    >>> sum(labels[item] for item in order[:4])
    2"""
    labels: Tensor
    def __init__(self, labels: Tensor, seed: builtins.int | None=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class BalancedSampler(_OfEpochs):
    """Draws with replacement, as many as there are items, such that each class is as likely as any other.

    >>> import unigrad as ug
    >>> len(ug.data.BalancedSampler([0, 0, 0, 1], seed=1))
    4"""
    labels: Tensor
    def __init__(self, labels: Tensor, seed: builtins.int | None=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class BucketBatchSampler(_OfEpochs):
    """Batches of items of about equal length, in random order: little padding. A ``batch_sampler`` of a ``DataLoader``.

    >>> import unigrad as ug
    >>> lengths = [3, 90, 4, 88, 5, 91]
    >>> sorted(sorted(lengths[item] for item in batch) for batch in ug.data.BucketBatchSampler(lengths, 3, seed=1))
    [[3, 4, 5], [88, 90, 91]]"""
    lengths: builtins.int | Sequence[builtins.int]
    batch_size: builtins.int
    drop_last: builtins.bool
    def __init__(self, lengths: builtins.int | Sequence[builtins.int], batch_size: builtins.int, drop_last: builtins.bool=False, seed: builtins.int | None=None) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
class DistributedSampler(_OfEpochs):
    """The share of one of several processes in a dataset: all have equally many items, so the first ones come again, or with ``drop_last`` the rest is left out.

    >>> import unigrad as ug
    >>> [list(ug.data.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]"""
    num_replicas: Any
    rank: Any
    shuffle: builtins.bool
    drop_last: builtins.bool
    def __init__(self, dataset: Any, num_replicas: Any, rank: Any, shuffle: builtins.bool=True, seed: builtins.int=0, drop_last: builtins.bool=False) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
