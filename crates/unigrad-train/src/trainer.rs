//! The trainer: settings of a run.

use crate::{
    callback::Callback,
    console::Console,
    learner::{Clip, Learner, Precision, StepSettings},
    run::{self, Run, Validation},
};
use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
    time::Duration,
};
use unigrad_data::Source;
use unigrad_nn::{Checkpoint, GradScaler, Plateau, Result, ScalerOptions, Schedule, files::FolderLock, metrics::Metric};
use unigrad_tensor::{Device, Fp8Recipe, eval};

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// After so many epochs.
    Epochs(usize),
    /// After so many steps. An epoch that ends so has its figures and its validation as others have.
    Steps(u64),
}

/// What a run continues from.
#[derive(Default)]
pub(crate) enum Resume {
    #[default]
    No,
    /// The checkpoint in its folder.
    Folder,
    /// Likewise, if there is one.
    FolderIfThere,
    Checkpoint(Box<Checkpoint>),
}

pub(crate) type MakeMetric = Box<dyn Fn() -> Box<dyn Metric>>;

/// How to train. The settings have defaults; [`Trainer::fit`] is the run.
pub struct Trainer {
    pub(crate) device: Device,
    pub(crate) until: Until,
    pub(crate) seed: Option<u64>,
    pub(crate) metrics: Vec<MakeMetric>,
    pub(crate) train_metrics: bool,
    pub(crate) validate_every: usize,
    pub(crate) schedule: Option<Schedule>,
    pub(crate) plateau: Option<(String, Plateau)>,
    pub(crate) accumulate: usize,
    pub(crate) step: StepSettings,
    loss_scale: ScalerOptions,
    pub(crate) read_every: Option<usize>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) stop_when: Option<Box<dyn Fn() -> bool>>,
    pub(crate) folder: Option<PathBuf>,
    /// Whether the run takes the folder for itself.
    pub(crate) locks: bool,
    pub(crate) lock: Option<FolderLock>,
    pub(crate) resume: Resume,
    pub(crate) checkpoint_every: Option<u64>,
    pub(crate) activation_limit: Option<u64>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) kept: Vec<(String, String)>,
    pub(crate) callbacks: Vec<Box<dyn Callback>>,
    pub(crate) title: String,
    pub(crate) validation_name: String,
    pub(crate) console: Console,
    pub(crate) report: bool,
    pub(crate) save_model: bool,
    pub(crate) json_lines: bool,
    pub(crate) profile: u64,
    pub(crate) check_memory: bool,
}

impl Trainer {
    /// One epoch on `device`, with nothing beside the loss.
    pub fn new(device: &Device) -> Trainer {
        Trainer {
            device: *device,
            until: Until::Epochs(1),
            seed: None,
            metrics: Vec::new(),
            train_metrics: true,
            validate_every: 1,
            schedule: None,
            plateau: None,
            accumulate: 1,
            step: StepSettings::default(),
            loss_scale: ScalerOptions::default(),
            read_every: None,
            time_limit: None,
            stop_when: None,
            folder: None,
            locks: true,
            lock: None,
            resume: Resume::No,
            checkpoint_every: None,
            activation_limit: None,
            settings: Vec::new(),
            kept: Vec::new(),
            callbacks: Vec::new(),
            title: "unigrad".to_owned(),
            validation_name: "val".to_owned(),
            console: Console::Auto,
            report: true,
            save_model: true,
            json_lines: false,
            profile: 0,
            check_memory: true,
        }
    }

    /// How often every item is seen.
    pub fn epochs(mut self, epochs: usize) -> Self {
        self.until = Until::Epochs(epochs);
        self
    }

    /// How many steps are taken, over as many epochs as that needs.
    pub fn steps(mut self, steps: u64) -> Self {
        self.until = Until::Steps(steps);
        self
    }

    /// Where the process's random numbers begin (dropout, say). Weights that exist already are not drawn again; a resumed run goes on with its own numbers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// A metric, measured in training and in validation, by what makes it: `.metric(Accuracy::default)`, `.metric(|| TopK::new(5))`.
    pub fn metric<M: Metric + 'static>(mut self, make: impl Fn() -> M + 'static) -> Self {
        self.metrics.push(Box::new(move || Box::new(make())));
        self
    }

    /// Whether metrics are measured in training too; they are, unless this says otherwise.
    pub fn train_metrics(mut self, measured: bool) -> Self {
        self.train_metrics = measured;
        self
    }

    /// Validates after every `epochs` epochs, and always after the last.
    pub fn validate_every(mut self, epochs: usize) -> Self {
        self.validate_every = epochs.max(1);
        self
    }

    /// The learning rate's factor by step.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = Some(schedule);
        self
    }

    /// A factor that falls when a metric (`val_loss`, say; see [`History::get`](crate::History::get)) no longer gets better, looked at after each epoch that has
    /// it. It multiplies that of [`Trainer::schedule`].
    pub fn plateau(mut self, metric: &str, plateau: Plateau) -> Self {
        self.plateau = Some((metric.to_owned(), plateau));
        self
    }

    /// Takes a step after every `batches` batches, by the mean of their gradients.
    pub fn accumulate(mut self, batches: usize) -> Self {
        self.accumulate = batches.max(1);
        self
    }

    /// Clips gradients before each step.
    pub fn clip(mut self, clip: Clip) -> Self {
        self.step.clip = Some(clip);
        self
    }

    /// What forward passes compute in. In [`Precision::F16`] gradients are divided by the loss scale once, before they are clipped, and a step of several
    /// batches changes nothing where one of them overflowed.
    pub fn precision(mut self, precision: Precision) -> Self {
        self.step.precision = precision;
        self
    }

    /// How the loss scale begins and adapts where gradients are of `F16` ([`Precision::F16`], and [`Precision::Fp8`] with this half type); in any other
    /// precision there is none. A run that is resumed goes on with its own scale.
    pub fn loss_scale(mut self, options: ScalerOptions) -> Self {
        self.loss_scale = options;
        self
    }

    /// A new loss scale, where the precision has one.
    pub(crate) fn scaler(&self) -> Result<Option<Rc<RefCell<GradScaler>>>> {
        if !self.step.is_scaled() {
            return Ok(None);
        }
        Ok(Some(Rc::new(RefCell::new(GradScaler::new(self.loss_scale, &self.device)?))))
    }

    /// Forward passes with matrix products in 8-bit floats ([`Precision::Fp8`]), rounded as the recipe says. Histories of delayed scaling are in checkpoints.
    pub fn fp8(mut self, recipe: Fp8Recipe) -> Self {
        self.step.precision = Precision::Fp8;
        self.step.fp8 = recipe;
        self
    }

    /// Whether blocks of layers keep no activations for the backward pass, which computes them again: less memory, more work, the same gradients. Of models
    /// made of stacks of layers, and of those that call [`checkpointed`](unigrad_nn::checkpointed); see [`gradient_checkpointing`](unigrad_nn::gradient_checkpointing).
    pub fn gradient_checkpointing(mut self, recomputed: bool) -> Self {
        self.step.gradient_checkpointing = recomputed;
        self
    }

    /// Most bytes that an evaluation keeps between its launches, activations among it, in place of
    /// [`Config::activation_limit`](unigrad_device::Config::activation_limit): beyond it the planner makes wide rows (logits) by chunks, and drops values and makes
    /// them again, the cheapest first, of any model, and no more work than the limit asks for. The same gradients: bit for bit, but for the order in which a
    /// head by chunks adds up; see [`with_activation_limit`](eval::with_activation_limit).
    pub fn activation_limit(mut self, bytes: u64) -> Self {
        self.activation_limit = Some(bytes);
        self
    }

    /// Whether the first step's need of memory is estimated before it is taken, so that one that does not fit ends the run with the estimate, what is there
    /// and the remedy; it is, unless this says otherwise, on devices that tell what they have. A learner that says what its steps need
    /// ([`Learner::estimate`]; [`Supervised`](crate::Supervised) does) is asked before anything of the step is computed; of any other, each evaluation of
    /// the first step is looked at before it is launched.
    pub fn check_memory(mut self, checked: bool) -> Self {
        self.check_memory = checked;
        self
    }

    /// Reads losses after every `steps` steps. To read is to wait for the device. Unless this says otherwise: after each where the device is done
    /// when a call returns, else after 16. What a step's loss shows (that it is no number, that a label was out of range) is found then; steps after one that
    /// failed change nothing.
    pub fn read_every(mut self, steps: usize) -> Self {
        self.read_every = Some(steps.max(1));
        self
    }

    /// Ends the run after the first step that ends later than this since the run began in this process. It can be resumed.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Ends the run after the step, or the batch of validation, after which this is true. It can be resumed.
    pub fn stop_when(mut self, stop: impl Fn() -> bool + 'static) -> Self {
        self.stop_when = Some(Box::new(stop));
        self
    }

    /// Whether [`Trainer::stop_when`] says so now.
    pub(crate) fn is_asked_to_stop(&self) -> bool {
        self.stop_when.as_ref().is_some_and(|stop| stop())
    }

    /// Where the run keeps its files; it is locked while the run lasts, and nothing in it changes before the first checkpoint.
    pub fn folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.folder = Some(folder.as_ref().to_owned());
        self
    }

    /// As [`Trainer::folder`], where the caller holds its lock ([`lock_folder`](unigrad_nn::files::lock_folder)).
    pub fn locked_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.locks = false;
        self.folder(folder)
    }

    /// Continues the run of the folder; an error if there is none.
    pub fn resume(mut self) -> Self {
        self.resume = Resume::Folder;
        self
    }

    /// Continues the run of the folder if there is one, and begins one if not: what a program does that is started again until it is done.
    pub fn resume_if_there(mut self) -> Self {
        self.resume = Resume::FolderIfThere;
        self
    }

    /// Continues from a checkpoint of a trainer.
    pub fn resume_from(mut self, checkpoint: Checkpoint) -> Self {
        self.resume = Resume::Checkpoint(Box::new(checkpoint));
        self
    }

    /// Saves a checkpoint after every `steps` steps too, and not only after each epoch.
    pub fn checkpoint_every(mut self, steps: u64) -> Self {
        self.checkpoint_every = Some(steps.max(1));
        self
    }

    /// Something that the run was asked to do, for the checkpoint (as `setting.NAME`) and the report.
    pub fn setting(mut self, name: &str, value: impl ToString) -> Self {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// A value of the program's own in each checkpoint.
    pub fn keep(mut self, name: &str, value: impl ToString) -> Self {
        self.kept.push((name.to_owned(), value.to_string()));
        self
    }

    /// Something to do at the beginnings and ends of the run's parts.
    pub fn callback(mut self, callback: impl Callback + 'static) -> Self {
        self.callbacks.push(Box::new(callback));
        self
    }

    /// The heading of the report.
    pub fn title(mut self, title: &str) -> Self {
        self.title = title.to_owned();
        self
    }

    /// What validation is called in files and on the console; `val` unless this says otherwise.
    pub fn validation_name(mut self, name: &str) -> Self {
        self.validation_name = name.to_owned();
        self
    }

    /// What the run shows while it goes.
    pub fn console(mut self, console: Console) -> Self {
        self.console = console;
        self
    }

    /// Shows nothing.
    pub fn quiet(self) -> Self {
        self.console(Console::Silent)
    }

    /// Whether `report.html` is written when the run ends; it is, unless this says otherwise.
    pub fn report(mut self, written: bool) -> Self {
        self.report = written;
        self
    }

    /// Whether `model.safetensors` is written when the run is done; it is, unless this says otherwise.
    pub fn save_model(mut self, saved: bool) -> Self {
        self.save_model = saved;
        self
    }

    /// Writes `metrics.jsonl` too: one JSON object for each epoch.
    pub fn json_lines(mut self) -> Self {
        self.json_lines = true;
        self
    }

    /// Profiles so many steps, after the first few: [`Run::profile`], and `profile.html`, `trace.json` and `kernels.txt` in the run's folder.
    pub fn profile(mut self, steps: u64) -> Self {
        self.profile = steps;
        self
    }

    /// Trains on `train`; validates on `validation`.
    ///
    /// An error leaves `learner` as it was before the step that failed.
    pub fn fit<'a, L: Learner>(
        self,
        learner: &'a mut L,
        train: &'a dyn Source<Batch = L::Batch>,
        validation: Option<&'a dyn Source<Batch = L::Batch>>,
    ) -> Result<Run> {
        self.run(learner, train, validation.map_or(Validation::None, Validation::Source))
    }

    /// As [`Trainer::fit`], with a validation of the program's own: figures by name (`loss` among them), or `None` if it was interrupted, after which the run ends
    /// as if [`Trainer::stop_when`] had said so. Layers behave as in use meanwhile, and no gradients are recorded.
    pub fn fit_judged<'a, L: Learner>(
        self,
        learner: &'a mut L,
        train: &'a dyn Source<Batch = L::Batch>,
        judge: run::Judge<'a, L>,
    ) -> Result<Run> {
        self.run(learner, train, Validation::Judge(judge))
    }

    fn run<'a, L: Learner>(
        self,
        learner: &'a mut L,
        train: &'a dyn Source<Batch = L::Batch>,
        validation: Validation<'a, L>,
    ) -> Result<Run> {
        limited(self.activation_limit, || run::run(self, learner, train, validation))
    }
}

/// Work within a limit of activations, if there is one.
pub(crate) fn limited<T>(bytes: Option<u64>, work: impl FnOnce() -> T) -> T {
    match bytes {
        Some(_) => eval::with_activation_limit(bytes, work),
        None => work(),
    }
}
