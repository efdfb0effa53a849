//! Two runs beside each other: what became slower, by how much at least, and what could have been seen at all.
//!
//! In: two [`Run`]s, measured one after the other ([`compare`]) or in turns ([`compare_pairs`]). Out: a [`Comparison`], printed as a table.
//! Always: a workload is called slower only where the whole interval says so, at a level that all workloads share (Bonferroni): in 99 of 100 comparisons of
//! a program with itself none is. Both the blocks' medians and their fastest tenths are looked at: the first tells what most steps take, the second is
//! seldom disturbed. Runs of different times must also be slower relative to work that never changes, so that a slower machine is no slower program.
//! Never: says `same` where the noise would have hidden a change: it says which change would have been found.

use crate::{
    record::{Block, Run, Series},
    statistics::{self, Shift},
};
use std::fmt;

/// How sure a comparison is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Certainty {
    /// The chance that noise alone lets some workload be called slower (the same again for faster).
    pub alpha: f64,
    /// Changes below this part are not worth a word.
    pub least: f64,
}

impl Default for Certainty {
    /// One comparison in 100 may be wrong; changes from 3 % on count: where memory happens to lie makes as much.
    fn default() -> Certainty {
        Certainty { alpha: 0.01, least: 0.03 }
    }
}

/// What became of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It takes longer, beyond noise.
    Slower,
    /// It takes less, beyond noise.
    Faster,
    /// No change beyond noise; smaller ones than [`Change::detectable`] may be there.
    Same,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Same => "same",
        })
    }
}

/// One workload in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The workload.
    pub name: String,
    /// Milliseconds of a step, before and now.
    pub ms: (f64, f64),
    /// [`Series::spread`], before and now.
    pub spread: (f64, f64),
    /// Now over before, as the statistic that decided has it, and its interval.
    pub ratio: f64,
    /// The interval's ends; 0 and infinity where there are too few blocks.
    pub low: f64,
    /// See `low`.
    pub high: f64,
    /// The smallest slowdown, as a part (0.1 is 10 %), that would have been found in 19 of 20 tries; infinity where none would.
    pub detectable: f64,
    /// What decided: the medians, or the fastest tenths.
    pub by: &'static str,
    /// What became of it.
    pub verdict: Verdict,
}

/// All workloads that both runs have.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// In the second run's order.
    pub changes: Vec<Change>,
    /// Workloads that only one of them has.
    pub missing: Vec<String>,
}

impl Comparison {
    /// What became slower.
    pub fn slower(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.verdict == Verdict::Slower)
    }
}

/// How a block is told by one number, and by which name.
type Statistic = (&'static str, fn(&Block) -> (f64, f64));
const STATISTICS: [Statistic; 2] = [("medians", Block::middle), ("fastest tenths", Block::fast)];

/// Compares a run with a later one.
pub fn compare(before: &Run, now: &Run, certainty: Certainty) -> Comparison {
    pairs(before, now, certainty, |a, b, statistic, alpha| {
        let logs = |series: &Series, relative: bool| -> Vec<f64> {
            let log = |block: &Block| {
                let (own, reference) = statistic(block);
                own.ln() - if relative && reference > 0.0 { reference.ln() } else { 0.0 }
            };
            series.blocks.iter().map(log).collect()
        };
        let shift = |relative| statistics::between(&logs(a, relative), &logs(b, relative), alpha);
        let has_reference = |series: &Series| series.blocks.iter().all(|block| !block.reference.is_empty());
        let own = shift(false);
        if has_reference(a) && has_reference(b) { both(own, shift(true)) } else { own }
    })
}

/// Compares two runs whose blocks were measured in turns: the n-th of one beside the n-th of the other, so that what changes with time cancels.
pub fn compare_pairs(before: &Run, now: &Run, certainty: Certainty) -> Comparison {
    pairs(before, now, certainty, |a, b, statistic, alpha| {
        let differences = a.blocks.iter().zip(&b.blocks).map(|(a, b)| statistic(b).0.ln() - statistic(a).0.ln());
        statistics::paired(&differences.collect::<Vec<_>>(), alpha)
    })
}

/// The shift that both views of the same blocks support. Where the reference explains what blocks differ by, the relative view sees more and is right;
/// elsewhere it must not contradict: what only one of them sees may be noise of the machine, or of the reference.
fn both(own: Shift, relative: Shift) -> Shift {
    let width = |shift: &Shift| shift.high - shift.low;
    if width(&relative) < width(&own) {
        return relative;
    }
    Shift {
        estimate: own.estimate,
        low: own.low.min(relative.low),
        high: own.high.max(relative.high),
        detectable: own.detectable.max(relative.detectable) + (own.estimate - relative.estimate).abs(),
    }
}

fn pairs(
    before: &Run,
    now: &Run,
    certainty: Certainty,
    shift: impl Fn(&Series, &Series, fn(&Block) -> (f64, f64), f64) -> Shift,
) -> Comparison {
    let of = |run: &'_ Run, name: &str| run.series.iter().position(|series| series.name == name);
    let mut missing: Vec<String> = before.series.iter().map(|s| &s.name).filter(|name| of(now, name).is_none()).cloned().collect();
    let common: Vec<(&Series, &Series)> = now
        .series
        .iter()
        .filter_map(|series| {
            let found = of(before, &series.name);
            if found.is_none() {
                missing.push(series.name.clone());
            }
            Some((&before.series[found?], series))
        })
        .collect();
    let alpha = certainty.alpha / (common.len().max(1) * STATISTICS.len()) as f64;
    let changes = common.into_iter().map(|(a, b)| {
        let shifts = STATISTICS.map(|(name, statistic)| (name, shift(a, b, statistic, alpha)));
        change(a, b, shifts, certainty.least.max(0.0).ln_1p())
    });
    Comparison { changes: changes.collect(), missing }
}

fn change(before: &Series, now: &Series, shifts: [(&'static str, Shift); 2], least: f64) -> Change {
    let verdict = |shift: &Shift| match () {
        () if shift.low > 0.0 && shift.estimate >= least => Verdict::Slower,
        () if shift.high < 0.0 && shift.estimate <= -least => Verdict::Faster,
        () => Verdict::Same,
    };
    // A slowdown of one is told before a speedup of the other; among those that say the same, the one that sees more.
    let rank = |(_, shift): &&(&'static str, Shift)| match verdict(shift) {
        Verdict::Slower => 0,
        Verdict::Faster => 1,
        Verdict::Same => 2,
    };
    let [first, second] = &shifts;
    let (by, shift) = match rank(&first).cmp(&rank(&second)) {
        std::cmp::Ordering::Less => first,
        std::cmp::Ordering::Greater => second,
        std::cmp::Ordering::Equal if second.1.detectable < first.1.detectable => second,
        std::cmp::Ordering::Equal => first,
    };
    Change {
        name: now.name.clone(),
        ms: (before.ms(), now.ms()),
        spread: (before.spread(), now.spread()),
        ratio: shift.estimate.exp(),
        low: shift.low.exp(),
        high: shift.high.exp(),
        detectable: shift.detectable.max(least).exp_m1(),
        by,
        verdict: verdict(shift),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<24} {:>11} {:>11} {:>7}  {:<17} {:>15} {:>11}  verdict",
            "workload", "before", "now", "ratio", "interval", "spread", "seen from"
        )?;
        let percent = |part: f64| if part.is_finite() { format!("{:.1} %", 100.0 * part) } else { "nothing".to_owned() };
        for change in &self.changes {
            let end = |end: f64| if end.is_finite() && end > 0.0 { format!("{end:.3}") } else { "?".to_owned() };
            writeln!(
                f,
                "{:<24} {:>8.4} ms {:>8.4} ms {:>7.3}  {:<17} {:>15} {:>11}  {} (by {})",
                change.name,
                change.ms.0,
                change.ms.1,
                change.ratio,
                format!("{} .. {}", end(change.low), end(change.high)),
                format!("{}, {}", percent(change.spread.0), percent(change.spread.1)),
                percent(change.detectable),
                change.verdict,
                change.by,
            )?;
        }
        for name in &self.missing {
            writeln!(f, "{name:<24} only one of the two has it")?;
        }
        Ok(())
    }
}
