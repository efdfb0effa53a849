//! Settings found by trying: a learning rate, a batch size.
//!
//! Always: the learner, and the process's random numbers, are afterwards what they were before; a step that is tried is the step that the trainer's run takes:
//! its precision, loss scale, clipping, accumulation, gradient checkpointing and limit of activations.

use crate::{
    descend::put_back,
    learner::{Learner, StepSettings},
    run::named_state,
    trainer::{Trainer, limited},
};
use std::{cell::Cell, rc::Rc, time::Instant};
use unigrad_data::Source;
use unigrad_nn::{Checkpoint, Error, Result, memory};
use unigrad_tensor::{DelayedScaling, Fp8Scaling, Generator, Tensor, eval};

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
    /// Tries learning rates (Smith, 2017): each step has a greater one than the step before. Steps are the run's, with its precision, accumulation and
    /// clipping; schedule, callbacks and files are left out.
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
        let tried = limited(self.activation_limit, || self.try_rates(learner, train, range));
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
        let settings = self.tried_settings()?;
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
            let outcome = learner.train_step(&group, &settings).map_err(|error| learner.explain(&group, error))?;
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

    /// A run's settings of a step, with a loss scale and histories of 8-bit scales of their own: those of the run do not change.
    fn tried_settings(&self) -> Result<StepSettings> {
        let mut settings = self.step.clone();
        if let Some(scaling) = self.step.delayed() {
            settings.fp8.scaling = Fp8Scaling::Delayed(DelayedScaling::new(scaling.amax_history_len())?);
        }
        settings.scaler = self.scaler()?;
        Ok(settings)
    }

    /// The greatest batch whose training step fits into memory, `most` at most, by doubling. The first that is tried is what suits the device
    /// ([`Info::starting_batch`](unigrad_device::Info::starting_batch)), or smaller ones where it does not fit. Before a step is taken, its need of memory is
    /// estimated ([`Learner::estimate`]) as in [`Trainer::fit`], and one that does not fit is not taken; of a learner that estimates nothing, steps
    /// before it say what it will take, and each of its evaluations is looked at before it is launched ([`Trainer::check_memory`] turns both off).
    ///
    /// `make` makes a batch of so many items on the trainer's device. A step has as many batches as the trainer accumulates.
    ///
    /// # Errors
    /// Not even one item fits.
    pub fn find_batch_size<L: Learner>(
        &self,
        learner: &mut L,
        most: usize,
        make: &mut dyn FnMut(usize) -> Result<L::Batch>,
    ) -> Result<BatchSizes> {
        let before = Before::of(learner)?;
        learner.set_training(true);
        let most = most.max(1);
        let first = self.device.info().starting_batch().clamp(1, most);
        let found = limited(self.activation_limit, || self.try_batches(learner, first, most, make));
        before.restore(learner)?;
        found
    }

    fn try_batches<L: Learner>(
        &self,
        learner: &mut L,
        first: usize,
        most: usize,
        make: &mut dyn FnMut(usize) -> Result<L::Batch>,
    ) -> Result<BatchSizes> {
        let mut sizes = BatchSizes { best: 0, tried: Vec::new() };
        let mut next = first;
        loop {
            let lacking = match self.measure(learner, next, make) {
                Ok(Tried::Took(bytes, seconds)) => {
                    sizes.best = sizes.best.max(next);
                    sizes.tried.push((next, bytes, seconds));
                    None
                }
                Ok(Tried::Lacks(error)) => Some(error),
                Err(error) if error.is_out_of_memory() => Some(error),
                Err(error) => return Err(error),
            };
            if let Some(error) = lacking {
                self.device.clear_cache();
                if sizes.best > 0 {
                    break;
                }
                if next == 1 {
                    return Err(error);
                }
                // Smaller ones, until one fits.
                next /= 2;
                continue;
            }
            if next < first || next >= most || !self.has_room(&sizes.tried, next) {
                break;
            }
            next = next.saturating_mul(2).min(most);
        }
        Ok(sizes)
    }

    /// Whether twice the last batch will fit, by what the last two took.
    fn has_room(&self, tried: &[(usize, u64, f64)], last: usize) -> bool {
        let stats = self.device.memory_stats();
        let room = SHARE * stats.allocated.saturating_add(stats.free) as f64;
        let estimate = match *tried {
            [.., (n, less, _), (m, more, _)] if m > n => more as f64 + more.saturating_sub(less) as f64 * (last as f64 / (m - n) as f64),
            [.., (_, bytes, _)] => 2.0 * bytes as f64,
            [] => 0.0,
        };
        stats.free == 0 || estimate <= room
    }

    /// The most bytes in use during a step, and the seconds of a second one; or that it does not fit, by its estimate.
    fn measure<L: Learner>(&self, learner: &mut L, n: usize, make: &mut dyn FnMut(usize) -> Result<L::Batch>) -> Result<Tried> {
        self.device.reset_peak();
        let batches = (0..self.accumulate).map(|_| make(n)).collect::<Result<Vec<_>>>()?;
        let settings = self.tried_settings()?;
        let looked_at = self.check_memory && self.device.memory_stats().free > 0;
        let mut is_estimated = false;
        if let (true, Some(batch)) = (looked_at, batches.first()) {
            // A step that cannot be recorded, or estimated, tells why itself.
            if let Some(estimate) = self.estimated(learner, batch)? {
                is_estimated = true;
                if estimate.share(&self.device).is_some_and(|share| share > SHARE) {
                    let cause = format!(
                        "{} bytes of a step of {n} items beside {} in use are more than {:.0} % of the memory of {}",
                        estimate.step(),
                        self.device.memory_stats().allocated,
                        100.0 * SHARE,
                        self.device.name()
                    );
                    let help = "use a smaller model, gradient checkpointing, a half type, or a device with more memory";
                    return Ok(Tried::Lacks(Error::argument(cause, help)));
                }
            }
        }
        let step = |learner: &mut L| -> Result<()> {
            let outcome = learner.train_step(&batches, &settings).map_err(|error| learner.explain(&batches, error))?;
            outcome.loss.to_f64().map(drop)
        };
        if looked_at && !is_estimated {
            let lacks = Rc::new(Cell::new(false));
            let told = Rc::clone(&lacks);
            let check = move |demand: &eval::Demand| memory::check_demand(demand).inspect_err(|_| told.set(true));
            match eval::with_demands_checked(check, || step(learner)) {
                Err(error) if lacks.get() => return Ok(Tried::Lacks(error)),
                done => done?,
            }
        } else {
            step(learner)?;
        }
        let begin = Instant::now();
        step(learner)?;
        Ok(Tried::Took(self.device.memory_stats().peak, begin.elapsed().as_secs_f64()))
    }

    /// What the learner says that a step of this batch needs; it changes neither statistics, nor the trainer's or the process's numbers.
    fn estimated<L: Learner>(&self, learner: &mut L, batch: &L::Batch) -> Result<Option<memory::Estimate>> {
        let settings = self.tried_settings()?;
        let (seed, position) = Generator::global().state();
        let statistics: Vec<Tensor> =
            named_state(learner).into_iter().map(|(_, tensor)| tensor).filter(|tensor| !tensor.is_variable()).collect();
        let before: Vec<(Tensor, Tensor)> = statistics.into_iter().map(|tensor| (tensor.clone(), tensor.detach())).collect();
        let attempt = eval::Attempt::begin();
        let estimate = settings.forward(|| learner.estimate(batch));
        drop(attempt);
        Generator::global().set(seed, position);
        put_back(&before)?;
        Ok(estimate.ok().flatten())
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

/// What came of a batch's step.
enum Tried {
    /// The most bytes in use, seconds.
    Took(u64, f64),
    /// It would not fit, and was not taken.
    Lacks(Error),
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
