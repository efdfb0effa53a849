//! Regions on the CPU: a block interpreter over SIMD lanes.
//!
//! In: a region as data, then launches with buffers and scalars. Out: the region's stores.
//! Always: results are the same for any number of threads; splits that change the order of a sum depend on sizes alone.
//! Never: touches memory that the region's indices do not name.
//!
//! Read `program` first (what a region becomes; `lanes` says which points run at once), then `exec` (how that runs), then `kernels` (what a lane computes) and `chain`
//! (several operations at once, as the region spells them; `fused` has the few short patterns with loops of their own).

mod affine;
mod block;
mod bound;
mod chain;
mod convert;
mod definition;
mod encode;
mod exec;
mod float;
mod fold;
mod fold_vectors;
mod form_chains;
mod fused;
mod grouped;
mod kernels;
mod lanes;
mod match_patterns;
mod math;
mod philox;
mod program;
mod reduce;
mod steps;
mod stream;
#[cfg(test)]
mod tests;
mod vector;
mod view;
mod walk;
mod whole_rows;

pub(crate) use grouped::CompiledGrouped;

use crate::memory::{Buf, Fault};
use crate::simd::{Tier, tier};
use crate::task_ptr::TaskPtr;
use crate::threads::{parallel, threads};
use block::Block;
use exec::{AccTile, Frame, TilePart};
use lanes::Lanes;
use program::{BLOCK, BlockProgram, MicroOp, PAD};
use std::sync::Mutex;
use unigrad_kernel::Region;

/// `f(to, from, from, from, n)`: one operation on each of `n` lanes.
pub(crate) type LaneFn = kernels::OpFn;

/// The natural logarithm of lanes of `f64`, or of `f32`.
pub(crate) fn logarithm(double: bool, tier: Tier) -> LaneFn {
    if double { kernels::un_of::<kernels::Log<f64>>(tier) } else { kernels::un_of::<kernels::Log<f32>>(tier) }
}

/// Work, in simple operations, below which another thread costs more than it gives.
const TASK_WORK: usize = 64 * 1024;

/// Bytes written by a launch above which contiguous stores bypass the caches.
const STREAM_BYTES: usize = 24 << 20;

/// Reduce points of one part of a split row, at least.
const SPLIT_WORK: usize = 32 * 1024;

/// Parts of a split row, at most.
const MAX_PARTS: usize = 64;

/// Rows, or blocks of rows, below which long rows are split.
const FEW_ROWS: usize = 16;

/// A region, ready to run.
#[derive(Debug)]
pub(crate) struct CompiledRegion {
    program: BlockProgram,
    /// Above 1, rows are run one after the other, each by all threads in this many parts.
    parts: usize,
    stream: bool,
}

impl CompiledRegion {
    /// Prepares a region: picks what lanes are, forms segments, allocates slots.
    pub(crate) fn new(region: &Region) -> Result<CompiledRegion, String> {
        CompiledRegion::on(region, tier())
    }

    /// As `new`, for an instruction-set tier that the machine has.
    pub(crate) fn on(region: &Region, tier: Tier) -> Result<CompiledRegion, String> {
        let mut program = BlockProgram::new(region, tier, true)?;
        let parts = parts(&program);
        if parts > 1 {
            program = BlockProgram::new(region, tier, false)?;
        }
        let points = program.rows.saturating_mul(program.row_len);
        let written = region.args.iter().filter(|arg| arg.write).map(|arg| arg.len.min(points) * arg.dtype.size()).sum::<usize>();
        Ok(CompiledRegion { program, parts, stream: written > STREAM_BYTES })
    }

    /// Runs the whole domain over the thread pool.
    ///
    /// # Safety
    /// `args` match the region's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
    pub(crate) unsafe fn run(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        let program = &self.program;
        if program.rows == 0 {
            return Ok(());
        }
        if self.parts > 1 {
            // SAFETY: passed on.
            return unsafe { self.run_split(args, scalars) };
        }
        let work = program.rows.saturating_mul(program.row_len.max(1)).saturating_mul(program.weight);
        let n_threads = threads().min(work / TASK_WORK).max(1);
        // A few tasks per thread even out what else the machine does, where they are long enough.
        let n_tasks = if n_threads > 1 { n_threads * (work / n_threads / (TASK_WORK * 16)).clamp(1, 4) } else { 1 };
        let unit = match program.lanes {
            Lanes::Rows => PAD,
            Lanes::Elements | Lanes::WholeRows => program.rows_at_once,
        };
        let units = program.rows.div_ceil(unit);
        if program.rows == 0 {
            return Ok(());
        }
        let n_tasks = n_tasks.min(units);
        if n_tasks <= 1 {
            // SAFETY: passed on.
            return unsafe { self.run_rows(args, scalars, 0, program.rows) };
        }
        let fault = Mutex::new(None);
        parallel(n_tasks, &|t| {
            let (start, end) = (units * t / n_tasks * unit, (units * (t + 1) / n_tasks * unit).min(program.rows));
            // SAFETY: passed on; tasks run disjoint rows.
            if let Err(error) = unsafe { self.run_rows(args, scalars, start, end) } {
                keep_first(&fault, t, error);
            }
        });
        result(fault)
    }

    /// # Safety
    /// As for `run`, for these rows.
    unsafe fn run_rows(&self, args: &[Buf], scalars: &[u64], start: usize, end: usize) -> Result<(), Fault> {
        let program = &self.program;
        // SAFETY: passed on.
        unsafe {
            let mut frame = Frame::new(program, args, scalars, self.stream);
            frame.uniform()?;
            frame.all_rows(start, end)?;
        }
        if self.stream {
            stream::fence();
        }
        Ok(())
    }

    /// Few and long rows: one row (or block of rows) after the other, pass by pass, each pass in parts over the pool.
    ///
    /// # Safety
    /// As for `run`.
    unsafe fn run_split(&self, args: &[Buf], scalars: &[u64]) -> Result<(), Fault> {
        let program = &self.program;
        let step = if program.lanes == Lanes::Rows { BLOCK } else { 1 };
        // SAFETY: passed on; parts of a pass write disjoint elements and share the owner's row values, which nothing writes meanwhile.
        unsafe {
            let mut owner = Frame::new(program, args, scalars, false);
            owner.uniform()?;
            for row in (0..program.rows).step_by(step) {
                let n = step.min(program.rows - row);
                for segment in 0..program.row.len() {
                    owner.row_segment(segment, row, n)?;
                    let Some(pass) = program.passes.get(segment) else { continue };
                    let size = owner.partial_size(&pass.reductions, n).div_ceil(8).max(1);
                    let mut partials = vec![0u64; size * self.parts];
                    let to = TaskPtr::new(partials.as_mut_ptr());
                    let fault = Mutex::new(None);
                    let rows = TaskPtr::new(std::ptr::from_ref(&owner).cast_mut());
                    parallel(self.parts, &|part| {
                        let mut frame = Frame::new(program, args, scalars, self.stream);
                        frame.borrow_rows(&*rows.get(), &pass.reductions);
                        let (start, end) = part_range(program, part, self.parts);
                        frame.begin(&pass.reductions, n);
                        match frame.pass(segment, row, n, start..end) {
                            Ok(()) => frame.save(&pass.reductions, n, to.get().add(part * size).cast()),
                            Err(error) => keep_first(&fault, part, error),
                        }
                        if self.stream {
                            stream::fence();
                        }
                    });
                    result(fault)?;
                    owner.begin(&pass.reductions, n);
                    for part in 0..self.parts {
                        owner.combine(&pass.reductions, n, partials.as_ptr().add(part * size).cast());
                    }
                    owner.finish(&pass.reductions, n);
                }
            }
        }
        Ok(())
    }

    /// Runs part of a map's domain on the calling thread, as the epilogue of a kernel that just made a tile: the points with
    /// row-major linear index `start + r * pitch + c` for `r < rows`, `c < cols`, where `Acc` at `(r, c)` is element
    /// `r * acc_ld + c` of `acc`, in the `Acc` instruction's dtype (a compute dtype).
    ///
    /// # Safety
    /// As for `run`; `acc` covers the tile.
    pub(crate) unsafe fn run_tile(&self, args: &[Buf], scalars: &[u64], tile: Tile, acc: *const u8, acc_ld: usize) -> Result<(), Fault> {
        // SAFETY: passed on.
        unsafe { self.run_part(args, scalars, tile, None, AccTile { ptr: acc, ld: acc_ld, room: 0 }) }
    }

    /// Loads and stores of a point of a map.
    pub(crate) fn moves(&self) -> usize {
        self.program.row.first().into_iter().flatten().filter(|step| matches!(step, MicroOp::Load(_) | MicroOp::Store(_))).count()
    }

    /// As [`run_tile`](CompiledRegion::run_tile), for a map without `Acc` whose results are not where it says: rows of results are `pitch` points
    /// apart, not as far as the tile's rows.
    ///
    /// # Safety
    /// As for `run_tile`; the map stores at contiguous points.
    pub(crate) unsafe fn run_rows_to(&self, args: &[Buf], tile: Tile, pitch: usize) -> Result<(), Fault> {
        let acc = AccTile { ptr: std::ptr::null(), ld: 0, room: 0 };
        // SAFETY: passed on.
        unsafe { self.run_part(args, &[], tile, Some(pitch), acc) }
    }

    /// # Safety
    /// As for `run_tile` and `run_rows_to`.
    unsafe fn run_part(&self, args: &[Buf], scalars: &[u64], tile: Tile, stored: Option<usize>, acc: AccTile) -> Result<(), Fault> {
        if tile.rows == 0 || tile.cols == 0 {
            return Ok(());
        }
        let program = &self.program;
        // SAFETY: passed on.
        unsafe {
            let mut frame = Frame::new(program, args, scalars, false);
            frame.uniform()?;
            let (tile, acc) = match stored {
                // Blocks of any length then, and not of whole rows only, whose lanes may be no whole vectors: those are copied to and fro.
                None if tile.pitch == tile.cols && acc.ld == tile.cols && program.is_one_run(tile) => {
                    let cols = tile.rows * tile.cols;
                    (Tile { rows: 1, cols, pitch: cols, ..tile }, AccTile { ld: cols, ..acc })
                }
                _ => (tile, acc),
            };
            let cols = tile.cols.min(program.block);
            let rows = rows_of_block(program.block, cols);
            for c in (0..tile.cols).step_by(cols) {
                let cols = cols.min(tile.cols - c);
                frame.begin_tile(Tile { start: tile.start + c, cols, ..tile }, stored);
                for r in (0..tile.rows).step_by(rows) {
                    let block = Block::tile(tile.start + r * tile.pitch + c, rows.min(tile.rows - r), cols, tile.pitch);
                    let at = r * acc.ld + c;
                    // Up to the end of the last row of sums.
                    let room = ((tile.rows - 1) * acc.ld + tile.cols).saturating_sub(at);
                    let acc = AccTile { ptr: acc.ptr.wrapping_add(at * program.acc_size), room, ..acc };
                    frame.tile(block, TilePart { acc, row: r })?;
                }
            }
        }
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

/// Rows of a tile's blocks, of so many columns: a number that makes whole vectors, if there is one.
fn rows_of_block(lanes: usize, cols: usize) -> usize {
    let most = (lanes / cols).max(1);
    let whole = (1..=most).find(|rows| (rows * cols).is_multiple_of(PAD)).unwrap_or(1);
    most / whole * whole
}

/// In how many parts a pass over a row runs: a function of sizes alone.
fn parts(program: &BlockProgram) -> usize {
    if program.passes.is_empty() {
        return 1;
    }
    let (groups, lanes) = match program.lanes {
        Lanes::WholeRows => return 1,
        Lanes::Elements => (program.rows, 1),
        Lanes::Rows => (program.rows.div_ceil(BLOCK), program.rows.min(BLOCK)),
    };
    if groups >= FEW_ROWS {
        return 1;
    }
    let parts = program.row_len.saturating_mul(lanes) / SPLIT_WORK;
    // A part of fewer points than this spends its time in setup.
    parts.min(program.row_len / 16).clamp(1, MAX_PARTS)
}

/// The reduce points of a part: whole blocks, in order.
fn part_range(program: &BlockProgram, part: usize, parts: usize) -> (usize, usize) {
    let unit = if program.lanes == Lanes::Elements { program.block } else { 1 };
    let units = program.row_len.div_ceil(unit);
    ((units * part / parts * unit).min(program.row_len), (units * (part + 1) / parts * unit).min(program.row_len))
}

/// Keeps the fault of the lowest task, so that what is reported does not depend on timing.
fn keep_first(slot: &Mutex<Option<(usize, Fault)>>, task: usize, fault: Fault) {
    let mut slot = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if slot.as_ref().is_none_or(|(first, _)| task < *first) {
        *slot = Some((task, fault));
    }
}

fn result(slot: Mutex<Option<(usize, Fault)>>) -> Result<(), Fault> {
    match slot.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        Some((_, fault)) => Err(fault),
        None => Ok(()),
    }
}
