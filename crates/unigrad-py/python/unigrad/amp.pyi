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
from unigrad import Fp8Recipe as Fp8Recipe

class autocast:
    """Inside, products are computed in ``dtype``, what loses digits or range in halves in ``float32``, the rest as it is; a context or a decorator.

    >>> import unigrad as ug
    >>> with ug.autocast():
    ...     print((ug.ones(1, 1) @ ug.ones(1, 1)).dtype)
    unigrad.bfloat16

    With ``fp8``, a recipe or True for the default one, matrix products are computed in 8-bit floats, and the rest in the recipe's half type. Of a recipe with
    histories a scope is to hold a whole forward pass.

    >>> with ug.autocast(fp8=True):
    ...     print((ug.tensor([[0.55]]) @ ug.ones(1, 1)).tolist())
    [[0.5625]]"""
    fp8: Any
    dtype: Any
    enabled: builtins.bool
    def __init__(self, device_type: Any=None, dtype: DType | builtins.str | builtins.type | None=None, enabled: builtins.bool=True, cache_enabled: Any=None, fp8: Any=None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *raised: Any) -> None: ...
    def __call__(self, function: Callable[..., Any]) -> Any: ...
class GradScaler:
    """A loss scale for ``float16``, which adapts: ``scaler.scale(loss).backward()``, ``scaler.step(optimizer)``, ``scaler.update()``.

    A step whose gradients overflow changes nothing but the scale; all of it is one evaluation.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(1))
    >>> optimizer, scaler = ug.optim.SGD([w], lr=0.5), ug.amp.GradScaler(device="cpu")
    >>> scaler.scale((w * w).sum()).backward()
    >>> scaler.step(optimizer)
    >>> w.item(), scaler.get_scale()
    (0.0, 65536.0)"""
    def __init__(self, device: Device | builtins.str | None=None, init_scale: builtins.float=65536.0, growth_factor: builtins.float=2.0, backoff_factor: builtins.float=0.5, growth_interval: builtins.int=2000, enabled: builtins.bool=True) -> None: ...
    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the scale: what ``backward`` is called on."""
        ...
    def unscale_(self, optimizer: _Optimizer) -> Any:
        """Divides the gradients by the scale: to clip them, say, before ``step``."""
        ...
    def step(self, optimizer: _Optimizer) -> Any:
        """A step with the gradients divided by the scale; none if one of them is not finite. Adapts the scale."""
        ...
    def update(self, new_scale: builtins.float | Tensor | None=None) -> Any:
        """Nothing: ``step`` adapts the scale, on the device."""
        ...
    def get_scale(self) -> builtins.float:
        """The scale; waits for the device."""
        ...
    def is_enabled(self) -> Any:
        """Whether it scales."""
        ...
    def state_dict(self) -> Any:
        """Scale and count."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> Any:
        """Continues from a ``state_dict``."""
        ...
