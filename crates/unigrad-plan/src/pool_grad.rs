//! The gradient of a max pool as a gather: each element asks the windows that it is in whether it is their maximum, instead of each window adding to its
//! maximum. A map, which fuses with what is around it, in place of a sort of all indices.
//!
//! In: a scatter that adds. Out: the same values as views and maps, where its indices are those of a max pool and windows have few enough taps.
//! Always: what an element gets is added in the order of the taps, in the dtype that its own is computed in.

use unigrad_graph::{BinaryOp, DType, Expr, Literal, Op, PadAxis, PoolSpec, ScatterMode, SliceAxis};

/// The scatter, which adds to zeros, as a gather, if it is the gradient of a pool of at most so many taps.
pub(crate) fn gathered(scatter: &Expr, most_taps: usize) -> Option<Expr> {
    let Op::Scatter { axis: 2, mode: ScatterMode::Add } = scatter.op() else { return None };
    let (index, dy) = (scatter.input(1)?, scatter.input(2)?);
    // As `max_pool_vjp` makes them: planes as one axis.
    let place = if matches!(index.op(), Op::Reshape) { index.input(0)? } else { index };
    let Op::Part(1) = place.op() else { return None };
    let pool = place.input(0)?;
    let Op::MaxPool(spec) = pool.op() else { return None };
    let x = pool.input(0)?;
    let taps: usize = spec.kernel.iter().product();
    if taps > most_taps
        || scatter.shape()[..2] != x.shape()[..2]
        || scatter.numel() != x.numel()
        || dy.numel() != place.numel()
        || dy.numel() == 0
    {
        return None;
    }
    let (shape, wide) = (x.shape(), dy.dtype().compute());
    let dy = dy.reshape(place.shape()).cast(wide);
    let own = scatter.iota_like(2, DType::I64).reshape(shape);
    let nowhere = Literal::int(DType::I64, -1);
    let mut sum: Option<Expr> = None;
    for tap in 0..taps {
        let is_own = at_tap(&place, spec, tap, shape, nowhere).binary(BinaryOp::Eq, &own);
        let given = at_tap(&dy, spec, tap, shape, Literal::zero(wide));
        let share = is_own.select(&given, &given.zeros_like());
        sum = Some(sum.map_or_else(|| share.clone(), |sum| sum.binary(BinaryOp::Add, &share)));
    }
    Some(sum?.cast(scatter.dtype()).reshape(scatter.shape()))
}

/// For every element of `[n, c, shape..]` what `values`, one for each window, has for the window whose tap it is; `fill` where there is none.
fn at_tap(values: &Expr, spec: &PoolSpec, tap: usize, shape: &[usize], fill: Literal) -> Expr {
    let (mut pads, mut cuts) = (vec![PadAxis::default(); 2], Vec::new());
    cuts.extend(shape[..2].iter().map(|size| SliceAxis { start: 0, step: 1, len: *size }));
    let mut rest = tap;
    let mut taps = vec![0; spec.kernel.len()];
    for (at, size) in taps.iter_mut().zip(&spec.kernel).rev() {
        (*at, rest) = (rest % size, rest / size);
    }
    for (d, at) in taps.into_iter().enumerate() {
        let (stride, size) = (spec.stride[d], shape[d + 2]);
        let spread = (values.shape()[d + 2].saturating_sub(1) * stride + 1) as i64;
        // Where the first window has this tap.
        let first = (at * spec.dilation[d]) as i64 - spec.pad[d] as i64;
        let after = size as i64 - first - spread;
        pads.push(PadAxis { lo: first.max(0) as usize, hi: after.max(0) as usize, interior: stride - 1 });
        cuts.push(SliceAxis { start: (-first).max(0) as usize, step: 1, len: size });
    }
    values.pad(&pads, fill).slice(&cuts)
}
