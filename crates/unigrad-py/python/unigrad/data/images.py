"""Datasets of pictures: folders of files, and the published files of MNIST, Fashion-MNIST, CIFAR-10 and CIFAR-100. Nothing is fetched."""

import os

from .. import _check
from .._errors import ArgumentError
from .._told import named
from .._unigrad import Tensor, _data
from .._random_numbers import _random
from .datasets import Dataset
from .transforms import Transform


def _path(name, value):
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"argument '{name}': a path is wanted, not {_check._kind(value)}")
    return value


class PictureDataset(Dataset):
    """Pictures with the number of their class. An item is ``(transform(picture), class)``: a tensor ``[channels, height, width]`` and an integer.

    What is random in a ``Transform`` depends on ``seed``, the epoch (``set_epoch``) and the item's number alone, whatever thread makes it; without a seed it
    follows ``unigrad.manual_seed``. Any other function is given the picture.

    >>> import unigrad as ug
    >>> issubclass(ug.data.ImageFolder, ug.data.PictureDataset)
    True
    """

    def __init__(self, pictures, transform=None, seed=None):
        if not isinstance(pictures, _data.Pictures):
            raise TypeError(f"argument 'pictures': pictures of `unigrad.data` are wanted, not {_check._kind(pictures)}")
        if transform is not None:
            _check.call("transform", transform)
        self.transform, self.epoch = transform, 0
        self.seed = None if seed is None else _check.whole("seed", seed, 0)
        self._pictures = pictures
        self.classes, self.targets = pictures.classes, pictures.labels

    def set_epoch(self, epoch):
        """Random transforms are those of this epoch."""
        self.epoch = _check.whole("epoch", epoch, 0)

    def picture(self, index):
        """A picture as it was read, and its class."""
        n = len(self)
        index = _check.whole("index", index)
        if not -n <= index < n:
            raise IndexError(f"index {index} of {n} items")
        return self._pictures.get(index % n)

    def _numbers(self, index):
        if self.seed is None:
            self.seed = _random(None).getrandbits(31)
        return _data.RandomNumbers((self.seed * 1_000_003 + self.epoch) % 2**63, index % len(self))

    def __len__(self):
        return len(self._pictures)

    def __getitem__(self, index):
        picture, label = self.picture(index)
        if isinstance(self.transform, Transform):
            picture = self.transform.apply(picture, self._numbers(index))
        elif self.transform is not None:
            picture = self.transform(picture)
        return (picture.tensor("cpu") if isinstance(picture, _data.Picture) else picture), label


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
    ((3, 1, 1), 0, ['cats'])
    """

    def __init__(self, root, transform=None, *, channels=3, table=None, files="file", labels="label", skip_damaged=False, num_workers=2, seed=None):
        root = _path("root", root)
        channels = None if channels is None else _check.positive("channels", channels)
        if channels is not None and channels > 4:
            raise ArgumentError(f"argument 'channels' is {channels}\n help: use 1 (grey) to 4 (RGBA)")
        workers = _check.size("num_workers", num_workers) if _check.flag("skip_damaged", skip_damaged) else None
        if workers is not None and workers > 1024:
            raise ArgumentError(f"argument 'num_workers' is {workers}\n help: use a thread or two for each core")
        if table is None:
            pictures, self.damaged = _data.image_folder(root, channels, workers)
        elif isinstance(table, _data.Csv):
            names = [("files", files), ("labels", labels)]
            for name, value in names:
                if not isinstance(value, str):
                    raise TypeError(f"argument '{name}': a column's name is wanted, not {_check._kind(value)}")
            pictures, self.damaged = _data.image_table(root, table, files, labels, channels, workers)
        else:
            raise TypeError(f"argument 'table': a Csv is wanted, not {_check._kind(table)}")
        super().__init__(pictures, transform, seed)
        self.files = pictures.files


class _Published(PictureDataset):
    """A published set: its part for training, or the one for tests."""

    def __init__(self, root, train=True, transform=None, *, seed=None):
        parts = type(self)._read(_path("root", root))
        super().__init__(parts[0 if _check.flag("train", train) else 1], transform, seed)


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
    ((1, 28, 28), 7)
    """

    _read = _data.mnist


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
    ((1, 28, 28), 7)
    """

    _read = _data.fashion_mnist


class CIFAR10(_Published):
    """Pictures of ten classes, ``[3, 32, 32]``, from the folder ``cifar-10-batches-bin`` of the binary version.

    >>> import pathlib, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in [*(f'data_batch_{number}.bin' for number in range(1, 6)), 'test_batch.bin']:
    ...     _ = (folder / name).write_bytes(bytes([3]) + bytes(3072))
    >>> x, label = ug.data.CIFAR10(folder)[0]
    >>> x.shape, label
    ((3, 32, 32), 3)
    """

    _read = _data.cifar10


class CIFAR100(_Published):
    """Pictures of a hundred classes, ``[3, 32, 32]``, from the folder ``cifar-100-binary`` of the binary version.

    >>> import pathlib, tempfile
    >>> import unigrad as ug
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ['train.bin', 'test.bin']:
    ...     _ = (folder / name).write_bytes(bytes([1, 42]) + bytes(3072))
    >>> x, label = ug.data.CIFAR100(folder)[0]
    >>> x.shape, label
    ((3, 32, 32), 42)
    """

    _read = _data.cifar100


@named
def read_image(path, channels=3):
    """A PNG, JPEG or WebP file as a tensor ``[channels, height, width]`` of bytes; ``channels=None`` keeps those of the file. ``Picture.read`` gives a picture.

    >>> import base64, pathlib, tempfile
    >>> import unigrad as ug
    >>> png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
    >>> path = pathlib.Path(tempfile.mkdtemp()) / '1.png'
    >>> _ = path.write_bytes(png)
    >>> ug.data.read_image(path).shape
    (3, 1, 1)
    """
    channels = None if channels is None else _check.positive("channels", channels)
    return _data.Picture.read(_path("path", path), channels).tensor()


@named
def decode_image(data, channels=3):
    """As ``read_image``, of a file's bytes.

    >>> import base64, unigrad as ug
    >>> png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    >>> ug.data.decode_image(base64.b64decode(png)).shape
    (3, 1, 1)
    """
    if isinstance(data, Tensor):
        data = data.tobytes()
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"argument 'data': bytes are wanted, not {_check._kind(data)}")
    return _data.Picture.decode(bytes(data), None if channels is None else _check.positive("channels", channels)).tensor()
