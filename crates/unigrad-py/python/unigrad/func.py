"""Functions of functions, by the names of ``torch.func``: ``vmap``, ``grad``, ``vjp``, ``jvp``, ``jacrev``, ``hessian``; and ``scan``, by that of JAX.

Arguments and results may be tensors, and tuples, lists and dicts of them. A result is lazy like any other: nothing is computed before it is read.

>>> import unigrad
>>> from unigrad.func import grad, vmap
>>> per_sample = vmap(grad(lambda x: (x * x).sum()))
>>> per_sample(unigrad.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
[[2.0, 4.0], [6.0, 8.0]]
"""

import functools as _functools

from . import _check, _tree, _unigrad
from ._errors import ArgumentError
from ._unigrad import Tensor
from ._unigrad import grad as _grad
from ._unigrad import zeros as _zeros

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacrev", "jvp", "scan", "vjp", "vmap"]


def _numbers(argnums, n_args):
    """Positions of arguments, and whether one was asked for."""
    is_one = isinstance(argnums, int) and not isinstance(argnums, bool)
    numbers = (argnums,) if is_one else tuple(argnums) if isinstance(argnums, (tuple, list)) else None
    if numbers is None or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        raise TypeError(f"`argnums` is an integer or a tuple of them, not {argnums!r}")
    for number in numbers:
        if not -n_args <= number < n_args:
            raise ValueError(f"`argnums` has {number}, of {n_args} arguments")
    return tuple(number % n_args for number in numbers), is_one


def _must_call(function):
    if not callable(function):
        raise TypeError(f"`func` is to be a function, not {type(function).__name__}")


def _own(x):
    """The same value as a node of its own, so that a gradient is asked with respect to this call's argument."""
    return x.with_gradient_hook(_unchanged) if x.dtype.is_floating_point else x


def _unchanged(_gradient):
    return None


def _pulled(outputs, inputs, arriving):
    """Gradients of the inputs, zeros where nothing arrives."""
    pairs = [(output, dy) for output, dy in zip(outputs, arriving) if output.dtype.is_floating_point]
    wanted = [x for x in inputs if x.dtype.is_floating_point]
    outputs, arriving = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    found = iter(_grad(outputs, wanted, arriving, create_graph=True, allow_unused=True) if pairs and wanted else [])
    gradients = [next(found, None) if x.dtype.is_floating_point else None for x in inputs]
    return [_zeros(x.shape, dtype=x.dtype, device=x.device) if dx is None else dx for x, dx in zip(inputs, gradients)]


def _ones_like(x):
    return _zeros(x.shape, dtype=x.dtype, device=x.device) + 1


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func`` and its value, which has one element; with ``has_aux``, ``(gradient, (value, aux))``.

    >>> import unigrad as ug
    >>> ug.func.grad_and_value(lambda x: (x * x).sum())(ug.tensor([3.0]))
    (tensor([6.]), tensor(9.))
    """
    _must_call(func)

    @_functools.wraps(func)
    def both(*args, **kwargs):
        numbers, is_one = _numbers(argnums, len(args))
        leaves, build = _tree.only_tensors([args[number] for number in numbers], "an argument to differentiate")
        own = [_own(leaf) for leaf in leaves]
        args = list(args)
        for number, value in zip(numbers, build(own)):
            args[number] = value
        given = _unigrad._differentiating(own, lambda: func(*args, **kwargs))
        value, aux = given if has_aux else (given, None)
        if not isinstance(value, Tensor) or value.numel() != 1:
            what = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
            raise ValueError(f"the function to differentiate is to give a tensor of one element, not {what}: use `vjp` or `jacrev`")
        gradients = build(_pulled([value], own, [_ones_like(value)]))
        return gradients[0] if is_one else tuple(gradients), (value, aux) if has_aux else value

    return both


def grad(func, argnums=0, has_aux=False):
    """A function that gives the gradient of ``func``, whose value has one element; with ``has_aux``, ``(gradient, aux)``.

    >>> import unigrad
    >>> unigrad.func.grad(lambda x: x**3)(unigrad.tensor(2.0)).item()
    12.0
    """
    both = grad_and_value(func, argnums, has_aux)

    @_functools.wraps(func)
    def gradient(*args, **kwargs):
        found, value = both(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def vjp(func, *primals):
    """``func(*primals)``, and the function from what arrives at the results to the gradients of the primals.

    >>> import unigrad
    >>> value, pull = unigrad.func.vjp(lambda x: x.square(), unigrad.tensor([1.0, 2.0]))
    >>> pull(unigrad.tensor([1.0, 10.0]))[0].tolist()
    [2.0, 40.0]
    """
    _must_call(func)
    leaves, build = _tree.only_tensors(primals, "argument 'primals'")
    own = [_own(leaf) for leaf in leaves]
    results = _unigrad._differentiating(own, lambda: func(*build(own)))
    outputs, _ = _tree.only_tensors(results, "a result")

    def pull(*cotangents):
        arriving, _ = _tree.only_tensors(cotangents, "a cotangent")
        if len(arriving) != len(outputs):
            raise ValueError(f"{len(arriving)} cotangents for {len(outputs)} results")
        return build(_pulled(outputs, own, arriving))

    return results, pull


def jvp(func, primals, tangents):
    """``func(*primals)``, and how it changes in the direction ``tangents``: both tuples, of the same structure.

    >>> import unigrad
    >>> x = unigrad.tensor([1.0, 2.0])
    >>> unigrad.func.jvp(lambda x: x.square(), (x,), (unigrad.ones(2),))[1].tolist()
    [2.0, 4.0]
    """
    _must_call(func)
    leaves, build = _tree.only_tensors(primals, "argument 'primals'")
    directions, _ = _tree.only_tensors(tangents, "argument 'tangents'")
    rebuilt = []

    def flat(*tensors):
        outputs, rebuild = _tree.only_tensors(func(*build(tensors)), "a result")
        rebuilt[:] = [rebuild]
        return outputs

    values, changes = _unigrad._jvp(flat, leaves, directions)
    return rebuilt[0](values), rebuilt[0](changes)


def scan(body, init, xs=None, length=None, reverse=False):
    """A function applied to each element of sequences (along axis 0), with a state that it hands on: one op, whatever the length, as ``jax.lax.scan``.

    ``body(state, x)`` gives the next state and what goes into a sequence (or ``None``); returns the last state and the sequences of what the steps gave. It is
    called once, with stand-ins, and must not read values. Without ``xs`` there are ``length`` steps; with ``reverse`` they go from the last element to the first.
    Structures of tensors are taken and given for either.

    >>> import unigrad
    >>> last, sums = unigrad.scan(lambda total, x: (total + x, total + x), unigrad.tensor(0.0), unigrad.tensor([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    if not callable(body):
        raise TypeError(f"argument 'body': a function is wanted, not {type(body).__name__}")
    states, state_of = _tree.only_tensors(init, "argument 'init'")
    elements, element_of = ([], lambda given: None) if xs is None else _tree.only_tensors(xs, "argument 'xs'")
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 0):
        raise TypeError(f"argument 'length': an integer, 0 or more, is wanted, not {length!r}")
    if length is None and not elements:
        raise TypeError("argument 'length' is missing: no sequence tells how many steps there are")
    if not isinstance(reverse, bool):
        raise TypeError(f"argument 'reverse': a bool is wanted, not {type(reverse).__name__}")
    rebuilt = []

    def flat(*tensors):
        given = body(state_of(tensors[: len(states)]), element_of(tensors[len(states) :]))
        if not isinstance(given, tuple) or len(given) != 2:
            raise TypeError(f"the body of a scan is to give a state and what goes into a sequence (or None), not {type(given).__name__}")
        after, _ = _tree.only_tensors(given[0], "the state of a scan's body")
        results, rebuild = ([], lambda given: None) if given[1] is None else _tree.only_tensors(given[1], "a result of a scan's body")
        if len(after) != len(states):
            raise ValueError(f"the body of a scan gives a state of {len(after)} tensors, for one of {len(states)}")
        rebuilt[:] = [rebuild]
        return (*after, *results)

    values = _unigrad._scan(flat, states, elements, length, reverse)
    return state_of(values[: len(states)]), rebuilt[0](values[len(states) :])


def jacrev(func, argnums=0):
    """A function that gives all derivatives of ``func``'s results by its argument's elements: shape ``result.shape + argument.shape``.

    >>> import unigrad
    >>> unigrad.func.jacrev(lambda x: x * x.sum())(unigrad.tensor([2.0, 3.0])).tolist()
    [[7.0, 2.0], [3.0, 8.0]]
    """
    _must_call(func)

    @_functools.wraps(func)
    def jacobian(*args, **kwargs):
        numbers, is_one = _numbers(argnums, len(args))
        leaves, build = _tree.only_tensors([args[number] for number in numbers], "an argument to differentiate")

        def results(given):
            all_args = list(args)
            for number, value in zip(numbers, build(given)):
                all_args[number] = value
            return _tree.only_tensors(func(*all_args, **kwargs), "a result")

        outputs, rebuild = results(leaves)

        def of_output(at):
            def of_leaf(i, leaf):
                return _unigrad._jacobian(lambda x: results([*leaves[:i], x, *leaves[i + 1 :]])[0][at], leaf)

            found = build([of_leaf(i, leaf) for i, leaf in enumerate(leaves)])
            return found[0] if is_one else tuple(found)

        return rebuild([of_output(at) for at in range(len(outputs))])

    return jacobian


def hessian(func, argnums=0):
    """A function that gives all second derivatives of ``func``: shape ``argument.shape + argument.shape`` where its value has no axes.

    >>> import unigrad
    >>> unigrad.func.hessian(lambda x: x.prod() + x.square().sum())(unigrad.tensor([2.0, 3.0])).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    return jacrev(jacrev(func, argnums), argnums)


def vmap(func, in_dims=0, out_dims=0, randomness="error"):
    """``func`` of one slice as a function of all slices at once.

    ``in_dims`` and ``out_dims`` are the axes along which slices lie: a number for all, or a structure of numbers like that of the arguments (of the
    results); ``None`` for what is the same for all slices. ``randomness`` is ``"error"``, ``"different"`` or ``"same"``.

    >>> import unigrad
    >>> dot = unigrad.vmap(lambda a, b: (a * b).sum())
    >>> dot(unigrad.ones(3, 2), unigrad.ones(3, 2)).tolist()
    [2.0, 2.0, 2.0]
    """
    _must_call(func)

    @_functools.wraps(func)
    def mapped(*args, **kwargs):
        leaves, build = _tree.flatten(args)
        rebuilt = []

        def flat(*tensors):
            outputs, rebuild = _tree.only_tensors(func(*build(tensors), **kwargs), "a result")
            rebuilt[:] = [rebuild]
            return outputs

        dims = []
        _spread(in_dims, args, dims)
        # How many results there are is known once they are: with one number for all they come along axis 0, and are moved.
        is_one = _is_dim(out_dims) and out_dims is not None
        of_results = [] if is_one else _dims_of(out_dims)
        results = _unigrad._vmap(flat, leaves, dims, of_results, randomness)
        if is_one and out_dims != 0:
            results = [result.movedim(0, out_dims) for result in results]
        return rebuilt[0](results)

    return mapped


def _is_dim(value):
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _dims_of(structure):
    """The numbers of a structure of them."""
    if _is_dim(structure):
        return [structure]
    if isinstance(structure, dict):
        structure = list(structure.values())
    if not isinstance(structure, (tuple, list)):
        raise TypeError(f"`out_dims` is a number, None, or a structure of them, not {type(structure).__name__}")
    return [number for part in structure for number in _dims_of(part)]


def _spread(dims, value, out):
    """The axis of each tensor of a structure, where a number stands for a whole part of it."""
    if isinstance(value, Tensor):
        if not _is_dim(dims):
            raise TypeError(f"`in_dims` has {type(dims).__name__} for a tensor: give a number, or None")
        out.append(dims)
    elif isinstance(value, (dict, tuple, list)):
        is_dict = isinstance(value, dict)
        keys = list(value) if is_dict else list(range(len(value)))
        if not _is_dim(dims) and (isinstance(dims, dict) != is_dict or len(dims) != len(value)):
            raise ValueError(f"`in_dims` has {len(dims)} parts for {len(value)}: its structure is that of the arguments")
        for key in keys:
            _spread(dims if _is_dim(dims) else dims[key], value[key], out)


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """What a module computes with other tensors in place of its parameters and buffers, by path: a dict, or several.

    With ``strict`` each parameter and buffer is to be given. The module is as it was afterwards. A parameter that stands in several places is one.

    >>> import unigrad as ug
    >>> layer = ug.nn.Linear(2, 1)
    >>> zeros = {name: ug.zeros_like(parameter) for name, parameter in layer.named_parameters()}
    >>> ug.func.functional_call(layer, zeros, ug.ones(3, 2)).tolist()
    [[0.0], [0.0], [0.0]]
    """
    from .nn.module import Module

    if not isinstance(module, Module):
        raise TypeError(f"argument 'module': a Module is wanted, not {_check._kind(module)}")
    dicts = parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (list, tuple)) else [parameter_and_buffer_dicts]
    given = {}
    for one in dicts:
        if not hasattr(one, "items"):
            raise TypeError(f"argument 'parameter_and_buffer_dicts': dicts of tensors are wanted, not {_check._kind(one)}")
        given.update(one.items())
    places = {}
    for path, part in module.named_modules(remove_duplicate=False):
        for kind in (part._parameters, part._buffers):
            for name, value in kind.items():
                if value is not None:
                    places[f"{path}.{name}" if path else name] = (kind, name, value)
    unknown = [name for name in given if name not in places]
    missing = [name for name in places if name not in given] if strict else []
    if (unknown and strict) or missing:
        raise ArgumentError(
            f"argument 'parameter_and_buffer_dicts': {(unknown or missing)[0]!r} is {'no tensor of the module' if unknown else 'missing'}\n"
            " help: give the paths of `named_parameters()` and `named_buffers()`"
        )
    replaced = [(places[name], _check.tensor(name, value)) for name, value in given.items() if name in places]
    if tie_weights:
        known = {id(place[2]): value for place, value in replaced}
        named = {name for name in given}
        replaced += [(place, known[id(place[2])]) for name, place in places.items() if name not in named and id(place[2]) in known]
    try:
        for (kind, name, _), value in replaced:
            kind[name] = value
        return module(*(args if isinstance(args, tuple) else () if args is None else (args,)), **(kwargs or {}))
    finally:
        for (kind, name, before), _ in replaced:
            kind[name] = before
