//! Files of tensors.

use crate::{
    error::{OrRaise, argument},
    optim::{from_dict, to_dict},
};
use pyo3::{prelude::*, types::PyDict};
use std::{collections::BTreeMap, path::PathBuf};
use unigrad::nn::Archive;

/// The tensors of a file (safetensors, an index of several, PyTorch's, NPY, NPZ) on the CPU, and the strings beside them.
#[pyfunction]
pub(crate) fn load_tensors<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(Bound<'py, PyDict>, BTreeMap<String, String>)> {
    let archive = py.detach(|| Archive::open(&path)).or_raise(py)?;
    Ok((to_dict(py, &archive.tensors)?, archive.metadata))
}

/// Replaces a file by tensors and strings. `format` is "safetensors", "npz" or "npy".
#[pyfunction]
pub(crate) fn save_tensors(
    py: Python<'_>,
    path: PathBuf,
    tensors: &Bound<'_, PyDict>,
    metadata: BTreeMap<String, String>,
    format: &str,
) -> PyResult<()> {
    let archive = Archive { tensors: from_dict(py, tensors)?, metadata };
    match format {
        "npz" => py.detach(|| archive.save_npz(&path, false)).or_raise(py),
        "npy" => match archive.tensors.values().next().filter(|_| archive.tensors.len() == 1) {
            Some(tensor) => py.detach(|| tensor.save_npy(&path)).or_raise(py),
            None => Err(argument(py, "an NPY file of several tensors, or of none", "give one tensor, or save an NPZ file")),
        },
        _ => py.detach(|| archive.save(&path)).or_raise(py),
    }
}
