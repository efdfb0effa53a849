//! Sophia (Liu et al., arXiv:2305.14342): momentum over an estimate of the Hessian's diagonal, clipped element by element. As the authors' code
//! (Liuhong99/Sophia, `SophiaG`) computes it.

use super::{Group, Optimizer, Rule, StepNumbers, betas, misfit, setters};
use crate::error::{Error, Result};
use unigrad_tensor::{Origin, Tensor, eval, grad, no_grad, take_gradients};

/// Sophia. Every few steps (the authors: 10) the estimate is renewed, by [`Sophia::update_hessian`] or [`Sophia::update_hessian_hutchinson`].
pub type Sophia = Optimizer<SophiaRule>;

/// The rule of [`Sophia`].
#[derive(Clone, Copy, Debug)]
pub struct SophiaRule {
    beta1: f64,
    beta2: f64,
    rho: f64,
    batch: f64,
    weight_decay: f64,
}

/// What keeps the quotient finite where the estimate is 0, as in the authors' code.
const EPS: f64 = 1e-15;

impl Sophia {
    /// Learning rate `lr` (the authors: 1e-4), betas 0.965 and 0.99, `rho` 0.04, weight decay 0.1, batch size 1.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Sophia> {
        let _origin = Origin::enter_caller();
        let rule = SophiaRule { beta1: 0.965, beta2: 0.99, rho: 0.04, batch: 1.0, weight_decay: 0.1 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    betas!("How slowly the momentum and the estimate forget.");

    setters! {
        rho, "How much of the estimate divides the momentum: the greater, the fewer elements are clipped.";
        batch, "Samples (tokens) of the batch that the estimate is of: the squares of a mean's gradient are smaller by it.";
        weight_decay, "How strongly values are pulled to zero.";
    }

    /// Renews the estimate by Gauss, Newton and Bartlett: the squares of the gradients of `loss`, whose labels are drawn from the model's own
    /// distribution. One evaluation; changes no parameter, and leaves no gradients behind.
    #[track_caller]
    pub fn update_hessian(&mut self, loss: &Tensor) -> Result<()> {
        let _origin = Origin::enter_caller();
        let attempt = eval::Attempt::begin();
        let gradients = take_gradients(loss, &self.parameters())?;
        let squares = no_grad(|| gradients.iter().map(Tensor::square).collect());
        self.toward(squares, loss)?;
        attempt.succeeded();
        Ok(())
    }

    /// Renews the estimate by Hutchinson: `u (H u)` for a normal `u`, by the gradient of the gradient of `loss`. One evaluation; changes no parameter, and
    /// leaves no gradients behind.
    #[track_caller]
    pub fn update_hessian_hutchinson(&mut self, loss: &Tensor) -> Result<()> {
        let _origin = Origin::enter_caller();
        let attempt = eval::Attempt::begin();
        let parameters = self.parameters();
        let gradients = grad(loss, &parameters.iter().collect::<Vec<_>>())?;
        let draws: Vec<Tensor> = parameters.iter().map(|parameter| parameter.detach().randn_like()).collect();
        let products = gradients.iter().zip(&draws).map(|(gradient, draw)| (gradient * draw).sum(()));
        let Some(product) = products.reduce(|a, b| a + b) else { return Ok(()) };
        let second = take_gradients(&product, &parameters)?;
        let estimates = no_grad(|| second.iter().zip(&draws).map(|(second, draw)| second * draw).collect());
        self.toward(estimates, loss)?;
        attempt.succeeded();
        Ok(())
    }

    /// Moves the estimate; where the loss is not finite, it stays.
    fn toward(&mut self, estimates: Vec<Tensor>, loss: &Tensor) -> Result<()> {
        let hessians = self.state_named("hessian");
        if hessians.len() != estimates.len() {
            return Err(Error::Internal("a parameter without an estimate".into()));
        }
        no_grad(|| -> Result<()> {
            let (mut estimates, mut known) = (estimates.iter(), hessians.iter());
            for (at, group) in self.trained.groups.iter().enumerate() {
                let beta2 = self.rule_at(at).beta2;
                for (hessian, estimate) in known.by_ref().zip(estimates.by_ref()).take(group.parameters.len()) {
                    hessian.assign(&(hessian.detach() * beta2 + estimate.cast(hessian.dtype()) * (1.0 - beta2)))?;
                }
            }
            eval::guard_assignments(&loss.isfinite().expr().detach().reshape(&[]));
            Ok(())
        })?;
        Tensor::realize_all(&hessians.iter().chain([loss]).collect::<Vec<_>>())
    }
}

impl Rule for SophiaRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["exp_avg", "hessian"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let numbers = [-step.lr, 1.0 - step.lr * step.weight_decay, self.beta1, 1.0 - self.beta1, self.rho * self.batch, EPS];
        numbers.map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, beta1, share1, scale, eps], [m, hessian]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let m = m * beta1 + gradient * share1;
        let ratio = (m.abs() / (hessian * scale + eps)).clamp_max(1.0);
        (value * decay + m.sign() * ratio * rate, vec![m, hessian.clone()])
    }
}
