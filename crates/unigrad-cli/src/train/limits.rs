//! What sizes may be, wherever they come from: the command line, a checkpoint, a golden file.
//!
//! In: numbers. Out: the same numbers, or an error that names the number, its source and what is possible.
//! Always: what needs more memory than there is, by a bound that no plan can stay below, is refused before anything is made of it; for the
//! system would kill the process instead of refusing the memory.

use crate::Failure;
use std::{fmt::Display, ops::RangeInclusive};
use unigrad::{nn::models::GptConfig, prelude::Device};

/// A number with a name and a range.
pub(crate) struct Limit {
    name: &'static str,
    range: RangeInclusive<u64>,
}

pub(crate) const BATCH: Limit = Limit { name: "batch", range: 1..=1 << 24 };
pub(crate) const EPOCHS: Limit = Limit { name: "epochs", range: 1..=1_000_000 };
/// Below the streams of random numbers that tests and samples use.
pub(crate) const STEPS: Limit = Limit { name: "steps", range: 1..=1_000_000_000_000 };
/// Each is many nodes of the graph, whatever its width.
pub(crate) const LAYERS: Limit = Limit { name: "layers", range: 1..=10_000 };
pub(crate) const HEADS: Limit = Limit { name: "heads", range: 1..=1 << 16 };
pub(crate) const DIM: Limit = Limit { name: "dim", range: 1..=1 << 20 };
pub(crate) const CTX: Limit = Limit { name: "ctx", range: 1..=1 << 24 };

impl Limit {
    /// The number, if it is in the range; `source` says where it stands.
    pub(crate) fn check<T: TryInto<u64> + Display + Copy>(&self, value: T, source: &str) -> Result<T, Failure> {
        match value.try_into() {
            Ok(number) if self.range.contains(&number) => Ok(value),
            _ => {
                let cause = format!("{source}{} is {value}", self.name);
                Err(Failure::new(cause, format!("use a number from {} to {}", self.range.start(), self.range.end())))
            }
        }
    }
}

/// A learning rate.
pub(crate) fn rate(value: f64, source: &str) -> Result<f64, Failure> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Failure::new(format!("{source}lr is {value}"), "a learning rate is a finite number above 0"))
}

/// Refuses what needs more bytes than a device has free. One that does not tell takes everything.
fn check_memory(place: &str, free: u64, needed: f64, what: &str, help: &str) -> Result<(), Failure> {
    if free == 0 || needed <= free as f64 {
        return Ok(());
    }
    let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
    let (needed, free) = (gigabytes(needed), gigabytes(free as f64));
    Err(Failure::new(format!("{what} needs at least {needed}, and {place} has {free} free"), help))
}

fn free_on(device: &Device) -> u64 {
    let info = device.info();
    if info.memory_free > 0 { info.memory_free } else { info.memory_total }
}

fn free_on_host() -> u64 {
    // The host's memory is the CPU's.
    Device::open("cpu").map_or(0, |cpu| free_on(&cpu))
}

/// Whether a character model and its batches can fit.
pub(crate) fn check_gpt(config: &GptConfig, batch: usize, device: &Device) -> Result<(), Failure> {
    let [vocab, ctx, layers, dim, batch] = [config.vocab, config.ctx, config.layers, config.dim, batch].map(|n| n as f64);
    let parameters = layers * (12.0 * dim * dim + 2.0 * dim) + (vocab + ctx + 1.0) * dim;
    let tokens = batch * ctx;
    // Values and two moments of every parameter; each block's input, which its gradient needs; the tokens and their targets.
    let needed = 12.0 * parameters + 4.0 * tokens * dim * layers + 16.0 * tokens;
    let what = format!("a model of {parameters} parameters with batches of {tokens} characters");
    let help = "use a smaller `--dim`, `--layers`, `--ctx` or `--batch`";
    check_memory(device.name(), free_on(device), needed, &what, help)?;
    check_memory("the host", free_on_host(), 16.0 * tokens, &what, help)
}

/// Whether batches of images, and a layer's weights of so many inputs and outputs, can fit.
pub(crate) fn check_images(pixels: usize, batch: usize, weights: f64, device: &Device) -> Result<(), Failure> {
    let batch_bytes = 4.0 * pixels as f64 * batch as f64;
    let what = format!("a batch of {batch} images of {pixels} pixels");
    check_memory(device.name(), free_on(device), batch_bytes + 12.0 * weights, &format!("{what} with its model"), "use smaller images")?;
    check_memory("the host", free_on_host(), batch_bytes, &what, "use a smaller `--batch`, or smaller images")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(failure: Failure) -> String {
        match failure {
            Failure::Error(text) => text,
            Failure::Interrupted => String::new(),
        }
    }

    #[test]
    fn ranges_have_two_ends() {
        for limit in [BATCH, EPOCHS, STEPS, LAYERS, HEADS, DIM, CTX] {
            let (low, high) = (*limit.range.start(), *limit.range.end());
            assert!(limit.check(low, "").is_ok() && limit.check(high, "").is_ok());
            for wrong in [low - 1, high + 1, u64::MAX] {
                let error = text(limit.check(wrong, "--").unwrap_err());
                assert!(error.contains(&format!("--{} is {wrong}", limit.name)) && error.contains("help: "), "{error}");
            }
        }
        assert!([1e-300, 1.0, f64::MAX].iter().all(|lr| rate(*lr, "").is_ok()));
        assert!([0.0, -1.0, f64::NAN, f64::INFINITY].iter().all(|lr| rate(*lr, "").is_err()));
    }

    #[test]
    fn what_cannot_fit_is_refused() {
        let device = Device::open("cpu").unwrap();
        let config = |layers, dim, ctx| GptConfig { vocab: 65, ctx, layers, heads: 1, dim };
        assert!(check_gpt(&config(6, 384, 256), 8, &device).is_ok());
        for (config, batch) in [
            (config(10_000, 1 << 20, 256), 8),
            (config(6, 384, 1 << 24), 1 << 24),
            (config(usize::MAX, usize::MAX, usize::MAX), usize::MAX),
        ] {
            let error = text(check_gpt(&config, batch, &device).unwrap_err());
            assert!(error.contains("needs at least") && error.contains("--batch"), "{error}");
        }
        assert!(check_images(784, 64, 1e6, &device).is_ok());
        assert!(check_images(usize::MAX, usize::MAX, 1e30, &device).is_err());
    }
}
