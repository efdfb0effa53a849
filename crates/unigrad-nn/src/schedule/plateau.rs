//! A rate that falls when a metric no longer gets better.
//!
//! In: a metric per epoch, or however often it is known. Out: a factor. Always: its state is a few numbers, which a checkpoint keeps. A metric that is no
//! number is never better.

use serde_json::{Value, json};

/// Which values of a metric are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Better {
    /// Lower ones, as of a loss.
    #[default]
    Lower,
    /// Higher ones, as of an accuracy.
    Higher,
}

/// Multiplies the rate by `factor` when the metric has not got better for more than `patience` times (PyTorch's `ReduceLROnPlateau`).
///
/// ```
/// use unigrad_nn::Plateau;
/// let mut plateau = Plateau::new(0.5);
/// plateau.patience = 1;
/// let factors: Vec<f64> = [1.0, 0.9, 0.95, 0.93, 0.92].into_iter().map(|loss| plateau.observe(loss)).collect();
/// assert_eq!(factors, [1.0, 1.0, 1.0, 0.5, 0.5]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    /// What the rate is multiplied with.
    pub factor: f64,
    /// How many values may be no better before that.
    pub patience: u64,
    /// How much better a value is to be: a part of the best one, or (`absolute`) so much.
    pub threshold: f64,
    /// See `threshold`.
    pub absolute: bool,
    /// How many values after a change count nothing.
    pub cooldown: u64,
    /// The least factor.
    pub floor: f64,
    /// Which values are better.
    pub better: Better,
    state: State,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    current: f64,
    best: Option<f64>,
    n_bad: u64,
    cooling: u64,
}

impl Plateau {
    /// With PyTorch's patience of 10 and threshold of 1e-4, for a metric that should fall.
    pub fn new(factor: f64) -> Plateau {
        Plateau {
            factor,
            patience: 10,
            threshold: 1e-4,
            absolute: false,
            cooldown: 0,
            floor: 0.0,
            better: Better::Lower,
            state: State { current: 1.0, best: None, n_bad: 0, cooling: 0 },
        }
    }

    /// Takes the next value of the metric; the factor from now on.
    pub fn observe(&mut self, metric: f64) -> f64 {
        let state = &mut self.state;
        let is_better = match (state.best, self.better) {
            (None, _) => !metric.is_nan(),
            (Some(best), Better::Lower) => metric < if self.absolute { best - self.threshold } else { best * (1.0 - self.threshold) },
            (Some(best), Better::Higher) => metric > if self.absolute { best + self.threshold } else { best * (1.0 + self.threshold) },
        };
        if is_better {
            (state.best, state.n_bad) = (Some(metric), 0);
        } else {
            state.n_bad += 1;
        }
        if state.cooling > 0 {
            state.cooling -= 1;
            state.n_bad = 0;
        }
        if state.n_bad > self.patience {
            state.current = (state.current * self.factor).max(self.floor);
            (state.cooling, state.n_bad) = (self.cooldown, 0);
        }
        state.current
    }

    /// The factor as it is.
    pub fn current(&self) -> f64 {
        self.state.current
    }

    /// What a checkpoint keeps.
    pub fn to_json(&self) -> Value {
        let State { current, best, n_bad, cooling } = &self.state;
        json!({ "current": current, "best": best, "n_bad": n_bad, "cooling": cooling })
    }

    /// Continues from what [`Plateau::to_json`] gave; `false`, and nothing has changed, if it is something else.
    pub fn load_json(&mut self, state: &Value) -> bool {
        let read = || {
            let best = match &state["best"] {
                Value::Null => None,
                best => Some(best.as_f64()?),
            };
            Some(State { current: state["current"].as_f64()?, best, n_bad: state["n_bad"].as_u64()?, cooling: state["cooling"].as_u64()? })
        };
        match read() {
            Some(state) => {
                self.state = state;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plateaus_are_pytorchs() {
        let golden: Value = serde_json::from_str(include_str!("../../../../goldens/schedules.json")).unwrap();
        for run in golden["plateau"].as_array().unwrap() {
            let mut plateau = Plateau {
                patience: run["patience"].as_u64().unwrap(),
                threshold: run["threshold"].as_f64().unwrap(),
                absolute: run["absolute"].as_bool().unwrap(),
                cooldown: run["cooldown"].as_u64().unwrap(),
                floor: run["floor"].as_f64().unwrap(),
                better: if run["higher"].as_bool().unwrap() { Better::Higher } else { Better::Lower },
                ..Plateau::new(run["factor"].as_f64().unwrap())
            };
            for (i, (metric, want)) in run["metrics"].as_array().unwrap().iter().zip(run["factors"].as_array().unwrap()).enumerate() {
                // Saved and resumed before each value.
                let saved = plateau.to_json();
                plateau.state = State { current: 9.0, best: None, n_bad: 99, cooling: 7 };
                assert!(plateau.load_json(&saved) && !plateau.load_json(&json!({ "current": "1" })));
                let got = plateau.observe(metric.as_f64().unwrap());
                assert!((got - want.as_f64().unwrap()).abs() < 1e-12, "{run} value {i}: {got} and not {want}");
            }
        }
        let mut plateau = Plateau { patience: 0, ..Plateau::new(0.5) };
        assert_eq!([f64::NAN, 1.0, f64::NAN].map(|metric| plateau.observe(metric)), [0.5, 0.5, 0.25]);
    }
}
