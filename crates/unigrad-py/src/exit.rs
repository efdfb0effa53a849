//! The interpreter's end: what devices were given comes to its end before their drivers are taken apart.
//!
//! Always: from then on threads that are left (daemons, as Python calls them) stay where they next record something, as they would stay at the
//! interpreter's lock a moment later.

use crate::error::OrRaise;
use pyo3::{prelude::*, types::PyModule};
use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::Duration,
};
use unigrad::device::Device;

static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// Keeps a thread that is left at the interpreter's end from giving devices more to do.
#[inline]
pub(crate) fn pause_at_end(py: Python<'_>) {
    if IS_ENDING.load(Relaxed) && !crate::error::is_main_thread() {
        py.detach(|| {
            loop {
                thread::park();
            }
        });
    }
}

/// Waits for the devices. Python calls it at its end.
#[pyfunction]
fn _end(py: Python<'_>) -> PyResult<()> {
    IS_ENDING.store(true, Relaxed);
    let wait = || Device::opened().into_iter().try_for_each(Device::synchronize);
    // Twice: what another thread was about to give a device when this began is given soon after.
    py.detach(wait).or_raise(py)?;
    if Device::opened().iter().any(|device| !device.completes_at_once()) {
        py.detach(|| thread::sleep(Duration::from_millis(20)));
        py.detach(wait).or_raise(py)?;
    }
    Ok(())
}

/// From now on Python calls [`_end`] at its end.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let end = wrap_pyfunction!(_end, module)?;
    module.py().import("atexit")?.call_method1("register", (end,))?;
    Ok(())
}
