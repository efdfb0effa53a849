"""A variational autoencoder of digits (Kingma and Welling, 2014), by the trainer: `python examples/vae.py`."""

from typing import Any

import unigrad

LATENT = 8


def build(lib: Any) -> Any:
    """The model, of this library or of another with the same names."""
    nn = lib.nn

    class Vae(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder, self.mean, self.log_variance = nn.Linear(64, 96), nn.Linear(96, LATENT), nn.Linear(96, LATENT)
            self.hidden, self.decoder = nn.Linear(LATENT, 96), nn.Linear(96, 64)

        def decode(self, z: Any) -> Any:
            return self.decoder(self.hidden(z).relu())

        def forward(self, x: Any) -> Any:
            h = self.encoder(x).relu()
            mean, log_variance = self.mean(h), self.log_variance(h)
            z = mean + (log_variance * 0.5).exp() * lib.randn_like(mean)
            told = nn.functional.binary_cross_entropy_with_logits(self.decode(z), x) * 64
            apart = (mean.square() + log_variance.exp() - log_variance - 1.0).sum(1).mean() * 0.5
            return told + apart

    return Vae()


def step(lib: Any, model: Any, optimizer: Any, x: Any, y: Any) -> Any:
    """One step; the loss."""
    optimizer.zero_grad()
    loss = model(x.flatten(1))
    loss.backward()
    optimizer.step()
    return loss


def main() -> None:
    unigrad.manual_seed(1)
    train, test = unigrad.data.digits()
    model = build(unigrad)
    optimizer = unigrad.optim.AdamW(model.parameters(), lr=3e-3)
    loaders = [unigrad.data.DataLoader(part, batch_size=64, shuffle=True, seed=1) for part in (train, test)]
    run = unigrad.Trainer(max_epochs=25, seed=1).fit(model, None, optimizer, *loaders, step=lambda model, batch: model(batch[0].flatten(1)))
    print(
        f"an image that it has not seen costs {run.history['val_loss'][-1]:.1f} nats, after the first epoch {run.history['val_loss'][0]:.1f}"
    )
    assert run.history["val_loss"][-1] < 27.0


if __name__ == "__main__":
    main()
