//! Adam and AdamW, as PyTorch computes them: bias-corrected moments, epsilon added to the corrected root.

use super::{Group, Optimizer, Rule, StepNumbers, betas, decayed, misfit};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Adam: weight decay, if any, is added to the gradient.
pub struct Adam;

/// Adam with decoupled weight decay (0.01 unless told otherwise).
pub type AdamW = Optimizer<AdamRule>;

/// The rule of [`Adam`] and [`AdamW`].
#[derive(Clone, Copy, Debug)]
pub struct AdamRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    decoupled: bool,
    amsgrad: bool,
}

impl Adam {
    /// Adam with learning rate `lr`, betas 0.9 and 0.999, epsilon 1e-8, no weight decay.
    #[allow(clippy::new_ret_no_self)] // both are one type, so that programs choose at run time
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Optimizer<AdamRule>> {
        let _origin = Origin::enter_caller();
        let rule = AdamRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, decoupled: false, amsgrad: false };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }
}

impl AdamW {
    /// AdamW with learning rate `lr`, betas 0.9 and 0.999, epsilon 1e-8, weight decay 0.01.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<AdamW> {
        let _origin = Origin::enter_caller();
        let rule = AdamRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.01, decoupled: true, amsgrad: false };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How slowly the two moments forget.");

    /// What is added to the root of the second moment.
    pub fn eps(mut self, eps: f64) -> Self {
        self.rule.eps = eps;
        self
    }

    /// How strongly values are pulled to zero.
    pub fn weight_decay(mut self, weight_decay: f64) -> Self {
        self.rule.weight_decay = weight_decay;
        self
    }

    /// Divides by the greatest second moment so far.
    pub fn amsgrad(mut self) -> Result<Self> {
        self.rule.amsgrad = true;
        self.reset_state()?;
        Ok(self)
    }
}

impl Rule for AdamRule {
    fn state_names(&self) -> Vec<&'static str> {
        if self.amsgrad { vec!["exp_avg", "exp_avg_sq", "max_exp_avg_sq"] } else { vec!["exp_avg", "exp_avg_sq"] }
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let decay = if self.decoupled { 1.0 - step.lr * step.weight_decay } else { step.weight_decay };
        let minus_rate = step.number(-step.lr) / step.bias_correction(self.beta1);
        let root2 = step.bias_correction(self.beta2).sqrt().recip();
        let [decay, beta1, share1, beta2, share2, eps] =
            [decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number));
        vec![decay, beta1, share1, beta2, share2, minus_rate, root2, eps]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([decay, beta1, share1, beta2, share2, minus_rate, root2, eps], [m, v, rest @ ..]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let (value, gradient) = decayed(value, gradient, decay, self.decoupled);
        let m = m * beta1 + &gradient * share1;
        let v = v * beta2 + &gradient * &gradient * share2;
        let mut new_state = vec![m.clone(), v.clone()];
        let second = match (self.amsgrad, rest) {
            (true, [greatest]) => {
                let greatest = greatest.maximum(&v);
                new_state.push(greatest.clone());
                greatest
            }
            (false, []) => v,
            _ => return misfit(self, state, scalars),
        };
        (value + m / (second.sqrt() * root2 + eps) * minus_rate, new_state)
    }
}
