//! Multi-head attention with PyTorch's parameters.

use super::{Layer, Linear};
use crate::{Module, init, trace};
use unigrad_tensor::{AttentionOptions, Device, Origin, Tensor};

/// Attention over several heads: one matrix projects queries, keys and values. Sequences are `[batch, length, size]`.
#[derive(Module, Clone)]
#[module(on_mode = "set_training")]
pub struct MultiHeadAttention {
    /// `[3 size, size]`.
    pub in_proj_weight: Tensor,
    /// `[3 size]`.
    pub in_proj_bias: Option<Tensor>,
    /// Of the heads together.
    pub out_proj: Linear,
    /// How many heads.
    pub n_heads: usize,
    /// The probability with which a weight is dropped while training.
    pub dropout: f64,
    training: bool,
}

impl MultiHeadAttention {
    /// `n_heads` heads over `size` features, with biases.
    #[track_caller]
    pub fn new(size: usize, n_heads: usize, device: &Device) -> MultiHeadAttention {
        let mut out_proj = Linear::new(size, size, device);
        out_proj.bias = Some(init::constant(&[size], 0.0, init::dtype(), device));
        MultiHeadAttention {
            in_proj_weight: init::xavier_uniform(&[3 * size, size], 1.0, init::dtype(), device),
            in_proj_bias: Some(init::constant(&[3 * size], 0.0, init::dtype(), device)),
            out_proj,
            n_heads,
            dropout: 0.0,
            training: true,
        }
    }

    /// Without biases.
    pub fn no_bias(mut self) -> MultiHeadAttention {
        (self.in_proj_bias, self.out_proj.bias) = (None, None);
        self
    }

    /// With dropout of attention weights.
    pub fn dropout(mut self, p: f64) -> MultiHeadAttention {
        self.dropout = p;
        self
    }

    fn set_training(&mut self, training: bool) {
        self.training = training;
    }

    /// Attention of `query` over `key` and `value`; `options` may ask for causality, a mask or a bias.
    #[track_caller]
    pub fn attend(&self, query: &Tensor, key: &Tensor, value: &Tensor, options: &AttentionOptions) -> Tensor {
        let _origin = Origin::enter_caller();
        let size = self.in_proj_weight.shape().last().copied().unwrap_or(0);
        let part = |i: usize| {
            let bias = self.in_proj_bias.as_ref().map(|b| b.narrow(0, i * size, size));
            (self.in_proj_weight.narrow(0, i * size, size), bias)
        };
        let (q, k, v) = if query.same(key) && key.same(value) {
            let all = query.linear(&self.in_proj_weight, self.in_proj_bias.as_ref());
            (all.narrow(-1, 0, size), all.narrow(-1, size, size), all.narrow(-1, 2 * size, size))
        } else {
            let project = |x: &Tensor, i| {
                let (weight, bias) = part(i);
                x.linear(&weight, bias.as_ref())
            };
            (project(query, 0), project(key, 1), project(value, 2))
        };
        let heads = |x: &Tensor| x.unflatten(-1, [self.n_heads, size / self.n_heads.max(1)]).transpose(1, 2);
        let dropout = if self.training { self.dropout } else { options.dropout };
        let options = AttentionOptions { dropout, ..options.clone() };
        let attended = heads(&q).attention(&heads(&k), &heads(&v), &options).transpose(1, 2).flatten(2, 3);
        self.out_proj.forward(&trace::observe("MultiHeadAttention", Some(&self.in_proj_weight), attended))
    }
}

impl Layer for MultiHeadAttention {
    /// Attention of a sequence over itself.
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.attend(x, x, x, &AttentionOptions::default())
    }
}
