//! Counts of what evaluation does, for tests and measurements.

use std::sync::atomic::{AtomicU64, Ordering};
use unigrad_device::Device;

pub(super) static PLANS_BUILT: AtomicU64 = AtomicU64::new(0);
pub(super) static PLAN_HITS: AtomicU64 = AtomicU64::new(0);
pub(super) static LAUNCHES: AtomicU64 = AtomicU64::new(0);
pub(super) static UNFUSED: AtomicU64 = AtomicU64::new(0);
pub(super) static NODES: AtomicU64 = AtomicU64::new(0);
pub(super) static LOOKUP_NANOS: AtomicU64 = AtomicU64::new(0);
pub(super) static PLAN_NANOS: AtomicU64 = AtomicU64::new(0);

/// What evaluation has done in this process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Graphs that had to be compiled.
    pub plans_built: u64,
    /// Graphs whose plan was there already.
    pub plan_hits: u64,
    /// Kernel launches.
    pub launches: u64,
    /// Kernels compiled, on all devices.
    pub compiles: u64,
    /// Allocations that reached a driver, on all devices.
    pub allocations: u64,
    /// Plans that could not be fused although that was wanted; their text says why.
    pub plans_unfused: u64,
    /// Graph nodes walked.
    pub nodes: u64,
    /// Nanoseconds spent on walking graphs whose plans were there, and finding these.
    pub lookup_nanos: u64,
    /// Nanoseconds spent on making plans, without compiling their kernels.
    pub plan_nanos: u64,
}

/// Counts since the process began; subtract two to know what a step did.
pub fn stats() -> Stats {
    let mut stats = Stats {
        plans_built: PLANS_BUILT.load(Ordering::Relaxed),
        plan_hits: PLAN_HITS.load(Ordering::Relaxed),
        launches: LAUNCHES.load(Ordering::Relaxed),
        plans_unfused: UNFUSED.load(Ordering::Relaxed),
        nodes: NODES.load(Ordering::Relaxed),
        lookup_nanos: LOOKUP_NANOS.load(Ordering::Relaxed),
        plan_nanos: PLAN_NANOS.load(Ordering::Relaxed),
        ..Stats::default()
    };
    for device in Device::opened() {
        let counters = device.counters();
        stats.compiles += counters.compiles;
        stats.allocations += counters.allocations;
    }
    stats
}
