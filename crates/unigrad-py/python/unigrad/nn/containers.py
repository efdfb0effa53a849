"""Modules of modules, and of parameters."""

import operator

from .. import _check
from .._unigrad import Tensor, _nn
from .module import Module
from .parameter import Parameter

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Residual", "Sequential"]


class _Listed(Module):
    """What a list of modules can, for ``Sequential`` and ``ModuleList``."""

    def _at(self, index):
        n = len(self._modules)
        try:
            at = operator.index(index)
        except TypeError:
            raise TypeError(f"argument 'index': an integer or a slice is wanted, not {_check._kind(index)}") from None
        if not -n <= at < n:
            raise IndexError(f"index {at} of {n} modules")
        return list(self._modules)[at]

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self._of(list(self._modules.values())[index])
        return self._modules[self._at(index)]

    def __setitem__(self, index, module):
        self._modules[self._at(index)] = self._module(module)

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [self._at(index)]
        rest = [module for name, module in self._modules.items() if name not in names]
        self._renumber(rest)

    def _renumber(self, modules):
        self._modules.clear()
        self._modules.update({str(at): module for at, module in enumerate(modules)})

    @staticmethod
    def _module(module, name="module"):
        if not isinstance(module, Module):
            raise TypeError(f"argument '{name}': a Module is wanted, not {_check._kind(module)}")
        return module

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __contains__(self, module):
        return any(own is module for own in self._modules.values())

    def append(self, module):
        """Adds a module at the end. Returns the container."""
        self._modules[str(len(self))] = self._module(module)
        return self

    def insert(self, index, module):
        """Adds a module before the one at ``index``."""
        modules = list(self._modules.values())
        modules.insert(_check.whole("index", index), self._module(module))
        self._renumber(modules)
        return self

    def extend(self, modules):
        """Adds modules at the end. Returns the container."""
        if not hasattr(modules, "__iter__"):
            raise TypeError(f"argument 'modules': modules are wanted, not {_check._kind(modules)}")
        for module in [self._module(module, "modules") for module in modules]:
            self.append(module)
        return self

    def pop(self, index):
        """Takes a module out."""
        module = self[index]
        del self[index]
        return module


class Sequential(_Listed):
    """Modules one after another: ``Sequential(a, b)(x)`` is ``b(a(x))``; or an ``OrderedDict`` of them by name.

    >>> import unigrad as ug
    >>> net = ug.nn.Sequential(ug.nn.Linear(4, 8), ug.nn.ReLU(), ug.nn.Linear(8, 2))
    >>> net(ug.zeros(3, 4)).shape, len(net)
    ((3, 2), 3)
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, self._module(module, "args"))
        else:
            for at, module in enumerate(args):
                self._modules[str(at)] = self._module(module, "args")

    def _of(self, modules):
        return type(self)(*modules)

    def __add__(self, other):
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            return NotImplemented
        # The modules as they are now: it may be the same container.
        for module in list(other):
            self.append(module)
        return self

    def __mul__(self, n):
        return Sequential(*(list(self) * _check.positive("n", n)))

    __rmul__ = __mul__

    def __imul__(self, n):
        own = list(self)
        for module in own * (_check.positive("n", n) - 1):
            self.append(module)
        return self

    def forward(self, input):
        """The last module's output. Shapes: those of the modules."""
        if _nn.is_checkpointing():
            from .utils.recompute import asked, in_blocks

            if asked() and len(self):
                return in_blocks(list(self), input)
        for module in list(self._modules.values()):
            input = module(input)
        return input


class ModuleList(_Listed):
    """Modules in a list, which a ``forward`` goes through as it likes.

    >>> import unigrad as ug
    >>> layers = ug.nn.ModuleList(ug.nn.Linear(4, 4) for _ in range(3))
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _of(self, modules):
        return type(self)(modules)

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)([*self, *other])


class ModuleDict(Module):
    """Modules by name.

    >>> import unigrad as ug
    >>> heads = ug.nn.ModuleDict({"a": ug.nn.Linear(4, 2), "b": ug.nn.Linear(4, 3)})
    >>> heads["b"](ug.zeros(1, 4)).shape
    (1, 3)
    """

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        if module is None or not isinstance(module, Module):
            raise TypeError(f"argument 'module': a Module is wanted, not {_check._kind(module)}")
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        """The names."""
        return self._modules.keys()

    def values(self):
        """The modules."""
        return self._modules.values()

    def items(self):
        """Names and modules."""
        return self._modules.items()

    def update(self, modules):
        """Adds modules: a mapping, or pairs."""
        try:
            pairs = list(modules.items() if hasattr(modules, "items") else modules)
            pairs = [(name, module) for name, module in pairs]
        except (TypeError, ValueError):
            raise TypeError(f"argument 'modules': modules by name are wanted, not {_check._kind(modules)}") from None
        for name, module in pairs:
            self[name] = module

    def pop(self, key):
        """Takes a module out."""
        return self._modules.pop(key)

    def clear(self):
        """Takes all out."""
        self._modules.clear()


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """Parameters in a list; tensors become parameters.

    >>> import unigrad as ug
    >>> weights = ug.nn.ParameterList([ug.zeros(2), ug.ones(3)])
    >>> [tuple(w.shape) for w in weights]
    [(2,), (3,)]
    """

    def __init__(self, values=None):
        super().__init__()
        if values is not None:
            self.extend(values)

    def append(self, value):
        """Adds a parameter at the end. Returns the list."""
        _check.tensor("value", value)
        self.register_parameter(str(len(self)), _as_parameter(value))
        return self

    def extend(self, values):
        """Adds parameters at the end. Returns the list."""
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"argument 'values': tensors are wanted, not {_check._kind(values)}")
        for value in [_check.tensor("values", value) for value in values]:
            self.append(value)
        return self

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return list(self)[operator.index(index)]

    def __setitem__(self, index, value):
        name = list(self._parameters)[operator.index(index)]
        self._parameters[name] = _as_parameter(_check.tensor("value", value))

    def extra_repr(self):
        return "\n".join(f"({name}): Parameter of shape {list(value.shape)}" for name, value in self._parameters.items())


class ParameterDict(Module):
    """Parameters by name; tensors become parameters.

    >>> import unigrad as ug
    >>> scales = ug.nn.ParameterDict({"a": ug.ones(2)})
    >>> list(scales), scales["a"].requires_grad
    (['a'], True)
    """

    def __init__(self, parameters=None):
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def update(self, parameters):
        """Adds parameters: a mapping, or pairs."""
        try:
            pairs = list(parameters.items() if hasattr(parameters, "items") else parameters)
            pairs = [(name, value) for name, value in pairs]
        except (TypeError, ValueError):
            raise TypeError(f"argument 'parameters': tensors by name are wanted, not {_check._kind(parameters)}") from None
        for name, value in pairs:
            self[name] = value

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, value):
        self.register_parameter(key, _as_parameter(_check.tensor("value", value)))

    def __delitem__(self, key):
        del self._parameters[key]

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def keys(self):
        """The names."""
        return self._parameters.keys()

    def values(self):
        """The parameters."""
        return self._parameters.values()

    def items(self):
        """Names and parameters."""
        return self._parameters.items()

    def pop(self, key):
        """Takes a parameter out."""
        return self._parameters.pop(key)

    def extra_repr(self):
        return "\n".join(f"({name}): Parameter of shape {list(value.shape)}" for name, value in self._parameters.items())


class Residual(Module):
    """A module's output added to its input: ``x + module(x)``.

    >>> import unigrad as ug
    >>> ug.nn.Residual(ug.nn.Identity())(ug.ones(2)).tolist()
    [2.0, 2.0]
    """

    def __init__(self, module):
        super().__init__()
        self.module = _Listed._module(module)

    def forward(self, input):
        """Of any shape that the module keeps."""
        return _check.tensor("input", input) + self.module(input)
