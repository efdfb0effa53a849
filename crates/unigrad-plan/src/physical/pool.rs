//! Max pools along named axes.
//!
//! In: a pool as it was recorded, its input in memory. Out: the pool of as many windows as the result has in memory, and where each maximum is, as a
//! number among the elements that count.
//! Always: what lies behind an axis is below all elements, and comes after them where it is no less than they are, so that it is never chosen.

use super::{At, Layout, mask::extreme};
use unigrad_graph::{BinaryOp, DType, Expr, Inputs, Literal, Op};

pub(super) fn max_pool(layout: &mut Layout, at: &At<'_>, n_spatial: usize) -> Result<Expr, String> {
    let (x, of) = (at.x(0), at.of(0));
    let axes = (2..2 + n_spatial).fold(0, |mask, axis| mask | 1 << axis);
    if !of.has_names_in(axes) {
        return Ok(at.from(at.inputs.clone()));
    }
    let masked = layout.masked(x, of, axes, extreme(x.dtype(), false))?;
    let pool = at.from([masked].into_iter().collect());
    let part = |i: usize, dtype: DType| {
        Expr::laid_out(&Op::Part(i), Inputs::from_iter([pool.clone()]), &at.expr.memory_shape(), dtype, at.expr.device())
    };
    let place = part(1, DType::I64);
    let number = |value: usize| place.literal_like(Literal::int(DType::I64, value as i64));
    // From a number among all in memory to one among those that count: the same along each axis, of which fewer count.
    let (mut rest, mut inner) = (place.clone(), None::<Expr>);
    let mut counted: Option<Expr> = None;
    for axis in (2..2 + n_spatial).rev() {
        let size = number(x.shape()[axis]);
        let along = if axis == 2 { rest.clone() } else { rest.binary(BinaryOp::Rem, &size) };
        rest = rest.binary(BinaryOp::IDiv, &size);
        let along = inner.as_ref().map_or_else(|| along.clone(), |inner| along.mul(inner));
        counted = Some(counted.map_or_else(|| along.clone(), |counted| counted.add(&along)));
        let own = match of.names().map(|names| names.axes()[axis].as_slice()) {
            None | Some([]) => number(of.shape()[axis]),
            Some(own) => layout.total(own, &place)?,
        };
        inner = Some(inner.map_or_else(|| own.clone(), |inner| inner.mul(&own)));
    }
    let counted = counted.ok_or("a pool without spatial axes")?;
    let value = part(0, at.expr.dtype());
    layout.parts.insert(at.expr.id(), vec![value, counted]);
    Ok(pool)
}
