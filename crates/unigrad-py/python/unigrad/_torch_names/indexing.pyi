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
from unigrad._errors import DTypeError as DTypeError
from unigrad._errors import ShapeError as ShapeError

def gather(self: Any, dim: Any, index: Any) -> Tensor:
    """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]"""
    ...
def scatter(self: Any, dim: Any, index: Any, src: Tensor | None=None, *, value: builtins.float | None=None, reduce: builtins.bool | None=None) -> Tensor:
    """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there.

    >>> import unigrad
    >>> unigrad.zeros(3).scatter(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
    ...
def argwhere(self: Any) -> Tensor:
    """The indices of what is not 0: ``[n, ndim]``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).argwhere().tolist()
    [[0], [1]]"""
    ...
def select_scatter(self: Any, src: Tensor, dim: Any, index: Any) -> Tensor:
    """A copy with ``src`` as element ``index`` along ``dim``.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).select_scatter(unigrad.tensor([7.0]), 1, unigrad.tensor([0]))
    tensor([[7., 1., 2.]])"""
    ...
def slice_scatter(self: Any, src: Tensor, dim: builtins.int=0, start: Any=None, end: Any=None, step: builtins.int=1) -> Tensor:
    """A copy with ``src`` as the elements from ``start`` to ``end`` along ``dim``, every ``step``-th of them.

    >>> import unigrad
    >>> unigrad.zeros(4).slice_scatter(unigrad.ones(2), 0, 1, 4, 2).tolist()
    [0.0, 1.0, 0.0, 1.0]"""
    ...
def diagonal_scatter(self: Any, src: Tensor, offset: builtins.int=0, dim1: builtins.int=0, dim2: builtins.int=1) -> Tensor:
    """A copy with ``src`` as its diagonal.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).diagonal_scatter(unigrad.tensor([7.0]))
    tensor([[7., 1., 2.]])"""
    ...
def unravel_index(self: Any, shape: Any) -> Tensor:
    """Row-major numbers of elements as indices of a tensor of this shape: a tensor for each axis.

    >>> import unigrad
    >>> [axis.tolist() for axis in unigrad.tensor([1, 5]).unravel_index((2, 3))]
    [[0, 1], [1, 2]]"""
    ...
