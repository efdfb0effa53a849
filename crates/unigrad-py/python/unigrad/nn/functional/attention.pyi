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

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None=None, dropout_p: builtins.float=0.0, is_causal: builtins.bool=False, scale: builtins.float | None=None, enable_gqa: builtins.bool=False) -> Tensor:
    """``softmax(query @ key.T * scale) @ value`` of ``[.., heads, length, features]``, fused. In a mask of truth values, true is seen.

    Fewer heads of keys than of queries are shared (grouped queries) where their number divides.

    >>> import unigrad as ug
    >>> q = ug.rand(1, 2, 5, 4)
    >>> ug.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape
    (1, 2, 5, 4)"""
    ...
