"""``unigrad.micrograd`` by another name, so that programs written for ``micrograd_rs`` run as they are.

>>> from micrograd_rs import Value, Device
>>> v = Value(3.0, device=Device.cpu())
>>> (v * 2.0 + v ** 2).data
15.0
"""

from unigrad.micrograd import MLP, Device, Layer, Module, Neuron, Value

__all__ = ["MLP", "Device", "Layer", "Module", "Neuron", "Value"]
