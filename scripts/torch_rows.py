"""The rows of `unigrad bench table` in PyTorch: the same networks, sizes, losses, optimizers, dtypes and activations, by the same names.

`python scripts/bench_torch.py table [ROW or SECTION ..] [--device cuda] [--seconds 2] [--modes eager compile graph]` measures them. A line of JSON each: milliseconds of a step where steps
follow each other (`ms`, the median of rounds) and where the host waits after each (`waited_ms`), the first loss, and the most memory that tensors had.

Networks have their parameters in the order of `crates/unigrad-bench/src/networks`; `scripts/golden_bench.py` makes small siblings of them by the same code and
writes their losses, which a test compares with unigrad's.
"""

import json
import statistics
import subprocess
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Perceptron(nn.Module):
    def __init__(self, sizes=(784, 512, 256, 10)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x, y):
        for layer in self.layers[:-1]:
            x = F.relu(layer(x))
        return F.cross_entropy(self.layers[-1](x), y)


class Cnn(nn.Module):
    def __init__(self, image=28, channels=(32, 64), hidden=128, classes=10):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, channels[0], 3), nn.Conv2d(*channels, 3)
        self.f1, self.f2 = nn.Linear(channels[1] * ((image - 4) // 2) ** 2, hidden), nn.Linear(hidden, classes)

    def forward(self, x, y):
        h = F.max_pool2d(F.relu(self.c2(F.relu(self.c1(x)))), 2)
        return F.cross_entropy(self.f2(F.relu(self.f1(h.flatten(1)))), y)


class Lstm(nn.Module):
    def __init__(self, inputs=64, hidden=256, classes=10):
        super().__init__()
        self.lstm, self.head = nn.LSTM(inputs, hidden, batch_first=True), nn.Linear(hidden, classes)

    def forward(self, x, y):
        return F.cross_entropy(self.head(self.lstm(x)[0][:, -1]), y)


class CharacterBlock(nn.Module):
    """Of `scripts/golden_gpt.py`: no biases, exact GELU."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.fc, self.out = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(d, 2))
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.out(F.gelu(self.fc(self.ln2(x))))


class CharacterGpt(nn.Module):
    def __init__(self, vocabulary=65, context=256, layers=6, heads=6, dim=384):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim)
        self.blocks = nn.ModuleList(CharacterBlock(dim, heads) for _ in range(layers))
        self.lnf = nn.LayerNorm(dim, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)

    def forward(self, x, y):
        h = self.wte(x) + self.wpe.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy((self.lnf(h) @ self.wte.weight.t()).flatten(0, 1), y.flatten())


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in self.qkv(self.norm1(x)).split(d, 2))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """Biases, tanh GELU, a head that is tied to the embedding; embeddings begin with deviation 0.02."""

    def __init__(self, vocabulary=50_304, context=1024, layers=12, heads=12, width=768):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        with torch.no_grad():
            self.tokens.weight *= 0.02
            self.positions.weight *= 0.02

    def forward(self, x, y):
        h = self.tokens(x) + self.positions.weight[: x.shape[1]]
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy(F.linear(self.norm(h), self.tokens.weight).flatten(0, 1), y.flatten())


class Normed(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        sizes = ((inputs, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1))
        self.parts = nn.ModuleList(Normed(*size) for size in sizes)
        self.past = Normed(inputs, 4 * width, 1, stride) if inputs != 4 * width else None

    def forward(self, x):
        h = F.relu(self.parts[1](F.relu(self.parts[0](x))))
        return F.relu(self.parts[2](h) + (self.past(x) if self.past else x))


class ResNet(nn.Module):
    """torchvision's: the stride is in the 3x3 convolution."""

    def __init__(self, stages=(3, 4, 6, 3), width=64, classes=1000):
        super().__init__()
        self.stem, blocks, inputs = Normed(3, width, 7, 2), [], width
        for stage, count in enumerate(stages):
            for i in range(count):
                blocks.append(Bottleneck(inputs, width << stage, 2 if i == 0 and stage > 0 else 1))
                inputs = 4 * (width << stage)
        self.blocks, self.head = nn.ModuleList(blocks), nn.Linear(inputs, classes)

    def forward(self, x, y):
        h = F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1)
        for block in self.blocks:
            h = block(h)
        return F.cross_entropy(self.head(h.mean((2, 3))), y)


class Layer(nn.Module):
    def __init__(self, batch, context, width, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.features = heads, groups, width // heads
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.qkv = nn.Linear(width, (heads + 2 * groups) * self.features, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * hidden, bias=False), nn.Linear(hidden, width, bias=False)
        self.register_buffer("k", torch.zeros(batch, groups, context, self.features))
        self.register_buffer("v", torch.zeros(batch, groups, context, self.features))

    def forward(self, x, position, mask, cos, sin):
        b, t, d = x.shape
        keys = self.groups * self.features
        q, k, v = self.qkv(self.norm1(x)).split([d, keys, keys], -1)
        q, k, v = (z.view(b, t, -1, self.features).transpose(1, 2) for z in (q, k, v))
        half = self.features // 2
        rotated = lambda z: z * cos + torch.cat((-z[..., half:], z[..., :half]), -1) * sin
        self.k[:, :, position], self.v[:, :, position] = rotated(k), v
        attended = F.scaled_dot_product_attention(rotated(q), self.k, self.v, attn_mask=mask, enable_gqa=True)
        x = x + self.out(attended.transpose(1, 2).reshape(b, t, d))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """A decoder with a cache that is updated in place; rotations in halves with base 1e6."""

    def __init__(self, batch=1, layers=32, width=4096, heads=32, groups=8, hidden=14_336, vocabulary=32_000, context=1024):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(batch, context, width, heads, groups, hidden) for _ in range(layers))
        self.norm, self.head = nn.RMSNorm(width, eps=1e-5), nn.Linear(width, vocabulary, bias=False)
        features = width // heads
        # In f32 whatever the default is: a bf16 has no positions above 256.
        exponents = -torch.arange(0, features, 2, dtype=torch.float32) / features
        angles = torch.outer(torch.arange(context, dtype=torch.float32), 1e6**exponents)
        angles = torch.cat((angles, angles), -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("mask", torch.ones(context, context, dtype=torch.bool).tril())

    def forward(self, tokens, position):
        x = self.embedding(tokens)
        cos, sin, mask = self.cos[position], self.sin[position], self.mask[position][None, None]
        for layer in self.layers:
            x = layer(x, position, mask, cos, sin)
        return self.head(self.norm(x[:, -1]))


def rows(device, mode):
    """Makers of steps by name, with sections: each returns a function of one step, and one of what it has computed."""
    compiled = (lambda f: torch.compile(f)) if mode == "compile" else (lambda f: f)
    on_gpu = device != "cpu"
    half = torch.bfloat16
    normal = lambda *shape, dtype=torch.float32: torch.randn(*shape, device=device, dtype=dtype)
    tokens = lambda n, *shape: torch.randint(0, n, shape, device=device)

    def plain(f, *tensors):
        f = compiled(f)
        return lambda: f(*tensors), None

    def train(network, optimizer, data, dtype=None):
        network = network.to(device)
        optimizer = optimizer(network)
        loss, first = compiled(network), []

        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device, dtype or half, enabled=dtype is not None):
                value = loss(*data)
            value.backward()
            optimizer.step()
            if not first:
                first.append(value.item())
            return value

        return step, lambda: first[0]

    def graph(step):
        """The whole step as one CUDA graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(5):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            step()
        return captured.replay

    def adam(network):
        return torch.optim.Adam(network.parameters(), 1e-3, fused=True, **({"capturable": True} if on_gpu else {}))

    def characters(network):
        options = {"capturable": True} if on_gpu else {}
        return torch.optim.AdamW(network.parameters(), 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True, **options)

    def adamw(count, each):
        parameters = [nn.Parameter(normal(each)) for _ in range(count)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return torch.optim.AdamW(parameters, 1e-3, fused=True).step, None

    def attention(features, has_gradients):
        q, k, v = (normal(8, 16, 4096, features, dtype=half).requires_grad_(has_gradients) for _ in range(3))
        if not has_gradients:
            return plain(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
        slope = torch.randn_like(q)

        def step():
            q.grad = k.grad = v.grad = None
            F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(slope)

        return step, None

    def product(a, b, of, dtype=half):
        return lambda: plain(of, normal(*a, dtype=dtype), normal(*b, dtype=dtype))

    def gpt2(batch, dtype):
        optimizer = lambda network: torch.optim.AdamW(network.parameters(), 1e-4, weight_decay=0.01, fused=True)
        return train(Gpt2(), optimizer, (tokens(50_257, batch, 1024), tokens(50_257, batch, 1024)), dtype)

    def resnet():
        network = ResNet().to(memory_format=torch.channels_last)
        x = normal(256, 3, 224, 224).to(memory_format=torch.channels_last)
        optimizer = lambda network: torch.optim.SGD(network.parameters(), 0.1, momentum=0.9, fused=True)
        return train(network, optimizer, (x, tokens(1000, 256)), half)

    def llama(batch, first, length):
        before = torch.get_default_dtype()
        torch.set_default_dtype(half)
        with torch.device(device), torch.no_grad():
            network = Llama(batch)
            network.cos, network.sin = network.cos.to(half), network.sin.to(half)
            for parameter in network.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0, 0.02)
        torch.set_default_dtype(before)
        position = torch.arange(first, first + length, device=device)
        given = torch.zeros(batch, length, dtype=torch.long, device=device)
        run = torch.compile(network, mode="reduce-overhead", fullgraph=True) if mode == "compile" else network

        def step():
            with torch.no_grad():
                return run(given, position)

        return step, None

    def fp8():
        a, b = normal(8192, 8192, dtype=half), normal(8192, 8192, dtype=half)
        one = torch.ones((), device=device)

        def of(a, b):
            # Scales of the whole tensors, as unigrad's current scaling takes them.
            scales = [448.0 / t.abs().amax().float() for t in (a, b)]
            codes = [(t * scale).to(torch.float8_e4m3fn) for t, scale in zip((a, b), scales)]
            return torch._scaled_mm(codes[0], codes[1].t(), one / scales[0], one / scales[1], out_dtype=half)

        return plain(of, a, b)

    one_gib = lambda: (normal(1 << 28) for _ in range(4))
    wide = lambda: (normal(65_536, 4096, dtype=half), normal(4096, dtype=half), normal(4096, dtype=half))
    makers = {
        "elementwise_f32_1gib": ("elementwise", lambda: plain(lambda x, w, b, r: F.gelu(x * w + b, approximate="tanh") + r, *one_gib())),
        "softmax_bf16": ("rows", lambda: plain(lambda x, w, b: F.softmax(x, -1), *wide())),
        "layer_norm_bf16": ("rows", lambda: plain(lambda x, w, b: F.layer_norm(x, (4096,), w, b), *wide())),
        "rms_norm_bf16": ("rows", lambda: plain(lambda x, w, b: F.rms_norm(x, (4096,), w, 1e-5), *wide())),
        "adamw_8x125m": ("adamw", lambda: adamw(8, 125_000_000)),
        "adamw_148x840k": ("adamw", lambda: adamw(148, 840_000)),
    }
    for name, size, dtype in (("bf16", 2048, half), ("bf16", 4096, half), ("bf16", 8192, half), ("tf32", 4096, torch.float32), ("f32", 4096, torch.float32)):
        makers[f"matmul_{name}_{size}"] = ("matmul", product((size, size), (size, size), torch.matmul, dtype))
    makers["matmul_fp8_8192"] = ("fp8", fp8)
    for layer, inputs, outputs in (("qkv", 768, 2304), ("out", 768, 768), ("up", 768, 3072), ("down", 3072, 768), ("head", 768, 50_304)):
        n, section = 32 * 1024, "gpt2_products"
        makers[f"gpt2_product_{layer}_forward"] = (section, product((n, inputs), (outputs, inputs), F.linear))
        makers[f"gpt2_product_{layer}_data"] = (section, product((n, outputs), (outputs, inputs), torch.matmul))
        makers[f"gpt2_product_{layer}_weight"] = (section, product((n, outputs), (n, inputs), lambda a, b: a.t() @ b))
    for features in (128, 64):
        makers[f"attention_bf16_d{features}_forward"] = ("attention", lambda features=features: attention(features, False))
        makers[f"attention_bf16_d{features}_forward_backward"] = ("attention", lambda features=features: attention(features, True))
    small = (
        ("mlp", (64, 512, 8192), lambda b: train(Perceptron(), adam, (normal(b, 784), tokens(10, b)))),
        ("cnn", (64, 1024), lambda b: train(Cnn(), adam, (normal(b, 1, 28, 28), tokens(10, b)))),
        ("lstm", (32, 512), lambda b: train(Lstm(), adam, (normal(b, 64, 64), tokens(10, b)))),
        ("gpt_char", (8,), lambda b: train(CharacterGpt(), characters, (tokens(65, b, 256), tokens(65, b, 256)))),
    )
    for section, batches, make in small:
        for batch in batches:
            makers[f"{section}_tf32_b{batch}"] = (section, lambda make=make, batch=batch: make(batch))
    makers |= {
        "gpt2_124m_bf16_b32": ("gpt2", lambda: gpt2(32, half)),
        "gpt2_124m_f32_b8": ("gpt2", lambda: gpt2(8, None)),
        "gpt2_124m_tf32_b8": ("gpt2", lambda: gpt2(8, None)),
        "resnet50_bf16_b256": ("resnet", resnet),
        "decode_7b_bf16_b1": ("decode_7b", lambda: llama(1, 512, 1)),
        "decode_7b_bf16_b8": ("decode_7b", lambda: llama(8, 512, 1)),
        "decode_7b_bf16_b64": ("decode_7b", lambda: llama(64, 512, 1)),
        "prefill_7b_bf16_1024": ("prefill_7b", lambda: llama(1, 0, 1024)),
    }
    return makers, graph


def measure(name, mode, device, seconds):
    """One row, in this process."""
    began = time.time()
    torch.manual_seed(42)
    if device == "cpu":
        wait = lambda: None
    else:
        wait = torch.cuda.synchronize
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in name
        torch.backends.cudnn.benchmark = True
    makers, graph = rows(device, mode)
    step, first = makers[name][1]()
    step()
    wait()
    made = time.time() - began
    loss = first() if first else None
    if mode == "graph":
        step = graph(step)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    for _ in range(6):
        step()
        wait()
    waited, begin = [], time.perf_counter()
    while len(waited) < 3 or (len(waited) < 200 and time.perf_counter() - begin < seconds / 2):
        one = time.perf_counter()
        step()
        wait()
        waited.append((time.perf_counter() - one) * 1e3)
    each = max(1, min(200, int(seconds / 10 / (statistics.median(waited) * 1e-3)) + 1))
    rounds = []
    for _ in range(5):
        one = time.perf_counter()
        for _ in range(each):
            step()
        wait()
        rounds.append((time.perf_counter() - one) * 1e3 / each)
    peak = torch.cuda.max_memory_allocated() if device != "cpu" else None
    line = {"peer": "torch", "version": torch.__version__, "workload": name, "mode": mode, "ms": round(statistics.median(rounds), 4)}
    line |= {"waited_ms": round(statistics.median(waited), 4), "first_loss": loss, "peak_bytes": peak, "made_s": round(made, 2)}
    print(json.dumps(line), flush=True)


def main(names, modes, device, seconds):
    """Each row and mode is a process of its own; one that fails is told, and the status says so."""
    makers, _ = rows(device, "eager")
    wanted = [name for name, (section, _) in makers.items() if not names or name in names or section in names]
    unknown = [name for name in names if not any(name in (row, section) for row, (section, _) in makers.items())]
    if unknown:
        raise SystemExit(f"no row or section is called {', '.join(unknown)}; there are {', '.join(makers)}")
    failed = []
    for name in wanted:
        trains = makers[name][0] in ("mlp", "cnn", "lstm", "gpt_char")
        for mode in modes:
            if mode == "graph" and (not trains or device == "cpu"):
                continue
            child = subprocess.run([sys.executable, __file__, name, mode, device, str(seconds)])
            if child.returncode:
                failed.append(f"{name} ({mode})")
                print(json.dumps({"peer": "torch", "workload": name, "mode": mode, "failed": child.returncode}), flush=True)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
