# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad.nn.module import Module as Module

class CNN(Module):
    """Two convolutions, a pool, two linear layers: ``[n, 1, height, width]`` to a logit per class, ``[n, n_classes]``.

    ``padding`` zeros around keep small images from shrinking; ``dropout`` is the probability before each linear layer.

    >>> import unigrad as ug
    >>> ug.nn.models.CNN(8, 8, n_classes=10, padding=1)(ug.zeros(3, 1, 8, 8)).shape
    (3, 10)"""
    conv1: Any
    conv2: Any
    dropout: builtins.float
    fc1: Any
    fc2: Any
    def __init__(self, height: builtins.int, width: builtins.int, n_classes: builtins.int, padding: builtins.int | Sequence[builtins.int]=0, dropout: builtins.float=0.0, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, 1, height, width]`` to ``[n, n_classes]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
class MLP(Module):
    """Linear layers between the given ``sizes`` with ReLU between: ``[n, ..]``, flattened, to ``[n, sizes[-1]]``.

    >>> import unigrad as ug
    >>> model = ug.nn.models.MLP([64, 32, 10], dropout=0.1)
    >>> model(ug.zeros(5, 1, 8, 8)).shape
    (5, 10)"""
    layers: Any
    dropout: builtins.float
    def __init__(self, sizes: Sequence[builtins.int], dropout: builtins.float=0.0, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, ..]``, of ``sizes[0]`` elements each, to ``[n, sizes[-1]]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
