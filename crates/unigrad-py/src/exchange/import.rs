//! Tensors of other libraries' memory.
//!
//! In: capsules of DLPack and objects that give them, buffers, arrays of CUDA. Out: tensors that use the memory where it lies, or have a copy of it.
//! Always: memory is used in place if its elements are aligned and of a dtype that is known; else a copy is made now, if `copy` allows it. What the owner
//! writes later is seen by what is computed later. Bools are 0 or 1: other bytes are copied.
//! Never: writes the memory, or reads a byte that is not an element's.

use super::{
    Held, buffer, cuda,
    dlpack::{self, DlTensor, Managed, ManagedVersioned, UNVERSIONED, VERSION, VERSIONED},
    export::is_capsule,
    strides::Strided,
};
use crate::{
    arguments::of_argument,
    device::{PyDevice, or_default},
    dtype::PyDType,
    error::{OrRaise, argument},
    exit::Release,
    origin::here,
    tensor::{PyTensor, checked, data, made, made_of},
};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    ffi,
    prelude::*,
    sync::critical_section::with_critical_section,
    types::PyDict,
};
use std::{any::Any, ptr::NonNull, slice};
use unigrad::{
    device::Device,
    tensor::{DType, Tensor},
};

/// Memory that another owner has.
pub(super) struct Foreign {
    pub(super) device: Device,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// In elements.
    pub(super) strides: Vec<i64>,
    /// Of the element with indices 0.
    pub(super) address: u64,
}

impl Foreign {
    /// The tensor: in place, or a copy that is made now. The owner is let go where nothing needs it any more.
    ///
    /// # Safety
    /// The memory is there and has initialized bytes until `owner` is dropped.
    pub(super) unsafe fn tensor(self, py: Python<'_>, owner: impl Any + Send + Sync, copy: Option<bool>) -> PyResult<Tensor> {
        let owner = Held::of(py, owner)?;
        let Foreign { device, dtype, shape, strides, address } = self;
        let no_memory = || PyBufferError::new_err(format!("sizes {shape:?} with strides {strides:?} of {dtype} are no memory"));
        let size = dtype.size();
        shape
            .iter()
            .try_fold(size, |bytes, size| bytes.checked_mul(*size))
            .filter(|bytes| isize::try_from(*bytes).is_ok())
            .ok_or_else(no_memory)?;
        if shape.contains(&0) {
            return Ok(Tensor::from_bytes(&[], shape, dtype, &device));
        }
        let strided = Strided::new(shape.clone(), strides.clone()).ok_or_else(no_memory)?;
        let bytes = strided.span.checked_mul(size).filter(|bytes| isize::try_from(*bytes).is_ok()).ok_or_else(no_memory)?;
        let start =
            (strided.before as u64).checked_mul(size as u64).and_then(|before| address.checked_sub(before)).ok_or_else(no_memory)?;
        let alignment = device.exchange_alignment().ok_or_else(|| PyBufferError::new_err(format!("{device} exchanges no memory")))?;
        let alignment = alignment.max(size) as u64;
        let on_host = device.completes_at_once();
        let has_other_bools = || {
            // SAFETY: the caller's promise: the piece's bytes are there. The host sees them.
            let bytes = unsafe { slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start as usize), bytes) };
            bytes.iter().any(|byte| *byte > 1)
        };
        let why_not = match () {
            () if !start.is_multiple_of(alignment) => Some(format!("its address {start:#x} is not a multiple of {alignment}")),
            () if dtype == DType::Bool && on_host && has_other_bools() => Some("its bools are other bytes than 0 and 1".to_owned()),
            () => None,
        };
        match why_not {
            None => {
                // SAFETY: the caller's promise.
                let buffer = unsafe { device.adopt(start, bytes, Box::new(owner)) }.or_raise(py)?;
                let _here = here(py);
                let tensor = match strided.is_contiguous() {
                    true => Tensor::from_buffer(buffer, shape, dtype),
                    false => strided.view(&Tensor::from_buffer(buffer, [strided.span], dtype)),
                };
                if copy == Some(true) { copied(py, &tensor) } else { Ok(tensor) }
            }
            Some(why) if copy == Some(false) => {
                Err(PyBufferError::new_err(format!("the memory cannot be used in place: {why}\n help: allow a copy: `copy=None`")))
            }
            Some(_) => {
                // The piece as it is, in memory of our own.
                let whole = py.released(|| -> Result<Tensor, unigrad::Error> {
                    if on_host {
                        // SAFETY: the caller's promise.
                        let bytes = unsafe { slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(start as usize), bytes) };
                        return Tensor::from_bytes(bytes, [strided.span], dtype, &device).check();
                    }
                    let own = device.allocate(bytes)?;
                    // SAFETY: the caller's promise.
                    let theirs = unsafe { device.adopt(start, bytes, Box::new(owner)) }?;
                    own.copy_from(0, &theirs, 0, bytes)?;
                    Ok(Tensor::from_buffer(own, [strided.span], dtype))
                });
                let _here = here(py);
                Ok(strided.view(&whole.or_raise(py)?))
            }
        }
    }
}

/// A tensor with the value in memory of its own, computed now.
pub(crate) fn copied(py: Python<'_>, x: &Tensor) -> PyResult<Tensor> {
    let copy = py.released(|| -> Result<Tensor, unigrad::Error> {
        let (from, x) = (x.buffer()?, x.detach());
        let own = from.device().allocate(from.len())?;
        own.copy_from(0, &from, 0, from.len())?;
        Ok(Tensor::from_buffer(own, x.shape(), x.dtype()))
    });
    let copy = copy.or_raise(py)?;
    match copy.error() {
        Some(error) => Err(error).or_raise(py),
        None => Ok(copy),
    }
}

/// The value on the CPU.
pub(super) fn on_cpu(py: Python<'_>, x: &Tensor) -> PyResult<Tensor> {
    let _here = here(py);
    let cpu = py.released(|| Device::open("cpu")).or_raise(py)?;
    Ok(x.detach().to(&cpu))
}

/// What a consumer has taken out of a capsule.
enum Taken {
    Versioned(NonNull<ManagedVersioned>),
    Unversioned(NonNull<Managed>),
}

// SAFETY: DLPack lets a deleter be called in any thread.
unsafe impl Send for Taken {}
// SAFETY: nothing is done with a shared one.
unsafe impl Sync for Taken {}

impl Drop for Taken {
    fn drop(&mut self) {
        // SAFETY: the structure is ours since it was taken, and its deleter is called once.
        unsafe {
            match self {
                Taken::Versioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
                Taken::Unversioned(managed) => {
                    if let Some(deleter) = managed.as_ref().deleter {
                        deleter(managed.as_ptr());
                    }
                }
            }
        }
    }
}

impl Taken {
    fn tensor(&self) -> &DlTensor {
        // SAFETY: the structure is there until the deleter is called.
        unsafe {
            match self {
                Taken::Versioned(managed) => &(*managed.as_ptr()).tensor,
                Taken::Unversioned(managed) => &(*managed.as_ptr()).tensor,
            }
        }
    }

    /// Takes what a capsule has; it is renamed, so that it is not taken again.
    fn of(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
        // Of two threads one has it: without the interpreter's lock nothing else is between the question and the new name.
        with_critical_section(capsule, || Taken::of_alone(capsule))
    }

    fn of_alone(capsule: &Bound<'_, PyAny>) -> PyResult<Taken> {
        let raw = capsule.as_ptr();
        // SAFETY: an attached interpreter and a live capsule; the pointer's type goes with the name.
        unsafe {
            if ffi::PyCapsule_IsValid(raw, VERSIONED.0.as_ptr()) == 1 {
                let managed: *mut ManagedVersioned = ffi::PyCapsule_GetPointer(raw, VERSIONED.0.as_ptr()).cast();
                let managed = NonNull::new(managed).ok_or_else(|| PyBufferError::new_err("a capsule without a tensor"))?;
                let (major, minor) = (managed.as_ref().version.major, managed.as_ref().version.minor);
                if major != VERSION.0 {
                    let message = format!("a capsule of DLPack {major}.{minor}, of which only the version is known here");
                    return Err(PyBufferError::new_err(format!(
                        "{message}\n help: export with `max_version=({}, {})`",
                        VERSION.0, VERSION.1
                    )));
                }
                if ffi::PyCapsule_SetName(raw, VERSIONED.1.as_ptr()) != 0 {
                    return Err(PyErr::fetch(capsule.py()));
                }
                return Ok(Taken::Versioned(managed));
            }
            if ffi::PyCapsule_IsValid(raw, UNVERSIONED.0.as_ptr()) == 1 {
                let managed: *mut Managed = ffi::PyCapsule_GetPointer(raw, UNVERSIONED.0.as_ptr()).cast();
                let managed = NonNull::new(managed).ok_or_else(|| PyBufferError::new_err("a capsule without a tensor"))?;
                if ffi::PyCapsule_SetName(raw, UNVERSIONED.1.as_ptr()) != 0 {
                    return Err(PyErr::fetch(capsule.py()));
                }
                return Ok(Taken::Unversioned(managed));
            }
        }
        Err(PyBufferError::new_err("a capsule that is not DLPack's, or that was taken before: each is taken once\n help: export again"))
    }

    fn foreign(&self, py: Python<'_>) -> PyResult<Foreign> {
        let tensor = self.tensor();
        let device = device_of(py, tensor.device.kind, tensor.device.id)?;
        let dtype = dlpack::dtype(tensor.dtype).map_err(|what| PyBufferError::new_err(format!("there is no dtype for {what}")))?;
        let ndim = usize::try_from(tensor.ndim).map_err(|_| PyBufferError::new_err(format!("a tensor of {} axes", tensor.ndim)))?;
        if ndim > 0 && tensor.shape.is_null() {
            return Err(PyBufferError::new_err("a tensor without sizes"));
        }
        // SAFETY: DLPack: `ndim` sizes, and as many strides where there are strides.
        let read = |from: *mut i64| if ndim == 0 { Vec::new() } else { unsafe { slice::from_raw_parts(from, ndim) }.to_vec() };
        let sizes = read(tensor.shape);
        let shape = sizes.iter().map(|size| usize::try_from(*size)).collect::<Result<Vec<usize>, _>>();
        let shape = shape.map_err(|_| PyBufferError::new_err(format!("a tensor of the shape {sizes:?}")))?;
        let strides = if tensor.strides.is_null() { row_major(&shape) } else { read(tensor.strides) };
        let address = (tensor.data.expose_provenance() as u64).checked_add(tensor.byte_offset);
        let address = address.ok_or_else(|| PyBufferError::new_err("an offset beyond memory"))?;
        Ok(Foreign { device, dtype, shape, strides, address })
    }
}

/// Strides, in elements, of a row-major array.
pub(super) fn row_major(shape: &[usize]) -> Vec<i64> {
    let mut strides = vec![1_i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis].max(1) as i64);
    }
    strides
}

/// The device of DLPack's numbers.
fn device_of(py: Python<'_>, kind: i32, id: i32) -> PyResult<Device> {
    let name = match kind {
        dlpack::CPU | dlpack::CUDA_HOST => "cpu".to_owned(),
        dlpack::CUDA => format!("cuda:{id}"),
        kind => {
            let what = dlpack::device_name(kind);
            return Err(PyBufferError::new_err(format!("memory of {what} is not taken\n help: copy it to the CPU, or to a CUDA device")));
        }
    };
    py.released(|| Device::open(&name)).or_raise(py)
}

/// A tensor of another library's memory, by DLPack: arrays of NumPy, tensors of PyTorch, JAX, CuPy, TensorFlow, or a capsule.
///
/// Nothing is copied where the memory can be used in place: on the CPU if its elements are aligned, whatever its strides; on a CUDA device if it begins
/// at a multiple of 64 bytes. Then the tensor sees what its owner writes later, as far as it is not computed yet, and the owner stays alive as long
/// as a tensor needs it. Nothing here writes the memory. Else one copy is made; `copy=False` makes that an error, `copy=True` always copies.
/// `device` is where the tensor is wanted: another one than the memory's takes a copy.
/// Raises BufferError for what cannot be taken: a dtype without a counterpart (complex), a device that is not exchanged.
///
/// >>> import unigrad, array
/// >>> memory = array.array("f", [1.0, 2.0])
/// >>> unigrad.from_dlpack(unigrad.from_numpy(memory)).tolist()
/// [1.0, 2.0]
#[pyfunction]
#[pyo3(signature = (x, /, *, device=None, copy=None))]
pub(crate) fn from_dlpack(py: Python<'_>, x: &Bound<'_, PyAny>, device: Option<PyDevice>, copy: Option<bool>) -> PyResult<PyTensor> {
    let tensor = if let Ok(tensor) = x.cast::<PyTensor>() {
        let tensor = tensor.get().tensor();
        if tensor.needs_grad() {
            return Err(PyBufferError::new_err("a tensor that requires a gradient is not exchanged\n help: `x.detach()` first"));
        }
        if copy == Some(true) { copied(py, tensor)? } else { tensor.detach() }
    } else {
        let capsule = if is_capsule(x) { x.clone() } else { capsule_of(x, device, copy)? };
        let taken = Taken::of(&capsule)?;
        let foreign = taken.foreign(py)?;
        // SAFETY: DLPack: the memory is there until the deleter is called.
        unsafe { foreign.tensor(py, taken, copy)? }
    };
    moved(py, tensor, device, copy)
}

/// On the device that is asked for.
fn moved(py: Python<'_>, tensor: Tensor, device: Option<PyDevice>, copy: Option<bool>) -> PyResult<PyTensor> {
    match device {
        Some(to) if to.0.id() != tensor.device_id() => {
            if copy == Some(false) {
                return Err(PyBufferError::new_err(format!("`copy=False`, but the memory is not on {}", to.0)));
            }
            // Now: what the owner writes later is not the copy's.
            let moved = made(py, || tensor.to(&to.0))?;
            py.released(|| moved.tensor().realize()).or_raise(py)?;
            Ok(moved)
        }
        _ => checked(py, tensor),
    }
}

/// Asks for a capsule of the newest version; of an older one where the producer does not know better.
fn capsule_of<'py>(x: &Bound<'py, PyAny>, device: Option<PyDevice>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
    let py = x.py();
    if !x.hasattr("__dlpack__")? || !x.hasattr("__dlpack_device__")? {
        let kind = x.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "`x` is an object with `__dlpack__`, or a capsule, not {kind}\n help: `unigrad.asarray(x)`"
        )));
    }
    let (kind, id) = x.call_method0("__dlpack_device__")?.extract::<(i32, i32)>()?;
    let to_cpu = device.is_some_and(|to| to.0.backend() == "cpu");
    let asks_for_cpu = to_cpu && !matches!(kind, dlpack::CPU | dlpack::CUDA_HOST);
    let plain = PyDict::new(py);
    if kind == dlpack::CUDA && !asks_for_cpu {
        // The producer makes our queue wait for its work.
        if let Some(queue) = device_of(py, kind, id)?.exchange_queue() {
            plain.set_item("stream", queue)?;
        }
    }
    let full = plain.copy()?;
    full.set_item("max_version", VERSION)?;
    if asks_for_cpu {
        full.set_item("dl_device", (dlpack::CPU, 0))?;
    }
    if let Some(copy) = copy.filter(|copy| !copy) {
        full.set_item("copy", copy)?;
    }
    match x.call_method("__dlpack__", (), Some(&full)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            if asks_for_cpu {
                // It knows no other device than its own.
                let queue = device_of(py, kind, id)?.exchange_queue();
                queue.map_or(Ok(()), |queue| plain.set_item("stream", queue))?;
            }
            x.call_method("__dlpack__", (), Some(&plain))
        }
        given => given,
    }
}

/// A tensor that uses a NumPy array's memory, or that of another object with Python's buffer protocol (`array.array`, `bytes`, `memoryview`).
///
/// Nothing is copied if the elements are aligned, whatever the strides; else one copy is made. The tensor sees what is written to the array
/// as far as it is not computed yet: `unigrad.tensor(array)` copies.
///
/// >>> import unigrad, array
/// >>> unigrad.from_numpy(array.array("i", [1, 2])).dtype
/// unigrad.int32
#[pyfunction]
#[pyo3(signature = (array, /))]
pub(crate) fn from_numpy(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
    let cpu = py.released(|| Device::open("cpu")).or_raise(py)?;
    let tensor = buffer::shared(array, cpu, None)?;
    checked(py, tensor)
}

/// A tensor of an object: a tensor, an array, numbers, nested sequences of numbers.
///
/// `copy=None` copies only what has to be: a tensor of that dtype and device is returned as it is; arrays are copied, for they may be written later.
/// `copy=False` uses the array's memory in place or raises ValueError, `copy=True` always copies.
///
/// >>> import unigrad
/// >>> x = unigrad.ones(2)
/// >>> unigrad.asarray(x) is x
/// True
#[pyfunction]
#[pyo3(signature = (obj, /, dtype=None, device=None, copy=None, *, requires_grad=false))]
pub(crate) fn asarray(
    py: Python<'_>,
    obj: &Bound<'_, PyAny>,
    dtype: Option<PyDType>,
    device: Option<PyDevice>,
    copy: Option<bool>,
    requires_grad: bool,
) -> PyResult<Py<PyTensor>> {
    let refused = |why: &str| argument(py, format!("`copy=False`, but {why}"), "leave `copy` out, or give None");
    if let Ok(tensor) = obj.cast::<PyTensor>() {
        let x = tensor.get().tensor();
        let other_dtype = dtype.is_some_and(|dtype| dtype.0 != x.dtype());
        let other_device = device.is_some_and(|device| device.0.id() != x.device_id());
        if copy == Some(false) && (other_dtype || other_device) {
            return Err(refused(if other_dtype { "the dtype is another one" } else { "the device is another one" }));
        }
        if !(other_dtype || other_device || requires_grad || copy == Some(true)) {
            return Ok(tensor.clone().unbind());
        }
        let result = match copy {
            Some(true) if !x.needs_grad() => copied(py, x)?,
            Some(true) => made(py, || x.contiguous())?.tensor().clone(),
            _ => x.clone(),
        };
        let result = made(py, || {
            let cast = dtype.filter(|_| other_dtype).map_or_else(|| result.clone(), |dtype| result.cast(dtype.0));
            let there = device.filter(|_| other_device).map_or_else(|| cast.clone(), |device| cast.to(&device.0));
            if requires_grad { there.requires_grad() } else { there }
        })?;
        return Py::new(py, result);
    }
    let _here = here(py);
    if copy == Some(false) {
        if !data::is_array(obj) && !cuda::is_array(obj) {
            return Err(refused("numbers are written into memory of their own"));
        }
        let tensor = shared(py, obj).map_err(|error| match error.is_instance_of::<PyBufferError>(py) {
            true => argument(py, error.value(py).to_string(), "leave `copy` out, or give None"),
            false => error,
        })?;
        if dtype.is_some_and(|dtype| dtype.0 != tensor.dtype()) {
            return Err(refused("the dtype is another one"));
        }
        if or_default(py, device)?.id() != tensor.device_id() && (device.is_some() || tensor.device().or_raise(py)?.backend() == "cpu") {
            return Err(refused("the memory is not on the device"));
        }
        return Py::new(py, checked(py, if requires_grad { tensor.requires_grad() } else { tensor })?);
    }
    let tensor = of_argument(py, "obj", made_of(py, obj, dtype, device))?;
    Py::new(py, checked(py, if requires_grad { tensor.requires_grad() } else { tensor })?)
}

/// A tensor of an array's memory in place, or an error.
fn shared(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    // First: CuPy's arrays have a buffer in name only.
    if cuda::is_array(given) {
        return cuda::taken(given, Some(false));
    }
    // SAFETY: an attached interpreter, and a live object.
    if unsafe { ffi::PyObject_CheckBuffer(given.as_ptr()) } == 1 {
        let cpu = py.released(|| Device::open("cpu")).or_raise(py)?;
        return buffer::shared(given, cpu, Some(false));
    }
    if given.hasattr("__dlpack__")? {
        return Ok(from_dlpack(py, given, None, Some(false))?.tensor().clone());
    }
    buffer::shared(&given.call_method0("__array__")?, py.released(|| Device::open("cpu")).or_raise(py)?, Some(false))
}

/// A copy of what an array without a buffer has, where DLPack or CUDA's interface gives it; `None` where neither does.
pub(crate) fn read(given: &Bound<'_, PyAny>, device: Device) -> PyResult<Option<Tensor>> {
    let py = given.py();
    let tensor = if given.hasattr("__dlpack__")? && given.hasattr("__dlpack_device__")? {
        from_dlpack(py, given, None, Some(true))?.tensor().clone()
    } else if cuda::is_array(given) {
        cuda::taken(given, Some(true))?
    } else {
        return Ok(None);
    };
    Ok(Some(if tensor.device_id() == device.id() { tensor } else { tensor.to(&device) }))
}
