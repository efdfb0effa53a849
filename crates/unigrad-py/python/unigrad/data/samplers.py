"""Which items come, in which order."""

import itertools
import math
import random

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Generator, _data
from .._random_numbers import _random, _shuffled
from .datasets import _length


class Sampler:
    """Which items come, in which order: a class of one's own has ``__iter__`` (numbers) and ``__len__``.

    >>> import unigrad as ug
    >>> class Backwards(ug.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    ...     def __len__(self):
    ...         return 3
    >>> [batch.tolist() for batch in ug.data.DataLoader([5, 6, 7], batch_size=3, sampler=Backwards())]
    [[7, 6, 5]]
    """

    def __init__(self, data_source=None):
        pass

    def __iter__(self):
        raise NotImplementedError(f"{type(self).__name__} has no `__iter__`")


class SequentialSampler(Sampler):
    """All items in order.

    >>> import unigrad as ug
    >>> list(ug.data.SequentialSampler([10, 20, 30]))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source
        _length("data_source", data_source)

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """Items at random: each once, or with ``replacement`` any number of times. By a seed, each epoch (``set_epoch``) has an order of its own.

    >>> import unigrad as ug
    >>> sorted(ug.data.RandomSampler([10, 20, 30]))
    [0, 1, 2]
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        n = _length("data_source", data_source)
        self.data_source, self.replacement = data_source, _check.flag("replacement", replacement)
        self.num_samples = n if num_samples is None else _check.positive("num_samples", num_samples)
        self.generator, self.epoch = generator, None
        if generator is not None and not isinstance(generator, (random.Random, Generator)):
            self.generator = _check.whole("generator", generator, 0)

    def set_epoch(self, epoch):
        """The order is that of this epoch."""
        self.epoch = _check.whole("epoch", epoch, 0)

    def __iter__(self):
        if self.epoch is not None and not isinstance(self.generator, (random.Random, Generator)):
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
    """Some items, at random.

    >>> import unigrad as ug
    >>> sorted(ug.data.SubsetRandomSampler([4, 2, 7]))
    [2, 4, 7]
    """

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
    """Items at random, by weights.

    >>> import unigrad as ug
    >>> set(ug.data.WeightedRandomSampler([0.0, 1.0, 1.0], 20)) <= {1, 2}
    True
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
            raise TypeError(f"argument 'weights': numbers are wanted, not {_check._kind(weights)}")
        weights = weights.tolist() if hasattr(weights, "tolist") else list(weights)
        self.weights = [_check.number("weights", weight, 0.0) for weight in weights]
        self.num_samples, self.replacement = _check.positive("num_samples", num_samples), _check.flag("replacement", replacement)
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
    """Batches of the numbers that another sampler gives.

    >>> import unigrad as ug
    >>> list(ug.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

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


class _OfEpochs(Sampler):
    """An order by seed and epoch (``set_epoch``); without a seed one of the library's own generator."""

    def __init__(self, seed):
        self.seed, self.epoch = _random(None).getrandbits(31) if seed is None else _check.size("seed", seed), 0

    def set_epoch(self, epoch):
        """The order is that of this epoch."""
        self.epoch = _check.whole("epoch", epoch, 0)


def _whole_list(name, value, what):
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"argument '{name}': {what} is wanted, not {_check._kind(value)}")
    return [_check.size(name, part) for part in value]


class StratifiedSampler(_OfEpochs):
    """Each item once, in an order in which every stretch of an epoch has the classes in about the shares of the whole.

    >>> import unigrad as ug
    >>> labels = [0] * 4 + [1] * 4
    >>> order = list(ug.data.StratifiedSampler(labels, seed=1))
    >>> sum(labels[item] for item in order[:4])
    2
    """

    def __init__(self, labels, seed=None):
        super().__init__(seed)
        self.labels = _whole_list("labels", labels, "the class of each item")

    def __iter__(self):
        return iter(_data.stratified(self.labels, self.seed, self.epoch))

    def __len__(self):
        return len(self.labels)


class BalancedSampler(_OfEpochs):
    """Draws with replacement, as many as there are items, such that each class is as likely as any other.

    >>> import unigrad as ug
    >>> len(ug.data.BalancedSampler([0, 0, 0, 1], seed=1))
    4
    """

    def __init__(self, labels, seed=None):
        super().__init__(seed)
        self.labels = _whole_list("labels", labels, "the class of each item")
        if not self.labels:
            raise ArgumentError("argument 'labels' is empty\n help: give the class of each item")

    def __iter__(self):
        return iter(_data.balanced(self.labels, self.seed, self.epoch))

    def __len__(self):
        return len(self.labels)


class BucketBatchSampler(_OfEpochs):
    """Batches of items of about equal length, in random order: little padding. A ``batch_sampler`` of a ``DataLoader``.

    >>> import unigrad as ug
    >>> lengths = [3, 90, 4, 88, 5, 91]
    >>> sorted(sorted(lengths[item] for item in batch) for batch in ug.data.BucketBatchSampler(lengths, 3, seed=1))
    [[3, 4, 5], [88, 90, 91]]
    """

    def __init__(self, lengths, batch_size, drop_last=False, seed=None):
        super().__init__(seed)
        self.lengths = _whole_list("lengths", lengths, "the length of each item")
        self.batch_size, self.drop_last = _check.positive("batch_size", batch_size), _check.flag("drop_last", drop_last)

    def __iter__(self):
        return iter(_data.buckets(self.lengths, self.batch_size, self.drop_last, self.seed, self.epoch))

    def __len__(self):
        n = len(self.lengths)
        # The only batch is kept, however small.
        return n // self.batch_size if self.drop_last and n >= self.batch_size else -(-n // self.batch_size)


class DistributedSampler(_OfEpochs):
    """The share of one of several processes in a dataset: all have equally many items, so the first ones come again, or with ``drop_last`` the rest is left out.

    >>> import unigrad as ug
    >>> [list(ug.data.DistributedSampler(range(5), 2, rank, shuffle=False)) for rank in (0, 1)]
    [[0, 2, 4], [1, 3, 0]]
    """

    def __init__(self, dataset, num_replicas, rank, shuffle=True, seed=0, drop_last=False):
        super().__init__(seed)
        self._n = _length("dataset", dataset)
        self.num_replicas, self.rank = _check.positive("num_replicas", num_replicas), _check.size("rank", rank)
        if self.rank >= self.num_replicas:
            raise ArgumentError(f"argument 'rank' is {rank}, of {num_replicas} processes\n help: use a rank from 0 to one less")
        self.shuffle, self.drop_last = _check.flag("shuffle", shuffle), _check.flag("drop_last", drop_last)

    def __iter__(self):
        seed = self.seed if self.shuffle else None
        return iter(_data.distributed(self._n, self.rank, self.num_replicas, self.drop_last, seed, self.epoch))

    def __len__(self):
        return self._n // self.num_replicas if self.drop_last else -(-self._n // self.num_replicas)
