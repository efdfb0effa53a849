"""What programs written for PyTorch do beside calling layers: they write to `data`, use operators in place, hook into modules, pack sequences."""

import copy
import pickle

import numpy as np
import pytest

import unigrad as ug
from unigrad import data, nn
from unigrad.nn import utils

F = nn.functional


def test_data_is_written_through():
    w = nn.Parameter(ug.ones(3))
    w.data.mul_(2.0).add_(1.0)
    w.data[0] = 9.0
    w.data += 1.0
    assert w.tolist() == [10.0, 4.0, 4.0] and w.is_leaf and w.requires_grad and not w.data.requires_grad
    w.data = ug.zeros(2, 2)
    assert w.shape == (2, 2) and isinstance(w, nn.Parameter)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
    w.data = w.data.double()
    assert w.dtype == ug.float64 and w.grad.dtype == ug.float64
    w.grad.data.zero_()
    assert w.grad.sum().item() == 0.0
    plain = ug.ones(2)
    plain.data.fill_(3.0)
    assert plain.tolist() == [3.0, 3.0]
    half = w * 0.5
    assert half.data.tolist() == half.tolist() and not half.data.requires_grad
    with pytest.raises(TypeError):
        w.data = 1.0


def test_the_initial_values_that_programs_write():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: values are compared with it")

    def made(library):
        layer = library.nn.Linear(3, 2)
        layer.weight.data.fill_(0.25)
        layer.bias.data.zero_()
        with library.no_grad():
            layer.weight[0].zero_() if library is torch else layer.weight.__setitem__(0, 0.0)
            for parameter in layer.parameters():
                parameter -= 0.5
        layer.weight.data.clamp_(-0.4, 0.4)
        return [parameter.tolist() for parameter in layer.parameters()]

    assert np.allclose(np.concatenate([np.ravel(one) for one in made(ug)]), np.concatenate([np.ravel(one) for one in made(torch)]))


def test_operators_in_place():
    x = ug.ones(2)
    alias = x
    x += 1
    x *= 2.0
    assert alias.tolist() == [4.0, 4.0]
    # The way of the gradient goes on.
    w = ug.ones(2, requires_grad=True)
    y = w * 2
    y += w
    y.mul_(3.0)
    total = ug.zeros(())
    total += y.sum()
    total.backward()
    assert w.grad.tolist() == [9.0, 9.0]
    with pytest.raises(ug.AutogradError, match="no_grad"):
        w += 1
    with ug.no_grad():
        w += 1
    assert w.tolist() == [2.0, 2.0] and w.requires_grad
    n = ug.arange(4)
    n //= 2
    n &= 1
    assert n.tolist() == [0, 0, 1, 1] and n.dtype == ug.int64
    with pytest.raises(ValueError, match="int64"):
        n /= 2
    with pytest.raises(ValueError, match="new tensor"):
        x += ug.ones(3, 2)
    frozen = nn.Parameter(ug.ones(2), requires_grad=False)
    frozen += 1
    frozen.mul_(2)
    frozen[0] = 7.0
    assert frozen.tolist() == [7.0, 4.0] and isinstance(frozen, nn.Parameter)
    assert not copy.deepcopy(frozen).requires_grad


def test_a_clone_is_a_tensor_of_its_own():
    x = ug.ones(2)
    y = x.clone()
    y.add_(1)
    y[0] = 5.0
    assert x.tolist() == [1.0, 1.0] and y.tolist() == [5.0, 2.0]
    w = nn.Parameter(ug.ones(2))
    before = w.clone()
    (before * 3).sum().backward()
    assert w.grad.tolist() == [3.0, 3.0] and not before.is_leaf
    w.data.zero_()
    assert before.tolist() == [1.0, 1.0]


def test_what_programs_ask_of_tensors():
    x = ug.ones(2, 3)
    assert (x.nelement(), x.ndimension(), x.element_size(), x.is_contiguous(), x.is_same_size(ug.zeros(2, 3))) == (6, 2, 4, True, True)
    assert x.pin_memory() is x and ug.tensor([2]).is_nonzero()
    assert ug.device("cpu") == x.device and isinstance(x.device, ug.device) and isinstance(x.dtype, ug.dtype)
    assert ug.finfo(x.dtype).min < -3e38 and ug.finfo(ug.float32).tiny == ug.finfo(ug.float32).smallest_normal and ug.iinfo(ug.int8).max == 127


def test_shapes_in_place():
    x = ug.arange(6).reshape(2, 3)
    alias = x
    assert x.t_() is x and x.unsqueeze_(0) is x
    assert alias.shape == (1, 3, 2) and alias.squeeze_().transpose_(0, 1).tolist() == [[0, 1, 2], [3, 4, 5]]
    w = nn.Parameter(ug.ones(2, 3))
    with ug.no_grad():
        w.t_()
    assert w.shape == (3, 2) and w.is_leaf


@pytest.mark.parametrize("call", [lambda x: x.normal_(0.0, -1.0), lambda x: x.uniform_(2.0, 1.0), lambda x: x.random_(3, 3)])
def test_random_numbers_of_no_distribution(call):
    with pytest.raises(ValueError, match="help"):
        call(ug.zeros(3))


def test_random_numbers_of_a_generator():
    make = {
        "rows": lambda g: ug.zeros(4).normal_(generator=g),
        "integers": lambda g: ug.zeros(9).random_(0, 5, generator=g),
        "initial values": lambda g: nn.init.kaiming_uniform_(ug.zeros(3, 4), generator=g),
        "truncated": lambda g: nn.init.trunc_normal_(ug.zeros(3, 4), generator=g),
        "orthogonal": lambda g: nn.init.orthogonal_(ug.zeros(3, 4), generator=g),
    }
    for name, call in make.items():
        first, second = (call(ug.Generator().manual_seed(7)).tolist() for _ in range(2))
        assert first == second, name
        assert first != call(ug.Generator(device="cpu").manual_seed(8)).tolist(), name
    assert ug.Generator("cpu").manual_seed(3).initial_seed() == 3
    parts = [data.random_split(range(10), [0.8, 0.2], generator=ug.Generator().manual_seed(42)) for _ in range(2)]
    assert [list(part) for part in parts[0]] == [list(part) for part in parts[1]]
    loader = data.DataLoader(range(8), batch_size=8, shuffle=True, generator=ug.Generator().manual_seed(1))
    again = data.DataLoader(range(8), batch_size=8, shuffle=True, generator=ug.Generator().manual_seed(1))
    assert next(iter(loader)).tolist() == next(iter(again)).tolist()


def test_groups_below_0_are_no_groups():
    with pytest.raises(ValueError, match="groups"):
        ug.ones(1, 2, 5).conv1d(ug.ones(2, 2, 3), groups=-1)


def test_functions_in_place_and_by_several_axes():
    x = ug.tensor([-1.0, 2.0])
    assert F.relu_(x) is x and x.tolist() == [0.0, 2.0]
    rows = ug.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert F.normalize(rows, dim=(0, 1)).tolist() == pytest.approx(np.array([[0.6, 0.0], [0.0, 0.8]]))
    assert F.softmax(rows, dim=1, _stacklevel=3).shape == (2, 2)
    assert F.unfold(ug.ones(3, 6, 6), 2).shape == (12, 25)
    with pytest.raises(ValueError, match="below 0"):
        F.one_hot(ug.tensor([-1]))


def test_functions_are_pickled():
    layer = nn.TransformerEncoderLayer(4, 2, 8).eval()
    again = pickle.loads(pickle.dumps(layer))
    x = ug.rand(3, 1, 4)
    assert pickle.loads(pickle.dumps(F.gelu)) is F.gelu
    assert again(x).allclose(layer(x))


# Modules.


@pytest.mark.parametrize("changes", [False, True])
def test_hooks_of_gradients(changes):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: gradients are compared with it")

    def run(library):
        net = library.nn.Sequential(library.nn.Linear(2, 3), library.nn.Tanh(), library.nn.Linear(3, 1))
        for at, parameter in enumerate(net.parameters()):
            parameter.data.fill_(0.1 * (at + 1))
        seen = []

        def hook(module, grad_input, grad_output):
            seen.extend([grad_input[0], grad_output[0]])
            return (grad_input[0] * 2,) if changes else None

        net[2].register_full_backward_hook(hook)
        net[0].register_full_backward_hook(lambda module, grad_input, grad_output: seen.extend([grad_output[0]] + [1] * (grad_input[0] is None)))
        net[1].register_full_backward_pre_hook(lambda module, grad_output: seen.append(grad_output[0]))
        net(library.ones(4, 2)).sum().backward()
        return [np.ravel(one.tolist() if hasattr(one, "tolist") else one) for one in (*seen, *(parameter.grad for parameter in net.parameters()))]

    for ours, theirs in zip(run(ug), run(torch), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)


class Renamed(nn.Module):
    """Takes its weight by an old name, and saves it by a second one."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(ug.zeros(2))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "again"] = self.w * 2

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        state_dict.pop(prefix + "again", None)
        if prefix + "old" in state_dict:
            state_dict[prefix + "w"] = state_dict.pop(prefix + "old")
        super()._load_from_state_dict(state_dict, prefix, *rest)


def test_states_that_classes_and_hooks_change():
    net = nn.Sequential(Renamed(), nn.Linear(2, 2))
    assert list(net.state_dict()) == ["0.w", "0.again", "1.weight", "1.bias"]
    state = net.state_dict()
    state["0.old"] = ug.ones(2)
    del state["0.w"]
    assert "matched" in repr(net.load_state_dict(state)) and net[0].w.tolist() == [1.0, 1.0]
    seen = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: seen.append(prefix))
    net.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(more=1))
    net.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("more", None))
    net[1].register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
    state = net.state_dict()
    assert state["more"] == 1 and seen == [""]
    del state["1.bias"]
    net.load_state_dict(state)
    net.set_submodule("1", nn.ReLU())
    assert isinstance(net[1], nn.ReLU)
    assert net.to_empty(device="cpu") is net and net.type(ug.float64)[0].w.dtype == ug.float64


def test_containers_are_added():
    a, b = nn.Sequential(nn.ReLU(), nn.Tanh()), nn.Sequential(nn.ELU())
    assert [type(one).__name__ for one in a + b] == ["ReLU", "Tanh", "ELU"] and len(a * 2) == 4 and len(2 * b) == 2
    a += b
    a *= 2
    assert len(a) == 6 and list(a._modules) == [str(at) for at in range(6)]


@pytest.mark.parametrize(
    ("lazy", "shape", "plain"),
    [
        (lambda: nn.LazyLinear(4), (2, 3), "Linear"),
        (lambda: nn.LazyConv2d(4, 3, padding=1, groups=2), (2, 6, 5, 5), "Conv2d"),
        (lambda: nn.LazyConv1d(4, 3, bias=False), (6, 5), "Conv1d"),
        (lambda: nn.LazyConvTranspose1d(4, 3), (2, 6, 5), "ConvTranspose1d"),
        (lambda: nn.LazyBatchNorm2d(), (2, 3, 4, 4), "BatchNorm2d"),
        (lambda: nn.LazyInstanceNorm1d(affine=True), (2, 3, 4), "InstanceNorm1d"),
    ],
)
def test_lazy_layers(lazy, shape, plain):
    layer, seen = lazy().eval(), []
    layer.register_forward_hook(lambda *_: seen.append(1))
    assert not list(layer.parameters())
    other = copy.deepcopy(layer)
    x = ug.rand(*shape)
    y = layer(x)
    assert type(layer) is getattr(nn, plain) and not layer.training and seen == [1] and layer(x).equal(y)
    # Or by a state.
    other.load_state_dict(layer.state_dict())
    assert type(other) is type(layer) and other(x).equal(y)


def test_a_module_with_other_tensors():
    layer = nn.Linear(2, 1)
    before = layer.weight.tolist()
    given = {"weight": ug.ones(1, 2, requires_grad=True), "bias": ug.zeros(1)}
    ug.func.functional_call(layer, given, (ug.ones(3, 2),)).sum().backward()
    assert given["weight"].grad.tolist() == [[3.0, 3.0]] and layer.weight.tolist() == before and layer.weight.grad is None
    with pytest.raises(ValueError, match="bias"):
        ug.func.functional_call(layer, {"weight": ug.ones(1, 2)}, ug.ones(3, 2), strict=True)


# What is in `nn.utils`.


@pytest.mark.parametrize("dim", [0, 1, None])
def test_norms_of_weights_by_their_old_names(dim):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: names and values are compared with it")
    theirs = torch.nn.utils.weight_norm(torch.nn.Conv1d(2, 3, 2), dim=dim)
    ours = utils.weight_norm(nn.Conv1d(2, 3, 2), dim=dim)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).standard_normal((1, 2, 5)).astype("float32")
    expected = theirs(torch.tensor(x)).detach().numpy()
    for one in (ours, copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), utils.remove_weight_norm(ours)):
        np.testing.assert_allclose(one(ug.tensor(x)).detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    assert type(ours) is nn.Conv1d and sorted(ours.state_dict()) == ["bias", "weight"]
    with pytest.raises(ValueError, match="norm"):
        utils.remove_weight_norm(ours)


def test_spectral_norms_by_their_old_names():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: names and values are compared with it")
    theirs = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 2))
    ours = utils.spectral_norm(nn.Linear(3, 2))
    assert sorted(ours.state_dict()) == sorted(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    x = np.ones((1, 3), "float32")
    for training in (True, True, False):
        theirs.train(training), ours.train(training)
        np.testing.assert_allclose(ours(ug.tensor(x)).detach().numpy(), theirs(torch.tensor(x)).detach().numpy(), rtol=1e-4)
    assert sorted(utils.remove_spectral_norm(ours).state_dict()) == ["bias", "weight"]


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, x):
        return x.triu()


def test_weights_by_modules_of_ones_own():
    layer = nn.Linear(3, 3)
    layer.weight.data.copy_(ug.arange(9.0).reshape(3, 3))
    utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    assert utils.parametrize.is_parametrized(layer, "weight") and layer.weight.equal(layer.weight.T)
    assert [name for name, _ in layer.named_parameters()] == ["bias", "parametrizations.weight.original"]
    assert isinstance(layer.parametrizations.weight[0], Symmetric)
    layer(ug.ones(1, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist()[1][0] == 0.0
    utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight.equal(layer.weight.T)


def test_norms_of_gradients_that_are_known():
    w = nn.Parameter(ug.tensor([3.0, 4.0], dtype="float64"))
    (w * w).sum().backward()
    norm = utils.get_total_norm([w.grad], error_if_nonfinite=True)
    assert norm.dtype == ug.float64 and norm.item() == 10.0
    utils.clip_grads_with_norm_([w], 5.0, norm)
    assert w.grad.tolist() == pytest.approx([3.0, 4.0], rel=1e-6)
    assert utils.clip_grad_norm_([w], ug.tensor(1.0)).item() == pytest.approx(5.0)


@pytest.mark.parametrize("enforce_sorted", [False, True])
def test_packed_sequences_are_pytorchs(enforce_sorted):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: rows are compared with it")
    lengths = [4, 3, 1] if enforce_sorted else [3, 1, 4]
    values = [np.random.default_rng(length).standard_normal((length, 2)) for length in lengths]
    ours = utils.rnn.pack_sequence([ug.tensor(value) for value in values], enforce_sorted=enforce_sorted)
    theirs = torch.nn.utils.rnn.pack_sequence([torch.tensor(value) for value in values], enforce_sorted=enforce_sorted)
    for a, b in zip(ours, theirs, strict=True):
        assert (a is None and b is None) or a.tolist() == b.tolist()
    twice = utils.rnn.PackedSequence(ours.data * 2, ours.batch_sizes, ours.sorted_indices, ours.unsorted_indices)
    for value, one in zip(values, utils.rnn.unpack_sequence(twice), strict=True):
        assert one.tolist() == (value * 2).tolist()
    output, _ = nn.GRU(2, 3, dtype=ug.float64)(twice)
    assert output.data.shape == (8, 3) and output._replace(data=output.data[:, :1]).padded.shape == (3, 4, 1)
    with pytest.raises(ValueError, match="batch_sizes"):
        utils.rnn.PackedSequence(ug.ones(4, 2), ug.tensor([2, 1]))


# Data.


class Count(data.IterableDataset):
    def __iter__(self):
        return iter([1, 2])


def test_loaders_take_what_pytorchs_take():
    seen = []
    settings = {"pin_memory_device": "", "multiprocessing_context": None, "in_order": True, "prefetch_factor": None, "persistent_workers": False}

    def begin(worker):
        seen.append((worker, data.get_worker_info().num_workers))

    loader = data.DataLoader(range(6), batch_size=2, num_workers=1, worker_init_fn=begin, **settings)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5]] and seen == [(0, 1)]
    assert data.get_worker_info() is None
    plain = list(data.DataLoader([{"a": np.ones(2), "b": "text"}], batch_size=None))
    assert isinstance(plain[0]["a"], ug.Tensor) and plain[0]["b"] == "text"
    assert list(Count() + Count()) == [1, 2, 1, 2]
    assert data.Subset(data.TensorDataset(ug.arange(5)), [4, 3, 2])[[0, 2]][0].tolist() == [4, 2]
    for make in (lambda: data.RandomSampler([1], num_samples=0), lambda: data.WeightedRandomSampler([1.0], 0)):
        with pytest.raises(ValueError, match="num_samples"):
            make()
