//! Attention over several heads, with PyTorch's masks.

use crate::{
    error::argument,
    origin::here,
    tensor::{PyTensor, checked},
};
use pyo3::prelude::*;
use unigrad::{
    nn::{AttentionMasks, Linear, Module, MultiHeadAttention},
    tensor::Tensor,
};

/// Attention of `query` over `key` and `value`, `[batch, length, size]` or one sequence; with `need_weights` also the weights, else `None`. `weights` are
/// those of PyTorch's module, by name: a missing one is `None`.
#[pyfunction]
#[pyo3(signature = (query, key, value, n_heads, weights, dropout, add_zero_attn, training, key_padding_mask, attn_mask, is_causal, need_weights,
    average_attn_weights))]
#[expect(clippy::too_many_arguments, reason = "as PyTorch's")]
pub(crate) fn multi_head_attention(
    py: Python<'_>,
    query: &PyTensor,
    key: &PyTensor,
    value: &PyTensor,
    n_heads: usize,
    weights: [Option<PyRef<'_, PyTensor>>; 9],
    dropout: f64,
    add_zero_attn: bool,
    training: bool,
    key_padding_mask: Option<&PyTensor>,
    attn_mask: Option<&PyTensor>,
    is_causal: bool,
    need_weights: bool,
    average_attn_weights: bool,
) -> PyResult<(PyTensor, Option<PyTensor>)> {
    let [in_proj_weight, q, k, v, in_proj_bias, bias_k, bias_v, out_weight, out_bias] =
        weights.map(|weight| weight.map(|weight| weight.tensor().clone()));
    let Some(out_weight) = out_weight else {
        return Err(argument(py, "attention without `out_proj.weight`", "give the module its output's projection"));
    };
    let size = out_weight.shape().last().copied().unwrap_or(0); // DEFAULT: what is no matrix is refused by the product
    if n_heads == 0 || size % n_heads != 0 {
        return Err(argument(py, format!("{n_heads} heads for {size} features"), "give a number of heads that divides the features"));
    }
    let mut layer = MultiHeadAttention::of(size, n_heads, Linear { weight: out_weight, bias: out_bias });
    (layer.in_proj_weight, layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight) = (in_proj_weight, q, k, v);
    (layer.in_proj_bias, layer.bias_k, layer.bias_v) = (in_proj_bias, bias_k, bias_v);
    (layer.dropout, layer.add_zero_attn) = (dropout, add_zero_attn);
    layer.train(training);
    let _here = here(py);
    let mask = |given: Option<&PyTensor>| given.map(|given| given.tensor().clone());
    let single = query.tensor().rank() == 2;
    // Of one sequence, `[heads, queries, keys]` stands for each head.
    let masks = AttentionMasks {
        attention: mask(attn_mask),
        padding: mask(key_padding_mask).map(|mask| if single { mask.unsqueeze(0) } else { mask }),
        causal: is_causal && attn_mask.is_none(),
    };
    let options = masks.options(n_heads);
    let (query, key, value): (&Tensor, &Tensor, &Tensor) = (query.tensor(), key.tensor(), value.tensor());
    if need_weights {
        let (output, weights) = layer.attend_with_weights(query, key, value, &options, average_attn_weights);
        return Ok((checked(py, output)?, Some(checked(py, weights)?)));
    }
    Ok((checked(py, layer.attend(query, key, value, &options))?, None))
}
