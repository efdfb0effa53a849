//! Storage formats: how the elements of a tensor lie in memory, apart from the dtype that they are computed in.
//!
//! In: a shape. Out: bytes, and what the bytes mean, element by element (the reference that every device is tested against).
//! Always: a plain format has one code for each element. A block format has blocks of [`Block::len`] neighbours along the last axis, which is a
//! multiple of that; blocks follow each other in row-major order.
//! Never: more than one meaning for the same bytes.
//!
//! Why `f8e4m3` is a [`DType`] and `q4_0` is not: an 8-bit float is a number with a place in memory of its own, so that views, gathers and copies
//! work on it as on any other dtype; it only does not compute (a cast comes first, as in PyTorch). An element of a block has neither: it means
//! something only beside its block's scale. So a block-quantized tensor is a leaf of bytes with a format, and what a graph reads is its
//! dequantization, which the planner makes a part of the kernel that reads it.

use crate::DType;
use half::f16;
use std::fmt;

/// How elements lie in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// One code for each element.
    Plain(DType),
    /// Blocks of neighbours along the last axis.
    Blocks(Block),
}

/// A block of neighbours with one scale: element = `(code - zero) * scale`.
///
/// A block's bytes are its scale (little-endian), then its codes: with 4 bits, byte `i` has element `i` in its lower half and element
/// `i + len / 2` in its upper half, as ggml has them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block {
    /// Its name in files and messages.
    pub name: &'static str,
    /// Elements.
    pub len: usize,
    /// Bits of a code; 4 so far.
    pub bits: u32,
    /// What the scale is stored as; `F16` so far.
    pub scale: DType,
    /// The code of 0.
    pub zero: u8,
}

/// A shape that a format cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FormatError {
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n help: {}", self.cause, self.help)
    }
}

impl std::error::Error for FormatError {}

impl Format {
    /// ggml's `q4_0`: 32 elements of 4 bits with one `f16` scale, 18 bytes; element = `(code - 8) * scale`.
    pub const Q4_0: Format = Format::Blocks(Block { name: "q4_0", len: 32, bits: 4, scale: DType::F16, zero: 8 });

    /// Its name in files and messages.
    pub fn name(&self) -> &'static str {
        match self {
            Format::Plain(dtype) => dtype.name(),
            Format::Blocks(block) => block.name,
        }
    }

    /// Bytes of a tensor of this shape.
    ///
    /// # Errors
    /// The last axis is no multiple of a block, there is none, or the bytes are more than can be counted.
    ///
    /// ```
    /// use unigrad_scalar::{DType, Format};
    /// assert_eq!(Format::Plain(DType::F32).bytes_for(&[3, 5]), Ok(60));
    /// assert_eq!(Format::Q4_0.bytes_for(&[3, 64]), Ok(108));
    /// assert!(Format::Q4_0.bytes_for(&[64, 3]).is_err());
    /// ```
    pub fn bytes_for(&self, shape: &[usize]) -> Result<usize, FormatError> {
        let count = |sizes: &[usize], unit: usize| sizes.iter().try_fold(unit, |n, size| n.checked_mul(*size));
        let too_large = || FormatError {
            cause: format!("{shape:?} {} has more bytes than can be counted", self.name()),
            help: "give it smaller sizes".to_owned(),
        };
        match self {
            Format::Plain(dtype) => count(shape, dtype.size()).ok_or_else(too_large),
            Format::Blocks(block) => {
                let Some((last, rest)) = shape.split_last().filter(|(last, _)| last.is_multiple_of(block.len)) else {
                    let (name, len) = (block.name, block.len);
                    return Err(FormatError {
                        cause: format!("{name} has blocks of {len} elements along the last axis, and the shape is {shape:?}"),
                        help: format!("pad the last axis to a multiple of {len}, or transpose the tensor first"),
                    });
                };
                count(rest, block.bytes()).and_then(|n| n.checked_mul(last / block.len)).ok_or_else(too_large)
            }
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Block {
    /// Bytes of one block.
    pub const fn bytes(&self) -> usize {
        self.scale.size() + self.len * self.bits as usize / 8
    }

    /// The greatest code.
    pub const fn max_code(&self) -> u8 {
        ((1 << self.bits) - 1) as u8
    }

    /// Writes the blocks of `values`, as ggml's `quantize_row_q4_0_ref` does: the element of greatest magnitude (the first one) gets code 0, so
    /// the scale is that element over `-zero`; the others are rounded to the nearest code, in `f32`, ties up. The scale is then stored as `f16`.
    /// Infinities and NaN have no code: a block with one has a scale that is not finite, and 0 for every code.
    ///
    /// `None` if `values` are not whole blocks.
    pub fn encode(&self, values: &[f32]) -> Option<Vec<u8>> {
        if !values.len().is_multiple_of(self.len) {
            return None;
        }
        let mut bytes = Vec::with_capacity(values.len() / self.len * self.bytes());
        for block in values.chunks_exact(self.len) {
            let mut extreme = 0.0f32;
            for x in block {
                if x.abs() > extreme.abs() || x.is_nan() {
                    extreme = *x;
                }
            }
            let scale = extreme / -f32::from(self.zero);
            let inverse = if scale == 0.0 { 0.0 } else { 1.0 / scale };
            bytes.extend(f16::from_f32(scale).to_le_bytes());
            // A value of a NaN or an infinity times 0 is NaN, which `as` makes 0.
            let code = |x: f32| ((x * inverse + f32::from(self.zero) + 0.5) as u8).min(self.max_code());
            let (low, high) = block.split_at(self.len / 2);
            bytes.extend(low.iter().zip(high).map(|(low, high)| code(*low) | code(*high) << self.bits));
        }
        Some(bytes)
    }

    /// The values of whole blocks; `None` if the bytes are none.
    pub fn decode(&self, bytes: &[u8]) -> Option<Vec<f32>> {
        if !bytes.len().is_multiple_of(self.bytes()) {
            return None;
        }
        let mut values = Vec::with_capacity(bytes.len() / self.bytes() * self.len);
        for block in bytes.chunks_exact(self.bytes()) {
            let (scale, codes) = block.split_at(self.scale.size());
            let scale = f16::from_le_bytes([scale[0], scale[1]]).to_f32();
            let value = |code: u8| f32::from(i16::from(code) - i16::from(self.zero)) * scale;
            values.extend(codes.iter().map(|byte| value(byte & self.max_code())));
            values.extend(codes.iter().map(|byte| value(byte >> self.bits)));
        }
        Some(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q4_0() -> Block {
        match Format::Q4_0 {
            Format::Blocks(block) => block,
            Format::Plain(dtype) => panic!("q4_0 is no {dtype}"),
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        assert_eq!(Format::Q4_0.bytes_for(&[0, 32]), Ok(0));
        assert_eq!(Format::Q4_0.bytes_for(&[0]), Ok(0));
        for shape in [&[][..], &[31], &[33], &[32, 1], &[usize::MAX, 32]] {
            assert!(Format::Q4_0.bytes_for(shape).is_err(), "{shape:?}");
        }
        assert!(Format::Plain(DType::F64).bytes_for(&[usize::MAX]).is_err());
    }

    #[test]
    fn blocks_are_laid_out_as_in_ggml() {
        // Scale -1: the greatest magnitude is 8 at element 0, code 0; element i is 8 - i / 2.
        let values: Vec<f32> = (0..32).map(|i| 8.0 - (i / 2) as f32).collect();
        let bytes = q4_0().encode(&values).unwrap();
        assert_eq!(bytes.len(), 18);
        assert_eq!(bytes[..2], f16::from_f32(-1.0).to_le_bytes());
        assert_eq!(bytes[2..], [0x80, 0x80, 0x91, 0x91, 0xa2, 0xa2, 0xb3, 0xb3, 0xc4, 0xc4, 0xd5, 0xd5, 0xe6, 0xe6, 0xf7, 0xf7]);
        assert_eq!(q4_0().decode(&bytes).unwrap(), values);
    }

    #[test]
    fn edges_have_bytes() {
        let block = q4_0();
        let zeros = block.encode(&[0.0; 32]).unwrap();
        assert_eq!(block.decode(&zeros).unwrap(), [0.0; 32]);
        assert_eq!(block.encode(&[0.0; 31]), None);
        assert_eq!(block.decode(&[0; 17]), None);
        let mut values = [1.0; 32];
        values[7] = f32::INFINITY;
        let decoded = block.decode(&block.encode(&values).unwrap()).unwrap();
        assert!(decoded.iter().all(|x| !x.is_finite()));
    }
}
