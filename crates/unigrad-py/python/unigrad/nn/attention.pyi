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

class MultiheadAttention(Module):
    """Attention over several heads. Sequences are ``[length, batch, size]``, or with ``batch_first`` the batch first, or one sequence ``[length, size]``.

    >>> import unigrad as ug
    >>> x = ug.randn(2, 5, 8)
    >>> output, weights = ug.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> output.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))"""
    embed_dim: builtins.int
    num_heads: builtins.int
    kdim: Any
    vdim: Any
    dropout: builtins.float
    batch_first: builtins.bool
    add_zero_attn: builtins.bool
    head_dim: Any
    out_proj: Any
    in_proj_weight: Any
    def __init__(self, embed_dim: builtins.int, num_heads: builtins.int, dropout: builtins.float=0.0, bias: builtins.bool=True, add_bias_kv: builtins.bool=False, add_zero_attn: builtins.bool=False, kdim: builtins.int | None=None, vdim: builtins.int | None=None, batch_first: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None=None, need_weights: builtins.bool=True, attn_mask: Tensor | None=None, average_attn_weights: builtins.bool=True, is_causal: builtins.bool=False) -> Any:
        """The output, of the query's shape, and the weights ``[batch, queries, keys]`` (for each head, unless averaged), or ``None``."""
        ...
    def __call__(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None=None, need_weights: builtins.bool=True, attn_mask: Tensor | None=None, average_attn_weights: builtins.bool=True, is_causal: builtins.bool=False) -> Any: ...
class _TransformerLayer(Module):
    """What both layers are made of: attention, two linear maps, and a norm and a dropout for each part."""
    self_attn: Any
    linear1: Any
    dropout: builtins.float
    linear2: Any
    norm_first: builtins.bool
    activation: builtins.str
    multihead_attn: Any
    def __init__(self, d_model: Any, nhead: Any, dim_feedforward: builtins.int=2048, dropout: builtins.float=0.1, activation: builtins.str='relu', layer_norm_eps: builtins.float=1e-05, batch_first: builtins.bool=False, norm_first: builtins.bool=False, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence over itself, then two linear maps, each added to its input and normalized.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(ug.randn(2, 5, 8)).shape
    (2, 5, 8)"""
    def forward(self, src: Tensor, src_mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, is_causal: builtins.bool=False) -> Tensor:
        """Keeps the shape ``[length, batch, size]``, or with the batch first."""
        ...
    def __call__(self, src: Tensor, src_mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, is_causal: builtins.bool=False) -> Tensor: ...
class TransformerDecoderLayer(_TransformerLayer):
    """As an encoder's layer, with attention over an encoder's output between its parts.

    >>> import unigrad as ug
    >>> ug.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)(ug.rand(2, 3, 8), ug.rand(2, 5, 8)).shape
    (2, 3, 8)"""
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, tgt_is_causal: builtins.bool=False, memory_is_causal: builtins.bool=False) -> Tensor:
        """Keeps the shape of ``tgt``, ``[length, batch, size]``, or with the batch first."""
        ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, tgt_is_causal: builtins.bool=False, memory_is_causal: builtins.bool=False) -> Tensor: ...
class TransformerEncoder(Module):
    """Copies of an encoder's layer one after another, and a last norm.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> ug.nn.TransformerEncoder(layer, 2)(ug.rand(2, 5, 8)).shape
    (2, 5, 8)"""
    layers: Any
    num_layers: Any
    norm: Any
    def __init__(self, encoder_layer: Any, num_layers: Any, norm: Any=None, enable_nested_tensor: builtins.bool=True, mask_check: builtins.bool=True) -> None: ...
    def forward(self, src: Tensor, mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, is_causal: builtins.bool | None=None) -> Tensor:
        """Keeps the shape of ``src``."""
        ...
    def __call__(self, src: Tensor, mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, is_causal: builtins.bool | None=None) -> Tensor: ...
class TransformerDecoder(Module):
    """Copies of a decoder's layer one after another, and a last norm.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> ug.nn.TransformerDecoder(layer, 2)(ug.rand(2, 3, 8), ug.rand(2, 5, 8)).shape
    (2, 3, 8)"""
    layers: Any
    num_layers: Any
    norm: Any
    def __init__(self, decoder_layer: Any, num_layers: Any, norm: Any=None) -> None: ...
    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, tgt_is_causal: builtins.bool | None=None, memory_is_causal: builtins.bool=False) -> Tensor:
        """Keeps the shape of ``tgt``."""
        ...
    def __call__(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, tgt_is_causal: builtins.bool | None=None, memory_is_causal: builtins.bool=False) -> Tensor: ...
class Transformer(Module):
    """An encoder, and a decoder that reads it (Vaswani et al., 2017).

    >>> import unigrad as ug
    >>> model = ug.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(ug.rand(2, 5, 8), ug.rand(2, 3, 8)).shape
    (2, 3, 8)"""
    encoder: Any
    decoder: Any
    d_model: builtins.int
    nhead: builtins.int
    batch_first: builtins.bool
    def __init__(self, d_model: builtins.int=512, nhead: builtins.int=8, num_encoder_layers: builtins.int=6, num_decoder_layers: builtins.int=6, dim_feedforward: builtins.int=2048, dropout: builtins.float=0.1, activation: builtins.str='relu', custom_encoder: Any=None, custom_decoder: Any=None, layer_norm_eps: builtins.float=1e-05, batch_first: builtins.bool=False, norm_first: builtins.bool=False, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    @staticmethod
    def generate_square_subsequent_mask(sz: Any, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> Any:
        """``[sz, sz]``: minus infinity where a position does not see a later one, else 0."""
        ...
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None=None, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, src_is_causal: builtins.bool | None=None, tgt_is_causal: builtins.bool | None=None, memory_is_causal: builtins.bool=False) -> Tensor:
        """The decoder's output, of the shape of ``tgt``."""
        ...
    def __call__(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None=None, tgt_mask: Tensor | None=None, memory_mask: Tensor | None=None, src_key_padding_mask: Tensor | None=None, tgt_key_padding_mask: Tensor | None=None, memory_key_padding_mask: Tensor | None=None, src_is_causal: builtins.bool | None=None, tgt_is_causal: builtins.bool | None=None, memory_is_causal: builtins.bool=False) -> Tensor: ...
