//! Ops that number elements or find them by number.

use super::{At, Layout, mask::extreme, resized, with_size};
use unigrad_graph::{DType, Expr, Factor, Inputs, Literal, Op, ScatterMode};

/// The factors of an axis.
fn factors(x: &Expr, axis: usize) -> &[Factor] {
    x.names().map_or(&[], |names| &names.axes()[axis])
}

pub(super) fn iota(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let own = factors(at.expr, axis);
    if own.len() <= 1 {
        return Ok(at.from(Inputs::new()));
    }
    let place = Expr::iota(&at.expr.memory_shape(), axis, DType::I64, at.expr.device());
    Ok(layout.to_recorded(&place, own)?.cast(at.expr.dtype()))
}

/// Beyond every axis: a kernel that meets it says so.
pub(super) const NOWHERE: i64 = 1 << 40;

/// An index that is in range in the padding too, as places in memory. Negative ones count from the current end, and what is beyond that is out of
/// range, whether there is padding or not.
fn places(layout: &Layout, index: &Expr, of: &Expr, indexed: &Expr, axis: usize) -> Result<Expr, String> {
    let index = layout.zeroed(index, of, u32::MAX)?;
    let own = factors(indexed, axis);
    if own.is_empty() {
        return Ok(index);
    }
    let size = layout.total(own, &index)?;
    let zero = index.zeros_like();
    let from_begin = index.lt(&zero).select(&index.add(&size), &index);
    let is_inside = from_begin.ge(&zero).and(&from_begin.lt(&size));
    let place = layout.to_memory(&is_inside.select(&from_begin, &zero), own)?;
    Ok(is_inside.select(&place, &index.literal_like(Literal::int(DType::I64, NOWHERE))))
}

pub(super) fn gather(layout: &Layout, at: &At<'_>, axis: usize) -> Result<Expr, String> {
    let index = places(layout, at.x(1), at.of(1), at.of(0), axis)?;
    Ok(at.from([at.x(0).clone(), index].into_iter().collect()))
}

/// An index or a source without what reaches beyond the base, along other axes than `axis`: that is padding of theirs.
fn within(x: &Expr, base: &Expr, axis: usize) -> Expr {
    let longer = |i: &usize| *i != axis && x.shape()[*i] > base.shape()[*i];
    (0..x.rank()).filter(longer).fold(x.clone(), |x, i| resized(&x, i, base.shape()[i]))
}

/// A source in the padding changes nothing: it is the identity of what happens to element 0, or goes to an element beyond the end.
pub(super) fn scatter(layout: &Layout, at: &At<'_>, axis: usize, mode: ScatterMode) -> Result<Expr, String> {
    let (base, src, of) = (at.x(0), at.x(2), at.of(2));
    let dtype = src.dtype();
    let identity = match mode {
        ScatterMode::Add => Literal::float(dtype, -0.0),
        ScatterMode::Mul => Literal::one(dtype),
        ScatterMode::Max => extreme(dtype, false),
        ScatterMode::Min => extreme(dtype, true),
        ScatterMode::Set => {
            let index = places(layout, at.x(1), at.of(1), at.of(0), axis)?;
            let Some(counts) = layout.counts(&index, of, u32::MAX)? else {
                return Ok(at.from([base.clone(), within(&index, base, axis), within(src, base, axis)].into_iter().collect()));
            };
            let size = base.shape()[axis];
            let index = counts.select(&index, &index.literal_like(Literal::int(DType::I64, size as i64)));
            let shape = with_size(base.shape(), axis, size + 1);
            let inputs = [resized(base, axis, size + 1), within(&index, base, axis), within(src, base, axis)].into_iter().collect();
            return Ok(Expr::laid_out(&Op::Scatter { axis, mode }, inputs, &shape, dtype, base.device()).narrow(axis, 0, size));
        }
    };
    let index = places(layout, at.x(1), at.of(1), at.of(0), axis)?;
    let src = layout.masked(src, of, u32::MAX, identity)?;
    Ok(at.from([base.clone(), within(&index, base, axis), within(&src, base, axis)].into_iter().collect()))
}
