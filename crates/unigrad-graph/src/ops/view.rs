//! Views: the same elements in another arrangement. A view is not a copy: the kernel that reads it computes the address.

use crate::{Expr, Op, PadAxis, Shape, SliceAxis, numel};
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal};

impl Expr {
    /// The same elements in row-major order.
    #[track_caller]
    pub fn reshape(&self, shape: &[usize]) -> Expr {
        if self.error().is_some() || self.shape().as_slice() == shape {
            return self.clone();
        }
        if numel(shape) != self.numel() {
            let message = format!("{:?} has {} elements, {shape:?} has {}", self.shape(), self.numel(), numel(shape));
            return Expr::shape_error("reshape", message, &[self]);
        }
        match self.op() {
            Op::Const(value) => return Expr::constant(*value, shape, self.device()),
            Op::Reshape => {
                if let Some(input) = self.input(0).filter(|input| self.data().is_none() && input.needs_grad() == self.needs_grad()) {
                    return input.reshape(shape);
                }
            }
            _ => {}
        }
        Expr::new(Op::Reshape, [self.clone()], Shape::from_slice(shape), self.dtype())
    }

    /// Axis `i` of the result is axis `perm[i]`.
    #[track_caller]
    pub fn permute(&self, perm: &[usize]) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, self.rank());
        let valid = perm.len() == self.rank() && perm.iter().all(|p| *p < self.rank() && !std::mem::replace(&mut seen[*p], true));
        if !valid {
            return Expr::shape_error("permute", format!("{perm:?} is not an order of the axes of {:?}", self.shape()), &[self]);
        }
        if perm.iter().enumerate().all(|(i, p)| i == *p) {
            return self.clone();
        }
        let shape = perm.iter().map(|p| self.shape()[*p]).collect();
        Expr::new(Op::Permute(perm.iter().map(|p| *p as u8).collect()), [self.clone()], shape, self.dtype())
    }

    /// NumPy's `broadcast_to`.
    #[track_caller]
    pub fn expand(&self, shape: &[usize]) -> Expr {
        if self.error().is_some() || self.shape().as_slice() == shape {
            return self.clone();
        }
        let lead = shape.len().wrapping_sub(self.rank());
        let fits = shape.len() >= self.rank() && self.shape().iter().zip(&shape[lead..]).all(|(from, to)| from == to || *from == 1);
        if !fits {
            return Expr::shape_error("expand", format!("{:?} does not broadcast to {shape:?}", self.shape()), &[self]);
        }
        match self.op() {
            Op::Const(value) => return Expr::constant(*value, shape, self.device()),
            Op::Scalar => {
                if let Some(value) = self.scalar_value() {
                    return Expr::scalar(value, shape, self.device());
                }
            }
            _ => {}
        }
        Expr::new(Op::Expand, [self.clone()], Shape::from_slice(shape), self.dtype())
    }

    /// A part, with steps; one entry per axis.
    #[track_caller]
    pub fn slice(&self, axes: &[SliceAxis]) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let inside = |axis: &SliceAxis, size: usize| {
            let last = axis.start as i128 + axis.step as i128 * (axis.len as i128 - 1);
            axis.step != 0 && (axis.len == 0 || (axis.start < size && (0..size as i128).contains(&last)))
        };
        if axes.len() != self.rank() || !axes.iter().zip(self.shape()).all(|(axis, size)| inside(axis, *size)) {
            return Expr::shape_error("slice", format!("{axes:?} is not inside {:?}", self.shape()), &[self]);
        }
        if axes.iter().zip(self.shape()).all(|(axis, size)| axis.start == 0 && axis.step == 1 && axis.len == *size) {
            return self.clone();
        }
        let shape = axes.iter().map(|axis| axis.len).collect();
        Expr::new(Op::Slice(axes.into()), [self.clone()], shape, self.dtype())
    }

    /// `start .. start + len` of one axis.
    #[track_caller]
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Expr {
        let whole = |size: &usize| SliceAxis { start: 0, step: 1, len: *size };
        let mut axes: SmallVec<[SliceAxis; 6]> = self.shape().iter().map(whole).collect();
        if let Some(entry) = axes.get_mut(axis) {
            *entry = SliceAxis { start, step: 1, len };
        }
        self.slice(&axes)
    }

    /// Fill around and between the elements; one entry per axis.
    #[track_caller]
    pub fn pad(&self, axes: &[PadAxis], fill: Literal) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        if axes.len() != self.rank() || fill.dtype() != self.dtype() {
            return Expr::shape_error("pad", format!("{} entries for {:?}, filled with {fill:?}", axes.len(), self.shape()), &[self]);
        }
        if axes.iter().all(|axis| *axis == PadAxis::default()) {
            return self.clone();
        }
        let size = |(axis, size): (&PadAxis, &usize)| axis.lo + axis.hi + size + axis.interior * size.saturating_sub(1);
        let shape = axes.iter().zip(self.shape()).map(size).collect();
        Expr::new(Op::Pad(axes.into(), fill), [self.clone()], shape, self.dtype())
    }

    /// One after another along `axis`.
    #[track_caller]
    pub fn concat(parts: &[Expr], axis: usize) -> Expr {
        let refs: SmallVec<[&Expr; 8]> = parts.iter().collect();
        if let Some(invalid) = Expr::check_inputs("concat", &refs) {
            return invalid;
        }
        let Some(first) = parts.first() else {
            return Expr::shape_error("concat", "no tensors given".into(), &[]);
        };
        let same = |part: &Expr| {
            part.dtype() == first.dtype()
                && part.rank() == first.rank()
                && (0..first.rank()).all(|i| i == axis || part.shape()[i] == first.shape()[i])
        };
        if axis >= first.rank() || !parts.iter().all(same) {
            let shapes: Vec<_> = parts.iter().map(|part| part.shape().clone()).collect();
            return Expr::shape_error("concat", format!("shapes {shapes:?} (or dtypes) do not fit along axis {axis}"), &refs);
        }
        if parts.len() == 1 {
            return first.clone();
        }
        let mut shape = first.shape().clone();
        shape[axis] = parts.iter().map(|part| part.shape()[axis]).sum();
        Expr::new(Op::Concat { axis }, parts.iter().cloned(), shape, first.dtype())
    }

    /// Sliding windows; see [`Op::Window`].
    #[track_caller]
    pub fn window(&self, axis: usize, size: usize, step: usize, dilation: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let span = dilation * size.saturating_sub(1) + 1;
        if axis >= self.rank() || size == 0 || step == 0 || dilation == 0 || self.shape()[axis] < span {
            let message = format!("a window of {size} (step {step}, dilation {dilation}) along axis {axis} of {:?}", self.shape());
            return Expr::shape_error("unfold", message, &[self]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = (shape[axis] - span) / step + 1;
        shape.push(size);
        Expr::new(Op::Window { axis, size, step, dilation }, [self.clone()], shape, self.dtype())
    }

    /// `len` elements of `axis` from a run-time position on.
    #[track_caller]
    pub fn dyn_slice(&self, axis: usize, start: &Expr, len: usize) -> Expr {
        if let Some(invalid) = Expr::check_inputs("dyn_slice", &[self, start]) {
            return invalid;
        }
        if axis >= self.rank() || len > self.shape()[axis] || start.rank() != 0 || start.dtype() != DType::I64 {
            let message = format!("{len} elements of axis {axis} of {:?} from a rank-0 i64 position", self.shape());
            return Expr::shape_error("dyn_slice", message, &[self, start]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = len;
        Expr::new(Op::DynSlice { axis }, [self.clone(), start.clone()], shape, self.dtype())
    }

    /// The tensor with `update` written over it along `axis` from a run-time position on.
    #[track_caller]
    pub fn dyn_update(&self, axis: usize, update: &Expr, start: &Expr) -> Expr {
        if let Some(invalid) = Expr::check_inputs("dyn_update", &[self, update, start]) {
            return invalid;
        }
        let fits = update.rank() == self.rank()
            && axis < self.rank()
            && (0..self.rank())
                .all(|i| if i == axis { update.shape()[i] <= self.shape()[i] } else { update.shape()[i] == self.shape()[i] });
        if !fits || update.dtype() != self.dtype() || start.rank() != 0 || start.dtype() != DType::I64 {
            let message = format!("{:?} into {:?} along axis {axis} at a rank-0 i64 position", update.shape(), self.shape());
            return Expr::shape_error("dyn_update", message, &[self, update, start]);
        }
        Expr::new(Op::DynUpdate { axis }, [self.clone(), update.clone(), start.clone()], self.shape().clone(), self.dtype())
    }
}
