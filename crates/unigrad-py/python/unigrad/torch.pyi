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

def from_torch(tensor: Tensor, /) -> Any:
    """A tensor that uses a PyTorch tensor's memory; see `unigrad.from_dlpack`. Gradients end here: `wrap` lets them through.

    >>> import torch, unigrad
    >>> unigrad.torch.from_torch(torch.ones(2))
    tensor([1., 1.])"""
    ...
def to_torch(tensor: Tensor, /) -> Any:
    """A PyTorch tensor that uses a tensor's memory, which is not to be written: ``to_torch(x).clone()`` may be. Gradients end here.

    >>> import unigrad
    >>> unigrad.torch.to_torch(unigrad.ones(2))
    tensor([1., 1.])"""
    ...
def wrap(function: Callable[..., Any], /) -> Any:
    """A function of PyTorch tensors from one of unigrad tensors; PyTorch's gradients go through it.

    Its PyTorch tensors, as arguments or keywords, are unigrad tensors inside, other arguments stay; it returns a tensor, or a tuple or list of
    tensors. Nothing is copied on the way in and out, on the CPU and on CUDA devices. Gradients of gradients are refused. As in PyTorch's own functions,
    an argument or a result that is written in place before the backward pass is an error.

    >>> import unigrad
    >>> silu = unigrad.torch.wrap(lambda x: x * x.sigmoid())   # silu(torch_tensor).sum().backward()"""
    ...
