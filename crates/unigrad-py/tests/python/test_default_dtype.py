"""The dtype of floats that have none: where `set_default_dtype` is heard, beside PyTorch where it is installed."""

import pytest

import unigrad as ug


@pytest.fixture(autouse=True)
def as_before():
    """Whatever a test sets, the next one begins with float32."""
    yield
    ug.set_default_dtype(ug.float32)


def short(dtype):
    return str(dtype).rpartition(".")[2]


# What follows the default and what does not, in words that fit both libraries.
FOLLOW = (
    "m.tensor(1.5)", "m.tensor([])", "m.tensor([1.5, 2])", "m.tensor([[1.0], [2.0]])", "m.tensor([True, 2.5])", "m.zeros(2)", "m.ones(2)", "m.empty(2)", "m.eye(2)", "m.full((2,), 1.5)",
    "m.rand(2)", "m.randn(2)", "m.linspace(0, 1, 3)", "m.logspace(0, 1, 3)", "m.arange(0, 1, 0.5)", "m.arange(3.0)", "m.scalar_tensor(2)", "m.hann_window(4)", "m.hamming_window(4)",
    "m.blackman_window(4)", "m.bartlett_window(4)", "m.normal(0.0, 1.0, (2,))", "i / 2", "i / i", "i * 1.5", "1.5 * i", "1.5 - i", "2.5 / i", "i + 0.5", "i ** 0.5", "i.sqrt()", "i.exp()",
    "i.sigmoid()", "i.true_divide(i)", "m.atan2(i, i)", "b / 2", "b * 1.5", "m.where(b, 1.0, 2.0)", "m.where(b, i, 1.5)", "m.as_tensor([1.5])", "m.pow(i, 0.5)", "m.mul(i, 0.5)", "m.clamp(i, 0.5, 1.5)",
    "m.angle(i)", "m.nn.Linear(2, 2).weight", "m.nn.Linear(2, 2).bias", "m.nn.BatchNorm1d(2).running_mean", "m.nn.Embedding(2, 2).weight", "m.nn.LayerNorm(2).weight", "m.nn.Conv1d(1, 1, 1).weight",
    "m.nn.PReLU().weight", "m.nn.MultiheadAttention(2, 1).in_proj_weight", "m.nn.GRU(2, 2).weight_ih_l0",
)  # fmt: skip
STAY = (
    "m.tensor([1, 2])", "m.tensor(True)", "m.full((2,), 1)", "m.arange(3)", "m.randint(3, (2,))", "m.randperm(3)", "i // 2", "i * 2", "i ** 2", "i.sum()", "i.argmax()", "f * 1.5", "f / 2", "f.exp()", "1.5 / f",
    "f + i", "m.zeros_like(f)", "m.rand_like(f)", "m.where(b, f, 1.5)", "f.new_zeros(2)", "m.full_like(f, 2.0)", "m.tensor([1.5], dtype=m.float32)", "m.zeros(2, dtype=m.float32)", "f.mean()", "f.to(m.float32)", "m.vander(i)",
)  # fmt: skip


def made(m, expression):
    """The dtype of an expression's value."""
    b = m.tensor([True, False])
    return short(eval(expression, {"m": m, "i": m.tensor([1, 2]), "b": b, "f": m.tensor([1, 2]).to(m.float32)}).dtype)


@pytest.mark.parametrize("default", ["float64", "float16", "bfloat16", "float32"])
def test_what_follows_the_default(default):
    ug.set_default_dtype(getattr(ug, default))
    assert ug.get_default_dtype() == getattr(ug, default)
    assert {expression: made(ug, expression) for expression in FOLLOW} == dict.fromkeys(FOLLOW, default)


@pytest.mark.parametrize("default", ["float64", "float16"])
def test_what_stays(default):
    before = {expression: made(ug, expression) for expression in STAY}
    ug.set_default_dtype(getattr(ug, default))
    assert {expression: made(ug, expression) for expression in STAY} == before


@pytest.mark.parametrize("default", ["float64", "float16", "float32"])
def test_it_is_as_pytorchs(default):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: dtypes are compared with it")
    theirs, mine = {}, {}
    torch.set_default_dtype(getattr(torch, default))
    try:
        theirs = {expression: made(torch, expression) for expression in (*FOLLOW, *STAY)}
    finally:
        torch.set_default_dtype(torch.float32)
    ug.set_default_dtype(getattr(ug, default))
    mine = {expression: made(ug, expression) for expression in (*FOLLOW, *STAY)}
    assert mine == theirs


def test_what_is_computed_is_as_precise():
    ug.set_default_dtype(ug.float64)
    assert (ug.tensor([1]) / 3).item() == 1 / 3 and ug.tensor(0.1).item() == 0.1 and ug.arange(0, 1, 0.1)[3].item() == 3 * 0.1
    assert (ug.tensor([2]) ** 0.5).item() == 2**0.5 and ug.result_type(ug.tensor([1]), 2.5) == ug.float64 and ug.tensor([1], dtype=float).dtype == ug.float64
    ug.set_default_dtype(ug.float16)
    assert ug.tensor(0.1).item() == 0.0999755859375


def test_it_is_the_one_that_is_not_printed():
    x, y = ug.tensor([0.5]), ug.tensor([0.5], dtype=ug.float64)
    assert repr(x) == "tensor([0.5000])" and repr(y) == "tensor([0.5000], dtype=unigrad.float64)" and repr(ug.zeros(0)) == "tensor([])"
    ug.set_default_dtype(ug.float64)
    assert repr(y) == "tensor([0.5000])" and repr(x) == "tensor([0.5000], dtype=unigrad.float32)" and repr(ug.zeros(0)) == "tensor([])"


def test_networks_learn_in_it():
    ug.set_default_dtype(ug.float64)
    model = ug.nn.Sequential(ug.nn.Linear(2, 4), ug.nn.BatchNorm1d(4), ug.nn.Tanh(), ug.nn.Dropout(0.1), ug.nn.Linear(4, 1))
    optimizer = ug.optim.Adam(model.parameters(), lr=0.05)
    x = ug.rand(32, 2)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] and loss.dtype == ug.float64
    assert all(p.dtype == p.grad.dtype == ug.float64 for p in model.parameters())


def test_random_numbers_in_place_stay_those_of_a_seed():
    def drawn():
        ug.manual_seed(3)
        x = ug.zeros(5, dtype=ug.float32)
        return [getattr(x.clone(), name)().tolist() for name in ("uniform_", "normal_", "exponential_", "bernoulli_", "random_", "log_normal_")]

    before = drawn()
    ug.set_default_dtype(ug.float16)
    assert drawn() == before


def test_it_is_one_for_all_threads():
    from concurrent.futures import ThreadPoolExecutor

    ug.set_default_dtype(ug.float64)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: ug.zeros(1).dtype).result() == ug.float64


def test_only_floats_with_arithmetic():
    for wrong in (ug.int64, ug.bool, ug.float8_e4m3fn, "float8_e5m2"):
        with pytest.raises(TypeError, match="argument 'd' is .*only floating-point types are supported as the default type"):
            ug.set_default_dtype(wrong)
    for wrong in (None, 3, "wrong", object()):
        with pytest.raises((TypeError, ValueError), match="dtype"):
            ug.set_default_dtype(wrong)
    assert ug.get_default_dtype() == ug.float32
