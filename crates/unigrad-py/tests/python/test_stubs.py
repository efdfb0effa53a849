"""The stubs are those of this build, every public name is in them, and type checkers find nothing in the examples."""

import ast
import importlib.util
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import unigrad as ug

sys.path.insert(0, str(Path(__file__).parents[1]))
import stubs_modules  # noqa: E402

SOURCE = Path(os.environ.get("UNIGRAD_SOURCE", Path(__file__).parents[2]))
STUBS = SOURCE / "python/unigrad"


def test_stubs_are_those_of_this_build():
    raw = os.environ.get("UNIGRAD_RAW_STUBS")
    if raw is None:
        pytest.skip("run by `cargo test --workspace --test python`, which makes them")
    made = subprocess.run([sys.executable, SOURCE / "tests/stubs.py", raw, STUBS, "--check"], capture_output=True, text=True)
    assert made.returncode == 0, f"old: {made.stdout}{made.stderr}\n help: run `cargo xtask generate`"


def names(tree):
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)


def test_stubs_have_no_errors(tmp_path):
    pytest.importorskip("mypy")
    files = [str(path) for path in STUBS.rglob("*.pyi")]
    options = ["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path)]
    environment = {**os.environ, "MYPYPATH": str(SOURCE / "python")}
    environment.pop("PYTHONPATH", None)
    checked = subprocess.run([sys.executable, "-m", "mypy", *options, *files], capture_output=True, text=True, env=environment, timeout=300, cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_public_name_is_in_a_stub():
    known = set(names(ast.parse((STUBS / "__init__.pyi").read_text())))
    # A module that another one is made of is no public name.
    public = {name for name, value in vars(ug).items() if not name.startswith("_") and (not inspect.ismodule(value) or name in ug._LAZY)}
    assert not (public | set(ug._LAZY) | set(ug._NAMED)) - known
    tensor = next(node for node in ast.parse((STUBS / "_unigrad.pyi").read_text()).body if getattr(node, "name", "") == "Tensor")
    assert not {name for name in dir(ug.Tensor) if not name.startswith("_")} - set(names(tensor))
    known = set(names(ast.parse((STUBS / "micrograd.pyi").read_text())))
    assert set(ug.micrograd.__all__) <= known
    for name in stubs_modules.MODULES:
        module = importlib.import_module(f"unigrad.{name}")
        path = STUBS.joinpath(*name.split("."))
        stub = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
        assert not set(getattr(module, "__all__", ())) - set(names(ast.parse(stub.read_text()))), name


EXAMPLE = '''
import unigrad as ug
from unigrad.micrograd import MLP, Device, Value

w: ug.Tensor = ug.zeros(3, requires_grad=True)
x = ug.randn(64, 3)
y = x @ ug.tensor([1.0, -2.0, 3.0])
for _ in range(10):
    loss = (x @ w).mse_loss(y)
    loss.backward()
    with ug.no_grad():
        w.copy_(w - 0.2 * w.grad if w.grad is not None else w)
    w.grad = None
total: float = (x @ w).mse_loss(y).item()
shape: tuple[int, ...] = x.shape
row = x[0, 1:].sum(dim=0, keepdim=True).to("cpu", ug.float32).exp() ** 2
both = ug.concat([x, x], dim=0).reshape(3, -1).softmax(dim=-1)
mask = (x > 0) & (x < 1)
value, gradient = ug.value_and_grad(lambda a: (a * a).sum())(ug.tensor([3.0]))
ug.exp(x).clip(0.0, 1.0)
kept = ug.zeros(64, 3, layout=ug.strided, pin_memory=False)
ug.add(x, 1.0, out=ug.exp(input=x, out=kept)).clone(memory_format=ug.contiguous_format)
ug.max(x, 1, out=(ug.empty(0), ug.empty(0, dtype=ug.int64)))
ug.cat([x, x], out=kept).contiguous(memory_format=ug.preserve_format)


@ug.no_grad()
def evaluate(a: ug.Tensor) -> ug.Tensor:
    return a.relu().sum()


device = Device.gpu() if Device.is_gpu_available() else Device.cpu()
a = Value(2.0, device=device)
b = (1 + a * 2.0) ** 2 / 3 - a
b.backward()
number: float = a.grad
model = MLP(2, [16, 16, 1], device=device)
for p in model.parameters():
    p.data -= 0.1 * p.grad
'''

NETWORK = '''
from typing import Optional

import unigrad as ug
from unigrad import nn, optim
from unigrad.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, n_classes: int, p: float = 0.1) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3, padding="same"), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.drop = nn.Dropout(p)
        self.head = nn.Linear(8 * 4 * 4, n_classes, bias=False)
        self.scale = nn.Parameter(ug.ones(1))

    def forward(self, x: ug.Tensor) -> ug.Tensor:
        h: ug.Tensor = self.features(x)
        return self.head(self.drop(h.flatten(1))) * self.scale


class Batches(ug.train.Callback):
    def on_step_end(self, run: object) -> None:
        print(run)


net = Net(10).train().to("cpu")
optimizer = optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.95))
schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10, eta_min=1e-5)
loss_of = nn.CrossEntropyLoss(label_smoothing=0.1)
x, y = ug.rand(64, 1, 8, 8), ug.randint(0, 10, (64,))
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
for inputs, labels in loader:
    optimizer.zero_grad()
    with ug.amp.autocast(dtype=ug.bfloat16):
        loss = loss_of(net(inputs), labels)
    loss.backward()
    norm: ug.Tensor = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    schedule.step()
state = net.state_dict()
net.load_state_dict(state, strict=True)
for name, parameter in net.named_parameters():
    print(name, parameter.shape)
accuracy = ug.metrics.Accuracy()
accuracy.update(net.eval()(x), y)
run = ug.Trainer(max_epochs=1, callbacks=[Batches()]).fit(net, loss_of, optimizer, loader)
found: Optional[list[float]] = run.history["loss"]
gradient = ug.func.grad(lambda a: (a * a).sum())(x)
probabilities: ug.Tensor = nn.functional.softmax(net(x), dim=-1)
'''


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_find_nothing_in_examples(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    example = tmp_path / "example.py"
    example.write_text(EXAMPLE)
    network = tmp_path / "network.py"
    network.write_text(NETWORK)
    programs = [*(SOURCE / "examples").glob("*.py"), *(SOURCE.parents[1] / "benchmarks").glob("*.py")]
    assert len(programs) > 4
    # Stubs beside the sources, without what is built.
    environment = {**os.environ, "MYPYPATH": f"{SOURCE / 'python'}:{SOURCE / 'examples'}", "PYTHONPATH": str(SOURCE / "python")}
    if checker == "mypy":
        command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache")]
        # PyTorch is beside what is measured, if it is there.
        command += ["--disable-error-code=import-not-found", str(example), str(network), *map(str, programs)]
    else:
        # It takes paths of this folder only: programs are copied, so that they find each other, and the stubs are linked.
        for program in programs:
            shutil.copy(program, tmp_path)
        (tmp_path / "stubs").symlink_to(STUBS)
        settings = {"extraPaths": [str(SOURCE / "python")], "include": ["*.py", "stubs/**/*.pyi"]}
        (tmp_path / "pyrightconfig.json").write_text(json.dumps({**settings, "reportMissingImports": False}))
        command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    checked = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300)
    if checker == "pyright" and "node" in checked.stderr and checked.returncode not in (0, 1):
        pytest.skip(f"pyright cannot be run: {checked.stderr.splitlines()[-1]}")
    assert checked.returncode == 0, checked.stdout + checked.stderr
