//! How the learning rate changes, in words.
//!
//! In: a shape and its numbers, and how long the run is. Out: a [`Schedule`] of steps, or a [`Plateau`]. Always: what counts steps of the run has the
//! run's length unless the description says otherwise.

use super::named;
use serde::{Deserialize, Deserializer, Serialize};
use unigrad_nn::{Anneal, Better, Error, Peaks, Plateau, Result, Schedule};

/// How a value goes from one to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnnealSpec {
    /// Half a cosine.
    #[default]
    Cosine,
    /// A line.
    Linear,
}

impl AnnealSpec {
    fn of(self) -> Anneal {
        match self {
            AnnealSpec::Cosine => Anneal::Cosine,
            AnnealSpec::Linear => Anneal::Linear,
        }
    }
}

/// What a shape counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Steps of the optimizer.
    #[default]
    Step,
    /// Epochs.
    Epoch,
}

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BetterSpec {
    /// Lower ones, as of a loss.
    #[default]
    Lower,
    /// Higher ones, as of an accuracy.
    Higher,
}

impl BetterSpec {
    pub(super) fn of(self) -> Better {
        match self {
            BetterSpec::Lower => Better::Lower,
            BetterSpec::Higher => Better::Higher,
        }
    }
}

fn tenth() -> f64 {
    0.1
}

fn one() -> u64 {
    1
}

fn one_f() -> f64 {
    1.0
}

fn ten() -> u64 {
    10
}

fn rise() -> f64 {
    0.3
}

fn div() -> f64 {
    25.0
}

fn final_div() -> f64 {
    1e4
}

fn val_loss() -> String {
    "val_loss".to_owned()
}

fn threshold() -> f64 {
    1e-4
}

/// A schedule in words. In files: `schedule = "cosine"`, or `[schedule.cosine]` with settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ScheduleSpec {
    /// Always the base rate, after a warm-up.
    Constant {
        /// Steps of rise.
        #[serde(default)]
        warmup: u64,
    },
    /// Half a cosine down to the floor; see [`Schedule::cosine`].
    Cosine {
        /// Its length; the run's by default.
        #[serde(default)]
        steps: Option<u64>,
        /// Steps of rise before it.
        #[serde(default)]
        warmup: u64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
    },
    /// A line down to the floor; see [`Schedule::linear`].
    Linear {
        /// Its length; the run's by default.
        #[serde(default)]
        steps: Option<u64>,
        /// Steps of rise before it.
        #[serde(default)]
        warmup: u64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
    },
    /// `(1 - step / steps)^power`; see [`Schedule::polynomial`].
    Polynomial {
        /// Its length; the run's by default.
        #[serde(default)]
        steps: Option<u64>,
        /// The power.
        #[serde(default = "one_f")]
        power: f64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
    },
    /// Times `gamma` every so often; see [`Schedule::step`].
    Step {
        /// How often.
        every: u64,
        /// What by.
        #[serde(default = "tenth")]
        gamma: f64,
        /// Of what.
        #[serde(default)]
        unit: Unit,
    },
    /// Times `gamma` at milestones; see [`Schedule::multi_step`].
    MultiStep {
        /// When.
        milestones: Vec<u64>,
        /// What by.
        #[serde(default = "tenth")]
        gamma: f64,
        /// Of what.
        #[serde(default)]
        unit: Unit,
    },
    /// Times `gamma` each time; see [`Schedule::exponential`].
    Exponential {
        /// What by.
        gamma: f64,
        /// Of what.
        #[serde(default)]
        unit: Unit,
    },
    /// Cosines that begin again; see [`Schedule::warm_restarts`].
    WarmRestarts {
        /// Steps of the first.
        first: u64,
        /// How many times longer each further one is.
        #[serde(default = "one")]
        growth: u64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
    },
    /// Up and down again and again; see [`Schedule::cyclic`].
    Cyclic {
        /// The greatest factor.
        highest: f64,
        /// Steps up.
        up: u64,
        /// Steps down; as many as up by default.
        #[serde(default)]
        down: Option<u64>,
        /// Each peak is half of the one before.
        #[serde(default)]
        halved: bool,
        /// Peaks are so high to the power of the step.
        #[serde(default)]
        gamma: Option<f64>,
    },
    /// One rise and one fall; see [`Schedule::one_cycle_with`].
    OneCycle {
        /// The part of the run that rises.
        #[serde(default = "rise")]
        rise: f64,
        /// The first factor is `1 / div`.
        #[serde(default = "div")]
        div: f64,
        /// The last one is `1 / (div final_div)`.
        #[serde(default = "final_div")]
        final_div: f64,
        /// How it goes.
        #[serde(default)]
        anneal: AnnealSpec,
        /// Falls to the first factor as it rose, and then to the last.
        #[serde(default)]
        back: bool,
    },
    /// A line from one factor to another; see [`Schedule::ramp`].
    Ramp {
        /// The first factor.
        from: f64,
        /// The last one, which stays.
        #[serde(default = "one_f")]
        to: f64,
        /// Its length; the run's by default.
        #[serde(default)]
        steps: Option<u64>,
    },
    /// The factors of several together; see [`Schedule::product`].
    Product {
        /// Which; not `plateau`.
        #[serde(deserialize_with = "parts")]
        parts: Vec<ScheduleSpec>,
    },
    /// One after the other, each counting from its beginning; see [`Schedule::sequence`].
    Sequence {
        /// Which; not `plateau`. What has the run's length has that of its part.
        #[serde(deserialize_with = "parts")]
        parts: Vec<ScheduleSpec>,
        /// The steps at which the next one begins: one fewer than parts.
        milestones: Vec<u64>,
    },
    /// Warm-up, stable, decay; see [`Schedule::stable_decay`].
    StableDecay {
        /// Steps of rise.
        #[serde(default)]
        warmup: u64,
        /// Steps of fall at the end of the run.
        decay: u64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
        /// How it falls.
        #[serde(default)]
        anneal: AnnealSpec,
    },
    /// Falls when a metric no longer gets better; see [`Plateau`].
    Plateau {
        /// Which, as the history names it: `val_loss`, `loss`, `val_accuracy`.
        #[serde(default = "val_loss")]
        metric: String,
        /// What the rate is multiplied with.
        #[serde(default = "tenth")]
        factor: f64,
        /// How many values may be no better before that.
        #[serde(default = "ten")]
        patience: u64,
        /// How much better a value is to be, as a part of the best one.
        #[serde(default = "threshold")]
        threshold: f64,
        /// Whether `threshold` is so much, and not a part.
        #[serde(default)]
        absolute: bool,
        /// How many values after a change count nothing.
        #[serde(default)]
        cooldown: u64,
        /// The least factor.
        #[serde(default)]
        floor: f64,
        /// Which values are better.
        #[serde(default)]
        better: BetterSpec,
    },
}

/// Schedules within another.
fn parts<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<ScheduleSpec>, D::Error> {
    struct One(ScheduleSpec);
    impl<'de> Deserialize<'de> for One {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<One, D::Error> {
            named::one_of(deserializer, "a schedule").map(One)
        }
    }
    Ok(Vec::<One>::deserialize(deserializer)?.into_iter().map(|one| one.0).collect())
}

/// How deep schedules may stand in each other.
const MAX_NESTING: usize = 8;

/// What a schedule in words becomes.
#[derive(Clone, Debug)]
pub(crate) enum Scheduled {
    Steps(Schedule),
    Plateau(String, Plateau),
}

impl ScheduleSpec {
    /// For a run of `steps` steps, `per_epoch` in each epoch. An error if a number makes no sense.
    pub(crate) fn build(&self, steps: u64, per_epoch: u64) -> Result<Scheduled> {
        self.build_at(steps, per_epoch, 0)
    }

    /// One of those within another.
    fn part(&self, steps: u64, per_epoch: u64, depth: usize) -> Result<Schedule> {
        if depth > MAX_NESTING {
            let cause = format!("schedules nested more than {MAX_NESTING} deep");
            return Err(Error::argument(cause, "give their parts in one list"));
        }
        match self.build_at(steps, per_epoch, depth)? {
            Scheduled::Steps(schedule) => Ok(schedule),
            Scheduled::Plateau(..) => {
                Err(Error::argument("`plateau` as a part of another schedule", "use it alone, or give it as the whole schedule"))
            }
        }
    }

    fn build_at(&self, steps: u64, per_epoch: u64, depth: usize) -> Result<Scheduled> {
        let part = |name: &str, value: f64, least: f64, greatest: f64| -> Result<f64> {
            if value.is_finite() && (least..=greatest).contains(&value) {
                return Ok(value);
            }
            let greatest = if greatest == f64::MAX { "any finite number".to_owned() } else { greatest.to_string() };
            Err(Error::argument(format!("the schedule's `{name}` is {value}"), format!("use a number from {least} to {greatest}")))
        };
        let floor = |floor: f64| part("floor", floor, 0.0, 1.0);
        let of = |schedule: Schedule, unit: Unit| match unit {
            Unit::Step => schedule,
            Unit::Epoch => Schedule::of(move |step| schedule.factor(step / per_epoch.max(1))),
        };
        Ok(Scheduled::Steps(match self {
            ScheduleSpec::Constant { warmup } => Schedule::constant().warmup(*warmup),
            ScheduleSpec::Cosine { steps: own, warmup, floor: least } => {
                Schedule::cosine(own.unwrap_or(steps)).warmup(*warmup).floor(floor(*least)?)
            }
            ScheduleSpec::Linear { steps: own, warmup, floor: least } => {
                Schedule::linear(own.unwrap_or(steps)).warmup(*warmup).floor(floor(*least)?)
            }
            ScheduleSpec::Polynomial { steps: own, power, floor: least } => {
                Schedule::polynomial(own.unwrap_or(steps), part("power", *power, 0.0, 100.0)?).floor(floor(*least)?)
            }
            ScheduleSpec::Step { every, gamma, unit } => of(Schedule::step(*every, part("gamma", *gamma, 0.0, f64::MAX)?), *unit),
            ScheduleSpec::MultiStep { milestones, gamma, unit } => {
                of(Schedule::multi_step(milestones, part("gamma", *gamma, 0.0, f64::MAX)?), *unit)
            }
            ScheduleSpec::Exponential { gamma, unit } => of(Schedule::exponential(part("gamma", *gamma, 0.0, 1.0)?), *unit),
            ScheduleSpec::WarmRestarts { first, growth, floor: least } => Schedule::warm_restarts(*first, *growth).floor(floor(*least)?),
            ScheduleSpec::Cyclic { highest, up, down, halved, gamma } => {
                let peaks = match (halved, gamma) {
                    (true, Some(_)) => return Err(Error::argument("`halved` and `gamma` are both given", "give one of them")),
                    (true, None) => Peaks::Halved,
                    (false, Some(gamma)) => Peaks::Exponential(part("gamma", *gamma, 0.0, 1.0)?),
                    (false, None) => Peaks::Equal,
                };
                Schedule::cyclic(part("highest", *highest, 0.0, f64::MAX)?, *up, down.unwrap_or(*up), peaks)
            }
            ScheduleSpec::OneCycle { rise, div, final_div, anneal, back } => {
                let divs = [part("div", *div, 1.0, f64::MAX)?, part("final_div", *final_div, 1.0, f64::MAX)?];
                Schedule::one_cycle_with(steps, part("rise", *rise, 0.0, 1.0)?, divs[0], divs[1], anneal.of(), *back)
            }
            ScheduleSpec::Ramp { from, to, steps: own } => {
                Schedule::ramp(part("from", *from, 0.0, f64::MAX)?, part("to", *to, 0.0, f64::MAX)?, own.unwrap_or(steps))
            }
            ScheduleSpec::Product { parts } => {
                Schedule::product(parts.iter().map(|own| own.part(steps, per_epoch, depth + 1)).collect::<Result<_>>()?)
            }
            ScheduleSpec::Sequence { parts, milestones } => {
                if parts.len() != milestones.len() + 1 || !milestones.is_sorted() {
                    let cause = format!("a sequence of {} schedules with milestones {milestones:?}", parts.len());
                    return Err(Error::argument(cause, "give one milestone fewer than schedules, in order"));
                }
                let ends = milestones.iter().copied().chain([steps.max(milestones.last().copied().unwrap_or(0))]);
                let begins = [0].into_iter().chain(milestones.iter().copied());
                let lengths = begins.zip(ends).map(|(begin, end)| end - begin);
                let all = parts.iter().zip(lengths).map(|(own, length)| own.part(length, per_epoch, depth + 1));
                Schedule::sequence(all.collect::<Result<_>>()?, milestones)
            }
            ScheduleSpec::StableDecay { warmup, decay, floor: least, anneal } => {
                let stable = steps.saturating_sub(warmup.saturating_add(*decay));
                Schedule::stable_decay(stable, *decay, anneal.of()).warmup(*warmup).floor(floor(*least)?)
            }
            ScheduleSpec::Plateau { metric, factor, patience, threshold, absolute, cooldown, floor: least, better } => {
                let mut plateau = Plateau::new(part("factor", *factor, 0.0, 1.0)?);
                (plateau.patience, plateau.cooldown) = (*patience, *cooldown);
                let most = if *absolute { f64::MAX } else { 1.0 };
                (plateau.threshold, plateau.floor) = (part("threshold", *threshold, 0.0, most)?, floor(*least)?);
                plateau.absolute = *absolute;
                plateau.better = better.of();
                return Ok(Scheduled::Plateau(metric.clone(), plateau));
            }
        }))
    }
}
