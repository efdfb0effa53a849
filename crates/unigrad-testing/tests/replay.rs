//! Sequences that a driver keeps and queues by one call: the same results as one by one, bit by bit, whatever moves between the runs.
//! A program of its own, for replays are a setting of the process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::{
    nn::{AdamW, Embedding, LayerNorm, Linear},
    prelude::*,
};
use unigrad_device::{Config, Products, Replay};
use unigrad_testing::fuzz;

/// The setting is the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// One test at a time, whatever became of those before.
fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn set(replay: Replay, products: Products) {
    Config { replay, products, ..Config::clone(&Config::current_or_default()) }.apply();
}

/// Devices whose drivers keep launches.
fn devices() -> Vec<Device> {
    let devices: Vec<Device> =
        unigrad_testing::devices().into_iter().filter(|device| ["interpreter", "cuda"].contains(&device.backend())).collect();
    if devices.is_empty() {
        println!("SKIPPED: no device here replays");
    }
    devices
}

#[derive(Module)]
struct Net {
    words: Embedding,
    norm: LayerNorm,
    hidden: Linear,
    head: Linear,
}

const WORDS: usize = 11;
const STEPS: usize = 14;

/// Losses and parameters of a training: tokens and labels that are checked, noise, an optimizer whose numbers differ from step to step; and what moves
/// memory: batches in new buffers, parameters and losses that are held, other evaluations.
fn training(device: &Device) -> Result<(Vec<u32>, Vec<Vec<f32>>)> {
    manual_seed(5);
    unigrad::tensor::eval::clear_plans();
    let cpu = Device::open("cpu")?;
    let net = {
        let net = Net {
            words: Embedding::new(WORDS, 8, &cpu),
            norm: LayerNorm::new(8, &cpu),
            hidden: Linear::new(8, 12, &cpu),
            head: Linear::new(12, 5, &cpu),
        };
        net.to(device)?;
        net
    };
    let mut optimizer = AdamW::new(net.parameters(), 1e-2)?;
    let (mut losses, mut held) = (Vec::new(), Vec::new());
    for step in 0..STEPS {
        let tokens: Vec<i64> = (0..6).map(|i| ((i * 5 + step * 3) % WORDS) as i64).collect();
        let labels: Vec<i64> = (0..6).map(|i| ((i + step) % 5) as i64).collect();
        let (tokens, labels) = (Tensor::from_slice(&tokens, [6], device), Tensor::from_slice(&labels, [6], device));
        let x = net.norm.forward(&net.words.forward(&tokens)).dropout(0.25);
        let loss = net.head.forward(&net.hidden.forward(&x).gelu()).cross_entropy(&labels);
        optimizer.minimize(&loss, &[])?;
        losses.push(loss.item::<f32>()?.to_bits());
        match step {
            5 | 9 => held.extend(net.parameters()),
            7 => held.push(loss),
            8 => held.push(Tensor::ones([300, 40], DType::F32, device).softmax(1).realize()?),
            11 => held.clear(),
            _ => {}
        }
    }
    let parameters = net.parameters().iter().map(|parameter| parameter.to_vec::<f32>()).collect::<Result<_>>()?;
    Ok((losses, parameters))
}

#[test]
fn a_training_is_the_same_replayed() {
    let _alone = alone();
    for device in devices() {
        for products in [Products::Own, Products::Library] {
            set(Replay::Off, products);
            let before = device.counters().replays;
            let expected = training(&device).unwrap();
            assert_eq!(device.counters().replays, before, "nothing is replayed where that is off");
            set(Replay::On, products);
            let got = training(&device).unwrap();
            assert_eq!(got, expected, "{device} {products:?}");
            let replays = device.counters().replays - before;
            assert!(replays >= STEPS as u64 - 4, "{device} {products:?}: {replays} of {STEPS} steps are replayed");
        }
    }
}

/// After the first steps a step is one call, of whose launches few are changed, and takes no memory of the driver.
#[test]
fn a_step_is_one_call() {
    let _alone = alone();
    set(Replay::On, Products::Own);
    for device in devices() {
        unigrad::tensor::eval::clear_plans();
        let mut x = Tensor::from_slice(&[0.5f32; 24], [4, 6], &device).realize().unwrap();
        let w = Tensor::from_slice(&[0.25f32; 36], [6, 6], &device).realize().unwrap();
        for step in 0..10u64 {
            let before = device.counters();
            for _ in 0..3 {
                x = x.matmul(&w).relu();
            }
            let sums = x.sum(0).exp();
            x = x.softmax(1).detach();
            Tensor::realize_all(&[&x, &sums]).unwrap();
            let after = device.counters();
            let (replays, changes) = (after.replays - before.replays, after.replay_changes - before.replay_changes);
            assert_eq!(replays, u64::from(step >= 2), "{device}: step {step}");
            if step >= 4 {
                assert_eq!(after.allocations, before.allocations, "{device}: step {step}");
                assert!(changes <= 6, "{device}: {changes} launches changed in step {step}");
            }
        }
    }
}

/// An index out of range is told by the read of what its own run computed, and by no other.
#[test]
fn an_error_is_told_by_its_own_run() {
    let _alone = alone();
    set(Replay::On, Products::Own);
    for device in devices() {
        unigrad::tensor::eval::clear_plans();
        let table = Tensor::from_slice(&(0..40).map(|i| i as f32).collect::<Vec<_>>(), [10, 4], &device).realize().unwrap();
        let before = device.counters().replays;
        let run = |at: i64| {
            let index = Tensor::from_slice(&[1i64, at, 3], [3], &device).realize().unwrap();
            let rows = table.index_select(0, &index);
            let y = (rows.softmax(1).matmul(&rows.transpose(0, 1)).sum(0) + rows.sum([0, 1])).exp().cumsum(0);
            y.realize()
        };
        let good = run(2).and_then(|y| y.to_vec::<f32>()).unwrap();
        for round in 0..4 {
            // Evaluated one after the other, and read afterwards.
            let all: Vec<_> = [2, 10, 2, 2, -11, 2].into_iter().map(|at| (at, run(at))).collect();
            for (at, y) in all {
                let y = y.and_then(|y| y.to_vec::<f32>());
                match at {
                    2 => assert_eq!(y.unwrap(), good, "{device}, round {round}"),
                    _ => assert!(y.unwrap_err().to_string().contains(&at.to_string()), "{device}, round {round}"),
                }
            }
        }
        assert!(device.counters().replays > before, "{device}: it is not replayed");
    }
}

#[test]
fn random_graphs_run_again_and_again() {
    let _alone = alone();
    let (mut failures, count) = (0, std::env::var("UNIGRAD_REPLAYS").ok().and_then(|text| text.parse().ok()).unwrap_or(60));
    for device in devices() {
        if let Some(why) = unigrad_testing::without_f64(&device) {
            println!("SKIPPED: random graphs on {}: {why}", device.name());
            continue;
        }
        let before = device.counters().replays;
        for seed in 0..count {
            let program = fuzz::generate(seed);
            if let Err(failure) = fuzz::check_again(&program, &device, seed) {
                println!("FAIL seed {seed} on {}: {failure}\n{program}", device.name());
                failures += 1;
            }
        }
        let replays = device.counters().replays - before;
        println!("{count} random graphs on {}, {replays} replays", device.name());
        assert!(replays > count / 2, "{}: {replays} replays", device.name());
    }
    assert_eq!(failures, 0, "see the FAIL lines above");
}
