//! Statistics: sums that skip NaN, medians, quantiles, the most frequent values, differences, distances.
//!
//! Always: what orders elements has NaN as the greatest, and gives NaN where there is one unless it skips them; the gradient goes to the elements
//! that were taken.

use crate::{
    Axes, Tensor,
    arithmetic::K,
    axes::{resolve_axis, scalar_as_vector},
    reduce::{counted, scaled},
    rules::power_norm,
};
use unigrad_graph::{DType, ErrorKind, Expr};

/// Which number a quantile is that falls between two elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// On the line between them.
    #[default]
    Linear,
    /// The lesser.
    Lower,
    /// The greater.
    Higher,
    /// The nearer, the one of even position if both are.
    Nearest,
    /// The mean of both.
    Midpoint,
}

impl Tensor {
    /// Sum over axes (`()`: all) of what is not NaN.
    #[track_caller]
    pub fn nansum(&self, axes: impl Axes) -> Tensor {
        if let Some(cast) = crate::autocast::entered("nansum") {
            return cast.of(self).nansum(axes);
        }
        self.without_nan().sum(axes)
    }

    /// Mean over axes (`()`: all) of what is not NaN; NaN where there is nothing else.
    #[track_caller]
    pub fn nanmean(&self, axes: impl Axes) -> Tensor {
        if let Some(cast) = crate::autocast::entered("nanmean") {
            return cast.of(self).nanmean(axes);
        }
        let axes = Listed(axes.axes());
        let x = self.float();
        let (sum, count) = (x.without_nan().sum(axes.clone()), x.isnan().logical_not().sum(axes));
        let dtype = x.dtype();
        (sum.cast(dtype.compute()) / count.cast(dtype.compute())).cast(dtype)
    }

    fn without_nan(&self) -> Tensor {
        if self.dtype().is_float() { self.isnan().where_(K(0.0), self) } else { self.clone() }
    }

    /// Both extremes over axes: the least and the greatest.
    #[track_caller]
    pub fn aminmax(&self, axes: impl Axes) -> (Tensor, Tensor) {
        let axes = Listed(axes.axes());
        (self.min(axes.clone()), self.max(axes))
    }

    /// The variance with any correction: the sum of squares is divided by `n - correction`, or by 0 where that is negative. See [`Tensor::var`].
    #[track_caller]
    pub fn var_with(&self, axes: impl Axes, correction: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("var_with") {
            return cast.of(self).var_with(axes, correction);
        }
        let axes = Listed(axes.axes());
        let x = self.float();
        let counted = match counted(&x.expr(), "var", &axes.0) {
            Ok(counted) => counted,
            Err(invalid) => return Tensor::from_expr(invalid),
        };
        let wide = x.cast(x.dtype().compute());
        let centered = &wide - wide.mean_keepdim(axes.clone());
        scaled(&centered.square().sum(axes), &x, counted, |n| 1.0 / (n - correction).max(0.0)).cast(x.dtype())
    }

    /// Index (`I64`) of the first greatest of all elements, in row-major order.
    #[track_caller]
    pub fn argmax_all(&self) -> Tensor {
        self.flatten_all().argmax(0)
    }

    /// Index (`I64`) of the first least of all elements, in row-major order.
    #[track_caller]
    pub fn argmin_all(&self) -> Tensor {
        self.flatten_all().argmin(0)
    }

    /// The `k`-th least element along an axis, counted from 1, and its index (`I64`).
    #[track_caller]
    pub fn kthvalue(&self, k: usize, axis: isize) -> (Tensor, Tensor) {
        let size = match self.sorted_size("kthvalue", axis) {
            Ok(size) => size,
            Err(invalid) => return (invalid.clone(), invalid),
        };
        if k == 0 || k > size {
            let message = format!("element {k} of axis {axis} of {:?}", self.shape());
            let invalid = Tensor::fail(ErrorKind::Argument, "kthvalue", message, "k counts from 1 to the size of the axis", &[self]);
            return (invalid.clone(), invalid);
        }
        let place = self.argsort(axis, false).at(axis, k - 1);
        (self.picked(axis, &place), place)
    }

    /// The median along an axis, the lesser of the middle two, and its index (`I64`); NaN where there is one.
    #[track_caller]
    pub fn median(&self, axis: isize) -> (Tensor, Tensor) {
        let _within = crate::autocast::within();
        self.median_as("median", axis, false)
    }

    /// As [`Tensor::median`], of what is not NaN.
    #[track_caller]
    pub fn nanmedian(&self, axis: isize) -> (Tensor, Tensor) {
        let _within = crate::autocast::within();
        self.median_as("nanmedian", axis, true)
    }

    #[track_caller]
    fn median_as(&self, op: &str, axis: isize, skips: bool) -> (Tensor, Tensor) {
        let size = match self.sorted_size(op, axis) {
            Ok(size) => size,
            Err(invalid) => return (invalid.clone(), invalid),
        };
        let order = self.argsort(axis, false);
        let place = match (self.dtype().is_float(), skips) {
            (false, _) => order.at(axis, (size - 1) / 2),
            (true, true) => {
                // NaN are last: the middle of the others.
                let numbers = self.isnan().logical_not().sum(axis);
                let middle = (numbers - 1).floor_div(2).maximum(0);
                order.picked(axis, &middle)
            }
            (true, false) => {
                // The first NaN, which is the greatest.
                let nan = self.isnan();
                nan.any(axis).where_(self.argmax(axis), order.at(axis, (size - 1) / 2))
            }
        };
        (self.picked(axis, &place), place)
    }

    /// The most frequent value along an axis, the least of equally frequent ones, and the index (`I64`) of its last occurrence.
    #[track_caller]
    pub fn mode(&self, axis: isize) -> (Tensor, Tensor) {
        let size = match self.sorted_size("mode", axis) {
            Ok(size) => size,
            Err(invalid) => return (invalid.clone(), invalid),
        };
        if self.rank() == 0 {
            return (Tensor::from_expr(self.expr().identity()), self.argsort(axis, false));
        }
        let (sorted, order) = self.sort(axis, false);
        let place = order.positions(axis);
        // Where a run of equal values begins, carried along it.
        let begins = Tensor::concat(
            &[&sorted.narrow(axis, 0, 1).isnan().logical_or(true), &sorted.narrow(axis, 1, size - 1).ne(sorted.narrow(axis, 0, size - 1))],
            axis,
        );
        let start = begins.where_(&place, -1_i64).cummax(axis);
        let end = (place - start).argmax(axis);
        let index = order.picked(axis, &end);
        (self.picked(axis, &index), index)
    }

    /// The `q`-quantile along an axis, `q` from 0 to 1; NaN where there is one. Integers become `f32`.
    #[track_caller]
    pub fn quantile(&self, q: f64, axis: isize, interpolation: Interpolation) -> Tensor {
        if let Some(cast) = crate::autocast::entered("quantile") {
            return cast.of(self).quantile(q, axis, interpolation);
        }
        self.quantile_as("quantile", q, axis, interpolation, false)
    }

    /// As [`Tensor::quantile`], of what is not NaN.
    #[track_caller]
    pub fn nanquantile(&self, q: f64, axis: isize, interpolation: Interpolation) -> Tensor {
        if let Some(cast) = crate::autocast::entered("nanquantile") {
            return cast.of(self).nanquantile(q, axis, interpolation);
        }
        self.quantile_as("nanquantile", q, axis, interpolation, true)
    }

    #[track_caller]
    fn quantile_as(&self, op: &str, q: f64, axis: isize, interpolation: Interpolation, skips: bool) -> Tensor {
        let x = self.float();
        let size = match x.sorted_size(op, axis) {
            Ok(size) => size,
            Err(invalid) => return invalid,
        };
        if !(0.0..=1.0).contains(&q) {
            return Tensor::fail(ErrorKind::Argument, op, format!("q is {q}"), "a quantile is between 0 and 1", &[self]);
        }
        let wide = x.dtype().compute();
        let nan = x.isnan();
        let numbers = nan.logical_not().sum(axis);
        let last = if skips { (&numbers - 1).maximum(0).cast(wide) } else { numbers.zeros_like().cast(wide) + K(size as f64 - 1.0) };
        let position = last * K(q);
        let (low, high) = (position.floor(), position.ceil());
        let (_, order) = x.sort(axis, false);
        let at = |position: &Tensor| {
            let place = order.picked(axis, &position.cast(DType::I64));
            x.picked(axis, &place).cast(wide)
        };
        let value = match interpolation {
            Interpolation::Lower => at(&low),
            Interpolation::Higher => at(&high),
            Interpolation::Nearest => at(&position.round()),
            Interpolation::Midpoint => (at(&low) + at(&high)) * K(0.5),
            Interpolation::Linear => {
                let (a, b) = (at(&low), at(&high));
                a.lerp(&b, (&position - &low).cast(wide))
            }
        };
        let empty = if skips { numbers.eq(0) } else { nan.any(axis) };
        empty.where_(K(f64::NAN), value).cast(x.dtype())
    }

    /// The greatest so far along an axis, and the index (`I64`) of its last occurrence; a NaN stays.
    #[track_caller]
    pub fn cummax_with_index(&self, axis: isize) -> (Tensor, Tensor) {
        self.running_with_index(axis, self.cummax(axis))
    }

    /// The least so far along an axis, and the index (`I64`) of its last occurrence; a NaN stays.
    #[track_caller]
    pub fn cummin_with_index(&self, axis: isize) -> (Tensor, Tensor) {
        self.running_with_index(axis, self.cummin(axis))
    }

    #[track_caller]
    fn running_with_index(&self, axis: isize, running: Tensor) -> (Tensor, Tensor) {
        if running.is_invalid() {
            return (running.clone(), running);
        }
        let x = self.detach();
        let newest = x.eq(running.detach()).logical_or(x.isnan());
        let index = newest.where_(newest.positions(axis), 0_i64).cummax(axis);
        // The gradient goes to the element that the index names.
        (self.gather(axis, &index), index)
    }

    /// Differences of neighbours along an axis, `n` times over.
    #[track_caller]
    pub fn diff(&self, n: usize, axis: isize) -> Tensor {
        let _within = crate::autocast::within();
        let mut x = Tensor::from_expr(self.expr().identity());
        for _ in 0..n {
            let e = x.expr();
            let at = match resolve_axis(&e, "diff", axis as i64) {
                Ok(at) => at,
                Err(invalid) => return Tensor::from_expr(invalid),
            };
            if e.shape()[at] == 0 {
                break;
            }
            let (after, before) = (Tensor::from_expr(e.inner(at, 1, 0, 1)), Tensor::from_expr(e.inner(at, 0, 1, 1)));
            x = if x.dtype() == DType::Bool { after.logical_xor(&before) } else { after - before };
        }
        x
    }

    /// The integral along an axis by the trapezoidal rule, with samples `dx` apart.
    #[track_caller]
    pub fn trapezoid(&self, dx: f64, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("trapezoid") {
            return cast.of(self).trapezoid(dx, axis);
        }
        match self.trapezoids("trapezoid", dx, axis) {
            Ok(parts) => parts.sum(axis),
            Err(invalid) => invalid,
        }
    }

    /// The running integral along an axis by the trapezoidal rule, with samples `dx` apart.
    #[track_caller]
    pub fn cumulative_trapezoid(&self, dx: f64, axis: isize) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cumulative_trapezoid") {
            return cast.of(self).cumulative_trapezoid(dx, axis);
        }
        match self.trapezoids("cumulative_trapezoid", dx, axis) {
            Ok(parts) => parts.cumsum(axis),
            Err(invalid) => invalid,
        }
    }

    #[track_caller]
    fn trapezoids(&self, op: &str, dx: f64, axis: isize) -> Result<Tensor, Tensor> {
        let x = self.float();
        let e = x.expr();
        let at = resolve_axis(&e, op, axis as i64).map_err(Tensor::from_expr)?;
        let (after, before) = (Tensor::from_expr(e.inner(at, 1, 0, 1)), Tensor::from_expr(e.inner(at, 0, 1, 1)));
        Ok((after + before) * (0.5 * dx))
    }

    /// Distances by the `p`-norm of all rows of `self` `[.., n, d]` from all rows of `other` `[.., m, d]`: `[.., n, m]`; batch axes broadcast.
    /// Where two rows are equal, the gradient is 0.
    #[track_caller]
    pub fn cdist(&self, other: &Tensor, p: f64) -> Tensor {
        if let Some(cast) = crate::autocast::entered("cdist") {
            return cast.of(self).cdist(&cast.of(other), p);
        }
        let (a, b) = (self.float(), other.float());
        if a.is_invalid() || b.is_invalid() {
            return if a.is_invalid() { a } else { b };
        }
        if a.rank() < 2 || b.rank() < 2 || a.size(-1) != b.size(-1) {
            let message = format!("rows of {:?} and {:?}", a.shape(), b.shape());
            return Tensor::fail(ErrorKind::Shape, "cdist", message, "both are [.., rows, d] with one d", &[self, other]);
        }
        if p.is_nan() || p < 0.0 {
            return Tensor::fail(ErrorKind::Argument, "cdist", format!("p is {p}"), "a norm has a p of 0 or more", &[self]);
        }
        let apart = a.unsqueeze(-2) - b.unsqueeze(-3);
        if p == 0.0 || p == 1.0 || p.is_infinite() || apart.size(-1) == 0 {
            return apart.norm(p, -1);
        }
        let dtype = apart.dtype();
        let wide = apart.cast(dtype.compute());
        power_norm(&wide, p, |powers| powers.sum_keepdim(-1)).squeeze(-1).cast(dtype)
    }

    /// The size of an axis that is to be ordered, which is not 0.
    #[track_caller]
    fn sorted_size(&self, op: &str, axis: isize) -> Result<usize, Tensor> {
        let e = self.expr();
        if scalar_as_vector(&e, axis as i64).is_some() {
            return Ok(1);
        }
        let at = resolve_axis(&e, op, axis as i64).map_err(Tensor::from_expr)?;
        match e.shape()[at] {
            0 => {
                let message = format!("axis {axis} of {:?} has no elements", e.shape());
                Err(Tensor::fail(ErrorKind::Shape, op, message, "take an axis that has elements", &[self]))
            }
            size => Ok(size),
        }
    }

    /// Element `i` along an axis, without it; of rank 0 the tensor itself.
    #[track_caller]
    fn at(&self, axis: isize, i: usize) -> Tensor {
        if self.rank() == 0 { self.clone() } else { self.select(axis, i as i64) }
    }

    /// The elements along an axis that an index without that axis names.
    #[track_caller]
    fn picked(&self, axis: isize, index: &Tensor) -> Tensor {
        if self.rank() == 0 {
            return self.gather(axis, index);
        }
        self.gather(axis, &index.unsqueeze(axis)).squeeze(axis)
    }

    /// Each element's position along an axis.
    #[track_caller]
    fn positions(&self, axis: isize) -> Tensor {
        let e = self.expr();
        if e.rank() == 0 {
            return Tensor::from_expr(Expr::constant(unigrad_graph::Literal::int(DType::I64, 0), &[], e.device()));
        }
        match resolve_axis(&e, "positions", axis as i64) {
            Ok(axis) => Tensor::from_expr(e.iota_like(axis, DType::I64)),
            Err(invalid) => Tensor::from_expr(invalid),
        }
    }
}

/// Axes that were read already.
#[derive(Clone)]
struct Listed(Option<Vec<i64>>);

impl Axes for Listed {
    fn axes(self) -> Option<Vec<i64>> {
        self.0
    }
}
