"""A character GPT: pre-norm blocks without biases, learned positions, the head tied to the token embedding."""

from ... import _check
from ..._errors import ArgumentError
from ..._unigrad import NoGrad, Tensor, tensor
from ..._random_numbers import _random
from .. import functional as F
from ..containers import ModuleList
from ..init import normal_
from ..layers import Embedding, Linear
from ..module import Module
from ..norms import LayerNorm
from ..utils.recompute import asked, checkpoint
from .sampling import Sampling

__all__ = ["GPT", "GPTBlock", "GPTConfig"]


class GPTConfig:
    """Sizes of a ``GPT``: how many tokens there are, the longest sequence, blocks, heads of a block, features.

    >>> import unigrad as ug
    >>> ug.nn.models.GPTConfig(vocab=65, ctx=32, layers=2, heads=2, dim=64)
    GPTConfig(vocab=65, ctx=32, layers=2, heads=2, dim=64)
    """

    def __init__(self, vocab, ctx, layers, heads, dim):
        self.vocab, self.ctx = _check.positive("vocab", vocab), _check.positive("ctx", ctx)
        self.layers, self.heads = _check.positive("layers", layers), _check.positive("heads", heads)
        self.dim = _check.positive("dim", dim)
        if self.dim % self.heads:
            raise ArgumentError(f"argument 'heads' is {heads}, of {dim} features\n help: choose a width that is a multiple of the number of heads")

    def _sizes(self):
        return {name: getattr(self, name) for name in ("vocab", "ctx", "layers", "heads", "dim")}

    def __eq__(self, other):
        return isinstance(other, GPTConfig) and self._sizes() == other._sizes()

    def __hash__(self):
        return hash(tuple(self._sizes().values()))

    def __repr__(self):
        return f"GPTConfig({', '.join(f'{name}={size}' for name, size in self._sizes().items())})"


def _normal(weight):
    """Weights of GPT-2's kind."""
    return normal_(weight, 0.0, 0.02)


class GPTBlock(Module):
    """Attention to what came before and a feed-forward part, each added to what came in: ``[n, t, dim]`` to the same shape.

    >>> import unigrad as ug
    >>> ug.nn.models.GPTBlock(8, heads=2)(ug.zeros(1, 5, 8)).shape
    (1, 5, 8)
    """

    def __init__(self, dim, heads, device=None, dtype=None):
        super().__init__()
        self.heads = _check.positive("heads", heads)
        if _check.positive("dim", dim) % self.heads:
            raise ArgumentError(f"argument 'heads' is {heads}, of {dim} features\n help: choose a width that is a multiple of the number of heads")
        made = {"bias": False, "device": device, "dtype": dtype}
        self.ln1, self.ln2 = LayerNorm(dim, **made), LayerNorm(dim, **made)
        self.qkv, self.proj = Linear(dim, 3 * dim, **made), Linear(dim, dim, **made)
        self.fc, self.out = Linear(dim, 4 * dim, **made), Linear(4 * dim, dim, **made)
        for layer in (self.qkv, self.proj, self.fc, self.out):
            _normal(layer.weight)

    def forward(self, input):
        """``[n, t, dim]`` to ``[n, t, dim]``."""
        if _check.tensor("input", input).ndim != 3:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give features of each token of each sequence, [n, t, dim]")
        n, length, dim = input.shape
        q, k, v = self.qkv(self.ln1(input)).reshape(n, length, 3, self.heads, dim // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = input + self.proj(attended.transpose(1, 2).reshape(n, length, dim))
        return x + self.out(self.fc(self.ln2(x)).gelu())

    def extra_repr(self):
        return f"heads={self.heads}"


class GPT(Module):
    """A character GPT with random weights of GPT-2's kind: tokens ``[n, t]``, ``t`` at most ``config.ctx``, to logits ``[n, t, config.vocab]``.

    >>> import unigrad as ug
    >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=8, layers=2, heads=2, dim=16))
    >>> model(ug.tensor([[1, 2, 3]])).shape
    (1, 3, 10)
    """

    def __init__(self, config, device=None, dtype=None):
        super().__init__()
        if not isinstance(config, GPTConfig):
            raise TypeError(f"argument 'config': a GPTConfig is wanted, not {_check._kind(config)}")
        self.config = config
        made = {"device": device, "dtype": dtype}
        self.wte, self.wpe = Embedding(config.vocab, config.dim, **made), Embedding(config.ctx, config.dim, **made)
        self.blocks = ModuleList(GPTBlock(config.dim, config.heads, **made) for _ in range(config.layers))
        self.lnf = LayerNorm(config.dim, bias=False, **made)
        _normal(self.wte.weight)
        _normal(self.wpe.weight)

    def forward(self, tokens):
        """``[n, t]`` of integers to ``[n, t, vocab]``."""
        if _check.tensor("tokens", tokens).ndim != 2:
            raise ArgumentError(f"argument 'tokens' has {tokens.ndim} axes\n help: give sequences of tokens, [n, t]")
        length = tokens.shape[1]
        if length > self.config.ctx:
            raise ArgumentError(f"argument 'tokens' has sequences of {length}\n help: give at most {self.config.ctx}, the model's context")
        x = self.wte(tokens) + self.wpe.weight[:length]
        again = asked()
        for block in self.blocks:
            x = checkpoint(block, x) if again else block(x)
        return self.lnf(x).linear(self.wte.weight)

    def loss(self, inputs, targets):
        """The next token's mean cross-entropy: ``inputs`` and ``targets`` are ``[n, t]`` tokens; a tensor of one element.

        >>> import unigrad as ug
        >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=8, layers=1, heads=2, dim=16))
        >>> text = ug.tensor([[1, 2, 3, 4]])
        >>> model.loss(text[:, :-1], text[:, 1:]).shape
        ()
        """
        return F.cross_entropy(self(inputs).flatten(0, 1), _check.tensor("targets", targets).flatten())

    def sample(self, prompt, count, temperature=1.0, *, top_k=None, top_p=None, generator=None):
        """Tokens: those of ``prompt`` and ``count`` that continue it, drawn by ``Sampling(temperature, top_k, top_p)``. An empty prompt begins with
        token 0. ``generator`` is a seed or a ``random.Random``, or the library's own.

        >>> import unigrad as ug
        >>> model = ug.nn.models.GPT(ug.nn.models.GPTConfig(vocab=10, ctx=4, layers=1, heads=2, dim=16))
        >>> len(model.sample([1, 2], 5, generator=0))
        7
        """
        sampling, source = Sampling(temperature, top_k, top_p), _random(generator)
        if isinstance(prompt, Tensor):
            prompt = prompt.tolist()
        if isinstance(prompt, (str, bytes, dict)) or not hasattr(prompt, "__iter__"):
            raise TypeError(f"argument 'prompt': tokens are wanted, not {_check._kind(prompt)}")
        ctx, tokens = self.config.ctx, [_check.whole("prompt", token, 0) for token in prompt] or [0]
        if max(tokens) >= self.config.vocab:
            raise ArgumentError(f"argument 'prompt' has token {max(tokens)}\n help: give tokens below {self.config.vocab}")
        device = self.wte.weight.device
        for _ in range(_check.size("count", count)):
            # The window always has the full length, so every token runs the same plan; what follows the last token is not looked at.
            window = tokens[-ctx:]
            with NoGrad():
                logits = self(tensor([window + [0] * (ctx - len(window))], device=device))
            tokens.append(sampling._of_row(logits, len(window) - 1, source))
        return tokens

    def extra_repr(self):
        return repr(self.config)
