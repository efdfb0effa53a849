"""Transforms of pictures, by torchvision's names: of a ``Picture``, or of a tensor ``[channels, height, width]``.

>>> import unigrad as ug
>>> train = ug.data.transforms.Compose([
...     ug.data.transforms.RandomResizedCrop(16), ug.data.transforms.RandomHorizontalFlip(), ug.data.transforms.Normalize.imagenet()
... ])
>>> train(ug.zeros(3, 40, 30, dtype=ug.uint8), seed=1).shape
(3, 16, 16)
"""

import numbers

from .. import _check
from .._unigrad import Tensor, _data
from .._random_numbers import _random

__all__ = [
    "CenterCrop", "ColorJitter", "Compose", "Grayscale", "Normalize", "RandomApply", "RandomCrop", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomResizedCrop", "RandomRotation", "RandomVerticalFlip", "Resize", "ToFloat", "Transform",
]  # fmt: skip


def _numbers_of(seed):
    """Random numbers: given, of a seed, or of the library's own generator."""
    if isinstance(seed, _data.RandomNumbers):
        return seed
    return _data.RandomNumbers(_random(None).getrandbits(63) if seed is None else _check.whole("seed", seed, 0))


def _pair(name, value):
    """A size of rows and columns; one number for both."""
    return tuple(_check.positive(name, part) for part in _check.sizes(name, value, 2, 1))


def _range(name, value):
    """Two numbers, from and to."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__") or len(value) != 2:
        raise TypeError(f"argument '{name}': two numbers are wanted, not {value!r}")
    low, high = (_check.number(name, part) for part in value)
    if low > high:
        raise _check.ArgumentError(f"argument '{name}' goes from {low} to {high}\n help: give the smaller number first")
    return low, high


class Transform:
    """What is done to a picture. One of your own has ``apply(picture, numbers)``, where ``numbers.uniform()`` is random.

    >>> import unigrad as ug
    >>> isinstance(ug.data.transforms.Resize(4), ug.data.transforms.Transform)
    True
    """

    def apply(self, picture, numbers):
        """The picture that this one becomes."""
        raise NotImplementedError(f"{type(self).__name__} has no `apply`")

    def __call__(self, image, seed=None):
        """Of a picture a picture, of a tensor a tensor. The same ``seed`` gives the same; without one it follows ``unigrad.manual_seed``."""
        numbers_ = _numbers_of(seed)
        if isinstance(image, _data.Picture):
            return self.apply(image, numbers_)
        if not isinstance(image, Tensor):
            raise TypeError(f"argument 'image': a Picture or a tensor is wanted, not {_check._kind(image)}")
        return self.apply(_data.Picture(image), numbers_).tensor(image.device)


class _Native(Transform):
    """A transform of the crates."""

    def apply(self, picture, numbers):
        if not isinstance(picture, _data.Picture):
            raise TypeError(f"argument 'picture': a Picture is wanted, not {_check._kind(picture)}")
        return self._native.apply(picture, numbers)


class Compose(Transform):
    """Transforms, one after the other.

    >>> import unigrad as ug
    >>> T = ug.data.transforms
    >>> T.Compose([T.Resize(4), T.ToFloat()])(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms):
        if isinstance(transforms, (str, bytes)) or not hasattr(transforms, "__iter__"):
            raise TypeError(f"argument 'transforms': transforms are wanted, not {_check._kind(transforms)}")
        self.transforms = [_transform("transforms", transform) for transform in transforms]

    def apply(self, picture, numbers):
        for transform in self.transforms:
            picture = transform.apply(picture, numbers)
        return picture


class RandomApply(Transform):
    """A transform with a probability, else nothing.

    >>> import unigrad as ug
    >>> T = ug.data.transforms
    >>> T.RandomApply(T.Grayscale(), p=1.0)(ug.zeros(3, 2, 2, dtype="uint8")).shape
    (3, 2, 2)
    """

    def __init__(self, transform, p=0.5):
        many = isinstance(transform, (list, tuple))
        self.transform, self.p = Compose(transform) if many else _transform("transform", transform), _check.probability("p", p)

    def apply(self, picture, numbers):
        return self.transform.apply(picture, numbers) if numbers.uniform() < self.p else picture


def _transform(name, value):
    if not isinstance(value, Transform):
        raise TypeError(f"argument '{name}': a Transform is wanted, not {_check._kind(value)}")
    return value


class Resize(_Native):
    """Another size, bilinear with antialiasing: rows and columns, or with one number the shorter side's, where the shape stays.

    >>> import unigrad as ug
    >>> ug.data.transforms.Resize(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, size):
        one = isinstance(size, numbers.Integral)
        self.size = _check.positive("size", size) if one else _pair("size", size)
        self._native = _data.Transform.resize(*((size, None) if one else self.size))


class CenterCrop(_Native):
    """The middle, in a size; what the picture lacks is 0.

    >>> import unigrad as ug
    >>> ug.data.transforms.CenterCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, size):
        self.size = _pair("size", size)
        self._native = _data.Transform.center_crop(*self.size)


class RandomCrop(_Native):
    """A part of a size at random, of the picture with ``padding`` pixels of ``fill`` around it.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, size, padding=0, fill=0):
        self.size, self.padding, self.fill = _pair("size", size), _check.size("padding", padding), _check.number("fill", fill)
        self._native = _data.Transform.random_crop(*self.size, self.padding, self.fill)


class RandomResizedCrop(_Native):
    """A part of a random area and shape, in one size: the usual augmentation for training on ImageNet.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomResizedCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
        self.size, self.scale, self.ratio = _pair("size", size), _range("scale", scale), _range("ratio", ratio)
        self._native = _data.Transform.random_resized_crop(*self.size, self.scale, self.ratio)


class RandomHorizontalFlip(_Native):
    """Left to right, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomHorizontalFlip()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, p=0.5):
        self.p = _check.probability("p", p)
        self._native = _data.Transform.horizontal_flip(self.p)


class RandomVerticalFlip(_Native):
    """Top to bottom, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomVerticalFlip()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, p=0.5):
        self.p = _check.probability("p", p)
        self._native = _data.Transform.vertical_flip(self.p)


class RandomRotation(_Native):
    """Turned by an angle: between ``-degrees`` and ``degrees``, or between two numbers. What was outside is ``fill``.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomRotation(15)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, degrees, fill=0):
        one = isinstance(degrees, numbers.Real) and not isinstance(degrees, bool)
        if one:
            reach = _check.number("degrees", degrees, 0.0)
        self.degrees, self.fill = (-reach, reach) if one else _range("degrees", degrees), _check.number("fill", fill)
        self._native = _data.Transform.rotation(self.degrees, self.fill)


class ColorJitter(_Native):
    """Random brightness, contrast, saturation (factors between ``1 - x`` and ``1 + x``) and hue (turns, at most half of one), in random order.

    >>> import unigrad as ug
    >>> ug.data.transforms.ColorJitter(brightness=0.2)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        given = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
        given = {name: _check.number(name, value, 0.0) for name, value in given.items()} | {"hue": _check.number("hue", hue, 0.0, 0.5)}
        self.__dict__.update(given)
        self._native = _data.Transform.color_jitter(*given.values())


class RandomGrayscale(_Native):
    """Grey with the picture's number of channels, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomGrayscale()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, p=0.1):
        self.p = _check.probability("p", p)
        self._native = _data.Transform.grayscale(self.p)


class Grayscale(RandomGrayscale):
    """Grey with the picture's number of channels. In one channel: ``picture.convert(1)``.

    >>> import unigrad as ug
    >>> ug.data.transforms.Grayscale()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self):
        super().__init__(1.0)


class RandomErasing(_Native):
    """A rectangle of a random area and shape becomes ``value``, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomErasing()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0):
        self.p, self.scale, self.ratio = _check.probability("p", p), _range("scale", scale), _range("ratio", ratio)
        self.value = _check.number("value", value)
        self._native = _data.Transform.erasing(self.p, self.scale, self.ratio, self.value)


class ToFloat(_Native):
    """Bytes as floats from 0 to 1.

    >>> import unigrad as ug
    >>> ug.data.transforms.ToFloat()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self):
        self._native = _data.Transform.to_float()


class Normalize(_Native):
    """Floats, each channel less its mean and by its standard deviation.

    >>> import unigrad as ug
    >>> ug.data.transforms.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)
    """

    def __init__(self, mean, std):
        mean, std = ([_check.number(name, part) for part in _several(name, given)] for name, given in (("mean", mean), ("std", std)))
        self.mean, self.std = mean, std
        self._native = _data.Transform.normalize(mean, std)

    @classmethod
    def imagenet(cls):
        """By the means and deviations of ImageNet's training pictures."""
        return cls((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def _several(name, value):
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"argument '{name}': numbers are wanted, not {_check._kind(value)}")
    return list(value)
