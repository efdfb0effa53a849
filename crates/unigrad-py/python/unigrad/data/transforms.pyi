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
    """What is done to a picture. One of your own has ``apply(picture, numbers)``, where ``numbers.uniform()`` is random."""
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
    """Transforms, one after the other."""
    transforms: Any
    def __init__(self, transforms: Any) -> None: ...
    def apply(self, picture: Any, numbers: Any) -> Any: ...
class RandomApply(Transform):
    """A transform with a probability, else nothing."""
    transform: Any
    p: builtins.float
    def __init__(self, transform: Any, p: builtins.float=0.5) -> None: ...
    def apply(self, picture: Any, numbers: Any) -> Any: ...
class Resize(_Native):
    """Another size, bilinear with antialiasing: rows and columns, or with one number the shorter side's, where the shape stays."""
    size: builtins.int | Sequence[builtins.int]
    def __init__(self, size: builtins.int | Sequence[builtins.int]) -> None: ...
class CenterCrop(_Native):
    """The middle, in a size; what the picture lacks is 0."""
    size: builtins.int | Sequence[builtins.int]
    def __init__(self, size: builtins.int | Sequence[builtins.int]) -> None: ...
class RandomCrop(_Native):
    """A part of a size at random, of the picture with ``padding`` pixels of ``fill`` around it."""
    size: builtins.int | Sequence[builtins.int]
    padding: builtins.int | Sequence[builtins.int]
    fill: builtins.int
    def __init__(self, size: builtins.int | Sequence[builtins.int], padding: builtins.int | Sequence[builtins.int]=0, fill: builtins.int=0) -> None: ...
class RandomResizedCrop(_Native):
    """A part of a random area and shape, in one size: the usual augmentation for training on ImageNet."""
    size: builtins.int | Sequence[builtins.int]
    scale: Sequence[builtins.float]
    ratio: Sequence[builtins.float]
    def __init__(self, size: builtins.int | Sequence[builtins.int], scale: Sequence[builtins.float]=..., ratio: Sequence[builtins.float]=...) -> None: ...
class RandomHorizontalFlip(_Native):
    """Left to right, with a probability."""
    p: builtins.float
    def __init__(self, p: builtins.float=0.5) -> None: ...
class RandomVerticalFlip(_Native):
    """Top to bottom, with a probability."""
    p: builtins.float
    def __init__(self, p: builtins.float=0.5) -> None: ...
class RandomRotation(_Native):
    """Turned by an angle: between ``-degrees`` and ``degrees``, or between two numbers. What was outside is ``fill``."""
    degrees: Any
    fill: builtins.int
    def __init__(self, degrees: Any, fill: builtins.int=0) -> None: ...
class ColorJitter(_Native):
    """Random brightness, contrast, saturation (factors between ``1 - x`` and ``1 + x``) and hue (turns, at most half of one), in random order."""
    def __init__(self, brightness: builtins.int=0, contrast: builtins.int=0, saturation: builtins.int=0, hue: builtins.int=0) -> None: ...
class RandomGrayscale(_Native):
    """Grey with the picture's number of channels, with a probability."""
    p: builtins.float
    def __init__(self, p: builtins.float=0.1) -> None: ...
class Grayscale(RandomGrayscale):
    """Grey with the picture's number of channels. In one channel: ``picture.convert(1)``."""
    def __init__(self) -> None: ...
class RandomErasing(_Native):
    """A rectangle of a random area and shape becomes ``value``, with a probability."""
    p: builtins.float
    scale: Sequence[builtins.float]
    ratio: Sequence[builtins.float]
    value: builtins.int
    def __init__(self, p: builtins.float=0.5, scale: Sequence[builtins.float]=..., ratio: Sequence[builtins.float]=..., value: builtins.int=0) -> None: ...
class ToFloat(_Native):
    """Bytes as floats from 0 to 1."""
    def __init__(self) -> None: ...
class Normalize(_Native):
    """Floats, each channel less its mean and by its standard deviation."""
    mean: Any
    std: Any
    def __init__(self, mean: Any, std: Any) -> None: ...
    @classmethod
    def imagenet(cls) -> Any:
        """By the means and deviations of ImageNet's training pictures."""
        ...
