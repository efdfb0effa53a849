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
from unigrad.nn.module import Module as Module

class Network(Module):
    """A network by description, as model files and configuration files have it: layers infer their inputs' sizes from what comes before.

    >>> import unigrad as ug
    >>> network = ug.Network([1, 28, 28], [{"conv2d": {"channels": 8, "kernel": 3}}, "relu", "flatten", {"dense": {"units": 10}}], seed=1)
    >>> network(ug.zeros(2, 1, 28, 28)).shape
    (2, 10)"""
    def __init__(self, input: Tensor, layers: Any=None, loss: Any=None, *, seed: builtins.int | None=None, device: Device | builtins.str | None=None) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """``[batch, input..]`` to ``[batch, output..]``."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
    def train(self, mode: builtins.bool=True) -> Self:
        """Layers behave as in training. Returns the network."""
        ...
    @property
    def architecture(self) -> Any:
        """The description: a dict of ``input``, ``layers`` and ``loss``."""
        ...
    @property
    def input_shape(self) -> Any:
        """The shape of one example, without the batch."""
        ...
    @property
    def output_shape(self) -> Any:
        """The shape of what is made of one example, without the batch."""
        ...
    def summary(self, batch_size: builtins.int=32) -> Any:
        """Its layers in numbers."""
        ...
    def loss(self, prediction: Tensor, target: Tensor) -> Any:
        """The loss of the description."""
        ...
    def fit(self, inputs: Tensor, targets: Any, *, optimizer: _Optimizer | None=None, schedule: Any=None, **train: Any) -> Any:
        """Trains on arrays, by the settings of configuration files: ``fit(x, y, optimizer={"adamw": {"lr": 1e-3}}, max_epochs=5, validation_split=0.2)``.

        Returns figures by name: ``loss``, ``val_loss``, ``accuracy``, and so on."""
        ...
    def evaluate(self, inputs: Tensor, targets: Any) -> Any:
        """The loss, and the usual metric, by name."""
        ...
    def predict(self, inputs: Tensor, kind: builtins.str='scores') -> Any:
        """What the network makes of examples, as many as there are: "scores", "probabilities" or "classes"."""
        ...
    def save(self, path: builtins.str | PathLike[builtins.str]) -> Any:
        """Replaces a safetensors file by description and weights."""
        ...
    @classmethod
    def load(cls, path: builtins.str | PathLike[builtins.str], device: Device | builtins.str | None=None) -> Any:
        """The network of a file that ``save``, or ``unigrad train``, wrote."""
        ...
    def extra_repr(self) -> Any: ...
