//! CUDA's array interface (Numba's, version 3): a dictionary that says where an array's memory is; and the bare address.
//!
//! In: objects with `__cuda_array_interface__`; tensors on a CUDA device. Out: tensors of their memory; dictionaries.
//! Always: the object is kept as long as a tensor needs its memory, and a tensor's memory as long as the tensor's object lives.

use super::{
    Held,
    import::{Foreign, row_major},
};
use crate::{
    error::{OrRaise, argument},
    exit::Release,
    tensor::PyTensor,
};
use pyo3::{
    exceptions::{PyAttributeError, PyBufferError},
    prelude::*,
    types::PyDict,
};
use unigrad::{
    device::Device,
    tensor::{DType, Tensor},
};

const NAME: &str = "__cuda_array_interface__";

/// Whether an object has CUDA's interface.
pub(crate) fn is_array(given: &Bound<'_, PyAny>) -> bool {
    given.hasattr(NAME).unwrap_or(false)
}

/// NumPy's type strings; the machine's byte order is put before.
const TYPES: &[(&str, DType)] = &[
    ("b1", DType::Bool),
    ("u1", DType::U8),
    ("i1", DType::I8),
    ("u2", DType::U16),
    ("i2", DType::I16),
    ("u4", DType::U32),
    ("i4", DType::I32),
    ("u8", DType::U64),
    ("i8", DType::I64),
    ("f2", DType::F16),
    ("f4", DType::F32),
    ("f8", DType::F64),
];

fn dtype_of(text: &str) -> Option<DType> {
    let other = if cfg!(target_endian = "little") { '>' } else { '<' };
    let rest = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    let is_one_byte = rest.ends_with('1');
    let found = TYPES.iter().find(|(known, _)| *known == rest).map(|(_, dtype)| *dtype);
    found.filter(|_| is_one_byte || !text.starts_with(other))
}

/// The stream that the interface names; `None` where nothing is to be waited for.
fn stream_of(py: Python<'_>, interface: &Bound<'_, PyDict>) -> PyResult<Option<u64>> {
    match interface.get_item("stream")?.filter(|stream| !stream.is_none()) {
        None => Ok(None),
        Some(stream) => match stream.extract::<u64>()? {
            0 => Err(argument(
                py,
                "`stream` is 0 in the array's interface, which is two streams",
                "1 is the legacy default stream, 2 the thread's own",
            )),
            stream => Ok(Some(stream)),
        },
    }
}

/// A tensor of the object's memory; see [`Foreign::tensor`] for `copy`.
pub(super) fn taken(given: &Bound<'_, PyAny>, copy: Option<bool>) -> PyResult<Tensor> {
    let py = given.py();
    let interface = given.getattr(NAME)?.cast_into::<PyDict>()?;
    let item =
        |name: &str| interface.get_item(name)?.ok_or_else(|| PyBufferError::new_err(format!("the array's CUDA interface has no `{name}`")));
    let text: String = item("typestr")?.extract()?;
    let dtype = dtype_of(&text).ok_or_else(|| PyBufferError::new_err(format!("there is no dtype for elements of the type {text:?}")))?;
    let shape: Vec<usize> = item("shape")?.extract()?;
    let (address, _): (Option<u64>, bool) = item("data")?.extract()?;
    let address = address.unwrap_or(0); // DEFAULT: an empty array has no address
    if interface.get_item("mask")?.is_some_and(|mask| !mask.is_none()) {
        return Err(PyBufferError::new_err("the array has a mask\n help: fill what is masked first"));
    }
    let size = dtype.size() as i64;
    let strides = match interface.get_item("strides")?.filter(|strides| !strides.is_none()) {
        None => row_major(&shape),
        Some(strides) => {
            let bytes: Vec<i64> = strides.extract()?;
            if bytes.iter().any(|stride| stride % size != 0) {
                return Err(PyBufferError::new_err("the array's elements are not at multiples of their size"));
            }
            bytes.into_iter().map(|stride| stride / size).collect()
        }
    };
    let device = py.released(|| device_of(address)).or_raise(py)?;
    if let Some(stream) = stream_of(py, &interface)? {
        device.wait_for_queue(stream).or_raise(py)?;
    }
    let owner = given.clone().unbind();
    // SAFETY: the interface: the memory is there as long as the object.
    unsafe { Foreign { device, dtype, shape, strides, address }.tensor(py, owner, copy) }
}

/// The device that knows an address; the first one for none.
fn device_of(address: u64) -> Result<Device, unigrad::Error> {
    let first = Device::open("cuda")?;
    let mut all = Device::all().devices.into_iter().filter(|info| info.backend == "cuda").map(|info| format!("cuda:{}", info.ordinal));
    let knows = |device: &Device| {
        // SAFETY: nothing reads the memory; a byte of it is asked for and given back.
        address == 0 || unsafe { device.adopt(address, 1, Box::new(())) }.is_ok()
    };
    if knows(&first) {
        return Ok(first);
    }
    all.find_map(|name| Device::open(&name).ok().filter(knows)).map_or(Ok(first), Ok)
}

#[pymethods]
impl PyTensor {
    /// CUDA's array interface, version 3, for Numba, CuPy and others; only of tensors on a CUDA device. The memory is read-only.
    #[getter]
    fn __cuda_array_interface__<'py>(slf: Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyDict>> {
        let py = slf.py();
        let x = slf.get().tensor();
        let device = x.device().or_raise(py)?;
        if device.backend() != "cuda" {
            return Err(PyAttributeError::new_err(format!("{NAME}: the tensor is on {device}, not on a CUDA device")));
        }
        if x.needs_grad() {
            return Err(PyAttributeError::new_err(format!("{NAME}: the tensor requires a gradient\n help: `x.detach()` first")));
        }
        let Some((text, _)) = TYPES.iter().find(|(_, dtype)| *dtype == x.dtype()) else {
            return Err(PyAttributeError::new_err(format!("{NAME}: it has no {}", crate::dtype::name_of(x.dtype()))));
        };
        // Work of the legacy default stream waits for the value, and the memory's next user for that stream.
        let loan = py.released(|| x.buffer().and_then(|buffer| Ok(buffer.lend(Some(1))?))).or_raise(py)?;
        let order = if x.dtype().size() == 1 {
            "|"
        } else if cfg!(target_endian = "little") {
            "<"
        } else {
            ">"
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", pyo3::types::PyTuple::new(py, x.shape())?)?;
        interface.set_item("typestr", format!("{order}{text}"))?;
        interface.set_item("data", (loan.address(), true))?;
        interface.set_item("strides", py.None())?;
        interface.set_item("stream", 1)?;
        let held = Held::of(py, loan)?;
        py.import("weakref")?.call_method1("finalize", (&slf, held.getattr(py, "keep")?))?;
        Ok(interface)
    }

    /// Whether it is on a GPU by CUDA.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).is_cuda
    /// False
    #[getter]
    fn is_cuda(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.tensor().device().or_raise(py)?.backend() == "cuda")
    }

    /// Where the value's memory begins: computes it. The address holds until something is written to the tensor; 0 without elements. On the CPU and on
    /// CUDA, a `RuntimeError` elsewhere.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2).data_ptr() != 0, unigrad.ones(0).data_ptr()
    /// (True, 0)
    fn data_ptr(&self, py: Python<'_>) -> PyResult<u64> {
        let device = self.tensor().device().or_raise(py)?;
        if !matches!(device.backend(), "cpu" | "cuda") {
            let message = format!("data_ptr: memory of {device} has no address that others know\n help: `x.cpu()` first");
            return Err(crate::error::exception(py, unigrad::ErrorKind::Device, message));
        }
        if self.tensor().numel() == 0 {
            return Ok(0);
        }
        let loan = py.released(|| self.tensor().buffer().and_then(|buffer| Ok(buffer.lend(None)?))).or_raise(py)?;
        Ok(loan.address())
    }
}
