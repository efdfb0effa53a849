"""Hooks on gradients, gradients of tensors that are no leaves, and what computed a tensor; values are PyTorch 2.15's."""

import gc
import weakref

import numpy as np
import pytest

import unigrad as ug


def is_same(got, expected):
    np.testing.assert_array_equal(np.asarray(got.detach()), expected)


def test_gradients_are_retained():
    x = ug.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    assert not y.retains_grad and y.grad is None
    y.retain_grad()
    y.retain_grad()
    z = y * y
    z.sum().backward()
    assert y.retains_grad and not x.retains_grad and z.grad is None
    is_same(y.grad, [6.0, 12.0])
    is_same(x.grad, [18.0, 36.0])
    # A second pass adds, as in leaves.
    u = x * 2
    u.retain_grad()
    u.sum().backward(retain_graph=True)
    u.sum().backward()
    is_same(u.grad, [2.0, 2.0])
    u.grad = None
    assert u.grad is None
    x.retain_grad()
    with pytest.raises(ug.Error, match="retain_grad"):
        ug.ones(2).retain_grad()


def test_hooks():
    x = ug.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seen = []
    before = y.sum()
    first = y.register_hook(lambda dy: seen.append(dy.tolist()))
    y.register_hook(lambda dy: dy * 10)
    of_leaf = x.register_hook(lambda dy: dy + 1)
    # Once, with all that arrives, of what was computed before the hook was there as well.
    (before + (y * y).sum()).backward()
    assert seen == [[7.0, 13.0]]
    is_same(x.grad, [211.0, 391.0])
    assert ug.grad((x * 2).sum(), x)[0].tolist() == [3.0, 3.0]
    first.remove()
    first.remove()
    of_leaf.remove()
    x.grad = None
    (x * 2).sum().backward()
    is_same(x.grad, [2.0, 2.0])
    assert len(seen) == 1
    with pytest.raises(ug.Error, match="register_hook"):
        ug.ones(2).register_hook(print)
    with pytest.raises(TypeError, match="hook"):
        y.register_hook(3)


def test_hooks_of_parameters_stay():
    layer = ug.nn.Linear(2, 1, bias=False)
    mask = ug.tensor([[1.0, 0.0]])
    layer.weight.register_hook(lambda dy: dy * mask)
    start = layer.weight.tolist()
    optimizer = ug.optim.SGD(layer.parameters(), lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        loss = layer(ug.ones(1, 2)).sum()
        if step < 2:
            loss.backward()
            optimizer.step()
        else:
            optimizer.minimize(loss)
    end = layer.weight.tolist()
    assert end[0][1] == start[0][1] and abs(end[0][0] - start[0][0] + 0.3) < 1e-6


def test_what_a_hook_raises_or_gives():
    x = ug.ones(2, requires_grad=True)

    def fails(dy):
        raise KeyError("mine")

    with x.register_hook(fails), pytest.raises(KeyError, match="mine"):
        x.sum().backward()
    assert x.grad is None
    with x.register_hook(lambda dy: dy.sum()), pytest.raises(ug.Error, match="hook made"):
        x.sum().backward()
    with x.register_hook(lambda dy: 3), pytest.raises(TypeError, match="hook"):
        x.sum().backward()
    assert x.grad is None
    x.sum().backward()
    is_same(x.grad, [1.0, 1.0])


def test_a_hook_in_a_checkpoint_is_called_once():
    w, seen = ug.ones(2, requires_grad=True), []
    w.register_hook(lambda dy: seen.append(dy.tolist()))
    ug.checkpoint(lambda x: x * w * w, ug.ones(2, requires_grad=True)).sum().backward()
    assert seen == [[2.0, 2.0]]
    is_same(w.grad, [2.0, 2.0])


def test_hooks_end_with_their_tensors():
    class Held:
        pass

    def add():
        held = Held()
        y = ug.ones(2, requires_grad=True) * 2
        y.register_hook(lambda dy, held=held: None)
        return weakref.ref(held)

    refs = [add() for _ in range(200)]
    gc.collect()
    # They are looked for when others are added.
    assert sum(ref() is not None for ref in refs) < 100


def test_what_computed_a_tensor():
    x = ug.ones(2, requires_grad=True)
    assert x.grad_fn is None and ug.ones(2).exp().grad_fn is None and (x * 2).detach().grad_fn is None
    assert (x * 2).grad_fn.name() == "MulBackward0" and repr(x.exp().grad_fn) == "<ExpBackward0>"
    assert isinstance(x.exp().grad_fn, ug.autograd.Node)
