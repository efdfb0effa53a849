"""Optimizers around optimizers: slow weights, and sharpness-aware steps."""

from .. import _check
from .optimizer import Optimizer

__all__ = ["Lookahead", "SAM"]


class _Around(Optimizer):
    def __init__(self, optimizer, around):
        if not isinstance(optimizer, Optimizer) or optimizer._around is not None:
            raise TypeError(f"argument 'optimizer': a plain optimizer is wanted, not {_check._kind(optimizer)}")
        self._rule, self._native, self._around = optimizer._rule, optimizer._native, around
        self._defaults = type(optimizer)._defaults
        groups = optimizer.param_groups
        Optimizer.__init__(self, groups, optimizer.defaults)


class Lookahead(_Around):
    """Slow weights around an optimizer (Zhang et al., 2019): after every ``k`` steps they go ``alpha`` of the way to the fast ones, which begin there again.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Lookahead(ug.optim.SGD([w], lr=0.5), k=1, alpha=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.75, 0.75]
    """

    def __init__(self, optimizer, k=5, alpha=0.5):
        super().__init__(optimizer, ("lookahead", float(_check.positive("k", k)), _check.probability("alpha", alpha)))


class SAM(_Around):
    """Sharpness-aware steps (Foret et al., 2021): ``step(closure)`` takes the gradient where the loss is worst at a distance of ``rho``.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.tensor([2.0]))
    >>> optimizer = ug.optim.SAM(ug.optim.SGD([w], lr=0.25), rho=0.5)
    >>> loss = optimizer.step(lambda: (w * w).sum())
    >>> w.tolist()
    [0.75]
    """

    def __init__(self, optimizer, rho=0.05, adaptive=False):
        super().__init__(optimizer, ("sam", _check.number("rho", rho, above=0.0), float(_check.flag("adaptive", adaptive))))
