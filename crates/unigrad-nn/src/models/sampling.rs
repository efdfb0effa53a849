//! How a language model's next token is chosen.
//!
//! In: logits, one for each token, and random numbers. Out: a token. Always: the same numbers give the same token; what has a logit of minus infinity is
//! not chosen while anything else can be.

use crate::{Result, error::Error, random::Rng};

/// How the next token is drawn from a model's logits: temperature first, then the `top_k` likeliest, then the fewest that have `top_p` together.
///
/// ```
/// # extern crate unigrad_nn as unigrad;
/// use unigrad::{nn::models::Sampling, random::Rng};
/// let logits = [0.0, 2.0, 1.0, -1.0];
/// let likeliest = Sampling { temperature: 0.0, ..Sampling::default() };
/// assert_eq!(likeliest.choose(&logits, &mut Rng::new(0, 0)), 1);
/// let two = Sampling { top_k: Some(2), ..Sampling::default() };
/// let mut rng = Rng::new(0, 0);
/// assert!((0..100).all(|_| [1, 2].contains(&two.choose(&logits, &mut rng))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// What logits are divided by; 0: always the likeliest.
    pub temperature: f64,
    /// At most so many of the likeliest.
    pub top_k: Option<usize>,
    /// The fewest of the likeliest whose probabilities sum to this (Holtzman et al., 2020), at least one.
    pub top_p: Option<f64>,
}

impl Default for Sampling {
    fn default() -> Sampling {
        Sampling { temperature: 1.0, top_k: None, top_p: None }
    }
}

impl Sampling {
    /// Whether the numbers make sense.
    pub fn check(&self) -> Result<()> {
        if !(self.temperature >= 0.0 && self.temperature.is_finite()) {
            return Err(Error::argument(format!("a temperature of {}", self.temperature), "use a finite number, 0 or above"));
        }
        if self.top_k == Some(0) {
            return Err(Error::argument("a choice among the 0 likeliest tokens", "use a `top_k` from 1 up, or none"));
        }
        match self.top_p {
            Some(p) if !(p > 0.0 && p <= 1.0) => Err(Error::argument(format!("a `top_p` of {p}"), "use a number above 0, at most 1")),
            _ => Ok(()),
        }
    }

    /// The index of a token. Of no logits: 0.
    pub fn choose(&self, logits: &[f32], rng: &mut Rng) -> usize {
        self.choose_by(logits, || rng.uniform())
    }

    /// As [`Sampling::choose`], by a number from 0 to below 1, which is drawn if there is a choice.
    ///
    /// ```
    /// # extern crate unigrad_nn as unigrad;
    /// use unigrad::nn::models::Sampling;
    /// let halves = [0.5f32.ln(), 0.5f32.ln()];
    /// assert_eq!([0.2, 0.7].map(|number| Sampling::default().choose_by(&halves, || number)), [0, 1]);
    /// ```
    pub fn choose_by(&self, logits: &[f32], draw: impl FnOnce() -> f64) -> usize {
        let Some((best, top)) = logits.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)) else { return 0 };
        if self.temperature <= 0.0 || !top.is_finite() {
            return best;
        }
        let weight = |x: f32| ((f64::from(x) - f64::from(top)) / self.temperature).exp();
        let mut likeliest: Vec<(usize, f64)> = logits.iter().map(|x| weight(*x)).enumerate().collect();
        if self.top_k.is_some_and(|k| k < likeliest.len()) || self.top_p.is_some_and(|p| p < 1.0) {
            // Stable: of equal ones the first.
            likeliest.sort_by(|a, b| b.1.total_cmp(&a.1));
            likeliest.truncate(self.top_k.unwrap_or(usize::MAX).max(1));
            if let Some(p) = self.top_p {
                let wanted = p * likeliest.iter().map(|(_, weight)| weight).sum::<f64>();
                let mut sum = 0.0;
                let enough = likeliest.iter().position(|(_, weight)| {
                    sum += weight;
                    sum >= wanted
                });
                likeliest.truncate(enough.map_or(likeliest.len(), |at| at + 1));
            }
        }
        let mut left = draw() * likeliest.iter().map(|(_, weight)| weight).sum::<f64>();
        let chosen = likeliest.iter().find(|(_, weight)| {
            left -= weight;
            left < 0.0
        });
        chosen.map_or(best, |(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(sampling: Sampling, logits: &[f32]) -> Vec<f64> {
        let mut rng = Rng::new(7, 0);
        let mut counts = vec![0.0; logits.len()];
        for _ in 0..20_000 {
            counts[sampling.choose(logits, &mut rng)] += 1.0 / 20_000.0;
        }
        counts
    }

    #[test]
    fn tokens_come_as_often_as_they_should() {
        let p = [0.1f64, 0.4, 0.2, 0.3];
        let logits: Vec<f32> = p.iter().map(|p| p.ln() as f32).collect();
        let near = |got: Vec<f64>, wanted: [f64; 4]| {
            assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.015 && (b > 0.0 || *a == 0.0)), "{got:?} {wanted:?}");
        };
        let plain = Sampling::default();
        near(shares(plain, &logits), p);
        near(shares(Sampling { temperature: 0.5, ..plain }, &logits), [1.0 / 30.0, 16.0 / 30.0, 4.0 / 30.0, 9.0 / 30.0]);
        near(shares(Sampling { temperature: 0.0, ..plain }, &logits), [0.0, 1.0, 0.0, 0.0]);
        near(shares(Sampling { top_k: Some(2), ..plain }, &logits), [0.0, 4.0 / 7.0, 0.0, 3.0 / 7.0]);
        near(shares(Sampling { top_k: Some(9), ..plain }, &logits), p);
        // 0.4 and 0.3 are less than 0.75, with 0.2 they are more.
        near(shares(Sampling { top_p: Some(0.75), ..plain }, &logits), [0.0, 4.0 / 9.0, 2.0 / 9.0, 3.0 / 9.0]);
        near(shares(Sampling { top_p: Some(1e-9), ..plain }, &logits), [0.0, 1.0, 0.0, 0.0]);
        // Of the two that are left, one has more than a half.
        near(shares(Sampling { top_k: Some(2), top_p: Some(0.5), ..plain }, &logits), [0.0, 1.0, 0.0, 0.0]);
        assert_eq!(plain.choose(&[f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY], &mut Rng::new(0, 0)), 1);
        assert_eq!(plain.choose(&[], &mut Rng::new(0, 0)), 0);
        for wrong in [Sampling { temperature: -1.0, ..plain }, Sampling { top_k: Some(0), ..plain }, Sampling { top_p: Some(0.0), ..plain }]
        {
            assert!(wrong.check().is_err());
        }
        assert!(Sampling { top_p: Some(f64::NAN), ..plain }.check().is_err() && plain.check().is_ok());
    }
}
