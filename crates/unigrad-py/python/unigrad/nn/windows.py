"""Convolutions, pools and pads, each for one, two and three spatial axes: made from one class for each kind."""

import math

from .. import _check
from .._errors import ArgumentError
from . import functional as F
from .layers import _uniform
from .module import Module

__all__ = []

_AXES = {1: "`[n, c, l]` or `[c, l]`", 2: "`[n, c, h, w]` or `[c, h, w]`", 3: "`[n, c, d, h, w]` or `[c, d, h, w]`"}


class _Convolution(Module):
    def __init__(self, n, channels, kernel_size, stride, padding, dilation, transposed, output_padding, groups, bias, mode, device, dtype):
        super().__init__()
        (self.in_channels, self.out_channels), self.groups = channels, _check.positive("groups", groups)
        for name, count in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if _check.positive(name, count) % self.groups:
                raise ArgumentError(f"argument 'groups' is {groups}, of {count} `{name}`\n help: use a number that divides them")
        self.kernel_size = _check.sizes("kernel_size", kernel_size, n, 1)
        self.stride, self.dilation = _check.sizes("stride", stride, n, 1), _check.sizes("dilation", dilation, n, 1)
        if isinstance(padding, str):
            self.padding = _check.one_of("padding", padding, ("same", "valid"))
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ArgumentError('argument \'padding\' is "same" with a stride\n help: give sizes: "same" is for strides of 1')
        else:
            self.padding = _check.sizes("padding", padding, n)
        self.output_padding = _check.sizes("output_padding", output_padding, n)
        self.transposed = transposed
        modes = ("zeros",) if transposed else ("zeros", "reflect", "replicate", "circular")
        self.padding_mode = _check.one_of("padding_mode", mode, modes)
        first, second = (self.in_channels, self.out_channels) if transposed else (self.out_channels, self.in_channels)
        shape = (first, second // self.groups, *self.kernel_size)
        fan_in = shape[1] * math.prod(self.kernel_size)
        self.weight = _uniform(shape, fan_in, dtype, device)
        self.register_parameter("bias", None)
        if _check.flag("bias", bias):
            self.bias = _uniform((self.out_channels,), fan_in, dtype, device)

    def _around(self):
        """What `pad` takes, from the last axis on."""
        if self.padding == "valid":
            return [0] * (2 * len(self.kernel_size))
        if self.padding == "same":
            reaches = [dilation * (size - 1) for dilation, size in zip(self.dilation, self.kernel_size)]
            return [part for reach in reversed(reaches) for part in (reach // 2, reach - reach // 2)]
        return [size for size in reversed(self.padding) for _ in range(2)]

    def extra_repr(self):
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        n = len(self.kernel_size)
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


def _convolutions(n):
    op, transposed_op = getattr(F, f"conv{n}d"), getattr(F, f"conv_transpose{n}d")

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        channels = (in_channels, out_channels)
        _Convolution.__init__(
            self, n, channels, kernel_size, stride, padding, dilation, False, 0, groups, bias, padding_mode, device, dtype
        )

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            _check.tensor("input", input)
            single = input.ndim == n + 1
            input = F.pad(input.unsqueeze(0) if single else input, self._around(), self.padding_mode)
            input, padding = (input.squeeze(0) if single else input), 0
        return op(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    forward.__doc__ = f"{_AXES[n]} to `[.., out_channels, sizes..]`."

    def transposed_init(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        if isinstance(padding, str):
            raise TypeError("argument 'padding': sizes are wanted, not str")
        channels = (in_channels, out_channels)
        _Convolution.__init__(
            self, n, channels, kernel_size, stride, padding, dilation, True, output_padding, groups, bias, padding_mode, device, dtype
        )

    def transposed_forward(self, input, output_size=None):
        more = self.output_padding
        if output_size is not None:
            wanted = _check.shape("output_size", output_size)[-n:]
            sizes = _check.tensor("input", input).shape[-n:]
            steps = zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size)
            least = [(size - 1) * stride - 2 * pad + dilation * (kernel - 1) + 1 for size, stride, pad, dilation, kernel in steps]
            more = [size - lowest for size, lowest in zip(wanted, least)]
            if len(wanted) != n or any(not 0 <= extra < max(s, d) for extra, s, d in zip(more, self.stride, self.dilation)):
                raise ArgumentError(
                    f"argument 'output_size' is {list(wanted)}\n help: sizes from {least} on are possible, less than a stride more"
                )
        return transposed_op(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    transposed_forward.__doc__ = f"{_AXES[n]} to `[.., out_channels, sizes..]`."
    return {
        f"Conv{n}d": (_Convolution, f"Convolution over {_AXES[n]}.", __init__, forward),
        f"ConvTranspose{n}d": (_Convolution, f"Transposed convolution over {_AXES[n]}.", transposed_init, transposed_forward),
    }


class _Pool(Module):
    def extra_repr(self):
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._settings)


def _sizes(name, value, n, least=0):
    _check.sizes(name, value, n, least)
    return value if isinstance(value, int) else tuple(value)


def _pools(n):
    average, greatest, unpool = getattr(F, f"avg_pool{n}d"), getattr(F, f"max_pool{n}d"), getattr(F, f"max_unpool{n}d")
    power, regions, peaks = getattr(F, f"lp_pool{n}d"), getattr(F, f"adaptive_avg_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")

    def windows(self, kernel_size, stride, padding):
        Module.__init__(self)
        self.kernel_size = _sizes("kernel_size", kernel_size, n, 1)
        self.stride = self.kernel_size if stride is None else _sizes("stride", stride, n, 1)
        self.padding = _sizes("padding", padding, n)
        self._settings = ("kernel_size", "stride", "padding")

    def max_init(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        windows(self, kernel_size, stride, padding)
        self.dilation = _sizes("dilation", dilation, n, 1)
        self.return_indices, self.ceil_mode = _check.flag("return_indices", return_indices), _check.flag("ceil_mode", ceil_mode)
        self._settings = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")

    def max_forward(self, input):
        return greatest(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)

    def avg_init(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        windows(self, kernel_size, stride, padding)
        self.ceil_mode, self.count_include_pad = _check.flag("ceil_mode", ceil_mode), _check.flag("count_include_pad", count_include_pad)
        self.divisor_override = None if divisor_override is None else _check.whole("divisor_override", divisor_override)

    def avg_forward(self, input):
        return average(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, self.divisor_override)

    def unpool_init(self, kernel_size, stride=None, padding=0):
        windows(self, kernel_size, stride, padding)

    def unpool_forward(self, input, indices, output_size=None):
        return unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def power_init(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        windows(self, kernel_size, stride, 0)
        self.norm_type, self.ceil_mode = _check.number("norm_type", norm_type), _check.flag("ceil_mode", ceil_mode)
        self._settings = ("norm_type", "kernel_size", "stride", "ceil_mode")

    def power_forward(self, input):
        return power(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def output_size_of(value):
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value if value is None else _check.size("output_size", value)
        if isinstance(value, str) or not hasattr(value, "__iter__"):
            raise TypeError(f"argument 'output_size': an integer or {n} integers are wanted, not {_check._kind(value)}")
        value = tuple(size if size is None else _check.size("output_size", size) for size in value)
        if len(value) != n:
            raise ArgumentError(f"argument 'output_size' has {len(value)} sizes\n help: give one, or {n}")
        return value

    def regions_init(self, output_size):
        Module.__init__(self)
        self.output_size, self._settings = output_size_of(output_size), ("output_size",)

    def regions_forward(self, input):
        return regions(input, self.output_size)

    def peaks_init(self, output_size, return_indices=False):
        Module.__init__(self)
        self.output_size, self._settings = output_size_of(output_size), ("output_size",)
        self.return_indices = _check.flag("return_indices", return_indices)

    def peaks_forward(self, input):
        return peaks(input, self.output_size, self.return_indices)

    for forward in (max_forward, avg_forward, unpool_forward, power_forward, regions_forward, peaks_forward):
        forward.__doc__ = f"{_AXES[n]} to the same with other sizes."
    return {
        f"MaxPool{n}d": (_Pool, f"The greatest element of each window of {_AXES[n]}.", max_init, max_forward),
        f"AvgPool{n}d": (_Pool, f"The average of each window of {_AXES[n]}.", avg_init, avg_forward),
        f"MaxUnpool{n}d": (_Pool, f"Puts back what `MaxPool{n}d` took, of {_AXES[n]}; zeros elsewhere.", unpool_init, unpool_forward),
        f"LPPool{n}d": (_Pool, f"The p-norm of each window of {_AXES[n]}.", power_init, power_forward),
        f"AdaptiveAvgPool{n}d": (_Pool, f"Averages over as many regions of {_AXES[n]} as asked.", regions_init, regions_forward),
        f"AdaptiveMaxPool{n}d": (_Pool, f"Greatest elements of as many regions of {_AXES[n]} as asked.", peaks_init, peaks_forward),
    }


class _Pad(Module):
    def extra_repr(self):
        return f"{self.padding}" + (f", value={self.value}" if hasattr(self, "value") else "")


def _pads(n):
    def of(self, padding):
        Module.__init__(self)
        if isinstance(padding, int) and not isinstance(padding, bool):
            padding = (padding,) * (2 * n)
        if isinstance(padding, str) or not hasattr(padding, "__iter__"):
            raise TypeError(f"argument 'padding': an integer or {2 * n} integers are wanted, not {_check._kind(padding)}")
        padding = tuple(_check.whole("padding", size) for size in padding)
        if len(padding) != 2 * n:
            raise ArgumentError(f"argument 'padding' has {len(padding)} numbers\n help: give one, or {2 * n}")
        self.padding = padding

    def plain(self, padding):
        of(self, padding)

    def constant(self, padding, value):
        of(self, padding)
        self.value = _check.number("value", value)

    def forward_of(mode):
        def forward(self, input):
            return F.pad(input, self.padding, mode, getattr(self, "value", None))

        forward.__doc__ = f"{_AXES[n]} to the same with more around."
        return forward

    texts = {
        "ZeroPad": ("constant", "Zeros", plain),
        "ConstantPad": ("constant", "One value", constant),
        "ReflectionPad": ("reflect", "Elements mirrored at the border", plain),
        "ReplicationPad": ("replicate", "Copies of the border", plain),
        "CircularPad": ("circular", "Elements of the other side", plain),
    }
    return {f"{name}{n}d": (_Pad, f"{text} around {_AXES[n]}.", init, forward_of(mode)) for name, (mode, text, init) in texts.items()}


for _n in (1, 2, 3):
    for _name, (_base, _doc, _init, _forward) in {**_convolutions(_n), **_pools(_n), **_pads(_n)}.items():
        _init.__qualname__, _forward.__qualname__ = f"{_name}.__init__", f"{_name}.forward"
        _members = {"__init__": _init, "forward": _forward, "__doc__": _doc, "__module__": __name__}
        globals()[_name] = type(_name, (_base,), _members)
        __all__.append(_name)
