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
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad import Tensor as Tensor

def set_value(tensor: Tensor, value: builtins.float) -> Any:
    """Gives a tensor another value, for all its holders; no gradient knows. Returns the tensor."""
    ...
class Parameter(Tensor):
    """A tensor that a module trains: set as an attribute of a ``Module``, it is among its ``parameters()``.

    It is a leaf of its own with the values of ``data``; with ``requires_grad=False`` no gradient arrives at it.

    >>> import unigrad
    >>> weight = unigrad.nn.Parameter(unigrad.zeros(2, 3))
    >>> weight.requires_grad, weight.shape
    (True, (2, 3))"""
    def __init__(self, data: Any=None, requires_grad: builtins.bool=True) -> None: ...
    def __repr__(self) -> builtins.str: ...
class Buffer(Tensor):
    """A tensor that a module keeps and does not train: running statistics, say. Set as an attribute, it is among its ``buffers()``.

    >>> import unigrad
    >>> module = unigrad.nn.Module()
    >>> module.mean = unigrad.nn.Buffer(unigrad.zeros(3))
    >>> list(module.state_dict())
    ['mean']"""
    def __init__(self, data: Any=None, *, persistent: builtins.bool=True) -> None: ...
_Parameter = Parameter
