//! The gradients: a workgroup has a block of rows and goes over columns. For `dq` rows are queries and columns keys; for `dk` and `dv` rows are
//! keys and columns the queries of all heads that share them.
//!
//! A turn: columns to shared memory; scores by fragments, through shared memory, to probabilities by threads; their gradients the same way;
//! both, rounded to the type of the inputs, in products with the columns that are added to the sums.

use super::Sizes;
use super::panel::{PAD, Panel, PanelMemory, Source};
use super::product::{Grid, Part, Right, Sums};
use super::runs::{RUN, Threads};
use crate::lower::attention::backward::{Backward, Places};
use crate::lower::attention::run;
use crate::lower::attention::tile::Side;
use crate::lower::distribute::{Line, mul_const_add};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use std::f64::consts::LOG2_E;
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::Layout4;
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// The launch for `dq`, or for `dk`, `dv` or both.
pub(in crate::lower::attention) fn lower(
    pass: &Backward<'_>,
    sizes: &Sizes,
    keys: Option<[bool; 2]>,
    target: &Target,
) -> Result<ProgramLaunch, Unsupported> {
    let Backward { kernel, context, .. } = pass;
    let forward = &kernel.forward;
    let by_key = keys.is_some();
    let (n_rows, heads) = if by_key { (forward.k_len, forward.kv_heads) } else { (forward.q_len, forward.heads) };
    let items = forward.batch * heads * n_rows.div_ceil(sizes.rows as usize);
    let line = Line::new(items, target)?;
    let mut sig = Signature::new(if by_key { "attention_dkv_fragment" } else { "attention_dq_fragment" }, [sizes.threads(), 1, 1]);
    sig.made_for(target);
    let arguments = pass.open(&mut sig);
    let mut output = |name: &str, n: usize| context.output(pass.at(3 + n), kernel.grad_buffers[n]).open(&mut sig, name, true);
    let outputs = match keys {
        None => [Some((output("dq", 0), &kernel.dq)), None],
        Some([dk, dv]) => [dk.then(|| (output("dk", 1), &kernel.dk)), dv.then(|| (output("dv", 2), &kernel.dv))],
    };
    let b = &mut sig.b;
    let reversed = forward.spec.causal && !by_key;
    let ([_, head, batch], first, exists) = pass.take(b, line, [1, heads, forward.batch], items, sizes.rows, reversed);
    let places = pass.of_sequence(b, &arguments, batch);
    let end = b.int(DType::I32, n_rows as i64);
    let shared = |b: &mut Builder, name: &str, dtype, rows: u32, ld: u32| PanelMemory { place: b.shared(name, dtype, rows * ld), ld };
    let half = forward.dtype;
    let widths = [sizes.qk, sizes.v];
    let rows = widths.map(|width| shared(b, "rows", half, sizes.rows, width + PAD));
    let columns = widths.map(|width| shared(b, "columns", half, sizes.keys, width + PAD));
    let scores = shared(b, "scores", DType::F32, sizes.rows, sizes.scores_ld());
    let score_grads = if sizes.takes_turns { scores } else { shared(b, "score_grads", DType::F32, sizes.rows, sizes.scores_ld()) };
    let grads = shared(b, "grads", half, sizes.rows, sizes.keys + PAD);
    let weights = by_key.then(|| shared(b, "weights", half, sizes.rows, sizes.keys + PAD));

    let thread = b.thread(0);
    let warp = b.div_const(thread, sizes.subgroup.into());
    let threads = Threads { thread, count: sizes.threads(), target };
    let grid = Grid::new(b, sizes.shape, sizes.warps, warp);
    let products = Sums::new(b, "products", grid, [sizes.rows, sizes.keys]);
    let sums = [0, 1].map(|at| outputs[at].is_some().then(|| Sums::new(b, ["sums_of", "value_sums"][at], grid, [sizes.rows, widths[at]])));
    sums.iter().flatten().for_each(|sums| sums.clear(b));
    let block =
        Block { pass, sizes, places: &places, threads, by_key, batch, first, end, rows, columns, scores, score_grads, grads, weights };
    let kv_head = if by_key { head } else { b.div_const(head, context.group() as i64) };
    let [of_rows, of_columns] =
        if by_key { [block.keys(b, kv_head), block.queries(b, head)] } else { [block.queries(b, head), block.keys(b, kv_head)] };
    for ((source, name), at) in of_rows.into_iter().zip(["r0", "r1"]).zip(0..) {
        let panel = Panel::new(b, name, source, [sizes.rows, widths[at]], rows[at], threads);
        panel.fetch(b, first, end);
        panel.deposit(b);
    }
    let last = b.add_const(first, sizes.rows.into());
    if by_key {
        let seen_end = b.binary(BinaryOp::Min, last, places.inputs.kv_len);
        let (from, to) = context.queries_seeing(b, &places.inputs, first, seen_end);
        // No key of the block counts: nothing to go over.
        let none = b.binary(BinaryOp::Ge, first, seen_end);
        let to = b.select(none, from, to);
        let [zero, group, one] = [0, context.group() as u32, 1].map(|n| b.u32(n));
        b.repeat(zero, group, one, |b, within| {
            let head = mul_const_add(b, kv_head, context.group() as i64, within);
            let of_columns = block.queries(b, head);
            block.turns(b, head, of_columns, (from, to), &products, &sums);
        });
    } else {
        let seen_end = b.binary(BinaryOp::Min, last, end);
        let (from, to) = context.keys_seen(b, &places.inputs, first, seen_end);
        block.turns(b, head, of_columns, (from, to), &products, &sums);
    }
    let scale = f64::from_bits(forward.spec.scale_bits);
    // Weights that dropout keeps count for those that it does not.
    let keep = forward.spec.dropout.map_or(1.0, |dropout| f64::from(f32::from_bits(dropout.keep_bits)));
    let factors = [scale, if keep == 0.0 { 0.0 } else { 1.0 / keep }];
    for (at, (sums, output)) in sums.iter().zip(outputs).enumerate() {
        if let (Some(sums), Some((place, layout))) = (sums, output) {
            let side = context.side(b, place, layout, [forward.qk_dim, forward.v_dim][at], batch, head);
            sums.each_part(b, scores, false, |b, part| block.write(b, exists, (&side, layout), factors[at], part));
        }
    }
    Ok(sig.finish(line.grid))
}

/// What a workgroup's threads know.
struct Block<'a> {
    pass: &'a Backward<'a>,
    sizes: &'a Sizes,
    places: &'a Places,
    threads: Threads<'a>,
    by_key: bool,
    batch: Value,
    /// The first row, and how many there are (`I32`).
    first: Value,
    end: Value,
    /// Of queries or keys, of gradients of the output or values.
    rows: [PanelMemory; 2],
    columns: [PanelMemory; 2],
    /// Scores, and their gradients.
    scores: PanelMemory,
    score_grads: PanelMemory,
    grads: PanelMemory,
    weights: Option<PanelMemory>,
}

/// What a thread knows of a query.
#[derive(Clone, Copy)]
struct Query {
    /// Position (`I32`), and whether it is there.
    i: Value,
    exists: Value,
    /// Its number in `[batch, head, query]`.
    number: Value,
    bias_line: Option<Value>,
    /// The logarithm of its sum, in powers of two, and its delta.
    log: Value,
    delta: Value,
}

/// What is saved of the thread's queries, in locals: logarithms in powers of two, deltas.
struct Saved {
    n: u32,
    logs: Place,
    deltas: Place,
}

/// The thread's part of a block of scores: [`RUN`] columns from `column` on of rows `y`, `y + step`, …
struct Mine {
    y: Value,
    column: Value,
    step: u32,
    n: u32,
    /// Of every row, if rows are queries; else of every column.
    queries: Vec<Query>,
    /// Whether the mask hides some pair of the block.
    cut: Value,
    /// Probabilities; what dropout multiplies them with.
    weights: Place,
    kept: Place,
}

impl Block<'_> {
    fn queries(&self, b: &mut Builder, head: Value) -> [Source<'_>; 2] {
        let Backward { kernel, context, .. } = self.pass;
        let forward = &kernel.forward;
        let q = context.side(b, self.places.inputs.q, &forward.q, forward.qk_dim, self.batch, head);
        let dout = context.side(b, self.places.dout, &kernel.dout, forward.v_dim, self.batch, head);
        [Source { side: q, layout: &forward.q, feature: None }, Source { side: dout, layout: &kernel.dout, feature: None }]
    }

    fn keys(&self, b: &mut Builder, head: Value) -> [Source<'_>; 2] {
        let Backward { kernel, context, .. } = self.pass;
        let forward = &kernel.forward;
        let k = context.side(b, self.places.inputs.k, &forward.k, forward.qk_dim, self.batch, head);
        let v = context.side(b, self.places.inputs.v, &forward.v, forward.v_dim, self.batch, head);
        [Source { side: k, layout: &forward.k, feature: None }, Source { side: v, layout: &forward.v, feature: None }]
    }

    /// Goes over columns `from..to` of a query head.
    fn turns(
        &self,
        b: &mut Builder,
        head: Value,
        [c0, c1]: [Source<'_>; 2],
        (from, to): (Value, Value),
        products: &Sums,
        sums: &[Option<Sums>; 2],
    ) {
        let Block { sizes, rows, columns, .. } = self;
        let panels = [
            Panel::new(b, "c0", c0, [sizes.keys, sizes.qk], columns[0], self.threads),
            Panel::new(b, "c1", c1, [sizes.keys, sizes.v], columns[1], self.threads),
        ];
        let n = if self.by_key { RUN } else { sizes.rows / (sizes.threads() / sizes.lanes()) };
        let local = |b: &mut Builder, name: &str| b.local(name, Type::Scalar(DType::F32), n);
        let saved = Saved { n, logs: local(b, "logs"), deltas: local(b, "deltas") };
        let end = if self.by_key { to } else { self.end };
        panels.iter().for_each(|panel| panel.fetch(b, from, to));
        self.fetch_queries(b, &saved, head, from, end);
        let step = b.int(DType::I32, sizes.keys.into());
        b.repeat(from, to, step, |b, column| {
            panels.iter().for_each(|panel| panel.deposit(b));
            b.barrier();
            let product = |b: &mut Builder, at: usize, to: PanelMemory| {
                products.clear(b);
                products.add(b, rows[at], (columns[at], Right::ByColumn), [sizes.qk, sizes.v][at]);
                products.store_all(b, to);
            };
            product(b, 0, self.scores);
            if !sizes.takes_turns {
                product(b, 1, self.score_grads);
            }
            b.barrier();
            let queries = self.queries_of(b, &saved, head, column, end);
            let mine = self.mine(b, queries, column, to);
            self.weights(b, &mine, column);
            if sizes.takes_turns {
                b.barrier();
                product(b, 1, self.score_grads);
                b.barrier();
            }
            self.gradients(b, &mine, column);
            b.barrier();
            let next = b.add(column, step);
            panels.iter().for_each(|panel| panel.fetch(b, next, to));
            if self.by_key {
                self.fetch_queries(b, &saved, head, next, end);
            }
            if let Some(sums) = &sums[0] {
                sums.add(b, self.grads, (columns[0], Right::ByDepth), sizes.keys);
            }
            if let (Some(sums), Some(weights)) = (&sums[1], self.weights) {
                sums.add(b, weights, (columns[1], Right::ByDepth), sizes.keys);
            }
            // The next columns wait for the last reader of these.
            b.barrier();
        });
    }

    /// The thread's place among those of a row; its first row; rows from one to the next.
    fn place(&self, b: &mut Builder) -> (Value, Value, u32) {
        let lanes = self.sizes.lanes();
        let (y, x) = (b.div_const(self.threads.thread, lanes.into()), b.rem_const(self.threads.thread, lanes.into()));
        (x, y, self.sizes.threads() / lanes)
    }

    /// Loads what is saved of the thread's queries: those of its rows, or of its columns in the block that begins at `column`; of those below
    /// `end`.
    fn fetch_queries(&self, b: &mut Builder, saved: &Saved, head: Value, column: Value, end: Value) {
        let context = &self.pass.context;
        for at in 0..saved.n {
            let i = self.query_at(b, column, at);
            let exists = b.lt(i, end);
            // exp(x - inf): nothing.
            let (infinity, zero) = (b.float(DType::F32, f64::INFINITY), b.float(DType::F32, 0.0));
            let local = b.u32(at);
            b.store(saved.logs, local, infinity);
            b.store(saved.deltas, local, zero);
            b.when(exists, |b| {
                let number = context.row_number(b, self.batch, head, i);
                let log = b.load(self.places.lse, number);
                let least = b.float(DType::F32, f64::NEG_INFINITY);
                let saw_nothing = b.binary(BinaryOp::Eq, log, least);
                let power = b.float(DType::F32, LOG2_E);
                let log = b.mul(log, power);
                let log = b.select(saw_nothing, infinity, log);
                b.store(saved.logs, local, log);
                let delta = b.load(self.places.delta, number);
                b.store(saved.deltas, local, delta);
            });
        }
    }

    /// The position of one of them (`I32`).
    fn query_at(&self, b: &mut Builder, column: Value, at: u32) -> Value {
        let (x, y, step) = self.place(b);
        let (first, within) = if self.by_key {
            let run = b.mul_const(x, RUN.into());
            (column, b.add_const(run, at.into()))
        } else {
            (self.first, b.add_const(y, (at * step).into()))
        };
        let within = b.cast(within, DType::I32);
        b.add(first, within)
    }

    fn queries_of(&self, b: &mut Builder, saved: &Saved, head: Value, column: Value, end: Value) -> Vec<Query> {
        let context = &self.pass.context;
        let query = |at: u32| {
            let i = self.query_at(b, column, at);
            let exists = b.lt(i, end);
            let number = context.row_number(b, self.batch, head, i);
            let bias_line = context.bias_line(b, &self.places.inputs, self.batch, head, i);
            let local = b.u32(at);
            Query { i, exists, number, bias_line, log: b.load(saved.logs, local), delta: b.load(saved.deltas, local) }
        };
        (0..saved.n).map(query).collect()
    }

    fn mine(&self, b: &mut Builder, queries: Vec<Query>, column: Value, to: Value) -> Mine {
        let context = &self.pass.context;
        let (x, y, step) = self.place(b);
        let n = self.sizes.rows / step;
        let within = b.mul_const(x, RUN.into());
        let last_row = b.add_const(self.first, i64::from(self.sizes.rows) - 1);
        let last_column = b.add_const(column, i64::from(self.sizes.keys) - 1);
        let (rows, columns) = ([self.first, last_row], [column, last_column]);
        let (of_queries, of_keys) = if self.by_key { (columns, rows) } else { (rows, columns) };
        let hides = context.hides_some(b, &self.places.inputs, of_queries, of_keys);
        let beyond = b.binary(BinaryOp::Le, to, last_column);
        let cut = b.binary(BinaryOp::Or, hides, beyond);
        let local = |b: &mut Builder, name: &str, n: u32| b.local(name, Type::Scalar(DType::F32), n);
        let kept = local(b, "kept", if context.kernel.spec.dropout.is_some() { n * RUN } else { 1 });
        Mine { y, column: within, step, n, queries, cut, weights: local(b, "weights_of", n * RUN), kept }
    }

    /// The query of an element, and its key (`I32`).
    fn pair(&self, b: &mut Builder, mine: &Mine, column: Value, r: u32, c: u32) -> (Query, Value) {
        if self.by_key {
            let row = b.add_const(mine.y, (r * mine.step).into());
            let row = b.cast(row, DType::I32);
            return (mine.queries[c as usize], b.add(self.first, row));
        }
        let within = b.cast(mine.column, DType::I32);
        let first = b.add(column, within);
        (mine.queries[r as usize], b.add_const(first, c.into()))
    }

    /// Whether an element's query sees its key.
    fn sees(&self, b: &mut Builder, (query, key): (Query, Value)) -> Value {
        let seen = self.pass.context.sees(b, &self.places.inputs, query.i, key);
        b.and(seen, query.exists)
    }

    /// Zeros in the thread's elements that are hidden.
    fn mask(&self, b: &mut Builder, mine: &Mine, column: Value, elements: Place) {
        b.when(mine.cut, |b| {
            for r in 0..mine.n {
                for c in 0..RUN {
                    let pair = self.pair(b, mine, column, r, c);
                    let seen = self.sees(b, pair);
                    let at = b.u32(r * RUN + c);
                    let (value, zero) = (b.load(elements, at), b.float(DType::F32, 0.0));
                    let value = b.select(seen, value, zero);
                    b.store(elements, at, value);
                }
            }
        });
    }

    /// The thread's elements of a row in shared memory.
    fn row(&self, b: &mut Builder, mine: &Mine, r: u32, memory: PanelMemory) -> Value {
        let row = b.add_const(mine.y, (r * mine.step).into());
        mul_const_add(b, row, memory.ld.into(), mine.column)
    }

    /// Scores in shared memory become probabilities, and weights for the values' gradients.
    fn weights(&self, b: &mut Builder, mine: &Mine, column: Value) {
        let Backward { context, .. } = self.pass;
        let inputs = &self.places.inputs;
        let scale = f64::from_bits(context.kernel.spec.scale_bits);
        let scale = b.float(DType::F32, if inputs.bias.is_some() { scale } else { scale * LOG2_E });
        for r in 0..mine.n {
            let from = self.row(b, mine, r, self.scores);
            for (c, score) in self.threads.load_run(b, self.scores.place, from, RUN).into_iter().enumerate() {
                let c = c as u32;
                let mut score = b.mul(score, scale);
                let (query, key) = self.pair(b, mine, column, r, c);
                if inputs.bias.is_some() {
                    let seen = self.sees(b, (query, key));
                    score = context.biased(b, inputs, score, seen, query.bias_line, key);
                    let power = b.float(DType::F32, LOG2_E);
                    score = b.mul(score, power);
                }
                let score = b.sub(score, query.log);
                let weight = b.unary(UnaryOp::Exp2, score);
                let at = b.u32(r * RUN + c);
                b.store(mine.weights, at, weight);
                if let Some(kept) = context.kept(b, inputs, query.number, key) {
                    b.store(mine.kept, at, kept);
                }
            }
        }
        self.mask(b, mine, column, mine.weights);
        let Some(weights) = self.weights else { return };
        for r in 0..mine.n {
            let values: Vec<Value> = (0..RUN)
                .map(|c| {
                    let at = b.u32(r * RUN + c);
                    let mut weight = b.load(mine.weights, at);
                    if inputs.dropout.is_some() {
                        let (kept, zero) = (b.load(mine.kept, at), b.float(DType::F32, 0.0));
                        let is_kept = b.lt(zero, kept);
                        weight = b.select(is_kept, weight, zero);
                    }
                    b.cast(weight, context.kernel.dtype)
                })
                .collect();
            let to = self.row(b, mine, r, weights);
            self.threads.store_run(b, weights.place, to, &values);
        }
    }

    /// Gradients of probabilities in shared memory become those of scores.
    fn gradients(&self, b: &mut Builder, mine: &Mine, column: Value) {
        let context = &self.pass.context;
        let local = b.local("grads_of", Type::Scalar(DType::F32), mine.n * RUN);
        for r in 0..mine.n {
            let from = self.row(b, mine, r, self.score_grads);
            for (c, grad) in self.threads.load_run(b, self.score_grads.place, from, RUN).into_iter().enumerate() {
                let at = b.u32(r * RUN + c as u32);
                let query = mine.queries[if self.by_key { c } else { r as usize }];
                let mut grad = grad;
                if self.places.inputs.dropout.is_some() {
                    let kept = b.load(mine.kept, at);
                    grad = b.mul(grad, kept);
                }
                let grad = b.sub(grad, query.delta);
                let weight = b.load(mine.weights, at);
                let grad = b.mul(weight, grad);
                b.store(local, at, grad);
            }
        }
        // A hidden pair has no part in it, whatever the numbers beyond the mask.
        self.mask(b, mine, column, local);
        for r in 0..mine.n {
            let values: Vec<Value> = (0..RUN)
                .map(|c| {
                    let at = b.u32(r * RUN + c);
                    let grad = b.load(local, at);
                    b.cast(grad, context.kernel.dtype)
                })
                .collect();
            let to = self.row(b, mine, r, self.grads);
            self.threads.store_run(b, self.grads.place, to, &values);
        }
    }

    /// Writes the sums in memory, times a factor.
    fn write(&self, b: &mut Builder, exists: Value, (side, layout): (&Side, &Layout4), factor: f64, part: &Part) {
        let dtype = self.pass.context.kernel.dtype;
        let v = run(layout, side.features, dtype, self.threads.target).min(RUN);
        self.threads.each_run(b, part, self.scores, v, |b, row, column, at| {
            let row = b.cast(row, DType::I32);
            let row = b.add(self.first, row);
            let feature = part.column(b, column);
            let features = b.u32(side.features as u32);
            let (in_rows, in_line) = (b.lt(row, self.end), b.lt(feature, features));
            let inside = b.and(in_rows, in_line);
            let inside = b.and(inside, exists);
            b.when(inside, |b| {
                let factor = b.float(DType::F32, factor);
                let values = self.threads.load_scaled_run(b, self.scores.place, at, v, (factor, dtype));
                let to = side.at(b, row, feature);
                self.threads.store_run(b, side.place, to, &values);
            });
        });
    }
}
