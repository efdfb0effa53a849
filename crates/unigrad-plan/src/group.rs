//! Horizontal fusion: the update of every parameter of a model becomes one launch, and so do the norms of all gradients.
//!
//! In: launches in order. Out: fewer launches: those with one body over different tensors joined into a [`Grouped`]. A body is a map over whole
//! tensors, or reduces whole tensors to single values, and may use these at every point.
//! Always: members do not depend on each other, and nothing between the first and the last member needs what a member writes.

use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::collections::BinaryHeap;
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
    // A launch cannot tell which member's index was out of range, and the others' results would be told as failed too. The accumulator of a
    // contraction is in no region of its own.
    if launch.is_copy || region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. } | InstOp::Acc)) {
        return None;
    }
    let region = if region.axes.is_empty() { one_point(region)? } else { region.clone() };
    let len = region.axes[0];
    let is_map = region.n_parallel == region.axes.len();
    if region.n_parallel > 1 || len < if is_map { 1 } else { 2 } {
        return None;
    }
    let body = match sizeless(&region) {
        Some(body) => body,
        // Of one shape, it may be any.
        None if !is_map => region.clone(),
        None => return None,
    };
    Some(Member { body, region, len })
}

/// The region with its first axis, and what is walked through along it, of length 2; none if it is not walked through from beginning to end.
fn sizeless(region: &Region) -> Option<Region> {
    let len = region.axes[0];
    let per_point = region.args_per_point();
    for inst in &region.insts {
        let Some((arg, index)) = inst.op.access() else { continue };
        let (each, stride) = (per_point[arg as usize], index.strides[0]);
        let has_mask = matches!(inst.op, InstOp::Load { mask: Some(_), .. });
        // A single value is stored by a single row.
        let is_crowded = matches!(inst.op, InstOp::Store { .. }) && each.is_none() && region.n_parallel > 0;
        if has_mask || is_crowded {
            return None;
        }
        if index.offset != 0 || !index.dynamic.is_empty() || stride < 0 || each.is_some_and(|each| each as i64 != stride) {
            return None;
        }
    }
    let is_one_axis = region.axes.len() == 1;
    let is_whole = |(arg, each): (&Arg, &Option<usize>)| match each {
        Some(each) => arg.len == each * len && (*each == 1 || !is_one_axis),
        None => arg.len == 1 || !is_one_axis,
    };
    if !region.args.iter().zip(&per_point).all(is_whole) {
        return None;
    }
    let mut body = region.clone();
    body.axes[0] = 2;
    body.args.iter_mut().zip(&per_point).for_each(|(arg, each)| arg.len = each.map_or(arg.len, |each| 2 * each));
    Some(body)
}

/// A map of one point, as a walk over tensors of one element.
fn one_point(region: &Region) -> Option<Region> {
    if region.args.iter().any(|arg| arg.len != 1)
        || region.insts.iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..)))
    {
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

/// How often those are tried again that cannot move to the last one's place, each time with the last of them.
const TRIES: usize = 16;
/// Bytes up to which a tensor may be kept alive for a reduction that waits for others.
const SMALL: usize = 1 << 16;

/// Whether a launch brings tensors down to less, and writes nothing at every point.
fn only_reduces(launch: &Launch) -> bool {
    let Kernel::Region(region) = &launch.kernel else { return false };
    let levels = region.levels();
    let stores = || region.insts.iter().zip(&levels).filter(|(inst, _)| matches!(inst.op, InstOp::Store { .. }));
    region.n_parallel < region.axes.len() && stores().all(|(_, level)| *level != Level::Full)
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
    // By node: the launches that use it, ascending; where the last of them is by now; whether one of them makes it.
    let mut uses: FxHashMap<u32, SmallVec<[usize; 4]>> = FxHashMap::default();
    let mut last_use: FxHashMap<u32, usize> = FxHashMap::default();
    let mut made: FxHashSet<u32> = FxHashSet::default();
    for (at, launch) in launches.iter().enumerate() {
        for id in &launch.args {
            uses.entry(*id).or_default().push(at);
            last_use.insert(*id, at);
        }
        made.extend(writes(launch));
    }
    // Members move to the place of the last one, where their readers have not moved behind it too: so those that come last move first, and what
    // makes a value for each of them can follow. Those that cannot move so far try again without it.
    let mut sets: BinaryHeap<(usize, usize, Vec<usize>)> = BinaryHeap::new();
    sets.extend(by_body.into_values().filter_map(|set| Some((*set.last()?, TRIES, set))).filter(|(_, _, set)| set.len() > 1));
    let mut leader: Vec<usize> = (0..launches.len()).collect();
    while let Some((last, tries, set)) = sets.pop() {
        // What is read or written in parts up to the last member must not be written later than it is now.
        let stays = |at: usize, leader: &[usize]| {
            writes(&launches[at]).any(|id| {
                let later = uses.get(&id).map_or(&[][..], |uses| &uses[uses.partition_point(|use_| *use_ <= at)..]);
                later.iter().any(|use_| leader[*use_] <= last)
            })
        };
        // What only reduces must not keep large tensors alive until then that are gone by now.
        let holds = |at: usize| {
            only_reduces(&launches[at])
                && launches[at].args.iter().zip(launches[at].kernel.args()).any(|(id, arg)| {
                    let ends = last_use.get(id).is_some_and(|use_| *use_ < last);
                    ends && made.contains(id) && !arg.write && arg.len * arg.dtype.size() > SMALL
                })
        };
        let (left, members): (Vec<usize>, Vec<usize>) = set.iter().copied().partition(|at| stays(*at, &leader) || holds(*at));
        if members.len() > 1 {
            for member in members {
                leader[member] = last;
                for id in &launches[member].args {
                    let use_ = last_use.entry(*id).or_insert(last);
                    *use_ = last.max(*use_);
                }
            }
        }
        if left.len() > 1
            && tries > 0
            && let Some(last) = left.last()
        {
            sets.push((*last, tries - 1, left));
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
