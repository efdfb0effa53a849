//! The forward pass: a workgroup has a block of queries and goes over the keys they see.
//!
//! A turn: keys to shared memory; scores by fragments, to shared memory; probabilities by threads, to shared memory; their product with the
//! values added to the sums. The next keys and values are on their way to registers meanwhile.
//!
//! The reference that is subtracted from a row's scores follows the row's maximum only where that has grown by more than [`SLACK`]: then the
//! sums, whose fragments are opaque, go through shared memory to be scaled. So probabilities are at most `2^SLACK`, which is as precise as 1,
//! and most blocks scale nothing.

use super::Sizes;
use super::panel::{PAD, Panel, PanelMemory, Source};
use super::product::{Grid, Part, Right, Sums};
use super::runs::{RUN, Threads};
use crate::lower::attention::Inputs;
use crate::lower::attention::division::{Block, Division, Results};
use crate::lower::attention::{over_bits, run};
use crate::lower::distribute::mul_const_add;
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use std::f64::consts::{LN_2, LOG2_E};
use unigrad_ir::{Builder, Place, SubgroupOp, Target, Type, Value};
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

/// By how many powers of two scores may exceed their row's reference.
const SLACK: f64 = 8.0;

/// The launch.
pub(in crate::lower::attention) fn lower(division: &Division<'_>, sizes: &Sizes, target: &Target) -> Result<ProgramLaunch, Unsupported> {
    let context = division.context;
    let kernel = context.kernel;
    let line = division.line(target)?;
    let mut sig = Signature::new("attention_fragment", [sizes.threads(), 1, 1]);
    sig.made_for(target);
    let parameters = context.open(&mut sig);
    let results = division.open(&mut sig);
    let b = &mut sig.b;
    let block = division.block(b, line);
    let inputs = context.of_sequence(b, &parameters, block.batch);
    let shared = |b: &mut Builder, name: &str, dtype, len: u32, ld: u32| PanelMemory { place: b.shared(name, dtype, len), ld };
    let queries = shared(b, "queries", kernel.dtype, sizes.rows * (sizes.qk + PAD), sizes.qk + PAD);
    let (k_len, v_len) = sizes.panels();
    let keys = shared(b, "keys", kernel.dtype, k_len, sizes.qk + PAD);
    let values = v_len.map_or(keys.place, |len| b.shared("values", kernel.dtype, len));
    let values = PanelMemory { place: values, ld: sizes.v + PAD };
    let weights = shared(b, "weights", kernel.dtype, sizes.rows * (sizes.keys + PAD), sizes.keys + PAD);
    let scores = shared(b, "scores", DType::F32, sizes.rows * sizes.scores_ld(), sizes.scores_ld());
    let factors = b.shared("factors", DType::F32, sizes.rows);
    let flags = b.shared("flags", DType::U32, sizes.warps.iter().product());

    let thread = b.thread(0);
    let warp = b.div_const(thread, sizes.subgroup.into());
    let grid = Grid::new(b, sizes.shape, sizes.warps, warp);
    let threads = Threads { thread, count: sizes.threads(), target };
    let q = Source { side: division.side(b, inputs.q, &kernel.q, kernel.qk_dim, &block), layout: &kernel.q, feature: None };
    let k = context.key_side(b, &inputs, inputs.k, &kernel.k, kernel.qk_dim, block.batch, block.kv_head);
    let k = Source { side: k, layout: &kernel.k, feature: None };
    let v = context.key_side(b, &inputs, inputs.v, &kernel.v, kernel.v_dim, block.batch, block.kv_head);
    let several = sizes.v < kernel.v_dim as u32;
    let v = Source { side: v, layout: &kernel.v, feature: several.then_some(block.feature) };
    let q = Panel::new(b, "q", q, [sizes.rows, sizes.qk], queries, threads);
    let k = Panel::new(b, "k", k, [sizes.keys, sizes.qk], keys, threads);
    let v = Panel::new(b, "v", v, [sizes.keys, sizes.v], values, threads);
    let products = Sums::new(b, "products", grid, [sizes.rows, sizes.keys]);
    let sums = Sums::new(b, "sums_of", grid, [sizes.rows, sizes.v]);
    sums.clear(b);

    let (from, to) = division.keys(b, &inputs, &block);
    q.fetch(b, block.first, block.end);
    k.fetch(b, from, to);
    q.deposit(b);
    let rows = Rows::new(b, division, sizes, &inputs, &block, threads, (scores, weights, factors, flags, warp));
    let step = b.int(DType::I32, sizes.keys.into());
    b.repeat(from, to, step, |b, key| {
        k.deposit(b);
        b.barrier();
        v.fetch(b, key, to);
        products.clear(b);
        products.add(b, queries, (keys, Right::ByColumn), sizes.qk);
        products.store_all(b, scores);
        b.barrier();
        v.deposit(b);
        rows.softmax(b, &inputs, &block, key, to);
        b.barrier();
        let next = b.add(key, step);
        k.fetch(b, next, to);
        let grown = rows.any_grown(b);
        b.when(grown, |b| sums.each_part(b, scores, true, |b, part| rows.scale(b, part)));
        sums.add(b, weights, (values, Right::ByDepth), sizes.keys);
        if sizes.takes_turns {
            b.barrier();
        }
    });
    rows.finish(b, results, &block);
    sums.each_part(b, scores, false, |b, part| rows.write(b, results, &block, part));
    Ok(sig.finish(line.grid))
}

/// What a thread knows of its rows: [`RUN`] neighbouring columns of every row from `y` on in steps of `step`.
struct Rows<'a> {
    division: &'a Division<'a>,
    sizes: &'a Sizes,
    threads: Threads<'a>,
    warp: Value,
    /// The thread's place among those of a row, and its first row.
    x: Value,
    y: Value,
    step: u32,
    scores: PanelMemory,
    weights: PanelMemory,
    factors: Place,
    flags: Place,
    /// Per row: the reference, in powers of two; the thread's part of the sum of weights.
    references: Place,
    totals: Place,
    rows: Vec<Row>,
}

/// One of the rows: what does not change from block to block.
struct Row {
    /// Its number (`I32`), and whether it is there.
    row: Value,
    exists: Value,
    /// The query's position (`I32`).
    i: Value,
    /// With dropout: its number in `[batch, head, query]`.
    number: Option<Value>,
    bias_line: Option<Value>,
}

impl<'a> Rows<'a> {
    #[allow(clippy::too_many_arguments)]
    fn new(
        b: &mut Builder,
        division: &'a Division<'a>,
        sizes: &'a Sizes,
        inputs: &Inputs,
        block: &Block,
        threads: Threads<'a>,
        (scores, weights, factors, flags, warp): (PanelMemory, PanelMemory, Place, Place, Value),
    ) -> Rows<'a> {
        let context = division.context;
        let lanes = sizes.lanes();
        let (y, x) = (b.div_const(threads.thread, lanes.into()), b.rem_const(threads.thread, lanes.into()));
        let step = sizes.threads() / lanes;
        let n = sizes.rows / step;
        let references = b.local("references", Type::Scalar(DType::F32), n);
        let totals = b.local("totals_of", Type::Scalar(DType::F32), n);
        let (hidden, zero) = (b.float(DType::F32, f64::NEG_INFINITY), b.float(DType::F32, 0.0));
        let rows = (0..n)
            .map(|r| {
                let local = b.u32(r);
                b.store(references, local, hidden);
                b.store(totals, local, zero);
                let row = b.add_const(y, (r * step).into());
                let row = b.cast(row, DType::I32);
                let row = b.add(block.first, row);
                let exists = b.lt(row, block.end);
                let (head, i) = division.query(b, block.head, row);
                let number = inputs.dropout.map(|_| context.row_number(b, block.batch, head, i));
                let bias_line = context.bias_line(b, inputs, block.batch, head, i);
                Row { row, exists, i, number, bias_line }
            })
            .collect();
        Rows { division, sizes, threads, warp, x, y, step, scores, weights, factors, flags, references, totals, rows }
    }

    /// Whether some query of the block may not see some key of it (`Bool`).
    fn is_cut(&self, b: &mut Builder, inputs: &Inputs, block: &Block, key: Value, to: Value) -> Value {
        let context = self.division.context;
        let queries = if self.division.joined {
            [b.int(DType::I32, 0), b.int(DType::I32, context.kernel.q_len as i64 - 1)]
        } else {
            [block.first, b.add_const(block.first, i64::from(self.sizes.rows) - 1)]
        };
        let last = b.add_const(key, i64::from(self.sizes.keys) - 1);
        let beyond = b.binary(BinaryOp::Le, to, last);
        let hides = context.hides_some(b, inputs, queries, [key, last]);
        b.binary(BinaryOp::Or, beyond, hides)
    }

    /// Scores in shared memory become weights there; rows whose reference changes leave their factor, subgroups with such rows a flag.
    fn softmax(&self, b: &mut Builder, inputs: &Inputs, block: &Block, key: Value, to: Value) {
        let context = self.division.context;
        let scale = f64::from_bits(context.kernel.spec.scale_bits);
        let n = self.rows.len() as u32;
        let has_bias = inputs.bias.is_some();
        let hidden = b.float(DType::F32, f64::NEG_INFINITY);
        // With a bias, powers of two come after it.
        let scale = b.float(DType::F32, if has_bias { scale } else { scale * LOG2_E });
        let local = b.local("scores_of", Type::Scalar(DType::F32), n * RUN);
        let column = b.mul_const(self.x, RUN.into());
        for r in 0..n {
            let row = b.add_const(self.y, (r * self.step).into());
            let from = mul_const_add(b, row, self.scores.ld.into(), column);
            for (c, score) in self.threads.load_run(b, self.scores.place, from, RUN).into_iter().enumerate() {
                let score = b.mul(score, scale);
                let at = b.u32(r * RUN + c as u32);
                b.store(local, at, score);
            }
        }
        let first = b.cast(column, DType::I32);
        let first = b.add(key, first);
        let mask = |b: &mut Builder| {
            for (r, row) in self.rows.iter().enumerate() {
                for c in 0..RUN {
                    let j = b.add_const(first, c.into());
                    let mut seen = context.sees(b, inputs, row.i, j);
                    let before_end = b.lt(j, to);
                    seen = b.and(seen, before_end);
                    let at = b.u32(r as u32 * RUN + c);
                    let mut score = b.load(local, at);
                    if has_bias {
                        seen = b.and(seen, row.exists);
                        score = context.biased(b, inputs, score, seen, row.bias_line, j);
                        let power = b.float(DType::F32, LOG2_E);
                        score = b.mul(score, power);
                    }
                    let score = b.select(seen, score, hidden);
                    b.store(local, at, score);
                }
            }
        };
        if has_bias {
            mask(b);
        } else {
            let cut = self.is_cut(b, inputs, block, key, to);
            b.when(cut, mask);
        }
        let mut any = b.u32(0);
        for (r, row) in self.rows.iter().enumerate() {
            let r = r as u32;
            let at = b.u32(r);
            let all: Vec<Value> = (0..RUN)
                .map(|c| {
                    let at = b.u32(r * RUN + c);
                    b.load(local, at)
                })
                .collect();
            let most = all[1..].iter().fold(all[0], |most, score| b.binary(BinaryOp::Max, most, *score));
            let most = self.over_row(b, ReduceOp::Max, most);
            let old = b.load(self.references, at);
            let slack = b.float(DType::F32, SLACK);
            let limit = b.add(old, slack);
            // From -inf on the first score is a step; a score that is no number is none.
            let grows = b.lt(limit, most);
            let new = b.select(grows, most, old);
            b.store(self.references, at, new);
            // Where nothing is visible yet the reference is -inf, and -inf - -inf would be NaN.
            let lowest = b.float(DType::F32, f32::MIN.into());
            let shift = b.binary(BinaryOp::Max, new, lowest);
            let less = b.sub(old, shift);
            let factor = b.unary(UnaryOp::Exp2, less);
            let one = b.float(DType::F32, 1.0);
            let factor = b.select(grows, factor, one);
            // Sums from before the first visible key are 0.
            let had = b.lt(hidden, old);
            let counts = b.and(grows, had);
            let counts = b.cast(counts, DType::U32);
            any = b.binary(BinaryOp::Or, any, counts);
            self.when_leads(b, |b| {
                let to = b.add_const(self.y, (r * self.step).into());
                b.store(self.factors, to, factor);
            });
            let total = b.load(self.totals, at);
            let mut total = b.mul(total, factor);
            let mut weights = Vec::new();
            for (c, score) in all.into_iter().enumerate() {
                let score = b.sub(score, shift);
                let mut weight = b.unary(UnaryOp::Exp2, score);
                total = b.add(total, weight);
                if let Some(number) = row.number {
                    let j = b.add_const(first, c as i64);
                    if let Some(kept) = context.is_kept(b, inputs, number, j) {
                        let none = b.float(DType::F32, 0.0);
                        weight = b.select(kept, weight, none);
                    }
                }
                weights.push(b.cast(weight, context.kernel.dtype));
            }
            b.store(self.totals, at, total);
            let to = b.add_const(self.y, (r * self.step).into());
            let to = mul_const_add(b, to, self.weights.ld.into(), column);
            self.threads.store_run(b, self.weights.place, to, &weights);
        }
        let any = b.subgroup(SubgroupOp::Reduce(ReduceOp::Max), any);
        let (lane, zero) = (b.lane(), b.u32(0));
        let first_lane = b.binary(BinaryOp::Eq, lane, zero);
        b.when(first_lane, |b| b.store(self.flags, self.warp, any));
    }

    /// A reduction over the threads of a row.
    fn over_row(&self, b: &mut Builder, op: ReduceOp, value: Value) -> Value {
        over_bits(b, op, value, (0..self.sizes.lanes().ilog2()).rev())
    }

    fn when_leads(&self, b: &mut Builder, body: impl FnOnce(&mut Builder)) {
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, self.x, zero);
        b.when(leads, body);
    }

    /// Whether a reference of any row has changed (`Bool`, the same for all threads).
    fn any_grown(&self, b: &mut Builder) -> Value {
        let zero = b.u32(0);
        let mut any = zero;
        for warp in 0..self.sizes.warps.iter().product() {
            let at = b.u32(warp);
            let flag = b.load(self.flags, at);
            any = b.binary(BinaryOp::Or, any, flag);
        }
        b.binary(BinaryOp::Ne, any, zero)
    }

    /// Scales the sums in memory by their rows' factors.
    fn scale(&self, b: &mut Builder, part: &Part) {
        self.threads.each_run(b, part, self.scores, RUN, |b, row, _, at| {
            let factor = b.load(self.factors, row);
            let sums = self.threads.load_run(b, self.scores.place, at, RUN);
            let scaled: Vec<Value> = sums.into_iter().map(|sum| b.mul(sum, factor)).collect();
            self.threads.store_run(b, self.scores.place, at, &scaled);
        });
    }

    /// Leaves what sums are multiplied with, and keeps what else is known of the rows.
    fn finish(&self, b: &mut Builder, results: Results, block: &Block) {
        // Weights that dropout keeps count for those that it does not.
        let keep = self.division.context.kernel.spec.dropout.map_or(1.0, |dropout| f64::from(f32::from_bits(dropout.keep_bits)));
        let kept = b.float(DType::F32, if keep == 0.0 { 0.0 } else { 1.0 / keep });
        for (r, row) in self.rows.iter().enumerate() {
            let at = b.u32(r as u32);
            let total = b.load(self.totals, at);
            let total = self.over_row(b, ReduceOp::Sum, total);
            let (reference, natural) = (b.load(self.references, at), b.float(DType::F32, LN_2));
            let most = b.mul(reference, natural);
            let inside = b.and(row.exists, block.exists);
            self.when_leads(b, |b| {
                b.when(inside, |b| {
                    let leads = inside;
                    let factor = self.division.finish_row(b, results, block, row.row, (most, total), leads);
                    let factor = factor.map_or(kept, |factor| b.mul(factor, kept));
                    let to = b.add_const(self.y, (r as u32 * self.step).into());
                    b.store(self.factors, to, factor);
                });
            });
        }
    }

    /// Writes the sums in memory to where they go.
    fn write(&self, b: &mut Builder, results: Results, block: &Block, part: &Part) {
        let kernel = self.division.context.kernel;
        let (dtype, v) = match results {
            Results::Whole { .. } => (kernel.dtype, run(&kernel.out, kernel.v_dim, kernel.dtype, self.threads.target).min(RUN)),
            Results::Part { .. } => (DType::F32, 1),
        };
        self.threads.each_run(b, part, self.scores, v, |b, within, column, at| {
            let row = b.cast(within, DType::I32);
            let row = b.add(block.first, row);
            let column = part.column(b, column);
            let feature = b.add(block.feature, column);
            let features = b.u32(kernel.v_dim as u32);
            let (in_rows, in_line) = (b.lt(row, block.end), b.lt(feature, features));
            let inside = b.and(in_rows, in_line);
            let inside = b.and(inside, block.exists);
            b.when(inside, |b| {
                let factor = b.load(self.factors, within);
                let sink = self.division.sink(b, results, block, row);
                let values = self.threads.load_scaled_run(b, self.scores.place, at, v, (factor, dtype));
                let feature = b.cast(feature, b.dtype(sink.line));
                let to = mul_const_add(b, feature, sink.feature, sink.line);
                self.threads.store_run(b, sink.place, to, &values);
            });
        });
    }
}
