//! The general product: a workgroup makes one tile of the output, each thread a few rows and columns of it, operands pass through shared memory.
//!
//! Always: true multiplications and additions of the compute dtype, along `k` in order within a part. Tiles of operands are k-major in shared
//! memory, rows padded by 16 bytes; while a tile is multiplied, the next is on its way (two buffers, one barrier per tile).
//! A `k` in several parts leaves partial sums in scratch memory for [`super::sums`].

use super::super::{ProgramLaunch, Signature, Unsupported};
use super::grid::{Groups, Item, item, split, tile_of};
use super::load::{Layout, Loader, Tile, pipeline, repeat, table_bytes};
use super::problem::{Problem, multiply_add};
use super::sink::{Base, Sink};
use super::source::Source;
use super::staged_store::{Staged, guarded, masks};
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::Contract;
use unigrad_scalar::{DType, Literal};

/// Sizes of tiles: of a workgroup, and of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape {
    pub(super) bm: u32,
    pub(super) bn: u32,
    pub(super) bk: u32,
    pub(super) tm: u32,
    pub(super) tn: u32,
}

impl Shape {
    pub(super) const fn new(bm: u32, bn: u32, bk: u32, tm: u32, tn: u32) -> Shape {
        Shape { bm, bn, bk, tm, tn }
    }

    pub(super) fn threads(&self) -> u32 {
        (self.bm / self.tm) * (self.bn / self.tn)
    }

    /// Neighbouring rows and columns that a thread has: it moves them as vectors.
    fn runs(&self, compute: DType) -> (u32, u32) {
        let most = 16 / compute.size() as u32;
        (self.tm.min(most), self.tn.min(most))
    }

    /// Elements from one row of a tile to the next: a multiple of 16 bytes, not of 128.
    fn padded(lanes: u32, compute: DType) -> u32 {
        lanes + 16 / compute.size() as u32
    }

    fn buffers(&self, compute: DType) -> u32 {
        2 * self.bk * (Shape::padded(self.bm, compute) + Shape::padded(self.bn, compute))
    }

    /// Elements of the shared array: both buffers of both tiles, or some rows of sums on their way out.
    fn shared_len(&self, compute: DType) -> u32 {
        let rows = self.bm / self.tm;
        self.buffers(compute).max(rows * Shape::padded(self.bn, compute))
    }

    /// Bytes of shared memory of a problem's program.
    pub(super) fn shared_bytes(&self, p: &Problem) -> usize {
        self.shared_len(p.compute) as usize * p.compute.size() + table_bytes(&p.a, self.bk) + table_bytes(&p.b, self.bk)
    }
}

/// How `k` is divided: parts of `len` elements each, a multiple of the tile's `bk`; the last may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts {
    pub(super) count: u64,
    pub(super) len: u64,
}

impl Parts {
    /// About `count` parts.
    pub(super) fn of(k: u64, count: u64, multiple: u64) -> Parts {
        let len = k.div_ceil(count.max(1)).next_multiple_of(multiple).max(multiple);
        Parts { count: k.div_ceil(len).max(1), len }
    }
}

impl Parts {
    /// Whether tiles of `bk` elements reach beyond the end of `k`.
    pub(super) fn mask_k(&self, k: u64, bk: u32) -> bool {
        !k.is_multiple_of(if self.count == 1 { bk.into() } else { self.len })
    }
}

/// The launch of the product; its second step is the caller's if there are several parts.
pub(super) fn product(contract: &Contract, p: &Problem, target: &Target, shape: Shape, parts: Parts) -> Result<ProgramLaunch, Unsupported> {
    let threads = shape.threads();
    let mut s = Signature::new("contract_tile", [threads, 1, 1]);
    let first = Source::declare(&mut s, contract, &p.a, target)?;
    let second = Source::declare(&mut s, contract, &p.b, target)?;
    let sink = if parts.count > 1 { Sink::partial(&mut s, p, parts.count) } else { Sink::declare(&mut s, contract, p, target)? };
    let (tiles_m, tiles_n) = (p.m.div_ceil(shape.bm.into()), p.n.div_ceil(shape.bn.into()));
    let groups = Groups::new(tiles_m * tiles_n * p.batch * parts.count, target)?;
    let shared = s.b.shared("tiles", p.compute, shape.shared_len(p.compute));
    groups.each(&mut s.b, |b, id| {
        let Item { tile, both, part, batch } = item(b, id, tiles_m * tiles_n, p.batch, parts.count);
        let (tile_m, tile_n) = tile_of(b, tile, tiles_m, tiles_n);
        let row0 = b.mul_const(tile_m, shape.bm.into());
        let col0 = b.mul_const(tile_n, shape.bn.into());
        let kernel = TileKernel { p, shape, target, shared, sink: &sink };
        let acc = kernel.zeros(b);
        kernel.multiply(b, [&first, &second], [part, batch, row0, col0], parts, acc);
        let base = sink.base(b, if parts.count > 1 { both } else { batch });
        kernel.store(b, &base, row0, col0, acc);
    });
    Ok(s.finish(groups.grid()))
}

struct TileKernel<'a> {
    p: &'a Problem,
    shape: Shape,
    target: &'a Target,
    shared: Place,
    sink: &'a Sink<'a>,
}

impl TileKernel<'_> {
    fn zeros(&self, b: &mut Builder) -> Place {
        let count = self.shape.tm * self.shape.tn;
        let acc = b.local("acc", Type::Scalar(self.p.compute), count);
        let zero = b.constant(Literal::zero(self.p.compute));
        repeat(b, count, |b, i| b.store(acc, i, zero));
        acc
    }

    /// The thread's place among the threads: which run of rows, which run of columns.
    fn place(&self, b: &mut Builder) -> (Value, Value) {
        let columns = self.shape.bn / self.shape.tn;
        let rows = self.shape.bm / self.shape.tm;
        let thread = b.thread(0);
        // Subgroups of 32 are 4 x 8 threads, so that they read few different addresses of a tile.
        if columns >= 16 && columns.is_multiple_of(8) && rows.is_multiple_of(4) {
            let (warp, lane) = split(b, thread, 32);
            let (warp_y, warp_x) = split(b, warp, u64::from(columns / 8));
            let (y, x) = split(b, lane, 8);
            let (warp_y, warp_x) = (b.mul_const(warp_y, 4), b.mul_const(warp_x, 8));
            return (b.add(warp_y, y), b.add(warp_x, x));
        }
        split(b, thread, columns.into())
    }

    fn multiply(&self, b: &mut Builder, sources: [&Source<'_>; 2], at: [Value; 4], parts: Parts, acc: Place) {
        let TileKernel { p, shape, target, shared, .. } = *self;
        if p.k == 0 {
            return;
        }
        let [part, batch, row0, col0] = at;
        let (lda, ldb) = (Shape::padded(shape.bm, p.compute), Shape::padded(shape.bn, p.compute));
        let thread = b.thread(0);
        let tile_a = Tile {
            operand: &p.a,
            lanes: shape.bm,
            bk: shape.bk,
            threads: shape.threads(),
            n_lanes: p.m,
            n_k: p.k,
            mask_k: parts.mask_k(p.k, shape.bk),
            layout: Layout::KMajor,
            ld: lda,
            stored: p.compute,
            at: 0,
            stage: shape.bk * lda,
        };
        let tile_b =
            Tile { operand: &p.b, lanes: shape.bn, n_lanes: p.n, ld: ldb, at: 2 * shape.bk * lda, stage: shape.bk * ldb, ..tile_a.clone() };
        let base_a = p.a.base(b, batch);
        let base_b = p.b.base(b, batch);
        let a = Loader::new(b, "a", tile_a, target, (sources[0], shared), [thread, base_a, row0]);
        let bl = Loader::new(b, "b", tile_b, target, (sources[1], shared), [thread, base_b, col0]);
        let k0 = b.mul_const(part, parts.len as i64);
        pipeline(b, [&a, &bl], k0, parts.len.min(p.k), |b, parity| self.multiply_tile(b, parity, lda, ldb, acc));
    }

    /// Multiplies the tiles in buffer `parity`.
    fn multiply_tile(&self, b: &mut Builder, parity: Value, lda: u32, ldb: u32, acc: Place) {
        let TileKernel { p, shape, shared, .. } = *self;
        let (run_m, run_n) = shape.runs(p.compute);
        let (ty, tx) = self.place(b);
        let at_a = b.mul_const(parity, (shape.bk * lda).into());
        let at_b = b.mul_const(parity, (shape.bk * ldb).into());
        let (y, x) = (b.mul_const(ty, run_m.into()), b.mul_const(tx, run_n.into()));
        let at_a = b.add(at_a, y);
        let at_b = b.add(at_b, x);
        let at_b = b.add_const(at_b, i64::from(2 * shape.bk * lda));
        let unroll = shape.bk.min(8);
        let (zero, end, step) = (b.u32(0), b.u32(shape.bk), b.u32(unroll));
        let rounds = |b: &mut Builder, k0: Value| {
            b.unrolled(unroll, |b, kk| {
                let k = b.add(k0, kk);
                let row_a = b.mul_const(k, lda.into());
                let row_a = b.add(at_a, row_a);
                let row_b = b.mul_const(k, ldb.into());
                let row_b = b.add(at_b, row_b);
                let xs = self.run(b, shared, row_a, shape.tm / run_m, run_m, shape.bm);
                let ys = self.run(b, shared, row_b, shape.tn / run_n, run_n, shape.bn);
                for (i, x) in xs.iter().enumerate() {
                    for (j, y) in ys.iter().enumerate() {
                        let at = b.u32((i * ys.len() + j) as u32);
                        let old = b.load(acc, at);
                        let new = multiply_add(b, *x, *y, old);
                        b.store(acc, at, new);
                    }
                }
            });
        };
        if unroll == shape.bk { rounds(b, zero) } else { b.repeat(zero, end, step, rounds) }
    }

    /// A thread's elements of one row of a tile: `n` runs, spread evenly over the tile.
    fn run(&self, b: &mut Builder, shared: Place, row: Value, n: u32, run: u32, lanes: u32) -> Vec<Value> {
        let vectors = self.target.vectors && run > 1;
        let mut values = Vec::with_capacity((n * run) as usize);
        for group in 0..n {
            let at = b.add_const(row, i64::from(group * (lanes / n)));
            if vectors {
                let vector = b.load_vector(shared, at, run as u8);
                values.extend((0..run).map(|lane| b.extract(vector, lane as u8)));
            } else {
                for lane in 0..run {
                    let at = b.add_const(at, lane.into());
                    values.push(b.load(shared, at));
                }
            }
        }
        values
    }

    /// Hands the sums to the sink: from registers where they go out as vectors, else through shared memory, so that neighbouring threads
    /// have neighbouring columns.
    fn store(&self, b: &mut Builder, base: &Base<'_, '_>, row0: Value, col0: Value, acc: Place) {
        let TileKernel { p, shape, target, sink, .. } = *self;
        let (run_m, run_n) = shape.runs(p.compute);
        let (ty, tx) = self.place(b);
        let row_of = |b: &mut Builder, i: u32| {
            let y = b.mul_const(ty, run_m.into());
            let row = b.add(row0, y);
            b.add_const(row, i64::from(i / run_m * (shape.bm / (shape.tm / run_m)) + i % run_m))
        };
        let v = sink.vector(target, run_n);
        if v > 1 && v == run_n && !sink.is_epilogue() {
            for i in 0..shape.tm {
                let row = row_of(b, i);
                for group in 0..shape.tn / run_n {
                    let x = b.mul_const(tx, run_n.into());
                    let col = b.add(col0, x);
                    let col = b.add_const(col, i64::from(group * (shape.bn / (shape.tn / run_n))));
                    guarded(b, p, masks(p, shape.bm, shape.bn), row, col, |b| {
                        let sums: Vec<Value> = (0..run_n)
                            .map(|lane| {
                                let at = b.u32(i * shape.tn + group * run_n + lane);
                                b.load(acc, at)
                            })
                            .collect();
                        base.put(b, row, col, &sums);
                    });
                }
            }
            return;
        }
        self.store_staged(b, base, [row0, col0, ty, tx], acc);
    }

    fn store_staged(&self, b: &mut Builder, base: &Base<'_, '_>, at: [Value; 4], acc: Place) {
        let TileKernel { p, shape, target, shared, sink, .. } = *self;
        let [row0, col0, ty, tx] = at;
        let (run_m, run_n) = shape.runs(p.compute);
        let ld = Shape::padded(shape.bn, p.compute);
        let v = sink.vector(target, 16 / p.compute.size() as u32).min(shape.bn);
        let rows = shape.bm / shape.tm;
        // So many of a thread's rows go out at once.
        let most = shape.shared_len(p.compute) / (rows * ld);
        let each = (0..=shape.tm.trailing_zeros()).map(|bit| 1 << bit).filter(|n| *n <= most).max().unwrap_or(1);
        let (zero, one, rounds) = (b.u32(0), b.u32(1), b.u32(shape.tm / each));
        let vectors = self.target.vectors && run_n > 1;
        b.repeat(zero, rounds, one, |b, round| {
            b.barrier();
            for chosen in 0..shape.tm / each {
                let this = b.u32(chosen);
                let now = b.binary(unigrad_scalar::BinaryOp::Eq, round, this);
                b.when(now, |b| {
                    for i in 0..each {
                        let to = b.add_const(ty, i64::from(i * rows));
                        let to = b.mul_const(to, ld.into());
                        for group in 0..shape.tn / run_n {
                            let x = b.mul_const(tx, run_n.into());
                            let x = b.add_const(x, i64::from(group * (shape.bn / (shape.tn / run_n))));
                            let to = b.add(to, x);
                            let sums: Vec<Value> = (0..run_n)
                                .map(|lane| {
                                    let at = b.u32((chosen * each + i) * shape.tn + group * run_n + lane);
                                    b.load(acc, at)
                                })
                                .collect();
                            if vectors {
                                let vector = b.compose(&sums);
                                b.store(shared, to, vector);
                            } else {
                                for (lane, sum) in sums.into_iter().enumerate() {
                                    let to = b.add_const(to, lane as i64);
                                    b.store(shared, to, sum);
                                }
                            }
                        }
                    }
                });
            }
            b.barrier();
            let staged = Staged { shared, rows: each * rows, cols: shape.bn, ld, v, threads: shape.threads(), load: v, parts: 1 };
            staged.put(b, p, base, masks(p, shape.bm, shape.bn), col0, |b, staged| {
                let (i, y) = split(b, staged, rows.into());
                let before = b.mul_const(round, each.into());
                let i = b.add(before, i);
                let (group, within) = split(b, i, run_m.into());
                let group = b.mul_const(group, (shape.bm / (shape.tm / run_m)).into());
                let y = b.mul_const(y, run_m.into());
                let row = b.add(row0, group);
                let row = b.add(row, y);
                b.add(row, within)
            });
        });
    }
}
