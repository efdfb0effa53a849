//! Optimizers: gradients into better parameters.
//!
//! In: parameters and their gradients. Out: parameters and state, assigned in one evaluation together with whatever else is asked for,
//! so that forward, backward and update are planned as one, and the update is one or two launches for all parameters.
//! Always: what changes from step to step (learning rate, bias corrections) is a run-time scalar, so every step after the first finds
//! its plan; state exists from the beginning, so the first step looks like the others. State of half-precision parameters is `f32`.

mod adam;
mod clip;
mod sgd;

pub use adam::{Adam, AdamRule, AdamW};
pub use clip::{clip_grad_norm, clip_grad_value, grad_norm};
pub use sgd::{Sgd, SgdRule};

use crate::{
    archive::HostTensor,
    error::{Error, Result},
    module,
};
use std::collections::BTreeMap;
use unigrad_tensor::{DType, Tensor, no_grad, take_gradients};

/// Parameters with settings of their own.
#[derive(Clone, Debug)]
pub struct Group {
    /// What to train.
    pub parameters: Vec<Tensor>,
    /// The base learning rate.
    pub lr: f64,
    /// How strongly values are pulled to zero; `None` for the optimizer's own.
    pub weight_decay: Option<f64>,
}

/// How one parameter follows its gradient.
pub trait Rule {
    /// The tensors kept for each parameter.
    fn state_names(&self) -> Vec<&'static str>;

    /// The weight decay of groups that have none of their own.
    fn weight_decay(&self) -> f64;

    /// The run-time numbers of a step, from 1, in an order that `update` knows.
    fn scalars(&self, step: u64, lr: f64, weight_decay: f64) -> Vec<f64>;

    /// The new value of a parameter, and its new state.
    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>);
}

/// An optimizer: parameters in groups, a rule, and the state of both.
///
/// ```no_run
/// # extern crate unigrad_nn as unigrad;
/// # fn main() -> unigrad::Result<()> {
/// # let (model, x, y): (unigrad::nn::Linear, unigrad_tensor::Tensor, unigrad_tensor::Tensor) = todo!();
/// use unigrad::nn::{AdamW, Layer, Module};
/// let mut optimizer = AdamW::new(model.parameters(), 1e-3)?.weight_decay(0.1);
/// let loss = model.forward(&x).mse_loss(&y);
/// loss.backward()?;
/// optimizer.step()?; // computes the loss too, in the same evaluation
/// optimizer.zero_grad();
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Optimizer<R> {
    pub(crate) rule: R,
    groups: Vec<Group>,
    /// Per parameter, in order of groups.
    state: Vec<Vec<Tensor>>,
    n_steps: u64,
    lr_factor: f64,
    clip_norm: Option<f64>,
}

/// Numbers in the shape of a parameter.
struct Spread {
    /// The rule's.
    scalars: Vec<Tensor>,
    /// Whether the loss is finite, if that is asked.
    finite: Option<Tensor>,
}

impl<R: Rule> Optimizer<R> {
    pub(crate) fn with_rule(rule: R, groups: Vec<Group>) -> Result<Self> {
        let mut optimizer = Optimizer { rule, groups, state: Vec::new(), n_steps: 0, lr_factor: 1.0, clip_norm: None };
        if let Some(bad) = optimizer.parameters().iter().find(|p| !p.is_variable()) {
            if let Some(error) = bad.error() {
                return Err(error.into());
            }
            let cause = format!("a tensor {:?} among the parameters requires no gradient", bad.shape());
            return Err(Error::argument(cause, "make it a parameter with `requires_grad()`"));
        }
        optimizer.reset_state()?;
        Ok(optimizer)
    }

    /// State of zeros, and parameters that are computed: the first step then looks like all others.
    pub(crate) fn reset_state(&mut self) -> Result<()> {
        let names = self.rule.state_names();
        let parameters = self.parameters();
        let zeros = |p: &Tensor| -> Result<Tensor> { Ok(Tensor::zeros(p.dims()?, state_dtype(p.dtype()), &p.device()?)) };
        self.state = parameters.iter().map(|p| names.iter().map(|_| zeros(p)).collect()).collect::<Result<_>>()?;
        let all: Vec<&Tensor> = parameters.iter().chain(self.state.iter().flatten()).collect();
        Ok(Tensor::realize_all(&all)?)
    }

    /// All parameters, in order of groups.
    pub fn parameters(&self) -> Vec<Tensor> {
        self.groups.iter().flat_map(|g| g.parameters.iter().cloned()).collect()
    }

    /// The groups.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Adds parameters with settings of their own.
    pub fn add_group(mut self, group: Group) -> Result<Self> {
        self.groups.push(group);
        self.reset_state()?;
        Ok(self)
    }

    /// Scales gradients down in every step so that their norm, over all parameters, is at most `max_norm`.
    pub fn clip_norm(mut self, max_norm: f64) -> Self {
        self.clip_norm = Some(max_norm);
        self
    }

    /// Steps taken so far.
    pub fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// The learning rate of the first group, as the next step uses it.
    pub fn lr(&self) -> f64 {
        self.groups.first().map_or(0.0, |g| g.lr) * self.lr_factor
    }

    /// Sets every group's base learning rate.
    pub fn set_lr(&mut self, lr: f64) {
        self.groups.iter_mut().for_each(|g| g.lr = lr);
    }

    /// Multiplies all learning rates in the steps to come: what a [`crate::Schedule`] gives.
    pub fn set_lr_factor(&mut self, factor: f64) {
        self.lr_factor = factor;
    }

    /// Forgets the gradients of all parameters.
    pub fn zero_grad(&self) {
        self.groups.iter().flat_map(|g| &g.parameters).for_each(Tensor::zero_grad);
    }

    /// One step with the gradients that `backward` left. Parameters without a gradient stay as they are. Forgets no gradient.
    pub fn step(&mut self) -> Result<()> {
        self.step_and(&[])
    }

    /// As [`Optimizer::step`]; computes `also` in the same evaluation.
    pub fn step_and(&mut self, also: &[&Tensor]) -> Result<()> {
        let gradients = self.parameters().iter().map(Tensor::grad).collect();
        self.apply(gradients, None, also)
    }

    /// One step down `loss`: differentiates it, updates, and computes it and `also`, in one evaluation. Leaves no gradients behind, and frees the
    /// loss's graph as `backward` does.
    ///
    /// When the loss is not finite, parameters and state keep their values; see [`crate::first_not_finite`].
    pub fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        let parameters = self.parameters();
        let gradients = take_gradients(loss, &parameters)?;
        let all: Vec<&Tensor> = std::iter::once(loss).chain(also.iter().copied()).collect();
        self.apply(gradients.into_iter().map(Some).collect(), Some(loss), &all)
    }

    /// Assigns and evaluates. With `guard`, values only change if it is finite.
    fn apply(&mut self, mut gradients: Vec<Option<Tensor>>, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        let step = self.n_steps + 1;
        let changed = no_grad(|| -> Result<Vec<Tensor>> {
            if let Some(max_norm) = self.clip_norm {
                clip::scale_to_norm(&mut gradients, max_norm);
            }
            let finite = guard.map(Tensor::isfinite);
            let mut changed = Vec::new();
            let mut gradients = gradients.into_iter();
            let mut state = self.state.iter();
            for group in &self.groups {
                let decay = group.weight_decay.unwrap_or_else(|| self.rule.weight_decay());
                let numbers = self.rule.scalars(step, group.lr * self.lr_factor, decay);
                // One node for all parameters of a type: the plan then has one slot for each number.
                let mut scalars: Vec<((DType, u32), Vec<Tensor>)> = Vec::new();
                // And one for all of a shape where a number meets them.
                let mut shaped: Vec<(DType, u32, Vec<usize>, Spread)> = Vec::new();
                for parameter in &group.parameters {
                    let (Some(gradient), Some(state)) = (gradients.next().flatten(), state.next()) else { continue };
                    let dtype = state_dtype(parameter.dtype());
                    let key = (dtype, parameter.device_id());
                    if !scalars.iter().any(|(k, _)| *k == key) {
                        let device = parameter.device()?;
                        scalars.push((key, numbers.iter().map(|&n| Tensor::scalar(n, dtype, &device)).collect()));
                    }
                    let Some((_, scalars)) = scalars.iter().find(|(k, _)| *k == key) else { continue };
                    let shape = parameter.shape();
                    let known = shaped.iter().position(|(dtype, device, known, _)| (*dtype, *device) == key && *known == shape);
                    let known = known.unwrap_or_else(|| {
                        let spread = |tensor: &Tensor| tensor.expand(shape.as_slice());
                        let here = Spread { scalars: scalars.iter().map(spread).collect(), finite: finite.as_ref().map(spread) };
                        shaped.push((key.0, key.1, shape.to_vec(), here));
                        shaped.len() - 1
                    });
                    let Spread { scalars, finite } = &shaped[known].3;
                    let (value, gradient) = (parameter.detach().cast(dtype), gradient.detach().cast(dtype));
                    let (new_value, new_state) = self.rule.update(&value, &gradient, state, scalars);
                    let keep = |new: Tensor, old: &Tensor| match finite {
                        Some(finite) => finite.where_(&new, old),
                        None => new,
                    };
                    parameter.assign(&keep(new_value, &value).cast(parameter.dtype()))?;
                    changed.push(parameter.clone());
                    for (old, new) in state.iter().zip(new_state) {
                        let kept = keep(new, &old.detach());
                        old.assign(&kept)?;
                        changed.push(old.clone());
                    }
                }
            }
            Ok(changed)
        })?;
        self.n_steps = step;
        let all: Vec<&Tensor> = changed.iter().chain(also.iter().copied()).collect();
        Ok(Tensor::realize_all(&all)?)
    }

    /// State by name: `state.3.exp_avg` belongs to the fourth parameter, as in PyTorch.
    fn named_state(&self) -> Vec<(String, Tensor)> {
        let names = self.rule.state_names();
        let of = |(i, state): (usize, &Vec<Tensor>)| {
            names.iter().zip(state).map(move |(name, tensor)| (format!("state.{i}.{name}"), tensor.clone())).collect::<Vec<_>>()
        };
        self.state.iter().enumerate().flat_map(of).collect()
    }

    /// State on the host, for a file; [`Optimizer::n_steps`] belongs to it.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        module::to_host(&self.named_state())
    }

    /// Continues from a saved state.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        module::load(&self.named_state(), state, "the optimizer's state")?;
        self.n_steps = n_steps;
        Ok(())
    }
}

fn state_dtype(dtype: DType) -> DType {
    dtype.compute()
}
