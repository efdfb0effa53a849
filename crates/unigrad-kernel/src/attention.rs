//! Attention without materialized scores (Dao et al., FlashAttention-2, arXiv:2307.08691), forward and backward.

use crate::Arg;
use unigrad_scalar::{AttentionSpec, DType, Positions};

/// Offset and strides, in elements, of a tensor indexed `[batch, head, position, feature]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Layout4 {
    pub offset: i64,
    pub strides: [i64; 4],
}

/// `softmax(scale * q kᵀ + bias, masked) v`, as [`AttentionSpec`] says.
///
/// Arguments: `q, k, v, [bias], [positions], out, lse`. Scalars: without positions `kv_len: I64, q_offset: I64`, and with dropout `seed: U64,
/// offset: U64`. Drivers clamp lengths to `0..=k_len` and page numbers to those there are.
/// `lse` is `[batch, heads, q_len]`, contiguous `F32` (`F64` for `F64` inputs): log of the sum of exponentials, for the gradient.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Attention {
    pub dtype: DType,
    pub batch: usize,
    /// Query heads; a multiple of `kv_heads`. Query head `h` uses key head `h / (heads / kv_heads)`.
    pub heads: usize,
    pub kv_heads: usize,
    pub q_len: usize,
    pub k_len: usize,
    /// Features of a query and key.
    pub qk_dim: usize,
    /// Features of a value.
    pub v_dim: usize,
    pub spec: AttentionSpec,
    /// Whether products of `F32` may have operands rounded to TF32 (10 bits of mantissa).
    pub tf32: bool,
    /// With [`Positions::Paged`], the pages of keys and values. Their layouts are then indexed `[page, head, slot, feature]`.
    pub pages: Option<Pages>,
    pub q: Layout4,
    pub k: Layout4,
    pub v: Layout4,
    pub out: Layout4,
    /// Added to the scores: indexed `[batch, head, i, j]`, strides may be 0. Its dtype and length.
    pub bias: Option<(Layout4, Arg)>,
    /// Buffer lengths in elements.
    pub q_buffer: usize,
    pub k_buffer: usize,
    pub v_buffer: usize,
    pub out_buffer: usize,
}

/// Pages of keys and values. A sequence has `k_len / size` of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pages {
    /// How many there are.
    pub count: usize,
    /// Positions of a page.
    pub size: usize,
}

impl Attention {
    /// Columns of the positions.
    pub fn position_columns(&self) -> usize {
        Positions::COLUMNS + self.pages.map_or(0, |pages| self.k_len / pages.size.max(1))
    }

    /// Input buffers, of which the positions, if there are any, are the last.
    pub fn n_inputs(&self) -> usize {
        self.spec.n_tensors()
    }

    /// `F32`, or `F64` for `F64` inputs.
    pub fn lse_dtype(&self) -> DType {
        self.dtype.compute()
    }

    pub(crate) fn lse(&self, write: bool) -> Arg {
        Arg { dtype: self.lse_dtype(), len: self.batch * self.heads * self.q_len, write }
    }

    fn inputs(&self) -> Vec<Arg> {
        let read = |len| Arg { dtype: self.dtype, len, write: false };
        let mut args = vec![read(self.q_buffer), read(self.k_buffer), read(self.v_buffer)];
        args.extend(self.bias.map(|(_, arg)| arg));
        if self.spec.positions.is_tensor() {
            args.push(Arg { dtype: DType::I32, len: self.batch * self.position_columns(), write: false });
        }
        args
    }

    pub(crate) fn args(&self) -> Vec<Arg> {
        let mut args = self.inputs();
        args.push(Arg { dtype: self.dtype, len: self.out_buffer, write: true });
        args.push(self.lse(true));
        args
    }

    pub(crate) fn scalars(&self) -> Vec<DType> {
        let mut scalars = if self.spec.positions.is_tensor() { Vec::new() } else { vec![DType::I64, DType::I64] };
        if self.spec.dropout.is_some() {
            scalars.extend([DType::U64, DType::U64]);
        }
        scalars
    }

    pub(crate) fn flops(&self) -> f64 {
        let pairs = self.batch as f64 * self.heads as f64 * self.q_len as f64 * self.k_len as f64;
        let seen = if self.spec.causal && self.q_len == self.k_len { 0.5 } else { 1.0 };
        2.0 * pairs * seen * (self.qk_dim + self.v_dim) as f64
    }
}

/// The gradients of [`Attention`] with respect to `q`, `k`, `v`.
///
/// Arguments: `q, k, v, [bias], [positions], out, lse, dout, dq, dk, dv`; scalars as in the forward pass. Keys and values are not in pages.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct AttentionGrad {
    pub forward: Attention,
    pub dout: Layout4,
    pub dout_buffer: usize,
    pub dq: Layout4,
    pub dk: Layout4,
    pub dv: Layout4,
    /// Lengths of the three gradient buffers, in elements.
    pub grad_buffers: [usize; 3],
}

impl AttentionGrad {
    pub(crate) fn args(&self) -> Vec<Arg> {
        let dtype = self.forward.dtype;
        let mut args = self.forward.inputs();
        args.push(Arg { dtype, len: self.forward.out_buffer, write: false });
        args.push(self.forward.lse(false));
        args.push(Arg { dtype, len: self.dout_buffer, write: false });
        args.extend(self.grad_buffers.map(|len| Arg { dtype, len, write: true }));
        args
    }
}
