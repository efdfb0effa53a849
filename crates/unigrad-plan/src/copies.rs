//! What is only copied into a concatenation is written there.
//!
//! In: launches in order. Out ([`rewrite`]): the same without launches that only copy side by side what products, maps and gradients of attention
//! have written, as gates of a recurrent layer for one product of all of them, or gradients of queries, keys and values.
//! Always: what has another reader, or is wanted itself, stays where it is, and its copy too; so does what could be written by shorter
//! runs only, and all of a concatenation of which one stays: its memory would be taken sooner, beside what stays.
//!
//! [`crate::in_concatenation`] has those that lie in one piece in the concatenation, whatever else reads them.

use crate::group::{reads, writes};
use crate::ir::Id;
use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use unigrad_kernel::{Arg, Index, InstOp, Kernel, Layout4, Region};

/// Elements whose multiples rows begin at, so that kernels write by vectors.
const RUN: i64 = 8;
/// Concatenations of concatenations, of so many levels.
const LEVELS: usize = 3;

/// How the elements of a dense buffer lie in another one, each once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walk {
    /// Extent, stride in the dense buffer, stride in the other one; in order of strides, the last one 1. Neighbours that are one run in both are one axis.
    axes: SmallVec<[(i64, i64, i64); 4]>,
    offset: i64,
}

impl Walk {
    /// Of a map that copies `len` elements from one index to another; `None` if it does not copy all of them, or not as they lie.
    fn new(region: &Region, from: &Index, to: &Index, len: usize) -> Option<Walk> {
        if !from.dynamic.is_empty() || !to.dynamic.is_empty() || from.offset != 0 || region.rows() != len || len == 0 {
            return None;
        }
        let mut axes: SmallVec<[(i64, i64, i64); 4]> =
            region.axes.iter().enumerate().filter(|(_, n)| **n > 1).map(|(at, n)| (*n as i64, from.strides[at], to.strides[at])).collect();
        axes.sort_by_key(|(_, from, _)| std::cmp::Reverse(*from));
        Walk::of(axes, to.offset)
    }

    /// Of axes with their extents, and their strides in both buffers; outermost first in the dense one.
    pub(crate) fn of(mut axes: SmallVec<[(i64, i64, i64); 4]>, offset: i64) -> Option<Walk> {
        let mut dense = 1;
        for (n, from, _) in axes.iter().rev() {
            if *from != dense {
                return None;
            }
            dense *= n;
        }
        axes.dedup_by(|inner, outer| {
            let is_run = outer.2 == inner.2 * inner.0;
            if is_run {
                *outer = (outer.0 * inner.0, inner.1, inner.2);
            }
            is_run
        });
        Some(Walk { axes, offset })
    }

    fn elements(&self) -> usize {
        self.axes.iter().map(|(n, ..)| *n as usize).product()
    }

    /// Where all of it begins in the other buffer, if it is one piece there.
    pub(crate) fn begin(&self) -> Option<usize> {
        let is_piece = matches!(self.axes.as_slice(), [] | [(_, 1, 1)]);
        usize::try_from(self.offset).ok().filter(|_| is_piece)
    }

    /// What an index of the dense buffer is in the other one, over a domain of these extents; `None` if no index says that, or runs are shorter there.
    pub(crate) fn index(&self, index: &Index, extents: &[usize]) -> Option<Index> {
        if !index.dynamic.is_empty() || index.offset < 0 || index.strides.iter().any(|stride| *stride < 0) {
            return None;
        }
        let mut rest = index.offset;
        // Of each axis: the index at the domain's first point.
        let mut reached: SmallVec<[i64; 4]> = self
            .axes
            .iter()
            .map(|(_, from, _)| {
                let at = rest / from;
                rest %= from;
                at
            })
            .collect();
        let mut moved = Index { offset: self.offset, strides: smallvec![0; index.strides.len()], dynamic: SmallVec::new() };
        moved.offset += self.axes.iter().zip(&reached).map(|((_, _, to), at)| at * to).sum::<i64>();
        for (along, (stride, n)) in index.strides.iter().zip(extents).enumerate().filter(|(_, (stride, n))| **stride != 0 && **n > 1) {
            let axis = self.axes.iter().position(|(_, from, _)| stride % from == 0)?;
            let (_, from, to) = self.axes[axis];
            let step = stride / from;
            reached[axis] += step * (*n as i64 - 1);
            moved.strides[along] = to * step;
        }
        // Within each axis, so that none is carried over to the next one.
        let is_inside = self.axes.iter().zip(&reached).all(|((n, ..), last)| last < n);
        let keeps_runs = index.strides.iter().zip(&moved.strides).all(|(old, new)| match old {
            1 => *new == 1,
            old => old % RUN != 0 || new % RUN == 0,
        });
        (is_inside && keeps_runs && (index.offset % RUN != 0 || moved.offset % RUN == 0)).then_some(moved)
    }
}

/// A copy of all of a buffer.
pub(crate) struct Copied {
    pub(crate) from: Id,
    pub(crate) walk: Walk,
}

/// What launches that do nothing else copy to one buffer.
pub(crate) struct Concatenation {
    pub(crate) id: Id,
    /// Elements of the buffer.
    len: usize,
    /// The launches, and what each of them copies.
    pub(crate) by: Vec<(usize, Vec<Copied>)>,
}

/// All of them, in order of the launches, so that plans do not depend on a hash.
pub(crate) fn concatenations(launches: &[Launch]) -> Vec<Concatenation> {
    let mut all: Vec<Concatenation> = Vec::new();
    let mut place: FxHashMap<Id, usize> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        let Some((id, len, copied)) = copies(launch) else { continue };
        let place = *place.entry(id).or_insert(all.len());
        if place == all.len() {
            all.push(Concatenation { id, len, by: Vec::new() });
        }
        all[place].by.push((at, copied));
    }
    all
}

/// The copies that a launch is made of, all to one buffer, and that buffer with its length; `None` if it does anything else.
fn copies(launch: &Launch) -> Option<(Id, usize, Vec<Copied>)> {
    let Launch { kernel: Kernel::Region(region), args, .. } = launch else { return None };
    let is_map = region.n_parallel == region.axes.len();
    let mut whole: Option<u32> = None;
    let mut all = Vec::new();
    let mut loads = 0;
    for inst in region.insts.iter().filter(|_| is_map) {
        if matches!(inst.op, InstOp::Load { mask: None, .. }) {
            loads += 1;
            continue;
        }
        let InstOp::Store { arg: to_arg, index: to, value } = &inst.op else { return None };
        let InstOp::Load { arg: from_arg, index: from, mask: None } = &region.insts[value.index()].op else { return None };
        let (from_buffer, to_buffer) = (&region.args[*from_arg as usize], &region.args[*to_arg as usize]);
        if *whole.get_or_insert(*to_arg) != *to_arg || from_buffer.dtype != to_buffer.dtype || from_buffer.write {
            return None;
        }
        let walk = Walk::new(region, from, to, from_buffer.len)?;
        all.push(Copied { from: args[*from_arg as usize], walk });
    }
    let whole = whole? as usize;
    (loads == all.len()).then_some((args[whole], region.args[whole].len, all))
}

/// A region that a launch runs, and which of the launch's arguments is its first one.
fn region_of(kernel: &Kernel) -> Option<(&Region, usize)> {
    if let Kernel::Region(region) = kernel {
        return Some((region, 0));
    }
    let Kernel::Contract(contract) = kernel else { return None };
    contract.epilogue.as_deref().map(|region| (region, 2))
}

fn region_mut(kernel: &mut Kernel) -> Option<(&mut Region, usize)> {
    if let Kernel::Region(region) = kernel {
        return Some((region, 0));
    }
    let Kernel::Contract(contract) = kernel else { return None };
    contract.epilogue.as_deref_mut().map(|region| (region, 2))
}

/// Where a launch writes a buffer: by which argument, and how the elements lie.
enum Moved {
    /// One of attention's three gradients.
    Gradient { which: usize, layout: Layout4 },
    /// The stores of a region: their instructions, with their new indices.
    Stores(Vec<(usize, Index)>),
}

/// How a launch would write its argument where a copy has it.
fn moved(launch: &Launch, arg: usize, walk: &Walk) -> Option<Moved> {
    if let Kernel::AttentionGrad(kernel) = &launch.kernel {
        let which = (arg + 3).checked_sub(launch.args.len())?;
        let forward = &kernel.forward;
        let sizes = match which {
            0 => [forward.batch, forward.heads, forward.q_len, forward.qk_dim],
            1 => [forward.batch, forward.kv_heads, forward.k_len, forward.qk_dim],
            _ => [forward.batch, forward.kv_heads, forward.k_len, forward.v_dim],
        };
        let (d, t, h) = (sizes[3] as i64, sizes[2] as i64, sizes[1] as i64);
        let index = walk.index(&Index { strides: smallvec![h * t * d, t * d, d, 1], ..Index::default() }, &sizes)?;
        let strides = [0, 1, 2, 3].map(|axis: usize| if sizes[axis] == 1 && axis == 3 { 1 } else { index.strides[axis] });
        let rows_are_whole = strides[3] == 1 && strides[..3].iter().chain([&index.offset]).all(|n| n % RUN == 0);
        return rows_are_whole.then_some(Moved::Gradient { which, layout: Layout4 { offset: index.offset, strides } });
    }
    let (region, first) = region_of(&launch.kernel)?;
    let arg = arg.checked_sub(first)? as u32;
    let mut stores = Vec::new();
    for (at, inst) in region.insts.iter().enumerate() {
        let Some((_, index)) = inst.op.access().filter(|(accessed, _)| *accessed == arg) else { continue };
        let is_store = matches!(inst.op, InstOp::Store { .. });
        stores.push((at, walk.index(index, &region.axes).filter(|_| is_store)?));
    }
    (!stores.is_empty()).then_some(Moved::Stores(stores))
}

/// Writes an argument where the copy would be.
fn redirect(launch: &mut Launch, arg: usize, moved: Moved, whole: Id, len: usize) -> Result<(), String> {
    match moved {
        Moved::Gradient { which, layout } => {
            let Kernel::AttentionGrad(kernel) = &mut launch.kernel else {
                return Err("a gradient of attention that another kernel makes".into());
            };
            launch.args[arg] = whole;
            kernel.grad_buffers[which] = len;
            *[&mut kernel.dq, &mut kernel.dk, &mut kernel.dv][which] = layout;
        }
        Moved::Stores(stores) => {
            let Some((region, first)) = region_mut(&mut launch.kernel) else { return Err("stores of a kernel that has no region".into()) };
            redirect_stores(region, &mut launch.args, (first, arg), stores, whole, len);
        }
    }
    Ok(())
}

/// A buffer that is written by several stores is one argument.
fn redirect_stores(
    region: &mut Region,
    args: &mut Vec<Id>,
    (first, arg): (usize, usize),
    stores: Vec<(usize, Index)>,
    whole: Id,
    len: usize,
) {
    let own = arg - first;
    let of_whole = args[first..first + region.args.len()].iter().position(|id| *id == whole);
    let target = of_whole.unwrap_or(own); // DEFAULT: the first of them is what it was
    for (at, new) in stores {
        if let InstOp::Store { arg, index, .. } = &mut region.insts[at].op {
            (*arg, *index) = (target as u32, new);
        }
    }
    if of_whole.is_none() {
        args[arg] = whole;
        region.args[own] = Arg { len, ..region.args[own] };
        return;
    }
    args.remove(arg);
    region.args.remove(own);
    for inst in &mut region.insts {
        if let InstOp::Store { arg, .. } | InstOp::Load { arg, .. } = &mut inst.op
            && *arg as usize > own
        {
            *arg -= 1;
        }
    }
}

/// Takes needless copies out. `wanted`: what is asked for; `shares`: whether a launch of another form may have a buffer as several arguments.
pub(crate) fn rewrite(launches: &mut Vec<Launch>, wanted: &FxHashSet<Id>, shares: bool) -> Result<(), String> {
    for _ in 0..LEVELS {
        if !rewrite_once(launches, wanted, shares)? {
            break;
        }
    }
    Ok(())
}

fn rewrite_once(launches: &mut Vec<Launch>, wanted: &FxHashSet<Id>, shares: bool) -> Result<bool, String> {
    let all = concatenations(launches);
    if all.is_empty() {
        return Ok(false);
    }
    let mut writers: FxHashMap<Id, SmallVec<[usize; 1]>> = FxHashMap::default();
    let mut readers: FxHashMap<Id, u32> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        writes(launch).for_each(|id| writers.entry(id).or_default().push(at));
        reads(launch).for_each(|id| *readers.entry(id).or_insert(0) += 1);
    }
    let mut needless: FxHashSet<usize> = FxHashSet::default();
    // What another concatenation has moved is looked at again, the next time.
    let mut touched: FxHashSet<usize> = FxHashSet::default();
    for Concatenation { id: whole, len, by } in all {
        // The launch that writes a part, and how it would.
        let part = |(at, Copied { from, walk }): (usize, &Copied)| {
            let [writer] = writers.get(from)?.as_slice() else { return None };
            let launch = &launches[*writer];
            let is_free = *writer < at && readers.get(from) == Some(&1) && !wanted.contains(from) && !launch.is_copy;
            let may = shares || !matches!(launch.kernel, Kernel::AttentionGrad(_));
            let reads_it = reads(launch).any(|id| id == whole || id == *from);
            let again = touched.contains(writer) || by.iter().any(|(at, _)| at == writer);
            let arg = launch.args.iter().position(|id| id == from)?;
            (is_free && may && !reads_it && !again).then_some((*writer, *from, moved(launch, arg, walk)?))
        };
        let copied = || by.iter().flat_map(|(at, copied)| copied.iter().map(|copied| (*at, copied)));
        if copied().map(|(_, copied)| copied.walk.elements()).sum::<usize>() != len {
            continue;
        }
        let Some(parts) = copied().map(part).collect::<Option<Vec<_>>>() else { continue };
        touched.extend(parts.iter().map(|(writer, ..)| *writer).chain(by.iter().map(|(at, _)| *at)));
        needless.extend(by.iter().map(|(at, _)| *at));
        for (writer, from, moved) in parts {
            let launch = &mut launches[writer];
            // Those before it may have taken arguments out; instructions stand where they stood.
            let arg =
                launch.args.iter().position(|id| *id == from).ok_or("a part of a concatenation that its launch does not write any more")?;
            redirect(launch, arg, moved, whole, len)?;
        }
    }
    let mut at = 0;
    launches.retain(|_| {
        at += 1;
        !needless.contains(&(at - 1))
    });
    Ok(!needless.is_empty())
}
