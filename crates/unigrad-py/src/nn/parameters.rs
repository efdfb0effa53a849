//! What is done to all tensors of a module at once.
//!
//! Always: tensors are changed in place: a holder of one, an optimizer or another module, has the changed one. What fails has changed nothing.

use crate::{
    arguments::tensors,
    device::PyDevice,
    dtype::PyDType,
    error::OrRaise,
    exit::Release,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::prelude::*;
use unigrad::{
    nn::{self, Module, Visitor, VisitorMut},
    tensor::Tensor,
};

/// A module of Python as the crates see one: its parameters and buffers by path.
#[derive(Clone, Default)]
pub(crate) struct Tensors {
    /// What is trained.
    pub(crate) parameters: Vec<(String, Tensor)>,
    /// What is saved and not trained.
    pub(crate) buffers: Vec<(String, Tensor)>,
}

impl Module for Tensors {
    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        self.parameters.iter().for_each(|(name, tensor)| visitor.parameter(name, tensor));
        self.buffers.iter().for_each(|(name, tensor)| visitor.buffer(name, tensor));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        self.parameters.iter_mut().for_each(|(name, tensor)| visitor.parameter(name, tensor));
        self.buffers.iter_mut().for_each(|(name, tensor)| visitor.buffer(name, tensor));
    }
}

impl Tensors {
    fn of(given: &[PyRef<'_, PyTensor>]) -> Tensors {
        let named = tensors(given).into_iter().enumerate().map(|(at, tensor)| (at.to_string(), tensor));
        Tensors { parameters: named.collect(), buffers: Vec::new() }
    }
}

/// Moves tensors and their gradients to a device, and casts those of floats.
#[pyfunction]
#[pyo3(signature = (tensors, device=None, dtype=None))]
pub(crate) fn move_tensors(
    py: Python<'_>,
    tensors: Vec<PyRef<'_, PyTensor>>,
    device: Option<PyDevice>,
    dtype: Option<PyDType>,
) -> PyResult<()> {
    let all = Tensors::of(&tensors);
    py.released(|| {
        if let Some(dtype) = dtype {
            all.to_dtype(dtype.0)?;
        }
        device.map_or(Ok(()), |device| all.to(&device.0))
    })
    .or_raise(py)
}

/// Computes what is still waiting to be computed, all at once.
#[pyfunction]
pub(crate) fn realize(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>) -> PyResult<()> {
    let all = crate::arguments::tensors(&tensors);
    py.released(|| Tensor::realize_all(&all.iter().collect::<Vec<_>>())).or_raise(py)
}

/// Forgets the gradients of tensors.
#[pyfunction]
pub(crate) fn forget_gradients(tensors: Vec<PyRef<'_, PyTensor>>) {
    tensors.iter().for_each(|tensor| tensor.tensor().zero_grad());
}

/// Scales gradients down so that their norm is at most `max_norm`; the norm before, if there is a gradient.
#[pyfunction]
pub(crate) fn clip_grad_norm(
    py: Python<'_>,
    tensors: Vec<PyRef<'_, PyTensor>>,
    max_norm: f64,
    norm_type: f64,
) -> PyResult<Option<PyTensor>> {
    let _here = here(py);
    nn::clip_grad_norm_with(&crate::arguments::tensors(&tensors), max_norm, norm_type).map(|norm| checked(py, norm)).transpose()
}

/// Limits every element of gradients.
#[pyfunction]
pub(crate) fn clip_grad_value(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>, clip_value: f64) {
    let _here = here(py);
    nn::clip_grad_value(&crate::arguments::tensors(&tensors), clip_value);
}

/// Clips gradients by the norms of their weights.
#[pyfunction]
pub(crate) fn clip_grad_adaptively(py: Python<'_>, tensors: Vec<PyRef<'_, PyTensor>>, clip_factor: f64, eps: f64) {
    let _here = here(py);
    nn::clip_grad_adaptively(&crate::arguments::tensors(&tensors), clip_factor, eps);
}
