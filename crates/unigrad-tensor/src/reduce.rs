//! Reductions and scans. Each reduction has a `_keepdim` form that leaves its axes with size 1. How far results may be off, with `u` the
//! rounding error of the dtype that they are computed in: [`crate::accuracy`].

use crate::{
    Axes, Tensor,
    arithmetic::K,
    axes::{axes_mask, resolve_axes, resolve_axis, scalar_as_vector},
    math::greatest,
    promotion::{to_float, to_sum},
    rules::{flat, power_norm, root},
};
use unigrad_graph::{ArgReduceOp, DType, ErrorKind, Expr, ReduceOp, ScanOp};

/// Without the given axes, which have size 1.
#[track_caller]
fn drop_axes(x: &Expr, axes: &[usize], keepdim: bool) -> Expr {
    if keepdim || x.error().is_some() {
        return x.clone();
    }
    x.remove_axes(axes)
}

#[track_caller]
fn try_reduce(x: &Expr, name: &str, op: ReduceOp, axes: Option<Vec<i64>>, keepdim: bool) -> Result<Expr, Expr> {
    let axes = resolve_axes(x, name, axes)?;
    let mask = axes_mask(x, name, &axes)?;
    if matches!(op, ReduceOp::Max | ReduceOp::Min) && x.dtype() != DType::Bool && axes.iter().any(|axis| x.shape()[*axis] == 0) {
        let message = format!("axes {axes:?} of {:?} have no elements, so there is no extreme one", x.shape());
        return Err(Expr::fail(ErrorKind::Shape, name, message, "reduce axes that have elements", &[x]));
    }
    Ok(drop_axes(&x.reduce(op, mask), &axes, keepdim))
}

#[track_caller]
fn try_arg(x: &Expr, name: &str, op: ArgReduceOp, axis: i64, keepdim: bool) -> Result<Expr, Expr> {
    if let Some(vector) = scalar_as_vector(x, axis) {
        return try_arg(&vector, name, op, axis, false);
    }
    let axis = resolve_axis(x, name, axis)?;
    if x.shape()[axis] == 0 {
        let message = format!("axis {axis} of {:?} has no elements, so there is no extreme one", x.shape());
        return Err(Expr::fail(ErrorKind::Shape, name, message, "reduce an axis that has elements", &[x]));
    }
    Ok(drop_axes(&x.arg_reduce(op, axis), &[axis], keepdim))
}

#[track_caller]
fn try_scan(x: &Expr, op: ScanOp, axis: i64, reverse: bool) -> Result<Expr, Expr> {
    if let Some(vector) = scalar_as_vector(x, axis) {
        return Ok(try_scan(&vector, op, axis, reverse)?.reshape(&[]));
    }
    let axis = resolve_axis(x, op.name(), axis)?;
    // What is of floats alone says so itself. Results of other sums and products of integers are beyond the elements' range.
    if op.rounds() && !op.needs_floats() {
        return Ok(x.cast(to_sum(x.dtype())).scan(op, axis, reverse));
    }
    // As numbers 0 and 1.
    if x.dtype() == DType::Bool && !op.needs_floats() {
        return Ok(x.cast(DType::U8).scan(op, axis, reverse).cast(DType::Bool));
    }
    Ok(x.scan(op, axis, reverse))
}

/// The axes that a reduction over `axes` goes over, as a mask.
#[track_caller]
pub(crate) fn counted(x: &Expr, name: &str, axes: &Option<Vec<i64>>) -> Result<u32, Expr> {
    axes_mask(x, name, &resolve_axes(x, name, axes.clone())?)
}

/// `y` times a function of how many elements of `x` there are along axes of a mask.
#[track_caller]
pub(crate) fn scaled(y: &Tensor, x: &Tensor, axes: u32, value: impl Fn(f64) -> f64) -> Tensor {
    let y = y.expr();
    match y.error() {
        Some(_) => Tensor::from_expr(y),
        None => Tensor::from_expr(y.mul(&y.count_like(&x.expr(), axes, value))),
    }
}

impl Tensor {
    #[track_caller]
    fn reduction(&self, name: &str, op: ReduceOp, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        Tensor::from_result(try_reduce(&self.expr(), name, op, axes, keepdim))
    }

    #[track_caller]
    fn sum_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.cast(to_sum(self.dtype())).reduction("sum", ReduceOp::Sum, axes, keepdim)
    }

    #[track_caller]
    fn prod_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.cast(to_sum(self.dtype())).reduction("prod", ReduceOp::Prod, axes, keepdim)
    }

    #[track_caller]
    fn max_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.reduction("max", ReduceOp::Max, axes, keepdim)
    }

    #[track_caller]
    fn min_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.reduction("min", ReduceOp::Min, axes, keepdim)
    }

    #[track_caller]
    fn any_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.cast(DType::Bool).reduction("any", ReduceOp::Max, axes, keepdim)
    }

    #[track_caller]
    fn all_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.cast(DType::Bool).reduction("all", ReduceOp::Min, axes, keepdim)
    }

    #[track_caller]
    fn mean_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        let x = self.float();
        let counted = match counted(&x.expr(), "mean", &axes) {
            Ok(counted) => counted,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let wide = x.cast(x.dtype().compute()).reduction("mean", ReduceOp::Sum, axes, keepdim);
        scaled(&wide, &x, counted, |n| 1.0 / n).cast(x.dtype())
    }

    #[track_caller]
    fn logsumexp_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        let x = self.float();
        let resolved = match resolve_axes(&x.expr(), "logsumexp", axes.clone()) {
            Ok(resolved) => resolved,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let wide = x.cast(x.dtype().compute());
        if resolved.iter().any(|axis| wide.shape()[*axis] == 0) {
            return wide.exp().sum_as(axes, keepdim).log().cast(x.dtype());
        }
        let top = wide.max_as(axes.clone(), true).detach();
        // An infinite maximum would give inf - inf; the greatest number leaves 0 of all that is finite beside it, in gradients too.
        let most = greatest(wide.dtype());
        let top = top.minimum(K(most)).maximum(K(-most));
        let sum = (&wide - &top).exp().sum_as(axes, true).log() + top;
        Tensor::from_expr(drop_axes(&sum.expr(), &resolved, keepdim)).cast(x.dtype())
    }

    /// A reduction by a row of [`ScanOp`], of floats.
    #[track_caller]
    fn total_as(&self, op: ScanOp, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        let x = self.float();
        let wide = x.cast(x.dtype().compute()).expr();
        let total = resolve_axes(&wide, op.name(), axes)
            .and_then(|axes| Ok(drop_axes(&wide.total(op, axes_mask(&wide, op.name(), &axes)?), &axes, keepdim)));
        Tensor::from_result(total).cast(x.dtype())
    }

    #[track_caller]
    fn nrm2_as(&self, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        self.total_as(ScanOp::Hypot, axes, keepdim)
    }
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $keep:ident = $inner:ident),* $(,)?) => { impl Tensor { $(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(&self, axes: impl Axes) -> Tensor {
            if let Some(cast) = crate::autocast::entered(stringify!($name)) {
                return cast.of(self).$inner(axes.axes(), false);
            }
            self.$inner(axes.axes(), false)
        }
        #[doc = concat!("[`Tensor::", stringify!($name), "`], with the axes left at size 1.")]
        #[track_caller]
        pub fn $keep(&self, axes: impl Axes) -> Tensor {
            if let Some(cast) = crate::autocast::entered(stringify!($name)) {
                return cast.of(self).$inner(axes.axes(), true);
            }
            self.$inner(axes.axes(), true)
        }
    )* } };
}
reductions!(
    /// Sum over axes (`()`: all). [Off by at most](crate::accuracy) 128 u · Σ|x|, however many elements there are.
    sum sum_keepdim = sum_as,
    /// Product over axes. [Off by at most](crate::accuracy) n u of itself for n elements.
    prod prod_keepdim = prod_as,
    /// Mean over axes; NaN of no elements. [Off by at most](crate::accuracy) 130 u · mean |x|.
    mean mean_keepdim = mean_as,
    /// The greatest over axes, NaN if there is one. Equal ones share the gradient.
    max max_keepdim = max_as,
    /// The least over axes, NaN if there is one. Equal ones share the gradient.
    min min_keepdim = min_as,
    /// Whether any element is true (not 0).
    any any_keepdim = any_as,
    /// Whether all elements are true (not 0).
    all all_keepdim = all_as,
    /// `log(sum(exp(x)))`, without overflow. [Off by at most](crate::accuracy) 256 u of itself, or 256 u where that is more.
    logsumexp logsumexp_keepdim = logsumexp_as,
    /// The root of the sum of squares, as BLAS has it: where [`Tensor::norm`] overflows or underflows on the way, it does not. Of zeros its gradient
    /// is 0. [Off by at most](crate::accuracy) 4 n u of itself for n elements.
    nrm2 nrm2_keepdim = nrm2_as,
);

impl Tensor {
    /// The variance, divided by `n - correction` (1: the unbiased estimate, 0: of the population). [Off by at most](crate::accuracy)
    /// 256 u of itself and (256 u · mean |x|)².
    #[track_caller]
    pub fn var(&self, axes: impl Axes, correction: usize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("var") {
            return cast.of(self).var(axes, correction);
        }
        self.variance("var", axes.axes(), correction, false)
    }

    /// [`Tensor::var`], with the axes left at size 1.
    #[track_caller]
    pub fn var_keepdim(&self, axes: impl Axes, correction: usize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("var") {
            return cast.of(self).var_keepdim(axes, correction);
        }
        self.variance("var", axes.axes(), correction, true)
    }

    /// The square root of [`Tensor::var`]; where all are equal, its gradient is 0. [Off by at most](crate::accuracy) 256 u of itself and
    /// 256 u · mean |x|.
    #[track_caller]
    pub fn std(&self, axes: impl Axes, correction: usize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("std") {
            return cast.of(self).std(axes, correction);
        }
        self.variance("std", axes.axes(), correction, false)
    }

    /// [`Tensor::std`], with the axes left at size 1.
    #[track_caller]
    pub fn std_keepdim(&self, axes: impl Axes, correction: usize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("std") {
            return cast.of(self).std_keepdim(axes, correction);
        }
        self.variance("std", axes.axes(), correction, true)
    }

    #[track_caller]
    fn variance(&self, name: &str, axes: Option<Vec<i64>>, correction: usize, keepdim: bool) -> Tensor {
        let x = self.float();
        let counted = match counted(&x.expr(), name, &axes) {
            Ok(counted) => counted,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let wide = x.cast(x.dtype().compute());
        let centered = &wide - wide.mean_as(axes.clone(), true);
        let squares = centered.square().sum_as(axes, keepdim);
        let variance = scaled(&squares, &x, counted, |n| 1.0 / (n - correction as f64).max(0.0));
        // A half type does not hold every variance whose root it holds.
        if name == "std" { root(&variance).cast(x.dtype()) } else { variance.cast(x.dtype()) }
    }

    /// The `p`-norm over axes: `(sum |x|^p)^(1/p)`; infinite `p` is the greatest (least) absolute value, 0 counts what is not 0.
    /// [Off by at most](crate::accuracy) 256 u of itself.
    ///
    /// The gradient is 0 where the norm is 0, of `p` below 1 also at each 0, and of `p` = 0 everywhere; equal extremes share it.
    #[track_caller]
    pub fn norm(&self, p: f64, axes: impl Axes) -> Tensor {
        if let Some(cast) = crate::autocast::entered("norm") {
            return cast.of(self).norm(p, axes);
        }
        self.norm_as(p, axes.axes(), false)
    }

    /// [`Tensor::norm`], with the axes left at size 1.
    #[track_caller]
    pub fn norm_keepdim(&self, p: f64, axes: impl Axes) -> Tensor {
        if let Some(cast) = crate::autocast::entered("norm") {
            return cast.of(self).norm_keepdim(p, axes);
        }
        self.norm_as(p, axes.axes(), true)
    }

    #[track_caller]
    fn norm_as(&self, p: f64, axes: Option<Vec<i64>>, keepdim: bool) -> Tensor {
        let x = self.float();
        let dtype = x.dtype();
        let wide = x.cast(dtype.compute());
        if let Err(invalid) = resolve_axes(&x.expr(), "norm", axes.clone()) {
            return Tensor::from_expr(invalid);
        }
        let norm = if p == f64::INFINITY {
            wide.abs().max_as(axes, keepdim)
        } else if p == f64::NEG_INFINITY {
            wide.abs().min_as(axes, keepdim)
        } else if p == 0.0 {
            flat("norm", &wide, |x| x.ne(K(0.0)).cast(x.dtype()).sum_as(axes, keepdim))
        } else if p == 1.0 {
            wide.abs().sum_as(axes, keepdim)
        } else {
            let resolved = match resolve_axes(&wide.expr(), "norm", axes.clone()) {
                Ok(resolved) => resolved,
                Err(invalid) => return Tensor::from_expr(invalid),
            };
            let kept = power_norm(&wide, p, |powers| powers.sum_as(axes, true));
            Tensor::from_expr(drop_axes(&kept.expr(), &resolved, keepdim))
        };
        norm.cast(dtype)
    }

    /// Index (`I64`) of the first greatest element along an axis; a NaN counts as the greatest.
    #[track_caller]
    pub fn argmax(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_arg(&self.expr(), "argmax", ArgReduceOp::ArgMax, axis as i64, false))
    }

    /// [`Tensor::argmax`], with the axis left at size 1.
    #[track_caller]
    pub fn argmax_keepdim(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_arg(&self.expr(), "argmax", ArgReduceOp::ArgMax, axis as i64, true))
    }

    /// Index (`I64`) of the first least element along an axis; a NaN counts as the least.
    #[track_caller]
    pub fn argmin(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_arg(&self.expr(), "argmin", ArgReduceOp::ArgMin, axis as i64, false))
    }

    /// [`Tensor::argmin`], with the axis left at size 1.
    #[track_caller]
    pub fn argmin_keepdim(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_arg(&self.expr(), "argmin", ArgReduceOp::ArgMin, axis as i64, true))
    }

    /// The greatest elements along an axis, and their indices; the gradient goes to the first of equal ones.
    #[track_caller]
    pub fn max_with_index(&self, axis: isize) -> (Tensor, Tensor) {
        self.extreme("max_with_index", ArgReduceOp::ArgMax, axis)
    }

    /// The least elements along an axis, and their indices; the gradient goes to the first of equal ones.
    #[track_caller]
    pub fn min_with_index(&self, axis: isize) -> (Tensor, Tensor) {
        self.extreme("min_with_index", ArgReduceOp::ArgMin, axis)
    }

    #[track_caller]
    fn extreme(&self, name: &str, op: ArgReduceOp, axis: isize) -> (Tensor, Tensor) {
        let index = Tensor::from_result(try_arg(&self.expr(), name, op, axis as i64, true));
        if index.rank() == 0 || index.is_invalid() {
            // Of a tensor of rank 0 the only element.
            return (self.gather(axis, &index), index);
        }
        (self.gather(axis, &index).squeeze(axis), index.squeeze(axis))
    }

    /// Running sum along an axis. [Off by at most](crate::accuracy) 128 u · Σ|x| of the elements so far: as good at the end as at the start.
    #[track_caller]
    pub fn cumsum(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cumsum") {
            return cast.of(self).cumsum(axis);
        }
        Tensor::from_result(try_scan(&self.expr(), ScanOp::Sum, axis as i64, false))
    }

    /// Running product along an axis; [off by at most](crate::accuracy) i u of itself after i elements. Its gradient is right where elements
    /// are 0, and NaN where one is infinite.
    #[track_caller]
    pub fn cumprod(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cumprod") {
            return cast.of(self).cumprod(axis);
        }
        Tensor::from_result(try_scan(&self.expr(), ScanOp::Prod, axis as i64, false))
    }

    /// Running maximum along an axis.
    #[track_caller]
    pub fn cummax(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_scan(&self.expr(), ScanOp::Max, axis as i64, false))
    }

    /// Running minimum along an axis.
    #[track_caller]
    pub fn cummin(&self, axis: isize) -> Tensor {
        Tensor::from_result(try_scan(&self.expr(), ScanOp::Min, axis as i64, false))
    }

    /// Logarithm of the running sum of exponentials along an axis, without overflow; [off by at most](crate::accuracy)
    /// 4 i u · max(1, |yᵢ|) after i elements.
    #[track_caller]
    pub fn logcumsumexp(&self, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("logcumsumexp") {
            return cast.of(self).logcumsumexp(axis);
        }
        let x = self.float();
        // The gradient needs more digits of the result than a half type has.
        let wide = x.cast(x.dtype().compute());
        Tensor::from_result(try_scan(&wide.expr(), ScanOp::LogSumExp, axis as i64, false)).cast(x.dtype())
    }

    /// How many elements are not 0, over axes; `I64`.
    #[track_caller]
    pub fn count_nonzero(&self, axes: impl Axes) -> Tensor {
        let _within = crate::autocast::within();
        self.cast(DType::Bool).sum(axes)
    }

    /// The dtype functions of real numbers give for this tensor.
    pub(crate) fn float_dtype(&self) -> DType {
        to_float(self.dtype())
    }
}
