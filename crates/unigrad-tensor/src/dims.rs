//! Named axes: sizes that change from step to step without a new plan.
//!
//! In: a [`Dim`], a tensor one of whose axes has a size within its bounds. Out: the same tensor; its axis, and what is computed from it, has the
//! dimension's name.
//! Always: shapes, values and gradients are those of a tensor without names. Plans are made for a bucket of sizes, and memory is as long as the
//! bucket; what lies beyond an axis's size is never seen.
//! A size that is read on the host (`x.shape()[0]`) and given to an op is a number of the graph, right for this size: the op has a plan for each.
//! Methods that take another tensor for the size (`narrow_like`, `expand_as`, `zeros_like`, `rand_like`) have one for all.
//! Parts that count from the end (`x.i(1..)`, `x.i(..-1)`, `x.i(-1)`) follow the axis's size; `x.narrow(0, 0, 3)` has three elements whatever it is.
//! Random numbers along a named axis that is not the first depend on the bucket.

use crate::{Tensor, axes::resolve_axis, eval};
use unigrad_graph::{Dim, ErrorKind, Expr, Names};

impl Tensor {
    /// The same values, with a name for an axis: as long as sizes stay within a bucket of the dimension (powers of two times its divisor), what is
    /// computed keeps its plan.
    ///
    /// Name the axes of data before they are computed with. What is not computed yet is padded by a plan of its size, and so is what a gradient is asked for.
    ///
    /// ```
    /// # unigrad_device::register(unigrad_cpu::CpuDriver::default());
    /// use unigrad_tensor::{DType, Device, Dim, Tensor};
    ///
    /// let device = Device::open("cpu")?;
    /// let batch = Dim::named("batch", 1..=64)?;
    /// let w = Tensor::ones([3, 2], DType::F32, &device);
    /// for n in [5, 8, 7] {
    ///     let x = Tensor::ones([n, 3], DType::F32, &device).with_dim(0, &batch);
    ///     assert_eq!(x.matmul(&w).max(0).to_vec::<f32>()?, [3.0, 3.0]);
    /// }
    /// # Ok::<(), unigrad_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn with_dim(&self, axis: isize, dim: &Dim) -> Tensor {
        let x = self.expr();
        let axis = match resolve_axis(&x, "with_dim", axis as i64) {
            Ok(axis) => axis,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        match eval::with_dim(&x, axis, dim) {
            Ok(named) => Tensor::from_expr(named),
            Err(error) => {
                Tensor::fail(ErrorKind::Argument, "with_dim", error.to_string(), "the data could not be laid out; see the cause", &[self])
            }
        }
    }

    /// The same values, with no name for an axis: for ops that have no rule for names. Each size has a plan of its own from here on.
    #[track_caller]
    pub fn fixed(&self, axis: isize) -> Tensor {
        match resolve_axis(&self.expr(), "fixed", axis as i64) {
            Ok(axis) => Tensor::from_expr(self.expr().fixed(axis)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }

    /// The first elements along an axis, as many as `like` has along its axis `of`: with that axis's name, if it has one. For tables of which a
    /// sequence uses the first rows, and for positions: `Tensor::arange(0.0, 1024.0, ..).narrow_like(0, &x, 1)`.
    #[track_caller]
    pub fn narrow_like(&self, axis: isize, like: &Tensor, of: isize) -> Tensor {
        let (x, like) = (self.expr(), like.expr());
        match (resolve_axis(&x, "narrow_like", axis as i64), resolve_axis(&like, "narrow_like", of as i64)) {
            (Ok(axis), Ok(of)) => Tensor::from_expr(x.narrow_like(axis, &like, of)),
            (Err(invalid), _) | (_, Err(invalid)) => Tensor::from_expr(invalid),
        }
    }

    /// Whether an axis has a name; not where there is no such axis.
    pub fn is_named(&self, axis: isize) -> bool {
        let x = self.expr();
        let axis = if axis < 0 { axis + x.rank() as isize } else { axis };
        usize::try_from(axis).is_ok_and(|axis| x.is_named_axis(axis))
    }

    /// What the axes are called, for tools.
    pub fn names(&self) -> Option<Names> {
        self.expr().names().cloned()
    }
}

/// `x` in a shape of the same rank and axes, one of which is 1: what reductions leave, without it.
#[track_caller]
pub(crate) fn without_axis(x: &Expr, axis: usize) -> Expr {
    if x.error().is_some() { x.clone() } else { x.remove_axes(&[axis]) }
}
