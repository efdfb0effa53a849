//! Products of half types with inner loops in a dialect's own words ([`native`](super::super::native)); addresses and epilogues as everywhere.
//!
//! Always: operands are matrices with runs of 8 aligned elements along `k` or along their lanes, one stride along `k`; others go another way.

use super::super::native::copies::{self, Loop};
use super::super::native::{mma_sync, wgmma};
use super::super::{Signature, Step, Unsupported};
use super::grid::{Groups, Item, item, tile_of};
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
    operand.k.single()?;
    [Along::K, Along::Lanes].into_iter().find(|along| operand.aligned(*along, 8))
}

/// Whether the target has the instructions, the operands suit them, and the product is large enough for one tile at least.
pub(super) fn plan(p: &Problem, target: &Target) -> Option<AsyncTiles> {
    let half = matches!(p.a.dtype, DType::F16 | DType::BF16) && p.a.dtype == p.b.dtype && p.compute == DType::F32;
    if !half || !mma_sync::available(target) {
        return None;
    }
    along(&p.a)?;
    along(&p.b)?;
    if p.m < 9 || p.n < 9 || p.k < 64 {
        return None;
    }
    // A warpgroup's instructions have 64 rows; where most would be idle, a warp's do.
    let instructions = if wgmma::available(target) && p.m >= 48 && p.n >= 32 { Instructions::Wgmma } else { Instructions::MmaSync };
    let units = u64::from(target.compute_units.max(1));
    let tiles = |bn: u32| p.batch * p.m.div_ceil(copies::BM.into()) * p.n.div_ceil(bn.into());
    // Wide tiles reuse more; narrow ones leave fewer units idle.
    let cost = |bn: u32| {
        let work = tiles(bn) as f64 * f64::from(bn);
        let waves = tiles(bn) as f64 / units as f64;
        let reuse = match bn {
            256 => 1.0,
            128 => 1.12,
            _ => 1.6,
        };
        work * reuse * (waves.ceil() / waves).min(8.0)
    };
    let widths: &[u32] = if instructions == Instructions::Wgmma { &[256, 128, 64] } else { &[128, 64] };
    let bn = widths.iter().copied().min_by(|x, y| cost(*x).total_cmp(&cost(*y)))?;
    let stages = if bn == 256 { 4 } else { 3 };
    let wanted = if 2 * tiles(bn) > units { 1 } else { (2 * units / tiles(bn)).min(p.k / 512).clamp(1, 16) };
    let plan = AsyncTiles { instructions, bn, stages, parts: Parts::of(p.k, wanted, copies::BK.into()) };
    (plan.inner(p)?.shared_bytes() as usize <= target.shared_bytes).then_some(plan)
}

impl AsyncTiles {
    fn inner(&self, p: &Problem) -> Option<Loop> {
        let operand = |operand: &Operand, tile: u32, lanes: u64| {
            Some(copies::Operand {
                k_major: along(operand)? == Along::K,
                tile,
                lanes,
                dims: operand.lanes.0.iter().map(|d| (d.size, d.stride)).collect(),
                k_stride: operand.k.single()?,
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
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: AsyncTiles) -> Result<Option<Step>, Unsupported> {
    let Some(inner) = plan.inner(p) else { return Ok(None) };
    let AsyncTiles { instructions, bn, parts, .. } = plan;
    let name = if instructions == Instructions::Wgmma { "contract_wgmma" } else { "contract_mma" };
    let mut s = Signature::new(name, [copies::THREADS, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let (Some(first), Some(second)) = (first.place(), second.place()) else { return Ok(None) };
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (tiles_m, tiles_n) = (p.m.div_ceil(copies::BM.into()), p.n.div_ceil(bn.into()));
    let groups = Groups::new(tiles_m * tiles_n * p.batch * parts.count, target)?;
    let shared = s.b.shared("stages", DType::F32, inner.shared_bytes() / 4);
    let acc = s.b.local("acc", Type::Scalar(DType::F32), inner.sums());
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let row0 = b.mul_const(tile_m, copies::BM.into());
        let col0 = b.mul_const(tile_n, bn.into());
        let base_a = p.a.base(b, batch);
        let base_b = p.b.base(b, batch);
        let k0 = b.mul_const(part, parts.len as i64);
        let (values, places) = ([row0, col0, base_a, base_b, k0], [first, second, shared, acc]);
        let ld = bn + 8;
        let (multiply, write) = match instructions {
            Instructions::Wgmma => (wgmma::statement(&inner, values, places), wgmma::write_sums(&inner, shared, acc, ld)),
            Instructions::MmaSync => (mma_sync::statement(&inner, values, places), mma_sync::write_sums(&inner, shared, acc, ld)),
        };
        b.raw(multiply);
        b.raw(write);
        b.barrier();
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        let v = sink.vector(target, 8);
        let staged = Staged { shared, rows: copies::BM, cols: bn, ld, v, threads: copies::THREADS, load: 4 };
        staged.put(b, p, (&sink, &base), masks(p, copies::BM, bn), col0, |b, staged| b.add(row0, staged));
    });
    Ok(Some(s.finish(groups.grid())))
}
