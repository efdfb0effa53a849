//! Horizontal fusion: the update of every parameter of a model becomes one launch, and so do the norms of all gradients.
//!
//! In: launches in order. Out: fewer launches: those with one body over different tensors joined into a [`Grouped`]. A body is a map over whole
//! tensors, or reduces whole tensors to single values, and may use these at every point.
//! Always: members do not depend on each other, and nothing between the first and the last member needs what a member writes.

use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;
use std::collections::BinaryHeap;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use unigrad_kernel::{Arg, Grouped, InstOp, Kernel, Level, Region};

/// What members of one group have in common, whatever their size: a number that is quick to find. Most launches have it to themselves.
fn kinship(region: &Region) -> u64 {
    let mut hasher = FxHasher::default();
    let is_map = region.n_parallel == region.axes.len();
    (region.insts.len(), region.args.len(), region.scalars.len(), is_map, region.axes.len() < 2).hash(&mut hasher);
    for inst in &region.insts {
        (discriminant(&inst.op), inst.dtype, inst.op.access().map(|(arg, _)| arg)).hash(&mut hasher);
        inst.op.visit_values(|value| value.hash(&mut hasher));
    }
    hasher.finish()
}

/// The region that a launch would be in a group, if it can be in one: a plain walk over one axis, rows that are reduced, or a map of one point.
fn candidate(launch: &Launch) -> Option<Cow<'_, Region>> {
    let Kernel::Region(region) = &launch.kernel else { return None };
    // A launch cannot tell which member's index was out of range, and the others' results would be told as failed too. The accumulator of a
    // contraction is in no region of its own.
    if launch.is_copy || region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. } | InstOp::Acc)) {
        return None;
    }
    if region.axes.is_empty() {
        return one_point(region).map(Cow::Owned);
    }
    let is_map = region.n_parallel == region.axes.len();
    let takes = region.n_parallel <= 1 && region.axes[0] >= if is_map { 1 } else { 2 };
    takes.then_some(Cow::Borrowed(region))
}

/// What is the same for all members of a group, and this one's size.
fn body(region: &Region) -> Option<(Region, usize)> {
    let is_map = region.n_parallel == region.axes.len();
    // Of one shape, what reduces may be any.
    let body = sizeless(region).or_else(|| (!is_map).then(|| region.clone()))?;
    Some((body, region.axes[0]))
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
    if region.args.iter().any(|arg| arg.len != 1) || region.has_reductions() {
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
/// Bytes up to which a tensor may be kept alive for a reduction that waits for others, where memory is not short.
pub(crate) const SMALL: usize = 1 << 16;

/// Whether a launch brings tensors down to less, and writes nothing at every point.
fn only_reduces(launch: &Launch) -> bool {
    let Kernel::Region(region) = &launch.kernel else { return false };
    let levels = region.levels();
    let stores = || region.insts.iter().zip(&levels).filter(|(inst, _)| matches!(inst.op, InstOp::Store { .. }));
    region.n_parallel < region.axes.len() && stores().all(|(_, level)| *level != Level::Full)
}

/// Joins what can be joined; a tensor of more than `small` bytes is not kept alive for it.
pub(crate) fn group(launches: Vec<Launch>, small: usize) -> Result<Vec<Launch>, String> {
    let mut kin: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        if let Kernel::Region(region) = &launch.kernel {
            kin.entry(kinship(region)).or_default().push(at);
        }
    }
    let mut by_body: FxHashMap<Region, Vec<usize>> = FxHashMap::default();
    let mut lens = vec![0; launches.len()];
    for at in kin.into_values().filter(|kin| kin.len() > 1).flatten() {
        if let Some((body, len)) = candidate(&launches[at]).and_then(|region| body(&region)) {
            by_body.entry(body).or_default().push(at);
            lens[at] = len;
        }
    }
    let mut sets: BinaryHeap<(usize, usize, Vec<usize>)> = BinaryHeap::new();
    sets.extend(by_body.into_values().filter_map(|set| Some((*set.last()?, TRIES, set))).filter(|(_, _, set)| set.len() > 1));
    if sets.is_empty() {
        return Ok(launches);
    }
    let mut uses = Uses::new(&launches);
    // Members move to the place of the last one, where their readers have not moved behind it too: so those that come last move first, and what
    // makes a value for each of them can follow. Those that cannot move so far try again without it.
    let mut leader: Vec<usize> = (0..launches.len()).collect();
    while let Some((last, tries, set)) = sets.pop() {
        // What is read or written in parts up to the last member must not be written later than it is now.
        let stays = |at: usize, leader: &[usize]| uses.needs(&launches[at], at, last, leader);
        // What only reduces must not keep large tensors alive until then that are gone by now.
        let holds = |at: usize| only_reduces(&launches[at]) && uses.holds(&launches[at], last, small);
        let (left, members): (Vec<usize>, Vec<usize>) = set.iter().copied().partition(|at| stays(*at, &leader) || holds(*at));
        if members.len() > 1 {
            for member in members {
                leader[member] = last;
                uses.moves(&launches[member], last);
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
    let mut launches: Vec<Option<Launch>> = launches.into_iter().map(Some).collect();
    for leads in members_of {
        // None where it has moved to another one's place.
        let mut members: Vec<Launch> = leads.iter().filter_map(|member| launches[*member].take()).collect();
        if members.len() < 2 {
            grouped.append(&mut members);
            continue;
        }
        let first = &members[0];
        let Some(region) = candidate(first) else {
            return Err(format!("{} from {}: a {} kernel among equal regions", first.name, first.origin, first.kernel.kind()));
        };
        grouped.push(Launch {
            kernel: Kernel::Grouped(Grouped { region: region.into_owned(), lens: leads.iter().map(|at| lens[*at]).collect() }),
            args: members.iter().flat_map(|member| member.args.iter().copied()).collect(),
            scalars: members.iter().flat_map(|member| member.scalars.iter().copied()).collect(),
            name: format!("{} x{}", first.name, members.len()),
            origin: first.origin,
            is_copy: false,
        });
    }
    Ok(grouped)
}

/// Which launches use what, while they move to the places of later ones.
pub(crate) struct Uses {
    /// By node: the launches that use it, ascending.
    by_node: FxHashMap<u32, SmallVec<[usize; 4]>>,
    /// By node: where the last of them is by now.
    last: FxHashMap<u32, usize>,
    /// Nodes that a launch makes.
    made: FxHashSet<u32>,
}

impl Uses {
    pub(crate) fn new(launches: &[Launch]) -> Uses {
        let mut uses = Uses { by_node: FxHashMap::default(), last: FxHashMap::default(), made: FxHashSet::default() };
        for (at, launch) in launches.iter().enumerate() {
            for id in &launch.args {
                uses.by_node.entry(*id).or_default().push(at);
                uses.last.insert(*id, at);
            }
            uses.made.extend(writes(launch));
        }
        uses
    }

    /// Whether a launch up to the place `last` uses what the one at `at` writes. `leader`: by launch, the one to whose place it has moved.
    pub(crate) fn needs(&self, launch: &Launch, at: usize, last: usize, leader: &[usize]) -> bool {
        writes(launch).any(|id| {
            let later = self.by_node.get(&id).map_or(&[][..], |uses| &uses[uses.partition_point(|use_| *use_ <= at)..]);
            later.iter().any(|use_| leader[*use_] <= last)
        })
    }

    /// Whether the launch would keep a tensor of more than `small` bytes alive until the place `last` that is gone before.
    pub(crate) fn holds(&self, launch: &Launch, last: usize, small: usize) -> bool {
        launch.args.iter().zip(launch.kernel.args()).any(|(id, arg)| {
            let ends = self.last.get(id).is_some_and(|use_| *use_ < last);
            ends && self.made.contains(id) && !arg.write && arg.bytes() > small
        })
    }

    /// The launch moves to the place `last`.
    pub(crate) fn moves(&mut self, launch: &Launch, last: usize) {
        for id in &launch.args {
            let use_ = self.last.entry(*id).or_insert(last);
            *use_ = last.max(*use_);
        }
    }
}

pub(crate) fn reads(launch: &Launch) -> impl Iterator<Item = u32> {
    let args = launch.kernel.args();
    launch.args.iter().copied().zip(args).filter(|(_, arg)| !arg.write).map(|(id, _)| id)
}

pub(crate) fn writes(launch: &Launch) -> impl Iterator<Item = u32> {
    let args = launch.kernel.args();
    launch.args.iter().copied().zip(args).filter(|(_, arg)| arg.write).map(|(id, _)| id)
}
