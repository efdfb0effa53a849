"""Layers as functions, with PyTorch's names and keywords: each is one or a few ops of ``Tensor``.

>>> import unigrad as ug
>>> from unigrad.nn import functional as F
>>> F.relu(ug.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

import sys as _sys

from ... import _shown
from ..._told import name_arguments as _name_arguments
from ._examples import EXAMPLES as _EXAMPLES
from .activations import *  # noqa: F403
from .activations import __all__ as _activations
from .attention import *  # noqa: F403
from .attention import __all__ as _attention
from .layers import *  # noqa: F403
from .layers import __all__ as _layers
from .losses import *  # noqa: F403
from .losses import __all__ as _losses
from .norms import *  # noqa: F403
from .norms import __all__ as _norms
from .shapes import *  # noqa: F403
from .shapes import __all__ as _shapes
from .windows import *  # noqa: F403
from .windows import __all__ as _windows

__all__ = sorted(_activations + _attention + _layers + _losses + _norms + _shapes + _windows)
_name_arguments(globals(), __all__)
for _name in __all__:
    # Where `pickle` looks for it, for a layer may hold one: the very function that is given here.
    setattr(_sys.modules[globals()[_name].__module__], _name, globals()[_name])
_shown.show(globals(), _EXAMPLES)
