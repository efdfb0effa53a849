"""Averages of weights, with PyTorch's names."""

import copy
import math

from .. import _check
from .._errors import ArgumentError
from .._unigrad import tensor
from ..nn.module import Module
from ..nn.norms import _Running
from ..nn.parameter import set_value
from .lr_scheduler import LRScheduler
from .lr_scheduler.scheduler import _each, _optimizer

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


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


def _of_all(one):
    """A function of lists, which writes the averages, from one of two tensors."""

    def update(averaged, current, n):
        for old, new in zip(averaged, current):
            # What is counted is no average.
            set_value(old, one(old.detach(), new.detach(), n) if old.dtype.is_floating_point else new)

    return update


def get_ema_multi_avg_fn(decay=0.999):
    """An exponential average of lists of tensors, as ``multi_avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> averages = [ug.tensor([1.0])]
    >>> ug.optim.swa_utils.get_ema_multi_avg_fn(0.5)(averages, [ug.tensor([3.0])], 1)
    >>> averages
    [tensor([2.])]
    """
    return _of_all(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn():
    """The mean over all updates of lists of tensors, as ``multi_avg_fn`` of ``AveragedModel``.

    >>> import unigrad as ug
    >>> averages = [ug.tensor([1.0])]
    >>> ug.optim.swa_utils.get_swa_multi_avg_fn()(averages, [ug.tensor([3.0])], 1)
    >>> averages
    [tensor([2.])]
    """
    return _of_all(get_swa_avg_fn())


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
        if avg_fn is not None and multi_avg_fn is not None:
            raise ArgumentError("arguments 'avg_fn' and 'multi_avg_fn' are both given\n help: give one of them")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", tensor(0))
        self.avg_fn = get_swa_avg_fn() if avg_fn is None else _check.call("avg_fn", avg_fn)
        self.multi_avg_fn = None if multi_avg_fn is None else _check.call("multi_avg_fn", multi_avg_fn)
        self.use_buffers = _check.flag("use_buffers", use_buffers)

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
        if self.multi_avg_fn is not None and n > 0:
            from .. import no_grad

            with no_grad():
                self.multi_avg_fn(own, [current.detach().to(averaged.device) for averaged, current in zip(own, theirs)], n)
            own = theirs = ()
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
        rates = _each("swa_lr", swa_lr, len(_optimizer(optimizer).param_groups))
        for group, rate in zip(optimizer.param_groups, rates):
            group["swa_lr"] = _check.number("swa_lr", rate, 0.0)
        self.anneal_epochs = _check.size("anneal_epochs", anneal_epochs)
        self._anneal_strategy = _check.one_of("anneal_strategy", anneal_strategy, ("cos", "linear"))
        super().__init__(optimizer, last_epoch)

    def _share(self, step):
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else part

    def get_lr(self):
        """The rates that a step sets: from those that there are, whichever scheduler has set them."""
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, share = self._share(step - 1), self._share(step)
        rates = []
        for lr, group in zip(self._rates(), self.optimizer.param_groups):
            goal = group["swa_lr"]
            first = goal if before == 1.0 else (lr - before * goal) / (1 - before)
            rates.append(goal * share + first * (1 - share))
        return rates

    def _get_closed_form_lr(self):
        # There is none.
        return self.get_lr()
