//! Replays: launches that a driver keeps, and queues by one call again and again (a graph of CUDA's).
//!
//! In: launches in their order, as [`crate::Backend::launch`] and [`crate::Backend::perform`] get them. Out: a recording that queues all of them, and
//! that is changed where a launch's arguments are others than the last time.
//! Always: launches that touch the same memory are ordered as they would be in a queue; those that do not may run side by side.
//! A replay computes what the same launches compute one by one, and is ordered with the queue's other work as they are. Where a replay fails
//! nothing of it is queued, unless the error is [`unigrad_device::Error::Interrupted`] or [`unigrad_device::Error::DeviceLost`].
//! Never: is needed for a result; a driver may refuse to keep a launch, and what it has kept may be dropped at any time.

use crate::{Bound, Range, Taken, Work};
use std::{any::Any, sync::Arc};
use unigrad_device::Error;

/// What a driver keeps for launches. Dropping it ends none that are queued.
pub type Recording = Box<dyn Any + Send>;

/// A launch to be kept.
pub enum Kept<'a, M> {
    /// See [`crate::Backend::launch`].
    Program(&'a Arc<M>, [u32; 3], &'a [Bound]),
    /// See [`crate::Backend::perform`]; the last is the workspace.
    Library(&'a Taken, &'a Work<'a>, Range),
}

/// A backend that keeps launches.
pub trait Replays<M>: Send + Sync {
    /// A recording of nothing.
    fn record(&self) -> Result<Recording, Error>;
    /// Appends a launch, which comes after these, counted from 0, and what they come after: others do not touch what it touches. False: it cannot be
    /// kept, and the recording is of no use.
    fn keep(&self, recording: &mut Recording, launch: Kept<'_, M>, after: &[usize]) -> Result<bool, Error>;
    /// Has a launch, counted from 0, other arguments from the next replay on: the same program on the same grid, or the same work of a library.
    /// False: that is not possible.
    fn change(&self, recording: &mut Recording, at: usize, launch: Kept<'_, M>) -> Result<bool, Error>;
    /// Queues all launches.
    fn replay(&self, recording: &mut Recording) -> Result<(), Error>;
}
