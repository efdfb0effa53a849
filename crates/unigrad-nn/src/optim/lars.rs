//! LARS (You et al., arXiv:1708.03888): momentum, with a step for each tensor that is a fixed share of its norm. As facebookresearch/moco-v3 (`optimizer.py`)
//! computes it.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, rule::norm, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// LARS; for large batches.
pub type Lars = Optimizer<LarsRule>;

/// The rule of [`Lars`].
#[derive(Clone, Copy, Debug)]
pub struct LarsRule {
    momentum: f64,
    trust: f64,
    weight_decay: f64,
    adapts_vectors: bool,
}

impl Lars {
    /// Learning rate `lr`, momentum 0.9, trust coefficient 1e-3, no weight decay.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Lars> {
        let _origin = Origin::enter_caller();
        let rule = LarsRule { momentum: 0.9, trust: 1e-3, weight_decay: 0.0, adapts_vectors: false };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        momentum, "How much of the last step goes into the next.";
        trust, "A step's size as a share of the parameter's norm.";
        weight_decay, "Adds this multiple of the values to their gradients.";
    }

    /// Whether tensors with fewer than two axes (biases, gains of norms) are scaled and decayed too. Not unless told: then they follow plain momentum.
    pub fn adapts_vectors(mut self, adapts: bool) -> Self {
        self.rule.adapts_vectors = adapts;
        self
    }
}

/// The quotient of two norms, and 1 where either is 0.
pub(super) fn trust_ratio(of_value: &Tensor, of_step: &Tensor, share: &Tensor) -> Tensor {
    let one = of_value.ones_like();
    let ratio = of_value * share / of_step;
    of_value.gt(0.0).where_(of_step.gt(0.0).where_(ratio, &one), &one)
}

impl Rule for LarsRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["mu"]
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        [-step.lr, step.weight_decay, self.momentum, self.trust].map(|number| step.number(number)).to_vec()
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, momentum, trust], [mu]) = (scalars, state) else { return misfit(self, state, scalars) };
        let direction = if value.rank() > 1 || self.adapts_vectors {
            let gradient = gradient + value * decay;
            let ratio = trust_ratio(&norm(value), &norm(&gradient), trust);
            gradient * ratio
        } else {
            gradient.clone()
        };
        let mu = mu * momentum + direction;
        (value + &mu * rate, vec![mu])
    }
}
