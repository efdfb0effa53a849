//! One row in this process: its first step, then steps that are timed in three ways.
//!
//! In: a device, a row at one size, seconds. Out: [`Measured`], but for what only another process can time.
//! Always: what is made before does not count, but for the time to the first step; the peak is that of the steps, with all tensors that are alive.

use super::row::{Measured, Precision, SizedRow};
use crate::{
    statistics::median,
    timing::{others, settle, ticks},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};
use unigrad_device::{Config, Device, profile::Profiler};
use unigrad_tensor::{Result, manual_seed};

/// Steps before any is timed: what is replayed is recorded first.
const WARM: usize = 6;
/// Steps that are waited for, at most.
const MOST: usize = 200;
/// Rounds of steps that follow each other, and steps of a round at most: short steps need many, for the power is a mean over a while.
const ROUNDS: usize = 5;
const MOST_OF_ROUND: usize = 2000;
/// Steps under the profiler.
const PROFILED: usize = 3;
/// Between two looks at the power.
const LOOK: Duration = Duration::from_millis(20);

/// `first` hears of the end of the first step, and says whether to go on.
pub(super) fn measure(device: Device, sized: &SizedRow, seconds: f64, first: &mut dyn FnMut() -> bool) -> Result<Option<Measured>> {
    Config::set_allow_tf32(sized.precision == Precision::Tf32)?;
    manual_seed(42);
    let mut case = (sized.prepare)(&device)?;
    let step = &mut case.step;
    settle()?;
    device.reset_peak();
    step()?;
    settle()?;
    if !first() {
        return Ok(None);
    }
    let begin = Instant::now();
    for at in 1..WARM {
        step()?;
        settle()?;
        if at >= 2 && begin.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    let (before, begin) = (ticks(), Instant::now());
    let mut waited = Vec::new();
    // Three at least, but where one is longer than all the time.
    while waited.len() < MOST && (waited.is_empty() || begin.elapsed().as_secs_f64() < seconds * if waited.len() < 3 { 3.0 } else { 0.5 }) {
        let one = Instant::now();
        step()?;
        settle()?;
        waited.push(one.elapsed().as_secs_f64() * 1e3);
    }
    let waited_ms = median(&waited);
    let is_long = waited_ms * 1e-3 > seconds;
    let each = (seconds / 2.0 / ROUNDS as f64 / (waited_ms * 1e-3).max(1e-6)).ceil().clamp(1.0, MOST_OF_ROUND as f64) as usize;
    let (rounds, watts) = watched(device, || -> Result<Vec<f64>> {
        let mut rounds = Vec::new();
        for _ in 0..if is_long { 1 } else { ROUNDS } {
            let one = Instant::now();
            for _ in 0..each {
                step()?;
            }
            settle()?;
            rounds.push(one.elapsed().as_secs_f64() * 1e3 / each as f64);
        }
        Ok(rounds)
    });
    let ms = median(&rounds?);
    let others = others(before, begin.elapsed());
    let peak_bytes = device.memory_stats().peak;
    // A device that cannot be profiled has the host's times all the same.
    let device_ms = profiled(device, if is_long { 1 } else { PROFILED }, step).unwrap_or(None);
    let least = waited.iter().copied().fold(f64::INFINITY, f64::min);
    let note = (case.note)()?;
    Ok(Some(Measured {
        ms,
        waited_ms,
        min_ms: least,
        reps: waited.len(),
        device_ms,
        peak_bytes,
        watts,
        others,
        note,
        ..Measured::default()
    }))
}

/// Does some work, and looks at the device's power meanwhile: the median of the looks.
fn watched<T>(device: Device, work: impl FnOnce() -> T) -> (T, Option<f64>) {
    let power = move || device.health().ok().flatten().and_then(|health| health.power_w);
    if power().is_none() {
        return (work(), None);
    }
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut looks = Vec::new();
            while !is_done.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK);
                looks.extend(power());
            }
            looks
        });
        let done = work();
        is_done.store(true, Ordering::Relaxed);
        let looks = looks.join().unwrap_or_default();
        (done, (!looks.is_empty()).then(|| median(&looks)))
    })
}

/// Milliseconds of a step's launches together: the median of some steps; `None` where none are seen.
fn profiled(device: Device, steps: usize, step: &mut dyn FnMut() -> Result<()>) -> Result<Option<f64>> {
    let mut times = Vec::new();
    for _ in 0..steps {
        let profiler = Profiler::start()?;
        step()?;
        let profile = profiler.stop()?;
        let at = profile.devices.iter().position(|d| d.name == device.name());
        times.push(profile.events.iter().filter(|e| Some(e.device) == at).map(|e| e.duration_ns).sum::<f64>() / 1e6);
    }
    Ok(Some(median(&times)).filter(|ms| *ms > 0.0))
}
