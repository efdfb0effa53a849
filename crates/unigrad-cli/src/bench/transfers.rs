//! Copies between host and device and between devices, by the host's clock; and whether large ones run beside kernels.
//!
//! In: a device. Out: a line per direction, one for an upload beside matrix products, one per other device of the same backend.
//! Always: the median of some copies after warm-up, each waited for; contents are checked where they come back.

use super::timing::{Report, Timing, settle};
use std::time::Instant;
use unigrad::{
    device::{self, Buffer},
    prelude::{DType, Device, Result, Tensor},
};

const REPEATS: usize = 7;
const BYTES: usize = 256 << 20;

fn device_error(error: device::Error) -> unigrad::tensor::Error {
    error.into()
}

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

pub(super) fn run(report: &Report) -> Result<()> {
    let device = report.device;
    let bytes = if device.info().software || device.backend() == "cpu" { BYTES / 16 } else { BYTES };
    let data: Vec<u8> = (0..bytes).map(|at| (at / 4096) as u8).collect();
    let buffer = device.allocate(bytes).map_err(device_error)?;
    let rate = bytes as f64 / 1e9;
    let note = format!("{bytes} bytes");
    let upload = timed(|| buffer.upload(0, &data).map_err(device_error))?;
    report.tell("upload", &upload, rate, "GB/s", &note);
    let mut back = vec![0; bytes];
    let download = timed(|| buffer.download(0, &mut back).map_err(device_error))?;
    if back != data {
        return Err(device_error(device::Error::Copy {
            device: device.to_string(),
            cause: "what came back is not what was sent".to_owned(),
        }));
    }
    report.tell("download", &download, rate, "GB/s", &note);
    beside(report, &buffer, &data, &upload)?;
    for other in Device::all().devices.iter().filter(|info| info.backend == device.backend() && info.device() != device.name()) {
        let other = Device::open(&other.device()).map_err(device_error)?;
        let there = other.allocate(bytes).map_err(device_error)?;
        let timing = timed(|| there.copy_from(0, &buffer, 0, bytes).map_err(device_error))?;
        if there.to_vec().map_err(device_error)? != data {
            return Err(device_error(device::Error::Copy {
                device: other.to_string(),
                cause: "a copy between devices changed it".to_owned(),
            }));
        }
        report.tell(&format!("copy to {other}"), &timing, rate, "GB/s", &note);
    }
    Ok(())
}

/// Matrix products that take about as long as the upload: alone, and with the upload beside them.
fn beside(report: &Report, buffer: &Buffer, data: &[u8], upload: &Timing) -> Result<()> {
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
        buffer.upload(0, data).map_err(device_error)?;
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
