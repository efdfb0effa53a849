"""PyTorch's short compositions of other ops, and what its calls mean that no native signature can say.

In: tensors. Out: methods of `Tensor`; `unigrad` has each as a function as well.
Always: composes methods of tensors, or arranges arguments for the native method of the same name.
Never: computes what an op of the crates computes, or is there for the name or the default of an argument: those are in the native signatures
(`crates/unigrad-py/src/tensor`).
"""

from . import arithmetic, dtypes, in_place, indexing, reductions, shapes  # noqa: F401
from .creation import as_tensor, bartlett_window, blackman_window, cat, hamming_window, hann_window, normal, randint_like, scalar_tensor, vander
from .dtypes import can_cast, promote_types, result_type
from .shapes import atleast_1d, atleast_2d, atleast_3d, broadcast_shapes, broadcast_tensors, cartesian_prod

__all__ = [
    "as_tensor", "atleast_1d", "atleast_2d", "atleast_3d", "bartlett_window", "blackman_window", "broadcast_shapes", "broadcast_tensors", "can_cast",
    "cartesian_prod", "cat", "hamming_window", "hann_window", "normal", "promote_types", "randint_like", "result_type", "scalar_tensor",
    "vander",
]  # fmt: skip
