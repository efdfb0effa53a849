//! Adam that leaves rows without a gradient alone, for embeddings: as PyTorch's SparseAdam, whose gradients hold only the rows that a batch has.

use super::{Group, Optimizer, Rule, StepNumbers, betas, gradients::rest, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Adam for embeddings: a row (slice along the first axis) whose gradient is zero everywhere keeps its value and its moments. Without weight decay.
pub type SparseAdam = Optimizer<SparseAdamRule>;

/// The rule of [`SparseAdam`].
#[derive(Clone, Copy, Debug)]
pub struct SparseAdamRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
}

impl SparseAdam {
    /// Learning rate `lr` (PyTorch: 1e-3), betas 0.9 and 0.999, epsilon 1e-8.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<SparseAdam> {
        let _origin = Origin::enter_caller();
        let rule = SparseAdamRule { beta1: 0.9, beta2: 0.999, eps: 1e-8 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How slowly the two moments forget.");

    setters! {
        eps, "What is added to the root of the second moment, before its correction.";
    }
}

impl Rule for SparseAdamRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_sq"]
    }

    fn weight_decay(&self) -> f64 {
        0.0
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let rate = step.bias_correction(self.beta2).sqrt() * step.number(-step.lr) / step.bias_correction(self.beta1);
        let mut scalars = vec![rate];
        scalars.extend([self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number)));
        scalars
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, beta1, share1, beta2, share2, eps], [m, v]) = (scalars, state) else { return misfit(self, state, scalars) };
        let touched = gradient.ne(0.0);
        let touched = if value.rank() > 1 { touched.any_keepdim(rest(value)) } else { touched };
        let new_m = m * beta1 + gradient * share1;
        let new_v = v * beta2 + gradient * gradient * share2;
        let new_value = value + &new_m / (new_v.sqrt() + eps) * rate;
        (touched.where_(new_value, value), vec![touched.where_(new_m, m), touched.where_(new_v, v)])
    }
}
