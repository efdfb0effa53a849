"""Activations, gates and softmaxes."""

from ... import _check, rand_like
from ..._check import tensor as _tensor
from ..._errors import ArgumentError
from ..._unigrad import Tensor, _nn

__all__ = [
    "celu", "celu_", "elu", "elu_", "geglu", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_",
    "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid",
    "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "swiglu", "tanh", "tanhshrink", "threshold", "threshold_",
]  # fmt: skip


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
    """``x`` times the normal distribution's cumulative function; with ``approximate="tanh"`` by that formula.

    >>> import unigrad as ug
    >>> ug.nn.functional.gelu(ug.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    input = _tensor("input", input)
    if approximate == "none":
        return input.gelu()
    _check.one_of("approximate", approximate, ("none", "tanh"))
    return input.gelu_tanh()


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """``x`` above 0, ``negative_slope * x`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.leaky_relu(ug.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _tensor("input", input).leaky_relu(negative_slope)


def elu(input, alpha=1.0, inplace=False):
    """``x`` above 0, ``alpha * (exp(x) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.elu(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _tensor("input", input).elu(alpha)


def celu(input, alpha=1.0, inplace=False):
    """``x`` above 0, ``alpha * (exp(x / alpha) - 1)`` below.

    >>> import unigrad as ug
    >>> ug.nn.functional.celu(ug.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _tensor("input", input).celu(alpha)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """``min(max(x, min_val), max_val)``.

    >>> import unigrad as ug
    >>> ug.nn.functional.hardtanh(ug.tensor([-3.0, 0.25, 2.0]))
    tensor([-1.0000,  0.2500,  1.0000])
    """
    if _check.number("min_val", min_val) > _check.number("max_val", max_val):
        raise ArgumentError(f"argument 'min_val' is {min_val}, above 'max_val', {max_val}")
    return _tensor("input", input).hardtanh_with(min_val, max_val)


def hardshrink(input, lambd=0.5):
    """0 within ``lambd`` of 0, else ``x``.

    >>> import unigrad as ug
    >>> ug.nn.functional.hardshrink(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return _tensor("input", input).hardshrink(lambd)


def softshrink(input, lambd=0.5):
    """Toward 0 by ``lambd``, and 0 within it.

    >>> import unigrad as ug
    >>> ug.nn.functional.softshrink(ug.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    return _tensor("input", input).softshrink(_check.number("lambd", lambd, 0.0))


def softplus(input, beta=1.0, threshold=20.0):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x`` is above ``threshold``.

    >>> import unigrad as ug
    >>> ug.nn.functional.softplus(ug.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    input = _tensor("input", input)
    return input.softplus() if beta == 1.0 and threshold == 20.0 else input.softplus_with(beta, threshold)


def threshold(input, threshold, value, inplace=False):
    """``x`` above ``threshold``, else ``value``.

    >>> import unigrad as ug
    >>> ug.nn.functional.threshold(ug.tensor([-1.0, 2.0]), 0.1, 20.0)
    tensor([20.,  2.])
    """
    return _tensor("input", input).threshold(threshold, value)


def prelu(input, weight):
    """``x`` above 0, ``weight * x`` below; ``weight`` has one element, or one for each channel (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.functional.prelu(ug.tensor([-1.0, 2.0]), ug.tensor([0.25]))
    tensor([-0.2500,  2.0000])
    """
    return _tensor("input", input).prelu(weight)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """Leaky ReLU whose slopes are drawn from ``lower..upper`` while training.

    >>> import unigrad as ug
    >>> ug.nn.functional.rrelu(ug.tensor([-1.0, 2.0]), 0.25, 0.25)
    tensor([-0.2500,  2.0000])
    """
    if _check.number("lower", lower) > _check.number("upper", upper):
        raise ArgumentError(f"argument 'lower' is {lower}, above 'upper', {upper}")
    return _nn.rrelu(_tensor("input", input), lower, upper, training)


def glu(input, dim=-1):
    """One half of an axis times the sigmoid of the other.

    >>> import unigrad as ug
    >>> ug.nn.functional.glu(ug.tensor([[3.0, 0.0]]))
    tensor([[1.5000]])
    """
    return _tensor("input", input).glu(dim)


def _halves(input, dim):
    halves = _tensor("input", input).chunk(2, dim)
    if len(halves) != 2 or halves[0].shape != halves[1].shape:
        raise ArgumentError(f"argument 'input' is {list(input.shape)}, whose axis {dim} has no halves\n help: give an even size")
    return halves


def swiglu(input, dim=-1):
    """One half of an axis times the other's SiLU: ``silu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.functional.swiglu(ug.ones(2, 6)).shape
    (2, 3)
    """
    gate, value = _halves(input, dim)
    return gate.silu() * value


def geglu(input, dim=-1):
    """One half of an axis times the other's GELU: ``gelu(first) * second``.

    >>> import unigrad as ug
    >>> ug.nn.functional.geglu(ug.ones(2, 6)).shape
    (2, 3)
    """
    gate, value = _halves(input, dim)
    return gate.gelu() * value


def _dim(input, dim):
    # PyTorch's old choice where none is given.
    if dim is None:
        return 0 if input.ndim in (0, 1, 3) else 1
    return _check.whole("dim", dim)


def softmax(input, dim=None, dtype=None, _stacklevel=3):
    """``exp(x) / sum(exp(x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.softmax(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[0.5000, 0.5000]])
    """
    return _tensor("input", input).softmax(_dim(input, dim), dtype)


def softmin(input, dim=None, dtype=None, _stacklevel=3):
    """``exp(-x) / sum(exp(-x))`` along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.softmin(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[0.5000, 0.5000]])
    """
    x = _tensor("input", input)
    return (x if dtype is None else x.cast(dtype)).softmin(_dim(x, dim))


def log_softmax(input, dim=None, dtype=None, _stacklevel=3):
    """The logarithm of ``softmax``.

    >>> import unigrad as ug
    >>> ug.nn.functional.log_softmax(ug.tensor([[1.0, 1.0]]), dim=-1)
    tensor([[-0.6931, -0.6931]])
    """
    return _tensor("input", input).log_softmax(_dim(input, dim), dtype)


def _in_place(name):
    """The activation as PyTorch's function with an underscore: for all holders of the tensor."""
    op = globals()[name]

    def function(input, *args, **kwargs):
        return _tensor("input", input).copy_(op(input, *args, **kwargs))

    function.__name__ = function.__qualname__ = f"{name}_"
    function.__doc__ = f"``{name}`` in place: for all holders of the tensor."
    return function


celu_, elu_, hardtanh_, leaky_relu_ = map(_in_place, ("celu", "elu", "hardtanh", "leaky_relu"))
relu_, rrelu_, selu_, threshold_ = map(_in_place, ("relu", "rrelu", "selu", "threshold"))


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1):
    """A sample of the Gumbel-softmax distribution; with ``hard`` one-hot, differentiated as if it were not.

    >>> import unigrad as ug
    >>> ug.nn.functional.gumbel_softmax(ug.zeros(2, 3), hard=True).sum(-1)
    tensor([1., 1.])
    """
    logits = _tensor("logits", logits)
    tau = _check.number("tau", tau, above=0.0)
    noise = -(-(rand_like(logits.detach()).clamp(min=1e-20)).log()).clamp(min=1e-20).log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    one_hot = (soft == soft.amax(dim, keepdim=True)).cast(soft.dtype)
    return one_hot.detach() - soft.detach() + soft
