//! Attention's result lies by positions, the heads of one beside each other, where products want it so.
//!
//! In: launches in order. Out: the same, with other strides. A block's next product takes the heads of a position as one row: lying by heads it is no
//! plain matrix, which neither vendors' libraries take nor own loops read in long runs.
//! Always: a reader of the result reads the same elements; a result that is wanted itself, or that some kernel wants dense, stays as it is.

use crate::copies::Walk;
use crate::group::{reads, writes};
use crate::ir::Id;
use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeSet;
use unigrad_kernel::{Contract, Index, InstOp, Kernel, Layout4, Region};

/// Changes layouts. `wanted`: what is asked for.
pub(crate) fn rewrite(launches: &mut [Launch], wanted: &FxHashSet<Id>) -> Result<(), String> {
    let attentions: Vec<usize> = (0..launches.len())
        .filter(|at| matches!(&launches[*at].kernel, Kernel::Attention(kernel) if kernel.heads > 1 && kernel.q_len > 1))
        .collect();
    if attentions.is_empty() {
        return Ok(());
    }
    let (mut writers, mut readers): (FxHashMap<Id, u32>, FxHashMap<Id, Vec<usize>>) = Default::default();
    for (at, launch) in launches.iter().enumerate() {
        writes(launch).for_each(|id| *writers.entry(id).or_insert(0) += 1);
        reads(launch).for_each(|id| readers.entry(id).or_default().push(at));
    }
    for at in attentions {
        let Kernel::Attention(kernel) = &launches[at].kernel else { continue };
        let Some(id) = launches[at].args.get(kernel.n_inputs()).copied() else { continue };
        let [b, h, t, d] = [kernel.batch, kernel.heads, kernel.q_len, kernel.v_dim].map(|n| n as i64);
        let dense = Layout4 { offset: 0, strides: [h * t * d, t * d, d, 1] };
        let by_position = Layout4 { offset: 0, strides: [h * t * d, d, h * d, 1] };
        if kernel.out != dense || wanted.contains(&id) || writers.get(&id) != Some(&1) || b * h * t * d == 0 {
            continue;
        }
        let axes = [b, h, t, d].into_iter().zip(dense.strides).zip(by_position.strides).map(|((n, from), to)| (n, from, to));
        let Some(walk) = Walk::of(axes.filter(|(n, ..)| *n > 1).collect(), 0) else { continue };
        let of: BTreeSet<usize> = readers.get(&id).into_iter().flatten().copied().collect();
        let mut gain = 0;
        let changed: Option<Vec<(usize, Kernel)>> = of
            .into_iter()
            .map(|reader| {
                let launch = &launches[reader];
                let kernel = read_elsewhere(launch, id, &walk, (dense, by_position))?;
                gain += axes_of(&launch.kernel) - axes_of(&kernel);
                Some((reader, kernel))
            })
            .collect();
        let Some(changed) = changed.filter(|_| gain > 0) else { continue };
        for (reader, kernel) in changed {
            launches[reader].kernel = kernel;
        }
        let Kernel::Attention(kernel) = &mut launches[at].kernel else { return Err("a launch of attention has become another one".into()) };
        kernel.out = by_position;
    }
    Ok(())
}

/// The kernel that reads the result where the walk leads; `None` if that cannot be said.
fn read_elsewhere(launch: &Launch, id: Id, walk: &Walk, (old, new): (Layout4, Layout4)) -> Option<Kernel> {
    let mut kernel = launch.kernel.clone();
    for (arg, _) in launch.args.iter().enumerate().filter(|(_, arg)| **arg == id) {
        match &mut kernel {
            Kernel::Contract(contract) if arg < 2 => operand(contract, arg, walk)?,
            Kernel::Contract(contract) => {
                let region = contract.epilogue.as_deref_mut().filter(|region| arg < 2 + region.args.len())?;
                loads(region, arg - 2, walk)?;
            }
            Kernel::Region(region) => loads(region, arg, walk)?,
            Kernel::AttentionGrad(grad) if arg == grad.forward.n_inputs() && grad.forward.out == old => grad.forward.out = new,
            Kernel::Summed(_) => return None,
            Kernel::AttentionGrad(_) | Kernel::Attention(_) | Kernel::Scan(_) | Kernel::Scatter(_) | Kernel::ArgSort(_) => return None,
            Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) | Kernel::Grouped(_) | Kernel::Joined(_) | Kernel::Crossed(_) => {
                return None;
            }
        }
    }
    Some(kernel)
}

fn loads(region: &mut Region, arg: usize, walk: &Walk) -> Option<()> {
    for inst in &mut region.insts {
        if inst.op.access().is_none_or(|(accessed, _)| accessed as usize != arg) {
            continue;
        }
        let InstOp::Load { index, .. } = &mut inst.op else { return None };
        *index = walk.index(index, &region.axes)?;
    }
    Some(())
}

/// An operand of a product: its strides along all dimensions.
fn operand(contract: &mut Contract, side: usize, walk: &Walk) -> Option<()> {
    if contract.prologues[side].is_some() {
        return None;
    }
    let (offset, mut dims) = dims(contract, side);
    let extents: SmallVec<[usize; 8]> = dims.iter().map(|(size, _)| *size).collect();
    let index = Index { offset: *offset, strides: dims.iter().map(|(_, stride)| **stride).collect(), dynamic: smallvec![] };
    let moved = walk.index(&index, &extents)?;
    dims.iter_mut().zip(&moved.strides).for_each(|((_, stride), new)| **stride = *new);
    *offset = moved.offset;
    Some(())
}

/// Where an operand begins, and its sizes and strides: of the batch, of its own dimensions, of those that are summed over.
fn dims(contract: &mut Contract, side: usize) -> (&mut i64, SmallVec<[(usize, &mut i64); 8]>) {
    let Contract { batch, m, n, k, a_offset, b_offset, .. } = contract;
    if side == 0 {
        let own = batch.iter_mut().map(|dim| (dim.size, &mut dim.a)).chain(m.iter_mut().map(|dim| (dim.size, &mut dim.a)));
        return (a_offset, own.chain(k.iter_mut().map(|dim| (dim.size, &mut dim.a))).collect());
    }
    let own = batch.iter_mut().map(|dim| (dim.size, &mut dim.b)).chain(n.iter_mut().map(|dim| (dim.size, &mut dim.b)));
    (b_offset, own.chain(k.iter_mut().map(|dim| (dim.size, &mut dim.b))).collect())
}

/// Runs that a product's operands are made of, if it is one: dimensions but for those that go on where the one within ends.
fn axes_of(kernel: &Kernel) -> i64 {
    let Kernel::Contract(contract) = kernel else { return 0 };
    let runs = |dims: &[(usize, i64, i64)]| {
        let dims: SmallVec<[&(usize, i64, i64); 4]> = dims.iter().filter(|dim| dim.0 > 1).collect();
        let breaks = dims.windows(2).filter(|pair| pair[0].1 != pair[1].1 * pair[1].0 as i64 || pair[0].2 != pair[1].2 * pair[1].0 as i64);
        breaks.count() as i64
    };
    let m: SmallVec<[(usize, i64, i64); 4]> = contract.m.iter().map(|dim| (dim.size, dim.a, 0)).collect();
    let n: SmallVec<[(usize, i64, i64); 4]> = contract.n.iter().map(|dim| (dim.size, dim.b, 0)).collect();
    let k: SmallVec<[(usize, i64, i64); 4]> = contract.k.iter().map(|dim| (dim.size, dim.a, dim.b)).collect();
    runs(&m) + runs(&n) + runs(&k)
}
