//! Launches prepared once and run many times; see [`crate::Sequence`].

use crate::{Error, Launch, Prepared, Ran, Run, Stopped};
use std::any::Any;

/// A device that works out once what is the same in every run of some launches.
pub trait Sequences: Send + Sync {
    /// Prepares launches. `temporary` is the entry of a run's table whose contents are not asked for between runs.
    fn prepare(&self, launches: &[Launch], temporary: Option<usize>) -> Result<Prepared, Error>;
    /// Runs launches of a sequence, with what [`Sequences::prepare`] gave (on this queue, or on another one of the device), as if
    /// [`crate::OpenDevice::settle`] were called for what each begins, and [`crate::OpenDevice::launch`] for each.
    fn run(&self, run: &Run<'_>) -> Result<Ran, Stopped>;
    /// As [`crate::OpenDevice::reserve`], for all launches of a sequence.
    fn reserve_for(&self, prepared: &(dyn Any + Send + Sync), launches: &[Launch]) -> Result<(), Error>;
}
