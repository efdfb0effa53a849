//! Layers: modules with a forward pass. Names, shapes and initial values are PyTorch's.

mod activation;
mod attention;
mod conv;
mod dropout;
mod embedding;
mod linear;
mod norm;
mod pool;
mod recurrent;
mod sequential;

pub use activation::{Elu, Gelu, Hardswish, LeakyRelu, Mish, Relu, Sigmoid, Silu, Softmax, Softplus, Tanh};
pub use attention::MultiHeadAttention;
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use dropout::Dropout;
pub use embedding::Embedding;
pub use linear::Linear;
pub use norm::{BatchNorm, GroupNorm, LayerNorm, RmsNorm};
pub use pool::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d, AvgPool2d,
    AvgPool3d, Flatten, MaxPool1d, MaxPool2d, MaxPool3d,
};
pub use recurrent::{Gru, Lstm};
pub use sequential::Sequential;

use crate::Module;
use unigrad_tensor::Tensor;

/// A module from one tensor to another.
pub trait Layer: Module {
    /// What the layer makes of `x`.
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor;
}

impl<L: Layer + ?Sized> Layer for Box<L> {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        (**self).forward(x)
    }
}
