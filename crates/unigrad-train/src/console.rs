//! What a run shows while it goes: a bar on a terminal, plain lines elsewhere, both on standard error.

use crate::{
    callback::{Callback, Context},
    trainer::Until,
};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use unigrad_device::tell;
use unigrad_nn::Result;

/// What a run shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Console {
    /// A bar on a terminal and a line for each epoch; lines only where standard error is no terminal.
    #[default]
    Auto,
    /// A line for each epoch.
    Lines,
    /// Nothing.
    Silent,
}

/// Shows it.
pub(crate) struct Display {
    bars: bool,
    bar: ProgressBar,
    val: String,
}

impl Display {
    pub(crate) fn new(console: Console, val: &str) -> Option<Display> {
        let bars = match console {
            Console::Auto => std::io::stderr().is_terminal(),
            Console::Lines => false,
            Console::Silent => return None,
        };
        Some(Display { bars, bar: ProgressBar::hidden(), val: val.to_owned() })
    }
}

/// `3/10`, of epochs where their number is known.
fn of(epoch: usize, until: Until) -> String {
    match until {
        Until::Epochs(n) => format!("{epoch:>width$}/{n}", width = n.to_string().len()),
        Until::Steps(_) => epoch.to_string(),
    }
}

impl Callback for Display {
    fn on_epoch_begin(&mut self, run: &mut Context<'_>) -> Result<()> {
        if self.bars {
            // The template is a constant, so a default bar never shows in its place.
            let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}  {per_sec}  {eta} left")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let title = format!("epoch {}", of(run.epoch + 1, run.until));
            self.bar = ProgressBar::new(run.n_batches as u64).with_style(style).with_message(title).with_position(run.batch as u64);
            self.bar.reset_eta();
        }
        Ok(())
    }

    fn on_step_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        if self.bars {
            self.bar.set_position(run.batch as u64);
            if let Some(loss) = run.loss {
                self.bar.set_message(format!("epoch {}  loss {loss:.4}", of(run.epoch + 1, run.until)));
            }
        }
        Ok(())
    }

    fn on_epoch_end(&mut self, run: &mut Context<'_>) -> Result<()> {
        self.bar.finish_and_clear();
        let Some(row) = run.epoch.checked_sub(1).and_then(|last| run.history.row(last)) else { return Ok(()) };
        let part = |(name, x): &(String, f64)| format!("  {name} {x:.4}");
        let train: String = row.train.iter().map(part).collect();
        let val: String = row.val.iter().map(part).collect();
        let val = if val.is_empty() { val } else { format!("  | {}{val}", self.val) };
        tell(format_args!("epoch {}{train}{val}  lr {:.3e}  {:.1} s", of(row.epoch, run.until), row.lr, row.seconds));
        Ok(())
    }

    fn on_run_end(&mut self, _: &mut Context<'_>) -> Result<()> {
        self.bar.finish_and_clear();
        Ok(())
    }
}
