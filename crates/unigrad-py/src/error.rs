//! Errors as Python's exceptions.
//!
//! In: an error of the crates. Out: an exception of a class that Python's programs expect (`ValueError`, `TypeError`, `IndexError`, `MemoryError`,
//! `OSError`, `RuntimeError`) and that is a `unigrad.Error` as well.
//! Always: the message is the crates' own: cause, place, remedy. The classes are those of `unigrad/_errors.py`.

use pyo3::{exceptions::PyRuntimeError, prelude::*, sync::PyOnceLock, types::PyType};
use std::{
    sync::{Mutex, OnceLock, PoisonError},
    thread::{self, ThreadId},
};
use unigrad::{Error, ErrorKind};

/// The class's name in `unigrad._errors`.
fn class_name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Shape => "ShapeError",
        ErrorKind::DType => "DTypeError",
        ErrorKind::Axis => "AxisError",
        ErrorKind::Index => "IndexError",
        ErrorKind::Autograd => "AutogradError",
        ErrorKind::Argument => "ArgumentError",
        ErrorKind::Device => "DeviceError",
        ErrorKind::NotAvailable => "NotAvailableError",
        ErrorKind::OutOfMemory => "OutOfMemoryError",
        ErrorKind::DeviceLost => "DeviceLostError",
        ErrorKind::Compile => "CompileError",
        ErrorKind::Launch => "LaunchError",
        ErrorKind::File => "FileError",
        ErrorKind::Format => "FormatError",
        ErrorKind::StateDict => "StateDictError",
        ErrorKind::NotFinite => "NotFiniteError",
        ErrorKind::Cancelled => "CancelledError",
        _ => "InternalError",
    }
}

/// The exception that a signal's handler raised while native code ran.
static HEARD: Mutex<Option<PyErr>> = Mutex::new(None);

/// The thread that hears signals: Python's main one, which imports the package (where another does, none is heard while native code runs).
static MAIN: OnceLock<ThreadId> = OnceLock::new();

/// Whether this is the thread that imported the package.
pub(crate) fn is_main_thread() -> bool {
    MAIN.get() == Some(&thread::current().id())
}

/// Whether this thread's work is to end: a signal came whose handler raised (Ctrl-C), or the interpreter ends.
fn interrupted() -> bool {
    // At the interpreter's end the work of other threads is of no use.
    if !is_main_thread() || crate::exit::is_left() {
        return crate::exit::is_left();
    }
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            let before = HEARD.lock().unwrap_or_else(PoisonError::into_inner).replace(raised);
            // Outside of the lock, as it gives objects of Python back.
            drop(before);
            true
        }
    })
}

/// From now on long work asks whether a signal came.
pub(crate) fn hear_signals() {
    MAIN.get_or_init(|| thread::current().id());
    unigrad::device::cancel_by(interrupted);
}

/// The exception for an error; what a function of Python has raised, if it is that function's.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind() == ErrorKind::Cancelled
        && let Some(heard) = HEARD.lock().unwrap_or_else(PoisonError::into_inner).take()
    {
        return heard;
    }
    let text = error.to_string();
    crate::callback::raised(&text).unwrap_or_else(|| exception(py, error.kind(), text))
}

/// An exception of this kind.
pub(crate) fn exception(py: Python<'_>, kind: ErrorKind, message: String) -> PyErr {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let class = || -> PyResult<Bound<'_, PyType>> {
        let module = MODULE.get_or_try_init(py, || py.import("unigrad._errors").map(Bound::unbind))?;
        Ok(module.bind(py).getattr(class_name(kind))?.cast_into::<PyType>()?)
    };
    match class() {
        Ok(class) => PyErr::from_type(class, (message,)),
        // The package is half imported, or was taken apart.
        Err(_) => PyRuntimeError::new_err(message),
    }
}

/// An argument that makes no sense.
pub(crate) fn argument(py: Python<'_>, cause: impl Into<String>, help: &str) -> PyErr {
    exception(py, ErrorKind::Argument, format!("{}\n help: {help}", cause.into()))
}

/// Turns the crates' errors into exceptions.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error.into()))
    }
}
