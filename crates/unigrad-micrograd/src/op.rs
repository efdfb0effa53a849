//! What makes a node's value, and what its gradient becomes on the way to those that it was made from.
//!
//! Always: the order of operations is micrograd's, so on the CPU every digit is.

use crate::{Node, Nodes, Ref};
use std::sync::Arc;

/// A function of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `max(x, 0)`; the gradient at 0 is 0.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// `e^x`.
    Exp,
    /// Natural logarithm.
    Log,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
}

impl Function {
    /// Every function.
    pub const ALL: [Function; 5] = [Function::Relu, Function::Tanh, Function::Exp, Function::Log, Function::Sigmoid];

    /// Its name, as a node's `_op` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Function::Relu => "ReLU",
            Function::Tanh => "tanh",
            Function::Exp => "exp",
            Function::Log => "log",
            Function::Sigmoid => "sigmoid",
        }
    }

    /// The value.
    pub fn of(self, x: f64) -> f64 {
        match self {
            // NaN stays NaN.
            Function::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Function::Tanh => x.tanh(),
            Function::Exp => x.exp(),
            Function::Log => x.ln(),
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }

    /// The derivative, from the argument and the value.
    pub fn slope(self, x: f64, y: f64) -> f64 {
        match self {
            Function::Relu => f64::from(u8::from(y > 0.0)),
            Function::Tanh => 1.0 - y * y,
            Function::Exp => y,
            Function::Log => 1.0 / x,
            Function::Sigmoid => y * (1.0 - y),
        }
    }
}

/// What makes a node.
pub enum Op {
    /// It was given.
    Leaf,
    /// A sum.
    Add(Ref, Ref),
    /// A product.
    Mul(Ref, Ref),
    /// A power, and whether the exponent was given as an integer.
    Pow(Ref, f64, bool),
    /// A number to this power.
    PowOf(f64, Ref),
    /// A function.
    Call(Function, Ref),
    /// The same value at another place.
    Move(Ref),
    /// The last of `weights` plus the products of the others with `inputs`; with `relu` the positive part of it.
    Neuron {
        /// One for each input, then the bias.
        weights: Arc<Nodes>,
        /// What the layer was given.
        inputs: Arc<Nodes>,
        /// Whether it ends in a `ReLU`.
        relu: bool,
    },
}

impl Op {
    /// The value, from those of what it is made from; `own` is that of a leaf.
    pub(crate) fn value(&self, own: f64) -> f64 {
        match self {
            Op::Leaf => own,
            Op::Add(a, b) => a.raw() + b.raw(),
            Op::Mul(a, b) => a.raw() * b.raw(),
            Op::Pow(a, exponent, _) => a.raw().powf(*exponent),
            Op::PowOf(base, a) => base.powf(a.raw()),
            Op::Call(function, a) => function.of(a.raw()),
            Op::Move(a) => a.raw(),
            Op::Neuron { weights, inputs, relu } => {
                let (bias, weights) = weights.bias_and_weights();
                let sum = weights.iter().zip(inputs.iter()).fold(bias, |sum, (w, x)| sum + w.raw() * x.raw());
                if *relu { Function::Relu.of(sum) } else { sum }
            }
        }
    }

    /// Adds what arrives at a node of value `y` to the gradients of what it is made from.
    pub(crate) fn push(&self, y: f64, arriving: f64) {
        match self {
            Op::Leaf => {}
            Op::Add(a, b) => {
                a.add_grad(arriving);
                b.add_grad(arriving);
            }
            Op::Mul(a, b) => {
                a.add_grad(b.raw() * arriving);
                b.add_grad(a.raw() * arriving);
            }
            Op::Pow(a, exponent, _) => a.add_grad((exponent * a.raw().powf(exponent - 1.0)) * arriving),
            Op::PowOf(base, a) => a.add_grad((y * base.ln()) * arriving),
            Op::Call(function, a) => a.add_grad(function.slope(a.raw(), y) * arriving),
            Op::Move(a) => a.add_grad(arriving),
            Op::Neuron { weights, inputs, relu } => {
                let arriving = if *relu { Function::Relu.slope(y, y) * arriving } else { arriving };
                let (last, weights) = weights.split();
                for (w, x) in weights.iter().zip(inputs.iter()) {
                    w.add_grad(x.raw() * arriving);
                    x.add_grad(w.raw() * arriving);
                }
                if let Some(bias) = last {
                    bias.add_grad(arriving);
                }
            }
        }
    }

    /// The `i`-th of what it is made from.
    #[inline]
    pub(crate) fn child(&self, i: usize) -> Option<&Ref> {
        match (self, i) {
            (Op::Add(a, _) | Op::Mul(a, _) | Op::Pow(a, ..) | Op::PowOf(_, a) | Op::Call(_, a) | Op::Move(a), 0) => Some(a),
            (Op::Add(_, b) | Op::Mul(_, b), 1) => Some(b),
            (Op::Neuron { weights, inputs, .. }, i) => weights.get(i).or_else(|| inputs.get(i - weights.len())),
            _ => None,
        }
    }

    /// All that it is made from.
    pub fn children(&self) -> impl Iterator<Item = &Ref> {
        (0..).map_while(|i| self.child(i))
    }
}

impl Nodes {
    fn split(&self) -> (Option<&Ref>, &[Ref]) {
        match self.split_last() {
            Some((bias, weights)) => (Some(bias), weights),
            None => (None, &[]),
        }
    }

    /// The bias's value (0 of none), and the weights.
    fn bias_and_weights(&self) -> (f64, &[Ref]) {
        let (bias, weights) = self.split();
        (bias.map_or(0.0, |bias| Node::raw(bias)), weights)
    }
}
