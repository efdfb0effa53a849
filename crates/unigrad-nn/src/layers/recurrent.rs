//! Recurrent layers: LSTM and GRU, in PyTorch's parameters and gate order.
//!
//! In: sequences `[batch, length, features]`. Out: the states of all times, and the last ones.
//! Always: inputs are projected for all times in one product, and the recurrent weight is transposed once per pass.

use super::Layer;
use crate::{Module, Visitor, VisitorMut, init, trace};
use unigrad_tensor::{DType, Device, Origin, Tensor};

/// The weights of one layer in one direction.
#[derive(Clone)]
struct Cell {
    weight_ih: Tensor,
    weight_hh: Tensor,
    bias_ih: Tensor,
    bias_hh: Tensor,
}

/// The stack of layers that both kinds share.
#[derive(Clone)]
struct Stack {
    /// Layer after layer, forward before backward.
    cells: Vec<Cell>,
    hidden: usize,
    bidirectional: bool,
}

impl Stack {
    #[track_caller]
    fn new(inputs: usize, hidden: usize, n_layers: usize, bidirectional: bool, n_gates: usize, device: &Device) -> Stack {
        let _origin = Origin::enter_caller();
        let directions = 1 + usize::from(bidirectional);
        let cell = |features: usize| {
            let weight = |shape: &[usize]| init::torch_default(shape, hidden, DType::F32, device);
            Cell {
                weight_ih: weight(&[n_gates * hidden, features]),
                weight_hh: weight(&[n_gates * hidden, hidden]),
                bias_ih: weight(&[n_gates * hidden]),
                bias_hh: weight(&[n_gates * hidden]),
            }
        };
        let features = |layer| if layer == 0 { inputs } else { directions * hidden };
        let cells = (0..n_layers * directions).map(|i| cell(features(i / directions))).collect();
        Stack { cells, hidden, bidirectional }
    }

    fn directions(&self) -> usize {
        1 + usize::from(self.bidirectional)
    }

    fn suffix(&self, i: usize) -> String {
        let directions = self.directions();
        format!("_l{}{}", i / directions, if i % directions == 1 { "_reverse" } else { "" })
    }

    /// Runs every layer over time. The input's products for all times are one, with what `input_bias` adds; `cell` maps a direction's
    /// weights and that product at each time to its outputs and last states.
    #[track_caller]
    fn run(
        &self,
        x: &Tensor,
        input_bias: impl Fn(&Cell) -> Tensor,
        cell: impl Fn(usize, &Cell, &[Tensor], &Tensor) -> (Vec<Tensor>, Vec<Tensor>),
    ) -> (Tensor, Vec<Vec<Tensor>>) {
        let mut layer_input = x.clone();
        let mut last_states = Vec::new();
        let directions = self.directions();
        for (layer, cells) in self.cells.chunks(directions).enumerate() {
            let mut outputs = Vec::new();
            for (direction, weights) in cells.iter().enumerate() {
                let projected = layer_input.linear(&weights.weight_ih, Some(&input_bias(weights)));
                let mut times = projected.unbind(1);
                if direction == 1 {
                    times.reverse();
                }
                let transposed = weights.weight_hh.t().contiguous();
                let (mut states, last) = cell(layer * directions + direction, weights, &times, &transposed);
                if direction == 1 {
                    states.reverse();
                }
                outputs.push(Tensor::stack(&states.iter().collect::<Vec<_>>(), 1));
                last_states.push(last);
            }
            layer_input = match outputs.as_slice() {
                [only] => only.clone(),
                both => Tensor::concat(&both.iter().collect::<Vec<_>>(), -1),
            };
        }
        (layer_input, last_states)
    }

    fn zeros(&self, x: &Tensor) -> Tensor {
        let batch = x.shape().first().copied().unwrap_or(0);
        match x.device() {
            Ok(device) => Tensor::zeros([batch, self.hidden], x.dtype(), &device),
            // An invalid input goes on as it is; its error surfaces at the first read.
            Err(_) => x.clone(),
        }
    }

    fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        for (i, cell) in self.cells.iter().enumerate() {
            let suffix = self.suffix(i);
            visitor.parameter(&format!("weight_ih{suffix}"), &cell.weight_ih);
            visitor.parameter(&format!("weight_hh{suffix}"), &cell.weight_hh);
            visitor.parameter(&format!("bias_ih{suffix}"), &cell.bias_ih);
            visitor.parameter(&format!("bias_hh{suffix}"), &cell.bias_hh);
        }
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        let suffixes: Vec<String> = (0..self.cells.len()).map(|i| self.suffix(i)).collect();
        for (cell, suffix) in self.cells.iter_mut().zip(suffixes) {
            visitor.parameter(&format!("weight_ih{suffix}"), &mut cell.weight_ih);
            visitor.parameter(&format!("weight_hh{suffix}"), &mut cell.weight_hh);
            visitor.parameter(&format!("bias_ih{suffix}"), &mut cell.bias_ih);
            visitor.parameter(&format!("bias_hh{suffix}"), &mut cell.bias_hh);
        }
    }
}

/// A state per layer and direction, `[layers * directions, batch, hidden]`, or one of zeros.
fn initial(given: Option<&Tensor>, i: usize, zeros: &Tensor) -> Tensor {
    given.map_or_else(|| zeros.clone(), |state| state.select(0, i as i64))
}

fn stacked(states: &[Vec<Tensor>], which: usize) -> Tensor {
    Tensor::stack(&states.iter().map(|s| &s[which]).collect::<Vec<_>>(), 0)
}

macro_rules! recurrent {
    ($name:ident, $n_gates:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Clone)]
        pub struct $name(Stack);

        impl Module for $name {
            fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
                self.0.visit(visitor);
            }

            fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
                self.0.visit_mut(visitor);
            }
        }

        impl $name {
            /// One layer, forward in time.
            #[track_caller]
            pub fn new(inputs: usize, hidden: usize, device: &Device) -> $name {
                $name::stacked(inputs, hidden, 1, false, device)
            }

            /// Several layers, in one direction or both (whose outputs stand side by side).
            #[track_caller]
            pub fn stacked(inputs: usize, hidden: usize, n_layers: usize, bidirectional: bool, device: &Device) -> $name {
                $name(Stack::new(inputs, hidden, n_layers, bidirectional, $n_gates, device))
            }
        }

        impl Layer for $name {
            /// The states of all times, `[batch, length, hidden]`.
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                self.run(x, None).0
            }
        }
    };
}
recurrent!(Lstm, 4, "Long short-term memory; sequences are `[batch, length, features]` (PyTorch's `batch_first`).");
recurrent!(Gru, 3, "Gated recurrent units; sequences are `[batch, length, features]` (PyTorch's `batch_first`).");

impl Lstm {
    /// From initial states h and c (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last h and c.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let _origin = Origin::enter_caller();
        let (zeros, hidden) = (self.0.zeros(x), self.0.hidden);
        // Both biases are added once for all times; so their gradients are one sum, too.
        let bias = |cell: &Cell| &cell.bias_ih + &cell.bias_hh;
        let (output, last) = self.0.run(x, bias, |i, _, times, weight| {
            let mut h = initial(state.map(|s| s.0), i, &zeros);
            let mut c = initial(state.map(|s| s.1), i, &zeros);
            let mut states = Vec::with_capacity(times.len());
            for projected in times {
                let gates = projected + h.matmul(weight);
                let gate = |k: usize| gates.narrow(1, k * hidden, hidden);
                c = gate(1).sigmoid() * &c + gate(0).sigmoid() * gate(2).tanh();
                h = gate(3).sigmoid() * c.tanh();
                states.push(h.clone());
            }
            (states, vec![h, c])
        });
        let weight = self.0.cells.first().map(|c| &c.weight_ih);
        (trace::observe("Lstm", weight, output), (stacked(&last, 0), stacked(&last, 1)))
    }
}

impl Gru {
    /// From an initial state (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last one.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        let (zeros, hidden) = (self.0.zeros(x), self.0.hidden);
        // The reset gate multiplies the recurrent bias, so that one joins later.
        let (output, last) = self.0.run(
            x,
            |cell| cell.bias_ih.clone(),
            |i, cell, times, weight| {
                let mut h = initial(state, i, &zeros);
                let mut states = Vec::with_capacity(times.len());
                for projected in times {
                    let recurrent = h.matmul(weight) + &cell.bias_hh;
                    let gate = |x: &Tensor, k: usize| x.narrow(1, k * hidden, hidden);
                    let reset = (gate(projected, 0) + gate(&recurrent, 0)).sigmoid();
                    let update = (gate(projected, 1) + gate(&recurrent, 1)).sigmoid();
                    let new = (gate(projected, 2) + reset * gate(&recurrent, 2)).tanh();
                    h = &new + update * (&h - &new);
                    states.push(h.clone());
                }
                (states, vec![h])
            },
        );
        let weight = self.0.cells.first().map(|c| &c.weight_ih);
        (trace::observe("Gru", weight, output), stacked(&last, 0))
    }
}
