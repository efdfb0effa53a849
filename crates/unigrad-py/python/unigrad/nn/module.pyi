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
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer

class _IncompatibleKeys(builtins.tuple[Any, ...]):
    """IncompatibleKeys(missing_keys, unexpected_keys)"""
    def __repr__(self) -> builtins.str:
        """Return a nicely formatted representation string"""
        ...
    missing_keys: Any
    unexpected_keys: Any
class RemovableHandle:
    """Takes a hook away again: ``handle.remove()``, or at the end of a ``with``."""
    id: Any
    def __init__(self, hooks: Any) -> None: ...
    def remove(self) -> Any:
        """Takes the hook away."""
        ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *raised: Any) -> None: ...
class watching:
    """One forward pass of a module with hooks on its gradients."""
    module: _Module
    inputs: Any
    n_inputs: Any
    arrived: Any
    def __init__(self, module: _Module) -> None: ...
    def arrive(self, args: Any) -> Any:
        """The inputs, watched."""
        ...
    def leave(self, result: Any) -> Any:
        """The results, watched: a tensor, or several in a tuple or list."""
        ...
    def gradients_arrived(self, gradients: Any) -> Any:
        """Those of the results, or others by a hook."""
        ...
    def gradients_left(self, gradients: Any) -> Any:
        """Those of the inputs, or others by a hook."""
        ...
class Module:
    """What layers and models are: a class with parameters, and a ``forward``.

    >>> import unigrad as ug
    >>> class Net(ug.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = ug.nn.Linear(4, 8)
    ...         self.out = ug.nn.Linear(8, 2, bias=False)
    ...     def forward(self, x):
    ...         return self.out(self.hidden(x).relu())
    >>> net = Net()
    >>> net(ug.zeros(3, 4)).shape
    (3, 2)
    >>> [name for name, _ in net.named_parameters()]
    ['hidden.weight', 'hidden.bias', 'out.weight']"""
    def __init__(self) -> None: ...
    def __getattr__(self, name: builtins.str) -> Any: ...
    def __setattr__(self, name: builtins.str, value: builtins.float) -> None: ...
    def __delattr__(self, name: builtins.str) -> None: ...
    def __dir__(self) -> Iterable[builtins.str]: ...
    def register_parameter(self, name: builtins.str, param: Tensor) -> None:
        """Adds a parameter by name; ``None`` is a parameter that is not there."""
        ...
    def register_buffer(self, name: builtins.str, tensor: Tensor, persistent: builtins.bool=True) -> None:
        """Adds a tensor that is moved and saved with the module, and not trained; one that is not ``persistent`` is not saved."""
        ...
    def register_module(self, name: builtins.str, module: _Module) -> None:
        """Adds a module by name; ``None`` is one that is not there."""
        ...
    def add_module(self, name: builtins.str, module: _Module) -> None:
        """Adds a module by name; ``None`` is one that is not there."""
        ...
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes: a class of one's own has this method."""
        ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: builtins.bool=False, with_kwargs: builtins.bool=False, always_call: builtins.bool=False) -> Any:
        """Calls ``hook(module, args, output)`` after each forward pass; what it returns, if not ``None``, is the output."""
        ...
    def register_forward_pre_hook(self, hook: Callable[..., Any], *, prepend: builtins.bool=False, with_kwargs: builtins.bool=False) -> Any:
        """Calls ``hook(module, args)`` before each forward pass; what it returns, if not ``None``, are the arguments."""
        ...
    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are there: tuples, with ``None`` for an input that has
        none. What it returns, if not ``None``, are other gradients of the inputs."""
        ...
    def register_backward_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are there: tuples, with ``None`` for an input that has
        none. What it returns, if not ``None``, are other gradients of the inputs."""
        ...
    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: builtins.bool=False) -> Any:
        """Calls ``hook(module, grad_output)`` before gradients go back through the module; what it returns, if not ``None``, are other gradients."""
        ...
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(module, prefix, keep_vars)`` before each ``state_dict``."""
        ...
    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after each ``state_dict``, to change it."""
        ...
    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`` before each ``load_state_dict``, to
        change the state."""
        ...
    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> Any:
        """Calls ``hook(module, incompatible_keys)`` in each ``load_state_dict``: what it takes out of ``missing_keys`` and ``unexpected_keys`` is no error."""
        ...
    def children(self) -> Iterator[_Module]:
        """The modules in it, not those in them."""
        ...
    def named_children(self) -> Iterator[builtins.tuple[builtins.str, _Module]]:
        """The modules in it, not those in them, with names."""
        ...
    def modules(self) -> Iterator[_Module]:
        """The module and all modules in it."""
        ...
    def named_modules(self, memo: Any=None, prefix: builtins.str='', remove_duplicate: builtins.bool=True) -> Iterator[builtins.tuple[builtins.str, _Module]]:
        """The module and all modules in it, with paths."""
        ...
    def named_parameters(self, prefix: builtins.str='', recurse: builtins.bool=True, remove_duplicate: builtins.bool=True) -> Iterator[builtins.tuple[builtins.str, _Parameter]]:
        """What is trained, with paths; one that stands in several places by its first."""
        ...
    def parameters(self, recurse: builtins.bool=True) -> Iterator[_Parameter]:
        """What is trained."""
        ...
    def named_buffers(self, prefix: builtins.str='', recurse: builtins.bool=True, remove_duplicate: builtins.bool=True) -> Iterator[builtins.tuple[builtins.str, Tensor]]:
        """What is kept and not trained, with paths."""
        ...
    def buffers(self, recurse: builtins.bool=True) -> Iterator[Tensor]:
        """What is kept and not trained."""
        ...
    def get_submodule(self, target: Tensor) -> Any:
        """The module at a path, such as ``"layers.0"``."""
        ...
    def get_parameter(self, target: Tensor) -> Any:
        """The parameter at a path, such as ``"layers.0.weight"``."""
        ...
    def get_buffer(self, target: Tensor) -> Any:
        """The buffer at a path."""
        ...
    def set_submodule(self, target: Tensor, module: _Module, strict: builtins.bool=False) -> Any:
        """Puts another module at a path, such as ``"layers.0"``; with ``strict`` only where one is."""
        ...
    def to_empty(self, *, device: Device | builtins.str, recurse: builtins.bool=True) -> Any:
        """To a device; values are any. Returns the module."""
        ...
    def share_memory(self) -> Any:
        """Nothing: threads of one process share all memory. Returns the module."""
        ...
    def compile(self, *args: Any, **kwargs: Any) -> Any:
        """Nothing: what a module computes is compiled anyway."""
        ...
    def type(self, dst_type: Any) -> Any:
        """Floats become of another dtype. Returns the module."""
        ...
    def apply(self, fn: Callable[..., Any]) -> Self:
        """Calls ``fn`` with each module in it, and then with the module. Returns the module."""
        ...
    def train(self, mode: builtins.bool=True) -> Self:
        """Layers behave as in training: dropout drops, batch norm learns. Returns the module."""
        ...
    def eval(self) -> Self:
        """Layers behave as in use. Returns the module."""
        ...
    def requires_grad_(self, requires_grad: builtins.bool=True) -> Self:
        """Whether gradients arrive at the parameters; optimizers skip those where none does. Returns the module."""
        ...
    def zero_grad(self, set_to_none: builtins.bool=True) -> None:
        """Forgets the gradients of all parameters."""
        ...
    def to(self, *args: Any, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, non_blocking: builtins.bool=False) -> Self:
        """Moves parameters, their gradients and buffers to a device, and casts floats: ``to("cuda")``, ``to(unigrad.float64)``. In place; returns the
        module."""
        ...
    def cpu(self) -> Self:
        """To the CPU. Returns the module."""
        ...
    def cuda(self, device: Device | builtins.str | None=None) -> Self:
        """To a CUDA device. Returns the module."""
        ...
    def float(self) -> Self:
        """Floats become ``float32``. Returns the module."""
        ...
    def double(self) -> Self:
        """Floats become ``float64``. Returns the module."""
        ...
    def half(self) -> Self:
        """Floats become ``float16``. Returns the module."""
        ...
    def bfloat16(self) -> Self:
        """Floats become ``bfloat16``. Returns the module."""
        ...
    def realize(self) -> Self:
        """Computes initial values that are still waiting to be computed, all at once. Returns the module."""
        ...
    def state_dict(self, *, destination: Any=None, prefix: builtins.str='', keep_vars: builtins.bool=False) -> builtins.dict[builtins.str, Any]:
        """Parameters and persistent buffers by path. The tensors are detached, unless ``keep_vars``."""
        ...
    def get_extra_state(self) -> Any:
        """What ``state_dict`` keeps beside tensors; a class of one's own may return something."""
        ...
    def set_extra_state(self, state: Any) -> Any:
        """Takes what ``get_extra_state`` gave; a class that has the one has the other."""
        ...
    def load_state_dict(self, state_dict: Mapping[builtins.str, Any], strict: builtins.bool=True, assign: builtins.bool=False) -> Any:
        """Gives parameters and buffers the values of a ``state_dict``, by path: tensors, NumPy arrays, or PyTorch's tensors.

        With ``strict`` an error if a name is missing or unexpected; always if a shape is another one. Nothing changes unless everything fits. Returns the
        missing and the unexpected names. With ``assign=True`` dtypes and devices of the given tensors are taken over."""
        ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
    def __repr__(self) -> builtins.str: ...
_Module = Module
