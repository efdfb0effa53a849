//! Two products that attention is made of, by a workgroup: scores of a block of rows against a block of columns, and sums of column
//! vectors weighted by scores. Rows are queries and columns keys, or the other way round.
//!
//! Threads form a grid of `ty` by `tx`: thread `(y, x)` has rows `y, y + ty, …` and columns (or features) `x, x + tx, …`. Operands pass
//! through shared memory, converted to the type of accumulators; what is outside of a tensor is 0 there.
//! Always: a thread's results are in locals indexed by constants, so that every compiler keeps them in registers.

use super::over_bits;
use crate::lower::distribute::mul_const_add;
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_scalar::{BinaryOp, DType, ReduceOp};

/// Sizes of a workgroup's blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    /// Threads along rows, and along columns.
    pub(super) ty: u32,
    pub(super) tx: u32,
    /// Rows and columns of a thread.
    pub(super) rr: u32,
    pub(super) rc: u32,
    /// Features of scores that are staged at a time.
    pub(super) depth: u32,
    /// Features that a thread sums, and columns whose vectors are staged at a time.
    pub(super) re: u32,
    pub(super) jc: u32,
    /// Whether the threads of a row exchange values in their subgroup.
    pub(super) shuffles: bool,
    /// Whether a barrier stands between two products of scores; see [`Target::parts_loops`].
    pub(super) parts: bool,
}

impl Shape {
    /// Blocks for so many rows, sums of so many features, and what fits the target.
    pub(super) fn new(target: &Target, dtype: DType, rows: usize, columns: usize, features: usize) -> Shape {
        let most = target.max_threads.min(256);
        let tx = if rows <= 4 && most >= 128 { 32 } else { 16.min(most) };
        let tx = if tx.is_power_of_two() { tx } else { 1 };
        let ty = prev_power_of_two((most / tx).clamp(1, if rows <= 4 { 4 } else { 16 }));
        let re = (features as u32).div_ceil(tx).clamp(1, if dtype == DType::F64 { 4 } else { 128 / tx });
        let shuffles = target.subgroup.is_some_and(|n| n >= tx && n.is_multiple_of(tx));
        let needed = |each: u32, n: usize| (n as u32).div_ceil(each).clamp(1, 4).next_power_of_two();
        let mut shape =
            Shape { ty, tx, rr: needed(ty, rows), rc: needed(tx, columns), depth: 32, re, jc: 1, shuffles, parts: target.parts_loops() };
        let fits = |shape: &Shape| shape.shared() as usize * dtype.size() <= target.shared_bytes;
        while !fits(&shape) {
            if shape.depth > 8 {
                shape.depth /= 2;
            } else if shape.rc > 1 {
                shape.rc /= 2;
            } else if shape.rr > 1 {
                shape.rr /= 2;
            } else if shape.depth > 1 {
                shape.depth /= 2;
            } else if shape.re > 1 {
                shape.re /= 2;
            } else {
                break;
            }
        }
        // As many columns at a time as the memory for scores' operands has room for.
        let room = prev_power_of_two(shape.staged() / (shape.features() + 1));
        shape.jc = room.min(shape.columns());
        shape
    }

    pub(super) fn threads(&self) -> u32 {
        self.ty * self.tx
    }

    pub(super) fn rows(&self) -> u32 {
        self.ty * self.rr
    }

    pub(super) fn columns(&self) -> u32 {
        self.tx * self.rc
    }

    pub(super) fn features(&self) -> u32 {
        self.tx * self.re
    }

    /// Elements of the staging memory.
    fn staged(&self) -> u32 {
        ((self.rows() + self.columns()) * (self.depth + 1)).max(self.features() + 1)
    }

    /// Elements of all shared memory.
    fn shared(&self) -> u32 {
        let exchange = if self.shuffles { 0 } else { self.rows() * self.tx };
        self.staged() + self.rows() * (self.columns() + 1) + exchange
    }
}

fn prev_power_of_two(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}

/// A tensor's slice of one head (or of a group of heads): `[position, feature]`.
#[derive(Clone, Copy)]
pub(super) struct Side {
    pub(super) place: Place,
    /// The first element, wrapping.
    pub(super) base: Value,
    pub(super) position: i64,
    pub(super) feature: i64,
    pub(super) features: usize,
    /// With several heads as one: positions of a head, and elements from head to head.
    pub(super) heads: Option<(usize, i64)>,
    /// With positions in pages, where these are.
    pub(super) pages: Option<PageTable>,
}

/// The pages of a sequence.
#[derive(Clone, Copy)]
pub(super) struct PageTable {
    pub(super) table: Place,
    /// Where the sequence's first page stands in the table, and how many do.
    pub(super) row: Value,
    pub(super) per_sequence: usize,
    /// Pages that there are, positions of one, elements from page to page.
    pub(super) count: usize,
    pub(super) size: usize,
    pub(super) stride: i64,
}

impl PageTable {
    /// The page of a position, as elements from the first page on, and the position in it. Whatever the table says, it is a page that there is.
    fn find(&self, b: &mut Builder, position: Value, index: DType) -> (Value, Value) {
        let position = b.cast(position, DType::U32);
        let (number, slot) = (b.div_const(position, self.size as i64), b.rem_const(position, self.size as i64));
        let last = b.u32((self.per_sequence as u32).saturating_sub(1));
        let number = b.binary(BinaryOp::Min, number, last);
        let number = b.cast(number, index);
        let at = b.add(self.row, number);
        let page = b.load(self.table, at);
        let (least, most) = (b.int(DType::I32, 0), b.int(DType::I32, (self.count as i64 - 1).max(0)));
        let page = b.binary(BinaryOp::Max, page, least);
        let page = b.binary(BinaryOp::Min, page, most);
        let page = b.cast(page, index);
        (b.mul_const(page, self.stride), b.cast(slot, index))
    }
}

impl Side {
    /// Where the first feature at a position is.
    pub(super) fn line(&self, b: &mut Builder, position: Value) -> Value {
        let index = b.dtype(self.base);
        if let Some(pages) = &self.pages {
            let (page, slot) = pages.find(b, position, index);
            let base = b.add(self.base, page);
            return mul_const_add(b, slot, self.position, base);
        }
        let Some((len, stride)) = self.heads else {
            let position = b.cast(position, index);
            return mul_const_add(b, position, self.position, self.base);
        };
        let (head, position) = (b.div_const(position, len as i64), b.rem_const(position, len as i64));
        let (head, position) = (b.cast(head, index), b.cast(position, index));
        let base = mul_const_add(b, head, stride, self.base);
        mul_const_add(b, position, self.position, base)
    }

    /// Where a feature at a position is.
    pub(super) fn at(&self, b: &mut Builder, position: Value, feature: Value) -> Value {
        let line = self.line(b, position);
        let feature = b.cast(feature, b.dtype(self.base));
        mul_const_add(b, feature, self.feature, line)
    }
}

/// Memory and thread indices of a program of attention.
pub(super) struct Tile {
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    /// Thread along rows and columns, and as one number; `U32`.
    y: Value,
    x: Value,
    t: Value,
    stage: Place,
    /// `[rows][columns + 1]`.
    weights: Place,
    exchange: Option<Place>,
}

impl Tile {
    pub(super) fn new(b: &mut Builder, shape: Shape, dtype: DType) -> Tile {
        let (x, y) = (b.thread(0), b.thread(1));
        let t = mul_const_add(b, y, shape.tx.into(), x);
        let stage = b.shared("stage", dtype, shape.staged());
        let weights = b.shared("weights", dtype, shape.rows() * (shape.columns() + 1));
        let exchange = (!shape.shuffles).then(|| b.shared("exchange", dtype, shape.rows() * shape.tx));
        Tile { shape, dtype, y, x, t, stage, weights, exchange }
    }

    /// The block of a workgroup's threads.
    pub(super) fn block(shape: Shape) -> [u32; 3] {
        [shape.tx, shape.ty, 1]
    }

    /// Locals of the thread, all with one value.
    pub(super) fn locals(&self, b: &mut Builder, name: &str, n: u32, value: Value) -> Place {
        let place = b.local(name, Type::Scalar(self.dtype), n);
        self.fill(b, place, n, value);
        place
    }

    pub(super) fn fill(&self, b: &mut Builder, place: Place, n: u32, value: Value) {
        for i in 0..n {
            let at = b.u32(i);
            b.store(place, at, value);
        }
    }

    /// The thread's `r`-th row within the block.
    pub(super) fn row(&self, b: &mut Builder, r: u32) -> Value {
        b.add_const(self.y, (r * self.shape.ty).into())
    }

    /// The thread's `c`-th column within the block, or its `c`-th feature.
    pub(super) fn column(&self, b: &mut Builder, c: u32) -> Value {
        b.add_const(self.x, (c * self.shape.tx).into())
    }

    /// Whether the thread is the first of its rows.
    pub(super) fn leads(&self, b: &mut Builder) -> Value {
        let zero = b.u32(0);
        b.binary(BinaryOp::Eq, self.x, zero)
    }

    /// Copies `count` positions from `first` on, of which those below `end` exist, and `width` features from `feature` on, to the stage at
    /// `offset`, `width + 1` apart. `first` and `end` are `I32`.
    #[allow(clippy::too_many_arguments)]
    fn copy(&self, b: &mut Builder, side: &Side, offset: u32, (first, end): (Value, Value), count: u32, feature: Value, width: u32) {
        let (size, threads) = (b.u32(count * width), b.u32(self.shape.threads()));
        b.repeat(self.t, size, threads, |b, at| {
            // Neighbouring threads take neighbours in memory.
            let (p, f) = if side.feature.unsigned_abs() <= side.position.unsigned_abs() || side.position == 0 {
                (b.div_const(at, width.into()), b.rem_const(at, width.into()))
            } else {
                (b.rem_const(at, count.into()), b.div_const(at, count.into()))
            };
            let to = mul_const_add(b, p, i64::from(width) + 1, f);
            let to = b.add_const(to, offset.into());
            let p = b.cast(p, DType::I32);
            let position = b.add(first, p);
            let feature = b.add(feature, f);
            let features = b.u32(side.features as u32);
            let (in_rows, in_line) = (b.lt(position, end), b.lt(feature, features));
            let inside = b.and(in_rows, in_line);
            b.when_else(
                inside,
                |b| {
                    let from = side.at(b, position, feature);
                    let value = b.load(side.place, from);
                    let value = b.cast(value, self.dtype);
                    b.store(self.stage, to, value);
                },
                |b| {
                    let zero = b.float(self.dtype, 0.0);
                    b.store(self.stage, to, zero);
                },
            );
        });
    }

    /// `sums[r][c] = rows[r] · columns[c]`. Bounds are as for [`Tile::copy`].
    pub(super) fn scores(&self, b: &mut Builder, sums: Place, rows: (&Side, Value, Value), columns: (&Side, Value, Value)) {
        let Shape { rr, rc, depth, .. } = self.shape;
        let (n_rows, n_columns) = (self.shape.rows(), self.shape.columns());
        let zero = b.float(self.dtype, 0.0);
        self.fill(b, sums, rr * rc, zero);
        let (first, features, step) = (b.u32(0), b.u32(rows.0.features as u32), b.u32(depth));
        b.repeat(first, features, step, |b, feature| {
            b.barrier();
            self.copy(b, rows.0, 0, (rows.1, rows.2), n_rows, feature, depth);
            self.copy(b, columns.0, n_rows * (depth + 1), (columns.1, columns.2), n_columns, feature, depth);
            b.barrier();
            let (zero, one) = (b.u32(0), b.u32(1));
            b.repeat(zero, step, one, |b, k| {
                let load = |b: &mut Builder, at: Value, offset: u32| {
                    let at = mul_const_add(b, at, i64::from(depth) + 1, k);
                    let at = b.add_const(at, offset.into());
                    b.load(self.stage, at)
                };
                let mut xs = Vec::new();
                for r in 0..rr {
                    let row = self.row(b, r);
                    xs.push(load(b, row, 0));
                }
                for c in 0..rc {
                    let column = self.column(b, c);
                    let y = load(b, column, n_rows * (depth + 1));
                    for r in 0..rr {
                        self.multiply_add(b, sums, r * rc + c, xs[r as usize], y);
                    }
                }
            });
        });
    }

    fn multiply_add(&self, b: &mut Builder, sums: Place, at: u32, x: Value, y: Value) {
        let at = b.u32(at);
        let old = b.load(sums, at);
        let new = b.fma(x, y, old);
        b.store(sums, at, new);
    }

    /// Sets the thread's weight of a row and a column.
    pub(super) fn set_weight(&self, b: &mut Builder, r: u32, c: u32, value: Value) {
        let (row, column) = (self.row(b, r), self.column(b, c));
        let at = mul_const_add(b, row, i64::from(self.shape.columns()) + 1, column);
        b.store(self.weights, at, value);
    }

    /// `sums[r][e] += Σ_column weights[r][column] * vectors[column][feature + e]`. Begins with a barrier, and ends without: what writes
    /// weights again has to wait.
    pub(super) fn accumulate(&self, b: &mut Builder, sums: Place, vectors: (&Side, Value, Value), feature: Value) {
        let Shape { rr, re, jc, .. } = self.shape;
        let width = self.shape.features();
        let (zero, one, columns, step) = (b.u32(0), b.u32(1), b.u32(self.shape.columns()), b.u32(jc));
        b.repeat(zero, columns, step, |b, j0| {
            let first = b.cast(j0, DType::I32);
            let first = b.add(vectors.1, first);
            b.barrier();
            self.copy(b, vectors.0, 0, (first, vectors.2), jc, feature, width);
            b.barrier();
            b.repeat(zero, step, one, |b, j| {
                let column = b.add(j0, j);
                let mut weights = Vec::new();
                for r in 0..rr {
                    let row = self.row(b, r);
                    let at = mul_const_add(b, row, i64::from(self.shape.columns()) + 1, column);
                    weights.push(b.load(self.weights, at));
                }
                for e in 0..re {
                    let feature = self.column(b, e);
                    let at = mul_const_add(b, j, i64::from(width) + 1, feature);
                    let y = b.load(self.stage, at);
                    for r in 0..rr {
                        self.multiply_add(b, sums, r * re + e, weights[r as usize], y);
                    }
                }
            });
        });
    }

    /// Reduces each of the thread's rows over the threads of that row; all of them get the result, in the locals' place.
    pub(super) fn reduce_rows(&self, b: &mut Builder, op: ReduceOp, values: Place) {
        let Shape { rr, tx, .. } = self.shape;
        let Some(exchange) = self.exchange else {
            for r in 0..rr {
                let at = b.u32(r);
                let value = b.load(values, at);
                let value = over_bits(b, op, value, (0..tx.ilog2()).rev());
                b.store(values, at, value);
            }
            return;
        };
        for r in 0..rr {
            let (at, row) = (b.u32(r), self.row(b, r));
            let value = b.load(values, at);
            let to = mul_const_add(b, row, tx.into(), self.x);
            b.store(exchange, to, value);
        }
        b.barrier();
        for r in 0..rr {
            let (local, row) = (b.u32(r), self.row(b, r));
            let first = b.mul_const(row, tx.into());
            let value = b.load(exchange, first);
            b.store(values, local, value);
            let (one, end) = (b.u32(1), b.u32(tx));
            b.repeat(one, end, one, |b, lane| {
                let at = b.add(first, lane);
                let (old, value) = (b.load(values, local), b.load(exchange, at));
                let new = b.combine(op, old, value);
                b.store(values, local, new);
            });
        }
    }
}
