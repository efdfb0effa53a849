//! Settings found by trying: a learning rate, a batch size.
//!
//! In: what a run has. Out: what each setting did. The model, its optimizer and the random numbers are afterwards what they were before.

use super::{
    learner::{Named, PyLearner, PySource},
    run::trainer,
};
use crate::{
    callback::carried,
    device::PyDevice,
    error::OrRaise,
    exit::{Release, back},
    optim::PyOptimizer,
};
use pyo3::{prelude::*, types::PyDict};
use unigrad::train::LrRange;

/// Rates with smoothed losses, and the rate at which the loss falls fastest, if it does.
type Curve = (Vec<(f64, f64)>, Option<f64>);

/// Tries learning rates, each step a greater one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a run")]
pub(crate) fn find_lr<'py>(
    py: Python<'py>,
    step: Py<PyAny>,
    train_mode: Py<PyAny>,
    before: Py<PyAny>,
    parameters: Named<'py>,
    buffers: Named<'py>,
    optimizer: Py<PyOptimizer>,
    train: (Py<PyAny>, usize, usize),
    device: PyDevice,
    settings: &Bound<'py, PyDict>,
    range: (f64, f64, usize, f64, f64),
) -> PyResult<Curve> {
    let settings = settings.clone().unbind();
    let mut learner = PyLearner::new(step, train_mode, before, (&parameters, &buffers), optimizer);
    let (loader, n_batches, n_items) = train;
    let (from, to, steps, smoothing, diverged) = range;
    let found = py.released(|| {
        let trainer = back(|py| trainer(py, device, settings.bind(py)))?;
        let source = PySource { loader, n_batches, n_items };
        Ok::<_, PyErr>(trainer.find_lr(&mut learner, &source, LrRange { from, to, steps, smoothing, diverged }))
    })?;
    let curve = learner.ended(found).or_raise(py)?;
    Ok((curve.points, curve.suggestion))
}

/// The greatest batch that fits, and each that was tried: items, the most bytes in use, seconds.
type Found = (usize, Vec<(usize, u64, f64)>);

/// The greatest batch whose step fits into memory; `make` makes one of so many items.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the parts of a run")]
pub(crate) fn find_batch_size<'py>(
    py: Python<'py>,
    step: Py<PyAny>,
    train_mode: Py<PyAny>,
    before: Py<PyAny>,
    parameters: Named<'py>,
    buffers: Named<'py>,
    optimizer: Py<PyOptimizer>,
    make: Py<PyAny>,
    device: PyDevice,
    settings: &Bound<'py, PyDict>,
    most: usize,
) -> PyResult<Found> {
    let settings = settings.clone().unbind();
    let mut learner = PyLearner::new(step, train_mode, before, (&parameters, &buffers), optimizer);
    let mut made = |n: usize| back(|py| make.call1(py, (n,)).map_err(|error| carried("the function that makes a batch", error)));
    let found = py.released(|| {
        let trainer = back(|py| trainer(py, device, settings.bind(py)))?;
        Ok::<_, PyErr>(trainer.find_batch_size(&mut learner, most, &mut made))
    })?;
    let sizes = learner.ended(found).or_raise(py)?;
    Ok((sizes.best, sizes.tried))
}
