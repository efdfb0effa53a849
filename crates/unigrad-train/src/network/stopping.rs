//! Early stopping in words; [`EarlyStopping`] does it.

use super::schedule::BetterSpec;
use crate::EarlyStopping;
use serde::{Deserialize, Serialize};
use unigrad_nn::Better;

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
        let better = if self.better == BetterSpec::Higher { Better::Higher } else { Better::Lower };
        let callback = EarlyStopping::new(&self.metric, better).patience(self.patience).min_delta(self.min_delta);
        if self.restore_best { callback.restore_best() } else { callback }
    }
}
