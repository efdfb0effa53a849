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

def pad(input: Tensor, pad: Any, mode: builtins.str='constant', value: builtins.float | None=None) -> Tensor:
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular."""
    ...
def interpolate(input: Tensor, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None, recompute_scale_factor: Any=None, antialias: builtins.bool=False) -> Tensor:
    """Another size of the spatial axes; ``mode`` is nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area."""
    ...
def upsample(input: Tensor, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None) -> Tensor:
    """``interpolate`` by its old name."""
    ...
def grid_sample(input: Tensor, grid: Tensor, mode: builtins.str='bilinear', padding_mode: builtins.str='zeros', align_corners: builtins.bool=False) -> Tensor:
    """``[n, c, h, w]`` read at the positions of ``grid``, ``[n, out_h, out_w, 2]`` in -1..1."""
    ...
def affine_grid(theta: Tensor, size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool=False) -> Tensor:
    """The grid of an affine map, for ``grid_sample``: ``theta`` is ``[n, 2, 3]``."""
    ...
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""
    ...
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""
    ...
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Channels of groups one after the other."""
    ...
