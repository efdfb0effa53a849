//! Order: in which sequence clusters run, and what is stored in the end.
//!
//! In: the merged clusters. Out: [`Fused`], or nothing if clusters wait for each other.

use super::{Fused, Fusion};
use crate::ir::{Id, IrOp};
use rustc_hash::{FxHashMap, FxHashSet};

impl Fusion<'_> {
    /// Launch order, and what is stored in the end; `None` if there is no order.
    pub(super) fn finish(mut self) -> Result<Option<Fused>, String> {
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
        Ok(Some(Fused { clusters: taken.collect::<Result<_, String>>()?, stored }))
    }
}
