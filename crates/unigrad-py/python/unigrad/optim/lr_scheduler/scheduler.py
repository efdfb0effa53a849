"""What schedulers are."""

import abc

from ... import _check
from ..._errors import ArgumentError
from ..optimizer import Optimizer

__all__ = ["LRScheduler"]


def _optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"argument 'optimizer': an optimizer is wanted, not {_check._kind(optimizer)}")
    return optimizer


class _Schedule:
    """What all of them have, those of metrics too."""

    def get_last_lr(self):
        """The rates of the groups."""
        return list(self._last_lr)

    def _rates(self):
        """The rates that the groups have, whatever has set them."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self):
        """What goes on: all but the optimizer, and functions."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``, of this library or of PyTorch. The rate itself is in that of the optimizer."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"argument 'state_dict': a dict is wanted, not {_check._kind(state_dict)}")
        self.__dict__.update(state_dict)


class LRScheduler(_Schedule, metaclass=abc.ABCMeta):
    """What schedulers are: a class of one's own has ``rate(base_lr, step, group)``, or PyTorch's ``get_lr()``, which reads ``last_epoch`` and ``base_lrs``.

    >>> import unigrad as ug
    >>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=1.0)
    >>> isinstance(ug.optim.lr_scheduler.StepLR(optimizer, 2), ug.optim.lr_scheduler.LRScheduler)
    True
    """

    # Whether the first step is taken, which sets the rate to begin with.
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer = _optimizer(optimizer)
        last_epoch = _check.whole("last_epoch", last_epoch, -1)
        for group in optimizer.param_groups:
            if last_epoch == -1:
                # A second scheduler of an optimizer has the base rates of the first.
                group.setdefault("initial_lr", float(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentError("argument 'last_epoch' goes on with an optimizer that no scheduler has begun with\n help: leave it out")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self):
        self._step_count, self._is_initial = 0, True
        try:
            self.step()
        finally:
            self._is_initial = False

    def rate(self, base_lr, step, group):
        """The learning rate after ``step`` steps, for a group with this base rate."""
        raise NotImplementedError(f"{type(self).__name__} has neither a `rate` nor a `get_lr`\n help: write one of them")

    def get_lr(self):
        """The rates that a step sets: by ``rate``, unless a class says otherwise."""
        return self._get_closed_form_lr()

    def _get_closed_form_lr(self):
        return [self.rate(base, self.last_epoch, at) for at, base in enumerate(self.base_lrs)]

    def step(self, epoch=None):
        """One step further; or to that of a number."""
        self._step_count += 1
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self.last_epoch = _check.whole("epoch", epoch, 0)
            self._set(self._get_closed_form_lr())

    def _set(self, rates):
        for group, rate in zip(self.optimizer.param_groups, rates):
            group["lr"] = rate
        self._last_lr = self._rates()


# PyTorch's old name, which programs derive classes from.
_LRScheduler = LRScheduler


def _each(name, value, n):
    if isinstance(value, (list, tuple)):
        if len(value) != n:
            raise ArgumentError(f"argument '{name}' has {len(value)} numbers, for {n} groups\n help: give one, or one for each")
        return [_check.number(name, item) for item in value]
    return [_check.number(name, value)] * n
