//! Workloads: what is measured, and what of it is made before.
//!
//! In: a device. Out: a [`Case`]: tensors, models and optimizers of one workload, and the step that is timed.
//! Always: a step ends with its results realized; work is made anew in each step, as a program makes it.

use crate::record::Work;
use std::sync::Arc;
use unigrad_device::Device;
use unigrad_nn::{Optimizer, Rule};
use unigrad_tensor::{DType, Result, Tensor};

/// A workload, ready to be timed.
pub struct Case {
    pub(crate) work: Work,
    pub(crate) step: Box<dyn FnMut() -> Result<()>>,
    /// More about it, when it was timed.
    pub(crate) note: Box<dyn Fn() -> Result<String>>,
}

impl Case {
    /// What one call of `step` does; results must be realized when it returns.
    pub fn new(work: Work, step: impl FnMut() -> Result<()> + 'static) -> Case {
        Case { work, step: Box::new(step), note: Box::new(|| Ok(String::new())) }
    }

    pub(crate) fn noted(mut self, note: impl Fn() -> Result<String> + 'static) -> Case {
        self.note = Box::new(note);
        self
    }
}

type Prepare = Arc<dyn Fn(&Device) -> Result<Case> + Send + Sync>;

/// Something to measure, on any device.
///
/// ```
/// use unigrad_bench::{Case, Work, Workload};
/// use unigrad_tensor::{DType, Tensor};
/// let workload = Workload::new("mine", "square_root", |device| {
///     let x = Tensor::rand([1 << 20], DType::F32, device).realize()?;
///     Ok(Case::new(Work::Bytes(8.0 * (1 << 20) as f64), move || x.sqrt().realize().map(drop)))
/// });
/// assert_eq!(workload.name(), "square_root");
/// ```
#[derive(Clone)]
pub struct Workload {
    group: String,
    name: String,
    prepare: Prepare,
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workload({} of {})", self.name, self.group)
    }
}

impl Workload {
    /// A workload of a group (`W1`), by a name of its own; `prepare` makes what a step needs.
    pub fn new(group: &str, name: &str, prepare: impl Fn(&Device) -> Result<Case> + Send + Sync + 'static) -> Workload {
        Workload { group: group.to_owned(), name: name.to_owned(), prepare: Arc::new(prepare) }
    }

    /// An optimizer's step: an update of `n_tensors` parameters of `elements` together. `optimizer` makes it from the parameters.
    ///
    /// ```
    /// use unigrad_bench::Workload;
    /// let workload = Workload::update("sgd", 1 << 20, 4, |parameters| unigrad_nn::Sgd::new(parameters, 0.1));
    /// assert_eq!(workload.group(), "optimizer");
    /// ```
    pub fn update<R: Rule + 'static>(
        name: &str,
        elements: usize,
        n_tensors: usize,
        optimizer: impl Fn(Vec<Tensor>) -> Result<Optimizer<R>> + Send + Sync + 'static,
    ) -> Workload {
        Workload::new("optimizer", name, move |device| {
            let count = n_tensors.max(1);
            let each = (elements / count).max(1);
            let uniform = || Tensor::uniform([each], -1.0, 1.0, DType::F32, device).realize();
            let mut parameters = Vec::with_capacity(count);
            let mut gradients = Vec::with_capacity(count);
            for _ in 0..count {
                parameters.push(uniform()?.requires_grad());
                gradients.push(uniform()?);
            }
            let mut optimizer = optimizer(parameters.clone())?;
            Ok(Case::new(Work::Items((each * count) as f64, "parameters"), move || {
                for (parameter, gradient) in parameters.iter().zip(&gradients) {
                    parameter.set_grad(Some(gradient.clone()));
                }
                optimizer.step()
            }))
        })
    }

    /// Its group's name.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Its own name, the same in every run.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes what a step needs.
    pub fn prepare(&self, device: &Device) -> Result<Case> {
        (self.prepare)(device)
    }

    /// Whether `name` means this one: by its group or its own name, in any case.
    pub fn is_called(&self, name: &str) -> bool {
        self.group.eq_ignore_ascii_case(name) || self.name.eq_ignore_ascii_case(name)
    }
}
