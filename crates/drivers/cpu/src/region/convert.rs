//! Conversions: between compute types, and between stored elements and lanes.
//!
//! Always: float to half rounds to nearest, ties to even; float to integer truncates, saturates at the integer's range and
//! gives 0 for NaN; anything to `Bool` is `!= 0`.

use super::kernels::{OpFn, Ty, Unary, un};
use crate::simd::Tier;

use std::marker::PhantomData;
use std::slice::{from_raw_parts, from_raw_parts_mut};
use unigrad_scalar::DType;

/// `f(dst, src, stride, n)`: reads `n` stored elements, `stride` elements apart, into lanes.
pub(super) type LoadFn = unsafe fn(*mut u8, *const u8, isize, usize);

/// `f(dst, src, stride, n)`: writes `n` lanes to stored elements, `stride` elements apart.
pub(super) type StoreFn = unsafe fn(*mut u8, *const u8, isize, usize);

/// `f(dst, base, offsets, mask, n)`: lane `i` is element `offsets[i]` where `mask[i]`, otherwise 0. A null mask is true everywhere.
pub(super) type GatherFn = unsafe fn(*mut u8, *const u8, *const i64, *const u8, usize);

/// `f(base, src, offsets, n)`: writes lane `i` to element `offsets[i]`.
pub(super) type ScatterFn = unsafe fn(*mut u8, *const u8, *const i64, usize);

/// A stored element and the lane it is computed in.
trait Stored: Copy {
    type Lane: Copy;
    const ZERO: Self::Lane;
    fn lane(self) -> Self::Lane;
    fn stored(lane: Self::Lane) -> Self;
}

macro_rules! stored {
    ($($t:ty as $lane:ty),*) => {$(
        impl Stored for $t {
            type Lane = $lane;
            const ZERO: $lane = 0 as $lane;
            #[inline(always)]
            fn lane(self) -> $lane { self as $lane }
            #[inline(always)]
            fn stored(lane: $lane) -> $t { lane as $t }
        }
    )*};
}
stored!(i8 as i32, i16 as i32, i32 as i32, i64 as i64, u16 as u32, u32 as u32, u64 as u64, f32 as f32, f64 as f64);

#[derive(Clone, Copy)]
struct Byte(u8);

impl Stored for Byte {
    type Lane = u32;
    const ZERO: u32 = 0;
    #[inline(always)]
    fn lane(self) -> u32 {
        self.0.into()
    }
    #[inline(always)]
    fn stored(lane: u32) -> Byte {
        Byte(lane as u8)
    }
}

#[derive(Clone, Copy)]
struct Truth(u8);

impl Stored for Truth {
    type Lane = u8;
    const ZERO: u8 = 0;
    #[inline(always)]
    fn lane(self) -> u8 {
        self.0
    }
    #[inline(always)]
    fn stored(lane: u8) -> Truth {
        Truth(lane)
    }
}

#[derive(Clone, Copy)]
struct Brain(u16);

impl Stored for Brain {
    type Lane = f32;
    const ZERO: f32 = 0.0;
    #[inline(always)]
    fn lane(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
    #[inline(always)]
    fn stored(lane: f32) -> Brain {
        Brain((round_brain(lane) >> 16) as u16)
    }
}

/// The bits of `x` rounded to `bf16`, the low half zero.
#[inline(always)]
fn round_brain(x: f32) -> u32 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1));
    // A NaN stays one: the carry must not make it infinite.
    (if x.is_nan() { bits | 0x0040_0000 } else { rounded }) & 0xffff_0000
}

#[derive(Clone, Copy)]
struct Half(u16);

impl Stored for Half {
    type Lane = f32;
    const ZERO: f32 = 0.0;
    // In integer and `f32` arithmetic that every tier vectorises, exact for all 65536 patterns.
    #[inline(always)]
    fn lane(self) -> f32 {
        let bits = u32::from(self.0);
        let (sign, magnitude) = ((bits & 0x8000) << 16, (bits & 0x7fff) << 13);
        // Rescaling the exponent by a multiplication also normalises denormals.
        let normal = f32::from_bits(magnitude) * f32::from_bits((254 - 15) << 23);
        let special = f32::from_bits(magnitude | 0x7f80_0000);
        let value = if magnitude >= 0x7c00 << 13 { special } else { normal };
        f32::from_bits(value.to_bits() | sign)
    }
    #[inline(always)]
    fn stored(lane: f32) -> Half {
        let bits = lane.to_bits();
        let sign = (bits >> 16) & 0x8000;
        let magnitude = bits & 0x7fff_ffff;
        // Normal results: round the mantissa in place, then rebias the exponent.
        let normal = (magnitude.wrapping_add(0xfff + ((magnitude >> 13) & 1)).wrapping_sub(112 << 23)) >> 13;
        // Denormal results: adding 0.5 lets the adder round at 2^-24.
        let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = if magnitude < 113 << 23 { denormal } else { normal };
        // 65520 and above round to infinity.
        let large = if magnitude > 0x7f80_0000 { 0x7e00 | ((magnitude >> 13) & 0x3ff) } else { 0x7c00 };
        let value = if magnitude >= 0x477f_f000 { large } else { finite };
        Half((sign | value) as u16)
    }
}

macro_rules! with_stored {
    ($dtype:expr, $t:ident => $e:expr) => {
        match $dtype {
            DType::Bool => {
                type $t = Truth;
                $e
            }
            // 8-bit floats are codes; the driver takes no kernel that has them by name.
            DType::U8 | DType::F8E4M3 | DType::F8E5M2 => {
                type $t = Byte;
                $e
            }
            DType::I8 => {
                type $t = i8;
                $e
            }
            DType::U16 => {
                type $t = u16;
                $e
            }
            DType::I16 => {
                type $t = i16;
                $e
            }
            DType::U32 => {
                type $t = u32;
                $e
            }
            DType::I32 => {
                type $t = i32;
                $e
            }
            DType::U64 => {
                type $t = u64;
                $e
            }
            DType::I64 => {
                type $t = i64;
                $e
            }
            DType::F16 => {
                type $t = Half;
                $e
            }
            DType::BF16 => {
                type $t = Brain;
                $e
            }
            DType::F32 => {
                type $t = f32;
                $e
            }
            DType::F64 => {
                type $t = f64;
                $e
            }
        }
    };
}

/// # Safety
/// As for [`LoadFn`].
#[inline(always)]
unsafe fn load_lanes<T: Stored>(d: *mut u8, s: *const u8, stride: isize, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let d = from_raw_parts_mut(d.cast::<T::Lane>(), n);
        let s = s.cast::<T>();
        match stride {
            1 => d.iter_mut().zip(from_raw_parts(s, n)).for_each(|(d, s)| *d = s.lane()),
            0 => d.fill(s.read().lane()),
            _ => d.iter_mut().enumerate().for_each(|(i, d)| *d = s.offset(i as isize * stride).read().lane()),
        }
    }
}

/// # Safety
/// As for [`StoreFn`].
#[inline(always)]
unsafe fn store_lanes<T: Stored>(d: *mut u8, s: *const u8, stride: isize, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let s = from_raw_parts(s.cast::<T::Lane>(), n);
        let d = d.cast::<T>();
        match stride {
            1 => from_raw_parts_mut(d, n).iter_mut().zip(s).for_each(|(d, s)| *d = T::stored(*s)),
            _ => s.iter().enumerate().for_each(|(i, s)| d.offset(i as isize * stride).write(T::stored(*s))),
        }
    }
}

macro_rules! tiered {
    ($body:ident, $base:ident, $avx2:ident, $avx512:ident, $pick:ident, $f:ty) => {
        /// # Safety
        /// As for the function type.
        unsafe fn $base<T: Stored>(d: *mut u8, s: *const u8, stride: isize, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { $body::<T>(d, s, stride, n) }
        }
        /// # Safety
        /// As for the function type, on a machine with these features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2")]
        unsafe fn $avx2<T: Stored>(d: *mut u8, s: *const u8, stride: isize, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { $body::<T>(d, s, stride, n) }
        }
        /// # Safety
        /// As for the function type, on a machine with these features.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi1,bmi2")]
        unsafe fn $avx512<T: Stored>(d: *mut u8, s: *const u8, stride: isize, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { $body::<T>(d, s, stride, n) }
        }
        fn $pick<T: Stored>(tier: Tier) -> $f {
            match tier {
                #[cfg(target_arch = "x86_64")]
                Tier::Avx512 => $avx512::<T>,
                #[cfg(target_arch = "x86_64")]
                Tier::Avx2 => $avx2::<T>,
                _ => $base::<T>,
            }
        }
    };
}
tiered!(load_lanes, load_base, load_avx2, load_avx512, pick_load, LoadFn);
tiered!(store_lanes, store_base, store_avx2, store_avx512, pick_store, StoreFn);

/// # Safety
/// As for [`GatherFn`].
unsafe fn gather_lanes<T: Stored>(d: *mut u8, base: *const u8, offsets: *const i64, mask: *const u8, n: usize) {
    // SAFETY: the caller's promise; a masked-off offset is never followed.
    unsafe {
        let (d, offsets) = (from_raw_parts_mut(d.cast::<T::Lane>(), n), from_raw_parts(offsets, n));
        let s = base.cast::<T>();
        if mask.is_null() {
            d.iter_mut().zip(offsets).for_each(|(d, at)| *d = s.offset(*at as isize).read().lane());
        } else {
            let mask = from_raw_parts(mask, n);
            for ((d, at), mask) in d.iter_mut().zip(offsets).zip(mask) {
                *d = if *mask != 0 { s.offset(*at as isize).read().lane() } else { T::ZERO };
            }
        }
    }
}

/// # Safety
/// As for [`ScatterFn`].
unsafe fn scatter_lanes<T: Stored>(base: *mut u8, s: *const u8, offsets: *const i64, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let (s, offsets) = (from_raw_parts(s.cast::<T::Lane>(), n), from_raw_parts(offsets, n));
        let d = base.cast::<T>();
        s.iter().zip(offsets).for_each(|(s, at)| d.offset(*at as isize).write(T::stored(*s)));
    }
}

pub(super) fn load(dtype: DType, tier: Tier) -> LoadFn {
    with_stored!(dtype, T => pick_load::<T>(tier))
}

pub(super) fn store(dtype: DType, tier: Tier) -> StoreFn {
    with_stored!(dtype, T => pick_store::<T>(tier))
}

pub(super) fn gather(dtype: DType) -> GatherFn {
    with_stored!(dtype, T => gather_lanes::<T>)
}

pub(super) fn scatter(dtype: DType) -> ScatterFn {
    with_stored!(dtype, T => scatter_lanes::<T>)
}

/// Whether a stored element and its lane are the same bytes.
pub(super) fn same_bytes(dtype: DType) -> bool {
    Ty::of(dtype).size() == dtype.size()
}

/// What lanes convert to.
trait Target<A>: Copy {
    fn of(value: A) -> Self;
}

macro_rules! targets {
    ($($a:ty => $($r:ty),*;)*) => {$($(
        impl Target<$a> for $r {
            #[inline(always)]
            fn of(value: $a) -> $r { value as $r }
        }
    )*)*};
}
targets! {
    f32 => f64, i32, u32, i64, u64;
    f64 => f32, i32, u32, i64, u64;
    i32 => f32, f64, u32, i64, u64;
    u32 => f32, f64, i32, i64, u64;
    i64 => f32, f64, i32, u32, u64;
    u64 => f32, f64, i32, u32, i64;
    u8 => f32, f64, i32, u32, i64, u64;
}

macro_rules! truth_targets {
    ($($a:ty),*) => {$(
        impl Target<$a> for u8 {
            #[inline(always)]
            fn of(value: $a) -> u8 { u8::from(value != (0 as $a)) }
        }
    )*};
}
truth_targets!(f32, f64, i32, u32, i64, u64);

struct Cast<A, R>(PhantomData<(A, R)>);

impl<A: Copy, R: Target<A>> Unary for Cast<A, R> {
    type A = A;
    type R = R;
    #[inline(always)]
    fn f<const FMA: bool>(a: A) -> R {
        R::of(a)
    }
}

macro_rules! map {
    ($($name:ident = |$a:ident: $ta:ty| $r:ty: $e:expr;)*) => {$(
        struct $name;
        impl Unary for $name {
            type A = $ta;
            type R = $r;
            #[inline(always)]
            fn f<const FMA: bool>($a: $ta) -> $r { $e }
        }
    )*};
}
map! {
    WrapI8 = |a: i32| i32: a as i8 as i32;
    WrapI16 = |a: i32| i32: a as i16 as i32;
    WrapU8 = |a: u32| u32: a & 0xff;
    WrapU16 = |a: u32| u32: a & 0xffff;
    SaturateI8 = |a: i32| i32: a.clamp(i8::MIN.into(), i8::MAX.into());
    SaturateI16 = |a: i32| i32: a.clamp(i16::MIN.into(), i16::MAX.into());
    SaturateU8 = |a: u32| u32: a.min(u8::MAX.into());
    SaturateU16 = |a: u32| u32: a.min(u16::MAX.into());
    RoundHalf = |a: f32| f32: Half::stored(a).lane();
    RoundBrain = |a: f32| f32: f32::from_bits(round_brain(a));
    HalfBits = |a: f32| u32: Half::stored(a).0.into();
    BrainBits = |a: f32| u32: round_brain(a) >> 16;
    BitsHalf = |a: u32| f32: Half(a as u16).lane();
    BitsBrain = |a: u32| f32: Brain(a as u16).lane();
    ByteTruth = |a: u32| u8: u8::from(a & 0xff != 0);
}

/// One step of a conversion: the kernel and the type its result has. A plain cast between compute types; `None` if it is none.
pub(super) fn cast(from: Ty, to: Ty, tier: Tier) -> Option<OpFn> {
    macro_rules! to {
        ($a:ty: $($ty:ident => $r:ty),*) => {
            match to { $(Ty::$ty => un::<Cast<$a, $r>>(tier),)* _ => None }
        };
    }
    match from {
        Ty::F32 => to!(f32: F64 => f64, I32 => i32, U32 => u32, I64 => i64, U64 => u64, Bool => u8),
        Ty::F64 => to!(f64: F32 => f32, I32 => i32, U32 => u32, I64 => i64, U64 => u64, Bool => u8),
        Ty::I32 => to!(i32: F32 => f32, F64 => f64, U32 => u32, I64 => i64, U64 => u64, Bool => u8),
        Ty::U32 => to!(u32: F32 => f32, F64 => f64, I32 => i32, I64 => i64, U64 => u64, Bool => u8),
        Ty::I64 => to!(i64: F32 => f32, F64 => f64, I32 => i32, U32 => u32, U64 => u64, Bool => u8),
        Ty::U64 => to!(u64: F32 => f32, F64 => f64, I32 => i32, U32 => u32, I64 => i64, Bool => u8),
        Ty::Bool => to!(u8: F32 => f32, F64 => f64, I32 => i32, U32 => u32, I64 => i64, U64 => u64),
    }
}

/// The kernel that brings lanes of the compute type back into the range of `dtype`; `None` if they always are.
#[expect(clippy::wildcard_enum_match_arm, reason = "what fills its lane needs no rounding")]
pub(super) fn narrow(dtype: DType, tier: Tier) -> Option<OpFn> {
    match dtype {
        DType::I8 => un::<WrapI8>(tier),
        DType::I16 => un::<WrapI16>(tier),
        DType::U8 => un::<WrapU8>(tier),
        DType::U16 => un::<WrapU16>(tier),
        DType::F16 => un::<RoundHalf>(tier),
        DType::BF16 => un::<RoundBrain>(tier),
        _ => None,
    }
}

/// As [`narrow`] after a conversion of floats to lanes of the compute type: integers saturate.
#[expect(clippy::wildcard_enum_match_arm, reason = "only narrow integers saturate")]
pub(super) fn saturate(dtype: DType, tier: Tier) -> Option<OpFn> {
    match dtype {
        DType::I8 => un::<SaturateI8>(tier),
        DType::I16 => un::<SaturateI16>(tier),
        DType::U8 => un::<SaturateU8>(tier),
        DType::U16 => un::<SaturateU16>(tier),
        _ => narrow(dtype, tier),
    }
}

/// The kernels that read the bits of `from` as `to`, of the same size, in order; none if the lanes have the same bytes.
#[expect(clippy::wildcard_enum_match_arm, reason = "the others have their bits in their lanes")]
pub(super) fn bitcast(from: DType, to: DType, tier: Tier) -> [Option<OpFn>; 2] {
    use DType::*;
    let bits = match from {
        F16 => un::<HalfBits>(tier),
        BF16 => un::<BrainBits>(tier),
        Bool if to != Bool => un::<Cast<u8, u32>>(tier),
        _ => None,
    };
    let value = match to {
        F16 => un::<BitsHalf>(tier),
        BF16 => un::<BitsBrain>(tier),
        Bool if from != Bool => un::<ByteTruth>(tier),
        _ => narrow(to, tier),
    };
    if from == to { [None, None] } else { [bits, value] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};

    #[test]
    fn halves_convert_like_the_reference() {
        for bits in 0..=u16::MAX {
            let (got, want) = (Half(bits).lane(), f16::from_bits(bits).to_f32());
            assert!(got == want && got.is_sign_negative() == want.is_sign_negative() || got.is_nan() && want.is_nan(), "{bits:x}");
        }
        for step in 0..1u32 << 18 {
            let x = f32::from_bits(step << 14 | (step.wrapping_mul(0x9e37) & 0x3fff));
            let near = [x, f32::from_bits(x.to_bits() & !0x1fff), f32::from_bits(x.to_bits() & !0xfff)];
            for x in near {
                let (got, want) = (f16::from_bits(Half::stored(x).0), f16::from_f32(x));
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x} {got} {want}");
                let (got, want) = (bf16::from_bits(Brain::stored(x).0), bf16::from_f32(x));
                assert!(got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(), "{x} {got} {want}");
            }
        }
    }
}
