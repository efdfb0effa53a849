"""Losses as modules: made from a table of their settings, each a function of ``functional``."""

import math

from .. import _check
from .._errors import ArgumentError
from .._told import named
from . import functional as F
from ._made import module_class
from .layers import Linear
from .module import Module

_NUMBER, _FLAG, _WHOLE = _check.number, _check.flag, _check.whole


def _optional(name, value):
    return _check.tensor(name, value, optional=True)


def _reduced(name, value):
    return _check.one_of(name, value, ("none", "mean", "sum"))


def _kl_reduced(name, value):
    return _check.one_of(name, value, ("none", "mean", "sum", "batchmean"))


def _smoothing(name, value):
    return _check.probability(name, value)


def _any(name, value):
    return value


_OLD = [("size_average", None, _any), ("reduce", None, _any)]
_MEAN = [("reduction", "mean", _reduced)]

# Name, function, how many tensors it takes, settings in PyTorch's order: name, default, what it must be.
_TABLE = [
    ("L1Loss", "l1_loss", 2, [*_OLD, *_MEAN]),
    ("MSELoss", "mse_loss", 2, [*_OLD, *_MEAN]),
    ("SmoothL1Loss", "smooth_l1_loss", 2, [*_OLD, *_MEAN, ("beta", 1.0, _NUMBER)]),
    ("HuberLoss", "huber_loss", 2, [*_MEAN, ("delta", 1.0, _NUMBER)]),
    ("NLLLoss", "nll_loss", 2, [("weight", None, _optional), _OLD[0], ("ignore_index", -100, _WHOLE), _OLD[1], *_MEAN]),
    (
        "CrossEntropyLoss",
        "cross_entropy",
        2,
        [("weight", None, _optional), _OLD[0], ("ignore_index", -100, _WHOLE), _OLD[1], *_MEAN, ("label_smoothing", 0.0, _smoothing)],
    ),
    ("BCELoss", "binary_cross_entropy", 2, [("weight", None, _optional), *_OLD, *_MEAN]),
    (
        "BCEWithLogitsLoss",
        "binary_cross_entropy_with_logits",
        2,
        [("weight", None, _optional), *_OLD, *_MEAN, ("pos_weight", None, _optional)],
    ),
    ("KLDivLoss", "kl_div", 2, [*_OLD, ("reduction", "mean", _kl_reduced), ("log_target", False, _FLAG)]),
    (
        "PoissonNLLLoss",
        "poisson_nll_loss",
        2,
        [("log_input", True, _FLAG), ("full", False, _FLAG), _OLD[0], ("eps", 1e-8, _NUMBER), _OLD[1], *_MEAN],
    ),
    ("GaussianNLLLoss", "gaussian_nll_loss", 3, [("full", False, _FLAG), ("eps", 1e-6, _NUMBER), *_MEAN]),
    ("HingeEmbeddingLoss", "hinge_embedding_loss", 2, [("margin", 1.0, _NUMBER), *_OLD, *_MEAN]),
    ("CosineEmbeddingLoss", "cosine_embedding_loss", 3, [("margin", 0.0, _NUMBER), *_OLD, *_MEAN]),
    ("MarginRankingLoss", "margin_ranking_loss", 3, [("margin", 0.0, _NUMBER), *_OLD, *_MEAN]),
    ("SoftMarginLoss", "soft_margin_loss", 2, [*_OLD, *_MEAN]),
    ("MultiMarginLoss", "multi_margin_loss", 2, [("p", 1, _WHOLE), ("margin", 1.0, _NUMBER), ("weight", None, _optional), *_OLD, *_MEAN]),
    ("MultiLabelMarginLoss", "multilabel_margin_loss", 2, [*_OLD, *_MEAN]),
    ("MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", 2, [("weight", None, _optional), *_OLD, *_MEAN]),
    (
        "TripletMarginLoss",
        "triplet_margin_loss",
        3,
        [("margin", 1.0, _NUMBER), ("p", 2.0, _NUMBER), ("eps", 1e-6, _NUMBER), ("swap", False, _FLAG), *_OLD, *_MEAN],
    ),
    ("CTCLoss", "ctc_loss", 4, [("blank", 0, _check.size), *_MEAN, ("zero_infinity", False, _FLAG)]),
    ("FocalLoss", "focal_loss", 2, [("alpha", 0.25, _NUMBER), ("gamma", 2.0, _NUMBER), *_MEAN]),
    ("DiceLoss", "dice_loss", 2, [("smooth", 1.0, _NUMBER), *_MEAN]),
]

__all__ = [name for name, *_ in _TABLE] + ["LinearCrossEntropyLoss", "TripletMarginWithDistanceLoss"]


def _loss(name, function, n, settings):
    op = getattr(F, function)
    weights = [own for own, _, check in settings if check is _optional]
    plain = [own for own, _, check in settings if check not in (_optional, _any)]

    def begin(self, given):
        for own, _, check in settings:
            value = check(own, given[own])
            if own in weights:
                self.register_buffer(own, value)
            elif check is not _any:
                setattr(self, own, value)
        if given.get("size_average") is False:
            self.reduction = "sum"
        if given.get("reduce") is False:
            self.reduction = "none"

    def forward(self, *inputs):
        if len(inputs) != n:
            raise TypeError(f"{name} takes {n} arguments, not {len(inputs)}")
        own, buffers = self.__dict__, self._buffers
        return op(*inputs, **{key: own[key] for key in plain}, **{key: buffers[key] for key in weights})

    forward.__doc__ = (op.__doc__ or "").strip()

    def extra_repr(self):
        return ", ".join(f"{own}={getattr(self, own)!r}" for own, default, _ in settings if own in plain and getattr(self, own) != default)

    return module_class(name, __name__, settings, begin, forward, extra_repr, (op.__doc__ or "").strip())


for _row in _TABLE:
    globals()[_row[0]] = _loss(*_row)


class TripletMarginWithDistanceLoss(Module):
    """As ``TripletMarginLoss``, by a distance of one's own: a function of two tensors.

    >>> import unigrad as ug
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> ug.nn.TripletMarginWithDistanceLoss(distance_function=distance)(ug.zeros(1, 2), ug.ones(1, 2), ug.ones(1, 2))
    tensor(1.)
    """

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__()
        self.distance_function = F.pairwise_distance if distance_function is None else _check.call("distance_function", distance_function)
        self.margin, self.swap, self.reduction = _NUMBER("margin", margin), _FLAG("swap", swap), _reduced("reduction", reduction)

    def forward(self, anchor, positive, negative):
        """Of three tensors ``[n, ..]``."""
        settings = {"margin": self.margin, "swap": self.swap, "reduction": self.reduction}
        return F.triplet_margin_with_distance_loss(anchor, positive, negative, distance_function=self.distance_function, **settings)


class LinearCrossEntropyLoss(Module):
    """A linear map to the logits of classes and their cross-entropy in one: what a language model ends with.

    >>> import unigrad as ug
    >>> loss = ug.nn.LinearCrossEntropyLoss(4, 10)
    >>> loss(ug.randn(2, 4), ug.tensor([1, 9])).shape
    ()
    """

    @named
    def __init__(
        self,
        in_features,
        num_classes,
        bias=False,
        ignore_index=None,
        reduction="mean",
        label_smoothing=0.0,
        device=None,
        dtype=None,
        *,
        out_features=(),
        weight=None,
        options=None,
    ):
        super().__init__()
        self.num_classes, self.out_features = _check.positive("num_classes", num_classes), _check.shape("out_features", out_features)
        if _optional("weight", weight) is not None and weight.shape != (self.num_classes,):
            raise ArgumentError(f"argument 'weight' is {list(weight.shape)}\n help: give one weight for each of {self.num_classes} classes")
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, math.prod(self.out_features, start=self.num_classes), bias, device, dtype)
        self.ignore_index, self.reduction = None if ignore_index is None else _WHOLE("ignore_index", ignore_index), _reduced("reduction", reduction)
        self.label_smoothing, self.options = _check.probability("label_smoothing", label_smoothing), options

    def forward(self, input, target):
        """``[.., in_features]`` and classes ``[..]``, or, with ``out_features``, ``[n, in_features]`` and classes ``[n, *out_features]``. Or probabilities of classes."""
        settings = dict(weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing)
        lead = _check.tensor("input", input).shape[:-1]
        rows = len(lead) > 1 and not self.out_features
        if _check.tensor("target", target).is_floating_point():
            if rows:
                target = target.reshape(-1, target.shape[-1] if target.ndim else 1)
        elif input.ndim == 0 or lead + self.out_features != target.shape:
            raise ArgumentError(
                f"arguments 'input' {list(input.shape)} and 'target' {list(target.shape)}\n help: give one class for each input"
            )
        elif rows:
            target = target.reshape(-1)
        weight = self.linear.weight.reshape(self.num_classes, *self.out_features, self.linear.in_features)
        flat = input.reshape(-1, input.shape[-1]) if rows else input
        loss = F.linear_cross_entropy(flat, weight, target, linear_bias=self.linear.bias, **settings)
        return loss.reshape(lead) if rows and self.reduction == "none" else loss
