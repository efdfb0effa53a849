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

class Sampling:
    """How the next token is drawn from logits: ``temperature`` first (0: always the likeliest), then the ``top_k`` likeliest, then the fewest that have
    ``top_p`` of the probability together (Holtzman et al., 2020).

    >>> import unigrad as ug
    >>> logits = ug.tensor([0.0, 2.0, 1.0, -1.0])
    >>> ug.nn.models.Sampling(temperature=0.0).choose(logits)
    1
    >>> {ug.nn.models.Sampling(top_k=2).choose(logits, seed) for seed in range(50)}
    {1, 2}"""
    temperature: builtins.float
    top_k: Any
    top_p: Any
    def __init__(self, temperature: builtins.float=1.0, top_k: builtins.int | None=None, top_p: builtins.float | None=None) -> None: ...
    def choose(self, logits: Tensor | Sequence[builtins.float], generator: Any=None) -> builtins.int:
        """The index of a token by its logits, ``[vocab]``; ``generator`` is a seed or a ``random.Random``, or the library's own."""
        ...
    def __repr__(self) -> builtins.str: ...
