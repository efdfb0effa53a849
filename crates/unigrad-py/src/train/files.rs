//! Files of tensors, and pages of runs.

use crate::{
    error::{OrRaise, argument},
    exit::Release,
    optim::{from_dict, to_dict},
    tensor::{PyTensor, checked},
};
use pyo3::{prelude::*, types::PyDict};
use std::{collections::BTreeMap, path::PathBuf};
use unigrad::{
    data::Images,
    nn::{Archive, TensorFile},
    tensor::{DType, Tensor},
};

/// The tensors of a file (safetensors, an index of several, PyTorch's, NPY, NPZ) on the CPU, and the strings beside them.
#[pyfunction]
pub(crate) fn load_tensors<'py>(py: Python<'py>, path: PathBuf) -> PyResult<(Bound<'py, PyDict>, BTreeMap<String, String>)> {
    let archive = py.released(|| Archive::open(&path)).or_raise(py)?;
    Ok((to_dict(py, &archive.tensors)?, archive.metadata))
}

/// As [`load_tensors`], of a file's content.
#[pyfunction]
pub(crate) fn tensors_of_bytes<'py>(py: Python<'py>, bytes: Vec<u8>) -> PyResult<(Bound<'py, PyDict>, BTreeMap<String, String>)> {
    let archive = py.released(|| TensorFile::from_bytes(bytes, "the file object").and_then(|file| file.read_all())).or_raise(py)?;
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
        "npz" => py.released(|| archive.save_npz(&path, false)).or_raise(py),
        "npy" => match archive.tensors.values().next().filter(|_| archive.tensors.len() == 1) {
            Some(tensor) => py.released(|| tensor.save_npy(&path)).or_raise(py),
            None => Err(argument(py, "an NPY file of several tensors, or of none", "give one tensor, or save an NPZ file")),
        },
        _ => py.released(|| archive.save(&path)).or_raise(py),
    }
}

type Parts = ((PyTensor, PyTensor), (PyTensor, PyTensor));

/// The digits that ship with the library: images `[n, 1, 8, 8]` of numbers from 0 to 1 and labels, for training and for tests.
#[pyfunction]
#[pyo3(signature = (device=None))]
pub(crate) fn digits(py: Python<'_>, device: Option<crate::device::PyDevice>) -> PyResult<Parts> {
    let device = crate::device::or_default(py, device)?;
    let split = py.released(unigrad::data::digits).or_raise(py)?;
    let part = |images: &Images| -> PyResult<(PyTensor, PyTensor)> {
        let pixels: Vec<f32> = images.pixels.iter().map(|pixel| f32::from(*pixel) / f32::from(images.white.max(1))).collect();
        let labels: Vec<i64> = images.labels.iter().map(|label| i64::from(*label)).collect();
        let (n, shape) = (labels.len(), [labels.len(), 1, images.height, images.width]);
        let (pixels, labels) = (Tensor::from_vec(pixels, shape, &device), Tensor::from_vec(labels, n, &device).cast(DType::I64));
        Ok((checked(py, pixels)?, checked(py, labels)?))
    };
    Ok((part(&split.train)?, part(&split.test)?))
}

/// A page that shows several runs, each by its folder or its checkpoint.
#[pyfunction]
pub(crate) fn compare_runs(py: Python<'_>, runs: Vec<PathBuf>) -> PyResult<String> {
    py.released(|| unigrad::train::compare(&runs)).or_raise(py)
}
