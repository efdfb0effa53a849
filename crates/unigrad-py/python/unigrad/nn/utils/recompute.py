"""Blocks that are computed again in the backward pass: less memory for more work."""

import math
import threading

from ... import _check
from ..._unigrad import Tensor, _nn
from ..module import Module

__all__ = ["checkpoint"]

_INSIDE = threading.local()


def asked():
    """Whether a run asks blocks to be computed again, here and not within one already."""
    return _nn.is_checkpointing() and not getattr(_INSIDE, "on", False)


def checkpoint(function, *args, use_reentrant=None):
    """``function(*args)`` of tensors, of which nothing is kept for the backward pass, which computes it again. Gradients are the same.

    Random numbers are drawn again equally; running statistics of a module move once. The function gives one tensor.

    >>> import unigrad as ug
    >>> layer, x = ug.nn.Linear(3, 2), ug.ones(4, 3)
    >>> ug.checkpoint(layer, x).sum().backward()
    >>> layer.bias.grad.tolist()
    [4.0, 4.0]
    """
    _check.call("function", function)
    inputs = [_check.tensor("args", value) for value in args]
    modules = list(function.modules()) if isinstance(function, Module) else []
    before = [{name: value if value is None else value.detach() for name, value in module._buffers.items()} for module in modules]
    first = [True]

    def block(*inputs):
        outer, _INSIDE.on = getattr(_INSIDE, "on", False), True
        held = [dict(module._buffers) for module in modules]
        try:
            if first:
                first.clear()
                return function(*inputs)
            # Buffers as they were, and of their own: the module's have moved on, and move once.
            for module, own in zip(modules, before):
                module._buffers.update({name: value if value is None else value.detach() for name, value in own.items()})
            return function(*inputs)
        finally:
            _INSIDE.on = outer
            for module, own in zip(modules, held):
                module._buffers.update(own)

    return _nn.checkpoint(block, inputs)


class _Run(Module):
    """Some modules one after another."""

    def __init__(self, modules):
        super().__init__()
        self._modules.update(enumerate(modules))

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


def in_blocks(modules, input):
    """Modules one after another, in about as many blocks as the root of their number."""
    parts = max(round(math.sqrt(len(modules))), 1)
    for part in range(parts):
        own = modules[len(modules) * part // parts : len(modules) * (part + 1) // parts]
        input = checkpoint(_Run(own), input) if isinstance(input, Tensor) else _Run(own)(input)
    return input
