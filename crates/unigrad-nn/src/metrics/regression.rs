//! Metrics that are means over elements: of regressions, and of log probabilities.

use super::{Metric, Sums, other_state, unlike};
use crate::error::Result;
use unigrad_tensor::{CrossEntropyOptions, DType, Reduction, Tensor};

/// Both in the dtype that sums are computed in.
#[track_caller]
fn pair(metric: &str, prediction: &Tensor, target: &Tensor) -> Result<(Tensor, Tensor)> {
    if prediction.is_invalid() || target.is_invalid() || prediction.shape() != target.shape() {
        return Err(unlike(metric, prediction, target, "give both one shape"));
    }
    let dtype = wide(prediction).promote(wide(target));
    Ok((prediction.detach().cast(dtype), target.detach().cast(dtype)))
}

/// What a tensor's elements are summed in.
fn wide(x: &Tensor) -> DType {
    if x.dtype().is_float() { x.dtype().compute() } else { DType::F32 }
}

fn count(like: &Tensor, n: usize) -> Tensor {
    like.zeros_like() + n as f64
}

/// Means over elements: how a batch is summed up (`|sums, prediction, target|`), and what becomes of the mean.
macro_rules! means {
    ($($name:ident, $text:literal, |$sums:ident, $x:ident, $y:ident| $add:expr, |$mean:ident| $value:expr, $doc:literal;)*) => { $(
        #[doc = $doc]
        #[derive(Debug, Default)]
        pub struct $name(Sums);

        impl Metric for $name {
            fn name(&self) -> String {
                $text.into()
            }

            #[track_caller]
            fn update(&mut self, $x: &Tensor, $y: &Tensor) -> Result<()> {
                let $sums = &mut self.0;
                $add
            }

            fn value(&self) -> Result<f64> {
                Ok(match self.0.total()?[..] {
                    [sum, n] => {
                        let $mean = sum / n;
                        $value
                    }
                    _ => f64::NAN,
                })
            }

            fn reset(&mut self) {
                self.0 = Sums::default();
            }

            fn state(&self) -> Vec<Tensor> {
                self.0.batches.clone()
            }

            fn load_state(&mut self, state: Vec<Tensor>) -> Result<()> {
                self.0.load($text, 2, state)
            }
        }
    )* };
}

/// The sum of an error over pairs of elements, and how many there are.
#[track_caller]
fn errors(metric: &str, sums: &mut Sums, x: &Tensor, y: &Tensor, error: fn(&Tensor, &Tensor) -> Tensor) -> Result<()> {
    let (x, y) = pair(metric, x, y)?;
    sums.add(|| {
        let sum = error(&x, &y).sum(());
        let n = count(&sum, x.numel());
        vec![sum, n]
    })
}

means! {
    Mae, "mae", |s, x, y| errors("mae", s, x, y, |x, y| (x - y).abs()), |mean| mean, "The mean of `|x - target|`.";
    Mse, "mse", |s, x, y| errors("mse", s, x, y, |x, y| (x - y).square()), |mean| mean, "The mean of `(x - target)²`.";
    Rmse, "rmse", |s, x, y| errors("rmse", s, x, y, |x, y| (x - y).square()), |mean| mean.sqrt(), "The root of the mean of `(x - target)²`.";
    Mape, "mape", |s, x, y| errors("mape", s, x, y, |x, y| (x - y).abs() / y.abs().clamp_min(f64::from(f32::EPSILON))), |mean| mean,
        "The mean of `|x - target| / |target|`; a target counts as at least the least step of an `f32`.";
    LogLoss, "log_loss", |s, x, y| entropies("log_loss", s, x, y), |mean| mean,
        "The mean cross-entropy of logits `[.., classes]` and class indices `[..]`.";
    Perplexity, "perplexity", |s, x, y| entropies("perplexity", s, x, y), |mean| mean.exp(),
        "The exponential of [`LogLoss`]: of how many tokens a language model chooses, so to say.";
}

/// The part of the targets' variance that predictions explain: `1 - Σ (x - target)² / Σ (target - mean)²`. 1 where both sums are 0.
#[derive(Debug, Default)]
pub struct R2 {
    sums: Sums,
    /// Targets are counted from the first batch's mean, so that squares keep their digits.
    shift: Option<Tensor>,
}

impl Metric for R2 {
    fn name(&self) -> String {
        "r2".into()
    }

    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()> {
        let (x, y) = pair("r2", prediction, target)?;
        let shift = match &self.shift {
            Some(shift) => shift.clone(),
            None => y.mean(()).realize()?,
        };
        self.shift = Some(shift.clone());
        self.sums.add(|| {
            let shifted = &y - &shift;
            let left = (&x - &y).square().sum(());
            let n = count(&left, x.numel());
            vec![left, shifted.sum(()), shifted.square().sum(()), n]
        })
    }

    fn value(&self) -> Result<f64> {
        Ok(match self.sums.total()?[..] {
            [left, sum, squares, n] => {
                let whole = squares - sum * sum / n;
                if whole > 0.0 {
                    1.0 - left / whole
                } else if left == 0.0 {
                    1.0
                } else {
                    0.0
                }
            }
            _ => f64::NAN,
        })
    }

    fn reset(&mut self) {
        *self = R2::default();
    }

    fn state(&self) -> Vec<Tensor> {
        self.shift.iter().chain(&self.sums.batches).cloned().collect()
    }

    fn load_state(&mut self, mut state: Vec<Tensor>) -> Result<()> {
        if state.first().is_some_and(|shift| shift.rank() != 0 || !shift.dtype().is_float()) {
            return Err(other_state("r2", &state));
        }
        let sums = if state.is_empty() { Vec::new() } else { state.split_off(1) };
        self.sums.load("r2", 4, sums)?;
        self.shift = state.pop();
        Ok(())
    }
}

/// The sum of cross-entropies of logits `[.., classes]` and class indices `[..]`, and how many there are.
#[track_caller]
fn entropies(metric: &str, sums: &mut Sums, prediction: &Tensor, target: &Tensor) -> Result<()> {
    let shape = prediction.shape();
    if prediction.is_invalid() || shape.is_empty() || shape[..shape.len() - 1] != target.shape()[..] || target.dtype().is_float() {
        return Err(unlike(metric, prediction, target, "give logits [.., classes] and class indices [..]"));
    }
    let options = CrossEntropyOptions { axis: Some(-1), reduction: Reduction::Sum, ..CrossEntropyOptions::default() };
    let n = target.numel();
    let logits = prediction.detach().cast(wide(prediction));
    sums.add(|| {
        let sum = logits.cross_entropy_with(target, &options);
        let n = count(&sum, n);
        vec![sum, n]
    })
}
