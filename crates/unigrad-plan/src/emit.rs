//! From graph nodes to a region's program, by pulling: the value of a node at given coordinates is made from the values of its
//! inputs at theirs, until something that is stored is reached and loaded.
//!
//! In: the nodes a kernel stores, the domain, and which nodes are loaded instead of computed. Out: instructions.
//! Always: one instruction per value and place (shared parts are computed once); indices are in bounds where their mask holds.
//! Never: decides what is fused ([`crate::fuse`] has), or recurses: what a value waits for is computed first, from a stack of its own.

use crate::index::{Coords, Idx, Unflatten, flatten, only_one, part_and_place, unflatten};
use crate::ir::{Id, Ir, IrOp};
use crate::simplify::{collapse, number_checks, prune};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use unigrad_graph::{BinaryOp, DType, Literal, Op, PadAxis, Shape};
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

/// A value that is to be computed: a node at coordinates, where the mask holds.
type Request = (Id, Coords, Option<Value>);

/// Why the value of a node could not be made.
enum Pause {
    /// Another one has to be computed first. Then the node is tried again, and finds the instructions that it has made so far.
    For(Box<Request>),
    Stop(Stop),
}

impl From<Stop> for Pause {
    fn from(stop: Stop) -> Pause {
        Pause::Stop(stop)
    }
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

/// Most points of an axis that is written out.
const MOST_WRITTEN_OUT: usize = 4;

/// One thing a kernel writes.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) node: Id,
    /// Once per row, or at every point.
    pub(crate) level: Level,
    /// As a part of another node.
    pub(crate) into: Option<Part>,
}

/// Where a part of a node goes.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) whole: Id,
    /// Where it begins along each axis.
    pub(crate) start: Shape,
    /// An axis along which it begins so much later as a node says, which only the launch knows, and how many places there are.
    pub(crate) moved: Option<(usize, Id, usize)>,
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
    /// An axis that each point of the domain runs through: how many points it has, and at which one the emitter is.
    written_out: Option<(usize, usize, usize)>,
    /// What it stores: after all that is loaded, since a result may take over the memory of what is read.
    stores: Vec<Inst>,
    sizes: Vec<usize>,
    insts: Vec<Inst>,
    known: FxHashMap<Inst, Value>,
    memo: FxHashMap<Request, Value>,
    args: Vec<Id>,
    arg_of: FxHashMap<Id, u32>,
    written: FxHashSet<Id>,
    /// By slot of the region: the plan's, and its dtype.
    scalars: Vec<(u32, DType)>,
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

/// As [`emit`]; where the innermost axis has few points and decides what is computed, as where tensors are stacked along it, they are written out: each is
/// a store of its own, of which no condition is left. Only for kernels that store at every point.
pub(crate) fn emit_written_out(task: &Task<'_>, name: String, axes: Vec<Axis>) -> Result<Emitted, String> {
    let whole = emit(task, name.clone(), axes)?;
    let ([outer @ .., Axis { size, reduce: false }], [.., innermost]) = (&whole.axes[..], &whole.region.axes[..]) else { return Ok(whole) };
    let (last, size, axis) = (outer.len(), *size, whole.region.axes.len() as u32 - 1);
    let decides = *innermost == size && whole.region.insts.iter().any(|inst| inst.op == InstOp::AxisIndex(axis));
    if last == 0 || !(2..=MOST_WRITTEN_OUT).contains(&size) || !decides {
        return Ok(whole);
    }
    let mut axes = whole.axes.clone();
    axes[last].size = 1;
    let mut emitter = Emitter::new(task, axes);
    emitter.written_out = Some((last, size, 0));
    match emitter.run() {
        Ok(()) => Ok(emitter.finish(name)),
        // It would take other axes.
        Err(Stop::Split { .. }) => Ok(whole),
        Err(Stop::Bug(bug)) => Err(format!("{name}: {bug}")),
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
            written_out: None,
            stores: Vec::new(),
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
        for point in 0..self.written_out.map_or(1, |(_, size, _)| size) {
            if let Some((_, _, at)) = &mut self.written_out {
                *at = point;
            }
            self.stores()?;
        }
        self.insts.append(&mut self.stores);
        Ok(())
    }

    fn stores(&mut self) -> Result<(), Stop> {
        for Store { node, level, into } in self.task.stores {
            // Whatever shape a tensor is given at last, its elements come in the same order: no axis is split for it.
            let mut made = *node;
            while into.is_none() && self.task.ir.node(made).op == IrOp::Op(Op::Reshape) {
                made = self.task.ir.node(made).inputs[0];
            }
            let mut coords = self.home(made, *level)?;
            let value = self.value(made, &coords)?;
            let (mut target, mut shape) = (*node, made);
            if let Some(Part { whole, start, moved }) = into {
                (target, shape) = (*whole, *whole);
                coords.iter_mut().zip(start).for_each(|(coord, start)| *coord = std::mem::take(coord).plus_const(*start as i64));
                if let Some((axis, by, places)) = moved {
                    let by = self.value(*by, &Coords::new())?;
                    let by = self.bounded(by, *places, true, None);
                    coords[*axis] = std::mem::take(&mut coords[*axis]).plus(&Idx::value(by));
                }
            }
            let index = self.index(&flatten(&coords, &self.task.ir.node(shape).shape));
            let arg = self.arg(target);
            self.written.insert(target);
            let dtype = self.task.ir.node(*node).dtype;
            let store = Inst { op: InstOp::Store { arg, index, value }, dtype };
            let after = if self.written_out.is_some() { &mut self.stores } else { &mut self.insts };
            after.push(store);
        }
        Ok(())
    }

    /// The coordinates at which a node of the kernel is evaluated: its elements in the domain's order.
    fn home(&mut self, node: Id, level: Level) -> Result<Coords, Stop> {
        let mut linear = Idx::default();
        let mut stride = 1;
        for (axis, Axis { size, reduce }) in self.axes.iter().enumerate().rev() {
            if let Some((_, n, at)) = self.written_out.filter(|(of, ..)| *of == axis) {
                linear = linear.plus_const(at as i64 * stride);
                stride *= n as i64;
            } else if level == Level::Full || !reduce {
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
        let position = self.scalars.iter().position(|(known, _)| *known == slot).unwrap_or_else(|| {
            self.scalars.push((slot, dtype));
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

    /// The value of a node at coordinates. A chain of nodes may be of any length, so those that wait for others are on a stack.
    fn value(&mut self, node: Id, coords: &Coords) -> Result<Value, Stop> {
        let mut waiting: Vec<Request> = match self.pull(node, coords, None) {
            Ok(value) => return Ok(value),
            Err(Pause::For(request)) => vec![*request],
            Err(Pause::Stop(stop)) => return Err(stop),
        };
        let mut last = None;
        while let Some((node, coords, mask)) = waiting.pop() {
            match self.compute(node, &coords, mask) {
                Ok(value) => {
                    last = Some(value);
                    self.memo.insert((node, coords, mask), value);
                }
                Err(Pause::For(first)) => {
                    waiting.push((node, coords, mask));
                    waiting.push(*first);
                }
                Err(Pause::Stop(stop)) => return Err(stop),
            }
        }
        last.ok_or_else(|| Stop::Bug(self.task.ir.impossible(node, "it has no value")))
    }

    fn is_loaded(&self, node: Id) -> bool {
        !self.task.inside.contains(&node) && self.task.stored.contains(&node)
    }

    fn load(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Value {
        self.load_at(node, &flatten(coords, &self.task.ir.node(node).shape), mask)
    }

    /// The element of a node in memory at its place in row-major order.
    fn load_at(&mut self, node: Id, linear: &Idx, mask: Option<Value>) -> Value {
        let arg = self.arg(node);
        let index = self.index(linear);
        self.inst(InstOp::Load { arg, index, mask }, self.task.ir.node(node).dtype)
    }

    /// A node's value: loaded if it is in memory, or computed already; otherwise what asks for it waits.
    fn pull(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Result<Value, Pause> {
        if self.is_loaded(node) {
            return Ok(self.load(node, coords, mask));
        }
        if self.task.acc == Some(node) {
            return Ok(self.inst(InstOp::Acc, self.task.ir.node(node).dtype.compute()));
        }
        let request = (node, coords.clone(), mask);
        self.memo.get(&request).copied().ok_or_else(|| Pause::For(Box::new(request)))
    }

    /// Makes a node's value from its inputs'.
    fn compute(&mut self, node: Id, coords: &Coords, mask: Option<Value>) -> Result<Value, Pause> {
        let ir = self.task.ir;
        let n = ir.node(node);
        let input = |i: usize| n.inputs[i];
        let shape_of = |i: usize| &ir.node(n.inputs[i]).shape;
        let op = match &n.op {
            IrOp::External(_) => return Err(Stop::Bug(ir.impossible(node, "an input that is not in memory")).into()),
            IrOp::Scalar(slot) => return Ok(self.scalar(*slot, n.dtype)),
            IrOp::Barrier(_) | IrOp::Dense => return self.pull(input(0), coords, mask),
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
            Op::Bounded { size, from_end } => {
                let index = self.pull(input(0), coords, mask)?;
                self.bounded(index, *size, *from_end, mask)
            }
            Op::Reshape => {
                let linear = flatten(coords, &n.shape);
                if self.is_loaded(input(0)) {
                    // Its elements lie in the same order: it needs no coordinates.
                    return Ok(self.load_at(input(0), &linear, mask));
                }
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
                let apart = part_and_place(&coords[*axis], n.inputs.iter().map(|part| ir.node(*part).shape[*axis]), &self.sizes);
                let mut start = 0;
                let mut result: Option<Value> = None;
                for (i, part) in n.inputs.iter().enumerate() {
                    let size = ir.node(*part).shape[*axis];
                    let mut from = coords.clone();
                    let (test, room) = match &apart {
                        Some((which, _)) => (which.clone().plus_const(-(i as i64)), 1),
                        None => (from[*axis].clone().plus_const(-start), size),
                    };
                    from[*axis] = apart.as_ref().map_or_else(|| test.clone(), |(_, inside)| inside.clone());
                    start += size as i64;
                    if size == 0 || test.range(&self.sizes).is_some_and(|(min, max)| max < 0 || min >= room as i64) {
                        continue;
                    }
                    let here = self.within(&test, room);
                    only_one(&mut from[*axis], size);
                    let all = self.and(mask, here);
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
                let start = self.bounded(start, room, true, None);
                let mut from = coords.clone();
                from[*axis] = from[*axis].clone().plus(&Idx::value(start));
                let x = self.pull(input(0), &from, mask)?;
                if self.needs(x, start) { x } else { self.having_checked(start, x) }
            }
            Op::DynUpdate { axis } => {
                let size = shape_of(1)[*axis];
                let start = self.pull(input(2), &Coords::new(), None)?;
                let start = self.bounded(start, n.shape[*axis] - size + 1, true, None);
                let mut from = coords.clone();
                from[*axis] = from[*axis].clone().plus(&Idx::value(start).times(-1));
                let here = self.within(&from[*axis].clone(), size);
                only_one(&mut from[*axis], size);
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
                let index = self.bounded(index, shape_of(0)[*axis], true, mask);
                let mut from = coords.clone();
                from[*axis] = Idx::value(index);
                let x = self.pull(input(0), &from, mask)?;
                if self.needs(x, index) { x } else { self.having_checked(index, x) }
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
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => {
                return Err(Stop::Bug(n.impossible("a kernel of its own is not computed within a region")).into());
            }
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => {
                return Err(Stop::Bug(n.impossible("a kernel of its own is not computed within a region")).into());
            }
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => {
                return Err(Stop::Bug(n.impossible("it is replaced before regions are made")).into());
            }
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => {
                return Err(Stop::Bug(n.impossible("it is replaced before regions are made")).into());
            }
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => {
                return Err(Stop::Bug(n.impossible("it is replaced before regions are made")).into());
            }
        })
    }

    /// Whether a value is made by an instruction that uses another one: what is the same along an axis, a constant or what is repeated there, is not.
    fn needs(&self, x: Value, index: Value) -> bool {
        let (mut open, mut seen) = (vec![x], FxHashSet::default());
        while let Some(value) = open.pop() {
            if value == index {
                return true;
            }
            // What was made before the index cannot need it.
            if value.index() > index.index() && seen.insert(value) {
                self.insts[value.index()].op.visit_values(|used| open.push(used));
            }
        }
        false
    }

    /// `x`, which does not depend on a checked index, so that it does: backends leave out what no result needs.
    fn having_checked(&mut self, index: Value, x: Value) -> Value {
        let (zero, dtype) = (self.int(0), self.insts[x.index()].dtype);
        let inside = self.inst(InstOp::Binary(BinaryOp::Ge, index, zero), DType::Bool);
        let otherwise = self.literal(Literal::zero(dtype));
        self.inst(InstOp::Where(inside, x, otherwise), dtype)
    }

    /// A checked index. Where the mask is false the index may be anything, so it is replaced by 0 first.
    fn bounded(&mut self, index: Value, size: usize, from_end: bool, mask: Option<Value>) -> Value {
        let index = match mask {
            None => index,
            Some(mask) => {
                let zero = self.int(0);
                self.inst(InstOp::Where(mask, index, zero), DType::I64)
            }
        };
        self.inst(InstOp::Bounded { index, size: size as i64, from_end, check: 0 }, DType::I64)
    }

    fn pad(&mut self, x: Id, axes: &[PadAxis], fill: Literal, coords: &Coords, mask: Option<Value>) -> Result<Value, Pause> {
        let shape = self.task.ir.node(x).shape.clone();
        if shape.contains(&0) {
            return Ok(self.literal(fill));
        }
        let mut here: Option<Value> = None;
        let mut from = Coords::new();
        for ((axis, coord), size) in axes.iter().zip(coords).zip(&shape) {
            let mut at = coord.clone().plus_const(-(axis.lo as i64));
            // Nothing of `x` is read, and kernels that differ in where it would be are one.
            let last = size.saturating_sub(1).saturating_mul(axis.interior.saturating_add(1));
            if at.range(&self.sizes).is_some_and(|(min, max)| max < 0 || usize::try_from(min).is_ok_and(|min| min > last)) {
                return Ok(self.literal(fill));
            }
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
            only_one(&mut at, *size);
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
            if let Some((_, index)) = inst.op.access_mut() {
                reorder(index);
            } else if let InstOp::AxisIndex(axis) = &mut inst.op {
                *axis = position[*axis as usize];
            }
        }
        let region = Region {
            name,
            axes: order.iter().map(|a| axes[*a].size).collect(),
            n_parallel: axes.iter().filter(|a| !a.reduce).count(),
            args: args.iter().map(|id| Arg { dtype: node(id).dtype, len: task.ir.numel(*id), write: written.contains(id) }).collect(),
            scalars: scalars.iter().map(|(_, dtype)| *dtype).collect(),
            insts,
        };
        let scalars = scalars.into_iter().map(|(slot, _)| slot).collect();
        Emitted { region: collapse(number_checks(prune(region))), args, scalars, axes }
    }
}

/// A rough price of an op per element, in additions; of what is no map, 1.
pub(crate) fn map_cost(op: &IrOp) -> usize {
    let op = match op {
        IrOp::External(_) | IrOp::Scalar(_) | IrOp::Barrier(_) | IrOp::Dense => return 0,
        IrOp::Op(op) => op,
    };
    match op {
        Op::Const(_) | Op::Cast | Op::Bitcast => 0,
        Op::Unary(op) => op.cost(),
        Op::Binary(BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Rem | BinaryOp::IDiv) => 16,
        Op::Random { .. } => 40,
        Op::Binary(_) | Op::Where | Op::Iota { .. } | Op::Bounded { .. } => 1,
        Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => 1,
        Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } | Op::Reduce(..) | Op::ArgReduce(..) => 1,
        Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => 1,
        Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => 1,
        Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => 1,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => 1,
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => 1,
    }
}
