//! Order: in which sequence clusters run, and what is stored in the end.
//!
//! In: the merged clusters. Out: [`Fused`].

use super::{Fused, Fusion};
use crate::ir::{Id, IrOp, Kind};
use rustc_hash::{FxHashMap, FxHashSet};
use unigrad_graph::NodeId;
use unigrad_kernel::Level;

/// When something was recorded: the graph's node, and the compiler's; and whether it comes after others that were recorded then.
type Rank = (NodeId, Id, bool);

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
        let order = self.in_order()?;
        let taken = order.into_iter().map(|index| self.clusters[index].take().ok_or_else(|| format!("cluster {index} is ready twice")));
        let clusters = taken.collect::<Result<_, String>>()?;
        Ok(Fused { clusters, stored, prologues: std::mem::take(&mut self.prologues) })
    }

    /// The clusters, as they run. A cluster comes when all it reads is there; among those, the one whose last node was recorded first. So the gradients
    /// of a layer are done, and what they read is free, before those of the layer below. What makes single numbers comes as early as what needs it:
    /// an optimizer's step asks last whether its indices are right, and no weight's update, nor what that reads in memory, waits for the answer.
    fn in_order(&self) -> Result<Vec<usize>, String> {
        let alive: Vec<usize> = (0..self.clusters.len()).filter(|i| self.clusters[*i].is_some()).collect();
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); self.clusters.len()];
        let mut producers: Vec<Vec<usize>> = vec![Vec::new(); self.clusters.len()];
        let mut ranks: Vec<Rank> = vec![Rank::default(); self.clusters.len()];
        for index in &alive {
            ranks[*index] = self.rank(*index)?;
            producers[*index] = self.producers(*index)?.into_iter().filter(|producer| producer != index).collect();
            producers[*index].iter().for_each(|producer| readers[*producer].push(*index));
        }
        self.sum_early(&alive, &mut ranks)?;
        let makes_numbers = |index: usize| {
            let cluster = self.cluster(index)?;
            Some(cluster.heavy.is_none() && cluster.roots.iter().all(|(root, _)| self.ir.numel(*root) <= 1))
        };
        // Downwards from what has no reader.
        let mut waits: Vec<usize> = readers.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = alive.iter().copied().filter(|index| waits[*index] == 0).collect();
        while let Some(index) = free.pop() {
            for producer in &producers[index] {
                if makes_numbers(*producer) == Some(true) {
                    ranks[*producer] = ranks[*producer].min(ranks[index]);
                }
                waits[*producer] -= 1;
                if waits[*producer] == 0 {
                    free.push(*producer);
                }
            }
        }
        let mut waits: Vec<usize> = producers.iter().map(Vec::len).collect();
        let at = |index: usize| std::cmp::Reverse((ranks[index], index));
        let mut ready: std::collections::BinaryHeap<_> = alive.iter().copied().filter(|index| waits[*index] == 0).map(at).collect();
        let mut order = Vec::with_capacity(alive.len());
        while let Some(std::cmp::Reverse((_, index))) = ready.pop() {
            order.push(index);
            for reader in &readers[index] {
                waits[*reader] -= 1;
                if waits[*reader] == 0 {
                    ready.push(at(*reader));
                }
            }
        }
        match order.len() == alive.len() {
            true => Ok(order),
            false => Err("there is no order in which every kernel finds what it reads".into()),
        }
    }

    /// What sums rows and then computes with the sums alone, as the gradient of a bias and its update by an optimizer, comes when the sums can be made:
    /// they keep alive what they sum. It comes after all that reads the inputs that it may overwrite.
    fn sum_early(&self, alive: &[usize], ranks: &mut [Rank]) -> Result<(), String> {
        let is_sum = |id: &Id| self.ir.kind(*id) == Kind::Reduce && self.ir.numel(*id) > 1;
        let sums = |index: usize| -> Result<Option<Id>, String> {
            let cluster = self.alive(index)?;
            let only_rows = cluster.heavy.is_none() && cluster.roots.iter().all(|(_, level)| *level == Level::Row);
            let last = cluster.roots.iter().map(|(root, _)| *root).filter(is_sum).max_by_key(|root| (self.ir.node(*root).recorded, *root));
            Ok(last.filter(|_| only_rows))
        };
        let mut early: Vec<(usize, Id)> = Vec::new();
        // By input of several elements: when the last of the others reads it.
        let mut read_by: FxHashMap<Id, Rank> = FxHashMap::default();
        let is_input = |id: &Id| self.ir.kind(*id) == Kind::External && self.ir.numel(*id) > 1;
        for index in alive {
            if let Some(sum) = sums(*index)? {
                early.push((*index, sum));
                continue;
            }
            for id in self.alive(*index)?.reads.iter().filter(|id| is_input(id)) {
                let last = read_by.entry(*id).or_default();
                *last = ranks[*index].max(*last);
            }
        }
        for (index, sum) in early {
            let (recorded, id, _) = self
                .alive(index)?
                .reads
                .iter()
                .filter_map(|id| read_by.get(id))
                .copied()
                .fold((self.ir.node(sum).recorded, sum, true), Rank::max);
            ranks[index] = (recorded, id, true).min(ranks[index]);
        }
        Ok(())
    }

    /// When a cluster's last node was recorded. A kernel of its own keeps its rank, whatever its epilogue computes.
    fn rank(&self, index: usize) -> Result<Rank, String> {
        let cluster = self.alive(index)?;
        let at = |id: Id| (self.ir.node(id).recorded, id, false);
        let last = || cluster.roots.iter().map(|(root, _)| at(*root)).max();
        cluster.heavy.map(at).or_else(last).ok_or_else(|| self.of_cluster(cluster, "it has no last node"))
    }
}
