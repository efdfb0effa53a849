//! Kinds of layers, with their settings.
//!
//! In: names and settings, as files and builders have them. Out: a [`LayerKind`], which `kinds.rs` makes a layer of.
//! Always: names, settings and defaults are PyTorch's; shapes leave the batch out, and so do axes in words, though axis 0 is the batch.

use super::{
    LayerSpec,
    norms::{GroupNormSettings, InstanceNormSettings, LayerNormSettings, NormSettings, ResponseNormSettings, RmsNormSettings},
    pads::Pads,
    sequences::{
        AttentionSettings, EmbeddingBagSettings, EmbeddingSettings, RecurrentSettings, RnnSettings, RotaryLayout, TransformerSettings,
    },
    settings::{ConvSettings, ConvTransposeSettings, DenseSettings, LpPoolSettings, PoolSettings, UpsampleSettings, WindowSettings},
    sizes::Sizes,
    weights::{SpectralNormSettings, WeightNormSettings},
};
use serde::{Deserialize, Serialize};

/// What a layer is, with its settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LayerKind {
    /// A linear map of the last axis; PyTorch's `Linear`.
    #[serde(alias = "linear")]
    Dense(DenseSettings),
    /// A linear map of the last axis to as many numbers as the task needs: one for each class, or for each target. Only where data are at hand: in
    /// configuration files, and by [`super::NetworkBuilder::build_for`].
    Output,
    /// Convolution over `[channels, length]`.
    Conv1d(ConvSettings),
    /// Convolution over `[channels, height, width]`.
    Conv2d(ConvSettings),
    /// Convolution over `[channels, depth, height, width]`.
    Conv3d(ConvSettings),
    /// Transposed convolution over `[channels, length]`.
    ConvTranspose1d(ConvTransposeSettings),
    /// Transposed convolution over `[channels, height, width]`.
    ConvTranspose2d(ConvTransposeSettings),
    /// Transposed convolution over `[channels, depth, height, width]`.
    ConvTranspose3d(ConvTransposeSettings),
    /// Maxima of windows of `[channels, length]`.
    MaxPool1d(PoolSettings),
    /// Maxima of windows of `[channels, height, width]`.
    MaxPool2d(PoolSettings),
    /// Maxima of windows of `[channels, depth, height, width]`.
    MaxPool3d(PoolSettings),
    /// Averages of windows of `[channels, length]`.
    AvgPool1d(PoolSettings),
    /// Averages of windows of `[channels, height, width]`.
    AvgPool2d(PoolSettings),
    /// Averages of windows of `[channels, depth, height, width]`.
    AvgPool3d(PoolSettings),
    /// `(Σ x^p)^(1/p)` of windows of `[channels, length]`.
    LpPool1d(LpPoolSettings),
    /// `(Σ x^p)^(1/p)` of windows of `[channels, height, width]`.
    LpPool2d(LpPoolSettings),
    /// `(Σ x^p)^(1/p)` of windows of `[channels, depth, height, width]`.
    LpPool3d(LpPoolSettings),
    /// Maxima of as many regions as asked for.
    AdaptiveMaxPool1d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Maxima of as many regions as asked for.
    AdaptiveMaxPool2d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Maxima of as many regions as asked for.
    AdaptiveMaxPool3d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Averages of as many regions as asked for.
    AdaptiveAvgPool1d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Averages of as many regions as asked for.
    AdaptiveAvgPool2d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Averages of as many regions as asked for.
    AdaptiveAvgPool3d {
        /// Regions per axis.
        size: Sizes,
    },
    /// Normalizes channels (axis 1) over the batch; running statistics in use.
    #[serde(alias = "sync_batch_norm")]
    BatchNorm(NormSettings),
    /// Normalizes each channel of each example.
    InstanceNorm(InstanceNormSettings),
    /// Normalizes over the last axes.
    LayerNorm(LayerNormSettings),
    /// Normalizes groups of channels (axis 1).
    GroupNorm(GroupNormSettings),
    /// Divides the last axes by the root of their mean square.
    RmsNorm(RmsNormSettings),
    /// Normalizes over neighbouring channels.
    LocalResponseNorm(ResponseNormSettings),
    /// Normalizes over channels at both sides of each, of `[channels, height, width]`.
    #[serde(rename = "cross_map_lrn2d")]
    CrossMapLrn2d(ResponseNormSettings),
    /// Drops elements while training.
    Dropout {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// Drops channels of `[channels, length]` while training.
    Dropout1d {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// Drops channels of `[channels, height, width]` while training.
    Dropout2d {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// Drops channels of `[channels, depth, height, width]` while training.
    Dropout3d {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// Drops elements such that mean and variance stay, before `selu`.
    AlphaDropout {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// As `alpha_dropout`, of whole channels.
    FeatureAlphaDropout {
        /// The probability.
        #[serde(default = "half")]
        p: f64,
    },
    /// All axes from `start` to `end` become one; axis 0 is the batch.
    Flatten {
        /// The first.
        #[serde(default = "one_i")]
        start: isize,
        /// The last; negative: from the end.
        #[serde(default = "last")]
        end: isize,
    },
    /// One axis becomes several; axis 0 is the batch.
    Unflatten {
        /// Which.
        #[serde(default = "one_i")]
        axis: isize,
        /// Their sizes.
        sizes: Sizes,
    },
    /// Two axes change places; axis 0 is the batch.
    Transpose {
        /// One of them.
        a: isize,
        /// The other.
        b: isize,
    },
    /// The mean along an axis, which goes: over the steps of a sequence by default (axis 1).
    Mean {
        /// Which.
        #[serde(default = "one_i")]
        axis: isize,
    },
    /// The last step of a sequence: the last element of axis 1.
    Last,
    /// A vector for each token.
    Embedding(EmbeddingSettings),
    /// The mean, sum or maximum of the vectors of all tokens of a sequence `[length]`.
    EmbeddingBag(EmbeddingBagSettings),
    /// A recurrent network of the plain kind over `[length, features]`.
    Rnn(RnnSettings),
    /// Long short-term memory over `[length, features]`.
    Lstm(RecurrentSettings),
    /// Gated recurrent units over `[length, features]`.
    Gru(RecurrentSettings),
    /// Attention of a sequence `[length, features]` over itself.
    MultiheadAttention(AttentionSettings),
    /// Encoder layers of a transformer over `[length, features]`.
    TransformerEncoder(TransformerSettings),
    /// Adds sines and cosines of positions to `[length, features]`.
    SinusoidalEncoding {
        /// The longest sequence; that of the input by default.
        #[serde(default)]
        longest: Option<usize>,
        /// The probability with which an element is dropped while training.
        #[serde(default)]
        dropout: f64,
    },
    /// Rotates pairs of features by their position, of `[length, features]` (Su et al., 2021).
    RotaryEncoding {
        /// What angles are powers of.
        #[serde(default = "base")]
        base: f64,
        /// Which features pair up.
        #[serde(default)]
        layout: RotaryLayout,
    },
    /// Adds a learned vector for each position to `[length, features]`.
    LearnedEncoding {
        /// The longest sequence; that of the input by default.
        #[serde(default)]
        longest: Option<usize>,
    },
    /// Adds its input to what layers make of it (He et al., 2016).
    Residual {
        /// The layers.
        layers: Vec<LayerSpec>,
        /// What the input goes through before it is added, where shapes differ.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        shortcut: Vec<LayerSpec>,
    },
    /// A linear map or a convolution whose weight is a length times a direction (Salimans and Kingma, 2016).
    WeightNorm(WeightNormSettings),
    /// A linear map or a convolution whose weight is divided by its greatest singular value (Miyato et al., 2018).
    SpectralNorm(SpectralNormSettings),
    /// Another size of the spatial axes.
    Upsample(UpsampleSettings),
    /// `[c f², h, w]` to `[c, h f, w f]`.
    PixelShuffle {
        /// How much larger.
        factor: usize,
    },
    /// `[c, h f, w f]` to `[c f², h, w]`.
    PixelUnshuffle {
        /// How much smaller.
        factor: usize,
    },
    /// Channels of groups one after the other.
    ChannelShuffle {
        /// How many groups.
        groups: usize,
    },
    /// Windows of `[channels, height, width]` as columns: `[channels * kernel, windows]`.
    Unfold(WindowSettings),
    /// Columns `[channels * kernel, windows]` as the image that they are windows of; where they overlap, their sum.
    Fold {
        /// Height and width.
        size: Sizes,
        /// Of the windows.
        windows: WindowSettings,
    },
    /// A value around the spatial axes (all but the batch and the channels).
    ConstantPad {
        /// Before and after each axis.
        pad: Pads,
        /// Which.
        value: f64,
    },
    /// Zeros around the spatial axes (all but the batch and the channels).
    ZeroPad {
        /// Before and after each axis.
        pad: Pads,
    },
    /// The spatial axes mirrored at their ends.
    ReflectionPad {
        /// Before and after each axis.
        pad: Pads,
    },
    /// The ends of the spatial axes again and again.
    ReplicationPad {
        /// Before and after each axis.
        pad: Pads,
    },
    /// The spatial axes continued from their other ends.
    CircularPad {
        /// Before and after each axis.
        pad: Pads,
    },
    /// Its input.
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// `min(max(x, 0), 6)`.
    Relu6,
    /// `x` above 0, `slope * x` below.
    LeakyRelu {
        /// The factor below 0.
        #[serde(default = "leak")]
        slope: f64,
    },
    /// As `leaky_relu`, with a learned slope.
    Prelu {
        /// One for each channel (axis 1).
        #[serde(default)]
        per_channel: bool,
        /// What slopes begin with.
        #[serde(default = "quarter")]
        init: f64,
    },
    /// As `leaky_relu`, with a drawn slope while training.
    Rrelu {
        /// The least slope.
        #[serde(default = "eighth")]
        lower: f64,
        /// The greatest slope.
        #[serde(default = "third")]
        upper: f64,
    },
    /// `x` above 0, `alpha (exp(x) - 1)` below.
    Elu {
        /// The factor below 0.
        #[serde(default = "one_f")]
        alpha: f64,
    },
    /// `x` above 0, `alpha (exp(x / alpha) - 1)` below.
    Celu {
        /// How far below 0 it goes.
        #[serde(default = "one_f")]
        alpha: f64,
    },
    /// The activation that keeps mean and variance (Klambauer et al., 2017).
    Selu,
    /// `x` times the normal distribution's cumulative function.
    Gelu,
    /// `gelu` by its formula with a hyperbolic tangent.
    GeluTanh,
    /// `x sigmoid(x)`.
    #[serde(alias = "swish")]
    Silu,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// The logarithm of `sigmoid`.
    LogSigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `x - tanh(x)`.
    Tanhshrink,
    /// `x / (1 + |x|)`.
    Softsign,
    /// `log(1 + exp(beta x)) / beta`.
    Softplus {
        /// How sharp the bend is.
        #[serde(default = "one_f")]
        beta: f64,
        /// Above it, `beta x` counts as the result.
        #[serde(default = "twenty")]
        threshold: f64,
    },
    /// Toward 0 by `lambda`, and 0 within it.
    Softshrink {
        /// How far.
        #[serde(default = "half")]
        lambda: f64,
    },
    /// 0 within `lambda` of 0, else `x`.
    Hardshrink {
        /// How far.
        #[serde(default = "half")]
        lambda: f64,
    },
    /// `min(max(x, low), high)`.
    Hardtanh {
        /// The least value.
        #[serde(default = "minus_one")]
        low: f64,
        /// The greatest.
        #[serde(default = "one_f")]
        high: f64,
    },
    /// `x clamp(x + 3, 0, 6) / 6`.
    Hardswish,
    /// `clamp(x + 3, 0, 6) / 6`.
    Hardsigmoid,
    /// `x tanh(softplus(x))`.
    Mish,
    /// `x` above `threshold`, else `value`.
    Threshold {
        /// What is at most this is replaced.
        threshold: f64,
        /// What by.
        value: f64,
    },
    /// `exp(x) / sum(exp(x))` along an axis.
    Softmax {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
    /// `softmax` over the channels of `[channels, height, width]`.
    Softmax2d,
    /// `softmax` of `-x`.
    Softmin {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
    /// The logarithm of `softmax`.
    LogSoftmax {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
    /// One half of an axis times the sigmoid of the other.
    Glu {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
    /// `silu` of one half of an axis times the other.
    Swiglu {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
    /// `gelu` of one half of an axis times the other.
    Geglu {
        /// Negative: from the end.
        #[serde(default = "last")]
        axis: isize,
    },
}

impl LayerKind {
    /// A linear map of the last axis to `units` features, with a bias.
    pub fn dense(units: usize) -> LayerKind {
        LayerKind::Dense(DenseSettings { units, bias: true })
    }

    /// Layers whose result is added to their input.
    pub fn residual(layers: impl IntoIterator<Item = impl Into<LayerSpec>>) -> LayerKind {
        LayerKind::Residual { layers: layers.into_iter().map(Into::into).collect(), shortcut: Vec::new() }
    }

    /// Its name, as files have it.
    pub fn name(&self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            Ok(serde_json::Value::Object(entries)) => entries.keys().next().cloned().unwrap_or_default(),
            _ => String::new(),
        }
    }
}

pub(super) fn yes() -> bool {
    true
}

fn half() -> f64 {
    0.5
}

fn one_i() -> isize {
    1
}

fn one_f() -> f64 {
    1.0
}

fn last() -> isize {
    -1
}

fn base() -> f64 {
    10_000.0
}

fn minus_one() -> f64 {
    -1.0
}

fn twenty() -> f64 {
    20.0
}

fn quarter() -> f64 {
    0.25
}

fn eighth() -> f64 {
    1.0 / 8.0
}

fn third() -> f64 {
    1.0 / 3.0
}

fn leak() -> f64 {
    0.01
}

pub(super) fn eps() -> f64 {
    1e-5
}
