"""Averages of weights, with PyTorch's names."""

import copy

from .. import _check
from .._errors import ArgumentError
from .._unigrad import tensor
from ..nn.module import Module
from ..nn.norms import _Running
from ..nn.parameter import set_value
from .lr_scheduler import LRScheduler

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_swa_avg_fn", "update_bn"]


def get_swa_avg_fn():
    """The mean over all updates, as ``avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> ug.optim.swa_utils.get_swa_avg_fn()(ug.tensor([1.0]), ug.tensor([3.0]), 1)
    tensor([2.])
    """
    return lambda averaged, current, n: averaged + (current - averaged) / (n + 1)


def get_ema_avg_fn(decay=0.999):
    """An exponential average, as ``avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> ug.optim.swa_utils.get_ema_avg_fn(0.5)(ug.tensor([1.0]), ug.tensor([3.0]), 1)
    tensor([2.])
    """
    decay = _check.probability("decay", decay)
    return lambda averaged, current, n: averaged * decay + current * (1 - decay)


class AveragedModel(Module):
    """A copy of a model whose weights are averages of the model's at each ``update_parameters``.

    >>> import unigrad as ug
    >>> model = ug.nn.Linear(1, 1)
    >>> averaged = ug.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> averaged.n_averaged.item()
    1
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if not isinstance(model, Module):
            raise TypeError(f"argument 'model': a Module is wanted, not {_check._kind(model)}")
        if multi_avg_fn is not None:
            raise ArgumentError("argument 'multi_avg_fn' is given\n help: give `avg_fn`: ops over all weights are fused")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else _check.call("avg_fn", avg_fn)
        self.use_buffers = _check.flag("use_buffers", use_buffers)
        self._n = 0

    def forward(self, *args, **kwargs):
        """What the averaged model computes."""
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Takes the model's weights into the averages."""
        if not isinstance(model, Module):
            raise TypeError(f"argument 'model': a Module is wanted, not {_check._kind(model)}")
        own = [*self.module.parameters(), *(self.module.buffers() if self.use_buffers else ())]
        theirs = [*model.parameters(), *(model.buffers() if self.use_buffers else ())]
        if len(own) != len(theirs) or any(a.shape != b.shape for a, b in zip(own, theirs)):
            raise ArgumentError("argument 'model' has other parameters than the averages\n help: give the model that they were made of")
        n = self.n_averaged.item()
        for averaged, current in zip(own, theirs):
            old, new = averaged.detach(), current.detach().to(averaged.device)
            if n == 0 or not old.dtype.is_floating_point:
                set_value(averaged, new)
            else:
                set_value(averaged, self.avg_fn(old, new, n))
        if not self.use_buffers:
            for averaged, current in zip(self.module.buffers(), model.buffers()):
                set_value(averaged, current.detach())
        set_value(self.n_averaged, self.n_averaged + 1)
        from .._unigrad import _nn

        _nn.realize([*self.parameters(), *self.buffers()])


def update_bn(loader, model, device=None):
    """Running statistics of batch norms anew, as means over the batches of a loader.

    >>> import unigrad as ug
    >>> model = ug.nn.BatchNorm1d(2)
    >>> ug.optim.swa_utils.update_bn([ug.ones(4, 2)], model)
    >>> model.running_mean.tolist()
    [1.0, 1.0]
    """
    if not isinstance(model, Module):
        raise TypeError(f"argument 'model': a Module is wanted, not {_check._kind(model)}")
    if not hasattr(loader, "__iter__"):
        raise TypeError(f"argument 'loader': batches are wanted, not {_check._kind(loader)}")
    norms = [module for module in model.modules() if isinstance(module, _Running) and module.track_running_stats]
    if not norms:
        return
    before, training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    model.train()
    try:
        from .. import no_grad

        with no_grad():
            for batch in loader:
                batch = batch[0] if isinstance(batch, (list, tuple)) else batch
                batch = _check.tensor("loader", batch)
                model(batch if device is None else batch.to(device))
                for norm in norms:
                    norm.running_mean.realize()
    finally:
        for norm, momentum in zip(norms, before):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the rate that there is to ``swa_lr`` over ``anneal_epochs`` steps, and that from there on.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> schedule = ug.optim.swa_utils.SWALR(optimizer, swa_lr=0.5, anneal_epochs=1)
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        self.swa_lr, self.anneal_epochs = _check.number("swa_lr", swa_lr, 0.0), _check.size("anneal_epochs", anneal_epochs)
        self.anneal_strategy = _check.one_of("anneal_strategy", anneal_strategy, ("cos", "linear"))
        super().__init__(optimizer, last_epoch)

    def rate(self, base_lr, step, group):
        import math

        part = min(step / self.anneal_epochs, 1.0) if self.anneal_epochs else 1.0
        share = (1 - math.cos(math.pi * part)) / 2 if self.anneal_strategy == "cos" else part
        return base_lr + (self.swa_lr - base_lr) * share
