"""What a training step needs of a device's memory, before the first one runs.

>>> import unigrad as ug
>>> model = ug.nn.Linear(4, 2)
>>> optimizer = ug.optim.AdamW(model.parameters())
>>> needs = ug.nn.memory.estimate(model, optimizer, model(ug.zeros(8, 4)).square().mean())
>>> needs.parameters, needs.optimizer >= 2 * needs.parameters  # two moments of each
(40, True)
>>> needs.check()
"""

from .. import _check
from .._unigrad import Device, _nn
from .module import Module

__all__ = ["Estimate", "estimate"]


class Estimate:
    """Bytes of a training step's parts, as ``estimate`` gives them.

    ``parameters`` are what is trained, ``buffers`` what is saved and not trained, ``optimizer`` its state, ``gradients`` those of all parameters at once,
    ``activations`` what a step keeps between its launches.

    >>> import unigrad as ug
    >>> needs = ug.nn.memory.Estimate(parameters=100, buffers=0, optimizer=200, gradients=100, activations=50, device=ug.Device("cpu"))
    >>> needs.step, needs.total
    (150, 450)
    """

    def __init__(self, parameters, buffers, optimizer, gradients, activations, device):
        self.parameters, self.buffers = _check.whole("parameters", parameters, 0), _check.whole("buffers", buffers, 0)
        self.optimizer, self.gradients = _check.whole("optimizer", optimizer, 0), _check.whole("gradients", gradients, 0)
        self.activations = _check.whole("activations", activations, 0)
        self.device = device if isinstance(device, Device) else Device(device)

    @property
    def step(self):
        """What a step needs beside what model and optimizer have already: gradients and activations.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(100, 0, 200, gradients=100, activations=50, device="cpu").step
        150
        """
        return self.gradients + self.activations

    @property
    def total(self):
        """All of it.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(100, 0, 200, 100, 50, device="cpu").total
        450
        """
        return self.parameters + self.buffers + self.optimizer + self.step

    def share(self):
        """The part of the device's memory that will be in use in a step, by this process; ``None`` where the device does not tell.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(0, 0, 0, 100, 50, device="cpu").share() is None or "a number"
        'a number'
        """
        return _nn.memory_share(self.gradients, self.activations, self.device)

    def check(self):
        """Raises an ``ArgumentError`` if a step does not fit into the device's memory, beside what is in use there. A device that does not tell takes
        everything. Above 90 % a line on standard error says so.

        >>> import unigrad as ug
        >>> ug.nn.memory.Estimate(0, 0, 0, 100, 50, device="cpu").check()
        """
        _nn.check_memory(self.gradients, self.activations, self.device)

    def __repr__(self):
        names = ("parameters", "buffers", "optimizer", "gradients", "activations")
        return f"Estimate({', '.join(f'{name}={getattr(self, name)}' for name in names)}, device={self.device})"


def estimate(model, optimizer, loss):
    """What a step needs, as an ``Estimate``; ``loss``, a tensor of one element, is that of one batch, recorded and not computed.

    The step's plan is made, and not run, and no memory is taken. Model and optimizer are there already; ``Estimate.check`` says whether the rest fits.

    >>> import unigrad as ug
    >>> model = ug.nn.models.MLP([20, 30, 4])
    >>> optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
    >>> needs = ug.nn.memory.estimate(model, optimizer, model(ug.ones(64, 20)).square().mean())
    >>> needs.gradients == needs.parameters == 4 * (20 * 30 + 30 + 30 * 4 + 4)
    True
    """
    # Optimizers import modules.
    from ..optim.optimizer import Optimizer

    if not isinstance(model, Module):
        raise TypeError(f"argument 'model': a Module is wanted, not {_check._kind(model)}")
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"argument 'optimizer': one of `unigrad.optim` is wanted, not {_check._kind(optimizer)}")
    _check.tensor("loss", loss)
    optimizer._update_settings()
    parts = _nn.estimate(list(model.parameters()), list(model.buffers()), optimizer._inner, loss)
    return Estimate(*parts, device=loss.device)
