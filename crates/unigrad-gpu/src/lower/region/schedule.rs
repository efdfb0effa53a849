//! Who does what: how many threads, points per thread, rows per workgroup, parts of a row. Functions of a region's sizes and strides and of a
//! target's limits, nothing else.

use super::body::vector_piece;
use unigrad_ir::Target;
use unigrad_kernel::{InstOp, Region};

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
        let threads = power_of_two(THREADS.min(target.max_threads));
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
