"""Every public name of layers, optimizers, data and training has a docstring, and the examples in them are true."""

import doctest
import importlib
import inspect

import pytest

MODULES = [
    "_files", "amp", "data", "data.transforms", "metrics", "nn", "nn.functional", "nn.init", "nn.memory", "nn.models", "nn.utils", "nn.utils.parametrizations", "nn.utils.rnn", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "profile", "train",
]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_and_examples(name):
    module = importlib.import_module(f"unigrad.{name}")
    missing, runner, parser = [], doctest.DocTestRunner(), doctest.DocTestParser()
    places = [(name, module)] + [(own, getattr(module, own)) for own in module.__all__]
    for own, value in places:
        if not inspect.getdoc(value):
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
    assert not missing, missing
    assert runner.summarize().failed == 0
