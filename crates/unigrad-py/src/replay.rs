//! Functions that are recorded and run again without being called: `unigrad.tensor.replay`, for functions of Python.
//!
//! In: a function, flat lists of tensors. Out: tensors, as the function gives them.
//! Always: the lock of the interpreter is released while something runs, and taken for the function alone; one call at a time.
//! Never: knows structures: the package's Python file takes them apart, and has one of these for each.

use crate::{
    arguments::{of_argument, tensors},
    callback::Callback,
    error::OrRaise,
    exit::Release,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::prelude::*;
use std::sync::{
    Mutex, MutexGuard, TryLockError,
    atomic::{AtomicU64, Ordering::Relaxed},
};
use unigrad::tensor::{Error, Replay, Result, Tensor, replay};

type Function = Box<dyn FnMut(&[Tensor]) -> Result<Vec<Tensor>> + Send>;

/// A function and what was recorded of it.
#[pyclass(frozen)]
pub(crate) struct Replayed {
    replay: Mutex<Replay<Function>>,
    /// What the replay has counted: it may be asked for while it runs.
    n_replayed: AtomicU64,
}

impl Replayed {
    fn lock(&self) -> Result<MutexGuard<'_, Replay<Function>>> {
        match self.replay.try_lock() {
            Ok(guard) => Ok(guard),
            Err(TryLockError::Poisoned(guard)) => Ok(guard.into_inner()),
            Err(TryLockError::WouldBlock) => {
                let cause = "a replayed function was called while it runs";
                Err(Error::argument(cause, "give each thread a `replay` of its own, and do not call it from within itself"))
            }
        }
    }
}

#[pymethods]
impl Replayed {
    #[new]
    fn new(py: Python<'_>, function: &Bound<'_, PyAny>) -> PyResult<Replayed> {
        let callback = of_argument(py, "function", Callback::new(function, "a replayed function"))?;
        let call = move |inputs: &[Tensor]| {
            callback.tensors(inputs).map_err(|invalid| {
                let none = || Error::Internal("a function failed without an error".into());
                invalid.error().unwrap_or_else(none)
            })
        };
        Ok(Replayed { replay: Mutex::new(replay(Box::new(call))), n_replayed: AtomicU64::new(0) })
    }

    /// What the function gives for these tensors.
    fn call(&self, py: Python<'_>, inputs: Vec<PyRef<'_, PyTensor>>) -> PyResult<Vec<PyTensor>> {
        let inputs = tensors(&inputs);
        let _here = here(py);
        let results = py.released(|| {
            let mut replay = self.lock()?;
            let results = replay.call(&inputs.iter().collect::<Vec<_>>());
            self.n_replayed.store(replay.n_replayed(), Relaxed);
            results
        });
        let results = results.or_raise(py)?;
        results.into_iter().map(|tensor| checked(py, tensor)).collect()
    }

    /// Calls that ran without the function.
    #[getter]
    fn n_replayed(&self) -> u64 {
        self.n_replayed.load(Relaxed)
    }

    /// Forgets what was recorded.
    fn record_again(&self, py: Python<'_>) -> PyResult<()> {
        py.released(|| -> Result<()> {
            let mut replay = self.lock()?;
            replay.record_again();
            self.n_replayed.store(replay.n_replayed(), Relaxed);
            Ok(())
        })
        .or_raise(py)
    }
}
