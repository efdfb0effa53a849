//! Averaged stochastic gradient descent (Polyak and Juditsky, 1992), with the rates of Bottou (2012), as PyTorch computes it.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Averaged stochastic gradient descent; the averages are the state `ax`.
pub type Asgd = Optimizer<AsgdRule>;

/// The rule of [`Asgd`].
#[derive(Clone, Copy, Debug)]
pub struct AsgdRule {
    lambda: f64,
    alpha: f64,
    t0: f64,
    weight_decay: f64,
}

impl Asgd {
    /// Learning rate `lr` (PyTorch: 1e-2), `lambda` 1e-4, `alpha` 0.75, averages from step 1e6 on.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Asgd> {
        let _origin = Origin::enter_caller();
        let rule = AsgdRule { lambda: 1e-4, alpha: 0.75, t0: 1e6, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        lambda, "How strongly values are pulled to zero, and the rate falls.";
        alpha, "The power by which the rate falls.";
        t0, "The step from which values are averaged.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }

    /// The averages so far, in order of the parameters.
    pub fn averages(&self) -> Vec<Tensor> {
        self.state_named("ax")
    }
}

impl Rule for AsgdRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["ax"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        // PyTorch computes the next step's rate at the end of one.
        let before = &step.step - step.number(1.0);
        let base = &before * step.number(self.lambda * step.lr) + step.number(1.0);
        let rate = (base.log() * step.number(-self.alpha)).exp() * step.number(step.lr);
        let keep = step.number(1.0) - &rate * step.number(self.lambda);
        let share = (before - step.number(self.t0)).maximum(step.number(1.0)).recip();
        vec![rate.neg(), keep, share, step.number(step.weight_decay)]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, keep, share, decay], [average]) = (scalars, state) else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let value = value * keep + gradient * rate;
        let average = share.eq(1.0).where_(&value, average + (&value - average) * share);
        (value, vec![average])
    }
}
