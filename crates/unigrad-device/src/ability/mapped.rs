//! Memory of the host that programs of the device reach where it lies.

use crate::{Error, Range};
use std::{fmt, sync::Arc};

/// A device whose programs read and write memory of the host.
pub trait MappedMemory: Send + Sync {
    /// Gets `words` (> 0) words of 32 bits, all 0, that all queues of the device reach.
    fn map(&self, words: usize) -> Result<Arc<dyn MappedWords>, Error>;
}

/// Words that the host and programs of a device see. Dropping them gives them back; the work that uses them is done then.
pub trait MappedWords: Send + Sync + fmt::Debug {
    /// What programs are given for them.
    fn range(&self) -> Range;
    /// Copies words from `first` on: what programs have written there before the host waited for them. False if there are not so many.
    #[must_use]
    fn read(&self, first: usize, words: &mut [u32]) -> bool;
    /// Writes words from `first` on, for programs that are launched later; none that uses them is under way. False if there are not so many.
    #[must_use]
    fn write(&self, first: usize, words: &[u32]) -> bool;
}
