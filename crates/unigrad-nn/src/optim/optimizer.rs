//! The optimizer: parameters in groups, a rule, and the state of both.
//!
//! In: parameters, a rule, settings. Out: an [`Optimizer`], whose steps are in `step.rs` and whose state is in `state.rs`.
//! Always: state exists from the beginning, so that the first step looks like all others.

use super::{
    gradients::Treatment,
    missed::Missed,
    rule::{Group, Rule},
    ruled::Ruled,
};
use crate::error::{Error, Result};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use unigrad_tensor::{DType, Origin, Tensor, eval};

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
    pub(super) groups: Vec<Group>,
    /// For each group that has a rule of its own: which of `own_rules`.
    pub(super) rule_of: Vec<Option<usize>>,
    pub(super) own_rules: Vec<Ruled<R>>,
    /// Per parameter, in order of groups.
    pub(super) state: Vec<Vec<Tensor>>,
    /// Those of [`Rule::numbers`], where the rule keeps some.
    pub(super) numbers: Vec<KeptNumbers>,
    /// Steps taken, on each device with parameters: an `I64` of rank 0.
    pub(super) counters: Vec<Tensor>,
    /// What the counters are, as far as the host knows.
    pub(super) n_steps: Known,
    pub(super) lr_factor: f64,
    /// What is done to gradients before the rule sees them, in order.
    pub(super) treatments: Vec<Treatment>,
    /// The greatest norm of a row of a parameter after a step.
    pub(super) max_norm: Option<f64>,
    /// Groups whose steps go up.
    pub(super) ascending: Vec<usize>,
    pub(super) missed: Missed,
    /// How often a setting has changed: a step that was recorded ([`unigrad_tensor::replay`]) is recorded again then.
    pub(super) settings: Arc<AtomicU64>,
}

/// Numbers that a rule keeps, for the parameters of a group that have one dtype of state and one device.
#[derive(Debug)]
pub(super) struct KeptNumbers {
    pub(super) group: usize,
    pub(super) dtype: DType,
    /// Among the devices with parameters.
    pub(super) device: usize,
    pub(super) values: Vec<Tensor>,
}

/// The host's copy of the counter. After a step it counts on success; a step that the device undid is found at the next wait.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) steps: AtomicU64,
    /// How often the host had waited for the device when `steps` was known, plus one; 0 while nothing is under way.
    pub(super) waits: AtomicU64,
    /// The node of the counter that `steps` is the value of; 0 before the first step.
    pub(super) node: AtomicU64,
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
        let (rule_of, own_rules, treatments) = (vec![None; groups.len()], Vec::new(), Vec::new());
        let mut optimizer = Optimizer {
            rule: Ruled::new(rule),
            groups,
            rule_of,
            own_rules,
            state,
            numbers,
            counters,
            n_steps,
            lr_factor: 1.0,
            treatments,
            max_norm: None,
            ascending: Vec::new(),
            missed: Missed::default(),
            settings: Arc::default(),
        };
        optimizer.reset_state()?;
        Ok(optimizer)
    }

    /// The rule of a group.
    pub(super) fn rule_at(&self, group: usize) -> &Ruled<R> {
        self.rule_of.get(group).copied().flatten().and_then(|own| self.own_rules.get(own)).unwrap_or(&self.rule)
    }

    /// What is known of the number of steps is the counter's value as it is now.
    pub(super) fn note_counter(&self) {
        self.n_steps.node.store(self.counters.first().map_or(0, |counter| counter.expr().id()), Ordering::Relaxed);
    }

    /// A setting has changed.
    pub(super) fn changed(&self) {
        self.settings.fetch_add(1, Ordering::AcqRel);
    }

    /// Nothing that was recorded of the rules holds any more.
    pub(super) fn forget_updates(&mut self) {
        self.changed();
        self.rule.forget();
        self.own_rules.iter_mut().for_each(Ruled::forget);
    }

    /// Whether a parameter can be trained.
    pub(super) fn check_parameter(parameter: &Tensor) -> Result<()> {
        if parameter.is_variable() {
            return Ok(());
        }
        if let Some(error) = parameter.error() {
            return Err(error);
        }
        let cause = format!("a tensor {:?} among the parameters requires no gradient", parameter.shape());
        Err(Error::argument(cause, "make it a parameter with `requires_grad()`"))
    }

    /// The state of this name, of every parameter that has it, in order.
    pub fn state_named(&self, name: &str) -> Vec<Tensor> {
        let named = self.named_by_parameter();
        let found = named.into_iter().zip(&self.state).filter_map(|(names, state)| {
            let at = names.iter().position(|own| *own == name)?;
            state.get(at).cloned()
        });
        found.collect()
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

    /// Adds parameters with a learning rate and weight decay of their own. See [`Optimizer::join`] for a rule's other numbers.
    pub fn add_group(mut self, group: Group) -> Result<Self> {
        self.groups.push(group);
        self.rule_of.push(None);
        self.reset_state()?;
        Ok(self)
    }

    /// Takes over another optimizer's groups, with all settings of its rule: betas, momentum, epsilon and whatever the rule has. What concerns all
    /// gradients together (clipping, penalties, constraints) is this optimizer's. State begins anew.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::{AdamW, Linear, Module};
    /// use unigrad_tensor::Device;
    ///
    /// let (body, head) = (Linear::new(4, 4, &Device::open("cpu")?), Linear::new(4, 2, &Device::open("cpu")?));
    /// let of_head = AdamW::new(head.parameters(), 1e-2)?.betas(0.8, 0.95).weight_decay(0.0);
    /// let optimizer = AdamW::new(body.parameters(), 1e-3)?.join(of_head)?;
    /// assert_eq!(optimizer.groups().len(), 2);
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    pub fn join(mut self, other: Optimizer<R>) -> Result<Self> {
        let (own, n) = (self.own_rules.len(), self.groups.len());
        self.ascending.extend(other.ascending.iter().map(|group| n + group));
        let theirs = other.rule_of.iter().map(|of| Some(of.map_or(own, |of| own + 1 + of)));
        self.rule_of.extend(theirs);
        self.groups.extend(other.groups);
        self.own_rules.push(other.rule);
        self.own_rules.extend(other.own_rules);
        self.reset_state()?;
        Ok(self)
    }

    /// Steps taken so far. A step that did not change anything, since its loss was not finite or it failed, is none.
    ///
    /// Never waits for the device: steps under way count as taken, until the host has waited for one of them for another reason (a loss that is
    /// read, say) and knows better.
    pub fn n_steps(&self) -> u64 {
        let Known { steps, waits, node } = &self.n_steps;
        let known = steps.load(Ordering::Relaxed);
        let Some(counter) = self.counters.first() else { return known };
        let current = counter.expr();
        if node.swap(current.id(), Ordering::Relaxed) != current.id() && waits.load(Ordering::Relaxed) == 0 {
            // A replayed step has counted.
            waits.store(counter.device().map_or(0, |device| device.n_waits() + 1), Ordering::Relaxed);
        }
        let since = waits.load(Ordering::Relaxed);
        if since == 0 {
            return known;
        }
        if !counter.device().is_ok_and(|device| device.completes_at_once() || device.n_waits() >= since) {
            return known;
        }
        // A counter that cannot be read leaves what is known: the next reader of the model learns why.
        let read = eval::data(&current).ok().and_then(|bytes| bytes.try_into().ok()).map(i64::from_le_bytes);
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
        if self.groups.iter().any(|group| group.lr != lr) {
            self.changed();
        }
        self.groups.iter_mut().for_each(|g| g.lr = lr);
    }

    /// Sets the base learning rate and the weight decay of one group (`None`: the rule's own). An error if there is no such group.
    pub fn set_group(&mut self, group: usize, lr: f64, weight_decay: Option<f64>) -> Result<()> {
        let n = self.groups.len();
        let none = || Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0");
        let group = self.groups.get_mut(group).ok_or_else(none)?;
        (group.lr, group.weight_decay) = (lr, weight_decay);
        self.changed();
        Ok(())
    }

    /// Gives one group a rule with other settings. What it keeps for each parameter must be what is kept already; state stays.
    pub fn set_rule(&mut self, group: usize, rule: R) -> Result<()> {
        let n = self.groups.len();
        let Some(parameters) = self.groups.get(group).map(|group| &group.parameters) else {
            return Err(Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0"));
        };
        let before = self.rule_at(group);
        let keeps_other = |parameter| rule.state_names_of(parameter) != before.state_names_of(parameter);
        if rule.numbers().len() != before.numbers().len() || parameters.iter().any(keeps_other) {
            let help = "make a new optimizer for a setting that changes what is kept for each parameter";
            return Err(Error::argument(format!("other settings for group {group} keep other state than before"), help));
        }
        let own = self.own_rules.len();
        let shared = self.rule_of.iter().filter(|of| **of == self.rule_of[group]).count() > 1;
        match self.rule_of.get_mut(group) {
            Some(of) if shared => {
                *of = Some(own);
                self.own_rules.push(Ruled::new(rule));
            }
            Some(Some(own)) => {
                let own = *own;
                let place = self.own_rules.get_mut(own).ok_or_else(|| Error::Internal("a group's rule is not there".into()))?;
                *place = Ruled::new(rule);
            }
            _ => self.rule = Ruled::new(rule),
        }
        self.changed();
        Ok(())
    }

    /// Whether one group's steps go up what is differentiated, not down. An error if there is no such group.
    pub fn set_maximize(&mut self, group: usize, maximize: bool) -> Result<()> {
        let n = self.groups.len();
        if group >= n {
            return Err(Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0"));
        }
        if self.ascending.contains(&group) != maximize {
            self.ascending.retain(|own| *own != group);
            self.ascending.extend(maximize.then_some(group));
            self.changed();
        }
        Ok(())
    }

    /// Multiplies all learning rates in the steps to come: what a [`crate::Schedule`] gives.
    pub fn set_lr_factor(&mut self, factor: f64) {
        if self.lr_factor != factor {
            self.changed();
        }
        self.lr_factor = factor;
    }
}
