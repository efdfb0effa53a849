//! Timing that waits for a quiet machine, and the line that tells the result.

use crate::{Failure, stream::tell};
use serde_json::json;
use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};
use unigrad::prelude::*;

/// How results are told, and where work runs.
pub(crate) struct Report {
    pub(crate) json: bool,
    /// Seconds spent on one timing.
    pub(crate) seconds: f64,
    pub(crate) device: Device,
}

/// One timing.
pub(crate) struct Timing {
    pub(crate) median_ms: f64,
    pub(crate) min_ms: f64,
    pub(crate) reps: usize,
    /// Cores that other processes used meanwhile.
    pub(crate) others: f64,
}

/// Ticks of the machine and of this process, in hundredths of a second.
fn ticks() -> (f64, f64) {
    let numbers =
        |text: String, skip: usize| -> Vec<f64> { text.split_whitespace().skip(skip).map(|w| w.parse().unwrap_or(0.0)).collect() };
    let machine = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let machine = numbers(machine.lines().next().unwrap_or_default().to_string(), 1);
    let busy: f64 = machine.iter().take(8).sum::<f64>() - machine.get(3).unwrap_or(&0.0) - machine.get(4).unwrap_or(&0.0);
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let own = numbers(own.rsplit(')').next().unwrap_or_default().to_string(), 0);
    (busy, own.get(11).unwrap_or(&0.0) + own.get(12).unwrap_or(&0.0))
}

fn others(before: (f64, f64), wall: Duration) -> f64 {
    let after = ticks();
    ((after.0 - before.0) - (after.1 - before.1)).max(0.0) / 100.0 / wall.as_secs_f64().max(0.01)
}

/// How long a timing waits for a quiet machine, and how often it is tried.
struct Patience {
    wait: Duration,
    tries: u32,
}

static PATIENCE: OnceLock<Patience> = OnceLock::new();

/// Reads `PEERS_WAIT_S` and `PEERS_TRIES`; what is no number there is refused.
pub(crate) fn read_patience() -> Result<(), Failure> {
    let setting = |name: &str, default: f64, most: f64| -> Result<f64, Failure> {
        let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(default) };
        let number = value.to_str().and_then(|text| text.trim().parse::<f64>().ok());
        number.filter(|number| (0.0..=most).contains(number)).ok_or_else(|| {
            Failure::new(format!("{name}={}: not a value of this setting", value.display()), format!("write a number from 0 to {most}"))
        })
    };
    let wait = Duration::from_secs_f64(setting("PEERS_WAIT_S", 12.0, 3600.0)?);
    let tries = setting("PEERS_TRIES", 3.0, 1000.0)? as u32;
    PATIENCE.get_or_init(|| Patience { wait, tries });
    Ok(())
}

fn patience() -> &'static Patience {
    PATIENCE.get_or_init(|| Patience { wait: Duration::from_secs(12), tries: 3 })
}

/// Waits until other processes use little, as long as the user's patience lasts, and says so.
fn wait_quiet() {
    let patience = patience().wait;
    let start = Instant::now();
    let mut said = false;
    while start.elapsed() < patience {
        let (before, begin) = (ticks(), Instant::now());
        std::thread::sleep(Duration::from_millis(400).min(patience));
        let busy = others(before, begin.elapsed());
        if busy < 0.15 {
            return;
        }
        if !std::mem::replace(&mut said, true) {
            let most = patience.as_secs_f64();
            tell(format_args!(
                "waiting for a quiet machine, at most {most} s: other processes use {busy:.1} cores (PEERS_WAIT_S=0 does not wait)"
            ));
        }
    }
}

/// Waits until every device has done its work.
pub(crate) fn settle() -> Result<()> {
    for device in Device::opened() {
        device.synchronize().map_err(unigrad::tensor::Error::from)?;
    }
    Ok(())
}

/// Times `step` until it was quiet, `PEERS_TRIES` times at most; the quietest counts.
pub(crate) fn time(seconds: f64, mut step: impl FnMut() -> Result<()>) -> Result<Timing> {
    let mut best = time_once(seconds, &mut step)?;
    for _ in 1..patience().tries {
        if best.others < 0.1 {
            break;
        }
        let again = time_once(seconds, &mut step)?;
        if again.others < best.others {
            best = again;
        }
    }
    Ok(best)
}

fn time_once(seconds: f64, step: &mut impl FnMut() -> Result<()>) -> Result<Timing> {
    wait_quiet();
    let (before, begin) = (ticks(), Instant::now());
    let mut warm = 0;
    while warm < 3 || (warm < 10 && begin.elapsed().as_secs_f64() < seconds * 0.3) {
        step()?;
        settle()?;
        warm += 1;
    }
    let mut times = Vec::new();
    let timed = Instant::now();
    while times.len() < 3 || (times.len() < 200 && timed.elapsed().as_secs_f64() < seconds) {
        let one = Instant::now();
        step()?;
        settle()?;
        times.push(one.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    let median_ms = if times.len().is_multiple_of(2) { (times[middle - 1] + times[middle]) / 2.0 } else { times[middle] };
    Ok(Timing { median_ms, min_ms: times[0], reps: times.len(), others: others(before, begin.elapsed()) })
}

impl Report {
    /// Tells a timing: `work` units per call.
    pub(crate) fn tell(&self, workload: &str, timing: &Timing, work: f64, unit: &str, note: &str) {
        let throughput = work / (timing.median_ms * 1e-3);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: f64 = load.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
        if self.json {
            let line = json!({
                "peer": format!("unigrad-{}", self.device.name()), "version": env!("CARGO_PKG_VERSION"), "workload": workload,
                "median_ms": timing.median_ms, "throughput": throughput, "unit": unit, "min_ms": timing.min_ms, "reps": timing.reps,
                "load1": load, "others": (timing.others * 100.0).round() / 100.0, "note": note,
            });
            say!("{line}");
        } else {
            let Timing { median_ms, min_ms, reps, others } = timing;
            say!(
                "{workload:<24} {median_ms:>10.3} ms  {throughput:>14.1} {unit:<10} min {min_ms:.3} ms, {reps} reps, others {others:.2}  {note}"
            );
        }
    }
}
