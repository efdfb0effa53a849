"""Layers that learn the size of their input from the first one that they get: `LazyLinear`, `LazyConv2d` and others, as PyTorch's.

Always: after the first call, or after a ``state_dict`` was loaded, a module is of the plain class. Before, it has no parameters: call it before an optimizer
is made.
"""

import inspect

from .. import _check
from .._errors import ArgumentError
from . import layers, norms, windows
from .module import Module

__all__ = []


def _last(input):
    return input.shape[-1]


def _channels(n):
    def size(input):
        if input.ndim not in (n + 1, n + 2):
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give a batch of {n + 2} axes, or one example")
        return input.shape[-n - 1]

    return size


def _second(input):
    if input.ndim < 2:
        raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[n, c, ..]`")
    return input.shape[1]


def _lazy(name, base, size_of, size_in):
    """The class of this name: ``size_of`` an input, or of a saved state, is the first argument of ``base``."""
    arguments = list(inspect.signature(base.__init__).parameters.values())[2:]
    signature = inspect.Signature(arguments)
    first = list(inspect.signature(base.__init__).parameters)[1]

    def __init__(self, *args, **kwargs):
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        # Made once to see that all else fits; it costs what a layer of one input costs.
        kwargs = dict(bound.arguments)
        if "groups" in kwargs:
            _check.positive("groups", kwargs["groups"])
        base.__init__(self, kwargs.get("groups", 1), **kwargs)
        for kind in (self._parameters, self._buffers):
            for own in list(kind):
                kind[own] = None
        self._given = kwargs
        setattr(self, first, 0)

    def make(self, size, device=None):
        given, training = self._given, self.training
        hooks = {own: value for own, value in self.__dict__.items() if own.endswith("_hooks")}
        if device is not None and given.get("device") is None:
            given = {**given, "device": device}
        self.__class__ = base
        self.__dict__.clear()
        base.__init__(self, size, **given)
        self.__dict__.update(hooks)
        self.training = training

    def forward(self, input, *args, **kwargs):
        self._make(size_of(_check.tensor("input", input)), input.device)
        return self.forward(input, *args, **kwargs)

    def extra_repr(self):
        text = base.extra_repr(self)
        if not self._given.get("bias", True):
            return text
        # There is none yet, and there will be.
        return text.replace("bias=False", "bias=True") if base is layers.Linear else text.replace(", bias=False", "")

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        saved = state_dict.get(prefix + ("weight" if prefix + "weight" in state_dict else "running_mean"))
        if saved is not None:
            self._make(size_in(tuple(saved.shape), self._given))

    __init__.__signature__ = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *arguments])
    forward.__doc__, extra_repr.__doc__ = base.forward.__doc__, Module.extra_repr.__doc__
    members = {"__init__": __init__, "_make": make, "forward": forward, "_load_from_state_dict": _load_from_state_dict}
    members["extra_repr"], members["__module__"] = extra_repr, __name__
    members["__doc__"] = f"``{base.__name__}`` that takes `{first}` from its first input."
    made = type(name, (base,), members)
    made.__signature__ = signature
    globals()[name] = made
    __all__.append(name)


_lazy("LazyLinear", layers.Linear, _last, lambda shape, given: shape[1])
for _n in (1, 2, 3):
    _lazy(f"LazyConv{_n}d", getattr(windows, f"Conv{_n}d"), _channels(_n), lambda shape, given: shape[1] * given.get("groups", 1))
    _lazy(f"LazyConvTranspose{_n}d", getattr(windows, f"ConvTranspose{_n}d"), _channels(_n), lambda shape, given: shape[0])
    _lazy(f"LazyBatchNorm{_n}d", getattr(norms, f"BatchNorm{_n}d"), _second, lambda shape, given: shape[0])
    _lazy(f"LazyInstanceNorm{_n}d", getattr(norms, f"InstanceNorm{_n}d"), _channels(_n), lambda shape, given: shape[0])
