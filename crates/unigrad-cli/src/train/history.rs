//! The figures of a run so far; they travel in its checkpoint, so that a resumed run's report begins at the beginning.

use super::{Resumed, contradiction};
use crate::{Failure, report::EpochRow};
use unigrad::{
    nn::{Checkpoint, HostTensor},
    prelude::*,
};

/// One row per epoch, one loss per step.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) epochs: Vec<EpochRow>,
    pub(crate) step_losses: Vec<f32>,
}

const EPOCHS: &str = "history.epochs";
const STEPS: &str = "history.step_losses";
const COLUMNS: usize = 6;

impl History {
    /// Puts the figures into a checkpoint. What is missing is NaN there.
    pub(crate) fn save(&self, checkpoint: &mut Checkpoint) {
        let missing = f64::NAN;
        let rows = self.epochs.iter().flat_map(|row| {
            [
                row.epoch as f64,
                row.train_loss,
                row.train_accuracy.unwrap_or(missing),
                row.test_loss.unwrap_or(missing),
                row.test_accuracy.unwrap_or(missing),
                row.seconds,
            ]
        });
        let bytes = rows.flat_map(f64::to_le_bytes).collect();
        checkpoint.set_tensor(EPOCHS, HostTensor { dtype: DType::F64, shape: vec![self.epochs.len(), COLUMNS], bytes });
        let bytes = self.step_losses.iter().flat_map(|l| l.to_le_bytes()).collect();
        checkpoint.set_tensor(STEPS, HostTensor { dtype: DType::F32, shape: vec![self.step_losses.len()], bytes });
    }

    /// Takes them out again: one row for each of `n_epochs`, one loss for each of `n_steps`.
    pub(crate) fn load(saved: &Resumed, n_epochs: u64, n_steps: u64) -> Result<History, Failure> {
        let bytes = |name: &str, dtype: DType, shape: &[u64]| match saved.checkpoint.tensor(name) {
            Some(tensor) if tensor.dtype == dtype && tensor.shape.iter().map(|&n| n as u64).eq(shape.iter().copied()) => Ok(&tensor.bytes),
            _ => Err(contradiction(&saved.path, &format!("has no `{name}`, {dtype} of shape {shape:?}, as its position asks for"))),
        };
        let rows = bytes(EPOCHS, DType::F64, &[n_epochs, COLUMNS as u64])?;
        let losses = bytes(STEPS, DType::F32, &[n_steps])?;
        let numbers: Vec<f64> = rows.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let there = |x: f64| (!x.is_nan()).then_some(x);
        let row = |(epoch, row): (usize, &[f64; COLUMNS])| EpochRow {
            epoch,
            train_loss: row[1],
            train_accuracy: there(row[2]),
            test_loss: there(row[3]),
            test_accuracy: there(row[4]),
            seconds: row[5],
        };
        Ok(History {
            epochs: (1..).zip(numbers.as_chunks().0).map(row).collect(),
            step_losses: losses.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        })
    }

    /// As a table.
    pub(crate) fn to_csv(&self) -> String {
        let cell = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
        let mut text = "epoch,train_loss,train_accuracy,test_loss,test_accuracy,seconds\n".to_owned();
        for row in &self.epochs {
            let cells = [
                row.epoch.to_string(),
                row.train_loss.to_string(),
                cell(row.train_accuracy),
                cell(row.test_loss),
                cell(row.test_accuracy),
                format!("{:.3}", row.seconds),
            ];
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }

    /// Losses with their step, from 1.
    pub(crate) fn numbered_losses(&self) -> Vec<(u64, f64)> {
        self.step_losses.iter().zip(1..).map(|(&loss, step)| (step, f64::from(loss))).collect()
    }
}
