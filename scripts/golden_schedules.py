"""Rates of PyTorch's schedulers, step by step: goldens/schedules.json.

    python scripts/golden_schedules.py        # needs torch (CPU)
"""

import json
import math
import os
import warnings

import torch
from torch.optim import lr_scheduler as S

warnings.simplefilter("ignore")
STEPS = 40


def rates(make, base=1.0):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=base)
    schedule = make(optimizer)
    out = []
    for _ in range(STEPS):
        out.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        try:
            schedule.step()
        except ValueError:  # one cycle is over
            break
    return out


def ramp(o):
    return S.LinearLR(o, 0.1, 1.0, 5)


golden = dict(
    multi_step=rates(lambda o: S.MultiStepLR(o, [5, 12, 12, 30], 0.5)),
    polynomial=rates(lambda o: S.PolynomialLR(o, 20, 2.5)),
    warm_restarts=rates(lambda o: S.CosineAnnealingWarmRestarts(o, 7, 1, 0.05)),
    warm_restarts_growing=rates(lambda o: S.CosineAnnealingWarmRestarts(o, 5, 2, 0.05)),
    cyclic=rates(lambda o: S.CyclicLR(o, 1.0, 6.0, 4, 7, cycle_momentum=False)),
    cyclic_halved=rates(lambda o: S.CyclicLR(o, 1.0, 6.0, 4, 4, mode="triangular2", cycle_momentum=False)),
    cyclic_exponential=rates(lambda o: S.CyclicLR(o, 1.0, 6.0, 5, 3, mode="exp_range", gamma=0.97, cycle_momentum=False)),
    one_cycle=rates(lambda o: S.OneCycleLR(o, 1.0, STEPS, cycle_momentum=False)),
    one_cycle_linear=rates(lambda o: S.OneCycleLR(o, 1.0, STEPS, pct_start=0.25, div_factor=10, final_div_factor=100, anneal_strategy="linear", cycle_momentum=False)),
    one_cycle_back=rates(lambda o: S.OneCycleLR(o, 1.0, STEPS, pct_start=0.3, div_factor=10, final_div_factor=100, three_phase=True, cycle_momentum=False)),
    ramp=rates(lambda o: S.LinearLR(o, 0.25, 1.0, 6)),
    constant=rates(lambda o: S.ConstantLR(o, 1.0, 6)),
    product=rates(lambda o: S.ChainedScheduler([ramp(o), S.ExponentialLR(o, 0.9)])),
    sequence=rates(lambda o: S.SequentialLR(o, [ramp(o), S.ExponentialLR(o, 0.9)], [5])),
    cosine=rates(lambda o: S.CosineAnnealingLR(o, STEPS, 0.1)),
    step=rates(lambda o: S.StepLR(o, 7, 0.3)),
    plateau=[],
)
for higher, factor, patience, threshold, absolute, cooldown, floor in [
    (False, 0.5, 2, 1e-4, False, 0, 0.0), (False, 0.1, 1, 0.05, False, 2, 0.01), (True, 0.5, 2, 0.01, True, 1, 0.0), (True, 0.3, 0, 1e-3, False, 0, 0.05),
]:
    metrics = [round((1 if higher else -1) * min(i, 12) * 0.05 + 1 + 0.1 * math.sin(3 * i), 6) for i in range(STEPS)]
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule = S.ReduceLROnPlateau(optimizer, "max" if higher else "min", factor, patience, threshold, "abs" if absolute else "rel", cooldown, floor, eps=0)
    factors = []
    for metric in metrics:
        schedule.step(metric)
        factors.append(optimizer.param_groups[0]["lr"])
    golden["plateau"].append(dict(
        higher=higher, factor=factor, patience=patience, threshold=threshold, absolute=absolute, cooldown=cooldown, floor=floor, metrics=metrics, factors=factors,
    ))

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "goldens", "schedules.json")
with open(path, "w") as file:
    json.dump(golden, file)
    file.write("\n")
