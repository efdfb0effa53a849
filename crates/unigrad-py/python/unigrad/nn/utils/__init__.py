"""What is done to gradients and parameters, with PyTorch's names."""

from ... import _check
from ..._errors import ArgumentError
from ..._told import name_arguments as _name_arguments
from ..._unigrad import Tensor, _nn, concat
from ..parameter import Parameter, set_value
from . import parametrizations, parametrize, rnn
from ._old_norms import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from .parametrizations import remove_parametrizations
from .recompute import checkpoint

__all__ = [
    "checkpoint", "clip_grad_adaptively_", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "remove_parametrizations", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
    "spectral_norm", "vector_to_parameters", "weight_norm",
]  # fmt: skip


def _list(name, parameters):
    if isinstance(parameters, Tensor):
        return [parameters]
    if isinstance(parameters, (str, bytes)) or not hasattr(parameters, "__iter__"):
        raise TypeError(f"argument '{name}': tensors are wanted, not {_check._kind(parameters)}")
    return [_check.tensor(name, parameter) for parameter in parameters]


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales gradients down together so that their norm is at most ``max_norm``. Returns the norm before. Reads nothing, unless
    ``error_if_nonfinite``.

    >>> import unigrad as ug
    >>> w = ug.tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w).sum().backward()
    >>> ug.nn.utils.clip_grad_norm_([w], 1.0).item()
    10.0
    """
    parameters = _list("parameters", parameters)
    max_norm = max_norm.item() if isinstance(max_norm, Tensor) else max_norm
    max_norm, norm_type = _check.number("max_norm", max_norm, 0.0), _check.number("norm_type", norm_type, above=0.0)
    if error_if_nonfinite:
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None], norm_type)
        if not norm.isfinite().item():
            raise ArgumentError("the norm of the gradients is not finite\n help: see where the loss is no number")
    norm = _nn.clip_grad_norm(parameters, max_norm, norm_type)
    return Tensor(0.0) if norm is None else norm


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together.

    >>> import unigrad as ug
    >>> ug.nn.utils.get_total_norm([ug.tensor([3.0]), ug.tensor([4.0])])
    tensor(5.)
    """
    tensors, p = _list("tensors", tensors), _check.number("norm_type", norm_type, above=0.0)
    if not tensors:
        return Tensor(0.0)
    wide = "float64" if any(tensor.dtype.name == "float64" for tensor in tensors) else "float32"
    flat = concat([tensor.detach().reshape(-1).to(tensors[0].device).cast(wide) for tensor in tensors], 0).abs()
    norm = flat.amax() if p == float("inf") else flat.pow(p).sum().pow(1.0 / p)
    if error_if_nonfinite and not norm.isfinite().item():
        raise ArgumentError("the norm of the tensors is not finite\n help: see where the loss is no number")
    return norm


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients down together, as ``clip_grad_norm_``, where their norm is known: ``get_total_norm`` of them.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.tensor([3.0, 4.0]))
    >>> w.square().sum().backward()
    >>> ug.nn.utils.clip_grads_with_norm_([w], 1.0, ug.nn.utils.get_total_norm([w.grad]))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    max_norm = max_norm if isinstance(max_norm, Tensor) else _check.number("max_norm", max_norm, 0.0)
    factor = (max_norm / (_check.tensor("total_norm", total_norm) + 1e-6)).clamp(max=1.0)
    for parameter in _list("parameters", parameters):
        if parameter.grad is not None:
            grad = parameter.grad.detach()
            parameter.grad = (grad * factor.to(grad.device)).cast(grad.dtype)


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution and the batch norm after it as one convolution, for use.

    >>> import unigrad as ug
    >>> conv, norm, x = ug.nn.Conv2d(2, 3, 1).eval(), ug.nn.BatchNorm2d(3).eval(), ug.rand(1, 2, 4, 4)
    >>> ug.nn.utils.fuse_conv_bn_eval(conv, norm)(x).allclose(norm(conv(x)), atol=1e-5)
    True
    """
    import copy

    for name, module in (("conv", conv), ("bn", bn)):
        if not hasattr(module, "training") or not hasattr(module, "running_var" if name == "bn" else "weight"):
            raise TypeError(f"argument '{name}': a {'batch norm' if name == 'bn' else 'convolution'} is wanted, not {_check._kind(module)}")
    if bn.running_var is None:
        raise ArgumentError("argument 'bn' has no running statistics\n help: fuse one that has")
    if conv.training or bn.training:
        raise ArgumentError("arguments 'conv' and 'bn' are training\n help: call `eval()` on both")
    fused = copy.deepcopy(conv)
    scale = (bn.running_var + bn.eps).rsqrt()
    scale = scale if bn.weight is None else scale * bn.weight.detach()
    axes = [1, -1] if transpose else [-1, 1]
    bias = -bn.running_mean if conv.bias is None else conv.bias.detach() - bn.running_mean
    bias = bias * scale if bn.bias is None else bias * scale + bn.bias.detach()
    fused.weight.data = (conv.weight.detach() * scale.reshape(axes + [1] * (conv.weight.ndim - 2))).cast(conv.weight.dtype)
    fused._parameters["bias"] = Parameter(bias.cast(conv.weight.dtype))
    return fused


def skip_init(module_cls, *args, **kwargs):
    """A module as its class makes it: initial values that are replaced are never computed.

    >>> import unigrad as ug
    >>> ug.nn.utils.skip_init(ug.nn.Linear, 3, 4).weight.shape
    (4, 3)
    """
    return _check.call("module_cls", module_cls)(*args, **kwargs)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limits every element of gradients to ``-clip_value..clip_value``.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(2))
    >>> (w * 100.0).sum().backward()
    >>> ug.nn.utils.clip_grad_value_([w], 0.5)
    >>> w.grad
    tensor([0.5000, 0.5000])
    """
    _nn.clip_grad_value(_list("parameters", parameters), _check.number("clip_value", clip_value, 0.0))


def clip_grad_adaptively_(parameters, clip_factor=0.01, eps=1e-3):
    """Each unit's gradient has a norm of at most ``clip_factor`` times that of its weights (Brock et al., 2021).

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(1, 2))
    >>> (w * 100.0).sum().backward()
    >>> ug.nn.utils.clip_grad_adaptively_([w], 0.01)
    >>> w.grad.abs().max().item() < 1.0
    True
    """
    _nn.clip_grad_adaptively(
        _list("parameters", parameters), _check.number("clip_factor", clip_factor, 0.0), _check.number("eps", eps, 0.0)
    )


def parameters_to_vector(parameters):
    """All elements one after another, in one vector.

    >>> import unigrad as ug
    >>> ug.nn.utils.parameters_to_vector([ug.ones(2), ug.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    parameters = _list("parameters", parameters)
    if not parameters:
        raise ArgumentError("argument 'parameters' is empty\n help: give at least one")
    return concat([parameter.reshape(-1) for parameter in parameters], 0)


def vector_to_parameters(vec, parameters):
    """Gives parameters the elements of a vector, one after another.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.zeros(2))
    >>> ug.nn.utils.vector_to_parameters(ug.tensor([1.0, 2.0]), [w])
    >>> w.tolist()
    [1.0, 2.0]
    """
    _check.tensor("vec", vec)
    parameters = _list("parameters", parameters)
    count = sum(parameter.numel() for parameter in parameters)
    if vec.shape != (count,):
        raise ArgumentError(f"argument 'vec' is {list(vec.shape)}, for {count} elements\n help: give a vector of as many")
    start = 0
    for parameter in parameters:
        set_value(parameter, vec[start : start + parameter.numel()].reshape(parameter.shape))
        start += parameter.numel()


_name_arguments(globals(), __all__, without=("checkpoint", "skip_init"))
