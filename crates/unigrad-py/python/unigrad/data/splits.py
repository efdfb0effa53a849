"""Parts of a dataset: folds of a cross-validation, and splits in which each class has its share."""

from .. import _check
from .._told import named
from .._unigrad import _data
from .._random_numbers import _random
from .datasets import Subset, _length


def _labels(name, value):
    """The class of each item."""
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"argument '{name}': the class of each item is wanted, not {_check._kind(value)}")
    return [_check.whole(name, label, 0) for label in value]


def _seed(name, value):
    """A seed, of the library's own generator without one."""
    return _random(None).getrandbits(31) if value is None else _check.size(name, value)


@named
def k_fold(dataset, k=5, shuffle=False, labels=None, seed=None):
    """The ``k`` folds of a cross-validation: pairs of a part to learn from and one to be judged by. With ``labels`` each class is in every fold by its share.

    >>> import unigrad as ug
    >>> [(len(train), list(test)) for train, test in ug.data.k_fold([10, 11, 12, 13], k=2)]
    [(2, [10, 11]), (2, [12, 13])]
    """
    n, k = _length("dataset", dataset), _check.whole("k", k, 2)
    seed = _seed("seed", seed) if _check.flag("shuffle", shuffle) else None
    if k > n:
        raise _check.ArgumentError(f"argument 'k' is {k}, of {n} items\n help: use at most as many folds as there are items")
    folds = _data.k_fold(n, k, seed) if labels is None else _data.stratified_k_fold(_labels("labels", labels), k, seed)
    return [(Subset(dataset, train), Subset(dataset, validation)) for train, validation in folds]


@named
def stratified_split(dataset, labels, fraction=0.2, seed=None):
    """A part to learn from, and a random one of about ``fraction`` to be judged by, in which each class has its share.

    >>> import unigrad as ug
    >>> train, test = ug.data.stratified_split(list(range(10)), [0] * 5 + [1] * 5, 0.4, seed=1)
    >>> len(train), sum(item >= 5 for item in test)
    (6, 2)
    """
    n, labels = _length("dataset", dataset), _labels("labels", labels)
    if len(labels) != n:
        raise _check.ArgumentError(f"argument 'labels' has {len(labels)} classes, of {n} items\n help: give the class of each item")
    parts = _data.stratified_split(labels, _check.probability("fraction", fraction), _seed("seed", seed))
    return tuple(Subset(dataset, part) for part in parts)


@named
def validation_split(dataset, fraction=0.2):
    """The first items to learn from, and the last ``fraction`` to be judged by, unshuffled, as Keras has it.

    >>> import unigrad as ug
    >>> [list(part) for part in ug.data.validation_split([1, 2, 3, 4, 5])]
    [[1, 2, 3, 4], [5]]
    """
    n = _length("dataset", dataset)
    at = _data.validation_split(n, _check.probability("fraction", fraction))
    return Subset(dataset, range(at)), Subset(dataset, range(at, n))
