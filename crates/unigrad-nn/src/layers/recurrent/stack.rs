//! The stack of layers and directions that all recurrent layers share.
//!
//! In: sequences, lengths, initial states, and what a step does. Out: outputs of the last layer, and last states.
//! Always: inputs are projected for all times in one product, and the recurrent weight is transposed once per pass. A layer in one direction is one
//! scan, so a graph is as large for one step as for a thousand.

use crate::{Visitor, VisitorMut, init};
use unigrad_tensor::{DType, Device, Error, Origin, Result, ScanOptions, Tensor, autocast_dtype, scan};

/// Settings of recurrent layers; the defaults are PyTorch's, but for [`RecurrentOptions::batch_first`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecurrentOptions {
    /// How many layers.
    pub n_layers: usize,
    /// In both directions, whose outputs stand side by side.
    pub bidirectional: bool,
    /// The probability with which an output of a layer, but the last one, is dropped while training.
    pub dropout: f64,
    /// With biases.
    pub bias: bool,
    /// Sequences are `[batch, length, features]`, else `[length, batch, features]`. States are `[layers * directions, batch, features]` always.
    pub batch_first: bool,
}

impl Default for RecurrentOptions {
    fn default() -> RecurrentOptions {
        RecurrentOptions { n_layers: 1, bidirectional: false, dropout: 0.0, bias: true, batch_first: true }
    }
}

/// The weights of one layer in one direction.
#[derive(Clone)]
pub(super) struct Cell {
    pub(super) weight_ih: Tensor,
    pub(super) weight_hh: Tensor,
    pub(super) bias_ih: Option<Tensor>,
    pub(super) bias_hh: Option<Tensor>,
    /// Of the projection.
    pub(super) weight_hr: Option<Tensor>,
}

impl Cell {
    /// Both biases together.
    #[track_caller]
    pub(super) fn both_biases(&self) -> Option<Tensor> {
        match (&self.bias_ih, &self.bias_hh) {
            (Some(ih), Some(hh)) => Some(ih + hh),
            _ => None,
        }
    }
}

#[derive(Clone)]
pub(super) struct Stack {
    /// Layer after layer, forward before backward.
    cells: Vec<Cell>,
    pub(super) hidden: usize,
    /// Features of an output.
    outputs: usize,
    options: RecurrentOptions,
    pub(super) training: bool,
}

impl Stack {
    #[track_caller]
    pub(super) fn new(
        inputs: usize,
        hidden: usize,
        projection: Option<usize>,
        options: RecurrentOptions,
        n_gates: usize,
        device: &Device,
    ) -> Stack {
        let _origin = Origin::enter_caller();
        let directions = 1 + usize::from(options.bidirectional);
        let outputs = projection.unwrap_or(hidden);
        let weight = |shape: &[usize]| init::torch_default(shape, hidden, init::dtype(), device);
        let cell = |features: usize| Cell {
            weight_ih: weight(&[n_gates * hidden, features]),
            weight_hh: weight(&[n_gates * hidden, outputs]),
            bias_ih: options.bias.then(|| weight(&[n_gates * hidden])),
            bias_hh: options.bias.then(|| weight(&[n_gates * hidden])),
            weight_hr: projection.map(|outputs| weight(&[outputs, hidden])),
        };
        let features = |layer| if layer == 0 { inputs } else { directions * outputs };
        let cells = (0..options.n_layers * directions).map(|i| cell(features(i / directions))).collect();
        Stack { cells, hidden, outputs, options, training: true }
    }

    /// Of weights that are there, in PyTorch's order: for each layer and direction those of the input and of the state, the biases of both, the projection.
    pub(super) fn of(weights: Vec<Tensor>, projected: bool, options: RecurrentOptions) -> Result<Stack> {
        let each = 2 + 2 * usize::from(options.bias) + usize::from(projected);
        let n_cells = options.n_layers * (1 + usize::from(options.bidirectional));
        if weights.len() != each * n_cells || n_cells == 0 {
            let cause = format!("{} weights for {n_cells} cells", weights.len());
            return Err(Error::argument(cause, format!("give {each} for each layer and direction")));
        }
        let columns = |weight: &Tensor| -> Result<usize> {
            let shape = weight.dims()?;
            let wrong = || Error::argument(format!("a weight {shape:?} of a recurrent layer"), "give matrices");
            shape.get(1).copied().ok_or_else(wrong)
        };
        let (mut cells, mut hidden, mut outputs) = (Vec::with_capacity(n_cells), 0, 0);
        let mut weights = weights.into_iter();
        let missing = || Error::Internal("a cell without its weights".into());
        for _ in 0..n_cells {
            let mut next = || weights.next().ok_or_else(missing);
            let (weight_ih, weight_hh) = (next()?, next()?);
            let (bias_ih, bias_hh) = if options.bias { (Some(next()?), Some(next()?)) } else { (None, None) };
            let weight_hr = if projected { Some(next()?) } else { None };
            outputs = columns(&weight_hh)?;
            hidden = weight_hr.as_ref().map_or(Ok(outputs), columns)?;
            cells.push(Cell { weight_ih, weight_hh, bias_ih, bias_hh, weight_hr });
        }
        Ok(Stack { cells, hidden, outputs, options, training: true })
    }

    /// Tells where the layer is in a model.
    pub(super) fn first_weight(&self) -> Option<&Tensor> {
        self.cells.first().map(|cell| &cell.weight_ih)
    }

    fn directions(&self) -> usize {
        1 + usize::from(self.options.bidirectional)
    }

    fn suffix(&self, i: usize) -> String {
        let directions = self.directions();
        format!("_l{}{}", i / directions, if i % directions == 1 { "_reverse" } else { "" })
    }

    /// Runs every layer over time, from initial states (each `[layers * directions, batch, features]`; zeros without). The input's products for all
    /// times are one, with what `input_bias` adds; `step` maps a direction's weights, its transposed recurrent weight, the states and that product at
    /// one time to new states, of which the first is the output. The outputs of all times, and the last states.
    #[track_caller]
    pub(super) fn run(
        &self,
        x: &Tensor,
        lengths: Option<&Tensor>,
        given: &[Option<&Tensor>],
        input_bias: impl Fn(&Cell) -> Option<Tensor>,
        step: impl Fn(&Cell, &Tensor, &[Tensor], &Tensor) -> Vec<Tensor>,
    ) -> (Tensor, Vec<Tensor>) {
        // One sequence is a batch of one.
        let single = x.rank() == 2;
        let batch_axis = if self.options.batch_first { 0 } else { 1 };
        let x = if single { x.unsqueeze(batch_axis) } else { x.clone() };
        let x = if self.options.batch_first { x } else { x.transpose(0, 1) };
        let states: Vec<Option<Tensor>> =
            given.iter().map(|state| state.map(|state| if single { state.unsqueeze(1) } else { state.clone() })).collect();
        let lengths = lengths.map(|lengths| if single { lengths.reshape([1]) } else { lengths.clone() });
        let (output, last) = match self.scanned(&x, lengths.as_ref(), &states, input_bias, step) {
            Ok(run) => run,
            Err(error) => return (Tensor::from_error(&error), vec![Tensor::from_error(&error); given.len()]),
        };
        let output = if self.options.batch_first { output } else { output.transpose(0, 1) };
        match single {
            true => (output.squeeze(batch_axis), last.iter().map(|state| state.squeeze(1)).collect()),
            false => (output, last),
        }
    }

    /// As [`Stack::run`], of `[batch, length, features]`.
    #[track_caller]
    fn scanned(
        &self,
        x: &Tensor,
        lengths: Option<&Tensor>,
        given: &[Option<Tensor>],
        input_bias: impl Fn(&Cell) -> Option<Tensor>,
        step: impl Fn(&Cell, &Tensor, &[Tensor], &Tensor) -> Vec<Tensor>,
    ) -> Result<(Tensor, Vec<Tensor>)> {
        x.dims()?;
        let kept = match lengths {
            Some(lengths) => Some(within(x, lengths)?),
            None => None,
        };
        // `[length, batch, 1]`, for the steps.
        let kept_times = kept.as_ref().map(|kept| kept.transpose(0, 1));
        // What lies beyond a length is not looked at: not even if it is no number.
        let mut layer_input = kept.as_ref().map_or_else(|| x.clone(), |kept| kept.where_(x, 0.0));
        let mut last_states: Vec<Vec<Tensor>> = vec![Vec::new(); given.len()];
        let directions = self.directions();
        let layers = self.cells.chunks(directions);
        let n_layers = layers.len();
        for (layer, cells) in layers.enumerate() {
            let mut outputs = Vec::new();
            for (direction, weights) in cells.iter().enumerate() {
                let projected = layer_input.linear(&weights.weight_ih, input_bias(weights).as_ref());
                let transposed = weights.weight_hh.t().contiguous();
                // Once, not in each step.
                let transposed = match autocast_dtype().filter(|dtype| dtype.is_float()) {
                    Some(half) => transposed.cast(half),
                    None => transposed,
                };
                // States of another dtype, or one for all sequences of a batch, are brought to what a step makes of them.
                let dtype = given.iter().flatten().map(Tensor::dtype).fold(projected.dtype(), DType::promote);
                let mut states = Vec::with_capacity(given.len());
                for (number, given) in given.iter().enumerate() {
                    let zeros = zeros(&layer_input, if number == 0 { self.outputs } else { self.hidden });
                    let state =
                        given.as_ref().map_or_else(|| zeros.clone(), |state| state.select(0, (layer * directions + direction) as i64));
                    states.push(state.cast(dtype).expand_as(&zeros));
                }
                let body = |states: &[Tensor], elements: &[Tensor]| {
                    let mut new = step(weights, &transposed, states, &elements[0]);
                    for (new, old) in new.iter_mut().zip(states) {
                        *new = new.cast(old.dtype());
                        if let Some(kept) = elements.get(1) {
                            *new = kept.where_(&*new, old);
                        }
                    }
                    let output =
                        new.iter().take(1).map(|h| elements.get(1).map_or_else(|| h.clone(), |kept| kept.where_(h, 0.0))).collect();
                    (new, output)
                };
                let options = if direction == 1 { ScanOptions::new().reverse() } else { ScanOptions::new() };
                let times = projected.transpose(0, 1);
                let elements: Vec<&Tensor> = std::iter::once(&times).chain(&kept_times).collect();
                let (last, mut all) = scan(body, &states.iter().collect::<Vec<_>>(), &elements, options)?;
                outputs.extend(all.pop().map(|all| all.transpose(0, 1)));
                last_states.iter_mut().zip(last).for_each(|(states, last)| states.push(last));
            }
            layer_input = match outputs.as_slice() {
                [only] => only.clone(),
                both => Tensor::concat(&both.iter().collect::<Vec<_>>(), -1),
            };
            if self.training && self.options.dropout != 0.0 && layer + 1 < n_layers {
                layer_input = layer_input.dropout(self.options.dropout);
            }
        }
        let mut last = Vec::with_capacity(given.len());
        for states in &last_states {
            last.push(Tensor::stack(&states.iter().collect::<Vec<_>>(), 0));
        }
        Ok((layer_input, last))
    }

    pub(super) fn visit<'m>(&'m self, visitor: &mut dyn Visitor<'m>) {
        for (i, cell) in self.cells.iter().enumerate() {
            let suffix = self.suffix(i);
            visitor.parameter(&format!("weight_ih{suffix}"), &cell.weight_ih);
            visitor.parameter(&format!("weight_hh{suffix}"), &cell.weight_hh);
            cell.bias_ih.iter().for_each(|bias| visitor.parameter(&format!("bias_ih{suffix}"), bias));
            cell.bias_hh.iter().for_each(|bias| visitor.parameter(&format!("bias_hh{suffix}"), bias));
            cell.weight_hr.iter().for_each(|weight| visitor.parameter(&format!("weight_hr{suffix}"), weight));
        }
    }

    pub(super) fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) {
        let suffixes: Vec<String> = (0..self.cells.len()).map(|i| self.suffix(i)).collect();
        for (cell, suffix) in self.cells.iter_mut().zip(suffixes) {
            visitor.parameter(&format!("weight_ih{suffix}"), &mut cell.weight_ih);
            visitor.parameter(&format!("weight_hh{suffix}"), &mut cell.weight_hh);
            cell.bias_ih.iter_mut().for_each(|bias| visitor.parameter(&format!("bias_ih{suffix}"), bias));
            cell.bias_hh.iter_mut().for_each(|bias| visitor.parameter(&format!("bias_hh{suffix}"), bias));
            cell.weight_hr.iter_mut().for_each(|weight| visitor.parameter(&format!("weight_hr{suffix}"), weight));
        }
    }
}

/// Zeros for each sequence of `[batch, length, features]`, also of no length.
#[track_caller]
fn zeros(x: &Tensor, size: usize) -> Tensor {
    let batch = x.shape().first().copied().unwrap_or(0);
    if x.is_named(0) {
        let axes: Vec<isize> = (1..x.rank() as isize).collect();
        return x.zeros_like().sum(axes).unsqueeze(-1).expand([batch, size]);
    }
    match x.device() {
        Ok(device) => Tensor::zeros([batch, size], x.dtype(), &device),
        // An invalid input goes on as it is; its error surfaces at the first read.
        Err(_) => x.clone(),
    }
}

/// Which times of which sequences count: `[batch, length, 1]`, truth values.
#[track_caller]
fn within(x: &Tensor, lengths: &Tensor) -> Result<Tensor> {
    let (batch, length) = (x.dim(0)?, x.dim(1)?);
    if lengths.dims()? != [batch] || lengths.dtype().is_float() || lengths.dtype() == DType::Bool {
        let cause = format!("lengths {} {:?} of sequences {:?}", lengths.dtype(), lengths.shape(), x.shape());
        return Err(unigrad_tensor::Error::argument(cause, "give one integer for each sequence of the batch"));
    }
    let device = x.device()?;
    let times = Tensor::arange(0.0, length as f64, 1.0, DType::I64, &device).unsqueeze(0);
    Ok(times.lt(lengths.to(&device).cast(DType::I64).unsqueeze(1)).unsqueeze(-1))
}
