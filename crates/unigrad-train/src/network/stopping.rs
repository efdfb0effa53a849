//! Early stopping and the best epochs in words; [`EarlyStopping`] and [`KeepBest`] do it.

use super::schedule::BetterSpec;
use crate::{EarlyStopping, KeepBest};
use serde::{Deserialize, Serialize};
use unigrad_nn::{Error, Result};

/// Ends training when a metric has not got better for a while.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stopping {
    /// Which, as the history names it.
    pub metric: String,
    /// For how many epochs it may be no better.
    pub patience: u64,
    /// By how much a value is to be better to count as such.
    pub min_delta: f64,
    /// Which values are better.
    pub better: BetterSpec,
    /// Whether the weights of the best epoch are put back at the end.
    pub restore_best: bool,
}

impl Default for Stopping {
    fn default() -> Stopping {
        Stopping { metric: "val_loss".to_owned(), patience: 5, min_delta: 0.0, better: BetterSpec::Lower, restore_best: true }
    }
}

impl Stopping {
    /// The callback that does it.
    pub(super) fn callback(&self) -> EarlyStopping {
        let callback = EarlyStopping::new(&self.metric, self.better.of()).patience(self.patience).min_delta(self.min_delta);
        if self.restore_best { callback.restore_best() } else { callback }
    }
}

/// Keeps the weights of the best epochs: `best.safetensors`, or `top-EPOCH.safetensors` for more than one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keeping {
    /// By which metric, as the history names it.
    pub metric: String,
    /// Which values are better.
    pub better: BetterSpec,
    /// How many epochs.
    pub top: usize,
}

impl Default for Keeping {
    fn default() -> Keeping {
        Keeping { metric: "val_loss".to_owned(), better: BetterSpec::Lower, top: 1 }
    }
}

impl Keeping {
    /// The callback that does it.
    pub(super) fn callback(&self) -> Result<KeepBest> {
        if self.top == 0 {
            return Err(Error::argument("the best 0 epochs are to be kept", "use a `top` from 1 up"));
        }
        Ok(KeepBest::top(self.top, &self.metric, self.better.of()))
    }
}
