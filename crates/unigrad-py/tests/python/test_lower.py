"""Scans, storage formats, positions at run time, generators, figures of devices, and settings that are found by trying."""

import copy
import pickle

import numpy as np
import pytest

import unigrad as ug


def test_scan_is_a_loop():
    xs = ug.randn(5, 3, requires_grad=True)
    w = ug.tensor([0.5, -1.0, 2.0], requires_grad=True)

    def body(state, x):
        state = {"h": (state["h"] * w + x).tanh()}
        return state, (state["h"].sum(), state["h"] * 2)

    last, (sums, doubles) = ug.scan(body, {"h": ug.zeros(3)}, xs)
    h, steps = ug.zeros(3), []
    for at in range(5):
        h = (h * w + xs[at]).tanh()
        steps.append(h)
    np.testing.assert_allclose(last["h"].detach().numpy(), h.detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(doubles.detach().numpy(), (ug.stack(steps) * 2).detach().numpy(), rtol=1e-5)
    assert sums.shape == (5,) and doubles.shape == (5, 3)
    got = ug.grad((doubles * doubles).sum() + last["h"].sum(), [xs, w])
    want = ug.grad((ug.stack(steps) * 2).square().sum() + h.sum(), [xs, w])
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_scan_backwards_and_without_sequences():
    last, all_ = ug.scan(lambda total, x: (total + x, total + x), ug.tensor(0), ug.arange(4), reverse=True)
    assert last.item() == 6 and all_.tolist() == [6, 6, 5, 3]
    last, nothing = ug.scan(lambda x, _: (x * 2, None), ug.tensor(1.0), length=10)
    assert last.item() == 1024.0 and nothing is None


def test_scan_refuses():
    for call, kind, words in [
        (lambda: ug.scan(3, ug.zeros(1), ug.zeros(2)), TypeError, "'body'"),
        (lambda: ug.scan(lambda s, x: (s, None), "a", ug.zeros(2)), TypeError, "'init'"),
        (lambda: ug.scan(lambda s, x: (s, None), ug.zeros(1)), TypeError, "'length'"),
        (lambda: ug.scan(lambda s, x: s, ug.zeros(1), ug.zeros(2)), TypeError, "body"),
        (lambda: ug.scan(lambda s, x: (ug.zeros(3), None), ug.zeros(1), ug.zeros(2)), ValueError, "scan"),
        (lambda: ug.scan(lambda s, x: 1 // 0, ug.zeros(1), ug.zeros(2)), ZeroDivisionError, "zero"),
    ]:
        with pytest.raises(kind, match=words):
            call()


def test_storage_formats():
    x = ug.randn(8, 64)
    packed = x.quantize()
    assert packed.format == "q4_0" and packed.shape == (8, 64) and packed.nbytes == 8 * 2 * 18 == len(packed.tobytes())
    near = packed.dequantize()
    assert (near - x).abs().max().item() < x.abs().max().item() / 7
    again = ug.Quantized.from_bytes(packed.tobytes(), (8, 64))
    assert again.dequantize().tolist() == near.tolist()
    assert x.quantize("float16").dequantize().tolist() == x.half().float().tolist()
    assert packed.dequantize(ug.float16).dtype == ug.float16 and "q4_0" in repr(packed)
    for call, words in [
        (lambda: x.quantize("q9"), "'format'"),
        (lambda: ug.ones(2, 3).quantize(), "q4_0"),
        (lambda: ug.Quantized.from_bytes(b"abc", (8, 64)), "bytes"),
        (lambda: ug.ones(32, dtype=ug.int64).quantize(), "quantize"),
    ]:
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_positions_at_run_time():
    x = ug.arange(12).reshape(3, 4)
    for start in (0, 1, ug.tensor(2)):
        at = int(start)
        assert x.dyn_slice(1, start, 2).tolist() == x[:, at : at + 2].tolist()
        want = x.numpy().copy()
        want[:, at : at + 2] = -1
        assert x.dyn_update(1, ug.full((3, 2), -1), start).tolist() == want.tolist()
    with pytest.raises((TypeError, ValueError)) as raised:
        x.dyn_slice(1, "a", 2)
    assert "'start'" in "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])


def test_generators_are_apart():
    own = ug.Generator(3)
    ug.manual_seed(0)
    want = ug.rand(4).tolist()
    ug.manual_seed(0)
    first = own.rand(4).tolist()
    assert ug.rand(4).tolist() == want
    state = own.get_state()
    second = own.randn((2, 2)).tolist()
    own.set_state(state)
    assert own.randn((2, 2)).tolist() == second
    own.manual_seed(3)
    assert own.rand(4).tolist() == first != ug.Generator(4).rand(4).tolist()
    numbers = own.randint(2, 5, (100,))
    assert numbers.dtype == ug.int64 and set(numbers.tolist()) == {2, 3, 4}
    assert 1.0 <= own.uniform(1.0, 2.0, (50,), dtype=ug.float64).min().item() < 2.0


def test_figures_of_devices():
    cpu = ug.Device("cpu")
    assert cpu.total_memory >= cpu.free_memory >= 0 and cpu.compute_units >= 1 and cpu.hardware and not cpu.is_gpu
    assert isinstance(cpu.features, list) and isinstance(cpu.limits, dict) and isinstance(cpu.version, str)
    cpu.reset_peak_memory()
    before = cpu.memory_stats()
    x = ug.ones(1 << 16).realize()
    after = cpu.memory_stats()
    assert after["allocated"] >= before["allocated"] + x.nbytes and after["peak"] >= after["allocated"] and after["buffers"] > before["buffers"]
    try:
        cpu.set_memory_cap(after["allocated"] + 1024)
        with pytest.raises(MemoryError):
            ug.ones(1 << 24).realize()
    finally:
        cpu.set_memory_cap(None)


def regression():
    ug.manual_seed(1)
    x = ug.randn(64, 3)
    model = ug.nn.Linear(3, 1)
    return model, ug.nn.MSELoss(), ug.optim.SGD(model.parameters(), lr=0.1), [(x, x.sum(1, keepdim=True))]


def test_learning_rates_are_found():
    model, loss, optimizer, batches = regression()
    before = [p.tolist() for p in model.parameters()]
    curve = ug.Trainer().find_lr(model, loss, optimizer, batches, start=1e-4, end=10.0, steps=60)
    assert [p.tolist() for p in model.parameters()] == before
    rates = [rate for rate, _ in curve.points]
    assert rates == sorted(rates) and rates[0] == pytest.approx(1e-4) and 1e-3 < curve.suggestion < 5.0
    for keywords, name in [({"start": 0}, "start"), ({"end": 1e-9}, "end"), ({"steps": 1}, "steps"), ({"smoothing": 1.0}, "smoothing"), ({"diverged": 1}, "diverged")]:
        with pytest.raises(ValueError, match=f"'{name}'"):
            ug.Trainer().find_lr(model, loss, optimizer, batches, **keywords)


def test_batch_sizes_are_found():
    model, loss, optimizer, _ = regression()
    sizes = []

    def make(n):
        sizes.append(n)
        return ug.randn(n, 3), ug.randn(n, 1)

    found = ug.Trainer().find_batch_size(model, loss, optimizer, make, most=32)
    assert found.best == 32 and sizes[-1] == 32 and all(seconds >= 0 for _, _, seconds in found.tried)
    with pytest.raises(ZeroDivisionError):
        ug.Trainer().find_batch_size(model, loss, optimizer, lambda n: 1 // 0)


def test_runs_are_compared(tmp_path):
    for name in ("one", "two"):
        model, loss, optimizer, batches = regression()
        ug.Trainer(max_epochs=2, folder=tmp_path / name).fit(model, loss, optimizer, batches)
    page = ug.train.compare_runs([tmp_path / "one", tmp_path / "two"], tmp_path / "both.html")
    assert "one" in page and "two" in page and (tmp_path / "both.html").read_text(encoding="utf-8") == page
    with pytest.raises((OSError, ValueError), match="three"):
        ug.train.compare_runs([tmp_path / "three"])
    with pytest.raises(TypeError, match="'runs'"):
        ug.train.compare_runs("one")


def test_generators_are_copied_with_their_state():
    own = ug.Generator(7)
    own.rand(3)
    for twin in (pickle.loads(pickle.dumps(own)), copy.deepcopy(own)):
        assert twin.get_state() == own.get_state()
    twin = copy.copy(own)
    assert twin.rand(4).tolist() == own.rand(4).tolist()
