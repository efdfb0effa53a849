"""New tensors, and random ones."""

import math

from .. import _check, _creating
from .._errors import ArgumentError, DTypeError
from .._unigrad import Tensor, arange, concat, float32, full, get_default_dtype, rand, randint, randn, tensor
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
    def new(self, *size, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
        _creating.place(layout, pin_memory)
        return full(_size(size), fill, requires_grad=requires_grad, **_beside(self, dtype, device))

    return new


new_zeros, new_ones, new_empty = _filled("new_zeros", 0), _filled("new_ones", 1), _filled("new_empty", 0)


@_method
def new_full(self, size, fill_value, *, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False):
    """A tensor of this size with one value; of the same dtype and device unless they are given."""
    _creating.place(layout, pin_memory)
    return full(size, fill_value, requires_grad=requires_grad, **_beside(self, dtype, device))


@_method
def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of data; of the same dtype and device unless they are given."""
    _creating.place(pin_memory=pin_memory)
    data = data.tolist() if isinstance(data, Tensor) else data
    return tensor(data, requires_grad=requires_grad, **_beside(self, dtype, device))


@_method
def bernoulli(self, p=None, *, generator=None):
    """0 or 1, 1 with the probability that each element is, or with the probability ``p``; of a generator of one's own if one is given."""
    limit = self if p is None else _check.probability("p", p)
    # Whatever the default is, so that a seed gives the same.
    dtype = self.dtype if p is None else float32
    return (rand(tuple(self.shape), dtype=dtype, device=self.device, generator=generator) < limit).to(self.dtype)


@_method
def multinomial(self, num_samples, replacement=False, *, generator=None):
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]
    """
    n, width = _check.positive("num_samples", num_samples), self.shape[-1] if self.ndim else 0
    if self.ndim not in (1, 2) or width == 0:
        raise ArgumentError(f"multinomial: weights of the shape {tuple(self.shape)}\n help: give [n] or [rows, n]")
    if bool((self < 0).any()) or not bool(self.isfinite().all()) or bool((self.sum(-1) <= 0).any()):
        raise ArgumentError("multinomial: weights are finite, not negative, and not all 0")
    drawn = {"dtype": self.dtype, "device": self.device, "generator": generator}
    if _check.flag("replacement", replacement):
        ends = self.cumsum(-1) / self.sum(-1, keepdim=True)
        # Where rounding lets the last end stay below 1, a number above it belongs to the last weight that is not 0.
        last = (self > 0).cast("int64") * arange(width, device=self.device)
        return ends.searchsorted(rand(*self.shape[:-1], n, **drawn), right=True).minimum(last.amax(-1, keepdim=True))
    if bool(((self > 0).cast("int64").sum(-1) < n).any()):
        raise ArgumentError(f"multinomial: {n} different indices, of fewer weights that are not 0\n help: draw with `replacement=True`")
    # The greatest of Gumbel's numbers beside logarithms of weights, one after the other (Efraimidis and Spirakis, 2006).
    noise = -(-rand(*self.shape, **drawn).clamp(min=1e-30).log()).log()
    return (self.log() + noise).topk(n, -1)[1]


def normal(mean=0.0, std=1.0, size=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)
    """
    if not isinstance(std, Tensor):
        std = _check.number("std", std, least=0)
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise TypeError("argument 'size' is missing: neither 'mean' nor 'std' is a tensor")
        shape = (mean + std).shape
        made = randn(*shape, generator=generator, **_beside(like, dtype, device)) * std + mean
    else:
        made = randn(size, generator=generator, dtype=dtype, device=device) * std + mean
    return made.requires_grad_() if _check.flag("requires_grad", requires_grad) else made


def randint_like(x, low, high=None, *, generator=None, dtype=None, device=None, requires_grad=False):
    """Random integers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randint_like(unigrad.zeros(2, 3), 10).shape
    (2, 3)
    """
    low, high = (0, low) if high is None else (low, high)
    made = randint(low, high, tuple(_check.tensor("x", x).shape), generator=generator, device=x.device if device is None else device)
    made = made.to(x.dtype if dtype is None else dtype)
    return made.requires_grad_() if _check.flag("requires_grad", requires_grad) else made


def _window(window_length, periodic, dtype, device, requires_grad, values):
    """A window of one period, or one that is symmetric: ``values(places, n)`` for the places 0 to n of a symmetric one."""
    n, periodic = _check.size("window_length", window_length), _check.flag("periodic", periodic)
    places = arange(n + periodic, dtype=get_default_dtype() if dtype is None else dtype, device=device)
    if not places.is_floating_point():
        raise DTypeError(f"argument 'dtype' is {places.dtype}\n help: windows are floats")
    made = places.fill_(1) if n <= 1 else values(places, n - 1 + periodic)
    made = made[:n]
    return made.requires_grad_() if _check.flag("requires_grad", requires_grad) else made


def hamming_window(window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None, requires_grad=False):
    """Hamming's window: ``alpha - beta cos(2 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    alpha, beta = _check.number("alpha", alpha), _check.number("beta", beta)
    return _window(window_length, periodic, dtype, device, requires_grad, lambda i, n: (i * (2 * math.pi / n)).cos() * -beta + alpha)


def hann_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """Hann's window: ``(1 - cos(2 pi i / n)) / 2``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    return hamming_window(window_length, periodic, 0.5, 0.5, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """Blackman's window: ``0.42 - cos(2 pi i / n) / 2 + 0.08 cos(4 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.blackman_window(4).round(decimals=2).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400])
    """

    def values(i, n):
        angle = i * (math.pi / n)
        return (angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42

    return _window(window_length, periodic, dtype, device, requires_grad, values)


def bartlett_window(window_length, periodic=True, *, dtype=None, device=None, requires_grad=False):
    """Bartlett's window, a triangle from 0 to 1 and back; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def values(i, n):
        rising = i * (2 / n)
        return (i <= n // 2).where_(rising, 2 - rising)

    return _window(window_length, periodic, dtype, device, requires_grad, values)


def vander(x, N=None, *, increasing=False):  # noqa: N803
    """Powers of a vector's elements as columns, the greatest first, or last with ``increasing``; ``N`` of them, as many as elements without.

    >>> import unigrad
    >>> unigrad.vander(unigrad.tensor([2, 3]), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    if _check.tensor("x", x).ndim != 1:
        raise ArgumentError(f"vander: argument 'x' is {list(x.shape)}\n help: give a vector")
    n = x.shape[0] if N is None else _check.size("N", N)
    x = x if x.is_floating_point() else x.to("int64")
    # Products one after the other, as PyTorch's.
    ones = x.new_ones((x.shape[0], min(n, 1)))
    powers = ones if n <= 1 else concat([ones, x.unsqueeze(1).expand(-1, n - 1).cumprod(1)], 1)
    return powers if _check.flag("increasing", increasing) else powers.flip(1)


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
    """A number as a tensor without axes; of the default dtype unless said.

    >>> import unigrad
    >>> unigrad.scalar_tensor(2.0)
    tensor(2.)
    """
    return full((), value, dtype=get_default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad)
