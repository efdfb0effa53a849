//! Blocking: which task computes which block of `c`, in which order, from which panels.
//!
//! In: a [`Problem`] and its [`Blocking`]. Out: every block of sums finished once. Always: a sum is cut only where the plan says, by
//! sizes alone, so threads and block shapes do not change a bit. Never: waits inside a task; phases are whole fork-joins.

mod blocking;
mod panels;

pub(crate) use blocking::Blocking;
use blocking::Mode;
pub(crate) use panels::Panels;

use super::axis::Axis;
use super::kernel::{Ahead, Compute, DotArgs, Kernels, PackA, TileArgs};
use super::output::{Store, StoreAs};
use super::pack::{PackArgs, RowsArgs, find_runs, panel_of_any};
use super::problem::{Operand, Output, Problem};
use super::prologue::Prologue;
use super::scratch::{PackBuffers, Purpose, with_scratch};
use crate::memory::{Buf, Fault};
use crate::region::{CompiledRegion, Tile};
use crate::simd::Tier;
use crate::task_ptr::TaskPtr;
use crate::threads::parallel;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Rows of a block of `a`, which stays in the second-level cache while panels of `b` pass.
const MC: usize = 168;
/// Columns of a block whose sums go through scratch, or whose panels a task packs for itself.
const NC: usize = 512;
/// Parts of a split `k` begin at multiples of this.
const SPLIT_UNIT: usize = 16;
/// Steps of `k` that a cooperative pass packs at once, and elements of one shared side.
const SHARED_K: usize = 8192;
const SHARED_LEN: usize = 8 << 20;
/// The same for sums of at most so many bytes: they stay in the second-level caches, and with shorter panels so does what was packed.
pub(super) const SHARED_K_OF_SMALL_SUMS: usize = 1024;
pub(super) const SMALL_SUMS: usize = 2 << 20;
/// What it costs to fetch an element of a shared panel, in multiply-adds.
const FETCH: usize = 4;
/// What it costs an epilogue to copy an element on its way, in multiply-adds.
const COPY: usize = 24;
/// Rows of a task that reads all of a kept `b`: with so many it waits for its multiply-adds, not for `b`. What it reads of `a` and writes are then whole rows, which
/// the maps before and after it cut between the same threads, so that they do not pass from core to core.
pub(super) const ROW_TASK: usize = 16;
/// Most bytes of such a `b`: what a second-level cache holds.
pub(super) const ROW_TASK_BYTES: usize = 1 << 20;
/// Multiply-adds below which starting other threads costs more than it gains.
const SERIAL_WORK: usize = 64 * 64 * 64;

/// Where a task finds a side.
#[derive(Clone, Copy)]
enum Side<T> {
    /// Panels of the block's whole range of `k`, counted from row or column `first`.
    Packed { panels: *const T, first: usize },
    /// The task packs for itself, or reads in place.
    Own,
}

/// Part of a product.
#[derive(Clone, Debug)]
struct Block {
    item: usize,
    rows: Range<usize>,
    cols: Range<usize>,
    k: Range<usize>,
    /// Add to what is there.
    accumulate: bool,
}

/// Where a block's sums go.
#[derive(Clone, Copy)]
enum Sums<T> {
    Output,
    /// Row-major scratch whose element 0 is row `first.0`, column `first.1`.
    Scratch {
        at: *mut T,
        ld: usize,
        first: (usize, usize),
    },
}

/// What operands are made by, and what takes sums on.
#[derive(Clone, Copy)]
pub(crate) struct Maps<'a> {
    pub(crate) prologues: &'a [Option<Prologue>; 2],
    pub(crate) epilogue: Option<&'a CompiledRegion>,
    /// Panels of all of `b`, packed before.
    pub(crate) kept: Option<*const u8>,
}

/// One execution.
pub(crate) struct Run<'a, T: 'static> {
    p: &'a Problem,
    plan: &'a Blocking,
    kernels: &'static Kernels<T>,
    args: &'a [Buf],
    scalars: &'a [u64],
    maps: Maps<'a>,
    /// Width of a panel of `a`.
    mr: usize,
    /// Whether tasks take whole rows.
    by_rows: bool,
    fault: Mutex<Option<Fault>>,
}

// SAFETY: tasks write disjoint blocks; the raw pointers inside `args` are shared for reading.
unsafe impl<T: Send> Sync for Run<'_, T> {}

/// Part `i` of `0..len` cut into `parts` at multiples of `unit`.
fn part(len: usize, unit: usize, parts: usize, i: usize) -> Range<usize> {
    let units = len.div_ceil(unit);
    let at = |i: usize| (units * i / parts * unit).min(len);
    at(i)..at(i + 1)
}

impl<'a, T: StoreAs> Run<'a, T> {
    pub(crate) fn new(p: &'a Problem, plan: &'a Blocking, tier: Tier, args: &'a [Buf], scalars: &'a [u64], maps: Maps<'a>) -> Self {
        let kernels = plan.kernels(tier);
        let mr = kernels.panel_rows(p.m);
        Run { p, plan, kernels, args, scalars, maps, mr, by_rows: false, fault: Mutex::new(None) }
    }

    /// # Safety
    /// As for `CompiledContract::run`.
    pub(crate) unsafe fn run(mut self, threads: usize) -> Result<(), Fault> {
        let p = self.p;
        if p.batch == 0 || p.m == 0 || p.n == 0 {
            return Ok(());
        }
        let work = p.batch * p.m * p.n * p.k.max(1);
        let threads = if work <= SERIAL_WORK { 1 } else { threads.max(1) };
        let b_bytes = self.b_len(p.n, self.plan.k) * size_of::<T>();
        if self.maps.kept.is_some() && threads > 1 && p.m >= threads * ROW_TASK && b_bytes <= ROW_TASK_BYTES {
            self.by_rows = true;
            self.mr = self.kernels.panel_rows(p.m.div_ceil(threads));
        }
        // SAFETY: the caller's.
        unsafe {
            if self.plan.splits > 1 {
                self.split(threads);
            } else if self.plan.small {
                self.by_blocks(threads);
            } else {
                self.by_phases(threads);
            }
        }
        match self.fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(fault) => Err(fault),
            None => Ok(()),
        }
    }

    /// Packs all of `b`, for runs of [`Maps::kept`].
    ///
    /// # Safety
    /// As for `run`; `to` has the bytes of [`Blocking::panels`], and is aligned to 64 bytes.
    pub(crate) unsafe fn keep(self, threads: usize, to: *mut T) {
        let work = self.p.n * self.p.k;
        let threads = if work <= SERIAL_WORK / 8 { 1 } else { threads.max(1) };
        // SAFETY: the caller's.
        unsafe { self.pack_all(threads, 0, 0..self.plan.k, None, Some((to, 0..self.p.n))) }
    }

    /// Small items, or many: tasks take blocks and pack what they need; what all items share is packed once.
    unsafe fn by_blocks(&self, threads: usize) {
        let p = self.p;
        let (gm, gn) = if self.by_rows { (threads, 1) } else { self.grid(threads / gcd(p.batch, threads)) };
        let blocks = p.batch * gm * gn;
        with_scratch(|scratch| {
            let mut side_a = Side::Own;
            let mut side_b = match self.maps.kept {
                Some(panels) => Side::Packed { panels: panels.cast(), first: 0 },
                None => Side::Own,
            };
            if p.batch > 1 && self.plan.k > 0 {
                // SAFETY: the buffers hold the panels; the operands are readable.
                unsafe {
                    if p.a.batch.is_zero() && self.plan.mode == Mode::Panels {
                        let to: *mut T = scratch.get(Purpose::SharedA, self.a_len(p.m, self.plan.k));
                        self.pack_all(threads, 0, 0..self.plan.k, Some((to, 0..p.m)), None);
                        side_a = Side::Packed { panels: to, first: 0 };
                    }
                    if p.b.batch.is_zero() && self.plan.mode == Mode::Panels {
                        let to: *mut T = scratch.get(Purpose::SharedB, self.b_len(p.n, self.plan.k));
                        self.pack_all(threads, 0, 0..self.plan.k, None, Some((to, 0..p.n)));
                        side_b = Side::Packed { panels: to, first: 0 };
                    }
                }
            }
            // A variable: a temporary would be gone with its statement.
            let mut both = (side_a, side_b);
            let sides = TaskPtr::new(&raw mut both);
            parallel(threads.min(blocks), &|task| {
                // SAFETY: `both` outlives the call and is only read.
                let (side_a, side_b) = unsafe { *sides.get() };
                for i in part(blocks, 1, threads.min(blocks), task) {
                    let (item, i, j) = (i / (gm * gn), i % (gm * gn) / gn, i % gn);
                    let rows = part(p.m, self.mr, gm, i);
                    let cols = part(p.n, self.kernels.nr, gn, j);
                    let block = Block { item, rows, cols, k: 0..self.plan.k, accumulate: false };
                    // SAFETY: blocks are disjoint.
                    with_scratch(|scratch| unsafe { self.block(&block, side_a, side_b, Sums::Output, scratch) });
                }
            });
        });
    }

    /// Few outputs, long sums: each task sums parts of `k` into scratch, then the parts are added in order.
    unsafe fn split(&self, threads: usize) {
        let p = self.p;
        let splits = self.plan.splits;
        let len = p.m * p.n;
        with_scratch(|scratch| {
            let partials = TaskPtr::new(scratch.get::<T>(Purpose::Partials, p.batch * splits * len));
            let units = p.batch * splits;
            parallel(threads.min(units), &|task| {
                for unit in part(units, 1, threads.min(units), task) {
                    let k = part(self.plan.k, SPLIT_UNIT.max(self.kernels.k_multiple), splits, unit % splits);
                    let block = Block { item: unit / splits, rows: 0..p.m, cols: 0..p.n, k, accumulate: false };
                    // SAFETY: each unit has its own part of the partial sums.
                    with_scratch(|scratch| unsafe {
                        let at = partials.get().add(unit * len);
                        self.block(&block, Side::Own, Side::Own, Sums::Scratch { at, ld: p.n, first: (0, 0) }, scratch);
                    });
                }
            });
            let rows = p.batch * p.m;
            let tasks = if rows * p.n * splits < SERIAL_WORK / 8 { 1 } else { threads.min(rows) };
            parallel(tasks, &|task| {
                let mine = part(rows, 1, tasks, task);
                let mut row = mine.start;
                while row < mine.end {
                    let (item, first) = (row / p.m, row % p.m);
                    let n = (p.m - first).min(mine.end - row);
                    // SAFETY: tasks have disjoint rows; the first part of each is the sum.
                    unsafe {
                        let sum = partials.get().add(item * splits * len + first * p.n);
                        for split in 1..splits {
                            let from = sum.add(split * len);
                            for i in 0..n * p.n {
                                *sum.add(i) = (*sum.add(i)).plus(*from.add(i));
                            }
                        }
                        with_scratch(|scratch| self.finish(item, first..first + n, 0..p.n, sum, p.n, scratch));
                    }
                    row += n;
                }
            });
        });
    }

    /// Large items, one after the other: all tasks pack shared panels, then all multiply.
    unsafe fn by_phases(&self, threads: usize) {
        let p = self.p;
        let len_k = self.plan.k;
        let shared_k = if p.m * p.n * size_of::<T>() <= SMALL_SUMS { SHARED_K_OF_SMALL_SUMS } else { SHARED_K };
        let kx = len_k.div_ceil(len_k.div_ceil(shared_k).max(1)).next_multiple_of(self.plan.kc).max(1);
        let side = |len: usize, unit: usize| {
            let most = (SHARED_LEN / kx / unit).max(8) * unit;
            len.div_ceil(len.div_ceil(most)).next_multiple_of(unit)
        };
        let (ms, ns) = (side(p.m, self.mr), side(p.n, self.kernels.nr));
        let pieces = len_k.div_ceil(kx).max(1);
        with_scratch(|scratch| {
            let a: *mut T = scratch.get(Purpose::SharedA, self.a_len(ms, kx.min(len_k)));
            let b: *mut T = scratch.get(Purpose::SharedB, self.b_len(ns, kx.min(len_k)));
            // A sum in several passes needs a place of its own unless `c` can hold it.
            let through = pieces > 1 && self.plan.direct.is_none();
            let partials: *mut T = if through { scratch.get(Purpose::Partials, ms * ns) } else { std::ptr::null_mut() };
            let mut packed_b = None;
            let mut packed_a = None;
            for item in 0..p.batch {
                for js in (0..p.n).step_by(ns) {
                    let cols = js..(js + ns).min(p.n);
                    for is in (0..p.m).step_by(ms) {
                        let rows = is..(is + ms).min(p.m);
                        for piece in 0..pieces {
                            let k = piece * kx..((piece + 1) * kx).min(len_k);
                            let item_of = |operand: &Operand| if operand.batch.is_zero() { 0 } else { item };
                            let (key_a, key_b) = ((item_of(&p.a), is, piece), (item_of(&p.b), js, piece));
                            let to_a = (packed_a != Some(key_a)).then(|| (a, rows.clone()));
                            let to_b = (packed_b != Some(key_b)).then(|| (b, cols.clone()));
                            (packed_a, packed_b) = (Some(key_a), Some(key_b));
                            // SAFETY: the buffers hold the panels; blocks are disjoint.
                            unsafe {
                                if to_a.is_some() || to_b.is_some() {
                                    self.pack_all(threads, item, k.clone(), to_a, to_b);
                                }
                                let sums =
                                    if through { Sums::Scratch { at: partials, ld: cols.len(), first: (is, js) } } else { Sums::Output };
                                let whole = Block { item, rows: rows.clone(), cols: cols.clone(), k, accumulate: piece > 0 };
                                self.multiply_all(threads, &whole, a, b, sums);
                            }
                        }
                        if through {
                            let sums = TaskPtr::new(partials);
                            parallel(threads, &|task| {
                                let mine = part(rows.len(), 1, threads, task);
                                // SAFETY: tasks have disjoint rows.
                                with_scratch(|scratch| unsafe {
                                    let from = sums.get().add(mine.start * cols.len());
                                    self.finish(item, is + mine.start..is + mine.end, cols.clone(), from, cols.len(), scratch);
                                });
                            });
                        }
                    }
                }
            }
        });
    }

    /// All tasks multiply parts of a block from shared panels.
    unsafe fn multiply_all(&self, threads: usize, whole: &Block, a: *mut T, b: *mut T, sums: Sums<T>) {
        let (gm, gn) = self.grid_of(threads, whole.rows.len(), whole.cols.len(), FETCH, FETCH);
        let (a, b) = (TaskPtr::new(a), TaskPtr::new(b));
        let sums = match sums {
            Sums::Output => None,
            Sums::Scratch { at, ld, first } => Some((TaskPtr::new(at), ld, first)),
        };
        parallel(gm * gn, &|task| {
            let rows = part(whole.rows.len(), self.mr, gm, task / gn);
            let cols = part(whole.cols.len(), self.kernels.nr, gn, task % gn);
            let block = Block {
                rows: whole.rows.start + rows.start..whole.rows.start + rows.end,
                cols: whole.cols.start + cols.start..whole.cols.start + cols.end,
                ..whole.clone()
            };
            let a = Side::Packed { panels: a.get(), first: whole.rows.start };
            let b = Side::Packed { panels: b.get(), first: whole.cols.start };
            let sums = match &sums {
                None => Sums::Output,
                Some((at, ld, first)) => Sums::Scratch { at: at.get(), ld: *ld, first: *first },
            };
            // SAFETY: the blocks are disjoint.
            with_scratch(|scratch| unsafe { self.block(&block, a, b, sums, scratch) });
        });
    }

    /// Elements of the panels of `m` rows.
    fn a_len(&self, m: usize, k: usize) -> usize {
        m.next_multiple_of(self.mr) * k
    }

    /// Elements of the panels of `n` columns.
    fn b_len(&self, n: usize, k: usize) -> usize {
        n.next_multiple_of(self.kernels.nr) * k
    }

    /// All tasks pack panels of either side.
    unsafe fn pack_all(
        &self,
        threads: usize,
        item: usize,
        k: Range<usize>,
        a: Option<(*mut T, Range<usize>)>,
        b: Option<(*mut T, Range<usize>)>,
    ) {
        let panels = |side: &Option<(*mut T, Range<usize>)>, width: usize| side.as_ref().map_or(0, |(_, r)| r.len().div_ceil(width));
        // Parts of long panels too, so that few panels still spread over the tasks.
        let (n_a, n_b) = (panels(&a, self.mr), panels(&b, self.kernels.nr));
        let a = a.map(|(to, range)| (TaskPtr::new(to), range));
        let b = b.map(|(to, range)| (TaskPtr::new(to), range));
        let pieces = k.len().div_ceil(self.plan.kc);
        let tasks = threads.min((n_a + n_b) * pieces).max(1);
        parallel(tasks, &|task| {
            with_scratch(|scratch| {
                // A task takes its share of both sides: an element of one may cost more than of the other.
                for (side, operand, arg, width, n) in
                    [(&a, &self.p.a, self.p.a_arg, self.mr, n_a), (&b, &self.p.b, 1 - self.p.a_arg, self.kernels.nr, n_b)]
                {
                    let Some((to, range)) = side else { continue };
                    // Panels, so that a task finds near what it will multiply; parts of them where few panels would not spread evenly.
                    let by_panels = n >= 4 * tasks;
                    let mine = if by_panels { part(n, 1, tasks, task) } else { part(n * pieces, 1, tasks, task) };
                    let mut i = if by_panels { 0 } else { mine.start };
                    let end = if by_panels { pieces * mine.len() } else { mine.end };
                    while i < end {
                        let (piece, first, last) =
                            if by_panels { (i / mine.len(), mine.start, mine.end) } else { (i / n, i % n, n.min(i % n + mine.end - i)) };
                        let ks = k.start + piece * self.plan.kc..(k.start + (piece + 1) * self.plan.kc).min(k.end);
                        let lanes = range.start + first * width..(range.start + last * width).min(range.end);
                        // SAFETY: each task writes its own panels, or its own steps of them.
                        unsafe {
                            let base = to.get().add(first * width * k.len());
                            self.pack(operand, arg, item, lanes, ks.clone(), base, width, k.len(), ks.start - k.start, scratch);
                        }
                        i += last - first;
                    }
                }
            });
        });
    }

    /// Packs lanes into consecutive panels of `width`, each `k_len` steps long, of which steps `ks` are written at `k_at`.
    #[allow(clippy::too_many_arguments)]
    unsafe fn pack(
        &self,
        operand: &Operand,
        arg: usize,
        item: usize,
        lanes: Range<usize>,
        ks: Range<usize>,
        to: *mut T,
        width: usize,
        k_len: usize,
        k_at: usize,
        scratch: &mut PackBuffers,
    ) {
        self.fill_steps(operand, &ks, scratch);
        // SAFETY: the caller's.
        unsafe { self.pack_steps(operand, arg, item, lanes, to, width, k_len, k_at, scratch) }
    }

    /// Where the steps of these elements of `k` lie, and their runs.
    fn fill_steps(&self, operand: &Operand, ks: &Range<usize>, scratch: &mut PackBuffers) {
        let unit = self.plan.unit;
        let (start, end) = (ks.start * unit, (ks.end * unit).min(self.p.k));
        operand.k.fill(start, end - start, &mut scratch.steps);
        find_runs(&scratch.steps, &mut scratch.runs);
    }

    /// As `pack`, for the steps and runs that `scratch` holds.
    #[allow(clippy::too_many_arguments)]
    unsafe fn pack_steps(
        &self,
        operand: &Operand,
        arg: usize,
        item: usize,
        lanes: Range<usize>,
        to: *mut T,
        width: usize,
        k_len: usize,
        k_at: usize,
        scratch: &mut PackBuffers,
    ) {
        let made = self.maps.prologues[arg].is_some();
        let own_order = operand_is_rows(self, arg) && matches!(self.kernels.pack_a, PackA::Own(_));
        if !made && !own_order && lanes.len() > 1 && operand.lanes.uniform() == Some(1) {
            let src = self.source(operand, arg, item).wrapping_add(lanes.start * operand.dtype.size());
            let (steps, whole) = (&scratch.steps, !operand_is_rows(self, arg));
            let (dtype, n_lanes, panel) = (operand.dtype, lanes.len(), width * k_len);
            let rows = RowsArgs { src, dtype, lanes: n_lanes, steps, dst: to, at: k_at, width, panel, whole };
            // SAFETY: the caller's buffer holds the panels; the contraction's indices are in bounds.
            if unsafe { (self.kernels.pack_rows)(&rows) } {
                return;
            }
        }
        let mut lane_offsets = std::mem::take(&mut scratch.lanes);
        let mut to = to;
        let mut lane = lanes.start;
        while lane < lanes.end {
            let n = width.min(lanes.end - lane);
            operand.lanes.fill(lane, n, &mut lane_offsets);
            // The narrow last panel of `a` is as wide as its tile; `b` keeps its width.
            let step = if operand_is_rows(self, arg) { n } else { width };
            // SAFETY: the caller's buffer holds the panels; the contraction's indices are in bounds.
            unsafe {
                self.panel(operand, arg, item, &lane_offsets, to.add(k_at * step), step, scratch);
                to = to.add(width * k_len);
            }
            lane += n;
        }
        scratch.lanes = lane_offsets;
    }

    /// Packs one panel of these lanes and the steps and runs that `scratch` holds.
    #[allow(clippy::too_many_arguments)]
    unsafe fn panel(
        &self,
        operand: &Operand,
        arg: usize,
        item: usize,
        lanes: &[i64],
        dst: *mut T,
        width: usize,
        scratch: &mut PackBuffers,
    ) {
        let pack = match self.kernels.pack_a {
            PackA::Own(pack) if operand_is_rows(self, arg) => pack,
            PackA::Own(_) | PackA::Same => self.kernels.pack,
        };
        let Some(prologue) = &self.maps.prologues[arg] else {
            let src = self.source(operand, arg, item);
            let (steps, runs) = (&scratch.steps, &scratch.runs);
            // SAFETY: the caller's.
            return unsafe { pack(&PackArgs { src, dtype: operand.dtype, lanes, steps, runs, dst, width, ld: width }) };
        };
        let (steps, runs) = (std::mem::take(&mut scratch.steps), std::mem::take(&mut scratch.runs));
        let mut made_runs = std::mem::take(&mut scratch.made_runs);
        let (mut made_lanes, mut made_steps) = (std::mem::take(&mut scratch.made_lanes), std::mem::take(&mut scratch.made_steps));
        let base = operand.offset + operand.batch.offset(item);
        // SAFETY: the caller's: the elements are inside the operand, and so inside what is made.
        unsafe {
            match prologue.make(self.args, base, lanes, &steps, &mut made_runs, scratch) {
                Ok(made) => {
                    made_lanes.clear();
                    made_lanes.extend((0..lanes.len() as i64).map(|lane| lane * made.lane));
                    made_steps.clear();
                    made_steps.extend((0..steps.len() as i64).map(|step| step * made.step));
                    find_runs(&made_steps, &mut made_runs[0]);
                    let (lanes, steps, runs) = (&made_lanes, &made_steps, &made_runs[0]);
                    pack(&PackArgs { src: made.at, dtype: operand.dtype, lanes, steps, runs, dst, width, ld: width });
                }
                Err(fault) => {
                    self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                    // The launch fails; what is multiplied until then is any number.
                    std::ptr::write_bytes(dst, 0, steps.len().div_ceil(self.plan.unit) * width);
                }
            }
        }
        (scratch.steps, scratch.runs, scratch.made_runs) = (steps, runs, made_runs);
        (scratch.made_lanes, scratch.made_steps) = (made_lanes, made_steps);
    }

    /// The element of an operand that offsets of a batch item count from.
    fn source(&self, operand: &Operand, arg: usize, item: usize) -> *const u8 {
        let offset = operand.offset + operand.batch.offset(item);
        self.args[arg].ptr.wrapping_offset(offset as isize * operand.dtype.size() as isize)
    }

    /// Computes a block and stores it.
    unsafe fn block(&self, block: &Block, a: Side<T>, b: Side<T>, sums: Sums<T>, scratch: &mut PackBuffers) {
        let direct = matches!(sums, Sums::Scratch { .. }) || self.plan.direct.is_some();
        let (rows, cols) = (block.rows.clone(), block.cols.clone());
        if rows.is_empty() || cols.is_empty() {
            return;
        }
        let own_b = matches!(b, Side::Own) && self.plan.mode == Mode::Panels;
        // Whole rows of the output if they are short, for the sake of the epilogue.
        let nb = if direct && !own_b { cols.len().max(1) } else { NC.max(self.kernels.nr) };
        let nb = if cols.len() <= 2 * nb { cols.len().next_multiple_of(self.kernels.nr) } else { nb };
        let most = if direct { MC } else { (NC * MC / nb).min(MC) };
        let mb = (if own_b { rows.len().min(256) } else { most }).max(self.mr) / self.mr * self.mr;
        let mb = if direct { mb } else { mb.min((2 * NC * MC / nb).max(self.mr) / self.mr * self.mr) };
        for js in cols.clone().step_by(nb) {
            let js = js..(js + nb).min(cols.end);
            for is in rows.clone().step_by(mb) {
                let is = is..(is + mb).min(rows.end);
                // SAFETY: the caller's.
                unsafe {
                    let (c, ldc) = match sums {
                        Sums::Scratch { at, ld, first } => (at.add((is.start - first.0) * ld + js.start - first.1), ld),
                        Sums::Output => match (&self.p.c, self.plan.direct) {
                            (Output::Memory { batch, rows, .. }, Some(ld)) => {
                                let offset = batch.offset(block.item) + rows.offset(is.start) + js.start as i64;
                                (self.args[2].ptr.cast::<T>().wrapping_offset(offset as isize), ld)
                            }
                            // Row after row without a gap: an epilogue takes several at once, where they lie.
                            (Output::Epilogue { .. }, _) => (scratch.get::<T>(Purpose::Sums, mb * nb), js.len()),
                            _ => (scratch.get::<T>(Purpose::Sums, mb * nb), nb),
                        },
                    };
                    self.passes(block, is.clone(), js.clone(), a, b, c, ldc, scratch);
                    if !direct {
                        self.finish(block.item, is, js.clone(), c, ldc, scratch);
                    }
                }
            }
        }
    }

    /// All of the block's `k` for rows `is` and columns `js`.
    #[allow(clippy::too_many_arguments)]
    unsafe fn passes(
        &self,
        block: &Block,
        is: Range<usize>,
        js: Range<usize>,
        a: Side<T>,
        b: Side<T>,
        c: *mut T,
        ldc: usize,
        scratch: &mut PackBuffers,
    ) {
        let p = self.p;
        let (mr, nr) = (self.mr, self.kernels.nr);
        // What the processor was told last.
        let mut shape = None;
        let mut pc = block.k.start;
        loop {
            let ks = pc..(pc + self.plan.kc).min(block.k.end);
            let accumulate = block.accumulate || pc > block.k.start;
            let k_len = block.k.len();
            // SAFETY: panels and rows are inside the operands, tiles inside the block.
            unsafe {
                if let Mode::Dot { stride } = self.plan.mode {
                    self.dots(block.item, is.clone(), js.clone(), ks.clone(), stride, c, ldc, accumulate, scratch);
                } else {
                    // Panels of `a`: base, elements between panels, and the step at which this pass starts.
                    let (a_base, a_panel, a_at) = match a {
                        Side::Packed { panels, first } => (panels.add((is.start - first) * k_len), mr * k_len, pc - block.k.start),
                        Side::Own => {
                            let to: *mut T = scratch.get(Purpose::LocalA, self.a_len(is.len(), ks.len()));
                            self.pack(&p.a, p.a_arg, block.item, is.clone(), ks.clone(), to, mr, ks.len(), 0, scratch);
                            (to.cast_const(), mr * ks.len(), 0)
                        }
                    };
                    let in_place = matches!((b, self.plan.mode), (Side::Own, Mode::InPlace { .. }));
                    let wide = if in_place { self.kernels.wide(mr.min(is.len())) } else { nr };
                    // A panel that is packed just before all rows use it stays in the first-level cache.
                    let mut own_panel = None;
                    let (b_base, b_panel, b_step) = match (b, self.plan.mode) {
                        (Side::Own, Mode::InPlace { step }) => {
                            let at = js.start as i64 + pc as i64 * step;
                            let base = self.source(&p.b, 1 - p.a_arg, block.item).cast::<T>().wrapping_offset(at as isize);
                            (base, wide, step as isize as usize)
                        }
                        (Side::Packed { panels, first }, _) => {
                            (panels.add((js.start - first) * k_len + (pc - block.k.start) * nr), nr * k_len, nr)
                        }
                        (Side::Own, _) => {
                            let to: *mut T = scratch.get(Purpose::LocalB, self.b_len(nr, ks.len()));
                            self.fill_steps(&p.b, &ks, scratch);
                            own_panel = Some(to);
                            (to.cast_const(), 0, nr)
                        }
                    };
                    let (n_rows, is_near) = (is.len().div_ceil(mr), in_place || own_panel.is_some());
                    for (j, col) in (0..js.len()).step_by(wide).enumerate() {
                        if let Some(to) = own_panel {
                            let lanes = js.start + col..(js.start + col + nr).min(js.end);
                            self.pack_steps(&p.b, 1 - p.a_arg, block.item, lanes, to, nr, ks.len(), 0, scratch);
                        }
                        for (i, row) in (0..is.len()).step_by(mr).enumerate() {
                            let (rows, cols) = (mr.min(is.len() - row), wide.min(js.len() - col));
                            if let Some(shapes) = self.kernels.shapes.as_ref().filter(|_| shape != Some((rows, cols))) {
                                (shapes.set)(rows, cols);
                                shape = Some((rows, cols));
                            }
                            let b = b_base.wrapping_add(j * b_panel);
                            // Panels of `b` pass once for each block of rows, and come from afar: while one is used the next is asked for.
                            let ahead = match is_near || col + wide >= js.len() {
                                true => Ahead::none(b),
                                false => Ahead::part(b.wrapping_add(b_panel), ks.len() * nr, i, n_rows, ks.len()),
                            };
                            (self.kernels.tile)(&TileArgs {
                                kc: ks.len(),
                                a: a_base.add(i * a_panel + a_at * rows),
                                a_step: rows,
                                b,
                                b_step,
                                c: c.wrapping_add(row * ldc + col),
                                ldc,
                                rows,
                                cols,
                                accumulate,
                                ahead,
                            });
                        }
                    }
                }
            }
            pc = ks.end;
            if pc >= block.k.end {
                break;
            }
        }
        if let Some(shapes) = self.kernels.shapes.as_ref().filter(|_| shape.is_some()) {
            // SAFETY: the processor has what it was told of.
            unsafe { (shapes.clear)() };
        }
    }

    /// A pass by dot products: rows of `a` are made contiguous, `b` is read where it lies.
    #[allow(clippy::too_many_arguments)]
    unsafe fn dots(
        &self,
        item: usize,
        is: Range<usize>,
        js: Range<usize>,
        ks: Range<usize>,
        stride: i64,
        c: *mut T,
        ldc: usize,
        accumulate: bool,
        scratch: &mut PackBuffers,
    ) {
        let p = self.p;
        let at = (js.start as i64 * stride + ks.start as i64) as isize * p.b.dtype.size() as isize;
        // SAFETY: rows of `a` have the block's steps, a panel has its rows and steps; `b` is read inside its bounds.
        unsafe {
            let (a, lda) = match self.rows_in_place(item, is.clone(), ks.start) {
                Some(found) => found,
                None => {
                    let to: *mut T = scratch.get(Purpose::LocalA, is.len() * ks.len());
                    let mut rows = std::mem::take(&mut scratch.lanes);
                    // A panel whose lanes are `k` and whose steps are the rows is `a` made contiguous.
                    p.a.k.fill(ks.start, ks.len(), &mut rows);
                    p.a.lanes.fill(is.start, is.len(), &mut scratch.steps);
                    find_runs(&scratch.steps, &mut scratch.runs);
                    self.panel(&p.a, p.a_arg, item, &rows, to, ks.len(), scratch);
                    scratch.lanes = rows;
                    (to.cast_const(), ks.len())
                }
            };
            (self.kernels.dot)(&DotArgs {
                k: ks.len(),
                a,
                lda,
                b: self.source(&p.b, 1 - p.a_arg, item).wrapping_offset(at),
                b_dtype: p.b.dtype,
                ldb: stride,
                c,
                c_row: ldc,
                c_col: 1,
                rows: is.len(),
                cols: js.len(),
                accumulate,
            });
        }
    }

    /// Rows of `a` from step `k` on, where they are contiguous as they lie, and how far they are apart.
    fn rows_in_place(&self, item: usize, is: Range<usize>, k: usize) -> Option<(*const T, usize)> {
        let a = &self.p.a;
        if a.is_made || a.dtype != T::DTYPE || a.k.uniform() != Some(1) && self.p.k > 1 {
            return None;
        }
        let between = if is.len() == 1 { 0 } else { usize::try_from(a.lanes.uniform()?).ok()? };
        let at = a.lanes.offset(is.start) + a.k.offset(k);
        Some((self.source(a, self.p.a_arg, item).cast::<T>().wrapping_offset(at as isize), between))
    }

    /// Takes a block of finished sums to where they belong.
    unsafe fn finish(&self, item: usize, is: Range<usize>, js: Range<usize>, sums: *mut T, ld: usize, scratch: &mut PackBuffers) {
        let p = self.p;
        if is.is_empty() || js.is_empty() {
            return;
        }
        // SAFETY: the block is inside the output, and `sums` holds it.
        unsafe {
            match &p.c {
                Output::Memory { dtype, batch, rows, cols } => {
                    let mut row_offsets = std::mem::take(&mut scratch.lanes);
                    rows.fill(is.start, is.len(), &mut row_offsets);
                    cols.fill(js.start, js.len(), &mut scratch.steps);
                    let out = self.args[2].ptr.wrapping_offset(batch.offset(item) as isize * dtype.size() as isize);
                    T::store(&Store { tier: self.kernels.tier, sums, ld, out, rows: &row_offsets, cols: &scratch.steps }, *dtype);
                    scratch.lanes = row_offsets;
                }
                Output::Epilogue { dtype } => {
                    let (rows, cols) = (is.len(), js.len());
                    let (mut acc, mut acc_ld) = (sums.cast::<u8>(), ld);
                    let dtype = dtype.compute();
                    if dtype != T::DTYPE {
                        let mut row_offsets = std::mem::take(&mut scratch.lanes);
                        row_offsets.clear();
                        row_offsets.extend((0..rows).map(|i| (i * cols) as i64));
                        scratch.steps.clear();
                        scratch.steps.extend(0..cols as i64);
                        // Room for the elements, and after them for registers of narrow integers.
                        acc = scratch.get(Purpose::Converted, rows * cols * (dtype.size() + 4) + 4);
                        acc_ld = cols;
                        T::store(&Store { tier: self.kernels.tier, sums, ld, out: acc, rows: &row_offsets, cols: &scratch.steps }, dtype);
                        if dtype.is_int() && dtype.size() < 4 {
                            // Regions hold them wrapped, in 32 bits.
                            let wide = acc.add((rows * cols * dtype.size()).next_multiple_of(4)).cast::<i32>();
                            panel_of_any(&PackArgs {
                                src: acc,
                                dtype,
                                lanes: &scratch.steps,
                                steps: &row_offsets,
                                runs: &[],
                                dst: wide,
                                width: cols,
                                ld: cols,
                            });
                            acc = wide.cast();
                        }
                        scratch.lanes = row_offsets;
                    }
                    let tile = Tile { start: (item * p.m + is.start) * p.n + js.start, pitch: p.n, rows, cols };
                    let done = match self.maps.epilogue {
                        Some(epilogue) => epilogue.run_tile(&self.args[2..], self.scalars, tile, acc, acc_ld),
                        None => Err(Fault::Internal("a product without the epilogue that its sums are for")),
                    };
                    if let Err(fault) = done {
                        self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
                    }
                }
            }
        }
    }

    /// How to cut each item for `parts` tasks that pack for themselves.
    fn grid(&self, parts: usize) -> (usize, usize) {
        let shared = self.p.batch > 1;
        // In multiply-adds per element packed.
        const PACK: usize = 24;
        let a = if shared && self.p.a.batch.is_zero() { 0 } else { PACK };
        let b = if self.plan.mode != Mode::Panels || shared && self.p.b.batch.is_zero() { 0 } else { PACK };
        self.grid_of(parts, self.p.m, self.p.n, a, b)
    }

    /// Cuts `m x n` into `parts` so that the largest part, with what it costs to pack or to fetch its sides, is least.
    fn grid_of(&self, parts: usize, m: usize, n: usize, pack_a: usize, pack_b: usize) -> (usize, usize) {
        let largest = |len: usize, unit: usize, parts: usize| len.div_ceil(unit).div_ceil(parts) * unit;
        let moves = self.maps.epilogue.map_or(0, CompiledRegion::moves);
        // Only whole rows lie where an epilogue may use them and put them.
        let copied = |rows: usize, cols: usize, gn: usize| if gn > 1 { rows * cols * COPY * moves / self.p.k.max(1) } else { 0 };
        (1..=parts)
            .filter(|gm| parts.is_multiple_of(*gm))
            .map(|gm| {
                let (rows, cols) = (largest(m, self.mr, gm), largest(n, self.kernels.nr, parts / gm));
                (rows * cols + pack_a * rows + pack_b * cols + copied(rows, cols, parts / gm), gm, parts / gm)
            })
            .min()
            .map_or((1, 1), |(_, gm, gn)| (gm, gn))
    }
}

/// Whether an argument is on the broadcast side.
fn operand_is_rows<T>(run: &Run<'_, T>, arg: usize) -> bool {
    arg == run.p.a_arg
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
