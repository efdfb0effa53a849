# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer

class Estimate:
    """Bytes of a training step's parts, as ``estimate`` gives them.

    ``parameters`` are what is trained, ``buffers`` what is saved and not trained, ``optimizer`` its state, ``gradients`` those of all parameters at once,
    ``activations`` what a step keeps between its launches.

    >>> import unigrad as ug
    >>> needs = ug.nn.memory.Estimate(parameters=100, buffers=0, optimizer=200, gradients=100, activations=50, device=ug.Device("cpu"))
    >>> needs.step, needs.total
    (150, 450)"""
    parameters: builtins.int
    buffers: builtins.int
    optimizer: builtins.int
    gradients: builtins.int
    activations: builtins.int
    device: Device | builtins.str
    def __init__(self, parameters: builtins.int, buffers: builtins.int, optimizer: builtins.int, gradients: builtins.int, activations: builtins.int, device: Device | builtins.str) -> None: ...
    @property
    def step(self) -> Any:
        """What a step needs beside what model and optimizer have already: gradients and activations.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(100, 0, 200, gradients=100, activations=50, device="cpu").step
        150"""
        ...
    @property
    def total(self) -> Any:
        """All of it.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(100, 0, 200, 100, 50, device="cpu").total
        450"""
        ...
    def share(self) -> builtins.float | None:
        """The part of the device's memory that will be in use in a step, by this process; ``None`` where the device does not tell.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(0, 0, 0, 100, 50, device="cpu").share() is None or "a number"
        'a number'"""
        ...
    def check(self) -> None:
        """Raises an ``ArgumentError`` if a step does not fit into the device's memory, beside what is in use there. A device that does not tell takes
        everything. Above 90 % a line on standard error says so.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(0, 0, 0, 100, 50, device="cpu").check()"""
        ...
    def __repr__(self) -> builtins.str: ...
def estimate(model: _Module, optimizer: _Optimizer, loss: Tensor) -> Estimate:
    """What a step needs, as an ``Estimate``; ``loss``, a tensor of one element, is that of one batch, recorded and not computed.

    The step's plan is made, and not run, and no memory is taken. Model and optimizer are there already; ``Estimate.check`` says whether the rest fits.

    >>> import unigrad as ug
    >>> model = ug.nn.models.MLP([20, 30, 4])
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> needs = ug.nn.memory.estimate(model, optimizer, model(ug.ones(64, 20)).square().mean())
    >>> needs.gradients == needs.parameters == 4 * (20 * 30 + 30 + 30 * 4 + 4)
    True"""
    ...
