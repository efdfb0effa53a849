//! The figures of a run: every metric by name and epoch, and the loss of every step. They travel in its checkpoint, so that a resumed run's begin at the
//! beginning.

use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};
use unigrad_nn::{Checkpoint, Error, HostTensor, Result};
use unigrad_tensor::DType;

/// What a run has measured.
///
/// Each list of [`History::train_metrics`] has one value for each epoch, each of [`History::val_metrics`] one for each epoch of
/// [`History::val_epochs`]. What was not measured in an epoch is NaN there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// Means over each epoch as it was trained: `loss` always.
    pub train_metrics: BTreeMap<String, Vec<f64>>,
    /// From validation: `loss` always.
    pub val_metrics: BTreeMap<String, Vec<f64>>,
    /// The epochs that validation followed, from 1.
    pub val_epochs: Vec<usize>,
    /// The learning rate of the last step of each epoch.
    pub lr: Vec<f64>,
    /// How long each epoch took, validation included.
    pub seconds: Vec<f64>,
    /// How many steps were done at the end of each epoch.
    pub steps: Vec<u64>,
    /// The loss of each step.
    pub step_losses: Vec<f32>,
}

/// The figures of one epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpochRow {
    /// From 1.
    pub epoch: usize,
    /// Means over the epoch, by name.
    pub train: Vec<(String, f64)>,
    /// From validation; empty where there was none.
    pub val: Vec<(String, f64)>,
    /// The learning rate of its last step.
    pub lr: f64,
    /// How long it took, validation included.
    pub seconds: f64,
    /// How many steps were done at its end.
    pub step: u64,
}

impl EpochRow {
    /// A training figure.
    pub fn train(&self, name: &str) -> Option<f64> {
        self.train.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// A figure of validation.
    pub fn val(&self, name: &str) -> Option<f64> {
        self.val.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

const EPOCHS: &str = "history.epochs";
const STEPS: &str = "history.step_losses";
const COLUMNS: &str = "history.columns";
/// Columns of every history, before those of metrics: learning rate, seconds, steps.
const FIXED: usize = 3;

impl History {
    /// Epochs that are done.
    pub fn n_epochs(&self) -> usize {
        self.seconds.len()
    }

    /// A metric by name, as early stopping and others name it: `loss`, or `val_loss` for that of validation.
    pub fn get(&self, name: &str) -> Option<&[f64]> {
        let found = self.train_metrics.get(name).or_else(|| self.val_metrics.get(name.strip_prefix("val_")?));
        found.map(Vec::as_slice)
    }

    /// The latest value of a metric, see [`History::get`].
    pub fn last(&self, name: &str) -> Option<f64> {
        self.get(name)?.last().copied()
    }

    /// Names that [`History::get`] knows.
    pub fn names(&self) -> Vec<String> {
        self.train_metrics.keys().cloned().chain(self.val_metrics.keys().map(|name| format!("val_{name}"))).collect()
    }

    /// The figures of an epoch, from 0.
    pub fn row(&self, epoch: usize) -> Option<EpochRow> {
        let of = |metrics: &BTreeMap<String, Vec<f64>>, at: usize| -> Vec<(String, f64)> {
            let mut row: Vec<(String, f64)> =
                metrics.iter().filter_map(|(name, values)| Some((name.clone(), *values.get(at)?))).filter(|(_, x)| !x.is_nan()).collect();
            // The loss first, as people look for it.
            row.sort_by_key(|(name, _)| name != "loss");
            row
        };
        let val = self.val_epochs.iter().position(|validated| *validated == epoch + 1);
        Some(EpochRow {
            epoch: epoch + 1,
            train: of(&self.train_metrics, epoch),
            val: val.map_or(Vec::new(), |at| of(&self.val_metrics, at)),
            lr: *self.lr.get(epoch)?,
            seconds: *self.seconds.get(epoch)?,
            step: *self.steps.get(epoch)?,
        })
    }

    /// All epochs.
    pub fn rows(&self) -> Vec<EpochRow> {
        (0..self.n_epochs()).filter_map(|epoch| self.row(epoch)).collect()
    }

    /// Losses with their step, from 1.
    pub fn numbered_losses(&self) -> Vec<(u64, f64)> {
        self.step_losses.iter().zip(1..).map(|(&loss, step)| (step, f64::from(loss))).collect()
    }

    pub(crate) fn push(&mut self, row: EpochRow) {
        let n = self.seconds.len();
        put(&mut self.train_metrics, n, row.train);
        if !row.val.is_empty() {
            put(&mut self.val_metrics, self.val_epochs.len(), row.val);
            self.val_epochs.push(row.epoch);
        }
        self.lr.push(row.lr);
        self.seconds.push(row.seconds);
        self.steps.push(row.step);
    }

    /// As a table: `epoch,train_loss,train_accuracy,val_loss,...,seconds`. `val` is what validation is called there.
    pub fn to_csv(&self, val: &str) -> String {
        let ordered = |metrics: &BTreeMap<String, Vec<f64>>| {
            let mut names: Vec<String> = metrics.keys().cloned().collect();
            names.sort_by_key(|name| name != "loss");
            names
        };
        let (train, validated) = (ordered(&self.train_metrics), ordered(&self.val_metrics));
        let heads = train.iter().map(|name| format!("train_{name}")).chain(validated.iter().map(|name| format!("{val}_{name}")));
        let heads: Vec<String> = std::iter::once("epoch".to_owned()).chain(heads).chain(["seconds".to_owned()]).collect();
        let mut text = csv_line(&heads);
        for row in self.rows() {
            let cell = |x: Option<f64>| x.map_or_else(String::new, |x| x.to_string());
            let cells = train.iter().map(|name| cell(row.train(name))).chain(validated.iter().map(|name| cell(row.val(name))));
            let cells: Vec<String> = std::iter::once(row.epoch.to_string()).chain(cells).chain([format!("{:.3}", row.seconds)]).collect();
            text.push_str(&csv_line(&cells));
        }
        text
    }

    /// One JSON object for each epoch, a line each.
    pub fn to_json_lines(&self, val: &str) -> String {
        self.rows().iter().map(|row| format!("{}\n", row_json(row, val))).collect()
    }

    /// Puts the figures into a checkpoint. What is missing is NaN there.
    pub(crate) fn save(&self, checkpoint: &mut Checkpoint) {
        let train: Vec<&String> = self.train_metrics.keys().collect();
        let val: Vec<&String> = self.val_metrics.keys().collect();
        checkpoint.set(COLUMNS, json!({ "train": train, "val": val }));
        let columns = FIXED + train.len() + 1 + val.len();
        let mut bytes = Vec::with_capacity(8 * columns * self.n_epochs());
        let mut push = |x: f64| bytes.extend(x.to_le_bytes());
        for epoch in 0..self.n_epochs() {
            [self.lr[epoch], self.seconds[epoch], self.steps[epoch] as f64].into_iter().for_each(&mut push);
            self.train_metrics.values().for_each(|values| push(values.get(epoch).copied().unwrap_or(f64::NAN)));
            let at = self.val_epochs.iter().position(|validated| *validated == epoch + 1);
            push(f64::from(u8::from(at.is_some())));
            let of = |values: &Vec<f64>| at.and_then(|at| values.get(at).copied()).unwrap_or(f64::NAN);
            self.val_metrics.values().for_each(|values| push(of(values)));
        }
        checkpoint.set_tensor(EPOCHS, HostTensor { dtype: DType::F64, shape: vec![self.n_epochs(), columns], bytes });
        let bytes = self.step_losses.iter().flat_map(|l| l.to_le_bytes()).collect();
        checkpoint.set_tensor(STEPS, HostTensor { dtype: DType::F32, shape: vec![self.step_losses.len()], bytes });
    }

    /// The figures in a checkpoint, however far it is.
    pub fn of_checkpoint(checkpoint: &Checkpoint) -> Result<History> {
        let first = |name: &str| checkpoint.tensor(name).and_then(|tensor| tensor.shape.first()).map_or(0, |n| *n as u64);
        History::load(checkpoint, first(EPOCHS), first(STEPS))
    }

    /// Takes them out again: one row for each of `n_epochs`, one loss for each of `n_steps`.
    pub(crate) fn load(checkpoint: &Checkpoint, n_epochs: u64, n_steps: u64) -> Result<History> {
        let wrong = |what: String| Error::format(Path::new(checkpoint.source()), what, crate::saved::HELP);
        let columns: Value = checkpoint.get(COLUMNS)?;
        let names =
            |part: &str| -> Option<Vec<String>> { columns[part].as_array()?.iter().map(|n| Some(n.as_str()?.to_owned())).collect() };
        let (Some(train), Some(val)) = (names("train"), names("val")) else {
            return Err(wrong(format!("has a `{COLUMNS}` that names no metrics")));
        };
        let n_columns = FIXED + train.len() + 1 + val.len();
        let bytes = |name: &str, dtype: DType, shape: &[u64]| match checkpoint.tensor(name) {
            Some(tensor) if tensor.dtype == dtype && tensor.shape.iter().map(|&n| n as u64).eq(shape.iter().copied()) => Ok(&tensor.bytes),
            _ => Err(wrong(format!("has no `{name}`, {dtype} of shape {shape:?}, as its position asks for"))),
        };
        let rows = bytes(EPOCHS, DType::F64, &[n_epochs, n_columns as u64])?;
        let losses = bytes(STEPS, DType::F32, &[n_steps])?;
        let numbers: Vec<f64> = rows.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let mut history =
            History { step_losses: losses.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(), ..History::default() };
        for (epoch, row) in (1..).zip(numbers.chunks(n_columns)) {
            let [lr, seconds, steps, rest @ ..] = row else { return Err(wrong(format!("has a short row in `{EPOCHS}`"))) };
            let (of_train, of_val) = rest.split_at(train.len().min(rest.len()));
            let named = |names: &[String], values: &[f64]| names.iter().cloned().zip(values.iter().copied()).collect::<Vec<_>>();
            let val = match of_val {
                [1.0, values @ ..] => named(&val, values),
                _ => Vec::new(),
            };
            history.push(EpochRow { epoch, train: named(&train, of_train), val, lr: *lr, seconds: *seconds, step: *steps as u64 });
        }
        Ok(history)
    }
}

/// Appends a row to columns of `n` values; what is new or missing is NaN.
fn put(metrics: &mut BTreeMap<String, Vec<f64>>, n: usize, row: Vec<(String, f64)>) {
    for (name, value) in row {
        let values = metrics.entry(name).or_default();
        values.resize(n, f64::NAN);
        values.push(value);
    }
    metrics.values_mut().for_each(|values| values.resize(n + 1, f64::NAN));
}

fn csv_line(cells: &[String]) -> String {
    let quoted =
        |cell: &String| if cell.contains([',', '"', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.clone() };
    let mut line = cells.iter().map(quoted).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

pub(crate) fn row_json(row: &EpochRow, val: &str) -> Value {
    let mut line = json!({ "epoch": row.epoch, "step": row.step, "lr": row.lr, "seconds": row.seconds });
    if let Some(line) = line.as_object_mut() {
        // What is no number is null in JSON.
        line.extend(row.train.iter().map(|(name, x)| (format!("train_{name}"), json!(x))));
        line.extend(row.val.iter().map(|(name, x)| (format!("{val}_{name}"), json!(x))));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let mut history = History { step_losses: vec![2.0, 1.5, f32::MAX], ..History::default() };
        let row = |epoch: usize, train: &[(&str, f64)], val: &[(&str, f64)]| EpochRow {
            epoch,
            train: train.iter().map(|(n, x)| ((*n).to_owned(), *x)).collect(),
            val: val.iter().map(|(n, x)| ((*n).to_owned(), *x)).collect(),
            lr: 0.1,
            seconds: 1.25,
            step: epoch as u64,
        };
        history.push(row(1, &[("loss", 2.0)], &[]));
        history.push(row(2, &[("loss", 1.5), ("acc,uracy", 0.5)], &[("loss", 1.75)]));
        history.push(row(3, &[("loss", 1.0 / 3.0)], &[("f1", 0.25), ("loss", f64::INFINITY)]));
        history
    }

    #[test]
    fn metrics_are_found_by_name() {
        let history = history();
        assert_eq!(history.get("loss"), Some(&[2.0, 1.5, 1.0 / 3.0][..]));
        assert_eq!((history.last("val_loss"), history.last("val_f1"), history.last("f1")), (Some(f64::INFINITY), Some(0.25), None));
        assert_eq!(history.val_epochs, [2, 3]);
        assert!(history.train_metrics["acc,uracy"][0].is_nan() && history.train_metrics["acc,uracy"].len() == 3);
        assert_eq!(history.row(0).map(|row| row.val.len()), Some(0));
        assert_eq!(history.row(3), None);
    }

    #[test]
    fn tables_have_a_cell_for_everything() {
        let csv = history().to_csv("test");
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "epoch,train_loss,\"train_acc,uracy\",test_loss,test_f1,seconds");
        assert_eq!(lines[1..], ["1,2,,,,1.250", "2,1.5,0.5,1.75,,1.250", "3,0.3333333333333333,,inf,0.25,1.250"]);
        let json: Vec<Value> = history().to_json_lines("val").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((json.len(), &json[2]["val_f1"], &json[2]["val_loss"]), (3, &json!(0.25), &Value::Null));
    }

    #[test]
    fn a_checkpoint_gives_them_back() {
        let (mut checkpoint, history) = (Checkpoint::default(), history());
        history.save(&mut checkpoint);
        let loaded = History::load(&checkpoint, 3, 3).unwrap();
        assert_eq!(format!("{loaded:?}"), format!("{history:?}"));
        for (epochs, steps) in [(2, 3), (3, 2), (u64::MAX, 3)] {
            assert!(History::load(&checkpoint, epochs, steps).unwrap_err().to_string().contains("history."));
        }
        checkpoint.set(COLUMNS, "{}");
        assert!(History::load(&checkpoint, 3, 3).is_err());
    }
}
