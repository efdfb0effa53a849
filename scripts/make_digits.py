#!/usr/bin/env python3
"""Rebuilds crates/unigrad-data/assets/digits-{images-idx3,labels-idx1}-ubyte.gz from scikit-learn's copy of the UCI optical digits.

    pip install scikit-learn && python scripts/make_digits.py            # writes crates/unigrad-data/assets/
    python scripts/make_digits.py --check                                # compares instead, exit status 1 on a difference

Out: two gzip files in MNIST's own IDX format (big-endian magic and sizes, then bytes): 1797 images of 8x8 pixels with
values 0 to 16, and 1797 labels. The split is the order: the first 1437 are for training, the last 360 for test. See
crates/unigrad-data/assets/DIGITS.md for where the digits come from and how the order is made.
"""
import argparse
import gzip
import io
import pathlib
import struct
import sys

import numpy as np
from sklearn.datasets import load_digits

ASSETS = pathlib.Path(__file__).resolve().parent.parent / "crates/unigrad-data/assets"
TEST = 360
SEED = 1  # of the order, not of any training


def splitmix64(state):
    """The 64-bit generator of Steele, Lea and Flood: three lines in any language, the same numbers everywhere."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
        yield z ^ (z >> 31)


def shuffled(items, random):
    items = list(items)
    for i in range(len(items) - 1, 0, -1):
        j = next(random) % (i + 1)
        items[i], items[j] = items[j], items[i]
    return items


def order(labels):
    """Stratified: each class gives the test part its share (36 of each, or the nearest that sums to 360)."""
    random = splitmix64(SEED)
    by_class = [shuffled(np.flatnonzero(labels == c), random) for c in range(10)]
    share = [len(members) * TEST / len(labels) for members in by_class]
    taken = [int(s) for s in share]
    for c in sorted(range(10), key=lambda c: taken[c] - share[c])[: TEST - sum(taken)]:
        taken[c] += 1
    test = [i for members, n in zip(by_class, taken) for i in members[:n]]
    train = [i for members, n in zip(by_class, taken) for i in members[n:]]
    return shuffled(train, random) + shuffled(test, random)


def idx(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def packed(data):
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as file:
        file.write(data)
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files in crates/unigrad-data/assets/, write nothing")
    check = parser.parse_args().check
    digits = load_digits()
    at = order(digits.target)
    files = {
        "digits-images-idx3-ubyte.gz": idx(digits.images[at].astype(np.uint8)),
        "digits-labels-idx1-ubyte.gz": idx(digits.target[at].astype(np.uint8)),
    }
    differ = False
    for name, data in files.items():
        path = ASSETS / name
        if check:
            same = path.exists() and gzip.decompress(path.read_bytes()) == data
            differ |= not same
            print(f"{name}: {'same' if same else 'DIFFERS'}")
        else:
            path.write_bytes(packed(data))
            print(f"{name}: {path.stat().st_size} bytes, {len(data)} unpacked")
    sys.exit(differ)


if __name__ == "__main__":
    main()
