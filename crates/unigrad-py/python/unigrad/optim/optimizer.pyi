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

class Optimizer:
    """What all optimizers are: ``step()``, ``zero_grad()``, ``param_groups``, ``state_dict()``.

    A class of one's own calls ``super().__init__(params, defaults)``, keeps what it likes in ``self.state[param]``, and has a ``step``, as in PyTorch.

    >>> import unigrad as ug
    >>> isinstance(ug.optim.SGD([ug.nn.Parameter(ug.ones(2))], lr=0.1), ug.optim.Optimizer)
    True"""
    defaults: builtins.dict[builtins.str, Any]
    param_groups: Any
    def __init__(self, params: Iterable[Tensor] | Iterable[builtins.dict[builtins.str, Any]], defaults: builtins.dict[builtins.str, Any]) -> None: ...
    def add_param_group(self, param_group: builtins.dict[builtins.str, Any]) -> None:
        """Adds parameters with settings of their own. State of the others stays; each parameter counts its own steps."""
        ...
    def zero_grad(self, set_to_none: builtins.bool=True) -> None:
        """Forgets the gradients of all parameters; with ``set_to_none=False`` those that there are become zeros."""
        ...
    def step(self, closure: Callable[[], Tensor] | None=None) -> Tensor | None:
        """One step with the gradients that ``backward`` left; computes the loss too, in the same evaluation. With a ``closure`` its loss is returned."""
        ...
    def minimize(self, loss: Tensor) -> None:
        """One step down a loss: gradients are taken here, so no ``backward`` and no ``zero_grad`` is needed, and everything is one evaluation."""
        ...
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(optimizer, args, kwargs)`` before each step; what it returns, if not ``None``, are other arguments."""
        ...
    def register_step_post_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        ...
    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(optimizer)`` before each ``state_dict``."""
        ...
    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(optimizer, state_dict)`` after each ``state_dict``; what it returns, if not ``None``, is the state."""
        ...
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(optimizer, state_dict)`` before each ``load_state_dict``; what it returns, if not ``None``, is loaded."""
        ...
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(optimizer)`` after each ``load_state_dict``."""
        ...
    @property
    def n_steps(self) -> Any:
        """Steps taken so far; a class of one's own counts its own."""
        ...
    @property
    def state_bytes(self) -> Any:
        """Bytes of state."""
        ...
    @property
    def state(self) -> Any:
        """State by parameter: a copy, unless the class has a ``step`` of its own. Set to an empty one, the optimizer begins anew."""
        ...
    @state.setter
    def state(self, value: Any) -> None: ...
    def state_dict(self) -> builtins.dict[builtins.str, Any]:
        """State and settings, in PyTorch's form: ``{"state": {0: {"step": .., ..}}, "param_groups": [..]}``."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any]) -> None:
        """Continues from a ``state_dict``, of this library or of PyTorch. Nothing changes unless it fits."""
        ...
    def __repr__(self) -> builtins.str: ...
_Optimizer = Optimizer
