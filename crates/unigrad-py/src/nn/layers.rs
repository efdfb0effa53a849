//! Layers of one tensor: drops, norms with running statistics, and what the crates have as layers alone.

use crate::{
    arguments::Sizes,
    error::argument,
    tensor::{PyTensor, made},
};
use pyo3::prelude::*;
use unigrad::{
    nn::{self, Layer, Module},
    tensor::{PoolOptions, RopeLayout, Tensor},
};

fn owned(tensor: Option<&PyTensor>) -> Option<Tensor> {
    tensor.map(|tensor| tensor.tensor().clone())
}

/// Each element is 0 with probability `p`, else divided by `1 - p`.
#[pyfunction]
pub(crate) fn dropout(py: Python<'_>, x: &PyTensor, p: f64) -> PyResult<PyTensor> {
    made(py, || nn::Dropout::new(p).forward(x.tensor()))
}

/// As `dropout`, of channels whole, in tensors of so many spatial axes.
#[pyfunction]
pub(crate) fn dropout_channels(py: Python<'_>, x: &PyTensor, p: f64, axes: usize) -> PyResult<PyTensor> {
    made(py, || match axes {
        1 => nn::Dropout1d::new(p).forward(x.tensor()),
        2 => nn::Dropout2d::new(p).forward(x.tensor()),
        _ => nn::Dropout3d::new(p).forward(x.tensor()),
    })
}

/// Drops to where SELU saturates, such that mean and variance stay; with `features`, channels whole.
#[pyfunction]
pub(crate) fn alpha_dropout(py: Python<'_>, x: &PyTensor, p: f64, features: bool) -> PyResult<PyTensor> {
    made(py, || match features {
        false => nn::AlphaDropout::new(p).forward(x.tensor()),
        true => nn::FeatureAlphaDropout::new(p).forward(x.tensor()),
    })
}

/// Leaky ReLU with slopes that are drawn while training.
#[pyfunction]
pub(crate) fn rrelu(py: Python<'_>, x: &PyTensor, lower: f64, upper: f64, training: bool) -> PyResult<PyTensor> {
    made(py, || {
        let mut layer = nn::RRelu::new(lower, upper);
        layer.train(training);
        layer.forward(x.tensor())
    })
}

/// Both running statistics, or none.
fn running(py: Python<'_>, mean: Option<&PyTensor>, var: Option<&PyTensor>) -> PyResult<Option<[Tensor; 2]>> {
    match (mean, var) {
        (Some(mean), Some(var)) => Ok(Some([mean.tensor().clone(), var.tensor().clone()])),
        (None, None) => Ok(None),
        _ => Err(argument(py, "one of `running_mean` and `running_var` without the other", "give both, or none")),
    }
}

/// Batch norm by the batch's statistics, which move the running ones, or by the running ones.
#[pyfunction]
#[pyo3(signature = (x, running_mean, running_var, weight, bias, count, training, momentum, eps))]
#[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
pub(crate) fn batch_norm(
    py: Python<'_>,
    x: &PyTensor,
    running_mean: Option<&PyTensor>,
    running_var: Option<&PyTensor>,
    weight: Option<&PyTensor>,
    bias: Option<&PyTensor>,
    count: Option<&PyTensor>,
    training: bool,
    momentum: Option<f64>,
    eps: f64,
) -> PyResult<PyTensor> {
    let running = running(py, running_mean, running_var)?;
    made(py, || {
        let mut layer = nn::BatchNorm::of(owned(weight), owned(bias), running, owned(count)).momentum(momentum);
        layer.eps = eps;
        layer.train(training);
        layer.forward(x.tensor())
    })
}

/// Instance norm by each example's statistics, which move the running ones if there are some, or by the running ones.
#[pyfunction]
#[pyo3(signature = (x, running_mean, running_var, weight, bias, training, momentum, eps))]
#[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
pub(crate) fn instance_norm(
    py: Python<'_>,
    x: &PyTensor,
    running_mean: Option<&PyTensor>,
    running_var: Option<&PyTensor>,
    weight: Option<&PyTensor>,
    bias: Option<&PyTensor>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> PyResult<PyTensor> {
    let running = running(py, running_mean, running_var)?;
    made(py, || {
        let channels = x.tensor().shape().get(1).copied().unwrap_or(0); // DEFAULT: what has no channels is refused by the op
        let mut layer = nn::InstanceNorm::of(channels, owned(weight), owned(bias), running);
        (layer.momentum, layer.eps) = (momentum, eps);
        layer.train(training);
        layer.forward(x.tensor())
    })
}

/// PyTorch's response normalization over the channels of images.
#[pyfunction]
pub(crate) fn cross_map_lrn2d(py: Python<'_>, x: &PyTensor, size: usize, alpha: f64, beta: f64, k: f64) -> PyResult<PyTensor> {
    made(py, || nn::CrossMapLrn2d { alpha, beta, k, ..nn::CrossMapLrn2d::new(size) }.forward(x.tensor()))
}

/// The p-norm of each window over so many spatial axes.
#[pyfunction]
#[pyo3(signature = (x, axes, norm_type, kernel_size, stride=None, ceil_mode=false))]
pub(crate) fn lp_pool(
    py: Python<'_>,
    x: &PyTensor,
    axes: usize,
    norm_type: f64,
    kernel_size: Sizes,
    stride: Option<Sizes>,
    ceil_mode: bool,
) -> PyResult<PyTensor> {
    let stride = stride.map_or_else(Vec::new, |stride| stride.0);
    let options = PoolOptions { kernel: kernel_size.0, stride, ceil_mode, ..PoolOptions::new(1) };
    let p = norm_type;
    made(py, || match axes {
        1 => nn::LpPool1d { p, options }.forward(x.tensor()),
        2 => nn::LpPool2d { p, options }.forward(x.tensor()),
        _ => nn::LpPool3d { p, options }.forward(x.tensor()),
    })
}

/// Features rotated by their positions.
#[pyfunction]
#[pyo3(signature = (x, positions, base, interleaved))]
pub(crate) fn rope_at(py: Python<'_>, x: &PyTensor, positions: Option<&PyTensor>, base: f64, interleaved: bool) -> PyResult<PyTensor> {
    let features = x.tensor().shape().last().copied().unwrap_or(0); // DEFAULT: what has no features is refused by the op
    let layout = if interleaved { RopeLayout::Interleaved } else { RopeLayout::HalfSplit };
    let layer = nn::RotaryEncoding { base, layout, ..nn::RotaryEncoding::new(features) };
    made(py, || match positions {
        Some(positions) => layer.at(x.tensor(), positions.tensor()),
        None => layer.forward(x.tensor()),
    })
}

/// Whether a run asks blocks of layers to be computed again.
#[pyfunction]
pub(crate) fn is_checkpointing() -> bool {
    nn::is_checkpointing()
}
