//! What tests of kernels on any device share: random numbers, elements in memory, random kernels, and plain evaluators of what they mean.
//!
//! Never: part of a release build.

pub mod allocations;
pub mod contract;
pub mod region;
pub mod regions;
pub mod scatter;

use unigrad_scalar::{DType, Literal};

/// Random numbers, the same in every run.
#[derive(Clone, Debug)]
pub struct Rng(pub u64);

impl Rng {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number of `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n.max(1) as u64) as usize
    }

    /// True in so many of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of some.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Mostly small values, so that equal ones meet; sometimes an extreme one.
    pub fn value(&mut self, dtype: DType) -> Literal {
        match self.below(20) {
            0 => Literal::max_value(dtype),
            1 => Literal::min_value(dtype),
            2 if dtype.is_float() => Literal::float(dtype, f64::NAN),
            3 if dtype.is_float() => Literal::float(dtype, -0.0),
            4..8 if dtype.is_float() => Literal::float(dtype, (self.bits() as i32) as f64 * 1e-9),
            8 => Literal::int(dtype, self.bits() as i64),
            _ => Literal::int(dtype, self.below(9) as i64 - 4),
        }
    }
}

/// What memory is aligned to.
const ALIGN: usize = 64;

/// Elements of a dtype, aligned to 64 bytes; zero at first.
#[derive(Debug)]
pub struct Memory {
    block: Vec<u8>,
    /// Where the first element is, and the bytes of all.
    start: usize,
    size: usize,
    /// Of the elements.
    pub dtype: DType,
}

impl Memory {
    /// `len` zeros.
    pub fn new(dtype: DType, len: usize) -> Memory {
        let size = len * dtype.size();
        let block = vec![0; size + ALIGN];
        let start = block.as_ptr().addr().wrapping_neg() % ALIGN;
        Memory { block, start, size, dtype }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.size / self.dtype.size()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The elements as they are stored.
    pub fn bytes(&self) -> &[u8] {
        &self.block[self.start..][..self.size]
    }

    /// See [`Memory::bytes`].
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.block[self.start..][..self.size]
    }

    /// An element.
    pub fn get(&self, i: usize) -> Literal {
        let size = self.dtype.size();
        let mut raw = [0; 8];
        raw[..size].copy_from_slice(&self.bytes()[i * size..][..size]);
        Literal::from_raw(self.dtype, u64::from_le_bytes(raw))
    }

    /// Writes an element.
    pub fn set(&mut self, i: usize, value: Literal) {
        let (dtype, size) = (self.dtype, self.dtype.size());
        self.bytes_mut()[i * size..][..size].copy_from_slice(&value.cast(dtype).to_raw().to_le_bytes()[..size]);
    }

    /// Writes a random number of -3 to 3, or of 0 to 6 where there are no negative ones, to each element.
    pub fn fill(&mut self, rng: &mut Rng) {
        let unsigned = self.dtype.is_unsigned_int() || self.dtype == DType::Bool;
        for i in 0..self.len() {
            self.set(i, Literal::int(self.dtype, rng.below(7) as i64 - if unsigned { 0 } else { 3 }));
        }
    }
}

impl Clone for Memory {
    /// A copy at another address, which begins elsewhere in its block.
    fn clone(&self) -> Memory {
        let mut copy = Memory::new(self.dtype, self.len());
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}
