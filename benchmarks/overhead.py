"""What Python adds: an op recorded, and a training step of an MLP, beside PyTorch's eager mode if it is installed.

    python benchmarks/overhead.py [--threads 2] [--steps 200] [--rounds 7]

Rounds of both libraries alternate; each figure is the median over the rounds, and the ratio that of the medians.
"""

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("--threads", type=int, default=2, help="threads of the CPU (2)")
parser.add_argument("--steps", type=int, default=200, help="training steps in a round (200)")
parser.add_argument("--rounds", type=int, default=7, help="rounds of each library (7)")
parser.add_argument("--device", default="cpu", help="unigrad's and PyTorch's device (cpu)")
args = parser.parse_args()
os.environ.setdefault("UNIGRAD_THREADS", str(args.threads))

import unigrad as ug  # noqa: E402

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
if torch is not None:
    torch.set_num_threads(args.threads)

SIZES, BATCH, OPS = [784, 512, 256, 10], 64, 20_000


def additions(x: Any, y: Any) -> float:
    start = time.perf_counter()
    for _ in range(OPS):
        _ = x + y
    return (time.perf_counter() - start) / OPS


def layers(nn: Any) -> Any:
    parts = []
    for n_in, n_out in zip(SIZES, SIZES[1:]):
        parts += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


def training(library: Any, x: Any, y: Any, wait: Callable[[Any], object]) -> Callable[[], float]:
    """A function that runs the steps of one round; the time of a step."""
    model = layers(library.nn).to(args.device)
    optimizer = library.optim.AdamW(model.parameters(), lr=1e-3)
    loss_of = library.nn.CrossEntropyLoss()

    def steps() -> float:
        start = time.perf_counter()
        for step in range(args.steps):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            if step == args.steps - 1:
                wait(loss)
        return (time.perf_counter() - start) / float(args.steps)

    return steps


def main() -> None:
    runs: dict[str, tuple[Callable[[], float], Callable[[], float]]] = {}
    x, y = ug.randn(BATCH, SIZES[0]).to(args.device), ug.randint(0, SIZES[-1], (BATCH,)).to(args.device)
    small = ug.ones(4, 4), ug.ones(4, 4)
    runs["unigrad"] = (lambda: additions(*small), training(ug, x, y, lambda loss: loss.item()))
    if torch is not None:
        device = args.device if args.device == "cpu" or torch.cuda.is_available() else "cpu"
        torch_x, torch_y = torch.randn(BATCH, SIZES[0], device=device), torch.randint(0, SIZES[-1], (BATCH,), device=device)
        torch_small = torch.ones(4, 4), torch.ones(4, 4)
        runs["PyTorch"] = (lambda: additions(*torch_small), training(torch, torch_x, torch_y, lambda loss: loss.item()))
    else:
        print("PyTorch is not installed: unigrad alone")
    times: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in runs}
    for add, step in runs.values():
        add()
        step()
    for _ in range(args.rounds):
        for name, (add, step) in runs.items():
            times[name][0].append(add())
            times[name][1].append(step())
    median = {name: tuple(statistics.median(all_times) for all_times in both) for name, both in times.items()}
    for name, (add_time, step_time) in median.items():
        net = "-".join(map(str, SIZES))
        print(f"{name:8} x + y {add_time * 1e6:6.3f} us   step of {net}, batch {BATCH}, AdamW {step_time * 1e3:7.3f} ms")
    if len(median) == 2:
        ours, theirs = median["unigrad"], median["PyTorch"]
        print(f"PyTorch's time over ours: x + y {theirs[0] / ours[0]:.2f}, step {theirs[1] / ours[1]:.2f}")


if __name__ == "__main__":
    main()
