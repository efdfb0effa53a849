//! NAdam (Dozat, 2016): Adam with Nesterov's momentum, whose first beta warms up.
//!
//! Always: the product of first betas is that of the steps that a parameter took part in. It is kept for those that took part in all; for others it is
//! computed from their count.

use super::{Group, Optimizer, Rule, StepNumbers, betas, constructor, decayed, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// NAdam.
pub type NAdam = Optimizer<NAdamRule>;

/// The rule of [`NAdam`].
#[derive(Clone, Copy, Debug)]
pub struct NAdamRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    momentum_decay: f64,
    weight_decay: f64,
    decoupled: bool,
}

impl NAdam {
    constructor! {
        "Learning rate `lr` (PyTorch: 2e-3), betas 0.9 and 0.999, epsilon 1e-8, momentum decay 4e-3.",
        NAdam,
        NAdamRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, momentum_decay: 4e-3, weight_decay: 0.0, decoupled: false }
    }

    betas!("How slowly the two moments forget.");

    setters! {
        eps, "What is added to the root of the second moment.";
        momentum_decay, "How fast the first beta rises to its value.";
        weight_decay, "How strongly values are pulled to zero: by their gradients, unless [`NAdam::decoupled`].";
    }

    /// Weight decay as [`crate::AdamW`]'s, beside the gradient.
    pub fn decoupled(mut self, decoupled: bool) -> Self {
        self.rule.decoupled = decoupled;
        self
    }
}

impl NAdamRule {
    /// The first beta of a step: `beta1 (1 - 0.96^(step decay) / 2)`.
    fn momentum(&self, step: &StepNumbers<'_>, ahead: f64) -> Tensor {
        let at = &step.step + step.number(ahead);
        let fading = (at * step.number(self.momentum_decay * 0.96f64.ln())).exp();
        step.number(self.beta1) - fading * step.number(0.5 * self.beta1)
    }
}

/// Terms of the logarithm's series: each is less than half of the one before, and the last one less than half a unit of `f64`.
const TERMS: u8 = 50;

impl NAdamRule {
    /// The product of the first betas of all steps before this one, as if the settings had been what they are in all of them.
    ///
    /// Of `n` steps it is `beta1^n` times the product of `1 - q^t / 2` with `q = 0.96^decay`, whose logarithm is the sum of
    /// `-(q^j / (j 2^j)) (1 - q^(j n)) / (1 - q^j)` over all `j` above 0.
    fn product_before(&self, step: &StepNumbers<'_>) -> Tensor {
        let n = &step.step - step.number(1.0);
        let (rate, constant) = (self.momentum_decay * 0.96f64.ln(), self.beta1.ln());
        if rate == 0.0 {
            return (n * step.number(constant - std::f64::consts::LN_2)).exp();
        }
        let j = Tensor::arange(1.0, f64::from(TERMS + 1), 1.0, step.step.dtype(), step.device);
        let power = &j * step.number(rate);
        let weights = power.exp() / (&j * j.exp2() * power.expm1().neg());
        let sum = ((power * &n).expm1() * weights).sum(());
        (sum + n * step.number(constant)).exp()
    }
}

impl Rule for NAdamRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_avg_sq"]
    }

    fn numbers(&self) -> Vec<(&'static str, f64)> {
        vec![("mu_product", 1.0)]
    }

    fn counts_own_steps(&self) -> bool {
        true
    }

    fn next_numbers(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        step.numbers.iter().map(|product| product * self.momentum(step, 0.0)).collect()
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let [kept] = step.numbers else { return Vec::new() };
        let before = if step.has_missed() { self.product_before(step) } else { kept.clone() };
        let (now, next) = (self.momentum(step, 0.0), self.momentum(step, 1.0));
        let product = before * &now;
        let one = step.number(1.0);
        let minus_lr = step.number(-step.lr);
        let of_gradient = &minus_lr * (&one - &now) / (&one - &product);
        let of_moment = &minus_lr * &next / (&one - &product * &next);
        let root2 = step.bias_correction(self.beta2).sqrt().recip();
        let decay = if self.decoupled { 1.0 - step.lr * step.weight_decay } else { step.weight_decay };
        let [decay, beta1, share1, beta2, share2, eps] =
            [decay, self.beta1, 1.0 - self.beta1, self.beta2, 1.0 - self.beta2, self.eps].map(|number| step.number(number));
        vec![decay, beta1, share1, beta2, share2, eps, of_gradient, of_moment, root2]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([decay, beta1, share1, beta2, share2, eps, of_gradient, of_moment, root2], [m, v]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let (value, gradient) = decayed(value, gradient, decay, self.decoupled);
        let m = m * beta1 + &gradient * share1;
        let v = v * beta2 + &gradient * &gradient * share2;
        let size = v.sqrt() * root2 + eps;
        (value + gradient / &size * of_gradient + &m / &size * of_moment, vec![m, v])
    }
}
