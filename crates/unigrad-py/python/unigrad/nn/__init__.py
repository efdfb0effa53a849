"""Layers, losses and models, with PyTorch's names: ``unigrad.nn.Module`` and what is one.

>>> import unigrad as ug
>>> net = ug.nn.Sequential(ug.nn.Linear(2, 8), ug.nn.Tanh(), ug.nn.Linear(8, 1))
>>> net(ug.zeros(5, 2)).shape
(5, 1)
"""

from .. import _shown
from . import functional, init, memory, models, utils
from ._examples import EXAMPLES as _EXAMPLES
from .activations import *  # noqa: F403
from .activations import __all__ as _activations
from .attention import *  # noqa: F403
from .attention import __all__ as _attention
from .containers import *  # noqa: F403
from .containers import __all__ as _containers
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .lazy import *  # noqa: F403
from .lazy import __all__ as _lazy
from .losses import *  # noqa: F403
from .losses import __all__ as _losses
from .module import Module
from .norms import *  # noqa: F403
from .norms import __all__ as _norms
from .parameter import Buffer, Parameter
from .recurrent import *  # noqa: F403
from .recurrent import __all__ as _recurrent
from .shapes import *  # noqa: F403
from .shapes import __all__ as _shapes
from .windows import *  # noqa: F403
from .windows import __all__ as _windows

__all__ = sorted(
    ["Buffer", "Module", "Parameter", "functional", "init", "memory", "models", "utils"]
    + _activations
    + _attention
    + _containers
    + _layers
    + _lazy
    + _losses
    + _norms
    + _recurrent
    + _shapes
    + _windows
)

_shown.show(globals(), _EXAMPLES)
