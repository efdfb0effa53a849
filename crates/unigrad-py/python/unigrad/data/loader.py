"""Batches of a dataset, made by threads ahead of time."""

import itertools
import threading
from collections import deque
from collections.abc import Mapping

from .. import _check
from .._errors import ArgumentError
from .._random_numbers import _random
from .._unigrad import Tensor, stack, tensor
from .datasets import IterableDataset
from .samplers import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch):
    """Items as a batch: tensors and arrays are stacked, numbers become tensors, tuples, lists and dicts are taken apart.

    >>> import unigrad as ug
    >>> [part.tolist() for part in ug.data.default_collate([(1, 2.0), (3, 4.0)])]
    [[1, 3], [2.0, 4.0]]
    """
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


def default_convert(data):
    """Arrays of NumPy become tensors, wherever they are in tuples, lists and dicts; all else stays: what a ``DataLoader`` without batches does.

    >>> import unigrad as ug, numpy
    >>> ug.data.default_convert([numpy.ones(2), "a"])
    [tensor([1., 1.], dtype=unigrad.float64), 'a']
    """
    if isinstance(data, (Tensor, str, bytes)):
        return data
    if hasattr(data, "__array__"):
        return tensor(data)
    if isinstance(data, Mapping):
        return {name: default_convert(value) for name, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    return [default_convert(value) for value in data] if isinstance(data, (list, tuple)) else data


_HERE = threading.local()


class WorkerInfo:
    """Which worker of a ``DataLoader`` this thread is: ``id`` of ``num_workers``, and its ``dataset``.

    >>> import unigrad as ug
    >>> ug.data.WorkerInfo(0, 2, 7, [1, 2]).num_workers
    2
    """

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


def get_worker_info():
    """Which worker of a ``DataLoader`` calls, or ``None`` outside of one.

    >>> import unigrad as ug
    >>> ug.data.get_worker_info() is None
    True
    """
    return getattr(_HERE, "info", None)


class DataLoader:
    """Batches of a dataset, in order or shuffled, made by threads ahead of time with ``num_workers``.

    A dataset is anything with ``__getitem__`` and ``__len__``, or something to iterate over. ``generator`` (or ``seed``) is a seed or a ``random.Random``;
    without one the order follows ``unigrad.manual_seed``. With ``device`` batches are there.

    >>> import unigrad as ug
    >>> x = ug.arange(5)
    >>> [batch.tolist() for (batch,) in ug.data.DataLoader(ug.data.TensorDataset(x), batch_size=2)]
    [[0, 1], [2, 3], [4]]
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
        multiprocessing_context=None,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
        seed=None,
        device=None,
    ):
        self.dataset, self.device = dataset, device
        self.num_workers, self.drop_last = _check.whole("num_workers", num_workers, 0), _check.flag("drop_last", drop_last)
        self.prefetch_factor = 2 if prefetch_factor is None else _check.positive("prefetch_factor", prefetch_factor)
        self.worker_init_fn = None if worker_init_fn is None else _check.call("worker_init_fn", worker_init_fn)
        # Threads share memory: what is said of processes and of pinned memory makes no difference.
        self.pin_memory, self.timeout, self.persistent_workers = pin_memory, timeout, persistent_workers
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
        return self._there((self.collate_fn or default_convert)(item))

    def _streamed(self):
        items = iter(self.dataset)
        if self.batch_size is None:
            for item in items:
                yield self._there((self.collate_fn or default_convert)(item))
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

        ids, base = itertools.count(), _random(None).getrandbits(31) if self.worker_init_fn is not None else 0

        def begin():
            own = next(ids)
            _HERE.info = WorkerInfo(own, self.num_workers, base + own, self.dataset)
            if self.worker_init_fn is not None:
                self.worker_init_fn(own)

        pool = ThreadPoolExecutor(self.num_workers, thread_name_prefix="unigrad-data", initializer=begin)
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
