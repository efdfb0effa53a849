//! Functions of functions: own gradients, checkpoints, hooks, `vmap`, Jacobians and directions.
//!
//! In: functions of Python, flat lists of tensors. Out: tensors, as the crates' functions of the same names give them.
//! Always: the package's Python files take structures of tensors apart and put them together; here all is flat.

use crate::{
    arguments::{of_argument, tensors},
    callback::{Argument, Callback, all_tensors, maybe_tensor},
    error::{OrRaise, argument},
    origin::here,
    tensor::{PyTensor, all_made, checked, made},
};
use pyo3::{exceptions::PyTypeError, prelude::*};
use std::sync::{Mutex, PoisonError};
use unigrad::tensor::{Randomness, ScanOptions, Tensor, VmapOptions};

/// Values as functions of `inputs` whose gradients are what `backward(i, inputs, value, dy)` gives: one (or `None`) for each input.
#[pyfunction]
pub(crate) fn _custom(
    py: Python<'_>,
    name: &str,
    inputs: Vec<PyRef<'_, PyTensor>>,
    outputs: Vec<PyRef<'_, PyTensor>>,
    backward: &Bound<'_, PyAny>,
) -> PyResult<Vec<PyTensor>> {
    let (inputs, outputs) = (tensors(&inputs), tensors(&outputs));
    let wanted: Vec<&Tensor> = inputs.iter().collect();
    let mut callbacks = Vec::with_capacity(outputs.len());
    for _ in &outputs {
        callbacks.push(of_argument(py, "backward", Callback::new(backward, format!("the backward function of `{name}`")))?);
    }
    all_made(py, || {
        let with_gradient = |((at, output), callback): ((usize, &Tensor), Callback)| {
            unigrad::tensor::custom(
                name,
                &wanted,
                |_| output.clone(),
                move |inputs, value, dy| {
                    let arguments = [Argument::Number(at), Argument::Tensors(inputs), Argument::Tensor(value), Argument::Tensor(dy)];
                    callback.gradients(&arguments, inputs.len())
                },
            )
        };
        outputs.iter().enumerate().zip(callbacks).map(with_gradient).collect()
    })
}

/// What `function` gives for the inputs; its values are computed again for gradients instead of being kept.
#[pyfunction]
pub(crate) fn _checkpoint(py: Python<'_>, function: &Bound<'_, PyAny>, inputs: Vec<PyRef<'_, PyTensor>>) -> PyResult<Vec<PyTensor>> {
    let callback = of_argument(py, "function", Callback::new(function, "the function of a checkpoint"))?;
    let inputs = tensors(&inputs);
    let given: Vec<&Tensor> = inputs.iter().collect();
    // One result is one tensor: several lie behind each other in it.
    let shapes = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = shapes.clone();
    let block = move |inputs: &[Tensor]| {
        let results = match callback.tensors(inputs) {
            Ok(results) => results,
            Err(invalid) => return invalid,
        };
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = results.iter().map(Tensor::shape).collect();
        match results.as_slice() {
            [one] => one.clone(),
            several => {
                let flat: Vec<Tensor> = several.iter().map(Tensor::flatten_all).collect();
                Tensor::concat(&flat.iter().collect::<Vec<_>>(), 0)
            }
        }
    };
    let whole = made(py, || unigrad::tensor::checkpoint(block, &given))?;
    let shapes: Vec<Vec<usize>> = shapes.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if let [_] = shapes.as_slice() {
        return Ok(vec![whole]);
    }
    let mut at = 0;
    all_made(py, || {
        let part = |shape: &Vec<usize>| {
            let len: usize = shape.iter().product();
            at += len;
            whole.tensor().narrow(0, at - len, len).reshape(shape.as_slice())
        };
        shapes.iter().map(part).collect()
    })
}

/// What a function gives for each slice of the inputs.
#[pyfunction]
pub(crate) fn _vmap(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    inputs: Vec<PyRef<'_, PyTensor>>,
    in_dims: Vec<Option<isize>>,
    out_dims: Vec<Option<isize>>,
    randomness: &str,
) -> PyResult<Vec<PyTensor>> {
    let randomness = match randomness {
        "error" => Randomness::Error,
        "different" => Randomness::Different,
        "same" => Randomness::Same,
        other => return Err(argument(py, format!("`randomness` is {other:?}"), "choose error, different or same")),
    };
    let callback = of_argument(py, "function", Callback::new(function, "the function of vmap"))?;
    let inputs = tensors(&inputs);
    let options = VmapOptions { in_axes: in_dims, out_axes: out_dims, randomness };
    let _here = here(py);
    let all = |inputs: &[Tensor]| callback.tensors(inputs).unwrap_or_else(|invalid| vec![invalid]);
    let results = unigrad::tensor::vmap_with(all, &inputs.iter().collect::<Vec<_>>(), &options).or_raise(py)?;
    results.into_iter().map(|tensor| checked(py, tensor)).collect()
}

/// The last states, and the sequences of what the steps gave, behind each other: `body(states.., elements..)` gives new states, then what goes into sequences.
#[pyfunction]
pub(crate) fn _scan(
    py: Python<'_>,
    body: &Bound<'_, PyAny>,
    states: Vec<PyRef<'_, PyTensor>>,
    xs: Vec<PyRef<'_, PyTensor>>,
    length: Option<usize>,
    reverse: bool,
) -> PyResult<Vec<PyTensor>> {
    let callback = of_argument(py, "body", Callback::new(body, "the body of a scan"))?;
    let (states, xs) = (tensors(&states), tensors(&xs));
    let n_states = states.len();
    let mut options = length.map_or_else(ScanOptions::new, |length| ScanOptions::new().length(length));
    if reverse {
        options = options.reverse();
    }
    let step = move |states: &[Tensor], elements: &[Tensor]| {
        let inputs: Vec<Tensor> = states.iter().chain(elements).cloned().collect();
        match callback.tensors(&inputs) {
            Ok(mut given) => {
                let rest = given.split_off(n_states.min(given.len()));
                (given, rest)
            }
            Err(invalid) => (vec![invalid; n_states], Vec::new()),
        }
    };
    let _here = here(py);
    let (states, xs): (Vec<&Tensor>, Vec<&Tensor>) = (states.iter().collect(), xs.iter().collect());
    let (last, given) = unigrad::tensor::scan(step, &states, &xs, options).or_raise(py)?;
    last.into_iter().chain(given).map(|tensor| checked(py, tensor)).collect()
}

/// What a function gives, and how that changes in a direction of the inputs.
#[pyfunction]
pub(crate) fn _jvp(
    py: Python<'_>,
    function: &Bound<'_, PyAny>,
    inputs: Vec<PyRef<'_, PyTensor>>,
    tangents: Vec<PyRef<'_, PyTensor>>,
) -> PyResult<(Vec<PyTensor>, Vec<PyTensor>)> {
    let callback = of_argument(py, "function", Callback::new(function, "the function of jvp"))?;
    let (inputs, tangents) = (tensors(&inputs), tensors(&tangents));
    let _here = here(py);
    let all = |inputs: &[Tensor]| callback.tensors(inputs).unwrap_or_else(|invalid| vec![invalid]);
    let (inputs, tangents): (Vec<&Tensor>, Vec<&Tensor>) = (inputs.iter().collect(), tangents.iter().collect());
    let (values, changes) = unigrad::tensor::jvp(all, &inputs, &tangents).or_raise(py)?;
    let checked = |tensors: Vec<Tensor>| tensors.into_iter().map(|tensor| checked(py, tensor)).collect::<PyResult<Vec<_>>>();
    Ok((checked(values)?, checked(changes)?))
}

/// What a function gives that is differentiated by these tensors.
#[pyfunction]
pub(crate) fn _differentiating<'py>(own: Vec<PyRef<'py, PyTensor>>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if !function.is_callable() {
        return Err(PyTypeError::new_err(format!("argument 'function': a function is wanted, not {}", function.get_type().name()?)));
    }
    unigrad::tensor::differentiating(&tensors(&own), || function.call0())
}

/// Whether a function that runs is differentiated by something to which a gradient of this tensor goes.
#[pyfunction]
pub(crate) fn _is_differentiated(x: &PyTensor) -> bool {
    unigrad::tensor::is_differentiated(x.tensor())
}

/// All derivatives of a function's elements by those of its input: `[result.., input..]`.
#[pyfunction]
pub(crate) fn _jacobian(py: Python<'_>, function: &Bound<'_, PyAny>, input: &PyTensor) -> PyResult<PyTensor> {
    let callback = of_argument(py, "function", Callback::new(function, "the function of a Jacobian"))?;
    let one = |given: &Bound<'_, PyAny>, what: &str| match all_tensors(given, what)?.as_slice() {
        [one] => Ok(one.clone()),
        several => Err(PyTypeError::new_err(format!("{what} gives {} tensors instead of one", several.len()))),
    };
    let _here = here(py);
    let function = |x: &Tensor| callback.call(&[Argument::Tensor(x)], one).unwrap_or_else(|invalid| invalid);
    checked(py, unigrad::tensor::jacobian(function, input.tensor()).or_raise(py)?)
}

#[pymethods]
impl PyTensor {
    /// The same tensor, whose gradient passes through `hook` on its way back: to look at it, scale it or clip it. A hook that gives `None` leaves it.
    ///
    /// >>> import unigrad
    /// >>> x = unigrad.ones(2, requires_grad=True)
    /// >>> (x.with_gradient_hook(lambda dy: dy.clamp(-1, 1)) * 3).sum().backward()
    /// >>> x.grad.tolist()
    /// [1.0, 1.0]
    fn with_gradient_hook(&self, py: Python<'_>, hook: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let callback = of_argument(py, "hook", Callback::new(hook, "the gradient's hook"))?;
        made(py, || {
            self.tensor().with_gradient_hook(move |dy| {
                let given = callback.call(&[Argument::Tensor(dy)], maybe_tensor);
                given.map_or_else(|invalid| invalid, |given| given.unwrap_or_else(|| dy.clone()))
            })
        })
    }
}
