//! Views.

use super::{Call, OpEntry, op};
use unigrad_tensor::{PadMode, Tensor};

fn mode(c: &Call) -> PadMode {
    match c.args.text("mode") {
        Some("reflect") => PadMode::Reflect,
        Some("replicate") => PadMode::Replicate,
        Some("circular") => PadMode::Circular,
        _ => PadMode::Constant(c.args.float("value").unwrap_or(0.0)),
    }
}

pub(super) const OPS: &[&[OpEntry]] = &[&[
    op("reshape", |c| vec![c.x[0].reshape(c.args.ints("shape").unwrap_or_default())]),
    op("flatten", |c| vec![c.x[0].flatten(c.args.int("start").unwrap_or(0) as isize, c.args.int("end").unwrap_or(-1) as isize)]),
    op("unflatten", |c| vec![c.x[0].unflatten(c.axis(), c.args.ints("sizes").unwrap_or_default())]),
    op("permute", |c| vec![c.x[0].permute(c.args.ints("axes").unwrap_or_default())]),
    op("transpose", |c| vec![c.x[0].transpose(c.args.int("i").unwrap_or(0) as isize, c.args.int("j").unwrap_or(0) as isize)]),
    op("movedim", |c| vec![c.x[0].movedim(c.args.int("source").unwrap_or(0) as isize, c.args.int("target").unwrap_or(0) as isize)]),
    op("expand", |c| {
        let shape = c.args.ints("shape").unwrap_or_default();
        let own = c.x[0].shape();
        // PyTorch's -1 keeps a size.
        let keep = |(axis, size): (usize, &i64)| usize::try_from(*size).unwrap_or_else(|_| own[axis + own.len() - shape.len()]);
        vec![c.x[0].expand(shape.iter().enumerate().map(keep).collect::<Vec<usize>>())]
    }),
    op("narrow", |c| vec![c.x[0].narrow(c.axis(), c.size("start"), c.size("len"))]),
    op("select", |c| vec![c.x[0].select(c.axis(), c.args.int("index").unwrap_or(0))]),
    op("pad", |c| {
        // PyTorch's order: the last axis first; negative pads cut.
        let pads = c.args.ints("pads").unwrap_or_default();
        let mut x = c.x[0].clone();
        let rank = x.rank();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for (i, pair) in pads.chunks_exact(2).enumerate() {
            let axis = rank - 1 - i;
            let cut = |pad: i64| (-pad).max(0) as usize;
            let size = x.shape()[axis] - cut(pair[0]) - cut(pair[1]);
            x = x.narrow(axis as isize, cut(pair[0]), size);
            pairs.insert(0, (pair[0].max(0) as usize, pair[1].max(0) as usize));
        }
        vec![x.pad_with(&pairs, mode(c))]
    }),
    op("concat", |c| vec![Tensor::concat(&c.refs(), c.axis())]),
    op("stack", |c| vec![Tensor::stack(&c.refs(), c.axis())]),
    op("split", |c| c.x[0].split(c.size("size"), c.axis())),
    op("split_sizes", |c| c.x[0].split_sizes(&c.sizes("sizes"), c.axis())),
    op("chunk", |c| c.x[0].chunk(c.size("n"), c.axis())),
    op("unbind", |c| c.x[0].unbind(c.axis())),
    op("meshgrid", |c| Tensor::meshgrid(&c.refs())),
    op("squeeze", |c| {
        vec![match c.args.int("axis") {
            Some(axis) => c.x[0].squeeze(axis as isize),
            None => c.x[0].squeeze_all(),
        }]
    }),
    op("unsqueeze", |c| vec![c.x[0].unsqueeze(c.axis())]),
    op("flip", |c| vec![c.x[0].flip(c.args.ints("axes").unwrap_or_default())]),
    op("roll", |c| {
        let shifts = c.args.ints("shifts").unwrap_or_default();
        let mut x = c.x[0].clone();
        match c.args.ints("axes") {
            Some(axes) => shifts.iter().zip(axes).for_each(|(shift, axis)| x = x.roll(*shift, axis as isize)),
            None => x = x.flatten_all().roll(shifts[0], 0).reshape(c.x[0].shape()),
        }
        vec![x]
    }),
    op("tile", |c| vec![c.x[0].tile(&c.sizes("reps"))]),
    op("repeat", |c| vec![c.x[0].repeat(&c.sizes("reps"))]),
    op("repeat_interleave", |c| vec![c.x[0].repeat_interleave(c.size("n"), c.axis())]),
    op("tril", |c| vec![c.x[0].tril(c.args.int("diagonal").unwrap_or(0))]),
    op("triu", |c| vec![c.x[0].triu(c.args.int("diagonal").unwrap_or(0))]),
    op("diagonal", |c| vec![c.x[0].diagonal(c.args.int("offset").unwrap_or(0), -2, -1)]),
    op("diag_embed", |c| vec![c.x[0].diag_embed()]),
    op("unfold", |c| vec![c.x[0].unfold(c.axis(), c.size("size"), c.size("step"))]),
    op("interpolate_nearest", |c| vec![c.x[0].interpolate_nearest(&c.sizes("sizes"))]),
]];
