//! Adafactor (Shazeer and Stern, arXiv:1804.04235) as PyTorch computes it: second moments of a matrix as a row and a column.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, rule::norm, setters};
use crate::error::Result;
use unigrad_tensor::{DType, Origin, Tensor};

/// Adafactor: state of `rows + columns` numbers for a matrix.
pub type Adafactor = Optimizer<AdafactorRule>;

/// The rule of [`Adafactor`].
#[derive(Clone, Copy, Debug)]
pub struct AdafactorRule {
    beta2_decay: f64,
    eps1: Option<f64>,
    eps2: f64,
    d: f64,
    weight_decay: f64,
}

impl Adafactor {
    /// Learning rate at most `lr` (PyTorch: 1e-2), `beta2_decay` -0.8, `d` 1, no weight decay; steps are relative to the parameter's size.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Adafactor> {
        let _origin = Origin::enter_caller();
        let rule = AdafactorRule { beta2_decay: -0.8, eps1: None, eps2: 1e-3, d: 1.0, weight_decay: 0.0 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        beta2_decay, "The power of the step by which the newest squares enter their mean.";
        d, "The greatest root mean square of an update.";
        weight_decay, "How strongly values are pulled to zero.";
    }

    /// The least variance's root (unless told, the epsilon of the state's dtype), and the least size of a parameter (1e-3).
    pub fn eps(mut self, eps1: Option<f64>, eps2: f64) -> Self {
        (self.rule.eps1, self.rule.eps2) = (eps1, eps2);
        self
    }
}

/// The root mean square.
fn rms(x: &Tensor) -> Tensor {
    norm(x) * (x.numel().max(1) as f64).sqrt().recip()
}

impl Rule for AdafactorRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["row_var", "col_var", "variance"]
    }

    fn state_names_of(&self, parameter: &Tensor) -> Vec<&'static str> {
        if parameter.rank() > 1 { vec!["row_var", "col_var"] } else { vec!["variance"] }
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, _: &Tensor, _: f64) -> Tensor {
        match name {
            "row_var" => zeros.sum_keepdim(-1),
            "col_var" => zeros.sum_keepdim(-2),
            _ => zeros.clone(),
        }
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let share = (step.step.log() * step.number(self.beta2_decay)).exp();
        let rate = step.number(step.lr).minimum(step.step.sqrt().recip());
        let [decay, eps2, d] = [1.0 - step.lr * step.weight_decay, self.eps2, self.d].map(|number| step.number(number));
        vec![share, rate, decay, eps2, d]
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let [share, rate, decay, eps2, d] = scalars else { return misfit(self, state, scalars) };
        let eps1 = self.eps1.unwrap_or(if value.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) });
        let toward = |old: &Tensor, new: Tensor| old + (new - old) * share;
        let squares = gradient * gradient;
        let (variance, new_state) = match (value.rank() > 1, state) {
            (true, [row, column]) => {
                let row = toward(row, squares.mean_keepdim(-1));
                let column = toward(column, squares.mean_keepdim(-2));
                let variance = &row * &column / row.mean_keepdim(-2).clamp_min(eps1);
                (variance, vec![row, column])
            }
            (false, [variance]) => {
                let variance = toward(variance, squares);
                (variance.clone(), vec![variance])
            }
            _ => return misfit(self, state, scalars),
        };
        let step = variance.clamp_min(eps1 * eps1).rsqrt() * gradient;
        let size = rms(value).maximum(eps2) * rate;
        let too_large = (rms(&step) / d).clamp_min(1.0);
        (value * decay - step * (size / too_large), new_state)
    }
}
