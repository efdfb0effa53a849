//! Attention without materialized scores (Dao, "FlashAttention-2", arXiv:2307.08691), forward and backward.
//!
//! Always: sums run in a fixed order; where workgroups add to the same ones, they do so in turns. Blocks that the mask hides are skipped.
//! Never: holds more scores than one block of queries by one block of keys.
//!
//! [`tile`] has the products by threads, [`forward`] and [`backward`] the loops around them; [`few`] the forward pass of few queries where the target
//! has subgroups; [`matrix`] has both passes for half types where it has matrix fragments, [`fast`] those in a device's own words. This file has what all know of masks, dropout and layouts.

mod backward;
mod division;
mod fast;
mod few;
mod forward;
mod matrix;
mod tile;

pub(super) use backward::lower as lower_grad;
pub(super) use forward::lower;

use super::{
    Signature, Unsupported,
    distribute::{Operand, check_dtype, index_dtype, too_large},
    philox::philox,
};
use tile::{PageTable, Side};
use unigrad_ir::{Builder, Place, SubgroupOp, Target, Value};
use unigrad_kernel::{Arg, Attention, Layout4};
use unigrad_scalar::{BinaryOp, DType, Positions, ReduceOp};

/// Positions are below this, so that sums of a few of them stay within 32 bits.
const FAR: i64 = 1 << 28;

/// Whether some of its operands or results have no elements.
pub(super) fn lacks_a_size(kernel: &Attention) -> bool {
    let Attention { batch, heads, kv_heads, q_len, k_len, qk_dim, v_dim, .. } = kernel;
    [batch, heads, kv_heads, q_len, k_len, qk_dim, v_dim].contains(&&0)
}

/// Whether runs of so many features are aligned to their length everywhere. A power of two.
fn aligned(layout: &Layout4, to: i64) -> bool {
    let rows = &layout.strides[..3];
    layout.strides[3] == 1 && layout.offset % to == 0 && rows.iter().all(|stride| *stride >= 0 && stride % to == 0)
}

/// Features that can be moved at once: at most 16 bytes of a dtype.
fn run(layout: &Layout4, features: usize, dtype: DType, target: &Target) -> u32 {
    let bytes = |v: u32| v as usize * dtype.size();
    let fits = |v: &u32| target.vectors && bytes(*v) <= 16 && features.is_multiple_of(*v as usize) && aligned(layout, (*v).into());
    [8, 4, 2].into_iter().find(fits).unwrap_or(1)
}

/// A value reduced over the threads of a subgroup whose numbers differ in some bits, which are told one after the other; all of them get it.
fn over_bits(b: &mut Builder, op: ReduceOp, mut value: Value, bits: impl Iterator<Item = u32>) -> Value {
    for bit in bits {
        let other = b.subgroup(SubgroupOp::ShuffleXor(1 << bit), value);
        value = b.combine(op, value, other);
    }
    value
}

/// What exponents are less than the greatest score by. Where nothing is visible yet that is -inf, and -inf - -inf would be NaN.
fn shift(b: &mut Builder, dtype: DType, greatest: Value) -> Value {
    let lowest = b.float(dtype, if dtype == DType::F64 { f64::MIN } else { f32::MIN.into() });
    b.binary(BinaryOp::Max, greatest, lowest)
}

/// What all programs of a kernel share.
struct Context<'a> {
    kernel: &'a Attention,
    /// What sums are kept in.
    dtype: DType,
    /// Of offsets; they wrap, so that strides may be negative.
    index: DType,
    /// Buffer arguments in front of the outputs.
    n_inputs: usize,
}

impl<'a> Context<'a> {
    fn new(kernel: &'a Attention, target: &Target, other_buffers: &[usize]) -> Result<Context<'a>, Unsupported> {
        check_dtype(target, kernel.dtype)?;
        let bias = kernel.bias.map_or(0, |(_, arg)| arg.len);
        let n_rows = kernel.batch * kernel.heads * kernel.q_len;
        let positions = kernel.batch * kernel.position_columns();
        let lens = [kernel.q_buffer, kernel.k_buffer, kernel.v_buffer, kernel.out_buffer, bias, n_rows, positions];
        let longest = lens.into_iter().chain(other_buffers.iter().copied()).max().unwrap_or(0);
        let index = index_dtype(target, longest)?;
        for size in [kernel.q_len, kernel.k_len, kernel.qk_dim, kernel.v_dim, n_rows] {
            if size as i64 >= FAR {
                return Err(too_large(size));
            }
        }
        Ok(Context { kernel, dtype: kernel.dtype.compute(), index, n_inputs: kernel.n_inputs() })
    }

    /// Query heads that share a key head.
    fn group(&self) -> usize {
        self.kernel.heads / self.kernel.kv_heads.max(1)
    }

    fn input(&self, at: usize, len: usize) -> Operand {
        Operand::Arg(at, Arg { dtype: self.kernel.dtype, len, write: false })
    }

    fn output(&self, at: usize, len: usize) -> Operand {
        Operand::Arg(at, Arg { dtype: self.kernel.dtype, len, write: true })
    }

    fn lse(&self, write: bool) -> Operand {
        let len = self.kernel.batch * self.kernel.heads * self.kernel.q_len;
        Operand::Arg(self.n_inputs + 1, Arg { dtype: self.dtype, len, write })
    }

    /// The inputs as parameters.
    fn open(&self, sig: &mut Signature) -> Parameters {
        let kernel = self.kernel;
        let q = self.input(0, kernel.q_buffer).open(sig, "q", false);
        let k = self.input(1, kernel.k_buffer).open(sig, "k", false);
        let v = self.input(2, kernel.v_buffer).open(sig, "v", false);
        let bias = kernel.bias.map(|(_, arg)| sig.arg("bias", 3, &Arg { write: false, ..arg }));
        let same = (!kernel.spec.positions.is_tensor()).then(|| [sig.scalar_halves("kv_len", 0), sig.scalar_halves("q_offset", 1)]);
        let each = same.is_none().then(|| {
            let len = kernel.batch * kernel.position_columns();
            sig.arg("positions", self.n_inputs - 1, &Arg { dtype: DType::I32, len, write: false })
        });
        let first = if same.is_some() { 2 } else { 0 };
        let dropout = kernel.spec.dropout.map(|dropout| {
            let (seed, offset) = (sig.scalar_halves("seed", first), sig.scalar_halves("offset", first + 1));
            (f32::from_bits(dropout.keep_bits), seed, offset)
        });
        let b = &mut sig.b;
        let same = same.map(|[kv_len, q_offset]| (clamped(b, kv_len, 0, kernel.k_len as i64), clamped(b, q_offset, -FAR, FAR)));
        Parameters { q, k, v, bias, same, each, dropout }
    }

    /// What a workgroup for a sequence knows of the inputs.
    fn of_sequence(&self, b: &mut Builder, parameters: &Parameters, batch: Value) -> Inputs {
        let Parameters { q, k, v, bias, same, each, dropout } = *parameters;
        let mut row = None;
        let (kv_len, q_offset) = match (same, each) {
            (Some(same), _) => same,
            (None, Some(place)) => {
                let batch = b.cast(batch, self.index);
                let first = b.mul_const(batch, self.kernel.position_columns() as i64);
                let mut column = |at: i64, [least, most]: [i64; 2]| {
                    let at = b.add_const(first, at);
                    let value = b.load(place, at);
                    let (least, most) = (b.int(DType::I32, least), b.int(DType::I32, most));
                    let value = b.binary(BinaryOp::Max, value, least);
                    b.binary(BinaryOp::Min, value, most)
                };
                let positions = (column(0, [0, self.kernel.k_len as i64]), column(1, [-FAR, FAR]));
                row = Some((place, b.add_const(first, Positions::COLUMNS as i64)));
                positions
            }
            // Without a tensor there are numbers.
            (None, None) => (b.int(DType::I32, 0), b.int(DType::I32, 0)),
        };
        Inputs { q, k, v, bias, kv_len, q_offset, row, dropout }
    }

    /// One head's keys or values of the sequence.
    #[allow(clippy::too_many_arguments)]
    fn key_side(
        &self,
        b: &mut Builder,
        inputs: &Inputs,
        place: Place,
        layout: &Layout4,
        features: usize,
        batch: Value,
        head: Value,
    ) -> Side {
        let (Some(pages), Some((table, row))) = (self.kernel.pages, inputs.row) else {
            return self.side(b, place, layout, features, batch, head);
        };
        let base = b.int(self.index, layout.offset);
        let head = b.cast(head, self.index);
        let [by_page, by_head, position, feature] = layout.strides;
        let base = super::distribute::mul_const_add(b, head, by_head, base);
        let per_sequence = self.kernel.k_len / pages.size.max(1);
        let pages = PageTable { table, row, per_sequence, count: pages.count, size: pages.size, stride: by_page };
        Side { place, base, position, feature, features, heads: None, pages: Some(pages) }
    }

    /// One head's slice of a tensor.
    fn side(&self, b: &mut Builder, place: Place, layout: &Layout4, features: usize, batch: Value, head: Value) -> Side {
        let base = b.int(self.index, layout.offset);
        let (batch, head) = (b.cast(batch, self.index), b.cast(head, self.index));
        let [by_batch, by_head, position, feature] = layout.strides;
        let base = super::distribute::mul_const_add(b, batch, by_batch, base);
        let base = super::distribute::mul_const_add(b, head, by_head, base);
        Side { place, base, position, feature, features, heads: None, pages: None }
    }

    /// Whether query `i` sees key `j` (both `I32`).
    fn sees(&self, b: &mut Builder, inputs: &Inputs, i: Value, j: Value) -> Value {
        let mut seen = b.lt(j, inputs.kv_len);
        let position = b.add(i, inputs.q_offset);
        if self.kernel.spec.causal {
            let past = b.binary(BinaryOp::Le, j, position);
            seen = b.and(seen, past);
        }
        if let Some(window) = self.kernel.spec.window {
            let oldest = b.add_const(position, -window_of(window));
            let recent = b.lt(oldest, j);
            seen = b.and(seen, recent);
        }
        seen
    }

    /// Whether the mask hides any pair of these queries and keys, first and last (`I32`).
    fn hides_some(&self, b: &mut Builder, inputs: &Inputs, [first, last]: [Value; 2], [first_key, last_key]: [Value; 2]) -> Value {
        let mut hides = b.binary(BinaryOp::Le, inputs.kv_len, last_key);
        if self.kernel.spec.causal {
            let position = b.add(first, inputs.q_offset);
            let future = b.lt(position, last_key);
            hides = b.binary(BinaryOp::Or, hides, future);
        }
        if let Some(window) = self.kernel.spec.window {
            let position = b.add(last, inputs.q_offset);
            let oldest = b.add_const(position, -window_of(window));
            let past = b.binary(BinaryOp::Le, first_key, oldest);
            hides = b.binary(BinaryOp::Or, hides, past);
        }
        hides
    }

    /// The keys that queries `first..end` (`I32`) may see: from, to.
    fn keys_seen(&self, b: &mut Builder, inputs: &Inputs, first: Value, end: Value) -> (Value, Value) {
        let (mut from, mut to) = (b.int(DType::I32, 0), inputs.kv_len);
        if self.kernel.spec.causal {
            let past = b.add(end, inputs.q_offset);
            to = b.binary(BinaryOp::Min, to, past);
        }
        if let Some(window) = self.kernel.spec.window {
            let oldest = b.add(first, inputs.q_offset);
            let oldest = b.add_const(oldest, 1 - window_of(window));
            from = b.binary(BinaryOp::Max, from, oldest);
        }
        (from, to)
    }

    /// The queries that may see keys `first..end` (`I32`): from, to.
    fn queries_seeing(&self, b: &mut Builder, inputs: &Inputs, first: Value, end: Value) -> (Value, Value) {
        let (mut from, mut to) = (b.int(DType::I32, 0), b.int(DType::I32, self.kernel.q_len as i64));
        if self.kernel.spec.causal {
            let earliest = b.sub(first, inputs.q_offset);
            from = b.binary(BinaryOp::Max, from, earliest);
        }
        if let Some(window) = self.kernel.spec.window {
            let latest = b.sub(end, inputs.q_offset);
            let latest = b.add_const(latest, window_of(window) - 1);
            to = b.binary(BinaryOp::Min, to, latest);
        }
        (from, to)
    }

    /// `score * scale + bias`, or -inf where the query does not see the key. `bias_line` is where the query's row of the bias begins.
    fn masked(&self, b: &mut Builder, inputs: &Inputs, score: Value, seen: Value, bias_line: Option<Value>, j: Value) -> Value {
        let scale = b.float(self.dtype, f64::from_bits(self.kernel.spec.scale_bits));
        let score = b.mul(score, scale);
        let score = self.biased(b, inputs, score, seen, bias_line, j);
        let hidden = b.float(self.dtype, f64::NEG_INFINITY);
        b.select(seen, score, hidden)
    }

    /// Where a query's row of the bias begins.
    fn bias_line(&self, b: &mut Builder, inputs: &Inputs, batch: Value, head: Value, i: Value) -> Option<Value> {
        let (layout, _) = self.kernel.bias?;
        let bias = self.side(b, inputs.q, &layout, 0, batch, head);
        Some(bias.line(b, i))
    }

    /// `score + bias` where the query sees the key.
    fn biased(&self, b: &mut Builder, inputs: &Inputs, mut score: Value, seen: Value, bias_line: Option<Value>, j: Value) -> Value {
        if let (Some(bias), Some((layout, _)), Some(line)) = (inputs.bias, self.kernel.bias, bias_line) {
            let zero = b.float(self.dtype, 0.0);
            let added = b.variable("bias", zero);
            b.when(seen, |b| {
                let j = b.cast(j, self.index);
                let at = super::distribute::mul_const_add(b, j, layout.strides[3], line);
                let value = b.load(bias, at);
                let value = b.cast(value, self.dtype);
                b.set(added, value);
            });
            let added = b.get(added);
            score = b.add(score, added);
        }
        score
    }

    /// What dropout multiplies the probability of a key with. `row` is the query's number in `[batch, head, query]` (`U32`).
    fn kept(&self, b: &mut Builder, inputs: &Inputs, row: Value, j: Value) -> Option<Value> {
        let (keep, ..) = inputs.dropout?;
        let is_kept = self.is_kept(b, inputs, row, j)?;
        let (factor, none) = (b.float(self.dtype, 1.0 / f64::from(keep)), b.float(self.dtype, 0.0));
        Some(b.select(is_kept, factor, none))
    }

    /// Whether dropout keeps the probability of a key (`Bool`).
    fn is_kept(&self, b: &mut Builder, inputs: &Inputs, row: Value, j: Value) -> Option<Value> {
        let (keep, seed, offset) = inputs.dropout?;
        let len = b.u32(self.kernel.k_len as u32);
        let (low, high) = (b.mul(row, len), b.mul_hi(row, len));
        let j = b.cast(j, DType::U32);
        let index = b.add(low, j);
        let carried = b.lt(index, low);
        let carried = b.cast(carried, DType::U32);
        let high = b.add(high, carried);
        let word = philox(b, [index, high, offset[0], offset[1]], seed)[0];
        let eight = b.u32(8);
        let bits = b.binary(BinaryOp::Shr, word, eight);
        let uniform = b.cast(bits, DType::F32);
        let unit = b.float(DType::F32, 1.0 / f64::from(1 << 24));
        let uniform = b.mul(uniform, unit);
        let keep_value = b.float(DType::F32, keep.into());
        Some(b.lt(uniform, keep_value))
    }

    /// The number of a query in `[batch, head, query]`: `U32`.
    fn row_number(&self, b: &mut Builder, batch: Value, head: Value, i: Value) -> Value {
        let i = b.cast(i, DType::U32);
        let line = super::distribute::mul_const_add(b, batch, self.kernel.heads as i64, head);
        super::distribute::mul_const_add(b, line, self.kernel.q_len as i64, i)
    }
}

/// A window beyond all keys is as good as none.
fn window_of(window: usize) -> i64 {
    i64::try_from(window).unwrap_or(FAR).min(FAR)
}

/// The inputs as parameters.
struct Parameters {
    q: Place,
    k: Place,
    v: Place,
    bias: Option<Place>,
    /// Length and offset of all sequences, as those of one in [`Inputs`]; or the tensor of those of each.
    same: Option<(Value, Value)>,
    each: Option<Place>,
    dropout: Option<(f32, [Value; 2], [Value; 2])>,
}

/// The inputs of one sequence.
struct Inputs {
    q: Place,
    k: Place,
    v: Place,
    bias: Option<Place>,
    /// `I32`, within `0..=k_len`.
    kv_len: Value,
    /// `I32`, far at most.
    q_offset: Value,
    /// With positions for each sequence: their tensor, and where the sequence's pages begin in it.
    row: Option<(Place, Value)>,
    /// Probability of keeping; seed and offset, in halves.
    dropout: Option<(f32, [Value; 2], [Value; 2])>,
}

/// A 64-bit number, in halves, as `I32` within bounds.
fn clamped(b: &mut Builder, [low, high]: [Value; 2], least: i64, most: i64) -> Value {
    let high = b.bitcast(high, DType::I32);
    let number = b.bitcast(low, DType::I32);
    // It fits if the upper half is nothing but its sign.
    let shift = b.int(DType::I32, 31);
    let sign = b.binary(BinaryOp::Shr, number, shift);
    let fits = b.binary(BinaryOp::Eq, sign, high);
    let zero = b.int(DType::I32, 0);
    let negative = b.lt(high, zero);
    let (least, most) = (b.int(DType::I32, least), b.int(DType::I32, most));
    let bound = b.select(negative, least, most);
    let number = b.select(fits, number, bound);
    let number = b.binary(BinaryOp::Max, number, least);
    b.binary(BinaryOp::Min, number, most)
}
