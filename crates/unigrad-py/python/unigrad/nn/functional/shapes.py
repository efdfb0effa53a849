"""What surrounds an image, its size and its arrangement, and what is read from it by place."""

import math

from ... import _check
from ..._check import tensor as _tensor
from ..._unigrad import uint8

__all__ = ["affine_grid", "channel_shuffle", "grid_sample", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "upsample"]


def pad(input, pad, mode="constant", value=None):
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular.

    >>> import unigrad as ug
    >>> ug.nn.functional.pad(ug.ones(2), (1, 1))
    tensor([0., 1., 1., 0.])
    """
    return _tensor("input", input).pad(pad, mode, value)


def _bytes_between(input, size, scale_factor, mode, align_corners, antialias):
    """Pictures of bytes: rows, then columns, each rounded and within 0 to 255, as PyTorch does it."""
    for axis in (1, 0):
        # The other axis stays what it is.
        sizes = None if size is None else [wanted if at == axis else own for at, (wanted, own) in enumerate(zip(size, input.shape[2:]))]
        factors = None if scale_factor is None else [factor if at == axis else 1.0 for at, factor in enumerate(scale_factor)]
        input = (input.float().interpolate(sizes, factors, mode, align_corners, antialias) + 0.5).floor().clamp(0, 255).to(uint8)
    return input


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    """Another size of the spatial axes; ``mode`` is nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area.

    >>> import unigrad as ug
    >>> ug.nn.functional.interpolate(ug.zeros(1, 3, 4, 4), scale_factor=2).shape
    (1, 3, 8, 8)
    """
    input = _tensor("input", input)
    n = input.ndim - 2
    if size is not None and not hasattr(size, "__iter__"):
        size = (size,) * max(n, 1)
    if scale_factor is not None and not hasattr(scale_factor, "__iter__"):
        scale_factor = (_check.number("scale_factor", scale_factor),) * max(n, 1)
    if recompute_scale_factor and scale_factor is not None:
        size, scale_factor = [math.floor(s * f) for s, f in zip(input.shape[2:], scale_factor)], None
    if input.dtype == uint8 and mode in ("bilinear", "bicubic") and n == 2:
        return _bytes_between(input, size, scale_factor, mode, align_corners, antialias)
    return input.interpolate(size, scale_factor, mode, align_corners, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """``interpolate`` by its old name.

    >>> import unigrad as ug
    >>> ug.nn.functional.upsample(ug.zeros(1, 3, 4, 4), scale_factor=2).shape
    (1, 3, 8, 8)
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """``[n, c, h, w]`` read at the positions of ``grid``, ``[n, out_h, out_w, 2]`` in -1..1.

    >>> import unigrad as ug
    >>> ug.nn.functional.grid_sample(ug.zeros(1, 3, 4, 4), ug.zeros(1, 2, 5, 2), align_corners=False).shape
    (1, 3, 2, 5)
    """
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(mode, mode)
    return _tensor("input", input).grid_sample(grid, mode=mode, padding=padding_mode, align_corners=bool(align_corners))


def affine_grid(theta, size, align_corners=False):
    """The grid of an affine map, for ``grid_sample``: ``theta`` is ``[n, 2, 3]``.

    >>> import unigrad as ug
    >>> theta = ug.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    >>> ug.nn.functional.affine_grid(theta, (1, 3, 4, 5), align_corners=False).shape
    (1, 4, 5, 2)
    """
    return _tensor("theta", theta).affine_grid(size, bool(align_corners))


def pixel_shuffle(input, upscale_factor):
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pixel_shuffle(ug.zeros(1, 8, 3, 3), 2).shape
    (1, 2, 6, 6)
    """
    return _tensor("input", input).pixel_shuffle(_check.positive("upscale_factor", upscale_factor))


def pixel_unshuffle(input, downscale_factor):
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pixel_unshuffle(ug.zeros(1, 2, 6, 6), 2).shape
    (1, 8, 3, 3)
    """
    return _tensor("input", input).pixel_unshuffle(_check.positive("downscale_factor", downscale_factor))


def channel_shuffle(input, groups):
    """Channels of groups one after the other.

    >>> import unigrad as ug
    >>> ug.nn.functional.channel_shuffle(ug.arange(4).reshape(1, 4, 1, 1), 2).flatten()
    tensor([0, 2, 1, 3])
    """
    return _tensor("input", input).channel_shuffle(_check.positive("groups", groups))
