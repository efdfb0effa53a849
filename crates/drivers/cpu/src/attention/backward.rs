//! The gradients, by recomputing blocks of probabilities from the saved logarithms.

use super::math::{Block, Saved};
use super::products::{FEW_BLOCKS, Rows};
use super::{Carve, Context, Offsets, Real, Tensor};
use crate::contract::kernel::{Ahead, TileArgs};
use crate::contract::scratch::{Purpose, with_scratch};
use crate::task_ptr::TaskPtr;
use crate::threads::parallel;
use std::ops::Range;
use unigrad_kernel::AttentionGrad;

/// Tiles of keys in a block of scores.
const KEY_TILES: usize = 9;
/// Keys whose gradients are kept at hand while all queries pass.
const CHUNK: usize = 512;

struct Tensors {
    out: Tensor,
    dout: Tensor,
    dq: Tensor,
    dk: Tensor,
    dv: Tensor,
}

/// # Safety
/// As for `super::backward`.
pub(super) unsafe fn run<T: Real>(c: &Context<'_, T>, grad: &AttentionGrad, threads: usize) {
    let kernel = c.kernel;
    let t = Tensors {
        out: Tensor::new(&c.rest[0], kernel.out),
        dout: Tensor::new(&c.rest[2], grad.dout),
        dq: Tensor::new(&c.rest[3], grad.dq),
        dk: Tensor::new(&c.rest[4], grad.dk),
        dv: Tensor::new(&c.rest[5], grad.dv),
    };
    let groups = kernel.batch * kernel.kv_heads;
    if groups == 0 || kernel.heads == 0 {
        return;
    }
    let heads = kernel.heads / kernel.kv_heads;
    let chunks = kernel.k_len.div_ceil(CHUNK).max(1);
    let work = kernel.batch * kernel.heads * kernel.q_len * kernel.k_len * (kernel.qk_dim + kernel.v_dim);
    let threads = if work < 1 << 17 { 1 } else { threads.max(1) };
    let t = &TaskPtr::new(std::ptr::from_ref(&t).cast_mut());
    // With one chunk a task writes its `dq`; else each chunk sums a part, and the parts are added in order: a wave of groups at a
    // time, so that the parts need no more memory than the threads can use.
    let part = if chunks > 1 { heads * kernel.q_len * kernel.qk_dim } else { 0 };
    let wave = if chunks > 1 { threads.div_ceil(chunks).max(1) } else { groups };
    with_scratch(|scratch| {
        let parts = TaskPtr::new(scratch.get::<T>(Purpose::Partials, wave * chunks * part));
        for first in (0..groups).step_by(wave) {
            let n_groups = wave.min(groups - first);
            let tasks = threads.min(n_groups * chunks);
            parallel(tasks, &|task| {
                for unit in (task..n_groups * chunks).step_by(tasks) {
                    let keys = unit % chunks * CHUNK..(unit % chunks * CHUNK + CHUNK).min(kernel.k_len);
                    let sums = (chunks > 1).then(|| parts.get().wrapping_add(unit * part));
                    // SAFETY: units write disjoint keys, and disjoint queries or parts.
                    unsafe { chunk(c, &*t.get(), first + unit / chunks, keys, sums) }
                }
            });
            if chunks == 1 {
                continue;
            }
            let rows = n_groups * heads;
            let tasks = threads.min(rows);
            parallel(tasks, &|task| {
                with_scratch(|scratch| {
                    let mut offsets = Offsets::take(scratch);
                    for row in (task..rows).step_by(tasks) {
                        let (group, head) = (row / heads, row % heads);
                        let len = kernel.q_len * kernel.qk_dim;
                        let (batch, kv_head) = ((first + group) / kernel.kv_heads, (first + group) % kernel.kv_heads);
                        // SAFETY: the parts are complete; each head is written once.
                        unsafe {
                            let sum = parts.get().add(group * chunks * part + head * len);
                            for chunk in 1..chunks {
                                let from = sum.add(chunk * part);
                                for i in 0..len {
                                    *sum.add(i) = (*sum.add(i)).plus(*from.add(i));
                                }
                            }
                            let to = (batch, kv_head * heads + head, 0);
                            c.write(sum, kernel.qk_dim, kernel.q_len, &(*t.get()).dq, to, &mut offsets);
                        }
                    }
                    offsets.give_back(scratch);
                });
            });
        }
    });
}

/// One range of keys of one key head against all its queries. `dq` goes to `sums` (`[head][query][feature]`), or to its tensor.
unsafe fn chunk<T: Real>(c: &Context<'_, T>, t: &Tensors, group: usize, keys: Range<usize>, sums: Option<*mut T>) {
    let kernel = c.kernel;
    let (batch, kv_head) = (group / kernel.kv_heads, group % kernel.kv_heads);
    let visible = c.visible(batch);
    let heads = kernel.heads / kernel.kv_heads;
    let (d, dv, width) = (kernel.qk_dim, kernel.v_dim, c.width());
    let key_panel = c.kernels.mr;
    let block_keys = KEY_TILES * key_panel;
    let n_keys = keys.len();
    let (wide_d, wide_dv) = (d.next_multiple_of(width), dv.next_multiple_of(width));
    let sizes = [
        n_keys * wide_d,
        n_keys * wide_dv,
        n_keys * d,
        n_keys * dv,
        d * width,
        dv * width,
        dv * width,
        wide_d * width,
        wide_dv * width,
        block_keys * width,
        block_keys * width,
        block_keys * width,
        block_keys * width,
        d * width,
        d * width,
        3 * width,
    ];
    with_scratch(|scratch| {
        let total = sizes.iter().map(|n| Carve::<T>::padded(*n)).sum();
        let mut carve = Carve { at: scratch.get::<T>(Purpose::Attention, total) };
        let [
            k_by_key,
            v_by_key,
            dk,
            dvs,
            q_by_feature,
            dout_by_feature,
            out_by_feature,
            q_rows,
            dout_rows,
            scores,
            grads,
            bias,
            dropout,
            dq,
            rows,
            saved,
        ] = sizes.map(|n| carve.take(n));
        let mut offsets = Offsets::take(scratch);
        let o = &mut offsets;
        // SAFETY: the parts of the scratch memory have the sizes that each use needs; tensors are as the kernel says.
        unsafe {
            std::ptr::write_bytes(dk, 0, n_keys * d);
            std::ptr::write_bytes(dvs, 0, n_keys * dv);
            let (k, v, q) = (&c.k, &c.v, &c.q);
            let (k_src, v_src) = (k.at(batch, kv_head, keys.start), v.at(batch, kv_head, keys.start));
            c.pack(k_src, k.dtype, (d, k.feature_stride()), (n_keys, k.position_stride()), k_by_key, width, true, o);
            c.pack(v_src, v.dtype, (dv, v.feature_stride()), (n_keys, v.position_stride()), v_by_key, width, true, o);
            let (k_chunk, v_chunk) = (n_keys * width, n_keys * width);
            let few = heads * kernel.q_len.div_ceil(width) <= FEW_BLOCKS;
            let k_lies = if few { c.in_place(k, (batch, kv_head, keys.start), d) } else { None };
            let k_rows = k_lies.unwrap_or(Rows { at: k_by_key, step: width, together: width, chunk: k_chunk });
            let blocks = kernel.q_len.div_ceil(width);
            for unit in 0..heads * blocks {
                let (head, first) = (kv_head * heads + unit / blocks, unit % blocks * width);
                let n = width.min(kernel.q_len - first);
                let seen = visible.keys(first, n);
                let seen = seen.start.max(keys.start)..seen.end.min(keys.end);
                // Counted from the chunk's first key.
                let start = seen.start.saturating_sub(keys.start) / key_panel * key_panel;
                let end = seen.end.saturating_sub(keys.start);
                let none = seen.is_empty();
                if !none {
                    for (x, features, to) in [(q, d, q_by_feature), (&t.dout, dv, dout_by_feature), (&t.out, dv, out_by_feature)] {
                        let src = x.at(batch, head, first);
                        c.pack(src, x.dtype, (n, x.position_stride()), (features, x.feature_stride()), to, width, true, o);
                    }
                    let lse = c.rest[1].ptr.cast::<T>().add((batch * kernel.heads + head) * kernel.q_len + first);
                    for i in 0..width {
                        // A query that sees nothing, or is beyond the last, has no probabilities: exp(x - inf).
                        let nothing = i >= n || (*lse.add(i)).to_f64() == f64::NEG_INFINITY;
                        *saved.add(i) = if nothing { T::from_f64(f64::INFINITY) } else { *lse.add(i) };
                    }
                    (c.math.column_dots)(dout_by_feature, out_by_feature, dv, saved.add(width));
                    let q_of = c.rows_of_block(q, (batch, head, first), n, d, few, q_rows, o);
                    let dout_of = c.rows_of_block(&t.dout, (batch, head, first), n, dv, few, dout_rows, o);
                    let mut key = start;
                    while key < end {
                        let n_block = block_keys.min(end - key);
                        c.scores((k_by_key.add(key * width), k_chunk), n_block, d, q_by_feature, scores);
                        c.scores((v_by_key.add(key * width), v_chunk), n_block, dv, dout_by_feature, grads);
                        c.pack_bias((batch, head), (first, n), (keys.start + key, n_block), bias, o);
                        c.fill_dropout((batch, head), (first, n), (keys.start + key, n_block), dropout);
                        let block = Block {
                            visible: &visible,
                            first,
                            n,
                            key: keys.start + key,
                            n_keys: n_block,
                            scores,
                            scale: c.scale,
                            bias: if c.bias.is_some() { bias } else { std::ptr::null() },
                            dropout: if kernel.spec.dropout.is_some() { dropout } else { std::ptr::null() },
                        };
                        (c.math.gradient)(&block, &Saved { lse: saved, delta: saved.add(width), grads });
                        rows_product(c, scores, n_block, n, (&dout_of, dv), dvs.add(key * dv));
                        rows_product(c, grads, n_block, n, (&q_of, d), dk.add(key * d));
                        c.gather(&k_rows.from(key), d, n_block, grads, dq, key > start);
                        key += n_block;
                    }
                }
                if none {
                    std::ptr::write_bytes(dq, 0, d * width);
                } else {
                    for i in 0..width {
                        *saved.add(2 * width + i) = c.scale;
                    }
                    (c.math.scale_rows)(dq, d, saved.add(2 * width));
                }
                match sums {
                    None => c.write_transposed(dq, d, n, &t.dq, (batch, head, first), rows, o),
                    Some(sums) => {
                        let to = sums.add((unit / blocks * kernel.q_len + first) * d);
                        c.pack(dq.cast(), T::DTYPE, (d, width as i64), (n, 1), to, d.max(1), false, o);
                    }
                }
            }
            for i in 0..n_keys * d {
                *dk.add(i) = T::from_f64((*dk.add(i)).to_f64() * c.scale.to_f64());
            }
            c.write(dk, d, n_keys, &t.dk, (batch, kv_head, keys.start), o);
            c.write(dvs, dv, n_keys, &t.dv, (batch, kv_head, keys.start), o);
        }
        offsets.give_back(scratch);
    });
}

/// `sums[key][feature] += Σ_query block[key][query] * x[query][feature]`.
unsafe fn rows_product<T: Real>(
    c: &Context<'_, T>,
    block: *const T,
    n_keys: usize,
    n: usize,
    (x, features): (&Rows<T>, usize),
    sums: *mut T,
) {
    let (panel, width) = (c.panel(n_keys), c.width());
    for feature in (0..features).step_by(width) {
        for key in (0..n_keys).step_by(panel) {
            // SAFETY: the caller's. Chunks of features are as wide as a block, or there is one.
            unsafe {
                (c.kernels.tile_by_rows)(&TileArgs {
                    kc: n,
                    a: block.add(key * width),
                    a_step: 1,
                    b: x.at.add(feature / x.together * x.chunk + feature % x.together),
                    b_step: x.step,
                    c: sums.add(key * features + feature),
                    ldc: features,
                    rows: panel.min(n_keys - key),
                    cols: width.min(features - feature),
                    accumulate: true,
                    ahead: Ahead::none(x.at),
                });
            }
        }
    }
}
