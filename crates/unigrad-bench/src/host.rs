//! `unigrad bench host`: what the host adds to small steps: recording, look-up, launches, waits.
//!
//! In: a device. Out: a line per measurement: nanoseconds a node to record and to look up, microseconds a launch of tiny kernels, and training steps of
//! a small network, and updates of an optimizer, with one wait at the end beside a wait after each.
//! Always: both ways of waiting are timed in turns, in the same process; a figure is the median of several rounds. Never: skips work that a step has.

use crate::{
    line::{Fact, Line, Report},
    statistics::median,
    timing::settle,
};
use std::time::Instant;

use unigrad_nn::{self as nn, Layer, Module};
use unigrad_tensor::{DType, Result, Tensor, eval};

/// Rounds of each measurement.
const ROUNDS: usize = 7;
/// Training steps of a round: at most, and so many that they take as long as this.
const STEPS: usize = 200;
const SECONDS: f64 = 0.5;
/// Numbers that an optimizer updates, in so many tensors.
const UPDATED: usize = 50_000_000;
const TENSORS: usize = 50;
/// Nodes of a round of recording.
const NODES: usize = 2000;
/// Kernels of a round of launches. Each reads what the one before it wrote in another shape, so that none of them share a launch.
const KERNELS: usize = 64;

pub(crate) fn run(report: &Report<'_>) -> Result<()> {
    recording(report)?;
    launches(report)?;
    for batch in [64, 512] {
        network(report, batch)?;
    }
    update(report)
}

fn tell(report: &Report<'_>, name: &str, value: f64, unit: &'static str, note: &str) {
    (report.hear)(Line::Fact(Fact { name: name.to_owned(), value, unit, note: note.to_owned() }));
}

/// Records chains that are never read.
fn recording(report: &Report<'_>) -> Result<()> {
    let x = Tensor::ones([4], DType::F32, &report.device).realize()?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let mut chain = x.clone();
        for _ in 0..NODES {
            chain = &chain + &x;
        }
        rounds.push(begin.elapsed().as_secs_f64() * 1e9 / NODES as f64);
    }
    tell(report, "host_record", median(&rounds), "ns/node", "additions of two tensors");
    Ok(())
}

/// Evaluates a chain of reductions over small rows, each a kernel of its own.
fn launches(report: &Report<'_>) -> Result<()> {
    let x = Tensor::ones([8, 8], DType::F32, &report.device).realize()?;
    let step = || -> Result<()> {
        let mut value = x.clone();
        for i in 0..KERNELS {
            value = value.sum_keepdim((i % 2) as isize).expand([8, 8]) * 0.125;
        }
        value.realize()?;
        Ok(())
    };
    for _ in 0..3 {
        step()?;
        settle()?;
    }
    let mut rounds = Vec::new();
    let (mut n_launches, mut lookup, mut n_nodes) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let before = eval::stats();
        let begin = Instant::now();
        for _ in 0..10 {
            step()?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        settle()?;
        let after = eval::stats();
        (n_launches, lookup, n_nodes) =
            (after.launches - before.launches, after.lookup_nanos - before.lookup_nanos, after.nodes - before.nodes);
        rounds.push(seconds * 1e6 / n_launches.max(1) as f64);
    }
    tell(report, "host_lookup", lookup as f64 / n_nodes.max(1) as f64, "ns/node", "");
    tell(
        report,
        "host_launch",
        median(&rounds),
        "us/launch",
        &format!("all that the host does, {} launches an evaluation", n_launches / 10),
    );
    Ok(())
}

/// Trains the network of W4.
fn network(report: &Report<'_>, batch: usize) -> Result<()> {
    let device = &report.device;
    let parts = [nn::Linear::new(784, 512, device), nn::Linear::new(512, 256, device), nn::Linear::new(256, 10, device)];
    let x = Tensor::rand([batch, 784], DType::F32, device).realize()?;
    let y = Tensor::randint(0, 10, [batch], DType::I64, device).realize()?;
    let mut optimizer = nn::Adam::new(parts.iter().flat_map(Module::parameters).collect(), 1e-3)?;
    steps(report, &format!("mlp_b{batch}"), || {
        let h = parts[0].forward(&x).relu();
        let h = parts[1].forward(&h).relu();
        optimizer.minimize(&parts[2].forward(&h).cross_entropy(&y), &[])
    })
}

/// Updates the tensors of W8, with gradients that are there.
fn update(report: &Report<'_>) -> Result<()> {
    let of = |value: f64| Tensor::full([UPDATED / TENSORS], value, DType::F32, &report.device).realize();
    let parameters: Vec<Tensor> = (0..TENSORS).map(|_| Ok(of(1.0)?.requires_grad())).collect::<Result<_>>()?;
    let gradients: Vec<Tensor> = (0..TENSORS).map(|_| of(1e-3)).collect::<Result<_>>()?;
    let mut optimizer = nn::AdamW::new(parameters, 1e-3)?;
    steps(report, &format!("adamw_{TENSORS}x"), || optimizer.step_with(gradients.iter().cloned().map(Some).collect(), &[]))
}

/// Times steps with one wait at the end, beside a wait after each.
fn steps(report: &Report<'_>, name: &str, mut step: impl FnMut() -> nn::Result<()>) -> Result<()> {
    let mut last = 0f64;
    for _ in 0..10 {
        let begin = Instant::now();
        step()?;
        settle()?;
        last = begin.elapsed().as_secs_f64();
    }
    // Fewer steps where they are long, as on a CPU.
    let n = ((SECONDS / last.max(1e-9)) as usize).clamp(5, STEPS);
    let (mut once, mut each, mut host) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..n {
            step()?;
        }
        host.push(begin.elapsed().as_secs_f64() * 1e3 / n as f64);
        settle()?;
        once.push(begin.elapsed().as_secs_f64() * 1e3 / n as f64);
        let begin = Instant::now();
        for _ in 0..n {
            step()?;
            settle()?;
        }
        each.push(begin.elapsed().as_secs_f64() * 1e3 / n as f64);
    }
    let note = format!("{n} steps");
    tell(report, &format!("host_{name}_once"), median(&once), "ms/step", &format!("{note}, one wait"));
    tell(report, &format!("host_{name}_host"), median(&host), "ms/step", &format!("{note}, the host's part of it"));
    tell(report, &format!("host_{name}_each"), median(&each), "ms/step", &format!("{note}, a wait after each"));
    Ok(())
}
