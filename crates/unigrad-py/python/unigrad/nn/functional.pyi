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
from unigrad.nn.distances import binary_cross_entropy as binary_cross_entropy
from unigrad.nn.distances import binary_cross_entropy_with_logits as binary_cross_entropy_with_logits
from unigrad.nn.distances import cosine_embedding_loss as cosine_embedding_loss
from unigrad.nn.distances import cosine_similarity as cosine_similarity
from unigrad.nn.distances import cross_entropy as cross_entropy
from unigrad.nn.distances import ctc_loss as ctc_loss
from unigrad.nn.distances import dice_loss as dice_loss
from unigrad.nn.distances import focal_loss as focal_loss
from unigrad.nn.distances import gaussian_nll_loss as gaussian_nll_loss
from unigrad.nn.distances import hinge_embedding_loss as hinge_embedding_loss
from unigrad.nn.distances import huber_loss as huber_loss
from unigrad.nn.distances import kl_div as kl_div
from unigrad.nn.distances import l1_loss as l1_loss
from unigrad.nn.distances import margin_ranking_loss as margin_ranking_loss
from unigrad.nn.distances import mse_loss as mse_loss
from unigrad.nn.distances import multi_margin_loss as multi_margin_loss
from unigrad.nn.distances import multilabel_margin_loss as multilabel_margin_loss
from unigrad.nn.distances import multilabel_soft_margin_loss as multilabel_soft_margin_loss
from unigrad.nn.distances import nll_loss as nll_loss
from unigrad.nn.distances import pairwise_distance as pairwise_distance
from unigrad.nn.distances import poisson_nll_loss as poisson_nll_loss
from unigrad.nn.distances import smooth_l1_loss as smooth_l1_loss
from unigrad.nn.distances import soft_margin_loss as soft_margin_loss
from unigrad.nn.distances import triplet_margin_loss as triplet_margin_loss
from unigrad.nn.distances import triplet_margin_with_distance_loss as triplet_margin_with_distance_loss

def linear(input: Tensor, weight: Tensor, bias: Any=None) -> Tensor:
    """``input @ weight.T + bias``: ``[.., in]`` with ``weight`` ``[out, in]`` to ``[.., out]``; with ``weight`` ``[in]`` to ``[..]``."""
    ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Any=None) -> Tensor:
    """``input1 · weight_k · input2`` for each output ``k``: ``weight`` is ``[out, in1, in2]``."""
    ...
def relu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def relu6(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`min(max(x, 0), 6)`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def selu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def silu(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def mish(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * tanh(softplus(x))`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def hardswish(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x * relu6(x + 3) / 6`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def hardsigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`relu6(x + 3) / 6`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def sigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`1 / (1 + e^-x)`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def tanh(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """Hyperbolic tangent.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def tanhshrink(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x - tanh(x)`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def softsign(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`x / (1 + |x|)`.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def logsigmoid(input: Tensor, inplace: builtins.bool=False) -> Tensor:
    """`log(sigmoid(x))`, without overflow.

    Of any shape. ``inplace`` is taken and changes nothing: ops are fused."""
    ...
def gelu(input: Tensor, approximate: builtins.str='none') -> Tensor:
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula."""
    ...
def leaky_relu(input: Tensor, negative_slope: builtins.float=0.01, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``negative_slope * x`` below."""
    ...
def elu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    ...
def celu(input: Tensor, alpha: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below."""
    ...
def hardtanh(input: Tensor, min_val: builtins.float=-1.0, max_val: builtins.float=1.0, inplace: builtins.bool=False) -> Tensor:
    """``min(max(x, min_val), max_val)``."""
    ...
def hardshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """0 within ``lambd`` of 0, else ``x``."""
    ...
def softshrink(input: Tensor, lambd: builtins.float=0.5) -> Tensor:
    """Toward 0 by ``lambd``, and 0 within it."""
    ...
def softplus(input: Tensor, beta: builtins.float=1.0, threshold: builtins.float=20.0) -> Tensor:
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``."""
    ...
def threshold(input: Tensor, threshold: builtins.float, value: builtins.float, inplace: builtins.bool=False) -> Tensor:
    """``x`` above ``threshold``, else ``value``."""
    ...
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one for each channel (axis 1)."""
    ...
def rrelu(input: Tensor, lower: builtins.float=0.125, upper: builtins.float=0.3333333333333333, training: builtins.bool=False, inplace: builtins.bool=False) -> Tensor:
    """Leaky ReLU whose slopes are drawn from ``lower..upper`` while training."""
    ...
def glu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the sigmoid of the other."""
    ...
def swiglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's SiLU: ``silu(first) * second``."""
    ...
def geglu(input: Tensor, dim: builtins.int=-1) -> Tensor:
    """One half of an axis times the other's GELU: ``gelu(first) * second``."""
    ...
def softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis."""
    ...
def softmin(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """``exp(-x) / sum(exp(-x))`` along an axis."""
    ...
def log_softmax(input: Tensor, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
    """The logarithm of ``softmax``."""
    ...
def gumbel_softmax(logits: Tensor, tau: builtins.float=1.0, hard: builtins.bool=False, eps: builtins.float=1e-10, dim: builtins.int=-1) -> Tensor:
    """A sample of the Gumbel-softmax distribution; with ``hard`` one-hot, differentiated as if it were not."""
    ...
def dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """While training each element is 0 with probability ``p``, else divided by ``1 - p``."""
    ...
def dropout1d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, l]`` or ``[c, l]``."""
    ...
def dropout2d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, h, w]`` or ``[c, h, w]``."""
    ...
def dropout3d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]``."""
    ...
def alpha_dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops elements to where SELU saturates, such that mean and variance stay."""
    ...
def feature_alpha_dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """As ``alpha_dropout``, of whole channels (axis 1)."""
    ...
def conv1d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid"."""
    ...
def conv2d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid"."""
    ...
def conv3d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int] | builtins.str=0, dilation: builtins.int | Sequence[builtins.int]=1, groups: builtins.int=1) -> Tensor:
    """Convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid"."""
    ...
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`."""
    ...
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`."""
    ...
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Any=None, stride: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, output_padding: builtins.int | Sequence[builtins.int]=0, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Transposed convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`."""
    ...
def avg_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over length."""
    ...
def max_pool1d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over length; with ``return_indices`` also where it is."""
    ...
def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool1d`` took them from; zeros elsewhere."""
    ...
def lp_pool1d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over length."""
    ...
def adaptive_avg_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of length as asked; ``None`` keeps a size."""
    ...
def adaptive_max_pool1d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of length as asked; ``None`` keeps a size."""
    ...
def avg_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over height and width."""
    ...
def max_pool2d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over height and width; with ``return_indices`` also where it is."""
    ...
def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool2d`` took them from; zeros elsewhere."""
    ...
def lp_pool2d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over height and width."""
    ...
def adaptive_avg_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of height and width as asked; ``None`` keeps a size."""
    ...
def adaptive_max_pool2d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of height and width as asked; ``None`` keeps a size."""
    ...
def avg_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.float | None=None) -> Tensor:
    """The average of each window over depth, height and width."""
    ...
def max_pool3d(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, dilation: builtins.int | Sequence[builtins.int]=1, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
    """The greatest element of each window over depth, height and width; with ``return_indices`` also where it is."""
    ...
def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int]=0, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
    """Puts values back where ``max_pool3d`` took them from; zeros elsewhere."""
    ...
def lp_pool3d(input: Tensor, norm_type: builtins.float, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False) -> Tensor:
    """``(sum x^p)^(1/p)`` of each window over depth, height and width."""
    ...
def adaptive_avg_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int]) -> Tensor:
    """Averages over as many regions of depth, height and width as asked; ``None`` keeps a size."""
    ...
def adaptive_max_pool3d(input: Tensor, output_size: builtins.int | Sequence[builtins.int], return_indices: builtins.bool=False) -> Any:
    """Greatest elements of as many regions of depth, height and width as asked; ``None`` keeps a size."""
    ...
def pad(input: Tensor, pad: Any, mode: builtins.str='constant', value: builtins.float | None=None) -> Tensor:
    """Elements around: pairs of sizes from the last axis on; ``mode`` is constant, reflect, replicate or circular."""
    ...
def unfold(input: Tensor, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``."""
    ...
def fold(input: Tensor, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int]=1, padding: builtins.int | Sequence[builtins.int]=0, stride: builtins.int | Sequence[builtins.int]=1) -> Tensor:
    """Columns ``[n, c * window, windows]`` added up where their windows lie in an image of ``output_size``."""
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
def batch_norm(input: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None=None, bias: Any=None, training: builtins.bool=False, momentum: builtins.float=0.1, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized per channel: by the batch's statistics, which move the running ones, or by the running ones."""
    ...
def instance_norm(input: Tensor, running_mean: Tensor | None=None, running_var: Tensor | None=None, weight: Tensor | None=None, bias: Any=None, use_input_stats: builtins.bool=True, momentum: builtins.float=0.1, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized per channel of each example."""
    ...
def layer_norm(input: Tensor, normalized_shape: builtins.int | Sequence[builtins.int], weight: Tensor | None=None, bias: Any=None, eps: builtins.float=1e-05) -> Tensor:
    """Normalized over the last axes, of these sizes."""
    ...
def rms_norm(input: Tensor, normalized_shape: builtins.int | Sequence[builtins.int], weight: Tensor | None=None, eps: builtins.float | None=None) -> Tensor:
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes, of these sizes."""
    ...
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None=None, bias: Any=None, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized within groups of channels."""
    ...
def local_response_norm(input: Tensor, size: builtins.int | Sequence[builtins.int], alpha: builtins.float=0.0001, beta: builtins.float=0.75, k: builtins.float=1.0) -> Tensor:
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels."""
    ...
def normalize(input: Tensor, p: builtins.float=2.0, dim: builtins.int=1, eps: builtins.float=1e-12) -> Tensor:
    """Divided by the norm along an axis."""
    ...
def embedding(input: Tensor, weight: Tensor, padding_idx: builtins.int | None=None, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, sparse: builtins.bool=False) -> Tensor:
    """A row of ``weight`` for each index: ``[..]`` with ``weight`` ``[n, size]`` to ``[.., size]``. Gradients are dense."""
    ...
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None=None, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, mode: builtins.str='mean', sparse: builtins.bool=False, per_sample_weights: Tensor | None=None, include_last_offset: builtins.bool=False, padding_idx: builtins.int | None=None) -> Tensor:
    """The sum, mean or greatest of the rows of each bag of indices: the rows of a matrix, or what begins at ``offsets`` of a vector."""
    ...
def one_hot(tensor: Tensor, num_classes: builtins.int=-1) -> Tensor:
    """1 at each index, else 0: ``[..]`` to ``[.., num_classes]``; with -1 as many as are needed, which is a read."""
    ...
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None=None, dropout_p: builtins.float=0.0, is_causal: builtins.bool=False, scale: builtins.float | None=None, enable_gqa: builtins.bool=False) -> Tensor:
    """``softmax(query @ key.T * scale) @ value`` of ``[.., heads, length, features]``, fused. In a mask of truth values, true is seen.

    Fewer heads of keys than of queries are shared (grouped queries) where their number divides."""
    ...
def pdist(input: Tensor, p: builtins.float=2.0) -> Tensor:
    """The distances of all pairs of rows of a matrix, ``[n (n - 1) / 2]``."""
    ...
