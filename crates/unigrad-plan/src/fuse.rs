//! Fusion: which nodes are stored, and which are computed in one kernel.
//!
//! In: the compiler's graph and the nodes that must exist afterwards. Out: clusters, in an order in which they can run.
//!
//! Every node that is neither stored nor a reduction is computed wherever it is read, so the only choices are *what is stored* and
//! *which stored nodes share a kernel*. First the nodes that must be stored are found (outputs, heavy kernels and what they read,
//! reductions, expensive values with several readers); each starts as a cluster of its own. Then clusters merge, greedily and in a
//! fixed order, while the domains fit, nothing is read out of step and no cycle arises:
//!
//! 1. a map that reads a contraction's result in step becomes its epilogue;
//! 2. a reader joins its producer: maps, reductions over the same axes, maps of row values;
//! 3. siblings that read the same large buffer join.
//!
//! No region grows beyond a number of nodes, nor beyond the buffers and run-time scalars that the device's launches can pass.
//! What no other cluster reads is then not stored after all: it stays on chip.
//! Always: the result is the same for the same graph. Never: changes what is computed.

use crate::affine::affine;
use crate::emit::{Axis, Stop, split_axis};
use crate::index::{Coords, Idx};
use crate::ir::{Id, Ir, IrOp, Kind};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;
use unigrad_graph::{Op, numel};
use unigrad_kernel::{Level, Limits};

/// Most nodes of one region: a chain of any length becomes regions of this length, which compile in time that is linear in the chain.
const MAX_NODES: usize = 1024;
/// Siblings that a cluster is tried with in vain before it is left alone: a buffer that thousands read would be tried by all pairs of them.
const SIBLINGS: usize = 64;
/// Most buffers of one kernel, whatever the device takes.
const MAX_BUFFERS: usize = 28;
/// Bytes of arguments that a kernel's own numbers take beside what the graph gives it: lengths, where index errors go.
const OWN_BYTES: usize = 256;
/// A kernel can always pass so many run-time scalars; a device that takes fewer has no kernel for most ops.
const MIN_SCALARS: usize = 4;

/// A domain: extents with a mark for reduce axes, neighbours of one kind joined, none of size 1.
pub(crate) type Groups = SmallVec<[(usize, bool); 4]>;

/// What one launch computes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// The kernel of its own, if it is not a plain region.
    pub(crate) heavy: Option<Id>,
    /// Region roots; with a heavy kernel, its epilogue's.
    pub(crate) roots: Vec<(Id, Level)>,
    pub(crate) groups: Groups,
    /// Stored nodes it reads, ascending.
    pub(crate) reads: Vec<Id>,
    /// How many nodes it computes.
    n_nodes: usize,
}

impl Cluster {
    /// The nodes it makes, but for the parts of a kernel with several results.
    fn made(&self) -> impl Iterator<Item = Id> {
        self.roots.iter().map(|(id, _)| *id).chain(self.heavy)
    }
}

/// What a cluster takes in.
struct Reads {
    /// Stored nodes, ascending.
    stored: Vec<Id>,
    /// How many run-time scalars.
    n_scalars: usize,
    /// How many nodes it computes.
    n_nodes: usize,
}

/// Fusion's result.
pub(crate) struct Fused {
    /// In launch order.
    pub(crate) clusters: Vec<Cluster>,
    /// Nodes that live in memory.
    pub(crate) stored: FxHashSet<Id>,
    /// Bases of products' operands that do not: they are made where they are read, if nothing stores them.
    pub(crate) prologues: FxHashSet<Id>,
}

/// Joins neighbouring axes of one kind and drops those of size 1.
pub(crate) fn groups(shape: &[usize], is_reduce: impl Fn(usize) -> bool) -> Groups {
    let mut groups = Groups::new();
    for (axis, size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        match groups.last_mut() {
            Some((extent, reduce)) if *reduce == is_reduce(axis) => *extent *= size,
            _ => groups.push((*size, is_reduce(axis))),
        }
    }
    groups
}

/// How many numbers are in either of two ascending lists.
fn n_united(a: &[Id], b: &[Id]) -> usize {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        both += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    a.len() + b.len() - both
}

pub(crate) struct Fusion<'a> {
    pub(crate) ir: &'a Ir,
    pub(crate) outputs: &'a FxHashSet<Id>,
    /// Candidates for storage: every cluster root and heavy node.
    pub(crate) marked: FxHashSet<Id>,
    /// See [`Fused::prologues`].
    pub(crate) prologues: FxHashSet<Id>,
    clusters: Vec<Option<Cluster>>,
    cluster_of: FxHashMap<Id, usize>,
    pub(crate) users: Vec<SmallVec<[Id; 4]>>,
    /// Most buffers and most run-time scalars of a kernel.
    pub(crate) max_buffers: usize,
    pub(crate) max_scalars: usize,
    /// Whether [`Fusion::depends`] searches everything.
    thorough: bool,
    /// What [`Fusion::reads`] has seen: a step of a node at three times its number, then a read of a node.
    seen: RefCell<Seen>,
}

/// A set of small numbers that is emptied at once: merging asks for one of up to a region's nodes at every attempt.
#[derive(Default)]
struct Seen {
    stamps: Vec<u32>,
    now: u32,
}

impl Seen {
    fn empty(&mut self, numbers: usize) {
        if self.stamps.len() != numbers || self.now == u32::MAX {
            (self.stamps, self.now) = (vec![0; numbers], 0);
        }
        self.now += 1;
    }

    /// Whether it was not in the set before.
    fn insert(&mut self, number: usize) -> bool {
        std::mem::replace(&mut self.stamps[number], self.now) != self.now
    }
}

/// How a node is read from a region's points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    /// Each point reads the element of its own index.
    Full,
    /// Each row reads the element of the row's index.
    Row,
    /// Anything else.
    Other,
}

/// Fuses for a device that takes so many arguments; with `enabled` false every op is a kernel of its own.
pub(crate) fn fuse(ir: &Ir, outputs: &FxHashSet<Id>, enabled: bool, limits: Limits) -> Result<Fused, String> {
    // The quick search for cycles misses the few that lead through a cluster of early and late nodes; then nothing can run first.
    for (enabled, thorough) in [(enabled, false), (enabled, true), (false, true)] {
        if let Some(fused) = attempt(ir, outputs, enabled, thorough, limits)? {
            return Ok(fused);
        }
    }
    Err("there is no order in which every kernel finds what it reads".into())
}

/// One way to fuse; `None` if clusters wait for each other.
fn attempt(ir: &Ir, outputs: &FxHashSet<Id>, enabled: bool, thorough: bool, limits: Limits) -> Result<Option<Fused>, String> {
    // A kernel of more buffers than the device takes is divided by its driver: each part has at most those that it does take.
    let buffer_bytes = limits.buffer_bytes.saturating_mul(limits.buffers.min(MAX_BUFFERS));
    let scalar_bytes = limits.bytes.saturating_sub(OWN_BYTES).saturating_sub(buffer_bytes);
    let mut fusion = Fusion {
        ir,
        outputs,
        marked: FxHashSet::default(),
        prologues: FxHashSet::default(),
        clusters: Vec::new(),
        cluster_of: FxHashMap::default(),
        users: ir.users(),
        max_buffers: MAX_BUFFERS,
        max_scalars: (scalar_bytes / size_of::<u64>()).max(MIN_SCALARS),
        thorough,
        seen: RefCell::default(),
    };
    fusion.mark(enabled)?;
    fusion.begin()?;
    if enabled {
        fusion.attach_epilogues()?;
        fusion.merge_readers()?;
        fusion.merge_siblings()?;
    }
    fusion.finish()
}

/// The inputs of a heavy node that its kernel reads through views, and those it wants as they are.
pub(crate) fn reads_through_views(op: &Op, input: usize) -> bool {
    match op {
        Op::MatMul => true,
        Op::Scatter { .. } => input > 0,
        Op::Attention(spec) => input < 3 + usize::from(spec.has_bias),
        Op::AttentionGrad(spec) => {
            // q, k, v, the bias, and the gradient that arrives, which is the last one.
            input < 3 + usize::from(spec.has_bias) || input == spec.numbers().end + 2
        }
        // Read as they lie, or not kernels of their own.
        Op::Scan { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MaxPool(_) | Op::Part(_) | Op::Kernel(_) => false,
        Op::Buffer | Op::Const(_) | Op::Scalar | Op::Iota { .. } | Op::Random { .. } | Op::Variable(_) => false,
        Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => false,
        Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } => false,
        Op::DynSlice { .. } | Op::DynUpdate { .. } | Op::Gather { .. } | Op::Reduce(..) | Op::ArgReduce(..) => false,
        Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => false,
        Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => false,
        Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Copy | Op::Commit | Op::Invalid(_) => false,
    }
}

/// What a heavy node's input really reads: the node below the views that can be expressed by strides.
pub(crate) fn view_base(ir: &Ir, view: Id, may_split: bool) -> Result<Id, String> {
    let mut base = view;
    let mut below = view;
    loop {
        let node = ir.node(below);
        let through =
            matches!(&node.op, IrOp::Op(Op::Reshape | Op::Permute(_) | Op::Expand | Op::Slice(_) | Op::Window { .. }) | IrOp::Barrier(_));
        if !through {
            return Ok(base);
        }
        below = node.inputs[0];
        if matches!(ir.kind(below), Kind::View) && !matches!(ir.node(below).op, IrOp::Op(Op::Pad(..) | Op::Concat { .. })) {
            // Only the bottom of the chain is worth trying.
            continue;
        }
        let mut axes: Vec<Axis> = ir.node(view).shape.iter().map(|size| Axis { size: *size, reduce: false }).collect();
        loop {
            match affine(ir, view, &|id| id == below, home(&ir.node(view).shape, &axes), &axes) {
                Ok(Some(_)) => base = below,
                Err(Stop::Split { axis, inner }) if may_split => {
                    split_axis(&mut axes, axis, inner);
                    continue;
                }
                // No strides show it so: it is read from a copy.
                Ok(None) | Err(Stop::Split { .. }) => {}
                Err(Stop::Bug(bug)) => return Err(bug),
            }
            break;
        }
        return Ok(base);
    }
}

/// Coordinates of a shape whose axes may have been split.
pub(crate) fn home(shape: &[usize], axes: &[Axis]) -> Coords {
    let mut coords = Coords::new();
    let mut axis = 0;
    for size in shape {
        let begin = axis;
        let mut product = 1;
        while axis < axes.len() && (product < *size || (axis == begin)) {
            product *= axes[axis].size;
            axis += 1;
        }
        let mut coord = Idx::default();
        let mut stride = 1;
        for a in (begin..axis).rev() {
            if axes[a].size != 1 {
                coord = coord.plus(&Idx::axis(a).times(stride));
            }
            stride *= axes[a].size as i64;
        }
        coords.push(coord);
    }
    coords
}

impl Fusion<'_> {
    fn begin(&mut self) -> Result<(), String> {
        let mut marked: Vec<Id> = self.marked.iter().copied().collect();
        marked.sort_unstable();
        for id in marked {
            let node = self.ir.node(id);
            let index = self.clusters.len();
            let cluster = match (&node.op, self.ir.kind(id)) {
                (IrOp::Op(Op::Part(_)), _) => {
                    let whole =
                        self.cluster_of.get(&node.inputs[0]).ok_or_else(|| self.ir.impossible(id, "a part of what no kernel makes"))?;
                    self.cluster_of.insert(id, *whole);
                    continue;
                }
                (_, Kind::Heavy) => Cluster { heavy: Some(id), ..Cluster::default() },
                (IrOp::Op(Op::Reduce(_, axes)), _) => {
                    let shape = &self.ir.node(node.inputs[0]).shape;
                    Cluster { roots: vec![(id, Level::Row)], groups: groups(shape, |a| axes >> a & 1 == 1), ..Cluster::default() }
                }
                (IrOp::Op(Op::ArgReduce(_, axis)), _) => {
                    let shape = &self.ir.node(node.inputs[0]).shape;
                    Cluster { roots: vec![(id, Level::Row)], groups: groups(shape, |a| a == *axis), ..Cluster::default() }
                }
                _ => Cluster { roots: vec![(id, Level::Full)], groups: groups(&[numel(&node.shape)], |_| false), ..Cluster::default() },
            };
            self.cluster_of.insert(id, index);
            self.clusters.push(Some(cluster));
        }
        for index in 0..self.clusters.len() {
            if let Some(cluster) = self.clusters[index].take() {
                let reads = self.reads(&cluster).ok_or_else(|| self.of_cluster(&cluster, "it is read out of step by itself"))?;
                self.clusters[index] = Some(Cluster { reads: reads.stored, n_nodes: reads.n_nodes, ..cluster });
            }
        }
        Ok(())
    }

    /// What a cluster takes in; `None` if it would read a node of its own out of step.
    fn reads(&self, cluster: &Cluster) -> Option<Reads> {
        let n = self.ir.nodes.len();
        let mut seen = self.seen.borrow_mut();
        seen.empty(4 * n);
        let (mut stored, mut n_nodes) = (Vec::new(), 0);
        let mut scalars: FxHashSet<u32> = FxHashSet::default();
        let inside: FxHashMap<Id, Level> = cluster.roots.iter().copied().collect();
        let mut stack: Vec<(Id, Step)> = Vec::new();
        if let Some(heavy) = cluster.heavy {
            stack.extend(self.ir.node(heavy).inputs.iter().map(|input| (*input, Step::Other)));
        }
        for (root, level) in &cluster.roots {
            let step = if *level == Level::Full { Step::Full } else { Step::Row };
            self.descend(*root, step, &cluster.groups, &mut stack)?;
        }
        while let Some((id, step)) = stack.pop() {
            if !seen.insert(3 * id as usize + step as usize) {
                continue;
            }
            n_nodes += 1;
            if cluster.heavy == Some(id) {
                if step != Step::Full {
                    return None;
                }
                continue;
            }
            if let Some(level) = inside.get(&id) {
                let in_step = matches!((level, step), (Level::Full, Step::Full) | (Level::Row, Step::Row));
                if !in_step {
                    return None;
                }
                continue;
            }
            if self.marked.contains(&id) || self.ir.kind(id) == Kind::External {
                if seen.insert(3 * n + id as usize) {
                    stored.push(id);
                }
                continue;
            }
            if let IrOp::Scalar(slot) = self.ir.node(id).op {
                scalars.insert(slot);
                continue;
            }
            self.descend(id, step, &cluster.groups, &mut stack)?;
        }
        stored.sort_unstable();
        Some(Reads { stored, n_scalars: scalars.len(), n_nodes })
    }

    /// How a node's inputs are read when it is read so.
    fn descend(&self, id: Id, step: Step, domain: &Groups, stack: &mut Vec<(Id, Step)>) -> Option<()> {
        let node = self.ir.node(id);
        let op = match &node.op {
            IrOp::External(_) | IrOp::Scalar(_) => return Some(()),
            IrOp::Barrier(_) => {
                stack.push((node.inputs[0], step));
                return Some(());
            }
            IrOp::Op(op) => op,
        };
        let all = |step: Step| node.inputs.iter().map(move |input| (*input, step));
        match op {
            Op::Reduce(_, axes) => {
                let input = self.ir.node(node.inputs[0]);
                if step != Step::Row || groups(&input.shape, |a| axes >> a & 1 == 1) != *domain {
                    return None;
                }
                stack.push((node.inputs[0], Step::Full));
            }
            Op::ArgReduce(_, axis) => {
                let input = self.ir.node(node.inputs[0]);
                if step != Step::Row || groups(&input.shape, |a| a == *axis) != *domain {
                    return None;
                }
                stack.push((node.inputs[0], Step::Full));
            }
            Op::Reshape => stack.push((node.inputs[0], step)),
            Op::Expand => {
                let from = &self.ir.node(node.inputs[0]).shape;
                let lead = node.shape.len() - from.len();
                let spread = |a: usize| a < lead || from[a - lead] != node.shape[a];
                let next = if numel(from) == numel(&node.shape) {
                    step
                } else if step == Step::Full && groups(&node.shape, spread) == *domain {
                    Step::Row
                } else {
                    Step::Other
                };
                stack.push((node.inputs[0], next));
            }
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } => stack.extend(all(step)),
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => stack.extend(all(step)),
            Op::DynUpdate { .. } => {
                stack.push((node.inputs[0], step));
                stack.extend(node.inputs[1..].iter().map(|input| (*input, Step::Other)));
            }
            // Element by element the index is read in step; the data is not.
            Op::Gather { .. } => {
                stack.push((node.inputs[0], Step::Other));
                stack.push((node.inputs[1], step));
            }
            Op::Permute(_) | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } | Op::DynSlice { .. } => {
                stack.extend(all(Step::Other));
            }
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => {
                stack.extend(all(Step::Other));
            }
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => stack.extend(all(Step::Other)),
            // Taken apart before; whoever lowers one of them says so.
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => {
                stack.extend(all(Step::Other));
            }
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => stack.extend(all(Step::Other)),
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Copy | Op::Commit | Op::Invalid(_) => stack.extend(all(Step::Other)),
        }
        Some(())
    }

    /// A cluster, unless it has gone into another one.
    fn cluster(&self, index: usize) -> Option<&Cluster> {
        self.clusters.get(index).and_then(Option::as_ref)
    }

    /// A cluster that [`Fusion::cluster_of`] leads to.
    fn alive(&self, index: usize) -> Result<&Cluster, String> {
        self.cluster(index).ok_or_else(|| format!("cluster {index} has gone into another one, and yet a node is said to be in it"))
    }

    /// The message for something impossible about a cluster.
    fn of_cluster(&self, cluster: &Cluster, what: &str) -> String {
        match cluster.made().min() {
            Some(first) => self.ir.impossible(first, what),
            None => format!("a cluster that makes nothing: {what}"),
        }
    }

    /// The clusters that make what a cluster reads.
    fn producers(&self, index: usize) -> Result<SmallVec<[usize; 8]>, String> {
        let mut producers: SmallVec<[usize; 8]> = SmallVec::new();
        for id in &self.alive(index)?.reads {
            match self.cluster_of.get(id) {
                Some(producer) => producers.push(*producer),
                None if self.ir.kind(*id) == Kind::External => {}
                None => return Err(self.ir.impossible(*id, "it is read, and no kernel makes it")),
            }
        }
        producers.sort_unstable_by(|a, b| b.cmp(a));
        producers.dedup();
        Ok(producers)
    }

    /// The earliest node a cluster makes; nothing it reads is made from later ones.
    fn first_node(&self, index: usize) -> Result<Id, String> {
        let cluster = self.alive(index)?;
        cluster.made().min().ok_or_else(|| self.of_cluster(cluster, "it has no first node"))
    }

    /// The latest node a cluster makes.
    fn last_node(&self, index: usize) -> Result<Id, String> {
        let cluster = self.alive(index)?;
        cluster.made().max().ok_or_else(|| self.of_cluster(cluster, "it has no last node"))
    }

    /// Whether `to` needs `from`, directly if `direct`, or by way of another cluster.
    fn depends(&self, to: usize, from: usize, direct: bool) -> Result<bool, String> {
        let floor = self.first_node(from)?;
        let mut seen = FxHashSet::default();
        let mut stack: Vec<usize> = self.producers(to)?.into_iter().filter(|p| direct || *p != from).collect();
        while let Some(index) = stack.pop() {
            if index == from {
                return Ok(true);
            }
            if (self.last_node(index)? < floor && !self.thorough) || !seen.insert(index) {
                continue;
            }
            stack.extend(self.producers(index)?);
        }
        Ok(false)
    }

    /// The two as one, if their domains fit and everything is read in step.
    fn merged(&self, first: &Cluster, second: &Cluster) -> Option<Cluster> {
        // What both compute counts twice: to find out what that is takes a walk, and every large cluster is tried with every other.
        if first.n_nodes + second.n_nodes > MAX_NODES || self.exceeds_buffers(first, second) {
            return None;
        }
        let size = |groups: &Groups| groups.iter().map(|(size, _)| size).product::<usize>();
        let rows = |groups: &Groups| groups.iter().filter(|(_, reduce)| !reduce).map(|(size, _)| size).product::<usize>();
        let is_map = |cluster: &Cluster| cluster.groups.iter().all(|(_, reduce)| !reduce);
        let domain = match (is_map(first), is_map(second)) {
            (true, true) if size(&first.groups) != size(&second.groups) => return None,
            (false, false) if first.groups != second.groups => return None,
            (true, false) => second.groups.clone(),
            _ => first.groups.clone(),
        };
        if first.heavy.is_some() && !domain.iter().all(|(_, reduce)| !reduce) {
            return None;
        }
        let mut roots = Vec::with_capacity(first.roots.len() + second.roots.len());
        for (id, _) in first.roots.iter().chain(&second.roots) {
            let n = self.ir.numel(*id);
            let is_reduce = self.ir.kind(*id) == Kind::Reduce;
            let level = if !is_reduce && n == size(&domain) {
                Level::Full
            } else if n == rows(&domain) {
                Level::Row
            } else {
                return None;
            };
            roots.push((*id, level));
        }
        roots.sort_unstable_by_key(|(id, _)| *id);
        // One very long row would leave the other threads without work: then the maps after it are kernels of their own.
        let row_len = size(&domain) / rows(&domain).max(1);
        let stages = roots.iter().filter(|(id, _)| self.ir.kind(*id) == Kind::Reduce).count();
        let has_full = roots.iter().any(|(_, level)| *level == Level::Full);
        if rows(&domain) < 8 && row_len > 1 << 16 && (stages > 1 || has_full) && stages > 0 {
            return None;
        }
        let mut cluster = Cluster { heavy: first.heavy, roots, groups: domain, ..Cluster::default() };
        let reads = self.reads(&cluster)?;
        let fits = reads.stored.len() + cluster.roots.len() <= self.max_buffers && reads.n_scalars <= self.max_scalars;
        (cluster.reads, cluster.n_nodes) = (reads.stored, reads.n_nodes);
        fits.then_some(cluster)
    }

    /// Whether the two read and write as one more buffers than a kernel passes: what either reads and neither makes, and what both make.
    fn exceeds_buffers(&self, first: &Cluster, second: &Cluster) -> bool {
        let read = n_united(&first.reads, &second.reads);
        let made = first.roots.len() + second.roots.len();
        if read + made <= self.max_buffers {
            return false;
        }
        let is_read = |id: &Id| first.reads.binary_search(id).is_ok() || second.reads.binary_search(id).is_ok();
        let within = first.roots.iter().chain(&second.roots).map(|(id, _)| id).chain(&first.heavy).filter(|id| is_read(id)).count();
        read - within + made > self.max_buffers
    }

    fn replace(&mut self, keep: usize, gone: usize, cluster: Cluster) {
        for (id, _) in &cluster.roots {
            self.cluster_of.insert(*id, keep);
        }
        self.clusters[keep] = Some(cluster);
        self.clusters[gone] = None;
    }

    /// Merges `reader` into `producer` if that is possible. The result is where `producer` was.
    fn try_merge(&mut self, producer: usize, reader: usize) -> Result<bool, String> {
        let (first, second) = (self.alive(producer)?, self.alive(reader)?);
        if second.heavy.is_some() || self.writes_parts(first) || self.writes_parts(second) {
            return Ok(false);
        }
        if first.heavy.is_some_and(|heavy| self.ir.node(heavy).op != IrOp::Op(Op::MatMul)) {
            return Ok(false);
        }
        let Some(merged) = self.merged(first, second) else { return Ok(false) };
        if self.depends(reader, producer, false)? {
            return Ok(false);
        }
        self.replace(producer, reader, merged);
        Ok(true)
    }

    /// A concatenation is written part by part, an update in place: kernels of their own form.
    fn writes_parts(&self, cluster: &Cluster) -> bool {
        cluster.roots.iter().any(|(id, _)| matches!(self.ir.node(*id).op, IrOp::Op(Op::Concat { .. } | Op::DynUpdate { .. })))
    }

    fn readers_of(&self, index: usize) -> Result<Vec<usize>, String> {
        let mut readers: Vec<usize> = Vec::new();
        let mut stack: SmallVec<[Id; 16]> = self.alive(index)?.made().flat_map(|id| self.users[id as usize].iter().copied()).collect();
        let mut seen = FxHashSet::default();
        while let Some(user) = stack.pop() {
            if !seen.insert(user) {
                continue;
            }
            match self.cluster_of.get(&user) {
                Some(cluster) => readers.push(*cluster),
                None => stack.extend(self.users[user as usize].iter().copied()),
            }
        }
        readers.sort_unstable();
        readers.dedup();
        readers.retain(|reader| *reader != index);
        Ok(readers)
    }

    fn attach_epilogues(&mut self) -> Result<(), String> {
        for index in 0..self.clusters.len() {
            // A region of its own, or an epilogue by now.
            let Some(heavy) = self.cluster(index).and_then(|c| c.heavy) else { continue };
            if !matches!(self.ir.node(heavy).op, IrOp::Op(Op::MatMul)) {
                continue;
            }
            // The contraction's own domain, so that a first map can be compared with it.
            if let Some(cluster) = &mut self.clusters[index] {
                cluster.groups = groups(&[self.ir.numel(heavy)], |_| false);
            }
            'again: loop {
                for reader in self.readers_of(index)? {
                    if self.try_merge(index, reader)? {
                        continue 'again;
                    }
                }
                break;
            }
        }
        Ok(())
    }

    fn merge_readers(&mut self) -> Result<(), String> {
        for reader in 0..self.clusters.len() {
            // Merging moves the reader to its producer's place: follow it.
            let mut at = reader;
            'again: loop {
                if self.cluster(at).is_none_or(|c| c.heavy.is_some()) {
                    break;
                }
                for producer in self.producers(at)? {
                    if self.alive(producer)?.heavy.is_none() && self.try_merge(producer, at)? {
                        at = producer;
                        continue 'again;
                    }
                }
                break;
            }
        }
        Ok(())
    }

    fn merge_siblings(&mut self) -> Result<(), String> {
        // By what they read, in the order in which it is found.
        let mut lists: Vec<Vec<usize>> = Vec::new();
        let mut by_read: FxHashMap<Id, usize> = FxHashMap::default();
        for index in 0..self.clusters.len() {
            // Gone into another one.
            let Some(cluster) = self.cluster(index) else { continue };
            let total: usize = cluster.groups.iter().map(|(size, _)| size).product();
            if cluster.heavy.is_some() {
                continue;
            }
            for read in cluster.reads.iter().filter(|id| self.ir.numel(**id) == total) {
                let list = *by_read.entry(*read).or_insert_with(|| {
                    lists.push(Vec::new());
                    lists.len() - 1
                });
                lists[list].push(index);
            }
        }
        for list in lists {
            for (i, first) in list.iter().enumerate() {
                let mut refused = 0;
                for second in &list[i + 1..] {
                    if refused == SIBLINGS || self.cluster(*first).is_none() {
                        break;
                    }
                    refused += usize::from(self.cluster(*second).is_some() && !self.try_merge_siblings(*first, *second)?);
                }
            }
        }
        Ok(())
    }

    fn try_merge_siblings(&mut self, first: usize, second: usize) -> Result<bool, String> {
        let (a, b) = (self.alive(first)?, self.alive(second)?);
        let kinds = |c: &Cluster| c.groups.iter().any(|(_, reduce)| *reduce);
        if first == second || kinds(a) != kinds(b) || self.writes_parts(a) || self.writes_parts(b) {
            return Ok(false);
        }
        let Some(merged) = self.merged(a, b) else { return Ok(false) };
        if self.depends(second, first, true)? || self.depends(first, second, true)? {
            return Ok(false);
        }
        self.replace(first, second, merged);
        Ok(true)
    }

    /// Launch order, and what is stored in the end; `None` if there is no order.
    fn finish(mut self) -> Result<Option<Fused>, String> {
        let mut stored: FxHashSet<Id> = FxHashSet::default();
        for cluster in self.clusters.iter().flatten() {
            stored.extend(cluster.reads.iter().copied());
        }
        for (id, node) in self.ir.nodes.iter().enumerate() {
            if matches!(node.op, IrOp::External(_)) {
                stored.insert(id as Id);
            }
        }
        stored.extend(self.outputs.iter().copied());
        // Order: a cluster comes when all it reads is there; among those, the one whose last node was recorded first.
        let alive: Vec<usize> = (0..self.clusters.len()).filter(|i| self.clusters[*i].is_some()).collect();
        let mut waits: FxHashMap<usize, usize> = FxHashMap::default();
        let mut readers: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut ready = std::collections::BinaryHeap::new();
        // A kernel of its own keeps its rank, whatever its epilogue computes.
        let rank = |fusion: &Self, index: usize| match fusion.alive(index)?.heavy {
            Some(heavy) => Ok(heavy),
            None => fusion.last_node(index),
        };
        for index in &alive {
            let producers: Vec<usize> = self.producers(*index)?.into_iter().filter(|p| p != index).collect();
            waits.insert(*index, producers.len());
            if producers.is_empty() {
                ready.push(std::cmp::Reverse((rank(&self, *index)?, *index)));
            }
            for producer in producers {
                readers.entry(producer).or_default().push(*index);
            }
        }
        let mut order = Vec::with_capacity(alive.len());
        while let Some(std::cmp::Reverse((_, index))) = ready.pop() {
            order.push(index);
            for reader in readers.remove(&index).into_iter().flatten() {
                let left = waits.get_mut(&reader).ok_or_else(|| format!("cluster {reader} waits for {index} and is not alive"))?;
                *left -= 1;
                if *left == 0 {
                    ready.push(std::cmp::Reverse((rank(&self, reader)?, reader)));
                }
            }
        }
        if order.len() < alive.len() {
            return Ok(None);
        }
        let taken = order.into_iter().map(|index| self.clusters[index].take().ok_or_else(|| format!("cluster {index} is ready twice")));
        let prologues = std::mem::take(&mut self.prologues);
        Ok(Some(Fused { clusters: taken.collect::<Result<_, String>>()?, stored, prologues }))
    }
}
