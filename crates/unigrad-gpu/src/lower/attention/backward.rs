//! The gradients, by recomputing blocks of probabilities from the saved logarithms. One step sums `dout · out` per query; one has
//! workgroups per block of queries and goes over keys, for `dq`; one has workgroups per block of keys and goes over the queries of all
//! heads that share them, in order, for `dk` and `dv`. On NVIDIA Hopper one step makes all three.

use super::matrix::{self, Sizes};
use super::tile::{Shape, Side, Tile};
use super::{Context, Inputs, Parameters, over_bits, run};
use crate::lower::distribute::{Line, Operand, ScratchBuffers, for_each, mul_const_add, threads};
use crate::lower::{Lowered, ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{AttentionGrad, Layout4};
use unigrad_scalar::{BinaryOp, DType, ReduceOp, UnaryOp};

pub(in crate::lower) fn lower(kernel: &AttentionGrad, target: &Target) -> Result<Lowered, Unsupported> {
    let forward = &kernel.forward;
    if forward.pages.is_some() {
        let help = "this is an error in the compiler: please report it".to_owned();
        return Err(Unsupported { cause: "the gradient of attention over pages".to_owned(), help });
    }
    let [dq, dk, dv] = kernel.grad_buffers;
    let context = Context::new(forward, target, &[kernel.dout_buffer, dq, dk, dv])?;
    let n_rows = forward.batch * forward.heads * forward.q_len;
    let mut scratch = ScratchBuffers::default();
    let delta = scratch.take(context.dtype, n_rows);
    let in_one_pass = super::fast::InOnePass::new(&context, kernel, target).filter(|_| n_rows > 0);
    let turns = in_one_pass.as_ref().map(|pass| (scratch.take(DType::U32, pass.scratch()[0]), pass.scratch()[0]));
    let pass = Backward { kernel, context, delta, turns };
    let mut steps = Vec::new();
    if n_rows > 0 && forward.qk_dim + forward.v_dim > 0 {
        steps.push(pass.deltas(target, n_rows)?);
    }
    if let (Some(one), Some((turns, _))) = (in_one_pass, turns) {
        let sums = scratch.take(DType::F32, one.scratch()[1]);
        steps.push(one.step(&pass.context, kernel, [delta, turns, sums], target)?);
        return Ok(Lowered { steps, scratch: scratch.0 });
    }
    if n_rows > 0
        && let Some(fast) = super::fast::backward(&pass.context, kernel, delta, target)?
    {
        steps.extend(fast);
        return Ok(Lowered { steps, scratch: scratch.0 });
    }
    if n_rows > 0 && forward.qk_dim > 0 {
        steps.push(match Sizes::backward(forward, false, target) {
            Some(sizes) => matrix::backward(&pass, &sizes, None, target)?,
            None => pass.queries(target)?,
        });
    }
    if forward.batch * forward.kv_heads * forward.k_len > 0 && forward.qk_dim + forward.v_dim > 0 {
        // The inputs, `lse`, `dout` and `delta` are read.
        let buffers = forward.n_inputs() + 3 + 2;
        let passes: &[[bool; 2]] = if target.max_buffers as usize >= buffers { &[[true, true]] } else { &[[true, false], [false, true]] };
        let sizes = Sizes::backward(forward, true, target);
        for wanted in passes {
            steps.push(match &sizes {
                Some(sizes) => matrix::backward(&pass, sizes, Some(*wanted), target)?,
                None => pass.keys(target, *wanted)?,
            });
        }
    }
    Ok(Lowered { steps, scratch: scratch.0 })
}

pub(super) struct Backward<'a> {
    pub(super) kernel: &'a AttentionGrad,
    pub(super) context: Context<'a>,
    /// `[batch, head, query]`: the sum of `dout * out`.
    delta: Operand,
    /// Numbers that are 0 when the gradients begin, at most one for each row, and how many.
    turns: Option<(Operand, usize)>,
}

/// Parameters of the two passes over blocks.
pub(super) struct Arguments {
    parameters: Parameters,
    lse: Place,
    dout: Place,
    delta: Place,
}

/// What a workgroup for a sequence knows of them.
pub(super) struct Places {
    pub(super) inputs: Inputs,
    pub(super) lse: Place,
    pub(super) dout: Place,
    pub(super) delta: Place,
}

/// A block of rows against a block of columns.
struct Pair<'a> {
    /// Rows: `q` and `dout`, or `k` and `v`; then the columns.
    rows: [&'a Side; 2],
    columns: [&'a Side; 2],
    /// First and end, `I32`.
    row: (Value, Value),
    column: (Value, Value),
    /// Whether rows are queries.
    by_query: bool,
    batch: Value,
    /// The query head.
    head: Value,
}

/// The thread of a row sets the turn of its number to 0, if there is one.
fn begin_turns(b: &mut Builder, turns: Option<(Place, usize)>, row: Value) {
    let Some((turns, count)) = turns else { return };
    let (count, zero) = (b.u32(count as u32), b.u32(0));
    let has_one = b.lt(row, count);
    b.when(has_one, |b| b.store(turns, row, zero));
}

impl Backward<'_> {
    /// The kernel's argument that comes so many after the forward pass's inputs.
    pub(super) fn at(&self, n: usize) -> usize {
        self.context.n_inputs + n
    }

    fn deltas(&self, target: &Target, n_rows: usize) -> Result<ProgramLaunch, Unsupported> {
        let Backward { kernel, context, .. } = self;
        let forward = &kernel.forward;
        if let Some(step) = self.deltas_by_subgroups(target, n_rows)? {
            return Ok(step);
        }
        let mut sig = Signature::new("attention_delta", [threads(target, 64), 1, 1]);
        let out = context.input(self.at(0), forward.out_buffer).open(&mut sig, "y", false);
        let dout = context.input(self.at(2), kernel.dout_buffer).open(&mut sig, "dy", false);
        let delta = self.delta.open(&mut sig, "delta", true);
        let turns = self.open_turns(&mut sig);
        for_each(sig, target, n_rows, DType::U32, |b, item| {
            let (line, i) = (b.div_const(item, forward.q_len as i64), b.rem_const(item, forward.q_len as i64));
            let (batch, head) = (b.div_const(line, forward.heads as i64), b.rem_const(line, forward.heads as i64));
            let (y, dy) = (
                context.side(b, out, &forward.out, forward.v_dim, batch, head),
                context.side(b, dout, &kernel.dout, forward.v_dim, batch, head),
            );
            let (y_line, dy_line) = (y.line(b, i), dy.line(b, i));
            let none = b.float(context.dtype, 0.0);
            let sum = b.variable("sum", none);
            let [zero, end, one] = [0, forward.v_dim as u32, 1].map(|n| b.u32(n));
            b.repeat(zero, end, one, |b, feature| {
                let feature = b.cast(feature, context.index);
                let (y_at, dy_at) = (mul_const_add(b, feature, y.feature, y_line), mul_const_add(b, feature, dy.feature, dy_line));
                let (y, dy, old) = (b.load(out, y_at), b.load(dout, dy_at), b.get(sum));
                let (y, dy) = (b.cast(y, context.dtype), b.cast(dy, context.dtype));
                let new = b.fma(y, dy, old);
                b.set(sum, new);
            });
            let sum = b.get(sum);
            b.store(delta, item, sum);
            begin_turns(b, turns, item);
        })
    }

    fn open_turns(&self, sig: &mut Signature) -> Option<(Place, usize)> {
        self.turns.map(|(turns, count)| (turns.open(sig, "turns", true), count))
    }

    /// The same where neighbouring threads can read a row's features at once, each a run of them, and add up what they have.
    fn deltas_by_subgroups(&self, target: &Target, n_rows: usize) -> Result<Option<ProgramLaunch>, Unsupported> {
        let Backward { kernel, context, .. } = self;
        let forward = &kernel.forward;
        let [of_out, of_dout] = [&forward.out, &kernel.dout].map(|layout| run(layout, forward.v_dim, forward.dtype, target));
        let v = of_out.min(of_dout);
        let lanes = forward.v_dim as u32 / v.max(1);
        let subgroup = target.subgroup.filter(|n| n.is_power_of_two() && lanes.is_power_of_two() && lanes <= *n);
        let (Some(subgroup), 2..) = (subgroup, v) else { return Ok(None) };
        let count = threads(target, 128);
        if count < subgroup {
            return Ok(None);
        }
        let rows = count / lanes;
        let line = Line::new(n_rows.div_ceil(rows as usize), target)?;
        let mut sig = Signature::new("attention_delta", [count, 1, 1]);
        let out = context.input(self.at(0), forward.out_buffer).open(&mut sig, "y", false);
        let dout = context.input(self.at(2), kernel.dout_buffer).open(&mut sig, "dy", false);
        let delta = self.delta.open(&mut sig, "delta", true);
        let turns = self.open_turns(&mut sig);
        let b = &mut sig.b;
        let (group, thread) = (line.group(b), b.thread(0));
        let (within, lane) = (b.div_const(thread, lanes.into()), b.rem_const(thread, lanes.into()));
        let item = mul_const_add(b, group, rows.into(), within);
        // All threads of a subgroup take part in an exchange: those beyond the end have the last row.
        let end = b.u32(n_rows as u32);
        let last = b.u32(n_rows as u32 - 1);
        let inside = b.lt(item, end);
        let row = b.binary(BinaryOp::Min, item, last);
        let (of, i) = (b.div_const(row, forward.q_len as i64), b.rem_const(row, forward.q_len as i64));
        let (batch, head) = (b.div_const(of, forward.heads as i64), b.rem_const(of, forward.heads as i64));
        let feature = b.mul_const(lane, v.into());
        let load = |b: &mut Builder, place: Place, layout: &Layout4| {
            let side = context.side(b, place, layout, forward.v_dim, batch, head);
            let at = side.at(b, i, feature);
            let loaded = b.load_vector(place, at, v as u8);
            let one = |b: &mut Builder, e: u32| {
                let value = b.extract(loaded, e as u8);
                b.cast(value, context.dtype)
            };
            (0..v).map(|e| one(b, e)).collect::<Vec<Value>>()
        };
        let (ys, dys) = (load(b, out, &forward.out), load(b, dout, &kernel.dout));
        let mut sum = b.float(context.dtype, 0.0);
        for (y, dy) in ys.into_iter().zip(dys) {
            sum = b.fma(y, dy, sum);
        }
        let sum = over_bits(b, ReduceOp::Sum, sum, 0..lanes.ilog2());
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, lane, zero);
        let leads = b.and(leads, inside);
        b.when(leads, |b| {
            b.store(delta, item, sum);
            begin_turns(b, turns, item);
        });
        Ok(Some(sig.finish(line.grid)))
    }

    pub(super) fn open(&self, sig: &mut Signature) -> Arguments {
        let parameters = self.context.open(sig);
        let lse = self.context.lse(false).open(sig, "lse", false);
        let dout = self.context.input(self.at(2), self.kernel.dout_buffer).open(sig, "dy", false);
        let delta = self.delta.open(sig, "delta", false);
        Arguments { parameters, lse, dout, delta }
    }

    pub(super) fn of_sequence(&self, b: &mut Builder, arguments: &Arguments, batch: Value) -> Places {
        let Arguments { parameters, lse, dout, delta } = arguments;
        Places { inputs: self.context.of_sequence(b, parameters, batch), lse: *lse, dout: *dout, delta: *delta }
    }

    /// Leaves the probabilities of a block (after dropout) in the first local, the gradients of its scores in the second.
    fn pair(&self, b: &mut Builder, tile: &Tile, places: &Places, pair: &Pair<'_>, (weights, grads): (Place, Place)) {
        let context = &self.context;
        let Shape { rr, rc, parts, .. } = tile.shape;
        let (row, column) = (pair.row, pair.column);
        tile.scores(b, weights, (pair.rows[0], row.0, row.1), (pair.columns[0], column.0, column.1));
        if parts {
            b.barrier();
        }
        tile.scores(b, grads, (pair.rows[1], row.0, row.1), (pair.columns[1], column.0, column.1));
        let infinity = b.float(context.dtype, f64::INFINITY);
        let zero = b.float(context.dtype, 0.0);
        // What is known of each query: its number, where its bias begins, the logarithm of its sum, its delta.
        let query = |b: &mut Builder, i: Value, end: Value| {
            let exists = b.lt(i, end);
            let number = context.row_number(b, pair.batch, pair.head, i);
            let bias_line = context.bias_line(b, &places.inputs, pair.batch, pair.head, i);
            // exp(x - inf): nothing.
            let (log, delta) = (b.variable("log", infinity), b.variable("delta_of", zero));
            b.when(exists, |b| {
                let saved = b.load(places.lse, number);
                let least = b.float(context.dtype, f64::NEG_INFINITY);
                let saw_nothing = b.binary(BinaryOp::Eq, saved, least);
                let saved = b.select(saw_nothing, infinity, saved);
                b.set(log, saved);
                let value = b.load(places.delta, number);
                b.set(delta, value);
            });
            (exists, number, bias_line, b.get(log), b.get(delta))
        };
        let along = |b: &mut Builder, first: Value, within: Value| {
            let within = b.cast(within, DType::I32);
            b.add(first, within)
        };
        let columns: Vec<_> = (0..rc)
            .map(|c| {
                let within = tile.column(b, c);
                let at = along(b, column.0, within);
                (at, (!pair.by_query).then(|| query(b, at, column.1)))
            })
            .collect();
        for r in 0..rr {
            let within = tile.row(b, r);
            let at_row = along(b, row.0, within);
            let row_query = pair.by_query.then(|| query(b, at_row, row.1));
            for c in 0..rc {
                let local = b.u32(r * rc + c);
                let (at_column, column_query) = &columns[c as usize];
                let Some((exists, number, bias_line, log, delta)) = row_query.or(*column_query) else {
                    b.mistake("neither rows nor columns are queries");
                    continue;
                };
                let (i, j, end) = if pair.by_query { (at_row, *at_column, column.1) } else { (*at_column, at_row, row.1) };
                let seen = context.sees(b, &places.inputs, i, j);
                let seen = b.and(seen, exists);
                let inside = b.lt(j, end);
                let seen = b.and(seen, inside);
                let score = b.load(weights, local);
                let score = context.masked(b, &places.inputs, score, seen, bias_line, j);
                let score = b.sub(score, log);
                let weight = b.unary(UnaryOp::Exp, score);
                let mut grad = b.load(grads, local);
                let mut dropped = weight;
                if let Some(kept) = context.kept(b, &places.inputs, number, j) {
                    grad = b.mul(grad, kept);
                    dropped = b.mul(weight, kept);
                }
                let grad = b.sub(grad, delta);
                let grad = b.mul(weight, grad);
                // A hidden pair has no part in it, whatever the numbers beyond the mask.
                let (grad, dropped) = (b.select(seen, grad, zero), b.select(seen, dropped, zero));
                b.store(weights, local, dropped);
                b.store(grads, local, grad);
            }
        }
    }

    /// Hands a local block to all threads.
    fn share(&self, b: &mut Builder, tile: &Tile, block: Place) {
        let Shape { rr, rc, .. } = tile.shape;
        for r in 0..rr {
            for c in 0..rc {
                let at = b.u32(r * rc + c);
                let value = b.load(block, at);
                tile.set_weight(b, r, c, value);
            }
        }
    }

    /// Writes the thread's sums, times a factor.
    #[allow(clippy::too_many_arguments)]
    fn write(&self, b: &mut Builder, tile: &Tile, side: &Side, row: (Value, Value), chunk: Value, sums: Place, factor: f64) {
        let Shape { rr, re, .. } = tile.shape;
        let features = b.u32(side.features as u32);
        for r in 0..rr {
            let within = tile.row(b, r);
            let within = b.cast(within, DType::I32);
            let at = b.add(row.0, within);
            let inside = b.lt(at, row.1);
            b.when(inside, |b| {
                let line = side.line(b, at);
                for e in 0..re {
                    let column = tile.column(b, e);
                    let feature = mul_const_add(b, chunk, tile.shape.features().into(), column);
                    let inside = b.lt(feature, features);
                    b.when(inside, |b| {
                        let local = b.u32(r * re + e);
                        let value = b.load(sums, local);
                        let factor = b.float(self.context.dtype, factor);
                        let value = b.mul(value, factor);
                        let value = b.cast(value, self.context.kernel.dtype);
                        let feature = b.cast(feature, self.context.index);
                        let to = mul_const_add(b, feature, side.feature, line);
                        b.store(side.place, to, value);
                    });
                }
            });
        }
    }

    /// A workgroup's range of features, its head and batch, and the first of its rows; and whether there is such a group. Blocks of later
    /// rows come first if `reversed`.
    pub(super) fn take(
        &self,
        b: &mut Builder,
        line: Line,
        sizes: [usize; 3],
        items: usize,
        rows: u32,
        reversed: bool,
    ) -> ([Value; 3], Value, Value) {
        let group = line.group(b);
        let count = b.u32(items as u32);
        let exists = b.lt(group, count);
        let zero = b.u32(0);
        let mut rest = b.select(exists, group, zero);
        if reversed {
            let last = b.u32(items as u32 - 1);
            rest = b.sub(last, rest);
        }
        let parts = sizes.map(|n| {
            let at = b.rem_const(rest, n as i64);
            rest = b.div_const(rest, n as i64);
            at
        });
        let first = b.mul_const(rest, rows.into());
        (parts, b.cast(first, DType::I32), exists)
    }

    fn queries(&self, target: &Target) -> Result<ProgramLaunch, Unsupported> {
        let Backward { kernel, context, .. } = self;
        let forward = &kernel.forward;
        let shape = Shape::new(target, context.dtype, forward.q_len, forward.k_len, forward.qk_dim);
        let blocks = forward.q_len.div_ceil(shape.rows() as usize);
        let chunks = forward.qk_dim.div_ceil(shape.features() as usize).max(1);
        let items = forward.batch * forward.heads * blocks * chunks;
        let line = Line::new(items, target)?;
        let mut sig = Signature::new("attention_dq", Tile::block(shape));
        sig.made_for(target);
        let arguments = self.open(&mut sig);
        let dq = context.output(self.at(3), kernel.grad_buffers[0]).open(&mut sig, "dq", true);
        let b = &mut sig.b;
        let tile = Tile::new(b, shape, context.dtype);
        let ([chunk, head, batch], first, exists) =
            self.take(b, line, [chunks, forward.heads, forward.batch], items, shape.rows(), forward.spec.causal);
        let places = self.of_sequence(b, &arguments, batch);
        let kv_head = b.div_const(head, context.group() as i64);
        let q = context.side(b, places.inputs.q, &forward.q, forward.qk_dim, batch, head);
        let dout = context.side(b, places.dout, &kernel.dout, forward.v_dim, batch, head);
        let k = context.side(b, places.inputs.k, &forward.k, forward.qk_dim, batch, kv_head);
        let v = context.side(b, places.inputs.v, &forward.v, forward.v_dim, batch, kv_head);
        let end = b.int(DType::I32, forward.q_len as i64);
        let block_end = b.add_const(first, shape.rows().into());
        let block_end = b.binary(BinaryOp::Min, block_end, end);
        let (from, to) = context.keys_seen(b, &places.inputs, first, block_end);
        let zero = b.float(context.dtype, 0.0);
        let sums = tile.locals(b, "sums", shape.rr * shape.re, zero);
        let weights = tile.locals(b, "weights_of", shape.rr * shape.rc, zero);
        let grads = tile.locals(b, "grads", shape.rr * shape.rc, zero);
        let step = b.int(DType::I32, shape.columns().into());
        b.repeat(from, to, step, |b, key| {
            let pair = Pair { rows: [&q, &dout], columns: [&k, &v], row: (first, end), column: (key, to), by_query: true, batch, head };
            self.pair(b, &tile, &places, &pair, (weights, grads));
            self.share(b, &tile, grads);
            let feature = b.mul_const(chunk, shape.features().into());
            tile.accumulate(b, sums, (&k, key, to), feature);
            // The next block's weights wait for the last reader of these.
            b.barrier();
        });
        let to = context.side(b, dq, &kernel.dq, forward.qk_dim, batch, head);
        b.when(exists, |b| self.write(b, &tile, &to, (first, end), chunk, sums, f64::from_bits(forward.spec.scale_bits)));
        Ok(sig.finish(line.grid))
    }

    /// The pass over queries, for `dk`, `dv` or both.
    fn keys(&self, target: &Target, [with_dk, with_dv]: [bool; 2]) -> Result<ProgramLaunch, Unsupported> {
        let Backward { kernel, context, .. } = self;
        let forward = &kernel.forward;
        let widest = forward.qk_dim.max(forward.v_dim);
        let shape = Shape::new(target, context.dtype, forward.k_len, forward.q_len, widest);
        let blocks = forward.k_len.div_ceil(shape.rows() as usize);
        let chunks = widest.div_ceil(shape.features() as usize).max(1);
        let items = forward.batch * forward.kv_heads * blocks * chunks;
        let line = Line::new(items, target)?;
        let mut sig = Signature::new("attention_dkv", Tile::block(shape));
        sig.made_for(target);
        let arguments = self.open(&mut sig);
        let mut output = |name: &str, n: usize| context.output(self.at(3 + n), kernel.grad_buffers[n]).open(&mut sig, name, true);
        let dk = with_dk.then(|| output("dk", 1));
        let dv = with_dv.then(|| output("dv", 2));
        let b = &mut sig.b;
        let tile = Tile::new(b, shape, context.dtype);
        let ([chunk, kv_head, batch], first, exists) =
            self.take(b, line, [chunks, forward.kv_heads, forward.batch], items, shape.rows(), false);
        let places = self.of_sequence(b, &arguments, batch);
        let k = context.side(b, places.inputs.k, &forward.k, forward.qk_dim, batch, kv_head);
        let v = context.side(b, places.inputs.v, &forward.v, forward.v_dim, batch, kv_head);
        let end = b.int(DType::I32, forward.k_len as i64);
        let block_end = b.add_const(first, shape.rows().into());
        let block_end = b.binary(BinaryOp::Min, block_end, places.inputs.kv_len);
        let (from, to) = context.queries_seeing(b, &places.inputs, first, block_end);
        // No key of the block counts: nothing to go over.
        let none = b.binary(BinaryOp::Ge, first, block_end);
        let to = b.select(none, from, to);
        let zero = b.float(context.dtype, 0.0);
        let dk_sums = dk.map(|dk| (dk, tile.locals(b, "dk_sums", shape.rr * shape.re, zero)));
        let dv_sums = dv.map(|dv| (dv, tile.locals(b, "dv_sums", shape.rr * shape.re, zero)));
        let weights = tile.locals(b, "weights_of", shape.rr * shape.rc, zero);
        let grads = tile.locals(b, "grads", shape.rr * shape.rc, zero);
        let [head, heads, one] = [0, context.group() as u32, 1].map(|n| b.u32(n));
        b.repeat(head, heads, one, |b, within| {
            let head = mul_const_add(b, kv_head, context.group() as i64, within);
            let side =
                |b: &mut Builder, place: Place, layout: &Layout4, features: usize| context.side(b, place, layout, features, batch, head);
            let q = side(b, places.inputs.q, &forward.q, forward.qk_dim);
            let dout = side(b, places.dout, &kernel.dout, forward.v_dim);
            let step = b.int(DType::I32, shape.columns().into());
            b.repeat(from, to, step, |b, query| {
                let pair =
                    Pair { rows: [&k, &v], columns: [&q, &dout], row: (first, end), column: (query, to), by_query: false, batch, head };
                self.pair(b, &tile, &places, &pair, (weights, grads));
                let feature = b.mul_const(chunk, shape.features().into());
                if let Some((_, sums)) = dv_sums {
                    self.share(b, &tile, weights);
                    tile.accumulate(b, sums, (&dout, query, to), feature);
                    b.barrier();
                }
                if let Some((_, sums)) = dk_sums {
                    self.share(b, &tile, grads);
                    tile.accumulate(b, sums, (&q, query, to), feature);
                    b.barrier();
                }
            });
        });
        b.when(exists, |b| {
            if let Some((dk, sums)) = dk_sums {
                let side = context.side(b, dk, &kernel.dk, forward.qk_dim, batch, kv_head);
                self.write(b, &tile, &side, (first, end), chunk, sums, f64::from_bits(forward.spec.scale_bits));
            }
            if let Some((dv, sums)) = dv_sums {
                let side = context.side(b, dv, &kernel.dv, forward.v_dim, batch, kv_head);
                self.write(b, &tile, &side, (first, end), chunk, sums, 1.0);
            }
        });
        Ok(sig.finish(line.grid))
    }
}
