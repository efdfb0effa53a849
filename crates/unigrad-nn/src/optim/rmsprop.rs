//! RMSprop (Tieleman and Hinton, 2012), centred (Graves, arXiv:1308.0850) and with momentum.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// RMSprop.
pub type RmsProp = Optimizer<RmsPropRule>;

/// The rule of [`RmsProp`].
#[derive(Clone, Copy, Debug)]
pub struct RmsPropRule {
    alpha: f64,
    eps: f64,
    momentum: f64,
    centered: bool,
    weight_decay: f64,
}

impl RmsProp {
    /// Learning rate `lr` (PyTorch: 1e-2), `alpha` 0.99, epsilon 1e-8.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<RmsProp> {
        let _origin = Origin::enter_caller();
        let rule = RmsPropRule { alpha: 0.99, eps: 1e-8, momentum: 0.0, centered: false, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        alpha, "How slowly squares are forgotten.";
        eps, "What is added to the root.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }

    /// With momentum.
    pub fn momentum(mut self, momentum: f64) -> Result<Self> {
        self.rule.momentum = momentum;
        self.reset_state()?;
        Ok(self)
    }

    /// Divides by the gradients' deviation instead of their size.
    pub fn centered(mut self) -> Result<Self> {
        self.rule.centered = true;
        self.reset_state()?;
        Ok(self)
    }
}

impl Rule for RmsPropRule {
    fn state_names(&self) -> Vec<&'static str> {
        let mut names = vec!["square_avg"];
        names.extend((self.momentum > 0.0).then_some("momentum_buffer"));
        names.extend(self.centered.then_some("grad_avg"));
        names
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let numbers = [-step.lr, step.weight_decay, self.alpha, 1.0 - self.alpha, self.eps, self.momentum];
        numbers.map(|number| step.number(number)).to_vec()
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, alpha, share, eps, momentum], [squares, rest @ ..]) = (scalars, state) else {
            return misfit(self, state, scalars);
        };
        let gradient = gradient + value * decay;
        let squares = squares * alpha + &gradient * &gradient * share;
        let mut new_state = vec![squares.clone()];
        let (buffer, mean) = match (self.momentum > 0.0, self.centered, rest) {
            (true, true, [buffer, mean]) => (Some(buffer), Some(mean)),
            (true, false, [buffer]) => (Some(buffer), None),
            (false, true, [mean]) => (None, Some(mean)),
            (false, false, []) => (None, None),
            _ => return misfit(self, state, scalars),
        };
        let mean = mean.map(|mean| mean * alpha + &gradient * share);
        let size = mean.as_ref().map_or(squares.clone(), |mean| &squares - mean * mean).sqrt() + eps;
        let direction = gradient / size;
        let direction = match buffer {
            Some(buffer) => {
                let buffer = buffer * momentum + direction;
                new_state.push(buffer.clone());
                buffer
            }
            None => direction,
        };
        new_state.extend(mean);
        (value + direction * rate, new_state)
    }
}
