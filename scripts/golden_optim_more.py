"""Steps of optimizers beyond elementwise rules, in float64: goldens/optim_more.json.

    python scripts/golden_optim_more.py   # needs torch (CPU) and numpy

PyTorch's own where it has them: Adafactor, Muon, SparseAdam, NAdam of parameters that miss steps, L-BFGS, swa_utils, clipping. Others are written here with NumPy alone, from:
LARS: facebookresearch/moco-v3, optimizer.py. LAMB: arXiv:1904.00962, algorithm 2, with the ratio 1 at norms of 0 as in timm. Sophia:
Liuhong99/Sophia, sophia.py. Schedule-free: facebookresearch/schedule_free, adamw_schedulefree.py and sgd_schedulefree.py. Shampoo: arXiv:1802.09568,
algorithm 1, with roots by eigenvalues. Lookahead: michaelrzhang/lookahead, lookahead_pytorch.py. SAM: davda54/sam, sam.py. AGC: timm,
adaptive_clip_grad.

The gradient is that of sum(k * w^2) / 2 + sum(b * w) over a [3, 4], a [5, 2] and a [5] parameter (the matrices alone, or the first one, where a run
says so), but for L-BFGS: Rosenbrock's function of 6 values.
"""

import json
import math
import os

import numpy as np
import torch

STEPS = 100
KEPT = [0, 1, 2, 5, 11, 40, STEPS - 1]
SHAPES = [(3, 4), (5, 2), (5,)]


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


START, K, B = draw(1, -2.0, 2.0), draw(2, 0.25, 4.0), draw(3, -1.0, 1.0)


def keep(name, settings, steps, count=3, kept=KEPT, **more):
    steps = [dict(step=i + 1, values=[float(x) for p in steps[i] for x in np.asarray(p).reshape(-1)]) for i in kept if i < len(steps)]
    return dict(optimizer=name, settings=settings, count=count, steps=steps, **more)


def run(name, rule, settings, count=3, **more):
    """`rule(**settings)` gives a function of values, gradients (both lists) and the step, which changes the values."""
    p = [x.copy() for x in START[:count]]
    step, steps = rule(**settings), []
    for t in range(1, STEPS + 1):
        step(p, [k * x + b for x, k, b in zip(p, K, B)], t)
        steps.append([x.copy() for x in p])
    return keep(name, settings, steps, count, **more)


def torch_run(name, make, settings, count=3, before_step=None, own=None, **more):
    p = [torch.tensor(x, requires_grad=True) for x in START[:count]]
    ks, bs = [torch.tensor(k) for k in K], [torch.tensor(b) for b in B]
    optimizer, steps = make(p, **settings), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        sum((k * x * x).sum() / 2 + (b * x).sum() for x, k, b in zip(p, ks, bs)).backward()
        if before_step:
            before_step(p)
        optimizer.step()
        if own:
            own(p)
        steps.append([x.detach().numpy().copy() for x in p])
    return keep(name, settings if "lr" in settings else settings, steps, count, **more)


def late_nadam(settings):
    """NAdam whose second and third parameters have no gradient in the first steps, and all of them now and then have none."""
    taken = [0]

    def before_step(p):
        taken[0] += 1
        for at, x in enumerate(p):
            if misses(at, taken[0]):
                x.grad = None

    return torch_run("NAdam", torch.optim.NAdam, settings, before_step=before_step)


def misses(at, step):
    return step <= 4 * at or (step + at) % 7 == 0


def lars(lr, momentum=0.9, trust=1e-3, weight_decay=0.0, adapts_vectors=False):
    mu = {}

    def step(p, g, t):
        for i, (x, dp) in enumerate(zip(p, g)):
            if x.ndim > 1 or adapts_vectors:
                dp = dp + weight_decay * x
                pn, un = np.linalg.norm(x), np.linalg.norm(dp)
                dp = dp * (trust * pn / un if pn > 0 and un > 0 else 1.0)
            mu[i] = momentum * mu.get(i, 0.0) + dp
            x -= lr * mu[i]

    return step


def lamb(lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, bias_correction=True):
    m, v = {}, {}
    b1, b2 = betas

    def step(p, g, t):
        c1, c2 = (1 - b1**t, 1 - b2**t) if bias_correction else (1.0, 1.0)
        for i, (x, d) in enumerate(zip(p, g)):
            m[i] = b1 * m.get(i, 0.0) + (1 - b1) * d
            v[i] = b2 * v.get(i, 0.0) + (1 - b2) * d * d
            r = (m[i] / c1) / (np.sqrt(v[i] / c2) + eps) + weight_decay * x
            xn, rn = np.linalg.norm(x), np.linalg.norm(r)
            x -= lr * (xn / rn if xn > 0 and rn > 0 else 1.0) * r

    return step


def sophia(lr, betas=(0.965, 0.99), rho=0.04, batch=1.0, weight_decay=0.1, every=10):
    """The estimate is renewed from the gradient before steps 1, 11, ..."""
    m, h = {}, {}
    b1, b2 = betas

    def step(p, g, t):
        for i, (x, d) in enumerate(zip(p, g)):
            if t % every == 1:
                h[i] = b2 * h.get(i, 0.0) + (1 - b2) * d * d
            x *= 1 - lr * weight_decay
            m[i] = b1 * m.get(i, 0.0) + (1 - b1) * d
            ratio = np.minimum(np.abs(m[i]) / (rho * batch * h[i] + 1e-15), 1.0)
            x -= lr * np.sign(m[i]) * ratio

    return step


class Average:
    def __init__(self, lr, warmup_steps, r, lr_power):
        self.lr, self.warmup, self.r, self.power = lr, warmup_steps, r, lr_power
        self.lr_max, self.sum = -1.0, 0.0

    def step(self, k):
        lr = self.lr * ((k + 1) / self.warmup if k < self.warmup else 1.0)
        self.lr_max = max(lr, self.lr_max)
        weight = ((k + 1) ** self.r) * (self.lr_max**self.power)
        self.sum += weight
        return lr, (weight / self.sum if self.sum else 0.0)


def schedule_free(lr, betas=None, momentum=None, eps=1e-8, weight_decay=0.0, warmup_steps=0, r=0.0, lr_power=2.0):
    """Values are those of training (y)."""
    average, z, v = Average(lr, warmup_steps, r, lr_power), {}, {}

    def step(p, g, t):
        rate, share = average.step(t - 1)
        for i, (y, d) in enumerate(zip(p, g)):
            z.setdefault(i, y.copy())
            if betas:
                v[i] = betas[1] * v.get(i, 0.0) + (1 - betas[1]) * d * d
                d = d / (np.sqrt(v[i] / (1 - betas[1] ** t)) + eps)
            beta = betas[0] if betas else momentum
            d = d + weight_decay * y
            y += share * (z[i] - y)
            y += rate * (beta * (1 - share) - 1) * d
            z[i] -= rate * d

    return step


def shampoo(lr, eps=1e-4, momentum=0.0, weight_decay=0.0):
    state, buffers = {}, {}

    def root(a):
        values, vectors = np.linalg.eigh(a + 1e-6 * np.linalg.norm(a) * np.eye(len(a)))
        return (vectors * values**-0.25) @ vectors.T

    def step(p, g, t):
        for i, (x, d) in enumerate(zip(p, g)):
            d = d + weight_decay * x
            if x.ndim == 2:
                left, right = state.get(i, (eps * np.eye(x.shape[0]), eps * np.eye(x.shape[1])))
                left, right = left + d @ d.T, right + d.T @ d
                state[i] = (left, right)
                d = root(left) @ d @ root(right)
            else:
                state[i] = state.get(i, eps * np.ones_like(x)) + d * d
                d = d / np.sqrt(state[i])
            if momentum:
                d = buffers[i] = momentum * buffers.get(i, 0.0) + d
            x -= lr * d

    return step


def lookahead(lr, momentum, every, alpha):
    """Around SGD with momentum."""
    slow, buffers = {}, {}

    def step(p, g, t):
        for i, (x, d) in enumerate(zip(p, g)):
            slow.setdefault(i, x.copy())
            buffers[i] = momentum * buffers[i] + d if i in buffers else d
            x -= lr * buffers[i]
            if t % every == 0:
                slow[i] += alpha * (x - slow[i])
                x[...] = slow[i]

    return step


def sam(lr, momentum, rho, adaptive):
    """Around SGD with momentum. The gradient is taken again at the other point."""
    buffers = {}

    def step(p, g, t):
        scaled = [(np.abs(x) if adaptive else 1.0) * d for x, d in zip(p, g)]
        scale = rho / (math.sqrt(sum((s * s).sum() for s in scaled)) + 1e-12)
        for i, (x, d) in enumerate(zip(p, g)):
            there = x + (x * x if adaptive else 1.0) * d * scale
            d = K[i] * there + B[i]
            buffers[i] = momentum * buffers[i] + d if i in buffers else d
            x -= lr * buffers[i]

    return step


def treated(lr, treatment, **settings):
    """Plain SGD with something done to gradients or values."""

    def unit_norm(x):
        return np.linalg.norm(x) if x.ndim < 2 else np.sqrt((x * x).sum(axis=tuple(range(1, x.ndim)), keepdims=True))

    def step(p, g, t):
        total = math.sqrt(sum((d * d).sum() for d in g))
        for x, d in zip(p, g):
            if treatment == "clip_adaptively":
                limit = np.maximum(unit_norm(x), settings["eps"]) * settings["factor"]
                size = unit_norm(d)
                d = np.where(size < limit, d, d * (limit / np.maximum(size, 1e-6)))
            elif treatment == "normalize":
                d = d / (total + 1e-12)
            elif treatment == "normalize_each":
                d = d / (np.linalg.norm(d) + 1e-12)
            elif treatment == "clip_each_norm":
                d = d * min(1.0, settings["limit"] / (np.linalg.norm(d) + 1e-6))
            elif treatment == "centralize":
                d = d - d.mean(axis=tuple(range(1, d.ndim)), keepdims=True) if d.ndim > 1 else d
            elif treatment == "elastic":
                d = d + settings["lambda"] * (settings["ratio"] * np.sign(x) + (1 - settings["ratio"]) * x)
            x -= lr * d

    return step


def muon_runs():
    runs = []
    for settings in [
        dict(lr=0.02),
        dict(lr=0.05, weight_decay=0.0, momentum=0.8, nesterov=False, adjust_lr_fn="match_rms_adamw"),
        dict(lr=0.03, ns_steps=3, adjust_lr_fn="spectral_unclamped"),
    ]:
        # PyTorch's code, with the iterations in float64 instead of bfloat16, and as it is.
        half = torch.bfloat16
        torch.bfloat16 = torch.float64
        runs.append(torch_run("Muon", torch.optim.Muon, settings, count=2, precision="f64"))
        torch.bfloat16 = half
        runs.append(torch_run("Muon", torch.optim.Muon, settings, count=2, precision="bf16"))
    return runs


def sparse_adam(settings):
    """Rows of the first parameter whose number and the step's do not add up to a multiple of 3."""
    table = torch.nn.Embedding(3, 4, sparse=True, dtype=torch.float64)
    table.weight.data.copy_(torch.tensor(START[0]))
    optimizer, steps = torch.optim.SparseAdam(table.parameters(), **settings), []
    for t in range(1, STEPS + 1):
        rows = torch.tensor([i for i in range(3) if (t + i) % 3 != 0])
        optimizer.zero_grad()
        x, k, b = table(rows), torch.tensor(K[0])[rows], torch.tensor(B[0])[rows]
        ((k * x * x).sum() / 2 + (b * x).sum()).backward()
        optimizer.step()
        steps.append([table.weight.detach().numpy().copy()])
    return keep("SparseAdam", settings, steps, 1)


def lbfgs(settings, n_steps):
    w = torch.tensor([-1.2, 1.0, 0.5, -0.7, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer, steps, losses = torch.optim.LBFGS([w], **settings), [], []

    def closure():
        optimizer.zero_grad()
        loss = (100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()
        loss.backward()
        return loss

    for _ in range(n_steps):
        losses.append(float(optimizer.step(closure)))
        steps.append([w.detach().numpy().copy()])
    return dict(settings=settings, losses=losses, steps=[s[0].tolist() for s in steps], evaluations=optimizer.state[w]["func_evals"])


def averages():
    """Averages of 20 sets of weights that `torch.optim.swa_utils` makes."""
    from torch.optim import swa_utils

    runs = []
    for name, function in [("swa", None), ("ema", swa_utils.get_ema_multi_avg_fn(0.9))]:
        layer = torch.nn.Linear(4, 3, bias=False, dtype=torch.float64)
        model = swa_utils.AveragedModel(layer, multi_avg_fn=function)
        steps = []
        for t in range(20):
            layer.weight.data.copy_(torch.tensor(START[0] + 0.1 * t * K[0]))
            model.update_parameters(layer)
            steps.append(model.module.weight.detach().numpy().reshape(-1).tolist())
        runs.append(dict(name=name, steps=steps))
    return runs


def main():
    p = torch.optim
    runs = [
        torch_run("Adafactor", p.Adafactor, dict(lr=0.05)),
        torch_run("Adafactor", p.Adafactor, dict(lr=0.2, beta2_decay=-0.5, eps=(1e-4, 1e-2), d=1.25, weight_decay=0.1)),
        *muon_runs(),
        sparse_adam(dict(lr=0.05)),
        sparse_adam(dict(lr=0.02, betas=(0.8, 0.9), eps=1e-4)),
        late_nadam(dict(lr=0.05)),
        late_nadam(dict(lr=0.02, betas=(0.95, 0.99), momentum_decay=0.3, weight_decay=0.1)),
        run("Lars", lars, dict(lr=1.0, trust=0.05)),
        run("Lars", lars, dict(lr=0.5, trust=0.02, momentum=0.8, weight_decay=0.1, adapts_vectors=True)),
        run("Lamb", lamb, dict(lr=0.02)),
        run("Lamb", lamb, dict(lr=0.01, betas=(0.8, 0.95), weight_decay=0.2, bias_correction=False)),
        run("Sophia", sophia, dict(lr=0.02)),
        run("Sophia", sophia, dict(lr=0.05, betas=(0.9, 0.8), rho=0.3, batch=4.0, weight_decay=0.01)),
        run("AdamWScheduleFree", schedule_free, dict(lr=0.02, betas=(0.9, 0.999))),
        run("AdamWScheduleFree", schedule_free, dict(lr=0.05, betas=(0.8, 0.9), weight_decay=0.1, warmup_steps=7, r=0.5, lr_power=1.0)),
        run("SgdScheduleFree", schedule_free, dict(lr=0.1, momentum=0.9)),
        run("SgdScheduleFree", schedule_free, dict(lr=0.1, momentum=0.7, weight_decay=0.05, warmup_steps=3)),
        run("Shampoo", shampoo, dict(lr=0.1)),
        run("Shampoo", shampoo, dict(lr=0.05, eps=1e-2, momentum=0.5, weight_decay=0.1)),
        run("Lookahead", lookahead, dict(lr=0.05, momentum=0.5, every=5, alpha=0.5)),
        run("Lookahead", lookahead, dict(lr=0.05, momentum=0.9, every=1, alpha=0.8)),
        run("Sam", sam, dict(lr=0.05, momentum=0.9, rho=0.05, adaptive=False)),
        run("Sam", sam, dict(lr=0.05, momentum=0.5, rho=0.5, adaptive=True)),
        run("Treated", treated, dict(lr=0.1, treatment="clip_adaptively", factor=0.2, eps=1e-3)),
        run("Treated", treated, dict(lr=0.1, treatment="normalize")),
        run("Treated", treated, dict(lr=0.03, treatment="normalize_each")),
        run("Treated", treated, dict(lr=0.1, treatment="clip_each_norm", limit=0.5)),
        run("Treated", treated, dict(lr=0.1, treatment="centralize")),
        run("Treated", treated, {"lr": 0.05, "treatment": "elastic", "lambda": 0.3, "ratio": 0.4}),
    ]
    clip = torch.nn.utils.clip_grad_norm_
    for norm in [1.0, 3.0, math.inf]:
        made = torch_run("Treated", p.SGD, dict(lr=0.1), before_step=lambda q, norm=norm: clip(q, 0.7, norm_type=norm))
        made["settings"] = dict(lr=0.1, treatment="clip_p_norm", limit=0.7, p=str(norm))
        runs.append(made)
    made = torch_run("Treated", p.SGD, dict(lr=0.1), before_step=lambda q: torch.nn.utils.clip_grad_value_(q, 0.3))
    made["settings"] = dict(lr=0.1, treatment="clip_value", limit=0.3)
    runs.append(made)

    def renorm(q):
        for x in q:
            if x.ndim > 1:
                x.data.copy_(torch.renorm(x.data, 2, 0, 0.9))

    made = torch_run("Treated", p.SGD, dict(lr=0.1), own=renorm)
    made["settings"] = dict(lr=0.1, treatment="max_norm", limit=0.9)
    runs.append(made)
    lbfgs_runs = [
        lbfgs(dict(line_search_fn="strong_wolfe", max_iter=4, history_size=5), 12),
        lbfgs(dict(line_search_fn="strong_wolfe", lr=0.5), 4),
        lbfgs(dict(lr=0.001, max_iter=5, history_size=3), 8),
    ]
    path = os.path.join(os.path.dirname(__file__), "..", "goldens", "optim_more.json")
    problem = dict(shapes=SHAPES, start=[x.tolist() for x in START], k=[x.tolist() for x in K], b=[x.tolist() for x in B])
    with open(path, "w") as file:
        json.dump(dict(**problem, runs=runs, lbfgs=lbfgs_runs, averages=averages()), file)
        file.write("\n")


if __name__ == "__main__":
    main()
