//! The forward pass over blocks of queries.

use super::math::{Block, Running};
use super::products::{FEW_BLOCKS, Rows};
use super::{Carve, Context, Offsets, Real, Tensor, decode};
use crate::contract::scratch::{Purpose, with_scratch};
use crate::threads::parallel;

/// Tiles of keys in a block of scores.
pub(super) const KEY_TILES: usize = 9;
/// Fewer queries than this go row by row: a block would waste most of its lanes.
const FEW_QUERIES: usize = 4;

/// # Safety
/// As for `super::forward`.
pub(super) unsafe fn run<T: Real>(c: &Context<'_, T>, threads: usize) {
    let kernel = c.kernel;
    if kernel.batch == 0 || kernel.heads == 0 || kernel.q_len == 0 {
        return;
    }
    if kernel.q_len < FEW_QUERIES && kernel.spec.dropout.is_none() && c.bias.is_none() {
        // SAFETY: the caller's.
        return unsafe { decode::run(c, threads) };
    }
    let groups = kernel.batch * kernel.kv_heads;
    let work = kernel.batch * kernel.heads * kernel.q_len * c.most_keys() * (kernel.qk_dim + kernel.v_dim);
    let threads = if work < 1 << 18 { 1 } else { threads.max(1) };
    // Key heads first; if they do not come out even, blocks of queries too, each part packing the keys for itself.
    let parts = if groups.is_multiple_of(threads) || groups >= 8 * threads { 1 } else { threads };
    let tasks = threads.min(groups * parts);
    parallel(tasks, &|task| {
        for unit in (task..groups * parts).step_by(tasks) {
            // SAFETY: units write disjoint queries.
            unsafe { group(c, unit / parts, unit % parts, parts) }
        }
    });
}

/// The blocks `part, part + parts, …` of all queries that use one key head.
unsafe fn group<T: Real>(c: &Context<'_, T>, group: usize, part: usize, parts: usize) {
    let kernel = c.kernel;
    let (batch, kv_head) = (group / kernel.kv_heads, group % kernel.kv_heads);
    let heads = kernel.heads / kernel.kv_heads;
    let (d, dv, width) = (kernel.qk_dim, kernel.v_dim, c.width());
    let visible = c.visible(batch);
    // What no query sees is not laid out either.
    let n_keys = visible.keys(0, kernel.q_len).end;
    let key_panel = c.kernels.mr;
    let block_keys = KEY_TILES * key_panel;
    let (out, lse) = (Tensor::new(&c.rest[0], kernel.out), c.rest[1].ptr.cast::<T>());
    let few = heads * kernel.q_len.div_ceil(width) <= FEW_BLOCKS;
    let values_lie = if few && kernel.pages.is_none() { c.in_place(&c.v, (batch, kv_head, 0), dv) } else { None };
    let sizes = [
        n_keys * d.next_multiple_of(width),
        if values_lie.is_some() { 0 } else { dv * n_keys },
        d * width,
        block_keys * width,
        block_keys * width,
        block_keys * width,
        dv * width,
        dv * width,
        4 * width,
    ];
    with_scratch(|scratch| {
        let total = sizes.iter().map(|n| Carve::<T>::padded(*n)).sum();
        let mut carve = Carve { at: scratch.get::<T>(Purpose::Attention, total) };
        let [keys, values, queries, scores, bias, dropout, sums, rows, running] = sizes.map(|n| carve.take(n));
        let mut offsets = Offsets::take(scratch);
        // SAFETY: the parts of the scratch memory have the sizes that each use needs; tensors are as the kernel says.
        unsafe {
            let (k, v, q) = (&c.k, &c.v, &c.q);
            let mut list = std::mem::take(&mut offsets.paged);
            let (src, rows_of) = c.rows(k, (batch, kv_head), 0..n_keys, &mut list);
            c.pack(src, k.dtype, (d, k.feature_stride()), rows_of, keys, width, true, &mut offsets);
            if values_lie.is_none() {
                let (src, rows_of) = c.rows(v, (batch, kv_head), 0..n_keys, &mut list);
                c.pack(src, v.dtype, (dv, v.feature_stride()), rows_of, values, dv.max(1), false, &mut offsets);
            }
            let values = values_lie.unwrap_or(Rows { at: values, step: dv, together: dv.max(1), chunk: 0 });
            offsets.paged = list;
            let blocks = kernel.q_len.div_ceil(width);
            for unit in (part..heads * blocks).step_by(parts) {
                let (head, first) = (kv_head * heads + unit / blocks, unit % blocks * width);
                let n = width.min(kernel.q_len - first);
                let src = q.at(batch, head, first);
                c.pack(src, q.dtype, (n, q.position_stride()), (d, q.feature_stride()), queries, width, true, &mut offsets);
                let softmax = Running { greatest: running, sum: running.add(width), factor: running.add(2 * width) };
                for i in 0..width {
                    *softmax.greatest.add(i) = T::NEG_INFINITY;
                    *softmax.sum.add(i) = T::default();
                }
                let seen = visible.keys(first, n);
                let start = seen.start / key_panel * key_panel;
                let mut key = start;
                while key < seen.end {
                    let n_block = block_keys.min(seen.end - key);
                    c.scores((keys.add(key * width), n_keys * width), n_block, d, queries, scores);
                    c.pack_bias((batch, head), (first, n), (key, n_block), bias, &mut offsets);
                    c.fill_dropout((batch, head), (first, n), (key, n_block), dropout);
                    let block = Block {
                        visible: &visible,
                        first,
                        n,
                        key,
                        n_keys: n_block,
                        scores,
                        scale: c.scale,
                        bias: if c.bias.is_some() { bias } else { std::ptr::null() },
                        dropout: if kernel.spec.dropout.is_some() { dropout } else { std::ptr::null() },
                    };
                    (c.math.softmax)(&block, &softmax);
                    if key > start {
                        (c.math.scale_rows)(sums, dv, softmax.factor);
                    }
                    c.gather(&values.from(key), dv, n_block, scores, sums, key > start);
                    key += n_block;
                }
                if key == start {
                    std::ptr::write_bytes(sums, 0, dv * width);
                }
                let at = (batch * kernel.heads + head) * kernel.q_len + first;
                let logarithms = running.add(3 * width);
                (c.log)(logarithms.cast(), softmax.sum.cast(), softmax.sum.cast(), softmax.sum.cast(), width);
                for i in 0..width {
                    let sum = *softmax.sum.add(i);
                    let is_empty = sum == T::default();
                    *softmax.factor.add(i) = if is_empty { T::default() } else { sum.recip() };
                    if i < n {
                        *lse.add(at + i) = if is_empty { T::NEG_INFINITY } else { (*softmax.greatest.add(i)).plus(*logarithms.add(i)) };
                    }
                }
                (c.math.scale_rows)(sums, dv, softmax.factor);
                c.write_transposed(sums, dv, n, &out, (batch, head, first), rows, &mut offsets);
            }
        }
        offsets.give_back(scratch);
    });
}
