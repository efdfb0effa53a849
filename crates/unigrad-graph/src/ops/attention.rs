//! Attention, forward and backward, as nodes with several parts.

use super::contract::transposed;
use crate::{AttentionSpec, Error, Expr, Inputs, Op, Shape, autograd::Vjp, gradients};
use std::sync::Arc;
use unigrad_scalar::{BinaryOp, DType, Literal, ReduceOp};

/// The inputs of an attention node by name.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct AttentionInputs {
    pub q: Expr,
    pub k: Expr,
    pub v: Expr,
    /// Broadcast to `[batch, heads, q_len, k_len]`.
    pub bias: Option<Expr>,
    /// Rank-0 `I64` scalars: how many keys are valid, and the position of the first query among them.
    pub kv_len: Expr,
    pub q_offset: Expr,
    /// Rank-0 `U64` scalars, with dropout.
    pub random: Option<(Expr, Expr)>,
}

impl AttentionInputs {
    /// In the order of the node's inputs.
    pub fn to_inputs(&self) -> Inputs {
        let mut inputs = Inputs::new();
        inputs.extend([self.q.clone(), self.k.clone(), self.v.clone()]);
        inputs.extend(self.bias.clone());
        inputs.extend([self.kv_len.clone(), self.q_offset.clone()]);
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
        let (kv_len, q_offset) = (rest.next()?, rest.next()?);
        let random = if spec.dropout_keep_bits.is_some() { Some((rest.next()?, rest.next()?)) } else { None };
        Some((AttentionInputs { q, k, v, bias, kv_len, q_offset, random }, rest.collect()))
    }
}

impl Expr {
    /// The attention node: q `[b, h, t, d]`, k `[b, kv, s, d]`, v `[b, kv, s, dv]`. Its value is part 0; use [`Expr::part`].
    #[track_caller]
    pub fn attention_node(spec: Arc<AttentionSpec>, inputs: &AttentionInputs) -> Expr {
        let AttentionInputs { q, k, v, bias, .. } = inputs;
        if let Some(invalid) = Expr::check_inputs("attention", &[q, k, v]) {
            return invalid;
        }
        let (qs, ks, vs) = (q.shape(), k.shape(), v.shape());
        let fits = q.rank() == 4
            && k.rank() == 4
            && v.rank() == 4
            && qs[0] == ks[0]
            && ks[..3] == vs[..3]
            && qs[3] == ks[3]
            && ks[1] > 0
            && qs[1].is_multiple_of(ks[1])
            && bias.as_ref().is_none_or(|bias| bias.shape().as_slice() == [qs[0], qs[1], qs[2], ks[2]]);
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
    if let (Op::Attention(spec), 0) = (parent.op(), i)
        && !(spec.has_bias && v.wants(3))
        && let Some((inputs, _)) = AttentionInputs::from_inputs(spec, &v.inputs)
    {
        let node = Expr::attention_grad_node(spec.clone(), &inputs, v.node, &parent.part(1), v.dy);
        for part in 0..3 {
            v.send(part, |_| node.part(part));
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

impl Scores {
    fn new(spec: &AttentionSpec, inputs: &AttentionInputs, wide: DType) -> Scores {
        let q = inputs.q.cast(wide);
        let heads = q.shape()[1];
        let (k, v) = (repeat_heads(&inputs.k.cast(wide), heads), repeat_heads(&inputs.v.cast(wide), heads));
        let mut scores = q.matmul(&transposed(&k)).binary_const(BinaryOp::Mul, f64::from_bits(spec.scale_bits));
        if let Some(bias) = &inputs.bias {
            scores = scores.add(&bias.cast(wide));
        }
        let (shape, device) = (scores.shape().clone(), scores.device());
        let key = Expr::iota(&shape, 3, DType::I64, device);
        let at = Expr::iota(&shape, 2, DType::I64, device).add(&inputs.q_offset.expand(&shape));
        let mut seen = key.lt(&inputs.kv_len.expand(&shape));
        if spec.causal {
            seen = seen.and(&key.le(&at));
        }
        if let Some(window) = spec.window {
            let width = Expr::constant(Literal::int(DType::I64, window as i64), &shape, device);
            seen = seen.and(&key.gt(&at.sub(&width)));
        }
        let kept = match (spec.dropout_keep_bits, &inputs.random) {
            (Some(bits), Some((seed, offset))) => {
                let keep = f32::from_bits(bits);
                let eight = Expr::constant(Literal::int(DType::U32, 8), &shape, device);
                let bits = Expr::random(&shape, 0, seed, offset).binary(BinaryOp::Shr, &eight).cast(DType::F32);
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
    let e = masked.sub(&top.expand(&shape)).exp();
    let e = scores.seen.select(&e, &e.zeros_like());
    let sum = e.sum(1 << 3);
    if i == 1 {
        return sum.log().add(&top).reshape(rows);
    }
    let divisor = sum.binary_const(BinaryOp::Eq, 0.0).select(&sum.constant_like(1.0), &sum);
    let p = e.div(&divisor.expand(&shape));
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
    let p = scores.seen.select(&scores.scores.sub(&lse.reshape(&rows).expand(&shape)), &scores.scores.zeros_like()).exp();
    let p = scores.seen.select(&p, &p.zeros_like());
    if i == 2 {
        return sum_heads(&transposed(&scores.drop_out(&p)).matmul(&dout), groups).cast(dtype);
    }
    let dp = scores.drop_out(&dout.matmul(&transposed(&scores.v)));
    let delta = out.mul(&dout).sum(1 << 3).reshape(&rows);
    let ds = p.mul(&dp.sub(&delta.expand(&shape))).binary_const(BinaryOp::Mul, f64::from_bits(spec.scale_bits));
    match i {
        0 => ds.matmul(&scores.k).cast(dtype),
        _ => sum_heads(&transposed(&ds).matmul(&inputs.q.cast(wide)), groups).cast(dtype),
    }
}
