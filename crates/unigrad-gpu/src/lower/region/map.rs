//! Maps: every point on its own. A workgroup does a stretch of the domain, in row-major order.
//!
//! Always: the last stretch, which may be shorter, is done run by run, or point by point where it is not made of whole runs.

use super::{
    body::{Body, Point},
    lanes::{Lanes, Shape},
    schedule::MapSchedule,
};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Target, Value};
use unigrad_kernel::Region;
use unigrad_scalar::DType;

/// The dtype that counts up to `n`.
pub(super) fn counter(n: usize) -> DType {
    if n < 1 << 31 { DType::U32 } else { DType::U64 }
}

/// A linear row-major index taken apart along `extents`.
pub(in crate::lower) fn unravel(b: &mut Builder, linear: Value, extents: &[usize]) -> Vec<Value> {
    let mut rest = linear;
    let mut axes = vec![linear; extents.len()];
    for (axis, extent) in extents.iter().enumerate().rev() {
        let index = if axis == 0 {
            rest
        } else {
            let above = b.div_const(rest, (*extent).max(1) as i64);
            let below = b.mul_const(above, *extent as i64);
            let index = b.sub(rest, below);
            rest = above;
            index
        };
        axes[axis] = if u32::try_from(*extent).is_ok() { b.cast(index, DType::U32) } else { index };
    }
    axes
}

/// Runs `body` for every block `0..blocks`, with the grid's axis 0 as wide as the target allows.
pub(super) fn for_blocks(b: &mut Builder, target: &Target, blocks: usize, body: impl FnOnce(&mut Builder, Value)) -> u32 {
    for_blocks_within(b, most_blocks(target), blocks, body)
}

/// The grid's axis 0 at most.
pub(super) fn most_blocks(target: &Target) -> usize {
    target.max_grid[0].min(1 << 30) as usize
}

/// As [`for_blocks`], with a grid of at most `limit`.
pub(super) fn for_blocks_within(b: &mut Builder, limit: usize, blocks: usize, body: impl FnOnce(&mut Builder, Value)) -> u32 {
    let group = b.group(0);
    if blocks <= limit {
        body(b, group);
        return blocks as u32;
    }
    let dtype = counter(blocks);
    let (start, end, step) = (b.cast(group, dtype), b.int(dtype, blocks as i64), b.int(dtype, limit as i64));
    b.repeat(start, end, step, body);
    limit as u32
}

/// The strides of a dense row-major layout.
pub(super) fn dense(extents: &[usize]) -> Vec<i64> {
    let mut strides = vec![1; extents.len()];
    for axis in (1..extents.len()).rev() {
        strides[axis - 1] = strides[axis] * extents[axis] as i64;
    }
    strides
}

/// The launch of a simplified map with at least one point.
pub(super) fn lower(region: &Region, target: &Target) -> Result<ProgramLaunch, Unsupported> {
    let MapSchedule { threads, width, groups } = MapSchedule::new(region, target);
    let points = region.rows();
    let mut sig = Signature::new(&super::identifier(&region.name), [threads, 1, 1]);
    let body = Body::declare(&mut sig, target, region, 0, 0)?;
    let chunk = threads as usize * width * groups;
    let (full, blocks) = (points / chunk, points.div_ceil(chunk));
    let dtype = counter(blocks * chunk);
    let b = &mut sig.b;
    let thread = b.thread(0);
    let thread = b.cast(thread, dtype);
    let grid = for_blocks(b, target, blocks, |b, block| {
        let whole = |b: &mut Builder| {
            let block = b.cast(block, dtype);
            let first = b.mul_const(block, (threads as usize * groups) as i64);
            let first = b.add(first, thread);
            let runs: Vec<Value> = (0..groups).map(|g| b.add_const(first, i64::from(threads) * g as i64)).collect();
            runs_of(b, &body, &runs, width);
        };
        let rest = |b: &mut Builder| {
            // Whole runs are stored in vectors like all others: one narrow store makes every store to that buffer narrow in some dialects.
            let width = if points.is_multiple_of(width) { width } else { 1 };
            let (first, runs) = (full * chunk / width, points / width);
            let start = b.add_const(thread, first as i64);
            let (end, step) = (b.int(dtype, runs as i64), b.int(dtype, threads.into()));
            if runs - first <= threads as usize {
                let inside = b.lt(start, end);
                b.when(inside, |b| runs_of(b, &body, &[start], width));
            } else {
                b.repeat(start, end, step, |b, at| runs_of(b, &body, &[at], width));
            }
        };
        match (full, blocks) {
            (0, _) => rest(b),
            (full, blocks) if full == blocks => whole(b),
            _ => {
                let last = b.int(b.dtype(block), full as i64);
                let is_whole = b.lt(block, last);
                b.when_else(is_whole, whole, rest);
            }
        }
    });
    Ok(sig.finish([grid, 1, 1]))
}

/// Everything that runs of `width` points do, given by their numbers in row-major order.
fn runs_of(b: &mut Builder, body: &Body<'_>, runs: &[Value], width: usize) {
    let region = body.region;
    let mut extents = region.axes.to_vec();
    let along = (width > 1).then(|| extents.len() - 1);
    if let Some(along) = along {
        // A domain of one axis need not be a multiple of the width: its tail is done otherwise.
        extents[along] = if along == 0 { extents[along] } else { extents[along] / width };
    }
    let places: Vec<Vec<Value>> = runs
        .iter()
        .map(|run| {
            let mut axes = unravel(b, *run, &extents);
            if let Some(along) = along {
                axes[along] = b.mul_const(axes[along], width as i64);
            }
            axes
        })
        .collect();
    let axes = (0..extents.len()).map(|axis| Lanes::groups(places.iter().map(|place| place[axis]))).collect();
    let mut memo = body.memo();
    if extents.len() > 1 {
        let linear: Vec<Value> = runs.iter().map(|run| b.mul_const(*run, width as i64)).collect();
        let wide = linear.iter().any(|v| b.dtype(*v) == DType::U64);
        memo.put_index(&dense(&region.axes), wide, Lanes::groups(linear));
    }
    let point = Point { shape: Shape { groups: runs.len(), width }, along, axes, acc: None };
    body.evaluate(b, &point, &mut memo, |body, at| body.live[at]);
}
