#!/usr/bin/env python3
"""What PyTorch says about the ops: values and gradients that a test compares unigrad's with.

    pip install torch numpy && python scripts/golden_ops.py          # writes goldens/ops.json

Out: JSON, one case per line: `{"op", "attrs", "inputs", "output", "cotangent", "grads"}`. A tensor is
`{"shape": [...], "f": [...]}` for floats and `{"shape": [...], "i": [...]}` for integers and booleans, row-major. Inputs are
exact in f32; PyTorch computes in f64, and results are written with 8 digits. `grads` are the gradients of
sum(output * cotangent), one per input, null for integer inputs and where PyTorch has none; for an op without gradients
`cotangent` and `grads` are missing. `attrs` are the op's
parameters; of `slice`, axis_n is [start, end, step]. No case sits on a kink or a tie, where frameworks may differ.
"""
import json
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

ROOT = pathlib.Path(__file__).resolve().parent.parent
random = np.random.Generator(np.random.Philox(2026))


def floats(*shape, low=-2.0, high=2.0):
    """Distinct multiples of 2^-12 (exact in f32, short in decimal) that keep away from every half integer: no ties, no kinks."""
    count = math.prod(shape)
    grid = np.linspace(low, high, max(4 * count, 16))
    far = np.abs(grid * 2 - np.round(grid * 2)) > 0.02
    values = random.permutation(random.permutation(grid[far])[:count])
    return torch.tensor(np.round(values * 4096).reshape(shape) / 4096)


def ints(*shape, high):
    return torch.tensor(random.integers(0, high, shape))


def positive(*shape):
    return floats(*shape, low=0.1, high=3.0)


def unit(*shape):
    return floats(*shape, low=-0.9, high=0.9)


def share(*shape):
    return floats(*shape, low=0.05, high=0.95)


CASES = []


def case(op, function, *inputs, **attrs):
    CASES.append((op, function, inputs, attrs))


def unary():
    for op in ["neg", "abs", "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "erf", "floor", "ceil", "round", "trunc", "sign", "sigmoid", "square"]:
        case(op, getattr(torch, op), unit(3, 4) if op == "tan" else floats(3, 4))
    for op in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]:
        case(op, getattr(torch, op), positive(3, 4))
    for op in ["asin", "acos", "atanh"]:
        case(op, getattr(torch, op), unit(3, 4))
    case("recip", torch.reciprocal, positive(3, 4))
    for op in ["relu", "silu", "gelu", "softplus", "selu", "mish", "hardswish", "hardsigmoid", "softsign", "relu6"]:
        case(op, getattr(F, op), floats(3, 4, low=-4, high=4))
    case("log_sigmoid", F.logsigmoid, floats(3, 4))
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), floats(3, 4))
    case("elu", lambda x: F.elu(x, 0.7), floats(3, 4), alpha=0.7)
    case("leaky_relu", lambda x: F.leaky_relu(x, 0.1), floats(3, 4), slope=0.1)
    case("clamp", lambda x: x.clamp(-0.8, 0.9), floats(3, 4), low=-0.8, high=0.9)


def binary():
    for op, torch_op in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("max", torch.maximum), ("min", torch.minimum), ("atan2", torch.atan2)]:
        case(op, torch_op, floats(3, 4), floats(3, 4))
        case(op, torch_op, floats(2, 1, 4), floats(3, 1))
    case("div", torch.div, floats(3, 4), positive(4))
    case("pow", torch.pow, positive(3, 4), floats(3, 1))
    case("rem", torch.remainder, floats(3, 4), positive(3, 4))
    case("lerp", lambda a, b, w: a.lerp(b, w), floats(3, 4), floats(3, 4), share(3, 4))
    case("where", lambda c, a, b: torch.where(c.bool(), a, b), ints(3, 4, high=2), floats(3, 4), floats(4))
    case("masked_fill", lambda x, m: x.masked_fill(m.bool(), -7.0), floats(3, 4), ints(3, 4, high=2), value=-7.0)
    case("less", lambda a, b: a < b, floats(3, 4), floats(3, 4))


def views():
    x = floats(2, 3, 4)
    case("reshape", lambda x: x.reshape(4, 6), x, shape=[4, 6])
    case("permute", lambda x: x.permute(2, 0, 1), x, order=[2, 0, 1])
    case("transpose", lambda x: x.transpose(0, 2), x, a=0, b=2)
    case("expand", lambda x: x.expand(3, 2, 4), floats(2, 1), shape=[3, 2, 4])
    case("slice", lambda x: x[:, 1:3, ::2], x, axis_1=[1, 3, 1], axis_2=[0, 4, 2])
    case("flip", lambda x: x.flip(0, 2), x, axes=[0, 2])
    case("roll", lambda x: x.roll(2, 1), x, shift=2, axis=1)
    case("tile", lambda x: x.tile(2, 3), floats(2, 3), times=[2, 3])
    case("repeat_interleave", lambda x: x.repeat_interleave(2, 1), x, times=2, axis=1)
    case("concat", lambda a, b: torch.cat([a, b], 1), floats(2, 3), floats(2, 2), axis=1)
    case("stack", lambda a, b: torch.stack([a, b], 1), floats(2, 3), floats(2, 3), axis=1)
    case("tril", lambda x: x.tril(-1), floats(4, 4), diagonal=-1)
    case("triu", lambda x: x.triu(1), floats(4, 4), diagonal=1)
    case("unfold", lambda x: x.unfold(1, 3, 2), floats(2, 7), axis=1, size=3, step=2)
    case("diagonal", lambda x: x.diagonal(1), floats(3, 4), offset=1)
    for mode in ["constant", "reflect", "replicate"]:
        case("pad", lambda x, mode=mode: F.pad(x, (1, 2), mode), floats(2, 3, 4), axis=2, before=1, after=2, mode=mode)


def reduces():
    x = floats(2, 3, 4)
    for axes in [[1], [0, 2], [0, 1, 2]]:
        for op in ["sum", "mean"]:
            case(op, lambda x, op=op, axes=axes: getattr(torch, op)(x, axes), x, axes=axes)
        case("max", lambda x, axes=axes: torch.amax(x, axes), x, axes=axes)
        case("min", lambda x, axes=axes: torch.amin(x, axes), x, axes=axes)
        case("logsumexp", lambda x, axes=axes: torch.logsumexp(x, axes), x, axes=axes)
        for correction in [0, 1]:
            case("var", lambda x, axes=axes, c=correction: torch.var(x, axes, correction=c), x, axes=axes, correction=correction)
            case("std", lambda x, axes=axes, c=correction: torch.std(x, axes, correction=c), x, axes=axes, correction=correction)
    case("prod", lambda x: torch.prod(x, 1), x, axes=[1])
    for p in [1.0, 2.0, 3.0]:
        case("norm", lambda x, p=p: torch.linalg.vector_norm(x, p, 2), x, p=p, axes=[2])
    case("argmax", lambda x: x.argmax(1), x, axis=1)
    case("argmin", lambda x: x.argmin(2), x, axis=2)
    case("cumsum", lambda x: x.cumsum(1), x, axis=1)
    case("cumprod", lambda x: x.cumprod(2), x, axis=2)
    case("cummax", lambda x: x.cummax(1).values, x, axis=1)
    case("sort", lambda x: x.sort(-1).values, x, axis=-1, descending=False)
    case("argsort", lambda x: x.argsort(-1, descending=True), x, axis=-1, descending=True)
    case("topk", lambda x: x.topk(2, -1).values, x, axis=-1, k=2)


def indexed():
    case("gather", lambda x, i: x.gather(1, i), floats(3, 4), ints(3, 5, high=4), axis=1)
    case("index_select", lambda x, i: x.index_select(1, i), floats(3, 4), torch.tensor([2, 0, 2]), axis=1)
    case("take", lambda x, i: x.take(i), floats(3, 4), torch.tensor([[0, 11], [5, 5]]))
    case("embedding", lambda i, w: F.embedding(i, w), torch.tensor([[1, 3], [3, 0]]), floats(4, 3))
    case("scatter_add", lambda x, i, s: x.scatter_add(1, i, s), floats(3, 4), ints(3, 5, high=4), floats(3, 5), axis=1)
    distinct = torch.tensor([[0, 2], [3, 1], [1, 2]])
    case("scatter", lambda x, i, s: x.scatter(1, i, s), floats(3, 4), distinct, floats(3, 2), axis=1)
    for op in ["amax", "amin"]:
        case("scatter_" + op[1:], lambda x, i, s, op=op: x.scatter_reduce(1, i, s, op), floats(3, 4), distinct, floats(3, 2), axis=1)
    case("one_hot", lambda i: F.one_hot(i, 5), torch.tensor([3, 0, 4]), classes=5)


def contractions():
    for a, b in [((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (3, 4, 2)), ((4,), (4, 3)), ((3, 4), (4,)), ((4,), (4,))]:
        case("matmul", torch.matmul, floats(*a), floats(*b))
    for text, a, b in [("ij,jk->ik", (3, 4), (4, 2)), ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)), ("i,j->ij", (3,), (4,)), ("ijk,jk->i", (2, 3, 4), (3, 4)), ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4))]:
        case("einsum", lambda x, y, text=text: torch.einsum(text, x, y), floats(*a), floats(*b), equation=text)
    convs = [(F.conv1d, (9,), (3,)), (F.conv2d, (5, 4), (3, 2)), (F.conv3d, (3, 2, 3), (2, 1, 2))]
    for rank, (conv, size, kernel) in enumerate(convs, 1):
        for groups, options in [(1, {}), (2, dict(stride=2, padding=1)), (1, dict(padding=2, dilation=2)), (4, dict(padding=1))]:
            case(f"conv{rank}d", lambda x, w, b, conv=conv, g=groups, o=options: conv(x, w, b, groups=g, **o), floats(2, 4, *size), floats(4, 4 // groups, *kernel), floats(4), groups=groups, **options)
    for rank, conv in enumerate([F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d], 1):
        for groups, options in [(1, {}), (2, dict(stride=2, padding=1, output_padding=1)), (1, dict(dilation=2, padding=1))]:
            case(f"conv_transpose{rank}d", lambda x, w, b, conv=conv, g=groups, o=options: conv(x, w, b, groups=g, **o), floats(2, 4, *(3, 2, 2)[:rank]), floats(4, 4 // groups, *(3, 2, 2)[:rank]), floats(4), groups=groups, **options)


def pools():
    for rank in [1, 2, 3]:
        x = floats(2, 2, *(7, 5, 4)[:rank])
        for kernel, stride, padding in [(2, 2, 0), (3, 2, 1)]:
            attrs = dict(kernel=kernel, stride=stride, padding=padding)
            case(f"max_pool{rank}d", lambda x, r=rank, k=kernel, s=stride, p=padding: getattr(F, f"max_pool{r}d")(x, k, s, p), x, **attrs)
            case(f"avg_pool{rank}d", lambda x, r=rank, k=kernel, s=stride, p=padding: getattr(F, f"avg_pool{r}d")(x, k, s, p), x, count_include_pad=True, **attrs)
        case(f"adaptive_avg_pool{rank}d", lambda x, r=rank: getattr(F, f"adaptive_avg_pool{r}d")(x, 3), x, size=3)
        case(f"adaptive_max_pool{rank}d", lambda x, r=rank: getattr(F, f"adaptive_max_pool{r}d")(x, 3), x, size=3)


def norms():
    x = floats(2, 3, 4)
    for axis in [-1, 1]:
        case("softmax", lambda x, a=axis: F.softmax(x, a), x, axis=axis)
        case("log_softmax", lambda x, a=axis: F.log_softmax(x, a), x, axis=axis)
    case("layer_norm", lambda x, w, b: F.layer_norm(x, (4,), w, b, 1e-5), x, floats(4), floats(4), axes=1, eps=1e-5)
    case("layer_norm", lambda x, w: F.layer_norm(x, (3, 4), w, None, 1e-5), x, floats(3, 4), axes=2, eps=1e-5)
    case("rms_norm", lambda x, w: F.rms_norm(x, (4,), w, 1e-6), x, floats(4), eps=1e-6)
    image = floats(3, 4, 2, 3)
    case("group_norm", lambda x, w, b: F.group_norm(x, 2, w, b, 1e-5), image, floats(4), floats(4), groups=2, eps=1e-5)
    case("instance_norm", lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5), image, floats(4), floats(4), eps=1e-5)
    case("batch_norm", lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5), image, floats(4), floats(4), training=True, eps=1e-5)
    case("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m.detach(), v.detach(), w, b, False, 0.1, 1e-5), image, floats(4), positive(4), floats(4), floats(4), training=False, eps=1e-5)


def losses():
    logits, classes = floats(5, 4), torch.tensor([3, 0, 1, 1, 2])
    case("cross_entropy", F.cross_entropy, logits, classes)
    case("cross_entropy", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), logits, classes, label_smoothing=0.1)
    case("cross_entropy", lambda x, y: F.cross_entropy(x, y, ignore_index=1), logits, classes, ignore_index=1)
    case("cross_entropy", lambda x, y, w: F.cross_entropy(x, y, w.detach()), logits, classes, positive(4))
    case("nll", lambda x, y: F.nll_loss(F.log_softmax(x, -1), y), logits, classes)
    case("bce", F.binary_cross_entropy, share(3, 4), share(3, 4))
    case("bce_with_logits", F.binary_cross_entropy_with_logits, floats(3, 4), share(3, 4))
    a, b = floats(3, 4), floats(3, 4)
    case("mse", F.mse_loss, a, b)
    case("l1", F.l1_loss, a, b)
    case("huber", lambda a, b: F.huber_loss(a, b, delta=0.8), a, b, delta=0.8)
    case("smooth_l1", lambda a, b: F.smooth_l1_loss(a, b, beta=0.8), a, b, beta=0.8)
    case("kl_div", lambda a, b: F.kl_div(F.log_softmax(a, -1), F.softmax(b, -1), reduction="batchmean"), a, b, reduction="batchmean")
    case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, -1, 1e-8), a, b, axis=-1, eps=1e-8)


def rope(x, interleaved, base=10000.0):
    """x is [.., t, d]; position is the row. Interleaved rotates (0,1), (2,3), ..; else (i, i + d/2)."""
    t, d = x.shape[-2:]
    angle = torch.arange(t, dtype=torch.float64)[:, None] * base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cos, sin = angle.cos(), angle.sin()
    if interleaved:
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], -1)


def attention():
    sdpa = F.scaled_dot_product_attention
    q, k, v = floats(2, 4, 5, 3), floats(2, 4, 5, 3), floats(2, 4, 5, 3)
    case("attention", sdpa, q, k, v)
    case("attention", lambda q, k, v: sdpa(q, k, v, is_causal=True), q, k, v, causal=True)
    case("attention", lambda q, k, v: sdpa(q, k, v, scale=0.3), q, k, v, scale=0.3)
    case("attention", lambda q, k, v, m: sdpa(q, k, v, attn_mask=m), q, k, v, floats(1, 4, 5, 5), bias=True)
    case("attention", lambda q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True), q, floats(2, 2, 5, 3), floats(2, 2, 5, 3), causal=True, kv_heads=2)
    row, column = torch.arange(5)[:, None], torch.arange(5)[None]
    band = (column <= row) & (column > row - 2)
    case("attention", lambda q, k, v: sdpa(q, k, v, attn_mask=band), q, k, v, causal=True, window=2)
    for interleaved in [False, True]:
        case("rope", lambda x, i=interleaved: rope(x, i), floats(2, 2, 5, 4), base=10000.0, interleaved=interleaved)


def tensor(t):
    if t.dtype.is_floating_point:
        return {"shape": list(t.shape), "f": [float(f"{v:.8g}") for v in t.detach().flatten().tolist()]}
    return {"shape": list(t.shape), "i": [int(v) for v in t.flatten().tolist()]}


def exact(t):
    """With all digits, as inputs are written."""
    return {"shape": list(t.shape), "f": t.flatten().tolist()} if t.dtype.is_floating_point else tensor(t)


def run(op, function, inputs, attrs):
    leaves = [x.clone().requires_grad_() if x.dtype.is_floating_point else x for x in inputs]
    output = function(*leaves)
    row = {"op": op, "attrs": attrs, "inputs": [exact(x) for x in inputs], "output": tensor(output)}
    if output.requires_grad:
        cotangent = floats(*output.shape)
        wanted = [x for x in leaves if x.dtype.is_floating_point]
        grads = iter(torch.autograd.grad((output * cotangent).sum(), wanted, allow_unused=True))
        got = [next(grads) if x.dtype.is_floating_point else None for x in leaves]
        row["cotangent"] = exact(cotangent)
        row["grads"] = [None if g is None else tensor(g) for g in got]
    return row


def main():
    torch.use_deterministic_algorithms(True)
    for family in [unary, binary, views, reduces, indexed, contractions, pools, norms, losses, attention]:
        family()
    rows = [json.dumps(run(*of), separators=(",", ":")) for of in CASES]
    head = json.dumps({"torch": torch.__version__.split("+")[0]})[:-1]
    (ROOT / "goldens/ops.json").write_text(head + ', "cases": [\n' + ",\n".join(rows) + "\n]}\n")
    print(f"goldens/ops.json: {len(rows)} cases of {len({of[0] for of in CASES})} ops")


if __name__ == "__main__":
    main()
