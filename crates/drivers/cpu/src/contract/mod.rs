//! Contractions on the CPU.

use crate::memory::{Buf, Fault};
use unigrad_kernel::Contract;

/// A contraction, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledContract {}

impl CompiledContract {
    /// Prepares it: orientation, blocking, offset tables, the epilogue's program.
    pub(crate) fn new(_contract: &Contract) -> Result<CompiledContract, String> {
        Err("not here yet".into())
    }

    /// Runs it over the thread pool.
    ///
    /// # Safety
    /// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, _args: &[Buf], _scalars: &[u64]) -> Result<(), Fault> {
        Ok(())
    }
}
