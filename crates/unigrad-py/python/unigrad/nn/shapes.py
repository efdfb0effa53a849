"""Layers that rearrange elements, resize, compare, and tell positions apart."""

import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import _nn, arange, get_default_dtype, randn
from . import functional as F
from .layers import Dropout
from .module import Module
from .parameter import Parameter

__all__ = [
    "ChannelShuffle", "CosineSimilarity", "Flatten", "Fold", "LearnedEncoding", "PairwiseDistance", "PixelShuffle", "PixelUnshuffle",
    "RotaryEncoding", "SinusoidalEncoding", "Unflatten", "Unfold", "Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


class Flatten(Module):
    """Axes become one: by default all but the first.

    >>> import unigrad as ug
    >>> ug.nn.Flatten()(ug.zeros(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = _check.whole("start_dim", start_dim), _check.whole("end_dim", end_dim)

    def forward(self, input):
        """``[n, ..]`` to ``[n, features]``."""
        return _check.tensor("input", input).flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis becomes several.

    >>> import unigrad as ug
    >>> ug.nn.Unflatten(1, (3, 4))(ug.zeros(2, 12)).shape
    (2, 3, 4)
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim = _check.whole("dim", dim)
        if isinstance(unflattened_size, str) or not hasattr(unflattened_size, "__iter__"):
            raise TypeError(f"argument 'unflattened_size': integers are wanted, not {_check._kind(unflattened_size)}")
        self.unflattened_size = tuple(_check.whole("unflattened_size", size, -1) for size in unflattened_size)

    def forward(self, input):
        """``[.., size, ..]`` to ``[.., sizes.., ..]``."""
        return _check.tensor("input", input).unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


class Unfold(Module):
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``.

    >>> import unigrad as ug
    >>> ug.nn.Unfold(kernel_size=2, stride=2)(ug.ones(1, 3, 4, 4)).shape
    (1, 12, 4)
    """

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size = _check.sizes("kernel_size", kernel_size, 2, 1)
        self.dilation, self.padding = _check.sizes("dilation", dilation, 2, 1), _check.sizes("padding", padding, 2)
        self.stride = _check.sizes("stride", stride, 2, 1)

    def forward(self, input):
        """``[n, c, h, w]`` to ``[n, c * window, windows]``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Columns ``[n, c * window, windows]`` added up where their windows lie in images of ``output_size``.

    >>> import unigrad as ug
    >>> ug.nn.Fold(output_size=(4, 4), kernel_size=2, stride=2)(ug.ones(1, 12, 4)).shape
    (1, 3, 4, 4)
    """

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = _check.sizes("output_size", output_size, 2, 1)

    def forward(self, input):
        """``[n, c * window, windows]`` to ``[n, c, h, w]``."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return f"output_size={self.output_size}, {super().extra_repr()}"


class _Shuffle(Module):
    def extra_repr(self):
        return f"{self._setting}={getattr(self, self._setting)}"


class PixelShuffle(_Shuffle):
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``.

    >>> import unigrad as ug
    >>> ug.nn.PixelShuffle(2)(ug.zeros(1, 8, 3, 3)).shape
    (1, 2, 6, 6)
    """

    _setting = "upscale_factor"

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = _check.positive("upscale_factor", upscale_factor)

    def forward(self, input):
        """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Shuffle):
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.PixelUnshuffle(2)(ug.zeros(1, 2, 6, 6)).shape
    (1, 8, 3, 3)
    """

    _setting = "downscale_factor"

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = _check.positive("downscale_factor", downscale_factor)

    def forward(self, input):
        """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(_Shuffle):
    """Channels of groups one after the other.

    >>> import unigrad as ug
    >>> ug.nn.ChannelShuffle(2)(ug.arange(4).reshape(1, 4, 1, 1)).flatten()
    tensor([0, 2, 1, 3])
    """

    _setting = "groups"

    def __init__(self, groups):
        super().__init__()
        self.groups = _check.positive("groups", groups)

    def forward(self, input):
        """Keeps the shape."""
        return F.channel_shuffle(input, self.groups)


class Upsample(Module):
    """Another size of the spatial axes, by a size or a factor.

    >>> import unigrad as ug
    >>> ug.nn.Upsample(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)
    """

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
        super().__init__()
        if (size is None) == (scale_factor is None):
            raise ArgumentError("arguments 'size' and 'scale_factor': one of them is wanted\n help: give a size, or a factor")
        self.size, self.scale_factor = size, scale_factor
        modes = ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic", "area")
        self.mode, self.align_corners = _check.one_of("mode", mode, modes), align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input):
        """``[n, c, ..]`` to ``[n, c, sizes..]``."""
        return F.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor)

    def extra_repr(self):
        size = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{size}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Another size of images, by the nearest element.

    >>> import unigrad as ug
    >>> ug.nn.UpsamplingNearest2d(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Another size of images, by lines between elements; corners stay.

    >>> import unigrad as ug
    >>> ug.nn.UpsamplingBilinear2d(scale_factor=2)(ug.zeros(1, 3, 4, 4)).shape
    (1, 3, 8, 8)
    """

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along an axis.

    >>> import unigrad as ug
    >>> ug.nn.CosineSimilarity(dim=-1)(ug.ones(1, 2), ug.ones(1, 2))
    tensor([1.0000])
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = _check.whole("dim", dim), _check.number("eps", eps, 0.0)

    def forward(self, x1, x2):
        """Without the axis."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors along the last axis.

    >>> import unigrad as ug
    >>> ug.nn.PairwiseDistance()(ug.zeros(1, 2), ug.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = _check.number("p", p), _check.number("eps", eps), _check.flag("keepdim", keepdim)

    def forward(self, x1, x2):
        """Without the last axis."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class SinusoidalEncoding(Module):
    """Adds sines and cosines of positions to ``[batch, length, size]``, and drops elements while training (Vaswani et al., 2017).

    >>> import unigrad as ug
    >>> ug.nn.SinusoidalEncoding(4, 10)(ug.zeros(2, 5, 4)).shape
    (2, 5, 4)
    """

    def __init__(self, size, longest=5000, dropout=0.0, device=None):
        super().__init__()
        self.size, self.longest = _check.size("size", size), _check.size("longest", longest)
        self.dropout = Dropout(dropout)
        positions = arange(self.longest, dtype="float64", device="cpu").unsqueeze(1)
        features = arange(self.size, device="cpu")
        angles = positions * ((features // 2 * 2).cast("float64") * (-math.log(10000.0) / max(self.size, 1))).exp()
        table = (features % 2 == 0).where_(angles.sin(), angles.cos()).cast(get_default_dtype()).unsqueeze(0)
        self.register_buffer("pe", table if device is None else table.to(device))

    def forward(self, input):
        """Keeps the shape ``[batch, length, size]``."""
        if _check.tensor("input", input).ndim != 3:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[batch, length, size]`")
        return self.dropout(input + self.pe[:, : input.shape[1]].cast(input.dtype))


class LearnedEncoding(Module):
    """Adds a learned vector for each position to ``[batch, length, size]``.

    >>> import unigrad as ug
    >>> ug.nn.LearnedEncoding(4, 10)(ug.zeros(2, 5, 4)).shape
    (2, 5, 4)
    """

    def __init__(self, size, longest, device=None, dtype=None):
        super().__init__()
        self.size, self.longest = _check.size("size", size), _check.size("longest", longest)
        self.weight = Parameter(randn((self.longest, self.size), dtype=dtype, device=device) * 0.02)

    def forward(self, input):
        """Keeps the shape ``[batch, length, size]``."""
        if _check.tensor("input", input).ndim != 3 or input.shape[1] > self.longest:
            raise ArgumentError(
                f"argument 'input' is {list(input.shape)}\n help: give `[batch, length, size]`, with at most {self.longest} positions"
            )
        return input + self.weight[: input.shape[1]]


class RotaryEncoding(Module):
    """Rotates the features of queries and keys ``[.., length, features]`` by angles that grow with the position (Su et al., 2021).

    >>> import unigrad as ug
    >>> ug.nn.RotaryEncoding(4)(ug.ones(2, 3, 5, 4)).shape
    (2, 3, 5, 4)
    """

    def __init__(self, base=10000.0, interleaved=False):
        super().__init__()
        self.base, self.interleaved = _check.number("base", base, above=1.0), _check.flag("interleaved", interleaved)

    def forward(self, input, positions=None):
        """Keeps the shape; at ``positions``, or from 0."""
        if _check.tensor("input", input).ndim < 2:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[.., length, features]`")
        return _nn.rope_at(input, positions, self.base, self.interleaved)
