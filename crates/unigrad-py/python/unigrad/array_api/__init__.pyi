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
from unigrad.array_api._creation import arange as arange
from unigrad.array_api._creation import asarray as asarray
from unigrad.array_api._creation import empty as empty
from unigrad.array_api._creation import empty_like as empty_like
from unigrad.array_api._creation import eye as eye
from unigrad.array_api._creation import full as full
from unigrad.array_api._creation import full_like as full_like
from unigrad.array_api._creation import linspace as linspace
from unigrad.array_api._creation import meshgrid as meshgrid
from unigrad.array_api._creation import ones as ones
from unigrad.array_api._creation import ones_like as ones_like
from unigrad.array_api._creation import tril as tril
from unigrad.array_api._creation import triu as triu
from unigrad.array_api._creation import zeros as zeros
from unigrad.array_api._creation import zeros_like as zeros_like
from unigrad.array_api._dtypes import astype as astype
from unigrad.array_api._dtypes import can_cast as can_cast
from unigrad.array_api._dtypes import finfo as finfo
from unigrad.array_api._dtypes import iinfo as iinfo
from unigrad.array_api._dtypes import isdtype as isdtype
from unigrad.array_api._dtypes import result_type as result_type
from unigrad.array_api._elementwise import abs as abs
from unigrad.array_api._elementwise import acos as acos
from unigrad.array_api._elementwise import acosh as acosh
from unigrad.array_api._elementwise import add as add
from unigrad.array_api._elementwise import asin as asin
from unigrad.array_api._elementwise import asinh as asinh
from unigrad.array_api._elementwise import atan as atan
from unigrad.array_api._elementwise import atan2 as atan2
from unigrad.array_api._elementwise import atanh as atanh
from unigrad.array_api._elementwise import bitwise_and as bitwise_and
from unigrad.array_api._elementwise import bitwise_invert as bitwise_invert
from unigrad.array_api._elementwise import bitwise_left_shift as bitwise_left_shift
from unigrad.array_api._elementwise import bitwise_or as bitwise_or
from unigrad.array_api._elementwise import bitwise_right_shift as bitwise_right_shift
from unigrad.array_api._elementwise import bitwise_xor as bitwise_xor
from unigrad.array_api._elementwise import ceil as ceil
from unigrad.array_api._elementwise import clip as clip
from unigrad.array_api._elementwise import conj as conj
from unigrad.array_api._elementwise import copysign as copysign
from unigrad.array_api._elementwise import cos as cos
from unigrad.array_api._elementwise import cosh as cosh
from unigrad.array_api._elementwise import divide as divide
from unigrad.array_api._elementwise import equal as equal
from unigrad.array_api._elementwise import exp as exp
from unigrad.array_api._elementwise import expm1 as expm1
from unigrad.array_api._elementwise import floor as floor
from unigrad.array_api._elementwise import floor_divide as floor_divide
from unigrad.array_api._elementwise import greater as greater
from unigrad.array_api._elementwise import greater_equal as greater_equal
from unigrad.array_api._elementwise import hypot as hypot
from unigrad.array_api._elementwise import imag as imag
from unigrad.array_api._elementwise import isfinite as isfinite
from unigrad.array_api._elementwise import isinf as isinf
from unigrad.array_api._elementwise import isnan as isnan
from unigrad.array_api._elementwise import less as less
from unigrad.array_api._elementwise import less_equal as less_equal
from unigrad.array_api._elementwise import log as log
from unigrad.array_api._elementwise import log10 as log10
from unigrad.array_api._elementwise import log1p as log1p
from unigrad.array_api._elementwise import log2 as log2
from unigrad.array_api._elementwise import logaddexp as logaddexp
from unigrad.array_api._elementwise import logical_and as logical_and
from unigrad.array_api._elementwise import logical_not as logical_not
from unigrad.array_api._elementwise import logical_or as logical_or
from unigrad.array_api._elementwise import logical_xor as logical_xor
from unigrad.array_api._elementwise import maximum as maximum
from unigrad.array_api._elementwise import minimum as minimum
from unigrad.array_api._elementwise import multiply as multiply
from unigrad.array_api._elementwise import negative as negative
from unigrad.array_api._elementwise import nextafter as nextafter
from unigrad.array_api._elementwise import not_equal as not_equal
from unigrad.array_api._elementwise import positive as positive
from unigrad.array_api._elementwise import pow as pow
from unigrad.array_api._elementwise import real as real
from unigrad.array_api._elementwise import reciprocal as reciprocal
from unigrad.array_api._elementwise import remainder as remainder
from unigrad.array_api._elementwise import round as round
from unigrad.array_api._elementwise import sign as sign
from unigrad.array_api._elementwise import signbit as signbit
from unigrad.array_api._elementwise import sin as sin
from unigrad.array_api._elementwise import sinh as sinh
from unigrad.array_api._elementwise import sqrt as sqrt
from unigrad.array_api._elementwise import square as square
from unigrad.array_api._elementwise import subtract as subtract
from unigrad.array_api._elementwise import tan as tan
from unigrad.array_api._elementwise import tanh as tanh
from unigrad.array_api._elementwise import trunc as trunc
from unigrad.array_api._info import __array_namespace_info__ as __array_namespace_info__
from unigrad.array_api._linear import matmul as matmul
from unigrad.array_api._linear import matrix_transpose as matrix_transpose
from unigrad.array_api._linear import tensordot as tensordot
from unigrad.array_api._linear import vecdot as vecdot
from unigrad.array_api._manipulation import broadcast_arrays as broadcast_arrays
from unigrad.array_api._manipulation import broadcast_to as broadcast_to
from unigrad.array_api._manipulation import concat as concat
from unigrad.array_api._manipulation import expand_dims as expand_dims
from unigrad.array_api._manipulation import flip as flip
from unigrad.array_api._manipulation import moveaxis as moveaxis
from unigrad.array_api._manipulation import permute_dims as permute_dims
from unigrad.array_api._manipulation import repeat as repeat
from unigrad.array_api._manipulation import reshape as reshape
from unigrad.array_api._manipulation import roll as roll
from unigrad.array_api._manipulation import squeeze as squeeze
from unigrad.array_api._manipulation import stack as stack
from unigrad.array_api._manipulation import take as take
from unigrad.array_api._manipulation import take_along_axis as take_along_axis
from unigrad.array_api._manipulation import tile as tile
from unigrad.array_api._manipulation import unstack as unstack
from unigrad.array_api._searching import argmax as argmax
from unigrad.array_api._searching import argmin as argmin
from unigrad.array_api._searching import argsort as argsort
from unigrad.array_api._searching import count_nonzero as count_nonzero
from unigrad.array_api._searching import nonzero as nonzero
from unigrad.array_api._searching import searchsorted as searchsorted
from unigrad.array_api._searching import sort as sort
from unigrad.array_api._searching import unique_all as unique_all
from unigrad.array_api._searching import unique_counts as unique_counts
from unigrad.array_api._searching import unique_inverse as unique_inverse
from unigrad.array_api._searching import unique_values as unique_values
from unigrad.array_api._searching import where as where
from unigrad.array_api._statistical import all as all
from unigrad.array_api._statistical import any as any
from unigrad.array_api._statistical import cumulative_prod as cumulative_prod
from unigrad.array_api._statistical import cumulative_sum as cumulative_sum
from unigrad.array_api._statistical import diff as diff
from unigrad.array_api._statistical import max as max
from unigrad.array_api._statistical import mean as mean
from unigrad.array_api._statistical import min as min
from unigrad.array_api._statistical import prod as prod
from unigrad.array_api._statistical import std as std
from unigrad.array_api._statistical import sum as sum
from unigrad.array_api._statistical import var as var

bool: Any
e: Any
float32: Any
float64: Any
inf: Any
int8: Any
int16: Any
int32: Any
int64: Any
nan: Any
pi: Any
uint8: Any
uint16: Any
uint32: Any
uint64: Any
from_dlpack: Any
__array_api_version__: Any
newaxis: Any
