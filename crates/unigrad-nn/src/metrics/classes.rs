//! Metrics of classifiers: from counts of labels and predictions.

use super::{Confusion, Metric, other_state, unlike};
use crate::error::{Error, Result};
use unigrad_tensor::{DType, Tensor, no_grad};

/// The axis of scores that has the classes: the last one, unless told otherwise.
#[derive(Clone, Copy, Debug)]
struct Axis(isize);

impl Default for Axis {
    fn default() -> Axis {
        Axis(-1)
    }
}

impl Axis {
    /// How many classes scores have, and their shape without that axis; `None` if there is no such axis.
    fn of(self, scores: &Tensor) -> Option<(usize, Vec<usize>)> {
        let mut shape = scores.shape();
        let at = if self.0 < 0 { shape.len().checked_sub(self.0.unsigned_abs())? } else { self.0.unsigned_abs() };
        (at < shape.len()).then(|| (shape.remove(at), shape))
    }
}

/// Class indices: those given, or the greatest of each row of scores. `[n]` and `[n]`.
#[track_caller]
fn indices(metric: &str, prediction: &Tensor, target: &Tensor, axis: Axis) -> Result<(Tensor, Tensor)> {
    let help =
        "give scores [n, classes] or class indices [n], and class indices [n]; scores with classes on another axis need `classes_on`";
    if prediction.is_invalid() || target.is_invalid() || target.dtype().is_float() {
        return Err(unlike(metric, prediction, target, help));
    }
    let shape = prediction.shape();
    let prediction = if prediction.dtype().is_float() {
        if axis.of(prediction).is_none_or(|(n_classes, others)| n_classes == 0 || others != target.shape()) {
            return Err(unlike(metric, prediction, target, help));
        }
        prediction.detach().argmax(axis.0)
    } else if shape == target.shape() {
        prediction.cast(DType::I64)
    } else {
        return Err(unlike(metric, prediction, target, help));
    };
    Ok((prediction.flatten_all(), target.cast(DType::I64).flatten_all()))
}

/// Exact counts on the device.
#[derive(Debug, Default)]
struct Counts(Option<Tensor>);

impl Counts {
    #[track_caller]
    fn add(&mut self, counts: Tensor) -> Result<()> {
        let sum = match &self.0 {
            Some(before) => before + &counts,
            None => counts,
        };
        self.0 = Some(sum.detach().realize()?);
        Ok(())
    }

    fn read(&self) -> Result<Vec<i64>> {
        self.0.as_ref().map_or_else(|| Ok(Vec::new()), Tensor::to_vec)
    }

    fn state(&self) -> Vec<Tensor> {
        self.0.iter().cloned().collect()
    }

    /// Goes on from `n` counts.
    fn load(&mut self, metric: &str, n: usize, mut state: Vec<Tensor>) -> Result<()> {
        if state.len() > 1 || state.iter().any(|counts| counts.shape() != [n] || counts.dtype() != DType::I64) {
            return Err(other_state(metric, &state));
        }
        self.0 = state.pop();
        Ok(())
    }
}

/// The part of examples whose greatest score is that of their label. Predictions are scores `[.., classes]` or class indices.
#[derive(Debug, Default)]
pub struct Accuracy {
    counts: Counts,
    axis: Axis,
}

impl Accuracy {
    /// Of scores whose classes are on this axis: 1 for those of images, `[batch, classes, height, width]`.
    pub fn classes_on(mut self, axis: isize) -> Accuracy {
        self.axis = Axis(axis);
        self
    }
}

impl Metric for Accuracy {
    fn name(&self) -> String {
        "accuracy".into()
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        let (prediction, target) = indices("accuracy", prediction, target, self.axis)?;
        let n = target.numel() as i64;
        let right = no_grad(|| prediction.eq(&target).cast(DType::I64).sum(()));
        self.counts.add(Tensor::stack(&[&right, &(right.zeros_like() + n)], 0))
    }

    fn value(&self) -> Result<f64> {
        Ok(match self.counts.read()?[..] {
            [right, n] => right as f64 / n as f64,
            _ => f64::NAN,
        })
    }

    fn reset(&mut self) {
        self.counts = Counts::default();
    }

    fn state(&self) -> Vec<Tensor> {
        self.counts.state()
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.counts.load("accuracy", 2, state)
    }
}

/// The part of examples whose label is among the `k` greatest scores; of equal scores the first counts as greater.
#[derive(Debug)]
pub struct TopK {
    k: usize,
    counts: Counts,
}

impl TopK {
    /// Among the `k` greatest.
    pub fn new(k: usize) -> TopK {
        TopK { k, counts: Counts::default() }
    }
}

impl Metric for TopK {
    fn name(&self) -> String {
        format!("top_{}", self.k)
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        let shape = prediction.shape();
        if prediction.is_invalid() || shape.is_empty() || shape[..shape.len() - 1] != target.shape()[..] || target.dtype().is_float() {
            return Err(unlike("top-k", prediction, target, "give scores [.., classes] and class indices [..]"));
        }
        let k = self.k.min(shape[shape.len() - 1]);
        let n = target.numel() as i64;
        let found = no_grad(|| {
            let (_, best) = prediction.detach().topk(k, -1, true);
            best.eq(target.cast(DType::I64).unsqueeze(-1)).cast(DType::I64).sum(())
        });
        self.counts.add(Tensor::stack(&[&found, &(found.zeros_like() + n)], 0))
    }

    fn value(&self) -> Result<f64> {
        Ok(match self.counts.read()?[..] {
            [found, n] => found as f64 / n as f64,
            _ => f64::NAN,
        })
    }

    fn reset(&mut self) {
        self.counts = Counts::default();
    }

    fn state(&self) -> Vec<Tensor> {
        self.counts.state()
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.counts.load("top-k", 2, state)
    }
}

/// Counts per label and prediction, on the device until they are read: intersection over union too.
///
/// ```
/// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
/// # use unigrad_nn::metrics::ConfusionMatrix;
/// # use unigrad_tensor::{Device, Tensor};
/// # let device = Device::open("cpu")?;
/// // Two classes of pixels, on axis 1 of the scores of an image of 1x3.
/// let scores = Tensor::new([[[[0.9f32, 0.8, 0.1]], [[0.1, 0.2, 0.9]]]], &device);
/// let mut matrix = ConfusionMatrix::new(2).classes_on(1);
/// matrix.update(&scores, &Tensor::new([[[0i64, 1, 1]]], &device))?; // waits for nothing
/// assert_eq!(matrix.iou()?, [0.5, 0.5]); // one of two pixels that are the class or were called so
/// # Ok::<(), unigrad_tensor::Error>(())
/// ```
#[derive(Debug)]
pub struct ConfusionMatrix {
    n_classes: usize,
    axis: Axis,
    counts: Counts,
}

impl ConfusionMatrix {
    /// Of classes `0..n_classes`; what is none of them is not counted, such as a label 255 or -100 that stands for pixels of no class.
    pub fn new(n_classes: usize) -> ConfusionMatrix {
        ConfusionMatrix { n_classes, axis: Axis::default(), counts: Counts::default() }
    }

    /// Of scores whose classes are on this axis: 1 for those of images, `[batch, classes, height, width]`.
    pub fn classes_on(mut self, axis: isize) -> ConfusionMatrix {
        self.axis = Axis(axis);
        self
    }

    /// Counts a batch, see [`Accuracy`].
    #[track_caller]
    pub fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        let (prediction, target) = indices("confusion", prediction, target, self.axis)?;
        let n = self.n_classes;
        if n == 0 || n.checked_mul(n).is_none_or(|n| n > 1 << 26) {
            return Err(Error::argument(format!("a confusion matrix of {n} classes"), "give from 1 to 8192 classes"));
        }
        let counts = no_grad(|| {
            let is_class = |x: &Tensor| x.ge(0).logical_and(x.lt(n as i64));
            let counts = is_class(&prediction).logical_and(is_class(&target));
            let at = counts.where_(&target * n as i64 + &prediction, (n * n) as i64);
            let ones = at.ones_like();
            let zeros = Tensor::zeros([n * n + 1], DType::I64, &at.device()?);
            Ok::<Tensor, Error>(zeros.scatter_add(0, &at, &ones))
        })?;
        self.counts.add(counts)
    }

    /// The counts so far. Waits.
    pub fn confusion(&self) -> Result<Confusion> {
        let mut confusion = Confusion::new(self.n_classes);
        for (at, count) in self.counts.read()?.into_iter().take(self.n_classes * self.n_classes).enumerate() {
            confusion.add_times(at % self.n_classes, at / self.n_classes, count.max(0) as u64);
        }
        Ok(confusion)
    }

    /// Intersection over union of each class: of what is the class or was called so, the part that is both. NaN for a class that was not seen. Waits.
    ///
    /// For images, give a label per pixel, `[batch, height, width]`, and scores with the classes last or on the axis that [`ConfusionMatrix::classes_on`] says.
    pub fn iou(&self) -> Result<Vec<f64>> {
        let (confusion, n) = (self.confusion()?, self.n_classes);
        Ok((0..n)
            .map(|class| {
                let hits = confusion.count(class, class);
                let seen: u64 = (0..n).map(|other| confusion.count(class, other) + confusion.count(other, class)).sum();
                hits as f64 / (seen - hits) as f64
            })
            .collect())
    }

    /// Forgets all batches.
    pub fn reset(&mut self) {
        self.counts = Counts::default();
    }

    /// What has been counted, for a checkpoint; empty where nothing has.
    pub fn state(&self) -> Vec<Tensor> {
        self.counts.state()
    }

    /// Goes on from what [`ConfusionMatrix::state`] gave, or from nothing. An error, and nothing has changed, if it is of another number of classes.
    pub fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.load("confusion", state)
    }

    fn load(&mut self, name: &str, state: Vec<Tensor>) -> Result<()> {
        self.counts.load(name, self.n_classes.saturating_mul(self.n_classes).saturating_add(1), state)
    }
}

/// How the scores of classes become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Average {
    /// From the counts of all classes together.
    Micro,
    /// Their mean over the classes that were seen.
    #[default]
    Macro,
    /// Their mean, by how often the classes are labels.
    Weighted,
    /// The score of one class.
    Class(usize),
}

/// What is computed from counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// Of what was called a class, the part that is.
    Precision,
    /// Of what is a class, the part that was found.
    Recall,
    /// The harmonic mean of both.
    F1,
    /// Of what is a class or was called so, the part that is both (Jaccard's index).
    IoU,
}

/// Precision, recall, F1 or IoU, of classes of examples or of pixels. A class without any counts 0, as in scikit-learn; the mean is over classes that were seen.
#[derive(Debug)]
pub struct ClassScore {
    score: Score,
    average: Average,
    matrix: ConfusionMatrix,
}

impl ClassScore {
    /// Of classes `0..n_classes`.
    pub fn new(score: Score, average: Average, n_classes: usize) -> ClassScore {
        ClassScore { score, average, matrix: ConfusionMatrix::new(n_classes) }
    }

    /// Of scores whose classes are on this axis: 1 for those of images, `[batch, classes, height, width]`.
    pub fn classes_on(mut self, axis: isize) -> ClassScore {
        self.matrix.axis = Axis(axis);
        self
    }

    fn of(&self, hits: u64, called: u64, there: u64) -> f64 {
        let (part, whole) = match self.score {
            Score::Precision => (hits, called),
            Score::Recall => (hits, there),
            Score::F1 => (2 * hits, called + there),
            Score::IoU => (hits, called + there - hits),
        };
        if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
    }
}

impl Metric for ClassScore {
    fn name(&self) -> String {
        let score = match self.score {
            Score::Precision => "precision",
            Score::Recall => "recall",
            Score::F1 => "f1",
            Score::IoU => "iou",
        };
        match self.average {
            Average::Macro => score.into(),
            Average::Micro => format!("{score}_micro"),
            Average::Weighted => format!("{score}_weighted"),
            Average::Class(class) => format!("{score}_{class}"),
        }
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        self.matrix.update(prediction, target)
    }

    fn value(&self) -> Result<f64> {
        let confusion = self.matrix.confusion()?;
        let n = confusion.n_classes();
        if confusion.total() == 0 {
            return Ok(f64::NAN);
        }
        let called = |class: usize| -> u64 { (0..n).map(|label| confusion.count(label, class)).sum() };
        let there = |class: usize| -> u64 { (0..n).map(|predicted| confusion.count(class, predicted)).sum() };
        let of = |class: usize| self.of(confusion.count(class, class), called(class), there(class));
        Ok(match self.average {
            Average::Micro => self.of(confusion.correct(), confusion.total(), confusion.total()),
            Average::Macro => {
                let seen: Vec<usize> = (0..n).filter(|class| called(*class) + there(*class) > 0).collect();
                seen.iter().map(|class| of(*class)).sum::<f64>() / seen.len() as f64
            }
            Average::Weighted => (0..n).map(|class| of(class) * there(class) as f64).sum::<f64>() / confusion.total() as f64,
            Average::Class(class) if class < n => of(class),
            Average::Class(class) => {
                return Err(Error::argument(format!("the score of class {class} of {n}"), "give one of the classes"));
            }
        })
    }

    fn reset(&mut self) {
        self.matrix.reset();
    }

    fn state(&self) -> Vec<Tensor> {
        self.matrix.state()
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        let name = self.name();
        self.matrix.load(&name, state)
    }
}
