//! A number for each of some nodes, by their ids.
//!
//! In: nodes with small numbers. Out: the number of a node, if it was given one.
//! Always: nodes made shortly before the newest one, as those of one training step, are found by their distance to it, without a hash; older ones,
//! as parameters, are in a map. The table of the near ones grows with what is put in, not with the ids; a thread keeps one for the next index, so that
//! none is made and cleared for each step.
//! Never: holds a node, or two numbers for one.

use crate::NodeId;
use rustc_hash::FxHashMap;
use std::cell::Cell;

/// Numbers by node.
#[derive(Debug)]
pub struct NodeIndex {
    /// No id is greater.
    newest: NodeId,
    /// By distance to the newest node: the table's round, and the number. Entries of other rounds are of indices before.
    near: Vec<(u32, u32)>,
    round: u32,
    far: FxHashMap<NodeId, u32>,
    /// The least distance of one in `far`.
    nearest_far: usize,
    len: usize,
}

/// Distances up to which nodes are near in any case, and for each that is in.
const NEAR: usize = 1024;
const NEAR_PER_NODE: usize = 16;
/// Entries of a table that is kept.
const MOST_KEPT: usize = 1 << 16;

thread_local! {
    /// The thread's last table, and its last round.
    static KEPT: Cell<(Vec<(u32, u32)>, u32)> = const { Cell::new((Vec::new(), 0)) };
}

impl NodeIndex {
    /// For nodes with ids up to `newest`.
    pub fn new(newest: NodeId) -> NodeIndex {
        // A second index of the thread, or one while the thread ends, makes a table of its own.
        let (mut near, last) = KEPT.try_with(Cell::take).unwrap_or_default();
        let round = last.checked_add(1).unwrap_or_else(|| {
            near.clear();
            1
        });
        if near.len() < NEAR {
            near.resize(NEAR, (0, 0));
        }
        NodeIndex { newest, near, round, far: FxHashMap::default(), nearest_far: usize::MAX, len: 0 }
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
            Some((round, number)) if *round == self.round => Some(*number),
            _ if distance < self.nearest_far => None,
            _ => self.far.get(&id).copied(),
        }
    }

    /// Gives a node that has none a number (below `u32::MAX`).
    #[inline]
    pub fn insert(&mut self, id: NodeId, number: u32) {
        let distance = self.distance(id);
        self.len += 1;
        match self.near.get_mut(distance) {
            Some(entry) => *entry = (self.round, number),
            None => self.insert_beyond(id, distance, number),
        }
    }

    /// As [`NodeIndex::insert`], beyond the table's end.
    #[cold]
    fn insert_beyond(&mut self, id: NodeId, distance: usize, number: u32) {
        if distance >= NEAR + NEAR_PER_NODE * self.len {
            self.nearest_far = self.nearest_far.min(distance);
            self.far.insert(id, number);
            return;
        }
        self.near.resize((distance + 1).next_power_of_two(), (0, 0));
        self.near[distance] = (self.round, number);
    }
}

impl Drop for NodeIndex {
    fn drop(&mut self) {
        if self.near.len() <= MOST_KEPT {
            // Nothing to keep while the thread ends.
            let _ = KEPT.try_with(|kept| kept.set((std::mem::take(&mut self.near), self.round)));
        }
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
            // The next one begins with the table of this one, and with nothing in it; so does one beside it, without the table.
            drop(index);
            let (next, beside) = (NodeIndex::new(newest), NodeIndex::new(newest));
            assert!(map.keys().all(|id| next.get(*id).is_none() && beside.get(*id).is_none()));
        }
    }
}
