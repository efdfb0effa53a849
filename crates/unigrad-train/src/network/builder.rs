//! Networks layer by layer, in code.
//!
//! In: the shape of an input, layers in order, a loss. Out: a [`Network`], or an error that names the layer that does not fit.
//! Always: what methods add is a description ([`LayerSpec`]), the same that files have; nothing is computed before `build`.

use super::{
    Architecture, Network,
    kind::LayerKind,
    loss::LossSpec,
    norms::{GroupNormSettings, InstanceNormSettings, LayerNormSettings, NormSettings},
    sequences::{AttentionSettings, EmbeddingBagSettings, EmbeddingSettings, RecurrentSettings, RnnSettings, TransformerSettings},
    settings::{ConvSettings, DenseSettings, PoolSettings},
    sizes::Sizes,
    spec::LayerSpec,
};
use unigrad_nn::{Error, Result};
use unigrad_tensor::Device;

/// A network to be; see [`Network::with_input`].
#[derive(Clone, Debug, PartialEq)]
#[must_use = "`build` makes the network"]
pub struct NetworkBuilder {
    input: Vec<usize>,
    layers: Vec<LayerSpec>,
    loss: LossSpec,
    seed: Option<u64>,
}

macro_rules! simple {
    ($($name:ident, $kind:expr, $doc:literal;)*) => { $(
        #[doc = $doc]
        pub fn $name(self) -> NetworkBuilder {
            self.layer($kind)
        }
    )* };
}

impl NetworkBuilder {
    pub(super) fn new(input: Vec<usize>) -> NetworkBuilder {
        NetworkBuilder { input, layers: Vec::new(), loss: LossSpec::default(), seed: None }
    }

    /// Adds a layer of any kind.
    pub fn layer(mut self, layer: impl Into<LayerSpec>) -> NetworkBuilder {
        self.layers.push(layer.into());
        self
    }

    /// Adds layers.
    pub fn layers(mut self, layers: impl IntoIterator<Item = impl Into<LayerSpec>>) -> NetworkBuilder {
        self.layers.extend(layers.into_iter().map(Into::into));
        self
    }

    /// Names the last layer: its parameters are `name.weight`, not `3.weight`.
    pub fn named(mut self, name: impl Into<String>) -> NetworkBuilder {
        if let Some(last) = self.layers.last_mut() {
            last.name = Some(name.into());
        }
        self
    }

    /// A linear map of the last axis to `units` features, with a bias.
    pub fn dense(self, units: usize) -> NetworkBuilder {
        self.layer(LayerKind::Dense(DenseSettings { units, bias: true }))
    }

    /// Convolution over `[channels, length]` to `channels` channels, without padding.
    pub fn conv1d(self, channels: usize, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::Conv1d(ConvSettings::new(channels, kernel)))
    }

    /// Convolution over `[channels, height, width]` to `channels` channels, without padding. With more settings: `layer(LayerKind::Conv2d(..))`.
    pub fn conv2d(self, channels: usize, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::Conv2d(ConvSettings::new(channels, kernel)))
    }

    /// Convolution over `[channels, depth, height, width]` to `channels` channels, without padding.
    pub fn conv3d(self, channels: usize, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::Conv3d(ConvSettings::new(channels, kernel)))
    }

    /// Maxima of windows of `[channels, length]`, side by side.
    pub fn max_pool1d(self, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::MaxPool1d(PoolSettings::new(kernel)))
    }

    /// Maxima of windows of `[channels, height, width]`, side by side.
    pub fn max_pool2d(self, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::MaxPool2d(PoolSettings::new(kernel)))
    }

    /// Maxima of windows of `[channels, depth, height, width]`, side by side.
    pub fn max_pool3d(self, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::MaxPool3d(PoolSettings::new(kernel)))
    }

    /// Averages of windows of `[channels, height, width]`, side by side.
    pub fn avg_pool2d(self, kernel: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::AvgPool2d(PoolSettings::new(kernel)))
    }

    /// Averages of as many regions of `[channels, height, width]` as asked for: of 1, of the whole.
    pub fn adaptive_avg_pool2d(self, size: impl Into<Sizes>) -> NetworkBuilder {
        self.layer(LayerKind::AdaptiveAvgPool2d { size: size.into() })
    }

    /// Drops elements with probability `p` while training.
    pub fn dropout(self, p: f64) -> NetworkBuilder {
        self.layer(LayerKind::Dropout { p })
    }

    /// A vector of `size` features for each of `tokens` tokens.
    pub fn embedding(self, tokens: usize, size: usize) -> NetworkBuilder {
        self.layer(LayerKind::Embedding(EmbeddingSettings::new(tokens, size)))
    }

    /// The mean of the vectors of `size` features of all tokens of a sequence `[length]`, of `tokens` tokens.
    pub fn embedding_bag(self, tokens: usize, size: usize) -> NetworkBuilder {
        self.layer(LayerKind::EmbeddingBag(EmbeddingBagSettings::new(tokens, size)))
    }

    /// A recurrent network of the plain kind over `[length, features]`, with the hyperbolic tangent; the states of all steps.
    pub fn rnn(self, hidden: usize) -> NetworkBuilder {
        self.layer(LayerKind::Rnn(RnnSettings::new(hidden)))
    }

    /// Long short-term memory over `[length, features]`; the states of all steps.
    pub fn lstm(self, hidden: usize) -> NetworkBuilder {
        self.layer(LayerKind::Lstm(RecurrentSettings::new(hidden)))
    }

    /// Gated recurrent units over `[length, features]`; the states of all steps.
    pub fn gru(self, hidden: usize) -> NetworkBuilder {
        self.layer(LayerKind::Gru(RecurrentSettings::new(hidden)))
    }

    /// Attention of a sequence `[length, features]` over itself, by `heads` heads.
    pub fn multihead_attention(self, heads: usize) -> NetworkBuilder {
        self.layer(LayerKind::MultiheadAttention(AttentionSettings::new(heads)))
    }

    /// Normalizes `groups` groups of channels (axis 1).
    pub fn group_norm(self, groups: usize) -> NetworkBuilder {
        self.layer(LayerKind::GroupNorm(GroupNormSettings::new(groups)))
    }

    /// Encoder layers of a transformer over `[length, features]`.
    pub fn transformer_encoder(self, settings: TransformerSettings) -> NetworkBuilder {
        self.layer(LayerKind::TransformerEncoder(settings))
    }

    /// What layers make of an input, added to it: `|block| block.dense(64).relu()`.
    pub fn residual(self, block: impl FnOnce(NetworkBuilder) -> NetworkBuilder) -> NetworkBuilder {
        let block = block(NetworkBuilder::new(Vec::new()));
        self.layer(LayerKind::Residual { layers: block.layers, shortcut: Vec::new() })
    }

    /// The mean over an axis; axis 1 is a sequence's time.
    pub fn mean(self, axis: isize) -> NetworkBuilder {
        self.layer(LayerKind::Mean { axis })
    }

    simple! {
        batch_norm, LayerKind::BatchNorm(NormSettings::default()), "Normalizes channels over the batch.";
        instance_norm, LayerKind::InstanceNorm(InstanceNormSettings::default()), "Normalizes each channel of each example.";
        layer_norm, LayerKind::LayerNorm(LayerNormSettings::default()), "Normalizes the last axis.";
        flatten, LayerKind::Flatten { start: 1, end: -1 }, "All axes but the batch become one.";
        last, LayerKind::Last, "The last step of a sequence.";
        sinusoidal_encoding, LayerKind::SinusoidalEncoding { longest: None, dropout: 0.0 }, "Adds sines and cosines of positions to `[length, features]`.";
        relu, LayerKind::Relu, "`max(x, 0)`.";
        leaky_relu, LayerKind::LeakyRelu { slope: 0.01 }, "`x` above 0, `0.01 x` below.";
        gelu, LayerKind::Gelu, "`x` times the normal distribution's cumulative function.";
        silu, LayerKind::Silu, "`x sigmoid(x)`.";
        elu, LayerKind::Elu { alpha: 1.0 }, "`x` above 0, `exp(x) - 1` below.";
        selu, LayerKind::Selu, "The activation that keeps mean and variance.";
        tanh, LayerKind::Tanh, "The hyperbolic tangent.";
        sigmoid, LayerKind::Sigmoid, "`1 / (1 + exp(-x))`.";
        log_softmax, LayerKind::LogSoftmax { axis: -1 }, "Logarithms of probabilities, for the loss `nll`.";
    }

    /// What it is trained for; cross-entropy unless told otherwise.
    pub fn loss(mut self, loss: LossSpec) -> NetworkBuilder {
        self.loss = loss;
        self
    }

    /// Initial values that depend on this number alone, and leave the process's random numbers ([`unigrad_tensor::manual_seed`]) as they are.
    pub fn seed(mut self, seed: u64) -> NetworkBuilder {
        self.seed = Some(seed);
        self
    }

    /// The description, as files have it.
    pub fn architecture(&self) -> Architecture {
        Architecture { input: self.input.clone(), layers: self.layers.clone(), loss: self.loss.clone() }
    }

    /// The network, on the best device.
    ///
    /// An error if there are no layers, or one does not fit: it names the layer, its position, its input's shape and its own.
    #[track_caller]
    pub fn build(self) -> Result<Network> {
        self.build_on(&Device::best()?)
    }

    /// The network, on a device; see [`NetworkBuilder::build`].
    #[track_caller]
    pub fn build_on(self, device: &Device) -> Result<Network> {
        Network::from_architecture(self.architecture(), self.seed, device)
    }

    /// The network, where [`LayerKind::Output`] has a unit for each of `n` classes or targets.
    #[track_caller]
    pub fn build_for(mut self, n: usize, device: &Device) -> Result<Network> {
        resolve_output(&mut self.layers, n)?;
        self.build_on(device)
    }
}

/// Gives the output layer its units.
pub(crate) fn resolve_output(layers: &mut [LayerSpec], n: usize) -> Result<()> {
    if n == 0 {
        return Err(Error::argument("a network with an output of 0 units", "give data with at least one class or target"));
    }
    for layer in layers {
        let kind = match &mut layer.kind {
            LayerKind::WeightNorm(norm) => &mut norm.layer.kind,
            LayerKind::SpectralNorm(norm) => &mut norm.layer.kind,
            kind => kind,
        };
        if *kind == LayerKind::Output {
            *kind = LayerKind::dense(n);
        }
    }
    Ok(())
}

/// Gives embeddings without a number of tokens those of the data.
pub(crate) fn resolve_tokens(layers: &mut [LayerSpec], n: Option<usize>) {
    for layer in layers {
        let tokens = match &mut layer.kind {
            LayerKind::Embedding(settings) => &mut settings.tokens,
            LayerKind::EmbeddingBag(settings) => &mut settings.tokens,
            _ => continue,
        };
        if let (0, Some(n)) = (*tokens, n) {
            *tokens = n;
        }
    }
}
