//! Timing that waits for a quiet machine.

use std::time::{Duration, Instant};
use unigrad_device::{Device, tell};
use unigrad_tensor::{Error, Result};

/// One timing.
pub(crate) struct Timing {
    pub(crate) median_ms: f64,
    pub(crate) min_ms: f64,
    pub(crate) reps: usize,
    /// Cores that other processes used meanwhile.
    pub(crate) others: f64,
}

/// Ticks of the machine and of this process, in hundredths of a second.
pub(crate) fn ticks() -> (f64, f64) {
    let numbers =
        |text: String, skip: usize| -> Vec<f64> { text.split_whitespace().skip(skip).map(|w| w.parse().unwrap_or(0.0)).collect() };
    let machine = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let machine = numbers(machine.lines().next().unwrap_or_default().to_string(), 1);
    let busy: f64 = machine.iter().take(8).sum::<f64>() - machine.get(3).unwrap_or(&0.0) - machine.get(4).unwrap_or(&0.0);
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let own = numbers(own.rsplit(')').next().unwrap_or_default().to_string(), 0);
    (busy, own.get(11).unwrap_or(&0.0) + own.get(12).unwrap_or(&0.0))
}

pub(crate) fn others(before: (f64, f64), wall: Duration) -> f64 {
    let after = ticks();
    ((after.0 - before.0) - (after.1 - before.1)).max(0.0) / 100.0 / wall.as_secs_f64().max(0.01)
}

/// How long a timing waits for a quiet machine, and how often it is tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Patience {
    /// The longest wait before one timing.
    pub wait: Duration,
    /// Timings of one workload, of which the least disturbed counts.
    pub tries: u32,
}

impl Default for Patience {
    /// 12 seconds, 3 tries.
    fn default() -> Patience {
        Patience { wait: Duration::from_secs(12), tries: 3 }
    }
}

impl Patience {
    /// Takes what is there: waits for nothing and tries once.
    pub const NONE: Patience = Patience { wait: Duration::ZERO, tries: 1 };

    /// From `PEERS_WAIT_S` and `PEERS_TRIES`; what is no number there is an error.
    pub fn from_env() -> Result<Patience> {
        let setting = |name: &str, default: f64, most: f64| -> Result<f64> {
            let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else { return Ok(default) };
            let number = value.to_str().and_then(|text| text.trim().parse::<f64>().ok());
            number.filter(|number| (0.0..=most).contains(number)).ok_or_else(|| {
                let cause = format!("{name}={}: not a value of this setting", value.display());
                Error::argument(cause, format!("write a number from 0 to {most}"))
            })
        };
        let wait = Duration::from_secs_f64(setting("PEERS_WAIT_S", 12.0, 3600.0)?);
        Ok(Patience { wait, tries: setting("PEERS_TRIES", 3.0, 1000.0)? as u32 })
    }
}

/// Waits until other processes use little, as long as the user's patience lasts, and says so.
fn wait_quiet(patience: Duration) {
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
        device.synchronize()?;
    }
    Ok(())
}

/// Times `step` until it was quiet, `PEERS_TRIES` times at most; the quietest counts.
pub(crate) fn time(seconds: f64, patience: &Patience, mut step: impl FnMut() -> Result<()>) -> Result<Timing> {
    let mut best = time_once(seconds, patience.wait, &mut step)?;
    for _ in 1..patience.tries {
        if best.others < 0.1 {
            break;
        }
        let again = time_once(seconds, patience.wait, &mut step)?;
        if again.others < best.others {
            best = again;
        }
    }
    Ok(best)
}

fn time_once(seconds: f64, patience: Duration, step: &mut impl FnMut() -> Result<()>) -> Result<Timing> {
    wait_quiet(patience);
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
    let median_ms = crate::statistics::median(&times);
    Ok(Timing { median_ms, min_ms: times[0], reps: times.len(), others: others(before, begin.elapsed()) })
}
