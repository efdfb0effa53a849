//! The kernels whose access pattern the data decides: scans, sorts, scatters, and pooling, whose result says where to scatter.

use crate::Arg;
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal, PoolSpec, ScanOp, ScatterMode};

/// A running reduction over the middle axis of contiguous `[outer, len, inner]`. Arguments: `x, out`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Scan {
    pub op: ScanOp,
    pub dtype: DType,
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
    /// From the last element to the first.
    pub reverse: bool,
}

/// Stable argsort over the middle axis of contiguous `[outer, len, inner]`: NaN is greater than any number. Arguments: `x, indices` (`I64`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct ArgSort {
    pub dtype: DType,
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
    pub descending: bool,
}

/// The indices of the `k` greatest (or least) along the middle axis of contiguous `[outer, len, inner]`, best first, equal ones by position.
/// Arguments: `x, indices` (`I64`, contiguous `[outer, k, inner]`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct TopK {
    pub dtype: DType,
    pub outer: usize,
    pub len: usize,
    pub inner: usize,
    pub k: usize,
    pub largest: bool,
}

/// What a scatter starts from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ScatterBase {
    /// A contiguous argument of the output's shape (it may be the output's own buffer).
    Arg,
    /// What the output's buffer holds.
    Out,
    /// A constant everywhere.
    Fill(Literal),
}

/// `out = base; for p in shape: out[p with p[axis] := index[p]] op= src[p]`, in row-major order of `p`.
///
/// Arguments: `[base], index, src, out`; `out` is contiguous with `out_shape`. Index values are in `-size..size` along the axis, else the launch fails
/// with an index error. Sums of half types accumulate in `f32`. The order is fixed, so reruns are bit-equal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct Scatter {
    pub mode: ScatterMode,
    pub base: ScatterBase,
    pub axis: usize,
    /// The shape of `src` and `index`.
    pub shape: SmallVec<[usize; 6]>,
    /// Strides and offset of `index` (0 along expanded axes).
    pub index_strides: SmallVec<[i64; 6]>,
    pub index_offset: i64,
    pub src_strides: SmallVec<[i64; 6]>,
    pub src_offset: i64,
    pub out_shape: SmallVec<[usize; 6]>,
    /// Any integer dtype.
    pub index: Arg,
    pub src: Arg,
    pub dtype: DType,
}

/// The maximum of each pooling window, and where it is: the row-major index within the input's spatial dimensions (`I64`).
///
/// `x` is contiguous `[outer, input…]`, the results `[outer, output…]`. Windows start at `o * stride - pad`. Padding never wins, NaN does,
/// and of equal elements the first. A window with nothing but padding (its dilation can step over the input) is refused.
/// Arguments: `x, maxima, indices`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub struct MaxPool {
    pub dtype: DType,
    pub outer: usize,
    /// Per spatial dimension.
    pub input: SmallVec<[usize; 3]>,
    pub output: SmallVec<[usize; 3]>,
    pub spec: PoolSpec,
}

fn read_write(dtype: DType, read: usize, out: DType, write: usize) -> Vec<Arg> {
    vec![Arg { dtype, len: read, write: false }, Arg { dtype: out, len: write, write: true }]
}

impl Scan {
    pub(crate) fn args(&self) -> Vec<Arg> {
        let len = self.outer * self.len * self.inner;
        read_write(self.dtype, len, self.dtype, len)
    }
}

impl ArgSort {
    pub(crate) fn args(&self) -> Vec<Arg> {
        let len = self.outer * self.len * self.inner;
        read_write(self.dtype, len, DType::I64, len)
    }
}

impl TopK {
    pub(crate) fn args(&self) -> Vec<Arg> {
        read_write(self.dtype, self.outer * self.len * self.inner, DType::I64, self.outer * self.k * self.inner)
    }
}

impl Scatter {
    pub(crate) fn args(&self) -> Vec<Arg> {
        let len = self.out_shape.iter().product();
        let mut args = Vec::with_capacity(4);
        if self.base == ScatterBase::Arg {
            args.push(Arg { dtype: self.dtype, len, write: false });
        }
        args.extend([self.index, self.src, Arg { dtype: self.dtype, len, write: true }]);
        args
    }
}

impl MaxPool {
    pub(crate) fn args(&self) -> Vec<Arg> {
        let count = |dims: &[usize]| self.outer * dims.iter().product::<usize>();
        let output = count(&self.output);
        let mut args = read_write(self.dtype, count(&self.input), self.dtype, output);
        args.push(Arg { dtype: DType::I64, len: output, write: true });
        args
    }
}
