"""Weight norm and spectral norm in PyTorch's old form, whose names in ``state_dict`` many checkpoints have: ``weight_g``, ``weight_v``, ``weight_orig``."""

from ... import _check
from ..._errors import ArgumentError
from ..._unigrad import randn
from ..module import Module
from ..parameter import Parameter, set_value
from .parametrizations import _compute_weights, _computed, _lengths, _plain_again, _weight

__all__ = ["remove_spectral_norm", "remove_weight_norm", "spectral_norm", "weight_norm"]


class _WeightNorm:
    """``g * v / |v|``."""

    def __init__(self, name, dim):
        self.name, self.dim = name, dim

    def forward(self, module):
        g, v = module._parameters[f"{self.name}_g"], module._parameters[f"{self.name}_v"]
        return v * (g / _lengths(v, self.dim))

    values = forward

    def parameters(self):
        return (f"{self.name}_g", f"{self.name}_v"), ()


class _SpectralNorm:
    """``w / sigma``, by power iteration: a step of it in each forward pass while training."""

    def __init__(self, name, n_power_iterations, dim, eps):
        self.name, self.n_power_iterations, self.dim, self.eps = name, n_power_iterations, dim, eps

    def matrix(self, weight):
        return weight.movedim(self.dim, 0).reshape(weight.shape[self.dim], -1)

    def unit(self, x):
        return x / (x * x).sum().sqrt().clamp(min=self.eps)

    def iterate(self, module, n):
        u, v = module._buffers[f"{self.name}_u"], module._buffers[f"{self.name}_v"]
        matrix = self.matrix(module._parameters[f"{self.name}_orig"].detach())
        new_u, new_v = u, v
        for _ in range(n):
            new_v = self.unit(matrix.T @ new_u)
            new_u = self.unit(matrix @ new_v)
        set_value(u, new_u)
        set_value(v, new_v)

    def forward(self, module):
        if module.training:
            self.iterate(module, self.n_power_iterations)
        return self.values(module)

    def values(self, module):
        weight = module._parameters[f"{self.name}_orig"]
        u, v = (module._buffers[f"{self.name}_{own}"].detach() * 1 for own in "uv")
        return weight / (u * (self.matrix(weight) @ v)).sum()

    def parameters(self):
        return (f"{self.name}_orig",), (f"{self.name}_u", f"{self.name}_v")


def _begin(module, name, norm):
    if not _computed(module):
        _compute_weights(module)
    del module._parameters[name]
    module.__dict__.setdefault("_old_norms", {})[name] = norm
    return module


def _end(module, name, kind, what):
    norm = module.__dict__.get("_old_norms", {}).get(name) if isinstance(module, Module) else None
    if not isinstance(norm, kind):
        raise ArgumentError(f"argument 'name' is {name!r}, which has no {what} norm\n help: name a weight that has one")
    value = norm.values(module).detach()
    parameters, buffers = norm.parameters()
    for own in parameters:
        del module._parameters[own]
    for own in buffers:
        del module._buffers[own]
    del module._old_norms[name]
    module._parameters[name] = Parameter(value)
    return _plain_again(module)


def weight_norm(module, name="weight", dim=0):
    """The weight becomes ``g * v / |v|`` (Salimans and Kingma, 2016), a length for each index of ``dim``, or one for all. Returns the module.

    Its names in ``state_dict`` are PyTorch's old ones; ``parametrizations.weight_norm`` has the new ones.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.weight_norm(ug.nn.Linear(4, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight_g', 'weight_v']
    """
    weight, dim = _weight(module, name), None if dim is None else _check.whole("dim", dim)
    # PyTorch writes -1 for no axis.
    axis = None if dim is None or dim == -1 else _check.axis("dim", dim, weight.ndim)
    lengths = _lengths(weight.detach(), axis)
    _begin(module, name, _WeightNorm(name, axis))
    module.register_parameter(f"{name}_g", Parameter(lengths.reshape(()) if axis is None else lengths))
    module.register_parameter(f"{name}_v", Parameter(weight.detach()))
    return module


def remove_weight_norm(module, name="weight"):
    """The weight is a parameter again, with the values that it has. Returns the module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.remove_weight_norm(ug.nn.utils.weight_norm(ug.nn.Linear(4, 3)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    return _end(module, name, _WeightNorm, "weight")


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The weight is divided by its greatest singular value (Miyato et al., 2018). Returns the module.

    Its names in ``state_dict`` are PyTorch's old ones; ``parametrizations.spectral_norm`` has the new ones.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.spectral_norm(ug.nn.Linear(3, 2))
    >>> list(layer.state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    weight = _weight(module, name)
    if weight.ndim < 2:
        raise ArgumentError(f"argument 'name' is {name!r}, of {weight.ndim} axes\n help: name a weight of two axes or more")
    transposed = type(module).__name__.startswith("ConvTranspose")
    axis = (1 if transposed else 0) if dim is None else _check.axis("dim", dim, weight.ndim)
    norm = _SpectralNorm(name, _check.positive("n_power_iterations", n_power_iterations), axis, _check.number("eps", eps, 0.0))
    rows, columns = norm.matrix(weight).shape
    _begin(module, name, norm)
    module.register_parameter(f"{name}_orig", Parameter(weight.detach()))
    for own, size in (("u", rows), ("v", columns)):
        module.register_buffer(f"{name}_{own}", norm.unit(randn(size, dtype=weight.dtype, device=weight.device)))
    return module


def remove_spectral_norm(module, name="weight"):
    """The weight is a parameter again, with the values that it has. Returns the module.

    >>> import unigrad as ug
    >>> layer = ug.nn.utils.remove_spectral_norm(ug.nn.utils.spectral_norm(ug.nn.Linear(3, 2)))
    >>> sorted(layer.state_dict())
    ['bias', 'weight']
    """
    return _end(module, name, _SpectralNorm, "spectral")
