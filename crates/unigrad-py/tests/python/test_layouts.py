"""Where and in which order elements lie, as PyTorch's programs ask for it: `layout`, `memory_format`, `pin_memory`."""

import copy
import inspect
import pickle

import pytest

import unigrad as ug

MADE = {
    "zeros": (2,), "ones": (2,), "empty": (2,), "rand": (2,), "randn": (2,), "full": ((2,), 1.0), "eye": (2,), "arange": (3,), "linspace": (0.0, 1.0, 3), "logspace": (0.0, 1.0, 3),
    "randint": (3, (2,)), "randperm": (3,), "tril_indices": (2, 2), "triu_indices": (2, 2), "scalar_tensor": (1.0,), "hann_window": (3,), "hamming_window": (3,),
    "blackman_window": (3,), "bartlett_window": (3,), "normal": (0.0, 1.0, (2,)), "zeros_like": (ug.ones(2),), "ones_like": (ug.ones(2),), "empty_like": (ug.ones(2),),
    "full_like": (ug.ones(2), 1.0), "rand_like": (ug.ones(2),), "randn_like": (ug.ones(2),), "randint_like": (ug.ones(2), 3), "tensor": ([1.0],),
}  # fmt: skip
METHODS = {"new_zeros": (2,), "new_ones": (2,), "new_empty": (2,), "new_full": ((2,), 1.0), "new_tensor": ([1.0],)}
CALLS = {**{name: (getattr(ug, name), args) for name, args in MADE.items()}, **{name: (getattr(ug.ones(2), name), args) for name, args in METHODS.items()}}


@pytest.mark.parametrize("name", CALLS)
def test_what_makes_tensors_takes_the_keywords(name):
    function, args = CALLS[name]
    takes = inspect.signature(function).parameters
    assert function(*args, pin_memory=False).is_contiguous()
    with pytest.raises(ug.NotAvailableError, match="argument 'pin_memory' is True"):
        function(*args, pin_memory=True)
    for wrong in (1, "yes", object()):
        with pytest.raises(TypeError, match="argument 'pin_memory'"):
            function(*args, pin_memory=wrong)
    assert ("layout" in takes) == (name not in ("tensor", "new_tensor"))
    if "layout" in takes:
        for strided in (ug.strided, "strided", None):
            assert function(*args, layout=strided, pin_memory=False).layout is ug.strided
        with pytest.raises(NotImplementedError, match="sparse_coo") as error:
            function(*args, layout="sparse_coo")
        assert "layout" in "".join(error.value.__notes__) and "unigrad.strided" in str(error.value)
        with pytest.raises(TypeError, match="layout"):
            function(*args, layout=3)
    if "memory_format" in takes:
        assert function(*args, memory_format=ug.preserve_format).is_contiguous()
        with pytest.raises(NotImplementedError, match="channels_last"):
            function(*args, memory_format="channels_last")


def test_the_keywords_are_pytorchs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its signatures are compared")
    import ast
    from pathlib import Path

    stub = ast.parse((Path(torch.__file__).parent / "_C/_VariableFunctions.pyi").read_text())
    theirs = {}
    for node in ast.walk(stub):
        if isinstance(node, ast.FunctionDef):
            theirs.setdefault(node.name, set()).update(one.arg for one in node.args.kwonlyargs if one.arg in ("layout", "pin_memory", "memory_format"))
    for name, theirs in theirs.items():
        if theirs and callable(getattr(ug, name, None)) and name != "clone":
            assert theirs <= set(inspect.signature(getattr(ug, name)).parameters), name


def test_formats_of_what_is_there():
    x = ug.arange(4.0).reshape(2, 2)
    for known in (ug.contiguous_format, "contiguous_format", None):
        assert x.clone(memory_format=known).tolist() == x.tolist() == x.contiguous(memory_format=known).tolist() == x.to("cpu", memory_format=known).tolist()
        assert x.cpu(memory_format=known).tolist() == x.tolist() and x.is_contiguous(memory_format=known) and ug.clone(x, memory_format=known).tolist() == x.tolist()
    assert x.clone(memory_format=ug.preserve_format) is not x and x.clone().resize_(4, memory_format=ug.contiguous_format).shape == (4,)
    for call in (lambda f: x.clone(memory_format=f), lambda f: x.contiguous(memory_format=f), lambda f: x.to(ug.float64, memory_format=f), lambda f: x.cpu(memory_format=f), lambda f: x.is_contiguous(f), lambda f: x.clone().resize_(4, memory_format=f)):  # fmt: skip
        with pytest.raises(NotImplementedError, match="channels_last"):
            call("channels_last")
        with pytest.raises(TypeError, match="memory format"):
            call(3)


def test_pytorchs_own_objects_are_known():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: its objects are given")
    assert ug.zeros(2, layout=torch.strided).layout is ug.strided and ug.ones(2).clone(memory_format=torch.contiguous_format).tolist() == [1.0, 1.0]
    with pytest.raises(NotImplementedError, match="sparse_csr"):
        ug.zeros(2, layout=torch.sparse_csr)
    with pytest.raises(NotImplementedError, match="channels_last"):
        ug.ones(2, 2, 2, 2).contiguous(memory_format=torch.channels_last)


def test_there_is_one_of_each():
    for one in (ug.strided, ug.contiguous_format, ug.preserve_format):
        assert pickle.loads(pickle.dumps(one)) is one and copy.deepcopy(one) is one and one in {one}
    assert isinstance(ug.strided, ug.layout) and isinstance(ug.preserve_format, ug.memory_format) and ug.contiguous_format != ug.preserve_format
    assert repr(ug.strided) == "unigrad.strided" and repr(ug.contiguous_format) == "unigrad.contiguous_format"


def test_no_elements_make_room_for_a_result():
    x = ug.ones(2, 3)
    other = x
    assert x.resize_(0) is x and other.shape == (0,) and x.resize_(0, 4).shape == (0, 4)
    with pytest.raises(ug.Error, match="resize_"):
        x.resize_(3)
