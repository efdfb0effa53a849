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
from unigrad.nn.module import Module as Module

class _Convolution(Module):
    groups: builtins.int
    kernel_size: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int]
    dilation: builtins.int | Sequence[builtins.int]
    output_padding: builtins.int | Sequence[builtins.int]
    transposed: Any
    padding_mode: Any
    weight: Any
    padding: builtins.int | Sequence[builtins.int]
    bias: Any
    def __init__(self, n: Any, channels: Any, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int], transposed: Any, output_padding: builtins.int | Sequence[builtins.int], groups: builtins.int, bias: Any, mode: Any, device: Device | builtins.str, dtype: DType | builtins.str | builtins.type) -> None: ...
    def extra_repr(self) -> Any: ...
class _Pool(Module):
    def extra_repr(self) -> Any: ...
class _Pad(Module):
    def extra_repr(self) -> Any: ...
_base = _Pad
class Conv1d(_Convolution):
    """Convolution over `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.Conv1d(3, 5, kernel_size=3, padding=1)(ug.zeros(1, 3, 8)).shape
    (1, 5, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConvTranspose1d(_Convolution):
    """Transposed convolution over `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.ConvTranspose1d(3, 5, kernel_size=2, stride=2)(ug.zeros(1, 3, 4)).shape
    (1, 5, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, l]` or `[c, l]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class MaxPool1d(_Pool):
    """The greatest element of each window of `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.MaxPool1d(2)(ug.zeros(1, 3, 8)).shape
    (1, 3, 4)"""
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, return_indices: builtins.bool=False, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class AvgPool1d(_Pool):
    """The average of each window of `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.AvgPool1d(2)(ug.zeros(1, 3, 8)).shape
    (1, 3, 4)"""
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    divisor_override: Any
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxUnpool1d(_Pool):
    """Puts back what `MaxPool1d` took, of `[n, c, l]` or `[c, l]`; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.MaxPool1d(2, return_indices=True)(ug.rand(1, 3, 8))
    >>> ug.nn.MaxUnpool1d(2)(pooled, where).shape
    (1, 3, 8)"""
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class LPPool1d(_Pool):
    """The p-norm of each window of `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.LPPool1d(2.0, 2)(ug.ones(1, 3, 8)).shape
    (1, 3, 4)"""
    norm_type: builtins.float
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveAvgPool1d(_Pool):
    """Averages over as many regions of `[n, c, l]` or `[c, l]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveAvgPool1d(2)(ug.zeros(1, 3, 8)).shape
    (1, 3, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    def __init__(self, output_size: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool1d(_Pool):
    """Greatest elements of as many regions of `[n, c, l]` or `[c, l]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveMaxPool1d(2)(ug.zeros(1, 3, 8)).shape
    (1, 3, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    def __init__(self, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, l]` or `[c, l]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class ZeroPad1d(_Pad):
    """Zeros around `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.ZeroPad1d(1)(ug.zeros(1, 3, 4)).shape
    (1, 3, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConstantPad1d(_Pad):
    """One value around `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.ConstantPad1d(1, 9.0)(ug.zeros(1, 3, 4)).shape
    (1, 3, 6)"""
    value: builtins.float
    def __init__(self, padding: builtins.int | Sequence[builtins.int], value: builtins.float) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReflectionPad1d(_Pad):
    """Elements mirrored at the border around `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.ReflectionPad1d(1)(ug.zeros(1, 3, 4)).shape
    (1, 3, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReplicationPad1d(_Pad):
    """Copies of the border around `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.ReplicationPad1d(1)(ug.zeros(1, 3, 4)).shape
    (1, 3, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class CircularPad1d(_Pad):
    """Elements of the other side around `[n, c, l]` or `[c, l]`.

    >>> import unigrad as ug
    >>> ug.nn.CircularPad1d(1)(ug.zeros(1, 3, 4)).shape
    (1, 3, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, l]` or `[c, l]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class Conv2d(_Convolution):
    """Convolution over `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.Conv2d(3, 5, kernel_size=3, padding=1)(ug.zeros(1, 3, 8, 8)).shape
    (1, 5, 8, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConvTranspose2d(_Convolution):
    """Transposed convolution over `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ConvTranspose2d(3, 5, kernel_size=2, stride=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 5, 8, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class MaxPool2d(_Pool):
    """The greatest element of each window of `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.MaxPool2d(2)(ug.zeros(1, 3, 8, 8)).shape
    (1, 3, 4, 4)"""
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, return_indices: builtins.bool=False, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class AvgPool2d(_Pool):
    """The average of each window of `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.AvgPool2d(2)(ug.zeros(1, 3, 8, 8)).shape
    (1, 3, 4, 4)"""
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    divisor_override: Any
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxUnpool2d(_Pool):
    """Puts back what `MaxPool2d` took, of `[n, c, h, w]` or `[c, h, w]`; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.MaxPool2d(2, return_indices=True)(ug.rand(1, 3, 8, 8))
    >>> ug.nn.MaxUnpool2d(2)(pooled, where).shape
    (1, 3, 8, 8)"""
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class LPPool2d(_Pool):
    """The p-norm of each window of `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.LPPool2d(2.0, 2)(ug.ones(1, 3, 8, 8)).shape
    (1, 3, 4, 4)"""
    norm_type: builtins.float
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveAvgPool2d(_Pool):
    """Averages over as many regions of `[n, c, h, w]` or `[c, h, w]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveAvgPool2d(2)(ug.zeros(1, 3, 8, 8)).shape
    (1, 3, 2, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    def __init__(self, output_size: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool2d(_Pool):
    """Greatest elements of as many regions of `[n, c, h, w]` or `[c, h, w]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveMaxPool2d(2)(ug.zeros(1, 3, 8, 8)).shape
    (1, 3, 2, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    def __init__(self, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, h, w]` or `[c, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class ZeroPad2d(_Pad):
    """Zeros around `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ZeroPad2d(1)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConstantPad2d(_Pad):
    """One value around `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ConstantPad2d(1, 9.0)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 6, 6)"""
    value: builtins.float
    def __init__(self, padding: builtins.int | Sequence[builtins.int], value: builtins.float) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReflectionPad2d(_Pad):
    """Elements mirrored at the border around `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ReflectionPad2d(1)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReplicationPad2d(_Pad):
    """Copies of the border around `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ReplicationPad2d(1)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class CircularPad2d(_Pad):
    """Elements of the other side around `[n, c, h, w]` or `[c, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.CircularPad2d(1)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class Conv3d(_Convolution):
    """Convolution over `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.Conv3d(3, 5, kernel_size=3, padding=1)(ug.zeros(1, 3, 8, 8, 8)).shape
    (1, 5, 8, 8, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConvTranspose3d(_Convolution):
    """Transposed convolution over `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ConvTranspose3d(3, 5, kernel_size=2, stride=2)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 5, 8, 8, 8)"""
    def __init__(self, in_channels: builtins.int, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class MaxPool3d(_Pool):
    """The greatest element of each window of `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.MaxPool3d(2)(ug.zeros(1, 3, 8, 8, 8)).shape
    (1, 3, 4, 4, 4)"""
    dilation: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    ceil_mode: builtins.bool
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, return_indices: builtins.bool=False, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class AvgPool3d(_Pool):
    """The average of each window of `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.AvgPool3d(2)(ug.zeros(1, 3, 8, 8, 8)).shape
    (1, 3, 4, 4, 4)"""
    ceil_mode: builtins.bool
    count_include_pad: builtins.bool
    divisor_override: Any
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MaxUnpool3d(_Pool):
    """Puts back what `MaxPool3d` took, of `[n, c, d, h, w]` or `[c, d, h, w]`; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.MaxPool3d(2, return_indices=True)(ug.rand(1, 3, 8, 8, 8))
    >>> ug.nn.MaxUnpool3d(2)(pooled, where).shape
    (1, 3, 8, 8, 8)"""
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0) -> None: ...
    def forward(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor, indices: Tensor, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor: ...
class LPPool3d(_Pool):
    """The p-norm of each window of `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.LPPool3d(2.0, 2)(ug.ones(1, 3, 8, 8, 8)).shape
    (1, 3, 4, 4, 4)"""
    norm_type: builtins.float
    ceil_mode: builtins.bool
    def __init__(self, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveAvgPool3d(_Pool):
    """Averages over as many regions of `[n, c, d, h, w]` or `[c, d, h, w]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveAvgPool3d(2)(ug.zeros(1, 3, 8, 8, 8)).shape
    (1, 3, 2, 2, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    def __init__(self, output_size: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class AdaptiveMaxPool3d(_Pool):
    """Greatest elements of as many regions of `[n, c, d, h, w]` or `[c, d, h, w]` as asked.

    >>> import unigrad as ug
    >>> ug.nn.AdaptiveMaxPool3d(2)(ug.zeros(1, 3, 8, 8, 8)).shape
    (1, 3, 2, 2, 2)"""
    output_size: builtins.int | Sequence[builtins.int]
    return_indices: builtins.bool
    def __init__(self, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with other sizes."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class ZeroPad3d(_Pad):
    """Zeros around `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ZeroPad3d(1)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 3, 6, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ConstantPad3d(_Pad):
    """One value around `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ConstantPad3d(1, 9.0)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 3, 6, 6, 6)"""
    value: builtins.float
    def __init__(self, padding: builtins.int | Sequence[builtins.int], value: builtins.float) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReflectionPad3d(_Pad):
    """Elements mirrored at the border around `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ReflectionPad3d(1)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 3, 6, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ReplicationPad3d(_Pad):
    """Copies of the border around `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.ReplicationPad3d(1)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 3, 6, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class CircularPad3d(_Pad):
    """Elements of the other side around `[n, c, d, h, w]` or `[c, d, h, w]`.

    >>> import unigrad as ug
    >>> ug.nn.CircularPad3d(1)(ug.zeros(1, 3, 4, 4, 4)).shape
    (1, 3, 6, 6, 6)"""
    def __init__(self, padding: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to the same with more around."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
