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
from unigrad._errors import ArgumentError as ArgumentError

def gather(self: Any, dim: Any, index: Any) -> Tensor:
    """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]"""
    ...
def scatter(self: Any, dim: Any, index: Any, src: Tensor | None=None, *, value: builtins.float | None=None, reduce: builtins.bool | None=None) -> Tensor:
    """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there."""
    ...
def scatter_reduce(self: Any, dim: Any, index: Any, src: Tensor, reduce: builtins.bool | None=None, *, include_self: builtins.bool=True, mode: Any=None) -> Tensor:
    """A copy in which the elements of ``src`` that ``index`` puts to one place along ``dim`` are reduced: sum, prod, mean, amax, amin."""
    ...
def index_reduce(self: Any, dim: Any, index: Any, src: Tensor, reduce: builtins.bool | None=None, *, include_self: builtins.bool=True, mode: Any=None) -> Tensor:
    """As ``scatter_reduce``, for whole slices: prod, mean, amax, amin."""
    ...
def index_add(self: Any, dim: Any, index: Any, src: Tensor, *, alpha: builtins.int=1) -> Tensor:
    """A copy with ``alpha * src`` added to the slices at ``index``."""
    ...
def argwhere(self: Any) -> Tensor:
    """The indices of what is not 0: ``[n, ndim]``."""
    ...
def flip(self: Any, *dims: Any, axis: Any=None, **keyword: Any) -> Tensor:
    """Reversed along these dims; along all without."""
    ...
def permute(self: Any, *dims: Any, **keyword: Any) -> Tensor:
    """Its axes in this order."""
    ...
def tile(self: Any, *repeats: Any, **keyword: Any) -> Tensor:
    """Repeated so often along each axis."""
    ...
def transpose(self: Any, *dims: Any, dim0: Any=None, dim1: Any=None) -> Tensor:
    """Two axes exchanged; NumPy's order of all axes if there are not two."""
    ...
def split(self: Any, split_size: Any=None, dim: builtins.int=0, *, axis: Any=None, split_size_or_sections: Any=None) -> builtins.tuple[Tensor, ...]:
    """Parts of this size, or of these sizes, along ``dim``."""
    ...
def tensor_split(self: Any, indices_or_sections: Any=None, dim: builtins.int=0, *, axis: Any=None, indices: Tensor | None=None, sections: Any=None) -> builtins.tuple[Tensor, ...]:
    """So many parts along ``dim``, or parts that end at these indices."""
    ...
def hsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``hsplit`` names."""
    ...
def vsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``vsplit`` names."""
    ...
def dsplit(self: Any, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
    """``tensor_split`` along the axis that ``dsplit`` names."""
    ...
def fliplr(self: Any) -> Tensor:
    """Reversed along the second axis."""
    ...
def flipud(self: Any) -> Tensor:
    """Reversed along the first axis."""
    ...
def view_as(self: Any, other: Any) -> Tensor:
    """In another tensor's shape."""
    ...
def type_as(self: Any, other: Any) -> Tensor:
    """In another tensor's dtype."""
    ...
def broadcast_tensors(*tensors: Any) -> builtins.tuple[Tensor, ...]:
    """Tensors expanded to the shape that they have together.

    >>> import unigrad
    >>> [tuple(x.shape) for x in unigrad.broadcast_tensors(unigrad.ones(2, 1), unigrad.ones(3))]
    [(2, 3), (2, 3)]"""
    ...
def atleast_1d(*tensors: Any) -> Any:
    """With one axis at least."""
    ...
def atleast_2d(*tensors: Any) -> Any:
    """With two axes at least: those that are missing come first."""
    ...
def atleast_3d(*tensors: Any) -> Any:
    """With three axes at least."""
    ...
def add(self: Any, other: Any, *, alpha: builtins.int=1) -> Tensor:
    """``x + alpha * other``, element by element."""
    ...
def sub(self: Any, other: Any, *, alpha: builtins.int=1) -> Tensor:
    """``x - alpha * other``, element by element."""
    ...
def addcmul(self: Any, tensor1: Any, tensor2: Any, value: builtins.int=1) -> Tensor:
    """``x + value * tensor1 * tensor2``."""
    ...
def addcdiv(self: Any, tensor1: Any, tensor2: Any, value: builtins.int=1) -> Tensor:
    """``x + value * tensor1 / tensor2``."""
    ...
def addr(self: Any, vec1: Any, vec2: Any, beta: builtins.float=1.0, alpha: builtins.float=1.0) -> Tensor:
    """``beta * x + alpha * outer(vec1, vec2)``."""
    ...
def addmv(self: Any, mat: Any, vec: Tensor, beta: builtins.float=1.0, alpha: builtins.float=1.0) -> Tensor:
    """``beta * x + alpha * mat @ vec``."""
    ...
def baddbmm(self: Any, batch1: Any, batch2: Any, beta: builtins.float=1.0, alpha: builtins.float=1.0) -> Tensor:
    """``beta * x + alpha * batch1 @ batch2``."""
    ...
def clamp_min(self: Any, min: Any) -> Tensor:
    """At least this."""
    ...
def clamp_max(self: Any, max: Any) -> Tensor:
    """At most this."""
    ...
def positive(self: Any) -> Tensor:
    """The tensor itself."""
    ...
def rsub(self: Any, other: Any, *, alpha: builtins.int=1) -> Tensor:
    """``other - alpha * x``."""
    ...
def dist(self: Any, other: Any, p: builtins.float=2.0) -> Tensor:
    """The norm of the difference."""
    ...
def vdot(self: Any, other: Any) -> Tensor:
    """The dot product of two vectors."""
    ...
def trapz(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1) -> Tensor:
    """``trapezoid`` by its older name."""
    ...
def trapezoid(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
    """The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``."""
    ...
def cumulative_trapezoid(self: Any, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
    """Integrals up to each point by the trapezoidal rule."""
    ...
def diff(self: Any, n: builtins.int=1, dim: builtins.int=-1, prepend: Any=None, append: Any=None, *, axis: Any=None) -> Tensor:
    """Differences of neighbours along ``dim``, ``n`` times."""
    ...
def tensordot(self: Any, other: Any, dims: builtins.int=2, other_axes: Any=None, *, dim: Any=None) -> Tensor:
    """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)"""
    ...
def std(self: Any, dim: Any=None, unbiased: Any=None, keepdim: Any=None, *, correction: Any=None, axis: Any=None, keepdims: Any=None) -> Tensor:
    """Standard deviation over axes, or over all; see `var`."""
    ...
def var(self: Any, dim: Any=None, unbiased: Any=None, keepdim: Any=None, *, correction: Any=None, axis: Any=None, keepdims: Any=None) -> Tensor:
    """Variance over axes, or over all, divided by the number of elements less `correction`."""
    ...
def std_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The standard deviation and the mean."""
    ...
def var_mean(self: Any, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
    """The variance and the mean."""
    ...
def quantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.

    Several ``q`` give a first axis."""
    ...
def nanquantile(self: Any, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
    """As `quantile`, of what is not NaN.

    Several ``q`` give a first axis."""
    ...
def softmax(self: Any, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: Any=None) -> Tensor:
    """`exp(x) / sum(exp(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself."""
    ...
def log_softmax(self: Any, dim: Any=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: Any=None) -> Tensor:
    """`log(softmax(x))` along an axis. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more."""
    ...
def histc(self: Any, bins: builtins.int=100, min: builtins.float=0.0, max: builtins.float=0.0, *, low: Any=None, high: Any=None) -> Tensor:
    """How many elements are in each of ``bins`` bins between ``min`` and ``max``; between the least and the greatest where both are 0."""
    ...
def searchsorted(self: Any, values: Any, *args: Any, out_int32: builtins.bool=False, right: builtins.bool=False, side: Any=None, sorter: Any=None) -> Tensor:
    """Where ``values`` belong in a sorted tensor: before what is equal, or behind it with ``right=True`` (``side="right"``)."""
    ...
def bucketize(self: Any, boundaries: Any, right: builtins.bool=False, *, out_int32: builtins.bool=False) -> Tensor:
    """The number of the bucket between ``boundaries`` that each element is in."""
    ...
def allclose(self: Any, other: Any, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan: builtins.bool=False) -> builtins.bool:
    """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True"""
    ...
def equal(self: Any, other: Any) -> builtins.bool:
    """Whether another tensor has the same shape and the same elements."""
    ...
def is_floating_point(self: Any) -> builtins.bool:
    """Whether the dtype is one of floats."""
    ...
def as_tensor(data: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of an object; a tensor of that dtype and device is returned as it is."""
    ...
def new_zeros(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given."""
    ...
def new_ones(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 1; of the same dtype and device unless they are given."""
    ...
def new_empty(self: Any, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """A tensor of this size, filled with 0; of the same dtype and device unless they are given."""
    ...
def new_full(self: Any, size: builtins.int | Sequence[builtins.int], fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of this size with one value; of the same dtype and device unless they are given."""
    ...
def new_tensor(self: Any, data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """A tensor of data; of the same dtype and device unless they are given."""
    ...
def bernoulli(self: Any) -> Tensor:
    """0 or 1, 1 with the probability that each element is."""
    ...
def multinomial(self: Any, num_samples: builtins.int, replacement: builtins.bool=False) -> Tensor:
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]"""
    ...
def normal(mean: builtins.float=0.0, std: builtins.float=1.0, size: builtins.int | Sequence[builtins.int] | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors."""
    ...
def randint_like(x: Tensor, low: Any, high: Any=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """Random integers of a tensor's shape, dtype and device."""
    ...
def cat(tensors: Any, dim: builtins.int=0, *, axis: Any=None) -> Tensor:
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch."""
    ...
