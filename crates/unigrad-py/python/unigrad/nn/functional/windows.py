"""Convolutions, pools, and windows as columns."""

from ... import _check
from ..._check import tensor as _tensor
from ..._errors import ArgumentError
from ..._unigrad import Tensor, _nn

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
    "conv_transpose2d", "conv_transpose3d", "fold", "lp_pool1d", "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool2d",
    "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "unfold",
]  # fmt: skip


def _convolution(n):
    name = f"conv{n}d"
    op = getattr(Tensor, name)

    def function(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        return op(_tensor("input", input), weight, bias, stride, padding, dilation, _check.positive("groups", groups))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (op.__doc__ or "").strip()
    return function


def _transposed(n):
    name = f"conv_transpose{n}d"
    op = getattr(Tensor, name)

    def function(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        return op(_tensor("input", input), weight, bias, stride, padding, output_padding, _check.positive("groups", groups), dilation)

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
        if stride not in (None, (), []):
            _check.sizes("stride", stride, n, 1)
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


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of ``[n, c, h, w]`` as columns ``[n, c * window, windows]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.unfold(ug.ones(1, 3, 4, 4), kernel_size=2, stride=2).shape
    (1, 12, 4)
    """
    settings = [_check.sizes("kernel_size", kernel_size, 2, 1), _check.sizes("dilation", dilation, 2, 1)]
    settings += [_check.sizes("padding", padding, 2), _check.sizes("stride", stride, 2, 1)]
    if _tensor("input", input).ndim == 3:
        # One image.
        return input.unsqueeze(0).im2col(*settings).squeeze(0)
    return input.im2col(*settings)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns ``[n, c * window, windows]`` added up where their windows lie in an image of ``output_size``.

    >>> import unigrad as ug
    >>> ug.nn.functional.fold(ug.ones(1, 12, 4), output_size=(4, 4), kernel_size=2, stride=2).shape
    (1, 3, 4, 4)
    """
    output, kernel = _check.sizes("output_size", output_size, 2, 1), _check.sizes("kernel_size", kernel_size, 2, 1)
    return _tensor("input", input).col2im(output, kernel, dilation, padding, stride)
