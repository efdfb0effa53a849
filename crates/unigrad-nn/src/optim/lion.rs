//! Lion (Chen et al., arXiv:2302.06675, algorithm 2): the sign of an average of the gradient and its momentum, with decoupled weight decay.

use super::{Group, Optimizer, Rule, StepNumbers, betas, misfit};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Lion. Its steps are all of one size, so its learning rate is a third to a tenth of [`crate::AdamW`]'s, and its weight decay as much greater.
pub type Lion = Optimizer<LionRule>;

/// The rule of [`Lion`].
#[derive(Clone, Copy, Debug)]
pub struct LionRule {
    beta1: f64,
    beta2: f64,
    weight_decay: f64,
}

impl Lion {
    /// Lion with learning rate `lr`, betas 0.9 and 0.99, no weight decay.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Lion> {
        let _origin = Origin::enter_caller();
        let rule = LionRule { beta1: 0.9, beta2: 0.99, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How much of the momentum enters a step, and how slowly it forgets.");

    /// How strongly values are pulled to zero.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.rule.weight_decay = weight_decay;
        self
    }
}

impl Rule for LionRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let numbers = [1.0 - step.lr * step.weight_decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, -step.lr];
        numbers.map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([decay, beta1, share1, beta2, share2, minus_rate], [m]) = (scalars, state) else { return misfit(self, state, scalars) };
        let direction = (m * beta1 + gradient * share1).sign();
        (value * decay + direction * minus_rate, vec![m * beta2 + gradient * share2])
    }
}
