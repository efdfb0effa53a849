"""Tensors of modules: parameters, which are trained, and buffers, which are not."""

from .. import _check
from .._unigrad import NoGrad, Tensor, _leaf

__all__ = ["Buffer", "Parameter"]


def set_value(tensor, value):
    """Gives a tensor another value, for all its holders; no gradient knows. Returns the tensor."""
    inside = NoGrad()
    inside.__enter__()
    try:
        return tensor.copy_(value.detach())
    finally:
        inside.__exit__()


class Parameter(Tensor):
    """A tensor that a module trains: set as an attribute of a ``Module``, it is among its ``parameters()``.

    It is a leaf of its own with the values of ``data``; with ``requires_grad=False`` no gradient arrives at it.

    >>> import unigrad
    >>> weight = unigrad.nn.Parameter(unigrad.zeros(2, 3))
    >>> weight.requires_grad, weight.shape
    (True, (2, 3))
    """

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = ()
        parameter = Tensor.__new__(cls, data, requires_grad=True)
        # A gradient's graph gives this object as its leaf, not another one for the same tensor.
        _leaf(parameter)
        if not _check.flag("requires_grad", requires_grad):
            parameter.requires_grad_(False)
        return parameter

    def __init__(self, data=None, requires_grad=True):
        pass

    def __repr__(self):
        return "Parameter containing:\n" + Tensor.__repr__(self)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_parameter, (type(self), self.detach(), self.requires_grad)


def _rebuild_parameter(cls, data, requires_grad):
    return cls(data, requires_grad)


class Buffer(Tensor):
    """A tensor that a module keeps and does not train: running statistics, say. Set as an attribute, it is among its ``buffers()``.

    >>> import unigrad
    >>> module = unigrad.nn.Module()
    >>> module.mean = unigrad.nn.Buffer(unigrad.zeros(3))
    >>> list(module.state_dict())
    ['mean']
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = ()
        buffer = Tensor.__new__(cls, data)
        buffer.persistent = _check.flag("persistent", persistent)
        return buffer

    def __init__(self, data=None, *, persistent=True):
        pass

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach(), persistent=self.persistent)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return _rebuild_buffer, (self.detach(), self.persistent)


def _rebuild_buffer(data, persistent):
    return Buffer(data, persistent=persistent)
