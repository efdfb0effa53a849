//! Which examples train, which validate, and in which batches, in words.
//!
//! In: the sections `[loader]` and `split` of a configuration file. Out: indices, samplers, and a loader's settings. Always: what needs classes is an error where
//! examples have none.

use super::{Prepared, named};
use serde::{Deserialize, Deserializer};
use std::num::NonZeroUsize;
use unigrad_data::{
    Dataset, Fold, Loader, RandomOrder, Sample, Sampler, Stratified, Weighted, k_fold, random_split, stratified_k_fold, stratified_split,
};
use unigrad_nn::{Error, HostTensor, Result, random::Rng};
use unigrad_tensor::DType;

/// How batches are made. In files it is the section `[loader]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Loading {
    /// Which examples an epoch has, in which order; each once, shuffled or not, without it.
    #[serde(deserialize_with = "sampler")]
    pub sampler: Option<SamplerSpec>,
    /// Threads that make batches; as many as there are processors, up to 8, without it.
    pub workers: Option<usize>,
    /// Batches that wait in the host's memory; twice as many as threads without it.
    pub prefetch: Option<usize>,
    /// Batches that are on the device before they are asked for; one without it.
    pub upload_ahead: Option<usize>,
    /// Leaves a last batch out that would be smaller than the others.
    pub drop_last: bool,
}

/// A sampler in words.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SamplerSpec {
    /// Draws with replacement, so that each class is as likely as any other; see [`Weighted::balanced`].
    Balanced,
    /// Each once, classes spread evenly over the epoch; see [`Stratified`].
    Stratified,
    /// Draws by a weight for each class; see [`Weighted`].
    Weighted {
        /// Of each class, in order.
        weights: Vec<f64>,
        /// Examples of an epoch; as many as there are without it.
        #[serde(default)]
        samples: Option<usize>,
        /// Whether an example may come several times.
        #[serde(default = "yes")]
        replacement: bool,
    },
    /// Draws any example, also several times; see [`RandomOrder::with_replacement`].
    Replacement {
        /// Examples of an epoch; as many as there are without it.
        #[serde(default)]
        samples: Option<usize>,
    },
}

/// Which examples validate. In files the key `split`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum SplitSpec {
    /// The last ones; of files that are sorted by class, a random part of each.
    #[default]
    Usual,
    /// A random part.
    Random,
    /// A random part of each class.
    Stratified,
    /// One of several folds; `validation_split` does not count then.
    Folds {
        /// How many there are.
        k: NonZeroUsize,
        /// Which one validates, from 0.
        fold: usize,
        /// Whether folds are drawn, by the run's seed; otherwise they are runs of the examples' own order.
        #[serde(default = "yes")]
        shuffled: bool,
        /// Whether each fold has its share of every class.
        #[serde(default)]
        stratified: bool,
    },
}

fn yes() -> bool {
    true
}

fn sampler<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<SamplerSpec>, D::Error> {
    named::one_of(deserializer, "a sampler").map(Some)
}

pub(super) fn split<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<SplitSpec, D::Error> {
    named::one_of(deserializer, "a split")
}

/// The class of each example.
fn classes(data: &Prepared) -> Result<Vec<usize>> {
    if let Some(labels) = &data.labels {
        return Ok(labels.clone());
    }
    let class = |target: &HostTensor| match (target.dtype, target.shape.len(), target.bytes.as_array::<8>()) {
        (DType::I64, 0, Some(bytes)) => usize::try_from(i64::from_ne_bytes(*bytes)).ok(),
        _ => None,
    };
    let of = |at: usize| {
        class(&data.samples.get(at, &mut Rng::new(0, 0))?.target).ok_or_else(|| {
            let cause = format!("`sampler` or `split` goes by classes, and example {at} has none");
            Error::argument(cause, "leave it out, or use data whose answers are classes")
        })
    };
    (0..data.samples.len()).map(of).collect()
}

impl SplitSpec {
    /// Indices of what trains, and of what validates.
    pub(super) fn of(&self, data: &Prepared, fraction: f64, seed: u64) -> Result<(Vec<usize>, Vec<usize>)> {
        let n = data.samples.len();
        match *self {
            SplitSpec::Folds { k, fold, shuffled, stratified } => {
                let (k, seed) = (k.get(), shuffled.then_some(seed));
                let folds = if stratified { stratified_k_fold(&classes(data)?, k, seed)? } else { k_fold(n, k, seed)? };
                match folds.into_iter().nth(fold) {
                    Some(Fold { train, validation }) => Ok((train, validation)),
                    None => Err(Error::argument(format!("fold {fold} of {k}"), format!("use a `fold` from 0 to {}", k - 1))),
                }
            }
            _ if fraction == 0.0 => data.split(fraction, seed),
            SplitSpec::Usual => data.split(fraction, seed),
            SplitSpec::Stratified => stratified_split(&classes(data)?, fraction, seed),
            SplitSpec::Random => {
                let mut parts = random_split(n, &[1.0 - fraction, fraction], seed)?;
                match (parts.pop(), parts.pop()) {
                    (Some(validation), Some(train)) if !train.is_empty() && !validation.is_empty() => Ok((train, validation)),
                    _ => {
                        let cause = format!("a validation split of {fraction} of {n} examples leaves a part empty");
                        Err(Error::argument(cause, "use a fraction that leaves examples in both parts"))
                    }
                }
            }
        }
    }
}

impl SamplerSpec {
    /// Over the examples `train`, numbered as they stand there.
    fn of(&self, data: &Prepared, train: &[usize], seed: u64) -> Result<Box<dyn Sampler>> {
        let labels = || -> Result<Vec<usize>> {
            let all = classes(data)?;
            Ok(train.iter().filter_map(|at| all.get(*at).copied()).collect())
        };
        Ok(match self {
            SamplerSpec::Balanced => Box::new(Weighted::balanced(&labels()?, seed)?),
            SamplerSpec::Stratified => Box::new(Stratified::new(&labels()?, seed)),
            SamplerSpec::Weighted { weights, samples, replacement } => {
                let of_item = |class: usize| {
                    weights.get(class).copied().ok_or_else(|| {
                        let cause = format!("`weights` has {} classes, and the data have class {class}", weights.len());
                        Error::argument(cause, "give a weight for each class")
                    })
                };
                let weights = labels()?.into_iter().map(of_item).collect::<Result<_>>()?;
                Box::new(Weighted::new(weights, samples.unwrap_or(train.len()), *replacement, seed)?)
            }
            SamplerSpec::Replacement { samples } => {
                Box::new(RandomOrder::new(train.len(), seed).with_replacement(samples.unwrap_or(train.len())))
            }
        })
    }
}

impl Loading {
    /// A loader with these settings, but the sampler.
    pub(super) fn applied<D: Dataset<Item = Sample> + 'static>(&self, mut loader: Loader<D>) -> Loader<D> {
        if let Some(workers) = self.workers {
            loader = loader.workers(workers);
        }
        if let Some(n_batches) = self.prefetch {
            loader = loader.prefetch(n_batches);
        }
        if let Some(n_batches) = self.upload_ahead {
            loader = loader.upload_ahead(n_batches);
        }
        if self.drop_last { loader.drop_last() } else { loader }
    }

    /// Likewise with the sampler, of the examples `train`.
    pub(super) fn sampled<D: Dataset<Item = Sample> + 'static>(
        &self,
        loader: Loader<D>,
        data: &Prepared,
        train: &[usize],
        seed: u64,
    ) -> Result<Loader<D>> {
        match &self.sampler {
            Some(sampler) => Ok(loader.sampler(sampler.of(data, train, seed)?)),
            None => Ok(loader),
        }
    }
}
