//! Stochastic gradient descent, with momentum (PyTorch's form), Nesterov's variant and weight decay.

use super::{Group, Optimizer, Rule, StepNumbers, misfit};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Stochastic gradient descent.
pub type Sgd = Optimizer<SgdRule>;

/// The rule of [`Sgd`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SgdRule {
    momentum: f64,
    dampening: f64,
    nesterov: bool,
    weight_decay: f64,
}

impl Rule for SgdRule {
    fn state_names(&self) -> Vec<&'static str> {
        if self.momentum == 0.0 { vec![] } else { vec!["momentum_buffer"] }
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [minus_lr, decay, momentum, share] =
            [-step.lr, step.weight_decay, self.momentum, 1.0 - self.dampening].map(|number| step.number(number));
        // The first gradient enters the momentum undamped.
        let share = if self.dampening == 0.0 { share } else { step.step.le(1).where_(step.number(1.0), share) };
        vec![minus_lr, decay, momentum, share]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let [minus_lr, decay, momentum, share] = scalars else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let buffer = match (self.momentum != 0.0, state) {
            (true, [buffer]) => buffer,
            (false, []) => return (value + gradient * minus_lr, vec![]),
            _ => return misfit(self, state, scalars),
        };
        let buffer = buffer * momentum + &gradient * share;
        let direction = if self.nesterov { gradient + &buffer * momentum } else { buffer.clone() };
        (value + direction * minus_lr, vec![buffer])
    }
}

impl Sgd {
    /// Plain descent with learning rate `lr`.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Sgd> {
        let _origin = Origin::enter_caller();
        Optimizer::with_rule(SgdRule::default(), vec![Group { parameters, lr, weight_decay: None }])
    }

    /// With momentum.
    pub fn momentum(mut self, momentum: f64) -> Result<Sgd> {
        self.rule.momentum = momentum;
        self.reset_state()?;
        Ok(self)
    }

    /// How much less than whole a gradient enters the momentum.
    pub fn dampening(mut self, dampening: f64) -> Sgd {
        self.rule.dampening = dampening;
        self
    }

    /// Nesterov's form of momentum.
    pub fn nesterov(mut self, nesterov: bool) -> Sgd {
        self.rule.nesterov = nesterov;
        self
    }

    /// Adds this multiple of the values to their gradients.
    pub fn weight_decay(mut self, weight_decay: f64) -> Sgd {
        self.rule.weight_decay = weight_decay;
        self
    }
}
