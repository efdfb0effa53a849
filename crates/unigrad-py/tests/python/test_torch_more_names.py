"""Names that PyTorch's programs use beside the ops: where a tensor is, dtypes of results, windows; values are PyTorch 2.15's."""

import numpy as np
import pytest

import unigrad as ug


def is_same(got, expected, dtype=None):
    np.testing.assert_array_equal(np.asarray(got.detach()), expected)
    assert dtype is None or got.dtype == dtype


def test_where_a_tensor_is():
    x = ug.arange(24.0).reshape(2, 3, 4)
    assert x.stride() == (12, 4, 1) and x.stride(0) == 12 and x.stride(dim=-1) == 1 and x.is_contiguous(memory_format=None)
    assert ug.zeros(2, 0, 4).stride() == (4, 4, 1) and ug.tensor(1.0).stride() == ()
    for call in (lambda: x.stride(3), lambda: ug.tensor(1.0).stride(0)):
        with pytest.raises(IndexError, match="dim"):
            call()
    assert not x.is_cuda and ug.zeros(0).data_ptr() == 0
    y = (x + 1).realize()
    assert y.data_ptr() == y.data_ptr() == np.asarray(y).ctypes.data and (x + 2).data_ptr() != 0


def test_types_by_name():
    assert (ug.ones(2).type(), ug.ones(2, dtype="bfloat16").type(), ug.tensor([1]).type()) == ("torch.FloatTensor", "torch.BFloat16Tensor", "torch.LongTensor")
    for dtype in "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8_e4m3fn float8_e5m2".split():
        assert ug.zeros(1, dtype="float32").type(ug.zeros(1, dtype=dtype).type()).dtype == getattr(ug, dtype)
    x = ug.ones(2)
    assert x.type(ug.float32) is x and x.type(dtype=ug.int32).dtype == ug.int32 and x.type("torch.cuda.HalfTensor").dtype == ug.float16
    with pytest.raises((TypeError, ValueError), match="dtype"):
        x.type("torch.StringTensor")


def test_dtypes_of_results():
    one = ug.tensor([1])
    for a, b, expected in [
        (one, 2.5, "float32"), (ug.tensor([1], dtype="uint8"), ug.tensor(3), "uint8"), (1, 2.0, "float32"), (True, 2, "int64"), (one, True, "int64"),
        (ug.ones(1, dtype="float16"), 2.5, "float16"), (ug.tensor(1.0, dtype="float64"), ug.ones(1, dtype="float16"), "float16"), (2, one, "int64"),
        (ug.ones(3), ug.ones(2, dtype="float64"), "float64"), (ug.tensor(True), 1, "int64"),
    ]:  # fmt: skip
        assert ug.result_type(a, b) == getattr(ug, expected), (a, b)
    assert ug.promote_types(ug.int32, ug.float16) == ug.float16 and ug.promote_types("uint8", "int8") == ug.int16
    kinds = "bool uint8 int8 int64 float16 float32".split()
    no = {("float16", "bool"), ("float32", "bool"), *((a, b) for a in ("float16", "float32") for b in ("uint8", "int8", "int64")), ("uint8", "bool"), ("int8", "bool"), ("int64", "bool")}
    assert {(a, b) for a in kinds for b in kinds if not ug.can_cast(getattr(ug, a), getattr(ug, b))} == no
    assert ug.get_default_dtype() == ug.zeros(1).dtype
    for call, name in [(lambda: ug.result_type("x", 1), "tensor1"), (lambda: ug.promote_types(1, ug.int8), "type1"), (lambda: ug.can_cast(ug.int8, "x"), "to")]:
        with pytest.raises((TypeError, ValueError), match=name):
            call()


def test_shapes_that_broadcast():
    assert ug.broadcast_shapes((2, 1), (3,)) == ug.broadcast_shapes((2, 1), 3) == (2, 3) and ug.broadcast_shapes() == ()
    assert ug.broadcast_shapes((0,), (1,)) == (0,) and ug.broadcast_shapes((5, 1, 4), (3, 1), ()) == (5, 3, 4)
    for wrong in [((2,), (3,)), ((0,), (2,))]:
        with pytest.raises(ug.Error, match="broadcast"):
            ug.broadcast_shapes(*wrong)


def test_more_in_place():
    is_same(ug.zeros(3).put_(ug.tensor([1, 1]), ug.tensor([2.0, 3.0]), accumulate=True), [0.0, 5.0, 0.0])
    for shape, wrap in [((3, 3), False), ((7, 3), False), ((7, 3), True), ((3, 7), True), ((4, 3), True), ((2, 2, 2), False), ((0, 3), False)]:
        expected = np.zeros(shape)
        np.fill_diagonal(expected, 5, wrap=wrap) if expected.size else None
        x = ug.zeros(shape)
        assert x.fill_diagonal_(5, wrap) is x
        is_same(x, expected)
    for wrong in (ug.zeros(3), ug.zeros(2, 3, 2)):
        with pytest.raises(ug.Error, match="fill_diagonal_"):
            wrong.fill_diagonal_(1)
    x = ug.arange(6)
    other = x
    assert x.resize_(2, 3) is x and other.tolist() == [[0, 1, 2], [3, 4, 5]] and x.resize_((3, 2)).shape == (3, 2)
    with pytest.raises(ug.Error, match="resize_: argument 'size' is \\[4\\]"):
        x.resize_(4)


def test_vander():
    x = ug.tensor([1, 2, 3])
    is_same(ug.vander(x), [[1, 1, 1], [4, 2, 1], [9, 3, 1]], ug.int64)
    is_same(ug.vander(x, 2, increasing=True), [[1, 1], [1, 2], [1, 3]])
    is_same(ug.vander(x, N=1), [[1], [1], [1]])
    is_same(ug.vander(ug.tensor([True, False])), [[1, 1], [0, 1]], ug.int64)
    assert ug.vander(ug.tensor([1.0, 2.0]), 0).shape == (2, 0) and ug.vander(ug.tensor([])).shape == (0, 0)
    with pytest.raises(ug.Error, match="vector"):
        ug.vander(ug.ones(2, 2))


WINDOWS = {
    "hann_window": [0.0, 0.3454915, 0.9045085, 0.9045085, 0.3454915], "hamming_window": [0.08, 0.3978522, 0.9121478, 0.9121478, 0.3978522],
    "blackman_window": [0.0, 0.2007701, 0.8492299, 0.8492299, 0.2007701], "bartlett_window": [0.0, 0.4, 0.8, 0.8, 0.4],
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_windows(name):
    window = getattr(ug, name)
    np.testing.assert_allclose(np.asarray(window(5)), WINDOWS[name], atol=1e-6)
    for n in (2, 5, 8, 33):
        own = {"hann_window": "hanning"}.get(name, name.removesuffix("_window"))
        np.testing.assert_allclose(np.asarray(window(n, False, dtype=ug.float64)), getattr(np, own)(n), atol=1e-12)
        np.testing.assert_allclose(np.asarray(window(n, periodic=True, dtype=ug.float64)), getattr(np, own)(n + 1)[:-1], atol=1e-12)
    assert window(0).shape == (0,) and window(1).tolist() == window(1, False).tolist() == [1.0]
    for call, words in [(lambda: window(-1), "window_length"), (lambda: window(3, dtype=ug.int64), "dtype"), (lambda: window(3, 2.5), "periodic")]:
        with pytest.raises((TypeError, ValueError), match=words):
            call()
    np.testing.assert_allclose(np.asarray(ug.hamming_window(5, alpha=0.5, beta=0.4)), [0.1, 0.3763932, 0.8236068, 0.8236068, 0.3763932], atol=1e-6)
