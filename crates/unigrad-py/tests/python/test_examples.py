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


@pytest.mark.parametrize("name", ["digits_cnn", "gpt"])
def test_states_go_both_ways_with_pytorch(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its models are compared")
    module = __import__(name)
    arguments = [30] if name == "gpt" else []
    ours, theirs = module.build(ug, *arguments), module.build(torch, *arguments)
    random = np.random.RandomState(0)
    x = random.randint(0, 30, (3, 20)) if name == "gpt" else random.rand(3, 1, 8, 8).astype("float32")
    for direction in ("from PyTorch", "to PyTorch"):
        if direction == "from PyTorch":
            ours.load_state_dict(theirs.state_dict())
        else:
            with ug.no_grad():
                for parameter in ours.parameters():
                    parameter.copy_(parameter.detach() * 1.1)
            theirs.load_state_dict({key: torch.tensor(np.asarray(value)) for key, value in ours.state_dict().items()})
        ours.eval(), theirs.eval()
        np.testing.assert_allclose(np.asarray(ours(ug.tensor(x)).detach()), theirs(torch.tensor(x)).detach().numpy(), atol=1e-5)
