//! Horizontal fusion of equal maps: the update of every parameter of a model becomes one launch.
//!
//! In: launches in order. Out: fewer launches, maps with one body over different tensors joined into a [`Grouped`].
//! Always: members do not depend on each other, and nothing between the first and the last member needs what a member writes.

use crate::lower::Launch;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
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
    // By node, the launches that use it.
    let mut uses: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        launch.args.iter().for_each(|id| uses.entry(*id).or_default().push(at));
    }
    // Whether a launch after `at` up to `last` reads or writes it.
    let is_used = |id: u32, at: usize, last: usize| {
        uses.get(&id).is_some_and(|uses| uses[uses.partition_point(|use_| *use_ <= at)..].first().is_some_and(|next| *next <= last))
    };
    for set in sets {
        // One alone has nothing to join.
        let [_, .., last] = set[..] else { continue };
        // What is read or written in parts up to the last member must not be written later than it is now.
        let members: Vec<usize> = set.iter().rev().copied().filter(|at| !writes(&launches[*at]).any(|id| is_used(id, *at, last))).collect();
        if members.len() > 1 {
            members.iter().for_each(|member| leader[*member] = last);
        }
    }
    let mut members_of: Vec<SmallVec<[usize; 1]>> = vec![SmallVec::new(); launches.len()];
    leader.iter().enumerate().for_each(|(member, leader)| members_of[*leader].push(member));
    let mut grouped = Vec::with_capacity(launches.len());
    for (at, members) in members_of.iter().enumerate() {
        if leader[at] != at {
            continue;
        }
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
