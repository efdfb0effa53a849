"""The guide's MNIST program in PyTorch: what `unigrad`'s is measured against.

784-512-256-10, ReLU, cross-entropy, Adam (1e-3), 50 epochs, batches of 128; the last 20 % of the images, unshuffled, validate, as in Keras.
    python scripts/bench_mnist.py IMAGES LABELS [--device cpu|cuda] [--threads 2] [--epochs 50] [--seeds 5] [--workers 0 2]
A line of JSON for each run: seconds of training with a validation after each epoch, and the last validation's accuracy. With `--device cuda` the images lie
in the GPU's memory and batches are gathered there (`--workers gpu`), or come from a DataLoader.
"""

import argparse
import gzip
import json
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def idx(path, offset):
    with gzip.open(path, "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def batches_on(device, x, y, batch):
    """Shuffled batches of data that lie on the device."""
    order = torch.randperm(len(x), device=device)
    for begin in range(0, len(x), batch):
        which = order[begin : begin + batch]
        yield x[which], y[which]


def run(x, y, device, workers, epochs, batch, seed):
    torch.manual_seed(seed)
    n = len(x) - int(len(x) * 0.2)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_of = nn.CrossEntropyLoss()
    if workers == "gpu":
        x, y = x.to(device), y.to(device)
        loader = None
    else:
        kept = {"persistent_workers": True} if workers else {}
        pinned = device == "cuda"
        loader = DataLoader(TensorDataset(x[:n], y[:n]), batch, shuffle=True, num_workers=workers, pin_memory=pinned, **kept)
        validation = DataLoader(TensorDataset(x[n:], y[n:]), batch, num_workers=0, pin_memory=pinned)
    begin, accuracy, first = time.perf_counter(), 0.0, None
    for _ in range(epochs):
        model.train()
        total = torch.zeros((), device=device)
        for a, b in loader if loader is not None else batches_on(device, x[:n], y[:n], batch):
            a, b = a.to(device, non_blocking=True), b.to(device, non_blocking=True)
            loss = loss_of(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        total.item()
        model.eval()
        right = torch.zeros((), device=device)
        with torch.no_grad():
            parts = validation if loader is not None else zip(x[n:].split(batch), y[n:].split(batch))
            for a, b in parts:
                right += (model(a.to(device)).argmax(1) == b.to(device)).sum()
        accuracy = right.item() / (len(x) - n)
        first = first or time.perf_counter() - begin
    return time.perf_counter() - begin, first, accuracy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images")
    parser.add_argument("labels")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", nargs="+", default=["0", "2"])
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    x = torch.from_numpy(idx(args.images, 16).reshape(-1, 784).astype(np.float32) / 255)
    y = torch.from_numpy(idx(args.labels, 8).astype(np.int64))
    for workers in args.workers:
        workers = workers if workers == "gpu" else int(workers)
        for seed in range(args.seeds):
            seconds, first, accuracy = run(x, y, args.device, workers, args.epochs, 128, seed)
            row = {"peer": f"torch {torch.__version__}", "device": args.device, "workers": workers, "seed": seed, "epochs": args.epochs}
            row |= {"seconds": round(seconds, 3), "first_epoch": round(first, 3), "val_accuracy": accuracy}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
