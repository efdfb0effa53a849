"""Mixed precision: products, convolutions and attention in a half type, matrix products in 8-bit floats, and a loss scale.

>>> import unigrad as ug
>>> with ug.amp.autocast(dtype=ug.bfloat16):
...     y = ug.ones(2, 2) @ ug.ones(2, 2)
>>> y.dtype
unigrad.bfloat16
"""

import functools

from . import _check
from ._told import named
from ._unigrad import Autocast as _Autocast
from ._unigrad import DType, Fp8Recipe, _optim
from .optim.optimizer import Optimizer

__all__ = ["Fp8Recipe", "GradScaler", "autocast"]


class autocast:  # noqa: N801
    """Inside, products are computed in ``dtype``, what loses digits or range in halves in ``float32``, the rest as it is; a context or a decorator.

    >>> import unigrad as ug
    >>> with ug.autocast():
    ...     print((ug.ones(1, 1) @ ug.ones(1, 1)).dtype)
    unigrad.bfloat16

    With ``fp8``, a recipe or True for the default one, matrix products are computed in 8-bit floats, and the rest in the recipe's half type. Of a recipe with
    histories a scope is to hold a whole forward pass.

    >>> with ug.autocast(fp8=True):
    ...     print((ug.tensor([[0.55]]) @ ug.ones(1, 1)).tolist())
    [[0.5625]]
    """

    def __init__(self, device_type=None, dtype=None, enabled=True, cache_enabled=None, fp8=None):
        if isinstance(device_type, DType):
            device_type, dtype = None, device_type
        if fp8 is not None and not isinstance(fp8, (bool, Fp8Recipe)):
            raise TypeError(f"argument 'fp8': a recipe (`amp.Fp8Recipe`) or a bool is wanted, not {_check._kind(fp8)}")
        self.fp8 = Fp8Recipe(dtype=dtype) if fp8 is True else fp8 or None
        self.dtype = DType("bfloat16" if dtype is None else dtype)
        self.enabled = _check.flag("enabled", enabled)
        self._inside = _Autocast(self.dtype, self.fp8)

    def __enter__(self):
        if self.enabled:
            self._inside.__enter__()
        return self

    def __exit__(self, *raised):
        if self.enabled:
            self._inside.__exit__(*raised)

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with autocast(dtype=self.dtype, enabled=self.enabled, fp8=self.fp8):
                return function(*args, **kwargs)

        return inside


class GradScaler:
    """A loss scale for ``float16``, which adapts: ``scaler.scale(loss).backward()``, ``scaler.step(optimizer)``, ``scaler.update()``.

    A step whose gradients overflow changes nothing but the scale; all of it is one evaluation.

    >>> import unigrad as ug
    >>> w = ug.nn.Parameter(ug.ones(1))
    >>> optimizer, scaler = ug.optim.SGD([w], lr=0.5), ug.amp.GradScaler(device="cpu")
    >>> scaler.scale((w * w).sum()).backward()
    >>> scaler.step(optimizer)
    >>> w.item(), scaler.get_scale()
    (0.0, 65536.0)
    """

    @named
    def __init__(self, device=None, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True):
        from . import default_device

        self._enabled = _check.flag("enabled", enabled)
        numbers = {"init_scale": init_scale, "growth_factor": growth_factor, "backoff_factor": backoff_factor}
        numbers = [_check.number(name, value) for name, value in numbers.items()]
        device = default_device() if device is None else device
        self._inner = _optim.Scaler(device, *numbers, _check.positive("growth_interval", growth_interval))

    def scale(self, loss):
        """The loss times the scale: what ``backward`` is called on."""
        return self._inner.scale(_check.tensor("loss", loss)) if self._enabled else loss

    def _optimizer(self, optimizer):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"argument 'optimizer': an optimizer is wanted, not {_check._kind(optimizer)}")
        if optimizer._inner is None:
            raise TypeError(
                f"argument 'optimizer': one of `unigrad.optim` is wanted, not {_check._kind(optimizer)}, whose `step` is its own\n"
                " help: scale the loss and divide the gradients in the loop"
            )
        optimizer._update_settings()
        return optimizer._inner

    def unscale_(self, optimizer):
        """Divides the gradients by the scale: to clip them, say, before ``step``."""
        if self._enabled:
            self._inner.unscale(self._optimizer(optimizer))

    def step(self, optimizer):
        """A step with the gradients divided by the scale; none if one of them is not finite. Adapts the scale."""
        if not self._enabled and isinstance(optimizer, Optimizer):
            optimizer.step()
            return
        self._inner.step(self._optimizer(optimizer))

    def update(self, new_scale=None):
        """Nothing: ``step`` adapts the scale, on the device."""

    def get_scale(self):
        """The scale; waits for the device."""
        return self._inner.get_scale() if self._enabled else 1.0

    def is_enabled(self):
        """Whether it scales."""
        return self._enabled

    def state_dict(self):
        """Scale and count."""
        return self._inner.state() if self._enabled else {}

    def load_state_dict(self, state_dict):
        """Continues from a ``state_dict``."""
        if not isinstance(state_dict, dict):
            raise TypeError(f"argument 'state_dict': a dict is wanted, not {_check._kind(state_dict)}")
        if self._enabled:
            self._inner.load_state(state_dict)
