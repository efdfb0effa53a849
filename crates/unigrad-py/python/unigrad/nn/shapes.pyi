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

class Flatten(Module):
    """Axes become one: by default all but the first.

    >>> import unigrad as ug
    >>> ug.nn.Flatten()(ug.zeros(2, 3, 4)).shape
    (2, 12)"""
    start_dim: builtins.int
    end_dim: builtins.int
    def __init__(self, start_dim: builtins.int=1, end_dim: builtins.int=-1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, ..]`` to ``[n, features]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class Unflatten(Module):
    """One axis becomes several.

    >>> import unigrad as ug
    >>> ug.nn.Unflatten(1, (3, 4))(ug.zeros(2, 12)).shape
    (2, 3, 4)"""
    dim: Any
    unflattened_size: builtins.int | Sequence[builtins.int]
    def __init__(self, dim: Any, unflattened_size: builtins.int | Sequence[builtins.int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[.., size, ..]`` to ``[.., sizes.., ..]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class Unfold(Module):
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``.

    >>> import unigrad as ug
    >>> ug.nn.Unfold(kernel_size=2, stride=2)(ug.ones(1, 3, 4, 4)).shape
    (1, 12, 4)"""
    kernel_size: builtins.int | Sequence[builtins.int]
    dilation: builtins.int | Sequence[builtins.int]
    padding: builtins.int | Sequence[builtins.int]
    stride: builtins.int | Sequence[builtins.int]
    def __init__(self, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, c, h, w]`` to ``[n, c * window, windows]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class Fold(Unfold):
    """Columns ``[n, c * window, windows]`` added up where their windows lie in images of ``output_size``.

    >>> import unigrad as ug
    >>> ug.nn.Fold(output_size=(4, 4), kernel_size=2, stride=2)(ug.ones(1, 12, 4)).shape
    (1, 3, 4, 4)"""
    output_size: builtins.int | Sequence[builtins.int]
    def __init__(self, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, c * window, windows]`` to ``[n, c, h, w]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class _Shuffle(Module):
    def extra_repr(self) -> Any: ...
class PixelShuffle(_Shuffle):
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``.

    >>> import unigrad as ug
    >>> ug.nn.PixelShuffle(2)(ug.zeros(1, 8, 3, 3)).shape
    (1, 2, 6, 6)"""
    upscale_factor: builtins.int
    def __init__(self, upscale_factor: builtins.int) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class PixelUnshuffle(_Shuffle):
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.PixelUnshuffle(2)(ug.zeros(1, 2, 6, 6)).shape
    (1, 8, 3, 3)"""
    downscale_factor: builtins.int
    def __init__(self, downscale_factor: builtins.int) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class ChannelShuffle(_Shuffle):
    """Channels of groups one after the other.

    >>> import unigrad as ug
    >>> ug.nn.ChannelShuffle(2)(ug.arange(4).reshape(1, 4, 1, 1)).flatten()
    tensor([0, 2, 1, 3])"""
    groups: builtins.int
    def __init__(self, groups: builtins.int) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class Upsample(Module):
    """Another size of the spatial axes, by a size or a factor.

    >>> import unigrad as ug
    >>> ug.nn.Upsample(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)"""
    size: Any
    scale_factor: Any
    mode: builtins.str
    align_corners: Any
    recompute_scale_factor: Any
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None, recompute_scale_factor: Any=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, c, ..]`` to ``[n, c, sizes..]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class UpsamplingNearest2d(Upsample):
    """Another size of images, by the nearest element.

    >>> import unigrad as ug
    >>> ug.nn.UpsamplingNearest2d(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)"""
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None) -> None: ...
class UpsamplingBilinear2d(Upsample):
    """Another size of images, by lines between elements; corners stay.

    >>> import unigrad as ug
    >>> ug.nn.UpsamplingBilinear2d(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)"""
    def __init__(self, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None) -> None: ...
class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along an axis.

    >>> import unigrad as ug
    >>> ug.nn.CosineSimilarity(dim=-1)(ug.ones(1, 2), ug.ones(1, 2))
    tensor([1.0000])"""
    dim: builtins.int
    eps: builtins.float
    def __init__(self, dim: builtins.int=1, eps: builtins.float=1e-08) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Without the axis."""
        ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors along the last axis.

    >>> import unigrad as ug
    >>> ug.nn.PairwiseDistance()(ug.zeros(1, 2), ug.tensor([[3.0, 4.0]]))
    tensor([5.0000])"""
    norm: Any
    eps: builtins.float
    keepdim: builtins.bool
    def __init__(self, p: builtins.float=2.0, eps: builtins.float=1e-06, keepdim: builtins.bool=False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Without the last axis."""
        ...
    def __call__(self, x1: Tensor, x2: Tensor) -> Tensor: ...
class SinusoidalEncoding(Module):
    """Adds sines and cosines of positions to ``[batch, length, size]``, and drops elements while training (Vaswani et al., 2017).

    >>> import unigrad as ug
    >>> ug.nn.SinusoidalEncoding(4, 10)(ug.zeros(2, 5, 4)).shape
    (2, 5, 4)"""
    size: builtins.int | Sequence[builtins.int]
    longest: builtins.int
    dropout: builtins.float
    def __init__(self, size: builtins.int | Sequence[builtins.int], longest: builtins.int=5000, dropout: builtins.float=0.0, device: Device | builtins.str | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape ``[batch, length, size]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class LearnedEncoding(Module):
    """Adds a learned vector for each position to ``[batch, length, size]``.

    >>> import unigrad as ug
    >>> ug.nn.LearnedEncoding(4, 10)(ug.zeros(2, 5, 4)).shape
    (2, 5, 4)"""
    size: builtins.int | Sequence[builtins.int]
    longest: builtins.int
    weight: Any
    def __init__(self, size: builtins.int | Sequence[builtins.int], longest: builtins.int, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape ``[batch, length, size]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class RotaryEncoding(Module):
    """Rotates the features of queries and keys ``[.., length, features]`` by angles that grow with the position (Su et al., 2021).

    >>> import unigrad as ug
    >>> ug.nn.RotaryEncoding(4)(ug.ones(2, 3, 5, 4)).shape
    (2, 3, 5, 4)"""
    base: builtins.float
    interleaved: builtins.bool
    def __init__(self, base: builtins.float=10000.0, interleaved: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor, positions: Tensor | None=None) -> Tensor:
        """Keeps the shape; at ``positions``, or from 0."""
        ...
    def __call__(self, input: Tensor, positions: Tensor | None=None) -> Tensor: ...
