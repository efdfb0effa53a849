//! Areas under curves: how well scores put ones above zeros.
//!
//! Always: exact: scores are kept, on the device, and sorted when the value is asked for; equal scores count as one step of a curve.

use super::{Metric, other_state, unlike};
use crate::error::Result;
use unigrad_tensor::{DType, Tensor};

/// Scores and truths of all batches.
#[derive(Debug, Default)]
struct Kept {
    batches: Vec<(Tensor, Tensor)>,
}

impl Kept {
    #[track_caller]
    fn add(&mut self, metric: &str, prediction: &Tensor, target: &Tensor) -> Result<()> {
        if prediction.is_invalid() || prediction.shape() != target.shape() || !prediction.dtype().is_float() {
            return Err(unlike(metric, prediction, target, "give a score for each target, of one shape"));
        }
        let scores = prediction.detach().flatten_all().realize()?;
        let truths = target.detach().flatten_all().realize()?;
        self.batches.push((scores, truths));
        Ok(())
    }

    fn state(&self) -> Vec<Tensor> {
        self.batches.iter().flat_map(|(scores, truths)| [scores.clone(), truths.clone()]).collect()
    }

    fn load(&mut self, metric: &str, state: Vec<Tensor>) -> Result<()> {
        let pairs = state.chunks(2);
        let fit =
            |pair: &[Tensor]| pair.len() == 2 && pair[0].rank() == 1 && pair[0].shape() == pair[1].shape() && pair[0].dtype().is_float();
        if !pairs.clone().all(fit) {
            return Err(other_state(metric, &state));
        }
        self.batches = pairs.map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Ok(())
    }

    /// `(true, false)` positives when all scores of at least a threshold are called ones, from the highest threshold down.
    fn curve(&self) -> Result<Vec<(u64, u64)>> {
        let mut all: Vec<(f64, bool)> = Vec::new();
        for (scores, truths) in &self.batches {
            let truths = truths.ne(0).cast(DType::Bool).to_vec::<bool>()?;
            let scores: Vec<f64> = match scores.dtype() {
                DType::F64 => scores.to_vec::<f64>()?,
                _ => scores.cast(DType::F32).to_vec::<f32>()?.into_iter().map(f64::from).collect(),
            };
            all.extend(scores.into_iter().zip(truths));
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut curve, mut ones, mut zeros) = (vec![(0, 0)], 0, 0);
        for (i, (score, truth)) in all.iter().enumerate() {
            if *truth {
                ones += 1;
            } else {
                zeros += 1;
            }
            if all.get(i + 1).is_none_or(|next| next.0 != *score) {
                curve.push((ones, zeros));
            }
        }
        Ok(curve)
    }
}

/// The area under the receiver's curve: the probability that a one has a greater score than a zero. NaN without both.
#[derive(Debug, Default)]
pub struct RocAuc(Kept);

impl Metric for RocAuc {
    fn name(&self) -> String {
        "roc_auc".into()
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        self.0.add("ROC AUC", prediction, target)
    }

    fn value(&self) -> Result<f64> {
        let curve = self.0.curve()?;
        let Some((ones, zeros)) = curve.last() else { return Ok(f64::NAN) };
        let area: f64 = curve.windows(2).map(|step| (step[1].1 - step[0].1) as f64 * (step[1].0 + step[0].0) as f64 / 2.0).sum();
        Ok(area / (*ones as f64 * *zeros as f64))
    }

    fn reset(&mut self) {
        self.0.batches.clear();
    }

    fn state(&self) -> Vec<Tensor> {
        self.0.state()
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.0.load("ROC AUC", state)
    }
}

/// Average precision: the area under precision over recall, by steps (scikit-learn's `average_precision_score`). NaN without ones.
#[derive(Debug, Default)]
pub struct PrAuc(Kept);

impl Metric for PrAuc {
    fn name(&self) -> String {
        "pr_auc".into()
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        self.0.add("PR AUC", prediction, target)
    }

    fn value(&self) -> Result<f64> {
        let curve = self.0.curve()?;
        let ones = curve.last().map_or(0, |last| last.0);
        let step = |step: &[(u64, u64)]| (step[1].0 - step[0].0) as f64 / ones as f64 * step[1].0 as f64 / (step[1].0 + step[1].1) as f64;
        Ok(if ones == 0 { f64::NAN } else { curve.windows(2).map(step).sum() })
    }

    fn reset(&mut self) {
        self.0.batches.clear();
    }

    fn state(&self) -> Vec<Tensor> {
        self.0.state()
    }

    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
        self.0.load("PR AUC", state)
    }
}
