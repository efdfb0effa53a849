//! The types of elements: their names, sizes and classes, and how two of them promote.

use crate::{F8E4M3, F8E5M2};
use half::{bf16, f16};
use std::fmt;

/// The type of a tensor's elements.
///
/// `Bool` is one byte, 0 or 1. The half types compute in `f32` and round when stored. The 8-bit floats only store: views, copies, gathers and
/// casts take them, arithmetic and promotion do not; kernels know them as codes of `U8`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum DType {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    BF16,
    F32,
    F64,
    /// `float8_e4m3fn`; see [`crate::Float8`].
    F8E4M3,
    /// `float8_e5m2`; see [`crate::Float8`].
    F8E5M2,
}

impl DType {
    /// Every dtype that computes, in promotion order; see [`DType::STORED`] for the others.
    pub const ALL: [DType; 13] = [
        DType::Bool,
        DType::U8,
        DType::I8,
        DType::U16,
        DType::I16,
        DType::U32,
        DType::I32,
        DType::U64,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
    ];

    /// The dtypes that only store, and no kernel knows.
    pub const STORED: [DType; 2] = [DType::F8E4M3, DType::F8E5M2];

    /// Whether it is one of [`DType::STORED`]: a cast comes before arithmetic.
    #[inline]
    pub const fn only_stores(self) -> bool {
        matches!(self, DType::F8E4M3 | DType::F8E5M2)
    }

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 | DType::F8E4M3 | DType::F8E5M2 => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// Floating point, of any width.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64) || self.only_stores()
    }

    /// An integer type; `Bool` is not one.
    #[inline]
    pub const fn is_int(self) -> bool {
        !self.is_float() && !matches!(self, DType::Bool)
    }

    /// An integer type that holds negative numbers.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// An integer type without negative numbers.
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// The type arithmetic happens in: `F32` for the half types (and, after a cast, for 8-bit floats), otherwise the type itself.
    #[inline]
    pub const fn compute(self) -> DType {
        match self {
            DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2 => DType::F32,
            DType::Bool
            | DType::U8
            | DType::I8
            | DType::U16
            | DType::I16
            | DType::U32
            | DType::I32
            | DType::U64
            | DType::I64
            | DType::F32
            | DType::F64 => self,
        }
    }

    /// The type that a binary operation on `self` and `other` has (PyTorch's lattice for tensors of rank > 0).
    ///
    /// bool < integers < floats; mixed signs go to the next wider signed type (`U64` with a signed type: `F32`);
    /// `F16` with `BF16` gives `F32`; an integer with a float gives the float. An 8-bit float promotes with nothing but itself
    /// ([`DType::promotes_with`]); asked nevertheless, the answer is the 8-bit float, in which nothing is computed.
    ///
    /// ```
    /// use unigrad_scalar::DType;
    /// assert_eq!(DType::U8.promote(DType::I8), DType::I16);
    /// assert_eq!(DType::I64.promote(DType::F16), DType::F16);
    /// assert_eq!(DType::F16.promote(DType::BF16), DType::F32);
    /// ```
    pub const fn promote(self, other: DType) -> DType {
        let (a, b) = (self, other);
        if a as u8 == b as u8 {
            return a;
        }
        let (low, high) = if (a as u8) < (b as u8) { (a, b) } else { (b, a) };
        if high.only_stores() {
            return high;
        }
        if matches!(low, DType::Bool) {
            return high;
        }
        if high.is_float() {
            return if matches!((low, high), (DType::F16, DType::BF16)) { DType::F32 } else { high };
        }
        if low.is_signed_int() == high.is_signed_int() {
            return high;
        }
        let (signed, unsigned) = if low.is_signed_int() { (low, high) } else { (high, low) };
        if unsigned.size() < signed.size() {
            return signed;
        }
        match unsigned.size() {
            1 => DType::I16,
            2 => DType::I32,
            4 => DType::I64,
            _ => DType::F32,
        }
    }

    /// Whether the two have a common dtype: an 8-bit float has one with itself alone.
    pub const fn promotes_with(self, other: DType) -> bool {
        self as u8 == other as u8 || !(self.only_stores() || other.only_stores())
    }

    /// The name used in messages and files: `f32`, `i64`, `bool`, …
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::U8 => "u8",
            DType::I8 => "i8",
            DType::U16 => "u16",
            DType::I16 => "i16",
            DType::U32 => "u32",
            DType::I32 => "i32",
            DType::U64 => "u64",
            DType::I64 => "i64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that can be an element of a tensor.
pub trait Element: Copy + Send + Sync + Default + PartialEq + fmt::Debug + 'static {
    /// Its dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),*) => { $(impl Element for $ty { const DTYPE: DType = DType::$dtype; })* };
}
elements!(bool => Bool, u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64, F8E4M3 => F8E4M3, F8E5M2 => F8E5M2);
