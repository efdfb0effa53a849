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
from unigrad._told import named as named
from unigrad.data.datasets import Subset as Subset

def k_fold(dataset: Any, k: builtins.float=5, shuffle: builtins.bool=False, labels: Tensor | None=None, seed: builtins.int | None=None) -> Any:
    """The ``k`` folds of a cross-validation: pairs of a part to learn from and one to be judged by. With ``labels`` each class is in every fold by its share.

    >>> import unigrad as ug
    >>> [(len(train), list(test)) for train, test in ug.data.k_fold([10, 11, 12, 13], k=2)]
    [(2, [10, 11]), (2, [12, 13])]"""
    ...
def stratified_split(dataset: Any, labels: Tensor, fraction: builtins.float=0.2, seed: builtins.int | None=None) -> Any:
    """A part to learn from, and a random one of about ``fraction`` to be judged by, in which each class has its share.

    >>> import unigrad as ug
    >>> train, test = ug.data.stratified_split(list(range(10)), [0] * 5 + [1] * 5, 0.4, seed=1)
    >>> len(train), sum(item >= 5 for item in test)
    (6, 2)"""
    ...
def validation_split(dataset: Any, fraction: builtins.float=0.2) -> Any:
    """The first items to learn from, and the last ``fraction`` to be judged by, unshuffled, as Keras has it.

    >>> import unigrad as ug
    >>> [list(part) for part in ug.data.validation_split([1, 2, 3, 4, 5])]
    [[1, 2, 3, 4], [5]]"""
    ...
