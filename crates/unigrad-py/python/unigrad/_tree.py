"""Structures of tensors: tuples, lists and dicts, taken apart and put together again."""

from ._unigrad import Tensor


def flatten(structure, is_leaf=lambda value: isinstance(value, Tensor)):
    """The leaves in order, and a function that builds the structure of others."""
    leaves = []

    def take(value):
        if is_leaf(value):
            leaves.append(value)
            at = len(leaves) - 1
            return lambda given: given[at]
        if isinstance(value, dict):
            parts = {key: take(part) for key, part in value.items()}
            return lambda given: type(value)((key, part(given)) for key, part in parts.items())
        if isinstance(value, (tuple, list)):
            parts = [take(part) for part in value]
            if hasattr(value, "_fields"):
                return lambda given: type(value)(*(part(given) for part in parts))
            return lambda given: type(value)(part(given) for part in parts)
        return lambda given: value

    return leaves, take(structure)


def only_tensors(structure, what):
    """As :func:`flatten`; a ``TypeError`` for a leaf that is no tensor."""

    def is_leaf(value):
        if isinstance(value, Tensor):
            return True
        if isinstance(value, (dict, tuple, list)):
            return False
        raise TypeError(f"{what} is to be tensors, or tuples, lists and dicts of them, not {type(value).__name__}")

    return flatten(structure, is_leaf)
