//! Running reductions.
//!
//! In: contiguous `[outer, len, inner]`. Out: the same shape. Always: each column is reduced in order, so results do not depend on
//! threads; half types round only when stored.

use super::element::{Element, Shared, elements, part, tasks, with_element};
use crate::{memory::Buf, simd::tier, threads::parallel};
use std::ops::Range;
use unigrad_kernel::Scan;
use unigrad_scalar::ScanOp;

/// Columns whose accumulators are kept at once.
const COLUMNS: usize = 256;

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn scan(kernel: &Scan, args: &[Buf]) {
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe {
        match kernel.op {
            ScanOp::Sum => run::<T>(kernel, args, T::add),
            ScanOp::Prod => run::<T>(kernel, args, T::mul),
            ScanOp::Max => run::<T>(kernel, args, T::greater),
            ScanOp::Min => run::<T>(kernel, args, T::lesser),
        }
    })
}

/// # Safety
/// As for [`scan`].
unsafe fn run<T: Element>(kernel: &Scan, args: &[Buf], op: impl Fn(T::Acc, T::Acc) -> T::Acc + Sync + Copy) {
    let (outer, len, inner) = (kernel.outer, kernel.len, kernel.inner);
    if outer * len * inner == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let x = unsafe { elements::<T>(&args[0]) };
    let out = Shared::new(args[1].ptr.cast::<T>());
    let blocks = inner.div_ceil(COLUMNS);
    let n_tasks = tasks(outer * len * inner).min(outer * blocks);
    parallel(n_tasks, &|t| {
        for item in part(outer * blocks, n_tasks, t) {
            let (row, block) = (item / blocks, item % blocks);
            let columns = block * COLUMNS..inner.min((block + 1) * COLUMNS);
            let plane = row * len * inner..(row + 1) * len * inner;
            // SAFETY: planes, and blocks of columns within a plane, are disjoint; the tier was detected.
            unsafe {
                let out = out.ptr().add(plane.start);
                if inner == 1 {
                    line::<T>(&x[plane], out, kernel.reverse, op);
                    continue;
                }
                match tier() {
                    #[cfg(target_arch = "x86_64")]
                    crate::simd::Tier::Avx2 | crate::simd::Tier::Avx512 => {
                        columns_avx2::<T>(&x[plane], out, len, inner, columns, kernel.reverse, op)
                    }
                    _ => columns_any::<T>(&x[plane], out, len, inner, columns, kernel.reverse, op),
                }
            }
        }
    });
}

/// # Safety
/// `out` has `x.len()` elements, which nobody else uses.
unsafe fn line<T: Element>(x: &[T], out: *mut T, reverse: bool, op: impl Fn(T::Acc, T::Acc) -> T::Acc) {
    let n = x.len();
    let at = |i: usize| if reverse { n - 1 - i } else { i };
    let mut acc = x[at(0)].widen();
    // SAFETY: `at` stays below `n`.
    unsafe {
        out.add(at(0)).write(x[at(0)]);
        for i in 1..n {
            acc = op(acc, x[at(i)].widen());
            out.add(at(i)).write(T::narrow(acc));
        }
    }
}

/// # Safety
/// `out` has `x.len()`, that is `len * inner`, elements, and nobody else uses these columns.
#[inline(always)]
unsafe fn columns_any<T: Element>(
    x: &[T],
    out: *mut T,
    len: usize,
    inner: usize,
    columns: Range<usize>,
    reverse: bool,
    op: impl Fn(T::Acc, T::Acc) -> T::Acc,
) {
    let at = |i: usize| (if reverse { len - 1 - i } else { i }) * inner + columns.start;
    let n = columns.len();
    let first = &x[at(0)..][..n];
    let mut acc = [first[0].widen(); COLUMNS];
    let acc = &mut acc[..n];
    for (acc, x) in acc.iter_mut().zip(first) {
        *acc = x.widen();
    }
    for i in 0..len {
        let row = &x[at(i)..][..n];
        // SAFETY: these columns of the row lie in `out`, and belong to this task alone.
        let out = unsafe { std::slice::from_raw_parts_mut(out.add(at(i)), n) };
        if i > 0 {
            for (acc, x) in acc.iter_mut().zip(row) {
                *acc = op(*acc, x.widen());
            }
        }
        T::narrow_all(acc, out);
    }
}

/// # Safety
/// As for [`columns_any`], on a machine with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn columns_avx2<T: Element>(
    x: &[T],
    out: *mut T,
    len: usize,
    inner: usize,
    columns: Range<usize>,
    reverse: bool,
    op: impl Fn(T::Acc, T::Acc) -> T::Acc,
) {
    // SAFETY: the caller's promise.
    unsafe { columns_any::<T>(x, out, len, inner, columns, reverse, op) }
}
