//! Named axes: training steps whose batch or sequence length changes run a few plans, compile nothing after them, need no more memory than the
//! largest size, and compute what steps without names compute. On the CPU and on the machine's OpenCL devices (PoCL, where no GPU is there).
//!
//! All padding of data is NaN (of integers -1), so whatever an op let through would be seen.

use std::sync::{Mutex, MutexGuard, PoisonError};
use unigrad::nn::{Linear, Module, Sgd, random::Rng};
use unigrad::prelude::*;
use unigrad::tensor::{Dim, eval};

/// Counters are the process's, and so are plans.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    eval::set_padding(255);
    guard
}

fn devices() -> Vec<Device> {
    let all = Device::all();
    let wanted = |backend: &str| matches!(backend, "cpu" | "opencl");
    let found: Vec<Device> =
        all.devices.iter().filter(|info| wanted(info.backend)).filter_map(|info| Device::open(&info.device()).ok()).collect();
    if !found.iter().any(|device| device.to_string().contains("opencl")) {
        println!("SKIPPED: no OpenCL device is here");
    }
    found
}

/// The most plans that a range of sizes may need.
const PLANS: u64 = 12;

/// What steps of some sizes cost.
struct Cost {
    plans: u64,
    compiles: u64,
    peak: u64,
}

fn cost(device: Device, steps: impl FnOnce() -> Result<()>) -> Result<Cost> {
    let before = eval::stats();
    device.reset_peak();
    let base = device.memory_stats().allocated;
    steps()?;
    device.synchronize()?;
    let after = eval::stats();
    assert_eq!(after.plans_unfused, before.plans_unfused, "a plan could not be fused");
    let peak = device.memory_stats().peak;
    println!("{device}: {} plans, {} kernels, peak {peak} B ({base} B before)", after.plans_built - before.plans_built, after.compiles - before.compiles);
    Ok(Cost { plans: after.plans_built - before.plans_built, compiles: after.compiles - before.compiles, peak })
}

/// The greatest difference of two tensors, by how far their sizes let it be.
fn apart(a: &Tensor, b: &Tensor) -> Result<f64> {
    let (a, b) = (a.to_vec::<f32>()?, b.to_vec::<f32>()?);
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1e-3, |most: f32, x| most.max(x.abs()));
    let difference = a.iter().zip(&b).map(|(a, b)| if a.is_finite() { (a - b).abs() / scale } else { f32::INFINITY });
    Ok(f64::from(difference.fold(0.0, f32::max)))
}

const INPUTS: usize = 20;
const CLASSES: usize = 10;

#[derive(Module)]
struct Mlp {
    first: Linear,
    last: Linear,
}

impl Mlp {
    fn new(device: &Device) -> Mlp {
        manual_seed(5);
        Mlp { first: Linear::new(INPUTS, 33, device), last: Linear::new(33, CLASSES, device) }
    }

    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        self.last.forward(&self.first.forward(x).relu()).cross_entropy(y)
    }
}

fn rows(n: usize, seed: u64, device: &Device) -> (Tensor, Tensor) {
    let mut rng = Rng::new(seed, 1);
    let x: Vec<f32> = (0..n * INPUTS).map(|_| rng.uniform() as f32 * 2.0 - 1.0).collect();
    let y: Vec<i64> = (0..n).map(|_| (rng.next_u64() % CLASSES as u64) as i64).collect();
    (Tensor::from_vec(x, [n, INPUTS], device), Tensor::from_vec(y, [n], device))
}

#[test]
fn a_batch_of_any_size_trains_an_mlp() -> Result<()> {
    let _alone = alone();
    const BATCH: usize = 64;
    for device in devices() {
        let batch = Dim::named("batch", 1..=BATCH)?;
        let (named, exact) = (Mlp::new(&device), Mlp::new(&device));
        let [mut fast, mut slow] = [&named, &exact].map(|model| Sgd::new(model.parameters(), 0.05).unwrap());
        for model in [&named, &exact] {
            model.realize()?;
        }
        let mut losses: Vec<f32> = Vec::new();
        let mut step = |n: usize, losses: &mut Vec<f32>| -> Result<()> {
            let (x, y) = rows(n, n as u64, &device);
            let loss = named.loss(&x.with_dim(0, &batch), &y.with_dim(0, &batch));
            fast.minimize(&loss, &[])?;
            losses.push(loss.item::<f32>()?);
            Ok(())
        };
        let largest = cost(device, || (0..2).try_for_each(|_| step(BATCH, &mut losses)))?;
        let order: Vec<usize> = Rng::new(3, 0).permutation(BATCH - 1).into_iter().map(|n| n + 1).collect();
        let all = cost(device, || order.iter().try_for_each(|n| step(*n, &mut losses)))?;
        assert!(largest.plans + all.plans <= PLANS, "{} plans", largest.plans + all.plans);
        assert!(all.peak as f64 <= largest.peak as f64 * 1.05, "a peak of {} B, of the largest {} B", all.peak, largest.peak);
        let again = cost(device, || order.iter().rev().try_for_each(|n| step(*n, &mut losses)))?;
        assert_eq!((again.plans, again.compiles), (0, 0));
        // The same steps without names.
        let sizes = [BATCH, BATCH].into_iter().chain(order.iter().copied()).chain(order.iter().rev().copied());
        for (i, n) in sizes.enumerate() {
            let (x, y) = rows(n, n as u64, &device);
            let loss = exact.loss(&x, &y);
            slow.minimize(&loss, &[])?;
            let loss = loss.item::<f32>()?;
            assert!((loss - losses[i]).abs() < 2e-5, "{device}, step {i} of {n} rows: {} with names, {loss} without", losses[i]);
        }
        for (a, b) in named.parameters().iter().zip(exact.parameters()) {
            assert!(apart(a, &b)? < 1e-4, "{device}: a parameter differs by {}", apart(a, &b)?);
        }
    }
    Ok(())
}
