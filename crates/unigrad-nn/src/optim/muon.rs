//! Muon (Jordan et al., 2024: kellerjordan.github.io/posts/muon) as PyTorch computes it: momentum, made orthogonal by Newton-Schulz iterations.

use super::{Group, Optimizer, Rule, StepNumbers, misfit, rule::norm, setters};
use crate::error::{Error, Result};
use unigrad_tensor::{DType, Origin, Tensor};

/// Muon; for the matrices of hidden layers. What else a model has (embeddings, heads, gains, biases) belongs to an [`crate::AdamW`] beside it.
pub type Muon = Optimizer<MuonRule>;

/// How a step's size follows from a matrix's shape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdjustLr {
    /// `sqrt(max(1, rows / columns))`, as in Jordan's code.
    Original,
    /// `0.2 sqrt(max(rows, columns))`: the size of [`crate::AdamW`]'s steps, whose learning rates then fit (arXiv:2502.16982).
    MatchRmsAdamW,
    /// `sqrt(rows / columns)`.
    SpectralUnclamped,
}

/// The rule of [`Muon`].
#[derive(Clone, Copy, Debug)]
pub struct MuonRule {
    momentum: f64,
    nesterov: bool,
    weight_decay: f64,
    coefficients: (f64, f64, f64),
    eps: f64,
    iterations: usize,
    adjust_lr: AdjustLr,
    precision: DType,
}

impl Muon {
    /// Learning rate `lr` (PyTorch: 1e-3), momentum 0.95 in Nesterov's form, weight decay 0.1, 5 iterations in `bf16`. An error for what is no matrix.
    #[track_caller]
    pub fn new(parameters: Vec<Tensor>, lr: f64) -> Result<Muon> {
        let _origin = Origin::enter_caller();
        let rule = MuonRule {
            momentum: 0.95,
            nesterov: true,
            weight_decay: 0.1,
            coefficients: (3.4445, -4.7750, 2.0315),
            eps: 1e-7,
            iterations: 5,
            adjust_lr: AdjustLr::Original,
            precision: DType::BF16,
        };
        Optimizer::with_rule(rule, vec![Group { parameters, lr, weight_decay: None }])
    }

    setters! {
        momentum, "How slowly the momentum forgets.";
        weight_decay, "How strongly values are pulled to zero.";
        eps, "The least norm that a matrix is divided by.";
    }

    /// Nesterov's form of momentum.
    pub fn nesterov(mut self, nesterov: bool) -> Self {
        self.rule.nesterov = nesterov;
        self
    }

    /// How often a matrix is made more orthogonal, and by which polynomial `a x + b x³ + c x⁵`.
    pub fn iterations(mut self, iterations: usize, coefficients: (f64, f64, f64)) -> Self {
        (self.rule.iterations, self.rule.coefficients) = (iterations, coefficients);
        self
    }

    /// How a step's size follows from a matrix's shape.
    pub fn adjust_lr(mut self, adjust: AdjustLr) -> Self {
        self.rule.adjust_lr = adjust;
        self
    }

    /// The dtype of the iterations: `bf16` unless told, as in PyTorch.
    pub fn precision(mut self, dtype: DType) -> Self {
        self.rule.precision = dtype;
        self
    }
}

impl MuonRule {
    fn orthogonal(&self, gradient: &Tensor) -> Tensor {
        let (a, b, c) = self.coefficients;
        let is_tall = gradient.shape().first() > gradient.shape().get(1);
        let x = gradient.cast(self.precision);
        let mut x = if is_tall { x.t() } else { x };
        x = &x / norm(&x).clamp_min(self.eps);
        for _ in 0..self.iterations {
            let gram = x.matmul(&x.t());
            let polynomial = gram.addmm_with(&gram, &gram, b, c);
            x = x.addmm_with(&polynomial, &x, a, 1.0);
        }
        if is_tall { x.t() } else { x }
    }

    fn scale(&self, shape: &[usize]) -> f64 {
        let [rows, columns] = shape else { return 1.0 };
        let (rows, columns) = ((*rows).max(1) as f64, (*columns).max(1) as f64);
        match self.adjust_lr {
            AdjustLr::Original => (rows / columns).max(1.0).sqrt(),
            AdjustLr::MatchRmsAdamW => 0.2 * rows.max(columns).sqrt(),
            AdjustLr::SpectralUnclamped => (rows / columns).sqrt(),
        }
    }
}

impl Rule for MuonRule {
    fn state_names(&self) -> Vec<&'static str> {
        vec!["momentum_buffer"]
    }

    fn check(&self, parameter: &Tensor) -> Result<()> {
        if parameter.rank() == 2 {
            return Ok(());
        }
        let cause = format!("Muon trains matrices, and a parameter is {:?}", parameter.shape());
        Err(Error::argument(cause, "give what is no matrix of a hidden layer to an `AdamW` of its own, and step both"))
    }

    fn weight_decay(&self) -> f64 {
        self.weight_decay
    }

    fn scalars(&self, step: &StepNumbers<'_>) -> Vec<Tensor> {
        let numbers = [-step.lr, 1.0 - step.lr * step.weight_decay, self.momentum, 1.0 - self.momentum];
        numbers.map(|number| step.number(number)).to_vec()
    }

    fn is_elementwise(&self) -> bool {
        false
    }

    fn update(&self, value: &Tensor, gradient: &Tensor, state: &[Tensor], scalars: &[Tensor]) -> (Tensor, Vec<Tensor>) {
        let ([rate, decay, momentum, share], [buffer]) = (scalars, state) else { return misfit(self, state, scalars) };
        let buffer = buffer + (gradient - buffer) * share;
        let direction = if self.nesterov { gradient + (&buffer - gradient) * momentum } else { buffer.clone() };
        let direction = self.orthogonal(&direction).cast(value.dtype()) * self.scale(&value.shape());
        (value * decay + direction * rate, vec![buffer])
    }
}
