# Made from the Rust declarations and the package by `cargo xtask generate`.

import builtins
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Final, NamedTuple
from typing_extensions import Buffer

class _Pair(NamedTuple):
    values: Tensor
    indices: Tensor

class _MinMax(NamedTuple):
    min: Tensor
    max: Tensor

strided: Layout
contiguous_format: MemoryFormat
preserve_format: MemoryFormat
bool: DType
uint8: DType
int8: DType
uint16: DType
int16: DType
uint32: DType
int32: DType
uint64: DType
int64: DType
float16: DType
bfloat16: DType
float32: DType
float64: DType
float8_e4m3fn: DType
float8_e5m2: DType
half: DType
float: DType
double: DType
short: DType
int: DType
long: DType
__version__: builtins.str

class Autocast:
    """
    What the thread computes inside of `with` is in a half type, where that suits it, and with a recipe in 8-bit floats; `unigrad.autocast` makes a decorator of it.
    """

    def __enter__(self, /) -> None:
        ...

    def __exit__(self, /, *_raised: Any) -> None:
        ...

    def __new__(cls, /, dtype: DType | builtins.str | builtins.type, fp8: Fp8Recipe | None=None) -> Autocast:
        ...

class CompiledKernel:
    """
    A kernel that is compiled for a device: its machine code, and what it takes of a compute unit, as far as the driver tells.
    """

    @property
    def binary(self, /) -> builtins.bytes | None:
        """
        The machine code, or what the driver has in its place; `None` where nothing is compiled.
        """

    @property
    def details(self, /) -> builtins.dict[builtins.str, Any] | None:
        """
        All that the driver tells, by name: `language`, `source`, `registers`, `shared_bytes`, `local_bytes`.
        """

    @property
    def occupancy(self, /) -> builtins.float | None:
        """
        The part, from 0 to 1, of a compute unit's threads that can be at work in it at a time.
        """

class CustomKernel:
    """
    A program that you wrote, as an op: `CustomKernel(name, block, sources)`.

    `block` are the threads of a workgroup, up to three numbers. `sources` has a text for each language: `"ir"` (kernel IR, which every device takes),
    `"cuda"`, `"hip"`, `"opencl"`, `"msl"`, `"wgsl"`; a value may be a `pathlib.Path` of a file. A device takes the text in its own language, else the
    kernel IR. The program's parameters are, in order: the inputs, the output, the numbers. `backward(inputs, output, dy)` gives a gradient (or `None`)
    for each input.

    >>> import unigrad
    >>> double = unigrad.CustomKernel("double", 64, {"ir": '''kernel double(x: [f32], y: mut [f32], n: u32) threads(64, 1, 1) {
    ...     %0 = param n
    ...     %1 = group.x
    ...     %2 = thread.x
    ...     %3 = mul u32 %1, 64
    ...     %i = add u32 %3, %2
    ...     %5 = lt u32 %i, %0
    ...     if %5 {
    ...         %6 = load f32 x[%i]
    ...         %7 = add f32 %6, %6
    ...         store y[%i], %7
    ...     }
    ... }'''}, backward=lambda inputs, output, dy: dy * 2)
    >>> x = unigrad.arange(3, dtype=unigrad.float32)
    >>> double(x, shape=3, grid=1, scalars=[(3, unigrad.uint32)]).tolist()
    [0.0, 2.0, 4.0]
    """

    def __call__(self, /, *inputs: Any, shape: builtins.int | Sequence[builtins.int], grid: builtins.int | Sequence[builtins.int], dtype: DType | builtins.str | builtins.type | None=None, scalars: Sequence[Any] | None=None, device: Device | builtins.str | None=None) -> Tensor:
        """
        What the program makes of the inputs when `grid` workgroups run it: a tensor of this shape, and of this dtype (the first input's without one).
        `scalars` are numbers with their dtypes: `[(1000, unigrad.uint32)]`; without one a float is `float32`, an integer `int32`. Without inputs `device` says where.
        """

    def __new__(cls, /, name: builtins.str, block: builtins.int | Sequence[builtins.int], sources: builtins.dict[builtins.str, Any], *, entry: builtins.str | None=None, backward: Any | None=None) -> CustomKernel:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    def compile(self, /, device: Device | builtins.str, inputs: Sequence[DType | builtins.str | builtins.type], output: DType | builtins.str | builtins.type, scalars: Sequence[DType | builtins.str | builtins.type] | None=None) -> CompiledKernel:
        """
        Compiles the program for a device before it is used: inputs, numbers and output of these dtypes.
        """

class DType:
    """
    The type of a tensor's elements: `unigrad.float32`, `unigrad.int64`, `unigrad.bool` and so on.

    >>> import unigrad
    >>> unigrad.float32.itemsize
    4
    >>> unigrad.zeros(3).dtype == unigrad.float32
    True
    """

    def __eq__(self, other: object, /) -> builtins.bool:
        ...

    def __hash__(self, /) -> builtins.int:
        ...

    def __new__(cls, /, dtype: DType | builtins.str | builtins.type) -> DType:
        """
        The dtype of a name (`"float32"`), of a type of Python (`float` is the default float, `int` int64), or of NumPy.
        """

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    def __str__(self, /) -> builtins.str:
        ...

    @property
    def is_floating_point(self, /) -> builtins.bool:
        """
        Whether it is a float.
        """

    @property
    def is_signed(self, /) -> builtins.bool:
        """
        Whether it has a sign.
        """

    @property
    def itemsize(self, /) -> builtins.int:
        """
        Bytes of an element.
        """

    @property
    def name(self, /) -> builtins.str:
        """
        The name.
        """

class Device:
    """
    What computes: the CPU, or a GPU through one of its backends.

    >>> import unigrad
    >>> unigrad.Device("cpu")
    Device('cpu:0')
    """

    def __eq__(self, other: object, /) -> builtins.bool:
        ...

    def __hash__(self, /) -> builtins.int:
        ...

    def __new__(cls, /, name: Device | builtins.str) -> Device:
        """
        Opens a device by its name: `"cpu"`, `"cuda"`, `"cuda:1"`, `"rocm"`, `"metal"`, `"vulkan"`, `"opencl"`, `"gpu"`, `"auto"`.
        """

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    def __str__(self, /) -> builtins.str:
        ...

    def clear_cache(self, /) -> builtins.int:
        """
        Frees what the memory pool keeps; returns how many bytes.
        """

    @property
    def compute_units(self, /) -> builtins.int:
        """
        Cores, multiprocessors or compute units.
        """

    def counters(self, /) -> builtins.dict[builtins.str, builtins.int]:
        """
        How often something was done on it since it was opened: "allocations", "compiles", "launches", "uploads", "downloads", "copies",
        "replays" (runs whose launches the driver had kept and queued by one call), "replay_changes".
        """

    @staticmethod
    def cpu() -> Device:
        """
        The CPU.

        >>> import unigrad
        >>> unigrad.Device.cpu() == unigrad.Device("cpu")
        True
        """

    @property
    def features(self, /) -> builtins.list[builtins.str]:
        """
        Names of features that a kernel may use.
        """

    @property
    def free_memory(self, /) -> builtins.int:
        """
        Bytes of memory that are free; 0 where that is not known.
        """

    @staticmethod
    def gpu() -> Device:
        """
        The best GPU; a `RuntimeError` where there is none. A software implementation of a GPU's interface is no GPU: name it, `Device("opencl:0")`, or
        name it in the environment variable `UNIGRAD_DEVICE`.
        """

    @property
    def hardware(self, /) -> builtins.str:
        """
        The hardware's name.
        """

    @property
    def index(self, /) -> builtins.int:
        """
        The number among the devices of its backend.
        """

    @property
    def is_gpu(self, /) -> builtins.bool:
        """
        Whether it is a GPU in hardware.
        """

    @staticmethod
    def is_gpu_available() -> builtins.bool:
        """
        Whether `Device.gpu()` gives one.
        """

    @property
    def limits(self, /) -> builtins.dict[builtins.str, builtins.int]:
        """
        What a program must stay below, by the backend's words.
        """

    @property
    def memory_allocated(self, /) -> builtins.int:
        """
        Bytes that tensors and plans have in use on it.
        """

    def memory_stats(self, /) -> builtins.dict[builtins.str, builtins.int]:
        """
        Memory in bytes: "allocated" in buffers, "reserved" from the driver, "peak" (of `allocated`, since `reset_peak_memory`), "own" for the driver itself, "total",
        "free" (0 where not known); and how many "buffers" are alive, and "allocations" were made.

        >>> import unigrad
        >>> x = unigrad.ones(1024).realize()
        >>> stats = unigrad.Device("cpu").memory_stats()
        >>> stats["peak"] >= stats["allocated"] > 0
        True
        """

    def reset_peak_memory(self, /) -> None:
        """
        From now on the peak of memory is counted anew.
        """

    def set_memory_cap(self, /, bytes: builtins.int | None) -> None:
        """
        The most bytes that tensors and plans may have on it; `None` for all that it has.
        """

    def synchronize(self, /) -> None:
        """
        Waits until all that was asked of the device is done.
        """

    @property
    def total_memory(self, /) -> builtins.int:
        """
        Bytes of memory; 0 where that is not known.

        >>> import unigrad
        >>> unigrad.Device("cpu").total_memory > 2**20
        True
        """

    @property
    def type(self, /) -> builtins.str:
        """
        The backend: "cpu", "cuda", "hip", "metal", "opencl" or "wgpu".
        """

    @property
    def version(self, /) -> builtins.str:
        """
        The driver's or the instruction set's version, in the backend's words.
        """

class EnableGrad:
    """
    What the thread computes inside of `with` keeps a way for gradients; `unigrad.enable_grad` makes a decorator of it.
    """

    def __enter__(self, /) -> None:
        ...

    def __exit__(self, /, *_raised: Any) -> None:
        ...

    def __new__(cls, /) -> EnableGrad:
        ...

class Fp8Recipe:
    """
    How the matrix products of `autocast(fp8=..)` are computed in 8-bit floats: factors in e4m3, gradients in e5m2, sums in float32.

    The scale of a tensor is a power of two: by its own greatest absolute value, or, with `amax_history_len`, by the greatest of so many steps before;
    then a recipe has state, which `state_dict` gives and `load_state_dict` takes. `margin` makes scales smaller by so many powers of two.
    `stochastic_rounding` rounds gradients up or down at random. `dtype` is the half type of results and of everything else.

    >>> import unigrad
    >>> unigrad.amp.Fp8Recipe(margin=1)
    Fp8Recipe(amax_history_len=None, margin=1, stochastic_rounding=False, dtype=bfloat16)
    """

    def __new__(cls, /, *, amax_history_len: builtins.int | None=None, margin: builtins.int=0, stochastic_rounding: builtins.bool=False, dtype: DType | builtins.str | builtins.type | None=None) -> Fp8Recipe:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

    def load_state_dict(self, /, state_dict: builtins.dict[builtins.str, Any]) -> None:
        """
        Goes on from a `state_dict`.
        """

    def state_dict(self, /) -> builtins.dict[builtins.str, Any]:
        """
        The histories of amax by name, the newest first; none without `amax_history_len`.
        """

class Generator:
    """
    Random numbers of its own: what other code draws does not change them.

    >>> import unigrad
    >>> first, second = unigrad.Generator(7), unigrad.Generator(7)
    >>> (first.randn((2, 3)) == second.randn((2, 3))).all().item()
    True
    """

    def __new__(cls, /, seed: builtins.int | Device | builtins.str=..., *, device: Device | builtins.str | None=None) -> Generator:
        ...

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        """
        For `pickle` and `copy`: a copy goes on from the same state.
        """

    def __setstate__(self, /, state: builtins.tuple[builtins.int, builtins.int]) -> None:
        ...

    def get_state(self, /) -> builtins.tuple[builtins.int, builtins.int]:
        """
        Seed and offset: what `set_state` goes on from.
        """

    def initial_seed(self, /) -> builtins.int:
        """
        The seed.
        """

    def manual_seed(self, /, seed: builtins.int) -> Generator:
        """
        Draws the numbers of a seed from the start. Returns the generator.
        """

    def rand(self, /, size: builtins.int | Sequence[builtins.int], *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
        """
        Uniform from 0 to below 1.
        """

    def randint(self, /, low: builtins.int, high: builtins.int, size: builtins.int | Sequence[builtins.int], *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
        """
        Integers from `low` to below `high`.
        """

    def randn(self, /, size: builtins.int | Sequence[builtins.int], *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
        """
        Normal with mean 0 and variance 1.
        """

    def seed(self, /) -> builtins.int:
        """
        Begins anew by a seed that the system chooses; the seed.
        """

    def set_state(self, /, state: Tensor | builtins.tuple[builtins.int, builtins.int]) -> None:
        """
        Goes on from a state: a generator's, or what `get_rng_state` gives.
        """

    def uniform(self, /, low: builtins.float | builtins.int, high: builtins.float | builtins.int, size: builtins.int | Sequence[builtins.int], *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
        """
        Uniform from `low` to below `high`.
        """

class GradientHook:
    """
    A hook that `register_hook` has added to a tensor: `remove()` takes it away, as the end of a `with` does.

    >>> import unigrad
    >>> x = unigrad.ones(2, requires_grad=True)
    >>> with x.register_hook(lambda dy: dy * 2):
    ...     x.sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """

    def __enter__(self, /) -> GradientHook:
        ...

    def __exit__(self, /, *_raised: Any) -> None:
        ...

    def remove(self, /) -> None:
        """
        Takes the hook away; nothing if that was done.
        """

class Held:
    """
    What keeps memory alive, as an object of Python: so that a thread without the interpreter, which may hold a lock of ours, never has to wait for it.
    Such a thread leaves the object to the next one that has the interpreter.
    """

    def keep(self, /) -> None:
        """
        Does nothing: what has this method has the memory.
        """

class Layout:
    """
    How a tensor keeps its elements: `unigrad.strided`, all of them. There is no other layout.

    >>> import unigrad
    >>> unigrad.ones(2).layout
    unigrad.strided
    """

    def __eq__(self, value: object, /) -> builtins.bool:
        ...

    def __hash__(self, /) -> builtins.int:
        ...

    def __ne__(self, value: object, /) -> builtins.bool:
        ...

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        ...

    def __repr__(self, /) -> builtins.str:
        ...

class MemoryFormat:
    """
    In which order a tensor's elements lie: `unigrad.contiguous_format`, row by row, or `unigrad.preserve_format`, as in the tensor that is
    copied, which is the same here.

    >>> import unigrad
    >>> unigrad.ones(2, 2).clone(memory_format=unigrad.contiguous_format).is_contiguous()
    True
    """

    def __eq__(self, value: object, /) -> builtins.bool:
        ...

    def __hash__(self, /) -> builtins.int:
        ...

    def __ne__(self, value: object, /) -> builtins.bool:
        ...

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        """
        By its name in the module.
        """

    def __repr__(self, /) -> builtins.str:
        ...

class NoGrad:
    """
    What the thread computes inside of `with` keeps no way for gradients; `unigrad.no_grad` makes a decorator of it.
    """

    def __enter__(self, /) -> None:
        ...

    def __exit__(self, /, *_raised: Any) -> None:
        ...

    def __new__(cls, /) -> NoGrad:
        ...

class Quantized:
    """
    A tensor in a storage format: values are unpacked by what reads them, as a matrix product.

    >>> import unigrad
    >>> weight = unigrad.ones(2, 32).quantize("q4_0")
    >>> weight.format, weight.shape, weight.nbytes
    ('q4_0', (2, 32), 36)
    >>> (unigrad.ones(1, 32) @ weight.dequantize().t()).tolist()
    [[32.0, 32.0]]
    """

    def __repr__(self, /) -> builtins.str:
        ...

    def dequantize(self, /, dtype: DType | builtins.str | builtins.type | None=None) -> Tensor:
        """
        The values, in a dtype (`float32` without one).
        """

    @property
    def format(self, /) -> builtins.str:
        """
        The name of the format.
        """

    @staticmethod
    def from_bytes(bytes: builtins.bytes, shape: builtins.int | Sequence[builtins.int], format: builtins.str='q4_0', device: Device | builtins.str | None=None) -> Quantized:
        """
        A tensor from its bytes, as files have them (`q4_0`: ggml's).
        """

    @property
    def nbytes(self, /) -> builtins.int:
        """
        Bytes that it takes.
        """

    @property
    def shape(self, /) -> builtins.tuple[Any, ...]:
        """
        Sizes of what it stands for.
        """

    def tobytes(self, /) -> builtins.bytes:
        """
        The bytes, as `from_bytes` takes them.
        """

class Replayed:
    """
    A function and what was recorded of it.
    """

    def __new__(cls, /, function: Any) -> Replayed:
        ...

    def call(self, /, inputs: Sequence[Tensor]) -> builtins.list[Tensor]:
        """
        What the function gives for these tensors.
        """

    @property
    def n_replayed(self, /) -> builtins.int:
        """
        Calls that ran without the function.
        """

    def record_again(self, /) -> None:
        """
        Forgets what was recorded.
        """

class Tensor:
    """
    An n-dimensional array on a device.

    Ops record what to compute; a read (`item`, `tolist`, `numpy`, printing) computes it, fused.

    >>> import unigrad
    >>> x = unigrad.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x * 2).sum().item()
    20.0
    """
    __array_ufunc__: Final[builtins.bool | None]
    '\n    NumPy leaves operators with a tensor on the right to the tensor.\n    '

    @property
    def T(self, /) -> Tensor:
        """
        All axes in reverse order.

        >>> import unigrad
        >>> unigrad.tensor([[1, 2], [3, 4]]).T.tolist()
        [[1, 3], [2, 4]]
        """

    def __abs__(self, /) -> Tensor:
        ...

    def __add__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __and__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __array__(self, /, dtype: Any | None=None, copy: builtins.bool | None=None) -> Any:
        """
        NumPy's way to ask for an array: the tensor's memory, read-only, where the host sees it and the dtype is the tensor's; else a copy.
        With `copy=False` what takes a copy is an error, with `copy=True` the array is its own.
        """

    def __bool__(self, /) -> builtins.bool:
        ...

    def __contains__(self, value: Tensor | builtins.float | Buffer, /) -> builtins.bool:
        ...

    def __copy__(self, /) -> Tensor:
        ...

    @property
    def __cuda_array_interface__(self, /) -> builtins.dict[builtins.str, Any]:
        """
        CUDA's array interface, version 3, for Numba, CuPy and others; only of tensors on a CUDA device. The memory is read-only.
        """

    def __deepcopy__(self, /, _memo: Any) -> Tensor:
        """
        A copy that shares nothing: a leaf with `requires_grad` if this one is.
        """

    def __delitem__(self, _key: Any, /) -> None:
        ...

    def __divmod__(self, other: object, /) -> builtins.tuple[Any, ...]:
        ...

    def __dlpack__(self, /, *, stream: Any | None=None, max_version: builtins.tuple[builtins.int, builtins.int] | None=None, dl_device: builtins.tuple[builtins.int, builtins.int] | None=None, copy: builtins.bool | None=None) -> Any:
        """
        A capsule of DLPack with the tensor's memory, which is not copied: what `from_dlpack` of other libraries asks for.

        The memory is read-only, for tensors are values: capsules of version 1 (`max_version=(1, 0)` or newer) say so, older ones cannot. With
        `copy=True` it is the consumer's own. `dl_device=(1, 0)` asks for the CPU, which takes a copy from other devices. `stream` is a CUDA stream
        (None and 1: the legacy default stream, 2: the thread's own, -1: no order wanted) that waits for the value; on the CPU it is None.
        Raises BufferError for what cannot be given: a tensor with `requires_grad`, another device, a copy where `copy=False`.

        >>> import unigrad
        >>> x = unigrad.tensor([1.0, 2.0])
        >>> unigrad.from_dlpack(x).tolist()
        [1.0, 2.0]
        """

    def __dlpack_device__(self, /) -> builtins.tuple[builtins.int, builtins.int]:
        """
        Where the memory is, by DLPack's numbers: `(1, 0)` is the CPU, `(2, n)` the CUDA device `n`.

        >>> import unigrad
        >>> unigrad.zeros(2).__dlpack_device__()
        (1, 0)
        """

    def __eq__(self, other: object, /) -> Tensor:  # type: ignore[override]
        ...

    def __float__(self, /) -> builtins.float:
        ...

    def __floordiv__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __format__(self, /, spec: builtins.str) -> builtins.str:
        ...

    def __ge__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __getitem__(self, key: Any, /) -> Tensor:
        ...

    def __gt__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __hash__(self, /) -> builtins.int:
        """
        By identity, as `==` is elementwise.
        """

    def __index__(self, /) -> builtins.int:
        ...

    def __int__(self, /) -> builtins.int:
        ...

    def __invert__(self, /) -> Tensor:
        ...

    def __iter__(self, /) -> Iterator[Tensor]:
        ...

    def __le__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __len__(self, /) -> builtins.int:
        ...

    def __lshift__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __lt__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __matmul__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __mod__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __mul__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __ne__(self, other: object, /) -> Tensor:  # type: ignore[override]
        ...

    def __neg__(self, /) -> Tensor:
        ...

    def __new__(cls, /, data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
        """
        A tensor of data: numbers, nested sequences, arrays of NumPy or of another library; see `unigrad.tensor`.
        """

    def __or__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __pos__(self, /) -> Tensor:
        ...

    def __pow__(self, exponent: Tensor | builtins.float | Buffer, modulo: object=None, /) -> Tensor:
        ...

    def __radd__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rand__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __reduce__(self, /) -> builtins.tuple[Any, ...]:
        """
        What a pickle holds: bytes, dtype, shape, device, and whether gradients arrive at it.
        """

    def __repr__(self, /) -> builtins.str:
        ...

    def __reversed__(self, /) -> Tensor:
        """
        The elements along the first axis, the last one first.
        """

    def __rfloordiv__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rlshift__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rmatmul__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rmod__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rmul__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __ror__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rpow__(self, base: Tensor | builtins.float | Buffer, modulo: object=None, /) -> Tensor:
        ...

    def __rrshift__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rshift__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rsub__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rtruediv__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __rxor__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __setitem__(self, key: Any, value: Tensor | builtins.float | Buffer, /) -> None:
        ...

    def __sub__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __truediv__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def __xor__(self, other: Tensor | builtins.float | Buffer, /) -> Tensor:
        ...

    def _alias(self, /) -> Tensor:
        """
        Another object for the same tensor.
        """

    def _become(self, /, value: Tensor) -> Tensor:
        """
        Another value for all holders, of whatever shape, with the way of its gradient; a leaf that requires a gradient takes the values, inside of `no_grad`.
        """

    def _repr_html_(self, /) -> builtins.str:
        """
        What a notebook shows.
        """

    def abs(self, /) -> Tensor:
        """
        `|x|`; the gradient at 0 is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 3.0]).abs()
        tensor([2., 3.])
        """

    def acos(self, /) -> Tensor:
        """
        Inverse cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).acos()
        tensor([1.5708, 0.0000])
        """

    def acosh(self, /) -> Tensor:
        """
        Inverse hyperbolic cosine; NaN below 1. Its gradient is `1 / sqrt(x² - 1)` wherever that is a number: below -1, too, as in PyTorch.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).acosh()
        tensor([1.7627, 2.2924])
        """

    def adaptive_avg_pool(self, /, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Averages over as many regions per spatial axis as asked: region `i` of `s` covers `floor(i * size / s) .. ceil((i + 1) * size / s)`.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).adaptive_avg_pool((2,))
        tensor([[0.5000, 1.5000]])
        """

    def adaptive_max_pool(self, /, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Maxima over as many regions per spatial axis as asked (see `adaptive_avg_pool`); the gradient goes to the first of equal ones.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).adaptive_max_pool((2,))
        tensor([[1., 2.]])
        """

    def adaptive_max_pool_with_index(self, /, sizes: builtins.int | Sequence[builtins.int]) -> builtins.tuple[Any, ...]:
        """
        Maxima over as many regions per spatial axis as asked, and where they are: row-major indices within the spatial axes. Of equal ones the
        first counts (see `adaptive_max_pool`).

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).adaptive_max_pool_with_index((2,))]
        [[[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 1]]]
        """

    def add(self, /, other: Tensor | builtins.float | Buffer, *, alpha: Tensor | builtins.float=...) -> Tensor:
        """
        `x + alpha * other`, element by element.

        >>> import unigrad
        >>> unigrad.ones(2).add(unigrad.ones(2), alpha=3).tolist()
        [4.0, 4.0]
        """

    def addcdiv(self, /, tensor1: Tensor, tensor2: Tensor, value: Tensor | builtins.float | Buffer=...) -> Tensor:
        """
        `self + value * tensor1 / tensor2`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addcdiv(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
        tensor([0.8333, 2.5000])
        """

    def addcmul(self, /, tensor1: Tensor, tensor2: Tensor, value: Tensor | builtins.float | Buffer=...) -> Tensor:
        """
        `self + value * tensor1 * tensor2`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addcmul(unigrad.tensor([1.0, 2.0]), unigrad.tensor([3.0, 4.0]))
        tensor([ 3.5000, 10.0000])
        """

    def addmm(self, /, mat1: Tensor, mat2: Tensor, *, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `beta * self + alpha * a @ b`.

        >>> import unigrad
        >>> unigrad.zeros(2).addmm(unigrad.ones(1, 3), unigrad.ones(3, 2)).tolist()
        [[3.0, 3.0]]
        """

    def addmv(self, /, mat: Tensor, vec: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `alpha * mat @ vec + beta * self`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addmv(unigrad.ones(2, 2), unigrad.tensor([1.0, 1.0]))
        tensor([2.5000, 4.0000])
        """

    def addr(self, /, vec1: Tensor, vec2: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `alpha * outer(vec1, vec2) + beta * self`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).addr(unigrad.tensor([1.0, 2.0]), unigrad.tensor([1.0, 2.0])).shape
        (2, 2)
        """

    def affine_grid(self, /, size: builtins.int | Sequence[builtins.int], align_corners: builtins.bool) -> Tensor:
        """
        The grid of affine maps for `grid_sample`: of `[n, 2, 3]` and a size `[n, c, h, w]` it is `[n, h, w, 2]`, of `[n, 3, 4]` and
        `[n, c, d, h, w]` it is `[n, d, h, w, 3]`. A place `(x, y, 1)` becomes its product with the matrix.

        >>> import unigrad
        >>> unigrad.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]).affine_grid((1, 1, 2, 2), True).shape
        (1, 2, 2, 2)
        """

    def all(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        Whether all elements are true (not 0), over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).all()
        tensor(True)
        """

    def amax(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        The greatest over axes, or over all; equal ones share the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).amax()
        tensor(2.)
        """

    def amin(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        The least over axes, or over all; equal ones share the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).amin()
        tensor(0.5000)
        """

    def aminmax(self, /, *, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None) -> _MinMax:
        """
        The least and the greatest, `(min, max)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).aminmax()]
        [0.5, 2.0]
        """

    def any(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        Whether any element is true (not 0), over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).any()
        tensor(True)
        """

    def argmax(self, /, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        Index of the first greatest element along `dim`, or of all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argmax()
        tensor(1)
        """

    def argmin(self, /, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        Index of the first least element along `dim`, or of all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argmin()
        tensor(0)
        """

    def argsort(self, /, dim: builtins.int | None=None, descending: builtins.bool=False, *, stable: builtins.bool=True, axis: builtins.int | None=None) -> Tensor:
        """
        Indices that sort an axis; equal elements keep their order.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).argsort()
        tensor([0, 1])
        """

    def asin(self, /) -> Tensor:
        """
        Inverse sine.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0]).asin()
        tensor([0.0000, 1.5708])
        """

    def asinh(self, /) -> Tensor:
        """
        Inverse hyperbolic sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).asinh()
        tensor([0.4812, 1.4436])
        """

    def astype(self, /, dtype: DType | builtins.str | builtins.type, *, copy: builtins.bool=True) -> Tensor:
        """
        As another dtype; a copy in any case, as NumPy's.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).astype(unigrad.int32)
        tensor([0, 2], dtype=unigrad.int32)
        """

    def atan(self, /) -> Tensor:
        """
        Inverse tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan()
        tensor([0.4636, 1.1071])
        """

    def atan2(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The angle of the point `(other, self)`; at the origin its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).atan2(2.0)
        tensor([0.2450, 0.7854])
        """

    def atanh(self, /) -> Tensor:
        """
        Inverse hyperbolic tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 0.5]).atanh()
        tensor([0.0000, 0.5493])
        """

    def attention(self, /, k: Tensor, v: Tensor, *, causal: builtins.bool | None=None, window: builtins.int | None=None, bias: Tensor | None=None, mask: Tensor | None=None, scale: builtins.float | builtins.int | None=None, dropout: builtins.float | builtins.int | None=None, kv_len: Tensor | builtins.float | Buffer | None=None, q_offset: Tensor | builtins.float | Buffer | None=None, page_table: Tensor | None=None) -> Tensor:
        """
        `softmax(scale * q kᵀ + bias) v`: self is q `[b, h, t, d]`, k `[b, g, s, d]`, v `[b, g, s, e]`, the result `[b, h, t, e]`.

        `h` is a multiple of `g`: grouped queries. A query that sees nothing gives 0. The three may lack the batch axis together.

        >>> import unigrad
        >>> unigrad.ones(1, 1, 2, 4).attention(unigrad.ones(1, 1, 3, 4), unigrad.ones(1, 1, 3, 4)).shape
        (1, 1, 2, 4)
        """

    def avg_pool1d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.int | None=None) -> Tensor:
        """
        Average of each window over 1 spatial axes.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 1).avg_pool1d(2).shape[2:] == (2,) * 1
        True
        """

    def avg_pool2d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.int | None=None) -> Tensor:
        """
        Average of each window over 2 spatial axes.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 2).avg_pool2d(2).shape[2:] == (2,) * 2
        True
        """

    def avg_pool3d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, count_include_pad: builtins.bool=True, divisor_override: builtins.int | None=None) -> Tensor:
        """
        Average of each window over 3 spatial axes.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 3).avg_pool3d(2).shape[2:] == (2,) * 3
        True
        """

    def backward(self, /, gradient: Tensor | None=None, *, retain_graph: builtins.bool=False) -> None:
        """
        Adds the gradients of this loss to every leaf that it depends on. `gradient` is what arrives at it, needed where it has more than one element.

        >>> import unigrad
        >>> x = unigrad.tensor([1.0, 3.0], requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        tensor([2., 6.])
        """

    def baddbmm(self, /, batch1: Tensor, batch2: Tensor, beta: builtins.float | builtins.int=1.0, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `alpha * batch1 @ batch2 + beta * self`, of batches of matrices.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).baddbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
        (2, 2, 3)
        """

    def batch_norm(self, /, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: builtins.float | builtins.int) -> Tensor:
        """
        `[n, c, ..]` normalized per channel with given statistics `[c]`: batch norm when a model runs. Half types are computed in `f32`, with
        statistics in whatever dtype they have; with weights of `f32` they stay halves, as in PyTorch.

        >>> import unigrad
        >>> unigrad.ones(2, 3, 4).batch_norm(unigrad.zeros(3), unigrad.ones(3), None, None, 1e-5).shape
        (2, 3, 4)
        """

    def batch_norm_train(self, /, weight: Tensor | None, bias: Tensor | None, eps: builtins.float | builtins.int) -> builtins.tuple[Any, ...]:
        """
        `[n, c, ..]` normalized per channel with the batch's own statistics: batch norm when a model learns.

        Also returns the mean and the biased variance, `[c]` each, cut off from gradients: what running statistics are updated with
        (PyTorch stores the unbiased variance: times `n / (n - 1)`). Those of half types are `f32`, which holds what they do not. Of a batch without
        elements they are NaN, and nothing should be updated with them. Halves with weights of `f32`, as under `crate::autocast()`, stay halves.

        >>> import unigrad
        >>> [part.shape for part in unigrad.ones(1, 2, 4).batch_norm_train(unigrad.tensor([1.0, 2.0]), None, 1e-5)]
        [(1, 2, 4), (2,), (2,)]
        """

    def bce_loss(self, /, target: Tensor, weight: Tensor | None=None, *, reduction: builtins.str='mean') -> Tensor:
        """
        Binary cross-entropy of probabilities.

        >>> import unigrad
        >>> unigrad.tensor([True, False]).bce_loss(unigrad.tensor([1.0, 1.0]))
        tensor(50.)
        """

    def bce_with_logits(self, /, target: Tensor, weight: Tensor | None=None, *, pos_weight: Tensor | None=None, reduction: builtins.str='mean') -> Tensor:
        """
        Binary cross-entropy of logits, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bce_with_logits(unigrad.tensor([1.0, 1.0]))
        tensor(0.3005)
        """

    def bfloat16(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `bfloat16`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bfloat16()
        tensor([0.5000, 2.0000], dtype=unigrad.bfloat16)
        """

    def bilinear(self, /, other: Tensor, weight: Tensor, bias: Tensor | None=None) -> Tensor:
        """
        `y[.., o] = self[.., i] weight[o, i, j] other[.., j] + bias[o]`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bilinear(unigrad.tensor([1.0, 3.0]), unigrad.ones(1, 2, 2))
        tensor([10.])
        """

    def bincount(self, /, weights: Tensor | None=None, minlength: builtins.int=0) -> Tensor:
        """
        How often each of `0, 1, ..` occurs in a vector of integers, `I64`; with weights, the sum of the weights there, in their float dtype
        (PyTorch's is `f64` unless they are `f32`). As many counts as the greatest number needs, and at least `minlength`.

        Waits for the values: the length depends on them. Where the length is known, `zeros.scatter_add(0, &numbers, &ones)` waits for nothing.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bincount()
        tensor([0, 0, 0, 1, 0, 1])
        """

    def bitcast(self, /, dtype: DType | builtins.str | builtins.type) -> Tensor:
        """
        The same bits as a dtype of the same size.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bitcast(unigrad.int32)
        tensor([1056964608, 1073741824], dtype=unigrad.int32)
        """

    def bitwise_and(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        And, of bools or of integers' bits.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bitwise_and(unigrad.tensor([1, 2]))
        tensor([1, 0])
        """

    def bitwise_not(self, /) -> Tensor:
        """
        `!` of bools, the complement of integers' bits.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bitwise_not()
        tensor([-4, -6])
        """

    def bitwise_or(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Or, of bools or of integers' bits.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bitwise_or(unigrad.tensor([1, 2]))
        tensor([3, 7])
        """

    def bitwise_xor(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Exclusive or, of bools or of integers' bits.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).bitwise_xor(unigrad.tensor([1, 2]))
        tensor([2, 7])
        """

    def bool(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `bool`: whether each element is not 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bool()
        tensor([True, True])
        """

    def broadcast_to(self, /, shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        NumPy's `broadcast_to`.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).broadcast_to((2, 2)).tolist()
        [[3, 5], [3, 5]]
        """

    def bucketize(self, /, boundaries: Tensor, right: builtins.bool=False, *, out_int32: builtins.bool=False) -> Tensor:
        """
        The number of the interval between sorted `boundaries` that each element is in: `i` where `boundaries[i - 1] < x <= boundaries[i]`, or, with
        `right`, where `boundaries[i - 1] <= x < boundaries[i]`; `int64`, or `int32` with `out_int32`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).bucketize(unigrad.tensor([1.0, 3.0]))
        tensor([0, 1])
        """

    def byte(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `uint8`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).byte()
        tensor([0, 2], dtype=unigrad.uint8)
        """

    def cast(self, /, dtype: DType | builtins.str | builtins.type) -> Tensor:
        """
        As another dtype.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cast(unigrad.int32)
        tensor([0, 2], dtype=unigrad.int32)
        """

    def cdist(self, /, other: Tensor, p: builtins.float | builtins.int=2.0, compute_mode: builtins.str='use_mm_for_euclid_dist_if_necessary') -> Tensor:
        """
        Distances by the `p`-norm of all rows of `self` `[.., n, d]` from all rows of `other` `[.., m, d]`: `[.., n, m]`; batch axes broadcast.
        Where two rows are equal, the gradient is 0.

        `compute_mode` is PyTorch's and changes nothing: distances are those of differences.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 0.0]]).cdist(unigrad.tensor([[3.0, 4.0]]))
        tensor([[5.]])
        """

    def ceil(self, /) -> Tensor:
        """
        Up to an integer; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ceil()
        tensor([1., 2.])
        """

    def celu(self, /, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `x` above 0, `alpha * (e^(x / alpha) - 1)` below (Barron, 2017): `elu` with a continuous derivative.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).celu()
        tensor([3., 5.])
        """

    def channel_shuffle(self, /, groups: builtins.int) -> Tensor:
        """
        Channels of `[n, c, ..]` in another order: the first of each of `groups` groups, then the second of each, and so on.

        >>> import unigrad
        >>> unigrad.arange(4).reshape(1, 4, 1).channel_shuffle(2).flatten()
        tensor([0, 2, 1, 3])
        """

    def char(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `int8`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).char()
        tensor([0, 2], dtype=unigrad.int8)
        """

    def chunk(self, /, chunks: builtins.int, dim: builtins.int=0, *, axis: builtins.int | None=None) -> builtins.tuple[Any, ...]:
        """
        At most `chunks` parts of equal size along an axis; the last one may be smaller.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).chunk(2)]
        [[0.5], [2.0]]
        """

    def clamp(self, /, min: Tensor | builtins.float | Buffer | None=None, max: Tensor | builtins.float | Buffer | None=None) -> Tensor:
        """
        `self` between limits; one of them may be left out.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.5, 2.0]).clamp(0, 1)
        tensor([0.0000, 0.5000, 1.0000])
        """

    def clone(self, /, *, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        The same value in memory of its own, with a way for gradients.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).clone()
        tensor([0.5000, 2.0000])
        """

    def col2im(self, /, output_size: builtins.int | Sequence[builtins.int], kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, stride: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Columns added up to images of `output_size`: PyTorch's `fold`.

        >>> import unigrad
        >>> unigrad.ones(1, 4, 1).col2im((2, 2), 2).shape
        (1, 1, 2, 2)
        """

    def conv1d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: Any | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1) -> Tensor:
        """
        Convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 1).conv1d(unigrad.ones(1, 1, *[2] * 1)).shape[2:] == (3,) * 1
        True
        """

    def conv2d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: Any | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1) -> Tensor:
        """
        Convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 2).conv2d(unigrad.ones(1, 1, *[2] * 2)).shape[2:] == (3,) * 2
        True
        """

    def conv3d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: Any | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1) -> Tensor:
        """
        Convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[out, c / groups, kernel..]`; `padding` is sizes, "same" or "valid".

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 3).conv3d(unigrad.ones(1, 1, *[2] * 3)).shape[2:] == (3,) * 3
        True
        """

    def conv_transpose1d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_padding: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Transposed convolution over 1 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 1).conv_transpose1d(unigrad.ones(1, 1, *[2] * 1)).shape[2:] == (5,) * 1
        True
        """

    def conv_transpose2d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_padding: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Transposed convolution over 2 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 2).conv_transpose2d(unigrad.ones(1, 1, *[2] * 2)).shape[2:] == (5,) * 2
        True
        """

    def conv_transpose3d(self, /, weight: Tensor, bias: Tensor | None=None, stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_padding: builtins.int | Sequence[builtins.int] | None=None, groups: builtins.int=1, dilation: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Transposed convolution over 3 spatial axes: `[n, c, ..]` with `weight` `[c, out / groups, kernel..]`.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 3).conv_transpose3d(unigrad.ones(1, 1, *[2] * 3)).shape[2:] == (5,) * 3
        True
        """

    def copy_(self, /, source: Tensor | builtins.float | Buffer, non_blocking: builtins.bool=False) -> Tensor:
        """
        The value of another tensor, or a number everywhere, for all holders of this one: of its shape, dtype and device. Returns the tensor itself.
        `non_blocking` is PyTorch's, and changes nothing.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).copy_(unigrad.tensor([7.0]))
        tensor([7., 7.])
        """

    def copysign(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The magnitude of `self` with the sign of `other`, also of -0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).copysign(2.0)
        tensor([3., 5.])
        """

    def corrcoef(self, /) -> Tensor:
        """
        The correlation coefficients of variables, which are the rows of a matrix, limited to -1 to 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).corrcoef()
        tensor(1.)
        """

    def cos(self, /) -> Tensor:
        """
        Cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cos()
        tensor([ 0.8776, -0.4161])
        """

    def cosh(self, /) -> Tensor:
        """
        Hyperbolic cosine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cosh()
        tensor([1.1276, 3.7622])
        """

    def cosine_embedding_loss(self, /, other: Tensor, target: Tensor, margin: builtins.float | builtins.int=0.0, reduction: builtins.str='mean') -> Tensor:
        """
        `1 - cos(x, other)` where the label is 1, `max(0, cos(x, other) - margin)` where it is -1. `[n, d]` and `[n]` labels, or `[d]` and one.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).cosine_embedding_loss(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]]), unigrad.tensor([1.0, 1.0]))
        tensor(0.3764)
        """

    def cosine_similarity(self, /, other: Tensor, dim: builtins.int | None=None, eps: builtins.float | builtins.int=1e-08, *, axis: builtins.int | None=None) -> Tensor:
        """
        Cosine of the angle between two along an axis, after broadcasting; lengths count as at least `eps`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cosine_similarity(unigrad.tensor([1.0, 3.0]), dim=0)
        tensor(0.9971)
        """

    def count_nonzero(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        How many elements are not 0, over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).count_nonzero()
        tensor(2)
        """

    def cov(self, /, correction: builtins.int=1, fweights: Tensor | None=None, aweights: Tensor | None=None) -> Tensor:
        """
        The covariance of variables, which are the rows of a matrix `[variables, observations]` (a vector is one variable), divided by
        `observations - correction`, or by 0 where that is negative. Of one variable it is a number without axes.

        `fweights`, integers, say how often each observation was made, `aweights`, floats, how much it counts; none is negative.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cov()
        tensor(1.1250)
        """

    def cpu(self, /, *, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        On the CPU.

        >>> import unigrad
        >>> unigrad.ones(2).cpu().device
        Device('cpu:0')
        """

    def cross(self, /, other: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        The vector product along an axis of size 3; the other axes broadcast.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.0, 2.0]).cross(unigrad.tensor([1.0, 0.0, 2.0]))
        tensor([0., 4., -0.])
        """

    def cross_entropy(self, /, target: Tensor, weight: Tensor | None=None, *, ignore_index: builtins.int=..., reduction: builtins.str='mean', label_smoothing: builtins.float | builtins.int=0.0) -> Tensor:
        """
        Cross-entropy of logits: the target is the index of a class, or a distribution over classes.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cross_entropy(unigrad.tensor([1.0, 1.0]))
        tensor(1.9028)
        """

    def ctc_loss(self, /, labels: Tensor, n_steps: Tensor, n_labels: Tensor, *, blank: builtins.int | None=None, reduction: builtins.str | None=None, zero_infinity: builtins.bool | None=None) -> Tensor:
        """
        The CTC loss of log probabilities `[steps, n, classes]` (as `log_softmax` gives them), labels `[n, longest]` (padded; without blanks), how many
        steps and how many labels of each example count (`[n]` each). Without a batch: `[steps, classes]`, `[longest]`, and two lengths of rank 0.

        A label out of `0..classes` among those that count is an error when it runs; lengths count as at most what there is.

        >>> import unigrad
        >>> unigrad.zeros(4, 3).log_softmax(-1).ctc_loss(unigrad.tensor([1, 2]), unigrad.tensor(4), unigrad.tensor(2))
        tensor(0.8432)
        """

    def cummax(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> _Pair:
        """
        The greatest up to each element of an axis, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummax(dim=0)]
        [[0.5, 2.0], [0, 1]]
        """

    def cummin(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> _Pair:
        """
        The least up to each element of an axis, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).cummin(dim=0)]
        [[0.5, 0.5], [0, 0]]
        """

    def cumprod(self, /, dim: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | None=None) -> Tensor:
        """
        Products up to each element of an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cumprod(dim=0)
        tensor([0.5000, 1.0000])
        """

    def cumsum(self, /, dim: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | None=None) -> Tensor:
        """
        Sums up to each element of an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).cumsum(dim=0)
        tensor([0.5000, 2.5000])
        """

    @property
    def data(self, /) -> Tensor:
        """
        The values without a way for gradients. What is written to them in place is written to the tensor; set to another tensor, it has that one's values.

        >>> import unigrad
        >>> w = unigrad.tensor([1.0, 2.0], requires_grad=True)
        >>> w.data.mul_(2.0), w.data.requires_grad
        (tensor([2., 4.]), False)
        """

    @data.setter
    def data(self, /, data: Tensor) -> None:
        ...

    def data_ptr(self, /) -> builtins.int:
        """
        Where the value's memory begins: computes it. The address holds until something is written to the tensor; 0 without elements. On the CPU and on
        CUDA, a `RuntimeError` elsewhere.

        >>> import unigrad
        >>> unigrad.ones(2).data_ptr() != 0, unigrad.ones(0).data_ptr()
        (True, 0)
        """

    def deg2rad(self, /) -> Tensor:
        """
        Degrees as radians.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).deg2rad()
        tensor([0.0087, 0.0349])
        """

    def detach(self, /) -> Tensor:
        """
        The same value without a way for gradients.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).detach()
        tensor([0.5000, 2.0000])
        """

    @property
    def device(self, /) -> Device:
        """
        Where it is.

        >>> import unigrad
        >>> unigrad.ones(2).device == unigrad.Device('cpu')
        True
        """

    def diag(self, /, diagonal: builtins.int=0) -> Tensor:
        """
        Of a vector the matrix with it along a diagonal; of a matrix the diagonal.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diag()
        tensor([1., 4.])
        """

    def diag_embed(self, /, offset: builtins.int=0, dim1: builtins.int=..., dim2: builtins.int=...) -> Tensor:
        """
        The last axis along a diagonal of two new ones.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).diag_embed().tolist()
        [[3, 0], [0, 5]]
        """

    def diagflat(self, /, offset: builtins.int=0) -> Tensor:
        """
        All elements along a diagonal.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).diagflat().tolist()
        [[3, 0], [0, 5]]
        """

    def diagonal(self, /, offset: builtins.int=0, dim1: builtins.int=0, dim2: builtins.int=1) -> Tensor:
        """
        A diagonal along two axes, as the last axis.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).diagonal()
        tensor([1., 4.])
        """

    def dice_loss(self, /, target: Tensor, smooth: builtins.float | builtins.int=1.0, reduction: builtins.str='mean') -> Tensor:
        """
        `1 - (2 Σ x t + smooth) / (Σ x + Σ t + smooth)` of each example (axis 0), sums over all its elements: one minus the overlap of probabilities with
        a mask, after Dice.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).dice_loss(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]]))
        tensor(0.2000)
        """

    def diff(self, /, n: builtins.int=1, dim: builtins.int=..., prepend: Tensor | None=None, append: Tensor | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        Differences of neighbours along an axis, `n` times; `prepend` and `append` are put before and behind first.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).diff()
        tensor([1.5000])
        """

    def digamma(self, /) -> Tensor:
        """
        Derivative of `UnaryOp::LGamma`; NaN at the negative integers. Its gradient is `UnaryOp::Trigamma`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).digamma()
        tensor([-1.9635,  0.4228])
        """

    def dim(self, /) -> builtins.int:
        """
        The number of axes.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).dim()
        1
        """

    def div(self, /, other: Tensor | builtins.float | Buffer, *, rounding_mode: builtins.str | None=None) -> Tensor:
        """
        Quotient; with `rounding_mode` "floor" or "trunc" rounded.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).div(2.0)
        tensor([0.2500, 1.0000])
        """

    def dot(self, /, other: Tensor) -> Tensor:
        """
        Inner product of two vectors.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).dot(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

    def double(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `float64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).double()
        tensor([0.5000, 2.0000], dtype=unigrad.float64)
        """

    @property
    def dtype(self, /) -> DType:
        """
        The element type.

        >>> import unigrad
        >>> unigrad.ones(2).dtype
        unigrad.float32
        """

    def dyn_slice(self, /, dim: builtins.int, start: Any, length: builtins.int) -> Tensor:
        """
        `length` elements of an axis from a position that may change from step to step without a new plan: an integer, or a tensor of one.

        >>> import unigrad
        >>> unigrad.arange(6).dyn_slice(0, unigrad.tensor(2), 3).tolist()
        [2, 3, 4]
        """

    def dyn_update(self, /, dim: builtins.int, update: Tensor, start: Any) -> Tensor:
        """
        The tensor with `update` written over it along an axis, from a position that may change from step to step without a new plan.

        >>> import unigrad
        >>> unigrad.zeros(4).dyn_update(0, unigrad.ones(2), 1).tolist()
        [0.0, 1.0, 1.0, 0.0]
        """

    def elu(self, /, alpha: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `alpha * (e^x - 1)` below 0, `x` above.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).elu()
        tensor([3., 5.])
        """

    def embedding(self, /, index: Tensor) -> Tensor:
        """
        Rows of a table `[entries, features]` by number, negative ones from the end (see `gather`): `[index.., features]`.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding(unigrad.tensor([1])).tolist()
        [[3.0, 4.0]]
        """

    def embedding_bag(self, /, index: Tensor, *, mode: builtins.str | None=None, offsets: Tensor | None=None, include_last_offset: builtins.bool | None=None, weights: Tensor | None=None, padding_idx: builtins.int | None=None, max_norm: builtins.float | builtins.int | None=None, norm_type: builtins.float | builtins.int | None=None, scale_grad_by_freq: builtins.bool | None=None) -> Tensor:
        """
        The rows of each bag of numbers together: their sum, mean or maximum, `[bags, features]`. A bag is a row of a matrix `[bags, n]` of
        numbers, or what lies between two of the `offsets` in a vector, of which the first is 0, none is less than the one before it, and none is
        more than there are numbers (checked when they are computed). A bag without rows gives 0.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding_bag(unigrad.tensor([[0, 0], [1, 0]])).shape
        (2, 2)
        """

    def embedding_with(self, /, index: Tensor, *, padding_idx: builtins.int | None=None, max_norm: builtins.float | builtins.int | None=None, norm_type: builtins.float | builtins.int | None=None, scale_grad_by_freq: builtins.bool | None=None) -> Tensor:
        """
        `embedding` with settings: a row without gradient, gradients by frequency, and rows of a limited norm, scaled by `max_norm / (norm + 1e-7)` where their
        norm is greater.

        The table stays as it is, and the gradient is that of the scaled rows. PyTorch writes the scaled rows into the table first, and
        hands the gradient on as it is.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).embedding_with(unigrad.tensor([0]))
        tensor([[1., 2.]])
        """

    def eq(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).eq(2.0)
        tensor([False,  True])
        """

    def erf(self, /) -> Tensor:
        """
        Error function.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).erf()
        tensor([0.5205, 0.9953])
        """

    def erfc(self, /) -> Tensor:
        """
        `1 - erf(x)`, with all digits where that is small.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).erfc()
        tensor([0.4795, 0.0047])
        """

    def erfinv(self, /) -> Tensor:
        """
        Inverse of the error function: infinite at -1 and 1, NaN beyond.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 0.5]).erfinv()
        tensor([0.0000, 0.4769])
        """

    def exp(self, /) -> Tensor:
        """
        `e^x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).exp()
        tensor([1.6487, 7.3891])
        """

    def exp2(self, /) -> Tensor:
        """
        `2^x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).exp2()
        tensor([1.4142, 4.0000])
        """

    def expand(self, /, *shape: builtins.int | Sequence[builtins.int], **named: Any) -> Tensor:
        """
        Axes of size 1 as large as asked; -1 leaves a size as it is.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).expand((2, 2)).tolist()
        [[3, 5], [3, 5]]
        """

    def expand_as(self, /, other: Tensor) -> Tensor:
        """
        The shape of another tensor, by NumPy's broadcasting.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).expand_as(unigrad.tensor([[1.0, 0.0], [0.0, 1.0]])).tolist()
        [[3, 5], [3, 5]]
        """

    def expm1(self, /) -> Tensor:
        """
        `e^x - 1`, exact near 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).expm1()
        tensor([0.6487, 6.3891])
        """

    def flatten(self, /, start_dim: builtins.int=0, end_dim: builtins.int=...) -> Tensor:
        """
        Axes from `start_dim` to `end_dim` as one.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).flatten()
        tensor([1., 2., 3., 4.])
        """

    def flip(self, /, *dims: builtins.int | Sequence[builtins.int], axis: builtins.int | Sequence[builtins.int] | None=None, **named: Any) -> Tensor:
        """
        Elements in reverse order along axes, or along all; `dims` come one by one, as a sequence, or by name.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).flip(0)
        tensor([2.0000, 0.5000])
        """

    def float(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `float32`.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).float()
        tensor([3., 5.])
        """

    def float_power(self, /, exponent: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Power in `f64`, whatever the dtype, as `torch.float_power`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).float_power(2)
        tensor([0.2500, 4.0000], dtype=unigrad.float64)
        """

    def floor(self, /) -> Tensor:
        """
        Down to an integer; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).floor()
        tensor([0., 2.])
        """

    def floor_div(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Quotient rounded toward negative infinity; of integers by 0: 0. Of floats as Python's `//` and PyTorch's `floor_divide`: what is left
        without `rem`, divided, so `1 // 0.1` is 9 and `-3 // inf` is -1. Its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).floor_div(2.0)
        tensor([0., 1.])
        """

    def fmax(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The greater; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmax(2.0)
        tensor([2., 2.])
        """

    def fmin(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The lesser; where one is NaN, the other. Where both are equal, each gets half of the gradient; of two NaN `self` gets it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmin(unigrad.tensor([True, True]))
        tensor([0.5000, 1.0000])
        """

    def fmod(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Remainder with the sign of `self`, as C's `fmod` and `torch.fmod`; of integers by 0: 0. See `rem` for Python's.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fmod(2.0)
        tensor([0.5000, 0.0000])
        """

    def focal_loss(self, /, target: Tensor, alpha: builtins.float | builtins.int=0.25, gamma: builtins.float | builtins.int=2.0, reduction: builtins.str='mean') -> Tensor:
        """
        Binary cross-entropy of logits times `(1 - p)^gamma`, where `p` is the probability of the truth: what is known already counts little (Lin et al.,
        2017). `alpha` weighs ones against zeros (`1 - alpha`); below 0 it does not. As torchvision's `sigmoid_focal_loss`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).focal_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.0087)
        """

    def fract(self, /) -> Tensor:
        """
        What is left after `trunc`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).fract()
        tensor([0.5000, 0.0000])
        """

    def gaussian_nll_loss(self, /, target: Tensor, var: Tensor, full: builtins.bool=False, eps: builtins.float | builtins.int=1e-06, reduction: builtins.str='mean') -> Tensor:
        """
        `log(var) / 2 + (x - target)² / (2 var)`, and `log(2π) / 2` more if `full`: the negative log likelihood of targets from a Gaussian whose mean is
        `self` (Nix and Weigend, 1994). `var` is at least `eps`; its gradient is that of `var` all the same. It has the shape of `self`, or 1 on one
        axis, or no last axis; the target broadcasts.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gaussian_nll_loss(unigrad.tensor([1.0, 1.0]), unigrad.ones(2))
        tensor(0.3125)
        """

    def gcd(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Greatest common divisor of integers; of 0 and 0 it is 0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).gcd(unigrad.tensor([1, 2]))
        tensor([1, 1])
        """

    def ge(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether greater or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ge(2.0)
        tensor([False,  True])
        """

    def gelu(self, /) -> Tensor:
        """
        `x * (1 + erf(x / sqrt 2)) / 2`; at -inf its limit 0 (PyTorch: NaN).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gelu()
        tensor([0.3457, 1.9545])
        """

    def gelu_tanh(self, /) -> Tensor:
        """
        The tanh approximation of `UnaryOp::Gelu`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gelu_tanh()
        tensor([0.3457, 1.9546])
        """

    def glu(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        One half of an axis times the sigmoid of the other (Dauphin et al., 2017); the axis has an even size.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).glu()
        tensor([0.4404])
        """

    @property
    def grad(self, /) -> Tensor | None:
        """
        The gradient that `backward` has left, or `None`.

        >>> import unigrad
        >>> unigrad.ones(2, requires_grad=True).grad is None
        True
        """

    @grad.setter
    def grad(self, /, grad: Tensor | None) -> None:
        ...

    @property
    def grad_fn(self, /) -> Any:
        """
        What computed the tensor, for gradients: an `autograd.Node`, whose `name()` is that of its last op. `None` of a leaf, and where no gradient flows.

        >>> import unigrad
        >>> x = unigrad.ones(2, requires_grad=True)
        >>> x.grad_fn, x.exp().grad_fn
        (None, <ExpBackward0>)
        """

    def grid_sample(self, /, grid: Tensor, *, mode: builtins.str | None=None, padding: builtins.str | None=None, align_corners: builtins.bool | None=None) -> Tensor:
        """
        Samples of `[n, c, h, w]` at the places of a grid `[n, out.., 2]`, which holds `(x, y)` between -1 and 1: `[n, c, out..]`. Or of
        `[n, c, d, h, w]` by a grid of `(x, y, z)`, as `torch.nn.functional.grid_sample`; also of `[n, c, l]`.

        Places that are NaN give 0 (PyTorch's CPU: NaN). Where a place is clipped, its gradient is 0. Integers compute in `f32`.

        >>> import unigrad
        >>> unigrad.ones(1, 2, 4, 4).grid_sample(unigrad.zeros(1, 2, 2, 2)).shape
        (1, 2, 2, 2)
        """

    def group_norm(self, /, groups: builtins.int, weight: Tensor | None=None, bias: Tensor | None=None, eps: builtins.float | builtins.int=1e-05) -> Tensor:
        """
        Layer norm of `[n, c, ..]` within each of `groups` groups of channels; weight and bias are `[c]`.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).group_norm(2).shape
        (2, 2)
        """

    def gt(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether greater.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).gt(2.0)
        tensor([False, False])
        """

    def half(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `float16`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).half()
        tensor([0.5000, 2.0000], dtype=unigrad.float16)
        """

    def hardshrink(self, /, lambd: builtins.float | builtins.int=0.5) -> Tensor:
        """
        0 within `lambda` of 0, else `x`. Of NaN the gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hardshrink()
        tensor([0., 2.])
        """

    def hardsigmoid(self, /) -> Tensor:
        """
        `relu6(x + 3) / 6`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hardsigmoid()
        tensor([0.5833, 0.8333])
        """

    def hardswish(self, /) -> Tensor:
        """
        `x * relu6(x + 3) / 6`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hardswish()
        tensor([0.2917, 1.6667])
        """

    def hardtanh(self, /) -> Tensor:
        """
        `min(max(x, -1), 1)`; integers stay what they are. At the limits, and of NaN, the gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hardtanh()
        tensor([0.5000, 1.0000])
        """

    def hardtanh_with(self, /, low: builtins.float | builtins.int, high: builtins.float | builtins.int) -> Tensor:
        """
        `min(max(x, low), high)`; at the limits, and of NaN, the gradient is 0. `hardtanh` is that of -1 and 1.

        Integers stay what they are, with limits rounded toward 0, those below what the dtype holds at its least number; bools have none at all.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).hardtanh_with(0, 3)
        tensor([3, 3])
        """

    def heaviside(self, /, at_zero: Tensor | builtins.float | Buffer) -> Tensor:
        """
        0 below 0, 1 above, `at_zero` at 0; NaN gives 0, as in PyTorch. Its gradients are 0.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, 0.0, 2.0]).heaviside(0.5)
        tensor([0.0000, 0.5000, 1.0000])
        """

    def hinge_embedding_loss(self, /, target: Tensor, margin: builtins.float | builtins.int=1.0, reduction: builtins.str='mean') -> Tensor:
        """
        `x` where the label is 1, `max(0, margin - x)` where it is -1; both for other labels: `x` is a distance.
        Distances and labels broadcast.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hinge_embedding_loss(unigrad.tensor([1.0, 1.0]))
        tensor(1.2500)
        """

    def histc(self, /, bins: builtins.int=100, min: builtins.float | builtins.int=0.0, max: builtins.float | builtins.int=0.0, *, low: builtins.float | builtins.int | None=None, high: builtins.float | builtins.int | None=None) -> Tensor:
        """
        How many elements are in each of `bins` intervals of equal width between `min` and `max` (or `low` and `high`), of which the last one holds
        `max` too; in the tensor's float dtype. Elements outside, and NaN, count nowhere. Equal bounds stand for the least and the greatest element
        (then all counts are 0 if one of them is not finite), and one more on both sides if these are equal.

        >>> import unigrad
        >>> unigrad.tensor([0.0, 1.0, 3.0]).histc(bins=2, min=0, max=4).tolist()
        [2.0, 1.0]
        """

    def huber_loss(self, /, target: Tensor, *, reduction: builtins.str='mean', delta: builtins.float | builtins.int=...) -> Tensor:
        """
        Squared where a difference is below `delta`, else absolute.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).huber_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.3125)
        """

    def hypot(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `sqrt(self² + other²)`, without overflow; its gradient at 0, 0 is 0 (PyTorch: NaN).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).hypot(2.0)
        tensor([2.0616, 2.8284])
        """

    def im2col(self, /, kernel_size: builtins.int | Sequence[builtins.int], dilation: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, stride: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Windows as columns, `[n, c * kernel, windows]`: PyTorch's `unfold` of images.

        >>> import unigrad
        >>> unigrad.ones(1, 2, 4).im2col(2).shape
        (1, 4, 3)
        """

    def index_add(self, /, dim: builtins.int, index: Tensor, src: Tensor, *, alpha: Tensor | builtins.float=...) -> Tensor:
        """
        A copy with `alpha * src` added to the slices along `dim` that the vector `index` names.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7.5000, 2.0000])
        """

    def index_copy(self, /, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """
        `self` with slices of `src` in place of the slices that a vector of numbers names.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_copy(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7., 2.])
        """

    def index_fill(self, /, dim: builtins.int, index: Tensor, value: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `self` with `value` in the slices along an axis that a vector of numbers names. The value is a number or a tensor of rank 0, and
        takes the tensor's dtype. Its gradient is the sum over all places it is at (PyTorch counts a place twice that is named twice).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_fill(0, unigrad.tensor([0]), 9.0)
        tensor([9., 2.])
        """

    def index_put(self, /, indices: Any, values: Tensor, accumulate: builtins.bool=False) -> Tensor:
        """
        The tensor with `values` where `indices` point, a tuple of what `x[..]` takes; with `accumulate` they are added to what is there.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_put(unigrad.tensor([1, 0]), unigrad.tensor([7.0]))
        tensor([7., 7.])
        """

    def index_reduce(self, /, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str | None=None, *, include_self: builtins.bool=True, mode: builtins.str | None=None) -> Tensor:
        """
        As `scatter_reduce`, of whole slices along `dim`, which the vector `index` names: prod, mean, amax or amin.

        >>> import unigrad
        >>> unigrad.tensor([1.0, 2.0]).index_reduce(0, unigrad.tensor([0, 0]), unigrad.tensor([3.0, 4.0]), 'prod')
        tensor([12.,  2.])
        """

    def index_select(self, /, dim: builtins.int, index: Tensor) -> Tensor:
        """
        Elements of an axis by their numbers.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).index_select(0, unigrad.tensor([0]))
        tensor([0.5000])
        """

    def inner(self, /, other: Tensor) -> Tensor:
        """
        The sum of products over both last axes; with a number, the product with it.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).inner(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

    def instance_norm(self, /, weight: Tensor | None, bias: Tensor | None, eps: builtins.float | builtins.int) -> Tensor:
        """
        Layer norm of `[n, c, ..]` within each channel; weight and bias are `[c]`. With running statistics, as when a model runs, it is
        `batch_norm`; `instance_norm_train` gives what they are updated with.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).instance_norm(unigrad.tensor([1.0, 2.0]), None, 1e-5).shape
        (2, 2)
        """

    def instance_norm_train(self, /, weight: Tensor | None, bias: Tensor | None, eps: builtins.float | builtins.int) -> builtins.tuple[Any, ...]:
        """
        `instance_norm`, with the means and the biased variances of each channel, averaged over the batch and cut off from gradients:
        `[c]` each, what running statistics are updated with (PyTorch stores the unbiased variance: times `n / (n - 1)` for `n` spatial elements).
        Those of half types are `f32`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).instance_norm_train(unigrad.tensor([1.0, 2.0]), unigrad.zeros(2), 1e-5)]
        [[[0.0, 0.0], [0.0, 0.0]], [2.0, 3.0], [0.0, 0.0]]
        """

    def int(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `int32`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).int()
        tensor([0, 2], dtype=unigrad.int32)
        """

    def interpolate(self, /, size: builtins.int | Sequence[builtins.int] | None=None, scale_factor: Any | None=None, mode: builtins.str='nearest', align_corners: builtins.bool | None=None, antialias: builtins.bool=False) -> Tensor:
        """
        Another size of the spatial axes, by PyTorch's modes: nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area.

        >>> import unigrad
        >>> unigrad.ones(1, 1, 2, 2).interpolate((4, 4)).shape
        (1, 1, 4, 4)
        """

    def interpolate_nearest(self, /, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Nearest-neighbour resize of the trailing spatial axes of `[n, c, spatial..]`.

        >>> import unigrad
        >>> unigrad.ones(1, 2, 4).interpolate_nearest((2,)).shape
        (1, 2, 2)
        """

    @property
    def is_cuda(self, /) -> builtins.bool:
        """
        Whether it is on a GPU by CUDA.

        >>> import unigrad
        >>> unigrad.ones(2).is_cuda
        False
        """

    @property
    def is_leaf(self, /) -> builtins.bool:
        """
        Whether gradients arrive at it: a tensor that was not computed, with `requires_grad`.

        >>> import unigrad
        >>> unigrad.ones(2, requires_grad=True).is_leaf
        True
        """

    @property
    def is_realized(self, /) -> builtins.bool:
        """
        Whether the value has been computed.

        >>> import unigrad
        >>> unigrad.ones(2).realize().is_realized
        True
        """

    def isclose(self, /, other: Tensor, rtol: builtins.float | builtins.int=1e-05, atol: builtins.float | builtins.int=1e-08, equal_nan: builtins.bool=False) -> Tensor:
        """
        Whether `|self - other| <= atol + rtol * |other|`, or both are NaN with `equal_nan`, or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isclose(unigrad.tensor([1.0, 3.0]))
        tensor([False, False])
        """

    def isfinite(self, /) -> Tensor:
        """
        Whether each element is neither infinite nor NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isfinite()
        tensor([True, True])
        """

    def isin(self, /, among: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether each element is among others: a tensor of any shape, or a number.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isin(unigrad.tensor([2.0]))
        tensor([False,  True])
        """

    def isin_with(self, /, among: Tensor | builtins.float | Buffer, invert: builtins.bool) -> Tensor:
        """
        `isin`, or with `invert` whether it is not.

        >>> import unigrad
        >>> unigrad.tensor([1, 2, 3]).isin_with(unigrad.tensor([2]), True)
        tensor([ True, False,  True])
        """

    def isinf(self, /) -> Tensor:
        """
        Whether each element is infinite.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isinf()
        tensor([False, False])
        """

    def isnan(self, /) -> Tensor:
        """
        Whether each element is NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).isnan()
        tensor([False, False])
        """

    def item(self, /) -> builtins.int | builtins.float | builtins.bool:
        """
        The value of a tensor of one element, as a number of Python.

        >>> import unigrad
        >>> unigrad.tensor(3.0).item()
        3.0
        """

    @property
    def itemsize(self, /) -> builtins.int:
        """
        Bytes of an element.

        >>> import unigrad
        >>> unigrad.ones(2, 3).itemsize
        4
        """

    def kl_div(self, /, target: Tensor, log_target: builtins.bool=False, reduction: builtins.str='mean') -> Tensor:
        """
        Kullback-Leibler divergence from log probabilities `self` to `target`: `t * (log t - x)`, 0 where `t` is 0, and there the gradient with
        respect to `t` is `-x` (PyTorch: NaN).

        With `log_target`, the target is log probabilities too. The mathematical mean is `Reduction::Sum` divided by the batch.

        >>> import unigrad
        >>> unigrad.tensor([-1.0, -0.5]).kl_div(unigrad.tensor([0.4, 0.6]))
        tensor(0.0135)
        """

    def kron(self, /, other: Tensor) -> Tensor:
        """
        The Kronecker product: every element of `self` times the whole of `other`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).kron(unigrad.tensor([1.0, 3.0]))
        tensor([0.5000, 1.5000, 2.0000, 6.0000])
        """

    def kthvalue(self, /, k: builtins.int, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> _Pair:
        """
        The `k`-th least element along `dim`, counted from 1, and where it is, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).kthvalue(1)]
        [0.5, 0]
        """

    def l1_loss(self, /, target: Tensor, *, reduction: builtins.str='mean') -> Tensor:
        """
        Mean (or sum) of absolute differences.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).l1_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.7500)
        """

    def layer_norm(self, /, weight: Tensor | None=None, bias: Tensor | None=None, eps: builtins.float | builtins.int=1e-05) -> Tensor:
        """
        `(x - mean) / sqrt(var + eps) * weight + bias` over the last axes, as many as `weight` (or `bias`) has; the last one without both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).layer_norm()
        tensor([-1.0000,  1.0000])
        """

    def layer_norm_over(self, /, shape: builtins.int | Sequence[builtins.int], weight: Tensor | None=None, bias: Tensor | None=None, eps: builtins.float | builtins.int=1e-05) -> Tensor:
        """
        `layer_norm` over the last axes, which have this shape; so have weight and bias, if they are given.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).layer_norm_over((2,))
        tensor([-1.0000,  1.0000])
        """

    @property
    def layout(self, /) -> Layout:
        """
        How it keeps its elements: `unigrad.strided`.

        >>> import unigrad
        >>> unigrad.ones(2).layout
        unigrad.strided
        """

    def lcm(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Least common multiple of integers, not negative; of 0 and anything it is 0.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).lcm(unigrad.tensor([1, 2]))
        tensor([ 3, 10])
        """

    def le(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether less or equal.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).le(2.0)
        tensor([True, True])
        """

    def leaky_relu(self, /, slope: builtins.float | builtins.int=0.01) -> Tensor:
        """
        `x` above 0, `slope * x` below.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).leaky_relu()
        tensor([3., 5.])
        """

    def lerp(self, /, end: Tensor, weight: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `self + weight * (end - self)`; exactly `end` where the weight is 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lerp(unigrad.tensor([4.0, 4.0]), unigrad.tensor([1.0, 2.0]))
        tensor([4., 6.])
        """

    def lgamma(self, /) -> Tensor:
        """
        Logarithm of the absolute value of the gamma function; infinite at 0 and the negative integers. Its gradient is
        `UnaryOp::Digamma`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lgamma()
        tensor([0.5724, 0.0000])
        """

    def linear(self, /, weight: Tensor, bias: Tensor | None=None) -> Tensor:
        """
        `x @ wᵀ + bias` with w `[out, in]` and bias `[out]`, as PyTorch's `linear`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).linear(unigrad.ones(2, 2))
        tensor([2.5000, 2.5000])
        """

    def local_response_norm(self, /, size: builtins.int, alpha: builtins.float | builtins.int=0.0001, beta: builtins.float | builtins.int=0.75, k: builtins.float | builtins.int=1.0) -> Tensor:
        """
        `x / (k + alpha * mean(x²))^beta` of `[n, c, ..]`, the mean over a window of `size` channels around each, of which those outside count
        as 0 (Krizhevsky et al., 2012).

        >>> import unigrad
        >>> unigrad.ones(1, 2, 4).local_response_norm(2).shape
        (1, 2, 4)
        """

    def log(self, /) -> Tensor:
        """
        Natural logarithm.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log()
        tensor([-0.6931,  0.6931])
        """

    def log10(self, /) -> Tensor:
        """
        Logarithm to base 10.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log10()
        tensor([-0.3010,  0.3010])
        """

    def log1p(self, /) -> Tensor:
        """
        `log(1 + x)`, exact near 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log1p()
        tensor([0.4055, 1.0986])
        """

    def log2(self, /) -> Tensor:
        """
        Logarithm to base 2.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log2()
        tensor([-1.,  1.])
        """

    def log_sigmoid(self, /) -> Tensor:
        """
        `log(sigmoid(x))`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log_sigmoid()
        tensor([-0.4741, -0.1269])
        """

    def log_softmax(self, /, dim: builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        `log(softmax(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself, or 256 u where that is more.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).log_softmax(dim=0)
        tensor([-1.7014, -0.2014])
        """

    def logaddexp(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `log(e^self + e^other)`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logaddexp(2.0)
        tensor([2.2014, 2.6931])
        """

    def logaddexp2(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `log2(2^self + 2^other)`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logaddexp2(2.0)
        tensor([2.4368, 3.0000])
        """

    def logcumsumexp(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        Logarithm of the running sum of exponentials along an axis, without overflow; [off by at most](crate::accuracy)
        4 i u · max(1, |yᵢ|) after i elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logcumsumexp(dim=0)
        tensor([0.5000, 2.2014])
        """

    def logical_and(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether both are true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_and(2.0)
        tensor([True, True])
        """

    def logical_not(self, /) -> Tensor:
        """
        Whether each element is 0 (`!` of its truth).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_not()
        tensor([False, False])
        """

    def logical_or(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether one or both are true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_or(2.0)
        tensor([True, True])
        """

    def logical_xor(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether one, but not both, is true (not 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logical_xor(2.0)
        tensor([False, False])
        """

    def logit(self, /, eps: builtins.float | builtins.int | None=None) -> Tensor:
        """
        `log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside of 0 to 1. With `eps`, `x` is limited to `eps..=1 - eps` first.

        >>> import unigrad
        >>> unigrad.tensor([0.25, 0.5]).logit()
        tensor([-1.0986,  0.0000])
        """

    def logsumexp(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        `log(sum(exp(x)))` over axes, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).logsumexp()
        tensor(2.2014)
        """

    def long(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `int64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).long()
        tensor([0, 2])
        """

    def lt(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether less.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).lt(2.0)
        tensor([ True, False])
        """

    @property
    def mT(self, /) -> Tensor:
        """
        The last two axes change places.

        >>> import unigrad
        >>> unigrad.tensor([[1, 2], [3, 4]]).mT.tolist()
        [[1, 3], [2, 4]]
        """

    def margin_ranking_loss(self, /, other: Tensor, target: Tensor, margin: builtins.float | builtins.int=0.0, reduction: builtins.str='mean') -> Tensor:
        """
        `max(0, margin - y (x - other))` with labels `y` of ±1: `self` should be ranked above `other` where `y` is 1, below where it is -1. They have
        as many axes each, and broadcast.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).margin_ranking_loss(unigrad.tensor([1.0, 3.0]), unigrad.tensor([1.0, 1.0]))
        tensor(0.7500)
        """

    def masked_fill(self, /, mask: Tensor, value: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Stops or scales nothing on the way forward; `value` where `mask` is true. The mask broadcasts. A number that the tensor's integer dtype does not hold
        is an error.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).masked_fill(unigrad.tensor([True, False]), 9.0)
        tensor([9., 2.])
        """

    def masked_scatter(self, /, mask: Tensor, source: Tensor) -> Tensor:
        """
        `self` with the elements of `source`, in row-major order, where `mask` is true; the two broadcast. Nothing is read: too few elements
        are an error when it runs.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).masked_scatter(unigrad.tensor([True, False]), unigrad.tensor([7.0]))
        tensor([7., 2.])
        """

    def masked_select(self, /, mask: Tensor) -> Tensor:
        """
        The elements where a mask is true, as one axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).masked_select(unigrad.tensor([True, False]))
        tensor([0.5000])
        """

    def matmul(self, /, other: Tensor) -> Tensor:
        """
        Matrix product `[.., m, k] @ [.., k, n]`; batch axes broadcast, a vector is a row on the left and a column on the right.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).matmul(unigrad.tensor([1.0, 3.0]))
        tensor(6.5000)
        """

    def max(self, /, dim: Any | None=None, keepdim: builtins.bool | None=None, *, axis: Any | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Any:
        """
        Without arguments the greatest element; along `dim` the greatest and where they are, `(values, indices)`; beside another tensor the greater of
        both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).max()
        tensor(2.)
        """

    def max_pool1d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
        """
        Greatest element of each window over 1 spatial axes; with `return_indices` also where it is.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 1).max_pool1d(2).shape[2:] == (2,) * 1
        True
        """

    def max_pool2d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
        """
        Greatest element of each window over 2 spatial axes; with `return_indices` also where it is.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 2).max_pool2d(2).shape[2:] == (2,) * 2
        True
        """

    def max_pool3d(self, /, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, dilation: builtins.int | Sequence[builtins.int] | None=None, ceil_mode: builtins.bool=False, return_indices: builtins.bool=False) -> Any:
        """
        Greatest element of each window over 3 spatial axes; with `return_indices` also where it is.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[4] * 3).max_pool3d(2).shape[2:] == (2,) * 3
        True
        """

    def max_unpool1d(self, /, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Puts values back where `max_pool1d` took them from; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[1] * 1).max_unpool1d(unigrad.zeros(1, 1, *[1] * 1, dtype=unigrad.int64), 2).numel() == 2 ** 1
        True
        """

    def max_unpool2d(self, /, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Puts values back where `max_pool2d` took them from; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[1] * 2).max_unpool2d(unigrad.zeros(1, 1, *[1] * 2, dtype=unigrad.int64), 2).numel() == 2 ** 2
        True
        """

    def max_unpool3d(self, /, indices: Tensor, kernel_size: builtins.int | Sequence[builtins.int], stride: builtins.int | Sequence[builtins.int] | None=None, padding: builtins.int | Sequence[builtins.int] | None=None, output_size: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Puts values back where `max_pool3d` took them from; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.ones(1, 1, *[1] * 3).max_unpool3d(unigrad.zeros(1, 1, *[1] * 3, dtype=unigrad.int64), 2).numel() == 2 ** 3
        True
        """

    def maximum(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The greater; NaN if either is. Where both are equal, each gets half of the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).maximum(2.0)
        tensor([2., 2.])
        """

    def mean(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        Mean over axes, or over all.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).mean()
        tensor(1.2500)
        """

    def median(self, /, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> Any:
        """
        Median of all elements, of none NaN; along `dim` the lower median and where it is, `(values, indices)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).median()
        tensor(0.5000)
        """

    def min(self, /, dim: Any | None=None, keepdim: builtins.bool | None=None, *, axis: Any | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Any:
        """
        Without arguments the least element; along `dim` the least and where they are, `(values, indices)`; beside another tensor the lesser of both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).min()
        tensor(0.5000)
        """

    def minimum(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The lesser; NaN if either is. Where both are equal, each gets half of the gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).minimum(unigrad.tensor([True, True]))
        tensor([0.5000, 1.0000])
        """

    def mish(self, /) -> Tensor:
        """
        `x * tanh(softplus(x))`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).mish()
        tensor([0.3752, 1.9440])
        """

    def mode(self, /, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> _Pair:
        """
        The most frequent value along `dim` (the least of equal ones), and where it is last, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).mode()]
        [0.5, 0]
        """

    def moveaxis(self, /, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Axes go elsewhere.

        >>> import unigrad
        >>> unigrad.ones(2, 3, 4).moveaxis(0, 2).shape
        (3, 4, 2)
        """

    def movedim(self, /, source: builtins.int | Sequence[builtins.int], destination: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Axes go elsewhere.

        >>> import unigrad
        >>> unigrad.ones(2, 3, 4).movedim(0, 2).shape
        (3, 4, 2)
        """

    def mse_loss(self, /, target: Tensor, *, reduction: builtins.str='mean') -> Tensor:
        """
        Mean (or sum) of squared differences.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).mse_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.6250)
        """

    def mul(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Product, element by element.

        >>> import unigrad
        >>> unigrad.tensor([1.0, 3.0]).mul(2.0)
        tensor([2., 6.])
        """

    def multi_margin_loss(self, /, target: Tensor, p: builtins.int=1, margin: builtins.float | builtins.int=1.0, weight: Tensor | None=None, reduction: builtins.str='mean') -> Tensor:
        """
        How far other classes come within `margin` of the right one, to the power `p` (1 or 2), over the number of classes: `[n, classes]` and `[n]`
        class indices, or `[classes]` and one. A weight per class multiplies what its examples lose.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).multi_margin_loss(unigrad.tensor([0, 1]))
        tensor(0.5000)
        """

    def multilabel_margin_loss(self, /, target: Tensor, reduction: builtins.str='mean') -> Tensor:
        """
        How far classes that are no targets come within 1 of those that are, over the number of classes: `[n, classes]`, and class indices of the same
        shape, of which those before the first -1 count; or one row of both.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).multilabel_margin_loss(unigrad.tensor([0, 1]))
        tensor(0.)
        """

    def multilabel_soft_margin_loss(self, /, target: Tensor, weight: Tensor | None=None, reduction: builtins.str='mean') -> Tensor:
        """
        Binary cross-entropy of logits with 0 or 1 for each class, mean over the classes (the last axis). A weight per class multiplies.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).multilabel_soft_margin_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.3005)
        """

    def nan_to_num(self, /, nan: builtins.float | builtins.int=0.0, posinf: builtins.float | builtins.int | None=None, neginf: builtins.float | builtins.int | None=None) -> Tensor:
        """
        NaN becomes `nan`, infinities become `posinf` and `neginf`, which are the greatest and least finite numbers of the dtype unless given.
        What is replaced gets no gradient.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nan_to_num()
        tensor([0.5000, 2.0000])
        """

    def nanmean(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        Mean over axes of what is not NaN; with `dtype` of elements of that type.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nanmean()
        tensor(1.2500)
        """

    def nanmedian(self, /, dim: builtins.int | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | None=None, keepdims: builtins.bool | None=None) -> Any:
        """
        As `median`, of what is not NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nanmedian()
        tensor(0.5000)
        """

    def nansum(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        Sum over axes in which NaN counts as 0; with `dtype` of elements of that type.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nansum()
        tensor(2.5000)
        """

    def narrow(self, /, dim: builtins.int, start: builtins.int, length: builtins.int) -> Tensor:
        """
        The elements from `start` on, `length` of them, along an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).narrow(0, 0, 1)
        tensor([0.5000])
        """

    @property
    def nbytes(self, /) -> builtins.int:
        """
        Bytes of all elements.

        >>> import unigrad
        >>> unigrad.ones(2, 3).nbytes
        24
        """

    @property
    def ndim(self, /) -> builtins.int:
        """
        The number of axes.

        >>> import unigrad
        >>> unigrad.ones(2, 3).ndim
        2
        """

    def ne(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Whether different.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).ne(2.0)
        tensor([ True, False])
        """

    def neg(self, /) -> Tensor:
        """
        `-x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).neg()
        tensor([-0.5000, -2.0000])
        """

    def nextafter(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        The next number of the dtype on the way to `other`. Its gradient is 1 with respect to `self` where the two differ, else 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nextafter(2.0)
        tensor([0.5000, 2.0000])
        """

    def nll_loss(self, /, target: Tensor, weight: Tensor | None=None, *, ignore_index: builtins.int=..., reduction: builtins.str='mean') -> Tensor:
        """
        Negative log-likelihood of log-probabilities.

        >>> import unigrad
        >>> unigrad.tensor([[-0.5, -1.0]]).nll_loss(unigrad.tensor([0]))
        tensor(0.5000)
        """

    def nonzero(self, /, *, as_tuple: builtins.bool=False) -> Any:
        """
        Where elements are not 0: a row of indices for each; with `as_tuple` a tensor for each axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nonzero().tolist()
        [[0], [1]]
        """

    def norm(self, /, p: Any | None=None, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None) -> Tensor:
        """
        The `p`-norm over axes, or over all: `(sum |x|^p)^(1/p)`; `p` may be infinite, or `"fro"`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).norm()
        tensor(2.0616)
        """

    def normalize(self, /, p: builtins.float | builtins.int=2.0, dim: builtins.int | None=None, eps: builtins.float | builtins.int=1e-12, *, axis: builtins.int | None=None) -> Tensor:
        """
        Divided by the `p`-norm along an axis, which counts as at least `eps`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).normalize(dim=0)
        tensor([0.2425, 0.9701])
        """

    def nrm2(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        The root of the sum of squares, as BLAS has it: where `norm` overflows or underflows on the way, it does not. Of zeros its gradient
        is 0. [Off by at most](crate::accuracy) 4 n u of itself for n elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).nrm2()
        tensor(2.0616)
        """

    def numel(self, /) -> builtins.int:
        """
        The number of elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).numel()
        2
        """

    def numpy(self, /) -> Any:
        """
        The values as an array of NumPy.

        >>> import unigrad
        >>> unigrad.ones(2, 3).numpy().shape
        (2, 3)
        """

    def one_hot(self, /, classes: builtins.int) -> Tensor:
        """
        1 at the class, 0 elsewhere, `I64`: `[.., classes]` of integers `[..]` in `0..classes`; others, negative ones too, are an error when it
        runs.

        >>> import unigrad
        >>> unigrad.tensor([0, 2]).one_hot(3).tolist()
        [[1, 0, 0], [0, 0, 1]]
        """

    def outer(self, /, other: Tensor) -> Tensor:
        """
        Every element of one vector times every element of the other: `[n, m]`.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).outer(unigrad.tensor([1, 2])).tolist()
        [[3, 6], [5, 10]]
        """

    def pad(self, /, pad: builtins.int | Sequence[builtins.int], mode: builtins.str='constant', value: builtins.float | builtins.int | None=None) -> Tensor:
        """
        Elements around, as PyTorch's `pad`: pairs of sizes from the last axis on, negative ones cut; `mode` is constant, reflect, replicate or
        circular.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).pad((1, 1))
        tensor([0.0000, 0.5000, 2.0000, 0.0000])
        """

    def paged_update(self, /, update: Tensor, page_table: Tensor, start: Tensor) -> Tensor:
        """
        A cache in pages, `[pages, page size, heads, features]`, with new rows (`update`, `[b, length, heads, features]`): row `i` of sequence `b`
        goes to position `start + i` of its keys, which is slot `position % page size` of the page that `page_table` (integers
        `[b, most pages]`) has at `[b, position / page size]`.

        `start` is an integer, or a vector with one for each sequence. A position beyond the table or a page that does not exist is an error
        when it runs. Of several rows for one slot the last one stays. An assignment (`cache.assign(&cache.paged_update(..))`) writes the rows in place;
        what reads the new cache in the same evaluation reads a copy, so evaluate the assignment first.

        >>> import unigrad
        >>> unigrad.zeros(2, 4, 1, 3).paged_update(unigrad.ones(1, 2, 1, 3), unigrad.tensor([[0, 1]]), unigrad.tensor([0])).shape
        (2, 4, 1, 3)
        """

    def pairwise_distance(self, /, other: Tensor, p: builtins.float | builtins.int=2.0, eps: builtins.float | builtins.int=1e-06) -> Tensor:
        """
        The `p`-norm of `self - other + eps` over the last axis; the two broadcast. Where it is 0, its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).pairwise_distance(unigrad.tensor([1.0, 3.0]))
        tensor(1.1180)
        """

    def permute(self, /, *dims: builtins.int | Sequence[builtins.int], **named: Any) -> Tensor:
        """
        Its axes in this order: one by one, as a sequence, or as `dims=`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).permute(0)
        tensor([0.5000, 2.0000])
        """

    def pixel_shuffle(self, /, r: builtins.int) -> Tensor:
        """
        Channels as pixels: `[.., c * r * r, h, w]` becomes `[.., c, h * r, w * r]`, so that `out[c, h r + i, w r + j]` is channel
        `(c r + i) r + j` (Shi et al., 2016).

        >>> import unigrad
        >>> unigrad.ones(1, 4, 2, 2).pixel_shuffle(2).shape
        (1, 1, 4, 4)
        """

    def pixel_unshuffle(self, /, r: builtins.int) -> Tensor:
        """
        Pixels as channels, the way back from `pixel_shuffle`: `[.., c, h * r, w * r]` becomes `[.., c * r * r, h, w]`.

        >>> import unigrad
        >>> unigrad.ones(1, 1, 4, 4).pixel_unshuffle(2).shape
        (1, 4, 2, 2)
        """

    def poisson_nll_loss(self, /, target: Tensor, log_input: builtins.bool=True, full: builtins.bool=False, eps: builtins.float | builtins.int=1e-08, reduction: builtins.str='mean') -> Tensor:
        """
        `e^x - target x` where `self` is the logarithm of a rate (`log_input`), else `x - target log(x + eps)`: the negative log likelihood of counts, without
        the term that only depends on them; `full` adds it as Stirling's formula has it, for targets above 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).poisson_nll_loss(unigrad.tensor([1.0, 1.0]))
        tensor(3.2689)
        """

    def pow(self, /, exponent: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Power. Small integers and ½ as a Rust number become multiplications and square roots; any other exponent is a run-time value.
        Integers to a negative whole number are an error: their powers are no integers.

        With respect to a tensor as exponent the gradient is 0 where the base is 0 and the exponent is not negative. Where an exponent is 0, the
        mixed second derivative is `1 / base` (PyTorch: 0).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).pow(2)
        tensor([0.2500, 4.0000])
        """

    def prelu(self, /, weight: Tensor) -> Tensor:
        """
        `x` above 0, `weight * x` below: one weight, or one for each channel (axis 1; of a vector, axis 0).

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).prelu(unigrad.tensor([1.0, 2.0]))
        tensor([3., 5.])
        """

    def prod(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        Product over axes, or over all. Of integers and bools it is `int64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).prod()
        tensor(1.)
        """

    def put(self, /, index: Tensor, values: Tensor, accumulate: builtins.bool=False) -> Tensor:
        """
        `self` with `values` at places by their row-major number, one for each; with `accumulate` they are added.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).put(unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7., 2.])
        """

    def quantize(self, /, format: builtins.str='q4_0') -> Quantized:
        """
        The values in a storage format, each rounded as the format has it: "q4_0" (ggml's blocks of 32 elements of 4 bits along the last axis), or a dtype's name.

        >>> import unigrad
        >>> unigrad.ones(4, 64).quantize("q4_0").nbytes
        144
        """

    def rad2deg(self, /) -> Tensor:
        """
        Radians as degrees.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rad2deg()
        tensor([ 28.6479, 114.5916])
        """

    def ravel(self, /) -> Tensor:
        """
        All elements as one axis.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).ravel()
        tensor([1., 2., 3., 4.])
        """

    def realize(self, /) -> Tensor:
        """
        Computes the value now. Returns the tensor itself.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).realize()
        tensor([0.5000, 2.0000])
        """

    def recip(self, /) -> Tensor:
        """
        `1 / x`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).recip()
        tensor([2.0000, 0.5000])
        """

    def register_hook(self, /, hook: Any) -> GradientHook:
        """
        From now on each pass calls `hook` with the gradient that arrives at this tensor, all of it, and goes on with what the hook gives; with `None` it goes
        on with the gradient as it is. Hooks are called in the order in which they came. Returns a `GradientHook`, whose `remove()` takes the hook away.

        >>> import unigrad
        >>> x = unigrad.ones(2, requires_grad=True)
        >>> hook = x.register_hook(lambda dy: dy.clamp(-1, 1))
        >>> (x * 3).sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
        """

    def relu(self, /) -> Tensor:
        """
        `max(x, 0)`; NaN stays NaN; the gradient at 0 is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 3.0]).relu()
        tensor([0., 3.])
        """

    def relu6(self, /) -> Tensor:
        """
        `min(max(x, 0), 6)`.

        >>> import unigrad
        >>> unigrad.tensor([True, False]).relu6()
        tensor([1, 0])
        """

    def rem(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Remainder with the divisor's sign, as Python's `%`; of integers by 0: 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rem(2.0)
        tensor([0.5000, 0.0000])
        """

    def repeat(self, /, *repeats: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Copies side by side along each axis, as PyTorch's `repeat`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).repeat(2)
        tensor([0.5000, 2.0000, 0.5000, 2.0000])
        """

    def repeat_interleave(self, /, repeats: Any, dim: builtins.int | None=None, *, output_size: builtins.int | None=None, axis: builtins.int | None=None) -> Tensor:
        """
        Each element several times, beside itself: as many times as `repeats` says, a number or one for each element. `output_size`, the length along `dim`
        that comes of it, is checked where it is given.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).repeat_interleave(2)
        tensor([0.5000, 0.5000, 2.0000, 2.0000])
        """

    @property
    def requires_grad(self, /) -> builtins.bool:
        """
        Whether a gradient may flow through it.

        >>> import unigrad
        >>> unigrad.ones(2, requires_grad=True).requires_grad
        True
        """

    @requires_grad.setter
    def requires_grad(self, /, requires_grad: builtins.bool) -> None:
        ...

    def requires_grad_(self, /, requires_grad: builtins.bool=True) -> Tensor:
        """
        From now on gradients arrive here; with `False` no more. Returns the tensor itself.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).requires_grad_()
        tensor([0.5000, 2.0000], requires_grad=True)
        """

    def reshape(self, /, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        The same elements in row-major order as another shape; one size may be -1.

        >>> import unigrad
        >>> unigrad.arange(6).reshape(2, -1).shape
        (2, 3)
        """

    def reshape_as(self, /, other: Tensor) -> Tensor:
        """
        The shape of another tensor.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).reshape_as(unigrad.tensor([1.0, 0.0, 2.0]))
        tensor([0., 1., 2.])
        """

    def retain_grad(self, /) -> None:
        """
        From now on backward passes leave this tensor's gradient in `grad`, as they do with leaves'.

        >>> import unigrad
        >>> y = unigrad.ones(2, requires_grad=True) * 3
        >>> y.retain_grad()
        >>> (y * y).sum().backward()
        >>> y.grad.tolist()
        [6.0, 6.0]
        """

    @property
    def retains_grad(self, /) -> builtins.bool:
        """
        Whether `retain_grad` was called, of a tensor that is no leaf.

        >>> import unigrad
        >>> (unigrad.ones(2, requires_grad=True) * 3).retains_grad
        False
        """

    def rms_norm(self, /, weight: Tensor | None=None, eps: builtins.float | builtins.int=1e-06) -> Tensor:
        """
        `x / sqrt(mean(x²) + eps) * weight` over the last axes, as many as `weight` has; the last one without.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rms_norm()
        tensor([0.3430, 1.3720])
        """

    def roll(self, /, shifts: builtins.int | Sequence[builtins.int], dims: builtins.int | Sequence[builtins.int] | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Elements move along an axis, those that fall off come in on the other side; without `dims`, of all elements as one axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).roll(1)
        tensor([2.0000, 0.5000])
        """

    def rope(self, /, cos: Tensor, sin: Tensor, layout: builtins.str) -> Tensor:
        """
        Rotates pairs of the last axis's features by angles: cos and sin are `[.., length, features / 2]` and broadcast (Su et al., 2021).

        >>> import unigrad
        >>> unigrad.ones(1, 1, 4, 8).rope(unigrad.ones(4, 4), unigrad.zeros(4, 4), 'half_split').shape
        (1, 1, 4, 8)
        """

    def rot90(self, /, k: builtins.int=1, dims: builtins.int | Sequence[builtins.int]=...) -> Tensor:
        """
        Turned by 90 degrees, `k` times, in the plane of two axes.

        >>> import unigrad
        >>> unigrad.tensor([[1, 2], [3, 4]]).rot90().tolist()
        [[2, 4], [1, 3]]
        """

    def round(self, /, *, decimals: builtins.int=0) -> Tensor:
        """
        Rounded to the nearest even integer, or to so many digits after the point.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).round()
        tensor([0., 2.])
        """

    def rpow(self, /, base: builtins.float | builtins.int) -> Tensor:
        """
        `base` to the power of each element.

        >>> import unigrad
        >>> unigrad.tensor([1.0, 3.0]).rpow(2.0)
        tensor([2., 8.])
        """

    def rsqrt(self, /) -> Tensor:
        """
        `1 / sqrt(x)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rsqrt()
        tensor([1.4142, 0.7071])
        """

    def rsub(self, /, other: Tensor | builtins.float | Buffer, *, alpha: Tensor | builtins.float=...) -> Tensor:
        """
        `other - alpha * x`, element by element.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).rsub(2.0)
        tensor([1.5000, 0.0000])
        """

    def scatter_add(self, /, dim: builtins.int, index: Tensor, src: Tensor) -> Tensor:
        """
        `self` with `src` added where `index` says.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).scatter_add(0, unigrad.tensor([0]), unigrad.tensor([7.0]))
        tensor([7.5000, 2.0000])
        """

    def scatter_reduce(self, /, dim: builtins.int, index: Tensor, src: Tensor, reduce: builtins.str | None=None, *, include_self: builtins.bool=True, mode: builtins.str | None=None) -> Tensor:
        """
        A copy in which the elements of `src` that `index` puts to one place along `dim` are reduced, with what is there if `include_self`: `reduce` is
        sum, prod, mean, amax or amin. Places that nothing goes to stay.

        Equal extremes share the gradient. Sums and products of half types are made in `float32`.

        >>> import unigrad
        >>> unigrad.zeros(3).scatter_reduce(0, unigrad.tensor([0, 0, 2]), unigrad.ones(3), "sum").tolist()
        [2.0, 0.0, 1.0]
        """

    def scatter_value(self, /, dim: builtins.int, index: Tensor, value: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `scatter` of one value: a number, or a tensor of rank 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).scatter_value(0, unigrad.tensor([0]), 9.0)
        tensor([9., 2.])
        """

    def searchsorted(self, /, values: Tensor | builtins.float | Buffer, right: builtins.bool=False, *, out_int32: builtins.bool=False, side: builtins.str | None=None, sorter: Tensor | None=None) -> Tensor:
        """
        Where `values` belong in a sorted tensor: before what is equal, or behind it with `right=True` (or `side="right"`). `sorter` are the indices
        that sort a tensor which is not; the result is `int64`, or `int32` with `out_int32`.

        The sequence is a vector `[n]`, and the values have any shape; or it has sorted rows `[.., n]`, and the values `[.., m]` as many.

        >>> import unigrad
        >>> unigrad.tensor([1, 3, 5]).searchsorted(unigrad.tensor([3, 4])).tolist()
        [1, 2]
        """

    def searchsorted_with(self, /, values: Tensor | builtins.float | Buffer, right: builtins.bool, sorter: Tensor) -> Tensor:
        """
        `searchsorted` in a tensor that is not sorted itself: `sorter`, integers of its shape, says which of its elements is where along the
        last axis, as `argsort` does.

        >>> import unigrad
        >>> unigrad.tensor([3.0, 1.0]).searchsorted_with(unigrad.tensor([2.0]), False, unigrad.tensor([1, 0]))
        tensor([1])
        """

    def select(self, /, dim: builtins.int, index: builtins.int) -> Tensor:
        """
        One element of an axis, which goes.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).select(0, unigrad.tensor([0]))
        tensor(0.5000)
        """

    def selu(self, /) -> Tensor:
        """
        `scale * elu(x)` with the constants that keep mean 0 and variance 1 (Klambauer et al., 2017).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).selu()
        tensor([0.5254, 2.1014])
        """

    @property
    def shape(self, /) -> builtins.tuple[builtins.int, ...]:
        """
        Sizes per axis, as a tuple.

        >>> import unigrad
        >>> unigrad.ones(2, 3).shape
        (2, 3)
        """

    def shl(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Shift to the left.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).shl(unigrad.tensor([1, 2]))
        tensor([ 6, 20])
        """

    def short(self, /, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        As `int16`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).short()
        tensor([0, 2], dtype=unigrad.int16)
        """

    def shr(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        Shift to the right; the sign stays.

        >>> import unigrad
        >>> unigrad.tensor([3, 5]).shr(unigrad.tensor([1, 2]))
        tensor([1, 1])
        """

    def sigmoid(self, /) -> Tensor:
        """
        `1 / (1 + e^-x)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sigmoid()
        tensor([0.6225, 0.8808])
        """

    def sign(self, /) -> Tensor:
        """
        -1, 0 or 1, and 0 of NaN, as in PyTorch; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([-2.0, 0.0, 3.0]).sign()
        tensor([-1.,  0.,  1.])
        """

    def signbit(self, /) -> Tensor:
        """
        Whether the sign is set, also of -0 and NaN.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).signbit()
        tensor([False, False])
        """

    def silu(self, /) -> Tensor:
        """
        `x * sigmoid(x)`, also known as swish; at -inf its limit 0 (PyTorch: NaN).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).silu()
        tensor([0.3112, 1.7616])
        """

    def sin(self, /) -> Tensor:
        """
        Sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sin()
        tensor([0.4794, 0.9093])
        """

    def sinc(self, /) -> Tensor:
        """
        `sin(πx) / (πx)`, 1 at 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sinc()
        tensor([6.3662e-01, 2.7828e-08])
        """

    def sinh(self, /) -> Tensor:
        """
        Hyperbolic sine.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sinh()
        tensor([0.5211, 3.6269])
        """

    def size(self, /, dim: builtins.int | None=None) -> Any:
        """
        Sizes per axis; of one axis with `dim`.
        """

    def smooth_l1_loss(self, /, target: Tensor, *, reduction: builtins.str='mean', beta: builtins.float | builtins.int=...) -> Tensor:
        """
        Squared where a difference is below `beta`, else absolute; Huber's loss divided by `beta`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).smooth_l1_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.3125)
        """

    def soft_margin_loss(self, /, target: Tensor, reduction: builtins.str='mean') -> Tensor:
        """
        `log(1 + e^(-y x))` with labels `y` of ±1, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).soft_margin_loss(unigrad.tensor([1.0, 1.0]))
        tensor(0.3005)
        """

    def softmax(self, /, dim: builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        `exp(x) / sum(exp(x))` along `dim`, of the tensor cast to `dtype` if there is one. Off by at most 256 u of itself.

        >>> import unigrad
        >>> unigrad.zeros(2, 4).softmax(dim=-1).tolist()[0]
        [0.25, 0.25, 0.25, 0.25]
        """

    def softmin(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        `softmax(-x)` along an axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).softmin(dim=0)
        tensor([0.8176, 0.1824])
        """

    def softplus(self, /) -> Tensor:
        """
        `log(1 + e^x)`, without overflow.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).softplus()
        tensor([0.9741, 2.1269])
        """

    def softplus_with(self, /, beta: builtins.float | builtins.int, threshold: builtins.float | builtins.int) -> Tensor:
        """
        `log(1 + e^(beta x)) / beta`, and `x` itself where `beta x` is above `threshold`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).softplus_with(1.0, 1.0)
        tensor([0.9741, 2.0000])
        """

    def softshrink(self, /, lambd: builtins.float | builtins.int=0.5) -> Tensor:
        """
        Toward 0 by `lambda`, and 0 within it. Of NaN the gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).softshrink()
        tensor([0.0000, 1.5000])
        """

    def softsign(self, /) -> Tensor:
        """
        `x / (1 + |x|)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).softsign()
        tensor([0.3333, 0.6667])
        """

    def sort(self, /, dim: builtins.int | None=None, descending: builtins.bool=False, *, stable: builtins.bool=True, axis: builtins.int | None=None) -> _Pair:
        """
        Sorted along `dim`, and where each element was, `(values, indices)`; equal elements keep their order.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).sort()]
        [[0.5, 2.0], [0, 1]]
        """

    def split(self, /, split_size: builtins.int | Sequence[builtins.int] | None=None, dim: builtins.int=0, *, axis: builtins.int | None=None, split_size_or_sections: builtins.int | Sequence[builtins.int] | None=None) -> builtins.tuple[Tensor, ...]:
        """
        Parts of a size, or of several sizes, along an axis; the size is PyTorch's `split_size_or_sections`, too.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.arange(5).split(2)]
        [[0, 1], [2, 3], [4]]
        """

    def sqrt(self, /) -> Tensor:
        """
        Square root.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sqrt()
        tensor([0.7071, 1.4142])
        """

    def square(self, /) -> Tensor:
        """
        `x * x`; of bools `I64`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).square()
        tensor([0.2500, 4.0000])
        """

    def squeeze(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, *, axis: builtins.int | Sequence[builtins.int] | None=None) -> Tensor:
        """
        Without axes of size 1: all of them, or those of `dim` that have it.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).squeeze()
        tensor([0., 1., 2.])
        """

    def std(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, unbiased: builtins.bool | None=None, keepdim: builtins.bool | None=None, *, correction: builtins.float | builtins.int | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, ddof: builtins.float | builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, out: Any | None=None) -> Tensor:
        """
        Standard deviation over axes, or over all; see `var`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).std()
        tensor(1.0607)
        """

    def sub(self, /, other: Tensor | builtins.float | Buffer, *, alpha: Tensor | builtins.float=...) -> Tensor:
        """
        `x - alpha * other`, element by element.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).sub(2.0)
        tensor([-1.5000,  0.0000])
        """

    def sum(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, keepdim: builtins.bool | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, out: Any | None=None) -> Tensor:
        """
        Sum over axes, or over all. Of integers and bools it is `int64`.

        >>> import unigrad
        >>> unigrad.ones(2, 3).sum(dim=1).tolist()
        [3.0, 3.0]
        """

    def swapaxes(self, /, axis0: builtins.int, axis1: builtins.int) -> Tensor:
        """
        Two axes change places.

        >>> import unigrad
        >>> unigrad.ones(2, 3).swapaxes(0, 1).shape
        (3, 2)
        """

    def t(self, /) -> Tensor:
        """
        Both axes of a matrix change places.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).t()
        tensor([0.5000, 2.0000])
        """

    def take(self, /, index: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        Elements by their numbers: of an axis with `axis` or `dim`, else of all in row-major order.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).take(unigrad.tensor([0]))
        tensor([0.5000])
        """

    def take_along(self, /, dim: builtins.int, index: Tensor) -> Tensor:
        """
        As `gather`, but sizes beside the axis broadcast (NumPy's `take_along_axis`).

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).take_along(0, unigrad.tensor([0]))
        tensor([0.5000])
        """

    def take_along_dim(self, /, indices: Tensor, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        Elements along an axis by their numbers, one for each element of `indices`; without an axis, of all elements.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).take_along_dim(unigrad.tensor([1, 0]))
        tensor([2.0000, 0.5000])
        """

    def tan(self, /) -> Tensor:
        """
        Tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tan()
        tensor([ 0.5463, -2.1850])
        """

    def tanh(self, /) -> Tensor:
        """
        Hyperbolic tangent.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tanh()
        tensor([0.4621, 0.9640])
        """

    def tanhshrink(self, /) -> Tensor:
        """
        `x - tanh(x)`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tanhshrink()
        tensor([0.0379, 1.0360])
        """

    def tensor_split(self, /, indices_or_sections: Tensor | builtins.int | Sequence[builtins.int] | None=None, dim: builtins.int=0, *, axis: builtins.int | None=None, indices: Tensor | builtins.int | Sequence[builtins.int] | None=None, sections: Tensor | builtins.int | Sequence[builtins.int] | None=None) -> builtins.tuple[Tensor, ...]:
        """
        Parts along an axis: so many, or cut at these places, which are numbers or a tensor of them.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.arange(5).tensor_split(2)]
        [[0, 1, 2], [3, 4]]
        """

    def threshold(self, /, threshold: Tensor | builtins.float | Buffer, value: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `x` above `threshold`, else `value`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).threshold(1.0, 9.0)
        tensor([9., 2.])
        """

    def tile(self, /, *repeats: builtins.int | Sequence[builtins.int], **named: Any) -> Tensor:
        """
        Copies side by side along each axis, as NumPy's `tile`: as many as the numbers say, or `dims=`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).tile(2)
        tensor([0.5000, 2.0000, 0.5000, 2.0000])
        """

    def to(self, /, *args: Any, device: Device | builtins.str | None=None, dtype: DType | builtins.str | builtins.type | None=None, non_blocking: builtins.bool=False, copy: builtins.bool=False, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """
        On another device, or as another dtype, or both: `x.to("cuda")`, `x.to(unigrad.float16)`, `x.to("cuda", unigrad.float16)`, `x.to(other)`.

        >>> import unigrad
        >>> unigrad.tensor([1.5, 2.5]).to(unigrad.int32)
        tensor([1, 2], dtype=unigrad.int32)
        """

    def tobytes(self, /) -> builtins.bytes:
        """
        The bytes of the elements in row-major order.

        >>> import unigrad
        >>> unigrad.tensor([1, 2], dtype=unigrad.uint8).tobytes()
        b'\\x01\\x02'
        """

    def tolist(self, /) -> Any:
        """
        The values as nested lists of Python's numbers; of a tensor without axes the number.

        >>> import unigrad
        >>> unigrad.tensor(3.0).tolist()
        3.0
        """

    def topk(self, /, k: builtins.int, dim: builtins.int | None=None, largest: builtins.bool=True, sorted: builtins.bool=True, *, axis: builtins.int | None=None) -> _Pair:
        """
        The `k` greatest (or least) along `dim`, sorted, and where they are, `(values, indices)`.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).topk(1)]
        [[2.0], [1]]
        """

    def trace(self, /) -> Tensor:
        """
        Sum of the main diagonal of a matrix.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).trace()
        tensor(5.)
        """

    def transpose(self, /, *dims: builtins.int | Sequence[builtins.int], dim0: builtins.int | None=None, dim1: builtins.int | None=None) -> Tensor:
        """
        Two axes change places, as PyTorch's; with no or several other arguments all axes are arranged anew, as NumPy's.

        >>> import unigrad
        >>> unigrad.ones(2, 3).transpose(0, 1).shape
        (3, 2)
        """

    def trigamma(self, /) -> Tensor:
        """
        Second derivative of `UnaryOp::LGamma`; infinite at 0 and the negative integers.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).trigamma()
        tensor([4.9348, 0.6449])
        """

    def tril(self, /, diagonal: builtins.int=0, *, k: builtins.int | None=None) -> Tensor:
        """
        What is below a diagonal, and on it; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).tril()
        tensor([[0., 0., 0.]])
        """

    def triplet_margin_loss(self, /, positive: Tensor, negative: Tensor, *, margin: builtins.float | builtins.int | None=None, p: builtins.float | builtins.int | None=None, eps: builtins.float | builtins.int | None=None, swap: builtins.bool | None=None, reduction: builtins.str | None=None) -> Tensor:
        """
        `max(0, margin - d(x, positive) - d(x, negative))` over the last axis: the anchor `self` should be nearer to the positive than to the negative
        by the margin.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).triplet_margin_loss(unigrad.tensor([0.5, 1.0]), unigrad.tensor([3.0, 3.0]))
        tensor(0.)
        """

    def triu(self, /, diagonal: builtins.int=0, *, k: builtins.int | None=None) -> Tensor:
        """
        What is above a diagonal, and on it; zeros elsewhere.

        >>> import unigrad
        >>> unigrad.tensor([[0.0, 1.0, 2.0]]).triu()
        tensor([[0., 1., 2.]])
        """

    def trunc(self, /) -> Tensor:
        """
        Toward zero; its gradient is 0.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).trunc()
        tensor([0., 2.])
        """

    def unbind(self, /, dim: builtins.int=0, *, axis: builtins.int | None=None) -> builtins.tuple[Any, ...]:
        """
        The parts of size 1 along an axis, without it.

        >>> import unigrad
        >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).unbind()]
        [0.5, 2.0]
        """

    def unflatten(self, /, dim: builtins.int, sizes: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        One axis as several.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).unflatten(0, (2,))
        tensor([0.5000, 2.0000])
        """

    def unfold(self, /, dimension: builtins.int, size: builtins.int, step: builtins.int) -> Tensor:
        """
        Windows of `size` elements, `step` apart, along an axis: a new last axis.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).unfold(0, 2, 1)
        tensor([[0.5000, 2.0000]])
        """

    def unique(self, /, sorted: builtins.bool=True, return_inverse: builtins.bool=False, return_counts: builtins.bool=False, dim: builtins.int | None=None) -> Any:
        """
        The different values, sorted; along `dim` the different slices, ordered by their elements. With `return_inverse` and `return_counts` also which of
        them each is, and how often each occurs.

        >>> import unigrad
        >>> unigrad.tensor([[2, 1], [1, 9], [2, 1]]).unique(dim=0).tolist()
        [[1, 9], [2, 1]]
        """

    def unique_consecutive(self, /, return_inverse: builtins.bool=False, return_counts: builtins.bool=False, dim: builtins.int | None=None) -> Any:
        """
        The first of each run of equal elements, or along `dim` of equal slices. With `return_inverse` and `return_counts` also which run each is in, and
        how long each is.

        >>> import unigrad
        >>> unigrad.tensor([1, 1, 2, 1]).unique_consecutive(return_counts=True)[1].tolist()
        [2, 1, 1]
        """

    def unsqueeze(self, /, dim: builtins.int | None=None, *, axis: builtins.int | None=None) -> Tensor:
        """
        A new axis of size 1.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).unsqueeze(dim=0)
        tensor([[0.5000, 2.0000]])
        """

    def var(self, /, dim: builtins.int | Sequence[builtins.int] | None=None, unbiased: builtins.bool | None=None, keepdim: builtins.bool | None=None, *, correction: builtins.float | builtins.int | None=None, axis: builtins.int | Sequence[builtins.int] | None=None, keepdims: builtins.bool | None=None, ddof: builtins.float | builtins.int | None=None, dtype: DType | builtins.str | builtins.type | None=None, out: Any | None=None) -> Tensor:
        """
        Variance over axes, or over all, divided by the number of elements less `correction`.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).var()
        tensor(1.1250)
        """

    def view(self, /, *shape: builtins.int | Sequence[builtins.int]) -> Tensor:
        """
        Another name for `reshape`; of a dtype: the same bits as that dtype.

        >>> import unigrad
        >>> unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).view((4,))
        tensor([1., 2., 3., 4.])
        """

    def where_(self, /, yes: Tensor | builtins.float | Buffer, no: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `yes` where `self` is true, else `no`: element by element, all three broadcast. `self` is `Bool` (or is cast to it).

        >>> import unigrad
        >>> unigrad.tensor([True, False]).where_(1.0, 2.0)
        tensor([1., 2.])
        """

    def with_gradient_hook(self, /, hook: Any) -> Tensor:
        """
        The same tensor, whose gradient passes through `hook` on its way back: to look at it, scale it or clip it. A hook that gives `None` leaves it.

        >>> import unigrad
        >>> x = unigrad.ones(2, requires_grad=True)
        >>> (x.with_gradient_hook(lambda dy: dy.clamp(-1, 1)) * 3).sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
        """

    def xlog1py(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `self * log(1 + other)`, and 0 where `self` is 0, whatever the logarithm.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).xlog1py(2.0)
        tensor([0.5493, 2.1972])
        """

    def xlogy(self, /, other: Tensor | builtins.float | Buffer) -> Tensor:
        """
        `self * log(other)`, and 0 where `self` is 0, whatever the logarithm.

        >>> import unigrad
        >>> unigrad.tensor([0.5, 2.0]).xlogy(2.0)
        tensor([0.3466, 1.3863])
        """

    def to_device(self, device: Device | builtins.str, /, *, stream: builtins.int | None=None) -> Tensor:
        """The array on another device."""

    def __array_namespace__(self, /, *, api_version: builtins.str | None=None) -> Any:
        """The namespace of the array API standard: `unigrad.array_api`."""

    def __complex__(self, /) -> builtins.complex:
        """The value of a tensor with one element."""

    def abs_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``abs`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 2.0]).abs_()
    tensor([1., 2.])"""
        ...

    def absolute_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``absolute`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 2.0]).absolute_()
    tensor([1., 2.])"""
        ...

    def acos_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``acos`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 1.0]).acos_()
    tensor([1.0472, 0.0000])"""
        ...

    def acosh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``acosh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.0, 2.0]).acosh_()
    tensor([0.0000, 1.3170])"""
        ...

    def add_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``add`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).add_(0)
    tensor([0.5000, 2.0000])"""
        ...

    def addbmm(self, batch1: Any, batch2: Any, *, beta: builtins.int=1, alpha: builtins.int=1) -> Tensor:
        """``beta x + alpha`` times the sum of the products of two batches of matrices.

    >>> import unigrad
    >>> unigrad.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).addbmm(unigrad.ones(2, 2, 1), unigrad.ones(2, 1, 3)).shape
    (2, 3)"""
        ...

    def addbmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addbmm`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(1, 2).addbmm_(unigrad.ones(2, 1, 3), unigrad.ones(2, 3, 2))
    tensor([[6., 6.]])"""
        ...

    def addcdiv_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addcdiv`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(2).addcdiv_(unigrad.ones(2), unigrad.tensor([2.0, 4.0]))
    tensor([1.5000, 1.2500])"""
        ...

    def addcmul_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addcmul`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(2).addcmul_(unigrad.ones(2), unigrad.tensor([2.0, 4.0]))
    tensor([3., 5.])"""
        ...

    def addmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addmm`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(1, 2).addmm_(unigrad.ones(1, 3), unigrad.ones(3, 2))
    tensor([[3., 3.]])"""
        ...

    def addmv_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addmv`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).addmv_(unigrad.ones(2, 3), unigrad.ones(3))
    tensor([3., 3.])"""
        ...

    def addr_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``addr`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(1, 2).addr_(unigrad.ones(1), unigrad.ones(2))
    tensor([[1., 1.]])"""
        ...

    def allclose(self, other: Any, rtol: builtins.float=1e-05, atol: builtins.float=1e-08, equal_nan: builtins.bool=False) -> builtins.bool:
        """Whether all elements are within tolerances of another tensor's.

    >>> import unigrad
    >>> unigrad.ones(2).allclose(unigrad.ones(2) + 1e-9)
    True"""
        ...

    def angle(self) -> Tensor:
        """0 of what is not negative, pi of what is; NaN of NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).angle()
    tensor([0., 0.])"""
        ...

    def argwhere(self) -> Tensor:
        """The indices of what is not 0: ``[n, ndim]``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).argwhere().tolist()
    [[0], [1]]"""
        ...

    def asin_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``asin`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 1.0]).asin_()
    tensor([0.0000, 1.5708])"""
        ...

    def asinh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``asinh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).asinh_()
    tensor([0.4812, 1.4436])"""
        ...

    def atan2_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``atan2`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).atan2_(unigrad.tensor([1.0, 2.0]))
    tensor([0.4636, 0.7854])"""
        ...

    def atan_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``atan`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).atan_()
    tensor([0.4636, 1.1071])"""
        ...

    def atanh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``atanh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 0.5]).atanh_()
    tensor([0.0000, 0.5493])"""
        ...

    def baddbmm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``baddbmm`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(1, 1, 2).baddbmm_(unigrad.ones(1, 1, 3), unigrad.ones(1, 3, 2))
    tensor([[[3., 3.]]])"""
        ...

    def bernoulli(self, p: Any=None, *, generator: Any=None) -> Tensor:
        """0 or 1, 1 with the probability that each element is, or with the probability ``p``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 1.0]).bernoulli()
    tensor([0., 1.])"""
        ...

    def bernoulli_(self, p: builtins.float=0.5, *, generator: Any=None) -> Tensor:
        """1 with the probability ``p``, a number or a tensor that broadcasts, else 0, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).bernoulli_(1.0)
    tensor([1., 1.])"""
        ...

    def bitwise_and_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_and`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_and_(6)
    tensor([2, 4])"""
        ...

    def bitwise_left_shift_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_left_shift`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_left_shift_(1)
    tensor([ 6, 10])"""
        ...

    def bitwise_not_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_not`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_not_()
    tensor([-4, -6])"""
        ...

    def bitwise_or_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_or`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_or_(6)
    tensor([7, 7])"""
        ...

    def bitwise_right_shift_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_right_shift`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_right_shift_(1)
    tensor([1, 2])"""
        ...

    def bitwise_xor_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``bitwise_xor`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).bitwise_xor_(6)
    tensor([5, 3])"""
        ...

    def bmm(self, *args: Any, **kwargs: Any) -> Tensor:
        """The matrix product of batches of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 1, 3).bmm(unigrad.ones(2, 3, 4)).shape
    (2, 1, 4)"""
        ...

    def cauchy_(self, median: builtins.float=0.0, sigma: builtins.float=1.0, *, generator: Any=None) -> Tensor:
        """Numbers of Cauchy's distribution, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).cauchy_().shape
    (2,)"""
        ...

    def ceil_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``ceil`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5]).ceil_()
    tensor([1.])"""
        ...

    def clamp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``clamp`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 0.5]).clamp_(0)
    tensor([0.0000, 0.5000])"""
        ...

    def clamp_max(self, max: Any) -> Tensor:
        """At most this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_max(1.0)
    tensor([0.5000, 1.0000])"""
        ...

    def clamp_max_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``clamp_max`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_max_(0)
    tensor([0., 0.])"""
        ...

    def clamp_min(self, min: Any) -> Tensor:
        """At least this.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).clamp_min(1.0)
    tensor([1., 2.])"""
        ...

    def clamp_min_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``clamp_min`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 0.0, 2.0]).clamp_min_(0)
    tensor([0., 0., 2.])"""
        ...

    def clip_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``clip`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 0.5]).clip_(0)
    tensor([0.0000, 0.5000])"""
        ...

    def combinations(self, r: builtins.int=2, with_replacement: builtins.bool=False) -> Tensor:
        """All choices of ``r`` elements of a vector, in its order, as rows.

    >>> import unigrad
    >>> unigrad.tensor([1, 2, 3]).combinations().tolist()
    [[1, 2], [1, 3], [2, 3]]"""
        ...

    def contiguous(self, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """The tensor itself: a tensor is a value, whose elements are in order wherever it is read.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).contiguous()
    tensor([0.5000, 2.0000])"""
        ...

    def copysign_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``copysign`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).copysign_(2.0)
    tensor([0.5000, 2.0000])"""
        ...

    def cos_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``cos`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).cos_()
    tensor([1.])"""
        ...

    def cosh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``cosh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).cosh_()
    tensor([1.1276, 3.7622])"""
        ...

    def cumprod_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``cumprod`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).cumprod_(0)
    tensor([0.5000, 1.0000])"""
        ...

    def cumsum_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``cumsum`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).cumsum_(0)
    tensor([0.5000, 2.5000])"""
        ...

    def cumulative_trapezoid(self, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
        """Integrals up to each point by the trapezoidal rule.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0, 4.0]).cumulative_trapezoid()
    tensor([1.2500, 4.2500])"""
        ...

    def deg2rad_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``deg2rad`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).deg2rad_()
    tensor([0.0087, 0.0349])"""
        ...

    def detach_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``detach`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).detach_()
    tensor([0.5000, 2.0000])"""
        ...

    def diagonal_scatter(self, src: Tensor, offset: builtins.int=0, dim1: builtins.int=0, dim2: builtins.int=1) -> Tensor:
        """A copy with ``src`` as its diagonal.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).diagonal_scatter(unigrad.tensor([7.0]))
    tensor([[7., 1., 2.]])"""
        ...

    def digamma_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``digamma`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).digamma_()
    tensor([-1.9635,  0.4228])"""
        ...

    def dist(self, other: Any, p: builtins.float=2.0) -> Tensor:
        """The norm of the difference.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).dist(unigrad.tensor([1.0, 3.0]))
    tensor(1.1180)"""
        ...

    def div_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``div`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.0, 3.0]).div_(2.0)
    tensor([0.5000, 1.5000])"""
        ...

    def divide_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``divide`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).divide_(2.0)
    tensor([0.2500, 1.0000])"""
        ...

    def dsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """``tensor_split`` along the axis that ``dsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.ones(1, 2, 4).dsplit(2)]
    [[[[1.0, 1.0], [1.0, 1.0]]], [[[1.0, 1.0], [1.0, 1.0]]]]"""
        ...

    def element_size(self) -> builtins.int:
        """The bytes of an element.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).element_size()
    4"""
        ...

    def eq_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``eq`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).eq_(2.0)
    tensor([0., 1.])"""
        ...

    def equal(self, other: Any) -> builtins.bool:
        """Whether another tensor has the same shape and the same elements.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).equal(unigrad.tensor([1.0, 3.0]))
    False"""
        ...

    def erf_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``erf`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).erf_()
    tensor([0.])"""
        ...

    def erfc_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``erfc`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).erfc_()
    tensor([0.4795, 0.0047])"""
        ...

    def erfinv_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``erfinv`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 0.5]).erfinv_()
    tensor([0.0000, 0.4769])"""
        ...

    def exp2_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``exp2`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).exp2_()
    tensor([1.4142, 4.0000])"""
        ...

    def exp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``exp`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).exp_()
    tensor([1.])"""
        ...

    def expm1_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``expm1`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).expm1_()
    tensor([0.6487, 6.3891])"""
        ...

    def exponential_(self, lambd: builtins.float=1.0, *, generator: Any=None) -> Tensor:
        """Numbers of the exponential distribution with this rate, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).exponential_().shape
    (2,)"""
        ...

    def fill_(self, value: builtins.float) -> Tensor:
        """One value everywhere, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).fill_(9.0)
    tensor([9., 9.])"""
        ...

    def fill_diagonal_(self, fill_value: Any, wrap: builtins.bool=False) -> Tensor:
        """One value on the diagonal, of a matrix or of more axes that are equally long, for all holders of this tensor. With ``wrap`` the diagonal of a tall
    matrix begins again below its end.

    >>> import unigrad
    >>> unigrad.zeros(2, 2).fill_diagonal_(3.0).tolist()
    [[3.0, 0.0], [0.0, 3.0]]"""
        ...

    def fliplr(self) -> Tensor:
        """Reversed along the second axis.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).fliplr()
    tensor([[2., 1., 0.]])"""
        ...

    def flipud(self) -> Tensor:
        """Reversed along the first axis.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).flipud()
    tensor([2.0000, 0.5000])"""
        ...

    def float_power_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``float_power`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).float_power_(2.0)
    tensor([0.2500, 4.0000])"""
        ...

    def floor_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``floor`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.5]).floor_()
    tensor([1.])"""
        ...

    def floor_divide_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``floor_divide`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).floor_divide_(0)
    tensor([0, 0])"""
        ...

    def fmod_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``fmod`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).fmod_(2.0)
    tensor([0.5000, 0.0000])"""
        ...

    def frac_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``frac`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).frac_()
    tensor([0.5000, 0.0000])"""
        ...

    def gather(self, dim: Any, index: Any) -> Tensor:
        """``y[i][j] = x[index[i][j]][j]`` along ``dim`` 0, and so on: of the index's shape, which along other dims may be smaller.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).gather(1, unigrad.tensor([[0, 0], [1, 0]])).tolist()
    [[1, 1], [4, 3]]"""
        ...

    def gcd_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``gcd`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).gcd_(6)
    tensor([3, 1])"""
        ...

    def ge_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``ge`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ge_(2.0)
    tensor([0., 1.])"""
        ...

    def geometric_(self, p: Any, *, generator: Any=None) -> Tensor:
        """How many trials of probability ``p`` there are until one succeeds, that one among them, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).geometric_(1.0)
    tensor([1., 1.])"""
        ...

    def gradient(self, *, spacing: Any=None, dim: Any=None, edge_order: builtins.int=1) -> Tensor:
        """Derivatives of what is sampled on a grid, by differences of second order inside and of ``edge_order`` at the ends: one for each axis.

    ``spacing`` is the distance of samples, 1 without, or for each axis a distance or a vector of places.

    >>> import unigrad
    >>> unigrad.gradient(unigrad.tensor([0.0, 1.0, 4.0, 9.0]))[0].tolist()
    [1.0, 2.0, 4.0, 5.0]"""
        ...

    def greater_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``greater`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).greater_(2.0)
    tensor([0., 0.])"""
        ...

    def greater_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``greater_equal`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).greater_equal_(2.0)
    tensor([0., 1.])"""
        ...

    def gt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``gt`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).gt_(2.0)
    tensor([0., 0.])"""
        ...

    def heaviside_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``heaviside`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).heaviside_(unigrad.tensor([1.0, 2.0]))
    tensor([1., 1.])"""
        ...

    def hsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """``tensor_split`` along the axis that ``hsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).hsplit(2)]
    [[0.5], [2.0]]"""
        ...

    def hypot_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``hypot`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).hypot_(unigrad.tensor([1.0, 2.0]))
    tensor([1.1180, 2.8284])"""
        ...

    def index_add_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``index_add`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).index_add_(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def index_copy_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``index_copy`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).index_copy_(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def index_fill_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``index_fill`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).index_fill_(0, unigrad.tensor([2]), 5.0)
    tensor([0., 0., 5.])"""
        ...

    def index_put_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``index_put`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).index_put_((unigrad.tensor([2]),), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def index_reduce_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``index_reduce`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(3).index_reduce_(0, unigrad.tensor([2]), unigrad.tensor([5.0]), 'prod')
    tensor([1., 1., 5.])"""
        ...

    def is_complex(self) -> builtins.bool:
        """Whether the dtype is one of complex numbers: none is.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_complex()
    False"""
        ...

    def is_contiguous(self, memory_format: MemoryFormat | builtins.str | None=None) -> builtins.bool:
        """True: a tensor is a value, whose elements are in order wherever it is read.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_contiguous()
    True"""
        ...

    def is_floating_point(self) -> builtins.bool:
        """Whether the dtype is one of floats.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).is_floating_point()
    True"""
        ...

    def is_nonzero(self) -> builtins.bool:
        """Whether the only element is not 0; a read.

    >>> import unigrad
    >>> unigrad.tensor([0.5]).is_nonzero()
    True"""
        ...

    def is_same_size(self, other: Any) -> builtins.bool:
        """Whether both have the same shape.

    >>> import unigrad
    >>> unigrad.ones(2).is_same_size(unigrad.zeros(2))
    True"""
        ...

    def isneginf(self) -> Tensor:
        """Whether each element is negative infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isneginf()
    tensor([False, False])"""
        ...

    def isposinf(self) -> Tensor:
        """Whether each element is positive infinity.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isposinf()
    tensor([False, False])"""
        ...

    def isreal(self) -> Tensor:
        """Whether each element is a real number: there are no others here.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).isreal()
    tensor([True, True])"""
        ...

    def lcm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``lcm`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).lcm_(6)
    tensor([ 6, 30])"""
        ...

    def ldexp(self, other: Any) -> Tensor:
        """``x * 2**other``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ldexp(unigrad.tensor([1.0, 3.0]))
    tensor([ 1., 16.])"""
        ...

    def ldexp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``ldexp`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ldexp_(unigrad.tensor([1.0, 2.0]))
    tensor([1., 8.])"""
        ...

    def le_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``le`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).le_(2.0)
    tensor([1., 1.])"""
        ...

    def lerp_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``lerp`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).lerp_(unigrad.ones(2), 0.25)
    tensor([0.2500, 0.2500])"""
        ...

    def less_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``less`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).less_(2.0)
    tensor([1., 0.])"""
        ...

    def less_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``less_equal`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).less_equal_(2.0)
    tensor([1., 1.])"""
        ...

    def lgamma_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``lgamma`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).lgamma_()
    tensor([0.5724, 0.0000])"""
        ...

    def log10_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``log10`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).log10_()
    tensor([-0.3010,  0.3010])"""
        ...

    def log1p_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``log1p`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).log1p_()
    tensor([0.4055, 1.0986])"""
        ...

    def log2_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``log2`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).log2_()
    tensor([-1.,  1.])"""
        ...

    def log_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``log`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.0]).log_()
    tensor([0.])"""
        ...

    def log_normal_(self, mean: builtins.float=1.0, std: builtins.float=2.0, *, generator: Any=None) -> Tensor:
        """Numbers whose logarithms are normally distributed with this mean and deviation, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).log_normal_().shape
    (2,)"""
        ...

    def logical_and_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``logical_and`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).logical_and_(2.0)
    tensor([1., 1.])"""
        ...

    def logical_not_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``logical_not`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([True, False]).logical_not_()
    tensor([False,  True])"""
        ...

    def logical_or_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``logical_or`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).logical_or_(2.0)
    tensor([1., 1.])"""
        ...

    def logical_xor_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``logical_xor`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).logical_xor_(2.0)
    tensor([0., 0.])"""
        ...

    def logit_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``logit`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 0.25]).logit_()
    tensor([ 0.0000, -1.0986])"""
        ...

    def lt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``lt`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).lt_(2.0)
    tensor([1., 0.])"""
        ...

    def masked_fill_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``masked_fill`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(2).masked_fill_(unigrad.tensor([True, False]), 9.0)
    tensor([9., 1.])"""
        ...

    def masked_scatter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``masked_scatter`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).masked_scatter_(unigrad.tensor([True, False, True]), unigrad.tensor([5.0, 6.0]))
    tensor([5., 0., 6.])"""
        ...

    def mm(self, *args: Any, **kwargs: Any) -> Tensor:
        """The matrix product of matrices.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mm(unigrad.ones(3, 4)).shape
    (2, 4)"""
        ...

    def msort(self) -> Tensor:
        """Sorted along the first axis.

    >>> import unigrad
    >>> unigrad.tensor([True, False]).msort()
    tensor([False,  True])"""
        ...

    def mul_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``mul`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.0, 3.0]).mul_(2.0)
    tensor([2., 6.])"""
        ...

    def multinomial(self, num_samples: builtins.int, replacement: builtins.bool=False, *, generator: Any=None) -> Tensor:
        """Indices along the last axis, drawn by weights: ``[.., num_samples]``; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 3.0, 0.0]).multinomial(2, replacement=True).tolist()
    [1, 1]"""
        ...

    def multiply_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``multiply`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).multiply_(2.0)
    tensor([1., 4.])"""
        ...

    def mv(self, *args: Any, **kwargs: Any) -> Tensor:
        """The matrix product of a matrix and a vector.

    >>> import unigrad
    >>> unigrad.ones(2, 3).mv(unigrad.ones(3))
    tensor([3., 3.])"""
        ...

    def nan_to_num_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``nan_to_num`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([float('nan'), 2.0]).nan_to_num_()
    tensor([0., 2.])"""
        ...

    def nanquantile(self, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
        """As `quantile`, of what is not NaN.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).nanquantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
        ...

    def ndimension(self) -> builtins.int:
        """The number of axes.

    >>> import unigrad
    >>> unigrad.ones(2, 3).ndimension()
    2"""
        ...

    def ne_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``ne`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).ne_(2.0)
    tensor([1., 0.])"""
        ...

    def neg_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``neg`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.0]).neg_()
    tensor([-1.])"""
        ...

    def negative_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``negative`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 2.0]).negative_()
    tensor([ 1., -2.])"""
        ...

    def nelement(self) -> builtins.int:
        """The number of elements.

    >>> import unigrad
    >>> unigrad.ones(2, 3).nelement()
    6"""
        ...

    def new_empty(self, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
        """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_empty((2, 2)).shape
    (2, 2)"""
        ...

    def new_full(self, size: builtins.int | Sequence[builtins.int], fill_value: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
        """A tensor of this size with one value; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_full((3,), 7.0)
    tensor([7., 7., 7.])"""
        ...

    def new_ones(self, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
        """A tensor of this size, filled with 1; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_ones(2)
    tensor([1., 1.])"""
        ...

    def new_tensor(self, data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, pin_memory: builtins.bool=False) -> Tensor:
        """A tensor of data; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.ones(2).new_tensor([1.0, 2.0])
    tensor([1., 2.])"""
        ...

    def new_zeros(self, *size: Any, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False, layout: Layout | builtins.str | None=None, pin_memory: builtins.bool=False) -> Tensor:
        """A tensor of this size, filled with 0; of the same dtype and device unless they are given.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).new_zeros(2)
    tensor([0., 0.])"""
        ...

    def nextafter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``nextafter`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).nextafter_(2.0)
    tensor([0.5000, 2.0000])"""
        ...

    def normal_(self, mean: builtins.float=0.0, std: builtins.float=1.0, *, generator: Any=None) -> Tensor:
        """Normally distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).normal_().shape
    (2,)"""
        ...

    def not_equal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``not_equal`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).not_equal_(2.0)
    tensor([1., 0.])"""
        ...

    def pin_memory(self, device: Device | builtins.str | None=None) -> Tensor:
        """The tensor itself: memory is pinned where a copy needs it.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).pin_memory()
    tensor([0.5000, 2.0000])"""
        ...

    def positive(self) -> Tensor:
        """The tensor itself.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).positive()
    tensor([0.5000, 2.0000])"""
        ...

    def pow_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``pow`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).pow_(0)
    tensor([1., 1.])"""
        ...

    def put_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``put`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).put_(unigrad.tensor([1]), unigrad.tensor([2.0]))
    tensor([0., 2., 0.])"""
        ...

    def quantile(self, q: Any, dim: Any=None, keepdim: builtins.bool=False, *, interpolation: builtins.str='linear', axis: Any=None, keepdims: Any=None) -> Tensor:
        """The `q`-quantile along `dim`, or of all; `q` is from 0 to 1.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).quantile(0.5)
    tensor(1.2500)

    Several ``q`` give a first axis."""
        ...

    def rad2deg_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``rad2deg`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).rad2deg_()
    tensor([ 28.6479, 114.5916])"""
        ...

    def random_(self, from_: Any=None, to: Any=None, *, generator: Any=None) -> Tensor:
        """Integers from 0 to below ``from_``, or from ``from_`` to below ``to``; without either all that the dtype holds. For all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(2).random_(3, 4)
    tensor([3., 3.])"""
        ...

    def reciprocal_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``reciprocal`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([4.0]).reciprocal_()
    tensor([0.2500])"""
        ...

    def relu_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``relu`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0]).relu_()
    tensor([0.])"""
        ...

    def remainder_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``remainder`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3, 5]).remainder_(0)
    tensor([0, 0])"""
        ...

    def renorm(self, p: Any, dim: Any, maxnorm: Any) -> Tensor:
        """Slices along ``dim`` whose ``p``-norm is greater than ``maxnorm`` are scaled to have it.

    >>> import unigrad
    >>> unigrad.tensor([[3.0, 4.0], [0.0, 1.0]]).renorm(2, 0, 2.5).round(decimals=3).tolist()
    [[1.5, 2.0], [0.0, 1.0]]"""
        ...

    def renorm_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``renorm`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([[3.0, 4.0]]).renorm_(2, 0, 1.0)
    tensor([[0.6000, 0.8000]])"""
        ...

    def resize_(self, *size: Any, memory_format: MemoryFormat | builtins.str | None=None) -> Tensor:
        """The same elements in another shape, for all holders of this tensor. Another number of elements is an error, but for none: there is no memory to grow
    into.

    >>> import unigrad
    >>> unigrad.ones(2, 3).resize_(3, 2).shape
    (3, 2)"""
        ...

    def round_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``round`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([1.6]).round_()
    tensor([2.])"""
        ...

    def rsqrt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``rsqrt`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([4.0]).rsqrt_()
    tensor([0.5000])"""
        ...

    def scatter(self, dim: Any, index: Any, src: Tensor | None=None, *, value: builtins.float | None=None, reduce: builtins.bool | None=None) -> Tensor:
        """A copy with ``src``, a tensor or a number, at ``index`` along ``dim``; with ``reduce`` added to or multiplied with what is there.

    >>> import unigrad
    >>> unigrad.zeros(3).scatter(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def scatter_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``scatter`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).scatter_(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def scatter_add_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``scatter_add`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.zeros(3).scatter_add_(0, unigrad.tensor([2]), unigrad.tensor([5.0]))
    tensor([0., 0., 5.])"""
        ...

    def scatter_reduce_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``scatter_reduce`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(3).scatter_reduce_(0, unigrad.tensor([2]), unigrad.tensor([5.0]), 'prod')
    tensor([1., 1., 5.])"""
        ...

    def select_scatter(self, src: Tensor, dim: Any, index: Any) -> Tensor:
        """A copy with ``src`` as element ``index`` along ``dim``.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).select_scatter(unigrad.tensor([7.0]), 1, unigrad.tensor([0]))
    tensor([[7., 1., 2.]])"""
        ...

    def sgn_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sgn`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.0, 2.0]).sgn_()
    tensor([-1.,  1.])"""
        ...

    def share_memory_(self) -> Tensor:
        """The tensor itself: threads of one process share all memory.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).share_memory_()
    tensor([0.5000, 2.0000])"""
        ...

    def sigmoid_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sigmoid`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).sigmoid_()
    tensor([0.5000])"""
        ...

    def sign_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sign`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-3.0]).sign_()
    tensor([-1.])"""
        ...

    def sin_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sin`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).sin_()
    tensor([0.])"""
        ...

    def sinc_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sinc`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0, 0.5]).sinc_()
    tensor([1.0000, 0.6366])"""
        ...

    def sinh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sinh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).sinh_()
    tensor([0.5211, 3.6269])"""
        ...

    def slice_scatter(self, src: Tensor, dim: builtins.int=0, start: Any=None, end: Any=None, step: builtins.int=1) -> Tensor:
        """A copy with ``src`` as the elements from ``start`` to ``end`` along ``dim``, every ``step``-th of them.

    >>> import unigrad
    >>> unigrad.zeros(4).slice_scatter(unigrad.ones(2), 0, 1, 4, 2).tolist()
    [0.0, 1.0, 0.0, 1.0]"""
        ...

    def split_with_sizes(self, split_sizes: Any, dim: builtins.int=0) -> Tensor:
        """Parts of these sizes along ``dim``.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).split_with_sizes([1, 1])]
    [[0.5], [2.0]]"""
        ...

    def sqrt_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sqrt`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([9.0]).sqrt_()
    tensor([3.])"""
        ...

    def square_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``square`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([3.0]).square_()
    tensor([9.])"""
        ...

    def squeeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``squeeze`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(1, 2).squeeze_()
    tensor([1., 1.])"""
        ...

    def std_mean(self, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
        """The standard deviation and the mean.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.ones(1, 2, 4).std_mean()]
    [0.0, 1.0]"""
        ...

    def stride(self, dim: Any=None) -> Any:
        """How many elements lie between neighbours along each axis, or along ``dim``: those of a row-major order, in which a value is read.

    >>> import unigrad
    >>> unigrad.ones(2, 3).stride()
    (3, 1)"""
        ...

    def sub_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``sub`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).sub_(0)
    tensor([0.5000, 2.0000])"""
        ...

    def subtract_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``subtract`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).subtract_(2.0)
    tensor([-1.5000,  0.0000])"""
        ...

    def sum_to_size(self, *size: Any) -> Tensor:
        """The sum over axes that broadcasting from ``size`` would add or stretch: of that shape.

    >>> import unigrad
    >>> unigrad.ones(2, 3).sum_to_size(1, 3).tolist()
    [[2.0, 2.0, 2.0]]"""
        ...

    def swapaxes_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``swapaxes`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(1, 2).swapaxes_(0, 1).shape
    (2, 1)"""
        ...

    def swapdims_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``swapdims`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(1, 2).swapdims_(0, 1).shape
    (2, 1)"""
        ...

    def t_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``t`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(1, 2).t_().shape
    (2, 1)"""
        ...

    def tan_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``tan`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).tan_()
    tensor([ 0.5463, -2.1850])"""
        ...

    def tanh_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``tanh`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.0]).tanh_()
    tensor([0.])"""
        ...

    def tensordot(self, other: Any, dims: builtins.int=2, other_axes: Any=None, *, dim: Any=None) -> Tensor:
        """Sums of products over axes: the last ``dims`` of one and the first of the other, or ``dims = (axes, other_axes)``.

    >>> import unigrad
    >>> unigrad.ones(2, 3).tensordot(unigrad.ones(3, 4), dims=1).shape
    (2, 4)"""
        ...

    def transpose_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``transpose`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.ones(1, 2).transpose_(0, 1).shape
    (2, 1)"""
        ...

    def trapezoid(self, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1, axis: Any=None) -> Tensor:
        """The integral along ``dim`` by the trapezoidal rule: between points ``dx`` apart, or at ``x``.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).trapezoid()
    tensor(1.2500)"""
        ...

    def trapz(self, x: Tensor | None=None, *, dx: builtins.float=1.0, dim: builtins.int=-1) -> Tensor:
        """``trapezoid`` by its older name.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).trapz()
    tensor(1.2500)"""
        ...

    def tril_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``tril`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).tril_(0)
    tensor([[0., 0., 0.]])"""
        ...

    def triu_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``triu`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).triu_(0)
    tensor([[0., 1., 2.]])"""
        ...

    def true_divide_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``true_divide`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).true_divide_(2.0)
    tensor([0.2500, 1.0000])"""
        ...

    def trunc_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``trunc`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([-1.5]).trunc_()
    tensor([-1.])"""
        ...

    def type(self, dtype: DType | builtins.str | builtins.type | None=None, non_blocking: builtins.bool=False) -> Any:
        """PyTorch's name of the tensor's type; with a dtype, or such a name, the tensor as that type.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).type()
    'torch.FloatTensor'"""
        ...

    def type_as(self, other: Any) -> Tensor:
        """In another tensor's dtype.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).type_as(unigrad.tensor([1, 2]))
    tensor([0, 2])"""
        ...

    def uniform_(self, from_: builtins.float=0.0, to: builtins.float=1.0, *, generator: Any=None) -> Tensor:
        """Uniformly distributed numbers, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).uniform_().shape
    (2,)"""
        ...

    def unravel_index(self, shape: Any) -> Tensor:
        """Row-major numbers of elements as indices of a tensor of this shape: a tensor for each axis.

    >>> import unigrad
    >>> [axis.tolist() for axis in unigrad.tensor([1, 5]).unravel_index((2, 3))]
    [[0, 1], [1, 2]]"""
        ...

    def unsqueeze_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``unsqueeze`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).unsqueeze_(0)
    tensor([[0.5000, 2.0000]])"""
        ...

    def var_mean(self, dim: Any=None, unbiased: Any=None, keepdim: builtins.bool=False, *, correction: Any=None) -> builtins.tuple[Tensor, ...]:
        """The variance and the mean.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([0.5, 2.0]).var_mean()]
    [1.125, 1.25]"""
        ...

    def vdot(self, other: Any) -> Tensor:
        """The dot product of two vectors.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).vdot(unigrad.tensor([1.0, 3.0]))
    tensor(6.5000)"""
        ...

    def view_as(self, other: Any) -> Tensor:
        """In another tensor's shape.

    >>> import unigrad
    >>> unigrad.tensor([[0.0, 1.0, 2.0]]).view_as(unigrad.tensor([1.0, 0.0, 2.0]))
    tensor([0., 1., 2.])"""
        ...

    def vsplit(self, indices_or_sections: Any) -> builtins.tuple[Tensor, ...]:
        """``tensor_split`` along the axis that ``vsplit`` names.

    >>> import unigrad
    >>> [part.tolist() for part in unigrad.tensor([[1.0, 2.0], [3.0, 4.0]]).vsplit(2)]
    [[[1.0, 2.0]], [[3.0, 4.0]]]"""
        ...

    def xlogy_(self, *args: Any, **kwargs: Any) -> Tensor:
        """``xlogy`` in place: for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).xlogy_(2.0)
    tensor([0.3466, 1.3863])"""
        ...

    def zero_(self) -> Tensor:
        """Zeros, for all holders of this tensor.

    >>> import unigrad
    >>> unigrad.tensor([0.5, 2.0]).zero_()
    tensor([0., 0.])"""
        ...
    absolute = abs
    arccos = acos
    arccosh = acosh
    arcsin = asin
    arcsinh = asinh
    arctan = atan
    arctan2 = atan2
    arctanh = atanh
    bitwise_left_shift = shl
    bitwise_right_shift = shr
    clip = clamp
    divide = div
    floor_divide = floor_div
    frac = fract
    greater = gt
    greater_equal = ge
    less = lt
    less_equal = le
    logsigmoid = log_sigmoid
    multiply = mul
    negative = neg
    not_equal = ne
    reciprocal = recip
    remainder = rem
    sgn = sign
    subtract = sub
    swapdims = swapaxes
    true_divide = div
    diagonal_copy = diagonal
    expand_copy = expand
    narrow_copy = narrow
    permute_copy = permute
    squeeze_copy = squeeze
    t_copy = t
    transpose_copy = transpose
    unbind_copy = unbind
    unfold_copy = unfold
    unsqueeze_copy = unsqueeze
    view_copy = view

class _GradientNode:
    """
    A node of a gradient's graph, for `unigrad.autograd.Node`.
    """

    def is_leaf(self, /) -> builtins.bool:
        """
        Whether it is a leaf.
        """

    def key(self, /) -> builtins.tuple[builtins.bool, builtins.int]:
        """
        What tells nodes apart.
        """

    def next(self, /) -> builtins.list[_GradientNode | None]:
        """
        Those that the gradient goes to, one for each input.
        """

    def op(self, /) -> builtins.str:
        """
        The name of the op.
        """

    def variable(self, /) -> Any | None:
        """
        A leaf's tensor.
        """

def _checkpoint(function: Any, inputs: Sequence[Tensor]) -> builtins.list[Tensor]:
    """
    What `function` gives for the inputs; its values are computed again for gradients instead of being kept.
    """

def _custom(name: builtins.str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], backward: Any) -> builtins.list[Tensor]:
    """
    Values as functions of `inputs` whose gradients are what `backward(i, inputs, value, dy)` gives: one (or `None`) for each input.
    """

def _differentiating(own: Sequence[Tensor], function: Any) -> Any:
    """
    What a function gives that is differentiated by these tensors.
    """

def _is_differentiated(x: Tensor) -> builtins.bool:
    """
    Whether a function that runs is differentiated by something to which a gradient of this tensor goes.
    """

def _jacobian(function: Any, input: Tensor) -> Tensor:
    """
    All derivatives of a function's elements by those of its input: `[result.., input..]`.
    """

def _jvp(function: Any, inputs: Sequence[Tensor], tangents: Sequence[Tensor]) -> builtins.tuple[builtins.list[Tensor], builtins.list[Tensor]]:
    """
    What a function gives, and how that changes in a direction of the inputs.
    """

def _leaf(tensor: Tensor) -> None:
    """
    Remembers the object of a leaf; of several for one leaf the first that lives.
    """

def _lies(layout: Layout | builtins.str | None=None, memory_format: MemoryFormat | builtins.str | None=None) -> None:
    """
    Whether a layout, a memory format, is one that tensors have: an error that says why not.
    """

def _rebuild(bytes: builtins.bytes, dtype: DType | builtins.str | builtins.type, shape: Sequence[builtins.int], device: builtins.str, requires_grad: builtins.bool) -> Tensor:
    """
    A tensor out of a pickle: on its device, or on the default one where that is missing.
    """

def _run_command(arguments: Sequence[builtins.str], program: builtins.str | PathLike[builtins.str]) -> builtins.int:
    """
    Runs the command with these arguments, of which the first is its name; returns the exit status. `program` is the script that starts it anew.
    """

def _scan(body: Any, states: Sequence[Tensor], xs: Sequence[Tensor], length: builtins.int | None, reverse: builtins.bool) -> builtins.list[Tensor]:
    """
    The last states, and the sequences of what the steps gave, behind each other: `body(states.., elements..)` gives new states, then what goes into sequences.
    """

def _set_grad_enabled(enabled: builtins.bool) -> None:
    """
    From now on, whether what this thread computes keeps a way for gradients.
    """

def _vmap(function: Any, inputs: Sequence[Tensor], in_dims: Sequence[builtins.int | None], out_dims: Sequence[builtins.int | None], randomness: builtins.str) -> builtins.list[Tensor]:
    """
    What a function gives for each slice of the inputs.
    """

def arange(start: Tensor | builtins.float | None=None, end: Tensor | builtins.float | None=None, step: Tensor | builtins.float | None=None, *, stop: Tensor | builtins.float | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    `start`, `start + step`, and so on, below `end`: `arange(end)`, `arange(start, end)`, `arange(start, end, step)`.

    Without `dtype` they are `int64` where all three are integers, or tensors of some without axes, else the default float.

    >>> import unigrad
    >>> unigrad.arange(0, 10, 3)
    tensor([0, 3, 6, 9])
    """

def asarray(obj: Any, /, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, copy: builtins.bool | None=None, *, requires_grad: builtins.bool=False) -> Tensor:
    """
    A tensor of an object: a tensor, an array, numbers, nested sequences of numbers.

    `copy=None` copies only what has to be: a tensor of that dtype and device is returned as it is; arrays are copied, for they may be written later.
    `copy=False` uses the array's memory in place or raises ValueError, `copy=True` always copies.

    >>> import unigrad
    >>> x = unigrad.ones(2)
    >>> unigrad.asarray(x) is x
    True
    """

def block_diag(*tensors: Tensor) -> Tensor:
    """
    Matrices along the diagonal of one matrix, zeros elsewhere.

    >>> import unigrad
    >>> unigrad.block_diag(unigrad.ones(1, 1), unigrad.tensor([[2.0, 3.0]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 2.0, 3.0]]
    """

def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """
    Vectors as columns, beside matrices.

    >>> import unigrad
    >>> unigrad.column_stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
    [[1, 3], [2, 4]]
    """

def concat(tensors: Sequence[Tensor], dim: builtins.int=0, *, axis: builtins.int | None=None) -> Tensor:
    """
    Tensors one after the other along an axis that they have.

    >>> import unigrad
    >>> unigrad.concat([unigrad.ones(2), unigrad.zeros(1)])
    tensor([1., 1., 0.])
    """

def default_device() -> Device:
    """
    The device that tensors are made on where none is given: the CPU, unless `UNIGRAD_DEVICE` or `set_default_device` names another.

    >>> import unigrad
    >>> unigrad.default_device() in unigrad.devices()
    True
    """

def devices() -> builtins.list[builtins.str]:
    """
    The names of all devices of this machine that can be opened.

    >>> import unigrad
    >>> unigrad.Device("cpu") in unigrad.devices()
    True
    """

def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """
    Tensors one behind the other, along axis 2.

    >>> import unigrad
    >>> unigrad.dstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    (1, 2, 2)
    """

def einsum(equation: builtins.str, *operands: Tensor) -> Tensor:
    """
    Einstein's summation: `einsum("ij,jk->ik", a, b)`.
    """

def empty(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    A tensor whose values are not set: zeros here.

    >>> import unigrad
    >>> unigrad.empty(2, 3).shape
    (2, 3)
    """

def eye(n: builtins.int, m: builtins.int | None=None, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    A matrix with ones on its diagonal.

    >>> import unigrad
    >>> unigrad.eye(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

def from_dlpack(x: Any, /, *, device: Device | builtins.str | None=None, copy: builtins.bool | None=None) -> Tensor:
    """
    A tensor of another library's memory, by DLPack: arrays of NumPy, tensors of PyTorch, JAX, CuPy, TensorFlow, or a capsule.

    Nothing is copied where the memory can be used in place: on the CPU if its elements are aligned, whatever its strides; on a CUDA device if it begins
    at a multiple of 64 bytes. Then the tensor sees what its owner writes later, as far as it is not computed yet, and the owner stays alive as long
    as a tensor needs it. Nothing here writes the memory. Else one copy is made; `copy=False` makes that an error, `copy=True` always copies.
    `device` is where the tensor is wanted: another one than the memory's takes a copy.
    Raises BufferError for what cannot be taken: a dtype without a counterpart (complex), a device that is not exchanged.

    >>> import unigrad, array
    >>> memory = array.array("f", [1.0, 2.0])
    >>> unigrad.from_dlpack(unigrad.from_numpy(memory)).tolist()
    [1.0, 2.0]
    """

def from_numpy(array: Any, /) -> Tensor:
    """
    A tensor that uses a NumPy array's memory, or that of another object with Python's buffer protocol (`array.array`, `bytes`, `memoryview`).

    Nothing is copied if the elements are aligned, whatever the strides; else one copy is made. The tensor sees what is written to the array
    as far as it is not computed yet: `unigrad.tensor(array)` copies.

    >>> import unigrad, array
    >>> unigrad.from_numpy(array.array("i", [1, 2])).dtype
    unigrad.int32
    """

def full(size: builtins.int | Sequence[builtins.int], fill_value: Tensor | builtins.float, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    One value everywhere.

    >>> import unigrad
    >>> unigrad.full((2,), 7.0)
    tensor([7., 7.])
    """

def get_default_dtype() -> DType:
    """
    The dtype of floats that have none: `float32`, until `set_default_dtype` sets another.

    >>> import unigrad
    >>> unigrad.get_default_dtype()
    unigrad.float32
    """

def get_rng_state() -> Tensor:
    """
    Where the random numbers of this process are: 16 bytes on the CPU, which `set_rng_state` goes on from.

    >>> import unigrad
    >>> state = unigrad.get_rng_state()
    >>> first = unigrad.rand(2)
    >>> unigrad.set_rng_state(state)
    >>> unigrad.rand(2).equal(first)
    True
    """

def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor] | None=None, *, retain_graph: builtins.bool | None=None, create_graph: builtins.bool=False, allow_unused: builtins.bool=False) -> builtins.tuple[Tensor, ...]:
    """
    The gradients of `outputs` with respect to `inputs`, as a tuple.

    `grad_outputs` is what arrives at an output, needed where it has more than one element. With `allow_unused` an input that the output does not
    depend on has the gradient `None`; else it is an error. With `create_graph` gradients are themselves differentiable; without it they are values that
    need no gradient. The graph stays either way: `retain_graph` is taken for PyTorch's programs, and changes nothing.

    >>> import unigrad
    >>> x = unigrad.tensor([3.0], requires_grad=True)
    >>> unigrad.grad((x * x).sum(), x)
    (tensor([6.]),)
    >>> (slope,) = unigrad.grad(x**3, x, create_graph=True)
    >>> unigrad.grad(slope, x)
    (tensor([18.]),)
    """

def grad_enabled() -> builtins.bool:
    """
    Whether what is computed now keeps a way for gradients.

    >>> import unigrad
    >>> unigrad.grad_enabled()
    True
    """

def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """
    Tensors side by side, along axis 1 (vectors along axis 0).

    >>> import unigrad
    >>> unigrad.hstack([unigrad.tensor([1, 2]), unigrad.tensor([3])])
    tensor([1, 2, 3])
    """

def initial_seed() -> builtins.int:
    """
    The seed of the random numbers of this process.

    >>> import unigrad
    >>> unigrad.manual_seed(3)
    >>> unigrad.initial_seed()
    3
    """

def linspace(start: builtins.float | builtins.int, end: builtins.float | builtins.int, steps: builtins.int=100, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    `steps` numbers from `start` to `end`, both included, at equal distances.

    >>> import unigrad
    >>> unigrad.linspace(0.0, 1.0, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """

def logspace(start: builtins.float | builtins.int, end: builtins.float | builtins.int, steps: builtins.int=100, base: builtins.float | builtins.int=10.0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    `base` to the powers of `linspace`.

    >>> import unigrad
    >>> unigrad.logspace(0.0, 2.0, 3)
    tensor([  1.,  10., 100.])
    """

def manual_seed(seed: builtins.int) -> None:
    """
    Begins the random numbers of this process anew.

    >>> import unigrad
    >>> unigrad.manual_seed(0)
    >>> first = unigrad.rand(2)
    >>> unigrad.manual_seed(0)
    >>> (unigrad.rand(2) == first).all().item()
    True
    """

def meshgrid(*tensors: Tensor, indexing: builtins.str='ij') -> builtins.list[Tensor]:
    """
    Vectors as axes of a grid, as PyTorch's `meshgrid`; `indexing` is "ij" or "xy".
    """

def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """
    The product of several matrices, in the order that costs least.

    >>> import unigrad
    >>> unigrad.multi_dot([unigrad.ones(2, 3), unigrad.ones(3, 4), unigrad.ones(4, 1)]).shape
    (2, 1)
    """

def ones(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    Ones.

    >>> import unigrad
    >>> unigrad.ones(2, 3).shape
    (2, 3)
    """

def rand(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    Uniform random numbers from 0 (inclusive) to 1 (exclusive); of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.rand(2, 3).shape
    (2, 3)
    """

def randint(low: builtins.int | None=None, high: builtins.int | Sequence[builtins.int] | None=None, size: builtins.int | Sequence[builtins.int] | None=None, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    Random integers from `low` (inclusive; 0 where it is left out) to `high` (exclusive): `randint(high, size)`, `randint(low, high, size)`, each also by
    names; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randint(0, 10, (2, 3)).shape
    (2, 3)
    """

def randn(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    Normally distributed random numbers, of mean 0 and variance 1; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.randn(2, 3).shape
    (2, 3)
    """

def randperm(n: builtins.int, *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    The numbers from 0 to `n - 1` in random order, `int64` unless another dtype is given; of a generator of one's own if one is given.

    >>> import unigrad
    >>> sorted(unigrad.randperm(4).tolist())
    [0, 1, 2, 3]
    """

def seed() -> builtins.int:
    """
    Begins the random numbers of this process anew, by a seed that the system chooses; the seed.

    >>> import unigrad
    >>> unigrad.seed() == unigrad.initial_seed()
    True
    """

def set_default_device(device: Device | builtins.str) -> Device:
    """
    From now on tensors are made on this device where none is given. Returns the one before.

    >>> import unigrad
    >>> before = unigrad.default_device()
    >>> unigrad.set_default_device("cpu")
    Device('cpu:0')
    >>> unigrad.zeros(1).device
    Device('cpu:0')
    >>> unigrad.set_default_device(before)
    Device('cpu:0')
    """

def set_default_dtype(d: DType | builtins.str | builtins.type) -> None:
    """
    From now on floats without a dtype are of this one, in all threads: Python's floats beside integers, quotients of integers, what is made without a
    `dtype`. One of `float32`, `float64`, `float16` and `bfloat16`.

    >>> import unigrad
    >>> unigrad.set_default_dtype(unigrad.float64)
    >>> unigrad.tensor([0.5]).dtype, (unigrad.tensor([1]) / 2).dtype
    (unigrad.float64, unigrad.float64)
    >>> unigrad.set_default_dtype(unigrad.float32)
    """

def set_rng_state(new_state: Tensor | builtins.tuple[builtins.int, builtins.int]) -> None:
    """
    Goes on with the random numbers of this process from a state: that of `get_rng_state`, or a generator's.

    >>> import unigrad
    >>> unigrad.set_rng_state(unigrad.Generator(3).get_state())
    >>> unigrad.initial_seed()
    3
    """

def stack(tensors: Sequence[Tensor], dim: builtins.int=0, *, axis: builtins.int | None=None) -> Tensor:
    """
    Tensors of one shape one after the other along a new axis.

    >>> import unigrad
    >>> unigrad.stack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """

def tensor(data: Any, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    A tensor of data: numbers, nested sequences of numbers, arrays of NumPy or of another library.

    Numbers become `bool`, `int64` or the default float (`get_default_dtype`, `float32` at first); arrays keep their dtype.

    >>> import unigrad
    >>> unigrad.tensor([[1, 2], [3, 4]]).dtype
    unigrad.int64
    """

def tril_indices(row: builtins.int, col: builtins.int, offset: builtins.int=0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """
    Row and column of each element below a diagonal, and on it.

    >>> import unigrad
    >>> unigrad.tril_indices(2, 2).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """

def triu_indices(row: builtins.int, col: builtins.int, offset: builtins.int=0, *, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """
    Row and column of each element above a diagonal, and on it.

    >>> import unigrad
    >>> unigrad.triu_indices(2, 2).tolist()
    [[0, 0, 1], [0, 1, 1]]
    """

def uniform(low: builtins.float | builtins.int, high: builtins.float | builtins.int, size: builtins.int | Sequence[builtins.int], *, generator: Generator | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None) -> Tensor:
    """
    Uniform random numbers from `low` to `high`; of a generator of one's own if one is given.

    >>> import unigrad
    >>> unigrad.uniform(-1.0, 1.0, (2, 3)).shape
    (2, 3)
    """

def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """
    Tensors one below the other; vectors are rows.

    >>> import unigrad
    >>> unigrad.vstack([unigrad.tensor([1, 2]), unigrad.tensor([3, 4])]).shape
    (2, 2)
    """

def zeros(*shape: builtins.int | Sequence[builtins.int], size: builtins.int | Sequence[builtins.int] | None=None, dtype: DType | builtins.str | builtins.type | None=None, device: Device | builtins.str | None=None, requires_grad: builtins.bool=False) -> Tensor:
    """
    Zeros.

    >>> import unigrad
    >>> unigrad.zeros(2)
    tensor([0., 0.])
    """
