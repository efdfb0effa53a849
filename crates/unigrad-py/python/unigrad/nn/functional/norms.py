"""Norms of batches, examples, layers, groups and vectors."""

from ... import _check, _out
from ..._check import tensor as _tensor
from ..._errors import ArgumentError
from ..._unigrad import _nn, ones

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm"]


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    """``[n, c, ..]`` normalized per channel: by the batch's statistics, which move the running ones, or by the running ones.

    >>> import unigrad as ug
    >>> ug.nn.functional.batch_norm(ug.rand(4, 3), ug.zeros(3), ug.ones(3)).shape
    (4, 3)
    """
    if _tensor("input", input).ndim == 1 and input.numel() == 0:
        # Nothing to normalize: PyTorch takes it whatever its axes are.
        return input.clone()
    if not training and (running_mean is None or running_var is None):
        raise ArgumentError("argument 'running_mean' or 'running_var' is None in use\n help: give both, or `training=True`")
    return _nn.batch_norm(_tensor("input", input), running_mean, running_var, weight, bias, None, training, momentum, eps)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    """``[n, c, ..]`` normalized per channel of each example.

    >>> import unigrad as ug
    >>> ug.nn.functional.instance_norm(ug.rand(2, 3, 4)).shape
    (2, 3, 4)
    """
    return _nn.instance_norm(_tensor("input", input), running_mean, running_var, weight, bias, bool(use_input_stats), momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Normalized over the last axes, of these sizes.

    >>> import unigrad as ug
    >>> ug.nn.functional.layer_norm(ug.rand(2, 4), (4,)).shape
    (2, 4)
    """
    return _tensor("input", input).layer_norm_over(normalized_shape, weight, bias, eps)


def _machine_eps(dtype):
    return 2.220446049250313e-16 if dtype.name == "float64" else 1.1920928955078125e-07


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """``x / sqrt(mean(x²) + eps) * weight`` over the last axes, of these sizes.

    >>> import unigrad as ug
    >>> ug.nn.functional.rms_norm(ug.rand(2, 4), (4,)).shape
    (2, 4)
    """
    input = _tensor("input", input)
    shape = _check.shape("normalized_shape", normalized_shape)
    if weight is None:
        weight = ones(shape, dtype=input.dtype, device=input.device)
    elif _tensor("weight", weight).shape != shape:
        raise ArgumentError(
            f"argument 'weight' is {list(weight.shape)}, for `normalized_shape` {list(shape)}\n help: give one of that shape"
        )
    return input.rms_norm(weight, _machine_eps(input.dtype) if eps is None else eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """``[n, c, ..]`` normalized within groups of channels.

    >>> import unigrad as ug
    >>> ug.nn.functional.group_norm(ug.rand(1, 4, 3), 2).shape
    (1, 4, 3)
    """
    return _tensor("input", input).group_norm(_check.positive("num_groups", num_groups), weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """``x / (k + alpha / size · sum x²)^beta`` over neighbouring channels.

    >>> import unigrad as ug
    >>> ug.nn.functional.local_response_norm(ug.ones(1, 4, 2, 2), 3).shape
    (1, 4, 2, 2)
    """
    size = _check.positive("size", size)
    if _tensor("input", input).ndim > 2 and input.numel() == 0:
        # Nothing to compute: integers stay what they are.
        return input
    return input.local_response_norm(size, alpha, beta, k)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divided by the norm along an axis, or along several; written to ``out`` if that is given.

    >>> import unigrad as ug
    >>> ug.nn.functional.normalize(ug.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    input, p = _tensor("input", input), float(_check.number("p", p))
    if isinstance(dim, (tuple, list)):
        result = input / input.norm(p, tuple(dim), keepdim=True).clamp(min=_check.number("eps", eps))
    else:
        result = input.normalize(p, dim, eps)
    if out is None:
        return result
    _out.checked(out)
    return _out.written("normalize", out, result, {})
