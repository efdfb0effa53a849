//! What a training run shows and writes.
//!
//! Always: results go to standard output, the bar and notes to standard error, so that output can be piped; a bar is only drawn on
//! a terminal. Files are replaced whole.

use crate::{Failure, args::Common};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
};
use unigrad::{
    nn::files::{self, FolderLock},
    train::{CHECKPOINT, Callback, Context, EpochRow, StepProfile, report::Report},
};

const MODEL: &str = "model.safetensors";
const REPORT: &str = "report.html";

pub(crate) struct Output {
    folder: PathBuf,
    json: bool,
    quiet: bool,
    bar: ProgressBar,
    _lock: FolderLock,
}

impl Output {
    /// Makes the folder, finds out whether it can be written, and takes it for this run, unless `lock` says that this is done.
    pub(crate) fn new(common: &Common, folder: &Path, lock: Option<FolderLock>) -> Result<Output, Failure> {
        let lock = lock.map_or_else(|| files::lock_folder(folder), Ok)?;
        let (json, quiet) = (common.json, common.quiet);
        Ok(Output { folder: folder.to_owned(), json, quiet, bar: ProgressBar::hidden(), _lock: lock })
    }

    pub(crate) fn checkpoint_path(&self) -> PathBuf {
        self.folder.join(CHECKPOINT)
    }

    pub(crate) fn model_path(&self) -> PathBuf {
        self.folder.join(MODEL)
    }

    /// Something worth knowing before or between results.
    pub(crate) fn note(&self, text: &str) {
        if self.json {
            say!("{}", json!({ "event": "note", "text": text }));
        } else if !self.quiet {
            self.bar.suspend(|| say!("{text}"));
        }
    }

    /// A bar of `len` steps, `done` of which are done.
    pub(crate) fn start_bar(&mut self, title: &str, len: u64, done: u64) {
        if self.json || self.quiet {
            return;
        }
        // The template is a constant, so a default bar never shows in its place.
        let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}  {per_sec}  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        self.bar = ProgressBar::new(len).with_style(style).with_message(title.to_owned()).with_position(done);
        self.bar.reset_eta();
    }

    pub(crate) fn advance(&self, loss: f64) {
        self.bar.inc(1);
        if let Some((title, _)) = self.bar.message().split_once("  loss").or(Some((&self.bar.message(), ""))) {
            self.bar.set_message(format!("{title}  loss {loss:.4}"));
        }
    }

    pub(crate) fn end_bar(&mut self) {
        self.bar.finish_and_clear();
        self.bar = ProgressBar::hidden();
    }

    /// The line of an epoch.
    pub(crate) fn epoch(&mut self, row: &EpochRow, of: usize, unit: &str) {
        self.end_bar();
        let train_loss = row.train("loss").unwrap_or(f64::NAN);
        let (train_accuracy, test_loss, test_accuracy) = (row.train("accuracy"), row.val("loss"), row.val("accuracy"));
        if self.json {
            say!(
                "{}",
                json!({
                    "event": unit, "index": row.epoch, "of": of, "train_loss": train_loss, "train_accuracy": train_accuracy,
                    "test_loss": test_loss, "test_accuracy": test_accuracy, "seconds": row.seconds,
                })
            );
        } else if !self.quiet {
            let width = of.to_string().len();
            let part = |name: &str, x: Option<f64>| x.map_or_else(String::new, |x| format!("  {name} {x:.4}"));
            say!(
                "{unit} {:>width$}/{of}  train loss {train_loss:.4}{}{}{}  {:.1} s",
                row.epoch,
                part("accuracy", train_accuracy),
                part("| test loss", test_loss),
                part("accuracy", test_accuracy),
                row.seconds
            );
        }
    }

    /// The last line.
    pub(crate) fn result(&mut self, name: &str, value: f64, more: Value) {
        self.end_bar();
        if self.json {
            let mut line = json!({ "event": "result", name.replace(' ', "_"): value });
            if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
                line.extend(more);
            }
            say!("{line}");
        } else {
            say!("{name} {value:.4}");
        }
    }

    /// The profile of some steps, if one was asked for: its files are in the folder.
    pub(crate) fn profile(&self, asked: u64, profile: Option<&StepProfile>) {
        match profile {
            Some(profile) if self.json => {
                let text = profile.verdict();
                say!(
                    "{}",
                    json!({ "event": "profile", "steps": profile.n_steps, "verdict": text, "busy": profile.busy(), "folder": self.folder })
                );
            }
            Some(profile) => {
                self.note(&format!("profile of {}", profile.summary()));
                let folder = self.folder.display();
                self.note(&format!("profile: {folder}/profile.html (memory over time), trace.json (for Perfetto), kernels.txt"));
            }
            None if asked > 0 => self.note("no profile: it begins after the first 3 steps, and the run ended before; train longer"),
            None => {}
        }
    }

    pub(crate) fn write_report(&self, report: &Report) -> Result<(), Failure> {
        let path = self.folder.join(REPORT);
        report.save(&path)?;
        self.note(&format!("report: {}", path.display()));
        Ok(())
    }
}

/// What a trainer's run shows by an [`Output`].
pub(crate) struct Show {
    pub(crate) output: Rc<RefCell<Output>>,
    /// What there is to tell before the first step.
    pub(crate) notes: Vec<String>,
    /// What an epoch is called, and how many there are.
    pub(crate) unit: String,
    pub(crate) n_epochs: usize,
    /// The steps of the whole run, where the bar counts those and not the epoch's.
    pub(crate) steps: Option<u64>,
}

impl Callback for Show {
    fn on_run_begin(&mut self, _: &mut Context<'_>) -> unigrad::Result<()> {
        self.notes.iter().for_each(|note| self.output.borrow().note(note));
        Ok(())
    }

    fn on_epoch_begin(&mut self, run: &mut Context<'_>) -> unigrad::Result<()> {
        let mut output = self.output.borrow_mut();
        match self.steps {
            Some(steps) => output.start_bar("step", steps, run.step),
            None => output.start_bar(&format!("epoch {}/{}", run.epoch + 1, self.n_epochs), run.n_batches as u64, run.batch as u64),
        }
        Ok(())
    }

    fn on_step_end(&mut self, run: &mut Context<'_>) -> unigrad::Result<()> {
        self.output.borrow().advance(run.loss.unwrap_or(f64::NAN));
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> unigrad::Result<()> {
        if let Some(row) = run.epoch.checked_sub(1).and_then(|last| run.history.row(last)) {
            self.output.borrow_mut().epoch(&row, self.n_epochs, &self.unit);
        }
        Ok(())
    }
}
