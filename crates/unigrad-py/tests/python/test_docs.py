"""Every public name has a docstring, and the examples in them are true."""

import doctest
import inspect

import unigrad as ug


def places():
    yield "unigrad", ug
    # Examples load parts of the package that are not there before.
    for name, value in list(vars(ug).items()):
        if not name.startswith("_") and not inspect.ismodule(value):
            yield name, value
    for owner in [ug.autograd, ug.func]:
        yield owner.__name__, owner
        for name in owner.__all__:
            yield f"{owner.__name__}.{name}", getattr(owner, name)
    for owner in [ug.Tensor, ug.Device, ug.DType, ug.CustomKernel, ug.CompiledKernel, ug.autograd.Function, ug.autograd.FunctionContext]:
        for name in dir(owner):
            if not name.startswith("_"):
                yield f"{owner.__name__}.{name}", getattr(owner, name)


def test_every_name_has_a_docstring():
    plain = (int, float, ug.DType, type(None), bool)
    missing = [name for name, value in places() if not isinstance(value, plain) and not inspect.getdoc(value)]
    assert not missing, missing


def test_every_method_of_tensors_has_an_example():
    missing = [name for name in dir(ug.Tensor) if not name.startswith("_") and ">>>" not in (inspect.getdoc(getattr(ug.Tensor, name)) or "")]
    assert not missing, f"without `>>>`: {missing}"


# Without an example, and why; beside them the classes of exceptions, which are raised and not made.
NO_EXAMPLE = {
    "Autocast": "the native half of `amp.autocast`", "EnableGrad": "the native half of `enable_grad`", "NoGrad": "the native half of `no_grad`",
    "CompiledKernel": "what `CustomKernel` gives, whose methods have some", "Held": "what `memoryview` and DLPack hold a tensor by", "Replayed": "what `replay` gives",
}  # fmt: skip


def test_every_name_has_an_example():
    bare = []
    for name, value in vars(ug).items():
        is_made = callable(value) and not isinstance(value, ug.DType) and not (inspect.isclass(value) and issubclass(value, BaseException))
        if is_made and not name.startswith("_") and name not in NO_EXAMPLE and ">>>" not in (inspect.getdoc(value) or ""):
            bare.append(name)
    assert not bare, f"without `>>>`: {bare}"
    assert all(hasattr(ug, name) for name in NO_EXAMPLE)


def test_examples():
    runner, parser = doctest.DocTestRunner(), doctest.DocTestParser()
    tried = 0
    for name, value in places():
        text = inspect.getdoc(value) or ""
        if ">>>" in text and not isinstance(value, ug.DType):
            tried += runner.run(parser.get_doctest(text, {}, name, None, 0)).attempted
    assert tried > 1500 and runner.summarize().failed == 0
