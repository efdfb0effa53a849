"""Items by number, or one after another: datasets, and what is made of them."""

import bisect
import itertools
import math

from .. import _check
from .._errors import ArgumentError
from .._told import named
from .._unigrad import Tensor, _train, tensor
from .._random_numbers import _random, _shuffled


class Dataset:
    """Items by number: a class of one's own has ``__getitem__`` and ``__len__``.

    >>> import unigrad as ug
    >>> class Squares(ug.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> [batch.tolist() for batch in ug.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4]]
    """

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no `__getitem__`")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items one after another: a class of one's own has ``__iter__``.

    >>> import unigrad as ug
    >>> class Count(ug.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2, 3])
    >>> [batch.tolist() for batch in ug.data.DataLoader(Count(), batch_size=2)]
    [[1, 2], [3]]
    """

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no `__iter__`")

    def __add__(self, other):
        return ChainDataset([self, other])


def _length(name, value):
    if isinstance(value, (str, bytes)) or not hasattr(value, "__getitem__") or not hasattr(value, "__len__"):
        raise TypeError(f"argument '{name}': something with items and a length is wanted, not {_check._kind(value)}")
    return len(value)


class TensorDataset(Dataset):
    """Tensors or NumPy arrays whose first axes count the same items. A loader takes whole batches from it at once.

    >>> import unigrad as ug
    >>> pairs = ug.data.TensorDataset(ug.zeros(5, 2), ug.arange(5))
    >>> x, y = pairs[3]
    >>> x.shape, y.item()
    ((2,), 3)
    """

    def __init__(self, *tensors):
        if not tensors:
            raise ArgumentError("argument 'tensors' is empty\n help: give at least one")
        made = []
        for value in tensors:
            if not isinstance(value, Tensor):
                if not hasattr(value, "__array__") and not hasattr(value, "__dlpack__"):
                    raise TypeError(f"argument 'tensors': tensors or arrays are wanted, not {_check._kind(value)}")
                value = tensor(value)
            if value.ndim == 0 or value.shape[0] != (made[0] if made else value).shape[0]:
                shapes = [list(t.shape) for t in (*made, value)]
                raise ArgumentError(f"argument 'tensors' has the shapes {shapes}\n help: give tensors with as many items each")
            made.append(value)
        self.tensors = tuple(made)

    def __len__(self):
        return self.tensors[0].shape[0]

    def __getitem__(self, index):
        return tuple(own[index] for own in self.tensors)

    def __getbatch__(self, indices):
        """Items as a batch."""
        first, n = indices[0], len(indices)
        if indices == list(range(first, first + n)):
            return [own[first : first + n] for own in self.tensors]
        index = tensor(indices, device="cpu")
        return [own[index.to(own.device)] for own in self.tensors]


class StackDataset(Dataset):
    """Several datasets side by side: an item has one of each, as a tuple, or by name.

    >>> import unigrad as ug
    >>> ug.data.StackDataset([1, 2], ["a", "b"])[1]
    (2, 'b')
    """

    def __init__(self, *args, **kwargs):
        if bool(args) == bool(kwargs):
            raise ArgumentError("arguments: datasets in order, or by name, are wanted\n help: give one or the other")
        self.datasets = args if args else kwargs
        lengths = {_length("datasets", dataset) for dataset in (args or kwargs.values())}
        if len(lengths) > 1:
            raise ArgumentError(f"argument 'datasets' has the lengths {sorted(lengths)}\n help: give datasets of one length")
        self._length = lengths.pop()

    def __len__(self):
        return self._length

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)


class ConcatDataset(Dataset):
    """Datasets one after another.

    >>> import unigrad as ug
    >>> joined = ug.data.ConcatDataset([[1, 2], [3]])
    >>> len(joined), joined[2]
    (3, 3)
    """

    def __init__(self, datasets):
        if isinstance(datasets, (str, bytes)) or not hasattr(datasets, "__iter__"):
            raise TypeError(f"argument 'datasets': datasets are wanted, not {_check._kind(datasets)}")
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError("argument 'datasets' is empty\n help: give at least one")
        self.cumulative_sizes = list(itertools.accumulate(_length("datasets", dataset) for dataset in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} of {n} items")
        index %= n
        at = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[at][index - (self.cumulative_sizes[at - 1] if at else 0)]


class ChainDataset(IterableDataset):
    """Iterable datasets one after another.

    >>> import unigrad as ug
    >>> class Count(ug.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(ug.data.ChainDataset([Count(), Count()]))
    [1, 2, 1, 2]
    """

    def __init__(self, datasets):
        if isinstance(datasets, (str, bytes)) or not hasattr(datasets, "__iter__"):
            raise TypeError(f"argument 'datasets': datasets are wanted, not {_check._kind(datasets)}")
        self.datasets = list(datasets)

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class Subset(Dataset):
    """Some items of a dataset.

    >>> import unigrad as ug
    >>> ug.data.Subset([10, 20, 30], [2, 0])[0]
    30
    """

    def __init__(self, dataset, indices):
        n = _length("dataset", dataset)
        if isinstance(indices, (str, bytes)) or not hasattr(indices, "__iter__"):
            raise TypeError(f"argument 'indices': integers are wanted, not {_check._kind(indices)}")
        indices = indices.tolist() if isinstance(indices, Tensor) else indices
        self.dataset, self.indices = dataset, [_check.whole("indices", index) for index in indices]
        if any(not -n <= index < n for index in self.indices):
            raise ArgumentError(f"argument 'indices' names an item of {n} that is not there\n help: use numbers below the length")

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Subset(self.dataset, self.indices[index])
        if isinstance(index, (list, tuple)):
            return self.dataset[[self.indices[one] for one in index]]
        return self.dataset[self.indices[index]]

    @property
    def __getbatch__(self):
        batch = self.dataset.__getbatch__
        return lambda indices: batch([self.indices[index] for index in indices])


class MapDataset(Dataset):
    """Items that a function makes of a dataset's, anew each time.

    >>> import unigrad as ug
    >>> list(ug.data.MapDataset([1, 2], lambda x: x * 10))
    [10, 20]
    """

    def __init__(self, dataset, function):
        _length("dataset", dataset)
        self.dataset, self.function = dataset, _check.call("function", function)

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, index):
        return self.function(self.dataset[index])


class CachedDataset(Dataset):
    """A dataset whose items stay in memory once they were asked for. What is random in them is drawn once: put it into a ``MapDataset`` around this one.

    >>> import unigrad as ug
    >>> slow = ug.data.MapDataset(range(3), lambda x: ug.randn(1).item())
    >>> kept = ug.data.CachedDataset(slow)
    >>> kept[1] == kept[1]
    True
    """

    def __init__(self, dataset):
        self._items = [None] * _length("dataset", dataset)
        self.dataset = dataset

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        kept = self._items[index]
        if kept is None:
            # In a tuple: an item may be None. Two threads may both make it, and both have the same index.
            kept = self._items[index] = (self.dataset[index],)
        return kept[0]


@named
def random_split(dataset, lengths, generator=None):
    """A dataset in parts, of lengths or shares that sum to 1, at random: by ``generator``, a seed or a ``random.Random``.

    >>> import unigrad as ug
    >>> train, test = ug.data.random_split(list(range(10)), [0.8, 0.2], generator=0)
    >>> len(train), len(test)
    (8, 2)
    """
    n = _length("dataset", dataset)
    if isinstance(lengths, (str, bytes)) or not hasattr(lengths, "__iter__"):
        raise TypeError(f"argument 'lengths': numbers are wanted, not {_check._kind(lengths)}")
    lengths = list(lengths)
    if any(isinstance(length, float) for length in lengths):
        shares = [_check.probability("lengths", length) for length in lengths]
        if not math.isclose(sum(shares), 1.0):
            raise ArgumentError(f"argument 'lengths' has shares that sum to {sum(shares)}\n help: use shares that sum to 1")
        lengths = [math.floor(n * share) for share in shares]
        for at in range(n - sum(lengths)):
            lengths[at % len(lengths)] += 1
    lengths = [_check.whole("lengths", length, 0) for length in lengths]
    if sum(lengths) != n:
        raise ArgumentError(f"argument 'lengths' sums to {sum(lengths)}, of {n} items\n help: use lengths that sum to the dataset's")
    order = _shuffled(n, _random(generator))
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths)]


def digits(device=None):
    """The handwritten digits that ship with the library: two datasets, for training and for tests, of images ``[1, 8, 8]`` and labels.

    >>> import unigrad as ug
    >>> train, test = ug.data.digits()
    >>> train.tensors[0].shape[1:], len(train) > len(test) > 100
    ((1, 8, 8), True)
    """
    return tuple(TensorDataset(*part) for part in _train.digits(device))
