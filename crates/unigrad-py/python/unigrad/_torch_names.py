"""PyTorch's names and keywords for what the crates call otherwise, and its short compositions of other ops.

In: tensors. Out: methods of `Tensor`; `unigrad` has each as a function as well.
Always: a call that the native method takes goes there as it is.
Never: computes what an op of the crates computes.
"""

from . import _check
from ._errors import ArgumentError
from ._unigrad import DType, Tensor, arange, concat, full, rand, randint, randn, tensor

# Methods of the same names that the crates have.
_NATIVE = {}


def _method(function):
    """Makes a function a method of tensors."""
    name = function.__name__
    if hasattr(Tensor, name):
        _NATIVE[name] = getattr(Tensor, name)
        function.__doc__ = function.__doc__ or _NATIVE[name].__doc__
    setattr(Tensor, name, function)
    return function


def _one_of(first, second, **given):
    """The one of two names of an argument that is given."""
    values = [(name, value) for name, value in given.items() if value is not None]
    if len(values) > 1:
        raise TypeError(f"`{first}` and `{second}` are one argument: give one of them")
    if not values:
        raise TypeError(f"argument '{first}' is missing")
    return values[0][1]


def _dims(name, positional, keyword):
    """Dims that may be given one by one, as a list, or by keyword."""
    if not keyword:
        return positional
    if set(keyword) != {name}:
        raise TypeError(f"got an unexpected keyword argument '{next(one for one in keyword if one != name)}', beside '{name}'")
    if positional:
        raise TypeError(f"argument '{name}' is given twice")
    return (keyword[name],)


def _scale(alpha, x):
    """``alpha * x``; ``x`` itself for 1."""
    if isinstance(alpha, Tensor):
        return x * alpha
    return x if _check.number("alpha", alpha) == 1 else x * alpha


# Indexing.


@_method
def gather(self, dim, index):
    """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]
    """
    dim, x = _check.whole("dim", dim), _check.tensor("self", self)
    if _check.tensor("index", index).ndim == x.ndim and -x.ndim <= dim < x.ndim:
        for axis, (own, wanted) in enumerate(zip(x.shape, index.shape)):
            if axis != dim % x.ndim and wanted < own:
                x = x.narrow(axis, 0, wanted)
    return x.take_along(dim, index)


@_method
def scatter(self, dim, index, src=None, *, value=None, reduce=None):
    """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there."""
    src = _one_of("src", "value", src=src, value=value)
    if not isinstance(src, Tensor):
        src = full(_check.tensor("index", index).shape, _check.number("src", src), dtype=self.dtype, device=self.device)
    if reduce is None:
        return _NATIVE["scatter"](self, dim, index, src)
    mode = {"add": "sum", "multiply": "prod"}.get(reduce)
    if mode is None:
        raise ArgumentError(f"argument 'reduce' is {reduce!r}\n help: choose from add, multiply")
    return _NATIVE["scatter_reduce"](self, dim, index, src, mode)


def _mode(reduce, mode):
    mode = _one_of("reduce", "mode", reduce=reduce, mode=mode)
    return {"amax": "max", "amin": "min"}.get(mode, mode)


@_method
def scatter_reduce(self, dim, index, src, reduce=None, *, include_self=True, mode=None):
    """A copy in which the elements of ``src`` that ``index`` puts to one place along ``dim`` are reduced: sum, prod, mean, amax, amin."""
    return _NATIVE["scatter_reduce"](self, dim, index, src, _mode(reduce, mode), include_self)


@_method
def index_reduce(self, dim, index, src, reduce=None, *, include_self=True, mode=None):
    """As ``scatter_reduce``, for whole slices: prod, mean, amax, amin."""
    return _NATIVE["index_reduce"](self, dim, index, src, _mode(reduce, mode), include_self)


@_method
def index_add(self, dim, index, src, *, alpha=1):
    """A copy with ``alpha * src`` added to the slices at ``index``."""
    return _NATIVE["index_add"](self, dim, index, _scale(alpha, _check.tensor("src", src)))


@_method
def argwhere(self):
    """The indices of what is not 0: ``[n, ndim]``."""
    return self.nonzero()


# Shapes.


@_method
def flip(self, *dims, axis=None, **keyword):
    """Reversed along these dims; along all without."""
    return _NATIVE["flip"](self, *_dims("dims", dims, keyword), **({} if axis is None else {"axis": axis}))


@_method
def permute(self, *dims, **keyword):
    """Its axes in this order."""
    return _NATIVE["permute"](self, *_dims("dims", dims, keyword))


@_method
def tile(self, *repeats, **keyword):
    """Repeated so often along each axis."""
    return _NATIVE["tile"](self, *_dims("dims", repeats, keyword))


@_method
def transpose(self, *dims, dim0=None, dim1=None):
    """Two axes exchanged; NumPy's order of all axes if there are not two."""
    named = [_check.whole(name, dim) for name, dim in (("dim0", dim0), ("dim1", dim1)) if dim is not None]
    return _NATIVE["transpose"](self, *dims, *named)


@_method
def split(self, split_size=None, dim=0, *, axis=None, split_size_or_sections=None):
    """Parts of this size, or of these sizes, along ``dim``."""
    size = _one_of("split_size", "split_size_or_sections", split_size=split_size, split_size_or_sections=split_size_or_sections)
    return _NATIVE["split"](self, size, dim, **({} if axis is None else {"axis": axis}))


@_method
def tensor_split(self, indices_or_sections=None, dim=0, *, axis=None, indices=None, sections=None):
    """So many parts along ``dim``, or parts that end at these indices."""
    given = [value for value in (indices_or_sections, indices, sections) if value is not None]
    if len(given) != 1:
        raise TypeError("argument 'indices_or_sections': give it once")
    where = given[0].tolist() if isinstance(given[0], Tensor) else given[0]
    return _NATIVE["tensor_split"](self, where, dim, **({} if axis is None else {"axis": axis}))


def _splitting(name, least, dim_of):
    def split_along(self, indices_or_sections):
        if self.ndim < least:
            raise ArgumentError(f"{name}: {least} axes and more are wanted, not {self.ndim}")
        return self.tensor_split(indices_or_sections, dim_of(self))

    split_along.__name__ = split_along.__qualname__ = name
    split_along.__doc__ = f"``tensor_split`` along the axis that ``{name}`` names."
    return _method(split_along)


hsplit = _splitting("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)
vsplit = _splitting("vsplit", 2, lambda x: 0)
dsplit = _splitting("dsplit", 3, lambda x: 2)


@_method
def fliplr(self):
    """Reversed along the second axis."""
    return self.flip(1)


@_method
def flipud(self):
    """Reversed along the first axis."""
    return self.flip(0)


@_method
def view_as(self, other):
    """In another tensor's shape."""
    return self.reshape(_check.tensor("other", other).shape)


@_method
def type_as(self, other):
    """In another tensor's dtype."""
    return self.to(_check.tensor("other", other).dtype)


def broadcast_tensors(*tensors):
    """Tensors expanded to the shape that they have together.

    >>> import unigrad
    >>> [tuple(x.shape) for x in unigrad.broadcast_tensors(unigrad.ones(2, 1), unigrad.ones(3))]
    [(2, 3), (2, 3)]
    """
    from .array_api import broadcast_arrays

    return tuple(broadcast_arrays(*(_check.tensor("tensors", one) for one in tensors)))


def _atleast(n, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    out = []
    for x in tensors:
        x = _check.tensor("tensors", x)
        if n == 3 and x.ndim < 3:
            x = x.reshape({0: (1, 1, 1), 1: (1, -1, 1), 2: (*x.shape, 1)}[x.ndim])
        out.append(x if x.ndim >= n else x.reshape((1,) * (n - x.ndim) + tuple(x.shape)))
    return out[0] if len(out) == 1 else tuple(out)


def atleast_1d(*tensors):
    """With one axis at least."""
    return _atleast(1, tensors)


def atleast_2d(*tensors):
    """With two axes at least: those that are missing come first."""
    return _atleast(2, tensors)


def atleast_3d(*tensors):
    """With three axes at least."""
    return _atleast(3, tensors)


# Arithmetic.


# What a call without a factor has.
_ONE = 1


def _scaled(name):
    def with_alpha(self, other, *, alpha=1):
        return _NATIVE[name](self, other if alpha is _ONE else _scale(alpha, other))

    with_alpha.__name__ = with_alpha.__qualname__ = name
    with_alpha.__doc__ = f"``{'x + alpha * other' if name == 'add' else 'x - alpha * other'}``, element by element."
    return _method(with_alpha)


add, sub = _scaled("add"), _scaled("sub")
Tensor.subtract = sub


@_method
def addcmul(self, tensor1, tensor2, value=1):
    """``x + value * tensor1 * tensor2``."""
    return _NATIVE["addcmul"](self, _check.tensor("tensor1", tensor1), _check.tensor("tensor2", tensor2), value)


@_method
def addcdiv(self, tensor1, tensor2, value=1):
    """``x + value * tensor1 / tensor2``."""
    return _NATIVE["addcdiv"](self, _check.tensor("tensor1", tensor1), _check.tensor("tensor2", tensor2), value)


@_method
def addr(self, vec1, vec2, beta=1.0, alpha=1.0):
    """``beta * x + alpha * outer(vec1, vec2)``."""
    return _NATIVE["addr"](self, _check.tensor("vec1", vec1), _check.tensor("vec2", vec2), beta, alpha)


@_method
def addmv(self, mat, vec, beta=1.0, alpha=1.0):
    """``beta * x + alpha * mat @ vec``."""
    return _NATIVE["addmv"](self, _check.tensor("mat", mat), _check.tensor("vec", vec), beta, alpha)


@_method
def baddbmm(self, batch1, batch2, beta=1.0, alpha=1.0):
    """``beta * x + alpha * batch1 @ batch2``."""
    return _NATIVE["baddbmm"](self, _check.tensor("batch1", batch1), _check.tensor("batch2", batch2), beta, alpha)


@_method
def clamp_min(self, min):
    """At least this."""
    return self.clamp(min=min)


@_method
def clamp_max(self, max):
    """At most this."""
    return self.clamp(max=max)


@_method
def positive(self):
    """The tensor itself."""
    return self


@_method
def rsub(self, other, *, alpha=1):
    """``other - alpha * x``."""
    if not isinstance(other, (int, float, Tensor)):
        raise TypeError(f"argument 'other': a tensor or a number is wanted, not {_check._kind(other)}")
    return other - _scale(alpha, self)


@_method
def dist(self, other, p=2.0):
    """The norm of the difference."""
    return (self - _check.tensor("other", other)).norm(p)


@_method
def vdot(self, other):
    """The dot product of two vectors."""
    return self.dot(_check.tensor("other", other))


@_method
def trapz(self, x=None, *, dx=1.0, dim=-1):
    """``trapezoid`` by its older name."""
    return self.trapezoid(x, dx=dx, dim=dim)


def _between(x, y, dim):
    """Distances of neighbouring points, so that they meet the pairs of ``y`` along ``dim``."""
    x = _check.tensor("x", x)
    if x.ndim == 1:
        return x.diff().reshape((-1,) + (1,) * ((-dim - 1) if dim < 0 else (y.ndim - 1 - dim)))
    return x.diff(dim=dim)


def _pairs(y, x, dim):
    n = y.shape[dim]
    return (y.narrow(dim, 0, n - 1) + y.narrow(dim, 1, n - 1)) * _between(x, y, dim) / 2


@_method
def trapezoid(self, x=None, *, dx=1.0, dim=-1, axis=None):
    """The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``."""
    dim = dim if axis is None else axis
    if x is None or not isinstance(x, Tensor):
        return _NATIVE["trapezoid"](self, dx if x is None else x, dim)
    return _pairs(self, x, dim).sum(dim)


@_method
def cumulative_trapezoid(self, x=None, *, dx=1.0, dim=-1, axis=None):
    """Integrals up to each point by the trapezoidal rule."""
    dim = dim if axis is None else axis
    if x is None or not isinstance(x, Tensor):
        return _NATIVE["cumulative_trapezoid"](self, dx if x is None else x, dim)
    return _pairs(self, x, dim).cumsum(dim)


@_method
def diff(self, n=1, dim=-1, prepend=None, append=None, *, axis=None):
    """Differences of neighbours along ``dim``, ``n`` times."""
    dim = dim if axis is None else axis
    if prepend is None and append is None:
        return _NATIVE["diff"](self, n, dim)
    around = {"prepend": prepend, "append": append}
    prepend, append = (value if value is None else _check.tensor(name, value) for name, value in around.items())
    return _NATIVE["diff"](concat([part for part in (prepend, self, append) if part is not None], dim), n, dim)


@_method
def tensordot(self, other, dims=2, other_axes=None, *, dim=None):
    """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)
    """
    dims = dims if dim is None else dim
    if other_axes is None and isinstance(dims, int) and not isinstance(dims, bool):
        if not 0 <= dims <= min(self.ndim, _check.tensor("other", other).ndim):
            raise ArgumentError(f"argument 'dims' is {dims}, for {self.ndim} and {other.ndim} axes\n help: use at most the fewer of them")
        dims, other_axes = list(range(self.ndim - dims, self.ndim)), list(range(dims))
    elif other_axes is None:
        if isinstance(dims, (str, bytes)) or not hasattr(dims, "__len__") or len(dims) != 2:
            raise TypeError(f"argument 'dims': a number, or axes of both tensors, are wanted, not {_check._kind(dims)}")
        dims, other_axes = ([one] if isinstance(one, int) else one for one in dims)
    return _NATIVE["tensordot"](self, other, dims, other_axes)


# Reductions and searches.


def _spread(name):
    def with_unbiased(self, dim=None, unbiased=None, keepdim=None, *, correction=None, axis=None, keepdims=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return _NATIVE[name](self, dim, unbiased, keepdim, correction=correction, axis=axis, keepdims=keepdims)

    with_unbiased.__name__ = with_unbiased.__qualname__ = name
    with_unbiased.__doc__ = getattr(Tensor, name).__doc__
    return _method(with_unbiased)


std, var = _spread("std"), _spread("var")


@_method
def std_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The standard deviation and the mean."""
    self_dim = None if isinstance(dim, bool) else dim
    return self.std(dim, unbiased, keepdim, correction=correction), self.mean(self_dim, keepdim)


@_method
def var_mean(self, dim=None, unbiased=None, keepdim=False, *, correction=None):
    """The variance and the mean."""
    self_dim = None if isinstance(dim, bool) else dim
    return self.var(dim, unbiased, keepdim, correction=correction), self.mean(self_dim, keepdim)


def _quantiles(name):
    def of_several(self, q, dim=None, keepdim=False, *, interpolation="linear", axis=None, keepdims=None):
        keepdim = keepdim if keepdims is None else keepdims
        dim = dim if axis is None else axis
        if not isinstance(q, (Tensor, list, tuple)) or (isinstance(q, Tensor) and q.ndim == 0):
            return _NATIVE[name](self, q, dim, keepdim, interpolation=interpolation)
        numbers = q.tolist() if isinstance(q, Tensor) else list(q)
        if not numbers:
            raise ArgumentError("argument 'q' is empty\n help: give at least one quantile")
        return concat([_NATIVE[name](self, one, dim, keepdim, interpolation=interpolation).unsqueeze(0) for one in numbers])

    of_several.__name__ = of_several.__qualname__ = name
    of_several.__doc__ = f"{getattr(Tensor, name).__doc__ or ''}\n\nSeveral ``q`` give a first axis."
    return _method(of_several)


quantile, nanquantile = _quantiles("quantile"), _quantiles("nanquantile")


def _typed(name):
    def with_dtype(self, dim=None, dtype=None, *, axis=None):
        if dtype is not None and not isinstance(dtype, (DType, str, type)):
            raise TypeError(f"argument 'dtype': a dtype is wanted, not {_check._kind(dtype)}")
        x = self if dtype is None else self.cast(dtype)
        return _NATIVE[name](x, dim) if axis is None else _NATIVE[name](x, dim, axis=axis)

    with_dtype.__name__ = with_dtype.__qualname__ = name
    with_dtype.__doc__ = getattr(Tensor, name).__doc__
    return _method(with_dtype)


softmax, log_softmax = _typed("softmax"), _typed("log_softmax")


@_method
def histc(self, bins=100, min=0.0, max=0.0, *, low=None, high=None):
    """How many elements are in each of ``bins`` bins between ``min`` and ``max``; between the least and the greatest where both are 0."""
    return _NATIVE["histc"](self, bins, min if low is None else low, max if high is None else high)


@_method
def searchsorted(self, values, *args, out_int32=False, right=False, side=None, sorter=None):
    """Where ``values`` belong in a sorted tensor: before what is equal, or behind it with ``right=True`` (``side="right"``)."""
    if args:
        (right,) = args
    if side is not None and side not in ("left", "right"):
        raise ArgumentError(f"argument 'side' is {side!r}\n help: choose from left, right")
    x = self if sorter is None else self.take_along(-1, _check.tensor("sorter", sorter))
    found = _NATIVE["searchsorted"](x, values, _check.flag("right", right) or side == "right")
    return found.to("int32") if _check.flag("out_int32", out_int32) else found


@_method
def bucketize(self, boundaries, right=False, *, out_int32=False):
    """The number of the bucket between ``boundaries`` that each element is in."""
    found = _NATIVE["bucketize"](self, boundaries, right)
    return found.to("int32") if _check.flag("out_int32", out_int32) else found


# Questions.


@_method
def allclose(self, other, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True
    """
    return bool(self.isclose(other, rtol, atol, equal_nan).all())


@_method
def equal(self, other):
    """Whether another tensor has the same shape and the same elements."""
    return tuple(self.shape) == tuple(_check.tensor("other", other).shape) and bool((self == other).all())


@_method
def is_floating_point(self):
    """Whether the dtype is one of floats."""
    return "float" in str(self.dtype)


# New tensors.


def as_tensor(data, dtype=None, device=None):
    """A tensor of an object; a tensor of that dtype and device is returned as it is."""
    from ._unigrad import asarray

    return asarray(data, dtype=dtype, device=device)


def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else size


def _filled(name, fill):
    def new(self, *size, dtype=None, device=None, requires_grad=False):
        made = full(_size(size), fill, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device)
        return made.requires_grad_() if requires_grad else made

    new.__name__ = new.__qualname__ = name
    new.__doc__ = f"A tensor of this size, filled with {fill}; of the same dtype and device unless they are given."
    return _method(new)


new_zeros, new_ones, new_empty = _filled("new_zeros", 0), _filled("new_ones", 1), _filled("new_empty", 0)


@_method
def new_full(self, size, fill_value, *, dtype=None, device=None):
    """A tensor of this size with one value; of the same dtype and device unless they are given."""
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device)


@_method
def new_tensor(self, data, *, dtype=None, device=None):
    """A tensor of data; of the same dtype and device unless they are given."""
    data = data.tolist() if isinstance(data, Tensor) else data
    return tensor(data, dtype=self.dtype if dtype is None else dtype, device=self.device if device is None else device)


# Random numbers.


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
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors."""
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if not isinstance(like, Tensor):
            raise TypeError("argument 'size' is missing: neither 'mean' nor 'std' is a tensor")
        shape = (mean + std).shape
        return randn(*shape, dtype=like.dtype, device=like.device) * std + mean
    return randn(size, dtype=dtype, device=device) * std + mean


def randint_like(x, low, high=None, *, dtype=None, device=None):
    """Random integers of a tensor's shape, dtype and device."""
    low, high = (0, low) if high is None else (low, high)
    made = randint(low, high, tuple(_check.tensor("x", x).shape), device=x.device if device is None else device)
    return made.to(x.dtype if dtype is None else dtype)


def cat(tensors, dim=0, *, axis=None):
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch."""
    if isinstance(tensors, (list, tuple)) and any(isinstance(one, Tensor) and one.ndim != 1 for one in tensors):
        tensors = [one for one in tensors if not (isinstance(one, Tensor) and one.ndim == 1 and one.shape[0] == 0)]
    return concat(tensors, dim) if axis is None else concat(tensors, dim, axis=axis)
