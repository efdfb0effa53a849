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
from unigrad.array_api._dtypes import promoted as promoted

def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """``x1 @ x2``.

    >>> import unigrad.array_api as xp
    >>> xp.matmul(xp.ones((2, 3)), xp.ones((3, 4))).shape
    (2, 4)"""
    ...
def matrix_transpose(x: Tensor, /) -> Tensor:
    """Matrices, in the last two axes, transposed.

    >>> import unigrad.array_api as xp
    >>> xp.matrix_transpose(xp.ones((2, 3))).shape
    (3, 2)"""
    ...
def tensordot(x1: Tensor, x2: Tensor, /, *, axes: builtins.int=2) -> Tensor:
    """Sums of products over the last ``axes`` axes of ``x1`` and the first of ``x2``, or over pairs of axes that are named.

    >>> import unigrad.array_api as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    (2, 4)"""
    ...
def vecdot(x1: Tensor, x2: Tensor, /, *, axis: builtins.int=-1) -> Tensor:
    """Sums of products along an axis, counted from the end.

    >>> import unigrad.array_api as xp
    >>> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
    tensor(11.)"""
    ...
