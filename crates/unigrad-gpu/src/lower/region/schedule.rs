//! How work is divided: how many threads, points per thread, rows per workgroup, parts of a row. Functions of a region's sizes and strides and of a
//! target's limits, nothing else.

use super::body::vector_piece;
use super::{threads::Arrangement, tile::staged};
use unigrad_ir::Target;
use unigrad_kernel::{Inst, InstOp, Region};

/// Threads of a workgroup where nothing speaks for another number.
const THREADS: u32 = 256;
/// Instructions of one program above which less is done per thread: compile time grows with it.
const MOST_INSTS: usize = 600;

/// How a map runs: each thread of a workgroup does `groups` runs of `width` points, a workgroup's runs being neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MapSchedule {
    pub(super) threads: u32,
    pub(super) width: usize,
    pub(super) groups: usize,
}

/// Threads of workgroups that stand beside others: as many as a row of a group has, which cannot have others without another result.
pub(in crate::lower) fn workgroup(target: &Target) -> u32 {
    power_of_two(THREADS.min(target.max_threads))
}

/// The largest power of two up to `limit`.
pub(super) fn power_of_two(limit: u32) -> u32 {
    1 << limit.max(1).ilog2()
}

/// Points of a run along `along` that serve the region's memory best: 16 bytes of what is widest, and at least a word of what is narrowest.
/// `divides` says which numbers are possible.
pub(super) fn width(region: &Region, target: &Target, along: usize, divides: impl Fn(usize) -> bool) -> usize {
    let (mut widest, mut narrowest) = (0, usize::MAX);
    for inst in &region.insts {
        let (InstOp::Load { index, arg, .. } | InstOp::Store { index, arg, .. }) = &inst.op else { continue };
        let size = region.args[*arg as usize].dtype.size();
        let dtype = region.args[*arg as usize].dtype;
        if [8, 4, 2].into_iter().any(|w| divides(w) && vector_piece(target, &index.strides, index, along, dtype, w) > 1) {
            (widest, narrowest) = (widest.max(size), narrowest.min(size));
        }
    }
    if widest == 0 {
        return 1;
    }
    let bytes = if target.vectors { 16 } else { 4 };
    let mut width = (bytes / widest).max(4 / narrowest).clamp(1, 8);
    while width > 1 && (!divides(width) || width * region.insts.len() > MOST_INSTS && width * narrowest > 4) {
        width /= 2;
    }
    width
}

impl MapSchedule {
    /// For a simplified map of `points` > 0 points.
    pub(super) fn new(region: &Region, target: &Target) -> MapSchedule {
        let threads = power_of_two(target.workgroup.unwrap_or(THREADS).min(target.max_threads));
        let points = region.rows();
        let width = match region.axes.as_slice() {
            [] => 1,
            [_] => width(region, target, 0, |_| true),
            axes => width(region, target, axes.len() - 1, |width| axes[axes.len() - 1].is_multiple_of(width)),
        };
        // Several loads under way per thread, where there are enough points for all of the device.
        let loads = region.insts.iter().filter(|inst| matches!(inst.op, InstOp::Load { .. })).count();
        let busy = 2048 * 2 * target.compute_units as usize;
        let mut groups = match loads {
            0 => 1,
            1 => 4,
            2 | 3 => 2,
            _ => 1,
        };
        while groups > 1 && (points / (width * groups) < busy || width * groups * region.insts.len() > MOST_INSTS / 2) {
            groups /= 2;
        }
        MapSchedule { threads, width, groups }
    }
}

/// A map in squares of two axes: read along `from`, written along the last one, in runs of `width` points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiling {
    pub(super) from: usize,
    pub(super) width: usize,
}

/// Points of an axis below which squares are not worth it.
const LEAST_SIDE: usize = 16;

impl Tiling {
    /// For a simplified map, if it is read along another axis than it is written.
    pub(super) fn new(region: &Region, target: &Target) -> Option<Tiling> {
        let to = region.axes.len().checked_sub(1)?;
        let bytes = |from: &usize| {
            let size = |at: usize| region.insts[at].dtype.size();
            staged(region, *from).into_iter().map(size).sum::<usize>()
        };
        // Later ones win: they are closer in memory.
        let from = (0..to).filter(|from| region.axes[*from] >= LEAST_SIDE && bytes(from) > 0).max_by_key(bytes)?;
        let staged = staged(region, from);
        let widest = staged.iter().map(|at| region.insts[*at].dtype.size()).max()?;
        // A line of the square is then at least 128 bytes.
        let mut width = (4 / widest).max(1);
        let shared = |width: usize| staged.iter().map(|at| 32 * width * (32 * width + 1) * region.insts[*at].dtype.size()).sum::<usize>();
        let fits = |width: usize| {
            [from, to].iter().all(|axis| region.axes[*axis].is_multiple_of(width)) && shared(width) <= target.shared_bytes / 2
        };
        while width > 1 && !fits(width) {
            width /= 2;
        }
        let enough = region.axes[to] >= LEAST_SIDE && target.max_threads >= 32 && shared(width) <= target.shared_bytes;
        enough.then_some(Tiling { from, width })
    }
}

/// How a grouped map runs: each thread does a run of `width` points. Several runs per thread, to find the instance less often, were slower: on
/// an H200, AdamW of 148 tensors of 840,000 reached 3,950 GB/s by one run and 3,870 by two, and 3,830 by four of twice the threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GroupedSchedule {
    pub(super) threads: u32,
    pub(super) width: usize,
}

/// Threads of a workgroup of a grouped map: few, so that the last workgroup of an instance leaves little undone.
const GROUPED_THREADS: u32 = 128;

impl GroupedSchedule {
    /// For a map with one axis.
    pub(super) fn new(region: &Region, target: &Target) -> GroupedSchedule {
        GroupedSchedule {
            threads: power_of_two(target.workgroup.unwrap_or(GROUPED_THREADS).min(target.max_threads)),
            width: width(region, target, 0, |_| true),
        }
    }

    /// Points of a workgroup.
    pub(super) fn chunk(self) -> usize {
        self.threads as usize * self.width
    }
}

/// How a region with reductions runs: a workgroup does some rows at a time, each by several threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RowSchedule {
    pub(super) arrangement: Arrangement,
    /// Points of a run: along the innermost reduce axis, or along the innermost parallel axis if threads are arranged in columns.
    pub(super) width: usize,
    /// Runs that a thread loads at a time where it walks over a row and does all that the region does; see [`RowSchedule::groups_of`].
    pub(super) groups: usize,
    /// Where a row stays between walks.
    pub(super) kept: Kept,
    /// In how many parts rows are split, and the runs of each; more than one part takes several launches.
    pub(super) splits: usize,
    pub(super) split_len: usize,
}

/// Where what a walk makes stays for later ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kept {
    /// Nowhere: a row is read again.
    Nothing,
    /// So many runs in registers of each thread, as values are computed with.
    InRegisters(usize),
    /// What is loaded, as it is stored, in memory that the workgroup shares; each thread reads back what it wrote there.
    InShared,
}

/// What a region could keep of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Keepable {
    /// 32-bit words of each point, for registers.
    pub(super) words: usize,
    /// Bytes of each point that fit into shared memory; 0 if there are none.
    pub(super) shared: usize,
    /// Bytes of shared memory that go to other things.
    pub(super) taken: usize,
}

/// Most threads of one row.
const ROW_THREADS: u32 = 1024;
/// Runs per thread that are worth another thread.
const RUNS: usize = 4;
/// 32-bit registers of a thread for what is kept between walks.
const KEPT_WORDS: usize = 64;
/// Points that a thread takes at a time from shared memory.
const MOST_NEAR: usize = 8;
/// Instructions of a walk's loop up to which it loads several runs at a time.
const MOST_LOADED: usize = 128;
/// Runs that a thread loads at a time, at most.
const MOST_GROUPS: usize = 4;
/// Neighbouring runs of columns that a workgroup does.
const COLUMNS: usize = 32;
/// Bytes of shared memory that a system takes from each workgroup.
const RESERVED: usize = 1 << 10;
/// Points below which a region is not worth several launches.
const SPLIT_POINTS: usize = 1 << 17;
/// Most parts of one row: all of them are read again by each workgroup of a launch that needs its sum.
const MOST_PARTS: usize = 1024;

impl Keepable {
    /// Bytes of shared memory of a row.
    fn bytes(self, row_len: usize) -> usize {
        row_len.saturating_mul(self.shared).saturating_add(self.taken)
    }

    /// Whether `more` bytes of each point fit, too.
    pub(super) fn fits(self, target: &Target, row_len: usize, more: usize) -> bool {
        Keepable { shared: self.shared + more, ..self }.bytes(row_len) <= target.shared_bytes
    }

    /// Threads of a workgroup that has a row in shared memory, if anything is kept there: as many as keep a processor busy together with the
    /// other workgroups whose rows fit beside this one. These then read from device memory while this one computes.
    fn threads(self, target: &Target, row_len: usize) -> Option<u32> {
        if self.shared == 0 {
            return None;
        }
        let beside = target.shared_bytes / (self.bytes(row_len) + RESERVED);
        let threads = if beside > 1 { ROW_THREADS / 2 } else { ROW_THREADS };
        Some(threads.min(power_of_two(target.max_threads)))
    }
}

/// Bytes that are contiguous along an axis. What is the same along other axes, as a number per row, is that much less.
fn contiguous_bytes(region: &Region, axis: usize) -> usize {
    let of = |inst: &Inst| match &inst.op {
        InstOp::Load { index, arg, .. } | InstOp::Store { index, arg, .. } => {
            let full = index.strides[region.n_parallel..].iter().any(|s| *s != 0) || axis < region.n_parallel && region.row_len() == 1;
            if !full || index.strides[axis].abs() != 1 {
                return 0;
            }
            let sizes = region.axes.iter().zip(&index.strides).filter(|(_, stride)| **stride != 0).map(|(size, _)| *size);
            sizes.fold(region.args[*arg as usize].dtype.size(), usize::saturating_mul)
        }
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::AxisIndex(_)
        | InstOp::Acc
        | InstOp::Unary(..)
        | InstOp::Binary(..)
        | InstOp::Where(..)
        | InstOp::Cast(_)
        | InstOp::Bitcast(_)
        | InstOp::Bounded { .. }
        | InstOp::Philox { .. }
        | InstOp::Reduce(..)
        | InstOp::ArgReduce(..) => 0,
    };
    region.insts.iter().map(of).fold(0, usize::saturating_add)
}

impl RowSchedule {
    /// For a simplified region with reduce axes and at least one row. `n_passes` is how often it walks over its rows, `may_split` whether several
    /// launches could pass what they need.
    pub(super) fn new(region: &Region, target: &Target, n_passes: usize, keepable: Keepable, may_split: bool) -> RowSchedule {
        let n = region.n_parallel;
        let last = region.axes.len() - 1;
        let columns = n > 0 && contiguous_bytes(region, n - 1) > contiguous_bytes(region, last);
        let along = if columns { n - 1 } else { last };
        let extent = region.axes[along];
        let width = width(region, target, along, |width| extent > 0 && extent.is_multiple_of(width));
        let (rows, row_len) = (region.rows(), region.row_len());
        let (row_runs, runs) = if columns { (rows / width, row_len) } else { (rows, row_len / width) };
        let limit = power_of_two(target.max_threads);
        // Rows that nothing walks over take a thread each.
        let walked = if n_passes == 0 { 1 } else { runs };
        let arrangement = if columns {
            let threads = THREADS.min(limit);
            let across = row_runs.next_power_of_two().min(COLUMNS) as u32;
            let per_row = (threads / across.min(threads)).min(walked.max(1).next_power_of_two().min(1 << 20) as u32);
            let across = (threads / per_row).min(row_runs.next_power_of_two().min(1 << 20) as u32);
            Arrangement { threads: per_row * across, per_row, columns }
        } else {
            let wanted = |each: usize| walked.div_ceil(each).max(1).next_power_of_two().min(1 << 20) as u32;
            let per_row = wanted(RUNS).min(THREADS).max(wanted(2 * RUNS)).min(ROW_THREADS).min(limit);
            let across = (THREADS / 2 / per_row).clamp(1, limit / per_row).min(rows.next_power_of_two().min(1 << 20) as u32);
            Arrangement { threads: per_row * across, per_row, columns }
        };
        // A workgroup is at least a subgroup, so that threads of a row can shuffle; those too many do nothing.
        let arrangement = match target.subgroup {
            Some(size) if arrangement.threads < size && size <= limit => Arrangement { threads: size, ..arrangement },
            _ => arrangement,
        };
        let blocks = row_runs.div_ceil(arrangement.rows() as usize);
        // Beside other programs, it has as many threads as they have; how a row is done, and so its result, is as it would be alone.
        let arrangement = match target.workgroup {
            Some(size) if arrangement.threads < size && size <= limit => Arrangement { threads: size, ..arrangement },
            _ => arrangement,
        };
        let mut groups = MOST_GROUPS;
        while groups > 1 && (groups * width * region.insts.len() > MOST_INSTS / 2 || runs < 2 * groups * arrangement.per_row as usize) {
            groups /= 2;
        }
        let mut schedule = RowSchedule { arrangement, width, groups, kept: Kept::Nothing, splits: 1, split_len: runs };
        let busy = 4 * target.compute_units as usize;
        if may_split && n_passes > 0 && blocks * 2 <= busy && rows.saturating_mul(row_len) >= SPLIT_POINTS {
            let step = schedule.arrangement.per_row as usize * schedule.groups;
            let parts = (busy / blocks).min(runs / (4 * step)).clamp(1, MOST_PARTS);
            schedule.split_len = runs.div_ceil(parts).next_multiple_of(step);
            schedule.splits = runs.div_ceil(schedule.split_len);
            if schedule.splits > 1 {
                return schedule;
            }
            schedule.split_len = runs;
        }
        let each = runs.div_ceil(arrangement.per_row as usize);
        let registers = if arrangement.threads > 512 { KEPT_WORDS / 2 } else { KEPT_WORDS };
        if n_passes < 2 || each == 0 {
            return schedule;
        }
        if keepable.words > 0 && each * width * keepable.words <= registers {
            schedule.kept = Kept::InRegisters(each);
        } else if let Some(threads) = keepable.threads(target, row_len).filter(|_| !columns && arrangement.per_row >= THREADS.min(limit)) {
            schedule.kept = Kept::InShared;
            schedule.arrangement = Arrangement { threads, per_row: threads, columns };
        }
        schedule
    }

    /// Runs that a thread takes at a time from shared memory: loads are short, and long loops do not stay in the cache of instructions. On an H100,
    /// cross-entropy of 50,304 logits and its gradient took a seventh longer with four runs of eight at a time, a twentieth with two.
    pub(super) fn groups_near(self) -> usize {
        (MOST_NEAR / self.width).clamp(1, self.groups)
    }

    /// Runs that a thread loads at a time in a walk that evaluates so many instructions at each point: more where these are few, so that more loads
    /// are under way.
    pub(super) fn groups_of(self, insts: usize) -> usize {
        let mut groups = MOST_GROUPS;
        while groups > self.groups
            && (groups * self.width * insts > MOST_LOADED || self.split_len < 2 * groups * self.arrangement.per_row as usize)
        {
            groups /= 2;
        }
        groups.max(self.groups)
    }

    /// How often a thread adds to a reduction in a walk, at most.
    pub(super) fn steps(self) -> usize {
        let RowSchedule { arrangement, groups, kept, split_len, .. } = self;
        let per_row = arrangement.per_row as usize;
        match kept {
            Kept::InRegisters(each) => each,
            Kept::Nothing | Kept::InShared => split_len / (per_row * groups) + MOST_GROUPS,
        }
    }

    /// For grouped reductions, whose rows are of many lengths: a workgroup does a part of one row. See [`RowSchedule::parts_of`].
    pub(super) fn grouped(region: &Region, target: &Target) -> RowSchedule {
        let threads = power_of_two(THREADS.min(target.max_threads));
        let arrangement = Arrangement { threads, per_row: threads, columns: false };
        let width = width(region, target, 0, |_| true);
        let mut groups = MOST_GROUPS;
        while groups > 1 && groups * width * region.insts.len() > MOST_INSTS / 2 {
            groups /= 2;
        }
        let splits = (4 * target.compute_units as usize).clamp(1, MOST_PARTS);
        RowSchedule { arrangement, width, groups, kept: Kept::Nothing, splits, split_len: 0 }
    }

    /// In how many parts a grouped row of this length is done, and the points of each: as many as keep the device at work if it is alone, since
    /// others may be short.
    pub(super) fn parts_of(self, len: usize) -> (usize, usize) {
        let step = self.arrangement.per_row as usize * self.groups * self.width;
        let parts = (len / (4 * step)).clamp(1, self.splits);
        let each = len.div_ceil(parts).max(1).next_multiple_of(step);
        (len.div_ceil(each).max(1), each)
    }
}
