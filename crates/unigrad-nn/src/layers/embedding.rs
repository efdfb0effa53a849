//! A vector per token.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{DType, Device, Tensor};

/// A row of the weight per index.
#[derive(Module, Clone)]
pub struct Embedding {
    /// `[n, size]`.
    pub weight: Tensor,
}

impl Embedding {
    /// `n` vectors of `size` features.
    #[track_caller]
    pub fn new(n: usize, size: usize, device: &Device) -> Embedding {
        Embedding { weight: init::normal(&[n, size], 1.0, DType::F32, device) }
    }
}

impl Layer for Embedding {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Embedding", Some(&self.weight), self.weight.embedding(x))
    }
}
