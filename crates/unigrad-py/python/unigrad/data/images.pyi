# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections import OrderedDict as OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any
from typing_extensions import Self

from unigrad._unigrad import Device as Device
from unigrad._unigrad import DType as DType
from unigrad._unigrad import Tensor as Tensor
from unigrad.nn.module import Module as _Module
from unigrad.nn.parameter import Parameter as _Parameter
from unigrad.optim.optimizer import Optimizer as _Optimizer
from unigrad import Tensor as Tensor
from unigrad._errors import ArgumentError as ArgumentError
from unigrad._told import named as named
from unigrad.data.datasets import Dataset as Dataset
from unigrad.data.transforms import Transform as Transform

class PictureDataset(Dataset):
    """Pictures with the number of their class. An item is ``(transform(picture), class)``: a tensor ``[channels, height, width]`` and an integer.

    What is random in a ``Transform`` depends on ``seed``, the epoch (``set_epoch``) and the item's number alone, whatever thread makes it; without a seed it
    follows ``unigrad.manual_seed``. Any other function is given the picture.

    >>> import unigrad as ug
    >>> issubclass(ug.data.ImageFolder, ug.data.PictureDataset)
    True"""
    transform: Any
    epoch: Any
    seed: Any
    classes: Any
    targets: Any
    def __init__(self, pictures: Any, transform: Any=None, seed: builtins.int | None=None) -> None: ...
    def set_epoch(self, epoch: builtins.int) -> Any:
        """Random transforms are those of this epoch."""
        ...
    def picture(self, index: Any) -> Any:
        """A picture as it was read, and its class."""
        ...
    def __len__(self) -> builtins.int: ...
    def __getitem__(self, index: Any) -> Any: ...
class ImageFolder(PictureDataset):
    """PNG, JPEG and WebP files, a class per sub-folder: ``root/cats/1.png``, ``root/dogs/1.png``.

    With ``table``, a ``Csv``, the files of one folder that its column ``files`` names, with the classes of its column ``labels``. Files are decoded in
    ``channels`` (1 grey, 3 RGB, ``None`` those of the file). With ``skip_damaged`` every file is decoded once, and what cannot be is in ``damaged``
    instead: a text for each that says why.

    >>> import base64, pathlib, tempfile
    >>> import unigrad as ug
    >>> png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    >>> root = pathlib.Path(tempfile.mkdtemp())
    >>> (root / 'cats').mkdir()
    >>> _ = (root / 'cats' / '1.png').write_bytes(png)
    >>> pictures = ug.data.ImageFolder(root)
    >>> pictures[0][0].shape, pictures[0][1], pictures.classes
    ((3, 1, 1), 0, ['cats'])"""
    files: builtins.str
    damaged: Any
    def __init__(self, root: Any, transform: Any=None, *, channels: builtins.int=3, table: Any=None, files: builtins.str='file', labels: builtins.str='label', skip_damaged: builtins.bool=False, num_workers: builtins.int=2, seed: builtins.int | None=None) -> None: ...
class _Published(PictureDataset):
    """A published set: its part for training, or the one for tests."""
    def __init__(self, root: Any, train: builtins.bool=True, transform: Any=None, *, seed: builtins.int | None=None) -> None: ...
class MNIST(_Published):
    """Handwritten digits, ``[1, 28, 28]``, from a folder with the four IDX files as published, plain or packed.

    >>> import pathlib, struct, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / 'train-images-idx3-ubyte').write_bytes(struct.pack('>4i', 0x803, 2, 28, 28) + bytes(2 * 784))
    >>> _ = (folder / 'train-labels-idx1-ubyte').write_bytes(struct.pack('>2i', 0x801, 2) + bytes([7, 1]))
    >>> _ = (folder / 't10k-images-idx3-ubyte').write_bytes(struct.pack('>4i', 0x803, 1, 28, 28) + bytes(784))
    >>> _ = (folder / 't10k-labels-idx1-ubyte').write_bytes(struct.pack('>2i', 0x801, 1) + bytes([3]))
    >>> x, label = ug.data.MNIST(folder)[0]
    >>> x.shape, label
    ((1, 28, 28), 7)"""
class FashionMNIST(_Published):
    """Clothes, ``[1, 28, 28]``, from a folder with the four IDX files as published, whose names are MNIST's.

    >>> import pathlib, struct, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / 'train-images-idx3-ubyte').write_bytes(struct.pack('>4i', 0x803, 2, 28, 28) + bytes(2 * 784))
    >>> _ = (folder / 'train-labels-idx1-ubyte').write_bytes(struct.pack('>2i', 0x801, 2) + bytes([7, 1]))
    >>> _ = (folder / 't10k-images-idx3-ubyte').write_bytes(struct.pack('>4i', 0x803, 1, 28, 28) + bytes(784))
    >>> _ = (folder / 't10k-labels-idx1-ubyte').write_bytes(struct.pack('>2i', 0x801, 1) + bytes([3]))
    >>> x, label = ug.data.FashionMNIST(folder)[0]
    >>> x.shape, label
    ((1, 28, 28), 7)"""
class CIFAR10(_Published):
    """Pictures of ten classes, ``[3, 32, 32]``, from the folder ``cifar-10-batches-bin`` of the binary version.

    >>> import pathlib, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in [*(f'data_batch_{number}.bin' for number in range(1, 6)), 'test_batch.bin']:
    ...     _ = (folder / name).write_bytes(bytes([3]) + bytes(3072))
    >>> x, label = ug.data.CIFAR10(folder)[0]
    >>> x.shape, label
    ((3, 32, 32), 3)"""
class CIFAR100(_Published):
    """Pictures of a hundred classes, ``[3, 32, 32]``, from the folder ``cifar-100-binary`` of the binary version.

    >>> import pathlib, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ['train.bin', 'test.bin']:
    ...     _ = (folder / name).write_bytes(bytes([1, 42]) + bytes(3072))
    >>> x, label = ug.data.CIFAR100(folder)[0]
    >>> x.shape, label
    ((3, 32, 32), 42)"""
def read_image(path: builtins.str | PathLike[builtins.str], channels: builtins.int=3) -> Any:
    """A PNG, JPEG or WebP file as a tensor ``[channels, height, width]`` of bytes; ``channels=None`` keeps those of the file. ``Picture.read`` gives a picture.

    >>> import base64, pathlib, tempfile
    >>> import unigrad as ug
    >>> png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / '1.png'
    >>> _ = path.write_bytes(png)
    >>> ug.data.read_image(path).shape
    (3, 1, 1)"""
    ...
def decode_image(data: Any, channels: builtins.int=3) -> Any:
    """As ``read_image``, of a file's bytes.

    >>> import base64, unigrad as ug
    >>> png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    >>> ug.data.decode_image(base64.b64decode(png)).shape
    (3, 1, 1)"""
    ...
