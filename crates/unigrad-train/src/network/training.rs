//! How a network is trained: settings, and the trainer that they make.
//!
//! In: settings, in code or from the section `[train]` of a file. Out: a [`Trainer`], or an error for numbers that make no sense, before anything is computed.

use super::{
    Network,
    around::{AdaptiveClip, GradientSettings, LookaheadSettings, SamSettings},
    augment::Augment,
    groups::ParameterGroup,
    loading::{Loading, SplitSpec},
    metrics::{self, MetricSpec},
    named,
    optimizer::OptimizerSpec,
    schedule::{ScheduleSpec, Scheduled},
    stopping::{Keeping, Stopping},
};
use crate::{Console, Ema, Precision, Swa, TensorBoard, Trainer};
use serde::Deserialize;
use std::{path::PathBuf, time::Duration};
use unigrad_data::{Dataset, Loader};
use unigrad_nn::{Error, Result, ScalerOptions};
use unigrad_tensor::{DelayedScaling, Fp8Recipe, Fp8Scaling};

/// What forward passes compute in; see [`Precision`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PrecisionSpec {
    /// Everything in its own dtype.
    #[default]
    F32,
    /// Products, convolutions and attention in `BF16`.
    Bf16,
    /// Likewise in `F16`, with a loss scale that adapts.
    F16,
    /// Matrix products in 8-bit floats, the rest as in `BF16`.
    Fp8,
}

/// How products are rounded with `precision = "fp8"`; see [`Fp8Recipe`]. In files it is the section `[train.fp8]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fp8Settings {
    /// Scales are from the greatest absolute values of so many steps before; otherwise from each tensor itself.
    pub amax_history_len: Option<usize>,
    /// Scales are smaller by so many powers of two.
    pub margin: u32,
    /// Gradients are rounded up or down at random.
    pub stochastic_rounding: bool,
}

impl Fp8Settings {
    fn recipe(&self) -> Result<Fp8Recipe> {
        let scaling = match self.amax_history_len {
            Some(length) => Fp8Scaling::Delayed(DelayedScaling::new(length)?),
            None => Fp8Scaling::Current,
        };
        let recipe = Fp8Recipe { scaling, margin: self.margin, stochastic_rounding: self.stochastic_rounding, ..Fp8Recipe::default() };
        recipe.check()?;
        Ok(recipe)
    }
}

/// How the loss scale of `precision = "f16"` begins and adapts; see [`ScalerOptions`]. In files it is the section `[train.loss_scale]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossScaleSettings {
    /// The scale at first.
    pub init_scale: f64,
    /// What it is multiplied with after so many steps in a row whose gradients are finite.
    pub growth_factor: f64,
    /// What it is multiplied with after a step whose gradients are not.
    pub backoff_factor: f64,
    /// See `growth_factor`.
    pub growth_interval: u64,
}

impl Default for LossScaleSettings {
    fn default() -> LossScaleSettings {
        let ScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval } = ScalerOptions::default();
        LossScaleSettings { init_scale, growth_factor, backoff_factor, growth_interval }
    }
}

impl LossScaleSettings {
    fn options(&self) -> ScalerOptions {
        let LossScaleSettings { init_scale, growth_factor, backoff_factor, growth_interval } = *self;
        ScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval }
    }
}

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
    /// Steps after which it ends, though epochs are left.
    pub max_steps: Option<u64>,
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
    /// Parameters with settings of their own. In files sections `[[groups]]`.
    #[serde(skip)]
    pub groups: Vec<ParameterGroup>,
    /// How the learning rate changes.
    #[serde(skip)]
    pub schedule: Option<ScheduleSpec>,
    /// What is done to pictures and batches of training, of data that were read ([`Network::train_prepared`]). In files the section `[augment]`.
    #[serde(skip)]
    pub augment: Augment,
    /// How batches are made. In files the section `[loader]`.
    #[serde(skip)]
    pub loading: Loading,
    /// Which examples validate, of data that were read. In files the key `split`.
    #[serde(skip)]
    pub split: SplitSpec,
    /// Whether to end when a metric no longer gets better.
    pub early_stopping: Option<Stopping>,
    /// Gradients are scaled down together to this norm at most.
    pub clip_norm: Option<f64>,
    /// Of which norm that is: 2 of the Euclidean one, infinity of the greatest magnitude.
    pub clip_norm_type: f64,
    /// Elements of gradients are at most so far from 0.
    pub clip_value: Option<f64>,
    /// Each parameter's gradient is scaled down to this norm at most.
    pub clip_each_norm: Option<f64>,
    /// Gradients of units are at most so large as a share of their weights.
    pub clip_adaptively: Option<AdaptiveClip>,
    /// What else is done to gradients: penalties, noise, normalization.
    pub gradients: GradientSettings,
    /// Slow weights around the update rule.
    pub lookahead: Option<LookaheadSettings>,
    /// Sharpness-aware steps.
    pub sam: Option<SamSettings>,
    /// What forward passes compute in.
    pub precision: PrecisionSpec,
    /// How products are rounded in 8-bit floats.
    pub fp8: Fp8Settings,
    /// How the loss scale of `f16` begins and adapts.
    pub loss_scale: LossScaleSettings,
    /// The decay of exponential averages of the weights, which validation and the result use.
    pub ema: Option<f64>,
    /// The epoch from which equal averages of the weights are taken (SWA), which validation and the result use.
    pub swa_start: Option<usize>,
    /// What is measured beside the loss; without it, what is usual for the loss.
    #[serde(deserialize_with = "metrics::list")]
    pub metrics: Option<Vec<MetricSpec>>,
    /// Whether metrics are measured in training too.
    pub train_metrics: bool,
    /// Epochs between two validations.
    pub validate_every: usize,
    /// Steps between two reads of losses; see [`Trainer::read_every`].
    pub read_every: Option<usize>,
    /// Keeps the weights of the best epochs in the folder.
    pub keep_best: Option<Keeping>,
    /// Writes event files for TensorBoard into the folder.
    pub tensorboard: bool,
    /// Writes `metrics.jsonl` into the folder: a JSON object for each epoch.
    pub json_lines: bool,
    /// Writes `report.html` into the folder.
    pub report: bool,
    /// Steps of which a profile is made; see [`Trainer::profile`].
    pub profile: u64,
    /// Whether blocks of layers are computed again in the backward pass; see [`Trainer::gradient_checkpointing`].
    pub gradient_checkpointing: bool,
    /// Most bytes that an evaluation keeps between its launches; see [`Trainer::activation_limit`].
    pub activation_limit: Option<u64>,
    /// Whether the first step's need of memory is estimated first; see [`Trainer::check_memory`].
    pub check_memory: bool,
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
            max_steps: None,
            validation_split: 0.0,
            shuffle: true,
            verbose: false,
            seed: 0,
            optimizer: OptimizerSpec::default(),
            groups: Vec::new(),
            schedule: None,
            augment: Augment::default(),
            loading: Loading::default(),
            split: SplitSpec::default(),
            early_stopping: None,
            clip_norm: None,
            clip_norm_type: 2.0,
            clip_value: None,
            clip_each_norm: None,
            clip_adaptively: None,
            gradients: GradientSettings::default(),
            lookahead: None,
            sam: None,
            precision: PrecisionSpec::F32,
            fp8: Fp8Settings::default(),
            loss_scale: LossScaleSettings::default(),
            ema: None,
            swa_start: None,
            metrics: None,
            train_metrics: true,
            validate_every: 1,
            read_every: None,
            keep_best: None,
            tensorboard: false,
            json_lines: false,
            report: true,
            profile: 0,
            gradient_checkpointing: false,
            activation_limit: None,
            check_memory: true,
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
    /// Of JSON: what files have as the section `[train]`, beside `optimizer` and `schedule`.
    ///
    /// ```
    /// use unigrad_train::network::TrainingConfig;
    /// let config = TrainingConfig::from_json(r#"{"train": {"max_epochs": 5}, "optimizer": {"sgd": {"lr": 0.1}}}"#)?;
    /// assert_eq!((config.max_epochs, config.optimizer.lr()), (5, 0.1));
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<TrainingConfig> {
        #[derive(Default, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        struct Whole {
            train: TrainingConfig,
            optimizer: OptimizerSpec,
            schedule: Option<ScheduleSpec>,
        }
        let wrong = |error: serde_json::Error| Error::argument(format!("settings of a training: {error}"), "see `docs/training.md`");
        let Whole { train, optimizer, schedule } = serde_json::from_str(text).map_err(wrong)?;
        Ok(TrainingConfig { optimizer, schedule, ..train })
    }

    /// The trainer that these settings make, for `n_batches` batches an epoch.
    pub(super) fn trainer(&self, network: &Network, n_batches: usize) -> Result<Trainer> {
        let positive = |name: &str, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::argument(format!("`{name}` is {value}"), "use a finite number above 0"))
            }
            _ => Ok(()),
        };
        positive("time_limit", self.time_limit)?;
        let counts = [
            ("batch_size", Some(self.batch_size as u64)),
            ("max_epochs", Some(self.max_epochs as u64)),
            ("accumulate", Some(self.accumulate as u64)),
            ("validate_every", Some(self.validate_every as u64)),
            ("max_steps", self.max_steps),
            ("read_every", self.read_every.map(|steps| steps as u64)),
            ("checkpoint_every", self.checkpoint_every),
            ("activation_limit", self.activation_limit),
            ("swa_start", self.swa_start.map(|epoch| epoch as u64)),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == Some(0)) {
            return Err(Error::argument(format!("`{name}` is 0"), "use a number from 1 up"));
        }
        self.check_steps()?;
        let mut trainer = Trainer::new(network.device())
            .epochs(self.max_epochs)
            .seed(self.seed)
            .accumulate(self.accumulate)
            .precision(match self.precision {
                PrecisionSpec::F32 => Precision::Full,
                PrecisionSpec::Bf16 => Precision::Bf16,
                PrecisionSpec::F16 => Precision::F16,
                PrecisionSpec::Fp8 => Precision::Fp8,
            })
            // Targets of mixed batches are probabilities, which metrics do not take.
            .train_metrics(self.train_metrics && !self.augment.mixes())
            .validate_every(self.validate_every)
            .report(self.report)
            .profile(self.profile)
            .gradient_checkpointing(self.gradient_checkpointing)
            .check_memory(self.check_memory)
            .console(if self.verbose { Console::Auto } else { Console::Silent })
            // The network's own file has its architecture, too.
            .save_model(false);
        if self.precision == PrecisionSpec::Fp8 {
            trainer = trainer.fp8(self.fp8.recipe()?);
        } else if self.fp8 != Fp8Settings::default() {
            let cause = format!("`fp8` is given, and `precision` is {:?}", self.precision).to_lowercase();
            return Err(Error::argument(cause, "set `precision = \"fp8\"`, or leave `fp8` out"));
        }
        if self.precision == PrecisionSpec::F16 {
            trainer = trainer.loss_scale(self.loss_scale.options());
        } else if self.loss_scale != LossScaleSettings::default() {
            let cause = format!("`loss_scale` is given, and `precision` is {:?}", self.precision).to_lowercase();
            return Err(Error::argument(cause, "set `precision = \"f16\"`, or leave `loss_scale` out"));
        }
        let (loss, output) = (&network.architecture.loss, &network.output);
        trainer.metrics = match &self.metrics {
            None => metrics::usual(&network.architecture, output),
            Some(all) => all.iter().map(|metric| metric.make(loss, output)).collect::<Result<_>>()?,
        };
        let per_epoch = n_batches.div_ceil(self.accumulate) as u64;
        let mut steps = per_epoch.saturating_mul(self.max_epochs as u64);
        if let Some(most) = self.max_steps.filter(|most| *most < steps) {
            steps = most;
            trainer = trainer.steps(most);
        }
        if let Some(schedule) = &self.schedule {
            trainer = match schedule.build(steps, per_epoch)? {
                Scheduled::Steps(schedule) => trainer.schedule(schedule),
                Scheduled::Plateau(metric, plateau) => trainer.plateau(&metric, plateau),
            };
        }
        // Averages first: what stops and keeps sees them.
        if let Some(decay) = self.ema {
            trainer = trainer.callback(Ema::new(decay));
        }
        if let Some(epoch) = self.swa_start {
            trainer = trainer.callback(Swa::new(epoch));
        }
        if let Some(keeping) = &self.keep_best {
            trainer = trainer.callback(keeping.callback()?);
        }
        if let Some(stopping) = &self.early_stopping {
            trainer = trainer.callback(stopping.callback());
        }
        if self.tensorboard {
            trainer = trainer.callback(TensorBoard::new());
        }
        if self.json_lines {
            trainer = trainer.json_lines();
        }
        if let Some(steps) = self.read_every {
            trainer = trainer.read_every(steps);
        }
        if let Some(folder) = &self.folder {
            trainer = trainer.folder(folder);
            trainer = if self.resume { trainer.resume_if_there() } else { trainer };
        }
        if let Some(bytes) = self.activation_limit {
            trainer = trainer.activation_limit(bytes);
        }
        if let Some(steps) = self.checkpoint_every {
            trainer = trainer.checkpoint_every(steps);
        }
        if let Some(seconds) = self.time_limit {
            trainer = trainer.time_limit(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        Ok(trainer)
    }

    /// Whether the optimizer can take the steps that are asked for.
    fn check_steps(&self) -> Result<()> {
        if self.ema.is_some() && self.swa_start.is_some() {
            return Err(Error::argument(
                "`ema` and `swa_start` are both given",
                "give one of them: both put averages in the weights' place",
            ));
        }
        let what = if self.optimizer.looks_around() { "the optimizer" } else { "`sam`" };
        if !self.optimizer.looks_around() && self.sam.is_none() {
            return Ok(());
        }
        let wrong = [(self.accumulate > 1, "`accumulate`"), (self.precision == PrecisionSpec::F16, "`precision = \"f16\"`")];
        match wrong.iter().find(|(there, _)| *there) {
            Some((_, with)) => {
                let cause = format!("{what} looks at the loss in several places, which does not go with {with}");
                Err(Error::argument(cause, "leave one of them out: larger batches for `accumulate`, \"bf16\" for \"f16\""))
            }
            None => Ok(()),
        }
    }

    /// Batches of a dataset for training.
    pub fn loader<D: Dataset<Item = unigrad_data::Sample> + 'static>(&self, dataset: D) -> Loader<D> {
        let loader = self.loading.applied(Loader::new(dataset, self.batch_size, self.seed));
        if self.shuffle { loader } else { loader.in_order() }
    }
}
