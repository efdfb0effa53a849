//! Kernels of blocks of whole rows: from a number for each row to all of its lanes, and from the lanes to one number for each row.
//!
//! In: lanes or numbers of several rows, one row after the other without gaps. Out: the same the other way round.
//! Always: what a row gives is what [`fold`](super::fold) gives for a block with that row alone, bit for bit.

use super::fold::{self, Combine, Exact, Widen};
use super::fold_vectors::{self, FoldRow, Tree, fold_row};
use super::kernels::{Add, And, Binary, Max, Min, Mul, Number, Or, Ty};
use crate::compensated;
use crate::simd::Tier;
use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use unigrad_scalar::{ArgReduceOp, ReduceOp};

/// `f(d, a, init, rows, len)` for `rows` rows of `len` lanes. `d` and `a` do not overlap.
pub(super) type RowsFn = unsafe fn(*mut u8, *const u8, *const u8, usize, usize);

/// The vectors of the baseline.
#[cfg(target_arch = "x86_64")]
type Baseline = std::arch::x86_64::__m128;
#[cfg(not(target_arch = "x86_64"))]
type Baseline = super::vector::Four;

/// A loop over rows, to be compiled once per tier; `V` are its vectors.
trait RowsKernel {
    /// # Safety
    /// As for [`RowsFn`].
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize);
}

/// # Safety
/// As for [`RowsFn`].
unsafe fn baseline<K: RowsKernel>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<Baseline, { cfg!(target_arch = "aarch64") }>(d, a, init, rows, len) }
}

/// # Safety
/// As for [`RowsFn`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
unsafe fn avx2<K: RowsKernel>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<std::arch::x86_64::__m256, true>(d, a, init, rows, len) }
}

/// # Safety
/// As for [`RowsFn`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")]
unsafe fn avx512<K: RowsKernel>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<std::arch::x86_64::__m512, true>(d, a, init, rows, len) }
}

fn pick<K: RowsKernel>(tier: Tier) -> RowsFn {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::<K>,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::<K>,
        _ => baseline::<K>,
    }
}

/// Each lane of row `r` is `a[r]`.
struct RowNumbers<T>(PhantomData<T>);

impl<T: Copy> RowsKernel for RowNumbers<T> {
    #[inline(always)]
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, rows: usize, len: usize) {
        // SAFETY: `rows` numbers and `rows * len` lanes.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<T>(), rows * len), from_raw_parts(a.cast::<T>(), rows)) };
        for (r, a) in a.iter().enumerate() {
            d[r * len..][..len].fill(*a);
        }
    }
}

/// The same of four bytes, in whole vectors: those that reach into the row after it are written over by that row.
struct SpreadVectors;

impl RowsKernel for SpreadVectors {
    #[inline(always)]
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, rows: usize, len: usize) {
        // SAFETY: `rows` numbers; `rows * len` lanes, and room for a vector behind them.
        unsafe {
            for r in 0..rows {
                let (x, d) = (V::splat(a.cast::<f32>().add(r).read()), d.cast::<f32>().add(r * len));
                let mut k = 0;
                while k < len {
                    x.store(d.add(k));
                    k += V::LANES;
                }
            }
        }
    }
}

/// The kernel that gives each row's number, of so many bytes, to all of its lanes. It may write up to 64 bytes behind the last one.
pub(super) fn spread(size: usize, tier: Tier) -> RowsFn {
    match size {
        1 => pick::<RowNumbers<u8>>(tier),
        4 => pick::<SpreadVectors>(tier),
        _ => pick::<RowNumbers<u64>>(tier),
    }
}

/// The result that an accumulator stands for.
trait Settle<T> {
    fn settle(self) -> T;
}

impl<T> Settle<T> for T {
    #[inline(always)]
    fn settle(self) -> T {
        self
    }
}

impl Settle<f32> for f64 {
    #[inline(always)]
    fn settle(self) -> f32 {
        self as f32
    }
}

impl Settle<f64> for Exact {
    #[inline(always)]
    fn settle(self) -> f64 {
        compensated::settle(self.sum, self.lost)
    }
}

/// `d[r]` is the fold of row `r`, through an accumulator of type `W` that begins as `init`.
struct FoldEach<O, W>(PhantomData<(O, W)>);

impl<O, W> RowsKernel for FoldEach<O, W>
where
    O: Binary<R = <O as Binary>::A>,
    W: Widen<O::A> + Settle<O::A>,
    (O, W): Combine<W>,
{
    #[inline(always)]
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize) {
        // SAFETY: `rows` results, `rows * len` lanes, one accumulator.
        let (d, a, init) = unsafe {
            (from_raw_parts_mut(d.cast::<O::A>(), rows), from_raw_parts(a.cast::<O::A>(), rows * len), init.cast::<W>().read_unaligned())
        };
        let result = |part: O::A| <(O, W) as Combine<W>>::combine(init, W::widen(part)).settle();
        for (r, d) in d.iter_mut().enumerate() {
            *d = fold::part::<O, FMA>(&a[r * len..][..len]).map_or(init.settle(), result);
        }
    }
}

/// The same of `f32`, in vectors where rows have them.
struct FoldVectors<O, W>(PhantomData<(O, W)>);

impl<O, W> RowsKernel for FoldVectors<O, W>
where
    O: Binary<A = f32, R = f32> + FoldRow,
    W: Widen<f32> + Settle<f32>,
    (O, W): Combine<W>,
{
    #[inline(always)]
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, init: *const u8, rows: usize, len: usize) {
        // SAFETY: as for `FoldEach`; behind all rows but the last there is another one.
        unsafe {
            if !fold_vectors::LENGTHS.contains(&len) {
                return FoldEach::<O, W>::run::<V, FMA>(d, a, init, rows, len);
            }
            let (d, a, init) = (from_raw_parts_mut(d.cast::<f32>(), rows), a.cast::<f32>(), init.cast::<W>().read_unaligned());
            for (r, d) in d.iter_mut().enumerate() {
                let part = fold_row::<V, O>(a.add(r * len), len, r + 1 < rows);
                *d = <(O, W) as Combine<W>>::combine(init, W::widen(part)).settle();
            }
        }
    }
}

fn folding<T: Number>(op: ReduceOp, tier: Tier) -> RowsFn {
    match op {
        ReduceOp::Sum => pick::<FoldEach<Add<T>, T>>(tier),
        ReduceOp::Prod => pick::<FoldEach<Mul<T>, T>>(tier),
        ReduceOp::Max => pick::<FoldEach<Max<T>, T>>(tier),
        ReduceOp::Min => pick::<FoldEach<Min<T>, T>>(tier),
    }
}

/// The kernel that folds each row. `init` is the identity as an accumulator of [`fold::fold_ty`]; of one with two numbers, both of them.
pub(super) fn fold_each(op: ReduceOp, ty: Ty, tier: Tier) -> RowsFn {
    match ty {
        Ty::F32 => match op {
            ReduceOp::Sum => pick::<FoldVectors<Add<f32>, f64>>(tier),
            ReduceOp::Prod => pick::<FoldVectors<Mul<f32>, f64>>(tier),
            ReduceOp::Max => pick::<FoldVectors<Max<f32>, f32>>(tier),
            ReduceOp::Min => pick::<FoldVectors<Min<f32>, f32>>(tier),
        },
        Ty::F64 if op == ReduceOp::Sum => pick::<FoldEach<Add<f64>, Exact>>(tier),
        Ty::F64 => folding::<f64>(op, tier),
        Ty::I32 => folding::<i32>(op, tier),
        Ty::U32 => folding::<u32>(op, tier),
        Ty::I64 => folding::<i64>(op, tier),
        Ty::U64 => folding::<u64>(op, tier),
        Ty::Bool => match op {
            ReduceOp::Sum | ReduceOp::Max => pick::<FoldEach<Or<u8>, u8>>(tier),
            ReduceOp::Prod | ReduceOp::Min => pick::<FoldEach<And<u8>, u8>>(tier),
        },
    }
}

/// Lanes that are looked at together for an extreme.
const LOOK: usize = 16;

/// `d[r]` is where row `r` has its first extreme element; a NaN is beyond all numbers.
struct ArgEach<T, const MAX: bool>(PhantomData<T>);

impl<T: Number, const MAX: bool> ArgEach<T, MAX> {
    #[inline(always)]
    fn better(a: T, best: T) -> T {
        let take = if MAX { a > best } else { a < best };
        if take { a } else { best }
    }

    #[inline(always)]
    fn of(row: &[T]) -> i64 {
        let Some(first) = row.first() else { return 0 };
        // The extreme first, then where it is: both look at many lanes at a time.
        let mut best = [*first; LOOK];
        let mut nan = false;
        for chunk in row.chunks_exact(LOOK) {
            for (best, a) in best.iter_mut().zip(chunk) {
                *best = Self::better(*a, *best);
                nan |= a.is_nan();
            }
        }
        if !row.len().is_multiple_of(LOOK) {
            // What is left, with some before it where there are: to look twice does no harm.
            for (best, a) in best.iter_mut().zip(row.last_chunk::<LOOK>().map_or(row, |last| last)) {
                *best = Self::better(*a, *best);
                nan |= a.is_nan();
            }
        }
        let best = best.into_iter().fold(*first, |best, a| Self::better(a, best));
        let at = if nan { find(row, T::is_nan) } else { find(row, |a| a == best) };
        at as i64
    }
}

/// The first lane that is as wanted; 0 if none is.
#[inline(always)]
fn find<T: Copy>(row: &[T], wanted: impl Fn(T) -> bool) -> usize {
    let of_chunk = |chunk: &[T]| chunk.iter().fold(false, |any, a| any | wanted(*a));
    let chunk = row.chunks(LOOK).position(of_chunk).unwrap_or(0);
    let lane = row.iter().skip(chunk * LOOK).position(|a| wanted(*a)).unwrap_or(0);
    chunk * LOOK + lane
}

impl<T: Number, const MAX: bool> RowsKernel for ArgEach<T, MAX> {
    #[inline(always)]
    unsafe fn run<V: Tree, const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, rows: usize, len: usize) {
        // SAFETY: `rows` results and `rows * len` lanes.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<i64>(), rows), from_raw_parts(a.cast::<T>(), rows * len)) };
        for (r, d) in d.iter_mut().enumerate() {
            *d = Self::of(&a[r * len..][..len]);
        }
    }
}

/// The kernel that finds each row's first extreme element. `init` is not looked at.
pub(super) fn arg_each(op: ArgReduceOp, ty: Ty, tier: Tier) -> RowsFn {
    fn pick_for<T: Number>(op: ArgReduceOp, tier: Tier) -> RowsFn {
        match op {
            ArgReduceOp::ArgMax => pick::<ArgEach<T, true>>(tier),
            ArgReduceOp::ArgMin => pick::<ArgEach<T, false>>(tier),
        }
    }
    match ty {
        Ty::F32 => pick_for::<f32>(op, tier),
        Ty::F64 => pick_for::<f64>(op, tier),
        Ty::I32 => pick_for::<i32>(op, tier),
        Ty::U32 => pick_for::<u32>(op, tier),
        Ty::I64 => pick_for::<i64>(op, tier),
        Ty::U64 => pick_for::<u64>(op, tier),
        Ty::Bool => pick_for::<u8>(op, tier),
    }
}
