//! Few queries against many keys: generation. Keys and values are read once, where they lie.

use super::math::RowSoftmax;
use super::{Along, Carve, Context, Offsets, Real, Tensor};
use crate::contract::kernel::{Ahead, DotArgs, TileArgs};
use crate::contract::scratch::{Purpose, with_scratch};
use crate::task_ptr::TaskPtr;
use crate::threads::parallel;

/// Keys that a task takes at a time. Each chunk has its own softmax; they are joined in order.
pub(super) const CHUNK: usize = 512;
/// Keys whose values are converted at a time.
const VALUE_KEYS: usize = 64;

/// # Safety
/// As for `super::forward`; neither bias nor dropout.
pub(super) unsafe fn run<T: Real>(c: &Context<'_, T>, threads: usize) {
    let kernel = c.kernel;
    let groups = kernel.batch * kernel.kv_heads;
    let heads = kernel.heads / kernel.kv_heads;
    let rows = heads * kernel.q_len;
    let dv = kernel.v_dim;
    let most_keys = c.most_keys();
    let chunks = most_keys.div_ceil(CHUNK).max(1);
    // Of each chunk and row: the greatest score, the sum of exponentials, the weighted sum of values.
    let record = rows * (dv + 2);
    let work = groups * rows * most_keys * (kernel.qk_dim + dv);
    let threads = if work < 1 << 18 { 1 } else { threads.max(1) };
    with_scratch(|scratch| {
        let partials = TaskPtr::new(scratch.get::<T>(Purpose::Partials, groups * chunks * record));
        let units = groups * chunks;
        let tasks = threads.min(units);
        parallel(tasks, &|task| {
            for unit in units * task / tasks..units * (task + 1) / tasks {
                // SAFETY: each unit has its own record.
                unsafe { chunk(c, unit / chunks, unit % chunks, rows, partials.get().add(unit * record)) }
            }
        });
        let mut offsets = Offsets::take(scratch);
        let (out, lse) = (Tensor::new(&c.rest[0], kernel.out), c.rest[1].ptr.cast::<T>());
        let joined: *mut T = scratch.get(Purpose::Sums, dv.max(1));
        for unit in 0..groups * rows {
            let (group, row) = (unit / rows, unit % rows);
            let (batch, head) = (group / kernel.kv_heads, group % kernel.kv_heads * heads + row / kernel.q_len);
            let i = row % kernel.q_len;
            // SAFETY: the records are complete; each row of the output is written once.
            unsafe {
                let of = |chunk: usize| partials.get().add((group * chunks + chunk) * record);
                let mut greatest = T::NEG_INFINITY.to_f64();
                for chunk in 0..chunks {
                    greatest = greatest.max((*of(chunk).add(row)).to_f64());
                }
                std::ptr::write_bytes(joined, 0, dv);
                let mut sum = 0.0;
                for chunk in 0..chunks {
                    let record = of(chunk);
                    let chunk_sum = (*record.add(rows + row)).to_f64();
                    if chunk_sum == 0.0 {
                        continue;
                    }
                    let factor = ((*record.add(row)).to_f64() - greatest).exp();
                    sum += factor * chunk_sum;
                    for f in 0..dv {
                        let more = (*record.add(2 * rows + row * dv + f)).to_f64() * factor;
                        *joined.add(f) = T::from_f64((*joined.add(f)).to_f64() + more);
                    }
                }
                let inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
                for f in 0..dv {
                    *joined.add(f) = T::from_f64((*joined.add(f)).to_f64() * inverse);
                }
                let logarithm = if sum == 0.0 { f64::NEG_INFINITY } else { greatest + sum.ln() };
                *lse.add((batch * kernel.heads + head) * kernel.q_len + i) = T::from_f64(logarithm);
                c.write(joined, dv, 1, &out, (batch, head, i), &mut offsets);
            }
        }
        offsets.give_back(scratch);
    });
}

/// Queries of heads from `head` on as rows, where they lie so: where they begin, and how far they are apart.
fn queries_in_place<T: Real>(c: &Context<'_, T>, (batch, head): (usize, usize), heads: usize) -> Option<(*const T, usize)> {
    let [_, by_head, by_position, by_feature] = c.q.layout.strides;
    let between = match (heads, c.kernel.q_len) {
        (_, 1) => by_head,
        (1, _) => by_position,
        _ => return None,
    };
    let lies = c.q.dtype == T::DTYPE && (by_feature == 1 || c.kernel.qk_dim == 1);
    let between = usize::try_from(between).ok().filter(|_| lies)?;
    Some((c.q.at(batch, head, 0).cast::<T>().cast_const(), between))
}

/// One chunk of keys of one key head, for all rows (head of the group, query).
unsafe fn chunk<T: Real>(c: &Context<'_, T>, group: usize, chunk: usize, rows: usize, record: *mut T) {
    let kernel = c.kernel;
    let (batch, kv_head) = (group / kernel.kv_heads, group % kernel.kv_heads);
    let heads = kernel.heads / kernel.kv_heads;
    let (d, dv) = (kernel.qk_dim, kernel.v_dim);
    let visible = c.visible(batch);
    let seen = visible.keys(0, kernel.q_len);
    let (start, end) = ((chunk * CHUNK).max(seen.start), ((chunk + 1) * CHUNK).min(seen.end));
    let sizes = [rows * d, rows * CHUNK, VALUE_KEYS * dv, CHUNK * d, VALUE_KEYS * c.kernels.mr];
    with_scratch(|scratch| {
        let total = sizes.iter().map(|n| Carve::<T>::padded(*n)).sum();
        let mut carve = Carve { at: scratch.get::<T>(Purpose::Attention, total) };
        let [queries, scores, values, copied, weights] = sizes.map(|n| carve.take(n));
        let mut offsets = Offsets::take(scratch);
        let mut list = std::mem::take(&mut offsets.paged);
        // SAFETY: the parts of the scratch memory have the sizes that each use needs; tensors are as the kernel says.
        unsafe {
            let sums = record.add(2 * rows);
            std::ptr::write_bytes(sums, 0, rows * dv);
            let n = end.saturating_sub(start);
            if n > 0 {
                let (a, lda) = match queries_in_place(c, (batch, kv_head * heads), heads) {
                    Some(found) => found,
                    None => {
                        for row in 0..rows {
                            let src = c.q.at(batch, kv_head * heads + row / kernel.q_len, row % kernel.q_len);
                            let (from, to) = ((d, c.q.feature_stride()), queries.add(row * d));
                            c.pack(src, c.q.dtype, from, (1, 0), to, d.max(1), false, &mut offsets);
                        }
                        (queries.cast_const(), d)
                    }
                };
                let in_place = c.k.feature_stride() == 1 && c.kernels.dot_loads.contains(&c.k.dtype);
                // Scores `[key][row]`: a panel of the second product as they are, once masked. In pages, page by page.
                let mut key = start;
                while key < end {
                    let next = kernel.pages.map_or(end, |pages| end.min((key / pages.size + 1) * pages.size));
                    let (src, along) = c.rows(&c.k, (batch, kv_head), key..next, &mut list);
                    let (b, b_dtype, ldb) = match along {
                        Along::Stride(_, stride) if in_place => (src.cast_const(), c.k.dtype, stride),
                        Along::List([first, ..]) if in_place => {
                            let size = c.k.dtype.size() as isize;
                            (src.wrapping_offset(*first as isize * size).cast_const(), c.k.dtype, c.k.position_stride())
                        }
                        Along::Stride(..) | Along::List(_) => {
                            c.pack(src, c.k.dtype, (d, c.k.feature_stride()), along, copied, d.max(1), false, &mut offsets);
                            (copied.cast_const().cast(), T::DTYPE, d as i64)
                        }
                    };
                    (c.kernels.dot)(&DotArgs {
                        k: d,
                        a,
                        lda,
                        b,
                        b_dtype,
                        ldb,
                        c: scores.add(key - start),
                        c_row: CHUNK,
                        c_col: 1,
                        rows,
                        cols: next - key,
                        accumulate: false,
                    });
                    key = next;
                }
            }
            for row in 0..rows {
                let mine = visible.keys(row % kernel.q_len, 1);
                let within = |key: usize| key.clamp(start, start + n) - start;
                let seen = (within(mine.start), within(mine.end));
                let (greatest, sum) = (c.math.softmax_row)(&RowSoftmax { scores: scores.add(row * CHUNK), n, scale: c.scale, seen });
                *record.add(row) = greatest;
                *record.add(rows + row) = T::from_f64(sum);
            }
            let wide = c.kernels.nr;
            for key in (0..n).step_by(VALUE_KEYS) {
                let n_keys = VALUE_KEYS.min(n - key);
                let in_place = c.v.feature_stride() == 1 && c.v.dtype == T::DTYPE && kernel.pages.is_none();
                let (src, along) = c.rows(&c.v, (batch, kv_head), start + key..start + key + n_keys, &mut list);
                if !in_place {
                    c.pack(src, c.v.dtype, (dv, c.v.feature_stride()), along, values, dv.max(1), false, &mut offsets);
                }
                for first in (0..rows).step_by(c.kernels.mr) {
                    let n_rows = c.kernels.mr.min(rows - first);
                    let mut panel = scores.add(first * CHUNK + key);
                    if n_rows > 1 {
                        for i in 0..n_rows {
                            let row = scores.add((first + i) * CHUNK + key);
                            for j in 0..n_keys {
                                *weights.add(j * n_rows + i) = *row.add(j);
                            }
                        }
                        panel = weights;
                    }
                    for feature in (0..dv).step_by(wide) {
                        let (b, b_step) = if in_place {
                            (src.cast::<T>().cast_const(), c.v.position_stride() as usize)
                        } else {
                            (values.cast_const(), dv)
                        };
                        (c.kernels.tile)(&TileArgs {
                            kc: n_keys,
                            a: panel,
                            a_step: n_rows,
                            b: b.wrapping_add(feature),
                            b_step,
                            c: sums.add(first * dv + feature),
                            ldc: dv,
                            rows: n_rows,
                            cols: wide.min(dv - feature),
                            accumulate: true,
                            ahead: Ahead::none(panel),
                        });
                    }
                }
            }
        }
        offsets.paged = list;
        offsets.give_back(scratch);
    });
}
