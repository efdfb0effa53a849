//! Callbacks that runs often have.

mod early_stopping;
mod ema;
mod keep;
mod tensorboard;

pub use early_stopping::EarlyStopping;
pub use ema::{Ema, Swa};
pub use keep::KeepBest;
pub use tensorboard::{Scalar, TensorBoard, read_scalars};

use crate::{callback::Context, run::unknown_metric};
use unigrad_nn::{Better, Result};

/// The latest value of a metric, if this epoch has one.
fn observed(who: &str, metric: &str, run: &Context<'_>) -> Result<Option<f64>> {
    let Some(value) = run.history.last(metric) else {
        // Validation may come after more epochs than one.
        let later = metric.starts_with("val_") && run.validates && run.history.val_epochs.is_empty();
        return if later { Ok(None) } else { Err(unknown_metric(who, metric, run.history)) };
    };
    let is_new = !metric.starts_with("val_") || run.history.val_epochs.last() == Some(&run.epoch);
    Ok(is_new.then_some(value))
}

/// Whether `value` is better than `best` by more than `delta`. What is no number is never better.
fn is_better(value: f64, best: Option<f64>, better: Better, delta: f64) -> bool {
    match (best, better) {
        (None, _) => !value.is_nan(),
        (Some(best), Better::Lower) => value < best - delta,
        (Some(best), Better::Higher) => value > best + delta,
    }
}
