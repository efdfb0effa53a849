"""Attention over several heads, and transformers, with PyTorch's parameters and masks.

Always: where a mask of truth values is true, a key is *not* seen; numbers are added to scores.
"""

import copy
from functools import partial

from .. import _check
from .._errors import ArgumentError
from .._told import named
from .._unigrad import _nn, full, zeros
from . import functional as F
from . import init
from .containers import ModuleList
from .layers import Dropout, Linear
from .module import Module
from .norms import LayerNorm
from .parameter import Parameter
from .utils.recompute import asked, checkpoint

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _glorot(shape, dtype, device, fill=init.xavier_uniform_):
    return fill(Parameter(zeros(shape, dtype=dtype, device=device)))


class MultiheadAttention(Module):
    """Attention over several heads. Sequences are ``[length, batch, size]``, or with ``batch_first`` the batch first, or one sequence ``[length, size]``.

    >>> import unigrad as ug
    >>> x = ug.randn(2, 5, 8)
    >>> output, weights = ug.nn.MultiheadAttention(8, 2, batch_first=True)(x, x, x)
    >>> output.shape, weights.shape
    ((2, 5, 8), (2, 5, 5))
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.embed_dim, self.num_heads = _check.positive("embed_dim", embed_dim), _check.positive("num_heads", num_heads)
        if self.embed_dim % self.num_heads:
            raise ArgumentError(f"argument 'num_heads' is {num_heads}, for {embed_dim} features\n help: use a number that divides them")
        self.kdim = self.embed_dim if kdim is None else _check.positive("kdim", kdim)
        self.vdim = self.embed_dim if vdim is None else _check.positive("vdim", vdim)
        self.dropout, self.batch_first = _check.probability("dropout", dropout), _check.flag("batch_first", batch_first)
        self.add_zero_attn, self.head_dim = _check.flag("add_zero_attn", add_zero_attn), self.embed_dim // self.num_heads
        self._qkv_same_embed_dim = self.kdim == self.embed_dim and self.vdim == self.embed_dim
        size, bias = self.embed_dim, _check.flag("bias", bias)
        names = {"q_proj_weight": size, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = _glorot((3 * size, size), dtype, device)
            for name in names:
                self.register_parameter(name, None)
        else:
            self.register_parameter("in_proj_weight", None)
            for name, features in names.items():
                setattr(self, name, _glorot((size, features), dtype, device))
        zero = Parameter(full((3 * size,), 0.0, dtype=dtype, device=device)) if bias else None
        self.register_parameter("in_proj_bias", zero)
        self.out_proj = Linear(size, size, bias=bias, device=device, dtype=dtype)
        if bias:
            init.zeros_(self.out_proj.bias)
        has_bias_kv = _check.flag("add_bias_kv", add_bias_kv)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, _glorot((1, 1, size), dtype, device, init.xavier_normal_) if has_bias_kv else None)

    def forward(
        self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True, is_causal=False
    ):
        """The output, of the query's shape, and the weights ``[batch, queries, keys]`` (for each head, unless averaged), or ``None``."""
        for name, given in (("query", query), ("key", key), ("value", value)):
            if _check.tensor(name, given).ndim != query.ndim or given.ndim not in (2, 3):
                raise ArgumentError(
                    f"argument '{name}' has {given.ndim} axes\n help: give `[length, batch, size]` to all, or `[length, size]`"
                )
        swapped = query.ndim == 3 and not self.batch_first
        if swapped:
            same = key is query, value is key
            query = query.transpose(0, 1)
            key = query if same[0] else key.transpose(0, 1)
            value = key if same[1] else value.transpose(0, 1)
        if is_causal and attn_mask is None:
            raise ArgumentError("argument 'is_causal' is true without 'attn_mask'\n help: give the mask too, as in PyTorch")
        own = self._parameters
        names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight", "in_proj_bias", "bias_k", "bias_v")
        weights = [own[name] for name in names] + [self.out_proj.weight, self.out_proj.bias]
        output, seen = _nn.multi_head_attention(
            query,
            key,
            value,
            self.num_heads,
            weights,
            self.dropout if self.training else 0.0,
            self.add_zero_attn,
            self.training,
            key_padding_mask,
            attn_mask,
            False,
            bool(need_weights),
            bool(average_attn_weights),
        )
        return (output.transpose(0, 1) if swapped else output), seen


def _activation(activation):
    if isinstance(activation, str):
        return {"relu": F.relu, "gelu": F.gelu}[_check.one_of("activation", activation, ("relu", "gelu"))]
    return _check.call("activation", activation)


def _norm(size, eps, bias, device, dtype):
    return LayerNorm(size, eps=eps, bias=bias, device=device, dtype=dtype)


class _TransformerLayer(Module):
    """What both layers are made of: attention, two linear maps, and a norm and a dropout for each part."""

    _crosses = False

    @named
    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        made = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        if self._crosses:
            self.multihead_attn = MultiheadAttention(d_model, nhead, dropout=dropout, batch_first=batch_first, **made)
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = _check.flag("norm_first", norm_first)
        parts = range(1, 4 if self._crosses else 3)
        for part in parts:
            setattr(self, f"norm{part}", _norm(d_model, layer_norm_eps, bias, device, dtype))
        for part in parts:
            setattr(self, f"dropout{part}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attend(self, x, mask, padding):
        return self.dropout1(self.self_attn(x, x, x, attn_mask=mask, key_padding_mask=padding, need_weights=False)[0])

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _added(self, x, *parts):
        """Each part added to its input, and normalized: before it or after the sum."""
        for part, norm in parts:
            x = x + part(norm(x)) if self.norm_first else norm(x + part(x))
        return x


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence over itself, then two linear maps, each added to its input and normalized.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    >>> layer(ug.randn(2, 5, 8)).shape
    (2, 5, 8)
    """

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        """Keeps the shape ``[length, batch, size]``, or with the batch first."""

        def own(x):
            return self._attend(x, src_mask, src_key_padding_mask)

        def feed(x):
            return self.dropout2(self._feed(x))

        return self._added(_check.tensor("src", src), (own, self.norm1), (feed, self.norm2))


class TransformerDecoderLayer(_TransformerLayer):
    """As an encoder's layer, with attention over an encoder's output between its parts.

    >>> import unigrad as ug
    >>> ug.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)(ug.rand(2, 3, 8), ug.rand(2, 5, 8)).shape
    (2, 3, 8)
    """

    _crosses = True

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        """Keeps the shape of ``tgt``, ``[length, batch, size]``, or with the batch first."""
        _check.tensor("memory", memory)

        def own(x):
            return self._attend(x, tgt_mask, tgt_key_padding_mask)

        def cross(x):
            seen = {"attn_mask": memory_mask, "key_padding_mask": memory_key_padding_mask, "need_weights": False}
            return self.dropout2(self.multihead_attn(x, memory, memory, **seen)[0])

        def feed(x):
            return self.dropout3(self._feed(x))

        return self._added(_check.tensor("tgt", tgt), (own, self.norm1), (cross, self.norm2), (feed, self.norm3))


def _copies(layer, n, kind):
    if not isinstance(layer, Module):
        raise TypeError(f"argument '{kind}': a module is wanted, not {_check._kind(layer)}")
    return ModuleList(copy.deepcopy(layer) for _ in range(_check.size("num_layers", n)))


class TransformerEncoder(Module):
    """Copies of an encoder's layer one after another, and a last norm.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> ug.nn.TransformerEncoder(layer, 2)(ug.rand(2, 5, 8)).shape
    (2, 5, 8)
    """

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers, "encoder_layer")
        self.num_layers, self.norm = num_layers, norm

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        """Keeps the shape of ``src``."""
        x = _check.tensor("src", src)
        recomputed = asked()
        for layer in self.layers:
            seen = {"src_mask": mask, "src_key_padding_mask": src_key_padding_mask}
            x = checkpoint(partial(layer, **seen), x) if recomputed else layer(x, **seen)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Module):
    """Copies of a decoder's layer one after another, and a last norm.

    >>> import unigrad as ug
    >>> layer = ug.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> ug.nn.TransformerDecoder(layer, 2)(ug.rand(2, 3, 8), ug.rand(2, 5, 8)).shape
    (2, 3, 8)
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers, "decoder_layer")
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """Keeps the shape of ``tgt``."""
        x = _check.tensor("tgt", tgt)
        recomputed, masks = asked(), (tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        for layer in self.layers:
            x = checkpoint(lambda x, memory, layer=layer: layer(x, memory, *masks), x, memory) if recomputed else layer(x, memory, *masks)
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder, and a decoder that reads it (Vaswani et al., 2017).

    >>> import unigrad as ug
    >>> model = ug.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    >>> model(ug.rand(2, 5, 8), ug.rand(2, 3, 8)).shape
    (2, 3, 8)
    """

    @named
    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype)
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*settings)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, _norm(d_model, layer_norm_eps, bias, device, dtype))
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*settings)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, _norm(d_model, layer_norm_eps, bias, device, dtype))
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """``[sz, sz]``: minus infinity where a position does not see a later one, else 0."""
        sz = _check.size("sz", sz)
        return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        """The decoder's output, of the shape of ``tgt``."""
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
