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

def flip(self: Any, *dims: Any, axis: Any=None, **keyword: Any) -> Tensor:
    """Reversed along these dims; along all without."""
    ...
def permute(self: Any, *dims: Any, **keyword: Any) -> Tensor:
    """Its axes in this order."""
    ...
def tile(self: Any, *repeats: Any, **keyword: Any) -> Tensor:
    """Repeated so often along each axis."""
    ...
def transpose(self: Any, *dims: Any, dim0: Any=None, dim1: Any=None) -> Tensor:
    """Two axes exchanged; NumPy's order of all axes if there are not two."""
    ...
def split(self: Any, split_size: Any=None, dim: builtins.int=0, *, axis: Any=None, split_size_or_sections: Any=None) -> builtins.tuple[Tensor, ...]:
    """Parts of this size, or of these sizes, along ``dim``."""
    ...
def tensor_split(self: Any, indices_or_sections: Any=None, dim: builtins.int=0, *, axis: Any=None, indices: Tensor | None=None, sections: Any=None) -> builtins.tuple[Tensor, ...]:
    """So many parts along ``dim``, or parts that end at these indices."""
    ...
def hsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``hsplit`` names."""
    ...
def vsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``vsplit`` names."""
    ...
def dsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``dsplit`` names."""
    ...
def fliplr(self: Any) -> Tensor:
    """Reversed along the second axis."""
    ...
def flipud(self: Any) -> Tensor:
    """Reversed along the first axis."""
    ...
def view_as(self: Any, other: Any) -> Tensor:
    """In another tensor's shape."""
    ...
def type_as(self: Any, other: Any) -> Tensor:
    """In another tensor's dtype."""
    ...
def broadcast_tensors(*tensors: Any) -> builtins.tuple[Tensor, ...]:
    """Tensors expanded to the shape that they have together.

    >>> import unigrad
    >>> [tuple(x.shape) for x in unigrad.broadcast_tensors(unigrad.ones(2, 1), unigrad.ones(3))]
    [(2, 3), (2, 3)]"""
    ...
def atleast_1d(*tensors: Any) -> Any:
    """With one axis at least."""
    ...
def atleast_2d(*tensors: Any) -> Any:
    """With two axes at least: those that are missing come first."""
    ...
def atleast_3d(*tensors: Any) -> Any:
    """With three axes at least."""
    ...
