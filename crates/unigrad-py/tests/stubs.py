"""Makes the package's stubs: what type checkers and editors know of its native half, and of what the package adds to it.

    python stubs.py RAW OUT [--check]

In: the stubs that PyO3 makes of the Rust declarations (the folder RAW), the package itself, and the source of its `__init__.py`. Out: in the folder
OUT `_unigrad.pyi`, `micrograd.pyi` and `__init__.pyi`; with `--check` the names of those that differ, and status 1 if there are some.
Always: a name that the package has is in a stub, and no stub says `Any` where Rust says more. Names that are methods or dtypes here as well
(`float`, `int`) are written `builtins.float` as types.
"""

import ast
import builtins
import inspect
import sys
from pathlib import Path

import unigrad

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
    "Tensor.shape": "tuple[builtins.int, ...]",
    "grad": "tuple[Tensor, ...]",
}
# Operands of operators.
NUMBERS = "Tensor | builtins.float | Buffer"
ARGUMENTS = {
    **{f"Tensor.__{name}__.other": NUMBERS for name in "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod".split()},
    **{f"Tensor.__{name}__.other": NUMBERS for name in "matmul rmatmul and rand or ror xor rxor lshift rlshift rshift rrshift lt le gt ge".split()},
    "Tensor.__pow__.exponent": NUMBERS,
    "Tensor.__rpow__.base": NUMBERS,
    **{f"Value.__{name}__.other": "Value | float" for name in "add radd mul rmul sub rsub truediv rtruediv".split()},
    "Value.__pow__.exponent": "float",
    "Value.__rpow__.base": "float",
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

    def visit_Name(self, node):
        if node.id in ("Incomplete", "object"):
            return ast.Name("Any") if node.id == "Incomplete" else node
        if node.id == "SupportsIndex":
            node = ast.Name("int")
        if self.qualify and node.id in PLAIN:
            return expression(f"builtins.{node.id}")
        return node


class Stub:
    """Definitions of a module, from those that PyO3 made."""

    def __init__(self, text, qualify):
        self.types, self.tree = Types(qualify), ast.parse(text)

    def of(self, annotation):
        return None if annotation is None else self.types.visit(annotation)

    def function(self, node, owner):
        where = f"{owner}.{node.name}" if owner else node.name
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]:
            if argument is None or argument.arg in ("self", "cls"):
                continue
            is_setter = any(isinstance(decorator, ast.Attribute) and decorator.attr == "setter" for decorator in node.decorator_list)
            known = ARGUMENTS.get(f"{where}.{argument.arg}") or (ARGUMENTS.get(where) or RESULTS.get(where) if is_setter else None)
            argument.annotation = expression(known) if known else self.of(argument.annotation) or ast.Name("Any")
        known = RESULTS.get(where)
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


def native(raw):
    """`_unigrad.pyi`."""
    out = [
        "import builtins",
        "from collections.abc import Iterator, Sequence",
        "from typing import Any, Literal",
        "from typing_extensions import Buffer",
        "",
    ]
    module = unigrad._unigrad
    for name, value in vars(module).items():
        if isinstance(value, unigrad.DType):
            out.append(f"{name}: DType")
    out.append("__version__: builtins.str\n")
    for node in Stub((raw / "__init__.pyi").read_text(), True).definitions():
        if isinstance(node, ast.ClassDef) and node.name == "Tensor":
            own = {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
            for alias, name in unigrad._METHOD_ALIASES.items():
                if alias not in own and name in own:
                    node.body += ast.parse(f"{alias} = {name}").body
        out.append(ast.unparse(node) + "\n")
    return "\n".join(out)


def micrograd(raw):
    """`micrograd.pyi`."""
    out = ["from collections.abc import Sequence", "from typing import Any", "", "from ._unigrad import Device as Device", ""]
    nodes = {node.name: node for node in Stub((raw / "_micrograd.pyi").read_text(), False).definitions()}
    # A base stands before what is made of it.
    for name in ["Value", "Module", *nodes]:
        node = nodes.pop(name, None)
        if node is not None:
            out.append(ast.unparse(node) + "\n")
    return "\n".join(out)


def package(source):
    """`__init__.pyi`: what is native, what the file defines, and methods as functions."""
    out = ["import builtins", "from collections.abc import Callable, Sequence", "from types import TracebackType", "from typing import Any, TypeVar", ""]
    out += ["from . import _unigrad as _unigrad"]
    written = ast.parse((source / "__init__.py").read_text())
    defined = {node.name: node for node in written.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    functions, later = [], []
    for name, value in sorted(vars(unigrad).items()):
        if name.startswith("_") and name != "__version__":
            continue
        if name in defined:
            later.append(ast.unparse(shortened(defined[name])) + "\n")
        elif inspect.ismodule(value):
            if value.__name__ == f"unigrad.{name}":
                out.append(f"from . import {name} as {name}")
        elif getattr(unigrad._unigrad, name, None) is value:
            out.append(f"from ._unigrad import {name} as {name}")
        elif inspect.isclass(value) and value.__module__.startswith("unigrad."):
            out.append(f"from .{value.__module__.removeprefix('unigrad.')} import {name} as {name}")
        elif getattr(unigrad.Tensor, getattr(value, "__name__", ""), None) is value:
            functions.append(f"{name} = _unigrad.Tensor.{value.__name__}")
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
    files = {"_unigrad.pyi": native(raw), "micrograd.pyi": micrograd(raw), "__init__.pyi": package(out)}
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
