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
    """The arrays, broadcast to their common shape.

    >>> import unigrad.array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [(2, 3), (2, 3)]"""
    ...
def broadcast_shape(*shapes: Any) -> Tensor:
    """The shape that arrays of these shapes have in common."""
    ...
def broadcast_to(x: Tensor, /, shape: Any) -> Tensor:
    """``x``, broadcast to a shape.

    >>> import unigrad.array_api as xp
    >>> xp.broadcast_to(xp.ones(3), (2, 3)).shape
    (2, 3)"""
    ...
def concat(arrays: Any, /, *, axis: builtins.int=0) -> Tensor:
    """Arrays one after the other along an axis; with ``axis=None`` flattened first.

    >>> import unigrad.array_api as xp
    >>> xp.concat([xp.ones(2), xp.zeros(1)])
    tensor([1., 1., 0.])"""
    ...
def stack(arrays: Any, /, *, axis: builtins.int=0) -> Tensor:
    """Arrays of one shape along a new axis.

    >>> import unigrad.array_api as xp
    >>> xp.stack([xp.ones(2), xp.zeros(2)]).shape
    (2, 2)"""
    ...
def unstack(x: Tensor, /, *, axis: builtins.int=0) -> Any:
    """The arrays along an axis, as a tuple.

    >>> import unigrad.array_api as xp
    >>> xp.unstack(xp.asarray([1, 2]))
    (tensor(1), tensor(2))"""
    ...
def expand_dims(x: Tensor, /, axis: Any) -> Tensor:
    """With a new axis of size 1 at ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.expand_dims(xp.ones(3), axis=0).shape
    (1, 3)"""
    ...
def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without these axes, which have size 1.

    >>> import unigrad.array_api as xp
    >>> xp.squeeze(xp.ones((1, 3)), axis=0).shape
    (3,)"""
    ...
def flip(x: Tensor, /, *, axis: Any=None) -> Tensor:
    """With the elements along these axes, or all, in reverse order.

    >>> import unigrad.array_api as xp
    >>> xp.flip(xp.asarray([1.0, 3.0, 2.0]))
    tensor([2., 3., 1.])"""
    ...
def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """With axes at other places; the others keep their order.

    >>> import unigrad.array_api as xp
    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)"""
    ...
def permute_dims(x: Tensor, /, axes: Any) -> Tensor:
    """With the axes in another order.

    >>> import unigrad.array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    (3, 2)"""
    ...
def reshape(x: Tensor, /, shape: Any, *, copy: Any=None) -> Tensor:
    """The same elements in another shape; one size may be -1. With ``copy`` in memory of its own.

    >>> import unigrad.array_api as xp
    >>> xp.reshape(xp.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])"""
    ...
def roll(x: Tensor, /, shift: Any, *, axis: Any=None) -> Tensor:
    """With elements moved along axes, those that leave at one end coming in at the other.

    >>> import unigrad.array_api as xp
    >>> xp.roll(xp.arange(4), 1)
    tensor([3, 0, 1, 2])"""
    ...
def repeat(x: Tensor, repeats: Any, /, *, axis: Any=None) -> Tensor:
    """With each element along an axis repeated; flattened first without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), 2)
    tensor([1, 1, 2, 2])"""
    ...
def tile(x: Tensor, repetitions: Any, /) -> Tensor:
    """The whole array repeated along each axis.

    >>> import unigrad.array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2,))
    tensor([1, 2, 1, 2])"""
    ...
def take(x: Tensor, indices: Tensor, /, *, axis: Any=None) -> Tensor:
    """The elements with these indices along an axis.

    >>> import unigrad
    >>> unigrad.array_api.take(unigrad.tensor([5, 6, 7]), unigrad.tensor([2, 0])).tolist()
    [7, 5]"""
    ...
def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: builtins.int=-1) -> Tensor:
    """The elements with these indices along an axis, of each row its own; sizes of the other axes broadcast.

    >>> import unigrad.array_api as xp
    >>> xp.take_along_axis(xp.asarray([5, 6, 7]), xp.asarray([2, 0]), axis=0)
    tensor([7, 5])"""
    ...
