//! GPT-2 as trainers write it: layer norms and linear layers with biases, tanh GELU, the head tied to the embedding.
//!
//! Always: parameters are in the order of `Gpt` in `scripts/torch_rows.py`, whose losses a test compares.

use super::{Network, uniform_tokens};
use unigrad_device::Device;
use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{AttentionOptions, DType, Result, Tensor, no_grad};

/// Sizes of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) width: usize,
    pub(crate) context: usize,
    pub(crate) vocabulary: usize,
    /// Tokens that occur: the vocabulary is rounded up.
    pub(crate) tokens: usize,
}

/// The smallest GPT-2. The vocabulary is 50,257, rounded up to a multiple of 128 as trainers do.
pub(crate) const SMALL: Sizes = Sizes { layers: 12, heads: 12, width: 768, context: 1024, vocabulary: 50_304, tokens: 50_257 };

impl Sizes {
    pub(crate) fn parameters(&self) -> f64 {
        let Sizes { layers, width, context, vocabulary, .. } = *self;
        let of_block = 12 * width * width + 13 * width;
        (layers * of_block + 2 * width + (vocabulary + context) * width) as f64
    }

    /// Floating-point operations of a training step over so many sequences: six a parameter and token, and twelve a layer, feature and pair of tokens, as
    /// is usual (causal attention is counted whole).
    pub(crate) fn step_flops(&self, batch: usize) -> f64 {
        let pairs = (12 * self.layers * self.width * self.context) as f64;
        (6.0 * self.parameters() + pairs) * (batch * self.context) as f64
    }
}

#[derive(Module)]
#[module(crate = "unigrad_nn")]
struct Block {
    norm1: nn::LayerNorm,
    norm2: nn::LayerNorm,
    qkv: nn::Linear,
    out: nn::Linear,
    up: nn::Linear,
    down: nn::Linear,
    heads: usize,
}

impl Block {
    fn new(width: usize, heads: usize, device: &Device) -> Block {
        let linear = |inputs, outputs| nn::Linear::new(inputs, outputs, device);
        Block {
            norm1: nn::LayerNorm::new(width, device),
            norm2: nn::LayerNorm::new(width, device),
            qkv: linear(width, 3 * width),
            out: linear(width, width),
            up: linear(width, 4 * width),
            down: linear(4 * width, width),
            heads,
        }
    }

    fn forward(&self, x: &Tensor, width: usize) -> Tensor {
        let qkv = self.qkv.forward(&self.norm1.forward(x));
        let part = |i: usize| qkv.narrow(2, i * width, width).unflatten(2, [self.heads, width / self.heads]).transpose(1, 2);
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let attended = part(0).attention(&part(1), &part(2), &options).transpose(1, 2).flatten(2, 3);
        let x = x + self.out.forward(&attended);
        &x + self.down.forward(&self.up.forward(&self.norm2.forward(&x)).gelu_tanh())
    }
}

/// The network, and random tokens as inputs and targets.
pub(crate) fn network(device: &Device, sizes: Sizes, batch: usize) -> Result<Network> {
    let Sizes { width, context, heads, .. } = sizes;
    let embedding = |n: usize| nn::Embedding::new(n, width, device);
    let (tokens, positions) = (embedding(sizes.vocabulary), embedding(context));
    let blocks: Vec<Block> = (0..sizes.layers).map(|_| Block::new(width, heads, device)).collect();
    let norm = nn::LayerNorm::new(width, device);
    // PyTorch's embeddings begin with deviation 1; the head is tied to them.
    let scale = Tensor::full([1], 0.02, DType::F32, device);
    let mut parameters = Vec::new();
    for of in [&tokens, &positions] {
        of.parameters().iter().try_for_each(|weight| no_grad(|| weight.assign(&(weight * &scale))))?;
        parameters.extend(of.parameters());
    }
    parameters.extend(blocks.iter().flat_map(Module::parameters));
    parameters.extend(norm.parameters());
    let data = vec![uniform_tokens(sizes.tokens, [batch, context], device), uniform_tokens(sizes.tokens, [batch, context], device)];
    Network::new(parameters, data, move |data| {
        let x = tokens.forward(&data[0]) + &positions.weight;
        let x = norm.forward(&blocks.iter().fold(x, |x, block| block.forward(&x, width)));
        x.linear(&tokens.weight, None).flatten(0, 1).cross_entropy(&data[1].flatten_all())
    })
}
