//! Updates in place, said in the kernel: an output that takes an input's memory over is one argument, read and written.
//!
//! In: a planned launch, and which inputs' memory outputs take. Out: the same launch with fewer arguments. A driver then need not
//! find out that two arguments share memory, and may load and store through one pointer.
//! Always: what runs a plan provides an output that takes an input's memory with that input's contents.

use crate::memory::BufferPlace;
use crate::plan::PlannedLaunch;
use rustc_hash::FxHashMap;
use unigrad_kernel::{Kernel, Region};

/// Joins the arguments of a launch that are one memory. `heirs`: by input, the output that takes its memory.
pub(crate) fn unite(launch: &mut PlannedLaunch, heirs: &FxHashMap<u32, u32>) {
    let effective = |place: BufferPlace| match place {
        BufferPlace::External(input) => heirs.get(&input).map_or(place, |output| BufferPlace::Output(*output)),
        BufferPlace::Output(_) | BufferPlace::Arena(_) => place,
    };
    let PlannedLaunch { kernel, args, .. } = launch;
    *args = united(kernel, args.iter().map(|place| (*place, effective(*place))).collect()).into_iter().map(|(place, _)| place).collect();
}

/// The arguments that a kernel is left with, of these: each with the place that it is in the end.
fn united(kernel: &mut Kernel, args: Vec<(BufferPlace, BufferPlace)>) -> Vec<(BufferPlace, BufferPlace)> {
    let (region, first, instances) = match kernel {
        Kernel::Region(region) => (region, 0, 1),
        Kernel::Grouped(grouped) => (&mut grouped.region, 0, grouped.lens.len()),
        Kernel::Joined(joined) => {
            let mut rest = args;
            let mut kept = Vec::with_capacity(rest.len());
            for part in &mut joined.parts {
                let after = rest.split_off(part.n_args().min(rest.len()));
                kept.append(&mut united(part, rest));
                rest = after;
            }
            return kept;
        }
        Kernel::Contract(contract) => match &mut contract.epilogue {
            Some(region) => (&mut **region, 2, 1),
            None => return args,
        },
        // Their outputs never take an input's memory.
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => return args,
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => return args,
    };
    let n = region.args.len();
    let at = |instance: usize, arg: usize| args[first + instance * n + arg].1;
    let same = |read: usize, write: usize| (0..instances).all(|instance| at(instance, read) == at(instance, write));
    // For every argument: the one it becomes.
    let mut target: Vec<usize> = (0..n).collect();
    for read in 0..n {
        let writes = |write: &usize| {
            let (r, w) = (&region.args[read], &region.args[*write]);
            !r.write && w.write && r.dtype == w.dtype && r.len == w.len && r.len > 0 && same(read, *write)
        };
        if let Some(write) = (0..n).find(writes) {
            target[read] = write;
        }
    }
    let kept: Vec<usize> = (0..n).filter(|arg| target[*arg] == *arg).collect();
    if kept.len() == n {
        return args;
    }
    let mut position = vec![0u32; n];
    kept.iter().enumerate().for_each(|(new, old)| position[*old] = new as u32);
    rename(region, |arg| position[target[arg as usize]]);
    region.args = kept.iter().map(|arg| region.args[*arg]).collect();
    let mut united = args[..first].to_vec();
    for instance in 0..instances {
        united.extend(kept.iter().map(|arg| args[first + instance * n + arg]));
    }
    united.extend(&args[first + instances * n..]);
    united
}

fn rename(region: &mut Region, new: impl Fn(u32) -> u32) {
    for inst in &mut region.insts {
        if let Some((arg, _)) = inst.op.access_mut() {
            *arg = new(*arg);
        }
    }
}
