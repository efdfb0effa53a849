//! LAMB (You et al., arXiv:1904.00962, algorithm 2): Adam's step for each tensor, scaled to the tensor's norm. Where a norm is 0 the scale is 1, as in the
//! reference codes (NVIDIA/apex, timm).

use super::{Group, Optimizer, Rule, StepNumbers, betas, constructor, lars::trust_ratio, misfit, rule::norm, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// LAMB; for large batches.
pub type Lamb = Optimizer<LambRule>;

/// The rule of [`Lamb`].
#[derive(Clone, Copy, Debug)]
pub struct LambRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    bias_correction: bool,
}

impl Lamb {
    constructor! {
        "Learning rate `lr`, betas 0.9 and 0.999, epsilon 1e-6, weight decay 0.01 (timm's).",
        Lamb,
        LambRule { beta1: 0.9, beta2: 0.999, eps: 1e-6, weight_decay: 0.01, bias_correction: true }
    }

    betas!("How slowly the two moments forget.");

    setters! {
        eps, "What is added to the root of the second moment.";
        weight_decay, "How strongly values are pulled to zero; part of the step that is scaled.";
    }

    /// Whether moments are corrected for their beginning at zero: yes unless told.
    pub fn bias_correction(mut self, corrected: bool) -> Self {
        self.rule.bias_correction = corrected;
        self
    }
}

impl Rule for LambRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_sq"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [one, rate, decay, beta1, share1, beta2, share2, eps] =
            [1.0, -step.lr, step.weight_decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps]
                .map(|number| step.number(number));
        let (first, root) = match self.bias_correction {
            true => (step.bias_correction(self.beta1).recip(), step.bias_correction(self.beta2).sqrt().recip()),
            false => (one.clone(), one.clone()),
        };
        vec![rate, decay, beta1, share1, beta2, share2, eps, first, root, one]
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, beta1, share1, beta2, share2, eps, first, root, one], [m, v]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let m = m * beta1 + gradient * share1;
        let v = v * beta2 + gradient * gradient * share2;
        let step = &m * first / (v.sqrt() * root + eps) + value * decay;
        let ratio = trust_ratio(&norm(value), &norm(&step), one);
        (value + step * (ratio * rate), vec![m, v])
    }
}
