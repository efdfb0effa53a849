//! What each shape of a schedule is at a step.

use super::{Anneal, Peaks, Shape};
use std::f64::consts::PI;

impl Anneal {
    /// From `from` to `to` when the part `part` (0..=1) is over.
    fn between(self, from: f64, to: f64, part: f64) -> f64 {
        match self {
            Anneal::Cosine => to + (from - to) * 0.5 * (1.0 + (PI * part).cos()),
            Anneal::Linear => from + (to - from) * part,
        }
    }
}

/// The part of `steps` that is over; of none all is.
fn part(step: u64, steps: u64) -> f64 {
    if steps == 0 { 1.0 } else { (step as f64 / steps as f64).min(1.0) }
}

impl Shape {
    /// `step` counts from the end of the warm-up, which totals include.
    pub(super) fn factor(&self, step: u64, warmup: u64, floor: f64) -> f64 {
        match self {
            Shape::Constant => 1.0,
            Shape::Cosine { steps } => Anneal::Cosine.between(1.0, floor, part(step, steps.saturating_sub(warmup))),
            Shape::Linear { steps } => Anneal::Linear.between(1.0, floor, part(step, steps.saturating_sub(warmup))),
            Shape::Ramp { from, to, steps } => Anneal::Linear.between(*from, *to, part(step, *steps)),
            Shape::Step { every, gamma } => gamma.powf((step / every) as f64),
            Shape::MultiStep { milestones, gamma } => gamma.powf(milestones.iter().filter(|at| **at <= step).count() as f64),
            Shape::Exponential { gamma } => gamma.powf(step as f64),
            Shape::Polynomial { steps, power } => (1.0 - part(step, steps.saturating_sub(warmup))).powf(*power),
            Shape::WarmRestarts { first, growth } => {
                let (at, length) = restarted(step, *first, *growth);
                Anneal::Cosine.between(1.0, floor, at / length)
            }
            Shape::Cyclic { highest, up, down, peaks } => {
                let length = up + down;
                let (cycle, at) = (step / length, step % length);
                let height = if at <= *up { at as f64 / *up as f64 } else { (length - at) as f64 / *down as f64 };
                let peak = match peaks {
                    Peaks::Equal => 1.0,
                    Peaks::Halved => 0.5f64.powf(cycle as f64),
                    Peaks::Exponential(gamma) => gamma.powf(step as f64),
                };
                1.0 + (highest - 1.0) * height * peak
            }
            Shape::OneCycle { steps, rise, first, last, anneal, back } => {
                // Ends of phases, counted from 0, as PyTorch has them: they need not be whole.
                let (end, top) = (steps.saturating_sub(1) as f64, rise * *steps as f64 - 1.0);
                let phases: &[(f64, f64, f64)] = if *back {
                    &[(top, *first, 1.0), (2.0 * top, 1.0, *first), (end, *first, *last)]
                } else {
                    &[(top, *first, 1.0), (end, 1.0, *last)]
                };
                let (mut begin, step) = (0.0, step as f64);
                for &(end, from, to) in phases {
                    if step <= end {
                        let over = if end > begin { (step - begin) / (end - begin) } else { 1.0 };
                        return anneal.between(from, to, over);
                    }
                    begin = end;
                }
                *last
            }
            Shape::StableDecay { stable, decay, anneal } => match step.checked_sub(*stable) {
                Some(step) => anneal.between(1.0, floor, part(step, *decay)),
                None => 1.0,
            },
            Shape::Of(function) => (function.0)(step),
            Shape::Product(parts) => parts.iter().map(|schedule| schedule.factor(step)).product(),
            Shape::Sequence { parts, milestones } => {
                let passed = milestones.iter().filter(|at| **at <= step).count().min(parts.len().saturating_sub(1));
                let begin = if passed == 0 { 0 } else { milestones[passed - 1] };
                parts.get(passed).map_or(1.0, |schedule| schedule.factor(step - begin))
            }
        }
    }
}

/// Where a step is in its cycle, and how long that is.
fn restarted(step: u64, first: u64, growth: u64) -> (f64, f64) {
    if growth == 1 {
        return ((step % first) as f64, first as f64);
    }
    let (mut begin, mut length) = (0u64, first);
    // At most 64 times, for each cycle is at least twice as long.
    while step - begin >= length {
        begin += length;
        length = length.saturating_mul(growth);
    }
    ((step - begin) as f64, length as f64)
}

#[cfg(test)]
mod tests {
    use crate::{Anneal, Peaks, Schedule};

    #[test]
    fn shapes() {
        let at = |s: &Schedule, steps: &[u64]| steps.iter().map(|&k| (s.factor(k) * 1e6).round() / 1e6).collect::<Vec<_>>();
        assert_eq!(at(&Schedule::constant().warmup(4), &[0, 1, 3, 4, 1000]), [0.25, 0.5, 1.0, 1.0, 1.0]);
        assert_eq!(at(&Schedule::cosine(10), &[0, 5, 10, 99]), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(at(&Schedule::cosine(12).warmup(2).floor(0.2), &[0, 1, 2, 7, 12]), [0.5, 1.0, 1.0, 0.6, 0.2]);
        assert_eq!(at(&Schedule::linear(10), &[0, 5, 10, 11]), [1.0, 0.5, 0.0, 0.0]);
        assert_eq!(at(&Schedule::step(3, 0.1), &[0, 2, 3, 6]), [1.0, 1.0, 0.1, 0.01]);
        assert_eq!(at(&Schedule::exponential(0.5).floor(0.2), &[0, 1, 2, 3]), [1.0, 0.5, 0.25, 0.2]);
        assert_eq!(at(&Schedule::stable_decay(3, 4, Anneal::Linear).warmup(2), &[0, 2, 4, 7, 9, 99]), [0.5, 1.0, 1.0, 0.5, 0.0, 0.0]);
        assert_eq!(at(&Schedule::of(|step| 1.0 / (1.0 + step as f64)), &[0, 1, 3]), [1.0, 0.5, 0.25]);
    }

    /// Numbers no loop counts with, and the ends of time.
    #[test]
    fn extremes_are_numbers() {
        let all = [
            Schedule::cosine(0),
            Schedule::linear(0).warmup(u64::MAX),
            Schedule::ramp(0.0, 1.0, 0),
            Schedule::step(0, 0.5),
            Schedule::multi_step(&[], 0.5),
            Schedule::polynomial(0, 2.0),
            Schedule::warm_restarts(0, 0),
            Schedule::warm_restarts(u64::MAX, u64::MAX),
            Schedule::warm_restarts(1, 2),
            Schedule::cyclic(2.0, 0, 0, Peaks::Halved),
            Schedule::one_cycle(0),
            Schedule::one_cycle_with(1, 1.0, 25.0, 1e4, Anneal::Linear, true),
            Schedule::stable_decay(0, 0, Anneal::Cosine),
            Schedule::product(vec![]),
            Schedule::sequence(vec![], &[1, 2]),
            Schedule::sequence(vec![Schedule::constant()], &[]),
        ];
        for schedule in all {
            for step in [0, 1, 2, 1000, u64::MAX - 1, u64::MAX] {
                assert!(schedule.factor(step).is_finite(), "{schedule:?} at {step}");
            }
        }
    }

    #[test]
    fn schedules_are_pytorchs() {
        let golden: serde_json::Value = serde_json::from_str(include_str!("../../../../goldens/schedules.json")).unwrap();
        let sequence = || Schedule::sequence(vec![Schedule::ramp(0.1, 1.0, 5), Schedule::exponential(0.9)], &[5]);
        let table = [
            ("multi_step", Schedule::multi_step(&[5, 12, 12, 30], 0.5)),
            ("polynomial", Schedule::polynomial(20, 2.5)),
            ("warm_restarts", Schedule::warm_restarts(7, 1).floor(0.05)),
            ("warm_restarts_growing", Schedule::warm_restarts(5, 2).floor(0.05)),
            ("cyclic", Schedule::cyclic(6.0, 4, 7, Peaks::Equal)),
            ("cyclic_halved", Schedule::cyclic(6.0, 4, 4, Peaks::Halved)),
            ("cyclic_exponential", Schedule::cyclic(6.0, 5, 3, Peaks::Exponential(0.97))),
            ("one_cycle", Schedule::one_cycle(40)),
            ("one_cycle_linear", Schedule::one_cycle_with(40, 0.25, 10.0, 100.0, Anneal::Linear, false)),
            ("one_cycle_back", Schedule::one_cycle_with(40, 0.3, 10.0, 100.0, Anneal::Cosine, true)),
            ("ramp", Schedule::ramp(0.25, 1.0, 6)),
            ("constant", Schedule::ramp(0.25, 1.0, 0)),
            ("product", Schedule::product(vec![Schedule::ramp(0.1, 1.0, 5), Schedule::exponential(0.9)])),
            ("sequence", sequence()),
            ("cosine", Schedule::cosine(40).floor(0.1)),
            ("step", Schedule::step(7, 0.3)),
        ];
        for (name, schedule) in table {
            let want = golden[name].as_array().unwrap_or_else(|| panic!("{name} is not in the golden file"));
            for (step, want) in want.iter().map(|x| x.as_f64().unwrap()).enumerate() {
                let got = schedule.factor(step as u64);
                assert!((got - want).abs() < 1e-9, "{name} at {step}: {got} and not {want}");
            }
        }
    }
}
