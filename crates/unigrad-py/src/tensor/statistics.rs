//! Counts, covariances and distances, by PyTorch's signatures.

use super::{PyTensor, made};
use crate::error::argument;
use pyo3::prelude::*;
use unigrad::tensor::{DType, Tensor};

#[pymethods]
impl PyTensor {
    /// How often each of `0, 1, ..` occurs in a vector of integers, `I64`; with weights, the sum of the weights there, in their float dtype
    /// (PyTorch's is `f64` unless they are `f32`). As many counts as the greatest number needs, and at least `minlength`.
    ///
    /// Waits for the values: the length depends on them. Where the length is known, `zeros.scatter_add(0, &numbers, &ones)` waits for nothing.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([3, 5]).bincount()
    /// tensor([0, 0, 0, 1, 0, 1])
    #[pyo3(signature = (weights=None, minlength=0))]
    fn bincount(&self, py: Python<'_>, weights: Option<&PyTensor>, minlength: usize) -> PyResult<PyTensor> {
        // Of integers as PyTorch's.
        let weights = weights
            .map(|weights| if weights.tensor().dtype().is_float() { weights.tensor().clone() } else { weights.tensor().cast(DType::F64) });
        made(py, || self.tensor().bincount(weights.as_ref(), minlength))
    }

    /// Distances by the `p`-norm of all rows of `self` `[.., n, d]` from all rows of `other` `[.., m, d]`: `[.., n, m]`; batch axes broadcast.
    /// Where two rows are equal, the gradient is 0.
    ///
    /// `compute_mode` is PyTorch's and changes nothing: distances are those of differences.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([[0.0, 0.0]]).cdist(unigrad.tensor([[3.0, 4.0]]))
    /// tensor([[5.]])
    #[pyo3(signature = (other, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"))]
    fn cdist(&self, py: Python<'_>, other: &PyTensor, p: f64, compute_mode: &str) -> PyResult<PyTensor> {
        const MODES: [&str; 3] = ["use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"];
        if !MODES.contains(&compute_mode) {
            return Err(argument(py, format!("`compute_mode` is {compute_mode:?}"), &format!("choose from {}", MODES.join(", "))));
        }
        made(py, || self.tensor().cdist(other.tensor(), p))
    }

    /// The correlation coefficients of variables, which are the rows of a matrix, limited to -1 to 1.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).corrcoef()
    /// tensor(1.)
    fn corrcoef(&self, py: Python<'_>) -> PyResult<PyTensor> {
        warn_of_few(py, self.tensor(), 1)?;
        made(py, || self.tensor().corrcoef())
    }

    /// The covariance of variables, which are the rows of a matrix `[variables, observations]` (a vector is one variable), divided by
    /// `observations - correction`, or by 0 where that is negative. Of one variable it is a number without axes.
    ///
    /// `fweights`, integers, say how often each observation was made, `aweights`, floats, how much it counts; none is negative.
    ///
    /// >>> import unigrad
    /// >>> unigrad.tensor([0.5, 2.0]).cov()
    /// tensor(1.1250)
    #[pyo3(signature = (correction=1, fweights=None, aweights=None))]
    fn cov(&self, py: Python<'_>, correction: usize, fweights: Option<&PyTensor>, aweights: Option<&PyTensor>) -> PyResult<PyTensor> {
        warn_of_few(py, self.tensor(), correction)?;
        made(py, || self.tensor().cov_with(correction, fweights.map(PyTensor::tensor), aweights.map(PyTensor::tensor)))
    }
}

/// A warning, as PyTorch's, that there are no more observations than are taken off their number.
fn warn_of_few(py: Python<'_>, x: &Tensor, correction: usize) -> PyResult<()> {
    let few = match x.shape().as_slice() {
        [] => correction >= 1,
        [n] | [_, n] => *n <= correction,
        _ => false,
    };
    if !few {
        return Ok(());
    }
    let warning = py.get_type::<pyo3::exceptions::PyUserWarning>();
    PyErr::warn(py, &warning, c"cov: not more observations than `correction`: the covariance is divided by 0", 1)
}
