//! The usual learner: one model, one loss, one optimizer.

use crate::{
    descend::descend,
    learner::{Learner, Outcome, StepSettings},
};
use unigrad_data::Batch;
use unigrad_nn::{
    Error, Layer, Loss, Module, Optimize, Result, first_not_finite,
    memory::{self, Estimate},
    name_layer,
};
use unigrad_tensor::{Tensor, no_grad};

type Forward<M, B> = Box<dyn Fn(&M, &B) -> Result<Outcome>>;
type Inputs<B> = Box<dyn Fn(&B) -> Vec<(&'static str, Tensor)>>;

/// A model that learns from batches by a loss and an optimizer.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver);
/// use unigrad_nn::{Adam, Layer, Linear, Module};
/// use unigrad_tensor::{Device, Tensor};
/// use unigrad_train::{Outcome, Supervised};
///
/// let model = Linear::new(3, 1, &Device::open("cpu")?);
/// let optimizer = Adam::new(model.parameters(), 1e-3)?;
/// // Batches of the program's own type, and what a step makes of one.
/// struct Rows(Tensor, Tensor);
/// let learner = Supervised::with(model, optimizer, |model, Rows(x, y): &Rows| {
///     let prediction = model.forward(x);
///     Ok(Outcome::new(prediction.mse_loss(y), x.shape()[0]).scored(&prediction, y))
/// });
/// # drop(learner);
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
pub struct Supervised<M, O, B = Batch> {
    /// The model.
    pub model: M,
    /// What trains it.
    pub optimizer: O,
    forward: Forward<M, B>,
    inputs: Inputs<B>,
}

impl<M: Layer, O: Optimize> Supervised<M, O> {
    /// The loss of what the model makes of a batch's input, and the batch's target.
    pub fn new(model: M, loss: impl Loss + 'static, optimizer: O) -> Supervised<M, O> {
        let forward = move |model: &M, batch: &Batch| {
            let prediction = model.forward(&batch.input);
            let n_items = batch.input.shape().first().copied().unwrap_or(1);
            Ok(Outcome::new(loss.forward(&prediction, &batch.target), n_items).scored(&prediction, &batch.target))
        };
        Supervised::with(model, optimizer, forward).inputs(|batch| vec![("input", batch.input.clone()), ("target", batch.target.clone())])
    }
}

impl<M: Module, O: Optimize, B> Supervised<M, O, B> {
    /// The loss that `forward` records.
    pub fn with(model: M, optimizer: O, forward: impl Fn(&M, &B) -> Result<Outcome> + 'static) -> Supervised<M, O, B> {
        Supervised { model, optimizer, forward: Box::new(forward), inputs: Box::new(|_| Vec::new()) }
    }

    /// The tensors of a batch by name: a number among them that is not finite is then named.
    pub fn inputs(mut self, inputs: impl Fn(&B) -> Vec<(&'static str, Tensor)> + 'static) -> Self {
        self.inputs = Box::new(inputs);
        self
    }

    /// The loss of a batch, to look at what layers make of it; an error becomes the tensor's.
    fn loss(&self, batch: &B) -> Tensor {
        match (self.forward)(&self.model, batch) {
            Ok(outcome) => outcome.loss,
            Err(error) => Tensor::from_error(&error),
        }
    }
}

impl<M: Module, O: Optimize, B> Learner for Supervised<M, O, B> {
    type Batch = B;

    fn modules(&self) -> Vec<(&str, &dyn Module)> {
        vec![("", &self.model)]
    }

    fn set_training(&mut self, training: bool) {
        self.model.train(training);
    }

    fn optimizers(&self) -> Vec<(&str, &dyn Optimize)> {
        vec![("", &self.optimizer)]
    }

    fn optimizers_mut(&mut self) -> Vec<(&str, &mut dyn Optimize)> {
        vec![("", &mut self.optimizer)]
    }

    fn train_step(&mut self, batches: &[B], settings: &StepSettings) -> Result<Outcome> {
        let buffers: Vec<Tensor> = match batches {
            [_] => Vec::new(),
            _ => self.model.named_buffers().into_iter().map(|(_, tensor)| tensor).collect(),
        };
        let (model, forward) = (&self.model, &self.forward);
        descend(&mut self.optimizer, &buffers, batches, settings, |batch| forward(model, batch))
    }

    fn evaluate(&mut self, batch: &B) -> Result<Outcome> {
        (self.forward)(&self.model, batch)
    }

    fn estimate(&mut self, batch: &B) -> Result<Option<Estimate>> {
        let outcome = (self.forward)(&self.model, batch)?;
        let state = self.optimizer.state_bytes() as u64;
        memory::estimate_with(&self.model, &self.optimizer.parameters(), state, &outcome.loss).map(Some)
    }

    fn first_not_finite(&mut self, batches: &[B]) -> Result<Option<String>> {
        for batch in batches {
            let inputs = (self.inputs)(batch);
            let inputs: Vec<(&str, &Tensor)> = inputs.iter().map(|(name, tensor)| (*name, tensor)).collect();
            let place = first_not_finite(&self.model, &inputs, || self.loss(batch))?;
            if place.is_some() {
                return Ok(place);
            }
        }
        Ok(None)
    }

    fn explain(&mut self, batches: &[B], error: Error) -> Error {
        batches.iter().fold(error, |error, batch| name_layer(&self.model, error, || no_grad(|| self.loss(batch))))
    }
}
