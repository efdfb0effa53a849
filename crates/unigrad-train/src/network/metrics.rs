//! Metrics in words.
//!
//! In: names and settings. Out: what measures, for a network's answers. Always: names and definitions are those of [`unigrad_nn::metrics`].

use super::{Architecture, BinaryAccuracy, LossSpec, Task, named};
use crate::trainer::MakeMetric;
use serde::{Deserialize, Deserializer};
use unigrad_nn::{
    Error, Result,
    metrics::{self as nn, Accuracy, ClassScore, LogLoss, Mae, Mape, Metric, Mse, Perplexity, PrAuc, R2, Rmse, RocAuc, Score, TopK},
};

/// How the scores of classes become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AverageSpec {
    /// Their mean over the classes that were seen.
    #[default]
    Macro,
    /// From the counts of all classes together.
    Micro,
    /// Their mean, by how often the classes are labels.
    Weighted,
}

/// Which scores of classes are meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassSettings {
    /// How they become one.
    pub average: AverageSpec,
    /// The score of this class alone.
    pub class: Option<usize>,
}

impl ClassSettings {
    fn of(self) -> nn::Average {
        match (self.class, self.average) {
            (Some(class), _) => nn::Average::Class(class),
            (None, AverageSpec::Macro) => nn::Average::Macro,
            (None, AverageSpec::Micro) => nn::Average::Micro,
            (None, AverageSpec::Weighted) => nn::Average::Weighted,
        }
    }
}

/// A metric in words. In files: `metrics = ["accuracy", { top_k = { k = 3 } }]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum MetricSpec {
    /// The part of answers that are right: of classes, or of yes-or-no questions.
    Accuracy,
    /// The part of examples whose label is among the `k` greatest scores.
    TopK {
        /// How many.
        k: usize,
    },
    /// Of what was called a class, the part that is.
    Precision(ClassSettings),
    /// Of what is a class, the part that was found.
    Recall(ClassSettings),
    /// The harmonic mean of both.
    F1(ClassSettings),
    /// Of what is a class or was called so, the part that is both.
    Iou(ClassSettings),
    /// The area under the receiver's curve, of yes-or-no questions.
    RocAuc,
    /// Average precision, of yes-or-no questions.
    PrAuc,
    /// The mean cross-entropy of classes.
    LogLoss,
    /// The exponential of `log_loss`.
    Perplexity,
    /// The mean of `|x - target|`.
    Mae,
    /// The mean of `(x - target)²`.
    Mse,
    /// The root of `mse`.
    Rmse,
    /// The mean of `|x - target| / |target|`.
    Mape,
    /// The part of the targets' variance that is explained.
    R2,
}

/// A list of metrics, in a field of a description.
pub(super) fn list<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<Vec<MetricSpec>>, D::Error> {
    struct One(MetricSpec);
    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<One, D::Error> {
            named::one_of(deserializer, "a metric").map(One)
        }
    }
    Ok(Some(Vec::<One>::deserialize(deserializer)?.into_iter().map(|one| one.0).collect()))
}

fn made<M: Metric + 'static>(make: impl Fn() -> M + 'static) -> MakeMetric {
    Box::new(move || Box::new(make()))
}

/// The axis of a batch's scores that has the classes, and how many there are: as the loss takes them, on axis 1, but for a language model's, on the last.
fn classes_of(loss: &LossSpec, output: &[usize]) -> (isize, Option<usize>) {
    match (loss, output) {
        (LossSpec::TokenCrossEntropy { .. }, _) | (_, [] | [_]) => (-1, output.last().copied()),
        (_, [classes, ..]) => (1, Some(*classes)),
    }
}

/// The accuracy of a network's kind of answers.
fn accuracy(task: Task, axis: isize) -> Option<MakeMetric> {
    match task {
        Task::Classes | Task::LogClasses => Some(made(move || Accuracy::default().classes_on(axis))),
        Task::Binary => Some(made(BinaryAccuracy::of_logits)),
        Task::Probabilities => Some(made(BinaryAccuracy::of_probabilities)),
        Task::Numbers => None,
    }
}

/// What is measured unless told otherwise.
pub(super) fn usual(architecture: &Architecture, output: &[usize]) -> Vec<MakeMetric> {
    match architecture.loss.task() {
        Task::Numbers => vec![made(Mae::default)],
        // Labels of pixels may be of no class, which only counts of classes leave out.
        Task::Classes | Task::LogClasses if output.len() != 1 && !matches!(architecture.loss, LossSpec::TokenCrossEntropy { .. }) => {
            Vec::new()
        }
        task => accuracy(task, classes_of(&architecture.loss, output).0).into_iter().collect(),
    }
}

impl MetricSpec {
    /// What measures answers that are trained by this loss, of shape `output`.
    pub(super) fn make(&self, loss: &LossSpec, output: &[usize]) -> Result<MakeMetric> {
        let task = loss.task();
        let (axis, n_classes) = classes_of(loss, output);
        let classes = |settings: &ClassSettings, score: Score| -> Result<MakeMetric> {
            let n = match (task, n_classes) {
                (Task::Classes | Task::LogClasses, Some(n)) => n,
                _ => {
                    return Err(Error::argument(
                        "a score of classes, and the network answers no classes",
                        "train it by a loss of classes, or leave the metric out",
                    ));
                }
            };
            if let Some(class) = settings.class.filter(|class| *class >= n) {
                return Err(Error::argument(format!("a score of class {class}, and there are {n}"), "name one of the classes"));
            }
            let average = settings.of();
            Ok(made(move || ClassScore::new(score, average, n).classes_on(axis)))
        };
        Ok(match self {
            MetricSpec::Accuracy => accuracy(task, axis)
                .ok_or_else(|| Error::argument("the metric `accuracy` of a network that answers numbers", "use `mae`, `rmse` or `r2`"))?,
            MetricSpec::TopK { k: 0 } => return Err(Error::argument("the metric `top_k` with a `k` of 0", "use a number from 1 up")),
            MetricSpec::TopK { k } => {
                let k = *k;
                made(move || TopK::new(k))
            }
            MetricSpec::Precision(settings) => classes(settings, Score::Precision)?,
            MetricSpec::Recall(settings) => classes(settings, Score::Recall)?,
            MetricSpec::F1(settings) => classes(settings, Score::F1)?,
            MetricSpec::Iou(settings) => classes(settings, Score::IoU)?,
            MetricSpec::RocAuc => made(RocAuc::default),
            MetricSpec::PrAuc => made(PrAuc::default),
            MetricSpec::LogLoss => made(LogLoss::default),
            MetricSpec::Perplexity => made(Perplexity::default),
            MetricSpec::Mae => made(Mae::default),
            MetricSpec::Mse => made(Mse::default),
            MetricSpec::Rmse => made(Rmse::default),
            MetricSpec::Mape => made(Mape::default),
            MetricSpec::R2 => made(R2::default),
        })
    }
}
