//! Recurrent layers: RNN, LSTM and GRU, in PyTorch's parameters and gate order.
//!
//! In: sequences `[batch, length, features]` (or with the length first, or one sequence), of one length or of a length each. Out: the states of all
//! times, and the last ones.
//! Always: what lies beyond a sequence's length changes nothing: states stay there, outputs are 0, and the reverse direction begins at the length.

mod cells;
mod stack;

pub use cells::{GruCell, LstmCell, RnnCell};
pub use stack::RecurrentOptions;

use super::Layer;
use crate::{Module, Visitor, VisitorMut, trace};
use cells::{gru, lstm};
use stack::{Cell, Stack};
use std::any::Any;
use unigrad_tensor::{Device, Origin, Result, Tensor};

/// What an [`Rnn`] does to its sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nonlinearity {
    /// The hyperbolic tangent.
    #[default]
    Tanh,
    /// `max(x, 0)`.
    Relu,
}

impl Nonlinearity {
    #[track_caller]
    fn of(self, x: &Tensor) -> Tensor {
        match self {
            Nonlinearity::Tanh => x.tanh(),
            Nonlinearity::Relu => x.relu(),
        }
    }
}

/// Elman's network: `h = tanh(W x + b + U h + c)`, or with ReLU. Sequences are `[batch, length, features]` unless
/// [`RecurrentOptions::batch_first`] is off.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Nonlinearity, RecurrentOptions, Rnn};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = RecurrentOptions { n_layers: 2, bidirectional: true, ..RecurrentOptions::default() };
/// let rnn = Rnn::with(4, 8, Nonlinearity::Relu, options, &device);
/// let x = Tensor::ones([3, 5, 4], DType::F32, &device);
/// let lengths = Tensor::new([5i64, 2, 1], &device);
/// let (outputs, last) = rnn.run_lengths(&x, &lengths, None);
/// assert_eq!((outputs.dims()?, last.dims()?), (vec![3, 5, 16], vec![4, 3, 8]));
/// assert_eq!(outputs.i(2).i(1).abs().sum(()).item::<f32>()?, 0.0);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone)]
pub struct Rnn(Stack, Nonlinearity);

/// Long short-term memory; sequences are `[batch, length, features]` (PyTorch's `batch_first`) unless [`RecurrentOptions::batch_first`] is off.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Lstm};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let (layer, x) = (Lstm::new(4, 8, &device), Tensor::ones([3, 5, 4], DType::F32, &device));
/// assert_eq!(layer.forward(&x).dims()?, [3, 5, 8]);
/// let (_, (h, c)) = layer.run(&x, None);
/// assert_eq!((h.dims()?, c.dims()?), (vec![1, 3, 8], vec![1, 3, 8]));
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone)]
pub struct Lstm(Stack);

/// Gated recurrent units; sequences are `[batch, length, features]` (PyTorch's `batch_first`) unless [`RecurrentOptions::batch_first`] is off.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, Gru};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let (layer, x) = (Gru::new(4, 8, &device), Tensor::ones([3, 5, 4], DType::F32, &device));
/// assert_eq!(layer.forward(&x).dims()?, [3, 5, 8]);
/// assert_eq!(layer.run(&x, None).1.dims()?, [1, 3, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Clone)]
pub struct Gru(Stack);

macro_rules! module {
    ($($name:ident)*) => { $(
        impl Module for $name {
            fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
                self.0.visit(visitor);
            }

            fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
                self.0.visit_mut(visitor);
            }

            fn on_mode(&mut self, training: bool) {
                self.0.training = training;
            }

            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }

            fn as_any_mut(&mut self) -> Option<&mut dyn Any> {
                Some(self)
            }
        }

        impl Layer for $name {
            /// The states of all times, `[batch, length, hidden]`.
            #[track_caller]
            fn forward(&self, x: &Tensor) -> Tensor {
                self.run(x, None).0
            }
        }
    )* };
}
module!(Rnn Lstm Gru);

macro_rules! constructors {
    ($($name:ident $n_gates:literal)*) => { $(
        impl $name {
            /// One layer, forward in time.
            #[track_caller]
            pub fn new(inputs: usize, hidden: usize, device: &Device) -> $name {
                $name::with(inputs, hidden, RecurrentOptions::default(), device)
            }

            /// Several layers, in one direction or both (whose outputs stand side by side).
            #[track_caller]
            pub fn stacked(inputs: usize, hidden: usize, n_layers: usize, bidirectional: bool, device: &Device) -> $name {
                $name::with(inputs, hidden, RecurrentOptions { n_layers, bidirectional, ..RecurrentOptions::default() }, device)
            }

            /// With settings.
            #[track_caller]
            pub fn with(inputs: usize, hidden: usize, options: RecurrentOptions, device: &Device) -> $name {
                $name(Stack::new(inputs, hidden, None, options, $n_gates, device))
            }

            /// Of weights that are there, in the order of PyTorch's `_flat_weights`. An error if they are too many or too few.
            pub fn of(weights: Vec<Tensor>, options: RecurrentOptions) -> Result<$name> {
                Ok($name(Stack::of(weights, false, options)?))
            }
        }
    )* };
}
constructors!(Lstm 4 Gru 3);

impl Rnn {
    /// One layer, forward in time, with the hyperbolic tangent.
    #[track_caller]
    pub fn new(inputs: usize, hidden: usize, device: &Device) -> Rnn {
        Rnn::with(inputs, hidden, Nonlinearity::Tanh, RecurrentOptions::default(), device)
    }

    /// With settings.
    #[track_caller]
    pub fn with(inputs: usize, hidden: usize, nonlinearity: Nonlinearity, options: RecurrentOptions, device: &Device) -> Rnn {
        Rnn(Stack::new(inputs, hidden, None, options, 1, device), nonlinearity)
    }

    /// Of weights that are there, in the order of PyTorch's `_flat_weights`. An error if they are too many or too few.
    pub fn of(weights: Vec<Tensor>, nonlinearity: Nonlinearity, options: RecurrentOptions) -> Result<Rnn> {
        Ok(Rnn(Stack::of(weights, false, options)?, nonlinearity))
    }

    /// From an initial state (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last one.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        self.sequences(x, None, state)
    }

    /// As [`Rnn::run`], of sequences with a length each (`[batch]`, integers): PyTorch's packed sequences. Outputs are 0 beyond it, and the last state
    /// is the one at it. A length beyond the tensor's counts as the tensor's.
    #[track_caller]
    pub fn run_lengths(&self, x: &Tensor, lengths: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        self.sequences(x, Some(lengths), state)
    }

    #[track_caller]
    fn sequences(&self, x: &Tensor, lengths: Option<&Tensor>, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let (output, last) = self.0.run(x, lengths, &[state], Cell::both_biases, |_, weight, states, projected| {
            vec![self.1.of(&(projected + states[0].matmul(weight)))]
        });
        (trace::observe("Rnn", self.0.first_weight(), output), last[0].clone())
    }
}

impl Lstm {
    /// With outputs of `proj_size` features, which a matrix makes of the hidden ones (`proj_size` of PyTorch; Sak et al., 2014).
    #[track_caller]
    pub fn projected(inputs: usize, hidden: usize, proj_size: usize, options: RecurrentOptions, device: &Device) -> Lstm {
        Lstm(Stack::new(inputs, hidden, Some(proj_size), options, 4, device))
    }

    /// As [`Lstm::of`], with a projection.
    pub fn of_projected(weights: Vec<Tensor>, options: RecurrentOptions) -> Result<Lstm> {
        Ok(Lstm(Stack::of(weights, true, options)?))
    }

    /// From initial states h and c (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last h and c. With a
    /// projection, h has its features.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let _origin = Origin::enter_caller();
        self.sequences(x, None, state)
    }

    /// As [`Lstm::run`], of sequences with a length each; see [`Rnn::run_lengths`].
    #[track_caller]
    pub fn run_lengths(&self, x: &Tensor, lengths: &Tensor, state: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let _origin = Origin::enter_caller();
        self.sequences(x, Some(lengths), state)
    }

    #[track_caller]
    fn sequences(&self, x: &Tensor, lengths: Option<&Tensor>, state: Option<(&Tensor, &Tensor)>) -> (Tensor, (Tensor, Tensor)) {
        let hidden = self.0.hidden;
        let given = [state.map(|s| s.0), state.map(|s| s.1)];
        // Both biases are added once for all times; so their gradients are one sum, too.
        let (output, last) = self.0.run(x, lengths, &given, Cell::both_biases, |cell, weight, states, projected| {
            let (h, c) = lstm(&(projected + states[0].matmul(weight)), &states[1], hidden);
            vec![cell.weight_hr.as_ref().map_or(h.clone(), |projection| h.linear(projection, None)), c]
        });
        (trace::observe("Lstm", self.0.first_weight(), output), (last[0].clone(), last[1].clone()))
    }
}

impl Gru {
    /// From an initial state (`[layers * directions, batch, hidden]`; zeros without): the states of all times, and the last one.
    #[track_caller]
    pub fn run(&self, x: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        self.sequences(x, None, state)
    }

    /// As [`Gru::run`], of sequences with a length each; see [`Rnn::run_lengths`].
    #[track_caller]
    pub fn run_lengths(&self, x: &Tensor, lengths: &Tensor, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let _origin = Origin::enter_caller();
        self.sequences(x, Some(lengths), state)
    }

    #[track_caller]
    fn sequences(&self, x: &Tensor, lengths: Option<&Tensor>, state: Option<&Tensor>) -> (Tensor, Tensor) {
        let hidden = self.0.hidden;
        // The reset gate multiplies the recurrent bias, so that one joins later.
        let bias = |cell: &Cell| cell.bias_ih.clone();
        let (output, last) = self.0.run(x, lengths, &[state], bias, |cell, weight, states, projected| {
            let h = &states[0];
            let recurrent = h.matmul(weight);
            let recurrent = cell.bias_hh.as_ref().map_or(recurrent.clone(), |bias| &recurrent + bias);
            vec![gru(projected, &recurrent, h, hidden)]
        });
        (trace::observe("Gru", self.0.first_weight(), output), last[0].clone())
    }
}
