//! The programs of `crates/unigrad-py/examples` in Rust, and what a training step of each takes: what Python adds is the difference.
//!
//! `cargo run --release --example steps [DEVICE] [--large] [--small] [--replay] [--steps N] [NAME]` prints medians; `crates/unigrad-py/examples/measure.py --rust PROGRAM`
//! runs it beside Python's and PyTorch's. `--large` adds a GPT of 10 million weights; `--small` makes batches and widths so small that a step is the host's
//! work alone; `--replay` records a step once and runs it again; NAME runs one program, and `--steps N` so many steps in a block: what a profiler needs.

use std::time::Instant;
use unigrad::{
    data::digits,
    nn::{AdamW, BatchNorm, Conv2d, Embedding, LayerNorm, Linear},
    prelude::*,
    replay,
    tensor::{AttentionOptions, ConvOptions, PoolOptions},
};

/// Blocks of steps, and steps before a block that are not counted.
const BLOCKS: usize = 5;
const WARM: usize = 5;

/// What the command line asks for.
struct Asked {
    device: Device,
    /// Steps in a block.
    steps: usize,
    is_small: bool,
    is_large: bool,
    is_replayed: bool,
    /// The only program.
    only: Option<String>,
}

impl Asked {
    fn of(arguments: impl Iterator<Item = String>) -> Result<Asked> {
        let (mut device, mut steps, mut is_small, mut is_large, mut is_replayed, mut only) = (None, 20, false, false, false, None);
        let mut arguments = arguments.peekable();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--small" => is_small = true,
                "--large" => is_large = true,
                "--replay" => is_replayed = true,
                "--steps" => steps = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(steps), // DEFAULT: what is no number changes nothing
                "gpt" | "digits_cnn" | "vae" | "gpt_large" => only = Some(argument),
                // Run as a test it has arguments of the test's.
                name if !name.starts_with('-') => device = Some(Device::open(name)?),
                _ => {}
            }
        }
        let device = device.map_or_else(Device::best, Ok)?;
        Ok(Asked { device, steps, is_small, is_large, is_replayed, only })
    }

    fn runs(&self, name: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == name)
    }
}

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
fn measure(name: &str, asked: &Asked, parameters: Vec<Tensor>, loss: impl Fn() -> Tensor) -> Result<()> {
    let mut optimizer = AdamW::new(parameters, 1e-3)?.weight_decay(0.01);
    // The calls of the programs in Python; `minimize` would be one evaluation that keeps no gradients.
    let mut once = || {
        optimizer.zero_grad();
        let loss = loss();
        loss.backward()?;
        optimizer.step()?;
        if asked.is_replayed {
            // A replayed function leaves no gradients behind.
            optimizer.zero_grad();
        }
        Ok(loss)
    };
    let mut step: Box<dyn FnMut() -> Result<Tensor>> = if asked.is_replayed {
        let mut recorded = replay(move |_| Ok(vec![once()?]));
        Box::new(move || Ok(recorded.call(&[])?.remove(0)))
    } else {
        Box::new(once)
    };
    let mut steps = |count: usize| -> Result<f64> {
        let begun = Instant::now();
        for _ in 0..count {
            let loss: f32 = step()?.item()?;
            assert!(loss.is_finite(), "{name}: the loss is {loss}");
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3 / count as f64)
    };
    let mut times = Vec::new();
    for _ in 0..BLOCKS {
        steps(WARM)?;
        times.push(steps(asked.steps)?);
    }
    times.sort_by(f64::total_cmp);
    println!("{name} {:.3} ms", times[BLOCKS / 2]);
    Ok(())
}

fn gpt(name: &str, asked: &Asked, of: Sizes) -> Result<()> {
    if !asked.runs(name) {
        return Ok(());
    }
    let device = &asked.device;
    let model = Gpt::new(of, device);
    let tokens = |from: i64| {
        let (rows, columns) = (of.batch as i64, of.context as i64);
        let text: Vec<i64> = (from..from + rows * columns).map(|at| at * 7919 % of.tokens as i64).collect();
        Tensor::from_slice(&text, [of.batch, of.context], device).realize()
    };
    let (x, y) = (tokens(0)?, tokens(1)?);
    measure(name, asked, model.parameters(), || model.forward(&x).flatten(0, 1).cross_entropy(&y.flatten(0, 1)))
}

/// Images and their labels.
fn batch(of: usize, device: &Device) -> Result<(Tensor, Tensor)> {
    let images = digits()?.train;
    let pixels: Vec<f32> = images.pixels[..of * 64].iter().map(|&pixel| f32::from(pixel) / f32::from(images.white)).collect();
    let labels: Vec<i64> = images.labels[..of].iter().map(|&label| i64::from(label)).collect();
    Ok((Tensor::from_slice(&pixels, [of, 1, 8, 8], device).realize()?, Tensor::from_slice(&labels, [of], device).realize()?))
}

fn main() -> Result<()> {
    let asked = Asked::of(std::env::args().skip(1))?;
    let device = &asked.device;
    manual_seed(1);
    let small = Sizes { tokens: 61, context: 8, width: 16, heads: 4, layers: 2, batch: 1 };
    let usual = Sizes { tokens: 61, context: 64, width: 64, heads: 4, layers: 2, batch: 16 };
    gpt("gpt", &asked, if asked.is_small { small } else { usual })?;
    let (x, y) = batch(if asked.is_small { 1 } else { 64 }, device)?;
    if asked.runs("digits_cnn") {
        let conv = |inputs, outputs| Conv2d::new(inputs, outputs, 3, ConvOptions::new(1, 1), device);
        let cnn =
            Cnn { conv1: conv(1, 16), norm: BatchNorm::new(16, device), conv2: conv(16, 32), head: Linear::new(32 * 4 * 4, 10, device) };
        measure("digits_cnn", &asked, cnn.parameters(), || cnn.forward(&x).cross_entropy(&y))?;
    }
    if asked.runs("vae") {
        let linear = |inputs, outputs| Linear::new(inputs, outputs, device);
        let vae = Vae {
            encoder: linear(64, 96),
            mean: linear(96, 8),
            log_variance: linear(96, 8),
            hidden: linear(8, 96),
            decoder: linear(96, 64),
        };
        measure("vae", &asked, vae.parameters(), || vae.loss(&x.flatten(1, -1)))?;
    }
    if asked.is_large || asked.only.as_deref() == Some("gpt_large") {
        gpt("gpt_large", &asked, Sizes { tokens: 61, context: 256, width: 384, heads: 6, layers: 6, batch: 8 })?;
    }
    Ok(())
}
