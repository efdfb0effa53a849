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
from unigrad import DType as DType
from unigrad import Tensor as Tensor

def is_float(dtype: DType | builtins.str | builtins.type) -> Any: ...
def kind(dtype: DType | builtins.str | builtins.type) -> Any:
    """"bool", "int" or "float"."""
    ...
def promoted(a: Any, b: Any) -> Any:
    """The dtype of two arrays' common values, by the standard's table; floats of 16 bits mix as their widths say.

    Raises TypeError where the standard has none: integers with floats, bools with either, uint64 with a signed integer."""
    ...
def of_scalar(value: builtins.float, like: Any) -> Any:
    """The dtype that a Python number has beside an array of the dtype ``like``."""
    ...
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that an operation on these arrays, dtypes and numbers has.

    >>> import unigrad
    >>> unigrad.array_api.result_type(unigrad.int8, unigrad.uint8)
    unigrad.int16"""
    ...
def isdtype(dtype: DType | builtins.str | builtins.type, kind: Any) -> Any:
    """Whether a dtype is of a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", or a tuple of them.

    >>> import unigrad
    >>> unigrad.array_api.isdtype(unigrad.float32, ("integral", "real floating"))
    True"""
    ...
def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether a dtype, or an array's, becomes another one by the standard's promotion.

    >>> import unigrad.array_api as xp
    >>> xp.can_cast(xp.int32, xp.int64)
    True"""
    ...
def astype(x: Tensor, dtype: DType | builtins.str | builtins.type, /, *, copy: builtins.bool=True, device: Device | builtins.str | None=None) -> Any:
    """``x`` as another dtype, on another device if one is given. Without ``copy`` an array that is so already is returned as it is.

    >>> import unigrad.array_api as xp
    >>> xp.astype(xp.asarray([1.5]), xp.int32)
    tensor([1], dtype=unigrad.int32)"""
    ...
def array(name: builtins.str, x: Tensor) -> Any:
    """``x``, if it is an array."""
    ...
class finfo_object:
    """Limits of a float dtype."""
    bits: Any
    eps: Any
    max: Any
    min: Any
    smallest_normal: Any
    dtype: Any
    @property
    def tiny(self) -> Any:
        """``smallest_normal``, as NumPy and PyTorch call it too."""
        ...
    @property
    def resolution(self) -> Any:
        """The power of ten that is as fine as decimal digits of the dtype are."""
        ...
    def __init__(self, bits: Any, eps: builtins.float, max: Any, min: Any, smallest_normal: Any, dtype: DType | builtins.str | builtins.type) -> None: ...
    def __repr__(self) -> builtins.str: ...
    def __setattr__(self, name: builtins.str, value: builtins.float) -> None: ...
    def __delattr__(self, name: builtins.str) -> None: ...
class iinfo_object:
    """Limits of an integer dtype."""
    bits: Any
    max: Any
    min: Any
    dtype: Any
    def __init__(self, bits: Any, max: Any, min: Any, dtype: DType | builtins.str | builtins.type) -> None: ...
    def __repr__(self) -> builtins.str: ...
    def __setattr__(self, name: builtins.str, value: builtins.float) -> None: ...
    def __delattr__(self, name: builtins.str) -> None: ...
def finfo(type: Any=..., /) -> Any:
    """Limits of a float dtype, or of an array's; of the default one without.

    >>> import unigrad
    >>> unigrad.array_api.finfo(unigrad.float32).bits
    32"""
    ...
def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype, or of an array's.

    >>> import unigrad
    >>> unigrad.array_api.iinfo(unigrad.int8).max
    127"""
    ...
