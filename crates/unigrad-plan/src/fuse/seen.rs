//! Sets of nodes and of clusters, by their numbers.

use crate::ir::Id;

/// A set of small numbers that is emptied at once: merging asks for one of up to a region's nodes at every attempt.
#[derive(Default)]
pub(super) struct Seen {
    stamps: Vec<u32>,
    now: u32,
}

impl Seen {
    pub(super) fn empty(&mut self, numbers: usize) {
        if self.stamps.len() != numbers || self.now == u32::MAX {
            (self.stamps, self.now) = (vec![0; numbers], 0);
        }
        self.now += 1;
    }

    /// Whether it was not in the set before.
    pub(super) fn insert(&mut self, number: usize) -> bool {
        std::mem::replace(&mut self.stamps[number], self.now) != self.now
    }
}

/// A set of nodes of a graph.
pub(crate) struct Nodes(Vec<bool>);

impl Nodes {
    /// None of so many.
    pub(super) fn none(of: usize) -> Nodes {
        Nodes(vec![false; of])
    }

    pub(crate) fn contains(&self, id: &Id) -> bool {
        self.0[*id as usize]
    }

    /// Adds a node.
    pub(crate) fn insert(&mut self, id: Id) {
        self.0[id as usize] = true;
    }

    /// In order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Id> {
        self.0.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(id, _)| id as Id)
    }
}

/// The cluster that makes each node.
pub(super) struct Makers(Vec<u32>);

/// What makes a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Maker {
    Cluster(usize),
    /// It is there before the plan runs.
    External,
    /// It is computed wherever it is read.
    Reader,
}

const EXTERNAL: u32 = u32::MAX;
const READER: u32 = u32::MAX - 1;

impl Makers {
    /// Of so many nodes, which are all computed where they are read, but for those that are there.
    pub(super) fn new(of: usize, is_external: impl Fn(Id) -> bool) -> Makers {
        Makers((0..of as Id).map(|id| if is_external(id) { EXTERNAL } else { READER }).collect())
    }

    pub(super) fn of(&self, id: Id) -> Maker {
        match self.0[id as usize] {
            EXTERNAL => Maker::External,
            READER => Maker::Reader,
            cluster => Maker::Cluster(cluster as usize),
        }
    }

    pub(super) fn set(&mut self, id: Id, cluster: usize) {
        self.0[id as usize] = cluster as u32;
    }
}
