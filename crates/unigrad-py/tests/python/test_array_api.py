"""The array API standard: names, signatures, dtypes, shapes, special cases, beside NumPy, which has the standard's functions too.

The public suite (data-apis/array-api-tests) is run by hand; `docs/array-api.md` has its numbers.
"""

import inspect
import itertools
import math
import operator

import numpy as np
import pytest

import unigrad as ug

xp = ug.array_api
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
NUMBERS = INTS + FLOATS
SHAPES = [(), (0,), (1,), (5,), (2, 3), (3, 0), (2, 1, 4)]

NAMES = """
arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
astype can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj
copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10
logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
round sign signbit sin sinh square sqrt subtract tan tanh trunc
take take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
argmax argmin count_nonzero nonzero searchsorted where unique_all unique_counts unique_inverse unique_values argsort sort
cumulative_prod cumulative_sum max mean min prod std sum var all any diff
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 e inf nan newaxis pi __array_api_version__ __array_namespace_info__
""".split()


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if dtype.startswith("float"):
        return np.asarray(rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.integers(0 if dtype[0] == "u" else -20, 21, shape)).astype(dtype)


def same(ours, theirs, rtol=2e-5):
    theirs = np.asarray(theirs)
    assert isinstance(ours, ug.Tensor) and ours.shape == theirs.shape
    assert ours.dtype == getattr(ug, theirs.dtype.name), (ours.dtype, theirs.dtype)
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=rtol, atol=1e-6)


def test_every_name_is_there():
    missing = [name for name in NAMES if not hasattr(xp, name)]
    assert not missing, missing
    for name in NAMES:
        value = getattr(xp, name)
        assert inspect.getdoc(value) if callable(value) else True, name
    assert xp.__array_api_version__ == "2024.12"
    for extra in [name for name in xp.__all__ if name not in NAMES]:
        pytest.fail(f"{extra} is not the standard's")


def test_examples_in_docstrings():
    import doctest

    runner, tried = doctest.DocTestRunner(), 0
    for name in NAMES:
        text = inspect.getdoc(getattr(xp, name)) or ""
        if callable(getattr(xp, name)) and ">>>" in text:
            tried += runner.run(doctest.DocTestParser().get_doctest(text, {}, name, None, 0)).attempted
    assert tried > 10 and runner.summarize().failed == 0


def test_the_array_object():
    x = ug.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    with pytest.raises(ValueError, match="api_version"):
        x.__array_namespace__(api_version="2031.01")
    # An integer, as the standard has it, and a function, as PyTorch has it.
    assert x.size == 6 and isinstance(x.size, int) and x.size(0) == 2 and x.size() == (2, 3) and x.size(-1) == 3
    assert x.to_device(x.device) is x and x.to_device("cpu").device == x.device
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)
    assert complex(x[0, 0]) == 1 and x.mT.shape == (3, 2) and x.ndim == 2 and x.T.shape == (3, 2)
    assert operator.index(ug.tensor(3)) == 3 and hasattr(x, "__dlpack__") and x.__dlpack_device__() == (1, 0)


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {"real floating": ug.float32, "integral": ug.int64, "indexing": ug.int64}
    assert set(info.dtypes()) == {"bool", *NUMBERS}
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {"bool", "uint8", "uint16", "uint32", "uint64"}
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    x = xp.zeros((1,) * info.capabilities()["max dimensions"])
    assert x.ndim == 32 and (x + 1).item() == 1.0
    with pytest.raises(ValueError, match="kind"):
        info.dtypes(kind="floating")


@pytest.mark.parametrize("a, b", list(itertools.product(NUMBERS, NUMBERS)))
def test_promotion(a, b):
    x, y = np.ones(2, a), np.ones((), b)
    if (a in INTS) != (b in INTS) or {a, b} & {"uint64"} and {a, b} & {"int8", "int16", "int32", "int64"}:
        with pytest.raises(TypeError):
            xp.result_type(ug.DType(a), ug.DType(b))
        return
    expected = getattr(ug, np.result_type(a, b).name)
    assert xp.result_type(ug.DType(a), ug.tensor(y)) == expected
    assert xp.can_cast(ug.DType(a), ug.DType(b)) == (expected == ug.DType(b))
    # Arrays without axes count like others, in functions and operators.
    for left, right in [(x, y), (y, x), (x, x.astype(b)), (y, y.astype(a))]:
        for function, op in [(xp.add, operator.add), (xp.multiply, operator.mul), (xp.floor_divide, operator.floordiv)]:
            same(function(ug.tensor(left), ug.tensor(right)), op(left, right))
            same(op(ug.tensor(left), ug.tensor(right)), op(left, right))
        same(ug.tensor(left) < ug.tensor(right), left < right)
    for number in [3] if a in INTS else [3, 0.5]:
        same(xp.multiply(ug.tensor(x), number), x * x.dtype.type(number))
        same(xp.multiply(number, ug.tensor(x)), x * x.dtype.type(number))


def test_operators_without_axes_keep_halves():
    assert (ug.ones(3, dtype=ug.float16) * ug.tensor(2.0)).dtype == ug.float16
    assert (ug.tensor(128, dtype=ug.int16) <= ug.tensor([0], dtype=ug.int8)).tolist() == [False]


def test_large_unsigned_numbers():
    big = 2**64 - 1
    assert xp.asarray(big, dtype=ug.uint64).item() == big and xp.asarray([big, 0]).dtype == ug.uint64
    assert xp.full((2,), big, dtype=ug.uint64).tolist() == [big, big]
    assert (ug.tensor([1], dtype=ug.uint64) * big).tolist() == [big] and (big - ug.tensor([1], dtype=ug.uint64)).tolist() == [big - 1]
    for wrong in [2**64, -(2**63) - 1]:
        with pytest.raises(ug.ArgumentError, match="beyond 64 bits"):
            xp.asarray(wrong)
    with pytest.raises(ValueError):
        xp.asarray(big, dtype=ug.int64)


UNARY = """abs acos asin asinh atan cos cosh exp expm1 log1p sin sinh tan tanh square negative positive sign ceil floor trunc round
isfinite isinf isnan signbit""".split()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_unary_functions(name, dtype):
    for shape in SHAPES:
        x = values(shape, dtype) / 4 if dtype in FLOATS and name in ("acos", "asin", "log1p") else values(shape, dtype)
        x = np.clip(x, -0.9, 0.9).astype(dtype) if dtype in FLOATS and name in ("acos", "asin", "log1p") else x
        if dtype in INTS and name in set(UNARY) - set("abs square negative positive sign ceil floor trunc round isfinite isinf isnan".split()):
            with pytest.raises(TypeError, match="x"):
                getattr(xp, name)(ug.tensor(x))
            continue
        same(getattr(xp, name)(ug.tensor(x)), getattr(np, name)(x))


BINARY = """add subtract multiply maximum minimum equal not_equal less less_equal greater greater_equal""".split()


@pytest.mark.parametrize("name", BINARY + ["divide", "atan2", "hypot", "copysign", "logaddexp", "remainder", "floor_divide", "pow"])
def test_binary_functions(name):
    for a, b in [((), (3,)), ((2, 1), (1, 3)), ((0, 1), (1, 3)), ((4,), (4,)), ((), ())]:
        for dtype in NUMBERS if name in BINARY else FLOATS:
            x, y = values(a, dtype), values(b, dtype, 1)
            x = abs(x) + 1 if name == "pow" else x
            with np.errstate(all="ignore"):
                same(getattr(xp, name)(ug.tensor(x), ug.tensor(y)), getattr(np, name)(x, y), rtol=1e-4)
    with pytest.raises(TypeError, match="x1"):
        getattr(xp, name)(1, 2)
    with pytest.raises(TypeError):
        getattr(xp, name)(ug.ones(2), "a")
    with pytest.raises(ValueError):
        getattr(xp, name)(ug.ones(2), ug.ones(3))


def test_special_cases():
    inf, nan = math.inf, math.nan
    for dtype in FLOATS:
        of = lambda *numbers: xp.asarray(list(numbers), dtype=getattr(ug, dtype))  # noqa: B023, E731
        signs = lambda x: [math.copysign(1, value) for value in x.tolist()]  # noqa: E731
        assert signs(xp.asinh(of(-0.0, 0.0))) == [-1, 1]
        assert math.isnan(xp.sign(of(nan)).item()) and xp.sign(of(-2.0, 0.0)).tolist() == [-1.0, 0.0]
        assert xp.floor_divide(of(inf, inf, -inf, -inf), of(2.0, -2.0, 2.0, -2.0)).tolist() == [inf, -inf, -inf, inf]
        assert signs(xp.floor_divide(of(1.0, -1.0), of(-inf, inf))) == [-1, -1] and xp.floor_divide(of(1.0), of(-inf)).item() == 0
        assert signs(xp.remainder(of(-0.0, 0.0, 4.0, -4.0), of(2.0, -2.0, -2.0, 2.0))) == [1, -1, -1, 1]
        assert math.isnan(xp.max(of(1.0, nan)).item()) and math.isnan(xp.minimum(of(nan), of(1.0)).item())
        assert xp.hypot(of(inf), of(nan)).item() == inf and xp.logaddexp(of(-inf), of(-inf)).item() == -inf
        assert xp.pow(of(nan), of(0.0)).item() == 1.0 and xp.round(of(0.5, 1.5, 2.5)).tolist() == [0.0, 2.0, 2.0]


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "count_nonzero", "argmax", "argmin"])
@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_reductions(name, dtype):
    ours, theirs = getattr(xp, name), getattr(np, name)
    numbers_only, floats_only = name in ("sum", "prod", "max", "min", "argmax", "argmin"), name in ("mean", "var", "std")
    if dtype == "bool" and name in ("sum", "prod", "max", "min") or dtype not in FLOATS and floats_only:
        with pytest.raises(TypeError, match="x"):
            ours(ug.ones(3, dtype=getattr(ug, dtype)))
        return
    if dtype == "bool" and numbers_only:
        return
    for shape in [(), (5,), (2, 3), (2, 3, 4)]:
        x = values(shape, dtype)
        axes = [None, *range(-len(shape), len(shape))]
        axes += [] if name.startswith("arg") else [axis for axis in [(), (0, -1), (1, 0)] if len(shape) > max([abs(a) for a in axis], default=-1)]
        for axis, keepdims in itertools.product(axes, [False, True]):
            if isinstance(axis, tuple) and len({a % max(len(shape), 1) for a in axis}) < len(axis):
                continue
            same(ours(ug.tensor(x), axis=axis, keepdims=keepdims), theirs(x, axis=axis, keepdims=keepdims), rtol=1e-4)
    with pytest.raises((IndexError, ValueError)):
        ours(ug.tensor(values((2, 3), dtype)), axis=2)


def test_statistics_further():
    x = values((3, 4), "float64")
    for correction in [0, 1, 0.5]:
        expected = ((x - x.mean(1, keepdims=True)) ** 2).sum(1) / (4 - correction)
        same(xp.var(ug.tensor(x), axis=1, correction=correction), expected)
        same(xp.std(ug.tensor(x), axis=1, correction=correction), np.sqrt(expected))
    for dtype in NUMBERS:
        y = values((3, 4), dtype)
        for wide in [None, "float64", dtype]:
            kw = {} if wide is None else {"dtype": wide}
            same(xp.sum(ug.tensor(y), axis=0, **kw), np.sum(y, axis=0, **kw), 1e-4)
            for initial in [False, True]:
                same(xp.cumulative_sum(ug.tensor(y), axis=1, include_initial=initial, **kw), np.cumulative_sum(y, axis=1, include_initial=initial, **kw), 1e-4)
        same(xp.cumulative_prod(ug.tensor(y[:, :2]), axis=-1), np.cumulative_prod(y[:, :2], axis=-1), 1e-4)
        for n, axis in itertools.product([0, 1, 2, 5], [0, 1]):
            same(xp.diff(ug.tensor(y), n=n, axis=axis), np.diff(y, n=n, axis=axis))
        same(xp.diff(ug.tensor(y), prepend=ug.tensor(y), append=ug.tensor(y)), np.diff(y, prepend=y, append=y))


def test_manipulation():
    x = values((2, 3, 4), "int32")
    t = ug.tensor(x)
    for axis in [None, 0, -1, (0, 2), ()]:
        same(xp.flip(t, axis=axis), np.flip(x, axis=axis))
    for shift, axis in [(2, None), (1, 0), ((1, -1), (0, 2)), (-5, 1), (3, (0, 1))]:
        same(xp.roll(t, shift, axis=axis), np.roll(x, shift, axis=axis))
    for repeats, axis in [(2, None), (3, 1), (0, 0), (np.array([1, 0, 2]), 1), (np.array([2]), 0)]:
        same(xp.repeat(t, ug.tensor(repeats) if isinstance(repeats, np.ndarray) else repeats, axis=axis), np.repeat(x, repeats, axis=axis))
    for repetitions in [(), (2,), (2, 1, 3), (2, 1, 1, 2), (0,)]:
        same(xp.tile(t, repetitions), np.tile(x, repetitions))
    same(xp.permute_dims(t, (2, 0, 1)), x.transpose(2, 0, 1))
    same(xp.moveaxis(t, (0, 1), (-1, 0)), np.moveaxis(x, (0, 1), (-1, 0)))
    same(xp.expand_dims(t, -1), x[..., None])
    same(xp.squeeze(xp.expand_dims(t, 1), 1), x)
    same(xp.concat([t, t[:1]], axis=0), np.concatenate([x, x[:1]]))
    same(xp.concat([t, t[:1]], axis=None), np.concatenate([x, x[:1]], axis=None))
    same(xp.concat([ug.ones(2, dtype=ug.int8), ug.ones(1, dtype=ug.uint8)]), np.ones(3, np.int16))
    same(xp.stack([t, t], axis=-1), np.stack([x, x], axis=-1))
    assert [part.tolist() for part in xp.unstack(t, axis=1)] == [x[:, i].tolist() for i in range(3)]
    same(xp.reshape(t, (4, -1)), x.reshape(4, -1))
    same(xp.broadcast_to(t, (5, 2, 3, 4)), np.broadcast_to(x, (5, 2, 3, 4)))
    assert [y.shape for y in xp.broadcast_arrays(ug.ones(3, 1), ug.ones(4))] == [(3, 4), (3, 4)]
    for ours, theirs in zip(xp.meshgrid(ug.arange(2), ug.arange(3)), np.meshgrid(np.arange(2), np.arange(3))):
        same(ours, theirs)
    for k in [-2, 0, 1, 9, -(2**63) - 1]:
        same(xp.eye(3, 4, k=k, dtype=ug.float64), np.eye(3, 4, k=max(k, -9)))
        same(xp.tril(t, k=k), np.tril(x, max(k, -9)))
        same(xp.triu(t, k=k), np.triu(x, max(k, -9)))
    for wrong, error in [
        (lambda: xp.squeeze(t, 0), ValueError),
        (lambda: xp.expand_dims(t, 5), IndexError),
        (lambda: xp.permute_dims(t, (0, 0, 1)), ValueError),
        (lambda: xp.concat([]), ValueError),
        (lambda: xp.stack([]), ValueError),
        (lambda: xp.reshape(t, (5, -1)), ValueError),
        (lambda: xp.broadcast_arrays(ug.ones(2), ug.ones(3)), ValueError),
        (lambda: xp.roll(t, (1, 2), axis=0), ValueError),
    ]:
        with pytest.raises(error):
            wrong()


def test_searching_sorting_sets():
    for dtype in NUMBERS:
        x = np.asarray([3, 1, 2, 3, 1, 7], dtype)
        t = ug.tensor(x)
        same(xp.sort(t), np.sort(x))
        same(xp.sort(t, descending=True), np.sort(x)[::-1])
        same(xp.argsort(t), np.argsort(x, stable=True))
        assert xp.argsort(t, descending=True).tolist() == [5, 0, 3, 2, 1, 4]
        for side in ["left", "right"]:
            same(xp.searchsorted(xp.sort(t), t, side=side), np.searchsorted(np.sort(x), x, side=side))
            same(xp.searchsorted(t, t, side=side, sorter=xp.argsort(t)), np.searchsorted(np.sort(x), x, side=side))
        for shape in [(6,), (2, 3), (1, 6)]:
            every, expected = xp.unique_all(t.reshape(shape)), np.unique_all(x.reshape(shape))
            for ours, theirs in zip(every, expected):
                same(ours, theirs)
        assert every._fields == expected._fields
        same(xp.unique_values(t), np.unique(x))
        assert [y.tolist() for y in xp.unique_counts(t)] == [y.tolist() for y in np.unique(x, return_counts=True)]
        assert [y.tolist() for y in xp.unique_inverse(t)] == [y.tolist() for y in np.unique(x, return_inverse=True)]
        same(xp.where(t > 2, t, 0), np.where(x > 2, x, x.dtype.type(0)))
        same(xp.where(t > 2, 1, t), np.where(x > 2, x.dtype.type(1), x))
        same(xp.take(t, ug.tensor([5, 0])), x[[5, 0]])
        same(xp.take_along_axis(t.reshape((2, 3)), ug.tensor([[2], [0]]), axis=1), np.take_along_axis(x.reshape(2, 3), np.array([[2], [0]]), 1))
        assert [y.tolist() for y in xp.nonzero(t.reshape((2, 3)) - t[0])] == [y.tolist() for y in np.nonzero(x.reshape(2, 3) - x[0])]
    nans = xp.unique_all(ug.tensor([math.nan, 1.0, math.nan]))
    assert nans.counts.tolist() == [1, 1, 1] and nans.values[0].item() == 1.0
    assert xp.unique_all(ug.zeros(0)).counts.tolist() == []
    for wrong, error in [
        (lambda: xp.searchsorted(ug.ones(2), ug.ones(2), side="middle"), ValueError),
        (lambda: xp.nonzero(ug.tensor(1)), ValueError),
        (lambda: xp.where(ug.ones(2), 1, 2), TypeError),
        (lambda: xp.take(ug.ones(2, 2), ug.tensor([0])), ValueError),
        (lambda: xp.take(ug.ones(2), ug.tensor([0.0])), TypeError),
    ]:
        with pytest.raises(error):
            wrong()


def test_products():
    x, y = values((2, 3, 4), "float64"), values((2, 4, 5), "float64", 1)
    same(xp.matmul(ug.tensor(x), ug.tensor(y)), x @ y)
    for axes in [0, 1, ((2, 0), (1, 0)), ((), ())]:
        left, right = (x, y[0]) if axes == 1 else (x, y)
        same(xp.tensordot(ug.tensor(left), ug.tensor(right), axes=axes), np.tensordot(left, right, axes=axes))
    same(xp.vecdot(ug.tensor(x), ug.tensor(x[:1])), np.vecdot(x, x[:1]))
    for dtype in INTS:
        same(xp.vecdot(ug.tensor(values((3, 4), dtype)), ug.tensor(values((3, 4), dtype))), np.vecdot(values((3, 4), dtype), values((3, 4), dtype)))
    for wrong in [lambda: xp.matmul(ug.tensor(1.0), ug.ones(2)), lambda: xp.vecdot(ug.ones(2), ug.ones(3)), lambda: xp.tensordot(ug.ones(2), ug.ones(3))]:
        with pytest.raises(ValueError):
            wrong()


def test_creation_and_dtypes():
    for start, stop, step in [(5, None, 1), (2, 9, 3), (9, 2, -3), (0.0, 1.0, 0.25), (3, 3, 1), (5, 2, 1)]:
        assert xp.arange(start, stop, step).tolist() == pytest.approx(np.arange(*((start,) if stop is None else (start, stop, step))).tolist())
    for num, endpoint in itertools.product([0, 1, 2, 7], [False, True]):
        same(xp.linspace(1.0, 4.0, num, dtype=ug.float64, endpoint=endpoint), np.linspace(1.0, 4.0, num, endpoint=endpoint))
    assert xp.full(3, True).dtype == ug.bool and xp.full((), 2).dtype == ug.int64 and xp.full((2, 2), 0.5).dtype == ug.float32
    assert xp.zeros_like(ug.ones(2, dtype=ug.int8)).dtype == ug.int8 and xp.full_like(ug.ones(2), 3).tolist() == [3.0, 3.0]
    for dtype in FLOATS:
        ours, theirs = xp.finfo(getattr(ug, dtype)), np.finfo(dtype)
        assert (ours.bits, ours.eps, ours.max, ours.min, ours.smallest_normal) == tuple(
            map(float, (theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.smallest_normal))
        )
    for dtype in INTS:
        ours, theirs = xp.iinfo(getattr(ug, dtype)), np.iinfo(dtype)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    x = ug.tensor([1.5, 2.5])
    assert xp.astype(x, ug.int32).tolist() == [1, 2] and xp.astype(x, x.dtype, copy=False) is x and xp.astype(x, x.dtype) is not x
    assert xp.isdtype(ug.int8, "signed integer") and not xp.isdtype(ug.int8, ("bool", ug.float32)) and xp.isdtype(ug.bfloat16, "real floating")
    for wrong, error in [
        (lambda: xp.isdtype(ug.int8, "whole"), ValueError),
        (lambda: xp.finfo(ug.int8), ValueError),
        (lambda: xp.iinfo(ug.float32), ValueError),
        (lambda: xp.result_type(), ValueError),
        (lambda: xp.result_type("nothing"), TypeError),
        (lambda: xp.astype([1], ug.int8), TypeError),
        (lambda: xp.arange(0, 5, 0), ValueError),
    ]:
        with pytest.raises(error):
            wrong()


def test_clip():
    x = np.asarray([-5, 0, 5, 9], np.int8)
    for low, high in [(None, None), (-2, 6), (None, 3), (3, None), (-1000, 1000), (1000, None), (None, -1000)]:
        expected = np.clip(x.astype(np.int64), low, high)
        if low == 1000 or high == -1000:
            expected = np.full(4, 127 if low == 1000 else -128)
        assert xp.clip(ug.tensor(x), low, high).tolist() == expected.tolist()
        assert xp.clip(ug.tensor(x), low, high).dtype == ug.int8
    y = values((2, 3), "float32")
    low = values((3,), "float32", 1)
    same(xp.clip(ug.tensor(y), ug.tensor(low), None), np.clip(y, low, None))


@pytest.mark.parametrize("name", [name for name in NAMES if callable(getattr(xp, name)) and name not in ("__array_namespace_info__", "bool")])
def test_wrong_arguments(name):
    """Whatever comes in, what comes out is an exception of Python that says what was wrong, or a result."""
    function = getattr(xp, name)
    wrong = [None, "text", object(), [[1, 2], [3]], {}, -1, 1.5, 2**70, math.nan, ug.ones(2, 3), ug.tensor(True), ug.zeros(0)]
    n = len([p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]) if name not in ("from_dlpack", "asarray") else 1
    for arguments in itertools.islice(itertools.product(wrong, repeat=max(n, 1)), 150):
        try:
            function(*arguments)
        except (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, BufferError, AttributeError, MemoryError) as error:
            assert str(error), (name, arguments)
