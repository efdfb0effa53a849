//! Copies from one device to another without the host.

use crate::{Error, Range};
use std::any::Any;

/// A device that reaches other devices' memory.
pub trait Peers: Send + Sync {
    /// Itself, for [`Peers::copy_from_peer`] of another one.
    fn as_any(&self) -> &dyn Any;
    /// Copies from the memory of another device of the same backend, in this device's order. False, and nothing done, if that cannot be had.
    fn copy_from_peer(&self, source: &dyn Any, from: Range, to: Range) -> Result<bool, Error>;
}
