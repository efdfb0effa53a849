//! Exchange with other libraries without copies: DLPack, Python's buffers, NumPy's and CUDA's array interfaces.
//!
//! In: objects that have memory. Out: tensors of it; capsules, buffers and dictionaries of a tensor's memory.
//! Always: what is given out keeps its values whatever becomes of the tensor, and is read-only; what is taken in is kept alive as long as a tensor needs it,
//! and is never written.
//! Never: copies unless it says so.

mod buffer;
mod cuda;
mod dlpack;
mod export;
mod import;
mod strides;

pub(crate) use cuda::is_array as is_on_cuda;
pub(crate) use import::{asarray, copied, from_dlpack, from_numpy, read};

use pyo3::prelude::*;
use std::any::Any;

/// What keeps memory alive, as an object of Python: so that a thread without the interpreter, which may hold a lock of ours, never has to wait for it.
/// Such a thread leaves the object to the next one that has the interpreter.
#[pyclass(frozen, module = "unigrad._unigrad")]
pub(crate) struct Held {
    _owner: Box<dyn Any + Send + Sync>,
}

impl Held {
    fn of(py: Python<'_>, owner: impl Any + Send + Sync) -> PyResult<Py<Held>> {
        Py::new(py, Held { _owner: Box::new(owner) })
    }
}

#[pymethods]
impl Held {
    /// Does nothing: what has this method has the memory.
    fn keep(&self) {}
}
