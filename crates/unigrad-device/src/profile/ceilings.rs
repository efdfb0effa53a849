//! What a device can do at most, measured: a copy within its memory, a large matrix product, an empty launch.

use crate::{Buffer, Device, Error};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Instant,
};
use unigrad_kernel::{Arg, Contract, KDim, Kernel, MDim, NDim};
use unigrad_scalar::DType;

/// A device's measured ceilings; 0 where something could not be measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ceilings {
    /// Bytes a nanosecond that a copy reads and writes together, so GB/s.
    pub gb_per_s: f64,
    /// Floating-point operations a nanosecond of a matrix product, in the faster of `f32` and `bf16`: GFLOP/s.
    pub gflop_per_s: f64,
    /// Nanoseconds of device time that the smallest launch takes.
    pub launch_ns: f64,
}

/// Tries of each measurement; the best counts.
const TRIES: usize = 3;

/// The ceilings of a device, measured at the first call.
pub(super) fn of(device: Device) -> Result<Ceilings, Error> {
    static KNOWN: Mutex<Option<HashMap<u32, Ceilings>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if let Some(ceilings) = known.get(&device.id()) {
        return Ok(*ceilings);
    }
    let info = device.info();
    // Large enough to leave the caches, small enough for what is free.
    let room = if info.memory_free > 0 { info.memory_free / 8 } else { 64 << 20 };
    let is_fast = !info.software && info.rank < 1000;
    let bytes = room.min(if is_fast { 1 << 30 } else { 64 << 20 }) as usize / 4096 * 4096;
    let n = if is_fast { 4096 } else { 512 };
    let ceilings = Ceilings {
        gb_per_s: copy_rate(device, bytes).unwrap_or(0.0),
        gflop_per_s: [DType::F32, DType::BF16].into_iter().filter_map(|dtype| product_rate(device, n, dtype).ok()).fold(0.0, f64::max),
        launch_ns: product(device, 1, DType::F32).and_then(|run| best(device, run)).unwrap_or(0.0),
    };
    known.insert(device.id(), ceilings);
    Ok(ceilings)
}

/// Nanoseconds of the fastest try of some work.
fn best(device: Device, mut work: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    work()?;
    device.synchronize()?;
    let mut best = f64::INFINITY;
    for _ in 0..TRIES {
        let (begin, before) = (Instant::now(), device.record()?);
        work()?;
        let after = device.record()?;
        device.synchronize()?;
        let host = begin.elapsed().as_secs_f64();
        best = best.min(1e9 * after.seconds_since(&before)?.unwrap_or(host));
    }
    Ok(best)
}

fn copy_rate(device: Device, bytes: usize) -> Result<f64, Error> {
    let (from, to) = (device.allocate(bytes)?, device.allocate(bytes)?);
    Ok(2.0 * bytes as f64 / best(device, || to.copy_from(0, &from, 0, bytes))?)
}

fn product_rate(device: Device, n: usize, dtype: DType) -> Result<f64, Error> {
    Ok(2.0 * (n as f64).powi(3) / best(device, product(device, n, dtype)?)?)
}

/// A square matrix product, ready to run.
fn product(device: Device, n: usize, dtype: DType) -> Result<impl FnMut() -> Result<(), Error>, Error> {
    let stride = n as i64;
    let arg = |write| Arg { dtype, len: n * n, write };
    let kernel = Kernel::Contract(Contract {
        batch: Default::default(),
        m: [MDim { size: n, a: stride, c: stride }].into_iter().collect(),
        n: [NDim { size: n, b: 1, c: 1 }].into_iter().collect(),
        k: [KDim { size: n, a: 1, b: stride }].into_iter().collect(),
        a_offset: 0,
        b_offset: 0,
        a: arg(false),
        b: arg(false),
        c: arg(true),
        tf32: false,
        epilogue: None,
        prologues: [None, None],
    });
    let program = device.compile(&kernel)?;
    let zeros = vec![0; n * n * dtype.size()];
    let buffers: Vec<Buffer> = (0..3).map(|_| device.allocate_with(&zeros)).collect::<Result<_, _>>()?;
    Ok(move || {
        let slices: Vec<_> = buffers.iter().map(Buffer::as_slice).collect();
        device.launch(&*program, &slices, &[])
    })
}
