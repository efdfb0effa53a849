//! Early stopping of a network's training.
//!
//! Always: what it has seen, and the best weights if they are to be put back, are in the checkpoint.

use super::schedule::BetterSpec;
use crate::{
    Callback, Context, Saved,
    callback::from_host,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unigrad_nn::{Error, HostTensor, Result};
use unigrad_tensor::{Device, Tensor, no_grad};

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

/// The callback of a [`Stopping`].
pub(super) struct Watch {
    settings: Stopping,
    best: Option<f64>,
    n_bad: u64,
    weights: BTreeMap<String, HostTensor>,
}

impl Watch {
    pub(super) fn new(settings: Stopping) -> Watch {
        Watch { settings, best: None, n_bad: 0, weights: BTreeMap::new() }
    }
}

impl Callback for Watch {
    fn name(&self) -> String {
        "stopping".into()
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        let Stopping { metric, patience, min_delta, better, restore_best } = &self.settings;
        let Some(value) = run.history.last(metric) else {
            let cause = format!("early stopping looks at `{metric}`, and the run has {}", run.history.names().join(", "));
            return Err(Error::argument(cause, "name one of these, or give data for validation"));
        };
        let is_better = match (self.best, better) {
            (None, _) => !value.is_nan(),
            (Some(best), BetterSpec::Lower) => value < best - min_delta,
            (Some(best), BetterSpec::Higher) => value > best + min_delta,
        };
        if is_better {
            (self.best, self.n_bad) = (Some(value), 0);
            if *restore_best {
                self.weights = run.weights()?;
            }
            return Ok(());
        }
        self.n_bad += 1;
        if self.n_bad > *patience {
            run.stop(format!("{metric} has not got better for {} epochs", self.n_bad));
        }
        Ok(())
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if self.n_bad == 0 || self.weights.is_empty() {
            return Ok(());
        }
        no_grad(|| {
            for (name, tensor) in run.state {
                if let Some(best) = self.weights.get(name) {
                    tensor.assign(&from_host(best, &tensor.device()?)?)?;
                }
            }
            Tensor::realize_all(&run.state.iter().map(|(_, tensor)| tensor).collect::<Vec<_>>())
        })
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        saved.set("bad", self.n_bad);
        saved.set("best", self.best.unwrap_or(f64::NAN));
        saved.tensors = self.weights.clone();
        Ok(())
    }

    fn load(&mut self, saved: &Saved, _: &Device) -> Result<()> {
        let best: f64 = saved.get("best")?;
        (self.n_bad, self.best) = (saved.get("bad")?, (!best.is_nan()).then_some(best));
        self.weights = saved.tensors.clone();
        Ok(())
    }
}
