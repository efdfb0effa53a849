//! Attention, forward and backward, as nodes with several parts.

use crate::{AttentionSpec, Expr, Inputs, Op, Shape};
use std::sync::Arc;

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
