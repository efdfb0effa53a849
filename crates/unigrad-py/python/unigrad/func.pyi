# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer

def grad_and_value(func: Callable[..., Any], argnums: builtins.int=0, has_aux: builtins.bool=False) -> Any:
    """A function that gives the gradient of ``func`` and its value, which has one element; with ``has_aux``, ``(gradient, (value, aux))``.

    >>> import unigrad as ug
    >>> ug.func.grad_and_value(lambda x: (x * x).sum())(ug.tensor([3.0]))
    (tensor([6.]), tensor(9.))"""
    ...
def grad(func: Callable[..., Any], argnums: builtins.int=0, has_aux: builtins.bool=False) -> Any:
    """A function that gives the gradient of ``func``, whose value has one element; with ``has_aux``, ``(gradient, aux)``.

    >>> import unigrad
    >>> unigrad.func.grad(lambda x: x**3)(unigrad.tensor(2.0)).item()
    12.0"""
    ...
def vjp(func: Callable[..., Any], *primals: Any) -> Any:
    """``func(*primals)``, and the function from what arrives at the results to the gradients of the primals.

    >>> import unigrad
    >>> value, pull = unigrad.func.vjp(lambda x: x.square(), unigrad.tensor([1.0, 2.0]))
    >>> pull(unigrad.tensor([1.0, 10.0]))[0].tolist()
    [2.0, 40.0]"""
    ...
def jvp(func: Callable[..., Any], primals: Any, tangents: Any) -> Any:
    """``func(*primals)``, and how it changes in the direction ``tangents``: both tuples, of the same structure.

    >>> import unigrad
    >>> x = unigrad.tensor([1.0, 2.0])
    >>> unigrad.func.jvp(lambda x: x.square(), (x,), (unigrad.ones(2),))[1].tolist()
    [2.0, 4.0]"""
    ...
def scan(body: Any, init: Any, xs: Any=None, length: Any=None, reverse: builtins.bool=False) -> Any:
    """A function applied to each element of sequences (along axis 0), with a state that it hands on: one op, whatever the length, as ``jax.lax.scan``.

    ``body(state, x)`` gives the next state and what goes into a sequence (or ``None``); returns the last state and the sequences of what the steps gave. It is
    called once, with stand-ins, and must not read values. Without ``xs`` there are ``length`` steps; with ``reverse`` they go from the last element to the first.
    Structures of tensors are taken and given for either.

    >>> import unigrad
    >>> last, sums = unigrad.scan(lambda total, x: (total + x, total + x), unigrad.tensor(0.0), unigrad.tensor([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])"""
    ...
def jacrev(func: Callable[..., Any], argnums: builtins.int=0) -> Any:
    """A function that gives all derivatives of ``func``'s results by its argument's elements: shape ``result.shape + argument.shape``.

    >>> import unigrad
    >>> unigrad.func.jacrev(lambda x: x * x.sum())(unigrad.tensor([2.0, 3.0])).tolist()
    [[7.0, 2.0], [3.0, 8.0]]"""
    ...
def hessian(func: Callable[..., Any], argnums: builtins.int=0) -> Any:
    """A function that gives all second derivatives of ``func``: shape ``argument.shape + argument.shape`` where its value has no axes.

    >>> import unigrad
    >>> unigrad.func.hessian(lambda x: x.prod() + x.square().sum())(unigrad.tensor([2.0, 3.0])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]"""
    ...
def vmap(func: Callable[..., Any], in_dims: builtins.int=0, out_dims: builtins.int=0, randomness: builtins.str='error') -> Any:
    """``func`` of one slice as a function of all slices at once.

    ``in_dims`` and ``out_dims`` are the axes along which slices lie: a number for all, or a structure of numbers like that of the arguments (of the
    results); ``None`` for what is the same for all slices. ``randomness`` is ``"error"``, ``"different"`` or ``"same"``.

    >>> import unigrad
    >>> dot = unigrad.vmap(lambda a, b: (a * b).sum())
    >>> dot(unigrad.ones(3, 2), unigrad.ones(3, 2)).tolist()
    [2.0, 2.0, 2.0]"""
    ...
def functional_call(module: _Module, parameter_and_buffer_dicts: Any, args: Any=None, kwargs: Any=None, *, tie_weights: builtins.bool=True, strict: builtins.bool=False) -> Any:
    """What a module computes with other tensors in place of its parameters and buffers, by path: a dict, or several.

    With ``strict`` each parameter and buffer is to be given. The module is as it was afterwards. A parameter that stands in several places is one.

    >>> import unigrad as ug
    >>> layer = ug.nn.Linear(2, 1)
    >>> zeros = {name: ug.zeros_like(parameter) for name, parameter in layer.named_parameters()}
    >>> ug.func.functional_call(layer, zeros, ug.ones(3, 2)).tolist()
    [[0.0], [0.0], [0.0]]"""
    ...
