# Made from the Rust declarations and the package by `cargo xtask generate`.

from collections.abc import Sequence
from typing import Any, Final

import builtins
from ._unigrad import Device as Device

class Value:
    """
    A number with a gradient, as micrograd's.

    On the CPU (the default) it is computed at once, in float64; on another device when it, or a gradient, is read.

    >>> from unigrad.micrograd import Value
    >>> a, b = Value(-4.0), Value(2.0)
    >>> c = (a * b + b**3).relu() + a / 2
    >>> c.backward()
    >>> c.data, a.grad, b.grad
    (-2.0, 0.5, 0.0)
    """
    __array_ufunc__: Final[Any]
    "\n    So that NumPy's numbers leave operators to the value.\n    "

    def __add__(self, other: Value | float, /) -> Value:
        ...

    def __copy__(self, /) -> Value:
        ...

    def __deepcopy__(self, /, _memo: Any) -> Value:
        ...

    def __eq__(self, other: object, /) -> bool:
        ...

    def __float__(self, /) -> float:
        ...

    def __hash__(self, /) -> int:
        ...

    def __mul__(self, other: Value | float, /) -> Value:
        ...

    def __neg__(self, /) -> Value:
        ...

    def __new__(cls, /, data: float, *, device: Device | str | None=None, label: str='') -> Value:
        """
        A value of a number, on a device: the CPU if none is given.
        """

    def __pos__(self, /) -> Value:
        ...

    def __pow__(self, exponent: float, modulo: object=None, /) -> Value:
        ...

    def __radd__(self, other: Value | float, /) -> Value:
        ...

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        """
        A pickle holds the number and the device, not what it was made from.
        """

    def __repr__(self, /) -> str:
        ...

    def __rmul__(self, other: Value | float, /) -> Value:
        ...

    def __rpow__(self, base: float, _modulo: object=None, /) -> Value:
        ...

    def __rsub__(self, other: Value | float, /) -> Value:
        ...

    def __rtruediv__(self, other: Value | float, /) -> Value:
        ...

    def __sub__(self, other: Value | float, /) -> Value:
        ...

    def __truediv__(self, other: Value | float, /) -> Value:
        ...

    @property
    def _op(self, /) -> str:
        """
        The operation that made it, as micrograd writes it: `+`, `*`, `**2`, `ReLU`; empty where it was given.
        """

    @property
    def _prev(self, /) -> set[Value]:
        """
        The values that it was made from, as a set. A neuron's are its weights, its bias and its inputs.
        """

    def backward(self, /) -> None:
        """
        Leaves the gradient of this value in all that it was made from: their `.grad`. Its own is 1.
        """

    @property
    def data(self, /) -> float:
        """
        The number. Setting it changes this value only, not what was computed from it.
        """

    @data.setter
    def data(self, /, data: float) -> None:
        ...

    @property
    def device(self, /) -> Device:
        """
        Where it is.
        """

    def exp(self, /) -> Value:
        """
        `e` to the power of this value.
        """

    @property
    def grad(self, /) -> float:
        """
        The gradient of the value that `backward` was called of, with respect to this one; 0 before. Leaves sum those of all calls.
        """

    @grad.setter
    def grad(self, /, grad: float) -> None:
        ...

    @property
    def label(self, /) -> str:
        """
        A name for drawings and debugging; it is given once.
        """

    @label.setter
    def label(self, /, label: str) -> None:
        ...

    def log(self, /) -> Value:
        """
        Natural logarithm; NaN below 0.
        """

    def relu(self, /) -> Value:
        """
        `max(x, 0)`.
        """

    def sigmoid(self, /) -> Value:
        """
        `1 / (1 + exp(-x))`.
        """

    def tanh(self, /) -> Value:
        """
        Hyperbolic tangent.
        """

    def to(self, /, device: Device | str) -> Value:
        """
        The same value on another device; gradients go back. The value itself where it is there.
        """

    def zero_grad(self, /) -> None:
        """
        Sets the gradient of this value to 0.
        """

class Module:
    """
    What has parameters.

    >>> import unigrad
    >>> model = unigrad.micrograd.MLP(2, [3, 1])
    >>> isinstance(model, unigrad.micrograd.Module), len(model.parameters())
    (True, 13)
    """

    def __new__(cls, /, *_args: Any, **_kwargs: Any) -> Module:
        ...

    def parameters(self, /) -> list[Value]:
        """
        The values that are learned.
        """

    def zero_grad(self, /) -> None:
        """
        Sets the gradients of all parameters to 0.
        """

class Layer(Module):
    """
    Neurons side by side.

    >>> from unigrad.micrograd import Layer
    >>> Layer(2, 3, nonlin=False)
    Layer of [LinearNeuron(2), LinearNeuron(2), LinearNeuron(2)]
    """

    def __call__(self, /, x: Sequence[Value | float]) -> Any:
        """
        What its neurons make of these inputs: a list, or of one neuron its value.
        """

    def __new__(cls, /, nin: int, nout: int, nonlin: bool=True, *, device: Device | str | None=None) -> Layer:
        ...

    def __repr__(self, /) -> str:
        ...

    @property
    def neurons(self, /) -> list[Neuron]:
        """
        Its neurons.
        """

    @neurons.setter
    def neurons(self, /, neurons: list[Neuron]) -> None:
        ...

    def parameters(self, /) -> list[Value]:
        """
        The parameters of all neurons.
        """

class MLP(Module):
    """
    Layers one after the other; all but the last end in ReLUs.

    >>> from unigrad.micrograd import MLP
    >>> model = MLP(2, [16, 16, 1])
    >>> len(model.parameters())
    337
    >>> score = model([1.0, -2.0])
    >>> score.backward()
    """

    def __call__(self, /, x: Sequence[Value | float]) -> Any:
        """
        What the last layer gives: a list, or one value.
        """

    def __new__(cls, /, nin: int, nouts: Sequence[int], *, device: Device | str | None=None) -> MLP:
        ...

    def __repr__(self, /) -> str:
        ...

    @property
    def layers(self, /) -> list[Layer]:
        """
        Its layers.
        """

    @layers.setter
    def layers(self, /, layers: list[Layer]) -> None:
        ...

    def parameters(self, /) -> list[Value]:
        """
        The parameters of all layers.
        """

class Neuron(Module):
    """
    A neuron: `relu(w . x + b)`, without `nonlin` the sum alone.

    >>> from unigrad.micrograd import Neuron
    >>> neuron = Neuron(2)
    >>> neuron
    ReLUNeuron(2)
    >>> len(neuron.parameters())
    3
    """

    def __call__(self, /, x: Sequence[Value | float]) -> Value:
        """
        The value for these inputs: values or numbers, as many as weights.
        """

    def __new__(cls, /, nin: int, nonlin: bool=True, *, device: Device | str | None=None) -> Neuron:
        ...

    def __repr__(self, /) -> str:
        ...

    @property
    def b(self, /) -> Value:
        """
        The bias.
        """

    @b.setter
    def b(self, /, b: Value) -> None:
        ...

    @property
    def nonlin(self, /) -> bool:
        """
        Whether it ends in a ReLU.
        """

    @nonlin.setter
    def nonlin(self, /, nonlin: bool) -> None:
        ...

    def parameters(self, /) -> list[Value]:
        """
        The weights, then the bias.
        """

    @property
    def w(self, /) -> list[Value]:
        """
        A weight for each input.
        """

    @w.setter
    def w(self, /, w: list[Value]) -> None:
        ...
