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
//! 3. siblings that read the same large buffer join;
//! 4. so do single values that the same clusters read.
//!
//! No region grows beyond a number of nodes, nor beyond the buffers and run-time scalars that the device's launches can pass.
//! What no other cluster reads is then not stored after all: it stays on chip.
//! What chunks of rows share no kernel for ([`crate::chunks`]) stays apart.
//! Always: the result is the same for the same graph. Never: changes what is computed.

//! The way: `crate::mark` (what may be stored) → `reads` (what a cluster takes in, and how) → `merge` (which join, in an order that `ranks` keeps)
//! → `order` (when each runs).

mod merge;
mod order;
mod ranks;
mod reads;
mod seen;
mod views;

pub(crate) use views::{home, reads_through_views, view_base};

use crate::chunks::Apart;
use crate::ir::{Id, Ir, IrOp, Kind};
use crate::plan::Options;
use ranks::Ranks;
use rustc_hash::{FxHashMap, FxHashSet};
use seen::{Maker, Makers, Nodes, Seen};
use smallvec::SmallVec;
use std::cell::RefCell;
use unigrad_graph::{Op, numel};
use unigrad_kernel::Level;

/// Most buffers of one kernel, whatever the device takes.
const MAX_BUFFERS: usize = 28;
/// Bytes of arguments that a kernel's own numbers take beside what the graph gives it: lengths, where index errors go.
pub(crate) const OWN_BYTES: usize = 256;
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

pub(crate) struct Fusion<'a> {
    pub(crate) ir: &'a Ir,
    pub(crate) outputs: &'a FxHashSet<Id>,
    /// Candidates for storage: every cluster root and heavy node.
    pub(crate) marked: Nodes,
    /// See [`Fused::prologues`].
    pub(crate) prologues: FxHashSet<Id>,
    /// Those that decode what the plan stores for them: they are not stored for any number of readers.
    pub(crate) decoded: FxHashSet<Id>,
    clusters: Vec<Option<Cluster>>,
    makers: Makers,
    /// In which order they can run; of all clusters, once there are all.
    ranks: Ranks,
    pub(crate) users: Vec<SmallVec<[Id; 4]>>,
    /// See [`Options::recompute`].
    pub(crate) recompute: usize,
    /// Most buffers and most run-time scalars of a kernel.
    pub(crate) max_buffers: usize,
    pub(crate) max_scalars: usize,
    /// What [`Fusion::reads`] has seen: a step of a node at three times its number, then a read of a node.
    seen: RefCell<Seen>,
    /// What a library of products does inside of them: by product, the results that may be stored by it. A product that is not here takes in
    /// whatever fits.
    pub(crate) spoken: FxHashMap<Id, SmallVec<[Id; 2]>>,
    /// See [`Apart`].
    pub(crate) apart: &'a Apart,
    /// The products of windows that a library is asked for, as convolutions with their padding.
    pub(crate) convolved: FxHashSet<Id>,
}

/// Fuses for a device; without [`Options::fusion`] every op is a kernel of its own. `apart`: what is stored whatever it costs, and what shares no
/// kernel.
pub(crate) fn fuse<'a>(ir: &'a Ir, outputs: &'a FxHashSet<Id>, apart: &'a Apart, options: Options) -> Result<Fused, String> {
    let Options { fusion: enabled, limits, .. } = options;
    // A kernel of more buffers than the device takes is divided by its driver: each part has at most those that it does take.
    let buffer_bytes = limits.buffer_bytes.saturating_mul(limits.buffers.min(MAX_BUFFERS));
    let scalar_bytes = limits.bytes.saturating_sub(OWN_BYTES).saturating_sub(buffer_bytes);
    let mut fusion = Fusion {
        ir,
        outputs,
        marked: Nodes::none(ir.nodes.len()),
        prologues: FxHashSet::default(),
        decoded: FxHashSet::default(),
        clusters: Vec::new(),
        makers: Makers::new(ir.nodes.len(), |id| ir.kind(id) == Kind::External),
        ranks: Ranks::new(Vec::new()),
        users: ir.users(),
        recompute: options.recompute,
        max_buffers: MAX_BUFFERS,
        max_scalars: (scalar_bytes / size_of::<u64>()).max(MIN_SCALARS),
        seen: RefCell::default(),
        spoken: FxHashMap::default(),
        apart,
        convolved: FxHashSet::default(),
    };
    if enabled && let Some(library) = &options.library {
        fusion.listen(library, options.tf32);
    }
    apart.stored.iter().for_each(|id| fusion.marked.insert(*id));
    fusion.spoken.extend(apart.products.iter().map(|(product, sum)| (*product, SmallVec::from_slice(&[*sum]))));
    fusion.mark(enabled)?;
    fusion.begin()?;
    if enabled {
        fusion.attach_epilogues()?;
        fusion.merge_readers()?;
        fusion.merge_siblings()?;
        fusion.merge_numbers()?;
    }
    fusion.finish()
}

impl Fusion<'_> {
    fn begin(&mut self) -> Result<(), String> {
        for id in self.marked.iter() {
            let node = self.ir.node(id);
            let index = self.clusters.len();
            let cluster = match (&node.op, self.ir.kind(id)) {
                (IrOp::Op(Op::Part(_)), _) => {
                    let Maker::Cluster(whole) = self.makers.of(node.inputs[0]) else {
                        return Err(self.ir.impossible(id, "a part of what no kernel makes"));
                    };
                    self.makers.set(id, whole);
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
            self.makers.set(id, index);
            self.clusters.push(Some(cluster));
        }
        for index in 0..self.clusters.len() {
            if let Some(cluster) = self.clusters[index].take() {
                let reads = self.reads(&cluster).ok_or_else(|| self.of_cluster(&cluster, "it is read out of step by itself"))?;
                self.clusters[index] = Some(Cluster { reads: reads.stored, n_nodes: reads.n_nodes, ..cluster });
            }
        }
        let below = (0..self.clusters.len()).map(|index| Ok(self.producers(index)?.into_iter().map(|producer| producer as u32).collect()));
        self.ranks = Ranks::new(below.collect::<Result<_, String>>()?);
        Ok(())
    }

    /// A cluster, unless it has gone into another one.
    fn cluster(&self, index: usize) -> Option<&Cluster> {
        self.clusters.get(index).and_then(Option::as_ref)
    }

    /// A cluster that [`Fusion::makers`] leads to.
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
}
