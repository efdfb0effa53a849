"""Weights that a module of one's own computes from others, with PyTorch's names."""

import contextlib

from ... import _check
from ..._errors import ArgumentError, ShapeError
from ..module import Module
from ..parameter import Parameter
from .parametrizations import _parametrize, remove_parametrizations as _remove

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations"]


class ParametrizationList(Module):
    """What a weight is computed by: modules, one after the other, from ``original``.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.parametrize.register_parametrization(ug.nn.Linear(2, 2), "weight", ug.nn.Tanh())
    >>> list(layer.parametrizations.weight.state_dict())
    ['original']
    """

    def __init__(self, modules, original, unsafe=False):
        super().__init__()
        self.unsafe = _check.flag("unsafe", unsafe)
        value = original.detach()
        for module in reversed(modules):
            value = module.right_inverse(value) if hasattr(module, "right_inverse") else value
        self.original = Parameter(value.detach(), original.requires_grad)
        for at, module in enumerate(modules):
            self.add_module(str(at), module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, at):
        return list(self._modules.values())[at]

    def forward(self):
        """The weight."""
        value = self.original
        for module in self._modules.values():
            value = module(value)
        return value

    def values(self):
        """The weight, outside of a forward pass."""
        return self.forward()


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """The weight becomes ``parametrization(original)``; ``right_inverse``, if it has one, gives the original of the weight that there is. Returns the module.

    >>> import unigrad as ug
    >>> class Symmetric(ug.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).transpose(-1, -2)
    >>> layer = ug.nn.utils.parametrize.register_parametrization(ug.nn.Linear(3, 3), "weight", Symmetric())
    >>> layer.weight.equal(layer.weight.T)
    True
    """
    if not isinstance(parametrization, Module):
        raise TypeError(f"argument 'parametrization': a Module is wanted, not {_check._kind(parametrization)}")
    parts = module._modules.get("parametrizations") if isinstance(module, Module) else None
    known = parts._modules.get(tensor_name) if parts is not None and isinstance(tensor_name, str) else None
    if isinstance(known, ParametrizationList):
        if hasattr(parametrization, "right_inverse"):
            value = known.values()
            for one in (parametrization, *reversed(list(known))):
                value = one.right_inverse(value) if hasattr(one, "right_inverse") else value
            known.original.data = value
        known.add_module(str(len(known)), parametrization)
        return module
    if known is not None:
        raise ArgumentError(f"argument 'tensor_name' is {tensor_name!r}, which has a norm\n help: `remove_parametrizations` first")

    def make(weight):
        made = ParametrizationList([parametrization], weight, unsafe)
        if not unsafe and made.values().shape != weight.shape:
            message = f"argument 'parametrization' gives {list(made.values().shape)} for {list(weight.shape)}"
            raise ShapeError(f"{message}\n help: give the same shape, or `unsafe=True`")
        return made

    return _parametrize(module, tensor_name, make)


def is_parametrized(module, tensor_name=None):
    """Whether a weight of this name, or any, is computed.

    >>> import unigrad as ug
    >>> ug.nn.utils.parametrize.is_parametrized(ug.nn.Linear(2, 2))
    False
    """
    parts = module._modules.get("parametrizations") if isinstance(module, Module) else None
    return parts is not None and (len(parts._modules) > 0 if tensor_name is None else tensor_name in parts._modules)


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The computed weight becomes a parameter again, with the values that it has, or with ``leave_parametrized=False`` those of its original. Returns the
    module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.parametrize.register_parametrization(ug.nn.Linear(2, 2), "weight", ug.nn.Tanh())
    >>> sorted(ug.nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    parts = module._modules.get("parametrizations") if isinstance(module, Module) else None
    known = parts._modules.get(tensor_name) if parts is not None else None
    original = getattr(known, "original", None) if not leave_parametrized else None
    module = _remove(module, tensor_name)
    if original is not None:
        module._parameters[tensor_name].data = original.data
    return module


@contextlib.contextmanager
def cached():
    """Nothing: each weight is computed once in a forward pass anyway.

    >>> import unigrad as ug
    >>> with ug.nn.utils.parametrize.cached():
    ...     y = ug.nn.Linear(2, 2)(ug.zeros(1, 2))
    """
    yield
