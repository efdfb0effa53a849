//! A run: epochs of steps, validation after them, checkpoints between them.
//!
//! Always: where a run stands is a position (epoch, batch, step) with what was counted since the epoch began; a checkpoint has both, so that the run goes
//! on from it as if it had not stopped. A step that fails is not counted, and the random numbers that it drew are drawn again.

mod failure;
mod saving;
mod validation;

use crate::{
    callback::{Callback, Context},
    console::Display,
    history::{EpochRow, History},
    learner::{Learner, Outcome, StepSettings},
    meter::{Meter, Pending},
    profile::{Profiling, StepProfile},
    report::Report,
    saved::{Frame, Position},
    trainer::{Trainer, Until},
};
use saving::{checkpoint, lock};
use std::{path::PathBuf, time::Instant};
use unigrad_data::Source;
use unigrad_nn::{Error, Plateau, Result, memory, metrics::Metric};
use unigrad_tensor::{DType, ErrorKind, Generator, Tensor, eval, manual_seed, no_grad};
use validation::{count, values_in_use};

/// Steps between two reads of losses, where to read is to wait.
const READ_EVERY: usize = 16;

/// Why a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It did what it was asked to.
    Done,
    /// A callback ended it, and why.
    Stopped(String),
    /// Its time was over. It can be resumed.
    TimeLimit,
    /// [`Trainer::stop_when`] said so. It can be resumed.
    Interrupted,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its figures.
    pub history: History,
    /// Why it ended.
    pub ended: Ended,
    /// Steps that were taken, in all epochs.
    pub n_steps: u64,
    /// Its folder.
    pub folder: Option<PathBuf>,
    /// The profile of some of its steps, where [`Trainer::profile`] asked for it.
    pub profile: Option<StepProfile>,
    /// The page about it, to be completed and written by programs that show more.
    pub report: Report,
}

/// A program's own validation: figures by name, or `None` if it was interrupted.
pub(crate) type Judge<'a, L> = &'a mut dyn FnMut(&mut L) -> Result<Option<Vec<(String, f64)>>>;

pub(crate) enum Validation<'a, L: Learner> {
    None,
    Source(&'a dyn Source<Batch = L::Batch>),
    Judge(Judge<'a, L>),
}

pub(crate) fn run<'a, L: Learner>(
    trainer: Trainer,
    learner: &'a mut L,
    train: &'a dyn Source<Batch = L::Batch>,
    validation: Validation<'a, L>,
) -> Result<Run> {
    let mut running = Running::begin(trainer, learner, train, validation)?;
    running.call(|callback, run| callback.on_run_begin(run))?;
    let ended = running.epochs()?;
    running.end(ended)
}

struct Running<'a, L: Learner> {
    trainer: Trainer,
    learner: &'a mut L,
    train: &'a dyn Source<Batch = L::Batch>,
    validation: Validation<'a, L>,
    frame: Frame,
    position: Position,
    history: History,
    meter: Meter,
    pending: Vec<Pending>,
    metrics: Vec<Box<dyn Metric>>,
    /// Handles of parameters and buffers.
    state: Vec<(String, Tensor)>,
    read_every: usize,
    /// Steps that took effect, counted on the device, and how many did if all did: where reads are rare, a step after one that failed sees it.
    chain: Option<(Tensor, i64)>,
    plateau: Option<(String, Plateau)>,
    /// Steps of the only optimizer before this run.
    steps_before: u64,
    loss: Option<f64>,
    lr: f64,
    begun: Instant,
    epoch_begun: Instant,
    seconds_before: f64,
    stop: Option<String>,
    ended: Option<Ended>,
    profiling: Profiling,
}

impl<'a, L: Learner> Running<'a, L> {
    fn begin(
        mut trainer: Trainer,
        learner: &'a mut L,
        train: &'a dyn Source<Batch = L::Batch>,
        validation: Validation<'a, L>,
    ) -> Result<Running<'a, L>> {
        let n_batches = train.n_batches();
        if n_batches == 0 {
            return Err(Error::argument("the source has no batches", "give the trainer at least one item to learn from"));
        }
        let accumulate = trainer.accumulate;
        let per_epoch = n_batches.div_ceil(accumulate) as u64;
        let (epochs, steps) = match trainer.until {
            Until::Epochs(epochs) => (epochs, None),
            Until::Steps(steps) => (usize::try_from(steps.div_ceil(per_epoch)).unwrap_or(usize::MAX), Some(steps)),
        };
        let frame = Frame { n_batches, accumulate, epochs, steps };
        let checkpoint = checkpoint(&mut trainer)?;
        lock(&mut trainer)?;
        trainer.step.scaler = trainer.scaler()?;
        let scaled = trainer.step.scaler.is_some();
        let state = named_state(learner);
        let n_optimizers = learner.optimizers().len();
        // Gradients of several batches are added in several evaluations, and several optimizers step in several: these are not undone together.
        let at_once = trainer.device.completes_at_once() || accumulate > 1 || n_optimizers != 1;
        let read_every = trainer.read_every.filter(|_| accumulate == 1).unwrap_or(if at_once { 1 } else { READ_EVERY });
        // A step in F16 may change nothing though its loss is a number.
        let chain = match read_every > 1 && n_optimizers == 1 && !scaled {
            true => Some((Tensor::from_slice(&[0i64], (), &trainer.device).realize()?, 0)),
            false => None,
        };
        trainer
            .callbacks
            .extend(Display::new(trainer.console, &trainer.validation_name).map(|display| Box::new(display) as Box<dyn Callback>));
        let metrics = if trainer.train_metrics { trainer.metrics.iter().map(|make| make()).collect() } else { Vec::new() };
        let steps_before = learner.optimizers().first().map_or(0, |(_, optimizer)| optimizer.n_steps());
        let lr = learner.optimizers().first().map_or(0.0, |(_, optimizer)| optimizer.lr());
        let profiling = Profiling::new(trainer.profile);
        let now = Instant::now();
        let mut running = Running {
            plateau: trainer.plateau.clone(),
            trainer,
            learner,
            train,
            validation,
            frame,
            position: Position::default(),
            history: History::default(),
            meter: Meter::default(),
            pending: Vec::new(),
            metrics,
            state,
            read_every,
            chain,
            steps_before,
            loss: None,
            lr,
            begun: now,
            epoch_begun: now,
            seconds_before: 0.0,
            stop: None,
            ended: None,
            profiling,
        };
        match checkpoint {
            Some(checkpoint) => running.restore(&checkpoint)?,
            None => {
                if let Some(seed) = running.trainer.seed {
                    manual_seed(seed);
                }
            }
        }
        running.learner.set_training(true);
        Ok(running)
    }

    fn epochs(&mut self) -> Result<Ended> {
        while !self.frame.is_done(&self.position) {
            if let Some(ended) = self.epoch()? {
                return Ok(ended);
            }
        }
        Ok(Ended::Done)
    }

    /// The rest of an epoch; why the run ended in it or after it, if it did.
    fn epoch(&mut self) -> Result<Option<Ended>> {
        self.epoch_begun = Instant::now();
        self.seconds_before = self.position.seconds;
        self.call(|callback, run| callback.on_epoch_begin(run))?;
        let train = self.train;
        let mut batches = train.batches(self.position.epoch as u64, self.position.batch, &self.trainer.device)?;
        while self.position.batch < self.frame.n_batches && self.frame.steps.is_none_or(|steps| self.position.step < steps) {
            let wanted = self.frame.accumulate.min(self.frame.n_batches - self.position.batch);
            self.profiling.before_step(&self.trainer.device)?;
            let asked = Instant::now();
            let group: Vec<L::Batch> = batches.by_ref().take(wanted).collect::<Result<_>>()?;
            self.profiling.waited(asked);
            if group.len() < wanted {
                let given = self.position.batch + group.len();
                let cause = format!("the source announced {} batches and gave {given}", self.frame.n_batches);
                return Err(Error::argument(cause, "make `n_batches` tell what `batches` gives"));
            }
            match self.step_that_fits(&group) {
                Err(error) if self.was_interrupted(&error) => {
                    self.save()?;
                    return Ok(Some(Ended::Interrupted));
                }
                done => done?,
            }
            drop(group);
            self.profiling.after_step(self.trainer.folder.as_deref())?;
            self.call(|callback, run| callback.on_step_end(run))?;
            if let Some(ended) = self.ends() {
                self.save()?;
                return Ok(Some(ended));
            }
            if self.trainer.checkpoint_every.is_some_and(|every| self.position.step.is_multiple_of(every)) {
                self.save()?;
            }
        }
        drop(batches);
        self.finish_epoch()
    }

    /// Whether the run is to end here.
    fn ends(&mut self) -> Option<Ended> {
        if let Some(why) = self.stop.take() {
            return Some(Ended::Stopped(why));
        }
        if self.trainer.is_asked_to_stop() {
            return Some(Ended::Interrupted);
        }
        self.trainer.time_limit.is_some_and(|limit| self.begun.elapsed() > limit).then_some(Ended::TimeLimit)
    }

    /// Whether an error comes from the interruption itself. What ends a run may end its compilers, which are other processes of the same
    /// terminal, or libraries that take the signal for theirs and delete their files; the run stands before what did not compile.
    fn was_interrupted(&self, error: &Error) -> bool {
        error.kind() == ErrorKind::Compile && self.trainer.is_asked_to_stop()
    }

    /// A step; before the first one of this process is taken: whether it fits into the device's memory. Where a learner says what a step needs, before
    /// anything runs; of any other, before each of the step's evaluations.
    fn step_that_fits(&mut self, group: &[L::Batch]) -> Result<()> {
        let device = self.trainer.device;
        let (true, Some(batch)) = (std::mem::take(&mut self.trainer.check_memory), group.first()) else { return self.step(group) };
        if device.memory_stats().free == 0 {
            return self.step(group);
        }
        let settings = self.trainer.step.clone();
        let random = Generator::global().state();
        // A step that cannot be recorded, or estimated, tells why itself.
        if let Ok(Some(estimate)) = self.again(random, |learner| settings.forward(|| learner.estimate(batch)))? {
            estimate.check(&device)?;
            return self.step(group);
        }
        eval::with_demands_checked(memory::check_demand, || self.step(group))
    }

    fn step(&mut self, group: &[L::Batch]) -> Result<()> {
        let random = Generator::global().state();
        if self.trainer.schedule.is_some() || self.plateau.is_some() {
            let scheduled = self.trainer.schedule.as_ref().map_or(1.0, |schedule| schedule.factor(self.position.step));
            let factor = scheduled * self.plateau.as_ref().map_or(1.0, |(_, plateau)| plateau.current());
            self.learner.optimizers_mut().into_iter().for_each(|(_, optimizer)| optimizer.set_lr_factor(factor));
        }
        // What is assigned before a step that fails is undone.
        let attempt = eval::Attempt::begin();
        let settings = self.step_settings()?;
        let outcome = match self.learner.train_step(group, &settings) {
            Ok(outcome) => outcome,
            Err(error) => {
                drop(attempt);
                return Err(self.again(random, |learner| settings.forward(|| learner.explain(group, error)))?);
            }
        };
        attempt.succeeded();
        self.lr = self.learner.optimizers().first().map_or(0.0, |(_, optimizer)| optimizer.lr());
        self.pending.push(Pending::new(&outcome, self.position.batch, group.len(), random));
        self.position.batch += group.len();
        self.position.step += 1;
        // Where each loss is read, what a step that failed predicted is not counted.
        if self.read_every > 1 {
            self.count(&outcome)?;
            return if self.pending.len() >= self.read_every { self.read() } else { Ok(()) };
        }
        self.read()?;
        self.count(&outcome)
    }

    fn count(&mut self, outcome: &Outcome) -> Result<()> {
        let mut metrics = std::mem::take(&mut self.metrics);
        let counted = count(&mut metrics, outcome, |error| self.was_interrupted(error));
        self.metrics = metrics;
        counted
    }

    fn step_settings(&mut self) -> Result<StepSettings> {
        let mut settings = self.trainer.step.clone();
        if let Some((taken, expected)) = &mut self.chain {
            let before = taken.detach();
            settings.condition = Some(before.eq(Tensor::scalar(*expected as f64, DType::I64, &self.trainer.device)));
            // Undone with the step's other assignments, where its loss is not finite or an index is out of range.
            no_grad(|| taken.assign(&(&before + 1)))?;
            *expected += 1;
        }
        Ok(settings)
    }

    /// Reads the losses that have not been read.
    fn read(&mut self) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        for (at, step) in pending.iter().enumerate() {
            match step.loss.to_f64() {
                Ok(loss) if loss.is_finite() => {
                    self.meter.add(loss, step.n_items, &step.numbers)?;
                    self.history.step_losses.push(loss as f32);
                    self.loss = Some(loss);
                }
                other => return Err(self.failed(step, pending.len() - at, other)),
            }
        }
        Ok(())
    }

    fn finish_epoch(&mut self) -> Result<Option<Ended>> {
        self.read()?;
        let mut row = EpochRow { epoch: self.position.epoch + 1, train: self.meter.means(), ..EpochRow::default() };
        for metric in &self.metrics {
            row.train.push((metric.name(), metric.value()?));
        }
        let is_last = row.epoch >= self.frame.epochs || self.frame.steps.is_some_and(|steps| self.position.step >= steps);
        if !matches!(self.validation, Validation::None) && (is_last || row.epoch.is_multiple_of(self.trainer.validate_every)) {
            match self.validate() {
                Ok(Some(figures)) => row.val = figures,
                Err(error) if !self.was_interrupted(&error) => return Err(error),
                Ok(None) | Err(_) => {
                    self.save()?;
                    return Ok(Some(Ended::Interrupted));
                }
            }
        }
        (row.lr, row.step, row.seconds) = (self.lr, self.position.step, self.seconds());
        self.history.push(row);
        self.meter = Meter::default();
        self.metrics.iter_mut().for_each(|metric| metric.reset());
        self.position = Position { epoch: self.position.epoch + 1, batch: 0, seconds: 0.0, ..self.position };
        (self.epoch_begun, self.seconds_before) = (Instant::now(), 0.0);
        if let Some((name, plateau)) = &mut self.plateau {
            let validated = self.history.val_epochs.last() == Some(&self.position.epoch);
            match self.history.last(name) {
                Some(value) if validated || !name.starts_with("val_") => {
                    plateau.observe(value);
                }
                Some(_) => {}
                // Validation may come after more epochs than one.
                None if name.starts_with("val_") && !matches!(self.validation, Validation::None) && self.history.val_epochs.is_empty() => {}
                None => return Err(unknown_metric("the plateau", name, &self.history)),
            }
        }
        self.call(|callback, run| callback.on_epoch_end(run))?;
        self.save()?;
        Ok(self.stop.take().map(Ended::Stopped))
    }

    /// Seconds of this epoch so far.
    fn seconds(&self) -> f64 {
        self.seconds_before + self.epoch_begun.elapsed().as_secs_f64()
    }

    /// Calls every callback.
    fn call(&mut self, mut what: impl FnMut(&mut dyn Callback, &mut Context<'_>) -> Result<()>) -> Result<()> {
        if self.trainer.callbacks.is_empty() {
            return Ok(());
        }
        let mut validated: Vec<(String, Tensor)> = Vec::new();
        for (parameter, value) in values_in_use(self.learner)? {
            if let Some((name, _)) = self.state.iter().find(|(_, tensor)| tensor.same(&parameter)) {
                validated.push((name.clone(), value));
            }
        }
        validated.extend(self.trainer.callbacks.iter().flat_map(|callback| callback.validated()));
        let mut context = Context {
            epoch: self.position.epoch,
            batch: self.position.batch,
            n_batches: self.frame.n_batches,
            step: self.position.step,
            until: self.trainer.until,
            lr: self.lr,
            loss: self.loss,
            history: &self.history,
            state: &self.state,
            folder: self.trainer.folder.as_deref(),
            device: self.trainer.device,
            ended: self.ended.clone(),
            validates: !matches!(self.validation, Validation::None),
            validated,
            stop: None,
        };
        for callback in &mut self.trainer.callbacks {
            what(&mut **callback, &mut context)?;
        }
        if context.stop.is_some() {
            self.stop = context.stop;
        }
        Ok(())
    }

    fn end(mut self, ended: Ended) -> Result<Run> {
        self.profiling.end(self.trainer.folder.as_deref())?;
        if matches!(ended, Ended::Done | Ended::Stopped(_)) {
            // What is kept for use is what the run leaves.
            self.learner.optimizers_mut().into_iter().try_for_each(|(_, optimizer)| optimizer.set_training(false))?;
        }
        self.ended = Some(ended.clone());
        self.call(|callback, run| callback.on_run_end(run))?;
        let report = self.page();
        if let Some(folder) = &self.trainer.folder {
            if self.trainer.save_model && matches!(ended, Ended::Done | Ended::Stopped(_)) {
                for (name, module) in self.learner.modules() {
                    let file = if name.is_empty() { "model.safetensors".to_owned() } else { format!("{name}.safetensors") };
                    module.save(&folder.join(file))?;
                }
            }
            if self.trainer.report && ended != Ended::Interrupted {
                report.save(&folder.join("report.html"))?;
            }
        }
        let profile = self.profiling.done.take();
        Ok(Run { profile, history: self.history, ended, n_steps: self.position.step, folder: self.trainer.folder.take(), report })
    }
}

/// Parameters and buffers of all models, by name.
pub(crate) fn named_state<L: Learner>(learner: &L) -> Vec<(String, Tensor)> {
    let of = |(name, module): (&str, &dyn unigrad_nn::Module)| {
        let prefix = if name.is_empty() { String::new() } else { format!("{name}.") };
        module.state_dict().into_iter().map(move |(name, tensor)| (format!("{prefix}{name}"), tensor)).collect::<Vec<_>>()
    };
    learner.modules().into_iter().flat_map(of).collect()
}

pub(crate) fn unknown_metric(who: &str, name: &str, history: &History) -> Error {
    let cause = format!("{who} looks at the metric `{name}`, which the run does not measure");
    Error::argument(cause, format!("name one of {}", history.names().join(", ")))
}
