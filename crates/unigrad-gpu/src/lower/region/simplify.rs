//! A region's domain in its simplest form, before a schedule is chosen.
//!
//! In: a region. Out: one with the same stores.
//! Always: axes of one point are gone, neighbours that every index walks through as one are one, the axis that most memory is contiguous
//! along is the innermost of its kind, and reduce axes that nothing is reduced over are parallel.

use super::body::live;
use smallvec::SmallVec;
use unigrad_kernel::{Index, InstOp, Level, Region};
use unigrad_scalar::{DType, Literal};

/// The simplest form; see the module's text.
pub(super) fn simplify(region: &Region) -> Region {
    let mut region = region.clone();
    keep_live(&mut region);
    for inst in &mut region.insts {
        if let InstOp::Load { index, .. } | InstOp::Store { index, .. } = &mut inst.op {
            index.strides.resize(region.axes.len(), 0);
        }
    }
    if region.axes.contains(&0) {
        return region;
    }
    let is_reduced = region.insts.iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)));
    if !is_reduced {
        let levels = region.levels();
        let once = region.insts.iter().zip(&levels).any(|(inst, level)| matches!(inst.op, InstOp::Store { .. }) && *level != Level::Full);
        if !once || region.row_len() == 1 {
            region.n_parallel = region.axes.len();
        }
    }
    if is_reduced && region.row_len() == 1 {
        reduce_one(&mut region);
    }
    drop_units(&mut region);
    merge(&mut region);
    let n = region.n_parallel;
    order(&mut region, 0..n);
    // The place of an extreme element is counted along the axes as they are.
    if !region.insts.iter().any(|inst| matches!(inst.op, InstOp::ArgReduce(..))) {
        let end = region.axes.len();
        order(&mut region, n..end);
    }
    merge(&mut region);
    region
}

/// Makes instructions that no store needs constants, so that nothing looks at them.
fn keep_live(region: &mut Region) {
    let live = live(region);
    for (inst, _) in region.insts.iter_mut().zip(live).filter(|(_, live)| !live) {
        inst.op = InstOp::Const(Literal::zero(DType::U32));
        inst.dtype = DType::U32;
    }
}

/// A reduction over one point is that point.
fn reduce_one(region: &mut Region) {
    for inst in &mut region.insts {
        // The place of the extreme element stays: it is 0, but what it looks at may report an index error.
        if let InstOp::Reduce(_, a) = inst.op {
            inst.op = InstOp::Cast(a);
        }
    }
    region.n_parallel = region.axes.len();
}

fn indices(region: &mut Region) -> impl Iterator<Item = &mut Index> {
    region.insts.iter_mut().filter_map(|inst| match &mut inst.op {
        InstOp::Load { index, .. } | InstOp::Store { index, .. } => Some(index),
        InstOp::Const(_)
        | InstOp::Scalar(_)
        | InstOp::AxisIndex(_)
        | InstOp::Acc
        | InstOp::Unary(..)
        | InstOp::Binary(..)
        | InstOp::Where(..)
        | InstOp::Cast(_)
        | InstOp::Bitcast(_)
        | InstOp::Bounded { .. }
        | InstOp::Philox { .. }
        | InstOp::Reduce(..)
        | InstOp::ArgReduce(..) => None,
    })
}

fn is_indexed(region: &Region, axis: usize) -> bool {
    region.insts.iter().any(|inst| inst.op == InstOp::AxisIndex(axis as u32))
}

fn remove(region: &mut Region, axis: usize) {
    region.axes.remove(axis);
    region.n_parallel -= usize::from(axis < region.n_parallel);
    for index in indices(region) {
        index.strides.remove(axis);
    }
    for inst in &mut region.insts {
        match &mut inst.op {
            InstOp::AxisIndex(a) if *a as usize == axis => inst.op = InstOp::Const(Literal::zero(DType::I64)),
            InstOp::AxisIndex(a) if *a as usize > axis => *a -= 1,
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Load { .. }
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..)
            | InstOp::Store { .. } => {}
        }
    }
}

fn drop_units(region: &mut Region) {
    for axis in (0..region.axes.len()).rev() {
        if region.axes[axis] == 1 {
            remove(region, axis);
        }
    }
}

fn merge(region: &mut Region) {
    for axis in (1..region.axes.len()).rev() {
        let inner = region.axes[axis] as i64;
        let joins = axis != region.n_parallel
            && !is_indexed(region, axis - 1)
            && !is_indexed(region, axis)
            && indices(region).all(|index| index.strides[axis - 1] == index.strides[axis] * inner);
        if joins {
            region.axes[axis] *= region.axes[axis - 1];
            remove(region, axis - 1);
        }
    }
}

/// Orders axes of one kind by their strides where most memory is touched.
fn order(region: &mut Region, axes: std::ops::Range<usize>) {
    if axes.len() < 2 {
        return;
    }
    let extents = region.axes.clone();
    // What moves at every point or row, heaviest first; what is written counts for more, since a store cannot be served by a cache.
    let mut accesses: Vec<(f64, Index)> = Vec::new();
    for inst in &region.insts {
        let (index, arg, weight) = match &inst.op {
            InstOp::Load { index, arg, .. } => (index, *arg as usize, 1.0),
            InstOp::Store { index, arg, .. } => (index, *arg as usize, 1.5),
            InstOp::Const(_)
            | InstOp::Scalar(_)
            | InstOp::AxisIndex(_)
            | InstOp::Acc
            | InstOp::Unary(..)
            | InstOp::Binary(..)
            | InstOp::Where(..)
            | InstOp::Cast(_)
            | InstOp::Bitcast(_)
            | InstOp::Bounded { .. }
            | InstOp::Philox { .. }
            | InstOp::Reduce(..)
            | InstOp::ArgReduce(..) => continue,
        };
        let points: f64 = extents.iter().zip(&index.strides).map(|(e, s)| if *s == 0 { 1.0 } else { *e as f64 }).product();
        accesses.push((points * weight * region.args[arg].dtype.size() as f64, index.clone()));
    }
    let gain = |axis: usize| accesses.iter().filter(|(_, index)| index.strides[axis].abs() == 1).map(|(weight, _)| *weight).sum::<f64>();
    let innermost = axes.end - 1;
    let best = axes.clone().rev().fold(innermost, |best, axis| if gain(axis) > gain(best) { axis } else { best });
    if best == innermost {
        return;
    }
    let heaviest = accesses.iter().filter(|(_, index)| index.strides[best].abs() == 1).max_by(|x, y| x.0.total_cmp(&y.0));
    let Some((_, index)) = heaviest else { return };
    let mut to: Vec<usize> = (0..extents.len()).collect();
    // Axes that the access does not move along keep their place at the front.
    to[axes].sort_by_key(|axis| std::cmp::Reverse(if index.strides[*axis] == 0 { i64::MAX } else { index.strides[*axis].abs() }));
    region.axes = to.iter().map(|from| extents[*from]).collect();
    for index in indices(region) {
        index.strides = to.iter().map(|from| index.strides[*from]).collect::<SmallVec<[i64; 6]>>();
    }
    let mut now_at = vec![0; to.len()];
    to.iter().zip(0..).for_each(|(from, now)| now_at[*from] = now);
    for inst in &mut region.insts {
        if let InstOp::AxisIndex(axis) = &mut inst.op {
            *axis = now_at[*axis as usize];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;
    use unigrad_kernel::{Arg, Inst, Value};

    fn copy(axes: &[usize], load: &[i64], store: &[i64]) -> Region {
        let len = axes.iter().product();
        let index = |strides: &[i64]| Index { strides: SmallVec::from_slice(strides), ..Index::default() };
        Region {
            name: "copy".into(),
            axes: SmallVec::from_slice(axes),
            n_parallel: axes.len(),
            args: vec![Arg { dtype: DType::F32, len, write: false }, Arg { dtype: DType::F32, len, write: true }],
            scalars: vec![],
            insts: vec![
                Inst { op: InstOp::Load { arg: 0, index: index(load), mask: None }, dtype: DType::F32 },
                Inst { op: InstOp::Store { arg: 1, index: index(store), value: Value(0) }, dtype: DType::F32 },
            ],
        }
    }

    #[test]
    fn contiguous_axes_become_one() {
        let region = simplify(&copy(&[4, 1, 6, 5], &[30, 7, 5, 1], &[30, 0, 5, 1]));
        assert_eq!(region.axes.as_slice(), [120]);
    }

    #[test]
    fn the_stored_axis_becomes_the_innermost() {
        let region = simplify(&copy(&[4, 6], &[6, 1], &[1, 4]));
        assert_eq!(region.axes.as_slice(), [6, 4]);
        let InstOp::Store { index, .. } = &region.insts[1].op else { panic!("a store") };
        assert_eq!(index.strides, SmallVec::<[i64; 6]>::from_slice(&[4, 1]));
    }

    #[test]
    fn reduce_axes_without_a_reduction_are_parallel() {
        let mut region = copy(&[4, 6], &[6, 1], &[6, 1]);
        region.n_parallel = 1;
        let region = simplify(&region);
        assert_eq!((region.axes.as_slice(), region.n_parallel), ([24].as_slice(), 1));
        let scalar: SmallVec<[usize; 6]> = smallvec![];
        assert_eq!(simplify(&copy(&[1, 1], &[1, 1], &[1, 1])).axes, scalar);
    }
}
