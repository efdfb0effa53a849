"""How long steps of the three programs take, beside PyTorch's and the Rust programs'.

    python examples/measure.py [--threads 2] [--device cpu] [--large] [--small] [--replay] [--only NAME] [--steps 20] [--rounds 5] [--rust PROGRAM]

The same code runs with either library, in rounds that alternate; a round begins after steps that are not counted. PROGRAM is the Rust example `steps`
(`cargo build --release --example steps`), which runs in each round as well. What is printed are medians over rounds of the time of a step, with the loss
read after each. `--small` makes batches and widths so small that a step is the host's work alone: what Python adds to Rust's is seen on the CPU as well.
`--replay` records a step of unigrad's once and runs it again, in Python and in Rust; PyTorch's stay as they are.
"""

import argparse
import importlib.util
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
parser.add_argument("--threads", type=int, default=2, help="threads of the CPU (2)")
parser.add_argument("--device", default="cpu", help="unigrad's and PyTorch's device (cpu)")
parser.add_argument("--large", action="store_true", help="a character GPT of 10 million weights too")
parser.add_argument("--small", action="store_true", help="sizes so small that a step is the host's work alone")
parser.add_argument("--replay", action="store_true", help="unigrad's steps by `replay`, in Python and in Rust")
parser.add_argument("--only", metavar="NAME", help="one program alone: gpt, digits_cnn, vae or gpt_large")
parser.add_argument("--steps", type=int, default=20, help="steps in a round (20)")
parser.add_argument("--rounds", type=int, default=5, help="rounds of each library (5)")
parser.add_argument("--rust", metavar="PROGRAM", help="the Rust example `steps`, built in release")
args = parser.parse_args()
os.environ.setdefault("UNIGRAD_THREADS", str(args.threads))

import digits_cnn  # noqa: E402
import gpt  # noqa: E402
import vae  # noqa: E402

import unigrad  # noqa: E402

torch: Any = importlib.import_module("torch") if importlib.util.find_spec("torch") else None

WARM = 5
SIZES = {
    "gpt": {"CONTEXT": 64, "SIZE": 64, "HEADS": 4, "LAYERS": 2, "BATCH": 16},
    "gpt_large": {"CONTEXT": 256, "SIZE": 384, "HEADS": 6, "LAYERS": 6, "BATCH": 8},
}
if args.small:
    SIZES["gpt"] = {"CONTEXT": 8, "SIZE": 16, "HEADS": 4, "LAYERS": 2, "BATCH": 1}
IMAGES = 1 if args.small else 64


def text(lib: Any, batch: int, context: int, n_tokens: int) -> tuple[Any, ...]:
    """Inputs and targets: the work of a step depends on no value."""
    tokens = [at * 7919 % n_tokens for at in range(batch * context + 1)]
    return tuple(lib.tensor(part, device=args.device).reshape(batch, context) for part in (tokens[:-1], tokens[1:]))


def resize(sizes: dict[str, int]) -> None:
    """Other sizes of the GPT, whose program has them as constants."""
    for name, size in sizes.items():
        setattr(gpt, name, size)


def programs(lib: Any) -> Iterator[tuple[str, Callable[[int], float]]]:
    """Each program by its name, as a function that runs steps and says what one took."""
    (x, y), _ = [part.tensors for part in unigrad.data.digits()]
    given = tuple(lib.tensor(part[:IMAGES].tolist(), device=args.device) for part in (x, y))
    for name in [args.only] if args.only else ["gpt", "digits_cnn", "vae"] + ["gpt_large"] * args.large:
        module: Any = {"digits_cnn": digits_cnn, "vae": vae}.get(name, gpt)
        if module is gpt:
            resize(SIZES[name])
            model, batch = gpt.build(lib, 61), text(lib, gpt.BATCH, gpt.CONTEXT, 61)
        else:
            model, batch = module.build(lib), given
        model = model.to(args.device)
        yield name, steps(lib, module.step, model, lib.optim.AdamW(model.parameters(), lr=1e-3), batch, SIZES.get(name, {}))


def steps(lib: Any, step: Callable[..., Any], model: Any, optimizer: Any, batch: tuple[Any, ...], sizes: dict[str, int]) -> Callable[[int], float]:
    def once(*batch: Any) -> Any:
        loss = step(lib, model, optimizer, *batch)
        if args.replay:
            # What is left behind by a step would not be made by the next one.
            optimizer.zero_grad()
        return loss

    called = lib.replay(once) if args.replay and lib is unigrad else once

    def run(n: int) -> float:
        resize(sizes)
        begun = time.perf_counter()
        for _ in range(n):
            called(*batch).item()
        return (time.perf_counter() - begun) / n * 1e3

    return run


def main() -> None:
    libraries = {"unigrad": unigrad} | ({"torch": torch} if torch else {})
    if torch:
        torch.set_num_threads(args.threads)
    else:
        print("PyTorch is not installed: unigrad alone")
    all_programs = {library: dict(programs(lib)) for library, lib in libraries.items()}
    times: dict[str, dict[str, list[float]]] = {name: {} for name in all_programs["unigrad"]}
    for _ in range(args.rounds):
        for library in libraries:
            for name, run in all_programs[library].items():
                run(WARM)
                times[name].setdefault(library, []).append(run(args.steps))
        if args.rust:
            command = [args.rust, args.device, "--steps", str(args.steps)] + ["--large"] * args.large + ["--small"] * args.small + ["--replay"] * args.replay
            command += [args.only] * bool(args.only)
            said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            for name, ms, _ in map(str.split, said.stdout.splitlines()):
                times[name].setdefault("rust", []).append(float(ms))
    for name, found in times.items():
        medians = {library: statistics.median(each) for library, each in found.items()}
        own = medians["unigrad"]
        ratios = [f"{library} takes {median / own:.2f} of it" for library, median in medians.items() if library != "unigrad"]
        print(f"{name}: " + ", ".join([f"{library} {median:.3f} ms" for library, median in medians.items()] + ratios))


if __name__ == "__main__":
    main()
