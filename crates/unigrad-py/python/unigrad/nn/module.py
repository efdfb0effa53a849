"""``Module``: what layers and models are.

Always: parameters, buffers and modules that are set as attributes have paths, as in PyTorch's ``state_dict``. Whatever changes a parameter, its device or
its dtype changes it in place, so that optimizers and other modules that hold it have the changed one.
"""

import weakref
from collections import OrderedDict, namedtuple

from .. import _check
from .._errors import ArgumentError, StateDictError
from .._unigrad import Device, DType, Tensor, _nn
from ..autograd import Function
from ._named import KINDS, Named
from .parameter import Buffer, Parameter, set_value

__all__ = ["Module"]

# As PyTorch's.
_IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class _Keys(_IncompatibleKeys):
    def __repr__(self):
        return "<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys else super().__repr__()


def _called(hooks):
    """The hooks to call now. A copy, which also other threads' hooks that come meanwhile leave alone: without a lock of the interpreter a list of an
    ``OrderedDict`` may meet them half way."""
    return hooks.copy().values()


class RemovableHandle:
    """Takes a hook away again: ``handle.remove()``, or at the end of a ``with``."""

    def __init__(self, hooks):
        self._hooks, self.id = hooks, object()

    def remove(self):
        """Takes the hook away."""
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self.remove()


class _Leaving(Function):
    """The results of a watched module: gradients arrive here first."""

    @staticmethod
    def forward(ctx, watched, *tensors):
        ctx.watched = watched
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return None, *ctx.watched.gradients_arrived(gradients)


class _Arriving(Function):
    """The inputs of a watched module: gradients arrive here last."""

    @staticmethod
    def forward(ctx, watched, *tensors):
        ctx.watched = watched
        return tensors

    @staticmethod
    def backward(ctx, *gradients):
        return None, *ctx.watched.gradients_left(gradients)


class watching:  # noqa: N801
    """One forward pass of a module with hooks on its gradients."""

    def __init__(self, module):
        self.module, self.inputs, self.n_inputs, self.arrived = module, [], 0, ()

    def _through(self, function, values):
        at = [at for at, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad]
        if not at:
            return tuple(values), at
        made = function.apply(self, *(values[one] for one in at))
        values = list(values)
        for one, value in zip(at, made if isinstance(made, tuple) else (made,)):
            values[one] = value
        return tuple(values), at

    def arrive(self, args):
        """The inputs, watched."""
        self.n_inputs = sum(isinstance(value, Tensor) for value in args)
        places = [at for at, value in enumerate(args) if isinstance(value, Tensor)]
        args, at = self._through(_Arriving, args)
        self.inputs = [places.index(one) for one in at]
        return args

    def leave(self, result):
        """The results, watched: a tensor, or several in a tuple or list."""
        if isinstance(result, Tensor):
            return self._through(_Leaving, (result,))[0][0]
        if isinstance(result, (tuple, list)) and not hasattr(result, "_fields"):
            return type(result)(self._through(_Leaving, result)[0])
        return result

    def gradients_arrived(self, gradients):
        """Those of the results, or others by a hook."""
        for hook in self.module._hooks("backward_pre"):
            given = hook(self.module, gradients)
            gradients = gradients if given is None else given if isinstance(given, tuple) else (given,)
        self.arrived = gradients
        if not self.inputs:
            # No gradient will leave it.
            for hook in self.module._hooks("backward"):
                hook(self.module, (None,) * self.n_inputs, gradients)
        return gradients

    def gradients_left(self, gradients):
        """Those of the inputs, or others by a hook."""
        for hook in self.module._hooks("backward"):
            shown = [None] * self.n_inputs
            for at, gradient in zip(self.inputs, gradients):
                shown[at] = gradient
            given = hook(self.module, tuple(shown), self.arrived)
            if given is not None:
                given = given if isinstance(given, tuple) else (given,)
                gradients = tuple(given[at] for at in self.inputs)
        return gradients


def _unfit(name):
    if not isinstance(name, str):
        raise TypeError(f"argument 'name': a string is wanted, not {_check._kind(name)}")
    if name == "" or "." in name:
        raise ArgumentError(f"argument 'name' is {name!r}\n help: use a name without dots")


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
    ['hidden.weight', 'hidden.bias', 'out.weight']
    """

    # PyTorch's number of a module's format in files, for classes that say it.
    _version = 1
    # Hooks of rarer kinds, by kind; most modules have none.
    _more_hooks = None

    def __init__(self):
        state = self.__dict__
        state["training"] = True
        own = weakref.ref(self)
        for kind in KINDS:
            state[kind] = Named(own)
        state["_non_persistent"] = set()
        state["_forward_hooks"], state["_forward_pre_hooks"] = OrderedDict(), OrderedDict()

    # Attributes: parameters, buffers and modules stand in the module's own dict as well (`Named`). There is no `__getattr__`, which would take from Python
    # its short ways to all attributes and methods.

    def _own(self):
        try:
            own = self.__dict__["_parameters"], self.__dict__["_buffers"], self.__dict__["_modules"]
            if type(own[0]) is not Named or own[0].module() is not self:
                # A state that was taken over as it is.
                Module.__setstate__(self, dict(self.__dict__))
                return self._own()
            return own
        except KeyError:
            message = f"a {type(self).__name__} that is not initialized\n help: call `super().__init__()` before attributes are set"
            raise AttributeError(message) from None

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._forget(name)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            parameters, buffers, modules = self._own()
            self.__dict__.pop(name, None)
            parameters.pop(name, None)
            buffers.pop(name, None)
            modules[name] = value
        elif isinstance(value, Buffer):
            self._forget(name)
            self.register_buffer(name, value, persistent=value.persistent)
        else:
            if "_parameters" in self.__dict__:
                parameters, buffers, modules = self._own()
                if name in parameters:
                    if value is not None:
                        wanted = "a parameter, or None"
                        raise TypeError(f"argument '{name}': {wanted} is wanted for a parameter of a module, not {_check._kind(value)}")
                    parameters[name] = None
                    return
                if name in modules:
                    if value is not None:
                        raise TypeError(
                            f"argument '{name}': a module, or None, is wanted for a part of a module, not {_check._kind(value)}"
                        )
                    modules[name] = None
                    return
                if name in buffers:
                    if value is not None and not isinstance(value, Tensor):
                        raise TypeError(f"argument '{name}': a tensor, or None, is wanted for a buffer, not {_check._kind(value)}")
                    buffers[name] = value
                    return
            object.__setattr__(self, name, value)

    def _forget(self, name):
        _, buffers, modules = self._own()
        self.__dict__.pop(name, None)
        buffers.pop(name, None)
        modules.pop(name, None)
        self.__dict__["_non_persistent"].discard(name)

    def __delattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(kind, ()):
                del self.__dict__[kind][name]
                self.__dict__["_non_persistent"].discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        own = [name for kind in ("_parameters", "_buffers", "_modules") for name in self.__dict__.get(kind, ())]
        return sorted(set(super().__dir__()) | set(own))

    def register_parameter(self, name, param):
        """Adds a parameter by name; ``None`` is a parameter that is not there."""
        _unfit(name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"argument 'param': a Parameter, or None, is wanted, not {_check._kind(param)}")
        parameters, _, _ = self._own()
        if name not in parameters and hasattr(self, name):
            raise ArgumentError(f"argument 'name': there is an attribute {name!r} already\n help: use another name")
        parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a tensor that is moved and saved with the module, and not trained; one that is not ``persistent`` is not saved."""
        _unfit(name)
        _check.tensor("tensor", tensor, optional=True)
        _, buffers, _ = self._own()
        if name not in buffers and hasattr(self, name):
            raise ArgumentError(f"argument 'name': there is an attribute {name!r} already\n help: use another name")
        buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def register_module(self, name, module):
        """Adds a module by name; ``None`` is one that is not there."""
        self.add_module(name, module)

    def add_module(self, name, module):
        """Adds a module by name; ``None`` is one that is not there."""
        _unfit(name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"argument 'module': a Module, or None, is wanted, not {_check._kind(module)}")
        _, _, modules = self._own()
        if name not in modules and hasattr(self, name):
            raise ArgumentError(f"argument 'name': there is an attribute {name!r} already\n help: use another name")
        modules[name] = module

    # Calls.

    def forward(self, *args, **kwargs):
        """What the module computes: a class of one's own has this method."""
        raise NotImplementedError(f"{type(self).__name__} has no `forward`\n help: write the method, or call its parts")

    def __call__(self, *args, **kwargs):
        if not self._forward_hooks and not self._forward_pre_hooks and self._more_hooks is None:
            return self.forward(*args, **kwargs)
        for hook, with_kwargs in _called(self._forward_pre_hooks):
            given = hook(self, args, kwargs) if with_kwargs else hook(self, args)
            if given is not None and with_kwargs:
                args, kwargs = given
            elif given is not None:
                args = given if isinstance(given, tuple) else (given,)
        watched = watching(self) if self._hooks("backward") or self._hooks("backward_pre") else None
        if watched is not None:
            args = watched.arrive(args)
        result = self.forward(*args, **kwargs)
        for hook, with_kwargs in _called(self._forward_hooks):
            given = hook(self, args, kwargs, result) if with_kwargs else hook(self, args, result)
            result = result if given is None else given
        return result if watched is None else watched.leave(result)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Calls ``hook(module, args, output)`` after each forward pass; what it returns, if not ``None``, is the output."""
        return self._hook(self._forward_hooks, hook, prepend, with_kwargs)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls ``hook(module, args)`` before each forward pass; what it returns, if not ``None``, are the arguments."""
        return self._hook(self._forward_pre_hooks, hook, prepend, with_kwargs)

    def _hooks(self, kind):
        """Those of a rarer kind, in order."""
        return () if self._more_hooks is None else [hook for hook, _ in _called(self._more_hooks.get(kind, {}))]

    def _rare_hook(self, kind, hook, prepend=False):
        # Of two threads both have the same one.
        more = self.__dict__.setdefault("_more_hooks", {})
        return self._hook(more.setdefault(kind, OrderedDict()), hook, prepend, False)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_input, grad_output)`` when the gradients of the module's inputs are there: tuples, with ``None`` for an input that has
        none. What it returns, if not ``None``, are other gradients of the inputs."""
        return self._rare_hook("backward", hook, prepend)

    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls ``hook(module, grad_output)`` before gradients go back through the module; what it returns, if not ``None``, are other gradients."""
        return self._rare_hook("backward_pre", hook, prepend)

    def register_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, prefix, keep_vars)`` before each ``state_dict``."""
        return self._rare_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after each ``state_dict``, to change it."""
        return self._rare_hook("state_dict_post", hook)

    def _register_state_dict_hook(self, hook):
        return self._rare_hook("state_dict_post", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)`` before each ``load_state_dict``, to
        change the state."""
        return self._rare_hook("load_pre", hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        _check.call("hook", hook)
        return self._rare_hook("load_pre", hook if with_module else lambda module, *rest: hook(*rest))

    def register_load_state_dict_post_hook(self, hook):
        """Calls ``hook(module, incompatible_keys)`` in each ``load_state_dict``: what it takes out of ``missing_keys`` and ``unexpected_keys`` is no error."""
        return self._rare_hook("load_post", hook)

    def _hook(self, hooks, hook, prepend, with_kwargs):
        _check.call("hook", hook)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = (hook, with_kwargs)
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    # What is in it.

    def children(self):
        """The modules in it, not those in them."""
        return (module for _, module in self.named_children())

    def named_children(self):
        """The modules in it, not those in them, with names."""
        seen = set()
        for name, module in list(self._modules.items()):
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def modules(self):
        """The module and all modules in it."""
        return (module for _, module in self.named_modules())

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """The module and all modules in it, with paths."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in list(self._modules.items()):
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def _named(self, kind, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, tensor in list(getattr(module, kind).items()):
                if tensor is None or id(tensor) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """What is trained, with paths; one that stands in several places by its first."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """What is trained."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """What is kept and not trained, with paths."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """What is kept and not trained."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module at a path, such as ``"layers.0"``."""
        module = self
        for name in target.split(".") if target else []:
            part = module._modules.get(name)
            if part is None:
                raise AttributeError(f"a {type(module).__name__} has no module {name!r} (of {target!r})")
            module = part
        return module

    def get_parameter(self, target):
        """The parameter at a path, such as ``"layers.0.weight"``."""
        return self._tensor_at("parameter", target)

    def get_buffer(self, target):
        """The buffer at a path."""
        return self._tensor_at("buffer", target)

    def _tensor_at(self, kind, target):
        path, _, name = target.rpartition(".")
        tensor = getattr(self.get_submodule(path), f"_{kind}s").get(name)
        if tensor is None:
            raise AttributeError(f"there is no {kind} {target!r}")
        return tensor

    def set_submodule(self, target, module, strict=False):
        """Puts another module at a path, such as ``"layers.0"``; with ``strict`` only where one is."""
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict:
            parent.get_submodule(name)
        if not isinstance(module, Module):
            raise TypeError(f"argument 'module': a Module is wanted, not {_check._kind(module)}")
        parent._modules[name] = module

    # What is done to all of it.

    def _apply(self, fn, recurse=True):
        # What programs with tensors of their own override: those of each module become what `fn` makes of them.
        for module in self.children() if recurse else ():
            module._apply(fn)
        for tensor in (*self._parameters.values(), *self._buffers.values()):
            if tensor is not None:
                tensor.data = fn(tensor.data)
        return self

    def to_empty(self, *, device, recurse=True):
        """To a device; values are any. Returns the module."""
        return self.to(device=device)

    def share_memory(self):
        """Nothing: threads of one process share all memory. Returns the module."""
        return self

    def compile(self, *args, **kwargs):
        """Nothing: what a module computes is compiled anyway."""

    def type(self, dst_type):
        """Floats become of another dtype. Returns the module."""
        return self.to(dtype=dst_type)

    def apply(self, fn):
        """Calls ``fn`` with each module in it, and then with the module. Returns the module."""
        _check.call("fn", fn)
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode=True):
        """Layers behave as in training: dropout drops, batch norm learns. Returns the module."""
        mode = _check.flag("mode", mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Layers behave as in use. Returns the module."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether gradients arrive at the parameters; optimizers skip those where none does. Returns the module."""
        requires_grad = _check.flag("requires_grad", requires_grad)
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forgets the gradients of all parameters."""
        _nn.forget_gradients(list(self.parameters()))

    def to(self, *args, device=None, dtype=None, non_blocking=False):
        """Moves parameters, their gradients and buffers to a device, and casts floats: ``to("cuda")``, ``to(unigrad.float64)``. In place; returns the
        module.
        """
        for given in args:
            if isinstance(given, Tensor):
                device, dtype = given.device, given.dtype
            elif isinstance(given, DType):
                dtype = given
            elif isinstance(given, Device):
                device = given
            elif isinstance(given, str):
                try:
                    dtype = DType(given)
                except (TypeError, ValueError):
                    device = given
            elif isinstance(given, bool):
                pass
            elif given is not None:
                raise TypeError(f"argument 'device' or 'dtype': a device or a dtype is wanted, not {_check._kind(given)}")
        _nn.move_tensors([*self.parameters(), *self.buffers()], device, dtype)
        return self

    def cpu(self):
        """To the CPU. Returns the module."""
        return self.to(device="cpu")

    def cuda(self, device=None):
        """To a CUDA device. Returns the module."""
        name = "cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device
        return self.to(device=name)

    def float(self):
        """Floats become ``float32``. Returns the module."""
        return self.to(dtype="float32")

    def double(self):
        """Floats become ``float64``. Returns the module."""
        return self.to(dtype="float64")

    def half(self):
        """Floats become ``float16``. Returns the module."""
        return self.to(dtype="float16")

    def bfloat16(self):
        """Floats become ``bfloat16``. Returns the module."""
        return self.to(dtype="bfloat16")

    def realize(self):
        """Computes initial values that are still waiting to be computed, all at once. Returns the module."""
        _nn.realize([*self.parameters(), *self.buffers()])
        return self

    # Files.

    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by path. The tensors are detached, unless ``keep_vars``."""
        destination = OrderedDict() if destination is None else destination
        for hook in self._hooks("state_dict_pre"):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in list(self._modules.items()):
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in self._hooks("state_dict_post"):
            given = hook(self, destination, prefix, {})
            destination = destination if given is None else given
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        # What is this module's own: a class that saves more, or under other names, overrides it, as in PyTorch.
        for kind in (self._parameters, self._buffers):
            for name, tensor in list(kind.items()):
                if tensor is not None and name not in self._non_persistent:
                    destination[prefix + name] = tensor if keep_vars else tensor.detach()
        extra = self.get_extra_state()
        if extra is not None:
            destination[prefix + "_extra_state"] = extra

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        # What is this module's own is loaded with all the rest, once everything fits. A class that overrides it changes the state before.
        pass

    def get_extra_state(self):
        """What ``state_dict`` keeps beside tensors; a class of one's own may return something."""
        return None

    def set_extra_state(self, state):
        """Takes what ``get_extra_state`` gave; a class that has the one has the other."""
        raise NotImplementedError(f"{type(self).__name__} has no `set_extra_state`")

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Gives parameters and buffers the values of a ``state_dict``, by path: tensors, NumPy arrays, or PyTorch's tensors.

        With ``strict`` an error if a name is missing or unexpected; always if a shape is another one. Nothing changes unless everything fits. Returns the
        missing and the unexpected names. With ``assign=True`` dtypes and devices of the given tensors are taken over.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"argument 'state_dict': names and tensors are wanted, not {_check._kind(state_dict)}")
        state_dict = OrderedDict(state_dict.items())
        own, extras, wrong, without, beyond = {}, {}, [], [], []
        for path, module in self.named_modules(remove_duplicate=False):
            path = f"{path}." if path else ""
            around = (state_dict, path, {}, strict, without, beyond, wrong)
            for hook in module._hooks("load_pre"):
                hook(module, *around)
            if type(module)._load_from_state_dict is not Module._load_from_state_dict:
                module._load_from_state_dict(*around)
            for kind in (module._parameters, module._buffers):
                for name, tensor in list(kind.items()):
                    if tensor is not None and name not in module._non_persistent:
                        own[path + name] = tensor
            if type(module).get_extra_state is not Module.get_extra_state:
                extras[path + "_extra_state"] = module
        missing = [*without, *(name for name in [*own, *extras] if name not in state_dict and name not in without)]
        unexpected = [*beyond, *(name for name in state_dict if name not in own and name not in extras and name not in beyond)]
        keys = _Keys(missing, unexpected)
        for module in self.modules():
            for hook in module._hooks("load_post"):
                hook(module, keys)
        values = {}
        for name, tensor in own.items():
            if name not in state_dict:
                continue
            value = state_dict[name]
            if not isinstance(value, Tensor):
                try:
                    value = _tensor_of(value)
                except (TypeError, ValueError) as error:
                    wrong.append(f"{name}: {error}")
                    continue
            if value.shape != tensor.shape:
                wrong.append(f"{name}: the checkpoint has {list(value.shape)}, the module {list(tensor.shape)}")
            values[name] = value
        if strict and (missing or unexpected):
            wrong = [
                *(f"{name}: missing in the checkpoint" for name in missing),
                *(f"{name}: the module has no such name" for name in unexpected),
                *wrong,
            ]
        if wrong:
            shown = "\n  ".join(wrong[:20]) + (f"\n  and {len(wrong) - 20} more" if len(wrong) > 20 else "")
            help = "pass `strict=False` to load what fits by name; shapes must fit always"
            raise StateDictError(f"the state does not fit a {type(self).__name__}:\n  {shown}\n help: {help}")
        for name, value in values.items():
            tensor = own[name]
            if assign and (value.dtype != tensor.dtype or value.device != tensor.device):
                if value.dtype.is_floating_point and tensor.dtype.is_floating_point:
                    _nn.move_tensors([tensor], value.device, value.dtype)
            set_value(tensor, value)
        for name, module in extras.items():
            if name in state_dict:
                module.set_extra_state(state_dict[name])
        _nn.realize([own[name] for name in values])
        return keys

    # As Python's objects.

    def extra_repr(self):
        """What ``repr`` shows between the parentheses."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        lines = []
        for name, module in list(self._modules.items()):
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        extra = self.extra_repr()
        if not lines:
            return f"{self._get_name()}({extra})" if "\n" not in extra else f"{self._get_name()}(\n  " + extra.replace("\n", "\n  ") + "\n)"
        inside = (extra.split("\n") if extra else []) + lines
        return f"{self._get_name()}(\n  " + "\n  ".join(inside) + "\n)"

    def __getstate__(self):
        return {name: dict(value) if name in KINDS else value for name, value in self.__dict__.items()}

    def __setstate__(self, state):
        self.__dict__.update(state)
        own = weakref.ref(self)
        for kind in KINDS:
            if kind in state:
                self.__dict__[kind] = Named(own)
                self.__dict__[kind].update(state[kind])


def _tensor_of(value):
    from .. import tensor

    detach = getattr(value, "detach", None)
    if detach is not None:
        value = detach()
        cpu = getattr(value, "cpu", None)
        if cpu is not None:
            value = cpu()
    return tensor(value)
