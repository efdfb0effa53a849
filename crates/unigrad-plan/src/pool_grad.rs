//! The gradient of a max pool as a gather: each element asks the windows that it is in whether it is their maximum, instead of each window adding to its
//! maximum. A map, which fuses with what is around it, in place of a sort of all indices.
//!
//! In: a scatter that adds. Out: the same values as views and maps, where its indices are those of a max pool and an element is in few enough windows.
//! Always: what an element gets is added from the last window to the first, in the dtype that its own is computed in. Elements that are a stride
//! apart are in windows as far apart, so an axis is taken as steps of a stride and the places within one: window `step + j` is asked by all
//! places of a step, for each of few `j`, and only the step counts windows. Nothing is asked per tap.

use unigrad_graph::{BinaryOp, DType, Expr, Literal, Op, PadAxis, PoolSpec, ScatterMode, SliceAxis};

/// The scatter, which adds to zeros, as a gather, if it is the gradient of a pool where an element is in at most so many windows.
pub(crate) fn gathered(scatter: &Expr, most_windows: usize) -> Option<Expr> {
    let Op::Scatter { axis: 2, mode: ScatterMode::Add } = scatter.op() else { return None };
    let (index, dy) = (scatter.input(1)?, scatter.input(2)?);
    // As `max_pool_vjp` makes them: planes as one axis.
    let place = if matches!(index.op(), Op::Reshape) { index.input(0)? } else { index };
    let Op::Part(1) = place.op() else { return None };
    let pool = place.input(0)?;
    let Op::MaxPool(spec) = pool.op() else { return None };
    let x = pool.input(0)?;
    let windows: Vec<Vec<i64>> = (0..spec.kernel.len()).map(|d| around(spec, d)).collect();
    if windows.iter().map(Vec::len).fold(1, usize::saturating_mul) > most_windows
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
    let mut chosen = vec![0; windows.len()];
    'windows: loop {
        let from: Vec<i64> = windows.iter().zip(&chosen).map(|(windows, at)| windows[*at]).collect();
        let is_own = at_windows(&place, spec, &from, shape, nowhere).binary(BinaryOp::Eq, &own);
        let given = at_windows(&dy, spec, &from, shape, Literal::zero(wide));
        let share = is_own.select(&given, &given.zeros_like());
        sum = Some(sum.map_or_else(|| share.clone(), |sum| sum.binary(BinaryOp::Add, &share)));
        // The next combination, the last axis first.
        for d in (0..windows.len()).rev() {
            chosen[d] += 1;
            if chosen[d] < windows[d].len() {
                continue 'windows;
            }
            chosen[d] = 0;
        }
        break;
    }
    Some(sum?.cast(scatter.dtype()).reshape(scatter.shape()))
}

/// Which windows an element of step `step` along an axis may be in, as distances from window `step`, the last first.
fn around(spec: &PoolSpec, d: usize) -> Vec<i64> {
    let stride = spec.stride[d].max(1) as i64;
    // The element at place `r` of a step has tap `t` of window `step + j` if `r + pad - j * stride` is where the tap is: one `r` and `j` for each tap.
    let window = |tap: usize| (spec.pad[d] as i64 - (tap * spec.dilation[d]) as i64 + stride - 1).div_euclid(stride);
    let mut windows: Vec<i64> = (0..spec.kernel[d]).map(window).collect();
    windows.dedup();
    windows
}

/// For every element of `[n, c, shape..]` what `values`, one for each window, has for the window that is so far from its step; `fill` where there is none.
fn at_windows(values: &Expr, spec: &PoolSpec, from: &[i64], shape: &[usize], fill: Literal) -> Expr {
    let (mut pads, mut cuts) = (vec![PadAxis::default(); 2], Vec::new());
    cuts.extend(shape[..2].iter().map(|size| SliceAxis { start: 0, step: 1, len: *size }));
    let mut lifted = shape[..2].to_vec();
    let (mut spread, mut joined, mut ends) = (lifted.clone(), lifted.clone(), cuts.clone());
    for (d, from) in from.iter().enumerate() {
        let (stride, size) = (spec.stride[d].max(1), shape[d + 2]);
        let steps = size.div_ceil(stride);
        let after = steps as i64 + from - values.shape()[d + 2] as i64;
        pads.push(PadAxis { lo: (-from).max(0) as usize, hi: after.max(0) as usize, interior: 0 });
        cuts.push(SliceAxis { start: (*from).max(0) as usize, step: 1, len: steps });
        lifted.extend([steps, 1]);
        spread.extend([steps, stride]);
        joined.push(steps * stride);
        ends.push(SliceAxis { start: 0, step: 1, len: size });
    }
    values.pad(&pads, fill).slice(&cuts).reshape(&lifted).expand(&spread).reshape(&joined).slice(&ends)
}
