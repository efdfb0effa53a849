"""Gradients of your own, and gradients that cost less memory.

>>> import unigrad
>>> class Sign(unigrad.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         return x.sign()
...
...     @staticmethod
...     def backward(ctx, dy):
...         return dy
>>> x = unigrad.tensor([-2.0, 3.0], requires_grad=True)
>>> Sign.apply(x).sum().backward()
>>> x.grad.tolist()
[1.0, 1.0]
"""

import functools as _functools

from . import _tree, _unigrad
from ._unigrad import NoGrad, Tensor, grad
from ._unigrad import zeros as _zeros

__all__ = ["AccumulateGrad", "CustomFunction", "Function", "FunctionContext", "Node", "checkpoint", "custom_function", "grad"]


def _zeros_like(x):
    return _zeros(x.shape, dtype=x.dtype, device=x.device)


def _run(name, forward, args, backward, materialize=lambda: True):
    """What ``forward()`` gives, with gradients from ``backward(args, outputs, gradients, at)``: one for each of ``args``, or for each tensor in it."""
    places = [at for at, value in enumerate(args) if isinstance(value, Tensor)]
    with NoGrad():
        given = forward()
    is_one = isinstance(given, Tensor)
    outputs = (given,) if is_one else tuple(given) if isinstance(given, (tuple, list)) else None
    if outputs is None or not all(isinstance(value, Tensor) for value in outputs):
        raise TypeError(f"the forward function of `{name}` is to give a tensor or a tuple of them, not {type(given).__name__}")

    def pulled(at, inputs, value, dy):
        all_args = list(args)
        for place, tensor in zip(places, inputs):
            all_args[place] = tensor
        # The value that has a gradient itself, for gradients of gradients.
        values = tuple(value if i == at else other for i, other in enumerate(outputs))
        zero = _zeros_like if materialize() else lambda _: None
        arriving = tuple(dy if i == at else zero(other) for i, other in enumerate(outputs))
        found = backward(tuple(all_args), values, arriving, at)
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(found) == len(args) != len(places):
            found = tuple(found[place] for place in places)
        return found

    results = _unigrad._custom(name, [args[place] for place in places], list(outputs), pulled)
    return results[0] if is_one else tuple(results)


class FunctionContext:
    """What :class:`Function` keeps from forward to backward.

    >>> import unigrad as ug
    >>> class Square(ug.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         (x,) = ctx.saved_tensors
    ...         return gradient * 2 * x
    >>> x = ug.tensor([3.0], requires_grad=True)
    >>> Square.apply(x).sum().backward()
    >>> x.grad
    tensor([6.])
    """

    def __init__(self, needs_input_grad):
        self.needs_input_grad = needs_input_grad
        """For each argument whether a gradient is wanted for it."""
        self._saved = ()
        self._fixed = ()
        self._connected = {}
        self._materialize = True

    def save_for_backward(self, *tensors):
        """Keeps tensors (or ``None``) for ``saved_tensors``."""
        for value in tensors:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"save_for_backward takes tensors and None, not {type(value).__name__}: set an attribute for other values")
        self._saved = tensors

    @property
    def saved_tensors(self):
        """What was saved, as a tuple."""
        return tuple(self._connected.get(id(value), value) for value in self._saved)

    def mark_non_differentiable(self, *outputs):
        """No gradient comes from these results."""
        self._fixed = outputs

    def set_materialize_grads(self, value):
        """Whether a result that no gradient arrives at has zeros for it (as it is), or ``None``."""
        self._materialize = bool(value)


class Function:
    """A function with its own gradient, as ``torch.autograd.Function``: ``forward(ctx, *args)`` and ``backward(ctx, *gradients)``, both static.

    ``backward`` gets a gradient for each result and gives one, or ``None``, for each argument. Call it by ``apply``.

    >>> import unigrad as ug
    >>> class Double(ug.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 2
    >>> x = ug.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    @staticmethod
    def forward(ctx, *args):
        """The results: a tensor, or a tuple of them. Its ops are not differentiated."""
        raise NotImplementedError("write `forward(ctx, *args)` as a static method of your class")

    @staticmethod
    def backward(ctx, *gradients):
        """A gradient, or ``None``, for each argument."""
        raise NotImplementedError("write `backward(ctx, *gradients)` as a static method of your class")

    @classmethod
    def apply(cls, *args):
        """What the function gives for arguments: tensors, and values of any other kind."""
        ctx = FunctionContext(tuple(isinstance(value, Tensor) and value.requires_grad for value in args))
        raw = []

        def forward():
            given = cls.forward(ctx, *args)
            raw.extend((given,) if isinstance(given, Tensor) else given if isinstance(given, (tuple, list)) else ())
            return given

        def backward(args, values, arriving, at):
            ctx._connected = {id(raw[at]): values[at]}
            return cls.backward(ctx, *arriving)

        results = _run(cls.__name__, forward, args, backward, lambda: ctx._materialize)
        fixed = {id(value) for value in ctx._fixed}
        if not fixed:
            return results
        if isinstance(results, Tensor):
            return results.detach() if id(raw[0]) in fixed else results
        return tuple(result.detach() if id(own) in fixed else result for own, result in zip(raw, results))


class Node:
    """What computed a tensor, as ``Tensor.grad_fn`` gives it.

    >>> import unigrad as ug
    >>> (ug.ones(2, requires_grad=True) * 2).grad_fn.name()
    'MulBackward0'
    """

    def __init__(self, op):
        if not isinstance(op, str):
            raise TypeError(f"argument 'op': a name is wanted, not {type(op).__name__}")
        self._op, self._native = op, None

    def name(self):
        """The name of the tensor's last op: ``MulBackward0`` of ``mul``. What the package composes of others has the last one's."""
        return "".join(word.capitalize() for word in self._op.split("_")) + "Backward0"

    @property
    def next_functions(self):
        """Where gradients go from here, for each input of the op: a pair of what computed it (``AccumulateGrad`` of a leaf, ``None`` where no gradient
        flows) and 0, since an op has one result. Nothing after a backward pass that let the graph go.

        >>> import unigrad as ug
        >>> x = ug.ones(2, requires_grad=True)
        >>> (x * 2).exp().grad_fn.next_functions
        ((<MulBackward0>, 0),)
        """
        return tuple((None if node is None else _node(node), 0) for node in (() if self._native is None else self._native.next()))

    def __eq__(self, other):
        if not isinstance(other, Node):
            return NotImplemented
        return self is other or (None not in (self._native, other._native) and self._native.key() == other._native.key())

    def __hash__(self):
        return id(self) if self._native is None else hash(self._native.key())

    def __repr__(self):
        return f"<{self.name()}>"


class AccumulateGrad(Node):
    """Where gradients of a leaf add up: the last node of a gradient's graph.

    >>> import unigrad as ug
    >>> x = ug.ones(2, requires_grad=True)
    >>> node = (x * 2).grad_fn.next_functions[0][0]
    >>> node, node.variable is x
    (<AccumulateGrad>, True)
    """

    @property
    def variable(self):
        """The leaf, whose ``grad`` they add up in; ``None`` where it is gone."""
        return None if self._native is None else self._native.variable()

    def name(self):
        """``torch::autograd::AccumulateGrad``, which programs written for PyTorch look for."""
        return "torch::autograd::AccumulateGrad"

    def __repr__(self):
        return "<AccumulateGrad>"


def _node(native):
    """The node for one of the crates'."""
    node = (AccumulateGrad if native.is_leaf() else Node)(native.op())
    node._native = native
    return node


class CustomFunction:
    """See :func:`custom_function`.

    >>> import unigrad as ug
    >>> double = ug.custom_function(lambda x: x * 2, lambda inputs, output, dy: dy * 2)
    >>> isinstance(double, ug.autograd.CustomFunction), double(ug.ones(2)).tolist()
    (True, [2.0, 2.0])
    """

    def __init__(self, forward, backward=None):
        if not callable(forward):
            raise TypeError(f"`forward` is to be a function, not {type(forward).__name__}")
        _functools.update_wrapper(self, forward)
        self._forward = forward
        self._backward = None
        if backward is not None:
            self.backward(backward)

    def backward(self, function):
        """Sets the gradient; a decorator."""
        if not callable(function):
            raise TypeError(f"`backward` is to be a function, not {type(function).__name__}")
        self._backward = function
        return function

    def __call__(self, *args, **kwargs):
        name = getattr(self._forward, "__name__", "custom_function")
        if self._backward is None:
            raise ValueError(f"`{name}` has no gradient: give `custom_function(forward, backward)`, or decorate a function with `@{name}.backward`")

        def backward(args, values, arriving, _at):
            is_one = len(values) == 1
            return self._backward(args, values[0] if is_one else values, arriving[0] if is_one else arriving)

        return _run(name, lambda: self._forward(*args, **kwargs), args, backward)


def custom_function(forward, backward=None):
    """A function with its own gradient: ``backward(inputs, output, dy)`` gives a gradient, or ``None``, for each argument of ``forward``.

    Of several results ``output`` and ``dy`` are tuples. A decorator without ``backward``.

    >>> import unigrad
    >>> @unigrad.custom_function
    ... def rounded(x):
    ...     return x.round()
    >>> @rounded.backward
    ... def rounded_backward(inputs, output, dy):
    ...     return dy
    >>> x = unigrad.tensor([0.4, 1.6], requires_grad=True)
    >>> rounded(x).sum().backward()
    >>> x.grad.tolist()
    [1.0, 1.0]
    """
    return CustomFunction(forward, backward)


def checkpoint(function, *args, use_reentrant=None, **kwargs):
    """What ``function(*args, **kwargs)`` gives, without keeping what it computes: backward computes it again. Less memory for more work.

    The function must compute the same each time (random numbers are drawn again equally) and read no values. Gradients arrive at the arguments and at
    whatever else it uses. Running statistics of a module move once. ``use_reentrant`` is PyTorch's, and changes nothing.

    >>> import unigrad
    >>> w = unigrad.tensor([2.0, 3.0], requires_grad=True)
    >>> unigrad.checkpoint(lambda x: x * w, unigrad.ones(2)).sum().backward()
    >>> w.grad.tolist()
    [1.0, 1.0]
    """
    if not callable(function):
        raise TypeError(f"`function` is to be a function, not {type(function).__name__}")
    if hasattr(function, "_buffers"):
        from .nn.utils.recompute import guarded

        function = guarded(function)
    inputs, build = _tree.flatten((args, kwargs))
    results = []

    def flat(*tensors):
        args, kwargs = build(tensors)
        leaves, rebuild = _tree.only_tensors(function(*args, **kwargs), "the result of a checkpoint")
        results[:] = [rebuild]
        return leaves

    leaves = _unigrad._checkpoint(flat, inputs)
    return results[0](leaves)
