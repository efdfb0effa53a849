//! Configuration files: a whole run in TOML.
//!
//! In: text. Out: data, network, loss, optimizer, schedule and settings of a run; or an error with the line, and the nearest name for one that does not exist.
//! Always: an unknown key and a value of another type are errors; nothing is read, built or written before the whole file is understood.

use super::{
    Architecture, DataSpec, LayerSpec, LossSpec, Network, OptimizerSpec, Prepared, ScheduleSpec, TrainingConfig,
    augment::Augment,
    builder::{resolve_output, resolve_tokens},
    groups::{self, GroupSection, Misplaced},
    loading::{self, Loading, SplitSpec},
    named, training,
};
use crate::Run;
use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};
use unigrad_nn::{Error, Module, Result, files};
use unigrad_tensor::Device;

/// A configuration file of more bytes is none.
const MAX_BYTES: u64 = 1 << 20;

/// A run in words.
///
/// ```
/// use unigrad_train::network::RunConfig;
/// let config = RunConfig::parse(r#"
/// data = "digits"
/// [network]
/// layers = ["flatten", { dense = { units = 32 } }, "relu", "output"]
/// [optimizer.adamw]
/// lr = 2e-3
/// [schedule.cosine]
/// warmup = 20
/// [train]
/// max_epochs = 3
/// validation_split = 0.2
/// "#, "digits.toml")?;
/// assert_eq!((config.train.max_epochs, config.train.optimizer.lr()), (3, 2e-3));
/// // What does not exist is told with its line, and what was meant.
/// let error = RunConfig::parse("data = \"digits\"\n[network]\nlayer = []\n", "my.toml").unwrap_err().to_string();
/// assert!(error.contains("my.toml: line 3: unknown field `layer`") && error.contains("did you mean `layers`?"), "{error}");
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// What is learned from.
    #[serde(deserialize_with = "data")]
    pub data: DataSpec,
    /// What learns.
    pub network: NetworkSection,
    /// What it is trained by; what is usual for the data without it.
    #[serde(default, deserialize_with = "loss")]
    pub loss: Option<LossSpec>,
    /// The update rule.
    #[serde(default, deserialize_with = "training::optimizer")]
    optimizer: OptimizerSpec,
    /// Parameters with settings of their own.
    #[serde(default)]
    groups: Vec<GroupSection>,
    /// Where it was read, and in which line each pattern of a group stands.
    #[serde(skip)]
    places: (PathBuf, Vec<Vec<usize>>),
    /// How the learning rate changes.
    #[serde(default, deserialize_with = "training::schedule")]
    schedule: Option<ScheduleSpec>,
    /// What training does to pictures and batches.
    #[serde(default)]
    augment: Augment,
    /// How batches are made.
    #[serde(default)]
    loader: Loading,
    /// Which examples validate.
    #[serde(default, deserialize_with = "loading::split")]
    split: SplitSpec,
    /// Settings of the run, with optimizer, schedule, and what the data are used by.
    #[serde(default)]
    pub train: TrainingConfig,
    /// The device by name; the best without it.
    #[serde(default)]
    pub device: Option<String>,
}

/// The section `[network]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSection {
    /// The shape of an example; that of the data without it.
    #[serde(default)]
    pub input: Option<Vec<usize>>,
    /// In order; `"output"` is a dense layer with as many units as the data need.
    pub layers: Vec<LayerSpec>,
}

fn data<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<DataSpec, D::Error> {
    named::one_of(deserializer, "a kind of data")
}

fn loss<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<LossSpec>, D::Error> {
    named::loss(deserializer).map(Some)
}

impl RunConfig {
    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<RunConfig> {
        let path = path.as_ref();
        let bytes = files::read_at_most(path, MAX_BYTES)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::format(path, "is no text in UTF-8", "save it as UTF-8"))?;
        RunConfig::parse(&text, path)
    }

    /// Reads text; `path` is what errors name.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<RunConfig> {
        RunConfig::parse_from(text, path.as_ref())
    }

    /// Not generic: a reader of TOML for every setting is thousands of functions, which each program would compile anew.
    fn parse_from(text: &str, path: &Path) -> Result<RunConfig> {
        let line = |at: usize| 1 + text.bytes().take(at).filter(|b| *b == b'\n').count();
        let wrong = |at: usize, message: &str| {
            let message = unigrad_device::printable(message.lines().next().unwrap_or_default()).to_string();
            Error::format(path, format!("line {}: {message}", line(at)), help(&message))
        };
        let mut config: RunConfig =
            toml::from_str(text).map_err(|error| wrong(error.span().map_or(0, |span| span.start), error.message()))?;
        let groups = config.groups.iter().map(|section| section.group(&config.optimizer));
        config.train.groups = groups.collect::<std::result::Result<_, _>>().map_err(|Misplaced(at, message)| wrong(at, &message))?;
        let lines = config.groups.iter().zip(&config.train.groups);
        let lines = lines.map(|(section, group)| (0..group.parameters.len()).map(|at| line(section.place(at))).collect()).collect();
        config.places = (path.to_owned(), lines);
        config.train.optimizer = config.optimizer.clone();
        config.train.schedule = config.schedule.clone();
        config.train.augment = config.augment.clone();
        config.train.loading = config.loader.clone();
        config.train.split = config.split.clone();
        Ok(config)
    }

    /// The device that was asked for, or the best.
    pub fn open_device(&self) -> Result<Device> {
        Ok(self.device.as_deref().map_or_else(Device::best, Device::open)?)
    }

    /// The network for data that were read, with initial values of the run's seed.
    pub fn build(&self, data: &Prepared, device: &Device) -> Result<Network> {
        let mut layers = self.network.layers.clone();
        resolve_output(&mut layers, data.n_outputs)?;
        resolve_tokens(&mut layers, data.n_tokens);
        let input = self.network.input.clone().unwrap_or_else(|| data.shape.clone());
        let loss = self.loss.clone().unwrap_or_else(|| data.loss.clone());
        let mut network = Network::from_architecture(Architecture { input, layers, loss }, Some(self.train.seed), device)?;
        let names: Vec<String> = network.named_parameters().into_iter().map(|(name, _)| name).collect();
        for (group, lines) in self.train.groups.iter().zip(&self.places.1) {
            if let Some(at) = group.unmatched(&names) {
                let pattern = unigrad_device::printable(&group.parameters[at]).to_string();
                let line = lines.get(at).copied().unwrap_or(1);
                let cause = format!("line {line}: `{pattern}` names no parameter of the network");
                return Err(Error::format(&self.places.0, cause, groups::known(&names)));
            }
        }
        data.metadata.iter().for_each(|(name, text)| network.set_metadata(name, text));
        Ok(network)
    }

    /// Reads the data, builds the network and trains it.
    pub fn run(&self) -> Result<(Network, Run)> {
        let data = self.data.read(self.train.seed)?;
        let mut network = self.build(&data, &self.open_device()?)?;
        let run = network.train_prepared(&data, &self.train, |trainer| trainer)?;
        Ok((network, run))
    }
}

/// What would help with a mistake in a file.
fn help(message: &str) -> String {
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    if !message.starts_with("unknown ") || known.is_empty() {
        return "correct the line; `unigrad train config --help` shows a whole file".to_owned();
    }
    let nearest = known.iter().map(|name| (distance(wrong, name), *name)).min();
    match nearest {
        // Further away it is another word.
        Some((far, name)) if far <= 1 + wrong.chars().count() / 3 => format!("did you mean `{name}`?"),
        _ => format!("use one of {}", known.join(", ")),
    }
}

/// How many characters differ (Levenshtein's distance), of names that are not long.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}
