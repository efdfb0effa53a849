//! `unigrad bench kernels`: how near single kernels come to a device's ceilings, by the device's own clock.
//!
//! In: a device. Out: a line per kernel: rate, and its part of what a copy within the device reaches in the same run.
//! Always: bytes are those that the operation must move (each input and output once), whatever the kernel moves; the median of the
//! launches after warm-up counts, results in memory. Sizes shrink to an eighth of the device's memory where they do not fit, and say so.

use crate::{
    line::Report,
    timing::{Timing, settle},
};
use unigrad_device::{Device, profile::Profiler};
use unigrad_nn as nn;
use unigrad_tensor::{AttentionOptions, DType, Result, Tensor};

/// Launches after warm-up.
const REPEATS: usize = 15;

/// Median and minimum milliseconds that a step's launches take on the device together (by the host's clock where the device has none).
/// What the host does between them is not counted: `unigrad bench W8` and others time whole steps.
fn timed(device: Device, mut step: impl FnMut() -> Result<()>) -> Result<Timing> {
    for _ in 0..3 {
        step()?;
    }
    settle()?;
    let mut times = Vec::with_capacity(REPEATS);
    for _ in 0..REPEATS {
        let profiler = Profiler::start()?;
        step()?;
        let profile = profiler.stop()?;
        let at = profile.devices.iter().position(|d| d.name == device.name());
        times.push(profile.events.iter().filter(|e| Some(e.device) == at).map(|e| e.duration_ns).sum::<f64>() / 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok(Timing { median_ms: times[times.len() / 2], min_ms: times[0], reps: times.len(), others: 0.0 })
}

fn normal(shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    Tensor::randn(shape.to_vec(), dtype, device).realize()
}

/// Elements of a size that is wanted, or what an eighth of the memory holds.
fn fitting(device: Device, wanted: usize, bytes_each: usize) -> usize {
    let free = device.info().memory_free;
    let unknown = if device.info().software { 1 << 28 } else { 1 << 32 };
    let room = if free == 0 { unknown } else { free / 8 } as usize / bytes_each;
    if wanted <= room { wanted } else { 1 << room.max(2).ilog2() }
}

pub(crate) fn run(report: &Report<'_>) -> Result<()> {
    let device = report.device;
    let copy = copy(report)?;
    crate::transfers::run(report)?;
    let bandwidth = |name: &str, timing: &Timing, bytes: f64, note: &str| {
        let part = bytes / timing.median_ms / 1e6 / copy;
        report.tell(name, timing, bytes / 1e9, "GB/s", &format!("{:.1} % of copy{note}", 100.0 * part));
    };
    let wanted = 1 << 28;
    let n = fitting(device, wanted, 4);
    {
        let [x, w, b, r] = [0; 4].map(|_| normal(&[n], DType::F32, &device));
        let (x, w, b, r) = (x?, w?, b?, r?);
        let timing = timed(device, || ((&x * &w + &b).gelu_tanh() + &r).realize().map(drop))?;
        bandwidth("gelu_chain_f32", &timing, 20.0 * n as f64, &format!("; n={n}"));
    }
    for dtype in [DType::F32, DType::BF16] {
        let columns = 4096;
        let rows = fitting(device, 65536 * columns, dtype.size()) / columns;
        let x = normal(&[rows, columns], dtype, &device)?;
        let (weight, bias) = (normal(&[columns], dtype, &device)?, normal(&[columns], dtype, &device)?);
        let bytes = 2.0 * (rows * columns * dtype.size()) as f64;
        let note = format!("; {rows}x{columns}");
        let timing = timed(device, || x.softmax(-1).realize().map(drop))?;
        bandwidth(&format!("softmax_{dtype}"), &timing, bytes, &note);
        let timing = timed(device, || x.layer_norm(Some(&weight), Some(&bias), 1e-5).realize().map(drop))?;
        bandwidth(&format!("layer_norm_{dtype}"), &timing, bytes, &note);
        let timing = timed(device, || x.rms_norm(Some(&weight), 1e-5).realize().map(drop))?;
        bandwidth(&format!("rms_norm_{dtype}"), &timing, bytes, &note);
    }
    for (count, each) in [(8, 125_000_000), (148, 840_000)] {
        let each = fitting(device, each * count, 16).min(each * count) / count;
        let mut parameters = Vec::new();
        let mut gradients = Vec::new();
        for _ in 0..count {
            parameters.push(normal(&[each], DType::F32, &device)?.requires_grad());
            gradients.push(normal(&[each], DType::F32, &device)?);
        }
        let mut optimizer = nn::AdamW::new(parameters.clone(), 1e-3)?;
        let timing = timed(device, || {
            parameters.iter().zip(&gradients).for_each(|(p, g)| p.set_grad(Some(g.clone())));
            optimizer.step()
        })?;
        bandwidth(&format!("adamw_{count}x"), &timing, 28.0 * (count * each) as f64, &format!("; {count}x{each}"));
    }
    for dtype in [DType::F32, DType::BF16] {
        let (m, k) = (fitting(device, 1 << 28, dtype.size()) / 16384, 16384);
        let (a, x) = (normal(&[m, k], dtype, &device)?, normal(&[k, 1], dtype, &device)?);
        let timing = timed(device, || a.matmul(&x).realize().map(drop))?;
        bandwidth(&format!("gemv_{dtype}"), &timing, (m * k * dtype.size()) as f64, &format!("; {m}x{k}"));
        let row = normal(&[1, m], dtype, &device)?;
        let timing = timed(device, || row.matmul(&a).realize().map(drop))?;
        bandwidth(&format!("gemv_transposed_{dtype}"), &timing, (m * k * dtype.size()) as f64, &format!("; {m}x{k}"));
    }
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        for size in [512, 1024, 2048, 4096, 8192] {
            if device.info().software && size > 512 {
                continue;
            }
            let (a, b) = (normal(&[size, size], dtype, &device)?, normal(&[size, size], dtype, &device)?);
            let timing = timed(device, || a.matmul(&b).realize().map(drop))?;
            report.tell(&format!("gemm_{dtype}_{size}"), &timing, 2.0 * (size as f64).powi(3) / 1e12, "TFLOP/s", "");
        }
    }
    let sizes = [(8, 16, 4096, 128), (16, 12, 1024, 64)];
    for (dtype, (batch, heads, length, features)) in [DType::BF16, DType::F16].into_iter().flat_map(|dtype| sizes.map(|size| (dtype, size)))
    {
        let length = if device.info().software { 64 } else { length };
        let shape = [batch, heads, length, features];
        let [q, k, v] = [0; 3].map(|_| normal(&shape, dtype, &device));
        let (q, k, v) = (q?, k?, v?);
        let options = AttentionOptions { causal: true, ..AttentionOptions::default() };
        let timing = timed(device, || q.attention(&k, &v, &options).realize().map(drop))?;
        let flops = 2.0 * (batch * heads * length * length * features) as f64;
        report.tell(&format!("attention_{dtype}_d{features}"), &timing, flops / 1e12, "TFLOP/s", &format!("causal {shape:?}"));
    }
    Ok(())
}

/// GB/s of a copy within the device, read and written bytes counted.
fn copy(report: &Report<'_>) -> Result<f64> {
    let device = report.device;
    let bytes = 4 * fitting(device, 1 << 28, 4);
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    let timing = timed(device, || {
        to.copy_from(0, &from, 0, bytes)?;
        Ok(())
    })?;
    report.tell("copy", &timing, 2.0 * bytes as f64 / 1e9, "GB/s", &format!("{bytes} bytes"));
    Ok(2.0 * bytes as f64 / timing.median_ms / 1e6)
}
