# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

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
from ._unigrad import arange as arange
from ._torch_names.creation import as_tensor as as_tensor
from ._unigrad import asarray as asarray
from ._torch_names.shapes import atleast_1d as atleast_1d
from ._torch_names.shapes import atleast_2d as atleast_2d
from ._torch_names.shapes import atleast_3d as atleast_3d
from . import autograd as autograd
from ._torch_names.creation import bartlett_window as bartlett_window
from ._unigrad import bfloat16 as bfloat16
from ._torch_names.creation import blackman_window as blackman_window
from ._unigrad import block_diag as block_diag
from ._unigrad import bool as bool
from ._torch_names.shapes import broadcast_shapes as broadcast_shapes
from ._torch_names.shapes import broadcast_tensors as broadcast_tensors
from ._torch_names.dtypes import can_cast as can_cast
from ._torch_names.shapes import cartesian_prod as cartesian_prod
from ._torch_names.creation import cat as cat
from .autograd import checkpoint as checkpoint
from ._unigrad import column_stack as column_stack
from ._unigrad import concat as concat
from ._torch_names.creation import cat as concatenate
from .autograd import custom_function as custom_function
from ._unigrad import default_device as default_device
from ._unigrad import devices as devices
from ._unigrad import double as double
from ._unigrad import dstack as dstack
from ._unigrad import empty as empty
from ._unigrad import eye as eye
from ._unigrad import float as float
from ._unigrad import float16 as float16
from ._unigrad import float32 as float32
from ._unigrad import float64 as float64
from ._unigrad import float8_e4m3fn as float8_e4m3fn
from ._unigrad import float8_e5m2 as float8_e5m2
from ._unigrad import from_dlpack as from_dlpack
from ._unigrad import from_numpy as from_numpy
from ._unigrad import full as full
from . import func as func
from ._unigrad import get_default_dtype as get_default_dtype
from ._unigrad import get_rng_state as get_rng_state
from ._unigrad import grad as grad
from ._unigrad import grad_enabled as grad_enabled
from ._unigrad import half as half
from ._torch_names.creation import hamming_window as hamming_window
from ._torch_names.creation import hann_window as hann_window
from ._unigrad import hstack as hstack
from ._unigrad import initial_seed as initial_seed
from ._unigrad import int as int
from ._unigrad import int16 as int16
from ._unigrad import int32 as int32
from ._unigrad import int64 as int64
from ._unigrad import int8 as int8
from ._unigrad import linspace as linspace
from ._unigrad import logspace as logspace
from ._unigrad import long as long
from ._unigrad import manual_seed as manual_seed
from . import micrograd as micrograd
from ._unigrad import multi_dot as multi_dot
from ._torch_names.creation import normal as normal
from ._unigrad import ones as ones
from ._torch_names.dtypes import promote_types as promote_types
from ._unigrad import rand as rand
from ._unigrad import randint as randint
from ._torch_names.creation import randint_like as randint_like
from ._unigrad import randn as randn
from ._unigrad import randperm as randperm
from ._replay import replay as replay
from ._torch_names.dtypes import result_type as result_type
from ._torch_names.creation import scalar_tensor as scalar_tensor
from .func import scan as scan
from ._unigrad import seed as seed
from ._unigrad import set_default_device as set_default_device
from ._unigrad import set_default_dtype as set_default_dtype
from ._unigrad import set_rng_state as set_rng_state
from ._unigrad import short as short
from ._unigrad import stack as stack
from ._unigrad import tensor as tensor
from ._unigrad import tril_indices as tril_indices
from ._unigrad import triu_indices as triu_indices
from ._unigrad import uint16 as uint16
from ._unigrad import uint32 as uint32
from ._unigrad import uint64 as uint64
from ._unigrad import uint8 as uint8
from ._unigrad import uniform as uniform
from ._torch_names.creation import vander as vander
from .func import vmap as vmap
from ._unigrad import vstack as vstack
from ._unigrad import zeros as zeros

_F = TypeVar("_F", bound=Callable[..., Any])

abs = _unigrad.Tensor.abs
abs_ = _unigrad.Tensor.abs_
absolute = _unigrad.Tensor.abs
absolute_ = _unigrad.Tensor.absolute_
acos = _unigrad.Tensor.acos
acos_ = _unigrad.Tensor.acos_
acosh = _unigrad.Tensor.acosh
acosh_ = _unigrad.Tensor.acosh_
adaptive_avg_pool = _unigrad.Tensor.adaptive_avg_pool
adaptive_max_pool = _unigrad.Tensor.adaptive_max_pool
adaptive_max_pool_with_index = _unigrad.Tensor.adaptive_max_pool_with_index
add_ = _unigrad.Tensor.add_
addbmm = _unigrad.Tensor.addbmm
addbmm_ = _unigrad.Tensor.addbmm_
addcdiv = _unigrad.Tensor.addcdiv
addcdiv_ = _unigrad.Tensor.addcdiv_
addcmul = _unigrad.Tensor.addcmul
addcmul_ = _unigrad.Tensor.addcmul_
addmm = _unigrad.Tensor.addmm
addmm_ = _unigrad.Tensor.addmm_
addmv = _unigrad.Tensor.addmv
addmv_ = _unigrad.Tensor.addmv_
addr = _unigrad.Tensor.addr
addr_ = _unigrad.Tensor.addr_
affine_grid = _unigrad.Tensor.affine_grid
all = _unigrad.Tensor.all
allclose = _unigrad.Tensor.allclose
amax = _unigrad.Tensor.amax
amin = _unigrad.Tensor.amin
aminmax = _unigrad.Tensor.aminmax
angle = _unigrad.Tensor.angle
any = _unigrad.Tensor.any
arccos = _unigrad.Tensor.acos
arccosh = _unigrad.Tensor.acosh
arcsin = _unigrad.Tensor.asin
arcsinh = _unigrad.Tensor.asinh
arctan = _unigrad.Tensor.atan
arctan2 = _unigrad.Tensor.atan2
arctanh = _unigrad.Tensor.atanh
argmax = _unigrad.Tensor.argmax
argmin = _unigrad.Tensor.argmin
argsort = _unigrad.Tensor.argsort
argwhere = _unigrad.Tensor.argwhere
asin = _unigrad.Tensor.asin
asin_ = _unigrad.Tensor.asin_
asinh = _unigrad.Tensor.asinh
asinh_ = _unigrad.Tensor.asinh_
astype = _unigrad.Tensor.astype
atan = _unigrad.Tensor.atan
atan2 = _unigrad.Tensor.atan2
atan2_ = _unigrad.Tensor.atan2_
atan_ = _unigrad.Tensor.atan_
atanh = _unigrad.Tensor.atanh
atanh_ = _unigrad.Tensor.atanh_
attention = _unigrad.Tensor.attention
avg_pool1d = _unigrad.Tensor.avg_pool1d
avg_pool2d = _unigrad.Tensor.avg_pool2d
avg_pool3d = _unigrad.Tensor.avg_pool3d
baddbmm = _unigrad.Tensor.baddbmm
baddbmm_ = _unigrad.Tensor.baddbmm_
batch_norm = _unigrad.Tensor.batch_norm
batch_norm_train = _unigrad.Tensor.batch_norm_train
bce_loss = _unigrad.Tensor.bce_loss
bce_with_logits = _unigrad.Tensor.bce_with_logits
bernoulli = _unigrad.Tensor.bernoulli
bernoulli_ = _unigrad.Tensor.bernoulli_
bilinear = _unigrad.Tensor.bilinear
bincount = _unigrad.Tensor.bincount
bitcast = _unigrad.Tensor.bitcast
bitwise_and_ = _unigrad.Tensor.bitwise_and_
bitwise_left_shift_ = _unigrad.Tensor.bitwise_left_shift_
bitwise_not = _unigrad.Tensor.bitwise_not
bitwise_not_ = _unigrad.Tensor.bitwise_not_
bitwise_or_ = _unigrad.Tensor.bitwise_or_
bitwise_right_shift_ = _unigrad.Tensor.bitwise_right_shift_
bitwise_xor_ = _unigrad.Tensor.bitwise_xor_
bmm = _unigrad.Tensor.bmm
broadcast_to = _unigrad.Tensor.broadcast_to
bucketize = _unigrad.Tensor.bucketize
byte = _unigrad.Tensor.byte
cauchy_ = _unigrad.Tensor.cauchy_
cdist = _unigrad.Tensor.cdist
ceil = _unigrad.Tensor.ceil
ceil_ = _unigrad.Tensor.ceil_
celu = _unigrad.Tensor.celu
channel_shuffle = _unigrad.Tensor.channel_shuffle
char = _unigrad.Tensor.char
chunk = _unigrad.Tensor.chunk
clamp = _unigrad.Tensor.clamp
clamp_ = _unigrad.Tensor.clamp_
clamp_max = _unigrad.Tensor.clamp_max
clamp_max_ = _unigrad.Tensor.clamp_max_
clamp_min = _unigrad.Tensor.clamp_min
clamp_min_ = _unigrad.Tensor.clamp_min_
clip = _unigrad.Tensor.clamp
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
copysign = _unigrad.Tensor.copysign
copysign_ = _unigrad.Tensor.copysign_
corrcoef = _unigrad.Tensor.corrcoef
cos = _unigrad.Tensor.cos
cos_ = _unigrad.Tensor.cos_
cosh = _unigrad.Tensor.cosh
cosh_ = _unigrad.Tensor.cosh_
cosine_embedding_loss = _unigrad.Tensor.cosine_embedding_loss
cosine_similarity = _unigrad.Tensor.cosine_similarity
count_nonzero = _unigrad.Tensor.count_nonzero
cov = _unigrad.Tensor.cov
cross = _unigrad.Tensor.cross
cross_entropy = _unigrad.Tensor.cross_entropy
ctc_loss = _unigrad.Tensor.ctc_loss
cummax = _unigrad.Tensor.cummax
cummin = _unigrad.Tensor.cummin
cumprod = _unigrad.Tensor.cumprod
cumprod_ = _unigrad.Tensor.cumprod_
cumsum = _unigrad.Tensor.cumsum
cumsum_ = _unigrad.Tensor.cumsum_
cumulative_trapezoid = _unigrad.Tensor.cumulative_trapezoid
deg2rad = _unigrad.Tensor.deg2rad
deg2rad_ = _unigrad.Tensor.deg2rad_
detach = _unigrad.Tensor.detach
detach_ = _unigrad.Tensor.detach_
diag = _unigrad.Tensor.diag
diag_embed = _unigrad.Tensor.diag_embed
diagflat = _unigrad.Tensor.diagflat
diagonal = _unigrad.Tensor.diagonal
diagonal_copy = _unigrad.Tensor.diagonal
diagonal_scatter = _unigrad.Tensor.diagonal_scatter
dice_loss = _unigrad.Tensor.dice_loss
diff = _unigrad.Tensor.diff
digamma = _unigrad.Tensor.digamma
digamma_ = _unigrad.Tensor.digamma_
dist = _unigrad.Tensor.dist
div_ = _unigrad.Tensor.div_
divide_ = _unigrad.Tensor.divide_
dot = _unigrad.Tensor.dot
dsplit = _unigrad.Tensor.dsplit
dyn_slice = _unigrad.Tensor.dyn_slice
dyn_update = _unigrad.Tensor.dyn_update
element_size = _unigrad.Tensor.element_size
elu = _unigrad.Tensor.elu
embedding = _unigrad.Tensor.embedding
embedding_bag = _unigrad.Tensor.embedding_bag
embedding_with = _unigrad.Tensor.embedding_with
eq = _unigrad.Tensor.eq
eq_ = _unigrad.Tensor.eq_
equal = _unigrad.Tensor.equal
erf = _unigrad.Tensor.erf
erf_ = _unigrad.Tensor.erf_
erfc = _unigrad.Tensor.erfc
erfc_ = _unigrad.Tensor.erfc_
erfinv = _unigrad.Tensor.erfinv
erfinv_ = _unigrad.Tensor.erfinv_
exp = _unigrad.Tensor.exp
exp2 = _unigrad.Tensor.exp2
exp2_ = _unigrad.Tensor.exp2_
exp_ = _unigrad.Tensor.exp_
expand = _unigrad.Tensor.expand
expand_as = _unigrad.Tensor.expand_as
expand_copy = _unigrad.Tensor.expand
expm1 = _unigrad.Tensor.expm1
expm1_ = _unigrad.Tensor.expm1_
exponential_ = _unigrad.Tensor.exponential_
fill_ = _unigrad.Tensor.fill_
fill_diagonal_ = _unigrad.Tensor.fill_diagonal_
flatten = _unigrad.Tensor.flatten
flip = _unigrad.Tensor.flip
fliplr = _unigrad.Tensor.fliplr
flipud = _unigrad.Tensor.flipud
float_power_ = _unigrad.Tensor.float_power_
floor = _unigrad.Tensor.floor
floor_ = _unigrad.Tensor.floor_
floor_div = _unigrad.Tensor.floor_div
floor_divide_ = _unigrad.Tensor.floor_divide_
fmax = _unigrad.Tensor.fmax
fmin = _unigrad.Tensor.fmin
fmod = _unigrad.Tensor.fmod
fmod_ = _unigrad.Tensor.fmod_
focal_loss = _unigrad.Tensor.focal_loss
frac = _unigrad.Tensor.fract
frac_ = _unigrad.Tensor.frac_
fract = _unigrad.Tensor.fract
gather = _unigrad.Tensor.gather
gaussian_nll_loss = _unigrad.Tensor.gaussian_nll_loss
gcd = _unigrad.Tensor.gcd
gcd_ = _unigrad.Tensor.gcd_
ge = _unigrad.Tensor.ge
ge_ = _unigrad.Tensor.ge_
gelu = _unigrad.Tensor.gelu
gelu_tanh = _unigrad.Tensor.gelu_tanh
geometric_ = _unigrad.Tensor.geometric_
glu = _unigrad.Tensor.glu
gradient = _unigrad.Tensor.gradient
greater = _unigrad.Tensor.gt
greater_ = _unigrad.Tensor.greater_
greater_equal = _unigrad.Tensor.ge
greater_equal_ = _unigrad.Tensor.greater_equal_
grid_sample = _unigrad.Tensor.grid_sample
group_norm = _unigrad.Tensor.group_norm
gt = _unigrad.Tensor.gt
gt_ = _unigrad.Tensor.gt_
hardshrink = _unigrad.Tensor.hardshrink
hardsigmoid = _unigrad.Tensor.hardsigmoid
hardswish = _unigrad.Tensor.hardswish
hardtanh = _unigrad.Tensor.hardtanh
hardtanh_with = _unigrad.Tensor.hardtanh_with
heaviside = _unigrad.Tensor.heaviside
heaviside_ = _unigrad.Tensor.heaviside_
hinge_embedding_loss = _unigrad.Tensor.hinge_embedding_loss
histc = _unigrad.Tensor.histc
hsplit = _unigrad.Tensor.hsplit
huber_loss = _unigrad.Tensor.huber_loss
hypot = _unigrad.Tensor.hypot
hypot_ = _unigrad.Tensor.hypot_
im2col = _unigrad.Tensor.im2col
index_add = _unigrad.Tensor.index_add
index_add_ = _unigrad.Tensor.index_add_
index_copy = _unigrad.Tensor.index_copy
index_copy_ = _unigrad.Tensor.index_copy_
index_fill = _unigrad.Tensor.index_fill
index_fill_ = _unigrad.Tensor.index_fill_
index_put = _unigrad.Tensor.index_put
index_put_ = _unigrad.Tensor.index_put_
index_reduce = _unigrad.Tensor.index_reduce
index_reduce_ = _unigrad.Tensor.index_reduce_
index_select = _unigrad.Tensor.index_select
inner = _unigrad.Tensor.inner
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
isin = _unigrad.Tensor.isin
isin_with = _unigrad.Tensor.isin_with
isinf = _unigrad.Tensor.isinf
isnan = _unigrad.Tensor.isnan
isneginf = _unigrad.Tensor.isneginf
isposinf = _unigrad.Tensor.isposinf
isreal = _unigrad.Tensor.isreal
kl_div = _unigrad.Tensor.kl_div
kron = _unigrad.Tensor.kron
kthvalue = _unigrad.Tensor.kthvalue
l1_loss = _unigrad.Tensor.l1_loss
layer_norm = _unigrad.Tensor.layer_norm
layer_norm_over = _unigrad.Tensor.layer_norm_over
lcm = _unigrad.Tensor.lcm
lcm_ = _unigrad.Tensor.lcm_
ldexp = _unigrad.Tensor.ldexp
ldexp_ = _unigrad.Tensor.ldexp_
le = _unigrad.Tensor.le
le_ = _unigrad.Tensor.le_
leaky_relu = _unigrad.Tensor.leaky_relu
lerp = _unigrad.Tensor.lerp
lerp_ = _unigrad.Tensor.lerp_
less = _unigrad.Tensor.lt
less_ = _unigrad.Tensor.less_
less_equal = _unigrad.Tensor.le
less_equal_ = _unigrad.Tensor.less_equal_
lgamma = _unigrad.Tensor.lgamma
lgamma_ = _unigrad.Tensor.lgamma_
linear = _unigrad.Tensor.linear
local_response_norm = _unigrad.Tensor.local_response_norm
log = _unigrad.Tensor.log
log10 = _unigrad.Tensor.log10
log10_ = _unigrad.Tensor.log10_
log1p = _unigrad.Tensor.log1p
log1p_ = _unigrad.Tensor.log1p_
log2 = _unigrad.Tensor.log2
log2_ = _unigrad.Tensor.log2_
log_ = _unigrad.Tensor.log_
log_normal_ = _unigrad.Tensor.log_normal_
log_sigmoid = _unigrad.Tensor.log_sigmoid
log_softmax = _unigrad.Tensor.log_softmax
logaddexp = _unigrad.Tensor.logaddexp
logaddexp2 = _unigrad.Tensor.logaddexp2
logcumsumexp = _unigrad.Tensor.logcumsumexp
logical_and = _unigrad.Tensor.logical_and
logical_and_ = _unigrad.Tensor.logical_and_
logical_not = _unigrad.Tensor.logical_not
logical_not_ = _unigrad.Tensor.logical_not_
logical_or = _unigrad.Tensor.logical_or
logical_or_ = _unigrad.Tensor.logical_or_
logical_xor = _unigrad.Tensor.logical_xor
logical_xor_ = _unigrad.Tensor.logical_xor_
logit = _unigrad.Tensor.logit
logit_ = _unigrad.Tensor.logit_
logsigmoid = _unigrad.Tensor.log_sigmoid
logsumexp = _unigrad.Tensor.logsumexp
lt = _unigrad.Tensor.lt
lt_ = _unigrad.Tensor.lt_
margin_ranking_loss = _unigrad.Tensor.margin_ranking_loss
masked_fill = _unigrad.Tensor.masked_fill
masked_fill_ = _unigrad.Tensor.masked_fill_
masked_scatter = _unigrad.Tensor.masked_scatter
masked_scatter_ = _unigrad.Tensor.masked_scatter_
masked_select = _unigrad.Tensor.masked_select
matmul = _unigrad.Tensor.matmul
max = _unigrad.Tensor.max
max_pool1d = _unigrad.Tensor.max_pool1d
max_pool2d = _unigrad.Tensor.max_pool2d
max_pool3d = _unigrad.Tensor.max_pool3d
max_unpool1d = _unigrad.Tensor.max_unpool1d
max_unpool2d = _unigrad.Tensor.max_unpool2d
max_unpool3d = _unigrad.Tensor.max_unpool3d
maximum = _unigrad.Tensor.maximum
mean = _unigrad.Tensor.mean
median = _unigrad.Tensor.median
min = _unigrad.Tensor.min
minimum = _unigrad.Tensor.minimum
mish = _unigrad.Tensor.mish
mm = _unigrad.Tensor.mm
mode = _unigrad.Tensor.mode
moveaxis = _unigrad.Tensor.moveaxis
movedim = _unigrad.Tensor.movedim
mse_loss = _unigrad.Tensor.mse_loss
msort = _unigrad.Tensor.msort
mul_ = _unigrad.Tensor.mul_
multi_margin_loss = _unigrad.Tensor.multi_margin_loss
multilabel_margin_loss = _unigrad.Tensor.multilabel_margin_loss
multilabel_soft_margin_loss = _unigrad.Tensor.multilabel_soft_margin_loss
multinomial = _unigrad.Tensor.multinomial
multiply_ = _unigrad.Tensor.multiply_
mv = _unigrad.Tensor.mv
nan_to_num = _unigrad.Tensor.nan_to_num
nan_to_num_ = _unigrad.Tensor.nan_to_num_
nanmean = _unigrad.Tensor.nanmean
nanmedian = _unigrad.Tensor.nanmedian
nanquantile = _unigrad.Tensor.nanquantile
nansum = _unigrad.Tensor.nansum
narrow = _unigrad.Tensor.narrow
narrow_copy = _unigrad.Tensor.narrow
ndimension = _unigrad.Tensor.ndimension
ne = _unigrad.Tensor.ne
ne_ = _unigrad.Tensor.ne_
neg = _unigrad.Tensor.neg
neg_ = _unigrad.Tensor.neg_
negative = _unigrad.Tensor.neg
negative_ = _unigrad.Tensor.negative_
nelement = _unigrad.Tensor.nelement
new_empty = _unigrad.Tensor.new_empty
new_full = _unigrad.Tensor.new_full
new_ones = _unigrad.Tensor.new_ones
new_tensor = _unigrad.Tensor.new_tensor
new_zeros = _unigrad.Tensor.new_zeros
nextafter = _unigrad.Tensor.nextafter
nextafter_ = _unigrad.Tensor.nextafter_
nll_loss = _unigrad.Tensor.nll_loss
nonzero = _unigrad.Tensor.nonzero
norm = _unigrad.Tensor.norm
normal_ = _unigrad.Tensor.normal_
normalize = _unigrad.Tensor.normalize
not_equal = _unigrad.Tensor.ne
not_equal_ = _unigrad.Tensor.not_equal_
nrm2 = _unigrad.Tensor.nrm2
one_hot = _unigrad.Tensor.one_hot
outer = _unigrad.Tensor.outer
pad = _unigrad.Tensor.pad
paged_update = _unigrad.Tensor.paged_update
pairwise_distance = _unigrad.Tensor.pairwise_distance
permute = _unigrad.Tensor.permute
permute_copy = _unigrad.Tensor.permute
pin_memory = _unigrad.Tensor.pin_memory
pixel_shuffle = _unigrad.Tensor.pixel_shuffle
pixel_unshuffle = _unigrad.Tensor.pixel_unshuffle
poisson_nll_loss = _unigrad.Tensor.poisson_nll_loss
positive = _unigrad.Tensor.positive
pow_ = _unigrad.Tensor.pow_
prelu = _unigrad.Tensor.prelu
prod = _unigrad.Tensor.prod
put = _unigrad.Tensor.put
put_ = _unigrad.Tensor.put_
quantile = _unigrad.Tensor.quantile
quantize = _unigrad.Tensor.quantize
rad2deg = _unigrad.Tensor.rad2deg
rad2deg_ = _unigrad.Tensor.rad2deg_
random_ = _unigrad.Tensor.random_
ravel = _unigrad.Tensor.ravel
recip = _unigrad.Tensor.recip
reciprocal = _unigrad.Tensor.recip
reciprocal_ = _unigrad.Tensor.reciprocal_
relu = _unigrad.Tensor.relu
relu6 = _unigrad.Tensor.relu6
relu_ = _unigrad.Tensor.relu_
rem = _unigrad.Tensor.rem
remainder_ = _unigrad.Tensor.remainder_
renorm = _unigrad.Tensor.renorm
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
round = _unigrad.Tensor.round
round_ = _unigrad.Tensor.round_
rpow = _unigrad.Tensor.rpow
rsqrt = _unigrad.Tensor.rsqrt
rsqrt_ = _unigrad.Tensor.rsqrt_
rsub = _unigrad.Tensor.rsub
scatter = _unigrad.Tensor.scatter
scatter_ = _unigrad.Tensor.scatter_
scatter_add = _unigrad.Tensor.scatter_add
scatter_add_ = _unigrad.Tensor.scatter_add_
scatter_reduce = _unigrad.Tensor.scatter_reduce
scatter_reduce_ = _unigrad.Tensor.scatter_reduce_
scatter_value = _unigrad.Tensor.scatter_value
searchsorted = _unigrad.Tensor.searchsorted
searchsorted_with = _unigrad.Tensor.searchsorted_with
select = _unigrad.Tensor.select
select_scatter = _unigrad.Tensor.select_scatter
selu = _unigrad.Tensor.selu
sgn = _unigrad.Tensor.sign
sgn_ = _unigrad.Tensor.sgn_
share_memory_ = _unigrad.Tensor.share_memory_
shl = _unigrad.Tensor.shl
shr = _unigrad.Tensor.shr
sigmoid = _unigrad.Tensor.sigmoid
sigmoid_ = _unigrad.Tensor.sigmoid_
sign = _unigrad.Tensor.sign
sign_ = _unigrad.Tensor.sign_
signbit = _unigrad.Tensor.signbit
silu = _unigrad.Tensor.silu
sin = _unigrad.Tensor.sin
sin_ = _unigrad.Tensor.sin_
sinc = _unigrad.Tensor.sinc
sinc_ = _unigrad.Tensor.sinc_
sinh = _unigrad.Tensor.sinh
sinh_ = _unigrad.Tensor.sinh_
slice_scatter = _unigrad.Tensor.slice_scatter
smooth_l1_loss = _unigrad.Tensor.smooth_l1_loss
soft_margin_loss = _unigrad.Tensor.soft_margin_loss
softmax = _unigrad.Tensor.softmax
softmin = _unigrad.Tensor.softmin
softplus = _unigrad.Tensor.softplus
softplus_with = _unigrad.Tensor.softplus_with
softshrink = _unigrad.Tensor.softshrink
softsign = _unigrad.Tensor.softsign
sort = _unigrad.Tensor.sort
split = _unigrad.Tensor.split
split_with_sizes = _unigrad.Tensor.split_with_sizes
sqrt = _unigrad.Tensor.sqrt
sqrt_ = _unigrad.Tensor.sqrt_
square = _unigrad.Tensor.square
square_ = _unigrad.Tensor.square_
squeeze = _unigrad.Tensor.squeeze
squeeze_ = _unigrad.Tensor.squeeze_
squeeze_copy = _unigrad.Tensor.squeeze
std = _unigrad.Tensor.std
std_mean = _unigrad.Tensor.std_mean
sub_ = _unigrad.Tensor.sub_
subtract_ = _unigrad.Tensor.subtract_
sum = _unigrad.Tensor.sum
sum_to_size = _unigrad.Tensor.sum_to_size
swapaxes = _unigrad.Tensor.swapaxes
swapaxes_ = _unigrad.Tensor.swapaxes_
swapdims = _unigrad.Tensor.swapaxes
swapdims_ = _unigrad.Tensor.swapdims_
t = _unigrad.Tensor.t
t_ = _unigrad.Tensor.t_
t_copy = _unigrad.Tensor.t
take = _unigrad.Tensor.take
take_along = _unigrad.Tensor.take_along
take_along_dim = _unigrad.Tensor.take_along_dim
tan = _unigrad.Tensor.tan
tan_ = _unigrad.Tensor.tan_
tanh = _unigrad.Tensor.tanh
tanh_ = _unigrad.Tensor.tanh_
tanhshrink = _unigrad.Tensor.tanhshrink
tensor_split = _unigrad.Tensor.tensor_split
tensordot = _unigrad.Tensor.tensordot
threshold = _unigrad.Tensor.threshold
tile = _unigrad.Tensor.tile
to_device = _unigrad.Tensor.to_device
topk = _unigrad.Tensor.topk
trace = _unigrad.Tensor.trace
transpose = _unigrad.Tensor.transpose
transpose_ = _unigrad.Tensor.transpose_
transpose_copy = _unigrad.Tensor.transpose
trapezoid = _unigrad.Tensor.trapezoid
trapz = _unigrad.Tensor.trapz
trigamma = _unigrad.Tensor.trigamma
tril = _unigrad.Tensor.tril
tril_ = _unigrad.Tensor.tril_
triplet_margin_loss = _unigrad.Tensor.triplet_margin_loss
triu = _unigrad.Tensor.triu
triu_ = _unigrad.Tensor.triu_
true_divide_ = _unigrad.Tensor.true_divide_
trunc = _unigrad.Tensor.trunc
trunc_ = _unigrad.Tensor.trunc_
type_as = _unigrad.Tensor.type_as
unbind = _unigrad.Tensor.unbind
unbind_copy = _unigrad.Tensor.unbind
unflatten = _unigrad.Tensor.unflatten
unfold = _unigrad.Tensor.unfold
unfold_copy = _unigrad.Tensor.unfold
uniform_ = _unigrad.Tensor.uniform_
unique = _unigrad.Tensor.unique
unique_consecutive = _unigrad.Tensor.unique_consecutive
unravel_index = _unigrad.Tensor.unravel_index
unsqueeze = _unigrad.Tensor.unsqueeze
unsqueeze_ = _unigrad.Tensor.unsqueeze_
unsqueeze_copy = _unigrad.Tensor.unsqueeze
var = _unigrad.Tensor.var
var_mean = _unigrad.Tensor.var_mean
vdot = _unigrad.Tensor.vdot
view = _unigrad.Tensor.view
view_as = _unigrad.Tensor.view_as
view_copy = _unigrad.Tensor.view
vsplit = _unigrad.Tensor.vsplit
where_ = _unigrad.Tensor.where_
with_gradient_hook = _unigrad.Tensor.with_gradient_hook
xlogy_ = _unigrad.Tensor.xlogy_
zero_ = _unigrad.Tensor.zero_

def add(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def bitwise_and(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def bitwise_left_shift(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def bitwise_or(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def bitwise_right_shift(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def bitwise_xor(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def div(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def divide(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
e: builtins.float
def einsum(equation: builtins.str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sums of products by Einstein's convention.

    >>> import unigrad
    >>> unigrad.einsum("ij,jk->ik", unigrad.ones(2, 3), unigrad.ones(3, 4)).shape
    (2, 4)
    """
    ...

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

def float_power(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def floor_divide(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def full_like(x: Tensor, fill_value: builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """One value everywhere, of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.full_like(unigrad.zeros(2), 7.0)
    tensor([7., 7.])
    """
    ...

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

def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: builtins.str='ij') -> builtins.list[Tensor]:
    """Grids of coordinates: a tensor for each vector, given one by one or as a list.

    >>> import unigrad
    >>> [x.tolist() for x in unigrad.meshgrid(unigrad.tensor([1, 2]), unigrad.tensor([3]))]
    [[[1], [2]], [[3], [3]]]
    """
    ...

def mul(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def multiply(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
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

def numel(x: Tensor) -> builtins.int:
    """The number of elements.

    >>> import unigrad
    >>> unigrad.numel(unigrad.ones(2, 3))
    6
    """
    ...

def ones_like(x: Tensor, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Ones of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.ones_like(unigrad.zeros(2))
    tensor([1., 1.])
    """
    ...

pi: builtins.float
def pow(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def rand_like(x: Tensor, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Uniform random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.rand_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    ...

def randn_like(x: Tensor, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Normally distributed random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randn_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    ...

def remainder(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
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

def sub(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def subtract(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def true_divide(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def value_and_grad(function: Callable[..., Tensor], argnums: builtins.int | Sequence[builtins.int]=0) -> Callable[..., builtins.tuple[Tensor, Any]]:
    """A function that gives ``function``'s value and its gradient with respect to the arguments of these numbers.

    >>> import unigrad
    >>> value, gradient = unigrad.value_and_grad(lambda x: (x * x).sum())(unigrad.tensor([3.0]))
    >>> value.item(), gradient.tolist()
    (9.0, [6.0])
    """
    ...

def where(condition: Tensor, input: Tensor | builtins.float | None=None, other: Tensor | builtins.float | None=None) -> Any:
    """``input`` where the condition is true, else ``other``; without both, where the condition is true, as a tuple of indices.

    >>> import unigrad
    >>> unigrad.where(unigrad.tensor([True, False]), 1, 2).tolist()
    [1, 2]
    """
    ...

def xlog1py(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def xlogy(input: Tensor | builtins.float | Any, other: Tensor | builtins.float | Any, *args: Any, **kwargs: Any) -> Tensor: ...
def zeros_like(x: Tensor, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """Zeros of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.zeros_like(unigrad.ones(2))
    tensor([0., 0.])
    """
    ...

device = Device
dtype = DType
empty_like = zeros_like
inference_mode = no_grad
