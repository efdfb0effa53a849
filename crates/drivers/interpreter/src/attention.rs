//! Attention by a library for the interpreter: loops that do what the text of [`AttentionSpec`](unigrad_scalar::AttentionSpec) says.
//!
//! In: a kernel that was taken on whole, its memory and numbers. Out: its result and the logarithms of its sums, computed in f64 and rounded once.
//! Always: only with `UNIGRAD_PRODUCTS=library`, so that the hook for whole kernels is tested where there is no vendor's library. It takes on heads
//! of [`REFUSED`] features, and then refuses them at their launch.
//! Never: dropout, lengths that differ in a batch, and pages; these are the driver's own.

use crate::products::{Bytes, REFUSED, read, write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unigrad_gpu::Range;
use unigrad_kernel::{Attention, Layout4};

static DONE: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

/// How many kernels of attention the library has done, and how many it has refused, in this process.
pub fn attentions() -> (usize, usize) {
    (DONE.load(Relaxed), REFUSALS.load(Relaxed))
}

pub(crate) fn can(a: &Attention) -> bool {
    a.spec.dropout.is_none() && !a.spec.positions.is_tensor() && a.pages.is_none()
}

/// `Ok(false)` if it is refused, `None` if its memory or numbers are not there.
pub(crate) fn attend(memory: &mut impl Bytes, a: &Attention, args: &[Range], scalars: &[u64], workspace: Range) -> Option<bool> {
    if a.qk_dim == REFUSED as usize {
        REFUSALS.fetch_add(1, Relaxed);
        return Some(false);
    }
    memory.bytes(workspace)?.fill(0xa5);
    let given = Given::read(memory, a, args, scalars)?;
    let (out, lse) = (*args.get(given.first)?, *args.get(given.first + 1)?);
    for (batch, head) in (0..a.batch).flat_map(|batch| (0..a.heads).map(move |head| (batch, head))) {
        let kv_head = head / (a.heads / a.kv_heads.max(1)).max(1);
        for i in 0..a.q_len {
            let row = i as i64 + given.q_offset;
            let keys: Vec<usize> = (0..given.n_keys).filter(|j| sees(a, *j, row)).map(|j| j as usize).collect();
            let mut scores = Vec::with_capacity(keys.len());
            for j in &keys {
                scores.push(given.score(a, [batch, head, i], [kv_head, *j])?);
            }
            let most = scores
                .iter()
                .copied()
                .fold(f64::NEG_INFINITY, |most, score| if most.is_nan() || score.is_nan() { f64::NAN } else { most.max(score) });
            // Of a query that sees nothing all is 0; what is no number stays none.
            let weight = |score: &f64| if most == f64::NEG_INFINITY { 0.0 } else { (score - most).exp() };
            let weights: Vec<f64> = scores.iter().map(weight).collect();
            let total: f64 = weights.iter().sum();
            for f in 0..a.v_dim {
                let mut sum = 0.0;
                for (weight, j) in weights.iter().zip(&keys) {
                    sum += weight * given.v.get(place(&a.v, [batch, kv_head, *j, f])?)?;
                }
                write(memory, out, a.dtype, place(&a.out, [batch, head, i, f])?, if total == 0.0 { 0.0 } else { sum / total })?;
            }
            let log = if total == 0.0 { f64::NEG_INFINITY } else { most + total.ln() };
            write(memory, lse, a.lse_dtype(), (batch * a.heads + head) * a.q_len + i, log)?;
        }
    }
    DONE.fetch_add(1, Relaxed);
    Some(true)
}

/// What attention and its gradient begin with.
pub(crate) struct Given {
    pub(crate) q: Vec<f64>,
    pub(crate) k: Vec<f64>,
    pub(crate) v: Vec<f64>,
    bias: Option<(Vec<f64>, Layout4)>,
    /// The argument after these.
    pub(crate) first: usize,
    pub(crate) n_keys: i64,
    pub(crate) q_offset: i64,
    pub(crate) scale: f64,
}

impl Given {
    /// `None` if its memory or numbers are not there.
    pub(crate) fn read(memory: &mut impl Bytes, a: &Attention, args: &[Range], scalars: &[u64]) -> Option<Given> {
        let mut values = |at: usize, dtype| read(memory, *args.get(at)?, dtype);
        let [q, k, v] = [values(0, a.dtype)?, values(1, a.dtype)?, values(2, a.dtype)?];
        let bias = match a.bias {
            Some((layout, arg)) => Some((values(3, arg.dtype)?, layout)),
            None => None,
        };
        let [kv_len, q_offset] = [0, 1].map(|at| scalars.get(at).map(|raw| *raw as i64));
        let (first, n_keys) = (3 + usize::from(bias.is_some()), kv_len?.clamp(0, a.k_len as i64));
        Some(Given { q, k, v, bias, first, n_keys, q_offset: q_offset?, scale: f64::from_bits(a.spec.scale_bits) })
    }

    /// The score of a query beside a key.
    pub(crate) fn score(&self, a: &Attention, [batch, head, i]: [usize; 3], [kv_head, j]: [usize; 2]) -> Option<f64> {
        let mut sum = 0.0;
        for f in 0..a.qk_dim {
            sum += self.q.get(place(&a.q, [batch, head, i, f])?)? * self.k.get(place(&a.k, [batch, kv_head, j, f])?)?;
        }
        let added = match &self.bias {
            Some((values, layout)) => *values.get(place(layout, [batch, head, i, j])?)?,
            None => 0.0,
        };
        Some(sum * self.scale + added)
    }
}

/// Whether the query of a row sees a key.
pub(crate) fn sees(a: &Attention, key: i64, row: i64) -> bool {
    (!a.spec.causal || key <= row) && a.spec.window.is_none_or(|window| key > row.saturating_sub(window as i64))
}

pub(crate) fn place(layout: &Layout4, index: [usize; 4]) -> Option<usize> {
    let at = index.iter().zip(layout.strides).fold(layout.offset, |at, (index, stride)| at + *index as i64 * stride);
    usize::try_from(at).ok()
}
