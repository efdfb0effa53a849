//! Horizontal fusion: the update of every parameter of a model becomes one launch, and so do the norms of all gradients.
//!
//! In: launches in order. Out: fewer launches: those with one body over different tensors joined into a [`Grouped`]. A body is a map over whole
//! tensors, or reduces whole tensors to single values, and may use these at every point.
//! Always: members do not depend on each other, and nothing between the first and the last member needs what a member writes.

use crate::lower::Launch;
use rustc_hash::FxHashMap;
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::{Arg, Grouped, InstOp, Kernel, Level, Region};

/// A launch without its size.
struct Member {
    /// The region with its size taken out: members of one group have the same.
    body: Region,
    /// The region as a group has it, of one axis.
    region: Region,
    len: usize,
}

/// What can be a member: a plain walk over one axis, rows that are reduced, or a map of one point.
fn member(launch: &Launch) -> Option<Member> {
    let Kernel::Region(region) = &launch.kernel else { return None };
    if launch.is_copy {
        return None;
    }
    let region = match *region.axes.as_slice() {
        [len] if len >= 2 => region.clone(),
        [rows, _, ..] if region.n_parallel == 1 && rows >= 2 => region.clone(),
        [] => one_point(region)?,
        _ => return None,
    };
    let is_map = region.n_parallel == region.axes.len();
    let len = region.axes[0];
    let levels = region.levels();
    let per_point = region.args_per_point();
    for (at, inst) in region.insts.iter().enumerate() {
        let plain = match &inst.op {
            InstOp::Load { mask, .. } => mask.is_none(),
            // What is stored once is one value, or one a row.
            InstOp::Store { arg, .. } => {
                per_point[*arg as usize].is_some() || !is_map && levels[at] != Level::Full && region.args[*arg as usize].len == 1
            }
            InstOp::AxisIndex(axis) => *axis > 0,
            // A launch cannot tell which member's index was out of range, and the others' results would be told as failed too.
            InstOp::Bounded { .. } => false,
            // The accumulator of a contraction is in no region of its own.
            InstOp::Acc => false,
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::Unary(..) | InstOp::Binary(..) | InstOp::Where(..) => true,
            InstOp::Cast(_) | InstOp::Bitcast(_) | InstOp::Philox { .. } | InstOp::Reduce(..) | InstOp::ArgReduce(..) => true,
        };
        // An argument is walked through in one way, and to its end.
        let in_step = inst.op.access().is_none_or(|(arg, index)| {
            let each = per_point[arg as usize];
            let stride = index.strides[0];
            index.offset == 0 && index.dynamic.is_empty() && stride >= 0 && each.is_none_or(|each| each as i64 == stride)
        });
        if !plain || !in_step {
            return None;
        }
    }
    let is_whole = |(arg, each): (&Arg, &Option<usize>)| each.map_or(arg.len == 1 || region.axes.len() > 1, |each| arg.len == each * len);
    if !region.args.iter().zip(&per_point).all(is_whole) || region.axes.len() == 1 && per_point.iter().flatten().any(|each| *each != 1) {
        return None;
    }
    let mut body = region.clone();
    body.axes[0] = 2;
    body.args.iter_mut().zip(&per_point).for_each(|(arg, each)| arg.len = each.map_or(arg.len, |each| 2 * each));
    Some(Member { body, region, len })
}

/// A map of one point, as a walk over tensors of one element.
fn one_point(region: &Region) -> Option<Region> {
    if region.args.iter().any(|arg| arg.len != 1) || region.insts.iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..))) {
        return None;
    }
    let mut region = region.clone();
    (region.axes, region.n_parallel) = (smallvec![1], 1);
    for inst in &mut region.insts {
        if let Some((_, index)) = inst.op.access_mut() {
            index.strides = smallvec![1];
        }
    }
    Some(region)
}

/// Joins what can be joined.
pub(crate) fn group(launches: Vec<Launch>) -> Result<Vec<Launch>, String> {
    let mut by_body: FxHashMap<Region, Vec<usize>> = FxHashMap::default();
    let mut regions: Vec<Option<(Region, usize)>> = Vec::with_capacity(launches.len());
    for (at, launch) in launches.iter().enumerate() {
        regions.push(member(launch).map(|Member { body, region, len }| {
            by_body.entry(body).or_default().push(at);
            (region, len)
        }));
    }
    // By node, the launches that use it, ascending.
    let mut uses: FxHashMap<u32, SmallVec<[usize; 4]>> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        launch.args.iter().for_each(|id| uses.entry(*id).or_default().push(at));
    }
    // Members move to the place of the last one, where their readers have not moved behind it too: so those that come last move first, and what
    // makes a value for each of them can follow.
    let mut sets: Vec<Vec<usize>> = by_body.into_values().filter(|set| set.len() > 1).collect();
    sets.sort_by_key(|set| std::cmp::Reverse(set.last().copied()));
    let mut leader: Vec<usize> = (0..launches.len()).collect();
    for set in sets {
        let Some(last) = set.last().copied() else { continue };
        // What is read or written in parts up to the last member must not be written later than it is now.
        let stays = |at: usize, leader: &[usize]| {
            writes(&launches[at]).any(|id| {
                let later = uses.get(&id).map_or(&[][..], |uses| &uses[uses.partition_point(|use_| *use_ <= at)..]);
                later.iter().any(|use_| leader[*use_] <= last)
            })
        };
        let members: Vec<usize> = set.iter().copied().filter(|at| !stays(*at, &leader)).collect();
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
        let lens = members.iter().filter_map(|at| regions[*at].as_ref()).map(|(_, len)| *len).collect();
        let Some((region, _)) = &regions[members[0]] else {
            return Err(format!("{} from {}: a {} kernel among equal regions", first.name, first.origin, first.kernel.kind()));
        };
        grouped.push(Launch {
            kernel: Kernel::Grouped(Grouped { region: region.clone(), lens }),
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
