//! From clusters to launches.
//!
//! In: a cluster of the fused graph. Out: kernels with the node behind every argument and the slot behind every scalar.
//! Always: strides come from the views themselves; nothing is copied to please a kernel that could read in place.
//! Never: assigns memory.

use crate::affine::affine;
use crate::channels_last::RUN;
use crate::emit::{Axis, Emitted, Part, Stop, Store, Task, emit, split_axis};
use crate::fuse::{Cluster, Fused, OWN_BYTES, home};
use crate::index::{Coords, Idx};
use crate::ir::{Id, Ir, IrOp, Kind};
use crate::plan::Options;
use rustc_hash::FxHashSet;
use smallvec::{SmallVec, smallvec};
use unigrad_graph::{AttentionSpec, DType, Literal, Op, Origin, PadAxis, PoolSpec, Positions, ScatterMode, Shape, numel};
use unigrad_kernel::{
    Arg, ArgSort, Attention, AttentionGrad, BatchDim, Channels, Contract, Custom, Index, Inst, InstOp, KDim, Kernel, Layout4, Level,
    Limits, MDim, MaxPool, NDim, Pages, Region, Scan, Scatter, ScatterBase, TopK, Value,
};

/// A kernel with what it is called on.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) args: Vec<Id>,
    pub(crate) scalars: Vec<u32>,
    pub(crate) name: String,
    pub(crate) origin: Origin,
    /// The launch only copies its first argument to its second: it is left out if the one takes the memory of the other.
    pub(crate) is_copy: bool,
}

/// Lowers every cluster, in order.
pub(crate) fn lower(ir: &Ir, fused: &Fused, options: Options) -> Result<Vec<Launch>, String> {
    let Options { limits, channels, .. } = options;
    let mut launches = Vec::with_capacity(fused.clusters.len());
    for cluster in &fused.clusters {
        let lowering = Lowering { ir, stored: &fused.stored, prologues: &fused.prologues, limits, channels };
        match cluster.heavy {
            Some(heavy) => {
                launches.extend(lowering.scatter_base(heavy));
                launches.push(lowering.heavy(heavy, cluster)?);
            }
            None => lowering.region(cluster, &mut launches)?,
        }
    }
    Ok(launches)
}

/// A smaller pad is not worth two launches.
const MIN_FILLED: usize = 1 << 14;

/// Parts of a concatenation that one launch writes.
const PARTS: usize = 16;
/// The same where each is one number, as far as a launch can pass them or a driver can divide it.
const NUMBERS: usize = 256;

/// Offset and strides.
type Strided = (i64, SmallVec<[i64; 6]>);

pub(crate) struct Lowering<'a> {
    pub(crate) ir: &'a Ir,
    pub(crate) stored: &'a FxHashSet<Id>,
    /// Bases of operands that products may make themselves.
    pub(crate) prologues: &'a FxHashSet<Id>,
    pub(crate) limits: Limits,
    pub(crate) channels: Channels,
}

/// The most telling ops of a kernel, for plans and messages. A shape that a result is given at last tells nothing, and would keep equal kernels apart.
fn name_of(ir: &Ir, nodes: impl Iterator<Item = Id>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for id in nodes {
        let made = ir.in_memory_as(id);
        let told = if ir.kind(made) == Kind::Map { made } else { id };
        let name = match &ir.node(told).op {
            IrOp::Op(op) => op.name(),
            IrOp::External(_) | IrOp::Scalar(_) | IrOp::Barrier(_) | IrOp::Dense => "copy",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.truncate(4);
    names.join("+")
}

/// What a scatter puts elements over, as it lies in memory, if it does only that: then the result may take its memory over.
pub(crate) fn over(ir: &Ir, id: Id) -> Option<Id> {
    let node = ir.node(id);
    let sets = matches!(node.op, IrOp::Op(Op::Scatter { mode: ScatterMode::Set, .. }));
    (sets && ir.constant_of(node.inputs[0]).is_none()).then(|| ir.in_memory_as(node.inputs[0]))
}

impl Lowering<'_> {
    fn region(&self, cluster: &Cluster, launches: &mut Vec<Launch>) -> Result<(), String> {
        if let [(root, _)] = cluster.roots.as_slice() {
            let node = self.ir.node(*root);
            if let IrOp::Op(Op::Concat { axis }) = &node.op {
                return self.concat_parts(*root, *axis, launches);
            }
            if let IrOp::Op(Op::DynUpdate { axis }) = &node.op
                && self.ir.numel(node.inputs[1]) > 0
            {
                return self.update(*root, *axis, launches);
            }
            if let IrOp::Op(Op::Pad(axes, fill)) = &node.op {
                // Spread elements and tiny pads are computed point by point, and so are pads around runs, with a condition a run.
                let runs = axes.last() == Some(&PadAxis::default()) && node.shape.last().is_some_and(|size| size.is_multiple_of(RUN));
                let by_point = runs && self.channels != Channels::First;
                if !by_point && axes.iter().all(|axis| axis.interior == 0) && self.ir.numel(*root) >= MIN_FILLED {
                    return self.fill_and_copy(*root, axes, *fill, launches);
                }
            }
        }
        let stores: Vec<Store> = self.stores(cluster);
        if stores.is_empty() {
            return Ok(());
        }
        let inside: FxHashSet<Id> = cluster.roots.iter().map(|(id, _)| *id).collect();
        let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: None, stores: &stores, may_split: true };
        let axes = cluster.groups.iter().map(|(size, reduce)| Axis { size: *size, reduce: *reduce }).collect();
        let emitted = emit(&task, name_of(self.ir, cluster.roots.iter().map(|(id, _)| *id)), axes)?;
        launches.push(self.launch_of(emitted, stores[0].node));
        Ok(())
    }

    pub(crate) fn stores(&self, cluster: &Cluster) -> Vec<Store> {
        let wanted = cluster.roots.iter().filter(|(id, _)| self.stored.contains(id));
        wanted.map(|(node, level)| Store { node: *node, level: *level, into: None }).collect()
    }

    pub(crate) fn launch_of(&self, emitted: Emitted, main: Id) -> Launch {
        Launch {
            name: emitted.region.name.clone(),
            kernel: Kernel::Region(emitted.region),
            args: emitted.args,
            scalars: emitted.scalars,
            origin: self.ir.node(main).origin,
            is_copy: false,
        }
    }

    /// A concatenation of many parts: each part is written where it belongs, several parts of one shape per launch.
    fn concat_parts(&self, whole: Id, axis: usize, launches: &mut Vec<Launch>) -> Result<(), String> {
        let mut start = 0;
        let mut parts: Vec<Store> = Vec::new();
        for part in &self.ir.node(whole).inputs {
            let mut at = Shape::from_elem(0, self.ir.node(whole).shape.len());
            at[axis] = start;
            parts.push(Store { node: *part, level: Level::Full, into: Some(Part { whole, start: at, moved: None }) });
            start += self.ir.node(*part).shape[axis];
        }
        parts.retain(|part| self.ir.numel(part.node) > 0);
        parts.sort_by_key(|part| self.ir.numel(part.node));
        let same = |a: &Store, b: &Store| self.ir.numel(a.node) == self.ir.numel(b.node);
        // Beside the parts a launch passes the whole, and numbers of its own. A driver divides what only has too many buffers.
        let passed =
            (self.limits.bytes.saturating_sub(OWN_BYTES) / self.limits.buffer_bytes.max(1)).min(self.limits.buffers).saturating_sub(2);
        let is_buffer = |part: &Store| self.stored.contains(&self.ir.in_memory_as(part.node));
        let most = |group: &[Store]| match self.ir.numel(group[0].node) {
            1 if group.iter().all(is_buffer) => NUMBERS,
            1 => passed.clamp(PARTS, NUMBERS),
            _ => PARTS,
        };
        for group in parts.chunk_by(same).flat_map(|group| group.chunks(most(group))) {
            let inside = FxHashSet::default();
            let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: None, stores: group, may_split: true };
            let axes = vec![Axis { size: self.ir.numel(group[0].node), reduce: false }];
            launches.push(self.launch_of(emit(&task, "concat".into(), axes)?, whole));
        }
        Ok(())
    }

    /// A pad as two plain walks, without a condition at every element: the fill everywhere, then the input in the middle.
    fn fill_and_copy(&self, whole: Id, axes: &[PadAxis], fill: Literal, launches: &mut Vec<Launch>) -> Result<(), String> {
        let node = self.ir.node(whole);
        let len = self.ir.numel(whole);
        let index = Index { strides: smallvec![1], ..Index::default() };
        let region = Region {
            name: "fill".into(),
            axes: smallvec![len],
            n_parallel: 1,
            args: vec![self.arg(whole, true)],
            scalars: Vec::new(),
            insts: vec![
                Inst { op: InstOp::Const(fill), dtype: node.dtype },
                Inst { op: InstOp::Store { arg: 0, index, value: Value(0) }, dtype: node.dtype },
            ],
        };
        let scalars = Vec::new();
        launches.push(Launch {
            kernel: Kernel::Region(region),
            args: vec![whole],
            scalars,
            name: "fill".into(),
            origin: node.origin,
            is_copy: false,
        });
        let input = node.inputs[0];
        let start = axes.iter().map(|axis| axis.lo).collect();
        let store = [Store { node: input, level: Level::Full, into: Some(Part { whole, start, moved: None }) }];
        let inside = FxHashSet::default();
        let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: None, stores: &store, may_split: true };
        let axes = vec![Axis { size: self.ir.numel(input), reduce: false }];
        launches.push(self.launch_of(emit(&task, "pad".into(), axes)?, whole));
        Ok(())
    }

    pub(crate) fn arg(&self, id: Id, write: bool) -> Arg {
        Arg { dtype: self.ir.node(id).dtype, len: self.ir.numel(id), write }
    }

    /// What elements are put over goes where the result is to be, which is nothing to do where the result takes its memory over.
    fn scatter_base(&self, id: Id) -> Option<Launch> {
        let base = over(self.ir, id)?;
        Some(self.copy(base, id))
    }

    fn heavy(&self, id: Id, cluster: &Cluster) -> Result<Launch, String> {
        let node = self.ir.node(id);
        let IrOp::Op(op) = &node.op else { return Err(self.ir.impossible(id, "a leaf is not a kernel")) };
        let input = |i: usize| node.inputs[i];
        let outer = |axis: usize| numel(&self.ir.node(input(0)).shape[..axis]);
        let inner = |axis: usize| numel(&self.ir.node(input(0)).shape[axis + 1..]);
        let len = |axis: usize| self.ir.node(input(0)).shape[axis];
        let dtype = node.inputs.first().map_or(node.dtype, |x| self.ir.node(*x).dtype);
        let simple = |kernel: Kernel| Launch {
            kernel,
            args: vec![input(0), id],
            scalars: Vec::new(),
            name: op.name().to_string(),
            origin: node.origin,
            is_copy: false,
        };
        Ok(match op {
            Op::MatMul => return self.contract(id, cluster),
            Op::Scan { op, axis, reverse } => {
                simple(Kernel::Scan(Scan { op: *op, dtype, outer: outer(*axis), len: len(*axis), inner: inner(*axis), reverse: *reverse }))
            }
            Op::ArgSort { axis, descending } => simple(Kernel::ArgSort(ArgSort {
                dtype,
                outer: outer(*axis),
                len: len(*axis),
                inner: inner(*axis),
                descending: *descending,
            })),
            Op::TopK { axis, k, largest } => {
                let (outer, len, inner) = (outer(*axis), len(*axis), inner(*axis));
                simple(Kernel::TopK(TopK { dtype, outer, len, inner, k: *k, largest: *largest }))
            }
            Op::MaxPool(spec) => {
                let x = &self.ir.node(input(0)).shape;
                let kernel = Kernel::MaxPool(MaxPool {
                    dtype,
                    outer: x[0] * x[1],
                    input: SmallVec::from_slice(&x[2..]),
                    output: SmallVec::from_slice(&node.shape[2..]),
                    spec: PoolSpec::clone(spec),
                });
                Launch { args: vec![input(0), self.part(id, 0)?, self.part(id, 1)?], ..simple(kernel) }
            }
            Op::Scatter { axis, mode } => {
                let shape = &self.ir.node(input(1)).shape;
                let base = match (over(self.ir, id), self.ir.constant_of(input(0))) {
                    (Some(_), _) => ScatterBase::Out,
                    (None, Some(fill)) => ScatterBase::Fill(fill),
                    (None, None) => ScatterBase::Arg,
                };
                let has_base = base == ScatterBase::Arg;
                let (index, index_at) = self.strided(input(1))?;
                let (src, src_at) = self.strided(input(2))?;
                let kernel = Scatter {
                    mode: *mode,
                    base,
                    axis: *axis,
                    shape: shape.clone(),
                    index_strides: index_at.1,
                    index_offset: index_at.0,
                    src_strides: src_at.1,
                    src_offset: src_at.0,
                    out_shape: node.shape.clone(),
                    index: self.arg(index, false),
                    src: self.arg(src, false),
                    dtype: node.dtype,
                };
                let mut args = vec![index, src, id];
                if has_base {
                    args.insert(0, input(0));
                }
                Launch {
                    kernel: Kernel::Scatter(kernel),
                    args,
                    scalars: Vec::new(),
                    name: op.name().into(),
                    origin: node.origin,
                    is_copy: false,
                }
            }
            Op::Kernel(spec) => {
                let (buffers, scalars) = node.inputs.split_at(spec.n_tensors.min(node.inputs.len()));
                let args: Vec<Id> = buffers.iter().copied().chain([id]).collect();
                let kernel = Custom {
                    program: spec.program.clone(),
                    grid: spec.grid,
                    args: args.iter().map(|arg| self.arg(*arg, *arg == id)).collect(),
                    scalars: scalars.iter().map(|scalar| self.ir.node(*scalar).dtype).collect(),
                };
                let scalars = scalars.iter().map(|scalar| self.slot(*scalar)).collect::<Result<_, _>>()?;
                Launch {
                    kernel: Kernel::Custom(kernel),
                    args,
                    scalars,
                    name: spec.program.name.clone(),
                    origin: node.origin,
                    is_copy: false,
                }
            }
            Op::Attention(spec) => self.attention(id, spec)?,
            Op::AttentionGrad(spec) => self.attention_grad(id, spec)?,
            Op::Part(_) => return Err(self.ir.impossible(id, "a part is made by the kernel of the whole")),
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } | Op::Reduce(..) | Op::ArgReduce(..) => {
                return Err(self.ir.impossible(id, "it belongs in a region, and has no kernel of its own"));
            }
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => {
                return Err(self.ir.impossible(id, "it belongs in a region, and has no kernel of its own"));
            }
            Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => {
                return Err(self.ir.impossible(id, "it belongs in a region, and has no kernel of its own"));
            }
            Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } => {
                return Err(self.ir.impossible(id, "it belongs in a region, and has no kernel of its own"));
            }
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => {
                return Err(self.ir.impossible(id, "it is replaced before kernels are made"));
            }
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => {
                return Err(self.ir.impossible(id, "it is replaced before kernels are made"));
            }
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => {
                return Err(self.ir.impossible(id, "it is replaced before kernels are made"));
            }
        })
    }

    /// Offset and strides of a view of a stored node.
    fn strided(&self, view: Id) -> Result<(Id, Strided), String> {
        let shape = &self.ir.node(view).shape;
        let axes: Vec<Axis> = shape.iter().map(|size| Axis { size: *size, reduce: false }).collect();
        match affine(self.ir, view, &|id| self.stored.contains(&id), home(shape, &axes), &axes) {
            Ok(Some((base, idx))) => {
                let mut strides = SmallVec::from_elem(0, shape.len());
                idx.terms.iter().for_each(|(axis, c)| strides[*axis as usize] = *c);
                Ok((base, (idx.offset, strides)))
            }
            Ok(None) | Err(Stop::Split { .. }) => Err(self.ir.impossible(view, "it cannot be read by strides")),
            Err(Stop::Bug(bug)) => Err(bug),
        }
    }

    fn layout(&self, view: Id) -> Result<(Id, Layout4), String> {
        let (base, (offset, strides)) = self.strided(view)?;
        let strides = strides.as_slice().try_into().map_err(|_| self.ir.impossible(view, "attention wants rank 4"))?;
        Ok((base, Layout4 { offset, strides }))
    }

    fn slot(&self, id: Id) -> Result<u32, String> {
        match &self.ir.node(id).op {
            IrOp::Scalar(slot) => Ok(*slot),
            IrOp::External(_) | IrOp::Op(_) | IrOp::Barrier(_) | IrOp::Dense => {
                Err(self.ir.impossible(id, "lengths, seeds and a kernel's numbers are run-time scalars"))
            }
        }
    }

    /// The part of a node with several outputs.
    fn part(&self, whole: Id, part: usize) -> Result<Id, String> {
        let is_part = |id: &Id| {
            let node = self.ir.node(*id);
            node.op == IrOp::Op(Op::Part(part)) && node.inputs[0] == whole
        };
        (whole..self.ir.nodes.len() as Id)
            .find(is_part)
            .ok_or_else(|| self.ir.impossible(whole, format_args!("its part {part} is missing")))
    }

    /// The forward kernel, its input buffers, its scalars and how many inputs it took.
    fn attention_inputs(&self, id: Id, spec: &AttentionSpec) -> Result<(Attention, Vec<Id>, Vec<u32>, usize), String> {
        let node = self.ir.node(id);
        let (q_at, k_at, v_at) = (self.layout(node.inputs[0])?, self.layout(node.inputs[1])?, self.layout(node.inputs[2])?);
        let mut args = vec![q_at.0, k_at.0, v_at.0];
        let mut bias = None;
        if spec.has_bias {
            let (base, layout) = self.layout(node.inputs[3])?;
            bias = Some((layout, self.arg(base, false)));
            args.push(base);
        }
        if spec.positions.is_tensor() {
            args.push(node.inputs[spec.n_tensors() - 1]);
        }
        let scalars = node.inputs[spec.numbers()].iter().map(|id| self.slot(*id)).collect::<Result<Vec<u32>, String>>()?;
        let shape = |i: usize| &self.ir.node(node.inputs[i]).shape;
        let (q, k, v) = (shape(0), shape(1), shape(2));
        let (mut k_len, mut pages) = (k[2], None);
        if spec.positions == Positions::Paged {
            k_len *= shape(spec.n_tensors() - 1)[1] - Positions::COLUMNS;
            pages = Some(Pages { count: k[0], size: k[2] });
        }
        let contiguous = |h: usize, t: usize, d: usize| Layout4 { offset: 0, strides: [(h * t * d) as i64, (t * d) as i64, d as i64, 1] };
        let kernel = Attention {
            dtype: node.dtype,
            batch: q[0],
            heads: q[1],
            kv_heads: k[1],
            q_len: q[2],
            k_len,
            qk_dim: q[3],
            v_dim: v[3],
            spec: spec.clone(),
            tf32: false,
            pages,
            q: q_at.1,
            k: k_at.1,
            v: v_at.1,
            out: contiguous(q[1], q[2], v[3]),
            bias,
            q_buffer: self.ir.numel(q_at.0),
            k_buffer: self.ir.numel(k_at.0),
            v_buffer: self.ir.numel(v_at.0),
            out_buffer: q[0] * q[1] * q[2] * v[3],
        };
        Ok((kernel, args, scalars, spec.numbers().end))
    }

    fn attention(&self, id: Id, spec: &AttentionSpec) -> Result<Launch, String> {
        let (kernel, mut args, scalars, _) = self.attention_inputs(id, spec)?;
        args.extend([self.part(id, 0)?, self.part(id, 1)?]);
        Ok(Launch {
            kernel: Kernel::Attention(kernel),
            args,
            scalars,
            name: "attention".into(),
            origin: self.ir.node(id).origin,
            is_copy: false,
        })
    }

    fn attention_grad(&self, id: Id, spec: &AttentionSpec) -> Result<Launch, String> {
        let (forward, mut args, scalars, next) = self.attention_inputs(id, spec)?;
        let node = self.ir.node(id);
        let (out, lse) = (node.inputs[next], node.inputs[next + 1]);
        let (dout, dout_at) = self.layout(node.inputs[next + 2])?;
        args.extend([out, lse, dout]);
        let parts = [self.part(id, 0)?, self.part(id, 1)?, self.part(id, 2)?];
        args.extend(parts);
        let contiguous = |id: Id| {
            let s = unigrad_graph::contiguous_strides(&self.ir.node(id).shape);
            Layout4 { offset: 0, strides: [s[0], s[1], s[2], s[3]] }
        };
        let kernel = AttentionGrad {
            dout: dout_at,
            dout_buffer: self.ir.numel(dout),
            dq: contiguous(parts[0]),
            dk: contiguous(parts[1]),
            dv: contiguous(parts[2]),
            grad_buffers: parts.map(|part| self.ir.numel(part)),
            forward,
        };
        Ok(Launch {
            kernel: Kernel::AttentionGrad(kernel),
            args,
            scalars,
            name: "attention.grad".into(),
            origin: node.origin,
            is_copy: false,
        })
    }

    /// A matrix product with its operands' views as strides, and its epilogue.
    fn contract(&self, id: Id, cluster: &Cluster) -> Result<Launch, String> {
        // An epilogue may want an axis in parts that an operand cannot be read by; then it divides indices instead.
        match self.contract_with(id, cluster, true)? {
            Some(launch) => Ok(launch),
            None => {
                let launch = self.contract_with(id, cluster, false)?;
                launch.ok_or_else(|| self.ir.impossible(id, "an operand of a matrix product cannot be read by strides"))
            }
        }
    }

    /// `None` if an operand cannot be read by strides.
    fn contract_with(&self, id: Id, cluster: &Cluster, may_split: bool) -> Result<Option<Launch>, String> {
        let node = self.ir.node(id);
        let (a_view, b_view) = (node.inputs[0], node.inputs[1]);
        let rank = node.shape.len();
        let k_len = self.ir.node(a_view).shape[rank - 1];
        let mut stores = self.stores(cluster);
        let has_epilogue = !stores.is_empty();
        if has_epilogue && self.stored.contains(&id) {
            stores.insert(0, Store { node: id, level: Level::Full, into: None });
        }
        let mut inside: FxHashSet<Id> = cluster.roots.iter().map(|(id, _)| *id).collect();
        inside.insert(id);
        // Batch, m, n, k: which one an axis belongs to.
        let mut axes: Vec<Axis> = node.shape.iter().chain([&k_len]).map(|size| Axis { size: *size, reduce: false }).collect();
        let mut part_of: Vec<usize> = (0..rank - 2).map(|_| 0).chain([1, 2, 3]).collect();
        let split = |axes: &mut Vec<Axis>, axis: usize, inner: usize, part_of: &mut Vec<usize>| {
            split_axis(axes, axis, inner);
            part_of.insert(axis, part_of[axis]);
        };
        loop {
            let domain: Vec<Axis> = axes.iter().zip(&part_of).filter(|(_, part)| **part < 3).map(|(axis, _)| *axis).collect();
            let mut epilogue: Option<Emitted> = None;
            if has_epilogue {
                let task = Task { ir: self.ir, stored: self.stored, inside: &inside, acc: Some(id), stores: &stores, may_split };
                let names = std::iter::once(id).chain(cluster.roots.iter().map(|(id, _)| *id));
                let emitted = emit(&task, name_of(self.ir, names), domain.clone())?;
                if emitted.axes != domain {
                    // The epilogue's views split an axis: the whole contraction has it in two parts now.
                    let found = emitted.axes.iter().zip(&domain).position(|(new, old)| new != old);
                    let divided = found.and_then(|at| Some((at, domain[at].size.checked_div(emitted.axes[at].size)?)));
                    let Some((found, inner)) = divided else {
                        return Err(self.ir.impossible(id, "its epilogue split an axis, and none has another size"));
                    };
                    split(&mut axes, found, inner, &mut part_of);
                    continue;
                }
                epilogue = Some(emitted);
            }
            let coords_of = |parts: &[usize; 2]| -> Coords {
                // Batch coordinates, then the two of the operand.
                let shape: Vec<usize> = node.shape.iter().copied().chain([k_len]).collect();
                let whole = home(&shape, &axes);
                let pick = |part: usize| whole[rank + part - 3].clone();
                whole[..rank - 2].iter().cloned().chain(parts.iter().map(|p| pick(*p))).collect()
            };
            let operand = |view: Id, parts: [usize; 2]| {
                affine(self.ir, view, &|id| self.stored.contains(&id) || self.prologues.contains(&id), coords_of(&parts), &axes)
            };
            let found = operand(a_view, [1, 3]).and_then(|a| operand(b_view, [3, 2]).map(|b| (a, b)));
            let ((a, a_at), (b, b_at)) = match found {
                Ok((Some(a), Some(b))) => (a, b),
                Ok(_) => return Ok(None),
                Err(Stop::Split { axis, inner }) => {
                    split(&mut axes, axis, inner, &mut part_of);
                    continue;
                }
                Err(Stop::Bug(bug)) => return Err(bug),
            };
            return Ok(Some(self.finish_contract(id, (a, a_at), (b, b_at), &axes, &part_of, epilogue)?));
        }
    }

    fn finish_contract(
        &self,
        id: Id,
        (a, a_at): (Id, Idx),
        (b, b_at): (Id, Idx),
        axes: &[Axis],
        part_of: &[usize],
        epilogue: Option<Emitted>,
    ) -> Result<Launch, String> {
        let node = self.ir.node(id);
        // DEFAULT: an axis that is not in an index has stride 0.
        let stride = |idx: &Idx, axis: usize| idx.terms.iter().find(|(a, _)| *a as usize == axis).map_or(0, |(_, c)| *c);
        let mut dims: Vec<Dim> = Vec::with_capacity(axes.len());
        let mut c = 1;
        for (axis, part) in part_of.iter().enumerate().rev() {
            let size = axes[axis].size;
            let c_stride = if *part < 3 { c } else { 0 };
            dims.push(Dim { part: *part, size, a: stride(&a_at, axis), b: stride(&b_at, axis), c: c_stride });
            if *part < 3 {
                c *= size as i64;
            }
        }
        dims.reverse();
        let (mut region, region_args, scalars) = match epilogue {
            Some(Emitted { region, args, scalars, .. }) => (Some(region), args, scalars),
            None => (None, Vec::new(), Vec::new()),
        };
        join(&mut dims, region.as_mut());
        let of = |part: usize| dims.iter().filter(move |d| d.part == part);
        let write = self.arg(id, true);
        // Each operand's first buffer, and the others.
        let (mut operands, mut others): (Vec<Id>, Vec<Id>) = Default::default();
        let mut prologues = [None, None];
        for (operand, prologue) in [a, b].into_iter().zip(&mut prologues) {
            if self.stored.contains(&operand) {
                operands.push(operand);
                continue;
            }
            let Emitted { region, args, .. } = self.prologue(operand)?;
            operands.push(args[0]);
            others.extend(&args[1..]);
            *prologue = Some(Box::new(region));
        }
        let kernel = Contract {
            batch: of(0).map(|d| BatchDim { size: d.size, a: d.a, b: d.b, c: d.c }).collect(),
            m: of(1).map(|d| MDim { size: d.size, a: d.a, c: d.c }).collect(),
            n: of(2).map(|d| NDim { size: d.size, b: d.b, c: d.c }).collect(),
            k: of(3).map(|d| KDim { size: d.size, a: d.a, b: d.b }).collect(),
            a_offset: a_at.offset,
            b_offset: b_at.offset,
            a: self.arg(a, false),
            b: self.arg(b, false),
            c: if region.is_some() { Arg { dtype: accumulator(write.dtype), ..write } } else { write },
            // The plan's options decide it, see `plan`.
            tf32: false,
            epilogue: region.map(Box::new),
            prologues,
        };
        let name = kernel.epilogue.as_ref().map_or("matmul".into(), |region| region.name.clone());
        let mut args = operands;
        if kernel.epilogue.is_some() {
            args.extend(region_args)
        } else {
            args.push(id)
        }
        args.extend(others);
        Ok(Launch { kernel: Kernel::Contract(kernel), args, scalars, name, origin: node.origin, is_copy: false })
    }
}

fn accumulator(dtype: DType) -> DType {
    dtype.compute()
}

struct Dim {
    part: usize,
    size: usize,
    a: i64,
    b: i64,
    c: i64,
}

/// Joins neighbouring dimensions of one part that all operands (and the epilogue) walk through as one, and drops those of size 1.
fn join(dims: &mut Vec<Dim>, mut region: Option<&mut Region>) {
    let mut i = dims.len();
    while i > 0 {
        i -= 1;
        let is_indexed = |region: &Region, axis: usize| region.insts.iter().any(|inst| inst.op == InstOp::AxisIndex(axis as u32));
        // Dimensions of k have no axis in the epilogue, and they come last.
        let in_region = dims[i].part < 3;
        let unit = dims[i].size == 1 && !(in_region && region.as_deref().is_some_and(|r| is_indexed(r, i)));
        let joins = i + 1 < dims.len() && dims[i].part == dims[i + 1].part && {
            let (outer, inner) = (&dims[i], &dims[i + 1]);
            let n = inner.size as i64;
            let operands = outer.a == inner.a * n && outer.b == inner.b * n && outer.c == inner.c * n;
            let epilogue = !in_region
                || region.as_deref().is_none_or(|r| {
                    !is_indexed(r, i)
                        && !is_indexed(r, i + 1)
                        && r.insts.iter().all(|inst| inst.op.access().is_none_or(|(_, index)| index.strides[i] == index.strides[i + 1] * n))
                });
            operands && epilogue
        };
        if !unit && !joins {
            continue;
        }
        if joins && !unit {
            dims[i + 1].size *= dims[i].size;
        }
        dims.remove(i);
        if let (true, Some(region)) = (in_region, region.as_deref_mut()) {
            if joins && !unit {
                region.axes[i + 1] *= region.axes[i];
            }
            region.axes.remove(i);
            region.n_parallel -= 1;
            for inst in &mut region.insts {
                if let Some((_, index)) = inst.op.access_mut() {
                    index.strides.remove(i);
                } else if let InstOp::AxisIndex(axis) = &mut inst.op
                    && *axis > i as u32
                {
                    *axis -= 1;
                }
            }
        }
    }
}
