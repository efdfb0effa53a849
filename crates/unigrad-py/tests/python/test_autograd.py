"""Gradients, by PyTorch's habits."""

import pytest

import unigrad as ug


def test_backward_adds_up():
    x = ug.tensor([1.0, 2.0], requires_grad=True)
    for n in range(1, 3):
        (x**3).sum().backward()
        assert x.grad.tolist() == [3.0 * n, 12.0 * n]
    x.grad = None
    assert x.grad is None and x.is_leaf and not (x * 2).is_leaf


def test_gradients_of_any_order():
    x = ug.tensor(2.0, requires_grad=True)
    y = x**4
    for want in [32.0, 48.0, 48.0]:
        (y,) = ug.grad(y, x, create_graph=True)
        assert y.item() == want


def test_gradients_need_a_gradient_only_with_a_graph():
    x, w = ug.tensor([1.0, 2.0], requires_grad=True), ug.tensor([3.0, 4.0], requires_grad=True)
    loss = (x * w).sum() + (x**3).sum()
    for create_graph in [False, True]:
        found = ug.grad(loss, [x, w], create_graph=create_graph)
        assert [dx.requires_grad for dx in found] == [create_graph] * 2
    (by_x, by_w) = ug.autograd.grad(loss, [x, w])
    assert by_x.numpy().tolist() == [6.0, 16.0] and by_w.numpy().tolist() == [1.0, 2.0]
    # The gradient is the operand itself, and what arrives needs one.
    for dy in [None, ug.tensor(2.0, requires_grad=True)]:
        (by_x,) = ug.grad((x * w).sum(), x, dy)
        assert not by_x.requires_grad and by_x.numpy().tolist() == [3.0 * (dy is None or 2.0), 4.0 * (dy is None or 2.0)]
    assert w.requires_grad and ug.is_grad_enabled()
    with pytest.raises(ug.AutogradError):
        ug.grad(by_x.sum(), x)
    assert not ug.value_and_grad(lambda x: (x * w).sum())(x)[1].requires_grad
    with pytest.raises(ug.AutogradError):
        ug.grad((x * w).sum(), ug.ones(2, requires_grad=True))
    assert ug.is_grad_enabled()
    # Those of `func` are as those of `torch.func`.
    assert ug.func.grad(lambda x: (x**3).sum())(x).requires_grad and not ug.func.grad(lambda x: (x**3).sum())(x.detach()).requires_grad
    assert ug.func.grad(lambda t: ug.func.grad(lambda t: (t**3).sum())(t).sum())(x).tolist() == [6.0, 12.0]


def test_values_and_gradients_of_functions():
    value, (a, b) = ug.value_and_grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(ug.tensor([1.0, 2.0]), ug.tensor([3.0, 4.0]))
    assert value.item() == 11.0 and a.tolist() == [3.0, 4.0] and b.tolist() == [1.0, 2.0]


def test_without_gradients():
    x = ug.ones(2, requires_grad=True)

    @ug.no_grad()
    def double(x):
        return x * 2

    assert not double(x).requires_grad and (x * 2).requires_grad and ug.is_grad_enabled()
    with ug.no_grad(), ug.no_grad():
        assert not ug.is_grad_enabled()
    with pytest.raises(RuntimeError):
        double(x).sum().backward()
    assert not x.detach().requires_grad
    x.requires_grad_(False)
    assert not (x * 2).requires_grad


def test_what_has_no_gradient():
    x = ug.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError):
        (x * 2).backward()
    (x * 2).backward(ug.ones(3))
    assert x.grad.tolist() == [2.0] * 3
    with pytest.raises(RuntimeError):
        ug.grad((x * 2).sum(), ug.ones(1, requires_grad=True))
    assert ug.grad((x * 2).sum(), [ug.ones(1, requires_grad=True)], allow_unused=True) == (None,)
    with pytest.raises(ug.Error):
        ug.tensor([1, 2], requires_grad=True)
    with pytest.raises(ValueError):
        x.numpy()


def test_training_by_hand():
    ug.manual_seed(0)
    x, w = ug.randn(64, 3), ug.zeros(3, requires_grad=True)
    y = x @ ug.tensor([1.0, -2.0, 3.0])
    for _ in range(100):
        loss = (x @ w).mse_loss(y)
        loss.backward()
        with ug.no_grad():
            w.copy_(w - 0.2 * w.grad)
        w.grad = None
    assert loss.item() < 1e-6
