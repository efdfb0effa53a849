//! Regions on the CPU.

use crate::memory::{Buf, Fault};
use unigrad_kernel::Region;

/// A region, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledRegion {}

impl CompiledRegion {
    /// Prepares a region: picks the loop order and block mode, forms superops, allocates registers.
    pub(crate) fn new(_region: &Region) -> Result<CompiledRegion, String> {
        Err("not here yet".into())
    }

    /// Runs the whole domain over the thread pool.
    ///
    /// # Safety
    /// `args` match the region's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, _args: &[Buf], _scalars: &[u64]) -> Result<(), Fault> {
        Ok(())
    }

    /// Runs part of a map's domain on the calling thread, as the epilogue of a kernel that just made a tile: the points with
    /// row-major linear index `start + r * pitch + c` for `r < rows`, `c < cols`, where `Acc` at `(r, c)` is element
    /// `r * acc_ld + c` of `acc`, in the `Acc` instruction's dtype (a compute dtype).
    ///
    /// # Safety
    /// As for `run`; `acc` covers the tile.
    pub(crate) unsafe fn run_tile(
        &self,
        _args: &[Buf],
        _scalars: &[u64],
        _tile: Tile,
        _acc: *const u8,
        _acc_ld: usize,
    ) -> Result<(), Fault> {
        Ok(())
    }
}

/// Part of a map's domain; see [`CompiledRegion::run_tile`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub(crate) start: usize,
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
}
