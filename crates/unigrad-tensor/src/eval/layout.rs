//! Data of tensors with named axes: longer in memory than what counts.
//!
//! In: a tensor's bytes as they lie on a device, or data whose axis gets a name. Out: the elements that count; data with room for padding.
//! Always: what is beyond an axis's size is never given to a reader. Fresh padding is zeros (or what a test asked for).

use super::{open, storage_buffer, upload};
use crate::Error;
use std::{cell::Cell, sync::Arc};
use unigrad_device::tag_or;
use unigrad_graph::{AxisNames, DType, Dim, Expr, Factor, numel};
use unigrad_plan::resolve;

/// Transfers to a buffer begin at multiples of this.
const ALIGNED: usize = 64;

thread_local! {
    static PADDING: Cell<u8> = const { Cell::new(0) };
}

/// The byte that padding of data on this thread is filled with from now on: for tests, which fill it with NaN (255). Returns the setting before.
pub fn set_padding(byte: u8) -> u8 {
    PADDING.with(|padding| padding.replace(byte))
}

/// The factors of all axes, with their sizes and those in memory.
fn sizes(node: &Expr) -> Vec<(usize, usize)> {
    let factors: AxisNames = unigrad_graph::factors(node.shape(), node.names());
    factors.iter().map(|factor: &Factor| (factor.size(), factor.memory_size())).collect()
}

/// Calls `f` with where each run of elements that count begins, among those that count and in memory; all have the returned length.
fn runs(sizes: &[(usize, usize)], mut f: impl FnMut(usize, usize)) -> usize {
    // Within the innermost axis with padding all lies as it counts.
    let last = sizes.iter().rposition(|(size, in_memory)| size != in_memory);
    let Some(last) = last else {
        f(0, 0);
        return sizes.iter().map(|(size, _)| size).product();
    };
    let within: usize = sizes[last + 1..].iter().map(|(size, _)| size).product();
    let run = sizes[last].0 * within;
    let count: usize = sizes[..last].iter().map(|(size, _)| size).product();
    for number in 0..count {
        let (mut rest, mut place, mut stride) = (number, 0, sizes[last].1 * within);
        for (size, in_memory) in sizes[..last].iter().rev() {
            place += rest % size * stride;
            rest /= size;
            stride *= in_memory;
        }
        f(number * run, place);
    }
    run
}

/// The elements that count, of a tensor's bytes.
pub(super) fn counting(node: &Expr, mut bytes: Vec<u8>) -> Vec<u8> {
    let size = node.dtype().size();
    if node.is_named() && node.numel() > 0 {
        let mut places = Vec::new();
        let run = runs(&sizes(node), |to, from| places.push((to * size, from * size))) * size;
        // Elements only move toward the begin, in order.
        places.into_iter().for_each(|(to, from)| bytes.copy_within(from..from + run, to));
    }
    bytes.truncate(node.numel() * size);
    bytes
}

/// A tensor with the value of `x`, whose axis is `dim`. Data are laid out anew at once, so that no plan depends on their size; what is not computed yet is
/// padded by its plan.
#[track_caller]
pub fn with_dim(x: &Expr, axis: usize, dim: &Dim) -> Result<Expr, Error> {
    let node = resolve(x);
    let named = x.with_dim(axis, dim);
    if named.is_invalid() || x.needs_grad() || node.data().is_none() || node.numel() == 0 {
        return Ok(named);
    }
    super::spoiled::check(&node)?;
    let source = storage_buffer(node.data().ok_or_else(super::no_data)?)?;
    let (size, shape) = (named.dtype().size(), named.memory_shape());
    let padding = PADDING.with(Cell::get);
    let padding = if named.dtype() == DType::Bool { padding.min(1) } else { padding };
    let all = sizes(&named);
    if !node.is_named() && all.iter().rposition(|(size, in_memory)| size != in_memory).is_none_or(|last| last == 0) {
        // All padding is at the end.
        let bytes = node.numel() * size;
        let total = numel(&shape) * size;
        let buffer = open(node.device())?.allocate_tagged(total, tag_or("tensor"))?;
        // Transfers begin at multiples of this; what counts is written after.
        let begin = bytes / ALIGNED * ALIGNED;
        if total > bytes {
            buffer.upload(begin, &vec![padding; total - begin])?;
        }
        buffer.copy_from(0, source, 0, bytes)?;
        return Ok(Expr::buffer_like(&named, Arc::new(buffer)));
    }
    let bytes = super::data(&node)?;
    let mut laid_out = vec![padding; numel(&shape) * size];
    let mut places = Vec::new();
    let run = runs(&all, |from, to| places.push((from * size, to * size))) * size;
    places.into_iter().for_each(|(from, to)| laid_out[to..to + run].copy_from_slice(&bytes[from..from + run]));
    let data = upload(&laid_out, &shape, named.dtype(), node.device())?;
    Ok(Expr::buffer_like(&named, data.data().ok_or_else(super::no_data)?.clone()))
}
