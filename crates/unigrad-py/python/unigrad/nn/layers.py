"""Linear maps, tables of vectors, norms, drops, and layers that rearrange elements."""

import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, _nn, arange, full, randn, tensor, uniform
from . import functional as F
from .module import Module
from .parameter import Parameter, set_value

__all__ = [
    "AlphaDropout", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Bilinear", "ChannelShuffle", "CosineSimilarity", "CrossMapLRN2d", "Dropout",
    "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "FeatureAlphaDropout", "Flatten", "Fold", "GroupNorm", "Identity",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LayerNorm", "LearnedEncoding", "Linear", "LocalResponseNorm", "PairwiseDistance",
    "PixelShuffle", "PixelUnshuffle", "RMSNorm", "RotaryEncoding", "SinusoidalEncoding", "SyncBatchNorm", "Unflatten", "Unfold", "Upsample",
    "UpsamplingBilinear2d", "UpsamplingNearest2d",
]  # fmt: skip


def _uniform(shape, fan_in, dtype, device):
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return Parameter(uniform(-bound, bound, shape, dtype=dtype or "float32", device=device))


def _constant(shape, value, dtype, device):
    return Parameter(full(shape, value, dtype=dtype or "float32", device=device))


class Identity(Module):
    """Its input; whatever it is constructed with."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """Of any shape."""
        return _check.tensor("input", input)


class Linear(Module):
    """``x @ weight.T + bias``: ``[.., in_features]`` to ``[.., out_features]``.

    >>> import unigrad as ug
    >>> layer = ug.nn.Linear(4, 3)
    >>> layer(ug.zeros(2, 4)).shape, layer.weight.shape
    ((2, 3), (3, 4))
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = _check.size("in_features", in_features)
        self.out_features = _check.size("out_features", out_features)
        self.weight = _uniform((self.out_features, self.in_features), self.in_features, dtype, device)
        self.register_parameter("bias", None)
        if _check.flag("bias", bias):
            self.bias = _uniform((self.out_features,), self.in_features, dtype, device)

    def forward(self, input):
        """``[.., in_features]`` to ``[.., out_features]``."""
        own = self.__dict__["_parameters"]
        if not isinstance(input, Tensor):
            _check.tensor("input", input)
        return input.linear(own["weight"], own["bias"])

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``x1 · weight_k · x2 + bias_k`` for each output: ``[.., in1_features]`` and ``[.., in2_features]`` to ``[.., out_features]``."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features = _check.positive("in1_features", in1_features), _check.size("in2_features", in2_features)
        self.out_features = _check.size("out_features", out_features)
        self.weight = _uniform((self.out_features, self.in1_features, self.in2_features), self.in1_features, dtype, device)
        self.register_parameter("bias", None)
        if _check.flag("bias", bias):
            self.bias = _uniform((self.out_features,), self.in1_features, dtype, device)

    def forward(self, input1, input2):
        """Two tensors that have all axes but the last alike."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


def _table(n, size, padding_idx, dtype, device):
    weight = randn((n, size), dtype=dtype or "float32", device=device)
    if padding_idx is not None:
        rows = arange(n, device=weight.device).unsqueeze(1)
        weight = (rows == padding_idx).where_(0.0, weight)
    return Parameter(weight)


def _padding_idx(padding_idx, n):
    if padding_idx is None:
        return None
    padding_idx = _check.whole("padding_idx", padding_idx)
    if not -n <= padding_idx < n:
        raise ArgumentError(f"argument 'padding_idx' is {padding_idx}, of {n} rows\n help: name one of the rows")
    return padding_idx % n


class Embedding(Module):
    """A row of the weight for each index: ``[..]`` of integers to ``[.., embedding_dim]``.

    >>> import unigrad as ug
    >>> ug.nn.Embedding(10, 4)(ug.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = _check.size("num_embeddings", num_embeddings)
        self.embedding_dim = _check.size("embedding_dim", embedding_dim)
        self.padding_idx = _padding_idx(padding_idx, self.num_embeddings)
        self.max_norm = None if max_norm is None else _check.number("max_norm", max_norm, above=0.0)
        self.norm_type = _check.number("norm_type", norm_type, above=0.0)
        self.scale_grad_by_freq, self.sparse = _check.flag("scale_grad_by_freq", scale_grad_by_freq), _check.flag("sparse", sparse)
        if _weight is None:
            self.weight = _table(self.num_embeddings, self.embedding_dim, self.padding_idx, dtype, device)
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **settings):
        """Of vectors ``[n, size]`` that are there; with ``freeze`` they do not learn."""
        if _check.tensor("embeddings", embeddings).ndim != 2:
            raise ArgumentError(f"argument 'embeddings' has {embeddings.ndim} axes\n help: give a matrix")
        n, size = embeddings.shape
        return cls(n, size, _weight=embeddings, _freeze=freeze, **settings)

    def forward(self, input):
        """``[..]`` of integers to ``[.., embedding_dim]``."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self):
        more = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{more}"


class EmbeddingBag(Module):
    """The sum, mean or greatest of the rows of each bag of indices."""

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.num_embeddings = _check.size("num_embeddings", num_embeddings)
        self.embedding_dim = _check.size("embedding_dim", embedding_dim)
        self.padding_idx = _padding_idx(padding_idx, self.num_embeddings)
        self.max_norm = None if max_norm is None else _check.number("max_norm", max_norm, above=0.0)
        self.norm_type = _check.number("norm_type", norm_type, above=0.0)
        self.scale_grad_by_freq, self.sparse = _check.flag("scale_grad_by_freq", scale_grad_by_freq), _check.flag("sparse", sparse)
        self.mode = _check.one_of("mode", mode, ("sum", "mean", "max"))
        self.include_last_offset = _check.flag("include_last_offset", include_last_offset)
        own = _table(self.num_embeddings, self.embedding_dim, self.padding_idx, dtype, device) if _weight is None else Parameter(_weight)
        self.weight = own

    def forward(self, input, offsets=None, per_sample_weights=None):
        """Bags are the rows of a matrix, or begin at ``offsets`` of a vector; to ``[bags, embedding_dim]``."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


# Norms.


class _Running(Module):
    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype):
        super().__init__()
        self.num_features = _check.size("num_features", num_features)
        self.eps = _check.number("eps", eps, 0.0)
        self.momentum = None if momentum is None else _check.number("momentum", momentum)
        self.affine, self.track_running_stats = _check.flag("affine", affine), _check.flag("track_running_stats", track_running_stats)
        shape = (self.num_features,)
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(name, _constant(shape, value, dtype, device) if self.affine else None)
        for name, value in (("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, full(shape, value, dtype=dtype or "float32", device=device) if self.track_running_stats else None)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if self.track_running_stats else None)

    def reset_running_stats(self):
        """Running statistics as before the first batch."""
        if self.track_running_stats:
            set_value(self.running_mean, self.running_mean * 0.0)
            set_value(self.running_var, self.running_var * 0.0 + 1.0)
            set_value(self.num_batches_tracked, self.num_batches_tracked * 0)

    def _checked(self, input):
        _check.tensor("input", input)
        if input.ndim not in self._ranks:
            wanted = " or ".join(map(str, self._ranks))
            raise ArgumentError(f"argument 'input' has {input.ndim} axes, for {type(self).__name__}\n help: give {wanted} axes")
        return input

    def extra_repr(self):
        more = f"affine={self.affine}, track_running_stats={self.track_running_stats}"
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, {more}"


class _BatchNorm(_Running):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        """Keeps the shape."""
        parameters, buffers = self._parameters, self._buffers
        return _nn.batch_norm(
            self._checked(input),
            buffers["running_mean"],
            buffers["running_var"],
            parameters["weight"],
            parameters["bias"],
            buffers["num_batches_tracked"],
            self.training,
            self.momentum,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """``[n, c]`` or ``[n, c, l]`` normalized per channel: by the batch's statistics while training, by running ones in use."""

    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """``[n, c, h, w]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> norm = ug.nn.BatchNorm2d(3)
    >>> norm(ug.randn(2, 3, 4, 4)).shape, norm.num_batches_tracked.item()
    ((2, 3, 4, 4), 1)
    """

    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    """``[n, c, d, h, w]`` normalized per channel: by the batch's statistics while training, by running ones in use."""

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of any number of axes. On one device it is batch norm."""

    _ranks = (2, 3, 4, 5)


class _InstanceNorm(_Running):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)

    def forward(self, input):
        """Keeps the shape."""
        input = self._checked(input)
        single = input.ndim == self._ranks[0]
        input = input.unsqueeze(0) if single else input
        parameters, buffers = self._parameters, self._buffers
        output = _nn.instance_norm(
            input,
            buffers["running_mean"],
            buffers["running_var"],
            parameters["weight"],
            parameters["bias"],
            self.training,
            0.1 if self.momentum is None else self.momentum,
            self.eps,
        )
        return output.squeeze(0) if single else output


class InstanceNorm1d(_InstanceNorm):
    """``[n, c, l]`` or ``[c, l]`` normalized per channel of each example."""

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """``[n, c, h, w]`` or ``[c, h, w]`` normalized per channel of each example."""

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """``[n, c, d, h, w]`` or ``[c, d, h, w]`` normalized per channel of each example."""

    _ranks = (4, 5)


class LayerNorm(Module):
    """Normalized over the last axes: ``(x - mean) / sqrt(var + eps) * weight + bias``.

    >>> import unigrad as ug
    >>> ug.nn.LayerNorm(4)(ug.tensor([[1.0, 2.0, 3.0, 4.0]])).sum().round(decimals=4).item()
    0.0
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _check.shape("normalized_shape", normalized_shape)
        self.eps = _check.number("eps", eps, 0.0)
        self.elementwise_affine = _check.flag("elementwise_affine", elementwise_affine)
        bias = _check.flag("bias", bias)
        self.register_parameter("weight", _constant(self.normalized_shape, 1.0, dtype, device) if self.elementwise_affine else None)
        has_bias = self.elementwise_affine and bias
        self.register_parameter("bias", _constant(self.normalized_shape, 0.0, dtype, device) if has_bias else None)

    def forward(self, input):
        """Keeps the shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _check.shape("normalized_shape", normalized_shape)
        self.eps = None if eps is None else _check.number("eps", eps, 0.0)
        self.elementwise_affine = _check.flag("elementwise_affine", elementwise_affine)
        self.register_parameter("weight", _constant(self.normalized_shape, 1.0, dtype, device) if self.elementwise_affine else None)

    def forward(self, input):
        """Keeps the shape."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """``[n, c, ..]`` normalized within each group of channels."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        self.num_groups, self.num_channels = _check.positive("num_groups", num_groups), _check.size("num_channels", num_channels)
        if self.num_channels % self.num_groups:
            raise ArgumentError(f"argument 'num_groups' is {num_groups}, of {num_channels} channels\n help: use a number that divides them")
        self.eps, self.affine = _check.number("eps", eps, 0.0), _check.flag("affine", affine)
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            self.register_parameter(name, _constant((self.num_channels,), value, dtype, device) if self.affine else None)

    def forward(self, input):
        """Keeps the shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = _check.positive("size", size)
        self.alpha, self.beta, self.k = _check.number("alpha", alpha), _check.number("beta", beta), _check.number("k", k)

    def forward(self, input):
        """Keeps the shape."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """PyTorch's response normalization over the channels of ``[n, c, h, w]``, with its windows."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        """Keeps the shape."""
        return _nn.cross_map_lrn2d(_check.tensor("input", input), self.size, self.alpha, self.beta, self.k)


# Drops.


class _Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p, self.inplace = _check.probability("p", p), _check.flag("inplace", inplace)

    def forward(self, input):
        """Keeps the shape."""
        return type(self)._drop(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """While training each element is 0 with probability ``p``, else divided by ``1 - p``; in use nothing happens.

    >>> import unigrad as ug
    >>> ug.nn.Dropout(0.5).eval()(ug.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    _drop = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Drops channels of ``[n, c, l]`` or ``[c, l]`` while training."""

    _drop = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Drops channels of ``[n, c, h, w]`` or ``[c, h, w]`` while training."""

    _drop = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]`` while training."""

    _drop = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Drops elements to where SELU saturates, such that mean and variance stay, while training."""

    _drop = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """As ``AlphaDropout``, of whole channels (axis 1)."""

    _drop = staticmethod(F.feature_alpha_dropout)


# Other shapes.


class Flatten(Module):
    """Axes become one: by default all but the first."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = _check.whole("start_dim", start_dim), _check.whole("end_dim", end_dim)

    def forward(self, input):
        """``[n, ..]`` to ``[n, features]``."""
        return _check.tensor("input", input).flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis becomes several."""

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
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``."""

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
    """Columns ``[n, c * window, windows]`` added up where their windows lie in images of ``output_size``."""

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
    """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""

    _setting = "upscale_factor"

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = _check.positive("upscale_factor", upscale_factor)

    def forward(self, input):
        """``[n, c f², h, w]`` to ``[n, c, h f, w f]``."""
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(_Shuffle):
    """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""

    _setting = "downscale_factor"

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = _check.positive("downscale_factor", downscale_factor)

    def forward(self, input):
        """``[n, c, h f, w f]`` to ``[n, c f², h, w]``."""
        return F.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(_Shuffle):
    """Channels of groups one after the other."""

    _setting = "groups"

    def __init__(self, groups):
        super().__init__()
        self.groups = _check.positive("groups", groups)

    def forward(self, input):
        """Keeps the shape."""
        return F.channel_shuffle(input, self.groups)


class Upsample(Module):
    """Another size of the spatial axes, by a size or a factor."""

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
    """Another size of images, by the nearest element."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Another size of images, by lines between elements; corners stay."""

    def __init__(self, size=None, scale_factor=None):
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors along an axis."""

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = _check.whole("dim", dim), _check.number("eps", eps, 0.0)

    def forward(self, x1, x2):
        """Without the axis."""
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors along the last axis."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.norm, self.eps, self.keepdim = _check.number("p", p), _check.number("eps", eps), _check.flag("keepdim", keepdim)

    def forward(self, x1, x2):
        """Without the last axis."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


# Positions.


class SinusoidalEncoding(Module):
    """Adds sines and cosines of positions to ``[batch, length, size]``, and drops elements while training (Vaswani et al., 2017)."""

    def __init__(self, size, longest=5000, dropout=0.0, device=None):
        super().__init__()
        self.size, self.longest = _check.size("size", size), _check.size("longest", longest)
        self.dropout = Dropout(dropout)
        positions = arange(self.longest, dtype="float64", device="cpu").unsqueeze(1)
        features = arange(self.size, device="cpu")
        angles = positions * ((features // 2 * 2).cast("float64") * (-math.log(10000.0) / max(self.size, 1))).exp()
        table = (features % 2 == 0).where_(angles.sin(), angles.cos()).cast("float32").unsqueeze(0)
        self.register_buffer("pe", table if device is None else table.to(device))

    def forward(self, input):
        """Keeps the shape ``[batch, length, size]``."""
        if _check.tensor("input", input).ndim != 3:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[batch, length, size]`")
        return self.dropout(input + self.pe[:, : input.shape[1]].cast(input.dtype))


class LearnedEncoding(Module):
    """Adds a learned vector for each position to ``[batch, length, size]``."""

    def __init__(self, size, longest, device=None, dtype=None):
        super().__init__()
        self.size, self.longest = _check.size("size", size), _check.size("longest", longest)
        self.weight = Parameter(randn((self.longest, self.size), dtype=dtype or "float32", device=device) * 0.02)

    def forward(self, input):
        """Keeps the shape ``[batch, length, size]``."""
        if _check.tensor("input", input).ndim != 3 or input.shape[1] > self.longest:
            raise ArgumentError(f"argument 'input' is {list(input.shape)}\n help: give `[batch, length, size]`, with at most {self.longest} positions")
        return input + self.weight[: input.shape[1]]


class RotaryEncoding(Module):
    """Rotates the features of queries and keys ``[.., length, features]`` by angles that grow with the position (Su et al., 2021)."""

    def __init__(self, base=10000.0, interleaved=False):
        super().__init__()
        self.base, self.interleaved = _check.number("base", base, above=1.0), _check.flag("interleaved", interleaved)

    def forward(self, input, positions=None):
        """Keeps the shape; at ``positions``, or from 0."""
        if _check.tensor("input", input).ndim < 2:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[.., length, features]`")
        return _nn.rope_at(input, positions, self.base, self.interleaved)
