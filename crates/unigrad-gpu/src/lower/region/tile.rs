//! Maps that read along one axis and write along another, as transposed copies do: a workgroup reads a square of the two axes along the
//! first, puts it into shared memory, and reads it from there along the second, so that both sides of the copy move whole lines.
//!
//! Always: only loads whose addresses are affine, of buffers that nothing writes, go through shared memory; everything else of the region
//! is evaluated where its stores are.

use super::{
    body::{Body, Point},
    lanes::{Lanes, Shape},
    map::{counter, for_blocks, unravel},
    schedule::{Tiling, power_of_two},
};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{InstOp, Region};
use unigrad_scalar::BinaryOp;

/// Threads along the side of a square.
const SIDE: usize = 32;

/// Loads that go through shared memory when a region is written along its last axis and read along `from`.
pub(super) fn staged(region: &Region, from: usize) -> Vec<usize> {
    let to = region.axes.len() - 1;
    let is_staged = |op: &InstOp| match op {
        InstOp::Load { index, arg, mask: None } => {
            let plain = index.dynamic.is_empty() && !region.args[*arg as usize].write;
            plain && index.strides[from].abs() == 1 && index.strides[to].abs() > 1
        }
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::AxisIndex(_)
        | InstOp::Acc
        | InstOp::Load { .. }
        | InstOp::Unary(..)
        | InstOp::Binary(..)
        | InstOp::Where(..)
        | InstOp::Cast(_)
        | InstOp::Bitcast(_)
        | InstOp::Bounded { .. }
        | InstOp::Philox { .. }
        | InstOp::Reduce(..)
        | InstOp::ArgReduce(..)
        | InstOp::Store { .. } => false,
    };
    (0..region.insts.len()).filter(|at| is_staged(&region.insts[*at].op)).collect()
}

/// The launch of a simplified map, in squares.
pub(super) fn lower(region: &Region, target: &Target, tiling: Tiling) -> Result<ProgramLaunch, Unsupported> {
    let Tiling { from, width } = tiling;
    let to = region.axes.len() - 1;
    let staged = staged(region, from);
    let threads = power_of_two(256.min(target.max_threads));
    let mut sig = Signature::new(&super::identifier(&region.name), [threads, 1, 1]);
    let body = Body::declare(&mut sig, target, region, 0, 0)?;
    let b = &mut sig.b;
    let side = SIDE * width;
    // One more element per line, so that a column of the square is spread over all banks.
    let pitch = (side + 1) as i64;
    let squares: Vec<Place> = staged
        .iter()
        .map(|at| {
            let dtype = region.insts[*at].dtype;
            b.shared(&format!("square{at}"), dtype, (side * (side + 1)) as u32)
        })
        .collect();
    let mut extents = region.axes.to_vec();
    (extents[from], extents[to]) = (extents[from].div_ceil(side), extents[to].div_ceil(side));
    let blocks: usize = extents.iter().product();
    let loops = blocks > target.max_grid[0].min(1 << 30) as usize;
    let thread = b.thread(0);
    let lane = b.rem_const(thread, SIDE as i64);
    let first_line = b.div_const(thread, SIDE as i64);
    let lines = threads as usize / SIDE;
    let grid = for_blocks(b, target, blocks, |b, block| {
        let dtype = counter(blocks);
        let block = b.cast(block, dtype);
        let mut axes = unravel(b, block, &extents);
        let origin = |b: &mut Builder, axis: usize| b.mul_const(axes[axis], side as i64);
        let (from_0, to_0) = (origin(b, from), origin(b, to));
        (axes[from], axes[to]) = (from_0, to_0);
        let walk = Walk { region, lane, first_line, lines, side, width };
        // Along the axis that is read.
        walk.lines(b, &axes, (from, to), |b, point, line| {
            let mut memo = body.memo();
            body.evaluate(b, &point, &mut memo, |_, at| staged.contains(&at));
            for (at, square) in staged.iter().zip(&squares) {
                let Some(value) = memo.get(*at).cloned() else {
                    b.mistake(format!("value {at}, which goes through shared memory, is not there"));
                    continue;
                };
                let dtype = region.insts[*at].dtype;
                let first = walk.first(b);
                let start = b.mul_const(line, pitch);
                let start = b.add(start, first);
                for l in 0..width {
                    let to = b.add_const(start, l as i64);
                    let stored = b.cast(value.at(0, l), dtype);
                    b.store(*square, to, stored);
                }
            }
        });
        b.barrier();
        // Along the axis that is written.
        walk.lines(b, &axes, (to, from), |b, point, line| {
            let mut memo = body.memo();
            for (at, square) in staged.iter().zip(&squares) {
                let first = walk.first(b);
                let start = b.mul_const(first, pitch);
                let start = b.add(start, line);
                let values: Vec<Value> = (0..width)
                    .map(|l| {
                        let from = b.add_const(start, pitch * l as i64);
                        let loaded = b.load(*square, from);
                        b.cast(loaded, body.held(*at))
                    })
                    .collect();
                memo.put(*at, Lanes::run(values));
            }
            body.evaluate(b, &point, &mut memo, |body, at| body.live[at]);
        });
        if loops {
            b.barrier();
        }
    });
    Ok(sig.finish([grid, 1, 1]))
}

/// How a workgroup walks over a square.
#[derive(Clone, Copy)]
struct Walk<'a> {
    region: &'a Region,
    lane: Value,
    first_line: Value,
    lines: usize,
    side: usize,
    width: usize,
}

impl Walk<'_> {
    /// The first point of the thread's run within a line.
    fn first(&self, b: &mut Builder) -> Value {
        b.mul_const(self.lane, self.width as i64)
    }

    /// Visits the lines of a square: `along` is the axis of a line, `across` counts them; `origin` is the square's first point.
    fn lines(&self, b: &mut Builder, origin: &[Value], (along, across): (usize, usize), visit: impl FnOnce(&mut Builder, Point, Value)) {
        let Walk { region, first_line, lines, side, width, .. } = *self;
        let (start, end, step) = (first_line, b.u32(side as u32), b.u32(lines as u32));
        b.repeat(start, end, step, |b, line| {
            let first = self.first(b);
            let place = |b: &mut Builder, axis: usize, offset: Value| {
                let offset = b.cast(offset, b.dtype(origin[axis]));
                b.add(origin[axis], offset)
            };
            let mut axes = origin.to_vec();
            axes[along] = place(b, along, first);
            axes[across] = place(b, across, line);
            // A width divides the extent, so a run is inside if its first point is.
            let mut inside: Option<Value> = None;
            for axis in [along, across] {
                if !region.axes[axis].is_multiple_of(side) {
                    let extent = b.int(b.dtype(axes[axis]), region.axes[axis] as i64);
                    let one = b.binary(BinaryOp::Lt, axes[axis], extent);
                    inside = Some(match inside {
                        Some(other) => b.and(other, one),
                        None => one,
                    });
                }
            }
            let shape = Shape { groups: 1, width };
            let axes = axes.into_iter().map(Lanes::all).collect();
            let point = Point { shape, along: (width > 1).then_some(along), axes, acc: None };
            match inside {
                Some(inside) => b.when(inside, |b| visit(b, point, line)),
                None => visit(b, point, line),
            }
        });
    }
}
