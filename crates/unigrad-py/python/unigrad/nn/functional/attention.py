"""Attention."""

from ... import _check
from ..._check import tensor as _tensor
from ..._errors import ArgumentError

__all__ = ["scaled_dot_product_attention"]


def _of_one_batch(query, key, value):
    """The three with axes in front of heads that are the same; those that broadcast are expanded. Heads may be shared, and stay."""
    if query.ndim == key.ndim == value.ndim == 4 and query.shape[0] == key.shape[0] == value.shape[0]:
        return query, key, value
    rank = max(query.ndim, key.ndim, value.ndim)
    if rank <= 3 or (query.ndim == key.ndim == value.ndim and query.shape[:-3] == key.shape[:-3] == value.shape[:-3]):
        return query, key, value
    three = [x.reshape([1] * (rank - x.ndim) + list(x.shape)) for x in (query, key, value)]
    lead = [max(sizes) if min(sizes) > 0 else 0 for sizes in zip(*(x.shape[:-3] for x in three))]
    return tuple(x.expand([*lead, *x.shape[-3:]]) for x in three)


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """``softmax(query @ key.T * scale) @ value`` of ``[.., heads, length, features]``, fused. In a mask of truth values, true is seen.

    Fewer heads of keys than of queries are shared (grouped queries) where their number divides.

    >>> import unigrad as ug
    >>> q = ug.rand(1, 2, 5, 4)
    >>> ug.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (1, 2, 5, 4)
    """
    query, mask, bias = _tensor("query", query), None, None
    if attn_mask is not None:
        if _tensor("attn_mask", attn_mask).dtype.name == "bool":
            mask = attn_mask
        else:
            bias = attn_mask
    if type(dropout_p) is not float or dropout_p:
        dropout_p = _check.probability("dropout_p", dropout_p)
    key, value = _tensor("key", key), _tensor("value", value)
    if query.ndim >= 2 and min(key.ndim, value.ndim) >= 2:
        query, key, value = _of_one_batch(query, key, value)
    if query.ndim == 4:
        return query.attention(key, value, causal=is_causal, mask=mask, bias=bias, scale=scale, dropout=dropout_p)
    if query.ndim < 2:
        raise ArgumentError(f"argument 'query' has {query.ndim} axes\n help: give `[.., length, features]`")

    def wide(x):
        shape = x.shape
        return x.reshape([-1, *shape[-3:]]) if len(shape) > 3 else x.reshape([1] * (4 - len(shape)) + list(shape))

    def of_mask(x):
        return (
            None
            if x is None
            else x.expand([*query.shape[:-1], key.shape[-2]]).reshape(
                [-1, *([1] * max(0, 3 - query.ndim)), *query.shape[-3:-1], key.shape[-2]]
            )
        )

    out = wide(query).attention(
        wide(key), wide(value), causal=is_causal, mask=of_mask(mask), bias=of_mask(bias), scale=scale, dropout=dropout_p
    )
    return out.reshape([*query.shape[:-3], *query.shape[-3:-1], value.shape[-1]])
