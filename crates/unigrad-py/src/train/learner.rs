//! What a run of the crates asks of a model of Python: batches, forward passes, steps.
//!
//! Always: an exception of Python ends the run, and is what `fit` raises. A run is without the interpreter's lock, and takes it for what is Python's alone.

use crate::{callback::carried, exit::back, nn::Tensors, optim::PyOptimizer, tensor::PyTensor};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use unigrad::{
    Error, Result,
    data::Source,
    nn::{HostTensor, Module, Optimize},
    tensor::{Device, Tensor, no_grad},
    train::{Learner, Outcome, StepSettings, descend},
};

/// An optimizer of Python.
pub(crate) struct Released(Py<PyOptimizer>);

impl Released {
    fn with<T>(&self, work: impl FnOnce(&mut dyn Optimize) -> Result<T>) -> Result<T> {
        work(&mut *self.0.get().lock()?)
    }
}

impl Optimize for Released {
    fn parameters(&self) -> Vec<Tensor> {
        self.with(|optimizer| Ok(optimizer.parameters())).unwrap_or_default()
    }

    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        self.with(|optimizer| optimizer.minimize(loss, also))
    }

    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        if !self.0.get().lock()?.needs_closure() {
            let (loss, also) = forward()?;
            self.minimize(&loss, &also.iter().collect::<Vec<_>>())?;
            return Ok(loss);
        }
        let _keeps = crate::autograd::retain();
        self.with(|optimizer| optimizer.minimize_by(forward))
    }

    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        self.with(|optimizer| optimizer.step_guarded(guard, also))
    }

    fn zero_grad(&self) {
        self.parameters().iter().for_each(Tensor::zero_grad);
    }

    fn n_steps(&self) -> u64 {
        self.with(|optimizer| Ok(optimizer.n_steps())).unwrap_or(0) // DEFAULT: an optimizer at work is told by its step
    }

    fn lr(&self) -> f64 {
        self.with(|optimizer| Ok(optimizer.lr())).unwrap_or(f64::NAN) // DEFAULT: an optimizer at work is told by its step
    }

    fn set_lr(&mut self, lr: f64) {
        // An optimizer at work is told by its step.
        _ = self.with(|optimizer| {
            optimizer.set_lr(lr);
            Ok(())
        });
    }

    fn set_lr_factor(&mut self, factor: f64) {
        // An optimizer at work is told by its step.
        _ = self.with(|optimizer| {
            optimizer.set_lr_factor(factor);
            Ok(())
        });
    }

    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        self.with(|optimizer| optimizer.state_dict())
    }

    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        self.with(|optimizer| optimizer.load_state_dict(state, n_steps))
    }

    fn state_bytes(&self) -> usize {
        self.with(|optimizer| Ok(optimizer.state_bytes())).unwrap_or(0) // DEFAULT: nothing is known of an optimizer at work
    }

    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        self.with(|optimizer| optimizer.values_in_use())
    }

    fn set_training(&mut self, training: bool) -> Result<()> {
        self.with(|optimizer| optimizer.set_training(training))
    }
}

/// A model of Python that learns.
pub(crate) struct PyLearner {
    /// `step(batch, training)`: the loss, how many items it is the mean of, and pairs of predictions and targets.
    step: Py<PyAny>,
    /// `train(mode)` of the model.
    train: Py<PyAny>,
    /// Called before each step: takes over settings of the optimizer that have changed.
    before: Py<PyAny>,
    tensors: Tensors,
    optimizer: Released,
    /// Why the model did not go over to training or out of it; the next step says it.
    failed: Option<Error>,
}

type Given<'py> = (PyRef<'py, PyTensor>, usize, Vec<(PyRef<'py, PyTensor>, PyRef<'py, PyTensor>)>);

/// Tensors of a model by their names.
pub(super) type Named<'py> = Vec<(String, PyRef<'py, PyTensor>)>;

impl PyLearner {
    /// A model's parameters and buffers by `named`.
    pub(super) fn new(
        step: Py<PyAny>,
        train: Py<PyAny>,
        before: Py<PyAny>,
        named: (&Named<'_>, &Named<'_>),
        optimizer: Py<PyOptimizer>,
    ) -> PyLearner {
        let owned = |all: &Named<'_>| all.iter().map(|(name, tensor)| (name.clone(), tensor.tensor().clone())).collect();
        let tensors = Tensors { parameters: owned(named.0), buffers: owned(named.1) };
        PyLearner { step, train, before, tensors, optimizer: Released(optimizer), failed: None }
    }

    /// What a run gave, unless the model failed between steps.
    pub(super) fn ended<T>(&mut self, result: Result<T>) -> Result<T> {
        self.failed.take().map_or(result, Err)
    }

    fn forward(step: &Py<PyAny>, batch: &Py<PyAny>, training: bool) -> Result<Outcome> {
        back(|py| {
            let run = || -> PyResult<Outcome> {
                py.check_signals()?;
                let result = step.bind(py).call1((batch.bind(py), training))?;
                let (loss, n_items, scored): Given<'_> = result.extract()?;
                let mut outcome = Outcome::new(loss.tensor().clone(), n_items);
                for (prediction, target) in &scored {
                    outcome = outcome.scored(prediction.tensor(), target.tensor());
                }
                Ok(outcome)
            };
            run().map_err(|error| carried("the step", error))
        })
    }
}

impl Learner for PyLearner {
    type Batch = Py<PyAny>;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        vec![("", &self.tensors)]
    }

    fn set_training(&mut self, training: bool) {
        back(|py| {
            if let Err(error) = self.train.bind(py).call1((training,)) {
                self.failed = Some(carried("train", error));
            }
        });
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        vec![("", &self.optimizer)]
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        vec![("", &mut self.optimizer)]
    }

    fn train_step(&mut self, batches: &[Py<PyAny>], settings: &StepSettings) -> Result<Outcome> {
        self.failed.take().map_or(Ok(()), Err)?;
        back(|py| self.before.bind(py).call0().map(drop).map_err(|error| carried("the optimizer", error)))?;
        let buffers: Vec<Tensor> = match batches {
            [_] => Vec::new(),
            _ => self.tensors.buffers.iter().map(|(_, tensor)| tensor.clone()).collect(),
        };
        let step = &self.step;
        descend(&mut self.optimizer, &buffers, batches, settings, |batch| PyLearner::forward(step, batch, true))
    }

    fn evaluate(&mut self, batch: &Py<PyAny>) -> Result<Outcome> {
        self.failed.take().map_or(Ok(()), Err)?;
        no_grad(|| PyLearner::forward(&self.step, batch, false))
    }
}

/// A loader of Python.
pub(crate) struct PySource {
    pub(crate) loader: Py<PyAny>,
    pub(crate) n_batches: usize,
    pub(crate) n_items: usize,
}

impl Source for PySource {
    type Batch = Py<PyAny>;

    fn n_items(&self) -> usize {
        self.n_items
    }

    fn n_batches(&self) -> usize {
        self.n_batches
    }

    fn batches(&self, epoch: u64, first: usize, _device: &Device) -> Result<Box<dyn Iterator<Item = Result<Py<PyAny>>> + '_>> {
        let begin = |py: Python<'_>| -> PyResult<Py<PyAny>> {
            let loader = self.loader.bind(py);
            if let Ok(set_epoch) = loader.getattr("set_epoch") {
                set_epoch.call1((epoch,))?;
            }
            Ok(loader.call_method0("__iter__")?.unbind())
        };
        let iterator = back(|py| begin(py).map_err(|error| carried("the loader", error)))?;
        let mut ended = false;
        let all = std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let next = back(|py| {
                let next = iterator.bind(py).call_method0("__next__");
                match next {
                    Ok(batch) => Some(Ok(batch.unbind())),
                    Err(error) if error.is_instance_of::<pyo3::exceptions::PyStopIteration>(py) => None,
                    Err(error) => Some(Err(carried("the loader", error))),
                }
            });
            ended = !matches!(next, Some(Ok(_)));
            next
        });
        Ok(Box::new(all.skip(first)))
    }
}
