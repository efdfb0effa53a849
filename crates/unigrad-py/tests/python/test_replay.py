"""Functions that are recorded and run again without being called: `unigrad.replay`."""

import threading

import pytest

import unigrad as ug


def trained(wrap, steps=12, seed=3):
    """A network with dropout after some steps, whose learning rate changes on the way, and how often its step was called."""
    ug.manual_seed(seed)
    net = ug.nn.Sequential(ug.nn.Linear(6, 16), ug.nn.ReLU(), ug.nn.Dropout(0.25), ug.nn.Linear(16, 3))
    optimizer = ug.optim.AdamW(net.parameters(), lr=1e-2)
    calls = []

    def step(batch, *, scale):
        calls.append(None)
        loss = ug.nn.functional.cross_entropy(net(batch["x"]) * scale, batch["y"])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return {"loss": loss, "parts": [loss * 2, scale]}

    run = wrap(step)
    losses = []
    for i in range(steps):
        rows = 8 if i % 5 else 4
        batch = {"x": ug.randn(rows, 6), "y": ug.randint(0, 3, (rows,))}
        if i == steps // 2:
            optimizer.param_groups[0]["lr"] = 2e-2
        result = run(batch, scale=ug.tensor(1.0 + i))
        assert list(result) == ["loss", "parts"] and isinstance(result["parts"], list)
        losses.append([result["loss"].item(), result["parts"][0].item(), result["parts"][1].item()])
    return losses, [p.tolist() for p in net.parameters()], len(calls), run


def test_a_replayed_training_is_the_training_bit_for_bit():
    plain = trained(lambda step: step, steps=40)
    replayed = trained(ug.replay, steps=40)
    assert plain[:2] == replayed[:2]
    assert plain[2] == 40
    run = replayed[3]
    assert run.n_replayed > 15 and replayed[2] + run.n_replayed == 40
    assert "step" in repr(run) and run.__name__ == "step"


def test_arguments_of_other_kinds_are_recorded_anew():
    calls = []

    @ug.replay
    def twice(x, *others):
        calls.append(x.shape)
        return (x * 2, *others) if others else x * 2

    for _ in range(5):
        assert twice(ug.ones(3)).tolist() == [2, 2, 2]
        assert twice(ug.ones(2, 2)).tolist() == [[2, 2], [2, 2]]
        assert twice(ug.ones(3, dtype=ug.int32)).dtype == ug.int32
        first, second = twice(ug.ones(3), ug.zeros(1))
        assert first.tolist() == [2, 2, 2] and second.tolist() == [0]
    assert len(calls) < 20 and twice.n_replayed == 20 - len(calls)
    before = len(calls)
    twice.record_again()
    twice(ug.ones(3))
    assert len(calls) == before + 1
    # More kinds than are remembered: the first ones go, and what they counted stays counted.
    counted = twice.n_replayed
    for n in range(4, 24):
        assert twice(ug.ones(n)).shape == (n,)
    assert twice.n_replayed >= counted


def test_what_cannot_be_held_fixed_is_refused():
    def reads(x):
        return x * x.sum().item()

    step = ug.replay(reads)
    with pytest.raises((ValueError, ug.Error)):
        for _ in range(6):
            step(ug.rand(3))
    with pytest.raises(TypeError, match="arguments of a replayed function"):
        ug.replay(lambda x: x)(3.0)
    with pytest.raises(TypeError, match="result of a replayed function"):
        ug.replay(lambda x: None)(ug.ones(1))
    with pytest.raises(TypeError, match="function"):
        ug.replay(3)


def test_an_exception_comes_through_and_leaves_it_usable():
    fails = [True]

    @ug.replay
    def step(x):
        if fails[0]:
            raise KeyError("mine")
        return x + 1

    with pytest.raises(KeyError, match="mine"):
        step(ug.ones(2))
    fails[0] = False
    for _ in range(5):
        assert step(ug.ones(2)).tolist() == [2, 2]
    assert step.n_replayed > 0


def test_a_call_within_itself_is_an_error_not_a_hang():
    @ug.replay
    def step(x):
        return step(x)

    with pytest.raises(ug.Error, match="while it runs"):
        step(ug.ones(2))


def test_threads_have_replays_of_their_own():
    wrong = []

    def work(k):
        step = ug.replay(lambda x: (x * k).sum())
        for i in range(30):
            if step(ug.full((5,), float(i))).item() != 5 * i * k:
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong
