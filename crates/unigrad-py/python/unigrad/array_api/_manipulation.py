"""Functions that rearrange arrays, and pick from them."""

import builtins

import unigrad as _u
from unigrad import Tensor

from ._dtypes import array, kind, result_type


def broadcast_arrays(*arrays):
    """The arrays, broadcast to their common shape.

    >>> import unigrad.array_api as xp
    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shape(*(array("arrays", x).shape for x in arrays))
    return [x.broadcast_to(shape) for x in arrays]


def broadcast_shape(*shapes):
    """The shape that arrays of these shapes have in common."""
    rank = builtins.max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for at, size in enumerate(shape, rank - len(shape)):
            if result[at] != 1 and size not in (1, result[at]):
                raise ValueError(f"shapes that do not broadcast: {', '.join(str(tuple(shape)) for shape in shapes)}")
            result[at] = size if result[at] == 1 else result[at]
    return tuple(result)


def broadcast_to(x, /, shape):
    """``x``, broadcast to a shape.

    >>> import unigrad.array_api as xp
    >>> xp.broadcast_to(xp.ones(3), (2, 3)).shape
    (2, 3)
    """
    return array("x", x).broadcast_to(tuple(shape))


def concat(arrays, /, *, axis=0):
    """Arrays one after the other along an axis; with ``axis=None`` flattened first.

    >>> import unigrad.array_api as xp
    >>> xp.concat([xp.ones(2), xp.zeros(1)])
    tensor([1., 1., 0.])
    """
    arrays = [array("arrays", x) for x in arrays]
    if not arrays:
        raise ValueError("`arrays`: at least one array is wanted")
    dtype = result_type(*arrays)
    arrays = [x if x.dtype == dtype else x.to(dtype) for x in arrays]
    if axis is None:
        arrays, axis = [x.reshape((-1,)) if x.numel() else x.reshape((0,)) for x in arrays], 0
    return _u.concat(arrays, axis)


def stack(arrays, /, *, axis=0):
    """Arrays of one shape along a new axis.

    >>> import unigrad.array_api as xp
    >>> xp.stack([xp.ones(2), xp.zeros(2)]).shape
    (2, 2)
    """
    arrays = [array("arrays", x) for x in arrays]
    if not arrays:
        raise ValueError("`arrays`: at least one array is wanted")
    dtype = result_type(*arrays)
    return _u.stack([x if x.dtype == dtype else x.to(dtype) for x in arrays], axis)


def unstack(x, /, *, axis=0):
    """The arrays along an axis, as a tuple.

    >>> import unigrad.array_api as xp
    >>> xp.unstack(xp.asarray([1, 2]))
    (tensor(1), tensor(2))
    """
    return tuple(array("x", x).unbind(axis))


def expand_dims(x, /, axis):
    """With a new axis of size 1 at ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.expand_dims(xp.ones(3), axis=0).shape
    (1, 3)
    """
    if not -array("x", x).ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"`axis` is between {-x.ndim - 1} and {x.ndim}, not {axis}")
    return x.unsqueeze(axis)


def squeeze(x, /, axis):
    """Without these axes, which have size 1.

    >>> import unigrad.array_api as xp
    >>> xp.squeeze(xp.ones((1, 3)), axis=0).shape
    (3,)
    """
    array("x", x)
    axes = (axis,) if isinstance(axis, builtins.int) else tuple(axis)
    for one in axes:
        if not -x.ndim <= one < x.ndim or x.shape[one] != 1:
            raise ValueError(f"`axis` {one} of {tuple(x.shape)} is not one of size 1")
    return x.squeeze(axes) if axes else _u.asarray(x, copy=True)


def flip(x, /, *, axis=None):
    """With the elements along these axes, or all, in reverse order.

    >>> import unigrad.array_api as xp
    >>> xp.flip(xp.asarray([1.0, 3.0, 2.0]))
    tensor([2., 3., 1.])
    """
    array("x", x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, builtins.int) else tuple(axis)
    return x.flip(axes) if axes else _u.asarray(x, copy=True)


def moveaxis(x, source, destination, /):
    """With axes at other places; the others keep their order.

    >>> import unigrad.array_api as xp
    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return array("x", x).moveaxis(source, destination)


def permute_dims(x, /, axes):
    """With the axes in another order.

    >>> import unigrad.array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    axes = tuple(axes)
    if sorted(axis % builtins.max(array("x", x).ndim, 1) for axis in axes) != list(range(x.ndim)):
        raise ValueError(f"`axes` names each of the {x.ndim} axes once, not {axes}")
    return x.permute(axes) if axes else _u.asarray(x, copy=True)


def reshape(x, /, shape, *, copy=None):
    """The same elements in another shape; one size may be -1. With ``copy`` in memory of its own.

    >>> import unigrad.array_api as xp
    >>> xp.reshape(xp.arange(4), (2, 2))
    tensor([[0, 1],
            [2, 3]])
    """
    result = array("x", x).reshape((shape,) if isinstance(shape, builtins.int) else tuple(shape))
    return _u.asarray(result, copy=True) if copy else result


def roll(x, /, shift, *, axis=None):
    """With elements moved along axes, those that leave at one end coming in at the other.

    >>> import unigrad.array_api as xp
    >>> xp.roll(xp.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    array("x", x)
    if axis is None:
        return x.reshape((-1,)).roll(shift, 0).reshape(x.shape) if x.numel() else _u.asarray(x, copy=True)
    axes = (axis,) if isinstance(axis, builtins.int) else tuple(axis)
    shifts = (shift,) * len(axes) if isinstance(shift, builtins.int) else tuple(shift)
    if len(shifts) != len(axes):
        raise ValueError(f"`shift` and `axis` are of one length, not {len(shifts)} and {len(axes)}")
    return x.roll(shifts, axes) if axes else _u.asarray(x, copy=True)


def repeat(x, repeats, /, *, axis=None):
    """With each element along an axis repeated; flattened first without ``axis``.

    >>> import unigrad.array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """
    array("x", x)
    if axis is None:
        x, axis = x.reshape((x.numel(),)), 0
    if isinstance(repeats, Tensor) and repeats.ndim == 1 and repeats.shape[0] == 1:
        repeats = repeats.broadcast_to((x.shape[axis],))
    elif isinstance(repeats, Tensor) and repeats.ndim == 0:
        repeats = repeats.item()
    return x.repeat_interleave(repeats, axis)


def tile(x, repetitions, /):
    """The whole array repeated along each axis.

    >>> import unigrad.array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2,))
    tensor([1, 2, 1, 2])
    """
    array("x", x)
    repetitions = tuple(repetitions)
    rank = builtins.max(x.ndim, len(repetitions))
    repetitions = (1,) * (rank - len(repetitions)) + repetitions
    x = x.reshape((1,) * (rank - x.ndim) + tuple(x.shape))
    return x.repeat(repetitions) if rank else _u.asarray(x, copy=True)


def _axis(name, x, axis):
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: `axis` is needed for an array of {x.ndim} axes")
        return 0
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"{name}: `axis` {axis} is not one of {tuple(x.shape)}")
    return axis % x.ndim


def _indices(name, indices):
    if kind(array("indices", indices).dtype) != "int":
        raise TypeError(f"{name}: `indices` is an array of integers, not of {indices.dtype}")
    return indices


def take(x, indices, /, *, axis=None):
    """The elements with these indices along an axis.

    >>> import unigrad
    >>> unigrad.array_api.take(unigrad.tensor([5, 6, 7]), unigrad.tensor([2, 0])).tolist()
    [7, 5]
    """
    axis, indices = _axis("take", array("x", x), axis), _indices("take", indices)
    return x[(slice(None),) * axis + (indices,)]


def take_along_axis(x, indices, /, *, axis=-1):
    """The elements with these indices along an axis, of each row its own; sizes of the other axes broadcast.

    >>> import unigrad.array_api as xp
    >>> xp.take_along_axis(xp.asarray([5, 6, 7]), xp.asarray([2, 0]), axis=0)
    tensor([7, 5])
    """
    axis, indices = _axis("take_along_axis", array("x", x), axis), _indices("take_along_axis", indices)
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_axis: `x` and `indices` have as many axes, not {x.ndim} and {indices.ndim}")
    one = lambda shape: tuple(1 if at == axis else size for at, size in enumerate(shape))  # noqa: E731
    common = broadcast_shape(one(x.shape), one(indices.shape))
    wide = lambda y: y.broadcast_to(common[:axis] + (y.shape[axis],) + common[axis + 1 :])  # noqa: E731
    x, indices = wide(x), wide(indices)
    if not indices.numel():
        return _u.zeros(indices.shape, dtype=x.dtype, device=x.device)
    return x.take_along_dim(indices, axis)
