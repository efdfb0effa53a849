//! Adagrad (Duchi et al., 2011) and Adadelta (Zeiler, arXiv:1212.5701): rates per element from the squares of its gradients.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Adagrad.
pub type Adagrad = Optimizer<AdagradRule>;

/// The rule of [`Adagrad`].
#[derive(Clone, Copy, Debug)]
pub struct AdagradRule {
    lr_decay: f64,
    eps: f64,
    initial: f64,
    weight_decay: f64,
}

impl Adagrad {
    /// Learning rate `lr` (PyTorch: 1e-2), epsilon 1e-10.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Adagrad> {
        let _origin = Origin::enter_caller();
        let rule = AdagradRule { lr_decay: 0.0, eps: 1e-10, initial: 0.0, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        lr_decay, "The rate of step `t` is divided by `1 + (t - 1) lr_decay`.";
        eps, "What is added to the root of the sum.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }

    /// What the sums of squares begin with.
    pub fn initial_accumulator(mut self, initial: f64) -> Result<Self> {
        self.rule.initial = initial;
        self.reset_state()?;
        Ok(self)
    }
}

impl Rule for AdagradRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["sum"]
    }

    fn initial_state(&self, _: &str, zeros: &Tensor, _: &Tensor, _: f64) -> Tensor {
        zeros + self.initial
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let rate = step.number(-step.lr) / ((&step.step - step.number(1.0)) * step.number(self.lr_decay) + step.number(1.0));
        vec![rate, step.number(step.weight_decay), step.number(self.eps)]
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, eps], [sum]) = (scalars, state) else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let sum = sum + &gradient * &gradient;
        (value + gradient / (sum.sqrt() + eps) * rate, vec![sum])
    }
}

/// Adadelta.
pub type Adadelta = Optimizer<AdadeltaRule>;

/// The rule of [`Adadelta`].
#[derive(Clone, Copy, Debug)]
pub struct AdadeltaRule {
    rho: f64,
    eps: f64,
    weight_decay: f64,
}

impl Adadelta {
    /// Learning rate `lr` (PyTorch: 1), `rho` 0.9, epsilon 1e-6.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Adadelta> {
        let _origin = Origin::enter_caller();
        let rule = AdadeltaRule { rho: 0.9, eps: 1e-6, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        rho, "How slowly squares are forgotten.";
        eps, "What is added to squares before their roots.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }
}

impl Rule for AdadeltaRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["square_avg", "acc_delta"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        [-step.lr, step.weight_decay, self.rho, 1.0 - self.rho, self.eps].map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, rho, share, eps], [squares, deltas]) = (scalars, state) else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let squares = squares * rho + &gradient * &gradient * share;
        let delta = (deltas + eps).sqrt() / (&squares + eps).sqrt() * gradient;
        let deltas = deltas * rho + &delta * &delta * share;
        (value + delta * rate, vec![squares, deltas])
    }
}
