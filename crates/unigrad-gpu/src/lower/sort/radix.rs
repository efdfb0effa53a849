//! Sorting long rows by their keys' digits of four bits, from the least significant up. Each pass is stable: count the digits of each tile;
//! sum the counts in order of digit and tile; move each pair to where its digit's earlier ones end.
//!
//! Within a tile each thread counts a run of elements that follow each other, in counters of its own: no atomics, no order but the rows'.

use super::super::{
    ProgramLaunch, Signature, Unsupported,
    distribute::{Line, Operand, ScratchBuffers, div_rem, mul_add, mul_const_add, threads},
    scan,
};
use super::{Input, Output, Pairs, Rows};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_scalar::{BinaryOp, DType, ScanOp};

/// Values of a digit.
const DIGITS: u32 = 16;
/// Elements of a tile that follow each other and are one thread's.
const EACH: u32 = 8;

/// The launches that sort rows.
pub(super) fn steps(
    target: &Target,
    rows: Rows,
    input: Input,
    output: Output,
    scratch: &mut ScratchBuffers,
) -> Result<Vec<ProgramLaunch>, Unsupported> {
    let keys = input.keys();
    let n_passes = keys.bits.div_ceil(4).max(1);
    let per_thread = 4 * (DIGITS + EACH + 1);
    let fits = (target.shared_bytes as u32 / per_thread).max(16);
    let n_threads = threads(target, fits.min(256));
    let tile = (n_threads * EACH) as usize;
    let n_tiles = rows.len.div_ceil(tile);
    let n_counts = DIGITS as usize * n_tiles;
    let counts = scratch.take(DType::U32, rows.count() * n_counts);
    let spare: Vec<Pairs> = (1..n_passes.min(3)).map(|_| Pairs::new(scratch, keys, rows.count() * rows.len)).collect();
    let mut from = input;
    let mut steps = Vec::new();
    for pass in 0..n_passes {
        let last = pass + 1 == n_passes;
        let to = if last { output.clone() } else { Output::Pairs { pairs: spare[pass as usize % 2].clone(), len: rows.len } };
        let pass = Pass { rows, n_tiles, n_threads, counts, word: keys.words - 1 - (pass / 8) as usize, shift: 4 * (pass % 8) };
        steps.push(pass.count(target, &from)?);
        let sums = scan::Spec { op: ScanOp::Sum, x: counts, out: counts, outer: rows.count(), len: n_counts, inner: 1, reverse: false };
        steps.extend(scan::steps(sums, target, scratch)?);
        steps.push(pass.spread(target, &from, &to)?);
        if let Output::Pairs { pairs, .. } = to {
            from = Input::Pairs(pairs, keys);
        }
    }
    Ok(steps)
}

struct Pass {
    rows: Rows,
    n_tiles: usize,
    n_threads: u32,
    /// `[row, digit, tile]`.
    counts: Operand,
    /// Which word of the key the digit is in, and where.
    word: usize,
    shift: u32,
}

/// What both programs of a pass begin with.
struct Tile {
    line: Line,
    row: Value,
    tile: Value,
    /// Whether the workgroup has a tile.
    exists: Value,
    len: Value,
    inner: Value,
    tiles: Value,
    shift: Value,
    counters: Place,
    t: Value,
}

impl Pass {
    fn open(&self, target: &Target, sig: &mut Signature) -> Result<Tile, Unsupported> {
        let items = self.rows.count() * self.n_tiles;
        let line = Line::new(items, target)?;
        let [len, inner, tiles, count] = [("len", self.rows.len), ("inner", self.rows.inner), ("tiles", self.n_tiles), ("count", items)]
            .map(|(name, n)| if n == 1 { sig.b.u32(1) } else { sig.word(name, DType::U32, n as u64) });
        let shift = sig.word("shift", DType::U32, self.shift.into());
        let b = &mut sig.b;
        let group = line.group(b);
        let (row, tile) = div_rem(b, group, tiles);
        let exists = b.lt(group, count);
        let counters = b.shared("counters", DType::U32, DIGITS * self.n_threads);
        let t = b.thread(0);
        Ok(Tile { line, row, tile, exists, len, inner, tiles, shift, counters, t })
    }

    /// Sets all counters of the thread to 0.
    fn clear(&self, b: &mut Builder, tile: &Tile) {
        let zero = b.u32(0);
        b.unrolled(DIGITS, |b, digit| {
            let at = mul_const_add(b, digit, self.n_threads.into(), tile.t);
            b.store(tile.counters, at, zero);
        });
    }

    fn digit(&self, b: &mut Builder, tile: &Tile, key: &[Value]) -> Value {
        let mask = b.u32(DIGITS - 1);
        let moved = b.binary(BinaryOp::Shr, key[self.word], tile.shift);
        b.and(moved, mask)
    }

    /// Goes over the tile, neighbouring threads over neighbouring elements: slot in the tile, position in the row.
    fn each(&self, b: &mut Builder, tile: &Tile, body: impl Fn(&mut Builder, Value, Value)) {
        let size = (self.n_threads * EACH).into();
        let (zero, each, one) = (b.u32(0), b.u32(EACH), b.u32(1));
        b.repeat(zero, each, one, |b, e| {
            let slot = mul_const_add(b, e, self.n_threads.into(), tile.t);
            let position = mul_const_add(b, tile.tile, size, slot);
            let inside = b.lt(position, tile.len);
            let inside = b.and(inside, tile.exists);
            b.when(inside, |b| body(b, slot, position));
        });
    }

    /// Where the count of a digit in this tile is.
    fn count_at(&self, b: &mut Builder, tile: &Tile, digit: Value) -> Value {
        let line = mul_const_add(b, tile.row, DIGITS.into(), digit);
        mul_add(b, line, tile.tiles, tile.tile)
    }

    fn count(&self, target: &Target, from: &Input) -> Result<ProgramLaunch, Unsupported> {
        let mut sig = Signature::new("count_digits", [self.n_threads, 1, 1]);
        let source = from.open(&mut sig);
        let counts = self.counts.open(&mut sig, "counts", true);
        let tile = self.open(target, &mut sig)?;
        let b = &mut sig.b;
        self.clear(b, &tile);
        // The thread's own counters: no barrier yet.
        self.each(b, &tile, |b, _, position| {
            let key = source.key(b, tile.row, position, tile.len, tile.inner);
            let digit = self.digit(b, &tile, &key);
            let at = mul_const_add(b, digit, self.n_threads.into(), tile.t);
            let old = b.load(tile.counters, at);
            let new = b.add_const(old, 1);
            b.store(tile.counters, at, new);
        });
        let mut half = self.n_threads / 2;
        while half > 0 {
            b.barrier();
            let limit = b.u32(half);
            let lower = b.lt(tile.t, limit);
            b.when(lower, |b| {
                b.unrolled(DIGITS, |b, digit| {
                    let at = mul_const_add(b, digit, self.n_threads.into(), tile.t);
                    let other = b.add(at, limit);
                    let (x, y) = (b.load(tile.counters, at), b.load(tile.counters, other));
                    let sum = b.add(x, y);
                    b.store(tile.counters, at, sum);
                });
            });
            half /= 2;
        }
        b.barrier();
        let digits = b.u32(DIGITS);
        let writes = b.lt(tile.t, digits);
        let writes = b.and(writes, tile.exists);
        b.when(writes, |b| {
            let at = b.mul_const(tile.t, self.n_threads.into());
            let n = b.load(tile.counters, at);
            let at = self.count_at(b, &tile, tile.t);
            b.store(counts, at, n);
        });
        Ok(sig.finish(tile.line.grid))
    }

    fn spread(&self, target: &Target, from: &Input, to: &Output) -> Result<ProgramLaunch, Unsupported> {
        let n = i64::from(self.n_threads);
        let mut sig = Signature::new("spread_by_digit", [self.n_threads, 1, 1]);
        let source = from.open(&mut sig);
        let sink = to.open(&mut sig);
        let counts = self.counts.open(&mut sig, "counts", false);
        let tile = self.open(target, &mut sig)?;
        let b = &mut sig.b;
        // An element's digit; then also how many of it the thread has before it.
        let slots = b.shared("slots", DType::U32, self.n_threads * EACH);
        let sums = b.shared("sums", DType::U32, self.n_threads);
        self.clear(b, &tile);
        self.each(b, &tile, |b, slot, position| {
            let key = source.key(b, tile.row, position, tile.len, tile.inner);
            let digit = self.digit(b, &tile, &key);
            b.store(slots, slot, digit);
        });
        b.barrier();
        let first = b.mul_const(tile.t, EACH.into());
        let size = i64::from(self.n_threads * EACH);
        b.unrolled(EACH, |b, e| {
            let slot = b.add(first, e);
            let position = mul_const_add(b, tile.tile, size, slot);
            let inside = b.lt(position, tile.len);
            let inside = b.and(inside, tile.exists);
            b.when(inside, |b| {
                let digit = b.load(slots, slot);
                let at = mul_const_add(b, digit, n, tile.t);
                let before = b.load(tile.counters, at);
                let sixteen = b.u32(DIGITS);
                let both = mul_add(b, before, sixteen, digit);
                b.store(slots, slot, both);
                let after = b.add_const(before, 1);
                b.store(tile.counters, at, after);
            });
        });
        b.barrier();
        // Sixteen counters of one digit to each thread: their sum, the sums before it, then each counter becomes a place.
        let segments = n / i64::from(DIGITS);
        let own = b.mul_const(tile.t, DIGITS.into());
        let zero = b.u32(0);
        let sum = b.variable("sum", zero);
        b.unrolled(DIGITS, |b, k| {
            let at = b.add(own, k);
            let (old, value) = (b.get(sum), b.load(tile.counters, at));
            let new = b.add(old, value);
            b.set(sum, new);
        });
        let total = b.get(sum);
        b.store(sums, tile.t, total);
        b.barrier();
        let digit = b.div_const(tile.t, segments);
        let segment = b.rem_const(tile.t, segments);
        b.set(sum, zero);
        let base = b.mul_const(digit, segments);
        let one = b.u32(1);
        b.repeat(zero, segment, one, |b, before| {
            let at = b.add(base, before);
            let (old, value) = (b.get(sum), b.load(sums, at));
            let new = b.add(old, value);
            b.set(sum, new);
        });
        // Counts are summed inclusively: what ends before this digit's run in this tile is one place back.
        let at = self.count_at(b, &tile, digit);
        let row_start = b.mul_const(tile.row, DIGITS.into());
        let row_start = b.mul(row_start, tile.tiles);
        let later = b.lt(row_start, at);
        let later = b.and(later, tile.exists);
        b.when(later, |b| {
            let at = b.add_const(at, -1);
            let (old, value) = (b.get(sum), b.load(counts, at));
            let new = b.add(old, value);
            b.set(sum, new);
        });
        b.unrolled(DIGITS, |b, k| {
            let at = b.add(own, k);
            let (place, value) = (b.get(sum), b.load(tile.counters, at));
            b.store(tile.counters, at, place);
            let new = b.add(place, value);
            b.set(sum, new);
        });
        b.barrier();
        self.each(b, &tile, |b, slot, position| {
            let both = b.load(slots, slot);
            let (before, digit) = (b.div_const(both, DIGITS.into()), b.rem_const(both, DIGITS.into()));
            let owner = b.div_const(slot, EACH.into());
            let at = mul_const_add(b, digit, n, owner);
            let first = b.load(tile.counters, at);
            let place = b.add(first, before);
            let (key, index) = source.load(b, tile.row, position, tile.len, tile.inner);
            sink.store(b, tile.row, place, &key, index, tile.inner);
        });
        Ok(sig.finish(tile.line.grid))
    }
}
