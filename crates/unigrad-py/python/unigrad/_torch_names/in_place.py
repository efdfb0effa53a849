"""Methods in place: the value is another one for all holders of the tensor, as by `copy_`, which refuses what gradients go through."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, full, rand, randn
from ._method import _method, _method_named

_IN_PLACE = (
    "abs add addcdiv addcmul ceil clamp clamp_max clamp_min cos div erf exp floor floor_divide lerp log logical_not masked_fill mul neg pow reciprocal relu remainder round "
    "rsqrt sigmoid sign sin sqrt square sub tanh tril triu trunc"
).split()


def _set(x, value, name):
    if value.is_floating_point() and not x.is_floating_point():
        raise ArgumentError(f"{name}: {value.dtype} is no value for a tensor of {x.dtype}\n help: cast the tensor, or use the method without an underscore")
    return x.copy_(value)


def _in_place(name):
    method = getattr(Tensor, name)

    @_method_named(f"{name}_", f"``{name}`` in place: for all holders of this tensor.")
    def in_place(self, *args, **kwargs):
        return _set(self, method(self, *args, **kwargs), f"{name}_")


for _name in _IN_PLACE:
    _in_place(_name)


@_method
def fill_(self, value):
    """One value everywhere, for all holders of this tensor."""
    if not isinstance(value, Tensor):
        value = full((), _check.number("value", value), dtype=self.dtype, device=self.device)
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
