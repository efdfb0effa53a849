#!/usr/bin/env python3
"""Writes first and second derivatives as PyTorch has them: crates/unigrad-testing/goldens/{samples,points}.txt

    python scripts/golden_points.py         # needs torch (CPU), numpy and expecttest

`samples` are PyTorch's own operator samples (`torch.testing._internal.common_methods_invocations.op_db`), small ones, of the ops that
`Tensor` has. `points` are the same operators where gradients are special: 0, ties, saturation, constant rows, infinities, NaN.

The format is that of `golden_ops.py` with one more line: `h INPUT: VALUES`, the gradient of the weighted sum of all gradients. Weights are
((7 i + 3) mod 13) / 4 - 11/8, of which none is 0. A float input whose `g` or `h` is missing has none, or zeros. The option `f64` marks a case
that PyTorch itself answers differently in float32, `once` one that it does not differentiate twice.
"""
import itertools
import math
import os
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch.testing._internal.common_methods_invocations import op_db

warnings.filterwarnings("ignore")
torch.manual_seed(0)
OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "crates", "unigrad-testing", "goldens")
NAMES = {torch.bool: "bool", torch.int64: "i64", torch.int32: "i32", torch.float32: "f32", torch.float64: "f64"}
NAN, INF = float("nan"), float("inf")
# Elements of all inputs together, and samples of an op; then those of which only two are taken.
MOST_ELEMENTS, MOST_SAMPLES = 60, 5
MANY_ELEMENTS, FEW_SAMPLES = 220, 2
lines = []
DB = {}
for info in op_db:
    DB.setdefault(info.name, []).append(info)


def number(x):
    if isinstance(x, (bool, int)):
        return str(int(x))
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if x == int(x) and abs(x) < 1e6:
        return "-0" if x == 0 and math.copysign(1, x) < 0 else str(int(x))
    return f"{x:.10g}"


def host(x):
    return x.detach().numpy(force=True)


def values(t):
    return " ".join(number(x) for x in host(t).reshape(-1).tolist())


def attribute(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (list, tuple, torch.Size)):
        return ",".join(attribute(v) for v in value) or "-"
    if isinstance(value, float):
        return number(value) if not math.isfinite(value) or value != int(value) else f"{value:.1f}"
    return str(value)


def weight(t):
    i = torch.arange(t.numel(), dtype=t.dtype).reshape(t.shape)
    return ((7 * i + 3) % 13) / 4 - 1.375


def derivatives(fn, inputs, dtype):
    """Outputs, then first and second derivatives by input (`None` where there is none, and for all if PyTorch has no second ones)."""
    leaves = [x.detach().clone().to(dtype).requires_grad_() if x.dtype == torch.float64 else x for x in inputs]
    out = fn(*leaves)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    levels = []
    roots = [o for o in outs if o.dtype.is_floating_point]
    for _ in range(2):
        parts = [(o * weight(o)).sum() for o in roots if o is not None and o.requires_grad]
        wanted = [x for x in leaves if x.requires_grad]
        if not parts or not wanted:
            levels.append([None] * len(leaves))
            roots = []
            continue
        try:
            found = iter(torch.autograd.grad(sum(parts), wanted, create_graph=True, allow_unused=True))
        except RuntimeError as error:
            if not levels or not any(word in str(error) for word in ("not implemented", "unsupported")):
                raise
            levels.append(None)
            continue
        roots = [next(found) if x.requires_grad else None for x in leaves]
        levels.append(roots)
    return outs, *levels


def alike(a, b):
    """Whether a float32 result is what the float64 one says."""
    if a is None or b is None:
        return a is None and b is None
    with np.errstate(over="ignore"):
        a, b = host(a).astype(np.float64), host(b).astype(np.float32).astype(np.float64)
    return np.allclose(a, b, rtol=1e-4, atol=1e-4, equal_nan=True)


def case(name, fn, inputs, once=False, **attributes):
    """A case of `name` in the op table; with `once` no second derivative is compared."""
    outs, first, second = derivatives(fn, inputs, torch.float64)
    second = None if once else second
    words = [f"{k}={attribute(v)}" for k, v in attributes.items() if v is not None]
    narrow_outs, narrow_first, narrow_second = derivatives(fn, inputs, torch.float32)
    if second is None:
        words.append("once=1")
        second = narrow_second = [None] * len(inputs)
    same = all(alike(a, b) for a, b in zip(narrow_outs + narrow_first + narrow_second, outs + first + second) if b is None or b.is_floating_point())
    if not same:
        words.append("f64=1")
    lines.append(" ".join(["case", *words]))
    for kind, tensors in (("i", inputs), ("o", outs)):
        for x in tensors:
            lines.append(f"{kind} {NAMES[x.dtype]} {','.join(map(str, x.shape)) or '-'}: {values(x)}")
    for kind, tensors in (("g", first), ("h", second)):
        for i, x in enumerate(tensors):
            if x is not None:
                lines.append(f"{kind} {i}: {values(x)}")


def op(name):
    lines.append(f"op {name}")


def write(family):
    path = os.path.join(OUT, f"{family}.txt")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    print(f"{family}: {sum(1 for l in lines if l.startswith('case'))} cases, {os.path.getsize(path)} bytes")
    lines.clear()


# ---- PyTorch's samples: each adapter says which case of the op table a sample is, or None


def plain(x, *args, **kw):
    """No options at all, and tensors only."""
    if kw or any(not isinstance(a, torch.Tensor) for a in args):
        return None
    return [x, *args], {}


def dims(x, dim):
    if dim is None:
        return None
    return tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)


def reduction(x, dim=None, keepdim=False, **kw):
    if kw or isinstance(dim, torch.Tensor) or dim == () or dim == [] or (dim is None and keepdim):
        return None
    return [x], {"axes": dims(x, dim), "keepdim": keepdim}


def spread(x, *args, correction=None, unbiased=None, dim=None, keepdim=False, **kw):
    if kw or args or unbiased is not None or (dim is None and keepdim) or dim == () or dim == []:
        return None
    correction = 1 if correction is None else correction
    if correction != int(correction) or correction < 0:
        return None
    return [x], {"axes": dims(x, dim), "correction": int(correction), "keepdim": keepdim}


def along(x, dim, **kw):
    return None if kw or isinstance(dim, torch.Tensor) else ([x], {"axis": dim})


def softmax(x, dim=None, dtype=None, **kw):
    return None if dtype is not None or dim is None or kw else ([x], {"axis": dim})


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    if dtype is not None or (dim is None and keepdim) or dim == () or dim == []:
        return None
    return [x], {"axes": dims(x, dim), "p": float(ord), "keepdim": keepdim}


def one_or_two(x, y, **kw):
    if kw or not isinstance(y, torch.Tensor):
        return None
    return [x, y], {}


def pow_(x, y, **kw):
    if kw:
        return None
    if isinstance(y, torch.Tensor):
        return [x, y], {}
    return ([x], {"scalar": float(y)}) if isinstance(y, (int, float)) else None


def clamp(x, low=None, high=None, **kw):
    low, high = kw.pop("min", low), kw.pop("max", high)
    if kw or isinstance(low, torch.Tensor) or isinstance(high, torch.Tensor) or (low is None and high is None):
        return None
    return [x], {"min": None if low is None else float(low), "max": None if high is None else float(high)}


def lerp(x, end, w):
    return ([x, end, w], {}) if isinstance(w, torch.Tensor) else ([x, end], {"scalar": float(w)})


def pooled(n, ceil_max=False):
    def adapt(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False, count_include_pad=True,
              divisor_override=None):
        if x.dim() != n + 2 or return_indices or divisor_override is not None:
            return None
        many = lambda v: list(v) if isinstance(v, (tuple, list)) else [v]
        attributes = {"kernel": many(kernel_size), "stride": None if stride is None else many(stride), "padding": many(padding),
                      "ceil_mode": ceil_mode}
        if ceil_max:
            attributes["dilation"] = many(dilation)
        else:
            attributes["count_include_pad"] = count_include_pad
        return [x], attributes
    return adapt


def adaptive(n):
    def adapt(x, output_size, return_indices=False):
        sizes = list(output_size) if isinstance(output_size, (tuple, list)) else [output_size] * n
        if x.dim() != n + 2 or return_indices or None in sizes:
            return None
        return [x], {"output": sizes}
    return adapt


def conv(n):
    def adapt(x, w, b=None, stride=1, padding=0, dilation=1, groups=1, **kw):
        if kw or x.dim() != n + 2 or isinstance(padding, str):
            return None
        many = lambda v: list(v) if isinstance(v, (tuple, list)) else [v]
        attributes = {"stride": many(stride), "padding": many(padding), "dilation": many(dilation), "groups": groups}
        return [x, w] + ([b] if b is not None else []), attributes
    return adapt


def conv_transpose(n):
    def adapt(x, w, b=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        found = conv(n)(x, w, b, stride, padding, dilation, groups)
        if found is None:
            return None
        found[1]["output_padding"] = list(output_padding) if isinstance(output_padding, (tuple, list)) else [output_padding]
        return found
    return adapt


def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
    if weight is None:
        return None if bias is not None else ([x], {"axes": len(shape), "eps": eps})
    return [x, weight] + ([bias] if bias is not None else []), {"eps": eps}


def rms_norm(x, shape, weight=None, eps=None):
    if eps is None:
        return None
    return ([x], {"axes": len(shape), "eps": eps}) if weight is None else ([x, weight], {"eps": eps})


def group_norm(x, groups, weight=None, bias=None, eps=1e-5):
    if bias is not None and weight is None:
        return None
    return [x] + [t for t in (weight, bias) if t is not None], {"groups": groups, "eps": eps}


def normalize(x, p=2.0, dim=1, eps=1e-12):
    return None if eps != 1e-12 else ([x], {"p": float(p), "axis": dim})


def loss(**defaults):
    def adapt(x, target, reduction="mean", **kw):
        attributes = {k: kw.pop(k, v) for k, v in defaults.items()}
        if any(v is not None for v in kw.values()) or x.shape != target.shape:
            return None
        return [x, target], {**attributes, "reduction": reduction}
    return adapt


def bce_with_logits(x, target, weight=None, reduction="mean", pos_weight=None):
    if weight is not None or x.shape != target.shape:
        return None
    if pos_weight is not None:
        return [x, target, pos_weight], {"reduction": reduction, "pos_weight": True}
    return [x, target], {"reduction": reduction}


def cross_entropy(x, target, weight=None, reduction="mean", ignore_index=-100, label_smoothing=0.0):
    if x.dim() < 2 or target.is_floating_point() or weight is not None:
        return None
    return [x, target], {"reduction": reduction, "label_smoothing": label_smoothing, "ignore_index": ignore_index}


def nll(x, target, weight=None, reduction="mean", ignore_index=-100):
    if x.dim() < 2 or weight is not None:
        return None
    return [x, target], {"reduction": reduction, "ignore_index": ignore_index}


def cosine(x, y, dim=1, eps=1e-8):
    return ([x, y], {"axis": dim, "eps": eps}) if x.dim() == y.dim() and x.dim() and x.shape[dim] == y.shape[dim] else None


def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if q.dim() != 4 or dropout_p or attn_mask is not None or enable_gqa:
        return None
    return [q, k, v], {"causal": is_causal, "scale": scale}


def gather(x, dim, index, **kw):
    return None if kw else ([x, index], {"axis": dim})


def scatter(x, dim, index, src, **kw):
    return None if kw or not isinstance(src, torch.Tensor) else ([x, index, src], {"axis": dim})


def scatter_reduce(x, dim, index, src, reduce, include_self=True):
    return None if reduce == "mean" or not include_self else ([x, index, src], {"axis": dim, "mode": reduce, "include_self": True})


def index_add(x, dim, index, src, alpha=1):
    return None if alpha != 1 or x.dim() == 0 else ([x, index, src], {"axis": dim})


def index_select(x, dim, index):
    return None if index.dim() != 1 or x.dim() == 0 else ([x, index], {"axis": dim})


def pad_(x, pad, mode="constant", value=None):
    return [x], {"pads": list(pad), "mode": mode, "value": 0.0 if value is None else float(value)}


def embedding(weight, index, **kw):
    return None if kw else ([weight, index], {})


def sort(x, dim=-1, descending=False, stable=False):
    return [x], {"axis": dim, "descending": descending}


def topk(x, k, dim=-1, largest=True, sorted=True):
    return ([x], {"k": k, "axis": dim, "largest": largest}) if sorted else None


def elu(x, alpha=1.0, inplace=False):
    return [x], {"alpha": alpha}


def leaky(x, negative_slope=0.01, inplace=False):
    return [x], {"slope": negative_slope}


def gelu(x, approximate="none"):
    return ("gelu_tanh" if approximate == "tanh" else "gelu", [x], {})


def bare(x, **kw):
    return None if {k: v for k, v in kw.items() if k != "inplace"} else ([x], {})


def scaled(x, a, b, value=1):
    return [x, a, b], {"value": float(value)}


def addmm(x, a, b, alpha=1, beta=1):
    return None if alpha != 1 or beta != 1 else ([x, a, b], {})


def prod(x, dim=None, keepdim=False, **kw):
    return None if kw or not x.dim() else reduction(x, dim, keepdim)


def filled(x, mask, value):
    return None if isinstance(value, torch.Tensor) or mask.dim() > x.dim() else ([x, mask], {"value": float(value)})


def rolled(x, shifts, dims=None):
    many = lambda v: list(v) if isinstance(v, (tuple, list)) else [v]
    return None if not x.dim() else ([x], {"shifts": many(shifts), "axes": None if dims is None else many(dims)})


def diagonal(x, offset=0, dim1=0, dim2=1):
    return ([x], {"offset": offset}) if (dim1 % x.dim(), dim2 % x.dim()) == (x.dim() - 2, x.dim() - 1) else None


def batch_norm(x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    return None if not training or mean is not None or (bias is not None and weight is None) or x.dim() < 2 else (
        [t for t in (x, weight, bias) if t is not None], {"eps": eps})


def instance_norm(x, mean=None, var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    return None if mean is not None or (bias is not None and weight is None) else ([t for t in (x, weight, bias) if t is not None], {"eps": eps})


def first(adapt):
    """Of several outputs PyTorch gives, the table's op has the first."""
    def of_first(*args, **kw):
        return adapt(*args, **kw)
    of_first.first = True
    return of_first


ADAPTERS = {
    **{name: (name, bare) for name in ("abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor log log10 log1p log2 "
       "neg rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc").split()},
    "reciprocal": ("recip", bare), "frac": ("fract", bare), "round": ("round", bare),
    "nn.functional.relu": ("relu", bare), "nn.functional.relu6": ("relu6", bare), "nn.functional.silu": ("silu", bare),
    "nn.functional.gelu": (None, gelu), "nn.functional.softplus": ("softplus", bare), "nn.functional.selu": ("selu", bare),
    "nn.functional.mish": ("mish", bare), "nn.functional.hardswish": ("hardswish", bare),
    "nn.functional.hardtanh": ("hardtanh", bare), "nn.functional.softsign": ("softsign", bare), "nn.functional.logsigmoid": ("logsigmoid", bare),
    "nn.functional.elu": ("elu", elu), "nn.functional.leaky_relu": ("leaky_relu", leaky),
    **{name: (name, one_or_two) for name in ("add", "sub", "mul", "atan2", "maximum", "minimum")},
    "div": ("div", one_or_two), "remainder": ("rem", one_or_two), "pow": ("pow", pow_), "clamp": ("clamp", clamp), "lerp": ("lerp", lerp),
    "sum": ("sum", reduction), "mean": ("mean", reduction), "amax": ("max", reduction), "amin": ("min", reduction),
    "logsumexp": ("logsumexp", reduction), "var": ("var", spread), "std": ("std", spread), "linalg.vector_norm": ("norm", vector_norm),
    "cumsum": ("cumsum", along), "cumprod": ("cumprod", along), "cummax": ("cummax", first(along)), "cummin": ("cummin", first(along)),
    "softmax": ("softmax", softmax), "log_softmax": ("log_softmax", softmax), "nn.functional.softmin": ("softmin", softmax),
    "nn.functional.layer_norm": ("layer_norm", layer_norm), "nn.functional.rms_norm": ("rms_norm", rms_norm),
    "nn.functional.group_norm": ("group_norm", group_norm), "nn.functional.normalize": ("normalize", normalize),
    "nn.functional.cosine_similarity": ("cosine_similarity", cosine),
    "matmul": ("matmul", plain), "dot": ("dot", plain), "outer": ("outer", plain), "trace": ("trace", plain),
    "nn.functional.linear": ("linear", plain),
    "nn.functional.scaled_dot_product_attention": ("attention", attention),
    "nn.functional.cross_entropy": ("cross_entropy", cross_entropy), "nn.functional.nll_loss": ("nll_loss", nll),
    "nn.functional.binary_cross_entropy": ("bce", loss(weight=None)),
    "nn.functional.binary_cross_entropy_with_logits": ("bce_with_logits", bce_with_logits),
    "nn.functional.mse_loss": ("mse_loss", loss()), "nn.functional.l1_loss": ("l1_loss", loss()),
    "nn.functional.huber_loss": ("huber_loss", loss(delta=1.0)), "nn.functional.smooth_l1_loss": ("smooth_l1_loss", loss(beta=1.0)),
    "nn.functional.kl_div": ("kl_div", loss(log_target=False)),
    **{f"nn.functional.max_pool{n}d": (f"max_pool{n}d", pooled(n, True)) for n in (1, 2, 3)},
    **{f"nn.functional.avg_pool{n}d": (f"avg_pool{n}d", pooled(n)) for n in (1, 2, 3)},
    **{f"nn.functional.adaptive_avg_pool{n}d": (f"adaptive_avg_pool{n}d", adaptive(n)) for n in (1, 2, 3)},
    **{f"nn.functional.adaptive_max_pool{n}d": (f"adaptive_max_pool{n}d", adaptive(n)) for n in (1, 2, 3)},
    **{f"nn.functional.conv{n}d": (f"conv{n}d", conv(n)) for n in (1, 2)},
    **{f"nn.functional.conv_transpose{n}d": (f"conv_transpose{n}d", conv_transpose(n)) for n in (1, 2)},
    "gather": ("gather", gather), "scatter": ("scatter", scatter), "scatter_add": ("scatter_add", scatter),
    "scatter_reduce": ("scatter_reduce", scatter_reduce), "index_add": ("index_add", index_add), "index_select": ("index_select", index_select),
    "nn.functional.pad": ("pad", pad_), "nn.functional.embedding": ("embedding", embedding), "sort": ("sort", sort), "topk": ("topk", topk),
    "reshape": ("reshape", lambda x, shape: ([x], {"shape": list(shape)})),
    "permute": ("permute", lambda x, axes: ([x], {"axes": list(axes)})),
    "transpose": ("transpose", lambda x, i, j: ([x], {"i": i, "j": j}) if x.dim() else None),
    "expand": ("expand", lambda x, shape: ([x], {"shape": list(shape)})),
    "flip": ("flip", lambda x, dims: ([x], {"axes": list(dims)})),
    "tril": ("tril", lambda x, diagonal=0: ([x], {"diagonal": diagonal})), "triu": ("triu", lambda x, diagonal=0: ([x], {"diagonal": diagonal})),
    "diag_embed": ("diag_embed", bare), "diagonal": ("diagonal", diagonal), "prod": ("prod", prod),
    "addcmul": ("addcmul", scaled), "addcdiv": ("addcdiv", scaled), "addmm": ("addmm", addmm), "bmm": ("matmul", plain), "mm": ("matmul", plain),
    "mv": ("matmul", plain), "masked_fill": ("masked_fill", filled), "roll": ("roll", rolled),
    "tile": ("tile", lambda x, reps: ([x], {"reps": list(reps)})),
    "squeeze": ("squeeze", lambda x, dim=None: ([x], {"axis": dim}) if dim is None or (x.dim() and x.shape[dim] == 1) else None),
    "unsqueeze": ("unsqueeze", lambda x, dim: ([x], {"axis": dim})),
    "narrow": ("narrow", lambda x, dim, start, length: ([x], {"axis": dim, "start": start, "len": length})
               if isinstance(start, int) and start >= 0 else None),
    "select": ("select", lambda x, dim, index: ([x], {"axis": dim, "index": index})),
    "take_along_dim": ("take_along", lambda x, index, dim=None: ([x, index], {"axis": dim}) if dim is not None and index.dim() == x.dim() else None),
    "index_copy": ("index_copy", lambda x, dim, index, src: ([x, index, src], {"axis": dim}) if x.dim() else None),
    "movedim": ("movedim", lambda x, s, d: ([x], {"source": s, "target": d}) if isinstance(s, int) else None),
    "nn.functional.batch_norm": ("batch_norm_train", batch_norm), "nn.functional.instance_norm": ("instance_norm", instance_norm),
    "unfold": ("unfold", lambda x, dimension, size, step: ([x], {"axis": dimension, "size": size, "step": step}) if x.dim() and size else None),
    "cat": ("concat", lambda xs, dim=0: (list(xs), {"axis": dim}) if all(x.dim() == xs[0].dim() for x in xs) else None),
    "stack": ("stack", lambda xs, dim=0: (list(xs), {"axis": dim})),
}


def sampled(sample):
    """The sample with tensors on the grid of 1/32, which every dtype holds."""
    def grid(x):
        if isinstance(x, torch.Tensor):
            x = x.detach().clone().contiguous()
            return (x * 32).round() / 32 if x.dtype == torch.float64 else x
        return type(x)(grid(v) for v in x) if isinstance(x, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in x) else x
    return grid(sample.input), [grid(a) for a in sample.args], {k: grid(v) for k, v in sample.kwargs.items()}


def rebuilt(template, leaves):
    """Arguments with the tensors among them replaced in order."""
    if isinstance(template, torch.Tensor):
        return next(leaves)
    if isinstance(template, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in template):
        return type(template)(rebuilt(v, leaves) for v in template)
    return template


def flat(x):
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for v in x for t in flat(v)] if isinstance(x, (list, tuple)) else []


def samples():
    for source, (target, adapt) in ADAPTERS.items():
        # One of each set of options first: that is what differs between samples, more than the numbers do.
        seen, chosen = set(), []
        for info in DB[source]:
            if info.variant_test_name and source not in ("nn.functional.gelu", "nn.functional.pad", "div"):
                continue
            if not info.supports_dtype(torch.float64, "cpu"):
                continue
            for sample in info.sample_inputs("cpu", torch.float64, requires_grad=False):
                x, args, kwargs = sampled(sample)
                try:
                    found = adapt(x, *args, **kwargs)
                except TypeError:
                    continue
                if found is None:
                    continue
                name, inputs, attributes = found if len(found) == 3 else (target, *found)
                tensors = flat(x) + [t for a in args for t in flat(a)] + [t for v in kwargs.values() for t in flat(v)]
                if len(tensors) != len(inputs) or any(a is not b for a, b in zip(tensors, inputs)):
                    continue
                size = sum(t.numel() for t in inputs)
                if size > MANY_ELEMENTS or any(t.dtype not in NAMES or t.dtype == torch.float32 for t in inputs):
                    continue
                if any(isinstance(v, str) and " " in v for v in attributes.values()):
                    continue
                key = (name, attribute(sorted((k, str(v)) for k, v in attributes.items())), len(inputs))
                new = key not in seen
                seen.add(key)
                chosen.append(((size > MOST_ELEMENTS, not new), name, inputs, attributes, (x, args, kwargs), info))
        chosen.sort(key=lambda c: c[0])
        small = sum(1 for (large, _), *_ in chosen if not large)
        for _, name, inputs, attributes, (x, args, kwargs), info in chosen[:min(MOST_SAMPLES, max(small, FEW_SAMPLES))]:
            def call(*leaves, x=x, args=args, kwargs=kwargs, info=info):
                leaves = iter(leaves)
                out = info.op(rebuilt(x, leaves), *[rebuilt(a, leaves) for a in args], **{k: rebuilt(v, leaves) for k, v in kwargs.items()})
                return out[0] if getattr(adapt, "first", False) else list(out) if isinstance(out, tuple) else out
            op(name)
            try:
                case(name, call, inputs, **attributes)
            except (RuntimeError, IndexError) as error:
                lines.pop()
                print(f"left out: {name} {attributes}: {str(error).splitlines()[0]}")
    write("samples")


# ---- special points


def T(values):
    return torch.tensor(values, dtype=torch.float64)


# What is special for some function: kinks, poles, ends of domains and of ranges.
LEFT_OUT = {
    # Choices, which the methods' docs tell: limits at -inf.
    "silu": [-INF], "gelu": [-INF], "gelu_tanh": [-INF],
    # The sign of NaN.
    "abs": [NAN], "sign": [NAN],
}
EVERY = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 6.0, 20.0, -20.0, 100.0, -100.0, INF, -INF, NAN]


def torch_op(name):
    return DB[name][0].op


def every(target):
    left_out = [number(x) for x in LEFT_OUT.get(target, [])]
    return T([x for x in EVERY if number(x) not in left_out])


def filled(fn):
    """``fn`` of elements that fill PyTorch's vectors: what is left over it differentiates at NaN by another formula."""
    return lambda x: fn(torch.cat([x, x.new_full((64 - x.numel(),), 0.25)]))[: x.numel()]


def points():
    unary = [name for name, (_, adapt) in ADAPTERS.items() if adapt in (bare, elu, leaky)]
    for name in unary:
        if name == "diag_embed":
            continue
        target, adapt = ADAPTERS[name]
        op(target)
        attributes = {elu: {"alpha": 1.0}, leaky: {"slope": 0.01}}.get(adapt, {})
        case(target, filled(torch_op(name)), [every(target)], **attributes)
    for approximate, target in (("none", "gelu"), ("tanh", "gelu_tanh")):
        op(target)
        case(target, lambda x: F.gelu(x, approximate=approximate), [every(target)])
    # Not F.hardsigmoid, whose sixth is a float32 in the gradient.
    op("hardsigmoid")
    case("hardsigmoid", lambda x: torch.clamp(x + 3, 0, 6) / 6, [T(EVERY)])
    both = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 0.5, INF, -INF, NAN]
    pairs = list(itertools.product(both, both))
    for name in ("add", "sub", "mul", "div", "atan2", "maximum", "minimum", "pow", "remainder"):
        target = ADAPTERS[name][0]
        op(target)
        # PyTorch's mixed second derivative of a power is 0 where the exponent is 0.
        case(target, torch_op(name), [T([a for a, _ in pairs]), T([b for _, b in pairs])], once=name == "pow")
    regular = list(itertools.product([0.5, 1.0, 2.0, 3.0], [-1.0, 0.5, 1.0, 2.0, 3.0]))
    op("pow")
    case("pow", torch.pow, [T([a for a, _ in regular]), T([b for _, b in regular])])
    op("pow")
    for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, -0.5, -1.0, -1.5, -2.0, -3.0):
        # A power that is no integer has no negative base.
        negative = [-1.0, -INF] if p == int(p) else []
        case("pow", lambda x: torch.pow(x, p), [T([0.0, -0.0, 1.0, 2.0, INF, NAN] + negative)], scalar=p)
    op("rpow")
    for base in (0.0, 1.0, 2.0, -2.0):
        case("rpow", lambda x: torch.pow(torch.tensor(base, dtype=x.dtype), x), [T([0.0, -0.0, 1.0, -1.0, 2.0, INF, -INF, NAN])], scalar=base)
    op("clamp")
    for low, high in ((-1.0, 2.0), (None, 2.0), (-1.0, None), (0.0, 0.0)):
        case("clamp", lambda x: torch.clamp(x, low, high), [T(EVERY)], min=low, max=high)
    op("lerp")
    case("lerp", torch.lerp, [T([0.0, 1.0, INF, 1.0, -1.0]), T([0.0, 1.0, 1.0, 2.0, 3.0]), T([0.0, 1.0, 0.5, 1.0, 0.5])])
    op("where")
    case("where", torch.where, [torch.tensor([True, False, True, False]), T([INF, NAN, 0.0, 1.0]), T([NAN, INF, 1.0, 0.0])])
    # Rows that reductions and norms are not smooth at.
    rows = [[0.0, 0.0, 0.0], [2.0, 2.0, 2.0], [-2.0, 2.0, 0.0], [1.0, 3.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 4.0]]
    wild = [[INF, 1.0, 2.0], [INF, INF, 1.0], [-INF, 1.0, 0.0], [-INF, -INF, -INF], [INF, -INF, 1.0], [NAN, 1.0, 2.0], [100.0, -100.0, 0.0]]
    for table in (rows, wild):
        for name, fn in (("sum", torch.sum), ("mean", torch.mean), ("max", torch.amax), ("min", torch.amin), ("prod", torch.prod),
                         ("logsumexp", torch.logsumexp)):
            op(name)
            case(name, lambda x: fn(x, 1), [T(table)], axes=1, keepdim=False)
        for name, fn in (("var", torch.var), ("std", torch.std)):
            op(name)
            for correction in (0, 1):
                case(name, lambda x: fn(x, 1, correction=correction), [T(table)], axes=1, correction=correction, keepdim=False)
        op("norm")
        for p in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -1.0, INF, -INF):
            # The sign of NaN is a choice.
            known = [row for row in table if row[0] == row[0] or p not in (1.0, INF, -INF)]
            case("norm", lambda x: torch.linalg.vector_norm(x, p, 1), [T(known)], axes=1, p=p, keepdim=False)
        op("normalize")
        for p in (1.0, 2.0, 3.0, INF):
            case("normalize", lambda x: F.normalize(x, p, 1), [T(table)], p=p, axis=1)
        for name, fn in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax), ("cumsum", torch.cumsum), ("cumprod", torch.cumprod)):
            op(name)
            # The gradient of a running product is NaN where an element is infinite.
            finite = [row for row in table if name != "cumprod" or all(abs(x) < INF for x in row)]
            case(name, lambda x: fn(x, 1), [T(finite)], axis=1)
        for name, fn in (("cummax", torch.cummax), ("cummin", torch.cummin)):
            op(name)
            case(name, lambda x: fn(x, 1).values, [T(table)], axis=1)
        op("layer_norm")
        case("layer_norm", lambda x, w, b: F.layer_norm(x, (3,), w, b, 1e-5), [T(table), T([1.0, -2.0, 0.5]), T([0.0, 1.0, 2.0])], eps=1e-5)
        op("rms_norm")
        case("rms_norm", lambda x, w: F.rms_norm(x, (3,), w, 1e-5), [T(table), T([1.0, -2.0, 0.5])], eps=1e-5)
        op("sort")
        case("sort", lambda x: torch.sort(x, stable=True, dim=1), [T(table)], axis=1, descending=False)
    op("std")
    case("std", lambda x: torch.std(x, 0, correction=0), [T([3.0])], axes=0, correction=0, keepdim=False)
    op("cumprod")
    for row in ([2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0, 0.0], [0.0, 0.0], [1.0, 2.0, 3.0, 0.0]):
        case("cumprod", lambda x: torch.cumprod(x, 0), [T(row)], axis=0)
    op("prod")
    for row in ([2.0, 0.0, 3.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]):
        case("prod", lambda x: torch.prod(x, 0), [T(row)], axes=0, keepdim=False)
    op("cosine_similarity")
    case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, 1, 1e-8),
         [T([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0], [3.0, 4.0]]), T([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0], [3.0, 4.0]])], axis=1, eps=1e-8)
    # Windows with ties.
    tied = T([[[1.0, 1.0, 1.0, 2.0, 2.0, 0.0, 0.0, -1.0]]])
    plane = T([[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 0.0], [3.0, 3.0, 0.0, 0.0], [3.0, 3.0, 0.0, 0.0]]]])
    op("max_pool1d")
    case("max_pool1d", lambda x: F.max_pool1d(x, 2, 2), [tied], kernel=[2], stride=[2], padding=[0], dilation=[1], ceil_mode=False)
    case("max_pool1d", lambda x: F.max_pool1d(x, 3, 1, 1), [tied], kernel=[3], stride=[1], padding=[1], dilation=[1], ceil_mode=False)
    op("max_pool2d")
    case("max_pool2d", lambda x: F.max_pool2d(x, 2, 1), [plane], kernel=[2], stride=[1], padding=[0], dilation=[1], ceil_mode=False)
    op("adaptive_max_pool1d")
    for size in (2, 3, 8):
        case("adaptive_max_pool1d", lambda x: F.adaptive_max_pool1d(x, size), [tied], output=[size])
    op("adaptive_max_pool2d")
    for size in ((2, 2), (3, 2), (1, 1)):
        case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, size), [plane], output=list(size))
    index = torch.tensor([0, 0, 1, 1, 2, 2])
    for mode in ("amax", "amin", "prod", "sum"):
        op("scatter_reduce")
        case("scatter_reduce", lambda x, i, s: x.scatter_reduce(0, i, s, mode), [T([1.0, 0.0, 0.0]), index, T([1.0, 1.0, 0.0, 0.0, 2.0, 0.0])],
             axis=0, mode=mode, include_self=True)
    # Losses where they have kinks and where they saturate.
    difference = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 100.0, INF, -INF, NAN]
    zeros = [0.0] * len(difference)
    for reduction_ in ("none", "mean"):
        for name, fn, attributes in (("huber_loss", F.huber_loss, {"delta": 1.0}), ("smooth_l1_loss", F.smooth_l1_loss, {"beta": 1.0}),
                                     ("mse_loss", F.mse_loss, {}), ("l1_loss", F.l1_loss, {})):
            op(name)
            case(name, lambda x, y: fn(x, y, reduction=reduction_, **attributes), [T(difference[:9]), T(zeros[:9])], reduction=reduction_, **attributes)
    op("huber_loss")
    case("huber_loss", lambda x, y: F.huber_loss(x, y, reduction="none", delta=0.5), [T(difference), T(zeros)], reduction="none", delta=0.5)
    op("smooth_l1_loss")
    case("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.5), [T(difference), T(zeros)], reduction="none", beta=0.5)
    op("bce")
    case("bce", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
         [T([0.0, 0.0, 1.0, 1.0, 1e-30, 1e-30, 1e-12]), T([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])], once=True, reduction="none")
    case("bce", lambda x, y: F.binary_cross_entropy(x, y, reduction="none"), [T([0.5, 0.25, 0.75]), T([1.0, 0.5, 0.0])], reduction="none")
    op("bce_with_logits")
    case("bce_with_logits", lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
         [T([0.0, 0.0, 100.0, 100.0, -100.0, -100.0, 1.0]), T([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.5])], reduction="none")
    op("kl_div")
    case("kl_div", lambda x, y: F.kl_div(x, y, reduction="none"), [T([0.0, -1.0, -2.0, -100.0]), T([0.25, 0.5, 1.0, 2.0])], reduction="none", log_target=False)
    op("cross_entropy")
    case("cross_entropy", lambda x, t: F.cross_entropy(x, t),
         [T([[0.0, 0.0, 0.0], [100.0, 0.0, -100.0], [100.0, 0.0, -100.0], [-INF, 0.0, 1.0]]), torch.tensor([0, 0, 2, 1])], reduction="mean")
    op("attention")
    same = torch.ones(1, 1, 3, 2, dtype=torch.float64)
    case("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), [same, same.clone(), T([[[[1.0, 2.0], [0.0, 1.0], [2.0, 0.0]]]])], causal=False)
    case("attention", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [same * 0, same * 40, same.clone()], causal=True)
    write("points")


samples()
points()
