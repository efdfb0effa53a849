//! Layers: modules with a forward pass. Names, shapes and initial values are PyTorch's.

mod activation;
mod attention;
mod checkpointed;
mod conv;
mod dropout;
mod embedding;
mod linear;
mod norm;
mod padding;
mod parametrized;
mod pool;
mod positions;
mod recurrent;
mod running;
mod sequential;
mod shape;
mod transformer;

pub use activation::{
    Celu, Elu, GeGlu, Gelu, GeluTanh, Glu, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyRelu, LogSigmoid, LogSoftmax, Mish, PRelu,
    RRelu, Relu, Relu6, Selu, Sigmoid, Silu, Softmax, Softmax2d, Softmin, Softplus, Softshrink, Softsign, SwiGlu, Tanh, Tanhshrink,
    Threshold,
};
pub use attention::MultiHeadAttention;
pub use checkpointed::{blocks_of, checkpointed, checkpointed_by, gradient_checkpointing, is_checkpointing};
pub use conv::{Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d};
pub use dropout::{AlphaDropout, Dropout, Dropout1d, Dropout2d, Dropout3d, FeatureAlphaDropout};
pub use embedding::{Embedding, EmbeddingBag};
pub use linear::{Bilinear, Linear, LinearCrossEntropyLoss};
pub use norm::{CrossMapLrn2d, GroupNorm, LayerNorm, LocalResponseNorm, RmsNorm};
pub use padding::{
    CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d, ConstantPad3d, ReflectionPad1d, ReflectionPad2d,
    ReflectionPad3d, ReplicationPad1d, ReplicationPad2d, ReplicationPad3d, ZeroPad1d, ZeroPad2d, ZeroPad3d,
};
pub use parametrized::{SpectralNorm, WeightNorm};
pub use pool::{
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d, AvgPool1d, AvgPool2d,
    AvgPool3d, LpPool1d, LpPool2d, LpPool3d, MaxPool1d, MaxPool2d, MaxPool3d, MaxUnpool1d, MaxUnpool2d, MaxUnpool3d,
};
pub use positions::{LearnedEncoding, RotaryEncoding, SinusoidalEncoding};
pub use recurrent::{Gru, GruCell, Lstm, LstmCell, Nonlinearity, RecurrentOptions, Rnn, RnnCell};
pub use running::{BatchNorm, InstanceNorm, SyncBatchNorm};
pub use sequential::Sequential;
pub use shape::{
    ChannelShuffle, CosineSimilarity, Flatten, Fold, Identity, PairwiseDistance, PixelShuffle, PixelUnshuffle, Residual, Unflatten, Unfold,
    Upsample, UpsamplingBilinear2d, UpsamplingNearest2d,
};
pub use transformer::{
    Activation, AttentionMasks, Transformer, TransformerDecoder, TransformerDecoderLayer, TransformerEncoder, TransformerEncoderLayer,
    TransformerOptions,
};

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
