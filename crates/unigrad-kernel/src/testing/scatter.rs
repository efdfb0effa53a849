//! Random scatters.

use super::Rng;
use crate::{Arg, Scatter, ScatterBase};
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal, ScatterMode};

/// Dtypes that indices can have.
pub const INTEGERS: [DType; 8] = [DType::U8, DType::I8, DType::U16, DType::I16, DType::U32, DType::I32, DType::U64, DType::I64];

/// A random layout of a shape: axes in any order, with gaps, backwards, or (where allowed) expanded. Strides, offset, length.
pub fn view(rng: &mut Rng, shape: &[usize], expand: bool) -> (SmallVec<[i64; 6]>, i64, usize) {
    let mut order: Vec<usize> = (0..shape.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i + 1));
    }
    let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, shape.len());
    let (mut next, mut offset) = (1, rng.below(3));
    for d in order {
        if expand && rng.below(3) == 0 {
            continue;
        }
        strides[d] = next as i64;
        if rng.below(4) == 0 {
            strides[d] = -strides[d];
            offset += next * shape[d].saturating_sub(1);
        }
        next = next * shape[d].max(1) + rng.below(2);
    }
    (strides, offset as i64, offset + next + 1)
}

/// A scatter along an axis of a shape, with random layouts, dtypes, mode and base; the source is expanded here and there if `expand`.
pub fn random(rng: &mut Rng, shape: SmallVec<[usize; 6]>, axis: usize, expand: bool) -> Scatter {
    let mut out_shape = shape.clone();
    for (d, size) in out_shape.iter_mut().enumerate() {
        if d == axis {
            *size = 1 + rng.below(12);
        } else if rng.below(4) == 0 {
            *size += rng.below(3);
        }
    }
    let dtype = rng.pick(&DType::ALL);
    let (index_strides, index_offset, index_len) = view(rng, &shape, true);
    let (src_strides, src_offset, src_len) = view(rng, &shape, expand);
    Scatter {
        mode: rng.pick(ScatterMode::ALL),
        base: if rng.below(2) == 0 { ScatterBase::Arg } else { ScatterBase::Fill(Literal::int(dtype, rng.below(3) as i64)) },
        axis,
        index: Arg { dtype: rng.pick(&INTEGERS), len: index_len, write: false },
        src: Arg { dtype, len: src_len, write: false },
        shape,
        index_strides,
        index_offset,
        src_strides,
        src_offset,
        out_shape,
        dtype,
    }
}

/// Rows of a table: the gradient of an embedding of `n` tokens, or a scatter of another mode to its rows.
pub fn rows(dtype: DType, mode: ScatterMode, n: usize, vocabulary: usize, width: usize) -> Scatter {
    Scatter {
        mode,
        base: ScatterBase::Fill(Literal::zero(dtype)),
        axis: 0,
        shape: SmallVec::from_slice(&[n, width]),
        index_strides: SmallVec::from_slice(&[1, 0]),
        index_offset: 0,
        src_strides: SmallVec::from_slice(&[width as i64, 1]),
        src_offset: 0,
        out_shape: SmallVec::from_slice(&[vocabulary, width]),
        index: Arg { dtype: DType::I64, len: n, write: false },
        src: Arg { dtype, len: n * width, write: false },
        dtype,
    }
}
