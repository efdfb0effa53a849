"""Learning rates that change, with PyTorch's names: ``scheduler.step()`` after each epoch, or step, sets ``lr`` in the optimizer's groups.

Always: as in PyTorch a step changes the rate that is there, so that several schedulers of one optimizer, and what a loop sets by hand, go together; a
state can be saved.

>>> import unigrad as ug
>>> optimizer = ug.optim.SGD([ug.nn.Parameter(ug.zeros(1))], lr=1.0)
>>> scheduler = ug.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> rates = []
>>> for _ in range(4):
...     optimizer.step()
...     scheduler.step()
...     rates.append(scheduler.get_last_lr()[0])
>>> rates
[1.0, 0.5, 0.5, 0.25]
"""

from .cycles import *  # noqa: F403
from .cycles import __all__ as _cycles
from .plateau import *  # noqa: F403
from .plateau import __all__ as _plateau
from .rates import *  # noqa: F403
from .rates import __all__ as _rates
from .scheduler import *  # noqa: F403
from .scheduler import _LRScheduler as _LRScheduler
from .scheduler import __all__ as _scheduler
from .several import *  # noqa: F403
from .several import __all__ as _several

__all__ = sorted(_cycles + _plateau + _rates + _scheduler + _several)
