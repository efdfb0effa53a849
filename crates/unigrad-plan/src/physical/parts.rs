//! Parts of named axes, what stands around them, and one after another.
//!
//! In: a node whose op has the numbers of one step; names of its inputs and its result. Out: the same in memory, where lengths are those of
//! buckets and what begins after a named axis begins at a run-time position.
//! Always: along an axis whose padding is at its end ([`unigrad_graph::is_plain`]); other axes were refused when the node was made.

use super::{At, Layout, index::NOWHERE, mask::extreme, resized, with_size};
use unigrad_graph::{DType, Expr, Factor, Inputs, Literal, Op, PadAxis, SliceAxis};

/// The factors of an axis.
fn factors(x: &Expr, axis: usize) -> &[Factor] {
    x.names().map_or(&[], |names| &names.axes()[axis])
}

/// How many elements an axis has.
fn length(layout: &Layout, of: &Expr, axis: usize, like: &Expr) -> Result<Expr, String> {
    match factors(of, axis) {
        [] => Ok(like.literal_like(Literal::int(DType::I64, of.shape()[axis] as i64))),
        own => layout.total(own, like),
    }
}

/// The `len` elements from a run-time position on that is within the axis; what is beyond its end is zeros.
fn shifted(x: &Expr, axis: usize, start: &Expr, len: usize) -> Expr {
    let longer = resized(x, axis, x.shape()[axis].saturating_add(len));
    Expr::laid_out(
        &Op::DynSlice { axis },
        Inputs::from_buf([longer, start.clone()]),
        &with_size(x.shape(), axis, len),
        x.dtype(),
        x.device(),
    )
}

/// `x` with a part written over it at a run-time position, where it fits.
fn over(x: &Expr, part: &Expr, axis: usize, start: &Expr) -> Expr {
    let inputs = [x.clone(), part.clone(), start.clone()].into_iter().collect();
    Expr::laid_out(&Op::DynUpdate { axis }, inputs, x.shape(), x.dtype(), x.device())
}

pub(super) fn slice(layout: &Layout, at: &At<'_>, axes: &[SliceAxis]) -> Result<Expr, String> {
    let (mut x, shape) = (at.x(0).clone(), at.expr.memory_shape());
    let mut all: Vec<SliceAxis> = Vec::with_capacity(axes.len());
    let mut backward = Vec::new();
    for (i, axis) in axes.iter().enumerate() {
        all.push(match at.expr.is_named_axis(i) {
            false => *axis,
            true if axis.step < 0 => {
                backward.push(i);
                SliceAxis { start: shape[i] - 1, step: -1, len: shape[i] }
            }
            true => {
                // What counts is there; padding may be short of it.
                let reach = axis.start + axis.step.unsigned_abs() as usize * shape[i].saturating_sub(1) + 1;
                let size = x.shape()[i].max(reach);
                x = resized(&x, i, size);
                SliceAxis { len: shape[i], ..*axis }
            }
        });
    }
    x = x.slice(&all);
    // Backward the padding comes first.
    for i in backward {
        let size = layout.total(factors(at.expr, i), &zero(&x))?;
        let in_memory = Expr::constant(Literal::int(DType::I64, shape[i] as i64), &[], x.device());
        x = shifted(&x, i, &in_memory.sub(&size), shape[i]);
    }
    Ok(x)
}

/// A number, as positions are.
fn zero(x: &Expr) -> Expr {
    Expr::constant(Literal::zero(DType::I64), &[], x.device())
}

pub(super) fn pad(layout: &Layout, at: &At<'_>, pads: &[PadAxis], fill: Literal) -> Result<Expr, String> {
    let (mut x, shape) = (at.x(0).clone(), at.expr.memory_shape());
    let moved = (0..pads.len()).filter(|i| pads[*i] != PadAxis::default() || factors(at.of(0), *i) != factors(at.expr, *i));
    let mask = moved.fold(0, |mask, axis| mask | 1 << axis);
    // What was beyond the end is not beyond the result's.
    x = layout.masked(&x, at.of(0), mask, fill)?;
    let mut cut = Vec::with_capacity(pads.len());
    let mut around = Vec::with_capacity(pads.len());
    for (i, pad) in pads.iter().enumerate() {
        let size = x.shape()[i];
        let reach = pad.lo + size + pad.interior * size.saturating_sub(1);
        around.push(if at.expr.is_named_axis(i) { PadAxis { hi: shape[i].saturating_sub(reach), ..*pad } } else { *pad });
        cut.push(SliceAxis { start: 0, step: 1, len: shape[i] });
    }
    Ok(x.pad(&around, fill).slice(&cut))
}

/// What comes first is as long as it is in memory; from there on all begins where the parts before it end.
pub(super) fn concat(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let Some(named) = at.recorded.iter().position(|part| part.is_named_axis(axis)) else { return Ok(at.from(at.inputs.clone())) };
    let first: Vec<Expr> = at.inputs[..=named].to_vec();
    let mut all = resized(&Expr::concat(&first, axis), axis, at.expr.memory_shape()[axis]);
    let mut start = zero(&all);
    for (i, part) in at.inputs.iter().enumerate() {
        if i > named {
            all = over(&all, part, axis, &start);
        }
        start = start.add(&length(layout, at.of(i), axis, &start)?);
    }
    Ok(all)
}

/// A position as the user gave it, of so many elements of an axis: negative ones count from the last at which they fit, and what is not among them is
/// out of range.
fn position(layout: &Layout, of: &Expr, part: &Expr, axis: usize, start: &Expr) -> Result<Expr, String> {
    let last = length(layout, of, axis, start)?.sub(&length(layout, part, axis, start)?);
    let zero = start.zeros_like();
    let from_begin = start.lt(&zero).select(&start.add(&last).add(&start.literal_like(Literal::one(DType::I64))), start);
    let fits = from_begin.ge(&zero).and(&from_begin.le(&last));
    Ok(fits.select(&from_begin, &start.literal_like(Literal::int(DType::I64, NOWHERE))))
}

/// The first elements of an axis, as many as its new name says; or some from a run-time position.
pub(super) fn dyn_slice(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let (x, start, len) = (at.x(0), at.x(1), at.expr.memory_shape()[axis]);
    if at.expr.is_named_axis(axis) && is_zero(start) {
        return Ok(resized(x, axis, len));
    }
    if !at.expr.is_named_axis(axis) && !at.of(0).is_named_axis(axis) {
        return Ok(at.from(at.inputs.clone()));
    }
    Ok(shifted(x, axis, &position(layout, at.of(0), at.expr, axis, start)?, len))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "it asks for a constant")]
fn is_zero(start: &Expr) -> bool {
    match start.op() {
        Op::Const(value) => *value == Literal::zero(value.dtype()),
        _ => false,
    }
}

/// An update whose axis has a name is written over as many elements as it has; those after it stay.
pub(super) fn dyn_update(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let (base, update, start) = (at.x(0), at.x(1), at.x(2));
    if !at.of(0).is_named_axis(axis) && !at.of(1).is_named_axis(axis) {
        return Ok(at.from(at.inputs.clone()));
    }
    let start = position(layout, at.of(0), at.of(1), axis, start)?;
    if !at.of(1).is_named_axis(axis) {
        return Ok(over(base, update, axis, &start));
    }
    let (total, len) = (base.shape()[axis], update.shape()[axis]);
    let Some(counts) = layout.counts(update, at.of(1), 1 << axis)? else { return Ok(over(base, update, axis, &start)) };
    let longer = resized(base, axis, total + len);
    let before = shifted(base, axis, &start, len);
    Ok(over(&longer, &counts.select(update, &before), axis, &start).narrow(axis, 0, total))
}

/// Padding comes last: it is the greatest (of floats NaN), or backward the least, and of equal elements the first come first.
pub(super) fn order(layout: &Layout, at: &At<'_>, axis: usize, backward: bool) -> Result<Expr, String> {
    let dtype = at.x(0).dtype();
    let last = if !backward && dtype.is_float() { Literal::float(dtype, f64::NAN) } else { extreme(dtype, !backward) };
    Ok(at.from([layout.masked(at.x(0), at.of(0), 1 << axis, last)?].into_iter().collect()))
}

/// Zeros beyond what counts, along all axes but channels: a convolution's padding is zeros.
pub(super) fn conv(layout: &Layout, at: &At<'_>, which: &[usize]) -> Result<Expr, String> {
    let mut inputs = at.inputs.clone();
    for i in which {
        inputs[*i] = layout.zeroed(at.x(*i), at.of(*i), u32::MAX)?;
    }
    Ok(at.from(inputs))
}
