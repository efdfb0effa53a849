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
from unigrad._torch_names.creation import as_tensor as as_tensor
from unigrad._torch_names.creation import bartlett_window as bartlett_window
from unigrad._torch_names.creation import blackman_window as blackman_window
from unigrad._torch_names.creation import cat as cat
from unigrad._torch_names.creation import hamming_window as hamming_window
from unigrad._torch_names.creation import hann_window as hann_window
from unigrad._torch_names.creation import normal as normal
from unigrad._torch_names.creation import randint_like as randint_like
from unigrad._torch_names.creation import scalar_tensor as scalar_tensor
from unigrad._torch_names.creation import vander as vander
from unigrad._torch_names.dtypes import can_cast as can_cast
from unigrad._torch_names.dtypes import promote_types as promote_types
from unigrad._torch_names.dtypes import result_type as result_type
from unigrad._torch_names.shapes import atleast_1d as atleast_1d
from unigrad._torch_names.shapes import atleast_2d as atleast_2d
from unigrad._torch_names.shapes import atleast_3d as atleast_3d
from unigrad._torch_names.shapes import broadcast_shapes as broadcast_shapes
from unigrad._torch_names.shapes import broadcast_tensors as broadcast_tensors
from unigrad._torch_names.shapes import cartesian_prod as cartesian_prod

from . import arithmetic as arithmetic
from . import dtypes as dtypes
from . import in_place as in_place
from . import indexing as indexing
from . import reductions as reductions
from . import shapes as shapes
from . import creation as creation
