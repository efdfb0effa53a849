//! Transformer blocks (Vaswani et al., 2017) in PyTorch's parameters.
//!
//! In: sequences `[batch, length, size]`, and which positions see which. Out: sequences of the same shape.
//! Always: masks are PyTorch's: where a truth value is true, a key is *not* seen; numbers are added to scores.

use super::{Dropout, Layer, LayerNorm, Linear, MultiHeadAttention, checkpointed_by, is_checkpointing};
use crate::{Module, VisitorMut, init};
use unigrad_tensor::{AttentionOptions, DType, Device, Origin, Tensor};

/// Which keys a query does not see, as PyTorch's modules take it.
#[derive(Clone, Debug, Default)]
pub struct AttentionMasks {
    /// `[queries, keys]` or `[batch * heads, queries, keys]`: truth values (true: not seen), or numbers that are added to scores.
    pub attention: Option<Tensor>,
    /// `[batch, keys]`: truth values (true: a key of padding), or numbers that are added to scores.
    pub padding: Option<Tensor>,
    /// A query sees its own position and earlier ones.
    pub causal: bool,
}

impl AttentionMasks {
    /// Everything is seen.
    pub fn none() -> AttentionMasks {
        AttentionMasks::default()
    }

    /// Only positions up to the query's own are seen.
    pub fn causal() -> AttentionMasks {
        AttentionMasks { causal: true, ..AttentionMasks::default() }
    }

    /// Settings of attention with `heads` heads.
    #[track_caller]
    pub fn options(&self, heads: usize) -> AttentionOptions {
        let mut options = AttentionOptions { causal: self.causal, ..AttentionOptions::default() };
        let mut add = |x: Tensor| {
            if x.dtype() == DType::Bool {
                let seen = x.logical_not();
                options.mask = Some(options.mask.take().map_or(seen.clone(), |mask| mask.logical_and(&seen)));
            } else {
                options.bias = Some(options.bias.take().map_or(x.clone(), |bias| bias + &x));
            }
        };
        if let Some(mask) = &self.attention {
            add(if mask.rank() == 3 { mask.unflatten(0, [-1, heads.max(1) as i64]) } else { mask.clone() });
        }
        if let Some(mask) = &self.padding {
            add(mask.unsqueeze(1).unsqueeze(1));
        }
        options
    }
}

/// What a block's hidden layer does to its sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `x` times the normal distribution's cumulative function.
    Gelu,
}

impl Activation {
    #[track_caller]
    fn of(self, x: &Tensor) -> Tensor {
        match self {
            Activation::Relu => x.relu(),
            Activation::Gelu => x.gelu(),
        }
    }
}

/// Settings of transformer layers; the defaults are PyTorch's, but for sequences, which are `[batch, length, size]` here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerOptions {
    /// Features of a position.
    pub size: usize,
    /// Heads of attention.
    pub heads: usize,
    /// Features of the hidden layer.
    pub hidden: usize,
    /// The probability with which an element is dropped while training.
    pub dropout: f64,
    /// Of the hidden layer.
    pub activation: Activation,
    /// Normalize before a part instead of after it.
    pub norm_first: bool,
    /// Added to variances.
    pub eps: f64,
    /// With biases of attention, linear maps and norms.
    pub bias: bool,
}

impl TransformerOptions {
    /// `heads` heads over `size` features; a hidden layer of 2048, dropout of 0.1.
    pub fn new(size: usize, heads: usize) -> TransformerOptions {
        TransformerOptions {
            size,
            heads,
            hidden: 2048,
            dropout: 0.1,
            activation: Activation::Relu,
            norm_first: false,
            eps: 1e-5,
            bias: true,
        }
    }

    #[track_caller]
    fn norm(&self, device: &Device) -> LayerNorm {
        let norm = LayerNorm::new(self.size, device).eps(self.eps);
        if self.bias { norm } else { norm.no_bias() }
    }

    #[track_caller]
    fn attention(&self, device: &Device) -> MultiHeadAttention {
        let attention = MultiHeadAttention::new(self.size, self.heads, device).dropout(self.dropout);
        if self.bias { attention } else { attention.no_bias() }
    }

    /// Into the hidden layer, and out of it.
    #[track_caller]
    fn linear(&self, device: &Device) -> [Linear; 2] {
        [(self.size, self.hidden), (self.hidden, self.size)].map(|(inputs, outputs)| match self.bias {
            true => Linear::new(inputs, outputs, device),
            false => Linear::no_bias(inputs, outputs, device),
        })
    }
}

/// Attention of a sequence over itself, then two linear maps, each added to its input.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, TransformerEncoderLayer, TransformerOptions};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = TransformerOptions { hidden: 16, ..TransformerOptions::new(8, 2) };
/// let x = Tensor::ones([2, 5, 8], DType::F32, &device);
/// assert_eq!(TransformerEncoderLayer::new(options, &device).forward(&x).dims()?, [2, 5, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct TransformerEncoderLayer {
    /// Over the sequence itself.
    pub self_attn: MultiHeadAttention,
    /// Into the hidden layer.
    pub linear1: Linear,
    /// Out of it.
    pub linear2: Linear,
    /// Of attention.
    pub norm1: LayerNorm,
    /// Of the linear maps.
    pub norm2: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerEncoderLayer {
    /// A layer with random weights.
    #[track_caller]
    pub fn new(options: TransformerOptions, device: &Device) -> TransformerEncoderLayer {
        let _origin = Origin::enter_caller();
        let self_attn = options.attention(device);
        let [linear1, linear2] = options.linear(device);
        TransformerEncoderLayer {
            self_attn,
            linear1,
            linear2,
            norm1: options.norm(device),
            norm2: options.norm(device),
            dropout: Dropout::new(options.dropout),
            options,
        }
    }

    /// What the layer makes of `x` where not all positions are seen.
    #[track_caller]
    pub fn masked(&self, x: &Tensor, masks: &AttentionMasks) -> Tensor {
        let _origin = Origin::enter_caller();
        let attention = |x: &Tensor| self.dropout.forward(&self.self_attn.attend(x, x, x, &masks.options(self.options.heads)));
        let linear = |x: &Tensor| hidden(x, [&self.linear1, &self.linear2], self.options.activation, &self.dropout);
        let x = added(x, self.options.norm_first, &self.norm1, attention);
        added(&x, self.options.norm_first, &self.norm2, linear)
    }
}

impl Layer for TransformerEncoderLayer {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.masked(x, &AttentionMasks::none())
    }
}

/// Into the hidden layer and out of it.
#[track_caller]
fn hidden(x: &Tensor, [into, out]: [&Linear; 2], activation: Activation, dropout: &Dropout) -> Tensor {
    dropout.forward(&out.forward(&dropout.forward(&activation.of(&into.forward(x)))))
}

/// A part's result added to its input, normalized before or after.
#[track_caller]
fn added(x: &Tensor, norm_first: bool, norm: &LayerNorm, part: impl Fn(&Tensor) -> Tensor) -> Tensor {
    if norm_first { x + part(&norm.forward(x)) } else { norm.forward(&(x + part(x))) }
}

/// As an encoder's layer, with attention over an encoder's output between its parts.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AttentionMasks, TransformerDecoderLayer, TransformerOptions};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = TransformerOptions { hidden: 16, ..TransformerOptions::new(8, 2) };
/// let [x, memory] = [[2, 4, 8], [2, 5, 8]].map(|shape| Tensor::ones(shape, DType::F32, &device));
/// let y = TransformerDecoderLayer::new(options, &device).decode(&x, &memory, &AttentionMasks::causal(), &AttentionMasks::none());
/// assert_eq!(y.dims()?, [2, 4, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct TransformerDecoderLayer {
    /// Over the sequence itself.
    pub self_attn: MultiHeadAttention,
    /// Over the encoder's output.
    pub multihead_attn: MultiHeadAttention,
    /// Into the hidden layer.
    pub linear1: Linear,
    /// Out of it.
    pub linear2: Linear,
    /// Of attention over the sequence itself.
    pub norm1: LayerNorm,
    /// Of attention over the encoder's output.
    pub norm2: LayerNorm,
    /// Of the linear maps.
    pub norm3: LayerNorm,
    dropout: Dropout,
    #[module(skip)]
    options: TransformerOptions,
}

impl TransformerDecoderLayer {
    /// A layer with random weights.
    #[track_caller]
    pub fn new(options: TransformerOptions, device: &Device) -> TransformerDecoderLayer {
        let _origin = Origin::enter_caller();
        let (self_attn, multihead_attn) = (options.attention(device), options.attention(device));
        let [linear1, linear2] = options.linear(device);
        TransformerDecoderLayer {
            self_attn,
            multihead_attn,
            linear1,
            linear2,
            norm1: options.norm(device),
            norm2: options.norm(device),
            norm3: options.norm(device),
            dropout: Dropout::new(options.dropout),
            options,
        }
    }

    /// What the layer makes of `x` and an encoder's output `memory`; `masks` are of `x`, `memory_masks` of `memory`.
    #[track_caller]
    pub fn decode(&self, x: &Tensor, memory: &Tensor, masks: &AttentionMasks, memory_masks: &AttentionMasks) -> Tensor {
        let _origin = Origin::enter_caller();
        let (first, heads) = (self.options.norm_first, self.options.heads);
        let own = |x: &Tensor| self.dropout.forward(&self.self_attn.attend(x, x, x, &masks.options(heads)));
        let cross = |x: &Tensor| self.dropout.forward(&self.multihead_attn.attend(x, memory, memory, &memory_masks.options(heads)));
        let linear = |x: &Tensor| hidden(x, [&self.linear1, &self.linear2], self.options.activation, &self.dropout);
        let x = added(x, first, &self.norm1, own);
        let x = added(&x, first, &self.norm2, cross);
        added(&x, first, &self.norm3, linear)
    }
}

/// Encoder layers one after another, and a last norm where it is asked for.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{Layer, TransformerEncoder, TransformerOptions};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = TransformerOptions { hidden: 16, ..TransformerOptions::new(8, 2) };
/// let x = Tensor::ones([2, 5, 8], DType::F32, &device);
/// assert_eq!(TransformerEncoder::new(2, options, &device).forward(&x).dims()?, [2, 5, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct TransformerEncoder {
    /// In order.
    pub layers: Vec<TransformerEncoderLayer>,
    /// After the last layer; none unless asked for, as in PyTorch.
    pub norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// `n` layers, without a last norm.
    #[track_caller]
    pub fn new(n: usize, options: TransformerOptions, device: &Device) -> TransformerEncoder {
        let _origin = Origin::enter_caller();
        let layers = (0..n).map(|_| TransformerEncoderLayer::new(options, device)).collect();
        TransformerEncoder { layers, norm: None }
    }

    /// With a norm after the last layer, which layers that normalize first ([`TransformerOptions::norm_first`]) want.
    pub fn last_norm(mut self, norm: LayerNorm) -> TransformerEncoder {
        self.norm = Some(norm);
        self
    }

    /// Where not all positions are seen.
    #[track_caller]
    pub fn masked(&self, x: &Tensor, masks: &AttentionMasks) -> Tensor {
        let _origin = Origin::enter_caller();
        let x = self.layers.iter().fold(x.clone(), |x, layer| {
            if !is_checkpointing() {
                return layer.masked(&x, masks);
            }
            let masks = masks.clone();
            checkpointed_by(layer, &x, move |layer, x| layer.masked(x, &masks))
        });
        self.norm.as_ref().map_or(x.clone(), |norm| norm.forward(&x))
    }
}

impl Layer for TransformerEncoder {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        self.masked(x, &AttentionMasks::none())
    }
}

/// Decoder layers one after another, and a last norm where it is asked for.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AttentionMasks, TransformerDecoder, TransformerOptions};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = TransformerOptions { hidden: 16, ..TransformerOptions::new(8, 2) };
/// let [x, memory] = [[2, 4, 8], [2, 5, 8]].map(|shape| Tensor::ones(shape, DType::F32, &device));
/// let y = TransformerDecoder::new(2, options, &device).decode(&x, &memory, &AttentionMasks::causal(), &AttentionMasks::none());
/// assert_eq!(y.dims()?, [2, 4, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct TransformerDecoder {
    /// In order.
    pub layers: Vec<TransformerDecoderLayer>,
    /// After the last layer; none unless asked for, as in PyTorch.
    pub norm: Option<LayerNorm>,
}

impl TransformerDecoder {
    /// `n` layers, without a last norm.
    #[track_caller]
    pub fn new(n: usize, options: TransformerOptions, device: &Device) -> TransformerDecoder {
        let _origin = Origin::enter_caller();
        let layers = (0..n).map(|_| TransformerDecoderLayer::new(options, device)).collect();
        TransformerDecoder { layers, norm: None }
    }

    /// With a norm after the last layer, which layers that normalize first ([`TransformerOptions::norm_first`]) want.
    pub fn last_norm(mut self, norm: LayerNorm) -> TransformerDecoder {
        self.norm = Some(norm);
        self
    }

    /// See [`TransformerDecoderLayer::decode`].
    #[track_caller]
    pub fn decode(&self, x: &Tensor, memory: &Tensor, masks: &AttentionMasks, memory_masks: &AttentionMasks) -> Tensor {
        let _origin = Origin::enter_caller();
        let x = self.layers.iter().fold(x.clone(), |x, layer| {
            if !is_checkpointing() {
                return layer.decode(&x, memory, masks, memory_masks);
            }
            let (memory, masks, memory_masks) = (memory.clone(), masks.clone(), memory_masks.clone());
            checkpointed_by(layer, &x, move |layer, x| layer.decode(x, &memory, &masks, &memory_masks))
        });
        self.norm.as_ref().map_or(x.clone(), |norm| norm.forward(&x))
    }
}

/// Gives every parameter with more than one axis Glorot's uniform values.
struct GlorotMatrices<'a> {
    device: &'a Device,
}

impl VisitorMut for GlorotMatrices<'_> {
    #[track_caller]
    fn parameter(&mut self, _name: &str, tensor: &mut Tensor) {
        if tensor.rank() > 1 {
            *tensor = init::xavier_uniform(&tensor.shape(), 1.0, tensor.dtype(), self.device);
        }
    }
}

/// An encoder and a decoder that reads it, each with a last norm.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// use unigrad::nn::{AttentionMasks, Transformer, TransformerOptions};
/// use unigrad_tensor::{DType, Device, Tensor};
///
/// let device = Device::open("cpu")?;
/// let options = TransformerOptions { hidden: 16, ..TransformerOptions::new(8, 2) };
/// let [source, target] = [[2, 5, 8], [2, 4, 8]].map(|shape| Tensor::ones(shape, DType::F32, &device));
/// let (all, causal) = (AttentionMasks::none(), AttentionMasks::causal());
/// assert_eq!(Transformer::new(2, 1, options, &device).run(&source, &target, [&all, &causal, &all]).dims()?, [2, 4, 8]);
/// # Ok::<(), unigrad::Error>(())
/// ```
#[derive(Module, Clone)]
pub struct Transformer {
    /// Of the source.
    pub encoder: TransformerEncoder,
    /// Of the target.
    pub decoder: TransformerDecoder,
}

impl Transformer {
    /// `n_encoder` and `n_decoder` layers, whose matrices are Glorot's uniform ones ([`init::xavier_uniform`]), as in PyTorch.
    #[track_caller]
    pub fn new(n_encoder: usize, n_decoder: usize, options: TransformerOptions, device: &Device) -> Transformer {
        let _origin = Origin::enter_caller();
        let mut model = Transformer {
            encoder: TransformerEncoder::new(n_encoder, options, device).last_norm(options.norm(device)),
            decoder: TransformerDecoder::new(n_decoder, options, device).last_norm(options.norm(device)),
        };
        model.visit_mut(&mut GlorotMatrices { device });
        model
    }

    /// The decoder's output for a target, from a source; masks of the source, of the target, and of the source as the decoder sees it.
    #[track_caller]
    pub fn run(&self, source: &Tensor, target: &Tensor, masks: [&AttentionMasks; 3]) -> Tensor {
        let _origin = Origin::enter_caller();
        let memory = self.encoder.masked(source, masks[0]);
        self.decoder.decode(target, &memory, masks[1], masks[2])
    }
}
