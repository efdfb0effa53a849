"""Every public class and function with wrong arguments: an exception of Python's own kinds, never a panic and never an abort."""

import inspect
import itertools
import random

import pytest
import test_nn

import unigrad as ug
from unigrad import amp, data, metrics, nn, optim, profile, train

MODULES = {
    "nn": nn,
    "nn.functional": nn.functional,
    "nn.init": nn.init,
    "nn.memory": nn.memory,
    "nn.models": nn.models,
    "nn.utils": nn.utils,
    "nn.utils.rnn": nn.utils.rnn,
    "nn.utils.parametrizations": nn.utils.parametrizations,
    "optim": optim,
    "optim.lr_scheduler": optim.lr_scheduler,
    "optim.swa_utils": optim.swa_utils,
    "data": data,
    "metrics": metrics,
    "train": train,
    "amp": amp,
    "profile": profile,
}
EXPECTED = (ug.Error, TypeError, ValueError, IndexError, NotImplementedError)


def wrong():
    """Values that are wrong nearly everywhere."""
    return [
        None,
        "wrong",
        b"\xff",
        -1,
        -(2**70),
        0,
        2**62,
        1.5,
        float("nan"),
        float("inf"),
        True,
        [],
        [None],
        ["a", -3],
        (1, 2, 3, 4, 5, 6, 7),
        {},
        {"params": None},
        object(),
        print,
        ug.zeros(()),
        ug.zeros(0),
        ug.zeros(2, 0, 3),
        ug.zeros(1, 1, 1, 1, 1, 1, 1),
        ug.tensor([True, False]),
        ug.tensor([-5, 10**6]),
        ug.ones(2, 3, dtype="float8_e4m3fn"),
        ug.uint8,
    ]


def callables():
    for where, module in MODULES.items():
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value):
                yield f"{where}.{name}", value


def attempt(what, function, *args, **kwargs):
    """Whether it gave something; fails for what is no exception of the expected kinds."""
    try:
        result = function(*args, **kwargs)
        for part in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(part, ug.Tensor) and part.numel() < 10**6:
                part.tolist()
        return True, result
    except EXPECTED as error:
        assert str(error), f"{what}: an error without a message"
        assert "unigrad-py/src" not in str(error), f"{what}: the line is not the user's: {error}"
        return False, None
    except KeyError:
        # Of containers, as of dicts.
        return False, None
    except BaseException as error:
        raise AssertionError(f"{what}({args}, {kwargs}): {type(error).__module__}.{type(error).__name__}: {error}") from error


def arity(function):
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return 0, 1
    plain = [p for p in signature.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return sum(p.default is p.empty for p in plain), len(plain) + any(p.kind == p.VAR_POSITIONAL for p in signature.parameters.values())


@pytest.mark.parametrize(("name", "function"), list(callables()), ids=lambda v: v if isinstance(v, str) else "")
def test_wrong_arguments_are_exceptions(name, function):
    source = random.Random(name)
    required, most = arity(function)
    values = wrong()
    cases = [()] + [(value,) * max(required, 1) for value in values]
    cases += [tuple(source.choices(values, k=source.randint(required, max(most, required)))) for _ in range(40)]
    for args in cases:
        if name == "nn.functional.one_hot" and any(isinstance(a, int) and a > 10**6 for a in args):
            continue  # A size that is a number like others: the allocation is refused where it is read.
        made, result = attempt(name, function, *args)
        if made and isinstance(result, nn.Module):
            for given in itertools.islice(source.sample(values, len(values)), 6):
                attempt(f"{name}.forward", result, given)


@pytest.mark.parametrize(("name", "args", "kwargs", "shapes"), test_nn.LAYERS, ids=lambda v: v if isinstance(v, str) else "")
def test_each_argument_of_layers(name, args, kwargs, shapes):
    layer = getattr(nn, name)
    for at, value in itertools.product(range(len(args)), wrong()):
        attempt(name, layer, *args[:at], value, *args[at + 1 :], **kwargs)
    for key, value in itertools.product(inspect.signature(layer).parameters, wrong()):
        if key not in ("device", "args", "kwargs"):
            bound = inspect.signature(layer).bind(*args, **kwargs)
            attempt(name, layer, **{**bound.arguments, key: value})
    made = layer(*args, **kwargs)
    inputs = [ug.randn(shape) for shape in shapes]
    for at, value in itertools.product(range(len(inputs)), wrong()):
        attempt(f"{name}.forward", made, *inputs[:at], value, *inputs[at + 1 :])
        attempt(f"{name}.forward", made, *inputs, value)


@pytest.mark.parametrize("name", optim.rules.__all__)
def test_each_setting_of_optimizers(name):
    rule = getattr(optim, name)
    for key, value in itertools.product(inspect.signature(rule).parameters, wrong()):
        w = nn.Parameter(ug.ones(2, 2))
        made, optimizer = attempt(name, rule, **{"params": [w], key: value})
        if made and optimizer is not None and name != "LBFGS" and key != "params":
            w.sum().backward()
            attempt(f"{name}.step", optimizer.step)
            optimizer.param_groups[0][key] = value
            attempt(f"{name}.step", optimizer.step)
    w = nn.Parameter(ug.ones(2, 2))
    optimizer = rule([w])
    for value in wrong():
        for method in (optimizer.load_state_dict, optimizer.add_param_group, optimizer.step, optimizer.minimize):
            attempt(f"{name}.{method.__name__}", method, value)


def test_names_of_arguments_are_told():
    w = nn.Parameter(ug.ones(2))
    for name, call in {
        "in_features": lambda: nn.Linear(-1, 2),
        "out_features": lambda: nn.Linear(2, None),
        "kernel_size": lambda: nn.Conv2d(1, 1, (1, 2, 3)),
        "p": lambda: nn.Dropout(1.5),
        "input": lambda: nn.Linear(2, 2)(None),
        "target": lambda: nn.CrossEntropyLoss()(ug.zeros(2, 2), None),
        "reduction": lambda: nn.MSELoss(reduction="max"),
        "lr": lambda: optim.SGD([w], lr="fast"),
        "betas": lambda: optim.Adam([w], betas=(0.9, "x")),
        "params": lambda: optim.Adam(3),
        "batch_size": lambda: data.DataLoader([1], batch_size=0),
        "max_epochs": lambda: ug.Trainer(max_epochs=0),
        "T_max": lambda: optim.lr_scheduler.CosineAnnealingLR(optim.SGD([w]), 0),
        "f": lambda: ug.load(None),
    }.items():
        with pytest.raises(EXPECTED, match=name):
            call()


def test_from_ten_threads():
    from concurrent.futures import ThreadPoolExecutor

    def work(seed):
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = optim.Adam(model.parameters(), lr=0.01)
        x = ug.randn(16, 4)
        losses = []
        for _ in range(10):
            optimizer.zero_grad()
            loss = (model(x) - 1.0).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses[-1] < losses[0]

    with ThreadPoolExecutor(10) as pool:
        assert all(pool.map(work, range(10)))
