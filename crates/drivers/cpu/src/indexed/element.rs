//! What the kernels of this module need to know about an element type.
//!
//! In: elements as stored. Out: their accumulators, their order, and the loops over them for each instruction set.
//! Always: arithmetic is that of `unigrad_scalar`: integers wrap, `Bool` sums are *any* and products *all*, half types accumulate in
//! `f32`, maximum and minimum give NaN if either is NaN.

use super::scan::{Exact, Product, Running, Total, Wide};
use crate::{memory::Buf, threads};
use half::slice::HalfFloatSliceExt;
use std::ops::Range;
use unigrad_scalar::{Literal, bf16, f16};

/// A stored element.
pub(super) trait Element: Copy + Send + Sync + 'static {
    /// What results are kept in before they are stored.
    type Acc: Copy + Send + Sync;
    /// Running sums and products.
    type Sum: Running<Self>;
    type Product: Running<Self>;
    /// Whether `Acc` is wider than the element.
    const WIDENS: bool;
    /// Whether `key` needs more than 32 bits.
    const LONG_KEY: bool;
    fn widen(self) -> Self::Acc;
    fn narrow(acc: Self::Acc) -> Self;
    /// Narrows one by one; both slices have the same length.
    #[inline(always)]
    fn narrow_all(accs: &[Self::Acc], out: &mut [Self]) {
        out.iter_mut().zip(accs).for_each(|(out, acc)| *out = Self::narrow(*acc));
    }
    fn from_literal(literal: Literal) -> Self;
    /// The nearest `f64`, and back.
    fn to_f64(self) -> f64;
    fn of_f64(x: f64) -> Self;
    /// The value of an integer, or an unsigned one's bits, and back, wrapped.
    fn to_i64(self) -> i64 {
        self.to_f64() as i64
    }
    fn of_i64(x: i64) -> Self {
        Self::of_f64(x as f64)
    }
    /// Elements compare as their keys do: NaN equals NaN and is greater than any number, the zeros are equal.
    fn key(self) -> u64;
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn mul(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn greater(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    fn lesser(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// Whether `a` takes the place of `b` as a maximum: greater, or the first NaN.
    fn beats(a: Self, b: Self) -> bool;
}

/// A `Bool` as stored: 0 or 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Truth(u8);

impl Element for Truth {
    type Acc = u8;
    type Sum = Total<Truth>;
    type Product = Product<Truth>;
    const WIDENS: bool = false;
    const LONG_KEY: bool = false;
    #[inline(always)]
    fn widen(self) -> u8 {
        self.0
    }
    #[inline(always)]
    fn narrow(acc: u8) -> Truth {
        Truth(acc)
    }
    fn from_literal(literal: Literal) -> Truth {
        Truth(u8::from(literal.to_raw() != 0))
    }
    fn to_f64(self) -> f64 {
        self.0.into()
    }
    fn of_f64(x: f64) -> Truth {
        Truth(u8::from(x != 0.0))
    }
    #[inline(always)]
    fn key(self) -> u64 {
        u64::from(self.0)
    }
    #[inline(always)]
    fn add(a: u8, b: u8) -> u8 {
        a | b
    }
    #[inline(always)]
    fn mul(a: u8, b: u8) -> u8 {
        a & b
    }
    #[inline(always)]
    fn greater(a: u8, b: u8) -> u8 {
        a | b
    }
    #[inline(always)]
    fn lesser(a: u8, b: u8) -> u8 {
        a & b
    }
    #[inline(always)]
    fn beats(a: Truth, b: Truth) -> bool {
        a.0 > b.0
    }
}

macro_rules! integers {
    ($($ty:ty, $unsigned:ty, $flip:expr;)*) => { $(impl Element for $ty {
        type Acc = $ty;
        type Sum = Total<$ty>;
        type Product = Product<$ty>;
        const WIDENS: bool = false;
        const LONG_KEY: bool = size_of::<$ty>() == 8;
        #[inline(always)]
        fn widen(self) -> $ty { self }
        #[inline(always)]
        fn narrow(acc: $ty) -> $ty { acc }
        fn from_literal(literal: Literal) -> $ty { literal.to_raw() as $ty }
        fn to_f64(self) -> f64 { self as f64 }
        fn of_f64(x: f64) -> $ty { x as $ty }
        fn to_i64(self) -> i64 { self as i64 }
        fn of_i64(x: i64) -> $ty { x as $ty }
        #[inline(always)]
        fn key(self) -> u64 { u64::from((self as $unsigned) ^ $flip) }
        #[inline(always)]
        fn add(a: $ty, b: $ty) -> $ty { a.wrapping_add(b) }
        #[inline(always)]
        fn mul(a: $ty, b: $ty) -> $ty { a.wrapping_mul(b) }
        #[inline(always)]
        fn greater(a: $ty, b: $ty) -> $ty { Ord::max(a, b) }
        #[inline(always)]
        fn lesser(a: $ty, b: $ty) -> $ty { Ord::min(a, b) }
        #[inline(always)]
        fn beats(a: $ty, b: $ty) -> bool { a > b }
    })* };
}
integers!(
    u8, u8, 0; i8, u8, 1 << 7; u16, u16, 0; i16, u16, 1 << 15; u32, u32, 0; i32, u32, 1 << 31; u64, u64, 0; i64, u64, 1 << 63;
);

/// The order-preserving key of a float's bits, given as this type's; `x + 0` has made one zero of two.
macro_rules! float_key {
    ($x:expr, $bits:ty, $signed:ty) => {{
        let x = $x;
        let bits = (x + 0.0).to_bits();
        let flip = ((bits as $signed) >> (<$bits>::BITS - 1)) as $bits | (1 << (<$bits>::BITS - 1));
        u64::from(if x.is_nan() { <$bits>::MAX } else { bits ^ flip })
    }};
}

macro_rules! float_arithmetic {
    ($acc:ty) => {
        #[inline(always)]
        fn add(a: $acc, b: $acc) -> $acc {
            a + b
        }
        #[inline(always)]
        fn mul(a: $acc, b: $acc) -> $acc {
            a * b
        }
        #[inline(always)]
        fn greater(a: $acc, b: $acc) -> $acc {
            if a.is_nan() || a > b { a } else { b }
        }
        #[inline(always)]
        fn lesser(a: $acc, b: $acc) -> $acc {
            if a.is_nan() || a < b { a } else { b }
        }
        #[inline(always)]
        fn beats(a: Self, b: Self) -> bool {
            let (a, b) = (a.widen(), b.widen());
            // Without branches: which element is greater is anyone's guess.
            (a > b) | (a.is_nan() & !b.is_nan())
        }
    };
}

macro_rules! floats {
    ($($ty:ty, $bits:ty, $signed:ty, $sum:ty, $product:ty;)*) => { $(impl Element for $ty {
        type Acc = $ty;
        type Sum = $sum;
        type Product = $product;
        const WIDENS: bool = false;
        const LONG_KEY: bool = size_of::<$ty>() == 8;
        #[inline(always)]
        fn widen(self) -> $ty { self }
        #[inline(always)]
        fn narrow(acc: $ty) -> $ty { acc }
        fn from_literal(literal: Literal) -> $ty { literal.as_f64() as $ty }
        fn to_f64(self) -> f64 { self as f64 }
        fn of_f64(x: f64) -> $ty { x as $ty }
        #[inline(always)]
        fn key(self) -> u64 { float_key!(self, $bits, $signed) }
        float_arithmetic!($ty);
    })* };
}
floats!(f32, u32, i32, Wide<true>, Wide<false>; f64, u64, i64, Exact, Product<f64>;);

impl Element for f16 {
    type Acc = f32;
    type Sum = Wide<true>;
    type Product = Wide<false>;
    const WIDENS: bool = true;
    const LONG_KEY: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        // Without a table or a branch, so that loops vectorise. The product is exact, for subnormals too.
        let bits = u32::from(self.to_bits());
        let magnitude = (bits & 0x7fff) << 13;
        let finite = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
        let value = if magnitude >= 0x7c00 << 13 { magnitude | 0x7f80_0000 } else { finite };
        f32::from_bits(value | (bits & 0x8000) << 16)
    }
    #[inline(always)]
    fn narrow(acc: f32) -> f16 {
        f16::from_f32(acc)
    }
    fn narrow_all(accs: &[f32], out: &mut [f16]) {
        out.convert_from_f32_slice(accs);
    }
    fn from_literal(literal: Literal) -> f16 {
        f16::from_f64(literal.as_f64())
    }
    fn to_f64(self) -> f64 {
        f16::to_f64(self)
    }
    fn of_f64(x: f64) -> f16 {
        // Rounded once, which the conversion from `f64` does not promise.
        Self::from_literal(Literal::float(unigrad_scalar::DType::F16, x))
    }
    #[inline(always)]
    fn key(self) -> u64 {
        float_key!(self.widen(), u32, i32)
    }
    float_arithmetic!(f32);
}

impl Element for bf16 {
    type Acc = f32;
    type Sum = Wide<true>;
    type Product = Wide<false>;
    const WIDENS: bool = true;
    const LONG_KEY: bool = false;
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
    #[inline(always)]
    fn narrow(acc: f32) -> bf16 {
        bf16::from_f32(acc)
    }
    fn from_literal(literal: Literal) -> bf16 {
        bf16::from_f64(literal.as_f64())
    }
    fn to_f64(self) -> f64 {
        bf16::to_f64(self)
    }
    fn of_f64(x: f64) -> bf16 {
        // Rounded once, which the conversion from `f64` does not promise.
        Self::from_literal(Literal::float(unigrad_scalar::DType::BF16, x))
    }
    #[inline(always)]
    fn key(self) -> u64 {
        float_key!(self.widen(), u32, i32)
    }
    float_arithmetic!(f32);
}

/// Evaluates an expression with `$T` standing for the element type of a dtype.
macro_rules! with_element {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            unigrad_scalar::DType::Bool => {
                type $T = crate::indexed::element::Truth;
                $body
            }
            // 8-bit floats are codes; the driver takes no kernel that has them by name.
            unigrad_scalar::DType::U8 | unigrad_scalar::DType::F8E4M3 | unigrad_scalar::DType::F8E5M2 => {
                type $T = u8;
                $body
            }
            unigrad_scalar::DType::I8 => {
                type $T = i8;
                $body
            }
            unigrad_scalar::DType::U16 => {
                type $T = u16;
                $body
            }
            unigrad_scalar::DType::I16 => {
                type $T = i16;
                $body
            }
            unigrad_scalar::DType::U32 => {
                type $T = u32;
                $body
            }
            unigrad_scalar::DType::I32 => {
                type $T = i32;
                $body
            }
            unigrad_scalar::DType::U64 => {
                type $T = u64;
                $body
            }
            unigrad_scalar::DType::I64 => {
                type $T = i64;
                $body
            }
            unigrad_scalar::DType::F16 => {
                type $T = unigrad_scalar::f16;
                $body
            }
            unigrad_scalar::DType::BF16 => {
                type $T = unigrad_scalar::bf16;
                $body
            }
            unigrad_scalar::DType::F32 => {
                type $T = f32;
                $body
            }
            unigrad_scalar::DType::F64 => {
                type $T = f64;
                $body
            }
        }
    };
}
pub(super) use with_element;

/// An argument's elements.
///
/// # Safety
/// `buf` has the dtype of `T`, and nothing writes it while the slice lives.
pub(super) unsafe fn elements<'a, T>(buf: &Buf) -> &'a [T] {
    // SAFETY: the pointer is aligned for the dtype and valid for `len` elements of the dtype's size.
    unsafe { std::slice::from_raw_parts(buf.ptr.cast(), buf.len) }
}

/// How many tasks `work` element operations are worth, at most one per thread.
pub(super) fn tasks(work: usize) -> usize {
    /// What a task should have to do for its start to pay.
    const GRAIN: usize = if cfg!(test) { 8 } else { 1 << 14 };
    threads::threads().min(work / GRAIN).max(1)
}

/// The part of `0..n` that task `t` of `tasks` does.
pub(super) fn part(n: usize, tasks: usize, t: usize) -> Range<usize> {
    let start = |t: usize| n / tasks * t + (n % tasks).min(t);
    start(t)..start(t + 1)
}
