"""Exchanges of memory of every kind, over and over: what `cargo xtask exchange` runs, under memcheck and without.

    python tests/exchange_memory.py [--rounds 3] [--resident] [--break]

With `--resident` rounds go on until 100,000 exchanges are done, and resident memory, references and the device's memory must be what they were. With `--break`
memory is read that its owner has given back: a memory checker that finds nothing then would find nothing ever.
"""

import argparse
import array
import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable

import numpy as np

import unigrad as ug

try:
    import torch
except ImportError:
    torch = None

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
# What old releases of PyTorch have.
TORCH_DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]


def check(is_well: bool, what: str) -> None:
    if not is_well:
        raise SystemExit(f"wrong: {what}")


def values(dtype: str) -> np.ndarray:
    return (np.arange(48) % 7 > 2).reshape(6, 8) if dtype == "bool" else (np.arange(48) % 100).reshape(6, 8).astype(dtype)


VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[::2],
    "backwards": lambda a: a[::-2, ::-3],
    "one axis more": lambda a: a[:, None, 1:3],
    "an element": lambda a: a[2, 3],
    "nothing": lambda a: a[:, 2:2],
    "broadcast": lambda a: np.broadcast_to(a, (2, 6, 8)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=1),
}


def arrays_in() -> int:
    """Arrays of every dtype and stride, taken by each way, computed with, and let go."""
    n = 0
    for dtype in DTYPES:
        for what, view in VIEWS.items():
            a = np.asarray(view(values(dtype)))
            for take in (ug.from_dlpack, ug.from_numpy, lambda a: ug.asarray(a, copy=False), ug.asarray, lambda a: ug.from_dlpack(a, copy=True)):
                x = take(a)
                check(np.array_equal(np.asarray(x), a), f"{dtype}, {what}")
                n += 1
    return n


def tensors_out() -> int:
    """Tensors of every dtype and view, given by each way, back again, and let go."""
    n = 0
    for dtype in DTYPES:
        x = ug.tensor(values(dtype))
        for part in (x, x.T, x[1:, ::2], x[:0], x[2, 3], x.expand(2, 6, 8)):
            expected = part.numpy()
            given = [np.from_dlpack(part), np.asarray(part), np.asarray(memoryview(part)), np.from_dlpack(part, copy=True), part.__array__(copy=True)]
            for one in given:
                check(np.array_equal(one, expected), f"{dtype} goes out")
                check(np.array_equal(np.asarray(ug.from_dlpack(one)), expected), f"{dtype} comes back")
                n += 2
            part.__dlpack__(), part.__dlpack__(max_version=(1, 0)), part.__dlpack__(max_version=(0, 8)), bytes(part)
            n += 4
    return n


def buffers() -> int:
    """Whatever has a buffer; and buffers that are held, cut and let go in any order."""
    owners = [array.array(letter, [1, 2, 3]) for letter in "bBhHiIlLqQfd"] + [b"abc", bytearray(b"abc"), memoryview(b"abcdef")[::2], (ctypes.c_int * 3)(1, 2, 3)]
    for owner in owners:
        check(ug.from_numpy(owner).shape == (3,), "a buffer comes in")
    x = ug.arange(24.0).reshape(4, 6)
    view = memoryview(x)
    parts = [view[1:], view.cast("B"), view[::2]]
    del x, view
    gc.collect()
    check(parts[0].shape == (3, 6) and parts[1].nbytes == 96, "a buffer's parts")
    del parts[0]
    return len(owners) + 4


def lifetimes() -> int:
    """Consumers that outlive producers and the reverse, through views, views of views, and what was computed."""
    x = ug.arange(1000.0) * 2
    out = [np.from_dlpack(x)[::3], np.asarray(memoryview(x))[5:], np.asarray(x).reshape(10, 100).T]
    expected = [(np.arange(1000.0) * 2)[::3], (np.arange(1000.0) * 2)[5:], (np.arange(1000.0) * 2).reshape(10, 100).T]
    capsules = [x.__dlpack__(), x.__dlpack__(max_version=(1, 0))]
    del x
    gc.collect()
    rubbish = [ug.full((1000,), 7.0).realize() for _ in range(4)]
    check(all(np.array_equal(a, b) for a, b in zip(out, expected)), "a consumer outlives its tensor")
    check(all(ug.from_dlpack(capsule)[3].item() == 6.0 for capsule in capsules), "a capsule outlives its tensor")
    a = np.arange(1000.0)
    before = sys.getrefcount(a)
    y = ug.from_dlpack(a)[::2] * 2
    z = (ug.from_numpy(a[::-1]) + 1).sum()
    w = ug.from_dlpack(a).requires_grad_()
    (w * w).sum().backward()
    with ug.no_grad():
        w.copy_(w - 0.1 * w.grad)
    check(sys.getrefcount(a) > before, "what is not computed yet holds its owner")
    del a
    gc.collect()
    rubbish += [np.full(1000, 7.0) for _ in range(4)]
    check(np.array_equal(np.asarray(y), np.arange(0.0, 1000.0, 2) * 2) and z.item() == 500500.0, "a tensor outlives its array")
    check(abs(w[10].item() - 8.0) < 1e-9, "a parameter of an array")
    del rubbish
    return 10


def in_threads() -> int:
    """Memory whose last user is another thread, with and without the interpreter's lock."""
    a = np.arange(4096.0)
    wrong: list[int] = []

    def work(number: int) -> None:
        x = ug.from_dlpack(a) + number
        given = np.from_dlpack(x)
        del x
        if given[number] != 2 * number:
            wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    lost = (ug.from_dlpack(np.full(4096, 2.0)) * 2).sum()
    thread = threading.Thread(target=lost.item)
    del lost
    thread.start()
    thread.join()
    del thread
    check(not wrong, "threads")
    return 9


class Capsule(ctypes.Structure):
    """What a capsule of version 1 points to, as DLPack's header has it."""

    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


def inside(capsule: object) -> Capsule:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Capsule.from_address(get(capsule, b"dltensor_versioned"))


def refused() -> int:
    """Exchanges that fail, in the midst of which memory has an owner already."""
    spoils = [{"code": 5, "bits": 64}, {"lanes": 4}, {"device_type": 4}, {"ndim": -1}, {"major": 2}, {"byte_offset": 2**64 - 1}]
    calls: list[Callable[[], object]] = []
    for fields in spoils:
        capsule = ug.ones(2, 3).__dlpack__(max_version=(1, 0))
        for name, value in fields.items():
            setattr(inside(capsule), name, value)
        calls.append(lambda capsule=capsule: ug.from_dlpack(capsule))
    for size in (-2, 2**62):
        capsule = ug.ones(2, 3).__dlpack__(max_version=(1, 0))
        inside(capsule).shape[0] = size
        calls.append(lambda capsule=capsule: ug.from_dlpack(capsule))
    taken = ug.ones(2).__dlpack__()
    ug.from_dlpack(taken)
    odd = np.frombuffer(bytearray(41), np.uint8)[1:].view(np.float64)
    calls += [
        lambda: ug.from_dlpack(taken),
        lambda: ug.from_dlpack(np.zeros(2, np.complex64)),
        lambda: ug.from_dlpack(np.zeros(2), copy=3),
        lambda: ug.from_numpy(np.zeros(2, ">f4")),
        lambda: ug.from_numpy(np.zeros(2, "U3")),
        lambda: ug.asarray(odd, copy=False),
        lambda: ug.asarray(np.zeros(2), dtype=ug.float32, copy=False),
        lambda: ug.ones(2, requires_grad=True).__dlpack__(),
        lambda: memoryview(ug.ones(2, dtype=ug.bfloat16)),
        lambda: np.from_dlpack(ug.ones(2, dtype=ug.bfloat16)),
        lambda: ug.ones(2).__dlpack__(stream=1),
        lambda: ug.ones(2).__dlpack__(dl_device=(2, 0)),
        lambda: (ctypes.c_char * 8).from_buffer(ug.zeros(2)),
    ]
    for call in calls:
        try:
            call()
        except (BufferError, TypeError, ValueError, RuntimeError):
            continue
        raise SystemExit("wrong: an exchange that had to be refused was not")
    check(ug.from_numpy(odd).shape == (5,), "memory between multiples is copied")
    return len(calls) + 1


def with_torch() -> int:
    """PyTorch's tensors both ways, of every dtype and view, and gradients through `wrap`."""
    n = 0
    for dtype in TORCH_DTYPES:
        theirs = torch.arange(60).reshape(3, 4, 5).to(getattr(torch, dtype))
        for view in (theirs, theirs.permute(2, 0, 1), theirs[:, ::2], theirs[1:, :, 3:], theirs.expand(2, 3, 4, 5), theirs[0, 0, 0], theirs[:0]):
            ours = ug.from_dlpack(view)
            back = torch.from_dlpack(ours)
            check(torch.equal(back, view), f"PyTorch's {dtype}")
            del ours
            check(torch.equal(back * 1, view * 1), f"PyTorch's {dtype} after ours has gone")
            n += 2
        own = torch.from_dlpack(ug.tensor(values("int8")).to(getattr(ug, dtype)))
        check(float(own.sum()) > 0, f"ours as PyTorch's {dtype}")
        n += 1
    x = torch.ones(4, requires_grad=True)
    ug.torch.wrap(lambda x: (x * x).sum())(x).backward()
    check(x.grad.tolist() == [2.0] * 4, "a gradient through `wrap`")
    return n + 4


KINDS = [arrays_in, tensors_out, buffers, lifetimes, in_threads, refused] + [with_torch] * (torch is not None)


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def until_100000() -> None:
    """Resident memory after 100,000 exchanges is what it was after the first thousands."""
    device = ug.zeros(1).realize().device
    done = 0
    for _ in range(3):
        done += sum(kind() for kind in KINDS)
    gc.collect()
    memory, allocated, begun = resident(), device.memory_allocated, done
    while done < begun + 100_000:
        done += sum(kind() for kind in KINDS)
    gc.collect()
    grown, left = resident() - memory, device.memory_allocated - allocated
    print(f"{done - begun} exchanges: resident memory {grown / 2**20:+.1f} MiB of {resident() / 2**20:.0f}, the device's {left:+d} bytes")
    # A leak of the smallest object, 100 bytes, in each would be 10 MB.
    check(grown < 6 << 20 and left == 0, "memory has grown")


def read_what_is_gone() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    memory = libc.malloc(4096)
    ctypes.memset(memory, 0, 4096)
    x = ug.from_numpy(np.frombuffer((ctypes.c_float * 1024).from_address(memory), np.float32)) + 1
    libc.free(memory)
    x.realize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--resident", action="store_true")
    parser.add_argument("--break", dest="breaks", action="store_true")
    args = parser.parse_args()
    if args.breaks:
        read_what_is_gone()
    elif args.resident:
        until_100000()
    else:
        done = sum(kind() for _ in range(args.rounds) for kind in KINDS)
        gc.collect()
        others = "NumPy" + (f", PyTorch {torch.__version__}" if torch else "; PyTorch is not installed")
        print(f"{done} exchanges with {others}")


if __name__ == "__main__":
    main()
