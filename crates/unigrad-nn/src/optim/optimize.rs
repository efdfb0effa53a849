//! What a training loop asks of an optimizer, whichever it is.
//!
//! In: a loss. Out: better parameters. Always: as [`Optimizer`] has it: a step is a transaction, and its state can be saved and loaded.

use super::{Optimizer, Rule};
use crate::{archive::HostTensor, error::Result};
use std::collections::BTreeMap;
use unigrad_tensor::Tensor;

/// An optimizer, whatever its rule: what trainers and checkpoints use. [`Optimizer`] is one; so is a wrapper around one.
pub trait Optimize {
    /// All parameters, in the order of their state.
    fn parameters(&self) -> Vec<Tensor>;

    /// See [`Optimizer::minimize`].
    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()>;

    /// One step down a loss that `forward` records, with what else is to be computed; gives the loss before the step. For those that look at the loss in
    /// several places, and so record it several times; others call `forward` once.
    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        let (loss, also) = forward()?;
        self.minimize(&loss, &also.iter().collect::<Vec<_>>())?;
        Ok(loss)
    }

    /// See [`Optimizer::step_guarded`].
    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()>;

    /// Forgets the gradients of all parameters.
    fn zero_grad(&self);

    /// See [`Optimizer::n_steps`].
    fn n_steps(&self) -> u64;

    /// The learning rate of the first group, as the next step uses it.
    fn lr(&self) -> f64;

    /// Sets every group's base learning rate.
    fn set_lr(&mut self, lr: f64);

    /// Multiplies all learning rates in the steps to come.
    fn set_lr_factor(&mut self, factor: f64);

    /// See [`Optimizer::state_dict`].
    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>>;

    /// See [`Optimizer::load_state_dict`].
    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()>;

    /// Bytes of its state, beside the parameters.
    fn state_bytes(&self) -> usize {
        0
    }

    /// The values that use and validation take instead of the parameters, one for each in order: averages that the rule keeps (schedule-free
    /// optimizers). `None` where the parameters are used as they are.
    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        Ok(None)
    }

    /// Puts the values of training, or those in use ([`Optimize::values_in_use`]), into the parameters. A step in use is an error then.
    fn set_training(&mut self, _training: bool) -> Result<()> {
        Ok(())
    }
}

impl<R: Rule> Optimize for Optimizer<R> {
    fn parameters(&self) -> Vec<Tensor> {
        Optimizer::parameters(self)
    }

    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        Optimizer::minimize(self, loss, also)
    }

    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        Optimizer::step_guarded(self, guard, also)
    }

    fn zero_grad(&self) {
        Optimizer::zero_grad(self);
    }

    fn n_steps(&self) -> u64 {
        Optimizer::n_steps(self)
    }

    fn lr(&self) -> f64 {
        Optimizer::lr(self)
    }

    fn set_lr(&mut self, lr: f64) {
        Optimizer::set_lr(self, lr);
    }

    fn set_lr_factor(&mut self, factor: f64) {
        Optimizer::set_lr_factor(self, factor);
    }

    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        Optimizer::state_dict(self)
    }

    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        Optimizer::load_state_dict(self, state, n_steps)
    }

    fn state_bytes(&self) -> usize {
        Optimizer::state_bytes(self)
    }

    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        Optimizer::values_in_use(self)
    }

    fn set_training(&mut self, training: bool) -> Result<()> {
        self.switch_to(training)
    }
}

impl<O: Optimize + ?Sized> Optimize for Box<O> {
    fn parameters(&self) -> Vec<Tensor> {
        (**self).parameters()
    }

    #[track_caller]
    fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        (**self).minimize(loss, also)
    }

    #[track_caller]
    fn minimize_by(&mut self, forward: &mut dyn FnMut() -> Result<(Tensor, Vec<Tensor>)>) -> Result<Tensor> {
        (**self).minimize_by(forward)
    }

    #[track_caller]
    fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        (**self).step_guarded(guard, also)
    }

    fn zero_grad(&self) {
        (**self).zero_grad();
    }

    fn n_steps(&self) -> u64 {
        (**self).n_steps()
    }

    fn lr(&self) -> f64 {
        (**self).lr()
    }

    fn set_lr(&mut self, lr: f64) {
        (**self).set_lr(lr);
    }

    fn set_lr_factor(&mut self, factor: f64) {
        (**self).set_lr_factor(factor);
    }

    fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        (**self).state_dict()
    }

    fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        (**self).load_state_dict(state, n_steps)
    }

    fn state_bytes(&self) -> usize {
        (**self).state_bytes()
    }

    fn values_in_use(&self) -> Result<Option<Vec<Tensor>>> {
        (**self).values_in_use()
    }

    fn set_training(&mut self, training: bool) -> Result<()> {
        (**self).set_training(training)
    }
}
