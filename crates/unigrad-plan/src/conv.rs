//! Convolutions as matrix products of views.
//!
//! A window view of the padded input makes every tap an axis of its own; what remains is one batched matrix product whose
//! operands are read in place with several strides per dimension ([`unigrad_kernel::Contract`]). No im2col buffer exists.

use unigrad_graph::{ConvSpec, Expr, Literal, PadAxis, SliceAxis};

/// `Op::Conv` in views and a matrix product.
pub(crate) fn forward(x: &Expr, w: &Expr, spec: &ConvSpec, shape: &[usize]) -> Expr {
    let (batch, groups, outputs) = (shape[0], spec.groups, shape[1] / spec.groups);
    let padded = pad_spatial(x, |d| PadAxis { lo: spec.padding[d].0, hi: spec.padding[d].1, interior: 0 });
    let windows = windows(&padded, 2, |d| (w.shape()[d + 2], spec.stride[d], spec.dilation[d]), &shape[2..]);
    product(&windows, w, batch, groups, outputs, shape)
}

/// `Op::ConvDataGrad`: the convolution of the spread-out `dy` with the flipped, transposed weight.
pub(crate) fn data_grad(dy: &Expr, w: &Expr, spec: &ConvSpec, shape: &[usize]) -> Expr {
    let n = spec.stride.len();
    if shape.contains(&0) || dy.numel() == 0 {
        return Expr::constant(Literal::zero(dy.dtype()), shape, dy.device());
    }
    let (groups, kernel) = (spec.groups, &w.shape()[2..]);
    let (out_per_group, in_per_group) = (w.shape()[0] / groups, w.shape()[1]);
    // Element h of dx gathers taps dy[(h + pad - k * dilation) / stride]: with dy spread by the stride and bordered by the kernel's
    // reach less the padding, a plain stride-1 convolution. A padding beyond the reach cuts dy instead of bordering it.
    let mut spread = dy.clone();
    let mut cut: Vec<SliceAxis> = Vec::new();
    let spread_len = |d: usize| dy.shape()[d + 2] + (spec.stride[d] - 1) * dy.shape()[d + 2].saturating_sub(1);
    let lo = |d: usize| (spec.dilation[d] * (kernel[d] - 1)) as i64 - spec.padding[d].0 as i64;
    let hi = |d: usize| (shape[d + 2] + spec.dilation[d] * (kernel[d] - 1)) as i64 - lo(d) - spread_len(d) as i64;
    spread = pad_spatial(&spread, |d| PadAxis { lo: lo(d).max(0) as usize, hi: hi(d).max(0) as usize, interior: spec.stride[d] - 1 });
    for (axis, size) in spread.shape().iter().enumerate() {
        let (start, end) = if axis < 2 { (0, 0) } else { ((-lo(axis - 2)).max(0) as usize, (-hi(axis - 2)).max(0) as usize) };
        cut.push(SliceAxis { start: if start < *size { start } else { 0 }, step: 1, len: size.saturating_sub(start + end) });
    }
    spread = spread.slice(&cut);
    let flip = |(axis, size): (usize, &usize)| SliceAxis {
        start: if axis < 2 { 0 } else { size - 1 },
        step: if axis < 2 { 1 } else { -1 },
        len: *size,
    };
    let flipped = w.slice(&w.shape().iter().enumerate().map(flip).collect::<Vec<_>>());
    // [g, o, i, k..] -> [g, i, o, k..] -> [g * i, o, k..]
    let mut split = vec![groups, out_per_group, in_per_group];
    split.extend_from_slice(kernel);
    let mut perm: Vec<usize> = (0..n + 3).collect();
    perm.swap(1, 2);
    let mut joined = vec![groups * in_per_group, out_per_group];
    joined.extend_from_slice(kernel);
    let transposed = flipped.reshape(&split).permute(&perm).reshape(&joined);
    let windows = windows(&spread, 2, |d| (kernel[d], 1, spec.dilation[d]), &shape[2..]);
    product(&windows, &transposed, shape[0], groups, in_per_group, shape)
}

/// `Op::ConvWeightGrad`: windows as long as `dy`, one per tap of the kernel, summed over the batch and `dy`'s positions.
pub(crate) fn weight_grad(x: &Expr, dy: &Expr, spec: &ConvSpec, shape: &[usize]) -> Expr {
    let n = spec.stride.len();
    if x.numel() == 0 || dy.numel() == 0 {
        return Expr::constant(Literal::zero(dy.dtype()), shape, dy.device());
    }
    let groups = spec.groups;
    let (outputs, inputs, batch) = (shape[0] / groups, shape[1], x.shape()[0]);
    let positions = &dy.shape()[2..];
    let padded = pad_spatial(x, |d| PadAxis { lo: spec.padding[d].0, hi: spec.padding[d].1, interior: 0 });
    // [b, g * i, taps.., positions..]
    let windows = windows(&padded, 2, |d| (positions[d], spec.dilation[d], spec.stride[d]), &shape[2..]);
    let (n_taps, n_positions) = (shape[2..].iter().product::<usize>(), positions.iter().product::<usize>());
    let mut split = vec![batch, groups, inputs];
    split.extend_from_slice(&shape[2..]);
    split.extend_from_slice(positions);
    // -> [g, (b, positions..), (i, taps..)]
    let mut perm = vec![1, 0];
    perm.extend(3 + n..3 + 2 * n);
    perm.push(2);
    perm.extend(3..3 + n);
    let right = windows.reshape(&split).permute(&perm).reshape(&[groups, batch * n_positions, inputs * n_taps]);
    // dy [b, g, o, p] -> [g, o, (b, p)]
    let left = dy.reshape(&[batch, groups, outputs, n_positions]).permute(&[1, 2, 0, 3]).reshape(&[groups, outputs, batch * n_positions]);
    left.matmul(&right).reshape(shape)
}

/// `[b, c, windows.., kernel..]` against `[g * o, c / g, kernel..]` gives `[b, g * o, windows..]`.
fn product(windows: &Expr, w: &Expr, batch: usize, groups: usize, outputs: usize, shape: &[usize]) -> Expr {
    let n = shape.len() - 2;
    let (inputs, kernel) = (w.shape()[1], &w.shape()[2..]);
    let taps: usize = kernel.iter().product();
    let positions: usize = shape[2..].iter().product();
    let mut split = vec![batch, groups, inputs];
    split.extend_from_slice(&shape[2..]);
    split.extend_from_slice(kernel);
    // -> [b, g, (c, kernel..), (windows..)]
    let mut perm = vec![0, 1, 2];
    perm.extend(3 + n..3 + 2 * n);
    perm.extend(3..3 + n);
    let right = windows.reshape(&split).permute(&perm).reshape(&[batch, groups, inputs * taps, positions]);
    let left = w.reshape(&[1, groups, outputs, inputs * taps]).expand(&[batch, groups, outputs, inputs * taps]);
    left.matmul(&right).reshape(shape)
}

fn pad_spatial(x: &Expr, axis: impl Fn(usize) -> PadAxis) -> Expr {
    let axes: Vec<PadAxis> = (0..x.rank()).map(|a| if a < 2 { PadAxis::default() } else { axis(a - 2) }).collect();
    x.pad(&axes, Literal::zero(x.dtype()))
}

/// `[.., spatial.., rest]` to `[.., windows.., rest, kernel..]` with `(size, step, dilation)` per spatial axis, the first of which is `first`, and of each
/// the first `counts` windows.
pub(crate) fn windows(x: &Expr, first: usize, window: impl Fn(usize) -> (usize, usize, usize), counts: &[usize]) -> Expr {
    let mut view = x.clone();
    for (d, count) in counts.iter().enumerate() {
        let (size, step, dilation) = window(d);
        view = view.window(d + first, size, step, dilation).narrow(d + first, 0, *count);
    }
    view
}
