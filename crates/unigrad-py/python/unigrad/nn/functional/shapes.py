"""What surrounds an image, its size and its arrangement, and what is read from it by place."""

import math

from ... import _check
from ..._check import tensor as _tensor

__all__ = ["affine_grid", "channel_shuffle", "grid_sample", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "upsample"]


def pad(input, pad, mode="constant", value=None):
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular."""
    return _tensor("input", input).pad(pad, mode, value)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Another size of the spatial axes; ``mode`` is nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area."""
    input = _tensor("input", input)
    n = input.ndim - 2
    if size is not None and not hasattr(size, "__iter__"):
        size = (size,) * max(n, 1)
    if scale_factor is not None and not hasattr(scale_factor, "__iter__"):
        scale_factor = (_check.number("scale_factor", scale_factor),) * max(n, 1)
    if recompute_scale_factor and scale_factor is not None:
        size, scale_factor = [math.floor(s * f) for s, f in zip(input.shape[2:], scale_factor)], None
    return input.interpolate(size, scale_factor, mode, align_corners, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """``interpolate`` by its old name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """``[n, c, h, w]`` read at the positions of ``grid``, ``[n, out_h, out_w, 2]`` in -1..1."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return _tensor("input", input).grid_sample(grid, mode=mode, padding=padding_mode, align_corners=bool(align_corners))


def affine_grid(theta, size, align_corners=False):
    """The grid of an affine map, for ``grid_sample``: ``theta`` is ``[n, 2, 3]``."""
    return _tensor("theta", theta).affine_grid(size, bool(align_corners))


def pixel_shuffle(input, upscale_factor):
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""
    return _tensor("input", input).pixel_shuffle(_check.positive("upscale_factor", upscale_factor))


def pixel_unshuffle(input, downscale_factor):
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""
    return _tensor("input", input).pixel_unshuffle(_check.positive("downscale_factor", downscale_factor))


def channel_shuffle(input, groups):
    """Channels of groups one after the other."""
    return _tensor("input", input).channel_shuffle(_check.positive("groups", groups))
