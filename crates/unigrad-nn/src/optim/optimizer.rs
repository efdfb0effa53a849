//! The optimizer: parameters in groups, a rule, and the state of both.
//!
//! In: parameters, a rule, settings. Out: an [`Optimizer`], whose steps are in `step.rs` and whose state is in `state.rs`.
//! Always: state exists from the beginning, so that the first step looks like all others.

use super::{
    rule::{Group, Rule},
    ruled::{RuleOf, Ruled},
    trained::Trained,
};
use crate::error::{Error, Result};
use unigrad_tensor::{Origin, Tensor};

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
    /// For each group that has a rule of its own: which of `own_rules`.
    pub(super) rule_of: Vec<Option<usize>>,
    pub(super) own_rules: Vec<Ruled<R>>,
    /// All that is no rule.
    pub(super) trained: Trained,
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

/// The rule of each group: one of its own, or all others'.
fn rules<'a, R: Rule>(rule_of: &[Option<usize>], own: &'a [Ruled<R>], rule: &'a Ruled<R>) -> Vec<RuleOf<'a>> {
    rule_of.iter().map(|of| ruling(*of, own, rule).any()).collect()
}

fn ruling<'a, R>(of: Option<usize>, own: &'a [Ruled<R>], rule: &'a Ruled<R>) -> &'a Ruled<R> {
    of.and_then(|at| own.get(at)).unwrap_or(rule)
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
        let (rule_of, own_rules) = (vec![None; groups.len()], Vec::new());
        let mut optimizer = Optimizer { rule: Ruled::new(rule), rule_of, own_rules, trained: Trained::new(groups) };
        optimizer.reset_state()?;
        Ok(optimizer)
    }

    /// The rule of a group.
    pub(super) fn rule_at(&self, group: usize) -> &Ruled<R> {
        ruling(self.rule_of.get(group).copied().flatten(), &self.own_rules, &self.rule)
    }

    /// The rules of all groups, in order, and what is trained by them.
    pub(super) fn parts(&mut self) -> (Vec<RuleOf<'_>>, &mut Trained) {
        (rules(&self.rule_of, &self.own_rules, &self.rule), &mut self.trained)
    }

    /// The rules of all groups, in order.
    pub(super) fn rules(&self) -> Vec<RuleOf<'_>> {
        rules(&self.rule_of, &self.own_rules, &self.rule)
    }

    /// Nothing that was recorded of the rules holds any more.
    pub(super) fn forget_updates(&mut self) {
        self.trained.changed();
        self.rule.forget();
        self.own_rules.iter_mut().for_each(Ruled::forget);
    }

    /// The state of this name, of every parameter that has it, in order.
    pub fn state_named(&self, name: &str) -> Vec<Tensor> {
        let named = self.trained.named_by_parameter(&self.rules());
        let found = named.into_iter().zip(&self.trained.state).filter_map(|(names, state)| {
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
        self.trained.parameters()
    }

    /// The groups.
    pub fn groups(&self) -> &[Group] {
        &self.trained.groups
    }

    /// Adds parameters with a learning rate and weight decay of their own. See [`Optimizer::join`] for a rule's other numbers.
    pub fn add_group(mut self, group: Group) -> Result<Self> {
        self.trained.groups.push(group);
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
        let (own, n) = (self.own_rules.len(), self.trained.groups.len());
        self.trained.ascending.extend(other.trained.ascending.iter().map(|group| n + group));
        let theirs = other.rule_of.iter().map(|of| Some(of.map_or(own, |of| own + 1 + of)));
        self.rule_of.extend(theirs);
        self.trained.groups.extend(other.trained.groups);
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
        self.trained.n_steps()
    }

    /// The learning rate of the first group, as the next step uses it.
    pub fn lr(&self) -> f64 {
        self.trained.groups.first().map_or(0.0, |g| g.lr) * self.trained.lr_factor
    }

    /// Sets every group's base learning rate.
    pub fn set_lr(&mut self, lr: f64) {
        if self.trained.groups.iter().any(|group| group.lr != lr) {
            self.trained.changed();
        }
        self.trained.groups.iter_mut().for_each(|g| g.lr = lr);
    }

    /// Sets the base learning rate and the weight decay of one group (`None`: the rule's own). An error if there is no such group.
    pub fn set_group(&mut self, group: usize, lr: f64, weight_decay: Option<f64>) -> Result<()> {
        let n = self.trained.groups.len();
        let none = || Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0");
        let group = self.trained.groups.get_mut(group).ok_or_else(none)?;
        (group.lr, group.weight_decay) = (lr, weight_decay);
        self.trained.changed();
        Ok(())
    }

    /// Gives one group a rule with other settings. What it keeps for each parameter must be what is kept already; state stays.
    pub fn set_rule(&mut self, group: usize, rule: R) -> Result<()> {
        let n = self.trained.groups.len();
        let Some(parameters) = self.trained.groups.get(group).map(|group| &group.parameters) else {
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
        self.trained.changed();
        Ok(())
    }

    /// Whether one group's steps go up what is differentiated, not down. An error if there is no such group.
    pub fn set_maximize(&mut self, group: usize, maximize: bool) -> Result<()> {
        let n = self.trained.groups.len();
        if group >= n {
            return Err(Error::argument(format!("group {group} of {n} groups"), "groups are counted from 0"));
        }
        if self.trained.ascending.contains(&group) != maximize {
            self.trained.ascending.retain(|own| *own != group);
            self.trained.ascending.extend(maximize.then_some(group));
            self.trained.changed();
        }
        Ok(())
    }

    /// Multiplies all learning rates in the steps to come: what a [`crate::Schedule`] gives.
    pub fn set_lr_factor(&mut self, factor: f64) {
        if self.trained.lr_factor != factor {
            self.trained.changed();
        }
        self.trained.lr_factor = factor;
    }
}
