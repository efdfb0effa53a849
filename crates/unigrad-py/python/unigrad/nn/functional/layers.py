"""Linear maps, drops, and tables of vectors."""

from ... import _check, no_grad
from ..._check import tensor as _tensor
from ..._errors import ArgumentError
from ..._unigrad import Tensor, _nn

__all__ = [
    "alpha_dropout", "bilinear", "dropout", "dropout1d", "dropout2d", "dropout3d", "embedding", "embedding_bag",
    "feature_alpha_dropout", "linear", "one_hot",
]  # fmt: skip


def linear(input, weight, bias=None):
    """``input @ weight.T + bias``: ``[.., in]`` with ``weight`` ``[out, in]`` to ``[.., out]``; with ``weight`` ``[in]`` to ``[..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.linear(ug.ones(2, 3), ug.ones(4, 3)).shape
    (2, 4)
    """
    if isinstance(weight, Tensor) and weight.ndim == 1:
        product = _tensor("input", input) @ weight
        return product if bias is None else product + _tensor("bias", bias)
    return _tensor("input", input).linear(weight, bias)


def bilinear(input1, input2, weight, bias=None):
    """``input1 · weight_k · input2`` for each output ``k``: ``weight`` is ``[out, in1, in2]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.bilinear(ug.zeros(2, 3), ug.zeros(2, 4), ug.zeros(5, 3, 4)).shape
    (2, 5)
    """
    return _tensor("input1", input1).bilinear(input2, weight, bias)


def _drop(name, drop, trains=True):
    def function(input, p=0.5, training=trains, inplace=False):
        p = _check.probability("p", p)
        return drop(_tensor("input", input), p) if training and p else _tensor("input", input)

    function.__name__ = function.__qualname__ = name
    return function


dropout = _drop("dropout", _nn.dropout)
dropout.__doc__ = "While training each element is 0 with probability ``p``, else divided by ``1 - p``."
dropout1d = _drop("dropout1d", lambda input, p: _nn.dropout_channels(input, p, 1))
dropout1d.__doc__ = "Drops channels of ``[n, c, l]`` or ``[c, l]``."
dropout2d = _drop("dropout2d", lambda input, p: _nn.dropout_channels(input, p, 2))
dropout2d.__doc__ = "Drops channels of ``[n, c, h, w]`` or ``[c, h, w]``."
dropout3d = _drop("dropout3d", lambda input, p: _nn.dropout_channels(input, p, 3))
dropout3d.__doc__ = "Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]``."
alpha_dropout = _drop("alpha_dropout", lambda input, p: _nn.alpha_dropout(input, p, False), False)
alpha_dropout.__doc__ = "Drops elements to where SELU saturates, such that mean and variance stay."
feature_alpha_dropout = _drop("feature_alpha_dropout", lambda input, p: _nn.alpha_dropout(input, p, True), False)
feature_alpha_dropout.__doc__ = "As ``alpha_dropout``, of whole channels (axis 1)."


def _renormalized(weight, input, max_norm, norm_type):
    """Scales the rows of a table that are looked up and longer than ``max_norm``, for all holders of the table; no gradient knows of it."""
    limit, kind = _check.number("max_norm", max_norm), _check.number("norm_type", norm_type)
    with no_grad():
        places = input.flatten()
        rows = weight.detach()[places]
        lengths = rows.norm(kind, dim=1, keepdim=True)
        weight.copy_(weight.detach().index_copy(0, places, (lengths > limit).where_(rows * (limit / (lengths + 1e-7)), rows)))
    return weight


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """A row of ``weight`` for each index: ``[..]`` with ``weight`` ``[n, size]`` to ``[.., size]``. Gradients are dense.

    With ``max_norm`` the rows that are looked up are scaled in place, in ``weight``, to have that norm at most.

    >>> import unigrad as ug
    >>> ug.nn.functional.embedding(ug.tensor([1, 0]), ug.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    _tensor("input", input)
    if _tensor("weight", weight).ndim != 2:
        raise ArgumentError(f"argument 'weight' has {weight.ndim} axes\n help: give a table `[entries, size]`; `index_select` takes any")
    if max_norm is not None:
        weight = _renormalized(weight, input, max_norm, norm_type)
    if padding_idx is None and not scale_grad_by_freq:
        return weight.embedding(input)
    return weight.embedding_with(input, padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2.0,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or greatest of the rows of each bag of indices: the rows of a matrix, or what begins at ``offsets`` of a vector.

    >>> import unigrad as ug
    >>> ug.nn.functional.embedding_bag(ug.tensor([[1, 0]]), ug.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[2., 3.]])
    """
    _tensor("input", input)
    if max_norm is not None:
        weight = _renormalized(_tensor("weight", weight), input, max_norm, norm_type)
    return _tensor("weight", weight).embedding_bag(
        input,
        mode=mode,
        offsets=offsets,
        include_last_offset=include_last_offset,
        weights=per_sample_weights,
        padding_idx=padding_idx,
        scale_grad_by_freq=scale_grad_by_freq,
    )


def one_hot(tensor, num_classes=-1):
    """1 at each index, else 0: ``[..]`` to ``[.., num_classes]``; with -1 as many as are needed, which is a read.

    >>> import unigrad as ug
    >>> ug.nn.functional.one_hot(ug.tensor([0, 2]), 3)
    tensor([[1, 0, 0],
            [0, 0, 1]])
    """
    tensor = _tensor("tensor", tensor)
    num_classes = _check.whole("num_classes", num_classes, -1)
    if num_classes == -1:
        if tensor.numel() == 0:
            raise ArgumentError("argument 'num_classes' is -1, of an empty tensor\n help: say how many classes there are")
        num_classes = int(tensor.amax().item()) + 1
        if num_classes < 1:
            raise ArgumentError("argument 'tensor' has classes below 0\n help: classes are counted from 0")
    return tensor.one_hot(num_classes)
