//! Adamax (Kingma and Ba, arXiv:1412.6980, algorithm 2): Adam whose second moment is the greatest gradient of late.

use super::{Group, Optimizer, Rule, StepNumbers, betas, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Adamax.
pub type Adamax = Optimizer<AdamaxRule>;

/// The rule of [`Adamax`].
#[derive(Clone, Copy, Debug)]
pub struct AdamaxRule {
    beta1: f64,
    beta2: f64,
    eps: f64,
    weight_decay: f64,
}

impl Adamax {
    /// Learning rate `lr` (PyTorch: 2e-3), betas 0.9 and 0.999, epsilon 1e-8.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Adamax> {
        let _origin = Origin::enter_caller();
        let rule = AdamaxRule { beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How slowly the moment and the maximum forget.");

    setters! {
        eps, "What is added to sizes of gradients.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }
}

impl Rule for AdamaxRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "exp_inf"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let rate = step.number(-step.lr) / step.bias_correction(self.beta1);
        let [decay, beta1, share1, beta2, eps] =
            [step.weight_decay, self.beta1, 1.0 - self.beta1, self.beta2, self.eps].map(|number| step.number(number));
        vec![rate, decay, beta1, share1, beta2, eps]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, beta1, share1, beta2, eps], [m, u]) = (scalars, state) else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let m = m * beta1 + &gradient * share1;
        let u = (u * beta2).maximum(gradient.abs() + eps);
        (value + &m / &u * rate, vec![m, u])
    }
}
