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

def conv1d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 1).conv1d(unigrad.ones(1, 1, *[2] * 1)).shape[2:] == (3,) * 1
    True"""
    ...
def conv2d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 2).conv2d(unigrad.ones(1, 1, *[2] * 2)).shape[2:] == (3,) * 2
    True"""
    ...
def conv3d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 3).conv3d(unigrad.ones(1, 1, *[2] * 3)).shape[2:] == (3,) * 3
    True"""
    ...
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 1).conv_transpose1d(unigrad.ones(1, 1, *[2] * 1)).shape[2:] == (5,) * 1
    True"""
    ...
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 2).conv_transpose2d(unigrad.ones(1, 1, *[2] * 2)).shape[2:] == (5,) * 2
    True"""
    ...
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

    >>> import unigrad
    >>> unigrad.ones(1, 1, *[4] * 3).conv_transpose3d(unigrad.ones(1, 1, *[2] * 3)).shape[2:] == (5,) * 3
    True"""
    ...
def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over length.

    >>> import unigrad as ug
    >>> ug.nn.functional.avg_pool1d(ug.zeros(1, 3, 8), 2).shape
    (1, 3, 4)"""
    ...
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over length; with ``return_indices`` also where it is.

    >>> import unigrad as ug
    >>> ug.nn.functional.max_pool1d(ug.zeros(1, 3, 8), 2).shape
    (1, 3, 4)"""
    ...
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool1d`` took them from; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.functional.max_pool1d(ug.rand(1, 3, 8), 2, return_indices=True)
    >>> ug.nn.functional.max_unpool1d(pooled, where, 2).shape
    (1, 3, 8)"""
    ...
def lp_pool1d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over length.

    >>> import unigrad as ug
    >>> ug.nn.functional.lp_pool1d(ug.ones(1, 3, 8), 2.0, 2).shape
    (1, 3, 4)"""
    ...
def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of length as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_avg_pool1d(ug.zeros(1, 3, 8), 2).shape
    (1, 3, 2)"""
    ...
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of length as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_max_pool1d(ug.zeros(1, 3, 8), 2).shape
    (1, 3, 2)"""
    ...
def avg_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over height and width.

    >>> import unigrad as ug
    >>> ug.nn.functional.avg_pool2d(ug.zeros(1, 3, 8, 8), 2).shape
    (1, 3, 4, 4)"""
    ...
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over height and width; with ``return_indices`` also where it is.

    >>> import unigrad as ug
    >>> ug.nn.functional.max_pool2d(ug.zeros(1, 3, 8, 8), 2).shape
    (1, 3, 4, 4)"""
    ...
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool2d`` took them from; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.functional.max_pool2d(ug.rand(1, 3, 8, 8), 2, return_indices=True)
    >>> ug.nn.functional.max_unpool2d(pooled, where, 2).shape
    (1, 3, 8, 8)"""
    ...
def lp_pool2d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over height and width.

    >>> import unigrad as ug
    >>> ug.nn.functional.lp_pool2d(ug.ones(1, 3, 8, 8), 2.0, 2).shape
    (1, 3, 4, 4)"""
    ...
def adaptive_avg_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of height and width as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_avg_pool2d(ug.zeros(1, 3, 8, 8), 2).shape
    (1, 3, 2, 2)"""
    ...
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of height and width as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_max_pool2d(ug.zeros(1, 3, 8, 8), 2).shape
    (1, 3, 2, 2)"""
    ...
def avg_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over depth, height and width.

    >>> import unigrad as ug
    >>> ug.nn.functional.avg_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape
    (1, 3, 4, 4, 4)"""
    ...
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over depth, height and width; with ``return_indices`` also where it is.

    >>> import unigrad as ug
    >>> ug.nn.functional.max_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape
    (1, 3, 4, 4, 4)"""
    ...
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool3d`` took them from; zeros elsewhere.

    >>> import unigrad as ug
    >>> pooled, where = ug.nn.functional.max_pool3d(ug.rand(1, 3, 8, 8, 8), 2, return_indices=True)
    >>> ug.nn.functional.max_unpool3d(pooled, where, 2).shape
    (1, 3, 8, 8, 8)"""
    ...
def lp_pool3d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over depth, height and width.

    >>> import unigrad as ug
    >>> ug.nn.functional.lp_pool3d(ug.ones(1, 3, 8, 8, 8), 2.0, 2).shape
    (1, 3, 4, 4, 4)"""
    ...
def adaptive_avg_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of depth, height and width as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_avg_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape
    (1, 3, 2, 2, 2)"""
    ...
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of depth, height and width as asked; ``None`` keeps a size.

    >>> import unigrad as ug
    >>> ug.nn.functional.adaptive_max_pool3d(ug.zeros(1, 3, 8, 8, 8), 2).shape
    (1, 3, 2, 2, 2)"""
    ...
def unfold(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.unfold(ug.ones(1, 3, 4, 4), kernel_size=2, stride=2).shape
    (1, 12, 4)"""
    ...
def fold(input: Tensor, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Columns ``[n, c * window, windows]`` added up where their windows lie in an image of ``output_size``.

    >>> import unigrad as ug
    >>> ug.nn.functional.fold(ug.ones(1, 12, 4), output_size=(4, 4), kernel_size=2, stride=2).shape
    (1, 3, 4, 4)"""
    ...
