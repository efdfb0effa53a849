//! Rprop (Riedmiller and Braun, 1993): a step size per element, which grows while the gradient keeps its sign.

use super::{Group, Optimizer, Rule, StepNumbers, misfit};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Rprop; for whole batches, whose gradients are no samples.
pub type Rprop = Optimizer<RpropRule>;

/// The rule of [`Rprop`].
#[derive(Clone, Copy, Debug)]
pub struct RpropRule {
    shrink: f64,
    grow: f64,
    least: f64,
    greatest: f64,
}

impl Rprop {
    /// First steps of `lr` (PyTorch: 1e-2), which shrink by 0.5 or grow by 1.2, from 1e-6 to 50.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Rprop> {
        let _origin = Origin::enter_caller();
        let rule = RpropRule { shrink: 0.5, grow: 1.2, least: 1e-6, greatest: 50.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    /// What a step is multiplied with when the gradient changes its sign, and when it keeps it.
    pub fn etas(mut self, shrink: f64, grow: f64) -> Self {
        (self.rule.shrink, self.rule.grow) = (shrink, grow);
        self
    }

    /// The least and the greatest step.
    pub fn step_sizes(mut self, least: f64, greatest: f64) -> Self {
        (self.rule.least, self.rule.greatest) = (least, greatest);
        self
    }
}

impl Rule for RpropRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["prev", "step_size"]
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, _: &Tensor, lr: f64) -> Tensor {
        if name == "step_size" { zeros + lr } else { zeros.clone() }
    }

    fn weight_decay(&self) -> f64 {
        0.0
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        [self.shrink, self.grow, self.least, self.greatest].map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([shrink, grow, least, greatest], [before, size]) = (scalars, state) else { return misfit(self, state, scalars) };
        let agreement = gradient * before;
        let (same, other) = (agreement.gt(0.0), agreement.lt(0.0));
        let factor = same.where_(grow, other.where_(shrink, 1.0));
        let size = (size * factor).maximum(least).minimum(greatest);
        // After a change of sign the next step compares with nothing.
        let gradient = other.where_(0.0, gradient);
        (value - gradient.sign() * &size, vec![gradient, size])
    }
}
