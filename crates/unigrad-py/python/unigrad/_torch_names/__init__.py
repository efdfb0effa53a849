"""PyTorch's names and keywords for what the crates call otherwise, and its short compositions of other ops.

In: tensors. Out: methods of `Tensor`; `unigrad` has each as a function as well.
Always: a call that the native method takes goes there as it is.
Never: computes what an op of the crates computes.
"""

from . import arithmetic, in_place, indexing, reductions, shapes  # noqa: F401
from .creation import as_tensor, cat, normal, randint_like
from .shapes import atleast_1d, atleast_2d, atleast_3d, broadcast_tensors

__all__ = ["as_tensor", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_tensors", "cat", "normal", "randint_like"]
