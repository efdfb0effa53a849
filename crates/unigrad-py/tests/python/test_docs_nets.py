"""Every public name of layers, optimizers, data, training and functions has a docstring with an example, and the examples are true."""

import doctest
import importlib
import inspect

import pytest

import unigrad as ug

MODULES = [
    "_files", "amp", "array_api", "autograd", "data", "data.transforms", "func", "metrics", "micrograd", "nn", "nn.functional", "nn.init", "nn.memory", "nn.models", "nn.utils", "nn.utils.parametrizations", "nn.utils.rnn", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "profile", "torch", "train",
]  # fmt: skip

# Without an example, and why.
NO_EXAMPLE = {
    "imag": "there are no complex numbers",
    "Device": "the device of tensors, whose methods have some",
}


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_and_examples(name):
    if name == "torch":
        pytest.importorskip("torch", reason="PyTorch is not installed: its examples need it")
    module = importlib.import_module(f"unigrad.{name}")
    missing, bare, runner, parser = [], [], doctest.DocTestRunner(), doctest.DocTestParser()
    places = [(name, module)] + [(own, getattr(module, own)) for own in module.__all__]
    for own, value in places:
        if not inspect.getdoc(value) and value is not None:
            missing.append(own)
        if inspect.isclass(value):
            members = [(f"{own}.{part}", member) for part, member in vars(value).items() if not part.startswith("_")]
            # What a table makes is of a table; what overrides a documented method is that method.
            missing += [
                part
                for part, member in members
                if inspect.isfunction(member) and not inspect.getdoc(getattr(value, part.rpartition(".")[2]))
            ]
        text = inspect.getdoc(value) or ""
        if ">>>" in text:
            runner.run(parser.get_doctest(text, {}, own, None, 0))
        elif callable(value) and not isinstance(value, ug.DType) and own.rpartition(".")[2] not in NO_EXAMPLE:
            bare.append(own)
    assert not missing, missing
    assert not bare, f"without `>>>`: {bare}"
    assert runner.summarize().failed == 0
