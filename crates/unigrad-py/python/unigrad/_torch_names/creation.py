"""New tensors, and random ones."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, arange, concat, float32, full, rand, randint, randn, tensor
from ._method import _method, _method_named


def as_tensor(data, dtype=None, device=None):
    """A tensor of an object; a tensor of that dtype and device is returned as it is.

    >>> import unigrad
    >>> unigrad.as_tensor([1, 2])
    tensor([1, 2])
    """
    from .._unigrad import asarray

    return asarray(data, dtype=dtype, device=device)


def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else size


def _beside(x, dtype, device):
    """A tensor's own dtype and device unless others are given."""
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def _filled(name, fill):
    @_method_named(name, f"A tensor of this size, filled with {fill}; of the same dtype and device unless they are given.")
    def new(self, *size, dtype=None, device=None, requires_grad=False):
        made = full(_size(size), fill, **_beside(self, dtype, device))
        return made.requires_grad_() if requires_grad else made

    return new


new_zeros, new_ones, new_empty = _filled("new_zeros", 0), _filled("new_ones", 1), _filled("new_empty", 0)


@_method
def new_full(self, size, fill_value, *, dtype=None, device=None):
    """A tensor of this size with one value; of the same dtype and device unless they are given."""
    return full(size, fill_value, **_beside(self, dtype, device))


@_method
def new_tensor(self, data, *, dtype=None, device=None):
    """A tensor of data; of the same dtype and device unless they are given."""
    data = data.tolist() if isinstance(data, Tensor) else data
    return tensor(data, **_beside(self, dtype, device))


@_method
def bernoulli(self):
    """0 or 1, 1 with the probability that each element is."""
    return (rand(*self.shape, dtype=self.dtype, device=self.device) < self).to(self.dtype)


@_method
def multinomial(self, num_samples, replacement=False):
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]
    """
    n, width = _check.positive("num_samples", num_samples), self.shape[-1] if self.ndim else 0
    if self.ndim not in (1, 2) or width == 0:
        raise ArgumentError(f"multinomial: weights of the shape {tuple(self.shape)}\n help: give [n] or [rows, n]")
    if bool((self < 0).any()) or not bool(self.isfinite().all()) or bool((self.sum(-1) <= 0).any()):
        raise ArgumentError("multinomial: weights are finite, not negative, and not all 0")
    if _check.flag("replacement", replacement):
        ends = self.cumsum(-1) / self.sum(-1, keepdim=True)
        drawn = rand(*self.shape[:-1], n, dtype=self.dtype, device=self.device)
        # Where rounding lets the last end stay below 1, a number above it belongs to the last weight that is not 0.
        last = (self > 0).cast("int64") * arange(width, device=self.device)
        return ends.searchsorted(drawn, right=True).minimum(last.amax(-1, keepdim=True))
    if bool(((self > 0).cast("int64").sum(-1) < n).any()):
        raise ArgumentError(f"multinomial: {n} different indices, of fewer weights that are not 0\n help: draw with `replacement=True`")
    # The greatest of Gumbel's numbers beside logarithms of weights, one after the other (Efraimidis and Spirakis, 2006).
    noise = -(-rand(*self.shape, dtype=self.dtype, device=self.device).clamp(min=1e-30).log()).log()
    return (self.log() + noise).topk(n, -1)[1]


def normal(mean=0.0, std=1.0, size=None, *, dtype=None, device=None):
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors.

    >>> import unigrad
    >>> unigrad.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise TypeError("argument 'size' is missing: neither 'mean' nor 'std' is a tensor")
        shape = (mean + std).shape
        return randn(*shape, dtype=like.dtype, device=like.device) * std + mean
    return randn(size, dtype=dtype, device=device) * std + mean


def randint_like(x, low, high=None, *, dtype=None, device=None):
    """Random integers of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.randint_like(unigrad.zeros(2, 3), 10).shape
    (2, 3)
    """
    low, high = (0, low) if high is None else (low, high)
    made = randint(low, high, tuple(_check.tensor("x", x).shape), device=x.device if device is None else device)
    return made.to(x.dtype if dtype is None else dtype)


def cat(tensors, dim=0, *, axis=None):
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch.

    >>> import unigrad
    >>> unigrad.cat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])
    """
    if isinstance(tensors, (list, tuple)) and any(isinstance(one, Tensor) and one.ndim != 1 for one in tensors):
        tensors = [one for one in tensors if not (isinstance(one, Tensor) and one.ndim == 1 and one.shape[0] == 0)]
    return concat(tensors, dim) if axis is None else concat(tensors, dim, axis=axis)


def scalar_tensor(value, *, dtype=None, device=None, requires_grad=False):
    """A number as a tensor without axes; ``float32`` unless said.

    >>> import unigrad
    >>> unigrad.scalar_tensor(2.0)
    tensor(2.)
    """
    return full((), value, dtype=float32 if dtype is None else dtype, device=device, requires_grad=requires_grad)
