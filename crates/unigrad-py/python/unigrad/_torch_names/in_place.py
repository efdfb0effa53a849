"""Methods in place: the value is another one for all holders of the tensor, as by `copy_`. Gradients go the way of the new value; a leaf that requires
one is changed inside of `no_grad`, or by its `data`."""

import math
import operator

from .. import _check
from .._errors import ArgumentError, AutogradError, ShapeError
from .._unigrad import NoGrad, Tensor, arange, float32, full, grad_enabled, rand, randint, randn
from ._method import _method, _method_named

_IN_PLACE = (
    "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift bitwise_not bitwise_or "
    "bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 "
    "float_power floor floor_divide fmod frac gcd ge greater greater_equal gt heaviside hypot index_add index_copy index_fill index_put index_reduce lcm ldexp le lerp less "
    "less_equal lgamma log log10 log1p log2 logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mul multiply nan_to_num ne neg negative "
    "nextafter not_equal pow put rad2deg reciprocal relu remainder renorm round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square sub subtract "
    "tan tanh tril triu true_divide trunc xlogy"
).split()


def _set(x, value, name):
    if value.is_floating_point() and not x.is_floating_point():
        raise ArgumentError(f"{name}: {value.dtype} is no value for a tensor of {x.dtype}\n help: cast the tensor, or use the method without an underscore")
    # What computed the value is what computed the tensor from now on.
    is_whole = (value.shape, value.dtype, value.device) == (x.shape, x.dtype, x.device)
    return x._become(value) if is_whole and value.requires_grad and grad_enabled() and _may_become(x) else x.copy_(value)


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
        value = full((), _check.element("value", value), dtype=self.dtype, device=self.device)
    if self.requires_grad and not self.is_leaf and grad_enabled() and not value.requires_grad:
        # What it was computed from keeps a gradient, of zeros.
        self[...] = value
        return self
    return self.copy_(value)


@_method
def zero_(self):
    """Zeros, for all holders of this tensor."""
    return self.fill_(0)


@_method
def fill_diagonal_(self, fill_value, wrap=False):
    """One value on the diagonal, of a matrix or of more axes that are equally long, for all holders of this tensor. With ``wrap`` the diagonal of a tall
    matrix begins again below its end."""
    value, wrap = _check.number("fill_value", fill_value), _check.flag("wrap", wrap)
    if self.ndim < 2:
        raise ArgumentError(f"fill_diagonal_: two axes and more are wanted, not {self.ndim}")
    if self.ndim > 2 and len(set(self.shape)) != 1:
        raise ShapeError(f"fill_diagonal_: the axes of {list(self.shape)} differ\n help: of more than two all are equally long")
    step, end = sum(self.stride()), self.numel()
    if not wrap or self.ndim > 2:
        end = min(end, min(self.shape) * step)
    places = arange(0, end, step, device=self.device)
    return _set(self, self.flatten().index_fill(0, places, value).reshape(self.shape), "fill_diagonal_")


@_method
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Normally distributed numbers, for all holders of this tensor."""
    mean, std = _check.number("mean", mean), _check.number("std", std, 0.0)
    return _set(self, randn(tuple(self.shape), dtype=float32, device=self.device, generator=generator) * std + mean, "normal_")


@_method
def uniform_(self, from_=0.0, to=1.0, *, generator=None):
    """Uniformly distributed numbers, for all holders of this tensor."""
    least, most = _check.number("from_", from_), _check.number("to", to)
    if least > most:
        raise ArgumentError(f"argument 'from_' is {least}, above 'to', {most}\n help: use a range")
    return _set(self, rand(tuple(self.shape), dtype=float32, device=self.device, generator=generator) * (most - least) + least, "uniform_")


# How far integers go that a dtype holds all of: those of floats by their digits.
_GREATEST = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53, "bool": 1, "uint8": 2**8 - 1, "int8": 2**7 - 1, "int16": 2**15 - 1}


@_method
def random_(self, from_=None, to=None, *, generator=None):
    """Integers from 0 to below ``from_``, or from ``from_`` to below ``to``; without either all that the dtype holds. For all holders of this tensor."""
    if from_ is None:
        name = self.dtype.name
        least, most = 0, _GREATEST.get(name, 2**31 - 1) + (name not in ("float16", "bfloat16", "float32", "float64"))
    else:
        least, most = (0, _check.whole("from_", from_)) if to is None else (_check.whole("from_", from_), _check.whole("to", to))
    if least >= most:
        raise ArgumentError(f"argument 'from_' is {least}, not below {most}\n help: use a range of integers")
    return self.copy_(randint(least, most, tuple(self.shape), device=self.device, generator=generator).to(self.dtype))


def _drawn(self, name, generator, make):
    """What numbers above 0 and at most 1 become, for all holders of this tensor."""
    return _set(self, make(1 - rand(tuple(self.shape), dtype=float32, device=self.device, generator=generator)), name)


@_method
def bernoulli_(self, p=0.5, *, generator=None):
    """1 with the probability ``p``, a number or a tensor that broadcasts, else 0, for all holders of this tensor."""
    if not isinstance(p, Tensor):
        p = _check.probability("p", p)
    return self.copy_((rand(tuple(self.shape), dtype=float32, device=self.device, generator=generator) < p).to(self.dtype))


@_method
def exponential_(self, lambd=1.0, *, generator=None):
    """Numbers of the exponential distribution with this rate, for all holders of this tensor."""
    lambd = _check.number("lambd", lambd, above=0)
    return _drawn(self, "exponential_", generator, lambda u: u.log() * (-1 / lambd))


@_method
def geometric_(self, p, *, generator=None):
    """How many trials of probability ``p`` there are until one succeeds, that one among them, for all holders of this tensor."""
    p = _check.number("p", p, above=0, most=1.0)
    if p == 1:
        return self.fill_(1)
    return self.copy_((1 - rand(tuple(self.shape), dtype=float32, device=self.device, generator=generator)).log().div(math.log1p(-p)).ceil().clamp(min=1).to(self.dtype))


@_method
def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Numbers whose logarithms are normally distributed with this mean and deviation, for all holders of this tensor."""
    mean, std = _check.number("mean", mean), _check.number("std", std, above=0)
    return _set(self, (randn(tuple(self.shape), dtype=float32, device=self.device, generator=generator) * std + mean).exp(), "log_normal_")


@_method
def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Numbers of Cauchy's distribution, for all holders of this tensor."""
    median, sigma = _check.number("median", median), _check.number("sigma", sigma, above=0)
    return _drawn(self, "cauchy_", generator, lambda u: ((u - 0.5) * math.pi).tan() * sigma + median)


def _writes_a_leaf(x):
    return x.is_leaf and x.requires_grad


def _may_become(x):
    """Whether another value's node may become the tensor's: it is no parameter's, and no tensor of a class that writes in its own way."""
    return type(x) is Tensor and not hasattr(x, "_owner") and not _writes_a_leaf(x)


def _augmented(name, operation):
    """An operator such as ``+=``: in place, as PyTorch's and NumPy's are."""

    def in_place(self, other):
        value = operation(self, other)
        if not isinstance(value, Tensor):
            return value
        sign = f"`{name}`"
        if _writes_a_leaf(self) and grad_enabled():
            raise AutogradError(f"{sign} of a leaf that requires a gradient\n help: write it inside of `with unigrad.no_grad():`, or use another name")
        if value.shape != self.shape:
            raise ShapeError(f"{sign}: {list(value.shape)} is no value for {list(self.shape)}\n help: `x = x + y` makes a new tensor")
        if value.dtype != self.dtype:
            kinds = [0 if x.dtype.name == "bool" else 2 if x.is_floating_point() else 1 for x in (self, value)]
            if kinds[1] > kinds[0]:
                raise ArgumentError(f"{sign}: {value.dtype} is no value for {self.dtype}\n help: `x = x + y` makes a new tensor")
            value = value.to(self.dtype)
        # A parameter's value is assigned, which a failed evaluation undoes.
        return self._become(value) if _may_become(self) else self.copy_(value)

    in_place.__name__ = in_place.__qualname__ = f"__i{name}__"
    setattr(Tensor, in_place.__name__, in_place)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"):
    _augmented(_name, getattr(operator, _name if _name not in ("and", "or") else f"{_name}_"))


def _reshaped(name, doc):
    @_method_named(f"{name}_", doc)
    def in_place(self, *args, **kwargs):
        return self._become(getattr(Tensor, name)(self, *args, **kwargs))


for _name in ("squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze", "detach"):
    _reshaped(_name, f"``{_name}`` in place: for all holders of this tensor.")


class _Data(Tensor):
    """A leaf's values as a tensor that gradients know nothing of: what is written to it is written to the leaf."""

    def __new__(cls, owner):
        made = Tensor.__new__(cls, owner.detach())
        made._owner = owner
        return made

    def __init__(self, owner):
        pass

    def _written(self, write):
        inside = NoGrad()
        inside.__enter__()
        try:
            write(self._owner)
            Tensor._become(self, self._owner.detach())
        finally:
            inside.__exit__()
        return self

    def copy_(self, source, non_blocking=False):
        return self._written(lambda owner: owner.copy_(source.detach() if isinstance(source, Tensor) else source))

    def _become(self, value):
        return self._written(lambda owner: owner._become(value.detach()))

    def __setitem__(self, key, value):
        self._written(lambda owner: owner.__setitem__(key, value.detach() if isinstance(value, Tensor) else value))


def _data(x):
    """What `Tensor.data` gives."""
    if isinstance(x, _Data):
        return x
    return _Data(x) if _writes_a_leaf(x) or not x.is_leaf or type(x) is not Tensor else x._alias()
