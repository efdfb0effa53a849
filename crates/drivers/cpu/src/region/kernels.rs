//! Lane kernels: what one instruction does to a block of lanes, for every dtype, once per instruction-set tier.
//!
//! In: pointers to the lanes of up to three operands and a count. Out: the lanes of the result.
//! Always: a lane's result depends on that lane's operands alone, by the same operations at any position and in any tier that
//! has fused multiply-add; loops are plain Rust inside `#[target_feature]` functions, so the compiler vectorises them.
//! Never: allocates, checks indices, or contracts a user's `a * b + c`.

use super::{definition, float::Float};
use crate::simd::Tier;
use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use unigrad_scalar::{BinaryOp, DType, UnaryOp};

/// `f(dst, a, b, c, n)`: `n` lanes of each operand the kernel has, none of which overlaps `dst`.
pub(super) type OpFn = unsafe fn(*mut u8, *const u8, *const u8, *const u8, usize);

/// What lanes of a value are computed in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ty {
    F32,
    F64,
    I32,
    U32,
    I64,
    U64,
    Bool,
}

impl Ty {
    /// Halves compute in `f32`, 8- and 16-bit integers in 32 bits and wrap after each operation.
    pub(super) fn of(dtype: DType) -> Ty {
        match dtype {
            DType::Bool => Ty::Bool,
            DType::I8 | DType::I16 | DType::I32 => Ty::I32,
            // 8-bit floats are codes; the driver takes no kernel that has them by name.
            DType::U8 | DType::U16 | DType::U32 | DType::F8E4M3 | DType::F8E5M2 => Ty::U32,
            DType::I64 => Ty::I64,
            DType::U64 => Ty::U64,
            DType::F16 | DType::BF16 | DType::F32 => Ty::F32,
            DType::F64 => Ty::F64,
        }
    }

    pub(super) fn size(self) -> usize {
        match self {
            Ty::Bool => 1,
            Ty::F32 | Ty::I32 | Ty::U32 => 4,
            Ty::F64 | Ty::I64 | Ty::U64 => 8,
        }
    }
}

/// Which operands of a kernel are one value instead of a lane each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// All operands have lanes.
    Lanes,
    /// The first is one value.
    First,
    /// The second is one value.
    Second,
    /// Both are one value (of the two choices of a `Where`).
    Both,
}

pub(super) trait Unary {
    type A: Copy;
    type R: Copy;
    fn f<const FMA: bool>(a: Self::A) -> Self::R;
    /// Whether some arguments are beyond `f`: those lanes are done again by `slow`.
    const HAS_HARD: bool = false;
    #[inline(always)]
    fn is_hard(_: Self::A) -> bool {
        false
    }
    fn slow(a: Self::A) -> Self::R {
        Self::f::<false>(a)
    }
}

pub(super) trait Binary {
    type A: Copy;
    type R: Copy;
    fn f<const FMA: bool>(a: Self::A, b: Self::A) -> Self::R;
    /// As for [`Unary`].
    const HAS_HARD: bool = false;
    #[inline(always)]
    fn is_hard(_: Self::A, _: Self::A) -> bool {
        false
    }
    fn slow(a: Self::A, b: Self::A) -> Self::R {
        Self::f::<false>(a, b)
    }
    /// A fold of many lanes, if there is a shorter way than `f` over and over: any order gives the same.
    #[inline(always)]
    fn fold_extreme(_: &[Self::A]) -> Option<Self::R> {
        None
    }
}

/// A loop over lanes, to be compiled once per tier.
pub(super) trait LaneKernel {
    /// # Safety
    /// As for [`OpFn`].
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize);
}

/// # Safety
/// As for [`OpFn`].
unsafe fn baseline<K: LaneKernel>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<{ cfg!(target_arch = "aarch64") }>(d, a, b, c, n) }
}

/// # Safety
/// As for [`OpFn`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
unsafe fn avx2<K: LaneKernel>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<true>(d, a, b, c, n) }
}

/// # Safety
/// As for [`OpFn`], on a machine with these features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")]
unsafe fn avx512<K: LaneKernel>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe { K::run::<true>(d, a, b, c, n) }
}

pub(super) fn pick<K: LaneKernel>(tier: Tier) -> OpFn {
    match tier {
        #[cfg(target_arch = "x86_64")]
        Tier::Avx512 => avx512::<K>,
        #[cfg(target_arch = "x86_64")]
        Tier::Avx2 => avx2::<K>,
        _ => baseline::<K>,
    }
}

struct MapUnary<O>(PhantomData<O>);

impl<O: Unary> LaneKernel for MapUnary<O> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` lanes each, not overlapping.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<O::R>(), n), from_raw_parts(a.cast::<O::A>(), n)) };
        for (d, a) in d.iter_mut().zip(a) {
            *d = O::f::<FMA>(*a);
        }
        if O::HAS_HARD && a.iter().fold(false, |any, a| any | O::is_hard(*a)) {
            for (d, a) in d.iter_mut().zip(a).filter(|(_, a)| O::is_hard(**a)) {
                *d = O::slow(*a);
            }
        }
    }
}

/// `FIRST`, `SECOND`: that operand is one value.
struct MapBinary<O, const FIRST: bool, const SECOND: bool>(PhantomData<O>);

impl<O: Binary, const FIRST: bool, const SECOND: bool> LaneKernel for MapBinary<O, FIRST, SECOND> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, b: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` lanes each, or one where the shape says so; not overlapping.
        let (d, a, b) = unsafe {
            (
                from_raw_parts_mut(d.cast::<O::R>(), n),
                from_raw_parts(a.cast::<O::A>(), if FIRST { 1 } else { n }),
                from_raw_parts(b.cast::<O::A>(), if SECOND { 1 } else { n }),
            )
        };
        if FIRST {
            let a = a[0];
            for (d, b) in d.iter_mut().zip(b) {
                *d = O::f::<FMA>(a, *b);
            }
        } else if SECOND {
            let b = b[0];
            for (d, a) in d.iter_mut().zip(a) {
                *d = O::f::<FMA>(*a, b);
            }
        } else {
            for ((d, a), b) in d.iter_mut().zip(a).zip(b) {
                *d = O::f::<FMA>(*a, *b);
            }
        }
        if O::HAS_HARD {
            let (a_of, b_of) = (|i: usize| if FIRST { a[0] } else { a[i] }, |i: usize| if SECOND { b[0] } else { b[i] });
            if (0..n).fold(false, |any, i| any | O::is_hard(a_of(i), b_of(i))) {
                for (i, d) in d.iter_mut().enumerate().filter(|(i, _)| O::is_hard(a_of(*i), b_of(*i))) {
                    *d = O::slow(a_of(i), b_of(i));
                }
            }
        }
    }
}

struct Select<T, const FIRST: bool, const SECOND: bool>(PhantomData<T>);

impl<T: Copy, const FIRST: bool, const SECOND: bool> LaneKernel for Select<T, FIRST, SECOND> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, b: *const u8, c: *const u8, n: usize) {
        // SAFETY: `n` lanes each, or one where the shape says so; not overlapping.
        let (d, a, b, c) = unsafe {
            (
                from_raw_parts_mut(d.cast::<T>(), n),
                from_raw_parts(a, n),
                from_raw_parts(b.cast::<T>(), if FIRST { 1 } else { n }),
                from_raw_parts(c.cast::<T>(), if SECOND { 1 } else { n }),
            )
        };
        match (FIRST, SECOND) {
            (false, false) => d.iter_mut().zip(a).zip(b.iter().zip(c)).for_each(|((d, a), (b, c))| *d = if *a != 0 { *b } else { *c }),
            (true, false) => {
                let b = b[0];
                d.iter_mut().zip(a).zip(c).for_each(|((d, a), c)| *d = if *a != 0 { b } else { *c });
            }
            (false, true) => {
                let c = c[0];
                d.iter_mut().zip(a).zip(b).for_each(|((d, a), b)| *d = if *a != 0 { *b } else { c });
            }
            (true, true) => {
                let (b, c) = (b[0], c[0]);
                d.iter_mut().zip(a).for_each(|(d, a)| *d = if *a != 0 { b } else { c });
            }
        }
    }
}

/// Every lane is `a[0]`.
struct Splat<T>(PhantomData<T>);

impl<T: Copy> LaneKernel for Splat<T> {
    #[inline(always)]
    unsafe fn run<const FMA: bool>(d: *mut u8, a: *const u8, _: *const u8, _: *const u8, n: usize) {
        // SAFETY: `n` lanes and one value.
        let (d, a) = unsafe { (from_raw_parts_mut(d.cast::<T>(), n), a.cast::<T>().read()) };
        d.fill(a);
    }
}

macro_rules! binary_ops {
    ($($name:ident[$bound:ident] = |$a:ident, $b:ident| $r:ty: $e:expr;)*) => {
        $(
            pub(super) struct $name<T>(PhantomData<T>);
            impl<T: $bound> Binary for $name<T> {
                type A = T;
                type R = $r;
                #[inline(always)]
                fn f<const FMA: bool>($a: T, $b: T) -> $r {
                    $e
                }
            }
        )*
    };
}

/// A number of a compute type.
pub(super) trait Number: Copy + PartialOrd + PartialEq {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    fn is_zero(self) -> bool;
}

/// An integer of a compute type.
pub(super) trait Int: Number {
    const BITS: u32;
    const SIGNED: bool;
    fn bits(self) -> i64;
    fn wrap(bits: i64) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t { self + other }
            #[inline(always)]
            fn sub(self, other: $t) -> $t { self - other }
            #[inline(always)]
            fn mul(self, other: $t) -> $t { self * other }
            // NaN if either is: a NaN on the left is chosen, one on the right wins every failed comparison.
            #[inline(always)]
            fn max(self, other: $t) -> $t { if (self > other) | <$t>::is_nan(self) { self } else { other } }
            #[inline(always)]
            fn min(self, other: $t) -> $t { if (self < other) | <$t>::is_nan(self) { self } else { other } }
            #[inline(always)]
            fn is_nan(self) -> bool { <$t>::is_nan(self) }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0.0 }
        }
    )*};
}
floats!(f32, f64);

macro_rules! ints {
    ($($t:ty),*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn add(self, other: $t) -> $t { self.wrapping_add(other) }
            #[inline(always)]
            fn sub(self, other: $t) -> $t { self.wrapping_sub(other) }
            #[inline(always)]
            fn mul(self, other: $t) -> $t { self.wrapping_mul(other) }
            #[inline(always)]
            fn max(self, other: $t) -> $t { Ord::max(self, other) }
            #[inline(always)]
            fn min(self, other: $t) -> $t { Ord::min(self, other) }
            #[inline(always)]
            fn is_nan(self) -> bool { false }
            #[inline(always)]
            fn is_zero(self) -> bool { self == 0 }
        }
        impl Int for $t {
            const BITS: u32 = <$t>::BITS;
            #[allow(unused_comparisons)]
            const SIGNED: bool = <$t>::MIN < 0;
            #[inline(always)]
            fn bits(self) -> i64 { self as i64 }
            #[inline(always)]
            fn wrap(bits: i64) -> $t { bits as $t }
            #[inline(always)]
            fn and(self, other: $t) -> $t { self & other }
            #[inline(always)]
            fn or(self, other: $t) -> $t { self | other }
            #[inline(always)]
            fn xor(self, other: $t) -> $t { self ^ other }
            #[inline(always)]
            fn shl(self, count: u32) -> $t { self << (count & (<$t>::BITS - 1)) }
            #[inline(always)]
            fn shr(self, count: u32) -> $t { self >> (count & (<$t>::BITS - 1)) }
        }
    )*};
}
// `u8` holds booleans.
ints!(i32, u32, i64, u64, u8);

#[inline(always)]
fn int_op<T: Int>(op: BinaryOp, a: T, b: T) -> T {
    T::wrap(op.eval_int(a.bits(), b.bits(), T::BITS, T::SIGNED))
}

binary_ops! {
    Add[Number] = |a, b| T: a.add(b);
    Sub[Number] = |a, b| T: a.sub(b);
    Mul[Number] = |a, b| T: a.mul(b);
    Eq[Number] = |a, b| u8: u8::from(a == b);
    Ne[Number] = |a, b| u8: u8::from(a != b);
    Lt[Number] = |a, b| u8: u8::from(a < b);
    Le[Number] = |a, b| u8: u8::from(a <= b);
    Gt[Number] = |a, b| u8: u8::from(a > b);
    Ge[Number] = |a, b| u8: u8::from(a >= b);
    And[Int] = |a, b| T: a.and(b);
    Or[Int] = |a, b| T: a.or(b);
    Xor[Int] = |a, b| T: a.xor(b);
    // The count is unsigned here: a negative one is a large one.
    Shl[Int] = |a, b| T: if (b.bits() as u64) < u64::from(T::BITS) { a.shl(b.bits() as u32) } else { T::wrap(0) };
    Shr[Int] = |a, b| T: {
        let past = (b.bits() as u64) >= u64::from(T::BITS);
        let full = a.shr(T::BITS - 1);
        if past { if T::SIGNED { full } else { T::wrap(0) } } else { a.shr(b.bits() as u32) }
    };
    IDivInt[Int] = |a, b| T: int_op(BinaryOp::IDiv, a, b);
    RemInt[Int] = |a, b| T: int_op(BinaryOp::Rem, a, b);
    PowInt[Int] = |a, b| T: int_op(BinaryOp::Pow, a, b);
    Atan2Int[Int] = |a, b| T: int_op(BinaryOp::Atan2, a, b);
    Div[Float] = |a, b| T: a.div(b);
    IDiv[Float] = |a, b| T: a.floor_div(b);
    Rem[Float] = |a, b| T: a.floor_rem(b);
    Atan2[Float] = |a, b| T: a.atan2(b);
    AndFloat[Number] = |a, b| u8: u8::from(!a.is_zero() & !b.is_zero());
    OrFloat[Number] = |a, b| u8: u8::from(!a.is_zero() | !b.is_zero());
    XorFloat[Number] = |a, b| u8: u8::from(!a.is_zero() ^ !b.is_zero());
}

/// Extremes, whose folds look for NaN apart from the comparison: that is one instruction for both.
macro_rules! extremes {
    ($($name:ident $method:ident $than:tt;)*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: Number> Binary for $name<T> {
            type A = T;
            type R = T;
            #[inline(always)]
            fn f<const FMA: bool>(a: T, b: T) -> T {
                a.$method(b)
            }
            #[inline(always)]
            fn fold_extreme(a: &[T]) -> Option<T> {
                let (head, rest) = a.split_at_checked(EXTREMES)?;
                if a.iter().fold(false, |any, a| any | a.is_nan()) {
                    return a.iter().copied().find(|a| a.is_nan());
                }
                let mut lanes = [head[0]; EXTREMES];
                lanes.copy_from_slice(head);
                let mut chunks = rest.chunks_exact(EXTREMES);
                for chunk in &mut chunks {
                    for (lane, a) in lanes.iter_mut().zip(chunk) {
                        *lane = if *a $than *lane { *a } else { *lane };
                    }
                }
                for (lane, a) in lanes.iter_mut().zip(chunks.remainder()) {
                    *lane = if *a $than *lane { *a } else { *lane };
                }
                let mut width = EXTREMES / 2;
                while width > 0 {
                    let (low, high) = lanes.split_at_mut(width);
                    for (low, high) in low.iter_mut().zip(high) {
                        *low = if *high $than *low { *high } else { *low };
                    }
                    width /= 2;
                }
                Some(lanes[0])
            }
        }
    )*};
}
extremes! {
    Max max >;
    Min min <;
}

/// Lanes that the fold of an extreme keeps apart.
pub(super) const EXTREMES: usize = 128;

macro_rules! unary_ops {
    ($($name:ident[$bound:ident] = |$a:ident| $r:ty: $e:expr;)*) => {
        $(
            pub(super) struct $name<T>(PhantomData<T>);
            impl<T: $bound> Unary for $name<T> {
                type A = T;
                type R = $r;
                #[inline(always)]
                fn f<const FMA: bool>($a: T) -> $r {
                    $e
                }
            }
        )*
    };
}

unary_ops! {
    NegInt[Int] = |a| T: T::wrap(0).sub(a);
    AbsInt[Int] = |a| T: if T::SIGNED && a < T::wrap(0) { T::wrap(0).sub(a) } else { a };
    SignInt[Int] = |a| T: if a > T::wrap(0) { T::wrap(1) } else if a < T::wrap(0) { T::wrap(-1) } else { a };
    ReluInt[Int] = |a| T: a.max(T::wrap(0));
    BitNot[Int] = |a| T: a.xor(T::wrap(-1));
    Not[Number] = |a| u8: u8::from(a.is_zero());
    IsNan[Number] = |a| u8: u8::from(a.is_nan());
    True[Number] = |_a| u8: 1;
    IsFinite[Float] = |a| u8: u8::from(a.abs() < T::INFINITY);
    Neg[Float] = |a| T: a.neg();
    Abs[Float] = |a| T: a.abs();
    Sign[Float] = |a| T: if a > T::ZERO { T::ONE } else if a < T::ZERO { T::ONE.neg() } else { T::ZERO };
    Relu[Float] = |a| T: if (a > T::ZERO) | a.is_nan() { a } else { T::ZERO };
    Exp[Float] = |a| T: a.exp::<FMA>();
    Exp2[Float] = |a| T: a.exp2::<FMA>();
    Expm1[Float] = |a| T: a.expm1::<FMA>();
    Log[Float] = |a| T: a.log::<FMA>();
    Log2[Float] = |a| T: a.log2::<FMA>();
    Log1p[Float] = |a| T: a.log1p::<FMA>();
    Asin[Float] = |a| T: a.asin();
    Acos[Float] = |a| T: a.acos();
    Atan[Float] = |a| T: a.atan();
    Sinh[Float] = |a| T: a.sinh::<FMA>();
    Cosh[Float] = |a| T: a.cosh::<FMA>();
    Tanh[Float] = |a| T: a.tanh::<FMA>();
    Sqrt[Float] = |a| T: a.sqrt();
    Rsqrt[Float] = |a| T: T::ONE.div(a.sqrt());
    Recip[Float] = |a| T: T::ONE.div(a);
    Erf[Float] = |a| T: a.erf::<FMA>();
    Erfc[Float] = |a| T: a.erfc::<FMA>();
    Floor[Float] = |a| T: a.floor();
    Ceil[Float] = |a| T: a.ceil();
    Round[Float] = |a| T: a.round();
    Trunc[Float] = |a| T: a.trunc();
    Sigmoid[Float] = |a| T: a.sigmoid::<FMA>();
    Silu[Float] = |a| T: a.silu::<FMA>();
    Gelu[Float] = |a| T: a.gelu::<FMA>();
    GeluTanh[Float] = |a| T: a.gelu_tanh::<FMA>();
    Softplus[Float] = |a| T: a.softplus::<FMA>();
}

/// Trigonometric functions, whose large arguments are hard.
macro_rules! trigonometric {
    ($($name:ident = $f:ident),*) => {$(
        pub(super) struct $name<T>(PhantomData<T>);
        impl<T: Float> Unary for $name<T> {
            type A = T;
            type R = T;
            const HAS_HARD: bool = true;
            #[inline(always)]
            fn f<const FMA: bool>(a: T) -> T {
                a.$f::<FMA>()
            }
            #[inline(always)]
            fn is_hard(a: T) -> bool {
                a.trigonometry_is_hard()
            }
            fn slow(a: T) -> T {
                T::by_definition(UnaryOp::$name, a)
            }
        }
    )*};
}
trigonometric!(Sin = sin, Cos = cos, Tan = tan);

struct Pow<T>(PhantomData<T>);

impl<T: Float> Binary for Pow<T> {
    type A = T;
    type R = T;
    const HAS_HARD: bool = true;
    #[inline(always)]
    fn f<const FMA: bool>(a: T, b: T) -> T {
        a.pow::<FMA>(b)
    }
    #[inline(always)]
    fn is_hard(a: T, b: T) -> bool {
        a.pow_is_hard(b)
    }
    fn slow(a: T, b: T) -> T {
        a.pow_by_definition(b)
    }
}

pub(super) fn un<O: Unary>(tier: Tier) -> Option<OpFn> {
    Some(un_of::<O>(tier))
}

/// The kernel of one operation.
pub(super) fn un_of<O: Unary>(tier: Tier) -> OpFn {
    pick::<MapUnary<O>>(tier)
}

/// Nothing where the instruction is the identity on integers.
#[expect(clippy::wildcard_enum_match_arm, reason = "what rounds, or what only floats have, is the integer itself")]
fn unary_int<T: Int>(op: UnaryOp, tier: Tier) -> Option<OpFn> {
    match op {
        UnaryOp::Neg => un::<NegInt<T>>(tier),
        UnaryOp::Abs => un::<AbsInt<T>>(tier),
        UnaryOp::Sign => un::<SignInt<T>>(tier),
        UnaryOp::Relu => un::<ReluInt<T>>(tier),
        UnaryOp::BitNot => un::<BitNot<T>>(tier),
        UnaryOp::Not => un::<Not<T>>(tier),
        UnaryOp::IsNan => un::<IsNan<T>>(tier),
        UnaryOp::IsFinite => un::<True<T>>(tier),
        _ => None,
    }
}

fn unary_float<T: Float>(op: UnaryOp, tier: Tier) -> Option<OpFn> {
    macro_rules! table {
        ($($op:ident),*) => { match op { $(UnaryOp::$op => un::<$op<T>>(tier),)* UnaryOp::BitNot => None, op => definition::kernel::<T>(op, tier) } };
    }
    table!(
        Neg, Abs, Sign, Exp, Exp2, Expm1, Log, Log2, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Sqrt, Rsqrt, Recip, Erf,
        Erfc, Floor, Ceil, Round, Trunc, Relu, Sigmoid, Silu, Gelu, GeluTanh, Softplus, IsNan, IsFinite, Not
    )
}

/// The kernel of a unary operation on values of `ty`; `None` if the value stays as it is.
#[expect(clippy::wildcard_enum_match_arm, reason = "of a bool, what is no test is the bool itself")]
pub(super) fn unary(op: UnaryOp, ty: Ty, tier: Tier) -> Option<OpFn> {
    match ty {
        Ty::F32 => unary_float::<f32>(op, tier),
        Ty::F64 => unary_float::<f64>(op, tier),
        Ty::I32 => unary_int::<i32>(op, tier),
        Ty::U32 => unary_int::<u32>(op, tier),
        Ty::I64 => unary_int::<i64>(op, tier),
        Ty::U64 => unary_int::<u64>(op, tier),
        Ty::Bool => match op {
            UnaryOp::Not | UnaryOp::BitNot => un::<Not<u8>>(tier),
            UnaryOp::IsNan | UnaryOp::IsFinite => unary_int::<u8>(op, tier),
            _ => None,
        },
    }
}

/// With `ALL`, in every shape; otherwise only lanes with lanes.
fn bin<O: Binary, const ALL: bool>(tier: Tier, shape: Shape) -> OpFn {
    match shape {
        Shape::First if ALL => pick::<MapBinary<O, true, false>>(tier),
        Shape::Second if ALL => pick::<MapBinary<O, false, true>>(tier),
        Shape::Lanes | Shape::First | Shape::Second | Shape::Both => pick::<MapBinary<O, false, false>>(tier),
    }
}

fn binary_int<T: Int>(op: BinaryOp, tier: Tier) -> OpFn {
    macro_rules! table {
        ($($op:ident => $kernel:ident),*) => { match op { $(BinaryOp::$op => bin::<$kernel<T>, false>(tier, Shape::Lanes),)* } };
    }
    table!(Add => Add, Sub => Sub, Mul => Mul, Div => IDivInt, IDiv => IDivInt, Rem => RemInt, Pow => PowInt, Atan2 => Atan2Int,
        Max => Max, Min => Min, Eq => Eq, Ne => Ne, Lt => Lt, Le => Le, Gt => Gt, Ge => Ge, And => And, Or => Or, Xor => Xor,
        Shl => Shl, Shr => Shr)
}

fn binary_float<T: Float, const ALL: bool>(op: BinaryOp, tier: Tier, shape: Shape) -> OpFn {
    macro_rules! table {
        ($($op:ident => $kernel:ident),*) => { match op {
            $(BinaryOp::$op => bin::<$kernel<T>, ALL>(tier, shape),)*
            // Floats have no bits to shift.
            BinaryOp::Shl | BinaryOp::Shr => bin::<Mul<T>, ALL>(tier, shape),
        } };
    }
    table!(Add => Add, Sub => Sub, Mul => Mul, Div => Div, IDiv => IDiv, Rem => Rem, Pow => Pow, Atan2 => Atan2,
        Max => Max, Min => Min, Eq => Eq, Ne => Ne, Lt => Lt, Le => Le, Gt => Gt, Ge => Ge,
        And => AndFloat, Or => OrFloat, Xor => XorFloat)
}

/// Whether [`binary`] and [`select`] know shapes with single values for this type.
pub(super) fn has_shapes(ty: Ty) -> bool {
    ty == Ty::F32
}

/// The kernel of a binary operation on values of `ty`.
pub(super) fn binary(op: BinaryOp, ty: Ty, tier: Tier, shape: Shape) -> OpFn {
    match ty {
        Ty::F32 => binary_float::<f32, true>(op, tier, shape),
        Ty::F64 => binary_float::<f64, false>(op, tier, Shape::Lanes),
        Ty::I32 => binary_int::<i32>(op, tier),
        Ty::U32 => binary_int::<u32>(op, tier),
        Ty::I64 => binary_int::<i64>(op, tier),
        Ty::U64 => binary_int::<u64>(op, tier),
        Ty::Bool => binary_int::<u8>(bool_op(op), tier),
    }
}

/// Arithmetic on truth values, as `!= 0` of the integer result.
fn bool_op(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Add | BinaryOp::Max => BinaryOp::Or,
        BinaryOp::Sub => BinaryOp::Xor,
        BinaryOp::Mul | BinaryOp::Min | BinaryOp::Div | BinaryOp::IDiv => BinaryOp::And,
        BinaryOp::Pow => BinaryOp::Ge,
        BinaryOp::Shl | BinaryOp::Shr => BinaryOp::Gt,
        // Of 0 and 1 it is 0 anyway, by zero as well.
        BinaryOp::Rem
        | BinaryOp::Atan2
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor => op,
    }
}

/// The kernel of `Where` on choices of `ty`.
pub(super) fn select(ty: Ty, tier: Tier, shape: Shape) -> OpFn {
    match (ty.size(), shape) {
        (1, _) => pick::<Select<u8, false, false>>(tier),
        (8, _) => pick::<Select<u64, false, false>>(tier),
        (_, Shape::First) => pick::<Select<u32, true, false>>(tier),
        (_, Shape::Second) => pick::<Select<u32, false, true>>(tier),
        (_, Shape::Both) => pick::<Select<u32, true, true>>(tier),
        (_, Shape::Lanes) => pick::<Select<u32, false, false>>(tier),
    }
}

/// The kernel that copies one value to all lanes.
pub(super) fn splat(ty: Ty, tier: Tier) -> OpFn {
    match ty.size() {
        1 => pick::<Splat<u8>>(tier),
        8 => pick::<Splat<u64>>(tier),
        _ => pick::<Splat<u32>>(tier),
    }
}
