//! Slices: one result of a region, by the region's own instructions, from the other results where they are in memory.
//!
//! In: a region with several results, and which of them is wanted. Out: a map that makes it alone, with the arguments that it reads.
//! Always: the same bits. A value is taken from memory only where it was not rounded on the way there; what is computed is computed by the same
//! instructions; neither sums nor what a product delivers are computed again, nor quotients, which a driver may divide by a shorter way where only a half
//! type sees them.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_kernel::{Arg, Index, Inst, InstOp, Level, Region, Value};
use unigrad_scalar::{BinaryOp, UnaryOp};

/// A result made alone: the region, and for each of its arguments the argument of the whole one.
pub(super) struct Slice {
    pub(super) region: Region,
    pub(super) args: Vec<usize>,
}

/// What a value is in a slice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    No,
    Computed,
    Loaded,
}

/// The slice that makes what `wanted` is: an argument that the region writes. `None` where it would not be another kernel, or other bits.
pub(super) fn of(region: &Region, wanted: u32) -> Option<Slice> {
    let stores = || {
        region.insts.iter().filter_map(|inst| {
            let InstOp::Store { arg, index, value } = &inst.op else { return None };
            Some((*arg, index, *value))
        })
    };
    if stores().count() < 2 || stores().filter(|(arg, ..)| *arg == wanted).count() != 1 {
        return None;
    }
    let levels = region.levels();
    let (_, target, value) = stores().find(|(arg, ..)| *arg == wanted)?;
    let at = region.insts.iter().position(|inst| matches!(inst.op, InstOp::Store { arg, .. } if arg == wanted))?;
    if region.n_parallel < region.axes.len() && levels[at] != Level::Full || !target.dynamic.is_empty() {
        return None;
    }
    // What lies in memory as it was computed.
    let mut there: FxHashMap<Value, (u32, &Index)> = FxHashMap::default();
    for (arg, index, value) in stores().filter(|(arg, index, _)| *arg != wanted && index.dynamic.is_empty()) {
        let inst = &region.insts[value.index()];
        let is_exact = inst.dtype.compute() == inst.dtype || matches!(inst.op, InstOp::Cast(_));
        let is_alone = stores().filter(|(other, ..)| *other == arg).count() == 1;
        if is_exact && is_alone && region.args[arg as usize].dtype == inst.dtype {
            there.entry(value).or_insert((arg, index));
        }
    }
    let mut needed = vec![Needed::No; region.insts.len()];
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        if needed[value.index()] != Needed::No {
            continue;
        }
        needed[value.index()] = Needed::Computed;
        let inst = &region.insts[value.index()];
        // What is cheap to make from nothing need not be read.
        let is_leaf = matches!(inst.op, InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Load { .. });
        if !is_leaf && there.contains_key(&value) {
            needed[value.index()] = Needed::Loaded;
            continue;
        }
        match &inst.op {
            InstOp::Acc | InstOp::Reduce(..) | InstOp::ArgReduce(..) | InstOp::Bounded { .. } | InstOp::Store { .. } => return None,
            InstOp::Binary(BinaryOp::Div, ..) | InstOp::Unary(UnaryOp::Recip, _) => return None,
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Load { .. } | InstOp::Unary(..) => {}
            InstOp::Binary(..) | InstOp::Where(..) | InstOp::Cast(_) | InstOp::Bitcast(_) | InstOp::Philox { .. } => {}
        }
        inst.op.visit_values(|value| stack.push(value));
    }
    let mut slice = Builder { args: Vec::new(), insts: Vec::new(), renamed: vec![Value(0); region.insts.len()] };
    for (at, inst) in region.insts.iter().enumerate() {
        let op = match (needed[at], there.get(&Value(at as u32))) {
            (Needed::No, _) => continue,
            (Needed::Loaded, Some((arg, index))) => InstOp::Load { arg: slice.arg(*arg), index: (*index).clone(), mask: None },
            (Needed::Computed | Needed::Loaded, _) => slice.rename(inst.op.clone()),
        };
        slice.renamed[at] = Value(slice.insts.len() as u32);
        slice.insts.push(Inst { op, dtype: inst.dtype });
    }
    let op = InstOp::Store { arg: slice.arg(wanted), index: target.clone(), value: slice.renamed[value.index()] };
    slice.insts.push(Inst { op, dtype: region.insts[at].dtype });
    let Builder { args, insts, .. } = slice;
    let arg = |at: &u32| Arg { write: *at == wanted, ..region.args[*at as usize] };
    let region = Region {
        name: region.name.clone(),
        axes: region.axes.clone(),
        n_parallel: region.axes.len(),
        args: args.iter().map(arg).collect(),
        scalars: region.scalars.clone(),
        insts,
    };
    Some(Slice { region, args: args.iter().map(|arg| *arg as usize).collect() })
}

struct Builder {
    /// Of the whole region, by position in the slice.
    args: Vec<u32>,
    insts: Vec<Inst>,
    renamed: Vec<Value>,
}

impl Builder {
    fn arg(&mut self, of: u32) -> u32 {
        let at = self.args.iter().position(|arg| *arg == of).unwrap_or_else(|| {
            self.args.push(of);
            self.args.len() - 1
        });
        at as u32
    }

    fn rename(&mut self, mut op: InstOp) -> InstOp {
        if let Some((arg, _)) = op.access_mut() {
            let of = *arg;
            *arg = self.arg(of);
        }
        let new = |value: Value| self.renamed[value.index()];
        let index = |mut index: Index| {
            let dynamic: SmallVec<[(Value, i64); 1]> = index.dynamic.iter().map(|(value, stride)| (new(*value), *stride)).collect();
            index.dynamic = dynamic;
            index
        };
        match op {
            InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => op,
            InstOp::Load { arg, index: at, mask } => InstOp::Load { arg, index: index(at), mask: mask.map(new) },
            InstOp::Unary(unary, a) => InstOp::Unary(unary, new(a)),
            InstOp::Binary(binary, a, b) => InstOp::Binary(binary, new(a), new(b)),
            InstOp::Where(a, b, c) => InstOp::Where(new(a), new(b), new(c)),
            InstOp::Cast(a) => InstOp::Cast(new(a)),
            InstOp::Bitcast(a) => InstOp::Bitcast(new(a)),
            InstOp::Bounded { index, size, from_end, check } => InstOp::Bounded { index: new(index), size, from_end, check },
            InstOp::Philox { seed, offset, index, word } => {
                InstOp::Philox { seed: new(seed), offset: new(offset), index: new(index), word }
            }
            InstOp::Reduce(reduce, a) => InstOp::Reduce(reduce, new(a)),
            InstOp::ArgReduce(reduce, a) => InstOp::ArgReduce(reduce, new(a)),
            InstOp::Store { arg, index: at, value } => InstOp::Store { arg, index: index(at), value: new(value) },
        }
    }
}
