//! Linear maps of one input and of two.

use super::Layer;
use crate::{Module, init, trace};
use unigrad_tensor::{Device, Tensor};

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
        let bias = Some(init::torch_default(&[outputs], inputs, init::dtype(), device));
        Linear { bias, ..Linear::no_bias(inputs, outputs, device) }
    }

    /// Without a bias.
    #[track_caller]
    pub fn no_bias(inputs: usize, outputs: usize, device: &Device) -> Linear {
        Linear { weight: init::torch_default(&[outputs, inputs], inputs, init::dtype(), device), bias: None }
    }
}

impl Layer for Linear {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        trace::observe("Linear", Some(&self.weight), x.linear(&self.weight, self.bias.as_ref()))
    }
}

/// `x_i · weight_k · y_j` for each output `k`, and a bias, over the last axes of two inputs.
#[derive(Module, Clone)]
pub struct Bilinear {
    /// `[out, in, other in]`.
    pub weight: Tensor,
    /// `[out]`.
    pub bias: Option<Tensor>,
}

impl Bilinear {
    /// From `inputs` and `others` features to `outputs`, with a bias.
    #[track_caller]
    pub fn new(inputs: usize, others: usize, outputs: usize, device: &Device) -> Bilinear {
        Bilinear {
            weight: init::torch_default(&[outputs, inputs, others], inputs, init::dtype(), device),
            bias: Some(init::torch_default(&[outputs], inputs, init::dtype(), device)),
        }
    }

    /// Without a bias.
    pub fn no_bias(mut self) -> Bilinear {
        self.bias = None;
        self
    }

    /// Of two tensors that have all axes but the last alike.
    #[track_caller]
    pub fn forward(&self, x: &Tensor, other: &Tensor) -> Tensor {
        trace::observe("Bilinear", Some(&self.weight), x.bilinear(other, &self.weight, self.bias.as_ref()))
    }
}
