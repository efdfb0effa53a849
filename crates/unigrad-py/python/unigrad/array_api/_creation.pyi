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
    """Zeros; float32 without ``dtype``."""
    ...
def ones(shape: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones; float32 without ``dtype``."""
    ...
def empty(shape: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """An array whose values are not set: zeros here."""
    ...
def full(shape: Any, fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """One value everywhere; without ``dtype`` bool, int64 or float32, as the value is."""
    ...
def zeros_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Zeros of an array's shape."""
    ...
def ones_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones of an array's shape."""
    ...
def empty_like(x: Tensor, /, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """An array of an array's shape whose values are not set: zeros here."""
    ...
def full_like(x: Tensor, /, fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """One value everywhere, of an array's shape."""
    ...
def eye(n_rows: Any, n_cols: Any=None, /, *, k: builtins.float=0, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Ones on the diagonal ``k`` (above the main one: positive), zeros elsewhere."""
    ...
def arange(start: Any, /, stop: Any=None, step: builtins.int=1, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Numbers from ``start`` up to ``stop``, which is left out, by ``step``; int64 if all three are integers, else float32."""
    ...
def linspace(start: Any, stop: Any, /, num: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, endpoint: builtins.bool=True) -> Tensor:
    """``num`` numbers from ``start`` to ``stop`` with equal distances; without ``endpoint`` ``stop`` is left out."""
    ...
def meshgrid(*arrays: Any, indexing: builtins.str='xy') -> Any:
    """The coordinates of a grid, an array for each axis."""
    ...
def tril(x: Tensor, /, *, k: builtins.float=0) -> Tensor:
    """The elements on and below the diagonal ``k``; zeros above."""
    ...
def triu(x: Tensor, /, *, k: builtins.float=0) -> Tensor:
    """The elements on and above the diagonal ``k``; zeros below."""
    ...
def filled(value: builtins.float, like: Any) -> Tensor:
    """A number as an array without axes, of the dtype that it has beside ``like``."""
    ...
