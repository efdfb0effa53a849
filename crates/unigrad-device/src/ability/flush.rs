//! Handing over what was collected.

use crate::Error;

/// A queue that collects work before the hardware gets it.
pub trait Flush: Send + Sync {
    /// Hands queued work to the hardware now.
    fn flush(&self) -> Result<(), Error>;
}
