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

class GPTConfig:
    """Sizes of a ``GPT``: how many tokens there are, the longest sequence, blocks, heads of a block, features.

    >>> import unigrad as ug
    >>> ug.nn.models.GPTConfig(vocab=65, ctx=32, layers=2, heads=2, dim=64)
    GPTConfig(vocab=65, ctx=32, layers=2, heads=2, dim=64)"""
    vocab: builtins.int
    ctx: builtins.int
    layers: builtins.int
    heads: builtins.int
    dim: builtins.int
    def __init__(self, vocab: builtins.int, ctx: builtins.int, layers: builtins.int, heads: builtins.int, dim: builtins.int) -> None: ...
    def __repr__(self) -> builtins.str: ...
class GPTBlock(Module):
    """Attention to what came before and a feed-forward part, each added to what came in: ``[n, t, dim]`` to the same shape.

    >>> import unigrad as ug
    >>> ug.nn.models.GPTBlock(8, heads=2)(ug.zeros(1, 5, 8)).shape
    (1, 5, 8)"""
    heads: builtins.int
    ln1: Any
    ln2: Any
    qkv: Any
    proj: Any
    fc: Any
    out: Any
    def __init__(self, dim: builtins.int, heads: builtins.int, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[n, t, dim]`` to ``[n, t, dim]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class GPT(Module):
    """A character GPT with random weights of GPT-2's kind: tokens ``[n, t]``, ``t`` at most ``config.ctx``, to logits ``[n, t, config.vocab]``.

    >>> import unigrad as ug
    >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=8, layers=2, heads=2, dim=16))
    >>> model(ug.tensor([[1, 2, 3]])).shape
    (1, 3, 10)"""
    config: GPTConfig
    wte: Any
    wpe: Any
    blocks: Any
    lnf: Any
    def __init__(self, config: GPTConfig, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, tokens: Tensor) -> Tensor:
        """``[n, t]`` of integers to ``[n, t, vocab]``."""
        ...
    def __call__(self, tokens: Tensor) -> Tensor: ...
    def loss(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The next token's mean cross-entropy: ``inputs`` and ``targets`` are ``[n, t]`` tokens; a tensor of one element.

        >>> import unigrad as ug
        >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=8, layers=1, heads=2, dim=16))
        >>> text = ug.tensor([[1, 2, 3, 4]])
        >>> model.loss(text[:, :-1], text[:, 1:]).shape
        ()"""
        ...
    def sample(self, prompt: Sequence[builtins.int] | Tensor, count: builtins.int, temperature: builtins.float=1.0, *, top_k: builtins.int | None=None, top_p: builtins.float | None=None, generator: Any=None) -> builtins.list[builtins.int]:
        """Tokens: those of ``prompt`` and ``count`` that continue it, drawn by ``Sampling(temperature, top_k, top_p)``. An empty prompt begins with
        token 0. ``generator`` is a seed or a ``random.Random``, or the library's own.

        >>> import unigrad as ug
        >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=4, layers=1, heads=2, dim=16))
        >>> len(model.sample([1, 2], 5, generator=0))
        7"""
        ...
    def extra_repr(self) -> Any: ...
