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

def std_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The standard deviation and the mean.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.ones(1, 2, 4).std_mean()]
    [0.0, 1.0]"""
    ...
def var_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The variance and the mean.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).var_mean()]
    [1.125, 1.25]"""
    ...
def quantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).quantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
    ...
def nanquantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """As `quantile`, of what is not NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).nanquantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
    ...
def allclose(self: Any, other: Any, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan: builtins.bool=False) -> builtins.bool:
    """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True"""
    ...
def equal(self: Any, other: Any) -> builtins.bool:
    """Whether another tensor has the same shape and the same elements.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).equal(unigrad.tensor([1.0, 3.0]))
    False"""
    ...
def is_floating_point(self: Any) -> builtins.bool:
    """Whether the dtype is one of floats.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_floating_point()
    True"""
    ...
def isposinf(self: Any) -> Tensor:
    """Whether each element is positive infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isposinf()
    tensor([False, False])"""
    ...
def isneginf(self: Any) -> Tensor:
    """Whether each element is negative infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isneginf()
    tensor([False, False])"""
    ...
def isreal(self: Any) -> Tensor:
    """Whether each element is a real number: there are no others here.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isreal()
    tensor([True, True])"""
    ...
def angle(self: Any) -> Tensor:
    """0 of what is not negative, pi of what is; NaN of NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).angle()
    tensor([0., 0.])"""
    ...
def msort(self: Any) -> Tensor:
    """Sorted along the first axis.

    >>> import unigrad
    >>> unigrad.tensor([True, False]).msort()
    tensor([False,  True])"""
    ...
def is_complex(self: Any) -> builtins.bool:
    """Whether the dtype is one of complex numbers: none is.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_complex()
    False"""
    ...
