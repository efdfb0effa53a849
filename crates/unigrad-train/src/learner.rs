//! What is trained, and what a step of it is.
//!
//! In: batches. Out: a loss and what is counted beside it, and parameters that changed; or an error, and nothing changed.

use std::{cell::RefCell, rc::Rc};
use unigrad_nn::{Error, GradScaler, Module, Optimize, Result, gradient_checkpointing, memory::Estimate};
use unigrad_tensor::{DType, DelayedScaling, Device, Fp8Recipe, Fp8Scaling, Tensor, autocast, autocast_fp8};

/// What a trainer trains: models, optimizers, and what one step does with them.
///
/// [`Supervised`](crate::Supervised) is the usual one: a model, a loss, an optimizer. One that steps several optimizers (a GAN), or does anything else in a
/// step, implements this trait; [`descend`](crate::descend) is a step of one optimizer for its use.
pub trait Learner {
    /// What a step is given.
    type Batch;

    /// The models by name, for checkpoints. A single one may have the empty name.
    fn modules(&self) -> Vec<(&str, &dyn Module)>;

    /// Switches the models between training and use.
    fn set_training(&mut self, training: bool);

    /// The optimizers by name, for checkpoints. A single one may have the empty name.
    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)>;

    /// See [`Learner::optimizers`].
    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)>;

    /// One step: of one batch, or of several whose gradients count together. When it fails, nothing has changed.
    fn train_step(&mut self, batches: &[Self::Batch], settings: &StepSettings) -> Result<Outcome>;

    /// A batch in use: no gradients are recorded, and layers behave as in use.
    fn evaluate(&mut self, batch: &Self::Batch) -> Result<Outcome>;

    /// What a step of this batch needs of the device's memory; `None` if that is not known: then each evaluation of the first step is looked at before it is
    /// launched. Records the step, and computes nothing.
    fn estimate(&mut self, _batch: &Self::Batch) -> Result<Option<Estimate>> {
        Ok(None)
    }

    /// The first number in a step that is not finite, in words; `None` if that is not known. Called with what the step was given, after it changed nothing.
    fn first_not_finite(&mut self, _batches: &[Self::Batch]) -> Result<Option<String>> {
        Ok(None)
    }

    /// An error of a step with what the learner can add to it: the layer that it belongs to.
    fn explain(&mut self, _batches: &[Self::Batch], error: Error) -> Error {
        error
    }
}

/// How gradients are kept from being too large.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// Scaled down together to this Euclidean norm at most.
    Norm(f64),
    /// Each element to at most so much above and below 0.
    Value(f64),
}

/// What forward passes compute in. Parameters, their state and losses stay in their own dtype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Everything in its own dtype.
    #[default]
    Full,
    /// Products, convolutions and attention in `BF16` ([`autocast`]).
    Bf16,
    /// Likewise in `F16`, with a loss scale that adapts ([`GradScaler`]). A step whose gradients overflow changes nothing but the scale.
    F16,
    /// Matrix products in 8-bit floats, the rest as in [`StepSettings::fp8`]'s half type ([`autocast_fp8`]).
    Fp8,
}

/// What the trainer asks of a step.
#[derive(Clone, Debug, Default)]
pub struct StepSettings {
    /// How gradients are clipped.
    pub clip: Option<Clip>,
    /// What the forward pass computes in.
    pub precision: Precision,
    /// How products are rounded in [`Precision::Fp8`].
    pub fp8: Fp8Recipe,
    /// Whether blocks of layers are computed again in the backward pass, instead of being kept; see [`gradient_checkpointing`].
    pub gradient_checkpointing: bool,
    /// The loss scale, where the half type is `F16`.
    pub(crate) scaler: Option<Rc<RefCell<GradScaler>>>,
    /// Where this (a `Bool` of rank 0) is false, the step must change nothing: one before it has failed, and that has not been read yet.
    pub(crate) condition: Option<Tensor>,
}

impl StepSettings {
    /// A forward pass in the precision of the run; [`descend`](crate::descend) calls its own so.
    pub fn forward<T>(&self, forward: impl FnOnce() -> T) -> T {
        let forward = || if self.gradient_checkpointing { gradient_checkpointing(forward) } else { forward() };
        match self.precision {
            Precision::Full => forward(),
            Precision::Bf16 => autocast(DType::BF16, forward),
            Precision::F16 => autocast(DType::F16, forward),
            Precision::Fp8 => autocast_fp8(&self.fp8, forward),
        }
    }

    /// Whether gradients are of `F16`, so that the loss is scaled.
    pub(crate) fn is_scaled(&self) -> bool {
        match self.precision {
            Precision::Full | Precision::Bf16 => false,
            Precision::F16 => true,
            Precision::Fp8 => self.fp8.half == DType::F16,
        }
    }

    /// The state of scales from steps before.
    pub(crate) fn delayed(&self) -> Option<&DelayedScaling> {
        match &self.fp8.scaling {
            Fp8Scaling::Delayed(scaling) if self.precision == Precision::Fp8 => Some(scaling),
            Fp8Scaling::Current | Fp8Scaling::Delayed(_) => None,
        }
    }

    /// A loss that is no number where the step must change nothing.
    pub(crate) fn conditional(&self, loss: &Tensor) -> Tensor {
        match &self.condition {
            Some(condition) => condition.where_(loss, loss.full_like(f64::NAN).detach()),
            None => loss.clone(),
        }
    }
}

/// A number that a step counts beside its loss.
#[derive(Clone, Debug)]
pub struct Number {
    /// Its name in the history.
    pub name: String,
    /// One element.
    pub value: Tensor,
    /// Whether it is a sum over the items (correct answers, say), and not a mean.
    pub is_sum: bool,
}

/// What came of a step. Nothing in it has to be computed yet.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// One element: the mean over the items.
    pub loss: Tensor,
    /// How many items it is the mean of.
    pub n_items: usize,
    /// Predictions and targets, for metrics.
    pub scored: Vec<(Tensor, Tensor)>,
    /// What is counted beside the loss.
    pub numbers: Vec<Number>,
    /// What to put back if the loss turns out not to be finite: tensors, and what they were.
    pub(crate) undo: Vec<(Tensor, Tensor)>,
}

impl Outcome {
    /// A loss that is the mean over `n_items` items.
    pub fn new(loss: Tensor, n_items: usize) -> Outcome {
        Outcome { loss, n_items, scored: Vec::new(), numbers: Vec::new(), undo: Vec::new() }
    }

    /// With a prediction and its target, for metrics.
    pub fn scored(mut self, prediction: &Tensor, target: &Tensor) -> Outcome {
        self.scored.push((prediction.detach(), target.detach()));
        self
    }

    /// With a number that is a sum over the items; the history has its mean over the items of the epoch.
    pub fn sum(mut self, name: &str, value: &Tensor) -> Outcome {
        self.numbers.push(Number { name: name.to_owned(), value: value.detach(), is_sum: true });
        self
    }

    /// With a number that is a mean over the items.
    pub fn mean(mut self, name: &str, value: &Tensor) -> Outcome {
        self.numbers.push(Number { name: name.to_owned(), value: value.detach(), is_sum: false });
        self
    }

    /// What is to be computed together with the loss.
    pub fn wanted(&self) -> Vec<Tensor> {
        self.numbers.iter().map(|number| number.value.clone()).chain(self.scored.iter().map(|(prediction, _)| prediction.clone())).collect()
    }

    /// Several as one: the mean over the items of all.
    pub(crate) fn joined(outcomes: Vec<Outcome>, device: &Device) -> Result<Outcome> {
        let n_items: usize = outcomes.iter().map(|outcome| outcome.n_items).sum();
        let mut joined: Option<Outcome> = None;
        for outcome in outcomes {
            let of_mean = |value: &Tensor| {
                let dtype = if value.dtype().is_float() { value.dtype() } else { DType::F32 };
                value.cast(dtype) * Tensor::scalar(outcome.n_items as f64 / n_items.max(1) as f64, dtype, device)
            };
            let part = |number: &Number| if number.is_sum { number.value.clone() } else { of_mean(&number.value) };
            let loss = of_mean(&outcome.loss);
            match &mut joined {
                None => {
                    let numbers = outcome.numbers.iter().map(|number| Number { value: part(number), ..number.clone() }).collect();
                    joined = Some(Outcome { loss, n_items, numbers, ..outcome });
                }
                Some(all) => {
                    all.loss = &all.loss + loss;
                    for number in &outcome.numbers {
                        match all.numbers.iter_mut().find(|known| known.name == number.name) {
                            Some(known) => known.value = &known.value + part(number),
                            None => all.numbers.push(Number { value: part(number), ..number.clone() }),
                        }
                    }
                    all.scored.extend(outcome.scored);
                    all.undo.extend(outcome.undo);
                }
            }
        }
        joined.ok_or_else(|| Error::argument("a step of no batches", "give at least one batch to a step"))
    }
}
