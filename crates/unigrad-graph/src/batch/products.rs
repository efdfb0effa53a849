//! Products and convolutions of slices.
//!
//! Always: where one side is the same for all slices, the slices are more rows, columns, images or channels of one product with that side.

use super::rules::{Rule, with_slices};
use crate::{ConvSpec, Expr, Shape};
use std::sync::Arc;

/// The axis `from` moved to `to`.
#[track_caller]
fn moved(x: &Expr, from: usize, to: usize) -> Expr {
    let mut order: Vec<usize> = (0..x.rank()).filter(|axis| *axis != from).collect();
    order.insert(to, from);
    x.permute(&order)
}

/// Axes `axis` and `axis + 1` as one.
#[track_caller]
fn merged(x: &Expr, axis: usize) -> Expr {
    let mut shape: Shape = x.shape().clone();
    let size = shape.remove(axis + 1);
    shape[axis] = shape[axis].saturating_mul(size);
    x.reshape(&shape)
}

/// Axis `axis` as several with these sizes.
#[track_caller]
fn split(x: &Expr, axis: usize, sizes: &[usize]) -> Expr {
    let shape: Shape = x.shape()[..axis].iter().chain(sizes).chain(&x.shape()[axis + 1..]).copied().collect();
    x.reshape(&shape)
}

#[track_caller]
pub(super) fn matmul(rule: &Rule<'_>) -> Expr {
    let (size, rank) = (rule.size(), rule.node.rank());
    let [a, b] = rule.inputs else { return rule.nothing() };
    match (a.mapped, b.mapped) {
        // More rows.
        (true, false) => {
            let rows = merged(&moved(&a.expr, 0, rank - 2), rank - 2);
            moved(&split(&rows.matmul(&b.expr), rank - 2, &[size, rule.node.shape()[rank - 2]]), rank - 2, 0)
        }
        // More columns.
        (false, true) => {
            let columns = merged(&moved(&b.expr, 0, rank - 1), rank - 1);
            moved(&split(&a.expr.matmul(&columns), rank - 1, &[size, rule.node.shape()[rank - 1]]), rank - 1, 0)
        }
        _ => rule.x(0).matmul(&rule.x(1)),
    }
}

/// `[slices, n, g * c, ..]` as `[n, g * slices * c, ..]`: each group has its channels of all slices.
#[track_caller]
fn into_channels(x: &Expr, groups: usize) -> Expr {
    let channels = x.shape()[2];
    let x = split(x, 2, &[groups, channels / groups]);
    // [n, g, slices, c, ..]
    merged(&merged(&moved(&x, 0, 2), 1), 1)
}

/// The other way.
#[track_caller]
fn from_channels(x: &Expr, groups: usize, size: usize, channels: usize) -> Expr {
    let x = split(x, 1, &[groups, size, channels / groups]);
    merged(&moved(&x, 2, 0), 2)
}

/// `[slices, o, ..]` as `[slices * o, ..]`, one group after another's for each slice: groups of slices.
fn in_groups(spec: &Arc<ConvSpec>, size: usize) -> Arc<ConvSpec> {
    Arc::new(ConvSpec { groups: spec.groups.saturating_mul(size), ..(**spec).clone() })
}

/// `[slices, n, c, ..]` as `[n, slices * c, ..]`, for groups of slices.
#[track_caller]
fn beside(x: &Expr) -> Expr {
    merged(&moved(x, 0, 1), 1)
}

/// The other way.
#[track_caller]
fn apart(x: &Expr, size: usize, channels: usize) -> Expr {
    moved(&split(x, 1, &[size, channels]), 1, 0)
}

/// The weight `[slices, g * o, c, ..]` as `[g * slices * o, c, ..]`: more channels of each group.
#[track_caller]
fn more_outputs(w: &Expr, groups: usize) -> Expr {
    let outputs = w.shape()[1];
    merged(&merged(&moved(&split(w, 1, &[groups, outputs / groups]), 0, 1), 0), 0)
}

/// A channel's size that groups of slices can have.
fn has_groups(rule: &Rule<'_>, channels: usize) -> bool {
    rule.size() > 0 && channels > 0
}

#[track_caller]
pub(super) fn conv(rule: &Rule<'_>, spec: &Arc<ConvSpec>) -> Expr {
    let (size, shape) = (rule.size(), rule.node.shape());
    let [x, w] = rule.inputs else { return rule.nothing() };
    match (x.mapped, w.mapped) {
        (true, false) => split(&merged(&x.expr, 0).conv(&w.expr, spec.clone()), 0, &[size, shape[0]]),
        (false, true) => {
            let y = x.expr.conv(&more_outputs(&w.expr, spec.groups), spec.clone());
            // [n, g * slices * o, ..]
            from_channels(&y, spec.groups, size, shape[1])
        }
        _ if !has_groups(rule, x.expr.shape()[2]) => rule.nothing(),
        _ => apart(&beside(&rule.x(0)).conv(&merged(&rule.x(1), 0), in_groups(spec, size)), size, shape[1]),
    }
}

#[track_caller]
pub(super) fn conv_data_grad(rule: &Rule<'_>, spec: &Arc<ConvSpec>) -> Expr {
    let (size, shape) = (rule.size(), rule.node.shape());
    let [dy, w] = rule.inputs else { return rule.nothing() };
    let wide: Shape = [shape[0], size.saturating_mul(shape[1])].iter().chain(&shape[2..]).copied().collect();
    match (dy.mapped, w.mapped) {
        (true, false) => {
            let long: Shape = std::iter::once(size.saturating_mul(shape[0])).chain(shape[1..].iter().copied()).collect();
            split(&Expr::conv_data_grad(&merged(&dy.expr, 0), &w.expr, spec.clone(), &long), 0, &[size, shape[0]])
        }
        (false, true) => {
            // [o, slices * c, ..]: more inputs of each group.
            let w = beside(&w.expr);
            from_channels(&Expr::conv_data_grad(&dy.expr, &w, spec.clone(), &wide), spec.groups, size, shape[1])
        }
        _ if !has_groups(rule, shape[1]) => rule.nothing(),
        _ => {
            let dx = Expr::conv_data_grad(&beside(&rule.x(0)), &merged(&rule.x(1), 0), in_groups(spec, size), &wide);
            apart(&dx, size, shape[1])
        }
    }
}

#[track_caller]
pub(super) fn conv_weight_grad(rule: &Rule<'_>, spec: &Arc<ConvSpec>) -> Expr {
    let (size, shape) = (rule.size(), rule.node.shape());
    let [x, dy] = rule.inputs else { return rule.nothing() };
    let wider =
        |o: usize, c: usize| [shape[0].saturating_mul(o), shape[1].saturating_mul(c)].iter().chain(&shape[2..]).copied().collect::<Shape>();
    match (x.mapped, dy.mapped) {
        (true, false) => {
            let dw = Expr::conv_weight_grad(&into_channels(&x.expr, spec.groups), &dy.expr, spec.clone(), &wider(1, size));
            apart(&dw, size, shape[1])
        }
        (false, true) => {
            let dw = Expr::conv_weight_grad(&x.expr, &into_channels(&dy.expr, spec.groups), spec.clone(), &wider(size, 1));
            // [g * slices * o, c, ..]
            let dw = split(&dw, 0, &[spec.groups, size, shape[0] / spec.groups]);
            merged(&moved(&dw, 1, 0), 1)
        }
        _ if !has_groups(rule, shape[1]) => rule.nothing(),
        _ => {
            let dw = Expr::conv_weight_grad(&beside(&rule.x(0)), &beside(&rule.x(1)), in_groups(spec, size), &wider(size, 1));
            dw.reshape(&with_slices(size, shape))
        }
    }
}
