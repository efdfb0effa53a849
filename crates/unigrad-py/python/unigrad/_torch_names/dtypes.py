"""Which dtype a result has, and dtypes by PyTorch's names of tensors' types."""

from .. import _check
from .._errors import DTypeError
from .._unigrad import DType, Tensor, tensor, zeros
from ._method import _method

# PyTorch's names of tensors' types.
_TYPES = {
    "BoolTensor": "bool", "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "HalfTensor": "float16", "BFloat16Tensor": "bfloat16", "FloatTensor": "float32", "DoubleTensor": "float64", "UInt16Tensor": "uint16",
    "UInt32Tensor": "uint32", "UInt64Tensor": "uint64", "Float8_e4m3fnTensor": "float8_e4m3fn", "Float8_e5m2Tensor": "float8_e5m2",
}  # fmt: skip


@_method
def type(self, dtype=None, non_blocking=False):  # noqa: A001
    """PyTorch's name of the tensor's type; with a dtype, or such a name, the tensor as that type."""
    if dtype is None:
        names = [name for name, known in _TYPES.items() if known == self.dtype.name]
        return f"torch.{'cuda.' if self.is_cuda else ''}{names[0]}"
    name = dtype.rpartition(".")[2] if isinstance(dtype, str) else None
    return self.to(DType(_TYPES.get(name, dtype)))


def _example(name, value):
    """A tensor without work that has the dtype and the weight of a value."""
    if isinstance(value, Tensor):
        return zeros((0,) if value.ndim else (), dtype=value.dtype)
    return _check.element(name, value)


def result_type(tensor1, tensor2):
    """The dtype of the sum of two tensors or numbers. A number, or a tensor without axes, weighs less than a tensor with axes.

    >>> import unigrad
    >>> unigrad.result_type(unigrad.ones(2, dtype=unigrad.float16), 2.5), unigrad.result_type(unigrad.tensor([1]), 2.5)
    (unigrad.float16, unigrad.float32)
    """
    a, b = _example("tensor1", tensor1), _example("tensor2", tensor2)
    if not isinstance(a, Tensor):
        a, b = (b, a) if isinstance(b, Tensor) else (tensor(a), b)
    return a.add(b).dtype


def promote_types(type1, type2):
    """The dtype of the sum of two tensors of these dtypes.

    >>> import unigrad
    >>> unigrad.promote_types(unigrad.int32, unigrad.float16)
    unigrad.float16
    """
    return zeros(0, dtype=_dtype("type1", type1)).add(zeros(0, dtype=_dtype("type2", type2))).dtype


def _dtype(name, value):
    try:
        return DType(value)
    except (TypeError, ValueError) as error:
        raise DTypeError(f"argument '{name}': {error}") from None


def can_cast(from_, to):
    """Whether PyTorch's rules let a result of one dtype be written to a tensor of another: not of floats to integers, nor of numbers to bools.

    >>> import unigrad
    >>> unigrad.can_cast(unigrad.float64, unigrad.int32), unigrad.can_cast(unigrad.int64, unigrad.int8)
    (False, True)
    """
    from_, to = _dtype("from_", from_), _dtype("to", to)
    if from_.is_floating_point:
        return to.is_floating_point
    return from_.name == "bool" or to.name != "bool"
