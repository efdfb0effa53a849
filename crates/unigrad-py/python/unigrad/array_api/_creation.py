"""Functions that make arrays."""

import builtins

import unigrad as _u
from unigrad import Tensor

from ._dtypes import array, kind


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of a number, nested sequences, or another array; see `unigrad.asarray`.

    >>> import unigrad
    >>> unigrad.array_api.asarray([1, 2], dtype=unigrad.float64).dtype
    unigrad.float64
    """
    return _u.asarray(obj, dtype=dtype, device=device, copy=copy)


def _shape(shape):
    return (shape,) if isinstance(shape, builtins.int) else tuple(shape)


def zeros(shape, *, dtype=None, device=None):
    """Zeros; float32 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.zeros(2)
    tensor([0., 0.])
    """
    return _u.zeros(_shape(shape), dtype=dtype, device=device)


def ones(shape, *, dtype=None, device=None):
    """Ones; float32 without ``dtype``.

    >>> import unigrad.array_api as xp
    >>> xp.ones(2)
    tensor([1., 1.])
    """
    return _u.ones(_shape(shape), dtype=dtype, device=device)


def empty(shape, *, dtype=None, device=None):
    """An array whose values are not set: zeros here.

    >>> import unigrad.array_api as xp
    >>> xp.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


def full(shape, fill_value, *, dtype=None, device=None):
    """One value everywhere; without ``dtype`` bool, int64 or float32, as the value is.

    >>> import unigrad.array_api as xp
    >>> xp.full((2,), 7.0)
    tensor([7., 7.])
    """
    return _u.full(_shape(shape), fill_value, dtype=dtype, device=device)


def _like(x, dtype, device):
    x = array("x", x)
    return {"dtype": x.dtype if dtype is None else dtype, "device": x.device if device is None else device}


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.zeros_like(xp.ones(2))
    tensor([0., 0.])
    """
    return zeros(array("x", x).shape, **_like(x, dtype, device))


def ones_like(x, /, *, dtype=None, device=None):
    """Ones of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.ones_like(xp.zeros(2))
    tensor([1., 1.])
    """
    return ones(array("x", x).shape, **_like(x, dtype, device))


def empty_like(x, /, *, dtype=None, device=None):
    """An array of an array's shape whose values are not set: zeros here.

    >>> import unigrad.array_api as xp
    >>> xp.empty_like(xp.ones((2, 3))).shape
    (2, 3)
    """
    return zeros_like(x, dtype=dtype, device=device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value everywhere, of an array's shape.

    >>> import unigrad.array_api as xp
    >>> xp.full_like(xp.ones(2), 7.0)
    tensor([7., 7.])
    """
    return full(array("x", x).shape, fill_value, **_like(x, dtype, device))


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on the diagonal ``k`` (above the main one: positive), zeros elsewhere.

    >>> import unigrad.array_api as xp
    >>> xp.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    n_cols = n_rows if n_cols is None else n_cols
    # Beyond the matrix all diagonals are alike.
    k = builtins.max(-n_rows - 1, builtins.min(k, n_cols + 1))
    if k == 0:
        return _u.eye(n_rows, n_cols, dtype=dtype, device=device)
    device = _u.default_device() if device is None else device
    rows = _u.arange(n_rows, device=device).reshape((n_rows, 1))
    columns = _u.arange(n_cols, device=device).reshape((1, n_cols))
    return (columns - rows == k).to(_u.get_default_dtype() if dtype is None else dtype)


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from ``start`` up to ``stop``, which is left out, by ``step``; int64 if all three are integers, else float32.

    >>> import unigrad.array_api as xp
    >>> xp.arange(0, 10, 3)
    tensor([0, 3, 6, 9])
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("`step` is not 0")
    if (stop - start) * step <= 0:
        whole = builtins.all(isinstance(value, builtins.int) for value in (start, stop, step))
        return zeros((0,), dtype=dtype or (_u.int64 if whole else _u.get_default_dtype()), device=device)
    return _u.arange(start, stop, step, dtype=dtype, device=device)


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """``num`` numbers from ``start`` to ``stop`` with equal distances; without ``endpoint`` ``stop`` is left out.

    >>> import unigrad.array_api as xp
    >>> xp.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    if endpoint or num == 0:
        return _u.linspace(start, stop, num, dtype=dtype, device=device)
    return _u.linspace(start, stop, num + 1, dtype=dtype, device=device)[:num]


def meshgrid(*arrays, indexing="xy"):
    """The coordinates of a grid, an array for each axis.

    >>> import unigrad.array_api as xp
    >>> [x.shape for x in xp.meshgrid(xp.arange(2), xp.arange(3))]
    [(3, 2), (3, 2)]
    """
    if not arrays:
        return []
    first = arrays[0].dtype
    if builtins.any(x.dtype != first for x in arrays):
        raise ValueError("`arrays`: all are of one dtype")
    return list(_u.meshgrid(*arrays, indexing=indexing))


def tril(x, /, *, k=0):
    """The elements on and below the diagonal ``k``; zeros above.

    >>> import unigrad.array_api as xp
    >>> xp.tril(xp.ones((2, 2)))
    tensor([[1., 0.],
            [1., 1.]])
    """
    return Tensor.tril(array("x", x), _diagonal(x, k))


def triu(x, /, *, k=0):
    """The elements on and above the diagonal ``k``; zeros below.

    >>> import unigrad.array_api as xp
    >>> xp.triu(xp.ones((2, 2)))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return Tensor.triu(array("x", x), _diagonal(x, k))


def _diagonal(x, k):
    """``k``, where it is a diagonal; else the nearest one that is beyond all."""
    return k if x.ndim < 2 else builtins.max(-x.shape[-2] - 1, builtins.min(k, x.shape[-1] + 1))


def filled(value, like):
    """A number as an array without axes, of the dtype that it has beside ``like``."""
    from ._dtypes import of_scalar

    dtype = of_scalar(value, like.dtype)
    if kind(dtype) == "bool":
        value = builtins.bool(value)
    return _u.full((), value, dtype=dtype, device=like.device)
