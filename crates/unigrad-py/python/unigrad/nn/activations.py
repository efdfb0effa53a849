"""Activations as layers: made from a table of their settings, each a function of ``functional``."""

from .. import _check
from . import functional as F
from ._made import NOTHING, module_class
from .module import Module
from .parameter import Parameter

_NUMBER, _FLAG, _WHOLE = _check.number, _check.flag, _check.whole


def _dim(name, value):
    return None if value is None else _check.whole(name, value)


def _approximate(name, value):
    return _check.one_of(name, value, ("none", "tanh"))


# Name, function, settings: name, default (or none), what it must be, and the function's name for it.
_TABLE = [
    ("ReLU", "relu", ["inplace"]),
    ("ReLU6", "relu6", ["inplace"]),
    ("SELU", "selu", ["inplace"]),
    ("SiLU", "silu", ["inplace"]),
    ("Mish", "mish", ["inplace"]),
    ("Hardswish", "hardswish", ["inplace"]),
    ("Hardsigmoid", "hardsigmoid", ["inplace"]),
    ("Sigmoid", "sigmoid", []),
    ("Tanh", "tanh", []),
    ("Tanhshrink", "tanhshrink", []),
    ("Softsign", "softsign", []),
    ("LogSigmoid", "logsigmoid", []),
    ("GELU", "gelu", [("approximate", "none", _approximate)]),
    ("LeakyReLU", "leaky_relu", [("negative_slope", 0.01, _NUMBER), "inplace"]),
    ("ELU", "elu", [("alpha", 1.0, _NUMBER), "inplace"]),
    ("CELU", "celu", [("alpha", 1.0, _NUMBER), "inplace"]),
    ("Softplus", "softplus", [("beta", 1.0, _NUMBER), ("threshold", 20.0, _NUMBER)]),
    ("Softshrink", "softshrink", [("lambd", 0.5, _NUMBER)]),
    ("Hardshrink", "hardshrink", [("lambd", 0.5, _NUMBER)]),
    ("Hardtanh", "hardtanh", [("min_val", -1.0, _NUMBER), ("max_val", 1.0, _NUMBER), "inplace"]),
    ("Threshold", "threshold", [("threshold", NOTHING, _NUMBER), ("value", NOTHING, _NUMBER), "inplace"]),
    ("Softmax", "softmax", [("dim", None, _dim)]),
    ("Softmin", "softmin", [("dim", None, _dim)]),
    ("LogSoftmax", "log_softmax", [("dim", None, _dim)]),
    ("GLU", "glu", [("dim", -1, _WHOLE)]),
    ("SwiGLU", "swiglu", [("dim", -1, _WHOLE)]),
    ("GEGLU", "geglu", [("dim", -1, _WHOLE)]),
]

__all__ = [name for name, _, _ in _TABLE] + ["PReLU", "RReLU", "Softmax2d"]


def _layer(name, function, settings):
    op = getattr(F, function)
    settings = [("inplace", False, _FLAG) if setting == "inplace" else setting for setting in settings]
    given = [setting[0] for setting in settings if setting[0] != "inplace"]

    def begin(self, values):
        for own, _, check in settings:
            setattr(self, own, check(own, values[own]))

    if not given:

        def forward(self, input):
            return op(input)

    else:

        def forward(self, input):
            own = self.__dict__
            return op(input, *map(own.__getitem__, given))

    forward.__doc__ = "Of any shape."

    def extra_repr(self):
        return ", ".join(f"{own}={getattr(self, own)!r}" for own, default, _ in settings if own != "inplace" or self.inplace)

    doc = (op.__doc__ or "").strip().split("\n")[0]
    return module_class(name, __name__, settings, begin, forward, extra_repr, doc)


for _row in _TABLE:
    globals()[_row[0]] = _layer(*_row)


class Softmax2d(Module):
    """``softmax`` over the channels of ``[n, c, h, w]`` or ``[c, h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.Softmax2d()(ug.zeros(1, 4, 1, 1)).flatten()
    tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    def forward(self, input):
        """Keeps the shape."""
        return F.softmax(input, -3)


class PReLU(Module):
    """``x`` above 0, ``weight * x`` below; the weight is learned: one, or one for each channel (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.PReLU()(ug.tensor([-4.0, 1.0])).tolist()
    [-1.0, 1.0]
    """

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        from .. import full

        super().__init__()
        self.num_parameters, self.init = _check.positive("num_parameters", num_parameters), _check.number("init", init)
        self.weight = Parameter(full((self.num_parameters,), self.init, dtype=dtype, device=device))

    def forward(self, input):
        """Keeps the shape."""
        return F.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"


class RReLU(Module):
    """Leaky ReLU whose slope is drawn for each element while training, and the middle of the range in use.

    >>> import unigrad as ug
    >>> ug.nn.RReLU(0.25, 0.25).eval()(ug.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000])
    """

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = _NUMBER("lower", lower), _NUMBER("upper", upper), _FLAG("inplace", inplace)

    def forward(self, input):
        """Keeps the shape."""
        return F.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}"
