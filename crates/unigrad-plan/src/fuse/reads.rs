//! What a cluster takes in: the stored nodes that it reads, and whether each is read in step.
//!
//! In: a cluster's roots and its domain. Out: what is read, or nothing if it would read a node of its own out of step; and which clusters make it.
//! Always: linear in the nodes that the cluster computes. Never: decides what merges.

use super::seen::Maker;
use super::{Cluster, Fusion, Groups, groups};
use crate::ir::{Id, IrOp};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use unigrad_graph::{Op, numel};
use unigrad_kernel::Level;

/// What a cluster takes in.
pub(super) struct Reads {
    /// Stored nodes, ascending.
    pub(super) stored: Vec<Id>,
    /// How many run-time scalars.
    pub(super) n_scalars: usize,
    /// How many nodes it computes.
    pub(super) n_nodes: usize,
}

/// How a node is read from a region's points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum ReadAs {
    /// Each point reads the element of its own index.
    Full,
    /// Each row reads the element of the row's index.
    Row,
    /// Anything else.
    Other,
}

impl Fusion<'_> {
    /// What a cluster takes in; `None` if it would read a node of its own out of step.
    pub(super) fn reads(&self, cluster: &Cluster) -> Option<Reads> {
        let n = self.ir.nodes.len();
        let mut seen = self.seen.borrow_mut();
        seen.empty(4 * n);
        let (mut stored, mut n_nodes) = (Vec::new(), 0);
        let mut scalars: FxHashSet<u32> = FxHashSet::default();
        let mut stack: Vec<(Id, ReadAs)> = Vec::new();
        if let Some(heavy) = cluster.heavy {
            stack.extend(self.ir.node(heavy).inputs.iter().map(|input| (*input, ReadAs::Other)));
        }
        for (root, level) in &cluster.roots {
            let step = if *level == Level::Full { ReadAs::Full } else { ReadAs::Row };
            self.descend(*root, step, &cluster.groups, &mut stack)?;
        }
        while let Some((id, step)) = stack.pop() {
            if !seen.insert(3 * id as usize + step as usize) {
                continue;
            }
            n_nodes += 1;
            if cluster.heavy == Some(id) {
                if step != ReadAs::Full {
                    return None;
                }
                continue;
            }
            if let Ok(root) = cluster.roots.binary_search_by_key(&id, |(root, _)| *root) {
                let level = cluster.roots[root].1;
                let in_step = matches!((level, step), (Level::Full, ReadAs::Full) | (Level::Row, ReadAs::Row));
                if !in_step {
                    return None;
                }
                continue;
            }
            if self.makers.of(id) != Maker::Reader {
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
    fn descend(&self, id: Id, step: ReadAs, domain: &Groups, stack: &mut Vec<(Id, ReadAs)>) -> Option<()> {
        let node = self.ir.node(id);
        let op = match &node.op {
            IrOp::External(_) | IrOp::Scalar(_) => return Some(()),
            IrOp::Barrier(_) | IrOp::Dense => {
                stack.push((node.inputs[0], step));
                return Some(());
            }
            IrOp::Op(op) => op,
        };
        let all = |step: ReadAs| node.inputs.iter().map(move |input| (*input, step));
        match op {
            Op::Reduce(_, axes) => {
                let input = self.ir.node(node.inputs[0]);
                if step != ReadAs::Row || groups(&input.shape, |a| axes >> a & 1 == 1) != *domain {
                    return None;
                }
                stack.push((node.inputs[0], ReadAs::Full));
            }
            Op::ArgReduce(_, axis) => {
                let input = self.ir.node(node.inputs[0]);
                if step != ReadAs::Row || groups(&input.shape, |a| a == *axis) != *domain {
                    return None;
                }
                stack.push((node.inputs[0], ReadAs::Full));
            }
            Op::Reshape => stack.push((node.inputs[0], step)),
            Op::Expand => {
                let from = &self.ir.node(node.inputs[0]).shape;
                let lead = node.shape.len() - from.len();
                let spread = |a: usize| a < lead || from[a - lead] != node.shape[a];
                let next = if numel(from) == numel(&node.shape) {
                    step
                } else if step == ReadAs::Full && groups(&node.shape, spread) == *domain {
                    ReadAs::Row
                } else {
                    ReadAs::Other
                };
                stack.push((node.inputs[0], next));
            }
            Op::Const(_) | Op::Iota { .. } | Op::Random { .. } => stack.extend(all(step)),
            Op::Unary(_) | Op::Binary(_) | Op::Where | Op::Cast | Op::Bitcast | Op::Bounded { .. } => stack.extend(all(step)),
            Op::DynUpdate { .. } => {
                stack.push((node.inputs[0], step));
                stack.extend(node.inputs[1..].iter().map(|input| (*input, ReadAs::Other)));
            }
            // Element by element the index is read in step; the data is not.
            Op::Gather { .. } => {
                stack.push((node.inputs[0], ReadAs::Other));
                stack.push((node.inputs[1], step));
            }
            Op::Permute(_) | Op::Slice(_) | Op::Pad(..) | Op::Concat { .. } | Op::Window { .. } | Op::DynSlice { .. } => {
                stack.extend(all(ReadAs::Other));
            }
            Op::Scan { .. } | Op::Scatter { .. } | Op::ArgSort { .. } | Op::TopK { .. } | Op::MatMul | Op::Kernel(_) => {
                stack.extend(all(ReadAs::Other));
            }
            Op::Attention(_) | Op::AttentionGrad(_) | Op::MaxPool(_) | Op::Part(_) => stack.extend(all(ReadAs::Other)),
            // Taken apart before; the code that lowers one of them says so.
            Op::Buffer | Op::Scalar | Op::Variable(_) | Op::Conv(_) | Op::ConvDataGrad(_) | Op::ConvWeightGrad(_) => {
                stack.extend(all(ReadAs::Other));
            }
            Op::Softmax { .. } | Op::LogSoftmax { .. } | Op::Normalize { .. } => stack.extend(all(ReadAs::Other)),
            Op::Barrier | Op::Custom(_) | Op::Composite(_) | Op::Loop(_) | Op::Copy | Op::Commit(_) | Op::Invalid(_) => {
                stack.extend(all(ReadAs::Other))
            }
        }
        Some(())
    }

    /// The clusters that make what a cluster reads.
    pub(super) fn producers(&self, index: usize) -> Result<SmallVec<[usize; 8]>, String> {
        let mut producers: SmallVec<[usize; 8]> = SmallVec::new();
        for id in &self.alive(index)?.reads {
            match self.makers.of(*id) {
                Maker::Cluster(producer) => producers.push(producer),
                Maker::External => {}
                Maker::Reader => return Err(self.ir.impossible(*id, "it is read, and no kernel makes it")),
            }
        }
        producers.sort_unstable_by(|a, b| b.cmp(a));
        producers.dedup();
        Ok(producers)
    }
}
