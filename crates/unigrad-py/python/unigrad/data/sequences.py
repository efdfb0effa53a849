"""Tables and texts as datasets, and batches of sequences of different lengths."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import Tensor, _data, concat, stack, tensor
from .datasets import Dataset, TensorDataset, _length
from .loader import default_collate


def table_dataset(schema, csv, device=None):
    """The features and targets of a table's rows, as ``schema`` says.

    >>> import unigrad as ug
    >>> csv = ug.data.Csv.parse(b"size,kind\\n1.0,a\\n3.0,b\\n")
    >>> len(ug.data.table_dataset(ug.data.TableSchema.fit(csv, target="kind"), csv))
    2
    """
    for name, value, kind in [("schema", schema, _data.TableSchema), ("csv", csv, _data.Csv)]:
        if not isinstance(value, kind):
            raise TypeError(f"argument '{name}': a {kind.__name__} is wanted, not {_check._kind(value)}")
    return TensorDataset(schema.features(csv, device), schema.targets(csv, device))


class LabelledTexts(Dataset):
    """Texts with a class each, as sequences of a vocabulary's tokens, cut after ``longest``: for ``PadSequences`` and ``BucketBatchSampler``.

    >>> import unigrad as ug
    >>> texts = [("good film", 0), ("bad", 1)]
    >>> vocabulary = ug.data.TokenVocabulary.fit([text for text, _ in texts])
    >>> dataset = ug.data.LabelledTexts(texts, vocabulary)
    >>> dataset.lengths, dataset.targets, dataset[0][0].shape
    ([2, 1], [0, 1], (2,))
    """

    def __init__(self, texts, vocabulary, longest=512):
        if not isinstance(vocabulary, _data.TokenVocabulary):
            raise TypeError(f"argument 'vocabulary': a TokenVocabulary is wanted, not {_check._kind(vocabulary)}")
        longest = _check.positive("longest", longest)
        self._tokens, self.targets = [], []
        if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
            raise TypeError(f"argument 'texts': pairs of a text and a class are wanted, not {_check._kind(texts)}")
        for pair in texts:
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], str):
                raise TypeError(f"argument 'texts': pairs of a text and a class are wanted, not {pair!r}")
            tokens = vocabulary.encode(pair[0])[:longest]
            if not tokens:
                raise ArgumentError(f"argument 'texts' has {pair[0]!r}, which has no tokens\n help: leave it out")
            self._tokens.append(tokens)
            self.targets.append(_check.whole("texts", pair[1], 0))
        self.lengths = [len(tokens) for tokens in self._tokens]

    def __len__(self):
        return len(self._tokens)

    def __getitem__(self, index):
        return tensor(self._tokens[index], device="cpu"), self.targets[index]


class TokenWindows(Dataset):
    """A long text as windows of ``context`` tokens, ``stride`` apart, each with the tokens that follow: for language models.

    >>> import unigrad as ug
    >>> [part.tolist() for part in ug.data.TokenWindows(range(8), context=3, stride=2)[1]]
    [[2, 3, 4], [3, 4, 5]]
    """

    def __init__(self, tokens, context, stride=None):
        if isinstance(tokens, (str, bytes)) or not (isinstance(tokens, Tensor) or hasattr(tokens, "__iter__")):
            raise TypeError(f"argument 'tokens': integers are wanted, not {_check._kind(tokens)}")
        tokens = tokens if isinstance(tokens, Tensor) else tensor([_check.whole("tokens", token) for token in tokens], device="cpu")
        self.context = _check.positive("context", context)
        self.stride = self.context if stride is None else _check.positive("stride", stride)
        if tokens.ndim != 1 or tokens.shape[0] <= self.context:
            raise ArgumentError(f"argument 'tokens' has the shape {list(tokens.shape)}\n help: give one axis of more than {self.context} tokens")
        self.tokens = tokens

    def __len__(self):
        return (self.tokens.shape[0] - 1 - self.context) // self.stride + 1

    def __getitem__(self, index):
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} of {n} items")
        begin = index % n * self.stride
        return self.tokens[begin : begin + self.context], self.tokens[begin + 1 : begin + 1 + self.context]


class PadSequences:
    """A ``collate_fn`` for sequences of different lengths: batches ``(padded, lengths, others..)``, where items are sequences, or tuples that begin with one.

    Sequences get ``value`` at their ends, up to the longest one's length, rounded up to a multiple of ``multiple``.

    >>> import unigrad as ug
    >>> padded, lengths, labels = ug.data.PadSequences()([(ug.tensor([1, 2, 3]), 0), (ug.tensor([4]), 1)])
    >>> padded.tolist(), lengths.tolist(), labels.tolist()
    ([[1, 2, 3], [4, 0, 0]], [3, 1], [0, 1])
    """

    def __init__(self, value=0, multiple=1):
        self.value, self.multiple = _check.number("value", value), _check.positive("multiple", multiple)

    def __call__(self, batch):
        _length("batch", batch)
        if not len(batch):
            raise ArgumentError("argument 'batch' is empty\n help: give at least one item")
        alone = not isinstance(batch[0], (tuple, list))
        sequences = [_check.tensor("batch", item if alone else item[0]) for item in batch]
        if any(sequence.ndim == 0 or sequence.shape[1:] != sequences[0].shape[1:] for sequence in sequences):
            shapes = [list(sequence.shape) for sequence in sequences]
            raise ArgumentError(f"argument 'batch' has sequences of shapes {shapes}\n help: give shapes that differ along the first axis only")
        lengths = [sequence.shape[0] for sequence in sequences]
        longest = -(-max(lengths) // self.multiple) * self.multiple
        padded = []
        for sequence in sequences:
            missing = (longest - sequence.shape[0], *sequence.shape[1:])
            padded.append(sequence if not missing[0] else concat([sequence, sequence.new_full(missing, self.value)], 0))
        others = [] if alone else [default_collate(part) for part in list(zip(*batch))[1:]]
        return [stack(padded, 0), tensor(lengths, device="cpu"), *others]
