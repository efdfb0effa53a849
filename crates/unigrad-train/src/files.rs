//! The files of a run that others read: figures as CSV and as JSON lines.

use crate::{history::History, trainer::Trainer};
use std::path::Path;
use unigrad_nn::{Result, files};

const METRICS: &str = "metrics.csv";
const JSON_LINES: &str = "metrics.jsonl";

/// Replaces the files with the figures so far.
pub(crate) fn write_figures(folder: &Path, history: &History, trainer: &Trainer) -> Result<()> {
    if trainer.json_lines {
        let text = history.to_json_lines(&trainer.validation_name);
        files::replace(&folder.join(JSON_LINES), |file| file.write_all(text.as_bytes()))?;
    }
    let text = history.to_csv(&trainer.validation_name);
    files::replace(&folder.join(METRICS), |file| file.write_all(text.as_bytes()))
}
