#!/usr/bin/env python3
"""Trains a character GPT with PyTorch and writes its losses, which a test compares unigrad's with.

    pip install torch numpy
    python scripts/golden_gpt.py tiny                                 # goldens/gpt_tiny_losses.json, on assets/sonnets.txt
    python scripts/golden_gpt.py gpt --text tinyshakespeare.txt       # goldens/gpt_losses.json (about 4 minutes on 2 cores)

All that a run starts from can be computed without PyTorch:

Words. `word(seed, offset, index)` is word 0 of Philox4x32-10 with counter (lo(index), hi(index), lo(offset), hi(offset)) and
key (lo(seed), hi(seed)), lo and hi being the low and high 32 bits. `words` below also gives word 1. The seed is 1234 throughout.

Text. Bytes; the vocabulary is the sorted set of those that occur, a token is a position in it.

Weights. Parameters are numbered from 0 in the order of PyTorch's state_dict, which is:
    wte.weight [vocab, dim], wpe.weight [ctx, dim],
    for each block i: blocks.i.ln1.weight [dim], blocks.i.ln2.weight [dim], blocks.i.qkv.weight [3 dim, dim],
        blocks.i.proj.weight [dim, dim], blocks.i.fc.weight [4 dim, dim], blocks.i.out.weight [dim, 4 dim],
    lnf.weight [dim].
Norm weights are 1. Element e (row-major) of any other parameter p, with w0 and w1 = words 0 and 1 at offset p << 32, index e:
    u1 = ((w0 >> 8) + 1) * 2^-24,  u2 = (w1 >> 8) * 2^-24,  value = f32(0.02 * sqrt(-2 ln u1) * cos(2 pi u2)), in f64 until f32().

Batches. Row b of step s (both from 0) starts at word 0 at offset 0xffffffff << 32, index s * batch + b, modulo (len - ctx - 1);
inputs are the ctx tokens from there, targets the ctx tokens from one later.

Model. x = wte[t] + wpe[position]; per block x += proj(attention(qkv(ln1 x))), x += out(gelu(fc(ln2 x))); logits = lnf(x) @ wte^T.
No biases; LayerNorm eps 1e-5; qkv splits in three equal parts, heads are consecutive columns; causal attention scaled by
1/sqrt(head); exact (erf) GELU; cross-entropy averaged over all tokens. AdamW on every parameter: lr 1e-3, betas 0.9 and 0.99,
eps 1e-8, decoupled decay 0.1. The loss of a step is the one before its update.

Out: JSON. `losses` is f32; `losses_f64` is the same run in f64 (from the same f32 weights), which shows how far rounding alone
drives two runs apart; `initial` (first values and f64 sum of each parameter) and `starts` (of the first two batches) let a port
be checked before it trains.
"""
import argparse
import json
import pathlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEED = 1234
MODELS = {
    "gpt": dict(layers=6, dim=384, heads=6, ctx=256, batch=8, steps=50),
    "tiny": dict(layers=2, dim=64, heads=2, ctx=32, batch=4, steps=20),
}


def words(seed, offset, count):
    """Words 0 and 1 of Philox4x32-10 for indices 0 to count - 1."""
    low = np.uint64(0xFFFFFFFF)
    index = np.arange(count, dtype=np.uint64)
    c = [index & low, index >> np.uint64(32), np.full(count, offset & 0xFFFFFFFF, np.uint64), np.full(count, offset >> 32, np.uint64)]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1), p0 & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0].astype(np.uint32), c[1].astype(np.uint32)


def normal(number, count):
    w0, w1 = words(SEED, number << 32, count)
    u1 = ((w0 >> 8).astype(np.float64) + 1.0) * 2.0**-24
    u2 = (w1 >> 8).astype(np.float64) * 2.0**-24
    return (0.02 * np.sqrt(-2.0 * np.log(u1)) * np.cos(2.0 * np.pi * u2)).astype(np.float32)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.fc, self.out = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(d, 2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, vocab, ctx, layers, heads, dim):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, dim), nn.Embedding(ctx, dim)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.lnf = nn.LayerNorm(dim, bias=False)
        with torch.no_grad():
            for number, p in enumerate(self.state_dict().values()):
                if p.dim() > 1:
                    p.copy_(torch.from_numpy(normal(number, p.numel())).view(p.shape))

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = self.lnf(x) @ self.wte.weight.t()
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def train(model, tokens, starts, ctx):
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.1, foreach=False, fused=False)
    losses = []
    for row in starts:
        loss = model(torch.stack([tokens[s : s + ctx] for s in row]), torch.stack([tokens[s + 1 : s + ctx + 1] for s in row]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        print(f"step {len(losses):3}  loss {losses[-1]:.6f}", flush=True)
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--text", type=pathlib.Path, default=ROOT / "assets/sonnets.txt")
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    torch.use_deterministic_algorithms(True)

    size = MODELS[a.model]
    text = a.text.read_bytes()
    vocabulary = sorted(set(text))
    tokens = torch.tensor([vocabulary.index(byte) for byte in text])
    steps, batch, ctx = size["steps"], size["batch"], size["ctx"]
    starts = (words(SEED, 0xFFFFFFFF << 32, steps * batch)[0] % np.uint32(len(text) - ctx - 1)).reshape(steps, batch).tolist()

    def model():
        return GPT(len(vocabulary), ctx, size["layers"], size["heads"], size["dim"])

    initial = [
        {"name": name, "shape": list(p.shape), "first": p.flatten()[:4].tolist(), "sum": p.double().sum().item()}
        for name, p in model().state_dict().items()
    ]
    golden = {
        "about": "losses of a character GPT in PyTorch; scripts/golden_gpt.py says what the numbers start from and rebuilds this file",
        "torch": torch.__version__.split("+")[0],
        "text": a.text.name,
        "text_bytes": len(text),
        "vocab": len(vocabulary),
        **size,
        "seed": SEED,
        "adamw": {"lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1},
        "losses": train(model(), tokens, starts, ctx),
        "losses_f64": train(model().double(), tokens, starts, ctx),
        "starts": starts[:2],
        "initial": initial,
    }
    apart = max(abs(x - y) / y for x, y in zip(golden["losses"], golden["losses_f64"]))
    name = {"gpt": "gpt_losses.json", "tiny": "gpt_tiny_losses.json"}[a.model]
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in golden.items())
    (ROOT / "goldens" / name).write_text("{\n" + lines + "\n}\n")
    print(f"goldens/{name}: f32 and f64 are at most {apart:.1e} apart (relative)")


if __name__ == "__main__":
    main()
