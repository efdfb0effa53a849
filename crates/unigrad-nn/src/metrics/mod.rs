//! Metrics: how good predictions are, over all batches of a pass.
//!
//! In: predictions and targets, batch by batch. Out: a number, when it is asked for.
//! Always: what is summed up stays on the device, and an update waits for nothing: the first read waits. Counts are exact; sums of floats are kept
//! batch by batch and added in `f64`. A metric of no examples is NaN.
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
mod ranking;
mod regression;
mod text;

pub use classes::{Accuracy, Average, ClassScore, ConfusionMatrix, Score, TopK};
pub use confusion::Confusion;
pub use ranking::{PrAuc, RocAuc};
pub use regression::{LogLoss, Mae, Mape, Mse, Perplexity, R2, Rmse};
pub use text::{bleu, rouge_l};

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

    /// The sums over all batches; empty without any.
    fn total(&self) -> Result<Vec<f64>> {
        let mut total: Vec<f64> = Vec::new();
        for batch in &self.batches {
            let numbers: Vec<f64> = match batch.dtype() {
                DType::F64 => batch.to_vec::<f64>()?,
                _ => batch.cast(DType::F32).to_vec::<f32>()?.into_iter().map(f64::from).collect(),
            };
            total.resize(numbers.len(), 0.0);
            total.iter_mut().zip(numbers).for_each(|(total, number)| *total += number);
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
