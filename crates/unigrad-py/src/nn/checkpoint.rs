//! Blocks that are computed again in the backward pass instead of being kept.

use crate::{
    error::OrRaise,
    optim::carried,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::{prelude::*, types::PyTuple};
use std::sync::{Arc, Mutex, PoisonError};
use unigrad::tensor::Tensor;

/// Whether a run asks blocks of layers to be computed again.
#[pyfunction]
pub(crate) fn is_checkpointing() -> bool {
    unigrad::nn::is_checkpointing()
}

/// What `function` makes of tensors; it is called again in the backward pass, and nothing between is kept.
#[pyfunction]
pub(crate) fn checkpoint(py: Python<'_>, function: Py<PyAny>, inputs: Vec<PyRef<'_, PyTensor>>) -> PyResult<PyTensor> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let kept = Arc::clone(&raised);
    let block = move |inputs: &[Tensor]| {
        Python::attach(|py| {
            let call = || -> PyResult<Tensor> {
                let inputs = inputs.iter().map(|input| checked(py, input.clone())).collect::<PyResult<Vec<_>>>()?;
                let result = function.bind(py).call1(PyTuple::new(py, inputs)?)?;
                let result = result.extract::<PyRef<'_, PyTensor>>().map_err(Into::<PyErr>::into)?;
                Ok(result.tensor().clone())
            };
            call().unwrap_or_else(|error| {
                let told = carried(&error);
                kept.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                Tensor::from_error(&told)
            })
        })
    };
    let _here = here(py);
    let inputs = crate::arguments::tensors(&inputs);
    let result = unigrad::tensor::checkpoint(block, &inputs.iter().collect::<Vec<_>>());
    match raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) => Err(error),
        None => result.check().or_raise(py).map(PyTensor::from),
    }
}
