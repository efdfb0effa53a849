//! Attention, forward and backward, as nodes with several parts.

use super::contract::transposed;
use crate::{Error, Expr, Inputs, Op, Shape, autograd::Vjp, gradients};
use std::sync::Arc;
use unigrad_scalar::{AttentionSpec, BinaryOp, DType, Literal, Positions, ReduceOp};

/// The inputs of an attention node by name.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AttentionInputs {
    pub q: Expr,
    pub k: Expr,
    pub v: Expr,
    /// Broadcast to `[batch, heads, q_len, k_len]`.
    pub bias: Option<Expr>,
    pub positions: PositionInputs,
    /// Rank-0 `U64` scalars, with dropout.
    pub random: Option<(Expr, Expr)>,
}

/// How many keys are valid, and the position of the first query among them.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum PositionInputs {
    /// Rank-0 `I64` scalars, for all sequences.
    Same { kv_len: Expr, q_offset: Expr },
    /// For each sequence, as [`Positions::Each`] or [`Positions::Paged`] says. Lengths and page numbers are in range: they have been checked.
    Each(Expr),
}

impl AttentionInputs {
    /// In the order of the node's inputs.
    pub fn to_inputs(&self) -> Inputs {
        let mut inputs = Inputs::new();
        inputs.extend([self.q.clone(), self.k.clone(), self.v.clone()]);
        inputs.extend(self.bias.clone());
        match &self.positions {
            PositionInputs::Same { kv_len, q_offset } => inputs.extend([kv_len.clone(), q_offset.clone()]),
            PositionInputs::Each(positions) => inputs.push(positions.clone()),
        }
        if let Some((seed, offset)) = &self.random {
            inputs.extend([seed.clone(), offset.clone()]);
        }
        inputs
    }

    /// From a node's inputs, with what follows them (out, lse, dout of the gradient).
    pub fn from_inputs(spec: &AttentionSpec, inputs: &[Expr]) -> Option<(AttentionInputs, Vec<Expr>)> {
        let mut rest = inputs.iter().cloned();
        let (q, k, v) = (rest.next()?, rest.next()?, rest.next()?);
        let bias = if spec.has_bias { Some(rest.next()?) } else { None };
        let positions = if spec.positions.is_tensor() {
            PositionInputs::Each(rest.next()?)
        } else {
            PositionInputs::Same { kv_len: rest.next()?, q_offset: rest.next()? }
        };
        let random = if spec.dropout.is_some() { Some((rest.next()?, rest.next()?)) } else { None };
        Some((AttentionInputs { q, k, v, bias, positions, random }, rest.collect()))
    }
}

impl AttentionInputs {
    /// Keys that a sequence can have.
    pub fn k_len(&self, spec: &AttentionSpec) -> usize {
        let slots = self.k.shape().get(2).copied().unwrap_or(0);
        match &self.positions {
            PositionInputs::Each(table) if spec.positions == Positions::Paged => {
                table.shape().get(1).copied().unwrap_or(0).saturating_sub(Positions::COLUMNS).saturating_mul(slots)
            }
            PositionInputs::Each(_) | PositionInputs::Same { .. } => slots,
        }
    }

    /// The same with keys and values of each sequence in one row, `[b, kv, s, d]`, instead of in pages.
    #[track_caller]
    fn gathered(&self, spec: &AttentionSpec) -> AttentionInputs {
        let PositionInputs::Each(table) = &self.positions else { return self.clone() };
        if spec.positions != Positions::Paged {
            return self.clone();
        }
        let (batch, columns) = (table.shape()[0], table.shape()[1]);
        let n_pages = columns - Positions::COLUMNS;
        let pages = table.narrow(1, Positions::COLUMNS, n_pages).cast(DType::I64).reshape(&[batch * n_pages, 1, 1, 1]);
        let rows = |x: &Expr| {
            let s = x.shape().clone();
            let picked = x.gather(0, &pages.expand(&[batch * n_pages, s[1], s[2], s[3]]));
            let apart = picked.reshape(&[batch, n_pages, s[1], s[2], s[3]]).permute(&[0, 2, 1, 3, 4]);
            apart.reshape(&[batch, s[1], n_pages * s[2], s[3]])
        };
        let positions = PositionInputs::Each(table.narrow(1, 0, Positions::COLUMNS));
        AttentionInputs { k: rows(&self.k), v: rows(&self.v), positions, ..self.clone() }
    }
}

impl Expr {
    /// The attention node: q `[b, h, t, d]`, k `[b, kv, s, d]`, v `[b, kv, s, dv]`, or k and v in pages, `[page, kv, slot, d]`. Its value is
    /// part 0; use [`Expr::part`].
    #[track_caller]
    pub fn attention_node(spec: Arc<AttentionSpec>, inputs: &AttentionInputs) -> Expr {
        let AttentionInputs { q, k, v, bias, .. } = inputs;
        if let Some(invalid) = Expr::check_inputs("attention", &[q, k, v]) {
            return invalid;
        }
        let (qs, ks, vs) = (q.shape(), k.shape(), v.shape());
        let k_len = inputs.k_len(&spec);
        let positions = match &inputs.positions {
            PositionInputs::Same { kv_len, q_offset } => {
                !spec.positions.is_tensor() && [kv_len, q_offset].iter().all(|x| x.rank() == 0 && x.dtype() == DType::I64)
            }
            PositionInputs::Each(table) => {
                let columns = table.shape().get(1).copied().unwrap_or(0);
                let fits = if spec.positions == Positions::Paged { columns >= Positions::COLUMNS } else { columns == Positions::COLUMNS };
                spec.positions.is_tensor() && fits && table.rank() == 2 && table.shape()[0] == qs[0] && table.dtype() == DType::I32
            }
        };
        let fits = q.rank() == 4
            && k.rank() == 4
            && v.rank() == 4
            && (spec.positions == Positions::Paged || qs[0] == ks[0])
            && positions
            && ks[..3] == vs[..3]
            && qs[3] == ks[3]
            && ks[1] > 0
            && qs[1].is_multiple_of(ks[1])
            && bias.as_ref().is_none_or(|bias| bias.shape().as_slice() == [qs[0], qs[1], qs[2], k_len]);
        if !fits {
            let message = format!("q {qs:?}, k {ks:?}, v {vs:?}: want [b, h, t, d], [b, g, s, d], [b, g, s, e] with h a multiple of g");
            return Expr::shape_error("attention", message, &[q, k, v]);
        }
        if !q.dtype().is_float() || q.dtype() != k.dtype() || k.dtype() != v.dtype() {
            return Expr::dtype_error("attention", format!("{}, {}, {}: want one float", q.dtype(), k.dtype(), v.dtype()), &[q, k, v]);
        }
        let shape = Shape::from_slice(&[qs[0], qs[1], qs[2], vs[3]]);
        Expr::new(Op::Attention(spec), inputs.to_inputs(), shape, q.dtype())
    }

    /// The gradient node; parts dq, dk, dv.
    #[track_caller]
    pub fn attention_grad_node(spec: Arc<AttentionSpec>, inputs: &AttentionInputs, out: &Expr, lse: &Expr, dout: &Expr) -> Expr {
        let mut all = inputs.to_inputs();
        all.extend([out.clone(), lse.clone(), dout.clone()]);
        Expr::new(Op::AttentionGrad(spec), all, inputs.q.shape().clone(), inputs.q.dtype())
    }
}

/// The gradient of part `i` of an attention node or of its gradient node.
///
/// The usual case, the output's gradient without one for the bias, is the gradient node. The others go through the primitives.
pub(super) fn vjp(v: &mut Vjp<'_>, parent: &Expr, i: usize) -> Result<(), Error> {
    let paged = if let Op::Attention(spec) = parent.op() { spec.positions } else { Positions::Same };
    if let (Op::Attention(spec), 0) = (parent.op(), i)
        && !(spec.has_bias && v.wants(3))
        && spec.positions != Positions::Paged
        && let Some((inputs, _)) = AttentionInputs::from_inputs(spec, &v.inputs)
    {
        let node = Expr::attention_grad_node(spec.clone(), &inputs, v.node, &parent.part(1), v.dy);
        for part in 0..3 {
            v.send(part, |_| node.part(part));
        }
        return Ok(());
    }
    if let (Op::Attention(spec), 0, Positions::Paged) = (parent.op(), i, paged)
        && !(spec.has_bias && v.wants(3))
        && let Some((inputs, _)) = AttentionInputs::from_inputs(spec, &v.inputs)
    {
        // The kernel for gradients takes keys and values in rows; what comes out for them goes back to their pages.
        let own = AttentionInputs { k: inputs.k.identity(), v: inputs.v.identity(), ..inputs };
        let rows = own.gathered(spec);
        let spec = Arc::new(AttentionSpec { positions: Positions::Each, ..AttentionSpec::clone(spec) });
        let node = Expr::attention_grad_node(spec, &rows, v.node, &parent.part(1), v.dy);
        v.send(0, |_| node.part(0));
        for (input, row, own) in [(1, &rows.k, own.k), (2, &rows.v, own.v)] {
            if v.wants(input)
                && let Some(Some(gradient)) = gradients(row, &node.part(input), &[own])?.pop()
            {
                v.send_made(input, gradient);
            }
        }
        return Ok(());
    }
    // The inputs stand for themselves here, though some may be computed from others: differentiate by stand-ins.
    let own: Inputs = v.inputs.iter().map(|input| if input.dtype().is_float() { input.identity() } else { input.clone() }).collect();
    let Some(value) = primitives(parent.op(), &own, i) else { return Ok(()) };
    let found = gradients(&value, v.dy, &own)?;
    for (input, gradient) in found.into_iter().enumerate() {
        if let Some(gradient) = gradient {
            v.send_made(input, gradient);
        }
    }
    Ok(())
}

/// Probabilities before normalization, and what they are made of.
struct Scores {
    /// Which keys each query sees, `[b, h, t, s]`.
    seen: Expr,
    /// Scaled, with bias; anything where nothing is seen.
    scores: Expr,
    /// `1 / keep` or 0 per probability, with dropout.
    kept: Option<Expr>,
    /// k and v with one head per query head.
    k: Expr,
    v: Expr,
}

/// A column of positions for every score, `[b, h, t, s]`, `I64`.
fn column(positions: &Expr, at: usize, scores: &Expr) -> Expr {
    positions.narrow(1, at, 1).cast(DType::I64).reshape(&[scores.shape()[0], 1, 1, 1]).expand_like(scores)
}

impl Scores {
    fn new(spec: &AttentionSpec, inputs: &AttentionInputs, wide: DType) -> Scores {
        let inputs = &inputs.gathered(spec);
        let q = inputs.q.cast(wide);
        let heads = q.shape()[1];
        let (k, v) = (repeat_heads(&inputs.k.cast(wide), heads), repeat_heads(&inputs.v.cast(wide), heads));
        let mut scores = q.matmul(&transposed(&k)).binary_const(BinaryOp::Mul, f64::from_bits(spec.scale_bits));
        if let Some(bias) = &inputs.bias {
            scores = scores.add(&bias.cast(wide));
        }
        let key = scores.iota_like(3, DType::I64);
        let (kv_len, q_offset) = match &inputs.positions {
            PositionInputs::Same { kv_len, q_offset } => (kv_len.expand_like(&scores), q_offset.expand_like(&scores)),
            PositionInputs::Each(positions) => (column(positions, 0, &scores), column(positions, 1, &scores)),
        };
        let at = scores.iota_like(2, DType::I64).add(&q_offset);
        let mut seen = key.lt(&kv_len);
        if spec.causal {
            seen = seen.and(&key.le(&at));
        }
        if let Some(window) = spec.window {
            let width = scores.literal_like(Literal::int(DType::I64, window as i64));
            seen = seen.and(&key.gt(&at.sub(&width)));
        }
        let kept = match (spec.dropout, &inputs.random) {
            (Some(dropout), Some((seed, offset))) => {
                let keep = f32::from_bits(dropout.keep_bits);
                let eight = scores.literal_like(Literal::int(DType::U32, 8));
                let bits = scores.random_like(0, seed, offset).binary(BinaryOp::Shr, &eight).cast(DType::F32);
                let unit = bits.binary_const(BinaryOp::Mul, 1.0 / 16_777_216.0);
                let zero = scores.zeros_like();
                Some(unit.binary_const(BinaryOp::Lt, keep.into()).select(&scores.constant_like(f64::from(1.0 / keep)), &zero))
            }
            _ => None,
        };
        Scores { seen, scores, kept, k, v }
    }

    fn drop_out(&self, x: &Expr) -> Expr {
        self.kept.as_ref().map_or_else(|| x.clone(), |kept| x.mul(kept))
    }
}

/// `[b, g, s, d]` with each head as often as query heads use it.
fn repeat_heads(x: &Expr, heads: usize) -> Expr {
    let s = x.shape();
    if s[1] == heads || s[1] == 0 {
        return x.clone();
    }
    x.reshape(&[s[0], s[1], 1, s[2], s[3]]).expand(&[s[0], s[1], heads / s[1], s[2], s[3]]).reshape(&[s[0], heads, s[2], s[3]])
}

/// The sum over the query heads that use a head.
fn sum_heads(x: &Expr, groups: usize) -> Expr {
    let s = x.shape();
    if s[1] == groups || groups == 0 {
        return x.clone();
    }
    x.reshape(&[s[0], groups, s[1] / groups, s[2], s[3]]).sum(1 << 2).reshape(&[s[0], groups, s[2], s[3]])
}

/// Part `i` of an attention node or of its gradient node, in primitives.
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
pub(super) fn primitives(op: &Op, inputs: &[Expr], i: usize) -> Option<Expr> {
    match op {
        Op::Attention(spec) => {
            let (inputs, _) = AttentionInputs::from_inputs(spec, inputs)?;
            Some(forward(spec, &inputs, i))
        }
        Op::AttentionGrad(spec) => {
            let (inputs, rest) = AttentionInputs::from_inputs(spec, inputs)?;
            let [out, lse, dout] = <[Expr; 3]>::try_from(rest).ok()?;
            Some(backward(spec, &inputs, &out, &lse, &dout, i))
        }
        _ => None,
    }
}

fn forward(spec: &AttentionSpec, inputs: &AttentionInputs, i: usize) -> Expr {
    let dtype = inputs.q.dtype();
    let wide = dtype.compute();
    let scores = Scores::new(spec, inputs, wide);
    let shape = scores.scores.shape().clone();
    let rows = &shape[..3];
    if shape.contains(&0) {
        // No keys, or no queries at all.
        let nothing = Literal::float(wide, if i == 1 { f64::NEG_INFINITY } else { 0.0 });
        let features = inputs.v.shape()[3];
        let size: Shape = if i == 1 { Shape::from_slice(rows) } else { rows.iter().copied().chain([features]).collect() };
        return Expr::constant(nothing, &size, inputs.q.device()).cast(if i == 1 { wide } else { dtype });
    }
    let least = scores.scores.constant_like(f64::NEG_INFINITY);
    let masked = scores.seen.select(&scores.scores, &least);
    // Only a shift, so no gradient goes through it; a query that sees nothing is not shifted.
    let top = masked.detach().reduce(ReduceOp::Max, 1 << 3);
    let top = top.binary_const(BinaryOp::Eq, f64::NEG_INFINITY).select(&top.zeros_like(), &top);
    let e = masked.sub(&top.expand_like(&masked)).exp();
    let e = scores.seen.select(&e, &e.zeros_like());
    let sum = e.sum(1 << 3);
    if i == 1 {
        return sum.log().add(&top).reshape(rows);
    }
    let divisor = sum.binary_const(BinaryOp::Eq, 0.0).select(&sum.constant_like(1.0), &sum);
    let p = e.div(&divisor.expand_like(&e));
    scores.drop_out(&p).matmul(&scores.v).cast(dtype)
}

fn backward(spec: &AttentionSpec, inputs: &AttentionInputs, out: &Expr, lse: &Expr, dout: &Expr, i: usize) -> Expr {
    let dtype = inputs.q.dtype();
    let wide = dtype.compute();
    let scores = Scores::new(spec, inputs, wide);
    let shape = scores.scores.shape().clone();
    let groups = inputs.k.shape()[1];
    let (out, dout) = (out.cast(wide), dout.cast(wide));
    let rows = [shape[0], shape[1], shape[2], 1];
    // A query that sees nothing has lse = -inf: exp of anything minus that is never taken.
    let p = scores.seen.select(&scores.scores.sub(&lse.reshape(&rows).expand_like(&scores.scores)), &scores.scores.zeros_like()).exp();
    let p = scores.seen.select(&p, &p.zeros_like());
    if i == 2 {
        return sum_heads(&transposed(&scores.drop_out(&p)).matmul(&dout), groups).cast(dtype);
    }
    let dp = scores.drop_out(&dout.matmul(&transposed(&scores.v)));
    let delta = out.mul(&dout).sum(1 << 3).reshape(&rows);
    let ds = p.mul(&dp.sub(&delta.expand_like(&dp))).binary_const(BinaryOp::Mul, f64::from_bits(spec.scale_bits));
    match i {
        0 => ds.matmul(&scores.k).cast(dtype),
        _ => sum_heads(&transposed(&ds).matmul(&inputs.q.cast(wide)), groups).cast(dtype),
    }
}
