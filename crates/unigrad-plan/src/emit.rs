//! From graph nodes to a region's program, by pulling: the value of a node at given coordinates is made from the values of its
//! inputs at theirs, until something that is stored is reached and loaded.
//!
//! In: the nodes a kernel stores, the domain, and which nodes are loaded instead of computed. Out: instructions.
//! Always: one instruction per value and place (shared parts are computed once); indices are in bounds where their mask holds.
//! Never: decides what is fused ([`crate::fuse`] has), or recurses deeper than fusion's limit on a chain.

use crate::index::{Coords, Idx, Unflatten, flatten, unflatten};
use crate::ir::{Id, Ir, IrOp};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unigrad_graph::{BinaryOp, DType, Literal, Op, PadAxis, Shape, UnaryOp};
use unigrad_kernel::{Arg, Index, Inst, InstOp, Level, Region, Value};

/// An axis of the domain while it is being found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    pub(crate) size: usize,
    pub(crate) reduce: bool,
}

/// Why emission stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Begin again with this axis in two parts.
    Split { axis: usize, inner: usize },
    /// A mistake of the compiler.
    Bug(String),
}

/// What a kernel is made of.
pub(crate) struct Task<'a> {
    pub(crate) ir: &'a Ir,
    /// Nodes that are in memory when the kernel runs.
    pub(crate) stored: &'a FxHashSet<Id>,
    /// Nodes that this kernel computes, and so never loads; reductions among them run over the domain's reduce axes.
    pub(crate) inside: &'a FxHashSet<Id>,
    /// The node whose value the enclosing kernel delivers.
    pub(crate) acc: Option<Id>,
    /// What it writes.
    pub(crate) stores: &'a [Store],
    /// Whether the domain's axes may be split for the views' sake; if not, indices are divided at run time.
    pub(crate) may_split: bool,
}

/// One thing a kernel writes.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) node: Id,
    /// Once per row, or at every point.
    pub(crate) level: Level,
    /// As a part of another node: which, and where the part begins along each axis.
    pub(crate) into: Option<(Id, Shape)>,
}

/// A finished region: the program with its buffers and run-time scalars by node and slot.
pub(crate) struct Emitted {
    pub(crate) region: Region,
    /// The node of every argument.
    pub(crate) args: Vec<Id>,
    /// The plan's scalar of every region scalar.
    pub(crate) scalars: Vec<u32>,
    /// The domain, split as the views needed it, before collapsing.
    pub(crate) axes: Vec<Axis>,
}

struct Emitter<'a> {
    task: &'a Task<'a>,
    axes: Vec<Axis>,
    sizes: Vec<usize>,
    insts: Vec<Inst>,
    known: FxHashMap<Inst, Value>,
    memo: FxHashMap<(Id, Coords, Option<Value>), Value>,
    args: Vec<Id>,
    arg_of: FxHashMap<Id, u32>,
    written: FxHashSet<Id>,
    scalars: Vec<u32>,
}

/// Emits the kernel over these axes, splitting them as needed.
pub(crate) fn emit(task: &Task<'_>, name: String, mut axes: Vec<Axis>) -> Result<Emitted, String> {
    loop {
        let mut emitter = Emitter::new(task, axes.clone());
        match emitter.run() {
            Ok(()) => return Ok(emitter.finish(name)),
            Err(Stop::Split { axis, inner }) => split_axis(&mut axes, axis, inner),
            Err(Stop::Bug(bug)) => return Err(format!("{name}: {bug}")),
        }
    }
}

/// Makes two axes of one.
pub(crate) fn split_axis(axes: &mut Vec<Axis>, axis: usize, inner: usize) {
    let Axis { size, reduce } = axes[axis];
    axes[axis] = Axis { size: size / inner, reduce };
    axes.insert(axis + 1, Axis { size: inner, reduce });
}

impl<'a> Emitter<'a> {
    fn new(task: &'a Task<'a>, axes: Vec<Axis>) -> Emitter<'a> {
        let sizes = axes.iter().map(|axis| axis.size).collect();
        Emitter {
            task,
            axes,
            sizes,
            insts: Vec::new(),
            known: FxHashMap::default(),
            memo: FxHashMap::default(),
            args: Vec::new(),
            arg_of: FxHashMap::default(),
            written: FxHashSet::default(),
            scalars: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<(), Stop> {
        for Store { node, level, into } in self.task.stores {
            let mut coords = self.home(*node, *level)?;
            let value = if into.is_some() { self.pull(*node, &coords, None)? } else { self.compute(*node, &coords, None)? };
            let mut target = *node;
            if let Some((whole, start)) = into {
                target = *whole;
                coords.iter_mut().zip(start).for_each(|(coord, start)| *coord = std::mem::take(coord).plus_const(*start as i64));
            }
            let index = self.index(&flatten(&coords, &self.task.ir.node(target).shape));
            let arg = self.arg(target);
            self.written.insert(target);
            let dtype = self.task.ir.node(*node).dtype;
            self.insts.push(Inst { op: InstOp::Store { arg, index, value }, dtype });
        }
        Ok(())
    }

    /// The coordinates at which a node of the kernel is evaluated: its elements in the domain's order.
    fn home(&mut self, node: Id, level: Level) -> Result<Coords, Stop> {
        let mut linear = Idx::default();
        let mut stride = 1;
        for (axis, Axis { size, reduce }) in self.axes.iter().enumerate().rev() {
            if level == Level::Full || !reduce {
                linear = linear.plus(&Idx::axis(axis).times(stride));
                stride *= *size as i64;
            }
        }
        // An axis of size 1 has only index 0; leaving it out keeps coordinates canonical.
        linear.terms.retain(|(axis, _)| self.sizes[*axis as usize] != 1);
        let shape = self.task.ir.node(node).shape.clone();
        self.unflatten(&linear, &shape)
    }

    fn unflatten(&mut self, linear: &Idx, shape: &[usize]) -> Result<Coords, Stop> {
        match unflatten(linear, shape, &self.sizes) {
            Unflatten::Coords(coords) => Ok(coords),
            Unflatten::Split { axis, inner } if self.task.may_split => Err(Stop::Split { axis, inner }),
            Unflatten::Split { .. } | Unflatten::Divide => {
                let mut rest = self.materialize(linear);
                let mut coords: Coords = SmallVec::from_elem(Idx::default(), shape.len());
                for (d, size) in shape.iter().enumerate().rev() {
                    if shape[..d].iter().all(|s| *s == 1) {
                        coords[d] = Idx::value(rest);
                        break;
                    }
                    let size = self.int(*size as i64);
                    coords[d] = Idx::value(self.inst(InstOp::Binary(BinaryOp::Rem, rest, size), DType::I64));
                    rest = self.inst(InstOp::Binary(BinaryOp::IDiv, rest, size), DType::I64);
                }
                Ok(coords)
            }
        }
    }

    fn inst(&mut self, op: InstOp, dtype: DType) -> Value {
        let inst = Inst { op, dtype };
        if let Some(value) = self.known.get(&inst) {
            return *value;
        }
        let value = Value(self.insts.len() as u32);
        self.insts.push(inst.clone());
        self.known.insert(inst, value);
        value
    }

    fn literal(&mut self, value: Literal) -> Value {
        self.inst(InstOp::Const(value), value.dtype())
    }

    fn int(&mut self, value: i64) -> Value {
        self.literal(Literal::int(DType::I64, value))
    }

    /// An index expression as an `I64` value.
    fn materialize(&mut self, idx: &Idx) -> Value {
        let mut parts: Vec<(Value, i64)> = Vec::new();
        for (axis, c) in &idx.terms {
            parts.push((self.inst(InstOp::AxisIndex(*axis), DType::I64), *c));
        }
        parts.extend(idx.dynamic.iter().copied());
        let mut sum = None;
        for (value, c) in parts {
            let term = if c == 1 {
                value
            } else {
                let factor = self.int(c);
                self.inst(InstOp::Binary(BinaryOp::Mul, value, factor), DType::I64)
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.inst(InstOp::Binary(BinaryOp::Add, sum, term), DType::I64),
            });
        }
        match sum {
            None => self.int(idx.offset),
            Some(sum) if idx.offset == 0 => sum,
            Some(sum) => {
                let offset = self.int(idx.offset);
                self.inst(InstOp::Binary(BinaryOp::Add, sum, offset), DType::I64)
            }
        }
    }

    fn index(&self, idx: &Idx) -> Index {
        let mut strides = SmallVec::from_elem(0, self.axes.len());
        for (axis, c) in &idx.terms {
            strides[*axis as usize] = *c;
        }
        Index { offset: idx.offset, strides, dynamic: idx.dynamic.clone() }
    }

    fn arg(&mut self, node: Id) -> u32 {
        *self.arg_of.entry(node).or_insert_with(|| {
            self.args.push(node);
            self.args.len() as u32 - 1
        })
    }

    fn scalar(&mut self, slot: u32, dtype: DType) -> Value {
        let position = self.scalars.iter().position(|s| *s == slot).unwrap_or_else(|| {
            self.scalars.push(slot);
            self.scalars.len() - 1
        });
        self.inst(InstOp::Scalar(position as u32), dtype)
    }

    fn and(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => Some(self.inst(InstOp::Binary(BinaryOp::And, a, b), DType::Bool)),
            (a, b) => a.or(b),
        }
    }

    /// `0 <= idx < size` as far as it is not certain already.
    fn within(&mut self, idx: &Idx, size: usize) -> Option<Value> {
        let range = idx.range(&self.sizes);
        let (below, above) = match range {
            Some((min, max)) => (min < 0, max >= size as i64),
            None => (true, true),
        };
        if !below && !above {
            return None;
        }
        let value = self.materialize(idx);
        let low = below.then(|| {
            let zero = self.int(0);
            self.inst(InstOp::Binary(BinaryOp::Ge, value, zero), DType::Bool)
        });
        let high = above.then(|| {
            let end = self.int(size as i64);
            self.inst(InstOp::Binary(BinaryOp::Lt, value, end), DType::Bool)
        });
        self.and(low, high)
    }

    /// The value of a node at coordinates; loaded if it is in memory.
    fn pull(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Result<Value, Stop> {
        if !self.task.inside.contains(&node) && self.task.stored.contains(&node) {
            let n = self.task.ir.node(node);
            let (linear, dtype) = (flatten(coords, &n.shape), n.dtype);
            let arg = self.arg(node);
            let index = self.index(&linear);
            return Ok(self.inst(InstOp::Load { arg, index, mask }, dtype));
        }
        self.compute(node, coords, mask)
    }

    fn compute(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Result<Value, Stop> {
        if self.task.acc == Some(node) {
            return Ok(self.inst(InstOp::Acc, self.task.ir.node(node).dtype.compute()));
        }
        let key = (node, coords.clone(), mask);
        if let Some(value) = self.memo.get(&key) {
            return Ok(*value);
        }
        let value = self.compute_new(node, coords, mask)?;
        self.memo.insert(key, value);
        Ok(value)
    }

    fn compute_new(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Result<Value, Stop> {
        let ir = self.task.ir;
        let n = ir.node(node);
        let input = |i: usize| n.inputs[i];
        let shape_of = |i: usize| &ir.node(n.inputs[i]).shape;
        let op = match &n.op {
            IrOp::External(_) => return Err(Stop::Bug(format!("input %{node} is not in memory"))),
            IrOp::Scalar(slot) => return Ok(self.scalar(*slot, n.dtype)),
            IrOp::Barrier(_) => return self.pull(input(0), coords, mask),
            IrOp::Op(op) => op,
        };
        Ok(match op {
            Op::Const(value) => self.literal(*value),
            Op::Iota { axis } => {
                let index = self.materialize(&coords[*axis]);
                if n.dtype == DType::I64 { index } else { self.inst(InstOp::Cast(index), n.dtype) }
            }
            Op::Random { word } => {
                let none = Coords::new();
                let seed = self.pull(input(0), &none, None)?;
                let offset = self.pull(input(1), &none, None)?;
                let index = self.materialize(&flatten(coords, &n.shape));
                self.inst(InstOp::Philox { seed, offset, index, word: *word }, DType::U32)
            }
            Op::Unary(unary) => {
                let x = self.pull(input(0), coords, mask)?;
                self.inst(InstOp::Unary(*unary, x), n.dtype)
            }
            Op::Binary(binary) => {
                let a = self.pull(input(0), coords, mask)?;
                let b = self.pull(input(1), coords, mask)?;
                self.inst(InstOp::Binary(*binary, a, b), n.dtype)
            }
            Op::Where => {
                let condition = self.pull(input(0), coords, mask)?;
                let yes = self.pull(input(1), coords, mask)?;
                let no = self.pull(input(2), coords, mask)?;
                self.inst(InstOp::Where(condition, yes, no), n.dtype)
            }
            Op::Cast => {
                let x = self.pull(input(0), coords, mask)?;
                self.inst(InstOp::Cast(x), n.dtype)
            }
            Op::Bitcast => {
                let x = self.pull(input(0), coords, mask)?;
                self.inst(InstOp::Bitcast(x), n.dtype)
            }
            Op::Bounded { size } => {
                let index = self.pull(input(0), coords, mask)?;
                self.bounded(index, *size, mask)
            }
            Op::Reshape => {
                let linear = flatten(coords, &n.shape);
                let coords = self.unflatten(&linear, shape_of(0))?;
                self.pull(input(0), &coords, mask)?
            }
            Op::Permute(perm) => {
                let mut from: Coords = SmallVec::from_elem(Idx::default(), perm.len());
                perm.iter().zip(coords).for_each(|(p, coord)| from[usize::from(*p)] = coord.clone());
                self.pull(input(0), &from, mask)?
            }
            Op::Expand => {
                let lead = coords.len() - shape_of(0).len();
                let keep = |(size, coord): (&usize, &Idx)| if *size == 1 { Idx::default() } else { coord.clone() };
                let from: Coords = shape_of(0).iter().zip(&coords[lead..]).map(keep).collect();
                self.pull(input(0), &from, mask)?
            }
            Op::Slice(axes) => {
                let at = |(axis, coord): (&unigrad_graph::SliceAxis, &Idx)| coord.clone().times(axis.step).plus_const(axis.start as i64);
                let from: Coords = axes.iter().zip(coords).map(at).collect();
                self.pull(input(0), &from, mask)?
            }
            Op::Pad(axes, fill) => self.pad(input(0), axes, *fill, coords, mask)?,
            Op::Concat { axis } => {
                let mut start = 0;
                let mut result: Option<Value> = None;
                for part in &n.inputs {
                    let size = ir.node(*part).shape[*axis];
                    let mut from = coords.clone();
                    from[*axis] = from[*axis].clone().plus_const(-start);
                    start += size as i64;
                    let here = self.within(&from[*axis].clone(), size);
                    let all = self.and(mask, here);
                    if size == 0 {
                        continue;
                    }
                    let value = self.pull(*part, &from, all)?;
                    result = Some(match (result, here) {
                        (Some(result), Some(here)) => self.inst(InstOp::Where(here, value, result), n.dtype),
                        _ => value,
                    });
                }
                match result {
                    Some(value) => value,
                    None => self.literal(Literal::zero(n.dtype)),
                }
            }
            Op::Window { axis, step, dilation, .. } => {
                let mut from: Coords = coords[..coords.len() - 1].into();
                let inner = coords[coords.len() - 1].clone().times(*dilation as i64);
                from[*axis] = from[*axis].clone().times(*step as i64).plus(&inner);
                self.pull(input(0), &from, mask)?
            }
            Op::DynSlice { axis } => {
                let start = self.pull(input(1), &Coords::new(), None)?;
                let room = shape_of(0)[*axis] - n.shape[*axis] + 1;
                let start = self.bounded(start, room, None);
                let mut from = coords.clone();
                from[*axis] = from[*axis].clone().plus(&Idx::value(start));
                self.pull(input(0), &from, mask)?
            }
            Op::DynUpdate { axis } => {
                let size = shape_of(1)[*axis];
                let start = self.pull(input(2), &Coords::new(), None)?;
                let start = self.bounded(start, n.shape[*axis] - size + 1, None);
                let mut from = coords.clone();
                from[*axis] = from[*axis].clone().plus(&Idx::value(start).times(-1));
                let here = self.within(&from[*axis].clone(), size);
                let all = self.and(mask, here);
                let base = self.pull(input(0), coords, mask)?;
                if size == 0 {
                    return Ok(base);
                }
                let update = self.pull(input(1), &from, all)?;
                match here {
                    Some(here) => self.inst(InstOp::Where(here, update, base), n.dtype),
                    None => update,
                }
            }
            Op::Gather { axis } => {
                let index = self.pull(input(1), coords, mask)?;
                let index = self.bounded(index, shape_of(0)[*axis], mask);
                let mut from = coords.clone();
                from[*axis] = Idx::value(index);
                self.pull(input(0), &from, mask)?
            }
            Op::Reduce(reduce, _) => {
                let from = self.home(input(0), Level::Full)?;
                let x = self.pull(input(0), &from, None)?;
                self.inst(InstOp::Reduce(*reduce, x), n.dtype)
            }
            Op::ArgReduce(reduce, _) => {
                let from = self.home(input(0), Level::Full)?;
                let x = self.pull(input(0), &from, None)?;
                self.inst(InstOp::ArgReduce(*reduce, x), DType::I64)
            }
            other => return Err(Stop::Bug(format!("{} is not a part of a region", other.name()))),
        })
    }

    /// A checked index. Where the mask is false the index may be anything, so it is replaced by 0 first.
    fn bounded(&mut self, index: Value, size: usize, mask: Option<Value>) -> Value {
        let index = match mask {
            None => index,
            Some(mask) => {
                let zero = self.int(0);
                self.inst(InstOp::Where(mask, index, zero), DType::I64)
            }
        };
        self.inst(InstOp::Bounded { index, size: size as i64 }, DType::I64)
    }

    fn pad(&mut self, x: Id, axes: &[PadAxis], fill: Literal, coords: &Coords, mask: Option<Value>) -> Result<Value, Stop> {
        let shape = self.task.ir.node(x).shape.clone();
        if shape.contains(&0) {
            return Ok(self.literal(fill));
        }
        let mut here: Option<Value> = None;
        let mut from = Coords::new();
        for ((axis, coord), size) in axes.iter().zip(coords).zip(&shape) {
            let mut at = coord.clone().plus_const(-(axis.lo as i64));
            if *axis == PadAxis::default() {
                from.push(at);
                continue;
            }
            if axis.interior > 0 {
                let step = axis.interior as i64 + 1;
                let position = self.materialize(&at);
                let (step, zero) = (self.int(step), self.int(0));
                let rest = self.inst(InstOp::Binary(BinaryOp::Rem, position, step), DType::I64);
                let on = self.inst(InstOp::Binary(BinaryOp::Eq, rest, zero), DType::Bool);
                here = self.and(here, Some(on));
                at = Idx::value(self.inst(InstOp::Binary(BinaryOp::IDiv, position, step), DType::I64));
            }
            let inside = self.within(&at, *size);
            here = self.and(here, inside);
            from.push(at);
        }
        let all = self.and(mask, here);
        let value = self.pull(x, &from, all)?;
        let Some(here) = here else { return Ok(value) };
        // A masked load is zero outside already.
        let is_masked_load = matches!(&self.insts[value.index()].op, InstOp::Load { mask: Some(m), .. } if Some(*m) == all);
        if fill == Literal::zero(fill.dtype()) && is_masked_load {
            return Ok(value);
        }
        let fill = self.literal(fill);
        let dtype = self.insts[value.index()].dtype;
        Ok(self.inst(InstOp::Where(here, value, fill), dtype))
    }

    fn finish(self, name: String) -> Emitted {
        let Emitter { task, axes, insts, args, scalars, written, .. } = self;
        let node = |id: &Id| task.ir.node(*id);
        // Parallel axes first.
        let order: Vec<usize> = (0..axes.len()).filter(|a| !axes[*a].reduce).chain((0..axes.len()).filter(|a| axes[*a].reduce)).collect();
        let mut position = vec![0u32; axes.len()];
        order.iter().enumerate().for_each(|(new, old)| position[*old] = new as u32);
        let reorder = |index: &mut Index| index.strides = order.iter().map(|old| index.strides[*old]).collect();
        let mut insts = insts;
        for inst in &mut insts {
            match &mut inst.op {
                InstOp::Load { index, .. } | InstOp::Store { index, .. } => reorder(index),
                InstOp::AxisIndex(axis) => *axis = position[*axis as usize],
                _ => {}
            }
        }
        let dtype_of = |slot: &u32| {
            let scalar = |n: &&crate::ir::IrNode| matches!(n.op, IrOp::Scalar(s) if s == *slot);
            task.ir.nodes.iter().find(scalar).map_or(DType::F32, |n| n.dtype)
        };
        let region = Region {
            name,
            axes: order.iter().map(|a| axes[*a].size).collect(),
            n_parallel: axes.iter().filter(|a| !a.reduce).count(),
            args: args.iter().map(|id| Arg { dtype: node(id).dtype, len: task.ir.numel(*id), write: written.contains(id) }).collect(),
            scalars: scalars.iter().map(dtype_of).collect(),
            insts,
        };
        Emitted { region: collapse(prune(region)), args, scalars, axes }
    }
}

/// Drops instructions that nothing uses.
fn prune(mut region: Region) -> Region {
    let mut used = vec![false; region.insts.len()];
    for (i, inst) in region.insts.iter().enumerate().rev() {
        if used[i] || matches!(inst.op, InstOp::Store { .. } | InstOp::Bounded { .. }) {
            used[i] = true;
            inst.op.visit_values(|value| used[value.index()] = true);
        }
    }
    if used.iter().all(|u| *u) {
        return region;
    }
    let mut renamed = vec![Value(0); used.len()];
    let mut kept = 0;
    for (i, used) in used.iter().enumerate() {
        renamed[i] = Value(kept);
        kept += u32::from(*used);
    }
    let insts = std::mem::take(&mut region.insts);
    region.insts = insts.into_iter().enumerate().filter(|(i, _)| used[*i]).map(|(_, inst)| inst).collect();
    for inst in &mut region.insts {
        map_values(&mut inst.op, |value| renamed[value.index()]);
    }
    region
}

/// Replaces every value an instruction uses.
fn map_values(op: &mut InstOp, f: impl Fn(Value) -> Value) {
    let index = |index: &mut Index| index.dynamic.iter_mut().for_each(|(value, _)| *value = f(*value));
    match op {
        InstOp::Const(_) | InstOp::Scalar(_) | InstOp::AxisIndex(_) | InstOp::Acc => {}
        InstOp::Load { index: at, mask, .. } => {
            index(at);
            mask.iter_mut().for_each(|mask| *mask = f(*mask));
        }
        InstOp::Unary(_, a) | InstOp::Cast(a) | InstOp::Bitcast(a) | InstOp::Reduce(_, a) | InstOp::ArgReduce(_, a) => *a = f(*a),
        InstOp::Bounded { index, .. } => *index = f(*index),
        InstOp::Binary(_, a, b) => (*a, *b) = (f(*a), f(*b)),
        InstOp::Where(a, b, c) => (*a, *b, *c) = (f(*a), f(*b), f(*c)),
        InstOp::Philox { seed, offset, index, .. } => (*seed, *offset, *index) = (f(*seed), f(*offset), f(*index)),
        InstOp::Store { index: at, value, .. } => {
            index(at);
            *value = f(*value);
        }
    }
}

/// Joins neighbouring axes that every index walks through as if they were one, and drops axes of size 1.
fn collapse(mut region: Region) -> Region {
    if region.insts.iter().any(|inst| inst.op == InstOp::Acc) {
        // An epilogue keeps the axes of its contraction.
        return region;
    }
    let indexed: FxHashSet<u32> =
        region.insts.iter().filter_map(|inst| if let InstOp::AxisIndex(a) = inst.op { Some(a) } else { None }).collect();
    let mut indexed: Vec<bool> = (0..region.axes.len()).map(|a| indexed.contains(&(a as u32))).collect();
    let mut axis = region.axes.len();
    while axis > 0 {
        axis -= 1;
        let joins = axis + 1 < region.axes.len() && (axis + 1 != region.n_parallel) && !indexed[axis] && !indexed[axis + 1] && {
            let inner = region.axes[axis + 1] as i64;
            region.insts.iter().all(|inst| match &inst.op {
                InstOp::Load { index, .. } | InstOp::Store { index, .. } => index.strides[axis] == index.strides[axis + 1] * inner,
                _ => true,
            })
        };
        let unit = region.axes[axis] == 1 && !indexed[axis];
        if !joins && !unit {
            continue;
        }
        // A unit axis goes; joined axes become the inner one.
        if joins && !unit {
            region.axes[axis + 1] *= region.axes[axis];
        }
        region.axes.remove(axis);
        indexed.remove(axis);
        region.n_parallel -= usize::from(axis < region.n_parallel);
        for inst in &mut region.insts {
            match &mut inst.op {
                InstOp::Load { index, .. } | InstOp::Store { index, .. } => {
                    index.strides.remove(axis);
                }
                InstOp::AxisIndex(a) if *a > axis as u32 => *a -= 1,
                _ => {}
            }
        }
    }
    region
}

/// Where a stored node's elements are when seen through views, as an affine index over the view's own axes; `None` if they are not.
/// `axes` may be split to get there.
pub(crate) fn affine(ir: &Ir, view: Id, stops: &FxHashSet<Id>, coords: Coords, axes: &[Axis]) -> Result<Option<(Id, Idx)>, Stop> {
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.size).collect();
    let (mut id, mut coords) = (view, coords);
    loop {
        let node = ir.node(id);
        if stops.contains(&id) {
            return Ok(Some((id, flatten(&coords, &node.shape))));
        }
        if matches!(node.op, IrOp::Barrier(_)) {
            id = node.inputs[0];
            continue;
        }
        let IrOp::Op(op) = &node.op else { return Ok(None) };
        let next = |i: usize| node.inputs[i];
        match op {
            Op::Reshape => {
                let linear = flatten(&coords, &node.shape);
                coords = match unflatten(&linear, &ir.node(next(0)).shape, &sizes) {
                    Unflatten::Coords(coords) => coords,
                    Unflatten::Split { axis, inner } => return Err(Stop::Split { axis, inner }),
                    Unflatten::Divide => return Ok(None),
                };
            }
            Op::Permute(perm) => {
                let mut from: Coords = SmallVec::from_elem(Idx::default(), perm.len());
                perm.iter().zip(&coords).for_each(|(p, coord)| from[usize::from(*p)] = coord.clone());
                coords = from;
            }
            Op::Expand => {
                let shape = &ir.node(next(0)).shape;
                let lead = coords.len() - shape.len();
                coords = shape.iter().zip(&coords[lead..]).map(|(s, c)| if *s == 1 { Idx::default() } else { c.clone() }).collect();
            }
            Op::Slice(parts) => {
                let at = |(axis, coord): (&unigrad_graph::SliceAxis, &Idx)| coord.clone().times(axis.step).plus_const(axis.start as i64);
                coords = parts.iter().zip(&coords).map(at).collect();
            }
            Op::Window { axis, step, dilation, .. } => {
                let inner = coords.pop().unwrap_or_default().times(*dilation as i64);
                coords[*axis] = coords[*axis].clone().times(*step as i64).plus(&inner);
            }
            _ => return Ok(None),
        }
        id = next(0);
    }
}

/// A rough price of an elementwise op, in additions.
pub(crate) fn map_cost(op: &IrOp) -> usize {
    match op {
        IrOp::Op(Op::Const(_) | Op::Cast | Op::Bitcast) | IrOp::Scalar(_) => 0,
        IrOp::Op(Op::Unary(UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Relu | UnaryOp::Not | UnaryOp::BitNot | UnaryOp::Recip)) => 1,
        IrOp::Op(Op::Unary(_)) => 12,
        IrOp::Op(Op::Binary(BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Rem | BinaryOp::IDiv)) => 16,
        IrOp::Op(Op::Random { .. }) => 40,
        IrOp::Op(_) => 1,
        IrOp::External(_) | IrOp::Barrier(_) => 0,
    }
}
