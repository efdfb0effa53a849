"""Steps of PyTorch's optimizers in float64: goldens/optim.json.

    python scripts/golden_optim.py        # needs torch (CPU)

The gradient is that of sum(k * w^2) / 2 + sum(b * w) over two parameters, so that it changes with the values. Adan is by its authors' code
(sail-sg/Adan, single tensor), written in float64 with nothing but Python.
"""

import json
import math
import os

import torch

STEPS = 100
START = [[1.0, -2.0, 0.5, 0.03125, -0.75], [[0.5, -1.0], [2.0, -0.25]]]
K = [[1.0, 2.0, 3.0, 0.5, 4.0], [[0.25, 1.5], [2.0, 1.0]]]
B = [[0.25, -0.5, 0.0, 1.0, -2.0], [[0.0, 0.125], [-1.0, 0.5]]]

RUNS = [
    ("Sgd", torch.optim.SGD, dict(lr=0.03, momentum=0.9, dampening=0.5, weight_decay=0.1)),
    ("Adam", torch.optim.Adam, dict(lr=0.03, weight_decay=0.1, amsgrad=True)),
    ("AdamW", torch.optim.AdamW, dict(lr=0.03, betas=(0.8, 0.9), weight_decay=0.1)),
    ("Adamax", torch.optim.Adamax, dict(lr=0.02)),
    ("Adamax", torch.optim.Adamax, dict(lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    ("NAdam", torch.optim.NAdam, dict(lr=0.02)),
    ("NAdam", torch.optim.NAdam, dict(lr=0.03, betas=(0.8, 0.95), momentum_decay=0.01, weight_decay=0.1)),
    ("NAdam", torch.optim.NAdam, dict(lr=0.03, weight_decay=0.1, decoupled_weight_decay=True)),
    ("RAdam", torch.optim.RAdam, dict(lr=0.02)),
    ("RAdam", torch.optim.RAdam, dict(lr=0.03, betas=(0.8, 0.9), weight_decay=0.1)),
    ("RAdam", torch.optim.RAdam, dict(lr=0.03, weight_decay=0.1, decoupled_weight_decay=True)),
    ("Adagrad", torch.optim.Adagrad, dict(lr=0.1)),
    ("Adagrad", torch.optim.Adagrad, dict(lr=0.1, lr_decay=0.05, weight_decay=0.1, initial_accumulator_value=0.5)),
    ("Adadelta", torch.optim.Adadelta, dict(lr=1.0)),
    ("Adadelta", torch.optim.Adadelta, dict(lr=0.5, rho=0.8, eps=1e-4, weight_decay=0.1)),
    ("RmsProp", torch.optim.RMSprop, dict(lr=0.01)),
    ("RmsProp", torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, momentum=0.5, weight_decay=0.1)),
    ("RmsProp", torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, centered=True)),
    ("RmsProp", torch.optim.RMSprop, dict(lr=0.01, alpha=0.9, centered=True, momentum=0.3)),
    ("Rprop", torch.optim.Rprop, dict(lr=0.01)),
    ("Rprop", torch.optim.Rprop, dict(lr=0.05, etas=(0.4, 1.3), step_sizes=(1e-4, 0.5))),
    ("Asgd", torch.optim.ASGD, dict(lr=0.05, lambd=0.01, alpha=0.6, t0=10.0, weight_decay=0.1)),
    ("Asgd", torch.optim.ASGD, dict(lr=0.05)),
]


def torch_run(make, settings):
    params = [torch.tensor(start, dtype=torch.float64, requires_grad=True) for start in START]
    ks, bs = [torch.tensor(k, dtype=torch.float64) for k in K], [torch.tensor(b, dtype=torch.float64) for b in B]
    optimizer = make(params, foreach=False, **settings)
    steps = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        sum((k * p * p).sum() / 2 + (b * p).sum() for p, k, b in zip(params, ks, bs)).backward()
        optimizer.step()
        steps.append([x for p in params for x in p.detach().reshape(-1).tolist()])
    return steps


def flat(x):
    return [z for y in x for z in flat(y)] if isinstance(x, list) else [x]


def adan_run(lr, betas, eps, weight_decay, no_prox):
    p, k, b = flat(START), flat(K), flat(B)
    b1, b2, b3 = betas
    m, v, n, before = ([0.0] * len(p) for _ in range(4))
    steps = []
    for t in range(1, STEPS + 1):
        for i in range(len(p)):
            g = k[i] * p[i] + b[i]
            diff = g - before[i] if t > 1 else 0.0
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * diff
            n[i] = b3 * n[i] + (1 - b3) * (g + b2 * diff) ** 2
            denom = math.sqrt(n[i]) / math.sqrt(1 - b3**t) + eps
            step = lr / (1 - b1**t) * m[i] / denom + lr * b2 / (1 - b2**t) * v[i] / denom
            p[i] = p[i] * (1 - lr * weight_decay) - step if no_prox else (p[i] - step) / (1 + lr * weight_decay)
            before[i] = g
        steps.append(list(p))
    return steps


def main():
    runs = [dict(optimizer=name, settings=settings, steps=torch_run(make, settings)) for name, make, settings in RUNS]
    for settings in [
        dict(lr=0.02, betas=(0.98, 0.92, 0.99), eps=1e-8, weight_decay=0.0, no_prox=False),
        dict(lr=0.02, betas=(0.9, 0.8, 0.95), eps=1e-6, weight_decay=0.1, no_prox=False),
        dict(lr=0.02, betas=(0.9, 0.8, 0.95), eps=1e-6, weight_decay=0.1, no_prox=True),
    ]:
        runs.append(dict(optimizer="Adan", settings=settings, steps=adan_run(**settings)))
    # The values after some of the steps are enough, the last among them.
    kept = [0, 1, 2, 5, 6, 7, 11, 30, 60, STEPS - 1]
    for run in runs:
        run["steps"] = [dict(step=i + 1, values=run["steps"][i]) for i in kept]
    path = os.path.join(os.path.dirname(__file__), "..", "goldens", "optim.json")
    with open(path, "w") as file:
        json.dump(dict(start=START, k=K, b=B, runs=runs), file)
        file.write("\n")


if __name__ == "__main__":
    main()
