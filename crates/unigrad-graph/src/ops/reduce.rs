//! Reductions, scans, and the composites made of them: softmax and the normalizations.

use crate::{Expr, Op};
use unigrad_scalar::{ArgReduceOp, DType, ReduceOp, ScanOp};

impl Expr {
    /// Over the axes of a bit mask, which stay with size 1.
    #[track_caller]
    pub fn reduce(&self, op: ReduceOp, axes: u32) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if self.rank() > 32 || (axes as u64) >> self.rank() != 0 {
            return Expr::shape_error(op.name(), format!("axes {axes:#b} of {:?}", self.shape()), &[self]);
        }
        if self.dtype() == DType::Bool && matches!(op, ReduceOp::Sum | ReduceOp::Prod) {
            return Expr::dtype_error(op.name(), "wants numbers, got bool".into(), &[self]);
        }
        // Not only a shortcut: over axes of size 1 every reduction is the identity.
        let axes = (0..self.rank()).filter(|axis| axes >> axis & 1 == 1 && self.shape()[*axis] != 1).fold(0, |mask, axis| mask | 1 << axis);
        if axes == 0 {
            return self.clone();
        }
        let shape = self.shape().iter().enumerate().map(|(axis, size)| if axes >> axis & 1 == 1 { 1 } else { *size }).collect();
        Expr::new(Op::Reduce(op, axes), [self.clone()], shape, self.dtype())
    }

    /// Sum over the axes of a bit mask, which stay with size 1.
    #[track_caller]
    pub fn sum(&self, axes: u32) -> Expr {
        self.reduce(ReduceOp::Sum, axes)
    }

    /// Index of the first extreme element along an axis, which stays with size 1.
    #[track_caller]
    pub fn arg_reduce(&self, op: ArgReduceOp, axis: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() || self.shape()[axis] == 0 {
            return Expr::shape_error(op.name(), format!("axis {axis} of {:?} has no elements", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = 1;
        Expr::new(Op::ArgReduce(op, axis), [self.clone()], shape, DType::I64)
    }

    /// A running reduction.
    #[track_caller]
    pub fn scan(&self, op: ScanOp, axis: usize, reverse: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error(op.name(), format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        if self.dtype() == DType::Bool {
            return Expr::dtype_error(op.name(), "wants numbers, got bool".into(), &[self]);
        }
        Expr::new(Op::Scan { op, axis, reverse }, [self.clone()], self.shape().clone(), self.dtype())
    }

    /// Softmax over one axis.
    #[track_caller]
    pub fn softmax(&self, axis: usize) -> Expr {
        self.row_composite("softmax", Op::Softmax { axis }, axis)
    }

    /// Logarithm of the softmax over one axis.
    #[track_caller]
    pub fn log_softmax(&self, axis: usize) -> Expr {
        self.row_composite("log_softmax", Op::LogSoftmax { axis }, axis)
    }

    /// Layer normalization (`center`) or RMS normalization over the last `axes` axes, without weight and bias.
    #[track_caller]
    pub fn normalize(&self, axes: usize, center: bool, eps: f64) -> Expr {
        let name = if center { "layer_norm" } else { "rms_norm" };
        if self.error().is_none() && (axes == 0 || axes > self.rank()) {
            return Expr::shape_error(name, format!("{axes} trailing axes of {:?}", self.shape()), &[self]);
        }
        self.row_composite(name, Op::Normalize { axes, center, eps_bits: eps.to_bits() }, self.rank().saturating_sub(1))
    }

    #[track_caller]
    fn row_composite(&self, name: &str, op: Op, axis: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error(name, format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        if !self.dtype().is_float() {
            return Expr::dtype_error(name, format!("wants a float, got {}", self.dtype()), &[self]);
        }
        Expr::new(op, [self.clone()], self.shape().clone(), self.dtype())
    }
}
