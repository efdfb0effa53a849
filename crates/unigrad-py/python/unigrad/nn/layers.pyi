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

class Identity(Module):
    """Its input; whatever it is constructed with.

    >>> import unigrad as ug
    >>> ug.nn.Identity()(ug.tensor([1.0, 2.0]))
    tensor([1., 2.])"""
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def forward(self, input: Tensor) -> Any:
        """Of any shape."""
        ...
    def __call__(self, input: Tensor) -> Any: ...
class Linear(Module):
    """``x @ weight.T + bias``: ``[.., in_features]`` to ``[.., out_features]``.

    >>> import unigrad as ug
    >>> layer = ug.nn.Linear(4, 3)
    >>> layer(ug.zeros(2, 4)).shape, layer.weight.shape
    ((2, 3), (3, 4))"""
    in_features: builtins.int
    out_features: builtins.int
    weight: Any
    bias: Any
    def __init__(self, in_features: builtins.int, out_features: builtins.int, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """``[.., in_features]`` to ``[.., out_features]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class Bilinear(Module):
    """``x1 · weight_k · x2 + bias_k`` for each output: ``[.., in1_features]`` and ``[.., in2_features]`` to ``[.., out_features]``.

    >>> import unigrad as ug
    >>> ug.nn.Bilinear(3, 4, 5)(ug.zeros(2, 3), ug.zeros(2, 4)).shape
    (2, 5)"""
    in1_features: builtins.int
    in2_features: builtins.int
    out_features: builtins.int
    weight: Any
    bias: Any
    def __init__(self, in1_features: builtins.int, in2_features: builtins.int, out_features: builtins.int, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Two tensors that have all axes but the last alike."""
        ...
    def __call__(self, input1: Tensor, input2: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class _Rows(Module):
    """What tables of vectors share."""
    num_embeddings: builtins.int
    embedding_dim: builtins.int
    padding_idx: builtins.int
    max_norm: builtins.float
    norm_type: builtins.float
    scale_grad_by_freq: Any
    sparse: Any
    def __init__(self, num_embeddings: builtins.int, embedding_dim: builtins.int, padding_idx: builtins.int, max_norm: builtins.float, norm_type: builtins.float, scale_grad_by_freq: Any, sparse: Any) -> None: ...
class Embedding(_Rows):
    """A row of the weight for each index: ``[..]`` of integers to ``[.., embedding_dim]``.

    >>> import unigrad as ug
    >>> ug.nn.Embedding(10, 4)(ug.tensor([[1, 2, 3]])).shape
    (1, 3, 4)"""
    weight: Any
    def __init__(self, num_embeddings: builtins.int, embedding_dim: builtins.int, padding_idx: builtins.int | None=None, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, sparse: builtins.bool=False, _weight: Any=None, _freeze: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: builtins.bool=True, **settings: Any) -> Any:
        """Of vectors ``[n, size]`` that are there; with ``freeze`` they do not learn."""
        ...
    def forward(self, input: Tensor) -> Tensor:
        """``[..]`` of integers to ``[.., embedding_dim]``."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class EmbeddingBag(_Rows):
    """The sum, mean or greatest of the rows of each bag of indices.

    >>> import unigrad as ug
    >>> ug.nn.EmbeddingBag(10, 4)(ug.tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)"""
    mode: builtins.str
    include_last_offset: builtins.bool
    weight: Any
    def __init__(self, num_embeddings: builtins.int, embedding_dim: builtins.int, max_norm: builtins.float | None=None, norm_type: builtins.float=2.0, scale_grad_by_freq: builtins.bool=False, mode: builtins.str='mean', sparse: builtins.bool=False, _weight: Any=None, include_last_offset: builtins.bool=False, padding_idx: builtins.int | None=None, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, offsets: Tensor | None=None, per_sample_weights: Tensor | None=None) -> Tensor:
        """Bags are the rows of a matrix, or begin at ``offsets`` of a vector; to ``[bags, embedding_dim]``."""
        ...
    def __call__(self, input: Tensor, offsets: Tensor | None=None, per_sample_weights: Tensor | None=None) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class _Dropout(Module):
    p: builtins.float
    inplace: builtins.bool
    def __init__(self, p: builtins.float=0.5, inplace: builtins.bool=False) -> None: ...
    def forward(self, input: Tensor) -> Tensor:
        """Keeps the shape."""
        ...
    def __call__(self, input: Tensor) -> Tensor: ...
    def extra_repr(self) -> Any: ...
class Dropout(_Dropout):
    """While training each element is 0 with probability ``p``, else divided by ``1 - p``; in use nothing happens.

    >>> import unigrad as ug
    >>> ug.nn.Dropout(0.5).eval()(ug.ones(3)).tolist()
    [1.0, 1.0, 1.0]"""
class Dropout1d(_Dropout):
    """Drops channels of ``[n, c, l]`` or ``[c, l]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout1d(0.5).eval()(ug.ones(1, 2, 2)).sum().item()
    4.0"""
class Dropout2d(_Dropout):
    """Drops channels of ``[n, c, h, w]`` or ``[c, h, w]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout2d(0.5).eval()(ug.ones(1, 2, 2, 2)).sum().item()
    8.0"""
class Dropout3d(_Dropout):
    """Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout3d(0.5).eval()(ug.ones(1, 2, 2, 2, 2)).sum().item()
    16.0"""
class AlphaDropout(_Dropout):
    """Drops elements to where SELU saturates, such that mean and variance stay, while training.

    >>> import unigrad as ug
    >>> ug.nn.AlphaDropout(0.5).eval()(ug.ones(2))
    tensor([1., 1.])"""
class FeatureAlphaDropout(_Dropout):
    """As ``AlphaDropout``, of whole channels (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.FeatureAlphaDropout(0.5).eval()(ug.ones(1, 2, 3)).shape
    (1, 2, 3)"""
