"""A convolutional network that reads handwritten digits: `python examples/digits_cnn.py`."""

from typing import Any

import unigrad


def build(lib: Any) -> Any:
    """The model, of this library or of another with the same names."""
    nn = lib.nn

    class Net(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
            )
            self.head = nn.Linear(32 * 4 * 4, 10)

        def forward(self, x: Any) -> Any:
            return self.head(self.features(x).flatten(1))

    return Net()


def step(lib: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """One step; the loss."""
    optimizer.zero_grad()
    loss = lib.nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def main() -> None:
    unigrad.manual_seed(1)
    train, test = unigrad.data.digits()
    model = build(unigrad)
    optimizer = unigrad.optim.AdamW(model.parameters(), lr=2e-3)
    loss = unigrad.tensor(0.0)
    for epoch in range(4):
        for x, y in unigrad.data.DataLoader(train, batch_size=64, shuffle=True, seed=epoch):
            loss = step(unigrad, model, optimizer, x, y)
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}")
    model.eval()
    x, y = test.tensors
    with unigrad.no_grad():
        accuracy = (model(x).argmax(-1) == y).float().mean().item()
    print(f"accuracy {accuracy:.3f}")
    assert accuracy > 0.9


if __name__ == "__main__":
    main()
