//! Metrics: how good predictions are, over all batches of a pass.
//!
//! In: predictions and targets, batch by batch. Out: a number, when it is asked for.
//! Always: what is summed up stays on the device, and an update waits for nothing: the first read waits. Counts are exact; sums of floats are kept
//! batch by batch and added in `f64`. A metric of no examples is NaN. Those of boxes keep handles of tensors, and those of texts count on the host, where texts are.
//!
//! ```
//! # unigrad_device::register(unigrad_cpu::CpuDriver::default());
//! use unigrad_nn::metrics::{Accuracy, Metric};
//! use unigrad_tensor::{Device, Tensor};
//!
//! let device = Device::open("cpu")?;
//! let logits = Tensor::new([[2.0f32, 1.0], [0.0, 3.0], [1.0, 0.0]], &device);
//! let mut accuracy = Accuracy::default();
//! accuracy.update(&logits, &Tensor::new([0i64, 1, 1], &device))?;
//! assert!((accuracy.value()? - 2.0 / 3.0).abs() < 1e-12);
//! # Ok::<(), unigrad_tensor::Error>(())
//! ```

mod classes;
mod confusion;
mod detection;
mod ranking;
mod regression;
mod text;

pub use classes::{Accuracy, Average, ClassScore, ConfusionMatrix, Score, TopK};
pub use confusion::Confusion;
pub use detection::{AveragePrecision, Detections, MeanAveragePrecision, Objects, box_iou, mask_iou};
pub use ranking::{PrAuc, RocAuc};
pub use regression::{LogLoss, Mae, Mape, Mse, Perplexity, R2, Rmse};
pub use text::{Bleu, RougeL, Smoothing, bleu, rouge_l};

use crate::error::{Error, Result};
use unigrad_tensor::{DType, Tensor, no_grad};

/// A number over all batches of a pass.
pub trait Metric: Send {
    /// Its name, as a history has it.
    fn name(&self) -> String;
    /// Counts a batch. Waits for nothing, but where it is computed on the host anyway.
    #[track_caller]
    fn update(&mut self, prediction: &Tensor, target: &Tensor) -> Result<()>;
    /// The metric over all batches since the last reset; NaN without any. Waits.
    fn value(&self) -> Result<f64>;
    /// Forgets all batches.
    fn reset(&mut self);
    /// What has been counted, for a checkpoint; empty where nothing has.
    fn state(&self) -> Vec<Tensor>;
    /// Goes on from what [`Metric::state`] gave, or from nothing. An error, and nothing has changed, if it is not this metric's.
    fn load_state(&mut self, state: Vec<Tensor>) -> Result<()>;
}

/// The error of a state that another metric has.
fn other_state(metric: &str, state: &[Tensor]) -> Error {
    let shapes: Vec<Vec<usize>> = state.iter().map(Tensor::shape).collect();
    Error::argument(
        format!("the metric {metric} cannot go on from {} tensors of shapes {shapes:?}", state.len()),
        "continue with the metrics that the run began with",
    )
}

/// Batches that one kernel stacks.
const STACKED: usize = 64;

/// Sums of batches, each computed when its batch is counted.
#[derive(Debug, Default)]
struct Sums {
    /// `[k]` per batch: what is summed up, and last how many there were.
    batches: Vec<Tensor>,
}

impl Sums {
    /// Adds `[k]` numbers of a batch.
    #[track_caller]
    fn add(&mut self, numbers: impl FnOnce() -> Vec<Tensor>) -> Result<()> {
        let numbers = no_grad(|| {
            let numbers = numbers();
            Tensor::stack(&numbers.iter().collect::<Vec<_>>(), 0)
        });
        self.batches.push(numbers.detach().realize()?);
        Ok(())
    }

    /// Goes on from `k` numbers of each batch.
    fn load(&mut self, metric: &str, k: usize, state: Vec<Tensor>) -> Result<()> {
        if state.iter().any(|batch| batch.shape() != [k] || !batch.dtype().is_float()) {
            return Err(other_state(metric, &state));
        }
        self.batches = state;
        Ok(())
    }

    /// The sums over all batches, read at once; empty without any.
    fn total(&self) -> Result<Vec<f64>> {
        let Some(first) = self.batches.first() else { return Ok(Vec::new()) };
        let k = first.numel();
        let dtype = if self.batches.iter().any(|batch| batch.dtype() == DType::F64) { DType::F64 } else { DType::F32 };
        let all = no_grad(|| {
            let stacked = |some: &[Tensor]| {
                let some: Vec<Tensor> = some.iter().map(|batch| batch.cast(dtype)).collect();
                Tensor::stack(&some.iter().collect::<Vec<_>>(), 0)
            };
            let stacks: Vec<Tensor> = self.batches.chunks(STACKED).map(stacked).collect();
            let stacks: Vec<&Tensor> = stacks.iter().collect();
            Tensor::realize_all(&stacks)?;
            Tensor::concat(&stacks, 0).check()
        })?;
        let numbers: Vec<f64> = match dtype {
            DType::F64 => all.to_vec::<f64>()?,
            _ => all.to_vec::<f32>()?.into_iter().map(f64::from).collect(),
        };
        let mut total = vec![0.0; k];
        for batch in numbers.chunks_exact(k.max(1)) {
            total.iter_mut().zip(batch).for_each(|(total, number)| *total += number);
        }
        Ok(total)
    }
}

/// The error of a batch whose tensors do not belong together.
fn unlike(metric: &str, prediction: &Tensor, target: &Tensor, help: &str) -> Error {
    prediction.error().or_else(|| target.error()).unwrap_or_else(|| {
        Error::argument(format!("{metric} of predictions {:?} and targets {:?}", prediction.shape(), target.shape()), help)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_tensor::Device;

    /// As many batches as fill stacks, and one more or less; floats of both widths.
    #[test]
    fn sums_of_any_number_of_batches_are_exact() {
        unigrad_device::register(unigrad_cpu::CpuDriver);
        let device = Device::open("cpu").unwrap();
        for n in [0, 1, 2, STACKED - 1, STACKED, STACKED + 1, 3 * STACKED, 3 * STACKED + 1] {
            for wide in [None, Some(0), Some(n / 2)] {
                let mut sums = Sums::default();
                for i in 0..n {
                    let dtype = if wide == Some(i) { DType::F64 } else { DType::F32 };
                    // What an f32 holds, and a sum of f32s would not.
                    let numbers = [16_777_216.0, i as f64].map(|number| Tensor::full((), number, dtype, &device));
                    sums.add(|| numbers.to_vec()).unwrap();
                }
                let wanted = if n == 0 { vec![] } else { vec![16_777_216.0 * n as f64, (0..n).sum::<usize>() as f64] };
                assert_eq!(sums.total().unwrap(), wanted, "{n}");
            }
        }
    }
}
