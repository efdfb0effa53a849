//! The weights of the best epochs, as files.

use super::{is_better, observed};
use crate::callback::{Callback, Context, Saved};
use std::{
    fs, io,
    path::{Path, PathBuf},
};
use unigrad_nn::{Archive, Better, Error, Result};
use unigrad_tensor::Device;

/// Keeps the weights of the best epochs in the run's folder: `best.safetensors`, or for more than one `top-EPOCH.safetensors` each.
///
/// The weights are those that validation used: averages, where the run has an [`Ema`](crate::Ema).
#[derive(Debug)]
pub struct KeepBest {
    metric: String,
    better: Better,
    n: usize,
    /// Value and epoch, the best first.
    kept: Vec<(f64, usize)>,
}

impl KeepBest {
    /// The best by a metric (see [`History::get`](crate::History::get)).
    pub fn new(metric: &str, better: Better) -> KeepBest {
        KeepBest::top(1, metric, better)
    }

    /// The best `n`.
    pub fn top(n: usize, metric: &str, better: Better) -> KeepBest {
        KeepBest { metric: metric.to_owned(), better, n: n.max(1), kept: Vec::new() }
    }

    fn path(&self, folder: &Path, epoch: usize) -> PathBuf {
        folder.join(if self.n == 1 { "best.safetensors".to_owned() } else { format!("top-{epoch}.safetensors") })
    }
}

impl Callback for KeepBest {
    fn name(&self) -> String {
        format!("keep_best.{}", self.metric)
    }

    fn on_run_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        match run.folder {
            Some(_) => Ok(()),
            None => Err(Error::argument("the best weights have no folder to be kept in", "name the run's folder with `folder`")),
        }
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        let (Some(value), Some(folder)) = (observed("what keeps the best weights", &self.metric, run)?, run.folder) else { return Ok(()) };
        let at = self.kept.iter().position(|(kept, _)| is_better(value, Some(*kept), self.better, 0.0)).unwrap_or(self.kept.len());
        if value.is_nan() || at >= self.n {
            return Ok(());
        }
        let metadata = [("epoch".to_owned(), run.epoch.to_string()), (self.metric.clone(), value.to_string())];
        let archive = Archive { tensors: run.weights()?, metadata: metadata.into_iter().collect() };
        archive.save(self.path(folder, run.epoch))?;
        self.kept.insert(at, (value, run.epoch));
        for (_, epoch) in self.kept.split_off(self.n.min(self.kept.len())) {
            let path = self.path(folder, epoch);
            if self.n > 1 {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::write(&path, error)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn save(&self, saved: &mut Saved) -> Result<()> {
        let list: Vec<String> = self.kept.iter().map(|(value, epoch)| format!("{value} {epoch}")).collect();
        saved.set("kept", list.join(","));
        Ok(())
    }

    fn load(&mut self, saved: &Saved, _: &Device) -> Result<()> {
        let list: String = saved.get("kept")?;
        let pair = |text: &str| text.split_once(' ').and_then(|(value, epoch)| Some((value.parse().ok()?, epoch.parse().ok()?)));
        let pairs: Option<Vec<(f64, usize)>> = list.split(',').filter(|text| !text.is_empty()).map(pair).collect();
        let wrong =
            || Error::argument(format!("the checkpoint's list of best epochs is {list:?}"), "use the checkpoint as the run wrote it");
        self.kept = pairs.ok_or_else(wrong)?;
        Ok(())
    }
}
