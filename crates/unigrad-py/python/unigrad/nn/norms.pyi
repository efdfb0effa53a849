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

class _Running(Module):
    num_features: Any
    eps: builtins.float
    momentum: builtins.float
    affine: Any
    track_running_stats: Any
    def __init__(self, num_features: Any, eps: builtins.float, momentum: builtins.float, affine: Any, track_running_stats: Any, device: Device | builtins.str, dtype: DType | builtins.str | builtins.type, bias: builtins.bool=True) -> None: ...
    def reset_running_stats(self) -> Any:
        """Running statistics as before the first batch."""
        ...
    def extra_repr(self) -> Any: ...
class _BatchNorm(_Running):
    def __init__(self, num_features: Any, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=True, track_running_stats: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class BatchNorm1d(_BatchNorm):
    """``[n, c]`` or ``[n, c, l]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> ug.nn.BatchNorm1d(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)"""
class BatchNorm2d(_BatchNorm):
    """``[n, c, h, w]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> norm = ug.nn.BatchNorm2d(3)
    >>> norm(ug.randn(2, 3, 4, 4)).shape, norm.num_batches_tracked.item()
    ((2, 3, 4, 4), 1)"""
class BatchNorm3d(_BatchNorm):
    """``[n, c, d, h, w]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> ug.nn.BatchNorm3d(3)(ug.rand(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)"""
class SyncBatchNorm(_BatchNorm):
    """Batch norm of any number of axes. On one device it is batch norm.

    >>> import unigrad as ug
    >>> ug.nn.SyncBatchNorm(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)"""
class _InstanceNorm(_Running):
    def __init__(self, num_features: Any, eps: builtins.float=1e-05, momentum: builtins.float=0.1, affine: builtins.bool=False, track_running_stats: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class InstanceNorm1d(_InstanceNorm):
    """``[n, c, l]`` or ``[c, l]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm1d(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)"""
class InstanceNorm2d(_InstanceNorm):
    """``[n, c, h, w]`` or ``[c, h, w]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm2d(3)(ug.rand(2, 3, 4, 4)).shape
    (2, 3, 4, 4)"""
class InstanceNorm3d(_InstanceNorm):
    """``[n, c, d, h, w]`` or ``[c, d, h, w]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm3d(3)(ug.rand(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)"""
class LayerNorm(Module):
    """Normalized over the last axes: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    >>> import unigrad as ug
    >>> ug.nn.LayerNorm(4)(ug.tensor([[1.0, 2.0, 3.0, 4.0]])).sum().round(decimals=4).item()
    0.0"""
    normalized_shape: builtins.int | Sequence[builtins.int]
    eps: builtins.float
    elementwise_affine: builtins.bool
    def __init__(self, normalized_shape: builtins.int | Sequence[builtins.int], eps: builtins.float=1e-05, elementwise_affine: builtins.bool=True, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class RMSNorm(Module):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes.

    >>> import unigrad as ug
    >>> ug.nn.RMSNorm(4)(ug.rand(2, 4)).shape
    (2, 4)"""
    normalized_shape: builtins.int | Sequence[builtins.int]
    eps: Any
    elementwise_affine: builtins.bool
    def __init__(self, normalized_shape: builtins.int | Sequence[builtins.int], eps: builtins.float | None=None, elementwise_affine: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class GroupNorm(Module):
    """``[n, c, ..]`` normalized within each group of channels.

    >>> import unigrad as ug
    >>> ug.nn.GroupNorm(2, 4)(ug.rand(1, 4, 3)).shape
    (1, 4, 3)"""
    num_groups: builtins.int
    num_channels: builtins.int
    eps: builtins.float
    affine: builtins.bool
    def __init__(self, num_groups: builtins.int, num_channels: builtins.int, eps: builtins.float=1e-05, affine: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, bias: builtins.bool=True) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class LocalResponseNorm(Module):
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels.

    >>> import unigrad as ug
    >>> ug.nn.LocalResponseNorm(3)(ug.ones(1, 4, 2, 2)).shape
    (1, 4, 2, 2)"""
    size: builtins.int | Sequence[builtins.int]
    alpha: builtins.float
    beta: builtins.float
    k: builtins.float
    def __init__(self, size: builtins.int | Sequence[builtins.int], alpha: builtins.float=0.0001, beta: builtins.float=0.75, k: builtins.float=1.0) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class CrossMapLRN2d(LocalResponseNorm):
    """PyTorch's response normalization over the channels of ``[n, c, h, w]``, with its windows.

    >>> import unigrad as ug
    >>> ug.nn.CrossMapLRN2d(3)(ug.ones(1, 4, 2, 2)).shape
    (1, 4, 2, 2)"""
    def __init__(self, size: builtins.int | Sequence[builtins.int], alpha: builtins.float=0.0001, beta: builtins.float=0.75, k: builtins.float=1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
