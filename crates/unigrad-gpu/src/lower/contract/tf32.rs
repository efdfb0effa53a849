//! Products of `F32` that may be rounded to TF32, by the instructions of warps ([`native::tf32`](super::super::native::tf32)) or of warpgroups
//! ([`native::tf32_wgmma`](super::super::native::tf32_wgmma)): convolutions read through windows as well, since operands may have any strides.
//!
//! Always: tiles, parts of `k` and their order follow from sizes and the target. Never: takes a product in which rounding was not allowed, or one so small that whole tiles are idle.

use super::super::native::tf32::{self as native, Loop, Operand as NativeOperand, Warps};
use super::super::native::tf32_wgmma as groups;
use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, tile_of};
use super::made::{self, Stages};
use super::problem::{Along, Operand, Problem};
use super::sink::Sink;
use super::source::Source;
use super::staged_store::{Staged, masks};
use super::tile::Parts;
use unigrad_ir::{Builder, Place, Raw, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// Elements of `k` in a part, at least, and parts at most.
const LEAST_PART: u64 = 256;
const MOST_PARTS: u64 = 1024;
/// Stages in shared memory at most; and where workgroups are so few that each waits for its own copies alone.
const MOST_STAGES: u32 = 4;
const MOST_STAGES_OF_FEW: u32 = 12;
/// Stages between two waits, where one takes at most so many microseconds besides.
const ROUND: u32 = 2;
const SHORT_STAGE: f64 = 0.15;
/// Elements of `k`, and of the result, at least.
const LEAST_K: u64 = 16;
const LEAST_POINTS: u64 = 64;

/// What the loop is expected to take, in microseconds of a unit. On an H200 a product of 4096 took 0.93 to 0.95 ms for 1.03, a layer of 3 by 3 taps (32 to 64 channels, 1,024
/// images of 26 by 26) 0.38 for 0.35, and its weights' gradient 0.31 for 0.25.
mod times {
    /// A multiplication: at the rate that warps' instructions reach by themselves.
    pub(super) const MULTIPLY: f64 = 1.0 / 1.0e6;
    /// A load from shared memory by a warp, and a copy by a thread.
    pub(super) const LOAD: f64 = 0.6e-3;
    pub(super) const COPY: f64 = 6.0 / 128.0 / 1.7e3;
    /// What threads wait for each other at a stage.
    pub(super) const STAGE: f64 = 0.04;
    /// Around the stages of a tile, and the sums on their way out, each.
    pub(super) const AROUND: f64 = 1.5;
    pub(super) const SUM: f64 = 0.25e-3;
    /// The launch that adds parts up, and a number in it, written and read, for all units.
    pub(super) const SUMS: f64 = 4.0;
    pub(super) const PART: f64 = 8.0 / 3e6;
}

/// What the loop of warpgroups would take if it waited for no loads. It does: a product of 4096 takes 0.70 ms for 0.37, yet each row of `unigrad bench` is as fast or faster
/// by these numbers than by warps alone.
mod group_times {
    /// A stage of a tile of so many columns, and around the stages.
    pub(super) fn stage(bn: u32) -> f64 {
        if bn == 256 { 0.68 } else { 0.42 }
    }
    pub(super) fn around(bn: u32) -> f64 {
        if bn == 256 { 5.0 } else { 3.0 }
    }
    /// Rows and columns of which most of a tile would be idle.
    pub(super) const LEAST_ROWS: u64 = 65;
    pub(super) const LEAST_COLUMNS: u64 = 65;
}

/// How the loop is set up for a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tf32Tiles {
    bm: u32,
    bn: u32,
    pub(super) parts: Parts,
    way: Way,
}

/// Whose instructions multiply.
#[derive(Clone, Copy, Debug)]
enum Way {
    Warps(ByWarps),
    Groups,
}

#[derive(Clone, Copy, Debug)]
struct ByWarps {
    stages: u32,
    round: u32,
    warps: Warps,
}

/// The loop of a problem.
enum Inner {
    Warps(Loop),
    Groups(groups::Loop),
}

/// Which way an operand is copied: along `k`, and four elements at once.
fn way(operand: &Operand) -> (bool, bool) {
    let wide = [Along::K, Along::Lanes].into_iter().find(|along| operand.aligned(*along, 4));
    (wide.unwrap_or(operand.along()) == Along::K, wide.is_some())
}

/// The best tiles, and what they are expected to take; `None` if the target has no such instructions, or the product is too small for them. Warpgroups are left out where
/// `tma` brings operands for theirs, which is faster.
pub(super) fn plan(p: &Problem, target: &Target, tma: bool) -> Option<(Tf32Tiles, f64)> {
    let is_wanted = p.tf32 && native::available(target) && p.k >= LEAST_K && p.m * p.n >= LEAST_POINTS;
    // Offsets are counted by 32 bits.
    let is_short = [&p.a, &p.b].iter().all(|operand| operand.index == DType::U32);
    if !is_wanted || !is_short {
        return None;
    }
    let by_warps = plan_warps(p, target);
    let by_groups = if tma { None } else { plan_groups(p, target) };
    [by_warps, by_groups].into_iter().flatten().min_by(|x, y| x.1.total_cmp(&y.1))
}

/// The best tiles for warpgroups, and what they are expected to take.
fn plan_groups(p: &Problem, target: &Target) -> Option<(Tf32Tiles, f64)> {
    let takes = |operand: &Operand| way(operand).1 && operand.made.is_none();
    let is_large = p.m >= group_times::LEAST_ROWS && p.n >= group_times::LEAST_COLUMNS;
    if !groups::available(target) || !is_large || !takes(&p.a) || !takes(&p.b) {
        return None;
    }
    let units = u64::from(target.compute_units.max(1));
    let most = (p.k / LEAST_PART).clamp(1, MOST_PARTS);
    let choices = groups::WIDTHS.iter().flat_map(|bn| (1..=most).map(|parts| (*bn, Parts::of(p.k, parts, groups::BK.into()))));
    let all = choices.filter_map(|(bn, parts)| {
        let tiles = Tf32Tiles { bm: groups::BM, bn, parts, way: Way::Groups };
        let workgroups = p.batch * p.m.div_ceil(groups::BM.into()) * p.n.div_ceil(bn.into()) * parts.count;
        let stages = parts.len.min(p.k).div_ceil(groups::BK.into()) as f64;
        let time = workgroups.div_ceil(units) as f64 * (stages * group_times::stage(bn) + group_times::around(bn));
        (tiles.inner(p).shared_bytes() as usize <= target.shared_bytes).then(|| (tiles, time + sums_time(p, parts)))
    });
    all.min_by(|x, y| x.1.total_cmp(&y.1))
}

/// The best tiles for warps, and what they are expected to take.
fn plan_warps(p: &Problem, target: &Target) -> Option<(Tf32Tiles, f64)> {
    let sides = || (native::LEAST_TILE.ilog2()..=native::MOST_TILE.ilog2()).map(|bits| 1 << bits);
    let all = sides().flat_map(|bm| sides().map(move |bn| (bm, bn)));
    let stages = |parts: Parts| parts.len.min(p.k).div_ceil(native::BK.into());
    let best = all.filter_map(|(bm, bn)| {
        // As if in one part, and then as the parts are.
        let warps = Warps::of(bm, bn, stages(Parts::of(p.k, 1, native::BK.into())))?;
        let parts = best_parts(p, target, [bm, bn], stage_time(p, (bm, bn, warps)));
        let warps = Warps::of(bm, bn, stages(parts))?;
        let time = time(p, target, [bm, bn], stage_time(p, (bm, bn, warps)), parts);
        let plain = ByWarps { stages: 0, round: 1, warps };
        let by = with_stages(p, target, ([bm, bn], parts, plain))?;
        Some((Tf32Tiles { bm, bn, parts, way: Way::Warps(by) }, time))
    });
    best.min_by(|x, y| x.1.total_cmp(&y.1))
}

/// The launch that adds parts up, if there are some.
fn sums_time(p: &Problem, parts: Parts) -> f64 {
    if parts.count > 1 { times::SUMS + (p.batch * p.m * p.n * parts.count) as f64 * times::PART } else { 0.0 }
}

/// The parts of `k` that take the least time with such tiles.
fn best_parts(p: &Problem, target: &Target, tile: [u32; 2], stage: f64) -> Parts {
    let units = u64::from(target.compute_units.max(1));
    let n_tiles = p.batch * p.m.div_ceil(tile[0].into()) * p.n.div_ceil(tile[1].into());
    let most = (p.k / LEAST_PART).clamp(1, MOST_PARTS.min((8 * units).div_ceil(n_tiles)));
    let one = Parts::of(p.k, 1, native::BK.into());
    let mut best = (one, time(p, target, tile, stage, one));
    for parts in (2..=most).map(|count| Parts::of(p.k, count, native::BK.into())) {
        let time = time(p, target, tile, stage, parts);
        if time < best.1 {
            best = (parts, time);
        }
    }
    best.0
}

/// What a stage of such tiles is expected to take, in microseconds of a unit.
fn stage_time(p: &Problem, (bm, bn, warps): (u32, u32, Warps)) -> f64 {
    let copies = |operand: &Operand, tile: u32| f64::from(tile * native::BK) / if way(operand).1 { 4.0 } else { 1.0 };
    let instructions = f64::from(bm * bn * native::BK) / (16.0 * 8.0 * 8.0);
    times::STAGE
        + f64::from(bm * bn * native::BK) * times::MULTIPLY
        + instructions * warps.loads(bm, bn) * times::LOAD
        + (copies(&p.a, bm) + copies(&p.b, bn)) * times::COPY
}

/// What the product is expected to take with such tiles, whose stages take so long, and parts, in microseconds.
fn time(p: &Problem, target: &Target, [bm, bn]: [u32; 2], stage: f64, parts: Parts) -> f64 {
    let units = u64::from(target.compute_units.max(1));
    let all = p.batch * p.m.div_ceil(bm.into()) * p.n.div_ceil(bn.into()) * parts.count;
    // Two workgroups share a unit; what is left for the last wave keeps some units idle.
    let waves = (all as f64 / units as f64).max(all.div_ceil(units) as f64 * 0.5 + 0.5);
    let stages = parts.len.min(p.k).div_ceil(native::BK.into()) as f64;
    let around = times::AROUND + f64::from(bm * bn) * times::SUM;
    waves * (stages * stage + around) + sums_time(p, parts)
}

/// With as many stages as leave room for the workgroups that a unit should have at once, or as fit. `None` if two do not.
fn with_stages(p: &Problem, target: &Target, (tile, parts, by): ([u32; 2], Parts, ByWarps)) -> Option<ByWarps> {
    let [bm, bn] = tile;
    let workgroups = p.batch * p.m.div_ceil(bm.into()) * p.n.div_ceil(bn.into()) * parts.count;
    let is_few = workgroups <= 2 * u64::from(target.compute_units);
    let n_stages = u32::try_from(parts.len.min(p.k).div_ceil(native::BK.into())).unwrap_or(u32::MAX);
    let most = if is_few { MOST_STAGES_OF_FEW } else { MOST_STAGES }.min(n_stages.saturating_add(1)).max(2);
    let room = |workgroups: usize| {
        let fits = |stages: &u32| {
            let bytes = by_warps(p, tile, parts, ByWarps { stages: *stages, ..by }).shared_bytes() as usize;
            bytes <= target.shared_bytes / workgroups
        };
        (2..=most).rev().find(fits)
    };
    let inner = by_warps(p, tile, parts, by);
    let at_once = inner.at_once() as usize;
    let several = room(at_once).filter(|stages| *stages > 2);
    let stages = several.or_else(|| room(1))?;
    // What a stage of a small tile takes is little beside the wait for all threads before it.
    let is_short = stage_time(p, (bm, bn, by.warps)) - times::STAGE <= SHORT_STAGE;
    let is_made = p.a.made.is_some() || p.b.made.is_some();
    let round = if is_short && !is_made && !inner.has_tables() && stages >= 2 * ROUND { ROUND } else { 1 };
    Some(ByWarps { stages: stages / round * round, round, ..by })
}

fn native_operand(operand: &Operand, tile: u32, lanes: u64) -> NativeOperand {
    let (k_major, wide) = way(operand);
    let dims = |dims: &super::problem::Dims| dims.0.iter().map(|d| (d.size, d.stride)).collect();
    NativeOperand { k_major, made: operand.made.is_some(), wide, tile, lanes, dims: dims(&operand.lanes), k: dims(&operand.k) }
}

fn by_warps(p: &Problem, [bm, bn]: [u32; 2], parts: Parts, ByWarps { stages, round, warps }: ByWarps) -> Loop {
    let (a, b, masked) = (native_operand(&p.a, bm, p.m), native_operand(&p.b, bn, p.n), parts.mask_k(p.k, native::BK));
    Loop { a, b, k: p.k, part: parts.len, masked, stages, round, warps }
}

impl Tf32Tiles {
    fn inner(&self, p: &Problem) -> Inner {
        let Tf32Tiles { bm, bn, parts, way } = *self;
        match way {
            Way::Warps(by) => Inner::Warps(by_warps(p, [bm, bn], parts, by)),
            Way::Groups => {
                let (a, b, masked) = (native_operand(&p.a, bm, p.m), native_operand(&p.b, bn, p.n), parts.mask_k(p.k, groups::BK));
                Inner::Groups(groups::Loop { a, b, k: p.k, part: parts.len, masked })
            }
        }
    }

    /// Whether threads make the elements of operands whose other side has so many lanes.
    pub(super) fn makes(&self, other_lanes: u64) -> bool {
        matches!(self.way, Way::Warps(_)) && other_lanes <= made::MOST_LANES_OF_SINGLES
    }
}

impl Inner {
    fn name(&self) -> &'static str {
        match self {
            Inner::Warps(_) => "contract_tf32",
            Inner::Groups(_) => "contract_tf32_wgmma",
        }
    }

    fn threads(&self) -> u32 {
        match self {
            Inner::Warps(_) => native::THREADS,
            Inner::Groups(_) => groups::THREADS,
        }
    }

    fn shared_bytes(&self) -> u32 {
        match self {
            Inner::Warps(inner) => inner.shared_bytes(),
            Inner::Groups(inner) => inner.shared_bytes(),
        }
    }

    fn sums(&self) -> u32 {
        match self {
            Inner::Warps(inner) => inner.sums(),
            Inner::Groups(inner) => inner.sums(),
        }
    }

    fn ld(&self) -> u32 {
        match self {
            Inner::Warps(inner) => inner.ld(),
            Inner::Groups(inner) => inner.ld(),
        }
    }

    fn sums_apart(&self) -> u32 {
        match self {
            Inner::Warps(inner) => inner.sums_apart(),
            Inner::Groups(_) => 1,
        }
    }

    fn at_once(&self) -> u32 {
        match self {
            Inner::Warps(inner) => inner.at_once(),
            Inner::Groups(inner) => inner.at_once(),
        }
    }

    fn write_sums(&self, shared: Place, acc: Place) -> Raw {
        match self {
            Inner::Warps(inner) => inner.write_sums(shared, acc),
            Inner::Groups(inner) => inner.write_sums(shared, acc),
        }
    }
}

/// The launch of the product; the second step of several parts is the caller's.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: Tf32Tiles) -> Result<ProgramLaunch, Unsupported> {
    let inner = plan.inner(p);
    let Tf32Tiles { bm, bn, parts, .. } = plan;
    let threads = inner.threads();
    let mut s = Signature::new(inner.name(), [threads, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (tiles_m, tiles_n) = (p.m.div_ceil(bm.into()), p.n.div_ceil(bn.into()));
    let groups = Groups::new(tiles_m * tiles_n * p.batch * parts.count, target)?;
    let shared = s.b.shared("stages", DType::F32, inner.shared_bytes() / 4);
    let acc = s.b.local("acc", Type::Scalar(DType::F32), inner.sums());
    let sources = [&first, &second];
    let made = match &inner {
        Inner::Warps(inner) => {
            let spreads = [inner.a.spread(), inner.b.spread()];
            let held = made::room(&mut s, sources, spreads.map(|spread| (spread, DType::F32)));
            (held != [None, None]).then_some((inner, spreads, held))
        }
        Inner::Groups(_) => None,
    };
    s.b.at_once(inner.at_once());
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let row0 = b.mul_const(tile_m, bm.into());
        let col0 = b.mul_const(tile_n, bn.into());
        let base_a = p.a.base(b, batch);
        let base_b = p.b.base(b, batch);
        let k0 = b.mul_const(part, parts.len as i64);
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        // Vectors of 16 bytes, and longer ones where no thread has none for it.
        let most = if bm * bn / 8 < threads { 4 } else { 8 };
        let v = sink.vector(target, most).min(bn);
        let staged = Staged { shared, rows: bm, cols: bn, ld: inner.ld(), v, threads, load: 4, parts: inner.sums_apart() };
        let row_of = |b: &mut Builder, staged: Value| b.add(row0, staged);
        let early = staged.begin(b, &base, masks(p, bm, bn), col0, row_of);
        // No statement names the place of an operand that is made.
        let values = [row0, col0, base_a, base_b, k0];
        let places = [first.place().unwrap_or(shared), second.place().unwrap_or(shared), shared, acc];
        match (made, &inner) {
            (None, Inner::Warps(inner)) => b.raw(inner.statement(values, places)),
            (None, Inner::Groups(inner)) => b.raw(inner.statement(values, places)),
            (Some((inner, spreads, held)), _) => {
                let sides = made::sides(p, sources, held, spreads, [[row0, col0], [base_a, base_b]], inner.masked);
                let stages = Stages { statements: inner.statements(values, places), count: inner.n_stages(), len: native::BK };
                stages.multiply(b, &sides, k0, |a, held| inner.put(a, held));
            }
        }
        b.raw(inner.write_sums(shared, acc));
        b.barrier();
        match early {
            Some(early) => staged.end(b, early),
            None => staged.put(b, p, &base, masks(p, bm, bn), col0, row_of),
        }
    });
    Ok(s.finish(groups.grid()))
}
