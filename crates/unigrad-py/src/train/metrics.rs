//! Metrics, by name.

use crate::{
    alone::{Alone, Turn},
    error::{OrRaise, argument},
    exit::Release,
    tensor::{PyTensor, checked},
};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use unigrad::{
    Error, Result,
    nn::metrics::{self as nn, Average, ClassScore, Metric, Score},
    tensor::Tensor,
    train::network::BinaryAccuracy,
};

/// A metric in words, from which as many as are needed are made.
#[derive(Clone, Debug)]
pub(crate) struct Described {
    kind: String,
    number: usize,
    average: Average,
}

/// One of any kind; `None` of none, which [`Described::of`] refuses.
pub(crate) struct AnyMetric(Option<Box<dyn Metric + Send>>);

/// Why a metric gives nothing to what its own work calls.
const AT_WORK: &str = "a metric was asked for something while it is at work";

fn none() -> Error {
    Error::Internal("a metric of no kind".into())
}

impl Metric for AnyMetric {
    fn name(&self) -> String {
        self.0.as_ref().map_or_else(String::new, |metric| metric.name())
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        self.0.as_mut().ok_or_else(none)?.update(prediction, target)
    }

    fn value(&self) -> Result<f64> {
        self.0.as_ref().ok_or_else(none)?.value()
    }

    fn reset(&mut self) {
        if let Some(metric) = &mut self.0 {
            metric.reset();
        }
    }

    fn state(&self) -> Vec<Tensor> {
        self.0.as_ref().map_or_else(Vec::new, |metric| metric.state())
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.0.as_mut().ok_or_else(none)?.load_state(state)
    }
}

impl Described {
    fn of(py: Python<'_>, kind: &str, number: usize, average: &str, class: Option<usize>) -> PyResult<Described> {
        let average = match (class, average) {
            (Some(class), _) => Average::Class(class),
            (None, "macro") => Average::Macro,
            (None, "micro") => Average::Micro,
            (None, "weighted") => Average::Weighted,
            (None, other) => return Err(argument(py, format!("`average` is {other:?}"), "choose \"macro\", \"micro\" or \"weighted\"")),
        };
        let described = Described { kind: kind.to_owned(), number, average };
        match described.made().0 {
            Some(_) => Ok(described),
            None => Err(argument(py, format!("a metric {kind:?} of {number}"), "see `unigrad.metrics` for those that there are")),
        }
    }

    /// A new one.
    pub(crate) fn made(&self) -> AnyMetric {
        let class = |score: Score| -> Option<Box<dyn Metric + Send>> {
            (self.number > 0).then(|| Box::new(ClassScore::new(score, self.average, self.number)) as Box<dyn Metric + Send>)
        };
        let made: Option<Box<dyn Metric + Send>> = match self.kind.as_str() {
            "accuracy" => Some(Box::new(nn::Accuracy::default())),
            "binary_accuracy" => Some(Box::new(BinaryAccuracy::of_logits())),
            "binary_accuracy_of_probabilities" => Some(Box::new(BinaryAccuracy::of_probabilities())),
            "top_k" => (self.number > 0).then(|| Box::new(nn::TopK::new(self.number)) as Box<dyn Metric + Send>),
            "precision" => class(Score::Precision),
            "recall" => class(Score::Recall),
            "f1" => class(Score::F1),
            "iou" => class(Score::IoU),
            "roc_auc" => Some(Box::new(nn::RocAuc::default())),
            "pr_auc" => Some(Box::new(nn::PrAuc::default())),
            "log_loss" => Some(Box::new(nn::LogLoss::default())),
            "perplexity" => Some(Box::new(nn::Perplexity::default())),
            "mae" => Some(Box::new(nn::Mae::default())),
            "mse" => Some(Box::new(nn::Mse::default())),
            "rmse" => Some(Box::new(nn::Rmse::default())),
            "mape" => Some(Box::new(nn::Mape::default())),
            "r2" => Some(Box::new(nn::R2::default())),
            _ => None,
        };
        AnyMetric(made)
    }
}

/// A number over all batches of a pass.
#[pyclass(name = "Metric", frozen)]
pub(crate) struct PyMetric {
    pub(crate) described: Described,
    metric: Alone<AnyMetric>,
}

impl PyMetric {
    fn lock(&self) -> Result<Turn<'_, AnyMetric>> {
        self.metric.lock()
    }
}

#[pymethods]
impl PyMetric {
    #[new]
    #[pyo3(signature = (kind, number=0, average="macro", class_index=None))]
    fn new(py: Python<'_>, kind: &str, number: usize, average: &str, class_index: Option<usize>) -> PyResult<PyMetric> {
        if number > 1 << 24 || class_index.is_some_and(|class| class >= number) {
            return Err(argument(py, format!("a metric of {number} classes"), "name one of the classes, of at most 16,777,216"));
        }
        let described = Described::of(py, kind, number, average, class_index)?;
        let metric = Alone::new(described.made(), AT_WORK);
        Ok(PyMetric { described, metric })
    }

    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.metric.attached(py)?.name())
    }

    fn update(&self, py: Python<'_>, prediction: &PyTensor, target: &PyTensor) -> PyResult<()> {
        let (prediction, target) = (prediction.tensor(), target.tensor());
        py.released(|| self.lock()?.update(prediction, target)).or_raise(py)
    }

    fn value(&self, py: Python<'_>) -> PyResult<f64> {
        py.released(|| self.lock()?.value()).or_raise(py)
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.metric.attached(py)?.reset();
        Ok(())
    }

    /// What is counted, as tensors.
    fn state(&self, py: Python<'_>) -> PyResult<Vec<PyTensor>> {
        let state = self.metric.attached(py)?.state();
        state.into_iter().map(|part| checked(py, part)).collect()
    }

    /// Goes on from what `state` gave.
    fn load_state(&self, py: Python<'_>, state: Vec<PyRef<'_, PyTensor>>) -> PyResult<()> {
        let state = state.iter().map(|part| part.tensor().clone()).collect();
        self.metric.attached(py)?.load_state(state).or_raise(py)
    }
}

/// Counts of classes that were taken for others.
#[pyclass(name = "Confusion", frozen)]
pub(crate) struct PyConfusion(Alone<nn::ConfusionMatrix>);

impl PyConfusion {
    fn lock(&self) -> Result<Turn<'_, nn::ConfusionMatrix>> {
        self.0.lock()
    }
}

#[pymethods]
impl PyConfusion {
    #[new]
    fn new(py: Python<'_>, n_classes: usize) -> PyResult<PyConfusion> {
        if n_classes == 0 || n_classes > 1 << 15 {
            return Err(argument(py, format!("`num_classes` is {n_classes}"), "use a number from 1 to 32,768"));
        }
        Ok(PyConfusion(Alone::new(nn::ConfusionMatrix::new(n_classes), AT_WORK)))
    }

    fn update(&self, py: Python<'_>, prediction: &PyTensor, target: &PyTensor) -> PyResult<()> {
        let (prediction, target) = (prediction.tensor(), target.tensor());
        py.released(|| self.lock()?.update(prediction, target)).or_raise(py)
    }

    /// A row for each label, a column for each prediction.
    fn counts(&self, py: Python<'_>) -> PyResult<Vec<Vec<u64>>> {
        let confusion = py.released(|| self.lock()?.confusion()).or_raise(py)?;
        let n = confusion.n_classes();
        Ok((0..n).map(|label| (0..n).map(|predicted| confusion.count(label, predicted)).collect()).collect())
    }

    /// What is counted, as tensors.
    fn state(&self, py: Python<'_>) -> PyResult<Vec<PyTensor>> {
        let state = self.0.attached(py)?.state();
        state.into_iter().map(|part| checked(py, part)).collect()
    }

    /// Goes on from what `state` gave.
    fn load_state(&self, py: Python<'_>, state: Vec<PyRef<'_, PyTensor>>) -> PyResult<()> {
        let state = state.iter().map(|part| part.tensor().clone()).collect();
        self.0.attached(py)?.load_state(state).or_raise(py)
    }

    fn iou(&self, py: Python<'_>) -> PyResult<Vec<f64>> {
        py.released(|| self.lock()?.iou()).or_raise(py)
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.0.attached(py)?.reset();
        Ok(())
    }
}

/// How much boxes overlap.
#[pyfunction]
pub(crate) fn box_iou(py: Python<'_>, boxes1: &PyTensor, boxes2: &PyTensor) -> PyResult<PyTensor> {
    let _here = crate::origin::here(py);
    checked(py, nn::box_iou(boxes1.tensor(), boxes2.tensor()).or_raise(py)?)
}

/// How much masks overlap.
#[pyfunction]
pub(crate) fn mask_iou(py: Python<'_>, masks1: &PyTensor, masks2: &PyTensor) -> PyResult<PyTensor> {
    let _here = crate::origin::here(py);
    checked(py, nn::mask_iou(masks1.tensor(), masks2.tensor()).or_raise(py)?)
}

/// BLEU of a corpus: a candidate and its references each, as words.
#[pyfunction]
pub(crate) fn bleu(corpus: Vec<(Vec<String>, Vec<Vec<String>>)>) -> f64 {
    nn::bleu(&corpus)
}

/// ROUGE-L of words.
#[pyfunction]
pub(crate) fn rouge_l(candidate: Vec<String>, reference: Vec<String>) -> f64 {
    nn::rouge_l(&candidate, &reference)
}

/// What COCO's program prints, by name, and the average of each class.
type Averages = (BTreeMap<&'static str, f64>, BTreeMap<i64, f64>);

/// Mean average precision of boxes.
#[pyclass(name = "MeanAveragePrecision", frozen)]
pub(crate) struct PyMeanAveragePrecision(Alone<nn::MeanAveragePrecision>);

impl PyMeanAveragePrecision {
    fn lock(&self) -> Result<Turn<'_, nn::MeanAveragePrecision>> {
        self.0.lock()
    }
}

#[pymethods]
impl PyMeanAveragePrecision {
    #[new]
    fn new() -> PyMeanAveragePrecision {
        PyMeanAveragePrecision(Alone::new(nn::MeanAveragePrecision::default(), AT_WORK))
    }

    #[pyo3(signature = (boxes, scores, labels, true_boxes, true_labels, crowd=Vec::new(), areas=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "an image's detections and objects")]
    fn update(
        &self,
        py: Python<'_>,
        boxes: &PyTensor,
        scores: &PyTensor,
        labels: &PyTensor,
        true_boxes: &PyTensor,
        true_labels: &PyTensor,
        crowd: Vec<bool>,
        areas: Vec<f64>,
    ) -> PyResult<()> {
        let of_boxes = |boxes: &PyTensor, name: &str| match boxes.tensor().shape().as_slice() {
            [_, 4] => Ok(()),
            other => Err(argument(py, format!("`{name}` is {other:?}"), "give `[n, 4]`: x1, y1, x2, y2 of each box")),
        };
        of_boxes(boxes, "boxes")?;
        of_boxes(true_boxes, "true_boxes")?;
        let all = [boxes, scores, labels, true_boxes, true_labels].map(PyTensor::tensor);
        py.released(|| {
            let [boxes, scores, labels, true_boxes, true_labels] = all;
            let found = nn::Detections::read(boxes, scores, labels)?;
            let there = nn::Objects { crowd, areas, ..nn::Objects::read(true_boxes, true_labels)? };
            self.lock()?.update(found, there)
        })
        .or_raise(py)
    }

    /// What COCO's program prints, by name, and the average of each class.
    fn value(&self, py: Python<'_>) -> PyResult<Averages> {
        let value = py.released(|| self.lock()?.value()).or_raise(py)?;
        let named = BTreeMap::from([
            ("map", value.map),
            ("map_50", value.map_50),
            ("map_75", value.map_75),
            ("map_small", value.map_small),
            ("map_medium", value.map_medium),
            ("map_large", value.map_large),
            ("mar_1", value.recall_1),
            ("mar_10", value.recall_10),
            ("mar_100", value.recall_100),
            ("mar_small", value.recall_small),
            ("mar_medium", value.recall_medium),
            ("mar_large", value.recall_large),
        ]);
        Ok((named, value.per_class))
    }

    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        self.0.attached(py)?.reset();
        Ok(())
    }
}
