"""W1 to W8 of `unigrad bench` beside PyTorch on the CPU, eager and compiled, in turns.

    python scripts/bench_torch.py UNIGRAD [W1 W3_softmax ..] [--threads 2] [--rounds 8] [--seconds 0.4] [--modes eager compile] [--beside OTHER_UNIGRAD] [--json FILE]

    python scripts/bench_torch.py table [gpt2 decode_7b_bf16_b1 ..] [--device cuda] [--seconds 2] [--modes eager compile graph]

measures the rows of `unigrad bench table` in PyTorch instead (`scripts/torch_rows.py`): same networks, losses, optimizers, dtypes and names, a line of JSON each.

UNIGRAD is the program; it and one process for each of PyTorch's modes measure the same workload in blocks that follow each other at once, each round in another
order. A line for each workload: milliseconds of each side (the median of the blocks' fastest steps), and PyTorch's best mode over unigrad's: the median over the
rounds of the ratio within one round, and the ratio of the fastest steps of all. Other programs on the machine only make steps slower, so both are told.
Tensors, networks and optimizers are those of `crates/unigrad-bench/src/workloads.rs`; PyTorch's optimizers are its fused ones (compiled: its default ones).
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time


def torch_side(mode, threads):
    """Answers questions as `unigrad bench --serve` does: a line of JSON each."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(42)
    compiled = (lambda f: torch.compile(f)) if mode == "compile" else (lambda f: f)
    uniform = lambda *shape: torch.rand(*shape) * 2 - 1

    def matmul(n, dtype):
        a, b = uniform(n, n).to(dtype), uniform(n, n).to(dtype)
        return lambda: a @ b

    def gelu():
        x, w, b, r = (uniform(1 << 24) for _ in range(4))
        f = compiled(lambda x, w, b, r: F.gelu(x * w + b) + r)
        return lambda: f(x, w, b, r)

    def rows(f):
        x, weight, bias = uniform(4096, 1024), uniform(1024), uniform(1024)
        f = compiled(f)
        return lambda: f(x, weight, bias)

    def train(parameters, loss, optimizer):
        loss, optimizer = compiled(loss), optimizer(list(parameters))

        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.enable_grad():
                loss().backward()
            optimizer.step()

        return step

    adam = lambda parameters: torch.optim.Adam(parameters, 1e-3, fused=True)

    def mlp(batch):
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
        x, y = torch.rand(batch, 784), torch.randint(0, 10, (batch,))
        return train(model.parameters(), lambda: F.cross_entropy(model(x), y), adam)

    def cnn():
        convolutions = [nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        model = nn.Sequential(*convolutions, nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10))
        x, y = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
        return train(model.parameters(), lambda: F.cross_entropy(model(x), y), adam)

    class Block(nn.Module):
        def __init__(self, dim, heads):
            super().__init__()
            self.heads = heads
            self.ln1, self.ln2 = nn.LayerNorm(dim, bias=False), nn.LayerNorm(dim, bias=False)
            self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
            self.up, self.down = nn.Linear(dim, 4 * dim, bias=False), nn.Linear(4 * dim, dim, bias=False)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in self.qkv(self.ln1(x)).split(d, 2))
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
            return x + self.down(F.gelu(self.up(self.ln2(x))))

    class Gpt(nn.Module):
        def __init__(self, vocabulary, context, layers, heads, dim):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(vocabulary, dim), nn.Embedding(context, dim)
            self.blocks, self.norm = nn.ModuleList(Block(dim, heads) for _ in range(layers)), nn.LayerNorm(dim, bias=False)
            for parameter in self.parameters():
                if parameter.dim() > 1:
                    nn.init.normal_(parameter, 0, 0.02)

        def forward(self, inputs, targets):
            x = self.tokens(inputs) + self.positions.weight[: inputs.shape[1]]
            for block in self.blocks:
                x = block(x)
            return F.cross_entropy((self.norm(x) @ self.tokens.weight.t()).flatten(0, 1), targets.flatten())

    def gpt():
        model = Gpt(65, 256, 6, 6, 384)
        inputs, targets = torch.randint(0, 65, (8, 256)), torch.randint(0, 65, (8, 256))
        optimizer = lambda parameters: torch.optim.AdamW(parameters, 1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
        return train(model.parameters(), lambda: model(inputs, targets), optimizer)

    def lstm():
        model = nn.LSTM(64, 256, batch_first=True)
        x, y = uniform(32, 64, 64), uniform(32, 64, 256) * 0.5
        return train(model.parameters(), lambda: F.mse_loss(model(x)[0], y), adam)

    def adamw(count):
        parameters = [nn.Parameter(uniform(50_000_000 // count)) for _ in range(count)]
        for parameter in parameters:
            parameter.grad = uniform(50_000_000 // count)
        if mode == "compile":
            return torch.compile(torch.optim.AdamW(parameters, torch.tensor(1e-3), weight_decay=0.01).step, fullgraph=False)
        return torch.optim.AdamW(parameters, 1e-3, weight_decay=0.01, fused=True).step

    makers = {f"W1_matmul_{n}": (lambda n=n: matmul(n, torch.float32)) for n in (512, 1024, 2048)}
    makers |= {f"W1b_matmul_bf16_{n}": (lambda n=n: matmul(n, torch.bfloat16)) for n in (512, 1024, 2048)}
    makers |= {
        "W2_gelu_chain": gelu,
        "W3_softmax": lambda: rows(lambda x, weight, bias: F.softmax(x, -1)),
        "W3_layernorm": lambda: rows(lambda x, weight, bias: F.layer_norm(x, (1024,), weight, bias)),
        "W4_mlp_b64": lambda: mlp(64),
        "W4_mlp_b512": lambda: mlp(512),
        "W5_cnn_b64": cnn,
        "W6_gpt_char_b8": gpt,
        "W7_lstm": lstm,
        "W8_adamw_1x": lambda: adamw(1),
        "W8_adamw_50x": lambda: adamw(50),
    }
    cases = {}
    print(json.dumps({"place": torch.__version__, "workloads": list(makers)}), flush=True)
    torch.set_grad_enabled(False)
    for line in sys.stdin:
        asked = json.loads(line)
        name, seconds = asked["workload"], asked["seconds"]
        if name not in cases:
            # Memory: one case at a time.
            cases.clear()
            cases[name] = makers[name]()
            for _ in range(3):
                cases[name]()
        step = cases[name]
        begin = time.perf_counter()
        step()
        repeat = max(1, min(1000, math.ceil(50e-6 / max(time.perf_counter() - begin, 1e-9))))
        samples, begin = [], time.perf_counter()
        while not samples or (len(samples) < 100 and time.perf_counter() - begin < seconds):
            one = time.perf_counter()
            for _ in range(repeat):
                step()
            samples.append((time.perf_counter() - one) * 1e3 / repeat)
        print(json.dumps({"block": {"samples": samples}}), flush=True)


class Side:
    """A program that measures when it is asked."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.names = self.said()["workloads"]

    def said(self):
        line = self.child.stdout.readline()
        if not line:
            raise SystemExit(f"{self.child.args[:2]} ended with {self.child.wait()}")
        return json.loads(line)

    def block(self, name, seconds):
        self.child.stdin.write(json.dumps({"workload": name, "seconds": seconds}) + "\n")
        self.child.stdin.flush()
        answer = self.said()
        if "block" not in answer:
            raise SystemExit(f"{name}: {answer}")
        return answer["block"]["samples"]

    def end(self):
        self.child.stdin.close()
        self.child.wait()


def table(arguments):
    """The rows of `unigrad bench table`."""
    import torch_rows

    parser = argparse.ArgumentParser(prog="bench_torch.py table", description=torch_rows.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--modes", nargs="*", default=["eager", "compile", "graph"], choices=["eager", "compile", "graph"])
    options = parser.parse_args(arguments)
    torch_rows.main(options.rows, options.modes, options.device, options.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("unigrad")
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--beside", help="another build of unigrad, measured in the same turns")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.4, help="of a block")
    parser.add_argument("--modes", nargs="*", default=["eager", "compile"])
    parser.add_argument("--json")
    options = parser.parse_args()
    serve = ["bench", "--serve", "--device", "cpu", "--threads", str(options.threads)]
    programs = {"unigrad": options.unigrad} | ({"beside": options.beside} if options.beside else {})
    commands = {side: [program, *serve] for side, program in programs.items()}
    for mode in options.modes:
        commands[mode] = [sys.executable, os.path.abspath(__file__), "--torch", mode, str(options.threads)]
    first = Side(commands["unigrad"])
    asked = options.workloads
    names = [n for n in first.names if not asked or any(n.lower() == w.lower() or n.lower().startswith(w.lower() + "_") for w in asked)]
    first.end()
    ratios, bests = [], []
    for name in names:
        # New processes for each workload: where memory happens to lie, and what a program keeps, is each workload's own.
        sides = {side: Side(command) for side, command in commands.items()}
        blocks = {side: [] for side in sides}
        for side in sides:
            sides[side].block(name, 0.05)
        for turn in range(options.rounds):
            order = list(sides)
            order = order[turn % len(order) :] + order[: turn % len(order)]
            for side in order:
                blocks[side].append(sides[side].block(name, options.seconds))
        for side in sides.values():
            side.end()
        fastest = {side: [min(samples) for samples in blocks[side]] for side in blocks}
        line = {"workload": name} | {f"{side}_ms": round(statistics.median(fastest[side]), 4) for side in blocks}
        best_mode = min(options.modes, key=lambda mode: line[f"{mode}_ms"], default=None)
        if best_mode:
            line["ratio"] = round(statistics.median(t / u for t, u in zip(fastest[best_mode], fastest["unigrad"])), 3)
            line["ratio_of_fastest"] = round(min(fastest[best_mode]) / min(fastest["unigrad"]), 3)
            ratios.append(line["ratio"])
            bests.append(line["ratio_of_fastest"])
        if options.beside:
            line["beside_ratio"] = round(statistics.median(t / u for t, u in zip(fastest["beside"], fastest["unigrad"])), 3)
        print(json.dumps(line), flush=True)
        if options.json:
            with open(options.json, "a") as file:
                file.write(json.dumps(line) + "\n")
    if ratios:
        mean = lambda values: round(math.exp(sum(map(math.log, values)) / len(values)), 3)
        print(json.dumps({"geometric_mean": mean(ratios), "of_fastest": mean(bests)}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--torch"]:
        torch_side(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["table"]:
        table(sys.argv[2:])
    else:
        main()
