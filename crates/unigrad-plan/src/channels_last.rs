//! Convolutions as matrix products of views, with channels last: what [`crate::conv`] does, in the other order of axes.
//!
//! In: convolutions as they are recorded, on values `[batch, channels, spatial..]`. Out: the same values, as permutes of what is computed with its
//! channels last: rows of a product are positions of all images, sums run over taps and, innermost, channels, so that both operands are read in runs of
//! neighbours. [`crate::permutes`] moves the permutes on, and where a producer's meets a reader's both are gone.
//!
//! The rules. A capture's convolutions go this way if more than half of their work has channels that are multiples of [`RUN`] in each group on both
//! sides ([`are_last`]); then all do. Channels of an only group that are none are filled up with zeros, for runs: a network's first layer has 3. With one
//! channel a group on both sides there is no product, but a sum of a few terms for each element.
//! Always: no element is read that is not there, and no buffer of windows exists. Never: moves a permute.

use crate::conv;
use smallvec::SmallVec;
use unigrad_graph::{ConvSpec, Expr, Literal, Op, PadAxis, SliceAxis};
use unigrad_kernel::Channels;

/// Elements of a half type that are copied at once: 16 bytes.
pub(crate) const RUN: usize = 8;

/// Whether a capture's convolutions have their channels last.
pub(crate) fn are_last<'a>(convolutions: impl Iterator<Item = &'a Expr>, channels: Channels) -> bool {
    if channels == Channels::First {
        return false;
    }
    // Multiplications, of all and of those that suit.
    let (mut all, mut suiting) = (0.0, 0.0);
    for expr in convolutions.filter(|expr| channels.are_last(expr.dtype())) {
        let (Op::Conv(spec) | Op::ConvDataGrad(spec) | Op::ConvWeightGrad(spec)) = expr.op() else { continue };
        let shape = |i: usize| expr.input(i).map(|input| input.shape().clone());
        let mut sides = [Some(expr.shape().clone()), shape(1)];
        if matches!(expr.op(), Op::ConvDataGrad(_)) {
            sides[0] = shape(0);
        } else if matches!(expr.op(), Op::ConvWeightGrad(_)) {
            sides.swap(0, 1);
        }
        let [outputs, weight] = sides;
        if channels == Channels::Last {
            return true;
        }
        let (Some(outputs), Some(weight)) = (outputs, weight) else { continue };
        let (per_output, per_group) = (&weight[1..], weight[0] / spec.groups.max(1));
        let work = outputs.iter().chain(per_output).map(|size| *size as f64).product::<f64>();
        all += work;
        if is_run(weight[1]) && is_run(per_group) {
            suiting += work;
        }
    }
    suiting > all / 2.0
}

fn is_run(channels: usize) -> bool {
    channels > 0 && channels.is_multiple_of(RUN)
}

/// How many channels of a group there are in memory.
fn filled(channels: usize, groups: usize) -> usize {
    if groups == 1 { channels.next_multiple_of(RUN) } else { channels }
}

/// `Op::Conv`.
pub(crate) fn forward(x: &Expr, w: &Expr, spec: &ConvSpec, shape: &[usize]) -> Expr {
    let (groups, inputs, outputs) = (spec.groups, w.shape()[1], shape[1] / spec.groups);
    let window = |d: usize| (w.shape()[d + 2], spec.stride[d], spec.dilation[d]);
    let around = |d: usize| PadAxis { lo: spec.padding[d].0, hi: spec.padding[d].1, interior: 0 };
    if is_depthwise(inputs, outputs, groups) {
        return depthwise(&windows(&padded(&last(x), 0, around), window, &shape[2..]), w, shape);
    }
    let channels = filled(inputs, groups);
    let left = windows(&padded(&last(x), channels - inputs, around), window, &shape[2..]);
    // [g * o, taps.., i] -> [g, (taps.., i), o]
    let right = weight(w, (0, channels - inputs));
    let length = right.shape()[1..].iter().product::<usize>();
    let right = right.reshape(&[groups, outputs, length]).permute(&[0, 2, 1]);
    product(&left, &right, groups, shape)
}

/// `Op::ConvDataGrad`: the convolution of the spread-out `dy` with the flipped weight, from outputs to inputs.
pub(crate) fn data_grad(dy: &Expr, w: &Expr, spec: &ConvSpec, shape: &[usize]) -> Expr {
    let n = spec.stride.len();
    if shape.contains(&0) || dy.numel() == 0 {
        return Expr::constant(Literal::zero(dy.dtype()), shape, dy.device());
    }
    let (groups, kernel) = (spec.groups, &w.shape()[2..]);
    let (outputs, inputs) = (w.shape()[0] / groups, w.shape()[1]);
    let is_point = kernel.iter().all(|size| *size == 1);
    let channels = filled(outputs, groups);
    // [g, o, taps.., i] with the taps from the last to the first.
    let flipped = |w: &Expr, axes: std::ops::Range<usize>| {
        let flip = |(axis, size): (usize, &usize)| match axes.contains(&axis) {
            true => SliceAxis { start: size - 1, step: -1, len: *size },
            false => SliceAxis { start: 0, step: 1, len: *size },
        };
        w.slice(&w.shape().iter().enumerate().map(flip).collect::<Vec<_>>())
    };
    let window = |d: usize| (kernel[d], 1, spec.dilation[d]);
    if is_depthwise(inputs, outputs, groups) {
        return depthwise(&windows(&spread(&last(dy), 0, kernel, spec, shape), window, &shape[2..]), &flipped(w, 2..2 + n), shape);
    }
    let right = flipped(&weight(w, (channels - outputs, 0)), 1..1 + n);
    let mut split: Vec<usize> = vec![groups, channels];
    split.extend(&right.shape()[1..]);
    let mut perm: Vec<usize> = vec![0];
    perm.extend(2..2 + n);
    perm.extend([1, 2 + n]);
    let length = channels * kernel.iter().product::<usize>();
    let right = right.reshape(&split).permute(&perm).reshape(&[groups, length, inputs]);
    if !is_point || spec.stride.iter().all(|stride| *stride == 1) {
        let left = windows(&spread(&last(dy), channels - outputs, kernel, spec, shape), window, &shape[2..]);
        return product(&left, &right, groups, shape);
    }
    // One tap: each element of dy is for one of dx, and those between are zeros, which are put there afterwards.
    let small: Vec<usize> = shape[..2].iter().chain(&dy.shape()[2..]).copied().collect();
    let left = windows(&padded(&last(dy), channels - outputs, |_| PadAxis::default()), |_| (1, 1, 1), &small[2..]);
    first(&spread(&rows(&left, &right, groups, &small), 0, kernel, spec, shape))
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
    let around = |d: usize| PadAxis { lo: spec.padding[d].0, hi: spec.padding[d].1, interior: 0 };
    let window = |d: usize| (positions[d], spec.dilation[d], spec.stride[d]);
    if is_depthwise(inputs, outputs, groups) {
        return depthwise_weight(&windows(&padded(&last(x), 0, around), window, &shape[2..]), dy, shape);
    }
    let (ins, outs) = (filled(inputs, groups), filled(outputs, groups));
    // [b, taps.., g * i, positions..]
    let right = windows(&padded(&last(x), ins - inputs, around), window, &shape[2..]);
    let mut split = vec![batch];
    split.extend(&shape[2..]);
    split.extend([groups, ins]);
    split.extend(positions);
    // -> [g, (b, positions..), (taps.., i)]
    let mut perm = vec![1 + n, 0];
    perm.extend(3 + n..3 + 2 * n);
    perm.extend(1..1 + n);
    perm.push(2 + n);
    let (taps, places) = (shape[2..].iter().product::<usize>(), batch * positions.iter().product::<usize>());
    let right = right.reshape(&split).permute(&perm).reshape(&[groups, places, taps * ins]);
    // dy [b, positions.., g * o] -> [g, o, (b, positions..)]
    let left = padded(&last(dy), outs - outputs, |_| PadAxis::default());
    let left = left.reshape(&[places, groups, outs]).permute(&[1, 2, 0]);
    let sums = left.matmul(&right);
    let mut whole = vec![groups * outs];
    whole.extend(&shape[2..]);
    whole.push(ins);
    let mut perm = vec![0, 1 + n];
    perm.extend(1..1 + n);
    turned(&sums.reshape(&whole).narrow(0, 0, groups * outputs).narrow(1 + n, 0, inputs), &perm)
}

/// Windows `[b, positions.., g * i, taps..]` against `[g, (taps.., i), o]` give `[b, g * o, positions..]`.
fn product(windows: &Expr, right: &Expr, groups: usize, shape: &[usize]) -> Expr {
    first(&rows(windows, right, groups, shape))
}

/// [`product`] with channels last.
fn rows(windows: &Expr, right: &Expr, groups: usize, shape: &[usize]) -> Expr {
    let n = shape.len() - 2;
    let (outputs, length) = (right.shape()[2], right.shape()[1]);
    let (inputs, taps) = (windows.shape()[1 + n] / groups, &windows.shape()[2 + n..]);
    let places = shape[0] * shape[2..].iter().product::<usize>();
    let mut split = vec![shape[0]];
    split.extend(&shape[2..]);
    split.extend([groups, inputs]);
    split.extend(taps);
    // -> [g, (b, positions..), (taps.., i)]
    let mut perm = vec![1 + n, 0];
    perm.extend(1..1 + n);
    perm.extend(3 + n..3 + 2 * n);
    perm.push(2 + n);
    let left = windows.reshape(&split).permute(&perm).reshape(&[groups, places, length]);
    let sums = left.matmul(right);
    let mut whole = vec![shape[0]];
    whole.extend(&shape[2..]);
    whole.push(groups * outputs);
    if groups == 1 { sums.reshape(&whole) } else { sums.permute(&[1, 0, 2]).reshape(&whole) }
}

fn is_depthwise(inputs: usize, outputs: usize, groups: usize) -> bool {
    groups > 1 && inputs == 1 && outputs == 1
}

/// Windows `[b, positions.., c, taps..]` against `[c, 1, taps..]`: sums over the taps.
fn depthwise(windows: &Expr, w: &Expr, shape: &[usize]) -> Expr {
    let (n, dtype) = (shape.len() - 2, windows.dtype());
    let mut lifted = vec![1; 1 + n];
    lifted.push(w.shape()[0]);
    lifted.extend(&w.shape()[2..]);
    let wide = |x: &Expr| x.cast(dtype.compute());
    let terms = wide(windows).mul(&wide(w).reshape(&lifted).expand(windows.shape()));
    let mask = (2 + n..2 + 2 * n).fold(0, |mask, axis| mask | 1 << axis);
    let mut whole = vec![shape[0]];
    whole.extend(&shape[2..]);
    whole.push(shape[1]);
    first(&terms.sum(mask).reshape(&whole).cast(dtype))
}

/// Windows `[b, taps.., c, positions..]` and `dy` `[b, c, positions..]`: sums over all positions.
fn depthwise_weight(windows: &Expr, dy: &Expr, shape: &[usize]) -> Expr {
    let (n, dtype) = (shape.len() - 2, dy.dtype());
    // -> [b, positions.., taps.., c]
    let mut perm = vec![0];
    perm.extend(2 + n..2 + 2 * n);
    perm.extend(1..2 + n);
    let windows = windows.permute(&perm);
    let mut lifted = vec![dy.shape()[0]];
    lifted.extend(&dy.shape()[2..]);
    lifted.extend(std::iter::repeat_n(1, n));
    lifted.push(shape[0]);
    let wide = |x: &Expr| x.cast(dtype.compute());
    let terms = wide(&windows).mul(&wide(&last(dy)).reshape(&lifted).expand(windows.shape()));
    let mask = (0..1 + n).fold(0, |mask, axis| mask | 1 << axis);
    let mut whole = shape[2..].to_vec();
    whole.push(shape[0]);
    let mut perm = vec![n];
    perm.extend(0..n);
    turned(&terms.sum(mask).reshape(&whole).cast(dtype), &perm).reshape(shape)
}

/// `[o, i, taps..]` as `[o, taps.., i]`, in memory in this order where it is not already, with so many more of `o` and `i`, which are zeros.
fn weight(w: &Expr, more: (usize, usize)) -> Expr {
    let rank = w.rank();
    let mut perm = vec![0];
    perm.extend(2..rank);
    perm.push(1);
    let w = turned(w, &perm);
    if more == (0, 0) {
        return dense(&w);
    }
    let mut axes = vec![PadAxis::default(); rank];
    (axes[0].hi, axes[rank - 1].hi) = more;
    w.pad(&axes, Literal::zero(w.dtype()))
}

/// `dy` with its channels last such that every tap of a convolution in steps of one finds its element: spread by the stride and bordered by the kernel's
/// reach less the padding. A padding beyond the reach cuts it instead.
fn spread(dy: &Expr, more: usize, kernel: &[usize], spec: &ConvSpec, shape: &[usize]) -> Expr {
    let reach = |d: usize| spec.dilation[d] * (kernel[d] - 1);
    let len = |d: usize| dy.shape()[d + 1] + (spec.stride[d] - 1) * dy.shape()[d + 1].saturating_sub(1);
    let lo = |d: usize| reach(d) as i64 - spec.padding[d].0 as i64;
    let hi = |d: usize| (shape[d + 2] + reach(d)) as i64 - lo(d) - len(d) as i64;
    let spread = padded(dy, more, |d| PadAxis { lo: lo(d).max(0) as usize, hi: hi(d).max(0) as usize, interior: spec.stride[d] - 1 });
    let inner = 1..1 + spec.stride.len();
    let cut = |(axis, size): (usize, &usize)| {
        let (start, end) = if inner.contains(&axis) { ((-lo(axis - 1)).max(0) as usize, (-hi(axis - 1)).max(0) as usize) } else { (0, 0) };
        SliceAxis { start: if start < *size { start } else { 0 }, step: 1, len: size.saturating_sub(start + end) }
    };
    spread.slice(&spread.shape().iter().enumerate().map(cut).collect::<Vec<_>>())
}

/// Zeros around and between, of channels behind; without any, the value in memory in the order of its axes.
fn padded(x: &Expr, more: usize, axis: impl Fn(usize) -> PadAxis) -> Expr {
    let rank = x.rank();
    let mut axes: Vec<PadAxis> = (0..rank).map(|a| if (1..rank - 1).contains(&a) { axis(a - 1) } else { PadAxis::default() }).collect();
    axes[rank - 1].hi = more;
    if axes.iter().all(|axis| *axis == PadAxis::default()) {
        return dense(x);
    }
    x.pad(&axes, Literal::zero(x.dtype()))
}

/// `[b, spatial.., c]` to `[b, windows.., c, taps..]`; see [`conv::windows`].
fn windows(x: &Expr, window: impl Fn(usize) -> (usize, usize, usize), counts: &[usize]) -> Expr {
    conv::windows(x, 1, window, counts)
}

/// `[b, c, spatial..]` as `[b, spatial.., c]`.
fn last(x: &Expr) -> Expr {
    let mut perm = vec![0];
    perm.extend(2..x.rank());
    perm.push(1);
    turned(x, &perm)
}

/// `[b, spatial.., c]` as `[b, c, spatial..]`.
fn first(x: &Expr) -> Expr {
    let mut perm = vec![0, x.rank() - 1];
    perm.extend(1..x.rank() - 1);
    turned(x, &perm)
}

/// A permute, which is a reshape where only axes of one element move.
fn turned(x: &Expr, perm: &[usize]) -> Expr {
    let moved: SmallVec<[usize; 6]> = perm.iter().copied().filter(|axis| x.shape()[*axis] != 1).collect();
    if moved.is_sorted() {
        let shape: Vec<usize> = perm.iter().map(|axis| x.shape()[*axis]).collect();
        return x.reshape(&shape);
    }
    x.permute(perm)
}

/// The value in memory in the order of its axes, for a product: the builder makes [`crate::ir::IrOp::Dense`] of it.
fn dense(x: &Expr) -> Expr {
    x.barrier(&[])
}
