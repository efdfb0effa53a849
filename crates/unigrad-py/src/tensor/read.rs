//! Values as Python's own: numbers, lists, bytes, arrays of NumPy.
//!
//! Always: the interpreter's lock is free while the device computes. Lists are nested as the shape is.

use super::PyTensor;
use crate::{dtype, error::OrRaise, error::argument, exit::Release};
use pyo3::{
    IntoPyObjectExt,
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyByteArray, PyBytes, PyDict, PyList},
};
use unigrad::tensor::{DType, F8E4M3, F8E5M2, bf16, f16};

/// An element of a dtype: a float, or an integer (a bool is 0 or 1).
pub(super) fn scalar(dtype: DType, bytes: &[u8]) -> super::operators::Scalar {
    use super::operators::Scalar::{Float, Int};
    let mut wide = [0_u8; 8];
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let bits = u64::from_le_bytes(wide);
    match dtype {
        DType::Bool => Int((bits as u8 != 0).into()),
        DType::U8 => Int((bits as u8).into()),
        DType::I8 => Int((bits as i8).into()),
        DType::U16 => Int((bits as u16).into()),
        DType::I16 => Int((bits as i16).into()),
        DType::U32 => Int((bits as u32).into()),
        DType::I32 => Int((bits as i32).into()),
        DType::U64 => Int(bits.into()),
        DType::I64 => Int((bits as i64).into()),
        DType::F16 => Float(f16::from_bits(bits as u16).to_f64()),
        DType::BF16 => Float(bf16::from_bits(bits as u16).to_f64()),
        DType::F32 => Float(f32::from_bits(bits as u32).into()),
        DType::F64 => Float(f64::from_bits(bits)),
        DType::F8E4M3 => Float(F8E4M3::from_bits(bits as u8).to_f32().into()),
        DType::F8E5M2 => Float(F8E5M2::from_bits(bits as u8).to_f32().into()),
    }
}

/// Elements as a list of lists.
fn nested<'py>(py: Python<'py>, dtype: DType, bytes: &[u8], shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let Some((size, rest)) = shape.split_first() else {
        return match scalar(dtype, bytes) {
            super::operators::Scalar::Float(value) => value.into_bound_py_any(py),
            super::operators::Scalar::Int(value) if dtype == DType::Bool => Ok(PyBool::new(py, value != 0).to_owned().into_any()),
            super::operators::Scalar::Int(value) => value.into_bound_py_any(py),
        };
    };
    let list = PyList::empty(py);
    let part = rest.iter().product::<usize>() * dtype.size();
    for i in 0..*size {
        list.append(nested(py, dtype, bytes.get(i * part..(i + 1) * part).unwrap_or(&[]), rest)?)?;
    }
    Ok(list.into_any())
}

#[pymethods]
impl PyTensor {
    /// The values as nested lists of Python's numbers; of a tensor without axes the number.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor(3.0).tolist()
    /// 3.0
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let x = self.tensor();
        let bytes = py.released(|| x.to_bytes()).or_raise(py)?;
        nested(py, x.dtype(), &bytes, &x.shape())
    }

    /// The bytes of the elements in row-major order.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([1, 2], dtype=unigrad.uint8).tobytes()
    /// b'\x01\x02'
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let x = self.tensor();
        Ok(PyBytes::new(py, &py.released(|| x.to_bytes()).or_raise(py)?))
    }

    /// The values as an array of NumPy.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(2, 3).numpy().shape
    /// (2, 3)
    pub(crate) fn numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let x = self.tensor();
        let dtype = x.dtype();
        if dtype == DType::BF16 || dtype.only_stores() {
            let name = dtype::name_of(dtype);
            return Err(PyTypeError::new_err(format!("NumPy has no {name}\n help: cast it: `x.float().numpy()`")));
        }
        if x.needs_grad() {
            return Err(argument(py, "numpy() of a tensor that requires a gradient", "`detach()` it first"));
        }
        let bytes = py.released(|| x.to_bytes()).or_raise(py)?;
        let numpy = py.import("numpy")?;
        let kwargs = PyDict::new(py);
        kwargs.set_item("dtype", dtype::name_of(dtype))?;
        // Of bytes that are its own to change.
        let flat = numpy.call_method("frombuffer", (PyByteArray::new(py, &bytes),), Some(&kwargs));
        // NumPy reads no empty buffer.
        let flat = if bytes.is_empty() { numpy.call_method("empty", (0,), Some(&kwargs)) } else { flat }?;
        flat.call_method1("reshape", (x.shape(),))
    }
}
