//! Python's buffer protocol, both ways.
//!
//! In: objects with a buffer; requests for a tensor's. Out: tensors that use the buffer; read-only buffers of a tensor's memory.
//! Always: a buffer that is given out holds the tensor's memory until it is released, whatever becomes of the tensor.

use super::import::Foreign;
use crate::{
    error::{OrRaise, argument},
    exit::Release,
    tensor::{
        PyTensor,
        data::{buffer_of, dtype_of},
    },
};
use pyo3::{exceptions::PyBufferError, ffi, prelude::*, types::PyDict};
use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
};
use unigrad::{
    device::{Buffer, Device},
    tensor::{DType, Tensor},
};

/// A tensor of an object's buffer on the CPU; see [`Foreign::tensor`] for `copy`.
pub(super) fn shared(given: &Bound<'_, PyAny>, cpu: Device, copy: Option<bool>) -> PyResult<Tensor> {
    let py = given.py();
    // SAFETY: an attached interpreter, and a live object.
    if unsafe { ffi::PyObject_CheckBuffer(given.as_ptr()) } != 1 {
        let kind = given.get_type().name()?;
        return Err(pyo3::exceptions::PyTypeError::new_err(format!(
            "`array` is an array of NumPy or another object with a buffer, not {kind}"
        )));
    }
    // A buffer without axes has no sizes, which PyO3 refuses: of an array with one axis it has.
    if given.getattr("ndim").and_then(|ndim| ndim.extract::<usize>()).is_ok_and(|ndim| ndim == 0)
        && let Ok(one) = given.call_method1("reshape", (1,))
    {
        return Ok(shared(&one, cpu, copy)?.reshape(Vec::<i64>::new()));
    }
    let buffer = buffer_of(given)?;
    let dtype = dtype_of(py, &buffer)?;
    let size = dtype.size() as isize;
    // One without axes has neither sizes nor strides.
    let axes = buffer.dimensions();
    let (shape, strides) = if axes == 0 { (Vec::new(), Vec::new()) } else { (buffer.shape().to_vec(), buffer.strides().to_vec()) };
    let is_between = strides.iter().zip(&shape).any(|(stride, n)| *n > 1 && stride % size != 0);
    if buffer.suboffsets().is_some() || is_between {
        return match copy {
            Some(false) => Err(PyBufferError::new_err("the array's elements are not at multiples of their size\n help: allow a copy")),
            _ => crate::tensor::data::of_object(given, None, cpu),
        };
    }
    let strides = strides.iter().map(|stride| (stride / size) as i64).collect();
    let address = buffer.buf_ptr().expose_provenance() as u64;
    let foreign = Foreign { device: cpu, dtype, shape, strides, address };
    // SAFETY: Python: the memory is there until the buffer is released.
    unsafe { foreign.tensor(py, buffer, copy) }
}

/// The letter of Python's `struct` for a dtype, in the sizes of this machine's C.
fn format_of(dtype: DType) -> Option<&'static CStr> {
    // NumPy has a dtype for each of C's types; `long` is the one that it calls int64.
    let long_is_wide = size_of::<std::ffi::c_long>() == 8;
    Some(match dtype {
        DType::Bool => c"?",
        DType::U8 => c"B",
        DType::I8 => c"b",
        DType::U16 => c"H",
        DType::I16 => c"h",
        DType::U32 => c"I",
        DType::I32 => c"i",
        DType::U64 => {
            if long_is_wide {
                c"L"
            } else {
                c"Q"
            }
        }
        DType::I64 => {
            if long_is_wide {
                c"l"
            } else {
                c"q"
            }
        }
        DType::F16 => c"e",
        DType::F32 => c"f",
        DType::F64 => c"d",
        DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => return None,
    })
}

/// What a buffer that was given out needs until it is released.
struct Given {
    shape: Vec<isize>,
    strides: Vec<isize>,
    _memory: Buffer,
}

/// Where an empty tensor's elements would be.
static NOTHING: u64 = 0;

#[pymethods]
impl PyTensor {
    /// # Safety
    /// Python's: `view` is there to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, PyTensor>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let py = slf.py();
        if view.is_null() {
            return Err(PyBufferError::new_err("a buffer without a place for it"));
        }
        // SAFETY: Python's promise; a call that gives an error leaves no object there.
        unsafe { (*view).obj = ptr::null_mut() };
        let x = slf.get().tensor();
        if x.needs_grad() {
            return Err(PyBufferError::new_err("a tensor that requires a gradient gives no buffer\n help: `x.detach()` first"));
        }
        if flags & ffi::PyBUF_WRITABLE == ffi::PyBUF_WRITABLE {
            return Err(PyBufferError::new_err("a tensor is a value: its buffer is read-only\n help: `x.numpy()` is a copy"));
        }
        let format = format_of(x.dtype()).ok_or_else(|| {
            let name = crate::dtype::name_of(x.dtype());
            PyBufferError::new_err(format!("Python's buffers have no {name}\n help: cast it: `x.float()`"))
        })?;
        let shape: Vec<isize> = x.shape().into_iter().map(|size| size as isize).collect();
        let is_vector = shape.iter().filter(|size| **size != 1).count() <= 1;
        if flags & ffi::PyBUF_F_CONTIGUOUS == ffi::PyBUF_F_CONTIGUOUS && !is_vector {
            return Err(PyBufferError::new_err("a tensor's elements are row-major, not column-major"));
        }
        let device = x.device().or_raise(py)?;
        let memory = py.released(|| -> Result<Buffer, unigrad::Error> {
            let memory = x.buffer()?;
            if !device.completes_at_once() {
                device.synchronize()?;
            }
            Ok(memory)
        });
        let memory = memory.or_raise(py)?;
        let start = if memory.is_empty() { Some((&raw const NOTHING).cast::<u8>()) } else { device.host_bytes(memory.as_slice()) };
        let Some(start) = start else {
            return Err(PyBufferError::new_err(format!("the host does not see memory of {device}\n help: `x.cpu()` first")));
        };
        let size = x.dtype().size() as isize;
        let mut strides = vec![size; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis] * shape[axis].max(1);
        }
        let len = memory.len() as isize;
        let given = Box::into_raw(Box::new(Given { shape, strides, _memory: memory }));
        // SAFETY: Python's promise; the box is dropped when the buffer is released.
        unsafe {
            let (shape, strides) = (&mut (*given).shape, &mut (*given).strides);
            let has = |flag: c_int| flags & flag == flag;
            (*view).buf = start.cast_mut().cast::<c_void>();
            (*view).len = len;
            (*view).readonly = 1;
            (*view).itemsize = size;
            (*view).format = if has(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { ptr::null_mut() };
            (*view).ndim = if has(ffi::PyBUF_ND) { shape.len() as c_int } else { 1 };
            (*view).shape = if has(ffi::PyBUF_ND) && !shape.is_empty() { shape.as_mut_ptr() } else { ptr::null_mut() };
            (*view).strides = if has(ffi::PyBUF_STRIDES) && !shape.is_empty() { strides.as_mut_ptr() } else { ptr::null_mut() };
            (*view).suboffsets = ptr::null_mut();
            (*view).internal = given.cast();
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    /// # Safety
    /// Python's: `view` is what was filled, once.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: Python's promise.
        unsafe {
            if !view.is_null() && !(*view).internal.is_null() {
                drop(Box::from_raw((*view).internal.cast::<Given>()));
                (*view).internal = ptr::null_mut();
            }
        }
    }

    /// NumPy's way to ask for an array: the tensor's memory, read-only, where the host sees it and the dtype is the tensor's; else a copy.
    /// With `copy=False` what takes a copy is an error, with `copy=True` the array is its own.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(slf: Bound<'py, PyTensor>, dtype: Option<&Bound<'py, PyAny>>, copy: Option<bool>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let x = slf.get().tensor();
        let numpy = py.import("numpy")?;
        let own = numpy.call_method1("dtype", (crate::dtype::name_of(x.dtype()),));
        let asked = dtype.filter(|dtype| !dtype.is_none()).map(|dtype| numpy.call_method1("dtype", (dtype,))).transpose()?;
        let is_other = match (&own, &asked) {
            (Ok(own), Some(asked)) => !own.eq(asked)?,
            _ => asked.is_some(),
        };
        let on_host = matches!(x.device().or_raise(py)?.backend(), "cpu" | "metal");
        if copy == Some(false) && (is_other || !on_host || format_of(x.dtype()).is_none()) {
            let cause = if is_other { "the dtype is another one" } else { "NumPy does not see the memory" };
            return Err(argument(py, format!("`copy=False`, but {cause}"), "leave `copy` out, or give None"));
        }
        let array = if own.is_err() && asked.is_some() {
            // NumPy has no such dtype, and all of its values are in the next one.
            PyTensor::from(x.detach().cast(DType::F32)).numpy(py)?
        } else if copy == Some(true) || !on_host || format_of(x.dtype()).is_none() {
            PyTensor::from(x.detach()).numpy(py)?
        } else {
            // The detached value is an object of its own, which the buffer keeps.
            let plain = Bound::new(py, PyTensor::from(x.detach()))?;
            let memory = py.import("builtins")?.call_method1("memoryview", (plain,))?;
            numpy.call_method1("asarray", (memory,))?
        };
        match asked.filter(|_| is_other) {
            None => Ok(array),
            Some(dtype) => {
                let how = PyDict::new(py);
                how.set_item("copy", copy == Some(true))?;
                array.call_method("astype", (dtype,), Some(&how))
            }
        }
    }
}
