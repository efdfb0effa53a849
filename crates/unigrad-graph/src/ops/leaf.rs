//! Leaves: constants, run-time scalars, indices, random words.

use crate::{Expr, Inputs, Op};
use unigrad_scalar::{DType, Literal};

impl Expr {
    /// A constant in every element: part of what the compiler sees, so it may fold it.
    #[track_caller]
    pub fn constant(value: Literal, shape: &[usize], device: u32) -> Expr {
        Expr::with(Op::Const(value), Inputs::new(), shape, value.dtype(), device, None)
    }

    /// A value in every element that may differ from step to step without a new plan.
    #[track_caller]
    pub fn scalar(value: Literal, shape: &[usize], device: u32) -> Expr {
        Expr::with(Op::Scalar, Inputs::new(), shape, value.dtype(), device, Some(value))
    }

    /// A constant of the same shape and device.
    #[track_caller]
    pub fn literal_like(&self, value: Literal) -> Expr {
        Expr::like(Op::Const(value), Inputs::new(), self.tensor_type(), value.dtype())
    }

    /// A value of the same shape and device that may differ from step to step without a new plan.
    #[inline]
    #[track_caller]
    pub fn scalar_like(&self, value: Literal) -> Expr {
        match self.dtype() == value.dtype() {
            true => Expr::scalar_of(self.node_type().tensor_type(), value),
            false => Expr::scalar_like_type(self.node_type().tensor_type(), value),
        }
    }

    /// Zeros of the same shape, dtype and device.
    #[track_caller]
    pub fn zeros_like(&self) -> Expr {
        self.literal_like(Literal::zero(self.dtype()))
    }

    /// A constant of the same shape, dtype and device.
    #[track_caller]
    pub fn constant_like(&self, value: f64) -> Expr {
        self.literal_like(Literal::float(self.dtype(), value))
    }

    /// The index along `axis` at every point of `shape`.
    #[track_caller]
    pub fn iota(shape: &[usize], axis: usize, dtype: DType, device: u32) -> Expr {
        if axis >= shape.len() {
            return Expr::shape_error("iota", format!("axis {axis} of a shape of rank {}", shape.len()), &[]);
        }
        Expr::with(Op::Iota { axis }, Inputs::new(), shape, dtype, device, None)
    }

    /// Word `word` of Philox4x32-10 at every element; `seed` and `offset` are rank-0 `U64`.
    #[track_caller]
    pub fn random(shape: &[usize], word: u8, seed: &Expr, offset: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("random", &[seed, offset]) {
            return invalid;
        }
        if seed.dtype() != DType::U64 || offset.dtype() != DType::U64 || seed.rank() + offset.rank() > 0 || word > 3 {
            return Expr::dtype_error("random", "seed and offset are rank-0 u64, the word is 0 to 3".into(), &[seed, offset]);
        }
        Expr::new(Op::Random { word }, [seed.clone(), offset.clone()], shape, DType::U32)
    }
}
