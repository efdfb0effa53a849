//! Products of a matrix with up to [`MOST_VECTORS`] vectors, of half types, by matrix instructions whose operands are read from device memory
//! ([`native::narrow`](super::super::native::narrow)): a decoder's layers for a few sequences.
//!
//! A workgroup has some rows of the matrix; its warps share out `k`, and their sums meet in shared memory.
//! Always: every element of the matrix is read once; sums are added in an order that sizes alone decide. Both sides run along `k`, in aligned
//! runs of 8; others go another way.

use super::super::distribute::sum_of_parts;
use super::super::native::narrow::{self as native, Narrow, VECTORS, WARPS};
use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, split};
use super::problem::{Along, Operand, Problem};
use super::sink::Sink;
use super::skinny::{Sides, ahead};
use super::source::Source;
use super::tile::Parts;
use unigrad_ir::Target;
use unigrad_kernel::Contract;
use unigrad_scalar::{BinaryOp, DType};

/// Vectors at least: one is as fast by threads, which read the matrix in longer runs (7B decoder on an H100: 5.45 milliseconds a token, and 5.66 so; eight
/// 9.0, and 6.4 so).
const LEAST_VECTORS: u64 = 2;
/// Vectors at most: with more, a workgroup reads more of them than of the matrix.
const MOST_VECTORS: u64 = 32;
/// Elements of `k` at least, in all and in a part.
const LEAST_K: u64 = 256;
/// Elements of `k` that come together in a part: a turn of all warps.
const TURN: u64 = (native::STEP * WARPS) as u64;
/// Workgroups that a unit has at once, instructions of a workgroup along rows, and parts of `k` at most.
const AT_ONCE: u64 = 2;
const DOWN: [u32; 3] = [4, 2, 1];
const MOST_PARTS: u64 = 16;
/// Turns that a workgroup has under way at most.
const MOST_STAGES: u32 = 4;

/// How a problem is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct NarrowTiles {
    /// Instructions along rows and along vectors.
    down: u32,
    across: u32,
    pub(super) parts: Parts,
}

/// The division of a problem, if it is one of these.
pub(super) fn plan(p: &Problem, target: &Target) -> Option<NarrowTiles> {
    let sides = Sides::of(p);
    let half = matches!(p.a.dtype, DType::F16 | DType::BF16) && p.a.dtype == p.b.dtype && p.compute == DType::F32;
    let runs = |operand: &Operand| operand.aligned(Along::K, 8) && operand.k.single() == Some(1) && operand.lanes.single().is_some();
    if !half || !native::available(target) || !runs(&p.a) || !runs(&p.b) || p.k < LEAST_K {
        return None;
    }
    if !(LEAST_VECTORS..=MOST_VECTORS).contains(&p.m.min(p.n)) {
        return None;
    }
    if u32::try_from(sides.n_lanes).is_err() || u32::try_from(p.k).is_err() {
        return None;
    }
    let units = u64::from(target.compute_units.max(1));
    let across = sides.n_vectors.div_ceil(VECTORS).next_power_of_two();
    let ways = DOWN.map(|down| {
        let groups = p.batch * sides.n_lanes.div_ceil((down * native::ROWS).into());
        // As many parts as all workgroups have room for at once.
        let wanted = (AT_ONCE * units / groups.max(1)).min(p.k / (2 * TURN)).clamp(1, MOST_PARTS);
        let parts = Parts::of(p.k, wanted, TURN);
        // Rows, some of them beyond the end, and vectors are read by each workgroup; too few workgroups leave units idle.
        let read = groups as f64 * f64::from(down * native::ROWS + across * VECTORS);
        let busy = ((groups * parts.count) as f64 / units as f64).min(1.0);
        (NarrowTiles { down, across, parts }, read / busy)
    });
    let least = ways.into_iter().min_by(|x, y| x.1.total_cmp(&y.1));
    least.map(|(tiles, _)| tiles)
}

/// The launch of the product; the second step of several parts is the caller's. `None` if operands are not in memory after all.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: NarrowTiles) -> Result<Option<ProgramLaunch>, Unsupported> {
    let threads = WARPS * 32;
    let mut s = Signature::new("contract_narrow", [threads, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let (Some(first), Some(second)) = (first.place(), second.place()) else { return Ok(None) };
    let parts = plan.parts;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let sides = Sides::of(p);
    let [matrix, vectors] = if sides.columns { [second, first] } else { [first, second] };
    let (Some(row_stride), Some(vector_stride)) = (sides.matrix.lanes.single(), sides.vectors.lanes.single()) else { return Ok(None) };
    let most = Narrow {
        dtype: p.a.dtype,
        down: plan.down,
        across: plan.across,
        stages: MOST_STAGES,
        rows: sides.n_lanes,
        vectors: sides.n_vectors,
        row_stride,
        vector_stride,
    };
    // Two workgroups for each unit, if several turns fit then.
    let fits = |room: usize| {
        let stages = (2..=most.stages).rev();
        stages.map(|stages| Narrow { stages, ..most }).find(|inner| inner.shared_bytes() as usize <= room)
    };
    let Some(inner) = fits(target.shared_bytes / AT_ONCE as usize).or_else(|| fits(target.shared_bytes)) else { return Ok(None) };
    let [rows, columns] = inner.size();
    let tiles = sides.n_lanes.div_ceil(rows.into());
    let groups = Groups::new(tiles * p.batch * parts.count, target)?;
    if let Some(numbers) = ahead(&sides, p, rows, groups.grid(), parts, target) {
        s.b.prefetch(matrix, numbers);
    }
    let shared = s.b.shared("stages", DType::F32, inner.shared_bytes() / 4);
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles, p.batch, parts.count);
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        let row0 = b.mul_const(tile, rows.into());
        let begin = b.mul_const(part, parts.len as i64);
        let (end, all) = (b.add_const(begin, parts.len as i64), b.u32(p.k as u32));
        let end = b.binary(BinaryOp::Min, end, all);
        let [at_matrix, at_vectors] = [sides.matrix, sides.vectors].map(|operand| operand.base(b, batch));
        b.raw(inner.statement([row0, at_matrix, at_vectors, begin, end], [matrix, vectors, shared]));
        let (thread, count, step) = (b.thread(0), b.u32(rows * sides.n_vectors), b.u32(threads));
        b.repeat(thread, count, step, |b, at| {
            let (vector, lane) = split(b, at, rows.into());
            let row = b.add(row0, lane);
            let last = b.u32(sides.n_lanes as u32);
            let inside = b.lt(row, last);
            b.when(inside, |b| {
                let sum = sum_of_parts(b, shared, at, (WARPS, rows * columns));
                let (row, col) = if sides.columns { (vector, row) } else { (row, vector) };
                base.put(b, row, col, &[sum]);
            });
        });
    });
    Ok(Some(s.finish(groups.grid())))
}
