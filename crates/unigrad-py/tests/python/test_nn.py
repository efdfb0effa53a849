"""Modules and layers: PyTorch's names, and what they compute beside PyTorch where it is installed."""

import copy
import pickle

import numpy as np
import pytest

import unigrad as ug
from unigrad import nn
from unigrad.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 8))
        self.norm = nn.BatchNorm1d(8)
        self.scale = nn.Parameter(ug.ones(8))
        self.register_buffer("shift", ug.zeros(8))
        self.register_buffer("scratch", ug.zeros(1), persistent=False)

    def forward(self, x):
        return self.norm(self.body(x)) * self.scale + self.shift


def values(module):
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


def test_names_are_pytorchs():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "body.0.weight", "body.0.bias", "body.3.weight", "body.3.bias", "norm.weight", "norm.bias",
    ]  # fmt: skip
    assert set(net.state_dict()) - {name for name, _ in net.named_parameters()} == {
        "shift", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
    }  # fmt: skip
    assert [name for name, _ in net.named_modules()] == ["", "body", "body.0", "body.1", "body.2", "body.3", "norm"]
    assert net.get_submodule("body.3") is net.body[3] and net.get_parameter("body.0.bias") is net.body[0].bias
    assert repr(nn.Sequential(nn.Linear(2, 3), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): ReLU()\n)"
    )


def test_modes_reach_all_layers():
    net = Net()
    x = ug.randn(6, 4)
    net.eval()
    assert not net.body[2].training and net(x).tolist() == net(x).tolist()
    before = net.norm.running_mean.tolist()
    net.train()
    net(x).sum().backward()
    assert net.norm.running_mean.tolist() != before and net.norm.num_batches_tracked.item() == 1
    assert net.body[0].weight.grad is not None
    net.zero_grad()
    assert net.body[0].weight.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


def test_state_goes_on():
    a, b = Net(), Net()
    assert repr(b.load_state_dict(a.state_dict())) == "<All keys matched successfully>"
    assert values(a) == values(b)
    state = dict(a.state_dict())
    del state["scale"]
    state["other"] = ug.zeros(1)
    with pytest.raises(ug.Error, match="scale: missing(?s:.)*other: the module has no such name"):
        b.load_state_dict(state)
    keys = b.load_state_dict(state, strict=False)
    assert (keys.missing_keys, keys.unexpected_keys) == (["scale"], ["other"])
    before = values(b)
    with pytest.raises(ug.Error, match="scale: the checkpoint has"):
        b.load_state_dict({"scale": ug.zeros(3), "shift": ug.ones(8)}, strict=False)
    assert values(b) == before
    b.load_state_dict({"shift": np.full(8, 2.0, "float32")}, strict=False)
    assert b.shift.tolist() == [2.0] * 8


def test_copies_and_pickles():
    net = Net()
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert values(other) == values(net) and isinstance(other.scale, nn.Parameter)
        with ug.no_grad():
            other.scale.copy_(ug.zeros(8))
        assert net.scale.tolist() == [1.0] * 8
        assert other.scale is other._parameters["scale"] and other.scale.requires_grad
    tied = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    tied[1].weight = tied[0].weight
    assert len(list(tied.parameters())) == 3
    for other in (copy.deepcopy(tied), pickle.loads(pickle.dumps(tied))):
        assert other[1].weight is other[0].weight


def test_moves_are_in_place():
    net = Net()
    weight = net.body[0].weight
    assert net.to("cpu") is net and net.double() is net
    assert net.body[0].weight is weight and weight.dtype == ug.float64
    assert net.norm.num_batches_tracked.dtype == ug.int64
    assert net(ug.randn(3, 4, dtype="float64")).dtype == ug.float64
    assert net.to(ug.float32).scale.dtype == ug.float32


def test_attributes():
    net = nn.Module()
    net.weight = nn.Parameter(ug.zeros(2))
    net.part = nn.ReLU()
    with pytest.raises(TypeError, match="weight"):
        net.weight = 3
    net.weight = None
    assert list(net.parameters()) == [] and net.weight is None
    del net.part
    with pytest.raises(AttributeError, match="part"):
        net.part  # noqa: B018
    with pytest.raises(AttributeError, match="super"):
        type("Bare", (nn.Module,), {"__init__": lambda self: None})().part = nn.ReLU()
    with pytest.raises(ValueError, match="name"):
        net.register_buffer("a.b", ug.zeros(1))


def test_hooks():
    layer, seen = nn.Linear(2, 2), []
    pre = layer.register_forward_pre_hook(lambda module, args: (args[0] * 0.0,))
    with layer.register_forward_hook(lambda module, args, out: seen.append(args[0].tolist())):
        layer(ug.ones(1, 2))
    pre.remove()
    layer(ug.ones(1, 2))
    assert seen == [[[0.0, 0.0]]]


def test_containers():
    layers = nn.ModuleList([nn.Linear(1, 1)])
    layers.append(nn.ReLU()).extend([nn.Tanh()])
    layers.insert(1, nn.GELU())
    assert [type(m).__name__ for m in layers] == ["Linear", "GELU", "ReLU", "Tanh"] and len(layers[1:3]) == 2
    del layers[0]
    assert list(layers._modules) == ["0", "1", "2"] and type(layers[-1]).__name__ == "Tanh"
    named = nn.ModuleDict({"a": nn.ReLU()})
    named["b"] = nn.Tanh()
    assert list(named) == ["a", "b"] and "b" in named and len(named) == 2
    both = nn.ParameterList([ug.zeros(1), ug.ones(2)])
    assert [name for name, _ in both.named_parameters()] == ["0", "1"]
    assert nn.ParameterDict({"x": ug.ones(1)})["x"].requires_grad
    with pytest.raises(TypeError, match="Module"):
        nn.Sequential(3)


# Beside PyTorch.


def close(ours, theirs, atol=1e-5):
    np.testing.assert_allclose(np.asarray(ours.detach()), theirs.detach().numpy(), atol=atol, rtol=1e-4)


LAYERS = [
    ("Linear", (4, 3), {}, [(2, 5, 4)]),
    ("Linear", (4, 3), {"bias": False}, [(4,)]),
    ("Bilinear", (4, 3, 2), {}, [(5, 4), (5, 3)]),
    ("Conv1d", (4, 6, 3), {"padding": 1, "groups": 2}, [(2, 4, 9)]),
    ("Conv2d", (3, 4, 3), {"stride": 2, "padding": (1, 0), "dilation": 2}, [(2, 3, 9, 10)]),
    ("Conv2d", (3, 4, (3, 2)), {"padding": "same"}, [(2, 3, 5, 6)]),
    ("Conv2d", (3, 4, 3), {"padding": 1, "padding_mode": "reflect"}, [(2, 3, 5, 6)]),
    ("Conv2d", (3, 4, 3), {"padding": "same", "padding_mode": "circular"}, [(2, 3, 5, 6)]),
    ("Conv3d", (2, 2, 2), {}, [(1, 2, 4, 4, 4)]),
    ("ConvTranspose1d", (4, 2, 3), {"stride": 2, "output_padding": 1}, [(2, 4, 5)]),
    ("ConvTranspose2d", (4, 2, 3), {"stride": 2, "padding": 1, "groups": 2}, [(2, 4, 5, 4)]),
    ("ConvTranspose3d", (2, 2, 2), {}, [(1, 2, 3, 3, 3)]),
    ("MaxPool1d", (2,), {}, [(2, 3, 8)]),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1, "ceil_mode": True}, [(2, 3, 8, 7)]),
    ("AvgPool2d", (2,), {"padding": 1, "count_include_pad": False}, [(2, 3, 8, 7)]),
    ("AvgPool3d", (2,), {}, [(1, 2, 4, 4, 4)]),
    ("LPPool2d", (2, 2), {}, [(1, 2, 4, 4)]),
    ("AdaptiveAvgPool2d", ((3, None),), {}, [(2, 3, 8, 7)]),
    ("AdaptiveMaxPool1d", (3,), {}, [(2, 3, 8)]),
    ("BatchNorm1d", (4,), {}, [(6, 4)]),
    ("BatchNorm2d", (3,), {"momentum": None}, [(4, 3, 5, 5)]),
    ("BatchNorm2d", (3,), {"affine": False, "track_running_stats": False}, [(4, 3, 5, 5)]),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, [(4, 3, 5, 5)]),
    ("InstanceNorm1d", (3,), {}, [(3, 5)]),
    ("LayerNorm", ((3, 4),), {}, [(2, 3, 4)]),
    ("LayerNorm", (4,), {"elementwise_affine": False}, [(2, 3, 4)]),
    ("GroupNorm", (2, 4), {}, [(2, 4, 5)]),
    ("LocalResponseNorm", (2,), {}, [(2, 4, 5, 5)]),
    ("CrossMapLRN2d", (3,), {}, [(2, 4, 5, 5)]),
    ("PReLU", (3,), {}, [(2, 3, 4)]),
    ("Flatten", (), {}, [(2, 3, 4)]),
    ("Unflatten", (1, (2, 2)), {}, [(3, 4)]),
    ("PixelShuffle", (2,), {}, [(1, 8, 3, 3)]),
    ("PixelUnshuffle", (2,), {}, [(1, 2, 4, 4)]),
    ("ChannelShuffle", (2,), {}, [(1, 4, 3, 3)]),
    ("Unfold", (2,), {"padding": 1}, [(1, 2, 4, 4)]),
    ("Fold", ((4, 4), 2), {}, [(1, 8, 9)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear", "align_corners": True}, [(1, 2, 3, 3)]),
    ("UpsamplingNearest2d", (), {"size": (5, 4)}, [(1, 2, 3, 3)]),
    ("ReflectionPad2d", (1,), {}, [(1, 2, 3, 3)]),
    ("ConstantPad1d", ((1, 2), 3.0), {}, [(1, 2, 3)]),
    ("CircularPad2d", (1,), {}, [(1, 2, 3, 3)]),
    ("ReplicationPad3d", (1,), {}, [(1, 2, 3, 3, 3)]),
    ("ZeroPad2d", ((1, 0, -1, 2),), {}, [(1, 2, 3, 3)]),
    ("CosineSimilarity", (), {}, [(4, 3), (4, 3)]),
    ("PairwiseDistance", (), {"keepdim": True}, [(4, 3), (4, 3)]),
    ("GRU", (4, 5), {"num_layers": 2, "bidirectional": True}, [(7, 3, 4)]),
    ("LSTM", (4, 5), {"batch_first": True, "proj_size": 2}, [(3, 7, 4)]),
    ("LSTM", (4, 5), {"bias": False}, [(7, 4)]),
    ("RNN", (4, 5), {"nonlinearity": "relu"}, [(7, 3, 4)]),
    ("GRUCell", (4, 5), {}, [(3, 4)]),
    ("LSTMCell", (4, 5), {}, [(3, 4)]),
    ("RNNCell", (4, 5), {"bias": False}, [(4,)]),
    ("MultiheadAttention", (8, 2), {}, [(5, 3, 8), (6, 3, 8), (6, 3, 8)]),
    ("MultiheadAttention", (8, 2), {"kdim": 6, "vdim": 5, "batch_first": True, "bias": False}, [(3, 5, 8), (3, 6, 6), (3, 6, 5)]),
    ("MultiheadAttention", (8, 2), {"add_bias_kv": True, "add_zero_attn": True}, [(5, 8), (6, 8), (6, 8)]),
    ("TransformerEncoderLayer", (8, 2, 16, 0.0), {"batch_first": True, "norm_first": True}, [(2, 5, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16, 0.0), {"activation": "gelu"}, [(5, 2, 8), (4, 2, 8)]),
    ("Transformer", (8, 2, 2, 2, 16, 0.0), {}, [(5, 2, 8), (4, 2, 8)]),
]
ACTIVATIONS = [
    "ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Sigmoid", "Tanh", "Tanhshrink", "Softsign", "LogSigmoid", "GELU",
    "LeakyReLU", "ELU", "CELU", "Softplus", "Softshrink", "Hardshrink", "Hardtanh", "GLU",
]  # fmt: skip
LAYERS += [(name, (), {}, [(3, 4)]) for name in ACTIVATIONS]
LAYERS += [("Softmax", (1,), {}, [(3, 4)]), ("LogSoftmax", (-1,), {}, [(3, 4)]), ("Softmin", (0,), {}, [(3, 4)])]
LAYERS += [("Threshold", (0.1, 0.5), {}, [(3, 4)]), ("GELU", ("tanh",), {}, [(3, 4)]), ("Softmax2d", (), {}, [(2, 3, 4, 4)])]


def flat(result):
    return [part for item in result for part in flat(item)] if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize(("name", "args", "kwargs", "shapes"), LAYERS, ids=lambda v: v if isinstance(v, str) else "")
def test_layers_compute_what_pytorchs_do(name, args, kwargs, shapes):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: layers are compared with it")
    torch.manual_seed(0)
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    ours = getattr(nn, name)(*args, **kwargs)
    # Names and shapes, both ways.
    assert ours.load_state_dict(theirs.state_dict()) == ([], [])
    back = {key: torch.tensor(np.asarray(value)) for key, value in ours.state_dict().items()}
    theirs.load_state_dict(back)
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    mine = [ug.tensor(x.detach().numpy(), requires_grad=True) for x in inputs]
    for training in (True, False):
        theirs.train(training), ours.train(training)
        a, b = flat(ours(*mine)), flat(theirs(*inputs))
        assert len(a) == len(b)
        for x, y in zip(a, b):
            assert tuple(x.shape) == tuple(y.shape)
            close(x, y)
    # Of what is computed in use: gradients of inputs and parameters.
    if name == "ChannelShuffle" or not any(y.requires_grad for y in b):  # PyTorch has no gradient of that one
        return
    weights = [torch.randn(y.shape) for y in b]
    sum((y * w).sum() for y, w in zip(b, weights)).backward()
    sum((x * ug.tensor(w.numpy())).sum() for x, w in zip(a, weights)).backward()
    for x, y in zip(mine, inputs):
        if name != "CrossMapLRN2d":
            close(x.grad, y.grad, 1e-4)
    # Another parameter's gradient may be none at all, or one of zeros.
    for (key, x), (_, y) in zip(ours.named_parameters(), theirs.named_parameters()):
        if y.grad is not None:
            assert x.grad is not None, key
            close(x.grad, y.grad, 1e-4)
    for key, value in theirs.state_dict().items():
        close(ours.state_dict()[key], value)


def test_embeddings():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: layers are compared with it")
    theirs, index = torch.nn.Embedding(10, 4, padding_idx=3), np.array([[1, 3, 9], [0, 0, 2]])
    ours = nn.Embedding(10, 4, padding_idx=3)
    assert ours.weight[3].tolist() == [0.0] * 4
    ours.load_state_dict(theirs.state_dict())
    a, b = ours(ug.tensor(index)), theirs(torch.tensor(index))
    close(a, b)
    a.square().sum().backward(), b.square().sum().backward()
    close(ours.weight.grad, theirs.weight.grad)
    for mode in ("sum", "mean", "max"):
        theirs, ours = torch.nn.EmbeddingBag(10, 4, mode=mode), nn.EmbeddingBag(10, 4, mode=mode)
        ours.load_state_dict(theirs.state_dict())
        close(ours(ug.tensor(index)), theirs(torch.tensor(index)))
        offsets = np.array([0, 2])
        a, b = ours(ug.tensor(index[0]), ug.tensor(offsets)), theirs(torch.tensor(index[0]), torch.tensor(offsets))
        close(a, b)
    frozen = nn.Embedding.from_pretrained(ug.ones(3, 2))
    assert not frozen.weight.requires_grad


def test_masks_of_attention():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: masks are compared with it")
    theirs, ours = torch.nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2, batch_first=True)
    ours.load_state_dict(theirs.state_dict())
    x = np.random.RandomState(0).randn(3, 5, 8).astype("float32")
    causal = np.triu(np.ones((5, 5), bool), 1)
    padding = np.array([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])
    a, t = ug.tensor(x), torch.tensor(x)
    for attn, pad in ((causal, None), (None, padding), (causal, padding), (causal * np.float32(-1e9), None)):
        ours_masks = {"attn_mask": None if attn is None else ug.tensor(attn), "key_padding_mask": None if pad is None else ug.tensor(pad)}
        their_masks = {
            "attn_mask": None if attn is None else torch.tensor(attn),
            "key_padding_mask": None if pad is None else torch.tensor(pad),
        }
        for needs in (True, False):
            got, want = ours(a, a, a, need_weights=needs, **ours_masks), theirs(t, t, t, need_weights=needs, **their_masks)
            close(got[0], want[0])
            if needs:
                close(got[1], want[1])
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    assert mask.tolist() == torch.nn.Transformer.generate_square_subsequent_mask(3).tolist()
    q = np.random.RandomState(1).randn(2, 2, 5, 4).astype("float32")
    for kwargs in ({}, {"is_causal": True}, {"scale": 0.3}):
        for cut in ((), (0,), (0, 0)):
            a, t = ug.tensor(q[cut]), torch.tensor(q[cut])
            close(F.scaled_dot_product_attention(a, a, a, **kwargs), torch.nn.functional.scaled_dot_product_attention(t, t, t, **kwargs))


def test_packed_sequences():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: packed sequences are compared with it")
    from torch.nn.utils import rnn as theirs_rnn

    from unigrad.nn.utils import rnn as ours_rnn

    theirs, ours = torch.nn.LSTM(3, 4, bidirectional=True), nn.LSTM(3, 4, bidirectional=True)
    ours.load_state_dict(theirs.state_dict())
    x = np.random.RandomState(0).randn(6, 3, 3).astype("float32")
    a, b = ug.tensor(x), torch.tensor(x)
    out_a, (h_a, c_a) = ours(ours_rnn.pack_padded_sequence(a, [6, 4, 2]))
    out_b, (h_b, c_b) = theirs(theirs_rnn.pack_padded_sequence(b, [6, 4, 2]))
    padded_a, lengths_a = ours_rnn.pad_packed_sequence(out_a)
    padded_b, lengths_b = theirs_rnn.pad_packed_sequence(out_b)
    close(padded_a, padded_b), close(h_a, h_b), close(c_a, c_b)
    assert lengths_a.tolist() == lengths_b.tolist()
    parts = [ug.ones(2, 3), ug.ones(4, 3)]
    assert ours_rnn.pad_sequence(parts, batch_first=True).shape == (2, 4, 3)


LOSSES = [
    ("L1Loss", {}, "xx"), ("MSELoss", {"reduction": "sum"}, "xx"), ("SmoothL1Loss", {"beta": 0.5}, "xx"), ("HuberLoss", {"delta": 0.7}, "xx"),
    ("NLLLoss", {}, "lc"), ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 1}, "xc"), ("CrossEntropyLoss", {}, "xs"),
    ("BCELoss", {}, "pp"), ("BCEWithLogitsLoss", {}, "xp"), ("KLDivLoss", {"reduction": "batchmean"}, "ls"), ("PoissonNLLLoss", {}, "xp"),
    ("GaussianNLLLoss", {"full": True}, "xxp"), ("HingeEmbeddingLoss", {}, "xn"), ("CosineEmbeddingLoss", {"margin": 0.1}, "xxm"),
    ("MarginRankingLoss", {"margin": 0.2}, "xxn"), ("SoftMarginLoss", {}, "xn"), ("MultiMarginLoss", {"p": 2}, "xc"),
    ("MultiLabelMarginLoss", {}, "xl0"), ("MultiLabelSoftMarginLoss", {}, "xp"), ("TripletMarginLoss", {"swap": True}, "xxx"),
    ("TripletMarginWithDistanceLoss", {}, "xxx"),
]  # fmt: skip


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("name", "kwargs", "kinds"), LOSSES, ids=lambda v: v if isinstance(v, str) else "")
def test_losses_compute_what_pytorchs_do(name, kwargs, kinds, reduction):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: losses are compared with it")
    random = np.random.RandomState(0)
    n, classes = 5, 4
    kinds = kinds.replace("l0", "q")
    make = {
        "x": lambda: random.randn(n, classes).astype("float32"),
        "p": lambda: random.uniform(0.1, 0.9, (n, classes)).astype("float32"),
        "s": lambda: random.dirichlet([1.0] * classes, n).astype("float32"),
        "l": lambda: np.log(random.dirichlet([1.0] * classes, n)).astype("float32"),
        "c": lambda: random.randint(0, classes, n),
        "n": lambda: random.choice([-1.0, 1.0], (n, classes)).astype("float32"),
        "m": lambda: random.choice([-1, 1], n),
        "q": lambda: np.array([[1, 2, -1, 0]] * n),
    }
    arrays = [make[kind]() for kind in kinds]
    kwargs = {**kwargs} if kwargs.get("reduction") == "batchmean" and reduction == "mean" else {**kwargs, "reduction": reduction}
    ours, theirs = getattr(nn, name)(**kwargs), getattr(torch.nn, name)(**kwargs)
    close(ours(*map(ug.tensor, arrays)), theirs(*map(torch.tensor, arrays)), 1e-4)


def test_ctc():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: losses are compared with it")
    logits = np.random.RandomState(0).randn(8, 2, 5).astype("float32")
    targets, lengths, labels = np.array([[1, 2, 3], [4, 2, 0]]), np.array([8, 7]), np.array([3, 2])
    a = F.ctc_loss(ug.tensor(logits).log_softmax(-1), ug.tensor(targets), ug.tensor(lengths), ug.tensor(labels))
    b = torch.nn.functional.ctc_loss(torch.tensor(logits).log_softmax(-1), *map(torch.tensor, (targets, lengths, labels)))
    close(a, b)


def test_initial_values():
    weight = nn.Parameter(ug.zeros(64, 32))
    for fill, std in [
        (nn.init.xavier_uniform_, (2 / 96) ** 0.5),
        (nn.init.xavier_normal_, (2 / 96) ** 0.5),
        (lambda w: nn.init.kaiming_uniform_(w, nonlinearity="relu"), (2 / 32) ** 0.5),
        (lambda w: nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"), (2 / 64) ** 0.5),
        (lambda w: nn.init.normal_(w, 1.0, 2.0), 2.0),
        (lambda w: nn.init.uniform_(w, -1.0, 1.0), 3**-0.5),
        (lambda w: nn.init.trunc_normal_(w, std=0.5, a=-5.0, b=5.0), 0.5),
    ]:
        assert fill(weight) is weight
        assert abs(np.asarray(weight.detach()).std() / std - 1) < 0.1
    nn.init.orthogonal_(weight)
    product = weight.detach().T @ weight.detach()
    np.testing.assert_allclose(np.asarray(product), np.eye(32), atol=1e-5)
    assert nn.init.eye_(ug.zeros(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert nn.init.constant_(ug.zeros(2), 3.0).tolist() == [3.0, 3.0]
    sparse = np.asarray(nn.init.sparse_(ug.zeros(10, 4), 0.3))
    assert ((sparse == 0).sum(0) == 3).all()
    x = ug.randn(1, 4, 5)
    kernel = nn.init.dirac_(ug.zeros(4, 4, 3))
    np.testing.assert_allclose(np.asarray(F.conv1d(x, kernel, padding=1)), np.asarray(x), atol=1e-6)


@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
def test_computed_weights(norm):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: norms of weights are compared with it")
    theirs = getattr(torch.nn.utils.parametrizations, norm)(torch.nn.Linear(6, 4)).eval()
    ours = getattr(nn.utils.parametrizations, norm)(nn.Linear(6, 4)).eval()
    ours.load_state_dict(theirs.state_dict())
    x = np.random.RandomState(0).randn(3, 6).astype("float32")
    for _ in range(2):
        a, b = ours(ug.tensor(x)), theirs(torch.tensor(x))
        close(a, b)
        ours.train(), theirs.train()
    a.sum().backward(), b.sum().backward()
    for (key, p), (other, q) in zip(sorted(ours.named_parameters()), sorted(theirs.named_parameters())):
        assert key == other
        close(p.grad, q.grad, 1e-4)
    other = copy.deepcopy(ours.eval())
    close(other(ug.tensor(x)), theirs.eval()(torch.tensor(x)))
    assert pickle.loads(pickle.dumps(ours))(ug.tensor(x)).tolist() == ours(ug.tensor(x)).tolist()
    plain = nn.utils.remove_parametrizations(other)
    assert sorted(dict(plain.named_parameters())) == ["bias", "weight"]
    close(plain(ug.tensor(x)), theirs(torch.tensor(x)))


def test_gradient_utilities():
    w = [nn.Parameter(ug.tensor([3.0])), nn.Parameter(ug.tensor([4.0]))]
    sum((p * p).sum() for p in w).backward()
    assert nn.utils.clip_grad_norm_(w, 5.0).item() == pytest.approx(10.0)
    assert [p.grad.item() for p in w] == pytest.approx([3.0, 4.0], rel=1e-5)
    nn.utils.clip_grad_value_(w, 3.5)
    assert [p.grad.item() for p in w] == pytest.approx([3.0, 3.5], rel=1e-5)
    vector = nn.utils.parameters_to_vector(w)
    nn.utils.vector_to_parameters(vector * 2, w)
    assert [p.item() for p in w] == [6.0, 8.0]


def test_dropout_keeps_the_mean():
    x = ug.ones(20000)
    for layer in (nn.Dropout(0.3), nn.AlphaDropout(0.0)):
        assert abs(layer(x).mean().item() - 1.0) < 0.05
    channels = nn.Dropout2d(0.5)(ug.ones(100, 10, 3, 3))
    assert set(np.asarray(channels.mean((2, 3))).round(5).ravel()) <= {0.0, 2.0}


def test_blocks_that_are_computed_again():
    def made():
        ug.manual_seed(4)
        parts = [nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Dropout(0.3), nn.Linear(8, 2)]
        return nn.Sequential(*parts)

    x, results = ug.randn(6, 4), []
    for recomputed in (False, True):
        net = made()
        ug.manual_seed(5)
        y = ug.checkpoint(net, x) if recomputed else net(x)
        y.square().sum().backward()
        results.append([y.tolist(), net[1].running_mean.tolist(), [p.grad.tolist() for p in net.parameters()]])
    assert results[0][1] == results[1][1]
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-5, atol=1e-6)
    for a, b in zip(results[0][2], results[1][2]):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    with pytest.raises(ZeroDivisionError):
        ug.checkpoint(lambda x: 1 / 0, x)
    with pytest.raises(TypeError, match="input"):
        ug.checkpoint(net, 3)
