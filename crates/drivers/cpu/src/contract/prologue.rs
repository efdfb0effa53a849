//! Operands that are made while they are packed: elements of a map that are not written to memory.
//!
//! In: which elements, as offsets in what the map would write. Out: these elements in scratch memory, dense, for [`super::pack`].
//! Always: an element has the bits that it would have in memory. Elements that follow each other are made together, along whichever direction
//! has the longer runs. Never: allocates in a repeated launch.

use super::pack::find_runs;
use super::scratch::{PackBuffers, Purpose};
use crate::memory::{Buf, Fault};
use crate::region::{CompiledRegion, Tile};
use crate::simd::Tier;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, Contract};

/// The map of an operand, ready to run.
#[derive(Debug)]
pub(crate) struct Prologue {
    region: CompiledRegion,
    /// The kernel's argument for each buffer that it reads.
    args: Vec<usize>,
    operand: Arg,
}

/// Made elements: where they are, and how far one lane and one step of `k` is from the next.
pub(crate) struct Made {
    pub(crate) at: *const u8,
    pub(crate) lane: i64,
    pub(crate) step: i64,
}

impl Prologue {
    /// The prologue of `a` (0) or `b` (1), if it has one.
    pub(crate) fn new(contract: &Contract, side: usize, tier: Tier) -> Result<Option<Prologue>, String> {
        let Some(region) = &contract.prologues[side] else { return Ok(None) };
        let operand = if side == 0 { contract.a } else { contract.b };
        let stands_for = region.args.last().is_some_and(|arg| arg.write && arg.dtype == operand.dtype && arg.len == operand.len);
        if !stands_for || region.n_parallel != region.axes.len() || !region.scalars.is_empty() || region.args.len() < 2 {
            return Err(format!("prologue {}: it is no map from buffers to the operand", region.name));
        }
        let region = CompiledRegion::on(region, tier)?;
        Ok(Some(Prologue { region, args: contract.prologue_args(side), operand }))
    }

    /// Makes the elements at `base + lanes[i] + steps[k]`.
    ///
    /// # Safety
    /// As for `CompiledContract::run`; the elements are inside the operand.
    pub(crate) unsafe fn make(
        &self,
        args: &[Buf],
        base: i64,
        lanes: &[i64],
        steps: &[i64],
        runs: &mut [Vec<usize>; 2],
        scratch: &mut PackBuffers,
    ) -> Result<Made, Fault> {
        let size = self.operand.dtype.size();
        let at: *mut u8 = scratch.get(Purpose::Made, (lanes.len() * steps.len()).max(1) * size);
        let [of_lanes, of_steps] = runs;
        find_runs(lanes, of_lanes);
        find_runs(steps, of_steps);
        // How many runs there would be either way.
        let along_k = lanes.len() * (of_steps.len() - 1) <= steps.len() * (of_lanes.len() - 1);
        let (outer, inner, runs) = if along_k { (lanes, steps, of_steps) } else { (steps, lanes, of_lanes) };
        let mut bufs: SmallVec<[Buf; 8]> = self.args.iter().map(|arg| args[*arg]).collect();
        bufs.push(Buf { ptr: at, len: self.operand.len, dtype: self.operand.dtype });
        let out = bufs.len() - 1;
        let mut i = 0;
        while i < outer.len() {
            // Rows as far from each other as the first two are one tile.
            let pitch = outer.get(i + 1).map_or(0, |next| next - outer[i]);
            let rows = match usize::try_from(pitch) {
                Ok(1..) => 1 + outer[i..].windows(2).take_while(|pair| pair[1] - pair[0] == pitch).count(),
                _ => 1,
            };
            for run in runs.windows(2).filter(|run| run[0] < run[1]) {
                let start = base + outer[i] + inner[run[0]];
                // The map stores a point at the operand's element: that of `start` is to be here.
                let here = (i * inner.len() + run[0]) as i64 - start;
                bufs[out].ptr = at.wrapping_offset(here as isize * size as isize);
                let tile = Tile { start: start as usize, pitch: pitch.max(0) as usize, rows, cols: run[1] - run[0] };
                // SAFETY: the points are inside the operand, and their elements inside the scratch memory, row after row.
                unsafe { self.region.run_rows_to(&bufs, tile, inner.len())? };
            }
            i += rows;
        }
        let row = inner.len() as i64;
        Ok(if along_k { Made { at, lane: row, step: 1 } } else { Made { at, lane: 1, step: row } })
    }
}
