//! Memory: gives each intermediate of a plan an offset in one arena, and finds what may be overwritten in place.
//!
//! In: launches in order, with what each reads and writes; which inputs may be overwritten. Out: a place for every buffer, and the
//! arena's size.
//! Always: buffers alive at the same launch never overlap, but for an output that takes the place of an input that dies there and is
//! read at the very index that is written, and parts that lie in what they are copied to ([`crate::in_concatenation`]); what the user holds is never in the arena.
//! Never: talks to a device, reads tensor contents, or depends on hash order (plans must diff).
//! Checked by an oracle (`testing::memory`) on every plan that the op table and the fuzzer make. Not checked: gaps between plans.

use crate::arena::Arena;
use crate::group::writes;
use crate::in_concatenation::Inside;
use crate::ir::{Id, Ir, IrOp};
use crate::lower::Launch;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use unigrad_graph::{DType, UnaryOp};
use unigrad_kernel::{Contract, Index, Inst, InstOp, Kernel, Region, Summed, Value};
use unigrad_scalar::Definition;

/// Where a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BufferPlace {
    /// One of the plan's inputs.
    External(u32),
    /// One of its outputs, in memory of its own.
    Output(u32),
    /// At this byte of the arena.
    Arena(usize),
}

/// Alignment of arena offsets, in bytes.
pub(crate) const ALIGN: usize = 256;

pub(crate) struct Layout {
    pub(crate) place: FxHashMap<Id, BufferPlace>,
    pub(crate) arena: usize,
    /// For every output: the input whose memory it takes over.
    pub(crate) donated: Vec<Option<u32>>,
    /// By launch: whether it only copies what lies where it is wanted already.
    pub(crate) needless: Vec<bool>,
    /// Which nodes lie inside of others.
    pub(crate) inside: Inside,
}

/// Whether an output of the launch can take the memory of one of its inputs: every read of the input is at the index of the write.
pub(crate) fn in_step(kernel: &Kernel, read: usize, write: usize) -> bool {
    match kernel {
        Kernel::Region(region) => region_in_step(region, read as u32, write as u32),
        Kernel::Grouped(grouped) => {
            let n = grouped.region.args.len();
            read / n == write / n && region_in_step(&grouped.region, (read % n) as u32, (write % n) as u32)
        }
        Kernel::Joined(joined) => {
            let Some((part, first)) = joined.part_of(write) else { return false };
            read >= first && read < first + part.n_args() && in_step(part, read - first, write - first)
        }
        Kernel::Crossed(crossed) => {
            let Some((part, places, is_rows)) = crossed.writer(write) else { return false };
            let position = |arg: usize| places.iter().position(|place| *place == arg).map(|at| at as u32);
            let (Some(read_here), Some(write_here)) = (position(read), position(write)) else { return false };
            // The columns come after the rows, and in no order.
            let others = crossed.columns.iter().filter(|columns| columns.shared.contains(&Some(read as u32))).count();
            others == usize::from(!is_rows && read < crossed.rows.args.len()) && region_in_step(part, read_here, write_here)
        }
        Kernel::Contract(contract) => product_in_step(contract, read, write),
        Kernel::Summed(summed) => {
            let n_product = summed.product.n_args();
            if write < n_product {
                // The sums come after.
                let is_read_later = summed.sums.shared.contains(&Some(read as u32));
                return read < n_product && !is_read_later && product_in_step(&summed.product, read, write);
            }
            let places = summed.places();
            let position = |arg: usize| places.iter().position(|place| *place == arg).map(|at| at as u32);
            let (Some(read_here), Some(write_here)) = (position(read), position(write)) else { return false };
            read >= n_product && region_in_step(&summed.sums.region, read_here, write_here)
        }
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => false,
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => false,
    }
}

/// As [`in_step`], of a product: its operands, and what prologues read after the epilogue's arguments, are read all over.
fn product_in_step(contract: &Contract, read: usize, write: usize) -> bool {
    let Some(region) = contract.epilogue.as_deref().filter(|region| read < 2 + region.args.len()) else { return false };
    let (Some(read), Some(write)) = (read.checked_sub(2), write.checked_sub(2)) else { return false };
    region_in_step(region, read as u32, write as u32)
}

/// Arguments of a launch among which there may be some in whose place an output is written.
fn near(kernel: &Kernel, write: usize) -> Range<usize> {
    match kernel {
        Kernel::Grouped(grouped) => {
            let n = grouped.region.args.len();
            write / n * n..write / n * n + n
        }
        Kernel::Joined(joined) => match joined.part_of(write) {
            Some((part, first)) => {
                let near = near(part, write - first);
                near.start + first..near.end + first
            }
            None => 0..0,
        },
        Kernel::Region(_) | Kernel::Crossed(_) | Kernel::Contract(_) | Kernel::Summed(_) => 0..kernel.n_args(),
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::Scatter(_) => 0..kernel.n_args(),
        Kernel::ArgSort(_) | Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => 0..kernel.n_args(),
    }
}

/// Whether a product's epilogue takes the slope of GELU at this argument: a library that has a word for that reads the argument, and writes elsewhere.
fn is_slope_at(kernel: &Kernel, read: usize) -> bool {
    let (Kernel::Contract(contract) | Kernel::Summed(Summed { product: contract, .. })) = kernel else { return false };
    let (Some(region), Some(read), Some(slope)) = (&contract.epilogue, read.checked_sub(2), UnaryOp::GeluTanh.slope(false)) else {
        return false;
    };
    (0..region.insts.len() as u32).map(Value).any(|product| {
        let Some(&[Some(mut x), _, Some(_)]) = slope.arguments(product, |value| region.definition(value)).as_deref() else { return false };
        while let Definition::Same(below) = region.definition(x) {
            x = below;
        }
        matches!(&region.insts[x.index()].op, InstOp::Load { arg, .. } if *arg as usize == read)
    })
}

/// As `in_step`, for a region: one write of the output, at the index of every read of the input, and what was read is not used after
/// the written value is there (a driver may compute it right in the output's memory, and read an operand where it lies).
fn region_in_step(region: &Region, read: u32, write: u32) -> bool {
    let mut stored = None;
    for (at, inst) in region.insts.iter().enumerate() {
        if let InstOp::Store { arg, index, value } = &inst.op
            && *arg == write
            && stored.replace((at, index, value.index())).is_some()
        {
            return false;
        }
    }
    let Some((store, written, value)) = stored else { return false };
    // Another pass over the row would read what this one wrote.
    if region.insts[store..].iter().any(|inst| matches!(inst.op, InstOp::Reduce(..) | InstOp::ArgReduce(..))) {
        return false;
    }
    let loads: Vec<usize> =
        (0..region.insts.len()).filter(|i| matches!(&region.insts[*i].op, InstOp::Load { arg, .. } if *arg == read)).collect();
    // A row's value is stored while other threads may still walk through the row: what they load is not its element.
    let levels = region.levels();
    if loads.iter().any(|i| levels[*i] > levels[store]) {
        return false;
    }
    let at_the_write = loads.iter().all(|i| {
        let access = region.insts[*i].op.access();
        access.is_some_and(|(_, index)| index == written && index.dynamic.is_empty() && *i <= value)
    });
    let done_before = region.insts.iter().enumerate().all(|(at, inst)| {
        let mut uses = false;
        inst.op.visit_values(|used| uses |= loads.contains(&used.index()));
        !uses || at <= value || at == store
    });
    let (from, to) = (region.args[read as usize].dtype, region.args[write as usize].dtype);
    // Several threads on a row may read what one of them writes: a driver orders them where both are one argument, which has one dtype.
    let alone = from == to || !region.has_reductions();
    let same_size = alone && from.size() == to.size();
    same_size && region.args[read as usize].len == region.args[write as usize].len && at_the_write && done_before
}

/// Whether the launch is a copy, and what it copies is needed no more, or only by the next launch that writes the copy, and there only where
/// the same element is written.
fn ends_with(launches: &[Launch], at: usize, last_use: &FxHashMap<Id, usize>) -> bool {
    let [from, to] = launches[at].args[..] else { return false };
    let Some(last) = last_use.get(&from).filter(|_| launches[at].is_copy) else { return false };
    if *last == at {
        return true;
    }
    let next = (at + 1..launches.len()).find(|next| writes(&launches[*next]).any(|id| id == to));
    let Some(Launch { kernel: Kernel::Region(region), args, .. }) = next.filter(|next| next == last).map(|next| &launches[next]) else {
        return false;
    };
    let position = |id: Id| args.iter().position(|arg| *arg == id).map(|arg| arg as u32);
    let (Some(read), Some(write)) = (position(from), position(to)) else { return false };
    let stores: Vec<(usize, usize, &Index)> = region.insts.iter().enumerate().filter_map(|(at, inst)| stored(at, inst, write)).collect();
    // Each element that is read is one that the same point writes, and is not used any more once what is written there is computed.
    region.insts.iter().enumerate().all(|(load, inst)| {
        let Some((_, index)) = inst.op.access().filter(|(arg, _)| *arg == read) else { return true };
        let Some((store, value, _)) = stores.iter().find(|(_, _, written)| *written == index) else { return false };
        let uses = |inst: &Inst| {
            let mut uses = false;
            inst.op.visit_values(|value| uses |= value.index() == load);
            uses
        };
        let last = region.insts.iter().rposition(uses);
        last.is_none_or(|last| last <= *value || last == *store)
    })
}

/// Where a store to an argument is, the value that it stores, and at which index.
fn stored(at: usize, inst: &Inst, write: u32) -> Option<(usize, usize, &Index)> {
    let InstOp::Store { arg, index, value } = &inst.op else { return None };
    (*arg == write).then_some((at, value.index(), index))
}

/// The first launch after all that can find an index out of range, as far as an earlier one has not looked at the same indices.
fn first_certain(launches: &[Launch]) -> usize {
    let mut looked_at: FxHashSet<Id> = FxHashSet::default();
    let mut first = 0;
    for (at, launch) in launches.iter().enumerate() {
        let args = launch.kernel.args();
        let indices = || launch.args.iter().zip(&args).filter(|(_, arg)| !arg.write && arg.dtype == DType::I64).map(|(id, _)| *id);
        let is_known = matches!(launch.kernel, Kernel::Scatter(_)) && indices().any(|id| looked_at.contains(&id));
        let may_fail = !is_known && checks_data(&launch.kernel) && launch.kernel.flows().iter().any(|flow| flow.checks != 0);
        if may_fail {
            first = at + 1;
            looked_at.extend(indices());
        }
    }
    first
}

/// Whether a kernel checks an index that is not a run-time scalar, which is checked before the plan runs.
fn checks_data(kernel: &Kernel) -> bool {
    let of = |region: &Region| {
        region.insts.iter().any(|inst| {
            let InstOp::Bounded { index, .. } = inst.op else { return false };
            !matches!(region.insts[index.index()].op, InstOp::Scalar(_))
        })
    };
    match kernel {
        Kernel::Region(region) => of(region),
        Kernel::Grouped(grouped) => of(&grouped.region),
        Kernel::Joined(joined) => joined.parts.iter().any(checks_data),
        Kernel::Crossed(crossed) => crossed.parts().into_iter().any(|(region, ..)| of(region)),
        Kernel::Contract(contract) => contract.epilogue.as_deref().is_some_and(of),
        Kernel::Summed(summed) => summed.product.epilogue.as_deref().is_some_and(of) || of(&summed.sums.region),
        Kernel::Scatter(_) => true,
        Kernel::Attention(_) | Kernel::AttentionGrad(_) | Kernel::Scan(_) | Kernel::ArgSort(_) => false,
        Kernel::TopK(_) | Kernel::MaxPool(_) | Kernel::Custom(_) => false,
    }
}

/// `replaced`: for every output, the input that it is assigned over, if it is an assignment. That input's memory is lent to this output alone: if
/// the evaluation fails, the old value is still there. `errors_at_once`: see [`crate::Options`]; `apart`: products leave the argument of a slope as it is.
pub(crate) fn assign(
    ir: &Ir,
    launches: &[Launch],
    outputs: &[Id],
    donatable: &[bool],
    replaced: &[Option<u32>],
    (errors_at_once, apart): (bool, bool),
) -> Result<Layout, String> {
    let certain = if errors_at_once { first_certain(launches) } else { 0 };
    let is_replaced: FxHashSet<u32> = replaced.iter().flatten().copied().collect();
    let mut place: FxHashMap<Id, BufferPlace> = FxHashMap::default();
    let mut donated = vec![None; outputs.len()];
    let mut output_of: FxHashMap<Id, u32> = FxHashMap::default();
    for (i, id) in outputs.iter().enumerate() {
        output_of.entry(*id).or_insert(i as u32);
    }
    let inside = Inside::find(ir, launches, &outputs.iter().copied().collect())?;
    let last_use = inside.last_use(launches);
    // What is only made to be copied is made where the copy is to be.
    let mut copied_to: FxHashMap<Id, Id> = FxHashMap::default();
    for (at, launch) in launches.iter().enumerate().filter(|(_, launch)| launch.is_copy) {
        if let [from, to] = launch.args[..]
            && ends_with(launches, at, &last_use)
            && !output_of.contains_key(&from)
        {
            copied_to.insert(from, to);
        }
    }
    let output_for = |mut id: Id| {
        while let Some(to) = copied_to.get(&id) {
            id = *to;
        }
        output_of.get(&id).copied()
    };
    let mut needless: Vec<bool> = (0..launches.len()).map(|at| inside.needless.contains(&at)).collect();
    let mut taken: FxHashSet<u32> = FxHashSet::default();
    let mut arena = Arena::default();
    for (at, launch) in launches.iter().enumerate() {
        let args = launch.kernel.args();
        let mut times: FxHashMap<Id, u32> = FxHashMap::default();
        launch.args.iter().for_each(|id| *times.entry(*id).or_insert(0) += 1);
        for (write, id) in launch.args.iter().enumerate().filter(|(i, _)| args[*i].write) {
            if place.contains_key(id) {
                continue;
            }
            let (outer, offset) = inside.place(*id);
            if outer != *id {
                let begin = match place.get(&outer) {
                    Some(BufferPlace::Arena(begin)) => *begin,
                    Some(other) => return Err(ir.impossible(outer, format_args!("parts lie in it, and it is at {other:?}"))),
                    None => {
                        let last = *last_use.get(&outer).ok_or_else(|| ir.impossible(outer, "parts lie in it, and no launch uses it"))?;
                        let begin = arena.take(outer, ir.bytes(outer)?.div_ceil(ALIGN) * ALIGN, last);
                        place.insert(outer, BufferPlace::Arena(begin));
                        begin
                    }
                };
                place.insert(*id, BufferPlace::Arena(begin + offset));
                continue;
            }
            let output = output_for(*id);
            if let (true, Some(output), Some(from)) = (launch.is_copy, output, launch.args.first())
                && place.get(from) == Some(&BufferPlace::Output(output))
            {
                needless[at] = true;
                place.insert(*id, BufferPlace::Output(output));
                continue;
            }
            // An input that dies here and is read in step can lend its place: in a group, one of the same instance.
            let heirs = near(&launch.kernel, write).map(|read| (read, &launch.args[read])).filter(|(read, other)| {
                !args[*read].write
                    && (last_use.get(other) == Some(&at) || ends_with(launches, at, &last_use))
                    && times.get(other) == Some(&1)
                    && in_step(&launch.kernel, *read, write)
                    && !(apart && is_slope_at(&launch.kernel, *read))
            });
            let heirs: Vec<Id> = heirs.map(|(_, other)| *other).collect();
            if let Some(output) = output {
                let donor = heirs.iter().find_map(|other| {
                    let IrOp::External(input) = ir.node(*other).op else { return None };
                    let own = replaced[output as usize];
                    // An assignment writes the old value again where an index is out of range.
                    let may = own == Some(input) || (own.is_none() && !is_replaced.contains(&input) && at >= certain);
                    (may && donatable[input as usize] && taken.insert(input)).then_some(input)
                });
                donated[output as usize] = donor;
                needless[at] = launch.is_copy && donor.is_some();
                place.insert(*id, BufferPlace::Output(output));
                continue;
            }
            let wanted = ir.bytes(*id)?.div_ceil(ALIGN) * ALIGN;
            let last = *last_use.get(id).ok_or_else(|| ir.impossible(*id, "a launch writes it, and no launch uses it"))?;
            if let Some(offset) = heirs.iter().find_map(|other| arena.inherit(*other, *id, wanted, last)) {
                needless[at] = launch.is_copy;
                place.insert(*id, BufferPlace::Arena(offset));
                continue;
            }
            if wanted == 0 {
                place.insert(*id, BufferPlace::Arena(0));
                continue;
            }
            place.insert(*id, BufferPlace::Arena(arena.take(*id, wanted, last)));
        }
        arena.end(at);
    }
    for (id, node) in ir.nodes.iter().enumerate() {
        if let IrOp::External(input) = node.op {
            place.insert(id as Id, BufferPlace::External(input));
        } else if ir.numel(id as Id) == 0 {
            // Nothing writes it: a concatenation of nothing, say.
            place.entry(id as Id).or_insert(BufferPlace::Arena(0));
        }
    }
    Ok(Layout { place, arena: arena.bytes, donated, needless, inside })
}
