"""Tensors as NumPy has arrays: what they are made of, what ops give, how they are read."""

import copy
import pickle

import numpy as np
import pytest

import unigrad as ug

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.normal(size=shape).astype(dtype)
    low = 0 if dtype.startswith("u") else -20
    return rng.integers(low, 21, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (2, 0, 3), (3, 4), (2, 3, 4)])
def test_arrays_go_in_and_come_out(shape, dtype):
    array = values(shape, dtype)
    tensor = ug.tensor(array)
    assert tensor.shape == shape and tensor.dtype == getattr(ug, dtype)
    np.testing.assert_array_equal(tensor.numpy(), array)
    assert tensor.numpy().dtype == array.dtype
    assert tensor.tolist() == array.tolist()
    np.testing.assert_array_equal(np.asarray(tensor), array)


def test_strided_arrays_are_gathered():
    array = np.arange(60.0).reshape(3, 4, 5)
    for view in [array[::-1], array[:, ::2], array.transpose(2, 0, 1), array[:, :0], array[1:, ::-3, 4:0:-2], np.asfortranarray(array)]:
        np.testing.assert_array_equal(ug.tensor(view).numpy(), view)


def test_numbers_and_lists():
    assert ug.tensor(1).dtype == ug.int64
    assert ug.tensor(1.5).dtype == ug.float32
    assert ug.tensor(True).dtype == ug.bool
    assert ug.tensor([[1, 2], [3, 4.5]]).tolist() == [[1.0, 2.0], [3.0, 4.5]]
    assert ug.tensor([True, 2]).dtype == ug.int64
    assert ug.tensor([]).shape == (0,)
    assert ug.tensor([[], []]).shape == (2, 0)
    assert ug.tensor([ug.tensor([1, 2]), ug.tensor([3, 4])]).tolist() == [[1, 2], [3, 4]]
    assert ug.tensor([1, 2], dtype=ug.float16).dtype == ug.float16
    assert ug.tensor(2**62 + 1).item() == 2**62 + 1
    with pytest.raises(ValueError):
        ug.tensor([[1, 2], [3]])
    with pytest.raises(TypeError):
        ug.tensor(["a"])
    with pytest.raises(ValueError):
        ug.tensor([300], dtype=ug.uint8)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64", "float16", "float32", "float64"])
def test_numpy_numbers_in_lists_keep_their_dtype(dtype):
    one, of = np.dtype(dtype).type(1), getattr(ug, dtype)
    for given in (one, [one], [[one, one]], (one,), [np.array(1, dtype)], [np.array([1, 0], dtype)], np.array([1], dtype)):
        assert ug.tensor(given).dtype == of, given
    assert ug.tensor([one, np.dtype(dtype).type(0)]).tolist() == [1, 0]
    # Beside Python's numbers as beside tensors of no axis.
    assert ug.tensor([one, True]).dtype == of
    assert ug.tensor([one, 2.5]).dtype == (ug.float64 if dtype == "float64" else ug.float32)
    assert ug.tensor([one, 3], dtype=ug.float32).tolist() == [1.0, 3.0]


def test_the_greatest_numpy_numbers():
    assert ug.tensor([np.uint64(2**64 - 1)]).tolist() == [2**64 - 1] and ug.tensor([np.int64(-(2**63))]).tolist() == [-(2**63)]
    assert ug.tensor([np.float64(1e300), np.float32(1.0)]).tolist() == [1e300, 1.0]
    with pytest.raises(ValueError):
        ug.tensor([[np.float32(1)], [np.array([1.0, 2.0])]])


UNARY = ["exp", "log", "sin", "cos", "tanh", "sqrt", "abs", "floor", "ceil", "sign", "square", "exp2", "log2", "expm1", "arctan", "isnan"]


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name):
    array = values((3, 5), "float64")
    array = np.abs(array) + 0.1 if name in ("log", "sqrt", "log2") else array
    want = getattr(np, name)(array)
    for got in [getattr(ug.tensor(array), name)(), getattr(ug, name)(ug.tensor(array))]:
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["int64", "float64"])
def test_operators_with_tensors_numbers_and_arrays(dtype):
    a, b = values((3, 4), dtype, 1), values((4,), dtype, 2)
    b[b == 0] = 1
    ops = [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x // y,
        lambda x, y: x % y,
        lambda x, y: x == y,
        lambda x, y: x < y,
        lambda x, y: x >= y,
    ]
    for op in ops:
        want = op(a, b)
        for got in [op(ug.tensor(a), ug.tensor(b)), op(ug.tensor(a), b), op(a, ug.tensor(b))]:
            assert isinstance(got, ug.Tensor)
            np.testing.assert_allclose(got.numpy(), want)
        np.testing.assert_allclose(op(ug.tensor(a), 3).numpy(), op(a, 3))
        np.testing.assert_allclose(op(3, ug.tensor(a * 2 + 1)).numpy(), op(3, a * 2 + 1))
    np.testing.assert_allclose((2.0 ** ug.tensor(a)).numpy(), 2.0**a, rtol=1e-6)
    np.testing.assert_allclose((ug.tensor(a) @ ug.tensor(a.T)).numpy(), a @ a.T)
    np.testing.assert_allclose((a @ ug.tensor(a.T)).numpy(), a @ a.T)
    np.testing.assert_allclose((-ug.tensor(a)).numpy(), -a)
    np.testing.assert_allclose(abs(ug.tensor(a)).numpy(), abs(a))


def test_bits_and_truth():
    a, b = np.array([5, 6, 7]), np.array([3, 2, 1])
    x, y = ug.tensor(a), ug.tensor(b)
    for op in [lambda x, y: x & y, lambda x, y: x | y, lambda x, y: x ^ y, lambda x, y: x << y, lambda x, y: x >> y]:
        np.testing.assert_array_equal(op(x, y).numpy(), op(a, b))
    np.testing.assert_array_equal((~x).numpy(), ~a)
    assert bool(ug.tensor(2.0)) and not bool(ug.tensor([0]))
    assert float(ug.tensor([1.5])) == 1.5 and int(ug.tensor(7.9)) == 7
    assert [10, 20, 30][ug.tensor(1)] == 20
    assert 5 in x and 4 not in x
    with pytest.raises(ValueError):
        bool(x)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "amin", "all", "any"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (1,)])
def test_reductions_by_both_names(name, axis):
    array = values((2, 3, 4), "float64")
    numpy = {"amax": np.max, "amin": np.min}.get(name) or getattr(np, name)
    for keeps in [False, True]:
        want = numpy(array, axis=axis, keepdims=keeps)
        x = ug.tensor(array)
        np.testing.assert_allclose(getattr(x, name)(dim=axis, keepdim=keeps).numpy(), want)
        np.testing.assert_allclose(getattr(x, name)(axis=axis, keepdims=keeps).numpy(), want)
    with pytest.raises(TypeError):
        getattr(x, name)(dim=0, axis=0)


def test_extremes_with_indices():
    array = values((4, 5), "float64")
    x = ug.tensor(array)
    assert x.max().item() == array.max() and x.min().item() == array.min()
    found = x.max(dim=1)
    np.testing.assert_array_equal(found.values.numpy(), array.max(1))
    np.testing.assert_array_equal(found.indices.numpy(), array.argmax(1))
    assert x.min(1, keepdim=True).values.shape == (4, 1)
    np.testing.assert_array_equal(x.max(ug.tensor(0.0)).numpy(), np.maximum(array, 0))
    np.testing.assert_array_equal(x.argmin(dim=0).numpy(), array.argmin(0))
    assert x.argmax().item() == array.argmax()
    np.testing.assert_allclose(x.std(dim=0).numpy(), array.std(0, ddof=1))
    np.testing.assert_allclose(x.var(0, correction=0).numpy(), array.var(0))
    values_, indices = x.sort(dim=1, descending=True)
    np.testing.assert_array_equal(values_.numpy(), -np.sort(-array, 1))
    np.testing.assert_array_equal(x.argsort(1).numpy(), array.argsort(1))
    assert x.topk(2).values.shape == (4, 2)
    np.testing.assert_allclose(x.cumsum(1).numpy(), array.cumsum(1), rtol=1e-12, atol=1e-12)


def test_shapes():
    array = np.arange(24).reshape(2, 3, 4)
    x = ug.tensor(array)
    assert len(x) == 2 and x.ndim == 3 and x.numel() == 24 and x.size() == (2, 3, 4) and x.size(1) == 3
    for got, want in [
        (x.reshape(6, -1), array.reshape(6, -1)),
        (x.reshape((4, 6)), array.reshape(4, 6)),
        (x.permute(2, 0, 1), array.transpose(2, 0, 1)),
        (x.transpose(0, 1), array.swapaxes(0, 1)),
        (x.T, array.T),
        (x.mT, array.swapaxes(-1, -2)),
        (x.flatten(1), array.reshape(2, 12)),
        (x.unsqueeze(1).squeeze(), array),
        (x.flip(0, 2), array[::-1, :, ::-1]),
        (x.roll(1, 1), np.roll(array, 1, 1)),
        (x.roll(5), np.roll(array, 5)),
        (x[0].expand(2, 3, 4), np.broadcast_to(array[0], (2, 3, 4))),
        (x.tile(1, 2, 1), np.tile(array, (1, 2, 1))),
        (x.repeat_interleave(2, dim=1), np.repeat(array, 2, 1)),
        (ug.stack([x, x], dim=1), np.stack([array, array], 1)),
        (ug.concat([x, x], axis=2), np.concatenate([array, array], 2)),
        (x[0].tril(1), np.tril(array[0], 1)),
        (x.diff(), np.diff(array)),
    ]:
        np.testing.assert_array_equal(got.numpy(), want)
    assert [part.shape for part in x.split(2, dim=2)] == [(2, 3, 2), (2, 3, 2)]
    assert [part.shape for part in x.split([1, 3], 2)] == [(2, 3, 1), (2, 3, 3)]
    assert [row.shape for row in x] == [(3, 4), (3, 4)]


def test_made_by_functions():
    assert ug.zeros(2, 3).tolist() == [[0.0] * 3] * 2 and ug.ones((2,)).tolist() == [1.0, 1.0]
    assert ug.arange(5).tolist() == [0, 1, 2, 3, 4] and ug.arange(1, 2, 0.5).tolist() == [1.0, 1.5]
    assert ug.full((2,), 7).dtype == ug.int64 and ug.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    np.testing.assert_allclose(ug.linspace(0, 1, 5).numpy(), np.linspace(0, 1, 5))
    ug.manual_seed(3)
    a = ug.randn(4)
    ug.manual_seed(3)
    assert a.tolist() == ug.randn(4).tolist()
    assert sorted(ug.randperm(5).tolist()) == [0, 1, 2, 3, 4]
    assert set(ug.randint(2, 4, (50,)).tolist()) <= {2, 3}


def test_copies_and_pickles():
    for dtype in DTYPES:
        x = ug.tensor(values((2, 3), dtype))
        for other in [copy.deepcopy(x), copy.copy(x), pickle.loads(pickle.dumps(x)), x.clone()]:
            assert other.dtype == x.dtype and other.tolist() == x.tolist()
    w = ug.ones(2, requires_grad=True)
    assert pickle.loads(pickle.dumps(w)).requires_grad and copy.deepcopy(w).is_leaf
    assert pickle.loads(pickle.dumps(ug.float32)) == ug.float32
    assert len({ug.tensor(1): 1, ug.tensor(1): 2}) == 2


def test_texts():
    assert repr(ug.tensor([[1.0, 2.0], [3.0, 4.0]])) == "tensor([[1., 2.],\n        [3., 4.]])"
    assert repr(ug.tensor([1, 2], dtype=ug.int32)) == "tensor([1, 2], dtype=unigrad.int32)"
    assert "True" in repr(ug.tensor([True])) and "requires_grad=True" in repr(ug.ones(1, requires_grad=True))
    assert f"{ug.tensor(1.23456):.2f}" == "1.23" and "<pre>" in ug.ones(1)._repr_html_()


def test_losses_and_layers_as_functions():
    x = ug.tensor(values((2, 3, 8, 8), "float32"))
    w = ug.tensor(values((4, 3, 3, 3), "float32"))
    assert x.conv2d(w, padding=1).shape == (2, 4, 8, 8) == x.conv2d(w, padding="same").shape
    assert x.max_pool2d(2).shape == (2, 3, 4, 4) and x.max_pool2d(2, return_indices=True).indices.dtype == ug.int64
    assert x.interpolate(scale_factor=2.0, mode="bilinear").shape == (2, 3, 16, 16)
    assert x.pad((1, 2)).shape == (2, 3, 8, 11)
    logits, labels = ug.tensor(values((5, 3), "float32")), ug.tensor([0, 1, 2, 1, 0])
    p = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(1, keepdims=True)
    want = -np.log(p[np.arange(5), labels.numpy()])
    np.testing.assert_allclose(logits.cross_entropy(labels).item(), want.mean(), rtol=1e-5)
    np.testing.assert_allclose(logits.cross_entropy(labels, reduction="none").numpy(), want, rtol=1e-5)
    with pytest.raises(ValueError):
        logits.cross_entropy(labels, reduction="some")


def test_functions_of_numpy_reduce_tensors():
    x = ug.tensor([[1.0, 2.0], [3.0, 6.0]])
    for function in (np.sum, np.mean, np.prod, np.max, np.min, np.all, np.any, np.std, np.var):
        assert float(function(x)) == pytest.approx(float(function(x.numpy())))
    for function in (np.sum, np.mean, np.prod, np.std, np.var):
        assert function(x, axis=0).tolist() == pytest.approx(function(x.numpy(), axis=0).tolist())
    for method in (x.sum, x.std, x.max, x.all):
        with pytest.raises(TypeError, match="out"):
            method(out=ug.zeros(1))
    with pytest.raises(TypeError, match="ddof"):
        x.var(ddof=0, correction=1)


def test_python_reverses_and_formats():
    x = ug.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert [row.tolist() for row in reversed(x)] == [[3.0, 4.0], [1.0, 2.0]]
    assert f"{x[0, 1]:.3f}" == "2.000" and f"{x[0]}" == "tensor([1., 2.])"
    with pytest.raises(TypeError, match="format"):
        f"{x:.3f}"


def test_nothing_is_repeated():
    counts = ug.tensor([2], dtype=ug.int8)
    for shape, axis, expected in [((0, 2), 1, (0, 4)), ((2, 0), 0, (4, 0)), ((2, 0), 1, (2, 0)), ((0,), 0, (0,))]:
        x = ug.zeros(shape, requires_grad=True)
        repeated = x.repeat_interleave(counts, axis)
        assert repeated.shape == expected and repeated.tolist() == np.repeat(x.detach().numpy(), 2, axis).tolist()
        repeated.sum().backward()
        assert x.grad.shape == shape
    assert ug.ones(2).repeat_interleave(ug.tensor([0]), 0).shape == (0,)
