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
    """The cosine of the angle between two tensors along an axis."""
    ...
def pairwise_distance(x1: Tensor, x2: Tensor, p: builtins.float=2.0, eps: builtins.float=1e-06, keepdim: builtins.bool=False) -> Tensor:
    """The p-norm of the difference along the last axis."""
    ...
def pdist(input: Tensor, p: builtins.float=2.0) -> Tensor:
    """The distances of all pairs of rows of a matrix, ``[n (n - 1) / 2]``."""
    ...
def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean', label_smoothing: builtins.float=0.0) -> Tensor:
    """Cross-entropy of logits ``[n, classes, ..]``: the target is the index of a class ``[n, ..]``, or a distribution ``[n, classes, ..]``."""
    ...
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, ignore_index: builtins.int=-100, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of log-probabilities ``[n, classes, ..]``; the target is the index of a class."""
    ...
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Binary cross-entropy of probabilities."""
    ...
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', pos_weight: Tensor | None=None) -> Tensor:
    """Binary cross-entropy of logits, without overflow."""
    ...
def mse_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', weight: Tensor | None=None) -> Tensor:
    """Squared differences."""
    ...
def l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', weight: Tensor | None=None) -> Tensor:
    """Absolute differences."""
    ...
def smooth_l1_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', beta: builtins.float=1.0) -> Tensor:
    """Squared where a difference is below ``beta``, else absolute."""
    ...
def huber_loss(input: Tensor, target: Tensor, reduction: builtins.str='mean', delta: builtins.float=1.0, weight: Tensor | None=None) -> Tensor:
    """Squared where a difference is below ``delta``, else absolute, times ``delta``."""
    ...
def kl_div(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean', log_target: builtins.bool=False) -> Tensor:
    """Kullback and Leibler's divergence of log-probabilities; ``reduction="batchmean"`` is the mathematical one."""
    ...
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: builtins.bool=True, full: builtins.bool=False, size_average: builtins.bool | None=None, eps: builtins.float=1e-08, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of counts by Poisson's distribution."""
    ...
def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: builtins.bool=False, eps: builtins.float=1e-06, reduction: builtins.str='mean') -> Tensor:
    """Negative log-likelihood of numbers by normal distributions of variance ``var``."""
    ...
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: builtins.float=1.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """Distances where the target is 1, how far they fall short of ``margin`` where it is -1."""
    ...
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """One less the cosine where the target is 1, the cosine above ``margin`` where it is -1."""
    ...
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: builtins.float=0.0, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """How far ``input1`` is from ranking above ``input2`` by ``margin`` (target 1), or below (-1)."""
    ...
def soft_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """``log(1 + exp(-target * input))``, for targets of 1 and -1."""
    ...
def multi_margin_loss(input: Tensor, target: Tensor, p: builtins.float=1, margin: builtins.float=1.0, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The hinge loss of classes."""
    ...
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The hinge loss of several classes each: targets are lists of classes, ended by -1."""
    ...
def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None=None, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """The binary cross-entropy of logits, mean over classes."""
    ...
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: builtins.float=1.0, p: builtins.float=2, eps: builtins.float=1e-06, swap: builtins.bool=False, size_average: builtins.bool | None=None, reduce: builtins.bool | None=None, reduction: builtins.str='mean') -> Tensor:
    """How far a positive is from being nearer to the anchor than a negative by ``margin``."""
    ...
def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None=None, margin: builtins.float=1.0, swap: builtins.bool=False, reduction: builtins.str='mean') -> Tensor:
    """As ``triplet_margin_loss``, by a distance of one's own."""
    ...
def ctc_loss(log_probs: Tensor, targets: Any, input_lengths: Tensor | Sequence[builtins.int], target_lengths: Tensor | Sequence[builtins.int], blank: builtins.int=0, reduction: builtins.str='mean', zero_infinity: builtins.bool=False) -> Tensor:
    """Connectionist temporal classification: ``log_probs`` are ``[steps, n, classes]`` (or ``[steps, classes]``), targets ``[n, labels]`` or one
    after another."""
    ...
def focal_loss(input: Tensor, target: Tensor, alpha: builtins.float=0.25, gamma: builtins.float=2.0, reduction: builtins.str='mean') -> Tensor:
    """The focal loss of logits (Lin et al., 2017); targets are 0 and 1."""
    ...
def dice_loss(input: Tensor, target: Tensor, smooth: builtins.float=1.0, reduction: builtins.str='mean') -> Tensor:
    """One less the Dice coefficient of probabilities and targets ``[n, ..]``."""
    ...
