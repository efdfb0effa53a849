//! AdamW with 8-bit state on the character GPT: the loss that `f32` state gives, step by step, from the same batches.
//!
//! One fixed configuration; 50 steps, or with `--ignored` all 300.

use unigrad::{
    data::Text,
    nn::{
        AdamW, AdamW8bit, Optimize,
        models::{Gpt, GptConfig},
    },
    prelude::*,
};

const LAYERS: usize = 2;
const HEADS: usize = 4;
const DIM: usize = 96;
const CTX: usize = 48;
const BATCH: usize = 8;
const LR: f64 = 1e-3;
/// How far losses may be apart, as a share.
const APART: f64 = 0.01;
/// What of the memory of `f32` state is taken at most.
const STATE: f64 = 0.3;

/// The losses of some steps, and bytes of state.
fn losses<O: Optimize>(steps: u64, make: impl Fn(Vec<Tensor>) -> Result<O>, bytes: impl Fn(&O) -> usize) -> Result<(Vec<f64>, usize)> {
    let device = Device::open("cpu")?;
    let text = Text::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/sonnets.txt"))?;
    let model = Gpt::new(GptConfig { vocab: text.vocabulary.len(), ctx: CTX, layers: LAYERS, heads: HEADS, dim: DIM }, &device)?;
    model.golden_init(1)?;
    let mut optimizer = make(model.parameters())?;
    let mut losses = Vec::new();
    for step in 0..steps {
        let windows = text.batch(7, step, BATCH, CTX);
        let x = Tensor::from_slice(&windows.inputs, [BATCH, CTX], &device);
        let y = Tensor::from_slice(&windows.targets, [BATCH, CTX], &device);
        let loss = model.loss(&x, &y);
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.to_f64()?);
    }
    Ok((losses, bytes(&optimizer)))
}

fn compare(steps: u64, falls_below: f64) -> Result<()> {
    let (wide, wide_bytes) = losses(steps, |p| Ok(AdamW::new(p, LR)?.betas(0.9, 0.99).weight_decay(0.1)), AdamW::state_bytes)?;
    let (narrow, bytes) = losses(steps, |p| Ok(AdamW8bit::new(p, LR)?.betas(0.9, 0.99).weight_decay(0.1)), AdamW8bit::state_bytes)?;
    let apart: Vec<f64> = wide.iter().zip(&narrow).map(|(wide, narrow)| (narrow / wide - 1.0).abs()).collect();
    let (at, most) = apart.iter().copied().enumerate().fold((0, 0.0), |most, here| if here.1 > most.1 { here } else { most });
    let last = wide.len() - 1;
    println!(
        "{steps} steps: loss {:.4} to {:.4} with f32 state, to {:.4} with 8 bits; at most {:.3} % apart (step {at}), {:.3} % on average; {bytes} of {wide_bytes} bytes of state",
        wide[0],
        wide[last],
        narrow[last],
        100.0 * most,
        100.0 * apart.iter().sum::<f64>() / apart.len() as f64,
    );
    assert!(wide[last] < falls_below, "it learns too little to show anything: {}", wide[last]);
    assert!(most <= APART, "step {at}: {} and {}", narrow[at], wide[at]);
    assert!(bytes as f64 <= STATE * wide_bytes as f64, "{bytes} of {wide_bytes} bytes");
    Ok(())
}

#[test]
fn the_first_50_steps_are_those_of_f32_state() -> Result<()> {
    compare(50, 2.9)
}

#[test]
#[ignore = "a minute or more: run it with `--ignored`"]
fn all_300_steps_are_those_of_f32_state() -> Result<()> {
    compare(300, 2.4)
}
