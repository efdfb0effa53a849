//! `unigrad.DType`: element types, by NumPy's and PyTorch's names.

use crate::error::argument;
#[cfg(feature = "stubs")]
use pyo3::inspect::PyStaticExpr;
use pyo3::{Borrowed, prelude::*, types::PyType};
use std::hash::{DefaultHasher, Hash, Hasher};
use unigrad::tensor::{DType, default_dtype};

/// The type of a tensor's elements: `unigrad.float32`, `unigrad.int64`, `unigrad.bool` and so on.
///
/// >>> import unigrad
/// >>> unigrad.float32.itemsize
/// 4
/// >>> unigrad.zeros(3).dtype == unigrad.float32
/// True
#[pyclass(name = "DType", module = "unigrad", frozen)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PyDType(pub(crate) DType);

/// The names in Python.
const NAMES: &[(&str, DType)] = &[
    ("bool", DType::Bool),
    ("uint8", DType::U8),
    ("int8", DType::I8),
    ("uint16", DType::U16),
    ("int16", DType::I16),
    ("uint32", DType::U32),
    ("int32", DType::I32),
    ("uint64", DType::U64),
    ("int64", DType::I64),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float8_e4m3fn", DType::F8E4M3),
    ("float8_e5m2", DType::F8E5M2),
];

/// Other names of some of them, as PyTorch has.
const ALIASES: &[(&str, DType)] = &[
    ("half", DType::F16),
    ("float", DType::F32),
    ("double", DType::F64),
    ("short", DType::I16),
    ("int", DType::I32),
    ("long", DType::I64),
];

/// A dtype's name in Python.
pub(crate) fn name_of(dtype: DType) -> &'static str {
    NAMES.iter().find(|(_, known)| *known == dtype).map_or(dtype.name(), |(name, _)| name)
}

/// The dtype of this name, as Python, NumPy or PyTorch call it.
pub(crate) fn named(name: &str) -> Option<DType> {
    let name = name.strip_prefix("torch.").or_else(|| name.strip_prefix("unigrad.")).unwrap_or(name);
    NAMES.iter().chain(ALIASES).find(|(known, _)| *known == name).map(|(_, dtype)| *dtype)
}

#[pymethods]
impl PyDType {
    /// The dtype of a name (`"float32"`), of a type of Python (`float` is the default float, `int` int64), or of NumPy.
    #[new]
    fn new(dtype: PyDType) -> PyDType {
        dtype
    }

    /// The name.
    #[getter]
    fn name(&self) -> &'static str {
        name_of(self.0)
    }

    /// Bytes of an element.
    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// Whether it is a float.
    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    /// Whether it has a sign.
    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_float() || self.0.is_signed_int()
    }

    fn __repr__(&self) -> String {
        format!("unigrad.{}", name_of(self.0))
    }

    fn __str__(&self) -> String {
        self.__repr__()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDType>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        name_of(self.0).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__(&self, py: Python<'_>) -> (Py<PyType>, (&'static str,)) {
        (py.get_type::<PyDType>().unbind(), (name_of(self.0),))
    }
}

impl<'py> FromPyObject<'_, 'py> for PyDType {
    type Error = PyErr;

    #[cfg(feature = "stubs")]
    const INPUT_TYPE: PyStaticExpr = crate::hints::DTYPE;

    fn extract(given: Borrowed<'_, 'py, PyAny>) -> PyResult<PyDType> {
        if let Ok(dtype) = given.cast::<PyDType>() {
            return Ok(*dtype.get());
        }
        let py = given.py();
        let refused = || -> PyErr {
            let shown = given.repr().map_or_else(|_| "an object".to_owned(), |text| text.to_string());
            let help = "give a dtype (`unigrad.float32`), its name (\"float32\"), or one of NumPy's or PyTorch's";
            argument(py, format!("{shown} is no dtype"), help)
        };
        if let Ok(name) = given.extract::<String>() {
            return named(&name).map(PyDType).ok_or_else(refused);
        }
        if let Ok(class) = given.cast::<PyType>() {
            let name = class.name()?.to_string();
            // `float` is what a list of floats becomes here, and so on; NumPy's scalar types have the names of the dtypes.
            let found = match name.as_str() {
                "float" => Some(default_dtype()),
                "int" => Some(DType::I64),
                "bool" | "bool_" => Some(DType::Bool),
                name => named(name),
            };
            return found.map(PyDType).ok_or_else(refused);
        }
        // NumPy's dtypes have a name, PyTorch's are printed as one.
        let name = given.getattr("name").and_then(|name| name.extract::<String>());
        let name = name.or_else(|_| given.str().map(|text| text.to_string()))?;
        named(&name).map(PyDType).ok_or_else(refused)
    }
}

/// The dtype asked for, or the default float.
pub(crate) fn float_or(dtype: Option<PyDType>) -> DType {
    dtype.map_or_else(default_dtype, |dtype| dtype.0)
}

/// The dtype of floats that have none: `float32`, until `set_default_dtype` sets another.
///
/// >>> import unigrad
/// >>> unigrad.get_default_dtype()
/// unigrad.float32
#[pyfunction]
pub(crate) fn get_default_dtype() -> PyDType {
    PyDType(default_dtype())
}

/// From now on floats without a dtype are of this one, in all threads: Python's floats beside integers, quotients of integers, what is made without a
/// `dtype`. One of `float32`, `float64`, `float16` and `bfloat16`.
///
/// >>> import unigrad
/// >>> unigrad.set_default_dtype(unigrad.float64)
/// >>> unigrad.tensor([0.5]).dtype, (unigrad.tensor([1]) / 2).dtype
/// (unigrad.float64, unigrad.float64)
/// >>> unigrad.set_default_dtype(unigrad.float32)
#[pyfunction]
pub(crate) fn set_default_dtype(d: PyDType) -> PyResult<()> {
    unigrad::tensor::set_default_dtype(d.0).map_err(|_| {
        let name = name_of(d.0);
        pyo3::exceptions::PyTypeError::new_err(format!(
            "argument 'd' is {name}: only floating-point types are supported as the default type\n help: choose float32, float64, float16 or bfloat16"
        ))
    })
}

/// All dtypes as attributes of the module.
pub(crate) fn add_all(module: &Bound<'_, PyModule>) -> PyResult<()> {
    NAMES.iter().chain(ALIASES).try_for_each(|(name, dtype)| module.add(*name, PyDType(*dtype)))
}
