//! Merging: which clusters become one.
//!
//! In: clusters of one stored node each. Out: fewer, by the four rules of [`super`], greedily and in a fixed order.
//! Always: a merge keeps the domain's form, what a launch can pass, and an order in which clusters can run.

use super::seen::Maker;
use super::{Cluster, Fusion, Groups, groups};
use crate::ir::{Id, IrOp, Kind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use unigrad_graph::Op;
use unigrad_kernel::Level;

/// Most nodes of one region: a chain of any length becomes regions of this length, which compile in time that is linear in the chain.
const MAX_NODES: usize = 1024;
/// Siblings that a cluster is tried with in vain before it is left alone: buffers that thousands read would be tried by all pairs of them.
const SIBLINGS: usize = 64;
/// Readers and nodes that may be looked at to join single values: so many for all graphs, and so many more for each cluster.
const LOOKS: usize = 1 << 14;
const LOOKS_EACH: usize = 2;

/// How many numbers are in either of two ascending lists.
fn n_united(a: &[Id], b: &[Id]) -> usize {
    let (mut i, mut j, mut both) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        both += usize::from(x == y);
        (i, j) = (i + usize::from(x <= y), j + usize::from(y <= x));
    }
    a.len() + b.len() - both
}

impl Fusion<'_> {
    /// The two as one, if their domains fit and everything is read in step.
    fn merged(&self, first: &Cluster, second: &Cluster) -> Option<Cluster> {
        // What both compute counts twice: to find out what that is takes a walk, and every large cluster is tried with every other.
        if first.n_nodes + second.n_nodes > MAX_NODES || self.exceeds_buffers(first, second) {
            return None;
        }
        if self.apart.are_of_several(first.made().chain(second.made())) {
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
        // An epilogue has no rows: a reduction has no place there, not even one over an axis of one element.
        let reduces = || first.roots.iter().chain(&second.roots).any(|(id, _)| self.ir.kind(*id) == Kind::Reduce);
        if first.heavy.is_some() && (!domain.iter().all(|(_, reduce)| !reduce) || reduces()) {
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
            self.makers.set(*id, keep);
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
        if !self.ranks.join(producer, reader, false) {
            return Ok(false);
        }
        self.replace(producer, reader, merged);
        Ok(true)
    }

    /// A concatenation is written part by part, an update in place: kernels of their own form.
    fn writes_parts(&self, cluster: &Cluster) -> bool {
        cluster.roots.iter().any(|(id, _)| matches!(self.ir.node(*id).op, IrOp::Op(Op::Concat { .. } | Op::DynUpdate { .. })))
    }

    /// The clusters that read what a cluster makes, ascending.
    fn readers_of(&self, index: usize) -> Result<Vec<usize>, String> {
        let mut readers: Vec<usize> = Vec::new();
        self.visit_readers(index, |reader| {
            readers.push(reader);
            true
        })?;
        readers.sort_unstable();
        readers.dedup();
        Ok(readers)
    }

    /// Whether these ascending clusters, and no others, read what a cluster makes. It looks no further than the first other one: thousands may read
    /// a number.
    fn is_read_by(&self, index: usize, readers: &[usize]) -> Result<bool, String> {
        let mut found: SmallVec<[bool; 8]> = SmallVec::from_elem(false, readers.len());
        let only_these = self.visit_readers(index, |reader| match readers.binary_search(&reader) {
            Ok(at) => {
                found[at] = true;
                true
            }
            Err(_) => false,
        })?;
        Ok(only_these && found.iter().all(|is_found| *is_found))
    }

    /// Calls a function with each other cluster that reads what a cluster makes, by the nodes through which it does so, until it says `false`.
    /// The result: whether it never did.
    fn visit_readers(&self, index: usize, mut visit: impl FnMut(usize) -> bool) -> Result<bool, String> {
        let mut seen = self.seen.borrow_mut();
        seen.empty(4 * self.ir.nodes.len());
        let mut lists: SmallVec<[std::slice::Iter<'_, Id>; 16]> =
            self.alive(index)?.made().map(|id| self.users[id as usize].iter()).collect();
        while let Some(list) = lists.last_mut() {
            let Some(user) = list.next() else {
                lists.pop();
                continue;
            };
            if !seen.insert(*user as usize) {
                continue;
            }
            match self.makers.of(*user) {
                Maker::Cluster(cluster) if cluster == index => {}
                Maker::Cluster(cluster) if visit(cluster) => {}
                Maker::Cluster(_) => return Ok(false),
                Maker::External => return Err(self.ir.impossible(*user, "data that is made from something")),
                Maker::Reader => lists.push(self.users[*user as usize].iter()),
            }
        }
        Ok(true)
    }

    pub(super) fn attach_epilogues(&mut self) -> Result<(), String> {
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
                    let is_let_in = self.may_take_in(heavy, self.alive(reader)?.made());
                    if is_let_in && self.try_merge(index, reader)? {
                        continue 'again;
                    }
                }
                break;
            }
        }
        Ok(())
    }

    pub(super) fn merge_readers(&mut self) -> Result<(), String> {
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

    pub(super) fn merge_siblings(&mut self) -> Result<(), String> {
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
        let mut refused = vec![0; self.clusters.len()];
        for list in lists {
            for (i, first) in list.iter().enumerate() {
                for second in &list[i + 1..] {
                    if refused[*first] == SIBLINGS || self.cluster(*first).is_none() {
                        break;
                    }
                    refused[*first] += usize::from(self.cluster(*second).is_some() && !self.try_merge_siblings(*first, *second)?);
                }
            }
        }
        Ok(())
    }

    /// Single values that the same clusters read are made by one launch, whatever they are made from: what an optimizer counts, and the factor of its gradients.
    /// No cluster waits for them longer than before, for what reads the one reads the other.
    pub(super) fn merge_numbers(&mut self) -> Result<(), String> {
        let is_one_row = |cluster: &Cluster| cluster.heavy.is_none() && cluster.groups.iter().all(|(_, reduce)| *reduce);
        // In a graph of nothing but single values there are as many pairs as in any other of clusters.
        let mut looks = LOOKS + LOOKS_EACH * self.clusters.len();
        for index in 0..self.clusters.len() {
            if !self.cluster(index).is_some_and(|cluster| is_one_row(cluster) && cluster.groups.is_empty()) {
                continue;
            }
            let mut at = index;
            let readers = self.readers_of(at)?;
            let Some(first) = readers.first() else { continue };
            for other in self.producers(*first)? {
                if other == at || !self.cluster(other).is_some_and(is_one_row) {
                    continue;
                }
                let sizes = self.alive(at)?.n_nodes + self.alive(other)?.n_nodes;
                let Some(left) = looks.checked_sub(2 * readers.len() + sizes) else { return Ok(()) };
                looks = left;
                if self.is_read_by(other, &readers)? && self.try_merge_numbers(other, at)? {
                    at = other;
                }
            }
        }
        Ok(())
    }

    fn try_merge_numbers(&mut self, first: usize, second: usize) -> Result<bool, String> {
        let (a, b) = (self.alive(first)?, self.alive(second)?);
        if self.writes_parts(a) || self.writes_parts(b) {
            return Ok(false);
        }
        let Some(merged) = self.merged(a, b) else { return Ok(false) };
        if !self.ranks.join(first, second, true) {
            return Ok(false);
        }
        self.replace(first, second, merged);
        Ok(true)
    }

    fn try_merge_siblings(&mut self, first: usize, second: usize) -> Result<bool, String> {
        let (a, b) = (self.alive(first)?, self.alive(second)?);
        let kinds = |c: &Cluster| c.groups.iter().any(|(_, reduce)| *reduce);
        if first == second || kinds(a) != kinds(b) || self.writes_parts(a) || self.writes_parts(b) {
            return Ok(false);
        }
        let Some(merged) = self.merged(a, b) else { return Ok(false) };
        if !self.ranks.join(first, second, true) {
            return Ok(false);
        }
        self.replace(first, second, merged);
        Ok(true)
    }
}
