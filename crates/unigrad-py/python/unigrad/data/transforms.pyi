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

class Transform:
    """What is done to a picture. One of your own has ``apply(picture, numbers)``, where ``numbers.uniform()`` is random.

    >>> import unigrad as ug
    >>> isinstance(ug.data.transforms.Resize(4), ug.data.transforms.Transform)
    True"""
    def apply(self, picture: Any, numbers: Any) -> Any:
        """The picture that this one becomes."""
        ...
    def __call__(self, image: Any, seed: builtins.int | None=None) -> Any:
        """Of a picture a picture, of a tensor a tensor. The same ``seed`` gives the same; without one it follows ``unigrad.manual_seed``."""
        ...
class _Native(Transform):
    """A transform of the crates."""
    def apply(self, picture: Any, numbers: Any) -> Any: ...
class Compose(Transform):
    """Transforms, one after the other.

    >>> import unigrad as ug
    >>> T = ug.data.transforms
    >>> T.Compose([T.Resize(4), T.ToFloat()])(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)"""
    transforms: Any
    def __init__(self, transforms: Any) -> None: ...
    def apply(self, picture: Any, numbers: Any) -> Any: ...
class RandomApply(Transform):
    """A transform with a probability, else nothing.

    >>> import unigrad as ug
    >>> T = ug.data.transforms
    >>> T.RandomApply(T.Grayscale(), p=1.0)(ug.zeros(3, 2, 2, dtype="uint8")).shape
    (3, 2, 2)"""
    transform: Any
    p: builtins.float
    def __init__(self, transform: Any, p: builtins.float=0.5) -> None: ...
    def apply(self, picture: Any, numbers: Any) -> Any: ...
class Resize(_Native):
    """Another size, bilinear with antialiasing: rows and columns, or with one number the shorter side's, where the shape stays.

    >>> import unigrad as ug
    >>> ug.data.transforms.Resize(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)"""
    size: builtins.int | Sequence[builtins.int]
    def __init__(self, size: builtins.int | Sequence[builtins.int]) -> None: ...
class CenterCrop(_Native):
    """The middle, in a size; what the picture lacks is 0.

    >>> import unigrad as ug
    >>> ug.data.transforms.CenterCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)"""
    size: builtins.int | Sequence[builtins.int]
    def __init__(self, size: builtins.int | Sequence[builtins.int]) -> None: ...
class RandomCrop(_Native):
    """A part of a size at random, of the picture with ``padding`` pixels of ``fill`` around it.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)"""
    size: builtins.int | Sequence[builtins.int]
    padding: builtins.int | Sequence[builtins.int]
    fill: builtins.int
    def __init__(self, size: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int]=0, fill: builtins.int=0) -> None: ...
class RandomResizedCrop(_Native):
    """A part of a random area and shape, in one size: the usual augmentation for training on ImageNet.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomResizedCrop(4)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 4, 4)"""
    size: builtins.int | Sequence[builtins.int]
    scale: Sequence[builtins.float]
    ratio: Sequence[builtins.float]
    def __init__(self, size: builtins.int | Sequence[builtins.int], scale: Sequence[builtins.float]=..., ratio: Sequence[builtins.float]=...) -> None: ...
class RandomHorizontalFlip(_Native):
    """Left to right, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomHorizontalFlip()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    p: builtins.float
    def __init__(self, p: builtins.float=0.5) -> None: ...
class RandomVerticalFlip(_Native):
    """Top to bottom, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomVerticalFlip()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    p: builtins.float
    def __init__(self, p: builtins.float=0.5) -> None: ...
class RandomRotation(_Native):
    """Turned by an angle: between ``-degrees`` and ``degrees``, or between two numbers. What was outside is ``fill``.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomRotation(15)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    degrees: Any
    fill: builtins.int
    def __init__(self, degrees: Any, fill: builtins.int=0) -> None: ...
class ColorJitter(_Native):
    """Random brightness, contrast, saturation (factors between ``1 - x`` and ``1 + x``) and hue (turns, at most half of one), in random order.

    >>> import unigrad as ug
    >>> ug.data.transforms.ColorJitter(brightness=0.2)(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    def __init__(self, brightness: builtins.int=0, contrast: builtins.int=0, saturation: builtins.int=0, hue: builtins.int=0) -> None: ...
class RandomGrayscale(_Native):
    """Grey with the picture's number of channels, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomGrayscale()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    p: builtins.float
    def __init__(self, p: builtins.float=0.1) -> None: ...
class Grayscale(RandomGrayscale):
    """Grey with the picture's number of channels. In one channel: ``picture.convert(1)``.

    >>> import unigrad as ug
    >>> ug.data.transforms.Grayscale()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    def __init__(self) -> None: ...
class RandomErasing(_Native):
    """A rectangle of a random area and shape becomes ``value``, with a probability.

    >>> import unigrad as ug
    >>> ug.data.transforms.RandomErasing()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    p: builtins.float
    scale: Sequence[builtins.float]
    ratio: Sequence[builtins.float]
    value: builtins.int
    def __init__(self, p: builtins.float=0.5, scale: Sequence[builtins.float]=..., ratio: Sequence[builtins.float]=..., value: builtins.int=0) -> None: ...
class ToFloat(_Native):
    """Bytes as floats from 0 to 1.

    >>> import unigrad as ug
    >>> ug.data.transforms.ToFloat()(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    def __init__(self) -> None: ...
class Normalize(_Native):
    """Floats, each channel less its mean and by its standard deviation.

    >>> import unigrad as ug
    >>> ug.data.transforms.Normalize([0.5, 0.5, 0.5], [0.25, 0.25, 0.25])(ug.zeros(3, 8, 8, dtype="uint8")).shape
    (3, 8, 8)"""
    mean: Any
    std: Any
    def __init__(self, mean: Any, std: Any) -> None: ...
    @classmethod
    def imagenet(cls) -> Any:
        """By the means and deviations of ImageNet's training pictures."""
        ...
