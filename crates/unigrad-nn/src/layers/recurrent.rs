//! Recurrent layers: LSTM and GRU, in PyTorch's parameters and gate order.
//!
//! In: sequences `[batch, length, features]`. Out: the states of all times, and the last ones.
//! Always: inputs are projected for all times in one product, and the recurrent weight is transposed once per pass. A layer in one direction is one
//! scan, so a graph is as large for one step as for a thousand.

use super::Layer;
use crate::{Module, Visitor, VisitorMut, init, trace};
use unigrad_tensor::{DType, Device, Origin, Result, ScanOptions, Tensor, scan};

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

    /// Runs every layer over time, from `n_states` initial states (each `[layers * directions, batch, hidden]`; zeros without). The input's products
    /// for all times are one, with what `input_bias` adds; `step` maps a direction's weights, its transposed recurrent weight, the states and that
    /// product at one time to new states, of which the first is the output. The outputs of all times, and the last states.
    #[track_caller]
    fn run(
        &self,
        x: &Tensor,
        given: &[Option<&Tensor>],
        input_bias: impl Fn(&Cell) -> Tensor,
        step: impl Fn(&Cell, &Tensor, &[Tensor], &Tensor) -> Vec<Tensor>,
    ) -> (Tensor, Vec<Tensor>) {
        match self.scanned(x, given, input_bias, step) {
            Ok(run) => run,
            Err(error) => (Tensor::from_error(&error), vec![Tensor::from_error(&error); given.len()]),
        }
    }

    /// As [`Stack::run`].
    #[track_caller]
    fn scanned(
        &self,
        x: &Tensor,
        given: &[Option<&Tensor>],
        input_bias: impl Fn(&Cell) -> Tensor,
        step: impl Fn(&Cell, &Tensor, &[Tensor], &Tensor) -> Vec<Tensor>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        let zeros = self.zeros(x);
        let mut layer_input = x.clone();
        let mut last_states: Vec<Vec<Tensor>> = vec![Vec::new(); given.len()];
        let directions = self.directions();
        for (layer, cells) in self.cells.chunks(directions).enumerate() {
            let mut outputs = Vec::new();
            for (direction, weights) in cells.iter().enumerate() {
                let projected = layer_input.linear(&weights.weight_ih, Some(&input_bias(weights)));
                let transposed = weights.weight_hh.t().contiguous();
                // States of another dtype, or one for all sequences of a batch, are brought to what a step makes of them.
                let dtype = given.iter().flatten().map(|given| given.dtype()).fold(projected.dtype(), DType::promote);
                let mut states = Vec::with_capacity(given.len());
                for given in given {
                    let state = initial(*given, layer * directions + direction, &zeros);
                    states.push(state.cast(dtype).expand_as(&zeros));
                }
                let body = |states: &[Tensor], projected: &[Tensor]| {
                    let new = step(weights, &transposed, states, &projected[0]);
                    let output = new.iter().take(1).cloned().collect();
                    (new, output)
                };
                let options = if direction == 1 { ScanOptions::new().reverse() } else { ScanOptions::new() };
                let times = projected.transpose(0, 1);
                let (last, mut all) = scan(body, &states.iter().collect::<Vec<_>>(), &[&times], options)?;
                outputs.extend(all.pop().map(|all| all.transpose(0, 1)));
                last_states.iter_mut().zip(last).for_each(|(states, last)| states.push(last));
            }
            layer_input = match outputs.as_slice() {
                [only] => only.clone(),
                both => Tensor::concat(&both.iter().collect::<Vec<_>>(), -1),
            };
        }
        let mut last = Vec::with_capacity(given.len());
        for states in &last_states {
            last.push(Tensor::stack(&states.iter().collect::<Vec<_>>(), 0));
        }
        Ok((layer_input, last))
    }

    fn zeros(&self, x: &Tensor) -> Tensor {
        let batch = x.shape().first().copied().unwrap_or(0);
        if x.is_named(0) {
            let axes: Vec<isize> = (1..x.rank() as isize).collect();
            return x.zeros_like().sum(axes).unsqueeze(-1).expand([batch, self.hidden]);
        }
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
        let hidden = self.0.hidden;
        // Both biases are added once for all times; so their gradients are one sum, too.
        let bias = |cell: &Cell| &cell.bias_ih + &cell.bias_hh;
        let given = [state.map(|s| s.0), state.map(|s| s.1)];
        let (output, last) = self.0.run(x, &given, bias, |_, weight, states, projected| {
            let gates = projected + states[0].matmul(weight);
            let gate = |k: usize| gates.narrow(1, k * hidden, hidden);
            let c = gate(1).sigmoid() * &states[1] + gate(0).sigmoid() * gate(2).tanh();
            vec![gate(3).sigmoid() * c.tanh(), c]
        });
        let weight = self.0.cells.first().map(|c| &c.weight_ih);
        (trace::observe("Lstm", weight, output), (last[0].clone(), last[1].clone()))
    }
}

impl Gru {
    /// From an initial state (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last one.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        let hidden = self.0.hidden;
        // The reset gate multiplies the recurrent bias, so that one joins later.
        let bias = |cell: &Cell| cell.bias_ih.clone();
        let (output, last) = self.0.run(x, &[state], bias, |cell, weight, states, projected| {
            let h = &states[0];
            let recurrent = h.matmul(weight) + &cell.bias_hh;
            let gate = |x: &Tensor, k: usize| x.narrow(1, k * hidden, hidden);
            let reset = (gate(projected, 0) + gate(&recurrent, 0)).sigmoid();
            let update = (gate(projected, 1) + gate(&recurrent, 1)).sigmoid();
            let new = (gate(projected, 2) + reset * gate(&recurrent, 2)).tanh();
            vec![&new + update * (h - &new)]
        });
        let weight = self.0.cells.first().map(|c| &c.weight_ih);
        (trace::observe("Gru", weight, output), last[0].clone())
    }
}
