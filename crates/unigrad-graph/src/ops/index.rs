//! Ops whose access pattern the data decides.

use crate::{Expr, Op, PoolSpec};
use std::sync::Arc;
use unigrad_scalar::{DType, ScatterMode};

impl Expr {
    /// `out[p] = self[p with p[axis] := index[p]]`; `index` is `I64` and has self's shape but along `axis`.
    /// Out-of-range indices fail when it runs.
    #[track_caller]
    pub fn gather(&self, axis: usize, index: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("gather", &[self, index]) {
            return invalid;
        }
        let fits =
            axis < self.rank() && index.rank() == self.rank() && (0..self.rank()).all(|i| i == axis || index.shape()[i] == self.shape()[i]);
        if !fits {
            let message = format!("index {:?} along axis {axis} of {:?}", index.shape(), self.shape());
            return Expr::shape_error("gather", message, &[self, index]);
        }
        if index.dtype() != DType::I64 {
            return Expr::dtype_error("gather", format!("an index is i64 here, got {}", index.dtype()), &[index]);
        }
        Expr::new(Op::Gather { axis }, [self.clone(), index.clone()], index.shape().clone(), self.dtype())
    }

    /// `self` with `src` put in: `out[p with p[axis] := index[p]] op= src[p]`.
    #[track_caller]
    pub fn scatter(&self, axis: usize, mode: ScatterMode, index: &Expr, src: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("scatter", &[self, index, src]) {
            return invalid;
        }
        let fits = axis < self.rank()
            && index.shape() == src.shape()
            && index.rank() == self.rank()
            && (0..self.rank()).all(|i| i == axis || index.shape()[i] <= self.shape()[i]);
        if !fits {
            let message = format!("index {:?} and source {:?} along axis {axis} of {:?}", index.shape(), src.shape(), self.shape());
            return Expr::shape_error("scatter", message, &[self, index, src]);
        }
        if index.dtype() != DType::I64 || src.dtype() != self.dtype() {
            let message = format!("index {} (i64 wanted), source {} into {}", index.dtype(), src.dtype(), self.dtype());
            return Expr::dtype_error("scatter", message, &[self, index, src]);
        }
        Expr::new(Op::Scatter { axis, mode }, [self.clone(), index.clone(), src.clone()], self.shape().clone(), self.dtype())
    }

    /// Stable order of the elements along an axis.
    #[track_caller]
    pub fn argsort(&self, axis: usize, descending: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() {
            return Expr::shape_error("argsort", format!("axis {axis} of {:?}", self.shape()), &[self]);
        }
        Expr::new(Op::ArgSort { axis, descending }, [self.clone()], self.shape().clone(), DType::I64)
    }

    /// Indices of the `k` greatest or least along an axis, best first.
    #[track_caller]
    pub fn topk(&self, axis: usize, k: usize, largest: bool) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axis >= self.rank() || k > self.shape()[axis] {
            return Expr::shape_error("topk", format!("{k} along axis {axis} of {:?}", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = k;
        Expr::new(Op::TopK { axis, k, largest }, [self.clone()], shape, DType::I64)
    }

    /// Where each window's maximum is; `output` are the result's spatial sizes.
    #[track_caller]
    pub fn pool_index(&self, spec: Arc<PoolSpec>, output: &[usize]) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let n = spec.kernel.len();
        let in_reach = |d: usize| {
            let span = spec.dilation[d] * (spec.kernel[d] - 1) + 1;
            let last = (output[d].max(1) - 1) * spec.stride[d];
            // Each window must touch the input somewhere, or its maximum is nowhere.
            last < self.shape()[d + 2] + spec.pad[d] && spec.pad[d] < span
        };
        if self.rank() != n + 2 || output.len() != n || spec.kernel.contains(&0) || spec.stride.contains(&0) || !(0..n).all(in_reach) {
            return Expr::shape_error("max_pool", format!("{spec:?} over {:?} to {output:?}", self.shape()), &[self]);
        }
        let mut shape = self.shape().clone();
        shape[2..].copy_from_slice(output);
        Expr::new(Op::PoolIndex(spec), [self.clone()], shape, DType::I64)
    }
}
