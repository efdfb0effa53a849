//! Products of half types with inner loops in a dialect's own words ([`native`](super::super::native)); addresses and epilogues as everywhere.
//!
//! Always: operands have runs of 8 aligned elements along `k` or along their lanes; others go another way.

use super::super::native::copies::{self, Loop};
use super::super::native::{mma_sync, wgmma};
use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, tile_of};
use super::made::{self, Stages};
use super::problem::{Along, Operand, Problem};
use super::sink::Sink;
use super::source::Source;
use super::staged_store::{Staged, masks};
use super::tile::Parts;
use unigrad_ir::{Target, Type};
use unigrad_kernel::Contract;
use unigrad_scalar::DType;

/// The instructions of the loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Instructions {
    /// Of a warpgroup.
    Wgmma,
    /// Of a warp.
    MmaSync,
}

/// Elements of `k` in a part, at least, and parts at most.
const LEAST_PART: u64 = 512;
const MOST_PARTS: u64 = 32;

/// How long the loop takes, in microseconds, as measured on an H200 over widths, stages and parts of 24 products: what counts are the ratios.
mod times {
    /// A stage of a tile of so many columns, with so many operands that run along `k`, whose copies need more addresses.
    pub(super) fn stage(bn: u32, k_major: u32) -> f64 {
        match (bn, k_major) {
            (256, 0) => 0.7,
            (256, 1) => 0.8,
            (256, _) => 0.95,
            (128, _) => 0.42,
            _ => 0.38,
        }
    }

    /// Around the stages of a tile: the first copies, and the sums on their way out, with more to do for an epilogue.
    pub(super) fn around(bn: u32, is_plain: bool) -> f64 {
        match (bn, is_plain) {
            (256, true) => 5.0,
            (256, false) => 9.0,
            (_, true) => 2.0,
            (_, false) => 3.0,
        }
    }

    /// The launch that adds parts up, and a number in it, written and read.
    pub(super) const SUMS: f64 = 4.0;
    pub(super) const SUM: f64 = 8.0 / 3e6;
    /// Stages of a tile up to which its epilogue takes as long as they do.
    pub(super) const SHORT: u64 = 24;
}

/// How the loop is set up for a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct AsyncTiles {
    instructions: Instructions,
    bn: u32,
    stages: u32,
    pub(super) parts: Parts,
}

/// Which way an operand runs, if the loop can take it.
fn along(operand: &Operand) -> Option<Along> {
    [Along::K, Along::Lanes].into_iter().find(|along| operand.aligned(*along, 8))
}

/// Whether the target has the instructions, the operands suit them, and the product is large enough for one tile at least. It `is_plain` if nothing is
/// done with the sums before they are stored.
pub(super) fn plan(p: &Problem, is_plain: bool, target: &Target) -> Option<AsyncTiles> {
    let half = matches!(p.a.dtype, DType::F16 | DType::BF16) && p.a.dtype == p.b.dtype && p.compute == DType::F32;
    if !half || !mma_sync::available(target) {
        return None;
    }
    let k_major = [along(&p.a)?, along(&p.b)?].iter().filter(|along| **along == Along::K).count() as u32;
    if p.m < 9 || p.n < 9 || p.k < 64 {
        return None;
    }
    // A warpgroup's instructions have 64 rows; where most would be idle, a warp's do.
    let instructions = if wgmma::available(target) && p.m >= 48 && p.n >= 32 { Instructions::Wgmma } else { Instructions::MmaSync };
    let units = u64::from(target.compute_units.max(1));
    let tiles = |bn: u32| p.batch * p.m.div_ceil(copies::BM.into()) * p.n.div_ceil(bn.into());
    // Wide tiles reuse more; narrow ones, and parts, leave fewer units idle in the last wave.
    let time = |bn: u32, parts: u64| {
        let waves = (tiles(bn) * parts).div_ceil(units) as f64;
        let stages = p.k.div_ceil(parts).div_ceil(copies::BK.into()) as f64;
        let sums = if parts > 1 { times::SUMS + (p.batch * p.m * p.n * parts) as f64 * times::SUM } else { 0.0 };
        waves * (stages * times::stage(bn, k_major) + times::around(bn, is_plain || parts > 1)) + sums
    };
    let widths: &[u32] = if instructions == Instructions::Wgmma { &[256, 128, 64] } else { &[128, 64] };
    let most = (p.k / LEAST_PART).clamp(1, MOST_PARTS);
    let choices = widths.iter().flat_map(|bn| (1..=most).map(|parts| (*bn, parts)));
    let (bn, parts) = choices.min_by(|x, y| time(x.0, x.1).total_cmp(&time(y.0, y.1)))?;
    let parts = Parts::of(p.k, parts, copies::BK.into());
    let n_stages = parts.len.min(p.k).div_ceil(copies::BK.into());
    // Five stages keep the units fed. With three, two workgroups share a unit, and one multiplies while the other works on its sums.
    let is_short = n_stages <= times::SHORT && !is_plain && parts.count == 1;
    let wanted = match bn {
        256 => 4,
        _ if is_short => 3,
        _ => (n_stages as u32).clamp(3, 5),
    };
    let fits = |stages: &u32| {
        let plan = AsyncTiles { instructions, bn, stages: *stages, parts };
        plan.inner(p).is_some_and(|inner| inner.shared_bytes() as usize <= target.shared_bytes)
    };
    let stages = (3..=wanted).rev().find(fits)?;
    Some(AsyncTiles { instructions, bn, stages, parts })
}

impl AsyncTiles {
    /// Whether the loop takes an operand whose elements threads make by so many.
    pub(super) fn takes(operand: &Operand) -> bool {
        along(operand).is_some()
    }

    fn inner(&self, p: &Problem) -> Option<Loop> {
        let operand = |operand: &Operand, tile: u32, lanes: u64| {
            Some(copies::Operand {
                k_major: along(operand)? == Along::K,
                made: operand.made.is_some(),
                tile,
                lanes,
                dims: operand.lanes.0.iter().map(|d| (d.size, d.stride)).collect(),
                k: operand.k.0.iter().map(|d| (d.size, d.stride)).collect(),
            })
        };
        Some(Loop {
            dtype: p.a.dtype,
            a: operand(&p.a, copies::BM, p.m)?,
            b: operand(&p.b, self.bn, p.n)?,
            k: p.k,
            part: self.parts.len,
            stages: self.stages,
        })
    }
}

/// The launch of the product; the second step of several parts is the caller's. `None` if the operands do not suit after all.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: AsyncTiles) -> Result<Option<ProgramLaunch>, Unsupported> {
    let Some(inner) = plan.inner(p) else { return Ok(None) };
    let AsyncTiles { instructions, bn, parts, .. } = plan;
    let name = if instructions == Instructions::Wgmma { "contract_wgmma" } else { "contract_mma" };
    let mut s = Signature::new(name, [copies::THREADS, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (tiles_m, tiles_n) = (p.m.div_ceil(copies::BM.into()), p.n.div_ceil(bn.into()));
    let groups = Groups::new(tiles_m * tiles_n * p.batch * parts.count, target)?;
    let shared = s.b.shared("stages", DType::F32, inner.shared_bytes() / 4);
    let acc = s.b.local("acc", Type::Scalar(DType::F32), inner.sums());
    let (sources, spreads) = ([&first, &second], [inner.a.spread(), inner.b.spread()]);
    let held = made::room(&mut s, sources, spreads.map(|spread| (spread, p.a.dtype)));
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let row0 = b.mul_const(tile_m, copies::BM.into());
        let col0 = b.mul_const(tile_n, bn.into());
        let base_a = p.a.base(b, batch);
        let base_b = p.b.base(b, batch);
        let k0 = b.mul_const(part, parts.len as i64);
        // No statement names the place of an operand that is made.
        let values = [row0, col0, base_a, base_b, k0];
        let places = [first.place().unwrap_or(shared), second.place().unwrap_or(shared), shared, acc];
        let ld = bn + 8;
        if held == [None, None] {
            b.raw(match instructions {
                Instructions::Wgmma => wgmma::statement(&inner, values, places),
                Instructions::MmaSync => mma_sync::statement(&inner, values, places),
            });
        } else {
            let statements = match instructions {
                Instructions::Wgmma => wgmma::statements(&inner, values, places),
                Instructions::MmaSync => mma_sync::statements(&inner, values, places),
            };
            let masked = parts.mask_k(p.k, copies::BK);
            let sides = made::sides(p, sources, held, spreads, [[row0, col0], [base_a, base_b]], masked);
            let stages = Stages { statements, count: inner.n_stages(), len: copies::BK };
            stages.multiply(b, &sides, k0, |a, held| inner.put(a, held));
        }
        b.raw(match instructions {
            Instructions::Wgmma => wgmma::write_sums(bn, shared, acc, ld),
            Instructions::MmaSync => mma_sync::write_sums(&inner, shared, acc, ld),
        });
        b.barrier();
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        let v = sink.vector(target, 8);
        let staged = Staged { shared, rows: copies::BM, cols: bn, ld, v, threads: copies::THREADS, load: 4, parts: 1 };
        staged.put(b, p, &base, masks(p, copies::BM, bn), col0, |b, staged| b.add(row0, staged));
    });
    Ok(Some(s.finish(groups.grid())))
}
