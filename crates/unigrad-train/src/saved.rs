//! Checkpoints of runs: where a run stands, beside its models and optimizers.
//!
//! In: a checkpoint. Out: the position, if its numbers agree with each other and with the run that is to be continued.

use std::path::Path;
use unigrad_nn::{Checkpoint, Error, Result};

/// The name of a run's checkpoint in its folder.
pub const CHECKPOINT: &str = "checkpoint.safetensors";

pub(crate) const HELP: &str = "use the checkpoint as the run wrote it, or start a new run without resuming";

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Position {
    /// Epochs that are done.
    pub(crate) epoch: usize,
    /// Batches of the next one that are done.
    pub(crate) batch: usize,
    /// Steps that are done, in all epochs.
    pub(crate) step: u64,
    /// Seconds of this epoch before this process took it on.
    pub(crate) seconds: f64,
}

/// What a run is to be: batches of an epoch, batches of a step, and where it ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) n_batches: usize,
    pub(crate) accumulate: usize,
    pub(crate) epochs: usize,
    pub(crate) steps: Option<u64>,
}

impl Frame {
    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self, position: &Position) -> bool {
        position.epoch >= self.epochs || self.steps.is_some_and(|steps| position.step >= steps)
    }

    fn steps_of(&self, batches: usize) -> u64 {
        batches.div_ceil(self.accumulate) as u64
    }

    /// Whether a run of this frame can stand there.
    fn has(&self, position: &Position) -> bool {
        let Position { epoch, batch, step, .. } = *position;
        let per_epoch = self.steps_of(self.n_batches);
        let inside = epoch < self.epochs && batch <= self.n_batches || epoch == self.epochs && batch == 0;
        let whole_steps = batch.is_multiple_of(self.accumulate) || batch == self.n_batches;
        let taken = (epoch as u64).checked_mul(per_epoch).and_then(|n| n.checked_add(self.steps_of(batch)));
        // The last epoch may have ended before its last batch.
        let ended = self.steps == Some(step) && batch == 0 && per_epoch > 0 && step.div_ceil(per_epoch) == epoch as u64;
        inside && self.steps.is_none_or(|steps| step <= steps) && (whole_steps && taken == Some(step) || ended)
    }
}

impl Position {
    pub(crate) fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.set("position.epoch", self.epoch);
        checkpoint.set("position.batch", self.batch);
        checkpoint.set("position.step", self.step);
        checkpoint.set("position.seconds", self.seconds);
    }

    pub(crate) fn load(checkpoint: &Checkpoint, frame: &Frame) -> Result<Position> {
        let position = Position {
            epoch: checkpoint.get("position.epoch")?,
            batch: checkpoint.get("position.batch")?,
            step: checkpoint.get("position.step")?,
            seconds: checkpoint.get("position.seconds")?,
        };
        if frame.has(&position) && position.seconds >= 0.0 && position.seconds.is_finite() {
            return Ok(position);
        }
        let Position { epoch, batch, step, seconds } = position;
        let of = match frame.steps {
            Some(steps) => format!("step {step} of {steps}"),
            None => format!("step {step}"),
        };
        let cause = format!(
            "says epoch {epoch} of {}, batch {batch} of {}, {of}, after {seconds} s: its numbers contradict each other or the run",
            frame.epochs, frame.n_batches
        );
        Err(Error::format(Path::new(checkpoint.source()), cause, HELP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_that_a_run_has_and_others() {
        let frame = |accumulate, steps| Frame { n_batches: 5, accumulate, epochs: 3, steps };
        let at = |epoch, batch, step| Position { epoch, batch, step, seconds: 0.0 };
        for position in [at(0, 0, 0), at(0, 5, 5), at(1, 0, 5), at(2, 3, 13), at(3, 0, 15)] {
            assert!(frame(1, None).has(&position), "{position:?}");
        }
        for position in [at(0, 0, 1), at(0, 6, 6), at(3, 1, 16), at(4, 0, 20), at(1, 2, 6), at(usize::MAX, 0, 0), at(0, usize::MAX, 0)] {
            assert!(!frame(1, None).has(&position), "{position:?}");
        }
        // Steps of two batches: three an epoch, the last of one.
        for (position, fits) in [(at(0, 2, 1), true), (at(0, 3, 2), false), (at(0, 5, 3), true), (at(1, 0, 3), true), (at(1, 4, 5), true)] {
            assert_eq!(frame(2, None).has(&position), fits, "{position:?}");
        }
        assert!(frame(1, Some(7)).has(&at(2, 0, 7)) && frame(1, Some(7)).has(&at(1, 2, 7)) && !frame(1, Some(7)).has(&at(1, 3, 8)));
        assert!(!frame(1, Some(9)).has(&at(2, 0, 7)));
    }
}
