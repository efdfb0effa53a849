"""Functions of functions: own gradients, checkpoints, hooks, `vmap`, Jacobians."""

import gc
import threading
import weakref

import numpy as np
import pytest
import unigrad as ug
from unigrad import func


def test_a_custom_function_has_its_own_gradient():
    square = ug.custom_function(lambda x: x * x, lambda inputs, output, dy: dy * 10 * inputs[0])
    x = ug.tensor([1.0, 2.0], requires_grad=True)
    y = square(x)
    assert y.tolist() == [1.0, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 20.0]


def test_arguments_of_other_kinds_need_no_gradient():
    @ug.custom_function
    def scaled(x, factor, w):
        return x * factor * w

    @scaled.backward
    def pulled(inputs, output, dy):
        x, factor, w = inputs
        return dy * factor * w, None, dy * factor * x

    x, w = (ug.tensor(v, requires_grad=True) for v in ([1.0, 2.0], [3.0, 5.0]))
    scaled(x, 2.0, w).sum().backward()
    assert x.grad.tolist() == [6.0, 10.0] and w.grad.tolist() == [2.0, 4.0]


def test_several_results_have_a_gradient_each():
    class Split(ug.autograd.Function):
        @staticmethod
        def forward(ctx, x, n):
            ctx.n = n
            ctx.save_for_backward(x)
            assert ctx.needs_input_grad == (True, False)
            return x * n, x.exp()

        @staticmethod
        def backward(ctx, first, second):
            (x,) = ctx.saved_tensors
            return first * ctx.n + second * x.exp(), None

    x = ug.tensor([0.0, 1.0], requires_grad=True)
    a, b = Split.apply(x, 3.0)
    (a.sum() + 2 * b.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 3 + 2 * np.exp([0.0, 1.0]), rtol=1e-6)
    x.grad = None
    Split.apply(x, 3.0)[1].sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.0, 1.0]), rtol=1e-6)


def test_gradients_of_gradients_go_through_saved_tensors():
    class Exp(ug.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            (y,) = ctx.saved_tensors
            return dy * y

    x = ug.tensor([0.5], requires_grad=True)
    (first,) = ug.grad(Exp.apply(x).sum(), [x], create_graph=True)
    (second,) = ug.grad(first.sum(), [x])
    np.testing.assert_allclose(second.detach().numpy(), np.exp([0.5]), rtol=1e-6)


def test_results_that_are_not_differentiable_have_no_way_back():
    class WithIndex(ug.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            aside = x * 2
            ctx.mark_non_differentiable(aside)
            ctx.set_materialize_grads(False)
            return x * 3, aside

        @staticmethod
        def backward(ctx, dy, aside):
            assert aside is None
            return dy * 3

    x = ug.ones(2, requires_grad=True)
    y, aside = WithIndex.apply(x)
    assert not aside.requires_grad and aside.tolist() == [2.0, 2.0]
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


class Own(Exception):
    pass


def failing(*_):
    raise Own("on purpose")


def test_what_a_function_raises_arrives_as_it_is():
    x = ug.ones(2, requires_grad=True)
    with pytest.raises(Own, match="on purpose"):
        ug.custom_function(failing, failing)(x)
    y = ug.custom_function(lambda x: x * 1, failing)(x)
    with pytest.raises(Own, match="on purpose"):
        y.sum().backward()
    with pytest.raises(Own):
        ug.grad(y.sum(), [x])
    with pytest.raises(Own):
        ug.checkpoint(failing, x)
    with pytest.raises(Own):
        x.with_gradient_hook(failing).sum().backward()
    for transform in (func.vmap, func.jacrev, func.hessian, func.grad):
        with pytest.raises(Own):
            transform(failing)(x)
    with pytest.raises(Own):
        func.jvp(failing, (x,), (x,))
    assert (x + 1).tolist() == [2.0, 2.0]


def test_wrong_gradients_are_errors():
    x = ug.ones(2, requires_grad=True)
    for wrong in (lambda *_: (None, None), lambda *_: 1.0, lambda *_: "no", lambda i, y, dy: ug.ones(3), lambda i, y, dy: ()):
        y = ug.custom_function(lambda x: x * 1, wrong)(x)
        with pytest.raises((ug.Error, TypeError, ValueError)):
            y.sum().backward()
    for wrong in (None, 1, "text", [1.0]):
        with pytest.raises(TypeError):
            ug.custom_function(lambda x: wrong, lambda *_: None)(x)
        with pytest.raises(TypeError):
            ug.custom_function(wrong)
        with pytest.raises(TypeError):
            ug.checkpoint(wrong, x)
        with pytest.raises(TypeError):
            func.vmap(wrong)
        with pytest.raises(TypeError):
            x.with_gradient_hook(wrong)
    with pytest.raises(ValueError, match="no gradient"):
        ug.custom_function(lambda x: x)(x)


def test_a_checkpoint_gives_the_same_values_and_gradients():
    w = ug.randn(8, 8, requires_grad=True)
    x = ug.randn(4, 8, requires_grad=True)

    def block(x, scale=1.0):
        y = (x @ w).tanh() * scale
        return {"out": y @ w, "sums": [y.sum(0)]}

    plain = block(x, scale=2.0)
    (plain["out"].square().sum() + plain["sums"][0].sum()).backward()
    expected = x.grad.numpy(), w.grad.numpy()
    x.grad = w.grad = None
    kept = ug.checkpoint(block, x, scale=2.0)
    np.testing.assert_allclose(kept["out"].detach().numpy(), plain["out"].detach().numpy(), rtol=1e-5)
    (kept["out"].square().sum() + kept["sums"][0].sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), expected[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(w.grad.numpy(), expected[1], rtol=1e-4, atol=1e-4)


def test_a_checkpoint_draws_the_same_numbers_again():
    x = ug.ones(1000, requires_grad=True)
    ug.manual_seed(3)
    y = ug.checkpoint(lambda x: x * (ug.rand(1000) > 0.5), x)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist()


def test_hooks_see_and_change_gradients():
    seen = []
    x = ug.ones(2, requires_grad=True)
    (x.with_gradient_hook(seen.append) * 3).sum().backward()
    assert [dy.tolist() for dy in seen] == [[3.0, 3.0]] and x.grad.tolist() == [3.0, 3.0]


def test_vmap_is_a_call_for_each_slice():
    a, b = ug.randn(5, 3), ug.randn(4, 5)
    outer = func.vmap(func.vmap(lambda x, y: x * y, in_dims=(None, 0)), in_dims=(0, None))
    np.testing.assert_allclose(outer(a[:, 0], b[0]).numpy(), np.outer(a[:, 0].numpy(), b[0].numpy()), rtol=1e-6)
    moved = func.vmap(lambda x: (x.sum(), x * 2), in_dims=1, out_dims=(0, 1))(a)
    np.testing.assert_allclose(moved[0].numpy(), a.numpy().sum(0), rtol=1e-5)
    np.testing.assert_allclose(moved[1].numpy(), a.numpy() * 2, rtol=1e-6)
    named = func.vmap(lambda d: {"y": d["x"] + d["c"]}, in_dims=({"x": 0, "c": None},), out_dims=-1)({"x": a, "c": ug.ones(3)})
    np.testing.assert_allclose(named["y"].numpy(), (a.numpy() + 1).T, rtol=1e-6)
    same = func.vmap(lambda x: ug.rand(2) + x, randomness="same")(ug.zeros(3))
    assert len({tuple(row) for row in same.tolist()}) == 1
    with pytest.raises(ValueError):
        func.vmap(lambda x: x, in_dims=(0, 0))(a)
    with pytest.raises((ug.Error, ValueError)):
        func.vmap(lambda x, y: x + y)(a, ug.ones(4))
    with pytest.raises((ug.Error, ValueError)):
        func.vmap(lambda x: x, randomness="often")(a)
    with pytest.raises((ug.Error, ValueError)):
        func.vmap(lambda: ug.ones(1))()


def test_derivatives_of_structures():
    x, y = ug.tensor([1.0, 2.0]), ug.tensor(3.0)
    gradients = func.grad(lambda p: (p["x"] * p["y"]).sum())({"x": x, "y": y})
    assert gradients["x"].tolist() == [3.0, 3.0] and gradients["y"].item() == 3.0
    both, (value, aux) = func.grad_and_value(lambda a, b: ((a * b).sum(), "aux"), argnums=(0, 1), has_aux=True)(x, y)
    assert both[0].tolist() == [3.0, 3.0] and both[1].item() == 3.0 and value.item() == 9.0 and aux == "aux"
    jacobian = func.jacrev(lambda a, b: (a * b, a.sum()), argnums=(0, 1))(x, y)
    assert jacobian[0][0].tolist() == [[3.0, 0.0], [0.0, 3.0]] and jacobian[0][1].tolist() == [1.0, 2.0]
    assert jacobian[1][0].tolist() == [1.0, 1.0] and jacobian[1][1].item() == 0.0
    value, change = func.jvp(lambda a, b: a * b, (x, y), (ug.ones(2), ug.tensor(1.0)))
    assert value.tolist() == [3.0, 6.0] and change.tolist() == [4.0, 5.0]
    assert func.grad(func.grad(lambda t: t**3))(y).item() == 18.0
    for wrong in (2, -3, 1.0, None, (0, 5)):
        with pytest.raises((ValueError, TypeError)):
            func.grad(lambda a, b: (a * b).sum(), argnums=wrong)(x, y)
    with pytest.raises(ValueError, match="one element"):
        func.grad(lambda a: a)(x)


def test_functions_go_when_graphs_do():
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)
    x = ug.ones(2, requires_grad=True)
    y = ug.custom_function(lambda x: x * 1, lambda i, y, dy, held=held: dy)(x)
    y.sum().backward()
    del held, y
    gc.collect()
    assert gone() is None


def test_functions_run_in_threads():
    square = ug.custom_function(lambda x: x * x, lambda inputs, output, dy: 2 * dy * inputs[0])
    found = []

    def work(n):
        x = ug.full(4, float(n), requires_grad=True)
        for _ in range(20):
            x.grad = None
            square(ug.checkpoint(lambda x: x + 1, x)).sum().backward()
        found.append((n, x.grad.tolist()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [(n, [2.0 * (n + 1)] * 4) for n in range(8)]


def test_what_is_copied_in_a_function_has_its_gradient():
    x = ug.tensor([1.0, 2.0])
    square = lambda x: (ug.zeros(2).copy_(x) * x).sum()  # noqa: E731
    assert ug.func.grad(square)(x).tolist() == [2.0, 4.0]
    assert ug.func.vjp(square, x)[1](ug.tensor(1.0))[0].tolist() == [2.0, 4.0]
    assert ug.func.jvp(square, (x,), (ug.ones(2),))[1].item() == 6.0
    assert ug.func.jacrev(lambda x: ug.zeros(2).copy_(x * 3))(x).tolist() == [[3.0, 0.0], [0.0, 3.0]]
    assert ug.func.hessian(square)(x).tolist() == [[2.0, 0.0], [0.0, 2.0]]
    assert ug.func.grad(lambda x: (ug.zeros(2).copy_(x.detach()) * x).sum())(x).tolist() == [1.0, 2.0]
    # What is kept beside it is assigned as ever.
    kept = ug.zeros(2)

    def noted(x):
        with ug.no_grad():
            kept.copy_(x)
        return (x * x).sum()

    assert ug.func.grad(noted)(x).tolist() == [2.0, 4.0] and kept.tolist() == [1.0, 2.0]


def test_a_scan_whose_body_assigns_leaves_nothing_behind():
    kept = ug.tensor(7.0)

    def wrong(state, x):
        kept.copy_(state + x)
        return state + x, x

    def returned(state, x):
        return kept.copy_(state + x), x

    def raises(state, x):
        kept.copy_(state + x)
        raise KeyError("own")

    for body, error in ((wrong, "the body assigns to a tensor what differs between steps"), (returned, "commit"), (raises, "own")):
        with pytest.raises((ug.Error, KeyError), match=error):
            ug.scan(body, ug.tensor(0.0), ug.ones(3))
        # Whatever is computed next does not meet it.
        assert (ug.ones(2) + 1).tolist() == [2.0, 2.0] and kept.item() == 7.0
    assert ug.scan(lambda state, x: (state + x, x), ug.tensor(0.0), ug.ones(3))[0].item() == 3.0
