//! Reads for where nothing may wait, as in browsers.

use crate::{Error, Pending, Range};

/// A device that reads without waiting.
pub trait ReadAsync: Send + Sync {
    /// Device to host: the copy is under way when this returns, the future has the bytes. `None` if there is no way at present.
    fn download_async(&self, from: Range) -> Option<Pending<'_, Result<Vec<u8>, Error>>>;
}
