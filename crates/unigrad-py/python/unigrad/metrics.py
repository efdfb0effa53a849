"""Metrics: how good predictions are, over all batches of a pass.

>>> import unigrad as ug
>>> accuracy = ug.metrics.Accuracy()
>>> accuracy.update(ug.tensor([[2.0, 1.0], [0.0, 3.0]]), ug.tensor([0, 0]))
>>> accuracy.compute()
0.5
"""

from . import _check, _shown
from ._metric_examples import EXAMPLES as _EXAMPLES
from ._unigrad import _train

__all__ = [
    "Accuracy", "BLEU", "BinaryAccuracy", "ConfusionMatrix", "F1Score", "IoU", "LogLoss", "MAE", "MAPE", "MSE", "MeanAveragePrecision",
    "Metric", "PRAUC", "Perplexity", "Precision", "R2Score", "RMSE", "ROCAUC", "ROUGEL", "Recall", "TopKAccuracy", "bleu", "box_iou",
    "mask_iou", "rouge_l",
]  # fmt: skip


class _Counted:
    """What counts in an object of the crates: copies and pickles have the counts as well."""

    def _count(self, made, *settings):
        # Made again from these, with what was counted.
        self._made = (made, settings)
        self._inner = getattr(_train, made)(*settings)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_inner"} | {"_counted": self._inner.state()}

    def __setstate__(self, state):
        state = dict(state)
        counted = state.pop("_counted")
        self.__dict__.update(state)
        made, settings = self._made
        self._count(made, *settings)
        self._inner.load_state(counted)


class Metric(_Counted):
    """What metrics share: ``update(prediction, target)`` batch by batch, ``compute()``, ``reset()``. What is counted stays on the device.

    >>> import unigrad as ug
    >>> isinstance(ug.metrics.Accuracy(), ug.metrics.Metric)
    True
    """

    _kind = None

    def __init__(self):
        if self._kind is None:
            raise TypeError("a Metric of no kind\n help: use Accuracy or another of `unigrad.metrics`")
        self._count("Metric", self._kind)

    @property
    def name(self):
        """Its name, as a history has it."""
        return self._inner.name()

    def update(self, prediction, target):
        """Counts a batch. Waits for nothing."""
        self._inner.update(_check.tensor("prediction", prediction), _check.tensor("target", target))

    def compute(self):
        """The number over all batches since the last reset; NaN without any. Waits."""
        return self._inner.value()

    def reset(self):
        """Forgets all batches."""
        self._inner.reset()

    def __call__(self, prediction, target):
        """Counts a batch, and gives the number so far."""
        self.update(prediction, target)
        return self.compute()

    def __repr__(self):
        return f"{type(self).__name__}()"


def _metric(name, kind, doc):
    return type(name, (Metric,), {"_kind": kind, "__doc__": doc, "__module__": __name__})


Accuracy = _metric(
    "Accuracy", "accuracy", "The part of answers that are right: scores ``[n, classes]``, or classes ``[n]``, and labels ``[n]``."
)
ROCAUC = _metric("ROCAUC", "roc_auc", "The area under the receiver's curve: scores ``[n]`` and truths ``[n]``.")
PRAUC = _metric("PRAUC", "pr_auc", "Average precision: scores ``[n]`` and truths ``[n]``.")
LogLoss = _metric("LogLoss", "log_loss", "The mean cross-entropy of logits ``[n, classes]`` and labels ``[n]``.")
Perplexity = _metric("Perplexity", "perplexity", "The exponential of ``LogLoss``.")
MAE = _metric("MAE", "mae", "The mean of ``|x - target|``.")
MSE = _metric("MSE", "mse", "The mean of ``(x - target)²``.")
RMSE = _metric("RMSE", "rmse", "The root of ``MSE``.")
MAPE = _metric("MAPE", "mape", "The mean of ``|x - target| / |target|``.")
R2Score = _metric("R2Score", "r2", "The part of the targets' variance that is explained.")


class BinaryAccuracy(Metric):
    """The part of yes-or-no questions that are answered right, by logits, or by probabilities.

    >>> import unigrad as ug
    >>> metric = ug.metrics.BinaryAccuracy()
    >>> metric.update(ug.tensor([-1.0, 2.0]), ug.tensor([0, 1]))
    >>> metric.compute()
    1.0
    """

    def __init__(self, probabilities=False):
        kind = "binary_accuracy_of_probabilities" if _check.flag("probabilities", probabilities) else "binary_accuracy"
        self._count("Metric", kind)


class TopKAccuracy(Metric):
    """The part of examples whose label is among the ``k`` greatest scores.

    >>> import unigrad as ug
    >>> metric = ug.metrics.TopKAccuracy(k=2)
    >>> metric.update(ug.tensor([[0.1, 0.5, 0.4]]), ug.tensor([2]))
    >>> metric.compute()
    1.0
    """

    def __init__(self, k=5):
        self.k = _check.positive("k", k)
        self._count("Metric", "top_k", self.k)


class _ClassScore(Metric):
    def __init__(self, num_classes, average="macro", class_index=None):
        average = _check.one_of("average", average, ("macro", "micro", "weighted"))
        index = None if class_index is None else _check.size("class_index", class_index)
        self._count("Metric", self._kind, _check.positive("num_classes", num_classes), average, index)


class Precision(_ClassScore):
    """Of what was called a class, the part that is: ``macro``, ``micro`` or ``weighted`` over classes, or of one class.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Precision(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0
    """

    _kind = "precision"


class Recall(_ClassScore):
    """Of what is a class, the part that was found.

    >>> import unigrad as ug
    >>> metric = ug.metrics.Recall(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0
    """

    _kind = "recall"


class F1Score(_ClassScore):
    """The harmonic mean of precision and recall.

    >>> import unigrad as ug
    >>> metric = ug.metrics.F1Score(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0
    """

    _kind = "f1"


class IoU(_ClassScore):
    """Of what is a class or was called so, the part that is both.

    >>> import unigrad as ug
    >>> metric = ug.metrics.IoU(2)
    >>> metric.update(ug.tensor([0, 1, 1]), ug.tensor([0, 1, 1]))
    >>> metric.compute()
    1.0
    """

    _kind = "iou"


class ConfusionMatrix(_Counted):
    """How often each class was taken for each other: a row for each label.

    >>> import unigrad as ug
    >>> confusion = ug.metrics.ConfusionMatrix(2)
    >>> confusion.update(ug.tensor([0, 1, 1]), ug.tensor([0, 0, 1]))
    >>> confusion.compute()
    [[1, 1], [0, 1]]
    """

    def __init__(self, num_classes):
        self._count("Confusion", _check.positive("num_classes", num_classes))

    def update(self, prediction, target):
        """Counts a batch: scores ``[n, classes]`` or classes ``[n]``, and labels ``[n]``."""
        self._inner.update(_check.tensor("prediction", prediction), _check.tensor("target", target))

    def compute(self):
        """The counts, as lists."""
        return self._inner.counts()

    def iou(self):
        """The overlap of each class."""
        return self._inner.iou()

    def reset(self):
        """Forgets all batches."""
        self._inner.reset()


class MeanAveragePrecision:
    """Mean average precision of boxes, as COCO's program computes it.

    >>> import unigrad as ug
    >>> metric = ug.metrics.MeanAveragePrecision()
    >>> box = ug.tensor([[0.0, 0.0, 10.0, 10.0]])
    >>> metric.update(box, ug.tensor([0.9]), ug.tensor([1]), box, ug.tensor([1]))
    >>> metric.compute()["map_50"]
    0.9999999999999999
    """

    def __init__(self):
        self._inner = _train.MeanAveragePrecision()

    def update(self, boxes, scores, labels, true_boxes, true_labels, crowd=(), areas=()):
        """Counts an image: boxes ``[n, 4]`` with corners ``x1, y1, x2, y2``, their scores and labels, and what is there."""
        names = ("boxes", "scores", "labels", "true_boxes", "true_labels")
        given = [_check.tensor(name, value) for name, value in zip(names, (boxes, scores, labels, true_boxes, true_labels))]
        self._inner.update(*given, list(crowd), list(areas))

    def compute(self):
        """``map``, ``map_50``, ``mar_100`` and so on by name; ``per_class`` by class. NaN where there is nothing to find."""
        named, per_class = self._inner.value()
        return {**named, "per_class": per_class}

    def reset(self):
        """Forgets all images."""
        self._inner.reset()


def box_iou(boxes1, boxes2):
    """The overlap of each pair of boxes, ``[n, 4]`` and ``[m, 4]``, over what either covers: ``[n, m]``.

    >>> import unigrad as ug
    >>> ug.metrics.box_iou(ug.tensor([[0.0, 0.0, 2.0, 2.0]]), ug.tensor([[0.0, 0.0, 2.0, 1.0]]))
    tensor([[0.5000]])
    """
    return _train.box_iou(_check.tensor("boxes1", boxes1), _check.tensor("boxes2", boxes2))


def mask_iou(masks1, masks2):
    """The overlap of each pair of masks, ``[n, h, w]`` and ``[m, h, w]``: ``[n, m]``.

    >>> import unigrad as ug
    >>> ug.metrics.mask_iou(ug.tensor([[[True, True]]]), ug.tensor([[[True, False]]]))
    tensor([[0.5000]])
    """
    return _train.mask_iou(_check.tensor("masks1", masks1), _check.tensor("masks2", masks2))


def _words(name, text):
    if isinstance(text, str):
        return text.split()
    if not hasattr(text, "__iter__"):
        raise TypeError(f"argument '{name}': a text, or words, are wanted, not {_check._kind(text)}")
    return [str(word) for word in text]


def bleu(candidates, references):
    """BLEU of a corpus: texts (or lists of words), and for each a list of references.

    >>> import unigrad as ug
    >>> ug.metrics.bleu(["the cat is on the mat"], [["the cat is on the mat"]])
    1.0
    """
    if isinstance(candidates, str) or not hasattr(candidates, "__iter__"):
        raise TypeError(f"argument 'candidates': texts are wanted, not {_check._kind(candidates)}")
    if isinstance(references, str) or not hasattr(references, "__iter__"):
        raise TypeError(f"argument 'references': lists of texts are wanted, not {_check._kind(references)}")
    candidates, references = list(candidates), list(references)
    if len(candidates) != len(references):
        from ._errors import ArgumentError

        raise ArgumentError(
            f"argument 'references' has {len(references)} entries, for {len(candidates)}\n help: give one for each candidate"
        )
    pairs = []
    for candidate, own in zip(candidates, references):
        if not hasattr(own, "__iter__") or isinstance(own, str):
            raise TypeError(f"argument 'references': a list of texts for each candidate is wanted, not {_check._kind(own)}")
        pairs.append((_words("candidates", candidate), [_words("references", one) for one in own]))
    return _train.bleu(pairs)


def rouge_l(candidate, reference):
    """ROUGE-L of two texts, or lists of words: the harmonic mean of the longest common subsequence's shares.

    >>> import unigrad as ug
    >>> ug.metrics.rouge_l("a b c", "a b c")
    1.0
    """
    return _train.rouge_l(_words("candidate", candidate), _words("reference", reference))


class _Texts:
    def __init__(self):
        self._pairs = []

    def update(self, candidate, reference):
        """Counts a text and its reference, or references."""
        _words("candidate", candidate), _words("reference", reference)
        self._pairs.append((candidate, reference))

    def reset(self):
        """Forgets all texts."""
        self._pairs.clear()


class BLEU(_Texts):
    """BLEU over all texts.

    >>> import unigrad as ug
    >>> metric = ug.metrics.BLEU()
    >>> metric.update("the cat is on the mat", "the cat is on the mat")
    >>> metric.compute()
    1.0
    """

    def compute(self):
        """The number over all texts since the last reset."""
        own = [[reference] if isinstance(reference, str) else reference for _, reference in self._pairs]
        return bleu([candidate for candidate, _ in self._pairs], own)


class ROUGEL(_Texts):
    """The mean of ROUGE-L over all texts.

    >>> import unigrad as ug
    >>> metric = ug.metrics.ROUGEL()
    >>> metric.update("a b c", "a b c")
    >>> metric.compute()
    1.0
    """

    def compute(self):
        """The number over all texts since the last reset; NaN without any."""
        scores = [rouge_l(candidate, reference) for candidate, reference in self._pairs]
        return sum(scores) / len(scores) if scores else float("nan")


_shown.show(globals(), _EXAMPLES)
