"""Data types: which there are, how they mix, what they hold."""

import builtins
import math
from dataclasses import dataclass

import unigrad as _u
from unigrad import DType, Tensor

BOOL = (_u.bool,)
SIGNED = (_u.int8, _u.int16, _u.int32, _u.int64)
UNSIGNED = (_u.uint8, _u.uint16, _u.uint32, _u.uint64)
REAL = (_u.float32, _u.float64)
#: Beside the standard's.
MORE_REAL = (_u.float16, _u.bfloat16, _u.float8_e4m3fn, _u.float8_e5m2)

KINDS = {
    "bool": BOOL,
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL + MORE_REAL,
    "complex floating": (),
    "numeric": SIGNED + UNSIGNED + REAL + MORE_REAL,
}

_UNSIGNED_INSIDE = {_u.uint8: _u.int16, _u.uint16: _u.int32, _u.uint32: _u.int64}


def is_float(dtype):
    return dtype.is_floating_point


def kind(dtype):
    """"bool", "int" or "float"."""
    return "bool" if dtype == _u.bool else "float" if dtype.is_floating_point else "int"


def promoted(a, b):
    """The dtype of two arrays' common values, by the standard's table; floats of 16 bits mix as their widths say.

    Raises TypeError where the standard has none: integers with floats, bools with either, uint64 with a signed integer.
    """
    if a == b:
        return a
    wrong = TypeError(f"{a} and {b} have no common dtype in the array API standard\n help: cast one of them: `astype(x, dtype)`")
    if kind(a) != kind(b) or kind(a) == "bool":
        raise wrong
    if kind(a) == "float":
        if a.itemsize == b.itemsize:
            return _u.float32
        return a if a.itemsize > b.itemsize else b
    if (a in SIGNED) == (b in SIGNED):
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a in SIGNED else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    if unsigned not in _UNSIGNED_INSIDE:
        raise wrong
    return _UNSIGNED_INSIDE[unsigned]


def of_scalar(value, like):
    """The dtype that a Python number has beside an array of the dtype ``like``."""
    if isinstance(value, builtins.bool):
        return _u.bool if like == _u.bool else like
    if isinstance(value, builtins.int):
        return like if like != _u.bool else _u.int64
    if isinstance(value, builtins.float):
        return like if is_float(like) else _u.float32
    if hasattr(value, "__float__") and not hasattr(value, "shape"):
        return of_scalar(builtins.float(value), like)
    raise TypeError(f"an array or a number is wanted, not {type(value).__name__}")


def result_type(*arrays_and_dtypes):
    """The dtype that an operation on these arrays, dtypes and numbers has.

    >>> import unigrad
    >>> unigrad.array_api.result_type(unigrad.int8, unigrad.uint8)
    unigrad.int16
    """
    if not arrays_and_dtypes:
        raise ValueError("`arrays_and_dtypes`: at least one array or dtype is wanted")
    found, scalars = None, []
    for given in arrays_and_dtypes:
        if isinstance(given, (builtins.bool, builtins.int, builtins.float)):
            scalars.append(given)
            continue
        dtype = given.dtype if isinstance(given, Tensor) else _dtype("arrays_and_dtypes", given)
        found = dtype if found is None else promoted(found, dtype)
    if found is None:
        raise ValueError("`arrays_and_dtypes`: at least one array or dtype is wanted beside numbers")
    for value in scalars:
        found = of_scalar(value, found)
    return found


def _dtype(name, given):
    try:
        return DType(given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`{name}` is an array or a dtype, not {given!r}") from error


def isdtype(dtype, kind):
    """Whether a dtype is of a kind: a dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", or a tuple of them.

    >>> import unigrad
    >>> unigrad.array_api.isdtype(unigrad.float32, ("integral", "real floating"))
    True
    """
    dtype = _dtype("dtype", dtype)
    if isinstance(kind, tuple):
        return builtins.any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"`kind` is one of {', '.join(map(repr, KINDS))}, a dtype, or a tuple of them, not {kind!r}")
        return dtype in KINDS[kind]
    return dtype == _dtype("kind", kind)


def can_cast(from_, to, /):
    """Whether a dtype, or an array's, becomes another one by the standard's promotion.

    >>> import unigrad.array_api as xp
    >>> xp.can_cast(xp.int32, xp.int64)
    True
    """
    source, to = from_.dtype if isinstance(from_, Tensor) else _dtype("from_", from_), _dtype("to", to)
    try:
        return promoted(source, to) == to
    except TypeError:
        return False


def astype(x, dtype, /, *, copy=True, device=None):
    """``x`` as another dtype, on another device if one is given. Without ``copy`` an array that is so already is returned as it is.

    >>> import unigrad.array_api as xp
    >>> xp.astype(xp.asarray([1.5]), xp.int32)
    tensor([1], dtype=unigrad.int32)
    """
    x = array("x", x)
    if not copy and x.dtype == dtype and (device is None or x.device == device):
        return x
    if x.dtype == dtype:
        x = _u.asarray(x, copy=True)
    else:
        x = x.to(DType(dtype))
    return x if device is None else x.to(device)


def array(name, x):
    """``x``, if it is an array."""
    if not isinstance(x, Tensor):
        raise TypeError(f"`{name}` is a unigrad.Tensor, not {type(x).__name__}")
    return x


@dataclass(frozen=True)
class finfo_object:  # noqa: N801
    """Limits of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self):
        """``smallest_normal``, as NumPy and PyTorch call it too."""
        return self.smallest_normal

    @property
    def resolution(self):
        """The power of ten that is as fine as decimal digits of the dtype are."""
        return 10.0 ** -math.floor(-math.log10(self.eps))


@dataclass(frozen=True)
class iinfo_object:  # noqa: N801
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


# Bits of the fraction, the largest value, the exponent of the least normal one.
_FLOATS = {
    _u.float8_e4m3fn: (3, 448.0, -6),
    _u.float8_e5m2: (2, 57344.0, -14),
    _u.float16: (10, 65504.0, -14),
    _u.bfloat16: (7, (2 - 2**-7) * 2.0**127, -126),
    _u.float32: (23, (2 - 2**-23) * 2.0**127, -126),
    _u.float64: (52, (2 - 2**-52) * 2.0**1023, -1022),
}


def finfo(type=_u.float32, /):  # noqa: A002
    """Limits of a float dtype, or of an array's; of the default one without.

    >>> import unigrad
    >>> unigrad.array_api.finfo(unigrad.float32).bits
    32
    """
    dtype = type.dtype if isinstance(type, Tensor) else _dtype("type", type)
    if dtype not in _FLOATS:
        raise ValueError(f"`type` is a float dtype, not {dtype}\n help: use `iinfo`")
    fraction, largest, exponent = _FLOATS[dtype]
    return finfo_object(8 * dtype.itemsize, math.ldexp(1.0, -fraction), largest, -largest, math.ldexp(1.0, exponent), dtype)


def iinfo(type, /):  # noqa: A002
    """Limits of an integer dtype, or of an array's.

    >>> import unigrad
    >>> unigrad.array_api.iinfo(unigrad.int8).max
    127
    """
    dtype = type.dtype if isinstance(type, Tensor) else _dtype("type", type)
    if kind(dtype) != "int":
        raise ValueError(f"`type` is an integer dtype, not {dtype}\n help: use `finfo`")
    bits, signed = 8 * dtype.itemsize, dtype in SIGNED
    return iinfo_object(bits, 2 ** (bits - signed) - 1, -(2 ** (bits - 1)) if signed else 0, dtype)
