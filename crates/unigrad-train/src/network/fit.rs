//! Training, judging and using a network.
//!
//! In: arrays of examples and targets, a [`TrainingConfig`]. Out: a [`History`], metrics, predictions.
//! Always: it is a [`Trainer`]'s run, and gives what one written by hand gives, to the last bit; the last part of the data validates, unshuffled, as in Keras.
//! Predictions are made in batches, and layers behave as in use meanwhile.

use super::{Augment, Network, Prepared, SplitSpec, Task, ToHost, TrainingConfig, around::Around, metrics};
use crate::{History, Run, Supervised, Trainer};
use std::{collections::BTreeMap, sync::Arc};
use unigrad_data::{Arrays, Batch, Dataset, Loader, Source, validation_split};
use unigrad_nn::{Error, HostTensor, Layer, Module, Result, metrics::Metric};
use unigrad_tensor::{DType, Tensor, no_grad};

/// Examples that are predicted and judged at once.
const AT_ONCE: usize = 256;

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
        if config.split != SplitSpec::Usual || config.loading.sampler.is_some() || config.augment != Augment::default() {
            let cause = "`split`, `sampler` and `augment` are of data that were read, and here are arrays";
            return Err(Error::argument(cause, "use `train_prepared`, or `train_on` with a loader that has them"));
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
        let (train, validation) = config.split.of(data, config.validation_split, config.seed)?;
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
        let takes_tokens = self.architecture.input_dtype() == DType::I64;
        if takes_tokens != data.n_tokens.is_some() {
            let cause = if takes_tokens {
                "the network takes tokens, and the data have numbers"
            } else {
                "the data have tokens, and the network takes numbers"
            };
            return Err(Error::argument(cause, "begin the network with `embedding` where the data have tokens, and only there"));
        }
        let usual = std::thread::available_parallelism().map_or(1, usize::from).min(8);
        let workers = config.loading.workers.unwrap_or(usual);
        let samples = match (config.augment.transform()?, &data.pictures) {
            (None, _) => Arc::clone(&data.samples),
            (transform, Some(pictures)) => pictures.samples(transform),
            (Some(_), None) => {
                let cause = "`augment` has transforms of pictures, and the data are none";
                return Err(Error::argument(cause, "leave them out, or use data of pictures"));
            }
        };
        let loader = config.loader(samples.subset(train.clone())?).workers(workers);
        let loader = config.loading.sampled(loader, data, &train, config.seed)?;
        let judged = !validation.is_empty();
        let validation = Loader::new(Arc::clone(&data.samples).subset(validation)?, AT_ONCE, config.seed).in_order().workers(workers);
        let trainer = with(config.trainer(self, loader.n_batches())?);
        let validation = judged.then_some(&validation as &dyn Source<Batch = Batch>);
        if !config.augment.mixes() {
            return self.train_with(trainer, &loader, validation, config);
        }
        let n_classes = match (self.architecture.loss.task(), &self.output[..]) {
            (Task::Classes, [n]) => *n,
            _ => {
                let cause = "`mixup` and `cutmix` make probabilities of classes, and the network does not learn one class for each example";
                return Err(Error::argument(cause, "leave them out, or use data with classes and `loss = \"cross_entropy\"`"));
            }
        };
        let augment = config.augment.clone();
        let mixed = loader.map_batches(config.seed, move |batch, rng| augment.mixed(batch, n_classes, rng));
        self.train_with(trainer, &mixed, validation, config)
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
        let optimizer = config.optimizer.build_around(&self.stack, &Around::of(config)?, &config.groups)?;
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
        let mut metric: Option<Box<dyn Metric>> = metrics::usual(&self.architecture, &self.output).first().map(|make| make());
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
