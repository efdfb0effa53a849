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

def linear(input: Tensor, weight: Tensor, bias: Any=None) -> Tensor:
    """``input @ weight.T + bias``: ``[.., in]`` with ``weight`` ``[out, in]`` to ``[.., out]``; with ``weight`` ``[in]`` to ``[..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.linear(ug.ones(2, 3), ug.ones(4, 3)).shape
    (2, 4)"""
    ...
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Any=None) -> Tensor:
    """``input1 · weight_k · input2`` for each output ``k``: ``weight`` is ``[out, in1, in2]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.bilinear(ug.zeros(2, 3), ug.zeros(2, 4), ug.zeros(5, 3, 4)).shape
    (2, 5)"""
    ...
def dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """While training each element is 0 with probability ``p``, else divided by ``1 - p``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dropout(ug.ones(2), p=0.5, training=False)
    tensor([1., 1.])"""
    ...
def dropout1d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, l]`` or ``[c, l]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dropout1d(ug.ones(1, 2, 2), training=False).sum().item()
    4.0"""
    ...
def dropout2d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, h, w]`` or ``[c, h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dropout2d(ug.ones(1, 2, 2, 2), training=False).sum().item()
    8.0"""
    ...
def dropout3d(input: Tensor, p: builtins.float=0.5, training: builtins.bool=True, inplace: builtins.bool=False) -> Tensor:
    """Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dropout3d(ug.ones(1, 2, 2, 2, 2), training=False).sum().item()
    16.0"""
    ...
def alpha_dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=False, inplace: builtins.bool=False) -> Tensor:
    """Drops elements to where SELU saturates, such that mean and variance stay.

    >>> import unigrad as ug
    >>> ug.nn.functional.alpha_dropout(ug.ones(2), training=False)
    tensor([1., 1.])"""
    ...
def feature_alpha_dropout(input: Tensor, p: builtins.float=0.5, training: builtins.bool=False, inplace: builtins.bool=False) -> Tensor:
    """As ``alpha_dropout``, of whole channels (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.functional.feature_alpha_dropout(ug.ones(1, 2, 3), training=False).shape
    (1, 2, 3)"""
    ...
def embedding(input: Tensor, weight: Tensor, padding_idx: builtins.int | None=None, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, sparse: builtins.bool=False) -> Tensor:
    """A row of ``weight`` for each index: ``[..]`` with ``weight`` ``[n, size]`` to ``[.., size]``. Gradients are dense.

    With ``max_norm`` the rows that are looked up are scaled in place, in ``weight``, to have that norm at most.

    >>> import unigrad as ug
    >>> ug.nn.functional.embedding(ug.tensor([1, 0]), ug.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])"""
    ...
def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None=None, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, mode: builtins.str='mean', sparse: builtins.bool=False, per_sample_weights: Tensor | None=None, include_last_offset: builtins.bool=False, padding_idx: builtins.int | None=None) -> Tensor:
    """The sum, mean or greatest of the rows of each bag of indices: the rows of a matrix, or what begins at ``offsets`` of a vector.

    >>> import unigrad as ug
    >>> ug.nn.functional.embedding_bag(ug.tensor([[1, 0]]), ug.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.]])"""
    ...
def one_hot(tensor: Tensor, num_classes: builtins.int=-1) -> Tensor:
    """1 at each index, else 0: ``[..]`` to ``[.., num_classes]``; with -1 as many as are needed, which is a read.

    >>> import unigrad as ug
    >>> ug.nn.functional.one_hot(ug.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])"""
    ...
