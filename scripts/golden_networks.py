"""Shapes, names and numbers of parameters of PyTorch's modules, for layers by description (crates/unigrad-train/tests/network.rs).

In: the table below: an input without the batch, the layers as unigrad's files have them, the same as PyTorch modules.
Out: goldens/networks.json. Run: python scripts/golden_networks.py
"""

import json
import pathlib

import torch
from torch import nn


class Take(nn.Module):
    """What `f` makes of an input; without parameters."""

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


class First(nn.Module):
    """The outputs of a recurrent layer; `last`: the last states of the topmost layer, side by side."""

    def __init__(self, layer, last=False):
        super().__init__()
        self.layer, self.last = layer, last

    def forward(self, x):
        out, state = self.layer(x)
        if not self.last:
            return out
        h = state[0] if isinstance(state, tuple) else state
        n = 2 if self.layer.bidirectional else 1
        return torch.cat(list(h[-n:]), -1)


class Attention(nn.Module):
    def __init__(self, *args, **kwargs):
        super().__init__()
        self.attention = nn.MultiheadAttention(*args, batch_first=True, **kwargs)

    def forward(self, x):
        return self.attention(x, x, x)[0]


class Residual(nn.Module):
    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + (x if self.shortcut is None else self.shortcut(x))


def encoder(size, heads, n, hidden, norm=None):
    layer = nn.TransformerEncoderLayer(size, heads, hidden, batch_first=True)
    return nn.TransformerEncoder(layer, n, norm=norm, enable_nested_tensor=False)


ROWS = [
    ([784], [{"dense": {"units": 512}}, "relu", {"dense": {"units": 10, "bias": False}}], [nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10, bias=False)]),
    ([5, 7], [{"linear": {"units": 3}}], [nn.Linear(7, 3)]),
    ([1, 28, 28], [{"conv2d": {"channels": 8, "kernel": 3}}, {"max_pool2d": {"kernel": 2}}, "flatten", {"dense": {"units": 10}}],
     [nn.Conv2d(1, 8, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 13 * 13, 10)]),
    ([4, 17, 12], [{"conv2d": {"channels": 6, "kernel": [3, 5], "stride": [2, 1], "padding": [1, 2], "dilation": [2, 1], "groups": 2, "bias": False}}],
     [nn.Conv2d(4, 6, (3, 5), (2, 1), (1, 2), (2, 1), 2, bias=False)]),
    ([4, 17, 12], [{"conv2d": {"channels": 6, "kernel": [3, 4], "padding": "same", "dilation": 2}}], [nn.Conv2d(4, 6, (3, 4), padding="same", dilation=2)]),
    ([3, 33], [{"conv1d": {"channels": 5, "kernel": 4, "stride": 3, "padding": 2}}], [nn.Conv1d(3, 5, 4, 3, 2)]),
    ([2, 9, 8, 7], [{"conv3d": {"channels": 4, "kernel": [1, 2, 3], "stride": 2}}], [nn.Conv3d(2, 4, (1, 2, 3), 2)]),
    ([6, 11], [{"conv_transpose1d": {"channels": 4, "kernel": 3, "stride": 2, "padding": 1, "output_padding": 1, "groups": 2}}],
     [nn.ConvTranspose1d(6, 4, 3, 2, 1, 1, 2)]),
    ([6, 5, 4], [{"conv_transpose2d": {"channels": 4, "kernel": [2, 3], "stride": 2, "dilation": [1, 2], "bias": False}}],
     [nn.ConvTranspose2d(6, 4, (2, 3), 2, dilation=(1, 2), bias=False)]),
    ([2, 3, 4, 5], [{"conv_transpose3d": {"channels": 3, "kernel": 2}}], [nn.ConvTranspose3d(2, 3, 2)]),
    ([3, 17], [{"max_pool1d": {"kernel": 3, "stride": 2, "padding": 1, "dilation": 2, "ceil_mode": True}}], [nn.MaxPool1d(3, 2, 1, 2, ceil_mode=True)]),
    ([3, 17, 14], [{"max_pool2d": {"kernel": [3, 2], "stride": 2, "ceil_mode": True}}], [nn.MaxPool2d((3, 2), 2, ceil_mode=True)]),
    ([3, 8, 9, 10], [{"max_pool3d": {"kernel": 2}}], [nn.MaxPool3d(2)]),
    ([3, 17], [{"avg_pool1d": {"kernel": 4, "padding": 2}}], [nn.AvgPool1d(4, padding=2)]),
    ([3, 17, 14], [{"avg_pool2d": {"kernel": 3, "stride": [1, 2], "padding": 1, "count_include_pad": False}}],
     [nn.AvgPool2d(3, (1, 2), 1, count_include_pad=False)]),
    ([3, 8, 9, 10], [{"avg_pool3d": {"kernel": [2, 3, 4]}}], [nn.AvgPool3d((2, 3, 4))]),
    ([3, 17], [{"adaptive_avg_pool1d": {"size": 5}}], [nn.AdaptiveAvgPool1d(5)]),
    ([3, 17, 14], [{"adaptive_avg_pool2d": {"size": [5, 1]}}], [nn.AdaptiveAvgPool2d((5, 1))]),
    ([3, 7, 14, 4], [{"adaptive_avg_pool3d": {"size": 2}}], [nn.AdaptiveAvgPool3d(2)]),
    ([3, 17], [{"adaptive_max_pool1d": {"size": 1}}], [nn.AdaptiveMaxPool1d(1)]),
    ([3, 17, 14], [{"adaptive_max_pool2d": {"size": 3}}], [nn.AdaptiveMaxPool2d(3)]),
    ([3, 7, 14, 4], [{"adaptive_max_pool3d": {"size": [1, 2, 3]}}], [nn.AdaptiveMaxPool3d((1, 2, 3))]),
    ([6], ["batch_norm"], [nn.BatchNorm1d(6)]),
    ([6, 5, 5], [{"batch_norm": {"momentum": 0.2}}, {"instance_norm": {"affine": True, "track_running_stats": True}}],
     [nn.BatchNorm2d(6), nn.InstanceNorm2d(6, affine=True, track_running_stats=True)]),
    ([6, 5], ["instance_norm", {"layer_norm": {"axes": 2}}, {"layer_norm": {"bias": False}}],
     [nn.InstanceNorm1d(6), nn.LayerNorm([6, 5]), nn.LayerNorm(5, bias=False)]),
    ([6, 5, 4], [{"group_norm": {"groups": 3}}, "rms_norm", {"local_response_norm": {"size": 3}}],
     [nn.GroupNorm(3, 6), nn.RMSNorm(4), nn.LocalResponseNorm(3)]),
    ([6], ["dropout", {"alpha_dropout": {"p": 0.1}}], [nn.Dropout(), nn.AlphaDropout(0.1)]),
    ([6, 5], ["dropout1d", {"flatten": {"start": 1, "end": 2}}], [nn.Dropout1d(), nn.Flatten(1, 2)]),
    ([6, 5, 4], ["dropout2d", {"flatten": {"start": 2}}, {"unflatten": {"axis": 1, "sizes": [2, 3]}}],
     [nn.Dropout2d(), nn.Flatten(2), nn.Unflatten(1, (2, 3))]),
    ([2, 3, 4, 5], ["dropout3d", {"transpose": {"a": 1, "b": -1}}, {"mean": {"axis": 2}}],
     [nn.Dropout3d(), Take(lambda x: x.transpose(1, -1)), Take(lambda x: x.mean(2))]),
    ([12], [{"embedding": {"tokens": 50, "size": 8, "padding_idx": 0}}, {"lstm": {"hidden": 5}}], [nn.Embedding(50, 8, 0), First(nn.LSTM(8, 5, batch_first=True))]),
    ([7, 3], [{"lstm": {"hidden": 5, "n_layers": 2, "bidirectional": True, "give": "last"}}],
     [First(nn.LSTM(3, 5, 2, batch_first=True, bidirectional=True), True)]),
    ([7, 3], [{"gru": {"hidden": 4, "n_layers": 3}}, "last"], [First(nn.GRU(3, 4, 3, batch_first=True)), Take(lambda x: x[:, -1])]),
    ([7, 3], [{"gru": {"hidden": 4, "give": "last"}}], [First(nn.GRU(3, 4, batch_first=True), True)]),
    ([7, 8], [{"multihead_attention": {"heads": 2, "causal": True}}, {"multihead_attention": {"heads": 4, "bias": False}}],
     [Attention(8, 2), Attention(8, 4, bias=False)]),
    ([7, 8], ["sinusoidal_encoding", {"transformer_encoder": {"heads": 2, "n_layers": 2, "hidden": 16}}], [nn.Identity(), encoder(8, 2, 2, 16)]),
    ([7, 8], [{"transformer_encoder": {"heads": 2, "hidden": 16, "norm_first": True, "last_norm": True, "activation": "gelu"}}],
     [encoder(8, 2, 1, 16, nn.LayerNorm(8))]),
    ([4, 6, 6], [{"residual": {"layers": [{"conv2d": {"channels": 4, "kernel": 3, "padding": 1}}, "batch_norm", "relu"]}}],
     [Residual(nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()))]),
    ([4, 6, 6], [{"residual": {"layers": [{"conv2d": {"channels": 8, "kernel": 3, "padding": 1, "stride": 2}}],
                               "shortcut": [{"conv2d": {"channels": 8, "kernel": 1, "stride": 2}}]}}],
     [Residual(nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1)), nn.Sequential(nn.Conv2d(4, 8, 1, 2)))]),
    ([16, 8, 4], [{"upsample": {"factor": 2, "mode": "bilinear", "align_corners": True}}, {"pixel_shuffle": {"factor": 2}}, {"pixel_unshuffle": {"factor": 4}}],
     [nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), nn.PixelShuffle(2), nn.PixelUnshuffle(4)]),
    ([4, 6, 5], [{"upsample": {"size": [7, 9]}}, {"channel_shuffle": {"groups": 2}}], [nn.Upsample(size=(7, 9)), nn.ChannelShuffle(2)]),
    ([4, 6, 5], [{"zero_pad": {"pad": [1, 2]}}, {"reflection_pad": {"pad": 1}}, {"replication_pad": {"pad": 2}}, {"circular_pad": {"pad": 1}}],
     [nn.ZeroPad2d((2, 2, 1, 1)), nn.ReflectionPad2d(1), nn.ReplicationPad2d(2), nn.CircularPad2d(1)]),
    ([4, 6], ["prelu", {"prelu": {"per_channel": True}}, {"glu": {}}], [nn.PReLU(), nn.PReLU(4), nn.GLU()]),
]
ACTIVATIONS = {
    "identity": nn.Identity(), "relu": nn.ReLU(), "relu6": nn.ReLU6(), "leaky_relu": nn.LeakyReLU(), "rrelu": nn.RReLU(), "elu": nn.ELU(), "celu": nn.CELU(),
    "selu": nn.SELU(), "gelu": nn.GELU(), "gelu_tanh": nn.GELU("tanh"), "silu": nn.SiLU(), "sigmoid": nn.Sigmoid(), "log_sigmoid": nn.LogSigmoid(),
    "tanh": nn.Tanh(), "tanhshrink": nn.Tanhshrink(), "softsign": nn.Softsign(), "softplus": nn.Softplus(), "softshrink": nn.Softshrink(),
    "hardshrink": nn.Hardshrink(), "hardtanh": nn.Hardtanh(), "hardswish": nn.Hardswish(), "hardsigmoid": nn.Hardsigmoid(), "mish": nn.Mish(),
    "softmax": nn.Softmax(-1), "softmin": nn.Softmin(-1), "log_softmax": nn.LogSoftmax(-1),
}


def main():
    rows = []
    for shape, layers, modules in ROWS:
        tokens = isinstance(modules[0], nn.Embedding)
        x = torch.zeros([2, *shape], dtype=torch.int64) if tokens else torch.zeros([2, *shape])
        outputs = []
        for module in modules:
            x = module.eval()(x)
            outputs.append(list(x.shape[1:]))
        counts = [sum(p.numel() for p in module.parameters()) for module in modules]
        rows.append({"input": shape, "layers": layers, "outputs": outputs, "parameters": counts})
    x = torch.linspace(-3, 3, 8).reshape(2, 4)
    values = {name: module.eval()(x).flatten().tolist() for name, module in ACTIVATIONS.items()}
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    names = [[name, list(t.shape)] for name, t in net.state_dict().items()]
    path = pathlib.Path(__file__).parent.parent / "goldens" / "networks.json"
    path.write_text(json.dumps({"layers": rows, "activations": {"input": x.flatten().tolist(), "values": values}, "names": names}, indent=0) + "\n")


main()
