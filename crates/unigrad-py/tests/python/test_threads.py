"""Threads that share what they use: tensors, modules, optimizers, loaders, generators, values. With Python's lock they take turns anywhere; the free-threaded
builds have none, and they run side by side."""

import faulthandler
import gc
import pickle
import queue
import subprocess
import sys
import sysconfig
import textwrap
import threading
import weakref

import numpy as np
import pytest

import unigrad as ug
from unigrad import data, metrics, nn, optim
from unigrad.micrograd import MLP, Neuron, Value

THREADS = 4


@pytest.fixture(autouse=True)
def turns_that_are_short():
    # A deadlock ends the tests with the stacks of all threads.
    faulthandler.dump_traceback_later(120, exit=True)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
    faulthandler.cancel_dump_traceback_later()


def together(*works, times=20):
    """Runs each function in a thread of its own, all at once, so many times each. What they raise is raised here."""
    begin, problems = threading.Barrier(len(works)), []

    def run(work):
        try:
            begin.wait()
            for _ in range(times):
                work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


def run(program):
    done = subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(program)], timeout=100, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has its lock always")
def test_pythons_lock_stays_off():
    assert run("import sys, numpy, unigrad, unigrad.nn, unigrad.data, unigrad.train; print(sys._is_gil_enabled())").split() == ["False"]


def test_a_tensor_that_all_compute_and_read():
    for _ in range(10):
        x = ug.arange(6, dtype="float32").reshape(2, 3)
        y = x * 2 + 1
        found = []
        reads = [
            lambda: found.append(y.tolist() == [[1, 3, 5], [7, 9, 11]]),
            lambda: found.append(repr(y) == "tensor([[ 1.,  3.,  5.],\n        [ 7.,  9., 11.]])"),
            lambda: found.append(pickle.loads(pickle.dumps(y)).tolist() == y.tolist() and y.grad is None and y.shape == (2, 3)),
            lambda: found.append(bool((np.asarray(y) == y.numpy()).all()) and y.sum().item() == 36),
            lambda: found.append((y + y).tolist() == [[2, 6, 10], [14, 18, 22]] and y[1].tolist() == [7, 9, 11]),
        ]
        together(*reads, times=3)
        assert len(found) == 15 and all(found), found


def test_gradients_of_all_threads_add_up():
    w = ug.ones(5, requires_grad=True)

    def work():
        ((w * 3).sum() + w[0] * 2).backward()
        w.grad, repr(w), w.requires_grad

    together(*[work] * THREADS)
    assert w.grad.tolist() == [5.0 * THREADS * 20] + [3.0 * THREADS * 20] * 4


def test_gradients_that_are_set_and_read_meanwhile():
    w = ug.ones(3, requires_grad=True)

    def clear():
        w.grad = None

    def read():
        grad = w.grad
        assert grad is None or grad.tolist()[0] % 2 == 0

    together(lambda: (w * 2).sum().backward(), lambda: (w * 2).sum().backward(), clear, read, read, times=30)


def test_writes_are_whole():
    x, out = ug.zeros(1000), ug.zeros(1000)
    ones, twos = ug.ones(1000).realize(), ug.full((1000,), 2.0).realize()
    seen = set()

    def read():
        for tensor in (x, out):
            values = set(tensor.tolist())
            assert len(values) == 1
            seen.update(values)

    def write():
        x.copy_(twos)
        ug.add(ones, ones, out=out)

    def write_others():
        x.fill_(1)
        ug.mul(ones, ones, out=out)

    together(write, write_others, read, read)
    assert seen <= {0.0, 1.0, 2.0} and set(x.tolist()) <= {1.0, 2.0}


def test_what_a_thread_is_inside_of_is_its_own():
    def without():
        with ug.no_grad():
            assert not ug.grad_enabled() and not (w * 2).requires_grad

    def halves():
        with ug.autocast(dtype=ug.bfloat16):
            assert (x @ x).dtype == ug.bfloat16

    def plain():
        assert ug.grad_enabled() and (w * 2).requires_grad and (x @ x).dtype == ug.float32

    w, x = ug.ones(2, requires_grad=True), ug.ones(2, 2)
    together(without, halves, plain, plain)


def test_hooks_come_and_go():
    w, layer = ug.ones(3, requires_grad=True), nn.Linear(3, 2)
    optimizer = optim.SGD(layer.parameters(), lr=0.0)
    stay = [layer.register_forward_hook(lambda *_: None) for _ in range(20)]
    calls = []
    w.register_hook(lambda dy: calls.append(1))

    def come_and_go():
        with w.register_hook(lambda dy: None), layer.register_forward_hook(lambda *_: None), layer.register_full_backward_hook(lambda *_: None):
            with optimizer.register_step_post_hook(lambda *_: None), layer.register_forward_pre_hook(lambda *_: None, prepend=True):
                pass

    def use():
        layer(w).sum().backward()
        optimizer.step()
        layer.state_dict()

    together(come_and_go, come_and_go, use, use)
    [handle.remove() for handle in stay]
    assert len(calls) == 40 and not layer._forward_hooks and not layer._forward_pre_hooks and not optimizer._step_hooks


def test_first_hooks_of_a_kind():
    for _ in range(20):
        layer = nn.Identity()
        together(*[lambda: layer.register_full_backward_hook(lambda *_: None)] * THREADS, times=1)
        assert len(layer._hooks("backward")) == THREADS


def test_modules_that_grow_while_they_are_read():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    n = iter(range(10**6))

    def grow():
        model.add_module(f"more{next(n)}", nn.Identity())
        model[0].register_buffer(f"more{next(n)}", ug.zeros(1))

    def read():
        model(ug.ones(1, 2)).tolist()
        len(list(model.parameters())), len(model.state_dict()), repr(model), pickle.dumps(model.state_dict())
        model.train().eval()

    together(grow, read, read)
    assert len(model) == 22 and len(list(model.buffers())) == 20


def test_an_optimizer_counts_every_step():
    w = nn.Parameter(ug.zeros(4))
    for optimizer in [optim.SGD([w], lr=0.5), optim.AdamW([w], lr=0.1)]:
        w.grad = ug.ones(4)

        def read(optimizer=optimizer):
            assert 0 <= optimizer.n_steps <= 40 and optimizer.state_bytes >= 0
            optimizer.state_dict(), repr(optimizer), optimizer.state

        together(optimizer.step, optimizer.step, read, read)
        assert optimizer.n_steps == 40
    assert np.isfinite(w.tolist()).all()


def test_a_thread_that_asks_an_optimizer_during_its_closure_waits():
    w = nn.Parameter(ug.tensor([4.0, -1.0]))
    optimizer = optim.LBFGS([w], max_iter=2)

    def closure():
        optimizer.zero_grad()
        loss = ((w - 1) ** 2).sum()
        loss.backward()
        return loss

    def read():
        assert optimizer.n_steps >= 0 and optimizer.state_bytes >= 0

    together(lambda: optimizer.step(closure), read, read, times=5)
    assert optimizer.n_steps == 5
    with pytest.raises(ug.Error, match="while it takes a step"):
        optimizer.step(lambda: optimizer.n_steps)


def test_training_in_all_threads():
    def train():
        x = ug.ones(8, 3)
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())

    for kind in (optim.SGD, optim.Adam):
        model, losses = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), []
        optimizer = kind(model.parameters(), lr=0.01)
        together(*[train] * THREADS, lambda: [parameter.tolist() for parameter in model.parameters()], times=10)
        assert len(losses) == THREADS * 10 and np.isfinite(losses).all()


def test_a_generator_gives_each_number_once():
    shared, alone = ug.Generator(3), ug.Generator(3)
    drawn = []
    together(*[lambda: drawn.append(ug.rand(7, generator=shared).tolist())] * THREADS)
    expected = [ug.rand(7, generator=alone).tolist() for _ in range(THREADS * 20)]
    assert sorted(drawn) == sorted(expected) and shared.get_state() == alone.get_state()
    ug.manual_seed(5)
    drawn.clear()
    together(*[lambda: drawn.append(ug.randn(3).tolist())] * THREADS)
    ug.manual_seed(5)
    assert sorted(drawn) == sorted(ug.randn(3).tolist() for _ in range(THREADS * 20))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_gives_each_thread_all_items(workers):
    kept = data.CachedDataset(data.MapDataset(range(24), lambda x: ug.tensor([float(x)])))
    loader = data.DataLoader(kept, batch_size=5, shuffle=True, num_workers=workers, generator=ug.Generator(1))

    def work():
        assert sorted(x for batch in loader for x in batch.flatten().tolist()) == list(range(24))

    together(*[work] * THREADS, times=3)


def test_a_capsule_has_one_taker():
    taken = []

    def take():
        try:
            taken.append(ug.from_dlpack(capsule).tolist())
        except BufferError:
            pass

    for n in range(30):
        capsule = ug.full((3,), float(n)).__dlpack__()
        together(*[take] * THREADS, times=1)
    assert taken == [[float(n)] * 3 for n in range(30)]


def test_what_goes_goes_in_any_thread():
    class Kept:
        pass

    lines, gone = [queue.SimpleQueue() for _ in range(2)], []

    def make(line):
        x, kept = ug.ones(3, requires_grad=True), Kept()
        gone.append(weakref.ref(kept))
        x.register_hook(lambda dy, kept=kept: None)
        y = (x * 2).exp()
        y.sum().backward()
        memory = np.ones(3, dtype="float32")
        line.put((x, y, ug.from_numpy(memory) + x, np.asarray(y.detach())))

    def drop(line):
        x, y, z, array = line.get()
        z.tolist()

    works = [lambda line=line: make(line) for line in lines] + [lambda line=line: drop(line) for line in lines]
    together(*works, lambda: gc.collect(1), times=10)
    # What a thread without Python's lock has let go, goes with the next that has it; places of hooks are swept now and then.
    for _ in range(100):
        ug.ones(1, requires_grad=True).register_hook(lambda dy: None)
    gc.collect()
    assert len(gone) == 20 and sum(ref() is not None for ref in gone) < 20


def test_collected_garbage_stops_nothing_for_ever():
    network = ug.Network([4], [{"dense": {"units": 3}}], "mse", seed=1)
    accuracy, x = metrics.Accuracy(), ug.randn(6, 4)
    labels = ug.tensor([0, 1, 2, 0, 1, 2])

    def work():
        accuracy.update(network(x), labels)
        accuracy.compute()
        network.summary(1), network.predict(x).tolist()

    together(work, work, work, gc.collect, times=5)


def test_metrics_count_what_all_threads_give():
    accuracy, matrix = metrics.Accuracy(), metrics.ConfusionMatrix(3)
    scores, labels = ug.eye(3), ug.tensor([0, 1, 1])

    def update():
        accuracy.update(scores, labels)
        matrix.update(scores, labels)

    together(*[update] * THREADS, lambda: matrix.compute())
    n = THREADS * 20
    assert accuracy.compute() == pytest.approx(2 / 3) and np.asarray(matrix.compute()).tolist() == [[n, 0, 0], [0, n, n], [0, 0, 0]]


def test_a_replay_is_asked_while_it_runs():
    @ug.replay
    def step(x):
        return x * 2 + 1

    def read():
        assert step.n_replayed >= 0 and "replay of" in repr(step)

    together(lambda: step(ug.ones(3)).tolist(), read, read, times=50)
    assert step.n_replayed > 30


def test_values():
    a, b = Value(2.0), Value(3.0)

    def work():
        c = a * b + b.relu() ** 2
        c.backward()
        assert c.data == 15.0 and len(c._prev) == 2 and pickle.loads(pickle.dumps(c)).data == 15.0 and "Value" in repr(c)

    together(*[work] * THREADS)
    n = THREADS * 20
    assert (a.grad, b.grad) == (3.0 * n, 8.0 * n)


def test_nets_of_values_that_others_change():
    model, neuron = MLP(2, [3, 1]), Neuron(2)

    def use():
        model([1.0, 2.0]).backward()
        neuron([1, 2]).backward()
        model.parameters(), repr(model), repr(neuron), model.zero_grad()

    def change():
        neuron.w, neuron.b, neuron.nonlin = [Value(1.0), Value(2.0)], Value(0.5), not neuron.nonlin
        model.layers = list(model.layers)
        model.layers[0].neurons = list(model.layers[0].neurons)
        model.layers[0].neurons[0].w[0] = Value(0.1)

    together(use, use, change, change)
    assert neuron([1, 1]).data == 3.5


def test_others_ask_while_the_main_thread_works():
    # The main thread hears signals while it works, and has to take Python's lock for that: what waits for it may not hold the lock.
    program = """
    import threading
    import unigrad as ug
    from unigrad import metrics, nn, optim
    from unigrad.micrograd import Value

    # A step of some tenths of a second.
    x, y = ug.randn(4096, 512), ug.randn(4096, 1)
    network = ug.Network([512], [{"dense": {"units": 1024}}, "relu", {"dense": {"units": 1}}], "mse", seed=1)
    optimizer = optim.SGD([nn.Parameter(ug.zeros(3))], lr=0.1)
    scaler = ug.amp.GradScaler()
    n = 0

    def ask():
        global n
        while not done.is_set():
            network.summary(1), network(x[:1]), list(network.parameters())
            optimizer.n_steps, scaler.scale(ug.ones(1)), scaler.get_scale()
            (Value(2.0) * 3).backward()
            (shared * 2).sum().item(), shared.unique(), shared.grad, str(shared)
            n += 1

    done = threading.Event()
    z = ug.randn(600, 600)
    for _ in range(12):
        z = (z @ z).tanh()
    shared = z.mean()
    threads = [threading.Thread(target=ask) for _ in range(2)]
    [thread.start() for thread in threads]
    try:
        shared.item()
        network.fit(x, y, max_epochs=1, batch_size=4096)
    finally:
        done.set()
    [thread.join() for thread in threads]
    print(n > 0)
    """
    assert run(program).split() == ["True"]
