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
from unigrad.array_api._dtypes import array as array
from unigrad.array_api._dtypes import kind as kind

def asarray(obj: Any, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, copy: Any=None) -> Tensor:
    """An array of a number, nested sequences, or another array; see `unigrad.asarray`.

    >>> import unigrad
    >>> unigrad.array_api.asarray([1, 2], dtype=unigrad.float64).dtype
    unigrad.float64"""
    ...
def zeros(shape: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Zeros; float32 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.zeros(2)
    tensor([0., 0.])"""
    ...
def ones(shape: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones; float32 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.ones(2)
    tensor([1., 1.])"""
    ...
def empty(shape: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """An array whose values are not set: zeros here.

    >>> import unigrad.array_api as xp
    >>> xp.empty((2, 3)).shape
    (2, 3)"""
    ...
def full(shape: Any, fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """One value everywhere; without ``dtype`` bool, int64 or float32, as the value is.

    >>> import unigrad.array_api as xp
    >>> xp.full((2,), 7.0)
    tensor([7., 7.])"""
    ...
def zeros_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Zeros of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.zeros_like(xp.ones(2))
    tensor([0., 0.])"""
    ...
def ones_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.ones_like(xp.zeros(2))
    tensor([1., 1.])"""
    ...
def empty_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """An array of an array's shape whose values are not set: zeros here.

    >>> import unigrad.array_api as xp
    >>> xp.empty_like(xp.ones((2, 3))).shape
    (2, 3)"""
    ...
def full_like(x: Tensor, /, fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """One value everywhere, of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.full_like(xp.ones(2), 7.0)
    tensor([7., 7.])"""
    ...
def eye(n_rows: Any, n_cols: Any=None, /, *, k: builtins.float=0, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones on the diagonal ``k`` (above the main one: positive), zeros elsewhere.

    >>> import unigrad.array_api as xp
    >>> xp.eye(2)
    tensor([[1., 0.],
            [0., 1.]])"""
    ...
def arange(start: Any, /, stop: Any=None, step: builtins.int=1, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Numbers from ``start`` up to ``stop``, which is left out, by ``step``; int64 if all three are integers, else float32.

    >>> import unigrad.array_api as xp
    >>> xp.arange(0, 10, 3)
    tensor([0, 3, 6, 9])"""
    ...
def linspace(start: Any, stop: Any, /, num: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, endpoint: builtins.bool=True) -> Tensor:
    """``num`` numbers from ``start`` to ``stop`` with equal distances; without ``endpoint`` ``stop`` is left out.

    >>> import unigrad.array_api as xp
    >>> xp.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])"""
    ...
def meshgrid(*arrays: Any, indexing: builtins.str='xy') -> Any:
    """The coordinates of a grid, an array for each axis.

    >>> import unigrad.array_api as xp
    >>> [x.shape for x in xp.meshgrid(xp.arange(2), xp.arange(3))]
    [(3, 2), (3, 2)]"""
    ...
def tril(x: Tensor, /, *, k: builtins.float=0) -> Tensor:
    """The elements on and below the diagonal ``k``; zeros above.

    >>> import unigrad.array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])"""
    ...
def triu(x: Tensor, /, *, k: builtins.float=0) -> Tensor:
    """The elements on and above the diagonal ``k``; zeros below.

    >>> import unigrad.array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])"""
    ...
def filled(value: builtins.float, like: Any) -> Tensor:
    """A number as an array without axes, of the dtype that it has beside ``like``."""
    ...
