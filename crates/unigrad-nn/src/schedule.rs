//! Learning-rate schedules: a factor per step.
//!
//! In: a step, from 0. Out: what to multiply the base learning rate with.
//! Always: the factor is a run-time value of the step, so plans of a training loop stay the same while it changes.

use std::f64::consts::PI;

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant,
    /// To the floor over `steps`.
    Cosine {
        steps: u64,
    },
    /// To the floor over `steps`.
    Linear {
        steps: u64,
    },
    /// Times `gamma` after every `every` steps.
    Step {
        every: u64,
        gamma: f64,
    },
    /// Times `gamma` after every step.
    Exponential {
        gamma: f64,
    },
}

/// How the learning rate changes with the step.
///
/// ```
/// use unigrad_nn::Schedule;
/// let schedule = Schedule::cosine(100).warmup(10).floor(0.1);
/// assert_eq!(schedule.factor(0), 0.1); // the first of ten steps upwards
/// assert_eq!(schedule.factor(9), 1.0);
/// assert!((schedule.factor(99) - 0.1).abs() < 1e-3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    shape: Shape,
    warmup: u64,
    floor: f64,
}

impl Schedule {
    fn new(shape: Shape) -> Schedule {
        Schedule { shape, warmup: 0, floor: 0.0 }
    }

    /// Always 1.
    pub fn constant() -> Schedule {
        Schedule::new(Shape::Constant)
    }

    /// Half a cosine from 1 to the floor, reached after `steps` steps (warm-up included).
    pub fn cosine(steps: u64) -> Schedule {
        Schedule::new(Shape::Cosine { steps })
    }

    /// A line from 1 to the floor, reached after `steps` steps (warm-up included).
    pub fn linear(steps: u64) -> Schedule {
        Schedule::new(Shape::Linear { steps })
    }

    /// Times `gamma` after every `every` steps.
    pub fn step(every: u64, gamma: f64) -> Schedule {
        Schedule::new(Shape::Step { every: every.max(1), gamma })
    }

    /// Times `gamma` after every step.
    pub fn exponential(gamma: f64) -> Schedule {
        Schedule::new(Shape::Exponential { gamma })
    }

    /// Rises in equal parts over the first `steps` steps, to 1 in the last of them; the rest of the schedule starts after it.
    pub fn warmup(mut self, steps: u64) -> Schedule {
        self.warmup = steps;
        self
    }

    /// The least factor after the warm-up.
    pub fn floor(mut self, floor: f64) -> Schedule {
        self.floor = floor;
        self
    }

    /// The factor of a step, from 0.
    pub fn factor(&self, step: u64) -> f64 {
        if step < self.warmup {
            return (step + 1) as f64 / self.warmup as f64;
        }
        let step = step - self.warmup;
        let part = |steps: u64| (step as f64 / steps.saturating_sub(self.warmup).max(1) as f64).min(1.0);
        let factor = match self.shape {
            Shape::Constant => 1.0,
            Shape::Cosine { steps } => self.floor + (1.0 - self.floor) * 0.5 * (1.0 + (PI * part(steps)).cos()),
            Shape::Linear { steps } => self.floor + (1.0 - self.floor) * (1.0 - part(steps)),
            Shape::Step { every, gamma } => gamma.powf((step / every) as f64),
            Shape::Exponential { gamma } => gamma.powf(step as f64),
        };
        factor.max(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let at = |s: &Schedule, steps: &[u64]| steps.iter().map(|&k| (s.factor(k) * 1e6).round() / 1e6).collect::<Vec<_>>();
        assert_eq!(at(&Schedule::constant().warmup(4), &[0, 1, 3, 4, 1000]), [0.25, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(at(&Schedule::cosine(10), &[0, 5, 10, 99]), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(at(&Schedule::cosine(12).warmup(2).floor(0.2), &[0, 1, 2, 7, 12]), [0.5, 1.0, 1.0, 0.6, 0.2]);
        assert_eq!(at(&Schedule::linear(10), &[0, 5, 10, 11]), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(at(&Schedule::step(3, 0.1), &[0, 2, 3, 6]), [1.0, 1.0, 0.1, 0.01]);
        assert_eq!(at(&Schedule::exponential(0.5).floor(0.2), &[0, 1, 2, 3]), [1.0, 0.5, 0.25, 0.2]);
    }
}
