//! Running reductions.
//!
//! In: contiguous `[outer, len, inner]`. Out: the same shape. Always: each column is reduced in order, so results do not depend on
//! threads; sums and products of floats are kept in `f64`, sums of `f64` with what they lose, so that a running sum is as good at its
//! end as at its start. Never: rounds before it stores.

use super::element::{Element, elements, part, tasks, with_element};
use crate::task_ptr::TaskPtr;
use crate::{
    compensated,
    memory::Buf,
    simd::{Tier, tier},
    threads::parallel,
};
use std::ops::Range;
use unigrad_kernel::Scan;
use unigrad_scalar::{BinaryOp, Combine};

/// Columns whose accumulators are kept at once.
pub(super) const COLUMNS: usize = 256;

/// A running result.
pub(super) trait Running<T: Element>: Copy + Send + Sync {
    fn first(x: T) -> Self;
    fn next(self, x: T) -> Self;
    fn value(self) -> T::Acc;
}

/// An operation of accumulators, over and over.
macro_rules! plain {
    ($($name:ident = $op:ident;)*) => { $(
        pub(super) struct $name<T: Element>(T::Acc);
        impl<T: Element> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T: Element> Copy for $name<T> {}
        impl<T: Element> Running<T> for $name<T> {
            #[inline(always)]
            fn first(x: T) -> Self {
                $name(x.widen())
            }
            #[inline(always)]
            fn next(self, x: T) -> Self {
                $name(T::$op(self.0, x.widen()))
            }
            #[inline(always)]
            fn value(self) -> T::Acc {
                self.0
            }
        }
    )* };
}
plain! {
    Total = add;
    Product = mul;
    Greatest = greater;
    Least = lesser;
}

/// A sum or product of `f32` accumulators, in `f64`.
#[derive(Clone, Copy)]
pub(super) struct Wide<const SUM: bool>(f64);

impl<T: Element<Acc = f32>, const SUM: bool> Running<T> for Wide<SUM> {
    #[inline(always)]
    fn first(x: T) -> Self {
        Wide(x.widen().into())
    }
    #[inline(always)]
    fn next(self, x: T) -> Self {
        let x = f64::from(x.widen());
        Wide(if SUM { self.0 + x } else { self.0 * x })
    }
    #[inline(always)]
    fn value(self) -> f32 {
        self.0 as f32
    }
}

/// A sum of `f64`, with what it lost.
#[derive(Clone, Copy)]
pub(super) struct Exact {
    sum: f64,
    lost: f64,
}

impl Running<f64> for Exact {
    #[inline(always)]
    fn first(x: f64) -> Exact {
        Exact { sum: x, lost: 0.0 }
    }
    #[inline(always)]
    fn next(self, x: f64) -> Exact {
        let (sum, lost) = compensated::add(self.sum, self.lost, x);
        Exact { sum, lost }
    }
    #[inline(always)]
    fn value(self) -> f64 {
        compensated::settle(self.sum, self.lost)
    }
}

/// # Safety
/// `args` match the kernel's arguments in order, dtype and length, and nothing else uses the written ones meanwhile.
pub(crate) unsafe fn scan(kernel: &Scan, args: &[Buf]) {
    // SAFETY: the caller's promise.
    unsafe { scan_on(kernel, args, tier()) }
}

/// # Safety
/// As for [`scan`], on a machine of this tier.
pub(super) unsafe fn scan_on(kernel: &Scan, args: &[Buf], tier: Tier) {
    // SAFETY: the caller's promise.
    with_element!(kernel.dtype, T => unsafe {
        match kernel.op.combine(true) {
            Combine::Binary(BinaryOp::Add) => run::<T, <T as Element>::Sum>(kernel, args, tier),
            Combine::Binary(BinaryOp::Mul) => run::<T, <T as Element>::Product>(kernel, args, tier),
            Combine::Binary(BinaryOp::Max) => run::<T, Greatest<T>>(kernel, args, tier),
            Combine::Binary(BinaryOp::Min) => run::<T, Least<T>>(kernel, args, tier),
            // What has no lanes of its own.
            Combine::Binary(_) | Combine::Formula(_) => by_definition::<T>(kernel, args),
        }
    })
}

/// Every line by the exact meaning of the operation: of floats in `f64`, of integers to the bit (a formula is not for integers, which the driver refuses
/// before).
///
/// # Safety
/// As for [`scan_on`].
pub(super) unsafe fn by_definition<T: Element>(kernel: &Scan, args: &[Buf]) {
    let op = kernel.op;
    let (width, signed) = (8 * kernel.dtype.size() as u32, kernel.dtype.is_signed_int());
    // SAFETY: the caller's promise.
    unsafe {
        match op.combine(true) {
            Combine::Binary(op) if !kernel.dtype.is_float() => {
                let next = |running: T, x: T| T::of_i64(op.eval_int(running.to_i64(), x.to_i64(), width, signed));
                every_line(kernel, args, |x: T| x, next, |running| running);
            }
            Combine::Binary(_) | Combine::Formula(_) => {
                every_line(kernel, args, T::to_f64, |running, x| op.eval(running, x.to_f64()), T::of_f64)
            }
        }
    }
}

/// # Safety
/// As for [`scan_on`].
unsafe fn every_line<T: Element, R: Copy>(
    kernel: &Scan,
    args: &[Buf],
    first: impl Fn(T) -> R + Sync,
    next: impl Fn(R, T) -> R + Sync,
    value: impl Fn(R) -> T + Sync,
) {
    let (len, inner) = (kernel.len, kernel.inner);
    if kernel.outer * len * inner == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let x = unsafe { elements::<T>(&args[0]) };
    let out = TaskPtr::new(args[1].ptr.cast::<T>());
    let lines = kernel.outer * inner;
    let n_tasks = tasks(lines * len).min(lines);
    parallel(n_tasks, &|t| {
        for line in part(lines, n_tasks, t) {
            let begin = line / inner * len * inner + line % inner;
            let at = |i: usize| begin + inner * if kernel.reverse { len - 1 - i } else { i };
            let mut running = first(x[at(0)]);
            for i in 0..len {
                if i > 0 {
                    running = next(running, x[at(i)]);
                }
                // SAFETY: lines are disjoint, and each place of a line is written once, by this task.
                unsafe { out.get().add(at(i)).write(value(running)) };
            }
        }
    });
}

/// # Safety
/// As for [`scan_on`].
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
unsafe fn run<T: Element, R: Running<T>>(kernel: &Scan, args: &[Buf], tier: Tier) {
    let (outer, len, inner) = (kernel.outer, kernel.len, kernel.inner);
    if outer * len * inner == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    let x = unsafe { elements::<T>(&args[0]) };
    let out = TaskPtr::new(args[1].ptr.cast::<T>());
    let blocks = inner.div_ceil(COLUMNS);
    let n_tasks = tasks(outer * len * inner).min(outer * blocks);
    parallel(n_tasks, &|t| {
        for item in part(outer * blocks, n_tasks, t) {
            let (row, block) = (item / blocks, item % blocks);
            let columns = block * COLUMNS..inner.min((block + 1) * COLUMNS);
            let plane = row * len * inner..(row + 1) * len * inner;
            // SAFETY: planes, and blocks of columns within a plane, are disjoint; the machine has the tier.
            unsafe {
                let out = out.get().add(plane.start);
                if inner == 1 {
                    line::<T, R>(&x[plane], out, kernel.reverse);
                    continue;
                }
                match tier {
                    #[cfg(target_arch = "x86_64")]
                    Tier::Avx2 | Tier::Avx512 => columns_avx2::<T, R>(&x[plane], out, len, inner, columns, kernel.reverse),
                    _ => columns_any::<T, R>(&x[plane], out, len, inner, columns, kernel.reverse),
                }
            }
        }
    });
}

/// # Safety
/// `out` has `x.len()` elements, which nothing else uses.
unsafe fn line<T: Element, R: Running<T>>(x: &[T], out: *mut T, reverse: bool) {
    let n = x.len();
    let at = |i: usize| if reverse { n - 1 - i } else { i };
    let mut running = R::first(x[at(0)]);
    // SAFETY: `at` stays below `n`.
    unsafe {
        out.add(at(0)).write(x[at(0)]);
        for i in 1..n {
            running = running.next(x[at(i)]);
            out.add(at(i)).write(T::narrow(running.value()));
        }
    }
}

/// # Safety
/// `out` has `x.len()`, that is `len * inner`, elements, and nothing else uses these columns.
#[inline(always)]
unsafe fn columns_any<T: Element, R: Running<T>>(x: &[T], out: *mut T, len: usize, inner: usize, columns: Range<usize>, reverse: bool) {
    let at = |i: usize| (if reverse { len - 1 - i } else { i }) * inner + columns.start;
    let n = columns.len();
    let first = &x[at(0)..][..n];
    let mut running = [R::first(first[0]); COLUMNS];
    let running = &mut running[..n];
    for (running, x) in running.iter_mut().zip(first) {
        *running = R::first(*x);
    }
    let mut values = [first[0].widen(); COLUMNS];
    let values = &mut values[..n];
    for i in 0..len {
        let row = &x[at(i)..][..n];
        // SAFETY: these columns of the row lie in `out`, and belong to this task alone.
        let out = unsafe { std::slice::from_raw_parts_mut(out.add(at(i)), n) };
        if i > 0 {
            for (running, x) in running.iter_mut().zip(row) {
                *running = running.next(*x);
            }
        }
        for (value, running) in values.iter_mut().zip(&*running) {
            *value = running.value();
        }
        T::narrow_all(values, out);
    }
}

/// # Safety
/// As for [`columns_any`], on a machine with AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn columns_avx2<T: Element, R: Running<T>>(x: &[T], out: *mut T, len: usize, inner: usize, columns: Range<usize>, reverse: bool) {
    // SAFETY: the caller's promise.
    unsafe { columns_any::<T, R>(x, out, len, inner, columns, reverse) }
}
