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
from unigrad import DType as DType
from unigrad import Tensor as Tensor
from unigrad._errors import DTypeError as DTypeError

def type(self: Any, dtype: DType | builtins.str | builtins.type | None=None, non_blocking: builtins.bool=False) -> Any:
    """PyTorch's name of the tensor's type; with a dtype, or such a name, the tensor as that type.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).type()
    'torch.FloatTensor'"""
    ...
def result_type(tensor1: Any, tensor2: Any) -> DType:
    """The dtype of the sum of two tensors or numbers. A number, or a tensor without axes, weighs less than a tensor with axes.

    >>> import unigrad
    >>> unigrad.result_type(unigrad.ones(2, dtype=unigrad.float16), 2.5), unigrad.result_type(unigrad.tensor([1]), 2.5)
    (unigrad.float16, unigrad.float32)"""
    ...
def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype of the sum of two tensors of these dtypes.

    >>> import unigrad
    >>> unigrad.promote_types(unigrad.int32, unigrad.float16)
    unigrad.float16"""
    ...
def can_cast(from_: Any, to: Any) -> builtins.bool:
    """Whether PyTorch's rules let a result of one dtype be written to a tensor of another: not of floats to integers, nor of numbers to bools.

    >>> import unigrad
    >>> unigrad.can_cast(unigrad.float64, unigrad.int32), unigrad.can_cast(unigrad.int64, unigrad.int8)
    (False, True)"""
    ...
