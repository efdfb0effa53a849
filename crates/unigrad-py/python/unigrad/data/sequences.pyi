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
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad.data.datasets import Dataset as Dataset
from unigrad.data.datasets import TensorDataset as TensorDataset
from unigrad.data.loader import default_collate as default_collate

def table_dataset(schema: Any, csv: Any, device: Device | builtins.str | None=None) -> Any:
    """The features and targets of a table's rows, as ``schema`` says.

    >>> import unigrad as ug
    >>> csv = ug.data.Csv.parse(b"size,kind\\n1.0,a\\n3.0,b\\n")
    >>> len(ug.data.table_dataset(ug.data.TableSchema.fit(csv, target="kind"), csv))
    2"""
    ...
class LabelledTexts(Dataset):
    """Texts with a class each, as sequences of a vocabulary's tokens, cut after ``longest``: for ``PadSequences`` and ``BucketBatchSampler``.

    >>> import unigrad as ug
    >>> texts = [("good film", 0), ("bad", 1)]
    >>> vocabulary = ug.data.TokenVocabulary.fit([text for text, _ in texts])
    >>> dataset = ug.data.LabelledTexts(texts, vocabulary)
    >>> dataset.lengths, dataset.targets, dataset[0][0].shape
    ([2, 1], [0, 1], (2,))"""
    targets: Any
    lengths: Any
    def __init__(self, texts: Any, vocabulary: Any, longest: builtins.int=512) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class TokenWindows(Dataset):
    """A long text as windows of ``context`` tokens, ``stride`` apart, each with the tokens that follow: for language models.

    >>> import unigrad as ug
    >>> [part.tolist() for part in ug.data.TokenWindows(range(8), context=3, stride=2)[1]]
    [[2, 3, 4], [3, 4, 5]]"""
    context: Any
    stride: Any
    tokens: Any
    def __init__(self, tokens: Any, context: Any, stride: builtins.int | Sequence[builtins.int] | None=None) -> None: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class PadSequences:
    """A ``collate_fn`` for sequences of different lengths: batches ``(padded, lengths, others..)``, where items are sequences, or tuples that begin with one.

    Sequences get ``value`` at their ends, up to the longest one's length, rounded up to a multiple of ``multiple``.

    >>> import unigrad as ug
    >>> padded, lengths, labels = ug.data.PadSequences()([(ug.tensor([1, 2, 3]), 0), (ug.tensor([4]), 1)])
    >>> padded.tolist(), lengths.tolist(), labels.tolist()
    ([[1, 2, 3], [4, 0, 0]], [3, 1], [0, 1])"""
    value: builtins.int
    multiple: builtins.int
    def __init__(self, value: builtins.int=0, multiple: builtins.int=1) -> None: ...
    def __call__(self, batch: Any) -> Any: ...
