//! A number for each of some nodes, by their ids.
//!
//! In: nodes with small numbers. Out: the number of a node, if it was given one.
//! Always: nodes made shortly before the newest one, as those of one training step, are found by their distance to it, without a hash; older ones,
//! as parameters, are in a map. The table of the near ones grows with what is put in, not with the ids.
//! Never: holds a node, or two numbers for one.

use crate::NodeId;
use rustc_hash::FxHashMap;

/// Numbers by node.
#[derive(Debug)]
pub struct NodeIndex {
    /// No id is greater.
    newest: NodeId,
    /// By distance to the newest node, plus one; 0 for none.
    near: Vec<u32>,
    far: FxHashMap<NodeId, u32>,
    /// The least distance of one in `far`.
    nearest_far: usize,
    len: usize,
}

/// Distances up to which nodes are near in any case, and for each that is in.
const NEAR: usize = 1024;
const NEAR_PER_NODE: usize = 16;

impl NodeIndex {
    /// For nodes with ids up to `newest`.
    pub fn new(newest: NodeId) -> NodeIndex {
        NodeIndex { newest, near: vec![0; NEAR], far: FxHashMap::default(), nearest_far: usize::MAX, len: 0 }
    }

    #[inline]
    fn distance(&self, id: NodeId) -> usize {
        // A greater id than was told is far: ids are below 2^63.
        self.newest.wrapping_sub(id) as usize
    }

    /// The node's number.
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<u32> {
        let distance = self.distance(id);
        match self.near.get(distance) {
            Some(0) | None if distance < self.nearest_far => None,
            Some(0) | None => self.far.get(&id).copied(),
            Some(number) => Some(number - 1),
        }
    }

    /// Gives a node that has none a number (below `u32::MAX`).
    #[inline]
    pub fn insert(&mut self, id: NodeId, number: u32) {
        let distance = self.distance(id);
        self.len += 1;
        if distance >= self.near.len() {
            if distance >= NEAR + NEAR_PER_NODE * self.len {
                self.nearest_far = self.nearest_far.min(distance);
                self.far.insert(id, number);
                return;
            }
            self.near.resize((distance + 1).next_power_of_two(), 0);
        }
        self.near[distance] = number + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn it_is_a_map_whatever_the_order_and_distance() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        for spread in [1, 3, 20, 1000, 1 << 30] {
            let newest = 1 << 40;
            let (mut index, mut map) = (NodeIndex::new(newest), HashMap::new());
            for n in 0..5000 {
                let id = newest - random() % (5000 * spread);
                assert_eq!(index.get(id), map.get(&id).copied());
                map.entry(id).or_insert_with(|| {
                    index.insert(id, n);
                    n
                });
            }
            for (id, n) in &map {
                assert_eq!(index.get(*id), Some(*n));
                assert_eq!(index.get(id + 1), map.get(&(id + 1)).copied());
            }
            // Not the ids but what is in it takes memory.
            assert!(index.near.len() <= 2 * (NEAR + NEAR_PER_NODE * map.len()), "{}", index.near.len());
        }
    }
}
