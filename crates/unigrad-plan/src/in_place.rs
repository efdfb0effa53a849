//! Updates in place, said in the kernel: an output that takes an input's memory over is one argument, read and written.
//!
//! In: a planned launch, and which inputs' memory outputs take. Out: the same launch with fewer arguments. A driver then need not
//! find out that two arguments share memory, and may load and store through one pointer.
//! Always: what runs a plan provides an output that takes an input's memory with that input's contents.

use crate::memory::BufferPlace;
use crate::plan::PlannedLaunch;
use rustc_hash::FxHashMap;
use unigrad_kernel::{Columns, Crossed, Kernel, Region, Summed};

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
        Kernel::Crossed(crossed) => return united_crossed(crossed, &args),
        Kernel::Summed(summed) => return united_summed(summed, &args),
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
    let United { kept, .. } = united_region(region, |read, write| (0..instances).all(|i| at(i, read) == at(i, write)));
    if kept.len() == n {
        return args;
    }
    let mut united = args[..first].to_vec();
    for instance in 0..instances {
        united.extend(kept.iter().map(|arg| args[first + instance * n + arg]));
    }
    united.extend(&args[first + instances * n..]);
    united
}

/// What has become of a region's arguments.
struct United {
    /// Those that are left, in order.
    kept: Vec<usize>,
    /// For every one there was: the one that it is now.
    now: Vec<u32>,
}

/// Joins arguments of a region: one that is read with the one that is written in the `same` memory.
fn united_region(region: &mut Region, same: impl Fn(usize, usize) -> bool) -> United {
    let n = region.args.len();
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
    let mut position = vec![0u32; n];
    kept.iter().enumerate().for_each(|(new, old)| position[*old] = new as u32);
    let now: Vec<u32> = target.into_iter().map(|target| position[target]).collect();
    if kept.len() < n {
        rename(region, |arg| now[arg as usize]);
        region.args = kept.iter().map(|arg| region.args[*arg]).collect();
    }
    United { kept, now }
}

/// As [`united`], each part by itself: what the rows read and a part of the columns overwrites stays an argument of the rows.
fn united_crossed(crossed: &mut Crossed, args: &[(BufferPlace, BufferPlace)]) -> Vec<(BufferPlace, BufferPlace)> {
    let n_rows = crossed.rows.args.len();
    let rows = united_region(&mut crossed.rows, |read, write| args[read].1 == args[write].1);
    let mut all: Vec<(BufferPlace, BufferPlace)> = rows.kept.iter().map(|arg| args[*arg]).collect();
    let mut first = n_rows;
    for columns in &mut crossed.columns {
        let places = columns.places(first);
        first += columns.n_own();
        all.extend(united_columns(columns, &places, args, |shared| rows.now[shared as usize]));
    }
    all
}

/// As [`united`], the product by itself, then the sums: what both read stays an argument of the product.
fn united_summed(summed: &mut Summed, args: &[(BufferPlace, BufferPlace)]) -> Vec<(BufferPlace, BufferPlace)> {
    let (places, n_product) = (summed.places(), summed.product.n_args());
    let mut kept: Vec<usize> = (0..n_product).collect();
    let mut now: Vec<u32> = (0..n_product as u32).collect();
    if let Some(region) = &mut summed.product.epilogue {
        // After the operands; there are no prologues.
        let of_region = united_region(region, |read, write| args[2 + read].1 == args[2 + write].1);
        kept = (0..2).chain(of_region.kept.iter().map(|arg| 2 + arg)).collect();
        now = (0..2).chain(of_region.now.iter().map(|arg| 2 + arg)).collect();
    }
    let mut all: Vec<(BufferPlace, BufferPlace)> = kept.into_iter().map(|arg| args[arg]).collect();
    all.extend(united_columns(&mut summed.sums, &places, args, |shared| now[shared as usize]));
    all
}

/// As [`united`], a region that shares arguments with what it goes with: its own that are left. `now`: what becomes of those that it shares.
fn united_columns(
    columns: &mut Columns,
    places: &[usize],
    args: &[(BufferPlace, BufferPlace)],
    now: impl Fn(u32) -> u32,
) -> Vec<(BufferPlace, BufferPlace)> {
    let United { kept, .. } = united_region(&mut columns.region, |read, write| args[places[read]].1 == args[places[write]].1);
    let own = kept.iter().filter(|arg| columns.shared[**arg].is_none()).map(|arg| args[places[*arg]]).collect();
    columns.shared = kept.iter().map(|arg| columns.shared[*arg].map(&now)).collect();
    own
}

fn rename(region: &mut Region, new: impl Fn(u32) -> u32) {
    for inst in &mut region.insts {
        if let Some((arg, _)) = inst.op.access_mut() {
            *arg = new(*arg);
        }
    }
}
