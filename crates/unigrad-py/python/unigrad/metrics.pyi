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

class _Counted:
    """What counts in an object of the crates: copies and pickles have the counts as well."""
class Metric(_Counted):
    """What metrics share: ``update(prediction, target)`` batch by batch, ``compute()``, ``reset()``. What is counted stays on the device.

    >>> import unigrad as ug
    >>> isinstance(ug.metrics.Accuracy(), ug.metrics.Metric)
    True"""
    def __init__(self) -> None: ...
    @property
    def name(self) -> Any:
        """Its name, as a history has it."""
        ...
    def update(self, prediction: Tensor, target: Tensor) -> Any:
        """Counts a batch. Waits for nothing."""
        ...
    def compute(self) -> Any:
        """The number over all batches since the last reset; NaN without any. Waits."""
        ...
    def reset(self) -> Any:
        """Forgets all batches."""
        ...
    def __call__(self, prediction: Tensor, target: Tensor) -> Any:
        """Counts a batch, and gives the number so far."""
        ...
    def __repr__(self) -> builtins.str: ...
class Accuracy(Metric):
    """The part of answers that are right: scores ``[n, classes]``, or classes ``[n]``, and labels ``[n]``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Accuracy()
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 0]))
    >>> metric.compute()
    0.6666666666666666"""
class ROCAUC(Metric):
    """The area under the receiver's curve: scores ``[n]`` and truths ``[n]``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.ROCAUC()
    >>> metric.update(ug.tensor([0.1, 0.4, 0.35, 0.8]), ug.tensor([0, 0, 1, 1]))
    >>> metric.compute()
    0.75"""
class PRAUC(Metric):
    """Average precision: scores ``[n]`` and truths ``[n]``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.PRAUC()
    >>> metric.update(ug.tensor([0.1, 0.4, 0.35, 0.8]), ug.tensor([1, 0, 0, 1]))
    >>> metric.compute()
    0.75"""
class LogLoss(Metric):
    """The mean cross-entropy of logits ``[n, classes]`` and labels ``[n]``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.LogLoss()
    >>> metric.update(ug.zeros(2, 1), ug.tensor([0, 0]))
    >>> metric.compute()
    0.0"""
class Perplexity(Metric):
    """The exponential of ``LogLoss``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Perplexity()
    >>> metric.update(ug.zeros(2, 1), ug.tensor([0, 0]))
    >>> metric.compute()
    1.0"""
class MAE(Metric):
    """The mean of ``|x - target|``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.MAE()
    >>> metric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    >>> metric.compute()
    1.0"""
class MSE(Metric):
    """The mean of ``(x - target)²``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.MSE()
    >>> metric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    >>> metric.compute()
    2.0"""
class RMSE(Metric):
    """The root of ``MSE``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.RMSE()
    >>> metric.update(ug.tensor([1.0, 2.0]), ug.tensor([3.0, 4.0]))
    >>> metric.compute()
    2.0"""
class MAPE(Metric):
    """The mean of ``|x - target| / |target|``.

    >>> import unigrad as ug
    >>> metric = ug.metrics.MAPE()
    >>> metric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 4.0]))
    >>> metric.compute()
    0.25"""
class R2Score(Metric):
    """The part of the targets' variance that is explained.

    >>> import unigrad as ug
    >>> metric = ug.metrics.R2Score()
    >>> metric.update(ug.tensor([1.0, 2.0]), ug.tensor([1.0, 2.0]))
    >>> metric.compute()
    1.0"""
class BinaryAccuracy(Metric):
    """The part of yes-or-no questions that are answered right, by logits, or by probabilities.

    >>> import unigrad as ug
    >>> metric = ug.metrics.BinaryAccuracy()
    >>> metric.update(ug.tensor([-1.0, 2.0]), ug.tensor([0, 1]))
    >>> metric.compute()
    1.0"""
    def __init__(self, probabilities: builtins.bool=False) -> None: ...
class TopKAccuracy(Metric):
    """The part of examples whose label is among the ``k`` greatest scores.

    >>> import unigrad as ug
    >>> metric = ug.metrics.TopKAccuracy(k=2)
    >>> metric.update(ug.tensor([[0.1, 0.5, 0.4]]), ug.tensor([2]))
    >>> metric.compute()
    1.0"""
    k: builtins.float
    def __init__(self, k: builtins.float=5) -> None: ...
class _ClassScore(Metric):
    def __init__(self, num_classes: builtins.int, average: builtins.str='macro', class_index: Any=None) -> None: ...
class Precision(_ClassScore):
    """Of what was called a class, the part that is: ``macro``, ``micro`` or ``weighted`` over classes, or of one class.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Precision(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0"""
class Recall(_ClassScore):
    """Of what is a class, the part that was found.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Recall(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0"""
class F1Score(_ClassScore):
    """The harmonic mean of precision and recall.

    >>> import unigrad as ug
    >>> metric = ug.metrics.F1Score(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0"""
class IoU(_ClassScore):
    """Of what is a class or was called so, the part that is both.

    >>> import unigrad as ug
    >>> metric = ug.metrics.IoU(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0"""
class ConfusionMatrix(_Counted):
    """How often each class was taken for each other: a row for each label.

    >>> import unigrad as ug
    >>> confusion = ug.metrics.ConfusionMatrix(2)
    >>> confusion.update(ug.tensor([0, 1, 1]), ug.tensor([0, 0, 1]))
    >>> confusion.compute()
    [[1, 1], [0, 1]]"""
    def __init__(self, num_classes: builtins.int) -> None: ...
    def update(self, prediction: Tensor, target: Tensor) -> Any:
        """Counts a batch: scores ``[n, classes]`` or classes ``[n]``, and labels ``[n]``."""
        ...
    def compute(self) -> Any:
        """The counts, as lists."""
        ...
    def iou(self) -> Any:
        """The overlap of each class."""
        ...
    def reset(self) -> Any:
        """Forgets all batches."""
        ...
class MeanAveragePrecision:
    """Mean average precision of boxes, as COCO's program computes it.

    >>> import unigrad as ug
    >>> metric = ug.metrics.MeanAveragePrecision()
    >>> box = ug.tensor([[0.0, 0.0, 10.0, 10.0]])
    >>> metric.update(box, ug.tensor([0.9]), ug.tensor([1]), box, ug.tensor([1]))
    >>> metric.compute()["map_50"]
    0.9999999999999999"""
    def __init__(self) -> None: ...
    def update(self, boxes: Tensor, scores: Tensor, labels: Tensor, true_boxes: Tensor, true_labels: Tensor, crowd: Sequence[Any]=..., areas: Sequence[Any]=...) -> Any:
        """Counts an image: boxes ``[n, 4]`` with corners ``x1, y1, x2, y2``, their scores and labels, and what is there."""
        ...
    def compute(self) -> Any:
        """``map``, ``map_50``, ``mar_100`` and so on by name; ``per_class`` by class. NaN where there is nothing to find."""
        ...
    def reset(self) -> Any:
        """Forgets all images."""
        ...
def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """The overlap of each pair of boxes, ``[n, 4]`` and ``[m, 4]``, over what either covers: ``[n, m]``.

    >>> import unigrad as ug
    >>> ug.metrics.box_iou(ug.tensor([[0.0, 0.0, 2.0, 2.0]]), ug.tensor([[0.0, 0.0, 2.0, 1.0]]))
    tensor([[0.5000]])"""
    ...
def mask_iou(masks1: Tensor, masks2: Tensor) -> Tensor:
    """The overlap of each pair of masks, ``[n, h, w]`` and ``[m, h, w]``: ``[n, m]``.

    >>> import unigrad as ug
    >>> ug.metrics.mask_iou(ug.tensor([[[True, True]]]), ug.tensor([[[True, False]]]))
    tensor([[0.5000]])"""
    ...
def bleu(candidates: Any, references: Any) -> builtins.float:
    """BLEU of a corpus: texts (or lists of words), and for each a list of references.

    >>> import unigrad as ug
    >>> ug.metrics.bleu(["the cat is on the mat"], [["the cat is on the mat"]])
    1.0"""
    ...
def rouge_l(candidate: Any, reference: Any) -> builtins.float:
    """ROUGE-L of two texts, or lists of words: the harmonic mean of the longest common subsequence's shares.

    >>> import unigrad as ug
    >>> ug.metrics.rouge_l("a b c", "a b c")
    1.0"""
    ...
class _Texts:
    def __init__(self) -> None: ...
    def update(self, candidate: Any, reference: Any) -> Any:
        """Counts a text and its reference, or references."""
        ...
    def reset(self) -> Any:
        """Forgets all texts."""
        ...
class BLEU(_Texts):
    """BLEU over all texts.

    >>> import unigrad as ug
    >>> metric = ug.metrics.BLEU()
    >>> metric.update("the cat is on the mat", "the cat is on the mat")
    >>> metric.compute()
    1.0"""
    def compute(self) -> Any:
        """The number over all texts since the last reset."""
        ...
class ROUGEL(_Texts):
    """The mean of ROUGE-L over all texts.

    >>> import unigrad as ug
    >>> metric = ug.metrics.ROUGEL()
    >>> metric.update("a b c", "a b c")
    >>> metric.compute()
    1.0"""
    def compute(self) -> Any:
        """The number over all texts since the last reset; NaN without any."""
        ...
