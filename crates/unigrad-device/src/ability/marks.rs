//! Points in a device's queue: waited for, asked about, timed.
//!
//! In: a queue. Out: marks after what was given to it so far. A driver implements [`Timeline`] with a type of its own; [`Marks`] is the same with any
//! driver's mark in a box.
//! Always: work given before a mark is done when the mark is; a mark of another driver is an error.

use crate::Error;
use std::any::Any;

/// A point in a device's queue, as its driver made it.
pub type Mark = Box<dyn Any + Send + Sync>;

/// Marks of a driver's own type.
pub trait Timeline: Send + Sync {
    /// A point in the queue.
    type Mark: Any + Send + Sync;

    /// A mark after the work given so far, or `None` where the queue cannot be marked at present.
    fn mark(&self) -> Result<Option<Self::Mark>, Error>;
    /// A mark that is only waited for, never timed: where that costs less.
    fn fence(&self) -> Result<Option<Self::Mark>, Error> {
        self.mark()
    }
    /// Whether the work before a mark is done.
    fn is_done(&self, mark: &Self::Mark) -> Result<bool, Error>;
    /// Waits for the work before a mark.
    fn wait(&self, mark: &Self::Mark) -> Result<(), Error>;
    /// Nanoseconds of device time between two marks; waits for them. 0 where time cannot be measured.
    fn elapsed(&self, from: &Self::Mark, to: &Self::Mark) -> Result<f64, Error>;
    /// Work given from now on waits for a mark of another device of the same backend, or of another queue of this one. False if the driver cannot
    /// do that: then the caller waits on the host.
    fn wait_for_peer(&self, _mark: &Self::Mark) -> Result<bool, Error> {
        Ok(false)
    }
    /// The error of a mark that another driver made.
    fn foreign(&self) -> Error {
        Error::Copy { device: String::new(), cause: "a mark of another backend".to_owned() }
    }
}

/// [`Timeline`], whatever the type of its marks.
pub trait Marks: Send + Sync {
    /// See [`Timeline::mark`].
    fn mark(&self) -> Result<Option<Mark>, Error>;
    /// See [`Timeline::fence`].
    fn fence(&self) -> Result<Option<Mark>, Error>;
    /// See [`Timeline::is_done`].
    fn is_done(&self, mark: &Mark) -> Result<bool, Error>;
    /// See [`Timeline::wait`].
    fn wait(&self, mark: &Mark) -> Result<(), Error>;
    /// See [`Timeline::elapsed`].
    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error>;
    /// See [`Timeline::wait_for_peer`]. A mark of another backend cannot be waited for.
    fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error>;
}

impl<T: Timeline> Marks for T {
    fn mark(&self) -> Result<Option<Mark>, Error> {
        Ok(Timeline::mark(self)?.map(|mark| Box::new(mark) as Mark))
    }

    fn fence(&self) -> Result<Option<Mark>, Error> {
        Ok(Timeline::fence(self)?.map(|mark| Box::new(mark) as Mark))
    }

    fn is_done(&self, mark: &Mark) -> Result<bool, Error> {
        Timeline::is_done(self, mark.downcast_ref().ok_or_else(|| self.foreign())?)
    }

    fn wait(&self, mark: &Mark) -> Result<(), Error> {
        Timeline::wait(self, mark.downcast_ref().ok_or_else(|| self.foreign())?)
    }

    fn elapsed(&self, from: &Mark, to: &Mark) -> Result<f64, Error> {
        let (from, to) = (from.downcast_ref().ok_or_else(|| self.foreign())?, to.downcast_ref().ok_or_else(|| self.foreign())?);
        Timeline::elapsed(self, from, to)
    }

    fn wait_for_peer(&self, mark: &Mark) -> Result<bool, Error> {
        mark.downcast_ref().map_or(Ok(false), |mark| Timeline::wait_for_peer(self, mark))
    }
}
