//! Nodes with named axes: made, renamed, brought to the names of others.
//!
//! Always: changing a name is a reshape to the same shape: a node of its own, with a gradient, whose value is its input's. The planner pads or
//! cuts there.

use super::{AxisNames, Dim, Factor, Names, Sum, described, follow::factors, infer};
use crate::{ErrorKind, Expr, Inputs, Op, PadAxis, Shape, SliceAxis, broadcast_shapes, is_countable, node::foldable_scalar, types};
use smallvec::SmallVec;
use unigrad_scalar::{DType, Literal};

/// Why an op has no rule for the names of its inputs.
pub(crate) struct Problem {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

pub(crate) const FIXED: &str = "`fixed(axis)` takes an axis's name away; then each size has a plan of its own";

impl Problem {
    /// An op that has no rule for a named axis there.
    pub(super) fn at(what: &str, x: &Expr, axis: usize) -> Problem {
        let name = x.names().map_or_else(String::new, |names| described(&names.axes()[axis]));
        Problem { message: format!("{what}: axis {axis} of {:?} is named {name}", x.shape()), help: FIXED }
    }
}

/// A node some of whose inputs have names: its names follow from theirs by the op's rule.
#[cold]
#[track_caller]
pub(crate) fn node(op: &Op, mut inputs: Inputs, shape: &[usize], dtype: DType, device: u32) -> Expr {
    if let Some(invalid) = inputs.iter().find(|input| input.is_invalid()) {
        return invalid.clone();
    }
    match infer(op, &mut inputs, shape) {
        Ok(names) => typed(op, inputs, shape, names, dtype, device, None),
        Err(Problem { message, help }) => {
            let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
            Expr::fail(ErrorKind::Shape, op.name(), message, help, &inputs)
        }
    }
}

/// A node with these names.
#[track_caller]
pub(super) fn typed(
    op: &Op,
    inputs: Inputs,
    shape: &[usize],
    names: Option<Names>,
    dtype: DType,
    device: u32,
    scalar: Option<Literal>,
) -> Expr {
    let Some(names) = names else { return Expr::plain(op, inputs, shape, dtype, device, scalar) };
    let is_sized = |(name, size): (&AxisNames, &usize)| name.is_empty() || name.iter().map(Factor::size).product::<usize>() == *size;
    if names.axes().len() != shape.len() || !names.axes().iter().zip(shape).all(is_sized) {
        let message =
            format!("axes of {shape:?} are named {}", names.axes().iter().map(|name| described(name)).collect::<Vec<_>>().join(", "));
        let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
        return Expr::fail(ErrorKind::Internal, op.name(), message, "please report it", &inputs);
    }
    if !is_countable(&names.memory_shape(shape), dtype.size()) {
        let message = format!("{shape:?} {dtype} has named axes whose greatest sizes no memory has");
        let inputs: SmallVec<[&Expr; 3]> = inputs.iter().collect();
        return Expr::fail(ErrorKind::Shape, op.name(), message, "give the dimensions smaller bounds", &inputs);
    }
    Expr::of_type(op, inputs, &types::named_type(shape, &names, dtype, device), scalar)
}

/// The same value with other names.
#[track_caller]
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
pub(super) fn rename(x: &Expr, names: Option<&Names>) -> Expr {
    if x.is_invalid() || x.names() == names {
        return x.clone();
    }
    let (shape, dtype, device) = (x.shape(), x.dtype(), x.device());
    // Leaves that no gradient can be asked for are made anew.
    if !dtype.is_float() {
        match x.op() {
            Op::Const(_) | Op::Iota { .. } => return typed(x.op(), Inputs::new(), shape, names.cloned(), dtype, device, None),
            Op::Scalar => {
                if let Some(value) = foldable_scalar(x) {
                    return typed(x.op(), Inputs::new(), shape, names.cloned(), dtype, device, Some(value));
                }
            }
            _ => {}
        }
    }
    let axis = |names: Option<&Names>, i: usize| names.map(|names| names.axes()[i].clone()).unwrap_or_default();
    // What has another name loses the old one first: so a reshape takes names away, or gives some, or keeps all.
    let kept = (0..x.rank()).map(|i| {
        let (own, other) = (axis(x.names(), i), axis(names, i));
        if own == other { own } else { AxisNames::new() }
    });
    let kept = Names::new(kept);
    let reshape = |x: &Expr, names: Option<&Names>| match x.names() == names {
        true => x.clone(),
        false => typed(&Op::Reshape, [x.clone()].into_iter().collect(), shape, names.cloned(), dtype, device, None),
    };
    reshape(&reshape(x, kept.as_ref()), names)
}

impl Expr {
    /// What the axes are called, if any has a name.
    #[inline]
    pub fn names(&self) -> Option<&Names> {
        self.node_type().tensor_type().names()
    }

    /// Whether this axis has a name.
    pub fn is_named_axis(&self, axis: usize) -> bool {
        self.names().and_then(|names| names.axes().get(axis)).is_some_and(|axis| !axis.is_empty())
    }

    /// Whether any axis of a bit mask has a name.
    pub fn has_names_in(&self, axes: u32) -> bool {
        self.is_named() && (0..self.rank()).any(|axis| axes >> axis & 1 == 1 && self.is_named_axis(axis))
    }

    /// The sizes of the tensor in memory, where named axes are as long as their buckets.
    pub fn memory_shape(&self) -> Shape {
        match self.names() {
            Some(names) => names.memory_shape(self.shape()),
            None => self.shape().clone(),
        }
    }

    /// The same value, whose axis is `dim` from here on.
    #[track_caller]
    pub fn with_dim(&self, axis: usize, dim: &Dim) -> Expr {
        if self.is_invalid() {
            return self.clone();
        }
        let Some(size) = self.shape().get(axis).copied() else {
            return Expr::shape_error("with_dim", format!("axis {axis} of {:?}", self.shape()), &[self]);
        };
        if !dim.allows(size) {
            let (bounds, divisor) = (dim.bounds(), dim.divisor());
            let message = format!("axis {axis} of {:?} cannot be `{}`, which has sizes {bounds:?}", self.shape(), dim.name());
            let message = if divisor > 1 { format!("{message} that are multiples of {divisor}") } else { message };
            return Expr::fail(ErrorKind::Shape, "with_dim", message, "give the dimension wider bounds, or pad the tensor", &[self]);
        }
        let name = AxisNames::from_elem(Factor::Named(dim.clone(), size), 1);
        rename(self, self.names_with(axis, name).as_ref())
    }

    /// The same value without the axis's name.
    #[track_caller]
    pub fn fixed(&self, axis: usize) -> Expr {
        if self.is_invalid() || !self.is_named_axis(axis) {
            return self.clone();
        }
        rename(self, self.names_with(axis, AxisNames::new()).as_ref())
    }

    /// The names with another one for an axis.
    pub(super) fn names_with(&self, axis: usize, name: AxisNames) -> Option<Names> {
        let own = |i: usize| self.names().map(|names| names.axes()[i].clone()).unwrap_or_default();
        Names::new((0..self.rank()).map(|i| if i == axis { name.clone() } else { own(i) }))
    }

    /// Broadcast to the shape of another one, with its names.
    #[track_caller]
    pub fn expand_like(&self, like: &Expr) -> Expr {
        match like.names() {
            None => self.expand(like.shape()),
            names => self.expand_named(like.shape(), names),
        }
    }

    #[track_caller]
    #[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
    fn expand_named(&self, shape: &[usize], names: Option<&Names>) -> Expr {
        let lead = shape.len().wrapping_sub(self.rank());
        let fits = shape.len() >= self.rank() && self.shape().iter().zip(&shape[lead..]).all(|(from, to)| from == to || *from == 1);
        if self.is_invalid() || !fits {
            return self.expand(shape);
        }
        let wanted = |axis: usize| names.map(|names| names.axes()[axis].clone()).unwrap_or_default();
        let own = |axis: usize| self.names().map(|names| names.axes()[axis].clone()).unwrap_or_default();
        let (mut from, mut to): (Vec<AxisNames>, Vec<AxisNames>) = (Vec::new(), (0..lead).map(wanted).collect());
        for (i, size) in self.shape().iter().enumerate() {
            let (own, wanted) = (own(i), wanted(lead + i));
            let stretched = *size == 1 && shape[lead + i] != 1;
            let (before, after) = match (own.is_empty(), wanted.is_empty()) {
                // From 1 to what there is: the dimension's size may be 1 now.
                (true, _) if *size == 1 => (own, wanted),
                (false, _) if stretched => (AxisNames::new(), wanted),
                (true, _) => (wanted.clone(), wanted),
                (false, true) => (own.clone(), own),
                (false, false) if own == wanted || *size == 1 => (wanted.clone(), wanted),
                (false, false) => {
                    let message = format!("axis {i} of {:?} is named {}, not {}", self.shape(), described(&own), described(&wanted));
                    return Expr::fail(ErrorKind::Shape, "expand", message, FIXED, &[self]);
                }
            };
            from.push(before);
            to.push(after);
        }
        let x = rename(self, Names::new(from).as_ref());
        let to = Names::new(to);
        if x.is_invalid() || (x.shape().as_slice() == shape && x.names() == to.as_ref()) {
            return x;
        }
        let (dtype, device) = (x.dtype(), x.device());
        if !dtype.is_float() {
            match x.op() {
                Op::Const(_) => return typed(x.op(), Inputs::new(), shape, to, dtype, device, None),
                Op::Scalar => {
                    if let Some(value) = foldable_scalar(&x) {
                        return typed(x.op(), Inputs::new(), shape, to, dtype, device, Some(value));
                    }
                }
                _ => {}
            }
        }
        typed(&Op::Expand, [x].into_iter().collect(), shape, to, dtype, device, None)
    }

    /// All of the shape that they broadcast to, and of the names that any of them has there; `None` if there is no such shape.
    #[track_caller]
    pub fn broadcast_together(parts: &[&Expr]) -> Option<SmallVec<[Expr; 3]>> {
        let mut shape = parts.first()?.shape().clone();
        for part in &parts[1..] {
            shape = broadcast_shapes(&shape, part.shape())?;
        }
        let named = parts.iter().any(|part| part.is_named());
        let names = if named {
            let of = |axis: usize| {
                let own = parts.iter().filter_map(|part| {
                    let i = (axis + part.rank()).checked_sub(shape.len())?;
                    let names = &part.names()?.axes()[i];
                    (part.shape()[i] == shape[axis] && !names.is_empty()).then(|| names.clone())
                });
                own.take(1).next().unwrap_or_default()
            };
            Names::new((0..shape.len()).map(of))
        } else {
            None
        };
        let mut all = SmallVec::new();
        // Not in a closure, where the origin would be this line.
        for part in parts {
            all.push(if named { part.expand_named(&shape, names.as_ref()) } else { part.expand(&shape) });
        }
        Some(all)
    }

    /// The same elements in the shape of another one, with its names.
    #[track_caller]
    pub fn reshape_like(&self, like: &Expr) -> Expr {
        self.reshape_named(like.shape(), like.names())
    }

    #[track_caller]
    fn reshape_named(&self, shape: &[usize], names: Option<&Names>) -> Expr {
        if self.is_invalid() || (names.is_none() && !self.is_named()) || crate::numel(shape) != self.numel() {
            return self.reshape(shape);
        }
        if self.shape().as_slice() == shape && self.names() == names {
            return self.identity();
        }
        let (dtype, device) = (self.dtype(), self.device());
        if factors(self.shape(), self.names()) == factors(shape, names) {
            return typed(&Op::Reshape, [self.clone()].into_iter().collect(), shape, names.cloned(), dtype, device, None);
        }
        let exact = rename(self, None);
        let exact = if exact.shape().as_slice() == shape { exact } else { exact.reshape(shape) };
        rename(&exact, names)
    }

    /// With a new axis of size 1.
    #[track_caller]
    pub fn insert_axis(&self, axis: usize) -> Expr {
        let mut shape = self.shape().clone();
        let axis = axis.min(shape.len());
        shape.insert(axis, 1);
        let Some(names) = self.names() else { return self.reshape(&shape) };
        let mut names = names.axes().to_vec();
        names.insert(axis, AxisNames::new());
        self.reshape_named(&shape, Names::new(names).as_ref())
    }

    /// Without these axes, which have size 1.
    #[track_caller]
    pub fn remove_axes(&self, axes: &[usize]) -> Expr {
        let stays = |axis: &usize| !axes.contains(axis);
        let shape: Shape = (0..self.rank()).filter(stays).map(|axis| self.shape()[axis]).collect();
        let Some(names) = self.names() else { return self.reshape(&shape) };
        let names = Names::new((0..self.rank()).filter(stays).map(|axis| names.axes()[axis].clone()));
        self.reshape_named(&shape, names.as_ref())
    }

    /// The index along `axis` at every point of a tensor like this one.
    #[track_caller]
    pub fn iota_like(&self, axis: usize, dtype: DType) -> Expr {
        match self.names() {
            Some(_) if axis < self.rank() => {
                typed(&Op::Iota { axis }, Inputs::new(), self.shape(), self.names().cloned(), dtype, self.device(), None)
            }
            _ => Expr::iota(self.shape(), axis, dtype, self.device()),
        }
    }

    /// [`Expr::random`] in the shape and with the names of this one. A named axis that is not the first gives other numbers in another bucket.
    #[track_caller]
    pub fn random_like(&self, word: u8, seed: &Expr, offset: &Expr) -> Expr {
        let plain = Expr::random(self.shape(), word, seed, offset);
        match self.names() {
            Some(_) if !plain.is_invalid() => {
                typed(plain.op(), plain.inputs().clone(), self.shape(), self.names().cloned(), DType::U32, seed.device(), None)
            }
            _ => plain,
        }
    }

    /// Whether this axis and another one's have two different names: their sizes may be equal now, and need not be in the next step.
    pub(crate) fn is_named_apart(&self, axis: usize, other: &Expr, of: usize) -> bool {
        let name = |x: &Expr, axis: usize| x.names().map(|names| names.axes()[axis].clone()).filter(|name| !name.is_empty());
        matches!((name(self, axis), name(other, of)), (Some(own), Some(other)) if own != other)
    }

    /// The first elements along `axis`, as many as `like` has along `of`, with the name that they have there: as many may be another number in
    /// the next step, as `axis` may have.
    #[track_caller]
    pub fn narrow_like(&self, axis: usize, like: &Expr, of: usize) -> Expr {
        if let Some(invalid) = Expr::check_inputs("narrow_like", &[self, like]) {
            return invalid;
        }
        if axis >= self.rank() || of >= like.rank() || like.shape()[of] > self.shape()[axis] {
            let message =
                format!("the first elements of axis {axis} of {:?}, as many as axis {of} of {:?} has", self.shape(), like.shape());
            return Expr::shape_error("narrow_like", message, &[self, like]);
        }
        let name = match like.names() {
            Some(names) if !names.axes()[of].is_empty() => names.axes()[of].clone(),
            _ => return self.narrow(axis, 0, like.shape()[of]),
        };
        // Where padding lies in the midst of it, its first elements are not the first ones in memory.
        let is_plain = self.names().is_none_or(|names| Sum::of(self.shape()[axis], &names.axes()[axis]).is_some());
        let x = if is_plain { self.clone() } else { self.fixed(axis) };
        let mut shape = x.shape().clone();
        shape[axis] = like.shape()[of];
        let start = Expr::constant(Literal::zero(DType::I64), &[], x.device());
        let names = x.names_with(axis, name);
        typed(&Op::DynSlice { axis }, Inputs::from_buf([x.clone(), start]), &shape, names, x.dtype(), x.device(), None)
    }

    /// Elements of a reduction over axes of a bit mask, as a number in every element of a tensor like this one: `value` of the count. It is part of a
    /// plan only where no reduced axis has a name.
    #[track_caller]
    pub fn count_like(&self, counted: &Expr, axes: u32, value: impl Fn(f64) -> f64) -> Expr {
        let count = (0..counted.rank()).filter(|axis| axes >> axis & 1 == 1).map(|axis| counted.shape()[axis]).product::<usize>();
        let value = Literal::float(self.dtype(), value(count as f64));
        if counted.has_names_in(axes) { self.scalar_like(value) } else { self.literal_like(value) }
    }

    /// A node that does what another one does, to other inputs and with another shape: for the planner, which lays a graph out anew.
    #[track_caller]
    pub fn laid_out(op: &Op, inputs: Inputs, shape: &[usize], dtype: DType, device: u32) -> Expr {
        Expr::plain(op, inputs, shape, dtype, device, None)
    }
}

/// The op as the bucket's type has it: of a part, and of what stands around it, the lengths along named axes follow from the types; no other op has
/// sizes of its axes among its attributes and a rule for names.
#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for certain ops")]
pub(crate) fn general_op(op: &Op, names: &Names) -> Op {
    match op {
        Op::Slice(axes) => {
            let general = |(axis, name): (&SliceAxis, &AxisNames)| {
                let len = name.iter().map(Factor::memory_size).product::<usize>();
                match name.is_empty() {
                    true => *axis,
                    // Backward it is all of the axis.
                    false if axis.step < 0 => SliceAxis { start: len.saturating_sub(1), len, ..*axis },
                    false => SliceAxis { len, ..*axis },
                }
            };
            Op::Slice(axes.iter().zip(names.axes()).map(general).collect())
        }
        Op::Pad(axes, fill) => {
            let general = |(axis, name): (&PadAxis, &AxisNames)| if name.is_empty() { *axis } else { PadAxis { hi: 0, ..*axis } };
            Op::Pad(axes.iter().zip(names.axes()).map(general).collect(), *fill)
        }
        op => op.clone(),
    }
}
