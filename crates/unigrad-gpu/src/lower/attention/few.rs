//! The forward pass of few queries: a token or a few of each sequence against a cache of keys. It is as fast as keys and values can be read.
//!
//! A subgroup is cut into *slots*, and a slot has a key at a time: each of its threads neighbouring features of it, which it reads at once and straight
//! into registers, where it has the same features of all queries too. A turn takes [`Few::keys`] keys: all that a workgroup reads of them and of
//! their values is on its way before anything waits. Products of a slot's threads are added by exchange, weights go through shared memory (a subgroup
//! has rows of its own to normalize), and sums of values stay in registers until the last key.
//!
//! In: the rows of a key head (queries of all heads that share it), [`MOST_ROWS`] at most, on a target with subgroups. Out: as the other ways.
//! Always: every key and value of a part is read once; sums are added in an order that sizes and lengths alone decide.
//! Never: reads a position that no row may see, or beyond the features.

use super::division::{BlockSizes, Division};
use super::tile::Side;
use super::{over_bits, run, shift};
use crate::lower::distribute::{div_rem, mul_const_add, threads};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Type, Value};
use unigrad_kernel::{Attention, Layout4};
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp, UnaryOp};

/// Rows at most: their queries and sums are in registers.
const MOST_ROWS: usize = 8;
/// Words of a thread's registers for queries, and for sums.
const MOST_WORDS: u32 = 64;
/// Threads of a workgroup.
const THREADS: u32 = 128;
/// Keys of a turn, where a subgroup is not larger.
const KEYS: u32 = 32;
/// Arrays in shared memory.
const ARRAYS: usize = 5;
/// Bytes of shared memory for the sums of a round at the end.
const ROUND: usize = 16 << 10;

/// How features of a key lie among the threads of a slot.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Runs {
    features: u32,
    /// Features that a thread reads at once, and how often it does.
    v: u32,
    count: u32,
}

impl Runs {
    fn new(layout: &Layout4, features: usize, lanes: u32, dtype: DType, target: &Target) -> Runs {
        let v = run(layout, features, dtype, target);
        Runs { features: features as u32, v, count: (features as u32).div_ceil(v * lanes) }
    }

    /// Features that a thread has, some of them perhaps beyond the end.
    fn held(&self) -> u32 {
        self.v * self.count
    }
}

/// How a workgroup divides its work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Few {
    rows: u32,
    /// Threads of a subgroup, subgroups of a workgroup.
    subgroup: u32,
    subgroups: u32,
    /// Threads of a slot.
    lanes: u32,
    /// Keys of a slot in a turn.
    steps: u32,
    qk: Runs,
    values: Runs,
}

impl Few {
    /// The division, if this way suits.
    pub(super) fn new(kernel: &Attention, rows: usize, dtype: DType, target: &Target) -> Option<Few> {
        let subgroup = target.subgroup.filter(|n| n.is_power_of_two() && (8..=target.max_threads.min(THREADS)).contains(n))?;
        let threads = threads(target, THREADS);
        let widest = kernel.qk_dim.max(kernel.v_dim);
        if rows == 0 || rows > MOST_ROWS || kernel.qk_dim.min(kernel.v_dim) == 0 || widest > 4096 {
            return None;
        }
        // As many threads for a key as read the wider of the two at once.
        let runs = |lanes: u32| {
            let qk = [&kernel.q, &kernel.k].map(|layout| Runs::new(layout, kernel.qk_dim, lanes, kernel.dtype, target));
            let qk = if qk[0].v < qk[1].v { qk[0] } else { qk[1] };
            (qk, Runs::new(&kernel.v, kernel.v_dim, lanes, kernel.dtype, target))
        };
        let (qk, values) = runs(1);
        let lanes = qk.count.max(values.count).next_power_of_two().min(subgroup);
        let (qk, values) = runs(lanes);
        let words = (dtype.size() as u32).div_ceil(4) * rows as u32;
        if words * qk.held().max(values.held()) > MOST_WORDS {
            return None;
        }
        let subgroups = threads / subgroup;
        let slots = subgroups * (subgroup / lanes);
        let steps = KEYS.max(subgroup).div_ceil(slots);
        let few = Few { rows: rows as u32, subgroup, subgroups, lanes, steps, qk, values };
        // Keys of a turn are shared among the threads of a subgroup, for each row.
        (few.keys().is_multiple_of(subgroup) && few.bytes(dtype) <= target.shared_bytes).then_some(few)
    }

    pub(super) fn block(&self) -> BlockSizes {
        BlockSizes { rows: self.rows, keys: self.keys(), features: self.values.features, part: self.keys() as usize }
    }

    fn slots(&self) -> u32 {
        self.subgroups * (self.subgroup / self.lanes)
    }

    /// Keys of a turn.
    fn keys(&self) -> u32 {
        self.slots() * self.steps
    }

    /// Sums of a row as they lie in shared memory.
    fn width(&self) -> u32 {
        self.values.held() * self.lanes
    }

    /// Rows whose sums meet in shared memory at once.
    fn round(&self, dtype: DType) -> u32 {
        let row = (self.subgroups * self.width()) as usize * dtype.size();
        (ROUND / row.max(1)).clamp(1, self.rows as usize) as u32
    }

    fn bytes(&self, dtype: DType) -> usize {
        let words = 2 * self.rows * self.keys() + 3 * self.rows + self.round(dtype) * self.subgroups * self.width();
        // Arrays begin at multiples of 16 bytes.
        words as usize * dtype.size() + ARRAYS * 16
    }
}

/// The launch of all parts.
pub(super) fn forward(division: &Division<'_>, few: Few, target: &Target) -> Result<ProgramLaunch, Unsupported> {
    let context = division.context;
    let dtype = context.dtype;
    let line = division.line(target)?;
    let mut sig = Signature::new("attention_few", [few.subgroups * few.subgroup, 1, 1]);
    sig.made_for(target);
    let parameters = context.open(&mut sig);
    let results = division.open(&mut sig);
    let b = &mut sig.b;
    let block = division.block(b, line);
    let inputs = context.of_sequence(b, &parameters, block.batch);
    let kernel = context.kernel;
    let q = division.side(b, inputs.q, &kernel.q, kernel.qk_dim, &block);
    let k = context.key_side(b, &inputs, inputs.k, &kernel.k, kernel.qk_dim, block.batch, block.kv_head);
    let v = context.key_side(b, &inputs, inputs.v, &kernel.v, kernel.v_dim, block.batch, block.kv_head);
    let group = Group::new(b, few, dtype);
    let queries = group.queries(b, &q);
    let (zero, hidden) = (b.float(dtype, 0.0), b.float(dtype, f64::NEG_INFINITY));
    let sums = group.locals(b, "sums_of", few.rows * few.values.held(), zero);
    let own = few.rows.div_ceil(few.subgroups);
    let totals = group.locals(b, "total", own, zero);
    let greatest = group.locals(b, "most", own, hidden);
    let (from, to) = division.keys(b, &inputs, &block);
    let step = b.int(DType::I32, few.keys().into());
    b.repeat(from, to, step, |b, key| {
        let keys = group.read(b, "k_held", &k, few.qk, (key, to));
        let values = group.read(b, "v_held", &v, few.values, (key, to));
        group.scores(b, queries, keys);
        b.barrier();
        for n in 0..own {
            group.each_own_row(b, n, |b, row| {
                let at = b.cast(row, DType::I32);
                let (head, i) = division.query(b, block.head, at);
                let number = context.row_number(b, block.batch, head, i);
                let bias_line = context.bias_line(b, &inputs, block.batch, head, i);
                let masked = |b: &mut Builder, column: Value, score: Value| {
                    let j = b.add(key, column);
                    let seen = context.sees(b, &inputs, i, j);
                    let before_end = b.lt(j, to);
                    let seen = b.and(seen, before_end);
                    context.masked(b, &inputs, score, seen, bias_line, j)
                };
                let kept = |b: &mut Builder, column: Value| {
                    let j = b.add(key, column);
                    context.kept(b, &inputs, number, j)
                };
                let at = b.u32(n);
                group.weigh(b, row, (greatest, totals, at), masked, kept);
            });
        }
        b.barrier();
        group.accumulate(b, sums, values, (key, to));
    });
    group.share_statistics(b, greatest, totals);
    group.each_sum(b, sums, |b, row, feature, sum| {
        let at = b.cast(row, DType::I32);
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, feature, zero);
        let statistics = group.statistics(b, row);
        b.when(block.exists, |b| {
            let factor = division.finish_row(b, results, &block, at, statistics, leads);
            let sink = division.sink(b, results, &block, at);
            let stored = b.program().place_type(sink.place).map_or(dtype, |ty| ty.dtype());
            let feature = b.cast(feature, b.dtype(sink.line));
            let at = mul_const_add(b, feature, sink.feature, sink.line);
            let sum = factor.map_or(sum, |factor| b.mul(sum, factor));
            let sum = b.cast(sum, stored);
            b.store(sink.place, at, sum);
        });
    });
    Ok(sig.finish(line.grid))
}

/// A workgroup's memory and its threads' numbers.
struct Group {
    few: Few,
    dtype: DType,
    thread: Value,
    /// Thread of the subgroup, and the subgroup; `U32`.
    lane: Value,
    subgroup: Value,
    /// Thread of the slot, slot of the subgroup, slot of the workgroup.
    mine: Value,
    part: Value,
    slot: Value,
    /// `[rows][keys]`.
    scores: Place,
    weights: Place,
    /// `[rows]`: what sums before a turn are multiplied with; at the end maxima, then totals.
    factors: Place,
    statistics: Place,
    /// `[subgroups][rows of a round][width]`.
    exchange: Place,
}

impl Group {
    fn new(b: &mut Builder, few: Few, dtype: DType) -> Group {
        let thread = b.thread(0);
        let (subgroup, lane) = (b.div_const(thread, few.subgroup.into()), b.rem_const(thread, few.subgroup.into()));
        let (part, mine) = (b.div_const(lane, few.lanes.into()), b.rem_const(lane, few.lanes.into()));
        let slot = mul_const_add(b, subgroup, (few.subgroup / few.lanes).into(), part);
        let scores = b.shared("scores", dtype, few.rows * few.keys());
        let weights = b.shared("weights", dtype, few.rows * few.keys());
        let factors = b.shared("factors", dtype, few.rows);
        let statistics = b.shared("statistics", dtype, 2 * few.rows);
        let exchange = b.shared("exchange", dtype, few.round(dtype) * few.subgroups * few.width());
        Group { few, dtype, thread, lane, subgroup, mine, part, slot, scores, weights, factors, statistics, exchange }
    }

    fn locals(&self, b: &mut Builder, name: &str, n: u32, value: Value) -> Place {
        let place = b.local(name, Type::Scalar(self.dtype), n);
        for i in 0..n {
            let at = b.u32(i);
            b.store(place, at, value);
        }
        place
    }

    /// The first feature of the thread's run, and whether there is such a run where that is not certain.
    fn feature(&self, b: &mut Builder, runs: Runs, n: u32) -> (Value, Option<Value>) {
        let first = b.mul_const(self.mine, runs.v.into());
        let first = b.add_const(first, (n * runs.v * self.few.lanes).into());
        let end = b.u32(runs.features);
        let partial = (n + 1) * runs.v * self.few.lanes > runs.features;
        (first, partial.then(|| b.lt(first, end)))
    }

    /// One run of a position, or zeros beyond the features.
    fn load(&self, b: &mut Builder, side: &Side, runs: Runs, line: Value, n: u32, to: (Place, Value)) {
        let (feature, inside) = self.feature(b, runs, n);
        let load = |b: &mut Builder| {
            let feature = b.cast(feature, b.dtype(line));
            let at = mul_const_add(b, feature, side.feature, line);
            let value = b.load_vector(side.place, at, runs.v as u8);
            b.store(to.0, to.1, value);
        };
        match inside {
            None => load(b),
            Some(inside) => {
                let zero = b.constant(Literal::zero(b.program().place_type(side.place).map_or(self.dtype, Type::dtype)));
                let nothing = b.compose(&vec![zero; runs.v as usize]);
                b.store(to.0, to.1, nothing);
                b.when(inside, load);
            }
        }
    }

    fn held(&self, b: &mut Builder, name: &str, side: &Side, runs: Runs, n: u32) -> Place {
        let dtype = b.program().place_type(side.place).map_or(self.dtype, Type::dtype);
        let ty = if runs.v == 1 { Type::Scalar(dtype) } else { Type::Vector(dtype, runs.v as u8) };
        b.local(name, ty, n)
    }

    /// The thread's features of all queries: `[rows][held]`.
    fn queries(&self, b: &mut Builder, side: &Side) -> Place {
        let runs = self.few.qk;
        let held = self.held(b, "q_held", side, runs, runs.count);
        let queries = b.local("q_of", Type::Scalar(self.dtype), self.few.rows * runs.held());
        for row in 0..self.few.rows {
            let position = b.int(DType::I32, row.into());
            let line = side.line(b, position);
            for n in 0..runs.count {
                let to = b.u32(n);
                self.load(b, side, runs, line, n, (held, to));
                let loaded = b.load(held, to);
                for e in 0..runs.v {
                    let value = b.extract(loaded, e as u8);
                    let value = b.cast(value, self.dtype);
                    let at = b.u32(row * runs.held() + n * runs.v + e);
                    b.store(queries, at, value);
                }
            }
        }
        queries
    }

    /// The thread's features of its slot's keys of a turn: `[steps][count]`. A position beyond the end is the last.
    fn read(&self, b: &mut Builder, name: &str, side: &Side, runs: Runs, (key, to): (Value, Value)) -> Place {
        let held = self.held(b, name, side, runs, self.few.steps * runs.count);
        let last = b.add_const(to, -1);
        for step in 0..self.few.steps {
            let column = b.add_const(self.slot, (step * self.few.slots()).into());
            let column = b.cast(column, DType::I32);
            let position = b.add(key, column);
            let position = b.binary(BinaryOp::Min, position, last);
            let line = side.line(b, position);
            for n in 0..runs.count {
                let to = b.u32(step * runs.count + n);
                self.load(b, side, runs, line, n, (held, to));
            }
        }
        held
    }

    /// What the thread holds of a step, feature by feature.
    fn features(&self, b: &mut Builder, held: Place, runs: Runs, step: u32) -> Vec<Value> {
        let mut features = Vec::with_capacity(runs.held() as usize);
        for n in 0..runs.count {
            let at = b.u32(step * runs.count + n);
            let loaded = b.load(held, at);
            for e in 0..runs.v {
                let value = b.extract(loaded, e as u8);
                features.push(b.cast(value, self.dtype));
            }
        }
        features
    }

    /// Products of all queries with the turn's keys, to shared memory.
    fn scores(&self, b: &mut Builder, queries: Place, keys: Place) {
        let Few { rows, steps, qk, lanes, .. } = self.few;
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, self.mine, zero);
        for step in 0..steps {
            let key = self.features(b, keys, qk, step);
            let scores: Vec<Value> = (0..rows)
                .map(|row| {
                    let mut sum = b.float(self.dtype, 0.0);
                    for (e, key) in key.iter().enumerate() {
                        let at = b.u32(row * qk.held() + e as u32);
                        let query = b.load(queries, at);
                        sum = b.fma(query, *key, sum);
                    }
                    over_bits(b, ReduceOp::Sum, sum, 0..lanes.ilog2())
                })
                .collect();
            b.when(leads, |b| {
                for (row, score) in scores.into_iter().enumerate() {
                    let at = i64::from(row as u32 * self.few.keys() + step * self.few.slots());
                    let at = b.add_const(self.slot, at);
                    b.store(self.scores, at, score);
                }
            });
        }
    }

    /// Calls `body` with the subgroup's `n`-th row, if it has one.
    fn each_own_row(&self, b: &mut Builder, n: u32, body: impl FnOnce(&mut Builder, Value)) {
        let row = b.add_const(self.subgroup, (n * self.few.subgroups).into());
        if (n + 1) * self.few.subgroups <= self.few.rows {
            return body(b, row);
        }
        let end = b.u32(self.few.rows);
        let inside = b.lt(row, end);
        b.when(inside, |b| body(b, row));
    }

    /// Scores of a row become weights, by the subgroup that has it.
    fn weigh(
        &self,
        b: &mut Builder,
        row: Value,
        (greatest, totals, at): (Place, Place, Value),
        masked: impl Fn(&mut Builder, Value, Value) -> Value,
        kept: impl Fn(&mut Builder, Value) -> Option<Value>,
    ) {
        let dtype = self.dtype;
        let line = mul_const_add(b, row, self.few.keys().into(), self.lane);
        let mut columns = Vec::new();
        let mut most = b.float(dtype, f64::NEG_INFINITY);
        for n in 0..self.few.keys() / self.few.subgroup {
            let first = i64::from(n * self.few.subgroup);
            let (from, column) = (b.add_const(line, first), b.add_const(self.lane, first));
            let column = b.cast(column, DType::I32);
            let score = b.load(self.scores, from);
            let score = masked(b, column, score);
            most = b.binary(BinaryOp::Max, most, score);
            columns.push((from, column, score));
        }
        let most = over_bits(b, ReduceOp::Max, most, 0..self.few.subgroup.ilog2());
        let old = b.load(greatest, at);
        let new = b.binary(BinaryOp::Max, old, most);
        let shift = shift(b, dtype, new);
        let less = b.sub(old, shift);
        let factor = b.unary(UnaryOp::Exp, less);
        b.store(greatest, at, new);
        let mut total = b.float(dtype, 0.0);
        for (from, column, score) in columns {
            let less = b.sub(score, shift);
            let mut weight = b.unary(UnaryOp::Exp, less);
            total = b.add(total, weight);
            if let Some(kept) = kept(b, column) {
                weight = b.mul(weight, kept);
            }
            b.store(self.weights, from, weight);
        }
        let total = over_bits(b, ReduceOp::Sum, total, 0..self.few.subgroup.ilog2());
        let before = b.load(totals, at);
        let total = b.fma(before, factor, total);
        b.store(totals, at, total);
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, self.lane, zero);
        b.when(leads, |b| b.store(self.factors, row, factor));
    }

    /// Adds the turn's values by their weights. A position beyond the end has none: its weight is 0, but what was read in its place may be infinite.
    fn accumulate(&self, b: &mut Builder, sums: Place, values: Place, (key, to): (Value, Value)) {
        let Few { rows, steps, values: runs, .. } = self.few;
        for row in 0..rows {
            let at = b.u32(row);
            let factor = b.load(self.factors, at);
            for e in 0..runs.held() {
                let at = b.u32(row * runs.held() + e);
                let sum = b.load(sums, at);
                let sum = b.mul(sum, factor);
                b.store(sums, at, sum);
            }
        }
        for step in 0..steps {
            let column = b.add_const(self.slot, (step * self.few.slots()).into());
            let column = b.cast(column, DType::I32);
            let position = b.add(key, column);
            let (inside, zero) = (b.lt(position, to), b.float(self.dtype, 0.0));
            let value = self.features(b, values, runs, step).into_iter().map(|value| b.select(inside, value, zero)).collect::<Vec<_>>();
            for row in 0..rows {
                let at = b.add_const(self.slot, i64::from(row * self.few.keys() + step * self.few.slots()));
                let weight = b.load(self.weights, at);
                for (e, value) in value.iter().enumerate() {
                    let at = b.u32(row * runs.held() + e as u32);
                    let sum = b.load(sums, at);
                    let sum = b.fma(weight, *value, sum);
                    b.store(sums, at, sum);
                }
            }
        }
    }

    /// Maxima and totals of all rows, to shared memory; they are there after the next barrier.
    fn share_statistics(&self, b: &mut Builder, greatest: Place, totals: Place) {
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, self.lane, zero);
        for n in 0..self.few.rows.div_ceil(self.few.subgroups) {
            self.each_own_row(b, n, |b, row| {
                b.when(leads, |b| {
                    let at = b.u32(n);
                    let (most, total) = (b.load(greatest, at), b.load(totals, at));
                    b.store(self.statistics, row, most);
                    let to = b.add_const(row, self.few.rows.into());
                    b.store(self.statistics, to, total);
                });
            });
        }
    }

    /// A row's maximum and total.
    fn statistics(&self, b: &mut Builder, row: Value) -> (Value, Value) {
        let total = b.add_const(row, self.few.rows.into());
        (b.load(self.statistics, row), b.load(self.statistics, total))
    }

    /// Adds what slots have, and calls `body` with every row, feature and sum once among the threads.
    fn each_sum(&self, b: &mut Builder, sums: Place, body: impl Fn(&mut Builder, Value, Value, Value)) {
        let Few { rows, subgroups, lanes, values: runs, .. } = self.few;
        let (width, round) = (self.few.width(), self.few.round(self.dtype));
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, self.part, zero);
        for first in (0..rows).step_by(round as usize) {
            let round = round.min(rows - first);
            if first > 0 {
                b.barrier();
            }
            for row in 0..round {
                let line = b.mul_const(self.subgroup, round.into());
                let line = b.add_const(line, row.into());
                let line = b.mul_const(line, width.into());
                for e in 0..runs.held() {
                    let at = b.u32((first + row) * runs.held() + e);
                    let sum = b.load(sums, at);
                    let sum = over_bits(b, ReduceOp::Sum, sum, lanes.ilog2()..self.few.subgroup.ilog2());
                    b.when(leads, |b| {
                        let feature = b.mul_const(self.mine, runs.v.into());
                        let feature = b.add_const(feature, (e / runs.v * runs.v * lanes + e % runs.v).into());
                        let to = b.add(line, feature);
                        b.store(self.exchange, to, sum);
                    });
                }
            }
            b.barrier();
            let (count, threads) = (b.u32(round * runs.features), b.u32(subgroups * self.few.subgroup));
            b.repeat(self.thread, count, threads, |b, item| {
                let features = b.u32(runs.features);
                let (row, feature) = div_rem(b, item, features);
                let from = mul_const_add(b, row, width.into(), feature);
                let mut sum = b.load(self.exchange, from);
                for subgroup in 1..subgroups {
                    let from = b.add_const(from, (subgroup * round * width).into());
                    let other = b.load(self.exchange, from);
                    sum = b.add(sum, other);
                }
                let row = b.add_const(row, first.into());
                body(b, row, feature, sum);
            });
        }
    }
}
