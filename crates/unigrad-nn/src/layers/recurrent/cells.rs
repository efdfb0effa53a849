//! One step of recurrent layers, and layers of one step.
//!
//! In: an input `[batch, features]` or `[features]`, and states. Out: the states after it.

use super::Nonlinearity;
use crate::{Module, init, trace};
use unigrad_tensor::{Device, Origin, Tensor};

/// The states h and c after a step, from the gates' sums: input, forget, cell, output.
#[track_caller]
pub(super) fn lstm(gates: &Tensor, c: &Tensor, hidden: usize) -> (Tensor, Tensor) {
    let gate = |k: usize| gates.narrow(-1, k * hidden, hidden);
    let c = gate(1).sigmoid() * c + gate(0).sigmoid() * gate(2).tanh();
    (gate(3).sigmoid() * c.tanh(), c)
}

/// The state after a step, from the sums of the input and of the state before: reset, update, new.
#[track_caller]
pub(super) fn gru(projected: &Tensor, recurrent: &Tensor, h: &Tensor, hidden: usize) -> Tensor {
    let gate = |x: &Tensor, k: usize| x.narrow(-1, k * hidden, hidden);
    let reset = (gate(projected, 0) + gate(recurrent, 0)).sigmoid();
    let update = (gate(projected, 1) + gate(recurrent, 1)).sigmoid();
    let new = (gate(projected, 2) + reset * gate(recurrent, 2)).tanh();
    &new + update * (h - &new)
}

/// Zeros for each row of `x`.
#[track_caller]
fn zeros(x: &Tensor, size: usize) -> Tensor {
    let mut shape = x.shape();
    // A named batch keeps its name.
    if (0..x.rank()).any(|axis| x.is_named(axis as isize)) {
        shape.pop();
        shape.push(size);
        return x.zeros_like().sum(-1).unsqueeze(-1).expand(shape);
    }
    match (x.device(), shape.last_mut()) {
        (Ok(device), Some(last)) => {
            *last = size;
            Tensor::zeros(shape, x.dtype(), &device)
        }
        // An invalid input goes on as it is; its error surfaces at the first read.
        _ => x.clone(),
    }
}

macro_rules! cells {
    ($($name:ident $n_gates:literal { $($field:ident: $ty:ty = $value:expr),* } $doc:literal, $state:literal;)*) => { $(
        #[doc = $doc]
        #[doc = example!(cell $name, $state)]
        #[derive(Module, Clone)]
        pub struct $name {
            /// Of the input, gate after gate: `[gates * hidden, in]`.
            pub weight_ih: Tensor,
            /// Of the state, gate after gate: `[gates * hidden, hidden]`.
            pub weight_hh: Tensor,
            /// `[gates * hidden]`.
            pub bias_ih: Option<Tensor>,
            /// Likewise.
            pub bias_hh: Option<Tensor>,
            hidden: usize,
            $(
                #[module(skip)]
                $field: $ty,
            )*
        }

        impl $name {
            /// From `inputs` features to `hidden`, with biases.
            #[track_caller]
            pub fn new(inputs: usize, hidden: usize, device: &Device) -> $name {
                let _origin = Origin::enter_caller();
                let weight = |shape: &[usize]| init::torch_default(shape, hidden, init::dtype(), device);
                $name {
                    weight_ih: weight(&[$n_gates * hidden, inputs]),
                    weight_hh: weight(&[$n_gates * hidden, hidden]),
                    bias_ih: Some(weight(&[$n_gates * hidden])),
                    bias_hh: Some(weight(&[$n_gates * hidden])),
                    hidden,
                    $($field: $value,)*
                }
            }

            /// Of weights that are there: of the input, of the state, and both biases or none.
            pub fn of(weight_ih: Tensor, weight_hh: Tensor, biases: Option<[Tensor; 2]>) -> $name {
                let hidden = weight_hh.shape().get(1).copied().unwrap_or(0); // DEFAULT: what has no columns is refused by the product
                let [bias_ih, bias_hh] = biases.map_or([None, None], |biases| biases.map(Some));
                $name { weight_ih, weight_hh, bias_ih, bias_hh, hidden, $($field: $value,)* }
            }

            /// Without biases.
            pub fn no_bias(mut self) -> $name {
                (self.bias_ih, self.bias_hh) = (None, None);
                self
            }
        }
    )* };
}
cells! {
    RnnCell 1 { nonlinearity: Nonlinearity = Nonlinearity::Tanh } "One step of an [`super::Rnn`].", "h";
    GruCell 3 {} "One step of a [`super::Gru`].", "h";
    LstmCell 4 {} "One step of an [`super::Lstm`].", "(h, _)";
}

impl RnnCell {
    /// With ReLU.
    pub fn relu(mut self) -> RnnCell {
        self.nonlinearity = Nonlinearity::Relu;
        self
    }

    /// The state after an input; zeros before it without a state.
    #[track_caller]
    pub fn step(&self, x: &Tensor, state: Option<&Tensor>) -> Tensor {
        let _origin = Origin::enter_caller();
        let h = state.map_or_else(|| zeros(x, self.hidden), Clone::clone);
        let sum = x.linear(&self.weight_ih, self.bias_ih.as_ref()) + h.linear(&self.weight_hh, self.bias_hh.as_ref());
        trace::observe("RnnCell", Some(&self.weight_ih), self.nonlinearity.of(&sum))
    }
}

impl GruCell {
    /// The state after an input; zeros before it without a state.
    #[track_caller]
    pub fn step(&self, x: &Tensor, state: Option<&Tensor>) -> Tensor {
        let _origin = Origin::enter_caller();
        let h = state.map_or_else(|| zeros(x, self.hidden), Clone::clone);
        let projected = x.linear(&self.weight_ih, self.bias_ih.as_ref());
        let recurrent = h.linear(&self.weight_hh, self.bias_hh.as_ref());
        trace::observe("GruCell", Some(&self.weight_ih), gru(&projected, &recurrent, &h, self.hidden))
    }
}

impl LstmCell {
    /// The states h and c after an input; zeros before it without.
    #[track_caller]
    pub fn step(&self, x: &Tensor, state: Option<(&Tensor, &Tensor)>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        let (h, c) = match state {
            Some((h, c)) => (h.clone(), c.clone()),
            None => (zeros(x, self.hidden), zeros(x, self.hidden)),
        };
        let gates = x.linear(&self.weight_ih, self.bias_ih.as_ref()) + h.linear(&self.weight_hh, self.bias_hh.as_ref());
        let (h, c) = lstm(&gates, &c, self.hidden);
        (trace::observe("LstmCell", Some(&self.weight_ih), h), c)
    }
}
