//! `unigrad.Quantized`: a tensor in a storage format of fewer bits, and reads and writes at positions that are not known while an op is recorded.

use super::{PyTensor, made};
use crate::{
    arguments::{Sizes, of_argument},
    device::{PyDevice, or_default},
    error::{OrRaise, argument},
    exit::Release,
    origin::here,
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyBytes};
use unigrad::tensor::{DType, Format, Quantized, Tensor};

/// A tensor in a storage format: values are unpacked by what reads them, as a matrix product.
///
/// >>> import unigrad
/// >>> weight = unigrad.ones(2, 32).quantize("q4_0")
/// >>> weight.format, weight.shape, weight.nbytes
/// ('q4_0', (2, 32), 36)
/// >>> (unigrad.ones(1, 32) @ weight.dequantize().t()).tolist()
/// [[32.0, 32.0]]
#[pyclass(name = "Quantized", module = "unigrad", frozen)]
pub(crate) struct PyQuantized(Quantized);

/// A format by its name: `q4_0`, or a dtype's.
fn format_of(py: Python<'_>, name: &str) -> PyResult<Format> {
    if name == Format::Q4_0.name() {
        return Ok(Format::Q4_0);
    }
    crate::dtype::named(name)
        .map(Format::Plain)
        .ok_or_else(|| argument(py, format!("argument 'format' is {name:?}"), "choose 'q4_0', or the name of a dtype"))
}

#[pymethods]
impl PyQuantized {
    /// A tensor from its bytes, as files have them (`q4_0`: ggml's).
    #[staticmethod]
    #[pyo3(signature = (bytes, shape, format="q4_0", device=None))]
    fn from_bytes(py: Python<'_>, bytes: &[u8], shape: Sizes, format: &str, device: Option<PyDevice>) -> PyResult<PyQuantized> {
        let (format, device) = (format_of(py, format)?, or_default(py, device)?);
        Quantized::from_bytes(bytes, shape.0, format, &device).map(PyQuantized).or_raise(py)
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.0.format().name()
    }

    /// Sizes of what it stands for.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        pyo3::types::PyTuple::new(py, self.0.shape())
    }

    /// Bytes that it takes.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.0.format().bytes_for(self.0.shape()).map_err(|error| argument(py, error.cause, &error.help))
    }

    /// The bytes, as `from_bytes` takes them.
    fn tobytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &py.released(|| self.0.to_bytes()).or_raise(py)?))
    }

    /// The values, in a dtype (`float32` without one).
    #[pyo3(signature = (dtype=None))]
    fn dequantize(&self, py: Python<'_>, dtype: Option<crate::dtype::PyDType>) -> PyResult<PyTensor> {
        made(py, || self.0.dequantize(dtype.map_or(DType::F32, |dtype| dtype.0)))
    }

    fn __repr__(&self) -> String {
        format!("Quantized({:?}, format='{}')", self.0.shape(), self.0.format().name())
    }
}

/// A position: an integer, or a tensor of one.
fn position(py: Python<'_>, start: &Bound<'_, PyAny>, x: &Tensor) -> PyResult<Tensor> {
    if let Ok(tensor) = start.cast::<PyTensor>() {
        return Ok(tensor.get().tensor().clone());
    }
    let read = start.extract::<i64>().map_err(|_| PyTypeError::new_err("an integer, or a tensor of one, is wanted"));
    let number = of_argument(py, "start", read)?;
    Ok(Tensor::full_int([], number, DType::I64, &x.device().or_raise(py)?))
}

#[pymethods]
impl PyTensor {
    /// The values in a storage format, each rounded as the format has it: "q4_0" (ggml's blocks of 32 elements of 4 bits along the last axis), or a dtype's name.
    ///
    /// >>> import unigrad
    /// >>> unigrad.ones(4, 64).quantize("q4_0").nbytes
    /// 144
    #[pyo3(signature = (format="q4_0"))]
    fn quantize(&self, py: Python<'_>, format: &str) -> PyResult<PyQuantized> {
        let format = format_of(py, format)?;
        let _here = here(py);
        let x = self.tensor();
        py.released(|| x.quantize(format)).map(PyQuantized).or_raise(py)
    }

    /// `length` elements of an axis from a position that may change from step to step without a new plan: an integer, or a tensor of one.
    ///
    /// >>> import unigrad
    /// >>> unigrad.arange(6).dyn_slice(0, unigrad.tensor(2), 3).tolist()
    /// [2, 3, 4]
    fn dyn_slice(&self, py: Python<'_>, dim: isize, start: &Bound<'_, PyAny>, length: usize) -> PyResult<PyTensor> {
        let start = position(py, start, self.tensor())?;
        made(py, || self.tensor().dyn_slice(dim, &start, length))
    }

    /// The tensor with `update` written over it along an axis, from a position that may change from step to step without a new plan.
    ///
    /// >>> import unigrad
    /// >>> unigrad.zeros(4).dyn_update(0, unigrad.ones(2), 1).tolist()
    /// [0.0, 1.0, 1.0, 0.0]
    fn dyn_update(&self, py: Python<'_>, dim: isize, update: &PyTensor, start: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let start = position(py, start, self.tensor())?;
        made(py, || self.tensor().dyn_update(dim, update.tensor(), &start))
    }
}
