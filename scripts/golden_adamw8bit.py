"""AdamW with 8-bit moments as bitsandbytes' own code steps on the CPU, beside PyTorch's AdamW in float64: goldens/adamw8bit.json.

    python scripts/golden_adamw8bit.py        # needs numpy, torch (CPU) and bitsandbytes (0.50.2)

bitsandbytes is the reference code of the paper (Dettmers et al., 8-bit Optimizers via Block-wise Quantization, arXiv:2110.02861): blocks of 256 values, dynamic codes,
rounded to the nearest. Its codes are not those of unigrad, so what is compared are trajectories, and how far either is from moments that are not quantized.

The gradient of step t is k * w + b + s * sin(0.37 * i + 1.7 * t) for the value at place i: a quadratic function with noise, whose strength differs by places, as
the gradients of layers do.
"""

import json
import math
import os

import numpy as np
import torch
from bitsandbytes.optim import AdamW8bit

STEPS = 200
KEPT = [0, 1, 2, 5, 11, 40, 99, STEPS - 1]
# One that blocks of 256 divide, and one that they do not.
SHAPES = [(32, 160), (4100,)]
EVERY = 41


def draw(seed, low, high):
    """Numbers with few digits, by a generator of its own."""
    state, values = seed, []
    for shape in SHAPES:
        part = []
        for _ in range(math.prod(shape)):
            state = (state * 1103515245 + 12345) % 2**31
            part.append(round(low + (high - low) * state / 2**31, 3))
        values.append(np.array(part).reshape(shape))
    return values


START, K, B, POWER = draw(1, -2.0, 2.0), draw(2, 0.25, 4.0), draw(3, -1.0, 1.0), draw(4, -3.0, 0.0)


def noise(t):
    places = [np.arange(math.prod(shape)).reshape(shape) for shape in SHAPES]
    return [10.0**power * np.sin(0.37 * i + 1.7 * t) for i, power in zip(places, POWER)]


def run(make, dtype, settings):
    parameters = [torch.tensor(x, dtype=dtype, requires_grad=True) for x in START]
    optimizer, kept = make(parameters, **settings), {}
    for t in range(STEPS):
        for w, k, b, s in zip(parameters, K, B, noise(t)):
            w.grad = torch.tensor(k, dtype=dtype) * w.detach() + torch.tensor(b + s, dtype=dtype)
        optimizer.step()
        if t in KEPT:
            flat = np.concatenate([w.detach().double().numpy().reshape(-1) for w in parameters])
            kept[t + 1] = [round(float(x), 7) for x in flat[::EVERY]]
    return kept


def main():
    runs = []
    for settings in (dict(lr=0.01, betas=(0.9, 0.999), weight_decay=0.01), dict(lr=0.02, betas=(0.9, 0.95), eps=1e-6, weight_decay=0.2)):
        narrow, exact = run(AdamW8bit, torch.float32, settings), run(torch.optim.AdamW, torch.float64, settings)
        for step in narrow:
            a, b = np.array(narrow[step]), np.array(exact[step])
            print(step, np.sqrt(np.mean((a - b) ** 2)))
        runs.append(dict(settings=settings, steps=[dict(step=step, bitsandbytes=narrow[step], exact=exact[step]) for step in narrow]))
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens", "adamw8bit.json")
    with open(path, "w") as file:
        json.dump(dict(shapes=SHAPES, every=EVERY, runs=runs), file)
        file.write("\n")


if __name__ == "__main__":
    main()
