//! Ends a run that no longer gets better.

use super::{is_better, observed};
use crate::{
    callback::{Callback, Context, Saved, from_host},
    run::Ended,
};
use std::collections::BTreeMap;
use unigrad_nn::{Better, Error, HostTensor, Result};
use unigrad_tensor::{Device, Tensor, no_grad};

/// Ends a run when a metric has not got better for more than `patience` of its values.
///
/// ```
/// use unigrad_nn::Better;
/// use unigrad_train::EarlyStopping;
///
/// let stopping = EarlyStopping::new("val_accuracy", Better::Higher).patience(5).min_delta(1e-3).restore_best();
/// # drop(stopping);
/// ```
#[derive(Debug)]
pub struct EarlyStopping {
    metric: String,
    better: Better,
    patience: u64,
    min_delta: f64,
    restore_best: bool,
    best: Option<f64>,
    n_bad: u64,
    weights: BTreeMap<String, HostTensor>,
}

const BEST: &str = "best.";

impl EarlyStopping {
    /// By the metric of this name (see [`History::get`](crate::History::get)), at the first value that is not better.
    pub fn new(metric: &str, better: Better) -> EarlyStopping {
        let weights = BTreeMap::new();
        EarlyStopping { metric: metric.to_owned(), better, patience: 0, min_delta: 0.0, restore_best: false, best: None, n_bad: 0, weights }
    }

    /// How many values may be no better.
    pub fn patience(mut self, values: u64) -> Self {
        self.patience = values;
        self
    }

    /// By how much a value is to be better.
    pub fn min_delta(mut self, delta: f64) -> Self {
        self.min_delta = delta;
        self
    }

    /// Gives the model the weights of the best value when the run is done. They are kept on the host, and in checkpoints.
    pub fn restore_best(mut self) -> Self {
        self.restore_best = true;
        self
    }
}

impl Callback for EarlyStopping {
    fn name(&self) -> String {
        format!("early_stopping.{}", self.metric)
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        let Some(value) = observed("early stopping", &self.metric, run)? else { return Ok(()) };
        if is_better(value, self.best, self.better, self.min_delta) {
            (self.best, self.n_bad) = (Some(value), 0);
            if self.restore_best {
                self.weights = run.weights()?;
            }
            return Ok(());
        }
        self.n_bad += 1;
        if self.n_bad > self.patience {
            let best = self.best.map_or_else(|| "no number".to_owned(), |best| best.to_string());
            run.stop(format!("{} has not got better than {best} for {} epochs", self.metric, self.n_bad));
        }
        Ok(())
    }

    fn on_run_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if !matches!(run.ended, Some(Ended::Done | Ended::Stopped(_))) || self.weights.is_empty() {
            return Ok(());
        }
        let tensors: Vec<&Tensor> = run.state.iter().map(|(_, tensor)| tensor).collect();
        for (name, tensor) in run.state {
            let Some(best) = self.weights.get(name).filter(|best| tensor.dims().is_ok_and(|shape| shape == best.shape)) else {
                return Err(Error::argument(
                    format!("the best weights have no `{name}` of its shape"),
                    "continue with the model that the run began with",
                ));
            };
            let best = from_host(best, &tensor.device()?)?.cast(tensor.dtype());
            no_grad(|| tensor.assign(&best))?;
        }
        Tensor::realize_all(&tensors)
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        saved.set("best", self.best.unwrap_or(f64::NAN));
        saved.set("bad", self.n_bad);
        saved.tensors.extend(self.weights.iter().map(|(name, tensor)| (format!("{BEST}{name}"), tensor.clone())));
        Ok(())
    }

    fn load(&mut self, saved: &Saved, _: &Device) -> Result<()> {
        let best: f64 = saved.get("best")?;
        self.n_bad = saved.get("bad")?;
        self.best = Some(best).filter(|best| !best.is_nan());
        let weights = saved.tensors.iter().filter_map(|(name, tensor)| Some((name.strip_prefix(BEST)?.to_owned(), tensor.clone())));
        self.weights = weights.collect();
        Ok(())
    }
}
