//! Views: the same elements in another arrangement. A view is not a copy: the kernel that reads it computes the address.
//!
//! Always: a view that changes nothing is a node of its own, and none looks through another one, so that gradients with respect to each are
//! told apart; the planner folds them. Only [`Expr::expand`], to the shape that is there, returns the node itself.

use crate::{
    Expr, Inputs, Op, PadAxis, Shape, SliceAxis,
    autograd::Vjp,
    met,
    node::foldable_scalar,
    numel,
    shape::shape_of,
    traits::Traits,
    types::{NodeType, same_sizes},
};
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal, ScatterMode};

impl Expr {
    /// The same elements in row-major order.
    #[track_caller]
    pub fn reshape(&self, shape: &[usize]) -> Expr {
        self.clone().reshape_with(shape)
    }

    /// As [`Expr::reshape`], of a handle that nothing else needs.
    #[track_caller]
    pub fn reshape_with(self, shape: &[usize]) -> Expr {
        if self.is_invalid() {
            return self;
        }
        if same_sizes(self.shape(), shape) {
            return self.identity();
        }
        if matches!(self.op(), Op::Const(_) | Op::Scalar) {
            return self.reshape_anew(shape);
        }
        let (dtype, numel) = (self.dtype(), self.numel());
        let is = |near: &NodeType| matches!(near.op, Op::Reshape) && near.of.numel == numel;
        // Not in a closure, where the origin would be this line.
        match Expr::met(met::RESHAPE, is, [self], shape, dtype) {
            Ok(made) => made,
            Err([input]) => input.reshape_anew(shape),
        }
    }

    /// As [`Expr::reshape`], to a shape that it has not, and by a rule that has yet to be asked.
    #[track_caller]
    fn reshape_anew(self, shape: &[usize]) -> Expr {
        if numel(shape) != self.numel() {
            let message = match numel(shape) {
                usize::MAX => format!("{shape:?} has more elements than can be counted"),
                other => format!("{:?} has {} elements, {shape:?} has {other}", self.shape(), self.numel()),
            };
            return Expr::shape_error("reshape", message, &[&self]);
        }
        if let Some(same) = self.spread_leaf(shape) {
            return same;
        }
        let dtype = self.dtype();
        Expr::new(Op::Reshape, [self], shape, dtype)
    }

    /// Axis `i` of the result is axis `perm[i]`.
    #[track_caller]
    pub fn permute(&self, perm: &[usize]) -> Expr {
        self.clone().permute_with(perm)
    }

    /// As [`Expr::permute`], of a handle that nothing else needs.
    #[track_caller]
    pub fn permute_with(self, perm: &[usize]) -> Expr {
        if self.is_invalid() {
            return self;
        }
        // A matrix that is transposed, as before most products.
        if let ([1, 0], [m, n]) = (perm, self.shape().as_slice()) {
            let (shape, dtype) = ([*n, *m], self.dtype());
            let is = |op: &Op| matches!(op, Op::Permute(met) if met.as_slice() == [1, 0]);
            return Expr::coded((met::permute_code(&[1, 0]), is), || Op::Permute(SmallVec::from_slice(&[1, 0])), [self], &shape, dtype);
        }
        let (rank, mut seen, mut moves) = (self.rank(), 0_u64, false);
        for (i, p) in perm.iter().enumerate() {
            // No tensor has as many axes as there are bits.
            seen |= 1_u64.checked_shl(*p as u32).unwrap_or(0);
            moves |= i != *p;
        }
        let valid = perm.len() == rank && perm.iter().all(|p| *p < rank) && seen.count_ones() as usize == rank;
        if !valid {
            return Expr::shape_error("permute", format!("{perm:?} is not an order of the axes of {:?}", self.shape()), &[&self]);
        }
        if !moves {
            return self.identity();
        }
        let shape = shape_of(rank, |i| self.shape()[perm[i]]);
        let mut few = [0_u8; 8];
        let dtype = self.dtype();
        let Some(order) = few.get_mut(..rank) else {
            return Expr::new(Op::Permute(perm.iter().map(|p| *p as u8).collect()), [self], shape, dtype);
        };
        order.iter_mut().zip(perm).for_each(|(to, p)| *to = *p as u8);
        let is = |op: &Op| matches!(op, Op::Permute(met) if met.len() == order.len() && met.iter().zip(&*order).all(|(a, b)| a == b));
        Expr::coded((met::permute_code(order), is), || Op::Permute(SmallVec::from_slice(order)), [self], &shape, dtype)
    }

    /// NumPy's `broadcast_to`.
    #[track_caller]
    pub fn expand(&self, shape: &[usize]) -> Expr {
        self.clone().expand_with(shape)
    }

    /// As [`Expr::expand`], of a handle that nothing else needs.
    #[track_caller]
    pub fn expand_with(self, shape: &[usize]) -> Expr {
        if self.is_invalid() || same_sizes(self.shape(), shape) {
            return self;
        }
        let lead = shape.len().wrapping_sub(self.rank());
        let fits = shape.len() >= self.rank() && self.shape().iter().zip(&shape[lead..]).all(|(from, to)| from == to || *from == 1);
        if !fits {
            return Expr::shape_error("expand", format!("{:?} does not broadcast to {shape:?}", self.shape()), &[&self]);
        }
        if let Some(same) = self.spread_leaf(shape) {
            return same;
        }
        let dtype = self.dtype();
        Expr::coded((met::EXPAND, |op| matches!(op, Op::Expand)), || Op::Expand, [self], shape, dtype)
    }

    /// A part, with steps; one entry per axis.
    #[track_caller]
    pub fn slice(&self, axes: &[SliceAxis]) -> Expr {
        self.clone().slice_with(axes)
    }

    /// As [`Expr::slice`], of a handle that nothing else needs.
    #[track_caller]
    pub fn slice_with(self, axes: &[SliceAxis]) -> Expr {
        if self.is_invalid() {
            return self;
        }
        let inside = |axis: &SliceAxis, size: usize| {
            if axis.step == 1 {
                return axis.len == 0 || axis.start.checked_add(axis.len).is_some_and(|end| end <= size);
            }
            let last = axis.start as i128 + axis.step as i128 * (axis.len as i128 - 1);
            axis.step != 0 && (axis.len == 0 || (axis.start < size && (0..size as i128).contains(&last)))
        };
        if axes.len() != self.rank() || !axes.iter().zip(self.shape()).all(|(axis, size)| inside(axis, *size)) {
            return Expr::shape_error("slice", format!("{axes:?} is not inside {:?}", self.shape()), &[&self]);
        }
        if axes.iter().zip(self.shape()).all(|(axis, size)| axis.start == 0 && axis.step == 1 && axis.len == *size) {
            return self.identity();
        }
        let shape = shape_of(axes.len(), |i| axes[i].len);
        let dtype = self.dtype();
        if axes.iter().all(|axis| axis.len > 1 || (axis.step == 1 && (axis.len == 1 || axis.start == 0))) {
            return self.sliced(axes, &shape);
        }
        let mut plain: Box<[SliceAxis]> = axes.into();
        for axis in &mut plain {
            // Where there is at most one element, its distance to the next is any.
            match axis.len {
                0 => *axis = SliceAxis { start: 0, step: 1, len: 0 },
                1 => axis.step = 1,
                _ => {}
            }
        }
        Expr::new(Op::Slice(plain), [self], shape, dtype)
    }

    /// The node of a slice that follows the rules, of axes as they are kept.
    #[inline(always)]
    #[track_caller]
    fn sliced(self, axes: &[SliceAxis], shape: &[usize]) -> Expr {
        let dtype = self.dtype();
        let is = |op: &Op| matches!(op, Op::Slice(met) if met.len() == axes.len() && met.iter().zip(axes).all(|(a, b)| a == b));
        Expr::coded((met::slice_code(axes), is), || Op::Slice(axes.into()), [self], shape, dtype)
    }

    /// `start .. start + len` of one axis.
    #[track_caller]
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Expr {
        self.clone().narrow_with(axis, start, len)
    }

    /// As [`Expr::narrow`], of a handle that nothing else needs.
    #[track_caller]
    pub fn narrow_with(self, axis: usize, start: usize, len: usize) -> Expr {
        // A part that is inside and neither empty nor all.
        let shape = self.shape();
        if let Some(size) = shape.get(axis)
            && (1..*size).contains(&len)
            && start <= *size - len
            && shape.len() <= 6
        {
            let mut few = [SliceAxis { start: 0, step: 1, len: 0 }; 6];
            let mut sizes = [0; 6];
            for (i, size) in shape.iter().enumerate() {
                (few[i].len, sizes[i]) = (*size, *size);
            }
            (few[axis].start, few[axis].len, sizes[axis]) = (start, len, len);
            let (axes, sizes) = (&few[..shape.len()], &sizes[..shape.len()]);
            return self.sliced(axes, sizes);
        }
        self.narrow_by_rule(axis, start, len)
    }

    #[inline(never)]
    #[track_caller]
    fn narrow_by_rule(self, axis: usize, start: usize, len: usize) -> Expr {
        let part = |(i, size): (usize, &usize)| match i == axis {
            true => SliceAxis { start, step: 1, len },
            false => SliceAxis { start: 0, step: 1, len: *size },
        };
        let mut few = [SliceAxis { start: 0, step: 1, len: 0 }; 6];
        let Some(axes) = few.get_mut(..self.rank()) else {
            let axes: Vec<SliceAxis> = self.shape().iter().enumerate().map(part).collect();
            return self.slice_with(&axes);
        };
        axes.iter_mut().zip(self.shape().iter().enumerate().map(part)).for_each(|(to, axis)| *to = axis);
        self.slice_with(axes)
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
            return self.identity();
        }
        let size = |(axis, size): (&PadAxis, &usize)| {
            axis.interior.saturating_mul(size.saturating_sub(1)).saturating_add(axis.lo).saturating_add(axis.hi).saturating_add(*size)
        };
        let shape: Shape = axes.iter().zip(self.shape()).map(size).collect();
        let plain = |(axis, size): (&PadAxis, &usize)| if *size > 1 { *axis } else { PadAxis { interior: 0, ..*axis } };
        let axes: Box<[PadAxis]> = axes.iter().zip(self.shape()).map(plain).collect();
        Expr::new(Op::Pad(axes, fill), [self.clone()], shape, self.dtype())
    }

    /// One after another along `axis`.
    #[track_caller]
    pub fn concat(parts: &[Expr], axis: usize) -> Expr {
        Expr::concat_with(parts.iter().cloned().collect(), axis)
    }

    /// As [`Expr::concat`], of handles that nothing else needs.
    #[track_caller]
    pub fn concat_with(parts: Inputs, axis: usize) -> Expr {
        // Two matrices that fit.
        if let [a, b] = parts.as_slice()
            && let ([m, n], [rows, columns]) = (a.shape().as_slice(), b.shape().as_slice())
            && a.dtype() == b.dtype()
            && a.device() == b.device()
            && let Some(shape) = match axis {
                0 if n == columns => Some([m.saturating_add(*rows), *n]),
                1 if m == rows => Some([*m, n.saturating_add(*columns)]),
                _ => None,
            }
        {
            let dtype = a.dtype();
            return Expr::concatenated(parts, axis, &shape, dtype);
        }
        Expr::concat_by_rule(parts, axis)
    }

    #[inline(never)]
    #[track_caller]
    fn concat_by_rule(parts: Inputs, axis: usize) -> Expr {
        let Some(first) = parts.first() else {
            return Expr::shape_error("concat", "no tensors given".into(), &[]);
        };
        if Traits::any(&parts).has(Traits::INVALID) || parts.iter().any(|part| part.device() != first.device()) {
            let refs: SmallVec<[&Expr; 8]> = parts.iter().collect();
            if let Some(invalid) = Expr::check_inputs("concat", &refs) {
                return invalid;
            }
        }
        let same = |part: &Expr| {
            part.dtype() == first.dtype()
                && part.rank() == first.rank()
                && (0..first.rank()).all(|i| i == axis || part.shape()[i] == first.shape()[i])
        };
        if axis >= first.rank() || !parts.iter().all(same) {
            let shapes: Vec<_> = parts.iter().map(|part| part.shape().clone()).collect();
            let refs: SmallVec<[&Expr; 8]> = parts.iter().collect();
            return Expr::shape_error("concat", format!("shapes {shapes:?} (or dtypes) do not fit along axis {axis}"), &refs);
        }
        if parts.len() == 1 {
            return first.identity();
        }
        let mut shape = Shape::from_slice(first.shape());
        shape[axis] = parts.iter().fold(0, |sum: usize, part| sum.saturating_add(part.shape()[axis]));
        let dtype = first.dtype();
        Expr::concatenated(parts, axis, &shape, dtype)
    }

    /// The node of a concatenation that follows the rules.
    #[inline(always)]
    #[track_caller]
    fn concatenated(parts: Inputs, axis: usize, shape: &[usize], dtype: DType) -> Expr {
        let is = |op: &Op| matches!(op, Op::Concat { axis: met } if *met == axis);
        Expr::coded((met::concat_code(axis), is), || Op::Concat { axis }, parts, shape, dtype)
    }

    /// Sliding windows; see [`Op::Window`].
    #[track_caller]
    pub fn window(&self, axis: usize, size: usize, step: usize, dilation: usize) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let span = dilation.saturating_mul(size.saturating_sub(1)).saturating_add(1);
        if axis >= self.rank() || size == 0 || step == 0 || dilation == 0 || self.shape()[axis] < span {
            let message = format!("a window of {size} (step {step}, dilation {dilation}) along axis {axis} of {:?}", self.shape());
            return Expr::shape_error("unfold", message, &[self]);
        }
        let mut shape = self.shape().clone();
        // Where there is one window, or one element in it, its distance to the next is any.
        let step = if self.is_named_axis(axis) { step } else { step.min(shape[axis]) };
        let dilation = if size == 1 { 1 } else { dilation };
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
        Expr::new(Op::DynUpdate { axis }, [self.clone(), update.clone(), start.clone()], self.shape(), self.dtype())
    }
}

impl Expr {
    /// A constant or a run-time scalar in another shape, where no gradient can be asked for: of floats it is a view like any other.
    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn spread_leaf(&self, shape: &[usize]) -> Option<Expr> {
        if self.dtype().is_float() {
            return None;
        }
        match self.op() {
            Op::Const(value) => Some(Expr::constant(*value, shape, self.device())),
            Op::Scalar => Some(Expr::scalar(foldable_scalar(self)?, shape, self.device())),
            _ => None,
        }
    }

    /// Sums what a broadcast from a tensor like `like` to this shape has repeated.
    pub(crate) fn sum_to_like(&self, like: &Expr) -> Expr {
        if self.error().is_some() {
            return self.clone();
        }
        let shape = like.shape();
        let lead = self.rank() - shape.len();
        // A dimension may have size 1 now.
        let is_longer = |axis: usize| self.shape()[axis] != 1 || (self.is_named_axis(axis) && !like.is_named_axis(axis - lead));
        let repeated = |axis: usize| axis < lead || (shape[axis - lead] == 1 && is_longer(axis));
        let mask = (0..self.rank()).filter(|axis| repeated(*axis)).fold(0, |mask, axis| mask | 1 << axis);
        let sum = if mask == 0 { self.clone() } else { self.sum(mask) };
        if sum.shape() == shape && sum.names() == like.names() { sum } else { sum.reshape_like(like) }
    }
}

pub(super) fn permute_vjp(v: &mut Vjp<'_>, perm: &[u8]) {
    let mut inverse: SmallVec<[usize; 8]> = SmallVec::from_elem(0, perm.len());
    for (i, p) in perm.iter().enumerate() {
        inverse[usize::from(*p)] = i;
    }
    v.send(0, |v| v.dy.permute(&inverse));
}

pub(super) fn slice_vjp(v: &mut Vjp<'_>, axes: &[SliceAxis]) {
    v.send(0, |v| {
        let x = v.x(0);
        if v.dy.numel() == 0 {
            return x.zeros_like();
        }
        // Elements go back to their places, with zeros around and between; backward steps are turned around first.
        let flip = |axis: &SliceAxis| match axis.step < 0 {
            true => SliceAxis { start: axis.len - 1, step: -1, len: axis.len },
            false => SliceAxis { start: 0, step: 1, len: axis.len },
        };
        let flips: SmallVec<[SliceAxis; 6]> = axes.iter().map(flip).collect();
        let back = |(axis, size): (&SliceAxis, &usize)| {
            let step = axis.step.unsigned_abs() as usize;
            let lo = if axis.step < 0 { axis.start - step * (axis.len - 1) } else { axis.start };
            let interior = if axis.len > 1 { step - 1 } else { 0 };
            PadAxis { lo, hi: size - lo - (axis.len + interior * (axis.len - 1)), interior }
        };
        let pads: SmallVec<[PadAxis; 6]> = axes.iter().zip(x.shape()).map(back).collect();
        v.dy.slice(&flips).pad_like(&pads, Literal::zero(v.dy.dtype()), &x)
    });
}

pub(super) fn pad_vjp(v: &mut Vjp<'_>, axes: &[PadAxis]) {
    v.send(0, |v| {
        let x = v.x(0);
        if x.numel() == 0 {
            return x.zeros_like();
        }
        let part = |(axis, size): (&PadAxis, &usize)| SliceAxis { start: axis.lo, step: axis.interior as i64 + 1, len: *size };
        let slices: SmallVec<[SliceAxis; 6]> = axes.iter().zip(x.shape()).map(part).collect();
        v.dy.slice_like(&slices, &x)
    });
}

pub(super) fn concat_vjp(v: &mut Vjp<'_>, axis: usize) {
    let mut start = 0;
    // What comes after a named axis begins somewhere else in another step.
    let mut moves = false;
    for i in 0..v.inputs.len() {
        let len = v.inputs[i].shape()[axis];
        v.send(i, |v| {
            let x = v.x(i);
            if moves {
                return v.dy.dyn_slice_like(axis, &v.dy.position(start), &x);
            }
            let part =
                |(at, size): (usize, &usize)| SliceAxis { start: if at == axis && len > 0 { start } else { 0 }, step: 1, len: *size };
            v.dy.slice_like(&x.shape().iter().enumerate().map(part).collect::<SmallVec<[SliceAxis; 6]>>(), &x)
        });
        start += len;
        moves |= v.inputs[i].is_named_axis(axis);
    }
}

/// Overlapping windows that are added as shifted copies, at most; more are scattered.
const MAX_SHIFTS: usize = 32;

pub(super) fn window_vjp(v: &mut Vjp<'_>, axis: usize, size: usize, step: usize, dilation: usize) {
    v.send(0, |v| {
        let x = v.x(0);
        if v.dy.numel() == 0 {
            return x.zeros_like();
        }
        let rank = x.rank();
        let (n_windows, total) = (v.dy.shape()[axis], x.shape()[axis]);
        // [.., windows, size, ..]: the window's own axis beside the axis of windows.
        let mut order: SmallVec<[usize; 8]> = (0..rank).collect();
        order.insert(axis + 1, rank);
        let dy = v.dy.permute(&order);
        let zero = Literal::zero(dy.dtype());
        let placed = |part: &Expr, lo: usize, interior: usize| {
            let len = part.shape()[axis];
            let reach = lo + len + interior * (len - 1);
            let mut pads: SmallVec<[PadAxis; 6]> = SmallVec::from_elem(PadAxis::default(), part.rank());
            pads[axis] = PadAxis { lo, hi: total.saturating_sub(reach), interior };
            let whole = if reach <= total { part.pad_like(&pads, zero, &x) } else { part.pad(&pads, zero) };
            whole.narrow(axis, 0, total)
        };
        let merge = |part: &Expr, len: usize| {
            let mut shape = x.shape().clone();
            shape[axis] = len;
            part.reshape(&shape)
        };
        let sum = |parts: Vec<Expr>| parts.into_iter().reduce(|a, b| a.add(&b)).unwrap_or_else(|| x.zeros_like());
        // Of a named axis the last chunk may reach beyond the end in one step and not in another.
        if dilation == 1 && size.div_ceil(step) <= MAX_SHIFTS && (step == 1 || !x.is_named_axis(axis)) {
            // Chunks of `step` elements lie side by side: each is one copy of the whole axis, shifted.
            let chunk = |c: usize| {
                let len = step.min(size - c * step);
                let mut pads: SmallVec<[PadAxis; 6]> = SmallVec::from_elem(PadAxis::default(), rank + 1);
                pads[axis + 1].hi = step - len;
                let part = dy.narrow(axis + 1, c * step, len).pad(&pads, zero);
                placed(&merge(&part, n_windows * step), c * step, 0)
            };
            return sum((0..size.div_ceil(step)).map(chunk).collect());
        }
        if size <= MAX_SHIFTS {
            return sum((0..size).map(|j| placed(&merge(&dy.narrow(axis + 1, j, 1), n_windows), j * dilation, step - 1)).collect());
        }
        let index = |along: usize, scale: usize| {
            let i = dy.iota_like(along, DType::I64);
            i.mul(&i.literal_like(Literal::int(DType::I64, scale as i64)))
        };
        let index = merge(&index(axis, step).add(&index(axis + 1, dilation)), n_windows * size);
        x.zeros_like().scatter(axis, ScatterMode::Add, &index, &merge(&dy, n_windows * size))
    });
}

pub(super) fn dyn_update_vjp(v: &mut Vjp<'_>, axis: usize) {
    v.send(0, |v| v.dy.dyn_update(axis, &v.x(1).zeros_like(), &v.x(2)));
    v.send(1, |v| v.dy.dyn_slice_like(axis, &v.x(2), &v.x(1)));
}
