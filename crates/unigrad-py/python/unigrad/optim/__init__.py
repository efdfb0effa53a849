"""Optimizers, with PyTorch's names and keywords: a step is one evaluation over all parameters.

>>> import unigrad as ug
>>> w = ug.nn.Parameter(ug.tensor([1.0, -2.0]))
>>> optimizer = ug.optim.SGD([w], lr=0.25)
>>> (w * w).sum().backward()
>>> optimizer.step()
>>> w.tolist()
[0.5, -1.0]
"""

from .. import _shown
from . import lr_scheduler, swa_utils
from ._examples import EXAMPLES as _EXAMPLES
from .optimizer import Optimizer
from .rules import *  # noqa: F403
from .rules import __all__ as _rules
from .wrappers import SAM, Lookahead

__all__ = ["Lookahead", "Optimizer", "SAM", *_rules, "lr_scheduler", "swa_utils"]

_shown.show(globals(), _EXAMPLES)
