//! `unigrad._unigrad._optim`: the crates' optimizers, for the classes of `unigrad.optim`.
//!
//! In: parameters in groups, settings in JSON. Out: steps, each one evaluation over all parameters.
//! Always: the interpreter's lock is free in a step. A thread that asks an optimizer which takes a step of another one waits; the step's own closure gets an error.

use crate::{
    alone::{Alone, Turn},
    arguments::tensors,
    autograd,
    callback::carried,
    error::{OrRaise, argument},
    exit::{Release, back},
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::{prelude::*, types::PyDict};
use std::collections::BTreeMap;
use unigrad::{
    Error,
    nn::{GradScaler, HostTensor, Optimize, ScalerOptions},
    tensor::Tensor,
    train::network::{Descent, LookaheadSettings, OptimizerSpec, SamSettings},
};

#[pymodule]
pub(crate) mod _optim {
    #[pymodule_export]
    use super::{PyOptimizer, PyScaler};
}

/// An update rule over groups of parameters.
#[pyclass(name = "Optimizer", frozen)]
pub(crate) struct PyOptimizer(Alone<Descent>);

impl PyOptimizer {
    /// For a thread without the interpreter's lock.
    pub(crate) fn lock(&self) -> Result<Turn<'_, Descent>, Error> {
        self.0.lock()
    }
}

type State<'py> = (Bound<'py, PyDict>, u64);

#[pymethods]
impl PyOptimizer {
    /// Of groups: settings (`{"adam": {"lr": 0.1}}`) and parameters. `around` is "lookahead" or "sam", with two numbers.
    #[new]
    #[pyo3(signature = (groups, around=None))]
    fn new(py: Python<'_>, groups: Vec<(String, Vec<PyRef<'_, PyTensor>>)>, around: Option<(String, f64, f64)>) -> PyResult<PyOptimizer> {
        let groups = groups.into_iter().map(|(settings, parameters)| {
            let settings = OptimizerSpec::from_json(&settings).or_raise(py)?;
            Ok((settings, tensors(&parameters)))
        });
        let groups = groups.collect::<PyResult<Vec<_>>>()?;
        let around = match around {
            None => None,
            Some((name, a, b)) if name == "lookahead" => Some((Some(LookaheadSettings { every: a as u64, alpha: b }), None)),
            Some((_, a, b)) => Some((None, Some(SamSettings { rho: a, adaptive: b != 0.0 }))),
        };
        let _here = here(py);
        let made = py.released(|| {
            let descent = Descent::new(groups)?;
            match around {
                Some((Some(slow), _)) => descent.lookahead(slow),
                Some((_, Some(sam))) => descent.sam(sam),
                _ => Ok(descent),
            }
        });
        Ok(PyOptimizer(Alone::new(made.or_raise(py)?, "an optimizer was asked for something while it takes a step")))
    }

    /// Other settings of a group, from the next step on.
    fn set(&self, py: Python<'_>, group: usize, settings: &str) -> PyResult<()> {
        let settings = OptimizerSpec::from_json(settings).or_raise(py)?;
        py.released(|| self.lock()?.set(group, settings)).or_raise(py)
    }

    /// Whether a group's steps go up, from the next one on.
    fn set_maximize(&self, py: Python<'_>, group: usize, maximize: bool) -> PyResult<()> {
        py.released(|| self.lock()?.set_maximize(group, maximize)).or_raise(py)
    }

    /// One step by the gradients that `backward` left.
    fn step(&self, py: Python<'_>) -> PyResult<()> {
        let _here = here(py);
        py.released(|| self.lock()?.step()).or_raise(py)
    }

    /// Whether a step needs a closure.
    fn needs_closure(&self, py: Python<'_>) -> PyResult<bool> {
        py.released(|| self.lock().map(|optimizer| optimizer.needs_closure())).or_raise(py)
    }

    /// One step by a function that computes the loss; what it calls of `backward` keeps the graph, which is differentiated again.
    fn step_by(&self, py: Python<'_>, closure: &Bound<'_, PyAny>) -> PyResult<PyTensor> {
        let _here = here(py);
        let closure = closure.clone().unbind();
        let step = py.released(|| {
            let mut forward = || {
                let _keeps = autograd::retain();
                back(|py| {
                    let loss = closure.call0(py).and_then(|loss| Ok(loss.extract::<PyRef<'_, PyTensor>>(py)?.tensor().clone()));
                    loss.map(|loss| (loss, Vec::new())).map_err(|error| carried("the closure", error))
                })
            };
            self.lock()?.minimize_by(&mut forward)
        });
        checked(py, step.or_raise(py)?.detach())
    }

    /// One step down a loss that is differentiated here.
    #[pyo3(signature = (loss))]
    fn minimize(&self, py: Python<'_>, loss: &PyTensor) -> PyResult<()> {
        let _here = here(py);
        let loss = loss.tensor();
        py.released(|| self.lock()?.minimize(loss, &[])).or_raise(py)
    }

    /// Renews Sophia's estimate.
    fn update_hessian(&self, py: Python<'_>, loss: &PyTensor, hutchinson: bool) -> PyResult<()> {
        let _here = here(py);
        let loss = loss.tensor();
        py.released(|| self.lock()?.update_hessian(loss, hutchinson)).or_raise(py)
    }

    /// Values of training, or those in use.
    fn set_training(&self, py: Python<'_>, training: bool) -> PyResult<()> {
        py.released(|| self.lock()?.set_training(training)).or_raise(py)
    }

    /// Steps so far.
    fn n_steps(&self, py: Python<'_>) -> PyResult<u64> {
        py.released(|| self.lock().map(|optimizer| optimizer.n_steps())).or_raise(py)
    }

    /// Bytes of state.
    fn state_bytes(&self, py: Python<'_>) -> PyResult<usize> {
        py.released(|| self.lock().map(|optimizer| optimizer.state_bytes())).or_raise(py)
    }

    /// Tensors of state on the CPU, by name, and the count of steps.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<State<'py>> {
        let (state, steps) = py
            .released(|| {
                let optimizer = self.lock()?;
                Ok::<_, Error>((optimizer.state_dict()?, optimizer.n_steps()))
            })
            .or_raise(py)?;
        Ok((to_dict(py, &state)?, steps))
    }

    /// Goes on from a state.
    fn load_state(&self, py: Python<'_>, state: &Bound<'_, PyDict>, n_steps: u64) -> PyResult<()> {
        let state = from_dict(py, state)?;
        py.released(|| self.lock()?.load_state_dict(&state, n_steps)).or_raise(py)
    }
}

/// Tensors of the host as tensors on the CPU.
pub(crate) fn to_dict<'py>(py: Python<'py>, state: &BTreeMap<String, HostTensor>) -> PyResult<Bound<'py, PyDict>> {
    let device = py.released(|| unigrad::device::Device::open("cpu")).or_raise(py)?;
    let all = PyDict::new(py);
    for (name, host) in state {
        let tensor = Tensor::from_bytes(&host.bytes, host.shape.as_slice(), host.dtype, &device);
        all.set_item(name, checked(py, tensor)?)?;
    }
    Ok(all)
}

/// Tensors as what files keep.
pub(crate) fn from_dict(py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<BTreeMap<String, HostTensor>> {
    let mut all = BTreeMap::new();
    for (name, tensor) in state.iter() {
        let (name, tensor): (String, PyRef<'_, PyTensor>) = match (name.extract(), tensor.extract()) {
            (Ok(name), Ok(tensor)) => (name, tensor),
            _ => return Err(argument(py, "a state with other things than tensors by name", "give a dict of names and tensors")),
        };
        let tensor = tensor.tensor();
        let bytes = py.released(|| tensor.to_bytes()).or_raise(py)?;
        all.insert(name, HostTensor { dtype: tensor.dtype(), shape: tensor.shape(), bytes });
    }
    Ok(all)
}

/// A loss scale for half precision.
#[pyclass(name = "Scaler", frozen)]
pub(crate) struct PyScaler(Alone<GradScaler>);

impl PyScaler {
    fn lock(&self) -> Result<Turn<'_, GradScaler>, Error> {
        self.0.lock()
    }
}

#[pymethods]
impl PyScaler {
    #[new]
    fn new(
        py: Python<'_>,
        device: crate::device::PyDevice,
        init_scale: f64,
        growth_factor: f64,
        backoff_factor: f64,
        growth_interval: u64,
    ) -> PyResult<PyScaler> {
        let options = ScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval };
        let made = py.released(|| GradScaler::new(options, &device.0)).or_raise(py)?;
        Ok(PyScaler(Alone::new(made, "a loss scale was asked for something while it is at work")))
    }

    fn scale(&self, py: Python<'_>, loss: &PyTensor) -> PyResult<PyTensor> {
        let scaler = self.0.attached(py)?;
        crate::tensor::made(py, || scaler.scale(loss.tensor()))
    }

    fn unscale(&self, py: Python<'_>, optimizer: &PyOptimizer) -> PyResult<()> {
        let _here = here(py);
        py.released(|| self.lock()?.unscale(&*optimizer.lock()?)).or_raise(py)
    }

    fn step(&self, py: Python<'_>, optimizer: &PyOptimizer) -> PyResult<()> {
        let _here = here(py);
        py.released(|| self.lock()?.step(&mut *optimizer.lock()?)).or_raise(py)
    }

    fn get_scale(&self, py: Python<'_>) -> PyResult<f64> {
        py.released(|| self.lock()?.get_scale()).or_raise(py)
    }

    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = py.released(|| self.lock()?.state_dict()).or_raise(py)?;
        to_dict(py, &state)
    }

    fn load_state(&self, py: Python<'_>, state: &Bound<'_, PyDict>) -> PyResult<()> {
        let state = from_dict(py, state)?;
        py.released(|| self.lock()?.load_state_dict(&state)).or_raise(py)
    }
}
