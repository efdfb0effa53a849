//! Copies between host and device and between devices, by the host's clock; and whether large ones run beside kernels.
//!
//! In: a device. Out: a line per direction, one for an upload beside matrix products, one per other device of the same backend.
//! Always: the median of some copies after warm-up, each waited for; contents are checked where they come back.

use crate::{
    line::Report,
    timing::{Timing, settle},
};
use std::time::Instant;
use unigrad_device::{self as device, Buffer, Device};
use unigrad_tensor::{DType, Result, Tensor};

const REPEATS: usize = 7;
const BYTES: usize = 256 << 20;

fn timed(mut work: impl FnMut() -> Result<()>) -> Result<Timing> {
    let mut times = Vec::with_capacity(REPEATS);
    for round in 0..REPEATS + 1 {
        settle()?;
        let begin = Instant::now();
        work()?;
        settle()?;
        if round > 0 {
            times.push(begin.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(Timing { median_ms: times[times.len() / 2], min_ms: times[0], reps: times.len(), others: 0.0 })
}

pub(super) fn run(report: &Report<'_>) -> Result<()> {
    let device = report.device;
    let bytes = if device.info().software || device.backend() == "cpu" { BYTES / 16 } else { BYTES };
    let data: Vec<u8> = (0..bytes).map(|at| (at / 4096) as u8).collect();
    let buffer = device.allocate(bytes)?;
    let rate = bytes as f64 / 1e9;
    let note = format!("{bytes} bytes");
    let upload = timed(|| Ok(buffer.upload(0, &data)?))?;
    report.tell("upload", &upload, rate, "GB/s", &note);
    let mut back = vec![0; bytes];
    let download = timed(|| Ok(buffer.download(0, &mut back)?))?;
    if back != data {
        return Err(device::Error::Copy { device: device.to_string(), cause: "what came back is not what was sent".to_owned() }.into());
    }
    report.tell("download", &download, rate, "GB/s", &note);
    beside(report, &buffer, &data, &upload)?;
    for other in Device::all().devices.iter().filter(|info| info.backend == device.backend() && info.device() != device.name()) {
        let other = Device::open(&other.device())?;
        let there = other.allocate(bytes)?;
        let timing = timed(|| Ok(there.copy_from(0, &buffer, 0, bytes)?))?;
        if there.to_vec()? != data {
            return Err(device::Error::Copy { device: other.to_string(), cause: "a copy between devices changed it".to_owned() }.into());
        }
        report.tell(&format!("copy to {other}"), &timing, rate, "GB/s", &note);
    }
    Ok(())
}

/// Matrix products that take about as long as the upload: alone, and with the upload beside them.
fn beside(report: &Report<'_>, buffer: &Buffer, data: &[u8], upload: &Timing) -> Result<()> {
    let device = report.device;
    let size = if device.info().software || device.backend() == "cpu" { 128 } else { 2048 };
    let x = (Tensor::randn([size, size], DType::F32, &device) / size as f64).realize()?;
    let products = |count: usize| -> Result<Tensor> {
        let mut y = x.clone();
        for _ in 0..count {
            y = y.matmul(&x).realize()?;
        }
        Ok(y)
    };
    let few = timed(|| products(8).map(drop))?;
    let count = ((8.0 * upload.median_ms / few.median_ms) as usize).clamp(8, 4096);
    let alone = timed(|| products(count).map(drop))?;
    let both = timed(|| {
        let last = products(count)?;
        buffer.upload(0, data)?;
        drop(last);
        Ok(())
    })?;
    let sum = alone.median_ms + upload.median_ms;
    let note = format!(
        "{count} products alone {:.2} ms, upload alone {:.2} ms, one after the other {sum:.2} ms",
        alone.median_ms, upload.median_ms
    );
    report.tell("products and upload", &both, data.len() as f64 / 1e9, "GB/s", &note);
    Ok(())
}
