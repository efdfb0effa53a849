"""Elementwise functions. Numbers beside an array have its dtype if they are of its kind."""

import unigrad as _u
from unigrad import Tensor

from ._creation import filled
from ._dtypes import array, kind, promoted


def _unary(name, method=None, doc="", kinds=("int", "float")):
    called = method or getattr(Tensor, name)

    def function(x, /):
        array("x", x)
        _check(name, "x", x, kinds)
        return called(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _check(name, argument, x, kinds):
    if kind(x.dtype) not in kinds:
        words = {"bool": "bools", "int": "integers", "float": "floats"}
        wanted = ", ".join(words[kind] for kind in kinds)
        raise TypeError(f"{name}: `{argument}` is an array of {wanted}, not of {x.dtype}")


def _both(name, x1, x2, kinds):
    """Two arrays of the dtype that they have in common."""
    if not isinstance(x1, Tensor) and not isinstance(x2, Tensor):
        raise TypeError(f"{name}: `x1` or `x2` is a unigrad.Tensor, not {type(x1).__name__} and {type(x2).__name__}")
    if not isinstance(x1, Tensor):
        x1 = filled(x1, x2)
    elif not isinstance(x2, Tensor):
        x2 = filled(x2, x1)
    try:
        dtype = promoted(x1.dtype, x2.dtype)
    except TypeError:
        # The standard leaves mixed kinds open; here they mix as the operators do.
        return x1, x2
    x1, x2 = (x if x.dtype == dtype else x.to(dtype) for x in (x1, x2))
    _check(name, "x1", x1, kinds)
    return x1, x2


def _binary(name, method=None, doc="", kinds=("int", "float")):
    called = method or getattr(Tensor, name)

    def function(x1, x2, /):
        return called(*_both(name, x1, x2, kinds))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


_FLOAT = ("float",)
_INT = ("int",)
_BITS = ("bool", "int")
# The standard asks for bools; numbers are true where they are not 0, as in NumPy.
_TRUTHS = ("bool", "int", "float")
_ALL = ("bool", "int", "float")

acos = _unary("acos", doc="The angle with this cosine, in radians.", kinds=_FLOAT)
acosh = _unary("acosh", doc="The inverse of `cosh`.", kinds=_FLOAT)
asin = _unary("asin", doc="The angle with this sine, in radians.", kinds=_FLOAT)
asinh = _unary("asinh", doc="The inverse of `sinh`.", kinds=_FLOAT)
atan = _unary("atan", doc="The angle with this tangent, in radians.", kinds=_FLOAT)
atanh = _unary("atanh", doc="The inverse of `tanh`.", kinds=_FLOAT)
cos = _unary("cos", doc="The cosine of an angle in radians.", kinds=_FLOAT)
cosh = _unary("cosh", doc="The hyperbolic cosine.", kinds=_FLOAT)
exp = _unary("exp", doc="e to the power of each element.", kinds=_FLOAT)
expm1 = _unary("expm1", doc="``exp(x) - 1``, exact for small elements.", kinds=_FLOAT)
log = _unary("log", doc="The natural logarithm.", kinds=_FLOAT)
log1p = _unary("log1p", doc="``log(1 + x)``, exact for small elements.", kinds=_FLOAT)
log2 = _unary("log2", doc="The logarithm to base 2.", kinds=_FLOAT)
log10 = _unary("log10", doc="The logarithm to base 10.", kinds=_FLOAT)
reciprocal = _unary("reciprocal", doc="``1 / x``.", kinds=_FLOAT)
sin = _unary("sin", doc="The sine of an angle in radians.", kinds=_FLOAT)
sinh = _unary("sinh", doc="The hyperbolic sine.", kinds=_FLOAT)
sqrt = _unary("sqrt", doc="The square root.", kinds=_FLOAT)
tan = _unary("tan", doc="The tangent of an angle in radians.", kinds=_FLOAT)
tanh = _unary("tanh", doc="The hyperbolic tangent.", kinds=_FLOAT)
signbit = _unary("signbit", doc="Whether the sign bit is set: of negative numbers, -0 and some NaNs.", kinds=_FLOAT)


def _kept(called):
    """Of integers the elements themselves."""
    return lambda x: called(x) if x.dtype.is_floating_point else _u.asarray(x, copy=True)


abs = _unary("abs", doc="The absolute value.")  # noqa: A001
ceil = _unary("ceil", _kept(Tensor.ceil), "The least integer that is not below each element.")
floor = _unary("floor", _kept(Tensor.floor), "The greatest integer that is not above each element.")
trunc = _unary("trunc", _kept(Tensor.trunc), "Without what is after the point.")
round = _unary("round", _kept(Tensor.round), "The nearest integer; of two the even one.")  # noqa: A001
negative = _unary("negative", doc="``-x``.")
positive = _unary("positive", lambda x: _u.asarray(x, copy=True), "``+x``: a copy.")
sign = _unary("sign", lambda x: _u.where(x != x, x, x.sign()) if x.dtype.is_floating_point else x.sign(), doc="-1, 0 or 1, as each element is below, at or above 0; NaN for NaN.")
square = _unary("square", doc="``x * x``.")
conj = _unary("conj", lambda x: x, "The complex conjugate: of real numbers themselves.")
real = _unary("real", lambda x: x, "The real part: of real numbers themselves.")


def imag(x, /):
    """The imaginary part: of real numbers zeros."""
    array("x", x)
    _check("imag", "x", x, ("int", "float"))
    return _u.zeros_like(x)


def _flag(of_float, of_others):
    return lambda x: of_float(x) if x.dtype.is_floating_point else _u.full(x.shape, of_others, dtype=_u.bool, device=x.device)


isfinite = _unary("isfinite", _flag(Tensor.isfinite, True), "Whether each element is neither infinite nor NaN.")
isinf = _unary("isinf", _flag(Tensor.isinf, False), "Whether each element is infinite.")
isnan = _unary("isnan", _flag(Tensor.isnan, False), "Whether each element is NaN.")
logical_not = _unary("logical_not", doc="Not.", kinds=_TRUTHS)
bitwise_invert = _unary("bitwise_invert", Tensor.__invert__, "Each bit inverted.", _BITS)



def _floor_divide(x1, x2):
    quotient = x1 // x2
    if not quotient.dtype.is_floating_point:
        return quotient
    # Python's, and the operator's, is -1 for signs that differ.
    return _u.where(x2.isinf() & x1.isfinite(), x1 / x2, quotient)


add = _binary("add", doc="``x1 + x2``.")
atan2 = _binary("atan2", doc="The angle of the point ``(x2, x1)``, in radians.", kinds=_FLOAT)
bitwise_and = _binary("bitwise_and", Tensor.__and__, "``x1 & x2``.", _BITS)
bitwise_left_shift = _binary("bitwise_left_shift", Tensor.__lshift__, "``x1 << x2``.", _INT)
bitwise_or = _binary("bitwise_or", Tensor.__or__, "``x1 | x2``.", _BITS)
bitwise_right_shift = _binary("bitwise_right_shift", Tensor.__rshift__, "``x1 >> x2``.", _INT)
bitwise_xor = _binary("bitwise_xor", Tensor.__xor__, "``x1 ^ x2``.", _BITS)
copysign = _binary("copysign", doc="The size of ``x1`` with the sign of ``x2``.", kinds=_FLOAT)
divide = _binary("divide", Tensor.__truediv__, "``x1 / x2``.")
equal = _binary("equal", Tensor.__eq__, "``x1 == x2``.", _ALL)
floor_divide = _binary("floor_divide", _floor_divide, "``x1 // x2``; by infinity a zero of the quotient's sign.")
greater = _binary("greater", Tensor.__gt__, "``x1 > x2``.")
greater_equal = _binary("greater_equal", Tensor.__ge__, "``x1 >= x2``.")
hypot = _binary("hypot", doc="``sqrt(x1 * x1 + x2 * x2)`` without overflow.", kinds=_FLOAT)
less = _binary("less", Tensor.__lt__, "``x1 < x2``.")
less_equal = _binary("less_equal", Tensor.__le__, "``x1 <= x2``.")
logaddexp = _binary("logaddexp", doc="``log(exp(x1) + exp(x2))`` without overflow.", kinds=_FLOAT)
logical_and = _binary("logical_and", doc="And.", kinds=_TRUTHS)
logical_or = _binary("logical_or", doc="Or.", kinds=_TRUTHS)
logical_xor = _binary("logical_xor", doc="Either, but not both.", kinds=_TRUTHS)
maximum = _binary("maximum", doc="The greater one; NaN where either is.")
minimum = _binary("minimum", doc="The lesser one; NaN where either is.")
multiply = _binary("multiply", doc="``x1 * x2``.")
nextafter = _binary("nextafter", doc="The float next to ``x1`` in the direction of ``x2``.", kinds=_FLOAT)
not_equal = _binary("not_equal", Tensor.__ne__, "``x1 != x2``.", _ALL)
pow = _binary("pow", Tensor.__pow__, "``x1 ** x2``.")  # noqa: A001
remainder = _binary("remainder", Tensor.__mod__, "``x1 % x2``, with the sign of ``x2``.")
subtract = _binary("subtract", doc="``x1 - x2``.")


def clip(x, /, min=None, max=None):  # noqa: A002
    """Each element, or the bound that it is beyond; bounds are numbers or arrays that broadcast. The dtype stays.

    >>> import unigrad
    >>> unigrad.array_api.clip(unigrad.tensor([1, 5, 9]), 2, 6).tolist()
    [2, 5, 6]
    """
    array("x", x)
    _check("clip", "x", x, ("int", "float"))
    dtype, shape = x.dtype, x.shape
    for bound in (min, max):
        if isinstance(bound, Tensor):
            shape = _u.array_api.broadcast_arrays(_u.zeros(shape), _u.zeros(bound.shape))[0].shape
    out = x.broadcast_to(shape) if tuple(shape) != tuple(x.shape) else x
    if min is not None:
        out = _bounded(out, min, Tensor.maximum, -1)
    if max is not None:
        out = _bounded(out, max, Tensor.minimum, 1)
    return _u.asarray(x, copy=True) if out is x else out.to(dtype)


def _bounded(x, bound, op, end):
    if not isinstance(bound, Tensor):
        if not x.dtype.is_floating_point:
            limits = _u.array_api.iinfo(x.dtype)
            # A bound beyond what the dtype holds bounds nothing, or everything.
            if not limits.min <= bound <= limits.max:
                beyond = bound > limits.max
                return x if beyond == (end > 0) else _u.full_like(x, limits.max if beyond else limits.min)
        bound = filled(bound, x)
    elif bound.dtype != x.dtype:
        dtype = promoted(x.dtype, bound.dtype) if kind(x.dtype) == kind(bound.dtype) else bound.dtype
        return op(x.to(dtype), bound.to(dtype))
    return op(x, bound)
