//! Scalars with their type: what a constant in a graph or kernel holds, bit for bit.

use crate::{DType, F8E4M3, F8E5M2};
use half::{bf16, f16};
use std::fmt;

/// One value of a given dtype.
///
/// Two literals are equal when dtype and bits are equal, so NaN equals itself and `0.0` differs from `-0.0`:
/// that is what a cache key needs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Literal {
    dtype: DType,
    /// Floats: the bits of the value as `f64`, already rounded to the dtype. Integers: two's complement, sign-extended.
    bits: u64,
}

/// The `f32` from which every half type is rounded as from the `f64` itself: toward zero, with the last bit set if that lost something
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008). The conversions
/// of crate `half` from `f64` look at the upper half of the number only.
pub fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if value.is_nan() || f64::from(nearest) == value {
        return nearest;
    }
    let bits = nearest.to_bits();
    let toward_zero = if f64::from(nearest).abs() > value.abs() { bits - 1 } else { bits };
    f32::from_bits(toward_zero | 1)
}

impl Literal {
    /// A float `value`, rounded to `dtype`; integers truncate toward zero and saturate, NaN gives 0; `Bool` is `value != 0`.
    pub fn float(dtype: DType, value: f64) -> Literal {
        match dtype {
            DType::F64 => Literal { dtype, bits: value.to_bits() },
            DType::F32 => Literal { dtype, bits: f64::from(value as f32).to_bits() },
            DType::F16 => Literal { dtype, bits: f64::from(f16::from_f32(round_to_odd(value))).to_bits() },
            DType::BF16 => Literal { dtype, bits: f64::from(bf16::from_f32(round_to_odd(value))).to_bits() },
            DType::F8E4M3 => Literal { dtype, bits: f64::from(F8E4M3::from_f32(value as f32)).to_bits() },
            DType::F8E5M2 => Literal { dtype, bits: f64::from(F8E5M2::from_f32(value as f32)).to_bits() },
            DType::Bool => Literal { dtype, bits: u64::from(value != 0.0) },
            DType::U8 => Literal::int(dtype, (value as u8).into()),
            DType::I8 => Literal::int(dtype, (value as i8).into()),
            DType::U16 => Literal::int(dtype, (value as u16).into()),
            DType::I16 => Literal::int(dtype, (value as i16).into()),
            DType::U32 => Literal::int(dtype, (value as u32).into()),
            DType::I32 => Literal::int(dtype, (value as i32).into()),
            DType::U64 => Literal { dtype, bits: value as u64 },
            DType::I64 => Literal { dtype, bits: value as i64 as u64 },
        }
    }

    /// An integer `value`, wrapped to `dtype`; floats round it, `Bool` is `value != 0`.
    pub fn int(dtype: DType, value: i64) -> Literal {
        let bits = match dtype {
            DType::Bool => u64::from(value != 0),
            DType::U8 => u64::from(value as u8),
            DType::I8 => value as i8 as i64 as u64,
            DType::U16 => u64::from(value as u16),
            DType::I16 => value as i16 as i64 as u64,
            DType::U32 => u64::from(value as u32),
            DType::I32 => value as i32 as i64 as u64,
            DType::U64 | DType::I64 => value as u64,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => {
                return Literal::float(dtype, value as f64);
            }
        };
        Literal { dtype, bits }
    }

    /// [`Literal::float`] of a value that the dtype holds, of integers without its fraction; floats round what they do not hold.
    pub fn checked_float(dtype: DType, value: f64) -> Option<Literal> {
        if dtype.is_int() {
            let (least, most) = Literal::bounds(dtype);
            // The cast saturates, far beyond all integers.
            if value.is_nan() || !(least..=most).contains(&(value as i128)) {
                return None;
            }
        }
        Some(Literal::float(dtype, value))
    }

    /// [`Literal::int`] of a value that the dtype holds. As in PyTorch a negative one stands in an unsigned dtype for what it is in two's complement, if
    /// its digits fit.
    pub fn checked_int(dtype: DType, value: i64) -> Option<Literal> {
        if dtype.is_int() {
            let (least, most) = Literal::bounds(dtype);
            let least = if dtype.is_unsigned_int() { -most } else { least };
            if !(least..=most).contains(&i128::from(value)) {
                return None;
            }
        }
        Some(Literal::int(dtype, value))
    }

    /// The least and the greatest value of an integer dtype.
    fn bounds(dtype: DType) -> (i128, i128) {
        let [least, most] = [Literal::min_value(dtype), Literal::max_value(dtype)].map(Literal::as_i64);
        (least.into(), if dtype.is_unsigned_int() { (most as u64).into() } else { most.into() })
    }

    /// Zero, or `false`.
    pub fn zero(dtype: DType) -> Literal {
        Literal::int(dtype, 0)
    }

    /// One, or `true`.
    pub fn one(dtype: DType) -> Literal {
        Literal::int(dtype, 1)
    }

    /// The least value: `-inf` for floats.
    pub fn min_value(dtype: DType) -> Literal {
        match dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => Literal::float(dtype, f64::NEG_INFINITY),
            DType::I8 => Literal::int(dtype, i8::MIN.into()),
            DType::I16 => Literal::int(dtype, i16::MIN.into()),
            DType::I32 => Literal::int(dtype, i32::MIN.into()),
            DType::I64 => Literal::int(dtype, i64::MIN),
            DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => Literal::zero(dtype),
        }
    }

    /// The greatest value: `inf` for floats.
    pub fn max_value(dtype: DType) -> Literal {
        match dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => Literal::float(dtype, f64::INFINITY),
            DType::I8 => Literal::int(dtype, i8::MAX.into()),
            DType::I16 => Literal::int(dtype, i16::MAX.into()),
            DType::I32 => Literal::int(dtype, i32::MAX.into()),
            DType::I64 => Literal::int(dtype, i64::MAX),
            DType::Bool => Literal::one(dtype),
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Literal::int(dtype, -1),
        }
    }

    /// Its dtype.
    pub fn dtype(self) -> DType {
        self.dtype
    }

    /// The value as `f64` (64-bit integers may round).
    pub fn as_f64(self) -> f64 {
        match self.dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => f64::from_bits(self.bits),
            DType::U64 => self.bits as f64,
            DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::I64 => self.bits as i64 as f64,
        }
    }

    /// The value as `i64`: floats truncate, `U64` keeps its bits.
    pub fn as_i64(self) -> i64 {
        if self.dtype.is_float() { f64::from_bits(self.bits) as i64 } else { self.bits as i64 }
    }

    /// The same value in another dtype.
    pub fn cast(self, dtype: DType) -> Literal {
        if self.dtype.is_float() || (self.dtype == DType::U64 && dtype.is_float()) {
            Literal::float(dtype, self.as_f64())
        } else {
            Literal::int(dtype, self.as_i64())
        }
    }

    /// What, with the dtype, gives it back ([`Literal::from_bits`]).
    #[inline]
    pub fn to_bits(self) -> u64 {
        self.bits
    }

    /// The literal of this dtype whose [`Literal::to_bits`] these are.
    #[inline]
    pub fn from_bits(dtype: DType, bits: u64) -> Literal {
        Literal { dtype, bits }
    }

    /// The raw element, little-endian, in the low `dtype.size()` bytes.
    pub fn to_raw(self) -> u64 {
        match self.dtype {
            DType::F64 => self.bits,
            DType::F32 => u64::from((self.as_f64() as f32).to_bits()),
            DType::F16 => u64::from(f16::from_f32(self.as_f64() as f32).to_bits()),
            DType::BF16 => u64::from(bf16::from_f32(self.as_f64() as f32).to_bits()),
            DType::F8E4M3 => F8E4M3::from_f32(self.as_f64() as f32).to_bits().into(),
            DType::F8E5M2 => F8E5M2::from_f32(self.as_f64() as f32).to_bits().into(),
            DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
                self.bits & (u64::MAX >> (64 - 8 * self.dtype.size()))
            }
        }
    }

    /// The literal whose element has these raw bytes (the inverse of [`Literal::to_raw`]).
    pub fn from_raw(dtype: DType, raw: u64) -> Literal {
        match dtype {
            DType::F64 => Literal::float(dtype, f64::from_bits(raw)),
            DType::F32 => Literal::float(dtype, f32::from_bits(raw as u32).into()),
            DType::F16 => Literal::float(dtype, f16::from_bits(raw as u16).into()),
            DType::BF16 => Literal::float(dtype, bf16::from_bits(raw as u16).into()),
            DType::F8E4M3 => Literal::float(dtype, F8E4M3::from_bits(raw as u8).into()),
            DType::F8E5M2 => Literal::float(dtype, F8E5M2::from_bits(raw as u8).into()),
            DType::Bool | DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::U64 | DType::I64 => {
                Literal::int(dtype, raw as i64)
            }
        }
    }
}

impl fmt::Debug for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => {
                write!(f, "{}{}", self.as_f64(), self.dtype)
            }
            DType::Bool => write!(f, "{}", self.bits != 0),
            DType::U64 => write!(f, "{}u64", self.bits),
            DType::U8 | DType::I8 | DType::U16 | DType::I16 | DType::U32 | DType::I32 | DType::I64 => {
                write!(f, "{}{}", self.bits as i64, self.dtype)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_round_once() {
        // Just above the middle between two neighbours; and the same, below.
        for (value, wanted) in [(-15.281254768371582, -15.3125), (15.28125, 15.25), (15.281249, 15.25), (15.34375000001, 15.375)] {
            assert_eq!(Literal::float(DType::BF16, value).as_f64(), wanted, "{value}");
        }
        // In f32 this is the middle between two f16, which would round to even, down.
        let value = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(Literal::float(DType::F16, value).as_f64(), 1.0 + 2f64.powi(-10));
        assert_eq!(Literal::float(DType::F16, 1e300).as_f64(), f64::INFINITY);
        assert_eq!(Literal::float(DType::F16, 1e-300).as_f64(), 0.0);
        assert!(Literal::float(DType::BF16, f64::NAN).as_f64().is_nan());
    }
}
