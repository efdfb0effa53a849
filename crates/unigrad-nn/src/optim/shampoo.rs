//! Shampoo (Gupta et al., arXiv:1802.09568, algorithm 1): a matrix's gradient between the inverse fourth roots of the sums of its products with itself.
//!
//! In: gradients of matrices. Out: `L^(-1/4) G R^(-1/4)`; of other tensors, and of matrices with a side above the limit: AdaGrad's diagonal form, which
//! the paper's is for them too.
//! Always: roots are by the coupled Newton iteration (Anil et al., arXiv:2002.09018), of products alone: a fixed number of them, in the state's dtype.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, rule::norm, setters};
use crate::error::Result;
use unigrad_tensor::{Origin, Tensor};

/// Shampoo.
pub type Shampoo = Optimizer<ShampooRule>;

/// The rule of [`Shampoo`].
#[derive(Clone, Copy, Debug)]
pub struct ShampooRule {
    eps: f64,
    momentum: f64,
    weight_decay: f64,
    max_side: usize,
}

/// What is added to a product's diagonal for its root, as a share of its norm: bounds the condition, and so the iterations.
const RIDGE: f64 = 1e-6;
/// Each takes the least eigenvalue, at least [`RIDGE`] of the greatest, 2.44 times nearer to 1; the last few converge quadratically.
const ITERATIONS: usize = 25;

impl Shampoo {
    /// Learning rate `lr`, products that begin as `1e-4` of the identity, no momentum, no weight decay; for matrices of sides up to 1024.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Shampoo> {
        let _origin = Origin::enter_caller();
        let rule = ShampooRule { eps: 1e-4, momentum: 0.0, weight_decay: 0.0, max_side: 1024 };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        weight_decay, "Adds this multiple of the values to their gradients.";
    }

    /// What products (and squares) begin with, on their diagonal.
    pub fn eps(mut self, eps: f64) -> Result<Self> {
        self.rule.eps = eps;
        self.reset_state()?;
        Ok(self)
    }

    /// With momentum of the steps.
    pub fn momentum(mut self, momentum: f64) -> Result<Self> {
        self.rule.momentum = momentum;
        self.reset_state()?;
        Ok(self)
    }

    /// The longest side of a matrix whose products are kept.
    pub fn max_side(mut self, side: usize) -> Result<Self> {
        self.rule.max_side = side;
        self.reset_state()?;
        Ok(self)
    }
}

impl ShampooRule {
    fn is_factored(&self, shape: &[usize]) -> bool {
        matches!(shape, [rows, columns] if (1..=self.max_side).contains(rows) && (1..=self.max_side).contains(columns))
    }
}

/// `a^(-1/4)` of a positive definite matrix: `x` goes to it while `m`, which is `x⁴ a` all the time, goes to the identity.
fn inverse_fourth_root(a: &Tensor) -> Tensor {
    let identity = {
        let mut diagonal = a.ones_like();
        diagonal = diagonal.tril(0).triu(0);
        diagonal
    };
    let size = norm(a);
    let a = a + &identity * (&size * RIDGE);
    // Eigenvalues of `m` begin in (0, 5/2].
    let scale = size.recip() * 2.5 / (1.0 + RIDGE);
    let mut m = a * &scale;
    let mut x = &identity * scale.sqrt().sqrt();
    for _ in 0..ITERATIONS {
        let t = (&identity * 5.0 - &m) * 0.25;
        let t2 = t.matmul(&t);
        x = x.matmul(&t);
        m = t2.matmul(&t2).matmul(&m);
    }
    x
}

impl Rule for ShampooRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["left", "right", "sum", "momentum_buffer"]
    }

    fn state_names_of(&self, parameter: &Tensor) -> Vec<&'static str> {
        let mut names = if self.is_factored(&parameter.shape()) { vec!["left", "right"] } else { vec!["sum"] };
        names.extend((self.momentum > 0.0).then_some("momentum_buffer"));
        names
    }

    fn initial_state(&self, name: &str, zeros: &Tensor, _: &Tensor, _: f64) -> Tensor {
        match name {
            "left" => (zeros.matmul(&zeros.t()) + self.eps).tril(0).triu(0),
            "right" => (zeros.t().matmul(zeros) + self.eps).tril(0).triu(0),
            "sum" => zeros + self.eps,
            _ => zeros.clone(),
        }
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        [-step.lr, step.weight_decay, self.momentum].map(|number| step.number(number)).to_vec()
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let [rate, decay, momentum] = scalars else { return misfit(self, state, scalars) };
        let gradient = gradient + value * decay;
        let factored = self.is_factored(&value.shape());
        let (direction, mut new_state, buffer) = match (factored, state) {
            (true, [left, right, buffer @ ..]) => {
                let left = left + gradient.matmul(&gradient.t());
                let right = right + gradient.t().matmul(&gradient);
                let direction = inverse_fourth_root(&left).matmul(&gradient).matmul(&inverse_fourth_root(&right));
                (direction, vec![left, right], buffer)
            }
            (false, [sum, buffer @ ..]) => {
                let sum = sum + &gradient * &gradient;
                (&gradient * sum.rsqrt(), vec![sum], buffer)
            }
            _ => return misfit(self, state, scalars),
        };
        let direction = match (self.momentum > 0.0, buffer) {
            (true, [buffer]) => {
                let buffer = buffer * momentum + direction;
                new_state.push(buffer.clone());
                buffer
            }
            (false, []) => direction,
            _ => return misfit(self, state, scalars),
        };
        (value + direction * rate, new_state)
    }
}
