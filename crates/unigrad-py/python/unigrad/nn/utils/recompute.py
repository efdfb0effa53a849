"""Blocks that are computed again in the backward pass: less memory for more work."""

import math
import threading

from ..._unigrad import Tensor, _nn
from ...autograd import checkpoint
from ..module import Module

__all__ = ["checkpoint"]

_INSIDE = threading.local()


def asked():
    """Whether a run asks blocks to be computed again, here and not within one already."""
    return _nn.is_checkpointing() and not getattr(_INSIDE, "on", False)


def guarded(module):
    """A function of the module's forward pass that may be called again: then its buffers are as they were the first time, and move no further."""
    modules = list(module.modules())
    before = [{name: value if value is None else value.detach() for name, value in part._buffers.items()} for part in modules]
    first = [True]

    def block(*args, **kwargs):
        outer, _INSIDE.on = getattr(_INSIDE, "on", False), True
        held = [dict(part._buffers) for part in modules]
        try:
            if first:
                first.clear()
                return module(*args, **kwargs)
            for part, own in zip(modules, before):
                part._buffers.update({name: value if value is None else value.detach() for name, value in own.items()})
            return module(*args, **kwargs)
        finally:
            _INSIDE.on = outer
            for part, own in zip(modules, held):
                part._buffers.update(own)

    return block


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
