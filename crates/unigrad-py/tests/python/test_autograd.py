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
        (y,) = ug.grad(y, x)
        assert y.item() == want


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
