//! Sorting by index, and the best `k`.
//!
//! In: contiguous `[outer, len, inner]`. Out: indices along the middle axis. Always: an element's place is decided by its key and
//! then by its position, packed into one integer, so that any correct sort is stable and reruns agree.

use super::element::{Element, elements, part, tasks, with_element};
use crate::task_ptr::TaskPtr;
use crate::{memory::Buf, threads::parallel};
use unigrad_kernel::{ArgSort, TopK};

/// From here on a radix sort beats a comparison sort.
pub(super) const RADIX: usize = 1024;

/// A key above a position; the order of packed values is the order wanted.
trait Packed: Copy + Ord + Default + Send + Sync {
    /// Bytes of the key.
    const KEY_BYTES: u32;
    const MAX: Self;
    fn new(key: u64, position: usize) -> Self;
    fn position(self) -> usize;
    /// Byte `i` of the key, the least significant first.
    fn digit(self, i: u32) -> usize;
}

impl Packed for u64 {
    const KEY_BYTES: u32 = 4;
    const MAX: u64 = u64::MAX;
    #[inline(always)]
    fn new(key: u64, position: usize) -> u64 {
        key << 32 | position as u64
    }
    #[inline(always)]
    fn position(self) -> usize {
        self as u32 as usize
    }
    #[inline(always)]
    fn digit(self, i: u32) -> usize {
        (self >> (32 + 8 * i)) as usize & 0xff
    }
}

impl Packed for u128 {
    const KEY_BYTES: u32 = 8;
    const MAX: u128 = u128::MAX;
    #[inline(always)]
    fn new(key: u64, position: usize) -> u128 {
        u128::from(key) << 64 | position as u128
    }
    #[inline(always)]
    fn position(self) -> usize {
        self as u64 as usize
    }
    #[inline(always)]
    fn digit(self, i: u32) -> usize {
        (self >> (64 + 8 * i)) as usize & 0xff
    }
}

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn argsort(kernel: &ArgSort, args: &[Buf]) {
    let shape = Shape { outer: kernel.outer, len: kernel.len, inner: kernel.inner, keep: kernel.len };
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe {
        if T::LONG_KEY || u32::try_from(kernel.len).is_err() {
            rows::<T, u128>(shape, kernel.descending, args);
        } else {
            rows::<T, u64>(shape, kernel.descending, args);
        }
    })
}

/// # Safety
/// As for [`argsort`].
pub(crate) unsafe fn topk(kernel: &TopK, args: &[Buf]) {
    let shape = Shape { outer: kernel.outer, len: kernel.len, inner: kernel.inner, keep: kernel.k };
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe {
        if T::LONG_KEY || u32::try_from(kernel.len).is_err() {
            rows::<T, u128>(shape, kernel.largest, args);
        } else {
            rows::<T, u64>(shape, kernel.largest, args);
        }
    })
}

#[derive(Clone, Copy)]
struct Shape {
    outer: usize,
    len: usize,
    inner: usize,
    /// Indices wanted per row.
    keep: usize,
}

/// Memory a task reuses from row to row.
#[derive(Default)]
struct SortBuffers<P> {
    items: Vec<P>,
    other: Vec<P>,
}

/// # Safety
/// As for [`argsort`].
unsafe fn rows<T: Element, P: Packed>(shape: Shape, reversed: bool, args: &[Buf]) {
    let Shape { outer, len, inner, keep } = shape;
    if outer * len * inner == 0 || keep == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let x = unsafe { elements::<T>(&args[0]) };
    let out = TaskPtr::new(args[1].ptr.cast::<i64>());
    // Best first is ascending order of the complement; positions stay ascending.
    let flip = match (reversed, P::KEY_BYTES) {
        (false, _) => 0,
        (true, 4) => u64::from(u32::MAX),
        (true, _) => u64::MAX,
    };
    let n_rows = outer * inner;
    let n_tasks = tasks(n_rows * len).min(n_rows);
    parallel(n_tasks, &|t| {
        let mut scratch = SortBuffers::<P>::default();
        for r in part(n_rows, n_tasks, t) {
            let (o, i) = (r / inner, r % inner);
            let column = x[o * len * inner + i..].iter().step_by(inner).take(len);
            let items = column.enumerate().map(|(position, x)| P::new(x.key() ^ flip, position));
            if keep == len {
                sort_row(&mut scratch, items, len);
            } else {
                best_of_row(&mut scratch.items, items, len, keep);
            }
            for (j, item) in scratch.items[..keep].iter().enumerate() {
                // SAFETY: `[o, j, i]` lies in the output, and belongs to this row alone.
                unsafe { out.get().add((o * keep + j) * inner + i).write(item.position() as i64) };
            }
        }
    });
}

/// Leaves the items, in order, in `scratch.items`.
fn sort_row<P: Packed>(scratch: &mut SortBuffers<P>, items: impl Iterator<Item = P>, len: usize) {
    scratch.items.clear();
    scratch.items.reserve(len);
    scratch.items.extend(items);
    if len < RADIX {
        scratch.items.sort_unstable();
        return;
    }
    let mut counts = vec![[0usize; 256]; P::KEY_BYTES as usize];
    for item in &scratch.items {
        for (digit, counts) in counts.iter_mut().enumerate() {
            counts[item.digit(digit as u32)] += 1;
        }
    }
    scratch.other.resize(len, P::default());
    for (digit, counts) in counts.iter().enumerate() {
        if counts.contains(&len) {
            continue; // every key has the same byte here
        }
        let mut next = [0usize; 256];
        let mut start = 0;
        for (next, count) in next.iter_mut().zip(counts) {
            *next = start;
            start += count;
        }
        for item in &scratch.items {
            let place = &mut next[item.digit(digit as u32)];
            scratch.other[*place] = *item;
            *place += 1;
        }
        std::mem::swap(&mut scratch.items, &mut scratch.other);
    }
}

/// Leaves the `keep` best items, in order, in `best`: keeps what beats the `keep`-th best so far, and when enough has come together,
/// selects again.
fn best_of_row<P: Packed>(best: &mut Vec<P>, items: impl Iterator<Item = P>, len: usize, keep: usize) {
    best.clear();
    let room = len.min(keep.saturating_mul(4).max(512));
    best.reserve(room);
    let mut bar = P::MAX;
    for item in items {
        if item < bar {
            best.push(item);
            if best.len() == room && keep < room {
                bar = *best.select_nth_unstable(keep - 1).1;
                best.truncate(keep);
            }
        }
    }
    if keep < best.len() {
        best.select_nth_unstable(keep - 1);
        best.truncate(keep);
    }
    best.sort_unstable();
}
