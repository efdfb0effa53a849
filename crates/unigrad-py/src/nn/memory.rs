//! What a training step needs of a device's memory, for `unigrad.nn.memory`.
//!
//! In: a module's tensors, its optimizer, a loss that is recorded and not computed. Out: bytes by what they are for, as the crates estimate them.

use crate::{
    arguments::tensors, device::PyDevice, error::OrRaise, exit::Release, nn::Tensors, optim::PyOptimizer, origin::here, tensor::PyTensor,
};
use pyo3::prelude::*;
use unigrad::nn::{
    Optimize,
    memory::{self, Estimate},
};

/// Bytes of parameters, buffers, the optimizer's state, gradients, and what the step keeps in between.
#[pyfunction]
pub(crate) fn estimate(
    py: Python<'_>,
    parameters: Vec<PyRef<'_, PyTensor>>,
    buffers: Vec<PyRef<'_, PyTensor>>,
    optimizer: &PyOptimizer,
    loss: &PyTensor,
) -> PyResult<(u64, u64, u64, u64, u64)> {
    let _here = here(py);
    let named = |given: &[PyRef<'_, PyTensor>]| {
        let all = tensors(given).into_iter().enumerate();
        all.map(|(at, tensor)| (at.to_string(), tensor)).collect()
    };
    let model = Tensors { parameters: named(&parameters), buffers: named(&buffers) };
    let loss = loss.tensor();
    let estimated = py.released(|| {
        let (trained, state) = {
            let optimizer = optimizer.lock()?;
            (optimizer.parameters(), optimizer.state_bytes() as u64)
        };
        memory::estimate_with(&model, &trained, state, loss)
    });
    let Estimate { parameters, buffers, optimizer, gradients, activations } = estimated.or_raise(py)?;
    Ok((parameters, buffers, optimizer, gradients, activations))
}

fn of_step(gradients: u64, activations: u64) -> Estimate {
    Estimate { gradients, activations, ..Estimate::default() }
}

/// The part of a device's memory that is in use in a step of so many bytes; `None` where it does not tell.
#[pyfunction]
pub(crate) fn memory_share(gradients: u64, activations: u64, device: PyDevice) -> Option<f64> {
    of_step(gradients, activations).share(&device.0)
}

/// An error if a step of so many bytes does not fit beside what is in use.
#[pyfunction]
pub(crate) fn check_memory(py: Python<'_>, gradients: u64, activations: u64, device: PyDevice) -> PyResult<()> {
    of_step(gradients, activations).check(&device.0).or_raise(py)
}
