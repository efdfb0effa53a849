//! The gradients of attention by a library for the interpreter: loops that do what the text of [`AttentionGrad`] says.
//!
//! In: a kernel that was taken on whole, its memory and numbers. Out: the gradients of queries, keys and values, computed in f64 and rounded once.
//! Always: of what [`crate::attention::can`] says for the forward pass. It takes on heads of [`REFUSED`] features, and then refuses them at their launch.

use crate::attention::{Given, place, sees};
use crate::products::{Bytes, REFUSED, read, write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use unigrad_gpu::Range;
use unigrad_kernel::{AttentionGrad, Layout4};

static DONE: AtomicUsize = AtomicUsize::new(0);
static REFUSALS: AtomicUsize = AtomicUsize::new(0);

/// How many gradients of attention the library has done, and how many it has refused, in this process.
pub fn attention_grads() -> (usize, usize) {
    (DONE.load(Relaxed), REFUSALS.load(Relaxed))
}

/// `Some(false)` if it is refused, `None` if its memory or numbers are not there.
pub(crate) fn differentiate(
    memory: &mut impl Bytes,
    grad: &AttentionGrad,
    args: &[Range],
    scalars: &[u64],
    workspace: Range,
) -> Option<bool> {
    let a = &grad.forward;
    if a.qk_dim == REFUSED as usize {
        REFUSALS.fetch_add(1, Relaxed);
        return Some(false);
    }
    memory.bytes(workspace)?.fill(0xa5);
    let given = Given::read(memory, a, args, scalars)?;
    let (Given { q, k, v, .. }, first) = (&given, given.first);
    let mut values = |at: usize, dtype| read(memory, *args.get(at)?, dtype);
    let [out, lse, dout] = [values(first, a.dtype)?, values(first + 1, a.lse_dtype())?, values(first + 2, a.dtype)?];
    let targets = [*args.get(first + 3)?, *args.get(first + 4)?, *args.get(first + 5)?];
    // Dense, in the order in which indices are given.
    let mut sums = [
        vec![0.0; a.batch * a.heads * a.q_len * a.qk_dim],
        vec![0.0; a.batch * a.kv_heads * a.k_len * a.qk_dim],
        vec![0.0; a.batch * a.kv_heads * a.k_len * a.v_dim],
    ];
    let dense = |sizes: [usize; 3], [b, h, i, f]: [usize; 4]| ((b * sizes[0] + h) * sizes[1] + i) * sizes[2] + f;
    let (q_sizes, k_sizes, v_sizes) = ([a.heads, a.q_len, a.qk_dim], [a.kv_heads, a.k_len, a.qk_dim], [a.kv_heads, a.k_len, a.v_dim]);
    for (batch, head) in (0..a.batch).flat_map(|batch| (0..a.heads).map(move |head| (batch, head))) {
        let kv_head = head / (a.heads / a.kv_heads.max(1)).max(1);
        for i in 0..a.q_len {
            let row = i as i64 + given.q_offset;
            let log = *lse.get((batch * a.heads + head) * a.q_len + i)?;
            let mut along = 0.0;
            for f in 0..a.v_dim {
                along += dout.get(place(&grad.dout, [batch, head, i, f])?)? * out.get(place(&a.out, [batch, head, i, f])?)?;
            }
            for j in (0..given.n_keys).filter(|j| sees(a, *j, row)).map(|j| j as usize) {
                let score = given.score(a, [batch, head, i], [kv_head, j])?;
                // Of a query that sees nothing all is 0.
                let weight = if log == f64::NEG_INFINITY { 0.0 } else { (score - log).exp() };
                let mut change = 0.0;
                for f in 0..a.v_dim {
                    let dy = dout.get(place(&grad.dout, [batch, head, i, f])?)?;
                    change += dy * v.get(place(&a.v, [batch, kv_head, j, f])?)?;
                    sums[2][dense(v_sizes, [batch, kv_head, j, f])] += weight * dy;
                }
                let change = weight * (change - along) * given.scale;
                for f in 0..a.qk_dim {
                    sums[0][dense(q_sizes, [batch, head, i, f])] += change * k.get(place(&a.k, [batch, kv_head, j, f])?)?;
                    sums[1][dense(k_sizes, [batch, kv_head, j, f])] += change * q.get(place(&a.q, [batch, head, i, f])?)?;
                }
            }
        }
    }
    let layouts: [(&Layout4, [usize; 3]); 3] = [(&grad.dq, q_sizes), (&grad.dk, k_sizes), (&grad.dv, v_sizes)];
    for ((sums, (layout, sizes)), target) in sums.iter().zip(layouts).zip(targets) {
        for (at, sum) in sums.iter().enumerate() {
            let (rest, f) = (at / sizes[2], at % sizes[2]);
            let (rest, i) = (rest / sizes[1], rest % sizes[1]);
            write(memory, target, a.dtype, place(layout, [rest / sizes[0], rest % sizes[0], i, f])?, *sum)?;
        }
    }
    DONE.fetch_add(1, Relaxed);
    Some(true)
}
