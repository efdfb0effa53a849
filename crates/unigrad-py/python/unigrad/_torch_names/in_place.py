"""Methods in place: the value is another one for all holders of the tensor, as by `copy_`, which refuses what gradients go through."""

import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, full, rand, randn
from ._method import _method, _method_named

_IN_PLACE = (
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 "
    "float_power floor floor_divide fmod frac gcd ge greater greater_equal gt heaviside hypot index_add index_copy index_fill index_put index_reduce lcm ldexp le lerp less "
    "less_equal lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mul multiply nan_to_num ne neg negative "
    "nextafter not_equal pow rad2deg reciprocal relu remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square sub subtract "
    "tan tanh tril triu true_divide trunc xlogy"
).split()


def _set(x, value, name):
    if value.is_floating_point() and not x.is_floating_point():
        raise ArgumentError(f"{name}: {value.dtype} is no value for a tensor of {x.dtype}\n help: cast the tensor, or use the method without an underscore")
    return x.copy_(value)


def _in_place(name):
    @_method_named(f"{name}_", f"``{name}`` in place: for all holders of this tensor.")
    def in_place(self, *args, **kwargs):
        # Looked up here: what other files make of a method of the crates is meant.
        return _set(self, getattr(Tensor, name)(self, *args, **kwargs), f"{name}_")


for _name in _IN_PLACE:
    _in_place(_name)


@_method
def fill_(self, value):
    """One value everywhere, for all holders of this tensor."""
    if not isinstance(value, Tensor):
        value = value if isinstance(value, bool) else _check.number("value", value)
        value = full((), value, dtype=self.dtype, device=self.device)
    return self.copy_(value)


@_method
def zero_(self):
    """Zeros, for all holders of this tensor."""
    return self.fill_(0)


@_method
def normal_(self, mean=0.0, std=1.0):
    """Normally distributed numbers, for all holders of this tensor."""
    mean, std = _check.number("mean", mean), _check.number("std", std)
    return _set(self, randn(*self.shape, device=self.device) * std + mean, "normal_")


@_method
def uniform_(self, from_=0.0, to=1.0):
    """Uniformly distributed numbers, for all holders of this tensor."""
    least, most = _check.number("from_", from_), _check.number("to", to)
    return _set(self, rand(*self.shape, device=self.device) * (most - least) + least, "uniform_")


def _drawn(self, name, make):
    """What numbers above 0 and at most 1 become, for all holders of this tensor."""
    return _set(self, make(1 - rand(*self.shape, device=self.device)), name)


@_method
def bernoulli_(self, p=0.5):
    """1 with the probability ``p``, a number or a tensor that broadcasts, else 0, for all holders of this tensor."""
    if not isinstance(p, Tensor):
        p = _check.probability("p", p)
    return self.copy_((rand(*self.shape, device=self.device) < p).to(self.dtype))


@_method
def exponential_(self, lambd=1.0):
    """Numbers of the exponential distribution with this rate, for all holders of this tensor."""
    lambd = _check.number("lambd", lambd, above=0)
    return _drawn(self, "exponential_", lambda u: u.log() * (-1 / lambd))


@_method
def geometric_(self, p):
    """How many trials of probability ``p`` there are until one succeeds, that one among them, for all holders of this tensor."""
    p = _check.number("p", p, above=0, most=1.0)
    if p == 1:
        return self.fill_(1)
    return self.copy_((1 - rand(*self.shape, device=self.device)).log().div(math.log1p(-p)).ceil().clamp(min=1).to(self.dtype))


@_method
def log_normal_(self, mean=1.0, std=2.0):
    """Numbers whose logarithms are normally distributed with this mean and deviation, for all holders of this tensor."""
    mean, std = _check.number("mean", mean), _check.number("std", std, above=0)
    return _set(self, (randn(*self.shape, device=self.device) * std + mean).exp(), "log_normal_")


@_method
def cauchy_(self, median=0.0, sigma=1.0):
    """Numbers of Cauchy's distribution, for all holders of this tensor."""
    median, sigma = _check.number("median", median), _check.number("sigma", sigma, above=0)
    return _drawn(self, "cauchy_", lambda u: ((u - 0.5) * math.pi).tan() * sigma + median)
