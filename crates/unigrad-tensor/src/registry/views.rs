//! Views, joins and cuts.

use super::{Call, CallError, Op, Outputs, one, op};
use crate::{PadMode, Tensor};

pub(super) fn mode(c: &Call) -> Result<PadMode, CallError> {
    let constant = PadMode::Constant(c.maybe_float("value")?.unwrap_or(0.0));
    let modes = [("constant", constant), ("reflect", PadMode::Reflect), ("replicate", PadMode::Replicate), ("circular", PadMode::Circular)];
    c.choice("mode", &modes)
}

/// A shape of PyTorch's, in which -1 keeps a size.
fn expanded(c: &Call) -> Outputs {
    let (x, shape) = (c.x(0)?, c.ints("shape")?);
    let own = x.shape();
    let keep = |(axis, size): (usize, &i64)| {
        let known = usize::try_from(*size).ok();
        known.or_else(|| own.get((axis + own.len()).checked_sub(shape.len())?).copied()).ok_or_else(|| CallError {
            op: c.op,
            cause: format!("size {size} of a new axis"),
            help: "-1 keeps a size that is there".to_owned(),
        })
    };
    one(x.expand(shape.iter().enumerate().map(keep).collect::<Result<Vec<usize>, _>>()?))
}

/// Pads in PyTorch's order, the last axis first; negative ones cut.
fn padded(c: &Call) -> Outputs {
    let pads = c.ints("pads")?;
    let mut x = c.x(0)?.clone();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (i, pair) in pads.chunks(2).enumerate() {
        let (axis, &[before, after]) = (x.rank().checked_sub(1 + i), pair) else {
            return Err(CallError { op: c.op, cause: "an odd number of pads".to_owned(), help: "give two for each axis".to_owned() });
        };
        let Some(axis) = axis else {
            return Err(CallError {
                op: c.op,
                cause: format!("pads for {} axes", pads.len() / 2),
                help: format!("the tensor has {}", x.rank()),
            });
        };
        let cut = |pad: i64| pad.min(0).unsigned_abs() as usize;
        let size = x.shape()[axis].saturating_sub(cut(before)).saturating_sub(cut(after));
        x = x.narrow(axis as isize, cut(before), size);
        if x.is_invalid() {
            return one(x);
        }
        pairs.insert(0, (before.max(0) as usize, after.max(0) as usize));
    }
    one(x.pad_with(&pairs, mode(c)?))
}

fn rolled(c: &Call) -> Outputs {
    let (shifts, x) = (c.ints("shifts")?, c.x(0)?);
    match (c.maybe_ints("axes")?, shifts.as_slice()) {
        (Some(axes), _) => one(shifts.iter().zip(axes).fold(x.clone(), |x, (shift, axis)| x.roll(*shift, axis as isize))),
        (None, [shift]) => one(x.flatten_all().roll(*shift, 0).reshape(x.shape())),
        (None, _) => {
            Err(CallError { op: c.op, cause: format!("{} shifts and no axes", shifts.len()), help: "name an axis for each".to_owned() })
        }
    }
}

pub(super) const OPS: &[&[Op]] = &[&[
    op("reshape", "reshape", |c| one(c.x(0)?.reshape(c.ints("shape")?))),
    op("flatten", "flatten", |c| one(c.x(0)?.flatten(c.axis_of("start")?, c.axis_of("end")?))),
    op("unflatten", "unflatten", |c| one(c.x(0)?.unflatten(c.axis()?, c.ints("sizes")?))),
    op("permute", "permute", |c| one(c.x(0)?.permute(c.ints("axes")?))),
    op("transpose", "transpose", |c| one(c.x(0)?.transpose(c.axis_of("i")?, c.axis_of("j")?))),
    op("movedim", "movedim", |c| one(c.x(0)?.movedim(c.axis_of("source")?, c.axis_of("target")?))),
    op("expand", "expand", expanded),
    op("narrow", "narrow", |c| one(c.x(0)?.narrow(c.axis()?, c.size("start")?, c.size("len")?))),
    op("select", "select", |c| one(c.x(0)?.select(c.axis()?, c.int("index")?))),
    op("pad", "pad_with", padded),
    op("concat", "concat", |c| one(Tensor::concat(&c.all(), c.axis()?))).widest(),
    op("stack", "stack", |c| one(Tensor::stack(&c.all(), c.axis()?))).widest(),
    op("split", "split", |c| Ok(c.x(0)?.split(c.size("size")?, c.axis()?))),
    op("split_sizes", "split_sizes", |c| Ok(c.x(0)?.split_sizes(&c.sizes("sizes")?, c.axis()?))),
    op("chunk", "chunk", |c| Ok(c.x(0)?.chunk(c.size("n")?, c.axis()?))),
    op("unbind", "unbind", |c| Ok(c.x(0)?.unbind(c.axis()?))),
    op("meshgrid", "meshgrid", |c| Ok(Tensor::meshgrid(&c.all()))),
    op("squeeze", "squeeze", |c| one(if c.has("axis") { c.x(0)?.squeeze(c.axis()?) } else { c.x(0)?.squeeze_all() })),
    op("contiguous", "contiguous", |c| one(c.x(0)?.contiguous())),
    op("unsqueeze", "unsqueeze", |c| one(c.x(0)?.unsqueeze(c.axis()?))),
    op("flip", "flip", |c| one(c.x(0)?.flip(c.ints("axes")?))),
    op("roll", "roll", rolled),
    op("tile", "tile", |c| one(c.x(0)?.tile(&c.sizes("reps")?))),
    op("repeat", "repeat", |c| one(c.x(0)?.repeat(&c.sizes("reps")?))),
    op("repeat_interleave", "repeat_interleave", |c| one(c.x(0)?.repeat_interleave(c.size("n")?, c.axis()?))),
    op("tril", "tril", |c| one(c.x(0)?.tril(c.int("diagonal")?))),
    op("triu", "triu", |c| one(c.x(0)?.triu(c.int("diagonal")?))),
    op("diagonal", "diagonal", |c| one(c.x(0)?.diagonal(c.int("offset")?, -2, -1))),
    op("diag_embed", "diag_embed", |c| one(c.x(0)?.diag_embed())),
    op("unfold", "unfold", |c| one(c.x(0)?.unfold(c.axis()?, c.size("size")?, c.size("step")?))),
    op("interpolate_nearest", "interpolate_nearest", |c| one(c.x(0)?.interpolate_nearest(&c.sizes("sizes")?))),
]];
