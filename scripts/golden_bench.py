#!/usr/bin/env python3
"""Losses of small siblings of the networks of `unigrad bench table`, in PyTorch: goldens/bench_losses.json, which a test of `unigrad-bench` compares.

    pip install torch numpy
    python scripts/golden_bench.py

The networks, losses and optimizers are those of `scripts/torch_rows.py`, on the CPU. All that a run starts from is a formula:

Hash. `u(p, e)` of 32-bit words: x = e + p * 0x9e3779b9; x ^= x >> 16; x *= 0x85ebca6b; x ^= x >> 13; x *= 0xc2b2ae35; x ^= x >> 16. As a number in [-1, 1): (x >> 8) / 2^23 - 1.
Parameters are numbered from 0 in their order. Element e (row-major) of parameter p is 0.5 + 0.4 u(p, e) if it has one axis, else u(p, e) / sqrt(n), n being the
product of all sizes but the first.
Data. Floats are u(1000, e); tokens and classes are x(1000 + i, e) modulo their number, i being 0 for inputs and 1 for targets.

Out: sizes, `losses` of three steps (each before its update), for some also under autocast to bf16; the decoder's scores after a prefill of some tokens and after one token
more.
"""

import json
import pathlib

import numpy as np
import torch

import torch_rows as t

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = 3


def words(p, n):
    with np.errstate(over="ignore"):
        x = np.arange(n, dtype=np.uint32) + np.uint32((p * 0x9E3779B9) & 0xFFFFFFFF)
        x ^= x >> np.uint32(16)
        x *= np.uint32(0x85EBCA6B)
        x ^= x >> np.uint32(13)
        x *= np.uint32(0xC2B2AE35)
        return x ^ (x >> np.uint32(16))


def unit(p, n):
    return ((words(p, n) >> np.uint32(8)).astype(np.float64) / 2**23 - 1).astype(np.float32)


def filled(network):
    with torch.no_grad():
        for p, parameter in enumerate(network.parameters()):
            value = torch.from_numpy(unit(p, parameter.numel())).double().view(parameter.shape)
            n = parameter[0].numel()
            parameter.copy_(0.5 + 0.4 * value if parameter.dim() == 1 else value / n**0.5)
    return network


def floats(*shape):
    return torch.from_numpy(unit(1000, int(np.prod(shape)))).view(shape)


def tokens(i, n, *shape):
    return torch.from_numpy((words(1000 + i, int(np.prod(shape))) % np.uint32(n)).astype(np.int64)).view(shape)


def losses(network, optimizer, data, dtype=None):
    network = filled(network).train()
    optimizer = optimizer(network.parameters())
    found = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            loss = network(*data)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    adam = lambda parameters: torch.optim.Adam(parameters, 1e-3)
    sgd = lambda parameters: torch.optim.SGD(parameters, 0.1, momentum=0.9)
    adamw = lambda parameters: torch.optim.AdamW(parameters, 1e-4, weight_decay=0.01)
    characters = lambda parameters: torch.optim.AdamW(parameters, 1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    golden = {"about": "scripts/golden_bench.py says what these are and rebuilds them", "torch": torch.__version__.split("+")[0]}

    sizes, batch = (12, 9, 8, 5), 6
    data = (floats(batch, sizes[0]), tokens(1, sizes[-1], batch))
    golden["mlp"] = {"batch": batch, "sizes": sizes, "losses": losses(t.Perceptron(sizes), adam, data)}

    size = {"image": 12, "channels": (3, 4), "hidden": 10, "classes": 5}
    data = (floats(batch, 1, size["image"], size["image"]), tokens(1, size["classes"], batch))
    golden["cnn"] = {"batch": batch} | size | {"losses": losses(t.Cnn(**size), adam, data)}

    size, steps = {"inputs": 5, "hidden": 7, "classes": 4}, 6
    data = (floats(batch, steps, size["inputs"]), tokens(1, size["classes"], batch))
    golden["lstm"] = {"batch": batch, "steps": steps} | size | {"losses": losses(t.Lstm(**size), adam, data)}

    size, batch = {"vocabulary": 24, "context": 8, "layers": 2, "heads": 2}, 3
    data = tuple(tokens(i, size["vocabulary"], batch, size["context"]) for i in (0, 1))
    golden["gpt_char"] = {"batch": batch, "dim": 16} | size | {"losses": losses(t.CharacterGpt(dim=16, **size), characters, data)}
    network = lambda: t.Gpt2(width=16, **size)
    golden["gpt2"] = {"batch": batch, "width": 16} | size | {
        "losses": losses(network(), adamw, data),
        "losses_bf16": losses(network(), adamw, data, torch.bfloat16),
    }

    size, image = {"stages": (2, 1, 1, 1), "width": 4, "classes": 7}, 64
    data = (floats(batch, 3, image, image), tokens(1, size["classes"], batch))
    golden["resnet"] = {"batch": batch, "image": image} | size | {
        "losses": losses(t.ResNet(**size), sgd, data),
        "losses_bf16": losses(t.ResNet(**size), sgd, data, torch.bfloat16),
    }

    size, length = {"batch": 2, "layers": 2, "width": 32, "heads": 4, "groups": 2, "hidden": 24, "vocabulary": 19, "context": 16}, 5
    network = filled(t.Llama(**size))
    given = tokens(0, size["vocabulary"], size["batch"], length + 1)
    with torch.no_grad():
        first = network(given[:, :length], torch.arange(length))
        then = network(given[:, length:], torch.tensor([length]))
    golden["decoder"] = size | {"length": length, "prefill": first.flatten().tolist(), "decode": then.flatten().tolist()}

    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
    (ROOT / "goldens/bench_losses.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
