//! Horizontal fusion of equal maps: the update of every parameter of a model becomes one launch.
//!
//! In: launches in order. Out: fewer launches, maps with one body over different tensors joined into a [`Grouped`].
//! Always: members do not depend on each other, and nothing between the first and the last member needs what a member writes.

use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;
use unigrad_kernel::{Grouped, InstOp, Kernel, Region};

/// The region with its size taken out, if it is a plain walk over one axis.
fn body(launch: &Launch) -> Option<(Region, usize)> {
    let Kernel::Region(region) = &launch.kernel else { return None };
    if launch.is_copy {
        return None;
    }
    let [len] = *region.axes.as_slice() else { return None };
    if region.n_parallel != 1 || len < 2 {
        return None;
    }
    let plain = region.insts.iter().all(|inst| match &inst.op {
        InstOp::Load { index, mask, .. } => {
            mask.is_none() && index.offset == 0 && index.dynamic.is_empty() && matches!(index.strides[0], 0 | 1)
        }
        InstOp::Store { index, .. } => index.offset == 0 && index.dynamic.is_empty() && index.strides[0] == 1,
        InstOp::AxisIndex(_) => false,
        // A launch cannot tell which member's index was out of range, and the others' results would be told as failed too.
        InstOp::Bounded { .. } => false,
        // The accumulator of a contraction is in no region of its own.
        InstOp::Acc => false,
        InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) => true,
        InstOp::Cast(_) | InstOp::Bitcast(_) | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => true,
    });
    if !plain || region.args.iter().any(|arg| arg.len != len && arg.len != 1) {
        return None;
    }
    let mut shape_free = region.clone();
    shape_free.axes = smallvec![2];
    shape_free.args.iter_mut().for_each(|arg| arg.len = if arg.len == 1 { 1 } else { 2 });
    Some((shape_free, len))
}

/// Joins what can be joined.
pub(crate) fn group(launches: Vec<Launch>) -> Result<Vec<Launch>, String> {
    let mut by_body: FxHashMap<Region, Vec<usize>> = FxHashMap::default();
    let mut lens = vec![0; launches.len()];
    for (at, launch) in launches.iter().enumerate() {
        if let Some((body, len)) = body(launch) {
            lens[at] = len;
            by_body.entry(body).or_default().push(at);
        }
    }
    let mut sets: Vec<Vec<usize>> = by_body.into_values().collect();
    sets.sort();
    // Members move to the place of the last one; a member whose results are needed before stays where it is.
    let mut leader: Vec<usize> = (0..launches.len()).collect();
    for set in sets {
        // One alone has nobody to join.
        let [first, .., last] = set[..] else { continue };
        // Walking back from the last member: what is read or written in parts from here on must not be written later than it is now.
        let mut used_later = FxHashSet::default();
        let mut members: Vec<usize> = Vec::new();
        for at in (first..=last).rev() {
            if set.binary_search(&at).is_ok() && !writes(&launches[at]).any(|id| used_later.contains(&id)) {
                members.push(at);
            }
            used_later.extend(launches[at].args.iter().copied());
        }
        if members.len() > 1 {
            members.iter().for_each(|member| leader[*member] = last);
        }
    }
    let mut grouped = Vec::with_capacity(launches.len());
    for at in 0..launches.len() {
        if leader[at] != at {
            continue;
        }
        let members: Vec<usize> = (0..=at).filter(|m| leader[*m] == at).collect();
        if members.len() < 2 {
            grouped.push(launches[at].clone());
            continue;
        }
        let first = &launches[members[0]];
        let Kernel::Region(region) = &first.kernel else {
            return Err(format!("{} from {}: a {} kernel among equal maps", first.name, first.origin, first.kernel.kind()));
        };
        grouped.push(Launch {
            kernel: Kernel::Grouped(Grouped { region: region.clone(), lens: members.iter().map(|m| lens[*m]).collect() }),
            args: members.iter().flat_map(|m| launches[*m].args.iter().copied()).collect(),
            scalars: members.iter().flat_map(|m| launches[*m].scalars.iter().copied()).collect(),
            name: format!("{} x{}", first.name, members.len()),
            origin: first.origin,
            is_copy: false,
        });
    }
    Ok(grouped)
}

pub(crate) fn reads(launch: &Launch) -> impl Iterator<Item = u32> {
    let args = launch.kernel.args();
    launch.args.iter().copied().zip(args).filter(|(_, arg)| !arg.write).map(|(id, _)| id)
}

pub(crate) fn writes(launch: &Launch) -> impl Iterator<Item = u32> {
    let args = launch.kernel.args();
    launch.args.iter().copied().zip(args).filter(|(_, arg)| arg.write).map(|(id, _)| id)
}
