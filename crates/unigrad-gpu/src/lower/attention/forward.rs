//! The forward pass with products by threads. A workgroup has a block of queries of one head and goes over the keys they see, with a running
//! maximum and sum.

use super::division::{Block, BlockSizes, Division};
use super::few::Few;
use super::matrix;
use super::tile::{Shape, Side, Tile};
use super::{Context, Inputs, shift};
use crate::lower::distribute::{ScratchBuffers, mul_const_add};
use crate::lower::{Lowered, ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Attention;
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

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
    let (_, rows, _) = Division::rows_of(&context);
    let mut scratch = ScratchBuffers::default();
    let (division, step);
    if let Some(sizes) = matrix::Sizes::forward(kernel, rows, target) {
        division = Division::new(&context, sizes.block(), target, &mut scratch);
        step = matrix::forward(&division, &sizes, target)?;
    } else if let Some(few) = Few::new(kernel, rows, context.dtype, target) {
        division = Division::new(&context, few.block(), target, &mut scratch);
        step = super::few::forward(&division, few, target)?;
    } else {
        let shape = Shape::new(target, context.dtype, rows, kernel.k_len, kernel.v_dim);
        let sizes = BlockSizes { rows: shape.rows(), keys: shape.columns(), features: shape.features(), part: PART };
        division = Division::new(&context, sizes, target, &mut scratch);
        step = Forward { division: &division, shape }.blocks(target)?;
    }
    let steps = std::iter::once(step).chain(division.join(target)?).collect();
    Ok(Lowered { steps, scratch: scratch.0 })
}

struct Forward<'a> {
    division: &'a Division<'a>,
    shape: Shape,
}

impl Forward<'_> {
    fn blocks(&self, target: &Target) -> Result<ProgramLaunch, Unsupported> {
        let Forward { division, shape } = self;
        let context = division.context;
        let kernel = context.kernel;
        let line = division.line(target)?;
        let mut sig = Signature::new("attention", Tile::block(*shape));
        sig.made_for(target);
        let parameters = context.open(&mut sig);
        let results = division.open(&mut sig);
        let b = &mut sig.b;
        let tile = Tile::new(b, *shape, context.dtype);
        let block = division.block(b, line);
        let inputs = context.of_sequence(b, &parameters, block.batch);
        let q = division.side(b, inputs.q, &kernel.q, kernel.qk_dim, &block);
        let k = context.key_side(b, &inputs, inputs.k, &kernel.k, kernel.qk_dim, block.batch, block.kv_head);
        let v = context.key_side(b, &inputs, inputs.v, &kernel.v, kernel.v_dim, block.batch, block.kv_head);

        let (zero, hidden) = (b.float(context.dtype, 0.0), b.float(context.dtype, f64::NEG_INFINITY));
        let sums = tile.locals(b, "sums_of", shape.rr * shape.re, zero);
        let totals = tile.locals(b, "total", shape.rr, zero);
        let greatest = tile.locals(b, "most", shape.rr, hidden);
        let (from, to) = division.keys(b, &inputs, &block);
        let step = b.int(DType::I32, shape.columns().into());
        b.repeat(from, to, step, |b, key| {
            self.softmax(b, &tile, &inputs, &block, (&q, &k), (key, to), (sums, totals, greatest));
            tile.accumulate(b, sums, (&v, key, to), block.feature);
        });
        tile.reduce_rows(b, ReduceOp::Sum, totals);
        for r in 0..shape.rr {
            let (local, row) = (b.u32(r), tile.row(b, r));
            let row = b.cast(row, DType::I32);
            let row = b.add(block.first, row);
            let inside = b.lt(row, block.end);
            let inside = b.and(inside, block.exists);
            let (most, total) = (b.load(greatest, local), b.load(totals, local));
            let leads = tile.leads(b);
            b.when(inside, |b| {
                let factor = division.finish_row(b, results, &block, row, (most, total), leads);
                let sink = division.sink(b, results, &block, row);
                let dtype = b.program().place_type(sink.place).map_or(context.dtype, |ty| ty.dtype());
                self.each_feature(b, &tile, &block, r, sums, |b, feature, value| {
                    let feature = b.cast(feature, b.dtype(sink.line));
                    let at = mul_const_add(b, feature, sink.feature, sink.line);
                    let value = factor.map_or(value, |factor| b.mul(value, factor));
                    let value = b.cast(value, dtype);
                    b.store(sink.place, at, value);
                });
            });
        }
        Ok(sig.finish(line.grid))
    }

    /// Calls `body` with each feature of the thread that exists, and the row's sum of it.
    fn each_feature(&self, b: &mut Builder, tile: &Tile, block: &Block, r: u32, sums: Place, body: impl Fn(&mut Builder, Value, Value)) {
        let features = b.u32(self.division.context.kernel.v_dim as u32);
        for e in 0..self.shape.re {
            let column = tile.column(b, e);
            let feature = b.add(block.feature, column);
            let inside = b.lt(feature, features);
            b.when(inside, |b| {
                let at = b.u32(r * self.shape.re + e);
                let value = b.load(sums, at);
                body(b, feature, value);
            });
        }
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
        let Forward { division, shape } = self;
        let context = division.context;
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
            let (head, i) = division.query(b, block.head, row);
            numbers.push(context.row_number(b, block.batch, head, i));
            let bias_line = context.bias_line(b, inputs, block.batch, head, i);
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
            let shift = shift(b, dtype, new);
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
}
