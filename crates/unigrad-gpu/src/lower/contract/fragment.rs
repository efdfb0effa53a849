//! Products of half types by matrix operations of subgroups: a workgroup makes one tile of the output, each subgroup a block of fragments.
//!
//! Always: sums in `F32`. Tiles of operands keep their own direction in shared memory, so that vectors stay vectors; a fragment is loaded
//! transposed where that is the other one. Sums leave through shared memory.

use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, split, tile_of};
use super::load::{Layout, Loader, Tile, pipeline, table_bytes};
use super::problem::{Along, Operand, Problem};
use super::sink::Sink;
use super::source::Source;
use super::staged_store::{Staged, masks};
use super::tile::Parts;
use unigrad_ir::{Fragment, FragmentRole, FragmentShape, Op, Stmt, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::{BinaryOp, DType, Literal};

/// Sizes: of a workgroup's tile, and of a subgroup's block.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    bm: u32,
    bn: u32,
    bk: u32,
    wm: u32,
    wn: u32,
}

/// How a problem is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentTiles {
    sizes: Sizes,
    shape: FragmentShape,
    subgroup: u32,
    pub(super) parts: Parts,
}

/// Elements from row to row are more than the row by this: aligned to fragments, and not a multiple of all banks.
const PAD: u32 = 8;

impl FragmentTiles {
    fn threads(&self) -> u32 {
        (self.sizes.bm / self.sizes.wm) * (self.sizes.bn / self.sizes.wn) * self.subgroup
    }

    fn layout(operand: &Operand) -> Layout {
        if operand.along() == Along::K { Layout::LaneMajor } else { Layout::KMajor }
    }

    /// Row length in shared memory, and elements of one buffer of the tile.
    fn extent(&self, operand: &Operand, lanes: u32) -> (u32, u32) {
        match FragmentTiles::layout(operand) {
            Layout::LaneMajor => (self.sizes.bk + PAD, lanes * (self.sizes.bk + PAD)),
            Layout::KMajor => (lanes + PAD, self.sizes.bk * (lanes + PAD)),
        }
    }

    /// Rows that leave at once: one row of fragments of every subgroup.
    fn staged_rows(&self) -> u32 {
        self.sizes.bm / self.sizes.wm * u32::from(self.shape.m)
    }

    fn shared_bytes(&self, p: &Problem) -> usize {
        let tiles = 2 * (self.extent(&p.a, self.sizes.bm).1 + self.extent(&p.b, self.sizes.bn).1) as usize * p.a.dtype.size();
        let sums = (self.staged_rows() * (self.sizes.bn + PAD)) as usize * 4;
        tiles + sums + table_bytes(&p.a, self.sizes.bk) + table_bytes(&p.b, self.sizes.bk)
    }
}

/// The division of a problem, if the target has fragments for it.
pub(super) fn plan(p: &Problem, target: &Target) -> Option<FragmentTiles> {
    const SIZES: [Sizes; 5] = [
        Sizes { bm: 128, bn: 128, bk: 32, wm: 64, wn: 32 },
        Sizes { bm: 64, bn: 128, bk: 32, wm: 32, wn: 32 },
        Sizes { bm: 64, bn: 64, bk: 32, wm: 32, wn: 32 },
        Sizes { bm: 32, bn: 64, bk: 32, wm: 16, wn: 32 },
        Sizes { bm: 32, bn: 32, bk: 32, wm: 16, wn: 16 },
    ];
    let subgroup = target.subgroup?;
    let half = matches!(p.a.dtype, DType::F16 | DType::BF16) && p.a.dtype == p.b.dtype && p.compute == DType::F32;
    if !half || p.m < 8 || p.n < 8 || p.k < 16 {
        return None;
    }
    let shape = *target.fragments.iter().find(|shape| {
        let divides = |size: u8, of: u32| size > 0 && of.is_multiple_of(size.into());
        shape.input == p.a.dtype && shape.sum == DType::F32 && divides(shape.m, 16) && divides(shape.n, 16) && divides(shape.k, 32)
    })?;
    let units = u64::from(target.compute_units.max(1));
    let plan = |sizes: Sizes| {
        let tiles = p.batch * p.m.div_ceil(sizes.bm.into()) * p.n.div_ceil(sizes.bn.into());
        // Parts are added up by a launch of its own, which costs more than some units that have nothing to do (1024 x 1024 of 1024 terms in f16 through
        // Vulkan, 128 tiles for 132 units of an H200: 34 us in three parts, 21 in one).
        let wanted = if 4 * tiles >= 3 * units { 1 } else { (2 * units).div_ceil(tiles).min(p.k / 256).clamp(1, 32) };
        FragmentTiles { sizes, shape, subgroup, parts: Parts::of(p.k, wanted, sizes.bk.into()) }
    };
    let fits = |plan: &FragmentTiles| {
        let most = plan.sizes.bm.max(plan.sizes.bn);
        plan.threads() <= target.max_threads
            && plan.threads() >= most
            && plan.threads().is_power_of_two()
            && plan.shared_bytes(p) <= target.shared_bytes
    };
    let cost = |plan: &FragmentTiles| {
        let Sizes { bm, bn, .. } = plan.sizes;
        let tiles = p.batch * p.m.div_ceil(bm.into()) * p.n.div_ceil(bn.into());
        let work = tiles as f64 * f64::from(bm * bn);
        let waves = (tiles * plan.parts.count) as f64 / units as f64;
        let idle = if waves < 1.0 { 1.0 / waves } else { waves.ceil() / waves };
        work * idle * (1.0 + 24.0 * (1.0 / f64::from(bm) + 1.0 / f64::from(bn)))
    };
    SIZES.into_iter().map(plan).filter(fits).min_by(|x, y| cost(x).total_cmp(&cost(y)))
}

/// The launch of the product; the second step of several parts is the caller's.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, plan: FragmentTiles) -> Result<ProgramLaunch, Unsupported> {
    let FragmentTiles { sizes, shape, subgroup, parts } = plan;
    let threads = plan.threads();
    let input = p.a.dtype;
    let mut s = Signature::new("contract_fragment", [threads, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (tiles_m, tiles_n) = (p.m.div_ceil(sizes.bm.into()), p.n.div_ceil(sizes.bn.into()));
    let groups = Groups::new(tiles_m * tiles_n * p.batch * parts.count, target)?;
    let ((lda, size_a), (ldb, size_b)) = (plan.extent(&p.a, sizes.bm), plan.extent(&p.b, sizes.bn));
    let shared = s.b.shared("tiles", input, 2 * (size_a + size_b));
    let ld = sizes.bn + PAD;
    let out = s.b.shared("sums", DType::F32, plan.staged_rows() * ld);
    let fragment = |role| Type::Fragment(Fragment { shape, role });
    let (fm, fn_) = (sizes.wm / u32::from(shape.m), sizes.wn / u32::from(shape.n));
    let acc = s.b.local("acc", fragment(FragmentRole::C), fm * fn_);
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let row0 = b.mul_const(tile_m, sizes.bm.into());
        let col0 = b.mul_const(tile_n, sizes.bn.into());
        let thread = b.thread(0);
        let warp = b.div_const(thread, subgroup.into());
        let (wy, wx) = split(b, warp, (sizes.bn / sizes.wn).into());
        let zero = b.constant(Literal::zero(DType::F32));
        let zeros = b.inst(Op::FragmentFill(zero), fragment(FragmentRole::C));
        for i in 0..fm * fn_ {
            let at = b.u32(i);
            b.store(acc, at, zeros);
        }
        let tile_a = Tile {
            operand: &p.a,
            lanes: sizes.bm,
            bk: sizes.bk,
            threads,
            n_lanes: p.m,
            n_k: p.k,
            mask_k: parts.mask_k(p.k, sizes.bk),
            layout: FragmentTiles::layout(&p.a),
            ld: lda,
            stored: input,
            at: 0,
            stage: size_a,
        };
        let tile_b = Tile {
            operand: &p.b,
            lanes: sizes.bn,
            n_lanes: p.n,
            layout: FragmentTiles::layout(&p.b),
            ld: ldb,
            at: 2 * size_a,
            stage: size_b,
            ..tile_a.clone()
        };
        let (base_a, base_b) = (p.a.base(b, batch), p.b.base(b, batch));
        let a = Loader::new(b, "a", tile_a, target, (&first, shared), [thread, base_a, row0]);
        let bl = Loader::new(b, "b", tile_b, target, (&second, shared), [thread, base_b, col0]);
        let k0 = b.mul_const(part, parts.len as i64);
        let (y, x) = (b.mul_const(wy, sizes.wm.into()), b.mul_const(wx, sizes.wn.into()));
        pipeline(b, [&a, &bl], k0, parts.len.min(p.k), |b, parity| {
            // The first element of a fragment at (lane, k) of a tile.
            let load = |b: &mut unigrad_ir::Builder, operand: &Operand, role, [lane, k]: [Value; 2], ld: u32, at: u32, stage: u32| {
                let layout = FragmentTiles::layout(operand);
                let (slow, fast) = if layout == Layout::LaneMajor { (lane, k) } else { (k, lane) };
                let index = b.mul_const(slow, ld.into());
                let index = b.add(index, fast);
                let buffer = b.mul_const(parity, stage.into());
                let index = b.add(index, buffer);
                let index = b.add_const(index, at.into());
                let stride = b.u32(ld);
                // Rows of `a` are lanes, rows of `b` are `k`.
                let transposed = (layout == Layout::LaneMajor) == (role == FragmentRole::B);
                b.inst(Op::FragmentLoad { place: shared, index, stride, transposed }, fragment(role))
            };
            for kk in 0..sizes.bk / u32::from(shape.k) {
                let k = b.u32(kk * u32::from(shape.k));
                let bs: Vec<Value> = (0..fn_)
                    .map(|j| {
                        let lane = b.add_const(x, i64::from(j * u32::from(shape.n)));
                        load(b, &p.b, FragmentRole::B, [lane, k], ldb, 2 * size_a, size_b)
                    })
                    .collect();
                for i in 0..fm {
                    let lane = b.add_const(y, i64::from(i * u32::from(shape.m)));
                    let a = load(b, &p.a, FragmentRole::A, [lane, k], lda, 0, size_a);
                    for (j, bf) in bs.iter().enumerate() {
                        let at = b.u32(i * fn_ + j as u32);
                        let old = b.load(acc, at);
                        let new = b.inst(Op::FragmentMma(a, *bf, old), fragment(FragmentRole::C));
                        b.store(acc, at, new);
                    }
                }
            }
        });
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        let v = sink.vector(target, 4);
        let (zero, one, rounds, stride) = (b.u32(0), b.u32(1), b.u32(fm), b.u32(ld));
        b.repeat(zero, rounds, one, |b, round| {
            b.barrier();
            for i in 0..fm {
                let this = b.u32(i);
                let now = b.binary(BinaryOp::Eq, round, this);
                b.when(now, |b| {
                    for j in 0..fn_ {
                        let row = b.mul_const(wy, u32::from(shape.m).into());
                        let row = b.mul_const(row, ld.into());
                        let index = b.add(row, x);
                        let index = b.add_const(index, i64::from(j * u32::from(shape.n)));
                        let at = b.u32(i * fn_ + j);
                        let value = b.load(acc, at);
                        b.stmt(Stmt::FragmentStore { place: out, index, stride, value });
                    }
                });
            }
            b.barrier();
            let staged = Staged {
                shared: out,
                rows: plan.staged_rows(),
                cols: sizes.bn,
                ld,
                v,
                threads,
                load: if target.vectors { 4 } else { 1 },
                parts: 1,
            };
            staged.put(b, p, &base, masks(p, sizes.bm, sizes.bn), col0, |b, staged| {
                let (warp, within) = split(b, staged, u32::from(shape.m).into());
                let above = b.mul_const(warp, sizes.wm.into());
                let chunk = b.mul_const(round, u32::from(shape.m).into());
                let row = b.add(row0, above);
                let row = b.add(row, chunk);
                b.add(row, within)
            });
        });
    });
    Ok(s.finish(groups.grid()))
}
