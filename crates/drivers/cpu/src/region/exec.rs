//! The executor: segments of a program over blocks of lanes.
//!
//! In: a program, the launch's buffers and scalars, and which part of the domain to run. Out: the stores of that part.
//! Always: a block's lanes are computed by the same kernels wherever the block starts; masked-off and padding lanes never
//! touch memory of the launch.
//! Never: allocates in the steady state: scratch memory belongs to the thread and grows once.

use super::Tile;
use super::block::{Block, Repeats};
use super::bound::{self, BoundPass};
use super::encode::lane_bits;
use super::kernels::{self, Ty};
use super::lanes::Lanes;
use super::philox;
use super::program::{Access, Accumulator, BlockProgram, Home, LONG_RUN, Load, MicroOp, Outer, PAD, Reduction, Slot, Store, Summand};
use super::view::View;
use super::walk::{self, Walk};
use crate::memory::{Buf, Fault};
use std::cell::RefCell;
use unigrad_scalar::Literal;

/// Finished sums for `Acc`: element `(r, c)` of a block at `r * ld + c`.
#[derive(Clone, Copy)]
pub(super) struct AccTile {
    pub(super) ptr: *const u8,
    pub(super) ld: usize,
    /// Elements that may be read from `ptr` on.
    pub(super) room: usize,
}

/// A block of a tile: its sums, and its first row in the tile.
#[derive(Clone, Copy)]
pub(super) struct TilePart {
    pub(super) acc: AccTile,
    pub(super) row: usize,
}

/// Memory of one thread for one launch, 64-byte aligned.
#[derive(Default)]
struct BlockMemory {
    lines: Vec<Line>,
    ptrs: Vec<*mut u8>,
    offsets: Vec<i64>,
    /// Elements that a block's lanes are several times each.
    repeated: Vec<Line>,
    /// Of the tile that runs, by step: where what it reads or writes lies, if that is a walk.
    walks: Vec<Option<Walk>>,
}

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

thread_local! {
    /// Several, as a launch may run inside another one's task.
    static SCRATCH: RefCell<Vec<BlockMemory>> = const { RefCell::new(Vec::new()) };
}

/// A program on one thread: its slots, bound to a launch.
pub(super) struct Frame<'a> {
    pub(super) program: &'a BlockProgram,
    args: &'a [Buf],
    scalars: &'a [u64],
    scratch: BlockMemory,
    /// Whether contiguous stores bypass the caches.
    stream: bool,
    /// Arguments (by bit) that share memory with another one: what is computed there early would be read in its stead.
    shared: u64,
    /// Where the passes over a row find the launch's memory, if that may be used where it lies.
    bound: &'a [BoundPass],
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        let scratch = std::mem::take(&mut self.scratch);
        // Nothing to keep if the thread is going away.
        let _ = SCRATCH.try_with(|pool| pool.borrow_mut().push(scratch));
    }
}

impl<'a> Frame<'a> {
    /// # Safety
    /// `args` and `scalars` match the region for as long as the frame lives.
    pub(super) unsafe fn new(program: &'a BlockProgram, args: &'a [Buf], scalars: &'a [u64], stream: bool) -> Frame<'a> {
        let mut scratch = SCRATCH.with(|pool| pool.borrow_mut().pop()).unwrap_or_default();
        let lines = program.scratch.div_ceil(64);
        if scratch.lines.len() < lines {
            scratch.lines.resize(lines, Line([0; 64]));
        }
        if scratch.offsets.len() < program.block {
            scratch.offsets.resize(program.block, 0);
        }
        scratch.ptrs.clear();
        let base = scratch.lines.as_mut_ptr().cast::<u8>();
        scratch.ptrs.extend(program.slots.iter().map(|slot| base.wrapping_add(slot.offset)));
        let mut shared = 0;
        for (i, arg) in args.iter().enumerate().take(64) {
            if args.iter().enumerate().any(|(j, other)| i != j && other.ptr == arg.ptr) {
                shared |= 1 << i;
            }
        }
        let mut frame = Frame { program, args, scalars, scratch, stream, shared, bound: &[] };
        let there = |m: &bound::Moving| !frame.is_shared(m.arg) && args[m.arg as usize].len > 0 && !(m.write && stream);
        if program.bound.iter().flat_map(|pass| &pass.moving).all(there) {
            frame.bound = &program.bound;
        }
        frame
    }

    fn is_shared(&self, arg: u32) -> bool {
        arg >= 64 || self.shared >> arg & 1 == 1
    }

    #[inline]
    fn ptr(&self, slot: u32) -> *mut u8 {
        self.scratch.ptrs[slot as usize]
    }

    fn home(&self, slot: u32) -> *mut u8 {
        let base = self.scratch.lines.as_ptr().cast::<u8>().cast_mut();
        base.wrapping_add(self.program.slots[slot as usize].offset)
    }

    /// Evaluates what is the same at every point, and in every row.
    ///
    /// # Safety
    /// The launch's memory is as promised to `new`.
    pub(super) unsafe fn uniform(&mut self) -> Result<(), Fault> {
        let program = self.program;
        // SAFETY: passed on.
        unsafe {
            self.segment(&program.uniform, Block::point(0), None)?;
            if program.columns.is_empty() {
                return Ok(());
            }
            self.segment(&program.columns, Block::whole_rows(0, program.rows_at_once.min(program.rows), program.row_len), None)
        }
    }

    /// Uses another frame's uniform and row values, but accumulates `reductions` in its own memory.
    pub(super) fn borrow_rows(&mut self, owner: &Frame<'_>, reductions: &[Reduction]) {
        for (slot, info) in self.program.slots.iter().enumerate() {
            if info.home != Home::Full {
                self.scratch.ptrs[slot] = owner.scratch.ptrs[slot];
            }
        }
        for r in reductions {
            let extra = match r.how {
                Accumulator::Lanes { outer: Some(outer), .. } => outer.slot,
                Accumulator::Arg { best, .. } => best,
                Accumulator::Fold { .. } | Accumulator::Lanes { outer: None, .. } => r.acc,
            };
            for slot in [r.acc, extra] {
                self.scratch.ptrs[slot as usize] = self.home(slot);
            }
        }
    }

    /// Runs `n` rows from `row` on: one if lanes are elements.
    ///
    /// # Safety
    /// The launch's memory is as promised to `new`, and these rows are this thread's.
    pub(super) unsafe fn rows(&mut self, row: usize, n: usize) -> Result<(), Fault> {
        let program = self.program;
        // SAFETY: passed on.
        unsafe {
            for (pass, steps) in program.row.iter().enumerate() {
                if (1..program.passes.len()).contains(&pass) {
                    self.prefetch(row, pass);
                }
                if !steps.is_empty() {
                    self.light(steps, self.row_block(row, n))?;
                }
                if let Some(p) = program.passes.get(pass) {
                    self.begin(&p.reductions, n);
                    self.pass(pass, row, n, 0..program.row_len)?;
                    self.finish(&p.reductions, n);
                }
            }
        }
        Ok(())
    }

    /// Runs rows `start..end`.
    ///
    /// # Safety
    /// As for `rows`.
    pub(super) unsafe fn all_rows(&mut self, start: usize, end: usize) -> Result<(), Fault> {
        let program = self.program;
        let step = program.rows_at_once;
        let long = if program.roomless { LONG_RUN } else { end - start };
        for first in (start..end).step_by(long.max(1)) {
            let last = end.min(first + long);
            // SAFETY: passed on.
            unsafe {
                if !program.roomless || !self.long_run(first, last - first)? {
                    (first..last).step_by(step).try_for_each(|row| self.rows(row, step.min(last - row)))?;
                }
            }
        }
        Ok(())
    }

    /// Runs `n` points at once, more than a block has, if each step finds them in one run. Whether it did.
    ///
    /// # Safety
    /// As for `rows`.
    unsafe fn long_run(&mut self, row: usize, n: usize) -> Result<bool, Fault> {
        let program = self.program;
        let block = Block::rows(row, 0, n);
        let is_run =
            |at: &Access| self.args[at.arg as usize].len > 0 && !self.is_shared(at.arg) && self.contiguous(at, block, None).is_some();
        let there = |step: &MicroOp| match step {
            MicroOp::Load(load) => is_run(&load.at),
            MicroOp::Store(store) => is_run(&store.at),
            MicroOp::Direct(store) => !self.stream && is_run(&store.at),
            // Only what computes in that memory is in such a program; see `bound`.
            MicroOp::Op { .. }
            | MicroOp::Fused(_)
            | MicroOp::Chain(_)
            | MicroOp::Splat { .. }
            | MicroOp::Spread { .. }
            | MicroOp::FoldRows { .. }
            | MicroOp::Const { .. }
            | MicroOp::Scalar { .. }
            | MicroOp::Index { .. }
            | MicroOp::Acc { .. }
            | MicroOp::Bounded { .. }
            | MicroOp::Philox { .. } => true,
        };
        if block.padded() != n || !program.row[0].iter().all(there) {
            return Ok(false);
        }
        // SAFETY: passed on; no step needs room, for each load is used where it lies and each result made where it goes.
        unsafe { self.segment(&program.row[0], block, None)? };
        Ok(true)
    }

    /// Brings a share of what the first pass over a later row loads near, while the passes over this row compute. Processors look ahead by
    /// themselves only within a page, which often is a row.
    fn prefetch(&self, row: usize, pass: usize) {
        let shares = self.program.passes.len() - 1;
        for m in &self.program.ahead {
            let bytes = self.program.row_len * m.size;
            let (from, to) = (bytes * (pass - 1) / shares, bytes * pass / shares);
            let ahead = (AHEAD_BYTES / bytes.max(1)).clamp(1, MAX_AHEAD);
            let at = m.at(self.args[m.arg as usize].ptr, row + ahead, 0).wrapping_add(from);
            super::stream::prefetch(at, to - from, bytes <= AHEAD_BYTES);
        }
    }

    /// The lanes of a row segment.
    fn row_block(&self, row: usize, n: usize) -> Block {
        match self.program.lanes {
            Lanes::Rows => Block::rows(row, 0, n),
            Lanes::WholeRows => Block::heads(row, n),
            Lanes::Elements => Block::point(row),
        }
    }

    /// Runs one row segment.
    ///
    /// # Safety
    /// As for `rows`.
    pub(super) unsafe fn row_segment(&mut self, segment: usize, row: usize, n: usize) -> Result<(), Fault> {
        let program = self.program;
        // SAFETY: passed on.
        unsafe { self.segment(&program.row[segment], self.row_block(row, n), None) }
    }

    /// Finds where a tile's points lie. Its blocks come next, from its first row on. With `stored`, rows of what is stored are so far apart.
    pub(super) fn begin_tile(&mut self, tile: Tile, stored: Option<usize>) {
        let Tile { start, pitch, rows, cols } = tile;
        let walk = |step: &MicroOp| {
            let walk = Walk::new(step.points()?, start, pitch, rows, cols)?;
            Some(match (step, stored) {
                (MicroOp::Store(_) | MicroOp::Direct(_), Some(pitch)) => Walk { row: pitch as i64 * walk.col, ..walk },
                _ => walk,
            })
        };
        let walks = &mut self.scratch.walks;
        walks.clear();
        walks.extend(self.program.row[0].iter().map(walk));
    }

    /// Runs part of a map's domain with an accumulator tile.
    ///
    /// # Safety
    /// As for `rows`; `begin_tile` was for the tile that the block is of, and the part's sums cover the block.
    pub(super) unsafe fn tile(&mut self, block: Block, part: TilePart) -> Result<(), Fault> {
        let program = self.program;
        // SAFETY: passed on.
        unsafe { self.segment(&program.row[0], block, Some(part)) }
    }

    /// Runs a pass over reduce points `range` and accumulates.
    ///
    /// # Safety
    /// As for `rows`.
    pub(super) unsafe fn pass(&mut self, pass: usize, row: usize, n: usize, range: std::ops::Range<usize>) -> Result<(), Fault> {
        let program = self.program;
        let bound = self.bound.get(pass);
        let pass = &program.passes[pass];
        // SAFETY: passed on.
        unsafe {
            match program.lanes {
                Lanes::Elements => {
                    let mut k = range.start;
                    while k < range.end {
                        let block = Block::elements(row, k, program.block.min(range.end - k));
                        match bound {
                            Some(bound) => {
                                self.place(bound, row, k);
                                bound.rest.iter().try_for_each(|rest| self.light(&pass.steps[rest.clone()], block))?;
                            }
                            None => self.segment(&pass.steps, block, None)?,
                        }
                        for reduction in &pass.reductions {
                            self.accumulate(reduction, block.cols, k);
                        }
                        k += block.cols;
                    }
                }
                Lanes::WholeRows => self.segment(&pass.steps, Block::whole_rows(row, n, program.row_len), None)?,
                Lanes::Rows => {
                    let start = range.start;
                    for k in range {
                        self.segment(&pass.steps, Block::rows(row, k, n), None)?;
                        for reduction in &pass.reductions {
                            self.accumulate(reduction, n, k);
                            if (k + 1 - start).is_multiple_of(FLUSH) {
                                self.flush(reduction, n);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sets accumulators to their identities.
    pub(super) fn begin(&mut self, reductions: &[Reduction], n: usize) {
        for r in reductions {
            let value = std::ptr::from_ref(&r.init).cast::<u8>();
            let fill = |ty: Ty, d: *mut u8, n: usize| {
                // SAFETY: accumulators have room for `n` lanes of their type; a literal has at least a lane's bytes, low first.
                unsafe { kernels::splat(ty, crate::simd::Tier::Baseline)(d, value, value, value, n) }
            };
            let n = self.lanes(n);
            match r.how {
                // SAFETY: a scalar slot has 16 bytes. The second number is what a sum of `f64` has lost.
                Accumulator::Fold { .. } => unsafe { self.ptr(r.acc).cast::<[u64; 2]>().write_unaligned([r.init; 2]) },
                Accumulator::Lanes { ty, outer, .. } => {
                    fill(ty, self.ptr(r.acc), n);
                    outer.iter().for_each(|outer| fill(ty, self.ptr(outer.slot), 2 * n));
                }
                Accumulator::Arg { ty, best, .. } => {
                    fill(ty, self.ptr(best), n);
                    // SAFETY: the result has room for `n` lanes of `I64`.
                    unsafe { self.ptr(r.acc).write_bytes(0, n * 8) };
                }
            }
        }
    }

    fn lanes(&self, n: usize) -> usize {
        if self.program.lanes == Lanes::Rows { n } else { 1 }
    }

    /// Takes a block into an accumulator.
    ///
    /// # Safety
    /// The argument's lanes are evaluated.
    unsafe fn accumulate(&self, r: &Reduction, n: usize, k: usize) {
        let (acc, a) = (self.ptr(r.acc), self.ptr(r.arg));
        // SAFETY: slots have room for a block, or are one number where the kernel wants one.
        unsafe {
            match (&r.sum, &r.how) {
                (Some(Summand::Pattern(sum)), _) => return sum.run(n, acc, a, |slot| self.ptr(slot)),
                (Some(Summand::Chain(chain)), Accumulator::Fold { f, .. }) => return chain.run_sum(n, *f, acc, |slot| self.ptr(slot)),
                _ => {}
            }
            match r.how {
                Accumulator::Fold { f, .. } | Accumulator::Lanes { f, .. } => f(acc, a, a, a, n),
                Accumulator::Arg { f, best, .. } => f(self.ptr(best), acc.cast(), a, n, k as i64),
            }
        }
    }

    /// Moves a lane accumulator's partial result outward.
    ///
    /// # Safety
    /// The accumulators are set.
    unsafe fn flush(&self, r: &Reduction, n: usize) {
        let Accumulator::Lanes { ty, outer: Some(outer), .. } = r.how else { return };
        let (acc, value) = (self.ptr(r.acc), std::ptr::from_ref(&r.init).cast::<u8>());
        // SAFETY: both have room for `n` lanes.
        unsafe {
            (outer.carry)(self.ptr(outer.slot), acc, acc, acc, n);
            kernels::splat(ty, crate::simd::Tier::Baseline)(acc, value, value, value, n);
        }
    }

    /// Turns accumulators into results.
    pub(super) fn finish(&mut self, reductions: &[Reduction], n: usize) {
        for r in reductions {
            let (acc, out) = (self.ptr(r.acc), self.ptr(r.out));
            // SAFETY: slots have room for `n` lanes, or are one number each.
            unsafe {
                match r.how {
                    Accumulator::Fold { finish: Some(f), .. } => f(out, acc, acc, acc, 1),
                    Accumulator::Fold { ty, .. } => std::ptr::copy_nonoverlapping(acc, out, ty.size()),
                    Accumulator::Lanes { outer: Some(outer), .. } => self.settle(&outer, acc, out, n),
                    Accumulator::Lanes { .. } | Accumulator::Arg { .. } => {}
                }
            }
        }
    }

    /// Ends lane sums: what is in `acc` goes outward, and all of it to `to`.
    ///
    /// # Safety
    /// Both have room for `n` lanes, and the accumulators are set.
    unsafe fn settle(&self, outer: &Outer, acc: *const u8, to: *mut u8, n: usize) {
        let sums = self.ptr(outer.slot);
        // SAFETY: the caller's promise; the outer slot has twice as many.
        unsafe {
            (outer.carry)(sums, acc, acc, acc, n);
            (outer.settle)(to, sums, sums, sums, n);
        }
    }

    /// Bytes of one partial result of these reductions, for `n` lanes.
    pub(super) fn partial_size(&self, reductions: &[Reduction], n: usize) -> usize {
        reductions.len() * 2 * 8 * self.lanes(n)
    }

    /// Copies the accumulators out.
    ///
    /// # Safety
    /// `to` has room for `partial_size` bytes and is aligned to 8.
    pub(super) unsafe fn save(&self, reductions: &[Reduction], n: usize, to: *mut u8) {
        let bytes = 8 * self.lanes(n);
        for (i, r) in reductions.iter().enumerate() {
            // SAFETY: as promised; slots hold at least that much.
            unsafe {
                let to = to.add(i * 2 * bytes);
                match r.how {
                    Accumulator::Fold { .. } => std::ptr::copy_nonoverlapping(self.ptr(r.acc), to, 16),
                    Accumulator::Lanes { ty, outer, .. } => {
                        let acc = self.ptr(r.acc);
                        if let Some(outer) = outer {
                            self.settle(&outer, acc, acc, n);
                        }
                        std::ptr::copy_nonoverlapping(acc, to, ty.size() * n);
                    }
                    Accumulator::Arg { ty, best, .. } => {
                        std::ptr::copy_nonoverlapping(self.ptr(r.acc), to, bytes);
                        std::ptr::copy_nonoverlapping(self.ptr(best), to.add(bytes), ty.size() * self.lanes(n));
                    }
                }
            }
        }
    }

    /// Takes saved accumulators into this frame's, which come before them in the reduce order.
    ///
    /// # Safety
    /// `from` was written by `save` with the same `n`.
    pub(super) unsafe fn combine(&mut self, reductions: &[Reduction], n: usize, from: *const u8) {
        let bytes = 8 * self.lanes(n);
        for (i, r) in reductions.iter().enumerate() {
            let acc = self.ptr(r.acc);
            // SAFETY: as promised.
            unsafe {
                let from = from.add(i * 2 * bytes);
                match r.how {
                    Accumulator::Fold { combine, .. } => combine(acc, from, from, from, 1),
                    Accumulator::Lanes { outer: Some(outer), .. } => (outer.carry)(self.ptr(outer.slot), from, from, from, n),
                    Accumulator::Lanes { f, .. } => f(acc, from, from, from, n),
                    Accumulator::Arg { join, best, .. } => join(self.ptr(best), acc.cast(), from.add(bytes), from.cast(), self.lanes(n)),
                }
            }
        }
    }

    /// Points kept values at what is theirs from element `k` of a row on.
    #[inline]
    fn keep(&mut self, k: usize) {
        for &(slot, offset, size) in &self.program.kept {
            let base = self.scratch.lines.as_mut_ptr().cast::<u8>();
            self.scratch.ptrs[slot as usize] = base.wrapping_add(offset + k * size);
        }
    }

    /// Points slots at the launch's memory, from element `k` of a row on.
    #[inline]
    fn place(&mut self, bound: &BoundPass, row: usize, k: usize) {
        self.keep(k);
        for m in &bound.moving {
            self.scratch.ptrs[m.slot as usize] = m.at(self.args[m.arg as usize].ptr, row, k);
        }
    }

    /// As `segment`, with less around the steps that only compute, which a row often has alone.
    ///
    /// # Safety
    /// As for `segment`.
    #[inline]
    unsafe fn light(&mut self, steps: &[MicroOp], block: Block) -> Result<(), Fault> {
        let (padded, of_operation) = (block.padded(), block.of_operation());
        for (at, step) in steps.iter().enumerate() {
            // SAFETY: as in `segment`.
            unsafe {
                match step {
                    MicroOp::Op { f, d, a, b, c } => f(self.ptr(*d), self.ptr(*a), self.ptr(*b), self.ptr(*c), of_operation),
                    MicroOp::Fused(fused) => fused.run(padded, |slot| self.ptr(slot)),
                    MicroOp::Chain(_)
                    | MicroOp::Splat { .. }
                    | MicroOp::Spread { .. }
                    | MicroOp::FoldRows { .. }
                    | MicroOp::Const { .. }
                    | MicroOp::Scalar { .. }
                    | MicroOp::Index { .. }
                    | MicroOp::Acc { .. }
                    | MicroOp::Load(_)
                    | MicroOp::Direct(_)
                    | MicroOp::Store(_)
                    | MicroOp::Bounded { .. }
                    | MicroOp::Philox { .. } => {
                        return self.segment(&steps[at..], block, None);
                    }
                }
            }
        }
        Ok(())
    }

    /// Runs steps on a block.
    ///
    /// # Safety
    /// The block lies in the domain, and what the steps write is this thread's.
    unsafe fn segment(&mut self, steps: &[MicroOp], block: Block, part: Option<TilePart>) -> Result<(), Fault> {
        let n = block.n();
        let (padded, of_operation) = (block.padded(), block.of_operation());
        // Memory of the launch may be read and written directly only if no padding lane reaches beyond it.
        let exact = n == padded && (part.is_some() || block.is_in_order());
        if block.is_of_one_row() {
            self.keep(block.k);
        }
        for (at, step) in steps.iter().enumerate() {
            let walk = part.and_then(|part| Some(self.scratch.walks[at]?.from(part.row)));
            match step {
                // The same in every row of the tile: it is there since the first block, which had as many rows or more.
                step if part.is_some_and(|part| part.row > 0) && walk.is_some_and(|walk| walk.row == 0) && self.stays(step) => {}
                // SAFETY: slots have room for the padded block.
                MicroOp::Op { f, d, a, b, c } => unsafe { f(self.ptr(*d), self.ptr(*a), self.ptr(*b), self.ptr(*c), of_operation) },
                // SAFETY: slots have room for the padded block, and a result has its own.
                MicroOp::Fused(fused) => unsafe { fused.run(padded, |slot| self.ptr(slot)) },
                MicroOp::Chain(chain) => {
                    for out in &chain.outs {
                        let Some(over) = out.over else { continue };
                        let there = self.ptr(over) != self.home(over);
                        self.scratch.ptrs[out.slot as usize] = if there { self.ptr(over) } else { self.home(out.slot) };
                    }
                    // SAFETY: slots have room for the padded block, or lie in the launch's memory, but for those of the chain's own, which have
                    // room for a block; and only results that may are on operands.
                    unsafe { chain.run(padded, self.program.block, |slot| self.ptr(slot)) };
                }
                // SAFETY: slots with lanes have room for a block.
                MicroOp::Splat { f, d, a } => unsafe { f(self.ptr(*d), self.ptr(*a), self.ptr(*a), self.ptr(*a), self.program.block) },
                // SAFETY: slots have room for a lane of each row, for a block, and for the bytes that a spread writes beyond it.
                MicroOp::Spread { f, d, a } => unsafe { f(self.ptr(*d), self.ptr(*a), std::ptr::null(), n, self.program.row_len) },
                // SAFETY: the block's lanes are whole rows; slots have room for a lane of each.
                MicroOp::FoldRows { f, d, a, init } => unsafe {
                    f(self.ptr(*d), self.ptr(*a), init.as_ptr().cast(), block.rows, block.cols);
                },
                // SAFETY: a scalar slot has 16 bytes.
                MicroOp::Const { d, bits } => unsafe { self.ptr(*d).cast::<u64>().write_unaligned(*bits) },
                MicroOp::Scalar { d, index, dtype } => {
                    let raw = *self.scalars.get(*index as usize).ok_or(Fault::Internal("a region without a scalar that it reads"))?;
                    let bits = lane_bits(Literal::from_raw(*dtype, raw));
                    // SAFETY: as above.
                    unsafe { self.ptr(*d).cast::<u64>().write_unaligned(bits) };
                }
                MicroOp::Index { d, offset: first, par, red, .. } => {
                    let d = self.ptr(*d).cast::<i64>();
                    walk::runs(walk, block, par, red, |lane, len, offset, stride| {
                        let offset = first + offset;
                        // SAFETY: lanes of the block.
                        let lanes = unsafe { std::slice::from_raw_parts_mut(d.add(lane), len) };
                        lanes.iter_mut().enumerate().for_each(|(i, d)| *d = offset + i as i64 * stride);
                    });
                }
                MicroOp::Acc { d, size } => {
                    let acc = part.ok_or(Fault::Internal("a region without the sums that it takes up"))?.acc;
                    let slot = *d as usize;
                    // Where they lie, if they lie together; what is read beyond them has no use.
                    if (block.rows == 1 || acc.ld == block.cols) && padded <= acc.room {
                        self.scratch.ptrs[slot] = acc.ptr.cast_mut();
                        continue;
                    }
                    let d = self.home(*d);
                    self.scratch.ptrs[slot] = d;
                    for r in 0..block.rows {
                        // SAFETY: the tile covers the block.
                        unsafe {
                            let from = acc.ptr.add(r * acc.ld * size);
                            std::ptr::copy_nonoverlapping(from, d.add(r * block.cols * size), block.cols * size);
                        }
                    }
                }
                // SAFETY: passed on.
                MicroOp::Load(load) => unsafe { self.load(load, block, exact, walk) },
                MicroOp::Direct(store) => {
                    let ptr =
                        if exact && !self.stream && !self.is_shared(store.at.arg) { self.contiguous(&store.at, block, walk) } else { None };
                    self.scratch.ptrs[store.s as usize] = ptr.unwrap_or_else(|| self.home(store.s));
                }
                // SAFETY: passed on.
                MicroOp::Store(store) => unsafe { self.store(store, block, walk) },
                MicroOp::Bounded { d, index, size, from_end } => {
                    // SAFETY: lanes of the block.
                    let (d, index) = unsafe {
                        (
                            std::slice::from_raw_parts_mut(self.ptr(*d).cast::<i64>(), n),
                            std::slice::from_raw_parts(self.ptr(*index).cast::<i64>(), n),
                        )
                    };
                    let lowest = if *from_end { -size } else { 0 };
                    for (d, index) in d.iter_mut().zip(index) {
                        if *index < lowest || *index >= *size {
                            return Err(Fault::Index { index: *index, size: *size });
                        }
                        *d = if *index < 0 { index + size } else { *index };
                    }
                }
                MicroOp::Philox { d, seed, offset, index, word } => {
                    // SAFETY: scalar slots, and lanes of the block.
                    unsafe {
                        let seed = self.ptr(*seed).cast::<u64>().read_unaligned();
                        let offset = self.ptr(*offset).cast::<u64>().read_unaligned();
                        let d = std::slice::from_raw_parts_mut(self.ptr(*d).cast::<u32>(), n);
                        let index = std::slice::from_raw_parts(self.ptr(*index).cast::<u64>(), n);
                        philox::words(self.program.tier, d, seed, offset, index, *word);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether a tile's blocks may share the step's lanes, where its rows are all the same.
    fn stays(&self, step: &MicroOp) -> bool {
        if let MicroOp::Load(load) = step {
            return load.stays && !self.is_shared(load.at.arg);
        }
        matches!(step, MicroOp::Index { stays: true, .. })
    }

    /// Where the block lies in its argument, if that is one contiguous run.
    fn contiguous(&self, at: &Access, block: Block, walk: Option<Walk>) -> Option<*mut u8> {
        if !at.dynamic.is_empty() {
            return None;
        }
        let (offset, stride) = walk::one_run(walk, block, &at.par, &at.red)?;
        let ptr = self.args[at.arg as usize].ptr;
        (stride == 1).then(|| ptr.wrapping_offset((self.origin(at) + offset) as isize * at.size as isize))
    }

    /// The element that the points' offsets count from. What is the same at every point has been evaluated.
    fn origin(&self, at: &Access) -> i64 {
        // SAFETY: a slot without lanes has 16 bytes.
        let value = |slot: Slot| unsafe { self.ptr(slot).cast::<i64>().read_unaligned() };
        // Wrapping: where a mask is false a value may be anything.
        at.shift.iter().fold(at.offset, |origin, (slot, stride)| origin.wrapping_add(value(*slot).wrapping_mul(*stride)))
    }

    /// The offsets of the block's elements, lane by lane.
    ///
    /// # Safety
    /// The dynamic parts are evaluated.
    unsafe fn offsets(&mut self, at: &Access, block: Block, walk: Option<Walk>) -> *mut i64 {
        let origin = self.origin(at);
        let offsets = self.scratch.offsets.as_mut_slice();
        walk::runs(walk, block, &at.par, &at.red, |lane, len, offset, stride| {
            let run = &mut offsets[lane..lane + len];
            run.iter_mut().enumerate().for_each(|(i, at_lane)| *at_lane = origin.wrapping_add(offset + i as i64 * stride));
        });
        for (slot, stride) in &at.dynamic {
            let ptr = self.scratch.ptrs[*slot as usize].cast::<i64>();
            // SAFETY: lanes of the block.
            let values = unsafe { std::slice::from_raw_parts(ptr, block.n()) };
            for (offset, value) in offsets.iter_mut().zip(values) {
                // Wrapping: where a mask is false the value may be anything.
                *offset = offset.wrapping_add(value.wrapping_mul(*stride));
            }
        }
        offsets.as_mut_ptr()
    }

    /// # Safety
    /// As for `segment`.
    unsafe fn load(&mut self, load: &Load, block: Block, exact: bool, walk: Option<Walk>) {
        let mut mask: *const u8 = std::ptr::null();
        if let Some(slot) = load.mask {
            mask = self.ptr(slot);
            // SAFETY: lanes of the block.
            let lanes = unsafe { std::slice::from_raw_parts(mask, block.n()) };
            if lanes.iter().fold(true, |all, lane| all & (*lane != 0)) {
                mask = std::ptr::null();
            }
        }
        let base = self.args[load.at.arg as usize].ptr;
        let home = if load.in_place { self.home(load.d) } else { self.ptr(load.d) };
        if self.args[load.at.arg as usize].len == 0 {
            // Over an empty reduce domain a value of a row may come from an empty buffer: no point uses it, but it is evaluated.
            // SAFETY: slots have room for the block.
            unsafe { home.write_bytes(0, block.n() * load.lane) };
            self.scratch.ptrs[load.d as usize] = home;
            return;
        }
        if load.in_place {
            let usable = exact && mask.is_null() && !self.is_shared(load.at.arg);
            if let Some(ptr) = if usable { self.contiguous(&load.at, block, walk) } else { None } {
                self.scratch.ptrs[load.d as usize] = ptr;
                return;
            }
            self.scratch.ptrs[load.d as usize] = home;
        }
        // SAFETY: every element of an unmasked lane is in bounds; slots have room for the block.
        unsafe {
            if load.at.dynamic.is_empty() && mask.is_null() {
                let origin = self.origin(&load.at);
                let repeats = if walk.is_none() { block.repeats(&load.at.par, &load.at.red) } else { None };
                if let Some(repeats) = repeats {
                    let base = base.wrapping_offset((origin + repeats.base) as isize * load.at.size as isize);
                    return self.load_repeated(load, base, home, repeats, block.n());
                }
                walk::runs(walk, block, &load.at.par, &load.at.red, |lane, len, offset, stride| {
                    let from = base.offset((origin + offset) as isize * load.at.size as isize);
                    (load.load)(home.add(lane * load.lane), from, stride as isize, len);
                });
            } else {
                let offsets = self.offsets(&load.at, block, walk);
                let n = block.n();
                for lane in (0..n).step_by(PAD) {
                    let len = PAD.min(n - lane);
                    let at = std::slice::from_raw_parts(offsets.add(lane), len);
                    let to = home.add(lane * load.lane);
                    let mut here: *const u8 = std::ptr::null();
                    if !mask.is_null() {
                        let lanes = std::slice::from_raw_parts(mask.add(lane), len);
                        let on = lanes.iter().fold(0u32, |on, lane| on + u32::from(*lane != 0)) as usize;
                        if on == 0 {
                            to.write_bytes(0, len * load.lane);
                            continue;
                        }
                        if on < len {
                            here = mask.add(lane);
                        }
                    }
                    // Rows of a table, and the inside of a padded image, are runs of neighbours.
                    if here.is_null() && at.windows(2).fold(true, |run, pair| run & (pair[1].wrapping_sub(pair[0]) == 1)) {
                        (load.load)(to, base.offset(at[0] as isize * load.at.size as isize), 1, len);
                    } else {
                        (load.gather)(to, base, at.as_ptr(), here, len);
                    }
                }
            }
        }
    }

    /// Loads each element once, and then puts it in all lanes that it is in: a run for every few lanes would cost more than all the rest.
    ///
    /// # Safety
    /// As for `segment`, of the elements that the lanes are.
    unsafe fn load_repeated(&mut self, load: &Load, base: *const u8, home: *mut u8, repeats: Repeats<'_>, n: usize) {
        let Repeats { times, axes, first, base: _ } = repeats;
        let (begin, end) = (first / times, (first + n).div_ceil(times));
        let lines = ((end - begin) * load.lane).div_ceil(64);
        if self.scratch.repeated.len() < lines {
            self.scratch.repeated.resize(lines, Line([0; 64]));
        }
        let once = self.scratch.repeated.as_mut_ptr().cast::<u8>();
        // SAFETY: there is room for the elements; slots have room for the block.
        unsafe {
            View::runs_of_axes(axes, begin, end - begin, |lane, len, offset, stride| {
                (load.load)(once.add(lane * load.lane), base.offset(offset as isize * load.at.size as isize), stride as isize, len);
            });
            let n_elements = end - begin;
            macro_rules! repeat_as {
                ($ty:ty) => {{
                    let (to, from) = (home.cast::<$ty>(), once.cast::<$ty>());
                    let (to, from) = (std::slice::from_raw_parts_mut(to, n), std::slice::from_raw_parts(from, n_elements));
                    repeat(to, from, times, first % times);
                }};
            }
            match load.lane {
                8 => repeat_as!(u64),
                4 => repeat_as!(u32),
                2 => repeat_as!(u16),
                1 => repeat_as!(u8),
                other => {
                    for i in 0..n {
                        let element = (first % times + i) / times;
                        std::ptr::copy_nonoverlapping(once.add(element * other), home.add(i * other), other);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for `segment`.
    unsafe fn store(&mut self, store: &Store, block: Block, walk: Option<Walk>) {
        let base = self.args[store.at.arg as usize].ptr;
        let from = self.ptr(store.s);
        if self.args[store.at.arg as usize].len == 0 {
            return;
        }
        if (store.direct || store.update) && from != self.home(store.s) {
            return;
        }
        // SAFETY: every element is in bounds and this thread's.
        unsafe {
            if store.at.dynamic.is_empty() {
                let stream = self.stream && store.fresh && store.same_bytes && store.lane >= 4;
                let origin = self.origin(&store.at);
                walk::runs(walk, block, &store.at.par, &store.at.red, |lane, len, offset, stride| {
                    let to = base.offset((origin + offset) as isize * store.at.size as isize);
                    let from = from.add(lane * store.lane);
                    if stream && stride == 1 {
                        super::stream::copy(to, from, len * store.lane);
                    } else {
                        (store.store)(to, from, stride as isize, len);
                    }
                });
            } else {
                let offsets = self.offsets(&store.at, block, walk);
                (store.scatter)(base, from, offsets, block.n());
            }
        }
    }
}

/// Lane `i` is element `(skip + i) / times`.
fn repeat<T: Copy>(lanes: &mut [T], elements: &[T], times: usize, skip: usize) {
    let head = (times - skip).min(lanes.len());
    let (head, rest) = lanes.split_at_mut(head);
    let [first, elements @ ..] = elements else { return };
    head.fill(*first);
    match times {
        // A loop of a length that is known becomes a shuffle of vectors.
        2 => {
            let (pairs, last) = rest.as_chunks_mut::<2>();
            pairs.iter_mut().zip(elements).for_each(|(pair, x)| *pair = [*x; 2]);
            last.iter_mut().zip(&elements[pairs.len()..]).for_each(|(lane, x)| *lane = *x);
        }
        _ => rest.chunks_mut(times).zip(elements).for_each(|(lanes, x)| lanes.fill(*x)),
    }
}

/// Rows are brought near so many bytes before they are needed, where they are that short: into the nearest cache then.
const AHEAD_BYTES: usize = 8 << 10;

/// And so many rows at most.
const MAX_AHEAD: usize = 4;

/// Sums over rows move outward after this many elements: the error of a sum is that of so many additions.
const FLUSH: usize = 64;
