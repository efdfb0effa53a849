"""How long steps of the three programs take, beside PyTorch's: `python examples/measure.py [THREADS]`.

The same code runs with either library, in blocks that alternate; a block begins after steps that are not counted. What is printed are medians over blocks of the
time of a step, with the loss read after each.
"""

import os
import statistics
import sys
import time
from pathlib import Path

THREADS = sys.argv[1] if len(sys.argv) > 1 else "2"
os.environ.setdefault("UNIGRAD_THREADS", THREADS)

import digits_cnn  # noqa: E402
import gpt  # noqa: E402
import vae  # noqa: E402

import unigrad  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

BLOCKS, STEPS, WARM = 5, 20, 5


def batches(lib):
    """One batch for each program: the work of a step depends on no value."""
    (x, y), _ = [part.tensors for part in unigrad.data.digits()]
    letters = sorted(set(gpt.sonnets().read_text(encoding="utf-8")))
    tokens = [letters.index(letter) for letter in gpt.sonnets().read_text(encoding="utf-8")[: gpt.BATCH * gpt.CONTEXT + 1]]
    images, labels = lib.tensor(x[:64].tolist()), lib.tensor(y[:64].tolist())
    shape = (gpt.BATCH, gpt.CONTEXT)
    text = lib.tensor(tokens[:-1]).reshape(shape), lib.tensor(tokens[1:]).reshape(shape)
    return {"gpt": text, "digits_cnn": (images, labels), "vae": (images, labels)}, len(letters)


def programs(lib):
    given, n_tokens = batches(lib)
    for name, module in {"gpt": gpt, "digits_cnn": digits_cnn, "vae": vae}.items():
        model = module.build(lib, n_tokens) if name == "gpt" else module.build(lib)
        yield name, (module.step, lib, model, lib.optim.AdamW(model.parameters(), lr=1e-3), *given[name])


def block(program, n):
    step, *arguments = program
    begun = time.perf_counter()
    for _ in range(n):
        step(*arguments).item()
    return (time.perf_counter() - begun) / n


def main():
    libraries = {"unigrad": unigrad} | ({"torch": torch} if torch else {})
    if torch:
        torch.set_num_threads(int(THREADS))
    all_programs = {library: dict(programs(lib)) for library, lib in libraries.items()}
    for name in all_programs["unigrad"]:
        times = {library: [] for library in libraries}
        for _ in range(BLOCKS):
            for library in libraries:
                block(all_programs[library][name], WARM)
                times[library].append(block(all_programs[library][name], STEPS))
        medians = {library: statistics.median(found) * 1e3 for library, found in times.items()}
        shown = ", ".join(f"{library} {median:.2f} ms" for library, median in medians.items())
        print(f"{name}: {shown}" + (f", ratio {medians['unigrad'] / medians['torch']:.2f}" if torch else "; PyTorch is not installed"))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
