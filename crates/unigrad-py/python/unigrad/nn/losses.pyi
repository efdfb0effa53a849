# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad.nn.module import Module as Module

class L1Loss(Module):
    """Absolute differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(1.)

    >>> import unigrad as ug
    >>> ug.nn.L1Loss()(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(1.)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Absolute differences.

        >>> import unigrad as ug
        >>> ug.nn.functional.l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
        tensor(1.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class MSELoss(Module):
    """Squared differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.mse_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(2.)

    >>> import unigrad as ug
    >>> ug.nn.MSELoss()(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(2.)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Squared differences.

        >>> import unigrad as ug
        >>> ug.nn.functional.mse_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
        tensor(2.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class SmoothL1Loss(Module):
    """Squared where a difference is below ``beta``, else absolute.

    >>> import unigrad as ug
    >>> ug.nn.functional.smooth_l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)

    >>> import unigrad as ug
    >>> ug.nn.SmoothL1Loss()(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', beta: builtins.float=1.0) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Squared where a difference is below ``beta``, else absolute.

        >>> import unigrad as ug
        >>> ug.nn.functional.smooth_l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
        tensor(0.7500)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class HuberLoss(Module):
    """Squared where a difference is below ``delta``, else absolute, times ``delta``.

    >>> import unigrad as ug
    >>> ug.nn.functional.huber_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)

    >>> import unigrad as ug
    >>> ug.nn.HuberLoss(delta=1.0)(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)"""
    def __init__(self, reduction: builtins.str='mean', delta: builtins.float=1.0) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Squared where a difference is below ``delta``, else absolute, times ``delta``.

        >>> import unigrad as ug
        >>> ug.nn.functional.huber_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
        tensor(0.7500)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class NLLLoss(Module):
    """Negative log-likelihood of log-probabilities ``[n, classes, ..]``; the target is the index of a class.

    >>> import unigrad as ug
    >>> ug.nn.functional.nll_loss(ug.tensor([[-0.5, -1.0]]), ug.tensor([1]))
    tensor(1.)

    >>> import unigrad as ug
    >>> ug.nn.NLLLoss()(ug.tensor([[-0.5, -1.0]]), ug.tensor([1]))
    tensor(1.)"""
    def __init__(self, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Negative log-likelihood of log-probabilities ``[n, classes, ..]``; the target is the index of a class.

        >>> import unigrad as ug
        >>> ug.nn.functional.nll_loss(ug.tensor([[-0.5, -1.0]]), ug.tensor([1]))
        tensor(1.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class CrossEntropyLoss(Module):
    """Cross-entropy of logits ``[n, classes, ..]``: the target is the index of a class ``[n, ..]``, or a distribution ``[n, classes, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.cross_entropy(ug.zeros(3, 4), ug.tensor([0, 1, 3]))
    tensor(1.3863)

    >>> import unigrad as ug
    >>> ug.nn.CrossEntropyLoss()(ug.zeros(3, 4), ug.tensor([0, 1, 3]))
    tensor(1.3863)"""
    def __init__(self, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean', label_smoothing: builtins.float=0.0) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Cross-entropy of logits ``[n, classes, ..]``: the target is the index of a class ``[n, ..]``, or a distribution ``[n, classes, ..]``.

        >>> import unigrad as ug
        >>> ug.nn.functional.cross_entropy(ug.zeros(3, 4), ug.tensor([0, 1, 3]))
        tensor(1.3863)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class BCELoss(Module):
    """Binary cross-entropy of probabilities.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy(ug.tensor([0.5, 0.5]), ug.tensor([0.0, 1.0]))
    tensor(0.6931)

    >>> import unigrad as ug
    >>> ug.nn.BCELoss()(ug.tensor([0.5, 0.5]), ug.tensor([0.0, 1.0]))
    tensor(0.6931)"""
    def __init__(self, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Binary cross-entropy of probabilities.

        >>> import unigrad as ug
        >>> ug.nn.functional.binary_cross_entropy(ug.tensor([0.5, 0.5]), ug.tensor([0.0, 1.0]))
        tensor(0.6931)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class BCEWithLogitsLoss(Module):
    """Binary cross-entropy of logits, without overflow.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy_with_logits(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.6931)

    >>> import unigrad as ug
    >>> ug.nn.BCEWithLogitsLoss()(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.6931)"""
    def __init__(self, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', pos_weight: Tensor | None=None) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Binary cross-entropy of logits, without overflow.

        >>> import unigrad as ug
        >>> ug.nn.functional.binary_cross_entropy_with_logits(ug.zeros(2), ug.tensor([0.0, 1.0]))
        tensor(0.6931)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class KLDivLoss(Module):
    """Kullback and Leibler's divergence of log-probabilities; ``reduction="batchmean"`` is the mathematical one.

    >>> import unigrad as ug
    >>> ug.nn.functional.kl_div(ug.tensor([[0.5, 0.5]]).log(), ug.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.)

    >>> import unigrad as ug
    >>> ug.nn.KLDivLoss(reduction="batchmean")(ug.tensor([[0.5, 0.5]]).log(), ug.tensor([[0.5, 0.5]]))
    tensor(0.)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', log_target: builtins.bool=False) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Kullback and Leibler's divergence of log-probabilities; ``reduction="batchmean"`` is the mathematical one.

        >>> import unigrad as ug
        >>> ug.nn.functional.kl_div(ug.tensor([[0.5, 0.5]]).log(), ug.tensor([[0.5, 0.5]]), reduction="batchmean")
        tensor(0.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class PoissonNLLLoss(Module):
    """Negative log-likelihood of counts by Poisson's distribution.

    >>> import unigrad as ug
    >>> ug.nn.functional.poisson_nll_loss(ug.zeros(2), ug.tensor([1.0, 2.0]))
    tensor(1.)

    >>> import unigrad as ug
    >>> ug.nn.PoissonNLLLoss()(ug.zeros(2), ug.tensor([1.0, 2.0]))
    tensor(1.)"""
    def __init__(self, log_input: builtins.bool=True, full: builtins.bool=False, size_average: builtins.bool | None=None, eps: builtins.float=1e-08, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Negative log-likelihood of counts by Poisson's distribution.

        >>> import unigrad as ug
        >>> ug.nn.functional.poisson_nll_loss(ug.zeros(2), ug.tensor([1.0, 2.0]))
        tensor(1.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class GaussianNLLLoss(Module):
    """Negative log-likelihood of numbers by normal distributions of variance ``var``.

    >>> import unigrad as ug
    >>> ug.nn.functional.gaussian_nll_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]), ug.ones(2))
    tensor(1.)

    >>> import unigrad as ug
    >>> ug.nn.GaussianNLLLoss()(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]), ug.ones(2))
    tensor(1.)"""
    def __init__(self, full: builtins.bool=False, eps: builtins.float=1e-06, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Negative log-likelihood of numbers by normal distributions of variance ``var``.

        >>> import unigrad as ug
        >>> ug.nn.functional.gaussian_nll_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]), ug.ones(2))
        tensor(1.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class HingeEmbeddingLoss(Module):
    """Distances where the target is 1, how far they fall short of ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.hinge_embedding_loss(ug.tensor([0.5, 0.25]), ug.tensor([1, -1]))
    tensor(0.6250)

    >>> import unigrad as ug
    >>> ug.nn.HingeEmbeddingLoss()(ug.tensor([0.5, 0.25]), ug.tensor([1, -1]))
    tensor(0.6250)"""
    def __init__(self, margin: builtins.float=1.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Distances where the target is 1, how far they fall short of ``margin`` where it is -1.

        >>> import unigrad as ug
        >>> ug.nn.functional.hinge_embedding_loss(ug.tensor([0.5, 0.25]), ug.tensor([1, -1]))
        tensor(0.6250)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class CosineEmbeddingLoss(Module):
    """One less the cosine where the target is 1, the cosine above ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.cosine_embedding_loss(ug.ones(1, 2), ug.ones(1, 2), ug.tensor([-1]))
    tensor(1.)

    >>> import unigrad as ug
    >>> ug.nn.CosineEmbeddingLoss()(ug.ones(1, 2), ug.ones(1, 2), ug.tensor([-1]))
    tensor(1.)"""
    def __init__(self, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """One less the cosine where the target is 1, the cosine above ``margin`` where it is -1.

        >>> import unigrad as ug
        >>> ug.nn.functional.cosine_embedding_loss(ug.ones(1, 2), ug.ones(1, 2), ug.tensor([-1]))
        tensor(1.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class MarginRankingLoss(Module):
    """How far ``input1`` is from ranking above ``input2`` by ``margin`` (target 1), or below (-1).

    >>> import unigrad as ug
    >>> ug.nn.functional.margin_ranking_loss(ug.tensor([1.0]), ug.tensor([3.0]), ug.tensor([1.0]))
    tensor(2.)

    >>> import unigrad as ug
    >>> ug.nn.MarginRankingLoss()(ug.tensor([1.0]), ug.tensor([3.0]), ug.tensor([1.0]))
    tensor(2.)"""
    def __init__(self, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """How far ``input1`` is from ranking above ``input2`` by ``margin`` (target 1), or below (-1).

        >>> import unigrad as ug
        >>> ug.nn.functional.margin_ranking_loss(ug.tensor([1.0]), ug.tensor([3.0]), ug.tensor([1.0]))
        tensor(2.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class SoftMarginLoss(Module):
    """``log(1 + exp(-target * input))``, for targets of 1 and -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.soft_margin_loss(ug.zeros(2), ug.tensor([1.0, -1.0]))
    tensor(0.6931)

    >>> import unigrad as ug
    >>> ug.nn.SoftMarginLoss()(ug.zeros(2), ug.tensor([1.0, -1.0]))
    tensor(0.6931)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """``log(1 + exp(-target * input))``, for targets of 1 and -1.

        >>> import unigrad as ug
        >>> ug.nn.functional.soft_margin_loss(ug.zeros(2), ug.tensor([1.0, -1.0]))
        tensor(0.6931)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class MultiMarginLoss(Module):
    """The hinge loss of classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multi_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([0]))
    tensor(0.7500)

    >>> import unigrad as ug
    >>> ug.nn.MultiMarginLoss()(ug.tensor([[0.5, 1.0]]), ug.tensor([0]))
    tensor(0.7500)"""
    def __init__(self, p: builtins.float=1, margin: builtins.float=1.0, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """The hinge loss of classes.

        >>> import unigrad as ug
        >>> ug.nn.functional.multi_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([0]))
        tensor(0.7500)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class MultiLabelMarginLoss(Module):
    """The hinge loss of several classes each: targets are lists of classes, ended by -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([[0, -1]]))
    tensor(0.7500)

    >>> import unigrad as ug
    >>> ug.nn.MultiLabelMarginLoss()(ug.tensor([[0.5, 1.0]]), ug.tensor([[0, -1]]))
    tensor(0.7500)"""
    def __init__(self, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """The hinge loss of several classes each: targets are lists of classes, ended by -1.

        >>> import unigrad as ug
        >>> ug.nn.functional.multilabel_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([[0, -1]]))
        tensor(0.7500)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class MultiLabelSoftMarginLoss(Module):
    """The binary cross-entropy of logits, mean over classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_soft_margin_loss(ug.zeros(1, 2), ug.tensor([[1.0, 0.0]]))
    tensor(0.6931)

    >>> import unigrad as ug
    >>> ug.nn.MultiLabelSoftMarginLoss()(ug.zeros(1, 2), ug.tensor([[1.0, 0.0]]))
    tensor(0.6931)"""
    def __init__(self, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """The binary cross-entropy of logits, mean over classes.

        >>> import unigrad as ug
        >>> ug.nn.functional.multilabel_soft_margin_loss(ug.zeros(1, 2), ug.tensor([[1.0, 0.0]]))
        tensor(0.6931)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class TripletMarginLoss(Module):
    """How far a positive is from being nearer to the anchor than a negative by ``margin``.

    >>> import unigrad as ug
    >>> ug.nn.functional.triplet_margin_loss(ug.zeros(1, 2), ug.zeros(1, 2), ug.ones(1, 2))
    tensor(0.)

    >>> import unigrad as ug
    >>> ug.nn.TripletMarginLoss()(ug.zeros(1, 2), ug.zeros(1, 2), ug.ones(1, 2))
    tensor(0.)"""
    def __init__(self, margin: builtins.float=1.0, p: builtins.float=2.0, eps: builtins.float=1e-06, swap: builtins.bool=False, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """How far a positive is from being nearer to the anchor than a negative by ``margin``.

        >>> import unigrad as ug
        >>> ug.nn.functional.triplet_margin_loss(ug.zeros(1, 2), ug.zeros(1, 2), ug.ones(1, 2))
        tensor(0.)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class CTCLoss(Module):
    """Connectionist temporal classification: ``log_probs`` are ``[steps, n, classes]`` (or ``[steps, classes]``), targets ``[n, labels]`` or one
    after another.

    >>> import unigrad as ug
    >>> log_probs = ug.zeros(5, 1, 3).log_softmax(-1)
    >>> ug.nn.functional.ctc_loss(log_probs, ug.tensor([[1, 2]]), ug.tensor([5]), ug.tensor([2])).shape
    ()

    >>> import unigrad as ug
    >>> log_probs = ug.zeros(5, 1, 3).log_softmax(-1)
    >>> ug.nn.CTCLoss()(log_probs, ug.tensor([[1, 2]]), ug.tensor([5]), ug.tensor([2])).shape
    ()"""
    def __init__(self, blank: builtins.int=0, reduction: builtins.str='mean', zero_infinity: builtins.bool=False) -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """Connectionist temporal classification: ``log_probs`` are ``[steps, n, classes]`` (or ``[steps, classes]``), targets ``[n, labels]`` or one
        after another.

        >>> import unigrad as ug
        >>> log_probs = ug.zeros(5, 1, 3).log_softmax(-1)
        >>> ug.nn.functional.ctc_loss(log_probs, ug.tensor([[1, 2]]), ug.tensor([5]), ug.tensor([2])).shape
        ()"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class FocalLoss(Module):
    """The focal loss of logits (Lin et al., 2017); targets are 0 and 1.

    >>> import unigrad as ug
    >>> ug.nn.functional.focal_loss(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.0866)

    >>> import unigrad as ug
    >>> ug.nn.FocalLoss()(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.0866)"""
    def __init__(self, alpha: builtins.float=0.25, gamma: builtins.float=2.0, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """The focal loss of logits (Lin et al., 2017); targets are 0 and 1.

        >>> import unigrad as ug
        >>> ug.nn.functional.focal_loss(ug.zeros(2), ug.tensor([0.0, 1.0]))
        tensor(0.0866)"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class DiceLoss(Module):
    """One less the Dice coefficient of probabilities and targets ``[n, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dice_loss(ug.zeros(1, 2, 2), ug.ones(1, 2, 2)).shape
    ()

    >>> import unigrad as ug
    >>> ug.nn.DiceLoss()(ug.zeros(1, 2, 2), ug.ones(1, 2, 2)).shape
    ()"""
    def __init__(self, smooth: builtins.float=1.0, reduction: builtins.str='mean') -> None: ...
    def forward(self, *inputs: Any) -> Tensor:
        """One less the Dice coefficient of probabilities and targets ``[n, ..]``.

        >>> import unigrad as ug
        >>> ug.nn.functional.dice_loss(ug.zeros(1, 2, 2), ug.ones(1, 2, 2)).shape
        ()"""
        ...
    def __call__(self, *inputs: Any) -> Tensor: ...
    def extra_repr(self) -> Any:
        """What ``repr`` shows between the parentheses."""
        ...
class TripletMarginWithDistanceLoss(Module):
    """As ``TripletMarginLoss``, by a distance of one's own: a function of two tensors.

    >>> import unigrad as ug
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> ug.nn.TripletMarginWithDistanceLoss(distance_function=distance)(ug.zeros(1, 2), ug.ones(1, 2), ug.ones(1, 2))
    tensor(1.)"""
    distance_function: Any
    margin: builtins.float
    swap: builtins.bool
    reduction: builtins.str
    def __init__(self, *, distance_function: Callable[..., Any] | None=None, margin: builtins.float=1.0, swap: builtins.bool=False, reduction: builtins.str='mean') -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """Of three tensors ``[n, ..]``."""
        ...
    def __call__(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...
class LinearCrossEntropyLoss(Module):
    """A linear map to the logits of classes and their cross-entropy in one: what a language model ends with.

    >>> import unigrad as ug
    >>> loss = ug.nn.LinearCrossEntropyLoss(4, 10)
    >>> loss(ug.randn(2, 4), ug.tensor([1, 9])).shape
    ()"""
    num_classes: builtins.int
    out_features: Sequence[Any]
    linear: Any
    ignore_index: Any
    reduction: builtins.str
    label_smoothing: builtins.float
    options: Any
    def __init__(self, in_features: builtins.int, num_classes: builtins.int, bias: builtins.bool=False, ignore_index: Any=None, reduction: builtins.str='mean', label_smoothing: builtins.float=0.0, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, out_features: Sequence[Any]=..., weight: Tensor | None=None, options: Any=None) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """``[.., in_features]`` and classes ``[..]``, or, with ``out_features``, ``[n, in_features]`` and classes ``[n, *out_features]``. Or probabilities of classes."""
        ...
    def __call__(self, input: Tensor, target: Tensor) -> Tensor: ...
