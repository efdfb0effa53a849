"""What the array API standard asks of the array object, beside what `Tensor` has already."""

from ._unigrad import Device, Tensor, asarray


class Size(int):
    """The number of elements, as the standard and NumPy have it (``x.size``); called, the shape or a size, as in PyTorch (``x.size(0)``).

    >>> import unigrad
    >>> unigrad.ones(2, 3).size, unigrad.ones(2, 3).size(0)
    (6, 2)
    """

    def __new__(cls, of):
        size = int.__new__(cls, of.numel())
        size._of = of
        return size

    def __call__(self, dim=None):
        return self._of.shape if dim is None else _size(self._of, dim)

    def __reduce__(self):
        return int, (int(self),)


_size = Tensor.size


def _array_namespace(self, /, *, api_version=None):
    """The namespace of the array API standard: `unigrad.array_api`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"`api_version` is '2024.12' or older, not {api_version!r}")
    from . import array_api

    return array_api


def _to_device(self, device, /, *, stream=None):
    """The array on another device.

    >>> import unigrad
    >>> unigrad.ones(2).to_device("cpu").shape
    (2,)
    """
    if stream is not None:
        raise ValueError("`stream` is None: a copy waits for what it copies\n help: leave it out")
    if not isinstance(device, (Device, str)):
        raise TypeError(f"`device` is a `unigrad.Device` or its name, not {type(device).__name__}")
    return self.to(device if isinstance(device, Device) else Device(device))


def _complex(self, /):
    """The value of a tensor with one element."""
    return complex(float(self))


Tensor.size = property(Size, doc=Size.__doc__)
Tensor.__array_namespace__ = _array_namespace
Tensor.to_device = _to_device
Tensor.__bytes__ = Tensor.tobytes
Tensor.__complex__ = _complex
