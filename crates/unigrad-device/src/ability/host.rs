//! Memory that the host sees.

use crate::Range;

/// A device whose memory is the host's too.
pub trait HostMemory: Send + Sync {
    /// Where the host sees the memory, once the work that uses it is done; `None` where it does not see this one.
    fn host_bytes(&self, range: Range) -> Option<*const u8>;
}
