//! The programs of `crates/unigrad-py/examples` in Rust, and what a training step of each takes: what Python adds is the difference.
//!
//! `cargo run --release --example steps [DEVICE]` prints medians; `crates/unigrad-py/examples/measure.py --rust PROGRAM` runs it beside Python's and PyTorch's.

use std::time::Instant;
use unigrad::{
    data::digits,
    nn::{AdamW, BatchNorm, Conv2d, Embedding, LayerNorm, Linear},
    prelude::*,
    tensor::{AttentionOptions, ConvOptions, PoolOptions},
};

/// Blocks of steps, steps in a block, and steps before a block that are not counted.
const BLOCKS: usize = 5;
const STEPS: usize = 20;
const WARM: usize = 5;

/// Sizes of a character GPT.
#[derive(Clone, Copy)]
struct Sizes {
    tokens: usize,
    context: usize,
    width: usize,
    heads: usize,
    layers: usize,
    batch: usize,
}

#[derive(Module)]
struct Block {
    norm1: LayerNorm,
    norm2: LayerNorm,
    qkv: Linear,
    out: Linear,
    fc: Linear,
    proj: Linear,
    #[module(skip)]
    heads: usize,
}

impl Block {
    fn new(of: Sizes, device: &Device) -> Block {
        let linear = |inputs, outputs| Linear::new(inputs, outputs, device);
        let (width, heads) = (of.width, of.heads);
        let [norm1, norm2] = [LayerNorm::new(width, device), LayerNorm::new(width, device)];
        Block {
            norm1,
            norm2,
            qkv: linear(width, 3 * width),
            out: linear(width, width),
            fc: linear(width, 4 * width),
            proj: linear(4 * width, width),
            heads,
        }
    }
}

impl Layer for Block {
    fn forward(&self, x: &Tensor) -> Tensor {
        let parts = self.qkv.forward(&self.norm1.forward(x)).unflatten(2, [3, self.heads as i64, -1]).permute([2, 0, 3, 1, 4]);
        let part = |i: usize| parts.narrow(0, i, 1).squeeze(0);
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let attended = part(0).attention(&part(1), &part(2), &options).transpose(1, 2).flatten(2, 3);
        let x = x + self.out.forward(&attended);
        &x + self.proj.forward(&self.fc.forward(&self.norm2.forward(&x)).gelu())
    }
}

#[derive(Module)]
struct Gpt {
    tokens: Embedding,
    positions: Embedding,
    blocks: Vec<Block>,
    norm: LayerNorm,
    head: Linear,
}

impl Gpt {
    fn new(of: Sizes, device: &Device) -> Gpt {
        Gpt {
            tokens: Embedding::new(of.tokens, of.width, device),
            positions: Embedding::new(of.context, of.width, device),
            blocks: (0..of.layers).map(|_| Block::new(of, device)).collect(),
            norm: LayerNorm::new(of.width, device),
            head: Linear::no_bias(of.width, of.tokens, device),
        }
    }

    fn forward(&self, tokens: &Tensor) -> Tensor {
        let x = self.tokens.forward(tokens) + &self.positions.weight;
        self.head.forward(&self.norm.forward(&self.blocks.iter().fold(x, |x, block| block.forward(&x))))
    }
}

#[derive(Module)]
struct Cnn {
    conv1: Conv2d,
    norm: BatchNorm,
    conv2: Conv2d,
    head: Linear,
}

impl Cnn {
    fn forward(&self, x: &Tensor) -> Tensor {
        let h = self.norm.forward(&self.conv1.forward(x)).relu();
        self.head.forward(&self.conv2.forward(&h).relu().max_pool2d(&PoolOptions::new(2)).flatten(1, -1))
    }
}

#[derive(Module)]
struct Vae {
    encoder: Linear,
    mean: Linear,
    log_variance: Linear,
    hidden: Linear,
    decoder: Linear,
}

impl Vae {
    fn loss(&self, x: &Tensor) -> Tensor {
        let h = self.encoder.forward(x).relu();
        let (mean, log_variance) = (self.mean.forward(&h), self.log_variance.forward(&h));
        let z = &mean + (&log_variance * 0.5).exp() * mean.randn_like();
        let told = self.decoder.forward(&self.hidden.forward(&z).relu()).bce_with_logits(x) * 64.0;
        told + (mean.square() + log_variance.exp() - &log_variance - 1.0).sum(1).mean(()) * 0.5
    }
}

/// Prints the median over blocks of a step's time, the loss read after each step.
fn measure(name: &str, parameters: Vec<Tensor>, loss: impl Fn() -> Tensor) -> Result<()> {
    let mut optimizer = AdamW::new(parameters, 1e-3)?.weight_decay(0.01);
    let mut steps = |count: usize| -> Result<f64> {
        let begun = Instant::now();
        for _ in 0..count {
            // The calls of the programs in Python; `minimize` would be one evaluation that keeps no gradients.
            optimizer.zero_grad();
            let loss = loss();
            loss.backward()?;
            optimizer.step()?;
            let loss: f32 = loss.item()?;
            assert!(loss.is_finite(), "{name}: the loss is {loss}");
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3 / count as f64)
    };
    let mut times = Vec::new();
    for _ in 0..BLOCKS {
        steps(WARM)?;
        times.push(steps(STEPS)?);
    }
    times.sort_by(f64::total_cmp);
    println!("{name} {:.3} ms", times[BLOCKS / 2]);
    Ok(())
}

fn gpt(name: &str, of: Sizes, device: &Device) -> Result<()> {
    let model = Gpt::new(of, device);
    let tokens = |from: i64| {
        let (rows, columns) = (of.batch as i64, of.context as i64);
        let text: Vec<i64> = (from..from + rows * columns).map(|at| at * 7919 % of.tokens as i64).collect();
        Tensor::from_slice(&text, [of.batch, of.context], device).realize()
    };
    let (x, y) = (tokens(0)?, tokens(1)?);
    measure(name, model.parameters(), || model.forward(&x).flatten(0, 1).cross_entropy(&y.flatten(0, 1)))
}

fn main() -> Result<()> {
    // Run as a test it has no argument.
    let device = std::env::args().nth(1).filter(|name| !name.starts_with('-')).map_or_else(Device::best, |name| Device::open(&name))?;
    manual_seed(1);
    gpt("gpt", Sizes { tokens: 61, context: 64, width: 64, heads: 4, layers: 2, batch: 16 }, &device)?;
    let images = digits()?.train;
    let pixels: Vec<f32> = images.pixels[..64 * 64].iter().map(|&pixel| f32::from(pixel) / f32::from(images.white)).collect();
    let labels: Vec<i64> = images.labels[..64].iter().map(|&label| i64::from(label)).collect();
    let x = Tensor::from_slice(&pixels, [64, 1, 8, 8], &device).realize()?;
    let y = Tensor::from_slice(&labels, [64], &device).realize()?;
    let conv = |inputs, outputs| Conv2d::new(inputs, outputs, 3, ConvOptions::new(1, 1), &device);
    let cnn =
        Cnn { conv1: conv(1, 16), norm: BatchNorm::new(16, &device), conv2: conv(16, 32), head: Linear::new(32 * 4 * 4, 10, &device) };
    measure("digits_cnn", cnn.parameters(), || cnn.forward(&x).cross_entropy(&y))?;
    let linear = |inputs, outputs| Linear::new(inputs, outputs, &device);
    let vae =
        Vae { encoder: linear(64, 96), mean: linear(96, 8), log_variance: linear(96, 8), hidden: linear(8, 96), decoder: linear(96, 64) };
    let flat = x.flatten(1, -1).realize()?;
    measure("vae", vae.parameters(), || vae.loss(&flat))?;
    if std::env::args().any(|argument| argument == "--large") {
        gpt("gpt_large", Sizes { tokens: 61, context: 256, width: 384, heads: 6, layers: 6, batch: 8 }, &device)?;
    }
    Ok(())
}
