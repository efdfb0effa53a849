"""Where PyTorch's manners are special: no elements, no axes, ties, integers, one observation, modes of gradients. Expected values are PyTorch 2.15's."""

import copy
import itertools
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import unigrad as ug

F = ug.nn.functional
NAN = math.nan
x = ug.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def same(got, expected):
    np.testing.assert_allclose(np.asarray(got.detach()), expected, rtol=1e-6)


def test_modes_of_gradients():
    w = ug.ones(2, requires_grad=True)
    assert ug.is_grad_enabled()
    with ug.no_grad():
        assert not (w * 2).requires_grad and not ug.is_grad_enabled()
        with ug.enable_grad():
            assert (w * 2).requires_grad
            with ug.no_grad():
                assert not ug.is_grad_enabled()
            assert ug.is_grad_enabled()
        assert not ug.is_grad_enabled()
        with pytest.raises(ZeroDivisionError), ug.set_grad_enabled(True):
            assert ug.is_grad_enabled()
            1 / 0
        assert not ug.is_grad_enabled()
    assert ug.is_grad_enabled()
    for mode in (False, True):
        with ug.set_grad_enabled(mode) as inside:
            assert ug.is_grad_enabled() is mode is inside.mode
        assert ug.is_grad_enabled()


def test_a_mode_that_is_set_lasts():
    seen = []

    def other():
        seen.append(ug.is_grad_enabled())

    try:
        ug.set_grad_enabled(False)
        assert not ug.is_grad_enabled() and not (ug.ones(1, requires_grad=True) * 2).requires_grad
        # Of each thread apart.
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with ug.no_grad():
            ug.set_grad_enabled(True)
            assert ug.is_grad_enabled()
        assert not ug.is_grad_enabled()
        for _ in range(3):
            ug.set_grad_enabled(True)
            ug.set_grad_enabled(False)
    finally:
        ug.set_grad_enabled(True)
    assert ug.is_grad_enabled() and seen == [True]
    with pytest.raises(TypeError, match="mode"):
        ug.set_grad_enabled(1)


def test_modes_as_decorators():
    @ug.no_grad
    def bare():
        return ug.is_grad_enabled()

    @ug.no_grad()
    def plain():
        return ug.is_grad_enabled()

    @ug.enable_grad()
    def enabled():
        return ug.is_grad_enabled()

    @ug.set_grad_enabled(False)
    def disabled():
        return ug.is_grad_enabled()

    assert ug.is_grad_enabled()
    assert not bare() and not plain() and not disabled() and enabled() and bare.__name__ == "bare"
    with ug.no_grad():
        assert enabled() and not ug.is_grad_enabled()


def test_a_backward_pass_in_the_midst_of_no_grad():
    w = ug.tensor([3.0], requires_grad=True)
    with ug.no_grad(), ug.enable_grad():
        (w * w).sum().backward()
    assert w.grad.tolist() == [6.0]


@pytest.mark.parametrize("name", "sum mean amax amin std var nansum nanmean norm count_nonzero".split())
def test_no_dims_are_all(name):
    assert getattr(ug, name)(x, dim=()).shape == ()
    same(getattr(x, name)(dim=()), getattr(x, name)().tolist())
    if name not in ("norm", "count_nonzero"):
        assert getattr(x, name)(dim=(), keepdim=True).shape == (1, 1)


def test_no_dims_leave_truths_and_arrangements():
    assert ug.all(x, dim=()).shape == ug.any(x, dim=()).shape == x.flip(()).shape == x.squeeze(()).shape == (2, 3)
    assert ug.tensor(1.0).permute(()).shape == ()
    # NumPy's keyword keeps NumPy's meaning.
    assert x.sum(axis=()).shape == (2, 3)


def test_ties_and_nan_of_extremes():
    a = ug.tensor([1.0, NAN, NAN, 1.0], requires_grad=True)
    b = ug.tensor([1.0, 1.0, NAN, NAN], requires_grad=True)
    for op in (ug.fmax, ug.fmin):
        by_a, by_b = ug.grad(op(a, b).sum(), [a, b])
        assert by_a.tolist() == [0.5, 0.0, 1.0, 1.0] and by_b.tolist() == [0.5, 1.0, 0.0, 0.0]
    for op in (ug.maximum, ug.minimum):
        by_a, by_b = ug.grad(op(a[:1], b[:1]).sum(), [a, b])
        assert by_a.tolist()[0] == by_b.tolist()[0] == 0.5
    i = ug.tensor([1, 5])
    assert ug.fmax(i, 3).tolist() == [3, 5] and ug.fmin(i, 3).dtype == ug.int64


def test_gradients_at_nan():
    for name, slope in [("elu", NAN), ("celu", NAN), ("selu", NAN), ("hardswish", NAN), ("hardshrink", 0.0), ("softshrink", 0.0), ("hardtanh", 0.0), ("relu6", 0.0)]:
        for dtype in (ug.float32, ug.float64):
            w = ug.tensor([NAN, 0.75], dtype=dtype, requires_grad=True)
            y = getattr(F, name)(w)
            y.sum().backward()
            assert math.isnan(y[0].item()) and not math.isnan(w.grad[1].item()), name
            np.testing.assert_equal(w.grad[0].item(), slope, err_msg=name)
    w = ug.tensor([-3.0, 0.5, 2.0, 1e200], dtype=ug.float64, requires_grad=True)
    ug.acosh(w).sum().backward()
    same(w.grad, [1 / math.sqrt(8), NAN, 1 / math.sqrt(3), 1e-200])


def test_covariances_of_little():
    with pytest.warns(UserWarning, match="observations"):
        assert math.isnan(ug.cov(ug.tensor(2.0)).item())
    with pytest.warns(UserWarning, match="observations"):
        assert np.isnan(np.asarray(ug.cov(ug.ones(2, 1)))).all()
    with pytest.warns(UserWarning, match="observations"):
        assert np.isnan(np.asarray(ug.corrcoef(ug.ones(2, 1)))).all()
    with pytest.warns(UserWarning, match="observations"):
        assert ug.cov(ug.zeros(3, 0)).shape == (3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one_row = ug.tensor([[1.0, 2.0, 4.0]])
        assert ug.cov(one_row).shape == ug.corrcoef(one_row).shape == ()
        same(ug.cov(one_row), 7 / 3)
        same(ug.corrcoef(one_row), 1.0)
        counts, weights = ug.tensor([2, 1, 3]), ug.tensor([0.5, 1.0, 0.25])
        same(ug.cov(one_row, fweights=counts), np.cov([1, 2, 4], fweights=[2, 1, 3]))
        expected = np.cov([1, 2, 4], fweights=[2, 1, 3], aweights=[0.5, 1.0, 0.25])
        same(ug.cov(one_row, fweights=counts, aweights=weights), expected)
        same(ug.cov(one_row, correction=0, aweights=weights), np.cov([1, 2, 4], aweights=[0.5, 1.0, 0.25], ddof=0))
    for wrong in [dict(fweights=weights), dict(aweights=counts), dict(fweights=ug.tensor([1]))]:
        with pytest.raises(ug.Error, match="weights|counts"):
            ug.cov(one_row, **wrong)


@pytest.mark.parametrize("dtype", [ug.int64, ug.int32, ug.int16, ug.int8, ug.uint8])
def test_windows_of_integers_are_integers(dtype):
    image, kernel = ug.arange(16, dtype=dtype).reshape(1, 1, 4, 4), ug.ones(1, 1, 2, 2, dtype=dtype)
    y = F.conv2d(image, kernel, stride=2)
    assert y.dtype == dtype and y.flatten().tolist() == [10, 18, 42, 50]
    assert F.conv_transpose2d(y, kernel).dtype == dtype
    pooled = F.avg_pool2d(image, 3)
    assert pooled.dtype == dtype and pooled.item() == 5
    assert F.avg_pool1d(image[0], 2, padding=1, count_include_pad=False).dtype == dtype
    assert F.hardtanh(image, 1.0, 2.5).dtype == dtype and F.hardtanh(image, 1.0, 2.5).max().item() == 2
    assert F.hardtanh(image, 0.0, 300.0).max().item() == 15


def test_averages_of_integers_are_rounded_toward_zero():
    assert F.avg_pool1d(ug.tensor([[-3, -4, 3, 4]]), 2).tolist() == [[-3, 3]]
    assert F.avg_pool1d(ug.tensor([[-3, -4, 3]]), 2, ceil_mode=True).tolist() == [[-3, 3]]
    with pytest.raises(ug.DTypeError, match="hardtanh"):
        F.hardtanh(ug.tensor([True]))


def test_unique_slices():
    rows = ug.tensor([[1, 3], [1, 2], [1, 3]])
    values, inverse, counts = rows.unique(dim=0, return_inverse=True, return_counts=True)
    assert values.tolist() == [[1, 2], [1, 3]] and inverse.tolist() == [1, 0, 1] and counts.tolist() == [1, 2]
    assert rows.unique(dim=-1).tolist() == [[1, 3], [1, 2], [1, 3]]
    source = np.random.default_rng(0)
    for shape, axis in [((300, 7), 0), ((5, 400), 1), ((40, 3, 2), 0), ((2, 60, 1), 1), ((1, 4), 0)]:
        data = source.integers(0, 3, shape)
        expected = np.unique(data, axis=axis, return_inverse=True, return_counts=True)
        for got, wanted in zip(ug.tensor(data).unique(dim=axis, return_inverse=True, return_counts=True), expected):
            assert got.tolist() == wanted.reshape(got.shape).tolist()
    assert ug.zeros(0, 3).unique(dim=0).shape == (0, 3)
    with pytest.raises(ug.ShapeError, match="no elements"):
        ug.zeros(3, 0).unique(dim=0)


def test_unique_neighbours():
    values, inverse, counts = ug.unique_consecutive(ug.tensor([[1, 1, 2], [2, 2, 2]]), return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2] and inverse.tolist() == [[0, 0, 1], [1, 1, 1]] and counts.tolist() == [2, 4]
    assert ug.unique_consecutive(ug.tensor([[1, 1], [1, 1], [0, 1], [1, 1]]), dim=0).tolist() == [[1, 1], [0, 1], [1, 1]]
    assert ug.unique_consecutive(ug.zeros(0)).shape == (0,)


def test_ranges_of_integers_step_by_integers():
    assert ug.arange(-0.9, 2.1, 2.0, dtype=ug.int64).tolist() == [0, 2]
    assert ug.arange(2.1, -2.9, -1.0, dtype=ug.int32).tolist() == [2, 1, 0, -1, -2]
    assert ug.logspace(0.5, 3.7, 4, dtype=ug.int64).tolist() == [1, 10, 100, 1000]
    assert ug.linspace(-5, 5, 4, dtype=ug.int32).tolist() == [-5, -1, 1, 5]
    assert ug.tril_indices(2, 2, dtype=ug.int32).dtype == ug.triu_indices(2, 2, dtype=ug.int32).dtype == ug.int32


def test_losses_broadcast():
    a, b = ug.tensor([[1.0, 2.0], [3.0, 4.0]]), ug.tensor([1.0, -1.0])
    same(F.hinge_embedding_loss(a, b, reduction="none"), [[1.0, 0.0], [3.0, 0.0]])
    same(F.margin_ranking_loss(a, ug.zeros(1, 2), b.unsqueeze(0), reduction="none"), [[0.0, 2.0], [0.0, 4.0]])
    wide = F.gaussian_nll_loss(a, ug.zeros(2), ug.ones(2, 1), reduction="none")
    same(wide, F.gaussian_nll_loss(a, ug.zeros(2, 2), ug.ones(2), reduction="none").tolist())
    assert F.gaussian_nll_loss(a, ug.zeros(2, 2), ug.ones(1, 2)).shape == ()
    for wrong in [lambda: F.margin_ranking_loss(a, b, b), lambda: F.gaussian_nll_loss(a, a, ug.ones(1, 1)), lambda: F.hinge_embedding_loss(a, ug.ones(3))]:
        with pytest.raises(ug.ShapeError):
            wrong()
    assert F.multi_margin_loss(ug.tensor([1.0, 2.0]), ug.tensor([1]), reduction="none").shape == (1,)


def test_norms_of_nothing_move_no_statistics():
    for shape in [(0, 3), (0, 3, 2), (2, 3, 0)]:
        norm = ug.nn.BatchNorm1d(3)
        y = norm(ug.zeros(shape, requires_grad=True))
        assert y.shape == shape and norm.num_batches_tracked.item() == 1
        assert norm.running_mean.tolist() == [0.0] * 3 and norm.running_var.tolist() == [1.0] * 3
        y.sum().backward()
        assert norm.weight.grad.tolist() == norm.bias.grad.tolist() == [0.0] * 3
        mean, var = ug.ones(3), ug.ones(3) * 2
        assert F.batch_norm(ug.zeros(shape), mean, var, training=True).shape == shape and mean.tolist() == [1.0] * 3 and var.tolist() == [2.0] * 3


def test_embeddings_shorten_rows_in_place():
    table = ug.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], requires_grad=True)
    y = F.embedding(ug.tensor([[0, 1], [0, 0]]), table, max_norm=1.0)
    same(table, [[0.6, 0.8], [0.3, 0.4], [6.0, 8.0]])
    same(y[0], [[0.6, 0.8], [0.3, 0.4]])
    y.sum().backward()
    assert table.grad.tolist() == [[3.0, 3.0], [1.0, 1.0], [0.0, 0.0]]
    layer = ug.nn.Embedding(4, 3, max_norm=0.5)
    layer(ug.tensor([1, 2]))
    assert (layer.weight.detach()[1:3].norm(2, dim=1) < 0.5001).all().item()
    F.embedding_bag(ug.tensor([[2]]), table, max_norm=1.0)
    same(table[2], [0.6, 0.8])


def test_the_first_argument_is_input():
    same(ug.exp(input=ug.zeros(1)), [1.0])
    same(ug.sum(input=x, dim=0), [5.0, 7.0, 9.0])
    same(ug.addmm(input=ug.zeros(2, 2), mat1=x, mat2=x.T, beta=0.5), [[14.0, 32.0], [32.0, 77.0]])
    same(ug.where(x[0] > 1, input=x[0], other=0.0), [0.0, 2.0, 3.0])
    same(ug.mul(2.0, 3), 6.0)
    assert ug.repeat_interleave(ug.tensor([1, 2]), ug.tensor([1, 2]), output_size=3).tolist() == [1, 2, 2]
    with pytest.raises(ValueError, match="output_size"):
        ug.repeat_interleave(ug.tensor([1, 2]), 2, output_size=3)
    same(ug.cdist(x, x[:1], compute_mode="donot_use_mm_for_euclid_dist"), [[0.0], [math.sqrt(27)]])
    with pytest.raises(ValueError, match="compute_mode"):
        ug.cdist(x, x, compute_mode="fast")
    with pytest.raises(TypeError):
        ug.exp()


def test_attention_broadcasts_batches():
    q, k, v = ug.randn(3, 2, 8), ug.randn(4, 3, 5, 8), ug.randn(1, 3, 5, 6)
    y = F.scaled_dot_product_attention(q, k, v)
    expected = ((q @ k.transpose(-1, -2)) / math.sqrt(8)).softmax(-1) @ v
    np.testing.assert_allclose(np.asarray(y), np.asarray(expected), rtol=1e-4, atol=1e-5)


MORE = {
    "ldexp": (lambda: ug.ldexp(ug.tensor([1.0, 2.0]), ug.tensor([1, 3])), [2.0, 16.0]),
    "addbmm": (lambda: ug.addbmm(ug.ones(2, 2), ug.ones(3, 2, 4), ug.ones(3, 4, 2), beta=2, alpha=0.5), [[8.0, 8.0], [8.0, 8.0]]),
    "renorm": (lambda: ug.renorm(ug.arange(6.0).reshape(2, 3), 2, 0, 1.0)[1], [0.424264, 0.565685, 0.707107]),
    "gradient": (lambda: ug.gradient(x, dim=1)[0], [[1.0] * 3] * 2),
    "gradient at places": (lambda: ug.gradient(ug.tensor([0.0, 1.0, 9.0, 16.0]), spacing=(ug.tensor([0.0, 1.0, 3.0, 4.0]),), edge_order=2)[0], [0.0, 2.0, 6.0, 8.0]),
    "select_scatter": (lambda: ug.select_scatter(ug.zeros(2, 2), ug.ones(2), 1, 0), [[1.0, 0.0], [1.0, 0.0]]),
    "slice_scatter": (lambda: ug.slice_scatter(ug.zeros(2, 3), ug.ones(2, 2), 1, 0, 3, 2), [[1.0, 0.0, 1.0]] * 2),
    "diagonal_scatter": (lambda: ug.diagonal_scatter(ug.zeros(2, 2), ug.ones(1), 1), [[0.0, 1.0], [0.0, 0.0]]),
    "unravel_index": (lambda: ug.stack(ug.unravel_index(ug.tensor([1, 5]), (2, 3))), [[0, 1], [1, 2]]),
    "cartesian_prod": (lambda: ug.cartesian_prod(ug.tensor([1, 2]), ug.tensor([3])), [[1, 3], [2, 3]]),
    "combinations": (lambda: ug.combinations(ug.tensor([1, 2]), 2, with_replacement=True), [[1, 1], [1, 2], [2, 2]]),
    "sum_to_size": (lambda: x.sum_to_size(3), [5.0, 7.0, 9.0]),
    "split_with_sizes": (lambda: ug.split_with_sizes(x, [1, 2], dim=1)[1], [[2.0, 3.0], [5.0, 6.0]]),
    "isneginf": (lambda: ug.isneginf(ug.tensor([-math.inf, math.inf, NAN])), [True, False, False]),
    "isposinf": (lambda: ug.isposinf(ug.tensor([-math.inf, math.inf, NAN])), [False, True, False]),
    "angle": (lambda: ug.angle(ug.tensor([-1.0, 0.0, NAN])), [math.pi, 0.0, NAN]),
    "msort": (lambda: ug.msort(ug.tensor([2, 1])), [1, 2]),
    "shift": (lambda: ug.bitwise_left_shift(ug.tensor([1, 2]), 3), [8, 16]),
    "permute_copy": (lambda: ug.permute_copy(x, (1, 0)), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
    "scalar_tensor": (lambda: ug.scalar_tensor(2), 2.0),
    "sign of bools": (lambda: ug.sign(ug.tensor([True, False])), [True, False]),
    "square of bools": (lambda: ug.square(ug.tensor([True, False])), [1, 0]),
    "no differences": (lambda: ug.diff(ug.tensor([1, 2]), 0, prepend=ug.tensor([0])), [1, 2]),
    "weights of integers": (lambda: ug.bincount(ug.tensor([0, 1, 1]), weights=ug.tensor([1, 2, 3])), [1.0, 5.0]),
    "logit beyond": (lambda: ug.logit(ug.tensor([0.1, 0.9]), 0.6), [math.log(1.5), -math.log(1.5)]),
}


@pytest.mark.parametrize("name", MORE)
def test_gives_what_pytorch_gives(name):
    call, expected = MORE[name]
    got = np.asarray(call())
    np.testing.assert_allclose(got, expected, rtol=1e-5)
    assert got.dtype.kind == np.asarray(expected).dtype.kind or name == "angle"


def test_drops_that_do_not_train_unless_told():
    assert F.alpha_dropout(x).tolist() == F.feature_alpha_dropout(x).tolist() == x.tolist()
    assert F.feature_alpha_dropout(ug.tensor(3)).dtype == ug.int64


def test_a_condition_is_a_tensor():
    with pytest.raises(TypeError, match="condition"):
        ug.where(True, 1, 2)


def test_functions_are_pickled_by_name():
    import pickle

    assert pickle.loads(pickle.dumps(ug.exp)) is ug.exp


def test_settings_out_of_order_are_refused():
    for wrong, words in [
        (lambda: F.hardtanh(x, 0.5, -0.5), "min_val"),
        (lambda: F.softshrink(x, -0.5), "lambd"),
        (lambda: F.rrelu(x, 0.3, 0.1), "lower"),
        (lambda: ug.gradient(x, dim=(1, 1)), "twice"),
        (lambda: ug.gradient(x, edge_order=2), "at least 3"),
        (lambda: ug.sum_to_size(x, 5), "broadcast"),
        (lambda: ug.select_scatter(x, ug.ones(2), 0, 0), "src"),
    ]:
        with pytest.raises(ug.ArgumentError, match=words):
            wrong()
    with pytest.raises(TypeError):
        ug.pow(2, 3)


def test_gradients_of_compositions():
    w = ug.arange(6.0).reshape(2, 3).requires_grad_()
    same(ug.grad(ug.slice_scatter(w, ug.zeros(2, 1), 1, 0, 1).sum(), [w])[0], [[0.0, 1.0, 1.0]] * 2)
    src = ug.ones(2, requires_grad=True)
    same(ug.grad((ug.select_scatter(w, src, 1, 2) * 3).sum(), [src])[0], [3.0, 3.0])
    same(ug.grad(ug.angle(w - 2.0).sum(), [w])[0], [[0.0] * 3] * 2)
    same(ug.grad(w.sum_to_size(1, 3).sum(), [w])[0], [[1.0] * 3] * 2)


def test_pads_that_cut():
    """What is mirrored or repeated is looked up before anything is cut; `circular` goes round what is left. PyTorch's values."""
    rows = [
        ("replicate", [-4, 1], [4.0], [0.0, 0.0, 0.0, 1.0]),
        ("replicate", [-5, 2], [4.0], [0.0, 0.0, 0.0, 1.0]),
        ("replicate", [1, -4], [1.0], [1.0, 0.0, 0.0, 0.0]),
        ("replicate", [-1, 2], [2.0, 3.0, 4.0, 4.0, 4.0], [0.0, 1.0, 1.0, 3.0]),
        ("reflect", [-3, 1], [4.0, 3.0], [0.0, 0.0, 1.0, 1.0]),
        ("reflect", [-4, 1], [3.0], [0.0, 0.0, 1.0, 0.0]),
        ("reflect", [-5, 2], [2.0], [0.0, 1.0, 0.0, 0.0]),
        ("reflect", [1, -4], [2.0], [0.0, 1.0, 0.0, 0.0]),
        ("reflect", [-1, 2], [2.0, 3.0, 4.0, 3.0, 2.0], [0.0, 2.0, 2.0, 1.0]),
        ("circular", [-1, 2], [2.0, 3.0, 4.0, 2.0, 3.0], [0.0, 2.0, 2.0, 1.0]),
        ("constant", [-4, 1], [0.0], [0.0, 0.0, 0.0, 0.0]),
    ]
    for mode, pad, values, gradient in rows:
        x = ug.tensor([[[1.0, 2.0, 3.0, 4.0]]], requires_grad=True)
        y = ug.nn.functional.pad(x, pad, mode=mode)
        y.sum().backward()
        assert (y.tolist(), x.grad.tolist()) == ([[values]], [[gradient]]), (mode, pad)
    image = ug.arange(12.0).reshape(1, 1, 3, 4)
    assert ug.nn.functional.pad(image, [-2, 1, 1, -2], mode="reflect").tolist() == [[[[6.0, 7.0, 6.0], [2.0, 3.0, 2.0]]]]
    for mode, pad in (("replicate", [-4, -1]), ("constant", [-5, 2]), ("circular", [-4, 1]), ("reflect", [4, -1])):
        with pytest.raises(ValueError, match="pad"):
            ug.nn.functional.pad(ug.ones(1, 1, 4), pad, mode=mode)


def test_odd_functions_keep_the_sign_of_zero():
    for dtype in ("float32", "float64", "float16"):
        x = ug.tensor([-0.0, 1.0, -0.0, 0.0] * 9, dtype=dtype)
        for name in ("sin", "tan", "tanh", "asin", "atan", "sinh", "asinh", "atanh", "expm1", "log1p", "erf", "sqrt", "trunc"):
            signs = getattr(x, name)().signbit().tolist()
            assert signs == [True, False, True, False] * 9, (name, dtype)


def test_an_index_out_of_range_of_what_is_repeated_is_refused():
    """What is the same at each place of an axis is read without the index: it is checked all the same."""
    rows = ug.tensor([[7.0, 1.0]]).expand(3, 2)
    for wrong in [
        lambda: rows[ug.tensor([5])],
        lambda: ug.tensor([7.0]).expand(3)[ug.tensor([-4])],
        lambda: ug.tensor([[7.0], [1.0]]).expand(2, 3).index_select(1, ug.tensor([3])),
        lambda: ug.take_along_dim(ug.tensor([[-8.0]]), ug.tensor([[0, 0], [1, 0]]), 1),
        lambda: ((rows * 2.0).exp() + 1.0)[ug.tensor([0, 3])],
    ]:
        with pytest.raises(IndexError, match="out of range"):
            wrong().tolist()
    assert rows[ug.tensor([2, -3])].tolist() == [[7.0, 1.0]] * 2
    assert ug.ones(2, 1).expand(2, 3).dyn_slice(1, ug.tensor(1), 2).tolist() == [[1.0, 1.0]] * 2


def test_indices_to_gather_are_no_longer_than_what_they_read():
    with pytest.raises(ug.ShapeError, match="axis 0 is longer"):
        ug.gather(ug.ones(1, 2), 1, ug.tensor([[0, 0], [1, 0]]))
    w = ug.ones(5, requires_grad=True)
    y = ug.gather(w, 0, ug.zeros(2, 0, dtype=ug.int64))
    assert y.shape == (2, 0) and ug.grad(y.sum(), [w])[0].tolist() == [0.0] * 5


def test_numbers_of_elements_are_taken_apart_in_64_bits():
    columns = ug.unravel_index(ug.tensor([3, 200], dtype=ug.uint8), (4, 1 << 30))
    assert [x.tolist() for x in columns] == [[0, 0], [3, 200]] and columns[0].dtype == ug.int64
    assert ug.unravel_index(ug.tensor(2**63 - 2), (1, 2**63 - 1))[1].item() == 2**63 - 2
    with pytest.raises(ug.DTypeError, match="integers"):
        ug.unravel_index(ug.ones(2), (2, 2))


def test_sums_of_products_keep_dtypes():
    whole = [ug.ones(shape, dtype=ug.int32) for shape in ((2, 3), (4, 2, 5), (4, 5, 3))]
    y = ug.addbmm(*whole)
    assert y.dtype == ug.int32 and y.tolist() == [[21] * 3] * 2
    # Factors of integers are integers: 0.6 is 0.
    assert ug.addbmm(*(x.to(ug.int64) for x in whole), beta=0.6, alpha=2.7).tolist() == [[40] * 3] * 2
    with pytest.raises(ug.ShapeError, match="products"):
        ug.addbmm(ug.ones(2, 3), ug.ones(4, 2, 5), ug.ones(4, 4, 3))
    assert ug.ldexp(ug.ones(2, dtype=ug.bfloat16), ug.tensor([1, 2])).dtype == ug.bfloat16
    assert ug.ldexp(ug.tensor([2.0**-24], dtype=ug.float16), ug.tensor([24])).tolist() == [1.0]


def test_addends_are_made_in_the_dtype_of_the_sum():
    third = ug.tensor([1.0], dtype=ug.float32) / 3
    zero = ug.zeros(1, dtype=ug.float64)
    wide = third.to(ug.float64).item()
    assert zero.addcmul(third, third, value=1.0).item() == wide * wide
    np.testing.assert_allclose(zero.addcdiv(ug.ones(1), third, value=3.0).item(), 3 / wide, rtol=1e-15)
    x, weights = ug.tensor([1.0, 4.0, 2.0], dtype=ug.float64), ug.tensor([0.25, 0.1, 0.6], dtype=ug.float32)
    np.testing.assert_allclose(ug.cov(x, aweights=weights).item(), np.cov([1, 4, 2], aweights=np.asarray(weights, np.float64)), rtol=1e-13)
    assert ug.cov(x.to(ug.bfloat16), aweights=weights).dtype == ug.float32


def test_rounded_quotients_have_no_slope():
    for mode in ("trunc", "floor"):
        a = ug.tensor([1.0, 0.0, 3.0, math.inf, 2.0], dtype=ug.float64, requires_grad=True)
        b = ug.tensor([0.0, 0.0, 2.0, 2.0, 1e-300], dtype=ug.float64, requires_grad=True)
        for slope in ug.grad(ug.div(a, b, rounding_mode=mode).sum(), [a, b]):
            assert slope.tolist() == [0.0] * 5, mode


def test_quantiles_move_with_q():
    data = ug.tensor([[1.0, 5.0, 2.0], [7.0, 3.0, 4.0]], dtype=ug.float64)
    q = ug.tensor([0.3, 0.6], dtype=ug.float64, requires_grad=True)
    y = ug.quantile(data, q, dim=1)
    same(ug.grad((y * ug.tensor([[1.0, 2.0], [3.0, 4.0]])).sum(), [q])[0], [6.0, 42.0])
    q = ug.tensor(0.7, dtype=ug.float64, requires_grad=True)
    gaps = ug.tensor([1.0, NAN, 3.0, 7.0], dtype=ug.float64)
    y = ug.nanquantile(gaps, q)
    assert y.shape == () and ug.grad(y, [q])[0].item() == 8.0


def test_arguments_beyond_their_range_are_refused():
    ones = ug.ones(2, 2)
    for wrong, kind, words in [
        (lambda: ug.gradient(ones, dim=3), ug.AxisError, "dim"),
        (lambda: ug.renorm(ones, 2, 5, 1.0), ug.AxisError, "dim"),
        (lambda: ug.isclose(ones, ones, rtol=-0.5), ug.ArgumentError, "tolerances"),
        (lambda: ug.isclose(ones, ones, atol=NAN), ug.ArgumentError, "tolerances"),
        (lambda: ug.flipud(ug.tensor(1.0)), ug.ArgumentError, "axis"),
        (lambda: F.huber_loss(ones, ones, delta=0.0), ug.ArgumentError, "delta"),
        (lambda: F.triplet_margin_loss(ones, ones, ones, margin=-1.0), ug.ArgumentError, "margin"),
        (lambda: F.triplet_margin_with_distance_loss(ones, ones, ones, margin=0.0), ug.ArgumentError, "margin"),
        (lambda: F.max_unpool2d(ug.ones(1, 1, 2, 2), ug.zeros(1, 1, 2, 2, dtype=ug.int64), 2, stride=0), ug.ArgumentError, "stride"),
        (lambda: F.embedding(ug.tensor([0]), ug.ones(1, 1, 1)), ug.ArgumentError, "weight"),
        (lambda: ones.narrow(0, 0, -1), ValueError, "0 or more"),
        (lambda: ug.diff(ones, -1), ValueError, "0 or more"),
        (lambda: ug.linspace(0, 1, -1), ValueError, "0 or more"),
        (lambda: ug.logspace(0, 1, -1), ValueError, "0 or more"),
        (lambda: ug.clamp_min(2, ones), TypeError, "input"),
    ]:
        with pytest.raises(kind, match=words):
            wrong()


def test_batch_norms_may_have_no_bias():
    norm = ug.nn.BatchNorm1d(3, bias=False)
    assert norm.bias is None and list(norm.state_dict()) == ["weight", "running_mean", "running_var", "num_batches_tracked"]
    y = norm(ug.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    same(y.mean(0), [0.0] * 3)


@pytest.mark.parametrize("norm", [ug.nn.GroupNorm(1, 3, bias=False), ug.nn.InstanceNorm1d(3, affine=True, bias=False)])
def test_norms_of_examples_may_have_no_bias(norm):
    assert norm.bias is None and list(norm.state_dict()) == ["weight"]
    same(norm(ug.tensor([[[1.0, 3.0]] * 3])).mean(), 0.0)


def test_labels_of_sequences_one_after_another():
    steps = (ug.arange(60.0).reshape(5, 3, 4) % 7.0).log_softmax(-1)
    rows, counts = ug.tensor([[1, 2, 3], [3, 0, 0], [2, 2, 0]]), [3, 1, 2]
    expected = F.ctc_loss(steps, rows, [5, 5, 5], counts, reduction="none").tolist()
    joined = ug.tensor([1, 2, 3, 3, 2, 2], dtype=ug.int32)
    for lengths in (counts, tuple(counts), ug.tensor(counts)):
        same(F.ctc_loss(steps, joined, (5, 5, 5), lengths, reduction="none"), expected)
    same(ug.nn.CTCLoss(reduction="sum")(steps, joined, (5, 5, 5), counts), sum(expected))
    assert F.ctc_loss(steps, ug.zeros(0, dtype=ug.int64), (5, 5, 5), (0, 0, 0), reduction="none").shape == (3,)
    with pytest.raises(ug.ArgumentError, match="target_lengths"):
        F.ctc_loss(steps, joined, (5, 5, 5), (3, 1, 1))


def test_states_and_targets_of_other_kinds_are_refused():
    for cell in (ug.nn.RNNCell(2, 3), ug.nn.GRUCell(2, 3)):
        with pytest.raises(ug.ArgumentError, match="hx"):
            cell(ug.zeros(4, 2), ug.zeros(4, 1, 1, 3))
    with pytest.raises(ug.ArgumentError, match="hx"):
        ug.nn.LSTMCell(2, 3)(ug.zeros(4, 2), (ug.zeros(4, 1, 1, 3), ug.zeros(4, 3)))
    with pytest.raises(ug.ArgumentError, match="ignore_index"):
        F.cross_entropy(ug.zeros(2, 3), ug.ones(2, 3) / 3, ignore_index=1)


def test_tensordot_pairs_one_with_many():
    a, b = ug.tensor([[1.0, 2.0, 3.0]], requires_grad=True), ug.arange(8.0).reshape(4, 2).requires_grad_()
    # PyTorch's own numbers.
    y = ug.tensordot(a, b, dims=([0], [0]))
    same(y, [[12.0, 16.0], [24.0, 32.0], [36.0, 48.0]])
    by_a, by_b = ug.grad(y.sum(), [a, b])
    same(by_a, [[28.0] * 3])
    same(by_b, [[6.0] * 2] * 4)
    many = ug.tensor([[1, 2], [3, 4]], dtype=ug.int32)
    counts = ug.tensordot(many, ug.ones(1, 1, dtype=ug.int32), dims=([1], [0]))
    assert counts.dtype == ug.int32 and counts.tolist() == [[3], [7]]
    with pytest.raises(ug.ShapeError, match="tensordot"):
        ug.tensordot(ug.ones(2, 3), ug.ones(2, 3), dims=([1], [0]))


def test_truths_stay_truths():
    p, q = ug.tensor([[True, False], [True, True]]), ug.tensor([True, False])
    for alpha, expected in ((True, [True, True]), (False, [True, False])):
        assert p[0].add(ug.tensor([False, True]), alpha=alpha).tolist() == expected
    assert ug.zeros(2, dtype=ug.bool).index_add(0, ug.tensor([1]), ug.tensor([True]), alpha=True).tolist() == [False, True]
    with pytest.raises(TypeError, match="alpha"):
        ug.ones(2).add(ug.ones(2), alpha=True)
    for beta, alpha in itertools.product((0, 3), (0, 2)):
        y = p.addr(q, q, beta=beta, alpha=alpha)
        expected = [[(beta and p[i, j].item()) or (alpha and i == j == 0) for j in range(2)] for i in range(2)]
        assert y.dtype == ug.bool and y.tolist() == [[bool(one) for one in row] for row in expected]


def test_bytes_of_pictures_stay_bytes():
    image = ug.tensor([[[[0, 255], [255, 0]]]], dtype=ug.uint8)
    for mode in ("bilinear", "bicubic", "nearest"):
        assert F.interpolate(image, size=(3, 3), mode=mode).dtype == ug.uint8
    assert F.interpolate(image, size=(3, 3), mode="bilinear", align_corners=True).tolist() == [[[[0, 128, 255], [128, 128, 128], [255, 128, 0]]]]
    sharp = F.interpolate(image, size=(4, 4), mode="bicubic")
    assert sharp.min().item() == 0 and sharp.max().item() == 255


def test_nothing_is_normalized_to_nothing():
    empty = ug.zeros(0)
    assert F.batch_norm(empty, empty, empty, training=True).shape == (0,)
    counts = ug.zeros(0, 1, 2, dtype=ug.int64)
    assert F.local_response_norm(counts, 1).dtype == ug.int64
    assert ug.tensor(True).sum_to_size(()).dtype == ug.int64


def test_targets_below_zero_have_no_divergence():
    logs = ug.tensor([0.5, 0.5, 0.5], requires_grad=True)
    loss = F.kl_div(logs, ug.tensor([-0.5, 0.0, 0.5]), reduction="none")
    same(loss, [NAN, 0.0, 0.5 * math.log(0.5) - 0.25])
    same(ug.grad(loss.sum(), logs)[0], [0.5, 0.0, -0.5])


def test_to_takes_what_programs_for_accelerators_say():
    a = ug.tensor([1.5, 2.5])
    assert a.to("cpu", non_blocking=True).tolist() == [1.5, 2.5]
    assert a.to("cpu", ug.int32, True).tolist() == [1, 2] and a.to(ug.float64, False, True).dtype == ug.float64
    assert a.to("cpu", None, False, True) is not a and a.to("cpu", False) is a
    with pytest.raises(TypeError, match="non_blocking"):
        a.to("cpu", True, True, True)
    assert a.byte().dtype == ug.uint8 and a.char().dtype == ug.int8


def test_gradients_of_gradients_by_pytorchs_keywords():
    w = ug.tensor([2.0, 3.0], requires_grad=True)
    (first,) = ug.autograd.grad((w**3).sum(), w, create_graph=True, retain_graph=True)
    same(ug.grad(first.sum(), w)[0], [12.0, 18.0])


def test_numbers_are_shifted_by_tensors():
    by = ug.tensor([0, 2])
    assert ug.bitwise_left_shift(3, by).tolist() == [3, 12] and ug.bitwise_right_shift(12, by).tolist() == [12, 3]


def test_sizes_below_zero_are_refused_by_name():
    image, kernel = ug.ones(1, 2, 4), ug.ones(2, 2, 2)
    for wrong, kind, words in [
        (lambda: ug.eye(-1), ValueError, "0 or more"),
        (lambda: ug.eye(2, -1), ValueError, "0 or more"),
        (lambda: F.conv1d(image, kernel, groups=-1), ug.ArgumentError, "groups"),
        (lambda: F.conv_transpose1d(image, kernel, groups=0), ug.ArgumentError, "groups"),
        (lambda: ug.ones(2, 2).rot90(1, (0,)), ug.ArgumentError, "dims"),
        (lambda: ug.ones(2, 2).rot90(1, (0, 1, 1)), ug.ArgumentError, "dims"),
    ]:
        with pytest.raises(kind, match=words):
            wrong()
    assert ug.tensor([[1, 2], [3, 4]]).rot90(dims=[0, 1]).tolist() == [[2, 4], [1, 3]]


def test_more_methods_in_place():
    hot = ug.zeros(2, 3)
    assert hot.scatter_(1, ug.tensor([[2], [0]]), 1.0) is hot and hot.tolist() == [[0, 0, 1], [1, 0, 0]]
    hot.scatter_add_(1, ug.tensor([[2], [2]]), ug.ones(2, 1))
    assert hot.tolist() == [[0, 0, 2], [1, 0, 1]]
    sums = ug.zeros(3)
    sums.index_add_(0, ug.tensor([0, 0, 2]), ug.ones(3)).masked_scatter_(ug.tensor([False, True, False]), ug.tensor([7.0]))
    assert sums.tolist() == [2, 7, 1]
    flags = ug.tensor([1.0, 2.0])
    assert flags.eq_(2).tolist() == [0.0, 1.0] and ug.zeros(2, dtype=ug.bool).fill_(True).tolist() == [True, True]
    with pytest.raises(ug.ArgumentError, match="sinh_"):
        ug.tensor([1, 2]).sinh_()
    with pytest.raises(ug.AutogradError):
        ug.ones(2, requires_grad=True).multiply_(2)


def test_random_numbers_in_place():
    ug.manual_seed(3)
    n = 20_000
    assert abs(ug.zeros(n).bernoulli_(0.25).mean().item() - 0.25) < 0.02
    assert set(ug.zeros(n, dtype=ug.int64).bernoulli_(ug.tensor(0.5)).tolist()) == {0, 1}
    gaps = ug.zeros(n).exponential_(2.0)
    assert abs(gaps.mean().item() - 0.5) < 0.02 and gaps.min().item() >= 0
    trials = ug.zeros(n, dtype=ug.int64).geometric_(0.25)
    assert abs(trials.float().mean().item() - 4) < 0.15 and trials.min().item() == 1
    assert abs(ug.zeros(n).log_normal_(0.5, 0.25).log().mean().item() - 0.5) < 0.02
    assert abs(ug.zeros(n).cauchy_(1.0, 0.5).median().item() - 1) < 0.05
    for wrong in (lambda: ug.zeros(2).bernoulli_(1.5), lambda: ug.zeros(2).exponential_(0.0), lambda: ug.zeros(2).geometric_(0.0)):
        with pytest.raises(ug.ArgumentError):
            wrong()


def test_a_convolution_with_one_window_is_mapped():
    x = ug.arange(72.0).reshape(3, 1, 2, 4, 3).sin()
    kernel = ug.arange(96.0).reshape(4, 2, 3, 4).cos()
    y = ug.func.vmap(lambda one: F.conv2d(one, kernel, stride=2, padding=1))(x)
    assert y.shape == (3, 1, 4, 2, 1)
    for one, own in zip(y, x):
        same(one, np.asarray(F.conv2d(own, kernel, stride=2, padding=1)))


def test_linear_cross_entropy_by_pytorchs_keywords():
    x, weight = ug.arange(8.0).reshape(2, 4).sin(), ug.arange(12.0).reshape(3, 4).cos()
    targets, of_classes = ug.tensor([0, 2]), ug.tensor([1.0, 2.0, 0.5])
    logits = F.linear(x, weight, ug.ones(3))
    expected = F.cross_entropy(logits, targets, of_classes, ignore_index=2, label_smoothing=0.1)
    given = dict(linear_bias=ug.ones(3), weight=of_classes, ignore_index=2, label_smoothing=0.1, options=None)
    same(F.linear_cross_entropy(x, weight, targets, **given), expected.item())
    loss = ug.nn.LinearCrossEntropyLoss(4, 3, out_features=(2,), weight=of_classes, reduction="none")
    assert loss.linear.weight.shape == (6, 4)
    y = loss(x, ug.tensor([[0, 1], [2, 0]]))
    wide = F.linear(x, loss.linear.weight).reshape(2, 3, 2)
    same(y, np.asarray(F.cross_entropy(wide, ug.tensor([[0, 1], [2, 0]]), of_classes, reduction="none")))
    shares = ug.tensor([[0.25, 0.25, 0.5], [1.0, 0.0, 0.0]])
    plain = ug.nn.LinearCrossEntropyLoss(4, 3)
    same(plain(x, shares), F.cross_entropy(plain.linear(x), shares).item())
    assert ug.nn.LinearCrossEntropyLoss(4, 3, reduction="none")(x.reshape(2, 1, 4), targets.reshape(2, 1)).shape == (2, 1)
    for wrong in (lambda: plain(x, ug.tensor([1])), lambda: ug.nn.LinearCrossEntropyLoss(4, 3, weight=ug.ones(2)), lambda: F.linear_cross_entropy(x, ug.ones(4), targets)):
        with pytest.raises(ug.ArgumentError):
            wrong()


def test_metrics_are_copied_with_their_counts():
    scores, labels = ug.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]]), ug.tensor([1, 1, 1])
    for metric in (ug.metrics.Accuracy(), ug.metrics.TopKAccuracy(1), ug.metrics.F1Score(2, average="micro"), ug.metrics.ConfusionMatrix(2)):
        metric.update(scores, labels)
        for other in (copy.copy(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
            assert other.compute() == metric.compute()
            before = metric.compute()
            other.update(scores, ug.tensor([0, 0, 0]))
            assert other.compute() != before and metric.compute() == before
    assert math.isnan(pickle.loads(pickle.dumps(ug.metrics.Accuracy())).compute())


def test_the_memory_of_lbfgs_is_saved():
    def made(values=((1.0, -2.0), (0.5, 3.0))):
        w = ug.nn.Parameter(ug.tensor(values))
        return w, ug.optim.LBFGS([w], lr=0.1, max_iter=2)

    def steps(w, optimizer, n):
        def closure():
            optimizer.zero_grad()
            loss = ((w - 1) ** 4).sum()
            loss.backward()
            return loss

        for _ in range(n):
            optimizer.step(closure)

    w, optimizer = made()
    assert optimizer.state_dict()["state"] == {}
    steps(w, optimizer, 3)
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [0] and {"n_iter", "func_evals", "old_dirs", "old_stps", "ro", "H_diag", "d", "t"} <= set(saved["state"][0])
    other_w, other = made(w.tolist())
    other.load_state_dict(copy.deepcopy(saved))
    again = pickle.loads(pickle.dumps(optimizer))
    steps(w, optimizer, 2)
    steps(other_w, other, 2)
    assert other_w.tolist() == w.tolist() and other.n_steps == optimizer.n_steps == 5 and again.n_steps == 3
    # A new one's state forgets.
    other.load_state_dict(made()[1].state_dict())
    assert other.n_steps == 0
    del saved["state"][0]["ro"]
    with pytest.raises(ug.StateDictError, match="ro"):
        other.load_state_dict(saved)


def test_elements_may_be_nan_and_are_exact():
    great = 2**53 + 1
    assert ug.ones(2).fill_(NAN).isnan().tolist() == [True, True]
    assert ug.zeros(2, dtype=ug.int64).fill_(great).tolist() == [great, great]
    assert ug.ones(2, dtype=ug.int64).fill_(2.7).tolist() == [2, 2]
    i = ug.tensor([1])
    assert ug.ones(2).scatter(0, i, NAN).isnan().tolist() == [False, True]
    assert ug.ones(2).scatter_(0, i, NAN).isnan().tolist() == [False, True]
    assert ug.ones(2).scatter(0, i, NAN, reduce="add").isnan().tolist() == [False, True]
    assert ug.zeros(2, dtype=ug.int64).scatter(0, i, great).tolist() == [0, great]
    assert ug.zeros(2, dtype=ug.bool).scatter(0, i, True).tolist() == [False, True]
    assert ug.zeros(2).scatter(0, i, np.bool_(True)).tolist() == [0, 1]
    for wrong in ("a", [1], 1j):
        with pytest.raises(TypeError, match="'value': a number is wanted"):
            ug.ones(2).fill_(wrong)
        with pytest.raises(TypeError, match="'src': a number is wanted"):
            ug.ones(2).scatter(0, i, wrong)


def test_ldexp_lets_what_has_no_axes_weigh_less():
    assert ug.tensor(2.0, dtype=ug.float64).ldexp(ug.ones(1)).dtype == ug.float32
    assert ug.ones(2).ldexp(ug.tensor(3.0, dtype=ug.float64)).dtype == ug.float32
    assert ug.ones(2, dtype=ug.float16).ldexp(ug.tensor([1, 2])).dtype == ug.float16
    assert ug.tensor([1.5, 3.0]).ldexp(ug.tensor([2, -1])).tolist() == [6.0, 1.5]


def test_places_along_an_axis_of_one_beside_a_product():
    y = ug.ones(16, 3) @ ug.ones(3, 1)
    assert y.argmax(1).tolist() == [0] * 16
    assert y.max(1).values.tolist() == [3.0] * 16
    assert y.tolist() == [[3.0]] * 16


def test_one_number_formats_as_a_number():
    assert f"{ug.tensor(1.5)}" == "1.5" and f"{ug.tensor(3)}" == "3"
    assert f"{ug.tensor(1.25, requires_grad=True):.1f}" == "1.2"
    assert f"{ug.ones(2)}" == repr(ug.ones(2))


def test_whole_numbers_print_all_digits():
    assert "9007199254740993" in repr(ug.tensor(2**53 + 1))


def test_assignment_drops_leading_axes_of_one():
    y = ug.zeros(2, 3)
    y[0] = ug.ones(1, 3)
    y[1, 0] = ug.full((1, 1), 2.0)
    assert y.tolist() == [[1.0, 1.0, 1.0], [2.0, 0.0, 0.0]]
    with pytest.raises(ValueError):
        y[0] = ug.ones(2, 3)


def test_numbers_that_integers_do_not_hold():
    byte = ug.tensor([1], dtype=ug.uint8)
    for value in (300, -256, 1e10, math.inf, NAN, 2**63):
        calls = (
            lambda: ug.full((1,), value, dtype=ug.uint8),
            lambda: ug.full_like(byte, value),
            lambda: byte.new_full((1,), value),
            lambda: byte.clone().fill_(value),
            lambda: byte.clone().__setitem__(0, value),
            lambda: byte.clone().__setitem__(ug.tensor([True]), value),
            lambda: byte.masked_fill(ug.tensor([True]), value),
            lambda: byte.index_fill(0, ug.tensor([0]), value),
            lambda: ug.tensor([value], dtype=ug.uint8),
        )
        for i, call in enumerate(calls):
            with pytest.raises(ValueError, match="out of range"):
                call()
                pytest.fail(f"{value}: call {i} is accepted")
    # An integer beyond `i64` as well.
    for dtype, value, words in [(ug.int64, 2**63, "out of range"), (ug.int64, 2**70, "beyond 64 bits"), (ug.uint64, -(2**63) - 1, "beyond 64 bits")]:
        x, mask, index = ug.tensor([1, 2], dtype=dtype), ug.tensor([True, False]), ug.tensor([1])
        calls = (
            lambda: x.masked_fill(mask, value),
            lambda: x.clone().masked_fill_(mask, value),
            lambda: ug.masked_fill(x, mask, value),
            lambda: x.index_fill(0, index, value),
            lambda: x.clone().index_fill_(0, index, value),
        )
        for i, call in enumerate(calls):
            with pytest.raises(ug.ArgumentError, match=words):
                call()
                pytest.fail(f"{value}: call {i} is accepted")
    assert ug.tensor([1, 2], dtype=ug.uint64).masked_fill(ug.tensor([True, False]), 2**63).tolist() == [2**63, 2]
    assert ug.tensor([1.0, 2.0]).index_fill(0, ug.tensor([1]), 2**63).tolist() == [1.0, 2.0**63]
    # A limit is the nearest number that there is.
    for dtype, most in [(ug.int64, 2**63 - 1), (ug.int8, 127), (ug.uint64, 2**63)]:
        x = ug.tensor([1, 2], dtype=dtype)
        assert x.clamp(0, 2**63).tolist() == x.clamp(max=2**63).tolist() == x.clamp_max(2**63).tolist() == x.minimum(2**63).tolist() == [1, 2]
        assert x.clamp(min=2**63).tolist() == x.clamp_min(2**63).tolist() == x.maximum(2**63).tolist() == [most] * 2, dtype
    # Arithmetic wraps.
    some = ug.tensor([7, 200], dtype=ug.uint8)
    assert (300 // some).tolist() == [6, 0] and (300 % some).tolist() == [2, 44] and (300 - some).tolist() == [37, 100]
    assert ug.full_like(byte, -1).tolist() == [255] and byte.clone().fill_(3.7).tolist() == [3]
    assert ug.full_like(ug.ones(1, dtype=ug.float16), 1e6).tolist() == [math.inf]
    assert ug.full_like(ug.tensor([True]), 2).tolist() == [True]


def test_where_of_integers_beyond_int64():
    mask, big = ug.tensor([True, False]), 2**63
    for dtype in (ug.int64, ug.int32, ug.uint8):
        x = ug.tensor([1, 2], dtype=dtype)
        calls = {
            "input": lambda x=x: ug.where(mask, big, x),
            "other": lambda x=x: ug.where(mask, x, big),
            "yes": lambda x=x: mask.where_(big, x),
            "no": lambda x=x: mask.where_(x, big),
        }
        for name, call in calls.items():
            with pytest.raises(ug.ArgumentError, match="out of range") as raised:
                call()
            assert f"'{name}'" in "".join(raised.value.__notes__), name
            assert isinstance(raised.value, ValueError)
    # An array beside it, one number of a tensor, and whatever dtype the condition has.
    for call in (
        lambda: ug.where(mask, big, np.array([1, 2])),
        lambda: ug.where(mask, np.array([1, 2]), big),
        lambda: ug.where(mask, big, ug.tensor(1)),
        lambda: ug.where(mask.float(), ug.tensor([1, 2]), big),
    ):
        with pytest.raises(ug.ArgumentError, match="out of range"):
            call()
    for other, dtype, wanted in [
        (ug.tensor([1, 2], dtype=ug.uint64), ug.uint64, [big, 2]),
        (np.array([1, 2], dtype=np.uint64), ug.uint64, [big, 2]),
        (ug.tensor([1.0, 2.0]), ug.float32, [float(big), 2.0]),
        (ug.tensor([1.0, 2.0], dtype=ug.float64), ug.float64, [float(big), 2.0]),
        (1.5, ug.float32, [float(big), 1.5]),
        (1, ug.uint64, [big, 1]),
        (2**64 - 1, ug.uint64, [big, 2**64 - 1]),
    ]:
        for condition in (mask, mask.float(), mask.to(ug.uint8)):
            for got in (ug.where(condition, big, other), ug.where(condition.eq(0), other, big)):
                assert got.dtype == dtype and got.tolist() == wanted, (other, condition.dtype)
    # No dtype of integers holds both.
    for call in (lambda: ug.where(mask, big, -1), lambda: ug.where(mask, -1, big)):
        with pytest.raises(ug.ArgumentError, match="out of range"):
            call()
    # Other numbers are as they were.
    assert ug.where(mask, 1.5, ug.tensor([1, 2])).dtype == ug.float32
    assert ug.where(mask, 3, ug.tensor([1, 2], dtype=ug.uint8)).dtype == ug.uint8
    assert ug.where(mask, 3, 4).dtype == ug.int64 and ug.where(mask, True, False).dtype == ug.bool


def test_small_manners():
    for cast in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"):
        assert getattr(ug.tensor([1]), cast)(memory_format=ug.preserve_format).tolist() == [1]
    assert F.hardtanh(ug.tensor([1, 5], dtype=ug.uint8)).tolist() == [1, 1]
    assert F.huber_loss(ug.tensor([1.0, 5.0]), ug.tensor([2.0, 9.0], dtype=ug.float64)).dtype == ug.float32
    pooled = F.avg_pool1d(ug.tensor([[[1.0, 5.0, 2.0]]]), 4, 2, ceil_mode=True)
    same(pooled, [[[8 / 3]]])
    same(F.max_pool1d(ug.tensor([[[1.0, 5.0, 2.0]]]), 4, 2, ceil_mode=True), [[[5.0]]])
    for offsets in ([1, 2], [0, 5], [0, 2, 1], [-1, 2]):
        with pytest.raises(IndexError):
            F.embedding_bag(ug.zeros(0, dtype=ug.int64), ug.ones(3, 1), ug.tensor([0, 3])).tolist()
        bags = F.embedding_bag(ug.tensor([0, 1, 2]), ug.ones(3, 1), ug.tensor(offsets), mode="sum")
        with pytest.raises(IndexError, match="out of range"):
            bags.tolist()
