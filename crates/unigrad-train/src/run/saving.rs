//! Checkpoints of a run: what they have, and how a run goes on from one.

use super::Running;
use crate::{
    callback::{Saved, from_host, to_host},
    files,
    history::History,
    learner::Learner,
    meter::Meter,
    report::{Report, machine},
    saved::{CHECKPOINT, HELP, Position},
    trainer::{Resume, Trainer, Until},
};
use std::path::Path;
use unigrad_nn::{Checkpoint, Error, Result, files::lock_folder};
use unigrad_tensor::Tensor;

/// What the device chose by time, so that a run goes on with the same bits.
const CHOICE: &str = "choice.";
/// Histories of amax in a checkpoint.
const FP8: &str = "fp8.";

impl<L: Learner> Running<'_, L> {
    /// Everything that the run needs to go on.
    pub(super) fn checkpoint(&self) -> Result<Checkpoint> {
        let models: Vec<(&str, Vec<(String, Tensor)>)> =
            self.learner.modules().into_iter().map(|(name, module)| (name, module.state_dict())).collect();
        let mut checkpoint = Checkpoint::of_parts(&models, &self.learner.optimizers())?;
        self.trainer.settings.iter().for_each(|(name, value)| checkpoint.set(&format!("setting.{name}"), value));
        self.trainer.kept.iter().for_each(|(name, value)| checkpoint.set(name, value));
        Position { seconds: self.seconds(), ..self.position }.save(&mut checkpoint);
        checkpoint.set("position.steps_before", self.steps_before);
        checkpoint.set("position.lr", self.lr);
        self.meter.save(&mut checkpoint);
        self.trainer.device.choices().iter().for_each(|(what, choice)| checkpoint.set(&format!("{CHOICE}{what}"), choice));
        self.history.save(&mut checkpoint);
        if let Some(scaler) = &self.trainer.step.scaler {
            checkpoint.add_scaler(&scaler.borrow())?;
        }
        for (name, history) in self.trainer.step.delayed().map(|scaling| scaling.state()).unwrap_or_default() {
            checkpoint.set_tensor(&format!("{FP8}{name}"), to_host(&history)?);
        }
        if let Some((_, plateau)) = &self.plateau {
            checkpoint.set("plateau", plateau.to_json());
        }
        for (at, metric) in self.metrics.iter().enumerate() {
            for (number, tensor) in metric.state().iter().enumerate() {
                checkpoint.set_tensor(&format!("metric.{at}.{number}"), to_host(tensor)?);
            }
        }
        for callback in &self.trainer.callbacks {
            let mut saved = Saved::default();
            callback.save(&mut saved)?;
            let prefix = format!("callback.{}.", callback.name());
            saved.values.iter().for_each(|(name, value)| checkpoint.set(&format!("{prefix}{name}"), value));
            saved.tensors.into_iter().for_each(|(name, tensor)| checkpoint.set_tensor(&format!("{prefix}{name}"), tensor));
        }
        Ok(checkpoint)
    }

    /// Saves figures and checkpoint, if the run has a folder.
    pub(super) fn save(&mut self) -> Result<()> {
        self.read()?;
        let Some(folder) = &self.trainer.folder else { return Ok(()) };
        files::write_figures(folder, &self.history, &self.trainer)?;
        self.checkpoint()?.save(folder.join(CHECKPOINT))
    }

    pub(super) fn restore(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        let wrong = |cause: String| Error::format(Path::new(checkpoint.source()), cause, HELP);
        let position = Position::load(checkpoint, &self.frame)?;
        let history = History::load(checkpoint, position.epoch as u64, position.step)?;
        let meter = Meter::load(checkpoint)?;
        if position.batch == 0 && meter != Meter::default() {
            return Err(wrong("has sums over an epoch that has not begun".to_owned()));
        }
        let choices: Vec<(String, String)> = checkpoint.texts_below(CHOICE).into_iter().collect();
        self.trainer.device.choose(&choices);
        let (steps_before, lr): (u64, f64) = (checkpoint.get("position.steps_before")?, checkpoint.get("position.lr")?);
        if !(lr >= 0.0 && lr.is_finite()) {
            return Err(wrong(format!("has position.lr {lr}")));
        }
        if let Some(scaler) = &self.trainer.step.scaler {
            checkpoint.restore_scaler(&mut scaler.borrow_mut())?;
        } else if let [(name, _)] = self.learner.optimizers()[..] {
            let key = if name.is_empty() { "optimizer.steps".to_owned() } else { format!("optimizer.{name}.steps") };
            let steps: u64 = checkpoint.get(&key)?;
            if steps_before.checked_add(position.step) != Some(steps) {
                return Err(wrong(format!("has {key} {steps} and position.step {}: they contradict each other", position.step)));
            }
        }
        if let Some(scaling) = self.trainer.step.delayed() {
            let saved = checkpoint.tensors_below(FP8);
            let state = saved.iter().map(|(name, host)| Ok((name.clone(), from_host(host, &self.trainer.device)?)));
            scaling
                .load_state(&state.collect::<Result<Vec<_>>>()?)
                .map_err(|error| wrong(format!("has other histories of amax: {error}")))?;
        }
        let mut plateau = self.plateau.clone();
        if let Some((_, plateau)) = &mut plateau {
            let state: serde_json::Value = checkpoint.get("plateau")?;
            if !plateau.load_json(&state) {
                return Err(wrong(format!("has a `plateau` that is none: {state}")));
            }
        }
        for (at, metric) in self.metrics.iter_mut().enumerate() {
            let state = checkpoint.tensors_below(&format!("metric.{at}."));
            let of = |number: usize| state.get(&number.to_string()).map(|host| from_host(host, &self.trainer.device));
            metric.load_state((0..state.len()).map_while(of).collect::<Result<_>>()?)?;
        }
        for callback in &mut self.trainer.callbacks {
            let prefix = format!("callback.{}.", callback.name());
            let saved = Saved { values: checkpoint.texts_below(&prefix), tensors: checkpoint.tensors_below(&prefix) };
            // One that the run did not have before begins now.
            if saved != Saved::default() {
                callback.load(&saved, &self.trainer.device)?;
            }
        }
        let models: Vec<(String, Vec<(String, Tensor)>)> =
            self.learner.modules().into_iter().map(|(name, module)| (name.to_owned(), module.state_dict())).collect();
        let models: Vec<(&str, Vec<(String, Tensor)>)> = models.iter().map(|(name, state)| (name.as_str(), state.clone())).collect();
        checkpoint.restore_parts(&models, &mut self.learner.optimizers_mut())?;
        (self.position, self.history, self.meter, self.plateau, self.steps_before) = (position, history, meter, plateau, steps_before);
        self.lr = lr;
        Ok(())
    }

    pub(super) fn page(&self) -> Report {
        let schedule = self.trainer.schedule.as_ref().map_or(Vec::new(), |schedule| {
            let total = match self.trainer.until {
                Until::Steps(steps) => steps,
                Until::Epochs(epochs) => (epochs as u64).saturating_mul(self.frame.n_batches.div_ceil(self.frame.accumulate) as u64),
            };
            crate::report::schedule_curve(schedule, total)
        });
        Report {
            title: self.trainer.title.clone(),
            settings: self.trainer.settings.clone(),
            machine: machine(&self.trainer.device),
            validation_name: self.trainer.validation_name.clone(),
            epochs: self.history.rows(),
            step_losses: self.history.numbered_losses(),
            schedule,
            ..Report::default()
        }
    }
}

/// The checkpoint to continue from; the folder is locked before it is read.
pub(super) fn checkpoint(trainer: &mut Trainer) -> Result<Option<Checkpoint>> {
    let must = match std::mem::take(&mut trainer.resume) {
        Resume::No => return Ok(None),
        Resume::Checkpoint(checkpoint) => return Ok(Some(*checkpoint)),
        Resume::Folder => true,
        Resume::FolderIfThere => false,
    };
    let Some(folder) = &trainer.folder else {
        return Err(Error::argument("a run without a folder has nothing to resume", "name its folder with `folder`"));
    };
    let path = folder.join(CHECKPOINT);
    if !path.exists() {
        let help = "name the folder of the interrupted run, or begin a new run without resuming";
        return if must { Err(Error::format(&path, "there is no checkpoint to resume from", help)) } else { Ok(None) };
    }
    lock(trainer)?;
    Checkpoint::load(&path).map(Some)
}

/// Takes the folder for this run, unless the caller has it.
pub(super) fn lock(trainer: &mut Trainer) -> Result<()> {
    if let (Some(folder), None, true) = (&trainer.folder, &trainer.lock, trainer.locks) {
        trainer.lock = Some(lock_folder(folder)?);
    }
    Ok(())
}
