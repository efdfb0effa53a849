//! Adan (Xie et al., arXiv:2208.06677, algorithm 1): Nesterov's momentum from differences of gradients. As the authors' code (sail-sg/Adan) computes it.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Adan.
pub type Adan = Optimizer<AdanRule>;

/// The rule of [`Adan`].
#[derive(Clone, Copy, Debug)]
pub struct AdanRule {
    beta1: f64,
    beta2: f64,
    beta3: f64,
    eps: f64,
    weight_decay: f64,
    no_prox: bool,
}

impl Adan {
    /// Learning rate `lr` (the authors: 1e-3), betas 0.98, 0.92 and 0.99, epsilon 1e-8.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Adan> {
        let _origin = Origin::enter_caller();
        let rule = AdanRule { beta1: 0.98, beta2: 0.92, beta3: 0.99, eps: 1e-8, weight_decay: 0.0, no_prox: false };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    /// How slowly the moments of gradients, of their differences, and of their squares forget.
    pub fn betas(mut self, beta1: f64, beta2: f64, beta3: f64) -> Self {
        (self.rule.beta1, self.rule.beta2, self.rule.beta3) = (beta1, beta2, beta3);
        self
    }

    setters! {
        eps, "What is added to the root of the squares.";
        weight_decay, "How strongly values are pulled to zero.";
    }

    /// Weight decay before the step, as [`crate::AdamW`] has it, instead of the proximal one after it.
    pub fn no_prox(mut self, no_prox: bool) -> Self {
        self.rule.no_prox = no_prox;
        self
    }
}

impl Rule for AdanRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_diff", "exp_avg_sq", "pre_grad"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let rate = step.number(-step.lr) / step.bias_correction(self.beta1);
        let rate_diff = step.number(-step.lr * self.beta2) / step.bias_correction(self.beta2);
        let root3 = step.bias_correction(self.beta3).sqrt().recip();
        let decay = if self.no_prox { 1.0 - step.lr * step.weight_decay } else { 1.0 / (1.0 + step.lr * step.weight_decay) };
        let [beta1, share1, beta2, share2, beta3, share3, eps, decay] =
            [self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.beta3, 1.0 - self.beta3, self.eps, decay]
                .map(|number| step.number(number));
        // The first difference is 0.
        let later = step.step.gt(step.number(1.0)).where_(step.number(1.0), step.number(0.0));
        vec![rate, rate_diff, root3, beta1, share1, beta2, share2, beta3, share3, eps, decay, later]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, rate_diff, root3, beta1, share1, beta2, share2, beta3, share3, eps, decay, later], [m, v, n, before]) =
            (scalars, state)
        else {
            return misfit(self, state, scalars);
        };
        let diff = (gradient - before) * later;
        let m = m * beta1 + gradient * share1;
        let v = v * beta2 + &diff * share2;
        let ahead = gradient + diff * beta2;
        let n = n * beta3 + &ahead * &ahead * share3;
        let size = n.sqrt() * root3 + eps;
        let by = |value: &Tensor| value + &m / &size * rate + &v / &size * rate_diff;
        let value = if self.no_prox { by(&(value * decay)) } else { by(value) * decay };
        (value, vec![m, v, n, gradient.clone()])
    }
}
