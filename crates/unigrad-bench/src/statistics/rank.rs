//! Rank tests as intervals: by how much one series of times is shifted against another, whatever the shape of their noise.
//!
//! In: logarithms of times, in the order in which they were measured. Out: a [`Shift`]: the Hodges-Lehmann estimate and an interval.
//! Always: the interval's critical ranks are those of the exact distribution (Mann and Whitney, 1947; Wilcoxon, 1945), widened by what neighbours in time
//! have in common. Too few values for the level that is asked give an interval without ends, not a guess.
//! Never: assumes a normal distribution.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// More values than this are not needed: the exact distributions are counted up to here, and a run has fewer blocks.
pub const MAX_VALUES: usize = 60;

/// By how much a second series is above the first, in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The middle of all differences.
    pub estimate: f64,
    /// The shift is at least so much, at the level that was asked; minus infinity where there are too few values to say.
    pub low: f64,
    /// At most so much.
    pub high: f64,
    /// The shift that would have been found in 19 of 20 tries; infinity where none would.
    pub detectable: f64,
}

impl Shift {
    const UNKNOWN: Shift = Shift { estimate: 0.0, low: f64::NEG_INFINITY, high: f64::INFINITY, detectable: f64::INFINITY };
}

/// Standard normal quantile that one of 20 values is above.
const ONE_IN_20: f64 = 1.645;

/// The shift between two runs that were measured one after the other. `alpha` is the chance that noise alone puts the low end above zero; and the
/// high end below it, the same.
pub fn between(first: &[f64], second: &[f64], alpha: f64) -> Shift {
    let (first, second) = (newest(first), newest(second));
    let (n, m) = (first.len(), second.len());
    if n == 0 || m == 0 {
        return Shift::UNKNOWN;
    }
    let mut differences: Vec<f64> = second.iter().flat_map(|b| first.iter().map(move |a| b - a)).collect();
    differences.sort_by(f64::total_cmp);
    let (size, mean) = ((n * m) as f64, (n * m) as f64 / 2.0);
    let deviation = (size * (n + m + 1) as f64 / 12.0).sqrt();
    let kept = tail(&known(Which::Between(n, m)), alpha);
    shift(&differences, mean, deviation, kept, common(&[first, second]))
}

/// The shift of pairs that were measured next to each other: `differences` are second minus first.
pub fn paired(differences: &[f64], alpha: f64) -> Shift {
    let values = newest(differences);
    let n = values.len();
    if n == 0 {
        return Shift::UNKNOWN;
    }
    let mut averages = Vec::with_capacity(n * (n + 1) / 2);
    for (i, a) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|b| (a + b) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    let size = (n * (n + 1)) as f64;
    let deviation = (size * (2 * n + 1) as f64 / 24.0).sqrt();
    shift(&averages, size / 4.0, deviation, tail(&known(Which::Pairs(n)), alpha), common(&[values]))
}

fn newest(values: &[f64]) -> &[f64] {
    &values[values.len().saturating_sub(MAX_VALUES)..]
}

/// `kept` is the number of ordered values below the interval if each block were independent; `common` is what they have in common.
fn shift(ordered: &[f64], mean: f64, deviation: f64, kept: Option<usize>, common: Common) -> Shift {
    let middle = super::quantile_of_sorted(ordered, 0.5);
    let Some(kept) = kept else { return Shift { estimate: middle, ..Shift::UNKNOWN } };
    // At most `kept` below half of them, so both are inside.
    let (low, high) = (ordered[kept], ordered[ordered.len() - 1 - kept]);
    let critical = (mean - kept as f64) / deviation;
    let wider = common.inflation * common.student(critical);
    let (low, high) = (middle - (middle - low) * wider, middle + (high - middle) * wider);
    let found = 1.0 + ONE_IN_20 / critical.max(f64::MIN_POSITIVE);
    Shift { estimate: middle, low, high, detectable: (middle - low).max(high - middle) * found }
}

/// What the blocks of a run have in common with their neighbours in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Common {
    /// By how much a mean's deviation is above that of independent values; at least 1.
    pub inflation: f64,
    /// Independent values that would be worth as much, less one for each run's middle; infinity where they are independent.
    pub freedom: f64,
}

impl Common {
    /// What a normal quantile must be multiplied by where the deviation is itself an estimate: Student's quantile over the normal one, by
    /// the expansion of Abramowitz and Stegun, 26.7.5.
    fn student(&self, z: f64) -> f64 {
        let n = self.freedom;
        1.0 + (z * z + 1.0) / (4.0 * n) + (5.0 * z.powi(4) + 16.0 * z * z + 3.0) / (96.0 * n * n)
    }
}

/// The largest `k` for which the chance of a statistic below `k` is at most `alpha`; `None` if not even that of 0 is that rare.
fn tail(counts: &[f64], alpha: f64) -> Option<usize> {
    let total: f64 = counts.iter().sum();
    let mut below = 0.0;
    let mut kept = None;
    for (k, count) in counts.iter().enumerate() {
        below += count;
        if below / total > alpha {
            break;
        }
        kept = Some(k);
    }
    kept
}

/// A distribution, by how many values it is of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Which {
    Between(usize, usize),
    Pairs(usize),
}

/// Distributions are counted once: a comparison needs the same few for every workload.
fn known(which: Which) -> Arc<Vec<f64>> {
    static KNOWN: Mutex<Option<HashMap<Which, Arc<Vec<f64>>>>> = Mutex::new(None);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let counted = known.get_or_insert_default().entry(which).or_insert_with(|| {
        Arc::new(match which {
            Which::Between(n, m) => mann_whitney(n, m),
            Which::Pairs(n) => signed_rank(n),
        })
    });
    Arc::clone(counted)
}

/// The chance of each value of Mann and Whitney's U of `n` and `m` values without a shift, by which series has the largest value.
fn mann_whitney(n: usize, m: usize) -> Vec<f64> {
    // The row of `i` values of the first series, for each number `j` of values of the second.
    let mut row: Vec<Vec<f64>> = vec![vec![1.0]; m + 1];
    for i in 1..=n {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(m + 1);
        next.push(vec![1.0]);
        for j in 1..=m {
            let part = i as f64 / (i + j) as f64;
            let mut chances = vec![0.0; i * j + 1];
            for (k, chance) in row[j].iter().enumerate() {
                chances[k + j] += part * chance;
            }
            for (k, chance) in next[j - 1].iter().enumerate() {
                chances[k] += (1.0 - part) * chance;
            }
            next.push(chances);
        }
        row = next;
    }
    row.pop().unwrap_or_default()
}

/// How many signs of `n` ranks give each sum of the positive ones.
fn signed_rank(n: usize) -> Vec<f64> {
    let size = n * (n + 1) / 2;
    let mut counts = vec![0.0; size + 1];
    counts[0] = 1.0;
    for rank in 1..=n {
        for k in (rank..=size).rev() {
            counts[k] = (counts[k] + counts[k - rank]) / 2.0;
        }
        for count in &mut counts[..rank] {
            *count /= 2.0;
        }
    }
    counts
}

/// What neighbours in time have in common, from the long-run variance of the ranks within each run, with Bartlett's weights (Newey and West, 1987).
/// Ranks, so that one outlier does not hide it.
pub fn common(runs: &[&[f64]]) -> Common {
    const NOTHING: Common = Common { inflation: 1.0, freedom: f64::INFINITY };
    let ranks: Vec<Vec<f64>> = runs.iter().map(|run| centred_ranks(run)).collect();
    let n = ranks.iter().map(Vec::len).min().unwrap_or(0);
    let variance: f64 = ranks.iter().flatten().map(|x| x * x).sum();
    if n < 4 || variance <= 0.0 {
        return NOTHING;
    }
    let lags = (n as f64).sqrt().ceil() as usize;
    let mut sum = 1.0;
    for lag in 1..=lags.min(n - 1) {
        let together: f64 = ranks.iter().map(|run| run.iter().zip(&run[lag..]).map(|(a, b)| a * b).sum::<f64>()).sum();
        // Removing each run's mean takes 1/n from every correlation.
        let correlation = together / variance + 1.0 / n as f64;
        sum += 2.0 * (1.0 - lag as f64 / (lags + 1) as f64) * correlation;
    }
    if sum <= 1.0 {
        return NOTHING;
    }
    let sum = sum.min(n as f64);
    let total: usize = ranks.iter().map(Vec::len).sum();
    Common { inflation: sum.sqrt(), freedom: (total as f64 / sum - runs.len() as f64).max(1.0) }
}

/// Ranks with their mean taken away; ties share theirs.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |x: f64| {
        let below = values.iter().filter(|y| **y < x).count();
        let alike = values.iter().filter(|y| **y == x).count();
        below as f64 + (alike as f64 - 1.0) / 2.0
    };
    let middle = (values.len() as f64 - 1.0) / 2.0;
    values.iter().map(|x| rank(*x) - middle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_distributions_are_those_of_the_tables() {
        // U of 3 and 3: 1 1 2 3 3 3 3 2 1 1 of 20.
        let counts = mann_whitney(3, 3);
        let total: f64 = counts.iter().sum();
        let shares: Vec<f64> = counts.iter().map(|c| (20.0 * c / total).round()).collect();
        assert_eq!(shares, [1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 2.0, 1.0, 1.0]);
        // The table of critical values, one side 0.025: n = m = 10 is 23, 20 and 20 is 127; of signed ranks, 10 is 8 and 20 is 52.
        assert_eq!(tail(&mann_whitney(10, 10), 0.025), Some(23));
        assert_eq!(tail(&mann_whitney(20, 20), 0.025), Some(127));
        assert_eq!(tail(&signed_rank(10), 0.025), Some(8));
        assert_eq!(tail(&signed_rank(20), 0.025), Some(52));
        assert_eq!(tail(&mann_whitney(2, 2), 0.01), None);
        assert_eq!(tail(&signed_rank(5), 0.01), None);
        for n in [1, 2, MAX_VALUES - 1, MAX_VALUES] {
            let (u, w) = (mann_whitney(n, n), signed_rank(n));
            assert!(u.iter().chain(&w).all(|count| count.is_finite() && *count >= 0.0), "{n}");
            assert!((u[0] - u[n * n]).abs() <= 1e-12 && [&u, &w].iter().all(|all| (all.iter().sum::<f64>() - 1.0).abs() < 1e-9), "{n}");
        }
    }

    #[test]
    fn few_values_say_nothing() {
        for shift in [between(&[], &[1.0], 0.01), between(&[1.0], &[2.0], 0.01), paired(&[], 0.01), paired(&[1.0; 4], 0.01)] {
            assert_eq!((shift.low, shift.high, shift.detectable), (f64::NEG_INFINITY, f64::INFINITY, f64::INFINITY));
        }
    }

    #[test]
    fn equal_values_have_an_interval_of_one_point() {
        let shift = between(&[1.0; 20], &[1.5; 20], 1e-4);
        assert_eq!((shift.estimate, shift.low, shift.high, shift.detectable), (0.5, 0.5, 0.5, 0.0));
    }

    #[test]
    fn what_neighbours_share_widens() {
        let alternating: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        let steps: Vec<f64> = (0..20).map(|i| f64::from(i / 10)).collect();
        let inflation = |values: &[f64]| common(&[values]).inflation;
        assert_eq!(inflation(&alternating), 1.0);
        assert!(inflation(&steps) > 1.8, "{}", inflation(&steps));
        assert_eq!(inflation(&[1.0; 20]), 1.0);
        assert_eq!(inflation(&[]), 1.0);
        // Student's quantile at 0.9995 with 10 degrees of freedom is 4.587, the normal one 3.291.
        let student = Common { inflation: 1.0, freedom: 10.0 }.student(3.291) * 3.291;
        assert!((student - 4.587).abs() < 0.1, "{student}");
    }
}
