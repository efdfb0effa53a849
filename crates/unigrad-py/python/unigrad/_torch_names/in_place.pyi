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
def normal_(self: Any, mean: builtins.float=0.0, std: builtins.float=1.0) -> Tensor:
    """Normally distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).normal_().shape
    (2,)"""
    ...
def uniform_(self: Any, from_: builtins.float=0.0, to: builtins.float=1.0) -> Tensor:
    """Uniformly distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).uniform_().shape
    (2,)"""
    ...
