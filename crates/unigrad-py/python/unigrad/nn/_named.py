"""What a module has by name, and as its attributes."""

__all__ = ["KINDS", "Named"]

KINDS = ("_parameters", "_buffers", "_modules")
# What a module's dict has else.
_RESERVED = frozenset((*KINDS, "training", "_non_persistent", "_forward_hooks", "_forward_pre_hooks", "_more_hooks"))


class Named(dict):
    """A module's parameters, buffers or modules by name: a dict, whose entries stand in the module's own dict too, where Python looks for attributes first.

    Without that every ``self.weight`` would be an error first, and then a call of ``__getattr__``. What has the name of an attribute of the class
    (a module of a ``ModuleDict`` that is called "forward", say) does not hide it, and is found by this dict alone.
    """

    __slots__ = ("module",)

    def __init__(self, module):
        # A weak reference: a module goes with its last user, not when garbage is collected.
        self.module = module

    def _show(self, name, value):
        module = self.module()
        if module is not None and isinstance(name, str) and name not in _RESERVED and not hasattr(type(module), name):
            module.__dict__[name] = value

    def _hide(self, name):
        module = self.module()
        if module is not None and isinstance(name, str) and name not in _RESERVED:
            module.__dict__.pop(name, None)

    def __setitem__(self, name, value):
        dict.__setitem__(self, name, value)
        self._show(name, value)

    def __delitem__(self, name):
        dict.__delitem__(self, name)
        self._hide(name)

    def pop(self, name, *default):
        if name in self:
            self._hide(name)
        return dict.pop(self, name, *default)

    def popitem(self):
        name, value = dict.popitem(self)
        self._hide(name)
        return name, value

    def clear(self):
        for name in self:
            self._hide(name)
        dict.clear(self)

    def update(self, *others, **more):
        for name, value in dict(*others, **more).items():
            self[name] = value

    def setdefault(self, name, default=None):
        if name not in self:
            self[name] = default
        return self[name]

    def __ior__(self, other):
        self.update(other)
        return self

    def __copy__(self):
        return dict(self)

    def __reduce_ex__(self, protocol):
        # A module binds what it gets to itself.
        return dict, (dict(self),)
