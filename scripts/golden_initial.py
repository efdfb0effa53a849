"""Initial values of the layers of torch.nn, by their distributions: goldens/initial.json.

    python scripts/golden_initial.py        # needs torch (CPU)

A layer's name here (crates/unigrad/tests/initial.rs has its settings again), and for each parameter its shape and what many draws are: one value, numbers
that are uniform up to a bound, or normal with a standard deviation.
"""

import json
import os

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
torch.set_num_threads(1)
DRAWS = 4_000
block = dict(d_model=16, nhead=2, dim_feedforward=24, batch_first=True)


def encoder():
    return nn.TransformerEncoderLayer(**block)


def decoder():
    return nn.TransformerDecoderLayer(**block)


LAYERS = {
    "Linear": lambda: nn.Linear(24, 16),
    "Linear without a bias": lambda: nn.Linear(24, 16, bias=False),
    "Bilinear": lambda: nn.Bilinear(24, 4, 16),
    "LinearCrossEntropyLoss": lambda: nn.LinearCrossEntropyLoss(24, 16),
    "Conv1d": lambda: nn.Conv1d(6, 16, 3, groups=2),
    "Conv2d": lambda: nn.Conv2d(6, 16, (3, 2)),
    "Conv3d": lambda: nn.Conv3d(3, 16, 2),
    "ConvTranspose1d": lambda: nn.ConvTranspose1d(6, 16, 3, groups=2),
    "ConvTranspose2d": lambda: nn.ConvTranspose2d(6, 16, (3, 2)),
    "ConvTranspose3d": lambda: nn.ConvTranspose3d(3, 16, 2),
    "BatchNorm": lambda: nn.BatchNorm1d(16),
    "SyncBatchNorm": lambda: nn.SyncBatchNorm(16),
    "InstanceNorm": lambda: nn.InstanceNorm1d(16, affine=True),
    "LayerNorm": lambda: nn.LayerNorm(16),
    "RmsNorm": lambda: nn.RMSNorm(16),
    "GroupNorm": lambda: nn.GroupNorm(2, 16),
    "PRelu": lambda: nn.PReLU(16),
    "Embedding": lambda: nn.Embedding(24, 16),
    "EmbeddingBag": lambda: nn.EmbeddingBag(24, 16),
    "Rnn": lambda: nn.RNN(24, 16),
    "Lstm": lambda: nn.LSTM(24, 16, num_layers=2, bidirectional=True),
    "Lstm with a projection": lambda: nn.LSTM(24, 16, proj_size=4),
    "Gru": lambda: nn.GRU(24, 16),
    "RnnCell": lambda: nn.RNNCell(24, 16),
    "LstmCell": lambda: nn.LSTMCell(24, 16),
    "GruCell": lambda: nn.GRUCell(24, 16),
    "MultiHeadAttention": lambda: nn.MultiheadAttention(16, 2),
    "MultiHeadAttention with keys of its own": lambda: nn.MultiheadAttention(16, 2, kdim=24, vdim=8, add_bias_kv=True),
    "TransformerEncoderLayer": encoder,
    "TransformerDecoderLayer": decoder,
    "TransformerEncoder": lambda: nn.TransformerEncoder(encoder(), 2, enable_nested_tensor=False),
    "TransformerDecoder": lambda: nn.TransformerDecoder(decoder(), 2),
    "Transformer": lambda: nn.Transformer(num_encoder_layers=1, num_decoder_layers=1, **block),
    "WeightNorm": lambda: weight_norm(nn.Linear(24, 16)),
    "SpectralNorm": lambda: spectral_norm(nn.Linear(24, 16)),
}


def distribution(draws):
    low, high, std = draws.min().item(), draws.max().item(), draws.std().item()
    if low == high:
        return dict(constant=round(low, 6))
    # The greatest of many uniform numbers is the root of 3 deviations away from the mean, that of normal ones about four.
    reach = max(-low, high) / std
    if abs(draws.mean().item()) < 0.05 * std and reach < 1.8:
        return dict(uniform=round(max(-low, high), 6))
    if abs(draws.mean().item()) < 0.05 * std and reach > 3:
        return dict(normal=round(std, 6))
    return dict(mean=round(draws.mean().item(), 6), std=round(std, 6))


cases = {}
for name, make in LAYERS.items():
    draws, shapes = {}, {}
    while not draws or min(sum(x.numel() for x in parts) for parts in draws.values()) < DRAWS:
        for key, parameter in make().named_parameters():
            draws.setdefault(key, []).append(parameter.detach().double().reshape(-1))
            shapes[key] = list(parameter.shape)
    cases[name] = {key: dict(shape=shapes[key], **distribution(torch.cat(parts))) for key, parts in draws.items()}

path = os.path.join(os.path.dirname(__file__), "..", "goldens", "initial.json")
with open(path, "w") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
print(len(cases), "layers,", os.path.getsize(path), "bytes")
