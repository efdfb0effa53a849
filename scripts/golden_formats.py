"""Writes crates/unigrad-testing/goldens/{float8,formats}.txt: storage formats as PyTorch and ggml have them.

`formats` are cases of the op table in the format of `golden_ops.py`: casts to and from 8-bit floats, products with weights that are stored in
them, in half types, and in blocks of q4_0 (by the text of ggml's `quantize_row_q4_0_ref`). Inputs are exact in every float dtype.

`float8` has, for each format: the bits of the f32 of all 256 codes, and a checksum (FNV-1a, 64 bits) of the codes of 524,288 floats: every upper half of an f32
with eight lower halves, and of every f16 and bf16.

    python scripts/golden_formats.py        # needs torch 2.15 (CPU) and numpy
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
goldens = pathlib.Path(__file__).parent.parent / "crates/unigrad-testing/goldens"
(goldens / "float8.txt").write_text("\n".join(lines) + "\n")

FLOATS = {"f8e4m3": torch.float8_e4m3fn, "f8e5m2": torch.float8_e5m2, "f16": torch.float16, "bf16": torch.bfloat16}
generator = torch.Generator().manual_seed(5)


def numbers(*shape, most=64, unit=32):
    return torch.randint(-most, most + 1, shape, generator=generator).to(torch.float64) / unit


def row(kind, dtype, x):
    shape = ",".join(map(str, x.shape)) or "-"
    return f"{kind} {dtype} {shape}: " + " ".join(f"{v:.12g}" for v in x.to(torch.float64).flatten().tolist())


def q4_0(w):
    """What the blocks of `w` stand for."""
    out = np.empty(w.numel(), np.float32)
    for i, x in enumerate(w.to(torch.float32).numpy().reshape(-1, 32)):
        extreme = np.float32(0)
        for v in x:
            if abs(v) > abs(extreme):
                extreme = v
        d = extreme / np.float32(-8)
        inverse = np.float32(1) / d if d else np.float32(0)
        codes = np.minimum(15, (x * inverse + np.float32(8.5)).astype(np.int8))
        out[32 * i : 32 * i + 32] = (codes - 8).astype(np.float32) * np.float32(np.float16(d))
    return torch.from_numpy(out.reshape(w.shape)).to(torch.float64)


cases = ["op cast"]
for name in ["f8e4m3", "f8e5m2"]:
    for shape in [(), (5,), (3, 4), (2, 3, 5), (0, 3)]:
        x = numbers(*shape, most=200, unit=8)
        cases += [f"case to={name}", row("i", "float", x), row("o", name, x.to(FLOATS[name]).to(torch.float64))]
    whole = torch.arange(-30, 31)
    values = " ".join(map(str, whole.tolist()))
    cases += [f"case to={name}", f"i i32 61: {values}", row("o", name, whole.to(FLOATS[name]).to(torch.float64))]
cases.append("op cast_through")
for name in ["f8e4m3", "f8e5m2"]:
    for shape in [(), (7,), (4, 6), (2, 3, 5), (0,)]:
        x = numbers(*shape, most=200, unit=8)
        cases += [f"case to={name}", row("i", "float", x), row("o", "float", x.to(FLOATS[name]).to(torch.float64))]
cases.append("op matmul_stored")
for name, dtype in FLOATS.items():
    for m, k, n in [(1, 8, 5), (3, 17, 4), (9, 16, 33)]:
        x, w = numbers(m, k), numbers(k, n)
        product = x.to(dtype).to(torch.float64) @ w.to(dtype).to(torch.float64) if not name.startswith("f8") else x @ w.to(dtype).to(torch.float64)
        out = "float" if name.startswith("f8") else name
        cases += [f"case to={name}", row("i", "float", x), row("i", "float", w), row("o", out, product)]
cases.append("op matmul_quantized")
for m, k, n in [(1, 32, 5), (4, 64, 3), (9, 32, 17)]:
    x, w = numbers(m, k, unit=128), numbers(n, k)
    cases += ["case format=q4_0", row("i", "float", x), row("i", "float", w), row("o", "float", x @ q4_0(w).T)]
(goldens / "formats.txt").write_text("\n".join(cases) + "\n")
