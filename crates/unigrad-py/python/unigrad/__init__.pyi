# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from typing_extensions import Buffer as _Buffer

from . import _unigrad as _unigrad
from . import amp as amp
from . import array_api as array_api
from . import data as data
from . import metrics as metrics
from . import nn as nn
from . import optim as optim
from . import profile as profile
from . import torch as torch
from . import train as train
from .train import Network as Network
from .train import Trainer as Trainer
from .amp import autocast as autocast
from .array_api import finfo as finfo
from .array_api import iinfo as iinfo
from ._files import load as load
from ._files import save as save
from ._errors import ArgumentError as ArgumentError
from ._unigrad import Autocast as Autocast
from ._errors import AutogradError as AutogradError
from ._errors import AxisError as AxisError
from ._errors import CancelledError as CancelledError
from ._errors import CompileError as CompileError
from ._unigrad import CompiledKernel as CompiledKernel
from ._unigrad import CustomKernel as CustomKernel
from ._unigrad import DType as DType
from ._errors import DTypeError as DTypeError
from ._unigrad import Device as Device
from ._errors import DeviceError as DeviceError
from ._errors import DeviceLostError as DeviceLostError
from ._unigrad import EnableGrad as EnableGrad
from ._errors import Error as Error
from ._errors import FileError as FileError
from ._errors import FormatError as FormatError
from ._unigrad import Fp8Recipe as Fp8Recipe
from ._unigrad import Generator as Generator
from ._unigrad import GradientHook as GradientHook
from ._unigrad import Held as Held
from ._errors import InternalError as InternalError
from ._errors import LaunchError as LaunchError
from ._unigrad import Layout as Layout
from ._unigrad import MemoryFormat as MemoryFormat
from ._unigrad import NoGrad as NoGrad
from ._errors import NotAvailableError as NotAvailableError
from ._errors import NotFiniteError as NotFiniteError
from ._errors import OutOfMemoryError as OutOfMemoryError
from ._unigrad import Quantized as Quantized
from ._unigrad import Replayed as Replayed
from ._errors import ShapeError as ShapeError
from ._errors import StateDictError as StateDictError
from ._unigrad import Tensor as Tensor
from ._unigrad import __version__ as __version__
from ._torch_names.creation import as_tensor as as_tensor
from ._unigrad import asarray as asarray
from ._torch_names.shapes import atleast_1d as atleast_1d
from ._torch_names.shapes import atleast_2d as atleast_2d
from ._torch_names.shapes import atleast_3d as atleast_3d
from . import autograd as autograd
from ._unigrad import bfloat16 as bfloat16
from ._unigrad import block_diag as block_diag
from ._unigrad import bool as bool
from ._torch_names.shapes import broadcast_shapes as broadcast_shapes
from ._torch_names.shapes import broadcast_tensors as broadcast_tensors
from ._torch_names.dtypes import can_cast as can_cast
from ._torch_names.shapes import cartesian_prod as cartesian_prod
from .autograd import checkpoint as checkpoint
from ._unigrad import contiguous_format as contiguous_format
from .autograd import custom_function as custom_function
from ._unigrad import default_device as default_device
from ._unigrad import devices as devices
from ._unigrad import double as double
from ._unigrad import float as float
from ._unigrad import float16 as float16
from ._unigrad import float32 as float32
from ._unigrad import float64 as float64
from ._unigrad import float8_e4m3fn as float8_e4m3fn
from ._unigrad import float8_e5m2 as float8_e5m2
from ._unigrad import from_dlpack as from_dlpack
from ._unigrad import from_numpy as from_numpy
from . import func as func
from ._unigrad import get_default_dtype as get_default_dtype
from ._unigrad import get_rng_state as get_rng_state
from ._unigrad import grad as grad
from ._unigrad import grad_enabled as grad_enabled
from ._unigrad import half as half
from ._unigrad import initial_seed as initial_seed
from ._unigrad import int as int
from ._unigrad import int16 as int16
from ._unigrad import int32 as int32
from ._unigrad import int64 as int64
from ._unigrad import int8 as int8
from ._unigrad import long as long
from ._unigrad import manual_seed as manual_seed
from . import micrograd as micrograd
from ._unigrad import multi_dot as multi_dot
from ._unigrad import preserve_format as preserve_format
from ._torch_names.dtypes import promote_types as promote_types
from ._replay import replay as replay
from ._torch_names.dtypes import result_type as result_type
from .func import scan as scan
from ._unigrad import seed as seed
from ._unigrad import set_default_device as set_default_device
from ._unigrad import set_default_dtype as set_default_dtype
from ._unigrad import set_rng_state as set_rng_state
from ._unigrad import short as short
from ._unigrad import strided as strided
from ._unigrad import uint16 as uint16
from ._unigrad import uint32 as uint32
from ._unigrad import uint64 as uint64
from ._unigrad import uint8 as uint8
from ._unigrad import uniform as uniform
from ._torch_names.creation import vander as vander
from .func import vmap as vmap

_F = TypeVar("_F", bound=Callable[..., Any])

def abs(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `|x|`; the gradient at 0 is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 3.0]).abs()
        tensor([2., 3.])
        """

abs_ = _unigrad.Tensor.abs_
def absolute(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `|x|`; the gradient at 0 is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 3.0]).abs()
        tensor([2., 3.])
        """

absolute_ = _unigrad.Tensor.absolute_
def acos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).acos()
        tensor([1.5708, 0.0000])
        """

acos_ = _unigrad.Tensor.acos_
def acosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).acosh()
        tensor([1.7627, 2.2924])
        """

acosh_ = _unigrad.Tensor.acosh_
adaptive_avg_pool = _unigrad.Tensor.adaptive_avg_pool
adaptive_max_pool = _unigrad.Tensor.adaptive_max_pool
adaptive_max_pool_with_index = _unigrad.Tensor.adaptive_max_pool_with_index
add_ = _unigrad.Tensor.add_
def addbmm(input: Tensor, batch1: Any, batch2: Any, *, beta: builtins.int=1, alpha: builtins.int=1, out: Tensor | None=None) -> Tensor:
    """``beta x + alpha`` times the sum of the products of two batches of matrices.

    >>> import unigrad
    >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).addbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
    (2, 3)"""
    ...

addbmm_ = _unigrad.Tensor.addbmm_
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | builtins.float | _Buffer=..., *, out: Tensor | None=None) -> Tensor:
    """
        `self + value * tensor1 / tensor2`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addcdiv(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
        tensor([0.8333, 2.5000])
        """

addcdiv_ = _unigrad.Tensor.addcdiv_
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Tensor | builtins.float | _Buffer=..., *, out: Tensor | None=None) -> Tensor:
    """
        `self + value * tensor1 * tensor2`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addcmul(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
        tensor([ 3.5000, 10.0000])
        """

addcmul_ = _unigrad.Tensor.addcmul_
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0, out: Tensor | None=None) -> Tensor:
    """
        `beta * self + alpha * a @ b`.

        >>> import unigrad
        >>> unigrad.zeros(2).addmm(unigrad.ones(1, 3), unigrad.ones(3, 2)).tolist()
        [[3.0, 3.0]]
        """

addmm_ = _unigrad.Tensor.addmm_
def addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0, *, out: Tensor | None=None) -> Tensor:
    """
        `alpha * mat @ vec + beta * self`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addmv(unigrad.ones(2, 2), unigrad.tensor([1.0, 1.0]))
        tensor([2.5000, 4.0000])
        """

addmv_ = _unigrad.Tensor.addmv_
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0, *, out: Tensor | None=None) -> Tensor:
    """
        `alpha * outer(vec1, vec2) + beta * self`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addr(unigrad.tensor([1.0, 2.0]), unigrad.tensor([1.0, 2.0])).shape
        (2, 2)
        """

addr_ = _unigrad.Tensor.addr_
affine_grid = _unigrad.Tensor.affine_grid
def all(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Whether all elements are true (not 0), over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).all()
        tensor(True)
        """

allclose = _unigrad.Tensor.allclose
def amax(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        The greatest over axes, or over all; equal ones share the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).amax()
        tensor(2.)
        """

def amin(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        The least over axes, or over all; equal ones share the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).amin()
        tensor(0.5000)
        """

def aminmax(input: Tensor, *, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._MinMax:
    """
        The least and the greatest, `(min, max)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).aminmax()]
        [0.5, 2.0]
        """

def angle(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """0 of what is not negative, pi of what is; NaN of NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).angle()
    tensor([0., 0.])"""
    ...

def any(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Whether any element is true (not 0), over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).any()
        tensor(True)
        """

def arccos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).acos()
        tensor([1.5708, 0.0000])
        """

def arccosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).acosh()
        tensor([1.7627, 2.2924])
        """

def arcsin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse sine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).asin()
        tensor([0.0000, 1.5708])
        """

def arcsinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).asinh()
        tensor([0.4812, 1.4436])
        """

def arctan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan()
        tensor([0.4636, 1.1071])
        """

def arctan2(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The angle of the point `(other, self)`; at the origin its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan2(2.0)
        tensor([0.2450, 0.7854])
        """

def arctanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 0.5]).atanh()
        tensor([0.0000, 0.5493])
        """

def argmax(input: Tensor, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Index of the first greatest element along `dim`, or of all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argmax()
        tensor(1)
        """

def argmin(input: Tensor, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Index of the first least element along `dim`, or of all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argmin()
        tensor(0)
        """

def argsort(input: Tensor, dim: builtins.int | None=None, descending: builtins.bool=False, *, stable: builtins.bool=True, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Indices that sort an axis; equal elements keep their order.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argsort()
        tensor([0, 1])
        """

argwhere = _unigrad.Tensor.argwhere
def asin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse sine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).asin()
        tensor([0.0000, 1.5708])
        """

asin_ = _unigrad.Tensor.asin_
def asinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).asinh()
        tensor([0.4812, 1.4436])
        """

asinh_ = _unigrad.Tensor.asinh_
astype = _unigrad.Tensor.astype
def atan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan()
        tensor([0.4636, 1.1071])
        """

def atan2(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The angle of the point `(other, self)`; at the origin its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan2(2.0)
        tensor([0.2450, 0.7854])
        """

atan2_ = _unigrad.Tensor.atan2_
atan_ = _unigrad.Tensor.atan_
def atanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse hyperbolic tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 0.5]).atanh()
        tensor([0.0000, 0.5493])
        """

atanh_ = _unigrad.Tensor.atanh_
attention = _unigrad.Tensor.attention
avg_pool1d = _unigrad.Tensor.avg_pool1d
avg_pool2d = _unigrad.Tensor.avg_pool2d
avg_pool3d = _unigrad.Tensor.avg_pool3d
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0, *, out: Tensor | None=None) -> Tensor:
    """
        `alpha * batch1 @ batch2 + beta * self`, of batches of matrices.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).baddbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
        (2, 2, 3)
        """

baddbmm_ = _unigrad.Tensor.baddbmm_
batch_norm = _unigrad.Tensor.batch_norm
batch_norm_train = _unigrad.Tensor.batch_norm_train
bce_loss = _unigrad.Tensor.bce_loss
bce_with_logits = _unigrad.Tensor.bce_with_logits
def bernoulli(input: Tensor, p: Any=None, *, generator: Any=None, out: Tensor | None=None) -> Tensor:
    """0 or 1, 1 with the probability that each element is, or with the probability ``p``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 1.0]).bernoulli()
    tensor([0., 1.])"""
    ...

bernoulli_ = _unigrad.Tensor.bernoulli_
bilinear = _unigrad.Tensor.bilinear
bincount = _unigrad.Tensor.bincount
bitcast = _unigrad.Tensor.bitcast
bitwise_and_ = _unigrad.Tensor.bitwise_and_
bitwise_left_shift_ = _unigrad.Tensor.bitwise_left_shift_
def bitwise_not(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `!` of bools, the complement of integers' bits.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bitwise_not()
        tensor([-4, -6])
        """

bitwise_not_ = _unigrad.Tensor.bitwise_not_
bitwise_or_ = _unigrad.Tensor.bitwise_or_
bitwise_right_shift_ = _unigrad.Tensor.bitwise_right_shift_
bitwise_xor_ = _unigrad.Tensor.bitwise_xor_
def bmm(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """The matrix product of batches of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 1, 3).bmm(unigrad.ones(2, 3, 4)).shape
    (2, 1, 4)"""
    ...

broadcast_to = _unigrad.Tensor.broadcast_to
def bucketize(input: Tensor, boundaries: Tensor, right: builtins.bool=False, *, out_int32: builtins.bool=False, out: Tensor | None=None) -> Tensor:
    """
        The number of the interval between sorted `boundaries` that each element is in: `i` where `boundaries[i - 1] < x <= boundaries[i]`, or, with
        `right`, where `boundaries[i - 1] <= x < boundaries[i]`; `int64`, or `int32` with `out_int32`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bucketize(unigrad.tensor([1.0, 3.0]))
        tensor([0, 1])
        """

byte = _unigrad.Tensor.byte
cauchy_ = _unigrad.Tensor.cauchy_
cdist = _unigrad.Tensor.cdist
def ceil(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Up to an integer; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ceil()
        tensor([1., 2.])
        """

ceil_ = _unigrad.Tensor.ceil_
celu = _unigrad.Tensor.celu
channel_shuffle = _unigrad.Tensor.channel_shuffle
char = _unigrad.Tensor.char
chunk = _unigrad.Tensor.chunk
def clamp(input: Tensor, min: Tensor | builtins.float | _Buffer | None=None, max: Tensor | builtins.float | _Buffer | None=None, *, out: Tensor | None=None) -> Tensor:
    """
        `self` between limits; one of them may be left out.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """

clamp_ = _unigrad.Tensor.clamp_
def clamp_max(input: Tensor, max: Any, *, out: Tensor | None=None) -> Tensor:
    """At most this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_max(1.0)
    tensor([0.5000, 1.0000])"""
    ...

clamp_max_ = _unigrad.Tensor.clamp_max_
def clamp_min(input: Tensor, min: Any, *, out: Tensor | None=None) -> Tensor:
    """At least this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_min(1.0)
    tensor([1., 2.])"""
    ...

clamp_min_ = _unigrad.Tensor.clamp_min_
def clip(input: Tensor, min: Tensor | builtins.float | _Buffer | None=None, max: Tensor | builtins.float | _Buffer | None=None, *, out: Tensor | None=None) -> Tensor:
    """
        `self` between limits; one of them may be left out.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """

clip_ = _unigrad.Tensor.clip_
clone = _unigrad.Tensor.clone
col2im = _unigrad.Tensor.col2im
combinations = _unigrad.Tensor.combinations
contiguous = _unigrad.Tensor.contiguous
conv1d = _unigrad.Tensor.conv1d
conv2d = _unigrad.Tensor.conv2d
conv3d = _unigrad.Tensor.conv3d
conv_transpose1d = _unigrad.Tensor.conv_transpose1d
conv_transpose2d = _unigrad.Tensor.conv_transpose2d
conv_transpose3d = _unigrad.Tensor.conv_transpose3d
def copysign(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The magnitude of `self` with the sign of `other`, also of -0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).copysign(2.0)
        tensor([3., 5.])
        """

copysign_ = _unigrad.Tensor.copysign_
corrcoef = _unigrad.Tensor.corrcoef
def cos(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cos()
        tensor([ 0.8776, -0.4161])
        """

cos_ = _unigrad.Tensor.cos_
def cosh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Hyperbolic cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cosh()
        tensor([1.1276, 3.7622])
        """

cosh_ = _unigrad.Tensor.cosh_
cosine_embedding_loss = _unigrad.Tensor.cosine_embedding_loss
cosine_similarity = _unigrad.Tensor.cosine_similarity
count_nonzero = _unigrad.Tensor.count_nonzero
cov = _unigrad.Tensor.cov
def cross(input: Tensor, other: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        The vector product along an axis of size 3; the other axes broadcast.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.0, 2.0]).cross(unigrad.tensor([1.0, 0.0, 2.0]))
        tensor([0., 4., -0.])
        """

cross_entropy = _unigrad.Tensor.cross_entropy
ctc_loss = _unigrad.Tensor.ctc_loss
def cummax(input: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        The greatest up to each element of an axis, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummax(dim=0)]
        [[0.5, 2.0], [0, 1]]
        """

def cummin(input: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        The least up to each element of an axis, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummin(dim=0)]
        [[0.5, 0.5], [0, 0]]
        """

def cumprod(input: Tensor, dim: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Products up to each element of an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cumprod(dim=0)
        tensor([0.5000, 1.0000])
        """

cumprod_ = _unigrad.Tensor.cumprod_
def cumsum(input: Tensor, dim: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Sums up to each element of an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cumsum(dim=0)
        tensor([0.5000, 2.5000])
        """

cumsum_ = _unigrad.Tensor.cumsum_
cumulative_trapezoid = _unigrad.Tensor.cumulative_trapezoid
def deg2rad(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Degrees as radians.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).deg2rad()
        tensor([0.0087, 0.0349])
        """

deg2rad_ = _unigrad.Tensor.deg2rad_
detach = _unigrad.Tensor.detach
detach_ = _unigrad.Tensor.detach_
def diag(input: Tensor, diagonal: builtins.int=0, *, out: Tensor | None=None) -> Tensor:
    """
        Of a vector the matrix with it along a diagonal; of a matrix the diagonal.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diag()
        tensor([1., 4.])
        """

diag_embed = _unigrad.Tensor.diag_embed
diagflat = _unigrad.Tensor.diagflat
diagonal = _unigrad.Tensor.diagonal
def diagonal_copy(input: Tensor, offset: builtins.int=0, dim1: builtins.int=0, dim2: builtins.int=1, *, out: Tensor | None=None) -> Tensor:
    """
        A diagonal along two axes, as the last axis.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diagonal()
        tensor([1., 4.])
        """

diagonal_scatter = _unigrad.Tensor.diagonal_scatter
dice_loss = _unigrad.Tensor.dice_loss
def diff(input: Tensor, n: builtins.int=1, dim: builtins.int=..., prepend: Tensor | None=None, append: Tensor | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Differences of neighbours along an axis, `n` times; `prepend` and `append` are put before and behind first.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).diff()
        tensor([1.5000])
        """

def digamma(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Derivative of `UnaryOp::LGamma`; NaN at the negative integers. Its gradient is `UnaryOp::Trigamma`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).digamma()
        tensor([-1.9635,  0.4228])
        """

digamma_ = _unigrad.Tensor.digamma_
dist = _unigrad.Tensor.dist
div_ = _unigrad.Tensor.div_
divide_ = _unigrad.Tensor.divide_
def dot(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inner product of two vectors.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).dot(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

dsplit = _unigrad.Tensor.dsplit
dyn_slice = _unigrad.Tensor.dyn_slice
dyn_update = _unigrad.Tensor.dyn_update
element_size = _unigrad.Tensor.element_size
elu = _unigrad.Tensor.elu
embedding = _unigrad.Tensor.embedding
embedding_bag = _unigrad.Tensor.embedding_bag
embedding_with = _unigrad.Tensor.embedding_with
def eq(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).eq(2.0)
        tensor([False,  True])
        """

eq_ = _unigrad.Tensor.eq_
equal = _unigrad.Tensor.equal
def erf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Error function.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).erf()
        tensor([0.5205, 0.9953])
        """

erf_ = _unigrad.Tensor.erf_
def erfc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `1 - erf(x)`, with all digits where that is small.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).erfc()
        tensor([0.4795, 0.0047])
        """

erfc_ = _unigrad.Tensor.erfc_
def erfinv(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Inverse of the error function: infinite at -1 and 1, NaN beyond.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 0.5]).erfinv()
        tensor([0.0000, 0.4769])
        """

erfinv_ = _unigrad.Tensor.erfinv_
def exp(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `e^x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).exp()
        tensor([1.6487, 7.3891])
        """

def exp2(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `2^x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).exp2()
        tensor([1.4142, 4.0000])
        """

exp2_ = _unigrad.Tensor.exp2_
exp_ = _unigrad.Tensor.exp_
expand = _unigrad.Tensor.expand
expand_as = _unigrad.Tensor.expand_as
def expand_copy(input: Tensor, *shape: builtins.int | Sequence[builtins.int], out: Tensor | None=None, **named: Any) -> Tensor:
    """
        Axes of size 1 as large as asked; -1 leaves a size as it is.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).expand((2, 2)).tolist()
        [[3, 5], [3, 5]]
        """

def expm1(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `e^x - 1`, exact near 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).expm1()
        tensor([0.6487, 6.3891])
        """

expm1_ = _unigrad.Tensor.expm1_
exponential_ = _unigrad.Tensor.exponential_
fill_ = _unigrad.Tensor.fill_
fill_diagonal_ = _unigrad.Tensor.fill_diagonal_
flatten = _unigrad.Tensor.flatten
flip = _unigrad.Tensor.flip
fliplr = _unigrad.Tensor.fliplr
flipud = _unigrad.Tensor.flipud
float_power_ = _unigrad.Tensor.float_power_
def floor(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Down to an integer; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).floor()
        tensor([0., 2.])
        """

floor_ = _unigrad.Tensor.floor_
floor_div = _unigrad.Tensor.floor_div
floor_divide_ = _unigrad.Tensor.floor_divide_
def fmax(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The greater; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmax(2.0)
        tensor([2., 2.])
        """

def fmin(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The lesser; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmin(unigrad.tensor([True, True]))
        tensor([0.5000, 1.0000])
        """

def fmod(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Remainder with the sign of `self`, as C's `fmod` and `torch.fmod`; of integers by 0: 0. See `rem` for Python's.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmod(2.0)
        tensor([0.5000, 0.0000])
        """

fmod_ = _unigrad.Tensor.fmod_
focal_loss = _unigrad.Tensor.focal_loss
def frac(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        What is left after `trunc`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fract()
        tensor([0.5000, 0.0000])
        """

frac_ = _unigrad.Tensor.frac_
fract = _unigrad.Tensor.fract
def gather(input: Tensor, dim: Any, index: Any, *, out: Tensor | None=None) -> Tensor:
    """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]"""
    ...

gaussian_nll_loss = _unigrad.Tensor.gaussian_nll_loss
def gcd(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Greatest common divisor of integers; of 0 and 0 it is 0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).gcd(unigrad.tensor([1, 2]))
        tensor([1, 1])
        """

gcd_ = _unigrad.Tensor.gcd_
def ge(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether greater or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ge(2.0)
        tensor([False,  True])
        """

ge_ = _unigrad.Tensor.ge_
gelu = _unigrad.Tensor.gelu
gelu_tanh = _unigrad.Tensor.gelu_tanh
geometric_ = _unigrad.Tensor.geometric_
glu = _unigrad.Tensor.glu
gradient = _unigrad.Tensor.gradient
def greater(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether greater.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gt(2.0)
        tensor([False, False])
        """

greater_ = _unigrad.Tensor.greater_
def greater_equal(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether greater or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ge(2.0)
        tensor([False,  True])
        """

greater_equal_ = _unigrad.Tensor.greater_equal_
grid_sample = _unigrad.Tensor.grid_sample
group_norm = _unigrad.Tensor.group_norm
def gt(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether greater.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gt(2.0)
        tensor([False, False])
        """

gt_ = _unigrad.Tensor.gt_
def hardshrink(input: Tensor, lambd: builtins.float | builtins.int=0.5, *, out: Tensor | None=None) -> Tensor:
    """
        0 within `lambda` of 0, else `x`. Of NaN the gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hardshrink()
        tensor([0., 2.])
        """

hardsigmoid = _unigrad.Tensor.hardsigmoid
hardswish = _unigrad.Tensor.hardswish
hardtanh = _unigrad.Tensor.hardtanh
hardtanh_with = _unigrad.Tensor.hardtanh_with
def heaviside(input: Tensor, at_zero: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        0 below 0, 1 above, `at_zero` at 0; NaN gives 0, as in PyTorch. Its gradients are 0.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.0, 2.0]).heaviside(0.5)
        tensor([0.0000, 0.5000, 1.0000])
        """

heaviside_ = _unigrad.Tensor.heaviside_
hinge_embedding_loss = _unigrad.Tensor.hinge_embedding_loss
def histc(input: Tensor, bins: builtins.int=100, min: builtins.float | builtins.int=0.0, max: builtins.float | builtins.int=0.0, *, low: builtins.float | builtins.int | None=None, high: builtins.float | builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        How many elements are in each of `bins` intervals of equal width between `min` and `max` (or `low` and `high`), of which the last one holds
        `max` too; in the tensor's float dtype. Elements outside, and NaN, count nowhere. Equal bounds stand for the least and the greatest element
        (then all counts are 0 if one of them is not finite), and one more on both sides if these are equal.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0, 3.0]).histc(bins=2, min=0, max=4).tolist()
        [2.0, 1.0]
        """

hsplit = _unigrad.Tensor.hsplit
huber_loss = _unigrad.Tensor.huber_loss
def hypot(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        `sqrt(self² + other²)`, without overflow; its gradient at 0, 0 is 0 (PyTorch: NaN).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hypot(2.0)
        tensor([2.0616, 2.8284])
        """

hypot_ = _unigrad.Tensor.hypot_
im2col = _unigrad.Tensor.im2col
def index_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, alpha: Tensor | builtins.float=..., out: Tensor | None=None) -> Tensor:
    """
        A copy with `alpha * src` added to the slices along `dim` that the vector `index` names.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7.5000, 2.0000])
        """

index_add_ = _unigrad.Tensor.index_add_
def index_copy(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `self` with slices of `src` in place of the slices that a vector of numbers names.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_copy(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7., 2.])
        """

index_copy_ = _unigrad.Tensor.index_copy_
index_fill = _unigrad.Tensor.index_fill
index_fill_ = _unigrad.Tensor.index_fill_
index_put = _unigrad.Tensor.index_put
index_put_ = _unigrad.Tensor.index_put_
def index_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str | None=None, *, include_self: builtins.bool=True, mode: builtins.str | None=None, out: Tensor | None=None) -> Tensor:
    """
        As `scatter_reduce`, of whole slices along `dim`, which the vector `index` names: prod, mean, amax or amin.

        >>> import unigrad
        >>> unigrad.tensor([1.0, 2.0]).index_reduce(0, unigrad.tensor([0, 0]), unigrad.tensor([3.0, 4.0]), 'prod')
        tensor([12.,  2.])
        """

index_reduce_ = _unigrad.Tensor.index_reduce_
def index_select(input: Tensor, dim: builtins.int, index: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Elements of an axis by their numbers.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_select(0, unigrad.tensor([0]))
        tensor([0.5000])
        """

def inner(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        The sum of products over both last axes; with a number, the product with it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).inner(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

instance_norm = _unigrad.Tensor.instance_norm
instance_norm_train = _unigrad.Tensor.instance_norm_train
interpolate = _unigrad.Tensor.interpolate
interpolate_nearest = _unigrad.Tensor.interpolate_nearest
is_complex = _unigrad.Tensor.is_complex
is_contiguous = _unigrad.Tensor.is_contiguous
is_floating_point = _unigrad.Tensor.is_floating_point
is_nonzero = _unigrad.Tensor.is_nonzero
is_same_size = _unigrad.Tensor.is_same_size
isclose = _unigrad.Tensor.isclose
isfinite = _unigrad.Tensor.isfinite
def isin(input: Tensor, among: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether each element is among others: a tensor of any shape, or a number.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isin(unigrad.tensor([2.0]))
        tensor([False,  True])
        """

isin_with = _unigrad.Tensor.isin_with
isinf = _unigrad.Tensor.isinf
isnan = _unigrad.Tensor.isnan
def isneginf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is negative infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isneginf()
    tensor([False, False])"""
    ...

def isposinf(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Whether each element is positive infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isposinf()
    tensor([False, False])"""
    ...

isreal = _unigrad.Tensor.isreal
kl_div = _unigrad.Tensor.kl_div
def kron(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        The Kronecker product: every element of `self` times the whole of `other`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).kron(unigrad.tensor([1.0, 3.0]))
        tensor([0.5000, 1.5000, 2.0000, 6.0000])
        """

def kthvalue(input: Tensor, k: builtins.int, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        The `k`-th least element along `dim`, counted from 1, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).kthvalue(1)]
        [0.5, 0]
        """

l1_loss = _unigrad.Tensor.l1_loss
layer_norm = _unigrad.Tensor.layer_norm
layer_norm_over = _unigrad.Tensor.layer_norm_over
def lcm(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Least common multiple of integers, not negative; of 0 and anything it is 0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).lcm(unigrad.tensor([1, 2]))
        tensor([ 3, 10])
        """

lcm_ = _unigrad.Tensor.lcm_
def ldexp(input: Tensor, other: Any, *, out: Tensor | None=None) -> Tensor:
    """``x * 2**other``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ldexp(unigrad.tensor([1.0, 3.0]))
    tensor([ 1., 16.])"""
    ...

ldexp_ = _unigrad.Tensor.ldexp_
def le(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether less or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).le(2.0)
        tensor([True, True])
        """

le_ = _unigrad.Tensor.le_
leaky_relu = _unigrad.Tensor.leaky_relu
def lerp(input: Tensor, end: Tensor, weight: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        `self + weight * (end - self)`; exactly `end` where the weight is 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lerp(unigrad.tensor([4.0, 4.0]), unigrad.tensor([1.0, 2.0]))
        tensor([4., 6.])
        """

lerp_ = _unigrad.Tensor.lerp_
def less(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether less.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lt(2.0)
        tensor([ True, False])
        """

less_ = _unigrad.Tensor.less_
def less_equal(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether less or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).le(2.0)
        tensor([True, True])
        """

less_equal_ = _unigrad.Tensor.less_equal_
def lgamma(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers. Its gradient is
        `UnaryOp::Digamma`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lgamma()
        tensor([0.5724, 0.0000])
        """

lgamma_ = _unigrad.Tensor.lgamma_
linear = _unigrad.Tensor.linear
local_response_norm = _unigrad.Tensor.local_response_norm
def log(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Natural logarithm.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log()
        tensor([-0.6931,  0.6931])
        """

def log10(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Logarithm to base 10.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log10()
        tensor([-0.3010,  0.3010])
        """

log10_ = _unigrad.Tensor.log10_
def log1p(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `log(1 + x)`, exact near 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log1p()
        tensor([0.4055, 1.0986])
        """

log1p_ = _unigrad.Tensor.log1p_
def log2(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Logarithm to base 2.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log2()
        tensor([-1.,  1.])
        """

log2_ = _unigrad.Tensor.log2_
log_ = _unigrad.Tensor.log_
log_normal_ = _unigrad.Tensor.log_normal_
log_sigmoid = _unigrad.Tensor.log_sigmoid
def log_softmax(input: Tensor, dim: builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        `log(softmax(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself, or 256 u where that is more.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log_softmax(dim=0)
        tensor([-1.7014, -0.2014])
        """

def logaddexp(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        `log(e^self + e^other)`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logaddexp(2.0)
        tensor([2.2014, 2.6931])
        """

def logaddexp2(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        `log2(2^self + 2^other)`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logaddexp2(2.0)
        tensor([2.4368, 3.0000])
        """

def logcumsumexp(input: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Logarithm of the running sum of exponentials along an axis, without overflow; [off by at most](crate::accuracy)
        4 i u · max(1, |yᵢ|) after i elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logcumsumexp(dim=0)
        tensor([0.5000, 2.2014])
        """

def logical_and(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether both are true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_and(2.0)
        tensor([True, True])
        """

logical_and_ = _unigrad.Tensor.logical_and_
def logical_not(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Whether each element is 0 (`!` of its truth).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_not()
        tensor([False, False])
        """

logical_not_ = _unigrad.Tensor.logical_not_
def logical_or(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether one or both are true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_or(2.0)
        tensor([True, True])
        """

logical_or_ = _unigrad.Tensor.logical_or_
def logical_xor(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether one, but not both, is true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_xor(2.0)
        tensor([False, False])
        """

logical_xor_ = _unigrad.Tensor.logical_xor_
def logit(input: Tensor, eps: builtins.float | builtins.int | None=None, *, out: Tensor | None=None) -> Tensor:
    """
        `log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside of 0 to 1. With `eps`, `x` is limited to `eps..=1 - eps` first.

        >>> import unigrad
        >>> unigrad.tensor([0.25, 0.5]).logit()
        tensor([-1.0986,  0.0000])
        """

logit_ = _unigrad.Tensor.logit_
logsigmoid = _unigrad.Tensor.log_sigmoid
def logsumexp(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        `log(sum(exp(x)))` over axes, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logsumexp()
        tensor(2.2014)
        """

def lt(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether less.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lt(2.0)
        tensor([ True, False])
        """

lt_ = _unigrad.Tensor.lt_
margin_ranking_loss = _unigrad.Tensor.margin_ranking_loss
masked_fill = _unigrad.Tensor.masked_fill
masked_fill_ = _unigrad.Tensor.masked_fill_
masked_scatter = _unigrad.Tensor.masked_scatter
masked_scatter_ = _unigrad.Tensor.masked_scatter_
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        The elements where a mask is true, as one axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).masked_select(unigrad.tensor([True, False]))
        tensor([0.5000])
        """

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Matrix product `[.., m, k] @ [.., k, n]`; batch axes broadcast, a vector is a row on the left and a column on the right.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).matmul(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

def max(input: Tensor, dim: Any | None=None, keepdim: builtins.bool | None=None, *, axis: Any | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> Any:
    """
        Without arguments the greatest element; along `dim` the greatest and where they are, `(values, indices)`; beside another tensor the greater of
        both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).max()
        tensor(2.)
        """

max_pool1d = _unigrad.Tensor.max_pool1d
max_pool2d = _unigrad.Tensor.max_pool2d
max_pool3d = _unigrad.Tensor.max_pool3d
max_unpool1d = _unigrad.Tensor.max_unpool1d
max_unpool2d = _unigrad.Tensor.max_unpool2d
max_unpool3d = _unigrad.Tensor.max_unpool3d
def maximum(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The greater; NaN if either is. Where both are equal, each gets half of the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).maximum(2.0)
        tensor([2., 2.])
        """

def mean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Mean over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).mean()
        tensor(1.2500)
        """

def median(input: Tensor, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> Any:
    """
        Median of all elements, of none NaN; along `dim` the lower median and where it is, `(values, indices)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).median()
        tensor(0.5000)
        """

def min(input: Tensor, dim: Any | None=None, keepdim: builtins.bool | None=None, *, axis: Any | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> Any:
    """
        Without arguments the least element; along `dim` the least and where they are, `(values, indices)`; beside another tensor the lesser of both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).min()
        tensor(0.5000)
        """

def minimum(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The lesser; NaN if either is. Where both are equal, each gets half of the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).minimum(unigrad.tensor([True, True]))
        tensor([0.5000, 1.0000])
        """

mish = _unigrad.Tensor.mish
def mm(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """The matrix product of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mm(unigrad.ones(3, 4)).shape
    (2, 4)"""
    ...

def mode(input: Tensor, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        The most frequent value along `dim` (the least of equal ones), and where it is last, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).mode()]
        [0.5, 0]
        """

moveaxis = _unigrad.Tensor.moveaxis
movedim = _unigrad.Tensor.movedim
mse_loss = _unigrad.Tensor.mse_loss
def msort(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """Sorted along the first axis.

    >>> import unigrad
    >>> unigrad.tensor([True, False]).msort()
    tensor([False,  True])"""
    ...

mul_ = _unigrad.Tensor.mul_
multi_margin_loss = _unigrad.Tensor.multi_margin_loss
multilabel_margin_loss = _unigrad.Tensor.multilabel_margin_loss
multilabel_soft_margin_loss = _unigrad.Tensor.multilabel_soft_margin_loss
def multinomial(input: Tensor, num_samples: builtins.int, replacement: builtins.bool=False, *, generator: Any=None, out: Tensor | None=None) -> Tensor:
    """Indices along the last axis, drawn by weights: ``[.., num_samples]``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]"""
    ...

multiply_ = _unigrad.Tensor.multiply_
def mv(input: Tensor, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor:
    """The matrix product of a matrix and a vector.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mv(unigrad.ones(3))
    tensor([3., 3.])"""
    ...

def nan_to_num(input: Tensor, nan: builtins.float | builtins.int=0.0, posinf: builtins.float | builtins.int | None=None, neginf: builtins.float | builtins.int | None=None, *, out: Tensor | None=None) -> Tensor:
    """
        NaN becomes `nan`, infinities become `posinf` and `neginf`, which are the greatest and least finite numbers of the dtype unless given.
        What is replaced gets no gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nan_to_num()
        tensor([0.5000, 2.0000])
        """

nan_to_num_ = _unigrad.Tensor.nan_to_num_
def nanmean(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Mean over axes of what is not NaN; with `dtype` of elements of that type.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nanmean()
        tensor(1.2500)
        """

def nanmedian(input: Tensor, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None, out: Tensor | Sequence[Tensor] | None=None) -> Any:
    """
        As `median`, of what is not NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nanmedian()
        tensor(0.5000)
        """

def nanquantile(input: Tensor, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None, out: Tensor | None=None) -> Tensor:
    """As `quantile`, of what is not NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).nanquantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
    ...

def nansum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Sum over axes in which NaN counts as 0; with `dtype` of elements of that type.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nansum()
        tensor(2.5000)
        """

narrow = _unigrad.Tensor.narrow
def narrow_copy(input: Tensor, dim: builtins.int, start: builtins.int, length: builtins.int, *, out: Tensor | None=None) -> Tensor:
    """
        The elements from `start` on, `length` of them, along an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).narrow(0, 0, 1)
        tensor([0.5000])
        """

ndimension = _unigrad.Tensor.ndimension
def ne(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether different.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ne(2.0)
        tensor([ True, False])
        """

ne_ = _unigrad.Tensor.ne_
def neg(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `-x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).neg()
        tensor([-0.5000, -2.0000])
        """

neg_ = _unigrad.Tensor.neg_
def negative(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `-x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).neg()
        tensor([-0.5000, -2.0000])
        """

negative_ = _unigrad.Tensor.negative_
nelement = _unigrad.Tensor.nelement
new_empty = _unigrad.Tensor.new_empty
new_full = _unigrad.Tensor.new_full
new_ones = _unigrad.Tensor.new_ones
new_tensor = _unigrad.Tensor.new_tensor
new_zeros = _unigrad.Tensor.new_zeros
def nextafter(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        The next number of the dtype on the way to `other`. Its gradient is 1 with respect to `self` where the two differ, else 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nextafter(2.0)
        tensor([0.5000, 2.0000])
        """

nextafter_ = _unigrad.Tensor.nextafter_
nll_loss = _unigrad.Tensor.nll_loss
def nonzero(input: Tensor, *, as_tuple: builtins.bool=False, out: Tensor | None=None) -> Any:
    """
        Where elements are not 0: a row of indices for each; with `as_tuple` a tensor for each axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nonzero().tolist()
        [[0], [1]]
        """

def norm(input: Tensor, p: Any | None=None, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        The `p`-norm over axes, or over all: `(sum |x|^p)^(1/p)`; `p` may be infinite, or `"fro"`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).norm()
        tensor(2.0616)
        """

normal_ = _unigrad.Tensor.normal_
normalize = _unigrad.Tensor.normalize
def not_equal(input: Tensor, other: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        Whether different.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ne(2.0)
        tensor([ True, False])
        """

not_equal_ = _unigrad.Tensor.not_equal_
nrm2 = _unigrad.Tensor.nrm2
one_hot = _unigrad.Tensor.one_hot
def outer(input: Tensor, other: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Every element of one vector times every element of the other: `[n, m]`.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).outer(unigrad.tensor([1, 2])).tolist()
        [[3, 6], [5, 10]]
        """

pad = _unigrad.Tensor.pad
paged_update = _unigrad.Tensor.paged_update
pairwise_distance = _unigrad.Tensor.pairwise_distance
permute = _unigrad.Tensor.permute
def permute_copy(input: Tensor, *dims: builtins.int | Sequence[builtins.int], out: Tensor | None=None, **named: Any) -> Tensor:
    """
        Its axes in this order: one by one, as a sequence, or as `dims=`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).permute(0)
        tensor([0.5000, 2.0000])
        """

pin_memory = _unigrad.Tensor.pin_memory
pixel_shuffle = _unigrad.Tensor.pixel_shuffle
pixel_unshuffle = _unigrad.Tensor.pixel_unshuffle
poisson_nll_loss = _unigrad.Tensor.poisson_nll_loss
positive = _unigrad.Tensor.positive
pow_ = _unigrad.Tensor.pow_
prelu = _unigrad.Tensor.prelu
def prod(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Product over axes, or over all. Of integers and bools it is `int64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).prod()
        tensor(1.)
        """

put = _unigrad.Tensor.put
put_ = _unigrad.Tensor.put_
def quantile(input: Tensor, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None, out: Tensor | None=None) -> Tensor:
    """The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).quantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
    ...

quantize = _unigrad.Tensor.quantize
def rad2deg(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Radians as degrees.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rad2deg()
        tensor([ 28.6479, 114.5916])
        """

rad2deg_ = _unigrad.Tensor.rad2deg_
random_ = _unigrad.Tensor.random_
ravel = _unigrad.Tensor.ravel
recip = _unigrad.Tensor.recip
def reciprocal(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `1 / x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).recip()
        tensor([2.0000, 0.5000])
        """

reciprocal_ = _unigrad.Tensor.reciprocal_
relu = _unigrad.Tensor.relu
relu6 = _unigrad.Tensor.relu6
relu_ = _unigrad.Tensor.relu_
rem = _unigrad.Tensor.rem
remainder_ = _unigrad.Tensor.remainder_
def renorm(input: Tensor, p: Any, dim: Any, maxnorm: Any, *, out: Tensor | None=None) -> Tensor:
    """Slices along ``dim`` whose ``p``-norm is greater than ``maxnorm`` are scaled to have it.

    >>> import unigrad
    >>> unigrad.tensor([[3.0, 4.0], [0.0, 1.0]]).renorm(2, 0, 2.5).round(decimals=3).tolist()
    [[1.5, 2.0], [0.0, 1.0]]"""
    ...

renorm_ = _unigrad.Tensor.renorm_
repeat = _unigrad.Tensor.repeat
repeat_interleave = _unigrad.Tensor.repeat_interleave
reshape = _unigrad.Tensor.reshape
reshape_as = _unigrad.Tensor.reshape_as
resize_ = _unigrad.Tensor.resize_
rms_norm = _unigrad.Tensor.rms_norm
roll = _unigrad.Tensor.roll
rope = _unigrad.Tensor.rope
rot90 = _unigrad.Tensor.rot90
def round(input: Tensor, *, decimals: builtins.int=0, out: Tensor | None=None) -> Tensor:
    """
        Rounded to the nearest even integer, or to so many digits after the point.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).round()
        tensor([0., 2.])
        """

round_ = _unigrad.Tensor.round_
rpow = _unigrad.Tensor.rpow
def rsqrt(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `1 / sqrt(x)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rsqrt()
        tensor([1.4142, 0.7071])
        """

rsqrt_ = _unigrad.Tensor.rsqrt_
rsub = _unigrad.Tensor.rsub
def scatter(input: Tensor, dim: Any, index: Any, src: Tensor | None=None, *, value: builtins.float | None=None, reduce: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there.

    >>> import unigrad
    >>> unigrad.zeros(3).scatter(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
    ...

scatter_ = _unigrad.Tensor.scatter_
def scatter_add(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `self` with `src` added where `index` says.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).scatter_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7.5000, 2.0000])
        """

scatter_add_ = _unigrad.Tensor.scatter_add_
def scatter_reduce(input: Tensor, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str | None=None, *, include_self: builtins.bool=True, mode: builtins.str | None=None, out: Tensor | None=None) -> Tensor:
    """
        A copy in which the elements of `src` that `index` puts to one place along `dim` are reduced, with what is there if `include_self`: `reduce` is
        sum, prod, mean, amax or amin. Places that nothing goes to stay.

        Equal extremes share the gradient. Sums and products of half types are made in `float32`.

        >>> import unigrad
        >>> unigrad.zeros(3).scatter_reduce(0, unigrad.tensor([0, 0, 2]), unigrad.ones(3), "sum").tolist()
        [2.0, 0.0, 1.0]
        """

scatter_reduce_ = _unigrad.Tensor.scatter_reduce_
scatter_value = _unigrad.Tensor.scatter_value
def searchsorted(input: Tensor, values: Tensor | builtins.float | _Buffer, right: builtins.bool=False, *, out_int32: builtins.bool=False, side: builtins.str | None=None, sorter: Tensor | None=None, out: Tensor | None=None) -> Tensor:
    """
        Where `values` belong in a sorted tensor: before what is equal, or behind it with `right=True` (or `side="right"`). `sorter` are the indices
        that sort a tensor which is not; the result is `int64`, or `int32` with `out_int32`.

        The sequence is a vector `[n]`, and the values have any shape; or it has sorted rows `[.., n]`, and the values `[.., m]` as many.

        >>> import unigrad
        >>> unigrad.tensor([1, 3, 5]).searchsorted(unigrad.tensor([3, 4])).tolist()
        [1, 2]
        """

searchsorted_with = _unigrad.Tensor.searchsorted_with
select = _unigrad.Tensor.select
select_scatter = _unigrad.Tensor.select_scatter
selu = _unigrad.Tensor.selu
def sgn(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        -1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 0.0, 3.0]).sign()
        tensor([-1.,  0.,  1.])
        """

sgn_ = _unigrad.Tensor.sgn_
share_memory_ = _unigrad.Tensor.share_memory_
shl = _unigrad.Tensor.shl
shr = _unigrad.Tensor.shr
def sigmoid(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `1 / (1 + e^-x)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sigmoid()
        tensor([0.6225, 0.8808])
        """

sigmoid_ = _unigrad.Tensor.sigmoid_
def sign(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        -1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 0.0, 3.0]).sign()
        tensor([-1.,  0.,  1.])
        """

sign_ = _unigrad.Tensor.sign_
def signbit(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Whether the sign is set, also of -0 and NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).signbit()
        tensor([False, False])
        """

silu = _unigrad.Tensor.silu
def sin(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sin()
        tensor([0.4794, 0.9093])
        """

sin_ = _unigrad.Tensor.sin_
def sinc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `sin(πx) / (πx)`, 1 at 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sinc()
        tensor([6.3662e-01, 2.7828e-08])
        """

sinc_ = _unigrad.Tensor.sinc_
def sinh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Hyperbolic sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sinh()
        tensor([0.5211, 3.6269])
        """

sinh_ = _unigrad.Tensor.sinh_
def slice_scatter(input: Tensor, src: Tensor, dim: builtins.int=0, start: Any=None, end: Any=None, step: builtins.int=1, *, out: Tensor | None=None) -> Tensor:
    """A copy with ``src`` as the elements from ``start`` to ``end`` along ``dim``, every ``step``-th of them.

    >>> import unigrad
    >>> unigrad.zeros(4).slice_scatter(unigrad.ones(2), 0, 1, 4, 2).tolist()
    [0.0, 1.0, 0.0, 1.0]"""
    ...

smooth_l1_loss = _unigrad.Tensor.smooth_l1_loss
soft_margin_loss = _unigrad.Tensor.soft_margin_loss
def softmax(input: Tensor, dim: builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        `exp(x) / sum(exp(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself.

        >>> import unigrad
        >>> unigrad.zeros(2, 4).softmax(dim=-1).tolist()[0]
        [0.25, 0.25, 0.25, 0.25]
        """

softmin = _unigrad.Tensor.softmin
softplus = _unigrad.Tensor.softplus
softplus_with = _unigrad.Tensor.softplus_with
softshrink = _unigrad.Tensor.softshrink
softsign = _unigrad.Tensor.softsign
def sort(input: Tensor, dim: builtins.int | None=None, descending: builtins.bool=False, *, stable: builtins.bool=True, axis: builtins.int | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        Sorted along `dim`, and where each element was, `(values, indices)`; equal elements keep their order.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).sort()]
        [[0.5, 2.0], [0, 1]]
        """

split = _unigrad.Tensor.split
split_with_sizes = _unigrad.Tensor.split_with_sizes
def sqrt(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Square root.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sqrt()
        tensor([0.7071, 1.4142])
        """

sqrt_ = _unigrad.Tensor.sqrt_
def square(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        `x * x`; of bools `I64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).square()
        tensor([0.2500, 4.0000])
        """

square_ = _unigrad.Tensor.square_
squeeze = _unigrad.Tensor.squeeze
squeeze_ = _unigrad.Tensor.squeeze_
def squeeze_copy(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, out: Tensor | None=None) -> Tensor:
    """
        Without axes of size 1: all of them, or those of `dim` that have it.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).squeeze()
        tensor([0., 1., 2.])
        """

def std(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, unbiased: builtins.bool | None=None, keepdim: builtins.bool | None=None, *, correction: builtins.float | builtins.int | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, ddof: builtins.float | builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, out: Tensor | None=None) -> Tensor:
    """
        Standard deviation over axes, or over all; see `var`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).std()
        tensor(1.0607)
        """

std_mean = _unigrad.Tensor.std_mean
sub_ = _unigrad.Tensor.sub_
subtract_ = _unigrad.Tensor.subtract_
def sum(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Tensor | None=None) -> Tensor:
    """
        Sum over axes, or over all. Of integers and bools it is `int64`.

        >>> import unigrad
        >>> unigrad.ones(2, 3).sum(dim=1).tolist()
        [3.0, 3.0]
        """

sum_to_size = _unigrad.Tensor.sum_to_size
swapaxes = _unigrad.Tensor.swapaxes
swapaxes_ = _unigrad.Tensor.swapaxes_
swapdims = _unigrad.Tensor.swapaxes
swapdims_ = _unigrad.Tensor.swapdims_
t = _unigrad.Tensor.t
t_ = _unigrad.Tensor.t_
def t_copy(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Both axes of a matrix change places.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).t()
        tensor([0.5000, 2.0000])
        """

def take(input: Tensor, index: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Elements by their numbers: of an axis with `axis` or `dim`, else of all in row-major order.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).take(unigrad.tensor([0]))
        tensor([0.5000])
        """

take_along = _unigrad.Tensor.take_along
def take_along_dim(input: Tensor, indices: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Elements along an axis by their numbers, one for each element of `indices`; without an axis, of all elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).take_along_dim(unigrad.tensor([1, 0]))
        tensor([2.0000, 0.5000])
        """

def tan(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tan()
        tensor([ 0.5463, -2.1850])
        """

tan_ = _unigrad.Tensor.tan_
def tanh(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Hyperbolic tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tanh()
        tensor([0.4621, 0.9640])
        """

tanh_ = _unigrad.Tensor.tanh_
tanhshrink = _unigrad.Tensor.tanhshrink
tensor_split = _unigrad.Tensor.tensor_split
def tensordot(input: Tensor, other: Any, dims: builtins.int=2, other_axes: Any=None, *, dim: Any=None, out: Tensor | None=None) -> Tensor:
    """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)"""
    ...

def threshold(input: Tensor, threshold: Tensor | builtins.float | _Buffer, value: Tensor | builtins.float | _Buffer, *, out: Tensor | None=None) -> Tensor:
    """
        `x` above `threshold`, else `value`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).threshold(1.0, 9.0)
        tensor([9., 2.])
        """

tile = _unigrad.Tensor.tile
to_device = _unigrad.Tensor.to_device
def topk(input: Tensor, k: builtins.int, dim: builtins.int | None=None, largest: builtins.bool=True, sorted: builtins.bool=True, *, axis: builtins.int | None=None, out: Tensor | Sequence[Tensor] | None=None) -> _unigrad._Pair:
    """
        The `k` greatest (or least) along `dim`, sorted, and where they are, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).topk(1)]
        [[2.0], [1]]
        """

trace = _unigrad.Tensor.trace
transpose = _unigrad.Tensor.transpose
transpose_ = _unigrad.Tensor.transpose_
def transpose_copy(input: Tensor, *dims: builtins.int | Sequence[builtins.int], dim0: builtins.int | None=None, dim1: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        Two axes change places, as PyTorch's; with no or several other arguments all axes are arranged anew, as NumPy's.

        >>> import unigrad
        >>> unigrad.ones(2, 3).transpose(0, 1).shape
        (3, 2)
        """

trapezoid = _unigrad.Tensor.trapezoid
trapz = _unigrad.Tensor.trapz
trigamma = _unigrad.Tensor.trigamma
def tril(input: Tensor, diagonal: builtins.int=0, *, k: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        What is below a diagonal, and on it; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).tril()
        tensor([[0., 0., 0.]])
        """

tril_ = _unigrad.Tensor.tril_
triplet_margin_loss = _unigrad.Tensor.triplet_margin_loss
def triu(input: Tensor, diagonal: builtins.int=0, *, k: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        What is above a diagonal, and on it; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).triu()
        tensor([[0., 1., 2.]])
        """

triu_ = _unigrad.Tensor.triu_
true_divide_ = _unigrad.Tensor.true_divide_
def trunc(input: Tensor, *, out: Tensor | None=None) -> Tensor:
    """
        Toward zero; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).trunc()
        tensor([0., 2.])
        """

trunc_ = _unigrad.Tensor.trunc_
type_as = _unigrad.Tensor.type_as
unbind = _unigrad.Tensor.unbind
def unbind_copy(input: Tensor, dim: builtins.int=0, *, axis: builtins.int | None=None, out: Tensor | Sequence[Tensor] | None=None) -> builtins.tuple[Any, ...]:
    """
        The parts of size 1 along an axis, without it.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).unbind()]
        [0.5, 2.0]
        """

unflatten = _unigrad.Tensor.unflatten
unfold = _unigrad.Tensor.unfold
def unfold_copy(input: Tensor, dimension: builtins.int, size: builtins.int, step: builtins.int, *, out: Tensor | None=None) -> Tensor:
    """
        Windows of `size` elements, `step` apart, along an axis: a new last axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).unfold(0, 2, 1)
        tensor([[0.5000, 2.0000]])
        """

uniform_ = _unigrad.Tensor.uniform_
unique = _unigrad.Tensor.unique
unique_consecutive = _unigrad.Tensor.unique_consecutive
unravel_index = _unigrad.Tensor.unravel_index
unsqueeze = _unigrad.Tensor.unsqueeze
unsqueeze_ = _unigrad.Tensor.unsqueeze_
def unsqueeze_copy(input: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
        A new axis of size 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).unsqueeze(dim=0)
        tensor([[0.5000, 2.0000]])
        """

def var(input: Tensor, dim: builtins.int | Sequence[builtins.int] | None=None, unbiased: builtins.bool | None=None, keepdim: builtins.bool | None=None, *, correction: builtins.float | builtins.int | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, ddof: builtins.float | builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, out: Tensor | None=None) -> Tensor:
    """
        Variance over axes, or over all, divided by the number of elements less `correction`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).var()
        tensor(1.1250)
        """

var_mean = _unigrad.Tensor.var_mean
def vdot(input: Tensor, other: Any, *, out: Tensor | None=None) -> Tensor:
    """The dot product of two vectors.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).vdot(unigrad.tensor([1.0, 3.0]))
    tensor(6.5000)"""
    ...

view = _unigrad.Tensor.view
view_as = _unigrad.Tensor.view_as
def view_copy(input: Tensor, *shape: builtins.int | Sequence[builtins.int], out: Tensor | None=None) -> Tensor:
    """
        Another name for `reshape`; of a dtype: the same bits as that dtype.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).view((4,))
        tensor([1., 2., 3., 4.])
        """

vsplit = _unigrad.Tensor.vsplit
where_ = _unigrad.Tensor.where_
with_gradient_hook = _unigrad.Tensor.with_gradient_hook
xlogy_ = _unigrad.Tensor.xlogy_
zero_ = _unigrad.Tensor.zero_

def add(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def arange(start: Tensor | builtins.float | None=None, end: Tensor | builtins.float | None=None, step: Tensor | builtins.float | None=None, *, stop: Tensor | builtins.float | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    `start`, `start + step`, and so on, below `end`: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.

    Without `dtype` they are `int64` where all three are integers, or tensors of some without axes, else the default float.

    >>> import unigrad
    >>> unigrad.arange(0, 10, 3)
    tensor([0, 3, 6, 9])
    """

def bartlett_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """Bartlett's window, a triangle from 0 to 1 and back; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...

def bitwise_and(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def bitwise_left_shift(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def bitwise_or(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def bitwise_right_shift(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def bitwise_xor(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def blackman_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """Blackman's window: ``0.42 - cos(2 pi i / n) / 2 + 0.08 cos(4 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.blackman_window(4).round(decimals=2).abs()
    tensor([0.0000, 0.3400, 1.0000, 0.3400])"""
    ...

def cat(tensors: Any, dim: builtins.int=0, *, axis: Any=None, out: Tensor | None=None) -> Tensor:
    """Tensors one behind the other along ``dim``. Empty ones with one axis do not count, as in PyTorch.

    >>> import unigrad
    >>> unigrad.cat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])"""
    ...

def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None=None) -> Tensor:
    """
    Vectors as columns, beside matrices.

    >>> import unigrad
    >>> unigrad.column_stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """

def concat(tensors: Sequence[Tensor], dim: builtins.int=0, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
    Tensors one after the other along an axis that they have.

    >>> import unigrad
    >>> unigrad.concat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])
    """

def div(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def divide(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def dstack(tensors: Sequence[Tensor], *, out: Tensor | None=None) -> Tensor:
    """
    Tensors one behind the other, along axis 2.

    >>> import unigrad
    >>> unigrad.dstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    (1, 2, 2)
    """

e: builtins.float
def einsum(equation: builtins.str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sums of products by Einstein's convention.

    >>> import unigrad
    >>> unigrad.einsum("ij,jk->ik", unigrad.ones(2, 3), unigrad.ones(3, 4)).shape
    (2, 4)
    """
    ...

def empty(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """
    A tensor whose values are not set: zeros here.

    >>> import unigrad
    >>> unigrad.empty(2, 3).shape
    (2, 3)
    """

class enable_grad(no_grad):
    """What is computed inside keeps a way for gradients, in the midst of ``no_grad`` too; used as that is.

    >>> import unigrad
    >>> x = unigrad.ones(2, requires_grad=True)
    >>> with unigrad.no_grad(), unigrad.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __init__(self) -> None:
        ...

def eye(n: builtins.int, m: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    A matrix with ones on its diagonal.

    >>> import unigrad
    >>> unigrad.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

def float_power(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def floor_divide(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def full(size: builtins.int | Sequence[builtins.int], fill_value: Tensor | builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    One value everywhere.

    >>> import unigrad
    >>> unigrad.full((2,), 7.0)
    tensor([7., 7.])
    """

def full_like(x: Tensor, fill_value: builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """One value everywhere, of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.full_like(unigrad.zeros(2), 7.0)
    tensor([7., 7.])
    """
    ...

def hamming_window(window_length: Any, periodic: builtins.bool=True, alpha: builtins.float=0.54, beta: builtins.float=0.46, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """Hamming's window: ``alpha - beta cos(2 pi i / n)``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])"""
    ...

def hann_window(window_length: Any, periodic: builtins.bool=True, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """Hann's window: ``(1 - cos(2 pi i / n)) / 2``; one period of it, or with ``periodic=False`` one that is symmetric.

    >>> import unigrad
    >>> unigrad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])"""
    ...

def hstack(tensors: Sequence[Tensor], *, out: Tensor | None=None) -> Tensor:
    """
    Tensors side by side, along axis 1 (vectors along axis 0).

    >>> import unigrad
    >>> unigrad.hstack([unigrad.tensor([1, 2]), unigrad.tensor([3])])
    tensor([1, 2, 3])
    """

inf: builtins.float
def is_grad_enabled() -> builtins.bool:
    """Whether what is computed now keeps a way for gradients.

    >>> import unigrad
    >>> unigrad.is_grad_enabled()
    True
    """
    ...

def is_tensor(value: object) -> builtins.bool:
    """Whether a value is a tensor.

    >>> import unigrad
    >>> unigrad.is_tensor(unigrad.ones(2)), unigrad.is_tensor([1.0])
    (True, False)
    """
    ...

def linspace(start: builtins.float | builtins.int, end: builtins.float | builtins.int, steps: builtins.int=100, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    `steps` numbers from `start` to `end`, both included, at equal distances.

    >>> import unigrad
    >>> unigrad.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """

def logspace(start: builtins.float | builtins.int, end: builtins.float | builtins.int, steps: builtins.int=100, base: builtins.float | builtins.int=10.0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    `base` to the powers of `linspace`.

    >>> import unigrad
    >>> unigrad.logspace(0.0, 2.0, 3)
    tensor([  1.,  10., 100.])
    """

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: builtins.str='ij') -> builtins.list[Tensor]:
    """Grids of coordinates: a tensor for each vector, given one by one or as a list.

    >>> import unigrad
    >>> [x.tolist() for x in unigrad.meshgrid(unigrad.tensor([1, 2]), unigrad.tensor([3]))]
    [[[1], [2]], [[3], [3]]]
    """
    ...

def mul(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def multiply(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
nan: builtins.float
newaxis: None
class no_grad:
    """What is computed inside keeps no way for gradients: ``with unigrad.no_grad(): ...``, or a decorator, with or without parentheses.

    >>> import unigrad
    >>> x = unigrad.ones(2, requires_grad=True)
    >>> with unigrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function: Any=None) -> Any:
        ...

    def __init__(self) -> None:
        ...

    def __enter__(self) -> no_grad:
        ...

    def __exit__(self, *raised: Any) -> None:
        ...

    def __call__(self, function: _F) -> _F:
        ...

def normal(mean: builtins.float=0.0, std: builtins.float=1.0, size: builtins.int | Sequence[builtins.int] | None=None, *, generator: Any=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """Normally distributed numbers of these means and deviations: numbers with a size, or tensors; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.normal(0.0, 1.0, (2, 3)).shape
    (2, 3)"""
    ...

def numel(x: Tensor) -> builtins.int:
    """The number of elements.

    >>> import unigrad
    >>> unigrad.numel(unigrad.ones(2, 3))
    6
    """
    ...

def ones(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Ones.

    >>> import unigrad
    >>> unigrad.ones(2, 3).shape
    (2, 3)
    """

def ones_like(x: Tensor, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """Ones of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.ones_like(unigrad.zeros(2))
    tensor([1., 1.])
    """
    ...

pi: builtins.float
def pow(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def rand(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Uniform random numbers from 0 (inclusive) to 1 (exclusive); of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.rand(2, 3).shape
    (2, 3)
    """

def rand_like(x: Tensor, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """Uniform random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.rand_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    ...

def randint(low: builtins.int | None=None, high: builtins.int | Sequence[builtins.int] | None=None, size: builtins.int | Sequence[builtins.int] | None=None, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Random integers from `low` (inclusive; 0 where it is left out) to `high` (exclusive): `randint(high, size)`, `randint(low, high, size)`, each also by
    names; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randint(0, 10, (2, 3)).shape
    (2, 3)
    """

def randint_like(x: Tensor, low: Any, high: Any=None, *, generator: Any=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """Random integers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randint_like(unigrad.zeros(2, 3), 10).shape
    (2, 3)"""
    ...

def randn(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Normally distributed random numbers, of mean 0 and variance 1; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randn(2, 3).shape
    (2, 3)
    """

def randn_like(x: Tensor, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """Normally distributed random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randn_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    ...

def randperm(n: builtins.int, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    The numbers from 0 to `n - 1` in random order, `int64` unless another dtype is given; of a generator of one's own if one is given.

    >>> import unigrad
    >>> sorted(unigrad.randperm(4).tolist())
    [0, 1, 2, 3]
    """

def remainder(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def scalar_tensor(value: builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """A number as a tensor without axes; of the default dtype unless said.

    >>> import unigrad
    >>> unigrad.scalar_tensor(2.0)
    tensor(2.)"""
    ...

class set_grad_enabled:
    """Whether this thread's ops keep a way for gradients, from the call on; inside of ``with`` until its end, and as a decorator in the function alone.

    >>> import unigrad
    >>> with unigrad.set_grad_enabled(False):
    ...     unigrad.is_grad_enabled()
    False
    >>> unigrad.is_grad_enabled()
    True
    """

    def __init__(self, mode: builtins.bool) -> None:
        ...

    def __enter__(self) -> set_grad_enabled:
        ...

    def __exit__(self, *raised: Any) -> None:
        ...

    def __call__(self, function: _F) -> _F:
        ...

def stack(tensors: Sequence[Tensor], dim: builtins.int=0, *, axis: builtins.int | None=None, out: Tensor | None=None) -> Tensor:
    """
    Tensors of one shape one after the other along a new axis.

    >>> import unigrad
    >>> unigrad.stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """

def sub(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def subtract(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def tensor(data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, pin_memory: builtins.bool=False) -> Tensor:
    """
    A tensor of data: numbers, nested sequences of numbers, arrays of NumPy or of another library.

    Numbers become `bool`, `int64` or the default float (`get_default_dtype`, `float32` at first); arrays keep their dtype.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).dtype
    unigrad.int64
    """

def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int=0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Row and column of each element below a diagonal, and on it.

    >>> import unigrad
    >>> unigrad.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """

def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int=0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Row and column of each element above a diagonal, and on it.

    >>> import unigrad
    >>> unigrad.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """

def true_divide(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def value_and_grad(function: Callable[..., Tensor], argnums: builtins.int | Sequence[builtins.int]=0) -> Callable[..., builtins.tuple[Tensor, Any]]:
    """A function that gives ``function``'s value and its gradient with respect to the arguments of these numbers.

    >>> import unigrad
    >>> value, gradient = unigrad.value_and_grad(lambda x: (x * x).sum())(unigrad.tensor([3.0]))
    >>> value.item(), gradient.tolist()
    (9.0, [6.0])
    """
    ...

def vstack(tensors: Sequence[Tensor], *, out: Tensor | None=None) -> Tensor:
    """
    Tensors one below the other; vectors are rows.

    >>> import unigrad
    >>> unigrad.vstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    (2, 2)
    """

def where(condition: Tensor, input: Tensor | builtins.float | None=None, other: Tensor | builtins.float | None=None, *, out: Tensor | None=None) -> Any:
    """``input`` where the condition is true, else ``other``; without both, where the condition is true, as a tuple of indices.

    >>> import unigrad
    >>> unigrad.where(unigrad.tensor([True, False]), 1, 2).tolist()
    [1, 2]
    """
    ...

def xlog1py(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, **kwargs: Any) -> Tensor: ...
def xlogy(input: Tensor | builtins.float | _Buffer, other: Tensor | builtins.float | _Buffer, *args: Any, out: Tensor | None=None, **kwargs: Any) -> Tensor: ...
def zeros(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, out: Tensor | None=None, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
    """
    Zeros.

    >>> import unigrad
    >>> unigrad.zeros(2)
    tensor([0., 0.])
    """

def zeros_like(x: Tensor, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
    """Zeros of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.zeros_like(unigrad.ones(2))
    tensor([0., 0.])
    """
    ...

concatenate = cat
device = Device
dtype = DType
empty_like = zeros_like
inference_mode = no_grad
layout = Layout
memory_format = MemoryFormat
