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

class __array_namespace_info__:
    """What the namespace has.

    >>> import unigrad
    >>> unigrad.array_api.__array_namespace_info__().default_dtypes()["real floating"]
    unigrad.float32"""
    def capabilities(self) -> Any:
        """What shapes may depend on, and how many axes an array may have."""
        ...
    def default_device(self) -> Any:
        """Where arrays are made if no device is named."""
        ...
    def default_dtypes(self, *, device: Device | builtins.str | None=None) -> Any:
        """The dtypes of arrays that are made without one."""
        ...
    def dtypes(self, *, device: Device | builtins.str | None=None, kind: Any=None) -> Any:
        """The standard's dtypes that are here, by name; of a kind or several, if asked."""
        ...
    def devices(self) -> Any:
        """All devices that can be opened."""
        ...
