//! Recurrent layers and cells.

use crate::{
    arguments::tensors,
    error::{OrRaise, argument},
    origin::here,
    tensor::{PyTensor, checked, made},
};
use pyo3::prelude::*;
use unigrad::{
    nn::{self, Module, Nonlinearity, RecurrentOptions},
    tensor::Tensor,
};

fn nonlinearity(py: Python<'_>, name: &str) -> PyResult<Nonlinearity> {
    match name {
        "tanh" => Ok(Nonlinearity::Tanh),
        "relu" => Ok(Nonlinearity::Relu),
        other => Err(argument(py, format!("`nonlinearity` is {other:?}"), "choose \"tanh\" or \"relu\"")),
    }
}

/// Outputs and last states (one, or h and c of an LSTM) of sequences. `mode` is "RNN_TANH", "RNN_RELU", "LSTM" or "GRU"; `weights` are in the order of
/// PyTorch's `_flat_weights`.
#[pyfunction]
#[pyo3(signature = (mode, x, lengths, state, weights, n_layers, bias, projected, batch_first, dropout, training, bidirectional))]
#[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
pub(crate) fn recurrent(
    py: Python<'_>,
    mode: &str,
    x: &PyTensor,
    lengths: Option<&PyTensor>,
    state: Option<(PyRef<'_, PyTensor>, Option<PyRef<'_, PyTensor>>)>,
    weights: Vec<PyRef<'_, PyTensor>>,
    n_layers: usize,
    bias: bool,
    projected: bool,
    batch_first: bool,
    dropout: f64,
    training: bool,
    bidirectional: bool,
) -> PyResult<(PyTensor, PyTensor, Option<PyTensor>)> {
    let options = RecurrentOptions { n_layers, bidirectional, dropout, bias, batch_first };
    let weights = tensors(&weights);
    let (x, lengths) = (x.tensor(), lengths.map(PyTensor::tensor));
    let h = state.as_ref().map(|(h, _)| h.tensor());
    let _here = here(py);
    let (output, h, c) = match mode {
        "LSTM" => {
            let made = if projected { nn::Lstm::of_projected(weights, options) } else { nn::Lstm::of(weights, options) };
            let mut layer = made.or_raise(py)?;
            layer.train(training);
            let given = match (h, state.as_ref().and_then(|(_, c)| c.as_deref())) {
                (Some(h), Some(c)) => Some((h, c.tensor())),
                (None, None) => None,
                _ => return Err(argument(py, "an LSTM's state of one tensor", "give a pair, `(h_0, c_0)`")),
            };
            let (output, (h, c)) = match lengths {
                Some(lengths) => layer.run_lengths(x, lengths, given),
                None => layer.run(x, given),
            };
            (output, h, Some(c))
        }
        "GRU" => {
            let mut layer = nn::Gru::of(weights, options).or_raise(py)?;
            layer.train(training);
            let (output, h) = match lengths {
                Some(lengths) => layer.run_lengths(x, lengths, h),
                None => layer.run(x, h),
            };
            (output, h, None)
        }
        _ => {
            let nonlinearity = if mode == "RNN_RELU" { Nonlinearity::Relu } else { Nonlinearity::Tanh };
            let mut layer = nn::Rnn::of(weights, nonlinearity, options).or_raise(py)?;
            layer.train(training);
            let (output, h) = match lengths {
                Some(lengths) => layer.run_lengths(x, lengths, h),
                None => layer.run(x, h),
            };
            (output, h, None)
        }
    };
    Ok((checked(py, output)?, checked(py, h)?, c.map(|c| checked(py, c)).transpose()?))
}

fn biases(py: Python<'_>, bias_ih: Option<&PyTensor>, bias_hh: Option<&PyTensor>) -> PyResult<Option<[Tensor; 2]>> {
    match (bias_ih, bias_hh) {
        (Some(ih), Some(hh)) => Ok(Some([ih.tensor().clone(), hh.tensor().clone()])),
        (None, None) => Ok(None),
        _ => Err(argument(py, "one of `bias_ih` and `bias_hh` without the other", "give both, or none")),
    }
}

/// The state after one step.
#[pyfunction]
#[pyo3(signature = (x, h, weight_ih, weight_hh, bias_ih, bias_hh, activation))]
#[expect(clippy::too_many_arguments, reason = "a cell's weights")]
pub(crate) fn rnn_cell(
    py: Python<'_>,
    x: &PyTensor,
    h: Option<&PyTensor>,
    weight_ih: &PyTensor,
    weight_hh: &PyTensor,
    bias_ih: Option<&PyTensor>,
    bias_hh: Option<&PyTensor>,
    activation: &str,
) -> PyResult<PyTensor> {
    let relu = nonlinearity(py, activation)? == Nonlinearity::Relu;
    let biases = biases(py, bias_ih, bias_hh)?;
    made(py, || {
        let cell = nn::RnnCell::of(weight_ih.tensor().clone(), weight_hh.tensor().clone(), biases);
        let cell = if relu { cell.relu() } else { cell };
        cell.step(x.tensor(), h.map(PyTensor::tensor))
    })
}

/// The state after one step.
#[pyfunction]
#[pyo3(signature = (x, h, weight_ih, weight_hh, bias_ih, bias_hh))]
pub(crate) fn gru_cell(
    py: Python<'_>,
    x: &PyTensor,
    h: Option<&PyTensor>,
    weight_ih: &PyTensor,
    weight_hh: &PyTensor,
    bias_ih: Option<&PyTensor>,
    bias_hh: Option<&PyTensor>,
) -> PyResult<PyTensor> {
    let biases = biases(py, bias_ih, bias_hh)?;
    made(py, || {
        let cell = nn::GruCell::of(weight_ih.tensor().clone(), weight_hh.tensor().clone(), biases);
        cell.step(x.tensor(), h.map(PyTensor::tensor))
    })
}

/// The states h and c after one step.
#[pyfunction]
#[pyo3(signature = (x, state, weight_ih, weight_hh, bias_ih, bias_hh))]
pub(crate) fn lstm_cell(
    py: Python<'_>,
    x: &PyTensor,
    state: Option<(PyRef<'_, PyTensor>, PyRef<'_, PyTensor>)>,
    weight_ih: &PyTensor,
    weight_hh: &PyTensor,
    bias_ih: Option<&PyTensor>,
    bias_hh: Option<&PyTensor>,
) -> PyResult<(PyTensor, PyTensor)> {
    let biases = biases(py, bias_ih, bias_hh)?;
    let _here = here(py);
    let cell = nn::LstmCell::of(weight_ih.tensor().clone(), weight_hh.tensor().clone(), biases);
    let (h, c) = cell.step(x.tensor(), state.as_ref().map(|(h, c)| (h.tensor(), c.tensor())));
    Ok((checked(py, h)?, checked(py, c)?))
}
