//! Where the time of a program goes.

use crate::error::{OrRaise, argument};
use crate::exit::Release;
use pyo3::{prelude::*, types::PyTuple};
use std::{
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};
use unigrad::device::profile::{Profile, Profiler};

/// Name, kind, start, duration, bytes, floating-point operations.
type Row = (String, String, f64, f64, f64, f64);

enum State {
    Idle,
    Running(Profiler),
    Done(Box<Profile>),
}

/// Profiles what devices do between `__enter__` and `__exit__`.
#[pyclass(name = "Profiler", frozen)]
pub(crate) struct PyProfiler(Mutex<State>);

impl PyProfiler {
    /// For a moment: nothing waits while it is locked.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, py: Python<'_>, of: impl FnOnce(&Profile) -> T) -> PyResult<T> {
        match &*self.state() {
            State::Done(profile) => Ok(of(profile)),
            _ => Err(argument(py, "a profile that has not ended", "read it after the `with` block")),
        }
    }
}

#[pymethods]
impl PyProfiler {
    #[new]
    fn new() -> PyProfiler {
        PyProfiler(Mutex::new(State::Idle))
    }

    fn __enter__(slf: Bound<'_, PyProfiler>) -> PyResult<Bound<'_, PyProfiler>> {
        let py = slf.py();
        if matches!(*slf.get().state(), State::Running(_)) {
            return Err(argument(py, "a profile that has begun already", "make another one"));
        }
        // Not while the state is locked: a thread that waits for that has the interpreter. Of several threads that begin, all but one are told by `start`.
        let started = py.released(Profiler::start).or_raise(py)?;
        *slf.get().state() = State::Running(started);
        Ok(slf)
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, py: Python<'_>, _raised: &Bound<'_, PyTuple>) -> PyResult<()> {
        let before = std::mem::replace(&mut *self.state(), State::Idle);
        let after = match before {
            State::Running(profiler) => State::Done(Box::new(py.released(|| profiler.stop()).or_raise(py)?)),
            State::Idle | State::Done(_) => State::Idle,
        };
        *self.state() = after;
        Ok(())
    }

    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, Profile::summary)
    }

    fn html(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, Profile::html)
    }

    fn chrome_trace(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, Profile::chrome_trace)
    }

    /// Seconds that it took.
    fn seconds(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |profile| profile.wall_ns * 1e-9)
    }

    /// Each piece of work: name, kind, start and duration in microseconds, bytes, floating-point operations.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<Row>> {
        self.with(py, |profile| {
            let row = |event: &unigrad::device::profile::Event| {
                let (start, duration) = (event.start_ns * 1e-3, event.duration_ns * 1e-3);
                (event.name.clone(), event.kind.to_owned(), start, duration, event.bytes, event.flops)
            };
            profile.events.iter().map(row).collect()
        })
    }

    /// Writes the profile as a page, or as a trace for Perfetto where the name ends in `.json`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let text = if path.extension().is_some_and(|ending| ending == "json") { self.chrome_trace(py)? } else { self.html(py)? };
        std::fs::write(&path, text).map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            crate::error::exception(py, unigrad::ErrorKind::File, message)
        })
    }
}
