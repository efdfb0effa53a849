//! Parts of named axes, whose sizes follow from the whole's: without the first or last elements, and back in their place.
//!
//! In: a tensor, which elements along an axis; for gradients, the tensor that the result is like. Out: nodes whose ops hold the current numbers and
//! whose types say what these follow from: of a named axis of the result, the planner takes the length from the type.
//! Always: without a name it is the plain op.

use super::{
    AxisNames, Names, Sum,
    named::{rename, typed},
};
use crate::{Expr, Inputs, Op, PadAxis, SliceAxis};
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal};

impl Expr {
    /// What an axis is called; nothing where it has no name.
    pub(crate) fn axis_names(&self, axis: usize) -> &[super::Factor] {
        self.names().and_then(|names| names.axes().get(axis)).map_or(&[], |axis| axis.as_slice())
    }

    /// Every `step`th element of an axis, without the first `before` and the last `after` ones: as many fewer whatever the axis's size is.
    #[track_caller]
    pub fn inner(&self, axis: usize, before: usize, after: usize, step: usize) -> Expr {
        let size = self.shape().get(axis).copied().unwrap_or(0); // DEFAULT: the slice says that there is no such axis
        let len = size.saturating_sub(before.saturating_add(after)).div_ceil(step.max(1));
        let mut axes = self.whole();
        if let Some(entry) = axes.get_mut(axis) {
            *entry = SliceAxis { start: if len == 0 { 0 } else { before }, step: step as i64, len };
        }
        let less = before.saturating_add(after) as i64;
        match Sum::of(size, self.axis_names(axis)) {
            Some(whole) if self.is_named_axis(axis) => {
                let names = self.names_with(axis, whole.plus(-less).every(step).axis());
                self.slice_named(&axes, names)
            }
            _ => self.slice(&axes),
        }
    }

    fn whole(&self) -> SmallVec<[SliceAxis; 6]> {
        self.shape().iter().map(|size| SliceAxis { start: 0, step: 1, len: *size }).collect()
    }

    /// A part whose axes are called so.
    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for a certain op")]
    fn slice_named(&self, axes: &[SliceAxis], names: Option<Names>) -> Expr {
        // The plain op of the same sizes says what is wrong with them.
        let plain = self.without_names().slice(axes);
        if plain.is_invalid() || self.is_invalid() || names.is_none() {
            return self.slice(axes);
        }
        let is_whole = |(axis, size): (&SliceAxis, &usize)| axis.start == 0 && axis.step == 1 && axis.len == *size;
        if self.names() == names.as_ref() && axes.iter().zip(self.shape()).all(is_whole) {
            return self.identity();
        }
        let (op, shape) = match plain.op() {
            op @ Op::Slice(_) => (op.clone(), plain.shape().clone()),
            // All of it: as numbers, but by its name a part.
            _ => (Op::Slice(axes.iter().copied().collect()), self.shape().clone()),
        };
        typed(&op, [self.clone()].into_iter().collect(), &shape, names, self.dtype(), self.device(), None)
    }

    /// A leaf of these sizes without names, to ask what an op would say.
    #[track_caller]
    fn without_names(&self) -> Expr {
        Expr::plain(&Op::Buffer, Inputs::new(), self.shape(), self.dtype(), self.device(), None)
    }

    /// The names of `like` along some axes, of `self` along the others.
    fn names_like(&self, like: &Expr, taken: impl Fn(usize) -> bool) -> Option<Names> {
        let of = |axis: usize| AxisNames::from(if taken(axis) { like.axis_names(axis) } else { self.axis_names(axis) });
        Names::new((0..like.rank()).map(of))
    }

    /// A part that is as long as `like`, and has its names where it has another one.
    #[track_caller]
    pub(crate) fn slice_like(&self, axes: &[SliceAxis], like: &Expr) -> Expr {
        if !self.is_named() {
            return self.slice(axes);
        }
        self.slice_named(axes, self.names_like(like, |axis| self.is_named_axis(axis)))
    }

    /// Fill around and between the elements, to the sizes and with the names of `like`.
    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for a certain op")]
    pub(crate) fn pad_like(&self, axes: &[PadAxis], fill: Literal, like: &Expr) -> Expr {
        let is_padded = |axis: usize| axes.get(axis).is_some_and(|pad| *pad != PadAxis::default());
        let names = self.names_like(like, |axis| is_padded(axis) || (self.is_named_axis(axis) && like.is_named_axis(axis)));
        if names.is_none() || self.is_invalid() {
            return self.pad(axes, fill);
        }
        let plain = self.without_names().pad(axes, fill);
        if plain.is_invalid() {
            return plain;
        }
        if self.names() == names.as_ref() && plain.shape() == self.shape() {
            return self.identity();
        }
        let (op, shape) = match plain.op() {
            op @ Op::Pad(..) => (op.clone(), plain.shape().clone()),
            _ => (Op::Pad(axes.iter().copied().collect(), fill), self.shape().clone()),
        };
        typed(&op, [self.clone()].into_iter().collect(), &shape, names, self.dtype(), self.device(), None)
    }

    /// Elements of `axis` from a run-time position on, as many as `like` has there, with the name that they have there.
    #[track_caller]
    pub(crate) fn dyn_slice_like(&self, axis: usize, start: &Expr, like: &Expr) -> Expr {
        if !like.is_named_axis(axis) || self.is_invalid() || start.is_invalid() {
            return self.dyn_slice(axis, start, like.shape()[axis]);
        }
        let mut shape = self.shape().clone();
        shape[axis] = like.shape()[axis];
        let names = self.names_with(axis, AxisNames::from(like.axis_names(axis)));
        let inputs = Inputs::from_buf([self.clone(), start.clone()]);
        typed(&Op::DynSlice { axis }, inputs, &shape, names, self.dtype(), self.device(), None)
    }

    /// The last `len` elements of an axis, wherever it ends.
    #[track_caller]
    pub fn last(&self, axis: usize, len: usize) -> Expr {
        let size = self.shape().get(axis).copied().unwrap_or(0); // DEFAULT: the slice says that there is no such axis
        if self.is_invalid() || !self.is_named_axis(axis) || len == 0 || len > size {
            return self.narrow(axis, size.saturating_sub(len), len);
        }
        self.dyn_slice(axis, &self.position(size - len), len)
    }

    /// A run-time position of a tensor's elements.
    #[track_caller]
    pub(crate) fn position(&self, at: usize) -> Expr {
        Expr::scalar(Literal::int(DType::I64, at as i64), &[], self.device())
    }

    /// A leaf without data for an element along axis 0.
    #[track_caller]
    pub(crate) fn element_stand_in(&self) -> Expr {
        let names = self.names().and_then(|names| Names::new(names.axes().iter().skip(1).cloned()));
        let shape = self.shape().get(1..).unwrap_or(&[]); // DEFAULT: what has no axis has no elements; its callers ask before
        typed(&Op::Buffer, Inputs::new(), shape, names, self.dtype(), self.device(), None)
    }

    /// A leaf without data for a sequence of such tensors, along a new axis 0.
    #[track_caller]
    pub(crate) fn sequence_stand_in(&self, length: usize, name: &AxisNames) -> Expr {
        let shape: SmallVec<[usize; 8]> = std::iter::once(length).chain(self.shape().iter().copied()).collect();
        let own = (0..self.rank()).map(|axis| AxisNames::from(self.axis_names(axis)));
        let names = Names::new(std::iter::once(name.clone()).chain(own));
        typed(&Op::Buffer, Inputs::new(), &shape, names, self.dtype(), self.device(), None)
    }

    /// The same value with the names of another of the same shape.
    #[track_caller]
    pub(crate) fn named_like(&self, like: &Expr) -> Expr {
        rename(self, like.names())
    }
}
