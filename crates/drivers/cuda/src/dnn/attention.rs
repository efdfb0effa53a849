//! Attention and its gradients as graphs of cuDNN's operations: which are taken, and how they are called.
//!
//! In: kernels of attention, later their memory and numbers. Out: a [`Call`].
//! Always: scores, sums and logarithms in f32, as the kernels have them; what the matrices of the second products are of is rounded to the tensors' dtype.
//! The gradient of queries is one product of all changes of scores, which the library keeps in its workspace: added up in no fixed order they would
//! need less memory, and give other bits each time.
//! Never: windows, biases, dropout, lengths that differ in a batch, pages. Of grouped queries, of lengths that are no multiple of [`BLOCK`], and of causal
//! ones with more keys than queries, cuDNN 9.19 gave wrong numbers for these graphs, so they are refused; and heads of other than 64 or 128 features, for
//! which it was not tried. A launch is refused that reads a part of the keys only, or whose first query sees other than the first.

use super::api::{ADD, DataType};
use super::api::{AT_LEAST, BOOLEAN, DIV, Descriptor, EXP, FLOAT, INDEX, INT32, LOG, MAX, MUL, Pointer, SELECT, SUB, SUM, Status};
use super::graph::{Each, Graph, Numbers, Shape, kind_of};
use super::plan::{Context, ExecutionPlan};
use crate::loaded::Answer;
use smallvec::SmallVec;
use unigrad_gpu::Range;
use unigrad_kernel::{Attention, AttentionGrad, Layout4};
use unigrad_scalar::{DType, Positions};

// Numbers by which the library is told of tensors.
const Q: i64 = 1;
const K: i64 = 2;
const V: i64 = 3;
const OUT: i64 = 4;
const LOGS: i64 = 5;
const DOUT: i64 = 6;
const DQ: i64 = 7;
const DK: i64 = 8;
const DV: i64 = 9;
const SUMS: i64 = 10;
// And of numbers.
const SCALE: i64 = 11;
const LOWEST: i64 = 12;
const ONE: i64 = 13;

/// The oldest version that is asked: from it on minus infinity stands for what is not seen.
pub(super) const OLDEST: usize = 91_000;
/// Features of a head.
const MOST_FEATURES: usize = 128;
/// What strides and sizes of features are multiples of: 16 bytes of halves.
const EVEN: usize = 8;
/// What lengths are multiples of, and the fewest features.
const BLOCK: usize = 64;

/// Attention with all that is decided about it.
pub(crate) struct Call {
    plan: ExecutionPlan,
    /// Tensors by their number: which argument, and the first byte in it.
    places: SmallVec<[(i64, usize, usize); 9]>,
    /// Which numbers it reads.
    numbers: SmallVec<[i64; 5]>,
    /// Bytes of [`SUMS`], after the plan's workspace.
    sums: usize,
}

/// Whether cuDNN has words for it.
pub(crate) fn can(a: &Attention) -> bool {
    let spec = &a.spec;
    let plain = spec.window.is_none() && spec.dropout.is_none() && !spec.has_bias && a.bias.is_none() && a.pages.is_none();
    let features = a.qk_dim == a.v_dim && [BLOCK, MOST_FEATURES].contains(&a.qk_dim);
    let heads = a.heads > 0 && a.heads == a.kv_heads;
    let whole = [a.q_len, a.k_len].iter().all(|len| *len > 0 && len.is_multiple_of(BLOCK)) && a.q_len == a.k_len;
    let some = a.batch > 0 && whole;
    plain && spec.positions == Positions::Same && matches!(a.dtype, DType::F16 | DType::BF16) && features && heads && some
}

/// Fewest multiplications of what is asked without being told to: below, the driver's own kernels take some ten microseconds, and a launch is what counts.
const LEAST: f64 = (1u64 << 30) as f64;

/// Whether cuDNN is expected to be faster than the driver's own kernels: where it has words, it was in all that was measured ([`RATES`]). But on Hopper
/// its gradients, with all changes of scores in memory so that their order is fixed, take 0.70 ms for a layer of GPT-2 on an H100, and the own ones 0.48.
pub(crate) fn wins(a: &Attention, is_grad: bool, is_hopper: bool) -> bool {
    work(a, products(is_grad)) >= LEAST && !(is_grad && is_hopper)
}

/// The same of the gradients.
fn can_differentiate(grad: &AttentionGrad, most: u64) -> bool {
    let a = &grad.forward;
    let changes = [a.batch, a.heads, a.q_len, a.k_len].iter().fold(a.dtype.size() as u64, |all, n| all.saturating_mul(*n as u64));
    can(a) && changes <= most
}

/// Multiply-adds of the pairs that are seen, for so many products of a score's size.
fn work(a: &Attention, products: f64) -> f64 {
    let pairs = [a.batch, a.heads, a.q_len, a.k_len].iter().map(|n| *n as f64).product::<f64>();
    let seen = if a.spec.causal && a.q_len == a.k_len { 0.5 } else { 1.0 };
    pairs * seen * products * (a.qk_dim + a.v_dim) as f64 / 2.0
}

/// Multiplications in a nanosecond on 132 compute units, of attention and of its gradients, as measured on an H100 (`examples/library.rs`, causal, cuDNN
/// 9.19): 275 to 486 TFLOP/s, and 181. The driver's own kernels did 206 on an H200, and of gradients, on an H100, 179 to 302 in two
/// passes, and 268 to 433 in one.
const RATES: [f64; 2] = [150_000.0, 90_000.0];

/// Products of a score's size.
fn products(is_grad: bool) -> f64 {
    if is_grad { 5.0 } else { 2.0 }
}

/// What it is expected to cost on so many compute units, in nanoseconds.
pub(crate) fn nanoseconds(a: &Attention, is_grad: bool, units: u32) -> f64 {
    3000.0 + work(a, products(is_grad)) / (RATES[usize::from(is_grad)] * f64::from(units.max(1)) / 132.0)
}

/// How a tensor of `[batch, head, position, feature]` lies, and its first element; `None` if the library would not read it by lines of 16 bytes.
fn shape(layout: &Layout4, sizes: [usize; 4]) -> Option<(Shape, usize)> {
    let sizes: Numbers = sizes.iter().map(|size| i64::try_from(*size).ok()).collect::<Option<_>>()?;
    let mut shape = Shape::dense(&sizes);
    for at in 0..4 {
        if sizes[at] > 1 {
            shape.strides[at] = layout.strides[at];
        }
    }
    let even = |number: i64| number > 0 && number % EVEN as i64 == 0;
    let right = shape.strides[3] == 1 && shape.strides[..3].iter().copied().all(even) && layout.offset % EVEN as i64 == 0;
    let offset = usize::try_from(layout.offset).ok()?;
    (right && shape.is_apart()).then_some((shape, offset))
}

/// The tensors of a call.
struct Writer<'a> {
    graph: Graph<'a>,
    places: SmallVec<[(i64, usize, usize); 9]>,
    numbers: SmallVec<[i64; 5]>,
    dtype: DataType,
    size: usize,
    scale: Descriptor,
    /// Of scores, and of a number for each row of them.
    scores: Shape,
    rows: Shape,
}

impl<'a> Writer<'a> {
    fn new(context: &'a Context, a: &Attention) -> Result<Writer<'a>, Status> {
        let graph = Graph::new(context);
        let number = |n: usize| i64::try_from(n).map_err(|_| Status::UNEXPECTED);
        let [b, h, q, k] = [number(a.batch)?, number(a.heads)?, number(a.q_len)?, number(a.k_len)?];
        let scale = graph.number(SCALE, 4, FLOAT)?;
        let (scores, rows) = (Shape::dense(&[b, h, q, k]), Shape::dense(&[b, h, q, 1]));
        let numbers = SmallVec::from_slice(&[SCALE]);
        Ok(Writer { graph, places: SmallVec::new(), numbers, dtype: kind_of(a.dtype)?, size: a.dtype.size(), scale, scores, rows })
    }

    /// A number that is read when it is called.
    fn number(&mut self, id: i64, dtype: DataType) -> Result<Descriptor, Status> {
        self.numbers.push(id);
        self.graph.number(id, 4, dtype)
    }

    /// A tensor in memory that is an argument of the kernel. The library takes a matrix of keys or values turned where it is a product's second one.
    fn at(&mut self, id: i64, arg: usize, layout: &Layout4, sizes: [usize; 4], turned: bool) -> Result<(Descriptor, Shape), Status> {
        let (shape, offset) = shape(layout, sizes).ok_or(Status::UNEXPECTED)?;
        self.places.push((id, arg, offset * self.size));
        let seen = if turned { shape.transposed() } else { shape.clone() };
        Ok((self.graph.stored(id, &seen, self.dtype, 16)?, shape))
    }

    /// Logarithms of sums, dense.
    fn logs(&mut self, arg: usize) -> Result<Descriptor, Status> {
        self.places.push((LOGS, arg, 0));
        self.graph.stored(LOGS, &self.rows, FLOAT, 16)
    }

    /// What lies between, of a score's size, in f32.
    fn scores(&mut self, each: Each<'_>) -> Result<Descriptor, Status> {
        self.graph.then(each, &self.scores, FLOAT)
    }

    /// Scores: products, scaled.
    fn scaled(&mut self, q: &Descriptor, keys: &Descriptor) -> Result<Descriptor, Status> {
        let products = self.graph.between(&self.scores, FLOAT)?;
        self.graph.multiply(q, keys, &products)?;
        let scale = &self.scale;
        self.graph.then(Each::both(MUL, &products, scale), &self.scores, FLOAT)
    }

    /// Minus infinity where a query does not see a key.
    fn masked(&mut self, a: &Attention, scores: Descriptor) -> Result<Descriptor, Status> {
        if !a.spec.causal {
            return Ok(scores);
        }
        let shape = self.scores.clone();
        let index = |axis: i64| Each { compute: INT32, axis: Some(axis), ..Each::of(INDEX, &scores) };
        let row = self.graph.then(index(2), &shape, INT32)?;
        let column = self.graph.then(index(3), &shape, INT32)?;
        let sees = self.graph.then(Each { compute: BOOLEAN, ..Each::both(AT_LEAST, &row, &column) }, &shape, BOOLEAN)?;
        let lowest = self.number(LOWEST, FLOAT)?;
        self.graph.then(Each { chosen: Some(&sees), ..Each::both(SELECT, &scores, &lowest) }, &shape, FLOAT)
    }

    fn finish(self, sums: usize) -> Result<Call, Status> {
        let plan = self.graph.context.plan(&self.graph.operations, true)?;
        Ok(Call { plan, places: self.places, numbers: self.numbers, sums })
    }
}

impl Call {
    /// Decides how attention is done; `None` if the library cannot.
    pub(super) fn forward(context: &Context, a: &Attention) -> Option<Call> {
        if !can(a) || context.version < OLDEST { None } else { Call::write_forward(context, a).ok() }
    }

    /// The same of its gradients.
    pub(super) fn backward(context: &Context, grad: &AttentionGrad) -> Option<Call> {
        if !can_differentiate(grad, context.most) || context.version < OLDEST { None } else { Call::write_backward(context, grad).ok() }
    }

    fn write_forward(context: &Context, a: &Attention) -> Result<Call, Status> {
        let mut w = Writer::new(context, a)?;
        let (q, _) = w.at(Q, 0, &a.q, [a.batch, a.heads, a.q_len, a.qk_dim], false)?;
        let (k, _) = w.at(K, 1, &a.k, [a.batch, a.kv_heads, a.k_len, a.qk_dim], true)?;
        let (v, _) = w.at(V, 2, &a.v, [a.batch, a.kv_heads, a.k_len, a.v_dim], false)?;
        let (out, _) = w.at(OUT, 3, &a.out, [a.batch, a.heads, a.q_len, a.v_dim], false)?;
        let logs = w.logs(4)?;
        let scores = w.scaled(&q, &k)?;
        let scores = w.masked(a, scores)?;
        let rows = w.rows.clone();
        let most = w.graph.between(&rows, FLOAT)?;
        w.graph.reduce(MAX, &scores, &most)?;
        let below = w.scores(Each::both(SUB, &scores, &most))?;
        let weights = w.scores(Each::of(EXP, &below))?;
        let sums = w.graph.between(&rows, FLOAT)?;
        w.graph.reduce(SUM, &weights, &sums)?;
        let log = w.graph.then(Each::of(LOG, &sums), &rows, FLOAT)?;
        w.graph.each(Each::both(ADD, &most, &log), &logs)?;
        let (shape, dtype) = (w.scores.clone(), w.dtype);
        let shares = w.graph.then(Each::both(DIV, &weights, &sums), &shape, dtype)?;
        w.graph.multiply(&shares, &v, &out)?;
        w.finish(0)
    }

    fn write_backward(context: &Context, grad: &AttentionGrad) -> Result<Call, Status> {
        let a = &grad.forward;
        let mut w = Writer::new(context, a)?;
        let q_sizes = [a.batch, a.heads, a.q_len, a.qk_dim];
        let out_sizes = [a.batch, a.heads, a.q_len, a.v_dim];
        let (k_sizes, v_sizes) = ([a.batch, a.kv_heads, a.k_len, a.qk_dim], [a.batch, a.kv_heads, a.k_len, a.v_dim]);
        let (q, _) = w.at(Q, 0, &a.q, q_sizes, false)?;
        let (k, k_shape) = w.at(K, 1, &a.k, k_sizes, true)?;
        let (v, _) = w.at(V, 2, &a.v, v_sizes, true)?;
        let (out, _) = w.at(OUT, 3, &a.out, out_sizes, false)?;
        let logs = w.logs(4)?;
        let (dout, _) = w.at(DOUT, 5, &grad.dout, out_sizes, false)?;
        let (dq, _) = w.at(DQ, 6, &grad.dq, q_sizes, false)?;
        let (dk, _) = w.at(DK, 7, &grad.dk, k_sizes, false)?;
        let (dv, _) = w.at(DV, 8, &grad.dv, v_sizes, false)?;
        let (rows, scores_shape, dtype) = (w.rows.clone(), w.scores.clone(), w.dtype);

        // A number for each query: the change of its result along the result.
        let number = |n: usize| i64::try_from(n).map_err(|_| Status::UNEXPECTED);
        let wide = Shape::dense(&[number(a.batch)?, number(a.heads)?, number(a.q_len)?, number(a.v_dim)?]);
        let along = w.graph.then(Each::both(MUL, &dout, &out), &wide, FLOAT)?;
        let summed = w.graph.between(&rows, FLOAT)?;
        w.graph.reduce(SUM, &along, &summed)?;
        let (sums, one) = (w.graph.stored(SUMS, &rows, FLOAT, 16)?, w.number(ONE, FLOAT)?);
        w.graph.each(Each::both(MUL, &summed, &one), &sums)?;

        // The weights again, and with them the gradient of values.
        let scores = w.scaled(&q, &k)?;
        let below = w.scores(Each::both(SUB, &scores, &logs))?;
        let below = w.masked(a, below)?;
        let weights = w.scores(Each::of(EXP, &below))?;
        let turned = scores_shape.transposed();
        let weights_turned = w.graph.seen_as(&weights, &turned, dtype)?;
        w.graph.multiply(&weights_turned, &dout, &dv)?;

        // The change of each score, and with it the gradients of keys and of queries.
        let change = w.graph.between(&scores_shape, FLOAT)?;
        w.graph.multiply(&dout, &v, &change)?;
        let change = w.scores(Each::both(SUB, &change, &sums))?;
        let change = w.scores(Each::both(MUL, &change, &weights))?;
        let scale = &w.scale;
        let change = w.graph.then(Each::both(MUL, &change, scale), &scores_shape, FLOAT)?;
        let change_turned = w.graph.seen_as(&change, &turned, dtype)?;
        w.graph.multiply(&change_turned, &q, &dk)?;
        let keys = w.graph.seen_as(&k, &k_shape, dtype)?;
        w.graph.multiply(&change, &keys, &dq)?;
        w.finish(a.batch * a.heads * a.q_len * size_of::<f32>())
    }

    /// Bytes.
    pub(super) fn workspace(&self) -> usize {
        self.sums_at() + self.sums
    }

    /// Where in the workspace the sums are.
    fn sums_at(&self) -> usize {
        self.plan.workspace.next_multiple_of(256)
    }

    /// Queues it on a stream.
    pub(super) fn queue(
        &self,
        context: &Context,
        a: &Attention,
        (args, scalars): (&[Range], &[u64]),
        workspace: Range,
        stream: Pointer,
    ) -> Answer {
        let (Some(seen), Some(first)) = (scalars.first(), scalars.get(1)) else {
            return Answer::Failed("cuDNN: attention without its numbers".to_owned());
        };
        if (*seen as i64) < a.k_len as i64 || a.spec.causal && *first != 0 {
            return Answer::Refused;
        }
        let mut floats = [f64::from_bits(a.spec.scale_bits) as f32, f32::NEG_INFINITY, 1.0];
        let mut ids: SmallVec<[i64; 15]> = SmallVec::new();
        let mut pointers: SmallVec<[Pointer; 15]> = SmallVec::new();
        for (id, arg, begin) in &self.places {
            let Some(range) = args.get(*arg) else {
                return Answer::Failed("cuDNN: attention without its memory".to_owned());
            };
            ids.push(*id);
            pointers.push(address(*range, *begin));
        }
        for id in &self.numbers {
            ids.push(*id);
            pointers.push(match *id {
                SCALE => (&raw mut floats[0]).cast(),
                LOWEST => (&raw mut floats[1]).cast(),
                _ => (&raw mut floats[2]).cast(),
            });
        }
        if self.sums > 0 {
            ids.push(SUMS);
            pointers.push(address(workspace, self.sums_at()));
        }
        context.execute(&self.plan, &ids, &pointers, address(workspace, 0), stream)
    }
}

/// The device's address as a pointer that is never followed here.
fn address(range: Range, bytes: usize) -> Pointer {
    std::ptr::without_provenance_mut::<std::ffi::c_void>(range.handle as usize + range.offset).wrapping_byte_add(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unigrad_scalar::{AttentionSpec, Dropout};

    fn plain() -> Attention {
        let layout = |heads: i64, len: i64| Layout4 { offset: 0, strides: [heads * len * 64, len * 64, 64, 1] };
        Attention {
            dtype: DType::BF16,
            batch: 2,
            heads: 4,
            kv_heads: 4,
            q_len: 128,
            k_len: 128,
            qk_dim: 64,
            v_dim: 64,
            spec: AttentionSpec { scale_bits: 0.125f64.to_bits(), causal: true, ..AttentionSpec::default() },
            tf32: false,
            pages: None,
            q: layout(4, 128),
            k: layout(4, 128),
            v: layout(4, 128),
            out: layout(4, 128),
            bias: None,
            q_buffer: 2 * 4 * 128 * 64,
            k_buffer: 2 * 4 * 128 * 64,
            v_buffer: 2 * 4 * 128 * 64,
            out_buffer: 2 * 4 * 128 * 64,
        }
    }

    #[test]
    fn what_there_are_no_words_for_is_refused() {
        let a = plain();
        assert!(can(&a) && can(&Attention { dtype: DType::F16, ..a.clone() }));
        assert!(can(&Attention { qk_dim: MOST_FEATURES, v_dim: MOST_FEATURES, ..a.clone() }));
        for n in [0, EVEN, BLOCK - EVEN, BLOCK + EVEN, MOST_FEATURES + BLOCK] {
            assert!(!can(&Attention { qk_dim: n, v_dim: n, ..a.clone() }), "{n}");
        }
        for len in [0, BLOCK - 1, BLOCK + 1, 2 * BLOCK + 2] {
            assert!(!can(&Attention { q_len: len, k_len: len, ..a.clone() }), "{len}");
        }
        let spec = |spec: AttentionSpec| Attention { spec, ..a.clone() };
        let cannot = [
            Attention { dtype: DType::F32, ..a.clone() },
            Attention { kv_heads: 2, ..a.clone() },
            Attention { k_len: 2 * a.k_len, ..a.clone() },
            Attention { qk_dim: MOST_FEATURES, ..a.clone() },
            spec(AttentionSpec { window: Some(3), ..a.spec.clone() }),
            spec(AttentionSpec { has_bias: true, ..a.spec.clone() }),
            spec(AttentionSpec { positions: Positions::Each, ..a.spec.clone() }),
            spec(AttentionSpec { dropout: Some(Dropout { keep_bits: 0.5f32.to_bits() }), ..a.spec.clone() }),
        ];
        for a in cannot {
            assert!(!can(&a), "{a:?}");
        }
    }

    #[test]
    fn small_attention_is_not_asked_for() {
        let a = |batch: usize| Attention { batch, q_len: 1024, k_len: 1024, ..plain() };
        let least = (LEAST / work(&a(1), products(false))).ceil() as usize;
        for is_hopper in [false, true] {
            let wins = |a: &Attention, is_grad| wins(a, is_grad, is_hopper);
            assert!(wins(&a(least), false) && !wins(&a(least - 1), false) && !wins(&plain(), true));
            // On Hopper the driver's own gradients are faster.
            let wide = Attention { qk_dim: MOST_FEATURES, v_dim: MOST_FEATURES, ..a(least) };
            assert!([a(least - 1), a(least), wide].iter().all(|a| wins(a, true) != is_hopper));
        }
    }

    #[test]
    fn gradients_cost_more_and_units_less() {
        let a = plain();
        assert!(nanoseconds(&a, true, 132) > nanoseconds(&a, false, 132) && nanoseconds(&a, false, 66) > nanoseconds(&a, false, 132));
    }

    #[test]
    fn changes_of_scores_fit_the_workspace() {
        let grad = |forward: Attention| {
            let (q, k, v, out) = (forward.q, forward.k, forward.v, forward.out);
            AttentionGrad { dout: out, dout_buffer: forward.out_buffer, dq: q, dk: k, dv: v, grad_buffers: [0; 3], forward }
        };
        // Bytes of a pair, in all heads of the batch.
        let pair = (2 * 4 * DType::BF16.size()) as u64;
        for len in [BLOCK, 16 * BLOCK] {
            let (a, bytes) = (Attention { q_len: len, k_len: len, ..plain() }, pair * (len * len) as u64);
            assert!(can_differentiate(&grad(a.clone()), bytes) && !can_differentiate(&grad(a), bytes - 1), "{len}");
        }
    }

    #[test]
    fn tensors_are_read_by_lines_of_16_bytes() {
        let at = |offset: i64, strides: [i64; 4], sizes: [usize; 4]| shape(&Layout4 { offset, strides }, sizes);
        let sizes = [2, 4, 16, 64];
        let (dense, begin) = at(8, [4096, 1024, 64, 1], sizes).unwrap();
        assert_eq!((&dense.strides[..], begin), (&[4096, 1024, 64, 1][..], 8));
        // Turned, with room between, and an axis of one element that says nothing.
        assert!(at(0, [4096, 64, 256, 1], sizes).is_some() && at(0, [9000, 1024, 64, 1], sizes).is_some());
        assert_eq!(at(0, [0, 1024, 64, 1], [1, 4, 16, 64]).unwrap().0.strides[0], 4096);
        for (offset, strides) in [
            (4, [4096, 1024, 64, 1]),
            (-8, [4096, 1024, 64, 1]),
            (0, [4096, 1024, 68, 1]),
            (0, [4096, 1024, 1, 16]),
            (0, [0, 1024, 64, 1]),
            (0, [4096, 1024, 32, 1]),
            (0, [4096, 1024, -64, 1]),
        ] {
            assert!(at(offset, strides, sizes).is_none(), "{offset} {strides:?}");
        }
    }
}
