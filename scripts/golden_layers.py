"""Layers of torch.nn in float32: names and shapes of their parameters, values and gradients: goldens/layers.json.

    python scripts/golden_layers.py        # needs torch (CPU)

A case is a layer's name here, a number that tells its settings (crates/unigrad/tests/layers.rs has them again), its state_dict, inputs, the output, and
the gradients of sum(output * weight) with weight[i] = ((7 i + 3) mod 13 - 6) / 4 with respect to inputs and parameters. What a pass leaves in
buffers, and in parameters that it changes, is there, too.
"""

import json
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
cases = []


def weight(t):
    i = torch.arange(t.numel(), dtype=torch.float64).reshape(t.shape)
    return (((7 * i + 3) % 13 - 6) / 4).to(t.dtype)


def tensor(t):
    kind = "i64" if t.dtype == torch.int64 else "bool" if t.dtype == torch.bool else "f32"
    values = [round(float(x), 7) if kind == "f32" else int(x) for x in t.detach().reshape(-1).tolist()]
    return dict(shape=list(t.shape), dtype=kind, values=values)


def case(name, layer, *inputs, variant=0, run=None, train=True):
    layer.train(train)
    for p in layer.parameters():
        if p.abs().sum() == 0 or (p == 1).all():
            # Biases of 0 and factors of 1 would hide mistakes.
            p.data += torch.randn_like(p) * 0.1
    state = {k: tensor(v.clone()) for k, v in layer.state_dict().items()}
    leaves = [x.clone().requires_grad_() if x.dtype == torch.float32 else x for x in inputs]
    out = (run or (lambda l, *x: l(*x)))(layer, *leaves)
    (out * weight(out)).sum().backward()
    after = {k: tensor(v) for k, v in layer.state_dict().items() if k in dict(layer.named_buffers()) or tensor(v) != state[k]}
    cases.append(dict(
        layer=name, variant=variant, state=state, inputs=[tensor(x) for x in inputs], output=tensor(out), buffers=after,
        input_grads=[tensor(x.grad) if x.requires_grad and x.grad is not None else None for x in leaves],
        grads={k: tensor(p.grad if p.grad is not None else torch.zeros_like(p)) for k, p in layer.named_parameters()},
    ))


def X(*shape):
    return torch.randn(shape)


for name, layer in [
    ("Relu", nn.ReLU()), ("Relu6", nn.ReLU6()), ("Selu", nn.SELU()), ("Gelu", nn.GELU()), ("GeluTanh", nn.GELU(approximate="tanh")), ("Silu", nn.SiLU()),
    ("Sigmoid", nn.Sigmoid()), ("LogSigmoid", nn.LogSigmoid()), ("Tanh", nn.Tanh()), ("Tanhshrink", nn.Tanhshrink()), ("Softsign", nn.Softsign()),
    ("Mish", nn.Mish()), ("Hardswish", nn.Hardswish()), ("Hardsigmoid", nn.Hardsigmoid()), ("LeakyRelu", nn.LeakyReLU()), ("Elu", nn.ELU()),
    ("Celu", nn.CELU()), ("Softplus", nn.Softplus()), ("Softshrink", nn.Softshrink()), ("Hardshrink", nn.Hardshrink()), ("Hardtanh", nn.Hardtanh()),
    ("Threshold", nn.Threshold(0.1, 0.5)), ("Softmax", nn.Softmax(-1)), ("Softmin", nn.Softmin(-1)), ("LogSoftmax", nn.LogSoftmax(-1)), ("Glu", nn.GLU()),
    ("PRelu", nn.PReLU(1)),
]:
    case(name, layer, X(3, 8))
case("Softplus", nn.Softplus(2.0, 3.0), X(3, 8), variant=1)
case("Softmax2d", nn.Softmax2d(), X(2, 3, 2, 2))
case("PRelu", nn.PReLU(3), X(2, 3, 4), variant=1)
case("RRelu", nn.RReLU(), X(3, 8), train=False)
case("Linear", nn.Linear(5, 3), X(4, 5))
case("Linear", nn.Linear(5, 3, bias=False), X(2, 4, 5), variant=1)
case("Bilinear", nn.Bilinear(4, 3, 5), X(6, 4), X(6, 3))
for n, (conv, transposed, shape) in enumerate([(nn.Conv1d, nn.ConvTranspose1d, (7,)), (nn.Conv2d, nn.ConvTranspose2d, (6, 7)), (nn.Conv3d, nn.ConvTranspose3d, (4, 5, 6))], 1):
    case(f"Conv{n}d", conv(4, 6, 3, stride=2, padding=1, groups=2), X(2, 4, *shape))
    case(f"ConvTranspose{n}d", transposed(4, 6, 3, stride=2, padding=1, groups=2), X(2, 4, *shape))
    pools = {"MaxPool": nn.MaxPool1d if n == 1 else nn.MaxPool2d if n == 2 else nn.MaxPool3d}
    case(f"MaxPool{n}d", getattr(nn, f"MaxPool{n}d")(2), X(2, 3, *shape))
    case(f"AvgPool{n}d", getattr(nn, f"AvgPool{n}d")(2), X(2, 3, *shape))
    case(f"LpPool{n}d", getattr(nn, f"LPPool{n}d")(2.0, 2), X(2, 3, *shape))
    case(f"AdaptiveAvgPool{n}d", getattr(nn, f"AdaptiveAvgPool{n}d")(3), X(2, 3, *shape))
    case(f"AdaptiveMaxPool{n}d", getattr(nn, f"AdaptiveMaxPool{n}d")(3), X(2, 3, *shape))
    even = [s // 2 * 2 for s in shape]
    case(f"MaxUnpool{n}d", getattr(nn, f"MaxPool{n}d")(2, return_indices=True), X(2, 3, *even),
         run=lambda l, x, n=n: getattr(nn, f"MaxUnpool{n}d")(2)(*l(x)))
    for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
        case(f"{name}{n}d", getattr(nn, f"{name}{n}d")(2), X(2, 3, *shape))
    case(f"ConstantPad{n}d", getattr(nn, f"ConstantPad{n}d")(2, 0.25), X(2, 3, *shape))
    case("BatchNorm", getattr(nn, f"BatchNorm{n}d")(3), X(4, 3, *shape), variant=n)
    case("InstanceNorm", getattr(nn, f"InstanceNorm{n}d")(3), X(4, 3, *shape), variant=0)
    case("InstanceNorm", getattr(nn, f"InstanceNorm{n}d")(3, affine=True), X(4, 3, *shape), variant=1)
    case("InstanceNorm", getattr(nn, f"InstanceNorm{n}d")(3, affine=True, track_running_stats=True), X(4, 3, *shape), variant=2)
case("LayerNorm", nn.LayerNorm(6), X(4, 6))
case("LayerNorm", nn.LayerNorm((3, 6)), X(4, 3, 6), variant=1)
case("RmsNorm", nn.RMSNorm(6, eps=1e-5), X(4, 6))
case("GroupNorm", nn.GroupNorm(2, 6), X(3, 6, 5))
case("LocalResponseNorm", nn.LocalResponseNorm(3), X(2, 5, 4, 4))
case("Embedding", nn.Embedding(7, 4), torch.tensor([[1, 2], [6, 1]]))
case("Embedding", nn.Embedding(7, 4, padding_idx=1), torch.tensor([[1, 2], [6, 1]]), variant=1)
case("EmbeddingBag", nn.EmbeddingBag(7, 4, mode="mean"), torch.tensor([[1, 2, 0], [6, 1, 1]]))
case("EmbeddingBag", nn.EmbeddingBag(7, 4, mode="sum"), torch.tensor([1, 2, 0, 6, 1]), torch.tensor([0, 2]), variant=1)
case("EmbeddingBag", nn.EmbeddingBag(7, 4, mode="max"), torch.tensor([[1, 2, 0], [6, 1, 1]]), variant=2)
case("Flatten", nn.Flatten(), X(2, 3, 4))
case("Unflatten", nn.Unflatten(1, (2, 3)), X(2, 6, 4))
case("Identity", nn.Identity(), X(2, 3))
case("PixelShuffle", nn.PixelShuffle(2), X(2, 8, 3, 4))
case("PixelUnshuffle", nn.PixelUnshuffle(2), X(2, 2, 6, 4))
case("ChannelShuffle", nn.ChannelShuffle(2), X(2, 6, 3, 4))
case("Upsample", nn.Upsample(scale_factor=2, mode="nearest"), X(2, 2, 3, 4))
case("Upsample", nn.Upsample(size=(5, 7), mode="bilinear", align_corners=True), X(2, 2, 3, 4), variant=1)
case("Unfold", nn.Unfold((2, 3), stride=(1, 2), padding=1), X(2, 2, 5, 6))
case("Fold", nn.Fold((4, 5), (2, 2)), X(2, 8, 12))
case("CosineSimilarity", nn.CosineSimilarity(), X(4, 5), X(4, 5))
case("PairwiseDistance", nn.PairwiseDistance(), X(4, 5), X(4, 5))
for variant, causal in enumerate([False, True]):
    mask = nn.Transformer.generate_square_subsequent_mask(5) if causal else None
    case("MultiHeadAttention", nn.MultiheadAttention(8, 2, batch_first=True), X(3, 5, 8), variant=variant,
         run=lambda l, x: l(x, x, x, attn_mask=mask, need_weights=False)[0])
padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
options = dict(d_model=8, nhead=2, dim_feedforward=12, dropout=0.0, batch_first=True)
for variant, more in enumerate([{}, dict(activation="gelu", norm_first=True)]):
    case("TransformerEncoderLayer", nn.TransformerEncoderLayer(**options, **more), X(2, 5, 8), padding, variant=variant,
         run=lambda l, x, m: l(x, src_key_padding_mask=m))
    case("TransformerDecoderLayer", nn.TransformerDecoderLayer(**options, **more), X(2, 4, 8), X(2, 5, 8), padding, variant=variant,
         run=lambda l, x, y, m: l(x, y, tgt_mask=torch.triu(torch.ones(4, 4, dtype=torch.bool), 1), memory_key_padding_mask=m))
case("Transformer", nn.Transformer(num_encoder_layers=2, num_decoder_layers=1, **options), X(2, 5, 8), X(2, 4, 8))



def flat(*tensors):
    return torch.cat([x.reshape(-1) for x in tensors])


def packed(layer, x, lengths, *state):
    """Outputs and last states of sequences of different lengths."""
    x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=layer.batch_first, enforce_sorted=False)
    y, last = layer(x, *state)
    y = nn.utils.rnn.pad_packed_sequence(y, batch_first=layer.batch_first)[0]
    return flat(y, *last) if isinstance(last, tuple) else flat(y, last)


def all_of(layer, x, *state):
    y, last = layer(x, *state)
    return flat(y, *last) if isinstance(last, tuple) else flat(y, last)


lengths = torch.tensor([4, 2, 5])
both = dict(num_layers=2, bidirectional=True, batch_first=True)
for name, layer in [("Rnn", nn.RNN), ("Gru", nn.GRU), ("Lstm", nn.LSTM)]:
    states = 2 if name == "Lstm" else 1
    give = (lambda s: (s,)) if name == "Lstm" else (lambda s: s)
    case(name, layer(4, 3, batch_first=True), X(3, 5, 4), run=all_of)
    case(name, layer(4, 3, **both), X(3, 5, 4), *[X(4, 3, 3) for _ in range(states)], variant=1,
         run=lambda l, x, *s: all_of(l, x, s if len(s) == 2 else s[0]))
    case(name, layer(4, 3, **both), X(3, 5, 4), lengths, *[X(4, 3, 3) for _ in range(states)], variant=2,
         run=lambda l, x, n, *s: packed(l, x, n, s if len(s) == 2 else s[0]))
    case(name, layer(4, 3, num_layers=2, bias=False), X(5, 2, 4), variant=3, run=all_of)
    case(name, layer(4, 3, bidirectional=True), X(5, 4), variant=4, run=all_of)
case("Rnn", nn.RNN(4, 3, nonlinearity="relu", **both), X(3, 5, 4), lengths, variant=5, run=packed)
case("Lstm", nn.LSTM(4, 5, proj_size=3, **both), X(3, 5, 4), variant=5, run=all_of)
case("Lstm", nn.LSTM(4, 5, proj_size=3, **both), X(3, 5, 4), lengths, X(4, 3, 3), X(4, 3, 5), variant=6,
     run=lambda l, x, n, h, c: packed(l, x, n, (h, c)))
for bias in (True, False):
    case("RnnCell", nn.RNNCell(4, 3, bias=bias), X(2, 4), X(2, 3), variant=int(bias))
    case("GruCell", nn.GRUCell(4, 3, bias=bias), X(2, 4), X(2, 3), variant=int(bias))
    case("LstmCell", nn.LSTMCell(4, 3, bias=bias), X(2, 4), X(2, 3), X(2, 3), variant=int(bias), run=lambda l, x, h, c: flat(*l(x, (h, c))))
case("RnnCell", nn.RNNCell(4, 3, nonlinearity="relu"), X(4), variant=2)
case("GruCell", nn.GRUCell(4, 3), X(4), variant=2)
case("LstmCell", nn.LSTMCell(4, 3), X(4), variant=2, run=lambda l, x: flat(*l(x)))


class Averages(nn.Module):
    """Attention with the weights that it gave, of heads or their mean."""

    def __init__(self, layer, average, mask=None):
        super().__init__()
        self.__dict__["layer"] = layer
        self.average, self.mask = average, mask

    def __call__(self, layer, q, k, v):
        y, w = layer(q, k, v, attn_mask=self.mask, need_weights=True, average_attn_weights=self.average)
        return flat(y, w)


kv = dict(kdim=6, vdim=5, batch_first=True)
seen = nn.Transformer.generate_square_subsequent_mask(4)[:3]
case("MultiHeadAttention", nn.MultiheadAttention(8, 2, **kv), X(2, 3, 8), X(2, 4, 6), X(2, 4, 5), variant=2, run=Averages(None, True))
case("MultiHeadAttention", nn.MultiheadAttention(8, 2, add_bias_kv=True, **kv), X(2, 3, 8), X(2, 4, 6), X(2, 4, 5), variant=3,
     run=Averages(None, False, seen))
case("MultiHeadAttention", nn.MultiheadAttention(8, 2, add_zero_attn=True, bias=False, **kv), X(2, 3, 8), X(2, 4, 6), X(2, 4, 5), variant=4,
     run=Averages(None, False))
case("MultiHeadAttention", nn.MultiheadAttention(8, 2, add_zero_attn=True, add_bias_kv=True, batch_first=True), X(2, 4, 8), variant=5,
     run=lambda l, x: l(x, x, x, attn_mask=nn.Transformer.generate_square_subsequent_mask(4), need_weights=False)[0])
case("MultiHeadAttention", nn.MultiheadAttention(8, 2), X(4, 8), variant=6, run=lambda l, x: l(x, x, x, need_weights=False)[0])
for variant, options in enumerate([dict(affine=False), dict(track_running_stats=False), dict(momentum=None)], 4):
    case("BatchNorm", nn.BatchNorm1d(3, **options), X(4, 3, 5), variant=variant)
case("BatchNorm", nn.BatchNorm1d(3), X(4, 3, 5), variant=7, train=False)
case("BatchNorm", nn.BatchNorm1d(3, track_running_stats=False), X(4, 3, 5), variant=8, train=False)
case("LayerNorm", nn.LayerNorm((3, 6), elementwise_affine=False), X(4, 3, 6), variant=2)
case("RmsNorm", nn.RMSNorm((3, 6), eps=1e-5), X(4, 3, 6), variant=1)
case("RmsNorm", nn.RMSNorm((3, 6), eps=1e-5, elementwise_affine=False), X(4, 3, 6), variant=2)
case("GroupNorm", nn.GroupNorm(2, 6, affine=False), X(3, 6, 5), variant=1)
for variant, mode in enumerate(["reflect", "replicate", "circular"], 1):
    case("Conv1d", nn.Conv1d(2, 3, 3, padding=2, padding_mode=mode), X(2, 2, 7), variant=variant)
    case("Conv2d", nn.Conv2d(2, 3, (3, 2), padding=(1, 2), padding_mode=mode), X(2, 2, 4, 5), variant=variant)
    case("Conv3d", nn.Conv3d(1, 2, 2, padding=1, padding_mode=mode), X(1, 1, 3, 3, 3), variant=variant)
case("Conv1d", nn.Conv1d(2, 3, 4, padding="same", dilation=3), X(2, 2, 9), variant=4)
case("Conv2d", nn.Conv2d(2, 3, (2, 5), padding="same", padding_mode="circular"), X(2, 2, 4, 5), variant=4)
case("LinearCrossEntropyLoss", nn.LinearCrossEntropyLoss(4, 5), X(6, 4), torch.tensor([0, 4, 2, 1, 1, 3]))
case("LinearCrossEntropyLoss", nn.LinearCrossEntropyLoss(4, 5, out_features=(2, 3)), X(3, 4), torch.arange(18).reshape(3, 2, 3) % 5, variant=1)
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

case("WeightNorm", weight_norm(nn.Linear(4, 3)), X(2, 4))
case("WeightNorm", weight_norm(nn.Linear(4, 3), dim=None), X(2, 4), variant=1)
case("WeightNorm", weight_norm(nn.Conv2d(2, 3, 2), dim=1), X(2, 2, 3, 3), variant=2)
case("SpectralNorm", spectral_norm(nn.Linear(4, 3)), X(2, 4))
case("SpectralNorm", spectral_norm(nn.Linear(4, 3)), X(2, 4), variant=1, train=False)
case("SpectralNorm", spectral_norm(nn.ConvTranspose2d(2, 3, 2), n_power_iterations=2), X(2, 2, 3, 3), variant=2)
options = dict(d_model=8, nhead=2, dim_feedforward=12, dropout=0.0, batch_first=True, bias=False)
case("TransformerEncoderLayer", nn.TransformerEncoderLayer(**options), X(2, 5, 8), padding, variant=2,
     run=lambda l, x, m: l(x, src_key_padding_mask=m))
case("TransformerDecoderLayer", nn.TransformerDecoderLayer(**options), X(2, 4, 8), X(2, 5, 8), padding, variant=2,
     run=lambda l, x, y, m: l(x, y, tgt_mask=torch.triu(torch.ones(4, 4, dtype=torch.bool), 1), memory_key_padding_mask=m))
case("Transformer", nn.Transformer(num_encoder_layers=2, num_decoder_layers=1, **options), X(2, 5, 8), X(2, 4, 8), variant=1)
case("MultiHeadAttention", nn.MultiheadAttention(8, 2, bias=False, batch_first=True), X(3, 5, 8), variant=7,
     run=lambda l, x: l(x, x, x, need_weights=False)[0])
# So small that the number that is added counts, with digits that the file has.
case("RmsNorm", nn.RMSNorm(6), (X(4, 6) * 1e3).round() / 1e6, variant=3)


def across(layer, x):
    """The values of CrossMapLRN2d, whose running sum never takes channel 0 out, as a formula: its own gradient in PyTorch is that of other windows (an
    index from Lua), and so not the derivative of its values."""
    half, squares = (layer.size - 1) // 2, x * x
    sums = [squares[:, max(c - half, 0):c + half + 1].sum(1) + (squares[:, 0] if c > half else 0) for c in range(x.shape[1])]
    y = x * (layer.k + layer.alpha / layer.size * torch.stack(sums, 1)) ** -layer.beta
    assert torch.allclose(y.detach(), layer(x.detach()), rtol=1e-6, atol=0), "PyTorch's values"
    return y


case("CrossMapLrn2d", nn.CrossMapLRN2d(5, alpha=0.5, beta=0.75, k=1.5), X(2, 3, 4, 3), run=across)
case("CrossMapLrn2d", nn.CrossMapLRN2d(4, alpha=0.5, beta=0.75, k=1.5), X(2, 6, 3, 2), variant=1, run=across)
case("CrossMapLrn2d", nn.CrossMapLRN2d(3), X(2, 2, 3, 3), variant=2, run=across)
# One device's; with others it exchanges statistics.
case("SyncBatchNorm", nn.SyncBatchNorm(3), X(4, 3, 5), train=False)
# Sizes even and odd, of more and of fewer channels: variants are 10 times the size, and the channels.
for size, channels in ((1, 3), (2, 5), (3, 4), (3, 7), (4, 2), (5, 4), (5, 9), (6, 3), (7, 4), (8, 9)):
    case("CrossMapLrn2d", nn.CrossMapLRN2d(size, alpha=0.5, beta=0.75, k=1.5), X(1, channels, 2, 2), variant=10 * size + channels, run=across)
# The pass makes rows shorter in the table.
tokens = torch.tensor([[1, 2, 1], [6, 1, 0]])
case("Embedding", nn.Embedding(7, 4, max_norm=1.5), tokens, variant=2)
case("Embedding", nn.Embedding(7, 4, max_norm=2.0, norm_type=1.0, padding_idx=1, scale_grad_by_freq=True), tokens, variant=3)
case("EmbeddingBag", nn.EmbeddingBag(7, 4, max_norm=1.5, mode="sum"), tokens, variant=3)
case("EmbeddingBag", nn.EmbeddingBag(7, 4, max_norm=1.5, mode="mean"), torch.tensor([1, 2, 0, 6, 1]), torch.tensor([0, 2]), variant=4)
case("AvgPool2d", nn.AvgPool2d(2, stride=1, padding=1, divisor_override=3), X(2, 2, 4, 5), variant=1)
case("AvgPool3d", nn.AvgPool3d(2, ceil_mode=True, divisor_override=5), X(1, 2, 3, 4, 5), variant=1)
for variant, (shape, options) in enumerate([
    ((5,), dict(scale_factor=2.5, mode="linear")), ((5,), dict(size=7, mode="linear", align_corners=True)), ((5,), dict(size=7, mode="nearest")),
    ((2, 3, 2), dict(scale_factor=2, mode="nearest")), ((2, 3, 4), dict(size=(3, 5, 2), mode="trilinear")),
    ((2, 3, 4), dict(scale_factor=2, mode="trilinear", align_corners=True)), ((3, 4), dict(size=(5, 7), mode="bicubic")),
    ((3, 4), dict(size=(5, 7), mode="bicubic", align_corners=True)), ((3, 4), dict(scale_factor=1.5, mode="bilinear")),
    ((3, 4), dict(size=(5, 7), mode="nearest-exact")), ((5, 6), dict(size=(2, 3), mode="area")),
], 2):
    case("Upsample", nn.Upsample(**options), X(2, 2, *shape), variant=variant)
for variant, options in enumerate([dict(scale_factor=2), dict(size=(5, 7))]):
    case("UpsamplingNearest2d", nn.UpsamplingNearest2d(**options), X(2, 2, 3, 4), variant=variant)
    case("UpsamplingBilinear2d", nn.UpsamplingBilinear2d(**options), X(2, 2, 3, 4), variant=variant)


class Gated(nn.Module):
    """One half of an axis through a function, times the other (Shazeer, 2020), of which PyTorch has functions only."""

    def __init__(self, function, axis):
        super().__init__()
        self.function, self.axis = function, axis

    def forward(self, x):
        gate, value = x.chunk(2, self.axis)
        return self.function(gate) * value


class Learned(nn.Module):
    """A learned vector for each position, added."""

    def __init__(self, size, longest):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(longest, size) * 0.02)

    def forward(self, x):
        return x + self.weight[:x.shape[1]]


for variant, axis in enumerate([-1, 1]):
    case("SwiGlu", Gated(F.silu, axis), X(3, 4, 6), variant=variant)
    case("GeGlu", Gated(F.gelu, axis), X(3, 4, 6), variant=variant)
case("LearnedEncoding", Learned(4, 7), X(2, 5, 4))
# Losses of several inputs, by their types.
signs = torch.tensor([1.0, -1.0, 1.0, -1.0])
case("GaussianNllLoss", nn.GaussianNLLLoss(), X(4, 3), X(4, 3), X(4, 3).abs() + 0.5)
case("GaussianNllLoss", nn.GaussianNLLLoss(full=True, reduction="sum"), X(4, 3), X(4, 3), X(4, 3).abs() + 0.5, variant=1)
case("MarginRankingLoss", nn.MarginRankingLoss(), X(4), X(4), signs)
case("MarginRankingLoss", nn.MarginRankingLoss(margin=0.5, reduction="sum"), X(4), X(4), signs, variant=1)
case("CosineEmbeddingLoss", nn.CosineEmbeddingLoss(), X(4, 3), X(4, 3), signs)
case("CosineEmbeddingLoss", nn.CosineEmbeddingLoss(margin=-0.5, reduction="none"), X(4, 3), X(4, 3), signs, variant=1)
case("TripletMarginLoss", nn.TripletMarginLoss(), X(4, 3), X(4, 3), X(4, 3))
case("TripletMarginLoss", nn.TripletMarginLoss(margin=2.0, p=1.0, swap=True, reduction="sum"), X(4, 3), X(4, 3), X(4, 3), variant=1)
case("TripletMarginWithDistanceLoss", nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - F.cosine_similarity(a, b), margin=0.7),
     X(4, 3), X(4, 3), X(4, 3))
for variant, reduction in enumerate(["mean", "sum", "none"]):
    # PyTorch's gradient takes it that the logarithms are those of a softmax.
    case("CtcLoss", nn.CTCLoss(blank=variant, reduction=reduction), X(6, 2, 5), torch.tensor([[3, 3, 4], [4, 3, 3]]), torch.tensor([6, 5]),
         torch.tensor([3, 2]), variant=variant, run=lambda l, x, *more: l(x.log_softmax(-1), *more))

path = os.path.join(os.path.dirname(__file__), "..", "goldens", "layers.json")
with open(path, "w") as file:
    json.dump(cases, file, separators=(",", ":"))
    file.write("\n")
print(len(cases), "cases,", os.path.getsize(path), "bytes")
