"""`out=`: what functions write to a tensor that is given, by PyTorch's rules of dtypes, shapes and gradients, beside PyTorch where it is installed."""

import ast
import inspect
import warnings
from pathlib import Path

import numpy as np
import pytest

import unigrad as ug

# Arguments in words that fit both libraries.
UNARY = (
    "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 "
    "expm1 floor frac hardshrink isneginf isposinf lgamma log log10 log1p log2 logical_not logit nan_to_num neg negative rad2deg reciprocal round rsqrt sgn "
    "sigmoid sign signbit sin sinc sinh sqrt square tan tanh trunc tril triu msort"
).split()
BINARY = (
    "add arctan2 atan2 copysign div divide eq float_power floor_divide fmax fmin fmod ge greater greater_equal gt heaviside hypot ldexp le less less_equal "
    "logaddexp logaddexp2 logical_and logical_or logical_xor lt maximum max minimum min mul multiply ne nextafter not_equal pow remainder sub subtract "
    "true_divide xlogy"
).split()
WHOLE = "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm".split()
CALLS = {
    **{name: "(x)" for name in UNARY},
    **{name: "(x, y)" for name in BINARY},
    **{name: "(i, j)" for name in WHOLE},
    "bitwise_not": "(i)",
    "addbmm": "(s, b, c)", "addcdiv": "(x, y, y, value=2.0)", "addcmul": "(x, y, y)", "addmm": "(s, x, w)", "addmv": "(v2, x, v3)", "addr": "(x, v2, v3)",
    "all": "(x)", "any": "(x, 1)", "amax": "(x, 1)", "amin": "(x, 0)", "aminmax": "(x, dim=1)", "argmax": "(x, 1)", "argmin": "(x)", "argsort": "(x)",
    "baddbmm": "(b4, b, c)", "bmm": "(b, c)", "bucketize": "(x, v3)", "cat": "([x, y], 1)", "clamp": "(x, 0.2, 0.5)", "clamp_max": "(x, 0.5)", "clamp_min": "(x, 0.5)",
    "clip": "(x, max=y)", "column_stack": "([x, y])", "concat": "([x, y])", "concatenate": "([x, y])", "cross": "(x, y, dim=1)", "cummax": "(x, 1)", "cummin": "(x, 0)",
    "cumprod": "(x, 1)", "cumsum": "(x, 0)", "diag": "(v3)", "diagonal_copy": "(x)", "diff": "(x)", "dot": "(v3, v3)", "dstack": "([x, y])",
    "expand_copy": "(v3, (2, 3))", "gather": "(x, 1, index)", "histc": "(x, 4, 0.0, 1.0)", "hstack": "([x, y])", "index_add": "(x, 1, places, x2)",
    "index_copy": "(x, 1, places, x2)", "index_reduce": "(x, 1, places, x2, 'amax')", "index_select": "(x, 1, places)", "inner": "(v3, v3)", "isin": "(i, j)",
    "kron": "(x, y)", "kthvalue": "(x, 2)", "lerp": "(x, y, 0.3)", "log_softmax": "(x, 1)", "logcumsumexp": "(x, 1)", "logsumexp": "(x, 1)",
    "masked_select": "(x, mask)", "matmul": "(x, w)", "mean": "(x, 1)", "median": "(x, 1)", "mm": "(x, w)", "mode": "(x, 1)", "multinomial": "(one, 1)",
    "mv": "(x, v3)", "nanmean": "(x, 1)", "nanmedian": "(x, 1)", "nanquantile": "(x, 0.3)", "nansum": "(x, 1)", "narrow_copy": "(x, 1, 0, 2)", "nonzero": "(mask)",
    "norm": "(x, 2, 1)", "outer": "(v3, v2)", "permute_copy": "(x, (1, 0))", "prod": "(x, 1)", "quantile": "(x, 0.3, 1)", "renorm": "(x, 2, 0, 0.5)", "scatter": "(x, 1, index, x2)",
    "scatter_add": "(x, 1, index, x2)", "scatter_reduce": "(x, 1, index, x2, 'sum')", "searchsorted": "(v3, x)", "slice_scatter": "(x, x2, 1, 0, 2)", "softmax": "(x, 1)",
    "sort": "(x, 1)", "squeeze_copy": "(x)", "stack": "([x, y])", "std": "(x, 1)", "sum": "(x, 1)", "t_copy": "(x)", "take": "(x, places)", "take_along_dim": "(x, index, 1)",
    "tensordot": "(x, w, 1)", "threshold": "(x, 0.5, 0.1)", "topk": "(x, 2, 1)", "transpose_copy": "(x, 0, 1)", "unfold_copy": "(x, 1, 2, 1)",
    "unsqueeze_copy": "(x, 0)", "unbind_copy": "(x)", "var": "(x, 1)", "vdot": "(v3, v3)", "view_copy": "(x, (3, 2))", "vstack": "([x, y])", "where": "(mask, x, y)",
}
# Functions that make tensors.
CREATED = {
    "arange": "(1, 4)", "empty": "(2, 3)", "eye": "(3)", "full": "((2, 3), 2)", "linspace": "(0.0, 4.0, 5)", "logspace": "(0.0, 2.0, 3)", "ones": "(2, 3)",
    "rand": "(2, 3)", "randint": "(5, (2, 3))", "randn": "(2, 3)", "randperm": "(5)", "zeros": "(2, 3)",
}


def values(m, dtype="float32"):
    """Tensors of a library by the names that calls have for them."""

    def t(data):
        return m.tensor(data).to(getattr(m, dtype))

    k = 1 if dtype.startswith("float") or dtype == "bfloat16" else 10
    rows = [[0.25 * k, 0.5 * k, 0.75 * k], [0.625 * k, 0.125 * k, 0.875 * k]]
    x, y = t(rows), t([[0.5 * k, 0.25 * k, 1.0 * k], [1.5 * k, 0.75 * k, 0.375 * k]])
    return {
        "m": m, "x": x, "y": y, "x2": x[:, :2], "v2": t([1.0, 2.0]), "v3": t([0.2 * k, 0.4 * k, 0.6 * k]), "w": t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "s": t([[1.0, 2.0], [3.0, 4.0]]),
        "b": m.stack([x, y]), "c": m.stack([t([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])] * 2), "b4": m.stack([t([[1.0, 2.0], [3.0, 4.0]])] * 2), "one": t([[0.0, 1.0], [1.0, 0.0]]),
        "i": m.tensor([[3, 5], [6, 2]]), "j": m.tensor([[1, 2], [2, 1]]), "index": m.tensor([[0, 2], [1, 0]]), "places": m.tensor([2, 0]), "mask": m.tensor([[True, False, True], [False, True, True]]),
    }


# What both draw by their own generators.
DRAWN = {"bernoulli": "(mask.to(x.dtype))", "normal": "(x, y)", "rand": "(2, 3)", "randn": "(2, 3)", "randint": "(5, (2, 3))", "randperm": "(5)", "multinomial": "(one, 1)"}
DTYPES = "bool uint8 int32 int64 float16 bfloat16 float32 float64".split()


def called(m, name, call, dtype="float32", **given):
    """What a function gives for the values of a library."""
    given = {**values(m, dtype), **given}
    keywords = "".join(f", {key}={key}" for key in given if key == "out")
    return eval(f"m.{name}{call[:-1]}{keywords})", given)


def numbers(x):
    """As NumPy has them: bfloat16 is none of its dtypes."""
    return np.asarray((x.float() if x.is_floating_point() else x).tolist())


def short(x):
    return str(x.dtype).rpartition(".")[2]


def same(got, expected, name, dtype="float32"):
    """As far as the less precise dtype goes, of what is read and what is written."""
    precise = max({"float16": 2e-3, "bfloat16": 2e-2}.get(one, 1e-5) for one in (short(got), dtype))
    np.testing.assert_allclose(numbers(got), numbers(expected), rtol=precise, atol=precise, err_msg=name)


def parts(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def shaped(m, result, dtype=None, shape=(0,)):
    """Tensors without elements for a result: of its dtypes, or with another one for the first."""
    made = [m.zeros(shape, dtype=getattr(m, dtype if dtype and at == 0 else short(one))) for at, one in enumerate(parts(result))]
    return tuple(made) if isinstance(result, (tuple, list)) else made[0]


@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_in_the_tensor_that_is_given(name):
    plain = called(ug, name, CALLS[name])
    out = shaped(ug, plain)
    other = parts(out)[0]
    result = called(ug, name, CALLS[name], out=out)
    assert result is out or (isinstance(result, tuple) and all(a is b for a, b in zip(result, out)) and type(result).__name__ == type(plain).__name__)
    for got, expected in zip(parts(out), parts(plain)):
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_array_equal(numbers(got), numbers(expected))
    assert other.shape == parts(plain)[0].shape
    # Again into the same tensors, whose shape fits now, and with what is read among what is written.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        called(ug, name, CALLS[name], out=out)
        x = values(ug)["x"]
        if not isinstance(plain, tuple) and plain.shape == x.shape and plain.dtype == x.dtype and "(x" in CALLS[name]:
            assert called(ug, name, CALLS[name], x=x, out=x) is x
            np.testing.assert_array_equal(numbers(x), numbers(plain))


@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_those_that_pytorch_takes(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: what it writes is compared")
    if name == "nextafter":
        tried = ("float32",)
    else:
        tried = ("float32", "float16", "int64", "bool")
    count = 0
    for dtype in tried:
        call = CALLS[name] if name != "argsort" else "(x, stable=True)"
        try:
            expected = called(torch, name, call, dtype)
            plain = called(ug, name, call, dtype)
        except (RuntimeError, TypeError, NotImplementedError, ug.Error):
            # One of the two has no such function of the dtype.
            continue
        if short(parts(expected)[0]) != short(parts(plain)[0]):
            continue
        for to in DTYPES:
            theirs, mine = shaped(torch, expected, to), shaped(ug, plain, to)
            try:
                called(torch, name, call, dtype, out=theirs)
            except (RuntimeError, TypeError, NotImplementedError):
                with pytest.raises(ug.Error, match="argument 'out'"):
                    called(ug, name, call, dtype, out=mine)
                assert parts(mine)[0].shape == (0,), "nothing is written where it is refused"
            else:
                called(ug, name, call, dtype, out=mine)
                assert short(parts(mine)[0]) == to
                if name in ("all", "any") and to == "uint8" and dtype.startswith("float"):
                    # PyTorch casts the input to what is given, which makes 0 of 0.25.
                    continue
                for got, wanted in zip(parts(mine), parts(theirs)):
                    same(got, wanted, f"{name} of {dtype} to {to}", dtype)
            count += 1
    assert count >= len(DTYPES)


@pytest.mark.parametrize("name", CREATED)
def test_what_is_made_is_in_the_tensor_that_is_given(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: what it writes is compared")
    for to in DTYPES:
        theirs, mine = torch.zeros(0, dtype=getattr(torch, to)), ug.zeros(0, dtype=to)
        try:
            called(torch, name, CREATED[name], out=theirs)
        except (RuntimeError, NotImplementedError):
            # Of bools PyTorch makes no ranges, and of integers no random numbers.
            assert to == "bool" or name in ("rand", "randn")
            continue
        assert called(ug, name, CREATED[name], out=mine) is mine and short(mine) == to
        if name in DRAWN or name == "empty":
            assert mine.shape == tuple(theirs.shape)
        else:
            same(mine, theirs, name)


@pytest.mark.parametrize("name", CREATED)
def test_settings_beside_what_is_given(name):
    out = ug.zeros(0)
    assert called(ug, name, CREATED[name][:-1] + ", dtype=m.float32, device='cpu', layout=m.strided, requires_grad=True)", out=out) is out and out.requires_grad
    with pytest.raises(ug.Error, match="dtype float64 does not match dtype of out parameter \\(float32\\)"):
        called(ug, name, CREATED[name][:-1] + ", dtype=m.float64)", out=ug.zeros(0))
    with pytest.raises(ug.Error, match=f"{name}\\(\\): functions with out=... arguments don't support automatic differentiation"):
        called(ug, name, CREATED[name], out=ug.ones(1, requires_grad=True))
    for wrong in (3, [ug.zeros(0)], "out", object()):
        with pytest.raises(TypeError, match="argument 'out'"):
            called(ug, name, CREATED[name], out=wrong)


def test_the_functions_are_pytorchs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its functions are compared")
    stub = Path(torch.__file__).parent / "_C/_VariableFunctions.pyi"
    theirs = {
        node.name for node in ast.walk(ast.parse(stub.read_text())) if isinstance(node, ast.FunctionDef) for one in node.args.kwonlyargs if one.arg == "out"
    }  # fmt: skip
    # Two that PyTorch writes in Python.
    theirs |= {"norm", "tensordot"}
    mine = {name for name, value in vars(ug).items() if inspect.isfunction(value) and "out" in inspect.signature(value).parameters}
    mine = {name for name in mine if name in CALLS or name in CREATED or name in DRAWN or hasattr(torch, name)}
    assert mine == theirs & {name for name in vars(ug) if callable(getattr(ug, name))}


def test_every_function_with_the_keyword_is_tried():
    takes = {*ug._out.NAMES, *ug._creating.OF_OUT}
    assert takes == {*CALLS, *CREATED, *DRAWN}
    for name in takes:
        parameter = inspect.signature(getattr(ug, name)).parameters["out"]
        assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default is None


def test_what_has_another_shape_is_resized_with_a_warning():
    x = ug.ones(2, 3)
    for call in (lambda out: ug.add(x, 1, out=out), lambda out: ug.exp(x, out=out), lambda out: ug.cat([x, x], out=out), lambda out: ug.arange(3, out=out)):
        out = ug.zeros(7, dtype=ug.float64)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized since it had shape \\[7\\]") as seen:
            assert call(out) is out
        assert out.dtype == ug.float64 and out.shape != (7,) and seen[0].filename == __file__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(out.resize_(0))
            call(out)
    with warnings.catch_warnings():
        # As PyTorch, which warns of `arange` alone.
        warnings.simplefilter("error")
        assert ug.zeros(2, out=ug.ones(5)).tolist() == [0.0, 0.0]
    held = ug.ones(4, 5)
    other = held
    with pytest.warns(UserWarning, match="resized"):
        ug.topk(x, 2, out=(held, ug.ones(3, dtype=ug.int64)))
    assert other.shape == (2, 2)


def test_gradients_do_not_go_through():
    w, x = ug.ones(3, requires_grad=True), ug.ones(3)
    for name, call in {
        "add": lambda out: ug.add(x, w, out=out), "exp": lambda out: ug.exp(w, out=out), "matmul": lambda out: ug.matmul(x, w, out=out),
        "stack": lambda out: ug.stack([x, w], out=out), "where": lambda out: ug.where(x > 0, w, x, out=out), "sub": lambda out: ug.sub(1, w, out=out),
    }.items():  # fmt: skip
        out = ug.zeros(0)
        with pytest.raises(RuntimeError, match=f"{name}\\(\\): functions with out=... arguments don't support automatic differentiation, but one of the arguments requires grad"):
            call(out)
        assert out.shape == (0,)
        with ug.no_grad():
            assert not call(out).requires_grad and out.numel()
    with pytest.raises(ug.Error, match="one of the arguments requires grad"):
        ug.add(x, x, out=w)
    with ug.no_grad():
        assert ug.add(x, x, out=w) is w
    assert w.requires_grad and w.is_leaf and w.tolist() == [2.0, 2.0, 2.0]
    (w * w).sum().backward()
    assert w.grad.tolist() == [4.0, 4.0, 4.0]
    # What has no gradient is written, as in PyTorch.
    assert ug.gt(w, 1.0, out=ug.zeros(0, dtype=ug.bool)).all().item() and ug.argmax(w, out=ug.zeros((), dtype=ug.int64)).item() == 0


def test_wrong_tensors_are_told():
    x = ug.ones(2, 3)
    for call, words in [
        (lambda: ug.add(x, x, out=3), "argument 'out': a tensor is wanted, not int"),
        (lambda: ug.exp(x, out="x"), "argument 'out': a tensor is wanted, not str"),
        (lambda: ug.exp(x, out=(ug.ones(1),)), "argument 'out': exp gives one tensor"),
        (lambda: ug.max(x, 1, out=ug.ones(2)), "argument 'out': max gives 2 tensors"),
        (lambda: ug.max(x, 1, out=(ug.ones(2),)), "argument 'out': max gives 2 tensors, not 1"),
        (lambda: ug.max(x, 1, out=(ug.ones(2), None)), "argument 'out': tensors are wanted, not None"),
        (lambda: ug.max(x, 1, out=(ug.ones(2), ug.ones(2))), "argument 'out': result type int64"),
        (lambda: ug.add(x, x, out=ug.ones(2, 3, dtype=ug.int32)), "result type float32 can't be cast to the desired output type int32"),
        (lambda: ug.add(x, 1, out=None, unknown=2), "unknown"),
        (lambda: ug.detach(x, out=x), "keyword"),
        (lambda: x.exp(out=x), "keyword"),
    ]:
        with pytest.raises(TypeError, match=words.replace("(", "\\(")):
            call()
    with pytest.raises(TypeError, match="argument 'out': None is wanted"):
        x.sum(0, out=x)
    # Of several none is written where one of them does not fit.
    values, places = ug.zeros(2), ug.zeros(2)
    with pytest.raises(TypeError, match="int64"):
        ug.max(x, 1, out=(values, places))
    assert values.tolist() == [0.0, 0.0]


def test_sums_are_computed_in_the_dtype_that_is_given():
    x = ug.tensor([1.6, 1.6])
    assert ug.sum(x, 0, out=ug.zeros((), dtype=ug.int64)).item() == 2
    assert ug.cumsum(x, 0, out=ug.zeros(0, dtype=ug.int32)).tolist() == [1, 2]
    halves = ug.full((4096,), 1.0, dtype=ug.float16)
    assert ug.sum(halves * 32, 0, out=ug.zeros(())).item() == 131072.0
    with pytest.raises(TypeError, match="float64 can't be cast"):
        ug.sum(x, 0, dtype=ug.float64, out=ug.zeros(()))
    assert ug.mean(x, 0, out=ug.zeros((), dtype=ug.float64)).dtype == ug.float64


def test_functions_of_layers():
    out = ug.zeros(0)
    assert ug.nn.functional.normalize(ug.tensor([[3.0, 4.0]]), out=out) is out
    np.testing.assert_allclose(numbers(out), [[0.6, 0.8]], rtol=1e-6)
    with pytest.raises(TypeError, match="argument 'out'"):
        ug.nn.functional.normalize(ug.ones(1, 2), out=3)


def test_numbers_may_come_first():
    out = ug.zeros(0)
    assert ug.sub(1, ug.tensor([0.25]), out=out) is out and out.tolist() == [0.75]
    assert ug.pow(2, ug.tensor([3.0]), out=ug.zeros(0)).tolist() == [8.0]
    assert ug.add(input=ug.ones(1), other=2, out=out).tolist() == [3.0]
    assert ug.exp(input=ug.zeros(1), out=out).tolist() == [1.0] and ug.exp(ug.zeros(1), out=None).tolist() == [1.0]


def test_tensors_of_another_device_are_told():
    there = next((name for name in ug.devices() if not name.startswith("cpu")), None)
    if there is None:
        pytest.skip("there is one device: a tensor of another one cannot be given")
    x, out = ug.ones(2, device="cpu"), ug.zeros(2, device=there)
    with pytest.raises(ug.DeviceError, match=f"add: argument 'out' is on {out.device}, the result on {x.device}"):
        ug.add(x, 1, out=out)
    with pytest.raises(ug.Error, match=f"ones: device {x.device} does not match device of out parameter \\({out.device}\\): argument 'out'"):
        ug.ones(2, device="cpu", out=out)
    assert out.tolist() == [0.0, 0.0] and ug.ones(2, out=out) is out and out.device != x.device and out.tolist() == [1.0, 1.0]


def test_what_was_computed_with_a_gradient_is_not_written():
    w = ug.ones(2, requires_grad=True)
    held = w * 2
    with ug.no_grad(), pytest.raises(ug.Error, match="add: argument 'out' was computed from a tensor that requires a gradient"):
        ug.add(ug.ones(2), 1, out=held)
    assert held.tolist() == [2.0, 2.0]


def test_functions_that_are_differentiated_do_not_write_their_gradient_away():
    x, refused = ug.tensor([1.0, 2.0]), "sum\\(\\): functions with out=... arguments don't support automatic differentiation"
    total = lambda x: ug.sum(x * x, 0, out=ug.zeros(()))  # noqa: E731
    for call in (
        lambda: ug.func.grad(total)(x), lambda: ug.func.vjp(total, x), lambda: ug.func.jvp(total, (x,), (x,)), lambda: ug.func.jacrev(total)(x), lambda: ug.func.hessian(total)(x),
        lambda: ug.value_and_grad(total)(x), lambda: ug.func.vmap(ug.func.grad(total))(ug.ones(3, 2)),
    ):  # fmt: skip
        with pytest.raises(ug.Error, match=refused):
            call()
    # What a gradient does not go through is written.
    assert ug.func.grad(lambda x: (x * ug.sum(x.detach(), 0, out=ug.zeros(()))).sum())(x).tolist() == [3.0, 3.0]
    assert ug.func.grad(lambda x: (x * ug.argmax(x, out=ug.zeros((), dtype=ug.int64))).sum())(x).tolist() == [1.0, 1.0]
    assert total(x).item() == 5.0
