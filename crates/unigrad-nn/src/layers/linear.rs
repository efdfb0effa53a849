//! `x @ weightᵀ + bias`.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{DType, Device, Tensor};

/// `x @ weightᵀ + bias` over the last axis.
#[derive(Module, Clone)]
pub struct Linear {
    /// `[out, in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// From `inputs` features to `outputs`, with a bias.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, device: &Device) -> Linear {
        let bias = Some(init::torch_default(&[outputs], inputs, DType::F32, device));
        Linear { bias, ..Linear::no_bias(inputs, outputs, device) }
    }

    /// Without a bias.
    #[track_caller]
    pub fn no_bias(inputs: usize, outputs: usize, device: &Device) -> Linear {
        Linear { weight: init::torch_default(&[outputs, inputs], inputs, DType::F32, device), bias: None }
    }
}

impl Layer for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Linear", Some(&self.weight), x.linear(&self.weight, self.bias.as_ref()))
    }
}
