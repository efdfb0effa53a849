"""Weights that are computed from others, with PyTorch's names in ``state_dict``: weight norm and spectral norm."""

from ... import _check
from ..._errors import ArgumentError
from ..._unigrad import randn
from ..module import Module
from ..parameter import Parameter, set_value

__all__ = ["remove_parametrizations", "spectral_norm", "weight_norm"]


def _lengths(v, dim):
    axes = [axis for axis in range(v.ndim) if axis != dim]
    return (v * v).sum(axes, keepdim=True).sqrt() if axes else v.abs()


class _WeightNorm(Module):
    """``g * v / |v|``: ``original0`` are the lengths, ``original1`` the directions."""

    def __init__(self, weight, dim):
        super().__init__()
        self.dim = dim
        self.original0 = Parameter(_lengths(weight, dim))
        self.original1 = Parameter(weight)

    def forward(self):
        return self.original1 * (self.original0 / _lengths(self.original1, self.dim))

    def values(self):
        return self.forward()


class _SpectralNorm(Module):
    """``w / sigma``, by power iteration: one step of it in each forward pass while training."""

    def __init__(self, weight, dim, n_power_iterations, eps):
        super().__init__()
        self.dim, self.n_power_iterations, self.eps = dim, n_power_iterations, eps
        self.original = Parameter(weight)
        # As PyTorch names it: the parametrization's own buffers are below `0`.
        own = Module()
        rows, columns = self._matrix(weight).shape
        own.register_buffer("_u", self._unit(randn(rows, dtype=weight.dtype, device=weight.device)))
        own.register_buffer("_v", self._unit(randn(columns, dtype=weight.dtype, device=weight.device)))
        self.add_module("0", own)
        self._iterate(15)

    def _unit(self, x):
        return x / (x * x).sum().sqrt().clamp(min=self.eps)

    def _matrix(self, weight):
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def _iterate(self, n):
        own, matrix = self._modules["0"], self._matrix(self.original.detach())
        u, v = own._u, own._v
        for _ in range(n):
            u = self._unit(matrix @ v)
            v = self._unit(matrix.T @ u)
        set_value(own._u, u)
        set_value(own._v, v)

    def forward(self):
        if self.training:
            self._iterate(self.n_power_iterations)
        return self.values()

    def values(self):
        """Without a step of the iteration."""
        own = self._modules["0"]
        u, v = own._u.detach() * 1, own._v.detach() * 1
        sigma = (u * (self._matrix(self.original) @ v)).sum()
        return self.original / sigma


def _weight(module, name):
    """The module's parameter of this name."""
    if not isinstance(module, Module):
        raise TypeError(f"argument 'module': a Module is wanted, not {_check._kind(module)}")
    weight = module._parameters.get(name) if isinstance(name, str) else None
    if weight is None:
        known = ", ".join(own for own, value in module._parameters.items() if value is not None)
        raise ArgumentError(f"argument 'name' is {name!r}\n help: name a parameter of the module: {known}")
    return weight


def _parametrize(module, name, make):
    weight = _weight(module, name)
    parts = module._modules.get("parametrizations")
    made = make(weight)
    if parts is None:
        parts = Module()
        module.add_module("parametrizations", parts)
        _compute_weights(module)
    del module._parameters[name]
    parts.add_module(name, made)
    return module


def _computed(module):
    """The names of computed weights, and what computes them."""
    parts = module._modules.get("parametrizations")
    own = list(parts._modules.items()) if parts is not None else []
    return own + [(name, _OfModule(module, norm)) for name, norm in module.__dict__.get("_old_norms", {}).items()]


class _OfModule:
    """A norm in PyTorch's old form, of a module that has its parameters."""

    def __init__(self, module, norm):
        self.module, self.norm = module, norm

    def __call__(self):
        return self.norm.forward(self.module)

    def values(self):
        return self.norm.values(self.module)


def _compute_weights(module):
    """Gives the module a class of its own, whose computed weights are attributes."""
    base = type(module)

    class Parametrized(base):
        def forward(self, *args, **kwargs):
            # Each weight is computed once in a pass.
            computed = {name: part() for name, part in _computed(self)}
            own = self._parameters
            before = dict(own)
            own.update(computed)
            try:
                return base.forward(self, *args, **kwargs)
            finally:
                own.clear()
                own.update(before)

        def __getattr__(self, name):
            for own, part in _computed(self) if "_modules" in self.__dict__ else ():
                if own == name:
                    return part.values()
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

        def __reduce_ex__(self, protocol):
            return _rebuild, (base, self.__getstate__())

        def __deepcopy__(self, memo):
            import copy

            made = _rebuild(base, copy.deepcopy(self.__getstate__(), memo))
            memo[id(self)] = made
            return made

    Parametrized.__name__, Parametrized.__qualname__ = f"Parametrized{base.__name__}", f"Parametrized{base.__name__}"
    Parametrized._base = base
    module.__class__ = Parametrized


def _rebuild(base, state):
    module = base.__new__(base)
    module.__setstate__(state)
    _compute_weights(module)
    return module


def weight_norm(module, name="weight", dim=0):
    """The weight becomes ``g * v / |v|`` (Salimans and Kingma, 2016), a length for each index of ``dim``, or one for all. Returns the module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.parametrizations.weight_norm(ug.nn.Linear(4, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    dim = None if dim is None else _check.whole("dim", dim)

    def make(weight):
        if dim is not None and not -weight.ndim <= dim < weight.ndim:
            raise ArgumentError(f"argument 'dim' is {dim}, of a weight of {weight.ndim} axes\n help: name one of its axes")
        return _WeightNorm(weight, None if dim is None else dim % weight.ndim)

    return _parametrize(module, name, make)


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight is divided by its greatest singular value (Miyato et al., 2018). Returns the module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.parametrizations.spectral_norm(ug.nn.Linear(3, 2))
    >>> layer(ug.zeros(1, 3)).shape
    (1, 2)
    """
    iterations, eps = _check.positive("n_power_iterations", n_power_iterations), _check.number("eps", eps, 0.0)

    def make(weight):
        if weight.ndim < 2:
            raise ArgumentError(f"argument 'name' is {name!r}, of {weight.ndim} axes\n help: name a weight of two axes or more")
        transposed = type(module).__name__.startswith("ConvTranspose")
        axis = (1 if transposed else 0) if dim is None else _check.whole("dim", dim)
        if not -weight.ndim <= axis < weight.ndim:
            raise ArgumentError(f"argument 'dim' is {dim}, of a weight of {weight.ndim} axes\n help: name one of its axes")
        return _SpectralNorm(weight, axis % weight.ndim, iterations, eps)

    return _parametrize(module, name, make)


def remove_parametrizations(module, name="weight"):
    """The computed weight becomes a parameter again, with the values that it has. Returns the module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.parametrizations.weight_norm(ug.nn.Linear(3, 2))
    >>> layer = ug.nn.utils.remove_parametrizations(layer)
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    parts = module._modules.get("parametrizations") if isinstance(module, Module) else None
    if parts is None or name not in parts._modules:
        raise ArgumentError(f"argument 'name' is {name!r}, which is not computed\n help: name a weight that has a norm")
    value = parts._modules.pop(name).values()
    module._parameters[name] = Parameter(value.detach())
    if not parts._modules:
        del module._modules["parametrizations"]
    return _plain_again(module)


def _plain_again(module):
    """A module without computed weights has its own class."""
    if not _computed(module):
        module.__class__ = type(module)._base
    return module
