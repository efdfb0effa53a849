"""Products of arrays that are no extension."""

import unigrad as _u
from unigrad import Tensor

from ._dtypes import array, kind, promoted


def _both(name, x1, x2):
    array("x1", x1), array("x2", x2)
    for argument, x in (("x1", x1), ("x2", x2)):
        if kind(x.dtype) == "bool":
            raise TypeError(f"{name}: `{argument}` is an array of numbers, not of {x.dtype}")
    dtype = promoted(x1.dtype, x2.dtype)
    return x1.to(dtype), x2.to(dtype)


def matmul(x1, x2, /):
    """``x1 @ x2``.

    >>> import unigrad.array_api as xp
    >>> xp.matmul(xp.ones((2, 3)), xp.ones((3, 4))).shape
    (2, 4)
    """
    x1, x2 = _both("matmul", x1, x2)
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: `x1` and `x2` have at least one axis")
    return Tensor.matmul(x1, x2)


def matrix_transpose(x, /):
    """Matrices, in the last two axes, transposed.

    >>> import unigrad.array_api as xp
    >>> xp.matrix_transpose(xp.ones((2, 3))).shape
    (3, 2)
    """
    if array("x", x).ndim < 2:
        raise ValueError(f"matrix_transpose: `x` has at least two axes, not {x.ndim}")
    return x.mT


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over the last ``axes`` axes of ``x1`` and the first of ``x2``, or over pairs of axes that are named.

    >>> import unigrad.array_api as xp
    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x1, x2 = _both("tensordot", x1, x2)
    if isinstance(axes, int):
        if axes < 0 or axes > min(x1.ndim, x2.ndim):
            raise ValueError(f"tensordot: `axes` is between 0 and {min(x1.ndim, x2.ndim)}, not {axes}")
        left, right = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        left, right = ([axis] if isinstance(axis, int) else list(axis) for axis in axes)
        left, right = [axis % x1.ndim for axis in left], [axis % x2.ndim for axis in right]
    if len(left) != len(right) or any(x1.shape[a] != x2.shape[b] for a, b in zip(left, right)):
        raise ValueError(f"tensordot: the sizes of the axes {left} of {x1.shape} and {right} of {x2.shape} differ")
    if not left:
        return x1.reshape(tuple(x1.shape) + (1,) * x2.ndim) * x2
    return Tensor.tensordot(x1, x2, left, right)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along an axis, counted from the end.

    >>> import unigrad.array_api as xp
    >>> xp.vecdot(xp.asarray([1.0, 2.0]), xp.asarray([3.0, 4.0]))
    tensor(11.)
    """
    x1, x2 = _both("vecdot", x1, x2)
    if not -min(x1.ndim, x2.ndim) <= axis < 0:
        if not 0 <= axis < min(x1.ndim, x2.ndim):
            raise ValueError(f"vecdot: `axis` {axis} is not one of {x1.shape} and {x2.shape}")
    x1, x2 = _u.array_api.moveaxis(x1, axis, -1), _u.array_api.moveaxis(x2, axis, -1)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: the sizes of the axis differ: {x1.shape[-1]} and {x2.shape[-1]}")
    return (x1 * x2).sum(dim=-1).to(x1.dtype)
