//! Order: in which sequence clusters run, and what is stored in the end.
//!
//! In: the merged clusters. Out: [`Fused`].

use super::{Fused, Fusion};
use crate::ir::{Id, IrOp};
use rustc_hash::FxHashSet;
use unigrad_graph::NodeId;

impl Fusion<'_> {
    /// Launch order, and what is stored in the end.
    pub(super) fn finish(mut self) -> Result<Fused, String> {
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
        // Order: a cluster comes when all it reads is there; among those, the one whose last node was recorded first. So the gradients of a layer are
        // done, and what they read is free, before those of the layer below.
        let alive: Vec<usize> = (0..self.clusters.len()).filter(|i| self.clusters[*i].is_some()).collect();
        let mut waits = vec![0; self.clusters.len()];
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.clusters.len()];
        let mut ready = std::collections::BinaryHeap::new();
        // A kernel of its own keeps its rank, whatever its epilogue computes.
        let rank = |fusion: &Self, index: usize| -> Result<(NodeId, Id), String> {
            let cluster = fusion.alive(index)?;
            let at = |id: Id| (fusion.ir.node(id).recorded, id);
            let last = || cluster.roots.iter().map(|(root, _)| at(*root)).max();
            cluster.heavy.map(at).or_else(last).ok_or_else(|| fusion.of_cluster(cluster, "it has no last node"))
        };
        for index in &alive {
            for producer in self.producers(*index)?.into_iter().filter(|producer| producer != index) {
                waits[*index] += 1;
                readers[producer].push(*index);
            }
            if waits[*index] == 0 {
                ready.push(std::cmp::Reverse((rank(&self, *index)?, *index)));
            }
        }
        let mut order = Vec::with_capacity(alive.len());
        while let Some(std::cmp::Reverse((_, index))) = ready.pop() {
            order.push(index);
            for reader in std::mem::take(&mut readers[index]) {
                waits[reader] -= 1;
                if waits[reader] == 0 {
                    ready.push(std::cmp::Reverse((rank(&self, reader)?, reader)));
                }
            }
        }
        if order.len() < alive.len() {
            return Err("there is no order in which every kernel finds what it reads".into());
        }
        let taken = order.into_iter().map(|index| self.clusters[index].take().ok_or_else(|| format!("cluster {index} is ready twice")));
        let clusters = taken.collect::<Result<_, String>>()?;
        Ok(Fused { clusters, stored, prologues: std::mem::take(&mut self.prologues) })
    }
}
