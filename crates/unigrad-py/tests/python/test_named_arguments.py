"""Whatever is wrong with an argument of any public function: the exception's message names the argument, or the op and what it got."""

import inspect
import re

import pytest

import unigrad as ug

MODULES = {
    "": ug, "amp": ug.amp, "array_api": ug.array_api, "autograd": ug.autograd, "data": ug.data, "data.transforms": ug.data.transforms, "func": ug.func,
    "metrics": ug.metrics, "nn": ug.nn, "nn.functional": ug.nn.functional, "nn.init": ug.nn.init, "nn.utils": ug.nn.utils,
    "nn.utils.parametrizations": ug.nn.utils.parametrizations, "nn.utils.rnn": ug.nn.utils.rnn, "optim": ug.optim,
    "optim.lr_scheduler": ug.optim.lr_scheduler, "optim.swa_utils": ug.optim.swa_utils, "profile": ug.profile, "torch": ug.torch, "train": ug.train,
}  # fmt: skip


# A base of others: nothing fits.
ABSTRACT = {"optim.Optimizer"}


def callables():
    for where, module in MODULES.items():
        for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
            value = getattr(module, name)
            if callable(value) and f"{where}.{name}" not in ABSTRACT and not inspect.ismodule(value) and not (inspect.isclass(value) and issubclass(value, BaseException)):
                yield f"{where}.{name}".lstrip("."), value
    for name in sorted(vars(ug._unigrad)):
        if callable(getattr(ug._unigrad, name)) and not name.startswith("_"):
            yield f"_unigrad.{name}", getattr(ug._unigrad, name)
    for name in sorted(name for name in dir(ug.Tensor) if not name.startswith("_")):
        if callable(getattr(ug.Tensor, name)):
            yield f"Tensor.{name}", getattr(ug.Tensor, name)


CALLABLES = dict(callables())


def parameters(name):
    """Those that a caller gives: not the tensor whose method it is."""
    try:
        known = [p for p in inspect.signature(CALLABLES[name]).parameters.values() if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    except (TypeError, ValueError):
        return []
    return known[1:] if name.startswith("Tensor.") else known


def model():
    return ug.nn.Linear(3, 2)


def either(*given):
    """A function of any number of tensors."""
    return given[0].sum() if given else ug.ones(())


def matrices():
    return ug.nn.Linear(3, 2, bias=False).parameters()


# What arguments of these names are where another one is wrong; a matrix fits most others.
FITTING = {
    "dim": 0, "dim0": 0, "dim1": 1, "axis": 0, "index": ug.tensor([0, 1]), "indices": ug.tensor([0, 1]), "n": 2, "size": (2, 3), "sizes": (2,), "shape": (2, 3),
    "dtype": ug.float32, "device": "cpu", "data": [1.0], "equation": "ij->ji", "p": 2.0, "eps": 1e-5, "k": 1, "start": 0, "end": 3, "stop": 3, "steps": 3, "num": 3,
    "nin": 2, "nout": 2, "nouts": [2], "function": either, "func": either, "fn": either, "forward": either, "transform": ug.data.transforms.ToFloat(), "module": model, "model": model, "dataset": [1, 2, 3, 4],
    "optimizer": lambda: ug.optim.SGD(model().parameters(), lr=0.1), "in_features": 3, "out_features": 2, "in_channels": 3, "out_channels": 2, "kernel_size": 2,
    "name": "weight", "params": matrices, "normalized_shape": 3, "num_features": 3, "num_channels": 3, "num_groups": 1, "embedding_dim": 3,
    "num_embeddings": 4, "embed_dim": 4, "num_heads": 2, "input_size": 3, "hidden_size": 2, "batch_size": 2, "num_classes": 2, "target": ug.tensor([0, 1]),
    "padding": 1, "upscale_factor": 1, "downscale_factor": 1, "output_size": 2, "min_val": 0.0, "max_val": 1.0, "lengths": [1, 2], "labels": [0, 1, 0, 1], "fill_value": 1.0,
}  # fmt: skip
# What no argument is, of each kind: an object, no value, a text, numbers, and a tensor of many axes on which little is defined.
WRONG = [object(), None, "wrong", -(2**70), ug.zeros(1, 1, 1, 1, 1, 1, 1)]
# Other names of the same argument.
ALIASES = {
    "dim": ("axis", "dims"), "axis": ("dim",), "dims": ("axes", "dim"), "axes": ("dims",), "self": ("input",), "input": ("self",), "x": ("dx",), "end": ("stop",), "stop": ("end",),
}  # fmt: skip


def said(error):
    """What is printed of an exception: its message and notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


def names(text, parameter):
    wanted = [parameter.name, *ALIASES.get(parameter.name, ())]
    return any(re.search(rf"['`]{re.escape(name)}['`(=]", text) for name in wanted)


def fitting(parameter):
    value = FITTING.get(parameter.name, ug.ones(2, 3))
    return value() if value is model or parameter.name in ("optimizer", "params") else value


def called(name, known, wrong=None, value=None):
    """What a function says to arguments that fit, and one that does not: the exception, or `None`."""
    args, keywords = [ug.ones(2, 3)] if name.startswith("Tensor.") else [], {}
    for parameter in known:
        given = value if parameter is wrong else fitting(parameter)
        # Methods in place change what they are given, its shape too.
        given = given.clone() if isinstance(given, ug.Tensor) else given
        if parameter is not wrong and parameter.default is not parameter.empty:
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.name == "self":
            args.append(given)
        else:
            keywords[parameter.name] = given
    try:
        result = CALLABLES[name](*args, **keywords)
        if isinstance(result, ug.Tensor) and result.numel() < 10**6:
            result.tolist()
    except Exception as error:
        return error
    return None


# Where arguments fit but for one, that one is named; where others do not fit either, one of them is.
STRICT = [name for name in CALLABLES if called(name, parameters(name)) is None]


# A wrong `out` may be a tensor of another shape.
@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", CALLABLES)
def test_the_message_names_the_argument(name):
    known, problems = parameters(name), []
    for wrong in known:
        for value in WRONG:
            error = called(name, known, wrong, value)
            if error is None:
                continue
            text = said(error)
            # The crates' errors begin with the op, and say which shapes, dtypes or sizes it got.
            of_an_op = isinstance(error, ug.Error) and re.match(r"\w+(:| of) .*(\d|\[|'|`)|index .* \(in \w+\)", text)
            # Files are named by their path; a tensor of many axes may be right, and another argument wrong beside it.
            of_a_file = isinstance(error, OSError) and str(value) in text
            is_strict = name in STRICT and not isinstance(value, ug.Tensor)
            named = of_a_file or (names(text, wrong) if is_strict else any(names(text, parameter) for parameter in known))
            if not (named or of_an_op):
                problems.append(f"{wrong.name}={value!r:.60}: {type(error).__name__}: {text:.200}")
    assert not problems, "\n".join(problems)


def test_most_functions_are_tried_strictly():
    assert len(STRICT) > 0.6 * len(CALLABLES), f"{len(STRICT)} of {len(CALLABLES)}"
