"""Numbers beside tensors whose dtype does not have them: halves, integers, comparisons, limits. Expected values are PyTorch 2.15's."""

import math

import numpy as np
import pytest

import unigrad as ug

F = ug.nn.functional
HALVES = [ug.float16, ug.bfloat16]


def halves_of(x, dtype):
    """As the nearest numbers of a half type, from float32."""
    return ug.tensor(np.asarray(x, dtype=np.float32)).to(dtype).tolist()


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("number", [0.1, 0.3, 1e-6, 3e-8, 1e6, 65536.0, 65537, 2.5, -1.7, 1 / 3])
def test_halves_are_rounded_after_an_op_with_a_number(dtype, number):
    x = ug.tensor([1000.0, 3.0, 7.0, 0.001, -11.0, 0.0]).to(dtype)
    wide = np.asarray(x.float())
    n = np.float32(number)
    for got, expected in [
        (x * number, wide * n),
        (number * x, wide * n),
        (x / number, wide / n),
        (x + number, wide + n),
        (number - x, n - wide),
        (x - number, wide - n),
        (ug.mul(x, number), wide * n),
        (x * ug.tensor(number, dtype=ug.float32), wide * n),
        (ug.tensor(number, dtype=ug.float32) * x, wide * n),
    ]:
        assert got.dtype == dtype
        assert got.tolist() == halves_of(expected, dtype)
    assert (number / x).tolist()[:5] == halves_of(n / wide[:5], dtype)
    y = x.clone()
    y *= number
    assert y.tolist() == halves_of(wide * n, dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_gradients_of_halves_beside_numbers(dtype):
    x = ug.tensor([3.0, 7.0, 11.0]).to(dtype).requires_grad_()
    (x * 0.3).sum().backward()
    assert x.grad.dtype == dtype and x.grad.tolist() == halves_of([0.3] * 3, dtype)


def test_integers_divided_from_numbers():
    small, wide = ug.tensor([1, 2], dtype=ug.uint8), ug.tensor([1, 2], dtype=ug.int32)
    assert (300 / small).tolist() == [300.0, 150.0]
    assert (-3 / small).tolist() == [-3.0, -1.5]
    assert (2**40 / wide).tolist() == [2.0**40, 2.0**39]
    assert ug.div(300, small).tolist() == [300.0, 150.0]
    assert ug.copysign(small, -3).tolist() == [-1.0, -2.0]
    assert ug.float_power(-3, small).tolist() == [-3.0, 9.0]
    np.testing.assert_allclose(np.asarray(ug.xlogy(300, small)), [0.0, 300 * math.log(2)], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ug.xlogy(small, 300)), [math.log(300), 2 * math.log(300)], rtol=1e-6)


INTS = [ug.uint8, ug.int8, ug.int16, ug.int32, ug.int64]


@pytest.mark.parametrize("dtype", INTS)
def test_limits_beyond_integers(dtype):
    values = [1, 2, 5, 100]
    x = ug.tensor(values, dtype=dtype)
    low, high = -(2**63), 2**63 - 1
    assert x.clamp(low, high).tolist() == values
    assert x.clamp(min=low).tolist() == values and x.clamp(max=high).tolist() == values
    assert x.clamp(-3, 2**40).tolist() == values
    assert dtype == ug.uint8 or F.hardtanh(x, -200, 300).tolist() == values
    if dtype == ug.uint8:
        assert x.clamp(max=-3).tolist() == [0] * 4 and x.clamp(min=300).tolist() == [255] * 4


@pytest.mark.parametrize("dtype", INTS)
def test_comparisons_with_what_an_integer_cannot_be(dtype):
    x = ug.tensor([0, 1, 100], dtype=dtype)
    greater = [300, 2**40] if dtype in (ug.uint8, ug.int8) else [2**40] if dtype in (ug.int16, ug.int32) else []
    less = [-3, -300] if dtype == ug.uint8 else [-300] if dtype == ug.int8 else [-(2**40)] if dtype in (ug.int16, ug.int32) else []
    for number, is_greater in [(n, True) for n in greater] + [(n, False) for n in less]:
        assert (x < number).tolist() == (x <= number).tolist() == [is_greater] * 3
        assert (x > number).tolist() == (x >= number).tolist() == [not is_greater] * 3
        assert (number > x).tolist() == (number >= x).tolist() == [is_greater] * 3
        assert (x == number).tolist() == [False] * 3 and (x != number).tolist() == [True] * 3


@pytest.mark.parametrize("dtype", INTS)
def test_integers_far_apart_are_not_close(dtype):
    info = ug.iinfo(dtype)
    a = ug.tensor([info.min, info.min, info.max, 1, 2], dtype=dtype)
    b = ug.tensor([info.max, info.min, info.min, 2, 1], dtype=dtype)
    assert ug.isclose(a, b, rtol=0, atol=0).tolist() == [False, True, False, False, False]
    assert ug.isclose(a, b, rtol=0, atol=1).tolist() == [False, True, False, True, True]
    zero = ug.tensor([0], dtype=dtype)
    assert ug.isclose(zero, ug.tensor([info.min], dtype=dtype)).tolist() == [info.min == 0]


@pytest.mark.parametrize("dtype", HALVES)
def test_functions_of_halves_whose_constants_are_no_halves(dtype):
    x = ug.tensor([1.0, 2.0, 100.0, 0.5, 0.0]).to(dtype)
    wide = np.asarray(x.float()).astype(np.float64)
    np.testing.assert_allclose(np.asarray(ug.sinc(x).float()), np.sinc(wide), atol=1e-5, rtol=2**-8)
    m = ug.tensor([-1.0]).to(dtype)
    assert abs(ug.logaddexp2(m, m).item()) < 1e-6


def test_powers_of_two_beyond_the_dtype():
    x = ug.tensor([0.0, 2.0**-149, 2.0**-100, 1.0, 3.0])
    assert ug.ldexp(x, ug.tensor([200, 149, 200, 127, -149])).tolist() == [0.0, 1.0, 2.0**100, 2.0**127, 3 * 2.0**-149]
    d = ug.tensor([0.0, 2.0**-1074, 1.0], dtype=ug.float64)
    assert ug.ldexp(d, ug.tensor([5000, 2000, -1074])).tolist() == [0.0, 2.0**926, 2.0**-1074]


def test_the_power_0_has_no_slope():
    x = ug.tensor([1e-39, 0.0, 2.0, -3.0], requires_grad=True)
    y = x**0
    assert y.tolist() == [1.0] * 4
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 4


def test_what_is_filled_leaves_a_gradient_of_zeros():
    for fill in (lambda y: y.fill_(3.0), lambda y: y.zero_()):
        x = ug.ones(2, requires_grad=True)
        y = x.clone()
        fill(y)
        (y * 2).sum().backward()
        assert x.grad.tolist() == [0.0, 0.0]


def test_norms_of_halves_that_are_no_halves():
    x = ug.full((2, 20), 20000.0, dtype=ug.float16)
    np.testing.assert_allclose(np.asarray(x.renorm(2, 0, 1.0).float()), np.full((2, 20), 20**-0.5), rtol=2e-3)


@pytest.mark.parametrize("dtype", HALVES)
def test_labels_that_are_integers_keep_losses_halves(dtype):
    a, y = ug.ones(4).to(dtype), ug.ones(4, dtype=ug.int64)
    losses = [
        F.margin_ranking_loss(a, a, y),
        F.soft_margin_loss(a, y),
        F.poisson_nll_loss(a, y),
        F.gaussian_nll_loss(a, y, a),
        F.pairwise_distance(a.reshape(1, 4), y.reshape(1, 4)),
        F.cosine_similarity(a, y, 0),
        F.multilabel_soft_margin_loss(a.reshape(1, 4), y.reshape(1, 4)),
    ]
    assert [loss.dtype for loss in losses] == [dtype] * len(losses)


def test_deviations_are_not_negative():
    with pytest.raises(ValueError, match="'std'"):
        ug.normal(0.0, -1.0, (2,))


def test_doublings_are_read_at_once():
    for step in (lambda x: x + x, lambda x: (x + 1) + (x + 1), lambda x: x + x.reshape(2, 2).reshape(4), lambda x: x.add_(x)):
        x = ug.ones(4)
        for _ in range(60):
            x = step(x)
        assert x[0].item() >= 2.0**60
    w = ug.ones(1, requires_grad=True)
    y = w
    for _ in range(60):
        y = y + y
    y.backward()
    assert w.grad.item() == 2.0**60
