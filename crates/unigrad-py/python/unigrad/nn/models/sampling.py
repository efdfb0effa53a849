"""How a language model's next token is chosen."""

from ... import _check
from ..._errors import ArgumentError
from ..._unigrad import Tensor, _nn, tensor
from ..._random_numbers import _random

__all__ = ["Sampling"]


class Sampling:
    """How the next token is drawn from logits: ``temperature`` first (0: always the likeliest), then the ``top_k`` likeliest, then the fewest that have
    ``top_p`` of the probability together (Holtzman et al., 2020).

    >>> import unigrad as ug
    >>> logits = ug.tensor([0.0, 2.0, 1.0, -1.0])
    >>> ug.nn.models.Sampling(temperature=0.0).choose(logits)
    1
    >>> {ug.nn.models.Sampling(top_k=2).choose(logits, seed) for seed in range(50)}
    {1, 2}
    """

    def __init__(self, temperature=1.0, top_k=None, top_p=None):
        self.temperature = _check.number("temperature", temperature, 0.0, 1e300)
        self.top_k = None if top_k is None else _check.positive("top_k", top_k)
        self.top_p = None if top_p is None else _check.number("top_p", top_p, most=1.0, above=0.0)

    def choose(self, logits, generator=None):
        """The index of a token by its logits, ``[vocab]``; ``generator`` is a seed or a ``random.Random``, or the library's own."""
        if not isinstance(logits, Tensor):
            logits = tensor(logits)
        if logits.ndim != 1 or logits.numel() == 0:
            raise ArgumentError(f"argument 'logits' has the shape {tuple(logits.shape)}\n help: give one logit for each token, [vocab]")
        return self._of_row(logits, 0, _random(generator))

    def _of_row(self, logits, row, source):
        return _nn.choose_token(logits, row, source.random(), self.temperature, self.top_k, self.top_p)

    def __repr__(self):
        return f"Sampling(temperature={self.temperature}, top_k={self.top_k}, top_p={self.top_p})"
