//! Regions of more buffers than a launch can pass: several regions, one after the other.
//!
//! In: a region, a limit. Out: regions that together store the same. Values that need too many buffers are made in parts, which go through
//! scratch memory: arguments of the regions beyond those of the kernel.
//! Always: what is written in place is read by the regions before, and by the one that writes it.

use super::body::live;
use crate::lower::Unsupported;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, Index, Inst, InstOp, Level, Region, Value};

/// Regions in order, and the bytes of each scratch buffer: they are the arguments from `region.args.len()` on.
pub(super) struct Divided {
    pub(super) regions: Vec<Region>,
    pub(super) scratch: Vec<usize>,
}

/// Whether a launch can pass all of a region's buffers, the status among them.
pub(super) fn fits(region: &Region, limit: usize) -> bool {
    let needs = needs(region);
    let live = live(region);
    let all = (0..region.insts.len()).filter(|at| live[*at]).fold(Set::default(), |all, at| all.union(&needs[at]));
    all.len() + status(region) <= limit
}

fn status(region: &Region) -> usize {
    usize::from(region.insts.iter().any(|inst| matches!(inst.op, InstOp::Bounded { .. })))
}

/// Arguments, ascending.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
struct Set(Vec<u32>);

impl Set {
    fn union(&self, other: &Set) -> Set {
        let mut all: Vec<u32> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        all.dedup();
        Set(all)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// By instruction: the buffers that it and what it uses touch.
fn needs(region: &Region) -> Vec<Set> {
    let mut needs: Vec<Set> = Vec::with_capacity(region.insts.len());
    for inst in &region.insts {
        let mut all = match inst.op {
            InstOp::Load { arg, .. } | InstOp::Store { arg, .. } => Set(vec![arg]),
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
            | InstOp::ArgReduce(..) => Set::default(),
        };
        inst.op.visit_values(|value| all = all.union(&needs[value.index()]));
        needs.push(all);
    }
    needs
}

/// Divides a region so that no part needs more than `limit` buffers.
pub(super) fn divide(region: &Region, limit: usize) -> Result<Divided, Unsupported> {
    let limit = limit.saturating_sub(status(region));
    let mut whole = region.clone();
    let mut divided = Divided { regions: Vec::new(), scratch: Vec::new() };
    'again: loop {
        // First no store needs too many buffers …
        loop {
            let needs = needs(&whole);
            let is_store = |at: &usize| matches!(whole.insts[*at].op, InstOp::Store { .. });
            let Some(large) = (0..whole.insts.len()).filter(is_store).find(|at| needs[*at].len() > limit) else { break };
            let levels = whole.levels();
            let below = uses(&whole, large);
            let is_part = |at: &usize| below[*at] && !is_store(at) && (2..limit).contains(&needs[*at].len());
            let Some(part) = (0..large).filter(is_part).max_by_key(|at| needs[*at].len()) else {
                return Err(Unsupported {
                    cause: format!(
                        "region {}: {} buffers in one operation; the device's kernels take {limit}",
                        region.name,
                        needs[large].len()
                    ),
                    help: "compute it in several steps".to_owned(),
                });
            };
            take_out(&mut whole, part, levels[part], &mut divided);
        }
        // … then stores go together as far as they fit.
        let needs = needs(&whole);
        let mut groups: Vec<(Set, Vec<usize>)> = Vec::new();
        for at in 0..whole.insts.len() {
            if !matches!(whole.insts[at].op, InstOp::Store { .. }) {
                continue;
            }
            match groups.iter_mut().find(|(set, _)| set.union(&needs[at]).len() <= limit) {
                Some((set, stores)) => {
                    *set = set.union(&needs[at]);
                    stores.push(at);
                }
                None => groups.push((needs[at].clone(), vec![at])),
            }
        }
        // A group that writes what others read comes after them.
        let written = |stores: &[usize]| -> Vec<u32> {
            let arg = |at: &usize| if let InstOp::Store { arg, .. } = whole.insts[*at].op { Some(arg) } else { None };
            stores.iter().filter_map(arg).collect()
        };
        // Parts of one result, as a concatenation's, are written in any order: only what is read counts.
        let read = |stores: &[usize]| -> Vec<u32> {
            let mut used = vec![false; whole.insts.len()];
            for store in stores {
                used.iter_mut().zip(uses(&whole, *store)).for_each(|(used, below)| *used |= below);
            }
            let arg = |(at, used): (usize, &bool)| match whole.insts[at].op {
                InstOp::Load { arg, .. } if *used => Some(arg),
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
                | InstOp::Store { .. } => None,
            };
            used.iter().enumerate().filter_map(arg).collect()
        };
        let mut ordered = Vec::new();
        while !groups.is_empty() {
            let free = |at: &usize| {
                let writes = written(&groups[*at].1);
                groups.iter().enumerate().all(|(other, (_, stores))| other == *at || !read(stores).iter().any(|arg| writes.contains(arg)))
            };
            let Some(next) = (0..groups.len()).find(free) else {
                // Updates in place that need each other: what one of them overwrites, and another one reads, is kept aside first.
                let writes = written(&groups[0].1);
                let others = groups[1..].iter().flat_map(|(_, stores)| stores.iter().copied());
                let below: Vec<Vec<bool>> = others.map(|store| uses(&whole, store)).collect();
                let is_read = |at: usize| {
                    matches!(whole.insts[at].op, InstOp::Load { arg, .. } if writes.contains(&arg)) && below.iter().any(|below| below[at])
                };
                let Some(part) = (0..whole.insts.len()).find(|at| is_read(*at)) else {
                    return Err(Unsupported {
                        cause: format!("region {}: its updates in place need each other and more than {limit} buffers", region.name),
                        help: "compute it in several steps".to_owned(),
                    });
                };
                let level = whole.levels()[part];
                take_out(&mut whole, part, level, &mut divided);
                continue 'again;
            };
            let (_, stores) = groups.remove(next);
            ordered.push(only(&whole, |at| stores.contains(&at)));
        }
        divided.regions.extend(ordered);
        return Ok(divided);
    }
}

/// What an instruction uses, directly or not.
fn uses(region: &Region, of: usize) -> Vec<bool> {
    let mut used = vec![false; region.insts.len()];
    used[of] = true;
    for at in (0..=of).rev() {
        if used[at] {
            region.insts[at].op.visit_values(|value| used[value.index()] = true);
        }
    }
    used
}

/// The region with these stores only.
fn only(region: &Region, keeps: impl Fn(usize) -> bool) -> Region {
    let mut region = region.clone();
    for (at, inst) in region.insts.iter_mut().enumerate() {
        if matches!(inst.op, InstOp::Store { .. }) && !keeps(at) {
            inst.op = InstOp::Const(unigrad_scalar::Literal::zero(inst.dtype));
        }
    }
    let written: Vec<u32> =
        region.insts.iter().filter_map(|inst| if let InstOp::Store { arg, .. } = inst.op { Some(arg) } else { None }).collect();
    for (at, arg) in region.args.iter_mut().enumerate() {
        arg.write = written.contains(&(at as u32));
    }
    region
}

/// Makes the value of instruction `part` by a region of its own, and has `whole` load it.
fn take_out(whole: &mut Region, part: usize, level: Level, divided: &mut Divided) {
    let axes = match level {
        Level::Uniform => 0,
        Level::Row => whole.n_parallel,
        Level::Full => whole.axes.len(),
    };
    let mut strides: SmallVec<[i64; 6]> = SmallVec::from_elem(0, whole.axes.len());
    let mut len = 1;
    for axis in (0..axes).rev() {
        strides[axis] = len as i64;
        len *= whole.axes[axis];
    }
    let index = Index { offset: 0, strides, dynamic: SmallVec::new() };
    let of = whole.insts[part].dtype;
    let dtype = of.compute();
    let arg = whole.args.len() as u32;
    whole.args.push(Arg { dtype, len, write: true });
    divided.scratch.push((len * dtype.size()).max(1));
    let mut first = only(whole, |_| false);
    first.insts.truncate(part + 1);
    first.args[arg as usize].write = true;
    let mut to = index.clone();
    if level == Level::Uniform {
        // One point makes it.
        first.axes.clear();
        first.n_parallel = 0;
        to.strides.clear();
    }
    first.insts.push(Inst { op: InstOp::Store { arg, index: to, value: Value(part as u32) }, dtype: of });
    divided.regions.push(first);
    whole.args[arg as usize].write = false;
    whole.insts[part] = Inst { op: InstOp::Load { arg, index, mask: None }, dtype };
}
