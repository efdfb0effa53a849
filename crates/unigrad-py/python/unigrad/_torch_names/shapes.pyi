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
from unigrad._unigrad import MemoryFormat as MemoryFormat
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad._errors import AxisError as AxisError
from unigrad._errors import ShapeError as ShapeError

def hsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``hsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).hsplit(2)]
    [[0.5], [2.0]]"""
    ...
def vsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``vsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).vsplit(2)]
    [[[1.0, 2.0]], [[3.0, 4.0]]]"""
    ...
def dsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``dsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.ones(1, 2, 4).dsplit(2)]
    [[[[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]]]]"""
    ...
def fliplr(self: Any) -> Tensor:
    """Reversed along the second axis.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).fliplr()
    tensor([[2., 1., 0.]])"""
    ...
def flipud(self: Any) -> Tensor:
    """Reversed along the first axis.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).flipud()
    tensor([2.0000, 0.5000])"""
    ...
def view_as(self: Any, other: Any) -> Tensor:
    """In another tensor's shape.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).view_as(unigrad.tensor([1.0, 0.0, 2.0]))
    tensor([0., 1., 2.])"""
    ...
def type_as(self: Any, other: Any) -> Tensor:
    """In another tensor's dtype.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).type_as(unigrad.tensor([1, 2]))
    tensor([0, 2])"""
    ...
def broadcast_tensors(*tensors: Any) -> builtins.tuple[Tensor, ...]:
    """Tensors expanded to the shape that they have together.

    >>> import unigrad
    >>> [tuple(x.shape) for x in unigrad.broadcast_tensors(unigrad.ones(2, 1), unigrad.ones(3))]
    [(2, 3), (2, 3)]"""
    ...
def atleast_1d(*tensors: Any) -> Any:
    """With one axis at least.

    >>> import unigrad
    >>> unigrad.atleast_1d(unigrad.tensor(1.0)).shape
    (1,)"""
    ...
def atleast_2d(*tensors: Any) -> Any:
    """With two axes at least: those that are missing come first.

    >>> import unigrad
    >>> unigrad.atleast_2d(unigrad.ones(3)).shape
    (1, 3)"""
    ...
def atleast_3d(*tensors: Any) -> Any:
    """With three axes at least.

    >>> import unigrad
    >>> unigrad.atleast_3d(unigrad.ones(3)).shape
    (1, 3, 1)"""
    ...
def split_with_sizes(self: Any, split_sizes: Any, dim: builtins.int=0) -> Tensor:
    """Parts of these sizes along ``dim``.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).split_with_sizes([1, 1])]
    [[0.5], [2.0]]"""
    ...
def sum_to_size(self: Any, *size: Any) -> Tensor:
    """The sum over axes that broadcasting from ``size`` would add or stretch: of that shape.

    >>> import unigrad
    >>> unigrad.ones(2, 3).sum_to_size(1, 3).tolist()
    [[2.0, 2.0, 2.0]]"""
    ...
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of an element of each vector, as rows, the last one changing first.

    >>> import unigrad
    >>> unigrad.cartesian_prod(unigrad.tensor([1, 2]), unigrad.tensor([3, 4])).tolist()
    [[1, 3], [1, 4], [2, 3], [2, 4]]"""
    ...
def combinations(self: Any, r: builtins.int=2, with_replacement: builtins.bool=False) -> Tensor:
    """All choices of ``r`` elements of a vector, in its order, as rows.

    >>> import unigrad
    >>> unigrad.tensor([1, 2, 3]).combinations().tolist()
    [[1, 2], [1, 3], [2, 3]]"""
    ...
def nelement(self: Any) -> builtins.int:
    """The number of elements.

    >>> import unigrad
    >>> unigrad.ones(2, 3).nelement()
    6"""
    ...
def ndimension(self: Any) -> builtins.int:
    """The number of axes.

    >>> import unigrad
    >>> unigrad.ones(2, 3).ndimension()
    2"""
    ...
def element_size(self: Any) -> builtins.int:
    """The bytes of an element.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).element_size()
    4"""
    ...
def is_contiguous(self: Any, memory_format: MemoryFormat | builtins.str | None=None) -> builtins.bool:
    """True: a tensor is a value, whose elements are in order wherever it is read.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_contiguous()
    True"""
    ...
def contiguous(self: Any, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """The tensor itself: a tensor is a value, whose elements are in order wherever it is read.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).contiguous()
    tensor([0.5000, 2.0000])"""
    ...
def stride(self: Any, dim: Any=None) -> Any:
    """How many elements lie between neighbours along each axis, or along ``dim``: those of a row-major order, in which a value is read.

    >>> import unigrad
    >>> unigrad.ones(2, 3).stride()
    (3, 1)"""
    ...
def broadcast_shapes(*shapes: Any) -> builtins.tuple[builtins.int, ...]:
    """The shape that tensors of these shapes have together.

    >>> import unigrad
    >>> unigrad.broadcast_shapes((2, 1), (3,))
    (2, 3)"""
    ...
def resize_(self: Any, *size: Any, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """The same elements in another shape, for all holders of this tensor. Another number of elements is an error, but for none: there is no memory to grow
    into.

    >>> import unigrad
    >>> unigrad.ones(2, 3).resize_(3, 2).shape
    (3, 2)"""
    ...
def is_same_size(self: Any, other: Any) -> builtins.bool:
    """Whether both have the same shape.

    >>> import unigrad
    >>> unigrad.ones(2).is_same_size(unigrad.zeros(2))
    True"""
    ...
def is_nonzero(self: Any) -> builtins.bool:
    """Whether the only element is not 0; a read.

    >>> import unigrad
    >>> unigrad.tensor([0.5]).is_nonzero()
    True"""
    ...
def pin_memory(self: Any, device: Device | builtins.str | None=None) -> Tensor:
    """The tensor itself: memory is pinned where a copy needs it.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).pin_memory()
    tensor([0.5000, 2.0000])"""
    ...
def share_memory_(self: Any) -> Tensor:
    """The tensor itself: threads of one process share all memory.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).share_memory_()
    tensor([0.5000, 2.0000])"""
    ...
