//! Memory that other libraries of the process have, and that they are lent.
//!
//! In: addresses and queues as the platform's libraries know them (a CUDA stream's handle). Out: handles of buffers; order between queues.
//! Never: frees what was adopted, or copies.

use crate::{Error, Range};

/// A device whose memory is at addresses that other libraries know.
pub trait Exchange: Send + Sync {
    /// What the address of adopted memory is a multiple of, where programs are to use it; 1 where that of an element will do.
    fn alignment(&self) -> usize;
    /// The handle ([`crate::RawBuffer::handle`]) of memory that begins at `address`; an error where it is not this device's.
    fn adopt(&self, address: u64, bytes: usize) -> Result<u64, Error>;
    /// Where other libraries find the memory.
    fn address(&self, range: Range) -> u64;
    /// This device's queue as other libraries know it; `None` where its work is done when it was given.
    fn queue(&self) -> Option<u64>;
    /// What this queue is given from now on waits for what the other library's queue has.
    fn wait_for_queue(&self, queue: u64) -> Result<(), Error>;
    /// What the other library's queue is given from now on waits for what this one has.
    fn queue_waits(&self, queue: u64) -> Result<(), Error>;
    /// As [`Exchange::wait_for_queue`], of a queue that may not be there any more.
    fn take_back(&self, queue: u64) -> Result<(), Error>;
}
