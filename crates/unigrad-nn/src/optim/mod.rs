//! Optimizers: gradients into better parameters.
//!
//! In: parameters and their gradients. Out: parameters and state, assigned in one evaluation together with whatever else is asked for,
//! so that forward, backward and update are planned as one, and the update is one or two launches for all parameters.
//! Always: what changes from step to step is a run-time scalar (learning rate) or computed from a counter on the device (bias corrections),
//! so every step after the first finds its plan; state exists from the beginning, so the first step looks like the others. State of
//! half-precision parameters is `f32`.
//! A step is a transaction: whatever fails, parameters, state and counter are bit for bit what they were, and the next step works. The counter
//! lives beside the state, so that a step which the device undoes is not counted either, and nobody waits to know.

mod adagrad;
mod adam;
mod adamax;
mod adan;
mod asgd;
mod clip;
mod lion;
mod nadam;
mod optimize;
mod radam;
mod rmsprop;
mod rprop;
mod ruled;
mod sgd;

pub use adagrad::{Adadelta, AdadeltaRule, Adagrad, AdagradRule};
pub use adam::{Adam, AdamRule, AdamW};
pub use adamax::{Adamax, AdamaxRule};
pub use adan::{Adan, AdanRule};
pub use asgd::{Asgd, AsgdRule};
pub use clip::{clip_grad_norm, clip_grad_value, grad_norm};
pub use lion::{Lion, LionRule};
pub use nadam::{NAdam, NAdamRule};
pub use optimize::Optimize;
pub use radam::{RAdam, RAdamRule};
pub use rmsprop::{RmsProp, RmsPropRule};
pub use rprop::{Rprop, RpropRule};
pub use sgd::{Sgd, SgdRule};

/// Weight decay as rules of Adam's kind have it: beside the gradient (`decoupled`: `decay` is what the value is multiplied with), or added to it.
fn decayed(value: &Tensor, gradient: &Tensor, decay: &Tensor, decoupled: bool) -> (Tensor, Tensor) {
    if decoupled { (value * decay, gradient.clone()) } else { (value.clone(), gradient + value * decay) }
}

/// Methods that set a number of a rule and return the optimizer.
macro_rules! setters {
    ($($name:ident, $doc:literal;)*) => { $(
        #[doc = $doc]
        pub fn $name(mut self, $name: f64) -> Self {
            self.rule.$name = $name;
            self
        }
    )* };
}
use ruled::Ruled;
use setters;

use crate::{
    archive::HostTensor,
    error::{Error, Result},
    module,
};
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};
use unigrad_tensor::{Composite, DType, Device, Origin, Tensor, eval, no_grad, take_gradients};

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

/// How one parameter follows its gradient. A program's own becomes an optimizer by [`Optimizer::with_rule`].
pub trait Rule {
    /// The tensors kept for each parameter.
    fn state_names(&self) -> Vec<&'static str>;

    /// The weight decay of groups that have none of their own.
    fn weight_decay(&self) -> f64;

    /// What a tensor of state begins with: zeros, unless a rule says otherwise. `zeros` has the state's shape and dtype; `lr` is the group's.
    fn initial_state(&self, _name: &str, zeros: &Tensor, _parameter: &Tensor, _lr: f64) -> Tensor {
        zeros.clone()
    }

    /// Numbers that are kept from step to step, for each group: names, and what they begin with. Saved with the state.
    fn numbers(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What the kept numbers ([`StepNumbers::numbers`]) become in a step.
    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        step.numbers.to_vec()
    }

    /// The numbers of a step, in an order that `update` knows, as tensors of rank 0.
    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor>;

    /// The new value of a parameter, and its new state, of one shape all, in the state's dtype (`f32` for half types, else the parameter's); so are
    /// the arguments. A function of its arguments and the rule alone: it is called once for each type of parameters, recorded and fused, and called
    /// again only if it takes tensors or numbers of its own. What changes from step to step is in `scalars`. It reads no values.
    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>);
}

/// What a rule computes a step's numbers from.
pub struct StepNumbers<'a> {
    /// Which step it is, from 1: a tensor of rank 0 in the state's dtype, on the parameters' device.
    pub step: Tensor,
    /// The learning rate.
    pub lr: f64,
    /// The weight decay.
    pub weight_decay: f64,
    /// What [`Rule::numbers`] names, as they were before the step: tensors of rank 0.
    pub numbers: &'a [Tensor],
    device: &'a Device,
}

impl StepNumbers<'_> {
    /// A number as a run-time scalar: another value makes no other plan.
    pub fn number(&self, value: f64) -> Tensor {
        Tensor::scalar(value, self.step.dtype(), self.device)
    }

    /// `1 - beta^step`, to the precision of the dtype for every step.
    pub fn bias_correction(&self, beta: f64) -> Tensor {
        // `1 - exp(step ln(beta))`: the difference of the first steps would lose half of an `f32`'s digits.
        (&self.step * self.number(beta.ln())).expm1().neg()
    }
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
    pub(crate) rule: Ruled<R>,
    groups: Vec<Group>,
    /// Per parameter, in order of groups.
    state: Vec<Vec<Tensor>>,
    /// Those of [`Rule::numbers`], where the rule keeps some.
    numbers: Vec<KeptNumbers>,
    /// Steps taken, on each device with parameters: an `I64` of rank 0.
    counters: Vec<Tensor>,
    /// What the counters are, as far as the host knows.
    n_steps: Known,
    lr_factor: f64,
    clip_norm: Option<f64>,
}

/// Numbers that a rule keeps, for the parameters of a group that have one dtype of state and one device.
#[derive(Debug)]
struct KeptNumbers {
    group: usize,
    dtype: DType,
    /// Among the devices with parameters.
    device: usize,
    values: Vec<Tensor>,
}

/// The host's copy of the counter. After a step it counts on success; a step that the device undid is found at the next wait.
#[derive(Debug, Default)]
struct Known {
    steps: AtomicU64,
    /// How often the host had waited for the device when `steps` was known, plus one; 0 while nothing is under way.
    waits: AtomicU64,
}

impl<R: Rule> Optimizer<R> {
    /// An optimizer by a rule of the program's own.
    ///
    /// Its state begins as zeros, its steps are transactions and one launch for parameters of a kind, its state is in checkpoints, as with the rules
    /// of this crate. An error if a parameter requires no gradient.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{Group, Optimizer, Rule, StepNumbers};
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// /// A step of one size, against the sign of the gradient.
    /// struct SignDescent;
    ///
    /// impl Rule for SignDescent {
    ///     fn state_names(&self) -> Vec<&'static str> {
    ///         vec![]
    ///     }
    ///     fn weight_decay(&self) -> f64 {
    ///         0.0
    ///     }
    ///     fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
    ///         vec![step.number(-step.lr)]
    ///     }
    ///     fn update(&self, value: &Tensor, gradient: &Tensor, _: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
    ///         (value + gradient.sign() * &scalars[0], vec![])
    ///     }
    /// }
    ///
    /// let w = Tensor::new([1.0f32, -2.0], &Device::open("cpu")?).requires_grad();
    /// let group = Group { parameters: vec![w.clone()], lr: 0.25, weight_decay: None };
    /// let mut optimizer = Optimizer::with_rule(SignDescent, vec![group])?;
    /// optimizer.minimize(&w.square().sum(()), &[])?;
    /// assert_eq!(w.to_vec::<f32>()?, [0.75, -1.75]);
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    #[track_caller]
    pub fn with_rule(rule: R, groups: Vec<Group>) -> Result<Self> {
        let _origin = Origin::enter_caller();
        let (state, numbers, counters, n_steps) = (Vec::new(), Vec::new(), Vec::new(), Known::default());
        let rule = Ruled::new(rule);
        let mut optimizer = Optimizer { rule, groups, state, numbers, counters, n_steps, lr_factor: 1.0, clip_norm: None };
        if let Some(bad) = optimizer.parameters().iter().find(|p| !p.is_variable()) {
            if let Some(error) = bad.error() {
                return Err(error);
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
        let mut state: Vec<Vec<Tensor>> = Vec::with_capacity(parameters.len());
        for group in &self.groups {
            for parameter in &group.parameters {
                let zeros =
                    || -> Result<Tensor> { Ok(Tensor::zeros(parameter.dims()?, state_dtype(parameter.dtype()), &parameter.device()?)) };
                let first = |name: &&str| Ok(self.rule.initial_state(name, &zeros()?, &parameter.detach(), group.lr));
                state.push(names.iter().map(first).collect::<Result<_>>()?);
            }
        }
        let mut devices: Vec<Device> = Vec::new();
        for parameter in &parameters {
            let device = parameter.device()?;
            if !devices.contains(&device) {
                devices.push(device);
            }
        }
        let steps = self.n_steps.steps.load(Ordering::Relaxed) as i64;
        let counters: Vec<Tensor> = devices.iter().map(|device| Tensor::from_slice(&[steps], (), device)).collect();
        let numbers = self.first_numbers(&devices)?;
        let kept = numbers.iter().flat_map(|kept| &kept.values);
        let all: Vec<&Tensor> = parameters.iter().chain(state.iter().flatten()).chain(kept).chain(&counters).collect();
        Tensor::realize_all(&all)?;
        (self.state, self.numbers, self.counters) = (state, numbers, counters);
        Ok(())
    }

    /// The numbers that the rule keeps, as they are before the first step.
    fn first_numbers(&self, devices: &[Device]) -> Result<Vec<KeptNumbers>> {
        let named = self.rule.numbers();
        let mut all: Vec<KeptNumbers> = Vec::new();
        if named.is_empty() {
            return Ok(all);
        }
        for (group, parameters) in self.groups.iter().enumerate() {
            for parameter in &parameters.parameters {
                let (on, dtype) = (parameter.device()?, state_dtype(parameter.dtype()));
                let Some(device) = devices.iter().position(|device| *device == on) else { continue };
                if all.iter().all(|kept| (kept.group, kept.dtype, kept.device) != (group, dtype, device)) {
                    let values = named.iter().map(|(_, value)| Tensor::full([0usize; 0], *value, dtype, &on)).collect();
                    all.push(KeptNumbers { group, dtype, device, values });
                }
            }
        }
        Ok(all)
    }

    /// The state of this name, of every parameter in order.
    pub fn state_named(&self, name: &str) -> Vec<Tensor> {
        let at = self.rule.state_names().iter().position(|own| *own == name);
        self.state.iter().filter_map(|state| at.and_then(|at| state.get(at)).cloned()).collect()
    }

    /// The rule.
    pub fn rule(&self) -> &R {
        &self.rule
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

    /// Steps taken so far. A step that did not change anything, since its loss was not finite or it failed, is none.
    ///
    /// Never waits for the device: steps under way count as taken, until the host has waited for one of them for another reason (a loss that is
    /// read, say) and knows better.
    pub fn n_steps(&self) -> u64 {
        let Known { steps, waits } = &self.n_steps;
        let (known, since) = (steps.load(Ordering::Relaxed), waits.load(Ordering::Relaxed));
        let Some(counter) = self.counters.first().filter(|_| since > 0) else { return known };
        if !counter.device().is_ok_and(|device| device.completes_at_once() || device.n_waits() >= since) {
            return known;
        }
        // A counter that cannot be read leaves what is known: whoever reads the model next learns why.
        let read = eval::data(&counter.expr()).ok().and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
        let Some(read) = read.and_then(|read| u64::try_from(read).ok()) else { return known };
        steps.store(read, Ordering::Relaxed);
        waits.store(0, Ordering::Relaxed);
        read
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
    ///
    /// When it fails, nothing has changed, and the gradients are forgotten: they may depend on what failed. (A GPU may find out only later that an
    /// index of the batch was out of range. It then keeps all values, the step does not count, and the error is told where the loss is read.)
    #[track_caller]
    pub fn step(&mut self) -> Result<()> {
        let _origin = Origin::enter_caller();
        self.step_and(&[])
    }

    /// As [`Optimizer::step`]; computes `also` in the same evaluation.
    #[track_caller]
    pub fn step_and(&mut self, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        let gradients = self.groups.iter().flat_map(|group| &group.parameters).map(Tensor::grad).collect();
        let result = self.apply(gradients, None, also);
        if result.is_err() {
            self.zero_grad();
        }
        result
    }

    /// As [`Optimizer::step_and`]; but where `guard` (one number, usually the loss) is not finite, nothing changes and the step does not count.
    #[track_caller]
    pub fn step_guarded(&mut self, guard: &Tensor, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        let gradients = self.parameters().iter().map(Tensor::grad).collect();
        let result = self.apply(gradients, Some(guard), also);
        if result.is_err() {
            self.zero_grad();
        }
        result
    }

    /// One step down `loss`: differentiates it, updates, and computes it and `also`, in one evaluation. Leaves no gradients behind, and frees the
    /// loss's graph as `backward` does.
    ///
    /// When the loss is not finite, parameters and state keep their values, and the step does not count; see [`crate::first_not_finite`].
    /// When it fails, nothing has changed, as for [`Optimizer::step`].
    #[track_caller]
    pub fn minimize(&mut self, loss: &Tensor, also: &[&Tensor]) -> Result<()> {
        let _origin = Origin::enter_caller();
        let attempt = eval::Attempt::begin();
        let gradients = take_gradients(loss, &self.parameters())?;
        let all: Vec<&Tensor> = std::iter::once(loss).chain(also.iter().copied()).collect();
        self.apply(gradients.into_iter().map(Some).collect(), Some(loss), &all)?;
        attempt.succeeded();
        Ok(())
    }

    /// Assigns and evaluates. With `guard`, values only change if it is finite.
    fn apply(&mut self, gradients: Vec<Option<Tensor>>, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        let attempt = eval::Attempt::begin();
        self.assign_and_evaluate(gradients, guard, also)?;
        attempt.succeeded();
        Ok(())
    }

    fn assign_and_evaluate(&mut self, mut gradients: Vec<Option<Tensor>>, guard: Option<&Tensor>, also: &[&Tensor]) -> Result<()> {
        let changed = no_grad(|| -> Result<Vec<Tensor>> {
            if let Some(max_norm) = self.clip_norm {
                clip::scale_to_norm(&mut gradients, max_norm);
            }
            let finite = guard.map(|loss| match loss.isfinite() {
                finite if finite.rank() == 0 => finite,
                finite => finite.reshape([0usize; 0]),
            });
            if let Some(finite) = &finite {
                // Running statistics that layers have assigned.
                eval::guard_assignments(&finite.expr());
            }
            let assign = |old: &Tensor, new: &Tensor| finite.as_ref().map_or_else(|| old.assign(new), |finite| old.assign_if(new, finite));
            let mut changed = Vec::new();
            let steps: Vec<Tensor> = self.counters.iter().map(|counter| counter.detach() + 1).collect();
            for (counter, step) in self.counters.iter().zip(&steps) {
                assign(counter, step)?;
                changed.push(counter.clone());
            }
            let mut gradients = gradients.into_iter();
            let mut state = self.state.iter();
            for (group_at, group) in self.groups.iter().enumerate() {
                let weight_decay = group.weight_decay.unwrap_or_else(|| self.rule.weight_decay());
                let lr = group.lr * self.lr_factor;
                // One node for all parameters of a type: the plan then has one slot for each number.
                let mut scalars: Vec<((DType, u32), Vec<Tensor>)> = Vec::new();
                for parameter in &group.parameters {
                    let (gradient, state) = (gradients.next().flatten(), state.next());
                    let (Some(gradient), Some(state)) = (gradient, state) else { continue };
                    let dtype = state_dtype(parameter.dtype());
                    let key = (dtype, parameter.device_id());
                    if !scalars.iter().any(|(k, _)| *k == key) {
                        let device = parameter.device()?;
                        let at = steps.iter().position(|step| step.device_id() == key.1);
                        let at = at.ok_or_else(|| Error::argument("a parameter has moved to another device", "make a new optimizer"))?;
                        let kept = self.numbers.iter().find(|kept| (kept.group, kept.dtype, kept.device) == (group_at, dtype, at));
                        let before: Vec<Tensor> = kept.map_or(Vec::new(), |kept| kept.values.iter().map(Tensor::detach).collect());
                        let numbers = StepNumbers { step: steps[at].cast(dtype), lr, weight_decay, numbers: &before, device: &device };
                        scalars.push((key, self.rule.scalars(&numbers)));
                        if let Some(kept) = kept {
                            for (old, new) in kept.values.iter().zip(self.rule.next_numbers(&numbers)) {
                                assign(old, &new)?;
                                changed.push(old.clone());
                            }
                        }
                    }
                    let Some((_, scalars)) = scalars.iter().find(|(k, _)| *k == key) else { continue };
                    let arguments: Vec<&Tensor> = [parameter, &gradient].into_iter().chain(state).chain(scalars).collect();
                    // One update for all parameters of a type and shape: each parameter's is then one node.
                    let Ruled { rule, updates } = &mut self.rule;
                    let update = |arguments: &[Tensor]| updated(rule, state.len(), arguments);
                    let known = match updates.iter().position(|update| update.fits(&arguments)) {
                        Some(known) => known,
                        None => {
                            updates.push(Composite::record("update", &arguments, update)?);
                            updates.len() - 1
                        }
                    };
                    let results = match updates[known].call(&arguments) {
                        Some(results) => results,
                        // A rule of many kinds of ops, or with tensors of its own.
                        None => update(&arguments.iter().map(|argument| argument.detach()).collect::<Vec<_>>()),
                    };
                    if results.len() != 1 + state.len() {
                        let cause = format!("the rule gave {} tensors of state for {} names", results.len().saturating_sub(1), state.len());
                        return Err(Error::argument(cause, "return one new tensor for each of `state_names`, in that order"));
                    }
                    for (old, new) in std::iter::once(parameter).chain(state).zip(&results) {
                        assign(old, new)?;
                        changed.push(old.clone());
                    }
                }
            }
            Ok(changed)
        })?;
        let all: Vec<&Tensor> = changed.iter().chain(also.iter().copied()).collect();
        Tensor::realize_all(&all)?;
        self.n_steps.steps.fetch_add(1, Ordering::Relaxed);
        let waits = self.counters.first().and_then(|counter| counter.device().ok()).map_or(0, |device| device.n_waits() + 1);
        self.n_steps.waits.store(waits, Ordering::Relaxed);
        Ok(())
    }

    /// State by name: `state.3.exp_avg` belongs to the fourth parameter, as in PyTorch.
    fn named_state(&self) -> Vec<(String, Tensor)> {
        let names = self.rule.state_names();
        let of = |(i, state): (usize, &Vec<Tensor>)| {
            names.iter().zip(state).map(move |(name, tensor)| (format!("state.{i}.{name}"), tensor.clone())).collect::<Vec<_>>()
        };
        let kept = self.numbers.iter().flat_map(|kept| {
            let named = self.rule.numbers().into_iter().zip(&kept.values);
            named.map(|((name, _), value)| (format!("number.{}.{}.{}.{name}", kept.group, kept.dtype, kept.device), value.clone()))
        });
        self.state.iter().enumerate().flat_map(of).chain(kept).collect()
    }

    /// State on the host, for a file; [`Optimizer::n_steps`] belongs to it.
    pub fn state_dict(&self) -> Result<BTreeMap<String, HostTensor>> {
        module::to_host(&self.named_state())
    }

    /// Continues from a saved state.
    pub fn load_state_dict(&mut self, state: &BTreeMap<String, HostTensor>, n_steps: u64) -> Result<()> {
        let steps = i64::try_from(n_steps).map_err(|_| Error::argument(format!("{n_steps} steps"), "a count below 2^63"))?;
        module::load(&self.named_state(), state, "the optimizer's state")?;
        for counter in &self.counters {
            counter.assign(&Tensor::from_slice(&[steps], (), &counter.device()?))?;
        }
        Tensor::realize_all(&self.counters.iter().collect::<Vec<_>>())?;
        self.n_steps.steps.store(n_steps, Ordering::Relaxed);
        self.n_steps.waits.store(0, Ordering::Relaxed);
        Ok(())
    }
}

/// What a rule makes of a parameter's value, its gradient, its state and the step's numbers: the new value, and the new state.
fn updated(rule: &impl Rule, n_state: usize, arguments: &[Tensor]) -> Vec<Tensor> {
    let [value, gradient, rest @ ..] = arguments else { return Vec::new() };
    let (state, scalars) = rest.split_at(n_state.min(rest.len()));
    let dtype = state_dtype(value.dtype());
    let scalars: Vec<Tensor> = scalars.iter().map(|scalar| scalar.expand(value.shape())).collect();
    let (new_value, new_state) = rule.update(&value.cast(dtype), &gradient.cast(dtype), state, &scalars);
    std::iter::once(new_value.cast(value.dtype())).chain(new_state).collect()
}

fn state_dtype(dtype: DType) -> DType {
    dtype.compute()
}
