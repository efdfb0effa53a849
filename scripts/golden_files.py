"""Files of tensors as PyTorch and NumPy write them, and what is in them: goldens/formats/.

For each `NAME.pt`, `NAME.npy` or `NAME.npz` there is a `NAME.safetensors` with the same tensors, row-major and little-endian, and with what the file says beside
them as its metadata. Files whose name begins with `refused_` must be refused, with the words that `refused.json` has.

    python scripts/golden_files.py        # needs torch 2.15 (CPU) and numpy
"""

import collections
import gzip
import inspect
import io
import json
import os
import pathlib
import pickle
import shutil
import struct
import warnings
import zipfile

import numpy as np
import torch

OLD = inspect.getsource(torch.serialization._legacy_save)
FOLDER = pathlib.Path(__file__).parent.parent / "goldens" / "formats"
TORCH = {
    torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.uint16: "U16", torch.int16: "I16", torch.uint32: "U32", torch.int32: "I32",
    torch.uint64: "U64", torch.int64: "I64", torch.float16: "F16", torch.bfloat16: "BF16", torch.float32: "F32", torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2",
}  # fmt: skip
NUMPY = {
    "b1": "BOOL", "u1": "U8", "i1": "I8", "u2": "U16", "i2": "I16", "u4": "U32", "i4": "I32", "u8": "U64", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64",
}  # fmt: skip


def safetensors(path, tensors, texts):
    """Written by hand, so that what reads it is compared with something else than itself."""
    header, data = {}, b""
    if texts:
        header["__metadata__"] = dict(sorted(texts.items()))
    for name in sorted(tensors):
        dtype, shape, raw = tensors[name]
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def of_torch(tensor):
    tensor = tensor.detach().contiguous()
    raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return TORCH[tensor.dtype], tensor.shape, raw


def of_numpy(array):
    array = np.asarray(array)
    return NUMPY[array.dtype.str[1:]], array.shape, np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()


def plain(value):
    """A scalar's text, or None."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, str)) and not isinstance(value, np.generic):
        return {"inf": "inf", "nan": "NaN"}.get(str(value), repr(value).replace("e-0", "e-")) if isinstance(value, float) else str(value)
    if isinstance(value, (torch.dtype, torch.device)):
        return str(value).removeprefix("torch.")
    if isinstance(value, dict) and not value:
        return "{}"
    return None


def flat(value, name, tensors, texts):
    """What the file has, by a walk of Python's own."""
    join = lambda key: f"{name}.{key}" if name else str(key)
    if isinstance(value, torch.Tensor):
        tensors[name or "data"] = of_torch(value)
    elif isinstance(value, (np.ndarray, np.generic)):
        tensors[name or "data"] = of_numpy(value)
    elif isinstance(value, (bytes, bytearray)):
        tensors[name or "data"] = "U8", [len(value)], bytes(value)
    elif isinstance(value, dict) and value:
        for key, child in value.items():
            flat(child, join(json.dumps(list(key)) if isinstance(key, tuple) else plain(key)), tensors, texts)
    elif isinstance(value, (list, tuple, set, frozenset)):
        words = [plain(child) for child in value]
        if None not in words:
            texts[name or "data"] = f"[{', '.join(json.dumps(w) if isinstance(c, str) else w for w, c in zip(words, value))}]"
            return
        for i, child in enumerate(value):
            flat(child, join(i), tensors, texts)
    else:
        texts[name or "data"] = plain(value)


def number_storages():
    """The older format calls storages by their addresses; by numbers, the files are the same each time."""
    assert "str(storage._cdata)" in OLD
    numbers = {}
    torch.serialization.__dict__["_number"] = lambda address: f"{numbers.setdefault(address, len(numbers)):06}"
    exec(OLD.replace("str(storage._cdata)", "_number(storage._cdata)"), torch.serialization.__dict__)


def save(name, value, **options):
    path = FOLDER / f"{name}.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        number_storages()
        torch.save(value, path, **options)
    expect(name, value)
    return path


def expect(name, value):
    tensors, texts = {}, {}
    flat(value, "", tensors, texts)
    safetensors(FOLDER / f"{name}.safetensors", tensors, texts)


def repack(source, name, value, change, method=zipfile.ZIP_STORED):
    """The same archive with other entries."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(FOLDER / f"{name}.pt", "w", method) as new:
        for info in old.infolist():
            entry = zipfile.ZipInfo(info.filename)
            entry.compress_type = method
            new.writestr(entry, change(info.filename, old.read(info)))
    expect(name, value)


def dtypes():
    tensors = {}
    for dtype in TORCH:
        values = torch.tensor([0, 1, 2, 3, 100, 7]) if dtype.is_floating_point or dtype == torch.bool else torch.tensor([0, 1, 127, 3, 100, 7])
        tensors[str(dtype).removeprefix("torch.")] = values.to(dtype).reshape(2, 3)
    tensors["specials"] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-45])
    tensors["wide"] = torch.tensor([-(2**63), 2**63 - 1])
    return tensors


def views():
    base = torch.arange(60, dtype=torch.float32).reshape(3, 4, 5)
    tied = torch.arange(6, dtype=torch.float16).reshape(2, 3)
    return {
        "base": base, "transposed": base.transpose(0, 2), "permuted": base.permute(1, 2, 0), "sliced": base[1:, ::2, 1:4], "row": base[2, 3],
        "column": base[:, 1, 2], "scalar": base[1, 1, 1], "expanded": torch.tensor([[1.0], [2.0]]).expand(2, 4), "empty": torch.zeros(0, 3),
        "empty_part": base[:, 2:2], "one": torch.ones(1, 1, 1)[:, :, :].transpose(0, 2), "channels_last": torch.arange(24.0).reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
        "tied.a": tied, "tied.b": tied, "tied.t": tied.t(), "strided": torch.arange(20, dtype=torch.int64).as_strided((3, 2), (6, 3), 1),
        "bool": torch.tensor([[True, False, True], [False, False, True]]).t(),
    }  # fmt: skip


def training():
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    for _ in range(2):
        model(torch.randn(5, 4)).square().mean().backward()
        optimizer.step()
        scheduler.step()
    return {
        "model_state_dict": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(), "epoch": 7, "loss": 0.125,
        "best": float("inf"), "note": "a \"text\" with ümlauts", "done": False, "nothing": None, "big": 2**70, "negative": -(2**100), "large": 2**40,
        "rng": torch.get_rng_state()[:16].clone(), "dtype": torch.bfloat16, "device": torch.device("cpu"), "shape": torch.Size([2, 3]),
        "names": ["a", "b\n"], "mixed": [1, 2.5, None, True, "x"], "pair": (1, torch.ones(2)), "empty": {}, "none_at_all": [], ("key", 1): 2, 5: "five",
        "parameter": model[3].weight,
    }  # fmt: skip


def values():
    return {
        "scalar": np.float32(3.5), "array": np.arange(6, dtype=np.float64).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        "big": np.arange(4, dtype=">i4"), "flag": np.bool_(True), "bytes": b"\x00\xffyz", "more": bytearray(b"abc"), "of_dict": collections.OrderedDict(a=1),
    }  # fmt: skip


class Code:
    def __reduce__(self):
        return os.system, ("false",)


def refused():
    words = {}
    torch.manual_seed(0)
    torch.save(torch.nn.Linear(1, 1), FOLDER / "refused_module.pt")
    words["refused_module.pt"] = "contains code: torch.nn.modules.linear.Linear"
    torch.save({"weight": torch.ones(1), "more": Code()}, FOLDER / "refused_system.pt")
    words["refused_system.pt"] = "contains code: posix.system"
    torch.save(Code(), FOLDER / "refused_system_old.pt", _use_new_zipfile_serialization=False)
    words["refused_system_old.pt"] = "contains code: posix.system"
    (FOLDER / "refused_pickle.pt").write_bytes(pickle.dumps({"a": [1, 2]}, protocol=2))
    words["refused_pickle.pt"] = "no checkpoint of PyTorch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.script(torch.nn.ReLU())
        torch.jit.save(script, FOLDER / "refused_script.pt")
        words["refused_script.pt"] = "this is a TorchScript archive"
        torch.save({"a": torch.eye(2).to_sparse()}, FOLDER / "refused_sparse.pt")
        words["refused_sparse.pt"] = "contains a sparse tensor"
        torch.save({"a": torch.quantize_per_tensor(torch.ones(2), 0.5, 0, torch.qint8)}, FOLDER / "refused_quantized.pt")
        words["refused_quantized.pt"] = "contains a quantized tensor"
    torch.save({"a": torch.ones(2, dtype=torch.complex64)}, FOLDER / "refused_complex.pt")
    words["refused_complex.pt"] = "contains complex numbers"
    np.save(FOLDER / "refused_objects.npy", np.array([Code(), None], dtype=object), allow_pickle=True)
    words["refused_objects.npy"] = "type |O"
    np.save(FOLDER / "refused_complex.npy", np.ones(2, dtype=np.complex64))
    words["refused_complex.npy"] = "type <c8"
    np.save(FOLDER / "refused_fields.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    words["refused_fields.npy"] = "type [('a', '<f4'), ('b', '<i4')]"
    (FOLDER / "refused.json").write_text(json.dumps(words, indent=1) + "\n")


def arrays():
    whole = {}
    for kind in NUMPY:
        array = np.array([[0, 1, 2], [3, 100, 7]]).astype(kind)
        whole[kind] = array
        whole[f"{kind}_big_fortran"] = np.asfortranarray(array.astype(np.dtype(kind).newbyteorder(">")))
    whole["scalar"] = np.float32(1.5)
    whole["empty"] = np.zeros((0, 4), dtype=np.int32)
    whole["cube"] = np.asfortranarray(np.arange(24, dtype="<f8").reshape(2, 3, 4))
    tensors = {name: of_numpy(array) for name, array in whole.items()}
    for name, write in [("arrays", np.savez), ("arrays_packed", np.savez_compressed)]:
        write(FOLDER / f"{name}.npz", **whole)
        safetensors(FOLDER / f"{name}.safetensors", tensors, {})
    for version in [(1, 0), (2, 0), (3, 0)]:
        array = np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3))
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            np.lib.format.write_array(buffer, array, version=version)
        (FOLDER / f"version_{version[0]}.npy").write_bytes(buffer.getvalue())
        safetensors(FOLDER / f"version_{version[0]}.safetensors", {"data": of_numpy(array)}, {})
    np.save(FOLDER / "plain.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    safetensors(FOLDER / "plain.safetensors", {"data": of_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))}, {})


def pretrained():
    """A network that knows the digits 0 to 4, as a training program of PyTorch leaves it (under DataParallel): what the example of fine-tuning begins with."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.features = torch.nn.Sequential(torch.nn.Linear(64, 24), torch.nn.ReLU(), torch.nn.Linear(24, 24), torch.nn.ReLU())
            self.classifier = torch.nn.Linear(24, 5)

        def forward(self, x):
            return self.classifier(self.features(x))

    assets = FOLDER.parent.parent / "crates/unigrad-data/assets"
    read = lambda name, skip: np.frombuffer(gzip.decompress((assets / name).read_bytes())[skip:], np.uint8)
    images, labels = read("digits-images-idx3-ubyte.gz", 16).reshape(-1, 64)[:1437], read("digits-labels-idx1-ubyte.gz", 8)[:1437]
    x, y = torch.tensor(images[labels < 5] / 16.0, dtype=torch.float32), torch.tensor(labels[labels < 5], dtype=torch.int64)
    torch.set_num_threads(1)
    torch.manual_seed(5)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(200):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    state = {f"module.{name}": tensor for name, tensor in net.state_dict().items()}
    save("pretrained", {"model_state_dict": state, "epoch": 200, "loss": round(loss.item(), 4)})


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name, value in [("dtypes", dtypes()), ("views", views()), ("training", training()), ("values", values())]:
        save(name, value)
        save(f"{name}_old", value, _use_new_zipfile_serialization=False)
    for protocol in [3, 4, 5]:
        save(f"protocol_{protocol}", training(), pickle_protocol=protocol)
        save(f"values_{protocol}", values(), pickle_protocol=protocol)
    save("one", torch.arange(3, dtype=torch.int32))
    torch.serialization.set_crc32_options(False)
    save("unchecked", {"a": torch.arange(3, dtype=torch.int32)})
    torch.serialization.set_crc32_options(True)
    numbers = {name: tensor for name, tensor in dtypes().items()}

    def swapped(name, content):
        if name.endswith("byteorder"):
            return b"big"
        if "/data/" in name:
            # Storages are numbered in the order of the tensors.
            size = list(numbers.values())[int(name.split("/")[-1])].element_size()
            return np.frombuffer(content, dtype=f"u{size}").byteswap().tobytes()
        return content

    repack(FOLDER / "dtypes.pt", "big_endian", numbers, swapped)
    repack(FOLDER / "views.pt", "packed", views(), lambda _, content: content, zipfile.ZIP_DEFLATED)
    arrays()
    pretrained()
    refused()
    print(sum(path.stat().st_size for path in FOLDER.iterdir()), "bytes")


main()
