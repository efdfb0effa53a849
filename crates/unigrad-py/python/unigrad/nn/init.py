"""Initial values, with PyTorch's names: each function fills a tensor in place and returns it."""

import math

from .. import _check
from .._errors import ArgumentError
from .._told import name_arguments as _name_arguments
from .._unigrad import Generator, Tensor, randn, uniform
from .parameter import set_value

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "orthogonal_", "sparse_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


_filled = set_value


def _source(generator):
    """What draws: a generator of one's own, or none for the library's."""
    if generator is not None and not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator': a unigrad.Generator is wanted, not {_check._kind(generator)}")
    return generator


def _uniform(shape, low, high, like, generator=None, dtype=None):
    draw = uniform if _source(generator) is None else generator.uniform
    return draw(low, high, shape, dtype=dtype or like.dtype, device=like.device)


def _normal(shape, mean, std, like, generator=None):
    draw = randn if _source(generator) is None else generator.randn
    return draw(shape, dtype=like.dtype, device=like.device) * std + mean


def _float(tensor):
    _check.tensor("tensor", tensor)
    if not tensor.dtype.is_floating_point:
        raise TypeError(f"argument 'tensor': a tensor of floats is wanted, not of {tensor.dtype}")
    return tensor


def _fans(tensor):
    shape = _float(tensor).shape
    if len(shape) < 2:
        raise ArgumentError(f"argument 'tensor' has {len(shape)} axes\n help: fans are of weights with two axes or more")
    kernel = math.prod(shape[2:])
    return shape[1] * kernel, shape[0] * kernel


# What programs with initial values of their own call.
_calculate_fan_in_and_fan_out = _fans


def calculate_gain(nonlinearity, param=None):
    """The gain before a nonlinearity: the root of 2 before a ReLU, 5/3 before a tanh.

    >>> import unigrad
    >>> round(unigrad.nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    ones = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"]
    _check.one_of("nonlinearity", nonlinearity, [*ones, "tanh", "relu", "leaky_relu", "selu"])
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else _check.number("param", param)
        return math.sqrt(2.0 / (1 + slope**2))
    return 3.0 / 4 if nonlinearity == "selu" else 1.0


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Uniform in ``a..b``.

    >>> import unigrad as ug
    >>> 0.0 <= ug.nn.init.uniform_(ug.zeros(9)).min().item() < 1.0
    True
    """
    a, b = _check.number("a", a), _check.number("b", b)
    if a > b:
        raise ArgumentError(f"argument 'a' is {a}, above 'b', {b}\n help: use a range")
    return _filled(tensor, _uniform(_float(tensor).shape, a, b, tensor, generator))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal with a mean and a standard deviation.

    >>> import unigrad as ug
    >>> ug.nn.init.normal_(ug.zeros(3, 4), std=0.02).shape
    (3, 4)
    """
    mean, std = _check.number("mean", mean), _check.number("std", std, 0.0)
    return _filled(tensor, _normal(_float(tensor).shape, mean, std, tensor, generator))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal, between ``a`` and ``b``: drawn by the inverse of the distribution function.

    >>> import unigrad as ug
    >>> ug.nn.init.trunc_normal_(ug.zeros(100)).abs().max().item() <= 2.0
    True
    """
    mean, std = _check.number("mean", mean), _check.number("std", std, above=0.0)
    a, b = _check.number("a", a), _check.number("b", b)
    if a >= b:
        raise ArgumentError(f"argument 'a' is {a}, not below 'b', {b}\n help: use a range")

    def below(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    low, high = 2 * below(a) - 1, 2 * below(b) - 1
    wide = "float64" if str(_float(tensor).dtype) == "unigrad.float64" else "float32"
    draws = _uniform(tensor.shape, low, high, tensor, generator, wide)
    return _filled(tensor, (draws.erfinv() * (std * math.sqrt(2.0)) + mean).clamp(a, b))


def constant_(tensor, val):
    """All one value.

    >>> import unigrad as ug
    >>> ug.nn.init.constant_(ug.zeros(2), 3.0)
    tensor([3., 3.])
    """
    _check.tensor("tensor", tensor)
    return _filled(tensor, Tensor(_check.number("val", val), device=tensor.device))


def ones_(tensor):
    """All 1.

    >>> import unigrad as ug
    >>> ug.nn.init.ones_(ug.zeros(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """All 0.

    >>> import unigrad as ug
    >>> ug.nn.init.zeros_(ug.ones(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity matrix.

    >>> import unigrad as ug
    >>> ug.nn.init.eye_(ug.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    from .._unigrad import eye

    if len(_check.tensor("tensor", tensor).shape) != 2:
        raise ArgumentError(f"argument 'tensor' has {len(tensor.shape)} axes\n help: give a matrix")
    return _filled(tensor, eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """The weight of a convolution that passes as many channels through as there are.

    >>> import unigrad as ug
    >>> ug.nn.init.dirac_(ug.zeros(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    shape = _check.tensor("tensor", tensor).shape
    groups = _check.positive("groups", groups)
    if not 3 <= len(shape) <= 5 or shape[0] % groups:
        raise ArgumentError(f"argument 'tensor' is {list(shape)}, for {groups} groups\n help: give a convolution's weight")
    from .._unigrad import arange

    out, channels = shape[0] // groups, shape[1]
    rows = (arange(shape[0], device=tensor.device) % out).reshape([-1] + [1] * (len(shape) - 1))
    mask = rows == arange(channels, device=tensor.device).reshape([1, -1] + [1] * (len(shape) - 2))
    for axis in range(2, len(shape)):
        middle = arange(shape[axis], device=tensor.device) == shape[axis] // 2
        mask = mask & middle.reshape([-1 if at == axis else 1 for at in range(len(shape))])
    return _filled(tensor, mask.cast(tensor.dtype).expand(shape))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Glorot's uniform values.

    >>> import unigrad as ug
    >>> ug.nn.init.xavier_uniform_(ug.zeros(3, 4)).shape
    (3, 4)
    """
    inputs, outputs = _fans(tensor)
    bound = _check.number("gain", gain) * math.sqrt(6.0 / max(inputs + outputs, 1))
    return _filled(tensor, _uniform(tensor.shape, -bound, bound, tensor, generator))


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Glorot's normal values.

    >>> import unigrad as ug
    >>> ug.nn.init.xavier_normal_(ug.zeros(3, 4)).shape
    (3, 4)
    """
    inputs, outputs = _fans(tensor)
    std = _check.number("gain", gain) * math.sqrt(2.0 / max(inputs + outputs, 1))
    return _filled(tensor, _normal(tensor.shape, 0.0, std, tensor, generator))


def _kaiming(tensor, a, mode, nonlinearity):
    fans = _fans(tensor)
    fan = fans[("fan_in", "fan_out").index(_check.one_of("mode", mode, ("fan_in", "fan_out")))]
    return calculate_gain(nonlinearity, a) / math.sqrt(max(fan, 1))


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's uniform values.

    >>> import unigrad as ug
    >>> ug.nn.init.kaiming_uniform_(ug.zeros(3, 4)).shape
    (3, 4)
    """
    bound = math.sqrt(3.0) * _kaiming(tensor, a, mode, nonlinearity)
    return _filled(tensor, _uniform(tensor.shape, -bound, bound, tensor, generator))


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """He's normal values.

    >>> import unigrad as ug
    >>> ug.nn.init.kaiming_normal_(ug.zeros(3, 4)).shape
    (3, 4)
    """
    std = _kaiming(tensor, a, mode, nonlinearity)
    return _filled(tensor, _normal(tensor.shape, 0.0, std, tensor, generator))


def orthogonal_(tensor, gain=1.0, generator=None):
    """A matrix with orthogonal rows (or columns): the other axes are one. By Gram and Schmidt, twice, in ``float64`` on the CPU.

    >>> import unigrad as ug
    >>> w = ug.nn.init.orthogonal_(ug.zeros(2, 2))
    >>> (w @ w.T).allclose(ug.eye(2), atol=1e-5)
    True
    """
    gain = _check.number("gain", gain)
    shape = _float(tensor).shape
    if len(shape) < 2:
        raise ArgumentError(f"argument 'tensor' has {len(shape)} axes\n help: give two axes or more")
    rows, columns = shape[0], math.prod(shape[1:])
    from .._unigrad import stack, zeros

    few, many = min(rows, columns), max(rows, columns)
    if few == 0:
        return tensor
    draws = (randn if _source(generator) is None else generator.randn)((few, many), dtype="float64", device="cpu")
    kept = []
    for at in range(few):
        row = draws[at]
        if kept:
            before = stack(kept, 0)
            for _ in range(2):
                row = row - (before @ row) @ before
        row = row / (row * row).sum().sqrt()
        kept.append(row.realize() if hasattr(row, "realize") else row)
    found = stack(kept, 0) if kept else zeros((0, many), dtype="float64", device="cpu")
    found = found if rows <= columns else found.T
    return _filled(tensor, (found * gain).reshape(shape).cast(tensor.dtype).to(tensor.device))


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal values, of which a share of each column is 0.

    >>> import unigrad as ug
    >>> (ug.nn.init.sparse_(ug.zeros(4, 2), sparsity=0.5) == 0).sum().item()
    4
    """
    shape = _float(tensor).shape
    if len(shape) != 2:
        raise ArgumentError(f"argument 'tensor' has {len(shape)} axes\n help: give a matrix")
    zeros = math.ceil(_check.probability("sparsity", sparsity) * shape[0])
    values = _normal(shape, 0.0, _check.number("std", std, 0.0), tensor, generator)
    order = _uniform(shape, 0.0, 1.0, tensor, generator, "float32").argsort(0).argsort(0)
    return _filled(tensor, (order >= zeros).where_(values, 0.0))


_name_arguments(globals(), __all__)
