//! How many threads a device takes.

/// A device that computes with threads of the process.
pub trait Threads: Send + Sync {
    /// Sets how many threads it may use.
    fn set_threads(&self, threads: usize);
}
