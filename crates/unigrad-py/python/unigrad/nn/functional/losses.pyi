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

def cosine_similarity(x1: Tensor, x2: Tensor, dim: builtins.int=1, eps: builtins.float=1e-08) -> Tensor:
    """The cosine of the angle between two tensors along an axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.cosine_similarity(ug.ones(1, 2), ug.ones(1, 2), dim=-1)
    tensor([1.0000])"""
    ...
def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float=2.0, eps: builtins.float=1e-06, keepdim: builtins.bool=False) -> Tensor:
    """The p-norm of the difference along the last axis.

    >>> import unigrad as ug
    >>> ug.nn.functional.pairwise_distance(ug.zeros(1, 2), ug.tensor([[3.0, 4.0]]))
    tensor([5.0000])"""
    ...
def pdist(input: Tensor, p: builtins.float=2.0) -> Tensor:
    """The distances of all pairs of rows of a matrix, ``[n (n - 1) / 2]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.pdist(ug.tensor([[0.0, 0.0], [3.0, 4.0]]))
    tensor([5.])"""
    ...
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean', label_smoothing: builtins.float=0.0) -> Tensor:
    """Cross-entropy of logits ``[n, classes, ..]``: the target is the index of a class ``[n, ..]``, or a distribution ``[n, classes, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.cross_entropy(ug.zeros(3, 4), ug.tensor([0, 1, 3]))
    tensor(1.3863)"""
    ...
def linear_cross_entropy(input: Tensor, linear_weight: Any, target: Tensor, *, linear_bias: Any=None, weight: Tensor | None=None, reduction: builtins.str='mean', ignore_index: Any=None, label_smoothing: builtins.float=0.0, options: Any=None) -> Tensor:
    """The cross-entropy of the logits of a linear map: ``linear_weight`` is ``[classes, .., in_features]``. ``options`` is taken and changes nothing.

    >>> import unigrad as ug
    >>> ug.nn.functional.linear_cross_entropy(ug.ones(2, 4), ug.zeros(3, 4), ug.tensor([0, 2]))
    tensor(1.0986)"""
    ...
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of log-probabilities ``[n, classes, ..]``; the target is the index of a class.

    >>> import unigrad as ug
    >>> ug.nn.functional.nll_loss(ug.tensor([[-0.5, -1.0]]), ug.tensor([1]))
    tensor(1.)"""
    ...
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Binary cross-entropy of probabilities.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy(ug.tensor([0.5, 0.5]), ug.tensor([0.0, 1.0]))
    tensor(0.6931)"""
    ...
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', pos_weight: Tensor | None=None) -> Tensor:
    """Binary cross-entropy of logits, without overflow.

    >>> import unigrad as ug
    >>> ug.nn.functional.binary_cross_entropy_with_logits(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.6931)"""
    ...
def mse_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', weight: Tensor | None=None) -> Tensor:
    """Squared differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.mse_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(2.)"""
    ...
def l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', weight: Tensor | None=None) -> Tensor:
    """Absolute differences.

    >>> import unigrad as ug
    >>> ug.nn.functional.l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(1.)"""
    ...
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', beta: builtins.float=1.0) -> Tensor:
    """Squared where a difference is below ``beta``, else absolute.

    >>> import unigrad as ug
    >>> ug.nn.functional.smooth_l1_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)"""
    ...
def huber_loss(input: Tensor, target: Tensor, reduction: builtins.str='mean', delta: builtins.float=1.0, weight: Tensor | None=None) -> Tensor:
    """Squared where a difference is below ``delta``, else absolute, times ``delta``.

    >>> import unigrad as ug
    >>> ug.nn.functional.huber_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    tensor(0.7500)"""
    ...
def kl_div(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', log_target: builtins.bool=False) -> Tensor:
    """Kullback and Leibler's divergence of log-probabilities; ``reduction="batchmean"`` is the mathematical one.

    >>> import unigrad as ug
    >>> ug.nn.functional.kl_div(ug.tensor([[0.5, 0.5]]).log(), ug.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.)"""
    ...
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: builtins.bool=True, full: builtins.bool=False, size_average: builtins.bool | None=None, eps: builtins.float=1e-08, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of counts by Poisson's distribution.

    >>> import unigrad as ug
    >>> ug.nn.functional.poisson_nll_loss(ug.zeros(2), ug.tensor([1.0, 2.0]))
    tensor(1.)"""
    ...
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: builtins.bool=False, eps: builtins.float=1e-06, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of numbers by normal distributions of variance ``var``.

    >>> import unigrad as ug
    >>> ug.nn.functional.gaussian_nll_loss(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]), ug.ones(2))
    tensor(1.)"""
    ...
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: builtins.float=1.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Distances where the target is 1, how far they fall short of ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.hinge_embedding_loss(ug.tensor([0.5, 0.25]), ug.tensor([1, -1]))
    tensor(0.6250)"""
    ...
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """One less the cosine where the target is 1, the cosine above ``margin`` where it is -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.cosine_embedding_loss(ug.ones(1, 2), ug.ones(1, 2), ug.tensor([-1]))
    tensor(1.)"""
    ...
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """How far ``input1`` is from ranking above ``input2`` by ``margin`` (target 1), or below (-1).

    >>> import unigrad as ug
    >>> ug.nn.functional.margin_ranking_loss(ug.tensor([1.0]), ug.tensor([3.0]), ug.tensor([1.0]))
    tensor(2.)"""
    ...
def soft_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """``log(1 + exp(-target * input))``, for targets of 1 and -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.soft_margin_loss(ug.zeros(2), ug.tensor([1.0, -1.0]))
    tensor(0.6931)"""
    ...
def multi_margin_loss(input: Tensor, target: Tensor, p: builtins.float=1, margin: builtins.float=1.0, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The hinge loss of classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multi_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([0]))
    tensor(0.7500)"""
    ...
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The hinge loss of several classes each: targets are lists of classes, ended by -1.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_margin_loss(ug.tensor([[0.5, 1.0]]), ug.tensor([[0, -1]]))
    tensor(0.7500)"""
    ...
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The binary cross-entropy of logits, mean over classes.

    >>> import unigrad as ug
    >>> ug.nn.functional.multilabel_soft_margin_loss(ug.zeros(1, 2), ug.tensor([[1.0, 0.0]]))
    tensor(0.6931)"""
    ...
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: builtins.float=1.0, p: builtins.float=2, eps: builtins.float=1e-06, swap: builtins.bool=False, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """How far a positive is from being nearer to the anchor than a negative by ``margin``.

    >>> import unigrad as ug
    >>> ug.nn.functional.triplet_margin_loss(ug.zeros(1, 2), ug.zeros(1, 2), ug.ones(1, 2))
    tensor(0.)"""
    ...
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None=None, margin: builtins.float=1.0, swap: builtins.bool=False, reduction: builtins.str='mean') -> Tensor:
    """As ``triplet_margin_loss``, by a distance of one's own.

    >>> import unigrad as ug
    >>> distance = lambda a, b: (a - b).abs().sum(-1)
    >>> ug.nn.functional.triplet_margin_with_distance_loss(ug.zeros(1, 2), ug.ones(1, 2), ug.ones(1, 2), distance_function=distance)
    tensor(1.)"""
    ...
def ctc_loss(log_probs: Tensor, targets: Any, input_lengths: Tensor | Sequence[builtins.int], target_lengths: Tensor | Sequence[builtins.int], blank: builtins.int=0, reduction: builtins.str='mean', zero_infinity: builtins.bool=False) -> Tensor:
    """Connectionist temporal classification: ``log_probs`` are ``[steps, n, classes]`` (or ``[steps, classes]``), targets ``[n, labels]`` or one
    after another.

    >>> import unigrad as ug
    >>> log_probs = ug.zeros(5, 1, 3).log_softmax(-1)
    >>> ug.nn.functional.ctc_loss(log_probs, ug.tensor([[1, 2]]), ug.tensor([5]), ug.tensor([2])).shape
    ()"""
    ...
def focal_loss(input: Tensor, target: Tensor, alpha: builtins.float=0.25, gamma: builtins.float=2.0, reduction: builtins.str='mean') -> Tensor:
    """The focal loss of logits (Lin et al., 2017); targets are 0 and 1.

    >>> import unigrad as ug
    >>> ug.nn.functional.focal_loss(ug.zeros(2), ug.tensor([0.0, 1.0]))
    tensor(0.0866)"""
    ...
def dice_loss(input: Tensor, target: Tensor, smooth: builtins.float=1.0, reduction: builtins.str='mean') -> Tensor:
    """One less the Dice coefficient of probabilities and targets ``[n, ..]``.

    >>> import unigrad as ug
    >>> ug.nn.functional.dice_loss(ug.zeros(1, 2, 2), ug.ones(1, 2, 2)).shape
    ()"""
    ...
