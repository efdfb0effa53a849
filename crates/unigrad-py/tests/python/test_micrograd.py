"""Scalars: micrograd's numbers, graphs and habits on the CPU, and the same on every device in few launches."""

import copy
import doctest
import gc
import inspect
import math
import pickle
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import unigrad as ug
from unigrad.micrograd import MLP, Device, Layer, Module, Neuron, Value


def devices():
    """Devices that compute scalars by launches, where they are."""
    for name in ["opencl:0", "vulkan", "cuda"]:
        try:
            yield Device(name)
        except ug.NotAvailableError:
            pass


@pytest.fixture(params=["cpu", "opencl:0", "vulkan", "cuda"])
def device(request):
    try:
        return Device(request.param)
    except ug.NotAvailableError as error:
        pytest.skip(f"{request.param}: {str(error).splitlines()[0]}")


def readme(device=None):
    a, b = Value(-4.0, device=device), Value(2.0, device=device)
    c = a + b
    d = a * b + b**3
    c += c + 1
    c += 1 + c + (-a)
    d += d * 2 + (b + a).relu()
    d += 3 * d + (b - a).relu()
    e = c - d
    f = e**2
    g = f / 2.0
    g += 10.0 / f
    g.backward()
    return g.data, a.grad, b.grad


def test_readme_to_the_last_digit():
    assert readme() == (24.70408163265306, 138.83381924198252, 645.5772594752186)


def test_readme_on_devices_is_one_launch(device):
    if device == "cpu":
        return
    readme(device)
    before = device.counters()["launches"]
    assert readme(device) == pytest.approx((24.70408163265306, 138.83381924198252, 645.5772594752186), rel=2e-6)
    assert device.counters()["launches"] == before + 1


def test_operators_with_numbers_on_both_sides(device):
    def close(value, expected):
        assert value.device == device
        assert value.data == pytest.approx(expected, rel=2e-6)

    x, y = Value(3.0, device=device), Value(-0.5, device=device)
    close(x + y, 2.5), close(x + 1, 4), close(1 + x, 4)
    close(x - y, 3.5), close(x - 1, 2), close(1 - x, -2)
    close(x * y, -1.5), close(x * 2.0, 6), close(2 * x, 6)
    close(x / y, -6), close(x / 2, 1.5), close(6.0 / x, 2)
    close(x**2, 9), close(x**-1, 1 / 3), close(x**0.5, 3**0.5), close(2**x, 8), close(2.0**y, 2**-0.5)
    close(-x, -3), close(+x, 3)
    close(x.relu(), 3), close(y.relu(), 0), close(y.tanh(), math.tanh(-0.5)), close(y.exp(), math.exp(-0.5))
    close(x.log(), math.log(3)), close(y.sigmoid(), 1 / (1 + math.exp(0.5)))
    close(sum([x, y, x]), 5.5)
    assert float(x) == 3.0
    z = 1.5 * x + x**2
    z += 1
    close(z, 14.5)


def test_gradients_of_all_operators(device):
    operations = [
        lambda x, y: x + y * 2,
        lambda x, y: x * y,
        lambda x, y: x - y,
        lambda x, y: x / y,
        lambda x, y: 2 / x + 3 - y,
        lambda x, y: x**3 * y**-2,
        lambda x, y: 2.0**x + y,
        lambda x, y: (x * y).tanh() + x.sigmoid(),
        lambda x, y: x.exp() * y.log(),
        lambda x, y: (x - y).relu() + (y - x).relu() * 2,
        lambda x, y: x * x * x + x,
    ]
    for number, operation in enumerate(operations):
        x, y = Value(0.7, device=device), Value(1.3, device=device)
        operation(x, y).backward()
        for value, at in [(x, 0), (y, 1)]:

            def moved(by):
                numbers = [0.7, 1.3]
                numbers[at] += by
                return operation(*map(Value, numbers)).data

            assert value.grad == pytest.approx((moved(1e-6) - moved(-1e-6)) / 2e-6, rel=1e-5, abs=1e-5), (number, at)


def test_data_and_grad_can_be_set(device):
    p = Value(2.0, device=device)
    before = p * p
    p.data -= 0.5
    p.grad = 3
    p.data -= 0.1 * p.grad
    after = p * p
    assert (before.data, p.grad) == (4.0, 3.0)
    assert after.data == pytest.approx(1.2 * 1.2)
    for _ in range(2):
        (p * 3).backward()
    assert p.grad == 9.0
    p.zero_grad()
    assert p.grad == 0.0


def test_repr_op_prev_and_label():
    a, b = Value(2), Value(-3.0, label="b")
    c = a * b
    assert repr(c) == "Value(data=-6.0, grad=0.0)"
    assert (c._op, a._op, (a**2)._op, (a**2.0)._op, a.relu()._op, (a / b)._op) == ("*", "", "**2", "**2.0", "ReLU", "*")
    assert c._prev == {a, b} and len((a + a)._prev) == 1 and a._prev == set()
    assert b.label == "b" and {child.label for child in c._prev} == {"b", ""}
    c.label = "c"
    assert c.label == "c"
    # What draws a graph names nodes by `id`.
    nodes, edges = set(), set()

    def build(value):
        if value not in nodes:
            nodes.add(value)
            for child in value._prev:
                edges.add((child, value))
                build(child)

    build((a * b + a).tanh())
    ids = {id(node) for node in nodes}
    assert len(nodes) == 5 and {id(node) for edge in edges for node in edge} == ids


def test_equality_is_identity():
    a, b = Value(1.0), Value(1.0)
    assert a == a and a != b and hash(a) == hash(a) and a != 1.0 and len({a, b, a}) == 2
    copied = copy.deepcopy(a * 2)
    assert copied.data == 2.0 and copied._prev == set()
    again = pickle.loads(pickle.dumps(copied))
    assert (again.data, again.grad) == (2.0, 0.0)


def test_nets_are_micrograds():
    random.seed(1337)
    numbers = [random.uniform(-1, 1) for _ in range(3)]
    random.seed(1337)
    neuron = Neuron(3)
    assert [w.data for w in neuron.w] == numbers and neuron.b.data == 0.0 and neuron.nonlin
    assert len(neuron.parameters()) == 4 and neuron.parameters()[0] is neuron.w[0] and neuron.parameters()[3] is neuron.b
    expected = max(0.0, sum((w * x for w, x in zip(numbers, [1.0, -2.0, 0.5])), 0.0))
    assert neuron([Value(1.0), -2, 0.5]).data == expected
    assert neuron([1.0, -2.0, 0.5])._op == "ReLU" and neuron([Value(1.0), -2, 0.5])._prev >= set(neuron.parameters())
    neuron.w[0] = Value(10.0)
    assert neuron([1.0, 0.0, 0.0]).data == 10.0
    assert repr(MLP(2, [2, 1])) == "MLP of [Layer of [ReLUNeuron(2), ReLUNeuron(2)], Layer of [LinearNeuron(2)]]"
    model = MLP(2, [16, 16, 1])
    assert isinstance(model, Module) and len(model.parameters()) == 337 and len(model.layers[1].neurons) == 16
    assert isinstance(Layer(2, 3)([1, 2]), list) and isinstance(Layer(2, 1)([1, 2]), Value)
    model([1.0, 2.0]).backward()
    assert any(p.grad for p in model.parameters())
    model.zero_grad()
    assert not any(p.grad for p in model.parameters())


def test_a_net_equals_its_values(device):
    random.seed(5)
    model = MLP(3, [4, 4, 2], device=device)
    x = [Value(v, device=device) for v in [0.3, -0.7, 1.1]]
    assert all(p.device == device for p in model.parameters())

    def by_hand(values):
        for layer in model.layers:
            outs = []
            for neuron in layer.neurons:
                act = sum((w * v for w, v in zip(neuron.w, values)), neuron.b)
                outs.append(act.relu() if neuron.nonlin else act)
            values = outs
        return values

    def gradients(outs):
        model.zero_grad()
        for value in x:
            value.zero_grad()
        loss = sum(out * out for out in outs)
        loss.backward()
        return [loss.data] + [value.grad for value in model.parameters() + x]

    assert gradients(model(x)) == pytest.approx(gradients(by_hand(x)), rel=1e-5, abs=1e-7)


def test_own_modules():
    class Twice(Module):
        def __init__(self):
            self.inner = MLP(2, [3, 1])

        def __call__(self, x):
            return self.inner(x) * 2

        def parameters(self):
            return self.inner.parameters()

    model = Twice()
    model([1.0, 1.0]).backward()
    model.zero_grad()
    assert all(p.grad == 0 for p in model.parameters())
    net = MLP(2, [2, 1])
    net.layers[0] = lambda x: [x[0] * 2, x[1] * 3]
    net.layers[1].neurons[0] = lambda x: x[0] + x[1]
    assert net([Value(1.0), Value(1.0)]).data == 5.0


def moons(n=100):
    draw = random.Random(1337)
    points, labels = [], []
    for i in range(n // 2):
        angle = math.pi * i / (n // 2 - 1)
        points += [[math.cos(angle), math.sin(angle)], [1 - math.cos(angle), 0.5 - math.sin(angle)]]
        labels += [-1, 1]
    return [[v + draw.gauss(0, 0.1) for v in point] for point in points], labels


def train(model, steps, device=None, n=100):
    points, labels = moons(n)
    losses = []
    for step in range(steps):
        inputs = [[Value(v, device=device) for v in point] for point in points]
        scores = list(map(model, inputs))
        margins = [(1 + -label * score).relu() for label, score in zip(labels, scores)]
        loss = sum(margins) * (1.0 / len(margins)) + 1e-4 * sum(p * p for p in model.parameters())
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= (1.0 - 0.9 * step / 100) * p.grad
        losses.append(loss.data)
    accuracy = sum((model([*point]).data > 0) == (label > 0) for point, label in zip(points, labels)) / len(labels)
    return losses, accuracy


def test_moons():
    random.seed(1337)
    losses, accuracy = train(MLP(2, [16, 16, 1]), 100)
    assert losses[-1] < 0.05 and accuracy >= 0.98


def test_moons_on_devices(device):
    if device == "cpu":
        return
    random.seed(1337)
    expected, _ = train(MLP(2, [16, 16, 1]), 4, n=40)
    random.seed(1337)
    model = MLP(2, [16, 16, 1], device=device)
    before = device.counters()["launches"]
    losses, _ = train(model, 4, device, n=40)
    # A launch for each step's loss and all of its gradients, and one for all scores at the end.
    # (A device that ends long launches takes several for a step.)
    assert device.counters()["launches"] - before <= (4 + 40) * (1 if device.type != "wgpu" else 8)
    assert losses == pytest.approx(expected, rel=1e-4)


def test_what_waits_is_computed_together(device):
    if device == "cpu":
        return
    x = Value(1.5, device=device)
    values = [x * i + 1 for i in range(1000)]
    before = device.counters()["launches"]
    assert [value.data for value in values] == [1.5 * i + 1 for i in range(1000)]
    assert device.counters()["launches"] == before + 1


def test_a_million_nodes(device):
    begin = time.perf_counter()
    x = Value(1.0, device=device)
    y = x
    for _ in range(500_000):
        y = y + 1.0
    y.backward()
    assert (y.data, x.grad) == (500_001.0, 1.0)
    del y
    gc.collect()
    assert time.perf_counter() - begin < 60


def test_moves_between_devices(device):
    x = Value(3.0)
    there = (x * x).to(device)
    end = (there * 2 + there).to(Device.cpu()) + x
    end.backward()
    assert (end.data, x.grad, there.device) == (30.0, 19.0, device)
    assert x.to(Device.cpu()) is x
    if device != "cpu":
        with pytest.raises(ValueError, match="move one of them"):
            there + x
        with pytest.raises(ValueError):
            Neuron(1, device=device)([x])


def test_devices():
    assert Device is ug.Device and Device.cpu() == Device.cpu() == Device("cpu") and Value(1.0).device == Device.cpu()
    if Device.is_gpu_available():
        assert Device.gpu() == Device.gpu() != Device.cpu()
    else:
        with pytest.raises(RuntimeError):
            Device.gpu()


def test_a_software_device_by_the_environment():
    name = next((str(device) for device in devices()), None)
    if name is None:
        pytest.skip("no device but the CPU")
    program = f"""
import os
os.environ["UNIGRAD_DEVICE"] = {name!r}
from unigrad.micrograd import Device, Value
assert Device.is_gpu_available() and str(Device.gpu()) == {name!r}
assert (Value(2.0, device=Device.gpu()) * 3).data == 6.0 and Value(1.0).device == "cpu"
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == 0


def test_wrong_arguments():
    x = Value(1.0)
    for call in [
        lambda: Value("a"),
        lambda: Value(None),
        lambda: Value(x),
        lambda: Value(1.0, device=5),
        lambda: Value(),
        lambda: x + "a",
        lambda: x * None,
        lambda: x ** x,
        lambda: [] - x,
        lambda: pow(x, 2, 3),
        lambda: setattr(x, "data", "a"),
        lambda: setattr(x, "grad", None),
        lambda: x.to(None),
        lambda: Neuron("a"),
        lambda: Neuron(2)(5),
        lambda: Neuron(2)("ab"),
        lambda: Neuron(2)([1.0, "a"]),
        lambda: Layer(2),
        lambda: MLP(2, 3),
        lambda: MLP(2, [None]),
    ]:
        with pytest.raises(TypeError):
            call()
    for call in [lambda: Neuron(2)([1.0]), lambda: MLP(2, [2])([1, 2, 3]), lambda: x.to("nonsense")]:
        with pytest.raises((ValueError, ug.NotAvailableError)):
            call()
    with pytest.raises(OverflowError):
        Neuron(-1)
    assert math.isnan(Value(-1.0).log().data) and (Value(0.0) ** -1).data == math.inf and (1 / Value(0.0)).data == math.inf
    empty = MLP(2, [])
    assert empty.parameters() == [] and Neuron(0)([]).data == 0.0


def test_numpys_numbers():
    np = pytest.importorskip("numpy")
    x = Value(np.float64(2.0))
    assert isinstance(np.float64(3.0) * x, Value) and (np.int64(3) * x).data == 6.0 and (x - np.float32(0.5)).data == 1.5
    assert (1 + -np.int64(1) * x).data == -1.0
    with pytest.raises(TypeError):
        x + np.ones(3)


def test_threads(device):
    model = MLP(4, [8, 8, 1], device=device)
    problems = []

    def work(seed):
        try:
            for step in range(20):
                out = model([0.1 * seed, 0.2, 0.3, 0.1 * step]) ** 2
                out.backward()
                assert math.isfinite(out.data)
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not problems, problems
    assert all(math.isfinite(p.grad) for p in model.parameters())


def test_the_benchmark_prints_the_table():
    script = Path(ug.__file__).resolve().parents[1] / "benchmarks/benchmark_gpu.py"
    script = next((folder / "benchmarks/benchmark_gpu.py" for folder in Path(__file__).resolve().parents if (folder / "benchmarks").is_dir()), script)
    name = next((["--device", str(device)] for device in devices()), [])
    out = subprocess.run([sys.executable, str(script), *name], timeout=120, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    lines = out.stdout.splitlines()
    assert lines[0] == lines[2] == "=" * 80 and lines[4] == f"GPU Available: {bool(name)}"
    assert lines[6] == "Basic Operations (average time per operation, 1000 iterations)"
    assert lines[8] == "Operation                       CPU            GPU"
    for line, operation in zip(lines[10:14], ["Addition", "Multiplication", "Power", "ReLU"]):
        assert line.startswith(operation) and line[26:35].endswith(" ms") and len(line) == 50, line
    begin = lines.index("Small MLP (10-20-20-1):")
    assert lines[begin - 2] == "-" * 80 and lines[begin + 1] == "-" * 40
    names = ["  CPU Forward:              ", "  CPU Forward+Backward:     ", "  GPU Forward:              ", "  GPU Forward+Backward:     "]
    for line, name in zip(lines[begin + 2 :], names if name else names[:2], strict=True):
        assert line.startswith(name) and line[28].isdigit() and line.endswith(" ms"), line


def test_examples_and_docstrings():
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    for owner in [ug.micrograd, Value, Module, Neuron, Layer, MLP]:
        for name in ["", *(name for name in vars(owner) if not name.startswith("_"))]:
            text = inspect.getdoc(getattr(owner, name) if name else owner)
            assert text, (owner, name)
            runner.run(parser.get_doctest(text, {}, f"{owner.__name__}.{name}", None, 0))
    assert runner.summarize().failed == 0
