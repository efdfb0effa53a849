"""Sequences of different lengths."""

from ... import _check
from ..._errors import ArgumentError
from ..._told import name_arguments as _name_arguments
from ..._unigrad import Tensor, full, stack
from ..recurrent import PackedSequence

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence", "unpack_sequence", "unpad_sequence"]


def _sequences(sequences):
    if isinstance(sequences, (str, bytes)) or not hasattr(sequences, "__iter__"):
        raise TypeError(f"argument 'sequences': tensors are wanted, not {_check._kind(sequences)}")
    sequences = [_check.tensor("sequences", sequence) for sequence in sequences]
    if not sequences or any(sequence.ndim == 0 for sequence in sequences):
        raise ArgumentError("argument 'sequences' is empty, or has numbers in it\n help: give tensors `[length, ..]`")
    return sequences


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors ``[length, ..]`` as one, ``[longest, n, ..]``, or ``[n, longest, ..]`` with ``batch_first``.

    >>> import unigrad as ug
    >>> ug.nn.utils.rnn.pad_sequence([ug.tensor([1, 2, 3]), ug.tensor([4])], batch_first=True).tolist()
    [[1, 2, 3], [4, 0, 0]]
    """
    sequences = _sequences(sequences)
    value = _check.number("padding_value", padding_value)
    _check.one_of("padding_side", padding_side, ("left", "right"))
    longest = max(sequence.shape[0] for sequence in sequences)
    wide = []
    for sequence in sequences:
        more = longest - sequence.shape[0]
        around = [0, 0] * (sequence.ndim - 1) + ([0, more] if padding_side == "right" else [more, 0])
        wide.append(sequence.pad(around, "constant", value) if more else sequence)
    padded = stack(wide, 0)
    return padded if batch_first else padded.transpose(0, 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """What ``pad_sequence`` was given.

    >>> import unigrad as ug
    >>> [one.tolist() for one in ug.nn.utils.rnn.unpad_sequence(ug.tensor([[1, 2], [3, 0]]), ug.tensor([2, 1]), batch_first=True)]
    [[1, 2], [3]]
    """
    padded = _check.tensor("padded_sequences", padded_sequences)
    padded = padded if batch_first else padded.transpose(0, 1)
    lengths = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    return [padded[at, :length] for at, length in enumerate(lengths)]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Padded sequences and their lengths, for recurrent layers: what lies beyond a length changes nothing. They need no order.

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_padded_sequence(ug.zeros(2, 3, 4), [3, 1], batch_first=True)
    >>> output, h = ug.nn.GRU(4, 5, batch_first=True)(packed)
    >>> h.shape
    (1, 2, 5)
    """
    _check.tensor("input", input)
    if input.ndim < 2:
        raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give `[length, batch, ..]`")
    if not isinstance(lengths, Tensor):
        if isinstance(lengths, str) or not hasattr(lengths, "__iter__"):
            raise TypeError(f"argument 'lengths': integers are wanted, not {_check._kind(lengths)}")
        lengths = Tensor([_check.whole("lengths", length, 1) for length in lengths], dtype="int64", device=input.device)
    batch = input.shape[0 if batch_first else 1]
    if lengths.shape != (batch,):
        raise ArgumentError(f"argument 'lengths' is {list(lengths.shape)}, for {batch} sequences\n help: give one for each")
    return PackedSequence._of(input, lengths, _check.flag("batch_first", batch_first), _check.flag("enforce_sorted", enforce_sorted))


def pack_sequence(sequences, enforce_sorted=True):
    """Tensors ``[length, ..]`` for recurrent layers.

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_sequence([ug.zeros(3, 2), ug.zeros(1, 2)])
    >>> ug.nn.utils.rnn.pad_packed_sequence(packed)[1].tolist()
    [3, 1]
    """
    sequences = _sequences(sequences)
    return pack_padded_sequence(pad_sequence(sequences), [sequence.shape[0] for sequence in sequences], enforce_sorted=enforce_sorted)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The sequences of a packed one, padded, and their lengths (a tensor on the CPU).

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_sequence([ug.zeros(3, 2), ug.zeros(1, 2)])
    >>> padded, lengths = ug.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    >>> padded.shape, lengths.tolist()
    ((2, 3, 2), [3, 1])
    """
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"argument 'sequence': a PackedSequence is wanted, not {_check._kind(sequence)}")
    data = sequence.padded if sequence.batch_first else sequence.padded.transpose(0, 1)
    lengths = sequence.lengths.cpu()
    longest = max(lengths.tolist())
    data = data[:, :longest]
    if padding_value != 0.0 or (total_length is not None and total_length > longest):
        from ... import arange

        if total_length is not None:
            total = _check.whole("total_length", total_length, longest)
            more = full((data.shape[0], total - longest, *data.shape[2:]), padding_value, dtype=data.dtype, device=data.device)
            from ..._unigrad import concat

            data = concat([data, more], 1)
        seen = arange(data.shape[1], device=data.device) < sequence.lengths.unsqueeze(1)
        data = seen.reshape(list(seen.shape) + [1] * (data.ndim - 2)).where_(data, padding_value)
    return (data if batch_first else data.transpose(0, 1)), lengths


def unpack_sequence(packed_sequences):
    """What ``pack_sequence`` was given.

    >>> import unigrad as ug
    >>> packed = ug.nn.utils.rnn.pack_sequence([ug.tensor([1, 2]), ug.tensor([3])])
    >>> [one.tolist() for one in ug.nn.utils.rnn.unpack_sequence(packed)]
    [[1, 2], [3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


_name_arguments(globals(), __all__)
