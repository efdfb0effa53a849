//! Launches that need nothing of each other become one, where a launch costs more than what it does.
//!
//! In: launches in order, groups among them. Out: fewer: a group of tensors, other groups beside it and small regions as one [`Joined`]: the updates of
//! parameters that a rule treats in several ways, the sums of rows of several lengths.
//! Always: members do not depend on each other; nothing between the first and the last one needs what a member writes; no large tensor is kept for it.
//! Never: joins an index that is checked, of which a launch could not tell whose it is; nor kernels of their own form, which fill a device.

use crate::group::Uses;
use crate::lower::Launch;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, InstOp, Joined, Kernel, Region};

/// Parts of one launch at most: a program has the text of all.
const PARTS: usize = 16;
/// Launches ahead of the last one that are looked at, so that planning stays linear in them.
const LOOKS: usize = 256;
/// Bytes of all arguments up to which a region is small: what it does takes less than its launch.
const SMALL_REGION: usize = 1 << 16;

/// Whether a launch can be a part.
fn is_part(launch: &Launch) -> bool {
    let takes = |region: &Region| !region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. } | InstOp::Acc));
    match &launch.kernel {
        _ if launch.is_copy => false,
        Kernel::Grouped(grouped) => takes(&grouped.region),
        Kernel::Region(region) => {
            let bytes = region.args.iter().map(Arg::bytes).fold(0, usize::saturating_add);
            bytes <= SMALL_REGION && takes(region)
        }
        Kernel::Joined(_)
        | Kernel::Crossed(_)
        | Kernel::Contract(_)
        | Kernel::Summed(_)
        | Kernel::Attention(_)
        | Kernel::AttentionGrad(_)
        | Kernel::Scan(_) => false,
        Kernel::Scatter(_) | Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => false,
    }
}

/// Joins what can be joined; a tensor of more than `small` bytes is not kept alive for it.
pub(crate) fn join(launches: Vec<Launch>, small: usize) -> Vec<Launch> {
    let parts: Vec<usize> = (0..launches.len()).filter(|at| is_part(&launches[*at])).collect();
    let is_group = |at: usize| matches!(launches[at].kernel, Kernel::Grouped(_));
    if parts.len() < 2 || !parts.iter().any(|at| is_group(*at)) {
        return launches;
    }
    let mut uses = Uses::new(&launches);
    // As groups do, members move to the place of the last one, and those that come last move first, so that what they read can follow.
    let mut leader: Vec<usize> = (0..launches.len()).collect();
    for (position, last) in parts.iter().copied().enumerate().rev() {
        if leader[last] != last {
            continue;
        }
        let mut members: SmallVec<[usize; PARTS]> = SmallVec::from_slice(&[last]);
        for at in parts[position.saturating_sub(LOOKS)..position].iter().copied().rev() {
            if members.len() == PARTS {
                break;
            }
            if leader[at] != at || !is_group(at) && !members.iter().any(|member| is_group(*member)) {
                continue;
            }
            if uses.needs(&launches[at], at, last, &leader) || uses.holds(&launches[at], last, small) {
                continue;
            }
            members.push(at);
            leader[at] = last;
            uses.moves(&launches[at], last);
        }
    }
    let mut members_of: Vec<SmallVec<[usize; 1]>> = vec![SmallVec::new(); launches.len()];
    leader.iter().enumerate().for_each(|(member, leader)| members_of[*leader].push(member));
    let mut joined = Vec::with_capacity(launches.len());
    let mut launches: Vec<Option<Launch>> = launches.into_iter().map(Some).collect();
    for leads in members_of {
        // None where it has moved to another one's place.
        let mut members: Vec<Launch> = leads.iter().filter_map(|member| launches[*member].take()).collect();
        if members.len() < 2 {
            joined.append(&mut members);
            continue;
        }
        let first = &members[0];
        let (name, origin) = (format!("{} and {} more", first.name, members.len() - 1), first.origin);
        joined.push(Launch {
            args: members.iter().flat_map(|member| member.args.iter().copied()).collect(),
            scalars: members.iter().flat_map(|member| member.scalars.iter().copied()).collect(),
            kernel: Kernel::Joined(Joined { parts: members.into_iter().map(|member| member.kernel).collect() }),
            name,
            origin,
            is_copy: false,
        });
    }
    joined
}
