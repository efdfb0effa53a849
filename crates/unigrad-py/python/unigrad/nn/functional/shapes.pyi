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
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular.

    >>> import unigrad as ug
    >>> ug.nn.functional.pad(ug.ones(2), (1, 1))
    tensor([0., 1., 1., 0.])"""
    ...
def interpolate(input: Tensor, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None, recompute_scale_factor: Any=None, antialias: builtins.bool=False) -> Tensor:
    """Another size of the spatial axes; ``mode`` is nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area.

    >>> import unigrad as ug
    >>> ug.nn.functional.interpolate(ug.zeros(1, 3, 4, 4), scale_factor=2).shape
    (1, 3, 8, 8)"""
    ...
def upsample(input: Tensor, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: builtins.float | Sequence[builtins.float] | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None) -> Tensor:
    """``interpolate`` by its old name.

    >>> import unigrad as ug
    >>> ug.nn.functional.upsample(ug.zeros(1, 3, 4, 4), scale_factor=2).shape
    (1, 3, 8, 8)"""
    ...
def grid_sample(input: Tensor, grid: Tensor, mode: builtins.str='bilinear', padding_mode: builtins.str='zeros', align_corners: builtins.bool=False) -> Tensor:
    """``[n, c, h, w]`` read at the positions of ``grid``, ``[n, out_h, out_w, 2]`` in -1..1.

    >>> import unigrad as ug
    >>> ug.nn.functional.grid_sample(ug.zeros(1, 3, 4, 4), ug.zeros(1, 2, 5, 2), align_corners=False).shape
    (1, 3, 2, 5)"""
    ...
def affine_grid(theta: Tensor, size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool=False) -> Tensor:
    """The grid of an affine map, for ``grid_sample``: ``theta`` is ``[n, 2, 3]``.

    >>> import unigrad as ug
    >>> theta = ug.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> ug.nn.functional.affine_grid(theta, (1, 3, 4, 5), align_corners=False).shape
    (1, 4, 5, 2)"""
    ...
def pixel_shuffle(input: Tensor, upscale_factor: builtins.int) -> Tensor:
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pixel_shuffle(ug.zeros(1, 8, 3, 3), 2).shape
    (1, 2, 6, 6)"""
    ...
def pixel_unshuffle(input: Tensor, downscale_factor: builtins.int) -> Tensor:
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pixel_unshuffle(ug.zeros(1, 2, 6, 6), 2).shape
    (1, 8, 3, 3)"""
    ...
def channel_shuffle(input: Tensor, groups: builtins.int) -> Tensor:
    """Channels of groups one after the other.

    >>> import unigrad as ug
    >>> ug.nn.functional.channel_shuffle(ug.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3])"""
    ...
