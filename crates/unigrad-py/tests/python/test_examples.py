"""The example programs, and that their models are PyTorch's: the same code, states both ways, the same logits."""

import sys
from pathlib import Path

import numpy as np
import pytest

import unigrad as ug

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))


@pytest.mark.parametrize("name", ["digits_cnn", "vae", "gpt"])
def test_examples_run(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])
    __import__(name).main()
    assert capsys.readouterr().out


NOISE = np.random.RandomState(1).randn(3, 8).astype("float32")


def results(name, model, x):
    """What a model gives: its logits, of a VAE those of the mean code, and the loss with the same random numbers for either library."""
    if name != "vae":
        return [model(x)]
    return [model.decode(model.mean(model.encoder(x).relu())), model(x)]


@pytest.mark.parametrize("name", ["digits_cnn", "gpt", "vae"])
def test_states_go_both_ways_with_pytorch(name, monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its models are compared")
    module = __import__(name)
    arguments = [30] if name == "gpt" else []
    ours, theirs = module.build(ug, *arguments), module.build(torch, *arguments)
    for lib in (ug, torch):
        monkeypatch.setattr(lib, "randn_like", lambda _, lib=lib: lib.tensor(NOISE))
    random = np.random.RandomState(0)
    x = {"gpt": random.randint(0, 30, (3, 20)), "vae": random.rand(3, 64).astype("float32")}.get(name, random.rand(3, 1, 8, 8).astype("float32"))
    for direction in ("from PyTorch", "to PyTorch"):
        if direction == "from PyTorch":
            ours.load_state_dict(theirs.state_dict())
        else:
            with ug.no_grad():
                for parameter in ours.parameters():
                    parameter.copy_(parameter.detach() * 1.1)
            theirs.load_state_dict({key: torch.tensor(np.asarray(value)) for key, value in ours.state_dict().items()})
        assert list(ours.state_dict()) == list(theirs.state_dict())
        ours.eval(), theirs.eval()
        for own, their in zip(results(name, ours, ug.tensor(x)), results(name, theirs, torch.tensor(x)), strict=True):
            np.testing.assert_allclose(np.asarray(own.detach()), their.detach().numpy(), rtol=1e-5, atol=1e-5)
