//! Where arguments begin: what a kernel reads of the arena begins near the first element that it reads, and ends with the last one.
//!
//! In: launches with their memory. Out: the same, with offsets moved out of the kernels' indices into the places of their arguments.
//! Why: kernels that read slices of one tensor, as the steps of a loop do, differ in nothing else, and are one kernel then, compiled once.
//! Always: an argument begins at a multiple of [`ALIGN`] bytes of what it was, and is read within what it was.
//! Never: moves what is written, or read at a computed index, or a tensor of the caller's, or what lies where something that is written begins: devices see
//! by its place and length that a result took an input's memory.

use crate::{memory::BufferPlace, plan::PlannedLaunch};
use unigrad_kernel::{Arg, Contract, Kernel, Region};

/// Bytes that the memory of an argument begins at a multiple of, as devices want it; vectors are not longer.
const ALIGN: i64 = 64;

pub(crate) fn rewrite(launches: &mut [PlannedLaunch]) {
    for launch in launches {
        let PlannedLaunch { kernel, args, .. } = launch;
        if let Kernel::Region(region) = kernel {
            of_region(region, args);
        } else if let Kernel::Contract(contract) = kernel {
            of_contract(contract, args);
        }
    }
}

/// The first and the last element that is read.
#[derive(Clone, Copy)]
struct Reach {
    first: i64,
    last: i64,
}

impl Reach {
    /// `offset` and all that these sizes and strides reach from there; `None` for no element at all.
    fn new(offset: i64, axes: impl Iterator<Item = (usize, i64)>) -> Option<Reach> {
        let mut reach = Reach { first: offset, last: offset };
        for (size, stride) in axes {
            let way = stride.checked_mul(i64::try_from(size).ok()?.checked_sub(1).filter(|steps| *steps >= 0)?)?;
            reach.first = reach.first.checked_add(way.min(0))?;
            reach.last = reach.last.checked_add(way.max(0))?;
        }
        Some(reach)
    }

    fn with(self, other: Reach) -> Reach {
        Reach { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// Has an argument begin later, and end with the last element; elements that it begins later by.
fn begin_later(arg: &mut Arg, place: &mut BufferPlace, reach: Reach) -> i64 {
    let BufferPlace::Arena(offset) = place else { return 0 };
    let size = arg.dtype.size() as i64;
    // A condition may keep elements beyond either end from being read.
    let moved = reach.first.max(0).saturating_mul(size) / ALIGN * ALIGN / size;
    let end = reach.last.saturating_add(1).min(arg.len as i64);
    if moved >= end || moved.saturating_mul(size) % ALIGN != 0 {
        return 0;
    }
    *offset += (moved * size) as usize;
    arg.len = (end - moved) as usize;
    moved
}

fn of_region(region: &mut Region, places: &mut [BufferPlace]) {
    // By argument; what is read in a way that is not known stays.
    let mut reaches: Vec<Option<Reach>> = vec![None; region.args.len()];
    let written = || region.args.iter().zip(&*places).filter(|(arg, _)| arg.write).map(|(_, place)| place);
    let mut stays: Vec<bool> = places.iter().map(|place| written().any(|written| written == place)).collect();
    for (arg, index) in region.insts.iter().filter_map(|inst| inst.op.access()) {
        let at = arg as usize;
        let axes = region.axes.iter().copied().zip(index.strides.iter().copied());
        match Reach::new(index.offset, axes).filter(|_| index.dynamic.is_empty()) {
            Some(one) => reaches[at] = Some(reaches[at].map_or(one, |all| all.with(one))),
            None => stays[at] = true,
        }
    }
    let mut moved = vec![0; region.args.len()];
    for (at, (arg, place)) in region.args.iter_mut().zip(places).enumerate() {
        if let (Some(reach), false) = (reaches[at], stays[at]) {
            moved[at] = begin_later(arg, place, reach);
        }
    }
    if moved.iter().all(|moved| *moved == 0) {
        return;
    }
    for (arg, index) in region.insts.iter_mut().filter_map(|inst| inst.op.access_mut()) {
        index.offset -= moved[*arg as usize];
    }
}

fn of_contract(contract: &mut Contract, places: &mut [BufferPlace]) {
    if let Some(region) = &mut contract.epilogue
        && let Some(places) = places.get_mut(2..)
    {
        of_region(region, places);
    }
    let Contract { batch, m, n, k, a, b, a_offset, b_offset, prologues, .. } = contract;
    let batch_of_a = batch.iter().map(|dim| (dim.size, dim.a));
    let batch_of_b = batch.iter().map(|dim| (dim.size, dim.b));
    let of_a = Reach::new(*a_offset, batch_of_a.chain(m.iter().map(|dim| (dim.size, dim.a))).chain(k.iter().map(|dim| (dim.size, dim.a))));
    let of_b = Reach::new(*b_offset, batch_of_b.chain(n.iter().map(|dim| (dim.size, dim.b))).chain(k.iter().map(|dim| (dim.size, dim.b))));
    let operands = [(a, a_offset, of_a), (b, b_offset, of_b)];
    for (((arg, offset, reach), prologue), place) in operands.into_iter().zip(prologues).zip(places) {
        // With a prologue, indices count what that makes.
        if let (Some(reach), None) = (reach, prologue) {
            *offset -= begin_later(arg, place, reach);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;
    use unigrad_graph::DType;
    use unigrad_kernel::{Index, Inst, InstOp, Value};

    fn region(loads: &[(i64, [i64; 2])], len: usize, dtype: DType) -> Region {
        let index = |offset, strides: [i64; 2]| Index { offset, strides: strides.as_slice().into(), dynamic: smallvec![] };
        let mut insts: Vec<Inst> = loads
            .iter()
            .map(|(offset, strides)| Inst { op: InstOp::Load { arg: 0, index: index(*offset, *strides), mask: None }, dtype })
            .collect();
        insts.push(Inst { op: InstOp::Store { arg: 1, index: index(0, [8, 1]), value: Value(0) }, dtype });
        let arg = |len, write| Arg { dtype, len, write };
        Region {
            name: "slice".to_owned(),
            axes: smallvec![4, 8],
            n_parallel: 2,
            args: vec![arg(len, false), arg(32, true)],
            scalars: Vec::new(),
            insts,
        }
    }

    #[test]
    fn kernels_of_slices_are_one() {
        let slice = |step: i64| {
            let mut region = region(&[(step * 32, [320, 1]), (step * 32 + 16, [320, 1])], 1280, DType::F32);
            let mut places = vec![BufferPlace::Arena(4096), BufferPlace::Arena(0)];
            of_region(&mut region, &mut places);
            (region, places)
        };
        let (first, at_first) = slice(0);
        assert_eq!(first.args[0].len, 3 * 320 + 16 + 8);
        for step in 0..10 {
            let (region, places) = slice(step);
            assert_eq!(region, first);
            assert_eq!(places, [BufferPlace::Arena(4096 + 128 * step as usize), at_first[1]]);
        }
    }

    #[test]
    fn places_stay_aligned_and_within_what_they_were() {
        for (dtype, offset) in [(DType::F32, 17), (DType::BF16, 33), (DType::F64, 9), (DType::U8, 65)] {
            let mut one = region(&[(offset, [8, 1])], 200, dtype);
            let mut places = vec![BufferPlace::Arena(256), BufferPlace::Arena(0)];
            of_region(&mut one, &mut places);
            let rest = one.insts.iter().find_map(|inst| inst.op.access().map(|(_, index)| index.offset)).unwrap();
            assert_eq!(rest, 1, "{dtype}");
            assert_eq!((places[0], one.args[0].len), (BufferPlace::Arena(256 + 64), 1 + 32), "{dtype}");
        }
    }

    #[test]
    fn what_is_not_known_or_not_the_arenas_stays() {
        let unchanged = |mut one: Region, place: BufferPlace| {
            let (before, mut places) = (one.clone(), vec![place, BufferPlace::Arena(0)]);
            of_region(&mut one, &mut places);
            assert_eq!((one, places[0]), (before, place));
        };
        let slice = region(&[(64, [8, 1])], 200, DType::F32);
        unchanged(slice.clone(), BufferPlace::External(0));
        unchanged(slice.clone(), BufferPlace::Output(0));
        let mut gathered = slice.clone();
        if let Some((_, index)) = gathered.insts[0].op.access_mut() {
            index.dynamic.push((Value(0), 1));
        }
        unchanged(gathered, BufferPlace::Arena(64));
        let mut in_place = slice.clone();
        in_place.args[0].write = true;
        unchanged(in_place, BufferPlace::Arena(64));
        // The result took the input's memory.
        unchanged(slice.clone(), BufferPlace::Arena(0));
        // Nothing is read of an empty domain.
        let mut empty = slice;
        empty.axes[0] = 0;
        unchanged(empty, BufferPlace::Arena(64));
    }
}
