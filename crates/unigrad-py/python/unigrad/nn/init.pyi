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

def calculate_gain(nonlinearity: Any, param: Tensor | None=None) -> Any:
    """The gain before a nonlinearity: the root of 2 before a ReLU, 5/3 before a tanh.

    >>> import unigrad
    >>> round(unigrad.nn.init.calculate_gain("relu"), 4)
    1.4142"""
    ...
def uniform_(tensor: Tensor, a: builtins.float=0.0, b: builtins.float=1.0, generator: Any=None) -> Tensor:
    """Uniform in ``a..b``.

    >>> import unigrad as ug
    >>> 0.0 <= ug.nn.init.uniform_(ug.zeros(9)).min().item() < 1.0
    True"""
    ...
def normal_(tensor: Tensor, mean: builtins.float=0.0, std: builtins.float=1.0, generator: Any=None) -> Tensor:
    """Normal with a mean and a standard deviation.

    >>> import unigrad as ug
    >>> ug.nn.init.normal_(ug.zeros(3, 4), std=0.02).shape
    (3, 4)"""
    ...
def trunc_normal_(tensor: Tensor, mean: builtins.float=0.0, std: builtins.float=1.0, a: builtins.float=-2.0, b: builtins.float=2.0, generator: Any=None) -> Tensor:
    """Normal, between ``a`` and ``b``: drawn by the inverse of the distribution function.

    >>> import unigrad as ug
    >>> ug.nn.init.trunc_normal_(ug.zeros(100)).abs().max().item() <= 2.0
    True"""
    ...
def constant_(tensor: Tensor, val: builtins.float) -> Tensor:
    """All one value.

    >>> import unigrad as ug
    >>> ug.nn.init.constant_(ug.zeros(2), 3.0)
    tensor([3., 3.])"""
    ...
def ones_(tensor: Tensor) -> Tensor:
    """All 1.

    >>> import unigrad as ug
    >>> ug.nn.init.ones_(ug.zeros(2))
    tensor([1., 1.])"""
    ...
def zeros_(tensor: Tensor) -> Tensor:
    """All 0.

    >>> import unigrad as ug
    >>> ug.nn.init.zeros_(ug.ones(2))
    tensor([0., 0.])"""
    ...
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix.

    >>> import unigrad as ug
    >>> ug.nn.init.eye_(ug.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])"""
    ...
def dirac_(tensor: Tensor, groups: builtins.int=1) -> Tensor:
    """The weight of a convolution that passes as many channels through as there are.

    >>> import unigrad as ug
    >>> ug.nn.init.dirac_(ug.zeros(1, 1, 3))
    tensor([[[0., 1., 0.]]])"""
    ...
def xavier_uniform_(tensor: Tensor, gain: builtins.float=1.0, generator: Any=None) -> Tensor:
    """Glorot's uniform values.

    >>> import unigrad as ug
    >>> ug.nn.init.xavier_uniform_(ug.zeros(3, 4)).shape
    (3, 4)"""
    ...
def xavier_normal_(tensor: Tensor, gain: builtins.float=1.0, generator: Any=None) -> Tensor:
    """Glorot's normal values.

    >>> import unigrad as ug
    >>> ug.nn.init.xavier_normal_(ug.zeros(3, 4)).shape
    (3, 4)"""
    ...
def kaiming_uniform_(tensor: Tensor, a: builtins.float=0.0, mode: builtins.str='fan_in', nonlinearity: builtins.str='leaky_relu', generator: Any=None) -> Tensor:
    """He's uniform values.

    >>> import unigrad as ug
    >>> ug.nn.init.kaiming_uniform_(ug.zeros(3, 4)).shape
    (3, 4)"""
    ...
def kaiming_normal_(tensor: Tensor, a: builtins.float=0.0, mode: builtins.str='fan_in', nonlinearity: builtins.str='leaky_relu', generator: Any=None) -> Tensor:
    """He's normal values.

    >>> import unigrad as ug
    >>> ug.nn.init.kaiming_normal_(ug.zeros(3, 4)).shape
    (3, 4)"""
    ...
def orthogonal_(tensor: Tensor, gain: builtins.float=1.0, generator: Any=None) -> Tensor:
    """A matrix with orthogonal rows (or columns): the other axes are one. By Gram and Schmidt, twice, in ``float64`` on the CPU.

    >>> import unigrad as ug
    >>> w = ug.nn.init.orthogonal_(ug.zeros(2, 2))
    >>> (w @ w.T).allclose(ug.eye(2), atol=1e-5)
    True"""
    ...
def sparse_(tensor: Tensor, sparsity: Any, std: builtins.float=0.01, generator: Any=None) -> Tensor:
    """Normal values, of which a share of each column is 0.

    >>> import unigrad as ug
    >>> (ug.nn.init.sparse_(ug.zeros(4, 2), sparsity=0.5) == 0).sum().item()
    4"""
    ...
