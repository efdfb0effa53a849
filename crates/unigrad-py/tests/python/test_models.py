"""Ready-made models: PyTorch's losses and logits from the same weights, tokens that follow their distribution, and the memory that a step is told to need."""

import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest

import unigrad as ug
from unigrad.nn import memory, models

ROOT = Path(__file__).resolve().parents[4]


def philox(seed, offset, index):
    """Words 0 and 1 of Philox4x32-10."""
    c = [index & 0xFFFFFFFF, index >> 32, offset & 0xFFFFFFFF, offset >> 32]
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0], c[1]


def normal(seed, number, element):
    w0, w1 = philox(seed, number << 32, element)
    u1, u2 = ((w0 >> 8) + 1) * 2.0**-24, (w1 >> 8) * 2.0**-24
    return 0.02 * math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2)


def test_losses_of_the_gpt_fall_as_pytorchs_do():
    path = ROOT / "goldens/gpt_tiny_losses.json"
    if not path.exists():
        pytest.skip("the golden files are not beside the package")
    golden = json.loads(path.read_text())
    config = models.GPTConfig(*(golden[name] for name in ("vocab", "ctx", "layers", "heads", "dim")))
    text = (ROOT / "assets/sonnets.txt").read_bytes()
    letters = sorted(set(text))
    assert len(letters) == config.vocab
    tokens = [letters.index(letter) for letter in text]
    model, seed, batch = models.GPT(config), golden["seed"], golden["batch"]
    for number, ((name, p), known) in enumerate(zip(model.named_parameters(), golden["initial"], strict=True)):
        assert (name, list(p.shape)) == (known["name"], known["shape"]) if "shape" in known else name == known["name"]
        with ug.no_grad():
            p.copy_(ug.tensor([normal(seed, number, at) for at in range(p.numel())]).reshape(p.shape) if p.ndim > 1 else ug.ones(p.shape))
        assert p.flatten()[:4].tolist() == pytest.approx(known["first"][:4], abs=1e-8)
    optimizer = ug.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1)
    for step, known in enumerate(golden["losses"]):
        begin = [philox(seed, 0xFFFFFFFF << 32, step * batch + row)[0] % (len(tokens) - config.ctx - 1) for row in range(batch)]
        loss = model.loss(*(ug.tensor([tokens[at + by : at + by + config.ctx] for at in begin]) for by in (0, 1)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert loss.item() == pytest.approx(known, rel=1e-3), step


def test_models_give_pytorchs_logits():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its models are compared")
    from torch import nn
    from torch.nn import functional as F

    class Cnn(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = nn.Conv2d(1, 32, 3, padding=1), nn.Conv2d(32, 64, 3, padding=1)
            self.fc1, self.fc2 = nn.Linear(64 * 4 * 3, 128), nn.Linear(128, 5)

        def forward(self, x):
            x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
            return self.fc2(F.relu(self.fc1(x.flatten(1))))

    class Mlp(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(12, 7), nn.Linear(7, 6), nn.Linear(6, 3)])

        def forward(self, x):
            x = self.layers[0](x.flatten(1))
            for layer in self.layers[1:]:
                x = layer(F.relu(x))
            return x

    for theirs, ours, shape in [
        (Cnn(), models.CNN(8, 6, 5, padding=1, dropout=0.5).eval(), (3, 1, 8, 6)),
        (Mlp(), models.MLP([12, 7, 6, 3], dropout=0.5).eval(), (4, 3, 4)),
    ]:
        ours.load_state_dict({name: ug.tensor(value.numpy()) for name, value in theirs.state_dict().items()}, strict=True)
        x = torch.randn(shape)
        with torch.no_grad():
            expected = theirs(x).flatten().tolist()
        assert ours(ug.tensor(x.numpy())).flatten().tolist() == pytest.approx(expected, abs=1e-5)
        theirs.load_state_dict({name: torch.from_numpy(value.numpy()) for name, value in ours.state_dict().items()}, strict=True)


def test_files_of_the_command_load(tmp_path):
    (tmp_path / "text.txt").write_text("the quick brown fox jumps over the lazy dog\n" * 40)
    sizes = ["--layers", "2", "--heads", "2", "--dim", "16", "--ctx", "8", "--batch", "2", "--steps", "2", "--sample", "1", "--device", "cpu"]
    command = [sys.executable, "-m", "unigrad", "train", "gpt", "--text", "text.txt", "--out", ".", *sizes]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr
    weights = ug.load(tmp_path / "model.safetensors")
    model = models.GPT(models.GPTConfig(weights["wte.weight"].shape[0], ctx=8, layers=2, heads=2, dim=16))
    model.load_state_dict(weights, strict=True)
    assert model.wte.weight.tolist() == weights["wte.weight"].tolist()


def test_what_models_draw_begins_as_gpt2s():
    model = models.GPT(models.GPTConfig(vocab=100, ctx=32, layers=1, heads=2, dim=64))
    for name, p in model.named_parameters():
        if p.ndim > 1:
            assert p.std().item() == pytest.approx(0.02, rel=0.1) and abs(p.mean().item()) < 2e-3, name
    assert all(p.requires_grad for p in model.parameters()) and len(list(model.parameters())) == 9


def test_a_checkpointed_gpt_has_the_same_gradients():
    x = ug.randint(0, 10, (2, 8))
    train = [(x, x)] * 2
    lasting = []
    for recomputed in (False, True):
        ug.manual_seed(3)
        model = models.GPT(models.GPTConfig(vocab=10, ctx=8, layers=3, heads=2, dim=16))
        optimizer = ug.optim.SGD(model.parameters(), lr=0.1)
        ug.Trainer(gradient_checkpointing=recomputed).fit(model, None, optimizer, train, step=lambda model, batch: model.loss(*batch))
        lasting.append([p.tolist() for p in model.parameters()])
    assert lasting[0] == lasting[1]


def test_what_does_not_fit_a_model_is_told():
    model = models.GPT(models.GPTConfig(vocab=10, ctx=4, layers=1, heads=2, dim=8))
    for call, said in [
        (lambda: models.GPTConfig(10, 4, 1, 3, 8), "heads"),
        (lambda: model(ug.zeros(1, 5, dtype="int64")), "at most 4"),
        (lambda: model(ug.zeros(4, dtype="int64")), "axes"),
        (lambda: model.sample([99], 1), "below 10"),
        (lambda: model.sample("text", 1), "prompt"),
        (lambda: models.CNN(2, 8, 3), "height"),
        (lambda: models.MLP([3]), "sizes"),
        (lambda: models.Sampling(temperature=-1.0), "temperature"),
        (lambda: models.Sampling(top_p=0.0), "top_p"),
        (lambda: models.Sampling().choose(ug.zeros(0)), "logits"),
    ]:
        with pytest.raises((ValueError, TypeError), match=said):
            call()


def shares(sampling, logits):
    source, counts, n = random.Random(7), [0] * len(logits), 1500
    for _ in range(n):
        counts[sampling.choose(logits, source)] += 1
    return [count / n for count in counts]


def test_tokens_come_as_often_as_they_should():
    p = [0.1, 0.4, 0.2, 0.3]
    logits = ug.tensor([math.log(one) for one in p])
    for sampling, expected in [
        (models.Sampling(), p),
        (models.Sampling(temperature=0.5), [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
        (models.Sampling(temperature=0.0), [0, 1, 0, 0]),
        (models.Sampling(top_k=2), [0, 4 / 7, 0, 3 / 7]),
        (models.Sampling(top_p=0.75), [0, 4 / 9, 2 / 9, 3 / 9]),
    ]:
        assert shares(sampling, logits) == pytest.approx(expected, abs=0.05), sampling


def test_a_trained_gpt_goes_on_with_its_text():
    ug.manual_seed(0)
    model = models.GPT(models.GPTConfig(vocab=6, ctx=6, layers=1, heads=2, dim=32))
    optimizer = ug.optim.AdamW(model.parameters(), lr=1e-2)
    text = [0, 1, 2, 3, 4, 5] * 3
    x, y = (ug.tensor([text[at + by : at + by + 6] for at in range(6)]) for by in (0, 1))
    for _ in range(60):
        optimizer.zero_grad()
        model.loss(x, y).backward()
        optimizer.step()
    assert model.sample([0], 8, temperature=0.0) == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert model.sample([], 2, temperature=0.0)[:2] == [0, 1]
    assert model.sample(ug.tensor([2, 3]), 3, generator=5) == model.sample([2, 3], 3, generator=5)


@pytest.mark.parametrize(("batch", "hidden"), [(1, 1), (64, 128), (1000, 300)])
def test_an_estimate_is_what_a_step_takes(batch, hidden):
    device = ug.Device("cpu")
    model = models.MLP([20, hidden, hidden, 4])
    optimizer = ug.optim.AdamW(model.parameters(), lr=1e-3)
    model.realize()
    x = ug.ones(batch, 20).realize()
    before = device.memory_stats()["allocated"]
    loss = model(x).square().mean()
    needs = memory.estimate(model, optimizer, loss)
    assert device.memory_stats()["allocated"] == before, "an estimate takes no memory"
    parameters = sum(4 * p.numel() for p in model.parameters())
    assert (needs.parameters, needs.gradients, needs.buffers) == (parameters, parameters, 0)
    rate = needs.optimizer - 2 * parameters
    assert 0 <= rate <= 8, "two moments of each, and the rate"
    assert needs.total == 4 * parameters + rate + needs.activations and needs.step == needs.gradients + needs.activations
    assert needs.device == device and needs.check() is None
    if batch == 1000:
        assert needs.activations >= 4 * 1000 * 300
    loss.backward()
    assert all(math.isfinite(p.grad.sum().item()) for p in model.parameters()), "the loss is as it was"


def test_what_does_not_fit_is_refused_before_it_runs():
    model = ug.nn.Linear(4, 2)
    optimizer = ug.optim.Lookahead(ug.optim.SGD(model.parameters(), lr=0.1))
    loss = model(ug.ones(2, 4)).square().mean()
    needs = memory.estimate(model, optimizer, loss)
    assert 0 <= needs.optimizer - needs.parameters <= 8, "the slow weights, and the rate"
    huge = memory.Estimate(needs.parameters, 0, 0, needs.gradients, 1 << 60, device="cpu")
    if huge.share() is not None:
        assert huge.share() > 1
        with pytest.raises(ug.ArgumentError, match="of activations beside"):
            huge.check()
    with pytest.raises(ug.ArgumentError, match="depends on no parameter"):
        memory.estimate(model, optimizer, loss.detach())
    for wrong in [(None, optimizer, loss), (model, None, loss), (model, optimizer, 1.0)]:
        with pytest.raises(TypeError, match="argument"):
            memory.estimate(*wrong)
    with pytest.raises(TypeError, match="check_memory"):
        ug.Trainer(check_memory="no")
