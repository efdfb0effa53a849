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
from unigrad.nn.layers import Linear as Linear
from unigrad.nn.norms import BatchNorm1d as BatchNorm1d
from unigrad.nn.norms import BatchNorm2d as BatchNorm2d
from unigrad.nn.norms import BatchNorm3d as BatchNorm3d
from unigrad.nn.norms import InstanceNorm1d as InstanceNorm1d
from unigrad.nn.norms import InstanceNorm2d as InstanceNorm2d
from unigrad.nn.norms import InstanceNorm3d as InstanceNorm3d
from unigrad.nn.windows import Conv1d as Conv1d
from unigrad.nn.windows import Conv2d as Conv2d
from unigrad.nn.windows import Conv3d as Conv3d
from unigrad.nn.windows import ConvTranspose1d as ConvTranspose1d
from unigrad.nn.windows import ConvTranspose2d as ConvTranspose2d
from unigrad.nn.windows import ConvTranspose3d as ConvTranspose3d

class LazyLinear(Linear):
    """``Linear`` that takes `in_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyLinear(2)(ug.zeros(1, 3)).shape
    (1, 2)"""
    def __init__(self, out_features: builtins.int, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``[.., in_features]`` to ``[.., out_features]``."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConv1d(Conv1d):
    """``Conv1d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConv1d(5, 1)(ug.zeros(1, 3, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, l]` or `[c, l]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConvTranspose1d(ConvTranspose1d):
    """``ConvTranspose1d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConvTranspose1d(5, 1)(ug.zeros(1, 3, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, l]` or `[c, l]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyBatchNorm1d(BatchNorm1d):
    """``BatchNorm1d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyBatchNorm1d()(ug.zeros(2, 3, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=True, track_running_stats: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyInstanceNorm1d(InstanceNorm1d):
    """``InstanceNorm1d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyInstanceNorm1d()(ug.zeros(2, 3, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=False, track_running_stats: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConv2d(Conv2d):
    """``Conv2d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConv2d(5, 1)(ug.zeros(1, 3, 4, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConvTranspose2d(ConvTranspose2d):
    """``ConvTranspose2d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConvTranspose2d(5, 1)(ug.zeros(1, 3, 4, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, h, w]` or `[c, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyBatchNorm2d(BatchNorm2d):
    """``BatchNorm2d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyBatchNorm2d()(ug.zeros(2, 3, 4, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=True, track_running_stats: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyInstanceNorm2d(InstanceNorm2d):
    """``InstanceNorm2d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyInstanceNorm2d()(ug.zeros(2, 3, 4, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=False, track_running_stats: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConv3d(Conv3d):
    """``Conv3d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConv3d(5, 1)(ug.zeros(1, 3, 4, 4, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1, bias: builtins.bool=True, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyConvTranspose3d(ConvTranspose3d):
    """``ConvTranspose3d`` that takes `in_channels` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyConvTranspose3d(5, 1)(ug.zeros(1, 3, 4, 4, 4)).shape[1]
    5"""
    def __init__(self, out_channels: builtins.int, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, bias: builtins.bool=True, dilation: builtins.int | Sequence[builtins.int]=1, padding_mode: builtins.str='zeros', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """`[n, c, d, h, w]` or `[c, d, h, w]` to `[.., out_channels, sizes..]`."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyBatchNorm3d(BatchNorm3d):
    """``BatchNorm3d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyBatchNorm3d()(ug.zeros(2, 3, 4, 4, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=True, track_running_stats: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class LazyInstanceNorm3d(InstanceNorm3d):
    """``InstanceNorm3d`` that takes `num_features` from its first input.

    >>> import unigrad as ug
    >>> ug.nn.LazyInstanceNorm3d()(ug.zeros(2, 3, 4, 4, 4)).shape[1]
    3"""
    def __init__(self, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=False, track_running_stats: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
