//! Settings found by trying: a learning rate, a batch size.
//!
//! Always: the learner, and the process's random numbers, are afterwards what they were before.

use crate::{
    learner::{Learner, StepSettings},
    trainer::Trainer,
};
use std::time::Instant;
use unigrad_data::Source;
use unigrad_nn::{Checkpoint, Error, Result};
use unigrad_tensor::{Device, Tensor};

/// How learning rates are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LrRange {
    /// The first rate.
    pub from: f64,
    /// The last rate.
    pub to: f64,
    /// Steps between them.
    pub steps: usize,
    /// How much of a loss's average stays at the next one, from 0 to below 1.
    pub smoothing: f64,
    /// The test ends when the loss is so many times its least.
    pub diverged: f64,
}

impl Default for LrRange {
    fn default() -> LrRange {
        LrRange { from: 1e-7, to: 10.0, steps: 100, smoothing: 0.9, diverged: 4.0 }
    }
}

/// What each learning rate did.
#[derive(Clone, Debug, PartialEq)]
pub struct LrCurve {
    /// Rates and smoothed losses, in order.
    pub points: Vec<(f64, f64)>,
    /// The rate at which the loss falls fastest, if it does.
    pub suggestion: Option<f64>,
}

/// Points at the ends of the curve that say little: the average has just begun, or the loss already rises.
const MARGIN: usize = 5;

impl LrCurve {
    fn of(points: Vec<(f64, f64)>) -> LrCurve {
        let slope = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 / pair[0].0).ln();
        let inner = points.get(MARGIN..points.len().saturating_sub(MARGIN)).filter(|inner| inner.len() >= 2).unwrap_or(&points);
        let steepest = inner.windows(2).map(|pair| (slope(pair), pair[0].0)).fold(None, |best: Option<(f64, f64)>, next| match best {
            Some(best) if best.0 <= next.0 => Some(best),
            _ if next.0 < 0.0 => Some(next),
            best => best,
        });
        LrCurve { points, suggestion: steepest.map(|(_, rate)| rate) }
    }

    /// As a table: `lr,loss`.
    pub fn to_csv(&self) -> String {
        let rows = self.points.iter().map(|(rate, loss)| format!("{rate},{loss}\n"));
        std::iter::once("lr,loss\n".to_owned()).chain(rows).collect()
    }
}

/// What a learner is before something is tried with it.
struct Before(Checkpoint);

impl Before {
    fn of<L: Learner>(learner: &L) -> Result<Before> {
        let models: Vec<(&str, Vec<(String, Tensor)>)> =
            learner.modules().into_iter().map(|(name, module)| (name, module.state_dict())).collect();
        Ok(Before(Checkpoint::of_parts(&models, &learner.optimizers())?))
    }

    fn restore<L: Learner>(&self, learner: &mut L) -> Result<()> {
        let models: Vec<(String, Vec<(String, Tensor)>)> =
            learner.modules().into_iter().map(|(name, module)| (name.to_owned(), module.state_dict())).collect();
        let models: Vec<(&str, Vec<(String, Tensor)>)> = models.iter().map(|(name, state)| (name.as_str(), state.clone())).collect();
        self.0.restore_parts(&models, &mut learner.optimizers_mut())
    }
}

impl Trainer {
    /// Tries learning rates (Smith, 2017): each step has a greater one than the step before. With the trainer's accumulation and clipping, without its
    /// schedule, callbacks and files.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver);
    /// use unigrad_data::{Arrays, Loader};
    /// use unigrad_nn::{HostTensor, Linear, Module, MseLoss, Sgd};
    /// use unigrad_tensor::{DType, Device};
    /// use unigrad_train::{LrRange, Supervised, Trainer};
    ///
    /// let device = Device::open("cpu")?;
    /// let ramp = HostTensor { dtype: DType::F32, shape: vec![64, 1], bytes: (0..64).flat_map(|i| (i as f32 / 64.0).to_le_bytes()).collect() };
    /// let train = Loader::new(Arrays::new(ramp.clone(), ramp)?, 64, 1);
    /// unigrad_tensor::manual_seed(1);
    /// let model = Linear::new(1, 1, &device);
    /// let optimizer = Sgd::new(model.parameters(), 1.0)?;
    /// let mut learner = Supervised::new(model, MseLoss::default(), optimizer);
    /// let curve = Trainer::new(&device).find_lr(&mut learner, &train, LrRange { from: 1e-4, ..LrRange::default() })?;
    /// assert!(curve.suggestion.is_some_and(|lr| lr > 1e-3 && lr < 10.0));
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    pub fn find_lr<L: Learner>(&self, learner: &mut L, train: &dyn Source<Batch = L::Batch>, range: LrRange) -> Result<LrCurve> {
        let LrRange { from, to, steps, smoothing, diverged } = range;
        if !(from > 0.0 && to > from && to.is_finite() && steps >= 2 && (0.0..1.0).contains(&smoothing) && diverged > 1.0) {
            let cause = format!(
                "learning rates from {from} to {to} in {steps} steps, smoothing {smoothing}, diverged at {diverged} times the least loss"
            );
            return Err(Error::argument(cause, "give rates above 0 in rising order, at least 2 steps, a smoothing below 1"));
        }
        let before = Before::of(learner)?;
        learner.set_training(true);
        let tried = self.try_rates(learner, train, range);
        learner.optimizers_mut().into_iter().for_each(|(_, optimizer)| optimizer.set_lr_factor(1.0));
        before.restore(learner)?;
        tried.map(LrCurve::of)
    }

    fn try_rates<L: Learner>(&self, learner: &mut L, train: &dyn Source<Batch = L::Batch>, range: LrRange) -> Result<Vec<(f64, f64)>> {
        learner.optimizers_mut().into_iter().for_each(|(_, optimizer)| optimizer.set_lr_factor(1.0));
        let base = learner.optimizers().first().map_or(0.0, |(_, optimizer)| optimizer.lr());
        if !(base > 0.0 && base.is_finite()) {
            return Err(Error::argument(
                format!("the optimizer's learning rate is {base}"),
                "give it one above 0; the others are multiples of it",
            ));
        }
        let mut points = Vec::with_capacity(range.steps);
        let (mut average, mut least) = (0.0, f64::INFINITY);
        let mut epoch = 0;
        let mut batches = train.batches(epoch, 0, &self.device)?;
        for step in 0..range.steps {
            let mut group: Vec<L::Batch> = batches.by_ref().take(self.accumulate).collect::<Result<_>>()?;
            if group.is_empty() {
                epoch += 1;
                batches = train.batches(epoch, 0, &self.device)?;
                group = batches.by_ref().take(self.accumulate).collect::<Result<_>>()?;
            }
            if group.is_empty() {
                return Err(Error::argument("the source has no batches", "give the trainer at least one item to learn from"));
            }
            let rate = range.from * (range.to / range.from).powf(step as f64 / (range.steps - 1) as f64);
            learner.optimizers_mut().into_iter().for_each(|(_, optimizer)| optimizer.set_lr_factor(rate / base));
            let outcome = learner.train_step(&group, &self.step).map_err(|error| learner.explain(&group, error))?;
            let loss = outcome.loss.to_f64()?;
            if !loss.is_finite() {
                break;
            }
            average = range.smoothing * average + (1.0 - range.smoothing) * loss;
            let smoothed = average / (1.0 - range.smoothing.powi(step as i32 + 1));
            points.push((rate, smoothed));
            least = least.min(smoothed);
            if step > MARGIN && smoothed > range.diverged * least {
                break;
            }
        }
        Ok(points)
    }

    /// The greatest batch whose training step fits into memory, by doubling from `first` ([`Info::starting_batch`](unigrad_device::Info::starting_batch), say) as long as an estimate from the steps
    /// before it fits, a step succeeds, and `most` is not passed. `make` makes a batch of so many items on the trainer's device.
    ///
    /// An error if not even one item fits.
    pub fn find_batch_size<L: Learner>(
        &self,
        learner: &mut L,
        first: usize,
        most: usize,
        make: &mut dyn FnMut(usize) -> Result<L::Batch>,
    ) -> Result<BatchSizes> {
        let before = Before::of(learner)?;
        learner.set_training(true);
        let found = try_batches(&self.device, learner, first.clamp(1, most.max(1)), most.max(1), make);
        before.restore(learner)?;
        found
    }
}

/// What batch sizes took.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchSizes {
    /// The greatest that fits.
    pub best: usize,
    /// Each that was tried: items, the most bytes in use, seconds of a step.
    pub tried: Vec<(usize, u64, f64)>,
}

/// The part of a device's memory that a batch may take it to.
const SHARE: f64 = 0.9;

fn try_batches<L: Learner>(
    device: &Device,
    learner: &mut L,
    first: usize,
    most: usize,
    make: &mut dyn FnMut(usize) -> Result<L::Batch>,
) -> Result<BatchSizes> {
    let mut sizes = BatchSizes { best: 0, tried: Vec::new() };
    let mut next = first;
    loop {
        match measure(device, learner, next, make) {
            Ok((bytes, seconds)) => {
                sizes.best = sizes.best.max(next);
                sizes.tried.push((next, bytes, seconds));
            }
            // Smaller ones, until one fits.
            Err(error) if error.is_out_of_memory() && sizes.best == 0 && next > 1 => {
                device.clear_cache();
                next /= 2;
                continue;
            }
            Err(error) if error.is_out_of_memory() && sizes.best > 0 => {
                device.clear_cache();
                break;
            }
            Err(error) => return Err(error),
        }
        let stats = device.memory_stats();
        let room = SHARE * stats.allocated.saturating_add(stats.free) as f64;
        // One more doubling takes at most twice what this one took.
        let estimate = match sizes.tried[..] {
            [.., (n, less, _), (m, more, _)] if m > n => more as f64 + (more.saturating_sub(less)) as f64 * (next as f64 / (m - n) as f64),
            [.., (_, bytes, _)] => 2.0 * bytes as f64,
            [] => 0.0,
        };
        let shrunk = next < first;
        if shrunk || next >= most || stats.free > 0 && estimate > room {
            break;
        }
        next = next.saturating_mul(2).min(most);
    }
    Ok(sizes)
}

/// The most bytes in use during a step, and the seconds of a second one.
fn measure<L: Learner>(device: &Device, learner: &mut L, n: usize, make: &mut dyn FnMut(usize) -> Result<L::Batch>) -> Result<(u64, f64)> {
    device.reset_peak();
    let batch = [make(n)?];
    let step = |learner: &mut L| -> Result<()> {
        let outcome = learner.train_step(&batch, &StepSettings::default()).map_err(|error| learner.explain(&batch, error))?;
        outcome.loss.to_f64().map(drop)
    };
    step(learner)?;
    let begin = Instant::now();
    step(learner)?;
    Ok((device.memory_stats().peak, begin.elapsed().as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steepest_fall_is_suggested() {
        let rates = (0..40).map(|i| 1e-4 * 1.3f64.powi(i));
        // Flat, falling fastest in the middle, rising at the end.
        let curve =
            LrCurve::of(rates.clone().enumerate().map(|(i, rate)| (rate, 2.0 - 1.0 / (1.0 + (-(i as f64 - 20.0)).exp()))).collect());
        let suggested = curve.suggestion.unwrap();
        assert!((suggested / 1e-4).log(1.3).round() as i32 == 19 || (suggested / 1e-4).log(1.3).round() as i32 == 20, "{suggested}");
        assert_eq!(LrCurve::of(rates.map(|rate| (rate, 1.0)).collect()).suggestion, None);
        assert_eq!(LrCurve::of(vec![]).suggestion, None);
        assert_eq!(LrCurve::of(vec![(0.1, 2.0), (0.2, 1.0)]).to_csv(), "lr,loss\n0.1,2\n0.2,1\n");
    }
}
