"""``save`` and ``load``: tensors by name in files: safetensors, PyTorch's ``.pt``, NPY, NPZ."""

import io
import json
import os
import pickle
import shutil
import struct
import tempfile
import zipfile
from collections import OrderedDict

from . import _check
from ._errors import ArgumentError, FileError
from ._unigrad import Tensor, _train

__all__ = ["load", "save"]


def _path(name, path):
    try:
        return os.fspath(path)
    except TypeError:
        raise TypeError(f"argument '{name}': a path is wanted, not {_check._kind(path)}") from None


def _flat(obj, prefix, tensors, texts):
    for key, value in obj.items():
        if not isinstance(key, (str, int)):
            raise TypeError(f"argument 'obj': names are wanted, not {_check._kind(key)}")
        name = f"{prefix}{key}"
        if isinstance(value, Tensor):
            tensors[name] = value.detach()
        elif isinstance(value, dict):
            _flat(value, f"{name}.", tensors, texts)
        elif isinstance(value, (list, tuple)) and any(isinstance(item, (dict, Tensor)) for item in value):
            _flat(dict(enumerate(value)), f"{name}.", tensors, texts)
        elif value is None or isinstance(value, (bool, int, float, str, list, tuple)):
            texts[name] = value if isinstance(value, str) else json.dumps(value)
        else:
            raise TypeError(f"argument 'obj': `{name}` is a {_check._kind(value)}; tensors, numbers and texts can be saved")


def _ending(f):
    """The ending of a path, or of the name of an open file; what has no name is as ``torch.save`` writes it."""
    name = getattr(f, "name", None) if hasattr(f, "write") else _path("f", f)
    return os.path.splitext(name)[1].lower() if isinstance(name, str) else ".pt"


def save(obj, f, metadata=None):
    """Saves tensors: a ``state_dict``, a dict of them, of dicts and of numbers, a module, or one tensor.

    The name's ending says how: ``.safetensors`` (and all others), ``.pt`` and ``.pth`` as ``torch.save`` does, ``.npz``, ``.npy``. In a safetensors file
    dicts in dicts become dotted names, numbers and texts are metadata. A file is replaced whole or not at all. ``f`` may be a file that is open for
    bytes: without a name (``io.BytesIO``) it is written as ``torch.save`` does.

    >>> import os, tempfile, unigrad as ug
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> ug.save({"w": ug.ones(2)}, path)
    >>> ug.load(path)["w"].tolist()
    [1.0, 1.0]
    """
    ending = _ending(f)
    if hasattr(f, "write"):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, f"file{ending}")
            save(obj, path, metadata)
            with open(path, "rb") as file:
                shutil.copyfileobj(file, f)
        return
    path = _path("f", f)
    if hasattr(obj, "state_dict"):
        obj = obj.state_dict()
    if isinstance(obj, Tensor):
        obj = {"data": obj}
    if not isinstance(obj, dict):
        raise TypeError(f"argument 'obj': tensors by name are wanted, not {_check._kind(obj)}")
    if ending in (".pt", ".pth"):
        return _save_torch(obj, path)
    tensors, texts = {}, {}
    _flat(obj, "", tensors, texts)
    if metadata is not None and not isinstance(metadata, dict):
        raise TypeError(f"argument 'metadata': texts by name are wanted, not {_check._kind(metadata)}")
    for name, text in (metadata or {}).items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError("argument 'metadata': texts by name are wanted")
        texts[name] = text
    _train.save_tensors(path, tensors, texts, {".npz": "npz", ".npy": "npy"}.get(ending, "safetensors"))


def load(f, device=None, *, map_location=None, with_metadata=False, weights_only=True):
    """The tensors of a file by name: safetensors (or the index of several), ``.pt``, NPY, NPZ; the format is told by the content.
    ``f`` is a path, or a file that is open for bytes, which is read from where it is.

    Of a PyTorch checkpoint dicts and lists become dotted names; nothing in it is run. With ``with_metadata`` also the texts beside the tensors.

    >>> import os, tempfile
    >>> import unigrad as ug
    >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
    >>> ug.save({"w": ug.tensor([1.0, 2.0])}, path)
    >>> ug.load(path)["w"]
    tensor([1., 2.])
    """
    device = map_location if device is None else device
    if hasattr(f, "read"):
        content = f.read()
        if not isinstance(content, bytes):
            raise TypeError(f"argument 'f': a file of bytes is wanted, not of {_check._kind(content)}\n help: open it with mode \"rb\"")
        tensors, texts = _train.tensors_of_bytes(content)
    else:
        tensors, texts = _train.load_tensors(_path("f", f))
    if device is not None:
        tensors = {name: tensor.to(device) for name, tensor in tensors.items()}
    tensors = OrderedDict(tensors)
    return (tensors, texts) if with_metadata else tensors


# PyTorch's format: a zip archive of a pickle and the bytes of storages.

_STORAGES = {
    "bool": "BoolStorage",
    "uint8": "ByteStorage",
    "int8": "CharStorage",
    "int16": "ShortStorage",
    "int32": "IntStorage",
    "int64": "LongStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "float32": "FloatStorage",
    "float64": "DoubleStorage",
}


class _Global:
    """A name that a pickle refers to."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class _Pickler(pickle._Pickler):
    """Writes names without importing what they name."""

    def __init__(self, file):
        super().__init__(file, protocol=2)
        self.storages = []
        self.made = {}

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _Global):
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
            return
        if isinstance(obj, Tensor):
            self._save_tensor(obj)
            return
        super().save(obj, save_persistent_id)

    def _save_tensor(self, tensor):
        kind = tensor.dtype.name
        if kind not in _STORAGES:
            raise ArgumentError(f"a tensor of {kind} in a PyTorch file\n help: cast it, or save a safetensors file")
        number = self.made.setdefault(id(tensor), len(self.storages))
        if number == len(self.storages):
            self.storages.append(tensor)
        shape = tuple(tensor.shape)
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= max(size, 1)
        # `_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)`.
        self.save(_Global("torch._utils", "_rebuild_tensor_v2"))
        self.write(pickle.MARK)
        self.write(pickle.MARK)
        for part in ("storage", _Global("torch", _STORAGES[kind]), str(number), "cpu", tensor.numel()):
            self.save(part)
        self.write(pickle.TUPLE + pickle.BINPERSID)
        for part in (0, shape, tuple(strides), False):
            self.save(part)
        self.save(_Global("collections", "OrderedDict"))
        self.write(pickle.EMPTY_TUPLE + pickle.REDUCE)
        self.write(pickle.TUPLE + pickle.REDUCE)


def _plain(obj, name=""):
    if isinstance(obj, Tensor):
        return obj.detach()
    if isinstance(obj, dict):
        return {key: _plain(value, f"{name}{key}.") for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(_plain(item, name) for item in obj) if type(obj) in (list, tuple) else [_plain(item, name) for item in obj]
    if obj is None or type(obj) in (bool, int, float, str, bytes):
        return obj
    raise TypeError(f"argument 'obj': `{name.rstrip('.')}` is a {_check._kind(obj)}; tensors, numbers and texts can be saved")


def _save_torch(obj, path):
    obj = _plain(obj)
    data = io.BytesIO()
    pickler = _Pickler(data)
    pickler.dump(obj)
    beside = f"{path}.{os.getpid()}.part"
    try:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_STORED) as archive:

            def entry(name, content):
                # PyTorch maps storages: they begin at multiples of 64 bytes.
                info = zipfile.ZipInfo(f"archive/{name}")
                start = archive.fp.tell() + 30 + len(info.filename)
                pad = -(start + 4) % 64
                info.extra = struct.pack("<HH", 0x4246, pad) + b"Z" * pad
                archive.writestr(info, content)

            entry("data.pkl", data.getvalue())
            entry("byteorder", b"little")
            for number, tensor in enumerate(pickler.storages):
                entry(f"data/{number}", tensor.tobytes())
            entry("version", b"3\n")
        os.replace(beside, path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error}") from error
    finally:
        if os.path.exists(beside):
            os.remove(beside)
