//! Functions of Python that ops call while they are recorded or differentiated.
//!
//! In: what can be called, and its name for messages. Out: its results as tensors.
//! Always: what it raises reaches the caller as it is: an error with a text stands for it on its way through the crates, alone or in an invalid tensor, and
//! where the error with this text is to be raised, the exception itself is.
//! Never: called without the interpreter's lock.

use crate::{exit::back, tensor::PyTensor};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyList, PyTuple},
};
use std::cell::RefCell;
use unigrad::tensor::{Error, Tensor};

thread_local! {
    /// Exceptions on their way through the crates, with the texts that stand for them.
    static RAISED: RefCell<Vec<(String, PyErr)>> = const { RefCell::new(Vec::new()) };
}

/// Exceptions that a thread keeps at most: those whose error is swallowed never leave.
const MOST: usize = 16;

/// The error that stands for an exception of `what`.
pub(crate) fn carried(what: &str, error: PyErr) -> Error {
    let cause = format!("{what} has raised {error}");
    RAISED.with_borrow_mut(|raised| {
        raised.retain(|(text, _)| *text != cause);
        if raised.len() == MOST {
            raised.remove(0);
        }
        raised.push((cause.clone(), error));
    });
    Error::argument(cause, "see what it raises")
}

/// The exception that an error's text stands for, if it came from a function of Python.
pub(crate) fn raised(text: &str) -> Option<PyErr> {
    RAISED.with_borrow_mut(|raised| {
        let at = raised.iter().position(|(own, _)| text.contains(own.as_str()))?;
        Some(raised.remove(at).1)
    })
}

/// A function of Python.
pub(crate) struct Callback {
    function: Py<PyAny>,
    /// What it is, for messages.
    what: String,
}

impl Callback {
    pub(crate) fn new(function: &Bound<'_, PyAny>, what: impl Into<String>) -> PyResult<Callback> {
        let what = what.into();
        if !function.is_callable() {
            let kind = function.get_type().name()?.to_string();
            return Err(PyTypeError::new_err(format!("{what} is to be a function, not {kind}")));
        }
        Ok(Callback { function: function.clone().unbind(), what })
    }

    /// What `read` makes of what the function gives for arguments; an invalid tensor if either fails.
    pub(crate) fn call<T>(
        &self,
        arguments: &[Argument<'_>],
        read: impl FnOnce(&Bound<'_, PyAny>, &str) -> PyResult<T>,
    ) -> Result<T, Tensor> {
        back(|py| {
            let objects = arguments.iter().map(|argument| argument.object(py)).collect::<PyResult<Vec<_>>>();
            let given = objects.and_then(|objects| self.function.bind(py).call1(PyTuple::new(py, objects)?));
            given.and_then(|given| read(&given, &self.what)).map_err(|error| Tensor::from_error(&carried(&self.what, error)))
        })
    }

    /// What the function gives for the tensors, each an argument: tensors.
    pub(crate) fn tensors(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, Tensor> {
        self.call(&inputs.iter().map(Argument::Tensor).collect::<Vec<_>>(), all_tensors)
    }

    /// The gradients that a backward function gives: one, or `None`, for each input.
    pub(crate) fn gradients(&self, arguments: &[Argument<'_>], n_inputs: usize) -> Vec<Option<Tensor>> {
        let read = |given: &Bound<'_, PyAny>, what: &str| {
            let found = maybe_tensors(given, what)?;
            if found.len() == n_inputs {
                return Ok(found);
            }
            Err(PyValueError::new_err(format!("{what} gives {} gradients for {n_inputs} inputs", found.len())))
        };
        self.call(arguments, read).unwrap_or_else(|invalid| vec![Some(invalid); n_inputs])
    }
}

/// What a function is called with.
pub(crate) enum Argument<'a> {
    Tensor(&'a Tensor),
    /// A tuple.
    Tensors(&'a [Tensor]),
    Number(usize),
}

impl Argument<'_> {
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let object = |tensor: &Tensor| Bound::new(py, PyTensor::from(tensor.clone()));
        Ok(match self {
            Argument::Tensor(tensor) => object(tensor)?.into_any(),
            Argument::Tensors(tensors) => PyTuple::new(py, tensors.iter().map(object).collect::<PyResult<Vec<_>>>()?)?.into_any(),
            Argument::Number(number) => number.into_pyobject(py)?.into_any(),
        })
    }
}

/// A tensor, or `None`.
pub(crate) fn maybe_tensor(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Option<Tensor>> {
    if given.is_none() {
        return Ok(None);
    }
    match given.cast::<PyTensor>() {
        Ok(tensor) => Ok(Some(tensor.get().tensor().clone())),
        Err(_) => Err(PyTypeError::new_err(format!("{what} is to give tensors, not {}", given.get_type().name()?))),
    }
}

/// A tensor, or `None`; a tuple or list of them.
fn maybe_tensors(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Option<Tensor>>> {
    if given.is_instance_of::<PyTuple>() || given.is_instance_of::<PyList>() {
        return given.try_iter()?.map(|item| maybe_tensor(&item?, what)).collect();
    }
    Ok(vec![maybe_tensor(given, what)?])
}

/// A tensor; a tuple or list of them.
pub(crate) fn all_tensors(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<Tensor>> {
    let none = || PyTypeError::new_err(format!("{what} is to give tensors, not None"));
    maybe_tensors(given, what)?.into_iter().map(|tensor| tensor.ok_or_else(none)).collect()
}
