//! How a forward pass is divided among workgroups: each has a block of queries of one head, a range of the values' features and a part of
//! the keys.
//!
//! Few queries against many keys do not fill a device by their number: heads that share keys become one, and keys are cut into parts,
//! each with a maximum and a sum of its own, which a second step joins in order.

use super::tile::Side;
use super::{Context, Inputs, shift};
use crate::lower::distribute::{Line, Operand, ScratchBuffers, for_each, mul_const_add, threads};
use crate::lower::{ProgramLaunch, Signature, Unsupported};
use unigrad_ir::{Builder, Place, Target, Value};
use unigrad_kernel::Layout4;
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// Parts of the keys at most.
const MOST_PARTS: usize = 64;
/// What each part of the keys gives: `[batch, head, row, part]`.
struct Partial {
    /// Weighted sums of values, `[…, v_dim]`.
    sums: Operand,
    greatest: Operand,
    total: Operand,
}

/// Sizes of a workgroup's block: rows, the keys of one turn, features of values; and how many keys are worth a part.
#[derive(Clone, Copy)]
pub(super) struct BlockSizes {
    pub(super) rows: u32,
    pub(super) keys: u32,
    pub(super) features: u32,
    pub(super) part: usize,
}

/// See the module's text.
pub(super) struct Division<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) sizes: BlockSizes,
    /// Whether rows are the queries of all heads that share a key head.
    pub(super) joined: bool,
    /// Rows of a head.
    pub(super) rows: usize,
    /// Heads as workgroups see them.
    heads: usize,
    blocks: usize,
    /// Ranges of the value's features.
    chunks: usize,
    parts: usize,
    partial: Option<Partial>,
}

/// What a block's threads know of it.
pub(super) struct Block {
    /// Whether there is such a block: folding a grid adds some.
    pub(super) exists: Value,
    pub(super) batch: Value,
    pub(super) head: Value,
    /// The head of the keys.
    pub(super) kv_head: Value,
    /// The first row, and how many there are (`I32`).
    pub(super) first: Value,
    pub(super) end: Value,
    part: Value,
    /// The first of its features.
    pub(super) feature: Value,
    /// Whether these are the first of all features.
    leads: Value,
}

/// Where results go.
#[derive(Clone, Copy)]
pub(super) enum Results {
    /// The output and the logarithms.
    Whole { out: Place, lse: Place },
    /// What [`Division::join`] reads.
    Part { sums: Place, greatest: Place, totals: Place },
}

/// Where a row's sums go: the first feature's place, elements from feature to feature.
pub(super) struct RowSink {
    pub(super) place: Place,
    pub(super) line: Value,
    pub(super) feature: i64,
}

impl<'a> Division<'a> {
    /// Heads and rows of the problem as workgroups see them: whether heads are joined, rows of a head, heads.
    pub(super) fn rows_of(context: &Context<'_>) -> (bool, usize, usize) {
        let kernel = context.kernel;
        let group = context.group();
        // Heads as one, where a block has room for them all.
        let joined = group > 1 && group * kernel.q_len <= 64;
        if joined { (true, group * kernel.q_len, kernel.kv_heads) } else { (false, kernel.q_len, kernel.heads) }
    }

    pub(super) fn new(context: &'a Context<'a>, sizes: BlockSizes, target: &Target, scratch: &mut ScratchBuffers) -> Division<'a> {
        let kernel = context.kernel;
        let (joined, rows, heads) = Division::rows_of(context);
        let blocks = rows.div_ceil(sizes.rows as usize);
        let chunks = kernel.v_dim.div_ceil(sizes.features as usize).max(1);
        let groups = kernel.batch * heads * blocks * chunks;
        let parts = (2 * target.compute_units.max(1) as usize).div_ceil(groups).min(kernel.k_len / sizes.part.max(1)).clamp(1, MOST_PARTS);
        let units = kernel.batch * heads * rows * parts;
        let partial = (parts > 1).then(|| Partial {
            sums: scratch.take(context.dtype, units * kernel.v_dim),
            greatest: scratch.take(context.dtype, units),
            total: scratch.take(context.dtype, units),
        });
        Division { context, sizes, joined, rows, heads, blocks, chunks, parts, partial }
    }

    /// Workgroups.
    fn items(&self) -> usize {
        self.context.kernel.batch * self.heads * self.blocks * self.chunks * self.parts
    }

    pub(super) fn line(&self, target: &Target) -> Result<Line, Unsupported> {
        Line::new(self.items(), target)
    }

    /// The results as parameters.
    pub(super) fn open(&self, sig: &mut Signature) -> Results {
        let context = self.context;
        match &self.partial {
            None => Results::Whole {
                out: context.output(context.n_inputs, context.kernel.out_buffer).open(sig, "y", true),
                lse: context.lse(true).open(sig, "lse", true),
            },
            Some(p) => Results::Part {
                sums: p.sums.open(sig, "sums", true),
                greatest: p.greatest.open(sig, "greatest", true),
                totals: p.total.open(sig, "totals", true),
            },
        }
    }

    /// The block of a workgroup.
    pub(super) fn block(&self, b: &mut Builder, line: Line) -> Block {
        let kernel = self.context.kernel;
        let group = line.group(b);
        let count = b.u32(self.items() as u32);
        let exists = b.lt(group, count);
        // Later queries see more keys under a causal mask: they start first.
        let last = b.add_const(count, -1);
        let mut rest = if kernel.spec.causal { b.sub(last, group) } else { group };
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
        let first = b.mul_const(rest, self.sizes.rows.into());
        let first = b.cast(first, DType::I32);
        let end = b.int(DType::I32, self.rows as i64);
        let kv_head = if self.joined { head } else { b.div_const(head, self.context.group() as i64) };
        let zero = b.u32(0);
        let leads = b.binary(BinaryOp::Eq, chunk, zero);
        let feature = b.mul_const(chunk, self.sizes.features.into());
        Block { exists, batch, head, kv_head, first, end, part, feature, leads }
    }

    /// A row's head and query.
    pub(super) fn query(&self, b: &mut Builder, head: Value, row: Value) -> (Value, Value) {
        if !self.joined {
            return (head, row);
        }
        let len = self.context.kernel.q_len as i64;
        let within = b.div_const(row, len);
        let within = b.cast(within, DType::U32);
        (mul_const_add(b, head, self.context.group() as i64, within), b.rem_const(row, len))
    }

    pub(super) fn side(&self, b: &mut Builder, place: Place, layout: &Layout4, features: usize, block: &Block) -> Side {
        let group = self.context.group() as i64;
        let head = if self.joined { b.mul_const(block.head, group) } else { block.head };
        let side = self.context.side(b, place, layout, features, block.batch, head);
        let heads = self.joined.then_some((self.context.kernel.q_len, layout.strides[1]));
        Side { heads, ..side }
    }

    /// The keys of the block's part: from, to (`I32`). From is a multiple of nothing: keys are loaded one by one.
    pub(super) fn keys(&self, b: &mut Builder, inputs: &Inputs, block: &Block) -> (Value, Value) {
        let (first, end) = if self.joined {
            (b.int(DType::I32, 0), b.int(DType::I32, self.context.kernel.q_len as i64))
        } else {
            let end = b.add_const(block.first, self.sizes.rows.into());
            (block.first, b.binary(BinaryOp::Min, end, block.end))
        };
        let (from, to) = self.context.keys_seen(b, inputs, first, end);
        if self.parts == 1 {
            return (from, to);
        }
        let zero = b.int(DType::I32, 0);
        let count = b.sub(to, from);
        let count = b.binary(BinaryOp::Max, count, zero);
        let columns = i64::from(self.sizes.keys);
        let each = b.add_const(count, self.parts as i64 * columns - 1);
        let each = b.div_const(each, self.parts as i64 * columns);
        let each = b.mul_const(each, columns);
        let part = b.cast(block.part, DType::I32);
        let skipped = b.mul(each, part);
        let from = b.add(from, skipped);
        let end = b.add(from, each);
        (from, b.binary(BinaryOp::Min, to, end))
    }

    /// Keeps what is known of a row that exists: its maximum and its sum. `leads`: whether this thread is the one to do so. Gives what its sums
    /// of values are multiplied with, which is nothing where parts are joined later.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn finish_row(
        &self,
        b: &mut Builder,
        results: Results,
        block: &Block,
        row: Value,
        (most, total): (Value, Value),
        leads: Value,
    ) -> Option<Value> {
        let leads = b.and(leads, block.leads);
        match results {
            Results::Whole { lse, .. } => {
                let (factor, log) = normalized(b, self.context.dtype, most, total);
                let (head, i) = self.query(b, block.head, row);
                b.when(leads, |b| {
                    let at = self.context.row_number(b, block.batch, head, i);
                    b.store(lse, at, log);
                });
                Some(factor)
            }
            Results::Part { greatest, totals, .. } => {
                let unit = self.unit(b, block, row);
                b.when(leads, |b| {
                    b.store(greatest, unit, most);
                    b.store(totals, unit, total);
                });
                None
            }
        }
    }

    /// Where a row's sums of values go.
    pub(super) fn sink(&self, b: &mut Builder, results: Results, block: &Block, row: Value) -> RowSink {
        let kernel = self.context.kernel;
        match results {
            Results::Whole { out, .. } => {
                let (head, i) = self.query(b, block.head, row);
                let y = self.context.side(b, out, &kernel.out, kernel.v_dim, block.batch, head);
                RowSink { place: out, line: y.line(b, i), feature: y.feature }
            }
            Results::Part { sums, .. } => {
                let unit = self.unit(b, block, row);
                RowSink { place: sums, line: b.mul_const(unit, kernel.v_dim as i64), feature: 1 }
            }
        }
    }

    /// A row's number in what parts of keys give.
    fn unit(&self, b: &mut Builder, block: &Block, row: Value) -> Value {
        let unit = mul_const_add(b, block.batch, self.heads as i64, block.head);
        let row = b.cast(row, DType::U32);
        let unit = mul_const_add(b, unit, self.rows as i64, row);
        mul_const_add(b, unit, self.parts as i64, block.part)
    }

    /// Joins the parts of the keys: a thread per row and feature. Loops are unrolled, so that what all parts gave is on its way at once.
    pub(super) fn join(&self, target: &Target) -> Result<Option<ProgramLaunch>, Unsupported> {
        let Some(partial) = &self.partial else { return Ok(None) };
        let Division { context, .. } = self;
        let kernel = context.kernel;
        let mut sig = Signature::new("attention_join", [threads(target, 128), 1, 1]);
        let out = context.output(context.n_inputs, kernel.out_buffer).open(&mut sig, "y", true);
        let lse = context.lse(true).open(&mut sig, "lse", true);
        let sums = partial.sums.open(&mut sig, "sums", false);
        let greatest = partial.greatest.open(&mut sig, "greatest", false);
        let totals = partial.total.open(&mut sig, "totals", false);
        let width = kernel.v_dim.max(1);
        let step = for_each(sig, target, kernel.batch * self.heads * self.rows * width, DType::U32, |b, item| {
            let (unit, feature) = (b.div_const(item, width as i64), b.rem_const(item, width as i64));
            let (line, row) = (b.div_const(unit, self.rows as i64), b.rem_const(unit, self.rows as i64));
            let (batch, head) = (b.div_const(line, self.heads as i64), b.rem_const(line, self.heads as i64));
            let row = b.cast(row, DType::I32);
            let (head, i) = self.query(b, head, row);
            let first = b.mul_const(unit, self.parts as i64);
            let zero = b.u32(0);
            let parts = self.parts as u32;
            let hidden = b.float(context.dtype, f64::NEG_INFINITY);
            let most = b.variable("most", hidden);
            b.unrolled(parts, |b, part| {
                let at = b.add(first, part);
                let (old, here) = (b.get(most), b.load(greatest, at));
                let new = b.binary(BinaryOp::Max, old, here);
                b.set(most, new);
            });
            let most = b.get(most);
            let shift = shift(b, context.dtype, most);
            let none = b.float(context.dtype, 0.0);
            let (total, sum) = (b.variable("total", none), b.variable("sum", none));
            b.unrolled(parts, |b, part| {
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
        })?;
        Ok(Some(step))
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
