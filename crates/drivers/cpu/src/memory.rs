//! Argument memory as kernels see it.

use unigrad_scalar::DType;

/// One argument of a launch: where it is, how many elements, of what.
///
/// The pointer is aligned to 64 bytes. Kernels may read, and write if the argument says so, `len` elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buf {
    pub(crate) ptr: *mut u8,
    pub(crate) len: usize,
    pub(crate) dtype: DType,
}

// SAFETY: a launch partitions its output among threads; what is shared is only read.
unsafe impl Send for Buf {}
// SAFETY: as above.
unsafe impl Sync for Buf {}

/// Why a launch stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// An index outside `-size..size`.
    Index { index: i64, size: i64 },
}
