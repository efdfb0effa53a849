"""Layers as functions, with PyTorch's names and keywords: each is one or a few ops of ``Tensor``.

>>> import unigrad as ug
>>> from unigrad.nn import functional as F
>>> F.relu(ug.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, _nn
from .distances import *  # noqa: F403
from .distances import __all__ as _distances
from .distances import _tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d", "batch_norm", "bilinear", "celu",
    "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "dropout", "dropout1d",
    "dropout2d", "dropout3d", "elu", "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "geglu", "gelu", "glu",
    "grid_sample", "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "instance_norm", "interpolate",
    "layer_norm", "leaky_relu", "linear", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "normalize", "one_hot", "pad",
    "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu", "relu6", "rms_norm", "rrelu", "scaled_dot_product_attention", "selu",
    "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "swiglu", "tanh", "tanhshrink", "threshold", "unfold",
    "upsample",
    *_distances,
]  # fmt: skip


# Linear maps.


def linear(input, weight, bias=None):
    """``input @ weight.T + bias``: ``[.., in]`` with ``weight`` ``[out, in]`` to ``[.., out]``; with ``weight`` ``[in]`` to ``[..]``."""
    if isinstance(weight, Tensor) and weight.ndim == 1:
        product = _tensor("input", input) @ weight
        return product if bias is None else product + _tensor("bias", bias)
    return _tensor("input", input).linear(weight, bias)


def bilinear(input1, input2, weight, bias=None):
    """``input1 · weight_k · input2`` for each output ``k``: ``weight`` is ``[out, in1, in2]``."""
    return _tensor("input1", input1).bilinear(input2, weight, bias)


# Activations.


def _activation(name, method=None):
    op = getattr(Tensor, method or name)

    def function(input, inplace=False):
        return op(_tensor("input", input))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (op.__doc__ or "").strip() + "\n\nOf any shape. ``inplace`` is taken and changes nothing: ops are fused."
    return function


relu = _activation("relu")
relu6 = _activation("relu6")
selu = _activation("selu")
silu = _activation("silu")
mish = _activation("mish")
hardswish = _activation("hardswish")
hardsigmoid = _activation("hardsigmoid")
sigmoid = _activation("sigmoid")
tanh = _activation("tanh")
tanhshrink = _activation("tanhshrink")
softsign = _activation("softsign")
logsigmoid = _activation("logsigmoid", "log_sigmoid")


def gelu(input, approximate="none"):
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula."""
    _check.one_of("approximate", approximate, ("none", "tanh"))
    input = _tensor("input", input)
    return input.gelu_tanh() if approximate == "tanh" else input.gelu()


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` above 0, ``negative_slope * x`` below."""
    return _tensor("input", input).leaky_relu(negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    return _tensor("input", input).elu(alpha)


def celu(input, alpha=1.0, inplace=False):
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""
    return _tensor("input", input).celu(alpha)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """``min(max(x, min_val), max_val)``."""
    return _tensor("input", input).hardtanh_with(min_val, max_val)


def hardshrink(input, lambd=0.5):
    """0 within ``lambd`` of 0, else ``x``."""
    return _tensor("input", input).hardshrink(lambd)


def softshrink(input, lambd=0.5):
    """Toward 0 by ``lambd``, and 0 within it."""
    return _tensor("input", input).softshrink(lambd)


def softplus(input, beta=1.0, threshold=20.0):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``."""
    input = _tensor("input", input)
    return input.softplus() if beta == 1.0 and threshold == 20.0 else input.softplus_with(beta, threshold)


def threshold(input, threshold, value, inplace=False):
    """``x`` above ``threshold``, else ``value``."""
    return _tensor("input", input).threshold(threshold, value)


def prelu(input, weight):
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one for each channel (axis 1)."""
    return _tensor("input", input).prelu(weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slopes are drawn from ``lower..upper`` while training."""
    return _nn.rrelu(_tensor("input", input), lower, upper, training)


def glu(input, dim=-1):
    """One half of an axis times the sigmoid of the other."""
    return _tensor("input", input).glu(dim)


def _halves(input, dim):
    halves = _tensor("input", input).chunk(2, dim)
    if len(halves) != 2 or halves[0].shape != halves[1].shape:
        raise ArgumentError(f"argument 'input' is {list(input.shape)}, whose axis {dim} has no halves\n help: give an even size")
    return halves


def swiglu(input, dim=-1):
    """One half of an axis times the other's SiLU: ``silu(first) * second``."""
    gate, value = _halves(input, dim)
    return gate.silu() * value


def geglu(input, dim=-1):
    """One half of an axis times the other's GELU: ``gelu(first) * second``."""
    gate, value = _halves(input, dim)
    return gate.gelu() * value


def _dim(input, dim):
    # PyTorch's old choice where none is given.
    if dim is None:
        return 0 if _tensor("input", input).ndim in (0, 1, 3) else 1
    return dim


def _cast(input, dtype):
    return _tensor("input", input) if dtype is None else _tensor("input", input).cast(dtype)


def softmax(input, dim=None, dtype=None):
    """``exp(x) / sum(exp(x))`` along an axis."""
    return _cast(input, dtype).softmax(_dim(input, dim))


def softmin(input, dim=None, dtype=None):
    """``exp(-x) / sum(exp(-x))`` along an axis."""
    return _cast(input, dtype).softmin(_dim(input, dim))


def log_softmax(input, dim=None, dtype=None):
    """The logarithm of ``softmax``."""
    return _cast(input, dtype).log_softmax(_dim(input, dim))


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution; with ``hard`` one-hot, differentiated as if it were not."""
    logits = _tensor("logits", logits)
    tau = _check.number("tau", tau, above=0.0)
    from .. import rand_like

    noise = -(-(rand_like(logits.detach()).clamp(min=1e-20)).log()).clamp(min=1e-20).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    one_hot = (soft == soft.amax(dim, keepdim=True)).cast(soft.dtype)
    return one_hot.detach() - soft.detach() + soft


# Drops.


def _drop(name, drop):
    def function(input, p=0.5, training=True, inplace=False):
        p = _check.probability("p", p)
        return drop(_tensor("input", input), p) if training and p else _tensor("input", input)

    function.__name__ = function.__qualname__ = name
    return function


dropout = _drop("dropout", _nn.dropout)
dropout.__doc__ = "While training each element is 0 with probability ``p``, else divided by ``1 - p``."
dropout1d = _drop("dropout1d", lambda input, p: _nn.dropout_channels(input, p, 1))
dropout1d.__doc__ = "Drops channels of ``[n, c, l]`` or ``[c, l]``."
dropout2d = _drop("dropout2d", lambda input, p: _nn.dropout_channels(input, p, 2))
dropout2d.__doc__ = "Drops channels of ``[n, c, h, w]`` or ``[c, h, w]``."
dropout3d = _drop("dropout3d", lambda input, p: _nn.dropout_channels(input, p, 3))
dropout3d.__doc__ = "Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]``."
alpha_dropout = _drop("alpha_dropout", lambda input, p: _nn.alpha_dropout(input, p, False))
alpha_dropout.__doc__ = "Drops elements to where SELU saturates, such that mean and variance stay."
feature_alpha_dropout = _drop("feature_alpha_dropout", lambda input, p: _nn.alpha_dropout(input, p, True))
feature_alpha_dropout.__doc__ = "As ``alpha_dropout``, of whole channels (axis 1)."


# Convolutions and windows.


def _convolution(n):
    name = f"conv{n}d"
    op = getattr(Tensor, name)

    def function(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return op(_tensor("input", input), weight, bias, stride, padding, dilation, groups)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (op.__doc__ or "").strip()
    return function


def _transposed(n):
    name = f"conv_transpose{n}d"
    op = getattr(Tensor, name)

    def function(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return op(_tensor("input", input), weight, bias, stride, padding, output_padding, groups, dilation)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (op.__doc__ or "").strip()
    return function


conv1d, conv2d, conv3d = map(_convolution, (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = map(_transposed, (1, 2, 3))


def _pools(n):
    axes = ("length", "height and width", "depth, height and width")[n - 1]
    average_op, greatest_op = getattr(Tensor, f"avg_pool{n}d"), getattr(Tensor, f"max_pool{n}d")
    unpool_op = getattr(Tensor, f"max_unpool{n}d")

    def average(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        return average_op(_tensor("input", input), kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    def greatest(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return greatest_op(_tensor("input", input), kernel_size, stride, padding, dilation, ceil_mode, return_indices)

    def unpool(input, indices, kernel_size, stride=None, padding=0, output_size=None):
        return unpool_op(_tensor("input", input), indices, kernel_size, stride, padding, output_size)

    def power(input, norm_type, kernel_size, stride=None, ceil_mode=False):
        return _nn.lp_pool(_tensor("input", input), n, norm_type, kernel_size, stride, ceil_mode)

    def regions(output_size, input):
        input = _tensor("input", input)
        given = output_size if hasattr(output_size, "__iter__") and not isinstance(output_size, str) else (output_size,) * n
        if len(given) != n:
            raise ArgumentError(f"argument 'output_size' has {len(given)} sizes\n help: give one, or {n}")
        return [size if wanted is None else wanted for wanted, size in zip(given, input.shape[-n:])]

    def adaptive_average(input, output_size):
        return _tensor("input", input).adaptive_avg_pool(regions(output_size, input))

    def adaptive_greatest(input, output_size, return_indices=False):
        if return_indices:
            return _tensor("input", input).adaptive_max_pool_with_index(regions(output_size, input))
        return _tensor("input", input).adaptive_max_pool(regions(output_size, input))

    made = {
        f"avg_pool{n}d": (average, f"The average of each window over {axes}."),
        f"max_pool{n}d": (greatest, f"The greatest element of each window over {axes}; with ``return_indices`` also where it is."),
        f"max_unpool{n}d": (unpool, f"Puts values back where ``max_pool{n}d`` took them from; zeros elsewhere."),
        f"lp_pool{n}d": (power, f"``(sum x^p)^(1/p)`` of each window over {axes}."),
        f"adaptive_avg_pool{n}d": (adaptive_average, f"Averages over as many regions of {axes} as asked; ``None`` keeps a size."),
        f"adaptive_max_pool{n}d": (adaptive_greatest, f"Greatest elements of as many regions of {axes} as asked; ``None`` keeps a size."),
    }
    for name, (function, doc) in made.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        globals()[name] = function


for _n in (1, 2, 3):
    _pools(_n)


def pad(input, pad, mode="constant", value=None):
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular."""
    return _tensor("input", input).pad(pad, mode, value)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``."""
    return _tensor("input", input).im2col(_check.sizes("kernel_size", kernel_size, 2, 1), dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns ``[n, c * window, windows]`` added up where their windows lie in an image of ``output_size``."""
    output, kernel = _check.sizes("output_size", output_size, 2, 1), _check.sizes("kernel_size", kernel_size, 2, 1)
    return _tensor("input", input).col2im(output, kernel, dilation, padding, stride)


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


# Norms.


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """``[n, c, ..]`` normalized per channel: by the batch's statistics, which move the running ones, or by the running ones."""
    if not training and (running_mean is None or running_var is None):
        raise ArgumentError("argument 'running_mean' or 'running_var' is None in use\n help: give both, or `training=True`")
    return _nn.batch_norm(_tensor("input", input), running_mean, running_var, weight, bias, None, training, momentum, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """``[n, c, ..]`` normalized per channel of each example."""
    return _nn.instance_norm(_tensor("input", input), running_mean, running_var, weight, bias, bool(use_input_stats), momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalized over the last axes, of these sizes."""
    return _tensor("input", input).layer_norm_over(normalized_shape, weight, bias, eps)


def _machine_eps(dtype):
    return 2.220446049250313e-16 if dtype.name == "float64" else 1.1920928955078125e-07


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes, of these sizes."""
    from .._unigrad import ones

    input = _tensor("input", input)
    shape = _check.shape("normalized_shape", normalized_shape)
    if weight is None:
        weight = ones(shape, dtype=input.dtype, device=input.device)
    elif _tensor("weight", weight).shape != shape:
        raise ArgumentError(
            f"argument 'weight' is {list(weight.shape)}, for `normalized_shape` {list(shape)}\n help: give one of that shape"
        )
    return input.rms_norm(weight, _machine_eps(input.dtype) if eps is None else eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """``[n, c, ..]`` normalized within groups of channels."""
    return _tensor("input", input).group_norm(_check.positive("num_groups", num_groups), weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels."""
    return _tensor("input", input).local_response_norm(_check.positive("size", size), alpha, beta, k)


def normalize(input, p=2.0, dim=1, eps=1e-12):
    """Divided by the norm along an axis."""
    return _tensor("input", input).normalize(float(_check.number("p", p)), dim, eps)


# Tables of vectors.


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """A row of ``weight`` for each index: ``[..]`` with ``weight`` ``[n, size]`` to ``[.., size]``. Gradients are dense."""
    _tensor("input", input)
    if padding_idx is None and max_norm is None and not scale_grad_by_freq:
        return _tensor("weight", weight).embedding(input)
    return _tensor("weight", weight).embedding_with(
        input, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq
    )


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or greatest of the rows of each bag of indices: the rows of a matrix, or what begins at ``offsets`` of a vector."""
    _tensor("input", input)
    return _tensor("weight", weight).embedding_bag(
        input,
        mode=mode,
        offsets=offsets,
        include_last_offset=include_last_offset,
        weights=per_sample_weights,
        padding_idx=padding_idx,
        max_norm=max_norm,
        norm_type=norm_type,
        scale_grad_by_freq=scale_grad_by_freq,
    )


def one_hot(tensor, num_classes=-1):
    """1 at each index, else 0: ``[..]`` to ``[.., num_classes]``; with -1 as many as are needed, which is a read."""
    tensor = _tensor("tensor", tensor)
    num_classes = _check.whole("num_classes", num_classes, -1)
    if num_classes == -1:
        if tensor.numel() == 0:
            raise ArgumentError("argument 'num_classes' is -1, of an empty tensor\n help: say how many classes there are")
        num_classes = int(tensor.amax().item()) + 1
    return tensor.one_hot(num_classes)


# Attention and distances.


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """``softmax(query @ key.T * scale) @ value`` of ``[.., heads, length, features]``, fused. In a mask of truth values, true is seen.

    Fewer heads of keys than of queries are shared (grouped queries) where their number divides.
    """
    query, mask, bias = _tensor("query", query), None, None
    if attn_mask is not None:
        if _tensor("attn_mask", attn_mask).dtype.name == "bool":
            mask = attn_mask
        else:
            bias = attn_mask
    dropout_p = _check.probability("dropout_p", dropout_p)
    lead = query.shape[:-3]
    if query.ndim == 4:
        return query.attention(key, value, causal=is_causal, mask=mask, bias=bias, scale=scale, dropout=dropout_p)
    if query.ndim < 2:
        raise ArgumentError(f"argument 'query' has {query.ndim} axes\n help: give `[.., length, features]`")
    key, value = _tensor("key", key), _tensor("value", value)

    def wide(x):
        shape = x.shape
        return x.reshape([-1, *shape[-3:]]) if len(shape) > 3 else x.reshape([1] * (4 - len(shape)) + list(shape))

    def of_mask(x):
        return (
            None
            if x is None
            else x.expand([*query.shape[:-1], key.shape[-2]]).reshape(
                [-1, *([1] * max(0, 3 - query.ndim)), *query.shape[-3:-1], key.shape[-2]]
            )
        )

    out = wide(query).attention(
        wide(key), wide(value), causal=is_causal, mask=of_mask(mask), bias=of_mask(bias), scale=scale, dropout=dropout_p
    )
    return out.reshape([*(lead if query.ndim > 3 else query.shape[:-3]), *query.shape[-3:-1], value.shape[-1]])


def pdist(input, p=2.0):
    """The distances of all pairs of rows of a matrix, ``[n (n - 1) / 2]``."""
    input = _tensor("input", input)
    if input.ndim != 2:
        raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give a matrix")
    from .._unigrad import triu_indices

    n = input.shape[0]
    pairs = triu_indices(n, n, 1, device=input.device)
    return input[pairs[0]].pairwise_distance(input[pairs[1]], p, 0.0)
