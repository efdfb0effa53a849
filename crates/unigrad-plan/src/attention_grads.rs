//! Gradients of attention that are only copied into a concatenation are written there.
//!
//! In: launches in order, on a device that takes one buffer for several arguments that are written. Out: the same without launches that only copy
//! gradients of queries, keys and values side by side, as for one product that makes all three.
//! Always: a gradient that has another reader, or is wanted itself, stays where it is, and its copy too; so does one that could be written by shorter
//! runs only, and all of a concatenation of which one stays: its memory would be taken sooner, beside what stays.

use crate::ir::Id;
use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unigrad_kernel::{Index, InstOp, Kernel, Layout4, Region};

/// Elements whose multiples rows begin at, so that kernels write them by vectors.
const RUN: i64 = 8;

/// Where gradients go instead: of which launch, by which of its last three arguments, and how they lie there.
struct Moved {
    gradient: usize,
    which: usize,
    elements: usize,
    layout: Layout4,
}

/// Copies into one concatenation.
#[derive(Default)]
struct Copied {
    len: usize,
    elements: usize,
    /// Launches.
    by: Vec<usize>,
    moved: Vec<Moved>,
}

/// Takes needless copies out. `wanted`: what somebody asks for.
pub(crate) fn rewrite(launches: &mut Vec<Launch>, wanted: &FxHashSet<Id>) {
    let mut made: FxHashMap<Id, (usize, usize)> = FxHashMap::default();
    let mut readers: FxHashMap<Id, u32> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate() {
        let args = launch.kernel.args();
        for (id, _) in launch.args.iter().zip(&args).filter(|(_, arg)| !arg.write) {
            *readers.entry(*id).or_insert(0) += 1;
        }
        if let (Kernel::AttentionGrad(_), Some(first)) = (&launch.kernel, launch.args.len().checked_sub(3)) {
            made.extend(launch.args[first..].iter().enumerate().map(|(which, id)| (*id, (at, which))));
        }
    }
    if made.is_empty() {
        return;
    }
    // By concatenation: how many elements it has, and how many of them are copied by which launches.
    let mut joined: FxHashMap<Id, Copied> = FxHashMap::default();
    for at in 0..launches.len() {
        let copies = copies_of(launches, at, |id| made.get(&id).copied().filter(|_| readers.get(&id) == Some(&1) && !wanted.contains(&id)));
        let Some((whole, len, copies)) = copies else { continue };
        let copied = joined.entry(whole).or_default();
        copied.elements += copies.iter().map(|moved| moved.elements).sum::<usize>();
        copied.len = len;
        copied.by.push(at);
        copied.moved.extend(copies);
    }
    joined.retain(|_, copied| copied.elements == copied.len);
    let needless: FxHashSet<usize> = joined.values().flat_map(|copied| copied.by.iter().copied()).collect();
    for (whole, Copied { len, moved, .. }) in joined {
        for Moved { gradient, which, layout, .. } in moved {
            let Launch { kernel: Kernel::AttentionGrad(kernel), args, .. } = &mut launches[gradient] else { continue };
            let first = args.len().saturating_sub(3);
            args[first + which] = whole;
            kernel.grad_buffers[which] = len;
            *[&mut kernel.dq, &mut kernel.dk, &mut kernel.dv][which] = layout;
        }
    }
    let mut at = 0;
    launches.retain(|_| {
        at += 1;
        !needless.contains(&(at - 1))
    });
}

/// What a launch copies gradients to, its length, and where; `None` if it does anything else. `gradient` says which gradient an argument is.
fn copies_of(launches: &[Launch], at: usize, gradient: impl Fn(Id) -> Option<(usize, usize)>) -> Option<(Id, usize, Vec<Moved>)> {
    let Launch { kernel: Kernel::Region(region), args, .. } = &launches[at] else { return None };
    let is_map = region.n_parallel == region.axes.len();
    let mut whole: Option<(Id, usize)> = None;
    let mut moved = Vec::new();
    let mut loads = 0;
    for inst in &region.insts {
        if matches!(inst.op, InstOp::Load { mask: None, .. }) {
            loads += 1;
            continue;
        }
        let InstOp::Store { arg, index: to, value } = &inst.op else { return None };
        let InstOp::Load { arg: from_arg, index: from, mask: None } = &region.insts[value.index()].op else { return None };
        let same = region.insts[value.index()].dtype == inst.dtype;
        let (gradient, which) = gradient(args[*from_arg as usize]).filter(|(gradient, _)| *gradient < at && same)?;
        let id = args[*arg as usize];
        if whole.get_or_insert((id, region.args[*arg as usize].len)).0 != id {
            return None;
        }
        let Kernel::AttentionGrad(kernel) = &launches[gradient].kernel else { return None };
        let forward = &kernel.forward;
        let (heads, len, width) = match which {
            0 => (forward.heads, forward.q_len, forward.qk_dim),
            1 => (forward.kv_heads, forward.k_len, forward.qk_dim),
            _ => (forward.kv_heads, forward.k_len, forward.v_dim),
        };
        let sizes = [forward.batch, heads, len, width];
        moved.push(Moved { gradient, which, elements: sizes.iter().product(), layout: layout(region, from, to, sizes)? });
    }
    let (id, len) = whole?;
    (is_map && loads == moved.len()).then_some((id, len, moved))
}

/// How a dense tensor lies where a map copies it to, if each of its axes is walked along one axis of the map, and rows stay whole.
fn layout(region: &Region, from: &Index, to: &Index, sizes: [usize; 4]) -> Option<Layout4> {
    let points: usize = sizes.iter().product();
    if !from.dynamic.is_empty() || !to.dynamic.is_empty() || from.offset != 0 || region.rows() != points || points == 0 {
        return None;
    }
    let mut strides = [0; 4];
    let mut dense = 1;
    for axis in (0..4).rev() {
        let (size, stride) = (sizes[axis] as i64, dense);
        dense *= size;
        if size == 1 {
            continue;
        }
        let walks = |(along, extent): (usize, &usize)| {
            let step = from.strides[along];
            let covers = step > 0 && stride % step == 0 && stride * size <= step.saturating_mul(*extent as i64);
            covers.then(|| to.strides[along] * (stride / step))
        };
        strides[axis] = region.axes.iter().enumerate().find_map(walks)?;
    }
    let rows: SmallVec<[i64; 4]> = strides[..3].iter().copied().chain([to.offset]).collect();
    let is_whole = strides[3] == 1 && rows.iter().all(|n| *n >= 0 && n % RUN == 0);
    is_whole.then_some(Layout4 { offset: to.offset, strides })
}
