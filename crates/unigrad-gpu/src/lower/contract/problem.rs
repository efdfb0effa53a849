//! A contraction as templates see it: two operands with *lanes* (rows of `a`, columns of `b`) and a `k`, and the dtypes things happen in.
//!
//! Always: rows and columns are numbered in the contraction's order, so an epilogue's axes follow from them; an operand's own view of an axis
//! joins dimensions that are one for it. `swap` exchanges the roles where stores then run along the output.

use super::super::Unsupported;
use smallvec::SmallVec;
use unigrad_ir::{Builder, Target, Value};
use unigrad_kernel::{Contract, InstOp, Region, merge_dims};
use unigrad_scalar::{BinaryOp, DType};

/// Neighbours that a prologue makes together at most: 16 bytes of a half type.
const MADE_TOGETHER: u64 = 8;

/// A dimension: size and elements from one index to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dim {
    pub(super) size: u64,
    pub(super) stride: i64,
}

/// Dimensions, outermost first, without those of size 1, joined where they can be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Dims(pub(super) SmallVec<[Dim; 4]>);

impl Dims {
    pub(super) fn new(dims: impl IntoIterator<Item = (usize, i64)>) -> Dims {
        Dims(merge_dims(dims).into_iter().map(|(size, stride)| Dim { size: size as u64, stride }).collect())
    }

    /// Stride of the innermost dimension, if there is one.
    pub(super) fn inner(&self) -> Option<Dim> {
        self.0.last().copied()
    }

    /// `Some(stride)` if one stride describes it.
    pub(super) fn single(&self) -> Option<i64> {
        match self.0.as_slice() {
            [] => Some(0),
            [one] => Some(one.stride),
            _ => None,
        }
    }

    /// Whether every index is at offset 0.
    pub(super) fn is_still(&self) -> bool {
        self.0.iter().all(|dim| dim.stride == 0)
    }

    /// Whether every offset is a multiple of `by`.
    pub(super) fn multiple_of(&self, by: u64) -> bool {
        self.0.iter().all(|d| d.stride.unsigned_abs().is_multiple_of(by))
    }

    /// Whether it begins with a unit stride whose runs are multiples of `by`, with everything else a multiple of `by` as well.
    pub(super) fn runs_of(&self, by: u64) -> bool {
        self.inner().is_some_and(|inner| inner.stride == 1 && inner.size.is_multiple_of(by))
            && self.0[..self.0.len() - 1].iter().all(|d| d.stride.unsigned_abs().is_multiple_of(by))
    }

    /// The offset of a linear index (`U32`), of type `dtype`; `None` for an offset of 0.
    pub(super) fn offset(&self, b: &mut Builder, linear: Value, dtype: DType) -> Option<Value> {
        let mut rest = linear;
        let mut sum: Option<Value> = None;
        for (at, dim) in self.0.iter().enumerate().rev() {
            let index = if at == 0 { rest } else { b.rem_const(rest, dim.size as i64) };
            if at > 0 {
                rest = b.div_const(rest, dim.size as i64);
            }
            if dim.stride == 0 {
                continue;
            }
            let index = b.cast(index, dtype);
            let part = b.mul_const(index, dim.stride);
            sum = Some(sum.map_or(part, |sum| b.add(sum, part)));
        }
        sum
    }
}

/// `base + offset` where there may be none.
pub(super) fn plus(b: &mut Builder, base: Value, offset: Option<Value>) -> Value {
    match offset {
        Some(offset) => b.add(base, offset),
        None => base,
    }
}

/// Which way memory runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Along {
    Lanes,
    K,
}

/// `a` or `b`.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    /// The kernel's argument.
    pub(super) arg: usize,
    pub(super) dtype: DType,
    pub(super) offset: i64,
    pub(super) batch: Dims,
    pub(super) lanes: Dims,
    pub(super) k: Dims,
    /// `U32`, or `I64` for more elements than that counts.
    pub(super) index: DType,
    /// Where a prologue makes its elements: how many neighbours it makes together at most, a power of two.
    pub(super) made: Option<u64>,
    /// The scratch buffer that holds it, if an earlier step made it.
    pub(super) scratch: Option<usize>,
}

impl Operand {
    /// The direction in which neighbours are read together.
    pub(super) fn along(&self) -> Along {
        let step = |dims: &Dims| dims.inner().map(|d| if d.stride == 0 { u64::MAX } else { d.stride.unsigned_abs() });
        match (step(&self.lanes), step(&self.k)) {
            (None, Some(_)) => Along::K,
            (Some(lanes), Some(k)) if k < lanes => Along::K,
            // Windows overlap: both run by ones. The longer run wins.
            (Some(1), Some(1)) => {
                let run = |dims: &Dims| dims.inner().map_or(0, |d| d.size);
                if run(&self.k) > 2 * run(&self.lanes) { Along::K } else { Along::Lanes }
            }
            _ => Along::Lanes,
        }
    }

    /// How many neighbours in a direction can be loaded at once.
    pub(super) fn vector(&self, target: &Target, along: Along) -> u32 {
        let wide =
            matches!(self.dtype, DType::F16 | DType::BF16 | DType::F32 | DType::I32 | DType::U32) || self.dtype == DType::F64 && target.f64;
        if !target.vectors || !wide {
            return 1;
        }
        let mut lanes = (16 / self.dtype.size()).min(8) as u64;
        while lanes > 1 && !self.aligned(along, lanes) {
            lanes /= 2;
        }
        lanes as u32
    }

    /// Whether `by` neighbours in a direction, from a multiple of `by` on, lie in one aligned run.
    pub(super) fn aligned(&self, along: Along, by: u64) -> bool {
        let (run, other) = match along {
            Along::Lanes => (&self.lanes, &self.k),
            Along::K => (&self.k, &self.lanes),
        };
        self.made.is_none_or(|run| run.is_multiple_of(by))
            && self.offset.unsigned_abs().is_multiple_of(by)
            && self.batch.multiple_of(by)
            && other.multiple_of(by)
            && run.runs_of(by)
    }

    /// Where a batch item begins.
    pub(super) fn base(&self, b: &mut Builder, batch: Value) -> Value {
        let base = b.int(self.index, self.offset);
        let at = self.batch.offset(b, batch, self.index);
        plus(b, base, at)
    }
}

/// A contraction with its roles decided.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) batch: u64,
    /// Rows: lanes of `a`.
    pub(super) m: u64,
    /// Columns: lanes of `b`. Neighbouring threads store neighbouring columns.
    pub(super) n: u64,
    pub(super) k: u64,
    pub(super) a: Operand,
    pub(super) b: Operand,
    /// What sums are computed in: `F32`, `F64`, `I32` or `I64`.
    pub(super) compute: DType,
    /// Whether operands may be rounded to TF32; both are `F32` then.
    pub(super) tf32: bool,
    /// Whether rows are the contraction's `n`, and columns its `m`.
    pub(super) swap: bool,
}

impl Problem {
    pub(super) fn new(contract: &Contract, target: &Target) -> Result<Problem, Unsupported> {
        let compute = contract.compute_dtype();
        if compute == DType::F64 && !target.f64 {
            return Err(Unsupported {
                cause: "the device has no 64-bit floats, which this product needs".to_owned(),
                help: "compute in f32, or run it on the CPU".to_owned(),
            });
        }
        let count = |sizes: &[usize]| sizes.iter().try_fold(1u64, |n, size| n.checked_mul(*size as u64)).unwrap_or(u64::MAX);
        let batch = count(&contract.batch.iter().map(|d| d.size).collect::<Vec<_>>());
        let m = count(&contract.m.iter().map(|d| d.size).collect::<Vec<_>>());
        let n = count(&contract.n.iter().map(|d| d.size).collect::<Vec<_>>());
        let k = count(&contract.k.iter().map(|d| d.size).collect::<Vec<_>>());
        if [batch, m, n, k].iter().any(|size| *size >= 1 << 31) {
            return Err(Unsupported {
                cause: format!("a product of {batch} x {m} x {n} x {k} has an extent beyond 2^31"),
                help: "split it along its longest axis".to_owned(),
            });
        }
        let a = Operand {
            arg: 0,
            dtype: contract.a.dtype,
            offset: contract.a_offset,
            batch: Dims::new(contract.batch.iter().map(|d| (d.size, d.a))),
            lanes: Dims::new(contract.m.iter().map(|d| (d.size, d.a))),
            k: Dims::new(contract.k.iter().map(|d| (d.size, d.a))),
            index: index_dtype(contract.a.len),
            made: contract.prologues[0].as_deref().map(made_together),
            scratch: None,
        };
        let b = Operand {
            arg: 1,
            dtype: contract.b.dtype,
            offset: contract.b_offset,
            batch: Dims::new(contract.batch.iter().map(|d| (d.size, d.b))),
            lanes: Dims::new(contract.n.iter().map(|d| (d.size, d.b))),
            k: Dims::new(contract.k.iter().map(|d| (d.size, d.b))),
            index: index_dtype(contract.b.len),
            made: contract.prologues[1].as_deref().map(made_together),
            scratch: None,
        };
        let tf32 = contract.tf32 && a.dtype == DType::F32 && b.dtype == DType::F32 && compute == DType::F32;
        let problem = Problem { batch, m, n, k, a, b, compute, tf32, swap: false };
        Ok(if runs_along_rows(contract) { problem.swapped() } else { problem })
    }

    /// The transposed product.
    pub(super) fn swapped(self) -> Problem {
        Problem { m: self.n, n: self.m, a: self.b, b: self.a, swap: !self.swap, ..self }
    }
}

/// How many neighbours of an operand a prologue makes together.
fn made_together(prologue: &Region) -> u64 {
    let last = prologue.axes.iter().rfind(|size| **size > 1).map_or(1, |size| *size as u64);
    MADE_TOGETHER.min(1 << last.trailing_zeros().min(MADE_TOGETHER.ilog2()))
}

/// `U32` where it counts all elements (sums of strides may wrap on the way), else `I64`.
pub(super) fn index_dtype(len: usize) -> DType {
    if len < 1 << 31 { DType::U32 } else { DType::I64 }
}

/// Whether the output's neighbours are rows (`m`) and not columns.
fn runs_along_rows(contract: &Contract) -> bool {
    let inner_m = contract.m.iter().rposition(|d| d.size > 1);
    let inner_n = contract.n.iter().rposition(|d| d.size > 1);
    let (Some(inner_m), Some(inner_n)) = (inner_m, inner_n) else { return inner_m.is_some() };
    let strides = match &contract.epilogue {
        None => Some((contract.m[inner_m].c, contract.n[inner_n].c)),
        Some(region) => region.insts.iter().find_map(|inst| match &inst.op {
            InstOp::Store { index, .. } => {
                let at = |axis: usize| index.strides.get(axis).copied().unwrap_or(0);
                let (m_axis, n_axis) = (contract.batch.len() + inner_m, contract.batch.len() + contract.m.len() + inner_n);
                Some((at(m_axis), at(n_axis)))
            }
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..) => None,
        }),
    };
    strides.is_some_and(|(m, n)| m.unsigned_abs() == 1 && n.unsigned_abs() != 1)
}

/// `acc + x * y` in the compute dtype.
pub(super) fn multiply_add(b: &mut Builder, x: Value, y: Value, acc: Value) -> Value {
    if b.dtype(acc).is_float() {
        return b.fma(x, y, acc);
    }
    let product = b.mul(x, y);
    b.binary(BinaryOp::Add, acc, product)
}
