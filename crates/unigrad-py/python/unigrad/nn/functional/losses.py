"""Distances and losses."""

import itertools

from ... import _check
from ..._check import tensor as _tensor
from ..._errors import ArgumentError
from ..._unigrad import Tensor, triu_indices
from .layers import linear

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity", "cross_entropy",
    "ctc_loss", "dice_loss", "focal_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "linear_cross_entropy", "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "pairwise_distance", "pdist", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between two tensors along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.cosine_similarity(ug.ones(1, 2), ug.ones(1, 2), dim=-1)
    tensor([1.0000])
    """
    return _tensor("x1", x1).cosine_similarity(x2, dim, eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of the difference along the last axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.pairwise_distance(ug.zeros(1, 2), ug.tensor([[3.0, 4.0]]))
    tensor([5.0000])
    """
    distance = _tensor("x1", x1).pairwise_distance(x2, p, eps)
    return distance.unsqueeze(-1) if keepdim else distance


def pdist(input, p=2.0):
    """The distances of all pairs of rows of a matrix, ``[n (n - 1) / 2]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pdist(ug.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])
    """
    input = _tensor("input", input)
    if input.ndim != 2:
        raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give a matrix")
    n = input.shape[0]
    pairs = triu_indices(n, n, 1, device=input.device)
    return input[pairs[0]].pairwise_distance(input[pairs[1]], p, 0.0)


def _reduction(reduction, size_average=None, reduce=None):
    if size_average is None and reduce is None and reduction == "mean":
        return "mean"
    # PyTorch's old keywords.
    if reduce is False:
        return "none"
    if size_average is False:
        return "sum"
    return _check.one_of("reduction", reduction, ("none", "mean", "sum"))


def _weighted(loss, weight, reduction):
    if weight is None:
        return None
    loss = loss * weight
    return loss if reduction == "none" else loss.sum() / weight.expand(loss.shape).sum() if reduction == "mean" else loss.sum()


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """Cross-entropy of logits ``[n, classes, ..]``: the target is the index of a class ``[n, ..]``, or a distribution ``[n, classes, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.cross_entropy(ug.zeros(3, 4), ug.tensor([0, 1, 3]))
    tensor(1.3863)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if type(label_smoothing) is not float or label_smoothing:
        label_smoothing = _check.probability("label_smoothing", label_smoothing)
    if ignore_index != -100 and isinstance(target, Tensor) and target.is_floating_point() and _check.whole("ignore_index", ignore_index) >= 0:
        raise ArgumentError(f"argument 'ignore_index' is {ignore_index}, of targets that are distributions\n help: leave it out, or give indices of classes")
    return _tensor("input", input).cross_entropy(
        target, weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing
    )


def linear_cross_entropy(
    input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0, options=None
):
    """The cross-entropy of the logits of a linear map: ``linear_weight`` is ``[classes, .., in_features]``. ``options`` is taken and changes nothing.

    >>> import unigrad as ug
    >>> ug.nn.functional.linear_cross_entropy(ug.ones(2, 4), ug.zeros(3, 4), ug.tensor([0, 2]))
    tensor(1.0986)
    """
    input, linear_weight = _tensor("input", input), _tensor("linear_weight", linear_weight)
    if input.ndim == 0 or linear_weight.ndim < 2:
        raise ArgumentError(
            f"arguments 'input' {list(input.shape)} and 'linear_weight' {list(linear_weight.shape)}\n help: give `[n, in_features]` and `[classes, in_features]`"
        )
    flat = linear_weight.reshape(-1, linear_weight.shape[-1])
    bias = None if linear_bias is None else _tensor("linear_bias", linear_bias).reshape(-1)
    logits = linear(input, flat, bias).reshape(*input.shape[:-1], *linear_weight.shape[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """Negative log-likelihood of log-probabilities ``[n, classes, ..]``; the target is the index of a class.

    >>> import unigrad as ug
    >>> ug.nn.functional.nll_loss(ug.tensor([[-0.5, -1.0]]), ug.tensor([1]))
    tensor(1.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    return _tensor("input", input).nll_loss(target, weight, ignore_index=ignore_index, reduction=reduction)


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """Binary cross-entropy of probabilities.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy(ug.tensor([0.5, 0.5]), ug.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    return _tensor("input", input).bce_loss(target, weight, reduction=_reduction(reduction, size_average, reduce))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    """Binary cross-entropy of logits, without overflow.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy_with_logits(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    reduction = _reduction(reduction, size_average, reduce)
    return _tensor("input", input).bce_with_logits(target, weight, pos_weight=pos_weight, reduction=reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Squared differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.mse_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(_tensor("input", input).mse_loss(target, reduction="none"), _tensor("weight", weight), reduction)
    return _tensor("input", input).mse_loss(target, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """Absolute differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    if weight is not None:
        return _weighted(_tensor("input", input).l1_loss(target, reduction="none"), _tensor("weight", weight), reduction)
    return _tensor("input", input).l1_loss(target, reduction=reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """Squared where a difference is below ``beta``, else absolute.

    >>> import unigrad as ug
    >>> ug.nn.functional.smooth_l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)
    """
    return _tensor("input", input).smooth_l1_loss(target, reduction=_reduction(reduction, size_average, reduce), beta=beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Squared where a difference is below ``delta``, else absolute, times ``delta``.

    >>> import unigrad as ug
    >>> ug.nn.functional.huber_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)
    """
    reduction, delta = _reduction(reduction), _check.number("delta", delta, above=0.0)
    if weight is not None:
        loss = _tensor("input", input).huber_loss(target, reduction="none", delta=delta)
        return _weighted(loss, _tensor("weight", weight), reduction)
    return _tensor("input", input).huber_loss(target, reduction=reduction, delta=delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """Kullback and Leibler's divergence of log-probabilities; ``reduction="batchmean"`` is the mathematical one.

    >>> import unigrad as ug
    >>> ug.nn.functional.kl_div(ug.tensor([[0.5, 0.5]]).log(), ug.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.)
    """
    if reduction == "batchmean":
        return _tensor("input", input).kl_div(target, log_target, "sum") / max(input.shape[0] if input.ndim else 1, 1)
    return _tensor("input", input).kl_div(target, log_target, _reduction(reduction, size_average, reduce))


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    """Negative log-likelihood of counts by Poisson's distribution.

    >>> import unigrad as ug
    >>> ug.nn.functional.poisson_nll_loss(ug.zeros(2), ug.tensor([1.0, 2.0]))
    tensor(1.)
    """
    return _tensor("input", input).poisson_nll_loss(target, log_input, full, eps, _reduction(reduction, size_average, reduce))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """Negative log-likelihood of numbers by normal distributions of variance ``var``.

    >>> import unigrad as ug
    >>> ug.nn.functional.gaussian_nll_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]), ug.ones(2))
    tensor(1.)
    """
    input = _tensor("input", input)
    if not isinstance(var, Tensor):
        var = Tensor(_check.number("var", var, 0.0), dtype=input.dtype, device=input.device).expand(input.shape)
    return input.gaussian_nll_loss(target, var, full, eps, _reduction(reduction))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """Distances where the target is 1, how far they fall short of ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.hinge_embedding_loss(ug.tensor([0.5, 0.25]), ug.tensor([1, -1]))
    tensor(0.6250)
    """
    return _tensor("input", input).hinge_embedding_loss(target, margin, _reduction(reduction, size_average, reduce))


def cosine_embedding_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """One less the cosine where the target is 1, the cosine above ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.cosine_embedding_loss(ug.ones(1, 2), ug.ones(1, 2), ug.tensor([-1]))
    tensor(1.)
    """
    return _tensor("input1", input1).cosine_embedding_loss(input2, target, margin, _reduction(reduction, size_average, reduce))


def margin_ranking_loss(input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction="mean"):
    """How far ``input1`` is from ranking above ``input2`` by ``margin`` (target 1), or below (-1).

    >>> import unigrad as ug
    >>> ug.nn.functional.margin_ranking_loss(ug.tensor([1.0]), ug.tensor([3.0]), ug.tensor([1.0]))
    tensor(2.)
    """
    return _tensor("input1", input1).margin_ranking_loss(input2, target, margin, _reduction(reduction, size_average, reduce))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``, for targets of 1 and -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.soft_margin_loss(ug.zeros(2), ug.tensor([1.0, -1.0]))
    tensor(0.6931)
    """
    return _tensor("input", input).soft_margin_loss(target, _reduction(reduction, size_average, reduce))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The hinge loss of classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multi_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([0]))
    tensor(0.7500)
    """
    p = _check.one_of("p", str(_check.whole("p", p)), ("1", "2"))
    return _tensor("input", input).multi_margin_loss(target, int(p), margin, weight, _reduction(reduction, size_average, reduce))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The hinge loss of several classes each: targets are lists of classes, ended by -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([[0, -1]]))
    tensor(0.7500)
    """
    return _tensor("input", input).multilabel_margin_loss(target, _reduction(reduction, size_average, reduce))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The binary cross-entropy of logits, mean over classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_soft_margin_loss(ug.zeros(1, 2), ug.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    return _tensor("input", input).multilabel_soft_margin_loss(target, weight, _reduction(reduction, size_average, reduce))


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """How far a positive is from being nearer to the anchor than a negative by ``margin``.

    >>> import unigrad as ug
    >>> ug.nn.functional.triplet_margin_loss(ug.zeros(1, 2), ug.zeros(1, 2), ug.ones(1, 2))
    tensor(0.)
    """
    reduction = _reduction(reduction, size_average, reduce)
    p, margin = _check.number("p", p), _check.number("margin", margin, above=0.0)
    return _tensor("anchor", anchor).triplet_margin_loss(positive, negative, margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    """As ``triplet_margin_loss``, by a distance of one's own.

    >>> import unigrad as ug
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> ug.nn.functional.triplet_margin_with_distance_loss(ug.zeros(1, 2), ug.ones(1, 2), ug.ones(1, 2), distance_function=distance)
    tensor(1.)
    """
    distance = pairwise_distance if distance_function is None else _check.call("distance_function", distance_function)
    reduction, margin = _reduction(reduction), _check.number("margin", margin, above=0.0)
    for name, value in (("anchor", anchor), ("positive", positive), ("negative", negative)):
        _tensor(name, value)
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    loss = (near - far + margin).clamp(min=0.0)
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _rows(targets, lengths):
    """Labels that lie one after another, as rows of the longest sequence's length: what is beyond a row's own is not read."""
    counts = lengths.tolist() if lengths.ndim == 1 else [lengths.item()]
    n = targets.shape[0]
    if min(counts, default=0) < 0 or sum(counts) != n:
        raise ArgumentError(f"argument 'target_lengths' is {counts}, for {n} labels one after another\n help: give lengths whose sum is {n}")
    if n == 0:
        return targets.reshape(len(counts), 0)
    starts = itertools.accumulate(counts, initial=0)
    places = [[min(start + at, n - 1) for at in range(max(counts))] for start, _ in zip(starts, counts)]
    return targets[Tensor(places, device=targets.device)]


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Connectionist temporal classification: ``log_probs`` are ``[steps, n, classes]`` (or ``[steps, classes]``), targets ``[n, labels]`` or one
    after another.

    >>> import unigrad as ug
    >>> log_probs = ug.zeros(5, 1, 3).log_softmax(-1)
    >>> ug.nn.functional.ctc_loss(log_probs, ug.tensor([[1, 2]]), ug.tensor([5]), ug.tensor([2])).shape
    ()
    """
    log_probs = _tensor("log_probs", log_probs)

    def lengths(name, given):
        if isinstance(given, Tensor):
            return given
        given = [given] if isinstance(given, int) else given
        return Tensor(list(given), dtype="int64", device=log_probs.device)

    steps, labels = lengths("input_lengths", input_lengths), lengths("target_lengths", target_lengths)
    if _tensor("targets", targets).ndim == 1 and log_probs.ndim == 3:
        targets = _rows(targets, labels)
    return log_probs.ctc_loss(targets, steps, labels, blank=blank, reduction=_reduction(reduction), zero_infinity=bool(zero_infinity))


def focal_loss(input, target, alpha=0.25, gamma=2.0, reduction="mean"):
    """The focal loss of logits (Lin et al., 2017); targets are 0 and 1.

    >>> import unigrad as ug
    >>> ug.nn.functional.focal_loss(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.0866)
    """
    return _tensor("input", input).focal_loss(target, alpha, gamma, _reduction(reduction))


def dice_loss(input, target, smooth=1.0, reduction="mean"):
    """One less the Dice coefficient of probabilities and targets ``[n, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dice_loss(ug.zeros(1, 2, 2), ug.ones(1, 2, 2)).shape
    ()
    """
    return _tensor("input", input).dice_loss(target, smooth, _reduction(reduction))
