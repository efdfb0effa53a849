//! The types of elements: their names, sizes and classes, and how two of them promote.

use half::{bf16, f16};
use std::fmt;

/// The type of a tensor's elements.
///
/// `Bool` is one byte, 0 or 1. The half types compute in `f32` and round when stored.
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
}

impl DType {
    /// Every dtype, in promotion order.
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

    /// Bytes of one element.
    #[inline]
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::U8 | DType::I8 => 1,
            DType::U16 | DType::I16 | DType::F16 | DType::BF16 => 2,
            DType::U32 | DType::I32 | DType::F32 => 4,
            DType::U64 | DType::I64 | DType::F64 => 8,
        }
    }

    /// Floating point, of any width.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64)
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

    /// The type arithmetic happens in: `F32` for the half types, otherwise the type itself.
    #[inline]
    pub const fn compute(self) -> DType {
        match self {
            DType::F16 | DType::BF16 => DType::F32,
            other => other,
        }
    }

    /// The type that a binary operation on `self` and `other` has (PyTorch's lattice for tensors of rank > 0).
    ///
    /// bool < integers < floats; mixed signs go to the next wider signed type (`U64` with a signed type: `F32`);
    /// `F16` with `BF16` gives `F32`; an integer with a float gives the float.
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
        match unsigned {
            DType::U8 => DType::I16,
            DType::U16 => DType::I32,
            DType::U32 => DType::I64,
            _ => DType::F32,
        }
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
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);
