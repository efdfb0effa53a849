//! Running reductions: a line of elements is cut into chunks; one step reduces each chunk, the next scans each from what came before it.
//!
//! Always: how a line is cut depends on sizes and device alone, so reruns are bit-equal. Lines that fill the device by their number are
//! one chunk each, and one step does them. Neighbouring lines (`inner` of them) go to neighbouring threads; a line of consecutive
//! elements goes to a workgroup, tile by tile. Where a sum of floats is carried over many additions, it keeps what they lose.

use super::{
    Lowered, ProgramLaunch, Signature, Unsupported,
    distribute::{
        Line, Operand, ScratchBuffers, accumulator, check_dtype, div_rem, for_each, identity, index_dtype, mul_add, mul_const_add,
        on_accumulators, threads,
    },
    running::{LONG, Running},
};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::{Arg, Scan};
use unigrad_scalar::{BinaryOp, Combine, DType, ScanOp};

/// Elements of a tile that one thread scans.
const EACH: u32 = 4;
/// Chunks of a line at most: a chunk goes over the totals of all before it.
const MOST_CHUNKS: usize = 256;

pub(super) fn lower(kernel: &Scan, target: &Target) -> Result<Lowered, Unsupported> {
    check_dtype(target, kernel.dtype)?;
    let len = kernel.outer * kernel.len * kernel.inner;
    let arg = |write| Arg { dtype: kernel.dtype, len, write };
    if kernel.op.needs_floats() && !kernel.dtype.is_float() {
        let cause = format!("{} of {}", kernel.op, kernel.dtype);
        return Err(Unsupported { cause, help: "convert to a float first".to_owned() });
    }
    let spec = Spec {
        op: kernel.op,
        x: Operand::Arg(0, arg(false)),
        out: Operand::Arg(1, arg(true)),
        outer: kernel.outer,
        len: kernel.len,
        inner: kernel.inner,
        reverse: kernel.reverse,
    };
    let mut scratch = ScratchBuffers::default();
    let steps = steps(spec, target, &mut scratch)?;
    Ok(Lowered { steps, scratch: scratch.0 })
}

/// What to scan; `out` may be `x`.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    pub(super) op: ScanOp,
    pub(super) x: Operand,
    pub(super) out: Operand,
    pub(super) outer: usize,
    pub(super) len: usize,
    pub(super) inner: usize,
    pub(super) reverse: bool,
}

/// The launches of a scan.
pub(super) fn steps(spec: Spec, target: &Target, scratch: &mut ScratchBuffers) -> Result<Vec<ProgramLaunch>, Unsupported> {
    let Spec { outer, len, inner, .. } = spec;
    if outer * len * inner == 0 {
        return Ok(Vec::new());
    }
    let by_thread = inner >= 8 || len <= 32;
    let units = target.compute_units.max(1) as usize;
    // Threads along a line, and workgroups that fill the device.
    let along = threads(target, ((len.div_ceil(EACH as usize)).next_power_of_two().clamp(16, 256)) as u32);
    let tile = (along * EACH) as usize;
    let (wanted, grain) = if by_thread { (units * 512, 1) } else { (units * 4, tile) };
    let shortest = if by_thread { 64 } else { 2 * tile };
    let n_chunks = wanted.div_ceil(outer * inner).min(len / shortest).clamp(1, MOST_CHUNKS);
    let chunk = len.div_ceil(n_chunks).next_multiple_of(grain);
    let n_chunks = len.div_ceil(chunk);
    let totals = (n_chunks > 1).then(|| scratch.take(accumulator(spec.x.dtype()), outer * n_chunks * inner));
    let plan = ScanWork { spec, n_chunks, chunk, totals, along, index: index_dtype(target, outer * len * inner)? };
    let mut steps = Vec::with_capacity(2);
    for totals_only in [true, false] {
        if totals_only && n_chunks == 1 {
            continue;
        }
        steps.push(if by_thread { plan.by_thread(target, totals_only)? } else { plan.by_group(target, totals_only)? });
    }
    Ok(steps)
}

struct ScanWork {
    spec: Spec,
    n_chunks: usize,
    chunk: usize,
    /// `[outer, chunks, inner]`.
    totals: Option<Operand>,
    along: u32,
    index: DType,
}

/// What both kinds of program need.
struct Names {
    x: Place,
    out: Option<Place>,
    totals: Option<Place>,
    len: Value,
    inner: Value,
    chunks: Value,
    chunk: Value,
}

impl ScanWork {
    fn open(&self, sig: &mut Signature, totals_only: bool) -> Names {
        let Spec { x, out, len, inner, .. } = self.spec;
        let in_place = !totals_only && x == out;
        let totals = self.totals.map(|totals| totals.open(sig, "totals", totals_only));
        let x = x.open(sig, "x", in_place);
        let out = if in_place { Some(x) } else { (!totals_only).then(|| out.open(sig, "y", true)) };
        let mut size = |name: &str, n: usize| {
            // What makes most of the arithmetic vanish is told to the compiler.
            if n == 1 { sig.b.int(self.index, 1) } else { sig.word(name, self.index, n as u64) }
        };
        let (len, inner) = (size("len", len), size("inner", inner));
        let (chunks, chunk) = (size("chunks", self.n_chunks), size("chunk", self.chunk));
        Names { x, out, totals, len, inner, chunks, chunk }
    }

    /// Where the element at `position` of a line is.
    fn at(&self, b: &mut Builder, n: &Names, line: Value, position: Value) -> Value {
        let position = if self.spec.reverse {
            let last = b.add_const(n.len, -1);
            b.sub(last, position)
        } else {
            position
        };
        mul_add(b, position, n.inner, line)
    }

    fn load(&self, b: &mut Builder, n: &Names, at: Value) -> Value {
        let value = b.load(n.x, at);
        b.cast(value, accumulator(self.spec.x.dtype()))
    }

    fn store(&self, b: &mut Builder, n: &Names, at: Value, value: Value) {
        let value = b.cast(value, self.spec.out.dtype());
        match n.out {
            Some(out) => b.store(out, at, value),
            None => b.mistake("a scan of totals only has no results to store"),
        }
    }

    fn put_total(&self, b: &mut Builder, n: &Names, at: Value, total: Value) {
        match n.totals {
            Some(totals) => b.store(totals, at, total),
            None => b.mistake("a scan of one chunk has no totals to store"),
        }
    }

    fn combine(&self, b: &mut Builder, x: Value, y: Value) -> Value {
        let dtype = self.spec.x.dtype();
        match self.spec.op.combine(accumulator(dtype) == DType::F64) {
            Combine::Binary(op) => b.binary(on_accumulators(op, dtype), x, y),
            Combine::Formula(formula) => b.formula(formula, &[x, y]),
        }
    }

    fn identity(&self, b: &mut Builder) -> Value {
        let dtype = self.spec.x.dtype();
        let held = accumulator(dtype);
        b.constant(match self.spec.op.combine(held == DType::F64) {
            Combine::Binary(op) => identity(on_accumulators(op, dtype), held),
            Combine::Formula(_) => self.spec.op.identity(held),
        })
    }

    /// A running result over so many elements at a time.
    fn running(&self, b: &mut Builder, name: &str, each: usize) -> Running {
        let first = self.identity(b);
        let long = self.chunk / each.max(1) + self.n_chunks > LONG;
        let is_sum = self.spec.op == ScanOp::Sum && self.spec.x.dtype().is_float();
        Running::new(b, name, first, long && is_sum)
    }

    /// Lets `sum` be the result of the chunks before this one.
    fn carry_in(&self, b: &mut Builder, n: &Names, totals: Place, sum: Running, (o, c, i): (Value, Value, Value)) {
        let (zero, one) = (b.int(self.index, 0), b.int(self.index, 1));
        b.repeat(zero, c, one, |b, before| {
            let row = mul_add(b, o, n.chunks, before);
            let at = mul_add(b, row, n.inner, i);
            let (old, total) = (sum.sum(b), b.load(totals, at));
            let new = self.combine(b, old, total);
            sum.set(b, new, total);
        });
    }

    /// A thread per chunk.
    fn by_thread(&self, target: &Target, totals_only: bool) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new(if totals_only { "scan_totals" } else { "scan" }, [threads(target, 128), 1, 1]);
        let n = self.open(&mut sig, totals_only);
        let items = self.spec.outer * self.n_chunks * self.spec.inner;
        for_each(sig, target, items, self.index, |b, item| {
            let (row, i) = div_rem(b, item, n.inner);
            let (o, c) = div_rem(b, row, n.chunks);
            let start = b.mul(c, n.chunk);
            let end = b.add(start, n.chunk);
            let end = b.binary(BinaryOp::Min, end, n.len);
            let plane = b.mul(n.len, n.inner);
            let line = mul_add(b, o, plane, i);
            let sum = self.running(b, "sum", 1);
            if let Some(totals) = n.totals.filter(|_| !totals_only) {
                self.carry_in(b, &n, totals, sum, (o, c, i));
            }
            let one = b.int(self.index, 1);
            b.repeat(start, end, one, |b, p| {
                let at = self.at(b, &n, line, p);
                let (old, value) = (sum.sum(b), self.load(b, &n, at));
                let new = self.combine(b, old, value);
                sum.set(b, new, value);
                if !totals_only {
                    let value = sum.value(b);
                    self.store(b, &n, at, value);
                }
            });
            if totals_only {
                let sum = sum.value(b);
                self.put_total(b, &n, item, sum);
            }
        })
    }

    /// A workgroup per chunk, or for several short lines.
    fn by_group(&self, target: &Target, totals_only: bool) -> Result<ProgramLaunch, Unsupported> {
        let ScanWork { along, index, .. } = *self;
        let dtype = accumulator(self.spec.x.dtype());
        let side = if self.n_chunks == 1 { (threads(target, 128) / along).max(1) } else { 1 };
        let items = self.spec.outer * self.spec.inner * self.n_chunks;
        let grid = Line::new(items.div_ceil(side as usize), target)?;
        let mut sig = Signature::new(if totals_only { "scan_totals" } else { "scan" }, [along, side, 1]);
        let n = self.open(&mut sig, totals_only);
        let count = sig.word("count", index, items as u64);
        let b = &mut sig.b;
        let tiles = b.shared("tile", dtype, side * along * EACH);
        let sums = b.shared("sums", dtype, side * along);
        let (t, lane_row) = (b.thread(0), b.thread(1));
        let sums_base = b.mul_const(lane_row, along.into());
        let tile_base = b.mul_const(lane_row, (along * EACH).into());
        let slot = b.add(sums_base, t);
        let group = grid.group(b);
        let (group, row) = (b.cast(group, index), b.cast(lane_row, index));
        let item = mul_const_add(b, group, side.into(), row);
        let exists = b.lt(item, count);
        let (line, c) = div_rem(b, item, n.chunks);
        let (o, i) = div_rem(b, line, n.inner);
        let plane = b.mul(n.len, n.inner);
        let line = mul_add(b, o, plane, i);
        // With one chunk the bounds are those of every line, with several there is one line: uniform either way.
        let start = if self.n_chunks == 1 {
            b.int(index, 0)
        } else {
            let (_, c) = div_rem(b, group, n.chunks);
            b.mul(c, n.chunk)
        };
        let end = b.add(start, n.chunk);
        let end = b.binary(BinaryOp::Min, end, n.len);
        let none = self.identity(b);
        let carry = self.running(b, "carry", if totals_only { along as usize } else { (along * EACH) as usize });
        let thread = b.cast(t, index);
        if totals_only {
            let first = b.add(start, thread);
            b.when(exists, |b| {
                let step = b.int(index, along.into());
                b.repeat(first, end, step, |b, p| {
                    let at = self.at(b, &n, line, p);
                    let (old, value) = (carry.sum(b), self.load(b, &n, at));
                    let new = self.combine(b, old, value);
                    carry.set(b, new, value);
                });
            });
            let sum = carry.value(b);
            b.store(sums, slot, sum);
            b.barrier();
            let mut half = along / 2;
            while half > 0 {
                let limit = b.u32(half);
                let lower = b.lt(t, limit);
                b.when(lower, |b| {
                    let other = b.add(slot, limit);
                    let (x, y) = (b.load(sums, slot), b.load(sums, other));
                    let sum = self.combine(b, x, y);
                    b.store(sums, slot, sum);
                });
                b.barrier();
                half /= 2;
            }
            let zero = b.u32(0);
            let leader = b.binary(BinaryOp::Eq, t, zero);
            let leader = b.and(leader, exists);
            b.when(leader, |b| {
                let sum = b.load(sums, slot);
                let row = mul_add(b, o, n.chunks, c);
                let at = mul_add(b, row, n.inner, i);
                self.put_total(b, &n, at, sum);
            });
            return Ok(sig.finish(grid.grid));
        }
        if let Some(totals) = n.totals {
            b.when(exists, |b| self.carry_in(b, &n, totals, carry, (o, c, i)));
        }
        let step = b.int(index, (along * EACH).into());
        b.repeat(start, end, step, |b, tile| {
            // From memory, neighbours by neighbours; each thread then has elements that follow each other.
            let each = |b: &mut Builder, body: &dyn Fn(&mut Builder, Value, Value, Value)| {
                b.unrolled(EACH, |b, e| {
                    let within = mul_const_add(b, e, along.into(), t);
                    let place = b.add(tile_base, within);
                    let within = b.cast(within, index);
                    let p = b.add(tile, within);
                    let inside = b.lt(p, end);
                    let inside = b.and(inside, exists);
                    body(b, place, p, inside);
                });
            };
            each(b, &|b, place, p, inside| {
                b.when_else(
                    inside,
                    |b| {
                        let at = self.at(b, &n, line, p);
                        let value = self.load(b, &n, at);
                        b.store(tiles, place, value);
                    },
                    |b| b.store(tiles, place, none),
                );
            });
            b.barrier();
            let own = mul_const_add(b, t, EACH.into(), tile_base);
            let sum = b.variable("sum", none);
            b.unrolled(EACH, |b, e| {
                let place = b.add(own, e);
                let (old, value) = (b.get(sum), b.load(tiles, place));
                let new = self.combine(b, old, value);
                b.set(sum, new);
                b.store(tiles, place, new);
            });
            let total = b.get(sum);
            b.store(sums, slot, total);
            b.barrier();
            let mut distance = 1;
            while distance < along {
                let d = b.u32(distance);
                let reached = b.binary(BinaryOp::Ge, t, d);
                b.when(reached, |b| {
                    let before = b.sub(slot, d);
                    let (x, y) = (b.load(sums, before), b.get(sum));
                    let new = self.combine(b, x, y);
                    b.set(sum, new);
                });
                b.barrier();
                let new = b.get(sum);
                b.store(sums, slot, new);
                b.barrier();
                distance *= 2;
            }
            let carried = carry.value(b);
            let before = b.variable("before", carried);
            let zero = b.u32(0);
            let later = b.lt(zero, t);
            b.when(later, |b| {
                let at = b.add_const(slot, -1);
                let sum = b.load(sums, at);
                let new = self.combine(b, carried, sum);
                b.set(before, new);
            });
            let before = b.get(before);
            b.unrolled(EACH, |b, e| {
                let place = b.add(own, e);
                let value = b.load(tiles, place);
                let new = self.combine(b, before, value);
                b.store(tiles, place, new);
            });
            let last = b.add_const(sums_base, i64::from(along) - 1);
            let all = b.load(sums, last);
            let sum = carry.sum(b);
            let new = self.combine(b, sum, all);
            carry.set(b, new, all);
            b.barrier();
            each(b, &|b, place, p, inside| {
                b.when(inside, |b| {
                    let at = self.at(b, &n, line, p);
                    let value = b.load(tiles, place);
                    self.store(b, &n, at, value);
                });
            });
            b.barrier();
        });
        Ok(sig.finish(grid.grid))
    }
}
