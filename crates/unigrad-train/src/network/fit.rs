//! Training, judging and using a network.
//!
//! In: arrays of examples and targets, a [`TrainingConfig`]. Out: a [`History`], metrics, predictions.
//! Always: it is a [`Trainer`]'s run, and gives what one written by hand gives, to the last bit; the last part of the data validates, unshuffled, as in Keras.
//! Predictions are made in batches, and layers behave as in use meanwhile.

use super::{
    Network, Prepared, Task, ToHost,
    accuracy::BinaryAccuracy,
    named,
    optimizer::OptimizerSpec,
    schedule::{ScheduleSpec, Scheduled},
    stopping::Stopping,
};
use crate::{Clip, Console, History, Run, Supervised, Trainer};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};
use unigrad_data::{Arrays, Batch, Dataset, Loader, Source, validation_split};
use unigrad_nn::{
    Error, HostTensor, Layer, Module, Result,
    metrics::{Accuracy, Mae, Metric},
};
use unigrad_tensor::{Tensor, no_grad};

/// Examples that are predicted and judged at once.
const AT_ONCE: usize = 256;

/// How a network is trained. In files it is the section `[train]`; optimizer and schedule are sections of their own.
///
/// ```
/// use unigrad_train::network::TrainingConfig;
/// let mut config = TrainingConfig::default();
/// config.batch_size = 128;
/// config.max_epochs = 50;
/// config.validation_split = 0.2;
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingConfig {
    /// Examples of a step.
    pub batch_size: usize,
    /// How often every example is seen, at most.
    pub max_epochs: usize,
    /// The part of the data that validates: the last one, before anything is shuffled. 0: none.
    pub validation_split: f64,
    /// Whether training examples come in another order in each epoch.
    pub shuffle: bool,
    /// Whether progress is shown on standard error.
    pub verbose: bool,
    /// Where order and random numbers (dropout) begin; initial weights are the network's own.
    pub seed: u64,
    /// The update rule.
    #[serde(skip)]
    pub optimizer: OptimizerSpec,
    /// How the learning rate changes.
    #[serde(skip)]
    pub schedule: Option<ScheduleSpec>,
    /// Whether to end when a metric no longer gets better.
    pub early_stopping: Option<Stopping>,
    /// Gradients are scaled down together to this norm at most.
    pub clip_norm: Option<f64>,
    /// Elements of gradients are at most so far from 0.
    pub clip_value: Option<f64>,
    /// Batches whose gradients count together in one step.
    pub accumulate: usize,
    /// Where checkpoints, figures and the report are kept; without one nothing is written.
    pub folder: Option<PathBuf>,
    /// Continues the run of the folder, if there is one.
    pub resume: bool,
    /// Steps between two checkpoints, besides those after epochs.
    pub checkpoint_every: Option<u64>,
    /// Seconds after which it ends.
    pub time_limit: Option<f64>,
}

impl Default for TrainingConfig {
    fn default() -> TrainingConfig {
        TrainingConfig {
            batch_size: 32,
            max_epochs: 10,
            validation_split: 0.0,
            shuffle: true,
            verbose: false,
            seed: 0,
            optimizer: OptimizerSpec::default(),
            schedule: None,
            early_stopping: None,
            clip_norm: None,
            clip_value: None,
            accumulate: 1,
            folder: None,
            resume: false,
            checkpoint_every: None,
            time_limit: None,
        }
    }
}

/// What `[train]` may say beside [`TrainingConfig`]: nothing. A helper of sections with names.
pub(crate) fn optimizer<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<OptimizerSpec, D::Error> {
    named::one_of(deserializer, "an optimizer")
}

/// As [`optimizer`].
pub(crate) fn schedule<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<ScheduleSpec>, D::Error> {
    named::one_of(deserializer, "a schedule").map(Some)
}

impl TrainingConfig {
    /// The trainer that these settings make, for `n_batches` batches an epoch.
    fn trainer(&self, network: &Network, n_batches: usize) -> Result<Trainer> {
        let positive = |name: &str, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::argument(format!("`{name}` is {value}"), "use a finite number above 0"))
            }
            _ => Ok(()),
        };
        positive("clip_norm", self.clip_norm)?;
        positive("clip_value", self.clip_value)?;
        positive("time_limit", self.time_limit)?;
        if self.max_epochs == 0 || self.batch_size == 0 || self.accumulate == 0 {
            let (batch, epochs, accumulate) = (self.batch_size, self.max_epochs, self.accumulate);
            let cause = format!("`batch_size` is {batch}, `max_epochs` {epochs}, `accumulate` {accumulate}");
            return Err(Error::argument(cause, "use numbers from 1 up"));
        }
        let mut trainer = Trainer::new(network.device())
            .epochs(self.max_epochs)
            .seed(self.seed)
            .accumulate(self.accumulate)
            .console(if self.verbose { Console::Auto } else { Console::Silent })
            // The network's own file has its architecture, too.
            .save_model(false);
        trainer = match network.architecture.loss.task() {
            Task::Classes | Task::LogClasses if network.output.len() == 1 => trainer.metric(Accuracy::default),
            Task::Classes | Task::LogClasses => trainer,
            Task::Binary => trainer.metric(BinaryAccuracy::of_logits),
            Task::Probabilities => trainer.metric(BinaryAccuracy::of_probabilities),
            Task::Numbers => trainer.metric(Mae::default),
        };
        trainer = match (self.clip_norm, self.clip_value) {
            (Some(_), Some(_)) => return Err(Error::argument("`clip_norm` and `clip_value` are both given", "give one of them")),
            (Some(norm), None) => trainer.clip(Clip::Norm(norm)),
            (None, Some(value)) => trainer.clip(Clip::Value(value)),
            (None, None) => trainer,
        };
        if let Some(schedule) = &self.schedule {
            let per_epoch = n_batches.div_ceil(self.accumulate) as u64;
            trainer = match schedule.build(per_epoch.saturating_mul(self.max_epochs as u64), per_epoch)? {
                Scheduled::Steps(schedule) => trainer.schedule(schedule),
                Scheduled::Plateau(metric, plateau) => trainer.plateau(&metric, plateau),
            };
        }
        if let Some(stopping) = &self.early_stopping {
            trainer = trainer.callback(stopping.callback());
        }
        if let Some(folder) = &self.folder {
            trainer = trainer.folder(folder);
            trainer = if self.resume { trainer.resume_if_there() } else { trainer };
        }
        if let Some(steps) = self.checkpoint_every {
            trainer = trainer.checkpoint_every(steps);
        }
        if let Some(seconds) = self.time_limit {
            trainer = trainer.time_limit(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        Ok(trainer)
    }

    /// Batches of a dataset for training.
    pub fn loader<D: Dataset<Item = unigrad_data::Sample> + 'static>(&self, dataset: D) -> Loader<D> {
        let loader = Loader::new(dataset, self.batch_size, self.seed);
        if self.shuffle { loader } else { loader.in_order() }
    }
}

impl Network {
    /// Trains on arrays, of which the first axis counts the examples; with [`TrainingConfig::validation_split`], their last part validates.
    ///
    /// An error leaves the network as it was before the step that failed. (That layers behave as in training is `Module::train(&mut network, true)`.)
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::Device;
    /// use unigrad_train::network::{Network, TrainingConfig};
    ///
    /// // Is a number greater than 0.5?
    /// let x: Vec<f32> = (0..200).map(|i| (i * 37 % 200) as f32 / 200.0).collect();
    /// let labels: Vec<i64> = x.iter().map(|x| i64::from(*x > 0.5)).collect();
    /// let mut network = Network::with_input_size(1).dense(8).relu().dense(2).seed(1).build_on(&Device::open("cpu")?)?;
    /// let mut config = TrainingConfig { max_epochs: 20, validation_split: 0.2, ..TrainingConfig::default() };
    /// config.optimizer = config.optimizer.with_lr(0.05);
    /// let history = network.train(&(&x[..], [200, 1]), &labels, &config)?;
    /// assert!(history.val_metrics.get("accuracy").and_then(|a| a.last()) > Some(&0.9));
    /// assert_eq!(network.predict_classes(&(&[0.9f32][..], [1, 1]))?, [1]);
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn train<X: ToHost + ?Sized, Y: ToHost + ?Sized>(&mut self, inputs: &X, targets: &Y, config: &TrainingConfig) -> Result<History> {
        self.train_run(inputs, targets, config).map(|run| run.history)
    }

    /// As [`Network::train`]; gives the whole run: why it ended, its report.
    pub fn train_run<X: ToHost + ?Sized, Y: ToHost + ?Sized>(&mut self, inputs: &X, targets: &Y, config: &TrainingConfig) -> Result<Run> {
        let (inputs, targets) = (self.inputs(inputs)?, self.targets(targets)?);
        let n = inputs.shape[0];
        if targets.shape[0] != n {
            return Err(Error::argument(
                format!("there are {n} inputs and {} targets", targets.shape[0]),
                "give one target for each input",
            ));
        }
        let range = if config.validation_split == 0.0 { 0..n } else { validation_split(n, config.validation_split)?.0 };
        let part = |range: std::ops::Range<usize>| Arrays::new(rows(&inputs, range.clone()), rows(&targets, range));
        let train = config.loader(part(range.clone())?);
        if range.end == n {
            return self.train_on(&train, None, config);
        }
        let validation = Loader::new(part(range.end..n)?, AT_ONCE, config.seed).in_order();
        self.train_on(&train, Some(&validation), config)
    }

    /// Trains on data of a description; `with` may change the trainer.
    pub fn train_prepared(&mut self, data: &Prepared, config: &TrainingConfig, with: impl FnOnce(Trainer) -> Trainer) -> Result<Run> {
        let (train, validation) = data.split(config.validation_split, config.seed)?;
        if data.shape != self.architecture.input {
            let cause = format!("the network takes inputs of shape {:?}, and the data have {:?}", self.architecture.input, data.shape);
            return Err(Error::argument(cause, "leave the network's `input` out, or give it the shape of the data"));
        }
        if let [outputs] = self.output[..]
            && outputs < data.n_outputs
        {
            let cause = format!("the data need {} outputs, and the network has {outputs}", data.n_outputs);
            return Err(Error::argument(cause, "end the network with \"output\", or with as many units as there are classes"));
        }
        let workers = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let train = config.loader(Arc::clone(&data.samples).subset(train)?).workers(workers);
        let judged = !validation.is_empty();
        let validation = Loader::new(Arc::clone(&data.samples).subset(validation)?, AT_ONCE, config.seed).in_order().workers(workers);
        let trainer = with(config.trainer(self, train.n_batches())?);
        self.train_with(trainer, &train, judged.then_some(&validation as &dyn Source<Batch = Batch>), config)
    }

    /// Trains on batches of any source, and validates on those of another.
    pub fn train_on(
        &mut self,
        train: &dyn Source<Batch = Batch>,
        validation: Option<&dyn Source<Batch = Batch>>,
        config: &TrainingConfig,
    ) -> Result<Run> {
        let trainer = config.trainer(self, train.n_batches())?;
        self.train_with(trainer, train, validation, config)
    }

    /// As [`Network::train_on`], with a trainer of the program's own, whose settings count where `config` has the same.
    pub fn train_with(
        &mut self,
        trainer: Trainer,
        train: &dyn Source<Batch = Batch>,
        validation: Option<&dyn Source<Batch = Batch>>,
        config: &TrainingConfig,
    ) -> Result<Run> {
        let optimizer = config.optimizer.build(&self.stack)?;
        let loss = self.architecture.loss.build(&self.device)?;
        let loss = move |prediction: &Tensor, target: &Tensor| loss.forward(prediction, target);
        // Lent for the time of the run.
        let mut learner = Supervised::new(std::mem::take(&mut self.stack), loss, optimizer);
        let run = trainer.fit(&mut learner, train, validation);
        self.stack = learner.model;
        let run = run?;
        if let Some(folder) = &config.folder {
            self.save(folder.join("model.safetensors"))?;
        }
        Ok(run)
    }

    /// The loss, and the metrics of its kind, of examples and targets; by name.
    pub fn evaluate<X: ToHost + ?Sized, Y: ToHost + ?Sized>(&mut self, inputs: &X, targets: &Y) -> Result<BTreeMap<String, f64>> {
        let (inputs, targets) = (self.inputs(inputs)?, self.targets(targets)?);
        let loss = self.architecture.loss.build(&self.device)?;
        let mut metric: Option<Box<dyn Metric>> = match self.architecture.loss.task() {
            Task::Classes | Task::LogClasses if self.output.len() == 1 => Some(Box::new(Accuracy::default())),
            Task::Classes | Task::LogClasses => None,
            Task::Binary => Some(Box::new(BinaryAccuracy::of_logits())),
            Task::Probabilities => Some(Box::new(BinaryAccuracy::of_probabilities())),
            Task::Numbers => Some(Box::new(Mae::default())),
        };
        let loader = Loader::new(Arrays::new(inputs, targets)?, AT_ONCE, 0).in_order();
        if loader.n_items() == 0 {
            return Err(Error::argument("there are no examples to judge by", "give at least one"));
        }
        let device = self.device;
        self.in_use(|stack| {
            let mut sum = 0.0;
            for batch in loader.batches(0, 0, &device)? {
                let batch = batch?;
                let prediction = stack.forward(&batch.input);
                let value = loss.forward(&prediction, &batch.target);
                Tensor::realize_all(&[&prediction, &value])?;
                if let Some(metric) = &mut metric {
                    metric.update(&prediction, &batch.target)?;
                }
                sum += value.to_f64()? * batch.indices.len() as f64;
            }
            let mut values = BTreeMap::from([("loss".to_owned(), sum / loader.n_items() as f64)]);
            if let Some(metric) = &metric {
                values.insert(metric.name(), metric.value()?);
            }
            Ok(values)
        })
    }

    /// What the network makes of examples, as many as there are: logits, where its loss takes logits.
    pub fn predict<X: ToHost + ?Sized>(&mut self, inputs: &X) -> Result<Tensor> {
        self.predict_by(inputs, |x| x)
    }

    /// As [`Network::predict`]; scores of classes become probabilities that sum to 1, logits of questions probabilities. Numbers stay as they are.
    pub fn predict_probabilities<X: ToHost + ?Sized>(&mut self, inputs: &X) -> Result<Tensor> {
        match self.architecture.loss.task() {
            Task::Classes => self.predict_by(inputs, |x| x.softmax(-1)),
            Task::LogClasses => self.predict_by(inputs, |x| x.exp()),
            Task::Binary => self.predict_by(inputs, |x| x.sigmoid()),
            Task::Probabilities | Task::Numbers => self.predict(inputs),
        }
    }

    /// The likeliest class of each example; of yes-or-no questions, 1 or 0 for each.
    pub fn predict_classes<X: ToHost + ?Sized>(&mut self, inputs: &X) -> Result<Vec<i64>> {
        let classes = match self.architecture.loss.task() {
            Task::Classes | Task::LogClasses => self.predict_by(inputs, |x| x.argmax(-1))?,
            Task::Binary => self.predict_by(inputs, |x| x.gt(0.0))?,
            Task::Probabilities => self.predict_by(inputs, |x| x.gt(0.5))?,
            Task::Numbers => {
                return Err(Error::argument(
                    "the network answers numbers, not classes",
                    "use `predict`, or train it with a loss of classes",
                ));
            }
        };
        classes.cast(unigrad_tensor::DType::I64).to_vec()
    }

    fn predict_by<X: ToHost + ?Sized>(&mut self, inputs: &X, finish: impl Fn(Tensor) -> Tensor) -> Result<Tensor> {
        let inputs = self.inputs(inputs)?;
        let n = inputs.shape[0];
        if n == 0 {
            return Err(Error::argument("there are no examples to predict", "give at least one"));
        }
        let device = self.device;
        self.in_use(|stack| {
            let mut parts = Vec::new();
            for begin in (0..n).step_by(AT_ONCE) {
                let part = rows(&inputs, begin..n.min(begin + AT_ONCE));
                let x = Tensor::from_bytes(&part.bytes, part.shape.as_slice(), part.dtype, &device);
                parts.push(finish(stack.forward(&x)).realize()?);
            }
            match parts.as_slice() {
                [one] => Ok(one.clone()),
                all => Tensor::concat(&all.iter().collect::<Vec<_>>(), 0).realize(),
            }
        })
    }

    /// Layers as in use, without gradients, and as they were before afterwards.
    fn in_use<T>(&mut self, run: impl FnOnce(&super::parts::Stack) -> Result<T>) -> Result<T> {
        let training = self.training;
        self.stack.train(false);
        let result = no_grad(|| run(&self.stack));
        self.stack.train(training);
        result
    }
}

/// Some of an array's items; their bytes are known to be there.
fn rows(array: &HostTensor, range: std::ops::Range<usize>) -> HostTensor {
    let item = array.shape.iter().skip(1).product::<usize>() * array.dtype.size();
    let bytes = array.bytes.get(range.start * item..range.end * item).unwrap_or_default().to_vec();
    HostTensor { dtype: array.dtype, shape: std::iter::once(range.len()).chain(array.shape[1..].iter().copied()).collect(), bytes }
}
