//! A decoder of Llama's kind: RMS norms, grouped queries, rotated halves, gated SiLU, a cache of keys and values that is updated in place.
//!
//! In: tokens `[batch, n]` and the position of the first of them. Out: scores of what follows the last one.
//! Always: weights are made on the device in their own dtype, one after the other, and are nowhere else; the step is a function of tensors, so that it
//! can be replayed. Layers and orders are those of `Llama` in `scripts/torch_rows.py`, whose scores a test compares.
//! Never: holds a copy of the weights in f32.

use crate::{case::Case, record::Work};
use std::{cell::RefCell, rc::Rc};
use unigrad_device::Device;
use unigrad_tensor::{AttentionOptions, DType, Result, RopeLayout, Tensor, replay};

/// Of the norms.
const EPS: f64 = 1e-5;
/// Of the rotations.
const BASE: f64 = 1e6;
/// Weights are uniform with this deviation.
const DEVIATION: f64 = 0.02;

/// Sizes of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) heads: usize,
    /// Heads of keys and values.
    pub(crate) groups: usize,
    pub(crate) hidden: usize,
    pub(crate) vocabulary: usize,
    /// Positions of the cache.
    pub(crate) context: usize,
}

/// 7 billion numbers, with the cache of `scripts/torch_rows.py`.
pub(crate) const SEVEN_B: Sizes =
    Sizes { layers: 32, width: 4096, heads: 32, groups: 8, hidden: 14_336, vocabulary: 32_000, context: 1024 };

impl Sizes {
    fn features(&self) -> usize {
        self.width / self.heads
    }

    fn keys(&self) -> usize {
        self.groups * self.features()
    }

    /// Numbers in products of a token: all weights but the embedding.
    pub(crate) fn product_parameters(&self) -> f64 {
        let of_layer = self.width * (self.width + 2 * self.keys()) + self.width * self.width + 3 * self.width * self.hidden;
        (self.layers * of_layer + self.vocabulary * self.width) as f64
    }

    /// Bytes of all weights.
    pub(crate) fn weight_bytes(&self, dtype: DType) -> f64 {
        let norms = (2 * self.layers + 1) * self.width;
        (self.product_parameters() + (self.vocabulary * self.width + norms) as f64) * dtype.size() as f64
    }

    /// Bytes of keys and values of so many positions.
    pub(crate) fn cache_bytes(&self, batch: usize, positions: usize, dtype: DType) -> f64 {
        (2 * self.layers * batch * positions * self.keys() * dtype.size()) as f64
    }

    /// Operations of a step over tokens at these positions: products (the head for the last token only) and attention to all before.
    pub(crate) fn step_flops(&self, batch: usize, position: usize, length: usize) -> f64 {
        let head = (self.vocabulary * self.width) as f64;
        let products = 2.0 * ((self.product_parameters() - head) * length as f64 + head);
        // Query `i` sees `position + i + 1` keys.
        let pairs = length as f64 * (position as f64 + (length as f64 + 1.0) / 2.0);
        batch as f64 * (products + 4.0 * pairs * (self.layers * self.width) as f64)
    }
}

/// What of a layer is a parameter, and the cache.
struct Block {
    norm1: Tensor,
    norm2: Tensor,
    /// Queries, keys and values of a token by one product.
    qkv: Tensor,
    out: Tensor,
    /// The gate and what it is multiplied with, by one product.
    gate_up: Tensor,
    down: Tensor,
    /// `[batch, groups, context, features]`.
    keys: Tensor,
    values: Tensor,
}

/// A network and its cache.
pub(crate) struct Decoder {
    sizes: Sizes,
    embedding: Tensor,
    blocks: Vec<Block>,
    norm: Tensor,
    head: Tensor,
    /// Cosines and sines of all positions, `[context, features / 2]`.
    rotations: [Tensor; 2],
}

impl Decoder {
    /// With random weights, norms of 1 and an empty cache.
    pub(crate) fn random(sizes: Sizes, batch: usize, dtype: DType, device: &Device) -> Result<Decoder> {
        let bound = DEVIATION * 3f64.sqrt();
        Decoder::new(sizes, batch, dtype, device, |shape| match shape {
            [_] => Tensor::ones(shape, dtype, device),
            _ => Tensor::uniform(shape, -bound, bound, dtype, device),
        })
    }

    /// `weight` makes each parameter in turn, from its shape, in `dtype`: in the order in which PyTorch's network has them.
    pub(crate) fn new(
        sizes: Sizes,
        batch: usize,
        dtype: DType,
        device: &Device,
        mut weight: impl FnMut(&[usize]) -> Tensor,
    ) -> Result<Decoder> {
        let Sizes { width, hidden, groups, context, vocabulary, .. } = sizes;
        let (features, keys) = (sizes.features(), sizes.keys());
        let mut weight = |shape: &[usize]| weight(shape).realize();
        let embedding = weight(&[vocabulary, width])?;
        let mut blocks = Vec::with_capacity(sizes.layers);
        for _ in 0..sizes.layers {
            let cache = || Tensor::zeros([batch, groups, context, features], dtype, device).realize();
            blocks.push(Block {
                norm1: weight(&[width])?,
                norm2: weight(&[width])?,
                qkv: weight(&[width + 2 * keys, width])?,
                out: weight(&[width, width])?,
                gate_up: weight(&[2 * hidden, width])?,
                down: weight(&[width, hidden])?,
                keys: cache()?,
                values: cache()?,
            });
        }
        let (norm, head) = (weight(&[width])?, weight(&[vocabulary, width])?);
        let (cos, sin) = Tensor::rope_tables(&Tensor::arange(0.0, context as f64, 1.0, DType::I64, device), features, BASE);
        let rotations = [cos.cast(dtype).realize()?, sin.cast(dtype).realize()?];
        Ok(Decoder { sizes, embedding, blocks, norm, head, rotations })
    }

    /// Scores `[batch, vocabulary]` of what follows the last of the tokens, whose keys and values are in the cache then.
    pub(crate) fn step(&self, tokens: &Tensor, position: &Tensor) -> Result<Tensor> {
        let Sizes { width, hidden, heads, groups, .. } = self.sizes;
        let (features, keys) = (self.sizes.features(), self.sizes.keys());
        let length = tokens.dims()?[1];
        let [cos, sin] = [&self.rotations[0], &self.rotations[1]].map(|table| table.dyn_slice(0, position, length));
        let options = AttentionOptions { causal: true, q_offset: Some(position.into()), ..AttentionOptions::default() };
        let mut x = self.embedding.embedding(tokens);
        for block in &self.blocks {
            let qkv = x.rms_norm(Some(&block.norm1), EPS).linear(&block.qkv, None);
            let part = |from: usize, n: usize| qkv.narrow(2, from, n * features).unflatten(2, [n as i64, features as i64]).transpose(1, 2);
            let rotated = |x: Tensor| x.rope(&cos, &sin, RopeLayout::HalfSplit);
            let (q, k, v) = (rotated(part(0, heads)), rotated(part(width, groups)), part(width + keys, groups));
            block.keys.assign(&block.keys.dyn_update(2, &k, position))?;
            block.values.assign(&block.values.dyn_update(2, &v, position))?;
            let mixed = q.attention(&block.keys, &block.values, &options).transpose(1, 2).flatten(2, 3);
            x = x + mixed.linear(&block.out, None);
            let gate_up = x.rms_norm(Some(&block.norm2), EPS).linear(&block.gate_up, None);
            let gated = gate_up.narrow(2, 0, hidden).silu() * gate_up.narrow(2, hidden, hidden);
            x = x + gated.linear(&block.down, None);
        }
        let last = x.narrow(1, length - 1, 1).rms_norm(Some(&self.norm), EPS);
        Ok(last.linear(&self.head, None).squeeze(1))
    }

    /// Steps over `length` tokens at a position, by [`replay`]: always the same one, as a decoder does it that many tokens later.
    pub(crate) fn steps(self, batch: usize, position: usize, length: usize, device: &Device) -> Result<Case> {
        let tokens = Tensor::zeros([batch, length], DType::I64, device).realize()?;
        let position = Tensor::scalar(position as f64, DType::I64, device);
        let work = Work::Items((batch * length) as f64, "tokens");
        let mut step = replay(move |inputs: &[Tensor]| Ok(vec![self.step(&inputs[0], &inputs[1])?]));
        let last: Rc<RefCell<Option<Tensor>>> = Rc::default();
        let kept = Rc::clone(&last);
        let case = Case::new(work, move || {
            *kept.borrow_mut() = step.call(&[&tokens, &position])?.pop();
            Ok(())
        });
        Ok(case.noted(move || match &*last.borrow() {
            // What is not finite was not computed.
            Some(scores) => Ok(format!("replayed; greatest score {:.4}", scores.cast(DType::F32).max(()).item::<f32>()?)),
            None => Ok("replayed".to_owned()),
        }))
    }
}
