//! A measurement as it is told at once: one line of a report.

use unigrad_device::Device;

/// One measurement of a report.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A step that was timed.
    Timing {
        /// The workload's name.
        workload: String,
        /// Milliseconds of a step: the median, and the fastest.
        median_ms: f64,
        /// See `median_ms`.
        min_ms: f64,
        /// Steps that were timed.
        reps: usize,
        /// Cores that other processes used meanwhile.
        others: f64,
        /// What a second does, in `unit`.
        throughput: f64,
        /// `GFLOP/s`, `GB/s`, ..
        unit: String,
        /// Sizes, parts of ceilings.
        note: String,
    },
    /// A figure.
    Fact(Fact),
    /// What planning costs.
    Plan {
        /// Nodes of the step's graph.
        nodes: u64,
        /// Its launches.
        launches: u64,
        /// Milliseconds of planning it once.
        cold_ms: f64,
        /// Nanoseconds a node to find the plan again.
        hit_ns_per_node: f64,
        /// Plans that were built where one should have been found.
        plans_built_on_hit: u64,
    },
}

/// A figure with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Its name.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// More about it.
    pub note: String,
}

/// Where work runs, how long, and what hears of it.
pub(crate) struct Report<'a> {
    pub(crate) device: Device,
    /// Seconds spent on one timing.
    pub(crate) seconds: f64,
    pub(crate) patience: &'a crate::Patience,
    pub(crate) hear: &'a dyn Fn(Line),
}

impl Report<'_> {
    /// Tells a timing: `work` units per call.
    pub(crate) fn tell(&self, workload: &str, timing: &crate::timing::Timing, work: f64, unit: &str, note: &str) {
        (self.hear)(Line::Timing {
            workload: workload.to_owned(),
            median_ms: timing.median_ms,
            min_ms: timing.min_ms,
            reps: timing.reps,
            others: timing.others,
            throughput: work / (timing.median_ms * 1e-3),
            unit: unit.to_owned(),
            note: note.to_owned(),
        });
    }
}
