"""PyTorch's names and keywords: what each gives, by values that PyTorch gives; windows of every size beside NumPy's."""

import itertools

import numpy as np
import pytest

import unigrad as ug

F = ug.nn.functional
x = ug.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
i = ug.tensor([0, 1])

CASES = {
    "gather": (lambda: x.gather(1, ug.tensor([[0], [2]])), [[1.0], [6.0]]),
    "gather of fewer rows": (lambda: ug.gather(x, 1, ug.tensor([[2, 0, 0, 1]])), [[3.0, 1.0, 1.0, 2.0]]),
    "scatter of a number": (lambda: ug.zeros(3, dtype=ug.int64).scatter(0, ug.tensor([1]), 2), [0, 2, 0]),
    "scatter that adds": (lambda: ug.scatter(ug.ones(3), 0, ug.tensor([1, 1]), ug.ones(2), reduce="add"), [1.0, 3.0, 1.0]),
    "scatter_reduce": (lambda: ug.scatter_reduce(ug.zeros(3), 0, i, ug.ones(2), "amax"), [1.0, 1.0, 0.0]),
    "index_add": (lambda: ug.index_add(ug.zeros(3), 0, i, ug.ones(2), alpha=2), [2.0, 2.0, 0.0]),
    "flip": (lambda: x.flip(dims=[1]), [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]),
    "permute": (lambda: ug.permute(x, dims=(1, 0)), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
    "transpose": (lambda: ug.transpose(x, dim0=0, dim1=1), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
    "tile": (lambda: ug.tile(i, dims=(2,)), [0, 1, 0, 1]),
    "split": (lambda: ug.split(i, split_size_or_sections=1)[1], [1]),
    "tensor_split": (lambda: ug.tensor_split(ug.arange(5), ug.tensor([1, 3]))[1], [1, 2]),
    "add": (lambda: ug.add(i, i, alpha=3), [0, 4]),
    "sub": (lambda: i.sub(i, alpha=2), [0, -1]),
    "a number first": (lambda: ug.pow(2.0, ug.tensor([3.0])), [8.0]),
    "a number less": (lambda: ug.sub(1, i), [1, 0]),
    "addcmul": (lambda: ug.addcmul(ug.ones(2), ug.ones(2), ug.ones(2)), [2.0, 2.0]),
    "addr": (lambda: ug.addr(ug.ones(2, 2), ug.ones(2), ug.ones(2)), [[2.0, 2.0], [2.0, 2.0]]),
    "addr by names": (lambda: ug.addr(ug.ones(2, 2), vec1=ug.ones(2), vec2=ug.ones(2), beta=2, alpha=3), [[5.0, 5.0], [5.0, 5.0]]),
    "addmv": (lambda: ug.ones(2).addmv(mat=ug.ones(2, 2), vec=ug.ones(2), beta=0.5), [2.5, 2.5]),
    "rsub": (lambda: i.rsub(5, alpha=2), [5, 3]),
    "flip by position": (lambda: x.flip(0, 1), [[6.0, 5.0, 4.0], [3.0, 2.0, 1.0]]),
    "transpose by one name": (lambda: x.transpose(0, dim1=1), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
    "var": (lambda: ug.tensor([1.0, 3.0]).var(0, correction=0), 1.0),
    "softmax": (lambda: ug.softmax(ug.zeros(2), 0, dtype=ug.float64), [0.5, 0.5]),
    "tensordot": (lambda: ug.tensordot(x, x, dims=([1], [1])), [[14.0, 32.0], [32.0, 77.0]]),
    "tensordot of all": (lambda: ug.tensordot(x, x, 2), 91.0),
    "histc": (lambda: ug.histc(x, bins=2, min=0, max=8), [3.0, 3.0]),
    "searchsorted": (lambda: ug.searchsorted(x[0], ug.tensor([2.0]), side="right", out_int32=True), [2]),
    "diff": (lambda: ug.diff(x[0], prepend=ug.tensor([0.0])), [1.0, 1.0, 1.0]),
    "std": (lambda: ug.std(ug.tensor([1.0, 3.0]), False), 1.0),
    "var_mean": (lambda: ug.stack(ug.var_mean(ug.tensor([1.0, 3.0]))), [2.0, 2.0]),
    "quantile": (lambda: ug.quantile(x[0], ug.tensor([0.0, 0.5])), [1.0, 2.0]),
    "trapezoid": (lambda: ug.trapezoid(x[0], ug.tensor([0.0, 1.0, 3.0])), 6.5),
    "cumulative_trapezoid": (lambda: ug.cumulative_trapezoid(x[0], ug.tensor([0.0, 1.0, 3.0])), [1.5, 6.5]),
    "meshgrid": (lambda: ug.meshgrid([i, i], indexing="ij")[0], [[0, 0], [1, 1]]),
    "einsum": (lambda: ug.einsum("i,i->", [x[0], x[0]]), 14.0),
    "cat": (lambda: ug.cat([ug.empty(0), ug.ones(1, 2)]), [[1.0, 1.0]]),
    "atleast_2d": (lambda: ug.atleast_2d(i), [[0, 1]]),
    "clamp_min": (lambda: i.clamp_min(1), [1, 1]),
    "fliplr": (lambda: ug.fliplr(x[:1]), [[3.0, 2.0, 1.0]]),
    "hsplit": (lambda: ug.hsplit(x, 3)[2], [[3.0], [6.0]]),
    "new_full": (lambda: i.new_full((2,), 7), [7, 7]),
    "argwhere": (lambda: ug.argwhere(i), [[1]]),
    "grid_sample": (lambda: F.grid_sample(ug.ones(1, 1, 2, 2), ug.zeros(1, 1, 1, 2)), [[[[1.0]]]]),
    "pdist by the greatest": (lambda: F.pdist(ug.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0]]), p=float("inf")), [4.0, 6.0, 4.0]),
    "pdist by count": (lambda: F.pdist(ug.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 0.0]]), p=0.0), [2.0, 1.0, 2.0]),
    "multinomial": (lambda: ug.tensor([0.0, 2.0]).multinomial(3, replacement=True), [1, 1, 1]),
    "mm": (lambda: ug.mm(x, mat2=x.T), [[14.0, 32.0], [32.0, 77.0]]),
    "mv": (lambda: ug.mv(x, x[0]), [14.0, 32.0]),
    "unique": (lambda: ug.unique(i, dim=None), [0, 1]),
    "linear to one": (lambda: F.linear(ug.ones(2, 3), ug.ones(3), ug.tensor(1.0)), [4.0, 4.0]),
    "bernoulli": (lambda: ug.bernoulli(ug.tensor([0.0, 1.0])), [0.0, 1.0]),
}


@pytest.mark.parametrize("name", CASES)
def test_gives_what_pytorch_gives(name):
    call, expected = CASES[name]
    np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-6)


def test_questions():
    assert ug.equal(i, i) and not ug.equal(i, i + 1) and not ug.equal(i, ug.zeros(3))
    assert ug.allclose(x, x) and ug.numel(x) == 6 and x.is_floating_point() and not i.is_floating_point()
    assert [tuple(one.shape) for one in ug.broadcast_tensors(ug.ones(2, 1), ug.ones(3))] == [(2, 3), (2, 3)]


def test_random_numbers_follow_their_distribution():
    ug.manual_seed(1)
    weights = ug.tensor([0.1, 0.0, 0.6, 0.3])
    for replacement in (True, False):
        drawn = ug.stack([weights.multinomial(1, replacement) for _ in range(300)]) if not replacement else weights.multinomial(4000, True)
        shares = np.bincount(np.asarray(drawn).ravel(), minlength=4) / drawn.numel()
        np.testing.assert_allclose(shares, [0.1, 0.0, 0.6, 0.3], atol=0.1)
    assert sorted(weights.multinomial(3).tolist()) == [0, 2, 3]
    many = ug.normal(2.0, 3.0, (4000,))
    assert abs(many.mean().item() - 2) < 0.3 and abs(many.std().item() - 3) < 0.3
    for wrong in [ug.tensor([-1.0, 2.0]), ug.zeros(2), ug.tensor([float("nan"), 1.0])]:
        with pytest.raises(ug.Error, match="weights"):
            wrong.multinomial(1)


def test_what_is_refused():
    for call in [lambda: ug.mm(x[0], x[0]), lambda: ug.bmm(x, x), lambda: x.mv(x), lambda: ug.unique(x, dim=2), lambda: ug.atleast_1d(3)]:
        with pytest.raises((ug.Error, TypeError), match="mat2|self|vec|dim|axis|tensor"):
            call()


def test_a_factor_of_one_is_none():
    for one in (1, 1.0):
        assert i.add(i, alpha=one).dtype == i.sub(i, alpha=one).dtype == i.rsub(i, alpha=one).dtype == ug.int64
    assert i.add(i, alpha=0.5).dtype == ug.float32
    for wrong in (None, True, "2", float("nan")):
        with pytest.raises((TypeError, ValueError)):
            i.add(i, alpha=wrong)


def test_an_argument_with_two_names_is_given_once():
    for call, words in [
        (lambda: x.flip(0, dims=(1,)), "'dims' is given twice"),
        (lambda: x.flip(dims=(1,), axis=0), "`dims` and `axis`"),
        (lambda: x.permute(dim=(1, 0)), "'dim', beside 'dims'"),
        (lambda: x.split(1, split_size_or_sections=1), "`split_size`"),
        (lambda: x.split(), "'split_size' is missing"),
        (lambda: x.tensor_split(2, sections=2), "'indices_or_sections'"),
        (lambda: ug.zeros(3).scatter_reduce(0, i, ug.ones(2)), "'reduce' is missing"),
        (lambda: ug.zeros(3).scatter_reduce(0, i, ug.ones(2), "sum", mode="sum"), "`reduce` and `mode`"),
    ]:
        with pytest.raises(TypeError, match=words):
            call()


def test_a_batch_without_elements_has_no_statistics():
    norm = ug.nn.BatchNorm1d(5)
    assert norm(ug.zeros(0, 5, 9)).shape == (0, 5, 9) and norm.running_mean.tolist() == [0.0] * 5


def starts(n, kernel, stride, pad):
    return range(0, n + 2 * pad - kernel + 1, stride)


def test_windows_of_every_size():
    """Also where one window leaves a rest that is longer than a step."""
    for n, kernel, stride, pad in itertools.product(range(1, 8), range(1, 5), range(1, 6), range(3)):
        if pad > kernel // 2 or n + 2 * pad < kernel:
            continue
        values = np.arange(1.0, n + 1, dtype="float32")
        padded = np.pad(values, pad)
        windows = np.stack([padded[at : at + kernel] for at in starts(n, kernel, stride, pad)])
        given = ug.tensor(values).reshape(1, 1, n)
        what = (n, kernel, stride, pad)
        np.testing.assert_allclose(np.asarray(F.avg_pool1d(given, kernel, stride, pad))[0, 0], windows.mean(1), rtol=1e-5, err_msg=str(what))
        highest = np.stack([np.pad(values, pad, constant_values=-np.inf)[at : at + kernel] for at in starts(n, kernel, stride, pad)]).max(1)
        np.testing.assert_allclose(np.asarray(F.max_pool1d(given, kernel, stride, pad))[0, 0], highest, err_msg=str(what))
        np.testing.assert_allclose(np.asarray(F.conv1d(given, ug.ones(1, 1, kernel), stride=stride, padding=pad))[0, 0], windows.sum(1), rtol=1e-5, err_msg=str(what))
        columns = np.asarray(F.unfold(given.reshape(1, 1, 1, n), (1, kernel), stride=(1, stride), padding=(0, pad)))[0]
        np.testing.assert_allclose(columns, windows.T, err_msg=str(what))


def test_in_place():
    y = ug.tensor([1.0, 4.0])
    other = y
    assert y.add_(1, alpha=2) is y and other.tolist() == [3.0, 6.0]
    assert y.mul_(2).sub_(ug.ones(2)).clamp_(max=10).tolist() == [5.0, 10.0]
    assert y.zero_().tolist() == [0.0, 0.0] and y.fill_(3).tolist() == [3.0, 3.0] and y.masked_fill_(ug.tensor([True, False]), 0).tolist() == [0.0, 3.0]
    ug.manual_seed(1)
    assert abs(ug.empty(4000).normal_(1.0, 2.0).std().item() - 2) < 0.2 and 2 <= ug.empty(100).uniform_(2.0, 3.0).min().item() < 3
    with pytest.raises(ug.Error, match="div_"):
        ug.tensor([1, 2]).div_(2)
    w = ug.ones(2, requires_grad=True)
    with pytest.raises(ug.Error, match="gradient"):
        w.add_(1)
    with ug.inference_mode():
        w.sub_(0.5)
    assert w.tolist() == [0.5, 0.5]


def test_a_single_number_has_no_axis_to_keep():
    x = ug.tensor(3.0)
    for name in ("max", "min", "median", "nanmedian", "mode"):
        values, indices = getattr(x, name)(0, keepdim=True)
        assert (values.shape, indices.shape, values.item(), indices.item()) == ((), (), 3.0, 0), name
    assert x.kthvalue(1, 0, keepdim=True)[0].shape == ()
    assert x.quantile(0.5, 0, keepdim=True).shape == x.nanquantile(0.5, -1, keepdim=True).shape == ()
    assert [at.tolist() for at in x.nonzero(as_tuple=True)] == [[0]]
    assert [at.tolist() for at in ug.tensor(0.0).nonzero(as_tuple=True)] == [[]]
