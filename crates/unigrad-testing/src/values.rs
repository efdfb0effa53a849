//! Tensors on the host, in the widest types: what the oracle computes with and what results are compared as.

use unigrad_graph::{DType, Literal, Shape, bf16, f16, numel};

/// Elements: floats as `f64`, integers and `Bool` as `i64` (`U64` as its bits).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Data {
    Float(Vec<f64>),
    Int(Vec<i64>),
}

/// A tensor's elements in row-major order. The dtype says what they are meant as; floats may be more precise than it.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Values {
    pub dtype: DType,
    pub shape: Shape,
    pub data: Data,
}

impl Values {
    /// Floats, kept as they are.
    pub fn float(dtype: DType, shape: &[usize], data: Vec<f64>) -> Values {
        assert!(dtype.is_float() && data.len() == numel(shape), "{} floats as {dtype} {shape:?}", data.len());
        Values { dtype, shape: Shape::from_slice(shape), data: Data::Float(data) }
    }

    /// Integers or `Bool`, wrapped to the dtype.
    pub fn int(dtype: DType, shape: &[usize], mut data: Vec<i64>) -> Values {
        assert!(!dtype.is_float() && data.len() == numel(shape), "{} integers as {dtype} {shape:?}", data.len());
        data.iter_mut().for_each(|value| *value = Literal::int(dtype, *value).as_i64());
        Values { dtype, shape: Shape::from_slice(shape), data: Data::Int(data) }
    }

    /// From literals of one dtype.
    pub fn from_literals(dtype: DType, shape: &[usize], literals: impl Iterator<Item = Literal>) -> Values {
        if dtype.is_float() {
            Values::float(dtype, shape, literals.map(Literal::as_f64).collect())
        } else {
            Values::int(dtype, shape, literals.map(Literal::as_i64).collect())
        }
    }

    /// From floats that stand for values of any dtype: rounded to it (integers truncate).
    pub fn from_f64(dtype: DType, shape: &[usize], data: &[f64]) -> Values {
        Values::from_literals(dtype, shape, data.iter().map(|value| Literal::float(dtype, *value)))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match &self.data {
            Data::Float(data) => data.len(),
            Data::Int(data) => data.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i` as a float (64-bit integers may round).
    pub fn as_f64(&self, i: usize) -> f64 {
        match &self.data {
            Data::Float(data) => data[i],
            Data::Int(data) if self.dtype == DType::U64 => data[i] as u64 as f64,
            Data::Int(data) => data[i] as f64,
        }
    }

    /// Element `i` as an integer; floats truncate.
    pub fn as_i64(&self, i: usize) -> i64 {
        match &self.data {
            Data::Float(data) => data[i] as i64,
            Data::Int(data) => data[i],
        }
    }

    /// Element `i`, rounded to the dtype.
    pub fn literal(&self, i: usize) -> Literal {
        match &self.data {
            Data::Float(data) => Literal::float(self.dtype, data[i]),
            Data::Int(data) => Literal::int(self.dtype, data[i]),
        }
    }

    /// All elements as floats.
    pub fn to_f64(&self) -> Vec<f64> {
        (0..self.len()).map(|i| self.as_f64(i)).collect()
    }

    /// Elements picked by position, `None` filled, in another shape.
    pub fn pick(&self, shape: &[usize], picks: impl Iterator<Item = Option<usize>>, fill: Literal) -> Values {
        let data = match &self.data {
            Data::Float(data) => Data::Float(picks.map(|pick| pick.map_or(fill.as_f64(), |i| data[i])).collect()),
            Data::Int(data) => Data::Int(picks.map(|pick| pick.map_or(fill.as_i64(), |i| data[i])).collect()),
        };
        Values { dtype: self.dtype, shape: Shape::from_slice(shape), data }
    }

    /// The same elements in another shape of the same size.
    pub fn reshaped(&self, shape: &[usize]) -> Values {
        Values { dtype: self.dtype, shape: Shape::from_slice(shape), data: self.data.clone() }
    }

    /// Elements as a device stores them: little-endian, row-major.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size = self.dtype.size();
        (0..self.len()).flat_map(|i| self.literal(i).to_raw().to_le_bytes().into_iter().take(size)).collect()
    }

    /// From the bytes that a device stores; a trailing partial element is ignored.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Values {
        let raw = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let chunks = bytes.chunks_exact(dtype.size()).map(raw);
        // Not through `Literal` for floats: a NaN's payload would not matter, but speed does.
        let data = match dtype {
            DType::F64 => Data::Float(chunks.map(f64::from_bits).collect()),
            DType::F32 => Data::Float(chunks.map(|raw| f32::from_bits(raw as u32).into()).collect()),
            DType::F16 => Data::Float(chunks.map(|raw| f16::from_bits(raw as u16).into()).collect()),
            DType::BF16 => Data::Float(chunks.map(|raw| bf16::from_bits(raw as u16).into()).collect()),
            dtype if dtype.only_stores() => Data::Float(chunks.map(|raw| Literal::from_raw(dtype, raw).as_f64()).collect()),
            _ => Data::Int(chunks.map(|raw| Literal::from_raw(dtype, raw).as_i64()).collect()),
        };
        Values { dtype, shape: Shape::from_slice(shape), data }
    }

    /// Element `i`'s place per axis.
    pub fn place(&self, i: usize) -> Vec<usize> {
        let mut rest = i;
        let mut place = vec![0; self.shape.len()];
        for (axis, size) in self.shape.iter().enumerate().rev() {
            place[axis] = rest % size.max(&1);
            rest /= size.max(&1);
        }
        place
    }
}

/// Calls `f` with every index of `shape`, in row-major order.
pub(crate) fn each_index(shape: &[usize], mut f: impl FnMut(&[usize])) {
    let mut index = vec![0; shape.len()];
    for _ in 0..numel(shape) {
        f(&index);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}

/// The row-major position of an index.
pub(crate) fn flat(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |position, (i, size)| position * size + i)
}

/// A float as its dtype holds it.
pub(crate) fn rounded(dtype: DType, value: f64) -> f64 {
    Literal::float(dtype, value).as_f64()
}
