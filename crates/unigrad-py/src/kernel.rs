//! Kernels that the user wrote, in a device's language or in kernel IR: `unigrad.CustomKernel`.
//!
//! In: texts by language, inputs, numbers with their dtypes, the result's shape, a grid. Out: a tensor like any other.
//! Always: what a kernel's numbers are is said: a kernel reads them by their size.

use crate::{
    arguments::{Sizes, of_argument, tensors},
    callback::{Argument, Callback},
    device::PyDevice,
    dtype::PyDType,
    error::{OrRaise, argument},
    exit::Release,
    tensor::{PyTensor, made},
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt},
};
use std::{collections::BTreeMap, path::PathBuf};
use unigrad::tensor::{CompiledKernel, CustomKernel, DType, Literal, Tensor};

/// A program that you wrote, as an op: `CustomKernel(name, block, sources)`.
///
/// `block` are the threads of a workgroup, up to three numbers. `sources` has a text for each language: `"ir"` (kernel IR, which every device takes),
/// `"cuda"`, `"hip"`, `"opencl"`, `"msl"`, `"wgsl"`; a value may be a `pathlib.Path` of a file. A device takes the text in its own language, else the
/// kernel IR. The program's parameters are, in order: the inputs, the output, the numbers. `backward(inputs, output, dy)` gives a gradient (or `None`)
/// for each input.
///
/// >>> import unigrad
/// >>> double = unigrad.CustomKernel("double", 64, {"ir": '''kernel double(x: [f32], y: mut [f32], n: u32) threads(64, 1, 1) {
/// ...     %0 = param n
/// ...     %1 = group.x
/// ...     %2 = thread.x
/// ...     %3 = mul u32 %1, 64
/// ...     %i = add u32 %3, %2
/// ...     %5 = lt u32 %i, %0
/// ...     if %5 {
/// ...         %6 = load f32 x[%i]
/// ...         %7 = add f32 %6, %6
/// ...         store y[%i], %7
/// ...     }
/// ... }'''}, backward=lambda inputs, output, dy: dy * 2)
/// >>> x = unigrad.arange(3, dtype=unigrad.float32)
/// >>> double(x, shape=3, grid=1, scalars=[(3, unigrad.uint32)]).tolist()
/// [0.0, 2.0, 4.0]
#[pyclass(name = "CustomKernel", module = "unigrad", frozen)]
pub(crate) struct PyCustomKernel {
    name: String,
    kernel: CustomKernel,
}

/// Up to three numbers of threads or workgroups.
fn three(py: Python<'_>, what: &str, sizes: &Sizes) -> PyResult<[u32; 3]> {
    let mut all = [1; 3];
    let help = "give one to three numbers above 0";
    if sizes.0.is_empty() || sizes.0.len() > all.len() {
        return Err(argument(py, format!("`{what}` has {} numbers", sizes.0.len()), help));
    }
    for (place, size) in all.iter_mut().zip(&sizes.0) {
        *place = match u32::try_from(*size) {
            Ok(size) if size > 0 => size,
            _ => return Err(argument(py, format!("`{what}` has the number {size}"), help)),
        };
    }
    Ok(all)
}

/// A number for a kernel: with its dtype, or a float for `float32` and an integer for `int32`.
fn number(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<Literal> {
    let (value, dtype) = match given.extract::<(Bound<'_, PyAny>, PyDType)>() {
        Ok((value, dtype)) => (value, Some(dtype.0)),
        Err(_) => (given.clone(), None),
    };
    let wanted = || PyTypeError::new_err("`scalars` has numbers, or pairs of a number and its dtype");
    if value.is_instance_of::<PyFloat>() {
        return Ok(Literal::float(dtype.unwrap_or(DType::F32), value.extract()?));
    }
    if !value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
        return Err(wanted());
    }
    let dtype = dtype.unwrap_or(if value.is_instance_of::<PyBool>() { DType::Bool } else { DType::I32 });
    let value: i64 = value.extract()?;
    if dtype.is_float() {
        return Ok(Literal::float(dtype, value as f64));
    }
    crate::tensor::data::int_literal(py, dtype, value)
}

#[pymethods]
impl PyCustomKernel {
    #[new]
    #[pyo3(signature = (name, block, sources, *, entry=None, backward=None))]
    fn new(
        py: Python<'_>,
        name: String,
        block: Sizes,
        sources: &Bound<'_, PyDict>,
        entry: Option<&str>,
        backward: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCustomKernel> {
        const LANGUAGES: [&str; 6] = ["ir", "cuda", "hip", "opencl", "msl", "wgsl"];
        let mut kernel = CustomKernel::new(&name, three(py, "block", &block)?);
        if sources.is_empty() {
            return Err(PyValueError::new_err("`sources` is empty: give a text for a language, or kernel IR (\"ir\")"));
        }
        for (language, text) in sources {
            let language: String = language.extract()?;
            if !LANGUAGES.contains(&language.as_str()) {
                return Err(argument(py, format!("`sources` has the language {language:?}"), &format!("choose one of {LANGUAGES:?}")));
            }
            let text = match text.extract::<String>() {
                Ok(text) => text,
                Err(_) => std::fs::read_to_string(text.extract::<PathBuf>()?)?,
            };
            kernel = kernel.source(&language, text);
        }
        if let Some(entry) = entry {
            kernel = kernel.entry(entry);
        }
        if let Some(backward) = backward.filter(|backward| !backward.is_none()) {
            let callback = of_argument(py, "backward", Callback::new(backward, format!("the gradient of the kernel `{name}`")))?;
            kernel = kernel.with_gradient(move |inputs: &[Tensor], output: &Tensor, dy: &Tensor| {
                callback.gradients(&[Argument::Tensors(inputs), Argument::Tensor(output), Argument::Tensor(dy)], inputs.len())
            });
        }
        Ok(PyCustomKernel { name, kernel })
    }

    /// What the program makes of the inputs when `grid` workgroups run it: a tensor of this shape, and of this dtype (the first input's without one).
    /// `scalars` are numbers with their dtypes: `[(1000, unigrad.uint32)]`; without one a float is `float32`, an integer `int32`. Without inputs `device` says where.
    #[pyo3(signature = (*inputs, shape, grid, dtype=None, scalars=None, device=None))]
    #[expect(clippy::too_many_arguments, reason = "settings are keywords")]
    fn __call__(
        &self,
        py: Python<'_>,
        inputs: Vec<PyRef<'_, PyTensor>>,
        shape: Sizes,
        grid: Sizes,
        dtype: Option<PyDType>,
        scalars: Option<Vec<Bound<'_, PyAny>>>,
        device: Option<PyDevice>,
    ) -> PyResult<PyTensor> {
        let inputs = tensors(&inputs);
        let dtype = match (dtype, inputs.first()) {
            (Some(dtype), _) => dtype.0,
            (None, Some(first)) => first.dtype(),
            (None, None) => DType::F32,
        };
        let device = match inputs.first() {
            Some(first) => first.device().or_raise(py)?,
            None => crate::device::or_default(py, device)?,
        };
        let scalars = scalars.unwrap_or_default().iter().map(|given| number(py, given)).collect::<PyResult<Vec<_>>>()?;
        let grid = three(py, "grid", &grid)?;
        let inputs: Vec<&Tensor> = inputs.iter().collect();
        made(py, || self.kernel.apply_on(&device, &inputs, &scalars, shape.0, dtype, grid))
    }

    /// Compiles the program for a device before it is used: inputs, numbers and output of these dtypes.
    #[pyo3(signature = (device, inputs, output, scalars=None))]
    fn compile(
        &self,
        py: Python<'_>,
        device: PyDevice,
        inputs: Vec<PyDType>,
        output: PyDType,
        scalars: Option<Vec<PyDType>>,
    ) -> PyResult<PyCompiledKernel> {
        let plain = |dtypes: Vec<PyDType>| dtypes.into_iter().map(|dtype| dtype.0).collect::<Vec<DType>>();
        let (inputs, scalars) = (plain(inputs), plain(scalars.unwrap_or_default()));
        py.released(|| self.kernel.compile(&device.0, &inputs, &scalars, output.0)).map(PyCompiledKernel).or_raise(py)
    }

    fn __repr__(&self) -> String {
        format!("CustomKernel({:?})", self.name)
    }
}

/// A kernel that is compiled for a device: its machine code, and what it takes of a compute unit, as far as the driver tells.
#[pyclass(name = "CompiledKernel", module = "unigrad", frozen)]
pub(crate) struct PyCompiledKernel(CompiledKernel);

#[pymethods]
impl PyCompiledKernel {
    /// The machine code, or what the driver has in its place; `None` where nothing is compiled.
    #[getter]
    fn binary<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.0.binary().map(|binary| PyBytes::new(py, binary))
    }

    /// The part, from 0 to 1, of a compute unit's threads that can be at work in it at a time.
    #[getter]
    fn occupancy(&self) -> Option<f64> {
        self.0.occupancy()
    }

    /// All that the driver tells, by name: `language`, `source`, `registers`, `shared_bytes`, `local_bytes`.
    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Option<BTreeMap<&'static str, Bound<'py, PyAny>>>> {
        let Some(told) = self.0.details() else { return Ok(None) };
        Ok(Some(BTreeMap::from([
            ("language", told.language.into_pyobject(py)?.into_any()),
            ("source", told.source.as_str().into_pyobject(py)?.into_any()),
            ("registers", told.registers.into_pyobject(py)?.into_any()),
            ("shared_bytes", told.shared_bytes.into_pyobject(py)?.into_any()),
            ("local_bytes", told.local_bytes.into_pyobject(py)?.into_any()),
        ])))
    }
}
