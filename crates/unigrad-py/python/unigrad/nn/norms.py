"""Norms: over batches, examples, features, groups and neighbouring channels."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, _nn, full, tensor
from . import functional as F
from .layers import _constant
from .module import Module
from .parameter import set_value

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CrossMapLRN2d", "GroupNorm", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d",
    "LayerNorm", "LocalResponseNorm", "RMSNorm", "SyncBatchNorm",
]  # fmt: skip


class _Running(Module):
    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=True):
        super().__init__()
        self.num_features = _check.size("num_features", num_features)
        self.eps = _check.number("eps", eps, 0.0)
        self.momentum = None if momentum is None else _check.number("momentum", momentum)
        self.affine, self.track_running_stats = _check.flag("affine", affine), _check.flag("track_running_stats", track_running_stats)
        shape = (self.num_features,)
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            wanted = self.affine and (name == "weight" or _check.flag("bias", bias))
            self.register_parameter(name, _constant(shape, value, dtype, device) if wanted else None)
        for name, value in (("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, full(shape, value, dtype=dtype, device=device) if self.track_running_stats else None)
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
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

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
    """``[n, c]`` or ``[n, c, l]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> ug.nn.BatchNorm1d(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)
    """

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
    """``[n, c, d, h, w]`` normalized per channel: by the batch's statistics while training, by running ones in use.

    >>> import unigrad as ug
    >>> ug.nn.BatchNorm3d(3)(ug.rand(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)
    """

    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    """Batch norm of any number of axes. On one device it is batch norm.

    >>> import unigrad as ug
    >>> ug.nn.SyncBatchNorm(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)
    """

    _ranks = (2, 3, 4, 5)


class _InstanceNorm(_Running):
    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *, bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

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
    """``[n, c, l]`` or ``[c, l]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm1d(3)(ug.rand(2, 3, 4)).shape
    (2, 3, 4)
    """

    _ranks = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """``[n, c, h, w]`` or ``[c, h, w]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm2d(3)(ug.rand(2, 3, 4, 4)).shape
    (2, 3, 4, 4)
    """

    _ranks = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """``[n, c, d, h, w]`` or ``[c, d, h, w]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.InstanceNorm3d(3)(ug.rand(2, 3, 4, 4, 4)).shape
    (2, 3, 4, 4, 4)
    """

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
        return _check.tensor("input", input).layer_norm_over(self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes.

    >>> import unigrad as ug
    >>> ug.nn.RMSNorm(4)(ug.rand(2, 4)).shape
    (2, 4)
    """

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
    """``[n, c, ..]`` normalized within each group of channels.

    >>> import unigrad as ug
    >>> ug.nn.GroupNorm(2, 4)(ug.rand(1, 4, 3)).shape
    (1, 4, 3)
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        self.num_groups, self.num_channels = _check.positive("num_groups", num_groups), _check.size("num_channels", num_channels)
        if self.num_channels % self.num_groups:
            raise ArgumentError(f"argument 'num_groups' is {num_groups}, of {num_channels} channels\n help: use a number that divides them")
        self.eps, self.affine = _check.number("eps", eps, 0.0), _check.flag("affine", affine)
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            wanted = self.affine and (name == "weight" or _check.flag("bias", bias))
            self.register_parameter(name, _constant((self.num_channels,), value, dtype, device) if wanted else None)

    def forward(self, input):
        """Keeps the shape."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels.

    >>> import unigrad as ug
    >>> ug.nn.LocalResponseNorm(3)(ug.ones(1, 4, 2, 2)).shape
    (1, 4, 2, 2)
    """

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
    """PyTorch's response normalization over the channels of ``[n, c, h, w]``, with its windows.

    >>> import unigrad as ug
    >>> ug.nn.CrossMapLRN2d(3)(ug.ones(1, 4, 2, 2)).shape
    (1, 4, 2, 2)
    """

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__(size, alpha, beta, k)

    def forward(self, input):
        """Keeps the shape."""
        return _nn.cross_map_lrn2d(_check.tensor("input", input), self.size, self.alpha, self.beta, self.k)
