//! A tensor's memory as a capsule of DLPack.
//!
//! In: a tensor, and what the consumer asks for: version, stream, device, copy. Out: a capsule.
//! Always: a capsule lends the buffer: nothing writes it before the consumer calls the deleter, in whatever thread, with or without the interpreter. Capsules of
//! version 1 say that the memory is read-only; older ones cannot. A copy is the consumer's own.

use super::dlpack::{self, DlTensor, Managed, ManagedVersioned, UNVERSIONED, VERSION, VERSIONED, Version};
use crate::{
    device::PyDevice,
    error::{OrRaise, argument},
    exit::Release,
    tensor::PyTensor,
};
use pyo3::{
    exceptions::{PyBufferError, PyTypeError},
    ffi,
    prelude::*,
    types::{PyBool, PyCapsule, PyInt},
};
use std::{
    ffi::{CStr, c_void},
    ptr,
};
use unigrad::{device::Loan, tensor::Tensor};

/// What a capsule points to, with what it needs.
struct Exported<T> {
    managed: T,
    shape: Vec<i64>,
    strides: Vec<i64>,
    _loan: Loan,
}

/// The two layouts of what a capsule points to.
trait Layout: Sized {
    const NAME: &CStr;

    fn new(tensor: DlTensor, minor: u32, flags: u64) -> Self;
    fn tensor(&mut self) -> &mut DlTensor;
    fn context(&mut self) -> &mut *mut c_void;
}

impl Layout for ManagedVersioned {
    const NAME: &CStr = VERSIONED.0;

    fn new(tensor: DlTensor, minor: u32, flags: u64) -> Self {
        let version = Version { major: VERSION.0, minor: VERSION.1.min(minor) };
        ManagedVersioned { version, context: ptr::null_mut(), deleter: Some(delete), flags, tensor }
    }

    fn tensor(&mut self) -> &mut DlTensor {
        &mut self.tensor
    }

    fn context(&mut self) -> &mut *mut c_void {
        &mut self.context
    }
}

impl Layout for Managed {
    const NAME: &CStr = UNVERSIONED.0;

    fn new(tensor: DlTensor, _minor: u32, _flags: u64) -> Self {
        Managed { tensor, context: ptr::null_mut(), deleter: Some(delete) }
    }

    fn tensor(&mut self) -> &mut DlTensor {
        &mut self.tensor
    }

    fn context(&mut self) -> &mut *mut c_void {
        &mut self.context
    }
}

unsafe extern "C" fn delete<T: Layout>(managed: *mut T) {
    if !managed.is_null() {
        // SAFETY: `capsule` put the box's pointer there, and DLPack has the deleter called once.
        drop(unsafe { Box::from_raw((*(*managed).context()).cast::<Exported<T>>()) });
    }
}

/// The capsule's destructor: no consumer has taken what it points to, unless it has another name.
unsafe extern "C" fn forget<T: Layout>(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls it with the capsule; a name that fits says that the pointer is still the capsule's.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) == 1 {
            delete::<T>(ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast());
        }
    }
}

/// A tensor's part of DLPack's structures.
struct Described {
    tensor: DlTensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
    loan: Loan,
}

fn described(py: Python<'_>, x: &Tensor, queue: Option<u64>) -> PyResult<Described> {
    let dtype = dlpack::element(x.dtype())
        .ok_or_else(|| PyBufferError::new_err(format!("DLPack has no code for {}", crate::dtype::name_of(x.dtype()))))?;
    let loan = py.released(|| x.buffer().and_then(|buffer| Ok(buffer.lend(queue)?))).or_raise(py)?;
    let shape: Vec<i64> = x.shape().into_iter().map(|size| size as i64).collect();
    let mut strides = vec![1_i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    let device = device_of(py, x)?;
    let ndim = shape.len() as i32;
    let data = ptr::with_exposed_provenance_mut::<c_void>(loan.address() as usize);
    let tensor = DlTensor { data, device, ndim, dtype, shape: ptr::null_mut(), strides: ptr::null_mut(), byte_offset: 0 };
    Ok(Described { tensor, shape, strides, loan })
}

/// Where DLPack says that the tensor's memory is.
fn device_of(py: Python<'_>, x: &Tensor) -> PyResult<dlpack::Device> {
    let device = x.device().or_raise(py)?;
    let id = device.name().rsplit_once(':').and_then(|(_, id)| id.parse().ok()).unwrap_or(0); // DEFAULT: a backend's only device has no number
    match device.backend() {
        "cpu" => Ok(dlpack::Device { kind: dlpack::CPU, id: 0 }),
        "cuda" => Ok(dlpack::Device { kind: dlpack::CUDA, id }),
        backend => {
            let message = format!("memory of {device} has no address that DLPack's consumers know ({backend})");
            Err(PyBufferError::new_err(format!("{message}\n help: `x.cpu()` first, or ask with `dl_device=(1, 0)` for a copy on the CPU")))
        }
    }
}

fn capsule<T: Layout>(py: Python<'_>, of: Described, minor: u32, flags: u64) -> PyResult<Py<PyAny>> {
    let Described { tensor, shape, strides, loan } = of;
    let mut exported = Box::new(Exported { managed: T::new(tensor, minor, flags), shape, strides, _loan: loan });
    let shape = exported.shape.as_mut_ptr();
    let strides = exported.strides.as_mut_ptr();
    let tensor = exported.managed.tensor();
    (tensor.shape, tensor.strides) = (shape, strides);
    let exported = Box::into_raw(exported);
    // SAFETY: a box that was just made; the capsule's destructor or the consumer's call of the deleter drops it.
    unsafe {
        *(*exported).managed.context() = exported.cast();
        let capsule = ffi::PyCapsule_New((&raw mut (*exported).managed).cast(), T::NAME.as_ptr(), Some(forget::<T>));
        if capsule.is_null() {
            drop(Box::from_raw(exported));
        }
        Ok(Bound::from_owned_ptr_or_err(py, capsule)?.unbind())
    }
}

/// The queue that the consumer's `stream` names; `None` where nothing is to be ordered.
fn queue_of(py: Python<'_>, stream: Option<&Bound<'_, PyAny>>, kind: i32) -> PyResult<Option<u64>> {
    let number = match stream {
        None => None,
        Some(given) if given.is_instance_of::<PyInt>() && !given.is_instance_of::<PyBool>() => Some(given.extract::<i64>()?),
        Some(given) => return Err(PyTypeError::new_err(format!("`stream` is an integer or None, not {}", given.get_type().name()?))),
    };
    match (kind, number) {
        (dlpack::CUDA, None) => Ok(Some(1)),
        (dlpack::CUDA, Some(-1)) => Ok(None),
        (dlpack::CUDA, Some(0)) => {
            let cause = "`stream=0` may be the legacy default stream or the thread's own";
            Err(argument(py, cause, "give 1 for the legacy default stream, 2 for the thread's own, or a stream's handle"))
        }
        (dlpack::CUDA, Some(number)) => {
            let queue =
                u64::try_from(number).map_err(|_| argument(py, format!("`stream={number}` is no stream"), "give -1, 1, 2 or a handle"))?;
            Ok(Some(queue))
        }
        (_, None) => Ok(None),
        (_, Some(number)) => {
            Err(argument(py, format!("`stream={number}`, but the memory is the CPU's"), "leave `stream` out, or give None"))
        }
    }
}

#[pymethods]
impl PyTensor {
    /// A capsule of DLPack with the tensor's memory, which is not copied: what `from_dlpack` of other libraries asks for.
    ///
    /// The memory is read-only, for tensors are values: capsules of version 1 (`max_version=(1, 0)` or newer) say so, older ones cannot. With
    /// `copy=True` it is the consumer's own. `dl_device=(1, 0)` asks for the CPU, which takes a copy from other devices. `stream` is a CUDA stream
    /// (None and 1: the legacy default stream, 2: the thread's own, -1: no order wanted) that waits for the value; on the CPU it is None.
    /// Raises BufferError for what cannot be given: a tensor with `requires_grad`, another device, a copy where `copy=False`.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.tensor([1.0, 2.0])
    /// >>> unigrad.from_dlpack(x).tolist()
    /// [1.0, 2.0]
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__(
        &self,
        py: Python<'_>,
        stream: Option<&Bound<'_, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Py<PyAny>> {
        let x = self.tensor();
        if x.needs_grad() {
            return Err(PyBufferError::new_err("a tensor that requires a gradient is not exchanged\n help: `x.detach()` first"));
        }
        let to_cpu = dl_device == Some((dlpack::CPU, 0));
        let is_on_cpu = x.device().or_raise(py)?.backend() == "cpu";
        let moves = to_cpu && !is_on_cpu;
        if moves && copy == Some(false) {
            return Err(PyBufferError::new_err("`copy=False`, but memory of another device comes to the CPU by a copy"));
        }
        if let Some((kind, id)) = dl_device
            && !moves
        {
            let own = device_of(py, x)?;
            if (own.kind, own.id) != (kind, id) {
                let name = dlpack::device_name(kind);
                return Err(PyBufferError::new_err(format!(
                    "`dl_device=({kind}, {id})` ({name}) is not where the tensor is, ({}, {})\n help: `x.to(device)` first",
                    own.kind, own.id
                )));
            }
        }
        let (x, is_copied) = match (moves, copy == Some(true)) {
            (true, _) => (super::import::on_cpu(py, x)?, true),
            (false, true) => (super::copied(py, x)?, true),
            (false, false) => (x.clone(), false),
        };
        let kind = if moves || is_on_cpu { dlpack::CPU } else { device_of(py, &x)?.kind };
        // A stream that was meant for the device says nothing on the CPU, whose memory is there when it is given.
        let queue = if moves { None } else { queue_of(py, stream, kind)? };
        let described = described(py, &x, queue)?;
        match max_version {
            Some((1.., minor)) => {
                let minor = if max_version.is_some_and(|(major, _)| major > VERSION.0) { VERSION.1 } else { minor };
                capsule::<ManagedVersioned>(py, described, minor, if is_copied { dlpack::IS_COPIED } else { dlpack::READ_ONLY })
            }
            _ => capsule::<Managed>(py, described, 0, 0),
        }
    }

    /// Where the memory is, by DLPack's numbers: `(1, 0)` is the CPU, `(2, n)` the CUDA device `n`.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(2).__dlpack_device__()
    /// (1, 0)
    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        let x = self.tensor();
        match x.device().or_raise(py)?.backend() {
            "cpu" | "cuda" => device_of(py, x).map(|device| (device.kind, device.id)),
            // Where its memory has no address that others know, what is given is a copy on the CPU.
            backend => {
                let kind = match backend {
                    "opencl" => 4,
                    "wgpu" => 7,
                    "metal" => 8,
                    "hip" => 10,
                    _ => return device_of(py, x).map(|device| (device.kind, device.id)),
                };
                Ok((kind, PyDevice(x.device().or_raise(py)?).number()))
            }
        }
    }
}

/// Whether an object is a capsule.
pub(super) fn is_capsule(given: &Bound<'_, PyAny>) -> bool {
    given.is_instance_of::<PyCapsule>()
}
