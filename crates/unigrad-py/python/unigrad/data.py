"""Datasets and loaders, over objects of Python, tensors and NumPy arrays.

>>> import unigrad as ug
>>> dataset = ug.data.TensorDataset(ug.arange(6).reshape(6, 1), ug.arange(6))
>>> loader = ug.data.DataLoader(dataset, batch_size=4)
>>> [(tuple(x.shape), y.tolist()) for x, y in loader]
[((4, 1), [0, 1, 2, 3]), ((2, 1), [4, 5])]
"""

import bisect
import itertools
import math
import random
from collections import deque
from collections.abc import Mapping

from . import _check
from ._errors import ArgumentError
from ._unigrad import Tensor, _train, randint, stack, tensor

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler",
    "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate", "digits",
    "random_split",
]  # fmt: skip


class Dataset:
    """Items by number: a class of one's own has ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no `__getitem__`")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Items one after another: a class of one's own has ``__iter__``."""

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no `__iter__`")


def _length(name, value):
    if isinstance(value, (str, bytes)) or not hasattr(value, "__getitem__") or not hasattr(value, "__len__"):
        raise TypeError(f"argument '{name}': something with items and a length is wanted, not {_check._kind(value)}")
    return len(value)


class TensorDataset(Dataset):
    """Tensors or NumPy arrays whose first axes count the same items. A loader takes whole batches from it at once."""

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
    """Several datasets side by side: an item has one of each, as a tuple, or by name."""

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
    """Datasets one after another."""

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
    """Iterable datasets one after another."""

    def __init__(self, datasets):
        if isinstance(datasets, (str, bytes)) or not hasattr(datasets, "__iter__"):
            raise TypeError(f"argument 'datasets': datasets are wanted, not {_check._kind(datasets)}")
        self.datasets = list(datasets)

    def __iter__(self):
        return itertools.chain.from_iterable(self.datasets)


class Subset(Dataset):
    """Some items of a dataset."""

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
        return self.dataset[self.indices[index]]

    @property
    def __getbatch__(self):
        batch = self.dataset.__getbatch__
        return lambda indices: batch([self.indices[index] for index in indices])


def _random(generator):
    """A source of random numbers: one that is given, of a seed, or of the library's own generator."""
    if isinstance(generator, random.Random):
        return generator
    if generator is not None:
        return random.Random(_check.whole("generator", generator, 0))
    return random.Random(int(randint(0, 2**31 - 1, (), device="cpu").item()))


def _shuffled(n, source):
    order = list(range(n))
    source.shuffle(order)
    return order


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


# Samplers.


class Sampler:
    """Which items come, in which order: a class of one's own has ``__iter__`` (numbers) and ``__len__``."""

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no `__iter__`")


class SequentialSampler(Sampler):
    """All items in order."""

    def __init__(self, data_source):
        self.data_source = data_source
        _length("data_source", data_source)

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Items at random: each once, or with ``replacement`` any number of times. By a seed, each epoch (``set_epoch``) has an order of its own."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        n = _length("data_source", data_source)
        self.data_source, self.replacement = data_source, _check.flag("replacement", replacement)
        self.num_samples = n if num_samples is None else _check.size("num_samples", num_samples)
        self.generator, self.epoch = generator, None
        if generator is not None and not isinstance(generator, random.Random):
            self.generator = _check.whole("generator", generator, 0)

    def set_epoch(self, epoch):
        """The order is that of this epoch."""
        self.epoch = _check.whole("epoch", epoch, 0)

    def __iter__(self):
        if self.epoch is not None and not isinstance(self.generator, random.Random):
            if self.generator is None:
                self.generator = _random(None).getrandbits(31)
            source = random.Random(self.generator * 1_000_003 + self.epoch)
        else:
            source = _random(self.generator)
        n = len(self.data_source)
        if self.replacement:
            return iter([source.randrange(n) for _ in range(self.num_samples)] if n else [])
        order = []
        while len(order) < self.num_samples and n:
            order += _shuffled(n, source)
        return iter(order[: self.num_samples])

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some items, at random."""

    def __init__(self, indices, generator=None):
        if isinstance(indices, (str, bytes)) or not hasattr(indices, "__iter__"):
            raise TypeError(f"argument 'indices': integers are wanted, not {_check._kind(indices)}")
        self.indices, self.generator = [_check.whole("indices", index) for index in indices], generator
        _random(generator) if generator is not None else None

    def __iter__(self):
        return iter([self.indices[at] for at in _shuffled(len(self.indices), _random(self.generator))])

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Items at random, by weights."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
            raise TypeError(f"argument 'weights': numbers are wanted, not {_check._kind(weights)}")
        weights = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        self.weights = [_check.number("weights", weight, 0.0) for weight in weights]
        self.num_samples, self.replacement = _check.size("num_samples", num_samples), _check.flag("replacement", replacement)
        self.generator = generator
        possible = sum(weight > 0.0 for weight in self.weights)
        if not possible or (not self.replacement and self.num_samples > possible):
            raise ArgumentError(
                f"argument 'weights' has {possible} above 0, for {num_samples} samples\n help: give more, or `replacement=True`"
            )

    def __iter__(self):
        source = _random(self.generator)
        items = range(len(self.weights))
        if self.replacement:
            return iter(source.choices(items, self.weights, k=self.num_samples))
        # The greatest of `u^(1/w)` are a sample without replacement (Efraimidis and Spirakis, 2006).
        keys = [(math.log(max(source.random(), 1e-300)) / weight, item) for item, weight in zip(items, self.weights) if weight > 0.0]
        return iter([item for _, item in sorted(keys, reverse=True)[: self.num_samples]])

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Batches of the numbers that another sampler gives."""

    def __init__(self, sampler, batch_size, drop_last=False):
        if isinstance(sampler, (str, bytes)) or not hasattr(sampler, "__iter__"):
            raise TypeError(f"argument 'sampler': a sampler is wanted, not {_check._kind(sampler)}")
        self.sampler, self.batch_size = sampler, _check.positive("batch_size", batch_size)
        self.drop_last = _check.flag("drop_last", drop_last)

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def digits(device=None):
    """The handwritten digits that ship with the library: two datasets, for training and for tests, of images ``[1, 8, 8]`` and labels.

    >>> import unigrad as ug
    >>> train, test = ug.data.digits()
    >>> train.tensors[0].shape[1:], len(train) > len(test) > 100
    ((1, 8, 8), True)
    """
    return tuple(TensorDataset(*part) for part in _train.digits(device))


def default_collate(batch):
    """Items as a batch: tensors and arrays are stacked, numbers become tensors, tuples, lists and dicts are taken apart."""
    if isinstance(batch, (str, bytes)) or not hasattr(batch, "__iter__"):
        raise TypeError(f"argument 'batch': items are wanted, not {_check._kind(batch)}")
    batch = list(batch)
    if not batch:
        raise ArgumentError("argument 'batch' is empty\n help: give at least one item")
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch, 0)
    if hasattr(first, "__array__"):
        import numpy

        return tensor(numpy.stack([numpy.asarray(item) for item in batch]))
    if isinstance(first, (bool, int, float)):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return {name: default_collate([item[name] for item in batch]) for name in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(part) for part in zip(*batch)))
    if isinstance(first, (tuple, list)):
        if any(len(item) != len(first) for item in batch):
            raise ArgumentError("argument 'batch' has items of different lengths\n help: give a `collate_fn`")
        return [default_collate(part) for part in zip(*batch)]
    raise TypeError(f"argument 'batch': tensors, arrays, numbers and collections of them are wanted, not {_check._kind(first)}")


class DataLoader:
    """Batches of a dataset, in order or shuffled, made by threads ahead of time with ``num_workers``.

    A dataset is anything with ``__getitem__`` and ``__len__``, or something to iterate over. ``generator`` (or ``seed``) is a seed or a ``random.Random``;
    without one the order follows ``unigrad.manual_seed``. With ``device`` batches are there.
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        generator=None,
        *,
        prefetch_factor=2,
        persistent_workers=False,
        seed=None,
        device=None,
    ):
        self.dataset, self.device = dataset, device
        self.num_workers, self.drop_last = _check.whole("num_workers", num_workers, 0), _check.flag("drop_last", drop_last)
        self.prefetch_factor = _check.positive("prefetch_factor", prefetch_factor)
        if self.num_workers > 1024:
            raise ArgumentError(f"argument 'num_workers' is {num_workers}\n help: use a thread or two for each core")
        self.collate_fn = None if collate_fn is None else _check.call("collate_fn", collate_fn)
        generator = seed if generator is None else generator
        shuffle = False if shuffle is None else _check.flag("shuffle", shuffle)
        self.batch_size = None if batch_size is None else _check.positive("batch_size", batch_size)
        self._iterates = isinstance(dataset, IterableDataset) or not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__"))
        if isinstance(dataset, (str, bytes)) or (self._iterates and not hasattr(dataset, "__iter__")):
            raise TypeError(f"argument 'dataset': something with items is wanted, not {_check._kind(dataset)}")
        if self._iterates and (shuffle or sampler is not None or batch_sampler is not None):
            raise ArgumentError(
                "argument 'shuffle' or 'sampler' with a dataset that is iterated over\n help: let the dataset give its order"
            )
        if batch_sampler is not None and (shuffle or sampler is not None or drop_last or batch_size != 1):
            raise ArgumentError("argument 'batch_sampler' with batch_size, shuffle, sampler or drop_last\n help: leave those out")
        if sampler is not None and shuffle:
            raise ArgumentError("arguments 'sampler' and 'shuffle' are both given\n help: give one of them")
        if sampler is not None and not hasattr(sampler, "__iter__"):
            raise TypeError(f"argument 'sampler': a sampler is wanted, not {_check._kind(sampler)}")
        if batch_sampler is not None and not hasattr(batch_sampler, "__iter__"):
            raise TypeError(f"argument 'batch_sampler': a sampler is wanted, not {_check._kind(batch_sampler)}")
        if not self._iterates:
            if sampler is None:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
            if batch_sampler is None and self.batch_size is not None:
                batch_sampler = BatchSampler(sampler, self.batch_size, self.drop_last)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self._pool = None

    def set_epoch(self, epoch):
        """The order is that of this epoch, if the sampler has one for each."""
        for sampler in (self.sampler, self.batch_sampler, getattr(self.batch_sampler, "sampler", None)):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)

    def __len__(self):
        if self._iterates:
            n = len(self.dataset)
            if self.batch_size is None:
                return n
            return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
        return len(self.sampler) if self.batch_sampler is None else len(self.batch_sampler)

    def _there(self, batch):
        if self.device is None:
            return batch
        if isinstance(batch, Tensor):
            return batch.to(self.device)
        if isinstance(batch, Mapping):
            return {name: self._there(part) for name, part in batch.items()}
        if isinstance(batch, (list, tuple)):
            return type(batch)(self._there(part) for part in batch)
        return batch

    def _fetch(self, indices):
        whole = getattr(self.dataset, "__getbatch__", None) if self.collate_fn is None else None
        if whole is not None:
            return self._there(whole(list(indices)))
        many = getattr(self.dataset, "__getitems__", None)
        items = many(indices) if many is not None else [self.dataset[index] for index in indices]
        return self._there((self.collate_fn or default_collate)(items))

    def _one(self, index):
        item = self.dataset[index]
        return self._there(self.collate_fn(item) if self.collate_fn is not None else item)

    def _streamed(self):
        items = iter(self.dataset)
        if self.batch_size is None:
            for item in items:
                yield self._there(self.collate_fn(item) if self.collate_fn is not None else item)
            return
        while batch := list(itertools.islice(items, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self._there((self.collate_fn or default_collate)(batch))

    def __iter__(self):
        if self._iterates:
            return self._streamed()
        work, numbers = (self._one, self.sampler) if self.batch_sampler is None else (self._fetch, self.batch_sampler)
        if self.num_workers == 0:
            return (work(one) for one in numbers)
        return self._ahead(work, numbers)

    def _ahead(self, work, numbers):
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="unigrad-data")
        pending = deque()
        try:
            numbers = iter(numbers)
            for one in itertools.islice(numbers, self.num_workers * self.prefetch_factor):
                pending.append(pool.submit(work, one))
            while pending:
                batch = pending.popleft().result()
                for one in itertools.islice(numbers, 1):
                    pending.append(pool.submit(work, one))
                yield batch
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
