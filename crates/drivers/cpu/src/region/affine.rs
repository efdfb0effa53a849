//! Indices that are sums of axes times numbers: one step each, however many instructions spell them.
//!
//! In: a region. Out: for each of its instructions the number and the strides that it is, if it is such a sum.
//! Always: exact: what could leave the range of `i64` at some point of the domain is none.
//! Never: takes the place of a value that something else changes: an index depends on the point alone.

use smallvec::SmallVec;
use unigrad_kernel::{InstOp, Region};
use unigrad_scalar::{BinaryOp, DType};

/// `offset` and, for each axis, its index times a stride.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Affine {
    pub(super) offset: i64,
    pub(super) strides: SmallVec<[i64; 8]>,
}

impl Affine {
    fn zip(&self, other: &Affine, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Affine> {
        let strides = self.strides.iter().zip(&other.strides).map(|(a, b)| f(*a, *b)).collect::<Option<_>>()?;
        Some(Affine { offset: f(self.offset, other.offset)?, strides })
    }

    fn is_constant(&self) -> bool {
        self.strides.iter().all(|stride| *stride == 0)
    }

    fn times(&self, number: i64) -> Option<Affine> {
        self.zip(self, |a, _| a.checked_mul(number))
    }

    /// Whether no point of the domain, nor a sum on the way to it, is beyond `i64`.
    fn fits(&self, axes: &[usize]) -> bool {
        let size = |stride: i64, extent: usize| i64::try_from(extent).ok()?.checked_mul(stride.checked_abs()?);
        let sizes = self.strides.iter().zip(axes).map(|(stride, extent)| size(*stride, *extent));
        sizes.chain([self.offset.checked_abs()]).try_fold(0_i64, |sum, size| sum.checked_add(size?)).is_some()
    }
}

/// What each instruction is, if it is a sum of axes.
pub(super) fn affine(region: &Region) -> Vec<Option<Affine>> {
    let mut all: Vec<Option<Affine>> = Vec::with_capacity(region.insts.len());
    for inst in &region.insts {
        let strides = |of: Option<u32>| (0..region.axes.len()).map(|axis| i64::from(Some(axis) == of.map(|of| of as usize))).collect();
        let is = match &inst.op {
            _ if inst.dtype != DType::I64 => None,
            InstOp::AxisIndex(axis) => Some(Affine { offset: 0, strides: strides(Some(*axis)) }),
            InstOp::Const(literal) => Some(Affine { offset: literal.as_i64(), strides: strides(None) }),
            InstOp::Binary(op, a, b) => match (op, &all[a.index()], &all[b.index()]) {
                (BinaryOp::Add, Some(a), Some(b)) => a.zip(b, i64::checked_add),
                (BinaryOp::Sub, Some(a), Some(b)) => a.zip(b, i64::checked_sub),
                (BinaryOp::Mul, Some(a), Some(b)) if b.is_constant() => a.times(b.offset),
                (BinaryOp::Mul, Some(a), Some(b)) if a.is_constant() => b.times(a.offset),
                _ => None,
            },
            InstOp::Scalar(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..)
            | InstOp::Store { .. } => None,
        };
        all.push(is.filter(|is| is.fits(&region.axes)));
    }
    all
}
