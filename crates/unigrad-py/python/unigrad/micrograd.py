"""Scalars with gradients, and nets of them: micrograd's API, in native code, on the CPU and on GPUs.

>>> from unigrad.micrograd import Value
>>> a, b = Value(2.0), Value(-3.0)
>>> c = a * b + a**2
>>> c.backward()
>>> c, a.grad
(Value(data=-2.0, grad=1.0), 1.0)

A value on a GPU is computed when something is read: all that waits there, and its gradient, in one launch.
"""

from ._unigrad import Device
from ._unigrad import _micrograd

Value = _micrograd.Value
Module = _micrograd.Module
Neuron = _micrograd.Neuron
Layer = _micrograd.Layer
MLP = _micrograd.MLP

__all__ = ["MLP", "Device", "Layer", "Module", "Neuron", "Value"]


def _rebuild(data, grad, device):
    value = Value(data, device=device)
    value.grad = grad
    return value
