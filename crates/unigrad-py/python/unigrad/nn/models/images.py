"""Classifiers of small grey images."""

from ... import _check
from ..._errors import ArgumentError
from ..containers import ModuleList
from ..layers import Dropout, Linear
from ..module import Module
from ..windows import Conv2d

__all__ = ["CNN", "MLP"]


class CNN(Module):
    """Two convolutions, a pool, two linear layers: ``[n, 1, height, width]`` to a logit per class, ``[n, n_classes]``.

    ``padding`` zeros around keep small images from shrinking; ``dropout`` is the probability before each linear layer.

    >>> import unigrad as ug
    >>> ug.nn.models.CNN(8, 8, n_classes=10, padding=1)(ug.zeros(3, 1, 8, 8)).shape
    (3, 10)
    """

    def __init__(self, height, width, n_classes, padding=0, dropout=0.0, device=None, dtype=None):
        super().__init__()
        padding = _check.size("padding", padding)

        def after(name, size):
            left = (_check.positive(name, size) + 4 * padding - 4) // 2
            if left < 1:
                raise ArgumentError(f"argument '{name}' is {size}: nothing is left after the pool\n help: use at least {max(6 - 4 * padding, 1)}, or more padding")
            return left

        made = {"device": device, "dtype": dtype}
        n_features = 64 * after("height", height) * after("width", width)
        self.conv1, self.conv2 = Conv2d(1, 32, 3, padding=padding, **made), Conv2d(32, 64, 3, padding=padding, **made)
        self.dropout = Dropout(_check.probability("dropout", dropout))
        self.fc1 = Linear(n_features, 128, **made)
        self.fc2 = Linear(128, _check.positive("n_classes", n_classes), **made)

    def forward(self, input):
        """``[n, 1, height, width]`` to ``[n, n_classes]``."""
        x = self.conv1(_check.tensor("input", input)).relu()
        x = self.conv2(x).relu().max_pool2d(2)
        x = self.fc1(self.dropout(x.flatten(1))).relu()
        return self.fc2(self.dropout(x))


class MLP(Module):
    """Linear layers between the given ``sizes`` with ReLU between: ``[n, ..]``, flattened, to ``[n, sizes[-1]]``.

    >>> import unigrad as ug
    >>> model = ug.nn.models.MLP([64, 32, 10], dropout=0.1)
    >>> model(ug.zeros(5, 1, 8, 8)).shape
    (5, 10)
    """

    def __init__(self, sizes, dropout=0.0, device=None, dtype=None):
        super().__init__()
        sizes = _check.shape("sizes", sizes)
        if len(sizes) < 2:
            raise ArgumentError(f"argument 'sizes' has {len(sizes)} sizes\n help: give those of inputs, of hidden layers if any, and of outputs")
        self.layers = ModuleList(Linear(n_in, n_out, device=device, dtype=dtype) for n_in, n_out in zip(sizes, sizes[1:]))
        self.dropout = Dropout(_check.probability("dropout", dropout))

    def forward(self, input):
        """``[n, ..]``, of ``sizes[0]`` elements each, to ``[n, sizes[-1]]``."""
        if _check.tensor("input", input).ndim < 2:
            raise ArgumentError(f"argument 'input' has {input.ndim} axes\n help: give a batch, [n, ..]")
        x = input.flatten(1)
        for at, layer in enumerate(self.layers):
            x = layer(x if at == 0 else self.dropout(x.relu()))
        return x
