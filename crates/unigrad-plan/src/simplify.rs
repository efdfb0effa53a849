//! A region without what its emitter left over: instructions that nothing uses, axes that could be one.
//!
//! In: a region as it was emitted. Out: one that does the same. Always: an epilogue keeps the axes of its contraction.
//! Never: changes a value, or drops the check of an index.

use rustc_hash::FxHashSet;
use unigrad_kernel::{InstOp, Region, Value};

/// Drops instructions that nothing uses.
pub(crate) fn prune(mut region: Region) -> Region {
    let mut used = vec![false; region.insts.len()];
    for (i, inst) in region.insts.iter().enumerate().rev() {
        if used[i] || matches!(inst.op, InstOp::Store { .. } | InstOp::Bounded { .. }) {
            used[i] = true;
            inst.op.visit_values(|value| used[value.index()] = true);
        }
    }
    if used.iter().all(|u| *u) {
        return region;
    }
    let mut renamed = vec![Value(0); used.len()];
    let mut kept = 0;
    for (i, used) in used.iter().enumerate() {
        renamed[i] = Value(kept);
        kept += u32::from(*used);
    }
    let insts = std::mem::take(&mut region.insts);
    region.insts = insts.into_iter().enumerate().filter(|(i, _)| used[*i]).map(|(_, inst)| inst).collect();
    for inst in &mut region.insts {
        inst.op.map_values(|value| renamed[value.index()]);
    }
    region
}

/// Gives each check of an index a number of its own, as far as there are numbers.
pub(crate) fn number_checks(mut region: Region) -> Region {
    let checks =
        region.insts.iter_mut().filter_map(|inst| if let InstOp::Bounded { check, .. } = &mut inst.op { Some(check) } else { None });
    checks.zip((0..32).cycle()).for_each(|(check, number)| *check = number);
    region
}

/// Joins neighbouring axes that every index walks through as if they were one, and drops axes of size 1.
pub(crate) fn collapse(mut region: Region) -> Region {
    if region.insts.iter().any(|inst| inst.op == InstOp::Acc) {
        // An epilogue keeps the axes of its contraction.
        return region;
    }
    let indexed: FxHashSet<u32> =
        region.insts.iter().filter_map(|inst| if let InstOp::AxisIndex(a) = inst.op { Some(a) } else { None }).collect();
    let mut indexed: Vec<bool> = (0..region.axes.len()).map(|a| indexed.contains(&(a as u32))).collect();
    let mut axis = region.axes.len();
    while axis > 0 {
        axis -= 1;
        let joins = axis + 1 < region.axes.len() && (axis + 1 != region.n_parallel) && !indexed[axis] && !indexed[axis + 1] && {
            let inner = region.axes[axis + 1] as i64;
            region.insts.iter().all(|inst| inst.op.access().is_none_or(|(_, index)| index.strides[axis] == index.strides[axis + 1] * inner))
        };
        let unit = region.axes[axis] == 1 && !indexed[axis];
        if !joins && !unit {
            continue;
        }
        // A unit axis goes; joined axes become the inner one.
        if joins && !unit {
            region.axes[axis + 1] *= region.axes[axis];
        }
        region.axes.remove(axis);
        indexed.remove(axis);
        region.n_parallel -= usize::from(axis < region.n_parallel);
        for inst in &mut region.insts {
            if let Some((_, index)) = inst.op.access_mut() {
                index.strides.remove(axis);
            } else if let InstOp::AxisIndex(a) = &mut inst.op
                && *a > axis as u32
            {
                *a -= 1;
            }
        }
    }
    region
}
