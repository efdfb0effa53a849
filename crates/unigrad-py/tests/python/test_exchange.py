"""Memory that is exchanged without copies: DLPack, buffers, arrays of NumPy."""

import array
import ctypes
import gc
import os
import sys
import threading

import numpy as np
import pytest

import unigrad as ug

DTYPES = ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]


def values(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return np.asarray(rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.integers(0, 100, shape)).astype(dtype)


def address(x):
    """Where a tensor's memory is."""
    return np.asarray(x).__array_interface__["data"][0]


VIEWS = [
    lambda a: a,
    lambda a: a.T,
    lambda a: a[::2],
    lambda a: a[1:, ::-1],
    lambda a: a[:, 1:3],
    lambda a: a[::-2, ::-3],
    lambda a: a[:, :1],
    lambda a: a[2, 3],
    lambda a: a[:, None, :, None],
    lambda a: np.broadcast_to(a, (2, *a.shape)),
    lambda a: np.broadcast_to(a[:1], (3, a.shape[1])),
    lambda a: np.lib.stride_tricks.sliding_window_view(a, 3, axis=1),
    lambda a: np.lib.stride_tricks.sliding_window_view(a, (2, 2)).transpose(3, 0, 2, 1)[::-1],
    lambda a: a.reshape(-1)[3::5],
    lambda a: a[:0],
    lambda a: a[:, 2:2],
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_arrays_of_any_strides_come_in(number, dtype):
    view = np.asarray(VIEWS[number](values((6, 8), dtype)))
    for take in [ug.from_dlpack, ug.from_numpy, lambda a: ug.asarray(a, copy=False)]:
        if view.ndim == 0 and take is ug.from_dlpack and not isinstance(view, np.ndarray):
            continue
        x = take(view)
        assert x.shape == view.shape and x.dtype == getattr(ug, dtype)
        np.testing.assert_array_equal(np.asarray(x), view)


def test_what_comes_in_is_the_owners_memory():
    for a in [np.zeros((4, 6)), np.zeros((4, 6)).T, np.zeros((8, 12))[::2, 1::3], np.zeros(3)[::-1]]:
        for take in [ug.from_dlpack, ug.from_numpy, lambda a: ug.asarray(a, copy=False)]:
            a[...] = 0
            x = take(a)
            a[...] = 7  # before it is computed
            assert (x + 1).flatten().tolist() == [8.0] * a.size
    a = np.zeros(3)
    for take in [ug.tensor, ug.asarray, lambda a: ug.from_dlpack(a, copy=True), lambda a: ug.asarray(a, copy=True)]:
        a[:] = 0
        x = take(a)
        a[:] = 7
        assert x.tolist() == [0.0] * 3


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [1, 2, 3, 4, 7, 8, 16, 24, 60])
def test_memory_at_any_address(offset, dtype):
    """Kernels take memory that is aligned for its elements; other memory is copied."""
    size = np.dtype(dtype).itemsize
    memory = np.zeros(1000 * size + 128, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64 + offset
    a = memory[start : start + 990 * size].view(dtype).reshape(30, 33)
    a[...] = values(a.shape, dtype)
    x = ug.from_numpy(a)
    wide = a.astype(np.float64) if dtype.startswith("float") else a.astype(np.int64)
    expected = wide.sum(0, dtype=np.float64)
    np.testing.assert_allclose(np.asarray(x.double().sum(0)), expected, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(x.T.contiguous()), a.T)
    np.testing.assert_array_equal(np.asarray(x.sort(dim=1).values), np.sort(a, 1))
    np.testing.assert_array_equal(np.asarray(x[ug.tensor([3, 1])]), a[[3, 1]])
    if dtype in ("float32", "float64"):
        np.testing.assert_allclose(np.asarray(x @ x.T), a @ a.T, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(np.asarray(x.softmax(1).sum(1)), np.ones(30), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(x.cumsum(1)), a.cumsum(1), rtol=1e-4, atol=1e-4)
    if offset % size:
        with pytest.raises(ValueError, match="in place"):
            ug.asarray(a, copy=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (5,), (2, 3, 4)])
def test_what_goes_out_is_the_tensors_memory(shape, dtype):
    a = values(shape, dtype)
    x = ug.tensor(a)
    for out in [np.asarray(x), np.from_dlpack(x), np.asarray(memoryview(x)), x.__array__()]:
        np.testing.assert_array_equal(out, a)
        assert out.dtype == a.dtype and out.shape == a.shape
        if a.size:
            assert not out.flags.writeable and out.__array_interface__["data"][0] == address(x)
    view = memoryview(x)
    assert view.readonly and view.shape == shape and view.c_contiguous
    # `memoryview` itself reads no halves.
    assert dtype == "float16" or view.tolist() == a.tolist()
    assert bytes(x) == a.tobytes()
    # Back again: the same memory.
    assert address(ug.from_dlpack(np.from_dlpack(x))) == address(x) or not a.size
    # A copy is the consumer's own.
    for own in [np.from_dlpack(x, copy=True), x.numpy(), np.array(x), x.__array__(copy=True)]:
        np.testing.assert_array_equal(own, a)
        assert own.flags.writeable and (not a.size or own.__array_interface__["data"][0] != address(x))


def test_arrays_of_ctypes_come_in():
    for kind, dtype in [(ctypes.c_float, ug.float32), (ctypes.c_int64, ug.int64), (ctypes.c_uint8, ug.uint8), (ctypes.c_double, ug.float64)]:
        a = (kind * 3)(1, 2, 3)
        for take in [ug.from_numpy, ug.asarray, ug.tensor]:
            x = take(a)
            assert x.tolist() == [1, 2, 3] and x.dtype == dtype, (kind, take)
        x = ug.from_numpy(a)
        a[0] = 7
        assert x.tolist() == [7, 2, 3]
    assert ug.from_numpy(((ctypes.c_float * 2) * 3)()).shape == (3, 2)


def test_what_was_given_out_does_not_change():
    x = ug.tensor([1.0, 2.0, 3.0])
    out = [np.asarray(x), np.from_dlpack(x), memoryview(x)]
    x[0] = 9.0
    x += 1
    x.copy_(ug.zeros(3))
    x.realize()
    assert [list(y) for y in out] == [[1.0, 2.0, 3.0]] * 3 and x.tolist() == [0.0] * 3
    # Parameters, which steps would write in place.
    w = ug.randn(1000, requires_grad=True)
    for step in range(20):
        before = np.from_dlpack(w.detach())
        copy = before.copy()
        (w * w).sum().backward()
        with ug.no_grad():
            w.copy_(w - 0.1 * w.grad)
        w.grad = None
        w.realize()
        np.testing.assert_array_equal(before, copy)
        assert not np.array_equal(np.asarray(w.detach()), copy), step


def test_what_came_in_is_never_written():
    a = np.arange(1000.0)
    kept = a.copy()
    x = ug.from_dlpack(a)
    x[3] = 100.0
    x *= 2
    x.copy_(ug.zeros(1000, dtype=ug.float64))
    x.realize()
    w = ug.from_dlpack(a).requires_grad_()
    for _ in range(5):
        (w * w).sum().backward()
        with ug.no_grad():
            w.copy_(w - 0.1 * w.grad)
        w.grad = None
    w.realize()
    # An expression whose only input is the array: nothing else holds it when it is computed.
    y = (ug.from_dlpack(a) * 3 + 1).realize()
    np.testing.assert_array_equal(a, kept)
    np.testing.assert_allclose(np.asarray(y), kept * 3 + 1)
    read_only = np.arange(5.0)
    read_only.flags.writeable = False
    assert ug.from_dlpack(read_only).sum().item() == 10 and ug.from_numpy(read_only).sum().item() == 10


def test_consumers_outlive_producers_and_producers_consumers():
    x = ug.arange(1000.0) * 2
    out = [np.from_dlpack(x), memoryview(x), np.asarray(x)]
    del x
    gc.collect()
    rubbish = [ug.full((1000,), 7.0).realize() for _ in range(10)]
    assert all(np.array_equal(np.asarray(y), np.arange(1000.0) * 2) for y in out)
    a = np.arange(1000.0)
    x = ug.from_dlpack(a)[::2] * 2
    del a
    gc.collect()
    rubbish += [np.full(1000, 7.0) for _ in range(10)]
    assert np.array_equal(np.asarray(x), np.arange(0.0, 1000.0, 2) * 2)


def test_owners_are_let_go():
    a = np.arange(16.0)
    before = sys.getrefcount(a)
    x = ug.from_dlpack(a)
    assert sys.getrefcount(a) > before
    y = (x + 1).realize()
    del x
    gc.collect()
    assert sys.getrefcount(a) == before and y[0].item() == 1.0
    for take in [ug.from_dlpack, ug.from_numpy]:
        for part in [a, a[::2], a[:0]]:
            take(part)
    del part
    ug.from_dlpack(a, copy=True)
    gc.collect()
    assert sys.getrefcount(a) == before


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="the system does not tell a process's memory")
def test_100000_exchanges_leak_nothing():
    a = np.arange(1024.0)
    x = ug.arange(1024.0).realize()
    device = x.device
    for _ in range(100):
        ug.from_dlpack(a), np.from_dlpack(x), x.__dlpack__(), memoryview(x)
    gc.collect()
    counts, memory, allocated = (sys.getrefcount(a), sys.getrefcount(x)), resident(), device.memory_allocated
    for _ in range(50_000):
        ug.from_dlpack(a)
    for _ in range(50_000):
        np.from_dlpack(x)
    for i in range(10_000):
        x.__dlpack__(max_version=(1, 0) if i % 2 else None)
        memoryview(x)
        ug.from_numpy(a)
    gc.collect()
    assert (sys.getrefcount(a), sys.getrefcount(x)) == counts and device.memory_allocated == allocated
    # Each of the 130,000 would keep 8 KiB, or a capsule of some 200 bytes.
    assert resident() - memory < 8 << 20


def test_threads():
    a, x = np.arange(4096.0), ug.arange(4096.0).realize()
    wrong = []

    def work(number):
        for i in range(200):
            taken = ug.from_dlpack(a) + number
            given = np.from_dlpack(x)
            if taken[i].item() != i + number or given[i] != i:
                wrong.append((number, i))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_owners_go_in_threads_that_compute():
    """Memory whose last user is a thread without the interpreter's lock."""
    weak = []
    for i in range(50):
        a = np.full(4096, float(i))
        before = sys.getrefcount(a)
        x = (ug.from_dlpack(a) * 2 + 1).sum()
        thread = threading.Thread(target=x.item)
        thread.start()
        thread.join()
        del x, thread
        gc.collect()
        ug.zeros(1).realize()
        weak.append(sys.getrefcount(a) - before)
    assert weak == [0] * 50


class Capsule(ctypes.Structure):
    """What a capsule of version 1 points to, as DLPack's header has it."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def inside(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Capsule.from_address(get(capsule, b"dltensor_versioned"))


def name_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


CODES = {"bool": 6, "uint": 1, "int": 0, "float": 2, "bfloat16": 4, "float8_e4m3fn": 10, "float8_e5m2": 12}


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_capsules_say_what_they_have(dtype):
    x = ug.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]).to(getattr(ug, dtype))
    capsule = x.__dlpack__(max_version=(1, 3))
    what = inside(capsule)
    code = CODES.get(dtype, CODES.get(dtype.rstrip("0123456789")))
    assert (what.major, what.minor, what.flags) == (1, 1, 1)
    assert (what.device_type, what.device_id, what.ndim) == (1, 0, 2)
    assert (what.code, what.bits, what.lanes, what.byte_offset) == (code, 8 * x.dtype.itemsize, 1, 0)
    assert (what.shape[:2], what.strides[:2]) == ([2, 3], [3, 1]) and what.data % 64 == 0
    assert ug.from_dlpack(capsule).dtype == x.dtype and name_of(capsule) == b"used_dltensor_versioned"
    with pytest.raises(BufferError, match="taken once"):
        ug.from_dlpack(capsule)
    assert inside(x.__dlpack__(max_version=(1, 0), copy=True)).flags == 2
    assert inside(x.__dlpack__(max_version=(1, 0))).minor == 0
    for old in [x.__dlpack__(), x.__dlpack__(max_version=(0, 8))]:
        assert name_of(old) == b"dltensor"
        assert ug.from_dlpack(old).float().tolist() == x.float().tolist()
        assert name_of(old) == b"used_dltensor"


def test_capsules_that_cannot_be_taken():
    def spoiled(**fields):
        capsule = ug.ones(2, 3).__dlpack__(max_version=(1, 0))
        what = inside(capsule)
        for name, value in fields.items():
            setattr(what, name, value)
        return capsule

    for fields, text in [
        ({"code": 5, "bits": 64}, "complex64"),
        ({"lanes": 4}, "lanes"),
        ({"device_type": 4}, "OpenCL"),
        ({"device_type": 77}, "another kind of device"),
        ({"ndim": -1}, "-1 axes"),
        ({"major": 2}, "2.0"),
        ({"byte_offset": 2**64 - 1}, "offset|memory"),
    ]:
        with pytest.raises(BufferError, match=text):
            ug.from_dlpack(spoiled(**fields))
    capsule = ug.ones(2, 3).__dlpack__(max_version=(1, 0))
    inside(capsule).shape[0] = -2
    with pytest.raises(BufferError, match="shape"):
        ug.from_dlpack(capsule)
    capsule = ug.ones(2, 3).__dlpack__(max_version=(1, 0))
    inside(capsule).shape[0] = 2**62
    with pytest.raises(BufferError, match="no memory"):
        ug.from_dlpack(capsule)
    # Without strides it is row-major.
    capsule = ug.arange(6.0).reshape(2, 3).__dlpack__(max_version=(1, 0))
    inside(capsule).strides = None
    assert ug.from_dlpack(capsule).tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_wrong_arguments():
    x = ug.ones(3)
    for call, error, text in [
        (lambda: x.__dlpack__(stream=1), ValueError, "stream"),
        (lambda: x.__dlpack__(stream="1"), TypeError, "stream"),
        (lambda: x.__dlpack__(stream=True), TypeError, "stream"),
        (lambda: x.__dlpack__(dl_device=(2, 0)), BufferError, "dl_device"),
        (lambda: x.__dlpack__(max_version=1), TypeError, "max_version"),
        (lambda: x.__dlpack__(copy="no"), TypeError, "copy"),
        (lambda: x.requires_grad_().__dlpack__(), BufferError, "detach"),
        (lambda: memoryview(ug.ones(3, requires_grad=True)), BufferError, "detach"),
        (lambda: memoryview(ug.ones(3).to(ug.bfloat16)), BufferError, "bfloat16"),
        (lambda: ug.from_dlpack(3), TypeError, "__dlpack__"),
        (lambda: ug.from_dlpack([1.0]), TypeError, "__dlpack__"),
        (lambda: ug.from_dlpack(None), TypeError, "__dlpack__"),
        (lambda: ug.from_dlpack(np.zeros(2), device="nowhere"), ug.NotAvailableError, "nowhere"),
        (lambda: ug.from_dlpack(np.zeros(2), copy=3), TypeError, "copy"),
        (lambda: ug.from_dlpack(np.zeros(2, np.complex64)), BufferError, "complex64"),
        (lambda: ug.from_dlpack(ug.ones(2, requires_grad=True)), BufferError, "detach"),
        (lambda: ug.from_numpy(3), TypeError, "array"),
        (lambda: ug.from_numpy([1.0]), TypeError, "array"),
        (lambda: ug.from_numpy(np.zeros(2, "U3")), ValueError, "format"),
        (lambda: ug.from_numpy(np.zeros(2, ">f4")), ValueError, "byte order"),
        (lambda: ug.asarray([1.0], copy=False), ValueError, "copy=False"),
        (lambda: ug.asarray(np.zeros(2), dtype=ug.float32, copy=False), ValueError, "dtype"),
        (lambda: ug.asarray(ug.zeros(2), dtype=ug.int32, copy=False), ValueError, "dtype"),
        (lambda: np.asarray(ug.zeros(2), dtype=np.int32, copy=False), ValueError, "copy"),
        (lambda: ctypes.c_char.from_buffer(ug.zeros(2)), (TypeError, BufferError), "writable|read-only|value"),
    ]:
        with pytest.raises(error, match=text):
            call()


def test_asarray_of_tensors():
    x = ug.ones(3)
    assert ug.asarray(x) is x and ug.asarray(x, copy=False) is x and ug.asarray(x, dtype=ug.float32) is x
    copy = ug.asarray(x, copy=True)
    x[0] = 5.0
    assert copy.tolist() == [1.0] * 3
    assert ug.asarray(x, dtype=ug.int32).tolist() == [5, 1, 1]
    w = ug.ones(3, requires_grad=True)
    (ug.asarray(w, copy=True) * 2).sum().backward()
    assert w.grad.tolist() == [2.0] * 3


def test_buffers_of_other_objects():
    for memory, dtype in [(array.array("i", [1, 2]), "int32"), (b"\1\2", "uint8"), (memoryview(bytearray([1, 2])), "uint8")]:
        x = ug.from_numpy(memory)
        assert x.tolist() == [1, 2] and x.dtype == getattr(ug, dtype)
    # A bool is 0 or 1; other bytes are read as true, in memory of our own.
    odd = np.array([0, 1, 2, 255], np.uint8).view(bool)
    assert ug.from_numpy(odd).tolist() == [False, True, True, True] and (~ug.from_dlpack(odd)).tolist() == [True, False, False, False]
    fields = np.zeros(4, [("a", "f4"), ("b", "u1")])  # 5 bytes an element
    fields["a"] = [1, 2, 3, 4]
    assert ug.from_numpy(fields["a"]).tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(BufferError):
        memoryview(ug.ones(2, 3)).cast("B")[0:1:1], PyBuffer_F(ug.ones(2, 3))


def PyBuffer_F(x):  # noqa: N802
    """Asks for column-major memory."""
    view = (ctypes.c_char * 256)()
    get = ctypes.pythonapi.PyObject_GetBuffer
    get.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
    return get(x, ctypes.addressof(view), 0x58)


class Producer:
    """An object of another library, with any device and any habits."""

    def __init__(self, x, device=(1, 0), knows=("stream", "max_version", "dl_device", "copy")):
        self.x, self.device, self.knows, self.asked = x, device, knows, []

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **asked):
        self.asked.append(asked)
        if not set(asked) <= set(self.knows):
            raise TypeError("an unknown keyword")
        return self.x.__dlpack__(**{name: value for name, value in asked.items() if name == "max_version"})


def test_producers_of_old_and_new_versions():
    new, old = Producer(ug.arange(3.0)), Producer(ug.arange(3.0), knows=("stream",))
    assert ug.from_dlpack(new).tolist() == ug.from_dlpack(old).tolist() == [0.0, 1.0, 2.0]
    assert new.asked == [{"max_version": (1, 1)}]
    assert old.asked == [{"max_version": (1, 1)}, {}]
    elsewhere = Producer(ug.arange(3.0), device=(10, 0))
    assert ug.from_dlpack(elsewhere, device="cpu").tolist() == [0.0, 1.0, 2.0]
    assert elsewhere.asked == [{"max_version": (1, 1), "dl_device": (1, 0)}]


def test_a_cuda_producer_without_a_cuda_device():
    if any(name.startswith("cuda") for name in ug.devices()):
        pytest.skip("there is a CUDA device: what is asked of it is tested in test_exchange_libraries.py")
    with pytest.raises(ug.NotAvailableError):
        ug.from_dlpack(Producer(ug.ones(2), device=(2, 0)))
    with pytest.raises(AttributeError):
        ug.ones(2).__cuda_array_interface__
    assert not hasattr(ug.ones(2), "__cuda_array_interface__")

    class OnCuda:
        __cuda_array_interface__ = {"shape": (2,), "typestr": "<f4", "data": (4096, False), "version": 3}

    with pytest.raises(ug.NotAvailableError):
        ug.tensor(OnCuda())
    OnCuda.__cuda_array_interface__ = {**OnCuda.__cuda_array_interface__, "typestr": "<c8"}
    with pytest.raises(ValueError, match="c8"):
        ug.asarray(OnCuda(), copy=False)


def test_the_end_of_the_interpreter():
    """Memory that is exchanged when the interpreter ends, in both directions."""
    import subprocess

    program = (
        "import numpy as np, unigrad as ug, threading\n"
        "a = np.arange(9.); x = ug.from_dlpack(a); y = np.from_dlpack(ug.arange(9.)); m = memoryview(x)\n"
        "z = x + 1; c = x.__dlpack__()\n"
        "threading.Thread(target=lambda: [ug.from_dlpack(a).sum().item() for _ in range(100)], daemon=True).start()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_dtypes_that_numpy_lacks_become_one_that_is_asked_for(dtype):
    x = ug.tensor([[1.5, -2.0, 0.0]], dtype=dtype)
    for wanted in (np.float32, np.float64, np.float16):
        array = np.asarray(x, dtype=wanted)
        assert array.dtype == wanted and array.tolist() == [[1.5, -2.0, 0.0]]
    with pytest.raises(TypeError, match="help"):
        np.asarray(x)


def test_arrays_beside_tensors_are_the_users_in_messages():
    with pytest.raises(ug.Error) as raised:
        ug.zeros(2, dtype="float8_e5m2") * np.ones(3)
    assert "test_exchange.py" in str(raised.value) and ".rs" not in str(raised.value)
