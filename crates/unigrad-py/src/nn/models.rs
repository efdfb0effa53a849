//! How a language model's next token is chosen, for `unigrad.nn.models`.

use crate::{error::OrRaise, exit::Release, tensor::PyTensor};
use pyo3::prelude::*;
use unigrad::{Error, nn::models::Sampling};

/// A token by the logits of a row (the last axis), and a random number from 0 to below 1.
#[pyfunction]
#[pyo3(signature = (logits, row, uniform, temperature, top_k, top_p))]
pub(crate) fn choose_token(
    py: Python<'_>,
    logits: &PyTensor,
    row: usize,
    uniform: f64,
    temperature: f64,
    top_k: Option<usize>,
    top_p: Option<f64>,
) -> PyResult<usize> {
    let logits = logits.tensor();
    py.released(|| {
        let sampling = Sampling { temperature, top_k, top_p };
        sampling.check()?;
        let n_tokens = logits.shape().last().copied().unwrap_or(0);
        let all = logits.cast(unigrad::tensor::DType::F32).to_vec::<f32>()?;
        let own = all.chunks(n_tokens.max(1)).nth(row);
        let own = own.ok_or_else(|| Error::argument("a choice among no tokens", "give the logits of at least one token"))?;
        Ok::<_, Error>(sampling.choose_by(own, || uniform))
    })
    .or_raise(py)
}
