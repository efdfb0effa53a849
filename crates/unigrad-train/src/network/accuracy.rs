//! The part of yes-or-no answers that are right.

use unigrad_nn::{Error, Result, metrics::Metric};
use unigrad_tensor::{DType, Tensor, no_grad};

/// The part of elements whose answer is on the same side as their target, which is 0 or 1 (or a probability).
#[derive(Debug)]
pub struct BinaryAccuracy {
    /// Answers above it are yes: 0 of logits, 0.5 of probabilities.
    threshold: f64,
    /// `[2]`: right ones, and all.
    counts: Option<Tensor>,
}

impl BinaryAccuracy {
    /// Of logits.
    pub fn of_logits() -> BinaryAccuracy {
        BinaryAccuracy { threshold: 0.0, counts: None }
    }

    /// Of probabilities.
    pub fn of_probabilities() -> BinaryAccuracy {
        BinaryAccuracy { threshold: 0.5, counts: None }
    }
}

impl Metric for BinaryAccuracy {
    fn name(&self) -> String {
        "accuracy".into()
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        if prediction.shape() != target.shape() {
            let cause = format!("accuracy of predictions {:?} and targets {:?}", prediction.shape(), target.shape());
            return Err(prediction.error().or_else(|| target.error()).unwrap_or_else(|| Error::argument(cause, "give both one shape")));
        }
        let n = prediction.numel() as i64;
        let counts = no_grad(|| {
            let right = prediction.detach().gt(self.threshold).eq(target.detach().gt(0.5)).cast(DType::I64).sum(());
            let both = Tensor::stack(&[&right, &(right.zeros_like() + n)], 0);
            self.counts.as_ref().map_or(both.clone(), |before| before + &both)
        });
        self.counts = Some(counts.detach().realize()?);
        Ok(())
    }

    fn value(&self) -> Result<f64> {
        let counts = self.counts.as_ref().map_or_else(|| Ok(Vec::new()), Tensor::to_vec::<i64>)?;
        Ok(match counts[..] {
            [right, n] => right as f64 / n as f64,
            _ => f64::NAN,
        })
    }

    fn reset(&mut self) {
        self.counts = None;
    }

    fn state(&self) -> Vec<Tensor> {
        self.counts.iter().cloned().collect()
    }

    fn load_state(&mut self, mut state: Vec<Tensor>) -> Result<()> {
        if state.len() > 1 || state.iter().any(|counts| counts.shape() != [2] || counts.dtype() != DType::I64) {
            return Err(Error::argument(
                "the accuracy cannot go on from another metric's state",
                "continue with the metrics that the run began with",
            ));
        }
        self.counts = state.pop();
        Ok(())
    }
}
