"""Makes the package's stubs: what type checkers and editors know of its native half, and of what the package adds to it.

    python stubs.py RAW OUT [--check]

In: the stubs that PyO3 makes of the Rust declarations (the folder RAW), the package itself, and the source of its `__init__.py`. Out: in the folder
OUT `_unigrad.pyi`, `micrograd.pyi`, `data/native.pyi`, `__init__.pyi` and those of the Python modules; with `--check` the names of those that differ, and status 1 if there are some.
Always: a name that the package has is in a stub, and no stub says `Any` where Rust says more. Names that are methods or dtypes here as well
(`float`, `int`) are written `builtins.float` as types.
"""

import ast
import builtins
import copy
import inspect
import sys
from pathlib import Path

import stubs_modules

import unigrad
from unigrad import _results

HEADER = "# Made from the Rust declarations and the package by `cargo xtask generate`.\n\n"

# What is an object of any class in Rust's words. By class and name, or by name.
RESULTS = {
    **{
        f"Tensor.__{name}__": "Tensor"
        for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
        for name in (name, f"r{name}")
    },
    **{f"Tensor.__{name}__": "Tensor" for name in "lt le eq ne gt ge".split()},
    "Tensor.item": "builtins.int | builtins.float | builtins.bool",
    "Tensor.tolist": "Any",
    "Tensor.numpy": "Any",
    "Tensor.__array__": "Any",
    "Tensor.size": "Any",
    "Tensor.__iter__": "Iterator[Tensor]",
    "Value._prev": "set[Value]",
    **{f"Value.__{name}__": "Value" for name in "add radd mul rmul sub rsub truediv rtruediv pow rpow".split()},
    "Neuron.w": "list[Value]",
    "Neuron.parameters": "list[Value]",
    "Layer.neurons": "list[Neuron]",
    "Layer.parameters": "list[Value]",
    "Layer.__call__": "Any",
    "MLP.layers": "list[Layer]",
    "MLP.parameters": "list[Value]",
    "MLP.__call__": "Any",
    "Module.parameters": "list[Value]",
    "Tensor.shape": "builtins.tuple[builtins.int, ...]",
    "Tensor.__index__": "builtins.int",
    "Tensor.__int__": "builtins.int",
    **{f"Tensor.{name}": "_Pair" for name in "sort topk kthvalue cummax cummin mode".split()},
    "Tensor.aminmax": "_MinMax",
    "Tensor.rsub": "Tensor",
    "Tensor.grad_fn": "Any",
    "Tensor.split": "builtins.tuple[Tensor, ...]",
    "Tensor.tensor_split": "builtins.tuple[Tensor, ...]",
    "grad": "builtins.tuple[Tensor, ...]",
}
# Operands of operators.
NUMBERS = "Tensor | builtins.float | Buffer"
SIZES = "builtins.int | Sequence[builtins.int]"
ARGUMENTS = {
    **{f"Tensor.__{name}__.other": NUMBERS for name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod".split()},
    **{f"Tensor.__{name}__.other": NUMBERS for name in "matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift lt le gt ge".split()},
    **{f"Tensor.{name}.other": NUMBERS for name in "add sub rsub".split()},
    **{f"Tensor.split.{name}": f"{SIZES} | None" for name in "split_size split_size_or_sections".split()},
    **{f"Tensor.tensor_split.{name}": f"Tensor | {SIZES} | None" for name in "indices_or_sections indices sections".split()},
    "Tensor.__pow__.exponent": NUMBERS,
    "Tensor.__rpow__.base": NUMBERS,
    **{f"Value.__{name}__.other": "Value | float" for name in "add radd mul rmul sub rsub truediv rtruediv".split()},
    "Value.__pow__.exponent": "float",
    "Value.__rpow__.base": "float",
    **{f"Tensor.{name}": SIZES for name in "expand.shape reshape.shape view.shape flip.dims permute.dims transpose.dims repeat.repeats tile.repeats".split()},
    **{f"{name}.shape": SIZES for name in "empty ones zeros rand randn".split()},
    **{name: "Tensor" for name in "block_diag.tensors meshgrid.tensors einsum.operands".split()},
    **{f"arange.{name}": "Tensor | builtins.float | None" for name in "start end step stop".split()},
    **{f"{name}.{argument}": "Tensor | builtins.tuple[builtins.int, builtins.int]" for name, argument in [("set_rng_state", "new_state"), ("Generator.set_state", "state")]},
    "grad.outputs": "Tensor | Sequence[Tensor]",
    "grad.inputs": "Tensor | Sequence[Tensor]",
    "grad.grad_outputs": "Tensor | Sequence[Tensor] | None",
    "full.fill_value": "Tensor | builtins.float",
    "randint.high": "builtins.int | Sequence[builtins.int] | None",
    "Value.data": "float",
    "Value.grad": "float",
    "Value.__new__.data": "float",
    "Neuron.__call__.x": "Sequence[Value | float]",
    "Layer.__call__.x": "Sequence[Value | float]",
    "MLP.__call__.x": "Sequence[Value | float]",
}
PLAIN = {name for name in dir(builtins) if isinstance(getattr(builtins, name), type)}


def expression(text):
    return ast.parse(text, mode="eval").body


class Types(ast.NodeTransformer):
    """Types as this module writes them."""

    def __init__(self, qualify):
        self.qualify = qualify

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in ("_typeshed", "typing", "unigrad", "collections.abc", "typing_extensions", "micrograd"):
            return expression("Any") if node.attr in ("Incomplete", "Any") else ast.Name(node.attr)
        text = ast.unparse(node)
        if text.startswith(("collections.abc.", "unigrad.")):
            return ast.Name(text.rsplit(".", 1)[1])
        return node

    def visit_Subscript(self, node):
        if ast.unparse(node.value).endswith("PathLike"):
            return expression("PathLike[builtins.str]")
        # Sequences, in the words of their protocol.
        if ast.unparse(node.value).endswith("SupportsGetItem"):
            item = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
            return ast.Subscript(ast.Name("Sequence"), self.visit(item))
        return self.generic_visit(node)

    def visit_BinOp(self, node):
        """A union, each member once."""
        members = []

        def collect(part):
            if isinstance(part, ast.BinOp):
                collect(part.left)
                collect(part.right)
            else:
                text = ast.unparse(self.visit(part))
                if text not in members:
                    members.append(text)

        collect(node)
        return expression(" | ".join(members))

    def visit_Name(self, node):
        if node.id == "Incomplete":
            return ast.Name("Any")
        if node.id == "object":
            return node
        node = ast.Name({"SupportsIndex": "int", "SupportsFloat": "float", "PathLike": "Any"}.get(node.id, node.id))
        if node.id == "Any":
            return node
        if self.qualify and node.id in PLAIN:
            return expression(f"builtins.{node.id}")
        return node


class Stub:
    """Definitions of a module, from those that PyO3 made."""

    def __init__(self, text, qualify):
        self.types, self.tree = Types(qualify), ast.parse(text)

    def of(self, annotation):
        if annotation is None:
            return None
        made = self.types.visit(annotation)
        text = ast.unparse(made)
        whole = {"tuple": "[Any, ...]", "dict": "[builtins.str, Any]"}.get(text.removeprefix("builtins."))
        return expression(f"{text}{whole}") if whole else made

    def function(self, node, owner):
        where = f"{owner}.{node.name}" if owner else node.name
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if argument is None or argument.arg in ("self", "cls"):
                continue
            is_setter = any(isinstance(decorator, ast.Attribute) and decorator.attr == "setter" for decorator in node.decorator_list)
            known = ARGUMENTS.get(f"{where}.{argument.arg}") or (ARGUMENTS.get(where) or RESULTS.get(where) if is_setter else None)
            argument.annotation = expression(known) if known else self.of(argument.annotation) or ast.Name("Any")
        known = RESULTS.get(where) or ("builtins.tuple[Any, ...]" if node.name == "__reduce__" else None)
        if known and not (node.returns is not None and ast.unparse(node.returns) == "None"):
            node.returns = expression(known)
        else:
            node.returns = self.of(node.returns) or ast.Name("Any")
        if not node.body:
            node.body = [ast.Expr(ast.Constant(...))]
        return node

    def definitions(self):
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name != "__getattr__":
                yield self.function(node, "")
            elif isinstance(node, ast.ClassDef):
                node.bases = [self.of(base) for base in node.bases]
                node.decorator_list = []
                for member in node.body:
                    if isinstance(member, ast.FunctionDef):
                        self.function(member, node.name)
                    elif isinstance(member, ast.AnnAssign):
                        member.annotation = self.of(member.annotation)
                yield node


# What `_array_object.py` gives the class.
ADDED = '''
def to_device(self, device: Device | builtins.str, /, *, stream: builtins.int | None = None) -> Tensor:
    """The array on another device."""
def __array_namespace__(self, /, *, api_version: builtins.str | None = None) -> Any:
    """The namespace of the array API standard: `unigrad.array_api`."""
def __complex__(self, /) -> builtins.complex:
    """The value of a tensor with one element."""
'''


def native(raw):
    """`_unigrad.pyi`."""
    out = [
        "import builtins",
        "from collections.abc import Iterator, Sequence",
        "from os import PathLike",
        "from typing import Any, Final, NamedTuple",
        "from typing_extensions import Buffer",
        "",
        "class _Pair(NamedTuple):\n    values: Tensor\n    indices: Tensor\n",
        "class _MinMax(NamedTuple):\n    min: Tensor\n    max: Tensor\n",
    ]
    module = unigrad._unigrad
    for name, value in vars(module).items():
        if isinstance(value, (unigrad.DType, unigrad.Layout, unigrad.MemoryFormat)):
            out.append(f"{name}: {type(value).__name__}")
    out.append("__version__: builtins.str\n")
    for node in Stub((raw / "__init__.pyi").read_text(), True).definitions():
        if isinstance(node, ast.ClassDef) and node.name == "Tensor":
            node.body += ast.parse(ADDED).body
            # By name: a name that is native as well has its place by the order that the linker gave the native ones.
            added = {name: value for name, value in sorted(vars(unigrad.Tensor).items()) if str(getattr(value, "__module__", "")).startswith("unigrad._torch_names")}
            # Operators in place have the types of those that are not, which type checkers take then.
            added = {name: value for name, value in added.items() if not name.startswith("__i")}
            node.body = [member for member in node.body if getattr(member, "name", "") not in added]
            for name, value in added.items():
                node.body += ast.parse(stubs_modules.method(value) if name == value.__name__ else f"{name} = {value.__name__}").body
            own = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            for alias, name in unigrad._METHOD_ALIASES.items():
                if alias not in own and name in own:
                    node.body += ast.parse(f"{alias} = {name}").body
        text = ast.unparse(node) + "\n"
        # Comparisons are tensors, as in NumPy.
        for name in ["__eq__", "__ne__"]:
            text = text.replace(f"def {name}(self, other: object, /) -> Tensor:\n", f"def {name}(self, other: object, /) -> Tensor:  # type: ignore[override]\n")
        out.append(text)
    return "\n".join(out)


def data_native(raw):
    """`data/native.pyi`."""
    out = ["import builtins", "from collections.abc import Sequence", "from os import PathLike", "from pathlib import Path", "from typing import Any", ""]
    out += ["from unigrad._unigrad import Device as Device"]
    out += ["from unigrad._unigrad import Tensor as Tensor", ""]
    for node in Stub((raw / "_data.pyi").read_text(), True).definitions():
        if node.name in vars(unigrad.data.native):
            out.append(ast.unparse(node) + "\n")
    return "\n".join(out)


def micrograd(raw):
    """`micrograd.pyi`."""
    out = ["from collections.abc import Sequence", "from typing import Any, Final", "", "import builtins", "from ._unigrad import Device as Device", ""]
    nodes = {node.name: node for node in Stub((raw / "_micrograd.pyi").read_text(), False).definitions()}
    # A base stands before what is made of it.
    for name in ["Value", "Module", *nodes]:
        node = nodes.pop(name, None)
        if node is not None:
            out.append(ast.unparse(node) + "\n")
    return "\n".join(out)


# Keywords that the package adds to functions (`_out.py`, `_creating.py`): the type and the default of each.
ADDED_KEYWORDS = {
    "out": ("Tensor | None", None),
    "layout": ("Layout | builtins.str | None", None),
    "pin_memory": ("builtins.bool", False),
    "memory_format": ("MemoryFormat | builtins.str | None", None),
}
# Functions of which some calls give several tensors, which are written to as many.
SEVERAL = {*(name for name in vars(_results) if not name.startswith("_")), "unbind_copy"}


def added_keywords(name):
    """The keywords that the package adds to the function of this name."""
    keywords = [parameter.name for parameter in unigrad._creating.KEYWORDS.get(name, ())]
    return (["out"] if name in unigrad._out.NAMES else []) + keywords


def widened(node, name):
    """A definition by another name, with the keywords that the package adds."""
    node = copy.deepcopy(node)
    node.name, have = name, {argument.arg: argument for argument in node.args.kwonlyargs}
    for keyword in added_keywords(name):
        type_, default = ADDED_KEYWORDS[keyword]
        type_ = expression("Tensor | Sequence[Tensor] | None" if keyword == "out" and name in SEVERAL else type_)
        if keyword in have:
            # The method has it for NumPy's sake, and takes `None` only.
            have[keyword].annotation = type_
        else:
            node.args.kwonlyargs.append(ast.arg(keyword, type_))
            node.args.kw_defaults.append(ast.Constant(default))
    return node


class OfModule(ast.NodeTransformer):
    """Types of the native stub, as another module names them."""

    def visit_Name(self, node):
        return {"_Pair": expression("_unigrad._Pair"), "_MinMax": expression("_unigrad._MinMax"), "Buffer": ast.Name("_Buffer")}.get(node.id, node)


class Natives:
    """Definitions of native functions, and of methods as functions."""

    def __init__(self, raw):
        nodes = list(Stub((raw / "__init__.pyi").read_text(), True).definitions())
        self.functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef)}
        tensor = next(node for node in nodes if node.name == "Tensor")
        self.methods = {node.name: node for node in tensor.body if isinstance(node, ast.FunctionDef)}

    def function(self, name, native):
        return ast.unparse(OfModule().visit(widened(self.functions[native], name))) + "\n"

    def method(self, name):
        """A method as a function: `self` is PyTorch's `input`, which may be given by name."""
        value = vars(unigrad.Tensor)[name]
        if inspect.isfunction(value):
            node = ast.parse(stubs_modules.method(value)).body[0]
        else:
            node = self.methods[unigrad._METHOD_ALIASES.get(name, name)]
        node = widened(node, name)
        places = node.args.posonlyargs or node.args.args
        places[0].arg, places[0].annotation = "input", ast.Name("Tensor")
        if len(node.args.posonlyargs) == 1:
            node.args.args[:0] = node.args.posonlyargs
            node.args.posonlyargs = []
        return ast.unparse(OfModule().visit(node)) + "\n"


def package(source, raw):
    """`__init__.pyi`: what is native, what the file defines, and methods as functions."""
    natives = Natives(raw)
    out = ["import builtins", "from collections.abc import Callable, Sequence", "from types import TracebackType", "from typing import Any, TypeVar", ""]
    out += ["from typing_extensions import Buffer as _Buffer", ""]
    out += ["from . import _unigrad as _unigrad"]
    # Loaded when they are asked for.
    out += [f"from . import {name} as {name}" for name in sorted(unigrad._LAZY)]
    out += [f"from .{module} import {name} as {name}" for name, module in sorted(unigrad._NAMED.items())]
    written = ast.parse((source / "__init__.py").read_text())
    defined = {node.name: node for node in written.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    functions, later = [], []
    for name, value in sorted(vars(unigrad).items()):
        if (name.startswith("_") and name != "__version__") or name in unigrad._LAZY:
            continue
        if name in defined:
            later.append(ast.unparse(widened(shortened(defined[name]), name) if isinstance(defined[name], ast.FunctionDef) else shortened(defined[name])) + "\n")
        elif added_keywords(name) and hasattr(unigrad._unigrad, name):
            later.append(natives.function(name, name))
        elif inspect.ismodule(value):
            if value.__name__ == f"unigrad.{name}":
                out.append(f"from . import {name} as {name}")
        elif value is not None and getattr(unigrad._unigrad, name, None) is value:
            out.append(f"from ._unigrad import {name} as {name}")
        elif inspect.isclass(value) and getattr(unigrad._unigrad, value.__name__, None) is value:
            # Another name, which an import would not show.
            later.append(f"{name} = {value.__name__}")
        elif inspect.isclass(value) and value.__name__ in defined:
            later.append(f"{name} = {value.__name__}")
        elif inspect.isclass(value) and value.__module__.startswith("unigrad."):
            out.append(f"from .{value.__module__.removeprefix('unigrad.')} import {name} as {name}")
        elif getattr(value, "__code__", None) is unigrad.exp.__code__:
            # A method, whose first argument has a name.
            functions.append(natives.method(name) if added_keywords(name) else f"{name} = _unigrad.Tensor.{value.__name__ if hasattr(unigrad.Tensor, value.__name__) else name}")
        elif getattr(value, "__code__", None) is unigrad.add.__code__:
            # A method whose first argument may be a number as well.
            out_type = "out: Tensor | None=None, " if added_keywords(name) else ""
            later.append(f"def {name}(input: {NUMBERS}, other: {NUMBERS}, *args: Any, {out_type}**kwargs: Any) -> Tensor: ...".replace("Buffer", "_Buffer"))
        elif added_keywords(value.__name__ if inspect.isfunction(value) else name) and inspect.isfunction(value) and value.__name__ not in defined:
            # Of another module, where it has fewer keywords.
            later.append(ast.unparse(widened(ast.parse(stubs_modules.function(value)).body[0], name)) + "\n" if name == value.__name__ else f"{name} = {value.__name__}")
        elif inspect.isfunction(value) and value.__module__ != unigrad.__name__:
            # Of a module whose name may be another function's here.
            out.append(f"from .{value.__module__.removeprefix('unigrad.')} import {value.__name__} as {name}")
        elif inspect.isbuiltin(value) or inspect.isfunction(value):
            known = value.__name__ if value.__name__ in defined else f"_unigrad.{value.__name__}"
            later.append(f"{name} = {known}")
        elif value is None or type(value) in (int, float, str):
            later.append(f"{name}: {'None' if value is None else 'builtins.' + type(value).__name__}")
    later.sort(key=lambda text: "=" in text.split("(")[0] and ":" not in text.split("=")[0])
    return "\n".join([*out, "", '_F = TypeVar("_F", bound=Callable[..., Any])', "", *functions, "", *later])


def shortened(node):
    """A definition without what it does."""
    types = Types(True)

    def one(function):
        arguments = function.args
        for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if argument is not None and argument.annotation is not None:
                argument.annotation = types.visit(argument.annotation)
        if function.returns is not None:
            function.returns = types.visit(function.returns)
        keep = function.body[:1] if ast.get_docstring(function) else []
        function.body = [*keep, ast.Expr(ast.Constant(...))]
        return function

    if isinstance(node, ast.FunctionDef):
        return one(node)
    node.body = [one(member) if isinstance(member, ast.FunctionDef) else member for member in node.body]
    return node


def main():
    raw, out = map(Path, sys.argv[1:3])
    files = {"_unigrad.pyi": native(raw), "micrograd.pyi": micrograd(raw), "data/native.pyi": data_native(raw), "__init__.pyi": package(out, raw)}
    for name in stubs_modules.MODULES:
        path = out.joinpath(*name.split("."))
        files[f"{path.relative_to(out)}/__init__.pyi" if path.is_dir() else f"{path.relative_to(out)}.pyi"] = stubs_modules.stub(name)
    different = []
    for name, text in files.items():
        text = HEADER + text.rstrip() + "\n"
        path = out / name
        if path.exists() and path.read_text() == text:
            continue
        different.append(name)
        if "--check" not in sys.argv:
            path.write_text(text)
    print(*different)
    return 1 if different and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
