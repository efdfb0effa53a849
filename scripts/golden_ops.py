#!/usr/bin/env python3
"""Writes the op cases with PyTorch's answers: crates/unigrad-testing/goldens/*.txt

    python scripts/golden_ops.py            # needs torch (CPU) and numpy; any release from 2.4 on

One file per family. A file is lines: `op NAME`, then for each case `case KEY=VALUE ..`, one `i DTYPE SHAPE: VALUES` per input,
one `o DTYPE SHAPE: VALUES` per output, one `g INPUT: VALUES` per gradient. The dtype `float` stands for each of f64, f32, f16, bf16:
such inputs are exact in all four, and the answers are computed in float64. Gradients are those of sum(output * weight) over the
float outputs with weight[i] = ((7 i + 3) mod 13 - 6) / 4. `nograd` marks a case whose gradients are not compared.
"""
import itertools
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

torch.manual_seed(0)
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crates", "unigrad-testing", "goldens")
NAMES = {
    torch.bool: "bool", torch.uint8: "u8", torch.int8: "i8", torch.uint16: "u16", torch.int16: "i16", torch.uint32: "u32",
    torch.int32: "i32", torch.uint64: "u64", torch.int64: "i64", torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32",
    torch.float64: "f64",
}
rng = np.random.default_rng(20240)
lines = []
counts = {}
current = None


# ---- inputs: all on the grid of 1/32 below 8, exact in every float dtype

def G(*shape, lo=-2.0, hi=2.0):
    return torch.tensor(rng.integers(int(lo * 32), int(hi * 32) + 1, shape) / 32.0, dtype=torch.float64)


def D(*shape):
    """Distinct values."""
    n = int(np.prod(shape))
    assert n <= 500, n
    picks = rng.permutation(np.arange(-250, 250))[:n]
    return torch.tensor(picks.reshape(shape) / 32.0, dtype=torch.float64)


def P(*shape, lo=0.25, hi=4.0):
    return G(*shape, lo=lo, hi=hi)


def away(*shape):
    """Away from 0, of both signs."""
    x = G(*shape, lo=0.5, hi=2.0)
    return x * torch.tensor(rng.choice([-1.0, 1.0], shape))


def I(*shape, lo=0, hi=5, dtype=torch.int64):
    return torch.tensor(rng.integers(lo, hi, shape), dtype=dtype)


def B(*shape):
    return torch.tensor(rng.integers(0, 2, shape).astype(bool))


def V(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


NAN, INF = float("nan"), float("inf")


# ---- writing

def number(x):
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == int(x) and abs(x) < 1e6:
        return "-0" if x == 0 and math.copysign(1, x) < 0 else str(int(x))
    return f"{x:.12g}"


def tensor_text(t, generic):
    name = "float" if generic and t.dtype == torch.float64 else NAMES[t.dtype]
    shape = ",".join(map(str, t.shape)) or "-"
    flat = t.detach().reshape(-1)
    if t.dtype in (torch.float16, torch.bfloat16):
        flat = flat.double()
    return f"{name} {shape}: " + " ".join(number(x) for x in flat.tolist())


def attribute(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (list, tuple)):
        return ",".join(attribute(v) for v in value) or "-"
    if isinstance(value, float):
        return number(value) if not math.isfinite(value) or value != int(value) else f"{value:.1f}"
    return str(value)


def weight(t):
    i = torch.arange(t.numel(), dtype=torch.float64).reshape(t.shape)
    return ((7 * i + 3) % 13 - 6) / 4


def op(name):
    global current
    current = name
    lines.append(f"op {name}")


def case(fn, *inputs, nograd=False, concrete=False, only=None, **attributes):
    """`fn(*inputs, **attributes)`; `only` names the inputs that get gradients."""
    leaves = []
    for i, x in enumerate(inputs):
        wants = not nograd and x.dtype == torch.float64 and not concrete and (only is None or i in only)
        leaves.append(x.clone().requires_grad_(wants))
    out = fn(*leaves)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    words = [f"{k}={attribute(v)}" for k, v in attributes.items() if v is not None]
    if nograd:
        words.append("nograd")
    lines.append(" ".join(["case", *words]))
    for x in inputs:
        lines.append("i " + tensor_text(x, not concrete))
    for o in outs:
        lines.append("o " + tensor_text(o, not concrete))
    if not nograd and not concrete:
        loss = sum((o * weight(o)).sum() for o in outs if o.dtype.is_floating_point and o.requires_grad)
        wanted = [i for i, x in enumerate(leaves) if x.requires_grad]
        if isinstance(loss, torch.Tensor) and wanted:
            grads = torch.autograd.grad(loss, [leaves[i] for i in wanted], allow_unused=True)
            for i, g in zip(wanted, grads):
                if g is None:
                    g = torch.zeros_like(leaves[i])
                lines.append(f"g {i}: " + " ".join(number(x) for x in g.reshape(-1).tolist()))
    counts[current] = counts.get(current, 0) + 1


def write(family):
    global rng
    rng = np.random.default_rng(20240)  # A new case changes its own file only.
    path = os.path.join(OUT, f"{family}.txt")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{family}: {sum(1 for l in lines if l.startswith('case'))} cases, {os.path.getsize(path)} bytes")
    lines.clear()


SHAPES = [(), (1,), (5,), (0, 3), (5, 1, 3), (3, 17)]

# ---- maps of one argument

def unary(name, fn, make=G, specials=True, kinks=None, shapes=SHAPES, without=(), **attributes):
    op(name)
    for shape in shapes:
        case(fn, make(*shape), **attributes)
    if kinks is not None:
        case(fn, V(kinks), **attributes)
    if specials:
        values = [0.0, -0.0, 1.0, -1.0, NAN, INF, -INF, 100.0, -100.0, 0.0078125]
        case(fn, V([v for v in values if not any(v == w or (v != v and w != w) for w in without)]), nograd=True, **attributes)


U = lambda *s: G(*s, lo=-0.9, hi=0.9)
unary("neg", torch.neg)
unary("abs", torch.abs, kinks=[0.0, -1.0])
# Here the limits of silu and gelu at -inf are their values.
unary("sign", torch.sign, kinks=[0.0, 2.0])
unary("exp", torch.exp)
unary("exp2", torch.exp2)
unary("expm1", torch.expm1)
unary("log", torch.log, P)
unary("log2", torch.log2, P)
unary("log1p", torch.log1p, lambda *s: P(*s, lo=-0.75, hi=3.0))
unary("sin", torch.sin)
unary("cos", torch.cos)
unary("tan", torch.tan, lambda *s: G(*s, lo=-1.25, hi=1.25))
unary("asin", torch.asin, U)
unary("acos", torch.acos, U)
unary("atan", torch.atan)
unary("sinh", torch.sinh)
unary("cosh", torch.cosh)
unary("tanh", torch.tanh)
unary("sqrt", torch.sqrt, P)
unary("rsqrt", torch.rsqrt, P)
unary("recip", torch.reciprocal, away)
unary("erf", torch.erf)
unary("floor", torch.floor, kinks=[0.5, -0.5, 1.0, -1.0])
unary("ceil", torch.ceil, kinks=[0.5, -0.5, 1.0, -1.0])
unary("round", torch.round, kinks=[0.5, 1.5, 2.5, -0.5, -1.5, 3.5])
unary("trunc", torch.trunc, kinks=[0.5, -0.5, 1.75, -1.75])
unary("relu", F.relu, kinks=[0.0, -0.0, 1.0, -1.0])
unary("sigmoid", torch.sigmoid)
unary("silu", F.silu, without=[-INF])
unary("gelu", F.gelu, without=[-INF])
unary("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), without=[-INF])
unary("softplus", F.softplus, kinks=[25.0, -25.0, 5.0])
unary("elu", F.elu, kinks=[0.0, -0.0], alpha=1.0)
unary("elu", lambda x: F.elu(x, 0.5), shapes=[(5,)], specials=False, alpha=0.5)
unary("selu", F.selu, kinks=[0.0])
unary("leaky_relu", F.leaky_relu, kinks=[0.0, -0.0], slope=0.01)
unary("leaky_relu", lambda x: F.leaky_relu(x, 0.25), shapes=[(5,)], specials=False, slope=0.25)
unary("mish", F.mish)
unary("hardswish", F.hardswish, lambda *s: G(*s, lo=-4.0, hi=4.0), kinks=[3.0, -3.0, 0.0])
unary("square", torch.square)
unary("logsigmoid", F.logsigmoid)
unary("log10", torch.log10, P)
unary("asinh", torch.asinh)
unary("acosh", torch.acosh, lambda *s: G(*s, lo=1.25, hi=4.0))
unary("atanh", torch.atanh, U)
unary("erfc", torch.erfc)
unary("relu6", F.relu6, lambda *s: G(*s, lo=-4, hi=7.9), kinks=[0.0, 6.0])
# Not F.hardsigmoid, whose sixth is a float32 in the gradient.
unary("hardsigmoid", lambda x: F.relu6(x + 3) / 6, lambda *s: G(*s, lo=-4.0, hi=4.0), kinks=[3.0, -3.0, 0.0])
unary("hardtanh", F.hardtanh, kinks=[1.0, -1.0])
unary("softsign", F.softsign)
unary("fract", torch.frac)
op("isnan")
case(torch.isnan, V([1.0, NAN, INF, -INF, 0.0]), nograd=True)
op("isinf")
case(torch.isinf, V([1.0, NAN, INF, -INF, 0.0]), nograd=True)
op("isfinite")
case(torch.isfinite, V([1.0, NAN, INF, -INF, 0.0]), nograd=True)
case(torch.isfinite, I(4), concrete=True)
op("logical_not")
case(torch.logical_not, B(7), concrete=True)
case(torch.logical_not, I(7, lo=-1, hi=2), concrete=True)
case(torch.logical_not, V([0.0, -0.0, 1.0, NAN]), nograd=True)
op("bitwise_not")
for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    case(torch.bitwise_not, I(7, lo=0, hi=100).to(dtype), concrete=True)
for name, fn in [("abs", torch.abs), ("neg", torch.neg), ("sign", torch.sign), ("relu", F.relu), ("square", torch.square)]:
    op(name)
    for dtype in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
        try:
            case(fn, I(7, lo=-9 if dtype != torch.uint8 else 0, hi=10, dtype=dtype), concrete=True)
        except (RuntimeError, NotImplementedError):
            pass
for name, fn in [("floor", torch.floor), ("ceil", torch.ceil), ("round", torch.round), ("trunc", torch.trunc)]:
    op(name)
    case(fn, I(7, lo=-9, hi=10), concrete=True)
for name, fn in [("exp", torch.exp), ("sqrt", torch.sqrt), ("sigmoid", torch.sigmoid), ("sin", torch.sin), ("erf", torch.erf),
                 ("rsqrt", torch.rsqrt), ("recip", torch.reciprocal), ("tanh", torch.tanh), ("log", torch.log)]:
    op(name)
    for dtype in (torch.int32, torch.uint8, torch.bool, torch.int64):
        case(fn, I(5, lo=1, hi=4).to(dtype), concrete=True)
# Where a composition overflows, or has no digits left.
for name, fn, near in [("asinh", torch.asinh, [1e-30, 0.5, 5e9]), ("acosh", torch.acosh, [1.0, 1.0 + 2.0**-23, 1.0 + 2.0**-10, 5e9, 0.5]),
                       ("atanh", torch.atanh, [1e-30, 1.0, -1.0, 1.0 - 2.0**-24, 1.5]), ("erfc", torch.erfc, [1e-30, 0.5, 4.0, 9.0, -9.0, 15.0])]:
    op(name)
    for dtype, far in [(torch.float32, [1e20, -1e20, 3e38]), (torch.float64, [1e160, -1e160, 1.7e308])]:
        # Twelve digits say no more of a double.
        short = [x for x in near if dtype == torch.float32 or float(f"{x:.12g}") == x]
        case(fn, V([*short, *far, 0.0, -0.0, INF, -INF, NAN], dtype), concrete=True)
write("unary")

# ---- maps of two arguments

PAIRS = [((), ()), ((3,), ()), ((), (3,)), ((5, 5), (5, 5)), ((2, 3), (3,)), ((3,), (2, 3)), ((5, 1, 3), (4, 3)), ((0, 3), (1, 3)),
         ((1,), (0,)), ((2, 1, 4), (3, 1)), ((1, 1), (1,)), ((2, 3, 1, 5), (3, 7, 1)), ((3, 17), (1, 17)), ((3, 17), (3, 1))]


def binary(name, fn, make_a=G, make_b=G, grad=True, pairs=PAIRS):
    op(name)
    for a, b in pairs:
        case(fn, make_a(*a), make_b(*b), nograd=not grad)


binary("add", torch.add)
binary("sub", torch.sub)
binary("mul", torch.mul)
binary("div", torch.div, G, away)
binary("pow", torch.pow, P, G)
binary("maximum", torch.maximum)
binary("minimum", torch.minimum)
binary("atan2", torch.atan2, away, away)
op("rem")
for a, b in PAIRS:
    # Off multiples, where the remainder jumps.
    x, y = G(*a, lo=-7, hi=7), away(*b)
    r = torch.remainder(x, y)
    while r.numel() and bool(((r.abs() < 0.03) | ((r - y).abs() < 0.03)).any()):
        x, y = G(*a, lo=-7, hi=7), away(*b)
        r = torch.remainder(x, y)
        if r.numel() > 30:
            break
    case(torch.remainder, x, y, nograd=r.numel() > 30)
case(torch.remainder, V([5.0, -5.0, 5.0, -5.0, 6.0, -6.0, 0.0]), V([3.0, 3.0, -3.0, -3.0, 3.0, 3.0, 2.0]), nograd=True)
case(torch.remainder, V([1.0, 0.0, INF, 2.0, -2.0, NAN]), V([0.0, 0.0, 2.0, INF, INF, 1.0]), nograd=True)
op("floor_div")
for a, b in PAIRS[:8]:
    case(torch.floor_divide, G(*a, lo=-7, hi=7), away(*b), nograd=True)
case(torch.floor_divide, V([5.0, -5.0, 5.0, -5.0, 6.0, -6.0, 0.0, -0.0, 0.25]), V([3.0, 3.0, -3.0, -3.0, 3.0, 3.0, 2.0, 2.0, -8.0]), nograd=True)
case(torch.floor_divide, V([1.0, -1.0, 0.0, INF, -INF, 2.0, -3.0, -2.0, NAN, 1.0, INF]), V([0.0, 0.0, 0.0, 1.0, 2.0, INF, INF, -INF, 1.0, NAN, INF]), nograd=True)
case(lambda x: torch.floor_divide(x, 0.5), V([-3.0, -0.25, 0.0, 0.75, 2.5, 3.125]), scalar=0.5, nograd=True)
for name, fn in [("floor_div", torch.floor_divide), ("rem", torch.remainder)]:
    op(name)
    # A tenth is more than a tenth, or less; quotients that the division rounds up.
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        case(fn, V([1.0, -1.0, 1.0, 0.3, 0.7, 6.0, 1000.0, -0.9], dtype), V([0.1, 0.1, -0.1, 0.1, 0.1, 0.2, 0.001, 0.3], dtype), concrete=True)
op("pow")
case(torch.pow, V([-2.0, -1.5, 0.0, 0.0, 2.0, -1.0]), V([2.0, 3.0, 2.0, 1.0, 0.0, -1.0]), only=[0])
case(torch.pow, V([0.0, 0.0, -1.0, INF, 2.0, NAN, 1.0, -8.0]), V([0.0, -1.0, 0.5, 0.0, INF, 0.0, NAN, 0.3333]), nograd=True)
for e in (0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0, 2.5):
    case(lambda x: torch.pow(x, e), P(4), scalar=e)
for e in (0.0, 1.0, 2.0, 3.0, -1.0):
    case(lambda x: torch.pow(x, e), away(4), scalar=e)
case(lambda x: torch.pow(x, 2.0), V([0.0, 1.0, -1.0]), scalar=2.0)
op("maximum")
case(torch.maximum, V([1.0, 2.0, 3.0]), V([1.0, 1.0, 4.0]))
case(torch.maximum, V([NAN, 1.0, INF, -INF]), V([1.0, NAN, 1.0, -INF]), nograd=True)
op("minimum")
case(torch.minimum, V([1.0, 2.0, 3.0]), V([1.0, 1.0, 4.0]))
case(torch.minimum, V([NAN, 1.0, INF, -INF]), V([1.0, NAN, 1.0, -INF]), nograd=True)
op("atan2")
case(torch.atan2, V([0.0, 0.0, -0.0, 1.0, -1.0, INF]), V([1.0, -1.0, -1.0, 0.0, 0.0, INF]), nograd=True)
op("div")
case(torch.div, V([1.0, 0.0, -1.0, INF]), V([0.0, 0.0, 0.0, INF]), nograd=True)
case(torch.div, I(5, lo=-9, hi=9), I(5, lo=1, hi=5), concrete=True)
case(torch.div, I(5, lo=-9, hi=9, dtype=torch.int32), I(5, lo=1, hi=5, dtype=torch.int32), concrete=True)
for name, fn in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("rem", torch.remainder)]:
    op(name)
    case(lambda x: fn(x, 2.5), away(3, 2), scalar=2.5, nograd=name == "rem")
    case(lambda x: fn(x, 2), I(4, lo=-5, hi=5), scalar=2, concrete=True)
    case(lambda x: fn(x, 2.5), I(4, lo=-5, hi=5), scalar=2.5, concrete=True)
    case(lambda x: fn(x, 2), away(4).half(), scalar=2, concrete=True)
for name, fn in [("sub", lambda a, b: b - a), ("div", lambda a, b: b / a), ("pow", lambda a, b: b ** a)]:
    op("r" + name)
    case(lambda x: fn(x, 2.5), away(5), scalar=2.5)
for name, fn in [("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt), ("le", torch.le), ("gt", torch.gt), ("ge", torch.ge)]:
    op(name)
    for a, b in PAIRS[:8]:
        case(fn, G(*a, lo=-0.1, hi=0.1), G(*b, lo=-0.1, hi=0.1), nograd=True)
    case(fn, V([NAN, 1.0, INF, -INF, 0.0, NAN]), V([NAN, NAN, INF, INF, -0.0, 1.0]), nograd=True)
    case(fn, I(9, lo=0, hi=3), I(9, lo=0, hi=3), concrete=True)
    case(fn, I(9, lo=0, hi=3), G(9, lo=0, hi=3).float(), concrete=True)
    case(fn, I(9, lo=0, hi=255).to(torch.uint8), I(9, lo=-128, hi=127).to(torch.int8), concrete=True)
    case(fn, B(9), B(9), concrete=True)
    case(lambda x: fn(x, 1.0), I(9, lo=0, hi=3), scalar=1.0, concrete=True)
for name, fn in [("logical_and", torch.logical_and), ("logical_or", torch.logical_or), ("logical_xor", torch.logical_xor)]:
    op(name)
    case(fn, B(8), B(8), concrete=True)
    case(fn, B(2, 1), B(3), concrete=True)
    case(fn, I(8, lo=-1, hi=2), G(8, lo=0, hi=0.05).float(), concrete=True)
for name, fn in [("and", torch.bitwise_and), ("or", torch.bitwise_or), ("xor", torch.bitwise_xor)]:
    op(name)
    for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        case(fn, I(2, 5, lo=0, hi=127).to(dtype), I(5, lo=0, hi=127).to(dtype), concrete=True)
    case(fn, I(5, lo=-9, hi=9), I(5, lo=-9, hi=9), concrete=True)
for name, fn in [("shl", torch.bitwise_left_shift), ("shr", torch.bitwise_right_shift)]:
    op(name)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        case(fn, I(6, lo=0, hi=120).to(dtype), I(6, lo=0, hi=7).to(dtype), concrete=True)
    case(fn, I(6, lo=-100, hi=0), I(6, lo=0, hi=7), concrete=True)
for name, fn in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("maximum", torch.maximum), ("minimum", torch.minimum),
                 ("floor_div", torch.floor_divide), ("rem", torch.remainder)]:
    op(name)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        low = 1 if dtype == torch.uint8 else -100
        b = I(9, lo=low, hi=100)
        b[b == 0] = 3
        case(fn, I(9, lo=low, hi=100).to(dtype), b.to(dtype), concrete=True)
op("pow")
case(torch.pow, I(9, lo=-3, hi=4), I(9, lo=0, hi=5), concrete=True)
case(torch.pow, I(9, lo=0, hi=4, dtype=torch.int32), I(9, lo=0, hi=5, dtype=torch.int32), concrete=True)
# Promotion: every pair that PyTorch adds, for tensors of rank 1 and beside rank 0.
DTYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32,
          torch.float64]
for name, fn in [("add", torch.add), ("mul", torch.mul), ("div", torch.div), ("maximum", torch.maximum)]:
    op(name)
    for x, y in itertools.product(DTYPES, DTYPES):
        if name != "add" and (x.is_floating_point and y.is_floating_point) and x != y and torch.float64 in (x, y):
            continue
        case(fn, I(2, lo=0, hi=4).to(x), I(2, lo=1, hi=4).to(y), concrete=True)
        if name == "add" and x != y:
            case(fn, I(2, lo=0, hi=4).to(x), I(lo=1, hi=4).to(y), concrete=True)
op("where")
for shapes in [((), (), ()), ((3,), (3,), (3,)), ((2, 1), (3,), ()), ((0, 3), (1, 3), (3,)), ((5, 1, 3), (4, 1), (1,)), ((4,), (), (4,))]:
    case(torch.where, B(*shapes[0]), G(*shapes[1]), G(*shapes[2]))
case(torch.where, B(4), I(4), G(4).float(), concrete=True)
case(torch.where, B(4), V([NAN, 1.0, INF, NAN]), V([1.0, NAN, 2.0, 3.0]), nograd=True)
op("clamp")
for shape in [(), (5,), (0, 3), (5, 1, 3)]:
    case(lambda x: torch.clamp(x, -1.0, 0.5), G(*shape), min=-1.0, max=0.5)
    case(lambda x: torch.clamp(x, min=-1.0), G(*shape), min=-1.0)
    case(lambda x: torch.clamp(x, max=0.5), G(*shape), max=0.5)
case(lambda x: torch.clamp(x, -1.0, 0.5), V([-1.0, 0.5, 0.0]), min=-1.0, max=0.5)
case(lambda x: torch.clamp(x, -1.0, 0.5), V([NAN, INF, -INF]), min=-1.0, max=0.5, nograd=True)
case(lambda x: torch.clamp(x, 2.0, -2.0), G(4), min=2.0, max=-2.0, nograd=True)
case(lambda x: torch.clamp(x, -2, 3), I(6, lo=-5, hi=6), min=-2, max=3, concrete=True)
op("addcmul")
case(lambda x, a, b: torch.addcmul(x, a, b, value=0.5), G(3), G(2, 1), G(3), value=0.5)
op("addcdiv")
case(lambda x, a, b: torch.addcdiv(x, a, b, value=0.5), G(3), G(2, 1), away(3), value=0.5)
op("isclose")
for equal_nan in (False, True):
    case(lambda a, b: torch.isclose(a, b, 0.125, 0.25, equal_nan), V([1.0, 1.0, NAN, INF, INF, 0.0]), V([1.25, 2.0, NAN, INF, -INF, 0.25]), nograd=True, rtol=0.125, atol=0.25, equal_nan=equal_nan)
op("lerp")
for a, b, w in [((), (), ()), ((3,), (3,), (3,)), ((2, 3), (3,), (2, 1)), ((0, 3), (3,), ())]:
    case(torch.lerp, G(*a), G(*b), G(*w, lo=0, hi=1))
for w in (0.0, 0.25, 0.5, 1.0, 1.5):
    case(lambda a, b: torch.lerp(a, b, w), G(4), G(4), scalar=w)
for dtype in (torch.float32, torch.float64):
    big = 1e8 if dtype == torch.float32 else 1e17
    case(lambda a, b: torch.lerp(a, b, 1.0), V([big, 1.0, -big], dtype), V([1.0, big, 0.1], dtype), scalar=1.0, concrete=True)
    case(torch.lerp, V([big, 1.0, -big, 3.0], dtype), V([1.0, big, 0.1, 7.0], dtype), V([1.0, 1.0, 1.0, 0.0], dtype), concrete=True)
op("cast")
for x, y in itertools.product(DTYPES, DTYPES):
    if x != y:
        values = I(5, lo=0 if torch.uint8 in (x, y) or torch.bool in (x, y) else -7, hi=8).double()
        if x.is_floating_point and torch.uint8 != y:
            values = values + 0.5
        case(lambda t: t.to(y), values.to(x), concrete=True, to=NAMES[y])
case(lambda t: t.to(torch.bool), V([0.0, -0.0, 0.25, NAN, INF], torch.float32), concrete=True, to="bool")
case(lambda t: t.to(torch.uint8), V([-1, 256, 300, 255], torch.int64), concrete=True, to="u8")
case(lambda t: t.to(torch.int8), V([-129, 128, 300, 255], torch.int32), concrete=True, to="i8")
case(lambda t: t.to(torch.float16), V([65504.0, 65519.0, 65520.0, 1e6, -1e6, 6e-8, 1e-8, NAN], torch.float32), concrete=True, to="f16")
case(lambda t: t.to(torch.bfloat16), V([3.3e38, 3.4e38, 1.00390625, 1.01171875, 1e-40, NAN, INF], torch.float32), concrete=True, to="bf16")
write("binary")

# ---- views

op("reshape")
for a, b in [((), ()), ((), (1, 1)), ((6,), (2, 3)), ((2, 3, 4), (4, 6)), ((0, 3), (3, 0)), ((0, 3), (0,)), ((1, 1), ()), ((5, 1, 3), (15,))]:
    case(lambda x: x.reshape(b), G(*a), shape=b)
case(lambda x: x.reshape(2, -1), G(4, 3), shape=(2, -1))
op("flatten")
for a, s, e in [((2, 3, 4), 0, -1), ((2, 3, 4), 1, -1), ((2, 3, 4), 0, 1), ((2, 3, 4), 1, 1), ((), 0, -1), ((0, 3), 0, -1)]:
    case(lambda x: x.flatten(s, e), G(*a), start=s, end=e)
op("permute")
for a, p in [((2, 3, 4), (2, 0, 1)), ((2, 3, 4), (-1, 0, 1)), ((2, 3), (1, 0)), ((0, 3), (1, 0)), ((5, 1, 3), (1, 2, 0)), ((), ())]:
    case(lambda x: x.permute(p), G(*a), axes=p)
op("transpose")
for a, i, j in [((2, 3), 0, 1), ((2, 3, 4), 0, -1), ((2, 3, 4), 1, 1), ((0, 3), 0, 1), ((3, 33), -2, -1)]:
    case(lambda x: x.transpose(i, j), G(*a), i=i, j=j)
op("expand")
for a, b in [((1,), (3,)), ((3, 1), (3, 4)), ((1, 3), (2, 5, 3)), ((), (2, 2)), ((1, 3), (0, 3)), ((5, 1, 3), (5, 7, 3)), ((1, 3), (-1, 3))]:
    case(lambda x: x.expand(b), G(*a), shape=b)


def np_slice(x, spec):
    """Python slices with negative steps, through index tensors."""
    for axis, s in enumerate(spec):
        x = x.index_select(axis, torch.tensor(np.arange(x.shape[axis])[s].copy()))
    return x


def slice_text(spec):
    part = lambda v: "" if v is None else str(v)
    return ";".join(f"{part(s.start)}:{part(s.stop)}:{part(s.step)}" for s in spec)


op("slice")
for a, spec in [
    ((5,), [slice(1, 4, 1)]), ((5,), [slice(None, None, 2)]), ((5,), [slice(None, None, -1)]), ((5,), [slice(4, 0, -2)]),
    ((5,), [slice(-3, None, None)]), ((5,), [slice(None, -1, None)]), ((5,), [slice(3, 3, None)]), ((5,), [slice(1, 100, 3)]),
    ((5,), [slice(-100, 2, None)]), ((5,), [slice(None, 1, -1)]), ((5,), [slice(-2, None, -2)]), ((6,), [slice(1, None, 2)]),
    ((3, 4), [slice(None, None, -1), slice(None, None, -2)]), ((3, 4), [slice(0, 2, None)]), ((0, 3), [slice(None, None, -1), slice(0, 2, None)]),
    ((5, 1, 3), [slice(None, None, 2), slice(None, None, -1), slice(2, None, -1)]), ((3, 33), [slice(None), slice(30, 2, -3)]),
    ((3, 33), [slice(None), slice(1, 31, 2)]), ((4,), [slice(2, 1, None)]), ((4,), [slice(1, 2, -1)]),
]:
    case(lambda x: np_slice(x, spec), G(*a), spec=slice_text(spec))
op("narrow")
for a, axis, start, length in [((5,), 0, 1, 3), ((3, 4), -1, 0, 2), ((3, 4), 0, 2, 1), ((3, 4), 1, 4, 0), ((0, 3), 1, 1, 2)]:
    case(lambda x: x.narrow(axis, start, length), G(*a), axis=axis, start=start, len=length)
op("select")
for a, axis, i in [((5,), 0, 2), ((5,), 0, -1), ((3, 4), 1, -2), ((2, 3, 4), 0, 1), ((0, 3), 1, 0)]:
    case(lambda x: x.select(axis, i), G(*a), axis=axis, index=i)
op("pad")
for mode in ("constant", "reflect", "replicate", "circular"):
    for a, pads in [((1, 2, 5), (1, 2)), ((1, 2, 4, 5), (2, 1, 1, 2)), ((1, 1, 3, 3, 4), (1, 1, 2, 0, 0, 2)), ((2, 5), (3, 0)), ((2, 2, 5), (0, 0)), ((1, 2, 5), (4, 4))]:
        if mode != "constant" and len(pads) // 2 != len(a) - 2 and not (len(a) == 2 and len(pads) == 2):
            continue
        case(lambda x: F.pad(x, pads, mode=mode), G(*a), pads=pads, mode=mode)
for a, pads, value in [((), (), 1.5), ((3,), (1, 1), 1.5), ((0, 3), (1, 0, 2, 1), 2.0), ((3, 4), (-1, 1), 0.0), ((3, 4), (-1, -1, 1, -1), 0.5),
                       ((2, 3), (0, 0, 1, 2), NAN), ((2, 3), (2, 2, 2, 2), -INF)]:
    if a == ():
        continue
    case(lambda x: F.pad(x, pads, value=value), G(*a), pads=pads, mode="constant", value=value, nograd=not math.isfinite(value))
op("concat")
for shapes, axis in [([(2,), (3,)], 0), ([(2, 3), (1, 3), (4, 3)], 0), ([(2, 3), (2, 2)], -1), ([(0, 3), (2, 3)], 0), ([(2, 0), (2, 3)], 1),
                     ([(2, 3)], 0), ([(2, 1, 3), (2, 4, 3)], 1), ([(0,), (0,)], 0)]:
    case(lambda *x: torch.cat(x, axis), *[G(*s) for s in shapes], axis=axis)
case(lambda *x: torch.cat(x, 0), I(3), G(3).float(), concrete=True, axis=0)
op("stack")
for shape, n, axis in [((), 3, 0), ((3,), 2, 0), ((3,), 2, 1), ((3,), 2, -1), ((2, 3), 3, 1), ((0, 3), 2, 0), ((2, 3), 1, -2)]:
    case(lambda *x: torch.stack(x, axis), *[G(*shape) for _ in range(n)], axis=axis)
op("split")
for a, size, axis in [((7,), 3, 0), ((6, 2), 2, 0), ((2, 5), 2, -1), ((4,), 10, 0), ((0, 3), 2, 0)]:
    case(lambda x: x.split(size, axis), G(*a), size=size, axis=axis)
op("split_sizes")
for a, sizes, axis in [((7,), (1, 4, 2), 0), ((2, 5), (5, 0), 1), ((3, 2), (1, 2), -2)]:
    case(lambda x: x.split(list(sizes), axis), G(*a), sizes=sizes, axis=axis)
op("chunk")
for a, n, axis in [((7,), 3, 0), ((6,), 3, 0), ((5,), 4, 0), ((2, 5), 2, 1), ((3,), 5, 0), ((10,), 4, 0)]:
    case(lambda x: x.chunk(n, axis), G(*a), n=n, axis=axis)
op("squeeze")
for a, axis in [((1, 3, 1), None), ((1, 3, 1), 0), ((1, 3, 1), -1), ((), None), ((1,), 0), ((0, 1), 1)]:
    case(lambda x: x.squeeze() if axis is None else x.squeeze(axis), G(*a), axis=axis)
op("unsqueeze")
for a, axis in [((3,), 0), ((3,), 1), ((3,), -1), ((), 0), ((), -1), ((2, 3), 1), ((2, 3), -3), ((0, 3), 0)]:
    case(lambda x: x.unsqueeze(axis), G(*a), axis=axis)
op("flip")
for a, axes in [((5,), (0,)), ((2, 3), (0, 1)), ((2, 3), (-1,)), ((0, 3), (0,)), ((5, 1, 3), (0, 2)), ((2, 3), ()), ((), ())]:
    case(lambda x: x.flip(axes), G(*a), axes=axes)
op("roll")
for a, shifts, axes in [((5,), (2,), (0,)), ((5,), (-1,), (0,)), ((5,), (7,), (0,)), ((2, 3), (1, -1), (0, 1)), ((2, 3), (1,), (-1,)), ((0, 3), (1,), (0,)), ((3, 4), (1, 2), (0, 0))]:
    case(lambda x: x.roll(shifts, axes), G(*a), shifts=shifts, axes=axes)
case(lambda x: x.roll(2), G(2, 3), shifts=(2,))
op("tile")
for a, reps in [((3,), (2,)), ((2, 3), (2, 2)), ((2, 3), (2,)), ((3,), (2, 2)), ((), (3,)), ((0, 3), (2, 1)), ((2,), (0,)), ((2, 1, 3), (2, 3, 1))]:
    case(lambda x: x.tile(reps), G(*a), reps=reps)
op("repeat")
for a, reps in [((3,), (2,)), ((2, 3), (2, 2)), ((3,), (2, 2)), ((), (3,)), ((0, 3), (2, 1)), ((2,), (0,))]:
    case(lambda x: x.repeat(reps), G(*a), reps=reps)
op("repeat_interleave")
for a, n, axis in [((3,), 2, 0), ((2, 3), 3, 1), ((2, 3), 2, -2), ((2, 3), 1, 0)]:
    case(lambda x: x.repeat_interleave(n, axis), G(*a), n=n, axis=axis)
for name, fn in [("tril", torch.tril), ("triu", torch.triu)]:
    op(name)
    for a, d in [((3, 3), 0), ((3, 4), 1), ((4, 3), -1), ((2, 3, 3), 0), ((0, 3), 0), ((1, 1), 0), ((3, 3), 5), ((3, 3), -5)]:
        case(lambda x: fn(x, d), G(*a), diagonal=d)
    case(lambda x: fn(x, 0), V([[1.0, NAN], [INF, 2.0]]), diagonal=0, nograd=True)
op("unfold")
for a, axis, size, step in [((7,), 0, 3, 1), ((7,), 0, 3, 2), ((2, 6), 1, 2, 2), ((2, 6), -1, 2, 3), ((6, 2), 0, 4, 1), ((5,), 0, 5, 1), ((7,), 0, 1, 3), ((3, 4, 5), 1, 2, 1)]:
    case(lambda x: x.unfold(axis, size, step), G(*a), axis=axis, size=size, step=step)
op("movedim")
for a, s, d in [((2, 3, 4), 0, 2), ((2, 3, 4), -1, 0), ((2, 3), 1, 1)]:
    case(lambda x: x.movedim(s, d), G(*a), source=s, target=d)
op("diagonal")
for a, o in [((3, 3), 0), ((3, 4), 1), ((4, 3), -1), ((2, 3, 3), 0)]:
    case(lambda x: torch.diagonal(x, o, -2, -1), G(*a), offset=o)
op("diag_embed")
for a in [(3,), (2, 3), (0,)]:
    case(torch.diag_embed, G(*a))
op("unfold")
case(lambda x: x.unfold(0, 1, 1), V(1.5), axis=0, size=1, step=1)
op("transpose")
case(lambda x: x.transpose(0, -1), V(1.5), i=0, j=-1)
op("movedim")
case(lambda x: x.movedim(0, 0), V(1.5), source=0, target=0)
op("squeeze")
case(lambda x: x.squeeze(0), V(1.5), axis=0)
op("unbind")
for a, axis in [((3, 2), 0), ((2, 3, 4), -2)]:
    case(lambda x: x.unbind(axis), G(*a), axis=axis)
op("unflatten")
for a, axis, sizes in [((6,), 0, (2, 3)), ((2, 12), -1, (3, -1)), ((2, 4), 1, (4, 1))]:
    case(lambda x: x.unflatten(axis, sizes), G(*a), axis=axis, sizes=sizes)
op("meshgrid")
case(lambda *x: torch.meshgrid(*x, indexing="ij"), G(2), G(3))
op("interpolate_nearest")
for a, sizes in [((1, 2, 3), (6,)), ((1, 2, 5), (3,)), ((1, 1, 3, 4), (5, 7)), ((1, 1, 4, 4), (2, 2)), ((1, 1, 2, 3, 2), (4, 3, 3))]:
    case(lambda x: F.interpolate(x, sizes, mode="nearest"), G(*a), sizes=sizes)
write("view")

# ---- reductions and scans

REDUCE = [((), None), ((5,), None), ((5,), 0), ((5,), -1), ((2, 3), None), ((2, 3), 0), ((2, 3), (0, 1)), ((5, 1, 3), (0, 2)), ((5, 1, 3), 1), ((2, 3, 4), (1,)),
          ((2, 3, 4), (0, 2)), ((2, 3, 4), -2), ((3, 70), 1), ((70, 3), 0), ((1,), 0), ((), 0)]
EMPTY = [((0, 3), 0), ((0, 3), None), ((3, 0), 1), ((0, 3), 1)]


def reduction(name, fn, make=G, empty=True, grad=True, cases=REDUCE, **attributes):
    op(name)
    for (a, axes), keepdim in itertools.product(cases + (EMPTY if empty else [((0, 3), 1)]), (False, True)):
        if axes is None and keepdim and len(a) < 2:
            continue
        dims = tuple(range(len(a))) if axes is None else axes
        case(lambda x: fn(x, dims, keepdim), make(*a), axes=axes, keepdim=keepdim, nograd=not grad, **attributes)


def prod(x, dims, keepdim):
    for d in sorted([d % max(x.dim(), 1) for d in ((dims,) if isinstance(dims, int) else dims)], reverse=True):
        x = x.prod(d, keepdim=True)
    if not keepdim:
        dims = (dims,) if isinstance(dims, int) else dims
        for d in sorted([d % max(x.dim(), 1) for d in dims], reverse=True):
            x = x.squeeze(d) if x.dim() else x
    return x


sum_ = lambda x, d, k: x.sum(d, keepdim=k) if d != () else x.sum()
reduction("sum", sum_)
reduction("mean", lambda x, d, k: x.mean(d, keepdim=k) if d != () else x.mean())
SHORT = [c for c in REDUCE if 70 not in c[0]]
reduction("prod", prod, away, cases=SHORT)
reduction("max", lambda x, d, k: x.amax(d, keepdim=k), D, empty=False)
reduction("min", lambda x, d, k: x.amin(d, keepdim=k), D, empty=False)
op("count_nonzero")
case(lambda x: torch.count_nonzero(x, 1), I(3, 4, hi=2), axes=1, concrete=True)
case(lambda x: torch.count_nonzero(x), I(3, 4, hi=2), concrete=True)
reduction("logsumexp", lambda x, d, k: x.logsumexp(d, keepdim=k))
op("prod")
case(lambda x: x.prod(0), V([2.0, 0.0, 3.0]), axes=0, keepdim=False)
case(lambda x: x.prod(0), V([0.0, 0.0, 3.0]), axes=0, keepdim=False)
case(lambda x: x.prod(1), V([[1.0, 2.0], [0.0, 3.0]]), axes=1, keepdim=False)
op("max")
case(lambda x: x.amax(0), V([1.0, 3.0, 3.0]), axes=0, keepdim=False)
case(lambda x: x.amax(1), V([[1.0, NAN, 3.0], [-INF, -INF, -INF]]), axes=1, keepdim=False, nograd=True)
op("min")
case(lambda x: x.amin(0), V([1.0, 3.0, 1.0]), axes=0, keepdim=False)
case(lambda x: x.amin(1), V([[1.0, NAN, 3.0], [INF, INF, INF]]), axes=1, keepdim=False, nograd=True)
op("sum")
case(lambda x: x.sum(1), V([[1.0, NAN, 3.0], [INF, -INF, 0.0], [INF, 1.0, 2.0]]), axes=1, keepdim=False, nograd=True)
op("logsumexp")
case(lambda x: x.logsumexp(1), V([[-INF, -INF], [INF, 1.0], [100.0, 100.0], [-100.0, -100.0], [NAN, 0.0]]), axes=1, keepdim=False, nograd=True)
for dtype in (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
    for name, fn in [("sum", lambda x: x.sum(1)), ("prod", lambda x: x.prod(1)), ("max", lambda x: x.amax(1)), ("min", lambda x: x.amin(1)), ("any", lambda x: x.any(1)), ("all", lambda x: x.all(1))]:
        op(name)
        if name in ("any", "all") and dtype == torch.uint8:
            continue  # PyTorch answers these in u8.
        case(fn, I(2, 7, lo=0, hi=3).to(dtype), concrete=True, axes=1, keepdim=False)
for name, fn in [("any", lambda x, d, k: torch.any(x, d, keepdim=k) if d != () else x.any()), ("all", lambda x, d, k: torch.all(x, d, keepdim=k) if d != () else x.all())]:
    op(name)
    for a, axes in [((), None), ((5,), 0), ((2, 3), None), ((0, 3), 0), ((5, 1, 3), (0, 2)), ((0,), None)]:
        dims = tuple(range(len(a))) if axes is None else axes
        case(lambda x: fn(x, dims, False), B(*a), axes=axes, keepdim=False, concrete=True)
for name, fn in [("argmax", torch.argmax), ("argmin", torch.argmin)]:
    op(name)
    for a, axis, keepdim in [((), 0, False), ((), -1, True), ((5,), 0, False), ((5,), None, False), ((2, 3), 1, True), ((2, 3), -2, False), ((5, 1, 3), 0, False), ((2, 3), None, False), ((3, 70), 1, False), ((), None, False), ((0, 3), 1, False)]:
        case(lambda x: fn(x, axis, keepdim), D(*a), axis=axis, keepdim=keepdim, nograd=True)
    case(lambda x: fn(x, 1), V([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [1.0, NAN, 5.0], [INF, -INF, 0.0]]), axis=1, keepdim=False, nograd=True)
    case(lambda x: fn(x, 0), I(7, lo=-5, hi=5), axis=0, keepdim=False, concrete=True)
for name, fn in [("var", torch.var), ("std", torch.std)]:
    op(name)
    for a, axes in [((5,), 0), ((2, 3), None), ((2, 3), 1), ((5, 2, 3), (0, 2)), ((3, 70), -1)]:
        for correction, keepdim in [(0, False), (1, True), (2, False)]:
            if a == (2, 3) and correction == 2 and axes is None or (a == (5, 2, 3)):
                pass
            dims = tuple(range(len(a))) if axes is None else axes
            if a == (2, 3) and axes == 1 and correction == 2 and name == "std":
                continue
            case(lambda x: fn(x, dims, correction=correction, keepdim=keepdim), D(*a), axes=axes, correction=correction, keepdim=keepdim)
    case(lambda x: fn(x, 0, correction=1), V([1.0]), axes=0, correction=1, keepdim=False, nograd=True)
    case(lambda x: fn(x, 0, correction=0), V([1.0]), axes=0, correction=0, keepdim=False, nograd=True)
    case(lambda x: fn(x, 0, correction=1), G(0, 2), axes=0, correction=1, keepdim=False, nograd=True)
op("norm")
for p in (1.0, 2.0, INF, -INF, 3.0, 0.5, 0.0):
    for a, axes in [((5,), None), ((2, 3), 1), ((2, 3), None), ((5, 1, 3), (0, 2)), ((), None)]:
        dims = tuple(range(len(a))) if axes is None else axes
        case(lambda x: torch.linalg.vector_norm(x, p, dims if a else None), D(*a), axes=axes, p=p, keepdim=False, nograd=p == 0.0)
case(lambda x: torch.linalg.vector_norm(x, 2.0, 1), V([[0.0, 0.0], [3.0, 4.0]]), axes=1, p=2.0, keepdim=False)
case(lambda x: torch.linalg.vector_norm(x, 1.0, 0), V([0.0, -2.0]), axes=0, p=1.0, keepdim=True and False)
case(lambda x: torch.linalg.vector_norm(x, 2.0, 1), G(3, 0), axes=1, p=2.0, keepdim=False)
SCANS = [((5,), 0), ((2, 3), 1), ((2, 3), 0), ((5, 1, 3), -1), ((5, 1, 3), 0), ((0, 3), 0), ((0, 3), 1), ((3, 40), 1), ((40, 2), 0), ((1,), 0), ((), 0)]
op("cumsum")
for a, axis in SCANS:
    case(lambda x: x.cumsum(axis), G(*a), axis=axis)
for dtype in (torch.int32, torch.uint8, torch.bool):
    case(lambda x: x.cumsum(0), I(6).to(dtype), axis=0, concrete=True)
case(lambda x: x.cumsum(0), V([1.0, INF, 1.0, NAN, 1.0]), axis=0, nograd=True)
op("cumprod")
for a, axis in SCANS:
    if 40 not in a:
        case(lambda x: x.cumprod(axis), away(*a), axis=axis)
case(lambda x: x.cumprod(0), V([2.0, 0.0, 3.0, 4.0]), axis=0)
case(lambda x: x.cumprod(0), V([2.0, 0.0, 3.0, 0.0, 5.0]), axis=0)
for name, fn in [("cummax", torch.cummax), ("cummin", torch.cummin)]:
    op(name)
    for a, axis in SCANS:
        case(lambda x: fn(x, axis).values, D(*a), axis=axis)
    case(lambda x: fn(x, 0).values, V([1.0, 3.0, NAN, 5.0]), axis=0, nograd=True)
    case(lambda x: fn(x, 0).values, V([1.0, 3.0, 3.0, 2.0]), axis=0)
for name, fn in [("cummax", torch.cummax), ("cummin", torch.cummin)]:
    op(name)
    for a, axis in [((5,), 0), ((3, 4), 1), ((), 0)]:
        case(lambda x: fn(x, axis).values, B(*a), axis=axis, concrete=True)
for name, fn in [("max_with_index", torch.max), ("min_with_index", torch.min)]:
    op(name)
    for a, axis in [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((), 0), ((), -1), ((2, 3, 4), -2)]:
        case(lambda x: tuple(fn(x, axis)), D(*a), axis=axis)
    case(lambda x: tuple(fn(x, 0)), V([1.0, NAN, 3.0]), axis=0, nograd=True)
# A variance that no f16 holds, whose root one holds.
op("std")
case(lambda x: torch.std(x, 0), V([300.0, -300.0, 300.0, -300.0]), axes=0, correction=1)
case(lambda x: torch.std(x, 0), V([1000.0, 1001.0, 1002.0, 1001.0], torch.float32), axes=0, correction=1, concrete=True)
op("norm")
case(lambda x: torch.linalg.vector_norm(x, 2.0), V([300.0, -400.0]), p=2.0, axes=0)
write("reduce")

# ---- indexing

op("gather")
for a, i, axis in [((5,), (3,), 0), ((3, 4), (3, 2), 1), ((3, 4), (5, 4), 0), ((3, 4), (2, 3), 1), ((2, 3, 4), (2, 1, 4), 1), ((3, 4), (0, 4), 0), ((3, 4), (3, 0), -1), ((), (), 0)]:
    top = a[axis] if a else 1
    case(lambda x, i: x.gather(axis, i), G(*a), I(*i, hi=top), axis=axis)
op("scatter_add")
case(lambda x, i, s: x.scatter_add(0, i, s), G(), V(0, torch.int64), G(), axis=0)
op("index_select")
for a, n, axis in [((5,), 3, 0), ((3, 4), 6, 1), ((3, 4), 2, -2), ((2, 3, 4), 5, 1), ((3, 4), 0, 0), ((4, 33), 3, 0)]:
    case(lambda x, i: x.index_select(axis, i), G(*a), I(n, hi=a[axis]), axis=axis)
case(lambda x, i: x.index_select(0, i), G(4, 2), I(3, hi=4, dtype=torch.int32), axis=0)
op("take")
for a, i in [((5,), (3,)), ((3, 4), (2, 2)), ((3, 4), ()), ((3, 4), (0,))]:
    case(lambda x, i: x.take(i), G(*a), I(*i, lo=-int(np.prod(a)), hi=int(np.prod(a))))
op("scatter")
for a, i, axis in [((5,), (3,), 0), ((3, 4), (3, 2), 1), ((3, 5), (2, 5), 0), ((2, 3, 4), (2, 2, 4), 1), ((3, 4), (0, 4), 0)]:
    # Each target once: the result of a repeated one is not defined in PyTorch.
    index = torch.stack([torch.tensor(rng.permutation(a[axis])[: i[axis]]) for _ in range(max(1, int(np.prod(i)) // max(i[axis], 1)))])
    if i[axis] == 0:
        index = torch.zeros(i, dtype=torch.int64)
    else:
        moved = [n for k, n in enumerate(i) if k != axis % len(a)]
        index = index.reshape(*moved, i[axis]).movedim(-1, axis)
    case(lambda x, i, s: x.scatter(axis, i, s), G(*a), index, G(*i), axis=axis)
op("scatter_add")
for a, i, axis in [((5,), (7,), 0), ((3, 4), (3, 6), 1), ((3, 5), (2, 5), 0), ((2, 3, 4), (2, 5, 4), 1), ((3, 4), (0, 4), 0), ((3, 4), (2, 3), 1)]:
    case(lambda x, i, s: x.scatter_add(axis, i, s), G(*a), I(*i, hi=a[axis]), G(*i), axis=axis)
op("scatter_reduce")
for mode in ("amax", "amin", "prod", "sum"):
    for include in (True,):
        for a, i, axis in [((5,), (7,), 0), ((3, 4), (3, 6), 1), ((3, 5), (2, 5), 0)]:
            x, s = (away(*a), away(*i)) if mode == "prod" else (D(*a), D(*i))
            case(lambda x, i, s: x.scatter_reduce(axis, i, s, mode, include_self=include), x, I(*i, hi=a[axis]), s, axis=axis, mode=mode, include_self=include)
op("index_add")
for a, n, axis in [((5,), 3, 0), ((3, 4), 6, 1), ((4, 3), 6, 0)]:
    src = list(a)
    src[axis] = n
    case(lambda x, i, s: x.index_add(axis, i, s), G(*a), I(n, hi=a[axis]), G(*src), axis=axis)
case(lambda x, i, s: x.index_add(0, i, s), V(1.5), V([0], torch.int64), V(2.0), axis=0)
op("index_copy")
case(lambda x, i, s: x.index_copy(0, i, s), V(1.5), V([0], torch.int64), V(2.0), axis=-1)
case(lambda x, i, s: x.index_copy(0, i, s), G(5), V([3, 0], torch.int64), G(2), axis=0)
case(lambda x, i, s: x.index_copy(1, i, s), G(3, 4), V([2, 0, 1], torch.int64), G(3, 3), axis=1)
op("take_along")
for a, i, axis in [((3, 4), (3, 2), 1), ((3, 4), (2, 4), 0), ((3, 4), (1, 2), 1)]:
    case(lambda x, i: torch.take_along_dim(x, i, axis), G(*a), I(*i, hi=a[axis]), axis=axis)
op("index")
for a, *shapes in [((5,), (3,)), ((3, 4), (2,)), ((3, 4), (2,), (2,)), ((3, 4, 2), (2, 1), (3,)), ((3, 4), ()), ((3, 4), (0,))]:
    tops = a[: len(shapes)]
    case(lambda x, *i: x[tuple(i)], G(*a), *[I(*s, lo=-t, hi=t) for s, t in zip(shapes, tops)])
op("unique")
case(torch.unique, I(9, hi=4), concrete=True)
case(torch.unique, V([2.0, 1.0, 2.0, -0.5], torch.float32), concrete=True)
op("embedding")
for v, d, i in [(5, 3, (4,)), (5, 3, (2, 3)), (4, 33, (3, 2)), (5, 3, ()), (5, 3, (0,)), (1, 1, (2,))]:
    case(lambda w, i: F.embedding(i, w), G(v, d), I(*i, hi=v))
op("one_hot")
for shape, n in [((4,), 5), ((2, 3), 5), ((), 5), ((0,), 5)]:
    case(lambda i: F.one_hot(i, n), I(*shape, hi=5), n=n, concrete=True)
op("masked_fill")
for a, m in [((5,), (5,)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((0, 3), (3,)), ((), ())]:
    case(lambda x, m: x.masked_fill(m, -1.5), G(*a), B(*m), value=-1.5)
case(lambda x, m: x.masked_fill(m, -INF), G(3, 4), B(3, 4), value=-INF, nograd=True)
case(lambda x, m: x.masked_fill(m, 7), I(5), B(5), value=7, concrete=True)
op("masked_select")
for a, m in [((5,), (5,)), ((3, 4), (4,)), ((3, 4), (3, 1)), ((0, 3), (3,)), ((3,), (2, 3))]:
    case(lambda x, m: x.masked_select(m), G(*a), B(*m))
op("nonzero")
case(torch.nonzero, I(2, 5, lo=0, hi=2), concrete=True)
case(torch.nonzero, B(7), concrete=True)
case(torch.nonzero, G(3, 2, 2, lo=-0.03, hi=0.03).float(), concrete=True)
case(torch.nonzero, torch.zeros(4, dtype=torch.int64), concrete=True)
SORTS = [((5,), 0), ((3, 4), 1), ((3, 4), 0), ((2, 3, 4), -2), ((0, 3), 0), ((0, 3), 1), ((1,), 0), ((2, 100), -1), ((), 0)]
op("sort")
for (a, axis), desc in itertools.product(SORTS, (False, True)):
    case(lambda x: torch.sort(x, stable=True, dim=axis, descending=desc), D(*a), axis=axis, descending=desc)
for desc in (False, True):
    case(lambda x: torch.sort(x, stable=True, dim=0, descending=desc), V([2.0, 1.0, 2.0, 1.0, 2.0]), axis=0, descending=desc)
    case(lambda x: torch.sort(x, stable=True, dim=0, descending=desc), V([2.0, NAN, -INF, INF, NAN, 0.0]), axis=0, descending=desc, nograd=True)
    for dtype in (torch.int32, torch.uint8, torch.int64, torch.bool):
        case(lambda x: torch.sort(x, stable=True, dim=0, descending=desc), I(9, hi=4).to(dtype), axis=0, descending=desc, concrete=True)
op("argsort")
for (a, axis), desc in itertools.product(SORTS, (False, True)):
    case(lambda x: torch.argsort(x, stable=True, dim=axis, descending=desc), D(*a), axis=axis, descending=desc, nograd=True)
op("topk")
for a, k, axis in [((5,), 2, 0), ((3, 4), 1, 1), ((3, 4), 4, -1), ((4, 3), 2, 0), ((5,), 0, 0), ((2, 100), 7, -1), ((0, 3), 2, 1)]:
    for largest in (True, False):
        case(lambda x: torch.topk(x, k, axis, largest), D(*a), k=k, axis=axis, largest=largest)
case(lambda x: torch.topk(x, 1, 0, True), G(), k=1, axis=0, largest=True)
op("index_select")
case(lambda x, i: x.index_select(0, i), G(), V([0], torch.int64), axis=0)
op("flip")
case(lambda x: x.flip((0, 1)), G(3, 33), axes=(0, 1))
op("sort")
case(lambda x: torch.sort(x, stable=True, dim=-1), G(3, 5, lo=-0.1, hi=0.1), axis=-1, descending=False)
op("gather")
case(lambda x, i: x.gather(-1, i), G(2, 3), I(2, 3, hi=3), axis=-1)
write("index")

# ---- products

op("matmul")
MM = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((2, 2, 3), (2, 3, 4)), ((2, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((2, 1, 2, 3), (5, 3, 4)),
      ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (3, 0)), ((0,), (0,)), ((3, 0, 2), (2, 4)), ((0, 2, 3), (3, 4)), ((1, 17), (17, 9)), ((17, 33), (33, 1)),
      ((9, 40), (40, 19)), ((1, 2, 3), (5, 3, 2))]
for a, b in MM:
    case(torch.matmul, G(*a), G(*b))
case(lambda a, b: a @ b.transpose(-1, -2), G(3, 5), G(4, 5), tb=True)
case(lambda a, b: a.transpose(-1, -2) @ b, G(5, 3), G(5, 4), ta=True)
case(lambda a, b: a.transpose(-1, -2) @ b.transpose(-1, -2), G(2, 5, 3), G(4, 5), ta=True, tb=True)
case(torch.matmul, I(3, 4, lo=-5, hi=5), I(4, 2, lo=-5, hi=5), concrete=True)
case(torch.matmul, I(3, 4, lo=-5, hi=5, dtype=torch.int32), I(4, 2, lo=-5, hi=5, dtype=torch.int32), concrete=True)
case(torch.matmul, V([[1.0, NAN], [INF, 0.0]]), V([[0.0, 1.0], [1.0, 0.0]]), nograd=True)
op("dot")
case(torch.dot, G(4), G(4))
case(torch.dot, G(0), G(0))
op("outer")
case(torch.outer, G(4), G(3))
case(torch.outer, G(0), G(3))
op("linear")
for x, w, b in [((4,), (3, 4), (3,)), ((2, 4), (3, 4), (3,)), ((2, 5, 4), (3, 4), (3,)), ((0, 4), (3, 4), (3,)), ((2, 1), (1, 1), (1,))]:
    case(F.linear, G(*x), G(*w), G(*b))
case(F.linear, G(2, 4), G(3, 4))
op("trace")
case(torch.trace, G(3, 3))
case(torch.trace, G(3, 5))
op("addmm")
case(torch.addmm, G(2, 4), G(2, 3), G(3, 4))
case(torch.addmm, G(4), G(2, 3), G(3, 4))
op("einsum")
for eq, *shapes in [("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)), ("ij->i", (2, 3)), ("ii->i", (3, 3)), ("ii->", (3, 3)), ("ii", (3, 3)), ("i,i->", (3,), (3,)),
                    ("i,j->ij", (3,), (2,)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 2)), ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij,ij->ij", (2, 3), (2, 3)), ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
                    ("b...,b...->...", (2, 3), (2, 3)), ("ba", (2, 3)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("i,j,k->ijk", (2,), (3,), (2,)), ("ijk,k->ij", (2, 3, 4), (4,)), ("ij,k->ijk", (2, 3), (2,)),
                    ("bqd,kd->bqk", (2, 3, 4), (5, 4)), ("abc,cd,de->abe", (2, 2, 3), (3, 2), (2, 2)), ("iij->ij", (2, 2, 3)), ("ij,jk->k", (2, 3), (3, 4)), ("ij,kj->ik", (0, 3), (2, 3)), (",ij->ij", (), (2, 3)), (" i j , j k -> i k", (2, 3), (3, 2)),
                    ("...->...", (2, 3)), ("ijj->i", (2, 3, 3)), ("i,i,i->i", (3,), (3,), (3,)), ("ab,ab,ab->", (2, 2), (2, 2), (2, 2)), ("aab,b->a", (3, 3, 2), (2,))]:
    case(lambda *x: torch.einsum(eq, *x), *[G(*s) for s in shapes], eq=eq.replace(" ", "_"))
write("linalg")

# ---- convolution and pooling

CONV1 = [((1, 1, 5), (1, 1, 3), {}), ((2, 3, 9), (4, 3, 3), dict(stride=2, padding=1)), ((2, 4, 9), (6, 2, 3), dict(groups=2, padding=2, dilation=2)), ((1, 3, 8), (3, 1, 2), dict(groups=3)), ((2, 2, 4), (3, 2, 1), {}),
         ((1, 2, 7), (2, 2, 3), dict(stride=3)), ((0, 2, 7), (2, 2, 3), {}), ((1, 4, 6), (8, 1, 3), dict(groups=4, padding=1)), ((1, 1, 3), (1, 1, 3), dict(padding=4)), ((1, 1, 20), (1, 1, 4), dict(stride=5, dilation=3))]
CONV2 = [((1, 1, 4, 4), (1, 1, 3, 3), {}), ((2, 3, 7, 6), (4, 3, 3, 2), dict(stride=(2, 1), padding=(1, 0))), ((1, 4, 7, 7), (6, 2, 3, 3), dict(groups=2, dilation=2, padding=2)), ((2, 3, 5, 5), (3, 1, 3, 3), dict(groups=3, padding=1)),
         ((1, 2, 6, 6), (2, 2, 1, 1), dict(stride=2)), ((1, 2, 5, 8), (2, 2, 2, 3), dict(stride=(1, 3), dilation=(2, 1))), ((2, 17, 5, 5), (3, 17, 3, 3), dict(padding=1)), ((1, 1, 9, 9), (2, 1, 5, 5), dict(padding=2, stride=2)),
         ((1, 2, 3, 3), (2, 2, 3, 3), {}), ((1, 1, 6, 6), (1, 1, 2, 2), dict(stride=4))]
CONV3 = [((1, 1, 3, 4, 4), (2, 1, 2, 2, 2), {}), ((1, 2, 4, 5, 3), (2, 1, 3, 3, 1), dict(groups=2, padding=(1, 1, 0), stride=(1, 2, 1)))]
for name, cases, fn in [("conv1d", CONV1, F.conv1d), ("conv2d", CONV2, F.conv2d), ("conv3d", CONV3, F.conv3d)]:
    op(name)
    for n, (x, w, kw) in enumerate(cases):
        case(lambda x, w, b: fn(x, w, b, **kw), G(*x, lo=-1, hi=1), G(*w, lo=-1, hi=1), G(w[0]), **kw)
        if n == 1:
            case(lambda x, w: fn(x, w, **kw), G(*x, lo=-1, hi=1), G(*w, lo=-1, hi=1), **kw)
TCONV1 = [((1, 1, 4), (1, 1, 3), {}), ((2, 3, 5), (3, 2, 3), dict(stride=2, padding=1, output_padding=1)), ((1, 4, 5), (4, 3, 3), dict(groups=2, dilation=2)), ((1, 2, 3), (2, 2, 2), dict(stride=3, output_padding=2)), ((1, 2, 5), (2, 1, 4), dict(padding=2)), ((1, 2, 1), (2, 1, 3), dict(stride=2)), ((0, 2, 3), (2, 1, 3), dict(stride=2))]
TCONV2 = [((1, 1, 3, 3), (1, 1, 3, 3), {}), ((1, 2, 3, 4), (2, 3, 3, 2), dict(stride=(2, 3), padding=(1, 0), output_padding=(1, 2))), ((1, 4, 3, 3), (4, 1, 2, 2), dict(groups=4, stride=2)), ((1, 2, 4, 4), (2, 2, 3, 3), dict(dilation=2, padding=1)), ((2, 4, 3, 3), (4, 3, 3, 3), dict(groups=2, stride=2, padding=1, output_padding=1))]
TCONV3 = [((1, 2, 2, 3, 2), (2, 1, 2, 2, 3), dict(stride=(1, 2, 2), output_padding=(0, 1, 0)))]
for name, cases, fn in [("conv_transpose1d", TCONV1, F.conv_transpose1d), ("conv_transpose2d", TCONV2, F.conv_transpose2d), ("conv_transpose3d", TCONV3, F.conv_transpose3d)]:
    op(name)
    for x, w, kw in cases:
        case(lambda x, w, b: fn(x, w, b, **kw), G(*x, lo=-1, hi=1), G(*w, lo=-1, hi=1), G(w[1] * kw.get("groups", 1)), **kw)
POOLS = {
    1: [((1, 2, 8), dict(kernel=2)), ((1, 2, 9), dict(kernel=3, stride=2, padding=1)), ((2, 1, 8), dict(kernel=3, stride=2, ceil_mode=True)), ((1, 1, 10), dict(kernel=3, stride=3, padding=1, ceil_mode=True)), ((1, 1, 7), dict(kernel=2, stride=1)), ((1, 1, 5), dict(kernel=5)), ((0, 2, 6), dict(kernel=2)), ((1, 1, 6), dict(kernel=2, stride=5, ceil_mode=True)), ((1, 1, 4), dict(kernel=2, stride=3, padding=1, ceil_mode=True))],
    2: [((1, 2, 6, 6), dict(kernel=2)), ((1, 1, 7, 5), dict(kernel=(3, 2), stride=(2, 1), padding=(1, 0))), ((2, 2, 5, 5), dict(kernel=3, stride=2, padding=1, ceil_mode=True)), ((1, 1, 6, 6), dict(kernel=3, stride=1, padding=1)), ((1, 1, 7, 7), dict(kernel=2, stride=2, ceil_mode=True)), ((1, 1, 5, 7), dict(kernel=3, stride=4, padding=1, ceil_mode=True))],
    3: [((1, 1, 4, 4, 4), dict(kernel=2)), ((1, 2, 3, 5, 4), dict(kernel=(1, 3, 2), stride=(1, 2, 1), padding=(0, 1, 1)))],
}
for n in (1, 2, 3):
    maxpool, avgpool = getattr(F, f"max_pool{n}d"), getattr(F, f"avg_pool{n}d")
    op(f"max_pool{n}d")
    for shape, kw in POOLS[n]:
        args = dict(kernel_size=kw["kernel"], stride=kw.get("stride"), padding=kw.get("padding", 0), ceil_mode=kw.get("ceil_mode", False))
        if 0 in shape:
            continue
        case(lambda x: maxpool(x, **args), D(*shape), **kw)
    if n < 3:
        case(lambda x: maxpool(x, 2, 1, 0, 2), D(*((1, 1, 6, 7)[: n + 2])), kernel=2, stride=1, padding=0, dilation=2)
        case(lambda x: maxpool(x, 3, 2, 1), torch.full((1, 1, 5, 5)[: n + 2], 1.0, dtype=torch.float64), kernel=3, stride=2, padding=1)
        x = D(*((1, 1, 5, 6)[: n + 2]))
        x.view(-1)[2] = NAN
        x.view(-1)[0] = -INF
        case(lambda x: maxpool(x, 2), x, kernel=2, nograd=True)
    op(f"avg_pool{n}d")
    for shape, kw in POOLS[n]:
        for include in ((True, False) if kw.get("padding") else (True,)):
            args = dict(kernel_size=kw["kernel"], stride=kw.get("stride"), padding=kw.get("padding", 0), ceil_mode=kw.get("ceil_mode", False), count_include_pad=include)
            if 0 in shape:
                continue
            case(lambda x: avgpool(x, **args), G(*shape), count_include_pad=include, **kw)
    op(f"adaptive_avg_pool{n}d")
    ad_avg, ad_max = getattr(F, f"adaptive_avg_pool{n}d"), getattr(F, f"adaptive_max_pool{n}d")
    for size, out in {1: [((1, 2, 7), (3,)), ((1, 2, 6), (3,)), ((2, 1, 5), (1,)), ((1, 1, 3), (5,)), ((1, 1, 5), (5,))], 2: [((1, 2, 7, 5), (3, 2)), ((1, 1, 4, 4), (1, 1)), ((1, 1, 3, 5), (4, 3)), ((1, 2, 6, 6), (3, 3))], 3: [((1, 1, 3, 4, 5), (2, 2, 3))]}[n]:
        case(lambda x: ad_avg(x, out), G(*size), output=out)
        lines.append(f"op adaptive_max_pool{n}d")
        current = f"adaptive_max_pool{n}d"
        case(lambda x: ad_max(x, out), D(*size), output=out)
        op(f"adaptive_avg_pool{n}d")
write("conv")

# ---- normalization, attention, rotary positions

for name, fn in [("softmax", F.softmax), ("log_softmax", F.log_softmax)]:
    op(name)
    for a, axis in [((5,), 0), ((2, 3), 1), ((2, 3), 0), ((5, 1, 3), -1), ((5, 1, 3), 1), ((2, 3, 4), -2), ((0, 3), 1), ((0, 3), 0), ((3, 0), 1), ((3, 70), -1), ((1,), 0), ((), 0), ((70, 2), 0)]:
        case(lambda x: fn(x, axis), G(*a, lo=-4, hi=4), axis=axis)
    case(lambda x: fn(x, 1), V([[100.0, -100.0, 0.0], [-INF, 0.0, 1.0], [NAN, 0.0, 1.0], [-INF, -INF, -INF], [INF, 0.0, 1.0]]), axis=1, nograd=True)
op("softmin")
case(lambda x: F.softmin(x, 1), G(2, 3), axis=1)
op("layer_norm")
for a, n in [((5,), 1), ((3, 4), 1), ((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3, 4), 3), ((5, 1, 3), 1), ((0, 3), 1), ((3, 70), 1), ((2, 1), 1)]:
    shape = a[-n:]
    case(lambda x, w, b: F.layer_norm(x, shape, w, b, 1e-5), G(*a), G(*shape), G(*shape), axes=n, eps=1e-5)
    case(lambda x: F.layer_norm(x, shape, eps=1e-5), G(*a), axes=n, eps=1e-5)
op("rms_norm")
for a, n in [((5,), 1), ((3, 4), 1), ((2, 3, 4), 2), ((5, 1, 3), 1), ((0, 3), 1), ((3, 70), 1)]:
    shape = a[-n:]
    case(lambda x, w: F.rms_norm(x, shape, w, 1e-5), G(*a), G(*shape), axes=n, eps=1e-5)
    case(lambda x: F.rms_norm(x, shape, eps=1e-5), G(*a), axes=n, eps=1e-5)
op("group_norm")
for a, g in [((2, 4), 2), ((2, 4, 3), 2), ((2, 6, 2, 3), 3), ((1, 4, 2, 2), 1), ((2, 4, 3), 4), ((0, 4, 3), 2)]:
    case(lambda x, w, b: F.group_norm(x, g, w, b, 1e-5), G(*a), G(a[1]), G(a[1]), groups=g, eps=1e-5)
    case(lambda x: F.group_norm(x, g, eps=1e-5), G(*a), groups=g, eps=1e-5)
op("instance_norm")
for a in [(2, 3, 4), (2, 3, 2, 3), (1, 2, 2, 2, 2)]:
    case(lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5), G(*a), G(a[1]), G(a[1]), eps=1e-5)
    case(lambda x: F.instance_norm(x, eps=1e-5), G(*a), eps=1e-5)
op("batch_norm_train")
for a in [(4, 3), (4, 3, 2), (2, 3, 2, 3), (2, 2, 2, 2, 2), (5, 1)]:
    case(lambda x, w, b: F.batch_norm(x, None, None, w, b, True, 0.1, 1e-5), G(*a), G(a[1]), G(a[1]), eps=1e-5)
    case(lambda x: F.batch_norm(x, None, None, training=True, eps=1e-5), G(*a), eps=1e-5)
op("batch_norm_eval")
for a in [(4, 3), (4, 3, 2), (2, 3, 2, 3), (0, 3)]:
    case(lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b, False, 0.1, 1e-5), G(*a), G(a[1]), P(a[1]), G(a[1]), G(a[1]), only=[0, 3, 4], eps=1e-5)
op("cosine_similarity")
for a, axis in [((3, 4), 1), ((3, 4), 0), ((5,), 0), ((2, 3, 4), -2)]:
    case(lambda x, y: F.cosine_similarity(x, y, axis, 1e-8), away(*a), away(*a), axis=axis, eps=1e-8)
op("batch_norm_train")
case(lambda x: F.batch_norm(x, None, None, training=True, eps=1e-5), V([[300.0], [-300.0], [300.0], [-300.0]]), eps=1e-5)
op("normalize")
case(lambda x: F.normalize(x, 2.0, 0), V([500.0, -200.0, 60000.0]), axis=0, p=2.0)
case(lambda x: F.normalize(x, 3.0, 0), V([4.0, -2.0, 7.0]), axis=0, p=3.0)
for a, axis in [((3, 4), 1), ((3, 4), 0), ((5,), 0)]:
    case(lambda x: F.normalize(x, 2.0, axis), away(*a), axis=axis, p=2.0)


def sdpa(q, k, v, bias=None, causal=False, scale=None, window=None, gqa=False):
    h, g = q.shape[1], k.shape[1]
    k, v = k.repeat_interleave(h // g, 1), v.repeat_interleave(h // g, 1)
    s = q @ k.transpose(-1, -2) * (scale if scale is not None else 1 / math.sqrt(q.shape[-1]))
    if bias is not None:
        s = s.masked_fill(~bias, -INF) if bias.dtype == torch.bool else s + bias
    t, n = s.shape[-2:]
    i, j = torch.arange(t)[:, None], torch.arange(n)[None]
    if causal:
        s = s.masked_fill(j > i, -INF)
    if window is not None:
        s = s.masked_fill(j <= i - window, -INF)
    return torch.softmax(s, -1) @ v


op("attention")
for q, k, kw in [((1, 1, 3, 4), (1, 1, 3, 4), {}), ((2, 2, 5, 4), (2, 2, 5, 4), dict(causal=True)), ((1, 4, 3, 2), (1, 2, 6, 2), {}), ((1, 4, 5, 3), (1, 1, 5, 3), dict(causal=True)), ((2, 1, 1, 4), (2, 1, 7, 4), {}),
                 ((1, 2, 6, 4), (1, 2, 6, 4), dict(causal=True, window=3)), ((1, 2, 3, 4), (1, 2, 5, 4), dict(scale=0.25)), ((1, 2, 33, 8), (1, 2, 33, 8), dict(causal=True)), ((0, 2, 3, 4), (0, 2, 3, 4), {})]:
    case(lambda q, k, v: sdpa(q, k, v, **kw), G(*q), G(*k), G(*k), **kw)
case(lambda q, k, v: sdpa(q, k, v), G(1, 2, 3, 4), G(1, 2, 5, 4), G(1, 2, 5, 6))
for bias in [(1, 2, 3, 5), (1, 1, 3, 5), (3, 5), (2, 1, 1, 5), (5,)]:
    case(lambda q, k, v, b: sdpa(q, k, v, b), G(2, 2, 3, 4), G(2, 2, 5, 4), G(2, 2, 5, 4), G(*bias), mask="bias")
mask = B(3, 5)
mask[:, 0] = True
case(lambda q, k, v, b: sdpa(q, k, v, b), G(2, 2, 3, 4), G(2, 2, 5, 4), G(2, 2, 5, 4), mask, mask="bool")
q4 = G(1, 2, 4, 4)
case(lambda q, k, v, b: sdpa(q, k, v, b, causal=True), q4, G(1, 2, 4, 4), G(1, 2, 4, 4), G(4, 4), mask="bias", causal=True)


def rope(x, cos, sin, layout):
    half = x.shape[-1] // 2
    if layout == "half":
        a, b = x[..., :half], x[..., half:]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)


op("rope")
for layout in ("half", "interleaved"):
    for shape in [(1, 1, 3, 4), (2, 2, 5, 6), (1, 1, 1, 2)]:
        t, half = shape[2], shape[3] // 2
        case(lambda x, c, s: rope(x, c, s, layout), G(*shape), G(t, half), G(t, half), only=[0], layout=layout)
op("cosine_similarity")
for a, b, axis in [((3, 4), (1, 4), 1), ((3, 1), (3, 4), 1), ((4,), (3, 1), 0)]:
    case(lambda x, y: F.cosine_similarity(x, y, axis, 1e-8), away(*a), away(*b), axis=axis, eps=1e-8)
write("norm")

# ---- losses

op("cross_entropy")
for reduction_ in ("mean", "sum", "none"):
    for shape in [(4, 3), (2, 3, 5), (2, 3, 2, 2), (1, 1)]:
        target = I(shape[0], *shape[2:], hi=shape[1])
        case(lambda x, t: F.cross_entropy(x, t, reduction=reduction_), G(*shape), target, reduction=reduction_)
    case(lambda x, t: F.cross_entropy(x, t, reduction=reduction_), G(3), V(1, torch.int64), reduction=reduction_)
    for smooth in (0.0, 0.25, 1.0):
        for ignore in (-100, 1):
            target = I(5, hi=3)
            target[0], target[1] = (ignore, 2)
            case(lambda x, t: F.cross_entropy(x, t, ignore_index=ignore, label_smoothing=smooth, reduction=reduction_), G(5, 3), target, ignore_index=ignore, label_smoothing=smooth, reduction=reduction_)
            case(lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=ignore, label_smoothing=smooth, reduction=reduction_), G(5, 3), target, P(3), only=[0], weight=True, ignore_index=ignore, label_smoothing=smooth, reduction=reduction_)
case(lambda x, t: F.cross_entropy(x, t), V([[100.0, -100.0], [-100.0, 100.0]]), V([0, 0], torch.int64), reduction="mean")
case(lambda x, t: F.cross_entropy(x, t, ignore_index=0), G(3, 2), V([0, 0, 0], torch.int64), reduction="mean", ignore_index=0, nograd=True)
case(lambda x, t: F.cross_entropy(x, t), G(6, 70), I(6, hi=70), reduction="mean")
case(lambda x, t: F.cross_entropy(x, t, reduction="sum"), G(0, 3), I(0), reduction="sum")
op("cross_entropy_probs")
for reduction_ in ("mean", "sum", "none"):
    for shape in [(4, 3), (2, 3, 5)]:
        case(lambda x, t: F.cross_entropy(x, t, reduction=reduction_, label_smoothing=0.25), G(*shape), G(*shape, lo=0, hi=1), only=[0], reduction=reduction_, label_smoothing=0.25)
op("nll_loss")
for reduction_ in ("mean", "sum", "none"):
    case(lambda x, t: F.nll_loss(x, t, reduction=reduction_), G(4, 3), I(4, hi=3), reduction=reduction_)
    case(lambda x, t: F.nll_loss(x, t, reduction=reduction_), G(2, 3, 4), I(2, 4, hi=3), reduction=reduction_)
    case(lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction_, ignore_index=1), G(5, 3), V([0, 1, 2, 1, 0], torch.int64), P(3), only=[0], weight=True, ignore_index=1, reduction=reduction_)
for reduction_ in ("mean", "sum", "none"):
    for a in [(), (5,), (2, 3), (0, 3)]:
        if a == (0, 3) and reduction_ == "mean":
            continue
        op("bce")
        case(lambda x, y: F.binary_cross_entropy(x, y, reduction=reduction_), G(*a, lo=0.1, hi=0.9), G(*a, lo=0, hi=1), only=[0], reduction=reduction_)
        op("bce_with_logits")
        case(lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction=reduction_), G(*a), G(*a, lo=0, hi=1), only=[0], reduction=reduction_)
        op("mse_loss")
        case(lambda x, y: F.mse_loss(x, y, reduction=reduction_), G(*a), G(*a), reduction=reduction_)
        op("l1_loss")
        case(lambda x, y: F.l1_loss(x, y, reduction=reduction_), D(*a), D(*a), reduction=reduction_)
        op("huber_loss")
        case(lambda x, y: F.huber_loss(x, y, reduction=reduction_, delta=0.75), G(*a), G(*a), reduction=reduction_, delta=0.75)
        op("smooth_l1_loss")
        case(lambda x, y: F.smooth_l1_loss(x, y, reduction=reduction_, beta=0.75), G(*a), G(*a), reduction=reduction_, beta=0.75)
        op("kl_div")
        case(lambda x, y: F.kl_div(x, y, reduction=reduction_), G(*a, lo=-3, hi=0), G(*a, lo=0.1, hi=1), only=[0], reduction=reduction_, log_target=False)
        case(lambda x, y: F.kl_div(x, y, reduction=reduction_, log_target=True), G(*a, lo=-3, hi=0), G(*a, lo=-3, hi=0), reduction=reduction_, log_target=True)
op("bce")
case(lambda x, y: F.binary_cross_entropy(x, y), V([0.0, 1.0, 0.5, 0.0, 1.0]), V([0.0, 1.0, 0.5, 1.0, 0.0]), reduction="mean", nograd=True)
for dtype in (torch.float32, torch.float64):
    small = [1e-30, 1e-37, 0.0, 1.0] + ([1e-40, 1e-100, 1e-300] if dtype == torch.float64 else [])
    case(lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), V(small, dtype), torch.ones(len(small), dtype=dtype), reduction="none", concrete=True)
op("bce_with_logits")
case(lambda x, y: F.binary_cross_entropy_with_logits(x, y), V([100.0, -100.0, 100.0, -100.0]), V([1.0, 0.0, 0.0, 1.0]), only=[0], reduction="mean")
case(lambda x, y, p: F.binary_cross_entropy_with_logits(x, y, pos_weight=p), G(4, 3), G(4, 3, lo=0, hi=1), P(3), only=[0], reduction="mean", pos_weight=True)
op("kl_div")
case(lambda x, y: F.kl_div(x, y, reduction="sum"), G(4, lo=-3, hi=0), V([0.0, 0.5, 0.0, 0.5]), only=[0], reduction="sum", log_target=False)
case(lambda x, y: F.kl_div(x, y, reduction="batchmean"), G(4, 2, lo=-3, hi=0), G(4, 2, lo=0.1, hi=1), only=[0], reduction="batchmean", log_target=False)
op("mse_loss")
case(lambda x, y: F.mse_loss(x, y), G(0, 3), G(0, 3), reduction="mean", nograd=True)
write("loss")

# ---- creation

op("arange")
for start, stop, step in [(0, 5, 1), (2, 9, 3), (5, 0, -2), (0, 0, 1), (-3, 3, 2)]:
    case(lambda: torch.arange(start, stop, step), concrete=True, start=start, stop=stop, step=step)
op("arange_float")
for start, stop, step in [(0.0, 1.0, 0.25), (1.0, 0.0, -0.25), (0.5, 3.0, 1.0)]:
    case(lambda: torch.arange(start, stop, step), concrete=True, start=start, stop=stop, step=step)
op("linspace")
for start, stop, n in [(0.0, 1.0, 5), (1.0, -1.0, 3), (2.0, 2.0, 1), (0.0, 1.0, 0), (-3.0, 7.0, 11), (0.0, 1.0, 2)]:
    case(lambda: torch.linspace(start, stop, n), concrete=True, start=start, stop=stop, n=n)
op("logspace")
case(lambda: torch.logspace(-1.0, 2.0, 4, 2.0), concrete=True, start=-1.0, stop=2.0, n=4, base=2.0)
op("eye")
for n, m in [(3, 3), (2, 4), (4, 2), (0, 3), (1, 1)]:
    case(lambda: torch.eye(n, m), concrete=True, n=n, m=m)
op("full")
for shape, v in [((2, 3), 1.5), ((), -2.0), ((0, 2), 1.0), ((3,), INF)]:
    case(lambda: torch.full(shape, v), concrete=True, shape=shape, value=v)
write("creation")
# ---- functions of the gamma family and the inverse error function

unary("lgamma", torch.lgamma, kinks=[0.0, -1.0, -3.0, 1.0, 2.0, 1e3, 30.0, -2.5])


class Trigamma(torch.autograd.Function):
    """By the zeta function, for `torch.polygamma(1, x)` has nine digits."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.special.zeta(torch.tensor(2.0, dtype=x.dtype), x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return -2 * dy * torch.special.zeta(torch.tensor(3.0, dtype=x.dtype), x)


class Digamma(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.digamma(x)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensors
        return dy * torch.special.zeta(torch.tensor(2.0, dtype=x.dtype), x)


unary("digamma", Digamma.apply, make=P, kinks=[1.0, 2.0, 1e3, 30.0])
unary("trigamma", Trigamma.apply, make=P, specials=False)
unary("erfinv", torch.erfinv, make=lambda *s: G(*s, lo=-0.96, hi=0.96), kinks=[0.0, 1.0, -1.0, 1.5, -0.96875])
write("special")
# ---- what the families above leave out

op("bitcast")
case(lambda x: x.view(torch.int32), torch.tensor([1.0, -2.5, 0.0, INF, 1e-3], dtype=torch.float32), concrete=True, to="i32")
case(lambda x: x.view(torch.float32), torch.tensor([0, 1065353216, -1082130432, 1 << 23], dtype=torch.int32), concrete=True, to="f32")
case(lambda x: x.view(torch.int64), torch.tensor([[1.0, -2.5], [3.0, 0.5]], dtype=torch.float64), concrete=True, to="i64")
case(lambda x: x.view(torch.uint8), torch.tensor([-1, 0, 5, -128], dtype=torch.int8), concrete=True, to="u8")
op("contiguous")
case(lambda x: x.contiguous(), G(3, 4))
op("max_pool2d_with_index")
for shape, kernel, stride, padding in [((2, 3, 6, 7), (2, 3), (2, 2), (1, 1)), ((1, 2, 5, 5), (3, 3), (1, 2), (0, 1))]:
    case(lambda x: F.max_pool2d(x, kernel, stride, padding, return_indices=True), D(*shape), kernel=kernel, stride=stride, padding=padding)
write("rest")
# ---- functions of two numbers that are composed of others

def two(name, fn, make_a=G, make_b=G, grad=True, specials=True, pairs=(((5,), (5,)), ((3, 1, 4), (2, 1)), ((), (3,)), ((0, 2), (2,)))):
    op(name)
    for a, b in pairs:
        case(fn, make_a(*a), make_b(*b), nograd=not grad)
    if specials:
        values = [0.0, -0.0, 1.0, -1.5, NAN, INF, -INF]
        a, b = zip(*itertools.product(values, values))
        case(fn, V(list(a)), V(list(b)), nograd=True)


two("fmod", torch.fmod, make_b=away, specials=False)
case(torch.fmod, V([5.0, -5.0, 5.0, -5.0, 1.0, -1.0, 7.5]), V([3.0, 3.0, -3.0, -3.0, INF, INF, 0.5]), nograd=True)
case(lambda x: torch.fmod(x, 0.75), G(7), scalar=0.75)
case(torch.fmod, torch.tensor([7, -7, 7, -7, 0]), torch.tensor([3, 3, -3, -3, 5]), concrete=True)
two("fmax", torch.fmax, make_a=D, make_b=D)
two("fmin", torch.fmin, make_a=D, make_b=D)
two("hypot", torch.hypot, make_a=away)
case(torch.hypot, V([3.0, 240.0, 0.0078125]), V([4.0, 180.0, 0.0]))
two("copysign", torch.copysign, make_a=away, make_b=away, specials=False)
case(torch.copysign, V([0.0, -0.0, 1.5, -1.5, INF]), V([-0.0, 0.0, -0.0, 3.0, -1.0]), nograd=True)
two("heaviside", lambda a, b: torch.heaviside(a, b), grad=False)
two("xlogy", torch.xlogy, make_b=P, specials=False)
case(torch.xlogy, V([0.0, 0.0, 0.0, 2.0, -1.0, NAN]), V([0.0, INF, NAN, 0.0, INF, 1.0]), nograd=True)
case(torch.xlogy, V([0.0, 0.0, 1.5]), V([0.0, 2.0, 0.5]))
two("xlog1py", torch.special.xlog1py, make_b=P, specials=False)
case(torch.special.xlog1py, V([0.0, 0.0, 0.0, 2.0, NAN]), V([-1.0, INF, NAN, -1.0, 1.0]), nograd=True)
two("logaddexp", torch.logaddexp)
case(torch.logaddexp, V([100.0, -100.0, 3.0]), V([99.0, -101.0, 3.0]))
two("logaddexp2", torch.logaddexp2)
op("gcd")
for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8):
    case(torch.gcd, torch.tensor([12, 0, 7, 100, 126, 0], dtype=dtype), torch.tensor([18, 5, 13, 75, 84, 0], dtype=dtype), concrete=True)
case(torch.gcd, torch.tensor([-12, 12, 1836311903, 832040]), torch.tensor([18, -18, 1134903170, 514229]), concrete=True)
op("lcm")
case(torch.lcm, torch.tensor([12, 0, 7, -4, 6]), torch.tensor([18, 5, 13, 6, -9]), concrete=True)
case(torch.lcm, torch.tensor([[12], [5]], dtype=torch.int32), torch.tensor([18, 4], dtype=torch.int32), concrete=True)
two("div_trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), make_b=away, grad=False, specials=False)
case(lambda a, b: torch.div(a, b, rounding_mode="trunc"), torch.tensor([7, -7, 7, -7, 6, 0]), torch.tensor([2, 2, -2, -2, 3, 5]), concrete=True)
op("nextafter")
for dtype in (torch.float32, torch.float64):
    a, b = zip(*itertools.product([0.0, 1.0, -1.0, 2.0, 1e-30, INF, NAN], [0.0, 3.0, -3.0, INF, -INF]))
    case(torch.nextafter, V(a, dtype), V(b, dtype), concrete=True)
op("float_power")
case(torch.float_power, torch.tensor([1, 2, -3]), torch.tensor([2, 3, 3]), concrete=True)
case(lambda x: torch.float_power(x, 3), torch.tensor([0.5, -1.25, 3.0], dtype=torch.float32), concrete=True, scalar=3)
write("math")

def kcase(fn, *inputs, nograd=False, concrete=False, only=None, **attributes):
    """As `case`, of a function that takes the attributes."""
    given = {k: v for k, v in attributes.items()}
    case(lambda *x: fn(*x, **given), *inputs, nograd=nograd, concrete=concrete, only=only, **attributes)


# ---- functions of one number with settings, activations

unary("signbit", torch.signbit, kinks=[0.0, -0.0], specials=False)
case(torch.signbit, torch.tensor([-3, 0, 5]), concrete=True)
unary("logit", torch.logit, make=lambda *s: G(*s, lo=0.05, hi=0.95), kinks=[0.5, 0.03125])
unary("logit", lambda x: torch.logit(x, 0.0625), make=lambda *s: G(*s, lo=0.05, hi=0.95), kinks=[0.0, 1.0, 0.5, 0.96875, 0.03125], specials=False, eps=0.0625)
unary("sinc", torch.sinc, kinks=[0.0, 1.0, -2.0, 0.5])
op("nan_to_num")
kcase(lambda x, nan, posinf, neginf: torch.nan_to_num(x, nan, posinf, neginf), V([1.0, NAN, INF, -INF, -0.5]), nan=0.5, posinf=3.0, neginf=-2.0)
kcase(lambda x, nan: torch.nan_to_num(x, nan), V([1.0, NAN, -0.5]), nan=0.0)
kcase(lambda x, nan: torch.nan_to_num(x, nan), V([1.0, NAN, INF, -INF], torch.float32), nan=0.0, concrete=True)
kcase(lambda x, nan: torch.nan_to_num(x, nan), V([1.0, NAN, INF, -INF], torch.float16), nan=0.0, concrete=True)
unary("deg2rad", torch.deg2rad)
unary("rad2deg", torch.rad2deg)
unary("power_of", lambda x: torch.pow(2.5, x), base=2.5)
op("round_decimals")
for decimals in (0, 1, 2):
    kcase(lambda x, decimals: torch.round(x, decimals=decimals), V([0.5, 1.25, -1.75, 2.5, 3.0625], torch.float64), concrete=True, decimals=decimals)
kcase(lambda x, decimals: torch.round(x, decimals=decimals), V([123.0, 155.0, -250.0, 35.0], torch.float32), concrete=True, decimals=-1)
unary("celu", lambda x: F.celu(x, 0.75), kinks=[0.0, -1.0], without=[-INF], alpha=0.75)
unary("tanhshrink", F.tanhshrink, kinks=[0.0, 0.0625, -0.125, 0.09375])
unary("softshrink", lambda x: F.softshrink(x, 0.5), kinks=[0.5, -0.5, 0.25], **{"lambda": 0.5})
unary("hardshrink", lambda x: F.hardshrink(x, 0.5), kinks=[0.5, -0.5, 0.25], **{"lambda": 0.5})
unary("threshold", lambda x: F.threshold(x, 0.25, -1.5), kinks=[0.25, 0.5], threshold=0.25, value=-1.5)
unary("hardtanh_with", lambda x: F.hardtanh(x, -0.5, 1.25), kinks=[-0.5, 1.25, 0.0], low=-0.5, high=1.25)
unary("softplus_with", lambda x: F.softplus(x, 2.0, 1.5), beta=2.0, threshold=1.5)
op("glu")
for shape, axis in [((4,), 0), ((3, 6), -1), ((3, 6, 2), 1), ((0, 4), 1), ((2, 2), 0)]:
    kcase(lambda x, axis: F.glu(x, axis), G(*shape), axis=axis)
op("prelu")
for shape, weights in [((5,), 1), ((2, 3), 3), ((2, 3, 4), 3), ((2, 3, 2, 2), 1), ((0, 3), 3), ((), 1)]:
    case(F.prelu, D(*shape), G(weights))
write("activation")

# ---- statistics

op("nansum")
for axes in (None, (0,), (1,), (0, 1), (-1,)):
    kcase(lambda x, axes: torch.nansum(x, axes) if axes else torch.nansum(x), torch.where(B(3, 4), G(3, 4), NAN), axes=axes)
case(lambda x: torch.nansum(x), V([NAN, NAN]))
case(lambda x: torch.nansum(x), torch.tensor([1, 2, 3]), concrete=True)
op("nanmean")
for axes in (None, (0,), (-1,)):
    kcase(lambda x, axes: torch.nanmean(x, axes) if axes else torch.nanmean(x), torch.where(torch.tensor(rng.integers(0, 4, (3, 4)) > 0), G(3, 4), NAN), axes=axes)
op("aminmax")
case(lambda x: torch.aminmax(x), D(3, 4))
kcase(lambda x, axes: torch.aminmax(x, dim=axes), D(3, 5), axes=1)
kcase(lambda x, axes: torch.aminmax(x, dim=axes), torch.tensor([[3, 1], [2, 5]]), concrete=True, axes=0)
op("var_with")
for axes, correction in [(None, 0.5), ((0,), 1.5), ((1,), 0.0), ((0, 1), 2.0)]:
    kcase(lambda x, axes, correction: torch.var(x, axes, correction=correction), G(4, 5), axes=axes, correction=correction)
kcase(lambda x, axes, correction: torch.var(x, axes, correction=correction), G(2, 3), nograd=True, axes=(0,), correction=2.5)
op("argmax_all")
case(torch.argmax, D(3, 4))
case(torch.argmax, torch.tensor([[3, 9], [9, 1]]), concrete=True)
op("argmin_all")
case(torch.argmin, D(3, 4))
case(torch.argmin, V([2.0, NAN, 1.0]))
for name, fn in [("median", torch.median), ("nanmedian", torch.nanmedian)]:
    op(name)
    for shape, axis in [((5,), 0), ((4,), -1), ((3, 6), 1), ((3, 6), 0), ((2, 1, 3), 1), ((1,), 0)]:
        kcase(lambda x, axis: tuple(fn(x, axis)), D(*shape), axis=axis)
    kcase(lambda x, axis: tuple(fn(x, axis)), V([[1.0, NAN, 3.0, -2.0], [4.0, 0.5, 2.0, 1.0]]), axis=1)
    kcase(lambda x, axis: tuple(fn(x, axis)), torch.tensor([[3, 1, 2], [9, 7, 8]]), concrete=True, axis=1)
op("kthvalue")
for shape, k, axis in [((5,), 2, 0), ((3, 6), 6, 1), ((3, 6), 1, 0), ((2, 4, 3), 3, -2)]:
    kcase(lambda x, k, axis: tuple(torch.kthvalue(x, k, axis)), D(*shape), k=k, axis=axis)
op("mode")
kcase(lambda x, axis: tuple(torch.mode(x, axis)), V([1.0, 2.0, 2.0, 3.0, 1.0, 2.0]), axis=0)
kcase(lambda x, axis: tuple(torch.mode(x, axis)), V([[2.0, 1.0, 1.0, 2.0], [5.0, 5.0, 3.0, 4.0], [0.5, 0.5, 0.5, 0.5]]), axis=1)
kcase(lambda x, axis: tuple(torch.mode(x, axis)), torch.tensor([[3, 1], [2, 1], [3, 4]]), concrete=True, axis=0)
for name, fn in [("quantile", torch.quantile), ("nanquantile", torch.nanquantile)]:
    op(name)
    for q, axis, interpolation in [(0.5, 0, "linear"), (0.3, 1, "linear"), (0.0, -1, "linear"), (1.0, 0, "linear"), (0.4, 1, "lower"), (0.4, 1, "higher"), (0.4, 1, "nearest"), (0.4, 1, "midpoint"), (0.75, 0, "linear")]:
        kcase(lambda x, q, axis, interpolation: fn(x, q, axis, interpolation=interpolation), D(4, 7), q=q, axis=axis, interpolation=interpolation)
    kcase(lambda x, q, axis: fn(x, q, axis), V([[1.0, NAN, 3.0, -2.0], [4.0, 0.5, 2.0, 1.0], [NAN, NAN, NAN, NAN]]), nograd=True, q=0.5, axis=1)
for name, fn in [("cummax_with_index", torch.cummax), ("cummin_with_index", torch.cummin)]:
    op(name)
    for shape, axis in [((6,), 0), ((3, 5), 1), ((4, 2), 0), ((0, 3), 0), ((2, 1), 1)]:
        kcase(lambda x, axis: tuple(fn(x, axis)), D(*shape), axis=axis)
    kcase(lambda x, axis: tuple(fn(x, axis)), V([1.0, 1.0, 0.5, 2.0, 2.0, 0.25]), axis=0)
    kcase(lambda x, axis: tuple(fn(x, axis)), V([1.0, NAN, 5.0, NAN, 0.0]), nograd=True, axis=0)
op("diff")
for shape, n, axis in [((6,), 1, 0), ((3, 5), 2, 1), ((4, 2), 1, 0), ((3, 5), 0, 1), ((2, 3), 4, 1), ((1,), 1, 0)]:
    kcase(lambda x, n, axis: torch.diff(x, n, axis), G(*shape), n=n, axis=axis)
kcase(lambda x, n, axis: torch.diff(x, n, axis), torch.tensor([True, False, False, True]), concrete=True, n=1, axis=0)
kcase(lambda x, n, axis: torch.diff(x, n, axis), torch.tensor([5, 3, 10]), concrete=True, n=1, axis=0)
op("trapezoid")
for shape, axis in [((6,), 0), ((3, 5), 1), ((4, 2), 0), ((3, 1), 1)]:
    kcase(lambda x, dx, axis: torch.trapezoid(x, dx=dx, dim=axis), G(*shape), dx=0.5, axis=axis)
op("cumulative_trapezoid")
for shape, axis in [((6,), 0), ((3, 5), 1), ((4, 2), 0)]:
    kcase(lambda x, dx, axis: torch.cumulative_trapezoid(x, dx=dx, dim=axis), G(*shape), dx=0.5, axis=axis)
op("logcumsumexp")
for shape, axis in [((6,), 0), ((3, 5), 1), ((4, 2), 0), ((2, 3, 4), -2), ((0, 3), 0), ((1,), 0), ((2, 40), 1), ((40, 9), 0), ((), 0)]:
    kcase(lambda x, axis: torch.logcumsumexp(x, axis), G(*shape), axis=axis)
kcase(lambda x, axis: torch.logcumsumexp(x, axis), V([100.0, -100.0, 99.0, 101.0]), axis=0)
kcase(lambda x, axis: torch.logcumsumexp(x, axis), V([-INF, 1.0, -INF, INF, 2.0]), nograd=True, axis=0)
kcase(lambda x, axis: torch.logcumsumexp(x, axis), V([1.0, NAN, 2.0]), nograd=True, axis=0)
op("cov")
for shape, correction in [((3, 5), 1), ((2, 4), 0), ((6,), 1)]:
    kcase(lambda x, correction: torch.cov(x, correction=correction), G(*shape), correction=correction)
op("corrcoef")
case(torch.corrcoef, G(3, 6))
op("cdist")
for a, b, p in [((3, 4), (5, 4), 2.0), ((2, 3, 4), (2, 2, 4), 1.0), ((3, 2), (2, 2), 3.0), ((2, 1, 3, 2), (4, 2, 2), 2.0), ((3, 4), (2, 4), INF), ((0, 3), (2, 3), 2.0), ((2, 3), (2, 3), 1.5)]:
    kcase(lambda x, y, p: torch.cdist(x, y, p), D(*a), D(*b), p=p)
op("nrm2")
for shape, axes in [((6,), 0), ((3, 5), 1), ((4, 2), (0, 1)), ((2, 3, 4), (0, 2)), ((3, 0), 1), ((1,), 0), ((2, 40), 1), ((40, 9), 0)]:
    kcase(lambda x, axes: torch.linalg.vector_norm(x, dim=axes), G(*shape), axes=axes)
case(lambda x: torch.linalg.vector_norm(x), G(3, 4))
kcase(lambda x, axes, keepdim: torch.linalg.vector_norm(x, dim=axes, keepdim=True), G(3, 4), axes=1, keepdim=True)
kcase(lambda x, axes: torch.linalg.vector_norm(x, dim=axes), V([[0.0, 0.0], [0.0, -2.0]]), axes=1)
kcase(lambda x, axes: torch.linalg.vector_norm(x, dim=axes), V([[-INF, INF], [NAN, 1.0], [1.0, -INF]]), nograd=True, axes=1)
write("statistics")

# ---- arrangements and products

for name, fn, groups in [
    ("hstack", torch.hstack, [[(2,), (3,)], [(2, 1), (2, 3)], [(), ()], [(2, 1, 2), (2, 3, 2)]]),
    ("vstack", torch.vstack, [[(3,), (3,)], [(2, 3), (1, 3)], [(), ()], [(2, 1, 2), (1, 1, 2)]]),
    ("dstack", torch.dstack, [[(3,), (3,)], [(2, 3), (2, 3)], [(2, 1, 2), (2, 1, 3)], [()]]),
    ("column_stack", torch.column_stack, [[(3,), (3,)], [(3,), (3, 2)], [(), ()]]),
    ("block_diag", torch.block_diag, [[(2, 3), (1, 2)], [(3,), (), (2, 1)], [(0, 2), (2, 2)]]),
]:
    op(name)
    for shapes in groups:
        case(lambda *x: fn(list(x)) if name != "block_diag" else fn(*x), *[G(*shape) for shape in shapes])
op("tensor_split")
for shape, n, axis in [((7,), 3, 0), ((2, 5), 2, 1), ((2, 5), 4, 0), ((4,), 1, 0)]:
    kcase(lambda x, n, axis: list(torch.tensor_split(x, n, axis)), G(*shape), n=n, axis=axis)
op("split_at")
for shape, places, axis in [((7,), [1, 4], 0), ((2, 5), [2], 1), ((6,), [4, 2, 9, -1], 0), ((6,), [-20, 3], 0)]:
    kcase(lambda x, places, axis: list(torch.tensor_split(x, places, axis)), G(*shape), places=places, axis=axis)
op("rot90")
for shape, k, axes in [((2, 3), 1, (0, 1)), ((2, 3), 2, (0, 1)), ((2, 3), -1, (0, 1)), ((2, 3, 4), 3, (2, 0)), ((2, 3, 4), 4, (1, 2)), ((0, 3), 1, (0, 1))]:
    kcase(lambda x, k, axes: torch.rot90(x, k, axes), G(*shape), k=k, axes=axes)
op("roll_axes")
for shape, shifts, axes in [((2, 3), (1, -2), (0, 1)), ((4, 3), (5, 1), (0, 0)), ((2, 3, 4), (1,), (-1,))]:
    kcase(lambda x, shifts, axes: torch.roll(x, shifts, axes), G(*shape), shifts=list(shifts), axes=list(axes))
op("movedims")
for shape, source, target in [((2, 3, 4), (0, 1), (1, 2)), ((2, 3, 4, 5), (-1, 0), (0, 2)), ((2, 3), (0,), (1,))]:
    kcase(lambda x, source, target: torch.movedim(x, source, target), G(*shape), source=list(source), target=list(target))
op("squeeze_axes")
for shape, axes in [((1, 3, 1), (0, 2)), ((1, 3, 1), (0, 1)), ((2, 1), (-1,))]:
    kcase(lambda x, axes: torch.squeeze(x, axes), G(*shape), axes=axes)
op("diag_embed_with")
for shape, offset, a, b in [((3,), 1, 0, 1), ((2, 3), -1, -2, -1), ((2, 3), 0, 0, 2), ((2, 3), 2, 1, 0), ((0,), 1, 0, 1)]:
    kcase(lambda x, offset, axis1, axis2: torch.diag_embed(x, offset, axis1, axis2), G(*shape), offset=offset, axis1=a, axis2=b)
op("diagflat")
for shape, offset in [((3,), 0), ((2, 2), 1), ((2,), -2), ((), 0)]:
    kcase(lambda x, offset: torch.diagflat(x, offset), G(*shape), offset=offset)
op("kron")
for a, b in [((2, 3), (3, 1)), ((2,), (3,)), ((2, 2), (3,)), ((), (2, 2)), ((2, 1, 2), (2, 2))]:
    case(torch.kron, G(*a), G(*b))
op("meshgrid_xy")
for sizes in [(2, 3), (2,), (2, 3, 4), ()]:
    if sizes:
        case(lambda *x: list(torch.meshgrid(*x, indexing="xy")), *[G(n) for n in sizes])
op("pad_or_cut")
for shape, pads, mode in [((5,), (-1, 2), "constant"), ((3, 4), (1, -2, -1, 0), "constant"), ((2, 3, 5), (-1, 1), "replicate"), ((2, 3, 5), (2, -1), "reflect")]:
    kcase(lambda x, pads, mode: F.pad(x, pads, mode), G(*shape), pads=list(pads), mode=mode)
op("expand_with")
for shape, to in [((1, 3), (2, -1)), ((3,), (2, -1)), ((2, 1), (-1, 4))]:
    kcase(lambda x, **k: x.expand(k["shape"]), G(*shape), **{"shape": list(to)})
op("addmm_with")
for beta, alpha in [(1.0, 1.0), (0.5, -2.0), (0.0, 1.5)]:
    kcase(lambda c, a, b, beta, alpha: torch.addmm(c, a, b, beta=beta, alpha=alpha), G(2, 4), G(2, 3), G(3, 4), beta=beta, alpha=alpha)
kcase(lambda c, a, b, beta, alpha: torch.addmm(c, a, b, beta=int(beta), alpha=int(alpha)), I(2, 2), I(2, 3), I(3, 2), concrete=True, beta=2.0, alpha=3.0)
kcase(lambda c, a, b, beta, alpha: torch.addmm(c, a, b, beta=beta, alpha=alpha), V([NAN, 1.0]), G(2, 2), G(2, 2), nograd=True, beta=0.0, alpha=1.0)
op("baddbmm")
for beta, alpha in [(1.0, 0.5), (-0.5, 2.0)]:
    kcase(lambda c, a, b, beta, alpha: torch.baddbmm(c, a, b, beta=beta, alpha=alpha), G(2, 2, 3), G(2, 2, 2), G(2, 2, 3), beta=beta, alpha=alpha)
op("addmv")
kcase(lambda c, a, b, beta, alpha: torch.addmv(c, a, b, beta=beta, alpha=alpha), G(3), G(3, 2), G(2), beta=0.5, alpha=2.0)
op("addr")
kcase(lambda c, a, b, beta, alpha: torch.addr(c, a, b, beta=beta, alpha=alpha), G(3, 2), G(3), G(2), beta=0.5, alpha=2.0)
op("tensordot")
for a, b, axes, other in [((2, 3, 4), (4, 3, 2), (1, 2), (1, 0)), ((2, 3), (3, 4), (1,), (0,)), ((2, 3), (4, 5), (), ()), ((3,), (3,), (0,), (0,)), ((2, 0), (0, 3), (1,), (0,))]:
    kcase(lambda x, y, axes, other_axes: torch.tensordot(x, y, (axes, other_axes)), G(*a), G(*b), axes=list(axes), other_axes=list(other))
op("inner")
for a, b in [((3,), (3,)), ((2, 3), (4, 3)), ((), (2, 2)), ((2, 1, 3), (3,))]:
    case(torch.inner, G(*a), G(*b))
op("cross")
for a, b, axis in [((3,), (3,), 0), ((2, 3), (2, 3), 1), ((3, 4), (3, 1), 0), ((2, 1, 3), (1, 4, 3), -1)]:
    kcase(lambda x, y, axis: torch.linalg.cross(x, y, dim=axis), G(*a), G(*b), axis=axis)
op("bilinear")
case(F.bilinear, G(2, 3, lo=-1, hi=1), G(2, 4, lo=-1, hi=1), G(5, 3, 4, lo=-1, hi=1), G(5))
case(F.bilinear, G(2, 2, 3), G(2, 2, 1), G(2, 3, 1))
op("multi_dot")
for shapes in [[(2, 3), (3, 4)], [(2, 3), (3, 5), (5, 1)], [(3,), (3, 4), (4,)], [(4, 2), (2, 6), (6, 3), (3, 2)], [(3,), (3,)]]:
    case(lambda *x: torch.linalg.multi_dot(list(x)), *[G(*shape, lo=-0.5, hi=0.5) for shape in shapes])
write("arrange")
# ---- selection: values put in by position, searches, counts, rows of tables

op("index_fill")
for a, index, axis in [((5,), [3, 0], 0), ((3, 4), [1], 1), ((3, 4), [2, 0], -2), ((2, 3, 4), [0, 3], -1), ((0, 3), [], 0), ((3, 1), [0], 1)]:
    case(lambda x, i: x.index_fill(axis, i, -1.5), G(*a), V(index, torch.int64), axis=axis, value=-1.5)
case(lambda x, i, v: x.index_fill(1, i, v), G(3, 4), V([2, 1], torch.int64), V(0.75), axis=1)
case(lambda x, i: x.index_fill(0, i, 7), I(5), V([1, 4], torch.int64), axis=0, value=7, concrete=True)
case(lambda x, i: x.index_fill(0, i, 2.0), V(1.5), V([0], torch.int64), axis=0, value=2.0)
op("index_put")
for a, *shapes, v in [((5,), (3,), (3,)), ((3, 4), (2,), (2, 4)), ((3, 4), (2,), (2,), (2,)), ((3, 4, 2), (2, 1), (3,), (2, 3, 2)),
                      ((3, 4), (), (4,)), ((3, 4), (0,), (0, 4)), ((3, 4), (2,), ()), ((3, 4), (2,), (2, 1))]:
    index = [I(*s, lo=-t, hi=t) for s, t in zip(shapes, a)]
    case(lambda x, v, *i: x.index_put(tuple(i), v, accumulate=True), G(*a), G(*v), *index, accumulate=True)
case(lambda x, v, i: x.index_put((i,), v), G(5, 2), G(3, 2), V([4, 0, -2], torch.int64))
case(lambda x, v, i, j: x.index_put((i, j), v), G(3, 4), G(3), V([2, 0, 1], torch.int64), V([0, 0, -1], torch.int64))
case(lambda x, v, i: x.index_put((i,), v, True), I(4), I(3), V([1, 1, 2], torch.int64), accumulate=True, concrete=True)
op("index_put_mask")
case(lambda x, v, m: x.index_put((m,), v), G(3, 4), V(0.5), B(3, 4))
case(lambda x, v, m: x.index_put((m,), v), G(3, 4), G(4), V([1, 0, 1], torch.bool))
case(lambda x, v, m: x.index_put((m,), v, True), G(5), G(2), V([1, 0, 1, 0, 0], torch.bool), accumulate=True)
op("put")
for a, i in [((5,), (3,)), ((3, 4), (2, 5)), ((3, 4), ()), ((3, 4), (0,)), ((1,), (2,))]:
    n = int(np.prod(a))
    case(lambda x, i, v: x.put(i, v, accumulate=True), G(*a), I(*i, lo=-n, hi=n), G(*i), accumulate=True)
case(lambda x, i, v: x.put(i, v), G(3, 4), V([[11, 0], [-3, 5]], torch.int64), G(2, 2))
case(lambda x, i, v: x.put(i, v), I(6), V([5, 0], torch.int64), I(2), concrete=True)
op("masked_scatter")
for a, m in [((5,), (5,)), ((3, 4), (3, 4)), ((3, 4), (4,)), ((0, 3), (0, 3)), ((1,), (1,)), ((2, 3, 4), (3, 1))]:
    case(lambda x, m, s: x.masked_scatter(m, s), G(*a), B(*m), G(int(np.prod(a)) + 2))
case(lambda x, m, s: x.masked_scatter(m, s), G(3), torch.zeros(3, dtype=torch.bool), G(0))
case(lambda x, m, s: x.masked_scatter(m, s), I(4), B(4), I(4), concrete=True)
op("scatter_value")
for a, i, axis in [((5,), (3,), 0), ((3, 4), (3, 2), 1), ((3, 4), (2, 3), -2), ((3, 4), (0, 4), 0), ((2, 3, 4), (2, 2, 4), 1)]:
    case(lambda x, i: x.scatter(axis, i, 0.625), G(*a), I(*i, hi=a[axis]), axis=axis, value=0.625)
case(lambda x, i: x.scatter(0, i, 3), I(5), V([4, 1], torch.int64), axis=0, value=3, concrete=True)
op("scatter_reduce")
for mode in ("mean", "amax", "amin", "prod", "sum"):
    for include in (True, False):
        for a, i, axis in [((5,), (7,), 0), ((3, 4), (3, 6), -1), ((3, 5), (2, 5), 0)]:
            if include and mode != "mean":
                continue
            x, s = (away(*a), away(*i)) if mode == "prod" else (D(*a), D(*i))
            case(lambda x, i, s: x.scatter_reduce(axis, i, s, mode, include_self=include), x, I(*i, hi=a[axis]), s, axis=axis, mode=mode, include_self=include)
case(lambda x, i, s: x.scatter_reduce(0, i, s, "prod", include_self=False), G(3), V([0, 0, 1, 1, 1], torch.int64), V([0.0, 2.0, 0.5, 3.0, -1.0]), axis=0, mode="prod", include_self=False)
case(lambda x, i, s: x.scatter_reduce(0, i, s, "amax", include_self=False), G(3), V([0, 0, 1], torch.int64), V([1.0, NAN, INF]), axis=0, mode="amax", include_self=False, nograd=True)
case(lambda x, i, s: x.scatter_reduce(0, i, s, "mean", include_self=False), G(3), V([], torch.int64), G(0), axis=0, mode="mean", include_self=False)
for mode in ("mean", "amax", "amin"):
    case(lambda x, i, s: x.scatter_reduce(0, i, s, mode, include_self=False), I(4, lo=-9, hi=9), V([0, 0, 2, 2, 2], torch.int64), I(5, lo=-9, hi=9), axis=0, mode=mode, include_self=False, concrete=True)
op("index_reduce")
for mode in ("prod", "mean", "amax", "amin"):
    for include in (True, False):
        for a, n, axis in [((5,), 7, 0), ((3, 4), 3, -1)]:
            src = list(a)
            src[axis] = n
            x, s = (away(*a), away(*src)) if mode == "prod" else (D(*a), D(*src))
            case(lambda x, i, s: x.index_reduce(axis, i, s, mode, include_self=include), x, I(n, hi=a[axis]), s, axis=axis, mode=mode, include_self=include)
case(lambda x, i, s: x.index_reduce(0, i, s, "mean"), I(4, lo=-9, hi=9), V([0, 0, 2], torch.int64), I(3, lo=-9, hi=9), axis=0, mode="mean", concrete=True)
op("searchsorted")
for right in (False, True):
    for n, shape in [((5,), (4,)), ((5,), ()), ((0,), (3,)), ((5,), (2, 3)), ((1,), (0,)), ((2, 3, 4), (2, 3, 5)), ((2, 70), (2, 9)), ((33,), (40,))]:
        case(lambda s, v: torch.searchsorted(s, v, right=right), G(*n).sort(-1)[0], G(*shape), right=right, nograd=True)
    case(lambda s, v: torch.searchsorted(s, v, right=right), V([1, 2, 2, 4], torch.int64), V([0, 2, 3, 4, 9], torch.int64), right=right, concrete=True)
    case(lambda s, v: torch.searchsorted(s, v, right=right), V([-INF, 0.0, 1.0, INF]), V([NAN, INF, -INF, 0.0, -0.0]), right=right, nograd=True)
case(lambda s: torch.searchsorted(s, 0.5), V([0.0, 0.5, 1.0]), value=0.5, nograd=True)
op("bucketize")
for right in (False, True):
    for shape, n in [((4,), 3), ((2, 3), 1), ((), 4), ((0, 2), 2), ((30,), 40)]:
        case(lambda x, b: torch.bucketize(x, b, right=right), G(*shape), G(n).sort()[0], right=right, nograd=True)
op("isin")
for shape, n in [((5,), (3,)), ((2, 3), ()), ((), (2,)), ((0,), (3,)), ((3,), (0,)), ((20,), (40,))]:
    case(lambda x, e: torch.isin(x, e), I(*shape, hi=60 if n == (40,) else 5), I(*n, hi=60 if n == (40,) else 5), concrete=True)
case(lambda x, e: torch.isin(x, e), V([NAN, 1.0, INF]), V([NAN, INF, 2.0]), nograd=True)
case(lambda x: torch.isin(x, 2), I(2, 4), value=2, concrete=True)
op("bincount")
for n, least in [(7, 0), (1, 0), (5, 9), (0, 3), (0, 0)]:
    case(lambda i: torch.bincount(i, minlength=least), I(n, hi=6), minlength=least, concrete=True)
case(lambda i, w: torch.bincount(i, w), I(7, hi=5), G(7), nograd=True)
case(lambda i, w: torch.bincount(i, w, minlength=8), I(7, hi=5, dtype=torch.int32), G(7).float(), minlength=8, concrete=True)
op("histc")
for n, bins, low, high in [((9,), 4, -2.0, 2.0), ((2, 5), 3, -1.0, 1.0), ((7,), 1, 0.0, 0.0), ((0,), 2, 0.0, 0.0), ((9,), 5, 0.0, 0.0), ((1,), 4, 0.0, 0.0)]:
    case(lambda x: torch.histc(x, bins, low, high), G(*n), bins=bins, min=low, max=high, nograd=True)
case(lambda x: torch.histc(x, 4, 0.0, 4.0), V([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, -1.0, NAN, 3.99]).to(torch.float32), bins=4, min=0.0, max=4.0, concrete=True)
op("unique_with")
unique = lambda x: torch.unique(x, return_inverse=True, return_counts=True)
for values in [I(9, hi=4), I(2, 3, hi=3), I(0), I(1), B(5), I(6, hi=3, dtype=torch.uint8), V([2.0, 1.0, 2.0, -0.5], torch.float32), I(3, hi=1)]:
    case(unique, values, concrete=True)
op("repeat_interleave_by")
for a, times, axis in [((3,), [2, 0, 1], 0), ((2, 3), [1, 0, 2], 1), ((2, 3), [2], -1), ((3, 2), [0, 0, 0], 0), ((0, 2), [], 0), ((40,), list(range(40)), 0)]:
    case(lambda x, c: x.repeat_interleave(c, axis), G(*a), V(times, torch.int64), axis=axis)
op("embedding_with")
for v, d, i in [(5, 3, (4,)), (5, 3, (2, 3)), (5, 3, ()), (5, 3, (0,)), (2, 1, (3,))]:
    case(lambda w, i: F.embedding(i, w, padding_idx=1), G(v, d), I(*i, hi=v), padding_idx=1)
case(lambda w, i: F.embedding(i, w, padding_idx=-1), G(4, 2), I(6, hi=4), padding_idx=-1)


def limited(w, i, most, p):
    """PyTorch writes the rows into the table; here the gradient is that of the scaled rows."""
    rows = w[i]
    norm = torch.linalg.vector_norm(rows, p, -1, keepdim=True)
    rows = rows * torch.where(norm > most, most / (norm + 1e-7), torch.ones_like(norm))
    torch.testing.assert_close(rows.detach(), F.embedding(i, w.detach().clone(), max_norm=most, norm_type=p))
    return rows


for p in (2.0, 1.0):
    case(lambda w, i: limited(w, i, 1.25, p), away(5, 3), I(4, hi=5), max_norm=1.25, norm_type=p)
op("embedding_bag")
for mode in ("sum", "mean", "max"):
    for v, d, i in [(5, 3, (4, 2)), (5, 1, (1, 3)), (4, 3, (0, 2))]:
        case(lambda w, i: F.embedding_bag(i, w, mode=mode), D(v, d), I(*i, hi=v), mode=mode)
    case(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode), D(5, 3), I(7, hi=5), V([0, 2, 2, 6], torch.int64), mode=mode, offsets=True)
    case(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, include_last_offset=True), D(5, 3), I(7, hi=5), V([0, 3, 7], torch.int64), mode=mode, offsets=True, include_last_offset=True)
    case(lambda w, i, o: F.embedding_bag(i, w, o, mode=mode, padding_idx=1), D(5, 3), V([1, 0, 2, 1, 4, 1], torch.int64), V([0, 3, 4], torch.int64), mode=mode, offsets=True, padding_idx=1)
case(lambda w, i, s: F.embedding_bag(i, w, mode="sum", per_sample_weights=s), D(5, 3), I(2, 3, hi=5), G(2, 3), mode="sum", weights=True)
case(lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s), D(5, 3), I(4, hi=5), V([0, 1], torch.int64), G(4), mode="sum", offsets=True, weights=True)
op("adaptive_max_pool_with_index")
for shape, out in [((2, 3, 7), (3,)), ((1, 2, 6, 5), (3, 2)), ((1, 2, 4, 4), (2, 2)), ((2, 1, 3, 4), (5, 4)), ((1, 1, 3, 4, 5), (2, 2, 3)), ((2, 5, 4), (2, 3)), ((1, 1, 1), (1,))]:
    pool = [F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d][len(out) - 1]
    case(lambda x: pool(x, out, return_indices=True), D(*shape), output=out)
case(lambda x: F.adaptive_max_pool2d(x, (2, 2), return_indices=True), torch.ones(1, 1, 3, 3, dtype=torch.float64), output=(2, 2))
for name, fn in [("tril_indices", torch.tril_indices), ("triu_indices", torch.triu_indices)]:
    op(name)
    for m, n, k in [(3, 3, 0), (3, 4, 1), (4, 3, -1), (4, 3, -9), (2, 3, 9), (0, 3, 0), (3, 0, 0), (1, 1, 0), (40, 3, -2), (3, 5, 2)]:
        case(lambda: fn(m, n, k), concrete=True, rows=m, columns=n, diagonal=k)
op("full_int")
for value in [2**53 + 1, -(2**63), 2**63 - 1, 0]:
    case(lambda: torch.full((2,), value, dtype=torch.int64), concrete=True, shape=(2,), value=value)
op("searchsorted_with")
for right in (False, True):
    for n, shape in [((5,), (4,)), ((0,), (3,)), ((2, 3, 4), (2, 3, 5)), ((2, 30), (2, 9))]:
        seq = G(*n)
        case(lambda s, v, p: torch.searchsorted(s, v, right=right, sorter=p), seq, G(*shape), seq.argsort(-1), right=right, nograd=True)
    case(lambda s, v, p: torch.searchsorted(s, v, right=right, sorter=p), V([4, 1, 2, 2], torch.int64), V([0, 2, 3, 4, 9], torch.int64), V([1, 2, 3, 0], torch.int64), right=right, concrete=True)
op("isin_with")
for invert in (False, True):
    for shape, n in [((5,), (3,)), ((2, 3), ()), ((0,), (3,)), ((3,), (0,)), ((20,), (40,))]:
        case(lambda x, e: torch.isin(x, e, invert=invert), I(*shape, hi=60 if n == (40,) else 5), I(*n, hi=60 if n == (40,) else 5), invert=invert, concrete=True)
    case(lambda x, e: torch.isin(x, e, invert=invert), V([NAN, 1.0, INF]), V([NAN, INF, 2.0]), invert=invert, nograd=True)
case(lambda x: torch.isin(x, 2, invert=True), I(2, 4), value=2, invert=True, concrete=True)
op("embedding_with")
for v, d, i in [(5, 3, (4,)), (3, 2, (2, 5)), (5, 3, ()), (5, 3, (0,)), (2, 1, (7,))]:
    case(lambda w, i: F.embedding(i, w, scale_grad_by_freq=True), G(v, d), I(*i, hi=v), scale_grad_by_freq=True)
case(lambda w, i: F.embedding(i, w, padding_idx=1, scale_grad_by_freq=True), G(3, 2), I(9, hi=3), padding_idx=1, scale_grad_by_freq=True)
op("embedding_bag")
for mode in ("sum", "mean"):
    case(lambda w, i: F.embedding_bag(i, w, mode=mode, scale_grad_by_freq=True), D(4, 3), I(3, 4, hi=4), mode=mode, scale_grad_by_freq=True)
write("select")

# ---- what networks of images take

op("interpolate")
TORCH_MODES = {"linear": ["linear", "bilinear", "trilinear"], "cubic": ["", "bicubic", ""]}
for shape, sizes in [((2, 1, 5), (8,)), ((1, 2, 4, 3), (2, 7)), ((1, 1, 3, 2, 4), (5, 3, 2)), ((1, 2, 1, 3), (3, 1)), ((2, 2, 3, 3), (3, 3)), ((0, 1, 4), (6,))]:
    for mode in ("nearest", "nearest-exact", "linear", "cubic", "area"):
        n = len(sizes)
        if mode == "cubic" and n != 2 or shape[0] == 0 and mode == "area":
            continue
        for align in (False, True) if mode in TORCH_MODES else (None,):
            name = TORCH_MODES[mode][n - 1] if mode in TORCH_MODES else mode
            case(lambda x: F.interpolate(x, sizes, mode=name, align_corners=align), G(*shape), mode=mode, sizes=sizes, align_corners=align)
for shape, quarters in [((1, 2, 5), (10,)), ((1, 1, 4, 5), (6, 2)), ((1, 1, 4, 3), (8,)), ((1, 2, 5, 4), (5, 7))]:
    for mode in ("nearest", "nearest-exact", "linear", "cubic", "area"):
        n = len(shape) - 2
        if mode == "cubic" and n != 2:
            continue
        for align in (False, True) if mode in TORCH_MODES else (None,):
            name = TORCH_MODES[mode][n - 1] if mode in TORCH_MODES else mode
            factor = tuple(q / 4 for q in quarters) * (n // len(quarters))
            case(lambda x: F.interpolate(x, scale_factor=factor, mode=name, align_corners=align), G(*shape), mode=mode, quarters=quarters, align_corners=align)
op("grid_sample")
for mode in ("bilinear", "nearest", "bicubic"):
    for padding in ("zeros", "border", "reflection"):
        for align in (False, True):
            # No place is on an edge between two elements.
            grid = G(2, 3, 2, 2, lo=-2.0, hi=2.0) + 0.0078125 * 3
            case(lambda x, g: F.grid_sample(x, g, mode, padding, align), G(2, 2, 4, 3), grid, mode=mode, padding=padding, align_corners=align, only=[0] if mode == "nearest" else None)
for padding in ("zeros", "border", "reflection"):
    case(lambda x, g: F.grid_sample(x, g, "bilinear", padding, False), G(1, 2, 3, 4, 2), G(1, 2, 2, 1, 3, lo=-1.5, hi=1.5) + 0.0234375, mode="bilinear", padding=padding, align_corners=False)
case(lambda x, g: F.grid_sample(x, g, "bilinear", "zeros", True), G(1, 1, 1, 1), G(1, 2, 2, 2) + 0.0234375, mode="bilinear", padding="zeros", align_corners=True)
case(lambda x, g: F.grid_sample(x, g, "bilinear", "zeros", False), G(1, 1, 2, 2), V([[[[7.0, 0.25], [0.25, 0.25], [0.25, -100.0]]]]), mode="bilinear", padding="zeros", align_corners=False)
case(lambda x, g: F.grid_sample(x, g, "bilinear", "zeros", False), G(2, 2, 3, 3), G(2, 0, 2, 2), mode="bilinear", padding="zeros", align_corners=False)
op("affine_grid")
for n, size in [(2, (2, 3, 4, 5)), (2, (1, 1, 1, 3)), (3, (1, 1, 2, 3, 2)), (2, (1, 2, 1, 1))]:
    for align in (False, True):
        case(lambda t: F.affine_grid(t, list(size), align), G(size[0], n, n + 1), size=size, align_corners=align)
op("avg_pool_with_divisor")
for shape, kernel, stride, padding, divisor in [((1, 2, 5, 6), (2, 3), (2, 1), (1, 0), 5), ((2, 1, 4, 4), (2, 2), (2, 2), (0, 0), 1), ((2, 5, 4), (2, 2), (1, 1), (0, 1), -3), ((1, 1, 3, 4, 3), (2, 2, 2), (1, 1, 1), (0, 0, 0), 7)]:
    pool = F.avg_pool2d if len(kernel) == 2 else F.avg_pool3d
    case(lambda x: pool(x, kernel, stride, padding, divisor_override=divisor), G(*shape), n=len(kernel), kernel=kernel, stride=stride, padding=padding, divisor=divisor)
for n, pool, unpool, shapes in [
    (1, F.max_pool1d, F.max_unpool1d, [((2, 3, 8), (2,), (2,), (0,), None), ((1, 1, 7), (3,), (2,), (1,), (7,)), ((2, 6), (2,), (2,), (0,), None)]),
    (2, F.max_pool2d, F.max_unpool2d, [((2, 1, 4, 6), (2, 2), (2, 2), (0, 0), None), ((1, 2, 5, 5), (2, 3), (2, 3), (0, 1), (5, 5)), ((1, 4, 4), (2, 2), (2, 2), (0, 0), None)]),
    (3, F.max_pool3d, F.max_unpool3d, [((1, 2, 4, 4, 2), (2, 2, 2), (2, 2, 2), (0, 0, 0), None), ((1, 1, 3, 4, 2), (3, 2, 1), (3, 2, 1), (0, 0, 0), (3, 4, 2))]),
]:
    op(f"max_unpool{n}d")
    for shape, kernel, stride, padding, size in shapes:
        _, where = pool(D(*shape), kernel, stride, padding, return_indices=True)
        case(lambda x, i: unpool(x, i, kernel, stride, padding, size), G(*where.shape), where, kernel=kernel, stride=stride, padding=padding, output=size)
WINDOWS = [((2, 3), (5, 6), 1, 0, 1), ((2, 2), (4, 4), 2, 0, 1), ((3, 2), (4, 5), (1, 2), (1, 0), (2, 1)), ((1, 1), (3, 2), 1, 0, 1), ((2, 2), (3, 3), 2, 1, 1), ((3, 3), (3, 3), 5, 0, 1)]
op("im2col")
for kernel, sizes, stride, padding, dilation in WINDOWS:
    for n, c in [(2, 2), (1, 1)]:
        case(lambda x: F.unfold(x, kernel, dilation, padding, stride), G(n, c, *sizes), kernel=kernel, stride=stride, padding=padding, dilation=dilation)
op("col2im")
for kernel, sizes, stride, padding, dilation in WINDOWS:
    for n, c in [(2, 2), (1, 1)]:
        columns = F.unfold(torch.zeros(n, c, *sizes), kernel, dilation, padding, stride)
        case(lambda x: F.fold(x, sizes, kernel, dilation, padding, stride), G(*columns.shape), sizes=sizes, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
op("local_response_norm")
for shape, size, alpha, beta, k in [((2, 5, 3), 3, 0.5, 0.75, 1.0), ((1, 4, 2, 3), 2, 1.0, 0.5, 2.0), ((1, 1, 2), 5, 1e-4, 0.75, 1.0), ((2, 3, 2, 1, 2), 1, 0.25, 1.0, 1.0), ((0, 3, 2), 2, 0.5, 0.75, 1.0)]:
    case(lambda x: F.local_response_norm(x, size, alpha, beta, k), G(*shape), size=size, alpha=alpha, beta=beta, k=k)
op("instance_norm_train")


for shape in [(2, 3, 4), (3, 2, 3, 2), (1, 1, 5), (2, 2, 2, 1, 2)]:
    case(lambda x: F.instance_norm(x, eps=1e-5), G(*shape), eps=1e-5)
case(lambda x, w, b: F.instance_norm(x, weight=w, bias=b, eps=1e-5), G(2, 3, 4), P(3), G(3), eps=1e-5)
op("instance_norm_stats")
for shape in [(2, 3, 4), (3, 2, 3, 2), (1, 1, 5), (2, 2, 2, 1, 2)]:
    axes = tuple(range(2, len(shape)))
    case(lambda x: (x.mean(axes).mean(0), x.var(axes, correction=0).mean(0)), G(*shape).float(), eps=1e-5, concrete=True)
op("layer_norm_over")
for shape, over in [((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((2, 3, 2, 2), (3, 2, 2)), ((2, 3), (2, 3)), ((0, 3, 2), (3, 2))]:
    case(lambda x: F.layer_norm(x, over, eps=1e-5), G(*shape), shape=over, eps=1e-5)
    case(lambda x, w, b: F.layer_norm(x, over, w, b, eps=1e-5), G(*shape), P(*over), G(*over), shape=over, eps=1e-5)
case(lambda x, w: F.layer_norm(x, (3, 4), w, eps=1e-5), G(2, 3, 4), P(3, 4), shape=(3, 4), eps=1e-5)
op("pairwise_distance")
for a, b, p in [((3, 4), (3, 4), 2.0), ((3, 4), (1, 4), 1.0), ((4,), (4,), 2.0), ((2, 3, 5), (3, 5), 3.0), ((2, 1), (2, 1), 2.0), ((3, 4), (3, 4), INF)]:
    case(lambda x, y: F.pairwise_distance(x, y, p, 0.0009765625), D(*a), D(*b), p=p, eps=0.0009765625)
op("pixel_shuffle")
for shape, r in [((1, 8, 2, 3), 2), ((9, 1, 2), 3), ((2, 3, 2, 2), 1), ((2, 1, 4, 3, 1), 2), ((0, 4, 1, 1), 2)]:
    # Of no pictures, PyTorch has no gradient.
    case(lambda x: F.pixel_shuffle(x, r), G(*shape), r=r, nograd=shape[0] == 0)
op("pixel_unshuffle")
for shape, r in [((1, 2, 4, 6), 2), ((1, 3, 6), 3), ((2, 3, 2, 2), 1), ((2, 1, 1, 2, 4), 2)]:
    case(lambda x: F.pixel_unshuffle(x, r), G(*shape), r=r)
op("channel_shuffle")
for shape, groups in [((1, 6, 2, 3), 2), ((2, 6, 1, 1), 3), ((1, 4, 2, 2), 1), ((1, 3, 2, 1), 3), ((2, 4, 3), 2)]:
    # Not F.channel_shuffle, which has no gradient of three axes.
    case(lambda x: x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2), G(*shape), groups=groups)
# Without a batch.
for n, conv_, turned in [(1, F.conv1d, F.conv_transpose1d), (2, F.conv2d, F.conv_transpose2d), (3, F.conv3d, F.conv_transpose3d)]:
    op(f"conv{n}d")
    case(lambda x, w, b: conv_(x, w, b, stride=2, padding=1), G(2, *[5, 4, 3][:n]), G(3, 2, *[3, 2, 2][:n]), G(3), stride=2, padding=1)
    op(f"conv_transpose{n}d")
    case(lambda x, w, b: turned(x, w, b, stride=2), G(2, *[3, 2, 2][:n]), G(2, 3, *[3, 2, 2][:n]), G(3), stride=2)
for n, max_, avg_, max_to, avg_to in [(1, F.max_pool1d, F.avg_pool1d, F.adaptive_max_pool1d, F.adaptive_avg_pool1d), (2, F.max_pool2d, F.avg_pool2d, F.adaptive_max_pool2d, F.adaptive_avg_pool2d),
                                      (3, F.max_pool3d, F.avg_pool3d, F.adaptive_max_pool3d, F.adaptive_avg_pool3d)]:
    sizes = [5, 4, 3][:n]
    op(f"max_pool{n}d")
    case(lambda x: max_(x, 2, 2, 1), D(2, *sizes), kernel=2, stride=2, padding=1)
    op(f"avg_pool{n}d")
    case(lambda x: avg_(x, 2, 2, 1), G(2, *sizes), kernel=2, stride=2, padding=1)
    op(f"adaptive_max_pool{n}d")
    case(lambda x: max_to(x, [2] * n), D(2, *sizes), output=[2] * n)
    op(f"adaptive_avg_pool{n}d")
    case(lambda x: avg_to(x, [2] * n), G(2, *sizes), output=[2] * n)
op("attention")
case(lambda q, k, v: sdpa(q[None], k[None], v[None])[0], G(2, 3, 4), G(2, 5, 4), G(2, 5, 3))


def sequences(q, k, v, lengths, offsets, causal=False, window=None):
    """Attention with a length and an offset for each sequence: a query that sees nothing gives 0."""
    h, g = q.shape[1], k.shape[1]
    k, v = k.repeat_interleave(h // g, 1), v.repeat_interleave(h // g, 1)
    s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    i, j = torch.arange(s.shape[2])[None, :, None] + offsets[:, None, None], torch.arange(s.shape[3])[None, None]
    seen = (j < lengths[:, None, None]).expand(-1, s.shape[2], -1)
    if causal:
        seen = seen & (j <= i)
    if window is not None:
        seen = seen & (j > i - window)
    seen = seen[:, None]
    return (torch.softmax(s.masked_fill(~seen, -1e30), -1) * seen) @ v


def rows_of(pages, table):
    return pages[table].flatten(1, 2).transpose(1, 2)


op("attention_lengths")
T = torch.tensor
for kw, lengths, offsets in [({}, [0, 1, 5], [0, 0, 0]), (dict(causal=True), [3, 5, 4], [0, 2, -2]), (dict(causal=True, window=2), [5, 2, 1], [2, 0, 9])]:
    case(lambda q, k, v, n, o: sequences(q, k, v, n, o, **kw), G(3, 4, 3, 4), G(3, 2, 5, 4), G(3, 2, 5, 3), T(lengths), T(offsets), **kw)
op("attention_pages")
for kw, lengths, offsets, table in [(dict(causal=True), [0, 3, 4], [0, 1, 2], [[0, 0], [1, 4], [3, 2]]), ({}, [2, 1, 3], [0, 0, 0], [[4, 0], [0, 4], [2, 1]])]:
    case(lambda q, k, v, n, o, t: sequences(q, rows_of(k, t), rows_of(v, t), n, o, **kw), G(3, 2, 2, 4), G(5, 2, 2, 4), G(5, 2, 2, 3), T(lengths), T(offsets), T(table), **kw)
op("paged_update")


def paged_update(pages, rows, table, start):
    at = start[:, None] + torch.arange(rows.shape[1])[None]
    slot = table.gather(1, at // pages.shape[1]) * pages.shape[1] + at % pages.shape[1]
    return pages.flatten(0, 1).index_copy(0, slot.flatten(), rows.flatten(0, 1)).reshape(pages.shape)


for start, table in [([0, 3], [[1, 4], [2, 0]]), ([2, 1], [[3, 0], [4, 1]])]:
    case(paged_update, G(5, 3, 2, 2), G(2, 3, 2, 2), T(table), T(start))
op("interpolate")
for shape, sizes in [((1, 2, 8, 7), (3, 4)), ((2, 1, 5, 5), (5, 2)), ((1, 1, 4, 3), (7, 6)), ((1, 1, 9, 6), (2, 9)), ((1, 1, 6, 5), (1, 1)), ((1, 1, 33, 4), (5, 3))]:
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        for align in (False, True):
            case(lambda x: F.interpolate(x, sizes, mode=name, align_corners=align, antialias=True), G(*shape), mode=mode, sizes=sizes, align_corners=align, antialias=True)
for shape, quarters in [((1, 1, 8, 9), (2, 1)), ((1, 2, 7, 6), (3, 3)), ((1, 1, 4, 6), (6, 2))]:
    for mode, name in (("linear", "bilinear"), ("cubic", "bicubic")):
        case(lambda x: F.interpolate(x, scale_factor=tuple(q / 4 for q in quarters), mode=name, align_corners=False, antialias=True), G(*shape), mode=mode, quarters=quarters, align_corners=False, antialias=True)
write("networks")

# Losses of pairs, margins and likelihoods: of distinct values, so that no margin is met exactly.
def signs(*shape):
    return torch.tensor(rng.choice([-1.0, 1.0], shape))


for reduction_ in ("mean", "sum", "none"):
    kw = dict(reduction=reduction_)
    for a in [(), (5,), (2, 3), (3, 17)]:
        op("margin_ranking_loss")
        case(lambda x, y, t: F.margin_ranking_loss(x, y, t, margin=0.3, **kw), D(*a), D(*a), signs(*a), only=[0, 1], margin=0.3, **kw)
        op("hinge_embedding_loss")
        case(lambda x, t: F.hinge_embedding_loss(x, t, margin=0.7, **kw), D(*a), signs(*a), only=[0], margin=0.7, **kw)
        op("soft_margin_loss")
        case(lambda x, t: F.soft_margin_loss(x, t, **kw), G(*a), signs(*a), only=[0], **kw)
        op("focal_loss")
        for alpha, gamma in [(0.25, 2.0), (-1.0, 1.5), (0.75, 0.0)]:
            def focal(x, t, alpha=alpha, gamma=gamma):
                p = torch.sigmoid(x)
                loss = F.binary_cross_entropy_with_logits(x, t, reduction="none") * (1 - (p * t + (1 - p) * (1 - t))) ** gamma
                loss = loss * (alpha * t + (1 - alpha) * (1 - t)) if alpha >= 0 else loss
                return {"mean": loss.mean(), "sum": loss.sum(), "none": loss}[reduction_]
            case(focal, G(*a), B(*a).double(), only=[0], alpha=alpha, gamma=gamma, **kw)
        op("poisson_nll_loss")
        for log_input in (True, False):
            for full in (True, False):
                x = G(*a) if log_input else P(*a)
                case(lambda x, t: F.poisson_nll_loss(x, t, log_input=log_input, full=full, eps=1e-6, **kw), x, I(*a, hi=6).double(), only=[0], log_input=log_input, full=full, eps=1e-6, **kw)
    for a in [(3,), (2, 3), (4, 9), (2, 3, 5)]:
        op("gaussian_nll_loss")
        shapes = [a, a[:-1] + (1,)] + ([a[:-1]] if len(a) > 1 else [])
        for full, v in itertools.product((True, False), shapes):
            case(lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=full, eps=0.5, **kw), G(*a), G(*a), P(*v, lo=0.25, hi=2.0), full=full, eps=0.5, **kw)
        op("triplet_margin_loss")
        for p, swap in [(2.0, False), (1.0, True), (3.0, False), (2.0, True)]:
            case(lambda x, y, z: F.triplet_margin_loss(x, y, z, margin=0.7, p=p, eps=1e-6, swap=swap, **kw), D(*a), D(*a), D(*a), margin=0.7, p=p, eps=1e-6, swap=swap, **kw)
        op("multilabel_soft_margin_loss")
        case(lambda x, t: F.multilabel_soft_margin_loss(x, t, **kw), G(*a), B(*a).double(), only=[0], **kw)
        case(lambda x, t, w: F.multilabel_soft_margin_loss(x, t, w, **kw), G(*a), B(*a).double(), P(a[-1]), only=[0], **kw)
    for a in [(4,), (3, 5), (6, 2)]:
        op("cosine_embedding_loss")
        case(lambda x, y, t: F.cosine_embedding_loss(x, y, t, margin=0.1, **kw), D(*a), D(*a), signs(*a[:-1]), only=[0, 1], margin=0.1, **kw)
        op("multi_margin_loss")
        for p in (1, 2):
            case(lambda x, t: F.multi_margin_loss(x, t, p=p, margin=0.9, **kw), D(*a), I(*a[:-1], hi=a[-1]), p=p, margin=0.9, **kw)
            case(lambda x, t, w: F.multi_margin_loss(x, t, p=p, margin=0.9, weight=w, **kw), D(*a), I(*a[:-1], hi=a[-1]), P(a[-1]), only=[0], p=p, margin=0.9, **kw)
        op("multilabel_margin_loss")
        rows = [[int(c) for c in rng.permutation(a[-1])] for _ in range(int(np.prod(a[:-1])))]
        for i, row in enumerate(rows):
            row[(i + 1) % a[-1]] = -1
        case(lambda x, t: F.multilabel_margin_loss(x, t, **kw), D(*a), torch.tensor(rows).reshape(a), **kw)
    for a in [(3, 4), (2, 3, 5), (1, 1)]:
        op("dice_loss")
        def dice(x, t):
            x, t = x.flatten(1), t.flatten(1)
            loss = 1 - (2 * (x * t).sum(1) + 0.5) / (x.sum(1) + t.sum(1) + 0.5)
            return {"mean": loss.mean(), "sum": loss.sum(), "none": loss}[reduction_]
        case(dice, G(*a, lo=0, hi=1), B(*a).double(), only=[0], smooth=0.5, **kw)
    op("ctc_loss")
    for steps, n, classes, labels, n_steps, n_labels, blank in [
        (5, 2, 4, [[1, 2], [3, 3]], [5, 5], [2, 2], 0),
        (7, 3, 3, [[1, 1, 2], [0, 1, 0], [1, 0, 0]], [7, 4, 6], [3, 2, 1], 2),
        (3, 2, 3, [[1, 2, 1], [1, 0, 0]], [3, 2], [3, 0], 0),
        (1, 1, 2, [[1]], [1], [1], 0),
    ]:
        labels = [[c if blank == 0 else c % blank for c in row] for row in labels] if blank else [[c or 1 for c in row] for row in labels]
        case(lambda x, t, s, l: F.ctc_loss(torch.log_softmax(x, -1), t, s, l, blank=blank, **kw), G(steps, n, classes), T(labels), T(n_steps), T(n_labels), blank=blank, zero_infinity=False, **kw)
    # The labels of the second example do not fit into its steps.
    case(lambda x, t, s, l: F.ctc_loss(torch.log_softmax(x, -1), t, s, l, zero_infinity=True, **kw), G(4, 2, 3), T([[1, 2], [1, 1]]), T([4, 2]), T([2, 2]), blank=0, zero_infinity=True, **kw)
op("ctc_loss")
case(lambda x, t, s, l: F.ctc_loss(torch.log_softmax(x, -1), t, s, l, reduction="none"), G(4, 2, 3), T([[1, 2], [1, 1]]), T([4, 2]), T([2, 2]), nograd=True, blank=0, zero_infinity=False, reduction="none")
case(lambda x, t, s, l: F.ctc_loss(torch.log_softmax(x, -1), t, s, l, reduction="none"), G(6, 3), T([1, 2]), T(6), T(2), blank=0, zero_infinity=False, reduction="none")
write("margins")


# ---- What is special at the edges of ops: ties, NaN, no elements, integers, one observation.

ONCE = [1.0, NAN, 2.0, NAN, -1.0, -1.0, 3.0, 0.5]
OTHER = [1.0, 1.0, NAN, NAN, 3.0, -2.0, 3.0, 0.25]
for name, fn in [("fmax", torch.fmax), ("fmin", torch.fmin), ("maximum", torch.maximum), ("minimum", torch.minimum)]:
    op(name)
    case(fn, V([1.0, -1.0, -1.0, 3.0, 0.5]), V([1.0, 3.0, -2.0, 3.0, 0.25]))
op("fmax")
case(torch.fmax, V(ONCE), V(OTHER))
op("fmin")
case(torch.fmin, V(ONCE), V(OTHER))
# As many as PyTorch's vectors hold: what is left over it differentiates by another formula.
EDGES = ([NAN, INF, -INF, -3.0, -1.0, -0.5, -0.25, 0.25, 0.5, 1.0, 3.0, 6.0, 7.0, -7.0, 2.0, NAN] * 2)
for name, fn, kw in [
    ("elu", F.elu, dict(alpha=2.0)), ("selu", F.selu, {}), ("celu", F.celu, dict(alpha=2.0)), ("hardswish", F.hardswish, {}), ("relu6", F.relu6, {}),
    ("hardtanh", F.hardtanh, {}),
]:
    op(name)
    case(lambda x: fn(x, **kw), V(EDGES), **kw)
op("hardshrink")
case(lambda x, **_: F.hardshrink(x, 0.5), V(EDGES), **{"lambda": 0.5})
op("softshrink")
case(lambda x, **_: F.softshrink(x, 0.5), V(EDGES), **{"lambda": 0.5})
op("hardtanh_with")
kcase(lambda x, low, high: F.hardtanh(x, low, high), V(EDGES), low=-0.75, high=2.0)
for dtype in (torch.int8, torch.int32, torch.int64):
    kcase(lambda x, low, high: F.hardtanh(x, low, high), I(7, lo=-6, hi=6, dtype=dtype), low=-2.5, high=3.75, concrete=True)
kcase(lambda x, low, high: F.hardtanh(x, low, high), I(7, hi=9, dtype=torch.uint8), low=1.0, high=300.0, concrete=True)
op("nextafter")
case(torch.nextafter, V([1.0, 2.0, -1.0]), V([2.0, 2.0, -3.0]), concrete=True)
op("logit")
kcase(lambda x, eps: torch.logit(x, eps), V([0.1, 0.45, 0.5, 0.7]), eps=0.6, nograd=True)
for n, conv_, turned, average in [
    (1, F.conv1d, F.conv_transpose1d, F.avg_pool1d), (2, F.conv2d, F.conv_transpose2d, F.avg_pool2d), (3, F.conv3d, F.conv_transpose3d, F.avg_pool3d),
]:
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        lo = 0 if dtype == torch.uint8 else -3
        x, w = I(2, 2, *([5] * n), lo=lo, hi=4, dtype=dtype), I(2, 2, *([3] * n), lo=lo, hi=4, dtype=dtype)
        op(f"conv{n}d")
        kcase(lambda x, w, padding, stride: conv_(x, w, padding=padding, stride=stride), x, w, concrete=True, padding=1, stride=2)
        if dtype == torch.int64:
            op(f"conv_transpose{n}d")
            kcase(lambda x, w, stride: turned(x, w, stride=stride), x, w, concrete=True, stride=2)
    op(f"avg_pool{n}d")
    for padding, ceil_mode, include in [(0, False, True), (1, True, False), (1, False, True)]:
        kcase(lambda x, kernel, stride, padding, ceil_mode, count_include_pad: average(x, kernel, stride, padding, ceil_mode, count_include_pad),
             I(1, 2, *([6] * n), lo=-9, hi=9), concrete=True, kernel=3, stride=2, padding=padding, ceil_mode=ceil_mode, count_include_pad=include)
for a, b in [((3, 4), (1, 4)), ((1, 4), (3, 1)), ((2, 3), (2, 3))]:
    op("hinge_embedding_loss")
    kcase(lambda x, t, margin, reduction: F.hinge_embedding_loss(x, t, margin=margin, reduction=reduction), D(*a), signs(*b), only=[0], margin=0.7, reduction="none")
    op("margin_ranking_loss")
    kcase(lambda x, y, t, margin, reduction: F.margin_ranking_loss(x, y, t, margin=margin, reduction=reduction), D(*a), D(*b), signs(*a), only=[0, 1], margin=0.3, reduction="mean")
op("hinge_embedding_loss")
kcase(lambda x, t, margin, reduction: F.hinge_embedding_loss(x, t, margin=margin, reduction=reduction), D(3, 2), V([1.0, -1.0]), only=[0], margin=0.7, reduction="mean")
op("gaussian_nll_loss")
for t, v in [((3, 4), (1, 4)), ((1, 4), (3, 4)), ((4,), (3, 1)), ((3, 1), (3,))]:
    kcase(lambda x, t, v, full, eps, reduction: F.gaussian_nll_loss(x, t, v, full=full, eps=eps, reduction=reduction), G(3, 4), G(*t), P(*v, hi=2.0), full=True, eps=0.125, reduction="mean")
op("multi_margin_loss")
kcase(lambda x, t, p, margin, reduction: F.multi_margin_loss(x, t, p=p, margin=margin, reduction=reduction), V(0.5), T(0), p=1, margin=0.9, reduction="mean", nograd=True)
op("multilabel_margin_loss")
kcase(lambda x, t, reduction: F.multilabel_margin_loss(x, t, reduction=reduction), V(0.5), T(0), reduction="mean", nograd=True)
torch.set_warn_always(False)
for shape in [(1, 4), (3, 1), (2, 0), (0, 3), (1,), (4,), ()]:
    op("cov")
    kcase(lambda x, correction: torch.cov(x, correction=correction), G(*shape), correction=1, nograd=True)
    op("corrcoef")
    kcase(torch.corrcoef, G(*shape), nograd=True)
op("cov")
for correction in (0, 2, 5):
    kcase(lambda x, correction: torch.cov(x, correction=correction), G(1, 5), correction=correction, nograd=correction >= 5)
for correction in (0, 1, 2):
    op("cov_with")
    kcase(lambda x, c, correction: torch.cov(x, correction=correction, fweights=c), G(3, 5), I(5, lo=1, hi=4), correction=correction)
    kcase(lambda x, c, w, correction: torch.cov(x, correction=correction, fweights=c, aweights=w), G(2, 5), I(5, lo=1, hi=4), P(5), only=[0], correction=correction)
    op("cov_weighted")
    kcase(lambda x, w, correction: torch.cov(x, correction=correction, aweights=w), G(4), P(4), only=[0], correction=correction)
op("unique_slices")
slices_of = lambda x, axis: torch.unique(x, dim=axis, return_inverse=True, return_counts=True)
for shape, axis in [((9, 2), 0), ((6, 3), 0), ((2, 9), 1), ((2, 7, 2), 1), ((5,), 0), ((4, 1, 5), -1), ((1, 3), 0), ((0, 3), 0), ((3, 0), 1)]:
    kcase(slices_of, I(*shape, hi=2), axis=axis, concrete=True)
kcase(slices_of, V([[1.5, -1.0], [-2.0, 4.0], [1.5, -1.0], [1.5, -2.0]], torch.float32), axis=0, concrete=True)
kcase(slices_of, B(8, 2), axis=0, concrete=True)
runs = lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True)
op("unique_consecutive")
for values in [I(12, hi=2), I(3, 4, hi=2), V([NAN, NAN, 1.0, 1.0], torch.float32), B(7), I(1), I(2, 0)]:
    case(runs, values, concrete=True)
op("unique_consecutive_slices")
for shape, axis in [((9, 2), 0), ((2, 9), 1), ((5,), 0), ((2, 7, 1), 1), ((0, 3), 0)]:
    kcase(lambda x, axis: torch.unique_consecutive(x, dim=axis, return_inverse=True, return_counts=True), I(*shape, hi=2), axis=axis, concrete=True)
op("arange")
for start, stop, step in [(-0.9, 2.1, 2.0), (2.1, -2.9, -1.0), (0.5, 7.0, 1.75), (0.0, 2.0, 0.5)]:
    kcase(lambda start, stop, step: torch.arange(start, stop, step, dtype=torch.int64), start=start, stop=stop, step=step, concrete=True)
op("sign")
case(torch.sign, B(4), concrete=True)
op("square")
case(torch.square, B(4), concrete=True)
write("edges")
print(sum(counts.values()), "cases of", len(counts), "ops")
