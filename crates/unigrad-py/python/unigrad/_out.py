"""``out=``: the result of a function is written to a tensor that is given.

In: the name of a function, its result, the tensors given as ``out``. Out: those tensors, with the values of the result, for all their holders.
Always: what is wrong with one of several is told before any of them is written; the dtype stays that of ``out``, by PyTorch's rules of what may be written
to what; a tensor of another shape gets the result's, with PyTorch's warning if it had elements.
Never: writes through a view, which is a tensor of its own here, or lets a gradient through.
"""

import functools
import inspect
import warnings

from ._errors import AutogradError, DeviceError, DTypeError
from ._unigrad import NoGrad, Tensor, _is_differentiated, grad_enabled

# The functions that take it in PyTorch.
NAMES = frozenset(
    (
        "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan arctan2 "
        "arctanh argmax argmin argsort asin asinh atan atan2 atanh baddbmm bernoulli bitwise_and bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor bmm bucketize cat ceil clamp clamp_max clamp_min clip column_stack concat concatenate copysign cos cosh cross cummax "
        "cummin cumprod cumsum deg2rad diag diagonal_copy diff digamma div divide dot dstack eq erf erfc erfinv exp exp2 expand_copy expm1 float_power floor "
        "floor_divide fmax fmin fmod frac gather gcd ge greater greater_equal gt hardshrink heaviside histc hstack hypot index_add index_copy index_reduce "
        "index_select inner isin isneginf isposinf kron kthvalue lcm ldexp le lerp less less_equal lgamma log log10 log1p log2 log_softmax logaddexp "
        "logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp lt masked_select matmul max maximum mean median min minimum "
        "mm mode msort mul multinomial multiply mv nan_to_num nanmean nanmedian nanquantile nansum narrow_copy ne neg negative nextafter nonzero norm normal "
        "not_equal outer permute_copy pow prod quantile rad2deg reciprocal remainder renorm round rsqrt scatter scatter_add scatter_reduce searchsorted sgn "
        "sigmoid sign signbit sin sinc sinh slice_scatter softmax sort sqrt square squeeze_copy stack std sub subtract sum t_copy take take_along_dim tan tanh "
        "tensordot threshold topk transpose_copy tril triu true_divide trunc unbind_copy unfold_copy unsqueeze_copy var vdot view_copy vstack where xlogy"
    ).split()
)
# Those that write to the result's own dtype only; the others to each that the result can be cast to.
_EXACT = frozenset(
    (
        "abs absolute addbmm addmm addmv amax amin aminmax argmax argmin argsort baddbmm bitwise_not bmm bucketize ceil clamp clamp_max clamp_min cross cummax "
        "cummin diag diagonal_copy dot expand_copy float_power floor frac gather hardshrink heaviside histc index_add index_copy index_reduce index_select inner "
        "isin isneginf isposinf kthvalue log_softmax logcumsumexp masked_select matmul median mm mode msort multinomial mv nan_to_num nanmedian nanquantile "
        "narrow_copy neg negative nonzero norm permute_copy quantile renorm round scatter scatter_add scatter_reduce searchsorted sgn sign signbit slice_scatter "
        "softmax sort squeeze_copy t_copy take take_along_dim tensordot topk transpose_copy tril triu trunc unbind_copy unfold_copy unsqueeze_copy vdot view_copy where"
    ).split()
)
# Those that compute in the dtype of `out`, as if it were given as `dtype`.
_COMPUTED = frozenset("sum prod cumsum cumprod mean nansum nanmean".split())
# Those to whose result a tensor of any dtype may be given.
_ANY = frozenset("sum prod bernoulli".split())


def _kind(value):
    return "None" if value is None else type(value).__name__


def short(dtype):
    return str(dtype).removeprefix("unigrad.")


def checked(out, several=True):
    """What is given as ``out``: a tensor, or with ``several`` a tuple or list of some."""
    if isinstance(out, Tensor):
        return
    if not several or not isinstance(out, (tuple, list)):
        raise TypeError(f"argument 'out': a tensor is wanted, not {_kind(out)}")
    for one in out:
        if not isinstance(one, Tensor):
            raise TypeError(f"argument 'out': tensors are wanted, not {_kind(one)}")


def asked(name, out, keywords):
    """The keywords to call a function with whose result goes to ``out``."""
    checked(out)
    if name in _COMPUTED and isinstance(out, Tensor) and keywords.get("dtype") is None and _computes(name, out.dtype):
        return {**keywords, "dtype": out.dtype}
    return keywords


def _computes(name, dtype):
    return dtype.is_floating_point or (name not in ("mean", "nanmean", "nansum") and dtype.name != "bool")


def _is_allowed(name, result, to, is_exact):
    """Whether a result of one dtype may be written to a tensor of another one."""
    if result == to:
        return True
    if name in ("all", "any"):
        return to.name == "uint8"
    if is_exact:
        return False
    if name in _ANY or (name == "nansum" and not result.is_floating_point):
        return True
    if result.is_floating_point:
        return to.is_floating_point
    return result.name == "bool" or to.name != "bool"


def written(name, out, result, keywords):
    """``out``, with the values of a function's result."""
    if not isinstance(result, tuple):
        if not isinstance(out, Tensor):
            raise TypeError(f"argument 'out': {name} gives one tensor, not {len(out)}: a tensor is wanted, not {_kind(out)}")
        pairs = [(out, result)]
    elif isinstance(out, Tensor):
        raise TypeError(f"argument 'out': {name} gives {len(result)} tensors: a tuple of as many is wanted, not a tensor")
    elif len(out) != len(result):
        raise TypeError(f"argument 'out': {name} gives {len(result)} tensors, not {len(out)}: a tuple of as many is wanted")
    else:
        pairs = list(zip(out, result))
    # The greatest along an axis is written to its own dtype only, that of two tensors to any that it can be cast to.
    is_exact = name in _EXACT or isinstance(result, tuple) or (name in _COMPUTED and keywords.get("dtype") is not None)
    for to, value in pairs:
        _fits(name, to, value, is_exact)
    for to, value in pairs:
        write(to, value)
    if not isinstance(result, tuple):
        return out
    return result._make(out) if hasattr(result, "_make") else tuple(out)


def refused(name):
    """The error of a function that would lose a gradient by ``out``."""
    return AutogradError(
        f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad.\n"
        " help: call it inside of `no_grad`, leave `out` away, or `detach()` the argument"
    )


def _fits(name, to, value, is_exact):
    if grad_enabled() and (to.requires_grad or value.requires_grad or _is_differentiated(value)):
        raise refused(name)
    if to.requires_grad and not to.is_leaf:
        raise AutogradError(
            f"{name}: argument 'out' was computed from a tensor that requires a gradient: another value would have its gradient\n"
            " help: give a tensor of its own, or `detach()` it first"
        )
    if to.device != value.device:
        raise DeviceError(f"{name}: argument 'out' is on {to.device}, the result on {value.device}\n help: give a tensor on {value.device}")
    if not _is_allowed(name, value.dtype, to.dtype, is_exact):
        raise DTypeError(
            f"{name}: argument 'out': result type {short(value.dtype)} can't be cast to the desired output type {short(to.dtype)}\n"
            f" help: give an `out` of {short(value.dtype)}, or cast the result"
        )


def write(to, value, stacklevel=5, warns=True):
    """Gives a tensor another one's values, in its own dtype, and the other one's shape. No gradient knows."""
    inside = NoGrad()
    inside.__enter__()
    try:
        if to.shape == value.shape:
            to.copy_(value)
            return
        if warns and to.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(to.shape)}, which does not match the required output shape "
                f"{list(value.shape)}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized unless they have zero elements. "
                "You can explicitly reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=stacklevel,
            )
        to._become(value.to(to.dtype))
    finally:
        inside.__exit__()


OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)


class Signed:
    """What ``inspect.signature`` sees behind a function: the signature of another one, with keywords that the function takes beside."""

    def __init__(self, function, added=(OUT,)):
        self.function, self.added = function, added

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    @property
    def __signature__(self):
        known = inspect.signature(self.function)
        parameters = list(known.parameters.values())
        have = {parameter.name for parameter in parameters}
        at = next((at for at, parameter in enumerate(parameters) if parameter.kind == parameter.VAR_KEYWORD), len(parameters))
        parameters[at:at] = [parameter for parameter in self.added if parameter.name not in have]
        return known.replace(parameters=parameters)


def signed(function):
    """A function that takes ``out``, which ``inspect.signature`` is to see."""
    function.__wrapped__ = Signed(function.__wrapped__)
    return function


def called(name, function, args, keywords):
    """What a function gives that is asked for ``out``, among its keywords."""
    out = keywords.pop("out")
    if out is None:
        return function(*args, **keywords)
    return written(name, out, function(*args, **asked(name, out, keywords)), keywords)


def taking(name, function):
    """A function that takes ``out`` as well."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return called(name, function, args, kwargs) if "out" in kwargs else function(*args, **kwargs)

    call.__wrapped__ = function
    return signed(call)
