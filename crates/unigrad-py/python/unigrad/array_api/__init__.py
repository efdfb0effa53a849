"""The Python array API standard, version 2024.12, without complex numbers and the extensions ``linalg`` and ``fft``.

The names and signatures are the standard's; the arrays are `unigrad.Tensor`. Where PyTorch has the same name with other arguments
(``sort``, ``max``, ``meshgrid``), ``unigrad.sort`` is PyTorch's and ``unigrad.array_api.sort`` the standard's.

>>> import unigrad
>>> x = unigrad.tensor([3.0, 1.0, 2.0])
>>> xp = x.__array_namespace__()
>>> xp.sort(x, descending=True).tolist()
[3.0, 2.0, 1.0]
"""

from .. import bool, e, float32, float64, inf, int8, int16, int32, int64, nan, pi, uint8, uint16, uint32, uint64  # noqa: A004
from .. import __version__, from_dlpack
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from ._elementwise import (
    abs,  # noqa: A004
    acos,
    acosh,
    add,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    ceil,
    clip,
    conj,
    copysign,
    cos,
    cosh,
    divide,
    equal,
    exp,
    expm1,
    floor,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    nextafter,
    not_equal,
    positive,
    pow,  # noqa: A004
    real,
    reciprocal,
    remainder,
    round,  # noqa: A004
    sign,
    signbit,
    sin,
    sinh,
    sqrt,
    square,
    subtract,
    tan,
    tanh,
    trunc,
)
from ._info import __array_namespace_info__
from ._linear import matmul, matrix_transpose, tensordot, vecdot
from ._manipulation import (
    broadcast_arrays,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    moveaxis,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    unstack,
)
from ._searching import (
    argmax,
    argmin,
    argsort,
    count_nonzero,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from ._statistical import (
    all,  # noqa: A004
    any,  # noqa: A004
    cumulative_prod,
    cumulative_sum,
    diff,
    max,  # noqa: A004
    mean,
    min,  # noqa: A004
    prod,
    std,
    sum,  # noqa: A004
    var,
)

__array_api_version__ = "2024.12"
newaxis = None

from .._shown import show as _show
from .._told import name_arguments as _name_arguments
from ._examples import EXAMPLES as _EXAMPLES

__all__ = [name for name in dir() if not name.startswith("_")] + ["__array_api_version__", "__array_namespace_info__"]

_name_arguments(globals(), __all__)
_show(globals(), _EXAMPLES, "import unigrad.array_api as xp")
