//! Lookahead (Zhang et al., arXiv:1907.08610) around any rule: slow weights, to which the fast ones return every few steps. As the authors' code
//! (michaelrzhang/lookahead) computes it.
//!
//! Always: part of the rule's own update, so that it costs no launch; the slow weights are state, and steps are transactions as before.

use super::{Optimizer, Rule, StepNumbers, misfit, rule::state_dtype, ruled::Ruled};
use crate::error::{Error, Result};
use unigrad_tensor::Tensor;

/// A rule with slow weights; see [`Optimizer::lookahead`].
#[derive(Clone, Copy, Debug)]
pub struct LookaheadRule<R> {
    fast: R,
    every: u64,
    alpha: f64,
}

impl<R: Rule> Optimizer<R> {
    /// The same with slow weights: after every `every` steps (the authors: 5) they go the share `alpha` (0.5) of the way to the parameters, which then
    /// become equal to them. State begins anew.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad::nn::Sgd;
    /// use unigrad_tensor::{Device, Tensor};
    ///
    /// let w = Tensor::new([4.0f32], &Device::open("cpu")?).requires_grad();
    /// let mut optimizer = Sgd::new(vec![w.clone()], 1.0)?.lookahead(2, 0.5)?;
    /// for _ in 0..2 {
    ///     optimizer.minimize(&w.sum(()), &[])?;
    /// }
    /// assert_eq!(w.to_vec::<f32>()?, [3.0]); // halfway from 4 to 2
    /// # Ok::<(), unigrad::Error>(())
    /// ```
    pub fn lookahead(self, every: u64, alpha: f64) -> Result<Optimizer<LookaheadRule<R>>> {
        if every == 0 || !(0.0..=1.0).contains(&alpha) {
            let cause = format!("slow weights after every {every} steps, by a share of {alpha}");
            return Err(Error::argument(cause, "give 1 step or more, and a share between 0 and 1"));
        }
        let wrap = |fast: R| LookaheadRule { fast, every, alpha };
        let mut optimizer = Optimizer {
            rule: Ruled::new(wrap(self.rule.into_rule())),
            rule_of: self.rule_of,
            own_rules: self.own_rules.into_iter().map(|own| Ruled::new(wrap(own.into_rule()))).collect(),
            trained: self.trained,
        };
        optimizer.reset_state()?;
        Ok(optimizer)
    }
}

const SLOW: &str = "slow";

impl<R: Rule> Rule for LookaheadRule<R> {
    fn state_names(&self) -> Vec<&'static str> {
        self.fast.state_names().into_iter().chain([SLOW]).collect()
    }

    fn state_names_of(&self, parameter: &Tensor) -> Vec<&'static str> {
        self.fast.state_names_of(parameter).into_iter().chain([SLOW]).collect()
    }

    fn check(&self, parameter: &Tensor) -> Result<()> {
        self.fast.check(parameter)
    }

    fn ready(&self) -> Result<()> {
        self.fast.ready()
    }

    fn weight_decay(&self) -> f64 {
        self.fast.weight_decay()
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, parameter: &Tensor, lr: f64) -> Tensor {
        match name {
            // In memory of its own.
            SLOW => parameter.cast(state_dtype(parameter.dtype())) + zeros,
            _ => self.fast.initial_state(name, zeros, parameter, lr),
        }
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        self.fast.numbers()
    }

    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        self.fast.next_numbers(step)
    }

    fn loaded(&mut self, numbers: &[f64]) {
        self.fast.loaded(numbers);
    }

    fn switched(&self, value: &Tensor, state: &[Tensor], training: bool) -> Option<Tensor> {
        self.fast.switched(value, state, training)
    }

    fn set_training(&mut self, training: bool) {
        self.fast.set_training(training);
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let mut scalars = self.fast.scalars(step);
        let every = step.number(self.every as f64);
        let past = &step.step - (&step.step / &every).floor() * &every;
        scalars.extend([past.eq(0.0).where_(step.number(1.0), step.number(0.0)), step.number(self.alpha)]);
        scalars
    }

    fn is_elementwise(&self) -> bool {
        self.fast.is_elementwise()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([scalars @ .., sync, alpha], [state @ .., slow]) = (scalars, state) else { return misfit(self, state, scalars) };
        let (fast, mut new_state) = self.fast.update(value, gradient, state, scalars);
        let sync = sync.gt(0.0);
        let slow = sync.where_(slow + (&fast - slow) * alpha, slow);
        new_state.push(slow.clone());
        (sync.where_(&slow, fast), new_state)
    }
}
