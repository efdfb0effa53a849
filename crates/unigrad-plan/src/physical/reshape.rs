//! Ops that give axes names, take them away, or move their factors.

use super::{At, resized};
use unigrad_graph::{AxisNames, Expr, Factor, Shape, factors, numel};

/// Which named factors of one list are those of another: equal ones with as many elements within.
fn kept(own: &[Factor], other: &[Factor]) -> Vec<bool> {
    let within = |all: &[Factor], i: usize| all[i + 1..].iter().map(Factor::size).product::<usize>();
    let mut from = 0;
    let mut keeps = vec![false; own.len()];
    for (i, factor) in own.iter().enumerate().filter(|(_, factor)| factor.is_named()) {
        let same = |j: &usize| other[*j] == *factor && within(other, *j) == within(own, i);
        if let Some(j) = (from..other.len()).find(same) {
            (keeps[i], from) = (true, j + 1);
        }
    }
    keeps
}

/// The size of each factor where only those that are kept are as long as their buckets.
fn sizes(all: &[Factor], keeps: &[bool]) -> Shape {
    all.iter().zip(keeps).map(|(factor, keeps)| if *keeps { factor.memory_size() } else { factor.size() }).collect()
}

/// Names that the result has no more are cut to their sizes, and those that it has beside are padded.
pub(super) fn reshape(at: &At<'_>) -> Result<Expr, String> {
    let (of, to) = (at.of(0), at.expr);
    let shape = to.memory_shape();
    let own: AxisNames = factors(of.shape(), of.names());
    let other: AxisNames = factors(to.shape(), to.names());
    if own == other || numel(of.shape()) == 0 {
        return Ok(if at.x(0).shape() == &shape { at.x(0).identity() } else { at.x(0).reshape(&shape) });
    }
    let stay = kept(&own, &other);
    let mut x = at.x(0).reshape(&own.iter().map(Factor::memory_size).collect::<Shape>());
    for (axis, size) in sizes(&own, &stay).into_iter().enumerate() {
        x = resized(&x, axis, size);
    }
    let came = kept(&other, &own);
    if own.iter().zip(&stay).filter(|(_, stays)| **stays).count() != other.iter().zip(&came).filter(|(_, came)| **came).count() {
        return Err(format!("the names of {of:?} are not those of {to:?}"));
    }
    x = x.reshape(&sizes(&other, &came));
    for (axis, factor) in other.iter().enumerate() {
        x = resized(&x, axis, factor.memory_size());
    }
    Ok(x.reshape(&shape))
}
