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
from unigrad.array_api._dtypes import result_type as result_type

def broadcast_arrays(*arrays: Any) -> Any:
    """The arrays, broadcast to their common shape."""
    ...
def broadcast_shape(*shapes: Any) -> Tensor:
    """The shape that arrays of these shapes have in common."""
    ...
def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """``x``, broadcast to a shape."""
    ...
def concat(arrays: Any, /, *, axis: builtins.int=0) -> Tensor:
    """Arrays one after the other along an axis; with ``axis=None`` flattened first."""
    ...
def stack(arrays: Any, /, *, axis: builtins.int=0) -> Tensor:
    """Arrays of one shape along a new axis."""
    ...
def unstack(x: Tensor, /, *, axis: builtins.int=0) -> Any:
    """The arrays along an axis, as a tuple."""
    ...
def expand_dims(x: Tensor, /, axis: Any) -> Tensor:
    """With a new axis of size 1 at ``axis``."""
    ...
def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without these axes, which have size 1."""
    ...
def flip(x: Tensor, /, *, axis: Any=None) -> Tensor:
    """With the elements along these axes, or all, in reverse order."""
    ...
def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """With axes at other places; the others keep their order."""
    ...
def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """With the axes in another order."""
    ...
def reshape(x: Tensor, /, shape: Any, *, copy: Any=None) -> Tensor:
    """The same elements in another shape; one size may be -1. With ``copy`` in memory of its own."""
    ...
def roll(x: Tensor, /, shift: Any, *, axis: Any=None) -> Tensor:
    """With elements moved along axes, those that leave at one end coming in at the other."""
    ...
def repeat(x: Tensor, repeats: Any, /, *, axis: Any=None) -> Tensor:
    """With each element along an axis repeated; flattened first without ``axis``."""
    ...
def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """The whole array repeated along each axis."""
    ...
def take(x: Tensor, indices: Tensor, /, *, axis: Any=None) -> Tensor:
    """The elements with these indices along an axis.

    >>> import unigrad
    >>> unigrad.array_api.take(unigrad.tensor([5, 6, 7]), unigrad.tensor([2, 0])).tolist()
    [7, 5]"""
    ...
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: builtins.int=-1) -> Tensor:
    """The elements with these indices along an axis, of each row its own; sizes of the other axes broadcast."""
    ...
