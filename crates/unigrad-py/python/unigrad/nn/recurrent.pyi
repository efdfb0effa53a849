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

class PackedSequence:
    """Sequences of a length each: what ``nn.utils.rnn.pack_padded_sequence`` gives and recurrent layers take. They lie padded; ``data``, ``batch_sizes``,
    ``sorted_indices`` and ``unsorted_indices`` are PyTorch's: the steps of all sequences without padding, the longest first.

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_sequence([ug.zeros(3, 2), ug.zeros(1, 2)])
    >>> packed.lengths.tolist(), packed.batch_sizes.tolist(), packed.data.shape
    ([3, 1], [2, 1, 1], (4, 2))"""
    def __init__(self, data: Any, batch_sizes: Any, sorted_indices: Any=None, unsorted_indices: Any=None) -> None: ...
    @property
    def batch_sizes(self) -> Any:
        """How many sequences go on at each step: a tensor on the CPU."""
        ...
    @property
    def data(self) -> Any:
        """The steps of all sequences, one step after another."""
        ...
    @property
    def sorted_indices(self) -> Any:
        """The sequences, the longest first; ``None`` where they were in that order."""
        ...
    @property
    def unsorted_indices(self) -> Any:
        """Where each sequence is among the sorted ones."""
        ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, at: Any) -> Any: ...
    def to(self, *args: Any, **kwargs: Any) -> Any:
        """On another device, or as another dtype."""
        ...
    def cpu(self) -> Any:
        """On the CPU."""
        ...
    def cuda(self, device: Device | builtins.str | None=None) -> Any:
        """On a CUDA device."""
        ...
    def __repr__(self) -> builtins.str: ...
class RNNBase(Module):
    """What ``RNN``, ``LSTM`` and ``GRU`` share.

    >>> import unigrad as ug
    >>> issubclass(ug.nn.LSTM, ug.nn.RNNBase), ug.nn.LSTM(3, 4).hidden_size
    (True, 4)"""
    mode: Any
    input_size: builtins.int
    hidden_size: builtins.int
    num_layers: builtins.int
    bias: Any
    batch_first: builtins.bool
    dropout: builtins.float
    bidirectional: builtins.bool
    proj_size: builtins.int
    def __init__(self, mode: Any, input_size: builtins.int, hidden_size: builtins.int, num_layers: builtins.int=1, bias: builtins.bool=True, batch_first: builtins.bool=False, dropout: builtins.float=0.0, bidirectional: builtins.bool=False, proj_size: builtins.int=0, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def flatten_parameters(self) -> Any:
        """Nothing: weights need no order in memory here."""
        ...
    def extra_repr(self) -> Any: ...
class RNN(RNNBase):
    """Elman's network: ``h = tanh(W x + b + U h + c)``, or with ReLU. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, h = ug.nn.RNN(4, 8, batch_first=True)(ug.zeros(2, 5, 4))
    >>> output.shape, h.shape
    ((2, 5, 8), (1, 2, 8))"""
    nonlinearity: builtins.str
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, num_layers: builtins.int=1, nonlinearity: builtins.str='tanh', bias: builtins.bool=True, batch_first: builtins.bool=False, dropout: builtins.float=0.0, bidirectional: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Any:
        """The states of all times, and the last ones, ``[layers * directions, batch, hidden]``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Any: ...
class GRU(RNNBase):
    """Gated recurrent units. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, h = ug.nn.GRU(3, 4, batch_first=True)(ug.zeros(2, 5, 3))
    >>> output.shape, h.shape
    ((2, 5, 4), (1, 2, 4))"""
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, num_layers: builtins.int=1, bias: builtins.bool=True, batch_first: builtins.bool=False, dropout: builtins.float=0.0, bidirectional: builtins.bool=False, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Any:
        """The states of all times, and the last ones, ``[layers * directions, batch, hidden]``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Any: ...
class LSTM(RNNBase):
    """Long short-term memory. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, (h, c) = ug.nn.LSTM(4, 8, num_layers=2, bidirectional=True)(ug.zeros(5, 2, 4))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 16), (4, 2, 8), (4, 2, 8))"""
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, num_layers: builtins.int=1, bias: builtins.bool=True, batch_first: builtins.bool=False, dropout: builtins.float=0.0, bidirectional: builtins.bool=False, proj_size: builtins.int=0, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Any:
        """The states h of all times, and the last ones: ``(h, c)``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Any: ...
class _Cell(Module):
    input_size: builtins.int
    hidden_size: builtins.int
    weight_ih: Any
    weight_hh: Any
    def __init__(self, gates: Any, input_size: builtins.int, hidden_size: builtins.int, bias: Any, device: Device | builtins.str, dtype: DType | builtins.str | builtins.type) -> None: ...
    def extra_repr(self) -> Any: ...
class RNNCell(_Cell):
    """One step of an ``RNN``.

    >>> import unigrad as ug
    >>> ug.nn.RNNCell(3, 4)(ug.zeros(2, 3)).shape
    (2, 4)"""
    nonlinearity: builtins.str
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, bias: builtins.bool=True, nonlinearity: builtins.str='tanh', device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Tensor:
        """The state after ``[batch, features]`` or ``[features]``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Tensor: ...
class GRUCell(_Cell):
    """One step of a ``GRU``.

    >>> import unigrad as ug
    >>> ug.nn.GRUCell(3, 4)(ug.zeros(2, 3)).shape
    (2, 4)"""
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Tensor:
        """The state after ``[batch, features]`` or ``[features]``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Tensor: ...
class LSTMCell(_Cell):
    """One step of an ``LSTM``.

    >>> import unigrad as ug
    >>> h, c = ug.nn.LSTMCell(3, 4)(ug.zeros(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))"""
    def __init__(self, input_size: builtins.int, hidden_size: builtins.int, bias: builtins.bool=True, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None) -> None: ...
    def forward(self, input: Tensor, hx: Any=None) -> Any:
        """The states ``(h, c)`` after ``[batch, features]`` or ``[features]``."""
        ...
    def __call__(self, input: Tensor, hx: Any=None) -> Any: ...
