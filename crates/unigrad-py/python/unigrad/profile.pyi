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

class Profile:
    """Profiles what devices do inside of ``with``; afterwards ``print(profile.summary())``, ``profile.save("profile.html")``. One at a time in a process.

    >>> import unigrad as ug
    >>> with ug.profile.Profile() as seen:
    ...     _ = (ug.rand(10) + 1).sum().item()
    >>> len(seen.events) > 0
    True"""
    def __init__(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *raised: Any) -> None: ...
    @property
    def seconds(self) -> Any:
        """How long it took."""
        ...
    @property
    def events(self) -> Any:
        """Each piece of work: a dict of name, kind, start and duration in microseconds, bytes and floating-point operations."""
        ...
    def summary(self) -> Any:
        """A table of kernels by time."""
        ...
    def save(self, path: builtins.str | PathLike[builtins.str]) -> Any:
        """A page with a timeline; a trace for Perfetto where the name ends in ``.json``."""
        ...
    def __repr__(self) -> builtins.str: ...
