"""Writes crates/unigrad-testing/goldens/float8.txt: what PyTorch's casts to and from 8-bit floats give.

For each format: the bits of the f32 of all 256 codes, and a checksum (FNV-1a, 64 bits) of the codes of 524,288 floats: every upper half of an f32
with eight lower halves, and of every f16 and bf16. Run with PyTorch 2.15: python scripts/golden_float8.py
"""

import pathlib

import numpy as np
import torch

LOW = [0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xC000, 0xFFFE, 0xFFFF]


def fnv(data):
    mask, state = (1 << 64) - 1, 0xCBF29CE484222325
    for byte in data:
        state = ((state ^ byte) * 0x100000001B3) & mask
    return state


def codes(x, dtype):
    # PyTorch leaves open which NaN a NaN becomes; its sign is kept.
    return x.to(dtype).view(torch.uint8).numpy().tobytes()


high = np.arange(1 << 16, dtype=np.uint32) << 16
singles = torch.from_numpy(np.concatenate([high | low for low in LOW]).view(np.float32))
words = np.arange(1 << 16, dtype=np.uint16).view(np.int16)
halves = torch.from_numpy(words).view(torch.float16)
brains = torch.from_numpy(words).view(torch.bfloat16)
lines = []
for name, dtype in [("f8e4m3", torch.float8_e4m3fn), ("f8e5m2", torch.float8_e5m2)]:
    decoded = torch.arange(256, dtype=torch.uint8).view(dtype).to(torch.float32)
    values = ["nan" if v != v else repr(v) for v in decoded.tolist()]
    lines.append(f"{name} decode " + " ".join(values))
    for kind, x in [("f32", singles), ("f16", halves), ("bf16", brains)]:
        lines.append(f"{name} encode {kind} {fnv(codes(x, dtype)):016x}")
path = pathlib.Path(__file__).parent.parent / "crates/unigrad-testing/goldens/float8.txt"
path.write_text("\n".join(lines) + "\n")
