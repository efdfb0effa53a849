//! The files of a run that others read: figures as CSV.

use crate::{history::History, trainer::Trainer};
use std::path::Path;
use unigrad_nn::{Result, files};

pub(crate) const METRICS: &str = "metrics.csv";

/// Replaces the files with the figures so far.
pub(crate) fn write_figures(folder: &Path, history: &History, trainer: &Trainer) -> Result<()> {
    let text = history.to_csv(&trainer.validation_name);
    files::replace(&folder.join(METRICS), |file| file.write_all(text.as_bytes()))
}
