//! RAdam (Liu et al., arXiv:1908.03265): Adam that adapts only once its second moment can be trusted.

use super::{Group, Optimizer, Rule, StepNumbers, betas, constructor, decayed, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// RAdam.
pub type RAdam = Optimizer<RAdamRule>;

/// The rule of [`RAdam`].
#[derive(Clone, Copy, Debug)]
pub struct RAdamRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
    decoupled: bool,
}

impl RAdam {
    constructor! {
        "Learning rate `lr` (PyTorch: 1e-3), betas 0.9 and 0.999, epsilon 1e-8.",
        RAdam,
        RAdamRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0, decoupled: false }
    }

    betas!("How slowly the two moments forget.");

    setters! {
        eps, "What is added to the root of the second moment.";
        weight_decay, "How strongly values are pulled to zero: by their gradients, unless [`RAdam::decoupled`].";
    }

    /// Weight decay as [`crate::AdamW`]'s, beside the gradient.
    pub fn decoupled(mut self, decoupled: bool) -> Self {
        self.rule.decoupled = decoupled;
        self
    }
}

impl Rule for RAdamRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_sq"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        // The length of the average, `rho`, in the paper's words. Until it is above 5, which the betas decide, the second moment counts nothing.
        let longest = 2.0 / (1.0 - self.beta2) - 1.0;
        let correction2 = step.bias_correction(self.beta2);
        let power2 = step.number(1.0) - &correction2;
        let length = step.number(longest) - &step.step * power2 * step.number(2.0) / &correction2;
        let trusted = length.gt(step.number(5.0));
        let safe = trusted.where_(&length, step.number(6.0));
        let share = (&safe - step.number(4.0)) * (&safe - step.number(2.0)) / &safe;
        let rectified = (share * step.number(longest / ((longest - 4.0) * (longest - 2.0)))).sqrt() * correction2.sqrt();
        let rate = step.number(-step.lr) / step.bias_correction(self.beta1);
        let adaptive = trusted.where_(&rate * rectified, step.number(0.0));
        let plain = trusted.where_(step.number(0.0), &rate);
        let decay = if self.decoupled { 1.0 - step.lr * step.weight_decay } else { step.weight_decay };
        let [decay, beta1, share1, beta2, share2, eps] =
            [decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number));
        vec![decay, beta1, share1, beta2, share2, eps, adaptive, plain]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([decay, beta1, share1, beta2, share2, eps, adaptive, plain], [m, v]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let (value, gradient) = decayed(value, gradient, decay, self.decoupled);
        let m = m * beta1 + &gradient * share1;
        let v = v * beta2 + &gradient * &gradient * share2;
        (value + &m * (adaptive / (v.sqrt() + eps) + plain), vec![m, v])
    }
}
