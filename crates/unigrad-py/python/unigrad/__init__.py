"""unigrad: one lazy tensor graph, compiled to fused kernels for every device.

>>> import unigrad
>>> x = unigrad.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad.tolist()
[2.0, 4.0]
"""

from __future__ import annotations as _annotations

import builtins as _builtins
import functools as _functools
import operator as _operators
import math as _math

from . import _unigrad, micrograd
from ._errors import (
    ArgumentError,
    AutogradError,
    AxisError,
    CancelledError,
    CompileError,
    DeviceError,
    DeviceLostError,
    DTypeError,
    Error,
    FileError,
    FormatError,
    InternalError,
    LaunchError,
    NotAvailableError,
    NotFiniteError,
    OutOfMemoryError,
    ShapeError,
    StateDictError,
)
from ._unigrad import *  # noqa: F403
from ._unigrad import CompiledKernel, CustomKernel, Device, DType, EnableGrad, Layout, MemoryFormat, NoGrad, Tensor, __version__
from . import _array_object as _array_object
from . import _creating, _out, _told

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
newaxis = None

# Other names, as PyTorch and NumPy have them.
_METHOD_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_left_shift": "shl",
    "bitwise_right_shift": "shr",
    "clip": "clamp",
    "divide": "div",
    "floor_divide": "floor_div",
    "frac": "fract",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "logsigmoid": "log_sigmoid",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "reciprocal": "recip",
    "remainder": "rem",
    "sgn": "sign",
    "subtract": "sub",
    "swapdims": "swapaxes",
    "true_divide": "div",
    # What PyTorch calls a copy of a view: tensors are values.
    **{f"{_name}_copy": _name for _name in "diagonal expand narrow permute squeeze t transpose unbind unfold unsqueeze view".split()},
}

for _alias, _name in _METHOD_ALIASES.items():
    setattr(Tensor, _alias, getattr(Tensor, _name))

from . import _torch_names  # noqa: E402
from ._torch_names import (  # noqa: E402
    as_tensor,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    bartlett_window,
    blackman_window,
    broadcast_shapes,
    broadcast_tensors,
    can_cast,
    cartesian_prod,
    cat,
    hamming_window,
    hann_window,
    normal,
    promote_types,
    randint_like,
    result_type,
    scalar_tensor,
    vander,
)



def _by_name(name, method):
    """A method as a function, whose first argument may be given by PyTorch's name for it, ``input``, and which takes ``out`` where PyTorch's does."""
    takes_out = name in _out.NAMES

    @_functools.wraps(method)
    def function(input, *args, **kwargs):
        if kwargs and takes_out and "out" in kwargs:
            return _out.called(name, function, (input, *args), kwargs)
        try:
            return method(input, *args, **kwargs)
        except Exception as error:
            if isinstance(error, AttributeError) and not isinstance(input, Tensor):
                raise TypeError(f"argument 'input': a tensor is wanted, not {_told._shown(input)}") from None
            _told.tell(error, method, (input, *args), kwargs, first="input")
            raise

    function.__module__, function.__qualname__ = __name__, name
    return _out.signed(function) if takes_out else function


# Every method is a function as well: `unigrad.exp(x)` is `x.exp()`. What a tensor and this module have both is the module's.
_OWN = {"backward", "item", "tolist", "numpy", "tobytes", "realize", "to", "cpu", "copy_", "requires_grad_", "size", "dim", "numel", "cast"}
_OWN |= {"data_ptr", "register_hook", "retain_grad", "stride", "type"}
for _name in dir(Tensor):
    _method = getattr(Tensor, _name)
    if not _name.startswith("_") and callable(_method) and _name not in _OWN and _name not in globals():
        globals()[_name] = _by_name(_name, _method)
for _name in ("column_stack", "concat", "dstack", "hstack", "stack", "vstack"):
    globals()[_name] = _out.taking(_name, globals()[_name])


def numel(x: Tensor) -> int:
    """The number of elements.

    >>> import unigrad
    >>> unigrad.numel(unigrad.ones(2, 3))
    6
    """
    return x.numel()


def meshgrid(*tensors: Tensor | Sequence[Tensor], indexing: str = "ij") -> list[Tensor]:
    """Grids of coordinates: a tensor for each vector, given one by one or as a list.

    >>> import unigrad
    >>> [x.tolist() for x in unigrad.meshgrid(unigrad.tensor([1, 2]), unigrad.tensor([3]))]
    [[[1], [2]], [[3], [3]]]
    """
    listed = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    return _unigrad.meshgrid(*listed, indexing=indexing)


def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Sums of products by Einstein's convention.

    >>> import unigrad
    >>> unigrad.einsum("ij,jk->ik", unigrad.ones(2, 3), unigrad.ones(3, 4)).shape
    (2, 4)
    """
    listed = operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    return _unigrad.einsum(equation, *listed)


# Those that PyTorch calls with two numbers as well.
_OF_NUMBERS = {"add", "sub", "mul", "div", "true_divide", "divide", "multiply", "subtract", "floor_divide"}


def _number_first(name: str, operator: Callable[[Any, Any], Tensor] | None) -> Callable[..., Tensor]:
    """The function of a method whose first operand may be a number: ``unigrad.sub(1, x)``.

    A number has no such method. Python's operator does what is meant, and lets the number weigh as little as it does in ``1 - x``. Where there is no
    operator, or a keyword that it does not take, the number becomes a tensor without axes, of the other operand's dtype if it fits there.
    """
    method, takes_out = getattr(Tensor, name), name in _out.NAMES

    @_functools.wraps(method)
    def function(input, other=None, *args, **kwargs):
        if kwargs and takes_out and "out" in kwargs:
            return _out.called(name, function, (input, other, *args), kwargs)
        try:
            return called(input, other, *args, **kwargs)
        except Exception as error:
            _told.tell(error, method, (input, *(() if other is None else (other,)), *args), kwargs, first="input", numbers=True)
            raise

    def called(input, other, *args, **kwargs):
        if name in _OF_NUMBERS and isinstance(input, (_builtins.int, _builtins.float)) and isinstance(other, (_builtins.int, _builtins.float)):
            input = tensor(input)
        if isinstance(input, (_builtins.int, _builtins.float)) and isinstance(other, Tensor):
            if operator is not None and not args and not kwargs:
                return operator(input, other)
            # Functions of real numbers have no operator: what is beside integers is a float, for they may not have its number.
            stays = operator is not None and isinstance(input, _builtins.int)
            dtype = other.dtype if other.is_floating_point() or stays else get_default_dtype()
            input = full((), input, dtype=dtype, device=other.device)
        # Without `other` the method says what it misses, or has it by another name: `pow(x, exponent=2)`.
        return method(input, *(() if other is None else (other,)), *args, **kwargs)

    return _out.signed(function) if takes_out else function


for _name, _operator in {
    "add": _operators.add, "sub": _operators.sub, "mul": _operators.mul, "div": _operators.truediv, "true_divide": _operators.truediv,
    "divide": _operators.truediv, "multiply": _operators.mul, "subtract": _operators.sub, "floor_divide": _operators.floordiv,
    "remainder": _operators.mod, "pow": _operators.pow, "bitwise_and": _operators.and_, "bitwise_or": _operators.or_, "bitwise_xor": _operators.xor,
    "bitwise_left_shift": _operators.lshift, "bitwise_right_shift": _operators.rshift,
    "float_power": None, "xlogy": None, "xlog1py": None,
}.items():  # fmt: skip
    globals()[_name] = _number_first(_name, _operator)


def where(condition: Tensor, input: Tensor | float | None = None, other: Tensor | float | None = None) -> Any:
    """``input`` where the condition is true, else ``other``; without both, where the condition is true, as a tuple of indices.

    >>> import unigrad
    >>> unigrad.where(unigrad.tensor([True, False]), 1, 2).tolist()
    [1, 2]
    """
    if input is None and other is None and isinstance(condition, Tensor):
        return condition.nonzero(as_tuple=True)
    if not isinstance(condition, Tensor):
        raise TypeError(f"argument 'condition': a tensor is wanted, not {_builtins.type(condition).__name__}")
    return condition.where_(input, other)


class no_grad:  # noqa: N801
    """What is computed inside keeps no way for gradients: ``with unigrad.no_grad(): ...``, or a decorator, with or without parentheses.

    >>> import unigrad
    >>> x = unigrad.ones(2, requires_grad=True)
    >>> with unigrad.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)

    def __init__(self) -> None:
        self._inside: Any = NoGrad()

    def __enter__(self) -> no_grad:
        self._inside.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._inside.__exit__(*raised)

    def __call__(self, function: _F) -> _F:
        @_functools.wraps(function)
        def inside(*args, **kwargs):
            with self.__class__():
                return function(*args, **kwargs)

        return inside


class enable_grad(no_grad):  # noqa: N801
    """What is computed inside keeps a way for gradients, in the midst of ``no_grad`` too; used as that is.

    >>> import unigrad
    >>> x = unigrad.ones(2, requires_grad=True)
    >>> with unigrad.no_grad(), unigrad.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __init__(self) -> None:
        self._inside = EnableGrad()


class set_grad_enabled:  # noqa: N801
    """Whether this thread's ops keep a way for gradients, from the call on; inside of ``with`` until its end, and as a decorator in the function alone.

    >>> import unigrad
    >>> with unigrad.set_grad_enabled(False):
    ...     unigrad.is_grad_enabled()
    False
    >>> unigrad.is_grad_enabled()
    True
    """

    def __init__(self, mode: builtins.bool) -> None:
        if not isinstance(mode, _builtins.bool):
            raise TypeError(f"argument 'mode': a bool is wanted, not {_builtins.type(mode).__name__}")
        self.mode = mode
        self._before = grad_enabled()
        _unigrad._set_grad_enabled(mode)

    def __enter__(self) -> set_grad_enabled:
        _unigrad._set_grad_enabled(self.mode)
        return self

    def __exit__(self, *raised: Any) -> None:
        _unigrad._set_grad_enabled(self._before)

    def __call__(self, function: _F) -> _F:
        # A decorator says nothing about what is outside of the function.
        _unigrad._set_grad_enabled(self._before)
        mode = self.mode

        @_functools.wraps(function)
        def inside(*args, **kwargs):
            with set_grad_enabled(mode):
                return function(*args, **kwargs)

        return inside


inference_mode = no_grad


def is_grad_enabled() -> bool:
    """Whether what is computed now keeps a way for gradients.

    >>> import unigrad
    >>> unigrad.is_grad_enabled()
    True
    """
    return grad_enabled()


def value_and_grad(function: Callable[..., Tensor], argnums: int | Sequence[int] = 0) -> Callable[..., tuple[Tensor, Any]]:
    """A function that gives ``function``'s value and its gradient with respect to the arguments of these numbers.

    >>> import unigrad
    >>> value, gradient = unigrad.value_and_grad(lambda x: (x * x).sum())(unigrad.tensor([3.0]))
    >>> value.item(), gradient.tolist()
    (9.0, [6.0])
    """
    # `int` is a dtype here, as in PyTorch.
    if not callable(function):
        raise TypeError(f"argument 'function': a function is wanted, not {_builtins.type(function).__name__}")
    numbers = (argnums,) if isinstance(argnums, _builtins.int) else argnums
    if not isinstance(numbers, (_builtins.tuple, _builtins.list)) or not _builtins.all(isinstance(number, _builtins.int) for number in numbers):
        raise TypeError(f"argument 'argnums': an integer or several are wanted, not {argnums!r}")

    @_functools.wraps(function)
    def both(*args, **kwargs):
        args = list(args)
        if _builtins.any(not -len(args) <= number < len(args) for number in numbers):
            raise ArgumentError(f"argument 'argnums' is {argnums!r}, of a call with {len(args)} arguments\n help: count them from 0")
        for number in numbers:
            args[number] = args[number].detach().requires_grad_()
        value = function(*args, **kwargs)
        gradients = grad(value, [args[number] for number in numbers])
        return value.detach(), gradients[0] if isinstance(argnums, _builtins.int) else gradients

    return both


from . import autograd, func  # noqa: E402
from .autograd import checkpoint, custom_function  # noqa: E402
from .func import scan, vmap  # noqa: E402
from ._replay import replay  # noqa: E402


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor.

    >>> import unigrad
    >>> unigrad.is_tensor(unigrad.ones(2)), unigrad.is_tensor([1.0])
    (True, False)
    """
    return isinstance(value, Tensor)


def zeros_like(
    x: Tensor, *, dtype: DType | str | type | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Zeros of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.zeros_like(unigrad.ones(2))
    tensor([0., 0.])
    """
    return zeros(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def ones_like(
    x: Tensor, *, dtype: DType | str | type | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Ones of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.ones_like(unigrad.zeros(2))
    tensor([1., 1.])
    """
    return ones(x.shape, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def full_like(
    x: Tensor, fill_value: float, *, dtype: DType | str | type | None = None, device: Device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """One value everywhere, of a tensor's shape, dtype and device.

    >>> import unigrad
    >>> unigrad.full_like(unigrad.zeros(2), 7.0)
    tensor([7., 7.])
    """
    return full(x.shape, fill_value, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def rand_like(
    x: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | str | type | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Uniform random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.rand_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    return rand(x.shape, generator=generator, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


def randn_like(
    x: Tensor,
    *,
    generator: Generator | None = None,
    dtype: DType | str | type | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed random numbers of a tensor's shape, dtype and device; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randn_like(unigrad.zeros(2, 3)).shape
    (2, 3)
    """
    return randn(x.shape, generator=generator, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)


_OF_TENSORS = "numel meshgrid einsum where zeros_like ones_like full_like rand_like randn_like".split()
_PYTORCHS = _torch_names.__all__
_told.name_arguments(globals(), _OF_TENSORS + _PYTORCHS)
for _name in ("cat", "normal", "where"):
    globals()[_name] = _out.taking(_name, globals()[_name])
concatenate = cat
for _name, _added in _creating.KEYWORDS.items():
    if _name != "empty_like":
        globals()[_name] = _creating.with_keywords(_name, globals()[_name], _added)
empty_like = zeros_like
# PyTorch's names of these: `torch.device("cpu")`.
device, dtype, layout, memory_format = Device, DType, Layout, MemoryFormat

_LAZY = {"amp", "array_api", "data", "metrics", "nn", "optim", "profile", "torch", "train"}
_NAMED = {"Network": "train", "Trainer": "train", "load": "_files", "save": "_files", "autocast": "amp", "finfo": "array_api", "iinfo": "array_api"}


def __getattr__(name):
    # Loaded when they are asked for: `import unigrad` is fast, and needs no other library.
    if name in _LAZY:
        from importlib import import_module

        return import_module(f".{name}", __name__)
    if name in _NAMED:
        from importlib import import_module

        return getattr(import_module(f".{_NAMED[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
