"""unigrad's functions inside of PyTorch's programs.

PyTorch is imported by the first call, not by ``import unigrad``.
"""

import functools

import unigrad as _u

from ._told import named

__all__ = ["from_torch", "to_torch", "wrap"]


@named
def from_torch(tensor, /):
    """A tensor that uses a PyTorch tensor's memory; see `unigrad.from_dlpack`. Gradients end here: `wrap` lets them through.

    >>> import torch, unigrad
    >>> unigrad.torch.from_torch(torch.ones(2))
    tensor([1., 1.])
    """
    return _u.from_dlpack(tensor.detach())


@named
def to_torch(tensor, /):
    """A PyTorch tensor that uses a tensor's memory, which is not to be written: ``to_torch(x).clone()`` may be. Gradients end here.

    >>> import unigrad
    >>> unigrad.torch.to_torch(unigrad.ones(2))
    tensor([1., 1.])
    """
    import torch

    return torch.from_dlpack(tensor.detach())


@functools.cache
def _function():
    import torch
    from torch.autograd.function import once_differentiable

    class Unigrad(torch.autograd.Function):
        """A call of a unigrad function as a node of PyTorch's graph."""

        @staticmethod
        def forward(ctx, call, *tensors):
            ctx.set_materialize_grads(False)
            inputs = [_u.from_dlpack(tensor.detach()) for tensor in tensors]
            wanted = ctx.needs_input_grad[1:]
            # A leaf of its own for each argument, so that two uses of one tensor have two gradients.
            leaves = [x.requires_grad_() if needed and x.dtype.is_floating_point else None for x, needed in zip(inputs, wanted)]
            outputs = call.run(inputs)
            for output in outputs:
                output.realize()
            results = tuple(to_torch(output) for output in outputs)
            ctx.mark_non_differentiable(*(result for result, output in zip(results, outputs) if not output.requires_grad))
            if any(leaf is not None for leaf in leaves):
                # PyTorch refuses a backward pass if one of these is written meanwhile.
                ctx.save_for_backward(*tensors, *results)
                ctx.leaves, ctx.outputs = leaves, outputs
            return results

        @staticmethod
        @once_differentiable
        def backward(ctx, *gradients):
            _ = ctx.saved_tensors
            leaves = [leaf for leaf in ctx.leaves if leaf is not None]
            given = [(y, dy) for y, dy in zip(ctx.outputs, gradients) if dy is not None and y.requires_grad]
            found = {}
            if given and leaves:
                arriving = [_u.from_dlpack(dy.detach().contiguous()) for _, dy in given]
                shares = _u.grad([y for y, _ in given], leaves, arriving, allow_unused=True)
                found = {id(leaf): share for leaf, share in zip(leaves, shares) if share is not None}
            results = [found.get(id(leaf)) if leaf is not None else None for leaf in ctx.leaves]
            return (None, *(None if result is None else to_torch(result) for result in results))

    return Unigrad


class _Call:
    """A function and its arguments, with PyTorch's tensors taken out."""

    def __init__(self, function, args, kwargs):
        import torch

        self.function, self.tensors, self.shape = function, [], None
        place = lambda value: _Place(self._add(value)) if isinstance(value, torch.Tensor) else value  # noqa: E731
        self.args = tuple(place(value) for value in args)
        self.kwargs = {name: place(value) for name, value in kwargs.items()}

    def _add(self, tensor):
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def run(self, inputs):
        fill = lambda value: inputs[value.at] if isinstance(value, _Place) else value  # noqa: E731
        result = self.function(*map(fill, self.args), **{name: fill(value) for name, value in self.kwargs.items()})
        self.shape = type(result) if isinstance(result, (tuple, list)) else None
        outputs = list(result) if self.shape else [result]
        for at, output in enumerate(outputs):
            if not isinstance(output, _u.Tensor):
                raise TypeError(f"the function's result {at} is a unigrad.Tensor, not {type(output).__name__}")
        return outputs


class _Place:
    def __init__(self, at):
        self.at = at


def wrap(function, /):
    """A function of PyTorch tensors from one of unigrad tensors; PyTorch's gradients go through it.

    Its PyTorch tensors, as arguments or keywords, are unigrad tensors inside, other arguments stay; it returns a tensor, or a tuple or list of
    tensors. Nothing is copied on the way in and out, on the CPU and on CUDA devices. Gradients of gradients are refused. As in PyTorch's own functions,
    an argument or a result that is written in place before the backward pass is an error.

    >>> import unigrad
    >>> silu = unigrad.torch.wrap(lambda x: x * x.sigmoid())   # silu(torch_tensor).sum().backward()
    """
    if not callable(function):
        raise TypeError(f"`function` is a function of unigrad tensors, not {type(function).__name__}")

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        call = _Call(function, args, kwargs)
        results = _function().apply(call, *call.tensors)
        return results[0] if call.shape is None else call.shape(results) if call.shape in (tuple, list) else call.shape(*results)

    return wrapped
