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
from unigrad import NoGrad as NoGrad
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad._errors import AutogradError as AutogradError
from unigrad._errors import ShapeError as ShapeError

def fill_(self: Any, value: builtins.float) -> Tensor:
    """One value everywhere, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).fill_(9.0)
    tensor([9., 9.])"""
    ...
def zero_(self: Any) -> Tensor:
    """Zeros, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).zero_()
    tensor([0., 0.])"""
    ...
def fill_diagonal_(self: Any, fill_value: Any, wrap: builtins.bool=False) -> Tensor:
    """One value on the diagonal, of a matrix or of more axes that are equally long, for all holders of this tensor. With ``wrap`` the diagonal of a tall
    matrix begins again below its end.

    >>> import unigrad
    >>> unigrad.zeros(2, 2).fill_diagonal_(3.0).tolist()
    [[3.0, 0.0], [0.0, 3.0]]"""
    ...
def normal_(self: Any, mean: builtins.float=0.0, std: builtins.float=1.0, *, generator: Any=None) -> Tensor:
    """Normally distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).normal_().shape
    (2,)"""
    ...
def uniform_(self: Any, from_: builtins.float=0.0, to: builtins.float=1.0, *, generator: Any=None) -> Tensor:
    """Uniformly distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).uniform_().shape
    (2,)"""
    ...
def random_(self: Any, from_: Any=None, to: Any=None, *, generator: Any=None) -> Tensor:
    """Integers from 0 to below ``from_``, or from ``from_`` to below ``to``; without either all that the dtype holds. For all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).random_(3, 4)
    tensor([3., 3.])"""
    ...
def bernoulli_(self: Any, p: builtins.float=0.5, *, generator: Any=None) -> Tensor:
    """1 with the probability ``p``, a number or a tensor that broadcasts, else 0, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).bernoulli_(1.0)
    tensor([1., 1.])"""
    ...
def exponential_(self: Any, lambd: builtins.float=1.0, *, generator: Any=None) -> Tensor:
    """Numbers of the exponential distribution with this rate, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).exponential_().shape
    (2,)"""
    ...
def geometric_(self: Any, p: Any, *, generator: Any=None) -> Tensor:
    """How many trials of probability ``p`` there are until one succeeds, that one among them, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).geometric_(1.0)
    tensor([1., 1.])"""
    ...
def log_normal_(self: Any, mean: builtins.float=1.0, std: builtins.float=2.0, *, generator: Any=None) -> Tensor:
    """Numbers whose logarithms are normally distributed with this mean and deviation, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).log_normal_().shape
    (2,)"""
    ...
def cauchy_(self: Any, median: builtins.float=0.0, sigma: builtins.float=1.0, *, generator: Any=None) -> Tensor:
    """Numbers of Cauchy's distribution, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).cauchy_().shape
    (2,)"""
    ...
