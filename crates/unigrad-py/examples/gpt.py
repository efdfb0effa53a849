"""A character GPT that learns Shakespeare's sonnets: `python examples/gpt.py [FILE]`."""

import sys
from pathlib import Path
from typing import Any

import unigrad

CONTEXT, SIZE, HEADS, LAYERS, BATCH = 64, 64, 4, 2, 16


def build(lib: Any, n_tokens: int) -> Any:
    """The model, of this library or of another with the same names."""
    nn = lib.nn

    class Block(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(SIZE), nn.LayerNorm(SIZE)
            self.qkv, self.out = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
            self.mlp = nn.Sequential(nn.Linear(SIZE, 4 * SIZE), nn.GELU(), nn.Linear(4 * SIZE, SIZE))

        def forward(self, x: Any) -> Any:
            n, length, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).reshape(n, length, 3, HEADS, SIZE // HEADS).permute(2, 0, 3, 1, 4)
            attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(n, length, SIZE))
            return x + self.mlp(self.norm2(x))

    class Gpt(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(n_tokens, SIZE), nn.Embedding(CONTEXT, SIZE)
            self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
            self.norm, self.head = nn.LayerNorm(SIZE), nn.Linear(SIZE, n_tokens, bias=False)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
            return self.head(self.norm(self.blocks(x)))

    return Gpt()


def step(lib: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """One step; the loss."""
    optimizer.zero_grad()
    logits = model(x)
    loss = lib.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), y.reshape(-1))
    loss.backward()
    optimizer.step()
    return loss


def sonnets() -> Path:
    """The text in the repository."""
    return Path(__file__).resolve().parents[3] / "assets" / "sonnets.txt"


def main() -> None:
    unigrad.manual_seed(1)
    text = Path(sys.argv[1] if len(sys.argv) > 1 else sonnets()).read_text(encoding="utf-8")
    letters = sorted(set(text))
    tokens = unigrad.tensor([letters.index(letter) for letter in text])
    model = build(unigrad, len(letters))
    optimizer = unigrad.optim.AdamW(model.parameters(), lr=3e-3)
    offsets, loss = unigrad.arange(CONTEXT), unigrad.tensor(0.0)
    for at in range(301):
        starts = unigrad.randint(0, len(text) - CONTEXT - 1, (BATCH, 1))
        loss = step(unigrad, model, optimizer, tokens[starts + offsets], tokens[starts + offsets + 1])
        if at % 100 == 0:
            print(f"step {at}: loss {loss.item():.3f}")
    assert loss.item() < 2.7
    model.eval()
    with unigrad.no_grad():
        said = tokens[:1].reshape(1, 1)
        for _ in range(100):
            likely = (model(said[:, -CONTEXT:])[:, -1] / 0.7).softmax(-1)
            drawn = (likely.cumsum(-1) < unigrad.rand(1, 1)).cast("int64").sum(-1, keepdim=True)
            said = unigrad.concat([said, drawn.clamp(max=len(letters) - 1)], 1)
    print("".join(letters[token] for token in said[0].tolist()))


if __name__ == "__main__":
    main()
