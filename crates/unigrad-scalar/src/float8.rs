//! 8-bit floats: `e4m3fn` and `e5m2` of the OCP specification "8-bit Floating Point (OFP8)", converted as PyTorch 2.15 does.
//!
//! In: an `f32` or a code of 8 bits. Out: the other one.
//! Always: rounding is to the nearest, ties to the even code. `e4m3fn` has no infinity: what is beyond 448 becomes 448 (infinities as well).
//! `e5m2` has infinities: what rounds beyond 57344 becomes one. A NaN stays a NaN with its sign: code `0x7f` or `0xff`.
//! `f64` and integers are rounded to `f32` first.
//! Never: computes. These types store; arithmetic is done in `f32` or another float, after a cast.

use crate::DType;
use std::fmt;

/// What a format of 8 bits is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Float8 {
    /// Bits of the significand without the leading one.
    pub mantissa: u32,
    /// What is subtracted from the exponent's bits.
    pub bias: i32,
    /// The greatest finite code.
    pub max_code: u8,
    /// The code of what is beyond: infinity, or the greatest finite number again.
    pub over_code: u8,
}

impl Float8 {
    /// `e4m3fn`.
    pub const E4M3: Float8 = Float8 { mantissa: 3, bias: 7, max_code: 0x7e, over_code: 0x7e };
    /// `e5m2`.
    pub const E5M2: Float8 = Float8 { mantissa: 2, bias: 15, max_code: 0x7b, over_code: 0x7c };

    /// The format of a dtype, if it is one of 8 bits.
    pub const fn of(dtype: DType) -> Option<Float8> {
        match dtype {
            DType::F8E4M3 => Some(Float8::E4M3),
            DType::F8E5M2 => Some(Float8::E5M2),
            DType::Bool
            | DType::U8
            | DType::I8
            | DType::U16
            | DType::I16
            | DType::U32
            | DType::I32
            | DType::U64
            | DType::I64
            | DType::F16
            | DType::BF16
            | DType::F32
            | DType::F64 => None,
        }
    }

    /// The exponent of the least normal number.
    pub const fn least_exponent(self) -> i32 {
        1 - self.bias
    }

    /// The code of a number.
    pub fn encode(self, value: f32) -> u8 {
        let sign = ((value.to_bits() >> 24) & 0x80) as u8;
        if value.is_nan() {
            return sign | 0x7f;
        }
        // In units of the last place, which does not shrink below that of the least normal number: exact, for the unit is a power of two.
        let magnitude = f64::from(value.abs());
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let exponent = exponent.max(self.least_exponent());
        let units = (magnitude * 2f64.powi(self.mantissa as i32 - exponent)).round_ties_even();
        // A unit more than the greatest significand is the next exponent's least: the codes run on.
        let code = f64::from((exponent - self.least_exponent()) << self.mantissa) + units;
        sign | if code > f64::from(self.max_code) { self.over_code } else { code as u8 }
    }

    /// The number of a code.
    pub fn decode(self, code: u8) -> f32 {
        let magnitude = code & 0x7f;
        let value = if magnitude > self.max_code {
            if self.over_code > self.max_code && magnitude == self.over_code { f32::INFINITY } else { f32::NAN }
        } else {
            let (exponent, fraction) = (i32::from(magnitude >> self.mantissa), f32::from(magnitude & ((1 << self.mantissa) - 1)));
            let one = f32::from(1u8 << self.mantissa);
            let significand = if exponent == 0 { fraction } else { one + fraction };
            significand / one * 2f32.powi(exponent.max(1) - self.bias)
        };
        if code & 0x80 == 0 { value } else { -value }
    }
}

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $format:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The number of this code.
            pub const fn from_bits(code: u8) -> $name {
                $name(code)
            }

            /// Its code.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The nearest number of the format; see the module's page.
            pub fn from_f32(value: f32) -> $name {
                $name(Float8::$format.encode(value))
            }

            /// The same number.
            pub fn to_f32(self) -> f32 {
                Float8::$format.decode(self.0)
            }
        }

        impl From<$name> for f64 {
            fn from(value: $name) -> f64 {
                value.to_f32().into()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.to_f32())
            }
        }
    };
}

float8! {
    /// An element of `DType::F8E4M3`: 4 bits of exponent, 3 of significand, up to 448. Equal codes are equal: a NaN equals itself.
    ///
    /// ```
    /// use unigrad_scalar::F8E4M3;
    /// assert_eq!(F8E4M3::from_f32(1.07).to_f32(), 1.125);
    /// assert_eq!(F8E4M3::from_f32(1e9).to_f32(), 448.0);
    /// ```
    F8E4M3, E4M3
}
float8! {
    /// An element of `DType::F8E5M2`: 5 bits of exponent, 2 of significand, up to 57344, with infinities. Equal codes are equal.
    F8E5M2, E5M2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_their_own_numbers() {
        for format in [Float8::E4M3, Float8::E5M2] {
            for code in 0..=255u8 {
                let value = format.decode(code);
                if value.is_nan() {
                    assert_eq!(format.encode(value) & 0x7f, 0x7f, "{code:#x}");
                } else if value.is_infinite() {
                    assert_eq!(format.encode(value), code);
                } else {
                    assert_eq!(format.encode(value), code, "{value}");
                }
            }
        }
    }

    #[test]
    fn middles_go_to_the_even_code() {
        for format in [Float8::E4M3, Float8::E5M2] {
            for code in 0..format.max_code {
                let (low, high) = (format.decode(code), format.decode(code + 1));
                let middle = (low + high) / 2.0;
                assert_eq!(format.encode(middle), code + (code & 1), "{middle}");
                assert_eq!(format.encode(middle.next_down()), code, "{middle}");
                assert_eq!(format.encode(-middle.next_up()), (code + 1) | 0x80, "{middle}");
            }
        }
        // The middle between the greatest number and what would be next, as PyTorch 2.15 has them.
        assert_eq!([464.0, 465.0, f32::INFINITY].map(|x| Float8::E4M3.encode(x)), [0x7e; 3]);
        assert_eq!([61439.0, 61440.0, -61440.0].map(|x| Float8::E5M2.encode(x)), [0x7b, 0x7c, 0xfc]);
    }
}
