//! What a device does at most, measured: the rates of its memory and of its products.
//!
//! In: a device. Out: GB/s of a copy, of a map and of a sum; GFLOP/s of the best square product in each precision, on a processor of multiply-adds in
//! registers too.
//! Always: the fastest of some tries counts; sizes grow until a try takes a while, so that the slowest device answers too. What a device cannot do is 0.

use super::{fma, row::Precision};
use crate::timing::settle;
use std::time::Instant;
use unigrad_device::{Config, Device};
use unigrad_tensor::{DType, Fp8Recipe, Result, Tensor, autocast_fp8};

/// Tries of a measurement.
const TRIES: usize = 5;
/// Steps that follow each other in a try.
const STEPS: usize = 4;
/// Seconds that a step may take.
const LONGEST: f64 = 0.25;
/// A product is worth a larger one, however long that takes, where its rate is so many times the one before it.
const GROWS: f64 = 1.5;
/// Bytes that a memory's rate is measured with, at least.
const FEW_BYTES: usize = 4 << 20;
/// Sizes of products: the least on a GPU, whose small ones are far from its ceiling, and elsewhere.
const SMALLEST_ON_GPU: usize = 1024;
const SMALLEST: usize = 64;
const LARGEST: usize = 8192;

/// A device's ceilings; 0 where something could not be measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings {
    /// GB/s of a copy between two buffers, read and written bytes counted.
    pub copy: f64,
    /// Likewise of a kernel that adds 1.
    pub map: f64,
    /// Of a kernel that sums: read bytes.
    pub read: f64,
    /// GFLOP/s of the best product in each of [`Precision`], and its size.
    pub products: [(f64, usize); 4],
    /// GFLOP/s of multiply-adds in the registers of all cores, where the device is the processor.
    pub fma: Option<f64>,
}

impl Ceilings {
    /// GB/s: the best of the three ways.
    pub fn gb_per_s(&self) -> f64 {
        self.copy.max(self.map).max(self.read)
    }

    /// GFLOP/s of products: the best that any precision allows which is at least as precise.
    pub fn gflop_per_s(&self, precision: Precision) -> f64 {
        let [f32, tf32, bf16, fp8] = self.products.map(|(rate, _)| rate);
        let f32 = f32.max(self.fma.unwrap_or(0.0));
        match precision {
            Precision::F32 => f32,
            Precision::Tf32 => f32.max(tf32),
            Precision::Bf16 => f32.max(bf16),
            Precision::Fp8 => f32.max(bf16).max(fp8),
        }
    }

    /// Measures a device.
    pub(super) fn measure(device: Device, threads: Option<usize>) -> Result<Ceilings> {
        let info = device.info();
        let is_processor = device.backend() == "cpu";
        let wanted: u64 = if info.is_gpu() { 1 << 30 } else { 256 << 20 };
        let room = if info.memory_free > 0 { info.memory_free / 16 } else { 64 << 20 };
        let most = wanted.min(room) as usize;
        // What a program interprets takes its time; the others leave their caches.
        let mut bytes = FEW_BYTES;
        let (x, map) = loop {
            let x = Tensor::ones([bytes / 4], DType::F32, &device).realize()?;
            let map = best(|| (&x + 1.0).realize().map(drop)).ok();
            if bytes * 2 > most || map.is_none_or(|seconds| 2.0 * seconds > LONGEST) {
                break (x, map);
            }
            bytes *= 2;
        };
        let gb = bytes as f64 / 1e9;
        let copy = device.allocate(bytes).and_then(|from| Ok((from, device.allocate(bytes)?)));
        let copy = copy.ok().and_then(|(from, to)| best(|| Ok(to.copy_from(0, &from, 0, bytes)?)).ok());
        let read = best(|| x.sum(()).realize().map(drop)).ok();
        drop(x);
        let rate = |gb: f64, seconds: Option<f64>| seconds.map_or(0.0, |seconds| gb / seconds);
        let tf32 = Config::set_allow_tf32(false)?;
        let products = Precision::ALL.map(|precision| {
            let rate = Config::set_allow_tf32(precision == Precision::Tf32).map_err(Into::into).and_then(|_| product(device, precision));
            device.clear_cache();
            rate.unwrap_or((0.0, 0))
        });
        Config::set_allow_tf32(tf32)?;
        let fma = if is_processor { fma::gflop_per_s(threads) } else { None };
        Ok(Ceilings { copy: rate(2.0 * gb, copy), map: rate(2.0 * gb, map), read: rate(gb, read), products, fma })
    }
}

/// Seconds of a step: the fastest of some tries of several steps each.
fn best(mut step: impl FnMut() -> Result<()>) -> Result<f64> {
    step()?;
    settle()?;
    let mut best = f64::INFINITY;
    let begin = Instant::now();
    for _ in 0..TRIES {
        let one = Instant::now();
        for _ in 0..STEPS {
            step()?;
        }
        settle()?;
        best = best.min(one.elapsed().as_secs_f64() / STEPS as f64);
        if begin.elapsed().as_secs_f64() > 2.0 * LONGEST {
            break;
        }
    }
    Ok(best.max(1e-9))
}

/// GFLOP/s of the best square product, and its size.
fn product(device: Device, precision: Precision) -> Result<(f64, usize)> {
    let dtype = match precision {
        Precision::F32 | Precision::Tf32 => DType::F32,
        Precision::Bf16 | Precision::Fp8 => DType::BF16,
    };
    let mut found = (0.0, 0);
    let mut n = if device.info().is_gpu() { SMALLEST_ON_GPU } else { SMALLEST };
    while n <= LARGEST {
        let [a, b] = [0; 2].map(|_| Tensor::uniform([n, n], -1.0, 1.0, dtype, &device).realize());
        let (a, b) = (a?, b?);
        let seconds = best(|| match precision {
            Precision::Fp8 => autocast_fp8(&Fp8Recipe::default(), || a.linear(&b, None)).realize().map(drop),
            Precision::F32 | Precision::Tf32 | Precision::Bf16 => a.matmul(&b).realize().map(drop),
        })?;
        let rate = 2.0 * (n as f64).powi(3) / seconds / 1e9;
        let is_short = 8.0 * seconds <= LONGEST || (seconds < LONGEST && rate > GROWS * found.0);
        if rate > found.0 {
            found = (rate, n);
        }
        if !is_short {
            break;
        }
        n *= 2;
    }
    Ok(found)
}
