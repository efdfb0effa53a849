//! How elements lie in memory, by PyTorch's names: `layout` and `memory_format`.
//!
//! In: what a program written for PyTorch asks for. Out: leave to go on, since a tensor here is its values, which are read row by row.
//! Never: another order in memory, or a sparse tensor: a program that asks for one gets an error, not a tensor that is none.

#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::{
    Borrowed,
    exceptions::{PyNotImplementedError, PyTypeError},
    prelude::*,
    sync::PyOnceLock,
};

/// How a tensor keeps its elements: `unigrad.strided`, all of them. There is no other layout.
///
/// >>> import unigrad
/// >>> unigrad.ones(2).layout
/// unigrad.strided
#[pyclass(name = "Layout", module = "unigrad", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct PyLayout;

/// In which order a tensor's elements lie: `unigrad.contiguous_format`, row by row, or `unigrad.preserve_format`, as in the tensor that is
/// copied, which is the same here.
///
/// >>> import unigrad
/// >>> unigrad.ones(2, 2).clone(memory_format=unigrad.contiguous_format).is_contiguous()
/// True
#[pyclass(name = "MemoryFormat", module = "unigrad", frozen, eq)]
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct PyMemoryFormat {
    /// As in the tensor that is copied.
    preserves: bool,
}

/// PyTorch's objects and names are known by their text: `torch.strided`, `strided`.
fn said(given: &Bound<'_, PyAny>, class: &str, kind: &str) -> PyResult<String> {
    let of = given.get_type().name()?.to_string();
    if of != class && of != "str" {
        return Err(PyTypeError::new_err(format!("{kind} is wanted, not {of}")));
    }
    let text = given.str()?.to_string();
    Ok(text.trim_start_matches("torch.").trim_start_matches("unigrad.").to_owned())
}

impl<'py> FromPyObject<'_, 'py> for PyLayout {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::LAYOUT;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<PyLayout> {
        if given.cast::<PyLayout>().is_ok() {
            return Ok(PyLayout);
        }
        match said(&given, "layout", "a layout (`unigrad.strided`)")?.as_str() {
            "strided" => Ok(PyLayout),
            other => {
                let help = "use `unigrad.strided`, or leave it out";
                Err(PyNotImplementedError::new_err(format!(
                    "{other:?} is no layout of tensors here, which keep all elements\n help: {help}"
                )))
            }
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for PyMemoryFormat {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::MEMORY_FORMAT;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<PyMemoryFormat> {
        if let Ok(known) = given.cast::<PyMemoryFormat>() {
            return Ok(*known.get());
        }
        match said(&given, "memory_format", "a memory format (`unigrad.contiguous_format`)")?.as_str() {
            "contiguous_format" => Ok(PyMemoryFormat { preserves: false }),
            "preserve_format" => Ok(PyMemoryFormat { preserves: true }),
            other => {
                let help = "use `unigrad.contiguous_format`, or leave it out; axes in another order are `permute`";
                Err(PyNotImplementedError::new_err(format!(
                    "{other:?} is no order of elements here: tensors are values, read row by row\n help: {help}"
                )))
            }
        }
    }
}

#[pymethods]
impl PyLayout {
    fn __repr__(&self) -> &'static str {
        "unigrad.strided"
    }

    fn __hash__(&self) -> u64 {
        1
    }

    fn __reduce__(&self) -> &'static str {
        "strided"
    }
}

#[pymethods]
impl PyMemoryFormat {
    fn __repr__(&self) -> String {
        format!("unigrad.{}", self.__reduce__())
    }

    fn __hash__(&self) -> u64 {
        self.preserves.into()
    }

    /// By its name in the module.
    fn __reduce__(&self) -> &'static str {
        if self.preserves { "preserve_format" } else { "contiguous_format" }
    }
}

/// Whether a layout, a memory format, is one that tensors have: an error that says why not.
#[pyfunction]
#[pyo3(signature = (layout=None, memory_format=None))]
pub(crate) fn _lies(layout: Option<PyLayout>, memory_format: Option<PyMemoryFormat>) {
    let _ = (layout, memory_format);
}

/// The only layout: one object, so that `x.layout is unigrad.strided` holds.
pub(crate) fn strided(py: Python<'_>) -> PyResult<Py<PyLayout>> {
    static STRIDED: PyOnceLock<Py<PyLayout>> = PyOnceLock::new();
    Ok(STRIDED.get_or_try_init(py, || Py::new(py, PyLayout))?.clone_ref(py))
}

/// Those of the module that are values.
pub(crate) fn add_all(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("strided", strided(py)?)?;
    // One object each, so that `is` holds, and pickles name it.
    module.add("contiguous_format", PyMemoryFormat { preserves: false })?;
    module.add("preserve_format", PyMemoryFormat { preserves: true })
}
