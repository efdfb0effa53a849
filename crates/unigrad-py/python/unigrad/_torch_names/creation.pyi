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
from unigrad._unigrad import Layout as Layout
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad._errors import DTypeError as DTypeError

def as_tensor(data: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of an object; a tensor of that dtype and device is returned as it is.

    >>> import unigrad
    >>> unigrad.as_tensor([1, 2])
    tensor([1, 2])"""
    ...
def new_zeros(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_zeros(2)
    tensor([0., 0.])"""
    ...
def new_ones(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 1; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_ones(2)
    tensor([1., 1.])"""
    ...
def new_empty(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_empty((2, 2)).shape
    (2, 2)"""
    ...
def new_full(self: Any, size: builtins.int | Sequence[builtins.int], fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """A tensor of this size with one value; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_full((3,), 7.0)
    tensor([7., 7., 7.])"""
    ...
def new_tensor(self: Any, data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, pin_memory: builtins.bool=False) -> Tensor:
    """A tensor of data; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_tensor([1.0, 2.0])
    tensor([1., 2.])"""
    ...
def bernoulli(self: Any, p: Any=None, *, generator: Any=None) -> Tensor:
    """0 or 1, 1 with the probability that each element is, or with the probability ``p``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 1.0]).bernoulli()
    tensor([0., 1.])"""
    ...
def multinomial(self: Any, num_samples: builtins.int, replacement: builtins.bool=False, *, generator: Any=None) -> Tensor:
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]"""
    ...
def normal(mean: builtins.float=0.0, std: builtins.float=1.0, size: builtins.int | Sequence[builtins.int] | None=None, *, generator: Any=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)"""
    ...
def randint_like(x: Tensor, low: Any, high: Any=None, *, generator: Any=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Random integers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randint_like(unigrad.zeros(2, 3), 10).shape
    (2, 3)"""
    ...
def hamming_window(window_length: Any, periodic: builtins.bool=True, alpha: builtins.float=0.54, beta: builtins.float=0.46, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Hamming's window: ``alpha - beta cos(2 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])"""
    ...
def hann_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Hann's window: ``(1 - cos(2 pi i / n)) / 2``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...
def blackman_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Blackman's window: ``0.42 - cos(2 pi i / n) / 2 + 0.08 cos(4 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.blackman_window(4).round(decimals=2).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400])"""
    ...
def bartlett_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Bartlett's window, a triangle from 0 to 1 and back; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...
def vander(x: Tensor, N: Any=None, *, increasing: builtins.bool=False) -> Tensor:
    """Powers of a vector's elements as columns, the greatest first, or last with ``increasing``; ``N`` of them, as many as elements without.

    >>> import unigrad
    >>> unigrad.vander(unigrad.tensor([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]"""
    ...
def cat(tensors: Any, dim: builtins.int=0, *, axis: Any=None) -> Tensor:
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch.

    >>> import unigrad
    >>> unigrad.cat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])"""
    ...
def scalar_tensor(value: builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A number as a tensor without axes; of the default dtype unless said.

    >>> import unigrad
    >>> unigrad.scalar_tensor(2.0)
    tensor(2.)"""
    ...
