//! Learning-rate schedules: a factor per step.
//!
//! In: a step, from 0. Out: what to multiply the base learning rate with.
//! Always: the factor is a run-time value of the step, so plans of a training loop stay the same while it changes; it depends on the step alone, so a
//! resumed run goes on as if it had not stopped. What depends on how training goes is a [`Plateau`].

mod plateau;
mod shapes;

pub use plateau::{Better, Plateau};

use std::{fmt, sync::Arc};

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

/// How far a value has come from one to another, as the part of a phase that is over says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anneal {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A line.
    Linear,
}

/// How high the peaks of [`Schedule::cyclic`] are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peaks {
    /// All alike.
    Equal,
    /// Each half of the one before.
    Halved,
    /// The height times this number to the power of the step.
    Exponential(f64),
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant,
    Cosine { steps: u64 },
    Linear { steps: u64 },
    Ramp { from: f64, to: f64, steps: u64 },
    Step { every: u64, gamma: f64 },
    MultiStep { milestones: Vec<u64>, gamma: f64 },
    Exponential { gamma: f64 },
    Polynomial { steps: u64, power: f64 },
    WarmRestarts { first: u64, growth: u64 },
    Cyclic { highest: f64, up: u64, down: u64, peaks: Peaks },
    OneCycle { steps: u64, rise: f64, first: f64, last: f64, anneal: Anneal, back: bool },
    StableDecay { stable: u64, decay: u64, anneal: Anneal },
    Of(Function),
    Product(Vec<Schedule>),
    Sequence { parts: Vec<Schedule>, milestones: Vec<u64> },
}

/// A program's own function of the step.
#[derive(Clone)]
struct Function(Arc<dyn Fn(u64) -> f64 + Send + Sync>);

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Function(..)")
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Function) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
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

    /// A line from one factor to another, reached after `steps` steps, and that from there on (PyTorch's `LinearLR`).
    pub fn ramp(from: f64, to: f64, steps: u64) -> Schedule {
        Schedule::new(Shape::Ramp { from, to, steps })
    }

    /// Times `gamma` after every `every` steps.
    pub fn step(every: u64, gamma: f64) -> Schedule {
        Schedule::new(Shape::Step { every: every.max(1), gamma })
    }

    /// Times `gamma` at each of these steps.
    pub fn multi_step(milestones: &[u64], gamma: f64) -> Schedule {
        Schedule::new(Shape::MultiStep { milestones: milestones.to_vec(), gamma })
    }

    /// Times `gamma` after every step.
    pub fn exponential(gamma: f64) -> Schedule {
        Schedule::new(Shape::Exponential { gamma })
    }

    /// `(1 - step / steps)^power`, and the floor from `steps` on.
    pub fn polynomial(steps: u64, power: f64) -> Schedule {
        Schedule::new(Shape::Polynomial { steps, power })
    }

    /// Half cosines from 1 to the floor: the first takes `first` steps, each further one `growth` times as many (Loshchilov and Hutter, 2017).
    pub fn warm_restarts(first: u64, growth: u64) -> Schedule {
        Schedule::new(Shape::WarmRestarts { first: first.max(1), growth: growth.max(1) })
    }

    /// From 1 to `highest` in `up` steps and back in `down`, again and again (Smith, 2017): the base rate is the lowest.
    pub fn cyclic(highest: f64, up: u64, down: u64, peaks: Peaks) -> Schedule {
        Schedule::new(Shape::Cyclic { highest, up: up.max(1), down: down.max(1), peaks })
    }

    /// One rise to 1 over 0.3 of the steps, from 1/25, and one fall to 1/250,000 (Smith and Topin, 2018): the base rate is the highest. See
    /// [`Schedule::one_cycle_with`].
    pub fn one_cycle(steps: u64) -> Schedule {
        Schedule::one_cycle_with(steps, 0.3, 25.0, 1e4, Anneal::Cosine, false)
    }

    /// One rise to 1 over the part `rise` of the steps, from `1 / div`, and one fall to `1 / (div final_div)`. With `back`, the fall stops at `1 / div` after as
    /// many steps as the rise had.
    pub fn one_cycle_with(steps: u64, rise: f64, div: f64, final_div: f64, anneal: Anneal, back: bool) -> Schedule {
        let first = 1.0 / div;
        Schedule::new(Shape::OneCycle { steps, rise: rise.clamp(0.0, 1.0), first, last: first / final_div, anneal, back })
    }

    /// 1 for `stable` steps, then to the floor in `decay` steps; with [`Schedule::warmup`], the schedule of Hu et al. (MiniCPM, 2024).
    pub fn stable_decay(stable: u64, decay: u64, anneal: Anneal) -> Schedule {
        Schedule::new(Shape::StableDecay { stable, decay, anneal })
    }

    /// What a function of the step gives.
    pub fn of(factor: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Schedule {
        Schedule::new(Shape::Of(Function(Arc::new(factor))))
    }

    /// The product of several (PyTorch's `ChainedScheduler`).
    pub fn product(parts: Vec<Schedule>) -> Schedule {
        Schedule::new(Shape::Product(parts))
    }

    /// One after the other: the second begins, at its step 0, at the first milestone, and so on.
    pub fn sequence(parts: Vec<Schedule>, milestones: &[u64]) -> Schedule {
        Schedule::new(Shape::Sequence { parts, milestones: milestones.to_vec() })
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
        self.shape.factor(step - self.warmup, self.warmup, self.floor).max(self.floor)
    }
}
