"""Recurrent layers and cells, with PyTorch's parameters; packed sequences."""

from .. import _check
from .._errors import ArgumentError
from .._unigrad import _nn, concat, tensor, zeros
from .layers import _uniform
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell"]

class PackedSequence:
    """Sequences of a length each: what ``nn.utils.rnn.pack_padded_sequence`` gives and recurrent layers take. They lie padded; ``data``, ``batch_sizes``,
    ``sorted_indices`` and ``unsorted_indices`` are PyTorch's: the steps of all sequences without padding, the longest first.

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_sequence([ug.zeros(3, 2), ug.zeros(1, 2)])
    >>> packed.lengths.tolist(), packed.batch_sizes.tolist(), packed.data.shape
    ([3, 1], [2, 1, 1], (4, 2))
    """

    def __init__(self, data, batch_sizes, sorted_indices=None, unsorted_indices=None):
        _check.tensor("data", data)
        for name, order in (("sorted_indices", sorted_indices), ("unsorted_indices", unsorted_indices)):
            _check.tensor(name, order, optional=True)
        if _check.tensor("batch_sizes", batch_sizes).ndim != 1 or batch_sizes.is_floating_point():
            raise ArgumentError(f"argument 'batch_sizes' is {list(batch_sizes.shape)} of {batch_sizes.dtype}\n help: give what `pack_sequence` gives")
        sizes = batch_sizes.tolist()
        if not sizes or data.ndim == 0 or sum(sizes) != data.shape[0] or sorted(sizes, reverse=True) != sizes or sizes[-1] < 1:
            raise ArgumentError(f"argument 'batch_sizes' is {sizes}, for {data.shape[0] if data.ndim else 0} rows\n help: give what `pack_sequence` gives")
        if sorted_indices is None and unsorted_indices is not None:
            sorted_indices = unsorted_indices.argsort()
        order = list(range(sizes[0])) if sorted_indices is None else sorted_indices.tolist()
        if order != list(range(sizes[0])) and (not isinstance(order, list) or sorted(order) != list(range(sizes[0]))):
            raise ArgumentError(f"argument 'sorted_indices' is no order of {sizes[0]} sequences\n help: give what `pack_sequence` gives")
        lengths = [sum(size > at for size in sizes) for at in range(sizes[0])]
        # Where each step of each sequence is among the rows; what is beyond a length is the row of zeros after them.
        rows, start = [[data.shape[0]] * len(sizes) for _ in order], 0
        for step, size in enumerate(sizes):
            for at in range(size):
                rows[order[at]][step] = start + at
            start += size
        device = data.device
        padded = concat([data, zeros((1, *data.shape[1:]), dtype=data.dtype, device=device)], 0)[tensor(rows, device=device)]
        at_home = [0] * len(order)
        for at, one in enumerate(order):
            at_home[one] = lengths[at]
        self._take(padded, tensor(at_home, device=device), True, sorted_indices is None)

    def _take(self, padded, lengths, batch_first, enforce_sorted):
        self.padded, self.lengths, self.batch_first, self.enforce_sorted = padded, lengths, batch_first, enforce_sorted
        self._order = None

    @classmethod
    def _of(cls, padded, lengths, batch_first, enforce_sorted):
        made = cls.__new__(cls)
        made._take(padded, lengths, batch_first, enforce_sorted)
        return made

    def _with(self, padded):
        """The same lengths, of other features."""
        return PackedSequence._of(padded, self.lengths, self.batch_first, self.enforce_sorted)

    def _sorted(self):
        # Read once, when it is asked for: recurrent layers need no order.
        if self._order is None:
            lengths = self.lengths.tolist()
            self._order = sorted(range(len(lengths)), key=lambda at: -lengths[at]), lengths
        return self._order

    @property
    def batch_sizes(self):
        """How many sequences go on at each step: a tensor on the CPU."""
        _, lengths = self._sorted()
        return tensor([sum(length > step for length in lengths) for step in range(max(lengths))], device="cpu")

    @property
    def data(self):
        """The steps of all sequences, one step after another."""
        order, lengths = self._sorted()
        rows = self.padded if self.batch_first else self.padded.transpose(0, 1)
        width = rows.shape[1]
        at = [one * width + step for step in range(max(lengths)) for one in order if lengths[one] > step]
        return rows.reshape(-1, *rows.shape[2:])[tensor(at, device=rows.device)]

    @property
    def sorted_indices(self):
        """The sequences, the longest first; ``None`` where they were in that order."""
        order, _ = self._sorted()
        return None if self.enforce_sorted and order == list(range(len(order))) else tensor(order, device=self.padded.device)

    @property
    def unsorted_indices(self):
        """Where each sequence is among the sorted ones."""
        order = self.sorted_indices
        return None if order is None else order.argsort()

    def __iter__(self):
        return iter((self.data, self.batch_sizes, self.sorted_indices, self.unsorted_indices))

    def __len__(self):
        return 4

    def __getitem__(self, at):
        return tuple(self)[at]

    def _replace(self, **kwargs):
        names = ("data", "batch_sizes", "sorted_indices", "unsorted_indices")
        return PackedSequence(**{**dict(zip(names, self)), **kwargs})

    def to(self, *args, **kwargs):
        """On another device, or as another dtype."""
        padded = self.padded.to(*args, **kwargs)
        return PackedSequence._of(padded, self.lengths.to(padded.device), self.batch_first, self.enforce_sorted)

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    def cuda(self, device=None):
        """On a CUDA device."""
        return self.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)

    def __repr__(self):
        return f"PackedSequence(data={self.data}, batch_sizes={self.batch_sizes}, sorted_indices={self.sorted_indices})"


class RNNBase(Module):
    """What ``RNN``, ``LSTM`` and ``GRU`` share.

    >>> import unigrad as ug
    >>> issubclass(ug.nn.LSTM, ug.nn.RNNBase), ug.nn.LSTM(3, 4).hidden_size
    (True, 4)
    """

    _gates = {"RNN_TANH": 1, "RNN_RELU": 1, "LSTM": 4, "GRU": 3}

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = _check.one_of("mode", mode, tuple(self._gates))
        self.input_size, self.hidden_size = _check.size("input_size", input_size), _check.positive("hidden_size", hidden_size)
        self.num_layers, self.bias = _check.positive("num_layers", num_layers), _check.flag("bias", bias)
        self.batch_first, self.dropout = _check.flag("batch_first", batch_first), _check.probability("dropout", dropout)
        self.bidirectional, self.proj_size = _check.flag("bidirectional", bidirectional), _check.size("proj_size", proj_size)
        if self.proj_size and (mode != "LSTM" or self.proj_size >= self.hidden_size):
            raise ArgumentError(f"argument 'proj_size' is {proj_size}\n help: it is of LSTM only, and below `hidden_size`")
        if self.num_layers > 4096:
            raise ArgumentError(f"argument 'num_layers' is {num_layers}\n help: use at most 4096 layers")
        gates, outputs = self._gates[mode], self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            features = self.input_size if layer == 0 else outputs * directions
            for suffix in ("", "_reverse")[:directions]:
                shapes = {"weight_ih": (gates * self.hidden_size, features), "weight_hh": (gates * self.hidden_size, outputs)}
                if self.bias:
                    shapes |= {"bias_ih": (gates * self.hidden_size,), "bias_hh": (gates * self.hidden_size,)}
                if self.proj_size:
                    shapes["weight_hr"] = (self.proj_size, self.hidden_size)
                for name, shape in shapes.items():
                    setattr(self, f"{name}_l{layer}{suffix}", _uniform(shape, self.hidden_size, dtype, device))

    def flatten_parameters(self):
        """Nothing: weights need no order in memory here."""

    def _run(self, input, state):
        lengths, batch_first = None, self.batch_first
        packed = isinstance(input, PackedSequence)
        if packed:
            batch_first, lengths = input.batch_first, input.lengths
            given, input = input, input.padded
        _check.tensor("input", input)
        if input.ndim not in (2, 3):
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[length, batch, features]`, or `[length, features]`")
        output, h, c = _nn.recurrent(
            self.mode,
            input,
            lengths,
            state,
            list(self._parameters.values()),
            self.num_layers,
            self.bias,
            bool(self.proj_size),
            batch_first,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        if packed:
            output = given._with(output)
        return output, h, c

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        return text + "".join(f", {name}={getattr(self, name)}" for name, value in defaults.items() if getattr(self, name) != value)


def _one_state(hx):
    return None if hx is None else (_check.tensor("hx", hx), None)


def _pair(hx):
    if hx is None:
        return None
    if not isinstance(hx, (tuple, list)) or len(hx) != 2:
        raise TypeError(f"argument 'hx': a pair of tensors is wanted, not {_check._kind(hx)}")
    return _check.tensor("hx", hx[0]), _check.tensor("hx", hx[1])


class RNN(RNNBase):
    """Elman's network: ``h = tanh(W x + b + U h + c)``, or with ReLU. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, h = ug.nn.RNN(4, 8, batch_first=True)(ug.zeros(2, 5, 4))
    >>> output.shape, h.shape
    ((2, 5, 8), (1, 2, 8))
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        nonlinearity="tanh",
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        mode = "RNN_" + _check.one_of("nonlinearity", nonlinearity, ("tanh", "relu")).upper()
        super().__init__(
            mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device=device, dtype=dtype
        )
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        """The states of all times, and the last ones, ``[layers * directions, batch, hidden]``."""
        return self._run(input, _one_state(hx))[:2]


class GRU(RNNBase):
    """Gated recurrent units. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, h = ug.nn.GRU(3, 4, batch_first=True)(ug.zeros(2, 5, 3))
    >>> output.shape, h.shape
    ((2, 5, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device=device, dtype=dtype
        )

    def forward(self, input, hx=None):
        """The states of all times, and the last ones, ``[layers * directions, batch, hidden]``."""
        return self._run(input, _one_state(hx))[:2]


class LSTM(RNNBase):
    """Long short-term memory. Sequences are ``[length, batch, features]``, or with ``batch_first`` the batch first.

    >>> import unigrad as ug
    >>> output, (h, c) = ug.nn.LSTM(4, 8, num_layers=2, bidirectional=True)(ug.zeros(5, 2, 4))
    >>> output.shape, h.shape, c.shape
    ((5, 2, 16), (4, 2, 8), (4, 2, 8))
    """

    def __init__(
        self,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device=device, dtype=dtype
        )

    def forward(self, input, hx=None):
        """The states h of all times, and the last ones: ``(h, c)``."""
        output, h, c = self._run(input, _pair(hx))
        return output, (h, c)


class _Cell(Module):
    def __init__(self, gates, input_size, hidden_size, bias, device, dtype):
        super().__init__()
        self.input_size, self.hidden_size = _check.size("input_size", input_size), _check.positive("hidden_size", hidden_size)
        has_bias = self.__dict__["bias"] = _check.flag("bias", bias)
        self.weight_ih = _uniform((gates * self.hidden_size, self.input_size), self.hidden_size, dtype, device)
        self.weight_hh = _uniform((gates * self.hidden_size, self.hidden_size), self.hidden_size, dtype, device)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, _uniform((gates * self.hidden_size,), self.hidden_size, dtype, device) if has_bias else None)

    def _given(self, input, *states):
        for state in states:
            if state is not None and _check.tensor("hx", state).ndim not in (1, 2):
                raise ArgumentError(f"argument 'hx' has {state.ndim} axes\n help: give `[batch, hidden]`, or `[hidden]`")
        if _check.tensor("input", input).ndim not in (1, 2):
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[batch, features]`, or `[features]`")
        return input

    def _weights(self):
        own = self._parameters
        return own["weight_ih"], own["weight_hh"], own["bias_ih"], own["bias_hh"]

    def extra_repr(self):
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of an ``RNN``.

    >>> import unigrad as ug
    >>> ug.nn.RNNCell(3, 4)(ug.zeros(2, 3)).shape
    (2, 4)
    """

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(1, input_size, hidden_size, bias, device, dtype)
        self.nonlinearity = _check.one_of("nonlinearity", nonlinearity, ("tanh", "relu"))

    def forward(self, input, hx=None):
        """The state after ``[batch, features]`` or ``[features]``."""
        return _nn.rnn_cell(self._given(input, hx), hx, *self._weights(), self.nonlinearity)


class GRUCell(_Cell):
    """One step of a ``GRU``.

    >>> import unigrad as ug
    >>> ug.nn.GRUCell(3, 4)(ug.zeros(2, 3)).shape
    (2, 4)
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(3, input_size, hidden_size, bias, device, dtype)

    def forward(self, input, hx=None):
        """The state after ``[batch, features]`` or ``[features]``."""
        return _nn.gru_cell(self._given(input, hx), hx, *self._weights())


class LSTMCell(_Cell):
    """One step of an ``LSTM``.

    >>> import unigrad as ug
    >>> h, c = ug.nn.LSTMCell(3, 4)(ug.zeros(2, 3))
    >>> h.shape, c.shape
    ((2, 4), (2, 4))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(4, input_size, hidden_size, bias, device, dtype)

    def forward(self, input, hx=None):
        """The states ``(h, c)`` after ``[batch, features]`` or ``[features]``."""
        return _nn.lstm_cell(self._given(input, *(_pair(hx) or ())), _pair(hx), *self._weights())
