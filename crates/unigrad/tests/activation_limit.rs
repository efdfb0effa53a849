//! Within a limit of what is kept between launches, everything that a program computes has the same bits as without one, on every device: gradients,
//! training with updates in place, dropout, running statistics, second-order gradients, sequences, replayed steps.
//!
//! Always: each case says how many launches ran again, and there has to be one. No head here widens its rows so far that it would be made by chunks, whose
//! sums are added up in another order (`crates/unigrad-testing/tests/chunks.rs`). Never: measures memory or time, which `unigrad-nn`'s test of limits does.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unigrad::nn::models::{Cnn, Gpt, GptConfig};
use unigrad::nn::{AdamW, BatchNorm, Conv2d, Dropout, Layer, LayerNorm, Linear, Lstm, Module, Sgd};
use unigrad::prelude::*;
use unigrad::replay;
use unigrad_tensor::{ConvOptions, autocast, eval, grad};
use unigrad_testing::selection::compiles_slowly;

/// The generator is the process's, and so are counts of launches.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A case: makes its model anew, computes, and gives everything that it has changed or computed.
type Case = fn(&Device) -> Result<Vec<Tensor>>;

fn numbers(shape: &[usize], seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    let values: Vec<f32> = (0..n).map(|i| ((i * 7919 + seed * 104_729 + i * i % 31) % 257) as f32 / 128.0 - 1.0).collect();
    Tensor::from_vec(values, shape, device)
}

fn ids(shape: &[usize], below: usize, seed: usize, device: &Device) -> Tensor {
    let n: usize = shape.iter().product();
    Tensor::from_vec((0..n).map(|i| ((i * 31 + i * i % 17 + seed) % below) as i64).collect(), shape, device)
}

/// Steps of training; all parameters, buffers and losses.
fn trained<M: Module>(model: &M, steps: usize, device: &Device, loss: impl Fn(&M, usize) -> Tensor) -> Result<Vec<Tensor>> {
    let _ = device;
    let mut optimizer = AdamW::new(model.parameters(), 0.01)?;
    let mut all = Vec::new();
    for step in 0..steps {
        let loss = loss(model, step);
        optimizer.minimize(&loss, &[])?;
        all.push(loss);
    }
    all.extend(model.state_dict().into_iter().map(|(_, tensor)| tensor));
    Ok(all)
}

#[derive(Module)]
struct Residual {
    norm: LayerNorm,
    up: Linear,
    down: Linear,
    drop: Dropout,
}

/// Odd sizes, dropout in every layer.
#[derive(Module)]
struct Mlp {
    layers: Vec<Residual>,
}

impl Mlp {
    const WIDTH: usize = 37;

    fn new(device: &Device) -> Mlp {
        let layer = |_| Residual {
            norm: LayerNorm::new(Mlp::WIDTH, device),
            up: Linear::new(Mlp::WIDTH, 71, device),
            down: Linear::new(71, Mlp::WIDTH, device),
            drop: Dropout::new(0.3),
        };
        Mlp { layers: (0..5).map(layer).collect() }
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        self.layers.iter().fold(x.clone(), |x, layer| {
            let h = layer.drop.forward(&layer.up.forward(&layer.norm.forward(&x)).gelu_tanh());
            &x + layer.down.forward(&h)
        })
    }
}

#[derive(Module)]
struct Residuals {
    convolutions: Vec<Conv2d>,
    norms: Vec<BatchNorm>,
}

const GPT: GptConfig = GptConfig { vocab: 61, ctx: 24, layers: 4, heads: 2, dim: 32 };

fn gpt_loss(model: &Gpt, step: usize, device: &Device) -> Tensor {
    model.loss(&ids(&[3, GPT.ctx], GPT.vocab, step, device), &ids(&[3, GPT.ctx], GPT.vocab, step + 5, device))
}

const CASES: &[(&str, Case)] = &[
    // The head is tied to the embedding.
    ("a GPT with AdamW", |device| {
        let model = Gpt::new(GPT, device)?;
        trained(&model, 3, device, |model, step| gpt_loss(model, step, device))
    }),
    ("a GPT in bf16", |device| {
        let model = Gpt::new(GPT, device)?;
        trained(&model, 3, device, |model, step| autocast(DType::BF16, || gpt_loss(model, step, device)))
    }),
    ("gradients of a GPT, all at once", |device| {
        let model = Gpt::new(GPT, device)?;
        let loss = gpt_loss(&model, 0, device);
        let mut all = grad(&loss, &model.parameters().iter().collect::<Vec<_>>())?;
        all.push(loss);
        Ok(all)
    }),
    ("dropout and odd sizes", |device| {
        let model = Mlp::new(device);
        trained(&model, 3, device, |model, step| model.forward(&numbers(&[53, Mlp::WIDTH], step, device)).square().mean(()))
    }),
    ("dropout in f16", |device| {
        let model = Mlp::new(device);
        trained(&model, 2, device, |model, step| {
            autocast(DType::F16, || model.forward(&numbers(&[53, Mlp::WIDTH], step, device)).square().mean(()))
        })
    }),
    ("second-order gradients, and several outputs", |device| {
        let model = Mlp::new(device);
        let x = numbers(&[29, Mlp::WIDTH], 3, device).requires_grad();
        let y = model.forward(&x);
        let slope = grad(&y.sin().sum(()), &[&x])?.remove(0);
        let penalty = (slope.square().sum(1) - 1.0).square().mean(());
        let parameters = model.parameters();
        let mut all = grad(&penalty, &parameters.iter().collect::<Vec<_>>())?;
        all.extend([y, slope, penalty]);
        Ok(all)
    }),
    ("convolutions with running statistics", |device| {
        let conv = |_| Conv2d::new(6, 6, 3, ConvOptions::new(1, 1), device).no_bias();
        let model = Residuals { convolutions: (0..5).map(conv).collect(), norms: (0..5).map(|_| BatchNorm::new(6, device)).collect() };
        let x = numbers(&[3, 6, 9, 7], 1, device);
        trained(&model, 2, device, |model, _| {
            let layers = model.convolutions.iter().zip(&model.norms);
            layers.fold(x.clone(), |x, (conv, norm)| &x + norm.forward(&conv.forward(&x)).relu()).square().mean(())
        })
    }),
    ("a CNN with pools", |device| {
        let model = Cnn::new(12, 12, 10, 0, 0.25, device);
        let (x, y) = (numbers(&[8, 1, 12, 12], 2, device), ids(&[8], 10, 3, device));
        trained(&model, 2, device, |model, _| model.forward(&x).cross_entropy(&y))
    }),
    ("an LSTM", |device| {
        let model = Lstm::stacked(6, 16, 2, true, device);
        let x = numbers(&[5, 9, 6], 4, device);
        trained(&model, 2, device, |model, _| model.forward(&x).square().mean(()))
    }),
    ("replayed steps", |device| {
        let model = Arc::new(Mlp::new(device));
        let optimizer = Arc::new(Mutex::new(Sgd::new(model.parameters(), 0.05)?.momentum(0.9)?));
        let of = Arc::clone(&model);
        let mut step = replay(move |inputs| {
            let loss = of.forward(&inputs[0]).square().mean(());
            optimizer.lock().unwrap_or_else(PoisonError::into_inner).minimize(&loss, &[])?;
            Ok(vec![loss])
        });
        let mut all = Vec::new();
        for i in 0..6 {
            all.extend(step.call(&[&numbers(&[17, Mlp::WIDTH], i, device)])?);
        }
        all.extend(model.parameters());
        Ok(all)
    }),
];

/// A result: its bits, and its numbers.
#[derive(PartialEq)]
struct Outcome {
    bits: Vec<u8>,
    numbers: Vec<f32>,
}

impl Outcome {
    /// The largest difference, over the largest number there is.
    fn distance(&self, other: &Outcome) -> f32 {
        let largest = self.numbers.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let differences = self.numbers.iter().zip(&other.numbers).map(|(x, y)| (x - y).abs());
        differences.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most }) / largest
    }
}

/// What a case computes, and in how many launches.
fn run(case: Case, limit: Option<u64>, device: &Device) -> (Vec<Outcome>, u64) {
    manual_seed(11);
    let before = eval::stats().launches;
    let all = eval::with_activation_limit(limit, || {
        let all = case(device).unwrap();
        Tensor::realize_all(&all.iter().collect::<Vec<_>>()).unwrap();
        all
    });
    let launches = eval::stats().launches - before;
    let outcome = |x: &Tensor| Outcome { bits: eval::download(&x.expr()).unwrap(), numbers: x.cast(DType::F32).to_vec().unwrap() };
    (all.iter().map(outcome).collect(), launches)
}

/// How far results may be from those without a limit, over the largest number. WGSL lets a driver's compiler make a multiply-add of a product and a sum, which it
/// does or not by what stands around them: part of a launch may round otherwise than the whole (Mesa's llvmpipe does). Elsewhere bits are the same.
fn allowed(device: &Device) -> f32 {
    if device.name().starts_with("wgpu") { 1e-5 } else { 0.0 }
}

#[test]
fn everything_has_the_same_bits() {
    let _alone = alone();
    // From a limit that nothing can stay within up to one that few plans pass; some of them where kernels are interpreted.
    let limits = [1u64, 1 << 14, 1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20];
    for device in unigrad_testing::selection::without_slowest(unigrad_testing::devices()) {
        let limits = if device.info().software { &limits[3..5] } else { &limits[..] };
        // Where each kernel takes a compiler long, steps of a GPT, dropout, convolutions and replayed steps.
        let (limits, step) = if compiles_slowly(&device) { (&limits[..1], 3) } else { (limits, 1) };
        for (name, case) in CASES.iter().step_by(step) {
            let (free, n_free) = run(*case, None, &device);
            let mut again = Vec::new();
            for limit in limits {
                let (within, n) = run(*case, Some(*limit), &device);
                let is_wrong = |(free, within): (&Outcome, &Outcome)| {
                    let distance = free.distance(within);
                    free != within && !(distance > 0.0 && distance <= allowed(&device)) && {
                        println!("{name} within {limit} bytes on {}: a distance of {distance:e}", device.name());
                        true
                    }
                };
                let wrong = free.iter().zip(&within).position(is_wrong);
                assert!(
                    wrong.is_none() && free.len() == within.len(),
                    "{name} within {limit} bytes on {}: result {wrong:?}",
                    device.name()
                );
                again.push(n.saturating_sub(n_free));
            }
            println!("{}: {name}: {n_free} launches, and more: {again:?}", device.name());
            assert!(again.iter().any(|n| *n > 0), "{name}: nothing ran again on {}", device.name());
        }
    }
}
