"""What is read and written by index."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, full
from ._method import _NATIVE, _method


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
    if src is not None and value is not None:
        raise TypeError("`src` and `value` are one argument: give one of them")
    src = value if src is None else src
    if src is None:
        raise TypeError("argument 'src' is missing")
    if not isinstance(src, Tensor):
        src = full(_check.tensor("index", index).shape, _check.number("src", src), dtype=self.dtype, device=self.device)
    if reduce is None:
        return _NATIVE["scatter"](self, dim, index, src)
    mode = {"add": "sum", "multiply": "prod"}.get(reduce)
    if mode is None:
        raise ArgumentError(f"argument 'reduce' is {reduce!r}\n help: choose from add, multiply")
    return self.scatter_reduce(dim, index, src, mode)


@_method
def argwhere(self):
    """The indices of what is not 0: ``[n, ndim]``."""
    return self.nonzero()
