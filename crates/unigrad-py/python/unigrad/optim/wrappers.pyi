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
from unigrad.optim.optimizer import Optimizer as Optimizer

class _Around(Optimizer):
    def __init__(self, optimizer: _Optimizer, around: Any) -> None: ...
class Lookahead(_Around):
    """Slow weights around an optimizer (Zhang et al., 2019): after every ``k`` steps they go ``alpha`` of the way to the fast ones, which begin there again.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> optimizer = ug.optim.Lookahead(ug.optim.SGD([w], lr=0.5), k=1, alpha=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.75, 0.75]"""
    def __init__(self, optimizer: _Optimizer, k: builtins.float=5, alpha: builtins.float=0.5) -> None: ...
class SAM(_Around):
    """Sharpness-aware steps (Foret et al., 2021): ``step(closure)`` takes the gradient where the loss is worst at a distance of ``rho``.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.tensor([2.0]))
    >>> optimizer = ug.optim.SAM(ug.optim.SGD([w], lr=0.25), rho=0.5)
    >>> loss = optimizer.step(lambda: (w * w).sum())
    >>> w.tolist()
    [0.75]"""
    def __init__(self, optimizer: _Optimizer, rho: builtins.float=0.05, adaptive: builtins.bool=False) -> None: ...
