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

def as_tensor(data: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of an object; a tensor of that dtype and device is returned as it is.

    >>> import unigrad
    >>> unigrad.as_tensor([1, 2])
    tensor([1, 2])"""
    ...
def new_zeros(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_zeros(2)
    tensor([0., 0.])"""
    ...
def new_ones(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 1; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_ones(2)
    tensor([1., 1.])"""
    ...
def new_empty(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_empty((2, 2)).shape
    (2, 2)"""
    ...
def new_full(self: Any, size: builtins.int | Sequence[builtins.int], fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of this size with one value; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_full((3,), 7.0)
    tensor([7., 7., 7.])"""
    ...
def new_tensor(self: Any, data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of data; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_tensor([1.0, 2.0])
    tensor([1., 2.])"""
    ...
def bernoulli(self: Any) -> Tensor:
    """0 or 1, 1 with the probability that each element is.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 1.0]).bernoulli()
    tensor([0., 1.])"""
    ...
def multinomial(self: Any, num_samples: builtins.int, replacement: builtins.bool=False) -> Tensor:
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]"""
    ...
def normal(mean: builtins.float=0.0, std: builtins.float=1.0, size: builtins.int | Sequence[builtins.int] | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors.

    >>> import unigrad
    >>> unigrad.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)"""
    ...
def randint_like(x: Tensor, low: Any, high: Any=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Random integers of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.randint_like(unigrad.zeros(2, 3), 10).shape
    (2, 3)"""
    ...
def cat(tensors: Any, dim: builtins.int=0, *, axis: Any=None) -> Tensor:
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch.

    >>> import unigrad
    >>> unigrad.cat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])"""
    ...
def scalar_tensor(value: builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A number as a tensor without axes; ``float32`` unless said.

    >>> import unigrad
    >>> unigrad.scalar_tensor(2.0)
    tensor(2.)"""
    ...
