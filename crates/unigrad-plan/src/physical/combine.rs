//! Ops that combine elements along an axis: padding is their identity.

use super::{At, Layout, mask::extreme};
use unigrad_graph::{ArgReduceOp, AttentionSpec, BinaryOp, DType, Expr, Factor, Inputs, Literal, Op, ReduceOp, ScanOp};

/// What a reduction leaves as it is.
fn identity(op: ReduceOp, dtype: DType) -> Literal {
    match op {
        ReduceOp::Sum => Literal::zero(dtype),
        ReduceOp::Prod => Literal::one(dtype),
        ReduceOp::Max => extreme(dtype, false),
        ReduceOp::Min => extreme(dtype, true),
    }
}

fn one(x: Expr) -> Inputs {
    [x].into_iter().collect()
}

/// The factors of an axis.
fn factors(x: &Expr, axis: usize) -> &[Factor] {
    x.names().map_or(&[], |names| &names.axes()[axis])
}

pub(super) fn reduce(layout: &Layout, at: &At<'_>, op: ReduceOp, axes: u32) -> Result<Expr, String> {
    let x = layout.masked(at.x(0), at.of(0), axes, identity(op, at.x(0).dtype()))?;
    // A dimension of size 1 is reduced as well; in memory it may be an axis without elements to combine.
    let longer = (0..x.rank()).filter(|axis| axes >> axis & 1 == 1 && x.shape()[*axis] != 1).fold(0, |mask, axis| mask | 1 << axis);
    Ok(if longer == 0 { x.reshape(&at.expr.memory_shape()) } else { at.with(&Op::Reduce(op, longer), one(x)) })
}

pub(super) fn arg_reduce(layout: &Layout, at: &At<'_>, op: ArgReduceOp, axis: usize) -> Result<Expr, String> {
    let (x, of) = (at.x(0), at.of(0));
    let last = extreme(x.dtype(), matches!(op, ArgReduceOp::ArgMin));
    let place = at.from(one(layout.masked(x, of, 1 << axis, last)?));
    layout.to_recorded(&place, factors(of, axis))
}

pub(super) fn scan(layout: &Layout, at: &At<'_>, op: ScanOp, axis: usize) -> Result<Expr, String> {
    let x = layout.masked(at.x(0), at.of(0), 1 << axis, op.identity(at.x(0).dtype()))?;
    Ok(at.from(one(x)))
}

pub(super) fn softmax(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let x = layout.masked(at.x(0), at.of(0), 1 << axis, extreme(at.x(0).dtype(), false))?;
    Ok(at.from(one(x)))
}

/// The mean is over what counts.
pub(super) fn normalize(layout: &Layout, at: &At<'_>, axes: usize, center: bool, eps: f64) -> Result<Expr, String> {
    let (x, of) = (at.x(0), at.of(0));
    let mask = (x.rank() - axes..x.rank()).fold(0, |mask, axis| mask | 1 << axis);
    if !of.has_names_in(mask) {
        return Ok(at.from(at.inputs.clone()));
    }
    let dtype = x.dtype();
    let x = x.cast(dtype.compute());
    let count = count(layout, of, mask, &x)?;
    let mean = |e: &Expr| -> Result<Expr, String> { Ok(layout.zeroed(e, of, mask)?.sum(mask).div(&count)) };
    let centered = if center { x.sub(&mean(&x)?.expand(x.shape())) } else { x.clone() };
    let scale = mean(&centered.mul(&centered))?.binary_const(BinaryOp::Add, eps).rsqrt();
    Ok(centered.mul(&scale.expand(x.shape())).cast(dtype))
}

/// How many elements count along the axes, of the dtype and for the shape of the reduced `x`.
fn count(layout: &Layout, of: &Expr, axes: u32, x: &Expr) -> Result<Expr, String> {
    let reduced = |axis: &usize| axes >> axis & 1 == 1;
    let shape: Vec<usize> = (0..x.rank()).map(|axis| if reduced(&axis) { 1 } else { x.shape()[axis] }).collect();
    let mut count = Expr::constant(Literal::one(DType::I64), &[], x.device());
    for axis in (0..x.rank()).filter(reduced) {
        count = match factors(of, axis) {
            [] => count.mul(&count.literal_like(Literal::int(DType::I64, of.shape()[axis] as i64))),
            own => count.mul(&layout.total(own, &count)?),
        };
    }
    Ok(count.cast(x.dtype()).expand(&shape))
}

/// Both sides of a product are 0 where they meet in the padding, along these axes, for 0 times NaN is NaN.
pub(super) fn product(layout: &Layout, at: &At<'_>, axes: [usize; 2]) -> Result<Expr, String> {
    let side = |i: usize| layout.zeroed(at.x(i), at.of(i), 1 << axes[i]);
    Ok(at.from([side(0)?, side(1)?].into_iter().collect()))
}

/// Keys beyond `kv_len` are not seen, but what lies there may be NaN; queries in the padding add nothing to a gradient.
pub(super) fn attention(layout: &Layout, at: &At<'_>, spec: &AttentionSpec) -> Result<Expr, String> {
    let is_gradient = matches!(at.expr.op(), Op::AttentionGrad(_));
    let results = spec.numbers().end;
    let mut inputs = at.inputs.clone();
    for (i, input) in inputs.iter_mut().enumerate() {
        let axes = match i {
            0 if is_gradient => 1 << 2,
            1 | 2 => 1 << 2,
            3 if spec.has_bias => 1 << 2 | 1 << 3,
            // A sequence of no keys.
            i if spec.positions.is_tensor() && i + 1 == spec.n_tensors() => 1,
            i if i >= results => 1 << 2,
            _ => 0,
        };
        *input = layout.zeroed(input, at.of(i), axes)?;
    }
    Ok(at.from(inputs))
}
