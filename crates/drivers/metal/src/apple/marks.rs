//! Marks: points in the queue, and the time at which the device reached them.
//!
//! Metal tells when the GPU ended a command buffer, in seconds of the host's clock. A mark is reached when all that was queued before it has
//! ended, and not before it was placed.

use super::commands::Commands;
use std::sync::Arc;

/// A point in the queue.
pub struct Mark {
    /// Seconds of the system's uptime at which it was placed, or everything known to be done had ended.
    pub(super) since: f64,
    /// What was queued before it and was not known to be done.
    pub(super) pending: Vec<Arc<Commands>>,
}

/// Seconds of the system's uptime: the clock of Metal's times.
pub(super) fn now() -> f64 {
    /// Does not count while the system sleeps, as `mach_absolute_time`.
    const CLOCK_UPTIME_RAW: u32 = 8;
    unsafe extern "C" {
        fn clock_gettime_nsec_np(clock: u32) -> u64;
    }
    // SAFETY: a function of the system's C library, which every program there is linked with; it takes a number and gives one.
    let nanoseconds = unsafe { clock_gettime_nsec_np(CLOCK_UPTIME_RAW) };
    nanoseconds as f64 * 1e-9
}

impl Mark {
    pub(super) fn is_done(&self) -> bool {
        self.pending.iter().all(|commands| commands.is_done())
    }

    pub(super) fn wait(&self) {
        self.pending.iter().for_each(|commands| commands.wait());
    }

    /// Seconds of the system's uptime at which it was reached; it was waited for.
    pub(super) fn reached(&self) -> f64 {
        self.pending.iter().map(|commands| commands.ended()).fold(self.since, f64::max)
    }
}
