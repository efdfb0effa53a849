//! Products whose operands NVIDIA's tensor memory accelerator brings ([`native::tma`](super::super::native::tma)): halves, and `F32`, rounded to TF32 where that is allowed.
//!
//! In: a problem whose operands lie in memory. Out: one launch of as many workgroups as there are compute units, each of which takes tile after tile.
//! Always: addresses are the accelerator's, which sees operands as up to five dimensions; epilogues are as everywhere. Never: takes an operand that threads make.

use super::super::native::tma::{self as native, Loop, Operand as NativeOperand, Pieces, RUN, Way};
use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Item, item, tile_of};
use super::problem::{Along, Dims, Operand, Problem};
use super::sink::Sink;
use super::source::Source;
use super::staged_store::{guarded, masks};
use super::tile::Parts;
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::{BinaryOp, DType};

/// Rows, columns and length of sums of a product, at least.
const LEAST_ROWS: u64 = 48;
const LEAST_COLUMNS: u64 = 32;
const LEAST_K: u64 = 64;
/// Multiplications, and rows and columns, of a product that threads multiply, more than which it has.
const LEAST_PRODUCTS: u64 = 1 << 28;
const LEAST_SIDE_OF_THREADS: u64 = 128;
/// Elements of `k` in a part, at least, and parts at most.
const LEAST_PART: u64 = 512;
const MOST_PARTS: u64 = 32;
/// Instructions of an epilogue up to which it is written out for each piece of the sums.
const MOST_STEPS_WRITTEN_OUT: usize = 24;
/// Points of a tile of which two workgroups have room on a compute unit, and bytes of shared memory that each takes besides.
const MOST_POINTS_OF_TWO: u32 = 128 * 128;
const RESERVED: usize = 1024;
/// Stages: fewer hide too little, more do not hide more.
const LEAST_STAGES: u32 = 3;
const MOST_STAGES: u32 = 8;

/// How long the loop takes, in microseconds, as measured on an H200: what counts are the ratios.
mod times {
    use super::{MOST_STEPS_WRITTEN_OUT, Way};

    /// A stage of a tile of so many rows and columns: the matrix instructions (TF32 has half of the elements at half of the rate), or the way from the second-level cache.
    pub(super) fn stage(way: Way, rows: u32, columns: u32) -> f64 {
        if way == Way::Threads {
            return f64::from(rows * columns) * 5.0 / 32768.0;
        }
        (f64::from(rows * columns) * 0.7 / 32768.0).max(f64::from((rows + columns) * 128) / 88e3)
    }

    /// Around the stages of a tile, beside what is under way meanwhile, with an epilogue of so many instructions.
    pub(super) fn around(rows: u32, columns: u32, steps: usize) -> f64 {
        let each = match steps {
            0 => 1.5,
            1..=MOST_STEPS_WRITTEN_OUT => 4.0,
            _ => 12.0,
        };
        1.0 + f64::from(rows * columns) / 32768.0 * each
    }

    /// The same for each of two workgroups that share a compute unit: 32768 x 3072 of 768 terms with GELU and its argument took 544 microseconds with one, and 462 with two;
    /// plain 262 and 275.
    pub(super) const OF_TWO: f64 = 1.5;
    /// The launch that adds parts up, and a number in it, written and read.
    pub(super) const SUMS: f64 = 4.0;
    pub(super) const SUM: f64 = 8.0 / 3e6;
}

/// How the loop is set up for a problem.
#[derive(Clone, Debug)]
pub(super) struct TmaTiles {
    inner: Loop,
    pub(super) parts: Parts,
    /// What it is expected to take, in microseconds.
    pub(super) time: f64,
}

/// What a product leaves beside its result: for each warp, and each part of `k`, a row of sums of an operand's lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Beside {
    /// Whose lanes.
    pub(super) of_b: bool,
    /// The scratch buffer of the rows.
    pub(super) scratch: usize,
}

impl TmaTiles {
    /// The rows that are left beside the product, if the loop can add up an operand's lanes.
    pub(super) fn rows_beside(&self, p: &Problem, of_b: bool) -> Option<u64> {
        let lanes = if of_b { p.n } else { p.m };
        let adds = p.batch == 1 && lanes.is_multiple_of(RUN.into()) && self.inner.adds(of_b);
        adds.then_some(self.parts.count * u64::from(self.inner.leaves(of_b).0))
    }
}

/// Which way an operand runs, with aligned vectors of 16 bytes.
fn along(operand: &Operand) -> Option<Along> {
    let by = 16 / operand.dtype.size() as u64;
    [Along::K, Along::Lanes].into_iter().find(|along| operand.aligned(*along, by))
}

/// Tiles of `a` and `b`, by preference.
fn tiles(p: &Problem, is_k_major: [bool; 2]) -> &'static [(Way, u32, u32)] {
    const SHARED: [(Way, u32, u32); 3] = [(Way::Shared, 128, 256), (Way::Shared, 128, 128), (Way::Shared, 128, 64)];
    const BY_COLUMNS: [(Way, u32, u32); 2] = [(Way::Registers { columns: true }, 128, 256), (Way::Registers { columns: true }, 128, 128)];
    const BY_ROWS: [(Way, u32, u32); 2] = [(Way::Registers { columns: false }, 256, 128), (Way::Registers { columns: false }, 128, 128)];
    const BY_THREADS: [(Way, u32, u32); 2] = [(Way::Threads, 128, 256), (Way::Threads, 128, 128)];
    match (p.a.dtype, is_k_major) {
        (DType::F32, _) if !p.tf32 => &BY_THREADS,
        (DType::F32, [true, false]) => &BY_COLUMNS,
        (DType::F32, [false, true]) => &BY_ROWS,
        (DType::F32, [false, false]) => &[],
        _ => &SHARED,
    }
}

/// The fastest tiles and parts, if the target has the instructions and the operands suit them; `steps` are the instructions of the epilogue.
pub(super) fn plan(p: &Problem, steps: usize, target: &Target) -> Option<TmaTiles> {
    let is_half = matches!(p.a.dtype, DType::F16 | DType::BF16) && p.compute == DType::F32;
    let is_single = p.a.dtype == DType::F32 && p.compute == DType::F32;
    // Tiles of threads are for products of some size: others have narrower ones.
    let products = p.batch.saturating_mul(p.m).saturating_mul(p.n).saturating_mul(p.k);
    let is_large = products >= LEAST_PRODUCTS && p.m > LEAST_SIDE_OF_THREADS && p.n > LEAST_SIDE_OF_THREADS;
    let is_wanted = p.a.dtype == p.b.dtype
        && (is_half || is_single && (p.tf32 || is_large))
        && p.m >= LEAST_ROWS
        && p.n >= LEAST_COLUMNS
        && p.k >= LEAST_K;
    if !is_wanted || !native::available(target) || p.a.made.is_some() || p.b.made.is_some() {
        return None;
    }
    let is_k_major = [along(&p.a)? == Along::K, along(&p.b)? == Along::K];
    let depth = native::depth(p.a.dtype);
    let units = u64::from(target.compute_units.max(1));
    let most = (p.k / LEAST_PART).clamp(1, MOST_PARTS);
    let choices = tiles(p, is_k_major).iter().flat_map(|tile| (1..=most).map(move |parts| (*tile, parts)));
    let choices = choices.flat_map(|(tile, parts)| [1, 2].map(|at_once| (tile, parts, at_once)));
    let all = choices.filter_map(|((way, bm, bn), parts, at_once)| {
        // Two workgroups have registers for half of the sums, and are worth it where much is done with them.
        let is_long = steps > MOST_STEPS_WRITTEN_OUT && parts == 1;
        if at_once > 1 && (way != Way::Shared || bm * bn > MOST_POINTS_OF_TWO || !is_long) {
            return None;
        }
        let room = (target.shared_bytes / at_once as usize).saturating_sub(if at_once > 1 { RESERVED } else { 0 });
        let fit = Loop::stages_in(room, bm, bn).min(MOST_STAGES);
        if fit < LEAST_STAGES {
            return None;
        }
        let parts = Parts::of(p.k, parts, depth.into());
        let work = p.batch * p.m.div_ceil(bm.into()) * p.n.div_ceil(bn.into()) * parts.count;
        let stages = parts.len.min(p.k).div_ceil(depth.into()) as f64;
        let sums = if parts.count > 1 { times::SUMS + (p.batch * p.m * p.n * parts.count) as f64 * times::SUM } else { 0.0 };
        let around = times::around(bm, bn, if parts.count > 1 { 0 } else { steps });
        let turn = stages * times::stage(way, bm, bn);
        let time = if at_once == 1 {
            work.div_ceil(units) as f64 * (turn + around)
        } else {
            work.div_ceil(2 * units) as f64 * (2.0 * turn + times::OF_TWO * around)
        };
        Some(((way, bm, bn), parts, (at_once, fit), time + sums))
    });
    let ((way, bm, bn), parts, (at_once, stages), time) = all.min_by(|x, y| x.3.total_cmp(&y.3))?;
    let operand = |operand: &Operand, k_major: bool, tile: u32| {
        let dims = |dims: &Dims| dims.0.iter().map(|d| (d.size, d.stride)).collect();
        let offset = u64::try_from(operand.offset).ok()?;
        let (lanes, k, batch) = (dims(&operand.lanes), dims(&operand.k), dims(&operand.batch));
        Some(NativeOperand { dtype: operand.dtype, k_major, tile, offset, lanes, k, batch })
    };
    let (a, b) = (operand(&p.a, is_k_major[0], bm)?, operand(&p.b, is_k_major[1], bn)?);
    let inner = Loop { way, a, b, k: p.k, part: parts.len, stages, at_once };
    inner.maps()?;
    Some(TmaTiles { inner, parts, time })
}

/// The launch of the product; the second step of several parts is the caller's, and that of what is left `beside` it. `None` if the operands do not suit
/// after all.
pub(super) fn product(
    contract: &Contract,
    p: &Problem,
    target: &Target,
    plan: TmaTiles,
    beside: Option<Beside>,
) -> Result<Option<ProgramLaunch>, Unsupported> {
    let TmaTiles { inner, parts, .. } = plan;
    let mut s = Signature::new("contract_tma", [inner.threads(), 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (Some(first), Some(second), Some([map_a, map_b])) = (first.place(), second.place(), inner.maps()) else {
        return Ok(None);
    };
    let rows = beside.map(|beside| s.scratch("beside", beside.scratch, DType::F32, true));
    let maps = [s.b.tensor_map(first, map_a), s.b.tensor_map(second, map_b)];
    let (bm, bn) = (inner.a.tile, inner.b.tile);
    let (tiles_m, tiles_n) = (p.m.div_ceil(bm.into()), p.n.div_ceil(bn.into()));
    let work = tiles_m * tiles_n * p.batch * parts.count;
    let units = u64::from(target.compute_units.max(1));
    let groups = work.min(units * u64::from(inner.at_once)).min(target.max_grid[0].into()) as u32;
    let Ok(work) = u32::try_from(work) else { return Ok(None) };
    let shared = s.b.shared("stages", DType::F32, inner.shared_bytes() / 4);
    // Short epilogues are written out for each piece: what tells pieces apart costs as much as they do.
    let n_steps = if sink.is_epilogue() { super::steps(contract) } else { 0 };
    let pieces = inner.pieces(sink.stored());
    let Pieces { count, columns, dtype } = pieces;
    let acc = s.b.local("acc", Type::Scalar(DType::F32), inner.sums());
    let piece = s.b.local("piece", Type::Scalar(dtype), columns);
    let corner = s.b.local("corner", Type::Scalar(DType::U32), 2);
    let beside = beside.zip(rows).map(|(beside, rows)| (beside.of_b, rows, s.b.local("lanes", Type::Scalar(DType::F32), RUN)));
    let b = &mut s.b;
    // The compiler shares registers out by it.
    b.at_once(inner.at_once);
    b.raw(inner.setup(shared));
    let (thread, multipliers) = (b.thread(0), b.u32(native::MULTIPLIERS));
    let multiplies = b.lt(thread, multipliers);
    let (start, end, step) = (b.group(0), b.u32(work), b.u32(groups));
    // Both roles take the same tiles in the same order.
    let place = |b: &mut Builder, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let (row0, col0) = (b.mul_const(tile_m, bm.into()), b.mul_const(tile_n, bn.into()));
        let first = b.mul_const(part, parts.len as i64);
        TileAt { corner: [row0, col0, batch, first], tile: [tile_m, tile_n], both, part }
    };
    let multiply = |b: &mut Builder| {
        b.raw(inner.role(true));
        b.repeat(start, end, step, |b, id| {
            let at = place(b, id);
            let TileAt { corner: [row0, col0, batch, _], both, .. } = at;
            match beside {
                Some((of_b, rows, lanes)) => {
                    // Tiles of the same lanes have the same sums: the first of them leaves these.
                    let other = at.tile[usize::from(!of_b)];
                    b.raw(inner.multiply_and_add(of_b, other, [acc, lanes]));
                    leave(b, p, &inner, of_b, &at, [lanes, rows]);
                }
                None => b.raw(inner.multiply(acc)),
            }
            let base = sink.base(b, if parts.count > 1 { both } else { batch });
            let v = sink.vector(target, columns);
            let (zero, one) = (b.u32(0), b.u32(1));
            let put = |b: &mut Builder, which| {
                b.raw(inner.take(&pieces, which, [acc, piece, corner]));
                let (row, col) = (b.load(corner, zero), b.load(corner, one));
                let (row, col) = (b.add(row0, row), b.add(col0, col));
                for at in (0..columns).step_by(v as usize) {
                    let col = b.add_const(col, at.into());
                    let sums: Vec<_> = (at..at + v)
                        .map(|at| {
                            let at = b.u32(at);
                            b.load(piece, at)
                        })
                        .collect();
                    guarded(b, p, masks(p, bm, bn), row, col, |b| base.put(b, row, col, &sums));
                }
            };
            if n_steps <= MOST_STEPS_WRITTEN_OUT {
                b.unrolled(count, put);
            } else {
                let count = b.u32(count);
                b.repeat(zero, count, one, put);
            }
        });
    };
    let produce = |b: &mut Builder| {
        b.raw(inner.role(false));
        b.repeat(start, end, step, |b, id| {
            let values = place(b, id).corner;
            b.raw(inner.produce(maps, values));
        });
    };
    b.when_else(multiplies, multiply, produce);
    Ok(Some(s.finish([groups, 1, 1])))
}

/// Where a tile is.
struct TileAt {
    /// Its first row and column, the batch item, the first `k`.
    corner: [Value; 4],
    /// Its number along rows and columns.
    tile: [Value; 2],
    /// Part and batch item as one number.
    both: Value,
    part: Value,
}

/// Stores what threads have of lanes' sums: each warp to its row of the part's.
fn leave(b: &mut Builder, p: &Problem, inner: &Loop, of_b: bool, at: &TileAt, [lanes, rows]: [Place; 2]) {
    let (warps, leavers) = inner.leaves(of_b);
    let (tile, n_lanes) = if of_b { (inner.b.tile, p.n) } else { (inner.a.tile, p.m) };
    let zero = b.u32(0);
    let is_first = b.binary(BinaryOp::Eq, at.tile[usize::from(!of_b)], zero);
    let thread = b.thread(0);
    let (warp, place) = (b.div_const(thread, 32), b.rem_const(thread, 32));
    let run = b.rem_const(thread, (tile / RUN).into());
    let lane = b.mul_const(run, RUN.into());
    let lane = b.add(at.corner[usize::from(of_b)], lane);
    let (leavers, end) = (b.u32(leavers), b.u32(n_lanes as u32));
    let (leaves, is_inside) = (b.lt(place, leavers), b.lt(lane, end));
    let stores = b.and(leaves, is_inside);
    let stores = b.and(is_first, stores);
    b.when(stores, |b| {
        let row = b.mul_const(at.part, warps.into());
        let row = b.add(row, warp);
        let to = b.mul_const(row, n_lanes as i64);
        let to = b.add(to, lane);
        for first in (0..RUN).step_by(4) {
            let sums: Vec<Value> = (first..first + 4)
                .map(|i| {
                    let i = b.u32(i);
                    b.load(lanes, i)
                })
                .collect();
            let (sums, to) = (b.compose(&sums), b.add_const(to, first.into()));
            b.store(rows, to, sums);
        }
    });
}
