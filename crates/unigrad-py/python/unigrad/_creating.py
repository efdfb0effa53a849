"""Keywords of PyTorch's functions that make tensors: ``out``, ``layout`` and ``pin_memory``.

In: a function of the crates or of this package that makes a tensor. Out: the same with these keywords.
Always: without them nothing is looked at; the dtype and the device of ``out`` are those of what is made.
Never: a sparse tensor, or memory that stays pinned: that one of them is asked for is an error.
"""

import functools
import inspect

from ._errors import ArgumentError, DTypeError, NotAvailableError
from ._out import OUT, Signed, checked, refused, short, write
from ._unigrad import _lies, grad_enabled

LAYOUT = inspect.Parameter("layout", inspect.Parameter.KEYWORD_ONLY, default=None)
PIN_MEMORY = inspect.Parameter("pin_memory", inspect.Parameter.KEYWORD_ONLY, default=False)
MEMORY_FORMAT = inspect.Parameter("memory_format", inspect.Parameter.KEYWORD_ONLY, default=None)
# The keywords of each function beside its own.
PLACED = (LAYOUT, PIN_MEMORY)
OF_OUT = "arange empty eye full linspace logspace ones rand randint randn randperm zeros".split()
KEYWORDS = {
    **dict.fromkeys(OF_OUT, (OUT, *PLACED)),
    **dict.fromkeys("bartlett_window blackman_window hamming_window hann_window normal scalar_tensor tril_indices triu_indices".split(), PLACED),
    **dict.fromkeys("empty_like full_like ones_like rand_like randint_like randn_like zeros_like".split(), (*PLACED, MEMORY_FORMAT)),
    "empty": (OUT, *PLACED, MEMORY_FORMAT),
    "tensor": (PIN_MEMORY,),
}
# PyTorch warns of `out` that has another shape here as well, and in none of the others.
_WARNS = "arange"


def place(layout=None, pin_memory=False, memory_format=None):
    """Whether a tensor can lie as it is asked to: an error that says why not."""
    if layout is not None or memory_format is not None:
        _lies(layout, memory_format)
    if pin_memory is not False and pin_memory is not None:
        if pin_memory is not True:
            raise TypeError(f"argument 'pin_memory': a bool is wanted, not {type(pin_memory).__name__}")
        raise NotAvailableError(
            "argument 'pin_memory' is True: no tensor stays in pinned memory; a copy to a GPU goes through memory that is pinned for it\n"
            " help: leave it away"
        )


def with_keywords(name, function, added):
    """A function that makes a tensor, with keywords beside its own."""
    takes_out, takes = OUT in added, {parameter.name for parameter in added}

    def call(*args, **kwargs):
        if kwargs and not takes.isdisjoint(kwargs):
            place(**{keyword: kwargs.pop(keyword) for keyword in ("layout", "pin_memory", "memory_format") if keyword in takes and keyword in kwargs})
            if takes_out and (out := kwargs.pop("out", None)) is not None:
                return _to_out(name, function, out, args, kwargs)
        return function(*args, **kwargs)

    call = functools.wraps(function)(call)
    call.__wrapped__ = Signed(function, added)
    return call


def _to_out(name, function, out, args, kwargs):
    checked(out, several=False)
    dtype, device, requires_grad = kwargs.pop("dtype", None), kwargs.pop("device", None), kwargs.pop("requires_grad", False)
    if grad_enabled() and out.requires_grad:
        raise refused(name)
    made = function(*args, dtype=out.dtype if dtype is None else dtype, device=out.device if device is None else device, **kwargs)
    if made.dtype != out.dtype:
        message = f"{name}: dtype {short(made.dtype)} does not match dtype of out parameter ({short(out.dtype)}): argument 'out'"
        raise DTypeError(f"{message}\n help: leave `dtype` away")
    if made.device != out.device:
        raise ArgumentError(f"{name}: device {made.device} does not match device of out parameter ({out.device}): argument 'out'\n help: leave `device` away")
    write(out, made, stacklevel=4, warns=name == _WARNS)
    return out.requires_grad_() if requires_grad else out
