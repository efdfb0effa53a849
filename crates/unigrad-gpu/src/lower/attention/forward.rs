//! The forward pass. A workgroup has a block of queries of one head and goes over the keys they see, with a running maximum and sum.
//!
//! Few queries against many keys do not fill a device by their number: heads that share keys become one, and keys are cut into parts,
//! each with a maximum and a sum of its own, which a second step joins in order.

use super::tile::{Shape, Side, Tile};
use super::{Context, Inputs};
use crate::lower::work::{Line, Operand, Scratch, for_each, mul_const_add, threads};
use crate::lower::{Lowered, Signature, Step, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Attention;
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// Parts of the keys at most.
const MOST_PARTS: usize = 64;
/// Keys that are worth a part.
const PART: usize = 256;

pub(in crate::lower) fn lower(kernel: &Attention, target: &Target) -> Result<Lowered, Unsupported> {
    let context = Context::new(kernel, target, &[])?;
    if kernel.batch * kernel.heads * kernel.q_len == 0 {
        return Ok(Lowered::default());
    }
    if let Some(step) = super::fast::forward(&context, target)? {
        return Ok(Lowered { steps: vec![step], scratch: Vec::new() });
    }
    let group = context.group();
    // Heads as one, where a block has room for them all.
    let joined = group > 1 && group * kernel.q_len <= 64;
    let (rows, heads) = if joined { (group * kernel.q_len, kernel.kv_heads) } else { (kernel.q_len, kernel.heads) };
    let shape = Shape::new(target, context.dtype, rows, kernel.k_len, kernel.v_dim);
    let blocks = rows.div_ceil(shape.rows() as usize);
    let chunks = kernel.v_dim.div_ceil(shape.features() as usize).max(1);
    let groups = kernel.batch * heads * blocks * chunks;
    let parts = (2 * target.compute_units.max(1) as usize).div_ceil(groups).min(kernel.k_len / PART).clamp(1, MOST_PARTS);
    let mut scratch = Scratch::default();
    let units = kernel.batch * heads * rows * parts;
    let partial = (parts > 1).then(|| Partial {
        sums: scratch.take(context.dtype, units * kernel.v_dim),
        greatest: scratch.take(context.dtype, units),
        total: scratch.take(context.dtype, units),
    });
    let pass = Forward { context, shape, joined, rows, heads, blocks, chunks, parts, partial };
    let mut steps = vec![pass.blocks(target)?];
    if let Some(partial) = &pass.partial {
        steps.push(pass.join(target, partial)?);
    }
    Ok(Lowered { steps, scratch: scratch.0 })
}

/// What each part of the keys gives: `[batch, head, row, part]`.
struct Partial {
    /// Weighted sums of values, `[…, v_dim]`.
    sums: Operand,
    greatest: Operand,
    total: Operand,
}

struct Forward<'a> {
    context: Context<'a>,
    shape: Shape,
    /// Whether rows are the queries of all heads that share a key head.
    joined: bool,
    rows: usize,
    /// Heads as workgroups see them.
    heads: usize,
    blocks: usize,
    /// Ranges of the value's features.
    chunks: usize,
    parts: usize,
    partial: Option<Partial>,
}

/// What a block's threads know of it.
struct Block {
    batch: Value,
    head: Value,
    /// The first row, and how many there are (`I32`).
    first: Value,
    end: Value,
    part: Value,
    chunk: Value,
}

impl Forward<'_> {
    /// A row's head and query.
    fn query(&self, b: &mut Builder, head: Value, row: Value) -> (Value, Value) {
        if !self.joined {
            return (head, row);
        }
        let len = self.context.kernel.q_len as i64;
        let within = b.div_const(row, len);
        let within = b.cast(within, DType::U32);
        (mul_const_add(b, head, self.context.group() as i64, within), b.rem_const(row, len))
    }

    fn side(&self, b: &mut Builder, place: Place, layout: &unigrad_kernel::Layout4, features: usize, block: &Block) -> Side {
        let group = self.context.group() as i64;
        let head = if self.joined { b.mul_const(block.head, group) } else { block.head };
        let side = self.context.side(b, place, layout, features, block.batch, head);
        let heads = self.joined.then_some((self.context.kernel.q_len, layout.strides[1]));
        Side { heads, ..side }
    }

    fn blocks(&self, target: &Target) -> Result<Step, Unsupported> {
        let Forward { context, shape, .. } = self;
        let kernel = context.kernel;
        let items = kernel.batch * self.heads * self.blocks * self.chunks * self.parts;
        let line = Line::new(items, target)?;
        let mut sig = Signature::new("attention", Tile::block(*shape));
        let inputs = context.open(&mut sig);
        let out =
            if self.partial.is_none() { Some(context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true)) } else { None };
        let lse = if self.partial.is_none() { Some(context.lse(true).open(&mut sig, "lse", true)) } else { None };
        let partial = self.partial.as_ref().map(|p| {
            (p.sums.open(&mut sig, "sums", true), p.greatest.open(&mut sig, "greatest", true), p.total.open(&mut sig, "totals", true))
        });
        let b = &mut sig.b;
        let tile = Tile::new(b, *shape, context.dtype);
        let group = line.group(b);
        let count = b.u32(items as u32);
        let exists = b.lt(group, count);
        // Later queries see more keys under a causal mask: they start first.
        let last = b.add_const(count, -1);
        let mut rest = if kernel.causal { b.sub(last, group) } else { group };
        rest = b.select(exists, rest, last);
        let mut take = |b: &mut Builder, n: usize| {
            let at = b.rem_const(rest, n as i64);
            rest = b.div_const(rest, n as i64);
            at
        };
        let chunk = take(b, self.chunks);
        let part = take(b, self.parts);
        let head = take(b, self.heads);
        let batch = take(b, kernel.batch);
        let first = b.mul_const(rest, shape.rows().into());
        let first = b.cast(first, DType::I32);
        let end = b.int(DType::I32, self.rows as i64);
        let block = Block { batch, head, first, end, part, chunk };
        let kv_head = if self.joined { head } else { b.div_const(head, context.group() as i64) };
        let q = self.side(b, inputs.q, &kernel.q, kernel.qk_dim, &block);
        let k = context.side(b, inputs.k, &kernel.k, kernel.qk_dim, batch, kv_head);
        let v = context.side(b, inputs.v, &kernel.v, kernel.v_dim, batch, kv_head);

        let (zero, hidden) = (b.float(context.dtype, 0.0), b.float(context.dtype, f64::NEG_INFINITY));
        let sums = tile.locals(b, "sums_of", shape.rr * shape.re, zero);
        let totals = tile.locals(b, "total", shape.rr, zero);
        let greatest = tile.locals(b, "most", shape.rr, hidden);
        let (from, to) = self.keys(b, &inputs, &block);
        let step = b.int(DType::I32, shape.columns().into());
        b.repeat(from, to, step, |b, key| {
            self.softmax(b, &tile, &inputs, &block, (&q, &k), (key, to), (sums, totals, greatest));
            let feature = b.mul_const(block.chunk, shape.features().into());
            tile.accumulate(b, sums, (&v, key, to), feature);
        });
        tile.reduce_rows(b, ReduceOp::Sum, totals);
        for r in 0..shape.rr {
            let (local, row) = (b.u32(r), tile.row(b, r));
            let row = b.cast(row, DType::I32);
            let row = b.add(block.first, row);
            let inside = b.lt(row, block.end);
            let inside = b.and(inside, exists);
            let (most, total) = (b.load(greatest, local), b.load(totals, local));
            let leads = tile.leads(b);
            let first_chunk = b.u32(0);
            let first_chunk = b.binary(BinaryOp::Eq, block.chunk, first_chunk);
            let leads = b.and(leads, first_chunk);
            b.when(inside, |b| {
                let (head, i) = self.query(b, block.head, row);
                if let (Some(out), Some(lse)) = (out, lse) {
                    let (factor, log) = normalized(b, context.dtype, most, total);
                    b.when(leads, |b| {
                        let at = context.row_number(b, block.batch, head, i);
                        b.store(lse, at, log);
                    });
                    let y = context.side(b, out, &kernel.out, kernel.v_dim, block.batch, head);
                    let line = y.line(b, i);
                    self.each_feature(b, &tile, &block, r, sums, |b, feature, value| {
                        let feature = b.cast(feature, context.index);
                        let at = mul_const_add(b, feature, y.feature, line);
                        let value = b.mul(value, factor);
                        let value = b.cast(value, kernel.dtype);
                        b.store(out, at, value);
                    });
                }
                if let Some((to_sums, to_greatest, to_totals)) = partial {
                    let unit = mul_const_add(b, block.batch, self.heads as i64, block.head);
                    let row = b.cast(row, DType::U32);
                    let unit = mul_const_add(b, unit, self.rows as i64, row);
                    let unit = mul_const_add(b, unit, self.parts as i64, block.part);
                    b.when(leads, |b| {
                        b.store(to_greatest, unit, most);
                        b.store(to_totals, unit, total);
                    });
                    self.each_feature(b, &tile, &block, r, sums, |b, feature, value| {
                        let at = mul_const_add(b, unit, kernel.v_dim as i64, feature);
                        b.store(to_sums, at, value);
                    });
                }
            });
        }
        Ok(sig.finish(line.grid))
    }

    /// Calls `body` with each feature of the thread that exists, and the row's sum of it.
    fn each_feature(&self, b: &mut Builder, tile: &Tile, block: &Block, r: u32, sums: Place, body: impl Fn(&mut Builder, Value, Value)) {
        let features = b.u32(self.context.kernel.v_dim as u32);
        for e in 0..self.shape.re {
            let column = tile.column(b, e);
            let feature = mul_const_add(b, block.chunk, self.shape.features().into(), column);
            let inside = b.lt(feature, features);
            b.when(inside, |b| {
                let at = b.u32(r * self.shape.re + e);
                let value = b.load(sums, at);
                body(b, feature, value);
            });
        }
    }

    /// The keys of the block's part: from, to (`I32`). From is a multiple of nothing: keys are loaded one by one.
    fn keys(&self, b: &mut Builder, inputs: &Inputs, block: &Block) -> (Value, Value) {
        let (first, end) = if self.joined {
            (b.int(DType::I32, 0), b.int(DType::I32, self.context.kernel.q_len as i64))
        } else {
            let end = b.add_const(block.first, self.shape.rows().into());
            (block.first, b.binary(BinaryOp::Min, end, block.end))
        };
        let (from, to) = self.context.keys_seen(b, inputs, first, end);
        if self.parts == 1 {
            return (from, to);
        }
        let zero = b.int(DType::I32, 0);
        let count = b.sub(to, from);
        let count = b.binary(BinaryOp::Max, count, zero);
        let columns = i64::from(self.shape.columns());
        let each = b.add_const(count, self.parts as i64 * columns - 1);
        let each = b.div_const(each, self.parts as i64 * columns);
        let each = b.mul_const(each, columns);
        let part = b.cast(block.part, DType::I32);
        let skipped = b.mul(each, part);
        let from = b.add(from, skipped);
        let end = b.add(from, each);
        (from, b.binary(BinaryOp::Min, to, end))
    }

    /// Scores of a block of keys become weights; what was summed is scaled to the new maximum.
    #[allow(clippy::too_many_arguments)]
    fn softmax(
        &self,
        b: &mut Builder,
        tile: &Tile,
        inputs: &Inputs,
        block: &Block,
        (q, k): (&Side, &Side),
        (key, to): (Value, Value),
        (sums, totals, greatest): (Place, Place, Place),
    ) {
        let Forward { context, shape, .. } = self;
        let Shape { rr, rc, re, .. } = *shape;
        let dtype = context.dtype;
        let zero = b.float(dtype, 0.0);
        let hidden = b.float(dtype, f64::NEG_INFINITY);
        let scores = tile.locals(b, "scores", rr * rc, zero);
        tile.scores(b, scores, (q, block.first, block.end), (k, key, to));
        let most = tile.locals(b, "most_here", rr, hidden);
        let mut numbers = Vec::new();
        for r in 0..rr {
            let (local, row) = (b.u32(r), tile.row(b, r));
            let row = b.cast(row, DType::I32);
            let row = b.add(block.first, row);
            let exists = b.lt(row, block.end);
            let (head, i) = self.query(b, block.head, row);
            numbers.push(context.row_number(b, block.batch, head, i));
            let bias_line = context.kernel.bias.map(|(layout, _)| {
                let bias = context.side(b, inputs.q, &layout, 0, block.batch, head);
                bias.line(b, i)
            });
            let old = b.load(greatest, local);
            b.store(most, local, old);
            for c in 0..rc {
                let (at, column) = (b.u32(r * rc + c), tile.column(b, c));
                let column = b.cast(column, DType::I32);
                let j = b.add(key, column);
                let seen = context.sees(b, inputs, i, j);
                let before_end = b.lt(j, to);
                let seen = b.and(seen, before_end);
                let seen = b.and(seen, exists);
                let score = b.load(scores, at);
                let score = context.masked(b, inputs, score, seen, bias_line, j);
                b.store(scores, at, score);
                let old = b.load(most, local);
                let new = b.binary(BinaryOp::Max, old, score);
                b.store(most, local, new);
            }
        }
        tile.reduce_rows(b, ReduceOp::Max, most);
        for r in 0..rr {
            let local = b.u32(r);
            let (old, new) = (b.load(greatest, local), b.load(most, local));
            // Where nothing is visible yet the greatest is -inf, and -inf - -inf would be NaN.
            let lowest = b.float(dtype, if dtype == DType::F64 { f64::MIN } else { f32::MIN.into() });
            let shift = b.binary(BinaryOp::Max, new, lowest);
            let less = b.sub(old, shift);
            let factor = b.unary(UnaryOp::Exp, less);
            b.store(greatest, local, new);
            let total = b.load(totals, local);
            let mut total = b.mul(total, factor);
            for e in 0..re {
                let at = b.u32(r * re + e);
                let sum = b.load(sums, at);
                let sum = b.mul(sum, factor);
                b.store(sums, at, sum);
            }
            for c in 0..rc {
                let at = b.u32(r * rc + c);
                let score = b.load(scores, at);
                let score = b.sub(score, shift);
                let mut weight = b.unary(UnaryOp::Exp, score);
                total = b.add(total, weight);
                if inputs.dropout.is_some() {
                    let column = tile.column(b, c);
                    let column = b.cast(column, DType::I32);
                    let j = b.add(key, column);
                    if let Some(kept) = context.kept(b, inputs, numbers[r as usize], j) {
                        weight = b.mul(weight, kept);
                    }
                }
                tile.set_weight(b, r, c, weight);
            }
            b.store(totals, local, total);
        }
    }

    /// Joins the parts of the keys: a thread per row and feature.
    fn join(&self, target: &Target, partial: &Partial) -> Result<Step, Unsupported> {
        let Forward { context, .. } = self;
        let kernel = context.kernel;
        let mut sig = Signature::new("attention_join", [threads(target, 128), 1, 1]);
        let out = context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true);
        let lse = context.lse(true).open(&mut sig, "lse", true);
        let sums = partial.sums.open(&mut sig, "sums", false);
        let greatest = partial.greatest.open(&mut sig, "greatest", false);
        let totals = partial.total.open(&mut sig, "totals", false);
        let width = kernel.v_dim.max(1);
        for_each(sig, target, kernel.batch * self.heads * self.rows * width, DType::U32, |b, item| {
            let (unit, feature) = (b.div_const(item, width as i64), b.rem_const(item, width as i64));
            let (line, row) = (b.div_const(unit, self.rows as i64), b.rem_const(unit, self.rows as i64));
            let (batch, head) = (b.div_const(line, self.heads as i64), b.rem_const(line, self.heads as i64));
            let row = b.cast(row, DType::I32);
            let (head, i) = self.query(b, head, row);
            let first = b.mul_const(unit, self.parts as i64);
            let [zero, one, parts] = [0, 1, self.parts as u32].map(|n| b.u32(n));
            let hidden = b.float(context.dtype, f64::NEG_INFINITY);
            let most = b.variable("most", hidden);
            b.repeat(zero, parts, one, |b, part| {
                let at = b.add(first, part);
                let (old, here) = (b.get(most), b.load(greatest, at));
                let new = b.binary(BinaryOp::Max, old, here);
                b.set(most, new);
            });
            let most = b.get(most);
            let lowest = b.float(context.dtype, if context.dtype == DType::F64 { f64::MIN } else { f32::MIN.into() });
            let shift = b.binary(BinaryOp::Max, most, lowest);
            let none = b.float(context.dtype, 0.0);
            let (total, sum) = (b.variable("total", none), b.variable("sum", none));
            b.repeat(zero, parts, one, |b, part| {
                let at = b.add(first, part);
                let here = b.load(greatest, at);
                let less = b.sub(here, shift);
                let factor = b.unary(UnaryOp::Exp, less);
                let (old, here) = (b.get(total), b.load(totals, at));
                let new = b.fma(here, factor, old);
                b.set(total, new);
                if kernel.v_dim > 0 {
                    let at = mul_const_add(b, at, kernel.v_dim as i64, feature);
                    let (old, here) = (b.get(sum), b.load(sums, at));
                    let new = b.fma(here, factor, old);
                    b.set(sum, new);
                }
            });
            let (total, sum) = (b.get(total), b.get(sum));
            let (factor, log) = normalized(b, context.dtype, most, total);
            let leads = b.binary(BinaryOp::Eq, feature, zero);
            b.when(leads, |b| {
                let at = context.row_number(b, batch, head, i);
                b.store(lse, at, log);
            });
            if kernel.v_dim > 0 {
                let y = context.side(b, out, &kernel.out, kernel.v_dim, batch, head);
                let at = y.at(b, i, feature);
                let value = b.mul(sum, factor);
                let value = b.cast(value, kernel.dtype);
                b.store(out, at, value);
            }
        })
    }
}

/// What sums are multiplied with, and the logarithm of the sum of exponentials: 0 and -inf for a query that sees nothing.
fn normalized(b: &mut Builder, dtype: DType, most: Value, total: Value) -> (Value, Value) {
    let (zero, hidden) = (b.float(dtype, 0.0), b.float(dtype, f64::NEG_INFINITY));
    let nothing = b.binary(BinaryOp::Eq, total, zero);
    let inverse = b.unary(UnaryOp::Recip, total);
    let log = b.unary(UnaryOp::Log, total);
    let log = b.add(most, log);
    (b.select(nothing, zero, inverse), b.select(nothing, hidden, log))
}
