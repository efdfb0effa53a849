"""Linear maps, tables of vectors, and drops."""

import math

from .. import _check
from .._errors import ArgumentError
from .._told import named
from .._unigrad import Tensor, arange, full, randn, uniform
from . import functional as F
from .module import Module
from .parameter import Parameter

__all__ = [
    "AlphaDropout", "Bilinear", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "EmbeddingBag", "FeatureAlphaDropout",
    "Identity", "Linear",
]  # fmt: skip


def _uniform(shape, fan_in, dtype, device):
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return Parameter(uniform(-bound, bound, shape, dtype=dtype, device=device))


def _constant(shape, value, dtype, device):
    return Parameter(full(shape, value, dtype=dtype, device=device))


class Identity(Module):
    """Its input; whatever it is constructed with.

    >>> import unigrad as ug
    >>> ug.nn.Identity()(ug.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        """Of any shape."""
        return _check.tensor("input", input)


class Linear(Module):
    """``x @ weight.T + bias``: ``[.., in_features]`` to ``[.., out_features]``.

    >>> import unigrad as ug
    >>> layer = ug.nn.Linear(4, 3)
    >>> layer(ug.zeros(2, 4)).shape, layer.weight.shape
    ((2, 3), (3, 4))
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features = _check.size("in_features", in_features)
        self.out_features = _check.size("out_features", out_features)
        self.weight = _uniform((self.out_features, self.in_features), self.in_features, dtype, device)
        self.register_parameter("bias", None)
        if _check.flag("bias", bias):
            self.bias = _uniform((self.out_features,), self.in_features, dtype, device)

    def forward(self, input):
        """``[.., in_features]`` to ``[.., out_features]``."""
        if not isinstance(input, Tensor):
            _check.tensor("input", input)
        return input.linear(self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """``x1 · weight_k · x2 + bias_k`` for each output: ``[.., in1_features]`` and ``[.., in2_features]`` to ``[.., out_features]``.

    >>> import unigrad as ug
    >>> ug.nn.Bilinear(3, 4, 5)(ug.zeros(2, 3), ug.zeros(2, 4)).shape
    (2, 5)
    """

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in1_features, self.in2_features = _check.positive("in1_features", in1_features), _check.size("in2_features", in2_features)
        self.out_features = _check.size("out_features", out_features)
        self.weight = _uniform((self.out_features, self.in1_features, self.in2_features), self.in1_features, dtype, device)
        self.register_parameter("bias", None)
        if _check.flag("bias", bias):
            self.bias = _uniform((self.out_features,), self.in1_features, dtype, device)

    def forward(self, input1, input2):
        """Two tensors that have all axes but the last alike."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self):
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}"


def _table(n, size, padding_idx, dtype, device):
    weight = randn((n, size), dtype=dtype, device=device)
    if padding_idx is not None:
        rows = arange(n, device=weight.device).unsqueeze(1)
        weight = (rows == padding_idx).where_(0.0, weight)
    return Parameter(weight)


def _padding_idx(padding_idx, n):
    if padding_idx is None:
        return None
    padding_idx = _check.whole("padding_idx", padding_idx)
    if not -n <= padding_idx < n:
        raise ArgumentError(f"argument 'padding_idx' is {padding_idx}, of {n} rows\n help: name one of the rows")
    return padding_idx % n


class _Rows(Module):
    """What tables of vectors share."""

    def __init__(self, num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
        super().__init__()
        self.num_embeddings = _check.size("num_embeddings", num_embeddings)
        self.embedding_dim = _check.size("embedding_dim", embedding_dim)
        self.padding_idx = _padding_idx(padding_idx, self.num_embeddings)
        self.max_norm = None if max_norm is None else _check.number("max_norm", max_norm, above=0.0)
        self.norm_type = _check.number("norm_type", norm_type, above=0.0)
        self.scale_grad_by_freq, self.sparse = _check.flag("scale_grad_by_freq", scale_grad_by_freq), _check.flag("sparse", sparse)


class Embedding(_Rows):
    """A row of the weight for each index: ``[..]`` of integers to ``[.., embedding_dim]``.

    >>> import unigrad as ug
    >>> ug.nn.Embedding(10, 4)(ug.tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    @named
    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        if _weight is None:
            self.weight = _table(self.num_embeddings, self.embedding_dim, self.padding_idx, dtype, device)
        else:
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **settings):
        """Of vectors ``[n, size]`` that are there; with ``freeze`` they do not learn."""
        if _check.tensor("embeddings", embeddings).ndim != 2:
            raise ArgumentError(f"argument 'embeddings' has {embeddings.ndim} axes\n help: give a matrix")
        n, size = embeddings.shape
        return cls(n, size, _weight=embeddings, _freeze=freeze, **settings)

    def forward(self, input):
        """``[..]`` of integers to ``[.., embedding_dim]``."""
        if self.max_norm is None and self.padding_idx is None and not self.scale_grad_by_freq:
            return self.weight.embedding(_check.tensor("input", input))
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self):
        more = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{more}"


class EmbeddingBag(_Rows):
    """The sum, mean or greatest of the rows of each bag of indices.

    >>> import unigrad as ug
    >>> ug.nn.EmbeddingBag(10, 4)(ug.tensor([[1, 2, 3], [4, 5, 6]])).shape
    (2, 4)
    """

    @named
    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="mean",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        padding_idx=None,
        device=None,
        dtype=None,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
        self.mode = _check.one_of("mode", mode, ("sum", "mean", "max"))
        self.include_last_offset = _check.flag("include_last_offset", include_last_offset)
        own = _table(self.num_embeddings, self.embedding_dim, self.padding_idx, dtype, device) if _weight is None else Parameter(_weight)
        self.weight = own

    def forward(self, input, offsets=None, per_sample_weights=None):
        """Bags are the rows of a matrix, or begin at ``offsets`` of a vector; to ``[bags, embedding_dim]``."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, mode={self.mode!r}"


class _Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        self.p, self.inplace = _check.probability("p", p), _check.flag("inplace", inplace)

    def forward(self, input):
        """Keeps the shape."""
        return type(self)._drop(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """While training each element is 0 with probability ``p``, else divided by ``1 - p``; in use nothing happens.

    >>> import unigrad as ug
    >>> ug.nn.Dropout(0.5).eval()(ug.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    _drop = staticmethod(F.dropout)


class Dropout1d(_Dropout):
    """Drops channels of ``[n, c, l]`` or ``[c, l]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout1d(0.5).eval()(ug.ones(1, 2, 2)).sum().item()
    4.0
    """

    _drop = staticmethod(F.dropout1d)


class Dropout2d(_Dropout):
    """Drops channels of ``[n, c, h, w]`` or ``[c, h, w]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout2d(0.5).eval()(ug.ones(1, 2, 2, 2)).sum().item()
    8.0
    """

    _drop = staticmethod(F.dropout2d)


class Dropout3d(_Dropout):
    """Drops channels of ``[n, c, d, h, w]`` or ``[c, d, h, w]`` while training.

    >>> import unigrad as ug
    >>> ug.nn.Dropout3d(0.5).eval()(ug.ones(1, 2, 2, 2, 2)).sum().item()
    16.0
    """

    _drop = staticmethod(F.dropout3d)


class AlphaDropout(_Dropout):
    """Drops elements to where SELU saturates, such that mean and variance stay, while training.

    >>> import unigrad as ug
    >>> ug.nn.AlphaDropout(0.5).eval()(ug.ones(2))
    tensor([1., 1.])
    """

    _drop = staticmethod(F.alpha_dropout)


class FeatureAlphaDropout(_Dropout):
    """As ``AlphaDropout``, of whole channels (axis 1).

    >>> import unigrad as ug
    >>> ug.nn.FeatureAlphaDropout(0.5).eval()(ug.ones(1, 2, 3)).shape
    (1, 2, 3)
    """

    _drop = staticmethod(F.feature_alpha_dropout)
