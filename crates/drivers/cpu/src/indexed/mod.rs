//! Scans, sorts, scatters and index pooling on the CPU.

use crate::memory::{Buf, Fault};
use unigrad_kernel::{ArgSort, PoolIndex, Scan, Scatter, TopK};

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn scan(_kernel: &Scan, _args: &[Buf]) {}

/// # Safety
/// As for `scan`.
pub(crate) unsafe fn argsort(_kernel: &ArgSort, _args: &[Buf]) {}

/// # Safety
/// As for `scan`.
pub(crate) unsafe fn topk(_kernel: &TopK, _args: &[Buf]) {}

/// # Safety
/// As for `scan`.
pub(crate) unsafe fn scatter(_kernel: &Scatter, _args: &[Buf]) -> Result<(), Fault> {
    Ok(())
}

/// # Safety
/// As for `scan`.
pub(crate) unsafe fn pool_index(_kernel: &PoolIndex, _args: &[Buf]) {}
