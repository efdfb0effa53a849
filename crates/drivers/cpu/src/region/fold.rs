//! Reductions by blocks: what joins a block of lanes to an accumulator, for every dtype, once per instruction-set tier.
//!
//! In: accumulators and a block of lanes. Out: the accumulators with the block. Lanes are elements of one row, which a fold makes one
//! number, or rows, which have an accumulator each.
//! Always: a fold adds in the same tree wherever its block starts; a sum of floats is carried over blocks in a wider type, or with what it
//! loses, so that its error does not grow with its length.
//! Never: depends on how many threads there are.

use super::kernels::{Add, And, Binary, Int, LaneKernel, Max, Min, Mul, Number, OpFn, Or, Ty, pick};
use crate::compensated::{self, Real};
use crate::simd::Tier;
use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use unigrad_scalar::ReduceOp;

/// `d[i] = f(d[i], a[i])`: a reduction whose lanes are rows.
struct Accumulate<O>(PhantomData<O>);

impl<O: Binary<R = <O as Binary>::A>> LaneKernel for Accumulate<O> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` lanes each, not overlapping.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<O::A>(), n), from_raw_parts(a.cast::<O::A>(), n)) };
        for (d, a) in d.iter_mut().zip(a) {
            *d = O::f::<FMA>(*d, *a);
        }
    }
}

/// Lanes that a fold keeps apart before it combines them in a fixed tree.
pub(super) const FOLD: usize = 64;

/// The same for short rows.
pub(super) const SHORT_FOLD: usize = 16;

/// The same for long rows.
pub(super) const WIDE: usize = 4 * FOLD;

/// The fold of some lanes, in a tree that is a function of how many they are; nothing of none.
#[inline(always)]
pub(super) fn part<O: Binary<R = <O as Binary>::A>, const FMA: bool>(a: &[O::A]) -> Option<O::A> {
    if let Some(part) = O::fold_extreme(a) {
        return Some(part);
    }
    let n = a.len();
    let (first, rest) = a.split_first()?;
    if n < SHORT_FOLD {
        // Few lanes: in order.
        return Some(rest.iter().fold(*first, |part, a| O::f::<FMA>(part, *a)));
    }
    if n < FOLD {
        let (head, rest) = a.split_at(SHORT_FOLD);
        let mut lanes = [*first; SHORT_FOLD];
        lanes.copy_from_slice(head);
        for chunk in rest.chunks(SHORT_FOLD) {
            for (lane, a) in lanes.iter_mut().zip(chunk) {
                *lane = O::f::<FMA>(*lane, *a);
            }
        }
        for i in 0..8 {
            lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 8]);
        }
        for i in 0..4 {
            lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 4]);
        }
        return Some(O::f::<FMA>(O::f::<FMA>(lanes[0], lanes[2]), O::f::<FMA>(lanes[1], lanes[3])));
    }
    let mut lanes = [*first; FOLD];
    let rest = if n < 2 * WIDE {
        let (head, rest) = a.split_at(FOLD);
        lanes.copy_from_slice(head);
        rest
    } else {
        // Enough of them that no addition waits for the one before.
        let whole = n / WIDE * WIDE;
        let (head, rest) = a[..whole].split_at(WIDE);
        let mut wide = [head[0]; WIDE];
        wide.copy_from_slice(head);
        for chunk in rest.chunks_exact(WIDE) {
            for (lane, a) in wide.iter_mut().zip(chunk) {
                *lane = O::f::<FMA>(*lane, *a);
            }
        }
        for i in 0..FOLD {
            let (even, odd) = (O::f::<FMA>(wide[i], wide[i + 128]), O::f::<FMA>(wide[i + 64], wide[i + 192]));
            lanes[i] = O::f::<FMA>(even, odd);
        }
        &a[whole..]
    };
    let mut chunks = rest.chunks_exact(FOLD);
    for chunk in &mut chunks {
        for (lane, a) in lanes.iter_mut().zip(chunk) {
            *lane = O::f::<FMA>(*lane, *a);
        }
    }
    for (lane, a) in lanes.iter_mut().zip(chunks.remainder()) {
        *lane = O::f::<FMA>(*lane, *a);
    }
    // Written out, with fixed bounds: each level is a few vector instructions.
    for i in 0..32 {
        lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 32]);
    }
    for i in 0..16 {
        lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 16]);
    }
    for i in 0..8 {
        lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 8]);
    }
    for i in 0..4 {
        lanes[i] = O::f::<FMA>(lanes[i], lanes[i + 4]);
    }
    Some(O::f::<FMA>(O::f::<FMA>(lanes[0], lanes[2]), O::f::<FMA>(lanes[1], lanes[3])))
}

/// `d[0] = d[0] ∘ fold(a)`: a reduction whose lanes are elements of one row. `d` is of the wider type `W`, which keeps the error
/// of a long sum of block sums small.
struct Fold<O, W>(PhantomData<(O, W)>);

/// What an accumulator converts from and to.
pub(super) trait Widen<T>: Copy {
    fn widen(value: T) -> Self;
}

impl<T: Copy> Widen<T> for T {
    #[inline(always)]
    fn widen(value: T) -> T {
        value
    }
}

impl Widen<f32> for f64 {
    #[inline(always)]
    fn widen(value: f32) -> f64 {
        value.into()
    }
}

impl<O, W> LaneKernel for Fold<O, W>
where
    O: Binary<R = <O as Binary>::A>,
    W: Widen<O::A>,
    (O, W): Combine<W>,
{
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` lanes and one accumulator.
        let (d, a) = unsafe { (&mut *d.cast::<W>(), from_raw_parts(a.cast::<O::A>(), n)) };
        if let Some(part) = part::<O, FMA>(a) {
            *d = <(O, W) as Combine<W>>::combine(*d, W::widen(part));
        }
    }
}

/// A sum of `f64` with what its additions rounded away.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Exact {
    pub(super) sum: f64,
    pub(super) lost: f64,
}

impl Widen<f64> for Exact {
    #[inline(always)]
    fn widen(value: f64) -> Exact {
        Exact { sum: value, lost: -0.0 }
    }
}

impl Combine<Exact> for (Add<f64>, Exact) {
    #[inline(always)]
    fn combine(a: Exact, b: Exact) -> Exact {
        let (sum, lost) = compensated::add(a.sum, a.lost, b.sum);
        Exact { sum, lost: lost + b.lost }
    }
}

/// `d[0] = d[0] + a[0]`, both with what they lost.
struct Join;

impl LaneKernel for Join {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, _: usize) {
        // SAFETY: one accumulator each.
        let (d, a) = unsafe { (&mut *d.cast::<Exact>(), a.cast::<Exact>().read()) };
        *d = <(Add<f64>, Exact) as Combine<Exact>>::combine(*d, a);
    }
}

/// `d[i] = d[i] + a[i]`, where what `d[i]` lost is in `d[n + i]`.
struct Carry<T>(PhantomData<T>);

impl<T: Real> LaneKernel for Carry<T> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `2 n` and `n` lanes, not overlapping.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<T>(), 2 * n), from_raw_parts(a.cast::<T>(), n)) };
        let (sum, lost) = d.split_at_mut(n);
        for ((sum, lost), a) in sum.iter_mut().zip(lost).zip(a) {
            (*sum, *lost) = compensated::add(*sum, *lost, *a);
        }
    }
}

/// `d[i] = a[i]` with what it lost, which is in `a[n + i]`.
struct Settle<T>(PhantomData<T>);

impl<T: Real> LaneKernel for Settle<T> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` and `2 n` lanes, not overlapping.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<T>(), n), from_raw_parts(a.cast::<T>(), 2 * n)) };
        let (sum, lost) = a.split_at(n);
        for ((d, sum), lost) in d.iter_mut().zip(sum).zip(lost) {
            *d = compensated::settle(*sum, *lost);
        }
    }
}

/// The kernels that take a lane accumulator's sums outward, and that end with a result there; for floats.
pub(super) fn carry(ty: Ty, tier: Tier) -> Option<(OpFn, OpFn)> {
    match ty {
        Ty::F32 => Some((pick::<Carry<f32>>(tier), pick::<Settle<f32>>(tier))),
        Ty::F64 => Some((pick::<Carry<f64>>(tier), pick::<Settle<f64>>(tier))),
        Ty::I32 | Ty::U32 | Ty::I64 | Ty::U64 | Ty::Bool => None,
    }
}

/// Joins two accumulators.
pub(super) trait Combine<W> {
    fn combine(a: W, b: W) -> W;
}

macro_rules! combines {
    ($($o:ident[$bound:ident]),*) => {$(
        impl<T: $bound> Combine<T> for ($o<T>, T) {
            #[inline(always)]
            fn combine(a: T, b: T) -> T { $o::<T>::f::<false>(a, b) }
        }
    )*};
}
combines!(Add[Number], Mul[Number], Max[Number], Min[Number], Or[Int], And[Int]);

impl Combine<f64> for (Add<f32>, f64) {
    #[inline(always)]
    fn combine(a: f64, b: f64) -> f64 {
        a + b
    }
}

impl Combine<f64> for (Mul<f32>, f64) {
    #[inline(always)]
    fn combine(a: f64, b: f64) -> f64 {
        a * b
    }
}

fn reduction<T: Number>(op: ReduceOp, tier: Tier) -> OpFn {
    match op {
        ReduceOp::Sum => pick::<Accumulate<Add<T>>>(tier),
        ReduceOp::Prod => pick::<Accumulate<Mul<T>>>(tier),
        ReduceOp::Max => pick::<Accumulate<Max<T>>>(tier),
        ReduceOp::Min => pick::<Accumulate<Min<T>>>(tier),
    }
}

/// The kernel of a reduction whose lanes are rows: `d[i] = d[i] ∘ a[i]`.
pub(super) fn accumulate(op: ReduceOp, ty: Ty, tier: Tier) -> OpFn {
    match ty {
        Ty::F32 => reduction::<f32>(op, tier),
        Ty::F64 => reduction::<f64>(op, tier),
        Ty::I32 => reduction::<i32>(op, tier),
        Ty::U32 => reduction::<u32>(op, tier),
        Ty::I64 => reduction::<i64>(op, tier),
        Ty::U64 => reduction::<u64>(op, tier),
        Ty::Bool => match op {
            ReduceOp::Sum | ReduceOp::Max => pick::<Accumulate<Or<u8>>>(tier),
            ReduceOp::Prod | ReduceOp::Min => pick::<Accumulate<And<u8>>>(tier),
        },
    }
}

fn folding<T: Number>(op: ReduceOp, tier: Tier) -> OpFn {
    match op {
        ReduceOp::Sum => pick::<Fold<Add<T>, T>>(tier),
        ReduceOp::Prod => pick::<Fold<Mul<T>, T>>(tier),
        ReduceOp::Max => pick::<Fold<Max<T>, T>>(tier),
        ReduceOp::Min => pick::<Fold<Min<T>, T>>(tier),
    }
}

/// The kernel of a reduction whose lanes are elements of one row: `d[0] = d[0] ∘ a[0] ∘ … ∘ a[n - 1]`, with `d` of type
/// [`fold_ty`].
pub(super) fn fold(op: ReduceOp, ty: Ty, tier: Tier) -> OpFn {
    match ty {
        Ty::F32 => match op {
            ReduceOp::Sum => pick::<Fold<Add<f32>, f64>>(tier),
            ReduceOp::Prod => pick::<Fold<Mul<f32>, f64>>(tier),
            ReduceOp::Max | ReduceOp::Min => folding::<f32>(op, tier),
        },
        Ty::F64 if op == ReduceOp::Sum => pick::<Fold<Add<f64>, Exact>>(tier),
        Ty::F64 => folding::<f64>(op, tier),
        Ty::I32 => folding::<i32>(op, tier),
        Ty::U32 => folding::<u32>(op, tier),
        Ty::I64 => folding::<i64>(op, tier),
        Ty::U64 => folding::<u64>(op, tier),
        Ty::Bool => match op {
            ReduceOp::Sum | ReduceOp::Max => pick::<Fold<Or<u8>, u8>>(tier),
            ReduceOp::Prod | ReduceOp::Min => pick::<Fold<And<u8>, u8>>(tier),
        },
    }
}

/// The kernels that join two accumulators of [`fold`], and that make its result of one; no second one where it is the result.
pub(super) fn ends_of_fold(op: ReduceOp, ty: Ty, tier: Tier) -> (OpFn, Option<OpFn>) {
    match (op, ty) {
        (ReduceOp::Sum, Ty::F64) => (pick::<Join>(tier), Some(pick::<Settle<f64>>(tier))),
        _ => (accumulate(op, fold_ty(op, ty), tier), super::convert::cast(fold_ty(op, ty), ty, tier)),
    }
}

/// The type a fold accumulates in; sums of `f64` are [`Exact`].
pub(super) fn fold_ty(op: ReduceOp, ty: Ty) -> Ty {
    match (op, ty) {
        (ReduceOp::Sum | ReduceOp::Prod, Ty::F32) => Ty::F64,
        _ => ty,
    }
}
