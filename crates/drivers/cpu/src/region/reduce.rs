//! Arg reductions: the first extreme element and where it is.

use super::kernels::{Number, Ty};
use std::slice::{from_raw_parts, from_raw_parts_mut};
use unigrad_scalar::ArgReduceOp;

/// `f(best, at, a, n, k)`. Lanes are rows: element `k` of each of `n` rows. Lanes are elements: elements `k .. k + n` of one row.
pub(super) type ArgFn = unsafe fn(*mut u8, *mut i64, *const u8, usize, i64);

/// `f(best, at, other_best, other_at, n)`: joins results of later elements into those of earlier ones, lane by lane.
pub(super) type JoinFn = unsafe fn(*mut u8, *mut i64, *const u8, *const i64, usize);

#[inline(always)]
fn better<T: Number, const MAX: bool>(a: T, best: T) -> bool {
    (if MAX { a > best } else { a < best }) | (a.is_nan() & !best.is_nan())
}

/// # Safety
/// As for [`ArgFn`]: `n` lanes of each.
unsafe fn rows<T: Number, const MAX: bool>(best: *mut u8, at: *mut i64, a: *const u8, n: usize, k: i64) {
    // SAFETY: the caller's promise.
    let (best, at, a) = unsafe { (from_raw_parts_mut(best.cast::<T>(), n), from_raw_parts_mut(at, n), from_raw_parts(a.cast::<T>(), n)) };
    for ((best, at), a) in best.iter_mut().zip(at).zip(a) {
        let take = better::<T, MAX>(*a, *best);
        *best = if take { *a } else { *best };
        *at = if take { k } else { *at };
    }
}

/// # Safety
/// As for [`ArgFn`]: `n` elements, one result.
unsafe fn elements<T: Number, const MAX: bool>(best: *mut u8, at: *mut i64, a: *const u8, n: usize, k: i64) {
    // SAFETY: the caller's promise.
    let (best, at, a) = unsafe { (&mut *best.cast::<T>(), &mut *at, from_raw_parts(a.cast::<T>(), n)) };
    // Most chunks of a long row hold nothing better; whether one does needs no order, so it vectorises.
    for (c, chunk) in a.chunks(64).enumerate() {
        if chunk.iter().fold(false, |any, a| any | better::<T, MAX>(*a, *best)) {
            for (i, a) in chunk.iter().enumerate() {
                if better::<T, MAX>(*a, *best) {
                    (*best, *at) = (*a, k + (c * 64 + i) as i64);
                }
            }
        }
    }
}

/// # Safety
/// As for [`JoinFn`]: `n` lanes of each.
unsafe fn join<T: Number, const MAX: bool>(best: *mut u8, at: *mut i64, other: *const u8, other_at: *const i64, n: usize) {
    // SAFETY: the caller's promise.
    let (best, at, other, other_at) = unsafe {
        (
            from_raw_parts_mut(best.cast::<T>(), n),
            from_raw_parts_mut(at, n),
            from_raw_parts(other.cast::<T>(), n),
            from_raw_parts(other_at, n),
        )
    };
    for i in 0..n {
        if better::<T, MAX>(other[i], best[i]) {
            (best[i], at[i]) = (other[i], other_at[i]);
        }
    }
}

/// The kernels of an arg reduction on values of `ty`.
pub(super) fn arg(op: ArgReduceOp, ty: Ty, lanes_are_rows: bool) -> (ArgFn, JoinFn) {
    fn pick<T: Number>(op: ArgReduceOp, lanes_are_rows: bool) -> (ArgFn, JoinFn) {
        match (op, lanes_are_rows) {
            (ArgReduceOp::ArgMax, true) => (rows::<T, true>, join::<T, true>),
            (ArgReduceOp::ArgMax, false) => (elements::<T, true>, join::<T, true>),
            (ArgReduceOp::ArgMin, true) => (rows::<T, false>, join::<T, false>),
            (ArgReduceOp::ArgMin, false) => (elements::<T, false>, join::<T, false>),
        }
    }
    match ty {
        Ty::F32 => pick::<f32>(op, lanes_are_rows),
        Ty::F64 => pick::<f64>(op, lanes_are_rows),
        Ty::I32 => pick::<i32>(op, lanes_are_rows),
        Ty::U32 => pick::<u32>(op, lanes_are_rows),
        Ty::I64 => pick::<i64>(op, lanes_are_rows),
        Ty::U64 => pick::<u64>(op, lanes_are_rows),
        Ty::Bool => pick::<u8>(op, lanes_are_rows),
    }
}
