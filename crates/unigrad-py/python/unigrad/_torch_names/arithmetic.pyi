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
from unigrad._errors import ShapeError as ShapeError

def clamp_min(self: Any, min: Any) -> Tensor:
    """At least this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_min(1.0)
    tensor([1., 2.])"""
    ...
def clamp_max(self: Any, max: Any) -> Tensor:
    """At most this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_max(1.0)
    tensor([0.5000, 1.0000])"""
    ...
def positive(self: Any) -> Tensor:
    """The tensor itself.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).positive()
    tensor([0.5000, 2.0000])"""
    ...
def dist(self: Any, other: Any, p: builtins.float=2.0) -> Tensor:
    """The norm of the difference.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).dist(unigrad.tensor([1.0, 3.0]))
    tensor(1.1180)"""
    ...
def mm(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The matrix product of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mm(unigrad.ones(3, 4)).shape
    (2, 4)"""
    ...
def bmm(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The matrix product of batches of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 1, 3).bmm(unigrad.ones(2, 3, 4)).shape
    (2, 1, 4)"""
    ...
def mv(self: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The matrix product of a matrix and a vector.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mv(unigrad.ones(3))
    tensor([3., 3.])"""
    ...
def vdot(self: Any, other: Any) -> Tensor:
    """The dot product of two vectors.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).vdot(unigrad.tensor([1.0, 3.0]))
    tensor(6.5000)"""
    ...
def trapz(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1) -> Tensor:
    """``trapezoid`` by its older name.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).trapz()
    tensor(1.2500)"""
    ...
def trapezoid(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).trapezoid()
    tensor(1.2500)"""
    ...
def cumulative_trapezoid(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
    """Integrals up to each point by the trapezoidal rule.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0, 4.0]).cumulative_trapezoid()
    tensor([1.2500, 4.2500])"""
    ...
def tensordot(self: Any, other: Any, dims: builtins.int=2, other_axes: Any=None, *, dim: Any=None) -> Tensor:
    """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)"""
    ...
def ldexp(self: Any, other: Any) -> Tensor:
    """``x * 2**other``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ldexp(unigrad.tensor([1.0, 3.0]))
    tensor([ 1., 16.])"""
    ...
def addbmm(self: Any, batch1: Any, batch2: Any, *, beta: builtins.int=1, alpha: builtins.int=1) -> Tensor:
    """``beta x + alpha`` times the sum of the products of two batches of matrices.

    >>> import unigrad
    >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).addbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
    (2, 3)"""
    ...
def renorm(self: Any, p: Any, dim: Any, maxnorm: Any) -> Tensor:
    """Slices along ``dim`` whose ``p``-norm is greater than ``maxnorm`` are scaled to have it.

    >>> import unigrad
    >>> unigrad.tensor([[3.0, 4.0], [0.0, 1.0]]).renorm(2, 0, 2.5).round(decimals=3).tolist()
    [[1.5, 2.0], [0.0, 1.0]]"""
    ...
def gradient(self: Any, *, spacing: Any=None, dim: Any=None, edge_order: builtins.int=1) -> Tensor:
    """Derivatives of what is sampled on a grid, by differences of second order inside and of ``edge_order`` at the ends: one for each axis.

    ``spacing`` is the distance of samples, 1 without, or for each axis a distance or a vector of places.

    >>> import unigrad
    >>> unigrad.gradient(unigrad.tensor([0.0, 1.0, 4.0, 9.0]))[0].tolist()
    [1.0, 2.0, 4.0, 5.0]"""
    ...
