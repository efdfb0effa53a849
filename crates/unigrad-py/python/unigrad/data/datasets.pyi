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
from unigrad._told import named as named

class Dataset:
    """Items by number: a class of one's own has ``__getitem__`` and ``__len__``.

    >>> import unigrad as ug
    >>> class Squares(ug.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> [batch.tolist() for batch in ug.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4]]"""
    def __getitem__(self, index: Any) -> Any: ...
    def __add__(self, other: Any) -> Any: ...
class IterableDataset(Dataset):
    """Items one after another: a class of one's own has ``__iter__``.

    >>> import unigrad as ug
    >>> class Count(ug.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2, 3])
    >>> [batch.tolist() for batch in ug.data.DataLoader(Count(), batch_size=2)]
    [[1, 2], [3]]"""
    def __iter__(self) -> Iterator[Any]: ...
    def __add__(self, other: Any) -> Any: ...
class TensorDataset(Dataset):
    """Tensors or NumPy arrays whose first axes count the same items. A loader takes whole batches from it at once.

    >>> import unigrad as ug
    >>> pairs = ug.data.TensorDataset(ug.zeros(5, 2), ug.arange(5))
    >>> x, y = pairs[3]
    >>> x.shape, y.item()
    ((2,), 3)"""
    tensors: Any
    def __init__(self, *tensors: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class StackDataset(Dataset):
    """Several datasets side by side: an item has one of each, as a tuple, or by name.

    >>> import unigrad as ug
    >>> ug.data.StackDataset([1, 2], ["a", "b"])[1]
    (2, 'b')"""
    datasets: Any
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class ConcatDataset(Dataset):
    """Datasets one after another.

    >>> import unigrad as ug
    >>> joined = ug.data.ConcatDataset([[1, 2], [3]])
    >>> len(joined), joined[2]
    (3, 3)"""
    datasets: Any
    cumulative_sizes: Any
    def __init__(self, datasets: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class ChainDataset(IterableDataset):
    """Iterable datasets one after another.

    >>> import unigrad as ug
    >>> class Count(ug.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(ug.data.ChainDataset([Count(), Count()]))
    [1, 2, 1, 2]"""
    datasets: Any
    def __init__(self, datasets: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
class Subset(Dataset):
    """Some items of a dataset.

    >>> import unigrad as ug
    >>> ug.data.Subset([10, 20, 30], [2, 0])[0]
    30"""
    dataset: Any
    indices: Tensor
    def __init__(self, dataset: Any, indices: Tensor) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class MapDataset(Dataset):
    """Items that a function makes of a dataset's, anew each time.

    >>> import unigrad as ug
    >>> list(ug.data.MapDataset([1, 2], lambda x: x * 10))
    [10, 20]"""
    dataset: Any
    function: Callable[..., Any]
    def __init__(self, dataset: Any, function: Callable[..., Any]) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class CachedDataset(Dataset):
    """A dataset whose items stay in memory once they were asked for. What is random in them is drawn once: put it into a ``MapDataset`` around this one.

    >>> import unigrad as ug
    >>> slow = ug.data.MapDataset(range(3), lambda x: ug.randn(1).item())
    >>> kept = ug.data.CachedDataset(slow)
    >>> kept[1] == kept[1]
    True"""
    dataset: Any
    def __init__(self, dataset: Any) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
def random_split(dataset: Any, lengths: builtins.int | Sequence[builtins.int], generator: Any=None) -> Any:
    """A dataset in parts, of lengths or shares that sum to 1, at random: by ``generator``, a seed or a ``random.Random``.

    >>> import unigrad as ug
    >>> train, test = ug.data.random_split(list(range(10)), [0.8, 0.2], generator=0)
    >>> len(train), len(test)
    (8, 2)"""
    ...
def digits(device: Device | builtins.str | None=None) -> Any:
    """The handwritten digits that ship with the library: two datasets, for training and for tests, of images ``[1, 8, 8]`` and labels.

    >>> import unigrad as ug
    >>> train, test = ug.data.digits()
    >>> train.tensors[0].shape[1:], len(train) > len(test) > 100
    ((1, 8, 8), True)"""
    ...
