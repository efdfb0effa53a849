//! What is counted during an epoch: losses that may still be computed, and means over what is known.
//!
//! Always: losses are added in the order of steps, in `f64`, weighted by items; what reads them waits for the device, and nothing else does.

use crate::learner::{Number, Outcome};
use std::collections::BTreeMap;
use unigrad_nn::{Checkpoint, Error, Result};
use unigrad_tensor::Tensor;

/// A step whose loss has not been read yet.
pub(crate) struct Pending {
    pub(crate) loss: Tensor,
    pub(crate) n_items: usize,
    pub(crate) numbers: Vec<Number>,
    pub(crate) undo: Vec<(Tensor, Tensor)>,
    /// The place of its first batch in the epoch, and how many batches it had.
    pub(crate) batch: usize,
    pub(crate) n_batches: usize,
    /// The process's random numbers before it.
    pub(crate) random: (u64, u64),
}

impl Pending {
    pub(crate) fn new(outcome: &Outcome, batch: usize, n_batches: usize, random: (u64, u64)) -> Pending {
        Pending {
            loss: outcome.loss.detach(),
            n_items: outcome.n_items,
            numbers: outcome.numbers.clone(),
            undo: outcome.undo.clone(),
            batch,
            n_batches,
            random,
        }
    }
}

/// Sums over the epoch so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Meter {
    sums: BTreeMap<String, f64>,
    n_items: u64,
}

const LOSS: &str = "loss";

impl Meter {
    /// Counts a step whose loss is known.
    pub(crate) fn add(&mut self, loss: f64, n_items: usize, numbers: &[Number]) -> Result<()> {
        let weight = n_items as f64;
        *self.sums.entry(LOSS.to_owned()).or_default() += loss * weight;
        for number in numbers {
            let value = number.value.to_f64()?;
            *self.sums.entry(number.name.clone()).or_default() += if number.is_sum { value } else { value * weight };
        }
        self.n_items += n_items as u64;
        Ok(())
    }

    /// Means over the items.
    pub(crate) fn means(&self) -> Vec<(String, f64)> {
        let n = self.n_items.max(1) as f64;
        self.sums.iter().map(|(name, sum)| (name.clone(), sum / n)).collect()
    }

    pub(crate) fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.set("position.items", self.n_items);
        checkpoint.set("position.loss_sum", self.sums.get(LOSS).copied().unwrap_or(0.0));
        for (name, sum) in self.sums.iter().filter(|(name, _)| *name != LOSS) {
            checkpoint.set(&format!("position.sum.{name}"), sum);
        }
    }

    pub(crate) fn load(checkpoint: &Checkpoint) -> Result<Meter> {
        let mut meter = Meter { n_items: checkpoint.get("position.items")?, ..Meter::default() };
        let loss: f64 = checkpoint.get("position.loss_sum")?;
        let others = checkpoint.texts_below("position.sum.");
        for name in others.keys() {
            meter.sums.insert(name.clone(), checkpoint.get(&format!("position.sum.{name}"))?);
        }
        let all_zero = loss == 0.0 && meter.sums.values().all(|sum| *sum == 0.0);
        // More items than any run sees.
        let too_many = meter.n_items > 1 << 53;
        if too_many || !loss.is_finite() || meter.sums.values().any(|sum| sum.is_nan()) || meter.n_items == 0 && !all_zero {
            let cause = format!("has sums {loss}, {:?} over {} items", meter.sums, meter.n_items);
            return Err(Error::format(std::path::Path::new(checkpoint.source()), cause, crate::saved::HELP));
        }
        if meter.n_items > 0 {
            meter.sums.insert(LOSS.to_owned(), loss);
        }
        Ok(meter)
    }
}
