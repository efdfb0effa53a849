"""PyTorch's short compositions of other ops, and what its calls mean that no native signature can say.

In: tensors. Out: methods of `Tensor`; `unigrad` has each as a function as well.
Always: composes methods of tensors, or arranges arguments for the native method of the same name.
Never: computes what an op of the crates computes, or is there for the name or the default of an argument: those are in the native signatures
(`crates/unigrad-py/src/tensor`).
"""

from . import arithmetic, in_place, indexing, reductions, shapes  # noqa: F401
from .creation import as_tensor, cat, normal, randint_like, scalar_tensor
from .shapes import atleast_1d, atleast_2d, atleast_3d, broadcast_tensors, cartesian_prod

__all__ = ["as_tensor", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cartesian_prod", "cat", "normal", "randint_like", "scalar_tensor"]
