"""What is wrong is a Python exception at the call, which names the line; nothing ends the process."""

import inspect
import subprocess
import sys
import threading

import pytest

import unigrad as ug


def test_classes_are_pythons_and_ours():
    x = ug.ones(2, 3)
    for call, kind in [
        (lambda: x @ x, ValueError),
        (lambda: x.reshape(7), ValueError),
        (lambda: x.sum(dim=5), IndexError),
        (lambda: x[9], IndexError),
        (lambda: x << 1, TypeError),
        (lambda: ug.Device("nonsense"), RuntimeError),
        (lambda: ug.zeros(-1), ValueError),
        (lambda: ug.zeros(2**62), ValueError),
    ]:
        with pytest.raises(kind) as raised:
            call().tolist()
        assert isinstance(raised.value, ug.Error) or "a size is 0 or more" in str(raised.value), raised.value


def test_the_message_names_this_line():
    a, b = ug.ones(2, 3), ug.ones(4, 5)
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(ValueError) as raised:
        a @ b
    assert f"test_errors.py:{line}" in str(raised.value), raised.value
    assert "test_the_message_names_this_line" in str(raised.value)


def test_an_index_out_of_range_is_told_where_it_is_read():
    x = ug.ones(3)
    with pytest.raises(IndexError):
        x.index_select(0, ug.tensor([0, 7])).tolist()


WRONG = [None, "a", 1.5, -7, 2**70, [], {}, object(), b"x", [[1, 2], [3]], ug.float32, ug.zeros(0), ug.ones(2, 3, 4), ug.tensor(True), ug.tensor([5])]


@pytest.mark.parametrize("name", sorted(name for name in dir(ug.Tensor) if not name.startswith("_")))
def test_wrong_arguments_of_methods(name):
    """Whatever a method is given: a result, or an exception of Python's with a text."""
    if not callable(getattr(ug.Tensor, name)):
        return
    for x in [ug.ones(2, 3), ug.tensor([True, False]), ug.tensor(3), ug.zeros(0, 2, dtype=ug.float16)]:
        for n in range(4):
            for shift in range(len(WRONG)):
                given = [WRONG[(shift + 5 * i) % len(WRONG)] for i in range(n)]
                try:
                    getattr(x, name)(*given)
                except (Exception, KeyError) as error:
                    assert not type(error).__name__.startswith("Panic"), (name, given, error)
                    assert "unigrad-py/src" not in str(error), (name, given, error)
                    assert str(error), (name, given)
                if n == 0:
                    break


def native():
    """Every native callable, by name: functions of the module, methods of tensors, what classes make."""
    for name, value in sorted(vars(ug._unigrad).items()):
        if callable(value) and name != "_run_command":
            yield name, value
    scalars = ug.micrograd
    for made in [ug.Device("cpu"), ug.NoGrad(), scalars.Value(1.0), scalars.Neuron(2), scalars.Layer(2, 2), scalars.MLP(2, [1]), scalars.Module()]:
        owner = type(made)
        yield owner.__name__, owner
        for name in sorted(vars(owner)):
            # A cap of a few bytes would be one for all tests after this one.
            if not name.startswith("_") and name != "set_memory_cap" and callable(getattr(made, name)):
                yield f"{owner.__name__}.{name}", getattr(made, name)


NATIVE = dict(native())


@pytest.mark.parametrize("name", NATIVE)
def test_wrong_arguments_of_functions(name):
    """As of methods, by position and by keyword."""
    function = NATIVE[name]
    for n in range(1, 4):
        for shift in range(len(WRONG)):
            given = [WRONG[(shift + 5 * i) % len(WRONG)] for i in range(n)]
            # Sizes of exabytes are refused, some of gigabytes would be made.
            try:
                function(*given)
            except (Exception, KeyError) as error:
                assert not type(error).__name__.startswith("Panic"), (name, given, error)
                assert str(error), (name, given)
    for keyword in ["device", "dtype", "dim", "requires_grad", "no_such_keyword"]:
        for wrong in [object(), "nonsense", -7, [None]]:
            try:
                function(**{keyword: wrong})
            except (Exception, KeyError) as error:
                assert not type(error).__name__.startswith("Panic") and str(error), (name, keyword, error)


def parameters(function):
    try:
        return [p for p in inspect.signature(function).parameters.values() if p.name != "self" and p.kind is not p.VAR_KEYWORD]
    except (TypeError, ValueError):
        return []


# What most arguments of these names can be.
FITTING = {
    "dim": 0, "dim0": 0, "dim1": 1, "axis": None, "index": ug.tensor([0, 1]), "indices": ug.tensor([0, 1]), "n": 2, "size": (2, 3), "sizes": (2,), "shape": (2, 3),
    "dtype": None, "device": None, "data": [1.0], "equation": "ij->ji", "p": 2.0, "eps": 1e-5, "k": 1, "start": 0, "end": 3, "steps": 3, "nin": 2, "nout": 2, "nouts": [2],
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(name for name in dir(ug.Tensor) if not name.startswith("_")) + sorted(NATIVE))
def test_the_message_names_the_argument(name):
    """An object that is nothing an op knows, in the place of each argument in turn."""
    method = getattr(ug.Tensor, name, None)
    function = NATIVE.get(name, method)
    if not callable(function) or name == "DType":
        return
    of_tensor = function is method and name not in NATIVE
    known = parameters(function)
    for wrong in known:
        if wrong.kind is wrong.VAR_POSITIONAL:
            continue
        args, keywords = [ug.ones(2, 3)] if of_tensor else [], {}
        for parameter in known:
            value = object() if parameter is wrong else FITTING.get(parameter.name, ug.ones(2, 3))
            if parameter is not wrong and parameter.default is not parameter.empty:
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                args.append(value)
            elif parameter.kind is not parameter.VAR_POSITIONAL:
                keywords[parameter.name] = value
        try:
            function(*args, **keywords)
        except Exception as error:
            # What prints an exception prints its notes.
            text = "\n".join([str(error), *getattr(error, "__notes__", [])])
            named = any(f"'{parameter.name}'" in text or f"`{parameter.name}`" in text for parameter in known)
            assert named or isinstance(error, ug.Error), (name, wrong.name, type(error), text)


def test_threads_side_by_side():
    results, problems = {}, []

    def work(seed):
        try:
            x = ug.full((64, 64), float(seed))
            for _ in range(20):
                x = (x @ ug.eye(64)).tanh()
            results[seed] = x.sum().item()
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed % 3,)) for seed in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not problems and len(results) == 3


def test_the_interpreter_ends_while_something_is_left():
    program = "import unigrad as ug; x = ug.randn(256, 256); y = (x @ x).realize(); z = y @ y; ug.tensor([1.0], requires_grad=True)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_without_numpy():
    program = (
        "import sys; sys.modules['numpy'] = None; import unigrad as ug\n"
        "assert ug.tensor([1, 2]).sum().item() == 3 and 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_integers_beyond_64_bits_are_wrong_arguments():
    x, whole, big = ug.ones(2, 3), ug.tensor([1, 2]), 2**70
    calls = {
        "data": lambda: ug.tensor(big),
        "fill_value": lambda: ug.full((2,), big),
        "value": lambda: whole.masked_fill(whole > 1, big),
        "other": lambda: whole.eq(big),
        "dim": lambda: x.sum(big),
        "size": lambda: ug.ones(size=(2, big)),
        "": lambda: x.reshape(2, big),
    }
    for name, call in calls.items():
        with pytest.raises(ug.ArgumentError, match="beyond 64 bits") as raised:
            call()
        assert name in "".join([str(raised.value), *getattr(raised.value, "__notes__", [])]), name
