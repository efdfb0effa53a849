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
from unigrad._errors import ArgumentError as ArgumentError

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
