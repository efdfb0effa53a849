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

def batch_norm(input: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor | None=None, bias: Any=None, training: builtins.bool=False, momentum: builtins.float=0.1, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized per channel: by the batch's statistics, which move the running ones, or by the running ones.

    >>> import unigrad as ug
    >>> ug.nn.functional.batch_norm(ug.rand(4, 3), ug.zeros(3), ug.ones(3)).shape
    (4, 3)"""
    ...
def instance_norm(input: Tensor, running_mean: Tensor | None=None, running_var: Tensor | None=None, weight: Tensor | None=None, bias: Any=None, use_input_stats: builtins.bool=True, momentum: builtins.float=0.1, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.functional.instance_norm(ug.rand(2, 3, 4)).shape
    (2, 3, 4)"""
    ...
def layer_norm(input: Tensor, normalized_shape: builtins.int | Sequence[builtins.int], weight: Tensor | None=None, bias: Any=None, eps: builtins.float=1e-05) -> Tensor:
    """Normalized over the last axes, of these sizes.

    >>> import unigrad as ug
    >>> ug.nn.functional.layer_norm(ug.rand(2, 4), (4,)).shape
    (2, 4)"""
    ...
def rms_norm(input: Tensor, normalized_shape: builtins.int | Sequence[builtins.int], weight: Tensor | None=None, eps: builtins.float | None=None) -> Tensor:
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes, of these sizes.

    >>> import unigrad as ug
    >>> ug.nn.functional.rms_norm(ug.rand(2, 4), (4,)).shape
    (2, 4)"""
    ...
def group_norm(input: Tensor, num_groups: builtins.int, weight: Tensor | None=None, bias: Any=None, eps: builtins.float=1e-05) -> Tensor:
    """``[n, c, ..]`` normalized within groups of channels.

    >>> import unigrad as ug
    >>> ug.nn.functional.group_norm(ug.rand(1, 4, 3), 2).shape
    (1, 4, 3)"""
    ...
def local_response_norm(input: Tensor, size: builtins.int | Sequence[builtins.int], alpha: builtins.float=0.0001, beta: builtins.float=0.75, k: builtins.float=1.0) -> Tensor:
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels.

    >>> import unigrad as ug
    >>> ug.nn.functional.local_response_norm(ug.ones(1, 4, 2, 2), 3).shape
    (1, 4, 2, 2)"""
    ...
def normalize(input: Tensor, p: builtins.float=2.0, dim: builtins.int=1, eps: builtins.float=1e-12, out: Tensor | None=None) -> Tensor:
    """Divided by the norm along an axis, or along several; written to ``out`` if that is given.

    >>> import unigrad as ug
    >>> ug.nn.functional.normalize(ug.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])"""
    ...
