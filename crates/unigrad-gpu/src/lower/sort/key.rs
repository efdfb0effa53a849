//! Sort keys: words whose order as numbers is the order wanted.
//!
//! Always: NaN is one key, above all numbers; the zeros are one key. Everything is done on bits, so that no compiler's idea of NaN matters.

use super::super::distribute::Operand;
use unigrad_ir::{Builder, Place, Value};
use unigrad_scalar::{BinaryOp, DType};

/// What a dtype's keys look like: how many bits of how many `U32` words, the most significant word first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Keys {
    pub(crate) bits: u32,
    pub(crate) words: usize,
}

impl Keys {
    pub(crate) fn of(dtype: DType) -> Keys {
        let bits = if dtype == DType::Bool { 1 } else { 8 * dtype.size() as u32 };
        Keys { bits, words: bits.div_ceil(32) as usize }
    }
}

/// The words of a key.
pub(crate) type Words = smallvec::SmallVec<[Value; 2]>;

/// Keys of elements, as loaded from `x`.
#[derive(Clone, Copy)]
pub(crate) struct KeyOf {
    pub(crate) x: Place,
    pub(crate) dtype: DType,
    pub(crate) descending: bool,
}

impl KeyOf {
    pub(crate) fn load(&self, b: &mut Builder, at: Value) -> Words {
        let value = b.load(self.x, at);
        let (dtype, keys) = (self.dtype, Keys::of(self.dtype));
        let words = if keys.words == 2 { self.wide(b, value) } else { Words::from_slice(&[self.narrow(b, value)]) };
        if !self.descending {
            return words;
        }
        let all = b.u32(if dtype == DType::Bool { 1 } else { ones(keys.bits.min(32)) });
        words.into_iter().map(|word| b.binary(BinaryOp::Xor, word, all)).collect()
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
    fn narrow(&self, b: &mut Builder, value: Value) -> Value {
        let bits = Keys::of(self.dtype).bits;
        match self.dtype {
            DType::F32 | DType::F16 | DType::BF16 => {
                let raw = b.bitcast(value, if bits == 32 { DType::U32 } else { DType::U16 });
                let raw = b.cast(raw, DType::U32);
                let infinity = match self.dtype {
                    DType::F16 => 0x7c00,
                    DType::BF16 => 0x7f80,
                    _ => 0x7f80_0000,
                };
                let (sign, magnitude_bits) = (b.u32(1 << (bits - 1)), b.u32(ones(bits - 1)));
                let (infinity, nan) = (b.u32(infinity), b.u32(ones(bits)));
                let magnitude = b.and(raw, magnitude_bits);
                let negative = b.binary(BinaryOp::Ne, raw, magnitude);
                // Below the sign bit's value, negative numbers by falling magnitude; from it on, the others. `sign - 0` is 0's key too.
                let (below, above) = (b.sub(sign, magnitude), b.add(sign, magnitude));
                let key = b.select(negative, below, above);
                let is_nan = b.lt(infinity, magnitude);
                b.select(is_nan, nan, key)
            }
            dtype if dtype.is_signed_int() => {
                // The sign moves up, so that the low bits count from the least.
                let value = b.cast(value, DType::I32);
                let raw = b.bitcast(value, DType::U32);
                let (sign, mask) = (b.u32(1 << (bits - 1)), b.u32(ones(bits)));
                let raw = if bits < 32 { b.and(raw, mask) } else { raw };
                b.binary(BinaryOp::Xor, raw, sign)
            }
            _ => b.cast(value, DType::U32),
        }
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "dtypes come in families")]
    fn wide(&self, b: &mut Builder, value: Value) -> Words {
        let raw = b.bitcast(value, DType::U64);
        let shift = b.int(DType::U64, 32);
        let high = b.binary(BinaryOp::Shr, raw, shift);
        let (high, low) = (b.cast(high, DType::U32), b.cast(raw, DType::U32));
        let sign = b.u32(1 << 31);
        match self.dtype {
            DType::F64 => {
                let (zero, all, magnitude_bits) = (b.u32(0), b.u32(u32::MAX), b.u32(ones(31)));
                let magnitude = b.and(high, magnitude_bits);
                let negative = b.binary(BinaryOp::Ne, high, magnitude);
                // `2^63 - magnitude` and `2^63 + magnitude`, in halves.
                let low_negated = b.sub(zero, low);
                let borrow = b.binary(BinaryOp::Ne, low, zero);
                let borrow = b.cast(borrow, DType::U32);
                let below = b.sub(sign, magnitude);
                let below = b.sub(below, borrow);
                let above = b.add(sign, magnitude);
                let (key_high, key_low) = (b.select(negative, below, above), b.select(negative, low_negated, low));
                let infinity = b.u32(0x7ff0_0000);
                let beyond = b.lt(infinity, magnitude);
                let at = b.binary(BinaryOp::Eq, infinity, magnitude);
                let some = b.binary(BinaryOp::Ne, low, zero);
                let within = b.and(at, some);
                let is_nan = b.binary(BinaryOp::Or, beyond, within);
                [key_high, key_low].into_iter().map(|word| b.select(is_nan, all, word)).collect()
            }
            DType::I64 => Words::from_slice(&[b.binary(BinaryOp::Xor, high, sign), low]),
            _ => Words::from_slice(&[high, low]),
        }
    }
}

/// `bits` ones.
pub(crate) fn ones(bits: u32) -> u32 {
    u32::MAX >> (32 - bits.clamp(1, 32))
}

/// Whether the pair of a key and an index comes before another.
pub(crate) fn less(b: &mut Builder, x: &[Value], y: &[Value]) -> Value {
    // From the least significant word up: less here, or equal here and less below.
    let mut result = None;
    for (x, y) in x.iter().zip(y).rev() {
        let here = b.lt(*x, *y);
        result = Some(match result {
            None => here,
            Some(below) => {
                let equal = b.binary(BinaryOp::Eq, *x, *y);
                let tie = b.and(equal, below);
                b.binary(BinaryOp::Or, here, tie)
            }
        });
    }
    result.unwrap_or_else(|| b.constant(unigrad_scalar::Literal::zero(DType::Bool)))
}

/// Scratch memory of pairs: the words of keys, and indices.
#[derive(Clone, Debug)]
pub(crate) struct Pairs {
    pub(crate) words: smallvec::SmallVec<[Operand; 2]>,
    pub(crate) index: Operand,
}
