//! A character GPT: pre-norm blocks without biases, learned positions, the head tied to the token embedding.
//!
//! Always: parameters have the names, shapes and order of the PyTorch model in `scripts/golden_gpt.py`, whose losses a test compares.

use super::Sampling;
use crate::{
    Embedding, Layer, LayerNorm, Linear, Module, Result, checkpointed,
    error::Error,
    init, is_checkpointing,
    random::{Rng, words},
};
use std::f64::consts::TAU;
use unigrad_tensor::{AttentionOptions, Device, EmbeddingOptions, Origin, Tensor, no_grad};

/// Sizes of a [`Gpt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GptConfig {
    /// Tokens.
    pub vocab: usize,
    /// The longest sequence.
    pub ctx: usize,
    /// Blocks.
    pub layers: usize,
    /// Heads of a block.
    pub heads: usize,
    /// Features.
    pub dim: usize,
}

/// Attention and a feed-forward part, each added to what came in.
#[derive(Module, Clone)]
pub struct GptBlock {
    ln1: LayerNorm,
    ln2: LayerNorm,
    qkv: Linear,
    proj: Linear,
    fc: Linear,
    out: Linear,
    heads: usize,
}

/// A character GPT.
#[derive(Module, Clone)]
pub struct Gpt {
    wte: Embedding,
    wpe: Embedding,
    blocks: Vec<GptBlock>,
    lnf: LayerNorm,
    #[module(skip)]
    config: GptConfig,
}

impl GptBlock {
    fn new(dim: usize, heads: usize, device: &Device) -> GptBlock {
        let linear = |inputs, outputs| Linear { weight: init::normal(&[outputs, inputs], 0.02, init::dtype(), device), bias: None };
        GptBlock {
            ln1: LayerNorm::new(dim, device).no_bias(),
            ln2: LayerNorm::new(dim, device).no_bias(),
            qkv: linear(dim, 3 * dim),
            proj: linear(dim, dim),
            fc: linear(dim, 4 * dim),
            out: linear(4 * dim, dim),
            heads,
        }
    }
}

impl Layer for GptBlock {
    #[track_caller]
    fn forward(&self, x: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let qkv = self.qkv.forward(&self.ln1.forward(x));
        let dim = x.shape().last().copied().unwrap_or(0);
        let part = |i: usize| qkv.narrow(2, i * dim, dim).unflatten(2, [self.heads, dim / self.heads.max(1)]).transpose(1, 2);
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let attended = part(0).attention(&part(1), &part(2), &options).transpose(1, 2).flatten(2, 3);
        let x = x + self.proj.forward(&attended);
        let hidden = self.fc.forward(&self.ln2.forward(&x)).gelu();
        &x + self.out.forward(&hidden)
    }
}

impl Gpt {
    /// With random weights of GPT-2's kind.
    #[track_caller]
    pub fn new(config: GptConfig, device: &Device) -> Result<Gpt> {
        let _origin = Origin::enter_caller();
        if config.heads == 0 || !config.dim.is_multiple_of(config.heads) {
            let cause = format!("a model of width {} cannot have {} heads", config.dim, config.heads);
            return Err(Error::argument(cause, "choose a width that is a multiple of the number of heads"));
        }
        if config.layers == 0 || config.ctx == 0 || config.dim == 0 || config.vocab == 0 {
            let cause = format!("a model of {} layers, width {}, context {} is empty", config.layers, config.dim, config.ctx);
            return Err(Error::argument(cause, "choose sizes of at least 1"));
        }
        let embedding =
            |n| Embedding { weight: init::normal(&[n, config.dim], 0.02, init::dtype(), device), options: EmbeddingOptions::default() };
        Ok(Gpt {
            wte: embedding(config.vocab),
            wpe: embedding(config.ctx),
            blocks: (0..config.layers).map(|_| GptBlock::new(config.dim, config.heads, device)).collect(),
            lnf: LayerNorm::new(config.dim, device).no_bias(),
            config,
        })
    }

    /// The sizes.
    pub fn config(&self) -> GptConfig {
        self.config
    }

    /// Sets the weights that `scripts/golden_gpt.py` starts from: normal with deviation 0.02 by Philox, norms 1.
    pub fn golden_init(&self, seed: u64) -> Result<()> {
        for (number, tensor) in self.parameters().iter().enumerate() {
            let shape = tensor.dims()?;
            let value = |element: u64| -> f32 {
                let [w0, w1, ..] = words(seed, (number as u64) << 32, element);
                let u1 = (f64::from(w0 >> 8) + 1.0) * 2f64.powi(-24);
                let u2 = f64::from(w1 >> 8) * 2f64.powi(-24);
                (0.02 * (-2.0 * u1.ln()).sqrt() * (TAU * u2).cos()) as f32
            };
            let n = tensor.numel() as u64;
            let values: Vec<f32> = if shape.len() > 1 { (0..n).map(value).collect() } else { vec![1.0; n as usize] };
            let value = Tensor::from_vec(values, shape, &tensor.device()?);
            no_grad(|| tensor.assign(&value))?;
        }
        self.realize()
    }

    /// The next token's mean cross-entropy: `inputs` and `targets` are `[n, t]` tokens.
    #[track_caller]
    pub fn loss(&self, inputs: &Tensor, targets: &Tensor) -> Tensor {
        self.forward(inputs).flatten(0, 1).cross_entropy(&targets.flatten_all())
    }

    /// Continues `prompt` by `count` tokens, drawn from the model's distribution at `temperature` (0: always the likeliest).
    #[track_caller]
    pub fn sample(&self, prompt: &[usize], count: usize, temperature: f64, rng: &mut Rng, device: &Device) -> Result<Vec<usize>> {
        let _origin = Origin::enter_caller();
        let ctx = self.config.ctx;
        let mut tokens = prompt.to_vec();
        if tokens.is_empty() {
            tokens.push(0);
        }
        for _ in 0..count {
            // The window always has the full length, so every token runs the same plan; what follows the last token is not looked at.
            let start = tokens.len().saturating_sub(ctx);
            let last = tokens.len() - start - 1;
            let mut window: Vec<i64> = tokens[start..].iter().map(|&t| t as i64).collect();
            window.resize(ctx, 0);
            let logits = no_grad(|| self.forward(&Tensor::from_vec(window, [1, ctx], device)));
            let all = logits.to_vec::<f32>()?;
            let row = &all[last * self.config.vocab..(last + 1) * self.config.vocab];
            tokens.push(Sampling { temperature, ..Sampling::default() }.choose(row, rng));
        }
        Ok(tokens)
    }
}

impl Layer for Gpt {
    /// Logits `[n, t, vocab]` of tokens `[n, t]`.
    #[track_caller]
    fn forward(&self, tokens: &Tensor) -> Tensor {
        let _origin = Origin::enter_caller();
        let length = tokens.shape().last().copied().unwrap_or(0);
        let positions = match tokens.is_named(-1) && length <= self.config.ctx {
            true => self.wpe.weight.narrow_like(0, tokens, -1),
            false => self.wpe.weight.narrow(0, 0, length.min(self.config.ctx)),
        };
        let x = self.wte.forward(tokens) + positions;
        let x = self.blocks.iter().fold(x, |x, block| if is_checkpointing() { checkpointed(block, &x) } else { block.forward(&x) });
        self.lnf.forward(&x).linear(&self.wte.weight, None)
    }
}
