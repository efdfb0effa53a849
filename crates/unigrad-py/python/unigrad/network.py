"""Networks by description."""

import json
import os

from . import _check
from ._unigrad import Tensor, _train, tensor
from .nn.module import Module

__all__ = ["Network"]


def _path(name, path):
    try:
        return os.fspath(path)
    except TypeError:
        raise TypeError(f"argument '{name}': a path is wanted, not {_check._kind(path)}") from None


def _array(name, value):
    if isinstance(value, Tensor):
        return value
    try:
        return tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"argument '{name}': {error}") from None


class Network(Module):
    """A network by description, as model files and configuration files have it: layers infer their inputs' sizes from what comes before.

    >>> import unigrad as ug
    >>> network = ug.Network([1, 28, 28], [{"conv2d": {"channels": 8, "kernel": 3}}, "relu", "flatten", {"dense": {"units": 10}}], seed=1)
    >>> network(ug.zeros(2, 1, 28, 28)).shape
    (2, 10)
    """

    def __init__(self, input, layers=None, loss=None, *, seed=None, device=None):
        super().__init__()
        if isinstance(input, _train.Network):
            self._adopt(input)
            return
        if isinstance(layers, (str, bytes, dict)) or not hasattr(layers, "__iter__"):
            raise TypeError(f"argument 'layers': a list of names and dicts is wanted, not {_check._kind(layers)}")
        described = {"input": list(_check.shape("input", input)), "layers": list(layers)}
        if loss is not None:
            described["loss"] = loss
        seed = None if seed is None else _check.whole("seed", seed, 0)
        self._adopt(_train.Network(_json("layers", described), seed, device))

    def _adopt(self, native):
        self.__dict__["_native"] = native
        for kind, tensors in (("_parameters", native.parameters()), ("_buffers", native.buffers())):
            for name, value in tensors:
                # The handles are the network's own.
                self.__dict__[kind][name] = value

    def forward(self, input):
        """``[batch, input..]`` to ``[batch, output..]``."""
        return self._native.forward(_check.tensor("input", input))

    def train(self, mode=True):
        """Layers behave as in training. Returns the network."""
        self.training = _check.flag("mode", mode)
        self._native.train(self.training)
        return self

    @property
    def architecture(self):
        """The description: a dict of ``input``, ``layers`` and ``loss``."""
        return json.loads(self._native.architecture())

    @property
    def input_shape(self):
        """The shape of one example, without the batch."""
        return tuple(self._native.shapes()[0])

    @property
    def output_shape(self):
        """The shape of what is made of one example, without the batch."""
        return tuple(self._native.shapes()[1])

    def summary(self, batch_size=32):
        """Its layers in numbers."""
        return self._native.summary(_check.positive("batch_size", batch_size))

    def loss(self, prediction, target):
        """The loss of the description."""
        return self._native.loss(_check.tensor("prediction", prediction), _check.tensor("target", target))

    def fit(self, inputs, targets, *, optimizer=None, schedule=None, **train):
        """Trains on arrays, by the settings of configuration files: ``fit(x, y, optimizer={"adamw": {"lr": 1e-3}}, max_epochs=5, validation_split=0.2)``.

        Returns figures by name: ``loss``, ``val_loss``, ``accuracy``, and so on.
        """
        settings = {"train": train}
        if optimizer is not None:
            settings["optimizer"] = {optimizer: {}} if isinstance(optimizer, str) else optimizer
        if schedule is not None:
            settings["schedule"] = {schedule: {}} if isinstance(schedule, str) else schedule
        figures, judged = self._native.fit(_array("inputs", inputs), _array("targets", targets), _json("train", settings))
        return {**figures, **{f"val_{name}": values for name, values in judged.items()}}

    def evaluate(self, inputs, targets):
        """The loss, and the usual metric, by name."""
        return self._native.evaluate(_array("inputs", inputs), _array("targets", targets))

    def predict(self, inputs, kind="scores"):
        """What the network makes of examples, as many as there are: "scores", "probabilities" or "classes"."""
        kind = _check.one_of("kind", kind, ("scores", "probabilities", "classes"))
        return self._native.predict(_array("inputs", inputs), kind)

    def save(self, path):
        """Replaces a safetensors file by description and weights."""
        self._native.save(_path("path", path))

    @classmethod
    def load(cls, path, device=None):
        """The network of a file that ``save``, or ``unigrad train``, wrote."""
        return cls(_train.Network.load(_path("path", path), device))

    def extra_repr(self):
        return "\n".join(json.dumps(layer) for layer in self.architecture["layers"])

    def __deepcopy__(self, memo):
        made = _rebuild_network(
            self._native.architecture(), {name: value.detach() for name, value in self.state_dict().items()}, self.training
        )
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        return _rebuild_network, (self._native.architecture(), dict(self.state_dict()), self.training)


def _rebuild_network(architecture, state, training):
    network = Network(_train.Network(architecture, 0, None))
    network.load_state_dict(state)
    return network.train(training)


def _json(name, value):
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f"argument '{name}': {error}") from None
