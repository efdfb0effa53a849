"""PyTorch's keywords, dtypes and edges: what programs written for it call, and what PyTorch 2.15 gives."""

import math

import numpy as np
import pytest

import unigrad as ug

inf, nan = math.inf, math.nan


def is_same(got, expected, dtype=None):
    np.testing.assert_array_equal(np.asarray(got.detach()), expected)
    assert dtype is None or got.dtype == dtype


# Keywords.


def test_nan_to_num():
    x = ug.tensor([nan, inf, -inf, 1.0])
    is_same(ug.nan_to_num(x, nan=2.0, posinf=3.0, neginf=4.0), [2.0, 3.0, 4.0, 1.0])
    is_same(x.nan_to_num(1.0, 2.0, 3.0), [1.0, 2.0, 3.0, 1.0])
    is_same(ug.tensor([nan]).nan_to_num_(nan=5.0), [5.0])


def test_arange():
    is_same(ug.arange(start=1, end=7, step=2), [1, 3, 5], ug.int64)
    is_same(ug.arange(end=3), [0, 1, 2], ug.int64)
    for three in (ug.tensor(3), ug.tensor(3, dtype="int32"), np.int32(3), np.array(3)):
        is_same(ug.arange(three), [0, 1, 2], ug.int64)
    for three in (3.0, ug.tensor(3.0), ug.tensor(3.0, dtype="float64"), np.float32(3), np.array(3.0)):
        is_same(ug.arange(three), [0, 1, 2], ug.float32)
    is_same(ug.arange(0, ug.tensor(3.0), 1), [0, 1, 2], ug.float32)
    with pytest.raises(TypeError, match="end"):
        ug.arange()
    with pytest.raises(TypeError, match="end"):
        ug.arange(step=2)


def test_numbers_of_a_range_are_rounded_once():
    for start, end, step in [(0, 1, 0.1), (-3.7, 20, 0.013), (1e6, 1e6 + 50, 0.3), (2**24, 2**24 + 64, 3), (0.5, 9, 1)]:
        expected = (start + step * np.arange(math.ceil((end - start) / step), dtype=np.float64)).astype(np.float32)
        # On a GPU they are computed in `float32`, as PyTorch's are there.
        is_same(ug.arange(start, end, step, dtype=ug.float32, device="cpu"), expected)


def test_sizes_by_name():
    assert ug.ones(2).expand(size=(3, 2)).shape == ug.expand(ug.ones(2), size=(3, 2)).shape == (3, 2)
    with pytest.raises(TypeError, match="size"):
        ug.ones(2).expand(shape=(3, 2))
    for call in (
        lambda: ug.randint(5, (2, 3)), lambda: ug.randint(2, 5, (2, 3)), lambda: ug.randint(5, size=(2, 3)), lambda: ug.randint(high=5, size=(2, 3)),
        lambda: ug.randint(low=2, high=5, size=(2, 3)), lambda: ug.randint(2, 5, size=[2, 3]), lambda: ug.randint(low=5, size=(2, 3)),
    ):  # fmt: skip
        made = call()
        assert made.shape == (2, 3) and made.dtype == ug.int64 and 0 <= made.min().item() <= made.max().item() < 5
    assert ug.randint(0, 5, (2,), dtype=ug.float32, requires_grad=True).requires_grad
    for wrong, name in [(lambda: ug.randint(5), "size"), (lambda: ug.randint(size=(2,)), "high"), (lambda: ug.randint(2, 5), "size"), (lambda: ug.randint(2, "x", (2,)), "high")]:
        with pytest.raises(TypeError, match=name):
            wrong()


DRAWN = {
    "rand": lambda g: ug.rand(4, generator=g),
    "randn": lambda g: ug.randn((4,), generator=g, dtype="float64"),
    "randint": lambda g: ug.randint(1000, (4,), generator=g),
    "rand_like": lambda g: ug.rand_like(ug.zeros(4), generator=g),
    "randn_like": lambda g: ug.randn_like(ug.zeros(4), generator=g),
    "randint_like": lambda g: ug.randint_like(ug.zeros(4), 1000, generator=g),
    "randperm": lambda g: ug.randperm(50, generator=g),
    "uniform": lambda g: ug.uniform(2.0, 3.0, (4,), generator=g),
    "normal": lambda g: ug.normal(0.0, 1.0, (4,), generator=g),
    "normal of tensors": lambda g: ug.normal(ug.zeros(4), ug.ones(4), generator=g),
    "bernoulli": lambda g: ug.bernoulli(ug.full((60,), 0.5), generator=g),
    "bernoulli of one": lambda g: ug.zeros(60).bernoulli(0.5, generator=g),
    "multinomial": lambda g: ug.multinomial(ug.ones(100), 5, generator=g),
    "multinomial again": lambda g: ug.multinomial(ug.ones(100), 5, True, generator=g),
    **{f"{name}_": lambda g, name=name: getattr(ug.zeros(60), f"{name}_")(generator=g) for name in "bernoulli cauchy exponential log_normal normal random uniform".split()},
    "geometric_": lambda g: ug.zeros(60).geometric_(0.1, generator=g),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWN)
def test_generators(name):
    draw = DRAWN[name]
    ug.manual_seed(1)
    before = ug.get_rng_state()
    first, second = draw(ug.Generator().manual_seed(7)), draw(ug.Generator(7))
    is_same(first, np.asarray(second))
    own = ug.Generator(7)
    is_same(draw(own), np.asarray(first))
    assert not draw(own).equal(first), "a generator goes on"
    assert ug.get_rng_state().equal(before), "the process's numbers are others"
    with pytest.raises(TypeError, match="generator"):
        draw(3)


def test_states_of_random_numbers():
    ug.manual_seed(4)
    assert ug.initial_seed() == 4
    ug.rand(3)
    state = ug.get_rng_state()
    assert state.dtype == ug.uint8 and state.device.type == "cpu"
    first = ug.rand(3)
    own = ug.Generator()
    own.set_state(state)
    assert own.rand((3,)).equal(first)
    own.set_state(state)
    ug.set_rng_state(own.get_state())
    assert ug.rand(3).equal(first)
    ug.set_rng_state(state)
    assert ug.rand(3).equal(first) and ug.initial_seed() == 4
    assert ug.seed() == ug.initial_seed() and own.seed() == own.initial_seed() != ug.seed()
    for wrong in (ug.zeros(16), ug.zeros(5, dtype="uint8"), "x", (1, -2)):
        for call in (ug.set_rng_state, own.set_state):
            with pytest.raises((TypeError, ValueError, OverflowError), match="state"):
                call(wrong)
    ug.manual_seed(0)


def test_dtypes_and_devices_of_what_is_made():
    assert ug.randperm(4, dtype=ug.int32).dtype == ug.int32 and sorted(ug.randperm(4, dtype="float64").tolist()) == [0, 1, 2, 3]
    x = ug.tensor([[1.0, nan], [2.0, 3.0]])
    is_same(ug.nansum(x, dtype=ug.float64), 6.0, ug.float64)
    is_same(x.nansum(0, True, dtype=ug.float16), [[3.0, 3.0]], ug.float16)
    is_same(ug.nanmean(x, 1, dtype=ug.float64), [1.0, 2.5], ug.float64)
    for made in (
        ug.logspace(0, 1, 2, dtype="float64", device="cpu", requires_grad=True), ug.normal(0, 1, (2,), dtype="float64", device="cpu", requires_grad=True),
        ug.ones(2).new_full((2,), 1.0, dtype="float64", requires_grad=True), ug.ones(2).new_tensor([1.0], dtype="float64", requires_grad=True),
        ug.hann_window(3, dtype="float64", device="cpu", requires_grad=True), ug.randint_like(ug.ones(2), 3, dtype="float64", requires_grad=True),
    ):  # fmt: skip
        assert made.dtype == ug.float64 and made.requires_grad and made.is_leaf
    assert ug.finfo() == ug.finfo(ug.get_default_dtype()) and ug.finfo().bits == 32


def test_a_number_is_copied():
    x = ug.ones(3)
    assert x.copy_(3) is x
    is_same(x, [3.0, 3.0, 3.0], ug.float32)
    is_same(x.copy_(True, non_blocking=True), [1.0, 1.0, 1.0])
    is_same(x.copy_(np.arange(3)), [0.0, 1.0, 2.0])
    is_same(ug.ones(2, dtype="int32").copy_(2.75), [2, 2], ug.int32)
    w = ug.ones(2, requires_grad=True)
    w.data.copy_(4)
    is_same(w, [4.0, 4.0])
    with pytest.raises(ug.Error, match="gradient"):
        w.copy_(3)
    with pytest.raises(TypeError, match="source"):
        x.copy_("x")


# Dtypes.


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "logaddexp", "logaddexp2", "nextafter", "copysign", "hypot", "atan2"])
@pytest.mark.parametrize("half", ["float16", "bfloat16", "float64"])
def test_integers_beside_floats_are_of_their_type(name, half):
    number = ug.tensor([2.0], dtype=half)
    for other in (ug.tensor([1]), ug.tensor([True]), ug.tensor(1), ug.tensor([1], dtype="uint8")):
        for call in (lambda: getattr(other, name)(number), lambda: getattr(number, name)(other)):
            assert str(call().dtype) == f"unigrad.{half}"
    assert getattr(ug.tensor([1]), name)(ug.tensor([2])).dtype == ug.float32
    assert getattr(number, name)(getattr(ug, "tensor")([1.0])).dtype == (ug.float64 if half == "float64" else ug.float32)


def test_powers_of_integers():
    for call in (lambda: ug.tensor([2]) ** -1, lambda: ug.pow(ug.tensor([2]), -2), lambda: ug.tensor([True]) ** -1, lambda: ug.tensor([2]).pow_(-1)):
        with pytest.raises(ValueError, match="to the power of -[12]"):
            call()
    is_same(ug.tensor([2, 0, -1]) ** ug.tensor(-1), [0, 0, -1], ug.int64)
    is_same(ug.tensor([2, -3]) ** 3, [8, -27], ug.int64)
    is_same(ug.tensor([2]) ** -1.0, [0.5], ug.float32)
    is_same(ug.float_power(ug.tensor([2]), -1), [0.5], ug.float64)


def test_floors_of_infinities():
    # By PyTorch's rule; the operator `//` is the array API's, whose quotients are infinite.
    x = ug.tensor([inf, -inf, -3.0, 1.0, 1.0, -1.0])
    y = ug.tensor([1.0, 2.0, inf, 0.1, 0.0, 0.0])
    is_same(ug.floor_divide(x, y), [nan, nan, -1.0, 9.0, inf, -inf])
    is_same(ug.div(x, y, rounding_mode="floor"), [nan, nan, -1.0, 9.0, inf, -inf])
    is_same(x[:2] // y[:2], [inf, -inf])


# Edges.


def test_medians_of_nothing():
    for empty in (ug.tensor([]), ug.zeros(0, 3), ug.zeros(2, 0, dtype="float16")):
        assert math.isnan(empty.median().item()) and math.isnan(empty.nanmedian().item()) and empty.median().dtype == empty.dtype
    assert [part.shape for part in ug.zeros(0, 3).median(1)] == [(0,), (0,)]
    for call in (lambda: ug.zeros(0, 3).median(0), lambda: ug.tensor([], dtype=ug.int64).median()):
        with pytest.raises(ug.Error, match="no elements"):
            call()


def test_chunks_of_nothing():
    assert [part.shape for part in ug.zeros(0).chunk(3)] == [(0,)] * 3
    assert [part.shape for part in ug.zeros(2, 0).chunk(2, -1)] == [(2, 0)] * 2
    assert [part.tolist() for part in ug.arange(3).chunk(5)] == [[0], [1], [2]]
    for call, words in [(lambda: ug.tensor(3.0).chunk(2), "axis"), (lambda: ug.zeros(3).chunk(2, 1), "axis"), (lambda: ug.zeros(0).chunk(0), "0 parts"), (lambda: ug.zeros(0).chunk(2**40), "parts")]:
        with pytest.raises(ug.Error, match=words):
            call()


def test_a_number_has_one_axis_for_some_ops():
    x = ug.tensor(3.0)
    for k in (0, 1):
        assert [part.item() for part in x.topk(k)] == [3.0, 0] and x.topk(k)[0].shape == ()
    with pytest.raises(ug.Error, match="2"):
        x.topk(2)
    assert [part.shape for part in ug.zeros(2, 0).topk(0)] == [(2, 0), (2, 0)]
    for source, destination in [(0, 0), (0, -1), (-1, 0), ((), ()), ((0,), (0,))]:
        assert x.movedim(source, destination).item() == x.moveaxis(source, destination).item() == 3.0
    for source, destination in [(1, 0), (0, 1), ((0, 0), (0, 0)), (0, ())]:
        with pytest.raises(ug.Error, match="ax"):
            x.movedim(source, destination)
    is_same(x.index_fill(0, ug.tensor([0]), 5.0), 5.0)
    is_same(x.index_fill(-1, ug.tensor(0), 5.0), 5.0)


def test_fills_at_few_places():
    x, none = ug.zeros(3), ug.tensor([], dtype=ug.int64)
    is_same(x.index_fill(0, none, 5.0), [0.0, 0.0, 0.0])
    is_same(ug.zeros(0).index_fill(0, none, 5.0), np.zeros(0))
    is_same(x.index_fill(0, ug.tensor(1), ug.tensor(5.0)), [0.0, 5.0, 0.0])
    is_same(x.index_fill(0, ug.tensor([-1]), 5.0), [0.0, 0.0, 5.0])


def test_one_bool_as_an_index():
    for start, index, expected in [([1.0, 2.0], True, [2.0, 3.0]), ([1.0, 2.0], False, [1.0, 2.0]), (1.0, True, 2.0), (1.0, False, 1.0), ([[1.0, 2.0]], (True, 0), [[2.0, 3.0]])]:
        y = ug.tensor(start)
        y[index] += 1
        is_same(y, expected)
    y = ug.tensor([1.0, 2.0])
    y[True] = 5
    is_same(y, [5.0, 5.0])
    assert (y[True].shape, y[False].shape, y[True, 0].shape) == ((1, 2), (0, 2), (1,))
